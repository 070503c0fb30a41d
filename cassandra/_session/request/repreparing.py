"""Prepares a statement again on a host that has forgotten it: once for all requests that need it there, and only if the
host would still decode their bound values with the same types.

L5. After a restart of a node every request in flight gets UNPREPARED at about the same time. The first request for a
statement on a host begins a *preparation*, which belongs to none of them. Each request, the first too, *waits* with an
attempt of its own that has no stream, until the preparation has ended, the request's own time is up, or the request is
over for another reason. The response, or its absence, is passed to all waiters at that time; execution.py interprets
it for each.

From the moment that a host gets PREPARE the id of the statement is valid there again, and the host executes all other
requests with it that are in flight. If the table was dropped and created again with other types, their values have the
wrong types. So the types are compared first, with the schema tables. If these do not prove that nothing has changed
(other types, user types, parameters that are not columns), the statement is first prepared under another id, by a blank
after its text, and compared with that response.

States of a preparation: *asking* for the columns, *looking* at the statement under the other id, *preparing*. In these
states it is in ``_under_way``; it ends exactly once, in ``_end``, ``_fail`` or ``_refuse``, which remove it. Its
waiters and ``_under_way`` are guarded by ``_lock``; no foreign code is called while it is held. Its steps run one after
the other: the first on the thread of the first waiter, the others on the I/O thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ResultKind
from cassandra._base.errors import DriverException
from cassandra._base.locks import driver_lock
from cassandra._core.transport import Attempt, Failure, Frame
from cassandra._net.exchange import Exchange
from cassandra._wire.messages.requests import PrepareMessage
from cassandra._wire.messages.responses import ResultMessage

from ..background import commands
from ..control.queries import query, rows_of
from ..statements.parameters import columns_query, has_types_of
from .attempts import KEYSPACE_PER_REQUEST, is_timeout
from .retry import NOT_SENT

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from .future import ResponseFuture

#: Host, statement id, keyspace. Before protocol 5 the connection's keyspace is part of the prepared statement.
Key = tuple["Host", bytes, str | None]


class Waiting:
    """A waiter: a request, its waiting attempt, and the timer of the request's own timeout."""

    __slots__ = ("attempt", "request", "timer")

    def __init__(self, request: ResponseFuture, attempt: Attempt) -> None:
        self.request = request
        self.attempt = attempt
        self.timer: Any = None

    def wake(self) -> bool:
        """End the wait. Return False if it was over already."""
        if self.timer is not None:
            self.timer.cancel()
        return self.request._attempts.pop(self.attempt.number, None) is not None


class Repreparing:
    """The preparations under way for the requests of one session."""

    def __init__(self) -> None:
        self._lock = driver_lock("Repreparing")
        self._under_way: dict[Key, Preparation] = {}

    @commands.command
    def join(self, request: ResponseFuture, attempt: Attempt) -> None:
        """Process *attempt* when its statement was prepared on its host, or cannot be prepared there."""
        remaining = request._remaining()
        if remaining is not None and remaining <= 0:
            request._execution.sending.time_out(request, attempt)
            return
        number = attempt.number = request._execution.sending.next_number(request)
        if not request._register(number, attempt):
            return
        key = (attempt.host, attempt.reprepares.query_id, attempt.connection.keyspace)
        waiting = Waiting(request, attempt)
        if remaining is not None:
            waiting.timer = request.session.cluster.reactor.call_later(remaining, partial(_late, waiting))
        begun = None
        with self._lock:
            preparation = self._under_way.get(key)
            if preparation is None:
                begun = preparation = self._under_way[key] = Preparation(self, key, attempt, remaining)
            preparation.waiting.append(waiting)
        if begun is not None:
            begun.start()

    def _taken(self, preparation: Preparation) -> list[Waiting]:
        """Remove *preparation*, which has ended, and return its waiters."""
        with self._lock:
            if self._under_way.get(preparation.key) is preparation:
                del self._under_way[preparation.key]
            waiting, preparation.waiting = preparation.waiting, []
        return waiting


