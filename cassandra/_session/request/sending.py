"""Sending: a request on its way along the query plan.

L5. How a request ends is in conclusion.py, what the answers mean in execution.py, what callers see in future.py. The
query plan of a request is advanced by one thread at a time: of one that may be sent speculatively, and of one with
pages, under a lock of its own, which also keeps the message and the result plan it was made for together.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import (
    ConnectionException,
    ErrorMessage,
    NoHostAvailable,
    OperationTimedOut,
    annotate,
)
from cassandra._core.codec import ResultPlan
from cassandra._core.transport import CLOSED as ENDED
from cassandra._core.transport import NOTHING_ELSE, Attempt, Failure
from cassandra._wire.messages.requests import ExecuteMessage

from ..background import aio
from .admission import wait_for_room
from .attempts import NOT_SENT, what_cannot_be_sent
from .fallback import sent_elsewhere
from .launching import Launching
from .tablet_routing import with_version_block
from .trace import QueryTrace

if TYPE_CHECKING:
    from cassandra._core.routing import Place
    from cassandra._net.connection import Connection
    from cassandra._routing.host import Host
    from cassandra._routing.policies import LoadBalancingPolicy, RetryPolicy, SpeculativeExecutionPlan

    from ..session import Session
    from ..statements.prepared import PreparedStatement
    from .tracking import TrackedAttempt

METADATA_IDS = 5  # first protocol version with result metadata ids
_LOOK = Failure(ENDED, "the host is silent", True, 0.0)
CLOSED = "The session is shut down; open a new one with Cluster.connect()."


#: CQL that changes the keyspace of the connection it is sent on, behind white space and comments.
#: A comment ends in one place only, or many of them would be tried in every combination.
USE = re.compile(r"(?:\s|--[^\n]*\n|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*USE\b", re.IGNORECASE)


class Sending(Launching):
    """Sends a request along its query plan."""

    is_schema_agreed: bool = True
    _encoded_size: int | None = None
    _tracked: dict[int, TrackedAttempt]  # attempts that were told of and have not ended

    # Class-level defaults of what most requests never set.
    _host: Host | None = None
    _speculative_plan: SpeculativeExecutionPlan | None = None
    _numbers: Iterator[int] | None = None
    _retries: int = 0
    _plan_lock: threading.Lock | None = None
    _reprepares: Counter[tuple[Host, bytes]] | None = None
    _rest: Iterator[Place] | None = None
    _traces: tuple[QueryTrace, ...] = ()
    _unsure: bool = False  # an attempt failed in a way that leaves open whether the server executed it

    def __init__(
        self,
        session: Session,
        message: Any,
        query: Any,
        timeout: float | None,
        metrics: Any = None,
        prepared_statement: PreparedStatement | None = None,
        retry_policy: RetryPolicy | None = None,
        row_factory: Callable[..., Any] | None = None,
        load_balancer: LoadBalancingPolicy | None = None,
        start_time: float | None = None,
        speculative_execution_plan: SpeculativeExecutionPlan | None = None,
        continuous_paging_state: Any = None,
        host: Host | None = None,
        bound_result_metadata: ResultPlan | None = None,
        routing_token: int | None = None,
    ) -> None:
        started = monotonic() if start_time is None else start_time
        self._begin(session, timeout, started, row_factory, bound_result_metadata, routing_token)
        self.message = message
        self.query = query
        self.prepared_statement = prepared_statement
        self._metrics = metrics
        self._retry_policy = retry_policy
        if session.client_protocol_handler is not session._default_protocol_handler:
            self._handler = session.client_protocol_handler
        self._router = session._router_of(load_balancer or session.cluster.load_balancing_policy)
        if self._router.future_class is not None:
            self.__class__ = self._router.future_class
        if speculative_execution_plan is not None:
            self._plan_lock = threading.Lock()
        self._speculative_plan = speculative_execution_plan
        self._host = host
        self._errors = {}

    # ---- sending

    def _next_number(self) -> int:
        """Of an attempt. Speculative ones may ask from two threads at a time."""
        numbers = self._numbers
        if numbers is None:
            with self._lock:
                numbers = self._numbers
                if numbers is None:
                    numbers = self._numbers = itertools.count(len(self.attempted_hosts))
        return next(numbers)

    def _next_place(self) -> Place | None:
        """Where to try next. Speculative attempts and retries may ask from two threads at a time."""
        if self._plan_lock is None:
            return self._advance_plan()
        with self._plan_lock:
            return self._advance_plan()

    def _advance_plan(self) -> Place | None:
        """The policy's pick first; the rest of the plan is made only when that one fails."""
        if self._rest is not None:
            return next(self._rest, None)
        state = self.session.cluster.metadata.state
        keyspace = self._routing_keyspace()
        if self._host is not None:
            self._rest = iter(())
            return self._router.at(state, keyspace, self._token, self.query, self._host)
        if self._picked is None:
            self._picked, self._rest = self._router.start(state, keyspace, self._token, self.query)
            return self._picked
        self._rest = self._router.fallback(state, keyspace, self._token, self.query, self._picked)
        return next(self._rest, None)

    def _routing_keyspace(self) -> str | None:
        query = self.query
        return (query.keyspace if query is not None else None) or self.session.keyspace

    @property
    def query_plan(self) -> Iterator[Host]:
        """The hosts that will be tried next, best first; consuming it takes them out of the plan."""
        while (place := self._next_place()) is not None:
            yield place.host

    def send_request(self, error_no_hosts: bool = True) -> bool:
        """Send to the next host of the plan that takes it. False when none does (then, with *error_no_hosts* and
        unless another attempt is still under way, the future has failed with :exc:`NoHostAvailable`)."""
        if not self.attempted_hosts and self._launch():
            return True
        return self._send_page(self._page, error_no_hosts)

    def _send_page(self, page: int, error_no_hosts: bool = True) -> bool:
        closed = self.session.is_shutdown
        while not closed and (place := self._next_place()) is not None:
            if self._is_over(page) or self._send_to(place, page):
                return True
        if error_no_hosts and not self._attempts:
            if not closed and (wait_for_room(self, page) or sent_elsewhere(self, page)):
                return True
            errors = self._errors or ({} if closed else self.session._pool_set.reasons())
            error = NoHostAvailable(CLOSED if closed else "Unable to complete the operation against any hosts", errors)
            annotate(
                error,
                attempts=len(self.attempted_hosts),
                elapsed=monotonic() - self._start_time,
                maybe_executed=self._unsure,
            )
            self._fail(page, error)
        return False

    def _send_to(self, place: Place, page: int) -> bool:
        """One attempt at *place*. False if nothing was sent."""
        host = place.host
        pool = self.session._pools.get(host)
        if pool is None:
            self._errors[host] = ConnectionException("Host has been marked down or removed", host.endpoint)
            return False
        try:
            connection = pool.pick(self._token, place.shard)
        except NOT_SENT as error:
            self._errors[host] = error
            return False
        return self._submit(Attempt(host, pool, connection, page))

    def _submit(self, attempt: Attempt) -> bool:
        """Send the request. False if nothing was sent."""
        remaining = self._remaining()
        if remaining is not None and remaining <= 0:
            self._time_out(attempt)
            return True
        number = attempt.number = self._next_number()
        if not self._register(number, attempt):
            return True
        self.attempted_hosts.append(attempt.host)
        try:
            frame = self._encode(attempt)
            if self._tracking is not None:
                self._tracking.sending(self, attempt)
            later = aio.may_wait(attempt.connection)
            attempt.stream = attempt.connection.submit(frame, self, number, remaining, later)
        except NOT_SENT as error:
            self._attempts.pop(number, None)
            self._errors[attempt.host] = error
            if self._tracking is not None:
                self._tracking.ended(self, attempt, error)
            return False
        except Exception as error:  # encoding failed: no host can help
            self._attempts.pop(number, None)
            self._fail(attempt.page, what_cannot_be_sent(self.message, error))
            return True
        if self._is_over(attempt.page):  # another attempt won while this one was being sent
            self._give_up(attempt)
        elif self._speculative_plan is not None:
            self._schedule_speculation(attempt)
        return True

    def _register(self, number: int, attempt: Attempt) -> bool:
        """Its answer may come from now on. False if nobody waits for its page any more."""
        if not self.attempted_hosts:  # the first one: nobody else knows this request yet
            if self._outcome is None:
                self._attempts[number] = attempt
            return self._outcome is None
        with self._lock:
            if self._is_over(attempt.page):
                return False
            self._attempts[number] = attempt
            return True

    def _encode(self, attempt: Attempt) -> bytes:
        connection = attempt.connection
        version = connection.protocol_version
        frame: bytes | None = self._frame
        if frame is not None and "message" not in self.__dict__:
            assert self._compiled is not None
            if connection.dialect is self._compiled.dialect:
                attempt.plan = self._result_plan
                return frame
        if self._plan_lock is None:
            message, attempt.plan = self.message, self._result_plan
        else:
            with self._plan_lock:
                message, attempt.plan = self.message, self._result_plan
        if attempt.plan is not None and version < METADATA_IDS and message.skip_meta:
            message = _described(message, connection)
        if connection.features.tablets_routing_v2 and isinstance(message, ExecuteMessage):
            message = with_version_block(self.session, message, self.query, self._token)
        if self._handler is None:
            frame = message.encode(version, features=connection.features)
        else:
            frame = self._handler.encode_message(message, 0, version, None, False, connection.features)
        assert frame is not None
        self._encoded_size = len(frame)
        return frame

    @property
    def request_encoded_size(self) -> int | None:
        """Bytes of the request as it was sent; None before."""
        if self._encoded_size is None and self._frame is not None and self.attempted_hosts:
            return len(self._frame)
        return self._encoded_size

    def _change_message(self, plan: ResultPlan | None, **changes: Any) -> None:
        """What is sent from now on. Attempts that are being encoded are sent as they were."""
        message = copy(self.message)
        for name, value in changes.items():
            setattr(message, name, value)
        if self._plan_lock is None:
            self.message, self._result_plan = message, plan
        else:
            with self._plan_lock:
                self.message, self._result_plan = message, plan

    def _remaining(self) -> float | None:
        try:
            return None if self.timeout is None else self.timeout - (monotonic() - self._start_time)
        except TypeError as error:
            raise TypeError(f"timeout must be a number of seconds or None, not {self.timeout!r}") from error

    def _schedule_speculation(self, attempt: Attempt) -> None:
        if self._speculative_plan is None or not self.query.is_idempotent:
            return
        delay = self._speculative_plan.next_execution(attempt.host)
        if delay >= 0:
            self._later(delay, attempt.page, self._speculate)

    def _speculate(self, page: int) -> None:
        if self._answered:  # and nobody has asked for it yet
            return
        if self._metrics is not None:
            self._metrics.on_speculative_execution()
        self._send_page(page, error_no_hosts=False)

    # ---- when a peer is silent

    def _on_silent(self, number: int) -> None:
        """On the I/O thread: the peer of an attempt gives no sign of life. If it does no harm the request is sent to
        another host too, by the thread that processes its outcomes."""
        attempt = self._attempts.get(number)
        if attempt is not None and attempt.reprepares is None and getattr(self.query, "is_idempotent", False):
            self._inject(NOTHING_ELSE, _LOOK)

    def _on_nudge(self) -> None:
        # First the lock, then the look: another thread that goes on with the plan, because an attempt has ended, takes
        # the attempt out before it does so, and then it finds the lock.
        if self._plan_lock is None:
            self._plan_lock = threading.Lock()
        attempts = list(self._attempts.values())
        if attempts and all(attempt.connection.is_silent for attempt in attempts):
            self._speculate(attempts[0].page)

    def _later(self, delay: float, page: int, step: Callable[[int], object]) -> None:
        """Run ``step(page)`` on the I/O thread after *delay* seconds, unless the page is over by then."""

        def run() -> None:
            if not self._is_over(page):
                try:
                    step(page)
                except Exception as error:  # a policy of the user: nobody else would hear of it
                    self._fail(page, error)

        timer = self.session._call_later(delay, self, run)
        with self._lock:
            over = self._is_over(page)
            if not over:
                self._timers = (*(self._timers or ()), timer)
        if over:
            timer.cancel()

    # ---- the next page

    def _fetch(self, paging_state: bytes | None) -> int:
        """Ask for the page at *paging_state*; its number. Errors of sending are the page's."""
        page = self._begin_page(paging_state)
        if self._tracking is not None:
            self._tracking.begin(self)
        if self.session._draining:
            self._fail(page, NoHostAvailable(CLOSED, {}))
            return page
        try:
            self._send_page(page)
        except BaseException as error:  # whoever waits for the page must hear of it too
            self._fail(page, error)
            if not isinstance(error, Exception):
                raise
        return page

    def _reset(self, paging_state: bytes | None) -> None:
        self.message.paging_state = paging_state
        self._retries = 0
        self._unsure = False
        self._restart()

    def _restart(self) -> None:
        """Nothing was tried yet."""
        self._errors = {}
        self._start_time = monotonic()
        self._picked = self._rest = None
        if self._plan_lock is None:
            self._plan_lock = threading.Lock()

    # ---- the end of an attempt

    def _give_up(self, attempt: Attempt) -> None:
        super()._give_up(attempt)
        self._forget_keyspace(attempt)

    def _may_be_executed(self) -> bool:
        return self._unsure or any(attempt.reprepares is None for attempt in list(self._attempts.values()))

    def _forget_keyspace(self, attempt: Attempt) -> None:
        """A USE without an answer is carried out or not, now or later: nothing may be sent on that connection any more
        that could then end up in another keyspace. The channel sees to those that it recognises and that were not
        answered; a prepared one is known only here, and so is an answer that came but was not looked at."""
        if not attempt.answered and attempt.reprepares is None and attempt.number >= 0 and self._is_use():
            attempt.connection.defunct(
                ConnectionException(
                    "A USE was given up before its answer came; the connection's keyspace is not known any more",
                    attempt.host.endpoint,
                )
            )

    def _is_use(self) -> bool:
        text = getattr(self.message, "query", None)
        if text is None and self.prepared_statement is not None:
            text = self.prepared_statement.query_string
        return isinstance(text, str) and USE.match(text) is not None

    def _add_trace(self, trace_id: Any) -> None:
        with self._lock:
            self._traces = (*self._traces, QueryTrace(trace_id, self.session))

    def _public_error(self, attempt: Attempt, error: Any) -> BaseException:
        exception: BaseException = error.to_exception() if isinstance(error, ErrorMessage) else error
        annotate(
            exception,
            host=attempt.host,
            shard=attempt.connection.shard,
            attempts=len(self.attempted_hosts),
            elapsed=monotonic() - self._start_time,
            maybe_executed=self._unsure,
        )
        return exception

    def _time_out(self, attempt: Attempt) -> None:
        error = OperationTimedOut(
            {str(attempt.host.endpoint): "Client request timeout. See Session.execute[_async](timeout)"},
            attempt.host,
            self.timeout,
            attempt.connection.in_flight,
        )
        self._unsure |= any(other.reprepares is None for other in self._attempts.values())
        if self._metrics is not None:
            self._metrics.on_client_timeout()
        self._fail(attempt.page, self._public_error(attempt, error))
        self._forget_keyspace(attempt)


def _described(message: Any, connection: Connection) -> Any:
    """*message* for *connection*: one that has no metadata ids could not tell that the columns are others by now, even
    if the statement was prepared over one that has."""
    if not connection.features.use_metadata_id:
        message = copy(message)
        message.skip_meta = False
    return message
