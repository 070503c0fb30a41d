"""Requests whose answer is not yet their end: after a schema change the nodes have to agree and the metadata to be
read, after a USE every connection has to follow.

L5. The request's own timeout covers all of it. When it is up while one of these steps is under way the request fails
by an error that says what is known: the server *has* done what it was asked for. The step itself goes on: the metadata
follow, and connections too. Step and deadline both end the page, and whichever comes second finds it over.

Such an answer is taken by the I/O thread when it is here, whoever waits for it or does not. All that follows runs there
or on workers of the cluster, and nothing here blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import ConnectionException, OperationTimedOut
from cassandra._base.logs import get_logger

if TYPE_CHECKING:
    from cassandra._core.transport import Attempt
    from cassandra._routing.host import Host

    from ..cluster.schema import SchemaChange
    from .future import ResponseFuture

log = get_logger("cassandra.cluster")

MARGIN = 1.0  # seconds of a timeout that are left for reading the metadata, or a tenth of it


class Deadline:
    """Fails a page of a request by what *known* says when the request's time is up, unless *ended* comes first."""

    def __init__(self, request: ResponseFuture, attempt: Attempt, known: Callable[[], dict[str, str]]) -> None:
        self._request = request
        self._attempt = attempt
        self._known = known
        remaining = request._remaining()
        self._timer: Any = None
        if remaining is not None:
            self._timer = request.session.cluster.reactor.call_later(max(0.0, remaining), self._late)

    def ended(self) -> None:
        """The step is over."""
        if self._timer is not None:
            self._timer.cancel()

    def _late(self) -> None:
        request, attempt = self._request, self._attempt
        if request._is_over(attempt.page):
            return
        error = OperationTimedOut(self._known(), attempt.host, request.timeout)
        request._execution.sending.unsure = True  # it was executed
        if request._metrics is not None:
            request._metrics.on_client_timeout()
        request._fail(attempt.page, request._execution.sending.error_of(request, attempt, error))


def agree(request: ResponseFuture, attempt: Attempt, event: Any, came: Any) -> None:
    """After a schema change: end the page when the nodes agree on it and the metadata were read."""

    def known() -> dict[str, str]:
        request.is_schema_agreed = change is not None and change.agreed
        stage = "the cluster is shut down" if change is None else change.stage
        return {str(attempt.host.endpoint): f"The schema change was executed, but {stage} when the time was up"}

    def done(agreed: bool, error: BaseException | None) -> None:
        deadline.ended()
        if error is not None:
            log.warning("The schema metadata could not be refreshed after a schema change: %s", error)
        if not request._is_over(attempt.page):
            request.is_schema_agreed = agreed
            request._conclude(attempt.page, None, None, came)

    change: SchemaChange | None = None
    deadline = Deadline(request, attempt, known)
    change = request.session.cluster.handle_schema_change(event, attempt.host, done, _time_to_agree(request))


def _time_to_agree(request: ResponseFuture) -> float | None:
    """Seconds to wait for agreement; None for those of the cluster. Who gives a request at least these is told that the
    nodes do not agree before its time is up, by ``is_schema_agreed``; who gives it less, by the error."""
    remaining = request._remaining()
    wait: float = request.session.cluster.max_schema_agreement_wait
    if remaining is None or request.timeout is None or wait <= 0 or request.timeout < wait:
        return None
    return max(0.001, min(wait, remaining - min(MARGIN, float(request.timeout) / 10)))


def follow(request: ResponseFuture, attempt: Attempt, keyspace: str, came: Any) -> None:
    """After a USE: end the page when every connection of the session is in *keyspace*."""
    changed = f"The keyspace of the session is {keyspace!r} now"
    behind: set[Host] = set()

    def known() -> dict[str, str]:
        text = f"{changed}, but connections to this host had not followed when the time was up; they do, or are closed"
        return {str(host.endpoint): text for host in list(behind)}

    def done(errors: Mapping[Host, Any]) -> None:
        deadline.ended()
        if not errors:
            request._conclude(attempt.page, None, None, came)
            return
        request._execution.sending.unsure = True
        error = ConnectionException(
            f"Failed to set keyspace on all hosts: {dict(errors)}. {changed}; connections that did not follow were "
            "closed, and are opened in it again"
        )
        request._fail(attempt.page, request._execution.sending.error_of(request, attempt, error))

    attempt.connection.keyspace = keyspace
    deadline = Deadline(request, attempt, known)
    request.session._set_keyspace_for_all_pools(keyspace, done, behind)
