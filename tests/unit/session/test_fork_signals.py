"""Forks by the handler of a signal, which interrupts a wait of the main thread. See test_fork.py."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest

from tests.fakes.nodes import FakeCluster
from tests.patience import eventually
from tests.unit.session.forking import Held, finish, says, start

pytestmark = [pytest.mark.long, pytest.mark.versions]


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


#: Calls that take the requests they send from *requests*.
MANY = {
    "list": "execute_concurrent(session, requests())",
    "generator": "list(execute_concurrent(session, requests(), results_generator=True))",
}
if sys.version_info < (3, 14):  # since 3.14 a child that is forked in a task has no running loop, so no task goes on
    MANY["await"] = "asyncio.run(whole(execute_concurrent_async(session, requests())))"
#: The part of a request during whose creation the thread is interrupted.
PLACES = {
    "text": "('SELECT 1 %s', (Odd(),))",
    "bound": "(prepared, Odd())",
    "policy": "(Asks('SELECT 1'), None)",
    "sent": "(sending('SELECT 1'), None)",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("many", MANY)
def test_exceptions_of_a_child_forked_in_request_creation_propagate(fake: FakeCluster, many: str, place: str) -> None:
    """In the child the call raises the exception itself, not an error that says that the parent goes on."""
    process = start(
        fake,
        f"""
        from cassandra.concurrent import execute_concurrent, execute_concurrent_async
        from cassandra.query import SimpleStatement

        parent, children = os.getpid(), []

        class Left(Exception):
            pass

        class Odd:
            def __len__(self):
                if not children and os.getpid() == parent:
                    pid = os.fork()
                    if not pid:
                        raise Left
                    children.append(pid)
                return 0

            def __iter__(self):
                return iter(range(len(self)))

        def sending(text):
            def look(frame, event, argument):  # what it raises is raised there
                if event == "return" and frame.f_code.co_name == "frame_for":
                    sys.setprofile(None)
                    len(Odd())

            sys.setprofile(look)
            return text

        class Asks(SimpleStatement):
            pass

        class Policy(RoundRobinPolicy):
            def make_query_plan(self, working_keyspace=None, query=None):
                if type(query) is Asks:
                    len(Odd())
                return super().make_query_plan(working_keyspace, query)

        cluster, session = connected(Policy())
        prepared = session.prepare("SELECT prepared")
        session.encoder.mapping[Odd] = lambda value: str(len(value))

        def requests():
            yield {PLACES[place]}

        async def whole(results):
            return await results

        code = 1
        try:
            try:
                {MANY[many]}
            except Left:
                assert os.getpid() != parent
            else:
                assert os.getpid() == parent
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            if os.getpid() != parent:
                sys.stdout.flush(), sys.stderr.flush()
                os._exit(code)
        cluster.shutdown()
        for child in children:
            ended(child)
        print(len(children))
        """,
    )
    assert finish(process) == "1\n"


#: Calls that wait while the nodes stand still: the preparation, and the call.
CALLS = {
    "connect": ("cluster = unconnected()", "cluster.connect()"),
    "connect-all": ("cluster = unconnected()", "cluster.connect(wait_for_all_pools=True)"),
    "connect-again": ("cluster, _ = connected()", "cluster.connect('app')"),
    "refresh-schema": ("cluster, _ = connected()", "cluster.refresh_schema_metadata(0)"),
    "refresh-agreed": ("cluster, _ = connected()", "cluster.refresh_schema_metadata(10 * PATIENCE)"),
    "refresh-nodes": ("cluster, _ = connected()", "cluster.refresh_nodes()"),
    "agreement": ("cluster, session = connected()", "assert session.wait_for_schema_agreement(10 * PATIENCE)"),
}


@pytest.mark.parametrize("call", CALLS)
def test_while_the_cluster_is_waited_for(fake: FakeCluster, call: str) -> None:
    """In the child the call fails at once, though the nodes stand still, and says why; in the parent it goes on."""
    before, wait = CALLS[call]
    process = start(
        fake,
        f"""
        def unconnected():
            cluster = Cluster(POINTS)
            cluster.connect_timeout = cluster.control_connection_timeout = 10 * PATIENCE
            return cluster

        {before}
        parent, children, main, caught = os.getpid(), [], threading.get_ident(), []

        def fork(number, frame):
            if caught:
                return
            caught.append(number)
            pid = os.fork()
            if pid:
                children.append(pid)
            else:
                signal.alarm(int(PATIENCE))  # which nothing handles: it ends a child that hangs

        def is_waiting():
            '''Is the main thread, for other threads, and not only until one of them has started?'''
            frame, codes = sys._current_frames()[main], []
            while frame is not None:
                codes.append((os.path.basename(frame.f_code.co_filename), frame.f_code.co_name))
                frame = frame.f_back
            return ("process.py", "wait") in codes and ("threading.py", "start") not in codes

        def interrupt():
            '''Again and again: a signal just before a thread falls asleep is only noted, and does not wake it.'''
            eventually(is_waiting)
            while not caught:
                signal.pthread_kill(main, signal.SIGUSR1)
                time.sleep(0.1)

        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, fork)
        print("ready", flush=True)
        sys.stdin.readline()
        threading.Thread(target=interrupt).start()
        code = 1
        try:
            try:
                {wait}
            except Exception as error:
                assert os.getpid() != parent, error
                assert "The call was made by the parent of this process" in str(error), error
                print("failed", flush=True)
                cluster.connect().execute("SELECT child")
            else:
                assert os.getpid() == parent
                cluster.connect().execute("SELECT parent")
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
    says(process, "ready")
    for node in fake.nodes:
        node.pause()
    assert process.stdin is not None
    process.stdin.write("paused\n")
    process.stdin.flush()
    says(process, "failed")
    for node in fake.nodes:
        node.resume()
    assert finish(process) == ""
    for who in ("child", "parent"):
        assert sum(node.asked(f"SELECT {who}") for node in fake.nodes) == 1
