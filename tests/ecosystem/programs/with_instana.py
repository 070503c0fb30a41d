"""Instana's sensor: an exit span per statement below the span of the program."""

from __future__ import annotations

import time

import instana
from instana.singletons import get_agent, get_tracer
from server import HOST, KEYSPACE, PORT, connect

from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol import SyntaxException

tracer = get_tracer()
agent = get_agent()  # spans are queued although there is no agent to send them to
agent.can_send = lambda: True
agent.get_from_structure = lambda: {"e": "1", "h": "host"}
queue = tracer.span_processor.queued_spans


def spans(count):
    """Those of statements that ended since the last look, *count* of them, and those of the program."""
    found = []
    deadline = time.monotonic() + 60
    while len([span for span in found if span.n == "cassandra"]) < count and time.monotonic() < deadline:
        found += queue()
        time.sleep(0.01)
    statements = [span for span in found if span.n == "cassandra"]
    assert len(statements) == count, found
    return statements, [span for span in found if span.n != "cassandra"]


assert instana
session = connect()
session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
queue()

with tracer.start_as_current_span("work"):
    session.execute("INSERT INTO t (k, v) VALUES (1, 'one')")
    session.execute(insert, (2, "two"))
    session.execute_async("SELECT * FROM t").result()
    made, _ = spans(3)
by_query = {span.data["cassandra"]["query"]: span for span in made}
assert set(by_query) == {
    "INSERT INTO t (k, v) VALUES (1, 'one')",
    "INSERT INTO t (k, v) VALUES (?, ?)",
    "SELECT * FROM t",
}
(work,) = queue()
assert {span.p for span in made} == {work.s}
text = by_query["INSERT INTO t (k, v) VALUES (1, 'one')"].data["cassandra"]
assert text["keyspace"] == KEYSPACE
assert text["triedHosts"] == [f"{HOST}:{PORT}"], text

with tracer.start_as_current_span("work"):
    try:
        session.execute("SELEKT")
    except SyntaxException as error:
        text = error.summary  # which it asks of every error: those that have none are logged, and have no span
    (failed,), _ = spans(1)
assert failed.ec == 1
assert failed.data["cassandra"]["error"] == text

with tracer.start_as_current_span("work"):
    execute_concurrent_with_args(session, insert, [(k, str(k)) for k in range(30)])
    spans(30)
session.cluster.shutdown()
print("done")
