"""Immutable copies of the metrics of a cluster (cassandra.metrics): histograms, counters, gauges.

L5. They are plain values: any thread may use them, they are pickled, and those of several clusters or processes are
added. ``Metrics.snapshot`` makes them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from cassandra._base.objects import public
from cassandra._core.transport import HostRecorder, bucket_bounds

#: Upper bounds of the buckets, in seconds.
BOUNDS: tuple[float, ...] = bucket_bounds()

GONE = "(gone)"  # label of the hosts that have left the cluster, a while ago

Counts = tuple[tuple[int, int], ...]  # (index of a bucket, count), ascending, without zeros


@public("cassandra.metrics")
class LatencyHistogram:
    """A distribution of times in seconds, in fixed buckets whose width is at most 1/64 of their lower bound (0.5 µs
    below 31 µs). Count, mean, *min* and *max* are exact; percentiles are as exact as the buckets. Times above 131 s are
    in the last bucket. Immutable; ``+`` merges two of them, and ``-`` takes an earlier one of the same source away.

    Example::

        latency = cluster.metrics.snapshot().total().latency
        print(latency.count, latency.mean, latency.percentile(99.9))
    """

    __slots__ = ("_counts", "_sum", "count", "max", "min")

    _counts: Counts
    _sum: int  # nanoseconds
    count: int  #: Number of times.
    min: float  #: The shortest time; 0 if there is none.
    max: float  #: The longest time; 0 if there is none.

    def __init__(self, counts: Counts = (), nanoseconds: int = 0, min: float = 0.0, max: float = math.inf) -> None:
        """Made by the driver, and by :meth:`of`. *counts*: index and count of each bucket that is not empty, ascending;
        *nanoseconds*: the sum of all times; *min* and *max*: what is known of the limits of the times."""
        assign = object.__setattr__
        assign(self, "_counts", counts)
        assign(self, "_sum", nanoseconds)
        assign(self, "count", sum(count for _, count in counts))
        if counts:
            first, last = counts[0][0], counts[-1][0]
            lowest = BOUNDS[first - 1] if first else 0.0
            highest = BOUNDS[last] if last + 1 < len(BOUNDS) else math.inf
            assign(self, "min", lowest if lowest > min else min)
            assign(self, "max", highest if highest < max else max)
        else:
            assign(self, "min", 0.0)
            assign(self, "max", 0.0)

    @classmethod
    def of(cls, times: Iterable[float]) -> LatencyHistogram:
        """Return the histogram of *times*, in seconds."""
        recorder = HostRecorder()
        for time in times:
            recorder.record(0, time)
        return histogram_of(recorder, 0)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot set {name}: histograms are immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return LatencyHistogram, (self._counts, self._sum, self.min, self.max)

    @property
    def sum(self) -> float:
        """The sum of all times, in seconds."""
        return self._sum / 1e9

    @property
    def mean(self) -> float:
        """The mean time in seconds; 0 if there is none."""
        return self._sum / 1e9 / self.count if self.count else 0.0

    @property
    def stddev(self) -> float:
        """The standard deviation in seconds, by the buckets."""
        if not self.count:
            return 0.0
        mean = self.mean
        total = sum(count * (self._middle(index) - mean) ** 2 for index, count in self._counts)
        return math.sqrt(total / self.count)

    def percentile(self, q: float) -> float:
        """Return the time in seconds that *q* percent (0 to 100) of the times do not exceed; 0 if there is none. It is
        at most one bucket away from the exact value. Raise ValueError for another *q*."""
        if not 0 <= q <= 100:
            raise ValueError(f"q must be between 0 and 100, not {q!r}")
        rank = max(1, math.ceil(q / 100 * self.count))
        below = 0
        for index, count in self._counts:
            if below + count >= rank:
                low, high = self._limits(index)
                return low + (high - low) * (rank - below) / count
            below += count
        return self.max

    def buckets(self) -> tuple[tuple[float, int], ...]:
        """Return (upper bound in seconds, count) of each bucket that is not empty, ascending. A time that equals the
        bound of a bucket is in it."""
        return tuple((BOUNDS[index], count) for index, count in self._counts)

    def count_to(self, seconds: float) -> int:
        """Return the number of times up to *seconds*; exact if that is a bound of a bucket."""
        last = bisect_right(BOUNDS, seconds * (1 + 1e-9)) - 1
        return sum(count for index, count in self._counts if index <= last)

    def _limits(self, index: int) -> tuple[float, float]:
        """Return the limits of the times in a bucket."""
        low = BOUNDS[index - 1] if index else 0.0
        high = BOUNDS[index] if index + 1 < len(BOUNDS) else self.max
        return max(low, self.min), min(high, self.max)

    def _middle(self, index: int) -> float:
        low, high = self._limits(index)
        return (low + high) / 2

    def __add__(self, other: LatencyHistogram) -> LatencyHistogram:
        if not isinstance(other, LatencyHistogram):
            return NotImplemented
        if not self.count or not other.count:
            return self if self.count else other
        counts = dict(self._counts)
        for index, count in other._counts:
            counts[index] = counts.get(index, 0) + count
        merged = tuple(sorted(counts.items()))
        return LatencyHistogram(merged, self._sum + other._sum, min(self.min, other.min), max(self.max, other.max))

    def __sub__(self, earlier: LatencyHistogram) -> LatencyHistogram:
        if not isinstance(earlier, LatencyHistogram):
            return NotImplemented
        before = dict(earlier._counts)
        left = [(index, count - before.get(index, 0)) for index, count in self._counts]
        positive = tuple((index, count) for index, count in left if count > 0)
        return LatencyHistogram(positive, max(0, self._sum - earlier._sum), self.min, self.max)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LatencyHistogram):
            return NotImplemented
        return (self._counts, self._sum, self.min, self.max) == (other._counts, other._sum, other.min, other.max)

    def __hash__(self) -> int:
        return hash((self._counts, self._sum))

    def __repr__(self) -> str:
        if not self.count:
            return "<LatencyHistogram: empty>"
        texts = [f"{name} {1000 * time:.3f} ms" for name, time in (
            ("mean", self.mean), ("p50", self.percentile(50)), ("p99", self.percentile(99)), ("max", self.max),
        )]  # fmt: skip
        return f"<LatencyHistogram: {self.count} times, {', '.join(texts)}>"


def histogram_of(recorder: HostRecorder, number: int, recent: bool = False) -> LatencyHistogram:
    """Return the times of the series *number* of *recorder*; those of the last minute if *recent*."""
    copy = recorder.latencies(number, recent)
    if copy is None or not copy[0]:
        return EMPTY
    counts, total, least, greatest = copy
    return LatencyHistogram(counts, total, least / 1e9, greatest / 1e9)


EMPTY = LatencyHistogram()


# ---- merging


def _frozen(counts: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType({name: count for name, count in sorted(counts.items()) if count})


def _no_counts() -> Mapping[str, int]:
    return MappingProxyType({})


def _combined(one: Any, other: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Return the combination of two values of a field: numbers, histograms, or counts by name."""
    if isinstance(one, Mapping):
        return _frozen({name: combine(one.get(name, 0), other.get(name, 0)) for name in {*one, *other}})
    return combine(one, other)


