"""Load balancing policies: distances, plans, and that picking and planning agree."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra._net.endpoint import DefaultEndPoint, UnixSocketEndPoint
from cassandra._routing.host import Host
from cassandra._routing.policies import router_for
from cassandra._routing.policies.router import PickingRouter
from cassandra.metadata import Metadata
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    HostDistance,
    HostFilterPolicy,
    HostStateListener,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    SimpleConvictionPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
    WrapperPolicy,
)
from tests.fakes.routing import Cluster, Statement, make_host

from .plans import (
    IGNORED,
    KEY,
    LOCAL,
    LOCAL_RACK,
    REMOTE,
    first_of,
    plan,
    populated,
    ring_of_four,
    routed,
    two_dcs,
)

# --------------------------------------------------------------------------------------------- round robin


def test_round_robin_takes_turns() -> None:
    hosts = [make_host(number) for number in range(1, 5)]
    policy = populated(RoundRobinPolicy(), hosts)
    plans = [plan(policy) for _ in range(8)]
    assert all(sorted(one) == hosts for one in plans)
    assert Counter(one[0] for one in plans) == dict.fromkeys(hosts, 2)
    for before, after in itertools.pairwise(plans):
        assert after == before[1:] + before[:1]
    assert {policy.distance(host) for host in hosts} == {HostDistance.LOCAL}


@pytest.mark.parametrize(
    "make",
    [
        RoundRobinPolicy,
        lambda: DCAwareRoundRobinPolicy("dc1"),
        lambda: RackAwareRoundRobinPolicy("dc1", "r1"),
        lambda: TokenAwarePolicy(RoundRobinPolicy()),
        lambda: DefaultLoadBalancingPolicy(RoundRobinPolicy()),
        lambda: HostFilterPolicy(RoundRobinPolicy(), lambda host: True),
        lambda: WhiteListRoundRobinPolicy([f"10.0.0.{number}" for number in range(1, 5)]),
    ],
)
def test_hosts_come_and_go(make: Callable[[], Any]) -> None:
    first, second, third = (make_host(number) for number in (1, 2, 3))
    policy = populated(make(), [first, second])
    policy.on_down(second)
    assert plan(policy) == [first]
    policy.on_up(second)
    policy.on_up(second)
    assert sorted(plan(policy)) == [first, second]
    policy.on_add(third)
    assert sorted(plan(policy)) == [first, second, third]
    policy.on_remove(first)
    policy.on_remove(first)
    policy.on_down(second)
    assert plan(policy) == [third]
    policy.on_remove(third)
    assert plan(policy) == routed(policy, Metadata().state) == []


def test_an_equal_host_takes_the_place_of_the_old_one() -> None:
    old, new = make_host(1), make_host(1)
    for policy in (RoundRobinPolicy(), DCAwareRoundRobinPolicy("dc1"), RackAwareRoundRobinPolicy("dc1", "r1")):
        populated(policy, [old])
        policy.on_up(new)
        assert [host is new for host in plan(policy)] == [True]


def test_an_empty_policy_has_an_empty_plan() -> None:
    for policy in (RoundRobinPolicy(), DCAwareRoundRobinPolicy(), RackAwareRoundRobinPolicy("a", "b")):
        assert plan(policy) == []
        assert router_for(policy).start(Metadata().state, None, None, None) == (None, None)


def test_white_list() -> None:
    hosts = [make_host(number) for number in (1, 2, 3)]
    policy = populated(WhiteListRoundRobinPolicy(["10.0.0.2", "10.0.0.3"]), hosts)
    assert sorted(plan(policy)) == hosts[1:]
    assert [policy.distance(host) for host in hosts] == [IGNORED, LOCAL, LOCAL]
    policy.on_up(hosts[0])
    policy.on_add(hosts[0])
    policy.on_down(hosts[1])
    assert plan(policy) == [hosts[2]]


def test_white_list_resolves_names_and_takes_sockets() -> None:
    local = Host("127.0.0.1", SimpleConvictionPolicy)
    by_socket = Host(UnixSocketEndPoint("/run/cql.sock"), SimpleConvictionPolicy)
    policy = WhiteListRoundRobinPolicy(["localhost", "/run/cql.sock"])
    assert [policy.distance(host) for host in (local, by_socket)] == [LOCAL, LOCAL]


# --------------------------------------------------------------------------------------------- datacenters and racks


def test_dc_aware_stays_at_home() -> None:
    local, remote = two_dcs()
    policy = populated(DCAwareRoundRobinPolicy("dc1"), local + remote)
    plans = [plan(policy) for _ in range(6)]
    assert all(sorted(one) == local for one in plans)
    assert Counter(one[0] for one in plans) == dict.fromkeys(local, 2)
    assert [policy.distance(host) for host in local + remote] == [LOCAL] * 3 + [IGNORED] * 3


def test_dc_aware_with_remote_hosts() -> None:
    local, remote = two_dcs()
    third = make_host(7, "dc3")
    policy = populated(DCAwareRoundRobinPolicy("dc1", 2), [*local, *remote, third])
    one = plan(policy)
    assert sorted(one[:3]) == local
    assert set(one[3:]) == {*remote[:2], third}
    assert [policy.distance(host) for host in (*remote, third)] == [REMOTE, REMOTE, IGNORED, REMOTE]
    policy.on_down(remote[0])
    assert [policy.distance(host) for host in remote] == [IGNORED, REMOTE, REMOTE]
    for host in local:
        policy.on_down(host)
    assert set(plan(policy)) == {remote[1], remote[2], third}


def test_dc_aware_finds_its_dc_by_the_contact_points(caplog: pytest.LogCaptureFixture) -> None:
    local, remote = two_dcs()
    policy = DCAwareRoundRobinPolicy()
    contact = make_host(4, None)
    policy.populate(Cluster(Metadata(), (contact.endpoint,)), [contact])
    assert policy.local_dc == ""
    assert plan(policy) == [contact]
    assert policy.distance(contact) == LOCAL
    with caplog.at_level("INFO", "cassandra.policies"):
        contact.set_location_info("dc2", "r1")
        policy.on_add(local[0])  # no contact point, but another event
    assert policy.local_dc == "dc2"
    assert "Using datacenter 'dc2'" in caplog.text
    policy.on_add(remote[1])
    assert sorted(plan(policy)) == [contact, remote[1]]
    assert policy.distance(local[0]) == IGNORED


@pytest.mark.parametrize("points", [(), ("10.9.9.9",), ("10.0.0.4",)], ids=["none", "not a node", "nowhere"])
def test_without_a_contact_point_that_is_somewhere_the_first_node_decides(points: tuple[str, ...]) -> None:
    local, remote = two_dcs()
    policy = DCAwareRoundRobinPolicy()
    unknown = make_host(4, None)
    endpoints = tuple(DefaultEndPoint(point) for point in points)
    policy.populate(Cluster(Metadata(), endpoints), [unknown, *remote, *local])
    assert policy.local_dc == "dc2"
    policy.on_add(local[0])
    assert policy.local_dc == "dc2"


def test_a_plan_sees_changes_of_a_tier_before_it_is_reached() -> None:
    local, remote = two_dcs()
    policy = populated(DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=9), [*local, *remote])
    hosts = policy.make_query_plan()
    first = next(hosts)
    policy.on_down(next(host for host in local if host != first))  # in the tier that is being given
    policy.on_down(remote[0])
    policy.on_add(make_host(9, "dc3", "r1"))
    assert sorted(hosts) == sorted([*(set(local) - {first}), *remote[1:], make_host(9, "dc3", "r1")])


def test_a_given_dc_is_not_guessed() -> None:
    _, remote = two_dcs()
    policy = DCAwareRoundRobinPolicy("dc1")
    policy.populate(Cluster(Metadata(), (remote[0].endpoint,)), remote)
    assert policy.local_dc == "dc1"
    assert plan(policy) == []


def test_a_host_that_learns_its_dc_moves() -> None:
    host = make_host(1, None)
    policy = populated(DCAwareRoundRobinPolicy("dc1"), [host])
    assert plan(policy) == [host]
    host.set_location_info("dc2", "r1")
    policy.on_up(host)
    assert plan(policy) == []


def test_rack_aware() -> None:
    rack, other = [make_host(n, "dc1", "r1") for n in (1, 2)], [make_host(n, "dc1", "r2") for n in (3, 4)]
    remote = [make_host(n, "dc2", "r1") for n in (5, 6)]
    policy = populated(RackAwareRoundRobinPolicy("dc1", "r1", used_hosts_per_remote_dc=1), rack + other + remote)
    plans = [plan(policy) for _ in range(4)]
    for one in plans:
        assert (sorted(one[:2]), sorted(one[2:4]), one[4:]) == (rack, other, remote[:1])
    assert Counter(one[0] for one in plans) == dict.fromkeys(rack, 2)
    assert Counter(one[2] for one in plans) == dict.fromkeys(other, 2)
    distances = [policy.distance(host) for host in rack + other + remote]
    assert distances == [LOCAL_RACK] * 2 + [LOCAL] * 2 + [REMOTE, IGNORED]
    for host in rack:
        policy.on_down(host)
    assert plan(policy)[0] in other


def test_rack_aware_needs_to_know_where_it_is() -> None:
    for dc, rack in (("", "r"), ("d", ""), (None, "r")):
        with pytest.raises(ValueError, match="local_dc and local_rack"):
            RackAwareRoundRobinPolicy(dc, rack)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------- wrappers


def test_host_filter() -> None:
    hosts = [make_host(number) for number in (1, 2, 3)]
    banned = {hosts[1]}
    policy = populated(HostFilterPolicy(RoundRobinPolicy(), lambda host: host not in banned), hosts)
    for _ in range(6):
        assert sorted(plan(policy)) == sorted(routed(policy, Metadata().state)) == [hosts[0], hosts[2]]
    assert [policy.distance(host) for host in hosts] == [LOCAL, IGNORED, LOCAL]
    banned.clear()
    assert sorted(plan(policy)) == hosts
    with pytest.raises(AttributeError):
        policy.predicate = lambda host: True
    assert policy.predicate(hosts[0])


def test_host_filter_around_and_within_token_awareness() -> None:
    hosts, metadata = ring_of_four()
    banned = {hosts[0]}
    outside = HostFilterPolicy(TokenAwarePolicy(RoundRobinPolicy()), lambda host: host not in banned)
    inside = TokenAwarePolicy(HostFilterPolicy(RoundRobinPolicy(), lambda host: host not in banned))
    query = Statement(KEY, "ks")
    for policy in (populated(outside, hosts, metadata), populated(inside, hosts, metadata)):
        for _ in range(6):
            assert plan(policy, None, query)[0] is routed(policy, metadata.state, "ks", query)[0] is hosts[1]
            assert hosts[0] not in routed(policy, metadata.state, "ks", query)
    banned.clear()
    assert {routed(inside, metadata.state, "ks", query)[0] for _ in range(40)} == set(hosts[:2])


def test_a_targeted_host_comes_first() -> None:
    hosts = [make_host(number) for number in (1, 2, 3)]
    metadata = Metadata()
    for host in hosts:
        metadata.add_or_return_host(host)
    policy = populated(DefaultLoadBalancingPolicy(RoundRobinPolicy()), hosts, metadata)
    query: Any = Statement()
    query.target_host = "10.0.0.3"
    for _ in range(5):
        for one in (plan(policy, None, query), routed(policy, metadata.state, None, query)):
            assert one[0] is hosts[2]
            assert sorted(one) == hosts
    hosts[2].is_up = False
    assert sorted(plan(policy, None, query)) == hosts
    query.target_host = "10.0.0.99"
    assert sorted(routed(policy, metadata.state, None, query)) == hosts


def calls_of(action: Callable[[], object]) -> int:
    """How many functions and generators of Python run, or go on, in *action*."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("query", [None, Statement(), Statement(keyspace="ks")], ids=["none", "plain", "keyspace"])
