"""Datadog's tracer: a span per statement and per page, with the coordinator, rows and errors."""

from __future__ import annotations

import time

import ddtrace
from ddtrace.trace import TraceFilter, tracer
from server import HOST, KEYSPACE, PORT, connect

ended = []


class Keep(TraceFilter):
    def process_trace(self, trace):
        ended.extend(trace)
        return None


tracer.configure(trace_processors=[Keep()])
ddtrace.patch(cassandra=True)

from cassandra import InvalidRequest  # noqa: E402
from cassandra.concurrent import execute_concurrent_with_args  # noqa: E402
from cassandra.protocol import SyntaxException  # noqa: E402
from cassandra.query import BatchStatement, SimpleStatement  # noqa: E402


def spans(count):
    """Those that ended since the last look, *count* of them."""
    deadline = time.monotonic() + 60
    while len(ended) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    found = sorted(ended, key=lambda span: span.start_ns)
    ended.clear()
    assert len(found) == count, [(span.resource, span.get_tags()) for span in found]
    return found


session = connect()
session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
spans(4)

session.execute("INSERT INTO t (k, v) VALUES (1, 'one')")
(span,) = spans(1)
assert (span.name, span.service, span.span_type) == ("cassandra.query", "cassandra", "cassandra")
assert span.resource == "INSERT INTO t (k, v) VALUES (1, 'one')"
assert span.get_tag("out.host") == HOST
assert span.get_metric("network.destination.port") == PORT
assert span.get_tag("cassandra.keyspace") == KEYSPACE
assert span.error == 0

assert session.execute("SELECT * FROM t").one() == (1, "one")
(span,) = spans(1)
assert span.get_metric("db.row_count") == 1
assert span.get_tag("cassandra.paginated") == "False"

insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
execute_concurrent_with_args(session, insert, [(k, str(k)) for k in range(50)])
assert {span.resource for span in spans(50)} == {insert.query_string}

batch = BatchStatement()
batch.add("INSERT INTO t (k, v) VALUES (100, 'a')")
batch.add(insert, (101, "b"))
session.execute(batch)
(span,) = spans(1)
assert span.resource == "BatchStatement"
assert span.get_metric("cassandra.batch_size") == 2
assert span.get_tag("cassandra.query") == "INSERT INTO t (k, v) VALUES (100, 'a')"

rows = list(session.execute(SimpleStatement("SELECT * FROM t", fetch_size=11)))
assert len(rows) == 52
pages = spans(5)
numbers = [span.get_metric("cassandra.page_number") for span in pages]
assert numbers == [1, 2, 3, 4, 5], [span.get_metrics() for span in pages]
assert [span.get_metric("db.row_count") for span in pages] == [11, 11, 11, 11, 8]
assert all(span.get_tag("cassandra.paginated") == "True" for span in pages)

try:
    session.execute("SELECT nothing FROM nowhere")
except InvalidRequest as error:
    text = error.args[0]
(span,) = spans(1)
assert span.error == 1
assert span.get_tag("error.type") == "InvalidRequest"
assert span.get_tag("error.message") == text

try:
    session.execute("SELEKT")
except SyntaxException as error:
    text = error.args[0] if error.args else None
(span,) = spans(1)
assert span.error == 1
assert span.get_tag("error.message") == text

with tracer.trace("web.request") as outer:
    session.execute_async("SELECT * FROM t WHERE k = 1").result()
request, query = spans(2)
assert query.parent_id == outer.span_id
session.cluster.shutdown()
print("done")
