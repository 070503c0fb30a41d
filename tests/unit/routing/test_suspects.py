"""Suspects: hosts that are up and silent just now go last in the plans of every policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra._core.routing import SuspectsLast, Target
from cassandra._routing.host import Host
from cassandra._routing.policies import router_for
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    HostFilterPolicy,
    LatencyAwarePolicy,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.tablets import Tablet
from tests.fakes.routing import Cluster, Statement, make_host, make_metadata

MIN, MAX = -(1 << 63), (1 << 63) - 1
SIMPLE_2 = {"class": "SimpleStrategy", "replication_factor": "2"}


class TableStatement(Statement):
    table = "t"


class Reversed(RoundRobinPolicy):
    """A policy of the user."""

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        return reversed(list(super().make_query_plan(working_keyspace, query)))


POLICIES = {
    "round robin": RoundRobinPolicy,
    "by datacenter": lambda: DCAwareRoundRobinPolicy("dc1"),
    "by rack": lambda: RackAwareRoundRobinPolicy("dc1", "r1"),
    "token aware": lambda: TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1")),
    "not shuffled": lambda: TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False),
    "filtered": lambda: HostFilterPolicy(TokenAwarePolicy(RoundRobinPolicy()), lambda host: True),
    "latency aware": lambda: LatencyAwarePolicy(TokenAwarePolicy(RoundRobinPolicy())),
    "latency aware without tokens": lambda: LatencyAwarePolicy(RoundRobinPolicy()),
    "default": lambda: DefaultLoadBalancingPolicy(TokenAwarePolicy(RoundRobinPolicy())),
    "of the user": Reversed,
    "around one of the user": lambda: TokenAwarePolicy(Reversed()),
}


class Lab:
    def __init__(self, policy: LoadBalancingPolicy, hosts: list[Host] | None = None) -> None:
        self.hosts = [make_host(number, "dc1", "r1") for number in range(1, 5)] if hosts is None else hosts
        owned: dict[Host, list[int]] = {host: [number * 100] for number, host in enumerate(self.hosts)}
        self.metadata = make_metadata(owned, ks=SIMPLE_2)
        policy.populate(Cluster(self.metadata), self.hosts)
        self.router = router_for(policy)

    def first(self, token: int | None) -> Host | None:
        place = self.router.start(self.metadata.state, "ks", token, TableStatement(b"k", "ks"))[0]
        return None if place is None else place.host

    def plan(self, token: int | None = None) -> list[Host]:
        state, query = self.metadata.state, TableStatement(b"k", "ks")
        first, rest = self.router.start(state, "ks", token, query)
        if first is None:
            return []
        if rest is None:
            rest = self.router.fallback(state, "ks", token, query, first)
        return [first.host, *(place.host for place in rest)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("token", [None, 5, 150])
def test_suspects_come_last(policy: str, token: int | None) -> None:
    lab = Lab(POLICIES[policy]())
    for count in range(4):
        for host in lab.hosts[:count]:
            host.is_suspect = True
        for _ in range(20):
            plan = lab.plan(token)
            assert sorted(plan) == lab.hosts
            assert set(plan[4 - count :]) == set(lab.hosts[:count])


@pytest.mark.parametrize("policy", POLICIES)
def test_where_all_are_suspects_none_is(policy: str) -> None:
    lab = Lab(POLICIES[policy]())
    usual = {lab.first(150) for _ in range(100)}
    for host in lab.hosts:
        host.is_suspect = True
    assert {lab.first(150) for _ in range(100)} == usual
    assert sorted(lab.plan(150)) == lab.hosts


def test_other_hosts_share_the_requests_of_a_suspect() -> None:
    lab = Lab(RoundRobinPolicy())
    lab.hosts[1].is_suspect = True
    found = Counter(lab.first(None) for _ in range(480))
    assert found == {lab.hosts[0]: 160, lab.hosts[2]: 160, lab.hosts[3]: 160}
    lab.hosts[2].is_suspect = True
    found = Counter(lab.first(None) for _ in range(480))
    assert found.keys() == {lab.hosts[0], lab.hosts[3]}
    lab.hosts[1].is_suspect = lab.hosts[2].is_suspect = False
    assert Counter(lab.first(None) for _ in range(8)) == dict.fromkeys(lab.hosts, 2)


def test_a_tablets_suspects_come_last_and_keep_their_shards() -> None:
    lab = Lab(TokenAwarePolicy(RoundRobinPolicy()))
    replicas = [(host.host_id, 7 + number) for number, host in enumerate(lab.hosts[1:3])]
    lab.metadata._tablets.add_tablet("ks", "t", Tablet(MIN, MAX, replicas))
    pick = router_for(lab.router.policy).route(lab.metadata.state, "ks", "t", None)  # type: ignore[attr-defined]
    lab.hosts[1].is_suspect = True
    assert {pick(5) for _ in range(20)} == {Target(lab.hosts[2], 8)}
    lab.hosts[2].is_suspect = True
    assert {pick(5).host for _ in range(20)} == {lab.hosts[0], lab.hosts[3]}
    lab.hosts[0].is_suspect = lab.hosts[3].is_suspect = True
    assert {pick(5) for _ in range(60)} == {Target(lab.hosts[1], 7), Target(lab.hosts[2], 8)}


def test_a_far_host_that_answers_is_better_than_a_near_one_that_does_not() -> None:
    hosts = [make_host(1, "dc1", "r1"), make_host(2, "dc1", "r2"), make_host(3, "dc2", "r1")]
    lab = Lab(RackAwareRoundRobinPolicy("dc1", "r1", used_hosts_per_remote_dc=1), hosts)
    assert lab.plan() == hosts
    hosts[0].is_suspect = True
    assert lab.plan() == [hosts[1], hosts[2], hosts[0]]
    hosts[1].is_suspect = True
    assert lab.plan() == [hosts[2], hosts[0], hosts[1]]


def test_only_hosts_that_are_up_are_suspects() -> None:
    host = make_host(1, "dc1", "r1")
    host.set_up()
    host.is_suspect = True
    assert (host.is_up, host.is_suspect) == (True, True)
    host.set_down()
    assert (host.is_up, host.is_suspect) == (False, False)
    host.is_suspect = True
    assert (host.is_up, host.is_suspect) == (False, False)
    host.is_up = None
    host.is_suspect = True
    assert (host.is_up, host.is_suspect) == (None, False)
    host.set_up()
    assert (host.is_up, host.is_suspect) == (True, False)


def test_a_plan_is_asked_as_it_is_followed() -> None:
    hosts = [make_host(number, "dc1", "r1") for number in range(1, 5)]
    asked: list[Host] = []

    def plan() -> Iterator[Host]:
        for host in hosts:
            host.set_up()
            asked.append(host)
            yield host

    followed = iter(SuspectsLast(plan()))
    assert next(followed) is hosts[0] and asked == hosts[:1]
    found = []
    for host in followed:
        found.append(host)
    assert found == hosts[1:]
    with pytest.raises(StopIteration):
        next(followed)
    hosts[0].is_suspect = hosts[2].is_suspect = True
    assert list(SuspectsLast(hosts)) == [hosts[1], hosts[3], hosts[0], hosts[2]]
    assert list(SuspectsLast([])) == []
