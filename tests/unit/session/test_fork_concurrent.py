"""A fork in the middle of execute_concurrent and execute_concurrent_async, of prepared statements and others.

The parent goes on and has every answer once. In the child the call is over: where it goes on nevertheless it fails, and
says why; nothing of it is sent from there; the session works.

The nodes hold requests to ``app.held`` until the child has ended, and count them.
"""

from __future__ import annotations

import subprocess
import textwrap
from collections import Counter
from collections.abc import Iterator

import pytest

from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Exchange, Hold, Rule
from tests.patience import eventually
from tests.unit.session.forking import finish, kill, says, start

pytestmark = [pytest.mark.long, pytest.mark.versions]

COUNT, AT_ONCE = 40, 8
PREPARE = 0x09

#: The beginning of every script. ``numbered`` checks the parent's answers, ``works`` that a session does.
SCRIPT = f"""
from cassandra.concurrent import (execute_concurrent, execute_concurrent_async, execute_concurrent_with_args,
                                  execute_concurrent_with_args_async)
COUNT, AT_ONCE = {COUNT}, {AT_ONCE}
cluster, session = connected(keyspace="app")
here = os.getpid()
held = session.prepare("SELECT n FROM held WHERE id = ?")
free = session.prepare("SELECT n FROM free WHERE id = ?")
arguments = [(id,) for id in range(COUNT)]
statement = {{"prepared": held, "text": "SELECT n FROM held WHERE id = %s"}}

def numbered(results, count=COUNT):
    assert [success for success, _ in results] == [True] * count, results
    assert [result.one().n for _, result in results] == list(range(count))

def works():
    numbered(execute_concurrent_with_args(session, free, arguments, AT_ONCE))
    numbered(asyncio.run(execute_and_wait()))
    assert session.execute(free, (1,)).one().n == 1

async def execute_and_wait():
    return await execute_concurrent_with_args_async(session, free, arguments, AT_ONCE)

def gone_on(action):
    '''What a child comes to that goes on with the call, and how its session is then.'''
    fails(ConnectionShutdown, action, "parent of this process")
    works()

def told():
    '''The test may let go of the answers.'''
    print("forked", flush=True)
"""


def _is_executed(exchange: Exchange) -> bool:
    return exchange.frame.opcode != PREPARE


class Nodes:
    """Where the statements go; and the scripts that send them, none of which outlives the test."""

    def __init__(self, simulated: SimulatedCluster) -> None:
        self.simulated = simulated
        self.contact_points = [(address, simulated.port) for address in simulated.contact_points]
        self.held = self.hold(0)
        self._processes: list[subprocess.Popen[str]] = []

    def hold(self, after: int) -> Rule:
        """Hold requests to ``app.held``, except the first *after*."""
        self.held = self.simulated.inject(Hold(), query="FROM held", when=_is_executed, after=after)
        return self.held

    def sent(self) -> list[int]:
        """How often each of the statements was sent that are held."""
        return sorted(Counter(request.token for request in self.simulated.statements("app.held")).values())

    def start(self, *scripts: str) -> subprocess.Popen[str]:
        process = start(self, SCRIPT + "\n".join(map(textwrap.dedent, scripts)))
        self._processes.append(process)
        return process

    def fork_in(self, process: subprocess.Popen[str]) -> None:
        """As soon as all that may be in flight is in flight."""
        eventually(lambda: self.held.hits == AT_ONCE or process.poll() is not None)
        assert process.stdin is not None
        process.stdin.write("now\n")
        process.stdin.flush()

    def check(self, process: subprocess.Popen[str]) -> None:
        """The child has ended, as was to be; then the parent has its answers."""
        says(process, "forked")
        self.held.remove()
        assert finish(process) == ""
        assert self.sent() == [1] * COUNT

    def close(self) -> None:
        for process in self._processes:
            kill(process)


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    with SimulatedCluster(2, 1) as simulated:
        simulated.execute("CREATE KEYSPACE app WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 1}")
        for table in ("held", "free"):
            simulated.execute(f"CREATE TABLE app.{table} (id int PRIMARY KEY, n int)")
            for number in range(COUNT):
                simulated.execute(f"INSERT INTO app.{table} (id, n) VALUES ({number}, {number})")
        nodes = Nodes(simulated)
        try:
            yield nodes
        finally:
            nodes.close()


FORMS = {
    "list": "numbered(execute_concurrent_with_args(session, statement[KIND], source(), AT_ONCE))",
    "generator": """
        numbered(list(
            execute_concurrent_with_args(session, statement[KIND], source(), AT_ONCE, results_generator=True)))
    """,
    "await": """
        async def main():
            return await execute_concurrent_with_args_async(session, statement[KIND], source(), AT_ONCE)
        numbered(asyncio.run(main()))
    """,
    "async-for": """
        async def main():
            return [one async for one in execute_concurrent_with_args_async(
                session, statement[KIND], source(), AT_ONCE)]
        numbered(asyncio.run(main()))
    """,
}
KINDS = ["prepared", "text"]
CASES = [*((form, "prepared") for form in FORMS), ("list", "text"), ("async-for", "text")]


