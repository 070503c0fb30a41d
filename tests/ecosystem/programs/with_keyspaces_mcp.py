"""The MCP server for Amazon Keyspaces and Cassandra: each of its tools, asked as a client asks."""

from __future__ import annotations

import os

from server import HOST, KEYSPACE, PORT, connect

os.environ["DB_USE_KEYSPACES"] = "false"
os.environ["DB_CASSANDRA_CONTACT_POINTS"] = HOST
os.environ["DB_CASSANDRA_PORT"] = str(PORT)
os.environ["DB_CASSANDRA_USERNAME"] = "any"
os.environ["DB_CASSANDRA_PASSWORD"] = "any"

from awslabs.amazon_keyspaces_mcp_server import server

session = connect()
session.execute("CREATE TABLE t (k int, c text, v text, PRIMARY KEY (k, c))")
for k in range(3):
    session.execute("INSERT INTO t (k, c, v) VALUES (%s, 'c', 'v')", (k,))
session.cluster.shutdown()

tools = server.get_proxy()
assert f"{KEYSPACE}" in tools.handle_list_keyspaces()
tables = tools._handle_list_tables(KEYSPACE)
assert "- t" in tables or "`t`" in tables, tables
described = tools._handle_describe_keyspace(KEYSPACE)
assert "SimpleStrategy" in described, described
described = tools._handle_describe_table(KEYSPACE, "t")
assert all(word in described for word in ("k", "c", "v", "int", "text")), described
rows = tools._handle_execute_query(KEYSPACE, f"SELECT * FROM {KEYSPACE}.t")
assert all(f"| {k} | c | v |" in rows for k in range(3)), rows
analysed = tools._handle_analyze_query_performance(
    KEYSPACE, f"SELECT * FROM {KEYSPACE}.t WHERE v = 'v' ALLOW FILTERING"
)
assert "partition key" in analysed.lower(), analysed
print("done")