@pytest.mark.parametrize(
    "make",
    [
        lambda hosts: RoundRobinPolicy(),
        lambda hosts: DCAwareRoundRobinPolicy("dc1", 9),
        lambda hosts: RackAwareRoundRobinPolicy("dc1", "r1", 9),
        lambda hosts: TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1", 9)),
        lambda hosts: HostFilterPolicy(TokenAwarePolicy(RoundRobinPolicy()), frozenset(hosts).__contains__),
        lambda hosts: DefaultLoadBalancingPolicy(TokenAwarePolicy(RoundRobinPolicy())),
    ],
    ids=["round robin", "dc", "rack", "token", "filter", "default"],
)
def test_no_python_code_runs_for_each_host_of_a_plan(make: Callable[[list[Host]], Any], query: Any) -> None:
    hosts = [make_host(number, f"dc{1 + number % 2}", "r1") for number in range(40)]
    metadata = Metadata()
    for host in hosts:
        metadata.add_or_return_host(host)
    policy = populated(make(hosts), hosts, metadata)
    found: list[Host] = []
    assert calls_of(lambda: found.extend(policy.make_query_plan("ks", query))) < 20
    assert len(found) > 20 and len(set(found)) == len(found)


def test_a_plan_without_a_token_is_that_of_the_child() -> None:
    plans: list[Iterator[Host]] = []

    class Child(RoundRobinPolicy):
        def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
            plans.append(super().make_query_plan(working_keyspace, query))
            return plans[-1]

    for make in (TokenAwarePolicy, DefaultLoadBalancingPolicy):
        policy = populated(make(Child()), [make_host(1), make_host(2)], Metadata())
        assert policy.make_query_plan("ks", Statement()) is plans[-1]


