"""A ResultSet is an iterator: what was taken by next() does not come again."""

from __future__ import annotations

import asyncio
import csv
import io
import itertools
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from cassandra import InvalidRequest
from cassandra.cluster import ResultSet
from cassandra.query import tuple_factory
from tests.unit.session.harness import Lab, error, rows

ALL = [(1,), (2,), (3,), (4,), (5,)]


def paged(*sizes: int, **profile: Any) -> ResultSet[Any]:
    """The rows of ALL, so many per page."""
    lab = Lab(row_factory=tuple_factory, **profile)
    numbers = iter(range(1, 6))
    pages = [list(itertools.islice(numbers, size)) for size in sizes]
    last = len(pages) - 1
    lab[0].script = [rows(*page, more=None if at == last else b"%d" % at) for at, page in enumerate(pages)]
    return lab.session.execute("SELECT n FROM tbl")


class Own(ResultSet[Any]):
    """Of a program that counts rows."""

    def __next__(self) -> Any:
        return super().__next__()

    next = __next__


def own(*sizes: int) -> ResultSet[Any]:
    found = paged(*sizes)
    return Own(found.response_future, found.current_rows)


MAKERS = pytest.mark.parametrize("make", [paged, own])
SIZES = pytest.mark.parametrize("sizes", [(5,), (1, 4), (3, 2), (2, 0, 3), (4, 1, 0), (1, 1, 1, 1, 1)])
Make = Callable[..., ResultSet[Any]]


@MAKERS
@SIZES
@pytest.mark.parametrize("taken", range(6))
def test_a_loop_goes_on_behind_the_rows_that_were_taken(make: Make, sizes: tuple[int, ...], taken: int) -> None:
    made = make(*sizes)
    assert [next(made) for _ in range(taken)] == ALL[:taken]
    assert list(made) == ALL[taken:]
    assert list(made) == []
    assert next(made, None) is None


@MAKERS
@SIZES
def test_all_gives_the_rows_that_are_left(make: Make, sizes: tuple[int, ...]) -> None:
    made = make(*sizes)
    next(made)
    assert made.all() == ALL[1:]
    assert made.all() == []


@MAKERS
@SIZES
def test_a_loop_that_was_left_goes_on(make: Make, sizes: tuple[int, ...]) -> None:
    made = make(*sizes)
    seen = [next(made)]
    for row in made:
        seen.append(row)
        if len(seen) == 3:
            break
    seen.append(next(made))
    assert [*seen, *made] == ALL


@SIZES
def test_next_takes_the_row_behind_a_loop_that_was_left(sizes: tuple[int, ...]) -> None:
    made = paged(*sizes)
    for _ in made:
        break
    assert [next(made), *made] == ALL[1:]


@SIZES
def test_nested_loops_share_one_position(sizes: tuple[int, ...]) -> None:
    made = paged(*sizes)
    next(made)
    assert [(a, b) for a in made for b in made] == [(ALL[1], row) for row in ALL[2:]]
    made = paged(*sizes)
    next(made)
    assert list(zip(made, made, strict=False)) == [(ALL[1], ALL[2]), (ALL[3], ALL[4])]
    made = paged(*sizes)
    assert [next(made), *itertools.islice(made, 2), *made] == ALL


def test_a_page_is_read_again_where_no_row_was_taken_by_next() -> None:
    """As with scylla-driver."""
    made = paged(5)
    for _ in made:
        break
    assert list(made) == ALL


@SIZES
def test_data_frames_have_each_row_once(sizes: tuple[int, ...]) -> None:
    numbers = [row[0] for row in ALL]
    assert list(pd.DataFrame.from_records(paged(*sizes), columns=["n"])["n"]) == numbers
    assert list(pd.DataFrame(paged(*sizes), columns=["n"])["n"]) == numbers
    made = paged(*sizes)
    assert bool(made) and made.one() == (1,)
    assert list(pd.DataFrame.from_records(made, columns=["n"], nrows=3)["n"]) == numbers[:3]


@SIZES
def test_csv_has_a_header_of_the_first_row(sizes: tuple[int, ...]) -> None:
    made, out = paged(*sizes), io.StringIO()
    writer = csv.writer(out, lineterminator=" ")
    writer.writerow(next(made))
    writer.writerows(made)
    assert out.getvalue() == "1 2 3 4 5 "


@SIZES
def test_one_and_truth_take_nothing(sizes: tuple[int, ...]) -> None:
    made = paged(*sizes)
    assert bool(made) and made.one() == (1,)
    assert next(made) == (1,)
    assert bool(made)
    assert list(made) == ALL[1:]
    assert not made


@SIZES
def test_a_result_that_was_indexed(sizes: tuple[int, ...]) -> None:
    """It is a list then, and each loop begins anew, unless next() took rows: then one loop has the others."""
    made = paged(*sizes)
    assert made[0] == (1,)
    assert list(made) == list(made) == ALL
    assert [next(made), *made] == ALL
    assert list(made) == ALL
    assert made == ALL
    assert next(made, None) is None
    made = paged(*sizes)
    assert made[0] == (1,)
    assert list(pd.DataFrame.from_records(made, columns=["n"])["n"]) == [1, 2, 3, 4, 5]


def test_an_iterated_result_cannot_be_indexed() -> None:
    made = paged(5)
    next(made)
    with pytest.raises(RuntimeError, match="results have been iterated"):
        made[0]


def test_the_page_after_the_last_one_is_empty_for_next_too() -> None:
    made = paged(2, 3)
    assert next(made) == (1,)
    made.fetch_next_page()
    assert next(made) == (3,)
    assert list(made) == [(4,), (5,)]
    made = paged(5)
    next(made)
    made.fetch_next_page()
    assert next(made, None) is None
    assert list(made) == []


@SIZES
@pytest.mark.parametrize("taken", range(6))
def test_async_loops(sizes: tuple[int, ...], taken: int) -> None:
    async def run() -> None:
        made = paged(*sizes)
        assert [await anext(made) for _ in range(taken)] == ALL[:taken]
        assert [row async for row in made] == ALL[taken:]
        made = paged(*sizes)
        assert [next(made) for _ in range(taken)] == ALL[:taken]
        assert await made.all_async() == ALL[taken:]
        made = paged(*sizes)
        assert [await anext(made) for _ in range(taken)] == ALL[:taken]
        assert list(made) == ALL[taken:]
        made = paged(*sizes)
        async for _ in made:
            break
        assert [row async for row in made] == ALL if sizes == (5,) else True

    asyncio.run(run())


def test_a_page_that_fails_is_asked_for_again() -> None:
    lab = Lab(row_factory=tuple_factory)
    lab[0].script = [rows(1, 2, more=b"1"), error(0x2200, "not now"), rows(3)]
    made = lab.session.execute("SELECT n FROM tbl")
    assert next(made) == (1,)
    seen = []
    with pytest.raises(InvalidRequest, match="not now"):
        for row in made:
            seen.append(row)
    assert seen == [(2,)]
    assert list(made) == [(3,)]
