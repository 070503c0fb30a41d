"""Exceptions of the driver: of requests as raised to the caller, of connections, pools, the cluster and results (L0).

The roots of the exception tree get context attributes (host, shard, attempts, time, possible execution) from
:func:`request_error`. A mixin would be shorter but would appear in ``__bases__``, which are the same as in
scylla-driver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from .constants import WriteType, consistency_value_to_name
from .logs import printable
from .objects import public

E = TypeVar("E", bound=BaseException)
T = TypeVar("T")


# ---- context of an error

if TYPE_CHECKING:

    class RequestError(Exception):
        """Typed view of the attributes that :func:`request_error` adds. At run time this is ``Exception`` itself."""

        host: Any  #: Host of the last attempt.
        shard: int | None  #: Shard of the last attempt.
        in_flight: int | None  #: Number of requests in flight there at that moment.
        attempts: int | None  #: Number of attempts.
        elapsed: float | None  #: Seconds since the request was made.
        maybe_executed: bool | None  #: True if the server may have executed the statement; None if that is unknown.
        statement: str | None  #: Shortened text of the statement, without values.
        item: int | None  #: Position of the statement in a call of ``execute_concurrent``.
        hint: str | None  #: What is probably wrong, if the driver knows.

else:
    RequestError = Exception

_FIELDS = ("host", "shard", "in_flight", "attempts", "elapsed", "maybe_executed", "statement", "item", "hint")


def request_error(cls: type[E]) -> type[E]:
    """Add context attributes, which default to None, and exact pickling to a root of the exception tree.

    ``host`` (of the last attempt), ``shard``, ``in_flight`` (requests there at that moment), ``attempts``,
    ``elapsed`` (seconds), ``maybe_executed`` (True if the server may have executed the statement; None if unknown),
    ``statement`` (its text, shortened, without parameters), ``item`` (its position among the statements of
    ``execute_concurrent``) and ``hint`` (a probable remedy). The last three are part of the text of the error.
    """
    target: Any = cls
    for name in _FIELDS:
        if not hasattr(cls, name):
            setattr(target, name, None)
    target.__reduce__ = _reduce
    if cls.__str__ is BaseException.__str__:
        target.__str__ = _text
    return cls


def _text(self: BaseException) -> str:
    return with_context(BaseException.__str__(self), self)


def with_context(text: str, error: Any, known: Sequence[str] = ()) -> str:
    """Return the *text* of *error* with its hint, the attributes *known* as texts, item and statement."""
    if error.hint is not None:
        text += f". {error.hint}"
    shown = list(known)
    if error.item is not None:
        shown.append(f"item {error.item}")
    if error.statement is not None:
        shown.append(f"statement: {error.statement}")
    return f"{text} [{', '.join(shown)}]" if shown else text


def tells(*names: str) -> Callable[[type[E]], type[E]]:
    """Return a class decorator that appends these attributes to the text of an error, as far as they are set when the
    text is made."""

    def text(self: BaseException) -> str:
        known = [(name, getattr(self, name)) for name in names if getattr(self, name) is not None]
        shown = [f"{name}={value:.3f}s" if name == "elapsed" else f"{name}={value}" for name, value in known]
        return with_context(BaseException.__str__(self), self, shown)

    def decorate(cls: type[E]) -> type[E]:
        target: Any = cls
        target.__str__ = text
        target.__repr__ = lambda self: f"{type(self).__name__}({str(self)!r})"
        return cls

    return decorate


def annotate(
    error: BaseException,
    *,
    host: Any = None,
    shard: int | None = None,
    in_flight: int | None = None,
    attempts: int | None = None,
    elapsed: float | None = None,
    maybe_executed: bool | None = None,
    statement: str | None = None,
    item: int | None = None,
    hint: str | None = None,
) -> None:
    """Set the context attributes of *error*. Arguments that are None leave the attributes unchanged."""
    given = {
        "host": host,
        "shard": shard,
        "in_flight": in_flight,
        "attempts": attempts,
        "elapsed": elapsed,
        "maybe_executed": maybe_executed,
        "statement": statement,
        "item": item,
        "hint": hint,
    }
    read_only = {"host"} if isinstance(getattr(type(error), "host", None), property) else set()
    for name, value in given.items():
        if value is not None and name not in read_only:
            setattr(error, name, value)


def encoding_secret(call: Callable[..., T], *args: Any) -> T:
    """Return ``call(*args)``, which encodes a secret. A UnicodeError has the text that cannot be encoded in its repr
    and its attributes: raise a ValueError without it instead."""
    try:
        return call(*args)
    except UnicodeError as error:
        reason = getattr(error, "reason", "it is not valid text")
    raise ValueError(f"a password or another secret cannot be encoded: {reason}")


def copy_to_raise(error: E, raiser: CodeType) -> E:
    """Return the exception that *raiser* raises to one of several concurrent callers that get *error*: a copy, if its
    class is one of the driver's.

    Raising changes an exception: its traceback grows each time, and keeps the frames of all callers that caught it. An
    exception of user code cannot be copied reliably; :func:`as_before` is used for it.
    """
    if type(error).__reduce__ is not _reduce:
        return as_before(error, raiser)
    copy = _restore(type(error), error.args, error.__dict__)
    copy.__cause__, copy.__context__ = error.__cause__, error.__context__
    copy.__suppress_context__ = error.__suppress_context__
    return copy.with_traceback(_below(raiser, error.__traceback__))


def as_before(error: E, raiser: CodeType) -> E:
    """Return *error* with the traceback that it had before *raiser* raised it the last time."""
    return error.with_traceback(_below(raiser, error.__traceback__))


def _below(raiser: CodeType, trace: TracebackType | None) -> TracebackType | None:
    """Return the part of *trace* from before *raiser* raised it; all of *trace*, if *raiser* never did."""
    entry = trace
    while entry is not None and entry.tb_frame.f_code is not raiser:
        entry = entry.tb_next
    return trace if entry is None else entry.tb_next


def _reduce(self: BaseException) -> tuple[Any, ...]:
    return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[E], args: tuple[Any, ...], state: dict[str, Any]) -> E:
    """Rebuild an error without ``__init__``, as the parameters of constructors differ from ``args``."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


