"""Policies for ``Cluster(column_encryption_policy=...)``; see :doc:`/encryption`."""

from cassandra._base.encryption import ColDesc, ColumnEncryptionPolicy, DecryptionError
from cassandra._wire.ciphers import (
    AES256_BLOCK_SIZE,
    AES256_BLOCK_SIZE_BYTES,
    AES256_KEY_SIZE,
    AES256_KEY_SIZE_BYTES,
    AES256ColumnEncryptionPolicy,
    AESSIVColumnEncryptionPolicy,
    ColData,
    log,
)

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
