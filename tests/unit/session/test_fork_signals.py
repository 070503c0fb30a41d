"""Forks by the handler of a signal, which interrupts a wait of the main thread. See test_fork.py."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.fakes.nodes import FakeCluster
from tests.patience import eventually
from tests.unit.session.forking import Held, finish, says, start


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        yield made


WAITS = {
    "result": "session.execute_async('SELECT never').result()",
    "execute": "session.execute('SELECT never')",
    "many": "execute_concurrent(session, [('SELECT never', None)] * 3)",
}


@pytest.mark.parametrize("leaves", [False, True], ids=["returns", "raises"])
@pytest.mark.parametrize("wait", WAITS)
def test_a_fork_by_the_handler_of_a_signal(fake: FakeCluster, wait: str, leaves: bool) -> None:
    """While the same thread waits for an answer: in the child the wait fails at once, the parent gets its answer."""
    held = Held(fake)
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
    says(process, "waits")
    count = 3 if wait == "many" else 1
    held.wait(count)
    process.send_signal(signal.SIGUSR1)
    eventually(lambda: sum(node.asked("SELECT 1") for node in fake.nodes) == 1)  # of the child
    held.let_go(count)
    assert finish(process) == ""
