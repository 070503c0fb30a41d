"""A scan of 512 ranges, each of one page that takes the server 5 ms: how near it comes to so many pages at a time, and
what a page costs the client.

The native responder on another core answers every page with the same few rows, 5 ms late: what is measured is how well
the client keeps pages in flight. Pages of no rows tell what a page costs beside its rows.
``python -m benchmarks.bench_scan`` prints the figures beside the targets and fails when one is missed.
"""

from __future__ import annotations

import struct

from benchmarks.measure import FASTCQL, Driver, Samples, alternate
from benchmarks.report import Line, at_most, compared_only, show
from benchmarks.responder import Responder
from benchmarks.responder.recording import PREFIX, Answer, answers

TITLE = "session.scan of 512 ranges, pages of 5 ms"
RANGES, DELAY, PROCESSES = 512, 0.005, 3
WIDTHS = (1, 8, 32)
LINEAR = 0.85  # of what so many at a time could be
PAGE = 50e-6  # seconds of CPU, where a prototype over execute_async took 94 µs
PLAIN = "SELECT id, name, score, ratio FROM bench.pages4"
TEXT = f"{PLAIN} WHERE token(id) > ? AND token(id) <= ?"
IDENTITY = b"a scan of tokens"
BIGINT, GLOBAL = 2, 1


def canned(rows: int) -> dict[bytes, Answer]:
    """What the responder says to the statement of a range: the recorded one, with two markers and *rows* rows."""
    known = answers()
    prepared = known[b"P" + PLAIN.encode()].body
    (size,) = struct.unpack_from(">h", prepared, 4)
    at = 6 + size
    columns = prepared[at + PREFIX.size :]
    marker = b"\0\x17partition key token(id)" + struct.pack(">H", BIGINT)
    bound = PREFIX.pack(GLOBAL, 2, 0) + b"\0\5bench\0\6pages4" + marker * 2
    made = prepared[:4] + struct.pack(">h", len(IDENTITY)) + IDENTITY + bound + columns
    recorded = known[b"X1" + prepared[6:at]].body
    cells = first_rows(recorded, rows, struct.unpack_from(">i", columns, 4)[0])
    result = recorded[:4] + columns + struct.pack(">i", rows) + cells
    return {b"P" + TEXT.encode(): Answer(8, 0, made), b"X0" + IDENTITY: Answer(8, 0, result)}


def first_rows(result: bytes, rows: int, columns: int) -> bytes:
    """The cells of the first rows of a ROWS result without metadata."""
    start = at = PREFIX.size + 4
    for _ in range(rows * columns):
        (size,) = struct.unpack_from(">i", result, at)
        at += 4 + max(0, size)
    return result[start:at]


def measured(rows: int, delay: float, widths: tuple[int, ...]) -> Samples:
    with Responder(more=canned(rows), delay=delay) as responder:
        words = str(responder.port), TEXT, str(RANGES), ",".join(map(str, widths))
        return alternate({FASTCQL: Driver("scan", words)}, PROCESSES)


def lines() -> list[Line]:
    late, quick = measured(100, DELAY, WIDTHS), measured(0, 0, (32,))
    alone = late[FASTCQL, "1 at a time"]
    found = []
    for width in WIDTHS[1:]:
        took = late[FASTCQL, f"{width} at a time"]
        best = {f"1 at a time, divided by {width}": alone / width}
        found.append(at_most(f"{RANGES} pages, {width} at a time", took, alone / width / LINEAR, best))
    found.append(at_most("CPU of a page beside its rows", quick[FASTCQL, "CPU"], PAGE))
    found.append(compared_only("CPU of a page of 100 rows", late[FASTCQL, "CPU"]))
    return found


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
