"""Forks by the threads of the driver: the I/O thread in a callback, a worker in a listener. See test_fork.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.nodes import FakeCluster
from tests.unit.session.forking import Held, finish, run, says, start


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        yield made


@pytest.mark.parametrize("way", ["leaves", "returns"])
def test_fork_on_the_io_thread(fake: FakeCluster, way: str) -> None:
    """The child is a copy of that thread: it may use the session, and ends when it returns; pending work of the thread
    stays with the parent. The answer comes when the callback is there: else the thread that adds it would call it."""
    held = Held(fake)
    process = start(
        fake,
        f"""
        cluster, session = connected()
        main = threading.get_ident()
        children = []
        done = threading.Event()
        leave = {way == "leaves"}

        def fork(rows):
            if threading.get_ident() == main:
                return
            pid = os.fork()
            if pid == 0:
                if leave:
                    session.execute("SELECT child")
                    os._exit(0)
                return
            children.append(pid)
            done.set()

        session.execute_async("SELECT never").add_callback(fork)
        print("waits", flush=True)
        assert done.wait(PATIENCE)
        for pid in children:
            ended(pid)
        for _ in range(4):
            session.execute("SELECT parent")
        cluster.shutdown()
        """,
    )
    says(process, "waits")
    held.let_go(1)
    assert finish(process) == ""
    assert sum(node.asked("SELECT child") for node in fake.nodes) == (way == "leaves")


def test_forks_on_the_io_thread_of_a_busy_process(fake: FakeCluster) -> None:
    """In any state of the other threads, each child ends when its copy of the callback returns."""
    run(
        fake,
        """
        cluster, session = connected()
        stop = threading.Event()

        def ask():
            while not stop.is_set():
                for future in [session.execute_async("SELECT busy") for _ in range(20)]:
                    future.result()

        busy = [threading.Thread(target=ask) for _ in range(3)]
        for thread in busy: thread.start()
        for _ in range(40):
            children, done = [], threading.Event()

            def fork():
                pid = os.fork()
                if pid:
                    children.append(pid)
                    done.set()

            cluster.reactor.call_soon(fork)
            assert done.wait(PATIENCE)
            ended(children[0])
        stop.set()
        for thread in busy: thread.join()
        session.execute("SELECT parent")
        cluster.shutdown()
        """,
    )
    assert sum(node.asked("SELECT parent") for node in fake.nodes) == 1


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


def test_threads_of_the_driver_import_nothing(fake: FakeCluster) -> None:
    """A module that a thread is importing stays locked in a child that is forked just then: a use of it there would
    wait for ever."""
    out = run(
        fake,
        """
        main, late = threading.get_ident(), []

        class Finder:
            @staticmethod
            def find_spec(name, path, target=None):
                if threading.get_ident() != main:
                    late.append(name)

        sys.meta_path.insert(0, Finder)
        cluster, session = connected()
        statement = session.prepare("SELECT prepared")
        session.execute(statement)
        cluster.refresh_schema_metadata()
        cluster.shutdown()
        print(late)
        """,
    )
    assert out == "[]\n"
