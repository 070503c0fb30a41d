"""Helpers, classes and library names of scylla-driver's own modules that programs import from them (L6).

Library modules are the same objects that the driver uses: ``patch("cassandra.connection.socket.getaddrinfo")`` replaces
the function that it calls. The executors of ``execute_concurrent`` use the function of this driver. The driver's
control connection does not use the readers of the schema.
"""

from __future__ import annotations

import errno
import io
import itertools
import json
import random
import re
import ssl
import struct
import sys
import time
import types
import uuid
import warnings
import weakref
from binascii import unhexlify
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta, timezone
from enum import Enum
from functools import partial, total_ordering, wraps
from queue import Empty, Queue
from typing import Any, ClassVar
from uuid import UUID
from weakref import WeakSet

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.datastax_values import LineString
from cassandra._base.errors import UnsupportedOperation
from cassandra._base.names import protect_name
from cassandra._base.objects import public
from cassandra._base.real import Future, socket, threading
from cassandra._base.tuples import positional_names
from cassandra._base.versions import Version, maybe_add_timeout_to_query
from cassandra._routing.metadata import Metadata
from cassandra._routing.policies import DefaultLoadBalancingPolicy
from cassandra._routing.replication import ReplicationStrategyTypeType, _UnknownStrategy
from cassandra._routing.schema import KeyspaceMetadata, SchemaTarget, ServerTraits
from cassandra._routing.schema.model import _BY_NAME, RegisteredTableExtension
from cassandra._session import life
from cassandra._session.control.refresh import schema_rows
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT
from cassandra._session.request.concurrent import execute_concurrent
from cassandra._wire.encoder import Encoder
from cassandra._wire.messages.requests import QueryMessage
from cassandra._wire.rows import ordered_dict_factory
from cassandra._wire.types.nested import ReversedType

from .dse import finder

# ---- names of the standard library

Condition, Event, Lock, RLock, Thread = (
    threading.Condition,
    threading.Event,
    threading.Lock,
    threading.RLock,
    threading.Thread,
)

__all__ = [
    "Condition", "Empty", "Event", "Future", "Lock", "OrderedDict", "Queue", "RLock", "Thread", "UUID", "WeakSet",
    "copy", "datetime", "defaultdict", "deque", "errno", "io", "itertools", "json", "namedtuple", "partial",
    "random", "re", "socket", "ssl", "struct", "sys", "time", "timedelta", "timezone", "total_ordering", "types",
    "uuid", "warnings", "weakref", "wraps",
]  # fmt: skip


# ---- helpers and classes

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


def _addrinfo_or_none(contact_point: str, port: int) -> list[Any] | None:
    """Return the result of ``socket.getaddrinfo``; None if the name is not found."""
    try:
        return socket.getaddrinfo(contact_point, port, socket.AF_UNSPEC, socket.SOCK_STREAM)
    except socket.gaierror:
        return None


def _addrinfo_to_ip_strings(addrinfo: Iterable[Any]) -> list[tuple[str, int]]:
    """Return address and port of each entry."""
    return [(str(entry[4][0]), int(entry[4][1])) for entry in addrinfo]


def _resolve_contact_points_to_string_map(contact_points: Iterable[tuple[str, int]]) -> OrderedDict[str, Any]:
    """Return addresses and ports by ``name:port``; None for a name that is not found."""
    found: OrderedDict[str, Any] = OrderedDict()
    for name, port in contact_points:
        addresses = _addrinfo_or_none(name, port)
        found[f"{name}:{port}"] = None if addresses is None else _addrinfo_to_ip_strings(addresses)
    return found


class _Executor:
    results_generator: ClassVar[bool]

    def __init__(self, session: Any, statements_and_params: Iterable[Any], execution_profile: Any) -> None:
        self.session = session
        self._statements = statements_and_params
        self._profile = execution_profile

    def execute(self, concurrency: int, fail_fast: bool) -> Any:
        """Return the result of ``execute_concurrent`` for these statements."""
        return execute_concurrent(
            self.session,
            self._statements,
            concurrency=concurrency,
            raise_on_first_error=fail_fast,
            results_generator=self.results_generator,
            execution_profile=self._profile,
        )


@public("cassandra.concurrent")
class ConcurrentExecutorGenResults(_Executor):
    """Returns results as a generator."""

    results_generator = True


@public("cassandra.concurrent")
class ConcurrentExecutorListResults(_Executor):
    """Returns results as a list."""

    results_generator = False


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

    @wraps(f)
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

    @wraps(f)
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
    query = maybe_add_timeout_to_query(
        f"SELECT {protect_name(column_name)} FROM system.local WHERE key='local'", metadata_request_timeout
    )
    _, answer = connection.wait_for_response(
        QueryMessage(query=query, consistency_level=ConsistencyLevel.ONE), timeout=timeout, fail_on_error=False
    )
    rows = getattr(answer, "parsed_rows", None)
    return rows[0][0] if rows else ""


