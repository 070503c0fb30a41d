"""Token classes, the token map as users see it, and the murmur3 modules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra import cmurmur3, murmur3
from cassandra.metadata import (
    BytesToken,
    HashToken,
    MD5Token,
    Murmur3Token,
    Token,
    TokenMap,
)
from tests.fakes.routing import make_host, make_metadata


def test_murmur3_tokens() -> None:
    assert Murmur3Token.hash_fn(b"123") == -7468325962851647638
    assert Murmur3Token.hash_fn("123") == -7468325962851647638
    assert Murmur3Token.from_key(b"123") == Murmur3Token(-7468325962851647638)
    assert Murmur3Token.from_string("-42").value == -42
    assert Murmur3Token("7").value == 7
    assert str(Murmur3Token(-42)) == repr(Murmur3Token(-42)) == "<Murmur3Token: -42>"


def test_md5_tokens() -> None:
    assert MD5Token.hash_fn("test") == 12707736894140473154801792860916528374
    assert MD5Token.from_key(b"test").value == 12707736894140473154801792860916528374
    assert MD5Token.from_string("127").value == 127
    assert issubclass(MD5Token, HashToken)


def test_byte_tokens() -> None:
    assert BytesToken.hash_fn(b"k") == b"k"
    assert BytesToken.from_key(b"k").value == b"k"
    assert BytesToken.from_string("6b00") == BytesToken.from_string(b"6b00") == BytesToken(b"k\0")
    assert BytesToken(b"a") < BytesToken(b"b")


@given(st.integers(), st.integers())
def test_tokens_order_and_hash_by_value(left: int, right: int) -> None:
    assert (Token(left) < Token(right)) == (left < right)
    assert (Token(left) <= Token(right)) == (left <= right)
    assert (Token(left) > Token(right)) == (left > right)
    assert (Token(left) >= Token(right)) == (left >= right)
    assert (Token(left) == Token(right)) == (left == right)
    assert hash(Token(left)) == hash(Token(left))


def test_the_base_class_does_not_read_strings() -> None:
    with pytest.raises(NotImplementedError):
        Token.from_string("1")


def test_token_map() -> None:
    hosts = [make_host(number) for number in (1, 2, 3)]
    metadata = make_metadata(
        {hosts[0]: [0, 100], hosts[1]: [50], hosts[2]: [-50]},
        ks={"class": "SimpleStrategy", "replication_factor": "2"},
    )
    token_map = metadata.token_map
    assert token_map is not None
    assert token_map is metadata.token_map
    assert [token.value for token in token_map.ring] == [-50, 0, 50, 100]
    assert token_map.token_to_host_owner[Murmur3Token(50)] is hosts[1]
    assert token_map.get_replicas("ks", Murmur3Token(-60)) == [hosts[2], hosts[0]]
    assert token_map.get_replicas("ks", Murmur3Token(50)) == [hosts[1], hosts[0]]
    assert token_map.get_replicas("ks", Murmur3Token(101)) == [hosts[2], hosts[0]]
    assert token_map.get_replicas("other", Murmur3Token(1)) == []
    assert list(token_map.tokens_to_hosts_by_ks) == ["ks"]
    assert token_map.tokens_to_hosts_by_ks["ks"][Murmur3Token(-50)] == [hosts[2], hosts[0]]
    token_map.remove_keyspace("ks")
    assert token_map.tokens_to_hosts_by_ks == {}
    token_map.rebuild_keyspace("ks")
    assert token_map.tokens_to_hosts_by_ks == {}
    token_map.rebuild_keyspace("ks", build_if_absent=True)
    assert list(token_map.tokens_to_hosts_by_ks) == ["ks"]


def test_a_token_map_of_ones_own() -> None:
    hosts = [make_host(1), make_host(2)]
    metadata = make_metadata({hosts[0]: [1]}, ks={"class": "SimpleStrategy", "replication_factor": "1"})
    tokens = [BytesToken(b"b"), BytesToken(b"a")]
    token_map = TokenMap(BytesToken, dict(zip(tokens, hosts, strict=True)), tokens, metadata)
    assert [token.value for token in token_map.ring] == [b"a", b"b"]
    assert token_map.get_replicas("ks", BytesToken(b"aa")) == [hosts[0]]
    assert token_map.get_replicas("ks", BytesToken(b"bb")) == [hosts[1]]


def test_the_rings_of_other_partitioners_route_by_key() -> None:
    hosts = [make_host(1), make_host(2)]
    metadata = make_metadata({}, ks={"class": "SimpleStrategy", "replication_factor": "1"})
    assert metadata.token_map is not None and metadata.token_map.ring == []
    assert metadata.get_replicas("ks", b"x") == []
    metadata.replace_topology(
        hosts, "org.apache.cassandra.dht.ByteOrderedPartitioner", {hosts[0]: ["61"], hosts[1]: ["63"]}
    )
    assert metadata.get_replicas("ks", b"b") == [hosts[1]]
    assert metadata.get_replicas("ks", b"z") == [hosts[0]]
    metadata.replace_topology(
        hosts,
        "org.apache.cassandra.dht.RandomPartitioner",
        {hosts[0]: ["12707736894140473154801792860916528374"], hosts[1]: ["0"]},
    )
    assert metadata.get_replicas("ks", b"test") == [hosts[0]]


def test_murmur3_modules() -> None:
    assert murmur3.murmur3(b"123") == cmurmur3.murmur3(b"123") == -7468325962851647638
    assert murmur3.truncate_int64(murmur3.INT64_MAX + 1) == murmur3.INT64_MIN
    assert murmur3.truncate_int64(-1) == -1
    assert murmur3.rotl64(1 << 63, 1) == 1
    assert murmur3.rotl64(-1, 7) == (1 << 64) - 1
    assert murmur3.fmix(0) == 0
    assert murmur3.fmix(1) == murmur3.truncate_int64(0xB456BCFC34C2CB2C)
    assert murmur3.body_and_tail(bytes(range(16)) + b"\xff\x01") == (
        (0x0706050403020100, 0x0F0E0D0C0B0A0908),
        (-1, 1),
        18,
    )
