"""What applications see of the types: each ``reveal_type`` says what mypy is to find. Only checked, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from polars import DataFrame, LazyFrame
from typing_extensions import reveal_type

from cassandra import ConsistencyLevel, InvalidRequest, OperationTimedOut, Unavailable
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    ResponseFuture,
    ResultSet,
    Session,
)
from cassandra.columns import RecordBatch
from cassandra.concurrent import (
    execute_concurrent_async,
    execute_concurrent_with_args,
    execute_concurrent_with_args_async,
)
from cassandra.ingest import IngestError, report_of
from cassandra.metadata import TokenRange
from cassandra.policies import DCAwareRoundRobinPolicy, RetryPolicy, RoundRobinPolicy, TokenAwarePolicy
from cassandra.query import (
    UNSET_VALUE,
    BatchStatement,
    BatchType,
    BoundStatement,
    PreparedStatement,
    SimpleStatement,
    class_row,
    dict_factory,
    tuple_factory,
)
from cassandra.scan import (
    Checkpoint,
    Collect,
    Count,
    ForEachBatch,
    GroupBy,
    MapReducer,
    MinMax,
    Sum,
    TopN,
    checkpoint_of,
    col,
)
from cassandra.util import Date, Duration, Time, sortedset


def connecting() -> None:
    profile = ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy(local_dc="dc1")),
        retry_policy=RetryPolicy(),
        consistency_level=ConsistencyLevel.LOCAL_QUORUM,
        request_timeout=2.5,
        row_factory=dict_factory,
    )
    cluster = Cluster(
        ["127.0.0.1"],
        port=9042,
        auth_provider=PlainTextAuthProvider("user", "password"),
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
    )
    session = cluster.connect("app")
    reveal_type(cluster)  # cassandra._session.cluster.Cluster
    reveal_type(session)  # cassandra._session.session.Session
    reveal_type(session.keyspace)  # str | None
    reveal_type(session.is_shutdown)  # bool
    reveal_type(cluster.protocol_version)  # int
    cluster.shutdown()
    with Cluster() as other, other.connect() as second:
        reveal_type(other)  # cassandra._session.cluster.Cluster
        reveal_type(second)  # cassandra._session.session.Session


async def connecting_async() -> None:
    async with Cluster(["127.0.0.1"]) as cluster:
        session = await cluster.connect_async()
        reveal_type(session)  # cassandra._session.session.Session
        reveal_type(await session.prepare_async("SELECT 1"))  # cassandra._session.statements.prepared.PreparedStatement
        result = await session.execute_async("SELECT 1")
        reveal_type(result)  # cassandra._session.request.result.ResultSet[Any]
        async for row in result:
            reveal_type(row)  # Any
        await cluster.shutdown_async()


async def many_async(session: Session, prepared: PreparedStatement) -> None:
    async def arguments() -> AsyncIterator[tuple[int]]:
        yield (1,)

    results = execute_concurrent_async(session, [("SELECT 1", None), (prepared, (1,))], concurrency=5)
    reveal_type(results)  # cassandra._session.request.concurrent.ConcurrentResults
    reveal_type(await results)  # list[tuple[bool, Any, fallback=cassandra._session.request.concurrent.ExecutionResult]]
    async for result in execute_concurrent_with_args_async(session, prepared, arguments()):
        reveal_type(result.success)  # bool
    async with aclosing(aiter(execute_concurrent_with_args_async(session, prepared, [(1,)], 5, False))) as some:
        reveal_type((await anext(some)).result_or_exc)  # Any


def executing(session: Session) -> None:
    result = session.execute("SELECT 1", ("a", 1), timeout=None, trace=True)
    reveal_type(result)  # cassandra._session.request.result.ResultSet[Any]
    reveal_type(result.one())  # Any
    reveal_type(result.all())  # list[Any]
    reveal_type(result.was_applied)  # bool
    reveal_type(result.has_more_pages)  # bool
    reveal_type(result.paging_state)  # bytes | None
    reveal_type(result.column_names)  # list[str] | None
    for row in result:
        reveal_type(row)  # Any
    future = session.execute_async(SimpleStatement("SELECT %(a)s"), {"a": 1})
    reveal_type(future)  # cassandra._session.request.future.ResponseFuture[Any]
    reveal_type(future.result())  # cassandra._session.request.result.ResultSet[Any]
    reveal_type(future.has_more_pages)  # bool
    reveal_type(future.warnings)  # list[str] | None


def preparing(session: Session) -> None:
    prepared = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
    reveal_type(prepared)  # cassandra._session.statements.prepared.PreparedStatement
    prepared.consistency_level = ConsistencyLevel.QUORUM
    prepared.fetch_size = None
    bound = prepared.bind((1, UNSET_VALUE))
    reveal_type(bound)  # cassandra._session.statements.prepared.BoundStatement
    reveal_type(bound.routing_key)  # bytes | None
    reveal_type(prepared.routing_key_indexes)  # list[int] | None
    batch = BatchStatement(BatchType.UNLOGGED, consistency_level=ConsistencyLevel.ONE)
    reveal_type(batch.add(prepared, (1, "x")))  # cassandra._session.statements.batch.BatchStatement
    session.execute(batch)
    session.execute(bound)
    session.execute(prepared, {"k": 1, "v": UUID(int=1)})
    execute_concurrent_with_args(session, prepared, ((n, None) for n in range(10)), concurrency=5)


def callbacks(future: ResponseFuture) -> None:
    def on_rows(rows: list[tuple[int, str]], tag: str) -> None: ...
    def on_error(error: BaseException) -> None: ...

    reveal_type(future.add_callback(on_rows, "tag"))  # cassandra._session.request.future.ResponseFuture[Any]
    future.add_callbacks(on_rows, on_error, callback_args=("tag",))


def errors(session: Session) -> None:
    try:
        session.execute("SELECT 1")
    except Unavailable as error:
        reveal_type(error.alive_replicas)  # int | None
    except OperationTimedOut as error:
        reveal_type(error.timeout)  # float | None
        reveal_type(error.maybe_executed)  # bool | None
    except (InvalidRequest, NoHostAvailable) as error:
        reveal_type(error.attempts)  # int | None


@dataclass
class Product:
    id: int
    name: str


async def own_classes(session: Session) -> None:
    products = class_row(Product, rename={"product_id": "id"}, extra="ignore")
    reveal_type(products)  # cassandra._wire.class_rows.ClassRow[tests.typing.public_api.Product]
    result = session.execute("SELECT 1", row_factory=products)
    reveal_type(result)  # cassandra._session.request.result.ResultSet[tests.typing.public_api.Product]
    reveal_type(result.one())  # tests.typing.public_api.Product | Any
    reveal_type(result.all())  # list[tests.typing.public_api.Product]
    reveal_type([product.name for product in result])  # list[str]
    future = session.execute_async("SELECT 1", row_factory=products, prefetch=0)
    reveal_type(future)  # cassandra._session.request.future.ResponseFuture[tests.typing.public_api.Product]
    reveal_type(future.result().one())  # tests.typing.public_api.Product | Any
    async for product in await future:
        reveal_type(product)  # tests.typing.public_api.Product
    reveal_type(session.execute("SELECT 1", row_factory=dict_factory).all())  # list[dict[str, Any]]
    reveal_type(session.execute("SELECT 1", row_factory=tuple_factory).all())  # list[Any]
    reveal_type(session.execute("SELECT 1", row_factory=None).all())  # list[Any]
    reveal_type(session.execute("SELECT 1").one())  # Any
    ExecutionProfile(row_factory=products, prefetch=0)


def annotated(result: ResultSet, other: ResultSet[Product]) -> None:
    reveal_type(result)  # cassandra._session.request.result.ResultSet[Any]
    for product in other:
        reveal_type(product)  # tests.typing.public_api.Product


class Point(NamedTuple):
    a: int
    b: int


@dataclass
class Item:
    a: int


def everyday(session: Session, lazy: LazyFrame) -> None:
    session.ingest("ks.t", lazy, round="floor")
    session.ingest("ks.t", Path("x.parquet"))
    session.ingest("ks.t", ["x.csv", Path("y.csv")])
    session.ingest("ks.t", [{"a": 1}, Point(1, 2), Item(1)])
    session.ingest("ks.t", [(1, "a"), [2, "b"]], columns=["a", "b"])
    session.ingest("ks.t", {"a": [1, 2], "b": range(2)})


async def bulk(session: Session, frame: dict[str, list[int]], polars: DataFrame, result: ResultSet) -> None:
    report = session.ingest("ks.t", frame, concurrency="auto", progress=lambda so_far: print(so_far.rows))
    reveal_type(report)  # cassandra._ingest.report.IngestReport
    session.ingest("ks.t", polars, on_error="collect", progress=True)
    session.ingest("ks.t", (one for one in [polars]), columns=["a"], ttl=5, timestamp=1, nulls="null", batch_rows=1)
    session.ingest("ks.t", result)
    reveal_type(await session.ingest_async("ks.t", [frame]))  # cassandra._ingest.report.IngestReport
    reveal_type(report.errors)  # dict[int, Exception]
    reveal_type(report_of(IngestError("", report)))  # cassandra._ingest.report.IngestReport | None


async def folding(session: Session) -> None:
    scan = session.scan("ks.t", columns=["v"], pushdown="never", progress=lambda so_far: print(so_far.eta))
    reveal_type(scan.fold(Sum("v"), workers=2, deterministic=True))  # Any
    reveal_type(await scan.fold_async(Longest(), filter=col("v") > 3))  # int
    reveal_type(scan.explain(Count()).pushdown)  # bool | None
    reveal_type(scan.checkpoint().done)  # tuple[tuple[int, int], ...]
    reveal_type(checkpoint_of(KeyboardInterrupt()))  # cassandra._scan.checkpoint.Checkpoint | None
    session.scan("ks.t", resume=Checkpoint.load("file"), progress=True)
    scan.fold(scan.open_map_reducer(map=len, reduce=max, init=int), executor=ThreadPoolExecutor, tasks=5)
    for task in scan.tasks(Sum("v"), credentials="app.secrets:read"):
        reveal_type(task.hosts)  # tuple[str, ...]


class Longest:
    """Reducers need no base."""

    def open(self, schema: object, token_range: TokenRange) -> int:
        return 0

    def stream(self, acc: int, batch: RecordBatch) -> int:
        return max(acc, len(batch))

    def combine(self, a: int, b: int) -> int:
        return max(a, b)

    def finish(self, acc: int) -> int:
        return acc


async def whole_tables(session: Session, select: PreparedStatement, half: TokenRange) -> None:
    scan = session.scan("ks.t", columns=["a"], where=("a > ?", [1]), token_range=half, on_error="skip")
    reveal_type(scan)  # cassandra._scan.scan.Scan
    for batch in scan.batches(order="token"):
        reveal_type(batch)  # cassandra._core.columns.RecordBatch
    async with session.scan(select, token_range=half.split(3)).batches() as batches:
        reveal_type(await anext(batches))  # cassandra._core.columns.RecordBatch
    reveal_type(scan.to_parquet("folder"))  # list[pathlib.Path]
    reveal_type(scan.failed_ranges)  # list[tuple[cassandra._routing.tokens.TokenRange, Exception]]
    session.ingest("ks.other", scan)
    reveal_type(half.intersect(half))  # cassandra._routing.tokens.TokenRange | None
    reveal_type(session.cluster.metadata.token_ranges("ks", "t"))  # list[cassandra._routing.tokens.TokenRange]


async def folds(session: Session) -> None:
    scan = session.scan("ks.t")
    reveal_type(scan.fold(Count()))  # int
    reveal_type(scan.fold(Sum("v")))  # Any
    reveal_type(scan.fold(MinMax("v")))  # tuple[Any, Any]
    reveal_type(scan.fold(GroupBy("k", rows=Count())))  # dict[Any, dict[str, Any]]
    reveal_type(scan.fold(TopN(5, "v")))  # cassandra._session.request.columns.ArrowBatches
    reveal_type(scan.fold(Collect()))  # cassandra._session.request.columns.ArrowBatches
    reveal_type(scan.fold(ForEachBatch(print)))  # int
    reveal_type(scan.fold(Lengths()))  # str
    reveal_type(await scan.fold_async(Count(), workers=2))  # int
    any_reducer: MapReducer = Lengths()
    reveal_type(scan.fold(any_reducer))  # Any
    reveal_type(scan.to_polars())  # polars.dataframe.frame.DataFrame
    reveal_type(await scan.to_polars_async())  # polars.dataframe.frame.DataFrame
    reveal_type(scan.to_duckdb())  # duckdb._relation.DuckDBPyRelation
    result = session.execute("SELECT v FROM ks.t")
    reveal_type(result.to_polars(varints="int64"))  # polars.dataframe.frame.DataFrame
    reveal_type(await result.to_polars_async())  # polars.dataframe.frame.DataFrame
    reveal_type(result.to_duckdb())  # duckdb._relation.DuckDBPyRelation


class Lengths:
    """A reducer of an application."""

    def open(self, schema: object, token_range: TokenRange) -> int:
        return 0

    def stream(self, acc: int, batch: RecordBatch) -> int:
        return acc + len(batch)

    def combine(self, a: int, b: int) -> int:
        return a + b

    def finish(self, acc: int) -> str:
        return str(acc)


def context_of_errors(session: Session) -> None:
    try:
        session.execute("SELECT nothing FROM ks.t")
    except InvalidRequest as error:
        reveal_type(error.statement)  # str | None
        reveal_type(error.item)  # int | None
        reveal_type(error.hint)  # str | None


async def in_order(session: Session, select: PreparedStatement) -> None:
    scan = session.scan_order(select, [(1,), {"id": 2}], ["at", "id"], [True, False], 10, page_size=100)
    reveal_type(scan)  # cassandra._scan.ordered.OrderedScan
    for batch in scan:
        reveal_type(batch)  # cassandra._core.columns.RecordBatch
    async for batch in scan.batches():
        reveal_type(batch.slice(1, 2))  # cassandra._core.columns.RecordBatch
    with scan.batches() as batches:
        reveal_type(next(batches))  # cassandra._core.columns.RecordBatch


class MyPolicy(RoundRobinPolicy):
    """Applications subclass policies."""

    def check_supported(self) -> None:
        reveal_type(self)  # tests.typing.public_api.MyPolicy


class MyResult(ResultSet):
    """And result sets."""


def values() -> None:
    reveal_type(Date("2020-01-01").days_from_epoch)  # int
    reveal_type(Time(5).nanosecond_time)  # int
    reveal_type(Duration(1, 2, 3).months)  # int
    sortedset([1, 2]).add(3)
    tuple_factory(["a"], [(1,)])
    prepared_lwt, bound_lwt = PreparedStatement.is_lwt, BoundStatement.is_lwt
    reveal_type(prepared_lwt)  # def (self: cassandra._session.statements.prepared.PreparedStatement) -> bool
    reveal_type(bound_lwt)  # def (self: cassandra._session.statements.prepared.BoundStatement) -> bool
