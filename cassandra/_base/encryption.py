"""Interface of policies for encrypted columns, and notification of caches when a policy changes (L0).

A policy is called when metadata of a column is first seen, not per value. So that a column that is added later is not
sent unencrypted, :meth:`add_column` of every policy class notifies the watchers of the policy. Watchers are held weakly
and called on the thread that added the column, with no lock held.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps
from typing import Any, NamedTuple, Protocol
from weakref import ref

from .objects import public


@public("cassandra.policies")
class ColDesc(NamedTuple):
    """Names of a column: keyspace, table, column."""

    ks: str
    """Keyspace."""
    table: str
    """Table."""
    col: str
    """Column."""


#: One text for all failures: different texts would give a sender of forged values information about the key.
CANNOT_DECRYPT = "it cannot be decrypted: it was encrypted by another key, for another column, or not at all"


@public("cassandra.column_encryption.policies")
class DecryptionError(ValueError):
    """Bytes were not encrypted by the policy for this column with this key, or are not a value of the column's type.
    All reasons have the same text and no cause, as a difference would help to decrypt by trial."""


@public("cassandra.policies")
class ColumnEncryptionPolicy:
    """Base class of policies that encrypt columns on the client, for ``Cluster(column_encryption_policy=...)``.

    A subclass for another cipher or key service defines :meth:`contains_column`, :meth:`encrypt` and :meth:`decrypt`,
    and ``column_type(coldesc)``, which returns the class of ``cassandra.cqltypes`` of the plain values (without it they
    are bytes). :meth:`contains_column` and ``column_type`` are called when a statement is prepared or the metadata of a
    result is seen for the first time, and again after :meth:`add_column`; the others per value, on any thread. Null is
    not encrypted.
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
        """Return the bytes to store for a value of that column that serialises to *obj_bytes*. Must return the same
        bytes each time if the column is part of a key or compared in conditions."""
        raise NotImplementedError

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        """Return the argument of :meth:`encrypt`. Raise an exception for bytes that it did not produce."""
        raise NotImplementedError

    def add_column(self, coldesc: ColDesc, key: bytes) -> None:
        """Encrypt that column from now on, with *key*."""
        raise NotImplementedError

    def contains_column(self, coldesc: ColDesc) -> bool:
        """True if that column is encrypted."""
        raise NotImplementedError

    def encrypted_columns(self) -> Iterable[ColDesc]:
        """Return all encrypted columns; none, the default, if they cannot be listed. With the list the driver
        recognises tables with encrypted columns without schema metadata, and checks unprepared text faster. The driver
        does not call it on a subclass that overrides :meth:`contains_column` alone."""
        return ()

    def is_deterministic(self, coldesc: ColDesc) -> bool:
        """True, the default, if equal values of that column are stored as equal bytes, so that it may be compared and
        be part of a key. Statements that compare other encrypted columns are rejected."""
        return True

    def encode_and_encrypt(self, coldesc: ColDesc, obj: Any) -> bytes:
        """Return the bytes to store for *obj*, a parameter of a statement that is not prepared."""
        raise NotImplementedError


class Watcher(Protocol):
    """A holder of results compiled from *policy*."""

    policy: Any

    def columns_changed(self) -> None:
        """Invalidate the compiled results: the policy may return others now."""


#: By id(). No lock: any thread, and garbage collection anywhere, adds and removes them by one dict operation each.
_watchers: dict[int, ref[Any]] = {}


def watch(watcher: Watcher) -> None:
    """Call ``columns_changed`` of *watcher* when a column is added to its policy."""
    key = id(watcher)

    def forget(gone: ref[Any]) -> None:
        if _watchers.get(key) is gone:  # otherwise another watcher has this address now
            _watchers.pop(key, None)

    _watchers[key] = ref(watcher, forget)


def tell_watchers(policy: ColumnEncryptionPolicy) -> None:
    """Notify the watchers of *policy* that a column was added."""
    for one in list(_watchers.values()):
        watcher = one()
        if watcher is not None and watcher.policy is policy:
            watcher.columns_changed()
