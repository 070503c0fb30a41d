"""What medusa asks the cluster before a backup: tokens, place, versions, the schema as text."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from medusa.cassandra_utils import CqlSessionProvider
from server import HOST, KEYSPACE, PORT, connect

session = connect()
session.execute("CREATE TYPE address (street text, number int)")
session.execute("CREATE TABLE people (name text PRIMARY KEY, home frozen<address>, age int)")
session.execute("CREATE INDEX people_age ON people (age)")
session.cluster.shutdown()

Path("cassandra.yaml").write_text(f"native_transport_port: {PORT}\nlisten_address: {HOST}\n")
config = SimpleNamespace(
    cassandra=SimpleNamespace(
        config_file="cassandra.yaml", cql_username=None, cql_password=None, certfile=None, usercert=None, userkey=None,
        resolve_ip_addresses="False",
    ),
    kubernetes=None,
)  # fmt: skip
with CqlSessionProvider([HOST], config).new_session(retry=True) as medusa:
    ((name, node),) = medusa.tokenmap().items()
    assert name == HOST
    assert node["is_up"] is True
    assert (node["dc"], node["rack"]) == medusa.placement()
    assert node["dc"] and node["rack"]
    assert medusa.token() in node["tokens"]
    assert all(isinstance(token, int) for token in node["tokens"])
    kind, version = medusa.get_server_type_and_release_version()
    assert kind == "cassandra" and version.split(".")[0].isdigit()
    schema = medusa.dump_schema()

with connect() as empty:
    keyspaces = f"\n\n{schema}".split("\n\nCREATE KEYSPACE ")
    (described,) = [keyspace for keyspace in keyspaces if keyspace.startswith(KEYSPACE)]
    statements = f"CREATE KEYSPACE {described}".split(";")
    empty.execute(f"DROP KEYSPACE {KEYSPACE}")
    for statement in statements:
        if statement.strip():
            empty.execute(statement)
    table = empty.cluster.metadata.keyspaces[KEYSPACE].tables["people"]
    assert list(table.columns) == ["name", "age", "home"]
    assert list(table.indexes) == ["people_age"]
    empty.cluster.shutdown()
print("done")
