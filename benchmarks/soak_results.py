"""A million results leave nothing behind: ``python -m benchmarks.soak_results [results]``, or ``make soak``.

Results of every kind come from the native responder (and from the decoder alone) in rounds. After each round everything
that can grow is counted: Python objects, the interpreter's memory blocks, native objects, and the resident memory of
the process. The first round warms caches and pools; all rounds after it together may leave no more than the noise of
caches. Prints a table; the exit code says whether all of it stayed flat.
"""

from __future__ import annotations

import collections
import gc
import itertools
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.clients.harness import INSERT, PAGES, SELECT
from benchmarks.clients.messages import Recordings
from benchmarks.clients.resident import resident
from benchmarks.measure import DATA
from benchmarks.responder import Responder
from cassandra import InvalidRequest
from cassandra._core import memory, transport
from cassandra._core.codec import TypeContext
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.protocol import ProtocolHandler
from cassandra.protocol_features import ProtocolFeatures
from cassandra.query import dict_factory, named_tuple_factory, tuple_factory

RESULTS, ROUNDS = 1_000_000, 10
LEFT = 250  # objects and memory blocks that all results together may leave: the noise of caches
RESIDENT = 2 << 20  # bytes that the process may grow by, all results together
AT_ONCE = 100

Shape = Callable[[], int]  # takes some results of one kind, and says how many


class Count(NamedTuple):
    """What there is after a round."""

    results: int
    objects: int
    blocks: int
    native: dict[str, int]
    resident: int


def count(results: int) -> Count:
    gc.collect()
    return Count(results, len(gc.get_objects()), sys.getallocatedblocks(), native_objects(), resident())


def native_objects() -> dict[str, int]:
    return {**transport.debug_counters(), **{f"memory.{name}": n for name, n in memory.debug_counters().items()}}


def by_type() -> collections.Counter[str]:
    return collections.Counter(type(one).__qualname__ for one in gc.get_objects())


def by_session(session: Session) -> Iterator[Shape]:
    """Results as applications get them."""
    select, insert = session.prepare(SELECT), session.prepare(INSERT)
    pages = [session.prepare(text) for text in PAGES.values()]

    def rows() -> int:
        for _ in range(500):
            assert session.execute(select, (1,)).one().id == 1
        return 500

    def void() -> int:
        for _ in range(200):
            assert session.execute(insert, (1, 1, "one", 1.0, 1)).one() is None
        return 200

    def futures() -> int:
        waiting = [session.execute_async(select, (1,)) for _ in range(AT_ONCE)]
        assert all(future.result().one().id == 1 for future in waiting)
        return AT_ONCE

    def callbacks() -> int:
        left, done = itertools.count(1), threading.Event()

        def called(rows: Any) -> None:
            if next(left) == AT_ONCE:
                done.set()

        for _ in range(AT_ONCE):
            session.execute_async(select, (1,)).add_callbacks(called, called)
        assert done.wait(60)
        return AT_ONCE

    def text() -> int:
        for _ in range(20):
            assert session.execute("SELECT * FROM system.local WHERE key='local'", execution_profile="dicts").one()
        return 20

    def whole_pages() -> int:
        for page in pages:
            assert sum(1 for _ in session.execute(page)) == 5000
        return len(pages)

    def parts_of_pages() -> int:
        for page in pages:
            session.execute(page, execution_profile="tuples")  # not one row is looked at
            assert len(list(itertools.islice(session.execute(page, execution_profile="tuples"), 10))) == 10
        return 2 * len(pages)

    def errors() -> int:
        for _ in range(20):
            try:
                session.execute("SELECT nothing")
            except InvalidRequest:
                continue
            raise AssertionError("the responder has recorded this")
        return 20

    yield from (rows, void, futures, callbacks, text, whole_pages, parts_of_pages, errors)


def by_handler() -> Iterator[Shape]:
    """Results as a custom protocol handler gets them: collections, with metadata and without."""
    data, features, context = Recordings(DATA), ProtocolFeatures(), TypeContext()
    plan = data.metadata("wide50")
    bodies = [(data.load(name), None) for name in ("map_text_int", "set_uuid", "wide5.one", "wide10.none")]
    bodies.append((data.load("wide50.none.skipped"), plan))

    def messages() -> int:
        for body, metadata in bodies * 4:
            message = ProtocolHandler.decode_message(4, features, context, 0, 0, 8, body, None, metadata)
            named_tuple_factory(message.column_names, message.parsed_rows)
        return len(bodies) * 4

    def headers() -> int:
        body, metadata = bodies[-1]
        for _ in range(500):
            ProtocolHandler.decode_message(4, features, context, 0, 0, 8, body, None, metadata)
        return 500

    yield from (messages, headers)


def soak(wanted: int) -> tuple[Count, Count, collections.Counter[str]]:
    """Counts after the first and after the last round, and the types of what is there then and was not before."""
    profiles = {
        EXEC_PROFILE_DEFAULT: ExecutionProfile(row_factory=named_tuple_factory),
        "dicts": ExecutionProfile(row_factory=dict_factory),
        "tuples": ExecutionProfile(row_factory=tuple_factory),
    }
    with (
        Responder() as responder,
        Cluster(["127.0.0.1"], port=responder.port, protocol_version=4, execution_profiles=profiles) as cluster,
    ):
        session = cluster.connect()
        shapes = [*by_session(session), *by_handler()]
        taken = 0
        for number in range(1, ROUNDS + 1):
            begun = time.perf_counter()
            while taken < wanted * number // ROUNDS:
                taken += sum(shape() for shape in shapes)
            last = count(taken)
            show(last, time.perf_counter() - begun)
            if number == 1:
                types = by_type()
                first = count(taken)  # again: what has been noted since is not a result's
        return first, last, by_type() - types


def show(found: Count, seconds: float) -> None:
    native = " ".join(f"{name} {number}" for name, number in found.native.items() if number)
    print(
        f"  {found.results:>9,} {found.objects:>9,} {found.blocks:>9,} {found.resident / 2**20:>8.1f} MiB"
        f" {seconds:>6.1f} s  {native}",
        flush=True,
    )


def verdicts(first: Count, last: Count) -> list[tuple[str, str, bool]]:
    """(what, how it grew, whether that is flat)."""
    objects, blocks = (last.objects - first.objects), (last.blocks - first.blocks)
    grown = last.resident - first.resident
    native = {name: last.native[name] - number for name, number in first.native.items() if last.native[name] != number}
    return [
        ("Python objects", f"{objects:+,}", objects <= LEFT),
        ("memory blocks", f"{blocks:+,}", blocks <= LEFT),
        ("native objects", str(native or "the same"), all(number <= 0 for number in native.values())),
        ("resident memory", f"{grown / 2**20:+.2f} MiB", grown <= RESIDENT),
    ]


def main(wanted: int = RESULTS) -> int:
    logging.disable(logging.WARNING)
    print(f"{wanted:,} results in {ROUNDS} rounds\n")
    print(f"  {'results':>9} {'objects':>9} {'blocks':>9} {'resident':>12} {'took':>8}  native objects")
    first, last, types = soak(wanted)
    print(f"\n  after the first {first.results:,}:")
    found = verdicts(first, last)
    for what, growth, flat in found:
        print(f"  {what:16} {growth:>14}   {'flat' if flat else 'GROWS'}")
    if not all(flat for _, _, flat in found):
        print("  most of them:", ", ".join(f"{name} {n:+}" for name, n in types.most_common(5)))
    return 0 if all(flat for _, _, flat in found) else 1


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
