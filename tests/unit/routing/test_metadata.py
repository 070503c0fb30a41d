"""Metadata: finding hosts, publishing snapshots, and readers that never see half of one."""

from __future__ import annotations

import threading
from uuid import UUID

from cassandra._net.endpoint import DefaultEndPoint
from cassandra._routing.host import Host
from cassandra.metadata import Metadata
from cassandra.policies import SimpleConvictionPolicy
from tests.fakes.routing import MURMUR3, make_host, make_metadata

SIMPLE_2 = {"class": "SimpleStrategy", "replication_factor": "2"}


def test_an_empty_cluster() -> None:
    metadata = Metadata()
    assert metadata.all_hosts() == metadata.all_hosts_items() == []
    assert dict(metadata.keyspaces) == {}
    assert metadata.token_map is metadata.partitioner is metadata.cluster_name is None
    assert metadata.dbaas is False
    assert metadata.get_host("10.0.0.1") is None
    assert metadata.get_host_by_host_id(UUID(int=1)) is None
    assert metadata.get_replicas("ks", b"k") == []
    assert metadata.can_support_partitioner()
    assert metadata.export_schema_as_string() == ""


def test_hosts_are_known_by_id_then_by_endpoint() -> None:
    metadata = Metadata()
    host = make_host(1)
    assert metadata.add_or_return_host(host) == (host, True)
    again = Host("10.9.9.9", SimpleConvictionPolicy, host_id=UUID(int=1))
    assert metadata.add_or_return_host(again) == (host, False)
    found_by_contact = Host("10.0.0.1", SimpleConvictionPolicy)
    assert metadata.add_or_return_host(found_by_contact) == (host, False)
    assert metadata.all_hosts() == [host]
    assert metadata.all_hosts_items() == [(UUID(int=1), host)]


def test_a_node_replaced_at_the_same_address_is_another_host() -> None:
    metadata = Metadata()
    old, new = make_host(1), Host("10.0.0.1", SimpleConvictionPolicy, host_id=UUID(int=2))
    metadata.add_or_return_host(old)
    assert metadata.add_or_return_host(new) == (new, True)
    assert metadata.get_host(DefaultEndPoint("10.0.0.1")) is new
    assert metadata.remove_host_by_host_id(UUID(int=1), old.endpoint)
    assert metadata.all_hosts() == [new]
    assert metadata.get_host(DefaultEndPoint("10.0.0.1")) is new


def test_get_host() -> None:
    metadata = Metadata()
    first, second, third = (make_host(number) for number in (1, 2, 3))
    first.broadcast_rpc_address, first.broadcast_rpc_port = "192.168.0.1", 9042
    second.broadcast_rpc_address, second.broadcast_rpc_port = "192.168.0.1", 9043
    for host in (first, second, third):
        metadata.add_or_return_host(host)
    assert metadata.get_host(first.endpoint) is first
    assert metadata.get_host("192.168.0.1") is first
    assert metadata.get_host("192.168.0.1", 9043) is second
    assert metadata.get_host("192.168.0.1", 9999) is None
    assert metadata.get_host("10.0.0.3") is third
    assert metadata.get_host("10.0.0.3", 9042) is third
    assert metadata.get_host("10.0.0.3", 1) is None
    assert metadata.get_host_by_host_id(UUID(int=2)) is second


def test_update_host() -> None:
    metadata = Metadata()
    host = Host("10.0.0.1", SimpleConvictionPolicy)
    metadata.add_or_return_host(host)
    before = host.endpoint
    host.endpoint, host.host_id = DefaultEndPoint("10.0.0.9"), UUID(int=9)
    assert metadata.update_host(host, before) is host
    assert metadata.get_host(before) is None
    assert metadata.get_host(host.endpoint) is host
    assert metadata.get_host_by_host_id(UUID(int=9)) is host
    stranger = make_host(2)
    assert metadata.update_host(stranger, before) is stranger
    assert metadata.all_hosts() == [host, stranger]


