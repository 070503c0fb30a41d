"""Observers of requests and attempts: request trackers, the log of slow requests, and latencies for policies.

L5. A session whose cluster has a ``request_tracker`` or a ``slow_request_threshold`` has a :class:`Tracking`. Native
code calls the tracker (``transport_parts/observers.pxi``): a request that it selects is *tracked*, and its outcomes are
processed when they arrive; of any other request only the time is compared with the threshold. Both kinds use the fast
path. Other sessions have no cost. Exceptions of a tracker are logged and have no other effect.

Requests of a latency aware policy have its latency recorder (``latency_recorder``), which is called with the duration
of each attempt, from sending to the arrival of the response, independently of the time at which the response is
processed. Other requests have no cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._core.transport import RequestObserver, Tracked
from cassandra._routing.policies.router import PickingRouter

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.policies import Router
    from cassandra._session.session import Session
    from cassandra._session.statements.prepared import PreparedStatement

    from .future import ResponseFuture

log = get_logger("cassandra.cluster")
slow_log = get_logger("cassandra.slow")

#: Latency recorder, ``latency_recorder(host, seconds, answered)``; *answered* is False for an error, and for no
#: response in time.
LatencyRecorder = Callable[[Any, float, bool], None]


@public("cassandra.metrics")
class TrackedAttempt(NamedTuple):
    """One send of a request to a node."""

    number: int
    """0 for the first attempt of a request."""
    host: Host
    """The host that it was sent to."""
    shard: int | None
    """The shard of its connection; None for hosts without shards."""
    started: float
    """``time.monotonic()`` at the time of sending."""
    speculative: bool = False
    """True if another attempt was in flight, which took long."""


@public("cassandra.metrics")
class RequestTracker:
    """Observer of all requests of a cluster's sessions, for tracing and metrics; override the methods of interest, and
    pass an object to ``Cluster(request_tracker=...)``.

    The methods are called on the thread that does the step: the caller's, an event loop's, or the driver's I/O thread;
    they must not block. Each page of a result is a request of its own. Exceptions are logged and have no other effect.
    Executions by ``execute_concurrent`` are reported one by one; the driver's internal requests are not. For scans and
    ingests *request* is a :class:`BulkRequest`: each attempt to read a page of a scan is a request; an ingest is one
    request, without attempts. Example::

        class Spans(RequestTracker):
            def on_attempt_end(self, request, attempt, error):
                took = time.monotonic() - attempt.started
                print(attempt.host, attempt.shard, took, error)
    """

    def selects(self) -> bool:
        """Return False to get nothing of the request that the calling thread is about to make, which then costs almost
        nothing. The default is True."""
        return True

    def on_request(self, request: ResponseFuture) -> RequestTracker | Literal[False] | None:
        """Called when *request* begins (``request.query`` is its statement). May return another RequestTracker, which
        gets the further calls for this request, so that it can keep data of it; or False to get no more of them."""
        return None

    def on_attempt(self, request: ResponseFuture, attempt: TrackedAttempt) -> None:
        """Called before *attempt* is sent."""

    def on_attempt_end(self, request: ResponseFuture, attempt: TrackedAttempt, error: BaseException | None) -> None:
        """Called when *attempt* has got a response, or has failed with *error*, which may be retried;
        ``concurrent.futures.CancelledError`` if its response is not needed any more."""

    def on_request_end(self, request: ResponseFuture, error: BaseException | None, elapsed: float) -> None:
        """Called when *request* has ended with a result, or with *error*, *elapsed* seconds after it began (until the
        arrival of the response, not until a caller takes the result)."""


@public("cassandra.metrics")
class BulkRequest:
    """Passed to a :class:`RequestTracker` in place of a ResponseFuture: a page request of a scan, or a whole ingest."""

    def __init__(
        self,
        session: Session,
        query: PreparedStatement,
        start_time: float,
        consistency_level: int | None,
        page_size: int | None = None,
    ) -> None:
        self.session = session  #: The session.
        self.query = query  #: The prepared statement that is executed.
        self.consistency_level = consistency_level  #: Consistency level; None is the profile's.
        self.page_size = page_size  #: Rows of a page, at most; None for an ingest.
        self.attempted_hosts: list[Host] = []  #: The host that a page was requested of; empty for an ingest.
        self.coordinator_host: Host | None = None  #: The host that has responded.
        self.rows = 0  #: Rows that an ingest has written, once it has ended.
        self._start_time = start_time
        self._tracked: Tracked | None = None


class Tracking(RequestObserver):
    """Calls *tracker* (may be None), and logs requests that take *threshold* seconds (None: logs none)."""

    def __init__(self, tracker: RequestTracker | None, threshold: float | None) -> None:
        limit = math.inf if threshold is None else threshold
        super().__init__(limit, _gate_of(tracker), tracker, RequestTracker, TrackedAttempt, CancelledError)

    def failed(self, tracker: Any, name: str) -> None:
        log.exception("%s.%s raised", type(tracker).__name__, name)

    def slow_ended(self, request: ResponseFuture, error: BaseException | None, elapsed: float) -> None:
        attempts = len(request.attempted_hosts)
        self.log_slow(_text_of(request.query), attempts, request.coordinator_host, error, elapsed)

    # ---- scans and ingests

    def begin_bulk(
        self, request: BulkRequest, host: Host | None = None, shard: int | None = None
    ) -> BulkRequest | None:
        """Report that *request* is about to be sent, to *host* if it is a page, and return it; None if the tracker does
        not get it."""
        request._tracked = self._begin_bulk(request)
        if request._tracked is None:
            return None
        if host is not None:
            request.attempted_hosts.append(host)
            self._send_bulk(request, request._tracked, host, shard)
        return request

    def end_bulk(
        self, request: BulkRequest, host: Host | None, rows: int, error: BaseException | None, elapsed: float
    ) -> None:
        """Report the end of *request*, that :meth:`begin_bulk` has returned; *host*: the coordinator of a page."""
        request.coordinator_host = host
        request.rows = rows
        assert request._tracked is not None
        self._end_bulk(request, request._tracked, error, elapsed)

    def log_slow(
        self, text: str, attempts: int, host: Host | None, error: BaseException | None, elapsed: float
    ) -> None:
        """Log a slow request."""
        slow_log.warning(
            "A request took %.3f s (limit %.3f s), %d attempts, last host %s, %s: %s",
            elapsed,
            self.threshold,
            attempts,
            host,
            "succeeded" if error is None else f"failed with {error!r}",
            text,
        )


def _gate_of(tracker: RequestTracker | None) -> Any:
    """Return the gate of *tracker*, see ``RequestObserver``."""
    if tracker is None:
        return None
    selects: Any = getattr(tracker, "selects", None)  # another class may have the methods, too
    return True if selects is None or getattr(selects, "__func__", None) is RequestTracker.selects else selects


def _text_of(query: Any) -> str:
    """Return the text of the statement *query*, without values."""
    prepared = getattr(query, "prepared_statement", query)
    return str(getattr(prepared, "query_string", None) or query)


# ---- latencies of attempts


def with_load(router: Router, session: Session) -> Router:
    """Return *router*, which is new, with the numbers of requests in flight if its policy is latency aware."""
    if isinstance(router, PickingRouter) and router.latency_aware is not None:

        def in_flight(host: Host) -> int:
            pool = session._pool_set.pools.get(host)  # the pool of this process: a forked child has its own
            return 0 if pool is None else pool.in_flight

        router.measure(in_flight)
    return router


def recorder_of(router: Router) -> LatencyRecorder | None:
    """Return the latency recorder for requests by *router*, or None."""
    if isinstance(router, PickingRouter) and router.latency_aware is not None:
        latency_recorder: LatencyRecorder = router.latency_aware._measured
        return latency_recorder
    return None
