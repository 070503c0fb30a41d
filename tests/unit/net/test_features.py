"""SUPPORTED to features, and features to STARTUP."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest

from cassandra._net.features import ProtocolFeatures, ShardingInfo, supported_versions

SCYLLA = {
    "SCYLLA_SHARD": ["3"],
    "SCYLLA_NR_SHARDS": ["12"],
    "SCYLLA_PARTITIONER": ["org.apache.cassandra.dht.Murmur3Partitioner"],
    "SCYLLA_SHARDING_ALGORITHM": ["biased-token-round-robin"],
    "SCYLLA_SHARDING_IGNORE_MSB": ["12"],
    "SCYLLA_SHARD_AWARE_PORT": ["19042"],
    "SCYLLA_SHARD_AWARE_PORT_SSL": ["19142"],
    "SCYLLA_LWT_ADD_METADATA_MARK": ["LWT_OPTIMIZATION_META_BIT_MASK=2147483648"],
    "SCYLLA_RATE_LIMIT_ERROR": ["ERROR_CODE=61440"],
    "TABLETS_ROUTING_V1": [""],
    "SCYLLA_USE_METADATA_ID": [],
}


def test_cassandra_has_none() -> None:
    features = ProtocolFeatures.parse_from_supported({"COMPRESSION": ["lz4"]})
    assert repr(features) == "<ProtocolFeatures()>"
    options: dict[str, str] = {}
    features.add_startup_options(options)
    assert options == {}


def test_scylla() -> None:
    features = ProtocolFeatures.parse_from_supported(SCYLLA)
    assert features.shard_id == 3
    assert features.sharding_info == ShardingInfo(
        3, 12, "org.apache.cassandra.dht.Murmur3Partitioner", "biased-token-round-robin", 12, 19042, 19142
    )
    assert features.lwt_info is not None
    assert features.lwt_info.get_lwt_flag(0x80000001) and not features.lwt_info.get_lwt_flag(1)
    assert features.rate_limit_error == 61440
    assert (features.tablets_routing_v1, features.tablets_routing_v2, features.use_metadata_id) == (True, False, True)
    options: dict[str, str] = {}
    features.add_startup_options(options)
    assert options == {
        "SCYLLA_LWT_ADD_METADATA_MARK": "2147483648",
        "SCYLLA_RATE_LIMIT_ERROR": "",
        "TABLETS_ROUTING_V1": "",
        "SCYLLA_USE_METADATA_ID": "",
    }


def test_tablets_2_replaces_1() -> None:
    features = ProtocolFeatures.parse_from_supported(
        {"TABLETS_ROUTING_V1": [""], "TABLETS_ROUTING_V2_EXPERIMENTAL": [""]}
    )
    options: dict[str, str] = {}
    features.add_startup_options(options)
    assert options == {"TABLETS_ROUTING_V2_EXPERIMENTAL": ""}


@pytest.mark.parametrize("ignore_msb", [0, 12])
@pytest.mark.parametrize("token", [-(2**63), -1, 0, 1, 123456789, 2**63 - 1])
def test_shard_of_a_token(token: int, ignore_msb: int) -> None:
    """The steps of the protocol text, in the infinite precision it assumes."""
    biased = token - (-(2**63))
    biased = (biased << ignore_msb) % 2**64
    info = ShardingInfo(0, 12, "p", "a", ignore_msb)
    assert info.shard_id_from_token(token) == (biased * 12) // 2**64


@pytest.mark.parametrize(
    "change",
    [
        {"SCYLLA_NR_SHARDS": []},
        {"SCYLLA_NR_SHARDS": ["0"]},
        {"SCYLLA_PARTITIONER": ["org.apache.cassandra.dht.RandomPartitioner"]},
        {"SCYLLA_SHARDING_ALGORITHM": ["new-one"]},
    ],
)
def test_unknown_sharding_is_no_sharding(change: dict[str, list[str]]) -> None:
    features = ProtocolFeatures.parse_from_supported({**SCYLLA, **change})
    assert (features.shard_id, features.sharding_info) == (0, None)


def test_nonsense_is_ignored_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        features = ProtocolFeatures.parse_from_supported(
            {"SCYLLA_RATE_LIMIT_ERROR": ["ERROR_CODE=many"], "SCYLLA_LWT_ADD_METADATA_MARK": ["SOMETHING=1"]}
        )
    assert (features.rate_limit_error, features.lwt_info) == (None, None)
    assert "SCYLLA_RATE_LIMIT_ERROR='many'" in caplog.text


HOST_ID = "6024b066-9de2-4b58-a6e0-0f9e2337f72a"


def test_the_host_id() -> None:
    host_id = UUID(HOST_ID)
    for text in (HOST_ID, HOST_ID.upper()):
        assert ProtocolFeatures.parse_from_supported({**SCYLLA, "SCYLLA_HOST_ID": [text]}).host_id == host_id
    assert ProtocolFeatures.parse_from_supported(SCYLLA).host_id is None
    assert ProtocolFeatures.parse_from_supported({"SCYLLA_HOST_ID": []}).host_id is None


@pytest.mark.parametrize(
    "text", ["", "x", "0" * 32, f"{{{HOST_ID}}}", f"urn:uuid:{HOST_ID}", f"{HOST_ID}\n", "x" * 60_000]
)
def test_an_invalid_host_id_is_ignored_and_logged(text: str, caplog: pytest.LogCaptureFixture) -> None:
    assert ProtocolFeatures.parse_from_supported({"SCYLLA_HOST_ID": [text]}).host_id is None
    (record,) = caplog.records
    assert "not a UUID" in record.getMessage() and len(record.getMessage()) < 200


@pytest.mark.parametrize(("values", "offered"), [(["true"], True), (["false"], False), ([], False), ([""], False)])
def test_graceful_disconnect(values: list[str], offered: bool) -> None:
    assert ProtocolFeatures.parse_from_supported({"GRACEFUL_DISCONNECT": values}).graceful_disconnect is offered
    assert not ProtocolFeatures.parse_from_supported(SCYLLA).graceful_disconnect


def test_versions() -> None:
    assert supported_versions({}) is None
    listed = supported_versions({"PROTOCOL_VERSIONS": ["3/v3", "4/v4", "5/v5", "6/v6-beta", "junk"]})
    assert listed == {3: False, 4: False, 5: False, 6: True}
