"""Driver metrics (cassandra.metrics): requests, errors, retries, hosts, connections.

L5. Only a cluster with ``metrics_enabled=True`` has a :class:`Metrics`; others have no cost. Native code counts
(``cpp/metrics``, ``transport_parts/metrics.pxi``): each host has a ``HostRecorder`` with a series of counters for each
pair of a kind of statement and an execution profile, for which a :class:`RequestSeries` exists. Connections refer to
the recorder of their host, and requests to their series. Gauges are read from the objects that have them.

:class:`Metrics` has two interfaces: :meth:`Metrics.snapshot`, and the stats of scylla-driver, whose class and key names
are those of the ``scales`` library; the small stats here replace it.

Threads: counting never waits. Counters are native; values that programs add to a distribution are appended to a deque,
and driver threads process them: when there are enough, or when the distribution is read. Snapshots are made by driver
threads. Dicts change by single operations. Recorders of hosts that have left the cluster are folded into ``_gone``
under a lock, so their number is bounded; a reader that was overtaken by that reads again (``_counted``).
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from itertools import count
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from cassandra._base import errors, server_errors
from cassandra._base.constants import Opcode
from cassandra._base.locks import CALLER, caller_lock, driver_lock, thread_kind
from cassandra._base.randomness import randrange
from cassandra._base.threads import run, submit
from cassandra._core.routing import Count
from cassandra._core.transport import (
    COUNTERS_PER_SERIES,
    SERIES_PER_HOST,
    HostRecorder,
    RequestRecorder,
    count_requests,
)
from cassandra._session.caching import CacheStatistics
from cassandra._session.request.retry import IGNORE, RETHROW, Decision

from .snapshots import (
    EMPTY,
    GONE,
    HostMetrics,
    LatencyHistogram,
    MetricsSnapshot,
    RequestMetrics,
    _frozen,
    histogram_of,
)

if TYPE_CHECKING:
    from typing_extensions import Self

    from cassandra._net.connection import Connection
    from cassandra._routing.host import Host

_registry: dict[str, StatsCollection] = {}
_names = count()

AT_ONCE = 64  # values that are processed at a time
RESERVOIR = 1024  # samples kept for the percentiles of a PmfStat


class _Number:
    """A stat that compares and computes like its value."""

    __slots__ = ("name",)
    __module__ = "cassandra.metrics"

    def __init__(self, name: str) -> None:
        self.name = name  #: Name of the value.

    @property
    def value(self) -> Any:
        """The current value."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self is other or bool(self.value == _number_of(other))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}={self.value})"

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)


def _number_of(number: Any) -> Any:
    return number.value if isinstance(number, _Number) else number


def _computing(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)
    return lambda stat, *others: function(stat.value, *map(_number_of, others))


def _reflected_operator(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)
    return lambda stat, other: function(other, stat.value)


for _name in ("lt", "le", "gt", "ge", "neg", "pos", "abs", "index"):
    setattr(_Number, f"__{_name}__", _computing(_name))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(_Number, f"__{_name}__", _computing(_name))
    setattr(_Number, f"__r{_name}__", _reflected_operator(_name))
for _kind in (int, float, bool, round):
    setattr(_Number, f"__{_kind.__name__}__", lambda stat, *digits, _kind=_kind: _kind(stat.value, *digits))


class IntStat(_Number):
    """A counter, also incremented by ``+=``."""

    __module__ = "cassandra.metrics"
    __slots__ = ("_lock", "_native", "_step", "_steps")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._steps = Count()
        self._lock = caller_lock("a number of a program")  # of _step, which only programs change
        self._step = 0
        self._native: Callable[[], int] | None = None  # counts of native code, which count as well

    def increment(self) -> None:
        """Add one."""
        self._steps.advance()

    def __iadd__(self, more: int) -> Self:
        if more == 1:
            self.increment()
        else:
            with self._lock:
                self._step += more
        return self

    @property
    def value(self) -> int:
        """The count so far."""
        return int(self._steps.value) + self._step + (0 if self._native is None else self._native())


