"""Nothing that may block runs on the loop's thread, the loop's executor is not used, and requests start no threads."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from cassandra._core.models import Instance, ModelPlan
from cassandra._core.transport import Request
from cassandra._mapper import model
from cassandra.cluster import Cluster, NoHostAvailable, ResponseFuture, Session, UnresolvableContactPoints
from cassandra.concurrent import execute_concurrent_async, execute_concurrent_with_args_async
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.management import create_keyspace_simple, sync_table
from cassandra.cqlengine.models import Model
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster
from tests.unit.session.harness import Lab, rows

pytestmark = pytest.mark.long

#: Calls that wait, or may: functions of C by name, those of Python by module and name.
NATIVE = {
    "sleep",
    "getaddrinfo",
    "gethostbyname",
    "gethostbyaddr",
    "connect",
    "connect_ex",
    "start_new_thread",
    "start_joinable_thread",
}
PYTHON = {
    ("threading", "wait"),
    ("threading", "join"),
    ("threading", "start"),
    ("queue", "get"),
    ("concurrent.futures._base", "wait"),
    (__name__, "_wait_for_outcome"),
    (__name__, "_update"),
    (__name__, "_read"),
    (__name__, "_save"),
}


# The native ones cannot be watched.


def _wait_for_outcome(future: ResponseFuture) -> Any:
    return Request._wait_for_outcome(future)


def _save(instance: Any) -> Any:
    return Instance.save(instance)


def _save_or_join(instance: Any) -> Any:
    return _save(instance) if instance._batch is None else Instance.save(instance)


def _update(instance: Any, **values: Any) -> Any:
    return Instance.update(instance, **values)


def _read(*given: Any) -> Any:
    return ModelPlan.read(*given)


class Watch:
    """Notes the calls on this thread that may block, with their stacks."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            name = argument.__name__
            # a command may need one more thread, and does not wait for that to begin
            is_bare = name.startswith("start_") and frame.f_globals.get("__name__") == "cassandra._base.threads"
            blocks = name in NATIVE and not is_bare
        elif event == "call":
            name = frame.f_code.co_name
            blocks = (frame.f_globals.get("__name__"), name) in PYTHON
        else:
            return
        if blocks:
            self.found.append(f"{name}:\n" + "".join(traceback.format_stack(frame, 8)))

    def __enter__(self) -> Watch:
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(ResponseFuture, "_wait_for_outcome", _wait_for_outcome)
        self._patch.setattr(model.BaseModel, "save", _save_or_join, raising=False)
        self._patch.setattr(model.BaseModel, "update", _update, raising=False)
        self._patch.setattr(model, "_read", _read)
        self._before = sys.getprofile()
        sys.setprofile(self._on_event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)
        self._patch.undo()


class NoExecutor(asyncio.SelectorEventLoop):
    """A loop that hands no work to threads."""

    def run_in_executor(self, *_: Any) -> Any:
        raise AssertionError("the default executor was used")


