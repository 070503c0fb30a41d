"""Under gevent and eventlet, patched before the driver is imported, waiting calls let the other greenlets go on.

Each script runs in an interpreter of its own; scripted or simulated servers live here.
"""

from __future__ import annotations

import importlib
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.connection import Connection
from cassandra.testing import SimulatedCluster
from tests.fakes.nodes import FakeCluster
from tests.packages import require
from tests.patience import PATIENCE
from tests.unit.session.forking import ROOT, Held, finish, says
from tests.unit.session.greenlets import run, start

pytestmark = [pytest.mark.long, pytest.mark.versions, pytest.mark.parametrize("library", ["gevent", "eventlet"])]


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        yield made


@pytest.fixture
def simulated() -> Iterator[Any]:
    with SimulatedCluster(2, 2) as made:
        yield SimpleNamespace(contact_points=[(address, made.port) for address in made.contact_points])


def test_the_neighbour_goes_on_during_waits(library: str, fake: FakeCluster) -> None:
    """For a result in one way or another, for many, and for one of the driver's own."""
    held = Held(fake)
    process = start(
        library,
        fake,
        """
        from cassandra.protocol import QueryMessage
        cluster = made()
        session = cluster.connect()
        neighbour = Neighbour()
        connection = cluster.control_connection.connection
        waits = [
            spawn(lambda: session.execute("SELECT never")),
            spawn(lambda: session.execute_async("SELECT never").result()),
            spawn(lambda: execute_concurrent(session, [("SELECT never", None)])),
            spawn(lambda: connection.request(QueryMessage("SELECT never", 1), PATIENCE)),
        ]
        assert goes_on(neighbour)
        print("it goes on", flush=True)
        ended(waits)
        cluster.shutdown()
        """,
    )
    says(process, "it goes on")
    held.let_go(4)
    finish(process)


def test_the_neighbour_goes_on_while_a_node_does_not_answer(library: str, fake: FakeCluster) -> None:
    for node in fake.nodes:
        node.pause()
    process = start(
        library,
        fake,
        """
        neighbour = Neighbour()
        cluster = made()
        connecting = spawn(cluster.connect)
        assert goes_on(neighbour)
        print("it goes on", flush=True)
        session = ended([connecting])[0]
        session.execute("SELECT 1")
        cluster.shutdown()
        """,
    )
    says(process, "it goes on")
    for node in fake.nodes:
        node.resume()
    finish(process)


def test_a_program(library: str, simulated: Any) -> None:
    """Connect, DDL with agreement, fifty greenlets, pages, many at a time, the end."""
    out = run(
        library,
        simulated,
        """
        from cassandra.query import SimpleStatement
        neighbour = Neighbour()
        cluster = made()
        session = cluster.connect(wait_for_all_pools=True)
        session.execute(
            "CREATE KEYSPACE app WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"
        )
        session.set_keyspace("app")
        result = session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        assert result.response_future.is_schema_agreed
        assert "t" in cluster.metadata.keyspaces["app"].tables
        insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
        select = session.prepare("SELECT v FROM t WHERE id = ?")

        def work(number):
            for id in range(number * 10, number * 10 + 10):
                session.execute(insert, (id, str(id)))
                assert session.execute(select, (id,)).one().v == str(id)
            return number

        assert ended([spawn(work, number) for number in range(50)]) == list(range(50))
        rows = list(session.execute(SimpleStatement("SELECT id FROM t", fetch_size=30)))
        assert sorted(row.id for row in rows) == list(range(500)), rows
        for success, value in execute_concurrent_with_args(session, insert, [(id, "") for id in range(1000, 1500)]):
            assert success, value
        assert session.execute("SELECT count(*) FROM t").one()[0] == 1000
        assert cluster.refresh_schema_metadata() is None
        session.execute("DROP TABLE t")
        assert "t" not in cluster.metadata.keyspaces["app"].tables
        assert goes_on(neighbour)
        cluster.shutdown()
        print("ended")
        """,
    )
    assert out == "ended\n"


def test_greenlets_share_a_request_and_a_session_ends_it(library: str, fake: FakeCluster) -> None:
    Held(fake)
    run(
        library,
        fake,
        """
        cluster = made()
        session = cluster.connect()
        request = session.execute_async("SELECT never")
        waiting = [spawn(fails, Exception, request.result) for _ in range(3)]
        sleep(0.05)
        cluster.shutdown()
        ended(waiting)
        """,
    )


