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
    anything               that only execs or exits opens, closes, sends nothing   notices nothing
"""

from __future__ import annotations

import signal
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.nodes import FakeCluster
from tests.patience import PATIENCE, eventually
from tests.unit.session.forking import finish, run, start


def never_answer(node: Any, connection: Any, request: Any, text: str) -> bool:
    return text.startswith("SELECT slow")


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


@pytest.mark.parametrize("use", USES)
def test_first_uses(fake: FakeCluster, use: str) -> None:
    """Whatever the child does first, also with a keyspace, and in one that came from a thread."""
    script = textwrap.indent(textwrap.dedent(USES[use]).strip(), " " * 4)
    code = f"""
cluster, session = connected(keyspace="app")
def work():
{script}
in_child(work)
thread = threading.Thread(target=lambda: in_child(work))
thread.start()
thread.join()
session.execute("SELECT parent")
cluster.shutdown()
"""
    assert run(fake, code) == ""
    assert sum(node.asked("SELECT parent") for node in fake.nodes) == 1


WAITS = {
    "result": "session.execute_async('SELECT never').result()",
    "execute": "session.execute('SELECT never')",
    "many": "execute_concurrent(session, [('SELECT never', None)] * 3)",
}


@pytest.mark.parametrize("leaves", [False, True], ids=["returns", "raises"])
@pytest.mark.parametrize("wait", WAITS)
def test_a_fork_by_the_handler_of_a_signal(fake: FakeCluster, wait: str, leaves: bool) -> None:
    """While the same thread waits for an answer: in the child the wait fails at once, the parent gets its answer."""
    held: list[Any] = []

    def hold(node: Any, connection: Any, request: Any, text: str) -> bool:
        if text == "SELECT never":
            held.append((connection, request))
        return text == "SELECT never"

    fake.on_query = hold
    process = start(
        fake,
        f"""
        from cassandra.concurrent import execute_concurrent
        cluster, session = connected()
        parent, children = os.getpid(), []

        class Left(Exception):
            pass

        def fork(number, frame):
            pid = os.fork()
            if pid:
                children.append(pid)
            else:
                signal.alarm(PATIENCE_FOR_CHILD)  # which nothing handles: it ends a child that hangs
                if {leaves}:
                    raise Left

        PATIENCE_FOR_CHILD = int(PATIENCE)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, fork)
        print("waits", flush=True)
        code = 1
        try:
            if {leaves}:
                try:
                    {WAITS[wait]}
                except Left:
                    assert os.getpid() != parent
                else:
                    assert os.getpid() == parent
            else:
                try:
                    {WAITS[wait]}
                except ConnectionShutdown as error:
                    assert os.getpid() != parent and "parent" in str(error), error
                else:
                    assert os.getpid() == parent
            session.execute("SELECT 1")
            cluster.shutdown()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            if os.getpid() != parent:
                sys.stdout.flush(), sys.stderr.flush()
                os._exit(code)
        for child in children:
            ended(child)
        """,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waits\n"
    eventually(lambda: held)
    process.send_signal(signal.SIGUSR1)
    eventually(lambda: sum(node.asked("SELECT 1") for node in fake.nodes) == 1)  # of the child
    for connection, request in held:
        connection.answer(request, 0x08, b"\0\0\0\1")
    assert finish(process) == ""


def test_a_request_in_flight_is_the_parents(fake: FakeCluster) -> None:
    held: list[Any] = []

    def hold(node: Any, connection: Any, request: Any, text: str) -> bool:
        if text == "SELECT never":
            held.append((connection, request))
        return text == "SELECT never"

    fake.on_query = hold
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
    assert process.stdout is not None
    assert process.stdout.readline() == "forked\n"
    eventually(lambda: len(held) == 6)
    for connection, request in held:
        connection.answer(request, 0x08, b"\0\0\0\1")
    assert finish(process, "go on\n") == ""


def test_locks_that_other_threads_held(fake: FakeCluster) -> None:
    """Every lock of the package's objects is held by another thread at the fork; the child uses everything."""
    fake.on_query = never_answer
    run(
        fake,
        """
        import gc
        policy = TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1"))
        cluster, session = connected(policy, metrics_enabled=True)
        statement = session.prepare("SELECT prepared")
        waiting = session.execute_async("SELECT slow", timeout=None)
        import cassandra._session as package
        kinds = (type(threading.Lock()), type(threading.RLock()))

        def owners():
            yield from (vars(module) for name, module in list(sys.modules.items()) if name.startswith("cassandra"))
            for thing in gc.get_objects():
                if str(type(thing).__module__).startswith("cassandra"):
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
            assert len(taken) == len(held) > 20
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


ENDS = {
    "nothing": "",
    "exit": "sys.exit(0)",
    "os_exit": "os._exit(0)",
    "exec": "os.execv('/bin/true', ['true'])",
    "shutdown": "cluster.shutdown(); sys.exit(0)",
    "drop": "del session, cluster; import gc; gc.collect(); sys.exit(0)",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_child_that_does_not_use_the_session(fake: FakeCluster, end: str) -> None:
    """The nodes see no connection come, the parent sees none go; the child ends in the ordinary way."""
    out = run(
        fake,
        f"""
        cluster, session = connected()
        pid = os.fork()
        if pid == 0:
            {ENDS[end] or "pass"}
        else:
            ended(pid)
            session.execute("SELECT parent")
            cluster.shutdown()
            print("parent")
        """,
    )
    assert out == "parent\n"
    accepted = sum(len(node.server.connections) for node in fake.nodes if node.server is not None)
    assert accepted == 3  # a pool for each, and the control connection


def test_a_child_that_ends_after_use(fake: FakeCluster) -> None:
    run(
        fake,
        """
        cluster, session = connected()
        pid = os.fork()
        session.execute("SELECT both")
        if pid:
            ended(pid)
            session.execute("SELECT parent")
        """,
    )
    assert sum(node.asked("SELECT both") for node in fake.nodes) == 2


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


@pytest.mark.parametrize("way", ["leaves", "returns"])
def test_fork_on_the_io_thread(fake: FakeCluster, way: str) -> None:
    """The child is a copy of that thread: it may use the session, and ends when it returns; what the thread had before
    it is the parent's."""
    run(
        fake,
        f"""
        cluster, session = connected()
        children = []
        done = threading.Event()
        leave = {way == "leaves"}

        def fork(rows):
            pid = os.fork()
            if pid == 0:
                if leave:
                    session.execute("SELECT child")
                    os._exit(0)
                return
            children.append(pid)
            done.set()

        session.execute_async("SELECT 1").add_callback(fork)
        assert done.wait(PATIENCE)
        for pid in children:
            ended(pid)
        for _ in range(4):
            session.execute("SELECT parent")
        cluster.shutdown()
        """,
    )
    assert sum(node.asked("SELECT child") for node in fake.nodes) == (way == "leaves")


@pytest.mark.parametrize("way", ["leaves", "returns"])
def test_fork_on_a_worker(fake: FakeCluster, way: str) -> None:
    run(
        fake,
        f"""
        cluster, session = connected()
        leave = {way == "leaves"}

        def fork():
            pid = os.fork()
            if pid == 0:
                if leave:
                    session.execute("SELECT child")
                    cluster.refresh_nodes()
                    os._exit(0)
            return pid

        ended(cluster.submit(fork).result(PATIENCE))
        session.execute("SELECT parent")
        cluster.refresh_nodes()
        cluster.shutdown()
        """,
    )
    assert sum(node.asked("SELECT child") for node in fake.nodes) == (way == "leaves")


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
    assert process.stdout is not None
    assert process.stdout.readline() == "forked\n"
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


def test_the_childs_answers_are_its_own(fake: FakeCluster) -> None:
    """Parent and children ask at the same time; nobody gets what another one asked for."""
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


def test_descriptors_of_the_parent(fake: FakeCluster) -> None:
    """When the parent is killed its connections end, although children live on."""
    process = start(
        fake,
        """
        cluster, session = connected()
        reading, writing = os.pipe()

        def work():
            os.close(writing)
            session.execute("SELECT 1")
            eventually(lambda: len(session.get_pools()) == 2 and cluster.control_connection.connection is not None)
            print("used", flush=True)
            os.read(reading, 1)  # until the parent is gone
            sys.stdin.readline()

        start(work)
        signal.pause()
        """,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "used\n"
    assert sum(node.connections for node in fake.nodes) == 6
    process.kill()
    eventually(lambda: sum(node.connections for node in fake.nodes) == 3)
    process.communicate("end\n", timeout=PATIENCE)
    eventually(lambda: sum(node.connections for node in fake.nodes) == 0)
