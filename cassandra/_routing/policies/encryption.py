"""Names of client-side column encryption (L4). It is not part of this version; using them says so."""

from __future__ import annotations

from typing import Any, NamedTuple

from cassandra._base.public import public

_NOT_INCLUDED = "client-side column encryption is not included in this version of fastcql"


@public("cassandra.policies")
class ColDesc(NamedTuple):
    """Names a column: keyspace, table, column."""

    ks: str
    table: str
    col: str


@public("cassandra.policies")
class ColumnEncryptionPolicy:
    """Would encrypt columns on the client; cannot be created."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(_NOT_INCLUDED)

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        raise NotImplementedError(_NOT_INCLUDED)

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        raise NotImplementedError(_NOT_INCLUDED)

    def add_column(self, coldesc: ColDesc, key: bytes) -> None:
        raise NotImplementedError(_NOT_INCLUDED)

    def contains_column(self, coldesc: ColDesc) -> bool:
        raise NotImplementedError(_NOT_INCLUDED)

    def encode_and_encrypt(self, coldesc: ColDesc, obj: Any) -> bytes:
        raise NotImplementedError(_NOT_INCLUDED)
