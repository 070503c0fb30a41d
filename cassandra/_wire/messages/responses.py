"""Responses of servers, and decoding of a frame to its message (L2), except rows that a session decodes itself.

The class of an error code declares the fields of its ERROR body (L0, ``info_fields``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra._base.constants import Flag, Opcode, ProtocolVersion, ResultKind, SchemaTargetType, WriteType
from cassandra._base.errors import OperationType, ProtocolError
from cassandra._base.names import UserAggregateDescriptor, UserFunctionDescriptor
from cassandra._base.objects import public
from cassandra._base.server_errors import (
    ERROR_CLASSES,
    ErrorMessage,
    PreparedQueryNotFound,
    RateLimitReachedException,
    _MessageType,
    slot_names,
)
from cassandra._core.codec import Reader, Result, ResultPlan, TypeContext, decode_result
from cassandra._core.transport import Frame
from cassandra._wire.encryption import context_by, resolver, result_plan_by
from cassandra._wire.rows import column_types, decode_page

from .reading import ReadsResults, as_columns, as_context, as_plan, as_user_types, columns_of, uses_metadata_ids
from .requests import (
    AuthChallengeMessage,
    AuthenticateMessage,
    AuthSuccessMessage,
    ReadableFile,
    ResponseMessage,
    as_reader,
)

# ---- bodies of ERROR


def read_error(reader: Reader, version: int, rate_limit_error: int | None = None) -> ErrorMessage:
    """Decode an ERROR body. *rate_limit_error* is the code that the server announced for its rate limit."""
    code = reader.int()
    message = reader.string()
    cls: type[ErrorMessage] = ERROR_CLASSES.get(code, ErrorMessage)
    if rate_limit_error is not None and code == rate_limit_error:
        cls = RateLimitReachedException
    elif cls is RateLimitReachedException:
        cls = ErrorMessage  # the placeholder code has no meaning unless it was negotiated
    error = cls(code, message, _read_info(cls, reader, version))
    error.args = (str(error),)  # tools that report errors use args[0] as the text
    return error


def _read_info(cls: type[ErrorMessage], reader: Reader, version: int) -> Any:
    if not cls.info_fields:
        return None
    info: dict[str, Any] = {}
    for name, kind in cls.info_fields:
        if kind == "contentions":
            if info.get("write_type") == WriteType.CAS and version >= 5 and reader.remaining >= 2:
                info[name] = reader.short()
        elif kind == "failures":
            _read_failures(reader, version, info)
        else:
            info[name] = _READERS[kind](reader)
    return info[""] if cls is PreparedQueryNotFound else info


def _read_failures(reader: Reader, version: int, info: dict[str, Any]) -> None:
    """Decode the number of failed replicas; on protocol 5 also their addresses and error codes (section 8,
    Read_failure)."""
    count = reader.int()
    if ProtocolVersion.uses_error_code_map(version):
        reasons: dict[str, int] = {}
        for _ in range(count):
            address = reader.inet_addr()
            reasons[address] = reader.short()
        info["failures"] = len(reasons)
        info["error_code_map"] = reasons
    else:
        info["failures"], info["error_code_map"] = count, None


def _write_type(reader: Reader) -> int | str:
    name = reader.string()
    return WriteType.name_to_value.get(name, name)


_READERS: dict[str, Any] = {
    "consistency": Reader.short,
    "int": Reader.int,
    "short": Reader.short,
    "string": Reader.string,
    "string_list": Reader.string_list,
    "short_bytes": Reader.short_bytes,
    "bool": lambda reader: reader.byte() != 0,
    "write_type": _write_type,
    "op_type": lambda reader: OperationType(reader.byte()),
}


# ---- EVENT: messages that servers push

#: Types of events with arguments.
known_event_types = frozenset({"TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE", "CLIENT_ROUTES_CHANGE"})


@public("cassandra.protocol")
class EventMessage(ResponseMessage):
    """An event.

    ``event_args`` has ``change_type`` and, by type of event, ``address`` (host, port); or ``target_type``, ``keyspace``
    and the name under the target's own key (``table``, ``type``, ``function``, ``aggregate``); or ``connection_ids``
    and ``host_ids``. It is empty for other types, such as those of servers that are newer than this driver.
    """

    opcode = Opcode.EVENT
    name = "EVENT"
    _fields = ("event_type", "event_args")

    def __init__(self, event_type: str, event_args: dict[str, Any]) -> None:
        self.event_type = event_type  #: Type of the event.
        self.event_args = event_args  #: Arguments of the event, a dict.

    @classmethod
    def recv_body(cls, f: Reader | ReadableFile, protocol_version: int = 4, *args: Any) -> EventMessage:
        """Return the message in the body *f*."""
        reader = as_reader(f)
        event_type = reader.string().upper()
        if event_type not in known_event_types:
            return cls(event_type, {})  # the rest of the body may have any layout
        read = getattr(cls, f"recv_{event_type.lower()}")
        return cls(event_type, read(reader, protocol_version))

    @classmethod
    def recv_topology_change(cls, f: Reader | ReadableFile, protocol_version: int) -> dict[str, Any]:
        """Return the arguments of a TOPOLOGY_CHANGE event."""
        reader = as_reader(f)
        return {"change_type": reader.string(), "address": reader.inet()}

    @classmethod
    def recv_status_change(cls, f: Reader | ReadableFile, protocol_version: int) -> dict[str, Any]:
        """Return the arguments of a STATUS_CHANGE event."""
        return cls.recv_topology_change(f, protocol_version)

    @classmethod
    def recv_schema_change(cls, f: Reader | ReadableFile, protocol_version: int) -> dict[str, Any]:
        """Return the arguments of a SCHEMA_CHANGE event."""
        reader = as_reader(f)
        change_type, target, keyspace = reader.string(), reader.string(), reader.string()
        event: dict[str, Any] = {"target_type": target, "change_type": change_type, "keyspace": keyspace}
        if target == SchemaTargetType.FUNCTION:
            event["function"] = UserFunctionDescriptor(reader.string(), reader.string_list())
        elif target == SchemaTargetType.AGGREGATE:
            event["aggregate"] = UserAggregateDescriptor(reader.string(), reader.string_list())
        elif target != SchemaTargetType.KEYSPACE:
            event[target.lower()] = reader.string()
        return event

    @classmethod
    def recv_client_routes_change(cls, f: Reader | ReadableFile, protocol_version: int) -> dict[str, Any]:
        """Return the arguments of a CLIENT_ROUTES_CHANGE event."""
        reader = as_reader(f)
        return {
            "change_type": reader.string(),
            "connection_ids": reader.string_list(),
            "host_ids": reader.string_list(),
        }


# ---- READY, SUPPORTED and RESULT


@public("cassandra.protocol")
class ReadyMessage(ResponseMessage):
    """The server is ready for requests."""

    opcode = Opcode.READY
    name = "READY"

    @classmethod
    def recv_body(cls, *args: Any) -> ReadyMessage:
        """Return the message in the body *f*."""
        return cls()


@public("cassandra.protocol")
class SupportedMessage(ResponseMessage):
    """The features that the server supports: CQL versions, and other options by name."""

    opcode = Opcode.SUPPORTED
    name = "SUPPORTED"
    _fields = ("cql_versions", "options")

    def __init__(self, cql_versions: list[str], options: dict[str, list[str]]) -> None:
        self.cql_versions = cql_versions  #: Versions of CQL.
        self.options = options  #: Options and their values, a dict of lists.

    @classmethod
    def recv_body(cls, f: Reader | ReadableFile, *args: Any) -> SupportedMessage:
        """Return the message in the body *f*."""
        options = as_reader(f).string_multimap()
        return cls(options.pop("CQL_VERSION", []), options)


_native: Any = Result  # for its descriptors, which the properties below extend
_PLANS = ("page", "plan", "bind_plan")


@public("cassandra.protocol")
class ResultMessage(Result, ReadsResults):
    """The response to a successful request. Rows stay bytes until they are accessed (see ``page``).

    Every attribute can be read on results of every kind; those without a value are None (``is_lwt``: False). A subclass
    may add attributes. Bodies of a subclass that overrides a step of decoding, such as ``recv_results_rows``, or
    ``type_codes``, are decoded in Python, step by step.
    """

    __slots__ = ()

    @property
    def column_types(self) -> list[Any] | None:
        """The type class of every column of rows."""
        own = _native.column_types.__get__(self)
        if own is None and self.plan is not None and self.kind == ResultKind.ROWS:
            return column_types(self.plan)
        return own  # type: ignore[no-any-return]

    @column_types.setter
    def column_types(self, value: list[Any] | None) -> None:
        _native.column_types.__set__(self, value)

    @property
    def column_metadata(self) -> list[Any] | None:
        """(keyspace, table, name, type class) of every column of rows."""
        found = _native.column_metadata.__get__(self)
        return None if found is None else columns_of(found)

    @column_metadata.setter
    def column_metadata(self, value: list[Any] | None) -> None:
        _native.column_metadata.__set__(self, value)

    @property
    def bind_metadata(self) -> list[Any] | None:
        """(keyspace_name, table_name, name, type) of every parameter of a prepared statement."""
        found = _native.bind_metadata.__get__(self)
        return None if found is None else columns_of(found)

    @bind_metadata.setter
    def bind_metadata(self, value: list[Any] | None) -> None:
        _native.bind_metadata.__set__(self, value)

    @classmethod
    def recv_body(
        cls,
        f: ReadableFile,
        protocol_version: int,
        protocol_features: Any = None,
        user_type_map: Any = None,
        result_metadata: Any = None,
        column_encryption_policy: Any = None,
    ) -> ResultMessage:
        """Decode a body without the fields that envelope flags announce."""
        if cls._has_own_steps:
            return cls._read(  # type: ignore[no-any-return]
                f,
                protocol_version,
                protocol_features,
                as_user_types(user_type_map),
                as_columns(result_metadata),
                column_encryption_policy,
            )
        lwt = getattr(protocol_features, "lwt_info", None)
        plan = as_plan(result_metadata)
        if plan is not None and column_encryption_policy is not None:
            plan = result_plan_by(resolver(column_encryption_policy), plan)
        return decode_result(
            cls,
            f.read(),
            0,
            protocol_version,
            context_by(column_encryption_policy, as_context(user_type_map)),
            plan,
            lwt_mask=lwt.lwt_meta_bit_mask if lwt else 0,
            metadata_ids=uses_metadata_ids(protocol_version, protocol_features),
        )

    def __copy__(self) -> ResultMessage:
        """Return a copy of the message that shares immutable parts, including rows that were not made yet."""
        return _restored(type(self), {name: getattr(self, name) for name in _names(self)})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with rows (as tuples) and without plans: the copy can be read, but not used to bind or decode."""
        state = {name: getattr(self, name) for name in _names(self) if name not in _PLANS}
        if self.page is not None:
            state["parsed_rows"] = list(decode_page(self.page, None))
            state["column_names"], state["column_types"] = self.column_names, self.column_types
        state["column_metadata"], state["bind_metadata"] = self.column_metadata, self.bind_metadata
        return _restored, (type(self), state)