@pytest.mark.parametrize(("form", "kind"), CASES)
def test_by_another_thread(nodes: Nodes, form: str, kind: str) -> None:
    """While all that may be in flight is in flight."""
    process = nodes.start(
        f"""
        KIND = {kind!r}
        source = lambda: arguments

        def fork():
            sys.stdin.readline()
            in_child(works)
            told()

        threading.Thread(target=fork).start()
        """,
        FORMS[form],
        "cluster.shutdown()",
    )
    nodes.fork_in(process)
    nodes.check(process)


@pytest.mark.parametrize(("form", "kind"), CASES)
@pytest.mark.parametrize("way", ["leaves", "goes-on"])
def test_by_the_source_of_statements(nodes: Nodes, form: str, kind: str, way: str) -> None:
    """In the middle of sending; the child leaves from there, or goes on with the call."""
    process = nodes.start(
        f"""
        KIND = {kind!r}
        leaves = {way == "leaves"}

        def source():
            for arguments_of_one in arguments:
                if arguments_of_one == (AT_ONCE // 2,):
                    if leaves:
                        in_child(works)
                    else:
                        loop = asyncio._get_running_loop()
                        task = loop and asyncio.current_task()
                        pid = os.fork()
                        if pid:
                            ended(pid)
                        elif loop and sys.version_info >= (3, 14):  # which leaves it to the parent
                            asyncio._set_running_loop(loop)
                            asyncio.tasks._enter_task(loop, task)
                    if os.getpid() == here:
                        told()
                yield arguments_of_one

        def call():
"""
        + textwrap.indent(textwrap.dedent(FORMS[form]), " " * 12)
        + """
        try:
            call()
        except ConnectionShutdown as error:
            assert os.getpid() != here
            assert "parent of this process" in str(error)
            works()
        else:
            assert os.getpid() == here
        cluster.shutdown()
        """
    )
    nodes.check(process)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("used", [False, True], ids=["unused", "used"])
def test_iterating_in_both(nodes: Nodes, kind: str, used: bool) -> None:
    """Results that the parent has begun to take; also where the child's session has its connections already."""
    nodes.held.remove()
    nodes.hold(AT_ONCE)
    process = nodes.start(
        f"""
        results = execute_concurrent_with_args(
            session, statement[{kind!r}], arguments, AT_ONCE, results_generator=True)
        first = [next(results)]

        def work():
            if {used}:
                works()
            gone_on(lambda: list(results))
            assert list(results) == []

        in_child(work)
        told()
        numbered(first + list(results))
        cluster.shutdown()
        """
    )
    nodes.check(process)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loop", ["same", "other"])
def test_iterating_in_both_on_a_loop(nodes: Nodes, kind: str, loop: str) -> None:
    nodes.held.remove()
    nodes.hold(AT_ONCE)
    process = nodes.start(
        f"""
        loop = asyncio.new_event_loop()

        async def begin():
            return [await anext(results)]

        async def go_on():
            return [one async for one in results]

        async def prepare():
            return aiter(execute_concurrent_with_args_async(session, statement[{kind!r}], arguments, AT_ONCE))

        results = loop.run_until_complete(prepare())
        first = loop.run_until_complete(begin())
        run = {{"same": loop.run_until_complete, "other": asyncio.run}}[{loop!r}]
        in_child(lambda: gone_on(lambda: run(go_on())))
        told()
        numbered(first + loop.run_until_complete(go_on()))
        loop.close()
        cluster.shutdown()
        """
    )
    nodes.check(process)


def test_by_a_task_beside_it(nodes: Nodes) -> None:
    """A pre-fork server that is one event loop: the child leaves it."""
    process = nodes.start(
        """
        async def fork():
            while not await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
                pass
            in_child(works)
            told()

        async def main():
            forking = asyncio.create_task(fork())
            numbered(await execute_concurrent_with_args_async(session, held, arguments, AT_ONCE))
            await forking

        asyncio.run(main())
        cluster.shutdown()
        """
    )
    nodes.fork_in(process)
    nodes.check(process)


def test_many_forks_while_answers_come(nodes: Nodes) -> None:
    """Nothing holds them back: the parent forks in any state of its threads."""
    nodes.held.remove()
    process = nodes.start(
        """
        stop, rounds = threading.Event(), []

        def ask():
            while not stop.is_set() or not rounds:
                numbered(execute_concurrent_with_args(session, held, arguments, AT_ONCE))
                rounds.append(1)

        def ask_on_a_loop():
            async def main():
                while not stop.is_set():
                    numbered(await execute_concurrent_with_args_async(session, held, arguments, AT_ONCE))
            asyncio.run(main())

        threads = [threading.Thread(target=ask), threading.Thread(target=ask_on_a_loop)]
        for thread in threads: thread.start()
        try:
            for _ in range(6):
                in_child(works)
        finally:
            stop.set()
        for thread in threads: thread.join()
        cluster.shutdown()
        """
    )
    assert finish(process) == ""
    sent = nodes.sent()
    assert len(sent) == COUNT and sent[0] == sent[-1]
