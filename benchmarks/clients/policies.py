"""Query plans of built-in policies, as a program's own policy asks for them, and the CQL names of types.

45 nodes of 3 datacenters; statements without a key, with one, and with a target. Names of works are ``policy, setup,
query, part``. The setup is the order that hosts were told in, ``down`` where nine of them are, or ``wrapped`` by a
program's policy; the part of the plan is ``first`` or ``all``.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from benchmarks.clients.harness import Client, Work, run
from benchmarks.clients.routing import cluster
from benchmarks.clients.tablets import KEY, bounds
from cassandra.cqltypes import lookup_casstype
from cassandra.metadata import Metadata
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    HostFilterPolicy,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.query import SimpleStatement
from cassandra.tablets import Tablet

LOOPS, TABLETS = 300, 1_000
TYPE = "MapType(UTF8Type, ListType(Int32Type))"


def near() -> LoadBalancingPolicy:
    return DCAwareRoundRobinPolicy("dc1")


def racks() -> LoadBalancingPolicy:
    return RackAwareRoundRobinPolicy("dc1", "r1", 2)


def filtered(child: LoadBalancingPolicy) -> LoadBalancingPolicy:
    return HostFilterPolicy(child, lambda host: True)


POLICIES: dict[str, Callable[[], LoadBalancingPolicy]] = {
    "RoundRobin": RoundRobinPolicy,
    "DCAware": near,
    "DCAware+2": lambda: DCAwareRoundRobinPolicy("dc1", 2),
    "RackAware+2": racks,
    "TokenAware(RoundRobin)": lambda: TokenAwarePolicy(RoundRobinPolicy()),
    "TokenAware(DCAware)": lambda: TokenAwarePolicy(near()),
    "TokenAware(RackAware+2)": lambda: TokenAwarePolicy(racks()),
    "HostFilter(RoundRobin)": lambda: filtered(RoundRobinPolicy()),
    "HostFilter(TokenAware(DCAware))": lambda: filtered(TokenAwarePolicy(near())),
    "Default(RoundRobin)": lambda: DefaultLoadBalancingPolicy(RoundRobinPolicy()),
    "Default(TokenAware(DCAware))": lambda: DefaultLoadBalancingPolicy(TokenAwarePolicy(near())),
}
SETUPS = ("in order", "mixed", "down", "tablets", "wrapped")
QUERIES = ("none", "no key", "key", "target")


class Own(LoadBalancingPolicy):
    """A program's policy: it asks its child."""

    def __init__(self, child: LoadBalancingPolicy) -> None:
        self.child = child

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Any]:
        yield from self.child.make_query_plan(working_keyspace, query)


def told(policy: Any, hosts: list[Any], metadata: Metadata, setup: str, chance: random.Random) -> Any:
    given = chance.sample(hosts, len(hosts)) if setup == "mixed" else hosts
    policy.populate(SimpleNamespace(metadata=metadata, endpoints_resolved=()), given)
    if setup == "down":
        for host in hosts[::5]:
            host.set_down()
            policy.on_down(host)
    return Own(policy) if setup == "wrapped" else policy


def statements(chance: random.Random) -> dict[str, list[Any]]:
    keyed = [SimpleStatement("…", routing_key=chance.randbytes(16), keyspace=KEY[0]) for _ in range(LOOPS)]
    for statement in keyed:
        statement.table = KEY[1]
    targeted: Any = SimpleStatement("…")
    targeted.target_host = "10.0.0.30"
    return {
        "none": [None] * LOOPS,
        "no key": [SimpleStatement("…")] * LOOPS,
        "key": keyed,
        "target": [targeted] * LOOPS,
    }


def works_of(setup: str, chance: random.Random) -> dict[str, Work]:
    hosts, metadata = cluster(chance)
    for host in hosts:
        host.broadcast_rpc_address, host.broadcast_rpc_port = host.address, 9042  # as servers tell
    if setup == "tablets":
        for first, last in pairwise(bounds(TABLETS)):
            replicas = [(host.host_id, 1) for host in chance.sample(hosts, 3)]
            metadata._tablets.add_tablet(*KEY, Tablet(first, last, replicas))
    asked, found = statements(chance), {}
    for name, make in POLICIES.items():
        policy = told(make(), hosts, metadata, setup, chance)
        for query in QUERIES:
            if query == "target" and not name.startswith("Default"):
                continue
            names = {"plan": policy.make_query_plan, "statements": asked[query]}
            one = "for statement in statements: next(iter(plan('keyspace', statement)))"
            works = {"first": one, "all": "for statement in statements: list(plan('keyspace', statement))"}
            for part, work in works.items():
                found[f"{name}, {setup}, {query}, {part}"] = Work(work, names)
    return found


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    chance = random.Random(1)
    works = {"empty loop": Work("for t in statements: pass", {"statements": range(LOOPS)})}
    for setup in SETUPS:
        works |= works_of(setup, chance)
    works["CQL name of a type"] = Work("name()", {"name": lookup_casstype(TYPE).cql_parameterized_type})
    yield Client(works)


if __name__ == "__main__":
    run("benchmarks.clients.policies", make)
