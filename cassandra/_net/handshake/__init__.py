"""Start of a connection: the handshake without I/O, authentication, compression, negotiated features and options."""
