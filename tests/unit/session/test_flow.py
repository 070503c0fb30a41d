"""Limits on requests in flight: which requests wait, which is next, and how waiting ends."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import closing
from typing import Any

import pytest

from cassandra import OperationTimedOut
from cassandra.cluster import Cluster, NoHostAvailable, ResponseFuture, Session
from cassandra.connection import ConnectionBusy
from cassandra.policies import RetryPolicy
from cassandra.pool import NoConnectionsAvailable
from cassandra.query import SimpleStatement
from cassandra.testing.errors import ServerError
from cassandra.testing.faults import Fail
from tests.fakes.flow import QUERY, Flow, in_thread, waiting_for_room
from tests.patience import PATIENCE, eventually

LIMITS = ["max_requests_per_connection", "max_requests_per_host", "max_requests_per_session"]


@pytest.fixture
def flow(no_leaks: None) -> Iterator[Flow]:
    flow = Flow()
    yield flow
    flow.close()


@pytest.fixture
def flow_two(no_leaks: None) -> Iterator[Flow]:
    flow = Flow(nodes=2)
    yield flow
    flow.close()


def values(futures: list[ResponseFuture]) -> list[Any]:
    return [future.result().one()[0] for future in futures]


# ---- waiting


@pytest.mark.parametrize("limit", LIMITS)
def test_requests_beyond_a_limit_wait_their_turn(flow: Flow, limit: str) -> None:
    session = flow.connect(**{limit: 3})
    first = flow.full(session, 3)
    rest = flow.ask(session, 4)
    assert waiting_for_room(session) == 4
    assert flow.rule.hits == 3, "no request got past the limit"
    flow.answer()
    assert first[0].result().one()
    eventually(lambda: flow.rule.hits == 4 and waiting_for_room(session) == 3)
    flow.answer_all()
    assert values(first + rest) == ["3.0.8"] * 7
    assert waiting_for_room(session) == 0
    assert session.execute(QUERY).one()


@pytest.mark.parametrize("limit", LIMITS)
def test_the_oldest_is_next_and_newcomers_are_last(flow: Flow, limit: str) -> None:
    session = flow.connect(**{limit: 1})
    futures = flow.full(session, 1)
    futures += [session.execute_async(QUERY + number * " ") for number in range(1, 6)]
    flow.answer()
    eventually(lambda: flow.rule.hits == 2)
    futures.append(session.execute_async(QUERY + 6 * " "))
    flow.answer_all()
    assert values(futures) == ["3.0.8"] * 7
    assert flow.hold.seen == [QUERY + number * " " for number in range(7)]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_request_queued_as_room_appears_is_not_overtaken(
    flow: Flow, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request is refused, and there is room when it asks to be told of room: that room is reserved for it."""
    session = flow.connect(**{limit: 1})
    busy = threading.Event()

    def room_comes(*request: Any) -> bool:
        monkeypatch.undo()
        flow.answer()
        assert first[0].result().one()
        eventually(lambda: session.get_pools()[0].in_flight == 0)
        session.cluster.reactor.call_soon(busy.wait)  # no queued request is served yet
        return bool(admission.join(*request))

    admission = session._pool_set.admission
    first = flow.full(session, 1)
    monkeypatch.setattr(admission, "join", room_comes)
    second, third = (session.execute_async(QUERY + number * " ") for number in (1, 2))
    busy.set()
    flow.answer_all()
    assert values([*first, second, third]) == ["3.0.8"] * 3
    assert flow.hold.seen == [QUERY + number * " " for number in range(3)]
    assert waiting_for_room(session) == 0 and session.execute(QUERY).one()


