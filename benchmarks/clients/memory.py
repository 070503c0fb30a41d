"""Blocks of 100 bytes in a MemoryPool, and, as the floor, in a dict of bytes objects: in, out, and gone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import Client, Work, run
from cassandra.memory import MemoryPool

LIVE = (1, 1_000, 50_000, 1_000_000)
LOOPS = 1_000
DATA = bytes(range(100))
CYCLE = "for i in loops: ref = commit(data); read(ref); release(ref)"
FLOOR = "for i in loops: ref = next(refs); kept[ref] = bytes(data); bytes(kept[ref]); del kept[ref]"


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    works: dict[str, Work] = {}
    loops = range(LOOPS)
    for live in LIVE:
        pool = MemoryPool(1 << 30)
        kept = [pool.commit(DATA) for _ in range(live)]
        names: dict[str, Any] = {
            "loops": loops,
            "data": DATA,
            "kept": kept,
            "commit": pool.commit,
            "read": pool.read,
            "release": pool.release,
        }
        works[f"cycle {live}"] = Work(CYCLE, names, per=LOOPS)
    works["dict of bytes"] = Work(
        FLOOR, {"loops": loops, "data": bytearray(DATA), "kept": {}, "refs": iter(range(1 << 62))}, per=LOOPS
    )
    pool = MemoryPool(1 << 30)
    ref = pool.commit(bytes(1 << 20))
    works["view"] = Work("read(ref, True)", {"read": pool.read, "ref": ref})
    grow = "buffer = reserve(2 << 20)\nfor size in sizes: buffer.resize(size)\nbuffer.abort()"
    works["grow"] = Work(grow, {"reserve": pool.reserve, "sizes": [n << 20 for n in range(4, 34, 2)]})
    yield Client(works)


if __name__ == "__main__":
    run("benchmarks.clients.memory", make)
