"""Load balancing policies that all threads ask while hosts go down and come up."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, Session
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    HostDistance,
    HostFilterPolicy,
    LatencyAwarePolicy,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
)
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster
from tests.patience import eventually
from tests.threads.conftest import ROWS, Connect
from tests.threads.harness import beside, size, together

PLANS = size("FASTCQL_PLANS", 60)
TURNS = size("FASTCQL_TURNS", 20)


def is_first(host: Any) -> bool:
    return True


POLICIES: dict[str, Callable[[SimulatedCluster], LoadBalancingPolicy]] = {
    "round robin": lambda _: RoundRobinPolicy(),
    "datacenter": lambda _: DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=1),
    "rack": lambda _: RackAwareRoundRobinPolicy("dc1", "rack1", used_hosts_per_remote_dc=1),
    "white list": lambda simulated: WhiteListRoundRobinPolicy(simulated.contact_points),
    "token": lambda _: TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1")),
    "default": lambda _: DefaultLoadBalancingPolicy(TokenAwarePolicy(RoundRobinPolicy())),
    "filter": lambda _: HostFilterPolicy(RoundRobinPolicy(), is_first),
    "latency": lambda _: LatencyAwarePolicy(TokenAwarePolicy(RoundRobinPolicy())),
}


@pytest.mark.parametrize("name", POLICIES)
def test_plans_while_hosts_change(simulated: SimulatedCluster, connect: Connect, name: str) -> None:
    """No plan has a host twice, or misses one of those that stay up."""
    simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 2}")
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
    policy = POLICIES[name](simulated)
    profile = ExecutionProfile(load_balancing_policy=policy)
    session = connect(simulated, "ks", execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    select = session.prepare("SELECT v FROM t WHERE id = ?")
    hosts = set(session.cluster.metadata.all_hosts())
    coming = sorted(hosts, key=str)[0]
    steps = itertools.count()

    def change() -> None:
        """As the driver reports a host, from one thread."""
        (policy.on_up if next(steps) % 2 else policy.on_down)(coming)

    def work(number: int) -> None:
        for turn in range(PLANS):
            plan = list(policy.make_query_plan("ks", select.bind((turn,))))
            assert len(plan) == len(set(plan))
            assert hosts - {coming} <= set(plan) <= hosts
            assert policy.distance(coming) in (HostDistance.LOCAL, HostDistance.LOCAL_RACK, HostDistance.IGNORED)

    with beside(change):
        together(work)
    for _ in range(2):
        assert session.execute(select, (1,)).one() is None


def test_requests_while_nodes_go_and_come(simulated: SimulatedCluster, table: Session) -> None:
    """Idempotent requests find another node: each has its own value, or all nodes that it may use were away."""
    select = table.prepare("SELECT v FROM t WHERE id = ?")
    select.is_idempotent = True
    node = simulated.nodes[2]
    choice = random.Random(3)

    def change() -> None:
        if choice.random() < 0.5:
            node.drop_connections()
        else:
            node.kill()
            node.start()

    def work(number: int) -> int:
        found = 0
        for turn in range(TURNS):
            key = (number * TURNS + turn) % ROWS
            text = SimpleStatement("SELECT v FROM t WHERE id = %s", is_idempotent=True)
            try:
                assert table.execute(select, (key,)).one().v == key * 7
                assert table.execute(text, (key,)).one().v == key * 7
            except NoHostAvailable:
                continue
            found += 1
        return found

    with beside(change):
        counts = together(work)
    assert sum(counts) > 0
    eventually(lambda: all(host.is_up for host in table.cluster.metadata.all_hosts()))
    assert table.execute(select, (3,)).one().v == 21
