"""Connections that programs create without a transport: a subclass of theirs, or a test, transfers the bytes (L6).

A ``Connection`` of ``cassandra.connection`` that is created without a reactor has this class. Received bytes are
written to ``_iobuf`` and read by ``process_io_buffer``; sent bytes are passed to ``push``. The program owns it: it has
no threads, and ``lock`` is for programs that use it from several threads.
"""

from __future__ import annotations

import struct
import sys
from collections import defaultdict, deque
from collections.abc import Callable
from io import BytesIO
from typing import Any

from cassandra._base.constants import ProtocolVersion
from cassandra._base.errors import ConnectionException, ConnectionShutdown, ProtocolError
from cassandra._base.locks import caller_lock
from cassandra._base.logs import get_logger
from cassandra._base.names import escape_name
from cassandra._base.objects import public
from cassandra._base.process import Event
from cassandra._net import connection
from cassandra._net.endpoint import DefaultEndPoint, EndPoint
from cassandra._net.features import ProtocolFeatures
from cassandra._net.options import DEFAULT_CQL_VERSION, MAX_REQUESTS
from cassandra._wire.handlers import ProtocolHandler
from cassandra._wire.messages.requests import HEADER_SIZE, QueryMessage, StartupMessage
from cassandra._wire.messages.responses import ReadyMessage, SupportedMessage

from .names import _Frame, defunct_on_error

log = get_logger("cassandra.connection")

REQUEST_IDS = 300  # initially
ONE = 1  # consistency level


