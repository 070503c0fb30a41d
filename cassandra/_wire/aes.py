"""AES-256 for columns (L2): ``cassandra.column_encryption.policies``. Needs ``cryptography``.

What is stored is the initialisation vector, 16 bytes, and then the value in CBC mode, padded as PKCS7 says; the same as
scylla-driver and cassandra-driver store. Each policy has one vector, so that equal values of a column are equal in the
database, and an encrypted column can be a key or be looked for. The guide's page on encryption says what that reveals;
new tables are for ``_wire/siv.py``.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, NoReturn

try:
    from cryptography.hazmat.primitives import padding
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
except ImportError as error:
    raise ImportError(
        "cassandra.column_encryption.policies needs the package cryptography: pip install 'fastcql[encryption]'"
    ) from error

from cassandra._base.constants import ProtocolVersion
from cassandra._base.encryption import CANNOT_DECRYPT, ColDesc, ColumnEncryptionPolicy, DecryptionError
from cassandra._base.logs import get_logger
from cassandra._base.public import public
from cassandra._wire.types import registry
from cassandra._wire.types.base import _CassandraType

log = get_logger("cassandra.column_encryption.policies")

AES256_BLOCK_SIZE = 128
AES256_BLOCK_SIZE_BYTES = AES256_BLOCK_SIZE // 8
AES256_KEY_SIZE = 256
AES256_KEY_SIZE_BYTES = AES256_KEY_SIZE // 8

KEPT = 128  # ciphers


def refuse_pickling(what: str) -> NoReturn:
    """TypeError: *what* has keys."""
    raise TypeError(f"{what} holds keys, and is not pickled: make one where it is needed, with keys from a safe place")


@public("cassandra.column_encryption.policies")
class ColData(NamedTuple):
    """What a policy knows of a column. Its key is neither shown nor pickled."""

    key: bytes
    type: Any

    def __repr__(self) -> str:
        return f"ColData(key=<hidden>, type={self.type!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse_pickling("ColData")


@public("cassandra.column_encryption.policies")
class AES256ColumnEncryptionPolicy(ColumnEncryptionPolicy):
    """Encrypts columns with AES-256 in CBC mode, each by its own key of 32 bytes, as scylla-driver does.

    Values are not authenticated: who can write to the database can change them, and equal values, and equal beginnings
    of values, are equal in the database. New programs use :class:`AESSIVColumnEncryptionPolicy`.

    *iv* is the initialisation vector, 16 bytes; one is made up if none is given. Programs that look for encrypted
    values, or have them in keys, give all clients the same. Any thread.

    Example::

        policy = AES256ColumnEncryptionPolicy(iv=iv)
        policy.add_column(ColDesc("shop", "customers", "card"), key, "text")
        cluster = Cluster(column_encryption_policy=policy)
    """

    mode: ClassVar[Any] = modes.CBC

    def __init__(self, iv: bytes | None = None) -> None:
        if iv and len(iv) != AES256_BLOCK_SIZE_BYTES:
            raise ValueError(
                "This policy uses AES-256 with CBC mode and therefore expects a 128-bit initialization vector, "
                f"not {len(iv)} bytes"
            )
        self.iv = as_bytes("an initialization vector", iv) if iv else os.urandom(AES256_BLOCK_SIZE_BYTES)
        self.coldata: dict[ColDesc, ColData] = {}
        self._cached: Any = lru_cache(maxsize=KEPT)(self._build_cipher)  # of its own: it goes when the policy goes

    def add_column(self, coldesc: ColDesc, key: bytes, type: str) -> None:  # type: ignore[override]
        """Encrypt that column, a blob in the database, by *key*; its values are of the CQL *type*, such as "text"."""
        if coldesc is None:
            raise ValueError("ColDesc supplied to add_column cannot be None")
        if key is None:
            raise ValueError("Key supplied to add_column cannot be None")
        if type is None:
            raise ValueError("Type supplied to add_column cannot be None")
        if len(key) != AES256_KEY_SIZE_BYTES:
            raise ValueError(
                "AES256 column encryption policy expects a 256-bit encryption key, "
                f"{AES256_KEY_SIZE_BYTES} bytes; this one has {len(key)}"
            )
        self.coldata[ColDesc(*coldesc)] = ColData(as_bytes("a key", key), type_named(type))

    def contains_column(self, coldesc: ColDesc) -> bool:
        """Whether that column is encrypted."""
        return coldesc in self.coldata

    def encrypted_columns(self) -> list[ColDesc]:
        """The columns that were added."""
        return list(self.coldata)

    def column_type(self, coldesc: ColDesc) -> Any:
        """The class of ``cassandra.cqltypes`` of its values. KeyError for a column that was not added."""
        return self.coldata[coldesc].type

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        """The initialisation vector, and *obj_bytes* encrypted. ValueError for a column that was not added."""
        padder = padding.PKCS7(AES256_BLOCK_SIZE).padder()
        padded = padder.update(obj_bytes) + padder.finalize()
        encryptor = self._get_cipher(coldesc).encryptor()
        encrypted: bytes = encryptor.update(padded) + encryptor.finalize()
        return self.iv + encrypted

    def decrypt(self, coldesc: ColDesc, bytes: bytes) -> bytes:
        """What was encrypted, by any initialisation vector. DecryptionError, with one text for all reasons, for bytes
        that are nothing of the kind; ValueError for a column that was not added."""
        iv, data = bytes[:AES256_BLOCK_SIZE_BYTES], bytes[AES256_BLOCK_SIZE_BYTES:]
        if coldesc not in self.coldata:
            raise ValueError(f"Could not find column {coldesc}")
        try:
            decryptor = self._get_cipher(coldesc, iv=iv).decryptor()
            padded = decryptor.update(data) + decryptor.finalize()
            unpadder = padding.PKCS7(AES256_BLOCK_SIZE).unpadder()
            return unpadder.update(padded) + unpadder.finalize()
        except Exception:
            pass
        raise DecryptionError(CANNOT_DECRYPT)  # not within the handler: the error has no context that tells more

    def encode_and_encrypt(self, coldesc: ColDesc, obj: Any) -> bytes:
        """The bytes to store for *obj*, which is not None. ValueError for a column that was not added."""
        if obj is None:
            raise ValueError("Object supplied to encode_and_encrypt cannot be None")
        known = self.coldata.get(coldesc)
        if known is None:
            raise ValueError(f"Could not find ColData for {coldesc}")
        encoded: bytes = known.type.serialize(obj, ProtocolVersion.V4)
        return self.encrypt(coldesc, encoded)

    def cache_info(self) -> Any:
        """How often a cipher was at hand, and how often made: as of ``functools.lru_cache``."""
        return self._cached.cache_info()

    def _get_cipher(self, coldesc: ColDesc, iv: bytes | None = None) -> Any:
        known = self.coldata.get(coldesc)
        if known is None:
            raise ValueError(f"Could not find column {coldesc}")
        return self._cached(known.key, iv or self.iv)

    @staticmethod
    def _build_cipher(key: bytes, iv: bytes) -> Any:
        return Cipher(algorithms.AES256(key), AES256ColumnEncryptionPolicy.mode(iv))

    def __copy__(self) -> AES256ColumnEncryptionPolicy:
        made = type(self)(self.iv)
        made.coldata = dict(self.coldata)
        return made

    def __deepcopy__(self, memo: Any) -> AES256ColumnEncryptionPolicy:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse_pickling(type(self).__name__)

    def __repr__(self) -> str:
        columns = ", ".join(".".join(map(str, column)) for column in self.coldata)
        return f"<{type(self).__name__} of {columns or 'no columns'}>"


def as_bytes(what: str, given: Any) -> bytes:
    """A copy of *given*, bytes or a buffer. TypeError for text."""
    if isinstance(given, str):
        raise TypeError(f"{what} is bytes, not str")
    return bytes(given)


def type_named(name: str) -> type[_CassandraType]:
    """The class of a CQL type without parameters. ValueError for other names."""
    kind = registry.cqltypes.get(name) if isinstance(name, str) else None
    try:
        if kind is not None:
            kind.codec()  # types that need parameters have none
            return kind
    except NotImplementedError:
        pass
    raise ValueError(f"Type {name!r} is not a supported type: it is the CQL name of one without parameters")
