"""L3: connections to one node: endpoint, handshake, authentication, TLS, connection, pool, heartbeat."""
