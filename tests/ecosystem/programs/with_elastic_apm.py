"""Elastic's agent: a transaction has a span for the connect and one for each query, with statement and destination."""

from __future__ import annotations

import elasticapm
from server import HOST, KEYSPACE, PORT, connect

sent = []


class Agent(elasticapm.Client):
    def queue(self, event_type, data, flush=False):
        sent.append((event_type, data))


agent = Agent(service_name="shop", server_version=(8, 0, 0), central_config="false", metrics_interval="0ms")
elasticapm.instrument()

agent.begin_transaction("request")
session = connect()
session.execute("CREATE TABLE orders (id int PRIMARY KEY, what text)")
insert = session.prepare("INSERT INTO orders (id, what) VALUES (?, ?)")
session.execute(insert, (1, "tea"))
session.execute(insert.bind((2, "coffee")))
assert {row.what for row in session.execute("SELECT what FROM orders")} == {"tea", "coffee"}
agent.end_transaction("buy", 200)
elasticapm.uninstrument()
session.cluster.shutdown()

spans = [data for kind, data in sent if kind == "span"]
assert [span["name"] for span in spans] == [
    "Cluster.connect",
    "DROP KEYSPACE",
    "CREATE KEYSPACE",
    "USE",
    "CREATE TABLE",
    "INSERT INTO orders",
    "Session.execute",  # the agent finds no text in bound statements
    "SELECT FROM orders",
], [span["name"] for span in spans]
for span in spans:
    assert span["context"]["destination"]["address"] == HOST
    assert span["context"]["destination"]["port"] == PORT
select = spans[-1]
assert (select["type"], select["subtype"], select["action"]) == ("db", "cassandra", "query")
assert select["context"]["db"] == {"instance": KEYSPACE, "type": "sql", "statement": "SELECT what FROM orders"}
print("done")