def test_a_targeted_host_is_found_by_the_address_it_has_now() -> None:
    hosts = [make_host(number) for number in (1, 2, 3)]
    metadata = Metadata()
    for host in hosts:
        metadata.add_or_return_host(host)
    hosts[0].broadcast_rpc_address = "10.1.0.1"
    policy = populated(DefaultLoadBalancingPolicy(RoundRobinPolicy()), hosts, metadata)
    query: Any = Statement()
    query.target_host = "10.1.0.1"
    assert [plan(policy, None, query)[0] for _ in range(2)] == [hosts[0]] * 2
    hosts[0].broadcast_rpc_address, hosts[1].broadcast_rpc_address = "10.1.0.9", "10.1.0.1"
    assert [plan(policy, None, query)[0] for _ in range(2)] == [hosts[1]] * 2
    assert metadata.get_host("10.1.0.9") is hosts[0]


def test_wrapper_policy_hands_everything_on() -> None:
    calls: list[str] = []

    class Child(RoundRobinPolicy):
        def on_up(self, host: Host) -> None:
            calls.append("up")

        def on_down(self, host: Host) -> None:
            calls.append("down")

        def on_add(self, host: Host) -> None:
            calls.append("add")

        def on_remove(self, host: Host) -> None:
            calls.append("remove")

        def check_supported(self) -> None:
            calls.append("check")

        def distance(self, host: Host) -> int:
            return REMOTE

    host = make_host(1)
    for policy in (
        WrapperPolicy(Child()),
        TokenAwarePolicy(Child()),
        HostFilterPolicy(Child(), lambda host: True),
        DefaultLoadBalancingPolicy(Child()),
    ):
        calls.clear()
        policy.on_up(host)
        policy.on_down(host)
        policy.on_add(host)
        policy.on_remove(host)
        policy.check_supported()
        assert calls == ["up", "down", "add", "remove", "check"]
        assert policy.distance(host) == REMOTE


