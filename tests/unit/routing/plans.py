"""Policies that know hosts, and the plans that come of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra._core.routing import Target
from cassandra._routing.host import Host
from cassandra._routing.policies import Router, router_for
from cassandra.metadata import Metadata
from cassandra.policies import (
    LoadBalancingPolicy,
)
from tests.fakes.routing import Cluster, make_host, make_metadata

LOCAL_RACK, LOCAL, REMOTE, IGNORED = 0, 1, 2, -1


def populated(policy: Any, hosts: list[Host], metadata: Metadata | None = None) -> Any:
    policy.populate(Cluster(metadata or Metadata(), tuple(host.endpoint for host in hosts[:1])), hosts)
    return policy


def plan(policy: LoadBalancingPolicy, keyspace: str | None = None, query: Any = None) -> list[Host]:
    return list(policy.make_query_plan(keyspace, query))


def routed(policy: LoadBalancingPolicy, state: Any, keyspace: str | None = None, query: Any = None) -> list[Host]:
    """The plan as requests follow it: the pick, then the fallback."""
    router = router_for(policy)
    first, rest = router.start(state, keyspace, None, query)
    if rest is None:
        rest = router.fallback(state, keyspace, None, query, first)
    return [place.host for place in ([first] if first is not None else []) + list(rest)]


def first_of(router: Router, state: Any, keyspace: str | None, token: int | None, query: Any) -> Host | None:
    place, _ = router.start(state, keyspace, token, query)
    return None if place is None else place.host


def picks(route: Callable[[int | None], Target | None], *tokens: int | None) -> list[Host | None]:
    return [None if (place := route(token)) is None else place.host for token in tokens]


def two_dcs() -> tuple[list[Host], list[Host]]:
    return [make_host(n, "dc1") for n in (1, 2, 3)], [make_host(n, "dc2") for n in (4, 5, 6)]


SIMPLE_2 = {"class": "SimpleStrategy", "replication_factor": "2"}
KEY = b"test"  # token -6017608668500074083


def ring_of_four() -> tuple[list[Host], Metadata]:
    """KEY is held by the first two hosts under SIMPLE_2."""
    hosts = [make_host(number) for number in (1, 2, 3, 4)]
    tokens = {host: [number << 60] for host, number in zip(hosts, (-5, 0, 3, 7), strict=True)}
    return hosts, make_metadata(tokens, ks=SIMPLE_2, local={"class": "LocalStrategy"})
