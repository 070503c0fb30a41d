"""baseplate's Cassandra client: a cluster from configuration, statements in spans of a request."""

from __future__ import annotations

from baseplate import Baseplate, BaseplateObserver, ServerSpanObserver, SpanObserver
from baseplate.clients.cassandra import CassandraClient
from server import HOST, KEYSPACE, PORT, connect

finished = []


class Seen(SpanObserver):
    def __init__(self, span):
        self.span = span
        self.tags = {}

    def on_set_tag(self, key, value):
        self.tags[key] = value

    def on_finish(self, exc_info):
        finished.append((self.span.name, self.tags, exc_info))


class Request(ServerSpanObserver):
    def on_child_span_created(self, span):
        span.register(Seen(span))


class Everything(BaseplateObserver):
    def on_server_span_created(self, context, span):
        span.register(Request())


session = connect()
session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
session.cluster.shutdown()

baseplate = Baseplate({"cassandra.contact_points": HOST, "cassandra.port": str(PORT)})
baseplate.register(Everything())
baseplate.configure_context({"cassandra": CassandraClient(KEYSPACE, port=PORT)})
context = baseplate.make_context_object()
with baseplate.make_server_span(context, "request"):
    insert = context.cassandra.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
    assert context.cassandra.prepare("INSERT INTO t (k, v) VALUES (?, ?)") is insert
    context.cassandra.execute(insert, (1, "one"))
    futures = [context.cassandra.execute_async("SELECT v FROM t WHERE k = %s", (1,)) for _ in range(5)]
    assert [future.result().one().v for future in futures] == ["one"] * 5
    try:
        context.cassandra.execute("SELECT * FROM nowhere")
    except Exception as error:
        assert type(error).__name__ == "InvalidRequest", repr(error)
    else:
        raise AssertionError("the statement did not fail")
names = [name for name, _, _ in finished]
assert names == ["cassandra.prepare", *["cassandra.execute"] * 7], names
assert finished[1][1]["statement"] == "INSERT INTO t (k, v) VALUES (?, ?)"
assert finished[-1][2] is not None
print("done")
