"""Where a request goes first, by TokenAware(RackAware) over 45 nodes of 3 datacenters and 256 tokens each.

Every request has a key of its own. fastcql: the token of the key, and the pick of the native plan, from Python, as
requests of prepared statements have it; ``planned`` is its ``make_query_plan``, as users' policies call it.
scylla-driver: the first host of its ``make_query_plan``. Argument: the path of the module ``floor``, for the least that
a pick can cost.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from benchmarks.clients.harness import Client, Work, run
from benchmarks.clients.tablets import KEY, LOOPS, MAX, MIN, OURS, bounds, floor_of
from cassandra.metadata import KeyspaceMetadata, Metadata
from cassandra.policies import RackAwareRoundRobinPolicy, SimpleConvictionPolicy, TokenAwarePolicy
from cassandra.pool import Host
from cassandra.query import SimpleStatement
from cassandra.tablets import Tablet

NODES, TOKENS, TABLETS = 45, 256, 10_000
PARTITIONER = "org.apache.cassandra.dht.Murmur3Partitioner"
REPLICATION = {"dc0": "3", "dc1": "3", "dc2": "3"}


def cluster(chance: random.Random, nodes: int = NODES) -> tuple[list[Host], Metadata]:
    """Nodes that are up, and the vnode ring of a keyspace."""
    hosts, metadata, tokens = known_nodes(chance, nodes)
    build_ring(metadata, tokens)
    return hosts, metadata


def known_nodes(chance: random.Random, nodes: int) -> tuple[list[Host], Metadata, dict[Host, list[str]]]:
    hosts, metadata = [], Metadata()
    for number in range(nodes):
        address = f"10.0.{number // 250}.{number % 250 + 1}"
        host = Host(address, SimpleConvictionPolicy, host_id=UUID(int=number + 1))
        host.set_location_info(f"dc{number % 3}", f"r{number // 3 % 3}")
        host.set_up()
        hosts.append(metadata.add_or_return_host(host)[0])
    return hosts, metadata, {host: [str(chance.randrange(MIN, MAX)) for _ in range(TOKENS)] for host in hosts}


def build_ring(metadata: Metadata, tokens: dict[Host, list[str]]) -> None:
    metadata.rebuild_token_map(PARTITIONER, tokens)
    keyspace = KeyspaceMetadata(KEY[0], True, "NetworkTopologyStrategy", REPLICATION)
    if OURS:
        metadata._publish(keyspaces={KEY[0]: keyspace})  # type: ignore[attr-defined,unused-ignore]
    else:
        metadata.keyspaces[KEY[0]] = keyspace  # type: ignore[index,unused-ignore]
        metadata.token_map.rebuild_keyspace(KEY[0], True)  # type: ignore[union-attr,unused-ignore]


def policy_over(hosts: list[Host], metadata: Metadata) -> TokenAwarePolicy:
    policy = TokenAwarePolicy(RackAwareRoundRobinPolicy("dc1", "r1", used_hosts_per_remote_dc=1))
    policy.populate(SimpleNamespace(metadata=metadata, endpoints_resolved=()), hosts)
    return policy


def works(kind: str, chance: random.Random, floor: Any) -> dict[str, Work]:
    """*kind*: what the replicas are known from, ``ring`` or ``tablets``."""
    hosts, metadata = cluster(chance)
    policy = policy_over(hosts, metadata)
    if kind == "tablets":
        for first, last in pairwise(bounds(TABLETS)):
            replicas = [(host.host_id, chance.randrange(16)) for host in chance.sample(hosts, 3)]
            metadata._tablets.add_tablet(*KEY, Tablet(first, last, replicas))
    keys = [chance.randbytes(16) for _ in range(LOOPS)]
    statements = [SimpleStatement("…", routing_key=key, keyspace=KEY[0]) for key in keys]
    for statement in statements:
        statement.table = KEY[1]
    plans = Work(
        "for statement in statements: next(plan('keyspace', statement))",
        {"plan": lambda *asked: iter(policy.make_query_plan(*asked)), "statements": statements},
    )
    if not OURS:
        return {f"first by {kind}": plans}
    from cassandra._core.routing import murmur3_token
    from cassandra._routing.policies.router import PickingRouter, router_for

    router = router_for(policy)
    assert isinstance(router, PickingRouter)
    pick = router.route(metadata.state, *KEY, None)
    found = {
        f"first by {kind}": Work(
            "for key in keys: pick(token_of(key))", {"keys": keys, "pick": pick, "token_of": murmur3_token}
        ),
        f"picked by {kind}": Work("for t in tokens: pick(t)", {"tokens": [*map(murmur3_token, keys)], "pick": pick}),
        f"planned by {kind}": plans,
    }
    if floor is not None:
        edges = bounds(NODES * TOKENS if kind == "ring" else TABLETS)
        least = floor(edges[:-1], edges[1:], tuple(range(len(edges) - 1))).pick
        found[f"floor by {kind}"] = Work(
            "for t in tokens: pick(t)", {"tokens": [*map(murmur3_token, keys)], "pick": least}
        )
    return found


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    chance = random.Random(1)
    floor = floor_of(arguments[0]) if arguments else None
    empty = Work("for t in tokens: pass", {"tokens": range(LOOPS)})
    yield Client({"empty loop": empty, **works("ring", chance, floor), **works("tablets", chance, floor)})


if __name__ == "__main__":
    run("benchmarks.clients.routing", make)
