"""One control-plane request: an operation with a callback, and the exceptions for its failures; limits of pools (L3).

Limits on requests in flight are counted natively, see cpp/transport/limits.h. A connection accepts
``ConnectionOptions.max_requests`` at a time. All connections of a pool share the limit of the pool, which is within its
parent, the limit of the session. An orphaned request counts until its late response arrives or its connection closes:
the server may still be processing it. The driver's own requests (heartbeats, USE) are not limited.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakMethod

from cassandra._base.errors import ConnectionException, ConnectionShutdown, OperationTimedOut, ProtocolError
from cassandra._base.locks import enter_driver_thread
from cassandra._base.logs import get_logger
from cassandra._base.real import threading
from cassandra._core.transport import DRIVER, PROTOCOL, TIMED_OUT, Failure, Frame, Operation

log = get_logger("cassandra.connection")


class Exchange(Operation):
    """Calls *on_outcome* with the outcome of one submit, on the I/O thread. Not subject to limits of requests."""

    def __init__(self, on_outcome: Callable[[Frame | Failure], None]) -> None:
        super().__init__()
        self._priority = DRIVER
        self._callback: Callable[[Frame | Failure], None] | None = on_outcome
        self._set_eager()

    def _on_outcome(self) -> None:
        outcome = self._take()
        callback, self._callback = self._callback, None
        if outcome is None or callback is None:
            return
        self._finish()
        call_guarded(callback, outcome[1])


def call_guarded(callback: Callable[..., Any], *args: Any) -> None:
    """Call a callback on the I/O thread; log its exception instead of raising it."""
    try:
        callback(*args)
    except Exception:
        log.exception("A callback failed on the I/O thread")


def failure_error(failure: Failure, endpoint: Any) -> Exception:
    """Return the public exception for an attempt without a response, with ``failure.cause`` as its cause."""
    error: Any
    if failure.kind == TIMED_OUT:
        error = OperationTimedOut(
            {str(endpoint): f"no answer within {failure.elapsed:.3f} s"}, endpoint, failure.elapsed
        )
    elif failure.kind == PROTOCOL:
        error = ProtocolError(f"{endpoint}: {failure.message}")
    elif isinstance(failure.cause, (ConnectionException, ProtocolError)):
        error = ConnectionShutdown(f"Connection to {endpoint} was closed: {failure.cause}", endpoint)
    else:
        error = ConnectionShutdown(f"Connection to {endpoint} was closed: {failure.message}", endpoint)
    error.maybe_executed = failure.sent
    error.elapsed = failure.elapsed
    error.__cause__ = failure.cause
    return error  # type: ignore[no-any-return]


def run_blocking(call: Callable[[], Any], deliver: Callable[[Any, BaseException | None], None]) -> None:
    """Run *call* on a daemon thread of its own, then call *deliver* (result, error) there.

    For name look-ups and authenticators: they are rare and slow, and one that hangs must not delay another.
    """

    def run() -> None:
        enter_driver_thread()
        try:
            result, error = call(), None
        except Exception as exception:
            result, error = None, exception
        deliver(result, error)

    try:
        threading.Thread(target=run, name="fastcql-blocking", daemon=True).start()
    except RuntimeError as error:  # out of threads
        deliver(None, error)


class RoomSignal(Operation):
    """Calls *on_room*, a bound method, on the I/O thread whenever there may be room for requests. It holds a weak
    reference to the method's owner: a full connection may hold the waiter for long."""

    def __init__(self, on_room: Callable[[], object]) -> None:
        super().__init__()
        self._on_room = WeakMethod(on_room)

    def _on_outcome(self) -> None:
        self._take_all()
        on_room = self._on_room()
        if on_room is not None:
            call_guarded(on_room)


def orphaned_limit(*limits: int | None) -> int:
    """Return the number of orphaned requests at which a connection with these limits is replaced: three quarters of
    the lowest limit."""
    return max(1, min(limit for limit in limits if limit is not None) * 3 // 4)
