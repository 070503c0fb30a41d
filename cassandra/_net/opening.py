"""Opening of a connection to an endpoint (L3): addresses, TCP, TLS, handshake, version fallback, with one deadline.

An :class:`Opening` tries each address of the endpoint, on each of them the protocol versions from the highest down, and
calls ``on_done`` exactly once, in ``_finish``. Everything runs on the I/O thread, except name look-ups and
authenticators that may block, and ``_finish`` if that thread has stopped. Each try is one :class:`Connection`; late
outcomes of an earlier try are ignored. ``_on_done`` is emptied by one atomic operation.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ProtocolVersion
from cassandra._base.errors import (
    AuthenticationFailed,
    ConnectionException,
    ConnectionShutdown,
    OperationTimedOut,
    ProtocolError,
    ProtocolVersionUnsupported,
    RequestValidationException,
)
from cassandra._base.locks import IO, enter_driver_thread
from cassandra._base.logs import get_logger
from cassandra._base.process import AutoResetEvent
from cassandra._base.real import socket
from cassandra._core.transport import Failure, Frame, Reactor

from .endpoint import EndPoint, SocketAddress, needs_look_up, socket_addresses
from .exchange import Exchange, call_guarded, failure_error, run_blocking
from .features import PORT_IS_TAKEN, supported_versions
from .handshake import (
    Blocking,
    Established,
    Negotiated,
    Starting,
    UnexpectedHost,
    VersionRefused,
    handshake,
    next_version,
)
from .options import ConnectionOptions

if TYPE_CHECKING:
    from .connection import Connection
    from .tls import TlsFilter

log = get_logger("cassandra.connection")

#: Allows a local port that another socket uses for another remote address.
REUSE = (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

#: Errors that end the opening: other addresses of the same node would give the same result.
_FINAL = (AuthenticationFailed, ProtocolVersionUnsupported, RequestValidationException, ValueError)


class OpeningWaiter:
    """``on_done`` callback for a waiting thread. A connection that is opened after the wait has ended is closed.

    The outcome has one receiver: ``_winner`` is set once, by an atomic operation, either by the arrival of the outcome
    or by the end of the wait."""

    def __init__(self) -> None:
        self._done_event = AutoResetEvent()
        self._winner: dict[str, str] = {}
        self._result: Connection | BaseException | None = None

    def __call__(self, result: Connection | BaseException) -> None:
        self._result = result
        if self._winner.setdefault("end", "came") == "came":
            self._done_event.set()
        elif not isinstance(result, BaseException):
            result.close()

    def wait(self, opening: Opening, limit: float) -> Connection:
        """Return the connection or raise the error. After *limit* seconds, or Ctrl-C, *opening* is cancelled."""
        try:
            if not self._done_event.wait(limit):
                opening.cancel()
                self._done_event.wait(1.0)
            result = self._result
        except BaseException:
            opening.cancel()
            self._abandon()
            raise
        if result is None:
            self._abandon()
            text = f"no connection within {limit} s"
            endpoint = opening._endpoint
            raise OperationTimedOut({str(endpoint): text}, endpoint, limit)
        if isinstance(result, BaseException):
            raise result
        return result

    def _abandon(self) -> None:
        if self._winner.setdefault("end", "left") == "came" and not isinstance(
            self._result, (BaseException, type(None))
        ):
            self._result.close()


class Opening:
    """One connection being opened."""

    def __init__(
        self,
        make: Callable[[], Connection],
        reactor: Reactor,
        endpoint: EndPoint,
        options: ConnectionOptions,
        on_done: Callable[[Connection | BaseException], None],
    ) -> None:
        self._make = make
        self._reactor = reactor
        self._endpoint = endpoint
        self._options = options
        self._on_done = deque([on_done])
        self._deadline = monotonic() + options.open_timeout
        self._addresses: list[SocketAddress] = []
        self._tried_addresses: list[SocketAddress] = []
        self._errors: list[BaseException] = []
        self._local_ports: Iterator[int] = iter(())
        self._local_port = 0
        known = None if options.begin_high else options.protocol_version
        self._version = ProtocolVersion.MAX_SUPPORTED if known is None else known
        self._was_version_refused = False  # True after the server has rejected a higher version than ``_version``
        self._connection: Connection | None = None  # the current try
        self._steps: Any = None
        self._step = "starting"
        self._has_responded = False
        self._timer: Any = None
        self._on_reactor(self._start)

    def cancel(self) -> None:
        """Cancel: ``on_done`` gets a ConnectionShutdown, unless it was called already. Any thread."""
        error = ConnectionShutdown(f"opening of {self._endpoint} was cancelled", self._endpoint)
        self._on_reactor(lambda: self._finish(error))

    def _on_reactor(self, step: Callable[[], None]) -> None:
        """Run *step* on the I/O thread. If that has stopped, finish with an error on this thread."""
        try:
            self._reactor.call_soon(step)
        except (RuntimeError, ConnectionException) as error:
            self._shut_down(error)

    def _shut_down(self, error: BaseException) -> None:
        shutdown = ConnectionShutdown(f"no connection to {self._endpoint}: the driver was shut down", self._endpoint)
        shutdown.__cause__ = error
        self._finish(shutdown)

    @property
    def is_done(self) -> bool:
        """True if ``on_done`` was called."""
        return not self._on_done

    # ---- addresses

    def _start(self) -> None:
        enter_driver_thread(IO)  # first code on this thread, whichever component has made the reactor
        try:
            self._timer = self._reactor.call_later(self._options.open_timeout, self._on_deadline)
        except RuntimeError as error:
            self._shut_down(error)
            return
        if self._version not in ProtocolVersion.SUPPORTED_VERSIONS:
            reason = f"this driver supports {sorted(ProtocolVersion.SUPPORTED_VERSIONS)}"
            self._finish(VersionRefused(self._endpoint, self._version, frozenset(), reason))
        elif needs_look_up(self._endpoint):
            self._step = "looking up the address"
            run_blocking(lambda: socket_addresses(self._endpoint), self._deliver(self._on_addresses))
        else:
            self._on_addresses(socket_addresses(self._endpoint), None)

    def _deliver(self, handle: Callable[[Any, BaseException | None], None]) -> Callable[[Any, Any], None]:
        """Return a callback that runs *handle* on the I/O thread."""

        return lambda result, error: self._on_reactor(lambda: handle(result, error))

    def _on_addresses(self, addresses: list[SocketAddress] | None, error: BaseException | None) -> None:
        if error is not None:
            self._finish(error)
        elif addresses is not None:
            target, allowed = self._options.shard_target, self._options.allowed_addresses
            if allowed is not None:
                try:
                    addresses = allowed.reachable(self._endpoint, addresses)
                except ConnectionException as refused:
                    self._finish(refused)
                    return
            self._addresses = addresses if target is None else [_at_port(address, target.port) for address in addresses]
            self._next_address()

    def _next_address(self) -> None:
        if not self._addresses:
            self._finish(self._summary())
            return
        self._tried_addresses.append(self._addresses.pop(0))
        target = self._options.shard_target
        if target is not None:
            self._local_ports = target.local_ports()
            self._local_port = next(self._local_ports, 0)
        self._connect()

    # ---- one try

    def _connect(self) -> None:
        """Try the current address with the current version."""
        if not self._on_done:
            return
        family, address = self._tried_addresses[-1]
        self._has_responded = False
        self._step = f"connecting to {address}"
        try:
            connection = self._connection = self._make()
        except Exception as error:  # from a connection class of the program
            self._finish(error)
            return
        connection.protocol_version = self._version
        connection._opening = self
        try:
            connection.channel = self._reactor.connect(
                family,
                address,
                connection,
                timeout=self._address_timeout(),
                sockopts=self._options.sockopts
                if self._options.shard_target is None
                else (*self._options.sockopts, REUSE),
                local_address=self._local_address(family),
                byte_filter=self._byte_filter(),
            )
        except Exception as error:
            self._failed(connection, error)

    def _local_address(self, family: int) -> tuple[str, int] | None:
        """Return the local address. On the shard-aware port, the local port selects the shard."""
        given = self._options.local_address
        if self._options.shard_target is None:
            return given
        return ("::" if family == socket.AF_INET6 else "0.0.0.0") if given is None else given[0], self._local_port

    def _next_local_port(self, error: BaseException) -> bool:
        """Retry with the next local port if *error* means that the port is in use. True if there was one."""
        if self._options.shard_target is None or not isinstance(error, OSError) or error.errno not in PORT_IS_TAKEN:
            return False
        self._local_port = next(self._local_ports, 0)
        if self._local_port:
            self._on_reactor(self._connect)
        return self._local_port != 0

    def _byte_filter(self) -> TlsFilter | None:
        """Return the TLS filter of this connection; None for plaintext, which needs no ssl module."""
        if not self._options.uses_tls_to(self._endpoint):
            return None
        from .tls import make_filter

        return make_filter(self._options, self._endpoint)

    def _address_timeout(self) -> float:
        """Return the remaining time divided by the remaining addresses: a silent one must not use all of it."""
        return max(0.05, (self._deadline - monotonic()) / (1 + len(self._addresses)))

    def on_connected(self, connection: Connection) -> None:
        if connection is not self._connection:
            connection.close()
            return
        self._steps = handshake(self._options, self._endpoint, self._version)
        self._advance(connection, self._steps.__next__)

    def on_closed(self, connection: Connection, error: BaseException | None) -> None:
        if connection is self._connection:
            self._failed(connection, error or ConnectionShutdown("connection was closed", self._endpoint))

    def _advance(self, connection: Connection, step: Callable[[], Any]) -> None:
        """Run the handshake up to its next request."""
        if connection is not self._connection:
            return
        try:
            wanted = step()
            while isinstance(wanted, (Starting, Established)):
                if isinstance(wanted, Starting):
                    connection._starting(wanted.compression, wanted.features)
                else:
                    connection._on_startup_accepted()
                wanted = self._steps.__next__()
            if isinstance(wanted, Blocking):
                self._step = "authenticating"
                run_blocking(wanted.call, self._deliver(lambda r, e: self._on_done_called(connection, r, e)))
            else:
                self._step = f"waiting for the response to {wanted.name}"
                self._send(connection, wanted)
        except StopIteration as stop:
            self._succeeded(connection, stop.value)
        except Exception as error:
            self._failed(connection, error)

    def _send(self, connection: Connection, message: Any) -> None:
        assert connection.channel is not None
        frame = message.encode(self._version, features=connection.features)
        exchange = Exchange(lambda outcome: self._on_outcome(connection, outcome))
        connection.channel.submit(frame, exchange, 0, max(0.05, self._deadline - monotonic()))

    def _on_outcome(self, connection: Connection, outcome: Frame | Failure) -> None:
        if connection is not self._connection:
            return
        if isinstance(outcome, Failure):
            self._failed(connection, outcome.cause or failure_error(outcome, self._endpoint))
            return
        self._has_responded = True
        try:
            message = connection.decode(outcome)
        except Exception as error:
            self._failed(connection, error)
            return
        self._advance(connection, lambda: self._steps.send(message))

    def _on_done_called(self, connection: Connection, result: Any, error: BaseException | None) -> None:
        if error is not None:
            self._advance(connection, lambda: self._steps.throw(error))
        else:
            self._advance(connection, lambda: self._steps.send(result))

    # ---- ends

    def _succeeded(self, connection: Connection, negotiated: Negotiated) -> None:
        connection._ready(negotiated)
        connection.highest_version = self._highest_version(negotiated)
        self._connection = None
        if self._options.on_open is not None:
            call_guarded(self._options.on_open, connection)
        self._finish(connection)

    def _failed(self, connection: Connection, error: BaseException) -> None:
        """Handle a failed try: continue with another local port, version or address, or finish."""
        was_connected = connection.channel is not None and self._steps is not None
        self._connection, self._steps = None, None
        connection._opening = None
        connection._closed_callback = None
        if connection.channel is not None:
            connection.channel.close(error)
        if not was_connected and self._next_local_port(error):
            return
        lower = self._lower_version(error, was_connected)
        if lower is not None:
            log.debug("%s refused protocol version %d, trying %d", self._endpoint, self._version, lower)
            self._version = lower
            self._connect()
            return
        self._errors.append(self._with_context(error, was_connected))
        if isinstance(error, _FINAL):
            self._finish(self._errors[-1])
        else:
            self._next_address()

    def _lower_version(self, error: BaseException, was_connected: bool) -> int | None:
        """Return the version to try next if *error* rejects the version, else None. Old servers and some proxies close
        the connection or send another format for an unknown version. That counts as a rejection as long as no version
        is known to work; otherwise it may have any cause."""
        known, begun_high = self._options.protocol_version, self._options.begin_high
        if isinstance(error, VersionRefused):
            if known is not None and not (begun_high or self._options.may_lower):
                return None
            self._was_version_refused = True
            return next_version(self._version, error.versions)
        if (
            was_connected
            and not self._has_responded
            and isinstance(error, (ConnectionException, ProtocolError, OSError))
        ):
            if known is None:
                return next_version(self._version, frozenset())
            if begun_high and self._version > known:
                return known
        return None

    def _highest_version(self, negotiated: Negotiated) -> int | None:
        """Return the highest common version, None if unknown. A rejection overrides the server's announced list."""
        if self._was_version_refused:
            return self._version
        listed = supported_versions(negotiated.supported.options) or {}
        common = [one for one, beta in listed.items() if one in ProtocolVersion.SUPPORTED_VERSIONS and not beta]
        if common:
            return max(common)
        return self._version if self._version == ProtocolVersion.MAX_SUPPORTED else None

    def _with_context(self, error: BaseException, was_connected: bool) -> BaseException:
        """Return *error* with its context and a hint at the likely cause."""
        if isinstance(error, OSError) and not was_connected:
            if error.errno is None:
                return error
            addresses = [address for _, address in self._tried_addresses]
            return OSError(error.errno, f"Tried connecting to {addresses}. Last error: {os.strerror(error.errno)}")
        hint = ""
        if was_connected and not self._has_responded and not self._options.uses_tls_to(self._endpoint):
            hint = "; check that this is a CQL port without TLS"
        explained: BaseException = error
        if isinstance(error, (OSError, ConnectionShutdown)):
            text = f"{self._endpoint} closed the connection while {self._step}: {error}{hint}"
            explained = ConnectionShutdown(text, self._endpoint)
        elif isinstance(error, ProtocolError) and hint:
            explained = ProtocolError(f"{self._endpoint}: {error}{hint}")
        if explained is not error:
            explained.__cause__ = error
        return explained

    def _summary(self) -> BaseException:
        if len(self._errors) == 1 or all(isinstance(error, UnexpectedHost) for error in self._errors):
            return self._errors[0]
        each = "; ".join(
            f"{address}: {error}" for (_, address), error in zip(self._tried_addresses, self._errors, strict=False)
        )
        summary = ConnectionException(f"could not connect to any address of {self._endpoint}: {each}", self._endpoint)
        summary.__cause__ = self._errors[-1] if self._errors else None
        return summary

    def _on_deadline(self) -> None:
        limit = self._options.open_timeout
        self._finish(
            OperationTimedOut(
                {str(self._endpoint): f"Timed out opening the connection ({limit} seconds) while {self._step}"},
                self._endpoint,
                limit,
            )
        )

    def _finish(self, result: Connection | BaseException) -> None:
        try:
            on_done = self._on_done.pop()
        except IndexError:
            return
        if self._timer is not None:
            self._timer.cancel()
        connection, self._connection = self._connection, None
        if connection is not None and connection.channel is not None and isinstance(result, BaseException):
            connection.channel.close(result)
        call_guarded(on_done, result)


def _at_port(address: SocketAddress, port: int) -> SocketAddress:
    family, (host, _) = address
    return family, (host, port)
