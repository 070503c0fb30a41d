"""Programs that open a connection by themselves, as tools and tests written for scylla-driver do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import cassandra.connection
from cassandra import ConsistencyLevel, OperationTimedOut
from cassandra._core.transport import debug_counters
from cassandra.cluster import Cluster
from cassandra.connection import ConnectionShutdown, DefaultEndPoint, ProtocolVersionUnsupported
from cassandra.io.libevreactor import LibevConnection
from cassandra.protocol import OptionsMessage, QueryMessage, SupportedMessage, SyntaxException
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, FakeNode
from tests.fakes.scripted import ScriptedConnection
from tests.fakes.wire import Envelope
from tests.patience import PATIENCE, eventually

lent_heartbeat: Any = cassandra.connection.ConnectionHeartbeat  # type: ignore[attr-defined]
GOOD = QueryMessage("SELECT * FROM system.local", ConsistencyLevel.ONE)
BAD = QueryMessage("SELEC", ConsistencyLevel.ONE)


def syntax_error(node: FakeNode, connection: ScriptedConnection, request: Envelope, text: str) -> bool:
    if text == "SELEC":
        connection.answer(request, wire.ERROR, wire.error(0x2000, "no"))
    return text == "SELEC"


@pytest.fixture
def endpoint() -> Iterator[DefaultEndPoint]:
    with FakeCluster() as fake:
        fake.on_query = syntax_error
        yield DefaultEndPoint(*fake.nodes[0].address)
    eventually(lambda: not debug_counters()["reactors"])


@pytest.fixture
def connection(endpoint: DefaultEndPoint) -> Iterator[Any]:
    LibevConnection.initialize_reactor()  # type: ignore[attr-defined]
    made = LibevConnection.factory(endpoint=endpoint, timeout=PATIENCE, protocol_version=4, compression=False)
    yield made
    made.close()


def test_a_connection_of_no_cluster(connection: Any, endpoint: DefaultEndPoint) -> None:
    assert type(connection) is LibevConnection and connection.protocol_version == 4 and not connection.compression
    assert connection.max_in_flight == 32768 and connection.in_flight == 0
    assert not connection.is_control_connection and connection.lock
    assert connection.max_request_id_for(100) == 99 and connection.orphaned_threshold_for(100) == 75
    assert isinstance(connection.wait_for_response(OptionsMessage()), SupportedMessage)
    connection.handle_fork()
    assert len(connection.wait_for_response(GOOD, PATIENCE).parsed_rows) == 1
    connection.close()
    assert connection.is_closed and not connection.is_defunct


def test_sending_with_a_callback(connection: Any) -> None:
    answers: list[Any] = []
    came = threading.Event()

    def callback(answer: Any) -> None:
        answers.append(answer)
        came.set()

    with connection.lock:
        first, second = connection.get_request_id(), connection.get_request_id()
    assert first != second
    for message, request_id in ((GOOD, first), (BAD, second)):
        came.clear()
        assert connection.send_msg(message, request_id, cb=callback) > 9
        assert came.wait(PATIENCE)
    assert len(answers[0].parsed_rows) == 1 and isinstance(answers[1], SyntaxException)
    assert connection.in_flight == 0
    connection.defunct(ValueError("broken"))
    with pytest.raises(ConnectionShutdown, match="is defunct: broken"):
        connection.send_msg(GOOD, 1, callback)


def test_waiting_for_several(connection: Any) -> None:
    assert [len(answer.parsed_rows) for answer in connection.wait_for_responses(GOOD, GOOD)] == [1, 1]
    assert connection.wait_for_responses() == []
    with pytest.raises(Exception, match="Syntax error"):
        connection.wait_for_responses(GOOD, BAD)
    told = connection.wait_for_responses(BAD, GOOD, fail_on_error=False, timeout=PATIENCE)
    assert [success for success, _ in told] == [False, True]


def test_idle(connection: Any) -> None:
    connection.wait_for_response(OptionsMessage())
    assert not connection.is_idle
    connection.reset_idle()
    assert connection.is_idle
    connection.wait_for_response(OptionsMessage())
    assert not connection.is_idle


def test_timers(connection: Any) -> None:
    fired = threading.Event()
    assert type(connection).create_timer(0.001, fired.set)
    assert fired.wait(PATIENCE)


def test_several_share_a_thread_that_ends_with_the_last(endpoint: DefaultEndPoint) -> None:
    before = debug_counters()["reactors"]
    made = [LibevConnection.factory(endpoint, PATIENCE) for _ in range(3)]
    assert debug_counters()["reactors"] == before + 1
    for each in made:
        assert len(each.wait_for_response(GOOD).parsed_rows) == 1
        each.close()
    eventually(lambda: debug_counters()["reactors"] == before)
    again = LibevConnection.factory(endpoint, PATIENCE)
    again.close()


def test_one_that_cannot_be_opened_leaves_nothing(endpoint: DefaultEndPoint) -> None:
    with pytest.raises(ProtocolVersionUnsupported):
        LibevConnection.factory(endpoint, PATIENCE, protocol_version=1)
    with FakeCluster() as silent:
        silent.nodes[0].pause()
        with pytest.raises(OperationTimedOut):
            LibevConnection.factory(DefaultEndPoint(*silent.nodes[0].address), 0.1)
        silent.nodes[0].resume()
    eventually(lambda: not debug_counters()["reactors"])


def test_by_way_of_a_cluster(endpoint: DefaultEndPoint) -> None:
    with Cluster([endpoint], protocol_version=4) as cluster:
        before: Any = cluster.connection_factory(endpoint)  # it is not connected
        cluster.connect()
        during: Any = cluster.connection_factory(endpoint)
        for connection in (before, during):
            assert [len(answer.parsed_rows) for answer in connection.wait_for_responses(GOOD)] == [1]
            connection.close()


def test_heartbeats_by_hand(connection: Any, endpoint: DefaultEndPoint) -> None:
    """Over connections that a program has opened by itself, which are then closed when they do not answer."""
    returned: list[Any] = []
    holder: Any = SimpleNamespace(get_connections=lambda: [connection], return_connection=returned.append)
    connection.reset_idle()
    beat = lent_heartbeat(0.05, lambda: [holder], PATIENCE)
    eventually(lambda: not connection.is_idle)  # it was asked, and has answered
    assert connection.wait_for_response(GOOD).parsed_rows and not returned
    connection.close()
    eventually(lambda: returned)
    beat.stop()
    assert not beat.is_alive() and set(map(id, returned)) == {id(connection)}
