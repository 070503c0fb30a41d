"""System tables of a server that means harm, or is broken: an odd row costs itself only, and few lines of the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from cassandra._net.endpoint import DefaultEndPoint, DefaultEndPointFactory
from cassandra._session.control.nodes import NodeList, SkippedRowLog, parse_nodes

Row = dict[str, Any]
LOCAL_ID = UUID(int=1)
EVIL = "evil\n\x1b[31mCRITICAL fake\u202e"


def local(**changes: Any) -> Row:
    row = {"host_id": LOCAL_ID, "data_center": "dc1", "rack": "r1", "rpc_address": "10.0.0.1", "tokens": {"1"}}
    more = {"cluster_name": "c", "partitioner": "Murmur3Partitioner", "schema_version": UUID(int=9)}
    return {**row, **more, **changes}


def peer(number: int = 2, **changes: Any) -> Row:
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    row = {"host_id": UUID(int=number), "peer": address, "peer_port": 7000, "native_address": address}
    more = {"native_port": 9042, "data_center": "dc1", "rack": "r1", "tokens": {str(number)}, "release_version": "5.0"}
    return {**row, **more, **changes}


def parse(*peers: Row, asked: Row | None = None, complaints: SkippedRowLog | None = None) -> NodeList:
    endpoint = DefaultEndPoint("10.0.0.1")
    asked = local() if asked is None else asked
    return parse_nodes(asked, peers, endpoint, DefaultEndPointFactory(), complaints or SkippedRowLog(), True)


@pytest.fixture
def records(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    caplog.set_level(logging.DEBUG, "cassandra")
    yield caplog
    for record in caplog.records:
        assert record.getMessage().isprintable()


@pytest.mark.parametrize(
    "changes",
    [
        {"host_id": None},
        {"host_id": "not a uuid\n"},
        {"host_id": ["list"]},
        {"host_id": LOCAL_ID, "native_address": "10.9.9.9"},
        {"host_id": UUID(int=3)},
        {"native_address": None},
        {"native_address": EVIL},
        {"native_address": "10.0.0.2 "},
        {"native_address": "x" * 300},
        {"native_address": 17},
        {"native_address": "0.0.0.0", "peer": EVIL},
        {"native_address": "::", "peer": None},
        {"native_port": -1},
        {"native_port": 70_000},
        {"native_port": "9042"},
        {"data_center": None},
        {"data_center": ["dc1"]},
        {"rack": 7},
        {"tokens": None},
        {"tokens": set()},
        {"tokens": 5},
    ],
    ids=repr,
)
def test_an_odd_row_costs_itself_only(changes: Row, records: pytest.LogCaptureFixture) -> None:
    listing = parse(peer(3), peer(2, **changes), peer(4))
    assert {node.host_id for node in listing.nodes} == {LOCAL_ID, UUID(int=3), UUID(int=4)}
    assert len(records.records) <= 1


@pytest.mark.parametrize("port", [None, 0, 1, 65_535])
def test_ports(port: int | None) -> None:
    """Zero and null stand for the port of the cluster."""
    (node,) = (node for node in parse(peer(2, native_port=port)).nodes if node.host_id == UUID(int=2))
    assert node.endpoint.port == (port or 9042)


@pytest.mark.parametrize("address", ["10.0.0.2", "fe80::1%eth0", "::1", "node-2.example.com", "node_2"])
def test_addresses_and_names(address: str) -> None:
    (node,) = (node for node in parse(peer(2, native_address=address)).nodes if node.host_id == UUID(int=2))
    assert node.endpoint.address == address


@pytest.mark.parametrize(
    "changes",
    [
        {"data_center": 5, "rack": ["x"]},
        {"tokens": 5},
        {"tokens": None},
        {"partitioner": 5, "cluster_name": ["x"]},
        {"release_version": 5},
    ],
    ids=repr,
)
def test_the_asked_node(changes: Row) -> None:
    listing = parse(peer(2), asked=local(**changes))
    assert listing.local_node.host_id == LOCAL_ID
    for text in (listing.cluster_name, listing.partitioner, listing.local_node.datacenter, listing.local_node.rack):
        assert text is None or isinstance(text, str)


def test_an_asked_node_without_id() -> None:
    for host_id in (None, "x", 5):
        with pytest.raises(Exception, match="host id") as caught:
            parse(asked=local(host_id=host_id))
        assert type(caught.value).__module__ == "cassandra"


def test_many_odd_rows_are_a_few_lines(records: pytest.LogCaptureFixture) -> None:
    complaints = SkippedRowLog()
    rows = [peer(number, data_center=None, rack=EVIL * 1000) for number in range(2, 20_002)]
    for _ in range(2):
        listing = parse(*rows, complaints=complaints)
        assert len(listing.nodes) == 1
    assert 2 <= len(records.records) <= 30
    assert any("19990 more" in message for message in records.messages)
    assert all(len(message) < 4097 for message in records.messages)


def test_duplicates_of_one_id(records: pytest.LogCaptureFixture) -> None:
    host_id = uuid4()
    listing = parse(*(peer(number, host_id=host_id) for number in range(2, 5_002)))
    assert len(listing.nodes) == 2
    assert len(records.records) <= 15


def test_many_at_one_address(records: pytest.LogCaptureFixture) -> None:
    listing = parse(*(peer(number, native_address="10.0.0.9") for number in range(2, 5_002)))
    assert len(listing.nodes) == 2
    assert len(records.records) <= 15
