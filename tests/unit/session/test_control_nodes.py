"""Nodes in the system tables: bad rows, nodes without tokens, addresses that are not those for clients."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from cassandra._session.cluster import Cluster
from cassandra.connection import DefaultEndPoint, DefaultEndPointFactory, EndPoint
from cassandra.policies import AddressTranslator, ConstantReconnectionPolicy, DCAwareRoundRobinPolicy
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.fakes.options import AT_ONCE
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("no_leaks")


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(4) as made:
        yield made


def known(cluster: Cluster) -> set[int]:
    """The numbers of the hosts."""
    return {host.host_id.int for host in cluster.metadata.all_hosts()}


def host_of(cluster: Cluster, node: FakeNode) -> Any:
    return cluster.metadata.get_host_by_host_id(node.host_id)


def said(caplog: pytest.LogCaptureFixture, level: int = logging.INFO) -> list[str]:
    records = [record for record in caplog.records if record.levelno >= level]
    return [record.getMessage() for record in records if "in the system tables of" in record.getMessage()]


# ---- nodes without tokens


@pytest.mark.parametrize("asked", [0, 1])
def test_node_without_tokens_is_no_host_for_any_control_node(
    fake: FakeCluster, asked: int, caplog: pytest.LogCaptureFixture
) -> None:
    fake.nodes[0].tokens = set()
    with caplog.at_level(logging.INFO), Cluster([fake.nodes[asked].address], **AT_ONCE) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        for _ in range(3):
            cluster.refresh_nodes()
        assert known(cluster) == {2, 3, 4}
        assert len(session._pools) == 3
        assert cluster.metadata.token_map is not None and len(cluster.metadata.token_map.ring) == 3
        assert len(said(caplog)) == 1 and not said(caplog, logging.WARNING)
        fake.push("STATUS_CHANGE", "UP", fake.nodes[0].address)
        fake.push("TOPOLOGY_CHANGE", "NEW_NODE", fake.nodes[0].address)
        cluster.refresh_schema_metadata()
        assert known(cluster) == {2, 3, 4}


def test_the_datacenter_is_that_of_a_contact_point_without_tokens(fake: FakeCluster) -> None:
    fake.nodes[0].tokens = set()
    for node in fake.nodes[2:]:
        node.datacenter = "dc2"
    options = {**AT_ONCE, "load_balancing_policy": DCAwareRoundRobinPolicy()}
    with Cluster([fake.nodes[0].address], **options) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        assert [host.host_id.int for host in session._pools] == [2]


def test_fail_over_from_and_to_a_node_without_tokens(fake: FakeCluster) -> None:
    fake.nodes[0].tokens = set()
    with Cluster([fake.nodes[0].address], **AT_ONCE) as cluster:
        cluster.connect(wait_for_all_pools=True)
        assert cluster.get_control_connection_host() is None
        fake.nodes[0].stop()
        eventually(lambda: cluster.get_control_connection_host())
        assert known(cluster) == {2, 3, 4}


def test_nodes_are_hosts_when_no_node_has_tokens() -> None:
    with FakeCluster(1) as fake:
        fake.nodes[0].tokens = set()
        with Cluster(fake.contact_points, **AT_ONCE) as cluster:
            cluster.connect()
            assert known(cluster) == {1}


# ---- rows that cannot be used


class Fussy(AddressTranslator):
    """Does not know one address."""

    def __init__(self, unknown: str) -> None:
        self.unknown = unknown

    def translate(self, addr: str) -> str:
        if addr == self.unknown:
            raise KeyError(addr)
        return "127.0.0.1"


class FussyFactory(DefaultEndPointFactory):
    """Does not like one node."""

    def __init__(self, disliked: int) -> None:
        super().__init__()
        self.disliked = disliked

    def create(self, row: Mapping[str, Any]) -> DefaultEndPoint:
        if row["host_id"].int == self.disliked:
            raise RuntimeError("not that one")
        return super().create(row)


class Unhashable(EndPoint):
    __hash__ = None  # type: ignore[assignment]


class OddFactory(FussyFactory):
    def create(self, row: Mapping[str, Any]) -> Any:
        return Unhashable() if row["host_id"].int == self.disliked else super(FussyFactory, self).create(row)


@pytest.mark.parametrize("options", [
    {"address_translator": Fussy("10.1.1.3")},
    {"endpoint_factory": FussyFactory(3)},
    {"endpoint_factory": OddFactory(3)},
], ids=["translator", "factory", "endpoint"])  # fmt: skip
def test_translator_or_factory_error_drops_only_its_node(
    fake: FakeCluster, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    fake.nodes[2].native_address = "10.1.1.3" if "address_translator" in options else "127.0.0.1"
    with Cluster([fake.nodes[0].address], **AT_ONCE, **options) as cluster:
        cluster.connect()
        assert known(cluster) == {1, 2, 4}
        fake.add_node()
        for _ in range(3):
            cluster.refresh_nodes()
        assert known(cluster) == {1, 2, 4, 5}
        assert len(said(caplog)) == 1
        assert f"host_id={fake.nodes[2].host_id}" in said(caplog)[0]


def test_a_translator_that_fails_for_a_time(fake: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node is there as soon as it can be; one that was known stays."""
    monkeypatch.setattr("cassandra._session.control.control.FIRST", 0.05)
    for number, node in enumerate(fake.nodes):
        node.native_address = f"10.1.1.{number}"
    translator = Fussy("10.1.1.2")
    with Cluster([fake.nodes[0].address], **AT_ONCE, address_translator=translator) as cluster:
        cluster.connect()
        assert known(cluster) == {1, 2, 4}
        translator.unknown = "10.1.1.3"
        eventually(lambda: known(cluster) == {1, 2, 3, 4})
        cluster.refresh_nodes()
        assert known(cluster) == {1, 2, 3, 4}