class Stat(_Number):
    """A number that is computed when it is read."""

    __module__ = "cassandra.metrics"
    __slots__ = ("_func",)

    def __init__(self, name: str, func: Callable[[], Any]) -> None:
        super().__init__(name)
        self._func = func

    @property
    def value(self) -> Any:
        """The current result of the function."""
        return self._func()


class PmfStat:
    """A distribution: count, min, max, mean, deviation, and percentiles over a uniform sample of all values."""

    __module__ = "cassandra.metrics"
    __slots__ = ("_count", "_lock", "_max", "_mean", "_min", "_native", "_new", "_own", "_sample", "_squares", "name")

    def __init__(self, name: str) -> None:
        self.name = name  #: Name of the value.
        self._lock = driver_lock("of a distribution")
        self._new: deque[float] = deque()  # values that are not in the figures yet
        self._sample: list[float] = []
        self._count = 0
        self._min = math.inf
        self._max = -math.inf
        self._mean = 0.0
        self._squares = 0.0  # sum of squared distances from the mean (Welford)
        self._native: Callable[[], LatencyHistogram] | None = None  # for times that native code records: has them
        self._own: HostRecorder | None = None  # then: times that programs add

    def addValue(self, value: float) -> None:
        """Add *value* (seconds, for a timer) to the distribution. Never waits."""
        if self._own is not None:
            self._own.record(0, value)
            return
        self._new.append(value)
        if len(self._new) >= AT_ONCE:
            if thread_kind() == CALLER:
                submit(self._merge_some)
            else:
                self._merge_some()

    def _merge_some(self) -> None:
        """Process new values, unless another driver thread does. On a driver thread."""
        if self._lock.acquire(blocking=False):
            try:
                self._merge_new()
            finally:
                self._lock.release()

    def _merge_new(self) -> None:
        """Process new values. Locked."""
        while self._new:
            value = self._new.popleft()
            self._count += 1
            self._min = min(self._min, value)
            self._max = max(self._max, value)
            distance = value - self._mean
            self._mean += distance / self._count
            self._squares += distance * (value - self._mean)
            if len(self._sample) < RESERVOIR:
                self._sample.append(value)
            elif (place := randrange(self._count)) < RESERVOIR:
                self._sample[place] = value

    def _figures(self) -> tuple[int, list[float], float, float, float, float]:
        """Return the figures, with all values processed. On a driver thread."""
        with self._lock:
            self._merge_new()
            return self._count, sorted(self._sample), self._min, self._max, self._mean, self._squares

    @property
    def value(self) -> dict[str, float]:
        """The distribution as a dict with the keys of ``scales``."""
        if self._native is not None and self._own is not None:
            return _figures_of(self._native() + histogram_of(self._own, 0))
        counted, sample, low, high, mean, squares = run(self._figures)
        if not counted:
            low = high = 0.0

        def percentile(fraction: float) -> float:
            """Return the percentile, interpolated between its two neighbours."""
            place = (len(sample) - 1) * fraction
            below = int(place)
            if place <= below:
                return sample[below] if sample else 0.0
            return sample[below] * (below + 1 - place) + sample[below + 1] * (place - below)

        return {
            "count": counted,
            "min": low,
            "max": high,
            "mean": mean,
            "stddev": math.sqrt(squares / counted) if counted else 0.0,
            "median": percentile(0.5),
            "75percentile": percentile(0.75),
            "95percentile": percentile(0.95),
            "98percentile": percentile(0.98),
            "99percentile": percentile(0.99),
            "999percentile": percentile(0.999),
        }

    def __repr__(self) -> str:
        return f"PmfStat({self.name}, count={self.value['count']})"

    def __getitem__(self, key: str) -> float:
        return self.value[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def keys(self) -> list[str]:
        """Return the names of the figures."""
        return list(self.value)

    def values(self) -> list[float]:
        """Return the figures."""
        return list(self.value.values())

    def items(self) -> list[tuple[str, float]]:
        """Return names and figures."""
        return list(self.value.items())


def _figures_of(times: LatencyHistogram) -> dict[str, float]:
    """Return *times* with the keys of ``scales``."""
    return {
        "count": times.count,
        "min": times.min,
        "max": times.max,
        "mean": times.mean,
        "stddev": times.stddev,
        "median": times.percentile(50),
        "75percentile": times.percentile(75),
        "95percentile": times.percentile(95),
        "98percentile": times.percentile(98),
        "99percentile": times.percentile(99),
        "999percentile": times.percentile(99.9),
    }


class StatsCollection:
    """Named stats, which are its attributes. ``+=`` increments one; other assignments change nothing."""

    __module__ = "cassandra.metrics"
    __slots__ = ("__weakref__", "_name", "_stats")

    def __init__(self, name: str, *stats: IntStat | Stat | PmfStat) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_stats", {stat.name: stat for stat in stats})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._stats:
            raise AttributeError(name)
        return self._stats[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._stats:
            raise AttributeError(f"no stat {name!r} in {self._name}")

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *self._stats])

    def _values(self) -> dict[str, Any]:
        return {name: stat.value for name, stat in self._stats.items()}


