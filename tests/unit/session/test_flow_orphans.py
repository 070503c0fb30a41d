"""Requests that were given up: their streams are not used again before the answer came, and worn connections go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import OperationTimedOut
from cassandra.cluster import Session
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing.faults import Close, Exchange
from tests.fakes.flow import Flow, Gate, waiting_for_room
from tests.patience import eventually


class Streams(Gate):
    """Notes which streams of a connection are taken, from the server's side."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: set[tuple[int, int]] = set()
        self.used: list[int] = []
        self.twice: list[int] = []

    def react(self, exchange: Exchange) -> None:
        stream = exchange.frame.stream
        key = id(exchange.connection), stream
        self.used.append(stream)
        if key in self.taken:
            self.twice.append(stream)
        self.taken.add(key)
        super().react(exchange)
        if self.held:
            answer = self.held.pop()

            def send() -> None:
                self.taken.discard(key)
                answer()

            self.held.append(send)
        else:
            self.taken.discard(key)


@pytest.fixture
def flow(no_leaks: None) -> Iterator[Flow]:
    flow = Flow()
    flow.rule.remove()
    flow.hold = Streams()
    flow.rule = flow.simulated.inject(flow.hold, query="release_version from system.local")
    yield flow
    flow.close()


def streams(flow: Flow) -> Streams:
    assert isinstance(flow.hold, Streams)
    return flow.hold


def give_up(flow: Flow, session: Session, count: int) -> None:
    """*count* requests that the server has got are cancelled."""
    for future in flow.full(session, count):
        assert future.cancel()


def connection_of(session: Session) -> Any:
    (pool,) = session.get_pools()
    (connection,) = pool.get_connections()
    return connection


def test_a_stream_is_not_used_again_before_its_answer_came(flow: Flow) -> None:
    session = flow.connect(max_requests_per_connection=8)
    connection = connection_of(session)
    give_up(flow, session, 5)
    eventually(lambda: connection.orphaned == 5 and connection.waiting == 0)
    mine = flow.full(session, 3)
    assert len(set(streams(flow).used)) == 8, "none of those that were given up"
    late = flow.ask(session, 1)
    assert waiting_for_room(session) == 1, "all are taken, though no caller waits for five of them"
    flow.answer(1)  # the late answer of the first that was given up
    eventually(lambda: flow.rule.hits == 9)
    assert streams(flow).used[8] == streams(flow).used[0], "now it may"
    assert connection.orphaned == 4
    flow.answer_all()
    assert [future.result().one()[0] for future in mine + late] == ["3.0.8"] * 4
    assert streams(flow).twice == []
    eventually(lambda: connection.in_flight == 0)


@pytest.mark.parametrize("limit", ["max_requests_per_connection", "max_requests_per_host", "max_requests_per_session"])
def test_a_worn_connection_is_replaced_and_the_others_are_answered(flow: Flow, limit: str) -> None:
    """It is full when that happens: waiting requests go to the new one, those in flight are answered on the old."""
    session = flow.connect(**{limit: 8})
    worn = connection_of(session)
    kept = flow.full(session, 2)
    give_up(flow, session, 6)
    eventually(lambda: worn.orphaned == 6 and worn.orphaned_threshold == 6)
    waiting = flow.ask(session, 2)
    if limit == "max_requests_per_connection":
        eventually(lambda: flow.rule.hits == 10 and waiting_for_room(session) == 0)
    else:
        assert waiting_for_room(session) == 2, "the server may still be busy with those that were given up"
    eventually(lambda: connection_of(session) is not worn)
    assert not worn.is_closed, "callers wait for answers on it"
    flow.answer(2)  # the oldest, which are those in flight on the old one
    assert [future.result().one()[0] for future in kept] == ["3.0.8"] * 2
    eventually(lambda: worn.is_closed)
    eventually(lambda: flow.rule.hits == 10)
    flow.answer_all()
    assert [future.result().one()[0] for future in waiting] == ["3.0.8"] * 2
    assert streams(flow).twice == []


def test_given_up_while_others_wait(flow: Flow) -> None:
    """Nothing is sent any more by the time the connection is worn: the requests in the queue have it replaced."""
    session = flow.connect(max_requests_per_connection=4)
    worn = connection_of(session)
    futures = flow.full(session, 4)
    waiting = flow.ask(session, 2)
    for future in futures:
        future.cancel()
    eventually(lambda: flow.rule.hits == 6)
    assert connection_of(session) is not worn
    eventually(lambda: worn.is_closed)
    flow.answer_all()
    assert [future.result().one()[0] for future in waiting] == ["3.0.8"] * 2


def test_timed_out_while_others_wait(flow: Flow) -> None:
    session = flow.connect(max_requests_per_session=4)
    futures = flow.ask(session, 4, timeout=0.05)
    waiting = flow.ask(session, 2)
    for future in futures:
        with pytest.raises(OperationTimedOut):
            future.result()
    flow.answer_all()
    assert [future.result().one()[0] for future in waiting] == ["3.0.8"] * 2
    (pool,) = session.get_pools()
    eventually(lambda: pool.limit.in_flight == 0)


def test_given_up_on_many_connections(no_leaks: None) -> None:
    """No connection is worn, but the session's limit is full of requests that were given up."""
    flow = Flow(nodes=4)
    try:
        session = flow.connect(max_requests_per_session=4)
        futures = flow.full(session, 4)
        assert sorted(pool.in_flight for pool in session.get_pools()) == [1, 1, 1, 1]
        for future in futures:
            future.cancel()
        (late,) = flow.ask(session, 1)
        eventually(lambda: flow.rule.hits == 5)
        flow.answer_all()
        assert late.result().one()
    finally:
        flow.close()


def test_replacing_fails_at_first(flow: Flow) -> None:
    """Requests that wait for the new connection wait on; there is one as soon as it can be opened."""
    session = flow.connect(
        max_requests_per_connection=4, reconnection_policy=ConstantReconnectionPolicy(0.01, max_attempts=None)
    )
    with flow.simulated.inject(Close(), opcode="OPTIONS", times=2) as refusals:
        give_up(flow, session, 4)
        waiting = flow.ask(session, 2)
        eventually(lambda: refusals.hits == 2)
        eventually(lambda: flow.rule.hits == 6)
    flow.answer_all()
    assert [future.result().one()[0] for future in waiting] == ["3.0.8"] * 2
