"""A CQL server that follows a script: handshake by default, anything else as a test says. Knows nothing of the driver.

Example::

    def script(connection, request):
        if request.opcode == wire.QUERY:
            connection.answer(request, wire.RESULT, wire.int32(1))
            return True  # handled; otherwise the default answer is given

    with ScriptedServer(script) as server:
        ...connect to server.address...
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lz4.block

from tests.fakes import wire
from tests.fakes.wire import Envelope, Segments
from tests.patience import PATIENCE

Script = Callable[["ScriptedConnection", Envelope], Any]

SUPPORTED = {"CQL_VERSION": ["3.4.7"], "COMPRESSION": ["snappy", "lz4"]}


class ScriptedConnection:
    """The server's side of one connection, on a thread of its own."""

    def __init__(self, server: ScriptedServer, sock: socket.socket) -> None:
        self.server = server
        self.socket = sock
        self.requests: list[Envelope] = []
        self.startup: dict[str, str] = {}
        self.version = 0
        self.segments: Segments | None = None
        self.keyspace: str | None = None
        self._buffer = bytearray()  # as received; grows in place, or a long request would be copied with every read
        self._envelopes = bytearray()
        self._write_lock = threading.RLock()

    def run(self) -> None:
        try:
            while (request := self.receive()) is not None:
                self.requests.append(request)
                with self.server.lock:
                    self.server.requests.append(request)
                script = self.server.script
                if script is None or not script(self, request):
                    self.default(request)
        except OSError:
            pass
        finally:
            self.close()

    # ---- bytes

    def receive(self) -> Envelope | None:
        """The next request, None when the client closed."""
        while True:
            found = wire.unpack(self._take_payloads())
            if found is not None:
                envelope, rest = found
                self._envelopes = bytearray(rest)
                return self._plain(envelope)
            data = self.socket.recv(65536)
            if not data:
                return None
            self._buffer += data

    def _take_payloads(self) -> bytearray:
        if self.segments is None:
            self._envelopes += self._buffer
            self._buffer.clear()
        else:
            while (found := self.segments.unpack(self._buffer)) is not None:
                payload, rest = found
                self._buffer = bytearray(rest)
                self._envelopes += payload
        return self._envelopes

    def _plain(self, envelope: Envelope) -> Envelope:
        if envelope.flags & wire.COMPRESSED and envelope.version < 5:
            size = int.from_bytes(envelope.body[:4], "big")
            body = lz4.block.decompress(envelope.body[4:], uncompressed_size=size)
            return envelope._replace(body=body, flags=envelope.flags & ~wire.COMPRESSED)
        return envelope

    def send_raw(self, data: bytes) -> None:
        with self._write_lock, contextlib.suppress(OSError):
            self.socket.sendall(data)

    def send(self, opcode: int, body: bytes = b"", stream: int = 0, flags: int = 0, version: int | None = None) -> None:
        """One response, in the negotiated form; as in Cassandra, on protocol 3 and 4 the answer to STARTUP
        is compressed already."""
        version = self.version if version is None else version
        if self.startup.get("COMPRESSION") == "lz4" and version < 5:
            body = len(body).to_bytes(4, "big") + lz4.block.compress(body, store_size=False)
            flags |= wire.COMPRESSED
        data = Envelope(0x80 | version, flags, stream, opcode, body).pack()
        with self._write_lock:
            self.send_raw(data if self.segments is None else self.segments.pack(data))

    def answer(self, request: Envelope, opcode: int, body: bytes = b"", flags: int = 0) -> None:
        self.send(opcode, body, request.stream, flags)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    # ---- the default server

    def default(self, request: Envelope) -> None:
        """Answer as a well-behaved server does."""
        self.version = request.version
        if request.version not in self.server.versions:
            self.refuse_version(request)
            return
        handler = {
            wire.OPTIONS: self._options,
            wire.STARTUP: self._startup,
            wire.AUTH_RESPONSE: self._auth_response,
            wire.REGISTER: lambda request: self.answer(request, wire.READY),
            wire.QUERY: self._query,
        }.get(request.opcode, self._void)
        handler(request)

    def refuse_version(self, request: Envelope) -> None:
        names = ", ".join(f"{version}/v{version}" for version in self.server.versions)
        text = f"Invalid or unsupported protocol version ({request.version}); supported versions are ({names})"
        best = max(self.server.versions)
        self.send(wire.ERROR, wire.error(0x0A, text), request.stream, version=best)
        self.close()

    def _options(self, request: Envelope) -> None:
        self.answer(request, wire.SUPPORTED, wire.string_multimap(self.server.supported))

    def _startup(self, request: Envelope) -> None:
        startup = self.startup = wire.read_string_map(request.body)  # before the answer: tests read it after that
        with self._write_lock:  # nothing gets between the answer and the segments that follow it
            if self.server.password is None:
                self.answer(request, wire.READY)
            else:
                self.answer(request, wire.AUTHENTICATE, wire.string(self.server.authenticator))
            if request.version >= 5:
                lz4_too = startup.get("COMPRESSION") == "lz4"
                self.segments = Segments(_compress, _decompress) if lz4_too else Segments()

    def _auth_response(self, request: Envelope) -> None:
        if wire.read_bytes(request.body) == self.server.password:
            self.answer(request, wire.AUTH_SUCCESS, wire.bytes_(None))
        else:
            self.answer(request, wire.ERROR, wire.error(0x0100, "Provided username or password is incorrect"))

    def _query(self, request: Envelope) -> None:
        query = wire.read_long_string(request.body)
        if query.startswith("USE "):
            self.keyspace = query[4:].strip('"').replace('""', '"')
            self.answer(request, wire.RESULT, wire.int32(3) + wire.string(self.keyspace))
        else:
            self._void(request)

    def _void(self, request: Envelope) -> None:
        self.answer(request, wire.RESULT, wire.int32(1))


