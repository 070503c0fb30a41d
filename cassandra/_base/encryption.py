"""What a policy for encrypted columns is, and how those who compiled what one said hear of further columns (L0).

A policy is asked when metadata of a column is first seen, not per value. So that a column that is added later is not
sent as it is, :meth:`add_column` of every policy class is followed by a word to who *watches* the policy. Watchers are
held weakly and called on the thread that added the column, with no lock held.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps
from typing import Any, NamedTuple, Protocol
from weakref import ref

from cassandra._base.public import public


@public("cassandra.policies")
class ColDesc(NamedTuple):
    """Names a column: keyspace, table, column."""

    ks: str
    table: str
    col: str


#: The one text for all failures: what differs between them would tell who sends forged values about the key's work.
CANNOT_DECRYPT = "it cannot be decrypted: it was encrypted by another key, for another column, or not at all"


@public("cassandra.column_encryption.policies")
class DecryptionError(ValueError):
    """Bytes that a policy has not made for this column by this key, or that are no value of its type. One text for all
    reasons, without a cause: a difference would help to decrypt by trial."""


@public("cassandra.policies")
class ColumnEncryptionPolicy:
    """Which columns are encrypted on the client, and how; for ``Cluster(column_encryption_policy=...)``.

    Derive from it for a cipher or a key service of your own: :meth:`contains_column`, :meth:`encrypt` and
    :meth:`decrypt`, and ``column_type(coldesc)``, which returns the class of ``cassandra.cqltypes`` of the values
    inside (without it they are bytes). :meth:`contains_column` and ``column_type`` are asked when a statement is
    prepared or the metadata of a result is seen for the first time, and again after :meth:`add_column`; the others per
    value, on any thread. Null is not encrypted.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("add_column")
        if own is None:
            return

        @wraps(own)
        def add_column(self: ColumnEncryptionPolicy, *args: Any, **kwargs: Any) -> Any:
            result = own(self, *args, **kwargs)
            tell_watchers(self)
            return result

        cls.add_column = add_column  # type: ignore[method-assign]

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        """What is stored for a value of that column, which serialises to *obj_bytes*. The same bytes each time if the
        column is to be part of a key, or looked for."""
        raise NotImplementedError

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        """What :meth:`encrypt` was given. Raises an exception for bytes that it did not make."""
        raise NotImplementedError

    def add_column(self, coldesc: ColDesc, key: bytes) -> None:
        """Encrypt that column from now on, by *key*."""
        raise NotImplementedError

    def contains_column(self, coldesc: ColDesc) -> bool:
        """Whether that column is encrypted."""
        raise NotImplementedError

    def encrypted_columns(self) -> Iterable[ColDesc]:
        """All columns that are encrypted; none, as by default, if they cannot be listed. With them the driver knows
        tables with encrypted columns where it has no schema metadata, and checks unprepared text faster. A subclass
        that overrides :meth:`contains_column` alone is not asked for them."""
        return ()

    def is_deterministic(self, coldesc: ColDesc) -> bool:
        """Whether equal values of that column are stored as equal bytes, so that it may be compared and be in a key.
        Statements that compare other columns are refused. True by default."""
        return True

    def encode_and_encrypt(self, coldesc: ColDesc, obj: Any) -> bytes:
        """The bytes to store for *obj*, for the parameters of statements that are not prepared."""
        raise NotImplementedError


class Watcher(Protocol):
    """Who compiled what *policy* said."""

    policy: Any

    def columns_changed(self) -> None:
        """It may say something else now."""


#: By id(). No lock: any thread adds and drops them, garbage collection anywhere, by one operation of the dict each.
_watchers: dict[int, ref[Any]] = {}


def watch(watcher: Watcher) -> None:
    """Tell *watcher* when a column is added to its policy."""
    key = id(watcher)

    def forget(gone: ref[Any]) -> None:
        if _watchers.get(key) is gone:  # or there is another one at that address
            _watchers.pop(key, None)

    _watchers[key] = ref(watcher, forget)


def tell_watchers(policy: ColumnEncryptionPolicy) -> None:
    """A column was added to *policy*."""
    for one in list(_watchers.values()):
        watcher = one()
        if watcher is not None and watcher.policy is policy:
            watcher.columns_changed()
