"""Sends the rows of an ingest, and processes errors and retries.

L6. A :class:`Writing` belongs to the thread that ingests: the caller's, or that of the task's loop. All work is done in
:meth:`step`, which never waits. Void results without extras are processed natively (``writes.pxi``); any other outcome
of a write request is passed to :meth:`_consider`, and the write request is then

  *due*      to be sent again at a set time (``_delayed``)
  *ready*    to be sent again as soon as there is room (``_ready``)
  *alone*    its rows continue as requests of their own (``_separate``), for the cases that a write request does not
             handle: a statement that the node has forgotten, a connection that needs other bytes. The rows of a
             rejected batch do so too, so that one row does not fail with the others of its batch
  *over*     closed, its rows in ``errors`` or written

States of the whole: *going*, then *stopping* (no new rows are sent: a row failed and ``on_error`` is "raise", the
source raised, or the session ends), then *over* when no write request is open. :meth:`interrupt` ends it sooner.

Other threads access ``silent`` and ``continued`` only: they append to them, and then end the wait.
"""

from __future__ import annotations

from collections import deque
from copy import copy
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base import process
from cassandra._base.errors import NoHostAvailable, annotate
from cassandra._base.server_errors import ErrorMessage, PreparedQueryNotFound
from cassandra._core.codec import TimestampClock
from cassandra._core.routing import Target
from cassandra._core.transport import AT_END, FULL, LAUNCHED, Failure, Frame, Writes
from cassandra._session.request.admission import within_limits
from cassandra._session.request.many import ManyRequests, continue_from, failure_error
from cassandra._session.request.observers import BulkRequest
from cassandra._session.request.retry import (
    FIRST_DELAY,
    NOT_SENT,
    closed_text,
    decide_repeatable,
    may_be_executed,
)
from cassandra._session.statements.prepared import BoundStatement
from cassandra._session.statements.timestamps import MonotonicTimestampGenerator, on_ahead_of

from .report import MOST_ERRORS, IngestReport

if TYPE_CHECKING:
    from cassandra._core.columns import Rows
    from cassandra._core.transport import WriteSender
    from cassandra._session.session import Session

    from .target import IngestTarget

SLICE = 512  # write requests sent before responses are processed
MOST_OPEN = 4096  # write requests in flight, if the number for each host is adaptive
MOST_OF_HOST = 1024
ENOUGH = 64  # write requests in flight that keep servers busy for COALESCE seconds
COALESCE = 0.0005
WHOLE = -1  # instead of the index of a row: the whole write request