# ---- connections, pools, the cluster and results


@public("cassandra.connection")
@request_error
class ConnectionException(RequestError):
    """An error of one connection; all requests in flight on it have failed."""

    def __init__(self, message: Any, endpoint: Any = None) -> None:
        super().__init__(message)
        self.endpoint = endpoint  #: Endpoint of the connection.

    @property
    def host(self) -> Any:
        """Address of the endpoint."""
        return getattr(self.endpoint, "address", self.endpoint)


@public("cassandra.connection")
class ConnectionShutdown(ConnectionException):
    """The connection was closed, by the driver or by the server."""


@public("cassandra.connection")
class ProtocolVersionUnsupported(ConnectionException):
    """The server does not support the requested protocol version."""

    def __init__(self, endpoint: Any, startup_version: int) -> None:
        super().__init__(f"Unsupported protocol version on {endpoint}: {startup_version}", endpoint)
        self.startup_version = startup_version  #: The version that the node has rejected.


@public("cassandra.connection")
class CrcMismatchException(ConnectionException):
    """A checksum of a protocol 5 segment is wrong."""


@public("cassandra.segment")
class CrcException(Exception):
    """A checksum is wrong."""


@public("cassandra.connection")
@tells("host", "shard", "in_flight", "attempts", "elapsed")
@request_error
class ConnectionBusy(RequestError):
    """The in-flight limit of the connection, its host or the session is reached; nothing was sent."""


@public("cassandra.connection")
@request_error
class ProtocolError(RequestError):
    """The server violated the protocol. A message that cannot be decoded (a truncated body, an unknown opcode) fails
    its request; broken framing closes the connection."""


@public("cassandra.connection")
@request_error
class ResponseTooLarge(ProtocolError):
    """A response is longer than ``Cluster(max_response_bytes=)``, or there is no memory for it. The driver skips it and
    keeps the connection. ``size`` and ``limit`` are in bytes; ``limit`` is None if memory was the reason."""

    def __init__(self, message: Any, size: int | None = None, limit: int | None = None) -> None:
        super().__init__(message)
        self.size = size  #: Size of the response in bytes.
        self.limit = limit  #: The limit in bytes.


