"""Execution profiles, their manager, and what a request reads of them."""

from __future__ import annotations

import copy
import gc
import logging
import weakref
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT, ExecutionProfile, ProfileManager
from cassandra.cluster import Cluster
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    FallthroughRetryPolicy,
    HostDistance,
    NoSpeculativeExecutionPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.query import dict_factory, named_tuple_factory
from tests.fakes.routing import make_host
from tests.unit.session.harness import InOrder, Lab, void


class Recorder(RoundRobinPolicy):
    def __init__(self, distance: int = HostDistance.LOCAL, fails: bool = False) -> None:
        super().__init__()
        self.heard: list[tuple[str, Any]] = []
        self._distance = distance
        self._fails = fails

    def distance(self, host: Any) -> int:
        return self._distance

    def populate(self, cluster: Any, hosts: Any) -> None:
        self.heard.append(("populate", list(hosts)))

    def check_supported(self) -> None:
        self.heard.append(("check_supported", None))

    def _hear(self, event: str, host: Any) -> None:
        self.heard.append((event, host))
        if self._fails:
            raise RuntimeError("policy bug")

    def on_up(self, host: Any) -> None:
        self._hear("on_up", host)

    def on_down(self, host: Any) -> None:
        self._hear("on_down", host)

    def on_add(self, host: Any) -> None:
        self._hear("on_add", host)

    def on_remove(self, host: Any) -> None:
        self._hear("on_remove", host)


def test_defaults() -> None:
    profile = ExecutionProfile()
    assert isinstance(profile.load_balancing_policy, TokenAwarePolicy)
    assert isinstance(profile.load_balancing_policy._child_policy, DCAwareRoundRobinPolicy)
    assert type(profile.retry_policy) is RetryPolicy
    assert profile.consistency_level == ConsistencyLevel.LOCAL_ONE
    assert profile.serial_consistency_level is None
    assert profile.request_timeout == 10.0
    assert profile.row_factory is named_tuple_factory
    assert isinstance(profile.speculative_execution_policy, NoSpeculativeExecutionPolicy)
    assert profile.continuous_paging_options is None


def test_serial_consistency_is_checked() -> None:
    assert ExecutionProfile(serial_consistency_level=ConsistencyLevel.SERIAL).serial_consistency_level == 8
    with pytest.raises(ValueError, match="serial_consistency_level"):
        ExecutionProfile(serial_consistency_level=ConsistencyLevel.ONE)


def test_resolved_is_cached_frozen_and_follows_changes() -> None:
    profile = ExecutionProfile(request_timeout=3)
    first = profile.resolved()
    assert profile.resolved() is first
    assert first.request_timeout == 3
    with pytest.raises(AttributeError, match="cannot set request_timeout"):
        first.request_timeout = 4
    profile.request_timeout = 5
    assert profile.resolved().request_timeout == 5
    assert first.request_timeout == 3


def test_a_copy_resolves_for_itself() -> None:
    profile = ExecutionProfile()
    profile.resolved()
    clone = copy.copy(profile)
    clone.row_factory = dict_factory
    assert clone.resolved().row_factory is dict_factory
    assert profile.resolved().row_factory is named_tuple_factory


def test_policies_that_came_and_went_are_not_kept() -> None:
    """Asking a policy is found out once, but a policy per request must not fill the memory."""
    lab = Lab()
    assert lab.session._router_of(lab.policy) is lab.session._router_of(lab.policy)
    policies: list[weakref.ref[Any]] = []
    for _ in range(500):
        policy = InOrder(lab.hosts)
        policies.append(weakref.ref(policy))
        profile = lab.session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, load_balancing_policy=policy)
        lab[0].script = [void()]
        lab.session.execute("SELECT 1", execution_profile=profile)
        assert policy.plans == 1
        lab[0].sent.clear()
        del policy, profile
    gc.collect()
    assert sum(policy() is not None for policy in policies) <= 100
    assert lab.session._router_of(lab.policy) is lab.session._router_of(lab.policy)


