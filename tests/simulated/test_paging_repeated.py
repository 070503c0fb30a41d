"""A paging state that repeats would make a result endless: fetching further pages raises an error of the driver."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from cassandra import DriverException
from cassandra.cluster import Session
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster
from cassandra.testing._connection import empty_page, empty_state, is_rows
from cassandra.testing.faults import Exchange, Reaction
from tests.patience import PATIENCE

pytestmark = pytest.mark.long

ERROR = "returned the paging state of the request"


class Repeat(Reaction):
    """Every page is empty, and all have the same paging state."""

    def react(self, exchange: Exchange) -> None:
        response = exchange.execute()
        if is_rows(response):
            response.body = empty_page(response.body, empty_state(b""))
        exchange.send(response)


@pytest.fixture
def table(simulated: SimulatedCluster, session: Session) -> Session:
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    for number in range(5):
        session.execute("INSERT INTO t (id, v) VALUES (%s, %s)", (number, number))
    for name in ("t", "ks.t"):
        simulated.inject(Repeat(), query=f"FROM {name}")
    return session


def select(session: Session, prepared: bool) -> Any:
    if prepared:
        statement = session.prepare("SELECT id, v FROM t")
        statement.fetch_size = 2
        return statement
    return SimpleStatement("SELECT id, v FROM t", fetch_size=2)


WAYS = {
    "iteration": list,
    "next": next,
    "all": lambda result: result.all(),
    "one": lambda result: result.one(),
    "index": lambda result: result[0],
    "pages": lambda result: [result.fetch_next_page() for _ in range(5)],
    "arrow": lambda result: list(result.arrow()),
}


@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "text"])
@pytest.mark.parametrize("way", WAYS)
def test_results(way: str, prepared: bool, table: Session) -> None:
    result = table.execute(select(table, prepared))
    with pytest.raises(DriverException, match=ERROR):
        WAYS[way](result)


@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "text"])
def test_callbacks(prepared: bool, table: Session) -> None:
    future = table.execute_async(select(table, prepared))
    failed, errors = threading.Event(), []

    def page(_: Any) -> None:
        if future.has_more_pages:
            future.start_fetching_next_page()

    def error(raised: Exception) -> None:
        errors.append(raised)
        failed.set()

    future.add_callbacks(page, error)
    assert failed.wait(PATIENCE)
    assert isinstance(errors[0], DriverException) and ERROR in str(errors[0])


async def in_loop(session: Session, statement: Any, way: str) -> Any:
    result = await session.execute_async(statement)
    return [row async for row in result] if way == "iteration" else await result.all_async()


@pytest.mark.parametrize("way", ["iteration", "all"])
def test_tasks(way: str, table: Session) -> None:
    import asyncio

    with pytest.raises(DriverException, match=ERROR):
        asyncio.run(in_loop(table, select(table, True), way))


def test_a_scan(table: Session) -> None:
    with pytest.raises(DriverException, match=ERROR):
        for _ in table.scan("ks.t").rows():
            pass


def test_a_position_of_the_program(table: Session) -> None:
    """Of an earlier result, from where the server gets no further."""
    first = table.execute(select(table, False))
    again = table.execute(select(table, False), paging_state=first.paging_state)
    with pytest.raises(DriverException, match=ERROR):
        list(again)


def test_the_result_goes_on_once_the_server_does(simulated: SimulatedCluster, session: Session) -> None:
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    session.execute("INSERT INTO t (id, v) VALUES (1, 2)")
    with simulated.inject(Repeat(), query="FROM t"):
        result = session.execute(select(session, True))
        with pytest.raises(DriverException, match=ERROR):
            result.one()
    assert result.one() == (1, 2)
