"""OpenTelemetry: the spans and durations of every kind of request, by the SDK's exporters in memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import ConsistencyLevel, InvalidRequest, OperationTimedOut
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, Session
from cassandra.concurrent import (
    execute_concurrent_async,
    execute_concurrent_with_args,
    execute_concurrent_with_args_async,
)
from cassandra.cqlengine import columns, connection, models
from cassandra.metrics import RequestTracker
from cassandra.policies import ConstantSpeculativeExecutionPolicy, RetryPolicy
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.telemetry import OpenTelemetry
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Close, Drop, Fail, Hold
from tests.packages import module
from tests.simulated.conftest import Connect

trace = module("opentelemetry.trace")
sdk = module("opentelemetry.sdk.trace")
sampling = module("opentelemetry.sdk.trace.sampling")
export = module("opentelemetry.sdk.trace.export")
in_memory = module("opentelemetry.sdk.trace.export.in_memory_span_exporter")
metrics_sdk = module("opentelemetry.sdk.metrics")
metrics_export = module("opentelemetry.sdk.metrics.export")

INSERT = "INSERT INTO t (k, v) VALUES (?, ?)"
SELECT = "SELECT v FROM t WHERE k = ?"


class Traced:
    """A tracer provider whose spans are kept."""

    def __init__(self, sampler: Any = None) -> None:
        self.exporter = in_memory.InMemorySpanExporter()
        self.provider = sdk.TracerProvider(sampler=sampler or sampling.DEFAULT_ON, shutdown_on_exit=False)
        self.provider.add_span_processor(export.SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("application")

    def taken(self) -> list[Any]:
        """The spans that have ended since the last call."""
        found = list(self.exporter.get_finished_spans())
        self.exporter.clear()
        return found

    def one(self) -> Any:
        (span,) = self.taken()
        return span


@pytest.fixture
def traced() -> Iterator[Traced]:
    made = Traced()
    yield made
    made.provider.shutdown()


@pytest.fixture
def simulated(no_leaks: None) -> Iterator[SimulatedCluster]:
    with SimulatedCluster(2, 2) as running:
        running.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}")
        running.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v text)")
        yield running


@pytest.fixture
def session(simulated: SimulatedCluster, connect: Connect, traced: Traced) -> Session:
    session = connect(simulated, "ks", request_tracker=OpenTelemetry(tracer_provider=traced.provider))
    assert traced.taken() == []  # the driver's own requests have no spans
    return session


def of_host(session: Session, span: Any) -> dict[str, Any]:
    """The attributes that name the coordinator."""
    host = session.cluster.metadata.get_host(span.attributes["server.address"])
    assert host is not None
    return {
        "server.address": host.endpoint.address,
        "server.port": host.endpoint.port,
        "network.peer.address": host.endpoint.address,
        "network.peer.port": host.endpoint.port,
        "cassandra.coordinator.dc": host.datacenter,
        "cassandra.coordinator.id": str(host.host_id),
    }


def test_a_prepared_statement(session: Session, traced: Traced) -> None:
    select = session.prepare(SELECT)
    assert traced.taken() == []
    for _ in range(3):
        with traced.tracer.start_as_current_span("request") as parent:
            session.execute(select, (1,))
        span, outer = traced.taken()
        assert outer.name == "request"
        assert span.name == "SELECT t" and span.kind is trace.SpanKind.CLIENT
        assert span.parent.span_id == parent.get_span_context().span_id
        assert span.status.status_code is trace.StatusCode.UNSET and not span.events
        assert outer.start_time <= span.start_time <= span.end_time <= outer.end_time
        assert dict(span.attributes) == {
            "db.system.name": "cassandra",
            "db.namespace": "ks",
            "db.collection.name": "t",
            "db.operation.name": "SELECT",
            "db.query.summary": "SELECT t",
            "db.query.text": SELECT,
            "cassandra.consistency.level": "local_one",
            "cassandra.page.size": 5000,
            "cassandra.query.idempotent": False,
            **of_host(session, span),
        }
        assert span.instrumentation_scope.name == "fastcql"


def test_the_times_of_a_span_are_those_of_its_request(session: Session, traced: Traced) -> None:
    """A long text takes time before its span is made. That is part of the span, and does not make it end later."""
    text = f"INSERT INTO t (k, v) VALUES (1, '{'v' * 2_000_000}')"
    with traced.tracer.start_as_current_span("request"):
        session.execute(text)
    span, outer = traced.taken()
    assert outer.start_time <= span.start_time <= span.end_time <= outer.end_time


def test_a_text(session: Session, traced: Traced) -> None:
    statement = SimpleStatement(
        "SELECT v FROM ks.t WHERE k = 17 -- a comment",
        consistency_level=ConsistencyLevel.QUORUM,
        is_idempotent=True,
        fetch_size=10,
    )
    session.execute(statement)
    span = traced.one()
    found = dict(span.attributes)
    assert span.name == "SELECT ks.t" == found["db.query.summary"]
    assert found["db.query.text"] == "SELECT v FROM ks.t WHERE k = ?"
    assert (found["db.namespace"], found["db.collection.name"]) == ("ks", "t")
    assert found["cassandra.consistency.level"] == "quorum"
    assert found["cassandra.query.idempotent"] is True and found["cassandra.page.size"] == 10
    session.execute("INSERT INTO t (k, v) VALUES (%s, %s)", (1, "secret"))
    assert traced.one().attributes["db.query.text"] == "INSERT INTO t (k, v) VALUES (%s, %s)"


def test_texts_as_they_are_and_no_texts(simulated: SimulatedCluster, connect: Connect, traced: Traced) -> None:
    raw = OpenTelemetry(tracer_provider=traced.provider, query_text="raw")
    connect(simulated, "ks", request_tracker=raw).execute("SELECT v FROM t WHERE k = 17")
    assert traced.one().attributes["db.query.text"] == "SELECT v FROM t WHERE k = 17"
    none = OpenTelemetry(tracer_provider=traced.provider, query_text=None)
    connect(simulated, "ks", request_tracker=none).execute("SELECT v FROM t WHERE k = 17")
    span = traced.one()
    assert "db.query.text" not in span.attributes and span.name == "SELECT t"
    with pytest.raises(ValueError, match="query_text must be"):
        OpenTelemetry(query_text="full")  # type: ignore[arg-type]


def test_a_prepared_statement_with_literals(session: Session, traced: Traced) -> None:
    """With markers it is recorded as it is, without them its literals are replaced."""
    with_markers, without = "UPDATE t SET v = 'x' WHERE k = ?", "UPDATE t SET v = 'x' WHERE k = 2"
    session.execute(session.prepare(with_markers), (1,))
    session.execute(session.prepare(without))
    found = [span.attributes["db.query.text"] for span in traced.taken()]
    assert found == [with_markers, "UPDATE t SET v = ? WHERE k = ?"]


def test_execute_async(session: Session, traced: Traced) -> None:
    insert = session.prepare(INSERT)
    with traced.tracer.start_as_current_span("request") as parent:
        futures = [session.execute_async(insert, (n, "x")) for n in range(5)]
    for future in futures:
        future.result()
    spans = [span for span in traced.taken() if span.name == "INSERT t"]
    assert len(spans) == 5
    assert {span.parent.span_id for span in spans} == {parent.get_span_context().span_id}


def test_the_parent_is_that_of_the_thread_that_sends(session: Session, traced: Traced) -> None:
    select = session.prepare(SELECT)
    parents: dict[str, int] = {}

    def work(name: str) -> None:
        with traced.tracer.start_as_current_span(name) as span:
            parents[name] = span.get_span_context().span_id
            session.execute(select, (1,))

    threads = [threading.Thread(target=work, args=(f"thread {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spans = [span for span in traced.taken() if span.name == "SELECT t"]
    assert {span.parent.span_id for span in spans} == set(parents.values()) and len(spans) == 4


def test_tasks_of_asyncio(session: Session, traced: Traced) -> None:
    async def work(name: str) -> int:
        with traced.tracer.start_as_current_span(name) as span:
            await session.execute_async(select, (1,))
            await session.execute_async("SELECT v FROM t WHERE k = 2")
            return int(span.get_span_context().span_id)

    async def run() -> list[int]:
        return await asyncio.gather(*(work(f"task {number}") for number in range(4)))

    select = session.prepare(SELECT)
    parents = asyncio.run(run())
    spans = [span for span in traced.taken() if span.name == "SELECT t"]
    assert sorted(span.parent.span_id for span in spans) == sorted(parents * 2)


def test_a_cancelled_task(simulated: SimulatedCluster, session: Session, traced: Traced) -> None:
    async def run() -> None:
        task = asyncio.ensure_future(session.execute_async(select, (1,)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    select = session.prepare(SELECT)
    with simulated.inject(Drop(), query="SELECT v"):
        asyncio.run(run())
    session.execute("SELECT v FROM t WHERE k = 2")  # its end comes after that of the cancelled one, on the same thread
    cancelled, _ = traced.taken()
    assert cancelled.attributes["error.type"] == "concurrent.futures._base.CancelledError"


@pytest.mark.parametrize("has_parent", [True, False])
def test_execute_concurrent(session: Session, traced: Traced, has_parent: bool) -> None:
    insert = session.prepare(INSERT)
    pairs = [(n, "x") for n in range(30)]
    if has_parent:
        with traced.tracer.start_as_current_span("request") as parent:
            execute_concurrent_with_args(session, insert, pairs)
    else:
        execute_concurrent_with_args(session, insert, pairs)
    spans = [span for span in traced.taken() if span.name == "INSERT t"]
    assert len(spans) == 30
    wanted = parent.get_span_context().span_id if has_parent else None
    assert {span.parent and span.parent.span_id for span in spans} == {wanted}


def test_execute_concurrent_async(session: Session, traced: Traced) -> None:
    async def run() -> int:
        with traced.tracer.start_as_current_span("request") as parent:
            await execute_concurrent_with_args_async(session, insert, [(n, "x") for n in range(30)])
            await execute_concurrent_async(session, [("SELECT v FROM t WHERE k = 1", None)])
            return int(parent.get_span_context().span_id)

    insert = session.prepare(INSERT)
    wanted = asyncio.run(run())
    spans = [span for span in traced.taken() if span.name != "request"]
    assert sorted({span.name for span in spans}) == ["INSERT t", "SELECT t"] and len(spans) == 31
    assert {span.parent.span_id for span in spans} == {wanted}


def test_pages(session: Session, traced: Traced) -> None:
    for n in range(10):
        session.execute("INSERT INTO t (k, v) VALUES (%s, 'x')", (n,))
    traced.taken()
    select = session.prepare("SELECT k FROM t")
    select.fetch_size = 4
    with traced.tracer.start_as_current_span("request") as parent:
        assert len(list(session.execute(select))) == 10
    spans = [span for span in traced.taken() if span.name == "SELECT t"]
    assert len(spans) == 3
    assert {span.parent.span_id for span in spans} == {parent.get_span_context().span_id}


def test_batches(session: Session, traced: Traced) -> None:
    insert = session.prepare(INSERT)
    batch = BatchStatement()
    batch.add(insert, (1, "x"))
    batch.add(insert, (2, "y"))
    session.execute(batch)
    same = traced.one()
    assert same.name == "BATCH INSERT t" and same.attributes["db.operation.batch.size"] == 2
    assert same.attributes["db.operation.name"] == "BATCH INSERT"
    assert same.attributes["db.query.text"] == INSERT and same.attributes["db.collection.name"] == "t"

    batch.add(SimpleStatement("UPDATE t SET v = %s WHERE k = 5"), ("secret",))
    session.execute(batch)
    other = traced.one()
    assert other.name == "BATCH" == other.attributes["db.operation.name"]
    assert other.attributes["db.operation.batch.size"] == 3
    assert other.attributes["db.query.text"] == f"{INSERT}; UPDATE t SET v = ? WHERE k = ?"
    assert other.attributes["db.collection.name"] == "t"

    single = BatchStatement()
    single.add(insert, (1, "x"))
    session.execute(single)
    one = traced.one()
    assert one.name == "INSERT t" and "db.operation.batch.size" not in one.attributes


def test_the_mapper(session: Session, traced: Traced) -> None:
    class T(models.Model):
        __keyspace__ = "ks"
        __table_name__ = "t"
        k = columns.Integer(primary_key=True)
        v = columns.Text()

    connection.register_connection("traced", session=session)
    try:
        T.__connection__ = "traced"
        for _ in range(3):
            T.create(k=1, v="x")
            assert T.objects(k=1).get().v == "x"
    finally:
        connection.unregister_connection("traced")
    names = [span.name for span in traced.taken()]
    assert [name.split()[0] for name in names] == ["INSERT", "SELECT"] * 3
    assert all(name.endswith("ks.t") for name in names)


def test_a_scan(session: Session, traced: Traced) -> None:
    insert = session.prepare(INSERT)
    execute_concurrent_with_args(session, insert, [(n, "x") for n in range(20)])
    traced.taken()
    with traced.tracer.start_as_current_span("request") as parent:
        rows = sum(len(batch) for batch in session.scan("t").batches())
    spans = [span for span in traced.taken() if span.name != "request"]
    assert rows == 20 and spans
    assert {span.parent.span_id for span in spans} == {parent.get_span_context().span_id}
    assert {span.name for span in spans} == {"SELECT ks.t"}
    assert all(of_host(session, span).items() <= dict(span.attributes).items() for span in spans)


def test_an_ingest(session: Session, traced: Traced) -> None:
    with traced.tracer.start_as_current_span("request") as parent:
        session.ingest("t", {"k": list(range(20)), "v": ["x"] * 20})
    span, _ = traced.taken()
    assert span.name.startswith("INSERT ") and span.attributes["db.operation.batch.size"] == 20
    assert span.parent.span_id == parent.get_span_context().span_id
    assert span.status.status_code is trace.StatusCode.UNSET


def test_an_ingest_as_a_task_that_fails(simulated: SimulatedCluster, session: Session, traced: Traced) -> None:
    async def run() -> None:
        await session.ingest_async("t", {"k": [1, 2], "v": ["x", "y"]})

    with simulated.inject(Fail(errors.InvalidRequest("no")), opcode="EXECUTE"), pytest.raises(Exception, match="row"):
        asyncio.run(run())
    span = traced.one()
    assert span.attributes["error.type"] == "cassandra.ingest.IngestError"
    assert span.status.status_code is trace.StatusCode.ERROR


def test_an_error_of_the_server(simulated: SimulatedCluster, session: Session, traced: Traced) -> None:
    select = session.prepare(SELECT)
    with (
        simulated.inject(Fail(errors.InvalidRequest("near 'secret'")), query="SELECT v"),
        pytest.raises(InvalidRequest),
    ):
        session.execute(select, (1,))
    span = traced.one()
    assert span.attributes["db.response.status_code"] == str(0x2200) == span.attributes["error.type"]
    assert span.status.status_code is trace.StatusCode.ERROR and "secret" not in str(span.to_json())
    assert [event.name for event in span.events] == ["attempt failed", "exception"]
    assert span.events[-1].attributes["exception.type"] == "cassandra.InvalidRequest"


def test_a_timeout(simulated: SimulatedCluster, session: Session, traced: Traced) -> None:
    with simulated.inject(Drop(), query="SELECT v"), pytest.raises(OperationTimedOut):
        session.execute("SELECT v FROM t WHERE k = 1", timeout=0.1)
    span = traced.one()
    assert span.attributes["error.type"] == "cassandra.OperationTimedOut"
    assert "db.response.status_code" not in span.attributes
    assert span.end_time - span.start_time >= 90_000_000


class Again(RetryPolicy):
    def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
        return self.RETRY_NEXT_HOST, None


def test_a_retry(simulated: SimulatedCluster, connect: Connect, traced: Traced) -> None:
    profile = ExecutionProfile(retry_policy=Again())
    session = connect(
        simulated,
        "ks",
        request_tracker=OpenTelemetry(tracer_provider=traced.provider),
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
    )
    select = session.prepare(SELECT)
    with simulated.inject(Fail(errors.Overloaded()), query="SELECT v", times=1):
        session.execute(select, (1,))
    span = traced.one()
    assert [event.name for event in span.events] == ["attempt failed", "retry"]
    failed, retried = span.events
    assert failed.attributes["error.type"] == str(0x1001)
    assert failed.attributes["server.address"] != retried.attributes["server.address"]
    assert span.attributes["server.address"] == retried.attributes["server.address"]
    assert span.status.status_code is trace.StatusCode.UNSET


def test_a_lost_connection(simulated: SimulatedCluster, session: Session, traced: Traced) -> None:
    with simulated.inject(Close(), query="SELECT v"), pytest.raises((NoHostAvailable, Exception)):
        session.execute("SELECT v FROM t WHERE k = 1")
    assert traced.one().attributes["error.type"].startswith("cassandra.")


def test_a_speculative_execution(simulated: SimulatedCluster, connect: Connect, traced: Traced) -> None:
    profile = ExecutionProfile(speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.02, 1))
    session = connect(
        simulated,
        "ks",
        request_tracker=OpenTelemetry(tracer_provider=traced.provider),
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
    )
    held = Hold()
    with simulated.inject(held, query="SELECT v", times=1) as rule:
        session.execute(SimpleStatement("SELECT v FROM t WHERE k = 1", is_idempotent=True))
        span = traced.one()
        rule.release()
    assert span.attributes["cassandra.speculative_execution.count"] == 1
    assert [event.name for event in span.events] == ["speculative execution"]


# ---- sampling


def test_requests_that_are_not_sampled(simulated: SimulatedCluster, connect: Connect) -> None:
    """Under a span that is not sampled the compiled path is used, and nothing is recorded."""
    traced = Traced(sampling.ParentBased(sampling.ALWAYS_OFF))
    tracker = OpenTelemetry(tracer_provider=traced.provider)
    session = connect(simulated, "ks", request_tracker=tracker)
    insert = session.prepare(INSERT)
    with traced.tracer.start_as_current_span("request") as span:
        assert not span.is_recording() and not tracker.selects()
        session.execute(insert, (1, "x"))
        execute_concurrent_with_args(session, insert, [(n, "x") for n in range(10)])
        session.ingest("t", {"k": [1], "v": ["x"]})
    assert not tracker.selects()
    sampled = trace.NonRecordingSpan(trace.SpanContext(1, 2, True, trace.TraceFlags(trace.TraceFlags.SAMPLED)))
    with trace.use_span(sampled):
        assert tracker.selects()
        session.execute(insert, (1, "x"))
    assert traced.one().parent.span_id == 2
    traced.provider.shutdown()


@pytest.mark.parametrize(
    "sampler, without_span, under_unsampled",
    [
        ("ALWAYS_OFF", False, False),
        ("ALWAYS_ON", True, True),
        ("DEFAULT_ON", True, False),
        ("DEFAULT_OFF", False, False),
    ],
)
def test_the_sampler_is_asked_where_it_may_decide(sampler: str, without_span: bool, under_unsampled: bool) -> None:
    traced = Traced(getattr(sampling, sampler))
    tracker = OpenTelemetry(tracer_provider=traced.provider)
    unsampled = trace.NonRecordingSpan(trace.SpanContext(1, 2, True, trace.TraceFlags(0)))
    assert tracker.selects() is without_span
    with trace.use_span(unsampled):
        assert tracker.selects() is under_unsampled
    only_children = OpenTelemetry(tracer_provider=traced.provider, root_spans=False)
    assert not only_children.selects()
    traced.provider.shutdown()


def test_a_sampler_that_drops_a_root(simulated: SimulatedCluster, connect: Connect) -> None:
    traced = Traced(sampling.ParentBased(sampling.TraceIdRatioBased(0.0)))
    session = connect(simulated, "ks", request_tracker=OpenTelemetry(tracer_provider=traced.provider))
    select = session.prepare(SELECT)
    assert [session.execute(select, (n,)).one() for n in range(3)] == [None] * 3
    assert session.execute("SELECT v FROM t WHERE k = 1").one() is None
    assert traced.taken() == []
    traced.provider.shutdown()


def test_instrumentation_that_is_switched_off(session: Session, traced: Traced) -> None:
    utils = module("opentelemetry.instrumentation.utils")
    with utils.suppress_instrumentation():
        session.execute("SELECT v FROM t WHERE k = 1")
    assert traced.taken() == []


def test_without_an_sdk(simulated: SimulatedCluster, connect: Connect) -> None:
    tracker = OpenTelemetry(tracer_provider=trace.NoOpTracerProvider())
    session = connect(simulated, "ks", request_tracker=tracker)
    assert session.execute("SELECT v FROM t WHERE k = 1").one() is None


# ---- names


def test_old_names_as_well(
    simulated: SimulatedCluster, connect: Connect, traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "http, database/dup")
    session = connect(simulated, "ks", request_tracker=OpenTelemetry(tracer_provider=traced.provider))
    session.execute("SELECT v FROM t WHERE k = 17")
    found = dict(traced.one().attributes)
    assert found["db.statement"] == found["db.query.text"] == "SELECT v FROM t WHERE k = ?"
    assert found["db.system"] == found["db.system.name"] == "cassandra"
    assert found["db.cassandra.coordinator.dc"] == found["cassandra.coordinator.dc"]


def test_durations(simulated: SimulatedCluster, connect: Connect, traced: Traced) -> None:
    reader = metrics_export.InMemoryMetricReader()
    meters = metrics_sdk.MeterProvider([reader], shutdown_on_exit=False)
    unsampled = Traced(sampling.ALWAYS_OFF)
    tracker = OpenTelemetry(tracer_provider=unsampled.provider, meter_provider=meters)
    session = connect(simulated, "ks", request_tracker=tracker)
    insert = session.prepare(INSERT)
    execute_concurrent_with_args(session, insert, [(n, "x") for n in range(10)])
    with simulated.inject(Fail(errors.InvalidRequest("no")), query="SELECT v"), pytest.raises(InvalidRequest):
        session.execute("SELECT v FROM t WHERE k = 1")
    (resource,) = reader.get_metrics_data().resource_metrics
    ((metric,),) = [scope.metrics for scope in resource.scope_metrics]
    assert (metric.name, metric.unit) == ("db.client.operation.duration", "s")
    points = metric.data.data_points
    assert sum(point.count for point in points) == 11
    assert all(point.explicit_bounds == (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10) for point in points)
    assert {point.attributes["db.query.summary"] for point in points} == {"INSERT t", "SELECT t"}
    failed = [point for point in points if "error.type" in point.attributes]
    assert [point.attributes["db.response.status_code"] for point in failed] == [str(0x2200)]
    assert not any("db.query.text" in point.attributes for point in points)
    assert unsampled.taken() == []
    meters.shutdown()
    unsampled.provider.shutdown()


def test_another_tracker_may_select_too(simulated: SimulatedCluster, connect: Connect) -> None:
    class Some(RequestTracker):
        wanted = False
        begun = ended = 0

        def selects(self) -> bool:
            return self.wanted

        def on_request(self, request: Any) -> None:
            self.begun += 1

        def on_request_end(self, request: Any, error: BaseException | None, elapsed: float) -> None:
            self.ended += 1

    tracker = Some()
    session = connect(simulated, "ks", request_tracker=tracker)
    insert = session.prepare(INSERT)
    for tracker.wanted in (False, True):
        session.execute(insert, (1, "x"))
        execute_concurrent_with_args(session, insert, [(n, "x") for n in range(10)])
        assert (tracker.begun, tracker.ended) == ((11, 11) if tracker.wanted else (0, 0))
