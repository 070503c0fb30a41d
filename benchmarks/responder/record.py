"""Records what the responder plays: ``python -m benchmarks.responder.record host:port``.

Runs the clients of the benchmarks that play it with every driver against a real Apache Cassandra at that
address, through a proxy that keeps the first answer to each different request. What is recorded already stays and is
what drivers get to see, so that all of it is of one server. Needed only when a driver asks for something new; to
begin anew, remove ``data/responder.gz``.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import subprocess
import sys
import threading

from benchmarks import bench_asyncio, bench_bind, bench_execute, bench_fetch, bench_mapper, bench_requests
from benchmarks.clients.harness import ONCE
from benchmarks.clients.mapper import ROWS
from benchmarks.record import SHAPES, value
from benchmarks.responder.recording import ERROR, PATH, Answer, answers, frames, key_of, save
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent_with_args

VERSION = 4
PROTOCOL_ERROR = 0x000A
BENCHES = (bench_execute, bench_fetch, bench_requests, bench_asyncio, bench_bind, bench_mapper)
LOCAL = socket.inet_aton("127.0.0.1")


def frame(version: int, stream: bytes, answer: Answer) -> bytes:
    head = bytes([0x80 | version, answer.flags]) + stream + bytes([answer.opcode])
    return head + struct.pack(">i", len(answer.body)) + answer.body


class Proxy:
    """Passes frames of protocol 4 on and remembers the answers. In these the server is at 127.0.0.1, like the
    responder: drivers connect to the address a node says it has."""

    def __init__(self, server: tuple[str, int], known: dict[bytes, Answer]) -> None:
        self.server = server
        self.answers = known
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
        own = socket.inet_aton(self.server[0])
        for header, body in frames(server):
            answer = Answer(header[4], header[1], body.replace(own, LOCAL))
            key = keys.pop(header[2:4], None)
            if key is not None and (key in self.answers or answer.opcode != ERROR):
                answer = self.answers.setdefault(key, answer)
            with contextlib.suppress(OSError):
                client.sendall(frame(VERSION, header[2:4], answer))
        client.close()


def fill(session: Session, table: str) -> None:
    """The rows of *table* in the keyspace ``bench``."""
    columns = (("id", "int"), *SHAPES[bench_fetch.TABLES[table]].columns)
    names = ", ".join(name for name, _ in columns)
    insert = session.prepare(f"INSERT INTO bench.{table} ({names}) VALUES ({', '.join('?' for _ in columns)})")
    rng = random.Random(table)
    rows = ([value(name, kind, number, rng) for name, kind in columns] for number in range(5000))
    execute_concurrent_with_args(session, insert, rows, concurrency=64)


def fill_ordinary(session: Session) -> None:
    """The rows of ordinary models of the mapper."""
    insert = session.prepare("INSERT INTO bench.ordinary (id, name, ratio, at, tags) VALUES (?, ?, ?, ?, ?)")
    rows = [(number, f"point {number}", number / 3, 1_700_000_000_000 + number, ["a", "b"]) for number in range(ROWS)]
    execute_concurrent_with_args(session, insert, rows, concurrency=64)


def main(contact: str) -> None:
    host, _, port = contact.partition(":")
    with Cluster([host], port=int(port), connect_timeout=60, control_connection_timeout=60) as ours:
        session = ours.connect()
        session.execute("DROP KEYSPACE IF EXISTS bench", timeout=60)
        for statement in (*bench_execute.SCHEMA, *bench_fetch.SCHEMA, *bench_bind.SCHEMA, *bench_mapper.SCHEMA):
            session.execute(statement, timeout=60)
        for table in bench_fetch.TABLES:
            fill(session, table)
        fill_ordinary(session)
        proxy = Proxy((host, int(port)), answers() if PATH.exists() else {})
        before = set(proxy.answers)
        for bench in BENCHES:
            for driver in bench.drivers(proxy.port).values():
                command, folder = driver.command()
                subprocess.run([*command, ONCE], cwd=folder, check=True)
        session.execute("DROP KEYSPACE bench", timeout=60)
    save(proxy.answers)
    for key in sorted(set(proxy.answers) - before):
        print(f"{len(proxy.answers[key].body):8} {key[:120]!r}")
    print(f"{PATH.name}: {len(proxy.answers)} answers, {PATH.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
