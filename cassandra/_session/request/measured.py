"""Requests that tell how long their attempts took: of those with a latency aware policy only.

L5. A router whose policy wants to hear it has :class:`MeasuredFuture` as the class of its requests; no other request
pays for that.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import Opcode
from cassandra._core.transport import Failure, Frame
from cassandra._routing.policies.router import PickingRouter

from .attempts import is_timeout
from .future import ResponseFuture

if TYPE_CHECKING:
    from cassandra._core.transport import Attempt
    from cassandra._routing.host import Host
    from cassandra._routing.policies import Router

    from ..session import Session
    from .conclusion import Outcome


class MeasuredFuture(ResponseFuture):
    """A request whose attempts are measured, each from when it was sent to when its answer came. An answer that came
    before somebody waited for it is not measured: nobody knows when that was."""

    __slots__ = ()
    _sent_at: dict[int, float] | None = None  # by the number of the attempt; the first one began with the request
    _is_late = False

    def _settle(self) -> Outcome:
        if self._outcome is None:
            self._is_late = True
            try:
                self._on_outcome()
            finally:
                self._is_late = False
        outcome: Outcome = super()._settle()
        return outcome

    def _register(self, number: int, attempt: Attempt) -> bool:
        sent_at = self._sent_at
        if sent_at is None:
            sent_at = self._sent_at = {}
        sent_at[number] = monotonic()
        return super()._register(number, attempt)

    def _on_outcome(self) -> None:
        for number, answer in self._take_all():
            attempt = self._attempts.pop(number, None)
            if attempt is None:
                continue
            try:
                if attempt.reprepares is None and not self._is_late:
                    self._measure(attempt, answer)
                self._handle(attempt, answer)
            except BaseException as error:  # Ctrl-C: the answer is lost with it, nobody must wait for another
                self._fail(attempt.page, error)
                raise

    def _measure(self, attempt: Attempt, answer: Frame | Failure) -> None:
        answered = isinstance(answer, Frame) and answer.opcode == Opcode.RESULT
        if isinstance(answer, Failure) and not is_timeout(answer):
            return  # the connection was lost: how long that took says nothing
        policy: Any = self._router.latency_aware  # type: ignore[attr-defined]
        began = (self._sent_at or {}).get(attempt.number, self._start_time)
        policy._measured(attempt.host, monotonic() - began, answered)


def measured(router: Router, session: Session) -> Router:
    """*router*, new; if its policy wants to know how long requests take it will."""
    if isinstance(router, PickingRouter) and router.latency_aware is not None:
        pool_set = session._pool_set

        def in_flight(host: Host) -> int:
            pool = pool_set.pools.get(host)
            return 0 if pool is None else pool.in_flight

        router.measure(MeasuredFuture, in_flight)
    return router
