"""Policies for ``Cluster(column_encryption_policy=...)``; see the guide's page on encryption."""

from cassandra._base.encryption import ColDesc, ColumnEncryptionPolicy, DecryptionError
from cassandra._wire.aes import (
    AES256_BLOCK_SIZE,
    AES256_BLOCK_SIZE_BYTES,
    AES256_KEY_SIZE,
    AES256_KEY_SIZE_BYTES,
    AES256ColumnEncryptionPolicy,
    ColData,
    log,
)
from cassandra._wire.siv import AESSIVColumnEncryptionPolicy

__all__ = [
    "AES256_BLOCK_SIZE",
    "AES256_BLOCK_SIZE_BYTES",
    "AES256_KEY_SIZE",
    "AES256_KEY_SIZE_BYTES",
    "AES256ColumnEncryptionPolicy",
    "AESSIVColumnEncryptionPolicy",
    "ColData",
    "ColDesc",
    "ColumnEncryptionPolicy",
    "DecryptionError",
    "log",
]
