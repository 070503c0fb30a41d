"""What programs keep of the schema, user types of any name, warnings, a cluster without tokens, batches at their
limit."""

# mypy: ignore-errors
# ruff: noqa
import os
import warnings

warnings.simplefilter("ignore")
from cases import KEYSPACE, case, connect, each, show

from cassandra import ConsistencyLevel as CL
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.query import BatchStatement, BatchType, SimpleStatement, dict_factory, named_tuple_factory

HOST, _, PORT = os.environ["CASSANDRA_CONTACT"].partition(":")


RELEASE = "in 4.0", "in a future release"  # theirs, which is not one of this driver; ours


def told(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            function()
        except Exception as error:
            print("   ", type(error).__name__)
    return [(one.category.__name__, str(one.message).replace(*RELEASE)) for one in found]


with connect() as session:
    cluster = session.cluster
    keyspaces = cluster.metadata.keyspaces
    keyspace = keyspaces[KEYSPACE]

    # ---- dicts that are kept

    held = {
        name: getattr(keyspace, name)
        for name in ("tables", "user_types", "functions", "aggregates", "views", "indexes")
    }
    FUNCTION = "(state int, value int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS 'return state;'"
    for statement in (
        "CREATE TABLE t (k int PRIMARY KEY, v text, w int)",
        "CREATE INDEX by_v ON t (v)",
        "CREATE TYPE plain (a int, b text)",
        f"CREATE FUNCTION first {FUNCTION}",
        f"CREATE FUNCTION another {FUNCTION}",
        "CREATE AGGREGATE firsts(int) SFUNC first STYPE int INITCOND 1",
        "CREATE TABLE a (k int PRIMARY KEY)",
        "ALTER TYPE plain ADD c int",
        "ALTER TABLE t ADD x int",
        "DROP AGGREGATE firsts",
        "DROP FUNCTION another",
        "DROP INDEX by_v",
        "DROP TABLE a",
        "DROP TYPE plain",
    ):
        session.execute(statement)
        show(statement, lambda: {name: sorted(part) for name, part in held.items()})
        show("  the same dicts", lambda: [name for name, part in held.items() if part is not getattr(keyspace, name)])
    show("columns", lambda: sorted(held["tables"]["t"].columns))
    show("type", lambda: {name: isinstance(part, dict) for name, part in held.items()})

    @case("keyspaces are one dict")
    def _():
        cluster.refresh_keyspace_metadata(KEYSPACE)
        cluster.refresh_table_metadata(KEYSPACE, "t")
        return cluster.metadata.keyspaces is keyspaces

    @case("keyspaces that come and go")
    def _():
        other = KEYSPACE + "_2"
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        session.execute(f"CREATE KEYSPACE {other} WITH replication = {replication}")
        there = other in keyspaces
        session.execute(f"DROP KEYSPACE {other}")
        return there, other in keyspaces, keyspaces is cluster.metadata.keyspaces

    @case("everything read again")
    def _():
        cluster.refresh_schema_metadata()
        return cluster.metadata.keyspaces is keyspaces, sorted(cluster.metadata.keyspaces) == sorted(keyspaces)

    # ---- user types

    TYPES = {
        "odd type": '"non-id" int, "2nd" text, "class" int',
        "even_type": 'a int, "B b" text',
        "simple": "a int, b text",
        "under": '"_a" int, b text',
        "1two": "a int, b text",
        "class": "a int",
        "positions": '"_x" int, "field_0_" int',
    }
    for number, (name, fields) in enumerate(TYPES.items()):
        session.execute(f'CREATE TYPE "{name}" ({fields})')
        frozen = f'frozen<"{name}">'
        session.execute(
            f"CREATE TABLE u{number} (k int PRIMARY KEY, v {frozen}, l list<{frozen}>, m map<{frozen}, int>)"
        )
        insert = session.prepare(f"INSERT INTO u{number} (k, v, l, m) VALUES (1, ?, ?, ?)")
        size = fields.count(",") + 1
        value = tuple("text" if " text" in field else 1 for field in fields.split(","))
        for how in ("prepared", "text"):
            session.execute(insert, (value, [value], {value: 1}))
            select = f"SELECT v, l, m FROM u{number}"
            row = session.execute(session.prepare(select) if how == "prepared" else select).one()
            show(f"{name} {how}", lambda: (type(row.v).__name__, type(row.v) is tuple, getattr(row.v, "_fields", None)))
            show("  values", lambda: (row.v, row.l, list(row.m.items())))
            show("  equal", lambda: row.v == value and row.m[row.v] == 1 and row.l == [value])
            again = session.execute(insert, (row.v, row.l, row.m)) and None
        session.row_factory = dict_factory
        show(f"{name} in a dict", lambda: session.execute(f"SELECT v FROM u{number}").one())
        session.row_factory = named_tuple_factory

    # ---- warnings

    for name, value in [
        ("default_consistency_level", CL.ONE),
        ("default_timeout", 60),
        ("row_factory", named_tuple_factory),
        ("default_serial_consistency_level", CL.SERIAL),
        ("default_fetch_size", 100),
        ("max_trace_wait", 2),
        ("use_client_timestamp", True),
    ]:
        show(f"session.{name}", told, lambda: setattr(session, name, value))
    show("session.default_consistency_level read", told, lambda: session.default_consistency_level)
    show("slice", told, lambda: session.execute("SELECT * FROM t")[0:1])

    # ---- traces

    @case("a trace that is not waited for")
    def _():
        future = session.execute_async("SELECT * FROM system.local", trace=True)
        future.result()
        return future.get_query_trace(-1.0)

    @case("a trace")
    def _():
        future = session.execute_async("SELECT * FROM system.local", trace=True)
        future.result()
        return type(future.get_query_trace(60)).__name__, len(future.get_query_trace_ids())

    # ---- batches

    def batch(size):
        made = BatchStatement(BatchType.UNLOGGED)
        for _ in range(size):
            made.add("INSERT INTO t (k) VALUES (1)")
        return session.execute(made).all()

    each("batch of", batch, (1, 65535, 65536), text=True)

    # ---- without tokens

    with Cluster([HOST], port=int(PORT), token_metadata_enabled=False, connect_timeout=60) as other:
        again = other.connect()
        metadata = other.metadata
        show("partitioner", lambda: metadata.partitioner)
        show("token map", lambda: (type(metadata.token_map).__name__, metadata.token_map.token_class.__name__))
        show("its ring", lambda: (metadata.token_map.ring, metadata.token_map.token_to_host_owner))
        show("its replicas", lambda: metadata.get_replicas("system", b"1"))
        show("executes", lambda: len(again.execute("SELECT key FROM system.local").all()))
