"""One prepared statement that all threads bind and execute while its table is altered and nodes forget it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import pytest

from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import BatchStatement
from cassandra.testing import SimulatedCluster
from tests.threads.conftest import ROWS
from tests.threads.harness import THREADS, beside, size, together

TURNS = size("FASTCQL_TURNS", 20)


class Changes:
    """Changes the table of a statement, or what nodes know, once each worker has gone on since the last change: a
    request sees two changes at most, as the driver gives up one that gets UNPREPARED again and again."""

    def __init__(self, simulated: SimulatedCluster) -> None:
        self._simulated = simulated
        self._steps = itertools.count()
        self._turns = [0] * THREADS
        self._before = [-1] * THREADS

    def turns(self, number: int, count: int) -> Iterator[int]:
        """Count the turns of a worker."""
        for turn in range(count):
            self._turns[number] = turn
            yield turn

    def _may(self) -> bool:
        now = self._turns[:]
        if any(after <= before for after, before in zip(now, self._before, strict=True)):
            time.sleep(0.001)
            return False
        self._before = now
        return True

    def alter(self) -> None:
        """Add or drop a column, in turn."""
        if self._may():
            step = next(self._steps)
            self._simulated.execute("ALTER TABLE ks.t DROP added" if step % 2 else "ALTER TABLE ks.t ADD added text")
            self._forget()

    def forget(self) -> None:
        """All nodes forget their statements: they answer UNPREPARED."""
        if self._may():
            self._forget()

    def _forget(self) -> None:
        for node in self._simulated.nodes:
            node.forget_prepared()


def test_a_statement_whose_table_is_altered(simulated: SimulatedCluster, table: Session) -> None:
    """Rows are decoded with the columns that they have: a value is never that of another column."""
    select = table.prepare("SELECT * FROM t WHERE id = ?")
    changes = Changes(simulated)

    def work(number: int) -> None:
        for turn in changes.turns(number, TURNS):
            key = (number * TURNS + turn) % ROWS
            row = table.execute(select, (key,)).one()
            assert (row.id, row.v) == (key, key * 7) and getattr(row, "added", None) is None
            bound = [select.bind((other,)) for other in (key, (key + 1) % ROWS)]
            found = [table.execute(one).one() for one in bound]
            assert [row.v for row in found] == [key * 7, (key + 1) % ROWS * 7]

    with beside(changes.alter, lambda: table.prepare("SELECT * FROM t WHERE id = ?")):
        together(work)


def test_writes_of_a_statement_that_nodes_forget(simulated: SimulatedCluster, table: Session) -> None:
    """Each value is written to its own key, once; batches of the same statement, too."""
    insert = table.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    first = 1000
    changes = Changes(simulated)

    def work(number: int) -> None:
        for turn in changes.turns(number, TURNS):
            key = first + (number * TURNS + turn) * 3
            table.execute(insert, (key, key * 7))
            batch = BatchStatement()
            for other in (key + 1, key + 2):
                batch.add(insert, (other, other * 7))
            table.execute(batch)

    with beside(changes.forget):
        together(work)
    rows = simulated.execute("SELECT id, v FROM ks.t")
    written = {row["id"]: row["v"] for row in rows if row["id"] >= first}
    assert written == {key: key * 7 for key in range(first, first + THREADS * TURNS * 3)}


def test_a_statement_that_all_prepare(simulated: SimulatedCluster, table: Session) -> None:
    """Threads prepare the same text and others at the same time; each gets a statement that works."""
    changes = Changes(simulated)

    def work(number: int) -> None:
        for turn in changes.turns(number, TURNS // 3):
            same = table.prepare("SELECT v FROM t WHERE id = ?")
            own = table.prepare(f"SELECT v AS v{number}_{turn % 5} FROM t WHERE id = ?")
            assert table.execute(same, (turn,)).one().v == turn * 7
            assert table.execute(own, (turn,)).one()[0] == turn * 7

    with beside(changes.forget):
        together(work)


def test_requests_of_many_at_a_time(simulated: SimulatedCluster, table: Session) -> None:
    """``execute_concurrent_with_args`` by all threads: lists, and generators that each thread reads."""
    changes = Changes(simulated)
    select = table.prepare("SELECT v FROM t WHERE id = ?")

    def work(number: int) -> None:
        for turn in changes.turns(number, 6):
            keys = [(number * 17 + turn * 5 + key) % ROWS for key in range(50)]
            results = execute_concurrent_with_args(
                table, select, [(key,) for key in keys], concurrency=10, results_generator=bool(turn % 2)
            )
            assert [result.one().v for success, result in results if success] == [key * 7 for key in keys]

    with beside(changes.forget):
        together(work)


def test_options_of_a_session_that_change(table: Session) -> None:
    """One thread changes settings; requests of the others keep their values, in rows of one kind or the other."""
    select = table.prepare("SELECT id, v FROM t WHERE id = ?")
    factories = itertools.cycle((dict_rows, tuple_rows))

    def change() -> None:
        table.row_factory = next(factories)
        table.default_fetch_size = 100

    def work(number: int) -> None:
        for turn in range(TURNS):
            key = (number * TURNS + turn) % ROWS
            row = table.execute(select, (key,)).one()
            assert row in ({"id": key, "v": key * 7}, (key, key * 7))

    with beside(change):
        together(work)


def dict_rows(names: list[str], rows: list[tuple[object, ...]]) -> list[dict[str, object]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def tuple_rows(_: list[str], rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return rows


@pytest.mark.filterwarnings("ignore:Setting the consistency level:DeprecationWarning")
def test_options_of_a_session_that_several_threads_set(table: Session) -> None:
    """Each option that was set stays set."""
    values: dict[str, object] = {
        "default_timeout": 77.0, "default_consistency_level": 6, "default_serial_consistency_level": 9,
        "row_factory": tuple_rows,
    }  # fmt: skip
    names = list(values)
    defaults = {name: getattr(table, name) for name in names}
    for _ in range(TURNS):
        for name in names:
            setattr(table, name, defaults[name])
        together(lambda number: setattr(table, names[number], values[names[number]]), len(names))
        assert {name: getattr(table, name) for name in names} == values


def test_listeners_of_requests(table: Session) -> None:
    """Listeners that threads add and remove: those that stay are called once for each request, all others are gone."""
    calls: list[int] = []

    def listener(_: object, number: int) -> None:
        calls.append(number)

    for _ in range(TURNS // 2):

        def work(number: int) -> None:
            table.add_request_init_listener(listener, number)
            table.add_request_init_listener(listener, THREADS + number)
            table.remove_request_init_listener(listener, THREADS + number)

        together(work)
        calls.clear()
        assert table.execute("SELECT v FROM t WHERE id = 1").one().v == 7
        assert sorted(calls) == list(range(THREADS))
        together(lambda number: table.remove_request_init_listener(listener, number))
        calls.clear()
        assert table.execute("SELECT v FROM t WHERE id = 1").one().v == 7
        assert calls == []
