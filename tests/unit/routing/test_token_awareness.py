"""Token awareness: replicas before others, picks that agree with plans, and plans while hosts change."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra._core.routing import Target
from cassandra._routing.host import Host
from cassandra._routing.policies import router_for
from cassandra._routing.policies.router import PickingRouter
from cassandra.metadata import Metadata
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    HostDistance,
    HostFilterPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from tests.fakes.routing import Statement, make_host, make_metadata

from .plans import (
    IGNORED,
    KEY,
    SIMPLE_2,
    first_of,
    picks,
    plan,
    populated,
    ring_of_four,
    routed,
)


def test_replicas_first() -> None:
    hosts, metadata = ring_of_four()
    policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata)
    for query, keyspace in ((Statement(KEY, "ks"), None), (Statement(KEY), "ks"), (Statement(KEY, "ks"), "local")):
        for _ in range(8):
            for one in (
                plan(policy, keyspace, query),
                routed(policy, metadata.state, query.keyspace or keyspace, query),
            ):
                assert set(one[:2]) == set(hosts[:2])
                assert set(one) == set(hosts)
                assert len(one) == 4


def test_child_is_a_mock() -> None:
    """The chain of policies ends at a child of another type: each attribute of a mock is another mock."""
    hosts, metadata = ring_of_four()
    child = Mock()
    child.make_query_plan.side_effect = lambda *args: iter(hosts)
    child.distance.return_value = HostDistance.LOCAL
    policy = populated(TokenAwarePolicy(child), hosts, metadata)
    found = plan(policy, None, Statement(KEY, "ks"))
    assert set(found[:2]) == set(hosts[:2])
    assert set(found) == set(hosts)
    assert router_for(policy)


def test_load_is_spread_over_replicas() -> None:
    hosts, metadata = ring_of_four()
    policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata)
    query = Statement(KEY, "ks")
    picked = Counter(first_of(router_for(policy), metadata.state, "ks", None, query) for _ in range(400))
    planned = Counter(plan(policy, None, query)[0] for _ in range(400))
    for counts in (picked, planned):
        assert set(counts) == set(hosts[:2])
        assert min(counts.values()) > 100


@pytest.mark.parametrize("ordered", [{"lwt": True}, {}])
def test_ring_order_is_kept(ordered: dict[str, bool]) -> None:
    hosts, metadata = ring_of_four()
    policy = populated(TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=bool(ordered)), hosts, metadata)
    query = Statement(KEY, "ks", **ordered)
    for _ in range(20):
        assert plan(policy, None, query)[:2] == hosts[:2]
        assert routed(policy, metadata.state, "ks", query)[:2] == hosts[:2]


@pytest.mark.parametrize(
    ("keyspace", "query"),
    [
        (None, None),
        ("ks", None),
        ("ks", Statement(None)),
        (None, Statement(KEY)),
        ("unknown", Statement(KEY)),
        ("local", Statement(KEY)),
    ],
)
def test_without_replicas_the_child_decides(keyspace: str | None, query: Any) -> None:
    hosts, metadata = ring_of_four()
    policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata)
    assert Counter(plan(policy, keyspace, query)[0] for _ in range(8)) == dict.fromkeys(hosts, 2)
    firsts = Counter(routed(policy, metadata.state, keyspace, query)[0] for _ in range(16))
    assert set(firsts) <= set(hosts)
    assert all(sorted(routed(policy, metadata.state, keyspace, query)) == hosts for _ in range(4))


def test_dead_replicas_are_passed_over() -> None:
    hosts, metadata = ring_of_four()
    policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata)
    query = Statement(KEY, "ks")
    hosts[0].is_up = False
    for _ in range(10):
        assert plan(policy, None, query)[0] is hosts[1]
        assert routed(policy, metadata.state, "ks", query)[0] is hosts[1]
    hosts[1].is_up = None
    assert set(plan(policy, None, query)) == set(hosts)  # the child still believes in them
    for host in hosts[:2]:
        policy.on_down(host)
    for _ in range(10):
        assert sorted(plan(policy, None, query)) == hosts[2:]
        assert sorted(routed(policy, metadata.state, "ks", query)) == hosts[2:]


def test_near_replicas_before_far_ones() -> None:
    places = [("dc1", "r1"), ("dc1", "r2"), ("dc2", "r1"), ("dc2", "r2"), ("dc1", "r1")]
    hosts = [make_host(number, *place) for number, place in enumerate(places, 1)]
    metadata = make_metadata(
        {host: [number] for number, host in enumerate(hosts)},
        ks={"class": "NetworkTopologyStrategy", "dc1": "2", "dc2": "2"},
    )
    child = RackAwareRoundRobinPolicy("dc1", "r2", used_hosts_per_remote_dc=1)
    policy = populated(TokenAwarePolicy(child), hosts, metadata)
    query = Statement(KEY, "ks")  # below every token: held by the first four
    for one in (plan(policy, None, query), routed(policy, metadata.state, "ks", query)):
        # own rack, own datacenter, the used remote one; then the child's others
        assert one == [hosts[1], hosts[0], hosts[2], hosts[4]]
    policy.on_down(hosts[2])  # now another remote host is used
    hosts[2].is_up = False
    for one in (plan(policy, None, query), routed(policy, metadata.state, "ks", query)):
        assert one == [hosts[1], hosts[0], hosts[3], hosts[4]]


def test_routes_follow_the_ring() -> None:
    hosts, metadata = ring_of_four()
    policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata)
    router, query = router_for(policy), Statement(KEY, "ks")
    assert first_of(router, metadata.state, "ks", None, query) in hosts[:2]
    metadata.rebuild_token_map(str(metadata.partitioner), {hosts[2]: ["0"], hosts[3]: ["1"]})
    for _ in range(10):
        assert first_of(router, metadata.state, "ks", None, query) in hosts[2:]


def test_the_token_a_request_carries_is_used() -> None:
    hosts, metadata = ring_of_four()
    policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata)
    router = router_for(policy)
    for _ in range(10):
        assert first_of(router, metadata.state, "ks", 1 << 60, Statement(KEY, "ks")) in hosts[2:]
        rest = router.fallback(metadata.state, "ks", 1 << 60, None, Target(hosts[3]))
        assert next(rest).host is hosts[2]


def test_another_partitioner_does_not_take_murmur3_tokens() -> None:
    hosts, metadata = ring_of_four()
    metadata.rebuild_token_map(
        "org.apache.cassandra.dht.ByteOrderedPartitioner",
        {host: [bytes([65 + number]).hex()] for number, host in enumerate(hosts)},
    )
    policy = populated(TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False), hosts, metadata)
    assert first_of(router_for(policy), metadata.state, "ks", 5, Statement(b"B", "ks")) is hosts[1]


def test_before_it_knows_a_cluster() -> None:
    host = make_host(1)
    child = populated(RoundRobinPolicy(), [host])
    assert plan(TokenAwarePolicy(child), "ks", Statement(KEY)) == [host]
    assert plan(DefaultLoadBalancingPolicy(child)) == [host]


@given(st.data())
def test_a_pick_is_always_a_first_of_the_plan(data: st.DataObject) -> None:
    """Whatever the cluster, the states and the chain: the pick is a nearest live replica, and pick and fallback
    together are the whole plan."""
    count = data.draw(st.integers(1, 8))
    hosts = [
        make_host(
            number,
            data.draw(st.sampled_from(["dc1", "dc2"])),
            data.draw(st.sampled_from(["r1", "r2"])),
            data.draw(st.sampled_from([True, True, False])),
        )
        for number in range(1, count + 1)
    ]
    tokens = data.draw(st.lists(st.integers(-9, 9), min_size=count, max_size=count, unique=True))
    metadata = make_metadata(
        {host: [token << 59] for host, token in zip(hosts, tokens, strict=True)},
        ks={"class": "NetworkTopologyStrategy", "dc1": "2", "dc2": "1"},
    )
    child = data.draw(
        st.sampled_from(
            [
                RoundRobinPolicy(),
                DCAwareRoundRobinPolicy("dc1", 1),
                RackAwareRoundRobinPolicy("dc1", "r1", 1),
                HostFilterPolicy(RoundRobinPolicy(), lambda host: host.address != "10.0.0.2"),
            ]
        )
    )
    policy = populated(DefaultLoadBalancingPolicy(TokenAwarePolicy(child)), hosts, metadata)
    for host in hosts:
        if not host.is_up:
            policy.on_down(host)
    query = Statement(data.draw(st.binary(min_size=1, max_size=4)), "ks", lwt=data.draw(st.booleans()))
    one = routed(policy, metadata.state, "ks", query)
    assert len(set(one)) == len(one)
    assert set(one) == set(plan(child))
    replicas = [host for host in metadata.get_replicas("ks", query.routing_key or b"") if host.is_up]
    usable = [host for host in replicas if policy.distance(host) != IGNORED]
    if usable:
        nearest = min(policy.distance(host) for host in usable)
        assert one[0] in replicas
        assert policy.distance(one[0]) == nearest
        assert set(one[: len(usable)]) == set(usable)


@pytest.mark.parametrize(
    "make",
    [
        RoundRobinPolicy,
        lambda: DCAwareRoundRobinPolicy("dc1", 1),
        lambda: RackAwareRoundRobinPolicy("dc1", "r1", 1),
        lambda: TokenAwarePolicy(RackAwareRoundRobinPolicy("dc1", "r1", 1)),
    ],
)
def test_plans_while_hosts_change(make: Callable[[], Any]) -> None:
    """A host that never leaves is in every plan, no host is twice in one, and no event is lost."""
    stays = make_host(1)
    others = [make_host(n, f"dc{1 + n % 2}", f"r{1 + n % 3}") for n in range(2, 10)]
    metadata = make_metadata({host: [number << 58] for number, host in enumerate([stays, *others])}, ks=SIMPLE_2)
    policy = populated(make(), [stays], metadata)
    router, query, stop, wrong = router_for(policy), Statement(KEY, "ks"), threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            one = plan(policy, "ks", query)
            if (
                stays not in one
                or len(set(one)) != len(one)
                or first_of(router, metadata.state, "ks", 5, query) is None
            ):
                wrong.append(one)

    def change(mine: list[Host], seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(400):
            host = chance.choice(mine)
            chance.choice([policy.on_up, policy.on_down, policy.on_add, policy.on_remove])(host)
        for host in mine:
            policy.on_up(host)

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=change, args=(others[n::2], n)) for n in range(2)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert wrong == []
    expected = {host for host in [stays, *others] if policy.distance(host) != IGNORED}
    assert set(plan(policy)) == expected


class TestRoutes:
    """``route``: picks of many tokens, looked up once."""

    TOKENS = (-(2**63), -100, 0, 5, 100, 2**63 - 1)

    @staticmethod
    def route(policy: Any, state: Any, keyspace: str | None, statement: Any = None) -> Callable[[Any], Target | None]:
        router = router_for(policy)
        assert isinstance(router, PickingRouter)
        return router.route(state, keyspace, None, statement)

    def test_is_the_same_as_picking_one_by_one(self) -> None:
        hosts, metadata = ring_of_four()
        policy = populated(TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False), hosts, metadata)
        route = self.route(policy, metadata.state, "ks", Statement())
        for token in self.TOKENS:
            place, _ = router_for(policy).start(metadata.state, "ks", token, Statement())
            assert route(token) == place
            assert place is not None and place.shard is None

    def test_single_replicas(self) -> None:
        tokens = {make_host(number): [number * 100] for number in (1, 2, 3)}
        metadata = make_metadata(tokens, ks={"class": "SimpleStrategy", "replication_factor": "1"})
        policy = populated(TokenAwarePolicy(RoundRobinPolicy()), list(tokens), metadata)
        route = self.route(policy, metadata.state, "ks")
        first, second, third = tokens
        for _ in range(2):  # looked up, then remembered
            assert picks(route, 100, 101, 300, 301) == [first, second, third, first]
        second.set_down()
        policy.on_down(second)
        assert picks(route, 101)[0] in (first, third)

    def test_without_tokens_keyspace_or_ring(self) -> None:
        hosts, metadata = ring_of_four()
        policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata)
        for state, keyspace, token in (
            (metadata.state, "ks", None),
            (metadata.state, None, 5),
            (Metadata().state, "ks", 5),
        ):
            assert set(picks(self.route(policy, state, keyspace), *[token] * 8)) == set(hosts)

    def test_distances_that_changed(self) -> None:
        near, far = make_host(1, "dc1"), make_host(2, "dc2")
        metadata = make_metadata(
            {near: [100], far: [200]}, ks={"class": "NetworkTopologyStrategy", "dc1": "1", "dc2": "1"}
        )
        child = DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=1)
        policy = populated(TokenAwarePolicy(child), [near, far], metadata)
        route = self.route(policy, metadata.state, "ks")
        assert picks(route, 5, 5, 5) == [near] * 3
        child.local_dc = "dc2"
        assert picks(route, 5, 5, 5) == [far] * 3

    def test_policies_that_pick_without_tokens(self) -> None:
        hosts = [make_host(number) for number in (1, 2, 3)]
        policy = populated(RoundRobinPolicy(), hosts)
        assert Counter(picks(self.route(policy, Metadata().state, "ks"), *[5] * 6)) == dict.fromkeys(hosts, 2)
        policy.on_down(hosts[0])
        assert Counter(picks(self.route(policy, Metadata().state, "ks"), *[5] * 6)) == dict.fromkeys(hosts[1:], 3)
