"""The operations that open performance pull requests of scylladb/python-driver measure, by the API that both drivers
share. Each work has the number of the pull request in its name; see ``bench_public.py``.

The shapes are those that the descriptions of the pull requests name; where they name none, they are ours.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import random
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from benchmarks.clients.harness import Client, Work, run
from benchmarks.clients.policies import filtered, near, statements, told
from benchmarks.clients.routing import cluster
from cassandra import ConsistencyLevel, cqltypes
from cassandra.cqltypes import lookup_casstype
from cassandra.policies import (
    DefaultLoadBalancingPolicy,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.protocol import BatchMessage, ProtocolHandler, ResultMessage
from cassandra.protocol_features import ProtocolFeatures
from cassandra.query import BatchType, BoundStatement, PreparedStatement, named_tuple_factory

V4 = 4
VECTOR = "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType, {})"
AT = datetime.datetime(2026, 4, 5, 12, 30, 15, 250_000)
COLUMNS: list[tuple[str, Any, Any]] = [
    ("id", cqltypes.UUIDType, UUID(int=1 << 100)),
    ("at", cqltypes.DateType, AT),
    ("value", cqltypes.DoubleType, 1 / 3),
    ("name", cqltypes.UTF8Type, "sensor 7"),
    ("count", cqltypes.LongType, 1 << 40),
    ("active", cqltypes.BooleanType, True),
    ("flags", cqltypes.Int32Type, 7),
    ("data", cqltypes.BytesType, bytes(range(32))),
]
BOUND = (3, 5, 8)
BATCHES = [(1, 3), (10, 2), (10, 5), (10, 10), (50, 2), (50, 5)]  # queries, values of each
PAGES = [(1000, 16 << 10), (5000, 1 << 10), (1000, 4 << 10)]  # rows, bytes of each
VECTORS = (768, 1536)
METADATA = (3, 10, 50)
PLANNERS: dict[str, Callable[[], LoadBalancingPolicy]] = {
    "DCAware": near,
    "RackAware": lambda: RackAwareRoundRobinPolicy("dc1", "r1"),
    "TokenAware(DCAware)": lambda: TokenAwarePolicy(near()),
    "TokenAware(RackAware)": lambda: TokenAwarePolicy(RackAwareRoundRobinPolicy("dc1", "r1")),
    "Default(DCAware)": lambda: DefaultLoadBalancingPolicy(near()),
    "HostFilter(DCAware)": lambda: filtered(near()),
}


def floats(count: int) -> list[float]:
    """Values that a four-byte float represents exactly."""
    return [n / 128 for n in range(count)]


def vectors() -> Iterator[tuple[str, Work]]:
    for size in VECTORS:
        kind = lookup_casstype(VECTOR.format(size))
        values = floats(size)
        wire = struct.pack(f">{size}f", *values)
        assert kind.serialize(values, V4) == wire and kind.deserialize(wire, V4) == values
        names = {"encode": kind.serialize, "decode": kind.deserialize, "values": values, "wire": wire}
        yield f"748 vector<float, {size}> from a list", Work("encode(values, 4)", names)
        yield f"730 vector<float, {size}> to a list", Work("decode(wire, 4)", names)
        array = np.array(values, np.float32)
        try:
            assert kind.serialize(array, V4) == wire
        except (TypeError, struct.error):
            continue
        yield (
            f"793 vector<float, {size}> from NumPy",
            Work("encode(array, 4)", {"encode": kind.serialize, "array": array}),
        )


def rows() -> Iterator[tuple[str, Work]]:
    for columns, count in ((10, 1), (5, 100)):
        names = [f"column{n}" for n in range(columns)]
        page = [tuple(range(columns)) for _ in range(count)]
        found = named_tuple_factory(names, page)
        assert len(found) == count and found[-1].column1 == 1
        yield (
            f"740 named tuples {columns} x {count}",
            Work("make(names, page)", {"make": named_tuple_factory, "names": names, "page": page}),
        )


def metadata(columns: int, code: int = 0x000D) -> bytes:
    """Of a result: the global table specification, and *columns* of one type."""

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode()

    head = struct.pack(">ii", 1, columns) + text("bench") + text("points")
    return head + b"".join(text(f"column{n}") + struct.pack(">H", code) for n in range(columns))


def pages() -> Iterator[tuple[str, Work]]:
    decode = ProtocolHandler.decode_message
    opcode = ResultMessage.opcode

    def body(columns: int, code: int, count: int, values: bytes) -> bytes:
        return struct.pack(">i", 2) + metadata(columns, code) + struct.pack(">i", count) + values * count

    def work(content: bytes) -> Work:
        names = {"decode": decode, "opcode": opcode, "body": content, "features": ProtocolFeatures()}
        return Work("list(decode(4, features, {}, 0, 0, opcode, body, None, []).parsed_rows)", names)

    for count, size in PAGES:
        content = body(1, 0x0003, count, struct.pack(">i", size) + bytes(size))
        found = decode(V4, ProtocolFeatures(), {}, 0, 0, opcode, content, None, [])
        assert len(found.parsed_rows) == count
        yield f"734 page {count} x {size >> 10} KB", work(content)
    for columns in METADATA:
        yield f"814 metadata of {columns} columns", work(body(columns, 0x000D, 0, b""))


def statement(columns: int) -> PreparedStatement:
    from cassandra.protocol import ColumnMetadata

    found = [ColumnMetadata("bench", "points", name, kind) for name, kind, _ in COLUMNS[:columns]]
    return PreparedStatement(found, b"id", [0], "INSERT", "bench", V4, [], None)


def binds() -> Iterator[tuple[str, Work]]:
    for columns in BOUND:
        prepared = statement(columns)
        values = tuple(value for *_, value in COLUMNS[:columns])
        bound = BoundStatement(prepared).bind(values)
        assert bound.values[0] == values[0].bytes and len(bound.values) == columns
        names: dict[str, Any] = {"Bound": BoundStatement, "prepared": prepared, "values": values}
        yield f"798 bind {columns}", Work("Bound(prepared).bind(values)", names)


def batches() -> Iterator[tuple[str, Work]]:
    for queries, values in BATCHES:
        content = [(True, b"0123456789abcdef", [b"value %04d" % n for n in range(values)]) for _ in range(queries)]
        message = BatchMessage(BatchType.LOGGED, content, ConsistencyLevel.ONE)
        names: dict[str, Any] = {"message": message, "File": io.BytesIO}
        yield f"791 batch {queries} x {values}", Work("message.send_body(File(), 4)", names)


def types() -> Iterator[tuple[str, Work]]:
    kind = cqltypes.MapType.apply_parameters([cqltypes.UTF8Type, cqltypes.Int32Type])
    yield "798 cql_parameterized_type of a map", Work("name()", {"name": kind.cql_parameterized_type})
    for count in (10, 1000):
        of_ints = cqltypes.ListType.apply_parameters([cqltypes.Int32Type])
        values = list(range(count))
        wire = of_ints.serialize(values, V4)
        names: dict[str, Any] = {
            "encode": of_ints.serialize,
            "decode": of_ints.deserialize,
            "values": values,
            "wire": wire,
        }
        yield f"787 list<int> of {count} to bytes", Work("encode(values, 4)", names)
        yield f"787 list<int> of {count} from bytes", Work("decode(wire, 4)", names)
    for name, kind_of, value in (
        ("decimal", cqltypes.DecimalType, Decimal("12345678.901234")),
        ("text", cqltypes.UTF8Type, "sensor 7"),
        ("timestamp", cqltypes.DateType, AT),
        ("varint", cqltypes.IntegerType, 1 << 100),
    ):
        wire = kind_of.serialize(value, V4)
        names = {"encode": kind_of.serialize, "decode": kind_of.deserialize, "value": value, "wire": wire}
        number = 764 if name in ("decimal", "text") else 798
        yield f"{number} {name} to bytes", Work("encode(value, 4)", names)
        yield f"{number} {name} from bytes", Work("decode(wire, 4)", names)


def plans() -> Iterator[tuple[str, Work]]:
    """Whole plans of statements with a key; 45 nodes of three datacenters, the vnodes of which are known."""
    chance = random.Random(1)
    hosts, metadata = cluster(chance)
    keyed = statements(chance)["key"]
    for name, make_policy in PLANNERS.items():
        policy = told(make_policy(), hosts, metadata, "in order", chance)
        names = {"plan": policy.make_query_plan, "statements": keyed}
        yield (
            f"651 plan of {name}",
            Work("for statement in statements: list(plan('keyspace', statement))", names, per=len(keyed)),
        )


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    yield Client(dict(work for part in (vectors, rows, pages, binds, batches, types, plans) for work in part()))


if __name__ == "__main__":
    run("benchmarks.clients.public", make)
