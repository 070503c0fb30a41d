"""ERROR messages of the protocol, and the root of all protocol messages (L0).

The root is in this layer because error messages are exceptions. Messages with details are converted to the public
exceptions of ``errors.py``.

``ERROR_CLASSES`` is the only table from server code to class. Each class declares in ``info_fields`` the layout of the
rest of its body (kinds are below) and in ``to_exception`` the public exception. ``_wire/messages/responses.py`` decodes
the body.

Kinds: ``consistency`` (short), ``int``, ``short``, ``string``, ``string_list``, ``short_bytes``, ``bool`` (byte),
``write_type`` (string, as :class:`WriteType` value or the string itself if unknown), ``op_type`` (byte, as
:class:`OperationType`), ``failures`` (int; from protocol 5 a map of address to code, stored as ``error_code_map``, with
its size as ``failures``), ``contentions`` (short, protocol 5, only if write_type is CAS and bytes are left).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from . import errors as driver
from .constants import Opcode
from .errors import RequestError, request_error, with_context
from .logs import printable
from .objects import public

E = TypeVar("E", bound=driver.DriverException)

InfoFields = tuple[tuple[str, str], ...]

_RESPONSES: InfoFields = (
    ("consistency", "consistency"),
    ("received_responses", "int"),
    ("required_responses", "int"),
)


# ---- the root of messages


@public("cassandra.protocol")
class _MessageType:
    """A protocol message. Subclasses set ``opcode`` and ``name`` and may have slots."""

    __slots__ = ()

    opcode: ClassVar[int]  #: Opcode of the message.
    name: ClassVar[str]  #: Name of the message.
    tracing: bool = False  #: True asks for a trace.
    trace_id: Any = None  #: Id of the trace; None without.
    custom_payload: dict[str, bytes | None] | None = None  #: Custom payload; None without.
    warnings: list[str] | None = None  #: Warnings of the server; None without.

    def update_custom_payload(self, other: Mapping[str, bytes | None] | None) -> None:
        """Merge *other* into this message's payload."""
        if other:
            # Not every subclass declares slots, so this class cannot declare where the attribute is stored.
            self.custom_payload = {**(self.custom_payload or {}), **other}  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in _fields(self))})>"


def slot_names(message: object) -> dict[str, None]:
    """Return the slots of every class of the MRO, including those of native classes, each once."""
    return dict.fromkeys(name for cls in type(message).__mro__ for name in _slots(cls))


def _slots(cls: type) -> tuple[str, ...]:
    declared = cls.__dict__.get("__slots__", ())
    return (declared,) if isinstance(declared, str) else tuple(declared)


def _fields(message: _MessageType) -> list[tuple[str, Any]]:
    """Return the public attributes that are neither None nor False, from the slots of the MRO and the instance dict."""
    names = [*slot_names(message), *getattr(message, "__dict__", ())]
    if getattr(message, "page", None) is not None:
        names.remove("parsed_rows")  # reading it would decode the rows
    shown = dict.fromkeys(name for name in names if not name.startswith("_"))
    values = ((name, getattr(message, name, None)) for name in shown)
    return [(name, value) for name, value in values if value is not None and value is not False]


# ---- error messages


@public("cassandra.protocol")
@request_error
class ErrorMessage(_MessageType, RequestError):
    """The server returned an error. ``info`` holds its details, mostly as a dict."""

    opcode = Opcode.ERROR
    name = "ERROR"
    summary: ClassVar[str] = "Unknown"  #: What kind of error it is.
    info_fields: ClassVar[InfoFields] = ()  #: Names of the details, and functions that read them.

    stream_id: int | None = None  #: Stream id of the frame.
    trace_id: Any = None  #: Id of the trace; None without.

    def __init__(self, code: int, message: str, info: Any) -> None:
        super().__init__(code, message, info)
        self.code = code  #: Error code.
        self.message = message  #: Message of the server, unmodified.
        self.info = info  #: Details of the error, mostly a dict.

    def summary_msg(self) -> str:
        """Return one printable line with code, summary and the server's message, escaped and cut; ``message`` holds the
        unmodified message."""
        text = _summary_of(self)
        if self.info is not None:
            text += f" info={printable(repr(self.info))}"
        return text

    def to_exception(self) -> Exception:
        """Return the exception to raise to the caller for this message; by default the message itself."""
        return self

    def __str__(self) -> str:
        return with_context(f"<{self.summary_msg()}>", self)

    __repr__ = __str__


