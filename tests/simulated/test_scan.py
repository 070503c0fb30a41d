"""session.scan: all rows of a table, from all shards."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cassandra import ConsistencyLevel, UnsupportedOperation
from cassandra.cluster import Session
from cassandra.metadata import MAX_LONG, MIN_LONG, TokenRange
from cassandra.query import SimpleStatement
from cassandra.scan import ScanError, col
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail, Reaction, Warn
from tests.simulated.conftest import Connect

TABLE = "CREATE TABLE ks.t (id int PRIMARY KEY, name text, v bigint)"
EVENTS = "CREATE TABLE ks.events (day int, at bigint, place text STATIC, what text, PRIMARY KEY (day, at))"
ROWS = 2000


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute(TABLE)
    simulated.execute(EVENTS)
    session.cluster.refresh_schema_metadata()
    ids = range(ROWS)
    rows = {"id": pa.array(ids, pa.int32()), "name": [f"name {i}" for i in ids], "v": pa.array(ids, pa.int64())}
    session.ingest("ks.t", pa.table(rows))
    simulated.clear_requests()
    return session


@pytest.fixture
def vnodes(connect: Connect) -> Iterator[tuple[SimulatedCluster, Session]]:
    """Three nodes that say nothing of shards, without tablets."""
    with SimulatedCluster(nodes=3, shards=1, tablets=False, without=["SCYLLA_NR_SHARDS"]) as simulated:
        simulated.execute(
            "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"
        )
        simulated.execute(TABLE)
        yield simulated, connect(simulated, "ks")


def fill(session: Session, count: int) -> None:
    ids = range(count)
    rows = {"id": pa.array(ids, pa.int32()), "name": [f"name {i}" for i in ids], "v": pa.array(ids, pa.int64())}
    session.ingest("ks.t", pa.table(rows), nulls="null")


def ids_in(batches: Any, column: str = "id") -> list[int]:
    return sorted(row for batch in batches for row in pa.record_batch(batch).column(column).to_pylist())


# ---- every row once, by every way to read


@pytest.mark.parametrize("order", [None, "token"])
def test_every_row_comes_once(table: Session, order: Any) -> None:
    scan = table.scan("ks.t", page_size=7)
    assert ids_in(scan.batches(order)) == list(range(ROWS))
    assert sorted(row.id for row in scan.rows(order)) == list(range(ROWS))

    async def on_a_loop() -> None:
        assert ids_in([batch async for batch in scan.batches(order)]) == list(range(ROWS))
        assert len([row async for row in scan.rows(order)]) == ROWS

    asyncio.run(on_a_loop())


def test_scans_are_read_by_pyarrow_polars_and_parquet(table: Session, tmp_path: Path) -> None:
    scan = table.scan("t")
    assert sorted(pa.table(scan).column("id").to_pylist()) == list(range(ROWS))
    assert pa.schema(scan).names == ["id", "name", "v"]
    assert scan.to_arrow().column("v").type == pa.int64()
    assert sorted(scan.to_polars()["name"]) == sorted(f"name {i}" for i in range(ROWS))
    assert pl.from_arrow(pa.table(scan)).height == ROWS
    (tmp_path / "out").mkdir()
    with pytest.raises(TypeError):
        scan.to_parquet(tmp_path / "out", nonsense=1)
    assert list((tmp_path / "out").iterdir()) == []
    files = scan.to_parquet(tmp_path / "out")
    assert sorted(pq.read_table(tmp_path / "out").column("id").to_pylist()) == list(range(ROWS))
    assert {path.parent for path in files} == {tmp_path / "out"} and len(files) > 8
    assert not [path for path in (tmp_path / "out").iterdir() if path.suffix != ".parquet"]

    async def on_a_loop() -> None:
        assert (await scan.to_arrow_async()).num_rows == (await scan.to_polars_async()).height == ROWS
        assert len(await scan.to_parquet_async(tmp_path / "again")) == len(files)

    asyncio.run(on_a_loop())


def test_a_table_into_another_one(table: Session, simulated: SimulatedCluster) -> None:
    """The batches of a scan are written as they arrive."""
    simulated.execute("CREATE TABLE ks.other (id int PRIMARY KEY, name text, v bigint)")
    table.cluster.refresh_schema_metadata()
    assert table.ingest("ks.other", table.scan("t", page_size=50)).rows == ROWS
    assert table.scan("other").to_arrow().equals(table.scan("t").to_arrow())


@pytest.mark.parametrize(("options", "expected"), [({}, {100, 400}), ({"page_size": 100}, {100})])
def test_pages_grow_where_rows_are_narrow(
    table: Session, simulated: SimulatedCluster, options: dict[str, Any], expected: set[int]
) -> None:
    table.default_fetch_size = 100
    scan = table.scan("t", splits=2, parallelism=1, **options)
    assert ids_in(scan.batches()) == list(range(ROWS))
    assert {request.page_size for request in simulated.statements("ks.t")} == expected
    assert ("up to 400 where rows are narrow" in str(scan.explain())) == (len(expected) == 2)


LATE = errors.ReadTimeout(consistency="LOCAL_ONE", received=0, required=1, data_present=False)
GUARDRAIL = errors.InvalidRequest("Guardrail page_size violated")


@pytest.mark.parametrize("reaction", [Fail(LATE), Fail(GUARDRAIL), Warn(("Guardrail page_size",))], ids=repr)
@pytest.mark.parametrize("parallelism", [1, 6])
def test_pages_that_were_too_large_for_a_server_are_small_again(
    table: Session, simulated: SimulatedCluster, reaction: Reaction, parallelism: int
) -> None:
    table.default_fetch_size = 50
    with simulated.inject(reaction, opcode="EXECUTE", when=lambda exchange: exchange.page_size > 50) as rule:
        assert ids_in(table.scan("t", splits=6, parallelism=parallelism).batches()) == list(range(ROWS))
    assert 1 <= rule.hits <= parallelism


def test_a_refusal_of_pages_that_have_not_grown_is_one(table: Session, simulated: SimulatedCluster) -> None:
    with simulated.inject(Fail(GUARDRAIL), opcode="EXECUTE", when=lambda exchange: exchange.page_size > 5):
        with pytest.raises(ScanError, match="Guardrail"):
            list(table.scan("t", page_size=10).batches())
        assert ids_in(table.scan("t", page_size=5).batches()) == list(range(ROWS))


def test_order_of_tokens(table: Session) -> None:
    select = "SELECT id, token(id) AS at FROM t"
    expected = [row.at for row in table.execute(select)]
    found = table.scan("t", columns=["id", "token(id) AS at"], page_size=11, parallelism=7)
    tokens = [at for batch in found.batches("token") for at in pa.record_batch(batch).column("at").to_pylist()]
    assert tokens == sorted(tokens) == sorted(expected)
    assert found.to_arrow().column("at").to_pylist() == tokens


def test_batches_are_of_one_range_and_put_together(table: Session) -> None:
    scan = table.scan("t", columns=["token(id) AS at"], page_size=10, target_rows=100, splits=4)
    ranges = table.scan("t", splits=4)._options.ranges(4)
    sizes = []
    for batch in scan.batches():
        tokens = pa.record_batch(batch).column("at").to_pylist()
        assert sum(one.contains(tokens[0]) and one.contains(tokens[-1]) for one in ranges) == 1
        assert tokens == sorted(tokens)
        sizes.append(len(batch))
    assert sum(sizes) == ROWS and max(sizes) == 100 and len(sizes) <= ROWS // 100 + 4


@pytest.mark.parametrize("splits", [1, 3, 1000])
def test_any_number_of_ranges(table: Session, simulated: SimulatedCluster, splits: int) -> None:
    assert ids_in(table.scan("t", splits=splits).batches()) == list(range(ROWS))
    asked = {request.token_range for request in simulated.statements("ks.t")}
    assert abs(len(asked) - splits) <= 8
    edges = sorted(one for one in asked if one is not None)
    assert edges[0][0] == MIN_LONG and edges[-1][1] == MAX_LONG
    assert all(one[1] == other[0] for one, other in pairwise(edges))


def test_on_a_ring_of_vnodes(vnodes: tuple[SimulatedCluster, Session]) -> None:
    simulated, session = vnodes
    fill(session, 500)
    simulated.clear_requests()
    scan = session.scan("t", page_size=20)
    assert ids_in(scan.batches()) == list(range(500))
    owned = {part: {host.address for host in part.replicas} for part in session.cluster.metadata.token_ranges("ks")}
    assert 3 * 48 <= len(scan.explain().ranges) <= 3 * 48 + len(owned)
    for request in simulated.statements("ks.t"):
        assert request.token_range is not None
        (hosts,) = [hosts for part, hosts in owned.items() if part.contains(request.token_range[1])]
        assert simulated.nodes[request.node].address in hosts


def test_each_request_comes_to_the_shard_that_owns_its_range(table: Session, simulated: SimulatedCluster) -> None:
    assert ids_in(table.scan("t", page_size=5).batches()) == list(range(ROWS))
    places = {node.host_id: index for index, node in enumerate(simulated.nodes)}
    tablets = simulated.tablets("ks.t")
    seen = set()
    for request in simulated.statements("ks.t"):
        assert request.token_range is not None
        start, end = request.token_range
        (tablet,) = [one for one in tablets if one.first_token <= start and end <= one.last_token]
        assert (request.node, request.shard) in {(places[host], shard) for host, shard in tablet.replicas}
        seen.add((request.node, request.shard))
    assert len(seen) == len({replica for tablet in tablets for replica in tablet.replicas})


def test_tablets_of_which_some_are_known_are_read(table: Session, simulated: SimulatedCluster) -> None:
    """As requests have told of them; ranges are those of all tablets."""
    tablets = table.cluster.metadata._tablets
    table.prefetch_tablets("ks", "t")
    (_, *others) = tablets._tablets["ks", "t"]
    tablets.replace_tablets("ks", "t", others)
    assert ids_in(table.scan("t", page_size=5).batches()) == list(range(ROWS))
    assert len(tablets._tablets["ks", "t"]) == len(simulated.tablets("ks.t"))


def test_a_statement_goes_where_its_token_is(table: Session, simulated: SimulatedCluster) -> None:
    """Statement.routing_token, of simple and bound statements."""
    table.prefetch_tablets("ks", "t")
    select = table.prepare("SELECT id FROM t WHERE token(id) > ? AND token(id) <= ?")
    places = {node.host_id: index for index, node in enumerate(simulated.nodes)}
    for tablet in simulated.tablets("ks.t"):
        simulated.clear_requests()
        ends = (tablet.first_token, tablet.last_token)
        bound = select.bind(ends)
        simple = SimpleStatement("SELECT id FROM t WHERE token(id) > %s AND token(id) <= %s")
        simple.keyspace, simple.table = "ks", "t"
        bound.routing_token = simple.routing_token = tablet.last_token
        for _ in range(4):
            table.execute(bound)
            table.execute(simple, ends)
        owners = {(places[host], shard) for host, shard in tablet.replicas}
        found = simulated.statements("ks.t")
        assert len(found) == 8 and {(one.node, one.shard) for one in found} <= owners


def test_filters(table: Session, tmp_path: Path) -> None:
    """An expression, or a callable, filters rows before they are returned, by every way to read them."""
    some = table.scan("t", filter=(col("v") >= 100) & (col("v") < 200), page_size=9)
    expected = list(range(100, 200))
    assert ids_in(some.batches()) == ids_in(some.batches("token")) == expected
    assert sorted(row.id for row in some.rows()) == sorted(some.to_arrow()["id"].to_pylist()) == expected
    assert sorted(pa.table(some)["id"].to_pylist()) == expected
    some.to_parquet(tmp_path)
    assert sorted(pq.read_table(tmp_path)["id"].to_pylist()) == expected
    odd = table.scan("t", filter=lambda batch: [v % 2 == 1 for v in pa.record_batch(batch)["v"].to_pylist()])
    assert ids_in(odd.batches()) == list(range(1, ROWS, 2))
    assert list(table.scan("t", filter=col("v") < 0).batches()) == []
    with pytest.raises(ValueError, match="nothing"):
        list(table.scan("t", filter=col("nothing") < 0).batches())
    with pytest.raises(ZeroDivisionError):
        list(table.scan("t", filter=lambda batch: 1 // 0).rows())


# ---- columns and rows that are read


def test_a_part_of_the_ring(table: Session) -> None:
    whole = table.scan("t", columns=["id", "token(id) AS at"]).to_arrow().to_pylist()
    middle = TokenRange(-(1 << 61), 1 << 62)
    found = table.scan("t", token_range=middle, columns=["id"]).to_arrow().column("id").to_pylist()
    assert sorted(found) == sorted(row["id"] for row in whole if middle.contains(row["at"]))
    rest = [TokenRange(MIN_LONG, middle.start), TokenRange(middle.end, MAX_LONG)]
    assert len(found) + table.scan("t", token_range=rest).to_arrow().num_rows == ROWS


def test_conditions_and_columns(table: Session, simulated: SimulatedCluster) -> None:
    found = table.scan("t", columns=["v", "id"], where=("v > ? AND v < ? ALLOW FILTERING", [99, 200])).to_arrow()
    assert found.column_names == ["v", "id"] and sorted(found["v"].to_pylist()) == list(range(100, 200))
    literal = table.scan("t", where="v >= 1990 ALLOW FILTERING", consistency_level=ConsistencyLevel.QUORUM)
    assert sorted(row.v for row in literal.rows()) == list(range(1990, 2000))
    assert simulated.statements("ks.t")[-1].consistency == "QUORUM"
    with pytest.raises(Exception, match="ALLOW FILTERING"):
        table.scan("t", where="v >= 1990").to_arrow()


def test_prepared_statements(table: Session) -> None:
    for text in (
        "SELECT id FROM t",
        "SELECT id FROM ks.t WHERE token(id) > ? AND token(id) <= ?",
        "SELECT id FROM t WHERE token(id) > :first AND token(id) <= :last",
        "SELECT DISTINCT id FROM t",
    ):
        assert ids_in(table.scan(table.prepare(text), page_size=100).batches()) == list(range(ROWS)), text


def test_partitions_static_columns_nulls_and_limits_of_partitions(table: Session, simulated: SimulatedCluster) -> None:
    for day in range(20):
        simulated.execute(f"INSERT INTO ks.events (day, place) VALUES ({day}, 'place {day}')")
    for at in range(100):  # a partition of many pages
        simulated.execute(f"INSERT INTO ks.events (day, at, what) VALUES (3, {at}, 'what {at}')")
    simulated.execute("INSERT INTO ks.events (day, at) VALUES (4, 1)")
    found = table.scan("events", page_size=7).to_arrow().to_pylist()
    assert len(found) == 119 and all(row["place"] == f"place {row['day']}" for row in found)
    assert [row["at"] for row in found if row["day"] == 3] == list(range(100))
    assert [row["what"] for row in found if row["day"] == 4] == [None]
    assert [row["at"] for row in found if row["day"] == 5] == [None]
    assert table.scan("events", where="PER PARTITION LIMIT 2", page_size=7).to_arrow().num_rows == 21
    assert table.scan(table.prepare("SELECT DISTINCT day, place FROM events")).to_arrow().num_rows == 20


def test_names_that_need_quotes(table: Session, simulated: SimulatedCluster) -> None:
    columns = '"Key" int, "select" int, "a ""b""" int, PRIMARY KEY (("Key", "select"))'
    simulated.execute(f'CREATE TABLE ks."Odd Table" ({columns})')
    simulated.execute('INSERT INTO ks."Odd Table" ("Key", "select", "a ""b""") VALUES (1, 2, 3)')
    table.cluster.refresh_schema_metadata()
    assert table.scan('ks."Odd Table"').to_arrow().to_pylist() == [{"Key": 1, "select": 2, 'a "b"': 3}]
    found = table.scan('"Odd Table"', columns=['a "b"'], where=('"a ""b""" = ? ALLOW FILTERING', [3])).to_arrow()
    assert found.to_pylist() == [{'a "b"': 3}]
    prepared = table.prepare('SELECT "Key" FROM ks."Odd Table" -- with a comment; LIMIT 3')
    assert table.scan(prepared).to_arrow().to_pylist() == [{"Key": 1}]


