"""Connections of the object mapper: registered, lazy, retried, replaced; in threads, tasks and forked children."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.cqlengine import CQLEngineException, connection, models
from cassandra.query import dict_factory, tuple_factory
from cassandra.testing import SimulatedCluster
from tests.interrupts import interrupted_everywhere

NOWHERE = ["127.0.0.250"]


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=1) as simulated:
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        simulated.execute(f"CREATE KEYSPACE app WITH replication = {replication}")
        simulated.execute("CREATE TYPE app.address (street text)")
        simulated.execute("CREATE TABLE app.users (id int PRIMARY KEY, home frozen<address>)")
        simulated.execute("INSERT INTO app.users (id, home) VALUES (1, {street: 'x'})")
        yield simulated


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Empty before and after; connections that a test leaves are shut down."""
    assert not connection._connections
    keyspace = models.DEFAULT_KEYSPACE
    yield
    for name in [name for name in connection._connections if isinstance(name, str)]:
        connection.unregister_connection(name)
    connection._connections.clear()
    connection.udt_by_keyspace.clear()
    models.DEFAULT_KEYSPACE = keyspace


@pytest.fixture
def options(server: SimulatedCluster) -> dict[str, Any]:
    return {"hosts": server.contact_points, "cluster_options": {"port": server.port}}


def rows(name: Any = None) -> Any:
    return list(connection.get_session(name).execute("SELECT id FROM app.users"))


class TestDefault:
    def test_there_is_none_at_first(self) -> None:
        assert connection.session is None
        assert connection.cluster is None
        with pytest.raises(CQLEngineException, match=r"doesn't exist in the registry.*setup\(\)"):
            connection.get_connection()

    def test_setup(self, server: SimulatedCluster) -> None:
        connection.setup(server.contact_points, "app", consistency=6, port=server.port)
        assert rows() == [{"id": 1}]
        assert connection.get_session() is connection.session
        assert connection.get_cluster() is connection.cluster
        assert connection.session.default_consistency_level == 6
        assert connection.session.keyspace is None
        assert models.DEFAULT_KEYSPACE == "app"

    def test_it_is_any_that_is_registered(self, options: Any) -> None:
        connection.register_connection("one", **options)
        connection.register_connection("other", default=True, **options)
        assert connection.get_connection().name == "other"
        connection.set_default_connection("one")
        assert connection.get_session() is connection.session
        assert connection.get_connection().name == "one"
        session = connection.session
        connection.unregister_connection("one")
        assert session.is_shutdown
        assert connection.session is None
        with pytest.raises(CQLEngineException, match="DEFAULT_CONNECTION"):
            connection.get_connection()
        assert rows("other") == [{"id": 1}]

    def test_a_session(self, server: SimulatedCluster) -> None:
        with Cluster(server.contact_points, port=server.port) as cluster:
            session = cluster.connect()
            connection.set_session(session)
            assert session.row_factory is dict_factory
            assert rows() == [{"id": 1}]
            assert models.DEFAULT_KEYSPACE is None
            other = cluster.connect("app")
            connection.set_session(other)
            assert connection.get_session() is other
            assert models.DEFAULT_KEYSPACE == "app"

    @pytest.mark.parametrize("factory", [dict_factory, tuple_factory])
    def test_a_session_with_profiles(self, server: SimulatedCluster, factory: Any) -> None:
        profile = ExecutionProfile(row_factory=factory)
        with Cluster(
            server.contact_points, port=server.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
        ) as cluster:
            connection.set_session(cluster.connect())
            assert rows() == [{"id": 1}]

    def test_setup_with_profiles(self, server: SimulatedCluster) -> None:
        profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(request_timeout=30)}
        connection.setup(server.contact_points, "app", consistency=4, port=server.port, execution_profiles=profiles)
        assert rows() == [{"id": 1}]
        profile = connection.get_session().get_execution_profile(EXEC_PROFILE_DEFAULT)
        assert (profile.request_timeout, profile.consistency_level) == (30, 4)


