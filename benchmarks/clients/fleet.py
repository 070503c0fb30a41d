"""One client of a large cluster: what connecting to it takes, and what the connections take at rest.

Runs with fastcql and with scylla-driver, and prints a line of JSON. Arguments: a contact point, the port, the number of
connections to wait for, seconds at rest. The figures: CPU and wall seconds of ``Cluster.connect()``, and until all
connections are open; at rest the share of a core, the threads, and bytes of resident memory beyond those before
``connect()``; CPU seconds of a refresh of the nodes.

With the arguments ``ring`` and a number of nodes: CPU seconds to make the token map of nodes with 256 tokens each, with
the first request's replicas; then of the first host of a query plan by token, for fastcql that of prepared statements.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.clients.routing import build_ring, known_nodes, policy_over
from benchmarks.clients.tablets import KEY, OURS
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import DCAwareRoundRobinPolicy, TokenAwarePolicy
from cassandra.query import SimpleStatement

PROCESS = Path("/proc/self")
PATIENCE = 120.0  # seconds for all connections
PAUSE = 0.2
KEYS, SAMPLES = 2000, 10


def resident() -> int:
    return int((PROCESS / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def threads() -> int:
    return len([*(PROCESS / "task").iterdir()])


def sockets() -> int:
    """The open sockets of this process."""
    found = 0
    for descriptor in (PROCESS / "fd").iterdir():
        with suppress(FileNotFoundError):  # that of the list
            found += str(descriptor.readlink()).startswith("socket:")
    return found


def ring(nodes: int) -> dict[str, float]:
    chance = random.Random(1)
    hosts, metadata, owned = known_nodes(chance, nodes)
    keys = [chance.randbytes(16) for _ in range(KEYS)]
    statements = [SimpleStatement("…", routing_key=key, keyspace=KEY[0]) for key in keys]
    for statement in statements:
        statement.table = KEY[1]
    began = time.process_time()
    build_ring(metadata, owned)
    policy = policy_over(hosts, metadata)
    next(iter(policy.make_query_plan(KEY[0], statements[0])))
    found = {"token map": time.process_time() - began}
    if OURS:
        from cassandra._core.routing import murmur3_token
        from cassandra._routing.policies.router import PickingRouter, router_for

        router = router_for(policy)
        assert isinstance(router, PickingRouter)
        pick = router.route(metadata.state, *KEY, None)
        tokens = [murmur3_token(key) for key in keys]
        steps: Any = [lambda: [pick(token) for token in tokens]]
    else:
        steps = [lambda: [next(iter(policy.make_query_plan(KEY[0], statement))) for statement in statements]]
    found["first host"] = min(timed(step) for step in steps * SAMPLES) / KEYS
    return found


def timed(step: Callable[[], object]) -> float:
    began = time.thread_time()
    step()
    return time.thread_time() - began


def connected(point: str, port: int, wanted: int, rest: float) -> dict[str, float]:
    profile = ExecutionProfile(TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1")), request_timeout=30)
    cluster = Cluster(
        [point],
        port=port,
        protocol_version=4,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        connect_timeout=60,
        control_connection_timeout=60,
    )
    before, found = resident(), dict[str, float]()
    cpu, wall = time.process_time(), time.perf_counter()
    session = cluster.connect()
    found["connect CPU"], found["connect"] = time.process_time() - cpu, time.perf_counter() - wall
    while sockets() < wanted and time.perf_counter() - wall < PATIENCE:
        time.sleep(PAUSE)
    found["all CPU"], found["all"] = time.process_time() - cpu, time.perf_counter() - wall
    found["connections"] = sockets()
    time.sleep(2.0)
    cpu, wall = time.process_time(), time.perf_counter()
    time.sleep(rest)
    found["rest"] = (time.process_time() - cpu) / (time.perf_counter() - wall)
    found["resident"], found["threads"] = resident() - before, threads()
    cpu = time.process_time()
    cluster.refresh_nodes(force_token_rebuild=True)
    found["refresh CPU"] = time.process_time() - cpu
    found["hosts up"] = sum(bool(host.is_up) for host in cluster.metadata.all_hosts())
    assert session.execute("SELECT release_version FROM system.local").one() is not None
    cluster.shutdown()
    return found


def main() -> None:
    what, *others = sys.argv[1:]
    if what == "ring":
        found = ring(int(others[0]))
    else:
        port, connections, rest = others
        found = connected(what, int(port), int(connections), float(rest))
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