# --------------------------------------------------------------------------------------------- users' policies


class Fixed(LoadBalancingPolicy):
    """A user's policy: always the same order, from the last host to the first."""

    def __init__(self) -> None:
        self.asked: list[tuple[str | None, Any]] = []

    def populate(self, cluster: Any, hosts: Any) -> None:
        self.hosts = list(hosts)

    def distance(self, host: Host) -> int:
        return LOCAL

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        self.asked.append((working_keyspace, query))
        yield from reversed(self.hosts)


def test_a_users_policy_has_its_generator_followed() -> None:
    hosts = [make_host(number) for number in (1, 2, 3)]
    policy = populated(Fixed(), hosts)
    router, query = router_for(policy), Statement()
    first, rest = router.start(Metadata().state, "ks", 5, query)
    assert first is not None and rest is not None
    assert [place.host for place in (first, *rest)] == hosts[::-1]
    assert policy.asked == [("ks", query)]


def test_a_users_policy_below_built_in_ones() -> None:
    hosts, metadata = ring_of_four()
    policy = populated(TokenAwarePolicy(Fixed()), hosts, metadata)
    query = Statement(KEY, "ks", lwt=True)
    assert routed(policy, metadata.state, "ks", query) == plan(policy, None, query) == [*hosts[:2], hosts[3], hosts[2]]
    filtered = populated(HostFilterPolicy(Fixed(), lambda host: host != hosts[3]), hosts, metadata)
    assert routed(filtered, metadata.state) == [hosts[2], hosts[1], hosts[0]]


