"""Observers of requests and attempts: request trackers, the log of slow requests, and latencies for policies.

L5. A session whose cluster has a ``request_tracker`` or a ``slow_request_threshold`` has a :class:`Tracking`, and each
of its requests is processed in Python, as with request init listeners; other sessions have no cost. Exceptions of a
tracker are logged and have no other effect.

Requests of a latency aware policy have its latency recorder (``latency_recorder``), which is called with the duration
of each attempt, from sending to the arrival of the response, independently of the time at which the response is
processed. Other requests have no cost.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._core.transport import PageObserver
from cassandra._routing.policies.router import PickingRouter

if TYPE_CHECKING:
    from cassandra._core.transport import Attempt
    from cassandra._routing.host import Host
    from cassandra._routing.policies import Router
    from cassandra._session.session import Session

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
    shard: int | None
    """The shard of its connection; None for hosts without shards."""
    started: float
    """``time.monotonic()`` at the time of sending."""


@public("cassandra.metrics")
class RequestTracker:
    """Observer of all requests of a cluster's sessions, for tracing and metrics; override the methods of interest, and
    pass an object to ``Cluster(request_tracker=...)``.

    The methods are called on the thread that does the step: the caller's, an event loop's, or the driver's I/O thread;
    they must not block. Each page of a result is a request of its own. Exceptions are logged and have no other effect.
    Executions by ``execute_concurrent`` are reported one by one; the driver's internal requests are not. Example::

        class Spans(RequestTracker):
            def on_attempt_end(self, request, attempt, error):
                print(attempt.host, attempt.shard, time.monotonic() - attempt.started, error)
    """

    def on_request(self, request: ResponseFuture) -> None:
        """Called when *request* begins (``request.query`` is its statement)."""

    def on_attempt(self, request: ResponseFuture, attempt: TrackedAttempt) -> None:
        """Called before *attempt* is sent."""

    def on_attempt_end(self, request: ResponseFuture, attempt: TrackedAttempt, error: BaseException | None) -> None:
        """Called when *attempt* has got a response, or has failed with *error*, which may be retried;
        ``concurrent.futures.CancelledError`` if its response is not needed any more."""

    def on_request_end(self, request: ResponseFuture, error: BaseException | None, elapsed: float) -> None:
        """Called when *request* has ended with a result, or with *error*, *elapsed* seconds after it began (until the
        arrival of the response, not until a caller takes the result)."""


class Tracking(PageObserver):
    """Calls *tracker* (may be None), and logs requests that take *threshold* seconds (None: logs none)."""

    def __init__(self, tracker: RequestTracker | None, threshold: float | None) -> None:
        self._tracker = tracker
        self._threshold = threshold

    def begin(self, request: ResponseFuture) -> None:
        request._execution.sending.tracked = {}
        request._tracking = self
        request._set_eager()  # the I/O thread processes its outcomes on arrival
        self._call_tracker("on_request", request)

    def sending(self, request: ResponseFuture, attempt: Attempt) -> None:
        tracked = TrackedAttempt(attempt.number, attempt.host, attempt.connection.shard, monotonic())
        request._execution.sending.tracked[attempt.number] = tracked
        self._call_tracker("on_attempt", request, tracked)

    def ended(self, request: ResponseFuture, attempt: Attempt, error: BaseException | None) -> None:
        tracked = request._execution.sending.tracked.pop(attempt.number, None)
        if tracked is not None:
            self._call_tracker("on_attempt_end", request, tracked, error)

    def page_ended(self, request: ResponseFuture, error: BaseException | None, elapsed: float) -> None:
        under_way = request._execution.sending.tracked
        while under_way:
            _, tracked = under_way.popitem()
            self._call_tracker("on_attempt_end", request, tracked, error or CancelledError())
        self._call_tracker("on_request_end", request, error, elapsed)
        if self._threshold is not None and elapsed >= self._threshold:
            slow_log.warning(
                "A request took %.3f s (limit %.3f s), %d attempts, last host %s, %s: %s",
                elapsed,
                self._threshold,
                len(request.attempted_hosts),
                request.coordinator_host,
                "succeeded" if error is None else f"failed with {error!r}",
                _text_of(request),
            )

    def _call_tracker(self, name: str, *args: Any) -> None:
        if self._tracker is not None:
            try:
                getattr(self._tracker, name)(*args)
            except Exception:
                log.exception("%s.%s raised", type(self._tracker).__name__, name)


def _text_of(request: ResponseFuture) -> str:
    """Return the text of the statement of *request*, without values."""
    query = request.query
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
