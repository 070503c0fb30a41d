"""Client-side column encryption, as policies are imported (L4). They are in L0, for codecs are made by them."""

from cassandra._base.encryption import ColDesc, ColumnEncryptionPolicy

__all__ = ["ColDesc", "ColumnEncryptionPolicy"]