def collection(name: str, *stats: IntStat | Stat | PmfStat) -> StatsCollection:
    """Make a collection and register it under *name*."""
    made = StatsCollection(name, *stats)
    init(made, name)
    return made


def init(obj: StatsCollection, path: str) -> None:
    """Register *obj* under *path*, where :func:`getStats` shows it."""
    _registry[path] = obj


def getStats() -> dict[str, dict[str, Any]]:
    """Return the values of all registered collections by name."""
    return {name: made._values() for name, made in dict(_registry).items()}


# ---- classes of errors, and the numbers of the counters of a series

_CLASSES: tuple[tuple[str, tuple[type[BaseException], ...]], ...] = (
    ("read_timeout", (server_errors.ReadTimeoutErrorMessage, errors.ReadTimeout)),
    ("write_timeout", (server_errors.WriteTimeoutErrorMessage, errors.WriteTimeout)),
    ("unavailable", (server_errors.UnavailableErrorMessage, errors.Unavailable)),
    ("read_failure", (server_errors.ReadFailureMessage, errors.ReadFailure)),
    ("write_failure", (server_errors.WriteFailureMessage, errors.WriteFailure)),
    ("cas_write_unknown", (server_errors.CASWriteUnknownMessage, errors.CASWriteUnknown)),
    ("cdc_write_failure", (server_errors.CDCWriteException, errors.CDCWriteFailure)),
    ("overloaded", (server_errors.OverloadedErrorMessage,)),
    ("bootstrapping", (server_errors.IsBootstrappingErrorMessage,)),
    ("truncate", (server_errors.TruncateError,)),
    ("rate_limit", (server_errors.RateLimitReachedException, errors.RateLimitReached)),
    ("function_failure", (server_errors.FunctionFailureMessage, errors.FunctionFailure)),
    ("unauthorized", (server_errors.UnauthorizedErrorMessage, errors.Unauthorized)),
    ("authentication", (server_errors.BadCredentials, errors.AuthenticationFailed)),
    ("unprepared", (server_errors.PreparedQueryNotFound,)),
    ("server", (server_errors.ServerError,)),
    ("protocol", (server_errors.ProtocolException, errors.ProtocolError, errors.DecodeError)),
    ("invalid", (server_errors.RequestValidationException, errors.RequestValidationException)),
    ("connection", (errors.ConnectionException,)),
    ("no_host", (errors.NoHostAvailable,)),
    ("busy", (errors.ConnectionBusy, errors.NoConnectionsAvailable)),
    ("client_timeout", (errors.OperationTimedOut,)),
    ("cancelled", (CancelledError,)),
)
_CLASS_OF: dict[type[BaseException], int] = {kind: at for at, (_, kinds) in enumerate(_CLASSES) for kind in kinds}

#: Names of the classes of errors, the keys of ``RequestMetrics.errors``.
ERRORS: tuple[str, ...] = (*(name for name, _ in _CLASSES), "other")

ATTEMPTS, SPECULATIVE, TIMEOUTS, IGNORED, UNPREPARED = range(5)
FAILED_ATTEMPTS = 8  # the first of as many counters as there are classes, as are the following
RETRIED = FAILED_ATTEMPTS + len(ERRORS)
FAILED = RETRIED + len(ERRORS)
assert FAILED + len(ERRORS) <= COUNTERS_PER_SERIES