def test_timeouts(library: str, fake: FakeCluster) -> None:
    """The driver's own, the library's, and a greenlet that is killed: the session can be used afterwards."""
    Held(fake)
    run(
        library,
        fake,
        """
        cluster = made()
        session = cluster.connect()
        neighbour = Neighbour()
        before = neighbour.turns
        fails(OperationTimedOut, lambda: session.execute("SELECT never", timeout=0.3))
        assert neighbour.turns > before

        def out_of_time():
            with Timeout(0.1):
                session.execute("SELECT never")

        fails(Timeout, out_of_time)
        killed = spawn(session.execute, "SELECT never")
        sleep(0.05)
        killed.kill()
        session.execute("SELECT 1")
        cluster.shutdown()
        """,
    )


@pytest.mark.parametrize("where", ["main", "greenlet"])
def test_ctrl_c(library: str, fake: FakeCluster, where: str) -> None:
    """It reaches the main greenlet, whichever waits for the driver; the request that was waited for goes on."""
    held = Held(fake)
    process = start(
        library,
        fake,
        f"""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cluster = made()
        session = cluster.connect()
        request = session.execute_async("SELECT never")
        if {where == "greenlet"}:
            waiting = spawn(request.result)
        try:
            print("waits", flush=True)
            request.result() if {where == "main"} else sleep(PATIENCE)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        request.result()
        session.execute("SELECT 1")
        cluster.shutdown()
        """,
    )
    says(process, "waits")
    held.wait(1)
    for _ in range(10):  # one that comes just before a thread falls asleep is only noted, and does not wake it
        process.send_signal(signal.SIGINT)
        if select.select([process.stdout], [], [], 5)[0]:
            break
    says(process, "interrupted")
    held.let_go(1)
    _, errors = process.communicate(timeout=4 * PATIENCE)  # gevent writes the interrupt there, too
    assert process.returncode == 0, errors


def test_callbacks_are_greenlets_of_the_thread_that_added_them(library: str, fake: FakeCluster) -> None:
    """They may wait, also for the driver, and set the library's events."""
    run(
        library,
        fake,
        """
        cluster = made()
        session = cluster.connect()
        statement = session.prepare("SELECT prepared")
        main, done, seen = threading.get_native_id(), threading.Event(), []

        def answered(rows):
            session.execute(statement)
            sleep(0.001)
            seen.append(threading.get_native_id())
            done.set()

        session.execute_async("SELECT 1").add_callback(answered)
        done.wait()
        done.clear()
        session.execute_async("SELECT 1", host=cluster.metadata.all_hosts()[0]).add_callbacks(answered, answered)
        done.wait()
        assert seen == [main, main], seen
        cluster.shutdown()
        """,
    )


def test_a_line_of_requests_is_waited_for_with_the_hub(library: str, fake: FakeCluster) -> None:
    held = Held(fake)
    process = start(
        library,
        fake,
        """
        cluster = made(max_requests_per_session=1, max_waiting_requests=1)
        session = cluster.connect()
        neighbour = Neighbour()
        waiting = [spawn(session.execute, "SELECT never") for _ in range(4)]
        assert goes_on(neighbour)
        print("it goes on", flush=True)
        ended(waiting)
        cluster.shutdown()
        """,
    )
    says(process, "it goes on")
    fake.on_query = None
    held.let_go(1)
    finish(process)


def test_rows_by_the_million(library: str, simulated: Any) -> None:
    """An ingest waits like every other call."""
    run(
        library,
        simulated,
        """
        import numpy
        neighbour = Neighbour()
        cluster = made()
        session = cluster.connect(wait_for_all_pools=True)
        session.execute(
            "CREATE KEYSPACE app WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"
        )
        session.execute("CREATE TABLE app.t (id int PRIMARY KEY, v double)")
        turns = neighbour.turns
        works = [
            spawn(session.ingest, "app.t", {"id": numpy.arange(1000) + 1000 * n, "v": numpy.zeros(1000)})
            for n in range(3)
        ]
        assert [report.rows for report in ended(works)] == [1000] * 3
        assert neighbour.turns > turns
        assert session.execute("SELECT count(*) FROM app.t").one()[0] == 3000
        cluster.shutdown()
        """,
    )


