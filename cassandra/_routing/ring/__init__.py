"""Tokens, the ring of their owners and where replication puts the replicas: Murmur3 and the other partitioners."""
