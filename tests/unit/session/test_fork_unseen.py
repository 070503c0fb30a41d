"""A fork of the C library, as uWSGI makes it, calls none of Python's hooks; the first use of the driver notices it.

A child then behaves as in test_fork.py. Real servers that fork are in test_preforking.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.nodes import FakeCluster
from tests.unit.session.forking import PREAMBLE, Held, finish, start
from tests.unit.session.test_fork import USES, each_use

#: The interpreter gets over the fork, and the driver is not told. A true fork of the C library is for quiet processes
#: only: the lock of the interpreter is unusable in the child where a thread of the parent just waited for it.
UNSEEN = (
    """
import asyncio, concurrent.futures.thread, logging, os, random, threading
os.register_at_fork = lambda **hooks: None
"""
    + PREAMBLE
)


def run(fake: FakeCluster, script: str) -> str:
    return finish(start(fake, script, UNSEEN))


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        yield made


def test_the_driver_is_not_told(fake: FakeCluster) -> None:
    out = run(
        fake,
        """
        from cassandra._base import process
        cluster, session = connected()
        before = process.current

        def work():
            print(process.current is before)
            session.execute("SELECT 1")
            print(process.current is before)

        in_child(work)
        cluster.shutdown()
        """,
    )
    assert out == "True\nFalse\n"


def test_child_and_parent_both_go_on(fake: FakeCluster) -> None:
    run(
        fake,
        """
        cluster, session = connected()
        statement = session.prepare("SELECT prepared")
        session.execute(statement)
        before = [id(pool) for pool in session.get_pools()]

        def work():
            for _ in range(10):
                session.execute(statement)
            eventually(lambda: cluster.control_connection.connection is not None)
            eventually(lambda: len(session.get_pools()) == 2)
            cluster.shutdown()

        children = [start(work) for _ in range(4)]
        for child in children:
            ended(child)
        session.execute(statement)
        assert [id(pool) for pool in session.get_pools()] == before
        cluster.shutdown()
        """,
    )
    assert len([text for node in fake.nodes for text in node.prepared]) == 2  # by the parent, on both nodes


def test_first_uses(fake: FakeCluster) -> None:
    assert run(fake, each_use("in_child(work)")).split() == list(USES)
    assert sum(node.asked("SELECT parent") for node in fake.nodes) == 1


def test_threads_that_use_it_first_at_a_time(fake: FakeCluster) -> None:
    """The threads of a worker: one of them does the reset after the fork, the others wait for it."""
    run(
        fake,
        """
        cluster, session = connected()
        statement = session.prepare("SELECT prepared")
        session.execute(statement)

        def work():
            sys.setswitchinterval(1e-6)
            together, errors = threading.Barrier(8), []

            def ask():
                try:
                    together.wait(PATIENCE)
                    session.execute(statement)
                except Exception as error:
                    errors.append(error)

            threads = [threading.Thread(target=ask) for _ in range(8)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            assert not errors, errors

        for _ in range(10):
            in_child(work)
        cluster.shutdown()
        """,
    )


def test_requests_in_flight_belong_to_the_parent(fake: FakeCluster) -> None:
    held = Held(fake)
    process = start(
        fake,
        """
        cluster, session = connected()
        future = session.execute_async("SELECT never")

        def work():
            fails(ConnectionShutdown, future.result, "parent of this process")
            session.execute("SELECT child")

        in_child(work)
        future.result()
        cluster.shutdown()
        """,
        UNSEEN,
    )
    held.let_go(1)
    assert finish(process) == ""


def test_calls_submitted_in_the_child_are_run(fake: FakeCluster) -> None:
    run(
        fake,
        """
        cluster, session = connected()
        session.submit(lambda: None).result(PATIENCE)  # there are workers, in the parent
        in_child(lambda: session.submit(lambda: None).result(PATIENCE))
        cluster.shutdown()
        """,
    )


def test_forks_of_both_kinds(fake: FakeCluster) -> None:
    run(
        fake,
        """
        from cassandra._base import process
        unseen = os.fork

        def seen():
            pid = unseen()
            if pid == 0:
                process.catch_up()
            return pid

        cluster, session = connected()

        def work():
            session.execute("SELECT 1")
            os.fork = seen
            in_child(lambda: session.execute("SELECT 2"))
            os.fork = unseen
            session.execute("SELECT 3")

        in_child(work)
        os.fork = seen
        in_child(lambda: in_child(lambda: session.execute("SELECT 4")))
        session.execute("SELECT 5")
        cluster.shutdown()
        """,
    )


def test_a_child_that_uses_nothing_ends(fake: FakeCluster) -> None:
    """Also by the way of an ordinary exit."""
    ends = ["pass", "del session", "session.shutdown()", "cluster.shutdown()"]
    run(
        fake,
        f"""
        cluster, session = connected()
        for end in {ends}:
            pid = os.fork()
            if pid == 0:
                exec(end)
                sys.exit(0)
            ended(pid)
            session.execute("SELECT 1")
        cluster.shutdown()
        """,
    )
