"""Records the answers that benchmarks decode, from a real server: ``python -m benchmarks.record host:port [name …]``.

Writes ``benchmarks/data/<name>.body.gz``, each the body of one RESULT envelope of protocol 4: the rows of a
shape with their metadata, or what :class:`Shape` says.
The recordings are in the repository; run this only to add one. The connection is a plain socket: nothing of the driver
but its codec is used.
"""

from __future__ import annotations

import gzip
import random
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from cassandra._core import codec
from cassandra._wire.types.registry import resolve_custom

DATA = Path(__file__).parent / "data"
VERSION, ROWS = 4, 5000
STARTUP, RESULT, READY = 0x01, 0x08, 0x02
CREATE = "CREATE KEYSPACE recorded WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"


class Shape(NamedTuple):
    """A table to record from, with an ``id`` besides these columns."""

    columns: tuple[tuple[str, str], ...]
    rows: int = ROWS
    #: Also ``<name>.prepared`` (SELECT by key), what executing it gives (``<name>.one``, and ``<name>.none`` for a key
    #: that is not there), the same without metadata (``….skipped``), and the answer to INSERT (``<name>.void``).
    by_key: bool = False


def wide(columns: int) -> tuple[tuple[str, str], ...]:
    kinds = ("int", "bigint", "text", "double", "timestamp")
    return tuple((f"column_{number}", kinds[number % len(kinds)]) for number in range(1, columns))


SCORES = (("score", "bigint"), ("name", "text"), ("ratio", "double"), ("at", "timestamp"))
PEOPLE = (("part", "int"), ("name", "text"), ("score", "bigint"), ("ratio", "double"), ("mark", "uuid"))

SHAPES = {
    "rows4": Shape((("name", "text"), ("score", "bigint"), ("ratio", "double"))),
    "rows5": Shape(SCORES),
    "rows7": Shape((*PEOPLE, ("at", "timestamp"))),
    "wide5": Shape(SCORES, 1, by_key=True),
    "wide10": Shape(wide(10), 1, by_key=True),
    "wide20": Shape(wide(20), 1, by_key=True),
    "wide50": Shape(wide(50), 1, by_key=True),
    "list_int": Shape((("items", "list<int>"),), 50),
    "map_text_int": Shape((("items", "map<text, int>"),), 50),
    "set_uuid": Shape((("items", "set<uuid>"),), 50),
    "vector_float": Shape((("items", "vector<float, 1536>"),), 8),
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

    def execute(self, query_id: bytes, bound: codec.Bound, *, skip_metadata: bool = False) -> bytes:
        return self._result(codec.encode_execute(VERSION, query_id, 1, bound, skip_metadata=skip_metadata))

    def prepare(self, text: str) -> codec.Result:
        context = codec.TypeContext(resolve_custom)  # vectors travel as custom types
        return codec.decode_result(codec.Result, self.prepare_body(text), 0, VERSION, context)

    def prepare_body(self, text: str) -> bytes:
        return self._result(codec.encode_prepare(VERSION, text))

    def _result(self, envelope: bytes) -> bytes:
        opcode, body = self.request(envelope)
        if opcode != RESULT:
            raise RuntimeError(f"the server refused: {body!r}")
        return body


def value(column: str, kind: str, number: int, rng: random.Random) -> Any:
    """A plausible value of row *number*."""
    if column in ("id", "part"):
        return number % 64 if column == "part" else number
    made: dict[str, Callable[[], Any]] = {
        "int": lambda: rng.randrange(2**31),
        "bigint": lambda: rng.randrange(2**50),
        "text": lambda: f"user-{rng.randrange(10**6):06d}",
        "double": lambda: rng.random() * 1e6,
        "timestamp": lambda: 1_700_000_000_000 + rng.randrange(10**9),
        "uuid": lambda: UUID(int=rng.getrandbits(128), version=4),
        "list<int>": lambda: [rng.randrange(2**31) for _ in range(100)],
        "map<text, int>": lambda: {f"key-{i}": rng.randrange(2**31) for i in range(20)},
        "set<uuid>": lambda: {UUID(int=rng.getrandbits(128), version=4) for _ in range(20)},
        "vector<float, 1536>": lambda: [rng.random() for _ in range(1536)],
    }
    return made[kind]()


def record(connection: Connection, name: str, shape: Shape) -> None:
    columns = (("id", "int"), *shape.columns)
    table, names = f"recorded.{name}", ", ".join(column for column, _ in columns)
    types = ", ".join(f"{column} {kind}" for column, kind in columns)
    connection.query(f"CREATE TABLE {table} ({types}, PRIMARY KEY (id))")
    insert = connection.prepare(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' for _ in columns)})")
    assert insert.query_id is not None and insert.bind_plan is not None
    rng = random.Random(name)
    for number in range(shape.rows):
        row = [value(column, kind, number, rng) for column, kind in columns]
        void = connection.execute(insert.query_id, insert.bind_plan.bind(row, VERSION, want_token=False))
    if shape.by_key:
        save(f"{name}.void", void)
        record_by_key(connection, name, f"SELECT {names} FROM {table} WHERE id = ?")
    else:
        shown = "items" if shape.columns[0][0] == "items" else names  # collections without a key beside them
        save(name, connection.query(f"SELECT {shown} FROM {table}"))


def record_by_key(connection: Connection, name: str, select: str) -> None:
    body = connection.prepare_body(select)
    save(f"{name}.prepared", body)
    prepared = codec.decode_result(codec.Result, body, 0, VERSION, codec.TypeContext())
    assert prepared.query_id is not None and prepared.bind_plan is not None
    for key, what in ((0, "one"), (-1, "none")):
        bound = prepared.bind_plan.bind([key], VERSION, want_token=False)
        save(f"{name}.{what}", connection.execute(prepared.query_id, bound))
        save(f"{name}.{what}.skipped", connection.execute(prepared.query_id, bound, skip_metadata=True))


def save(name: str, body: bytes) -> None:
    DATA.mkdir(exist_ok=True)
    path = DATA / f"{name}.body.gz"
    path.write_bytes(gzip.compress(body, mtime=0))
    print(f"{path}: {len(body)} bytes")


def load(name: str) -> bytes:
    """The recorded body."""
    return gzip.decompress((DATA / f"{name}.body.gz").read_bytes())


def main(contact: str, wanted: list[str]) -> None:
    host, _, port = contact.partition(":")
    connection = Connection(host, int(port))
    connection.query("DROP KEYSPACE IF EXISTS recorded")
    connection.query(CREATE)
    for name, shape in SHAPES.items():
        if not wanted or name in wanted:
            record(connection, name, shape)
    connection.query("DROP KEYSPACE recorded")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