def test_only_unmodified_built_in_chains_are_picked_from() -> None:
    class Mine(RoundRobinPolicy):
        pass

    patched = RoundRobinPolicy()
    patched.make_query_plan = lambda *args: iter(())  # type: ignore[method-assign]
    assert isinstance(router_for(TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1"))), PickingRouter)
    for policy in (Mine(), TokenAwarePolicy(Mine()), Fixed(), patched, DefaultLoadBalancingPolicy(patched)):
        assert not isinstance(router_for(policy), PickingRouter)
    assert first_of(router_for(patched), Metadata().state, None, None, None) is None


def test_the_distances_of_a_users_policy_are_asked_for_every_time() -> None:
    hosts, metadata = ring_of_four()
    far: set[Host] = set()

    class Moody(DCAwareRoundRobinPolicy):
        def distance(self, host: Host) -> int:
            return REMOTE if host in far else LOCAL

    patched: Any = DCAwareRoundRobinPolicy("dc1")
    patched.distance = lambda host: REMOTE if host in far else LOCAL
    for child in (Moody("dc1"), patched):
        policy = populated(TokenAwarePolicy(child), hosts, metadata)
        query = Statement(KEY, "ks")
        for slow, quick in ((0, 1), (1, 0), (0, 1)):
            far.clear()
            far.add(hosts[slow])
            for _ in range(5):
                assert routed(policy, metadata.state, "ks", query)[:2] == [hosts[quick], hosts[slow]]
                assert plan(policy, None, query)[:2] == [hosts[quick], hosts[slow]]


def test_a_subclass_with_a_plan_of_its_own() -> None:
    class Backwards(RoundRobinPolicy):
        def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
            return iter(sorted(super().make_query_plan(working_keyspace, query), reverse=True))

    hosts = [make_host(number) for number in (1, 2, 3)]
    policy = populated(Backwards(), hosts)
    assert routed(policy, Metadata().state) == hosts[::-1]


def test_the_base_class_demands_an_implementation() -> None:
    policy, host = LoadBalancingPolicy(), make_host(1)
    for call in (
        lambda: policy.distance(host),
        lambda: policy.populate(None, []),
        lambda: policy.make_query_plan(),
        lambda: HostStateListener().on_up(host),
        lambda: HostStateListener().on_down(host),
        lambda: HostStateListener().on_add(host),
        lambda: HostStateListener().on_remove(host),
    ):
        with pytest.raises(NotImplementedError):
            call()
    policy.check_supported()