# The last series of a host counts what is not in any other, by these counters.
REST = SERIES_PER_HOST - 1
OTHER = "other"  # name of the profile of a series for several profiles
CONNECTION_ERRORS, OPENED, TABLET_MISSES, INGEST_ROWS, SCAN_ROWS = range(5)

KINDS = {Opcode.EXECUTE: "prepared", Opcode.QUERY: "simple", Opcode.BATCH: "batch", Opcode.PREPARE: "prepare"}
FOLD_AFTER = 60.0  # seconds after which the counts of a host that has left are added to those of other such hosts
MANY_HOSTS = 64  # recorders of hosts that have left until they are folded without a snapshot


def class_of(error: BaseException) -> int:
    """Return the number of the class of *error*: its place in ``ERRORS``."""
    for kind in type(error).__mro__:
        found = _CLASS_OF.get(kind)
        if found is not None:
            return found
    return len(_CLASSES)


class RequestSeries(RequestRecorder):
    """Counts the requests with one kind of statement and one execution profile."""

    def __init__(self, metrics: Metrics, number: int, kind: str, profile: str) -> None:
        super().__init__(number)
        self._metrics = metrics
        self.kind = kind
        self.profile = profile

    def _recorder_of(self, host: Host | None) -> HostRecorder:
        return self._metrics.recorder_of(host)

    def _count(self, host: Host | None, counter: int) -> None:
        self._metrics.recorder_of(host).count(self.number, counter)

    def _page_failed(self, host: Host | None, error: BaseException) -> None:
        self._count(host, FAILED + class_of(error))

    def attempt_sent(self, host: Host) -> None:
        """Count an attempt at *host*."""
        self._count(host, ATTEMPTS)

    def attempt_failed(self, host: Host, error: BaseException, decision: Decision | None) -> None:
        """Count a failed attempt, and the decision of the retry policy (None: it was not called)."""
        at = class_of(error)
        self._count(host, FAILED_ATTEMPTS + at)
        if decision is not None and decision.action == IGNORE:
            self._count(host, IGNORED)
        elif decision is not None and decision.action != RETHROW:
            self._count(host, RETRIED + at)

    def speculative_attempt(self, host: Host | None) -> None:
        """Count an attempt made because *host* (None if not known) has not responded yet."""
        self._count(host, SPECULATIVE)

    def timed_out(self, host: Host | None) -> None:
        """Count a request that has exceeded its client-side timeout."""
        self._count(host, TIMEOUTS)

    def unprepared(self, host: Host) -> None:
        """Count a response of a host that does not have the prepared statement."""
        self._count(host, UNPREPARED)


class _Traffic:
    """The connections of one host that were opened: sums of closed ones, and those that may be open."""

    def __init__(self) -> None:
        self.sent = self.received = 0
        self.channels: list[Any] = []

    def add(self, channel: Any) -> None:
        self.read()
        self.channels.append(channel)

    def read(self) -> tuple[int, int]:
        """Return the bytes sent and received."""
        for channel in [one for one in self.channels if one.closed]:
            self.sent += channel.bytes_sent
            self.received += channel.bytes_received
            self.channels.remove(channel)
        return (
            self.sent + sum(one.bytes_sent for one in self.channels),
            self.received + sum(one.bytes_received for one in self.channels),
        )


class _Gone:
    """The counts of hosts that have left the cluster."""

    def __init__(self) -> None:
        self.latencies: dict[int, LatencyHistogram] = {}  # by number of a series
        self.counters: dict[tuple[int, int], int] = {}

    def with_counts_of(self, recorder: HostRecorder, numbers: Iterable[int]) -> _Gone:
        """Return the sum of these and those of *recorder*."""
        found = _Gone()
        found.latencies.update(self.latencies)
        found.counters.update(self.counters)
        for number in numbers:
            found.latencies[number] = found.latencies.get(number, EMPTY) + histogram_of(recorder, number)
            for counter in range(COUNTERS_PER_SERIES):
                if more := recorder.counted(number, counter):
                    found.counters[number, counter] = found.counters.get((number, counter), 0) + more
        return found

    def counted(self, number: int, counter: int) -> int:
        return self.counters.get((number, counter), 0)


