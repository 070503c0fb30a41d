"""One connection to one node (L3; public path ``cassandra.connection.Connection``).

States and their transitions::

    OPENING   made and owned by opening.py; the handshake runs on the I/O thread
    READY     opening.py calls ``_ready`` once; from then on any thread submits
    CLOSED    the channel is closed, by ``close``, ``defunct`` or the peer; ``on_closed`` runs once, on the I/O thread

The channel owns the I/O state: socket, streams, timeouts, requests in flight (which fail when it closes).
This class adds the results of the handshake with one node: version, features, compression, keyspace. ``last_error`` is
set at most once, before the channel closes. ``_keyspace_queue`` and ``_using`` are guarded by ``_lock``, a driver lock,
and no callback is called with it held. Driver threads start and complete each USE and start the next one, so a USE
requested by a caller thread never blocks the others.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from cassandra._base import threads
from cassandra._base.constants import GRACEFUL_DISCONNECT, ConsistencyLevel, Flag, Opcode, ProtocolVersion, ResultKind
from cassandra._base.errors import (
    ConnectionBusy,
    ConnectionException,
    ConnectionShutdown,
    CrcException,
    CrcMismatchException,
    OperationTimedOut,
    ProtocolError,
    RequestValidationException,
    ResponseTooLarge,
)
from cassandra._base.locks import CALLER, driver_lock, thread_kind
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._base.process import AutoResetEvent
from cassandra._base.server_errors import ErrorMessage
from cassandra._core.codec import ResultDecoder, ResultPlan, TypeContext
from cassandra._core.transport import DRIVER, Channel, ConnectionBase, Failure, Frame, Limit, Operation, Reactor
from cassandra._wire.handlers import compress_body
from cassandra._wire.messages.reading import as_context, uses_metadata_ids
from cassandra._wire.messages.requests import HEADER_SIZE, QueryMessage, RegisterMessage
from cassandra._wire.messages.responses import EventMessage, ResultMessage, decode_response, known_event_types

from .compression import Compression
from .endpoint import EndPoint
from .exchange import Exchange, call_guarded, failure_error, orphaned_limit
from .features import Dialect, ProtocolFeatures, ShardTarget, dialect_of
from .handshake import Negotiated, check_host_id, use_keyspace
from .opening import Opening, OpeningWaiter
from .options import ConnectionOptions

__all__ = ["Connection", "failure_error"]

log = get_logger("cassandra.connection")

MOST_BEFORE_LOG_IN = 1 << 20  # bytes
COMPRESSION_THRESHOLD = 512  # shorter bodies gain nothing
USE_TIMEOUT = 10.0
HOST_ID_QUERY = "SELECT host_id FROM system.local WHERE key='local'"
_SET_KEYSPACE = ResultKind.SET_KEYSPACE.to_bytes(4, "big")

OnOutcome = Callable[["Frame | Failure"], None]
OnDone = Callable[[Any], None]


@public("cassandra.connection")
class Connection(ConnectionBase):
    """Sends requests and decodes messages. Any thread may call its methods, except blocking ones on the I/O thread."""

    protocol_version: int = ProtocolVersion.MAX_SUPPORTED  #: Version of the protocol in use.
    highest_version: int | None = None
    """Highest protocol version that the server and this driver support; None if the server did not announce it."""
    features: ProtocolFeatures  #: Protocol extensions of the node, as negotiated.
    keyspace: str | None = None  #: The keyspace in use.
    last_error: BaseException | None = None  #: The error that the connection was closed with.
    is_silent: bool = False  #: True while requests wait and nothing is received.
    is_draining: bool = False  #: True once the node has announced that it closes the connection.
    compression: Compression | None = None  #: The negotiated algorithm; None without.
    _most_plain_bytes = MOST_BEFORE_LOG_IN  # limit of a decompressed body
    cql_version: str | None = None  #: The negotiated version of CQL.
    results: ResultDecoder
    """Fast path for common frames; ``decode`` handles all frames and reports malformed ones."""
    dialect: Dialect
    """Properties of the connection that determine the encoding of an EXECUTE."""
    submit: Callable[..., int]
    """``submit(frame, operation, attempt=0, timeout=None, later=False) -> stream``: send an uncompressed envelope; with
    *later*, put it on the flush list to be sent together with others (``Reactor.flush``). Raises
    ConnectionShutdown or ConnectionBusy; then nothing was sent."""

    def __init__(
        self,
        reactor: Reactor,
        endpoint: EndPoint,
        options: ConnectionOptions,
        *,
        context: TypeContext | None = None,
        host_id: Any = None,
        on_event: Callable[[Connection, EventMessage], None] | None = None,
        on_closed: Callable[[Connection, BaseException | None], None] | None = None,
    ) -> None:
        self.reactor = reactor  #: The I/O thread.
        self.endpoint = endpoint  #: Endpoint of the node.
        self.options = options  #: Options of the connection.
        self.host_id = host_id  #: Id of the node, if it is known.
        self.orphaned_threshold = orphaned_limit(options.max_requests)
        self.context = as_context(context)  #: Classes of user types, for the decoder.
        self.features = ProtocolFeatures()
        self._metadata_ids = False
        self._lwt_mask = 0
        self.dialect = dialect_of(0, False, False)
        self.results = ResultDecoder(ResultMessage, self.context)
        self.submit = self._submit_unopened
        self._event_callback = on_event
        self._closed_callback = on_closed
        self._watchers: dict[str, list[Callable[[Any], None]]] = {}
        self._opening: Opening | None = None
        self._lock = driver_lock("Connection")
        self._keyspace_queue: list[tuple[str, Callable[[Connection, Any], None], float]] = []
        self._using = False  # a thread is processing the queue
        self._unreadable: dict[int, BaseException] = {}  # by opcode: the first error, which was logged

    # ---- opening

    @classmethod
    def open(
        cls,
        reactor: Reactor,
        endpoint: EndPoint,
        options: ConnectionOptions,
        on_done: Callable[[Connection | BaseException], None],
        target: ShardTarget | None = None,
        **kwargs: Any,
    ) -> Opening:
        """Start to open a connection, to the shard *target* if that is given. *on_done* is called exactly once, on the
        I/O thread, with the connection or the exception. Keyword arguments are the constructor's: *context*, *host_id*,
        *on_event* and *on_closed* (connection, error or None). Both callbacks are called on the I/O thread, *on_closed*
        once and after *on_done*.
        """
        kind = options.connection_class or cls
        how = options if target is None else options.replace(shard_target=target)
        return Opening(lambda: kind(reactor, endpoint, options, **kwargs), reactor, endpoint, how, on_done)

    @classmethod
    def factory(
        cls,
        endpoint: EndPoint,
        timeout: float | None = None,
        host_conn: Any = None,
        *args: Any,
        reactor: Reactor | None = None,
        options: ConnectionOptions | None = None,
        **kwargs: Any,
    ) -> Connection:
        """Open a connection and wait for it. Raises the error of the opening. Not for the I/O thread. Without a
        *reactor* the connection belongs to no cluster, and *kwargs* are options by their names in scylla-driver."""
        if reactor is None:
            from .standalone import open_alone, options_of  # not needed by programs with a cluster

            return open_alone(cls, endpoint, timeout, options or options_of(kwargs))
        _refuse_to_block(reactor)
        waiter, options = OpeningWaiter(), options or ConnectionOptions()
        opening = cls.open(reactor, endpoint, options, waiter, **kwargs)
        return waiter.wait(opening, options.open_timeout if timeout is None else timeout)

    def _starting(self, algorithm: Compression | None, features: ProtocolFeatures) -> None:
        """Store the settings that STARTUP requests; its response and all later messages are decoded with them. Raise
        UnexpectedHost if the node has announced another host id than expected."""
        if self.options.verify_host_id:
            check_host_id(self.endpoint, self.host_id, features.host_id)
        self.compression = algorithm
        self.features = features
        self.shard = None if features.sharding_info is None else features.shard_id
        self._metadata_ids = uses_metadata_ids(self.protocol_version, features)
        self.dialect = dialect_of(self.protocol_version, self._metadata_ids, features.tablets_routing_v2)
        self._lwt_mask = 0 if features.lwt_info is None else features.lwt_info.lwt_meta_bit_mask
        self.results = ResultDecoder(ResultMessage, self.context, self._lwt_mask, self._metadata_ids)

    def _on_startup_accepted(self) -> None:
        """Switch to the settings of STARTUP, which the server has accepted."""
        assert self.channel is not None
        version, algorithm = self.protocol_version, self.compression
        name = None if algorithm is None or version >= 5 else algorithm.name
        self.channel.set_protocol(version, self.options.max_frame, name)
        if ProtocolVersion.has_checksumming_support(version):
            if algorithm is None:
                self.channel.enable_segments()
            else:
                self.channel.enable_segments(algorithm.segment_compress, algorithm.segment_decompress)

    def _ready(self, negotiated: Negotiated) -> None:
        assert self.channel is not None
        pool = self.reactor.pool
        self._most_plain_bytes = min(self.options.max_frame, pool.max_bytes) if pool.strict else self.options.max_frame
        self.keyspace = negotiated.keyspace
        self.cql_version = negotiated.cql_version
        self.channel.max_requests = self.options.max_requests
        self._opening = None
        if self.options.heartbeat_interval:
            interval, timeout = self.options.heartbeat_interval, self.options.heartbeat_timeout
            self.channel.keep_alive(self.protocol_version, interval, timeout)
        if self.compression is None or self.protocol_version >= 5:
            self.submit = self.channel.submit
            self.direct = self.channel
        else:
            self.submit = self._submit_compressed

    # ---- requests

    def _submit_unopened(
        self, frame: bytes, operation: Operation, attempt: int = 0, timeout: float | None = None, later: bool = False
    ) -> int:
        raise ConnectionShutdown(f"Connection to {self.endpoint} is not open", self.endpoint)

    def _submit_compressed(
        self, frame: bytes, operation: Operation, attempt: int = 0, timeout: float | None = None, later: bool = False
    ) -> int:
        assert self.channel is not None and self.compression is not None
        if len(frame) - HEADER_SIZE >= COMPRESSION_THRESHOLD:
            frame = compress_body(frame, self.compression.compress)
        return self.channel.submit(frame, operation, attempt, timeout, later)

    def orphan(self, stream: int, operation: Operation, attempt: int = 0) -> bool:
        """Orphan a request: its stream stays in use until its response arrives. False if it was completed already."""
        return self.channel is not None and self.channel.orphan(stream, operation, attempt)

    def decode(self, frame: Frame, plan: ResultPlan | None = None, raw: bool = False) -> Any:
        """Return the message of a frame; an ERROR is returned, not raised. Call it in the thread that uses the message.
        *raw*: rows as RawRows if possible.

        Raises ProtocolError for a malformed frame. The connection stays open, as the length of the frame was right;
        but after a malformed response to USE its keyspace is unknown, and it is closed."""
        try:
            message = self.results.raw(frame) if raw else self.results.decode(frame, plan)
            if message is not None:  # fast path, nearly all frames
                return message
        except ProtocolError:
            pass  # decoded again and reported below
        try:
            if frame.skipped:
                raise self._too_large(frame.skipped)
            return decode_response(
                frame,
                self.context,
                decompress=None if self.compression is None else self._decompress,
                plan=plan,
                metadata_ids=self._metadata_ids,
                lwt_mask=self._lwt_mask,
                rate_limit_error=self.features.rate_limit_error,
            )
        except ProtocolError as error:
            self._note_unreadable(frame, error)
            raise

    def _too_large(self, size: int) -> ResponseTooLarge:
        limit, pool = self.options.max_frame, self.reactor.pool
        if size > limit:
            text = f"a response of {size} bytes was skipped: the limit is {limit} (Cluster(max_response_bytes=))"
            return ResponseTooLarge(text, size, limit)
        text = f"a response of {size} bytes was skipped: not enough memory"
        if pool.strict:
            text += f"; the strict memory pool has {pool.max_bytes} bytes (Cluster(memory_pool=))"
        return ResponseTooLarge(text, size)

    def _note_unreadable(self, frame: Frame, error: ProtocolError) -> None:
        """Log *error*: as a warning if it is the first for its opcode and the connection is open, else as DEBUG."""
        first = self._unreadable.setdefault(frame.opcode, error) is error and self._opening is None
        log.log(
            logging.WARNING if first else logging.DEBUG,
            "%r stays open after a malformed message; more with the same opcode are logged at level DEBUG: %s",
            self, error,
        )  # fmt: skip
        if _sets_keyspace(frame):
            self.defunct(error)

    def decode_with(self, handler: Any, frame: Frame, plan: ResultPlan | None = None) -> Any:
        """Decode like ``decode``, through a user's protocol handler."""
        if frame.skipped:
            return self.decode(frame)  # raises
        return handler.decode_message(
            self.protocol_version,
            self.features,
            self.context,
            frame.stream,
            frame.flags,
            frame.opcode,
            bytes(frame),
            None if self.compression is None else self._decompress,
            plan,
        )

    def _decompress(self, data: Any) -> bytes:
        """Decompress the body of a frame. A server may compress a megabyte to four kilobytes, so the size is limited:
        before the end of the log-in to a small value, after it to the maximum of a frame or of a strict memory pool."""
        assert self.compression is not None
        try:
            return self.compression.decompress(data, self._most_plain_bytes)
        except ResponseTooLarge as error:
            if error.size is None or self._opening is not None:
                raise
            raise self._too_large(error.size) from None

    def request_async(
        self, message: Any, on_done: OnDone, timeout: float, later: bool = False, raw: bool = False
    ) -> None:
        """Send *message*; call *on_done* exactly once with the result of ``decode`` or the exception: on the I/O
        thread, or in this call if nothing could be sent. *later*: coalesce with requests that follow immediately."""
        try:
            self._send(message, lambda outcome: on_done(self._answer(outcome, raw)), timeout, later)
        except Exception as error:
            call_guarded(on_done, error)

    def request(self, message: Any, timeout: float) -> Any:
        """Send *message* and wait for its response. A server error is raised as its public exception, a timeout as
        OperationTimedOut. Not for the I/O thread."""
        _refuse_to_block(self.reactor)
        operation = Operation()
        operation._priority = DRIVER
        stream = self.submit(message.encode(self.protocol_version, features=self.features), operation, 0, timeout)
        operation._wait(timeout + 1.0)
        outcome = operation._take()
        if outcome is None:  # the I/O thread itself is late
            self.orphan(stream, operation)
            raise OperationTimedOut({str(self.endpoint): f"no answer within {timeout} s"}, self.endpoint, timeout)
        answer = self._answer(outcome[1])
        if isinstance(answer, BaseException):
            raise answer.to_exception() if isinstance(answer, ErrorMessage) else answer
        return answer

    def wait_for_response(self, msg: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        """Alias of ``request`` with scylla-driver's name."""
        return self.request(msg, USE_TIMEOUT if timeout is None else timeout)

    def _send(self, message: Any, on_outcome: OnOutcome, timeout: float, later: bool = False) -> int:
        frame = message.encode(self.protocol_version, features=self.features)
        return self.submit(frame, Exchange(on_outcome), 0, timeout, later)

    def _answer(self, outcome: Frame | Failure, raw: bool = False) -> Any:
        if isinstance(outcome, Failure):
            return failure_error(outcome, self.endpoint)
        try:
            return self.decode(outcome, None, raw)
        except Exception as error:
            return error

    # ---- identity of the node

    def read_host_id(self, timeout: float, on_done: Callable[[UUID | BaseException | None], None]) -> None:
        """Read the host id of the node from its system tables; call *on_done* exactly once with the id, None if there
        is none, or the exception: on the I/O thread, or in this call if nothing could be sent."""
        message = QueryMessage(HOST_ID_QUERY, ConsistencyLevel.ONE)
        self.request_async(message, lambda answer: on_done(_host_id_in(answer)), timeout)

    def drain(self) -> None:
        """Reject further requests, except those of the driver itself. Requests in flight end normally."""
        if self.channel is not None:
            self.channel.drain()

    # ---- limits

    def set_limit(self, limit: Limit) -> None:
        """Count requests in *limit* too. Call it before the connection is used."""
        assert self.channel is not None
        self.channel.set_limit(limit)
        while limit is not None:
            self.orphaned_threshold = min(self.orphaned_threshold, orphaned_limit(limit.maximum))
            limit = limit.parent  # type: ignore[assignment]

    def load(self) -> str:
        """Return the number of requests in flight as text, for errors."""
        shard = "" if self.shard is None else f" (shard {self.shard})"
        channel = self.channel
        if channel is None or channel.closed:
            return f"the connection{shard} is closed"
        given_up = f", {channel.orphaned} of them orphaned (no response yet)" if channel.orphaned else ""
        return f"{channel.in_flight} of {channel.max_requests} requests in flight on the connection{shard}{given_up}"

    # ---- keyspace

    def set_keyspace_async(
        self,
        keyspace: str | None,
        callback: Callable[[Connection, BaseException | None], None],
        timeout: float = USE_TIMEOUT,
    ) -> None:
        """Send USE *keyspace*, then call ``callback(connection, error)`` exactly once. Calls are run one after the
        other: a server runs requests of one connection in any order, and the last USE must win.

        If the server rejects the request, the keyspace is unchanged. After any other error the keyspace of the
        connection is unknown, and it is closed."""
        if not keyspace:
            call_guarded(callback, self, None)
            return
        if thread_kind() == CALLER:
            threads.submit(self.set_keyspace_async, keyspace, callback, timeout)
            return
        with self._lock:
            self._keyspace_queue.append((keyspace, callback, timeout))
            free, self._using = not self._using, True
        if free:
            self._use_next()

    def set_keyspace_blocking(self, keyspace: str | None) -> None:
        """Call ``set_keyspace_async`` and wait. Raises its error."""
        _refuse_to_block(self.reactor)
        done = AutoResetEvent()
        errors: list[BaseException | None] = []

        def finished(connection: Connection, error: BaseException | None) -> None:
            errors.append(error)
            done.set()

        self.set_keyspace_async(keyspace, finished)
        if not done.wait(2 * USE_TIMEOUT):
            raise OperationTimedOut({str(self.endpoint): f"USE took longer than {2 * USE_TIMEOUT} s"}, self.endpoint)
        if errors[0] is not None:
            raise errors[0]

    def _use_next(self) -> None:
        """Process the queue until it is empty; callbacks may add to it. The caller has set ``_using``."""
        while True:
            with self._lock:
                if not self._keyspace_queue:
                    self._using = False
                    return
                keyspace, callback, timeout = self._keyspace_queue.pop(0)
            if keyspace != self.keyspace:
                self.request_async(use_keyspace(keyspace), partial(self._on_keyspace_set, keyspace, callback), timeout)
                return
            call_guarded(callback, self, None)

    def _on_keyspace_set(self, keyspace: str, callback: Callable[[Connection, Any], None], answer: Any) -> None:
        error: BaseException | None = None
        if isinstance(answer, ErrorMessage):
            error = answer.to_exception()
        elif isinstance(answer, BaseException):
            error = answer
        elif getattr(answer, "new_keyspace", None) is None:
            error = ProtocolError(f"unexpected response to USE: {answer!r}")
        else:
            self.keyspace = keyspace
        if error is not None and not isinstance(error, (RequestValidationException, ConnectionBusy)):
            self.defunct(error)
        call_guarded(callback, self, error)
        self._use_next()

    # ---- events

    def register_watchers(
        self, type_callback_dict: Mapping[str, Callable[[Any], None]], register_timeout: float | None = None
    ) -> None:
        """Send REGISTER for event types and wait. Callbacks are called with ``event_args`` on the I/O thread."""
        for event_type, callback in type_callback_dict.items():
            self._watchers.setdefault(event_type, []).append(callback)
        self.wait_for_response(RegisterMessage(list(type_callback_dict)), register_timeout)

    def register_watcher(
        self, event_type: str, callback: Callable[[Any], None], register_timeout: float | None = None
    ) -> None:
        """Call *callback* with the arguments of each event of this type."""
        self.register_watchers({event_type: callback}, register_timeout)

    # ---- the end

    def close(self) -> None:
        """Close the connection; requests in flight fail. Idempotent."""
        if self.channel is not None:
            self.channel.close()

    def leave_to_parent(self) -> None:
        """Leave the connection to the parent process, in a forked child. It lasts as long as the parent's socket."""
        if self.channel is not None:
            self.channel.leave_to_parent()

    def defunct(self, exc: BaseException) -> None:
        """Close because of *exc*, which becomes ``last_error`` and the cause of the failure of requests in flight."""
        if self.channel is None or self.channel.closed:
            return
        if self.last_error is None:
            self.last_error = exc
        log.debug("Closing %r: %s", self, exc)
        self.channel.close(exc)

    # ---- called by the channel, on the I/O thread

    def on_connected(self, channel: Channel) -> None:
        """Called by the channel when the socket is connected."""
        self.channel = channel
        if self._opening is not None:
            self._opening.on_connected(self)

    def on_event(self, channel: Channel, frame: Frame) -> None:
        """Called by the channel with each frame that no request waits for."""
        try:
            event = self.decode(frame)
        except ProtocolError:  # logged by decode
            return
        if event.event_type == GRACEFUL_DISCONNECT and self.features.graceful_disconnect:
            self.is_draining = True
        elif event.event_type not in known_event_types and event.event_type not in self._watchers:
            log.debug("An event of the unknown type %s of %s is ignored", event.event_type, self.endpoint)
            return
        if self._event_callback is not None:
            call_guarded(self._event_callback, self, event)
        for callback in self._watchers.get(event.event_type, ()):
            call_guarded(callback, event.event_args)

    def on_closed(self, channel: Channel, error: BaseException | None) -> None:
        """Called by the channel when it is closed."""
        self.channel = channel
        if isinstance(error, CrcException):
            error = CrcMismatchException(str(error), self.endpoint)
        elif isinstance(error, TimeoutError) and error.errno is None:  # of a heartbeat, not of the system
            timeout = self.options.heartbeat_timeout
            error = OperationTimedOut({str(self.endpoint): str(error)}, self.endpoint, timeout)
        self.last_error = self.last_error or error
        if self._opening is not None:
            self._opening.on_closed(self, error)
        elif self._closed_callback is not None:
            call_guarded(self._closed_callback, self, error)

    # ---- state

    @property
    def is_closed(self) -> bool:
        """True once it is closed."""
        return self.channel is None or self.channel.closed

    @property
    def is_defunct(self) -> bool:
        """True if the connection was closed because of an error."""
        return self.last_error is not None and self.is_closed

    @property
    def in_flight(self) -> int:
        """Number of requests without a response, orphaned ones included."""
        return 0 if self.channel is None else self.channel.in_flight

    @property
    def is_full(self) -> bool:
        """True if the connection's own limit of requests is reached, or the window of an overloaded server. (Limits of
        the pool or session may apply too.)"""
        return self.channel is not None and self.channel.is_full

    @property
    def is_limited(self) -> bool:
        """True if requests in flight are limited, as the server is overloaded (``adaptive_concurrency``)."""
        return self.channel is not None and self.channel.window < math.inf

    @property
    def orphaned(self) -> int:
        """Number of orphaned streams, which wait for a late response."""
        return 0 if self.channel is None else self.channel.orphaned

    @property
    def waiting(self) -> int:
        """Number of requests in flight that are not orphaned."""
        return 0 if self.is_closed else self.in_flight - self.orphaned

    @property
    def orphaned_threshold_reached(self) -> bool:
        """True if too few streams are left: the pool replaces the connection."""
        return self.orphaned >= self.orphaned_threshold

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last data was received."""
        return 0.0 if self.channel is None else self.channel.idle_seconds

    @property
    def host(self) -> str:
        """Address of the node."""
        return self.endpoint.address

    @property
    def port(self) -> int | None:
        """TCP port of the node."""
        return self.endpoint.port

    def __repr__(self) -> str:
        status = "" if not self.is_closed else " (defunct)" if self.is_defunct else " (closed)"
        return f"<Connection({id(self)}) {self.endpoint}{status}>"

    __str__ = __repr__


def _host_id_in(answer: Any) -> UUID | BaseException | None:
    """Return the host id in the response to ``HOST_ID_QUERY``."""
    if isinstance(answer, ErrorMessage):
        return answer.to_exception()
    if isinstance(answer, BaseException):
        return answer
    try:
        found = next((row[0] for row in answer.parsed_rows or ()), None)
    except Exception as error:  # a malformed row
        return error
    return found if isinstance(found, UUID) else None


def _sets_keyspace(frame: Frame) -> bool:
    """True if *frame* is visibly a SET_KEYSPACE result: its kind is not preceded by tracing, warnings or a payload."""
    is_plain = not frame.flags & (Flag.TRACING | Flag.WARNING | Flag.CUSTOM_PAYLOAD) and (
        not frame.flags & Flag.COMPRESSED or frame.version >= 5
    )
    return frame.opcode == Opcode.RESULT and is_plain and bytes(memoryview(frame)[:4]) == _SET_KEYSPACE


def shows_life(answer: Any) -> bool:
    """True if *answer*, from ``request_async``, came from the server, even if it is malformed."""
    return isinstance(answer, ProtocolError) or not isinstance(answer, BaseException)


def _refuse_to_block(reactor: Reactor) -> None:
    if reactor.in_reactor():
        raise ConnectionException("a blocking call on the driver's I/O thread would never return")


# ---- names of scylla-driver's connection classes, for Cluster(connection_class=...); all use the native transport


@public("cassandra.io.asyncioreactor")
class AsyncioConnection(Connection):
    """The native transport. ``await`` works on every session, with any class."""


@public("cassandra.io.asyncorereactor")
class AsyncoreConnection(Connection):
    """The native transport."""


@public("cassandra.io.libevreactor")
class LibevConnection(Connection):
    """The native transport."""


@public("cassandra.io.geventreactor")
class GeventConnection(Connection):
    """The native transport. If gevent has patched threads before the driver was imported, greenlets wait with their
    hub, with any class."""


@public("cassandra.io.eventletreactor")
class EventletConnection(Connection):
    """The native transport. If eventlet has patched threads before the driver was imported, greenlets wait with their
    hub, with any class."""
