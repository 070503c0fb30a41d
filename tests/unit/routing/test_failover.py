"""Fail-over between datacenters: the rule by a clock of the test, and the plans of the policy."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra._routing.host import Host
from cassandra._routing.policies import failover, router_for
from cassandra._routing.policies.failover import ActiveDatacenter
from cassandra._routing.policies.router import PickingRouter
from cassandra.metadata import Metadata
from cassandra.policies import DCFailoverRoundRobinPolicy, HostDistance, TokenAwarePolicy
from tests.fakes.routing import Statement, make_host, make_metadata

HOUR = 3600.0
EVERYWHERE = {"class": "NetworkTopologyStrategy", "dc1": "3", "dc2": "3", "dc3": "3"}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Scene:
    """Three hosts in each of three datacenters, and a policy whose checks run when the clock is advanced."""

    def __init__(self, clock: Clock, **options: Any) -> None:
        self.clock = clock
        self.due: list[tuple[float, Callable[[], object]]] = []
        self.policy = DCFailoverRoundRobinPolicy("dc1", ["dc2", "dc3"], **options)
        self.hosts = {
            dc: [make_host(10 * n + m, dc) for m in range(3)] for n, dc in enumerate(("dc1", "dc2", "dc3"), 1)
        }
        every = [host for hosts in self.hosts.values() for host in hosts]
        self.metadata: Metadata = make_metadata({host: [number] for number, host in enumerate(every)}, ks=EVERYWHERE)
        scheduler = SimpleNamespace(schedule=lambda delay, fn: self.due.append((clock.now + delay, fn)))
        self.chain = TokenAwarePolicy(self.policy)
        self.chain.populate(SimpleNamespace(metadata=self.metadata, scheduler=scheduler), every)
        router = router_for(self.chain)
        assert isinstance(router, PickingRouter)
        self.router = router

    def advance(self, seconds: float) -> None:
        end = self.clock.now + seconds
        while self.due and min(at for at, _ in self.due) <= end:
            at, check = min(self.due, key=lambda one: one[0])
            self.due.remove((at, check))
            self.clock.now = max(self.clock.now, at)
            check()
        self.clock.now = end

    def cut(self, dc: str) -> None:
        for host in self.hosts[dc]:
            host.set_down()
            self.chain.on_down(host)

    def restore(self, dc: str, count: int = 3) -> None:
        for host in self.hosts[dc][:count]:
            host.set_up()
            self.chain.on_up(host)

    def used(self, level: int, token: int | None = 4) -> set[str | None]:
        """The datacenters of the first hosts of 60 requests."""
        pick = self.router.route(self.metadata.state, "ks", "t", Statement(), level)
        return {None if (target := pick(token)) is None else target.host.datacenter for _ in range(60)}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    found = Clock()
    monkeypatch.setattr(failover, "monotonic", found)
    yield found


class TestRule:
    def rule(self, hosts: int | None = None, seconds: float = 30.0) -> ActiveDatacenter:
        return ActiveDatacenter(["a", "b", "c"], hosts, seconds)

    def test_the_local_one_is_left_only_without_hosts_that_respond(self) -> None:
        rule = self.rule()
        assert not rule.update({"a": (1, 3), "b": (3, 3)}, 0)
        assert rule.update({"a": (0, 3), "b": (3, 3)}, 0) and rule.name == "b"

    def test_the_next_one_has_hosts_that_respond(self) -> None:
        rule = self.rule()
        assert not rule.update({"a": (0, 3), "b": (0, 3), "c": (0, 3)}, 0) and rule.name == "a"
        assert rule.update({"a": (0, 3), "b": (0, 3), "c": (1, 3)}, 0) and rule.name == "c"

    def test_it_returns_after_a_majority_has_responded_for_a_time(self) -> None:
        rule = self.rule()
        rule.update({"a": (0, 3), "b": (3, 3)}, 0)
        for now, responding in ((10, 1), (20, 2), (49.9, 3)):
            assert not rule.update({"a": (responding, 3), "b": (3, 3)}, now)
        assert rule.update({"a": (3, 3), "b": (3, 3)}, 50) and rule.name == "a"

    def test_an_interruption_starts_the_time_anew(self) -> None:
        rule = self.rule(hosts=3)
        rule.update({"a": (0, 3), "b": (3, 3)}, 0)
        for now in range(10, 1000, 10):
            assert not rule.update({"a": (3 if now % 30 else 2, 3), "b": (3, 3)}, now)
        assert rule.name == "b"

    def test_without_another_one_it_returns_at_once(self) -> None:
        rule = self.rule()
        rule.update({"a": (0, 3), "b": (3, 3)}, 0)
        assert rule.update({"a": (1, 3), "b": (0, 3)}, 1) and rule.name == "a"

    @pytest.mark.parametrize("seed", range(5))
    def test_hours_of_a_failing_network(self, seed: int) -> None:
        """The active datacenter has hosts that respond, if any does, and changes to a preferred one only after it has
        responded for 30 s: so of two returns, the second is at least 30 s later."""
        chance, rule, returns = random.Random(seed), self.rule(), [-HOUR]
        good_since: dict[str, float] = {}
        for second in range(int(4 * HOUR)):
            broken = chance.random() < 0.3
            counts = {name: (chance.choice((0, 1, 2, 3)) if broken else 3, 3) for name in "abc"}
            if HOUR < second < 3 * HOUR:
                counts["a"] = (0, 3)  # a partition
            for name, (responding, _) in counts.items():
                good_since[name] = good_since.get(name, second) if responding >= 2 else second + 1
            before = rule.name
            rule.update(counts, float(second))
            if any(responding for responding, _ in counts.values()):
                assert counts[rule.name][0] > 0
            if rule.name < before and counts[before][0] > 0:
                assert second - good_since[rule.name] >= 30
                assert second - returns[-1] >= 30
                returns.append(second)
            if HOUR < second < 3 * HOUR:
                assert rule.name != "a" or not any(counts[name][0] for name in "bc")


class TestPolicy:
    def test_replicas_of_the_active_datacenter_are_used(self, clock: Clock) -> None:
        scene = Scene(clock)
        assert scene.used(ConsistencyLevel.QUORUM) == {"dc1"}
        scene.cut("dc1")
        assert scene.policy.active_dc == "dc2"
        assert scene.used(ConsistencyLevel.QUORUM) == scene.used(ConsistencyLevel.ONE, None) == {"dc2"}
        scene.cut("dc2")
        assert scene.used(ConsistencyLevel.QUORUM) == {"dc3"}

    def test_silent_hosts_do_not_respond(self, clock: Clock) -> None:
        scene = Scene(clock)
        for host in scene.hosts["dc1"]:
            host.is_suspect = True
        scene.policy._on_suspect()
        scene.advance(0)
        assert scene.used(ConsistencyLevel.QUORUM) == {"dc2"}
        assert scene.used(ConsistencyLevel.LOCAL_QUORUM) == {None}

    @pytest.mark.parametrize("level", [ConsistencyLevel.LOCAL_ONE, ConsistencyLevel.LOCAL_QUORUM])
    def test_local_levels_stay(self, clock: Clock, level: int) -> None:
        scene = Scene(clock)
        assert scene.used(level) == {"dc1"}
        assert scene.router.refusal(Statement(), level) is None
        scene.cut("dc1")
        assert scene.used(level) == scene.used(level, None) == {None}
        reason = scene.router.refusal(Statement(), level)
        assert reason is not None
        for part in (ConsistencyLevel.value_to_name[level], "'dc1'", "'dc2'", "allow_remote_dcs_for_local"):
            assert part in reason
        assert scene.router.refusal(Statement(), ConsistencyLevel.QUORUM) is None
        scene.restore("dc1", 1)  # not enough to return, but enough for these
        assert scene.used(level) == {"dc1"}
        assert scene.used(ConsistencyLevel.QUORUM) == {"dc2"}

    def test_local_levels_may_leave_if_allowed(self, clock: Clock) -> None:
        scene = Scene(clock, allow_remote_dcs_for_local_consistency_level=True)
        scene.cut("dc1")
        assert scene.used(ConsistencyLevel.LOCAL_QUORUM) == {"dc2"}
        assert scene.router.refusal(Statement(), ConsistencyLevel.LOCAL_QUORUM) is None

    @pytest.mark.parametrize("level", [ConsistencyLevel.LOCAL_ONE, ConsistencyLevel.ONE])
    def test_further_hosts_obey_the_level(self, clock: Clock, level: int) -> None:
        scene = Scene(clock)
        first, rest = scene.router.start(scene.metadata.state, "ks", 4, Statement(keyspace="ks"), level)
        assert first is not None and rest is None
        plan = scene.router.fallback(scene.metadata.state, "ks", 4, Statement(keyspace="ks"), first, level)
        found = [target.host.datacenter for target in plan]
        assert found[:2] == ["dc1", "dc1"]
        assert sorted(found[2:]) == ([] if level == ConsistencyLevel.LOCAL_ONE else ["dc2"] * 3 + ["dc3"] * 3)

    def test_it_returns_after_the_recovery_time(self, clock: Clock) -> None:
        scene = Scene(clock, recovery_hosts=2, recovery_time=60)
        scene.cut("dc1")
        scene.advance(3 * HOUR)
        assert scene.used(ConsistencyLevel.QUORUM) == {"dc2"}
        scene.restore("dc1", 2)
        scene.advance(50)
        assert scene.used(ConsistencyLevel.QUORUM) == {"dc2"}
        scene.advance(20)
        assert scene.used(ConsistencyLevel.QUORUM) == {"dc1"}
        scene.advance(5)
        assert not scene.due  # nothing is checked while the local datacenter is used

    def test_checks_do_not_multiply(self, clock: Clock) -> None:
        """Each host that becomes silent causes a check, but one timer is enough."""
        scene = Scene(clock)
        scene.cut("dc1")
        for _ in range(20):
            scene.policy._on_suspect()
            scene.advance(0.3)
        scene.advance(10)
        assert len(scene.due) == 1

    def test_a_majority_is_one_of_all_known_hosts(self, clock: Clock) -> None:
        scene = Scene(clock)
        scene.cut("dc1")
        scene.restore("dc1", 1)
        scene.advance(HOUR)
        assert scene.policy.active_dc == "dc2"
        scene.restore("dc1", 2)
        scene.advance(31)
        assert scene.policy.active_dc == "dc1"

    def test_distances(self, clock: Clock) -> None:
        scene = Scene(clock, used_hosts_per_remote_dc=2)
        elsewhere = make_host(99, "dc9")

        def distances() -> list[list[int]]:
            return [[scene.policy.distance(host) for host in hosts] for hosts in scene.hosts.values()]

        near, far, ignored = HostDistance.LOCAL, HostDistance.REMOTE, HostDistance.IGNORED
        assert distances() == [[near] * 3, [far, far, ignored], [far, far, ignored]]
        assert scene.policy.distance(elsewhere) == ignored
        scene.cut("dc1")
        assert distances() == [[far] * 3, [near, near, ignored], [far, far, ignored]]

    def test_plans_of_programs_policies(self, clock: Clock) -> None:
        """They do not name the level: only statements with one of their own leave the datacenter."""
        scene = Scene(clock)
        statement: Any = Statement()
        statement.consistency_level = ConsistencyLevel.QUORUM
        assert [host.datacenter for host in scene.policy.make_query_plan("ks", statement)] == (
            ["dc1"] * 3 + ["dc2"] * 3 + ["dc3"] * 3
        )
        assert {host.datacenter for host in scene.policy.make_query_plan("ks", Statement())} == {"dc1"}
        assert len(list(scene.policy.make_query_plan())) == 9  # of the control connection

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            (("", ["dc2"]), "datacenters"),
            (("dc1", ["dc1"]), "datacenters"),
            (("dc1", ["dc2"], 0), "used_hosts_per_remote_dc"),
        ],
    )
    def test_wrong_arguments(self, arguments: Any, text: str) -> None:
        with pytest.raises(ValueError, match=text):
            DCFailoverRoundRobinPolicy(*arguments)

    @pytest.mark.parametrize(("option", "wrong"), [("recovery_hosts", 0), ("recovery_time", -1)])
    def test_wrong_options(self, option: str, wrong: float) -> None:
        with pytest.raises(ValueError, match=option):
            DCFailoverRoundRobinPolicy("dc1", ["dc2"], **{option: wrong})

    def test_removed_hosts_are_forgotten(self, clock: Clock) -> None:
        scene = Scene(clock)
        gone: Host = scene.hosts["dc1"][2]
        scene.chain.on_remove(gone)
        assert gone not in list(scene.policy.make_query_plan())
        scene.cut("dc1")
        scene.restore("dc1", 2)
        scene.advance(31)
        assert scene.policy.active_dc == "dc1"