def _figure(name: str, doc: str) -> property:
    """Return a read-only attribute of :class:`Metrics` that shows the figure *name*."""
    return property(lambda self: getattr(self.stats, name), doc=doc)


class Metrics:
    """Metrics of one cluster: ``cluster.metrics`` if it was created with ``metrics_enabled=True``.

    :meth:`snapshot` returns all of them. The attributes, :meth:`get_stats` and :func:`getStats` are those of
    scylla-driver: sums over all hosts and statements.
    """

    __module__ = "cassandra.metrics"

    request_timer = _figure("request_timer", "Distribution of request times in seconds.")
    connection_errors = _figure("connection_errors", "Requests that failed because of a connection.")
    write_timeouts = _figure("write_timeouts", "Error responses: write timeouts.")
    read_timeouts = _figure("read_timeouts", "Error responses: read timeouts.")
    unavailables = _figure("unavailables", "Error responses: too few live replicas.")
    other_errors = _figure("other_errors", "All other error responses.")
    retries = _figure("retries", "Requests sent again by decision of a retry policy.")
    ignores = _figure("ignores", "Errors ignored by decision of a retry policy.")
    client_timeouts = _figure("client_timeouts", "Requests that exceeded their client-side timeout.")
    speculative_executions = _figure("speculative_executions", "Extra attempts sent by a speculative policy.")
    known_hosts = _figure("known_hosts", "Hosts in the cluster.")
    connected_to = _figure("connected_to", "Hosts with at least one open connection.")
    open_connections = _figure("open_connections", "Open connections to all hosts.")

    def __init__(self, cluster_proxy: Any) -> None:
        count_requests()
        self._cluster = cluster_proxy
        self._lock = driver_lock("of the metrics")
        self._by_endpoint: dict[Any, HostRecorder] = {}  # None: of no host. Hosts that have left are not kept alive
        self._numbers = count()
        #: Those named "other" have the first numbers: they count for all profiles for which no number is left.
        self._series = {(kind, OTHER): RequestSeries(self, next(self._numbers), kind, OTHER) for kind in KINDS.values()}
        self._traffic: dict[Any, _Traffic] = {}  # by endpoint; locked
        self._gone = _Gone()
        self._gone_since: dict[Any, float] = {}  # by endpoint; locked
        self._folds = 0  # odd while a recorder is being folded
        self._counters = {name: IntStat(name) for name in _COUNTED}
        for name, stat in self._counters.items():
            stat._native = self._native_counter(name)
        timer = PmfStat("request_timer")
        timer._native, timer._own = self._latencies, HostRecorder()
        self.stats_name = f"cassandra-{next(_names)}"  #: Name of the statistics of this cluster.
        self.stats = collection(
            self.stats_name,
            timer,
            *self._counters.values(),
            Stat("known_hosts", lambda: len(cluster_proxy.metadata.all_hosts())),
            Stat("connected_to", lambda: len({pool.host for pool in _pools(cluster_proxy)})),
            Stat("open_connections", lambda: sum(pool.open_count for pool in _pools(cluster_proxy))),
        )  #: The values, by name.

    # ---- counting

    def of(self, kind: str, profile: str | None) -> RequestSeries:
        """Return the series of requests with one kind of statement and the execution profile named *profile*, which is
        None for a profile that was not added to the cluster."""
        key = kind, "unnamed" if profile is None else profile
        known = self._series.get(key)
        if known is not None:
            return known
        number = next(self._numbers)  # lost if another thread adds the same series
        if number >= REST:
            return self._series[kind, OTHER]
        return self._series.setdefault(key, RequestSeries(self, number, *key))

    def of_message(self, message: Any, profile: str | None) -> RequestSeries:
        """Return the series of requests that send *message*."""
        return self.of(KINDS.get(getattr(message, "opcode", 0), "simple"), profile)

    def recorder_of(self, host: Host | None) -> HostRecorder:
        """Return the recorder of *host*; None: of requests that no host has responded to."""
        return self._recorder_at(None if host is None else host.endpoint)

    def _recorder_at(self, endpoint: Any) -> HostRecorder:
        known = self._by_endpoint.get(endpoint)
        if known is None:
            if len(self._by_endpoint) > MANY_HOSTS + 2 * len(self._cluster.metadata.all_hosts()):
                submit(self._fold_gone, 0.0)
            known = self._by_endpoint.setdefault(endpoint, HostRecorder())
        return known

    def opened(self, connection: Connection) -> None:
        """Count the requests and bytes of *connection*, which was opened. On a driver thread."""
        endpoint = connection.endpoint
        recorder = connection.recorder = self._recorder_at(endpoint)
        recorder.count(REST, OPENED)
        with self._lock:
            self._traffic.setdefault(endpoint, _Traffic()).add(connection.channel)

    def connection_failed(self, host: Host) -> None:
        """Count a connection to *host* that was lost or could not be opened."""
        self.recorder_of(host).count(REST, CONNECTION_ERRORS)

    def tablet_missed(self) -> None:
        """Count a response with a tablet."""
        self.recorder_of(None).count(REST, TABLET_MISSES)

    def rows_ingested(self, rows: int, counted: int) -> int:
        """Count the rows that an ingest has written, which are *rows* now, *counted* of them before. Return *rows*."""
        self.recorder_of(None).count(REST, INGEST_ROWS, rows - counted)
        return rows

    def rows_scanned(self, rows: int) -> None:
        """Count rows that a scan has read."""
        self.recorder_of(None).count(REST, SCAN_ROWS, rows)

    # ---- reading

    def _counted(self, number: int, counter: int) -> int:
        """Return the sum of a counter over all hosts."""
        while True:
            folds = self._folds
            total: int = self._gone.counted(number, counter)
            total += sum(recorder.counted(number, counter) for recorder in list(self._by_endpoint.values()))
            if folds == self._folds and not folds % 2:
                return total

    def _native_counter(self, name: str) -> Callable[[], int]:
        """Return a function that returns the native part of a counter of scylla-driver's."""
        counters = _COUNTED[name]

        def total() -> int:
            found = sum(self._counted(one.number, counter) for one in self._numbered() for counter in counters)
            return found + (self._counted(REST, CONNECTION_ERRORS) if name == "connection_errors" else 0)

        return total

    def _numbered(self) -> list[RequestSeries]:
        return list(self._series.values())

    def _latencies(self) -> LatencyHistogram:
        return run(self._total_latencies)

    def _total_latencies(self) -> LatencyHistogram:
        """Return the times of all requests. On a driver thread."""
        self._count_unread()
        found = EMPTY
        with self._lock:
            for one in self._numbered():
                found += self._gone.latencies.get(one.number, EMPTY)
                for recorder in list(self._by_endpoint.values()):
                    found += histogram_of(recorder, one.number)
        return found

    def _count_unread(self) -> None:
        """Count the results that have arrived and that no thread has taken."""
        life = getattr(self._cluster, "life", None)
        if life is not None and life.reactor is not None:
            life.reactor.drop_released()

    def snapshot(self) -> MetricsSnapshot:
        """Return all metrics at this time, as immutable values. Any thread; a driver thread makes it.

        Requests are counted when their responses have been processed, which may be a moment after their results are
        there.
        """
        return run(self._snapshot)

    def _snapshot(self) -> MetricsSnapshot:
        """As :meth:`snapshot`, on a driver thread."""
        self._count_unread()
        self._fold_gone(FOLD_AFTER)
        cluster = self._cluster
        hosts = {host.endpoint: host for host in cluster.metadata.all_hosts()}
        sessions = list(cluster.sessions)
        pools = _pools(cluster)
        with self._lock:
            recorders = dict(self._by_endpoint)
            gone = self._gone
            traffic = {endpoint: one.read() for endpoint, one in self._traffic.items()}
        requests, rows = [], []
        for endpoint, recorder in recorders.items():
            labels = _labels(endpoint, hosts)
            requests += [one for series in self._numbered() if (one := _requests_of(series, recorder, labels))]
        requests += [one for series in self._numbered() if (one := _requests_gone(series, gone))]
        for endpoint in {*hosts, *traffic} - {None}:
            own = [pool for pool in pools if pool.host.endpoint == endpoint]
            recorder = recorders.get(endpoint) or _NO_REQUESTS
            sent, received = traffic.get(endpoint, (0, 0))
            rows.append(
                HostMetrics(
                    *_labels(endpoint, hosts),
                    connections=sum(pool.open_count for pool in own),
                    in_flight=sum(pool.in_flight for pool in own),
                    orphaned_streams=sum(pool.orphaned for pool in own),
                    limited_connections=sum(pool.limited for pool in own),
                    bytes_sent=sent,
                    bytes_received=received,
                    connections_opened=recorder.counted(REST, OPENED),
                    connection_errors=recorder.counted(REST, CONNECTION_ERRORS),
                )
            )
        return MetricsSnapshot(
            time(),
            tuple(sorted(requests, key=lambda one: one.labels)),
            tuple(sorted(rows, key=lambda one: one.labels)),
            sessions=len(sessions),
            known_hosts=len(hosts),
            connected_hosts=len({pool.host for pool in pools}),
            admission_queue=sum(len(session._pool_set.admission) for session in sessions),
            prepared_statements=len(cluster.prepared),
            tablet_misses=self._counted(REST, TABLET_MISSES),
            ingest_rows=self._counted(REST, INGEST_ROWS),
            scan_rows=self._counted(REST, SCAN_ROWS),
            **_cache_statistics(cluster),
        )

    def _fold_gone(self, after: float) -> None:
        """Add the counts of hosts that left the cluster *after* seconds ago to those of ``_gone``. On a driver
        thread."""
        known = {host.endpoint for host in self._cluster.metadata.all_hosts()} | {None}
        now = monotonic()
        with self._lock:
            left = [endpoint for endpoint in list(self._by_endpoint) if endpoint not in known]
            self._gone_since = {endpoint: self._gone_since.get(endpoint, now) for endpoint in left}
            for endpoint in left:
                traffic = self._traffic.get(endpoint)
                if traffic is not None:
                    traffic.read()
                if now - self._gone_since[endpoint] < after or (traffic is not None and traffic.channels):
                    continue
                self._folds += 1
                try:
                    recorder = self._by_endpoint.pop(endpoint)
                    numbers = [*(one.number for one in self._numbered()), REST]
                    self._gone = self._gone.with_counts_of(recorder, numbers)
                finally:
                    self._folds += 1
                self._traffic.pop(endpoint, None)
                self._gone_since.pop(endpoint, None)

    def leave_to_parent(self) -> None:
        """In a forked child: continue with the counts of the parent."""
        for recorder in list(self._by_endpoint.values()):
            recorder._in_child()
        self._traffic = {}

    # ---- scylla-driver's interface

    def on_connection_error(self) -> None:
        """Count a request that failed because of a connection."""
        self._counters["connection_errors"].increment()

    def on_write_timeout(self) -> None:
        """Count a write timeout."""
        self._counters["write_timeouts"].increment()

    def on_read_timeout(self) -> None:
        """Count a read timeout."""
        self._counters["read_timeouts"].increment()

    def on_unavailable(self) -> None:
        """Count an unavailable error."""
        self._counters["unavailables"].increment()

    def on_other_error(self) -> None:
        """Count any other error response."""
        self._counters["other_errors"].increment()

    def on_ignore(self) -> None:
        """Count an error that was ignored."""
        self._counters["ignores"].increment()

    def on_retry(self) -> None:
        """Count a retry."""
        self._counters["retries"].increment()

    def on_client_timeout(self) -> None:
        """Count a request that exceeded its client-side timeout."""
        self._counters["client_timeouts"].increment()

    def on_speculative_execution(self) -> None:
        """Count an extra attempt of a speculative policy."""
        self._counters["speculative_executions"].increment()

    def get_stats(self) -> dict[str, Any]:
        """Return all figures of this cluster by name."""
        return self.stats._values()

    def set_stats_name(self, stats_name: str) -> None:
        """Show the figures under *stats_name* in :func:`getStats`. Raise ValueError if another cluster has that
        name."""
        if stats_name == self.stats_name:
            return
        if _registry.setdefault(stats_name, self.stats) is not self.stats:
            raise ValueError(f'"{stats_name}" already exists in stats.')
        _registry.pop(self.stats_name, None)
        self.stats_name = stats_name

    def shutdown(self) -> None:
        """Remove the figures from the registry."""
        if _registry.get(self.stats_name) is self.stats:
            _registry.pop(self.stats_name, None)


