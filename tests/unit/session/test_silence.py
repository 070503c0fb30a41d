"""A node that stands still: how it is noticed, the fate of requests, and when it counts as down."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import OperationTimedOut
from cassandra._base.locks import CALLER, IO, thread_kind
from cassandra._net.connection import Connection
from cassandra._session.request.execution import Sending
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_async
from cassandra.policies import ConstantReconnectionPolicy, HostStateListener, RoundRobinPolicy
from cassandra.query import PreparedStatement, SimpleStatement
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.patience import PATIENCE

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_leaks")]


class Heard(HostStateListener):
    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def on_up(self, host: Any) -> None:
        self.events.append(("up", str(host)))

    def on_down(self, host: Any) -> None:
        self.events.append(("down", str(host)))

    def on_add(self, host: Any) -> None: ...

    def on_remove(self, host: Any) -> None: ...


class Scene:
    """Three nodes; the control connection is not at the last one."""

    def __init__(self, fake: FakeCluster, **options: Any) -> None:
        self.fake = fake
        profile = ExecutionProfile(RoundRobinPolicy(), request_timeout=options.pop("request_timeout", PATIENCE))
        given = {"reconnection_policy": ConstantReconnectionPolicy(0.05), "schema_metadata_enabled": False}
        self.cluster = Cluster(
            fake.contact_points[:1], execution_profiles={EXEC_PROFILE_DEFAULT: profile}, **{**given, **options}
        )
        self.session: Session = self.cluster.connect(wait_for_all_pools=True)
        self.node: FakeNode = fake.nodes[2]
        self.host: Any = self.cluster.metadata.get_host_by_host_id(self.node.host_id)
        self.heard = Heard()
        self.cluster.register_listener(self.heard)

    def prepare(self, is_idempotent: bool) -> PreparedStatement:
        statement = self.session.prepare("INSERT INTO t (k) VALUES (1)")
        statement.is_idempotent = is_idempotent
        return statement

    def close(self) -> None:
        self.node.resume()
        self.cluster.shutdown()


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        yield made


@pytest.fixture
def scene(fake: FakeCluster) -> Iterator[Scene]:
    made = Scene(fake)
    yield made
    made.close()


def coordinators(scene: Scene, statement: Any, count: int = 12) -> set[Any]:
    found = set()
    for _ in range(count):
        future = scene.session.execute_async(statement)
        future.result()
        found.add(future.coordinator_host)
    return found


@pytest.mark.parametrize("kind", ["prepared", "text"])
def test_idempotent_requests_do_not_fail(scene: Scene, kind: str) -> None:
    """Requests that wait for it are sent elsewhere too; later ones avoid it. It is used again when it goes on."""
    statement = scene.prepare(True) if kind == "prepared" else SimpleStatement("SELECT 1", is_idempotent=True)
    scene.node.pause()
    for _ in range(30):
        scene.session.execute(statement)
    assert scene.host.is_suspect and scene.host.is_up
    assert scene.host not in coordinators(scene, statement)
    scene.node.resume()
    eventually(lambda: not scene.host.is_suspect)
    assert scene.host in coordinators(scene, statement)
    assert scene.heard.events == []


@pytest.mark.parametrize("how", ["all at once", "generator", "asyncio"])
def test_concurrent_requests_do_not_fail(scene: Scene, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The I/O thread gives them up and sends them elsewhere: a caller's thread could be interrupted between the two."""
    given_up_by: set[str] = set()
    orphan = Connection.orphan

    def watched(*args: Any) -> bool:
        given_up_by.add(thread_kind())
        return orphan(*args)

    monkeypatch.setattr(Connection, "orphan", watched)
    statement = scene.prepare(True)
    statements = [(statement, ())] * 300
    scene.node.pause()
    if how == "asyncio":

        async def together() -> Any:
            return await execute_concurrent_async(scene.session, statements, concurrency=50)

        results = asyncio.run(together())
    else:
        given = execute_concurrent(scene.session, statements, 50, results_generator=how == "generator")
        results = list(given)
    assert [result.success for result in results] == [True] * 300
    assert scene.host.is_suspect
    assert IO in given_up_by and CALLER not in given_up_by  # workers give up requests of their own
    scene.node.resume()


