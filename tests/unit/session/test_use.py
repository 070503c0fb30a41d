"""USE: which keyspace a connection is in must be known before anything else is sent on it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra import InvalidRequest, OperationTimedOut
from cassandra.cluster import Cluster, NoHostAvailable, Session
from cassandra.connection import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy, ConstantSpeculativeExecutionPolicy, RoundRobinPolicy
from cassandra.query import PreparedStatement, SimpleStatement
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.fakes.scripted import ScriptedConnection
from tests.fakes.wire import Envelope
from tests.unit.session.harness import TIMED_OUT, Lab, Lost, error, rows, set_keyspace, void

COMMENTS = "/* a * b **/ " * 50  # looked through in an instant, not in every combination of them

USES = [
    "USE app",
    "  use\tapp",
    'Use "app"',
    "-- why\nUSE app",
    "// why\nUSE app",
    "/* USE */ /* * */ USE app",
    pytest.param(f"{COMMENTS}USE app", id="USE behind comments"),
]
OTHERS = [
    "SELECT 1",
    "USELESS",
    "-- USE app\nSELECT 1",
    "/* USE app */ SELECT 1",
    "INSERT INTO t (k) VALUES ('USE x')",
    pytest.param(f"{COMMENTS}SELECT 1", id="behind comments"),
]


@pytest.mark.parametrize("text", USES)
class TestWithoutAnAnswer:
    def test_in_time(self, text: str) -> None:
        lab = Lab()
        lab[0].script = [Lost(kind=TIMED_OUT)]
        with pytest.raises(OperationTimedOut):
            lab.session.execute(text)
        assert isinstance(lab[0].defunct_with, ConnectionException)
        assert lab.session.keyspace is None

    def test_that_anybody_waits_for(self, text: str) -> None:
        lab = Lab()
        future = lab.session.execute_async(text)
        future.cancel()
        assert lab[0].defunct_with is not None
        with pytest.raises(CancelledError):
            future.result()


@pytest.mark.parametrize("text", OTHERS)
def test_other_statements_leave_the_connection(text: str) -> None:
    lab = Lab()
    lab[0].script = [Lost(kind=TIMED_OUT)]
    with pytest.raises(OperationTimedOut):
        lab.session.execute(text)
    lab.session.execute_async(text).cancel()
    assert lab[0].defunct_with is None


def test_a_prepared_use() -> None:
    lab = Lab()
    use = PreparedStatement([], b"id", None, "USE app", None, 4, None, None)
    lab.session.execute_async(use).cancel()
    assert lab[0].defunct_with is not None


@pytest.mark.parametrize("answer", [set_keyspace("app"), error(0x2200)], ids=["done", "refused"])
def test_an_answer_leaves_the_connection(answer: Any) -> None:
    lab = Lab()
    lab[0].script = [answer]
    future = lab.session.execute_async("USE app")
    future._on_outcome()
    future.cancel()
    assert lab[0].defunct_with is None
    assert lab[0].keyspace == ("app" if answer.opcode else None)


def test_the_attempt_that_lost() -> None:
    policy = ConstantSpeculativeExecutionPolicy(0.1, 1)
    lab = Lab(hosts=2, speculative_execution_policy=policy)
    future = lab.session.execute_async(SimpleStatement("USE app", is_idempotent=True))
    lab.reactor.run()
    lab[1].answer(set_keyspace("app"))
    future.result()
    assert lab[0].defunct_with is not None and lab[1].defunct_with is None


def test_nothing_was_sent() -> None:
    lab = Lab()
    with pytest.raises(OperationTimedOut):
        lab.session.execute("USE app", timeout=0)
    assert lab[0].defunct_with is None


def test_the_errors_of_every_host() -> None:
    lab = Lab(hosts=3)
    for host, name in zip(lab.hosts[1:], ("one", "other"), strict=True):
        lab.pools[host].keyspace_errors = [InvalidRequest(name)]
    lab[0].script = [set_keyspace("app")]
    with pytest.raises(ConnectionException, match=r"one.*other"):
        lab.session.execute("USE app")
    seen: list[Any] = []
    lab.session._set_keyspace_for_all_pools("app", seen.append)
    (errors,) = seen
    assert {host: str(failed[0]) for host, failed in errors.items()} == {lab.hosts[1]: "one", lab.hosts[2]: "other"}


def test_a_connection_in_another_keyspace_is_known_by_its_answer() -> None:
    """Also when the pools cannot follow."""
    lab = Lab(hosts=2)
    lab.pools[lab.hosts[1]].keyspace_errors = [InvalidRequest("no")]
    lab[0].script = [set_keyspace("app"), rows(1), void()]
    with pytest.raises(ConnectionException):
        lab.session.execute("USE app")
    assert lab[0].keyspace == "app"


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster() as made:
        yield made


@pytest.mark.usefixtures("no_leaks")
def test_no_write_ends_up_in_the_other_keyspace(fake: FakeCluster) -> None:
    """Over real connections: the USE is carried out, its answer never comes, the next write needs a connection whose
    keyspace is known."""
    inserts: list[str | None] = []
    used = threading.Event()

    def on_query(node: FakeNode, connection: ScriptedConnection, request: Envelope, text: str) -> bool:
        if text.startswith("INSERT"):
            inserts.append(connection.keyspace)
        elif text == "USE other":
            connection.keyspace = "other"
            used.set()
            return True
        return False

    def inserted(session: Session) -> bool:
        try:
            session.execute("INSERT 2")
        except (NoHostAvailable, ConnectionException):  # until the pool has reconnected
            return False
        return True

    fake.on_query = on_query
    options: dict[str, Any] = {
        "load_balancing_policy": RoundRobinPolicy(),
        "reconnection_policy": ConstantReconnectionPolicy(0.05),
    }
    with Cluster(fake.contact_points, **options) as cluster:
        session = cluster.connect("mine", wait_for_all_pools=True)
        session.execute("INSERT 1")
        future = session.execute_async("USE other")
        assert used.wait(30)
        future.cancel()
        eventually(lambda: inserted(session), 30)
        assert set(inserts) == {"mine"}
        assert session.keyspace == "mine"
