"""The scene of a campaign: a server, a cluster object with a session, and what has to hold after each interrupt."""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

from cassandra import ConsistencyLevel
from cassandra._core import transport
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent
from cassandra.connection import DefaultEndPoint
from cassandra.query import BatchStatement, SimpleStatement
from tests.signals.server import Server

AT_ONCE = 6.0  # seconds that a request after an interrupt may take: many times what it takes on a busy machine
SETTLED = 6.0  # seconds in which requests that were given up end
ROWS = 40
KEYSPACES = "one", "two"

SCHEMA = [
    "CREATE TABLE t (id bigint PRIMARY KEY, v text)",
    "CREATE TABLE counts (id bigint PRIMARY KEY, n counter)",
    "CREATE TABLE ordered (part int, at int, v text, PRIMARY KEY (part, at))",
    "CREATE TYPE pair (a int, b text)",
    "CREATE TABLE pairs (id bigint PRIMARY KEY, p frozen<pair>)",
    "CREATE TABLE seen (id bigint PRIMARY KEY, v text, number int)",
]


class Broken(AssertionError):
    """Something does not hold after an interrupt."""


def holds(condition: Any, text: str) -> None:
    if not condition:
        raise Broken(text)


class Scene:
    """*options* are of the Cluster. ``ids`` gives each write an id of its own."""

    def __init__(self, server: Server, kind: str, **options: Any) -> None:
        self.server = server
        self.ids = itertools.count(int(time.time()) << 20)
        self.options = {**connection_options(server, kind), **options}
        self.cluster, self.session = self.open()
        self.names = itertools.count()
        self.mapped: Session | None = None  # of the object mapper
        self.loses_connections = False  # and with them requests that were sent
        self._schema()
        self.prepare()

    def new_cluster(self) -> Cluster:
        profile = ExecutionProfile(request_timeout=AT_ONCE, consistency_level=ConsistencyLevel.ONE)
        given: dict[str, Any] = {"execution_profiles": {EXEC_PROFILE_DEFAULT: profile}, **self.options}
        return Cluster(**given)

    def open(self) -> tuple[Cluster, Session]:
        cluster = self.new_cluster()
        return cluster, cluster.connect(wait_for_all_pools=True)

    def _schema(self) -> None:
        for keyspace in KEYSPACES:
            replication = "{'class': 'SimpleStrategy', 'replication_factor': 2}"
            self.server.execute(f"CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {replication}")
            for statement in SCHEMA:
                with contextlib.suppress(RuntimeError):  # it exists
                    self.server.execute(statement, keyspace)
        for number in range(ROWS):
            self.server.execute(f"INSERT INTO t (id, v) VALUES ({number}, 'v{number}')", "one")
            self.server.execute(f"INSERT INTO ordered (part, at, v) VALUES ({number % 4}, {number}, 'v')", "one")
        self.cluster.refresh_schema_metadata()

    def prepare(self) -> None:
        self.session.set_keyspace("one")
        self.select = self.session.prepare("SELECT id, v FROM one.t WHERE id = ?")
        self.insert = self.session.prepare("INSERT INTO one.t (id, v) VALUES (?, ?)")
        self.count = self.session.prepare("UPDATE one.counts SET n = n + 1 WHERE id = ?")
        self.part = self.session.prepare("SELECT part, at, v FROM one.ordered WHERE part = ?")

    def renew(self) -> None:
        """Replace the cluster object, as the old one is broken."""
        ends = [self.session.shutdown, self.cluster.shutdown]
        if self.mapped is not None:
            ends.append(self.mapped.cluster.shutdown)
        for end in ends:
            thread = threading.Thread(target=end, daemon=True)
            thread.start()
            thread.join(5)
        self.mapped = None
        self.cluster, self.session = self.open()
        self.prepare()

    def close(self) -> None:
        if self.mapped is not None:
            self.mapped.cluster.shutdown()
        self.cluster.shutdown()

    # -- what has to hold

    def check_works(self) -> None:
        """The commonest requests work at once."""
        holds(self.session.execute(self.select, (3,)).one().v == "v3", "a wrong value")
        future = self.session.execute_async("SELECT v FROM one.t WHERE id = 4")
        holds(future.result().one().v == "v4", "a wrong value")

    def check_every_kind(self) -> None:
        """Every kind of request works at once."""
        session, number = self.session, next(self.ids)
        self.check_works()
        batch = BatchStatement()
        batch.add(self.insert, (number, "batch"))
        session.execute(batch)
        holds(self.value_of(number) == "batch", "a batch wrote nothing")
        traced = session.execute("SELECT v FROM one.t WHERE id = 1", trace=True)
        holds(traced.get_query_trace() is not None, "no trace")
        read = list(session.execute(SimpleStatement("SELECT at FROM one.ordered WHERE part = 1", fetch_size=3)))
        holds(len(read) == ROWS // 4, f"{len(read)} rows of {ROWS // 4} by pages")
        name = f"one.made{next(self.names)}"
        session.execute(f"CREATE TABLE {name} (id int PRIMARY KEY)")
        session.execute(f"DROP TABLE {name}")
        prepared = session.prepare(f"SELECT v, id FROM one.t WHERE id = ? AND v = 'x{number}' ALLOW FILTERING")
        session.execute(prepared, (1,))
        called = threading.Event()
        session.execute_async(self.select, (1,)).add_callback(lambda rows: called.set())
        holds(called.wait(AT_ONCE), "a callback is not called")
        self.check_use()
        self.cluster.refresh_schema_metadata()
        holds(self.cluster.metadata.keyspaces["one"].tables["t"], "no metadata")
        holds(execute_concurrent(session, [(self.select, (n,)) for n in range(5)]), "no results")

    def check_use(self) -> None:
        """Driver and server agree about the keyspace, and it can be changed."""
        self.check_keyspace()
        for keyspace in reversed(KEYSPACES):
            self.session.execute(f"USE {keyspace}")
            holds(self.session.keyspace == keyspace, f"the keyspace is {self.session.keyspace}, not {keyspace}")
            self.check_keyspace()

    def check_keyspace(self) -> None:
        """Requests without a keyspace go to the one that the session names: while a USE goes on they wait."""
        numbers = [next(self.ids) for _ in range(4)]
        futures = [self.session.execute_async(f"INSERT INTO t (id, v) VALUES ({number}, 'k')") for number in numbers]
        for future in futures:
            future.result()
        keyspace = self.session.keyspace
        for number in numbers:
            there = [name for name in KEYSPACES if self.value_of(number, name) is not None]
            holds(there == [keyspace], f"a row is written to {there}, and the session says {keyspace!r}")

    def check_quiet(self) -> None:
        """Nothing is under way any more, and the pools are whole."""
        deadline = time.monotonic() + SETTLED
        while (found := list(self._under_way())) and time.monotonic() < deadline:
            time.sleep(0.002)
        holds(not found, "; ".join(found))

    def _under_way(self) -> Iterator[str]:
        for session in (self.session, self.mapped):
            states = {} if session is None else session.get_pool_state()
            for host, state in states.items():
                if sum(state["in_flights"]):
                    yield f"streams in use on {host}: {state['in_flights']}, orphaned {state['orphaned_requests']}"
                if not state["open_count"]:
                    yield f"no connection to {host}"
            if session is not None and len(states) < len(self.server.endpoints):
                yield f"{len(states)} pools"
        waiting = len(self.session._pool_set.admission)
        if waiting:
            yield f"{waiting} requests in the admission queue"

    def value_of(self, number: int, keyspace: str = "one") -> Any:
        rows = self.server.execute(f"SELECT v FROM t WHERE id = {number}", keyspace)
        return rows[0]["v"] if rows else None

    def count_of(self, number: int) -> int:
        rows = self.server.execute(f"SELECT n FROM counts WHERE id = {number}", "one")
        return int(rows[0]["n"] or 0) if rows else 0


def connection_options(server: Server, kind: str) -> dict[str, Any]:
    """Of a Cluster, to connect to *server*."""
    points = [DefaultEndPoint(address, port) for address, port in server.endpoints]
    options: dict[str, Any] = {"contact_points": points, "port": points[0].port, "compression": False}
    if kind == "tls":
        assert server.certificates is not None
        options["ssl_context"] = server.certificates.context()
    if kind == "lz4":
        options.update(protocol_version=5, compression="lz4")
    return {**options, "topology_event_refresh_window": 0, "status_event_refresh_window": 0}


class Left:
    """Native objects, threads and descriptors of this process."""

    def __init__(self) -> None:
        gc.collect()
        self.native = dict(transport.debug_counters())
        self.threads = {thread.ident for thread in threading.enumerate()}

    def excess(self, before: Left) -> list[str]:
        native = {name: count for name, count in self.native.items() if count > before.native.get(name, 0)}
        return [f"{count} {name}" for name, count in native.items() if name != "timers"]


def check_nothing_left(before: Left) -> None:
    """Clusters that are gone or shut down have left nothing since *before*."""
    deadline = time.monotonic() + SETTLED
    while (found := Left().excess(before)) and time.monotonic() < deadline:
        time.sleep(0.01)
    holds(not found, f"left behind: {', '.join(found)}")
