"""L4: which node, which shard. Pure: no connections, no sockets beyond name resolution."""
