"""Metadata, protocol primitives and results in Python, for protocol handlers of programs (L2).

The driver itself decodes natively, with ``codec.Reader``, also for subclasses of ResultMessage without steps of their
own. Here are:

* Column metadata as Python objects: keyspace, table, name and type class of each column.
* The ``read_*`` and ``write_*`` functions of ``cassandra.protocol``, on file-like objects.
* Decoding of RESULT bodies step by step, for subclasses of ResultMessage that override a step. The steps have
  scylla-driver's names and arguments, so that an application's subclass works unchanged: ``recv_results_rows`` gets a
  file-like object and sets ``column_names``, ``column_types`` and ``parsed_rows``; ``type_codes`` has the class that
  decodes each type.
"""

from __future__ import annotations

import copyreg
import struct
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import Any, ClassVar, Final, NamedTuple

from cassandra._base.constants import Opcode, ProtocolVersion, ResultKind
from cassandra._base.errors import DriverException, NotSupportedError, ProtocolError
from cassandra._base.logs import printable
from cassandra._base.objects import public
from cassandra._base.server_errors import _MessageType
from cassandra._core.codec import UNSET, BindPlan, Codec, Reader, ResultPlan, TypeContext, custom_codec
from cassandra._wire.encryption import readers_of
from cassandra._wire.types.base import CassandraTypeType, _on_register, defined
from cassandra._wire.types.nested import ListType, MapType, SetType, TupleType, UserType
from cassandra._wire.types.parser import lookup_casstype
from cassandra._wire.types.registry import resolve_custom, type_class
from cassandra._wire.types.scalars import scalar_classes

from .requests import ReadableFile, WritableFile

#: The names that ``cassandra.protocol`` imports: the primitives.
__all__ = [
    "int32_pack",
    "read_binary_longstring",
    "read_binary_string",
    "read_byte",
    "read_bytesmap",
    "read_consistency_level",
    "read_error_code_map",
    "read_inet",
    "read_inet_addr_only",
    "read_int",
    "read_longstring",
    "read_short",
    "read_string",
    "read_stringlist",
    "read_stringmap",
    "read_stringmultimap",
    "read_uint_le",
    "read_value",
    "uint16_pack",
    "uint32_le_pack",
    "uint32_pack",
    "uint64_pack",
    "uint8_pack",
    "v3_header_pack",
    "write_byte",
    "write_bytesmap",
    "write_consistency_level",
    "write_inet",
    "write_int",
    "write_long",
    "write_longstring",
    "write_short",
    "write_string",
    "write_stringlist",
    "write_stringmap",
    "write_stringmultimap",
    "write_uint",
    "write_uint_le",
    "write_value",
]

Specs = Iterable[tuple[str, str, str, Any]]


# ---- metadata of columns


@public("cassandra.protocol")
class ColumnMetadata(NamedTuple):
    """A bind marker or a result column."""

    keyspace_name: str
    """Keyspace of the table."""
    table_name: str
    """Name of the table."""
    name: str
    """Name of the column or marker."""
    type: Any
    """A class of ``cassandra.cqltypes``."""


class Columns(list[Any]):
    """The columns of a plan, with a reference to it: passed to a protocol handler for a response without metadata."""

    def __init__(self, plan: ResultPlan) -> None:
        super().__init__(columns_of(plan.specs))
        self.plan = plan


class UserTypes(Mapping[str, "_Keyspace"]):
    """The classes registered for user types, by keyspace and name, for look-ups of protocol handlers."""

    def __init__(self, context: TypeContext) -> None:
        self.context = context

    def __getitem__(self, keyspace: str) -> _Keyspace:
        return _Keyspace(self.context, keyspace)

    def __iter__(self) -> Any:
        return iter(())  # the context only has look-ups

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True