@public("cassandra.policies")
class DSELoadBalancingPolicy(DefaultLoadBalancingPolicy):
    """:class:`DefaultLoadBalancingPolicy` under its old name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        warnings.warn(
            "DSELoadBalancingPolicy will be removed in a future release. Consider using DefaultLoadBalancingPolicy.",
            DeprecationWarning,
            stacklevel=2,
        )


# ---- readers of the schema

READERS = "reads the schema in scylla-driver; here cluster.metadata and cluster.refresh_schema_metadata() do that"


@public("cassandra.metadata")
class _RegisteredExtensionType(type):
    """The registry of table extensions, by name; as a metaclass it registers its classes there."""

    _extension_registry = _BY_NAME

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        super().__init__(name, bases, dct)
        if dct.get("name") is not None:
            cls._extension_registry[dct["name"]] = cls  # type: ignore[assignment]


_encoder = Encoder()

#: Strategies by name, without their package.
_replication_strategies = ReplicationStrategyTypeType.registry


@public("cassandra.metadata")
class _UnknownStrategyBuilder:
    """Creates the strategies of an unknown name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, options_map: Mapping[str, Any]) -> _UnknownStrategy:
        return _UnknownStrategy(self.name, options_map)


def _cql_from_cass_type(cass_type: Any) -> str:
    """Return the CQL spelling of a type, without the order of a clustering column."""
    if issubclass(cass_type, ReversedType):
        return str(cass_type.subtypes[0].cql_parameterized_type())
    return str(cass_type.cql_parameterized_type())


@public("cassandra.metadata")
class SchemaParserV3:
    """Reads the schema over a connection, without caching: each call queries the server. The argument *keyspaces* is
    ignored."""

    _version = "3"
    recognized_table_options: tuple[str, ...] = (
        "bloom_filter_fp_chance", "caching", "cdc", "comment", "compaction", "compression", "crc_check_chance",
        "dclocal_read_repair_chance", "default_time_to_live", "in_memory", "gc_grace_seconds", "max_index_interval",
        "memtable_flush_period_in_ms", "min_index_interval", "read_repair_chance", "speculative_retry",
    )  # fmt: skip

    def __init__(
        self, connection: Any, timeout: float | None, fetch_size: int | None, metadata_request_timeout: Any
    ) -> None:
        self.connection = connection
        self.timeout = timeout
        self.fetch_size = fetch_size
        self.metadata_request_timeout = metadata_request_timeout

    def _read(self, target: SchemaTarget) -> Mapping[str, KeyspaceMetadata]:
        features = self.connection.features
        is_scylla = features.sharding_info is not None
        traits = ServerTraits.of(self._version, is_scylla, features.tablets_routing_v2)
        limit = maybe_add_timeout_to_query("", self.metadata_request_timeout) if is_scylla else ""
        made = Metadata()
        made.apply_schema(target, schema_rows(self.connection, target, traits, self.timeout, self.fetch_size, limit))
        return made.keyspaces

    def _keyspace(self, name: str) -> KeyspaceMetadata | None:
        return self._read(SchemaTarget.of_keyspace(name, contents=True)).get(name)

    def _part(self, keyspace: str, part: str, name: str) -> Any:
        found = self._keyspace(keyspace)
        return None if found is None else getattr(found, part).get(name)

    def get_all_keyspaces(self) -> Iterator[KeyspaceMetadata]:
        """Yield each keyspace with its contents."""
        yield from self._read(SchemaTarget.everything()).values()

    def get_keyspace(self, keyspaces: Any, keyspace: str) -> KeyspaceMetadata | None:
        """Return one keyspace without its contents; None if it does not exist."""
        return self._read(SchemaTarget.of_keyspace(keyspace)).get(keyspace)

    def get_table(self, keyspaces: Any, keyspace: str, table: str) -> Any:
        """Return a table or a view; None if it does not exist."""
        found = self._keyspace(keyspace)
        return None if found is None else found.tables.get(table) or found.views.get(table)

    def get_type(self, keyspaces: Any, keyspace: str, type: str) -> Any:
        """Return a user type; None if it does not exist."""
        return self._part(keyspace, "user_types", type)

    def get_types_map(self, keyspaces: Any, keyspace: str) -> Mapping[str, Any]:
        """Return user types by name."""
        found = self._keyspace(keyspace)
        return {} if found is None else found.user_types

    def get_function(self, keyspaces: Any, keyspace: str, function: Any) -> Any:
        """Return the function of a descriptor; None if it does not exist."""
        return self._part(keyspace, "functions", function.signature)

    def get_aggregate(self, keyspaces: Any, keyspace: str, aggregate: Any) -> Any:
        """Return the aggregate of a descriptor; None if it does not exist."""
        return self._part(keyspace, "aggregates", aggregate.signature)