class TestRegistry:
    def test_unknown_names(self) -> None:
        for ask in (connection.get_connection, connection.get_session, connection.get_cluster):
            with pytest.raises(CQLEngineException, match="Connection name 'x' doesn't exist in the registry"):
                ask("x")
        with pytest.raises(CQLEngineException, match="Connection 'x' doesn't exist"):
            connection.set_default_connection("x")
        connection.unregister_connection("x")

    @pytest.mark.parametrize("extra", ["consistency", "hosts", "lazy_connect", "retry_connect", "cluster_options"])
    def test_a_session_needs_no_options(self, extra: str) -> None:
        with pytest.raises(CQLEngineException, match="mutually exclusive"):
            connection.register_connection("x", session=mock.Mock(), **{extra: ["y"]})
        assert not connection._connections

    def test_a_name_twice(self, options: Any, caplog: pytest.LogCaptureFixture) -> None:
        first = connection.register_connection("x", **options)
        second = connection.register_connection("x", **options)
        assert connection.get_connection("x") is second
        assert "Registering connection 'x' when it already exists." in caplog.messages
        assert first.cluster is not None
        first.cluster.shutdown()

    def test_failed_connections_are_not_registered(self) -> None:
        with pytest.raises(NoHostAvailable):
            connection.register_connection("x", NOWHERE)
        with pytest.raises(TypeError):
            connection.setup(NOWHERE, "app", no_such_option=1)
        assert not connection._connections

    def test_a_connection_that_was_made_by_hand(self) -> None:
        connection._connections["x"] = connection.Connection("x", NOWHERE)
        with pytest.raises(CQLEngineException, match="Connection 'x' is registered, but was not set up"):
            connection.get_session("x")

    def test_tuples_are_tuples_by_text(self, server: SimulatedCluster, options: Any) -> None:
        server.execute("CREATE TABLE IF NOT EXISTS app.tuples (id int PRIMARY KEY, both tuple<int, text>)")
        session = connection.register_connection("x", **options).session
        assert session is not None
        session.execute("INSERT INTO app.tuples (id, both) VALUES (%s, %s)", (1, (2, "b")))
        assert server.execute("SELECT both FROM app.tuples") == [{"both": (2, "b")}]

    def test_a_mock_of_a_session(self) -> None:
        session = mock.Mock(row_factory=dict_factory, encoder=mock.Mock(mapping={}))
        connection.set_session(session)
        assert connection.get_session() is session

    def test_log_lines(self) -> None:
        assert connection.format_log_context("x") == "[Connection: DEFAULT_CONNECTION] x"
        assert connection.format_log_context("x", "c", "k") == "[Connection: c, Keyspace: k] x"


