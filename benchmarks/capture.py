"""The bytes of this driver's own requests, so that a program without a driver can send the same."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from benchmarks.clients.harness import INSERT, POINT, SELECT
from benchmarks.responder.recording import EXECUTE, frames
from cassandra.cluster import Cluster


def execute_frames(port: int) -> dict[str, bytes]:
    """The EXECUTE frames of a point ``read`` and of an ``insert``, as ``Session.execute`` sends them to *port*."""
    with _tap(port) as (tapped, sent):
        cluster = Cluster(["127.0.0.1"], port=tapped, compression=False, protocol_version=4)
        try:
            session = cluster.connect()
            select, insert = session.prepare(SELECT), session.prepare(INSERT)
            session.execute(select, POINT[:1])
            session.execute(insert, POINT)
        finally:
            cluster.shutdown()
        read, write = sent
    return {"read": read, "insert": write}


@contextlib.contextmanager
def _tap(port: int) -> Iterator[tuple[int, list[bytes]]]:
    """A port that leads to *port*, and the EXECUTE frames that came by."""
    sent: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with contextlib.suppress(OSError):  # closed: the end
                while True:
                    client, _ = listener.accept()
                    server = socket.create_connection(("127.0.0.1", port))
                    threading.Thread(target=forward, args=(client, server), daemon=True).start()
                    threading.Thread(target=back, args=(server, client), daemon=True).start()

        def forward(client: socket.socket, server: socket.socket) -> None:
            for header, body in frames(client):
                if header[4] == EXECUTE:
                    sent.append(header + body)
                server.sendall(header + body)
            server.shutdown(socket.SHUT_RDWR)

        def back(server: socket.socket, client: socket.socket) -> None:
            with server, client, contextlib.suppress(OSError):  # whoever ends first
                while data := server.recv(1 << 16):
                    client.sendall(data)

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1], sent
        listener.shutdown(socket.SHUT_RDWR)
