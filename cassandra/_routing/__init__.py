"""L4: selection of node and shard. No connections, no sockets except for name resolution."""
