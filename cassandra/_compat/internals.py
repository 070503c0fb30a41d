"""Helpers and names of scylla-driver's own modules that programs import from them (L6)."""

from __future__ import annotations

import errno
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any

from cassandra._base.names import protect_name
from cassandra._base.objects import public
from cassandra._base.tuples import positional_names
from cassandra._routing.schema.model import RegisteredTableExtension
from cassandra._session import life
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT
from cassandra._wire.rows import ordered_dict_factory

NONBLOCKING = (errno.EAGAIN, errno.EWOULDBLOCK)
DEFAULT_LOCAL_PORT_LOW, DEFAULT_LOCAL_PORT_HIGH = 49152, 65535

NON_ALPHA_REGEX = re.compile("[^a-zA-Z0-9]")
START_BADCHAR_REGEX = re.compile("^[^a-zA-Z0-9]*")
END_BADCHAR_REGEX = re.compile("[^a-zA-Z0-9_]*$")
valid_cql3_word_re = re.compile(r"^[a-z][0-9a-z_]*$")

SASLClient = None  # from an optional package of scylla-driver
_have_kerberos = _have_puresasl = False
_proxy_execute_key, _request_timeout_key = "ProxyExecute", "request-timeout"
_clean_name_cache: dict[str, str] = {}
_nan, _HAS_GEOMET = float("nan"), True

#: Used by scylla-driver to choose a reactor; this driver has one transport, which is always available.
conn_fns: tuple[Callable[[], Any], ...] = ()
excs: list[Exception] = []


class _ConfigMode:
    """The configuration of a cluster: by execution profiles, by the older arguments, or by neither."""

    UNCOMMITTED = 0
    LEGACY = 1
    PROFILES = 2


_ConfigMode.__module__ = "cassandra.cluster"


class _Running:
    """A collection whose length is the number of connected clusters, which are shut down when the interpreter exits."""

    def __len__(self) -> int:
        return len(life._alive)


_clusters_for_shutdown = _Running()


@public("cassandra.metadata")
class _ConsistencyMode(Enum):
    """ScyllaDB's ``consistency`` of a keyspace."""

    EVENTUAL = "eventual"
    LOCAL = "local"
    GLOBAL = "global"


def _consistency_mode_from_string(value: str | None) -> _ConsistencyMode:
    return next((mode for mode in _ConsistencyMode if mode.value == value), _ConsistencyMode.EVENTUAL)


@public("cassandra.metadata")
class RLACTableExtension(RegisteredTableExtension):
    """DSE's row-level access control: the statement that restricts a table's rows."""

    name = "DSE_RLACA"

    @classmethod
    def after_table_cql(cls, table_meta: Any, ext_key: str, ext_blob: bytes) -> str:
        table = f"{protect_name(table_meta.keyspace_name)}.{protect_name(table_meta.name)}"
        return f"RESTRICT ROWS ON {table} USING {protect_name(ext_blob.decode('utf8'))};"


@public("cassandra.query")
class PseudoNamedTupleRow:
    """A row with its columns as attributes, iterated by value; for more columns than named tuples supported."""

    def __init__(self, ordered_dict: Any) -> None:
        self._dict = ordered_dict
        self._tuple = tuple(ordered_dict.values())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_dict":
            raise AttributeError(name)
        try:
            return self._dict[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from None

    def __getitem__(self, index: Any) -> Any:
        return self._tuple[index]

    def __iter__(self) -> Any:
        return iter(self._tuple)

    def __repr__(self) -> str:
        return f"PseudoNamedTupleRow({self._dict!r})"


@public("cassandra.query")
def pseudo_namedtuple_factory(colnames: Sequence[str], rows: Iterable[Any]) -> list[PseudoNamedTupleRow]:
    """Return each row as a :class:`PseudoNamedTupleRow`."""
    return [PseudoNamedTupleRow(row) for row in ordered_dict_factory(colnames, rows)]


def _positional_rename_invalid_identifiers(field_names: Iterable[str]) -> list[str]:
    """Return *field_names*, with names that are not usable as attributes replaced by their position."""
    return positional_names(field_names)


def _sanitize_identifiers(field_names: Iterable[str]) -> list[str]:
    """Return *field_names* as unique names of attributes: repeated names get underscores."""
    seen: dict[str, None] = {}
    for name in _positional_rename_invalid_identifiers(field_names):
        while name in seen:
            name += "_"
        seen[name] = None
    return list(seen)


def _execution_profile_to_string(name: Any) -> str:
    """Return the name of a profile for texts."""
    return "EXEC_PROFILE_DEFAULT" if name is EXEC_PROFILE_DEFAULT else f'"{name}"'


@public("cassandra.cluster")
def run_in_executor(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method to run in ``self.executor`` and return the future, or None after shutdown."""

    @functools.wraps(f)
    def submit(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.executor.submit(f, self, *args, **kwargs)
        except RuntimeError:
            return None

    return submit


@public("cassandra.cluster")
def refresh_schema_and_set_result(control_conn: Any, response_future: Any, connection: Any, **kwargs: Any) -> None:
    """Refresh the changed part of the schema, then end *response_future* with None."""
    try:
        response_future.is_schema_agreed = control_conn.refresh_schema(**kwargs)
    finally:
        response_future._set_final_result(None)


@public("cassandra.connection")
def defunct_on_error(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method of a connection: an error makes the connection defunct."""

    @functools.wraps(f)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return f(self, *args, **kwargs)
        except Exception as error:
            return self.defunct(error)

    return call


@public("cassandra.metadata")
def get_column_from_system_local(
    connection: Any, column_name: str, timeout: float | None, metadata_request_timeout: Any
) -> Any:
    """Return one column of ``system.local``, queried on *connection*; an empty string if there is no row."""
    from cassandra._base.constants import ConsistencyLevel
    from cassandra._base.versions import maybe_add_timeout_to_query
    from cassandra._wire.messages.requests import QueryMessage

    query = maybe_add_timeout_to_query(
        f"SELECT {protect_name(column_name)} FROM system.local WHERE key='local'", metadata_request_timeout
    )
    _, answer = connection.wait_for_response(
        QueryMessage(query=query, consistency_level=ConsistencyLevel.ONE), timeout=timeout, fail_on_error=False
    )
    rows = getattr(answer, "parsed_rows", None)
    return rows[0][0] if rows else ""