@public("cassandra.protocol")
class FastResultMessage(ResultMessage):
    """An alias of ResultMessage: scylla-driver's name for results of its native decoder."""

    __slots__ = ()


def _names(message: ResultMessage) -> list[str]:
    """Return the names of the attributes of a message, without ``parsed_rows`` if the rows are still a page."""
    own = [name for name in slot_names(message) if name != "parsed_rows" or message.page is None]
    return [*own, *getattr(message, "__dict__", ())]


def _restored(cls: type[ResultMessage], state: dict[str, Any]) -> ResultMessage:
    message = cls.__new__(cls)
    for name, value in state.items():
        if value is not None and value is not False:
            setattr(message, name, value)
    return message


# ---- decoding of a frame

Decompress = Callable[[Any], bytes]

_PREFIX_FLAGS = Flag.TRACING | Flag.WARNING | Flag.CUSTOM_PAYLOAD
_DECODERS: dict[int, Callable[[Reader, int], Any]] = {
    Opcode.READY: ReadyMessage.recv_body,
    Opcode.AUTHENTICATE: AuthenticateMessage.recv_body,
    Opcode.SUPPORTED: SupportedMessage.recv_body,
    Opcode.EVENT: EventMessage.recv_body,
    Opcode.AUTH_CHALLENGE: AuthChallengeMessage.recv_body,
    Opcode.AUTH_SUCCESS: AuthSuccessMessage.recv_body,
}
_NAMES = {value: name for name, value in vars(Opcode).items() if not name.startswith("_")}


