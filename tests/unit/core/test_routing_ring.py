"""TokenRing: lookups against a linear search, edges, and refused input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra._core.routing import TokenRing

MIN, MAX = -(1 << 63), (1 << 63) - 1
tokens = st.integers(MIN, MAX)


@given(st.lists(tokens, min_size=1, max_size=60, unique=True), tokens, st.data())
def test_owner_is_that_of_the_first_token_not_below(ring: list[int], token: int, data: st.DataObject) -> None:
    if data.draw(st.booleans()):  # exactly on a token, or next to it
        token = min(max(data.draw(st.sampled_from(ring)) + data.draw(st.integers(-1, 1)), MIN), MAX)
    found = TokenRing(ring, [str(value) for value in ring])
    above = [value for value in sorted(ring) if value >= token]
    expected = above[0] if above else min(ring)
    assert found.owner(token) == str(expected)
    assert found.tokens[found.index(token)] == expected


def test_owners_follow_their_tokens() -> None:
    ring = TokenRing([5, -3, 10], ["a", "b", "c"])
    assert len(ring) == 3
    assert ring.tokens == (-3, 5, 10)
    assert ring.owners == ("b", "a", "c")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 1000, 1024, 1025])
def test_every_boundary(size: int) -> None:
    values = [10 * number for number in range(size)]
    ring = TokenRing(values, values)
    for value in values:
        assert ring.owner(value) == value
        assert ring.owner(value - 1) == value
        assert ring.owner(value + 1) == (value + 10 if value + 10 in values else 0)


def test_ends_of_the_token_range() -> None:
    ring = TokenRing([MIN, 0, MAX], "abc")
    assert [ring.owner(token) for token in (MIN, MIN + 1, 0, 1, MAX)] == ["a", "b", "b", "c", "c"]


def test_one_token_owns_everything() -> None:
    ring = TokenRing([7], ["a"])
    assert {ring.owner(token) for token in (MIN, 6, 7, 8, MAX)} == {"a"}


def test_an_empty_ring_owns_nothing() -> None:
    ring = TokenRing([], [])
    assert len(ring) == 0
    with pytest.raises(LookupError):
        ring.owner(0)
    with pytest.raises(LookupError):
        ring.index(0)


def test_refused_input() -> None:
    with pytest.raises(ValueError, match="2 tokens for 1 owners"):
        TokenRing([1, 2], ["a"])
    with pytest.raises(ValueError, match="twice"):
        TokenRing([1, 2, 1], ["a", "b", "c"])
    with pytest.raises(OverflowError):
        TokenRing([1 << 63], ["a"])
    with pytest.raises(OverflowError):
        TokenRing([1], ["a"]).index(1 << 63)
