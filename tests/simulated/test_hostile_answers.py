"""One answer that cannot be read costs one request; the connection that others use goes on."""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.connection import ConnectionException, ProtocolError, ResponseTooLarge
from cassandra.protocol import ProtocolHandler
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Exchange, Reaction, Rewrite
from tests.patience import PATIENCE, eventually

pytestmark = pytest.mark.long

OTHERS = 50


class Answer(Reaction):
    """Another opcode and body than the server's."""

    def __init__(self, opcode: int, body: bytes) -> None:
        self.opcode = opcode
        self.body = body

    def react(self, exchange: Exchange) -> None:
        response = exchange.execute()
        response.opcode, response.body = self.opcode, self.body
        exchange.send(response)


def unknown_type(body: bytes) -> bytes:
    """Two columns, the first of type code 0x0080."""
    text = b"\0\1x"
    return struct.pack(">iii", 2, 1, 2) + text + text + text + b"\0\x80" + text + b"\0\x09" + bytes(4)


HOSTILE: dict[str, Reaction] = {
    "an unknown type code": Rewrite(unknown_type),
    "cut short": Rewrite(lambda body: body[:-3]),
    "empty": Rewrite(lambda body: b""),
    "more rows than there are": Rewrite(lambda body: body[:-8] + b"\x7f\xff\xff\xff" + body[-4:]),
    "an unknown kind": Rewrite(lambda body: struct.pack(">i", 99) + body[4:]),
    "an error that is cut short": Answer(0x00, b"\0\0\x10\0\0\x09abc"),
    "an opcode of requests": Answer(0x07, b"\0\0\0\1"),
    "an opcode that there is not": Answer(0x42, b""),
    "ready": Answer(0x02, b""),
}
DECODED = ("cut short", "more rows than there are")  # what is wrong is found when rows are made


@pytest.fixture
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=1, shards=1) as simulated:
        yield simulated


@pytest.fixture
def cluster(simulated: SimulatedCluster) -> Iterator[Cluster]:
    with Cluster(simulated.contact_points, port=simulated.port, idle_heartbeat_interval=0) as cluster:
        session = cluster.connect()
        session.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
        for key in range(OTHERS):
            session.execute("INSERT INTO ks.t (k, v) VALUES (%s, %s)", (key, key))
        yield cluster


@pytest.fixture
def session(cluster: Cluster) -> Session:
    return cluster.connect("ks", wait_for_all_pools=True)


def connections(session: Session) -> list[Any]:
    return [one for pool in session._pools.values() for one in pool.get_connections()]


def fails(call: Callable[[], Any]) -> BaseException:
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("name", HOSTILE)
def test_requests_of_others_succeed(
    simulated: SimulatedCluster, session: Session, name: str, prepared: bool, caplog: pytest.LogCaptureFixture
) -> None:
    select: Any = "SELECT k FROM t WHERE k = 7"
    other = session.prepare("SELECT v FROM t WHERE k = ?")
    if prepared:
        select = session.prepare(select)
    before = connections(session)
    caplog.clear()
    with simulated.inject(HOSTILE[name], query="k = 7", times=3):
        for _ in range(3):
            futures = [session.execute_async(other, (key,)) for key in range(OTHERS)]
            error = fails(lambda: session.execute(select))
            assert [future.result().one().v for future in futures] == list(range(OTHERS))
            assert isinstance(error, (ProtocolError, ConnectionException)) == (name not in DECODED)
            assert name in DECODED or (error.host is not None and error.attempts == 1)  # type: ignore[attr-defined]
    assert session.execute(select).one().k == 7
    assert connections(session) == before and all(one.in_flight == 0 for one in before)
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == (name != "ready" and name not in DECODED)


def test_the_server_may_have_executed_it(simulated: SimulatedCluster, session: Session) -> None:
    with simulated.inject(Answer(0x00, b"\0"), query="INSERT", times=1):
        error = fails(lambda: session.execute("INSERT INTO t (k, v) VALUES (1000, 1)"))
    assert isinstance(error, ProtocolError) and error.maybe_executed is True  # type: ignore[attr-defined]
    assert session.execute("SELECT v FROM t WHERE k = 1000").one().v == 1


def test_many_at_a_time(simulated: SimulatedCluster, session: Session) -> None:
    before = connections(session)
    select = session.prepare("SELECT v FROM t WHERE k = ?")
    with simulated.inject(Rewrite(lambda body: body[:3]), opcode="EXECUTE", times=5):
        results = execute_concurrent_with_args(
            session, select, [(key,) for key in range(OTHERS)], raise_on_first_error=False
        )
    failed = [result for success, result in results if not success]
    assert len(failed) == 5 and all(isinstance(error, ProtocolError) for error in failed)
    assert connections(session) == before


def test_tasks(simulated: SimulatedCluster, session: Session) -> None:
    before = connections(session)

    async def main() -> list[Any]:
        calls = (session.execute_async(f"SELECT v FROM t WHERE k = {key}") for key in range(OTHERS))
        return await asyncio.gather(*calls, return_exceptions=True)

    with simulated.inject(Answer(0x00, b"\0"), query="k = 7", times=1):
        results = asyncio.run(main())
    assert [index for index, result in enumerate(results) if isinstance(result, BaseException)] == [7]
    assert connections(session) == before


