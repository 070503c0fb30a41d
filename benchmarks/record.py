"""Records the answers that benchmarks decode, from a real server: ``python -m benchmarks.record host:port``.

Writes ``benchmarks/data/<name>.body.gz``, each the body of one RESULT envelope of protocol 4. The recordings are in
the repository; run this only to add one. The connection is a plain socket: nothing of the driver but its codec is used.
"""

from __future__ import annotations

import gzip
import random
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from cassandra._core import codec

DATA = Path(__file__).parent / "data"
VERSION, ROWS = 4, 5000
STARTUP, RESULT, READY = 0x01, 0x08, 0x02

# name of the recording: (columns, how to make the values of row i)
SHAPES = {
    "rows4": "id int PRIMARY KEY, name text, score bigint, ratio double",
    "rows5": "id int PRIMARY KEY, score bigint, name text, ratio double, at timestamp",
    "rows7": "id int PRIMARY KEY, part int, name text, score bigint, ratio double, mark uuid, at timestamp",
}


class Connection:
    """One request at a time over protocol 4."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), 30)
        options = codec.Writer()
        options.string_map({"CQL_VERSION": "3.0.0"})
        opcode, _ = self.request(codec.encode_envelope(VERSION, 0, STARTUP, options.getvalue()))
        if opcode != READY:
            raise RuntimeError(f"the server answered STARTUP with opcode {opcode}")

    def request(self, envelope: bytes) -> tuple[int, bytes]:
        self.socket.sendall(envelope)
        header = self._read(9)
        return header[4], self._read(struct.unpack(">i", header[5:])[0])

    def _read(self, n: int) -> bytes:
        parts = b""
        while len(parts) < n:
            part = self.socket.recv(n - len(parts))
            if not part:
                raise RuntimeError("the server closed the connection")
            parts += part
        return parts

    def query(self, text: str, *, page_size: int = ROWS) -> bytes:
        return self._result(codec.encode_query(VERSION, text, 1, page_size=page_size))

    def execute(self, query_id: bytes, bound: codec.Bound) -> bytes:
        return self._result(codec.encode_execute(VERSION, query_id, 1, bound))

    def prepare(self, text: str) -> codec.Result:
        return codec.decode_result(codec.Result, self.prepare_body(text), 0, VERSION, codec.TypeContext())

    def prepare_body(self, text: str) -> bytes:
        return self._result(codec.encode_prepare(VERSION, text))

    def _result(self, envelope: bytes) -> bytes:
        opcode, body = self.request(envelope)
        if opcode != RESULT:
            raise RuntimeError(f"the server refused: {body!r}")
        return body


def values(columns: list[str], number: int, rng: random.Random) -> Iterator[object]:
    """A plausible row."""
    made = {
        "id": number,
        "part": number % 64,
        "name": f"user-{rng.randrange(10**6):06d}",
        "score": rng.randrange(2**50),
        "ratio": rng.random() * 1e6,
        "mark": UUID(int=rng.getrandbits(128), version=4),
        "at": 1_700_000_000_000 + rng.randrange(10**9),
    }
    return (made[name] for name in columns)


def record(connection: Connection, name: str, columns: str) -> None:
    names = [column.split()[0] for column in columns.split(", ")]
    connection.query(f"CREATE TABLE recorded.{name} ({columns})")
    marks = ", ".join("?" for _ in names)
    insert = connection.prepare(f"INSERT INTO recorded.{name} ({', '.join(names)}) VALUES ({marks})")
    assert insert.query_id is not None and insert.bind_plan is not None
    rng = random.Random(name)
    for number in range(ROWS):
        row = list(values(names, number, rng))
        connection.execute(insert.query_id, insert.bind_plan.bind(row, VERSION, want_token=False))
    body = connection.query(f"SELECT {', '.join(names)} FROM recorded.{name}")
    DATA.mkdir(exist_ok=True)
    path = DATA / f"{name}.body.gz"
    path.write_bytes(gzip.compress(body, mtime=0))
    print(f"{path}: {len(body)} bytes")


def load(name: str) -> bytes:
    """The recorded body."""
    return gzip.decompress((DATA / f"{name}.body.gz").read_bytes())


def main(contact: str) -> None:
    host, _, port = contact.partition(":")
    connection = Connection(host, int(port))
    connection.query("DROP KEYSPACE IF EXISTS recorded")
    connection.query("CREATE KEYSPACE recorded WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    for name, columns in SHAPES.items():
        record(connection, name, columns)


if __name__ == "__main__":
    main(sys.argv[1])