class TestLazy:
    def test_it_connects_when_it_is_used(self, server: SimulatedCluster) -> None:
        connection.setup(server.contact_points, "app", lazy_connect=True, port=server.port)
        assert connection.session is None
        assert rows() == [{"id": 1}]
        assert connection.session is connection.get_session()

    def test_after_a_failure_it_tries_again(self, server: SimulatedCluster) -> None:
        registered = connection.register_connection("x", NOWHERE, lazy_connect=True)
        for _ in range(2):
            with pytest.raises(NoHostAvailable):
                connection.get_session("x")
        registered.hosts, registered.cluster_options = server.contact_points, {"port": server.port}
        assert rows("x") == [{"id": 1}]

    def test_retry_connect(self, server: SimulatedCluster, caplog: pytest.LogCaptureFixture) -> None:
        with pytest.raises(NoHostAvailable):
            connection.register_connection("x", NOWHERE, retry_connect=True)
        assert "[Connection: x] connect failed, setting up for re-attempt on first use" in caplog.messages
        registered = connection._connections["x"]
        registered.hosts, registered.cluster_options = server.contact_points, {"port": server.port}
        assert rows("x") == [{"id": 1}]

    def test_threads_connect_once(self, options: Any) -> None:
        connection.register_connection("x", lazy_connect=True, **options)
        barrier, sessions = threading.Barrier(8), []

        def use() -> None:
            barrier.wait(30)
            sessions.append(connection.get_session("x"))

        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(sessions) == 8
        assert len(set(map(id, sessions))) == 1

    def test_tasks_connect_once(self, options: Any) -> None:
        from cassandra._mapper.connections import get_connection_async

        connection.register_connection("x", lazy_connect=True, **options)

        async def use() -> list[Any]:
            return await asyncio.gather(*(get_connection_async("x") for _ in range(8)))

        assert {id(one.session) for one in asyncio.run(use())} == {id(connection.get_session("x"))}
        assert rows("x") == [{"id": 1}]

    def test_a_task_and_a_thread(self, options: Any) -> None:
        """Both connect; one session is kept, and the other cluster is shut down."""
        from cassandra._mapper.connections import get_connection_async

        made: list[Any] = []

        class Noted(Cluster):
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                made.append(self)

        async def use() -> tuple[Any, Any]:
            both = asyncio.gather(get_connection_async("x"), asyncio.to_thread(connection.get_session, "x"))
            by_task, session = await both
            return by_task.session, session

        with mock.patch("cassandra._mapper.connections.Cluster", Noted):
            connection.register_connection("x", lazy_connect=True, **options)
            by_task, by_thread = asyncio.run(use())
        assert by_task is by_thread is connection.get_session("x")
        assert [cluster.is_shutdown for cluster in made].count(False) == 1

    def test_interrupted_at_any_moment(self, server: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
        """As by the handler of a signal: no cluster is left running, and the next use connects."""
        made: list[Cluster] = []
        monkeypatch.setattr("cassandra._mapper.connections.Cluster", lambda *hosts, **options: made[-1])

        def lazily() -> connection.Connection:
            made.append(Cluster(server.contact_points, port=server.port))
            return connection.register_connection("x", server.contact_points, lazy_connect=True)

        registered = lazily()
        for _ in interrupted_everywhere(lambda: connection.get_session("x")):
            for cluster in made:  # but one that it did not come to
                assert cluster.is_shutdown or cluster is registered.cluster or not cluster.sessions
            if made[-1].is_shutdown:
                made.append(Cluster(server.contact_points, port=server.port))
            assert rows("x") == [{"id": 1}]
            connection.unregister_connection("x")
            registered = lazily()

    def test_a_task_that_fails(self) -> None:
        from cassandra._mapper.connections import get_connection_async

        connection.register_connection("x", NOWHERE, lazy_connect=True)
        for _ in range(2):
            with pytest.raises(NoHostAvailable):
                asyncio.run(get_connection_async("x"))  # type: ignore[arg-type]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
    def test_a_child_connects_though_its_parent_was_connecting(self, options: Any) -> None:
        registered = connection.register_connection("x", lazy_connect=True, **options)
        held, over = threading.Event(), threading.Event()

        def connecting() -> None:
            with registered.lazy_connect_lock:
                held.set()
                over.wait(60)

        thread = threading.Thread(target=connecting)
        thread.start()
        assert held.wait(30)
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if rows("x") == [{"id": 1}] else 1)
            finally:
                os._exit(2)
        over.set()
        thread.join(30)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class TestUserTypes:
    class Address:
        def __init__(self, street: str) -> None:
            self.street = street

    def home(self, name: Any = None) -> Any:
        return connection.get_session(name).execute("SELECT home FROM app.users WHERE id = 1").one()["home"]

    def test_registered_before_and_after(self, options: Any) -> None:
        connection.register_udt("app", "address", self.Address, "early")
        connection.register_connection("early", **options)
        assert self.home("early").street == "x"
        connection.udt_by_keyspace.clear()
        connection.register_connection("late", default=True, **options)
        connection.register_udt("app", "address", self.Address)
        assert type(self.home()) is self.Address

    def test_one_that_does_not_exist_yet(self, options: Any) -> None:
        connection.register_connection("x", default=True, **options)
        connection.register_udt("app", "nothing", self.Address)
        connection.register_connection("y", **options)
        assert connection.udt_by_keyspace == {"app": {"nothing": self.Address}}


def test_log_lines_of_the_default(server: SimulatedCluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "cassandra.cqlengine.connection")
    connection.setup(server.contact_points, "app", lazy_connect=True, port=server.port)
    first = connection.get_cluster()
    with Cluster(server.contact_points, port=server.port) as cluster:
        connection.set_session(cluster.connect())
    first.shutdown()
    assert [message for name, _, message in caplog.record_tuples if name == "cassandra.cqlengine.connection"][:-1] == [
        "Connection 'default' has been set as default.",
        "[Connection: default] Lazy connect enabled",
        "[Connection: default] connection initialized with internally created session",
        "configuring new default session for cqlengine when one was already set",
        "Connection 'default' has been set as default.",
    ]