def test_an_empty_table(table: Session, simulated: SimulatedCluster) -> None:
    simulated.execute("TRUNCATE ks.t")
    scan = table.scan("t")
    assert list(scan.batches()) == [] and list(scan.rows()) == []
    assert pa.table(scan).schema.names == scan.to_arrow().schema.names == ["id", "name", "v"]
    assert scan.to_polars().columns == ["id", "name", "v"]


def test_types_that_may_be_chosen(table: Session) -> None:
    assert pa.schema(table.scan("t", strings="view")).field("name").type == pa.string_view()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"table": "nothing"}, "there is no table ks.nothing"),
    ({"table": "none.t"}, "there is no table none.t"),
    ({"columns": ["id", "nothing"]}, "no columns nothing; it has id, name, v"),
    ({"columns": []}, "at least one"),
    ({"columns": ["count(v)"]}, "use a reducer of scan.fold"),
    ({"where": "v = ?"}, "1 markers and 0 values"),
    ({"where": ("v = 3", [4])}, "0 markers and 1 values"),
    ({"where": "token(id) > 3"}, "token_range="),
    ({"where": "v = 3 LIMIT 4"}, "LIMIT"),
    ({"where": "v = 3 OR v = 4"}, "OR"),
    ({"splits": 0}, "splits"),
    ({"parallelism": "all"}, "parallelism"),
    ({"target_rows": 0}, "target_rows"),
    ({"page_size": -1}, "page_size"),
    ({"on_error": "ignore"}, "on_error"),
    ({"pushdown": "no"}, "pushdown"),
    ({"consistency_level": 99}, "ConsistencyLevel"),
]


