"""The end of the interpreter and Ctrl-C, in any state: no hang, no crash, nothing left.

Each script runs in an interpreter of its own that turns warnings into errors, beside scripted servers that never
answer ``SELECT slow``. Tests of a shutdown in a running program are in test_cluster_shutdown.py, those of
forks in test_fork.py and beside it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra._core.transport import debug_counters
from cassandra._session.cluster import Cluster
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.patience import PATIENCE

pytestmark = [pytest.mark.long, pytest.mark.versions, pytest.mark.usefixtures("no_leaks")]

ROOT = Path(__file__).parents[3]

PREAMBLE = r"""
import asyncio, atexit, gc, os, signal, sys, threading, time, warnings
# Of an import that a signal has interrupted: Python leaves the file to its finaliser.
warnings.filterwarnings("ignore", r"unclosed file .*\.pyc", ResourceWarning)
from cassandra.cluster import Cluster, ExecutionProfile, EXEC_PROFILE_DEFAULT
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.policies import RoundRobinPolicy
from tests.patience import PATIENCE, eventually

def connected():
    profile = ExecutionProfile(RoundRobinPolicy(), request_timeout=None)
    cluster = Cluster(POINTS, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    cluster.connect_timeout = cluster.control_connection_timeout = PATIENCE
    return cluster, cluster.connect(wait_for_all_pools=True)

def in_thread(work, daemon=False):
    thread = threading.Thread(target=work, daemon=daemon)
    thread.start()
    return thread

def failing(*requests):
    for request in requests:
        try:
            request()
        except Exception as error:
            print(type(error).__name__)
"""


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        made.on_query = lambda node, connection, request, text: text.startswith("SELECT slow")
        yield made


def run(fake: FakeCluster, script: str) -> subprocess.CompletedProcess[str]:
    code = PREAMBLE + f"POINTS = {fake.contact_points!r}\n" + textwrap.dedent(script)
    command = [sys.executable, "-X", "faulthandler", "-W", "error", "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=4 * PATIENCE, check=False)


LOST = "ConnectionException\n"
#: Python 3.12 starts no threads once the main one has ended, and connecting takes some.
CONNECTED = "RuntimeError\n" if sys.version_info[:2] == (3, 12) else "connected\n"

#: code that the program runs after ``cluster, session = connected()``, and its output
ENDINGS = {
    # requests without a waiter
    "callbacks": ("for f in [session.execute_async('SELECT slow') for _ in range(50)]: f.add_errback(id)", ""),
    "cycles of everything": (
        "f = session.execute_async('SELECT slow'); f.me = f; session.me = session; cluster.me = cluster; del f", "",
    ),
    "many sessions": ("sessions = [cluster.connect() for _ in range(10)]; del sessions", ""),
    # threads
    "a thread goes on": ("in_thread(lambda: [session.execute('SELECT 1') for _ in range(300)])", ""),
    "a thread waits, then shutdown": (
        "f = session.execute_async('SELECT slow'); t = in_thread(lambda: failing(f.result)); cluster.shutdown()", LOST,
    ),
    "daemon threads ask on": (
        "def ask():\n    while True: failing(lambda: session.execute('SELECT 1'))\n"
        "for _ in range(4): in_thread(ask, daemon=True)\neventually(lambda: True)", None,
    ),
    "shutdown by a thread that outlives main": (
        "in_thread(lambda: (threading.main_thread().join(), cluster.shutdown()))", "",
    ),
    "another cluster connects at the end": (
        "in_thread(lambda: (threading.main_thread().join(), failing(lambda: "
        "(connected()[0].shutdown(), print('connected')))))",
        CONNECTED,
    ),
    # exit functions and finalisers
    "an exit function asks": ("atexit.register(lambda: (session.execute('SELECT 1'), print('done')))", "done\n"),
    "an exit function connects": (
        "atexit.register(lambda: failing(lambda: (connected(), print('connected'))))", CONNECTED,
    ),
    "a finaliser shuts down": (
        "class Owner:\n    def __init__(self): self.me, self.cluster = self, cluster\n"
        "    def __del__(self): self.cluster.shutdown()\nowner = Owner()", "",
    ),
    "a finaliser asks": (
        "class Owner:\n    def __init__(self): self.session = session\n"
        "    def __del__(self): failing(lambda: self.session.execute('SELECT 1'))\nowner = Owner()", None,
    ),
    # asyncio
    "a coroutine waits": (
        "async def main():\n    waiting = asyncio.ensure_future(ask())\n    await asyncio.sleep(0)\n"
        "async def ask(): await session.execute_async('SELECT slow')\nasyncio.run(main())", "",
    ),
    "coroutines wait, shutdown by a thread": (
        "async def main():\n    waiting = [session.execute_async('SELECT slow') for _ in range(3)]\n"
        "    asyncio.get_running_loop().call_soon(in_thread, cluster.shutdown)\n"
        "    for one in waiting:\n        try: await one\n        except Exception as error: failing(one.result)\n"
        "asyncio.run(main())", LOST * 3,
    ),
    # generators
    "shutdown inside an endless generator": (
        "def endless():\n    for number in iter(int, 1):\n        yield 'SELECT 1', None\n        drawn.append(1)\n"
        "        if len(drawn) == 300: cluster.shutdown()\n"
        "drawn = []\nfailing(lambda: execute_concurrent(session, endless()))", None,
    ),
    "an endless generator in a daemon thread": (
        "in_thread(lambda: failing(lambda: list(execute_concurrent(session, iter(lambda: ('SELECT 1', None), 0)))), "
        "daemon=True)", None,
    ),
    # hard ends
    "os._exit": ("session.execute_async('SELECT slow'); os._exit(0)", ""),
    "os._exit in a callback": (
        "session.execute_async('SELECT 1').add_callback(lambda rows: os._exit(0)); time.sleep(PATIENCE)", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("state", ENDINGS)
def test_the_interpreter_ends(fake: FakeCluster, state: str) -> None:
    script, printed = ENDINGS[state]
    ran = run(fake, "cluster, session = connected()\n" + script)
    if printed is not None:
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, printed, "")
    else:  # requests sent in time are lost, later ones are refused; daemon threads may not even see the end come
        assert ran.returncode == 0, ran.stderr
        assert "Fatal" not in ran.stderr


EARLIER = {
    "connects": "connected()",
    "connects beside another": "(session, connected())",
    "makes a cluster": "Cluster(POINTS)",
    "connects on a loop": "asyncio.run(Cluster(POINTS).connect_async())",
    "asks": "session.execute('SELECT 1')",
    "asks later": "session.execute_async('SELECT 1').result()",
    "asks on a loop": "asyncio.run(awaiting(session))",
    "connects another session": "cluster.connect()",
    "shuts down": "cluster.shutdown()",
    "forgets": "(globals().pop('session'), globals().pop('cluster'), gc.collect())",
}


@pytest.mark.parametrize("what", EARLIER)
def test_an_exit_function_that_was_registered_before_the_driver(fake: FakeCluster, what: str) -> None:
    """It runs when the driver has ended: it is told so at once, and nothing hangs or crashes."""
    used = "session" in EARLIER[what] or "cluster." in EARLIER[what]
    code = f"""
import atexit, time

async def awaiting(session):
    await session.execute_async("SELECT 1")

def at_exit():
    began = time.monotonic()
    failing(lambda: {EARLIER[what]})
    assert time.monotonic() - began < PATIENCE / 2, "it waited for something"
    print("ended")

atexit.register(at_exit)
{PREAMBLE}
POINTS = {fake.contact_points!r}
if {used}:
    cluster, session = connected()
"""
    command = [sys.executable, "-X", "faulthandler", "-W", "error", "-c", code]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=4 * PATIENCE, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    fine = what in ("makes a cluster", "shuts down", "forgets")
    *errors, ended, _ = ran.stdout.split("\n")
    assert ended == "ended" and len(errors) == (not fine), ran.stdout
    if "connects" in what and "session" not in what:
        assert errors == ["RuntimeError"]


@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [
        ("raise ValueError('mine')", 1, "ValueError: mine"),
        ("sys.exit(3)", 3, ""),
        ("os.kill(os.getpid(), signal.SIGINT); session.execute('SELECT slow')", -signal.SIGINT, "KeyboardInterrupt"),
        ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(PATIENCE)", -signal.SIGTERM, ""),
    ],
    ids=["exception", "sys.exit", "ctrl-c", "terminated"],
)
def test_how_it_ended_is_seen(fake: FakeCluster, ending: str, code: int, said: str) -> None:
    script = "signal.signal(signal.SIGINT, signal.default_int_handler)\ncluster, session = connected()\n"
    ran = run(fake, script + "session.execute_async('SELECT slow')\n" + ending)
    assert ran.returncode == code
    assert ran.stderr.strip().endswith(said)
    assert said or not ran.stderr


INTERRUPTS = """
signal.signal(signal.SIGINT, signal.default_int_handler)
cluster, session = connected()
future = session.execute_async("SELECT slow")
statement = session.prepare("SELECT prepared slow")

def trace():
    from uuid import uuid1
    from cassandra.query import QueryTrace
    QueryTrace(uuid1(), session).populate(max_wait=None)

async def ask():
    await session.execute_async("SELECT slow")

waits = {
    "execute": lambda: session.execute("SELECT slow"),
    "prepared": lambda: session.execute(statement),
    "result": future.result,
    "result again": future.result,
    "concurrent": lambda: execute_concurrent(session, [("SELECT slow", None)] * 10),
    "concurrent, prepared": lambda: execute_concurrent_with_args(session, statement, [()] * 10),
    "concurrent, generator": lambda: list(execute_concurrent(session, [("SELECT slow", None)], results_generator=True)),
    "prepare": lambda: session.prepare("PREPARE slow"),
    "agreement": lambda: cluster.control_connection.wait_for_schema_agreement(wait_time=PATIENCE),
    "agreement of the session": lambda: session.wait_for_schema_agreement(PATIENCE),
    "refresh": lambda: cluster.refresh_schema_metadata(PATIENCE),
    "trace": trace,
    "asyncio": lambda: asyncio.run(ask()),
    "connect": Cluster([SILENT], connect_timeout=PATIENCE).connect,
}
for name, wait in waits.items():
    interrupter = threading.Timer(0.03, os.kill, (os.getpid(), signal.SIGINT))
    try:
        interrupter.start()
        wait()
        print(name, "was not interrupted")
        interrupter.join()
    except KeyboardInterrupt:
        pass
    interrupter.join()
    session.execute("SELECT 1")
cluster.shutdown()
"""


def test_ctrl_c_interrupts_every_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """And everything is usable afterwards. (A signal that comes before the wait has begun interrupts as well.)"""
    answer = FakeNode._script

    def script(node: FakeNode, connection: Any, request: Any) -> bool:
        if request.opcode == wire.PREPARE and b"PREPARE slow" in request.body:
            return True
        return request.opcode == wire.EXECUTE or answer(node, connection, request)

    monkeypatch.setattr(FakeNode, "_script", script)
    with FakeCluster(2) as fake, FakeCluster() as silent:
        fake.on_query = lambda node, connection, request, text: text.startswith("SELECT slow")
        fake.nodes[1].schema_version = fake.nodes[0].host_id  # they never agree
        silent.nodes[0].pause()
        ran = run(fake, f"SILENT = {silent.contact_points[0]!r}\n" + INTERRUPTS)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_many_ctrl_c(fake: FakeCluster) -> None:
    """Signals that come at any moment of a request: the next one works."""
    ran = run(
        fake,
        """
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cluster, session = connected()
        ready = threading.Semaphore(0)

        def interrupt():
            for number in range(50):
                ready.acquire()
                time.sleep(0.001 * (number % 7))
                os.kill(os.getpid(), signal.SIGINT)

        interrupting = in_thread(interrupt)
        for _ in range(50):
            try:
                ready.release()  # not before: the signal must come inside
                while True:
                    session.execute("SELECT 1")
            except KeyboardInterrupt:
                pass
        interrupting.join()
        session.execute("SELECT 1")
        cluster.shutdown()
        """,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_ctrl_c_while_a_shutdown_waits_for_a_worker(fake: FakeCluster) -> None:
    """The wait ends; so does the I/O thread, although no thread waits for it any more."""
    ran = run(
        fake,
        """
        from cassandra._core.transport import debug_counters
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cluster, session = connected()
        busy, release = threading.Event(), threading.Event()
        cluster.submit(lambda: (busy.set(), release.wait()))
        busy.wait()
        interrupting = in_thread(lambda: (eventually(lambda: cluster.is_shutdown), os.kill(os.getpid(), signal.SIGINT)))
        try:
            cluster.shutdown()
            interrupting.join()
        except KeyboardInterrupt:
            print("interrupted")
        interrupting.join()
        eventually(lambda: debug_counters()["reactors"] == 0)
        release.set()
        cluster.shutdown()
        eventually(lambda: threading.active_count() == 1)
        """,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "interrupted\n", "")


def test_ctrl_c_in_the_middle_of_closing(fake: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait ends; the parts that are still open are closed all the same."""
    cluster = Cluster(fake.contact_points)
    session = cluster.connect()
    control = cluster.control_connection.connection
    assert control is not None
    shutdown = session.shutdown
    was_raised = threading.Event()

    def interrupted() -> None:
        shutdown()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        was_raised.wait(PATIENCE)

    reactors = debug_counters()["reactors"]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):  # which keeps the session no longer
        patch.setattr(session, "shutdown", interrupted)
        cluster.shutdown()
    assert not control.is_closed
    was_raised.set()
    eventually(lambda: control.is_closed and debug_counters()["reactors"] == reactors - 1)
    cluster.shutdown()


def test_connecting_and_shutting_down_leaves_nothing(fake: FakeCluster) -> None:
    """Threads, descriptors and native objects: ``no_leaks`` compares; here it is done often, and from many threads."""

    def cycle() -> None:
        for _ in range(5):
            cluster = Cluster(fake.contact_points)
            session = cluster.connect()
            session.execute_async("SELECT slow")
            session.execute("SELECT 1")
            cluster.shutdown()

    threads = [threading.Thread(target=cycle) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