@public("cassandra.pool")
@tells("host", "shard", "in_flight", "attempts", "elapsed")
@request_error
class NoConnectionsAvailable(RequestError):
    """A pool has no usable connection: none is open, or none had capacity in time; nothing was sent."""


@public("cassandra.cluster")
@request_error
class NoHostAvailable(RequestError):
    """No host of the query plan accepted the request, or no contact point could be reached.

    ``errors`` maps each host that was tried to its error; while connecting, the keys are the texts of contact points.
    """

    errors: Mapping[Any, Any] | None = None  #: The error of each host that was tried, by host or endpoint.

    def __init__(self, message: str, errors: Mapping[Any, Any]) -> None:
        super().__init__(message, errors)
        self.errors = errors


@public("cassandra.cluster")
class QueryExhausted(Exception):
    """The next page was requested after the last one."""


@public("cassandra.cluster")
class UserTypeDoesNotExist(Exception):
    """A class was registered for a user type that the keyspace does not have."""


@public("cassandra.query")
class TraceUnavailable(Exception):
    """The trace of a request was not complete in time."""


@public("cassandra.metadata")
class NoMurmur3(Exception):
    """Never raised: murmur3 is always available. Kept for compatibility."""


@public("cassandra.protocol")
class NotSupportedError(Exception):
    """The message or option is not part of the protocol version."""


@public("cassandra.protocol")
class InternalError(Exception):
    """An unexpected state inside the driver."""


# ---- requests, as raised to the caller


@public("cassandra")
@request_error
class DriverException(RequestError):
    """Base of the exceptions of the module ``cassandra``.

    The text of an error that a server has sent is one printable line: control characters in the server's message are
    escaped, and it is cut after 4096 characters. ``server_message`` is the unmodified message of the server; None for
    an error of the driver itself.
    """

    server_message: str | None = None  #: Message of the server, unmodified; None for an error of the driver.


@public("cassandra")
class DecodeError(DriverException, ValueError):
    """Bytes are not a valid value of the CQL type that decodes them, as in ``cqltypes.Int32Type.from_binary(data)``.
    For an invalid value in a result, DriverException is raised."""


@public("cassandra")
class RequestExecutionException(DriverException):
    """The server accepted the request and failed to execute it."""


@public("cassandra")
class RequestValidationException(DriverException):
    """The server rejected the request as invalid or not permitted."""


@public("cassandra")
class Unavailable(RequestExecutionException):
    """Too few replicas are alive for the consistency level; nothing was executed."""

    consistency: int | None = None  #: The consistency level of the request.
    required_replicas: int | None = None  #: Number of replicas that must be alive.
    alive_replicas: int | None = None  #: Number of replicas that are alive.

    def __init__(
        self,
        summary_message: str,
        consistency: int | None = None,
        required_replicas: int | None = None,
        alive_replicas: int | None = None,
    ) -> None:
        self.consistency = consistency
        self.required_replicas = required_replicas
        self.alive_replicas = alive_replicas
        info = {
            "consistency": consistency_value_to_name(consistency),
            "required_replicas": required_replicas,
            "alive_replicas": alive_replicas,
        }
        super().__init__(f"{summary_message} info={printable(repr(info))}")


@public("cassandra")
class Timeout(RequestExecutionException):
    """The replicas did not respond to the coordinator in time."""

    consistency: int | None = None  #: The consistency level of the request.
    required_responses: int | None = None  #: Number of replicas that must respond.
    received_responses: int | None = None  #: Number of replicas that have responded.

    def __init__(
        self,
        summary_message: str,
        consistency: int | None = None,
        required_responses: int | None = None,
        received_responses: int | None = None,
        **kwargs: Any,
    ) -> None:
        self.consistency = consistency
        self.required_responses = required_responses
        self.received_responses = received_responses
        info = {
            "consistency": consistency_value_to_name(consistency),
            "required_responses": required_responses,
            "received_responses": received_responses,
            **_readable(kwargs),
        }
        super().__init__(f"{summary_message} info={printable(repr(info))}")


