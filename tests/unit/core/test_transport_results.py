"""Results: the outcomes of many requests, put in as they end, and handed over in the order of sending."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra._core.transport import Results


def entry(number: int) -> tuple[bool, object]:
    return False, ValueError(number)


def number_of(found: tuple[bool, ValueError]) -> int:
    return int(found[1].args[0])


@given(st.integers(0, 300).flatmap(lambda count: st.permutations(range(count))))
def test_all_are_handed_over_in_order(order: list[int]) -> None:
    results = Results()
    for done, number in enumerate(order):
        assert len(results) == done and number not in results
        results[number] = entry(number)
        assert number in results
    assert [number_of(found) for found in results.all(len(order))] == sorted(order)
    assert len(results) == 0 and results.all(0) == []


def test_all_of_too_few() -> None:
    results = Results()
    results[0] = entry(0)
    results[2] = entry(2)
    for count in 2, 3:
        with pytest.raises(ValueError, match="2 results of"):
            results.all(count)
    results[1] = entry(1)
    with pytest.raises(ValueError, match="3 results of 4 requests"):
        results.all(4)
    assert len(results.all(3)) == 3


# So many that those which were handed over are forgotten, again and again.
@given(st.lists(st.integers(0, 99), min_size=0, max_size=40), st.integers(1, 5000))
def test_one_after_another(lateness: list[int], count: int) -> None:
    results, taken, late = Results(), 0, iter(lateness)
    held: dict[int, int] = {}  # number by when it ends
    for number in range(count):
        held[number] = number + next(late, 0)
        for ended in [one for one, when in held.items() if when <= number]:
            del held[ended]
            results[ended] = entry(ended)
        while taken in results:
            assert number_of(results.take(taken)) == taken and taken not in results
            taken += 1
    for ended in held:
        results[ended] = entry(ended)
    while taken < count:
        assert number_of(results.take(taken)) == taken
        taken += 1
    assert len(results) == 0


def test_absent_results_and_invalid_entries_raise() -> None:
    results = Results()
    assert 0 not in results and -1 not in results and 1 << 62 not in results
    with pytest.raises(KeyError):
        results.take(0)
    results[1] = entry(1)
    assert 0 not in results
    with pytest.raises(KeyError):
        results.take(0)
    with pytest.raises(ValueError, match="was handed over already"):
        results[-1] = entry(0)
    with pytest.raises(TypeError):
        results[0] = None  # type: ignore[assignment]


def test_twice_is_once() -> None:
    results = Results()
    results[0] = results[0] = entry(0)
    assert len(results) == 1 and len(results.all(1)) == 1