def test_an_incomplete_row_is_said_once_for_each_change(fake: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    row = {**fake.nodes[0].peers()[0], "host_id": None}
    fake.extra_peers = [row]
    with Cluster([fake.nodes[0].address], **AT_ONCE) as cluster:
        cluster.connect()
        cluster.refresh_nodes()
        assert len(said(caplog)) == 1 and "host id" in said(caplog)[0]
        fake.extra_peers = [{**row, "rack": "elsewhere"}]
        cluster.refresh_nodes()
        assert len(said(caplog)) == 2
        fake.extra_peers = []
        cluster.refresh_nodes()
        fake.extra_peers = [row]
        cluster.refresh_nodes()
        assert len(said(caplog)) == 3
        assert known(cluster) == {1, 2, 3, 4}


def test_tokens_that_cannot_be_read_cost_one_node(fake: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    fake.nodes[1].tokens = {"not a number"}
    with Cluster([fake.nodes[0].address], **AT_ONCE) as cluster:
        cluster.connect()
        cluster.refresh_nodes()
        assert known(cluster) == {1, 2, 3, 4}
        assert cluster.metadata.token_map is not None and len(cluster.metadata.token_map.ring) == 3
    assert caplog.text.count("Invalid tokens of") == 1


# ---- addresses in events


class Translated(AddressTranslator):
    def translate(self, addr: str) -> str:
        assert addr.startswith(("10.", "127."))
        return "127.0.0.1"


@pytest.mark.parametrize("unspecified", ["0.0.0.0", "::"])
def test_events_find_a_host_that_is_bound_to_all_addresses(fake: FakeCluster, unspecified: str) -> None:
    """Such a node is told of by the address that its peers use, before any translation."""
    for number, node in enumerate(fake.nodes):
        node.native_address, node.peer = unspecified, f"10.1.1.{number}"
    options = {**AT_ONCE, "reconnection_policy": ConstantReconnectionPolicy(3600)}
    with Cluster([fake.nodes[0].address], **options, address_translator=Translated()) as cluster:
        cluster.connect(wait_for_all_pools=True)
        for number, node in enumerate(fake.nodes):
            assert cluster.metadata.get_host(f"10.1.1.{number}", node.port) is host_of(cluster, node)
        host = host_of(cluster, fake.nodes[2])
        cluster.on_down(host, expect_host_to_be_down=True)
        fake.nodes[2].stop()
        eventually(lambda: host.is_up is False)
        fake.nodes[2].start()
        fake.push("STATUS_CHANGE", "UP", ("10.1.1.2", fake.nodes[2].port))
        eventually(lambda: host.is_up)


# ---- hosts that all policies ignore


@pytest.fixture
def remote(fake: FakeCluster) -> Iterator[Cluster]:
    """Two of the four nodes are in another datacenter, which is ignored."""
    for node in fake.nodes[2:]:
        node.datacenter = "remote"
    options = {**AT_ONCE, "load_balancing_policy": DCAwareRoundRobinPolicy("dc1")}
    with Cluster([node.address for node in fake.nodes[:2]], **options, max_schema_agreement_wait=PATIENCE) as cluster:
        cluster.connect(wait_for_all_pools=True)
        yield cluster


def test_of_hosts_that_are_ignored_nothing_is_known(remote: Cluster, fake: FakeCluster) -> None:
    assert [host_of(remote, node).is_up for node in fake.nodes] == [True, True, None, None]
    joined = fake.add_node()
    joined.datacenter = "remote"
    remote.refresh_nodes()
    assert host_of(remote, joined).is_up is None
    assert joined.connections == 0


def test_an_ignored_datacenter_that_is_cut_off_does_not_hold_up_schema_changes(
    remote: Cluster, fake: FakeCluster
) -> None:
    session = remote.connect()

    def ddl(node: FakeNode, connection: Any, request: Any, text: str) -> bool:
        if not text.startswith("CREATE TABLE"):
            return False
        fake.add_table("ks", "fresh", "k")
        body = wire.string("CREATED") + wire.string("TABLE") + wire.string("ks") + wire.string("fresh")
        connection.answer(request, wire.RESULT, wire.int32(5) + body)
        return True

    for node in fake.nodes[2:]:
        node.schema_version = fake.schema_version  # that of before
        node.stop()
    fake.on_query = ddl
    begun = time.monotonic()
    future = session.execute_async("CREATE TABLE ks.fresh (k text PRIMARY KEY)", timeout=PATIENCE)
    future.result()
    assert future.is_schema_agreed
    assert time.monotonic() - begun < PATIENCE / 2


def test_an_ignored_host_that_is_said_to_be_up_counts(remote: Cluster, fake: FakeCluster) -> None:
    host = host_of(remote, fake.nodes[2])
    fake.push("STATUS_CHANGE", "UP", fake.nodes[2].address)
    eventually(lambda: host.is_up)
    fake.nodes[2].schema_version = fake.schema_version
    fake.add_table("ks", "fresh", "k")
    assert not remote.control_connection.wait_for_schema_agreement(wait_time=0.1)
    fake.push("STATUS_CHANGE", "DOWN", fake.nodes[2].address)
    eventually(lambda: host.is_up is False)
    assert remote.control_connection.wait_for_schema_agreement(wait_time=PATIENCE)