class Preparation:
    """A statement that is being prepared again on a host."""

    def __init__(self, owner: Repreparing, key: Key, attempt: Attempt, remaining: float | None) -> None:
        self._owner = owner
        self.key = key
        self.waiting: list[Waiting] = []
        self._connection = attempt.connection
        self._statement = attempt.reprepares
        self._deadline = None if remaining is None else monotonic() + remaining

    def start(self) -> None:
        """Take the first step."""
        if not len(self._statement._bind_plan):
            self._prepare()  # without values there are no types to compare
            return
        question = columns_query(self._statement)
        if question is None:
            self._look()
        else:
            self._send(lambda: query(question), self._asked)

    def _asked(self, outcome: Frame | Failure) -> None:
        if isinstance(outcome, Failure):
            self._end(outcome)
            return
        try:
            unchanged = has_types_of(self._statement, rows_of(self._connection.decode(outcome)))
        except Exception:  # an ERROR, or not decodable: compare with the statement itself
            unchanged = False
        if unchanged:
            self._prepare()
        else:
            self._look()

    def _look(self) -> None:
        self._send(lambda: self._message(" "), self._looked)

    def _looked(self, outcome: Frame | Failure) -> None:
        try:
            message = None if isinstance(outcome, Failure) else self._connection.decode(outcome)
        except Exception as error:
            self._fail(error)
            return
        if isinstance(message, ResultMessage) and message.kind == ResultKind.PREPARED:
            self._refuse(message.bind_plan)
        else:
            self._end(outcome)

    def _refuse(self, bind_plan: Any) -> None:
        """Fail the waiters with values of other types; prepare the statement for the rest."""
        with self._owner._lock:
            here = list(self.waiting)
        refused: list[tuple[Waiting, DriverException]] = []
        for waiting in here:
            try:
                waiting.attempt.reprepares._compare(bind_plan)
            except DriverException as outdated:
                refused.append((waiting, outdated))
        with self._owner._lock:
            gone = {waiting for waiting, _ in refused}
            self.waiting = [waiting for waiting in self.waiting if waiting not in gone]
            over = not self.waiting
            if over:
                del self._owner._under_way[self.key]
        for waiting, error in refused:
            if waiting.wake():
                request, attempt = waiting.request, waiting.attempt
                request._fail(attempt.page, request._execution.sending.error_of(request, attempt, error))
        if not over:
            self._prepare()

    def _prepare(self) -> None:
        self._send(self._message, self._end)

    def _message(self, behind: str = "") -> PrepareMessage:
        keyspace = self._statement._home if self._connection.protocol_version >= KEYSPACE_PER_REQUEST else None
        return PrepareMessage(self._statement.query_string + behind, keyspace)

    def _send(self, make: Callable[[], Any], then: Callable[[Frame | Failure], None]) -> None:
        connection = self._connection
        try:
            frame = make().encode(connection.protocol_version, features=connection.features)
            remaining = None if self._deadline is None else max(0.001, self._deadline - monotonic())
            connection.submit(frame, Exchange(then), 0, remaining)
        except Exception as error:
            self._fail(error)

    def _end(self, outcome: Frame | Failure) -> None:
        """End the preparation with the last response, or its absence."""
        lost = isinstance(outcome, Failure) and not is_timeout(outcome)
        self._wake_all(lost, lambda request, attempt: request._handle(attempt, outcome))

    def _fail(self, error: Exception) -> None:
        may_go_on = isinstance(error, NOT_SENT)
        self._wake_all(
            may_go_on, lambda request, attempt: request._execution.not_reprepared(request, attempt, error, may_go_on)
        )

    def _wake_all(self, lost: bool, tell: Callable[[ResponseFuture, Attempt], object]) -> None:
        """Call *tell* for each waiter. If the connection is *lost*, waiters with another connection to the host begin
        again with that one."""
        for waiting in self._owner._taken(self):
            request, attempt = waiting.request, waiting.attempt
            if not waiting.wake():
                continue
            if lost and attempt.connection is not self._connection:
                again = Attempt(attempt.host, attempt.pool, attempt.connection, attempt.page, attempt.reprepares)
                self._owner.join(request, again)
            else:
                tell(request, attempt)


def _late(waiting: Waiting) -> None:
    if waiting.wake():
        waiting.request._execution.sending.time_out(waiting.request, waiting.attempt)
