"""QueryPlan: where the attempts of one request go, best first.

L5. The policy's pick comes first; the rest of the plan is made only when that one fails.

Threads: the caller that sends the first attempt goes along the plan until one is sent; from then on it is the I/O
thread's, which speculates, retries and serves the line of requests that wait for room. There is no lock, as the I/O
thread would wait for a caller whom the handler of a signal may have interrupted. Where a program goes along
``future.query_plan`` at the same time each host is given to one of them: a plan that is being asked has no next host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra._core.routing import Place
    from cassandra._routing.host import Host
    from cassandra._routing.policies.router import Router
    from cassandra._routing.snapshot import ClusterState


class QueryPlan:
    """Goes by *router*; *only* is the one host that the request may go to, *picked* where it went already."""

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
        """Where to try next; None at the end. Keyspace, token, statement and consistency level are those that the
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
        """These and no others are next, in this order; pages that follow go by the router again."""
        self._given = iter(hosts)

    def restart(self) -> None:
        """Nothing was tried yet."""
        self._picked = self._rest = self._given = None


def _next_of(places: Iterator[Place]) -> Place | None:
    try:
        return next(places, None)
    except ValueError as error:
        if str(error) == "generator already executing":  # by another thread
            return None
        raise
