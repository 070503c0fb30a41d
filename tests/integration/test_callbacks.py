"""Callbacks: on which thread, how often, with what; errors in them; and with everything else at once."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from cassandra import DriverException, InvalidRequest
from cassandra.cluster import ResponseFuture, Session

QUERY = "SELECT key FROM system.local"


class Heard:
    """Collects calls and waits for them."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any, tuple[Any, ...], dict[str, Any], threading.Thread]] = []
        self._condition = threading.Condition()

    def _note(self, kind: str, value: Any, args: Any, kwargs: Any) -> None:
        with self._condition:
            self.calls.append((kind, value, args, kwargs, threading.current_thread()))
            self._condition.notify_all()

    def rows(self, value: Any, *args: Any, **kwargs: Any) -> None:
        self._note("rows", value, args, kwargs)

    def error(self, value: Any, *args: Any, **kwargs: Any) -> None:
        self._note("error", value, args, kwargs)

    def wait(self, count: int = 1) -> None:
        with self._condition:
            assert self._condition.wait_for(lambda: len(self.calls) >= count, timeout=30)


def test_rows(session: Session) -> None:
    heard = Heard()
    future = session.execute_async(QUERY)
    assert future.add_callback(heard.rows, 1, a=2) is future
    heard.wait()
    ((kind, rows, args, kwargs, _),) = heard.calls
    assert (kind, list(rows), args, kwargs) == ("rows", [("local",)], (1,), {"a": 2})


def test_nothing_for_a_write(session: Session) -> None:
    session.execute("CREATE TABLE w (k int PRIMARY KEY)")
    heard = Heard()
    session.execute_async("INSERT INTO w (k) VALUES (1)").add_callback(heard.rows)
    heard.wait()
    assert heard.calls[0][1] is None


def test_error(session: Session) -> None:
    heard = Heard()
    future = session.execute_async("SELECT * FROM nothing_there")
    future.add_callbacks(heard.rows, heard.error, ("x",), {"k": 1}, ("y",), {"e": 2})
    heard.wait()
    ((kind, error, args, kwargs, _),) = heard.calls
    assert (kind, args, kwargs) == ("error", ("y",), {"e": 2})
    assert isinstance(error, InvalidRequest)
    with pytest.raises(InvalidRequest):
        future.result()


def test_added_after_the_answer_is_called_here_and_now(session: Session) -> None:
    heard = Heard()
    future = session.execute_async(QUERY)
    future.result()
    future.add_callback(heard.rows)
    future.add_errback(heard.error)
    assert [call[0] for call in heard.calls] == ["rows"]
    assert heard.calls[0][4] is threading.current_thread()
    failed = session.execute_async("SELECT * FROM nothing_there")
    with pytest.raises(InvalidRequest):
        failed.result()
    failed.add_callbacks(heard.rows, heard.error)
    assert [call[0] for call in heard.calls] == ["rows", "error"]


def test_in_order_and_each_once(session: Session) -> None:
    order: list[int] = []
    done = threading.Event()
    future = session.execute_async(QUERY)
    for number in range(5):
        future.add_callback(lambda rows, n: order.append(n), number)
    future.add_callback(lambda rows: done.set())
    assert done.wait(30)
    future.result()
    assert order == [0, 1, 2, 3, 4]


def test_one_that_raises_is_logged_and_stops_nothing(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()

    def bad(rows: Any) -> None:
        raise LookupError("in the callback")

    future = session.execute_async(QUERY)
    future.add_callback(bad)
    future.add_callback(heard.rows)
    heard.wait()
    assert future.result().one() == ("local",)
    assert "in the callback" in caplog.text
    assert session.execute(QUERY).one()


def test_a_callback_may_execute(session: Session) -> None:
    """A chain of requests, each sent by the callback of the one before."""
    done = threading.Event()
    count = 0

    def step(rows: Any) -> None:
        nonlocal count
        count += 1
        if count == 500:
            done.set()
        else:
            session.execute_async(QUERY).add_callbacks(step, lambda error: done.set())

    session.execute_async(QUERY).add_callback(step)
    assert done.wait(60)
    assert count == 500


def test_blocking_in_a_callback_is_refused_or_answered(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    """result() on the I/O thread would wait for itself: it says so instead of hanging the driver. (When a thread that
    waits took the answer, the callback runs on that thread, where it may block.)"""
    caplog.set_level(logging.ERROR)
    outcome: list[Any] = []
    done = threading.Event()

    def blocks(rows: Any) -> None:
        try:
            outcome.append(session.execute(QUERY, timeout=5).one())
        except BaseException as error:
            outcome.append(error)
        finally:
            done.set()

    blocker = session.execute_async(QUERY)
    blocker.add_callback(blocks)
    assert done.wait(30)
    assert len(outcome) == 1
    assert outcome == [("local",)] or (isinstance(outcome[0], DriverException) and "I/O thread" in str(outcome[0]))
    assert session.execute(QUERY).one() == ("local",)


def test_callback_and_result_and_threads(session: Session) -> None:
    """Whoever takes the answer, everybody hears of it once."""
    for _ in range(200):
        heard = Heard()
        results: list[Any] = []
        future = session.execute_async(QUERY)
        waiters = [threading.Thread(target=_take, args=(future, results)) for _ in range(3)]
        for waiter in waiters[:2]:
            waiter.start()
        future.add_callback(heard.rows)
        waiters[2].start()
        for waiter in waiters:
            waiter.join(30)
        heard.wait()
        assert results == [("local",)] * 3
        assert len(heard.calls) == 1


def _take(future: ResponseFuture, results: list[Any]) -> None:
    results.append(future.result().one())


def test_clear_callbacks(session: Session) -> None:
    heard = Heard()
    future = session.execute_async(QUERY)
    future.add_callback(heard.rows)
    future.clear_callbacks()
    first = len(heard.calls)
    future.result()
    assert len(heard.calls) == first <= 1


def test_thousands_in_flight(session: Session) -> None:
    heard = Heard()
    select = session.prepare("SELECT (int) ? AS n FROM system.local")
    for number in range(5000):
        session.execute_async(select, (number,)).add_callbacks(heard.rows, heard.error)
    heard.wait(5000)
    assert {call[0] for call in heard.calls} == {"rows"}
    assert sorted(call[1][0].n for call in heard.calls) == list(range(5000))


def test_a_dropped_future_still_calls(session: Session) -> None:
    heard = Heard()

    def send() -> None:
        session.execute_async(QUERY).add_callback(heard.rows)

    for _ in range(20):
        send()
    heard.wait(20)


def test_future_shows_itself(session: Session) -> None:
    future = session.execute_async(QUERY)
    assert isinstance(future, ResponseFuture)
    future.result()
    assert QUERY in repr(future)
    assert str(future.coordinator_host) in repr(future)
