"""Encryption of columns with AES-256 and AES-SIV (L2; ``cassandra.column_encryption.policies``).

Needs the package ``cryptography``.

*AES-256.* The stored bytes are the initialisation vector, 16 bytes, and then the value in CBC mode with PKCS7 padding,
as with scylla-driver and cassandra-driver. Each policy has one vector, so that equal values of a column are equal in
the database, and an encrypted column can be a key or be compared in conditions. The guide's page on encryption
describes the information that this reveals.

*AES-SIV* is for new tables, and authenticated: bytes that were changed, or moved to another column, table or keyspace,
are not decrypted. Layout of a stored value, without length prefixes:

    4 bytes    ``8f 66 71 01``: this format
    4 bytes    id of the key, which does not reveal the key
    1 byte     0: deterministic, 1: with a nonce
    16 bytes   the nonce, only in the second case
    16 bytes   the synthetic initialisation vector of RFC 5297, which authenticates
    n + 1      the encrypted value as the column's type serialises it, and a byte ``80`` (some versions of cryptography
               do not accept empty text)

The first 9 bytes, keyspace, table, column and nonce are associated data. AES-256 is used with keys of 512 bits that
HKDF (SHA-256) derives from the program's keys of 32 bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, NoReturn

from cassandra._base.constants import ProtocolVersion
from cassandra._base.encryption import CANNOT_DECRYPT, ColDesc, ColumnEncryptionPolicy, DecryptionError
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._wire.types.base import _CassandraType

from .types import registry

try:
    from cryptography.hazmat.primitives import padding
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ImportError as error:
    raise ImportError(
        "cassandra.column_encryption.policies needs the package cryptography: pip install 'fastcql[encryption]'"
    ) from error


log = get_logger("cassandra.column_encryption.policies")

AES256_BLOCK_SIZE = 128  #: Bits of a block.
AES256_BLOCK_SIZE_BYTES = AES256_BLOCK_SIZE // 8  #: Bytes of a block.
AES256_KEY_SIZE = 256  #: Bits of a key.
AES256_KEY_SIZE_BYTES = AES256_KEY_SIZE // 8  #: Bytes of a key.


def refuse_pickling(what: str) -> NoReturn:
    """Raise TypeError, as *what* holds keys."""
    raise TypeError(f"{what} holds keys and cannot be pickled: create it where it is used, with keys from a safe place")


def as_bytes(what: str, given: Any) -> bytes:
    """Return a copy of *given*, bytes or a buffer. Raise TypeError for a str."""
    if isinstance(given, str):
        raise TypeError(f"{what} must be bytes, not str")
    return bytes(given)


def type_named(name: str) -> type[_CassandraType]:
    """Return the class of a CQL type without parameters. Raise ValueError for other names."""
    kind = registry.cqltypes.get(name) if isinstance(name, str) else None
    try:
        if kind is not None:
            kind.codec()  # raises for types that need parameters
            return kind
    except NotImplementedError:
        pass
    raise ValueError(f"Type {name!r} is not a supported type: it must be the CQL name of a type without parameters")


def _check_arguments(coldesc: Any, key: Any, type: Any) -> None:
    """Raise ValueError if an argument of ``add_column`` is None."""
    for name, value in (("ColDesc", coldesc), ("Key", key), ("Type", type)):
        if value is None:
            raise ValueError(f"{name} supplied to add_column cannot be None")


# ---- AES-256 in CBC mode

KEPT = 128  # cached ciphers


@public("cassandra.column_encryption.policies")
class ColData(NamedTuple):
    """The settings of an encrypted column. The key is neither shown nor pickled."""

    key: bytes
    """Key of the cipher."""
    type: Any
    """CQL type of the values: a class of ``cassandra.cqltypes``."""

    def __repr__(self) -> str:
        return f"ColData(key=<hidden>, type={self.type!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse_pickling("ColData")


@public("cassandra.column_encryption.policies")
class AES256ColumnEncryptionPolicy(ColumnEncryptionPolicy):
    """Encrypts columns with AES-256 in CBC mode, each with its own key of 32 bytes, as scylla-driver does.

    Values are not authenticated: a client with write access to the database can change them, and equal values, and
    equal beginnings of values, are equal in the database. New programs use :class:`AESSIVColumnEncryptionPolicy`.

    *iv* is the initialisation vector, 16 bytes, by default random. Programs that compare encrypted values, or have them
    in keys, use the same vector in all clients. Any thread.

    Example::

        policy = AES256ColumnEncryptionPolicy(iv=iv)
        policy.add_column(ColDesc("shop", "customers", "card"), key, "text")
        cluster = Cluster(column_encryption_policy=policy)
    """

    mode: ClassVar[Any] = modes.CBC  #: Mode of the cipher.

    def __init__(self, iv: bytes | None = None) -> None:
        if iv and len(iv) != AES256_BLOCK_SIZE_BYTES:
            raise ValueError(
                "This policy uses AES-256 with CBC mode and therefore expects a 128-bit initialization vector, "
                f"not {len(iv)} bytes"
            )
        #: The initialisation vector, if it is constant.
        self.iv = as_bytes("an initialization vector", iv) if iv else os.urandom(AES256_BLOCK_SIZE_BYTES)
        #: Key and type of each column, by :class:`~cassandra.policies.ColDesc`.
        self.coldata: dict[ColDesc, ColData] = {}
        self._cached: Any = lru_cache(maxsize=KEPT)(self._build_cipher)  # per policy, and freed with it

    def add_column(self, coldesc: ColDesc, key: bytes, type: str) -> None:  # type: ignore[override]
        """Encrypt that column, a blob in the database, with *key*; its values are of the CQL *type*, such as "text"."""
        _check_arguments(coldesc, key, type)
        if len(key) != AES256_KEY_SIZE_BYTES:
            raise ValueError(
                "AES256 column encryption policy expects a 256-bit encryption key, "
                f"{AES256_KEY_SIZE_BYTES} bytes, not {len(key)}"
            )
        self.coldata[ColDesc(*coldesc)] = ColData(as_bytes("a key", key), type_named(type))

    def contains_column(self, coldesc: ColDesc) -> bool:
        """True if that column is encrypted."""
        return coldesc in self.coldata

    def encrypted_columns(self) -> list[ColDesc]:
        """Return the columns that were added."""
        return list(self.coldata)

    def column_type(self, coldesc: ColDesc) -> Any:
        """Return the class of ``cassandra.cqltypes`` of the column's values. Raise KeyError for a column that was not
        added."""
        return self.coldata[coldesc].type

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        """Return the initialisation vector and the encrypted *obj_bytes*. Raise ValueError for a column that was not
        added."""
        padder = padding.PKCS7(AES256_BLOCK_SIZE).padder()
        padded = padder.update(obj_bytes) + padder.finalize()
        encryptor = self._get_cipher(coldesc).encryptor()
        encrypted: bytes = encryptor.update(padded) + encryptor.finalize()
        return self.iv + encrypted

    def decrypt(self, coldesc: ColDesc, bytes: bytes) -> bytes:
        """Return the plain bytes of a value encrypted with any initialisation vector. Raise DecryptionError, with one
        text for all reasons, for other bytes, and ValueError for a column that was not added."""
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
        raise DecryptionError(CANNOT_DECRYPT)  # outside the handler, so that the error has no context with details

    def encode_and_encrypt(self, coldesc: ColDesc, obj: Any) -> bytes:
        """Return the bytes to store for *obj*, which is not None. Raise ValueError for a column that was not added."""
        if obj is None:
            raise ValueError("Object supplied to encode_and_encrypt cannot be None")
        known = self.coldata.get(coldesc)
        if known is None:
            raise ValueError(f"Could not find ColData for {coldesc}")
        encoded: bytes = known.type.serialize(obj, ProtocolVersion.V4)
        return self.encrypt(coldesc, encoded)

    def cache_info(self) -> Any:
        """Return the hits and misses of the cipher cache, as of ``functools.lru_cache``."""
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


# ---- AES-SIV

FORMAT = b"\x8ffq\x01"
DETERMINISTIC, RANDOMISED = b"\0", b"\1"
NONCE_BYTES = 16
END = b"\x80"
_ID_BYTES = 4
_HEAD = len(FORMAT) + _ID_BYTES + 1
_CONTEXT = b"fastcql column encryption: "


class _Column(NamedTuple):
    """*keys*: ciphers by key id; *writes*: the id of the encrypting key."""

    type: Any
    is_deterministic: bool
    writes: bytes
    keys: dict[bytes, AESSIV]


@public("cassandra.column_encryption.policies")
class AESSIVColumnEncryptionPolicy(ColumnEncryptionPolicy):
    """Encrypts and authenticates columns with AES-SIV (RFC 5297), each with its own key of 32 bytes. Any thread.

    :param legacy: the policy that the database was written with before: it decrypts values without the format of this
        policy. Clients with write access to the database can then still store values of the old format; omit it after
        all values have been rewritten.

    Example::

        policy = AESSIVColumnEncryptionPolicy()
        policy.add_column(ColDesc("shop", "customers", "card"), key, "text")
        email = ColDesc("shop", "customers", "email")
        policy.add_column(email, other_key, "text", deterministic=True)
        cluster = Cluster(column_encryption_policy=policy)

    .. versionadded:: 4.0
    """

    def __init__(self, *, legacy: ColumnEncryptionPolicy | None = None) -> None:
        if legacy is not None and not isinstance(legacy, ColumnEncryptionPolicy):
            raise TypeError(f"legacy must be a ColumnEncryptionPolicy, not {type(legacy).__name__}")
        self._legacy = legacy
        self._columns: dict[ColDesc, _Column] = {}

    def add_column(  # type: ignore[override]
        self, coldesc: ColDesc, key: bytes, type: str, *, deterministic: bool = False, old_keys: Iterable[bytes] = ()
    ) -> None:
        """Encrypt that column, a blob in the database, with *key*; its values are of the CQL *type*, such as "text".

        :param deterministic: equal values are stored as equal bytes, so that the column can be compared (``=``, ``IN``,
            ``IF``), be indexed and be in a primary key; a reader of the database can see which values are equal.
            Without it a value is stored as different bytes each time, and statements that compare the column are
            rejected.
        :param old_keys: keys that values in the database may still be encrypted with. Such values are decrypted;
            comparisons with deterministic columns use *key* alone.

        Raise ValueError for keys that are not 32 bytes and types that are unknown or have parameters, and TypeError for
        keys that are text.
        """
        _check_arguments(coldesc, key, type)
        ciphers = [_cipher(one) for one in (key, *old_keys)]
        keys = dict(reversed(ciphers))  # the first of equal keys stays
        self._columns[ColDesc(*coldesc)] = _Column(type_named(type), bool(deterministic), ciphers[0][0], keys)

    def contains_column(self, coldesc: ColDesc) -> bool:
        """True if that column is encrypted."""
        return coldesc in self._columns

    def encrypted_columns(self) -> list[ColDesc]:
        """Return the columns that were added."""
        return list(self._columns)

    def is_deterministic(self, coldesc: ColDesc) -> bool:
        """Return the argument of :meth:`add_column`. Raise KeyError for a column that was not added."""
        return self._columns[coldesc].is_deterministic

    def column_type(self, coldesc: ColDesc) -> Any:
        """Return the class of ``cassandra.cqltypes`` of the column's values. Raise KeyError for a column that was not
        added."""
        return self._columns[coldesc].type

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        """Return the bytes to store. Raise ValueError for a column that was not added."""
        column = self._column(coldesc)
        head = FORMAT + column.writes + (DETERMINISTIC if column.is_deterministic else RANDOMISED)
        nonce = b"" if column.is_deterministic else os.urandom(NONCE_BYTES)
        return (
            head
            + nonce
            + column.keys[column.writes].encrypt(bytes(obj_bytes) + END, _associated_data(head, coldesc, nonce))
        )

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        """Return the plain bytes of a value encrypted with the key of the column or an old one, or by *legacy*. Raise
        DecryptionError, with one text for all reasons, for other bytes, and ValueError for a column that was not added.
        """
        column = self._column(coldesc)
        try:
            if encrypted_bytes[: len(FORMAT)] != FORMAT and self._legacy is not None:
                return self._legacy.decrypt(coldesc, encrypted_bytes)
            head, rest = encrypted_bytes[:_HEAD], encrypted_bytes[_HEAD:]
            mode = head[-1:]
            if head[: len(FORMAT)] == FORMAT and mode in (DETERMINISTIC, RANDOMISED):
                size = NONCE_BYTES if mode == RANDOMISED else 0
                cipher = column.keys[head[len(FORMAT) : -1]]
                plain = cipher.decrypt(rest[size:], _associated_data(head, coldesc, rest[:size]))
                if plain.endswith(END):
                    return plain[:-1]
        except Exception:
            pass
        raise DecryptionError(CANNOT_DECRYPT)  # outside the handler, so that the error has no context with details

    def encode_and_encrypt(self, coldesc: ColDesc, obj: Any) -> bytes:
        """Return the bytes to store for *obj*, which is not None. Raise ValueError for a column that was not added."""
        if obj is None:
            raise ValueError("Object supplied to encode_and_encrypt cannot be None")
        encoded: bytes = self._column(coldesc).type.serialize(obj, ProtocolVersion.V4)
        return self.encrypt(coldesc, encoded)

    def _column(self, coldesc: ColDesc) -> _Column:
        column = self._columns.get(coldesc)
        if column is None:
            raise ValueError(f"Could not find column {coldesc}")
        return column

    def __copy__(self) -> AESSIVColumnEncryptionPolicy:
        made = type(self)(legacy=self._legacy)
        made._columns = dict(self._columns)
        return made

    def __deepcopy__(self, memo: Any) -> AESSIVColumnEncryptionPolicy:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse_pickling(type(self).__name__)

    def __repr__(self) -> str:
        columns = ", ".join(".".join(column) for column in self._columns)
        return f"<{type(self).__name__} of {columns or 'no columns'}>"


def _cipher(key: bytes) -> tuple[bytes, AESSIV]:
    """Return the id of *key* and its cipher."""
    given = as_bytes("a key", key)
    if len(given) != AES256_KEY_SIZE_BYTES:
        raise ValueError(f"this policy expects keys of {AES256_KEY_SIZE_BYTES} bytes, not {len(given)}")
    return _derive_key(given, b"id", _ID_BYTES), AESSIV(_derive_key(given, b"AES-SIV", 64))


def _derive_key(key: bytes, use: bytes, size: int) -> bytes:
    return HKDF(SHA256(), size, None, _CONTEXT + use).derive(key)


def _associated_data(head: bytes, coldesc: ColDesc, nonce: bytes) -> list[bytes]:
    """Return the associated data, whose parts RFC 5297 separates; the nonce is the last."""
    parts = [head, *(name.encode() for name in coldesc)]
    return [*parts, nonce] if nonce else parts
