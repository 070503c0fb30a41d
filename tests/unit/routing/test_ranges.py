"""Token ranges: their arithmetic, and the parts of a ring and of tablets."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra import UnsupportedOperation
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._routing.host import Host
from cassandra._routing.metadata import Metadata
from cassandra._routing.tokens import FULL_RING, covers, merge_ranges, split_at_minimum
from cassandra.metadata import MAX_LONG, MIN_LONG, TokenRange
from cassandra.policies import SimpleConvictionPolicy
from cassandra.tablets import Tablet

TOKENS = st.integers(MIN_LONG, MAX_LONG) | st.integers(MIN_LONG, MIN_LONG + 20) | st.integers(MAX_LONG - 20, MAX_LONG)
PAIRS = st.tuples(TOKENS, TOKENS).filter(lambda pair: pair[0] != pair[1])
RANGES = PAIRS.map(lambda pair: TokenRange(min(pair), max(pair)))


def is_exact(parts: Iterable[TokenRange], whole: TokenRange = FULL_RING) -> bool:
    """Whether *parts*, in their order, have every token of *whole* once."""
    at = whole.start
    for part in parts:
        if part.start != at:
            return False
        at = part.end
    return at == whole.end


@given(RANGES, st.integers(1, 300))
def test_a_split_covers_it_exactly_in_equal_parts(whole: TokenRange, n: int) -> None:
    parts = whole.split(n)
    assert len(parts) == min(n, whole.size) and is_exact(parts, whole)
    sizes = [part.size for part in parts]
    assert max(sizes) - min(sizes) <= 1


@given(RANGES, RANGES, TOKENS)
def test_intersect_contains_the_common_tokens(one: TokenRange, other: TokenRange, token: int) -> None:
    common = one.intersect(other)
    assert common == other.intersect(one)
    assert (common is not None and common.contains(token)) == (one.contains(token) and other.contains(token))


@given(RANGES, st.lists(RANGES, max_size=6), TOKENS)
def test_subtract_leaves_the_uncovered_tokens(one: TokenRange, others: list[TokenRange], token: int) -> None:
    left = one.subtract(others)
    inside = [part for other in others if (part := one.intersect(other)) is not None]
    assert is_exact(sorted([*left, *merge_ranges(inside)]), one)
    kept = one.contains(token) and not any(other.contains(token) for other in others)
    assert any(part.contains(token) for part in left) == kept
    assert covers(others, one) == (not left)


@given(st.lists(RANGES, max_size=8), TOKENS)
def test_merged_ranges_have_the_same_tokens_and_gaps_between(ranges: list[TokenRange], token: int) -> None:
    merged = merge_ranges(ranges)
    assert all(one.end < other.start for one, other in pairwise(merged))
    assert any(one.contains(token) for one in merged) == any(one.contains(token) for one in ranges)


@given(PAIRS, TOKENS)
def test_a_range_that_wraps_around_is_cut(ends: tuple[int, int], token: int) -> None:
    first, last = ends
    inside = first < token <= last if first < last else token > first or token <= last
    parts = split_at_minimum(first, last)
    assert any(part.contains(token) for part in parts) == (inside and token != MIN_LONG)


def test_a_range_is_a_value() -> None:
    one = TokenRange(-5, 5, ("host",))  # type: ignore[arg-type]
    assert one == TokenRange(-5, 5) and hash(one) == hash(TokenRange(-5, 5)) and one != (-5, 5)
    again = pickle.loads(pickle.dumps(one))
    assert again == one and again.replicas == ("host",)
    assert repr(one) == "TokenRange(-5, 5)" and one.size == 10 and bool(one)
    assert not one.contains(-5) and one.contains(-4) and one.contains(5)
    assert one.split(2)[1].replicas == ("host",)
    with pytest.raises(AttributeError, match="immutable"):
        one.start = 3
    with pytest.raises(AttributeError, match="immutable"):
        del one.start
    with pytest.raises(TypeError, match="size"):
        len(one)
    with pytest.raises(ValueError, match="n must be positive, got 0"):
        one.split(0)


@pytest.mark.parametrize("ends", [(3, 3), (4, 3), (MIN_LONG - 1, 0), (0, MAX_LONG + 1)])
def test_a_range_that_is_none(ends: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"must have -2\*\*63 <= start < end <= 2\*\*63 - 1, got"):
        TokenRange(*ends)


# ---- of a cluster


def hosts_of(count: int) -> list[Host]:
    made = []
    for number in range(count):
        host = Host(DefaultEndPoint(f"127.0.0.{number + 1}"), SimpleConvictionPolicy)
        host.host_id = UUID(int=number + 1)
        made.append(host)
    return made


def metadata_of(tokens: dict[int, list[int]], partitioner: str = "Murmur3Partitioner") -> tuple[Metadata, list[Host]]:
    """Hosts by number with their tokens."""
    metadata = Metadata()
    hosts = hosts_of(len(tokens))
    by_host: dict[Any, list[str]] = {hosts[number]: [str(token) for token in own] for number, own in tokens.items()}
    metadata.replace_topology(hosts, partitioner, by_host)
    return metadata, hosts


@given(st.sets(TOKENS, min_size=1, max_size=20))
def test_the_ring_is_covered_exactly(tokens: set[int]) -> None:
    metadata, _ = metadata_of({0: list(tokens)})
    assert is_exact(metadata.token_ranges("ks"))


@given(st.lists(PAIRS, max_size=8), st.sets(TOKENS, max_size=5))
def test_tablets_with_gaps_are_covered_exactly(tablets: list[tuple[int, int]], tokens: set[int]) -> None:
    metadata, hosts = metadata_of({0: list(tokens)})
    for first, last in tablets:
        metadata._tablets.add_tablet("ks", "t", Tablet(first, last, [(hosts[0].host_id, 0)]))
    ranges = metadata.token_ranges("ks", "t")
    assert is_exact(ranges)
    assert metadata.token_ranges("ks", "other") == metadata.token_ranges("ks")


def test_tablets_tell_replicas() -> None:
    metadata, hosts = metadata_of({0: [0], 1: [100]})
    metadata._tablets.add_tablet("ks", "t", Tablet(-50, 50, [(hosts[1].host_id, 3), (UUID(int=99), 0)]))
    found = {one: one.replicas for one in metadata.token_ranges("ks", "t")}
    assert found[TokenRange(-50, 50)] == (hosts[1],)
    assert list(found) == [
        TokenRange(MIN_LONG, -50),
        TokenRange(-50, 50),
        TokenRange(50, 100),
        TokenRange(100, MAX_LONG),
    ]


def test_without_tokens_it_is_one_range() -> None:
    assert Metadata().token_ranges("ks") == [FULL_RING]


def test_other_partitioners_have_no_ranges() -> None:
    metadata, _ = metadata_of({0: [0]}, "org.apache.cassandra.dht.RandomPartitioner")
    with pytest.raises(UnsupportedOperation, match="RandomPartitioner"):
        metadata.token_ranges("ks")
