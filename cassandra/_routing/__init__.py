"""L4: which node, which shard. Pure: no sockets, no connections."""