def test_subclass_attributes_count() -> None:
    class Mine(ExecutionProfile):
        def __init__(self) -> None:
            super().__init__(retry_policy=FallthroughRetryPolicy())
            self.label = "mine"

    resolved = Mine().resolved()
    assert isinstance(resolved.retry_policy, FallthroughRetryPolicy)


def manager_of(**policies: Recorder) -> ProfileManager:
    manager = ProfileManager()
    for name, policy in policies.items():
        key = EXEC_PROFILE_DEFAULT if name == "default" else name
        manager.profiles[key] = ExecutionProfile(policy)
    return manager


def test_manager_resolves_names_and_objects() -> None:
    manager = manager_of(default=Recorder(), other=Recorder())
    assert manager.resolved(EXEC_PROFILE_DEFAULT) is manager.default.resolved()
    assert manager.resolved("other") is manager.profiles["other"].resolved()
    loose = ExecutionProfile(request_timeout=1)
    assert manager.resolved(loose).request_timeout == 1
    for unknown in ("nope", None, []):
        with pytest.raises(ValueError, match="Invalid execution_profile"):
            manager.resolved(unknown)


def test_a_shared_policy_hears_once() -> None:
    shared, own = Recorder(), Recorder()
    manager = manager_of(default=shared, same=shared, other=own)
    host = make_host(1)
    manager.populate(None, [host])
    manager.check_supported()
    for event in ("on_add", "on_up", "on_down", "on_remove"):
        getattr(manager, event)(host)
    expected = [("populate", [host]), ("check_supported", None)]
    expected += [(event, host) for event in ("on_add", "on_up", "on_down", "on_remove")]
    assert shared.heard == own.heard == expected


def test_a_failing_policy_does_not_keep_others_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    failing, fine = Recorder(fails=True), Recorder()
    manager = manager_of(default=failing, other=fine)
    with caplog.at_level(logging.ERROR, "cassandra.cluster"):
        manager.on_up(make_host(1))
    assert fine.heard == [("on_up", make_host(1))]
    assert "policy bug" in caplog.text


@pytest.mark.parametrize(
    ("distances", "nearest"),
    [
        ([HostDistance.IGNORED, HostDistance.REMOTE], HostDistance.REMOTE),
        ([HostDistance.LOCAL, HostDistance.REMOTE], HostDistance.LOCAL),
        ([HostDistance.LOCAL, HostDistance.LOCAL_RACK], HostDistance.LOCAL_RACK),
        ([HostDistance.IGNORED, HostDistance.IGNORED], HostDistance.IGNORED),
    ],
)
def test_distance_is_the_nearest(distances: list[int], nearest: int) -> None:
    manager = manager_of(default=Recorder(distances[0]), other=Recorder(distances[1]))
    assert manager.distance(make_host(1)) == nearest


def test_remote_hosts_may_be_left_alone() -> None:
    manager = manager_of(default=Recorder(HostDistance.REMOTE))
    manager.remote_allowed = False
    assert manager.distance(make_host(1)) == HostDistance.IGNORED


def test_no_pools_at_all() -> None:
    manager = ProfileManager(pools_allowed=False)
    manager.profiles[EXEC_PROFILE_DEFAULT] = ExecutionProfile(Recorder())
    assert manager.distance(make_host(1)) == HostDistance.IGNORED


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (RoundRobinPolicy, "load_balancing_policy should not be a class"),
        (
            TokenAwarePolicy(RoundRobinPolicy),
            "the child policy of TokenAwarePolicy should be a policy object, not <class",
        ),
        (TokenAwarePolicy("dc1"), "the child policy of TokenAwarePolicy should be a policy object, not 'dc1'"),
    ],
    ids=["class", "child class", "child text"],
)
def test_a_cluster_refuses_policies_that_are_no_objects(policy: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        Cluster(execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)})
    with pytest.raises(TypeError, match=text):
        Cluster(load_balancing_policy=policy)
