"""Records what the responder plays: ``python -m benchmarks.responder.record``.

Starts a real Apache Cassandra, and a proxy in front of it that both drivers run the client of ``bench_execute``
through; the first answer to each different request is kept. Needed only when a driver asks for something new.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator

from benchmarks.bench_execute import SCHEMA, client_command
from benchmarks.responder.recording import ERROR, PATH, Answer, key_of, save
from cassandra.cluster import Cluster
from tests.servers import ServerCluster

VERSION = 4
PROTOCOL_ERROR = 0x000A


def frames(sock: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    """(header, body) until the end."""
    reader = sock.makefile("rb")
    with contextlib.suppress(OSError):  # a reset is an end, too
        while len(header := reader.read(9)) == 9:
            yield header, reader.read(struct.unpack(">i", header[5:])[0])


def frame(version: int, stream: bytes, answer: Answer) -> bytes:
    head = bytes([0x80 | version, answer.flags]) + stream + bytes([answer.opcode])
    return head + struct.pack(">i", len(answer.body)) + answer.body


class Proxy:
    """Passes frames of protocol 4 on and remembers the answers. In these the server is at 127.0.0.1, like the
    responder: drivers connect to the address a node says it has."""

    def __init__(self, server: tuple[str, int]) -> None:
        self.server = server
        self.answers: dict[bytes, Answer] = {}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        server = socket.create_connection(self.server)
        keys: dict[bytes, bytes] = {}
        threading.Thread(target=self.answer, args=(server, client, keys), daemon=True).start()
        for header, body in frames(client):
            if header[0] > VERSION:
                text = f"Invalid or unsupported protocol version ({header[0]}); supported versions are (3/v3, 4/v4)"
                refusal = struct.pack(">ih", PROTOCOL_ERROR, len(text)) + text.encode()
                client.sendall(frame(VERSION, header[2:4], Answer(ERROR, 0, refusal)))
                continue
            key = key_of(header[4], body)
            if key is not None:
                keys[header[2:4]] = key
            server.sendall(header + body)
        server.close()

    def answer(self, server: socket.socket, client: socket.socket, keys: dict[bytes, bytes]) -> None:
        own, shown = socket.inet_aton(self.server[0]), socket.inet_aton("127.0.0.1")
        for header, body in frames(server):
            body = body.replace(own, shown)
            key = keys.pop(header[2:4], None)
            if key is not None and header[4] != ERROR:
                self.answers.setdefault(key, Answer(header[4], header[1], body))
            with contextlib.suppress(OSError):
                client.sendall(header + body)
        client.close()


def main() -> None:
    with ServerCluster() as cluster:
        contact = cluster.contact_points[0]
        ours = Cluster([contact], port=cluster.port, connect_timeout=60, control_connection_timeout=60)
        with ours, ours.connect() as session:
            for statement in SCHEMA:
                session.execute(statement, timeout=60)
        proxy = Proxy((contact, cluster.port))
        for name in ("fastcql", "scylla-driver"):
            command, folder = client_command(name, proxy.port, 20)
            subprocess.run(command, cwd=folder, check=True)
        save(proxy.answers)
    for key, answer in sorted(proxy.answers.items()):
        print(f"{len(answer.body):8} {key[:100]!r}")
    print(f"{PATH.name}: {len(proxy.answers)} answers, {PATH.stat().st_size} bytes")


if __name__ == "__main__":
    main()
