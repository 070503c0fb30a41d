"""session.ingest over connections and policies of all kinds, and what it keeps in memory."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import ssl
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cassandra._core.columns import debug_counters
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, Session
from cassandra.ingest import IngestReport
from cassandra.policies import RoundRobinPolicy
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail
from cassandra.util import Duration
from tests.servers.certificates import Certificates
from tests.simulated.conftest import Connect, eventually


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v text)")
    simulated.execute("CREATE TABLE ks.events (day int, at bigint, what text, PRIMARY KEY (day, at))")
    session.cluster.refresh_schema_metadata()
    return session


def rows(count: int, first: int = 0) -> pa.Table:
    ids = range(first, first + count)
    return pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array([f"v{i}" for i in ids])})


def events(count: int) -> pa.Table:
    return pa.table(
        {
            "day": pa.array([i // 20 for i in range(count)], pa.int32()),
            "at": pa.array(range(count), pa.int64()),
            "what": pa.array([f"{i}" for i in range(count)]),
        }
    )


def all_there(simulated: SimulatedCluster, count: int) -> bool:
    found = {row["id"]: row["v"] for row in simulated.execute("SELECT id, v FROM ks.t")}
    return found == {i: f"v{i}" for i in range(count)}


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("compression", ["lz4", False])
def test_protocols(
    table: Session, simulated: SimulatedCluster, connect: Connect, version: int, compression: Any
) -> None:
    session = connect(simulated, protocol_version=version, compression=compression)
    options: dict[str, Any] = {"nulls": "null"} if version == 3 else {}
    simulated.inject(Fail(errors.Overloaded()), opcode="EXECUTE", query="INSERT", after=50, times=5)
    assert session.ingest("ks.t", rows(500), **options).rows == 500
    assert all_there(simulated, 500)
    assert session.ingest("ks.events", events(500), **options).rows == 500
    assert len(simulated.execute("SELECT at FROM ks.events")) == 500
    for node in simulated.nodes:
        node.forget_prepared()
    assert session.ingest("ks.t", rows(500), **options).rows == 500


def test_tls(no_leaks: None, connect: Connect, tmp_path: Path) -> None:
    certificates = Certificates.generate(tmp_path, ["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificates.server))
    with SimulatedCluster(2, 2, address="127.0.0.1", ssl_context=context) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v text)")
        session = connect(simulated, ssl_context=certificates.context())
        assert session.ingest("ks.t", rows(1000)).rows == 1000
        assert all_there(simulated, 1000)
        assert asyncio.run(session.ingest_async("ks.t", rows(1000, 1000))).rows == 1000
        assert all_there(simulated, 2000)
        session.cluster.shutdown()


class OnlyFirst(RoundRobinPolicy):
    """A policy of a program."""

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Any]:
        return iter(sorted(super().make_query_plan(working_keyspace, query), key=lambda host: host.address))


def test_a_policy_of_the_program(table: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    profile = ExecutionProfile(OnlyFirst())
    session = connect(simulated, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    simulated.clear_requests()
    assert session.ingest("ks.t", rows(300)).rows == 300
    assert all_there(simulated, 300)
    assert {one.node for one in simulated.requests if one.opcode == "EXECUTE" and one.table == "t"} == {0}
    simulated.nodes[0].stop()
    assert session.ingest("ks.t", rows(300, 300)).rows == 300
    assert all_there(simulated, 600)


def test_rows_come_to_the_shards_that_own_them(table: Session, simulated: SimulatedCluster) -> None:
    all_open(table)
    table.prefetch_tablets("ks", "t")
    table.prefetch_tablets("ks", "events")
    simulated.clear_requests()
    table.ingest("ks.t", rows(500))
    table.ingest("ks.events", events(500))
    sent = [one for one in simulated.requests if one.opcode in ("EXECUTE", "BATCH") and one.table in ("t", "events")]
    assert len(sent) >= 500 + 25
    assert all(one.on_owner for one in sent)


def all_open(session: Session) -> None:
    """Connections to all shards."""
    eventually(lambda: all(pool.open_count == 4 for pool in session.get_pools()))


def test_tablets_are_learned_on_the_way(table: Session, simulated: SimulatedCluster) -> None:
    all_open(table)
    table.ingest("ks.t", rows(1000))
    simulated.clear_requests()
    table.ingest("ks.t", rows(1000))
    sent = [one for one in simulated.requests if one.opcode == "EXECUTE" and one.table == "t"]
    assert len(sent) == 1000 and all(one.on_owner for one in sent)


def test_batches_of_rows_are_released_as_they_are_written(table: Session) -> None:
    before = pa.total_allocated_bytes()
    most = 0

    def pieces() -> Iterator[pa.Table]:
        nonlocal most
        for at in range(40):
            piece = pa.table({"id": pa.array(range(at * 10, at * 10 + 10), pa.int32()), "v": ["x" * 50_000] * 10})
            most = max(most, pa.total_allocated_bytes() - before)
            yield piece
            del piece

    assert table.ingest("ks.t", pieces(), concurrency=5).rows == 400
    assert most < 6 * 600_000  # of twenty million
    eventually(lambda: debug_counters()["arrow_arrays"] == 0)  # the I/O thread may have the last ones


def test_a_result_is_a_source(table: Session, simulated: SimulatedCluster) -> None:
    """Of all kinds of types: what is read as columns can be written."""
    types = (
        "int PRIMARY KEY", "ascii", "bigint", "blob", "boolean", "date", "decimal", "double", "duration", "float",
        "inet", "smallint", "text", "time", "timestamp", "timeuuid", "tinyint", "uuid", "varint", "list<int>",
        "set<text>", "map<text, int>", "tuple<int, text>",
    )  # fmt: skip
    values = (
        1, "a", 1 << 40, b"\0\1", True, datetime.date(2026, 1, 2), decimal.Decimal("1.50"), 0.1, Duration(1, 2, 3), 0.5,
        "10.0.0.1", 7, "é", datetime.time(1, 2, 3), datetime.datetime(2026, 1, 2, 3, 4, 5), uuid.uuid1(), -1,
        uuid.uuid4(), 1 << 70, [1, 2], {"x"}, {"k": 1}, (1, "y"),
    )  # fmt: skip
    names = [f"c{number}" for number in range(len(types))]
    for name in ("one", "other"):
        columns = ", ".join(f"{column} {kind}" for column, kind in zip(names, types, strict=True))
        simulated.execute(f"CREATE TABLE ks.{name} ({columns})")
    table.cluster.refresh_schema_metadata()
    insert = table.prepare(f"INSERT INTO ks.one ({', '.join(names)}) VALUES ({', '.join('?' * len(values))})")
    table.execute(insert, values)
    table.execute("INSERT INTO ks.one (c0) VALUES (2)")
    assert table.ingest("ks.other", table.execute("SELECT * FROM ks.one")).rows == 2
    one, other = ({row.c0: row for row in table.execute(f"SELECT * FROM ks.{name}")} for name in ("one", "other"))
    assert one == other and len(one) == 2


def test_listeners_and_metrics_do_not_matter(table: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, metrics_enabled=True)
    heard: list[Any] = []
    session.add_request_init_listener(heard.append)
    assert session.ingest("ks.t", rows(100)).rows == 100
    assert session.execute(SimpleStatement("SELECT id FROM ks.t")).one() is not None
    assert len(heard) == 1


def test_a_report_is_a_value(table: Session) -> None:
    report = table.ingest("ks.t", rows(3))
    assert isinstance(report, IngestReport)
    assert report.is_done(0) and not report.is_done(3) and not report.is_done(-1)
