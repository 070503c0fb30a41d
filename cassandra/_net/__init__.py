"""L3: one node: endpoint, handshake, authentication, TLS, connection, pool, heartbeat."""
