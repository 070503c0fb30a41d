"""INSERTs of vectors: CPU per row, beside scylla-driver and scylladb-rs-driver.

An application holds its embeddings as lists, as NumPy arrays or in an Arrow table. 100 requests are in flight; the
responder answers on another core. ``python -m benchmarks.bench_vectors`` prints the figures beside the targets.
"""

from __future__ import annotations

import struct

from benchmarks.clients.tasks import TASKS
from benchmarks.clients.vectors import DIMENSIONS, INSERT
from benchmarks.measure import FASTCQL, Driver, alternate
from benchmarks.peers import SCYLLA, SCYLLA_RS
from benchmarks.report import Line, compared_only, show, times_faster
from benchmarks.responder import Responder
from benchmarks.responder.recording import Answer

TITLE = f"INSERT of an int and a vector<float, {DIMENSIONS}>, CPU per row, the client on one core"
ROWS, PROCESSES = 10_000, 3
TIMES = 3.0  # as fast as the best of the peers
RESULT, PREPARED, VOID = 8, 4, 1
INT, CUSTOM = 9, 0
IDENTITY = b"bench.vectors..."
MARSHAL = "org.apache.cassandra.db.marshal"


def canned() -> dict[bytes, Answer]:
    """What the responder says to :data:`INSERT`: the metadata of its two markers, and an empty result."""

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode()

    kind = f"{MARSHAL}.VectorType({MARSHAL}.FloatType, {DIMENSIONS})"
    columns = text("id") + struct.pack(">H", INT) + text("embedding") + struct.pack(">H", CUSTOM) + text(kind)
    bound = struct.pack(">iiiH", 1, 2, 1, 0) + text("bench") + text("vectors") + columns
    none = struct.pack(">ii", 4, 0)  # no metadata
    prepared = struct.pack(">iH", PREPARED, len(IDENTITY)) + IDENTITY + bound + none
    return {
        b"P" + INSERT.encode(): Answer(RESULT, 0, prepared),
        b"X0" + IDENTITY: Answer(RESULT, 0, struct.pack(">i", VOID)),
    }


def lines() -> list[Line]:
    with Responder(more=canned()) as responder:
        words = f"127.0.0.1:{responder.port}", str(ROWS), str(TASKS)
        samples = alternate(
            {
                FASTCQL: Driver("vectors", words),
                SCYLLA.name: Driver("vectors", words, SCYLLA),
                SCYLLA_RS.name: Driver("scylla_rs_vectors", words[:2], SCYLLA_RS),
            },
            PROCESSES,
        )
    peers = {SCYLLA.name: samples[SCYLLA.name, "lists"], SCYLLA_RS.name: samples[SCYLLA_RS.name, "concurrent lists"]}
    wanted = {name: (took, TIMES) for name, took in peers.items()}
    return [
        times_faster("execute_concurrent_with_args, lists", samples[FASTCQL, "lists"], wanted),
        compared_only("the same, arrays of NumPy", samples[FASTCQL, "arrays"], peers),
        times_faster("Session.ingest, an Arrow table", samples[FASTCQL, "ingest"], wanted),
        responder.line(),
    ]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
