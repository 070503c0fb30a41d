"""L2: CQL types and protocol messages as Python sees them. Knows no sockets."""
