"""Many compiled requests under one native operation.

L5. A :class:`Volley` belongs to the thread that made it, which sends its requests, waits for whatever comes first and
makes the results; the I/O thread only delivers outcomes. A request of it is a *flight*: a tuple, not a ResponseFuture.
Nearly all flights end with plain rows or nothing. One that ends otherwise (an error, a timeout, an answer with warnings
…) becomes a ResponseFuture, which goes on as if it had been one from the beginning: retries, re-preparing and the next
page are that one's business.

``ended`` is the only thing that other threads touch: they append to it, and then end the wait by :meth:`Volley.nudge`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import DriverException, ProtocolError
from cassandra._core.routing import Place
from cassandra._core.transport import CLOSED, Failure, Frame, Operation

from . import aio
from .attempts import NOT_SENT, Attempt
from .future import ResponseFuture
from .result import ResultSet

if TYPE_CHECKING:
    from cassandra._net.connection import Connection
    from cassandra._net.pool import HostPool
    from cassandra._routing.host import Host

    from .compiled import CompiledExecute
    from .session import Session

NOTHING_ELSE = (1 << 32) - 1  # the attempt number of an outcome that only says that something has ended elsewhere
_NUDGE = Failure(CLOSED, "something else has ended", False, 0.0)

#: One request on its way: its index, session, how it is executed; frame, token and values; host, pool, connection and
#: stream; when it was started. All that is needed to go on with it by a ResponseFuture.
Flight = tuple[
    int, "Session", "CompiledExecute", bytes, "int | None", Any, "Host", "HostPool", "Connection", int, float
]
#: Index of a request, whether it succeeded, and its result or exception.
Ended = tuple[int, bool, Any]
#: ``launch(index, values)``
Launch = Callable[[int, Any], bool]


class Volley(Operation):
    """Sends compiled requests and collects what they come to. :attr:`ended` is what ended elsewhere."""

    def __init__(self, session: Session) -> None:
        self.ended: deque[Ended] = deque()
        self._session = session
        self._flights: dict[int, Flight] = {}
        self._unsent: set[Connection] = set()

    # ---- sending

    def launcher(self, compiled: CompiledExecute | None) -> Launch | None:
        """A function that queues requests of *compiled*, for the next few of them; :meth:`collect` sends what was
        queued. None if just now they need a ResponseFuture each."""
        session = self._session
        if (
            compiled is None or session._listeners or session.cluster.metrics is not None or session.is_shutdown
        ):  # fmt: skip
            return None
        route = compiled.route(session.cluster.metadata.state, session.keyspace)
        if route is None:
            return None
        encode, dialect = compiled.template.encode, compiled.dialect
        clock, timestamps = compiled.clock, compiled.timestamps
        if clock is not None and clock.ahead:
            compiled.timestamps._asked_natively()
        pools, timeout = session._pool_set.pools, compiled.profile.request_timeout
        flights, unsent, now = self._flights, self._unsent, monotonic()

        def launch(index: int, values: Any) -> bool:
            """False if nothing can take it. Raises what encoding the values raises."""
            frame, token = encode(values, clock or (None if timestamps is None else timestamps()))
            place = route(token)
            if place is None:
                return False
            host = place.host
            pool = pools.get(host)
            slot = index % NOTHING_ELSE
            if pool is None or slot in flights:
                return False
            try:
                connection = pool.pick(token, place.shard)
                if connection.dialect is not dialect:
                    return False
                stream = connection.submit(frame, self, slot, timeout, True)
            except NOT_SENT:
                return False
            unsent.add(connection)
            flights[slot] = (
                index, session, compiled, frame, token, values, host, pool, connection, stream, now
            )  # fmt: skip
            return True

        return launch

    def send(self) -> None:
        """Send what was queued."""
        for connection in self._unsent:
            connection.send_queued()
        self._unsent.clear()

    # ---- outcomes

    @property
    def in_flight(self) -> int:
        """How many requests are on their way as flights."""
        return len(self._flights)

    def collect(self, done: Callable[[int, bool, Any], None]) -> None:
        """Send what was queued, wait until something ended, and :meth:`harvest`. Ctrl-C interrupts the wait."""
        self.send()
        aio.send_waiting()
        if not self.ended:
            if self._session._on_io_thread():
                raise DriverException("requests cannot be waited for on the driver's I/O thread (in a callback)")
            self._wait(None)
        self.harvest(done)

    def harvest(self, done: Callable[[int, bool, Any], None]) -> None:
        """Call *done* for all that ended, with index, success and result or exception. Never waits."""
        ended = self.ended
        pop, made = self._flights.pop, ResultSet._of_flight
        for slot, outcome in self._take_all():
            if slot == NOTHING_ELSE:
                continue
            flight = pop(slot)
            if type(outcome) is Frame:
                compiled, connection = flight[2], flight[8]
                try:
                    plain = connection.results.plain(outcome, compiled.result_plan, compiled.profile.row_factory)
                except ProtocolError:
                    plain = None  # to be read again, and reported
                except Exception as error:  # a row factory, a malformed body: of this request only
                    done(flight[0], False, error)
                    continue
                if plain is not None:
                    done(flight[0], True, made(flight, plain[0], plain[1]))
                    continue
            self._go_on(flight, outcome)
        while ended:
            done(*ended.popleft())

    def nudge(self) -> None:
        """Any thread: end a :meth:`collect` that waits."""
        self._inject(NOTHING_ELSE, _NUDGE)

    def watch(self, future: ResponseFuture, index: int) -> None:
        """Append what *future* comes to."""
        future.add_callbacks(self._succeeded, self._failed, (future, index), None, (index,))

    def _succeeded(self, rows: Any, future: ResponseFuture, index: int) -> None:
        future.clear_callbacks()
        self.ended.append((index, True, ResultSet(future, rows)))
        self.nudge()

    def _failed(self, error: BaseException, index: int) -> None:
        self.ended.append((index, False, error))
        self.nudge()

    def _go_on(self, flight: Flight, outcome: Frame | Failure) -> None:
        index, _, compiled, _, _, _, host, pool, connection, stream, _ = flight
        future = future_of(flight)
        attempt = Attempt(host, pool, connection, 0, None, 0, compiled.result_plan)
        attempt.stream = stream
        self.watch(future, index)
        future._handle(attempt, outcome)

    # ---- the end

    def abandon(self) -> None:
        """Nobody waits any more: outcomes that are still to come are dropped."""
        self._flights.clear()
        self._finish()


def future_of(flight: Flight) -> ResponseFuture:
    """A ResponseFuture that sent its first attempt as *flight* did."""
    _, session, compiled, frame, token, values, host, _, _, _, started = flight
    future = compiled.future(session, frame, token, values, compiled.profile.request_timeout)
    future._start_time = started
    future.attempted_hosts.append(host)
    future._picked = Place(host)
    future.coordinator_host = host
    return future
