"""Cached statements: hit rates by way of eviction, the cost of a hit, and latencies beside a real server.

* *Hit rates*: keys drawn by Zipf's law (0.99) from a million, and the same with a scan of other keys in between:
  S3-FIFO, as the driver has it, beside an LRU and W-TinyLFU (a window of 1 %, a segmented main part, frequencies with
  aging), all written here and of the same number of entries; and the cache of the driver itself, with fewer keys.
* *A hit*: CPU of ``execute()`` of a cached statement, one row, with the rows made.
* *Latencies*: of reads by Zipf's law of a table of ``CACHE_KEYS`` rows (default: 20,000; a million take minutes to
  load) of a real Cassandra, with and without a cache that holds all, after each key was read once. ``python -m
  benchmarks cache`` starts a server, or uses that at ``CACHE_CONTACT=host:port``; ``CACHE_CONTACT=none`` omits these.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import secrets
import sys
import time
from bisect import bisect_left
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from itertools import accumulate

from benchmarks.demo import cassandra_server, existing
from benchmarks.report import Line, at_most, compared_only, show
from cassandra.cluster import Cluster, Session
from cassandra.testing import SimulatedCluster

TITLE = "Cached statements"
KEYS, ENTRIES, DRAWS, SKEW = 1_000_000, 10_000, 1_000_000, 0.99
SCANNED = 200_000  # keys of a scan, between draws
HITS, ROUNDS = 200_000, 7
HIT, SHARE = 300e-9, 0.2
TTL = 600.0


def zipf(keys: int, draws: int, seed: int = 1) -> Iterator[int]:
    """Yield keys from 0 by Zipf's law, in a random order of the keys."""
    chosen = random.Random(seed)
    sums = list(accumulate(1 / rank**SKEW for rank in range(1, keys + 1)))
    names = list(range(keys))
    chosen.shuffle(names)
    for _ in range(draws):
        yield names[bisect_left(sums, chosen.random() * sums[-1])]


def with_scan(draws: list[int]) -> list[int]:
    """A scan after every half of a million draws: its keys are read once each."""
    half = len(draws) // 2
    return [*draws[:half], *range(KEYS, KEYS + SCANNED), *draws[half:]]


# ---- ways of eviction


class Lru:
    """The least recently used entry leaves."""

    def __init__(self, entries: int) -> None:
        self.entries: OrderedDict[int, None] = OrderedDict()
        self.most = entries

    def read(self, key: int) -> bool:
        if key in self.entries:
            self.entries.move_to_end(key)
            return True
        self.entries[key] = None
        if len(self.entries) > self.most:
            self.entries.popitem(last=False)
        return False


class S3Fifo:
    """As cpp/cache/pages.h, with exact ghosts: as many as entries."""

    def __init__(self, entries: int) -> None:
        self.small: deque[int] = deque()
        self.main: deque[int] = deque()
        self.hits: dict[int, int] = {}
        self.ghosts: OrderedDict[int, None] = OrderedDict()
        self.most, self.most_small = entries, entries // 10

    def read(self, key: int) -> bool:
        if key in self.hits:
            self.hits[key] = min(3, self.hits[key] + 1)
            return True
        while len(self.hits) >= self.most:
            self.evict()
        if key in self.ghosts:
            del self.ghosts[key]
            self.main.append(key)
        else:
            self.small.append(key)
        self.hits[key] = 0
        return False

    def evict(self) -> None:
        if self.small and (len(self.small) > self.most_small or not self.main):
            key = self.small.popleft()
            if self.hits[key]:
                self.hits[key] = 0
                self.main.append(key)
                return
            self.ghosts[key] = None
            if len(self.ghosts) > self.most:
                self.ghosts.popitem(last=False)
        else:
            key = self.main.popleft()
            if self.hits[key]:
                self.hits[key] -= 1
                self.main.append(key)
                return
        del self.hits[key]


