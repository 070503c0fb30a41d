"""Sharding options that servers report, the shard of a local port, and the native picking."""

from __future__ import annotations

import itertools
import logging
import pickle

import pytest

from cassandra._core.routing import ShardingInfo, ShardPicker
from cassandra._net import features
from cassandra._net.features import ShardAwarePortGenerator, ShardTarget, parse_sharding
from cassandra.c_shard_info import HAVE_INT128
from cassandra.shard_info import INT64_MIN
from cassandra.shard_info import ShardingInfo as PublicShardingInfo

SUPPORTED = {
    "SCYLLA_SHARD": ["3"],
    "SCYLLA_NR_SHARDS": ["12"],
    "SCYLLA_PARTITIONER": ["org.apache.cassandra.dht.Murmur3Partitioner"],
    "SCYLLA_SHARDING_ALGORITHM": ["biased-token-round-robin"],
    "SCYLLA_SHARDING_IGNORE_MSB": ["12"],
    "SCYLLA_SHARD_AWARE_PORT": ["19042"],
    "SCYLLA_SHARD_AWARE_PORT_SSL": ["19142"],
}


def info(shards: int, ignore_msb: int = 12) -> ShardingInfo:
    return ShardingInfo(0, shards, "p", "a", ignore_msb)


# ---- SUPPORTED


def test_parse_sharding_reads_supported_options() -> None:
    shard, found = parse_sharding(SUPPORTED)
    assert shard == 3 and found is not None
    assert (found.shards_count, found.sharding_ignore_msb) == (12, 12)
    assert (found.shard_aware_port, found.shard_aware_port_ssl) == (19042, 19142)
    assert found.partitioner.endswith("Murmur3Partitioner") and found.sharding_algorithm == "biased-token-round-robin"


@pytest.mark.parametrize("value", ["0", "-1", "4097", "99999999999", "4294967297", "1e3", "x", "", " 4", "1_2", "٣"])
def test_a_number_of_shards_that_cannot_be(value: str, caplog: pytest.LogCaptureFixture) -> None:
    assert parse_sharding({**SUPPORTED, "SCYLLA_NR_SHARDS": [value]}) == (0, None)
    assert "SCYLLA_NR_SHARDS" in caplog.text


@pytest.mark.parametrize("value", [["12"], ["-1"], ["x"], [], ["99999999999"]])
def test_a_shard_that_is_none_of_them(value: list[str]) -> None:
    assert parse_sharding({**SUPPORTED, "SCYLLA_SHARD": value}) == (0, None)


@pytest.mark.parametrize("value", ["64", "-1", "x", "9999999999999"])
def test_ignored_bits_that_a_token_does_not_have(value: str) -> None:
    assert parse_sharding({**SUPPORTED, "SCYLLA_SHARDING_IGNORE_MSB": [value]}) == (0, None)


def test_no_bits_are_ignored_where_nothing_is_said() -> None:
    found = parse_sharding({**SUPPORTED, "SCYLLA_SHARDING_IGNORE_MSB": []})[1]
    assert found is not None and found.sharding_ignore_msb == 0


@pytest.mark.parametrize("value", ["0", "65536", "-1", "port"])
def test_a_port_that_is_none(value: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        shard, found = parse_sharding({**SUPPORTED, "SCYLLA_SHARD_AWARE_PORT": [value]})
    assert shard == 3 and found is not None
    assert (found.shard_aware_port, found.shard_aware_port_ssl) == (None, 19142)
    assert "SCYLLA_SHARD_AWARE_PORT" in caplog.text


# ---- sharding


def test_sharding_is_a_value() -> None:
    assert PublicShardingInfo is ShardingInfo and ShardingInfo.__module__ == "cassandra.shard_info"
    assert info(8) == info(8) != info(9) and info(8) != "8"
    assert len({info(8), info(8), info(8, 0)}) == 2
    given = ShardingInfo(2, 8, "p", "a", 12, 19042, 19142)
    assert pickle.loads(pickle.dumps(given)) == given
    assert repr(given) == "<ShardingInfo: 8 shards, 12 bits ignored, port 19042, TLS port 19142>"
    with pytest.raises(AttributeError):
        given.shards_count = 3  # type: ignore[misc]
    assert HAVE_INT128 is True and INT64_MIN == -(2**63)


@pytest.mark.parametrize(("shards", "ignore_msb"), [(0, 12), (-1, 12), (2**32, 12), (8, 64), (8, -1)])
def test_sharding_that_cannot_be(shards: int, ignore_msb: int) -> None:
    with pytest.raises(ValueError):
        info(shards, ignore_msb)


def test_tokens_are_checked() -> None:
    with pytest.raises(OverflowError):
        info(8).shard_id_from_token(2**63)
    with pytest.raises(TypeError):
        info(8).shard_id_from_token("x")  # type: ignore[arg-type]


# ---- picking


def test_pick() -> None:
    picker = ShardPicker(info(4), "abcd")
    tokens = [-(2**63), -1, 0, 12345678901234567, 2**63 - 1]
    for token in tokens:
        assert picker.pick(token) == "abcd"[info(4).shard_id_from_token(token)]
        assert [picker.pick(token, shard) for shard in range(4)] == list("abcd"), "a shard wins"
        assert picker.pick(token, 4) == picker.pick(token, -1) == picker.pick(token, 2**70) == picker.pick(token)
    assert [picker.pick() for _ in range(8)] == list("bcdabcda")
    assert picker.pick(None, 3) == "d"
    assert picker.pick(2**64, 2**64) in "abcd", "a token of another partitioner: any will do"


def test_pick_where_some_are_missing() -> None:
    picker = ShardPicker(info(4), [None, "b", None, "d"])
    assert {picker.pick() for _ in range(4)} == {"b", "d"}
    assert picker.pick(None, 0) is None and picker.pick(0, 2) is None
    assert ShardPicker(info(2), [None, None]).pick() is None


def test_shard_picker_refuses_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="got 3 for 4 shards"):
        ShardPicker(info(4), "abc")
    with pytest.raises(TypeError):
        ShardPicker(info(1), "a").pick("token")  # type: ignore[arg-type]


# ---- local ports


@pytest.mark.parametrize("shards", [1, 3, 12, 4096])
def test_local_ports_lead_to_their_shard(shards: int) -> None:
    generator = ShardAwarePortGenerator(49152, 65535)
    for shard in {0, shards // 2, shards - 1}:
        ports = list(generator.generate(shard, shards))
        assert {port % shards for port in ports} == {shard}
        assert len(ports) == len(set(ports)) and min(ports) >= 49152 and max(ports) <= 65535
        assert len(ports) >= 16384 // shards


def test_local_ports_of_a_small_range() -> None:
    generator = ShardAwarePortGenerator(100, 120)
    assert sorted(generator.generate(0, 5)) == [100, 105, 110, 115, 120]
    assert sorted(generator.generate(2, 5)) == [102, 107, 112, 117]
    assert list(generator.generate(99, 200)) == []


def test_local_ports_start_anywhere() -> None:
    generator = ShardAwarePortGenerator(100, 1000)
    starts = {next(iter(generator.generate(0, 5))) for _ in range(1000)}
    assert len(starts) > 1
    upwards = list(generator.generate(0, 5))
    at = upwards.index(100)
    assert upwards[at:] + upwards[:at] == sorted(upwards), "upwards from there, and round"


def test_an_aim_does_not_try_for_ever() -> None:
    ports = list(ShardTarget(1, 2, 19042).local_ports())
    assert len(ports) == features.LOCAL_PORTS
    assert all(second - first in (2, -16382) for first, second in itertools.pairwise(ports))
