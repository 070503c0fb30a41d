"""QueryPlan: the targets of the attempts of one request, best first.

L5. The policy's first choice comes first; the rest of the plan is made only when that one fails.

Threads: the caller that sends the first attempt consumes the plan until one is sent; from then on the plan belongs to
the I/O thread, which speculates, retries and serves the admission queue. There is no lock, as the I/O thread would wait
for a caller that the handler of a signal may have interrupted. If a program consumes ``future.query_plan`` at the same
time, each host is still returned once: a call of :meth:`QueryPlan.next` during another one returns None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra._core.routing import Place
    from cassandra._routing.host import Host
    from cassandra._routing.metadata import ClusterState
    from cassandra._routing.policies.router import Router


class QueryPlan:
    """Targets by *router*. *only*: the only host allowed; *picked*: the target that the request was sent to already."""

    __slots__ = ("_given", "_picked", "_rest", "only", "router")

    def __init__(self, router: Router, only: Host | None = None, picked: Place | None = None) -> None:
        self.router = router
        self.only = only
        self._picked = picked
        self._rest: Iterator[Place] | None = None
        self._given: Iterator[Host] | None = None

    def next(
        self, state: ClusterState, keyspace: str | None, token: int | None, query: Any, level: int | None = None
    ) -> Place | None:
        """Return the next target; None at the end. Keyspace, token, statement and consistency level are those that the
        request is routed by."""
        if self._given is not None:
            hosts = self._given
            places = (self.router.at(state, keyspace, token, query, host) for host in hosts)
            return next((place for place in places if place is not None), None)
        if self._rest is not None:
            return _next_of(self._rest)
        if self.only is not None:
            self._rest = iter(())
            return self.router.at(state, keyspace, token, query, self.only)
        if self._picked is None:
            self._picked, self._rest = self.router.start(state, keyspace, token, query, level)
            return self._picked
        self._rest = self.router.fallback(state, keyspace, token, query, self._picked, level)
        return _next_of(self._rest)

    def give(self, hosts: Iterable[Host]) -> None:
        """Use these hosts only, in this order; later pages use the router again."""
        self._given = iter(hosts)

    def restart(self) -> None:
        """Begin at the first target again."""
        self._picked = self._rest = self._given = None


def _next_of(places: Iterator[Place]) -> Place | None:
    try:
        return next(places, None)
    except ValueError as error:
        if str(error) == "generator already executing":  # by another thread
            return None
        raise
