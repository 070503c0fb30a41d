"""The public calls that are interrupted.

A call is a function of the scene that returns two: ``run`` is interrupted, ``check(ended)`` says afterwards by
:class:`Broken` what is wrong; *ended* is whether ``run`` returned. ``run`` may be called again after a check.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from cassandra import DriverException, OperationTimedOut
from cassandra.cluster import NoHostAvailable, Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.policies import HostStateListener
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.scan import Count
from tests.signals.scene import AT_ONCE, KEYSPACES, ROWS, Left, Scene, check_nothing_left, holds

Run = Callable[[], Any]
Check = Callable[[bool], None]
Parts = tuple[Run, Check]
MANY = 30


class Call(NamedTuple):
    """*costly* calls take so long that they are interrupted less often."""

    name: str
    parts: Callable[[Scene], Parts]
    options: dict[str, Any]
    costly: bool


CALLS: dict[str, Call] = {}


def call(costly: bool = False, **options: Any) -> Callable[[Callable[[Scene], Parts]], Callable[[Scene], Parts]]:
    """Register a call; *options* are of its Cluster."""

    def register(parts: Callable[[Scene], Parts]) -> Callable[[Scene], Parts]:
        CALLS[parts.__name__] = Call(parts.__name__, parts, options, costly)
        return parts

    return register


def nothing(ended: bool) -> None:
    """There is nothing to check but what holds after all calls."""


def eventually(condition: Callable[[], Any], text: str) -> None:
    deadline = time.monotonic() + AT_ONCE
    while not condition():
        holds(time.monotonic() < deadline, text)
        time.sleep(0.002)


def in_thread(action: Callable[[], Any], text: str) -> None:
    """*action* ends, in another thread; what it raises does not matter."""

    def quietly() -> None:
        try:
            action()
        except Exception:
            return

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(AT_ONCE)
    holds(not thread.is_alive(), text)


def counted(scene: Scene, number: int, ended: bool) -> None:
    """The addition that is named *number* is made once or never, and once if it is acknowledged."""
    count = scene.count_of(number)
    holds(count <= 1, f"an addition is made {count} times")
    holds(count == 1 or not ended, "an acknowledged addition is lost")


def written(scene: Scene, numbers: Iterable[int], ended: bool, value: str = "x") -> None:
    for number in numbers:
        found = scene.value_of(number)
        holds(found in (None, value), f"a wrong value: {found!r}")
        holds(found == value or not ended, "an acknowledged row is lost")


# -- requests


@call()
def execute_prepared(scene: Scene) -> Parts:
    number = next(scene.ids)
    return lambda: scene.session.execute(scene.count, (number,)), lambda ended: counted(scene, number, ended)


@call()
def execute_text(scene: Scene) -> Parts:
    number = next(scene.ids)
    text = f"UPDATE one.counts SET n = n + 1 WHERE id = {number}"
    return lambda: scene.session.execute(text), lambda ended: counted(scene, number, ended)


@call()
def execute_values(scene: Scene) -> Parts:
    number = next(scene.ids)
    statement = SimpleStatement("INSERT INTO one.t (id, v) VALUES (%s, %s)")
    return lambda: scene.session.execute(statement, (number, "x")), lambda ended: written(scene, [number], ended)


@call()
def execute_batch(scene: Scene) -> Parts:
    numbers = [next(scene.ids) for _ in range(3)]

    def run() -> None:
        batch = BatchStatement()
        for number in numbers:
            batch.add(scene.insert, (number, "x"))
        scene.session.execute(batch)

    return run, lambda ended: written(scene, numbers, ended)


@call()
def execute_failing(scene: Scene) -> Parts:
    def run() -> None:
        try:
            scene.session.execute("SELECT missing FROM one.t WHERE id = 1")
        except Exception as error:
            if "missing" not in str(error):
                raise

    return run, nothing


@call()
def execute_traced(scene: Scene) -> Parts:
    def run() -> None:
        result = scene.session.execute("SELECT v FROM one.t WHERE id = 1", trace=True)
        trace = result.get_query_trace()
        holds(trace is not None and trace.events, "a trace without events")

    return run, nothing


@call()
def execute_with_payload(scene: Scene) -> Parts:
    number = next(scene.ids)

    def run() -> None:
        scene.session.execute(scene.count, (number,), custom_payload={"key": b"value"})

    return run, lambda ended: counted(scene, number, ended)


@call()
def execute_pages(scene: Scene) -> Parts:
    def run() -> None:
        read = list(scene.session.execute(SimpleStatement("SELECT at FROM one.ordered WHERE part = 1", fetch_size=3)))
        holds(len(read) == ROWS // 4, f"{len(read)} rows by pages")

    return run, nothing


@call()
def iterate_after_interrupt(scene: Scene) -> Parts:
    """The iteration that was interrupted goes on, and no row is lost or doubled."""
    rows = iter(scene.session.execute(SimpleStatement("SELECT at FROM one.ordered WHERE part = 1", fetch_size=3)))
    found: list[int] = []

    def run() -> None:
        while (row := next(rows, None)) is not None:
            found.append(row.at)

    def check(ended: bool) -> None:
        if not ended:
            run()
        expected = [at for at in range(ROWS) if at % 4 == 1]
        missing = [at for at in expected if at not in found]
        holds(len(missing) <= (not ended), f"rows lost: {missing}")  # the one that was being handed over may be
        holds(len(found) == len(set(found)), f"rows doubled: {found}")

    return run, check


@call()
def execute_async(scene: Scene) -> Parts:
    number = next(scene.ids)
    seen: dict[str, Any] = {}
    called: list[Any] = []

    def run() -> None:
        seen["future"] = future = scene.session.execute_async(scene.count, (number,))
        future.add_callbacks(called.append, called.append)
        seen["added"] = True
        future.result()

    def check(ended: bool) -> None:
        counted(scene, number, ended)
        if "future" in seen:
            in_thread(seen["future"].result, "result() does not end")
        if "added" in seen:
            eventually(lambda: called, "callbacks are never called")
            holds(len(called) == 1, f"callbacks are called {len(called)} times")

    return run, check


@call()
def execute_async_failing(scene: Scene) -> Parts:
    seen: dict[str, Any] = {}
    called: list[Any] = []

    def run() -> None:
        seen["future"] = future = scene.session.execute_async("SELECT missing FROM one.t WHERE id = 1")
        future.add_callbacks(called.append, called.append)
        seen["added"] = True
        try:
            future.result()
        except Exception as error:
            if "missing" not in str(error):
                raise

    def check(ended: bool) -> None:
        if "future" in seen:
            in_thread(seen["future"].result, "result() does not end")
        if "added" in seen:
            eventually(lambda: called, "callbacks are never called")
            holds(len(called) == 1, f"callbacks are called {len(called)} times")

    return run, check


@call()
def add_callbacks(scene: Scene) -> Parts:
    """To futures that have ended."""
    future = scene.session.execute_async(scene.select, (1,))
    future.result()
    called: list[Any] = []
    seen: list[bool] = []

    def run() -> None:
        future.add_callback(called.append)
        seen.append(True)

    def check(ended: bool) -> None:
        if seen:
            eventually(lambda: called, "a callback is never called")
        holds(len(called) <= 1, "a callback is called twice")

    return run, check


@call()
def start_fetching_next_page(scene: Scene) -> Parts:
    future = scene.session.execute_async(SimpleStatement("SELECT at FROM one.ordered WHERE part = 1", fetch_size=3))
    future.result()

    def run() -> None:
        future.start_fetching_next_page()
        future.result()

    return run, lambda ended: in_thread(future.result, "result() does not end")


@call()
def arrow_pages(scene: Scene) -> Parts:
    def run() -> None:
        result = scene.session.execute(SimpleStatement("SELECT at FROM one.ordered WHERE part = 1", fetch_size=3))
        holds(result.to_arrow().num_rows == ROWS // 4, "rows are missing")

    return run, nothing


# -- prepared statements


@call()
def prepare(scene: Scene) -> Parts:
    text = f"SELECT v FROM one.t WHERE id = ? AND v = 'p{next(scene.ids)}' ALLOW FILTERING"

    def check(ended: bool) -> None:
        scene.session.execute(scene.session.prepare(text), (1,))

    return lambda: scene.session.prepare(text), check


@call()
def reprepare(scene: Scene) -> Parts:
    """The servers have forgotten all statements."""
    scene.server.forget_prepared()
    number = next(scene.ids)

    def check(ended: bool) -> None:
        counted(scene, number, ended)
        holds(scene.session.execute(scene.select, (1,)).one().v == "v1", "a wrong value")
        for _ in range(4):
            scene.session.execute(scene.count, (next(scene.ids),))

    return lambda: scene.session.execute(scene.count, (number,)), check


@call()
def reprepare_batch(scene: Scene) -> Parts:
    scene.server.forget_prepared()
    run, check = execute_batch(scene)
    return run, check


# -- keyspaces and schema


@call()
def use(scene: Scene) -> Parts:
    other = KEYSPACES[1 - KEYSPACES.index(scene.session.keyspace)]
    return lambda: scene.session.execute(f"USE {other}"), lambda ended: used(scene, other, ended)


@call()
def set_keyspace(scene: Scene) -> Parts:
    other = KEYSPACES[1 - KEYSPACES.index(scene.session.keyspace)]
    return lambda: scene.session.set_keyspace(other), lambda ended: used(scene, other, ended)


@call()
def use_async(scene: Scene) -> Parts:
    other = KEYSPACES[1 - KEYSPACES.index(scene.session.keyspace)]
    return lambda: scene.session.execute_async(f"USE {other}").result(), lambda ended: used(scene, other, ended)


@call()
def use_and_insert(scene: Scene) -> Parts:
    """What a program does that ignores the interrupt: its next statements go where the session says."""
    other = KEYSPACES[1 - KEYSPACES.index(scene.session.keyspace)]
    return lambda: scene.session.execute(f"USE {other}"), lambda ended: scene.check_keyspace()


def used(scene: Scene, keyspace: str, ended: bool) -> None:
    if ended:
        holds(scene.session.keyspace == keyspace, f"the keyspace is {scene.session.keyspace}")
    scene.check_keyspace()
    scene.session.set_keyspace(keyspace)
    scene.check_keyspace()


@call()
def create_table(scene: Scene) -> Parts:
    name = f"made{next(scene.names)}"

    def check(ended: bool) -> None:
        tables = scene.cluster.metadata.keyspaces["one"].tables
        holds(name in tables or not ended, "a new table is not in the metadata")
        if not ended:  # the statement may be under way
            scene.session.execute(f"CREATE TABLE IF NOT EXISTS one.{name} (id int PRIMARY KEY)")
        eventually(lambda: name in scene.cluster.metadata.keyspaces["one"].tables, "a table is not in the metadata")
        scene.session.execute(f"DROP TABLE one.{name}")
        eventually(lambda: name not in scene.cluster.metadata.keyspaces["one"].tables, "a table stays in the metadata")

    return lambda: scene.session.execute(f"CREATE TABLE one.{name} (id int PRIMARY KEY)"), check


@call()
def refresh_schema(scene: Scene) -> Parts:
    return scene.cluster.refresh_schema_metadata, lambda ended: scene.cluster.refresh_schema_metadata()


@call()
def refresh_table(scene: Scene) -> Parts:
    def run() -> None:
        scene.cluster.refresh_table_metadata("one", "t")

    return run, lambda ended: run()


@call()
def refresh_nodes(scene: Scene) -> Parts:
    def check(ended: bool) -> None:
        scene.cluster.refresh_nodes()
        count = len(scene.cluster.metadata.all_hosts())
        holds(count == len(scene.server.endpoints), f"{count} hosts")

    return scene.cluster.refresh_nodes, check


@call()
def read_metadata(scene: Scene) -> Parts:
    """Metadata that is parsed when it is first looked at."""
    scene.cluster.refresh_schema_metadata()

    def run() -> None:
        for keyspace in KEYSPACES:
            text = scene.cluster.metadata.keyspaces[keyspace].export_as_string()
            holds("CREATE TABLE" in text, "a table is missing")
        scene.cluster.metadata.get_replicas("one", b"\0" * 8)

    return run, lambda ended: run()


@call()
def wait_for_schema_agreement(scene: Scene) -> Parts:
    def run() -> None:
        scene.session.wait_for_schema_agreement()

    return run, lambda ended: run()


class Pair:
    def __init__(self, a: int, b: str) -> None:
        self.a, self.b = a, b


@call()
def register_user_type(scene: Scene) -> Parts:
    def run() -> None:
        scene.cluster.register_user_type("one", "pair", Pair)

    def check(ended: bool) -> None:
        run()
        number = next(scene.ids)
        insert = scene.session.prepare("INSERT INTO one.pairs (id, p) VALUES (?, ?)")
        scene.session.execute(insert, (number, Pair(1, "b")))
        read = scene.session.execute(f"SELECT p FROM one.pairs WHERE id = {number}").one().p
        holds(isinstance(read, Pair) and (read.a, read.b) == (1, "b"), f"a wrong value: {read!r}")

    return run, check


class Listener(HostStateListener):
    pass


@call()
def listeners(scene: Scene) -> Parts:
    listener = Listener()
    seen: list[Any] = []

    def run() -> None:
        scene.cluster.register_listener(listener)
        scene.session.add_request_init_listener(seen.append)
        scene.session.execute(scene.select, (1,))
        scene.session.remove_request_init_listener(seen.append)
        scene.cluster.unregister_listener(listener)

    def check(ended: bool) -> None:
        removals: list[tuple[Callable[[Any], None], Any]] = [
            (scene.cluster.unregister_listener, listener),
            (scene.session.remove_request_init_listener, seen.append),
        ]
        for remove, added in removals:
            with contextlib.suppress(KeyError, ValueError):
                remove(added)

    return run, check


# -- many at a time


@call()
def concurrent_with_args(scene: Scene) -> Parts:
    numbers = [next(scene.ids) for _ in range(MANY)]

    def run() -> None:
        results = list(execute_concurrent_with_args(scene.session, scene.count, [(number,) for number in numbers]))
        holds(len(results) == MANY, f"{len(results)} results of {MANY}")
        holds(all(result.success for result in results), "a request failed")

    return run, lambda ended: all_counted(scene, numbers, ended)


@call()
def concurrent_texts(scene: Scene) -> Parts:
    numbers = [next(scene.ids) for _ in range(MANY)]
    statements = [(f"UPDATE one.counts SET n = n + 1 WHERE id = {number}", None) for number in numbers]

    def run() -> None:
        results = list(execute_concurrent(scene.session, statements, concurrency=7))
        holds(len(results) == MANY, f"{len(results)} results of {MANY}")

    return run, lambda ended: all_counted(scene, numbers, ended)


@call()
def concurrent_generator(scene: Scene) -> Parts:
    numbers = [next(scene.ids) for _ in range(MANY)]

    def run() -> None:
        arguments = [(number,) for number in numbers]
        count = 0
        for result in execute_concurrent_with_args(
            scene.session, scene.count, arguments, concurrency=5, results_generator=True
        ):
            count += result.success
        holds(count == MANY, f"{count} results of {MANY}")

    return run, lambda ended: all_counted(scene, numbers, ended)


def all_counted(scene: Scene, numbers: list[int], ended: bool) -> None:
    counts = [scene.count_of(number) for number in numbers]
    holds(max(counts) <= 1, f"an addition is made {max(counts)} times")
    holds(min(counts) == 1 or not ended, "an acknowledged addition is lost")


@call()
def ingest(scene: Scene) -> Parts:
    numbers = [next(scene.ids) for _ in range(MANY)]

    def run() -> None:
        report = scene.session.ingest("one.t", {"id": numbers, "v": ["x"] * MANY})
        holds(report.rows == MANY, f"{report.rows} rows of {MANY}")

    return run, lambda ended: written(scene, numbers[::6], ended)


@call()
def scan(scene: Scene) -> Parts:
    def run() -> None:
        holds(scene.session.scan("one.ordered").to_arrow().num_rows == ROWS, "rows are missing")

    return run, nothing


@call()
def scan_rows(scene: Scene) -> Parts:
    def run() -> None:
        holds(sum(1 for _ in scene.session.scan("one.ordered").rows()) == ROWS, "rows are missing")

    return run, nothing


@call()
def scan_order(scene: Scene) -> Parts:
    def run() -> None:
        read = [row.at for row in scene.session.scan_order(scene.part, [(n,) for n in range(4)], order_by="at").rows()]
        holds(read == list(range(ROWS)), f"a wrong order: {read}")

    return run, nothing


@call()
def fold(scene: Scene) -> Parts:
    def run() -> None:
        holds(scene.session.scan("one.ordered").fold(Count()) == ROWS, "rows are missing")

    return run, nothing


# -- limits and connections that are lost


@call(max_requests_per_session=2)
def admission_queue(scene: Scene) -> Parts:
    numbers = [next(scene.ids) for _ in range(6)]

    def run() -> None:
        for future in [scene.session.execute_async(scene.count, (number,)) for number in numbers]:
            future.result()

    return run, lambda ended: all_counted(scene, numbers, ended)


@call(max_requests_per_session=2, max_waiting_requests=1)
def full_admission_queue(scene: Scene) -> Parts:
    """Callers wait for a place in the queue."""
    return admission_queue(scene)


@call(max_requests_per_session=2)
def ingest_within_limits(scene: Scene) -> Parts:
    return ingest(scene)


@call(max_requests_per_session=2)
def scan_within_limits(scene: Scene) -> Parts:
    return scan(scene)


@call(metrics_enabled=True)
def with_metrics(scene: Scene) -> Parts:
    return execute_async(scene)


@call(costly=True)
def replaced_connections(scene: Scene) -> Parts:
    """Connections are lost, and opened again, while requests are made."""
    scene.loses_connections = True
    lost = [connection for pool in scene.session.get_pools() for connection in pool.get_connections()]
    scene.server.disconnect()

    def run() -> None:
        deadline = time.monotonic() + AT_ONCE
        while time.monotonic() < deadline:
            try:
                scene.session.execute(scene.select, (1,))
                break
            except OperationTimedOut:
                raise
            except Exception:
                time.sleep(0.005)

    def check(ended: bool) -> None:
        # Until the I/O thread has read their ends, requests are sent on lost connections, and fail with them.
        eventually(lambda: all(connection.is_closed for connection in lost), "a lost connection is used")
        eventually(lambda: all(state["open_count"] for state in scene.session.get_pool_state().values()), "no pool")

    return run, check


# -- lives of clusters and sessions


@call(costly=True)
def connect(scene: Scene) -> Parts:
    def run() -> None:
        session = scene.cluster.connect("one")
        session.execute(scene.select, (1,))
        session.shutdown()

    def check(ended: bool) -> None:
        session = scene.cluster.connect("one")
        holds(session.execute("SELECT v FROM t WHERE id = 1").one().v == "v1", "a wrong value")
        session.shutdown()

    return run, check


@call(costly=True)
def session_shutdown(scene: Scene) -> Parts:
    session = scene.cluster.connect("one")
    session.execute(scene.select, (1,))
    return session.shutdown, lambda ended: shut_down(session)


def shut_down(session: Session) -> None:
    in_thread(session.shutdown, "Session.shutdown() does not end")
    holds(session.is_shutdown, "the session is not shut down")
    eventually(lambda: not session.get_pools(), "a session that is shut down has pools")


@call(costly=True)
def cluster_life(scene: Scene) -> Parts:
    before = Left()
    seen: dict[str, Any] = {}

    def run() -> None:
        seen["cluster"] = cluster = scene.new_cluster()
        session = cluster.connect("one")
        session.execute("SELECT v FROM t WHERE id = 1")
        cluster.shutdown()

    def check(ended: bool) -> None:
        if "cluster" in seen:
            cluster = seen.pop("cluster")
            try:
                if not cluster.is_shutdown:
                    session = cluster.connect("one")
                    holds(session.execute("SELECT v FROM t WHERE id = 1").one().v == "v1", "a wrong value")
                    del session
            except (DriverException, NoHostAvailable):  # its shutdown was interrupted, and goes on in the background
                holds(cluster.is_shutdown, "a cluster that is not shut down cannot connect")
            in_thread(cluster.shutdown, "Cluster.shutdown() does not end")
            del cluster
        check_nothing_left(before)

    return run, check


@call(costly=True)
def cluster_shutdown(scene: Scene) -> Parts:
    before = Left()
    cluster = scene.new_cluster()
    session = cluster.connect("one")
    session.execute("SELECT v FROM t WHERE id = 1")

    def check(ended: bool) -> None:
        in_thread(cluster.shutdown, "Cluster.shutdown() does not end")
        holds(cluster.is_shutdown and session.is_shutdown, "it is not shut down")
        check_nothing_left(before)

    return cluster.shutdown, check
