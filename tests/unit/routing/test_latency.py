"""Latency awareness: the measurements, and the decisions based on them. The tests set the clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra._core.routing import LatencyAverage, Target
from cassandra._routing.host import Host
from cassandra._routing.policies import load_balancing, router_for
from cassandra._routing.policies.router import PickingRouter
from cassandra.metadata import Metadata
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    HostFilterPolicy,
    LatencyAwarePolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from tests.fakes.routing import Cluster, Statement, make_host, make_metadata

ALL = {"class": "SimpleStrategy", "replication_factor": "4"}
FOREVER = 1e9  # seconds: nothing fades in a test


def scene(policy: Any, *racks: str) -> tuple[list[Host], Metadata, PickingRouter]:
    """Four hosts, each a replica of everything."""
    hosts = [make_host(number, "dc1", rack) for number, rack in enumerate(racks or ("r1",) * 4, 1)]
    metadata = make_metadata({host: [number] for number, host in enumerate(hosts)}, ks=ALL)
    policy.populate(Cluster(metadata), hosts)
    router = router_for(policy)
    assert isinstance(router, PickingRouter)
    return hosts, metadata, router


def picked(router: PickingRouter, metadata: Metadata, count: int, token: int | None = 5) -> Counter[Host]:
    pick = router.route(metadata.state, "ks", "t", None)
    return Counter(target.host for _ in range(count) if (target := pick(token)) is not None)


class TestMeter:
    def test_a_first_measurement_counts_whole_and_others_a_fifth(self) -> None:
        average = LatencyAverage(1.0)
        assert average.read(5.0) == 0
        average.add(0.1, 5.0)
        assert average.read(5.0) == 0.1
        average.add(0.6, 6.0)
        assert average.read(6.0) == pytest.approx(0.2)

    def test_it_halves_while_nothing_is_measured(self) -> None:
        average = LatencyAverage(2.0)
        average.add(0.8, 10.0)
        assert [average.read(now) for now in (9.0, 10.0, 12.0, 14.0)] == pytest.approx([0.8, 0.8, 0.4, 0.2])
        assert average.read(1e6) == pytest.approx(0)

    @pytest.mark.parametrize("wrong", [0, -1, float("nan")])
    def test_half_lives_are_above_0(self, wrong: float) -> None:
        for make in (LatencyAverage, lambda half_life: LatencyAwarePolicy(RoundRobinPolicy(), half_life)):
            with pytest.raises(ValueError, match="half_life"):
                make(wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LatencyAwarePolicy(TokenAwarePolicy(RoundRobinPolicy()), FOREVER),
        lambda: TokenAwarePolicy(LatencyAwarePolicy(DCAwareRoundRobinPolicy("dc1"), FOREVER)),
        lambda: LatencyAwarePolicy(RackAwareRoundRobinPolicy("dc1", "r1"), FOREVER),
    ],
    ids=["around token awareness", "within it", "without it"],
)
class TestChoosing:
    def test_equal_hosts_get_equal_shares(self, make: Any) -> None:
        hosts, metadata, router = scene(make())
        counts = picked(router, metadata, 800)
        assert set(counts) == set(hosts)
        assert min(counts.values()) > 100

    def test_a_slow_host_is_avoided(self, make: Any) -> None:
        hosts, metadata, router = scene(make())
        policy = router.latency_aware
        assert policy is not None
        for host in hosts:
            policy._measured(host, 0.5 if host is hosts[2] else 0.002, True)
        counts = picked(router, metadata, 800)
        assert set(counts) == {*hosts[:2], hosts[3]}  # of any two, another one is quicker
        assert min(counts.values()) > 100
        assert policy.latency(hosts[2]) == pytest.approx(0.5)

    def test_a_busy_host_is_avoided(self, make: Any) -> None:
        hosts, metadata, router = scene(make())
        router.measure(lambda host: 50 if host is hosts[0] else 2)
        assert set(picked(router, metadata, 400)) == set(hosts[1:])

    def test_in_flight_counts_times_latency(self, make: Any) -> None:
        hosts, metadata, router = scene(make())
        policy = router.latency_aware
        assert policy is not None
        router.measure(lambda host: 9 if host is hosts[0] else 0)
        for host in hosts:
            policy._measured(host, 0.001 if host is hosts[0] else 0.020, True)
        counts = picked(router, metadata, 400)
        assert counts[hosts[0]] > 130  # half of all: whenever it is one of the two
        assert set(counts) == set(hosts)


def test_slow_hosts_are_tried_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts, metadata, router = scene(LatencyAwarePolicy(TokenAwarePolicy(RoundRobinPolicy()), 1.0))
    policy = router.latency_aware
    assert policy is not None
    now = load_balancing.monotonic()
    monkeypatch.setattr(load_balancing, "monotonic", lambda: now - 60)  # a minute, sixty half-lives, ago
    for host in hosts:
        policy._measured(host, 0.5 if host is hosts[1] else 0.001, True)
    assert set(picked(router, metadata, 400)) == set(hosts)


def test_failures_count_only_if_they_are_slow() -> None:
    policy = LatencyAwarePolicy(RoundRobinPolicy(), FOREVER)
    hosts, _, _ = scene(policy)
    assert policy.latency(hosts[0]) is None
    policy._measured(hosts[0], 0.1, True)
    policy._measured(hosts[0], 0.001, False)  # refuses, quickly
    assert policy.latency(hosts[0]) == pytest.approx(0.1)
    policy._measured(hosts[0], 0.6, False)  # was not heard of in that time
    assert policy.latency(hosts[0]) == pytest.approx(0.2)
    policy.on_remove(hosts[0])
    assert policy.latency(hosts[0]) is None


def test_distance_counts_more() -> None:
    child = RackAwareRoundRobinPolicy("dc1", "r1")
    hosts, metadata, router = scene(LatencyAwarePolicy(TokenAwarePolicy(child), FOREVER), "r1", "r2", "r1", "r2")
    policy = router.latency_aware
    assert policy is not None
    policy._measured(hosts[0], 9.0, True)
    policy._measured(hosts[2], 9.5, True)
    assert set(picked(router, metadata, 100)) <= {hosts[0], hosts[2]}


def test_conditional_statements_keep_the_order() -> None:
    hosts, metadata, router = scene(LatencyAwarePolicy(TokenAwarePolicy(RoundRobinPolicy()), FOREVER))
    policy = router.latency_aware
    assert policy is not None
    replicas = metadata.get_replicas("ks", b"k")
    policy._measured(replicas[0], 9.0, True)
    statement = Statement(b"k", "ks", lwt=True)
    assert {router.start(metadata.state, "ks", None, statement)[0] for _ in range(20)} == {Target(replicas[0])}
    assert len(hosts) == len(replicas)


def test_filtered_hosts_are_not_chosen() -> None:
    banned: set[Host] = set()
    inner = HostFilterPolicy(RoundRobinPolicy(), lambda host: host not in banned)
    hosts, metadata, router = scene(LatencyAwarePolicy(inner, FOREVER))
    banned.update(hosts[1:])
    assert set(picked(router, metadata, 50, None)) == {hosts[0]}


def test_the_whole_plan_is_the_childs() -> None:
    policy = LatencyAwarePolicy(TokenAwarePolicy(RoundRobinPolicy()))
    hosts, metadata, router = scene(policy)
    query = Statement(b"k", "ks")
    first, _ = router.start(metadata.state, "ks", None, query)
    rest = router.fallback(metadata.state, "ks", None, query, first)
    assert first is not None
    assert sorted([first.host, *(target.host for target in rest)]) == hosts
    assert sorted(policy.make_query_plan("ks", query)) == hosts


def test_a_users_policy_below_it_is_followed() -> None:
    class Backwards(RoundRobinPolicy):
        def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
            return iter(sorted(super().make_query_plan(working_keyspace, query), reverse=True))

    hosts = [make_host(number) for number in (1, 2, 3)]
    policy = LatencyAwarePolicy(Backwards())
    policy.populate(Cluster(Metadata()), hosts)
    router = router_for(policy)
    assert not isinstance(router, PickingRouter)
    assert list(policy.make_query_plan()) == hosts[::-1]
    first, rest = router.start(Metadata().state, None, None, None)
    assert first == Target(hosts[2])
    assert rest is not None
    assert list(rest) == [Target(hosts[1]), Target(hosts[0])]


def test_a_late_answer_of_a_host_that_left() -> None:
    policy = LatencyAwarePolicy(RoundRobinPolicy())
    host = make_host(1, "dc1", "r1")
    host.set_up()
    policy._measured(host, 0.5, True)
    assert policy.latency(host)
    host.set_down()
    policy.on_remove(host)
    policy._measured(host, 0.5, True)
    assert policy.latency(host) is None