def test_a_program_s_protocol_handler(simulated: SimulatedCluster, session: Session) -> None:
    class Handler(ProtocolHandler):
        pass

    before = connections(session)
    session.client_protocol_handler = Handler
    with simulated.inject(Answer(0x00, b"\0"), query="k = 7", times=1):
        assert isinstance(fails(lambda: session.execute("SELECT v FROM t WHERE k = 7")), ProtocolError)
    assert session.execute("SELECT v FROM t WHERE k = 7")
    assert connections(session) == before


def test_prepare(simulated: SimulatedCluster, session: Session) -> None:
    before = connections(session)
    with simulated.inject(Rewrite(lambda body: body[:-3]), opcode="PREPARE", times=1):
        assert isinstance(fails(lambda: session.prepare("SELECT v FROM t WHERE k = ?")), ProtocolError)
    assert session.execute(session.prepare("SELECT v FROM t WHERE k = ?"), (7,)).one().v == 7
    assert connections(session) == before


@pytest.mark.parametrize("reaction", [Rewrite(lambda body: body[:-3]), Answer(0x00, b"\0")], ids=["cut", "error"])
@pytest.mark.parametrize("prepared", [False, True])
def test_use(simulated: SimulatedCluster, session: Session, reaction: Reaction, prepared: bool) -> None:
    """Which keyspace the connection uses is not known: it is closed, and nothing is executed elsewhere."""
    session.execute("CREATE KEYSPACE other WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE other.t (k int PRIMARY KEY, v int)")
    use: Any = session.prepare("USE other") if prepared else "USE other"
    (before,) = connections(session)
    with simulated.inject(reaction, query="USE other", times=1):
        assert isinstance(fails(lambda: session.execute(use)), ProtocolError)
        assert before.is_closed
    assert session.keyspace == "ks"
    session.execute("INSERT INTO t (k, v) VALUES (2000, 1)", timeout=PATIENCE)
    assert session.execute("SELECT v FROM ks.t WHERE k = 2000").one().v == 1
    assert session.execute("SELECT v FROM other.t WHERE k = 2000").one() is None


def test_a_scan(simulated: SimulatedCluster, session: Session) -> None:
    before = connections(session)
    with simulated.inject(Rewrite(lambda body: body[:3]), query="token", opcode="EXECUTE", times=2):
        batches = list(session.scan("t").batches())
    assert sum(batch.num_rows for batch in batches) == OTHERS
    assert connections(session) == before


def test_an_ingest(simulated: SimulatedCluster, session: Session) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    before = connections(session)
    table = pyarrow.table({"k": pyarrow.array(range(100, 200), pyarrow.int32()), "v": [1] * 100})
    table = table.cast(pyarrow.schema([("k", pyarrow.int32()), ("v", pyarrow.int32())]))
    with simulated.inject(Answer(0x00, b"\0"), opcode="EXECUTE", times=3) as rule:
        report = session.ingest("t", table, on_error="collect")
    assert (rule.hits, report.retries, report.failed, report.rows) == (3, 3, 0, 100)
    with simulated.inject(Answer(0x00, b"\0"), opcode="EXECUTE"):
        report = session.ingest("t", table.slice(0, 2), on_error="collect")
    assert report.failed == 2 and all(error.maybe_executed for error in report.errors.values())
    assert connections(session) == before


def test_heartbeats(simulated: SimulatedCluster) -> None:
    """What cannot be read is a sign of life."""
    with Cluster(
        simulated.contact_points, port=simulated.port, idle_heartbeat_interval=0.2, idle_heartbeat_timeout=PATIENCE
    ) as cluster:
        session = cluster.connect()
        before = [*connections(session), cluster.control_connection.connection]
        with simulated.inject(Answer(0x06, b"\0\1"), opcode="OPTIONS") as rule:
            assert eventually(lambda: rule.hits >= 6)
        assert [*connections(session), cluster.control_connection.connection] == before
        assert not any(one.is_closed for one in before)


def test_more_than_the_program_allows(simulated: SimulatedCluster) -> None:
    with Cluster(simulated.contact_points, port=simulated.port, max_response_bytes=1 << 17) as cluster:
        session = cluster.connect()
        session.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE ks.b (k int PRIMARY KEY, v blob)")
        for key in range(3):
            session.execute("INSERT INTO ks.b (k, v) VALUES (%s, %s)", (key, bytes(100_000)))
        before = connections(session)
        futures = [session.execute_async("SELECT v FROM ks.b WHERE k = 1") for _ in range(OTHERS)]
        error = fails(lambda: session.execute("SELECT * FROM ks.b"))
        assert isinstance(error, ResponseTooLarge) and error.limit == 1 << 17 and (error.size or 0) > 300_000
        assert "max_response_bytes" in str(error)
        assert all(len(future.result().one().v) == 100_000 for future in futures)
        assert connections(session) == before


@pytest.mark.parametrize("given", [0, -1, 65_535, 1 << 31, 1.5, "1", True])
def test_invalid_limits(given: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="max_response_bytes"):
        Cluster(max_response_bytes=given)