def test_a_removed_host_loses_its_tokens() -> None:
    hosts = [make_host(number) for number in (1, 2, 3)]
    metadata = make_metadata({hosts[0]: [0], hosts[1]: [10], hosts[2]: [20]}, ks=SIMPLE_2)
    before = metadata.state
    assert before.replicas("ks", 5) == (hosts[1], hosts[2])
    assert metadata.remove_host(hosts[1])
    assert metadata.state.replicas("ks", 5) == (hosts[2], hosts[0])
    assert before.replicas("ks", 5) == (hosts[1], hosts[2])
    assert not metadata.remove_host(hosts[1])
    assert not metadata.remove_host_by_host_id(UUID(int=2))
    assert not metadata.remove_host_by_host_id(UUID(int=1), DefaultEndPoint("10.0.0.77"))
    assert metadata.remove_host_by_host_id(UUID(int=1))
    assert metadata.remove_host(hosts[2])
    assert metadata.token_map is not None and metadata.token_map.ring == []


def test_rebuild_token_map() -> None:
    host = make_host(1)
    metadata = make_metadata({host: [1]}, ks=SIMPLE_2)
    metadata.rebuild_token_map(MURMUR3, {host: ["5", "6"]})
    assert metadata.token_map is not None
    assert [token.value for token in metadata.token_map.ring] == [5, 6]
    assert metadata.all_hosts() == [host]
    metadata.rebuild_token_map(MURMUR3, {})
    assert metadata.token_map.ring == [] and metadata.token_map.token_to_host_owner == {}
    assert metadata.token_map.get_replicas("ks", metadata.token_map.token_class(5)) == []


def test_replacing_the_topology_returns_added_and_removed_hosts() -> None:
    first, second, third = (make_host(number) for number in (1, 2, 3))
    metadata = Metadata()
    change = metadata.replace_topology([first, second], MURMUR3, {first: ["1"]})
    assert (change.added, change.removed) == ((first, second), ())
    change = metadata.replace_topology([second, third])
    assert (change.added, change.removed) == ((third,), (first,))
    assert metadata.token_map is None


def test_places_are_read_when_the_ring_is_made() -> None:
    host = make_host(1, "dc1")
    network = {"class": "NetworkTopologyStrategy", "dc2": "1"}
    metadata = make_metadata({host: [1]}, ks=network)
    assert metadata.state.replicas("ks", 1) == ()
    host.set_location_info("dc2", "r1")
    metadata.rebuild_token_map(MURMUR3, {host: ["1"]})
    assert metadata.state.replicas("ks", 1) == (host,)


def test_get_replicas_in_ring_order() -> None:
    hosts = [make_host(number) for number in (1, 2, 3)]
    metadata = make_metadata({hosts[0]: [-(1 << 62)], hosts[1]: [0], hosts[2]: [1 << 62]}, ks=SIMPLE_2)
    assert metadata.get_replicas("ks", b"test") == [hosts[0], hosts[1]]  # token -6017608668500074083
    assert metadata.get_replicas("nowhere", b"test") == []


def test_readers_see_whole_snapshots() -> None:
    """Hosts, ring and replicas that a reader finds in one state always belong together."""
    generations = [[make_host(base + step) for step in range(3)] for base in (1, 11, 21)]
    metadata = make_metadata({host: [number] for number, host in enumerate(generations[0])}, ks=SIMPLE_2)
    stop = threading.Event()
    wrong: list[str] = []

    def read() -> None:
        while not stop.is_set():
            state = metadata.state
            replicas = state.replicas("ks", 1)
            if not set(replicas) <= set(state.hosts) or len(replicas) != 2:
                wrong.append(f"{replicas} of {state.hosts}")

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(300):
        hosts = generations[turn % 3]
        metadata.replace_topology(hosts, MURMUR3, {host: [str(number)] for number, host in enumerate(hosts)})
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []
