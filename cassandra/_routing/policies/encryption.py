"""Client-side column encryption: re-exports for ``cassandra.policies`` (L4). Defined in L0, as codecs depend on it."""

from cassandra._base.encryption import ColDesc, ColumnEncryptionPolicy

__all__ = ["ColDesc", "ColumnEncryptionPolicy"]
