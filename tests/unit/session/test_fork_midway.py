"""Operations under way at the fork: requests, pages, locks held by threads, connecting, the end. See test_fork.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.nodes import FakeCluster
from tests.unit.session.forking import Held, finish, run, says, start


def never_answer(node: Any, connection: Any, request: Any, text: str) -> bool:
    return text.startswith("SELECT slow")


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        yield made


def test_a_request_in_flight_is_the_parents(fake: FakeCluster) -> None:
    held = Held(fake)
    process = start(
        fake,
        """
        cluster, session = connected()
        first, second, third = (session.execute_async("SELECT never") for _ in range(3))
        failed = []

        def work():
            for one in (first, second, third):
                fails(ConnectionShutdown, one.result, "parent of this process")
            async def main():
                await asyncio.wait_for(fourth, PATIENCE)
            fails(ConnectionShutdown, lambda: asyncio.run(main()), "parent of this process")
            fifth.add_errback(failed.append)
            assert "parent of this process" in str(failed[0])
            assert sixth.cancel()
            session.execute("SELECT 1")

        fourth, fifth, sixth = (session.execute_async("SELECT never") for _ in range(3))
        in_child(work)
        print("forked", flush=True)
        sys.stdin.readline()
        for one in (first, second, third, fourth, fifth, sixth):
            one.result()
        cluster.shutdown()
        """,
    )
    says(process, "forked")
    held.let_go(6)
    assert finish(process, "go on\n") == ""


def test_locks_that_other_threads_held(fake: FakeCluster) -> None:
    """Every lock of the package's objects is held by another thread at the fork; the child uses everything."""
    fake.on_query = never_answer
    run(
        fake,
        """
        import gc
        from cassandra._base.process import AutoResetEvent
        from cassandra._base.threads import Signal
        policy = TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1"))
        cluster, session = connected(policy, metrics_enabled=True)
        statement = session.prepare("SELECT prepared")
        waiting = session.execute_async("SELECT slow", timeout=None)
        import cassandra._session as package
        kinds = (type(threading.Lock()), type(threading.RLock()))

        def owners():
            yield from (vars(module) for name, module in list(sys.modules.items()) if name.startswith("cassandra"))
            for thing in gc.get_objects():
                is_ours = str(type(thing).__module__).startswith("cassandra")
                if is_ours and type(thing) not in (AutoResetEvent, Signal):  # held by no thread
                    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
                    yield {**getattr(thing, "__dict__", {}), **{name: getattr(thing, name, None) for name in slots}}

        def locks():
            found = {}
            for owner in owners():
                for value in owner.values():
                    value = getattr(value, "_lock", value) if isinstance(value, threading.Condition) else value
                    if isinstance(value, kinds):
                        found[id(value)] = value
            return list(found.values())

        holding, release = threading.Event(), threading.Event()

        def hold():
            held = locks()
            taken = [lock for lock in held if lock.acquire(timeout=PATIENCE)]
            assert len(taken) == len(held) > 10
            holding.set()
            release.wait()
            for lock in taken:
                lock.release()

        def work():
            fails(ConnectionShutdown, waiting.result, "parent of this process")
            session.execute("SELECT 1")
            session.execute(statement)
            session.prepare("SELECT more")
            cluster.refresh_nodes()
            cluster.refresh_schema_metadata()
            asyncio.run(cluster.connect_async("other"))
            for host in cluster.metadata.all_hosts():
                cluster.on_up(host)
            cluster.metrics.get_stats()
            cluster.metrics.set_stats_name("child")
            connected()[0].shutdown()
            cluster.shutdown()

        holder = threading.Thread(target=hold)
        holder.start()
        holding.wait()
        pid = start(work)
        release.set()
        holder.join()
        ended(pid)
        waiting.cancel()
        session.execute("SELECT parent")
        cluster.shutdown()
        """,
    )


def test_fork_while_another_thread_connects(fake: FakeCluster) -> None:
    for node in fake.nodes:
        node.pause()
    process = start(
        fake,
        """
        cluster = Cluster(POINTS)
        cluster.connect_timeout = cluster.control_connection_timeout = 10 * PATIENCE
        sessions = []
        connecting = threading.Thread(target=lambda: sessions.append(cluster.connect()))
        connecting.start()
        eventually(lambda: cluster.control_connection._opening is not None)
        pid = start(lambda: cluster.connect().execute("SELECT child"))
        print("forked", flush=True)
        connecting.join()
        sessions[0].execute("SELECT parent")
        ended(pid)
        cluster.shutdown()
        """,
    )
    says(process, "forked")
    for node in fake.nodes:
        node.resume()
    assert finish(process) == ""
    assert sum(node.asked("SELECT child") for node in fake.nodes) == 1


def test_pages_of_one_result_in_both(fake: FakeCluster) -> None:
    """A page that was begun by the parent is continued by the child, and by the parent."""
    fake.on_query = _page
    out = run(
        fake,
        """
        cluster, session = connected()
        result = session.execute("SELECT paged")
        in_child(lambda: print(len(list(result)), flush=True))
        print(len(list(result)))
        cluster.shutdown()
        """,
    )
    assert out == "3\n3\n"


def _page(node: Any, connection: Any, request: Any, text: str) -> bool:
    """Three pages of one row."""
    if text != "SELECT paged":
        return False
    number = request.body.count(b"page2") * 2 + request.body.count(b"page1")
    state = b"" if number == 2 else f"page{number + 1}".encode()
    flags = 1 | (2 if state else 0)
    head = flags.to_bytes(4, "big") + b"\0\0\0\1" + (len(state).to_bytes(4, "big") + state if state else b"")
    spec = b"\0\1k\0\1t" + b"\0\1c" + b"\0\x09"
    row = b"\0\0\0\1" + b"\0\0\0\4" + number.to_bytes(4, "big")
    connection.answer(request, 0x08, b"\0\0\0\2" + head + spec + row)
    return True


def test_a_cluster_that_is_shut_down_at_the_fork(fake: FakeCluster) -> None:
    run(
        fake,
        """
        cluster, session = connected()
        cluster.shutdown()

        def work():
            fails(NoHostAvailable, lambda: session.execute("SELECT 1"))
            fails(Exception, cluster.connect, "shut down")
            cluster.shutdown()

        in_child(work)
        """,
    )


def test_while_a_shutdown_is_under_way(fake: FakeCluster) -> None:
    """The child does not wait for the end that only the parent comes to."""
    run(
        fake,
        """
        cluster, session = connected()
        busy, release = threading.Event(), threading.Event()
        cluster.submit(lambda: (busy.set(), release.wait()))
        busy.wait()
        ending = threading.Thread(target=cluster.shutdown)
        ending.start()
        eventually(lambda: cluster.is_shutdown and not cluster.sessions)

        def work():
            cluster.shutdown()
            fails(NoHostAvailable, lambda: session.execute("SELECT 1"))

        in_child(work)
        release.set()
        ending.join()
        """,
    )