def _errors(*excluded: str) -> tuple[int, ...]:
    return tuple(FAILED_ATTEMPTS + at for at, name in enumerate(ERRORS) if name not in excluded)


_OWN = ("connection", "write_timeout", "read_timeout", "unavailable")  # have counters of their own

#: scylla-driver's counters, each the sum of these of each series.
_COUNTED: dict[str, tuple[int, ...]] = {
    "connection_errors": (FAILED_ATTEMPTS + ERRORS.index("connection"),),
    "write_timeouts": (FAILED_ATTEMPTS + ERRORS.index("write_timeout"),),
    "read_timeouts": (FAILED_ATTEMPTS + ERRORS.index("read_timeout"),),
    "unavailables": (FAILED_ATTEMPTS + ERRORS.index("unavailable"),),
    "other_errors": _errors(*_OWN),
    "retries": tuple(RETRIED + at for at in range(len(ERRORS))),
    "ignores": (IGNORED,),
    "client_timeouts": (TIMEOUTS,),
    "speculative_executions": (SPECULATIVE,),
}
_NO_REQUESTS = HostRecorder()


def _cache_statistics(cluster: Any) -> dict[str, int]:
    """Return the sums over all cached statements, by the names of fields of a snapshot."""
    found = cluster._cache_totals.statistics()
    return {f"cache_{name}": value for name, value in zip(CacheStatistics._fields, found, strict=True)}