def run(main: Callable[[], Awaitable[None]]) -> None:
    """Run ``main()`` and see that it does not block the loop."""
    loop = NoExecutor()
    try:
        with Watch() as watch:
            loop.run_until_complete(main())
    finally:
        loop.close()
    assert not watch.found, "\n\n".join(watch.found)


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch, simulated: SimulatedCluster) -> Iterator[str]:
    """A name for the first node. Looked up anywhere but on the loop's thread."""
    mine = threading.get_ident()
    look_up = socket.getaddrinfo

    def elsewhere(host: Any, *args: Any, **kwargs: Any) -> Any:
        assert threading.get_ident() != mine, "a name was looked up on the loop's thread"
        return look_up(simulated.contact_points[0] if host == "first.example" else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", elsewhere)
    yield "first.example"


class Watched(Model):
    key = columns.Integer(primary_key=True)
    value = columns.Integer()


def test_the_watch_sees_models(simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CQLENG_ALLOW_SCHEMA_MANAGEMENT", "1")
    with Cluster(simulated.contact_points, port=simulated.port) as cluster:
        connection.register_connection("watched", session=cluster.connect())
        try:
            monkeypatch.setattr(Watched, "__connection__", "watched")
            monkeypatch.setattr(Watched, "__keyspace__", "watched")
            create_keyspace_simple("watched", 1, connections=["watched"])
            sync_table(Watched, connections=["watched"])
            for _ in range(2):  # the second time all is prepared

                async def main() -> None:
                    Watched.create(key=1, value=1).update(value=2)
                    Watched.get(key=1)

                loop = asyncio.new_event_loop()
                with Watch() as watch:
                    loop.run_until_complete(main())
                loop.close()
        finally:
            connection.unregister_connection("watched")
    assert {text.partition(":")[0] for text in watch.found} == {"_save", "_update", "_read"}


def test_the_watch_sees() -> None:
    """Each of the ways to block, or the other tests would say nothing."""

    async def main() -> None:
        threading.Event().wait(0)
        lab = Lab()
        lab[0].script = [rows(1)]
        lab.session.execute("SELECT 1")
        socket.getaddrinfo("127.0.0.1", 1)

    loop = asyncio.new_event_loop()
    with Watch() as watch:
        loop.run_until_complete(main())
    loop.close()
    assert {text.partition(":")[0] for text in watch.found} == {"wait", "_wait_for_outcome", "getaddrinfo"}


async def use(session: Session) -> None:
    """A bit of everything."""
    await session.execute_async("CREATE TABLE t (p int, c int, PRIMARY KEY (p, c))")
    await read_and_write(session)
    await session.execute_async("USE ks")
    await session.execute_async("ALTER TABLE t ADD more int")
    await session.execute_async("DROP TABLE t")


async def read_and_write(session: Session) -> None:
    """In the table t."""
    insert = await session.prepare_async("INSERT INTO t (p, c) VALUES (?, ?)")
    await session.execute_async(insert, (1, 0))
    await asyncio.gather(*(session.execute_async(insert, (1, n)) for n in range(1, 20)))
    await execute_concurrent_with_args_async(session, insert, ((1, n) for n in range(20, 40)))
    pages = SimpleStatement("SELECT c FROM t WHERE p = 1", fetch_size=7)
    assert [row.c async for row in await session.execute_async(pages)] == list(range(40))
    assert len(await (await session.execute_async(pages)).all_async()) == 40
    async for success, _ in execute_concurrent_async(session, [("SELECT c FROM t WHERE p = 1", None)] * 5):
        assert success
    with pytest.raises(Exception, match="nowhere"):
        await session.execute_async("SELECT * FROM nowhere")


def test_from_connect_to_shutdown(simulated: SimulatedCluster, named: str) -> None:
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"
    )

    async def main() -> None:
        async with Cluster([named], port=simulated.port) as cluster:
            async with await cluster.connect_async("ks", wait_for_all_pools=True) as session:
                await use(session)
            other = await cluster.connect_async()
            await other.execute_async("SELECT key FROM system.local")
        await cluster.shutdown_async()

    run(main)


def test_requests_start_no_threads(simulated: SimulatedCluster) -> None:
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"
    )

    async def main() -> None:
        async with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            session = await cluster.connect_async("ks", wait_for_all_pools=True)
            await session.execute_async("CREATE TABLE t (p int, c int, PRIMARY KEY (p, c))")  # which may need a worker
            before = set(threading.enumerate())
            await read_and_write(session)
            started = {thread for thread in set(threading.enumerate()) - before if thread.name.startswith("fastcql")}
            assert not started

    run(main)


def test_names_that_cannot_be_resolved(monkeypatch: pytest.MonkeyPatch, no_leaks: None) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    async def main() -> None:
        async with Cluster(["nowhere.example"]) as cluster:
            with pytest.raises(UnresolvableContactPoints):
                await cluster.connect_async()

    run(main)


def test_connecting_to_an_unreachable_host_fails(no_leaks: None) -> None:
    async def main() -> None:
        async with Cluster(["127.0.0.1"], port=1) as cluster:
            with pytest.raises(NoHostAvailable):
                await cluster.connect_async()

    run(main)


def test_shut_down_before_it_was_connected(no_leaks: None) -> None:
    async def main() -> None:
        await Cluster(["127.0.0.1"]).shutdown_async()

    run(main)
