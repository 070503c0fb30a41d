"""Methods and attributes for connections that programs open themselves, under scylla-driver's names (L6).

They are aliases in the ``Connection`` of ``cassandra.connection``. The native transport assigns stream ids itself: a
*request id* is only a number that is unique among the requests of the connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import count
from time import monotonic
from typing import Any

from cassandra._base.errors import ConnectionShutdown
from cassandra._base.locks import lock_of_programs
from cassandra._base.process import Event
from cassandra._net.exchange import Exchange
from cassandra._net.options import MAX_REQUESTS
from cassandra._wire.handlers import ProtocolHandler

from .timers import ResponseWaiter, Timer, _Loop

LONGEST_WAIT = 600.0  # seconds to wait for a response without a timeout

_timers = _Loop()  # its thread starts with the first timer


class HostConnection:
    """Aliases of ``cassandra.pool.HostConnection``."""

    @property
    def _connections(self: Any) -> dict[int, Any]:
        """Connections that accept requests, by shard; shard 0 on servers without shards."""
        return {connection.shard or 0: connection for connection in self.get_connections()}

    @property
    def _keyspace(self: Any) -> str | None:
        keyspace: str | None = self.keyspace
        return keyspace


def _option(name: str) -> Any:
    """Return a property for an option that the connection was opened with."""
    return property(lambda connection: getattr(connection.options, name))


class Connection:
    """Aliases of ``cassandra.connection.Connection``."""

    CALLBACK_ERR_THREAD_THRESHOLD = 100
    in_buffer_size = out_buffer_size = 4096  # bytes that scylla-driver reads and writes at a time
    is_unsupported_proto_version = False
    supports_tls_session_resumption = True
    total_shards = None

    allow_beta_protocol_version = _option("allow_beta")
    connect_timeout = _option("connect_timeout")
    no_compact = _option("no_compact")
    ssl_context = _option("ssl_context")

    @property
    def sockopts(self: Any) -> Any:
        return list(self.options.sockopts) or None

    @property
    def ssl_options(self: Any) -> dict[str, Any]:
        return dict(self.options.ssl_options or {})

    @property
    def authenticator(self: Any) -> Any:
        """The authenticator that a program passed to a connection that it opened itself."""
        return getattr(self.options.auth_provider, "_authenticator", None)

    @property
    def compressor(self: Any) -> Any:
        return self.compression and self.compression.compress

    @property
    def decompressor(self: Any) -> Any:
        return self.compression and self.compression.decompress

    @property
    def connected_event(self: Any) -> Any:
        """An event that is set: programs get a connection only after it is open."""
        opened = Event()
        opened.set()
        return opened

    @property
    def original_endpoint(self: Any) -> Any:
        return self.endpoint

    @property
    def request_ids(self: Any) -> deque[int]:
        """Numbers, as many as further requests may be sent now."""
        return deque(range(self.in_flight, self.max_in_flight))

    @property
    def highest_request_id(self: Any) -> int:
        return int(self.max_in_flight) - 1

    @property
    def orphaned_request_ids(self: Any) -> set[int]:
        """Numbers, as many as there are orphaned requests."""
        return set(range(self.orphaned))

    @property
    def msg_received(self: Any) -> bool:
        """True if data was received since ``reset_idle``."""
        return not self.is_idle

    @property
    def signaled_error(self: Any) -> bool:
        return bool(self.is_defunct)

    def handle_pushed(self: Any, response: Any) -> None:
        """Call the watchers of an event, as if the server had sent it."""
        for callback in self._watchers.get(response.event_type, ()):
            callback(response.event_args)

    def error_all_requests(self: Any, exc: BaseException) -> None:
        """Fail all requests in flight with *exc*, and close the connection as defunct."""
        self.defunct(exc)

    @classmethod
    def initialize_reactor(cls) -> None:
        """Do nothing: I/O threads start on demand."""

    @classmethod
    def handle_fork(cls) -> None:
        """Do nothing: the driver detects a fork itself."""

    @classmethod
    def create_timer(cls, timeout: float, callback: Callable[[], object]) -> Any:
        """Call *callback* after *timeout* seconds, on a separate thread. Return a timer with a method ``cancel``."""
        timer = Timer(timeout, callback)
        _timers.add_timer(timer)
        return timer

    @staticmethod
    def max_request_id_for(max_in_flight: int) -> int:
        """Return the highest request id for *max_in_flight* requests."""
        return min(max_in_flight, MAX_REQUESTS) - 1

    @staticmethod
    def orphaned_threshold_for(max_in_flight: int) -> int:
        """Return the maximum number of orphaned requests for *max_in_flight* requests."""
        return int(max_in_flight * 0.75)

    @property
    def max_in_flight(self: Any) -> int:
        limit: int = self.options.max_requests if self.channel is None else self.channel.max_requests
        return limit

    @property
    def max_request_id(self: Any) -> int:
        return int(self.max_in_flight) - 1

    @property
    def is_control_connection(self: Any) -> bool:
        return bool(self.options.register_events)

    @property
    def lock(self: Any) -> Any:
        return lock_of_programs(self)

    @property
    def is_idle(self: Any) -> bool:
        """True if no data was received since ``reset_idle``."""
        since: float | None = self.__dict__.get("_idle_since")
        return since is not None and monotonic() - self.idle_seconds <= since

    def reset_idle(self: Any) -> None:
        self._idle_since = monotonic()

    def get_request_id(self: Any) -> int:
        """Return a number for ``send_msg``."""
        numbers: Any = self.__dict__.setdefault("_request_numbers", count(1))
        return next(numbers)  # type: ignore[no-any-return]

    def send_msg(
        self: Any,
        msg: Any,
        request_id: int,
        cb: Callable[[Any], None],
        encoder: Any = None,
        decoder: Any = None,
        result_metadata: Any = None,
    ) -> int:
        """Send *msg*; ``cb(response)`` is called on the I/O thread, with an exception if there is no response. Return
        the size of the request in bytes. Raise ConnectionShutdown if the connection is closed."""
        if self.is_closed:
            why = f"is defunct: {self.last_error}" if self.is_defunct else "is closed"
            raise ConnectionShutdown(f"Connection to {self.endpoint} {why}", self.endpoint)
        frame = msg.encode(self.protocol_version, features=self.features)
        answer = self._answer if decoder is None else partial(_decoded, self, decoder)
        self.submit(frame, Exchange(lambda outcome: cb(answer(outcome))), 0, LONGEST_WAIT)
        return len(frame)

    def wait_for_responses(self: Any, *msgs: Any, **kwargs: Any) -> list[Any]:
        """Send *msgs* and return the responses in their order. *timeout* is the limit for all of them. With
        *fail_on_error*, the default, raise the first error; without it, return a pair of success and response each."""
        timeout = kwargs.get("timeout")
        waiter = ResponseWaiter(self, len(msgs), kwargs.get("fail_on_error", True))
        for index, msg in enumerate(msgs):
            self.send_msg(msg, self.get_request_id(), partial(waiter.got_response, index=index))
        return waiter.deliver(LONGEST_WAIT if timeout is None else timeout) if msgs else []


class AsyncoreConnection:
    """Aliases of ``cassandra.io.asyncorereactor.AsyncoreConnection``."""

    def add_channel(self: Any, map: Any = None) -> None:
        """Do nothing: the native transport watches the socket, not asyncore."""


def _decoded(connection: Any, decoder: Any, outcome: Any) -> Any:
    """Decode *outcome* as ``Connection._answer`` does, with *decoder*: the ``decode_message`` of a handler of a program
    or of the driver."""
    handler = getattr(decoder, "__self__", None)
    frame = getattr(outcome, "opcode", None)
    if frame is None or handler is None or handler is ProtocolHandler:
        return connection._answer(outcome)
    try:
        return connection.decode_with(handler, outcome)
    except Exception as error:
        return error
