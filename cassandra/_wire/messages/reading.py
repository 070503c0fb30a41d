"""Decoding of RESULT bodies step by step in Python, for subclasses of ResultMessage that override a step (L2).

The driver itself does not use it: a class without steps of its own is decoded natively. The steps have scylla-driver's
names and arguments, so that an application's subclass works unchanged: ``recv_results_rows`` gets a file-like object
and sets ``column_names``, ``column_types`` and ``parsed_rows``; ``type_codes`` has the class that decodes each type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from cassandra._base.constants import Opcode, ProtocolVersion, ResultKind
from cassandra._base.errors import DriverException, NotSupportedError, ProtocolError
from cassandra._base.logs import printable
from cassandra._base.server_errors import _MessageType
from cassandra._core.codec import BindPlan, Reader, ResultPlan
from cassandra._wire.encryption import readers_of
from cassandra._wire.messages.base import ReadableFile
from cassandra._wire.messages.columns import ColumnMetadata, as_context, specs_of
from cassandra._wire.messages.primitives import read_binary_string, read_int, read_short, read_string, read_value
from cassandra._wire.types.base import defined
from cassandra._wire.types.collections import ListType, MapType, SetType, TupleType
from cassandra._wire.types.registry import resolve_custom, type_class
from cassandra._wire.types.scalars import scalar_classes
from cassandra._wire.types.udt import UserType

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

Columns = list[Any]


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

    def _read_columns(self, f: ReadableFile, flags: int, count: int, user_type_map: Any) -> Columns:
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