@public("cassandra.connection")
class Connection(connection.Connection):
    """Encodes and decodes envelopes of protocol 3 and 4; the program transfers them."""

    # Defaults of attributes that a transport would set.
    endpoint: Any = None
    features: Any
    compression: Any = True
    compressor: Any = None
    decompressor: Any = None
    is_closed: Any = False
    is_defunct: Any = False
    in_flight: Any = 0
    msg_received = False
    is_idle: Any = True
    _lock: Any

    def __init__(
        self,
        host: Any = "127.0.0.1",
        port: int = 9042,
        authenticator: Any = None,
        ssl_options: Any = None,
        sockopts: Any = None,
        compression: bool | str = True,
        cql_version: str | None = None,
        protocol_version: int = ProtocolVersion.MAX_SUPPORTED,
        is_control_connection: bool = False,
        user_type_map: Any = None,
        connect_timeout: float | None = None,
        allow_beta_protocol_version: bool = False,
        no_compact: bool = False,
        ssl_context: Any = None,
        owning_pool: Any = None,
        **others: Any,
    ) -> None:
        self.endpoint = host if isinstance(host, EndPoint) else DefaultEndPoint(host, port)
        self.authenticator = authenticator
        self.ssl_options = dict(ssl_options or {})
        self.ssl_context = ssl_context
        self.sockopts = sockopts
        self.compression = compression
        self.cql_version = cql_version
        self.protocol_version = protocol_version
        self.is_control_connection = is_control_connection
        self.user_type_map = user_type_map
        self.connect_timeout = connect_timeout
        self.allow_beta_protocol_version = allow_beta_protocol_version
        self.no_compact = no_compact
        self.features = ProtocolFeatures()
        self.max_request_id = MAX_REQUESTS - 1
        self.max_in_flight = MAX_REQUESTS
        self.highest_request_id = REQUEST_IDS - 1
        self.request_ids = deque(range(REQUEST_IDS))
        self.orphaned_request_ids: set[int] = set()
        self.orphaned_threshold = MAX_REQUESTS * 3 // 4
        self._lock = caller_lock("of a connection of a program")
        self._requests: dict[int, Any] = {}
        self._push_watchers: defaultdict[str, set[Any]] = defaultdict(set)
        self._iobuf = BytesIO()
        self.connected_event = Event()

    # ---- to be overridden by subclasses

    def push(self, data: bytes) -> None:
        """Send *data*."""
        raise NotImplementedError(f"{type(self).__name__} has no transport: a subclass has to send")

    def close(self) -> None:
        """Mark the connection as closed: no more bytes are transferred."""
        if type(self) is Connection:
            raise NotImplementedError("this connection has no transport: a subclass has to close it")
        self.is_closed = True

    def defunct(self, exc: Any) -> None:
        """Close the connection as failed with *exc*, and fail all its requests."""
        with self._lock:
            if self.is_defunct or self.is_closed:
                return
            self.is_defunct, self.last_error = True, exc
        log.debug("Defuncting connection %r to %s: %s", id(self), self.endpoint, exc)
        self.close()
        self.error_all_requests(exc)
        self.connected_event.set()

    def error_all_requests(self, exc: Any) -> None:
        """Call the callbacks of all requests in flight with ConnectionShutdown."""
        with self._lock:
            requests, self._requests = self._requests, {}
        for callback, *_ in requests.values():
            callback(ConnectionShutdown(str(exc), self.endpoint))

    # ---- sending

    def get_request_id(self) -> int:
        with self._lock:
            if self.request_ids:
                return int(self.request_ids.popleft())
            self.highest_request_id += 1
            return self.highest_request_id

    def send_msg(
        self,
        msg: Any,
        request_id: int,
        cb: Callable[[Any], Any],
        encoder: Any = ProtocolHandler.encode_message,
        decoder: Any = ProtocolHandler.decode_message,
        result_metadata: Any = None,
    ) -> int:
        if self.is_closed or self.is_defunct:
            raise ConnectionShutdown(f"Connection to {self.endpoint} is closed", self.endpoint)
        self._requests[request_id] = (cb, decoder, result_metadata)
        data = encoder(msg, request_id, self.protocol_version, self.compressor, self.allow_beta_protocol_version)
        self.push(data)
        return len(data)

    def wait_for_response(self, msg: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        return self.wait_for_responses(msg, timeout=timeout, **kwargs)[0]  # type: ignore[attr-defined]

    def set_keyspace_blocking(self, keyspace: str | None) -> None:
        if not keyspace or keyspace == self.keyspace:
            return
        self.wait_for_response(QueryMessage(f"USE {escape_name(keyspace)}", ONE))
        self.keyspace = keyspace

    # ---- receiving

    def process_io_buffer(self) -> None:
        """Process the complete envelopes in the buffer."""
        data = self._iobuf.getvalue()
        while len(data) >= HEADER_SIZE:
            version, flags, stream, opcode, length = struct.unpack_from(">BBhBi", data)
            version &= 0x7F
            if version not in ProtocolVersion.SUPPORTED_VERSIONS:
                self.defunct(ProtocolError(f"This version of the driver does not support protocol version {version}"))
                return
            if length < 0:
                self.defunct(ProtocolError(f"Got negative body length: {length}"))
                return
            end = HEADER_SIZE + length
            if len(data) < end:
                break
            body, data = data[HEADER_SIZE:end], data[end:]
            self.process_msg(_Frame(version, flags, stream, opcode, HEADER_SIZE, end), body)
        self._iobuf = BytesIO()
        self._iobuf.write(data)

    @defunct_on_error
    def process_msg(self, header: Any, body: bytes) -> None:
        """Decode an envelope and call the callback of its request."""
        self.msg_received = True
        decode: Any
        if header.stream < 0:
            callback, decode, metadata = self.handle_pushed, ProtocolHandler.decode_message, None
        else:
            with self._lock:
                callback, decode, metadata = self._requests.pop(header.stream)
                self.request_ids.append(header.stream)
        callback(
            decode(
                header.version,
                self.features,
                self.user_type_map,
                header.stream,
                header.flags,
                header.opcode,
                body,
                self.decompressor,
                metadata,
            )
        )

    def handle_pushed(self, response: Any) -> None:
        for callback in list(self._push_watchers[response.event_type]):
            callback(response.event_args)

    # ---- the handshake

    @defunct_on_error
    def _handle_options_response(self, response: Any) -> None:
        if isinstance(response, Exception):
            raise response
        if not isinstance(response, SupportedMessage):
            raise ConnectionException(f"Did not get expected SupportedMessage response: {response!r}", self.endpoint)
        versions = response.cql_versions
        if self.cql_version is not None and self.cql_version not in versions:
            raise ProtocolError(f"cql_version {self.cql_version!r} is not supported by the server: {versions!r}")
        self.cql_version = self.cql_version or (versions[0] if versions else DEFAULT_CQL_VERSION)
        algorithm = self._algorithm(response.options.get("COMPRESSION", []))
        self.compressor, self.decompressor = algorithm[1] if algorithm else (None, None)
        options = {"COMPRESSION": algorithm[0]} if algorithm else {}
        self.send_msg(StartupMessage(self.cql_version, options), self.get_request_id(), self._handle_startup_response)

    def _algorithm(self, offered: list[str]) -> tuple[str, Any] | None:
        """Return the name and functions of a compression that both sides support; None if there is none."""
        known = sys.modules["cassandra.connection"].locally_supported_compressions  # a program may change it
        if not self.compression:
            return None
        if isinstance(self.compression, str):
            if self.compression not in offered:
                raise ProtocolError(
                    f"The requested compression type ({self.compression}) is not supported by the server"
                )
            return self.compression, known[self.compression]
        return next(((name, known[name]) for name in known if name in offered), None)

    @defunct_on_error
    def _handle_startup_response(self, response: Any) -> None:
        if isinstance(response, Exception):
            raise response
        if not isinstance(response, ReadyMessage):
            raise ConnectionException(f"Unexpected response during connection setup: {response!r}", self.endpoint)
        self.connected_event.set()

    def __repr__(self) -> str:
        state = " (defunct)" if self.is_defunct else " (closed)" if self.is_closed else ""
        return f"<{type(self).__name__}({id(self)}) {self.endpoint}{state}>"
