"""Rows of large pages: a sequence that makes them as they are consumed, in any number of threads."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import sys
import threading
import time
import tracemalloc
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra import DriverException
from cassandra._core.codec import LARGE_PAGE, Codec, RowPlan, RowsPage
from cassandra._wire.rows import (
    PageRows,
    decode_page,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    row_plan,
    tuple_factory,
)
from tests.unit.core.codec_frames import BLOB, INT, TEXT, bytes_, cells, decode, encoded, int_, metadata, page_of

COLUMNS: list[tuple[str, Codec]] = [("k", INT), ("v", TEXT)]
COUNT = 6000
PADDING = "x" * 200
VALUES: list[Any] = [(i, f"{i}{PADDING}") for i in range(COUNT)]


@pytest.fixture(scope="module")
def page() -> RowsPage:
    made = page_of(COLUMNS, VALUES)
    assert made.nbytes > LARGE_PAGE
    return made


@pytest.fixture
def rows(page: RowsPage) -> PageRows:
    made = decode_page(page, tuple_factory)
    assert isinstance(made, PageRows)
    return made


def test_only_large_pages() -> None:
    def of_size(size: int) -> Any:
        made = page_of([("b", BLOB)], [(b"x" * (size - 4),)])
        assert made.nbytes == size
        return [decode_page(made, tuple_factory), decode_page(made, tuple_factory)]  # with a new plan, and a known one

    assert [type(rows) for rows in of_size(LARGE_PAGE)] == [list, list]
    assert [type(rows) for rows in of_size(LARGE_PAGE + 1)] == [PageRows, PageRows]


def test_every_factory(page: RowsPage) -> None:
    names = ["k", "v"]
    for factory in (named_tuple_factory, dict_factory, ordered_dict_factory, tuple_factory):
        made = decode_page(page, factory)
        expected: Any = factory(names, VALUES)  # type: ignore[operator]
        assert isinstance(made, PageRows) and len(made) == COUNT
        assert list(made) == list(made) == expected, "iterating uses nothing up"
        assert type(made[0]) is type(expected[0])
    assert {type(row) for row in decode_page(page, ordered_dict_factory)[:3]} == {OrderedDict}
    assert list(decode_page(page, None)) == VALUES


def test_a_users_factory_gets_a_list(page: RowsPage) -> None:
    def factory(names: Sequence[str], values: Any) -> tuple[Any, Any]:
        return names, values

    names, values = decode_page(page, factory)
    assert (type(names), type(values)) == (list, list) and values == VALUES


def test_index(rows: PageRows) -> None:
    for at in (0, 1, 17, COUNT - 1, -1, -COUNT, 2, 5000):
        assert rows[at] == VALUES[at]

    class Third:
        def __index__(self) -> int:
            return 3

    assert rows[Third()] == VALUES[3]
    for at in (COUNT, -COUNT - 1, 10**30, -(10**30)):
        with pytest.raises(IndexError, match="a page of 6000 rows has no row"):
            rows[at]
    with pytest.raises(TypeError):
        rows["k"]


def test_access_from_the_back_costs_no_more_than_from_the_front() -> None:
    count = 60_000
    rows = PageRows(*one_column(count))

    def seconds(order: Sequence[int]) -> float:
        started = time.thread_time()
        for at in order:
            assert rows[at] == (at,)
        return time.thread_time() - started

    forward = seconds(range(count))
    assert seconds(range(count)[::-1]) < 20 * forward, "decoding from row 0 each time takes hundreds of times as long"
    random.Random(1).shuffle(order := list(range(count)))
    assert seconds(order) < 20 * forward


def one_column(count: int) -> tuple[RowsPage, RowPlan]:
    page = page_of([("k", INT)], [(i,) for i in range(count)])
    conversion = row_plan(page.plan, tuple_factory)
    assert conversion is not None
    return page, conversion


@given(st.lists(st.integers(0, 999), min_size=1), st.integers(0, 999))
def test_any_order_of_access_even_where_a_row_is_broken(order: list[int], broken: int) -> None:
    columns = [("k", INT), ("v", TEXT)]
    cell_rows = encoded(columns, [(i, "x" * (i % 7)) for i in range(1000)])
    body = int_(2) + metadata(columns) + int_(1000)
    body += cells(cell_rows[:broken]) + int_(2**31 - 1) + cells(cell_rows[broken:])[4:]
    page = decode(body).page
    assert page is not None
    conversion = row_plan(page.plan, tuple_factory)
    assert conversion is not None
    rows = PageRows(page, conversion)
    for at in order:
        if at < broken:
            assert rows[at] == (at, "x" * (at % 7))
        else:
            with pytest.raises(DriverException, match=f"in row {broken} of the page"):
                rows[at]


@pytest.mark.parametrize(
    "chosen",
    [
        slice(None),
        slice(3),
        slice(10, 20),
        slice(-5, None),
        slice(20, 10),
        slice(None, None, 1000),
        slice(None, None, -1),
        slice(50, 10, -7),
        slice(5990, 10**9, 3),
        slice(0, 0),
    ],
    ids=str,
)
def test_slices_are_lists(rows: PageRows, chosen: slice) -> None:
    assert rows[chosen] == VALUES[chosen] and type(rows[chosen]) is list


def test_as_a_sequence(rows: PageRows, page: RowsPage) -> None:
    assert isinstance(rows, Sequence) and bool(rows)
    assert not PageRows(page_of(COLUMNS, []), rows._conversion)
    assert VALUES[70] in rows and (1, "no") not in rows
    assert rows.index(VALUES[70]) == 70 and rows.count(VALUES[70]) == 1
    assert list(reversed(rows)) == VALUES[::-1]
    more = [1]
    assert rows + more == [*VALUES, 1] and more + rows == [1, *VALUES]


def test_equality(rows: PageRows, page: RowsPage) -> None:
    other = decode_page(page, tuple_factory)
    expected = list(VALUES)
    assert rows == expected and expected == rows and rows == other and rows == rows
    for different in (VALUES[:-1], [*VALUES[:-1], (0, "")], tuple(VALUES), 5, None):
        assert rows != different
    with pytest.raises(TypeError, match="unhashable"):
        hash(rows)


def test_a_value_that_does_not_equal_itself() -> None:
    class Never:
        def __eq__(self, other: object) -> bool:
            return False

        __hash__ = None  # type: ignore[assignment]

    from cassandra._wire.rows import _same

    never = Never()
    assert _same(never, never) and [never] == [never] and not _same(never, Never())


def test_copies_are_lists(rows: PageRows) -> None:
    for made in (pickle.loads(pickle.dumps(rows)), copy.copy(rows), copy.deepcopy(rows)):
        assert type(made) is list and made == VALUES


def test_repr_decodes_nothing() -> None:
    page = broken_page()
    made = decode_page(page, tuple_factory)
    assert repr(made) == f"<PageRows: {COUNT} rows in {page.nbytes} bytes>"
    assert bool(made) and len(made) == COUNT


# ---- broken values

BROKEN_AT = 3000


def broken_page(at: int = BROKEN_AT) -> RowsPage:
    """A page with a text in row *at* that is no UTF-8."""
    cells = encoded(COLUMNS, VALUES)
    cells[at][1] = b"\xff" + cells[at][1][1:]  # type: ignore[index]
    data = b"".join(bytes_(cell) for row in cells for cell in row)
    page = decode(int_(2) + metadata(COLUMNS) + int_(COUNT) + data).page
    assert page is not None
    return page


@pytest.mark.parametrize("factory", [tuple_factory, named_tuple_factory, dict_factory, ordered_dict_factory])
@pytest.mark.parametrize("at", [0, 1, BROKEN_AT, COUNT - 1])
def test_rows_before_a_broken_one_are_delivered(factory: Any, at: int) -> None:
    made = decode_page(broken_page(at), factory)
    assert isinstance(made, PageRows)
    iterator, seen = iter(made), []
    with pytest.raises(DriverException, match=f"'v' of ks.t as text in row {at} of the page") as caught:
        for row in iterator:
            seen.append(row)
    assert seen == factory(["k", "v"], VALUES[:at])
    assert isinstance(caught.value.__cause__, UnicodeDecodeError)
    for _ in range(2):  # it is not over: the rows behind are not to be had
        with pytest.raises(DriverException, match=f"in row {at} of the page"):
            next(iterator, None)


def test_a_broken_row_spoils_no_other() -> None:
    made = decode_page(broken_page(), tuple_factory)
    assert made[BROKEN_AT - 1] == VALUES[BROKEN_AT - 1] and made[BROKEN_AT + 1] == VALUES[BROKEN_AT + 1]
    assert made[:BROKEN_AT] == VALUES[:BROKEN_AT] and made[BROKEN_AT + 1 :] == VALUES[BROKEN_AT + 1 :]
    for wanted in (BROKEN_AT, slice(None), slice(BROKEN_AT, BROKEN_AT + 2)):
        with pytest.raises(DriverException, match=f"row {BROKEN_AT} of the page"):
            made[wanted]
    with pytest.raises(DriverException, match=f"row {BROKEN_AT} of the page"):
        _ = made == VALUES


# ---- memory


def test_rows_that_are_dropped_take_no_memory() -> None:
    """Many small values: decoded they are far larger than their bytes."""
    columns = [("a", INT), ("b", INT), ("c", TEXT)]
    count = 150_000
    row = b"".join(map(bytes_, (int_(100_000), int_(200_000), b"text")))
    page = decode(int_(2) + metadata(columns) + int_(count) + row * count).page
    assert page is not None and page.nbytes > 3 * LARGE_PAGE
    for factory in (named_tuple_factory, dict_factory):
        made = decode_page(page, factory)
        assert len(made[0]) == 3  # what is found out once is not what is measured
        tracemalloc.start()
        try:
            assert sum(1 for _ in made) == count
            assert tracemalloc.get_traced_memory()[1] < 10 << 20
        finally:
            tracemalloc.stop()


def test_batches_are_bounded_by_bytes_and_rows(page: RowsPage) -> None:
    conversion = row_plan(page.plan, tuple_factory)
    assert conversion is not None
    batches = list(page.batches(conversion))
    assert list(itertools.chain(*batches)) == VALUES
    sizes = [sum(12 + len(text) for _, text in batch) for batch in batches]
    assert sum(sizes) == page.nbytes and len(sizes) >= 4
    assert all((1 << 18) <= size < (1 << 18) + 300 for size in sizes[:-1])
    assert [len(batch) for batch in page.batches(conversion, 4000)] != [4000, 2000], "bytes count too"
    assert [len(batch) for batch in page.batches(conversion, 4000, 1 << 30)] == [4000, 2000]
    assert {len(batch) for batch in page.batches(conversion, 5, 1)} == {1}, "one row at least"
    small = page_of([("a", INT)], [(None,)] * 20000)
    assert [len(batch) for batch in small.batches(row_plan(small.plan, None))] == [8192, 8192, 3616]  # type: ignore[arg-type]


# ---- threads


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("frequent_switches")
def test_one_page_in_many_threads(page: RowsPage) -> None:
    made = decode_page(page, named_tuple_factory)
    barrier = threading.Barrier(4)
    wrong: list[Any] = []

    def work(number: int) -> None:
        try:
            barrier.wait(30)
            for turn in range(2):
                first, second = iter(made), iter(made)
                for left, right, expected in zip(first, second, VALUES[:2500], strict=False):
                    if not left == right == expected:
                        wrong.append((number, turn, left, right, expected))
                at = (number * 1327 + turn * 997) % COUNT
                if made[at] != VALUES[at] or made[at : at + 9] != VALUES[at : at + 9]:
                    wrong.append((number, turn, at))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