def test_the_newest_is_next_while_the_host_is_overloaded(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as the oldest one has waited for half of its time."""
    session = flow.connect(max_requests_per_host=1)
    monkeypatch.setattr(type(session.get_pools()[0]), "is_limited", True)
    futures = flow.full(session, 1)
    futures += [session.execute_async(QUERY + number * " ") for number in range(1, 5)]
    assert waiting_for_room(session) == 4
    flow.answer()
    eventually(lambda: flow.rule.hits == 2)
    monkeypatch.setattr("cassandra._session.request.admission.monotonic", lambda: time.monotonic() + 0.6 * PATIENCE)
    flow.answer_all()
    assert values(futures) == ["3.0.8"] * 5
    assert [text.count(" ") - QUERY.count(" ") for text in flow.hold.seen] == [0, 1, 4, 3, 2]


def test_a_host_with_room_is_used_first(flow_two: Flow) -> None:
    session = flow_two.connect(max_requests_per_host=2)
    futures = flow_two.full(session, 4)
    assert sorted(pool.in_flight for pool in session.get_pools()) == [2, 2]
    waiting = flow_two.ask(session, 2)
    assert waiting_for_room(session) == 2
    flow_two.answer_all()
    assert values(futures + waiting) == ["3.0.8"] * 6


@pytest.mark.parametrize("is_given", [False, True])
def test_a_host_that_has_failed_is_not_asked_again(is_given: bool, no_leaks: None) -> None:
    """The first host of a request fails, the second is full. When that has room, the request goes there, not to the
    first host again, nor to one that is not in a plan that was given."""
    with closing(Flow(nodes=3 if is_given else 2)) as flow:
        session = flow.connect(max_requests_per_host=1)
        first, second, *_ = session.hosts
        busy = flow.full(session, 1, host=second)
        if is_given:
            session.add_request_init_listener(lambda future: setattr(future, "query_plan", [first, second]))
        read = SimpleStatement("SELECT cql_version FROM system.local", RetryPolicy(), is_idempotent=True)
        with flow.simulated.inject(Fail(ServerError()), query="cql_version"):
            future = session.execute_async(read)
            eventually(lambda: waiting_for_room(session) == 1)
            flow.answer_all()
            with pytest.raises(NoHostAvailable) as caught:
                future.result()
        assert future.attempted_hosts == [first, second]
        assert list(caught.value.errors) == [first, second] and caught.value.attempts == 2
        assert values(busy) == ["3.0.8"]


def test_requests_pinned_to_a_full_host_do_not_block_others(flow_two: Flow) -> None:
    """Of two full hosts one gets room: requests pinned to the other one block no request that may use it."""
    session = flow_two.connect(max_requests_per_host=1)
    first, second = session.hosts
    busy = flow_two.full(session, 1, host=first) + flow_two.full(session, 1, host=second)
    on_first = [session.execute_async(QUERY, host=first) for _ in range(3)]
    anywhere = session.execute_async(QUERY)
    on_second = session.execute_async(QUERY, host=second)
    assert waiting_for_room(session) == 5
    held = flow_two.hold.held
    for sent in (3, 4):  # the newest that is held is the second host's
        flow_two.rule._call(lambda: held.pop()())
        eventually(lambda sent=sent: flow_two.rule.hits == sent)
    flow_two.rule._call(lambda: held.pop()())
    assert anywhere.result().one() and on_second.result().one()
    assert waiting_for_room(session) == 3
    flow_two.answer_all()
    assert values(busy + on_first) == ["3.0.8"] * 5


def test_limits_of_the_session_are_not_those_of_another(flow: Flow) -> None:
    one, other = flow.connect(max_requests_per_session=1), flow.connect(max_requests_per_session=1)
    futures = flow.full(one, 1) + flow.full(other, 1)
    assert waiting_for_room(one) == waiting_for_room(other) == 0
    flow.answer_all()
    assert values(futures) == ["3.0.8"] * 2


def test_the_drivers_own_requests_are_not_limited(flow: Flow) -> None:
    """A heartbeat that had to wait would take a busy connection for a dead one, and a USE would come too late."""
    session = flow.connect(max_requests_per_connection=1, max_requests_per_session=1)
    futures = flow.full(session, 1) + flow.ask(session, 1)
    (pool,) = session.get_pools()
    (connection,) = pool.get_connections()
    flow.simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    connection.set_keyspace_blocking("ks")
    assert connection.keyspace == "ks"
    assert waiting_for_room(session) == 1
    flow.answer_all()
    assert values(futures) == ["3.0.8"] * 2


def test_pages_wait_too(flow: Flow) -> None:
    flow.simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    flow.simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY)")
    for number in range(5):
        flow.simulated.execute(f"INSERT INTO ks.t (id) VALUES ({number})")
    session = flow.connect(max_requests_per_session=1)
    rows = session.execute(SimpleStatement("SELECT id FROM ks.t", fetch_size=2))
    busy = flow.full(session, 1)
    seen: list[int] = []
    reader = in_thread(lambda: seen.extend(row.id for row in rows))
    eventually(lambda: waiting_for_room(session) == 1)
    flow.answer_all()
    reader.join(PATIENCE)
    assert sorted(seen) == [0, 1, 2, 3, 4]
    assert values(busy) == ["3.0.8"]


# ---- how it ends


@pytest.mark.parametrize("limit", LIMITS)
def test_its_own_timeout(flow: Flow, limit: str) -> None:
    session = flow.connect(**{limit: 2})
    busy = flow.full(session, 2)
    with pytest.raises(OperationTimedOut) as caught:
        session.execute(QUERY, timeout=0.05)
    error = caught.value
    assert (error.timeout, error.in_flight, error.attempts, error.maybe_executed) == (0.05, 2, 0, False)
    assert error.elapsed is not None and error.elapsed >= 0.05
    (host,) = session.hosts
    assert error.last_host is host and list(error.errors or ()) == [str(host.endpoint)]
    assert "2 of " in str(error) and "attempts=0" in str(error) and "elapsed=" in str(error)
    assert waiting_for_room(session) == 0
    flow.answer_all()
    assert values(busy) == ["3.0.8"] * 2


def test_the_longest_wait(flow: Flow) -> None:
    session = flow.connect(max_requests_per_host=1, max_request_wait=0.05)
    busy = flow.full(session, 1)
    with pytest.raises(NoHostAvailable, match=r"within \d+\.\d+ s; max_request_wait has elapsed") as caught:
        session.execute(QUERY)
    (host,) = session.hosts
    assert caught.value.errors is not None and caught.value.attempts == 0
    reason = caught.value.errors[host]
    assert isinstance(reason, NoConnectionsAvailable)
    assert (reason.host, reason.shard, reason.in_flight, reason.attempts) == (host, 0, 1, 0)
    assert "1 of 1 to the host" in str(reason) and f"host={host}" in str(reason) and "in_flight=1" in str(reason)
    assert isinstance(reason.__cause__, ConnectionBusy)
    flow.answer_all()
    assert values(busy) == ["3.0.8"]


def test_no_wait_at_all(flow: Flow) -> None:
    session = flow.connect(max_requests_per_session=1, max_request_wait=0)
    busy = flow.full(session, 1)
    with pytest.raises(NoHostAvailable, match="max_request_wait is 0") as caught:
        session.execute(QUERY)
    ((_, reason),) = (caught.value.errors or {}).items()
    assert isinstance(reason, ConnectionBusy) and "1 of 1 of the session" in str(reason)
    flow.answer_all()
    assert values(busy) == ["3.0.8"]
    assert session.execute(QUERY).one()


def test_cancelled_in_line(flow: Flow) -> None:
    session = flow.connect(max_requests_per_connection=1)
    busy = flow.full(session, 1)
    waiting = flow.ask(session, 3)
    assert waiting[1].cancel()
    eventually(lambda: waiting_for_room(session) == 2)
    with pytest.raises(CancelledError):
        waiting[1].result()
    flow.answer_all()
    assert values([*busy, waiting[0], waiting[2]]) == ["3.0.8"] * 3
    assert flow.rule.hits == 3, "it was never sent"


def test_shut_down_in_line(flow: Flow) -> None:
    session = flow.connect(max_requests_per_connection=1, request_timeout=None)
    busy = flow.full(session, 1)
    waiting = flow.ask(session, 3)
    session.shutdown()
    for future in waiting:
        with pytest.raises(NoHostAvailable, match=r"The session is shut down; open a new one with Cluster\.connect"):
            future.result()
    with pytest.raises(Exception, match="closed"):
        busy[0].result()
    assert waiting_for_room(session) == 0


def test_its_only_host_goes_down(flow: Flow) -> None:
    session = flow.connect(max_requests_per_connection=1)
    busy = flow.full(session, 1)
    waiting = flow.ask(session, 3)
    (host,) = session.hosts
    session.remove_pool(host)
    for future in waiting:
        with pytest.raises(NoHostAvailable):
            future.result()
    with pytest.raises(Exception, match="closed"):
        busy[0].result()


def test_its_connection_is_lost_and_comes_back(flow_two: Flow) -> None:
    """Requests that waited for it are served by the other host, which is as good."""
    session = flow_two.connect(max_requests_per_connection=1)
    busy = flow_two.full(session, 2)
    waiting = flow_two.ask(session, 2)
    for pool in session.get_pools()[:1]:
        pool.get_connections()[0].close()
    flow_two.answer_all()
    assert values(waiting) == ["3.0.8"] * 2
    errors = []
    for future in busy:
        try:
            future.result()
        except Exception as error:
            errors.append(error)
    assert len(errors) == 1


# ---- a full line


def test_a_full_line_holds_up_an_ordinary_thread(flow: Flow) -> None:
    session = flow.connect(max_requests_per_session=1, max_waiting_requests=1)
    futures = flow.full(session, 1) + flow.ask(session, 1)
    returned = threading.Event()

    def ask() -> None:
        futures.extend(flow.ask(session, 1))
        returned.set()

    thread = in_thread(ask)
    assert not returned.wait(0.05), "the thread that asks too much waits itself"
    assert waiting_for_room(session) == 1
    flow.answer_all()
    thread.join(PATIENCE)
    assert values(futures) == ["3.0.8"] * 3


def test_a_full_line_refuses_on_a_loop(flow: Flow) -> None:
    session = flow.connect(max_requests_per_session=1, max_waiting_requests=1)
    busy = flow.full(session, 1)

    async def ask() -> list[Any]:
        waiting, refused = flow.ask(session, 2)
        with pytest.raises(NoHostAvailable, match=r"1 requests are waiting, .*max_waiting_requests"):
            await refused
        flow.answer_all()
        return [(await waiting).one()]

    assert asyncio.run(ask())
    assert values(busy) == ["3.0.8"]


def test_a_full_line_refuses_in_callbacks(flow: Flow) -> None:
    session = flow.connect(max_requests_per_session=1, max_waiting_requests=1)
    outcome: list[Any] = []

    def more(rows: Any) -> None:
        # The place that the answer has left is taken by the first of these, the line by the second.
        for future in flow.ask(session, 3):
            future.add_callbacks(lambda rows: outcome.append("answered"), outcome.append)

    (future,) = flow.full(session, 1)
    future.add_callback(more)
    flow.answer()
    eventually(lambda: len(outcome) == 1)
    assert isinstance(outcome[0], NoHostAvailable)
    flow.answer_all()
    eventually(lambda: len(outcome) == 3)
    assert outcome[1:] == ["answered"] * 2


def test_the_time_in_front_of_a_full_line_counts(flow: Flow) -> None:
    session = flow.connect(max_requests_per_session=1, max_waiting_requests=1)
    futures = flow.full(session, 1) + flow.ask(session, 1)
    with pytest.raises(OperationTimedOut) as caught:
        session.execute(QUERY, timeout=0.05)
    assert caught.value.attempts == 0
    flow.answer_all()
    assert values(futures) == ["3.0.8"] * 2


def test_shutdown_frees_threads_held_up_by_a_full_queue(flow: Flow) -> None:
    session = flow.connect(max_requests_per_session=1, max_waiting_requests=1, request_timeout=None)
    flow.full(session, 1)
    flow.ask(session, 1)
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            session.execute(QUERY)
        except NoHostAvailable as error:
            errors.append(error)

    thread = in_thread(ask)
    eventually(lambda: session._pool_set.admission.held_up == 1)
    session.shutdown()
    thread.join(PATIENCE)
    assert len(errors) == 1


# ---- asyncio


def test_awaiting_room_blocks_no_loop(flow: Flow) -> None:
    session: Session = flow.connect(max_requests_per_session=1)

    async def ask() -> list[Any]:
        first = session.execute_async(QUERY)
        tasks = [asyncio.ensure_future(_awaited(session)) for _ in range(5)]
        while waiting_for_room(session) < 5 or flow.rule.hits < 1:
            await asyncio.sleep(0.001)  # the loop runs
        tasks[2].cancel()
        while waiting_for_room(session) > 4:
            await asyncio.sleep(0.001)
        flow.answer_all()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        return [(await first).one(), *done]

    first, *done = asyncio.run(ask())
    assert first.release_version == "3.0.8"
    assert [isinstance(one, asyncio.CancelledError) for one in done] == [False, False, True, False, False]


async def _awaited(session: Session) -> Any:
    return (await session.execute_async(QUERY)).one()


# ---- options


def test_limits_are_checked() -> None:
    for name in [*LIMITS, "max_waiting_requests"]:
        for wrong in (0, -1, True, 1.5, "8"):
            with pytest.raises((TypeError, ValueError), match=name):
                Cluster(**{name: wrong})
    with pytest.raises(ValueError, match="at most 32768"):
        Cluster(max_requests_per_connection=32769)
    for wrong in (-1, "2", float("nan")):
        with pytest.raises((TypeError, ValueError), match="max_request_wait"):
            Cluster(max_request_wait=wrong)  # type: ignore[arg-type]
    cluster = Cluster()
    assert [getattr(cluster, name) for name in LIMITS] == [None, None, None]
    assert (cluster.max_request_wait, cluster.max_waiting_requests) == (None, 32768)
    assert cluster.connections.options().max_requests == 32768
    assert Cluster(max_requests_per_connection=7).connections.options().max_requests == 7


def test_one_request_at_a_time_does_not_wear_a_connection_out(flow: Flow) -> None:
    """Three quarters of one are none: the connection would be replaced with every request."""
    session = flow.connect(max_requests_per_connection=1)
    flow.answer_all()
    (pool,) = session.get_pools()
    connections = {id(connection) for _ in range(5) for connection in pool.get_connections() if session.execute(QUERY)}
    assert len(connections) == 1 and pool.state()["retired_count"] == 0