def _sum(one: Any, other: Any) -> Any:
    return one + other


def _difference(one: Any, other: Any) -> Any:
    return one - other if isinstance(one, LatencyHistogram) else max(0, one - other)


COUNTER = {"role": "counter"}
GAUGE = {"role": "gauge"}


def _label() -> Any:
    return field(metadata={"role": "label"})


def _counter(**options: Any) -> Any:
    return field(metadata=COUNTER, **options)


def _gauge(**options: Any) -> Any:
    return field(metadata=GAUGE, **options)


def _names(kind: Any, *roles: str) -> list[str]:
    return [one.name for one in fields(kind) if one.metadata.get("role") in roles]


class _Figures:
    """Base of groups of figures with labels."""

    __slots__ = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The values of the labels."""
        return tuple(getattr(self, name) for name in _names(self, "label"))

    def __reduce__(self) -> tuple[Any, ...]:
        found = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return _remade, (type(self), {k: dict(v) if isinstance(v, Mapping) else v for k, v in found.items()})

    def _with(self, other: Any, combine: Callable[[Any, Any], Any], *roles: str) -> Any:
        changes = {name: _combined(getattr(self, name), getattr(other, name), combine) for name in _names(self, *roles)}
        return replace(self, **changes)  # type: ignore[type-var]


def _remade(kind: Any, found: dict[str, Any]) -> Any:
    return kind(**{name: _frozen(value) if isinstance(value, dict) else value for name, value in found.items()})


def _joined(ones: Iterable[Any], others: Iterable[Any]) -> tuple[Any, ...]:
    """Return the sum of groups of figures, by their labels."""
    found: dict[tuple[str, ...], Any] = {}
    for one in (*ones, *others):
        known = found.get(one.labels)
        found[one.labels] = one if known is None else known._with(one, _sum, "counter", "gauge")
    return tuple(found[labels] for labels in sorted(found))


def _since(ones: Iterable[Any], earlier: Iterable[Any]) -> tuple[Any, ...]:
    """Return groups of figures less those of *earlier* with the same labels; gauges are kept."""
    before = {one.labels: one for one in earlier}
    return tuple(one._with(before[one.labels], _difference, "counter") if one.labels in before else one for one in ones)


# ---- public groups of figures


@public("cassandra.metrics")
@dataclass(frozen=True, slots=True)
class RequestMetrics(_Figures):
    """The requests with one kind of statement and one execution profile that one host has coordinated.

    Each page of a result is a request. The keys of *errors*, *retries* and *failures* are names of classes of errors,
    as ``"read_timeout"``; classes that have not occurred are missing. All figures only grow, except *recent*.
    """

    host: str = _label()  #: Address and port; ``""`` for requests that no host has responded to, ``"(gone)"`` for hosts
    #: that have left the cluster.
    datacenter: str = _label()  #: Datacenter of the host; ``""`` if it is not known.
    kind: str = _label()  #: ``"prepared"``, ``"simple"``, ``"batch"`` or ``"prepare"``.
    profile: str = _label()  #: Name of the execution profile: ``"default"``, or as it was added to the cluster.
    #: Times from the start of a request to its last response.
    latency: LatencyHistogram = field(default=EMPTY, metadata=COUNTER)
    #: The same, of about the last minute.
    recent: LatencyHistogram = field(default=EMPTY, metadata=GAUGE)
    attempts: int = _counter(default=0)  #: Requests sent, with retries and speculative ones.
    speculative_attempts: int = _counter(default=0)  #: Attempts made because a response took long.
    timeouts: int = _counter(default=0)  #: Requests that exceeded their client-side timeout.
    ignored_errors: int = _counter(default=0)  #: Errors that a retry policy ignored.
    unprepared: int = _counter(default=0)  #: Responses of hosts that did not have the prepared statement.
    errors: Mapping[str, int] = _counter(default_factory=_no_counts)  #: Failed attempts, by class of the error.
    retries: Mapping[str, int] = _counter(default_factory=_no_counts)  #: Errors after which a request was sent again.
    failures: Mapping[str, int] = _counter(default_factory=_no_counts)  #: Requests that failed, by class of the error.

    def __post_init__(self) -> None:
        for name in ("errors", "retries", "failures"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))

    @property
    def requests(self) -> int:
        """Number of requests that have ended."""
        return self.latency.count


@public("cassandra.metrics")
@dataclass(frozen=True, slots=True)
class HostMetrics(_Figures):
    """The connections to one host."""

    host: str = _label()  #: Address and port.
    datacenter: str = _label()  #: Datacenter of the host; ``""`` if it is not known.
    connections: int = _gauge(default=0)  #: Open connections of pools.
    in_flight: int = _gauge(default=0)  #: Requests that wait for their responses.
    orphaned_streams: int = _gauge(default=0)  #: Stream ids of requests that were given up, until their late responses.
    #: Connections whose requests in flight are limited by ``adaptive_concurrency``, as the node is overloaded.
    limited_connections: int = _gauge(default=0)
    bytes_sent: int = _counter(default=0)  #: Bytes written to sockets, also of control connections.
    bytes_received: int = _counter(default=0)  #: Bytes read from sockets.
    connections_opened: int = _counter(default=0)  #: Connections that were opened, also control connections.
    connection_errors: int = _counter(default=0)  #: Connections that were lost or could not be opened.


@public("cassandra.metrics")
@dataclass(frozen=True, slots=True)
class MetricsSnapshot(_Figures):
    """The metrics of a cluster at one time, see :meth:`Metrics.snapshot`.

    ``+`` adds those of several clusters or processes. ``later - earlier`` is the interval between two snapshots of one
    cluster: its counters and histograms are differences, its gauges those of *later*. Example::

        before = cluster.metrics.snapshot()
        ...
        for one in (cluster.metrics.snapshot() - before).requests:
            print(one.host, one.kind, one.requests, one.latency.percentile(99))
    """

    time: float  #: When it was made, in seconds since 1970.
    requests: tuple[RequestMetrics, ...] = ()  #: By host, kind of statement and execution profile.
    hosts: tuple[HostMetrics, ...] = ()  #: By host.
    sessions: int = _gauge(default=0)  #: Open sessions.
    known_hosts: int = _gauge(default=0)  #: Hosts of the cluster.
    connected_hosts: int = _gauge(default=0)  #: Hosts with an open connection.
    admission_queue: int = _gauge(default=0)  #: Requests that wait because all hosts are at their limits.
    prepared_statements: int = _gauge(default=0)  #: Prepared statements that the program references.
    tablet_misses: int = _counter(default=0)  #: Requests that were not sent to a replica of their tablet.
    ingest_rows: int = _counter(default=0)  #: Rows that ingests have written.
    scan_rows: int = _counter(default=0)  #: Rows that scans have read.
    cache_hits: int = _counter(default=0)  #: Executions of cached statements that have got a result of the cache.
    cache_misses: int = _counter(default=0)  #: Those that were sent, or got the result of an equal request in flight.
    cache_shared: int = _counter(default=0)  #: Misses that got the result of an equal request in flight.
    cache_evictions: int = _counter(default=0)  #: Cached results that were removed for others.
    cache_invalidations: int = _counter(default=0)  #: Cached results that a write or the program made invalid.
    cache_expirations: int = _counter(default=0)  #: Cached results that were found to be too old.
    cache_bytes: int = _gauge(default=0)  #: Memory of cached results and their keys.
    cache_entries: int = _gauge(default=0)  #: Cached results.

    def total(self, host: str | None = None, kind: str | None = None, profile: str | None = None) -> RequestMetrics:
        """Return the sum over all requests; with arguments only over those of a *host*, a *kind* of statement, a
        *profile*. The labels of the result are the arguments, or ``""``."""
        wanted = {"host": host, "kind": kind, "profile": profile}
        found = RequestMetrics(host or "", "", kind or "", profile or "")
        for one in self.requests:
            if all(value is None or getattr(one, name) == value for name, value in wanted.items()):
                found = found._with(one, _sum, "counter", "gauge")
        return found

    def __add__(self, other: MetricsSnapshot) -> MetricsSnapshot:
        if not isinstance(other, MetricsSnapshot):
            return NotImplemented
        added: MetricsSnapshot = self._with(other, _sum, "counter", "gauge")
        return replace(
            added,
            time=max(self.time, other.time),
            requests=_joined(self.requests, other.requests),
            hosts=_joined(self.hosts, other.hosts),
        )

    def __sub__(self, earlier: MetricsSnapshot) -> MetricsSnapshot:
        if not isinstance(earlier, MetricsSnapshot):
            return NotImplemented
        left: MetricsSnapshot = self._with(earlier, _difference, "counter")
        return replace(left, requests=_since(self.requests, earlier.requests), hosts=_since(self.hosts, earlier.hosts))
