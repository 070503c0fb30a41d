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
    """A port that leads to *port*, and the EXECUTE frames that came by. Ends when its clients did."""
    sent: list[bytes] = []
    threads: list[threading.Thread] = []

    def accept() -> None:
        with contextlib.suppress(OSError):  # the listener is shut down: the end
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", port))
                threads.append(threading.Thread(target=_connection, args=(client, server, sent)))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield listener.getsockname()[1], sent
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # wakes the accepting thread
            accepting.join()
            for thread in threads:
                thread.join()


def _connection(client: socket.socket, server: socket.socket, sent: list[bytes]) -> None:
    """Pass on all data between the two, until *client* ends."""

    def back() -> None:
        with contextlib.suppress(OSError):  # either side may end first
            while data := server.recv(1 << 16):
                client.sendall(data)

    with client, server:
        backwards = threading.Thread(target=back)
        backwards.start()
        for header, body in frames(client):
            if header[4] == EXECUTE:
                sent.append(header + body)
            server.sendall(header + body)
        with contextlib.suppress(OSError):  # it ended by itself
            server.shutdown(socket.SHUT_RDWR)
        backwards.join()
