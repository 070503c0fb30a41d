"""How a connection begins: a handshake without I/O, authentication, compression, the features and options that were
negotiated.
"""
