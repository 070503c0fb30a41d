"""Exceptions of the ``cassandra`` module: errors of requests as raised to the caller (L0)."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from cassandra._base.constants import WriteType, consistency_value_to_name
from cassandra._base.errors_context import RequestError, request_error, tells
from cassandra._base.printable import printable
from cassandra._base.public import public


@public("cassandra")
@request_error
class DriverException(RequestError):
    """Base of the exceptions of this module.

    The text of an error that a server has sent is one printable line: control characters in the server's message are
    escaped, and it is cut after 4096 characters. ``server_message`` is the unmodified message of the server; None for
    an error of the driver itself.
    """

    server_message: str | None = None


@public("cassandra")
class DecodeError(DriverException, ValueError):
    """Bytes are not a valid value of the type that decodes them outside a result. In results, DriverException is
    raised."""


@public("cassandra")
class RequestExecutionException(DriverException):
    """The server accepted the request and failed to execute it."""


@public("cassandra")
class RequestValidationException(DriverException):
    """The server rejected the request as invalid or not permitted."""


@public("cassandra")
class Unavailable(RequestExecutionException):
    """Too few replicas are alive for the consistency level; nothing was executed."""

    consistency: int | None = None
    required_replicas: int | None = None
    alive_replicas: int | None = None

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

    consistency: int | None = None
    required_responses: int | None = None
    received_responses: int | None = None

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

    data_retrieved: bool | None = None

    def __init__(self, message: str, data_retrieved: bool | None = None, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.data_retrieved = data_retrieved


@public("cassandra")
class WriteTimeout(Timeout):
    """A write timed out. Replicas may or may not have applied it."""

    write_type: int | None = None

    def __init__(self, message: str, write_type: int | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("write_type", write_type)
        super().__init__(message, **kwargs)
        self.write_type = write_type


@public("cassandra")
class CoordinationFailure(RequestExecutionException):
    """Replicas returned an error."""

    consistency: int | None = None
    required_responses: int | None = None
    received_responses: int | None = None
    failures: int | None = None
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

    data_retrieved: bool | None = None

    def __init__(self, message: str, data_retrieved: bool | None = None, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.data_retrieved = data_retrieved


@public("cassandra")
class WriteFailure(CoordinationFailure):
    """Replicas failed to execute a write; some may have applied it."""

    write_type: int | None = None

    def __init__(self, message: str, write_type: int | None = None, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.write_type = write_type


@public("cassandra")
class FunctionFailure(RequestExecutionException):
    """A user defined function failed."""

    keyspace: str | None = None
    function: str | None = None
    arg_types: Sequence[str] | None = None

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

    consistency: int | None = None
    required_responses: int | None = None
    received_responses: int | None = None

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

    keyspace: str | None = None
    table: str | None = None

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

    errors: Mapping[Any, Any] | None = None
    last_host: Any = None
    timeout: float | None = None
    in_flight: int | None = None

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

    Read = 0
    Write = 1


@public("cassandra")
class RateLimitReached(ConfigurationException):
    """The partition's rate limit was reached. Never retried by the driver."""

    op_type: OperationType | None = None
    rejected_by_coordinator: bool = False

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

    excs: Sequence[BaseException] = ()

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
