"""Native route plans: the shard of a tablet, hosts that come before the ring, changes noticed on the way."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from cassandra._core.routing import Count, HostState, RouteHosts, RoutePlan, RouteRing, Target
from cassandra._routing.host import Host
from cassandra._routing.policies import router_for
from cassandra._routing.policies.router import PickingRouter
from cassandra.metadata import Metadata
from cassandra.policies import (
    DefaultLoadBalancingPolicy,
    HostFilterPolicy,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.tablets import Tablet
from tests.fakes.routing import Cluster, Statement, make_host, make_metadata
from tests.patience import PATIENCE

MIN, MAX = -(1 << 63), (1 << 63) - 1
SIMPLE_1 = {"class": "SimpleStrategy", "replication_factor": "1"}


class TableStatement(Statement):
    table = "t"


def cluster_of(count: int = 4, **locations: Any) -> tuple[list[Host], Metadata]:
    """By the ring everything below the first token is the first host's."""
    hosts = [make_host(number, *locations.get(f"host{number}", ("dc1", "r1"))) for number in range(1, count + 1)]
    return hosts, make_metadata({host: [number] for number, host in enumerate(hosts)}, ks=SIMPLE_1)


def populated(policy: Any, hosts: list[Host], metadata: Metadata) -> Any:
    policy.populate(Cluster(metadata), hosts)
    return policy


def add(metadata: Metadata, hosts: list[Host], first: int = MIN, last: int = MAX, version: int | None = None) -> None:
    """A tablet at the hosts in this order; its shards are 7, 8, …"""
    replicas = [(host.host_id, 7 + number) for number, host in enumerate(hosts)]
    metadata._tablets.add_tablet("ks", "t", Tablet(first, last, replicas, version))


def router_of(policy: LoadBalancingPolicy) -> PickingRouter:
    router = router_for(policy)
    assert isinstance(router, PickingRouter)
    return router