def _compress(data: bytes) -> bytes:
    return bytes(lz4.block.compress(data, store_size=False))


def _decompress(data: bytes, length: int) -> bytes:
    return bytes(lz4.block.decompress(data, uncompressed_size=length))


class ScriptedServer:
    """Listens on 127.0.0.1 (or a unix socket) until it is closed; ``close`` drops every connection."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        versions: Sequence[int] = (3, 4, 5),
        supported: Mapping[str, Sequence[str]] = SUPPORTED,
        password: bytes | None = None,
        authenticator: str = "org.apache.cassandra.auth.PasswordAuthenticator",
        tls: ssl.SSLContext | None = None,
        unix_path: str | None = None,
        port: int = 0,
    ) -> None:
        self.script = script
        self.versions = versions
        self.supported = supported
        self.password = password
        self.authenticator = authenticator
        self.tls = tls
        self.lock = threading.Lock()
        self.requests: list[Envelope] = []
        self.connections: list[ScriptedConnection] = []
        self._threads: list[threading.Thread] = []
        self._listener = self._listen(unix_path, port)
        self.address = self._listener.getsockname()
        self._closed = False
        self._accepting = threading.Thread(target=self._accept, name="scripted-accept", daemon=True)
        self._accepting.start()

    @staticmethod
    def _listen(unix_path: str | None, port: int) -> socket.socket:
        listener = socket.socket(socket.AF_INET if unix_path is None else socket.AF_UNIX)
        if unix_path is None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
        else:
            listener.bind(unix_path)
        listener.listen()
        return listener

    @property
    def host(self) -> str:
        return str(self.address[0])

    @property
    def port(self) -> int:
        return int(self.address[1])

    @property
    def opcodes(self) -> list[int]:
        """Of all requests, in order of arrival."""
        with self.lock:
            return [request.opcode for request in self.requests]

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(sock,), name="scripted-serve", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        if self.tls is not None:
            try:
                sock = self.tls.wrap_socket(sock, server_side=True)
            except (OSError, ssl.SSLError):
                sock.close()
                return
        connection = ScriptedConnection(self, sock)
        with self.lock:
            self.connections.append(connection)
            closed = self._closed
        if closed:
            connection.close()
        connection.run()

    def drop_connections(self) -> None:
        """Close every connection, go on listening."""
        with self.lock:
            connections, self.connections = self.connections, []
        for connection in connections:
            connection.close()

    def close(self) -> None:
        with self.lock:
            self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(PATIENCE)  # the last accepted client is among the connections or the threads now
        self._listener.close()
        self.drop_connections()
        for thread in self._threads:
            thread.join(PATIENCE)

    def __enter__(self) -> ScriptedServer:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
