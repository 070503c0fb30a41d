"""Driver metrics (cassandra.metrics): requests, errors, retries, hosts, connections.

L5. Only a cluster with ``metrics_enabled=True`` has a :class:`Metrics`; without it the cost is one comparison per
request. Class and key names are those of the ``scales`` library that scylla-driver uses for its metrics; the small
stats here replace it.

Threads: counting never waits. A counter is native; values of a distribution are appended to a deque, and driver threads
process them: when there are enough, or when the distribution is read. The registry is a dict that changes by single
operations.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import ConnectionException
from cassandra._base.locks import CALLER, caller_lock, driver_lock, thread_kind
from cassandra._base.randomness import randrange
from cassandra._base.server_errors import ReadTimeoutErrorMessage, UnavailableErrorMessage, WriteTimeoutErrorMessage
from cassandra._base.threads import run, submit
from cassandra._core.routing import Count
from cassandra._core.transport import PageObserver
from cassandra._session.request.retry import IGNORE, RETHROW, Decision

if TYPE_CHECKING:
    from typing_extensions import Self

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
    __slots__ = ("_lock", "_step", "_steps")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._steps = Count()
        self._lock = caller_lock("a number of a program")  # of _step, which only programs change
        self._step = 0

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
        return int(self._steps.value) + self._step


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
    __slots__ = ("_count", "_lock", "_max", "_mean", "_min", "_new", "_sample", "_squares", "name")

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

    def addValue(self, value: float) -> None:
        """Add *value* (seconds, for a timer) to the distribution. Never waits."""
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


def _figure(name: str, doc: str) -> property:
    """Return a read-only attribute of :class:`Metrics` that shows the figure *name*."""
    return property(lambda self: getattr(self.stats, name), doc=doc)


class Metrics(PageObserver):
    """Metrics of one cluster: ``cluster.metrics`` if it was created with ``metrics_enabled=True``."""

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

    def page_ended(self, request: Any, error: BaseException | None, elapsed: float) -> None:
        self.request_timer.addValue(elapsed)

    def __init__(self, cluster_proxy: Any) -> None:
        self._counters = {name: IntStat(name) for name in _COUNTED}
        self.stats_name = f"cassandra-{next(_names)}"  #: Name of the statistics of this cluster.
        self.stats = collection(
            self.stats_name,
            PmfStat("request_timer"),
            *self._counters.values(),
            Stat("known_hosts", lambda: len(cluster_proxy.metadata.all_hosts())),
            Stat("connected_to", lambda: len({pool.host for pool in _pools(cluster_proxy)})),
            Stat("open_connections", lambda: sum(pool.open_count for pool in _pools(cluster_proxy))),
        )  #: The values, by name.

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

    def on_error(self, error: BaseException, decision: Decision | None) -> None:
        """Count a failed attempt, and the decision of the retry policy (None: it was not called)."""
        for kind, counted in _COUNTED_AS:
            if isinstance(error, kind):
                counted(self)
                break
        else:
            self.on_other_error()
        if decision is not None and decision.action == IGNORE:
            self.on_ignore()
        elif decision is not None and decision.action != RETHROW:
            self.on_retry()

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


_COUNTED = (
    "connection_errors",
    "write_timeouts",
    "read_timeouts",
    "unavailables",
    "other_errors",
    "retries",
    "ignores",
    "client_timeouts",
    "speculative_executions",
)

_COUNTED_AS: tuple[tuple[type[BaseException], Callable[[Metrics], None]], ...] = (
    (ConnectionException, Metrics.on_connection_error),
    (WriteTimeoutErrorMessage, Metrics.on_write_timeout),
    (ReadTimeoutErrorMessage, Metrics.on_read_timeout),
    (UnavailableErrorMessage, Metrics.on_unavailable),
)


def _pools(cluster: Any) -> list[Any]:
    """Return every pool of *cluster* with an open connection."""
    return [pool for session in list(cluster.sessions) for pool in session.get_pools() if pool.open_count]
