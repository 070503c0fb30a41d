"""Threads decode and bind at once; they share plans, pages and contexts, and spoil nothing for one another."""

from __future__ import annotations

import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra._core.codec import BindPlan, Result, RowPlan, TypeContext, decode_result, list_codec
from tests.unit.core.codec_frames import INT, TEXT, UUID, decode, encoded, page_of, rows_body

THREADS = 4


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def at_once(work: Callable[[int], None]) -> None:
    """Run *work* in several threads that start together; show the first error of any."""
    barrier = threading.Barrier(THREADS)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_one_page_in_many_threads() -> None:
    columns = [("a", INT), ("b", TEXT), ("c", list_codec(INT))]
    values = [(i, f"text {i}", [i, i + 1]) for i in range(500)]
    page = page_of(columns, values)
    named = RowPlan(page.plan, "named", namedtuple("Row", "a b c"))
    tuples = RowPlan(page.plan, "tuple")

    def work(number: int) -> None:
        for turn in range(20):
            size = 7 + number * 13 + turn
            rows = [row for part in page.batches(named if turn % 2 else tuples, size) for row in part]
            assert rows == values
            start = (turn * 37 + number * 101) % 500
            assert page.decode(tuples, start, start + 5) == values[start : start + 5]

    at_once(work)


def test_one_context_in_many_threads() -> None:
    context = TypeContext(plan_cache_size=8)

    def work(number: int) -> None:
        for turn in range(300):
            columns = [(f"column_{(turn * 7 + number) % 20}", INT), ("b", TEXT)]
            body = rows_body(columns, encoded(columns, [(turn, "x")]))
            result: Any = decode(body, context=context)
            assert result.column_names == [columns[0][0], "b"]
            assert result.parsed_rows == [(turn, "x")]
            if turn % 100 == 99:
                context.clear()

    at_once(work)
    assert len(context) <= 8 + THREADS


def test_one_bind_plan_in_many_threads() -> None:
    plan = BindPlan([("ks", "t", "a", INT), ("ks", "t", "b", list_codec(TEXT))], [0])
    tokens = [plan.bind([i, []], 4).token for i in range(50)]

    def work(number: int) -> None:
        for turn in range(500):
            bound = plan.bind([turn % 50, [str(number)]], 4)
            assert bound.token == tokens[turn % 50]
            assert bound.data.endswith(str(number).encode())

    at_once(work)


def test_classes_are_looked_up_once_by_all() -> None:
    def work(number: int) -> None:
        for _ in range(200):
            assert UUID.decode(bytes(16)).int == 0

    at_once(work)


def test_results_of_one_body() -> None:
    columns = [("a", INT)]
    body = rows_body(columns, encoded(columns, [(i,) for i in range(100)]))

    def work(number: int) -> None:
        context = TypeContext()
        for _ in range(100):
            assert decode_result(Result, body, 0, 4, context).parsed_rows == [(i,) for i in range(100)]

    at_once(work)
