"""Policies for ``Cluster(column_encryption_policy=...)``; see the guide's page on encryption."""

from cassandra._base.encryption import ColDesc, ColumnEncryptionPolicy
from cassandra._wire.aes import (
    AES256_BLOCK_SIZE,
    AES256_BLOCK_SIZE_BYTES,
    AES256_KEY_SIZE,
    AES256_KEY_SIZE_BYTES,
    AES256ColumnEncryptionPolicy,
    ColData,
    log,
)

__all__ = [
    "AES256_BLOCK_SIZE",
    "AES256_BLOCK_SIZE_BYTES",
    "AES256_KEY_SIZE",
    "AES256_KEY_SIZE_BYTES",
    "AES256ColumnEncryptionPolicy",
    "ColData",
    "ColDesc",
    "ColumnEncryptionPolicy",
    "log",
]