class TestTablets:
    def test_come_before_the_ring_and_know_the_shard(self) -> None:
        hosts, metadata = cluster_of()
        router = router_of(populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata))
        pick = router.route(metadata.state, "ks", "t", None)
        assert pick(-5) == Target(hosts[0])
        add(metadata, [hosts[2], hosts[3]], last=0)
        found = Counter(pick(-5) for _ in range(200))
        assert set(found) == {Target(hosts[2], 7), Target(hosts[3], 8)}
        assert min(found.values()) > 40
        assert pick(5) == Target(hosts[0])  # behind the tablet
        metadata._tablets.drop_tablets("ks", "t")
        assert pick(-5) == Target(hosts[0])

    def test_places_are_the_same_objects(self) -> None:
        hosts, metadata = cluster_of()
        router = router_of(populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata))
        add(metadata, hosts[2:3])
        pick, other = (router.route(metadata.state, "ks", "t", None) for _ in range(2))
        assert pick(1) is pick(2) is other(3)
        metadata._tablets.add_tablet("ks", "t", Tablet(MIN, MAX, [(hosts[2].host_id, 65535)]))
        assert pick(1) == Target(hosts[2], 65535)  # of unlikely shards they are made anew

    def test_only_of_the_statements_table(self) -> None:
        hosts, metadata = cluster_of()
        router = router_of(populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata))
        add(metadata, hosts[2:3])
        for keyspace, table in (("ks", "u"), ("ks", None)):
            assert router.route(metadata.state, keyspace, table, None)(-5) == Target(hosts[0])

    def test_dead_and_unknown_replicas_are_passed_over(self) -> None:
        hosts, metadata = cluster_of()
        policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata)
        pick = router_of(policy).route(metadata.state, "ks", "t", None)
        replicas = [(UUID(int=99), 1), (hosts[1].host_id, 2), (hosts[2].host_id, 3)]
        metadata._tablets.add_tablet("ks", "t", Tablet(MIN, MAX, replicas))
        assert {pick(5) for _ in range(50)} == {Target(hosts[1], 2), Target(hosts[2], 3)}
        hosts[1].set_down()
        assert {pick(5) for _ in range(20)} == {Target(hosts[2], 3)}
        hosts[2].is_up = None
        found = Counter(pick(5) for _ in range(8))
        assert found == dict.fromkeys(map(Target, hosts), 2)  # the child's turn; it was told of nothing
        hosts[1].set_up()
        assert pick(5) == Target(hosts[1], 2)

    def test_near_replicas_first(self) -> None:
        hosts, metadata = cluster_of(host2=("dc2", "r1"), host3=("dc1", "r2"))
        child = RackAwareRoundRobinPolicy("dc1", "r1", used_hosts_per_remote_dc=1)
        pick = router_of(populated(TokenAwarePolicy(child), hosts, metadata)).route(metadata.state, "ks", "t", None)
        add(metadata, [hosts[1], hosts[2], hosts[3]])
        for near in (Target(hosts[3], 9), Target(hosts[2], 8), Target(hosts[1], 7)):
            assert {pick(5) for _ in range(20)} == {near}
            near.host.is_up = False

    def test_ignored_replicas_are_not_asked(self) -> None:
        hosts, metadata = cluster_of(host2=("dc2", "r1"))
        child = RackAwareRoundRobinPolicy("dc1", "r1")
        pick = router_of(populated(TokenAwarePolicy(child), hosts, metadata)).route(metadata.state, "ks", "t", None)
        add(metadata, [hosts[1]])
        assert {pick(5) for _ in range(9)} == {Target(host) for host in hosts if host is not hosts[1]}

    def test_conditional_statements_keep_the_order(self) -> None:
        hosts, metadata = cluster_of()
        router = router_of(populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata))
        add(metadata, [hosts[3], hosts[1], hosts[2]])
        lwt = TableStatement(b"k", "ks", lwt=True)
        assert {router.start(metadata.state, "ks", 5, lwt)[0] for _ in range(20)} == {Target(hosts[3], 7)}
        assert len({router.start(metadata.state, "ks", 5, TableStatement(b"k", "ks"))[0] for _ in range(60)}) == 3
        hosts[3].set_down()
        assert {router.start(metadata.state, "ks", 5, lwt)[0] for _ in range(20)} == {Target(hosts[1], 8)}

    @pytest.mark.parametrize("prefers", [True, False])
    def test_leaders_come_first_where_there_are_any(self, prefers: bool) -> None:
        hosts, metadata = cluster_of(host4=("dc1", "r2"))
        child = RackAwareRoundRobinPolicy("dc1", "r1")
        policy = populated(TokenAwarePolicy(child, _prefer_tablet_leader=prefers), hosts, metadata)
        metadata.keyspaces["ks"]._has_leaders = True
        router = router_of(policy)
        add(metadata, [hosts[3], hosts[1], hosts[2]], version=5)
        query: Any = TableStatement(b"k", "ks")
        near = {Target(hosts[1], 8), Target(hosts[2], 9)}
        leader = {Target(hosts[3], 7)}
        picked = {router.start(metadata.state, "ks", 5, query)[0] for _ in range(60)}
        assert picked == (leader if prefers else near)
        planned = {next(policy.make_query_plan("ks", query)) for _ in range(60)}
        assert planned == {target.host for target in picked if target is not None}
        hosts[3].set_down()
        assert {router.start(metadata.state, "ks", 5, query)[0] for _ in range(60)} == near

    def test_with_the_tablet_itself(self) -> None:
        hosts, metadata = cluster_of()
        router = router_of(populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata))
        plan = router.plan(metadata.state, "ks", "t", False)
        assert plan.locate(-5) == (Target(hosts[0]), None)
        add(metadata, hosts[2:3], version=77)
        target, tablet = plan.locate(-5)
        assert target == Target(hosts[2], 7)
        assert tablet is not None
        assert (tablet.tablet_version, tablet.replicas) == (77, ((hosts[2].host_id, 7),))
        assert plan.locate(None)[1] is None

    def test_the_rest_of_the_plan_has_the_shards_of_the_tablet(self) -> None:
        hosts, metadata = cluster_of()
        policy = populated(TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False), hosts, metadata)
        add(metadata, [hosts[3], hosts[1]])
        query = TableStatement(b"k", "ks")
        router = router_of(policy)
        first, rest = router.start(metadata.state, "ks", 5, query)
        assert (first, rest) == (Target(hosts[3], 7), None)
        others = list(router.fallback(metadata.state, "ks", 5, query, first))
        assert others[0] == Target(hosts[1], 8)
        assert {target.host: target.shard for target in others[1:]} == {hosts[0]: None, hosts[2]: None}
        assert list(policy.make_query_plan("ks", query))[:2] == [hosts[3], hosts[1]]
        assert router.at(metadata.state, "ks", 5, query, hosts[1]) == Target(hosts[1], 8)
        assert router.at(metadata.state, "ks", 5, query, hosts[0]) == Target(hosts[0])

    def test_a_users_policy_gets_shards_too(self) -> None:
        class Backwards(RoundRobinPolicy):
            def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
                return iter(sorted(super().make_query_plan(working_keyspace, query), reverse=True))

        hosts, metadata = cluster_of()
        router = router_for(populated(Backwards(), hosts, metadata))
        assert not isinstance(router, PickingRouter)
        add(metadata, [hosts[3], hosts[1]])
        first, rest = router.start(metadata.state, "ks", None, TableStatement(b"k", "ks"))
        assert first == Target(hosts[3], 7)
        assert rest is not None
        assert list(rest) == [Target(hosts[2]), Target(hosts[1], 8), Target(hosts[0])]

    def test_a_token_that_is_none(self) -> None:
        with pytest.raises((TypeError, OverflowError)):
            hosts, metadata = cluster_of()
            router = router_of(populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata))
            router.route(metadata.state, "ks", "t", None)(1 << 64)


