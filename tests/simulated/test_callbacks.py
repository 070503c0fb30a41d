"""Callbacks of requests whose answer was faster than the program that adds them."""

from __future__ import annotations

import threading

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import ResponseFuture, Session

from .conftest import eventually


def answered(session: Session, query: str) -> ResponseFuture:
    """A request whose answer has arrived before a caller asked for it."""
    future = session.execute_async(query)
    eventually(lambda: not any(sum(state["in_flights"]) for state in session.get_pool_state().values()))
    return future


def test_callbacks_do_not_run_in_the_thread_that_adds_them(session: Session) -> None:
    """A program may have more to note before it is called back: async-cassandra makes its future afterwards."""
    for _ in range(5):
        heard: list[int] = []
        future = answered(session, "SELECT key FROM system.local")
        future.add_callback(lambda _: heard.append(threading.get_ident()))  # noqa: B023
        eventually(lambda: bool(heard))  # noqa: B023
        assert heard[0] != threading.get_ident()


def test_callbacks_run_at_once_if_the_result_was_taken(session: Session) -> None:
    heard: list[object] = []
    future = answered(session, "SELECT key FROM system.local")
    rows = future.result().current_rows
    future.add_callback(heard.append)
    assert heard == [rows]
    future = answered(session, "SELECT nothing FROM nowhere")
    with pytest.raises(InvalidRequest):
        future.result()
    future.add_errback(lambda error: heard.append(type(error)))
    assert heard == [rows, InvalidRequest]


def test_added_and_waited_for(session: Session) -> None:
    """The first of callback and waiter takes the answer; both get it, once."""
    for _ in range(50):
        heard: list[object] = []
        future = answered(session, "SELECT key FROM system.local")
        future.add_callback(heard.append)
        rows = future.result().current_rows
        eventually(lambda: heard == [rows])  # noqa: B023