@public("cassandra")
class ReadTimeout(Timeout):
    """A read timed out. It may be retried, as reads are idempotent."""

    data_retrieved: bool | None = None  #: True if the replica asked for data has responded.

    def __init__(self, message: str, data_retrieved: bool | None = None, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.data_retrieved = data_retrieved


@public("cassandra")
class WriteTimeout(Timeout):
    """A write timed out. Replicas may or may not have applied it."""

    write_type: int | None = None  #: Kind of the write, a :class:`WriteType`.

    def __init__(self, message: str, write_type: int | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("write_type", write_type)
        super().__init__(message, **kwargs)
        self.write_type = write_type


@public("cassandra")
class CoordinationFailure(RequestExecutionException):
    """Replicas returned an error."""

    consistency: int | None = None  #: The consistency level of the request.
    required_responses: int | None = None  #: Number of replicas that must respond.
    received_responses: int | None = None  #: Number of replicas that have responded.
    failures: int | None = None  #: Number of replicas that have failed.
    #: Error codes by address of the replicas that failed; protocol 5 and newer.
    error_code_map: Mapping[str, int] | None = None

    def __init__(
        self,
        summary_message: str,
        consistency: int | None = None,
        required_responses: int | None = None,
        received_responses: int | None = None,
        failures: int | None = None,
        error_code_map: Mapping[str, int] | None = None,
    ) -> None:
        self.consistency = consistency
        self.required_responses = required_responses
        self.received_responses = received_responses
        self.failures = failures
        self.error_code_map = error_code_map
        info: dict[str, Any] = {
            "consistency": consistency_value_to_name(consistency),
            "required_responses": required_responses,
            "received_responses": received_responses,
            "failures": failures,
        }
        if error_code_map:
            info["error_code_map"] = {addr: f"0x{code:04x}" for addr, code in error_code_map.items()}
        super().__init__(f"{summary_message} info={printable(repr(info))}")


@public("cassandra")
class ReadFailure(CoordinationFailure):
    """Replicas failed to execute a read."""

    data_retrieved: bool | None = None  #: True if the replica asked for data has responded.

    def __init__(self, message: str, data_retrieved: bool | None = None, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.data_retrieved = data_retrieved


@public("cassandra")
class WriteFailure(CoordinationFailure):
    """Replicas failed to execute a write; some may have applied it."""

    write_type: int | None = None  #: Kind of the write, a :class:`WriteType`.

    def __init__(self, message: str, write_type: int | None = None, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.write_type = write_type


@public("cassandra")
class FunctionFailure(RequestExecutionException):
    """A user defined function failed."""

    keyspace: str | None = None  #: Keyspace of the function.
    function: str | None = None  #: Name of the function.
    arg_types: Sequence[str] | None = None  #: CQL types of its arguments.

    def __init__(
        self,
        summary_message: str,
        keyspace: str | None,
        function: str | None,
        arg_types: Sequence[str] | None,
    ) -> None:
        self.keyspace = keyspace
        self.function = function
        self.arg_types = arg_types
        super().__init__(summary_message)


@public("cassandra")
class CDCWriteFailure(RequestExecutionException):
    """A write failed because the change log is out of space."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


@public("cassandra")
class CASWriteUnknown(RequestExecutionException):
    """A contended conditional write was only partly completed; it may still take effect.

    .. versionadded:: 4.0
    """

    consistency: int | None = None  #: The serial consistency level of the request.
    required_responses: int | None = None  #: Number of replicas that must respond.
    received_responses: int | None = None  #: Number of replicas that have responded.

    def __init__(
        self,
        summary_message: str,
        consistency: int | None = None,
        required_responses: int | None = None,
        received_responses: int | None = None,
    ) -> None:
        self.consistency = consistency
        self.required_responses = required_responses
        self.received_responses = received_responses
        info = {
            "consistency": consistency_value_to_name(consistency),
            "required_responses": required_responses,
            "received_responses": received_responses,
        }
        super().__init__(f"{summary_message} info={printable(repr(info))}")


@public("cassandra")
class ConfigurationException(RequestValidationException):
    """The request is invalid because of the configuration."""


@public("cassandra")
class AlreadyExists(ConfigurationException):
    """The keyspace or table to create already exists."""

    keyspace: str | None = None  #: Name of the keyspace.
    table: str | None = None  #: Name of the table; None if the keyspace itself exists.

    def __init__(self, keyspace: str | None = None, table: str | None = None) -> None:
        if table:
            message = f"Table '{printable(keyspace)}.{printable(table)}' already exists"
        else:
            message = f"Keyspace '{printable(keyspace)}' already exists"
        super().__init__(message)
        self.keyspace = keyspace
        self.table = table


@public("cassandra")
class InvalidRequest(RequestValidationException):
    """The statement is syntactically correct CQL but invalid: an unknown table, an invalid value, ..."""


@public("cassandra")
class Unauthorized(RequestValidationException):
    """The user lacks the permission for this request."""


@public("cassandra")
class AuthenticationFailed(DriverException):
    """Authentication at a node failed."""


@public("cassandra")
@tells("shard", "attempts", "elapsed", "maybe_executed")
class OperationTimedOut(DriverException):
    """The request took longer than its timeout, measured by the client. The server may have executed it, unless
    ``maybe_executed`` is False: then it was never sent, as it waited for capacity or for another reason."""

    errors: Mapping[Any, Any] | None = None  #: Errors of the attempts by host.
    last_host: Any = None  #: Host of the last attempt.
    timeout: float | None = None  #: The timeout in seconds.
    in_flight: int | None = None  #: Number of requests in flight at the last host.

    def __init__(
        self,
        errors: Mapping[Any, Any] | None = None,
        last_host: Any = None,
        timeout: float | None = None,
        in_flight: int | None = None,
    ) -> None:
        self.errors = errors
        self.last_host = last_host
        self.timeout = timeout
        self.in_flight = in_flight
        message = f"errors={errors}, last_host={last_host}"
        if timeout is not None:
            message += f" (timeout={timeout}s" + (")" if in_flight is None else f", in_flight={in_flight})")
        super().__init__(message)


@public("cassandra")
class OperationType(Enum):
    """The operation that reached a rate limit."""

    Read = 0  #: A read.
    Write = 1  #: A write.


@public("cassandra")
class RateLimitReached(ConfigurationException):
    """The partition's rate limit was reached. Never retried by the driver."""

    op_type: OperationType | None = None  #: The rejected operation, an :class:`OperationType`.
    rejected_by_coordinator: bool = False  #: True if the coordinator rejected it, False if replicas did.

    def __init__(self, op_type: OperationType | None = None, rejected_by_coordinator: bool = False) -> None:
        self.op_type = op_type
        self.rejected_by_coordinator = rejected_by_coordinator
        operation = op_type.name if op_type is not None else None
        super().__init__(
            f"[request_error_rate_limit_reached OpType={operation} RejectedByCoordinator={rejected_by_coordinator}]"
        )


@public("cassandra")
class UnsupportedOperation(DriverException):
    """The server, the protocol version or this driver does not support the requested operation."""


@public("cassandra")
class UnresolvableContactPoints(DriverException):
    """No contact point could be resolved to an address."""


@public("cassandra")
class DependencyException(Exception):
    """A class needs an optional package that could not be imported."""

    excs: Sequence[BaseException] = ()  #: The exceptions of the imports.

    def __init__(self, msg: str, excs: Sequence[BaseException] = ()) -> None:
        self.excs = list(excs)
        complete = msg
        if self.excs:
            complete += "\nThe following exceptions were observed: - " + "\n - ".join(str(e) for e in self.excs)
        super().__init__(complete)


def repeated_paging_state(source: Any) -> DriverException:
    """Return the error for a response of *source* that repeats the paging state of its request: the pages would never
    end. A paging state is the position after the rows of its page, so it advances with every page, even an empty one.
    """
    return DriverException(
        f"{printable(source, 256)} returned the paging state of the request: the result would never end"
    )


def _readable(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return *info* with write types as names."""
    shown = dict(info)
    if shown.get("write_type") is not None:
        shown["write_type"] = WriteType.value_to_name.get(shown["write_type"], shown["write_type"])
    return shown