class TestChanges:
    def test_a_policys_hosts(self) -> None:
        hosts, metadata = cluster_of()
        policy = populated(RoundRobinPolicy(), hosts[:2], metadata)
        pick = router_of(policy).route(metadata.state, None, None, None)
        assert {pick(None) for _ in range(4)} == {Target(hosts[0]), Target(hosts[1])}
        policy.on_add(hosts[2])
        policy.on_down(hosts[0])
        assert {pick(None) for _ in range(4)} == {Target(hosts[1]), Target(hosts[2])}
        policy.on_remove(hosts[1])
        policy.on_remove(hosts[2])
        assert pick(None) is None

    def test_a_new_topology_makes_new_plans(self) -> None:
        hosts, metadata = cluster_of()
        router = router_of(populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, metadata))
        query = TableStatement(b"k", "ks")
        add(metadata, [hosts[2]])
        assert router.start(metadata.state, "ks", -5, query)[0] == Target(hosts[2], 7)
        successor = make_host(9)
        successor.host_id = hosts[2].host_id  # the same node at another address
        metadata.replace_topology([*hosts[:2], successor, hosts[3]], metadata.partitioner, {hosts[1]: ["0"]})
        assert router.start(metadata.state, "ks", -5, query)[0] == Target(successor, 7)
        metadata._tablets.drop_tablets("ks")
        assert router.start(metadata.state, "ks", -5, query)[0] == Target(hosts[1])

    def test_a_predicate_is_asked_every_time(self) -> None:
        hosts, metadata = cluster_of()
        banned: set[Host] = {hosts[2]}
        inner = HostFilterPolicy(RoundRobinPolicy(), lambda host: host not in banned)
        policy = DefaultLoadBalancingPolicy(TokenAwarePolicy(inner))
        pick = router_of(populated(policy, hosts, metadata)).route(metadata.state, "ks", "t", None)
        add(metadata, [hosts[2], hosts[3]])
        assert {pick(5) for _ in range(30)} == {Target(hosts[3], 8)}
        banned.add(hosts[3])
        assert {pick(5) for _ in range(9)} == {Target(hosts[0]), Target(hosts[1])}
        banned.clear()
        assert {pick(5) for _ in range(60)} == {Target(hosts[2], 7), Target(hosts[3], 8)}

    def test_exceptions_of_a_host_filter_predicate_are_raised(self) -> None:
        def predicate(host: Host) -> bool:
            raise LookupError(host.address)

        hosts, metadata = cluster_of()
        policy = populated(TokenAwarePolicy(HostFilterPolicy(RoundRobinPolicy(), predicate)), hosts, metadata)
        pick = router_of(policy).route(metadata.state, "ks", "t", None)
        for token in (5, None):
            with pytest.raises(LookupError):
                pick(token)

    def test_picks_while_everything_changes(self) -> None:
        """During any change a pick is a host that stays, or one that came and went; its shard is one that a tablet
        named."""
        hosts, metadata = cluster_of(8)
        policy = populated(TokenAwarePolicy(RackAwareRoundRobinPolicy("dc1", "r1", 1)), hosts[:1], metadata)
        router, over, wrong = router_of(policy), threading.Event(), []
        shards = {hosts[number]: {None, number} for number in range(8)}

        def read(token: int) -> None:
            while not over.is_set():
                target = router.route(metadata.state, "ks", "t", None)(token)
                if target is None or target.shard not in shards[target.host]:
                    wrong.append(target)

        def write() -> None:
            for turn in range(1500):
                number = 1 + turn % 7
                host = hosts[number]
                (policy.on_up, policy.on_down)[turn // 7 % 2](host)
                host.is_up = turn // 7 % 2 == 0
                metadata._tablets.add_tablet("ks", "t", Tablet(-turn - 1, turn, [(host.host_id, number)]))
                if turn % 50 == 49:
                    metadata._tablets.drop_tablets_by_host_id(host.host_id)
                    metadata.rebuild_token_map(metadata.partitioner, {hosts[turn % 8]: ["0"]})

        readers = [threading.Thread(target=read, args=(token,)) for token in (-1, 1)]
        for thread in readers:
            thread.start()
        try:
            write()
        finally:
            over.set()
            for thread in readers:
                thread.join(PATIENCE)
        assert wrong == []


class TestParts:
    """Errors on wrong use of the native classes."""

    def test_hosts(self) -> None:
        count = Count()
        assert [count.advance(), count.advance(), count.value] == [0, 1, 2]
        host = HostState()
        assert host.is_up is None
        for value, expected in ((True, True), (False, False), (None, None), (1, True), (0, False)):
            host.is_up = value  # type: ignore[assignment]
            assert host.is_up is expected

    def test_places(self) -> None:
        host = make_host(1)
        target = Target(host, 3)
        assert (target.host, target.shard) == (host, 3)
        assert target == Target(host, 3) != Target(host)
        assert target != 3
        assert len({target, Target(host, 3), Target(host)}) == 2
        assert repr(target) == f"<Target: {host!r} shard 3>"

    def test_wrong_hosts_and_rings(self) -> None:
        def hosts_of(*tiers: Any) -> RouteHosts:
            return RouteHosts(Count(), 0, Count(), lambda host: 0, {}, tiers, (), None, 1)

        with pytest.raises(TypeError, match="is not a Host"):
            hosts_of(["10.0.0.1"])
        with pytest.raises(TypeError):
            RoutePlan(lambda: None)  # type: ignore[arg-type, return-value]
        assert RoutePlan(lambda: RouteRing(hosts_of())).pick(5) is None
        assert hosts_of().is_current
