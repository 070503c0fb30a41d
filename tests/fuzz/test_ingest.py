"""session.ingest and ingest_async of Arrow data and Python objects against rows that are inserted one by one, in order,
into a twin table.

The bytes that the twin gets are made by ``arrow_values.encode``, in plain Python. What SELECT gives has to be the same,
and in the same order. With failing nodes (simulated) the report has exactly the rows that are not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pytest

from cassandra import InvalidRequest
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.ingest import IngestError, IngestReport
from cassandra.query import UNSET_VALUE, BoundStatement, tuple_factory
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Close, Cut, Delay, Drop, Fail
from tests.fuzz.arrow_values import USER_TYPES, Kind, arrow_array, as_key, encode, exact, random_kind, random_value
from tests.fuzz.conftest import Rounds
from tests.fuzz.python_values import python_source

DATA_SETS = 4  # of each table, as tables take long to make


class Column(NamedTuple):
    name: str
    kind: Kind
    role: str  # "partition", "clustering", "static" or "plain"
    frozen: bool

    @property
    def is_key(self) -> bool:
        return self.role in ("partition", "clustering")

    def cql(self) -> str:
        static = " static" if self.role == "static" else ""
        return f"{self.name} {self.kind.cql(self.frozen)}{static}"


@pytest.fixture(scope="module")
def tables(session: Session) -> Session:
    for kind in USER_TYPES:
        fields = ", ".join(f"{name} {child.cql()}" for name, child in zip(kind.fields, kind.children, strict=True))
        session.execute(f"CREATE TYPE {kind.name} ({fields})")
    session.row_factory = tuple_factory
    return session


def random_columns(random: Random) -> list[Column]:
    def some(role: str, least: int, most: int) -> list[Column]:
        key = role in ("partition", "clustering")
        found = []
        for i in range(random.randint(least, most)):
            kind = random_kind(random, 2, key)
            frozen = key or not kind.children or random.random() < 0.5
            found.append(Column(f"{role[0]}{i}", kind, role, frozen))
        return found

    clustering = some("clustering", 0, 2) or some("clustering", 0, 1)
    statics = some("static", 0, 1) if clustering and random.random() < 0.3 else []
    return [*some("partition", 1, 2), *clustering, *statics, *some("value", 1, 3)]


def create(random: Random, session: Session, columns: list[Column]) -> None:
    partition = ", ".join(column.name for column in columns if column.role == "partition")
    clustering = [column.name for column in columns if column.role == "clustering"]
    order = ", ".join(f"{name} {random.choice(['ASC', 'DESC'])}" for name in clustering)
    end = f" WITH CLUSTERING ORDER BY ({order})" if clustering else ""
    key = ", ".join([f"({partition})", *clustering])
    text = ", ".join(column.cql() for column in columns)
    for name in ("given", "twin"):
        session.execute(f"CREATE TABLE {name} ({text}, PRIMARY KEY ({key})){end}", timeout=60)


def random_rows(random: Random, columns: list[Column]) -> tuple[list[list[Any]], set[int]]:
    """Values by columns, and numbers of rows whose key is null somewhere, which cannot be written."""
    count = random.choice([0, 1, 7, 60])
    few = {column.name: [random_value(random, column.kind, few=True) for _ in range(3)] for column in columns}
    found = []
    bad: set[int] = set()
    for column in columns:
        if column.role == "partition" and random.random() < 0.8:  # few partitions, rows of which are neighbours
            pool = few[column.name][: random.randint(1, 2)]
            values = sorted(random.choice(range(len(pool))) for _ in range(count))
            found.append([pool[i] for i in values])
        elif column.is_key:
            found.append(
                [
                    random_value(random, column.kind, few=True)
                    if random.random() < 0.9
                    else random_value(random, column.kind)
                    for _ in range(count)
                ]
            )
        else:
            found.append([None if random.random() < 0.2 else random_value(random, column.kind) for _ in range(count)])
        if column.is_key and count and random.random() < 0.1:
            row = random.randrange(count)
            found[-1][row] = None
            bad.add(row)
    return found, bad


def source_of(random: Random, columns: list[Column], values: list[list[Any]]) -> Any:
    """The rows as a source: in pieces, which need not have the same types or order of columns."""
    count = len(values[0])
    cuts = sorted(random.randint(0, count) for _ in range(random.choice([0, 0, 1, 3])))
    pieces = []
    for first, end in zip([0, *cuts], [*cuts, count], strict=True):
        order = random.sample(range(len(columns)), len(columns))
        arrays = [arrow_array(random, columns[i].kind, values[i][first:end]) for i in order]
        pieces.append(_piece(random, pa.RecordBatch.from_arrays(arrays, [columns[i].name for i in order])))
    if len(pieces) == 1 and random.random() < 0.7:
        return pieces[0]
    return random.choice([list, iter, _later])(pieces)


def _piece(random: Random, batch: pa.RecordBatch) -> Any:
    chance = random.random()
    if chance < 0.3:
        return batch
    table = pa.Table.from_batches([batch])
    if chance < 0.5:
        rows = table.num_rows
        at = random.randint(0, rows)
        return pa.concat_tables([table[:at], table[at:at], table[at:]])
    if chance < 0.6:
        return table.to_reader(max_chunksize=random.randint(1, 20))
    if chance < 0.75 and not any(isinstance(field.type, pa.ExtensionType) for field in batch.schema):
        return _by_polars(table)
    return table


def _by_polars(table: pa.Table) -> Any:
    """Buffers of another library, where it has these types and keeps what they hold."""
    types = pa.types
    others = (types.is_nested, types.is_dictionary, types.is_run_end_encoded, types.is_decimal, types.is_interval)
    if any(is_one(field.type) for field in table.schema for is_one in others):
        return table
    try:
        return pl.from_arrow(table)
    except (pl.exceptions.PolarsError, pa.ArrowException, ValueError, TypeError):
        return table


async def _later(pieces: list[Any]) -> Any:
    for piece in pieces:
        await asyncio.sleep(0)
        yield piece


def ingest(random: Random, session: Session, table: str, data: Any, **options: Any) -> IngestReport:
    if hasattr(data, "__aiter__") or random.random() < 0.4:
        return asyncio.run(session.ingest_async(table, data, **options))
    return session.ingest(table, data, **options)


def insert_one_by_one(
    session: Session, insert: Any, columns: list[Column], values: list[list[Any]], bad: set[int], null: Any
) -> None:
    """Adds rows that the server refuses, such as empty keys, to *bad*."""
    for row in range(len(values[0])):
        if row in bad:
            continue
        bound = BoundStatement(insert)
        given = [column_values[row] for column_values in values]
        bound.values = [
            null if value is None else encode(column.kind, value) for column, value in zip(columns, given, strict=True)
        ]
        try:
            session.execute(bound)
        except InvalidRequest:
            bad.add(row)


def test_rows_are_those_that_were_given(rounds: Rounds, tables: Session) -> None:
    session = tables
    for random in rounds:
        columns = random_columns(random)
        create(random, session, columns)
        try:
            names = ", ".join(column.name for column in columns)
            insert = session.prepare(f"INSERT INTO twin ({names}) VALUES ({', '.join('?' * len(columns))})")
            for _ in range(DATA_SETS):
                values, bad = random_rows(random, columns)
                nulls = random.choice(["unset", "null"])
                options: dict[str, Any] = {"batch_rows": random.choice([1, 2, 32, 1000]), "nulls": nulls}
                if random.random() < 0.5:
                    options["concurrency"] = random.choice([1, 3, 100])
                if random.random() < 0.4:
                    kinds = [column.kind for column in columns]
                    source, options["columns"] = python_source(
                        random, [column.name for column in columns], kinds, values
                    )
                else:
                    source = source_of(random, columns, values)
                report = ingest(random, session, "given", source, on_error="collect", **options)
                insert_one_by_one(session, insert, columns, values, bad, UNSET_VALUE if nulls == "unset" else None)
                assert set(report.errors) == bad, report.errors
                assert report.rows == len(values[0]) - len(bad)
                given, twin = rows_in(session, columns, "given"), rows_in(session, columns, "twin")
                assert given == twin, [column.cql() for column in columns]
        finally:
            for name in ("given", "twin"):
                session.execute(f"DROP TABLE {name}", timeout=60)


def rows_in(session: Session, columns: list[Column], table: str) -> list[Any]:
    names = ", ".join(column.name for column in columns)
    readers = [as_key if column.role == "clustering" else exact for column in columns]
    return [
        [read(value) for read, value in zip(readers, row, strict=True)]
        for row in session.execute(f"SELECT {names} FROM {table}")
    ]


# ---- failing writes

OVERLOADED = errors.Overloaded()
WRITE_TIMEOUT = errors.WriteTimeout(consistency="LOCAL_ONE", received=0, required=1, write_type="SIMPLE")


def random_fault(random: Random) -> Any:
    return random.choice(
        [
            Fail(OVERLOADED),
            Fail(OVERLOADED, executed=True),
            Fail(WRITE_TIMEOUT, executed=True),
            Fail(errors.ServerError("hm")),
            Fail(errors.InvalidRequest("this row is refused")),
            Fail(errors.Unauthorized("no")),
            Close(),
            Close(executed=True),
            Close(reset=True),
            Cut(7),
            Drop(),
            Drop(executed=True),
            Delay(0.2),
        ]
    )


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=3) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}")
        simulated.execute("CREATE TABLE ks.t (p int, c int, v text, PRIMARY KEY (p, c))")
        yield simulated


@pytest.fixture(scope="module")
def failing(simulated: SimulatedCluster) -> Iterator[Session]:
    profile = ExecutionProfile(request_timeout=0.5)
    with Cluster(
        simulated.contact_points, port=simulated.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
    ) as cluster:
        yield cluster.connect("ks")


def test_a_report_has_the_rows_that_were_not_written(
    rounds: Rounds, failing: Session, simulated: SimulatedCluster
) -> None:
    for random in rounds:
        simulated.execute("TRUNCATE ks.t")
        count = random.choice([5, 50, 400])
        keys = [(row // random.choice([1, 20]), row) for row in range(count)]
        data = pa.table(
            {
                "p": pa.array([p for p, _ in keys], pa.int32()),
                "c": pa.array([c for _, c in keys], pa.int32()),
                "v": [f"v{row}" for row in range(count)],
            }
        )
        stops = random.random() < 0.3
        options: dict[str, Any] = {"batch_rows": random.choice([1, 20]), "on_error": "raise" if stops else "collect"}
        rules = []
        try:
            for _ in range(random.randint(1, 3)):
                rule = simulated.inject(
                    random_fault(random),
                    opcode=random.choice(["EXECUTE", "BATCH"]),
                    after=random.randrange(30),
                    times=random.randint(1, 5),
                )
                rules.append(rule)
                rule.__enter__()
            try:
                report = ingest(random, failing, "t", data, **options)
            except IngestError as error:
                assert stops
                report = error.report
        finally:
            for rule in rules:
                rule.__exit__(None, None, None)
        there = {row["c"]: row["v"] for row in simulated.execute("SELECT c, v FROM ks.t")}
        written = {row for row in range(count) if report.is_done(row)}
        assert report.rows == len(written)
        assert all(there[row] == f"v{row}" for row in written)
        assert written <= set(there)
        in_doubt = {row for row, error in report.errors.items() if error.maybe_executed}  # type: ignore[attr-defined]
        assert set(there) - written <= in_doubt, report.errors
        assert report.reached == count or stops
