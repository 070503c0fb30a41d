"""How children end, and what ends with their parent. See test_fork.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.nodes import FakeCluster
from tests.patience import PATIENCE, eventually
from tests.unit.session.forking import run, start


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        yield made


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