def test_a_forked_child_and_its_parent_both_go_on(library: str, fake: FakeCluster) -> None:
    out = run(
        library,
        fake,
        """
        cluster = made()
        session = cluster.connect(wait_for_all_pools=True)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                ended([spawn(session.execute, "SELECT child") for _ in range(5)])
                cluster.shutdown()
                code = 0
            finally:
                os._exit(code)
        ended([spawn(session.execute, "SELECT parent") for _ in range(5)])
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        session.execute("SELECT parent")
        cluster.shutdown()
        """,
    )
    assert out == "0\n"


def test_idle_and_open_sessions_do_not_keep_the_process_running(library: str, fake: FakeCluster) -> None:
    """A session that is idle, and one that was not shut down."""
    run(
        library,
        fake,
        f"""
        cluster = made()
        session = cluster.connect()
        session.execute("SELECT 1")
        if {library == "gevent"}:
            assert gevent.wait(timeout=PATIENCE) is True
        """,
    )


def test_without_a_patch_nothing_is_chosen(library: str) -> None:
    require(library)
    code = f"""
import threading, concurrent.futures, socket, warnings
warnings.simplefilter("ignore")
import {library}
from cassandra import cluster
from cassandra._base import real
assert real.patched_by is None and real.green is None
assert real.threading is threading and real.socket is socket
assert real.Future.__module__ == "cassandra._base.real" and issubclass(real.Future, concurrent.futures.Future)
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_the_names_of_the_connection_classes(library: str) -> None:
    module = importlib.import_module(f"cassandra.io.{library}reactor")
    connection = getattr(module, f"{library.capitalize()}Connection")
    assert issubclass(connection, Connection) and connection.__module__ == module.__name__


def test_greenlets_read_one_query_set(library: str, simulated: Any) -> None:
    """One of them reads a page; those that wait for it have the hub wait for them."""
    said = run(
        library,
        simulated,
        """
        from cassandra.cqlengine import columns, connection, models
        from cassandra.cqlengine.models import Model

        class Row(Model):
            part = columns.Integer(partition_key=True)
            at = columns.Integer(primary_key=True)

        models.DEFAULT_KEYSPACE = "app"
        cluster = made()
        session = cluster.connect()
        session.execute("CREATE KEYSPACE app WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE app.row (part int, at int, PRIMARY KEY (part, at))")
        connection.set_session(session)
        for at in range(30):
            Row.create(part=1, at=at)
        for _ in range(3):
            rows = Row.objects(part=1).fetch_size(3)
            read = ended([spawn(lambda: [row.at for row in rows]) for _ in range(5)])
            assert read == [list(range(30))] * 5, read
        cluster.shutdown()
        print("read")
        """,
    )
    assert said == "read\n"


def test_logging_in_threads_does_not_wait_for_greenlets(library: str, simulated: Any) -> None:
    """The locks of handlers are those of greenlets: here one holds them nearly all of the time, and switches."""
    said = run(
        library,
        simulated,
        """
        import atexit, logging
        records = []

        class Slow(logging.Handler):
            def emit(self, record):
                sleep(0.002)
                records.append(record)

        logging.getLogger("cassandra").addHandler(Slow())
        logging.getLogger("cassandra").setLevel(logging.DEBUG)

        def busy():
            while not over:
                logging.getLogger("cassandra.pool").info("a greenlet's")
                sleep(0.0001)

        from cassandra._base.real import threading as real
        early = real.Thread(target=lambda: logging.getLogger("cassandra.pool").info("early"), name="fastcql-early")
        early.start()
        while early.is_alive():
            pass  # no greenlet has waited yet, so there is no loop
        made(idle_heartbeat_interval=0).shutdown()
        real.Event().wait(0.01)
        assert eventually(lambda: [record.threadName for record in records] == ["fastcql-early"]), records

        records.clear()
        over = False
        greenlet = spawn(busy)
        for _ in range(5):
            cluster = made(idle_heartbeat_interval=1)
            session = cluster.connect()
            session.execute("SELECT * FROM system.local")
            cluster.shutdown()
        assert eventually(lambda: any(record.threadName.startswith("fastcql") for record in records)), records
        over = True
        ended([greenlet])
        theirs = [record for record in records if record.threadName.startswith("fastcql")]
        assert theirs and all(record.filename.endswith(".py") and record.getMessage() for record in theirs)
        assert all(0 <= time.time() - record.created < PATIENCE and 0 <= record.msecs < 1000 for record in theirs)
        print("ended")
        """,
    )
    assert said == "ended\n"
