"""Bulk writes into real nodes: a million values there and back, and a node killed under it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.ingest import IngestReport
from cassandra.policies import RetryPolicy
from cassandra.query import SimpleStatement
from tests.integration.conftest import create_keyspace
from tests.patience import PATIENCE

ROWS = 200_000
PIECE = 5000


def rows(count: int, first: int = 0) -> pa.Table:
    numbers = pa.array(range(first, first + count), pa.int64())
    return pa.table(
        {
            "id": numbers.cast(pa.int32()),
            "score": pc.multiply(numbers, 1 << 20),
            "name": pc.binary_join_element_wise("row ", numbers.cast(pa.string()), ""),
            "ratio": pc.divide(numbers.cast(pa.float64()), 7.0),
            "at": pc.add(numbers, 1_700_000_000_000).cast(pa.timestamp("ms", "UTC")),
        }
    )


class Again(RetryPolicy):
    """Coordinators ask a node that was killed until they have heard of it, and then time out."""

    def on_read_timeout(self, *args: Any, retry_num: int, **kwargs: Any) -> tuple[int, Any]:
        return (self.RETRY if retry_num < 10 else self.RETHROW), None


def there(session: Session, table: str = "points") -> pa.Table:
    text = f"SELECT id, score, name, ratio, at FROM {table}"
    statement = SimpleStatement(text, fetch_size=5000, retry_policy=Again())
    return session.execute(statement, timeout=PATIENCE).to_arrow().sort_by("id")


def cluster_of(server: Any) -> Cluster:
    profile = ExecutionProfile(consistency_level=ConsistencyLevel.LOCAL_QUORUM, request_timeout=30)
    return Cluster(
        server.contact_points, port=server.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, connect_timeout=30
    )


TABLES = (
    "CREATE TABLE points (id int PRIMARY KEY, score bigint, name text, ratio double, at timestamp)",
    "CREATE TABLE events (day int, id int, score bigint, name text, ratio double, at timestamp, PRIMARY KEY (day, id))",
)


@pytest.fixture
def session(cassandra_three: Any, no_leaks: None) -> Iterator[Session]:
    with cluster_of(cassandra_three) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        create_keyspace(session, "it_ingest", 3)
        session.set_keyspace("it_ingest")
        for table in TABLES:
            session.execute(table)
        yield session


def test_a_node_is_killed(session: Session, cassandra_three: Any) -> None:
    """Every row is there, with its values, and the report says so."""
    node = cassandra_three.nodes[-1]

    def pieces() -> Iterator[pa.Table]:
        for at in range(0, ROWS, PIECE):
            if at == ROWS // 4:
                node.kill()
            yield rows(PIECE, at)

    try:
        report = session.ingest("points", pieces())
        assert (report.rows, report.reached, report.errors, report.unfinished) == (ROWS, ROWS, {}, [])
        assert there(session).equals(rows(ROWS).cast(there(session).schema))
    finally:
        node.start()


def test_batches(session: Session) -> None:
    data = rows(20_000)
    data = data.append_column("day", pc.divide(data["id"], 500))
    report: IngestReport = session.ingest("events", data)
    assert report.rows == 20_000 and report.errors == {}
    assert there(session, "events").equals(rows(20_000).cast(there(session, "events").schema))
