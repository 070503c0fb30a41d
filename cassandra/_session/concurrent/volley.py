"""Many compiled requests under one native operation.

L5. A :class:`Volley` belongs to the thread that made it, which sends its requests, waits for whatever comes first and
makes the results; the I/O thread only delivers outcomes. A request of it is a *flight*, not a ResponseFuture. Nearly
all flights end with plain rows or nothing, which is done natively. One that ends otherwise (an error, a timeout, an
answer with warnings …) becomes a ResponseFuture, which goes on as if it had been one from the beginning: retries,
re-preparing and the next page are that one's business.

Other threads append to ``ended``, and then end the wait by :meth:`Volley.nudge`. The I/O thread gives up a flight whose
peer is silent, and goes on with it as a ResponseFuture elsewhere.
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

_NUDGE = Failure(CLOSED, "something else has ended", False, 0.0)

#: ``start(index, statement, values, error)``
Start = Callable[[int, Any, Any, "Exception | None"], bool]


class ExecutionResult(NamedTuple):
    """One statement's outcome: a :class:`ResultSet`, or the exception when *success* is False."""

    success: bool
    result_or_exc: Any


ExecutionResult.__module__ = "cassandra.concurrent"


class Volley(Flights):
    """Sends compiled requests and collects what they come to. :attr:`ended` is what ended elsewhere."""

    def __init__(self, session: Session, one_by_one: bool = False) -> None:
        self._replaced: tuple[ResolvedProfile, ResolvedProfile] | None = None
        self._one_by_one = one_by_one  # by a ResponseFuture each
        self._begin(session, ResultSet, ExecutionResult)

    # ---- sending

    def profile(self, key: Any, own: dict[str, Any]) -> ResolvedProfile:
        """What requests under *key* are sent with just now, but for what the caller says himself."""
        found: ResolvedProfile = self.session._resolve_profile(key)
        if not own:
            return found
        if self._replaced is None or self._replaced[0] is not found:  # one object: statements are compiled for it
            self._replaced = (found, found.replace(**own))
        return self._replaced[1]

    def fill(
        self, pairs: Iterator[tuple[Any, Any]], count: int, index: int, profile: ResolvedProfile, start: Start
    ) -> tuple[int, bool]:
        """Queue requests of *pairs* (statement, values), numbered from *index*; at most *count*. Those that just now
        need a ResponseFuture each, and those whose values do not fit, are left to *start*, which says whether to go on.
        Returns the number of the next one, and whether *pairs* has ended. What it raises comes out of here.
        :meth:`collect` or :meth:`send` sends what was queued."""
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
        """How requests of *statement* go as flights; None if just now they cannot."""
        if type(statement) is not PreparedStatement or self.session.cluster.metrics is not None:
            return None
        if self._one_by_one or has_default_ending():
            return None
        compiled = compiled_for(self.session, statement, profile)
        lane = None if compiled is None else compiled.lane(self.session)
        return lane if lane is not None and lane.direct and lane.meter is None else None

    def did_not_start(self, index: int, error: BaseException) -> None:
        """Request *index* could not be made."""
        self.ended.append((index, False, error))

    # ---- outcomes

    def collect(self, results: Results, failed: Callable[[int, BaseException], object] | None, most: int) -> None:
        """Send what was queued, wait until something ended, and :meth:`harvest` *most* of it; the rest is for the next
        call, which does not wait then. Ctrl-C interrupts the wait."""
        self.send()
        aio.send_waiting()
        if not self._holds:
            self._ask()
        if not self.ended and not self._holds:
            if self.session._on_io_thread():
                raise DriverException("requests cannot be waited for on the driver's I/O thread (in a callback)")
            self._wait(None)
        self.harvest(results, failed, most)

    def harvest(self, results: Results, failed: Callable[[int, BaseException], object] | None, most: int = 0) -> None:
        """Take what ended: the results of those that succeeded, and *failed* called for the others, by the requests'
        indexes; without *failed* they are results as well. Never waits. What was not dealt with when the handler of a
        signal interrupts it is left for the next call."""
        self._harvest(results, failed, self._go_on, most)
        self._harvest_ended(results, failed, ResultSet._of)

    def nudge(self) -> None:
        """Any thread: end a :meth:`collect` that waits."""
        self._inject(NOTHING_ELSE, _NUDGE)

    def watch(self, future: ResponseFuture, index: int) -> None:
        """Append what *future* comes to."""
        future.add_callbacks(self._succeeded, self._failed, (future, index), None, (index,))

    def _succeeded(self, rows: Any, future: ResponseFuture, index: int) -> None:
        future.clear_callbacks()
        ours = type(future) is ResponseFuture  # somebody may have wrapped it
        self.ended.append((index, True, ResultSet._of(future, future._outcome) if ours else ResultSet(future, rows)))
        self.nudge()

    def _failed(self, error: BaseException, index: int) -> None:
        self.ended.append((index, False, error))
        self.nudge()

    def _go_on(self, flight: Flight) -> tuple[ResponseFuture, Attempt]:
        """What goes on with *flight* when it is handed over; nothing changes before."""
        future = future_of(flight)
        plan = flight.compiled.result_plan
        attempt = Attempt(flight.host, flight.pool, flight.connection, 0, None, 0, plan)
        attempt.stream = flight.stream
        self.watch(future, flight.index)
        return future, attempt

    # ---- when a peer is silent

    def _on_silent(self, slot: int) -> None:
        """On the I/O thread: the peer of a flight gives no sign of life. If it does no harm, and there is another host,
        the flight is given up, and goes on there. No answer comes once its stream is given up, so that the thread that
        harvests does not touch it."""
        flight = self._flight(slot)
        if flight is None or not flight.compiled.prepared.is_idempotent:
            return
        if not any(host.is_up and not host.is_suspect for host in self.session._pool_set.pools):
            return
        future = future_of(flight)
        future._execution.sending.unsure = True  # it was sent
        if flight.connection.orphan(flight.stream, self, slot):  # else it was answered meanwhile
            self.watch(future, flight.index)
            self._forget(slot)
            try:
                future._execution.sending.send(future, 0)
            except Exception as error:  # a policy of the user
                future._fail(0, error)

    # ---- the end

    def abandon(self) -> None:
        """Nobody waits any more: outcomes that are still to come are dropped."""
        self._forget()
        self._finish()


def future_of(flight: Flight) -> ResponseFuture:
    """A ResponseFuture that sent its first attempt as *flight* did."""
    compiled: CompiledExecute = flight.compiled
    timeout = compiled.profile.request_timeout
    future = compiled.future(flight.session, flight.frame, flight.token, flight.values, timeout)
    future._start_time = flight.started
    future.attempted_hosts.append(flight.host)
    future._picked = Place(flight.host)
    future.coordinator_host = flight.host
    return future


def error_of(future: Any) -> BaseException | None:
    """What a request has failed with already, if it has."""
    outcome = getattr(future, "_outcome", None)  # a program may have put something else in the place of ours
    return outcome[1] if type(outcome) is tuple else None