class TinyLfu:
    """A window of 1 %; what leaves it replaces the candidate of the main part if it was read more often."""

    def __init__(self, entries: int) -> None:
        self.window, self.trial, self.kept = (
            OrderedDict[int, None](),
            OrderedDict[int, None](),
            OrderedDict[int, None](),
        )
        self.most_window = max(1, entries // 100)
        self.most_main = entries - self.most_window
        self.most_kept = self.most_main * 8 // 10
        self.counts: Counter[int] = Counter()  # exact: a sketch is at best as good
        self.reads, self.sample = 0, 10 * entries

    def read(self, key: int) -> bool:
        self.count(key)
        if key in self.window:
            self.window.move_to_end(key)
            return True
        if key in self.kept:
            self.kept.move_to_end(key)
            return True
        if key in self.trial:
            del self.trial[key]
            self.kept[key] = None
            if len(self.kept) > self.most_kept:
                self.trial[self.kept.popitem(last=False)[0]] = None
            return True
        self.window[key] = None
        if len(self.window) > self.most_window:
            self.admit(self.window.popitem(last=False)[0])
        return False

    def admit(self, key: int) -> None:
        if len(self.trial) + len(self.kept) < self.most_main:
            self.trial[key] = None
            return
        victim = next(iter(self.trial or self.kept))
        if self.counts[key] > self.counts[victim]:
            del (self.trial if victim in self.trial else self.kept)[victim]
            self.trial[key] = None

    def count(self, key: int) -> None:
        self.counts[key] = min(15, self.counts[key] + 1)
        self.reads += 1
        if self.reads == self.sample:
            self.reads = 0
            self.counts = Counter({found: count // 2 for found, count in self.counts.items() if count > 1})


class OfDriver:
    """The cache of a cached statement, of a simulated cluster."""

    def __init__(self, session: Session, entries: int) -> None:
        select = session.prepare("SELECT v FROM t WHERE k = ?")
        sample = session.cached(select, ttl=TTL)
        for key in range(100):
            sample.execute((key,))
        size = sample.statistics().bytes // 100
        self.cached = session.cached(select, ttl=TTL, max_bytes=size * entries)

    def read(self, key: int) -> bool:
        before = self.cached.statistics().hits
        self.cached.execute((key,))
        return self.cached.statistics().hits > before


def rate(cache: Lru | S3Fifo | TinyLfu | OfDriver, keys: list[int]) -> float:
    """The part of the reads that are hits, of keys below ``KEYS``."""
    return sum([cache.read(key) for key in keys]) / sum(key < KEYS for key in keys)


def rates() -> list[Line]:
    draws = list(zipf(KEYS, DRAWS))
    found = []
    for name, keys in (("Zipf 0.99", draws), ("the same with a scan", with_scan(draws))):
        lru = rate(Lru(ENTRIES), keys)
        ways = {"S3-FIFO": rate(S3Fifo(ENTRIES), keys), "W-TinyLFU": rate(TinyLfu(ENTRIES), keys)}
        for way, hits in ways.items():
            measure = f"hit rate, {name}: {way}"
            found.append(Line(measure, f"{hits:.2%}", "≥ LRU", f"LRU {lru:.2%}", f"{hits / lru:.2f}x", hits >= lru))
    return found


# ---- the driver's


@contextlib.contextmanager
def simulated() -> Iterator[Session]:
    """A session of a simulated node."""
    with SimulatedCluster(1, 1) as nodes, Cluster(nodes.contact_points, port=nodes.port) as cluster:
        session = cluster.connect()
        session.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.set_keyspace("ks")
        session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
        session.execute("INSERT INTO t (k, v) VALUES (1, 'one')")
        yield session


def of_driver() -> list[Line]:
    """Hit rates of a smaller run, as each miss is a request, and the cost of a hit."""
    entries, keys = ENTRIES // 10, list(zipf(KEYS // 10, DRAWS // 40))
    with simulated() as session:
        hits, lru = rate(OfDriver(session, entries), keys), rate(Lru(entries), keys)
        measure = f"hit rate, Zipf 0.99, {entries} of {KEYS // 10} keys: the driver"
        found = [Line(measure, f"{hits:.2%}", "≥ LRU", f"LRU {lru:.2%}", f"{hits / lru:.2f}x", hits >= lru)]
        cached = session.cached(session.prepare("SELECT k, v FROM t WHERE k = ?"), ttl=TTL)
        statement, values = cached.statement, (1,)
        took = cpu(lambda: cached.execute(values))
        found.append(at_most("a hit: cached.execute(), one row", took, HIT))
        found.append(
            compared_only("a hit: session.execute(cached.statement)", cpu(lambda: session.execute(statement, values)))
        )
        return found


def cpu(call: Callable[[], object]) -> float:
    """The least CPU time of a call, in seconds, without that of the loop."""
    best = []
    gc.disable()
    try:
        for function in (call, lambda: None):
            times = []
            for _ in range(ROUNDS):
                begin = time.thread_time()
                for _ in range(HITS):
                    function()
                times.append((time.thread_time() - begin) / HITS)
            best.append(min(times))
    finally:
        gc.enable()
    return best[0] - best[1]


# ---- a real server


def latencies(host: str, port: int) -> list[Line]:
    """Of reads by Zipf's law, by one thread, with and without the cache."""
    count = int(os.environ.get("CACHE_KEYS", "20000"))
    keyspace = f"cache_{secrets.token_hex(4)}"
    with Cluster([host], port=port) as cluster, contextlib.ExitStack() as stack:
        session = cluster.connect()
        session.execute(
            f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        )
        stack.callback(session.execute, f"DROP KEYSPACE {keyspace}")
        session.execute(f"CREATE TABLE {keyspace}.t (k int PRIMARY KEY, v text)")
        session.ingest(f"{keyspace}.t", ({"k": key, "v": f"value {key}"} for key in range(count)))
        select = session.prepare(f"SELECT k, v FROM {keyspace}.t WHERE k = ?")
        cached = session.cached(select, ttl=TTL)
        keys = list(zipf(count, 2 * count))
        without = percentiles(lambda key: session.execute(select, (key,)).one(), keys[:count])
        for key in range(count):
            cached.execute((key,))
        before = cached.statistics()
        found = percentiles(lambda key: cached.execute((key,)).one(), keys)
        after = cached.statistics()
    hits = (after.hits - before.hits) / len(keys)
    lines = [Line(f"hit rate, {count} keys, warm", f"{hits:.2%}")]
    for name in ("p50", "p99", "p99.9"):
        ratio = found[name] / without[name]
        target = (f"≤ {SHARE}x", ratio <= SHARE) if name == "p99" else ("", None)
        line = compared_only(f"{name} of a read", found[name], {"without": without[name]})
        lines.append(line._replace(target=target[0], ratio=f"{ratio:.4f}x", reached=target[1]))
    return lines


def percentiles(read: Callable[[int], object], keys: list[int]) -> dict[str, float]:
    """Of the times of reads, in seconds."""
    times = []
    for key in keys:
        begin = time.perf_counter()
        read(key)
        times.append(time.perf_counter() - begin)
    times.sort()
    return {f"p{percent:g}": times[int(len(times) * percent / 100)] for percent in (50, 99, 99.9)}


def lines() -> list[Line]:
    contact = os.environ.get("CACHE_CONTACT", "")
    found = [*rates(), *of_driver()]
    if contact == "none":
        return found
    with existing(contact) if contact else cassandra_server() as server:
        return [*found, *latencies(*server)]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    sys.exit(main())