def test_arguments_that_are_wrong(table: Session, simulated: SimulatedCluster) -> None:
    for options, why in WRONG:
        given = {"table": "ks.t", **options}
        with pytest.raises(ValueError, match=why):
            table.scan(given.pop("table"), **given)
    with pytest.raises(ValueError, match="where="):
        table.scan(table.prepare("SELECT id FROM t WHERE v = ? ALLOW FILTERING"))
    with pytest.raises(ValueError, match="LIMIT"):
        table.scan(table.prepare("SELECT id FROM t LIMIT 3"))
    assert simulated.statements() == []


def test_arguments_of_wrong_types(table: Session) -> None:
    with pytest.raises(TypeError, match="list of names"):
        table.scan("t", columns="id")
    with pytest.raises(TypeError, match="TokenRange"):
        table.scan("t", token_range=[(1, 2)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="v"):
        table.scan("t", where=("v = ? ALLOW FILTERING", ["text"])).to_arrow()
    with pytest.raises(ValueError, match="order"):
        table.scan("t").batches("id")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cannot be combined with a prepared statement"):
        table.scan(table.prepare("SELECT id FROM t"), columns=["id"])


def test_caches_are_bypassed_where_there_are_any(
    table: Session, simulated: SimulatedCluster, vnodes: tuple[SimulatedCluster, Session]
) -> None:
    scan = table.scan("t", bypass_cache=True)
    assert scan._options.cql.endswith(" BYPASS CACHE")
    with pytest.raises(UnsupportedOperation, match="bypass_cache=True needs ScyllaDB"):
        vnodes[1].scan("t", bypass_cache=True)


def test_a_new_scan_names_its_table_and_has_no_failed_ranges(table: Session) -> None:
    scan = table.scan("t")
    assert repr(scan) == "<Scan of ks.t: id int, name text, v bigint>" and scan.failed_ranges == []


@pytest.mark.parametrize(
    ("of_servers", "of_client"),
    [
        ({"protocol_versions": (3,)}, {}),
        ({"protocol_versions": (3, 4, 5), "without": ["SCYLLA_USE_METADATA_ID"]}, {"protocol_version": 5}),
        ({"tablets_v2": True}, {"compression": "lz4"}),
        ({"tablets": False}, {}),
    ],
    ids=["protocol 3", "protocol 5", "tablets v2", "vnodes with shards"],
)
def test_other_servers(no_leaks: None, connect: Connect, of_servers: dict[str, Any], of_client: dict[str, Any]) -> None:
    """All rows, and new columns meanwhile, also where answers come without metadata."""
    with SimulatedCluster(2, 2, **of_servers) as simulated:
        simulated.execute(
            "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"
        )
        simulated.execute(TABLE)
        session = connect(simulated, "ks", **of_client)
        fill(session, 300)
        assert ids_in(session.scan("t", page_size=7, splits=10).batches()) == list(range(300))
        select = session.prepare("SELECT * FROM t")
        rows: dict[int, int] = {}
        for number, piece in enumerate(session.scan(select, page_size=7, splits=10, target_rows=1)._reading()):
            if number == 5:
                simulated.execute("ALTER TABLE ks.t ADD more int")
            if piece.batch is not None:
                rows[piece.number] = rows.get(piece.number, 0) + len(piece.batch)
            elif piece.kind == "restarted":
                rows.pop(piece.number)
        assert sum(rows.values()) == 300
        assert pa.schema(session.scan("t")).names[:1] == ["id"]
