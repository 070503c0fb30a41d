"""Batch of compiled requests under one native operation.

L5. A :class:`Volley` belongs to the thread that made it, which sends its requests, waits for the first outcomes and
makes the results; the I/O thread only delivers outcomes. Its in-flight requests are :class:`Flight` objects instead of
ResponseFutures. Nearly all end with plain rows or nothing, which is processed natively. A request with another outcome
(an error, a timeout, a response with warnings …) becomes a ResponseFuture, which continues as if it had been one from
the beginning, with retries, re-preparing and the next page.

Other threads append to ``ended``, and then end the wait by :meth:`Volley.nudge`. If the peer of an in-flight request is
silent, the I/O thread gives the attempt up, and continues with another host as a ResponseFuture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._base.errors import DriverException
from cassandra._core.routing import Place
from cassandra._core.transport import CLOSED, NOTHING_ELSE, Attempt, Failure, Flights, has_default_ending

from ..background import aio
from ..request.compiled import compiled_for
from ..request.future import ResponseFuture
from ..request.result import ResultSet
from ..statements.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra._core.transport import Flight, Lane, Results

    from ..cluster.profiles import ResolvedProfile
    from ..request.compiled import CompiledExecute
    from ..session import Session

_NUDGE = Failure(CLOSED, "wake-up without an outcome", False, 0.0)

#: ``start(index, statement, values, error)``
Start = Callable[[int, Any, Any, "Exception | None"], bool]


class ExecutionResult(NamedTuple):
    """Outcome of one statement: a :class:`ResultSet`, or the exception if *success* is False."""

    success: bool
    result_or_exc: Any


ExecutionResult.__module__ = "cassandra.concurrent"


class Volley(Flights):
    """Sends compiled requests and collects their outcomes. :attr:`ended`: outcomes of requests that became
    ResponseFutures or could not be made."""

    def __init__(self, session: Session, one_by_one: bool = False) -> None:
        self._replaced: tuple[ResolvedProfile, ResolvedProfile] | None = None
        self._one_by_one = one_by_one  # True to use a ResponseFuture for each request
        self._begin(session, session._pool_set, ResultSet, ExecutionResult)

    # ---- sending

    def profile(self, key: Any, own: dict[str, Any]) -> ResolvedProfile:
        """Return the current profile of *key*, with the caller's *own* options."""
        found: ResolvedProfile = self.session._resolve_profile(key)
        if not own:
            return found
        if self._replaced is None or self._replaced[0] is not found:  # the same object: statements are compiled for it
            self._replaced = (found, found.replace(**own))
        return self._replaced[1]

    def fill(
        self, pairs: Iterator[tuple[Any, Any]], count: int, index: int, profile: ResolvedProfile, start: Start
    ) -> tuple[int, bool]:
        """Queue requests of *pairs* (statement, values), numbered from *index*; at most *count*. *start* is called for
        requests that currently need a ResponseFuture each, and for those whose values cannot be encoded; it returns
        True to continue. Return the number of the next request, and True if *pairs* has ended. Exceptions of *pairs*
        are raised. :meth:`collect` or :meth:`send` sends the queued requests."""
        statement: Any = None
        lane: Lane | None = None
        end = index + count
        while index < end:
            launched, rest = self.launch_from(pairs, end - index, index, statement, lane)
            index += launched
            if not rest:
                return index, rest is not None
            given, values, error = rest
            if given is not statement:
                statement, lane = given, self._lane(given, profile)
                try:
                    if lane is not None and self.launch(lane, index, values):
                        index += 1
                        continue
                except Exception as raised:
                    error = raised
            index += 1
            if not start(index - 1, given, values, error):
                break
        return index, False

    def _lane(self, statement: Any, profile: ResolvedProfile) -> Lane | None:
        """Return the fast path of requests of *statement*; None if they currently need a ResponseFuture each."""
        if type(statement) is not PreparedStatement or self.session.cluster.metrics is not None:
            return None
        if self._one_by_one or has_default_ending():
            return None
        compiled = compiled_for(self.session, statement, profile)
        lane = None if compiled is None else compiled.lane(self.session)
        return lane if lane is not None and lane.direct and lane.meter is None else None

    def did_not_start(self, index: int, error: BaseException) -> None:
        """Record the *error* of request *index*, which could not be made."""
        self.ended.append((index, False, error))

    # ---- outcomes

    def collect(self, results: Results, failed: Callable[[int, BaseException], object] | None, most: int) -> None:
        """Send the queued requests, wait until one has ended, and :meth:`harvest` up to *most* outcomes; the rest is
        left for the next call, which does not wait then. Ctrl-C interrupts the wait."""
        self.send()
        aio.send_waiting()
        if not self._holds:
            self._ask()
        if not self.ended and not self._holds:
            if self.session._on_io_thread():
                raise DriverException("cannot wait for requests on the driver's I/O thread (in a callback)")
            self._wait(None)
        self.harvest(results, failed, most)

    def harvest(self, results: Results, failed: Callable[[int, BaseException], object] | None, most: int = 0) -> None:
        """Take outcomes: add the results of requests that succeeded to *results*, and call *failed* for the others,
        both by the requests' indexes; without *failed* errors are results as well. Never waits. If the handler of a
        signal interrupts it, outcomes not yet processed are left for the next call."""
        self._harvest(results, failed, self._go_on, most)
        self._harvest_ended(results, failed, ResultSet._of)

    def nudge(self) -> None:
        """End a :meth:`collect` that waits. Any thread."""
        self._inject(NOTHING_ELSE, _NUDGE)

    def watch(self, future: ResponseFuture, index: int) -> None:
        """Append the outcome of *future* to ``ended`` when it is there."""
        future.add_callbacks(self._succeeded, self._failed, (future, index), None, (index,))

    def _succeeded(self, rows: Any, future: ResponseFuture, index: int) -> None:
        future.clear_callbacks()
        ours = type(future) is ResponseFuture  # it may be a wrapper
        self.ended.append((index, True, ResultSet._of(future, future._outcome) if ours else ResultSet(future, rows)))
        self.nudge()

    def _failed(self, error: BaseException, index: int) -> None:
        self.ended.append((index, False, error))
        self.nudge()

    def _go_on(self, flight: Flight) -> tuple[ResponseFuture, Attempt]:
        """Return the future that takes over *flight*, and its attempt; *flight* is unchanged until then."""
        future = future_of(flight)
        plan = flight.compiled.result_plan
        attempt = Attempt(flight.host, flight.pool, flight.connection, 0, None, 0, plan)
        attempt.stream = flight.stream
        self.watch(future, flight.index)
        return future, attempt

    # ---- when a peer is silent

    def _on_silent(self, slot: int) -> None:
        """Send an in-flight request whose peer is silent to another host, if there is one and this is safe. Runs on the
        I/O thread. Once the stream is given up no response is delivered, so the thread that harvests does not access
        the request."""
        flight = self._flight(slot)
        if flight is None or not flight.compiled.prepared.is_idempotent:
            return
        if not any(host.is_up and not host.is_suspect for host in self.session._pool_set.pools):
            return
        future = future_of(flight)
        future._execution.sending.unsure = True  # it was sent
        if flight.connection.orphan(flight.stream, self, slot):  # else the response has arrived meanwhile
            self.watch(future, flight.index)
            self._forget(slot)
            try:
                future._execution.sending.send(future, 0)
            except Exception as error:  # of a user's policy
                future._fail(0, error)

    # ---- the end

    def abandon(self) -> None:
        """Drop the outcomes that are still to come."""
        self._forget()
        self._finish()


def future_of(flight: Flight) -> ResponseFuture:
    """Return a ResponseFuture in the state after *flight* as its first attempt."""
    compiled: CompiledExecute = flight.compiled
    timeout = compiled.profile.request_timeout
    future = compiled.future(flight.session, flight.frame, flight.token, flight.values, timeout)
    future._start_time = flight.started
    future.attempted_hosts.append(flight.host)
    future._picked = Place(flight.host)
    future.coordinator_host = flight.host
    return future


def error_of(future: Any) -> BaseException | None:
    """Return the error of a request that has failed already, or None."""
    outcome = getattr(future, "_outcome", None)  # a program may have replaced execute_async: any object is possible
    return outcome[1] if type(outcome) is tuple else None