class _Keyspace(Mapping[str, Any]):
    def __init__(self, context: TypeContext, keyspace: str) -> None:
        self._context = context
        self._keyspace = keyspace

    def __getitem__(self, name: str) -> Any:
        found = self._context.user_type(self._keyspace, name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True


def columns_of(specs: Specs) -> list[ColumnMetadata]:
    """Return the public form of native column specs; types that are already classes stay unchanged."""
    return [ColumnMetadata(*spec[:3], _public_type(spec[3])) for spec in specs]


def specs_of(columns: Specs | None) -> list[tuple[str, str, str, Codec]]:
    """Return native column specs for *columns*: (keyspace, table, name, type class) each, or objects with the
    attributes of ``ColumnMetadata``, such as the doubles of tests."""
    return [
        (keyspace, table, name, kind if isinstance(kind, Codec) else _codec_of(kind))
        for keyspace, table, name, kind in map(_four, columns or ())
    ]


def _four(column: Any) -> Sequence[Any]:
    if isinstance(column, tuple | list):
        return column
    return column.keyspace_name, column.table_name, column.name, column.type


def _codec_of(kind: Any) -> Codec:
    codec = kind.codec()
    return codec if isinstance(codec, Codec) else custom_codec(str(kind), kind.deserialize, kind.serialize)


_no_user_types = TypeContext(resolve_custom)
_on_register.append(_no_user_types.clear)


def as_context(user_types: TypeContext | Mapping[str, Mapping[str, Any]] | None) -> TypeContext:
    """Return a TypeContext, made from a plain mapping of keyspace and type name to class if necessary."""
    if isinstance(user_types, TypeContext):
        return user_types
    if isinstance(user_types, UserTypes):
        return user_types.context
    if not user_types:
        return _no_user_types
    known = user_types
    return TypeContext(resolve_custom, lambda keyspace, name: known.get(keyspace, {}).get(name))


def as_plan(metadata: Any) -> ResultPlan | None:
    """Return a ResultPlan unchanged, or the plan of columns; None if there is no metadata."""
    if isinstance(metadata, Columns):
        return metadata.plan
    if isinstance(metadata, Sequence) and metadata:
        return ResultPlan(specs_of(metadata))
    return metadata if isinstance(metadata, ResultPlan) else None


def as_columns(metadata: Any) -> Any:
    """Return the argument for a protocol handler in place of *metadata*, the plan of a response without metadata."""
    return Columns(metadata) if isinstance(metadata, ResultPlan) else metadata


def as_user_types(user_types: Any) -> Any:
    """Return the argument for a protocol handler in place of a TypeContext."""
    return UserTypes(user_types) if isinstance(user_types, TypeContext) else user_types


def _public_type(kind: Any) -> Any:
    return type_class(kind) if isinstance(kind, Codec) else kind


def _reduce_type(cls: Any) -> str | tuple[Any, ...]:
    """Pickle a type by its name; a type with parameters, which has no name in a module, by the server's spelling."""
    name: str = cls.__qualname__
    if getattr(sys.modules.get(cls.__module__), name, None) is cls:
        return name
    return lookup_casstype, (cls.cass_parameterized_type(full=True),)


copyreg.pickle(CassandraTypeType, _reduce_type)


# ---- protocol primitives

int32_pack: Callable[[int], bytes] = struct.Struct(">i").pack  #: Return the bytes of a number.
uint8_pack: Callable[[int], bytes] = struct.Struct(">B").pack  #: Return the bytes of a number.
uint16_pack: Callable[[int], bytes] = struct.Struct(">H").pack  #: Return the bytes of a number.
uint32_pack: Callable[[int], bytes] = struct.Struct(">I").pack  #: Return the bytes of a number.
uint64_pack: Callable[[int], bytes] = struct.Struct(">Q").pack  #: Return the bytes of a number.
uint32_le_pack: Callable[[int], bytes] = struct.Struct("<I").pack  #: Return the bytes of a number.
#: Return the bytes of the header of a frame.
v3_header_pack: Callable[[int, int, int, int], bytes] = struct.Struct(">BBhB").pack


def _take(f: ReadableFile, size: int) -> bytes:
    data = f.read(size)
    if len(data) != size:
        raise ProtocolError(f"message ends {size - len(data)} bytes early")
    return data


def _unpack(f: ReadableFile, layout: str, size: int) -> int:
    value: int = struct.unpack(layout, _take(f, size))[0]
    return value


def read_byte(f: ReadableFile) -> int:
    """Read a signed byte from the file-like *f*."""
    return _unpack(f, ">b", 1)


def read_short(f: ReadableFile) -> int:
    """Read a number of 16 bits from the file-like *f*."""
    return _unpack(f, ">H", 2)


def read_int(f: ReadableFile) -> int:
    """Read a signed number of 32 bits from the file-like *f*."""
    return _unpack(f, ">i", 4)


def read_uint_le(f: ReadableFile, size: int = 4) -> int:
    """Read a number, the lowest byte first from the file-like *f*."""
    return int.from_bytes(_take(f, size), "little")


def read_consistency_level(f: ReadableFile) -> int:
    """Read a consistency level from the file-like *f*."""
    return read_short(f)


def read_binary_string(f: ReadableFile) -> bytes:
    """Read a string of bytes with its length in 16 bits from the file-like *f*."""
    return _take(f, read_short(f))


def read_string(f: ReadableFile) -> str:
    """Read a text with its length in 16 bits from the file-like *f*."""
    return read_binary_string(f).decode("utf8")


def read_binary_longstring(f: ReadableFile) -> bytes:
    """Read a string of bytes with its length in 32 bits from the file-like *f*."""
    return _take(f, read_int(f))


def read_longstring(f: ReadableFile) -> str:
    """Read a text with its length in 32 bits from the file-like *f*."""
    return read_binary_longstring(f).decode("utf8")


def read_value(f: ReadableFile) -> bytes | None:
    """Read a value or null from the file-like *f*."""
    size = read_int(f)
    return None if size < 0 else _take(f, size)


def read_stringlist(f: ReadableFile) -> list[str]:
    """Read a list of texts from the file-like *f*."""
    return [read_string(f) for _ in range(read_short(f))]


def read_stringmap(f: ReadableFile) -> dict[str, str]:
    """Read a map of texts from the file-like *f*."""
    return {read_string(f): read_string(f) for _ in range(read_short(f))}


def read_stringmultimap(f: ReadableFile) -> dict[str, list[str]]:
    """Read a map of texts to lists of texts from the file-like *f*."""
    return {read_string(f): read_stringlist(f) for _ in range(read_short(f))}


def read_bytesmap(f: ReadableFile) -> dict[str, bytes | None]:
    """Read a map of texts to values from the file-like *f*."""
    return {read_string(f): read_value(f) for _ in range(read_short(f))}


def read_error_code_map(f: ReadableFile) -> dict[str, int]:
    """Read a map of addresses to error codes from the file-like *f*."""
    return {read_inet_addr_only(f): read_short(f) for _ in range(read_int(f))}


def read_inet_addr_only(f: ReadableFile) -> str:
    """Read an address from the file-like *f*."""
    size = _unpack(f, ">B", 1)
    if size not in (4, 16):
        raise ProtocolError(f"an address has 4 or 16 bytes, not {size}")
    return inet_ntop(AF_INET if size == 4 else AF_INET6, _take(f, size))


def read_inet(f: ReadableFile) -> tuple[str, int]:
    """Read an address and a port from the file-like *f*."""
    return read_inet_addr_only(f), read_int(f)


def write_byte(f: WritableFile, b: int) -> None:
    """Write a signed byte to the file-like *f*."""
    f.write(struct.pack(">b", b))


def write_short(f: WritableFile, s: int) -> None:
    """Write a number of 16 bits to the file-like *f*."""
    f.write(uint16_pack(s))


def write_int(f: WritableFile, i: int) -> None:
    """Write a signed number of 32 bits to the file-like *f*."""
    f.write(int32_pack(i))


def write_uint(f: WritableFile, i: int) -> None:
    """Write a number of 32 bits to the file-like *f*."""
    f.write(uint32_pack(i))


def write_uint_le(f: WritableFile, i: int, size: int = 4) -> None:
    """Write a number, the lowest byte first to the file-like *f*."""
    f.write(i.to_bytes(size, "little"))


def write_long(f: WritableFile, i: int) -> None:
    """Write a signed number of 64 bits to the file-like *f*."""
    f.write(struct.pack(">q", i))


def write_consistency_level(f: WritableFile, cl: int) -> None:
    """Write a consistency level to the file-like *f*."""
    write_short(f, cl)


def _as_bytes(s: str | bytes) -> bytes:
    return s.encode("utf8") if isinstance(s, str) else s


def write_string(f: WritableFile, s: str | bytes) -> None:
    """Write a text with its length in 16 bits to the file-like *f*."""
    data = _as_bytes(s)
    write_short(f, len(data))
    f.write(data)


def write_longstring(f: WritableFile, s: str | bytes) -> None:
    """Write a text with its length in 32 bits to the file-like *f*."""
    data = _as_bytes(s)
    write_int(f, len(data))
    f.write(data)


def write_value(f: WritableFile, v: Any) -> None:
    """Write a value: None as null, UNSET as unset."""
    if v is None:
        write_int(f, -1)
    elif v is UNSET:
        write_int(f, -2)
    else:
        write_int(f, len(v))
        f.write(v)


def write_stringlist(f: WritableFile, stringlist: Sequence[str]) -> None:
    """Write a list of texts to the file-like *f*."""
    write_short(f, len(stringlist))
    for item in stringlist:
        write_string(f, item)


def write_stringmap(f: WritableFile, strmap: Mapping[str, str]) -> None:
    """Write a map of texts to the file-like *f*."""
    write_short(f, len(strmap))
    for key, value in strmap.items():
        write_string(f, key)
        write_string(f, value)


def write_stringmultimap(f: WritableFile, strmmap: Mapping[str, Sequence[str]]) -> None:
    """Write a map of texts to lists of texts to the file-like *f*."""
    write_short(f, len(strmmap))
    for key, values in strmmap.items():
        write_string(f, key)
        write_stringlist(f, values)


def write_bytesmap(f: WritableFile, bytesmap: Mapping[str, bytes | None]) -> None:
    """Write a map of texts to values to the file-like *f*."""
    write_short(f, len(bytesmap))
    for key, value in bytesmap.items():
        write_string(f, key)
        write_value(f, value)


def write_inet(f: WritableFile, addrtuple: tuple[str, int]) -> None:
    """Write an address and a port to the file-like *f*."""
    address, port = addrtuple
    packed = inet_pton(AF_INET6 if ":" in address else AF_INET, address)
    f.write(uint8_pack(len(packed)))
    f.write(packed)
    write_int(f, port)


# ---- decoding of RESULT step by step

CUSTOM, LIST, MAP, SET, USER_TYPE, TUPLE = 0x00, 0x20, 0x21, 0x22, 0x30, 0x31
STEPS = (
    "recv",
    "recv_results_rows",
    "recv_results_prepared",
    "recv_results_metadata",
    "recv_prepared_metadata",
    "recv_results_schema_change",
    "read_type",
    "recv_row",
    "type_codes",
)

ColumnList = list[Any]


class ReadsResults(_MessageType):
    """The steps. Each may be overridden; ``super()`` has the implementation described here."""

    __slots__ = ()

    opcode = Opcode.RESULT
    name = "RESULT"

    type_codes: ClassVar[dict[int, Any]] = {
        CUSTOM: None,
        **scalar_classes,
        LIST: ListType,
        MAP: MapType,
        SET: SetType,
        USER_TYPE: UserType,
        TUPLE: TupleType,
    }
    """The class of ``cassandra.cqltypes`` for each type id of the protocol. Replace it by a changed copy."""
    code_to_type: ClassVar[dict[Any, int]] = {cls: code for code, cls in type_codes.items()}
    """Numbers of the types in the protocol, by class."""

    _FLAGS_GLOBAL_TABLES_SPEC: Final = 0x0001
    _HAS_MORE_PAGES_FLAG: Final = 0x0002
    _NO_METADATA_FLAG: Final = 0x0004
    _METADATA_ID_FLAG: Final = 0x0008

    _has_own_steps: ClassVar[bool] = False
    _takes_policy: ClassVar[bool] = True

    kind: Any
    parsed_rows: Any
    column_names: Any
    column_types: Any
    column_metadata: Any
    bind_metadata: Any
    bind_plan: Any
    plan: Any
    pk_indexes: Any
    query_id: Any
    new_keyspace: Any
    paging_state: Any
    result_metadata_id: Any
    metadata_changed: Any
    schema_change_event: Any
    is_lwt: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("recv_results_rows")
        if own is not None:  # steps written before column encryption existed do not accept a policy
            cls._takes_policy = getattr(getattr(own, "__code__", None), "co_argcount", 0) != 5
        cls._has_own_steps = any(defined(cls, step) is not defined(ReadsResults, step) for step in STEPS)

    def recv(
        self,
        f: ReadableFile,
        protocol_version: int,
        protocol_features: Any,
        user_type_map: Any,
        result_metadata: Any,
        column_encryption_policy: Any,
    ) -> None:
        """Read the body after the kind."""
        kind = self.kind
        if kind == ResultKind.ROWS:
            policy = (column_encryption_policy,) if self._takes_policy else ()
            self.recv_results_rows(f, protocol_version, user_type_map, result_metadata, *policy)
        elif kind == ResultKind.SET_KEYSPACE:
            self.new_keyspace = read_string(f)
        elif kind == ResultKind.PREPARED:
            self.recv_results_prepared(f, protocol_version, protocol_features, user_type_map)
        elif kind == ResultKind.SCHEMA_CHANGE:
            self.recv_results_schema_change(f, protocol_version)
        elif kind != ResultKind.VOID:
            raise ProtocolError(f"unknown RESULT kind {kind}")

    def recv_results_rows(
        self,
        f: ReadableFile,
        protocol_version: int,
        user_type_map: Any,
        result_metadata: Any,
        column_encryption_policy: Any,
    ) -> None:
        """Read rows: metadata, or *result_metadata* if the body has none; the number of rows; their cells."""
        told = self.recv_results_metadata(f, user_type_map)
        columns = self.column_metadata or result_metadata or []
        if not self.column_metadata and columns and told is not None and told != len(columns):
            raise DriverException(
                f"The answer has {told} columns where the metadata of the prepared statement has {len(columns)}: "
                "the table was altered since it was prepared"
            )
        count = read_int(f)
        if count and not columns:
            raise ProtocolError(f"answer of {count} rows without metadata to a request that has none")
        cells = [self.recv_row(f, len(columns)) for _ in range(count)]
        self.column_names = [column[2] for column in columns]
        self.column_types = [column[3] for column in columns]
        if column_encryption_policy is not None:
            columns = readers_of(column_encryption_policy, columns)
        self.parsed_rows = [_values(columns, row, number, protocol_version) for number, row in enumerate(cells)]

    def recv_results_prepared(
        self, f: ReadableFile, protocol_version: int, protocol_features: Any, user_type_map: Any
    ) -> None:
        """Read the response to PREPARE."""
        self.query_id = read_binary_string(f)
        if uses_metadata_ids(protocol_version, protocol_features):
            self.result_metadata_id = read_binary_string(f)
        self.recv_prepared_metadata(f, protocol_version, protocol_features, user_type_map)
        self.recv_results_metadata(f, user_type_map)

    def recv_results_metadata(self, f: ReadableFile, user_type_map: Any) -> int | None:
        """Read the metadata of rows into ``column_metadata``, and the paging state if present.

        Return the number of columns of the response. If an application's step returns None, the number is not checked.
        """
        flags = read_int(f)
        count = read_int(f)
        if flags & self._HAS_MORE_PAGES_FLAG:
            self.paging_state = read_value(f)
        if flags & self._METADATA_ID_FLAG:
            self.result_metadata_id = read_binary_string(f)
            self.metadata_changed = True
        if not flags & self._NO_METADATA_FLAG:
            self.column_metadata = self._read_columns(f, flags, count, user_type_map)
        return count

    def recv_prepared_metadata(
        self, f: ReadableFile, protocol_version: int, protocol_features: Any, user_type_map: Any
    ) -> None:
        """Read the metadata of the bind markers into ``bind_metadata`` and ``pk_indexes``."""
        flags = read_int(f)
        count = read_int(f)
        if protocol_version >= ProtocolVersion.V4:
            self.pk_indexes = [read_short(f) for _ in range(read_int(f))]
        self.bind_metadata = self._read_columns(f, flags, count, user_type_map)
        lwt = getattr(protocol_features, "lwt_info", None)
        self.is_lwt = bool(lwt is not None and lwt.get_lwt_flag(flags))

    def recv_results_schema_change(self, f: ReadableFile, protocol_version: int) -> None:
        """Read the change into ``schema_change_event``."""
        self.schema_change_event = Reader(f.read()).schema_change()

    def _read_columns(self, f: ReadableFile, flags: int, count: int, user_type_map: Any) -> ColumnList:
        shared = flags & self._FLAGS_GLOBAL_TABLES_SPEC
        table = (read_string(f), read_string(f)) if shared else ("", "")
        columns = []
        for _ in range(count):
            keyspace, name_of_table = table if shared else (read_string(f), read_string(f))
            name = read_string(f)
            try:
                kind = self.read_type(f, user_type_map)
            except ValueError as error:  # a class that cannot be created
                raise ProtocolError(f"type of column {name!r}: {error}") from error
            columns.append(ColumnMetadata(keyspace, name_of_table, name, kind))
        return columns

    @classmethod
    def read_type(cls, f: ReadableFile, user_type_map: Any) -> Any:
        """Read a type and return its class."""
        code = read_short(f)
        if code == CUSTOM:
            return type_class(resolve_custom(read_string(f)))
        if code not in cls.type_codes:
            raise NotSupportedError(f"Unknown data type code 0x{code:04x}. Have to skip entire result set.")
        kind = cls.type_codes[code]
        if code in (LIST, SET):
            return kind.apply_parameters((cls.read_type(f, user_type_map),))
        if code == MAP:
            key = cls.read_type(f, user_type_map)
            return kind.apply_parameters((key, cls.read_type(f, user_type_map)))
        if code == TUPLE:
            return kind.apply_parameters(tuple(cls.read_type(f, user_type_map) for _ in range(read_short(f))))
        if code == USER_TYPE:
            return cls._read_user_type(f, kind, user_type_map)
        return kind

    @classmethod
    def _read_user_type(cls, f: ReadableFile, kind: Any, user_type_map: Any) -> Any:
        keyspace, name = read_string(f), read_string(f)
        fields = [(read_string(f), cls.read_type(f, user_type_map)) for _ in range(read_short(f))]
        names, types = tuple(field for field, _ in fields), tuple(sub for _, sub in fields)
        return kind._make(keyspace, name, names, types, as_context(user_type_map).user_type(keyspace, name))

    @staticmethod
    def recv_row(f: ReadableFile, colcount: int) -> list[bytes | None]:
        """Read the cells of a row."""
        return [read_value(f) for _ in range(colcount)]

    @classmethod
    def _read(cls, f: ReadableFile, *arguments: Any) -> Any:
        """Read a whole body, kind first."""
        kind = read_int(f)
        if not 0 < kind < 256:  # recv() rejects others; an overridden recv() may support more kinds
            raise ProtocolError(f"unknown RESULT kind {kind}")
        make: Any = cls
        message = make(kind)
        try:
            message.recv(f, *arguments)
            if message.kind == ResultKind.PREPARED:
                message._make_plans()
        except RecursionError as error:
            raise ProtocolError("a CQL type is nested too deeply") from error
        except UnicodeDecodeError as error:
            raise ProtocolError(f"a string of the message is not UTF-8: {error}") from error
        return message

    def _make_plans(self) -> None:
        """Make the plans that sessions bind and decode with from the attributes that the steps have set."""
        try:
            if self.bind_plan is None:
                self.bind_plan = BindPlan(specs_of(self.bind_metadata or ()), self.pk_indexes)
            if self.plan is None and self.column_metadata:
                self.plan = ResultPlan(specs_of(self.column_metadata))
        except (ValueError, NotImplementedError) as error:  # NotImplementedError for a tuple without elements
            raise ProtocolError(str(error)) from error


def uses_metadata_ids(version: int, features: Any) -> bool:
    """True if PREPARED responses contain a result metadata id."""
    return ProtocolVersion.uses_prepared_metadata(version) or bool(getattr(features, "use_metadata_id", False))


def _values(columns: Sequence[Any], cells: list[bytes | None], number: int, version: int) -> tuple[Any, ...]:
    row = []
    for (keyspace, table, name, kind), cell in zip(columns, cells, strict=True):
        try:
            row.append(kind.from_binary(cell, version))
        except Exception as error:
            text = (
                f"Failed to decode column {name!r} of {keyspace}.{table} as {kind.cql_parameterized_type()} "
                f"in row {number} of the page: {error}"
            )
            raise DriverException(printable(text)) from error
    return tuple(row)