class Writing(ManyRequests[tuple[int, int]], Writes):
    """The rows of one ingest into *target*. *concurrency*: write requests in flight; adaptive if None."""

    def __init__(
        self, session: Session, target: IngestTarget, concurrency: int | None, timestamp: int | None, stops: bool
    ) -> None:
        super().__init__(session)  # delayed: write request, index of its row if it is alone
        self._target = target
        self._plan = target.plan
        self._statement = BoundStatement(target.prepared)
        self._began = monotonic()
        self._stops = stops  # True to stop when a row fails
        self.errors: dict[int, Exception] = {}  # at most MOST_ERRORS
        self.failed = 0
        self.unlisted: int | None = None
        self.retries = 0
        self._last_done = 0
        self._counted = 0  # rows in the metrics of the cluster
        self.stopping = False
        self.broken: Exception | None = None  # exception of the source
        self.closed: Exception | None = None  # reason why writing has become impossible, as the end of the session
        self._ready: deque[int] = deque()
        self._separate: dict[int, _SeparateRows] = {}
        self._pause = 0.0  # end of a pause in which no new rows are sent, as no host took the last one
        self._state: Any = None
        generator: Any = session.timestamp_generator or MonotonicTimestampGenerator()
        plain = type(generator) is MonotonicTimestampGenerator
        clock: TimestampClock | None = generator._clock if plain else None
        self._clock = generator, clock, on_ahead_of(generator)
        most, adaptive = concurrency or MOST_OPEN, concurrency is None
        self._begin(NOT_SENT, most, adaptive, timestamp)
        target.compile(self)
        self._observed: BulkRequest | None = None  # None if a tracker does not get it
        if self._tracking is not None:
            self._observe(self._tracking)
            observed = BulkRequest(session, target.prepared, self._began, self._plan.levels[0])
            self._observed = self._tracking.begin_bulk(observed)

    # ---- steps

    def step(self, most: int = SLICE) -> bool:
        """Process all outcomes, and send rows while there is room, in at most *most* new write requests. Return True if
        there was room for more: then the next step is due without a wait."""
        process.check_process(self._process)
        self.take_outcomes()
        self._process_outcomes()
        more = False
        if self.is_closed:
            self._stop_with(NoHostAvailable(closed_text(self.session), {}))
        elif self._target.prepared._outdated is not None:  # the table has changed
            self._stop_with(self._target.prepared._make_outdated_error())
        else:
            self._adopt_state()
            self._send_again()
            if self._pause and monotonic() >= self._pause:
                self._pause = 0.0
            if not self.stopping and not self._ready and not self._pause:
                more = self._send_new(most)
        self._process_outcomes()
        if (metrics := self.session.cluster.metrics) is not None:
            self._counted = metrics.rows_ingested(self.done, self._counted)
        self.flush()
        if self.slow:
            self._log_slow()
        return more

    @property
    def needs_rows(self) -> bool:
        """True if it waits for rows."""
        return self.at_end and not self.stopping

    @property
    def is_over(self) -> bool:
        """True if every row that was taken is written, or has failed."""
        return not self.open and not self.ended and (self.at_end or self.stopping)

    @property
    def table_name(self) -> str:
        return str(self._target.name)

    def pause(self) -> float:
        """Return the seconds to sleep, if responses arrive so slowly that processing each one alone would be most of
        the work. The servers are busy meanwhile."""
        done = self.done - self._last_done
        self._last_done = self.done
        return COALESCE if self.in_flight >= ENOUGH and done < self.in_flight // 16 else 0.0

    def add_rows(self, rows: Rows) -> None:
        """Add *rows*, which follow those taken before."""
        self.add(rows)

    def wait_time(self) -> float | None:
        due = super().wait_time()
        if self._pause and not self.stopping:
            paused = max(0.0, self._pause - monotonic())
            return paused if due is None else min(due, paused)
        return due

    def end(self, error: Exception) -> None:
        """Stop with *error*, raised by the source; rows already taken are still processed."""
        self.stopping = True
        self.broken = error

    def _stop_with(self, error: Exception) -> None:
        """Stop, as no row can be written any more: rows that wait to be sent again fail with *error*; the outcomes of
        those in flight still count."""
        self.stopping = True
        if self.closed is None:
            self.closed = error
        waiting = self.delayed.clear() + [(number, WHOLE) for number in self._ready]
        self._ready.clear()
        for number, index in waiting:
            if index == WHOLE:
                self._fail(number, self.closed)
            else:
                self.continued.append((None, self.closed, (number, index)))

    def interrupt(self) -> None:
        """Send nothing any more, and drop the scheduled repetitions."""
        self.stopping = True
        self._ready.clear()
        self._drop_delayed()

    def _drop_delayed(self) -> None:
        for number, _ in self.delayed.clear():
            self._separate.pop(number, None)  # one of its rows is not sent again: the write request never ends

    def collect_outcomes(self) -> bool:
        """Count the outcomes that have arrived since :meth:`interrupt`. Return True if requests are still in flight."""
        self.take_outcomes()
        while self.ended:
            number, outcome, sender = self.ended.popleft()
            if isinstance(outcome, Frame) and sender is not None and self._is_success(outcome, sender):
                self._complete(number)
        self._process_row_outcomes()
        self._drop_delayed()
        return bool(self.in_flight or self._separate)

    def _is_success(self, outcome: Frame, sender: WriteSender) -> bool:
        try:
            return not isinstance(sender.connection.decode(outcome, self._plan.result_plan), ErrorMessage)
        except Exception:  # not decodable: the row is reported as unfinished
            return False

    # ---- sending

    def _adopt_state(self) -> None:
        """Adopt the current state of the cluster."""
        session, plan = self.session, self._plan
        state = session.cluster.metadata.state
        if state is self._state:
            return
        self._state = state
        route = plan.route_in(state, session.keyspace)
        self._direct(
            route or self._by_plan,
            plan.dialect,
            plan.version_block,
            plan.profile.request_timeout,
            *self._clock,
            within_limits(session.cluster, MOST_OF_HOST),
        )

    def _by_plan(self, token: int | None) -> Target | None:
        """Return the target of *token* by a user's policy, or without a native plan."""
        keyspace = self._target.name.keyspace
        return self._plan.router.start(self._state, keyspace, token, self._statement)[0]

    def _send_new(self, most: int) -> bool:
        while most > 0:
            before = self.open
            status = self.launch(most)
            if status == FULL:
                self._await_window()
            if status in (LAUNCHED, FULL, AT_END):
                return status == LAUNCHED
            most -= max(1, self.open - before)
            self._process_outcomes()
            if self.stopping or self._ready or self._pause:
                return False
        return True

    def _send_again(self) -> None:
        for number, index in self.delayed.take_due():
            if index == WHOLE:
                self._ready.append(number)
            else:
                self.retries += 1
                self._send_row(number, index)
        for _ in range(len(self._ready)):
            number = self._ready.popleft()
            self.retries += 1
            if self.resend(number) == FULL:
                self.retries -= 1
                self._ready.appendleft(number)
                self._await_window()
                return

    def _await_window(self) -> None:
        """Look again a little later, if no outcome comes before: a connection to an overloaded server opens by time."""
        if not self.in_flight:
            self._pause = monotonic() + FIRST_DELAY

    # ---- outcomes

    def _process_outcomes(self) -> None:
        """Process all outcomes, and the requests whose peers are silent."""
        self._process_row_outcomes()
        while self.ended:
            number, outcome, sender = self.ended.popleft()
            self._consider(number, outcome, sender)
        while self.silent:
            number = self.silent.popleft()
            if self.orphan(number):
                self._ready.append(number)

    def _consider(self, number: int, outcome: Any, sender: WriteSender | None) -> None:
        _, count, attempts, token, age = self._request_state(number)
        if outcome is None:
            self._set_target(number, token)
        elif isinstance(outcome, str):
            self._fail(number, self._refusal(number, outcome))
        elif sender is None or isinstance(outcome, NOT_SENT):
            self._retry(number, outcome, attempts, age)
        elif isinstance(outcome, Failure):
            timeout = self._plan.profile.request_timeout
            error = failure_error(outcome, sender.host, sender.connection, timeout, "a row of an ingest")
            annotate(error, host=sender.host, attempts=attempts, elapsed=age, maybe_executed=outcome.sent)
            self._retry(number, error, attempts, age)
        else:
            self._process_response(number, outcome, sender, count, attempts, age)

    def _process_response(
        self, number: int, outcome: Frame, sender: WriteSender, count: int, attempts: int, age: float
    ) -> None:
        """Process a response other than a bare "done"."""
        try:
            message = self.read(sender.connection, outcome, self._plan.result_plan, self._statement)
        except Exception as unreadable:
            self.doubt(number)
            self._retry(number, unreadable, attempts, age)
            return
        if not isinstance(message, ErrorMessage):
            self._complete(number)
        elif isinstance(message, PreparedQueryNotFound):
            self._continue_separately(number, count, outcome if count == 1 else None, sender)
        else:
            decision, executed = decide_repeatable(message, attempts), may_be_executed(message)
            if executed:
                self.doubt(number)
            annotate(decision.error, host=sender.host, attempts=attempts, elapsed=age, maybe_executed=executed)
            if count > 1 and not decision.again:
                self._continue_separately(number, count)
            else:
                self._retry(number, decision.error, attempts, age)

    def _retry(self, number: int, error: Exception, attempts: int, age: float) -> None:
        """Schedule another attempt, or fail its rows."""
        decision = decide_repeatable(error, attempts)
        if decision.is_congestion:
            self.congested(number)
        delay = None if self.is_closed else self.send_later((number, WHOLE), decision, attempts, age)
        if delay is None:
            self._fail(number, decision.error)
        elif isinstance(error, NoHostAvailable):  # other rows would not find a host either
            self._pause = monotonic() + delay
        elif isinstance(error, NOT_SENT):
            self._pause = monotonic() + FIRST_DELAY

    def _set_target(self, number: int, token: int | None) -> None:
        """Send a write request, which no connection took, to the first host of the plan that takes it."""

        def send(target: Target) -> bool | Exception:
            found = self.connection_at(target, token)
            if isinstance(found, Exception):
                return found
            if not self.resend_by(number, target.host, *found):
                self._continue_separately(number, self._request_state(number)[1])  # the connection needs other bytes
            return True

        where = (self._state, self._target.name.keyspace, token, self._statement)
        error = self.send_along(self._plan.router, where, None, send)
        if isinstance(error, Exception):
            _, _, attempts, _, age = self._request_state(number)
            self._retry(number, error, max(attempts, 3), age)

    def _request_state(self, number: int) -> tuple[int, int, int, int | None, float]:
        found = self.about(number)
        assert found is not None
        return found

    def _complete(self, number: int) -> None:
        self.close(number, self._request_state(number)[1])

    def _fail(self, number: int, error: Exception) -> None:
        """Report its rows as not written."""
        row, count = self._request_state(number)[:2]
        error = self._annotate_uncertain(number, error)
        for failed in range(row, row + count):
            self._record_error(failed, error)
        self.close(number, 0, error)

    def _refusal(self, number: int, text: str) -> ValueError:
        """Return the error of a row with a value that cannot be written, with its place in the source."""
        place = self._target.place_of(self._request_state(number)[0])
        return ValueError(text if place is None else f"{text} ({place})")

    def _annotate_uncertain(self, number: int, error: Exception) -> Exception:
        """Return *error* as the error of a write, of which an earlier attempt may have been executed."""
        if self.is_in_doubt(number):
            error = copy(error) if error is self.closed else error  # which other writes have too
            annotate(error, maybe_executed=True)
        return error

    def _record_error(self, row: int, error: Exception) -> None:
        """Record the *error* of *row*, which was not written."""
        self.failed += 1
        self.stopping |= self._stops
        if len(self.errors) < MOST_ERRORS:
            self.errors[row] = error
        elif self.unlisted is None or row < self.unlisted:
            self.unlisted = row

    # ---- rows that continue as requests of their own

    def _continue_separately(
        self, number: int, count: int, outcome: Frame | None = None, sender: WriteSender | None = None
    ) -> None:
        self._separate[number] = _SeparateRows(count)
        if outcome is not None and sender is not None:
            self._send_row(number, 0, outcome, sender)
            return
        for index in range(count):
            self._send_row(number, index)

    def _send_row(
        self, number: int, index: int, outcome: Frame | None = None, sender: WriteSender | None = None
    ) -> None:
        """Make a request that writes one row; send it, or continue it from *outcome*, if that is given."""
        frame, token = self.frame(number, index)
        plan = self._plan
        future = plan.future(self.session, frame, token, None, plan.profile.request_timeout)
        self.watch(future, (number, index))
        if outcome is None or sender is None:
            future._execution.sending.send(future, 0)
            return
        continue_from(future, sender.host, sender.pool, sender.connection, plan.result_plan, outcome)

    def _process_row_outcomes(self) -> None:
        while self.continued:
            _, error, (number, index) = self.continued.popleft()
            alone = self._separate.get(number)
            if alone is None:
                continue
            row, _, attempts, _, age = self._request_state(number)
            if error is not None:
                alone.attempts += 1
                if getattr(error, "maybe_executed", None):
                    self.doubt(number)
                decision = decide_repeatable(error, attempts + alone.attempts)
                delay = None if self.is_closed else self.send_later((number, index), decision, alone.attempts, age)
                if delay is not None:
                    continue
                self._record_error(row + index, self._annotate_uncertain(number, decision.error))
                alone.failed += 1
            alone.left -= 1
            if not alone.left:
                del self._separate[number]
                self.close(number, alone.count - alone.failed)

    # ---- reports

    def _log_slow(self) -> None:
        """Log the write requests that took long."""
        while self.slow and self._tracking is not None:
            self._tracking.log_slow(self._target.prepared.query_string, *self.slow.popleft())

    def report_end(self, error: BaseException | None) -> None:
        """Report the end of the ingest to the tracker, and to cached statements of the table."""
        caching = self.session._caching
        if caching is not None:
            caching.note_table(self._target.name.keyspace, self._target.name.table)
        self._log_slow()
        observed, self._observed = self._observed, None
        if observed is not None and self._tracking is not None:
            self._tracking.end_bulk(observed, None, self.done, error, monotonic() - self._began)

    def report(self) -> IngestReport:
        """Return the report so far."""
        return IngestReport(
            str(self._target.name),
            self.done,
            self.encoded,
            monotonic() - self._began,
            self.retries,
            self.reached,
            dict(sorted(self.errors.items())),
            failed=self.failed,
            unlisted=self.unlisted,
        )

    def last_report(self) -> IngestReport:
        """Return the report of an interrupted ingest, with the unfinished rows."""
        report = self.report()
        report.unfinished = self.unfinished()
        return report


class _SeparateRows:
    """The rows of a write request that continue as requests of their own."""

    __slots__ = ("attempts", "count", "failed", "left")

    def __init__(self, count: int) -> None:
        self.count = count
        self.left = count
        self.failed = 0
        self.attempts = 0
