"""A row factory of one call, and rows that are instances of a program's class, on every way of a request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from cassandra.cluster import ResultSet, Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_async
from cassandra.query import SimpleStatement, class_row, dict_factory, named_tuple_factory, tuple_factory
from tests.unit.session.harness import Lab, routed_lab, rows

QUERY = "SELECT n FROM tbl"


@dataclass
class Number:
    n: int


@dataclass
class Other:
    m: int


NUMBERS = class_row(Number)


def test_of_a_text() -> None:
    lab = Lab(row_factory=dict_factory)
    lab[0].script = [rows(1)] * 5
    session = lab.session
    assert session.execute(QUERY).one() == {"n": 1}
    assert session.execute(QUERY, row_factory=NUMBERS).one() == Number(1)
    assert session.execute(SimpleStatement(QUERY), row_factory=tuple_factory).one() == (1,)
    assert session.execute(QUERY, row_factory=None).one() == (1,)
    assert session.execute_async(QUERY, row_factory=lambda names, found: [names]).result().one() == ["n"]  # type: ignore[type-var,arg-type,return-value]


@pytest.mark.parametrize("timeout", [{}, {"timeout": 5.0}], ids=["lane", "message"])
def test_of_a_prepared_statement(timeout: dict[str, Any]) -> None:
    lab, select = routed_lab()
    lab[0].script = [rows(n) for n in range(6)]
    session = lab.session
    assert session.execute(select, (0,), **timeout).one().n == 0
    for n in (1, 2):
        assert session.execute(select, (n,), row_factory=NUMBERS, **timeout).one() == Number(n)
    assert type(session.execute(select, (3,), **timeout).one()).__name__ == "Row"
    assert session.execute(select.bind((4,)), row_factory=dict_factory, **timeout).one() == {"n": 4}
    assert session.execute_async(select, (5,), row_factory=NUMBERS, prefetch=0).result().one() == Number(5)


def test_over_session_and_profile() -> None:
    lab = Lab()
    lab[0].script = [rows(1)] * 3
    lab.session.row_factory = tuple_factory
    assert lab.session.execute(QUERY).one() == (1,)
    assert lab.session.execute(QUERY, row_factory=named_tuple_factory).one().n == 1
    assert lab.session.execute(QUERY).one() == (1,)


def test_of_later_pages() -> None:
    lab, select = routed_lab()
    pages = [rows(1, more=b"a"), rows(2, more=b"b"), rows(3)]
    for statement in (QUERY, select):
        lab[0].script = list(pages)
        values = () if statement is QUERY else (1,)
        assert list(lab.session.execute(statement, values, row_factory=NUMBERS)) == [Number(1), Number(2), Number(3)]


def test_of_a_task_and_of_callbacks() -> None:
    lab = Lab()
    lab[0].script = [rows(1)] * 2

    async def run() -> Any:
        return (await lab.session.execute_async(QUERY, row_factory=NUMBERS)).one()

    assert asyncio.run(run()) == Number(1)
    told: list[Any] = []
    lab.session.execute_async(QUERY, row_factory=NUMBERS).add_callback(told.append)
    assert told == [[Number(1)]]


def test_of_a_page_whose_truth_is_ambiguous() -> None:
    """A data frame raises ValueError when it is used as a condition."""

    class Frame:
        def __init__(self, names: list[str], rows: list[Any]) -> None:
            self.rows = rows

        def __iter__(self) -> Iterator[Any]:
            return iter(self.rows)

        def __bool__(self) -> bool:
            raise ValueError

    lab = Lab()
    lab[0].script = [rows(1, 2)]
    assert lab.session.execute(QUERY, row_factory=Frame).current_rows.rows == [(1,), (2,)]


def test_a_class_that_rows_do_not_fit() -> None:
    """Also where there are no rows: it is the columns that do not."""
    lab, select = routed_lab()
    for statement, values in ((QUERY, ()), (select, (1,))):
        for answer in (rows(1), rows()):
            lab[0].script = [answer] * 2
            for _ in range(2):
                with pytest.raises(TypeError, match=r"Other (has no|needs)"):
                    lab.session.execute(statement, values, row_factory=class_row(Other)).one()
    lab[0].script = [rows(7)]
    assert lab.session.execute(QUERY, row_factory=class_row(Other, rename={"n": "m"})).one() == Other(7)


def test_non_callable_row_factory_is_refused() -> None:
    lab = Lab()
    with pytest.raises(TypeError, match="row_factory must be callable with column names and rows, not 5"):
        lab.session.execute(QUERY, row_factory=5)  # type: ignore[call-overload]
    assert not lab[0].sent


def test_execute_async_override_without_row_factory_parameter() -> None:
    """As programs have overridden it: it is called as ever, unless a factory is given."""

    class Own(Session):
        def execute_async(self, query: Any, *args: Any) -> Any:  # type: ignore[override]
            return super().execute_async(query, *args)

    lab = Lab()
    lab[0].script = [rows(1)]
    lab.session.__class__ = Own
    assert lab.session.execute(QUERY).one().n == 1
    with pytest.raises(TypeError, match="row_factory"):
        lab.session.execute(QUERY, row_factory=NUMBERS)


def test_types_are_for_annotations() -> None:
    annotated: Any = ResultSet[Number]
    assert annotated.__origin__ is ResultSet and annotated.__args__ == (Number,)


def test_of_many_at_a_time() -> None:
    """By flights and by futures, and nothing of it stays for others."""
    lab, select = routed_lab()
    pairs: list[tuple[Any, Any]] = [(select, (n,)) for n in range(3)] + [(SimpleStatement(QUERY), None)]
    expected = [[Number(n)] for n in range(4)]

    def script() -> None:
        lab[0].script = [rows(n) for n in range(4)]

    async def run() -> Any:
        return await execute_concurrent_async(lab.session, pairs, concurrency=1, row_factory=NUMBERS)

    for _ in range(2):
        script()
        found = execute_concurrent(lab.session, pairs, concurrency=1, row_factory=NUMBERS)
        assert [list(result) for _, result in found] == expected
        script()
        assert [list(result) for _, result in asyncio.run(run())] == expected
        script()
        found = execute_concurrent(lab.session, pairs, concurrency=1)
        assert [[row.n for row in result] for _, result in found] == [[0], [1], [2], [3]]
        lab[0].script = [rows(7)]
        assert type(lab.session.execute(select, (1,)).one()).__name__ == "Row"