def decode_response(
    frame: Frame,
    context: TypeContext,
    *,
    decompress: Decompress | None = None,
    plan: ResultPlan | None = None,
    metadata_ids: bool = False,
    lwt_mask: int = 0,
    rate_limit_error: int | None = None,
    result_class: type[ResultMessage] = ResultMessage,
) -> Any:
    """Return the message of *frame*. An ERROR is returned, not raised. Raise ProtocolError for a malformed body.

    *decompress* is for compressed bodies of protocol 3 and 4; *plan* is for rows that come without metadata.
    """
    opcode = frame.opcode
    body, flags = _plain_body(frame, decompress)
    try:
        if opcode == Opcode.RESULT:
            return decode_result(
                result_class,
                body,
                flags,
                frame.version,
                context,
                plan,
                stream_id=frame.stream,
                lwt_mask=lwt_mask,
                metadata_ids=metadata_ids,
            )
        if opcode not in _NAMES:
            raise ProtocolError("unknown opcode")
        return _decode_other(opcode, Reader(body), flags, frame, rate_limit_error)
    except (ProtocolError, ValueError) as error:
        name = _NAMES.get(opcode, f"0x{opcode:02x}")
        raise ProtocolError(f"malformed {name} message: {error}") from error


def _plain_body(frame: Frame, decompress: Decompress | None) -> tuple[Any, int]:
    """Return the uncompressed body and the remaining flags. Protocol 5 compresses segments; its envelope flag is
    ignored."""
    flags = frame.flags
    if not flags & Flag.COMPRESSED or frame.version >= 5:
        return frame, flags
    if decompress is None:
        raise ProtocolError("compressed message on a connection without compression")
    return decompress(frame), flags & ~Flag.COMPRESSED


