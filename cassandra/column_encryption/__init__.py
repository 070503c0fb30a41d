"""Encrypting columns on the client: :mod:`cassandra.column_encryption.policies`, which needs ``cryptography``."""

__all__: list[str] = []
