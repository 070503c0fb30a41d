"""QueryPlan: where the attempts of one request go, best first.

L5. The policy's pick comes first; the rest of the plan is made only when that one fails. Attempts that speculate or are
retried may ask from two threads at a time: ``_lock`` guards the position. Policies, which may be a user's, are asked
with it held, as a plan is an iterator that two threads cannot advance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cassandra._base.real import threading

if TYPE_CHECKING:
    from cassandra._core.routing import Place
    from cassandra._routing.host import Host
    from cassandra._routing.policies.router import Router
    from cassandra._routing.snapshot import ClusterState


class QueryPlan:
    """Goes by *router*; *only* is the one host that the request may go to, *picked* where it went already."""

    __slots__ = ("_given", "_lock", "_picked", "_rest", "only", "router")

    def __init__(self, router: Router, only: Host | None = None, picked: Place | None = None) -> None:
        self.router = router
        self.only = only
        self._picked = picked
        self._rest: Iterator[Place] | None = None
        self._given: Iterator[Host] | None = None
        self._lock = threading.Lock()

    def next(
        self, state: ClusterState, keyspace: str | None, token: int | None, query: Any, level: int | None = None
    ) -> Place | None:
        """Where to try next; None at the end. Keyspace, token, statement and consistency level are those that the
        request is routed by."""
        with self._lock:
            if self._given is not None:
                hosts = self._given
                places = (self.router.at(state, keyspace, token, query, host) for host in hosts)
                return next((place for place in places if place is not None), None)
            if self._rest is not None:
                return next(self._rest, None)
            if self.only is not None:
                self._rest = iter(())
                return self.router.at(state, keyspace, token, query, self.only)
            if self._picked is None:
                self._picked, self._rest = self.router.start(state, keyspace, token, query, level)
                return self._picked
            self._rest = self.router.fallback(state, keyspace, token, query, self._picked, level)
            return next(self._rest, None)

    def give(self, hosts: Iterable[Host]) -> None:
        """These and no others are next, in this order; pages that follow go by the router again."""
        with self._lock:
            self._given = iter(hosts)

    def passed(self) -> None:
        """Wait until no other thread is asking."""
        with self._lock:
            return

    def restart(self) -> None:
        """Nothing was tried yet."""
        with self._lock:
            self._picked = self._rest = self._given = None