@public("cassandra.protocol")
class ErrorMessageSub(ErrorMessage):
    """An error with a known code."""

    error_code: ClassVar[int | None] = None  #: Error code of the class.


@public("cassandra.protocol")
class RequestExecutionException(ErrorMessageSub):
    """The server accepted the request and failed to execute it."""


@public("cassandra.protocol")
class RequestValidationException(ErrorMessageSub):
    """The server rejected the request."""


@public("cassandra.protocol")
class ServerError(ErrorMessageSub):
    """Server error."""

    summary = "Server error"
    error_code = 0x0000


@public("cassandra.protocol")
class ProtocolException(ErrorMessageSub):
    """Protocol error."""

    summary = "Protocol error"
    error_code = 0x000A

    @property
    def is_beta_protocol_error(self) -> bool:
        """True if the server requires the beta flag for this version."""
        return "USE_BETA flag is unset" in str(self.message)


@public("cassandra.protocol")
class BadCredentials(ErrorMessageSub):
    """Bad credentials."""

    summary = "Bad credentials"
    error_code = 0x0100


@public("cassandra.protocol")
class UnavailableErrorMessage(RequestExecutionException):
    """Unavailable exception."""

    summary = "Unavailable exception"
    error_code = 0x1000
    info_fields = (("consistency", "consistency"), ("required_replicas", "int"), ("alive_replicas", "int"))

    def to_exception(self) -> driver.Unavailable:
        return _with_server_message(driver.Unavailable(_summary_of(self), **self.info), self)


@public("cassandra.protocol")
class OverloadedErrorMessage(RequestExecutionException):
    """Coordinator node overloaded."""

    summary = "Coordinator node overloaded"
    error_code = 0x1001


@public("cassandra.protocol")
class IsBootstrappingErrorMessage(RequestExecutionException):
    """Coordinator node is bootstrapping."""

    summary = "Coordinator node is bootstrapping"
    error_code = 0x1002


@public("cassandra.protocol")
class TruncateError(RequestExecutionException):
    """Error during truncate."""

    summary = "Error during truncate"
    error_code = 0x1003


@public("cassandra.protocol")
class WriteTimeoutErrorMessage(RequestExecutionException):
    """Coordinator node timed out waiting for replica nodes' responses."""

    summary = "Coordinator node timed out waiting for replica nodes' responses"
    error_code = 0x1100
    info_fields = (*_RESPONSES, ("write_type", "write_type"), ("contentions", "contentions"))

    def to_exception(self) -> driver.WriteTimeout:
        return _with_server_message(driver.WriteTimeout(_summary_of(self), **self.info), self)


@public("cassandra.protocol")
class ReadTimeoutErrorMessage(RequestExecutionException):
    """Coordinator node timed out waiting for replica nodes' responses."""

    summary = "Coordinator node timed out waiting for replica nodes' responses"
    error_code = 0x1200
    info_fields = (*_RESPONSES, ("data_retrieved", "bool"))

    def to_exception(self) -> driver.ReadTimeout:
        return _with_server_message(driver.ReadTimeout(_summary_of(self), **self.info), self)


@public("cassandra.protocol")
class ReadFailureMessage(RequestExecutionException):
    """Replica(s) failed to execute read."""

    summary = "Replica(s) failed to execute read"
    error_code = 0x1300
    info_fields = (*_RESPONSES, ("failures", "failures"), ("data_retrieved", "bool"))

    def to_exception(self) -> driver.ReadFailure:
        return _with_server_message(driver.ReadFailure(_summary_of(self), **self.info), self)


@public("cassandra.protocol")
class FunctionFailureMessage(RequestExecutionException):
    """User Defined Function failure."""

    summary = "User Defined Function failure"
    error_code = 0x1400
    info_fields = (("keyspace", "string"), ("function", "string"), ("arg_types", "string_list"))

    def to_exception(self) -> driver.FunctionFailure:
        return _with_server_message(driver.FunctionFailure(self.summary_msg(), **self.info), self)


@public("cassandra.protocol")
class WriteFailureMessage(RequestExecutionException):
    """Replica(s) failed to execute write."""

    summary = "Replica(s) failed to execute write"
    error_code = 0x1500
    info_fields = (*_RESPONSES, ("failures", "failures"), ("write_type", "write_type"))

    def to_exception(self) -> driver.WriteFailure:
        return _with_server_message(driver.WriteFailure(_summary_of(self), **self.info), self)