def _decode_other(opcode: int, reader: Reader, flags: int, frame: Frame, rate_limit_error: int | None) -> _MessageType:
    prefix = read_prefix(reader, flags)
    message: Any
    if opcode == Opcode.ERROR:
        message = read_error(reader, frame.version, rate_limit_error)
    elif (decode := _DECODERS.get(opcode)) is not None:
        message = decode(reader, frame.version)
    else:
        raise ProtocolError("the server sent a request opcode")
    message.stream_id = frame.stream
    set_prefix(message, prefix)
    return message  # type: ignore[no-any-return]


def set_prefix(message: Any, prefix: tuple[Any, list[str] | None, dict[str, bytes | None] | None] | None) -> None:
    """Set the prefix fields of *message*. Missing fields are not assigned, as every class has None as their default."""
    if prefix is None:
        return
    for name, value in zip(("trace_id", "warnings", "custom_payload"), prefix, strict=True):
        if value is not None:
            setattr(message, name, value)


def read_prefix(reader: Reader, flags: int) -> tuple[Any, list[str] | None, dict[str, bytes | None] | None] | None:
    """Return tracing id, warnings and custom payload, which precede the message itself; None without any."""
    if not flags & _PREFIX_FLAGS:
        return None
    trace_id = reader.uuid() if flags & Flag.TRACING else None
    warnings = reader.string_list() if flags & Flag.WARNING else None
    return trace_id, warnings, reader.bytes_map() if flags & Flag.CUSTOM_PAYLOAD else None
