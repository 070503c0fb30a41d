"""TLS: the byte filter of a connection over ``ssl.MemoryBIO``, contexts from users' options, session resumption."""
