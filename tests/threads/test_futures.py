"""One ResponseFuture that several threads wait for, add callbacks to, and cancel."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra.cluster import PreparedStatement, ResponseFuture, Session
from cassandra.testing import SimulatedCluster
from cassandra.testing.errors import InvalidRequest as Invalid
from cassandra.testing.faults import Fail
from tests.patience import PATIENCE, eventually
from tests.threads.conftest import ROWS
from tests.threads.harness import THREADS, size, together

TURNS = size("FASTCQL_TURNS", 20)


class Told:
    """The calls of the callbacks of one request: what each was called with."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, Any]] = []
        self.errors: list[tuple[int, BaseException]] = []

    def add_to(self, future: ResponseFuture[Any], number: int) -> None:
        future.add_callbacks(
            lambda rows: self.rows.append((number, rows[0].v)), lambda error: self.errors.append((number, error))
        )

    def came(self, count: int) -> None:
        """Wait for *count* calls."""
        eventually(lambda: len(self.rows) + len(self.errors) >= count)
        numbers = [number for number, _ in [*self.rows, *self.errors]]
        assert sorted(numbers) == list(range(count)), "a callback was lost, or called twice"


@pytest.fixture
def select(table: Session) -> PreparedStatement:
    return table.prepare("SELECT v FROM t WHERE id = ?")


def test_all_wait_for_one_request(table: Session, select: PreparedStatement) -> None:
    for turn in range(TURNS):
        future = table.execute_async(select, (turn,))
        assert [result.one().v for result in together(lambda _, future=future: future.result())] == [  # type: ignore[misc]
            turn * 7
        ] * THREADS


def test_callbacks_that_all_add(table: Session, select: PreparedStatement) -> None:
    """Each is called exactly once, with the rows, whether it was added before the response or after it."""
    for turn in range(TURNS):
        callbacks_added(table.execute_async(select, (turn,)), turn * 7)


def callbacks_added(future: ResponseFuture[Any], value: int) -> None:
    told = Told()

    def work(number: int) -> None:
        if number % 2:
            told.add_to(future, number)
            assert future.result().one().v == value
        else:
            assert future.result().one().v == value
            told.add_to(future, number)

    together(work)
    told.came(THREADS)
    assert {found for _, found in told.rows} == {value}


def test_callbacks_of_a_request_that_fails(
    simulated: SimulatedCluster, table: Session, select: PreparedStatement
) -> None:
    with simulated.inject(Fail(Invalid("no")), opcode="EXECUTE"):
        for turn in range(TURNS // 2):
            failing(table.execute_async(select, (turn,)))


def failing(future: ResponseFuture[Any]) -> None:
    told = Told()

    def work(number: int) -> None:
        told.add_to(future, number)
        with pytest.raises(Exception, match="no"):
            future.result()

    together(work)
    told.came(THREADS)
    assert not told.rows


def test_requests_that_several_threads_cancel(table: Session, select: PreparedStatement) -> None:
    """One cancellation wins, or none; waiters and callbacks agree with it."""
    ways = {cancelled(table.execute_async(select, (turn % ROWS,)), turn % ROWS * 7) for turn in range(2 * TURNS)}
    assert ways <= {True, False}
    assert table.execute(select, (1,)).one().v == 7  # its stream ids are used again


def cancelled(future: ResponseFuture[Any], value: int) -> bool:
    told = Told()

    def work(number: int) -> bool | None:
        told.add_to(future, number)
        if number % 2:
            return future.cancel()
        try:
            assert future.result().one().v == value
        except CancelledError:
            return None
        return False

    found = together(work)
    told.came(THREADS)
    won, waited = sum(map(bool, found[1::2])), found[::2]
    assert won <= 1
    assert waited == [None if won else False] * (THREADS // 2)
    assert len(told.errors if won else told.rows) == THREADS
    return bool(won)


def test_chains_of_requests_in_callbacks(table: Session, select: PreparedStatement) -> None:
    """Each response starts the next request: none is lost, and none is doubled."""
    length = TURNS

    def work(number: int) -> None:
        values: list[int] = []
        errors: list[BaseException] = []
        over = threading.Event()

        def failed(error: BaseException) -> None:
            errors.append(error)
            over.set()

        def go_on(rows: list[Any]) -> None:
            values.append(rows[0].v)
            if len(values) < length:
                send()
            else:
                over.set()

        def send() -> None:
            table.execute_async(select, ((number + len(values)) % ROWS,)).add_callbacks(go_on, failed)

        send()
        assert over.wait(PATIENCE)
        assert not errors
        assert values == [(number + turn) % ROWS * 7 for turn in range(length)]

    together(work)


def test_requests_that_one_thread_sends_and_another_waits_for(table: Session, select: PreparedStatement) -> None:
    """Each thread waits for requests of its neighbour, while that goes on sending."""
    sent: list[list[ResponseFuture[Any]]] = [[] for _ in range(THREADS)]

    def work(number: int) -> None:
        other = (number + 1) % THREADS
        for turn in range(TURNS):
            sent[number].append(table.execute_async(select, ((number + turn) % ROWS,)))
            eventually(lambda turn=turn: len(sent[other]) > turn or turn % 5)  # type: ignore[misc]
            if len(sent[other]) > turn:
                assert sent[other][turn].result().one().v == (other + turn) % ROWS * 7

    together(work)
    assert sum(future.result().one() is not None for futures in sent for future in futures) == THREADS * TURNS
