"""OpenTelemetry's instrumentation: one span per statement, whichever way it was executed."""

from __future__ import annotations

from collections import Counter

from opentelemetry.instrumentation.cassandra import CassandraInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from server import HOST, KEYSPACE, connect

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
CassandraInstrumentor().instrument(tracer_provider=provider, include_db_statement=True)
assert CassandraInstrumentor().is_instrumented_by_opentelemetry

from cassandra.cluster import Session  # noqa: E402
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args  # noqa: E402


def spans():
    """Those that ended since the last look."""
    found = exporter.get_finished_spans()
    exporter.clear()
    return found


session = connect()
session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
spans()

session.execute("INSERT INTO t (k, v) VALUES (1, 'one')")
(span,) = spans()
assert span.name == "Cassandra"
assert span.kind is SpanKind.CLIENT
assert dict(span.attributes) == {
    "db.system": "cassandra",
    "db.name": KEYSPACE,
    "net.peer.name": (HOST,) if isinstance(span.attributes["net.peer.name"], tuple) else str([HOST]),
    "db.statement": "INSERT INTO t (k, v) VALUES (1, 'one')",
}, dict(span.attributes)

assert session.execute_async("SELECT v FROM t").result().one().v == "one"
assert [span.attributes["db.statement"] for span in spans()] == ["SELECT v FROM t"]

prepared = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
assert not spans(), "preparing is no statement"
results = execute_concurrent_with_args(session, prepared, [(k, str(k)) for k in range(100)])
assert all(result.success for result in results)
assert len(spans()) == 100

results = execute_concurrent(session, [("SELECT v FROM t WHERE k = %s", (k,)) for k in range(20)], concurrency=3)
assert [result.result_or_exc.one().v for result in results] == [str(k) for k in range(20)]
assert Counter(span.attributes["db.statement"] for span in spans()) == {"SELECT v FROM t WHERE k = %s": 20}

with provider.get_tracer("program").start_as_current_span("work") as work:
    session.execute("SELECT v FROM t WHERE k = 1")
query, outer = spans()
assert outer.name == "work"
assert query.parent.span_id == work.get_span_context().span_id

CassandraInstrumentor().uninstrument()
session.execute("SELECT v FROM t WHERE k = 1")
assert not spans()
assert not hasattr(Session.execute_async, "__wrapped__")
session.cluster.shutdown()
print("done")
