"""The tablet map by the API that fastcql and scylla-driver share, and what else the same job needs in each.

45 hosts, 3 replicas per tablet, tokens at random. Loops over many tokens are timed as a whole; ``empty loop`` is what
the looping costs. Arguments: ``memory`` and a count, or the path of the module ``floor`` (native/floor.cpp) to compare
with.
"""

from __future__ import annotations

import contextlib
import random
import struct
import time
import tracemalloc
from collections.abc import Iterator
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from itertools import pairwise
from typing import Any
from uuid import UUID

from benchmarks.clients.harness import Client, Work, run
from cassandra.metadata import Murmur3Token
from cassandra.tablets import Tablet, Tablets

SIZES = (10, 100, 1_000, 10_000, 100_000)
ADDED, DROPPED = (1_000, 10_000, 100_000), (100, 1_000, 10_000)
LOOPS = 2_000
LIVE = 10_000
MIN, MAX = -(1 << 63), (1 << 63) - 1
KEY = ("keyspace", "table")
TYPE = "TupleType(LongType, LongType, ListType(TupleType(UUIDType, Int32Type)))"

chance = random.Random(1)
HOSTS = [UUID(int=chance.getrandbits(128)) for _ in range(45)]
OURS = hasattr(Tablets, "learn")


def bounds(size: int) -> list[int]:
    step = (1 << 64) // size
    return [MIN + step * number for number in range(size)] + [MAX]


def replicas() -> list[tuple[UUID, int]]:
    return [(host, chance.randrange(16)) for host in chance.sample(HOSTS, 3)]


def rows(size: int) -> list[Any]:
    return [Tablet.from_row(first, last, replicas()) for first, last in pairwise(bounds(size))]