def _pools(cluster: Any) -> list[Any]:
    """Return every pool of *cluster* with an open connection."""
    return [pool for session in list(cluster.sessions) for pool in session.get_pools() if pool.open_count]


def _labels(endpoint: Any, hosts: dict[Any, Any]) -> tuple[str, str]:
    """Return the labels of a host: its address and datacenter."""
    host = hosts.get(endpoint)
    return "" if endpoint is None else str(endpoint), (host.datacenter or "") if host is not None else ""


def _requests_of(series: RequestSeries, recorder: HostRecorder, labels: tuple[str, str]) -> RequestMetrics | None:
    """Return what *recorder* has counted in *series*; None if that is nothing."""
    if recorder.latencies(series.number) is None:
        return None
    return _request_metrics(
        series,
        labels,
        histogram_of(recorder, series.number),
        histogram_of(recorder, series.number, recent=True),
        lambda counter: recorder.counted(series.number, counter),
    )


def _requests_gone(series: RequestSeries, gone: _Gone) -> RequestMetrics | None:
    if series.number not in gone.latencies:
        return None
    latency = gone.latencies[series.number]
    return _request_metrics(series, (GONE, ""), latency, EMPTY, lambda counter: gone.counted(series.number, counter))


def _request_metrics(
    series: RequestSeries,
    labels: tuple[str, str],
    latency: LatencyHistogram,
    recent: LatencyHistogram,
    counted: Callable[[int], int],
) -> RequestMetrics:
    return RequestMetrics(
        *labels,
        series.kind,
        series.profile,
        latency=latency,
        recent=recent,
        attempts=counted(ATTEMPTS),
        speculative_attempts=counted(SPECULATIVE),
        timeouts=counted(TIMEOUTS),
        ignored_errors=counted(IGNORED),
        unprepared=counted(UNPREPARED),
        errors=_frozen({name: counted(FAILED_ATTEMPTS + at) for at, name in enumerate(ERRORS)}),
        retries=_frozen({name: counted(RETRIED + at) for at, name in enumerate(ERRORS)}),
        failures=_frozen({name: counted(FAILED + at) for at, name in enumerate(ERRORS)}),
    )
