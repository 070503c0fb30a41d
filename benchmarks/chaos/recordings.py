"""What the nodes of the misbehaving cluster answer.

Most of it was recorded from a real server. System tables are made here, as each node has its own
(there is no ``peers_v2``, which would have to know the port); and so are two
statements whose answers repeat the number that was bound (``responder/chaos.cpp`` puts it there):

:data:`READ`   idempotent, answered by a row of the number, with metadata or without
:data:`WRITE`  conditional and not idempotent, answered by a row that says ``[applied]`` and the number
"""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

from benchmarks.responder.recording import Answer, answers, packed
from cassandra.cqltypes import lookup_casstype

READ = "SELECT id FROM bench.echo WHERE id = ?"
WRITE = "INSERT INTO bench.echo (id) VALUES (?) IF NOT EXISTS"
RESULT = 0x08
TYPES = {
    "ascii": ("AsciiType", (0x01,)),
    "bigint": ("LongType", (0x02,)),
    "boolean": ("BooleanType", (0x04,)),
    "int": ("Int32Type", (0x09,)),
    "uuid": ("UUIDType", (0x0C,)),
    "text": ("UTF8Type", (0x0D,)),
    "inet": ("InetAddressType", (0x10,)),
    "set<text>": ("SetType(UTF8Type)", (0x22, 0x0D)),
}
NODE = {"data_center": "text", "rack": "text", "host_id": "uuid", "release_version": "text", "schema_version": "uuid"}
LOCAL = {
    "key": "text",
    **NODE,
    "cluster_name": "text",
    "partitioner": "text",
    "broadcast_address": "inet",
    "listen_address": "inet",
    "rpc_address": "inet",
    "tokens": "set<text>",
}
PEERS = {"peer": "inet", **NODE, "rpc_address": "inet", "tokens": "set<text>"}
ECHO = {"id": "bigint"}
NO_METADATA, GLOBAL = 4, 1
MISSING = b"table peers_v2 does not exist"
NO_PEERS_V2 = Answer(0x00, 0, struct.pack(">iH", 0x2200, len(MISSING)) + MISSING)
TOKENS = 16  # of each node


def recording(node: int, nodes: int) -> bytes:
    """What node number *node* of *nodes* plays."""
    recorded = answers().items()
    known = {key: answer for key, answer in recorded if b"system.local" not in key and b"system.peers" not in key}
    known[b"QSELECT * FROM system.peers_v2"] = NO_PEERS_V2
    others = [number for number in range(nodes) if number != node]
    tables = {
        "local": (LOCAL, [_row(node, nodes)]),
        "peers": (PEERS, [_row(other, nodes) for other in others]),
    }
    for name, (columns, rows) in tables.items():
        known[f"QSELECT * FROM system.{name}".encode()] = _result(_rows("system", name, columns, rows))
    row = {"[applied]": True, "id": 0}
    for text, columns, described in ((READ, ECHO, True), (WRITE, {"[applied]": "boolean", **ECHO}, False)):
        statement = b"echo" + text[:12].encode()
        known[b"P" + text.encode()] = _result(_prepared(statement, columns if described else None))
        known[b"X0" + statement] = _result(_rows("bench", "echo", columns, [row]))
        if described:
            known[b"X1" + statement] = _result(_rows("bench", "echo", columns, [row], metadata=False))
    return packed(known)


def _row(node: int, nodes: int) -> dict[str, Any]:
    address, step = f"127.0.0.{node + 1}", (1 << 64) // (nodes * TOKENS)
    return {
        "key": "local",
        "cluster_name": "chaos",
        "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
        "data_center": "datacenter1",
        "rack": f"rack{node + 1}",
        "host_id": UUID(int=node + 1),
        "release_version": "5.0.4",
        "schema_version": UUID(int=1 << 100),
        **dict.fromkeys(("peer", "broadcast_address", "listen_address", "rpc_address"), address),
        "tokens": {str(-(1 << 63) + step * (node + nodes * number)) for number in range(TOKENS)},
    }


def _result(body: bytes) -> Answer:
    return Answer(RESULT, 0, body)


def _string(text: str) -> bytes:
    return _short(len(text.encode())) + text.encode()


def _short(number: int) -> bytes:
    return struct.pack(">H", number)


def _columns(columns: dict[str, str]) -> bytes:
    return b"".join(
        _string(name) + struct.pack(f">{len(TYPES[kind][1])}H", *TYPES[kind][1]) for name, kind in columns.items()
    )


def _rows(
    keyspace: str, table: str, columns: dict[str, str], rows: list[dict[str, Any]], *, metadata: bool = True
) -> bytes:
    """The body of a ROWS result."""
    body = struct.pack(">iii", 2, GLOBAL if metadata else NO_METADATA, len(columns))
    if metadata:
        body += _string(keyspace) + _string(table) + _columns(columns)
    body += struct.pack(">i", len(rows))
    for row in rows:
        for name, kind in columns.items():
            cell = lookup_casstype(TYPES[kind][0]).serialize(row[name], 4)
            body += struct.pack(">i", len(cell)) + cell
    return body


def _prepared(statement: bytes, columns: dict[str, str] | None) -> bytes:
    """The body of a PREPARED result: one marker, the partition key; *columns* are those of its rows, if it tells."""
    body = struct.pack(">iH", 4, len(statement)) + statement
    body += struct.pack(">iiiH", GLOBAL, 1, 1, 0) + _string("bench") + _string("echo") + _columns(ECHO)
    if columns is None:
        return body + struct.pack(">ii", NO_METADATA, 0)
    return body + struct.pack(">ii", GLOBAL, len(columns)) + _string("bench") + _string("echo") + _columns(columns)