def halves(size: int) -> list[Any]:
    """Tablets with gaps as wide as they are."""
    return [Tablet.from_row(first, (first + last) // 2, replicas()) for first, last in pairwise(bounds(size))]


def payload(first: int, last: int) -> bytes:
    listed = struct.pack(">i", 3)
    for host, shard in replicas():
        listed += struct.pack(">ii16sii", 28, 16, host.bytes, 4, shard)
    return struct.pack(">iqiqi", 8, first, 8, last, len(listed)) + listed


def floor_of(path: str) -> Any:
    """``Floor`` of the extension module at *path*."""
    loader = ExtensionFileLoader("floor", path)
    spec = spec_from_loader("floor", loader)
    assert spec is not None
    module: Any = module_from_spec(spec)
    loader.exec_module(module)
    return module.Floor


def looking_up(floor: Any) -> dict[str, Work]:
    works = {"empty loop": Work("for t in tokens: pass", {"tokens": range(LOOPS)})}
    loop = "for t in tokens: get('keyspace', 'table', t)"
    for size in SIZES:
        whole, gaps = Tablets({KEY: rows(size)}), Tablets({KEY: halves(size)})
        edges = bounds(size)
        half = (edges[1] - edges[0]) // 2
        tokens = [Murmur3Token(chance.randrange(MIN + 1, MAX)) for _ in range(LOOPS)]
        missed = [Murmur3Token(chance.choice(edges[:-1]) + half + chance.randrange(2, half)) for _ in range(LOOPS)]
        assert all(whole.get_tablet_for_key(*KEY, token) for token in tokens)
        assert not any(gaps.get_tablet_for_key(*KEY, token) for token in missed)
        works[f"hit {size}"] = Work(loop, {"tokens": tokens, "get": whole.get_tablet_for_key})
        works[f"miss {size}"] = Work(loop, {"tokens": missed, "get": gaps.get_tablet_for_key})
        if floor is not None:
            for name, tablets, asked in ((f"hit {size}", rows(size), tokens), (f"miss {size}", halves(size), missed)):
                ranges = [tablet.first_token for tablet in tablets], [tablet.last_token for tablet in tablets]
                works[f"floor of {name}"] = Work(loop, {"tokens": asked, "get": floor(*ranges, tuple(tablets)).get})
        if size == 1_000:
            unknown = loop.replace("'table'", "'unknown'")
            works["unknown table"] = Work(unknown, {"tokens": tokens, "get": whole.get_tablet_for_key})
    return works


def changing() -> dict[str, Work]:
    works = {}
    for size in ADDED:
        known = rows(size)
        names = {"tablets": chance.choices(known, k=LOOPS), "add": Tablets({KEY: known}).add_tablet}
        works[f"add {size}"] = Work("for tablet in tablets: add('keyspace', 'table', tablet)", names)
    added: Any = Tablets({})
    for tablet in rows(ADDED[0]):
        added.add_tablet(*KEY, tablet)
    tokens = [Murmur3Token(chance.randrange(MIN + 1, MAX)) for _ in range(LOOPS)]
    works["hit added"] = Work(
        "for t in tokens: get('keyspace', 'table', t)", {"tokens": tokens, "get": added.get_tablet_for_key}
    )
    works["from_row"] = Work("make(1, 2, replicas)", {"make": Tablet.from_row, "replicas": replicas()})
    told = [payload(*pair) for pair in pairwise(bounds(1_000))]
    tablets = Tablets({KEY: rows(1_000)})
    if OURS:
        learn: Any = tablets.learn  # type: ignore[attr-defined,unused-ignore]
        works["payload"] = Work("for data in told: learn('keyspace', 'table', data)", {"told": told, "learn": learn})
    else:
        from cassandra.cqltypes import lookup_casstype

        statement = "for data in told: add('keyspace', 'table', make(*decode(data, 4)))"
        names = {"told": told, "make": Tablet.from_row, "add": tablets.add_tablet}
        works["payload"] = Work(statement, {**names, "decode": lookup_casstype(TYPE).from_binary})
    return works


def asking() -> dict[str, Work]:
    """What policies and pools ask a tablet: its hosts, the shard of the last one."""
    tablet: Any = Tablets({KEY: rows(10)}).get_tablet_for_key(*KEY, Murmur3Token(5))
    assert tablet is not None
    names = {"tablet": tablet, "host": UUID(bytes=tablet.replicas[2][0].bytes)}
    if OURS:
        hosts, shard = "tablet._replica_dict", "tablet.get_replica_shard_id(host)"
    else:
        hosts = "set(map(lambda replica: replica[0], tablet.replicas))"
        shard = "[s for h, s in tablet.replicas if h == host][0]"
    works = {"hosts": hosts, "shard": shard, "contains": "tablet.replica_contains_host_id(host)"}
    return {name: Work(statement, names) for name, statement in works.items()}


def dropping() -> dict[str, float]:
    found = {}
    for size in DROPPED:
        known, times = rows(size), []
        for host in HOSTS[:9]:
            tablets = Tablets({KEY: list(known)})
            start = time.thread_time()
            tablets.drop_tablets_by_host_id(host)
            times.append(time.thread_time() - start)
        found[f"drop {size}"] = min(times)
    return found


def memory(size: int) -> float:
    """Bytes per tablet that servers told of: of Python objects, and of native memory."""
    tablets: Any = Tablets({})
    source = ((first, last, replicas(), payload(first, last)) for first, last in pairwise(bounds(size)))
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for first, last, given, data in source:
        if OURS:
            tablets.learn(*KEY, data)
        else:  # every payload is decoded to host ids of its own
            tablets.add_tablet(*KEY, Tablet.from_row(first, last, [(UUID(int=host.int), s) for host, s in given]))
        del given, data
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return float(after - before + (tablets.nbytes if OURS else 0)) / size


def memory_added(size: int) -> float:
    """The same for tablets that a program adds."""
    tablets: Any = Tablets({})
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for first, last in pairwise(bounds(size)):
        tablets.add_tablet(*KEY, Tablet.from_row(first, last, replicas()))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return float(after - before + (tablets.nbytes if OURS else 0)) / size


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    if arguments[:1] == ["memory"]:
        size = int(arguments[1])
        yield Client({}, {"bytes": memory(size), "bytes added": memory_added(size)})
    else:
        floor = floor_of(arguments[0]) if arguments else None
        yield Client({**looking_up(floor), **changing(), **asking()}, dropping())


if __name__ == "__main__":
    run("benchmarks.clients.tablets", make)