@public("cassandra.metadata")
class SchemaParserV4(SchemaParserV3):
    """Reader for servers with virtual keyspaces."""

    _version = "4"
    recognized_table_options = (
        "additional_write_policy", "bloom_filter_fp_chance", "caching", "cdc", "comment", "compaction", "compression",
        "crc_check_chance", "default_time_to_live", "gc_grace_seconds", "max_index_interval",
        "memtable_flush_period_in_ms", "min_index_interval", "read_repair", "speculative_retry",
    )  # fmt: skip


@public("cassandra.metadata")
def get_schema_parser(
    connection: Any,
    server_version: str,
    dse_version: Any,
    timeout: float | None,
    metadata_request_timeout: Any = None,
    fetch_size: int | None = None,
) -> SchemaParserV3:
    """Return the reader for the schema of a server of that version. Raise UnsupportedOperation below Cassandra 3, and
    for DSE."""
    version = Version(server_version)
    if dse_version or version < Version("3.0.0"):
        raise UnsupportedOperation(f"The schema of version {dse_version or server_version} is not read by this driver")
    kind = SchemaParserV4 if version >= Version("4.0-a") else SchemaParserV3
    return kind(connection, timeout, fetch_size, metadata_request_timeout)


__getattr__ = finder("cassandra.metadata", {READERS: "SchemaParserV22"}, {})


# ---- binary layouts

frame_header_v3 = struct.Struct(">BhBi")
v3_header_struct = struct.Struct(">BBhB")
point_be, point_le = struct.Struct(">dd"), struct.Struct("<dd")
circle_be, circle_le = struct.Struct(">ddd"), struct.Struct("<ddd")


def _make_packer(format_string: str) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    """Return functions that pack and unpack one value."""
    layout = struct.Struct(format_string)
    return layout.pack, lambda data: layout.unpack(data)[0]


@public("cassandra.connection")
class _Frame:
    """The position of a frame in a buffer, and the fields of its header."""

    def __init__(self, version: int, flags: int, stream: int, opcode: int, body_offset: int, end_pos: int) -> None:
        self.version = version
        self.flags = flags
        self.stream = stream
        self.opcode = opcode
        self.body_offset = body_offset
        self.end_pos = end_pos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frame) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        length = self.end_pos - self.body_offset
        return (
            f"ver({self.version}); flags({self.flags:04b}); stream({self.stream}); op({self.opcode}); "
            f"offset({self.body_offset}); len({length})"
        )


@public("cassandra.util")
class _LinearRing:
    """A ring of a polygon."""

    __slots__ = ("coords",)

    def __init__(self, coords: Any = ()) -> None:
        self.coords = LineString(coords).coords if coords else ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _LinearRing) and self.coords == other.coords

    def __hash__(self) -> int:
        return hash(self.coords)

    def __str__(self) -> str:
        if not self.coords:
            return "LINEARRING EMPTY"
        return f"LINEARRING ({', '.join(' '.join(map(repr, point)) for point in self.coords)})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.coords!r})"


# ---- names of types

_number_types = frozenset((int, float))
_little_endian_flag = int(sys.byteorder == "little")

#: ``scan`` returns the tokens of a name, and the rest that it could not read.
casstype_scanner = re.Scanner(  # type: ignore[attr-defined]
    [
        (r"[()]", lambda scanner, piece: piece),
        (r"[a-zA-Z0-9_.:=>]+", lambda scanner, piece: piece),
        (r"[\s,]", None),
    ]
)
cql_type_scanner = re.Scanner(  # type: ignore[attr-defined]
    [
        (r"frozen", None),
        (r"[a-zA-Z0-9_]+", lambda scanner, piece: piece),
        (r"[\s,<>]", None),
    ]
)


def _name_from_hex_string(encoded_name: str | bytes) -> str:
    """Decode the name of a field from the server's spelling of types: UTF-8, in hexadecimal digits."""
    return unhexlify(encoded_name).decode("utf-8")


def _strip_frozen_from_python(types: list[Any]) -> list[Any]:
    """Return *types* without ``frozen``, at any depth: the contents replace it."""
    found: list[Any] = []
    for before, item in zip([None, *types], types, strict=False):
        if item == "frozen":
            continue
        pieces = _strip_frozen_from_python(item) if isinstance(item, list) else item
        if before == "frozen" and isinstance(pieces, list):
            found += pieces
        else:
            found.append(pieces)
    return found
