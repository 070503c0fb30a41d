"""After os.fork a session works in the child and goes on in the parent.

Each script runs in an interpreter of its own, forks there, and talks to scripted servers that live here::

    at the fork            in the child                                            in the parent
    ---------------------  ------------------------------------------------------  -------------------------------
    idle                   opens its own connections at the first use              the same connections go on
    request in flight      that request fails at once and says why                 it gets its answer
    locks held by threads  none of them blocks                                     -
    connecting             connects on its own                                     connects
    shut down              is shut down                                            is shut down
    node down              NoHostAvailable; works when the node is back            -
    callback (I/O thread)  as any other; the copied thread ends                    the I/O thread goes on
    listener (a worker)    as any other; the copied thread ends                    the worker goes on
    signal's handler       the wait it interrupted fails at once and says why      the wait goes on
    anything               that only execs or exits opens, closes, sends nothing   notices nothing

Here a child uses a session that was idle. Requests under way are in test_fork_midway.py, forks by threads
of the driver in test_fork_threads.py, by handlers of signals in test_fork_signals.py, the end in test_fork_ends.py,
limits and TLS in test_fork_flow.py, execute_concurrent in test_fork_concurrent.py.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.nodes import FakeCluster
from tests.unit.session.forking import finish, run, start


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        yield made


def test_child_and_parent_both_go_on(fake: FakeCluster) -> None:
    out = run(
        fake,
        """
        cluster, session = connected()
        statement = session.prepare("SELECT prepared")

        def work():
            session.execute("SELECT child")
            session.execute(statement)
            print(len(session.hosts), len(cluster.metadata.all_hosts()))
            eventually(lambda: cluster.control_connection.connection is not None)
            eventually(lambda: len(session.get_pools()) == 2)
            cluster.shutdown()

        def channels():
            pooled = [connection for pool in session.get_pools() for connection in pool.get_connections()]
            return [id(one.channel) for one in [cluster.control_connection.connection, *pooled]]

        before = channels()
        for _ in range(2):
            in_child(work)
        session.execute("SELECT parent")
        assert channels() == before
        cluster.shutdown()
        """,
    )
    assert out == "2 2\n2 2\n"
    asked = [query for node in fake.nodes for query in node.queries]
    assert asked.count("SELECT child") == 2
    assert asked.count("SELECT parent") == 1
    prepared = [text for node in fake.nodes for text in node.prepared]
    assert prepared.count("SELECT prepared") == 2  # by the parent, on both nodes


def test_pools_that_are_open_just_after_they_were_looked_for(fake: FakeCluster) -> None:
    run(
        fake,
        """
        from cassandra._session.hosts.pools import PoolSet
        cluster, session = connected()
        when_open = PoolSet.when_open

        def late(pools, action):
            cluster.life.awaken()
            eventually(lambda: pools.pools and pools._waiting is None)
            return when_open(pools, action)

        def work():
            PoolSet.when_open = late
            session.execute("SELECT 1")
            cluster.shutdown()

        in_child(work)
        cluster.shutdown()
        """,
    )


USES = {
    "execute": "session.execute('SELECT 1')",
    "callback": """
        done = threading.Event()
        session.execute_async("SELECT 1").add_callbacks(lambda rows: done.set(), print)
        assert done.wait(PATIENCE)
    """,
    "await": """
        async def main():
            await asyncio.gather(*(session.execute_async("SELECT 1") for _ in range(10)))
            await session.prepare_async("SELECT 2")
        asyncio.run(main())
    """,
    "prepare": "session.execute(session.prepare('SELECT 3'))",
    "threads": """
        errors = []
        def one():
            try:
                session.execute("SELECT 1")
            except Exception as error:
                errors.append(error)
        threads = [threading.Thread(target=one) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not errors, errors
    """,
    "connect": "cluster.connect('other').execute('SELECT 1')",
    "connect_async": "asyncio.run(cluster.connect_async())",
    "refresh": "cluster.refresh_schema_metadata()",
    "agreement": "assert session.wait_for_schema_agreement(PATIENCE)",
    "concurrent": """
        from cassandra.concurrent import execute_concurrent_with_args
        results = execute_concurrent_with_args(session, "SELECT 1", [()] * 50, concurrency=10)
        assert [result.success for result in results] == [True] * 50
    """,
    "grandchild": "in_child(lambda: session.execute('SELECT 1')); session.execute('SELECT 1')",
    "used_before": """
        session.execute("SELECT 1")
        in_child(lambda: session.execute("SELECT 1"))
        session.execute("SELECT 2")
    """,
    "shutdown": "cluster.shutdown(); cluster.shutdown(); fails(NoHostAvailable, lambda: session.execute('SELECT 1'))",
    "session_shutdown": "session.shutdown(); fails(NoHostAvailable, lambda: session.execute('SELECT 1'))",
}


def each_use(do: str) -> str:
    """A script that makes a child for each of the uses, and has it *do* that: a call of ``work``."""
    script = 'cluster, session = connected(keyspace="app")\n'
    for name, use in USES.items():
        script += (
            f"def work():\n{textwrap.indent(textwrap.dedent(use).strip(), '    ')}\nprint('{name}', flush=True)\n{do}\n"
        )
    return script + 'session.execute("SELECT parent")\ncluster.shutdown()\n'


def test_first_uses(fake: FakeCluster) -> None:
    """Every first call of a child works, also with a keyspace, and in a child that was forked from a thread."""
    out = run(
        fake,
        each_use("""
in_child(work)
thread = threading.Thread(target=lambda: in_child(work))
thread.start()
thread.join()
"""),
    )
    assert out.split() == list(USES)
    assert sum(node.asked("SELECT parent") for node in fake.nodes) == 1


def test_many_children_at_a_time(fake: FakeCluster) -> None:
    """As a pre-fork server starts its workers, while threads of the parent make requests."""
    run(
        fake,
        """
        cluster, session = connected()
        stop = threading.Event()

        def ask():
            while not stop.is_set():
                session.execute("SELECT busy")

        busy = [threading.Thread(target=ask) for _ in range(3)]
        for thread in busy: thread.start()

        def work():
            for _ in range(3):
                session.execute("SELECT child")

        for pid in [start(work) for _ in range(8)]:
            ended(pid)
        stop.set()
        for thread in busy: thread.join()
        cluster.shutdown()
        """,
    )
    assert sum(node.asked("SELECT child") for node in fake.nodes) == 24


POOLS = {
    "process": """
        context = multiprocessing.get_context("fork")
        children = [context.Process(target=ask, args=(number,)) for number in range(3)]
        for child in children: child.start()
        for child in children: child.join()
        assert [child.exitcode for child in children] == [0, 0, 0]
    """,
    "pool": """
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(ask, range(6)) == list(range(6))
    """,
    "executor": """
        from concurrent.futures import ProcessPoolExecutor
        with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
            assert list(pool.map(ask, range(6))) == list(range(6))
    """,
}


@pytest.mark.parametrize("kind", POOLS)
def test_pools_of_processes(fake: FakeCluster, kind: str) -> None:
    run(
        fake,
        """
import multiprocessing
cluster, session = connected()

def ask(number):
    session.execute(f"SELECT {number}")
    return number
"""
        + textwrap.dedent(POOLS[kind])
        + "session.execute('SELECT parent')\ncluster.shutdown()\n",
    )


def test_the_childs_answers_are_its_own(fake: FakeCluster) -> None:
    """Parent and children ask at the same time; no process gets the answer of another one."""
    fake.on_query = _echo
    run(
        fake,
        """
        cluster, session = connected()

        def work(first):
            def run():
                for number in range(first, first + 40):
                    assert session.execute(f"SELECT number {number}").one()[0] == number
            return run

        pids = [start(work(1000 * child)) for child in range(1, 4)]
        work(0)()
        for pid in pids:
            ended(pid)
        work(500)()
        cluster.shutdown()
        """,
    )


def _echo(node: Any, connection: Any, request: Any, text: str) -> bool:
    if not text.startswith("SELECT number "):
        return False
    number = int(text.rpartition(" ")[2]).to_bytes(4, "big")
    spec = b"\0\1k\0\1t" + b"\0\1c" + b"\0\x09"
    body = b"\0\0\0\2" + b"\0\0\0\1" + b"\0\0\0\1" + spec + b"\0\0\0\1" + b"\0\0\0\4" + number
    connection.answer(request, 0x08, body)
    return True


def test_nodes_that_are_down_for_the_child(fake: FakeCluster) -> None:
    process = start(
        fake,
        """
        cluster, session = connected(reconnection_policy=ConstantReconnectionPolicy(0.05, None))
        reading, writing = os.pipe()

        def work():
            os.close(writing)
            os.read(reading, 1)
            fails(NoHostAvailable, lambda: session.execute("SELECT 1"))
            print("down", flush=True)

            def works():
                try:
                    session.execute("SELECT 1")
                except NoHostAvailable:
                    return False
                return True

            eventually(works)
            eventually(lambda: cluster.control_connection.connection is not None)

        pid = start(work)
        os.close(reading)
        print("forked", flush=True)
        sys.stdin.readline()
        cluster.shutdown()
        os.close(writing)
        ended(pid)
        """,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "forked\n"
    for node in fake.nodes:
        node.stop()
    process.stdin.write("stopped\n")
    process.stdin.flush()
    assert process.stdout.readline() == "down\n"
    for node in fake.nodes:
        node.start()
    assert finish(process) == ""
