"""Tokens, the ring of their owners, and placement of replicas: Murmur3 and the other partitioners."""