@public("cassandra.protocol")
class CDCWriteException(RequestExecutionException):
    """Failed to execute write due to CDC space exhaustion."""

    summary = "Failed to execute write due to CDC space exhaustion."
    error_code = 0x1600


@public("cassandra.protocol")
class CASWriteUnknownMessage(RequestExecutionException):
    """Outcome of the conditional write is unknown."""

    summary = "Outcome of the conditional write is unknown"
    error_code = 0x1700
    info_fields = _RESPONSES

    def to_exception(self) -> driver.CASWriteUnknown:
        return _with_server_message(driver.CASWriteUnknown(_summary_of(self), **self.info), self)


@public("cassandra.protocol")
class SyntaxException(RequestValidationException):
    """Syntax error in CQL query."""

    summary = "Syntax error in CQL query"
    error_code = 0x2000


@public("cassandra.protocol")
class UnauthorizedErrorMessage(RequestValidationException):
    """Unauthorized."""

    summary = "Unauthorized"
    error_code = 0x2100

    def to_exception(self) -> driver.Unauthorized:
        return _with_server_message(driver.Unauthorized(self.summary_msg()), self)


@public("cassandra.protocol")
class InvalidRequestException(RequestValidationException):
    """Invalid query."""

    summary = "Invalid query"
    error_code = 0x2200

    def to_exception(self) -> driver.InvalidRequest:
        return _with_server_message(driver.InvalidRequest(self.summary_msg()), self)


@public("cassandra.protocol")
class ConfigurationException(RequestValidationException):
    """Query invalid because of configuration issue."""

    summary = "Query invalid because of configuration issue"
    error_code = 0x2300


@public("cassandra.protocol")
class AlreadyExistsException(ConfigurationException):
    """Item already exists."""

    summary = "Item already exists"
    error_code = 0x2400
    info_fields = (("keyspace", "string"), ("table", "string"))

    def to_exception(self) -> driver.AlreadyExists:
        return _with_server_message(driver.AlreadyExists(**self.info), self)


@public("cassandra.protocol")
class PreparedQueryNotFound(RequestValidationException):
    """``info`` is the unknown statement id itself."""

    summary = "Matching prepared statement not found on this node"
    error_code = 0x2500
    info_fields = (("", "short_bytes"),)


@public("cassandra.protocol")
class RateLimitReachedException(ConfigurationException):
    """ScyllaDB announces the actual error code in SUPPORTED; ``error_code`` is a placeholder."""

    summary = "Rate limit was exceeded for a partition affected by the request"
    error_code = 0x4321
    info_fields = (("op_type", "op_type"), ("rejected_by_coordinator", "bool"))

    def to_exception(self) -> driver.RateLimitReached:
        return _with_server_message(driver.RateLimitReached(**self.info), self)


@public("cassandra.protocol")
class ClientWriteError(RequestExecutionException):
    """Client write failure."""

    summary = "Client write failure."
    error_code = 0x8000


#: Classes of errors by their codes.
ERROR_CLASSES: dict[int, type[ErrorMessageSub]] = {
    0x0000: ServerError,
    0x000A: ProtocolException,
    0x0100: BadCredentials,
    0x1000: UnavailableErrorMessage,
    0x1001: OverloadedErrorMessage,
    0x1002: IsBootstrappingErrorMessage,
    0x1003: TruncateError,
    0x1100: WriteTimeoutErrorMessage,
    0x1200: ReadTimeoutErrorMessage,
    0x1300: ReadFailureMessage,
    0x1400: FunctionFailureMessage,
    0x1500: WriteFailureMessage,
    0x1600: CDCWriteException,
    0x1700: CASWriteUnknownMessage,
    0x2000: SyntaxException,
    0x2100: UnauthorizedErrorMessage,
    0x2200: InvalidRequestException,
    0x2300: ConfigurationException,
    0x2400: AlreadyExistsException,
    0x2500: PreparedQueryNotFound,
    0x4321: RateLimitReachedException,
    0x8000: ClientWriteError,
}


def _summary_of(message: ErrorMessage) -> str:
    """Return the summary without ``info``, which the exception adds in readable form."""
    return f'Error from server: code={message.code:04x} [{message.summary}] message="{printable(message.message)}"'


def _with_server_message(error: E, message: ErrorMessage) -> E:
    """Return *error* with the server's message."""
    error.server_message = message.message
    return error
