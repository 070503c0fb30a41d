"""Requests that continue after their response: after a schema change the nodes have to agree and the metadata are read;
after a USE every connection has to change its keyspace.

L5. The request's own timeout covers these steps. If it elapses during one of them, the request fails with an error that
describes the state: the server *has* executed the request. The step itself continues: metadata and connections are
still updated. Step and deadline both try to end the page; the second one finds it over and does nothing.

The I/O thread takes such a response on arrival, independently of waiters. All further steps run there or on workers of
the cluster; nothing here blocks.
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

MARGIN = 1.0  # seconds of the timeout reserved for reading the metadata; at most a tenth of it


class Deadline:
    """Fails a page of a request, with the texts of *known*, when the request's time is up; :meth:`ended` cancels it."""

    def __init__(self, request: ResponseFuture, attempt: Attempt, known: Callable[[], dict[str, str]]) -> None:
        self._request = request
        self._attempt = attempt
        self._known = known
        remaining = request._remaining()
        self._timer: Any = None
        if remaining is not None:
            self._timer = request.session.cluster.reactor.call_later(max(0.0, remaining), self._late)

    def ended(self) -> None:
        """Cancel the deadline: the step is over."""
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
    """End the page of a schema change when the nodes agree on it and the metadata were read."""

    def known() -> dict[str, str]:
        request.is_schema_agreed = change is not None and change.agreed
        stage = "the cluster is shut down" if change is None else change.stage
        return {str(attempt.host.endpoint): f"The schema change was executed, but {stage} when the timeout elapsed"}

    def done(agreed: bool, error: BaseException | None) -> None:
        deadline.ended()
        if error is not None:
            log.warning("Failed to refresh the schema metadata after a schema change: %s", error)
        if not request._is_over(attempt.page):
            request.is_schema_agreed = agreed
            request._conclude(attempt.page, None, None, came)

    change: SchemaChange | None = None
    deadline = Deadline(request, attempt, known)
    change = request.session.cluster.handle_schema_change(event, attempt.host, done, _time_to_agree(request))


def _time_to_agree(request: ResponseFuture) -> float | None:
    """Return the seconds to wait for agreement; None for the cluster's limit. If the request's timeout is at least that
    limit, ``is_schema_agreed`` reports before the timeout that the nodes do not agree; with a shorter timeout the error
    does."""
    remaining = request._remaining()
    wait: float = request.session.cluster.max_schema_agreement_wait
    if remaining is None or request.timeout is None or wait <= 0 or request.timeout < wait:
        return None
    return max(0.001, min(wait, remaining - min(MARGIN, float(request.timeout) / 10)))


def follow(request: ResponseFuture, attempt: Attempt, keyspace: str, came: Any) -> None:
    """End the page of a USE when every connection of the session is in *keyspace*."""
    changed = f"The keyspace of the session is {keyspace!r} now"
    behind: set[Host] = set()

    def known() -> dict[str, str]:
        text = f"{changed}, but connections to this host had not changed theirs at the timeout; they will, or be closed"
        return {str(host.endpoint): text for host in list(behind)}

    def done(errors: Mapping[Host, Any]) -> None:
        deadline.ended()
        if not errors:
            request._conclude(attempt.page, None, None, came)
            return
        request._execution.sending.unsure = True
        error = ConnectionException(
            f"Failed to set keyspace on all hosts: {dict(errors)}. {changed}; connections with another keyspace were "
            "closed, and new ones are opened in it"
        )
        request._fail(attempt.page, request._execution.sending.error_of(request, attempt, error))

    attempt.connection.keyspace = keyspace
    deadline = Deadline(request, attempt, known)
    request.session._set_keyspace_for_all_pools(keyspace, done, behind)
