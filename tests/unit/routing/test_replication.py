"""Replica placement against an independent reference, and the names, equality and texts of strategies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra._routing.host import Host
from cassandra._routing.replication import ReplicationStrategyTypeType, _ReplicationStrategy
from cassandra._routing.tokens import ReplicaMap
from cassandra.metadata import (
    EverywhereStrategy,
    LocalStrategy,
    Metadata,
    Murmur3Token,
    NetworkTopologyStrategy,
    ReplicationFactor,
    ReplicationStrategy,
    SimpleStrategy,
)
from tests.fakes.routing import MURMUR3, make_host, make_metadata

# --------------------------------------------------------------------------------------------- the reference
#
# Written after the algorithm of Cassandra up to 3.x, which goes another way than ours (and than 4.x): per data
# centre, hosts of racks met before are put aside and let in once every rack was met. Both place the same hosts.


def clockwise(owners: list[tuple[int, Host]], token: int) -> list[Host]:
    ordered = sorted(owners, key=lambda pair: pair[0])
    after = [pair for pair in ordered if pair[0] >= token]
    before = [pair for pair in ordered if pair[0] < token]
    return list({id(host): host for _, host in after + before}.values())


def reference_network(owners: list[tuple[int, Host]], token: int, factors: Mapping[str, int]) -> set[Host]:
    walk = clockwise(owners, token)
    chosen: set[Host] = set()
    for dc, factor in factors.items():
        local = [host for host in walk if host.datacenter == dc]
        all_racks = {host.rack for host in local}
        seen_racks: set[str | None] = set()
        put_aside: list[Host] = []
        picked: list[Host] = []
        wanted = min(factor, len(local))
        for host in local:
            if len(picked) >= wanted:
                break
            if seen_racks == all_racks:
                picked.append(host)
            elif host.rack in seen_racks:
                put_aside.append(host)
            else:
                picked.append(host)
                seen_racks.add(host.rack)
                if seen_racks == all_racks:
                    while put_aside and len(picked) < wanted:
                        picked.append(put_aside.pop(0))
        chosen.update(picked)
    return chosen


# --------------------------------------------------------------------------------------------- placement


@st.composite
def clusters(draw: st.DrawFn) -> list[tuple[int, Host]]:
    """Up to twelve hosts in up to four datacenters of up to four racks, with up to five tokens each."""
    count = draw(st.integers(1, 12))
    hosts = [
        make_host(
            number,
            f"dc{draw(st.integers(1, 4))}",
            f"r{draw(st.integers(1, 4))}",
        )
        for number in range(1, count + 1)
    ]
    vnodes = draw(st.integers(1, 5))
    tokens = draw(st.lists(st.integers(-50, 50), min_size=count * vnodes, max_size=count * vnodes, unique=True))
    return [(token, hosts[position % count]) for position, token in enumerate(tokens)]


def metadata_of(owners: list[tuple[int, Host]], **replications: dict[str, str]) -> Metadata:
    tokens: dict[Host, list[int]] = {}
    for token, host in owners:
        tokens.setdefault(host, []).append(token)
    return make_metadata(tokens, **replications)


@given(clusters(), st.dictionaries(st.sampled_from(["dc1", "dc2", "dc3", "dc9"]), st.integers(0, 6)), st.data())
def test_network_topology_places_as_the_server_does(
    owners: list[tuple[int, Host]], factors: dict[str, int], data: st.DataObject
) -> None:
    options = {dc: str(factor) for dc, factor in factors.items()}
    state = metadata_of(owners, ks={"class": "NetworkTopologyStrategy", **options}).state
    token = data.draw(st.integers(-55, 55))
    replicas = state.replicas("ks", token)
    assert set(replicas) == reference_network(owners, token, factors)
    assert len(set(replicas)) == len(replicas)
    walk = clockwise(owners, token)
    assert sorted(replicas, key=walk.index) == list(replicas)


@given(clusters(), st.integers(0, 14), st.integers(-55, 55))
def test_simple_places_on_the_next_hosts(owners: list[tuple[int, Host]], factor: int, token: int) -> None:
    state = metadata_of(owners, ks={"class": "SimpleStrategy", "replication_factor": str(factor)}).state
    assert list(state.replicas("ks", token)) == clockwise(owners, token)[:factor]


@given(clusters(), st.integers(-55, 55))
def test_everywhere_is_everywhere(owners: list[tuple[int, Host]], token: int) -> None:
    state = metadata_of(owners, ks={"class": "EverywhereStrategy"}).state
    assert list(state.replicas("ks", token)) == clockwise(owners, token)


def test_more_replicas_than_racks() -> None:
    a1, a2, a3 = (make_host(number, rack="a") for number in (1, 2, 3))
    b1 = make_host(4, rack="b")
    metadata = make_metadata(
        {a1: [10], a2: [20], a3: [30], b1: [40]}, ks={"class": "NetworkTopologyStrategy", "dc1": "3"}
    )
    # one repeated rack is allowed (3 replicas, 2 racks): a2, then the rack not met yet
    assert metadata.state.replicas("ks", 5) == (a1, a2, b1)
    assert metadata.state.replicas("ks", 35) == (b1, a1, a2)


def test_transient_replicas_are_not_routed_to() -> None:
    owners = {make_host(number, rack=f"r{number}"): [number * 10] for number in range(1, 5)}
    metadata = make_metadata(
        owners,
        simple={"class": "SimpleStrategy", "replication_factor": "3/1"},
        network={"class": "NetworkTopologyStrategy", "dc1": "3/1"},
    )
    assert [host.address for host in metadata.state.replicas("simple", 1)] == ["10.0.0.1", "10.0.0.2"]
    assert [host.address for host in metadata.state.replicas("network", 1)] == ["10.0.0.1", "10.0.0.2"]


def test_hosts_without_location_are_placed_by_simple_strategy_only() -> None:
    host = make_host(1, None, None)
    metadata = make_metadata(
        {host: [1]},
        network={"class": "NetworkTopologyStrategy", "dc1": "1"},
        simple={"class": "SimpleStrategy", "replication_factor": "1"},
    )
    assert metadata.state.replicas("network", 0) == ()
    assert metadata.state.replicas("simple", 0) == (host,)


@pytest.mark.parametrize(
    "replication",
    [
        {"class": "org.apache.cassandra.locator.LocalStrategy"},
        {"class": "com.example.OwnStrategy", "level": "high"},
        {"class": "SimpleStrategy"},
        {"class": "SimpleStrategy", "replication_factor": "many"},
        {"class": "NetworkTopologyStrategy", "dc1": "['r1', 'r2']"},
    ],
)
def test_unusable_replication_options_give_no_replicas(replication: dict[str, str]) -> None:
    metadata = make_metadata({make_host(1): [1]}, ks=replication)
    assert metadata.state.replica_map("ks") is None
    assert metadata.state.replicas("ks", 1) == ()
    assert metadata.get_replicas("ks", b"key") == []


def test_unknown_keyspaces_have_no_replicas_and_are_not_remembered() -> None:
    state = make_metadata({make_host(1): [1]}).state
    assert [state.replicas(f"ks{number}", 1) for number in range(3)] == [(), (), ()]
    assert state._replica_maps == {}


def test_ranges_are_worked_out_once_and_on_demand() -> None:
    calls: list[int] = []
    hosts = [make_host(1), make_host(2)]
    metadata = make_metadata({hosts[0]: [1], hosts[1]: [2]})
    ring = metadata.state.topology.ring
    assert ring is not None
    replicas = ReplicaMap(ring, lambda position: calls.append(position) or (hosts[position],))
    assert calls == []
    assert [replicas.replicas(token) for token in (1, 1, 0)] == [(hosts[0],)] * 3
    assert calls == [0]


def test_keyspaces_of_one_strategy_share_their_map() -> None:
    same = {"class": "SimpleStrategy", "replication_factor": "1"}
    state = make_metadata({make_host(1): [1]}, one=same, two=same).state
    assert state.replica_map("one") is state.replica_map("two")


def test_a_subclass_is_not_taken_for_its_base() -> None:
    class SimpleStrategyOfMine(SimpleStrategy):
        def make_token_replica_map(self, token_to_host_owner: Any, ring: Any) -> Any:
            return {token: [token_to_host_owner[ring[0]]] for token in ring}

    try:
        first, second = make_host(1), make_host(2)
        factor = {"replication_factor": "2"}
        metadata = make_metadata(
            {first: [1], second: [2]},
            plain={"class": "SimpleStrategy", **factor},
            mine={"class": "SimpleStrategyOfMine", **factor},
        )
        assert metadata.state.replicas("plain", 2) == (second, first)
        assert metadata.state.replicas("mine", 2) == (first,)
    finally:
        del ReplicationStrategyTypeType.registry["SimpleStrategyOfMine"]


# --------------------------------------------------------------------------------------------- the public classes


def test_make_token_replica_map() -> None:
    first, second = make_host(1), make_host(2)
    ring = [Murmur3Token(10), Murmur3Token(20)]
    owners = {ring[0]: first, ring[1]: second}
    assert SimpleStrategy({"replication_factor": 1}).make_token_replica_map(owners, ring) == {
        ring[0]: [first],
        ring[1]: [second],
    }
    assert NetworkTopologyStrategy({"dc1": 2}).make_token_replica_map(owners, ring) == {
        ring[0]: [first, second],
        ring[1]: [second, first],
    }
    assert LocalStrategy({}).make_token_replica_map(owners, ring) == {}
    assert SimpleStrategy({"replication_factor": 1}).make_token_replica_map({}, []) == {}


def test_strategies_are_made_by_name() -> None:
    create = _ReplicationStrategy.create
    assert ReplicationStrategy is _ReplicationStrategy
    assert create(None, {}) is None
    simple = create("org.apache.cassandra.locator.SimpleStrategy", {"replication_factor": "3"})
    assert isinstance(simple, SimpleStrategy)
    assert simple.replication_factor == 3
    assert simple.name == "SimpleStrategy"
    assert isinstance(create("EverywhereStrategy", {}), EverywhereStrategy)
    unknown = create("Another", {"a": "b"})
    assert unknown is not None
    assert unknown.name == "Another"
    assert unknown.export_for_schema() == "{'a': 'b', 'class': 'Another'}"
    assert unknown == create("Another", {"a": "b"}) != create("Another", {})


def test_strategies_compare_by_their_placement() -> None:
    assert SimpleStrategy({"replication_factor": "3"}) == SimpleStrategy({"replication_factor": 3})
    assert SimpleStrategy({"replication_factor": "3"}) != SimpleStrategy({"replication_factor": "3/1"})
    assert NetworkTopologyStrategy({"a": 1, "b": 2}) == NetworkTopologyStrategy({"b": "2", "a": "1"})
    assert NetworkTopologyStrategy({"a": 1}) != NetworkTopologyStrategy({"a": 2})
    assert LocalStrategy({}) == LocalStrategy({"x": 1})
    assert EverywhereStrategy({}) == EverywhereStrategy({})
    assert SimpleStrategy({"replication_factor": 1}) != LocalStrategy({})
    assert hash(NetworkTopologyStrategy({"a": 1, "b": 2})) == hash(NetworkTopologyStrategy({"b": 2, "a": 1}))


def test_strategies_print_themselves() -> None:
    network = NetworkTopologyStrategy({"dc2": "2", "dc1": "3/1"})
    assert network.export_for_schema() == "{'class': 'NetworkTopologyStrategy', 'dc1': '3/1', 'dc2': '2'}"
    assert network.dc_replication_factors == {"dc2": 2, "dc1": 2}
    assert network.dc_replication_factors_info["dc1"] == ReplicationFactor(3, 1)
    simple = SimpleStrategy({"replication_factor": 2})
    assert simple.export_for_schema() == "{'class': 'SimpleStrategy', 'replication_factor': '2'}"
    assert LocalStrategy({}).export_for_schema() == "{'class': 'LocalStrategy'}"


def test_replication_factor() -> None:
    factor = ReplicationFactor.create("3/1")
    assert (factor.all_replicas, factor.full_replicas, factor.transient_replicas) == (3, 2, 1)
    assert str(factor) == "3/1"
    assert ReplicationFactor.create(3) == ReplicationFactor.create("3") == ReplicationFactor(3)
    assert ReplicationFactor(3) != ReplicationFactor(3, 1)
    assert ReplicationFactor(3) != 3
    for wrong in ("", "a", "3/a", "3/1/1", None):
        with pytest.raises(ValueError, match="Unable to determine replication factor"):
            ReplicationFactor.create(wrong)  # type: ignore[arg-type]


def test_the_partitioner_decides_the_token_class() -> None:
    host = make_host(1)
    metadata = Metadata()
    for partitioner, token, name in (
        (MURMUR3, "-5", "Murmur3Token"),
        ("org.apache.cassandra.dht.RandomPartitioner", "99", "MD5Token"),
        ("org.apache.cassandra.dht.ByteOrderedPartitioner", "00ff", "BytesToken"),
    ):
        metadata.replace_topology([host], partitioner, {host: [token]})
        assert metadata.token_map is not None
        assert metadata.token_map.token_class.__name__ == name
    metadata.replace_topology([host], "com.example.OwnPartitioner", {host: ["x"]})
    assert metadata.token_map is None
    assert metadata.partitioner == "com.example.OwnPartitioner"
