"""One ResultSet that several threads read, and results of each thread's own, page after page."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.cluster import ResultSet, Session
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE
from tests.threads.conftest import ROWS
from tests.threads.harness import THREADS, size, together

TURNS = size("FASTCQL_TURNS", 20)
PAIRS = {(number, number * 7) for number in range(ROWS)}

Reader = Callable[[ResultSet[Any]], Iterator[Any]]


def executed(session: Session, page: int, prefetch: int = 1) -> ResultSet[Any]:
    return session.execute(SimpleStatement("SELECT id, v FROM t", fetch_size=page), prefetch=prefetch)


def by_loop(result: ResultSet[Any]) -> Iterator[Any]:
    yield from result


def by_next(result: ResultSet[Any]) -> Iterator[Any]:
    while (row := next(result, None)) is not None:
        yield row


@pytest.mark.parametrize("prefetch", [1, 0])
@pytest.mark.parametrize("page", [5, 40, 1000])
@pytest.mark.parametrize("reader", [by_loop, by_next])
def test_threads_that_share_a_result(table: Session, reader: Reader, page: int, prefetch: int) -> None:
    """Each row goes to at least one of them, as it is in the table."""
    for _ in range(3):
        result = executed(table, page, prefetch)
        found = together(lambda _, result=result: [tuple(row) for row in reader(result)])  # type: ignore[misc]
        assert {row for rows in found for row in rows} == PAIRS
        assert not list(result)


@pytest.mark.parametrize("page", [5, 40, 1000])
def test_threads_that_show_a_result_while_others_read_it(table: Session, page: int) -> None:
    for _ in range(3):
        result = executed(table, page)

        def show_or_read(number: int, result: Any = result) -> list[Any]:
            if number % 2:
                texts = [text for _ in range(TURNS) for text in (repr(result), result._repr_html_())]
                assert not [text for text in texts if "cannot be shown" in text]
                return []
            return [tuple(row) for row in result]

        found = together(show_or_read)
        assert {row for rows in found for row in rows} == PAIRS


@pytest.mark.parametrize("page", [5, 40, 1000])
def test_threads_that_share_an_iterator(table: Session, page: int) -> None:
    for _ in range(3):
        rows = iter(executed(table, page))
        found = together(lambda _, rows=rows: [tuple(row) for row in rows])  # type: ignore[misc]
        assert {row for some in found for row in some} == PAIRS


def test_threads_that_begin_while_others_read(table: Session) -> None:
    """Loops that begin in the middle begin with the present page: rows come again, and none is left out."""
    for _ in range(5):
        result = executed(table, 7)

        def work(number: int, result: ResultSet[Any] = result) -> list[Any]:
            seen = []
            for turn, row in enumerate(result):
                seen.append(tuple(row))
                if number % 2 and turn in (2, 9, 16, 40):
                    seen.extend(tuple(other) for _, other in zip(range(2), result, strict=False))
            return seen

        assert {row for rows in together(work) for row in rows} == PAIRS


def test_pages_that_are_decoded_as_they_are_read(simulated: SimulatedCluster, session: Session) -> None:
    """Pages of more than a mebibyte, read by all threads at the same time: the rows of each page are whole."""
    simulated.execute("CREATE TABLE ks.large (id int PRIMARY KEY, name text)")
    insert = session.prepare("INSERT INTO large (id, name) VALUES (?, ?)")
    names = {number: f"{number:04} " * 12000 for number in range(30)}
    for number, name in names.items():
        session.execute(insert, (number, name))
    for _ in range(2):
        result = session.execute(SimpleStatement("SELECT id, name FROM large", fetch_size=20), timeout=PATIENCE)
        rows = result.current_rows

        def work(number: int, rows: Any = rows, result: ResultSet[Any] = result) -> int:
            assert all(names[row.id] == row.name for row in rows)
            assert len(rows) == 20
            some = [row.id for row in result if names[row.id] == row.name]
            return len(some)

        counts = together(work)
        assert sum(counts) >= 30


def test_results_of_each_thread(table: Session) -> None:
    """Pages of one session's requests: each thread has all rows of its own results, once."""

    def work(number: int) -> None:
        for turn in range(2):
            page = 15 + (number + turn) % 20
            assert Counter(tuple(row) for row in executed(table, page, turn % 2)) == Counter(PAIRS)
            assert len(executed(table, page).all()) == ROWS

    together(work)


def test_pages_by_callbacks(table: Session) -> None:
    """Each callback asks for the next page: all pages come, each of them once."""

    def work(number: int) -> None:
        seen: list[Any] = []
        errors: list[BaseException] = []
        over = threading.Event()
        future = table.execute_async(SimpleStatement("SELECT id, v FROM t", fetch_size=9))

        def page(rows: list[Any]) -> None:
            seen.extend(tuple(row) for row in rows)
            if future.has_more_pages:
                future.start_fetching_next_page()
            else:
                over.set()

        def failed(error: BaseException) -> None:
            errors.append(error)
            over.set()

        future.add_callbacks(page, failed)
        assert over.wait(PATIENCE)
        assert not errors and Counter(seen) == Counter(PAIRS)

    together(work)


def test_a_result_that_is_described_while_it_is_read(table: Session) -> None:
    """Its attributes and its text, beside the thread that reads it."""
    for _ in range(5):
        result = executed(table, 11)

        def work(number: int, result: ResultSet[Any] = result) -> int:
            if number == 0:
                return sum(1 for _ in result)
            for _ in range(TURNS):
                assert result.column_names == ["id", "v"]
                assert repr(result) and result.paging_state != b"" and len(result.current_rows) <= 11
                assert result.response_future.warnings is None
            return 0

        assert together(work)[0] == ROWS


def test_threads_have_results_of_their_own_in_one_future(table: Session) -> None:
    """Each call of ``result()`` gives a result; their first pages are read at the same time."""
    for _ in range(TURNS):
        future = table.execute_async(SimpleStatement("SELECT id, v FROM t", fetch_size=50))
        counts = together(lambda _, future=future: len(list(future.result().current_rows)))  # type: ignore[misc]
        assert counts == [50] * THREADS