@pytest.mark.parametrize("how", ["all at once", "asyncio"])
def test_errors_of_requests_sent_to_a_silent_host_say_maybe_executed(
    scene: Scene, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when no other host takes it any more."""
    statement = scene.prepare(True)
    statements = [(statement, ())] * 60
    monkeypatch.setattr(Sending, "send_to", lambda *_: False)
    scene.node.pause()
    if how == "asyncio":

        async def together() -> Any:
            return await execute_concurrent_async(scene.session, statements, 60, raise_on_first_error=False)

        results = asyncio.run(together())
    else:
        results = execute_concurrent(scene.session, statements, 60, raise_on_first_error=False)
    errors = [result.result_or_exc for result in results if not result.success]
    assert errors and all(isinstance(error, NoHostAvailable) for error in errors)
    assert {error.maybe_executed for error in errors} == {True}


def test_concurrent_requests_that_must_not_run_twice_stay_where_they_are(fake: FakeCluster) -> None:
    scene = Scene(fake, request_timeout=2.0)
    try:
        statement = scene.prepare(False)
        scene.node.pause()
        results = execute_concurrent(scene.session, [(statement, ())] * 60, 60, raise_on_first_error=False)
        failed = [result.result_or_exc for result in results if not result.success]
        assert 0 < len(failed) <= 20
        assert all(isinstance(error, OperationTimedOut) for error in failed)
    finally:
        scene.close()


@pytest.mark.parametrize("how", ["unattended", "callbacks", "threads", "asyncio"])
def test_idempotent_requests_do_not_fail_for_any_kind_of_waiter(scene: Scene, how: str) -> None:
    session, statement = scene.session, scene.prepare(True)
    scene.node.pause()
    if how == "unattended":
        futures = [session.execute_async(statement) for _ in range(30)]
        eventually(lambda: all(future.has_more_pages is False and len(future.attempted_hosts) for future in futures))
        assert all(future.result().one() is None for future in futures)
    elif how == "callbacks":
        done: list[Any] = []
        for _ in range(30):
            session.execute_async(statement).add_callbacks(done.append, lambda error: done.append("failed"))
        eventually(lambda: len(done) == 30)
        assert "failed" not in done
    elif how == "threads":
        failed: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(6):
                    session.execute(statement)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert failed == []
    else:

        async def together() -> None:
            await asyncio.gather(*(_awaited(session.execute_async(statement)) for _ in range(30)))

        asyncio.run(together())
    assert scene.host.is_suspect


async def _awaited(future: Any) -> Any:
    return await future


def test_non_idempotent_requests_stay_at_a_silent_host(fake: FakeCluster) -> None:
    scene = Scene(fake, request_timeout=2.0)
    try:
        statement = scene.prepare(False)
        scene.node.pause()
        futures = [scene.session.execute_async(statement) for _ in range(6)]
        eventually(lambda: scene.host.is_suspect)
        assert scene.host not in coordinators(scene, statement)
        failed = [future for future in futures if not _succeeds(future)]
        assert [future.attempted_hosts for future in failed] == [[scene.host]] * 2
    finally:
        scene.close()


def _succeeds(future: Any) -> bool:
    try:
        future.result()
    except OperationTimedOut:
        return False
    return True


def test_an_explicit_host_is_obeyed(scene: Scene) -> None:
    statement = scene.prepare(True)
    scene.node.pause()
    future = scene.session.execute_async(statement, host=scene.host)
    eventually(lambda: scene.host.is_suspect)
    scene.node.resume()
    future.result()
    assert future.attempted_hosts == [scene.host]


@pytest.mark.parametrize("traffic", [True, False])
def test_a_silent_host_is_down_within_two_heartbeat_intervals(fake: FakeCluster, traffic: bool) -> None:
    scene = Scene(fake, idle_heartbeat_interval=2.0, idle_heartbeat_timeout=2.0, connect_timeout=1.0)
    try:
        statement = scene.prepare(True)
        scene.node.pause()
        if traffic:
            coordinators(scene, statement)
        eventually(lambda: scene.host.is_up is False)
        eventually(lambda: ("down", str(scene.host)) in scene.heard.events)
        assert scene.host not in coordinators(scene, statement)
        scene.node.resume()
        eventually(lambda: scene.host.is_up)
        eventually(lambda: scene.host in coordinators(scene, statement))
    finally:
        scene.close()


def test_a_host_that_accepts_no_new_connections_is_down(fake: FakeCluster) -> None:
    """Its connections were lost, and new ones time out."""
    scene = Scene(fake, connect_timeout=0.5)
    try:
        scene.node.pause()
        scene.node.drop_connections()
        eventually(lambda: scene.host.is_up is False)
        scene.node.resume()
        eventually(lambda: scene.host.is_up)
    finally:
        scene.close()


def test_the_control_connection_leaves_a_silent_host(fake: FakeCluster) -> None:
    scene = Scene(fake, control_connection_timeout=1.0, connect_timeout=1.0)
    try:
        control = scene.cluster.get_control_connection_host()
        assert control is not None
        node = next(node for node in fake.nodes if node.host_id == control.host_id)
        statement = scene.prepare(True)
        node.pause()
        coordinators(scene, statement)
        eventually(lambda: scene.cluster.get_control_connection_host() not in (None, control))
        node.resume()
    finally:
        scene.close()


def test_all_sessions_know_of_a_suspect(scene: Scene) -> None:
    other = scene.cluster.connect(wait_for_all_pools=True)
    statement = scene.prepare(True)
    scene.node.pause()
    coordinators(scene, statement)
    assert scene.host.is_suspect
    found = {other.execute_async(statement) for _ in range(6)}
    for future in found:
        future.result()
        assert future.attempted_hosts != [scene.host]
    scene.node.resume()
    eventually(lambda: not scene.host.is_suspect)
    eventually(lambda: all(session._pools[scene.host].open_count for session in (scene.session, other)))
