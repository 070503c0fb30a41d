"""Metadata after DDL. Runs with any driver; the output of scylla-driver 3.29.12 is in schema.txt."""

# mypy: ignore-errors

from cases import connect, show

from cassandra import SignatureDescriptor, UserAggregateDescriptor, UserFunctionDescriptor
from cassandra.cluster import Cluster
from cassandra.metadata import Murmur3Token, group_keys_by_replica, protect_name

TYPES = (
    *(
        "ascii",
        "bigint",
        "blob",
        "boolean",
        "date",
        "decimal",
        "double",
        "duration",
        "float",
        "inet",
        "int",
        "smallint",
    ),
    *("text", "time", "timestamp", "timeuuid", "tinyint", "uuid", "varchar", "varint", "list<int>", "set<text>"),
    *("map<text, int>", "frozen<list<int>>", "frozen<map<text, frozen<set<int>>>>", "tuple<int, text>", "address"),
    *(
        "frozen<address>",
        "list<frozen<address>>",
        'frozen<"Mixed Case">',
        "vector<float, 3>",
        "frozen<tuple<int, address>>",
    ),
    *("map<frozen<address>, frozen<list<tuple<int>>>>", "'org.apache.cassandra.db.marshal.UTF8Type'"),
)

DDL = [
    "CREATE TYPE address (street text, number int)",
    'CREATE TYPE "Mixed Case" ("First" int, home frozen<address>, "select" set<text>)',
    "CREATE TYPE zebra (a frozen<map<text, frozen<address>>>, b tuple<int, text>)",
    "CREATE TABLE every (k int PRIMARY KEY, " + ", ".join(f"v{n} {name}" for n, name in enumerate(TYPES)) + ")",
    "CREATE TABLE plain (a int PRIMARY KEY, b text)",
    "CREATE TABLE only_key (a int PRIMARY KEY)",
    "CREATE TABLE composite (a int, b text, c int, PRIMARY KEY ((a, b)))",
    'CREATE TABLE "WideTable" (a int, "B b" text, c timeuuid, "select" int, s int static, z blob,'
    ' PRIMARY KEY ((a, "B b"), c, "select")) WITH CLUSTERING ORDER BY (c DESC, "select" ASC)'
    " AND comment = 'it''s a comment' AND gc_grace_seconds = 17 AND default_time_to_live = 100",
    "CREATE TABLE options (a int PRIMARY KEY, b int) WITH caching = {'keys': 'NONE', 'rows_per_partition': '100'}"
    " AND compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': '200'}"
    " AND compression = {'class': 'SnappyCompressor', 'chunk_length_in_kb': '8'} AND crc_check_chance = 0.5"
    " AND bloom_filter_fp_chance = 0.05 AND speculative_retry = '95p' AND additional_write_policy = '90p'"
    " AND read_repair = 'NONE' AND memtable_flush_period_in_ms = 5000 AND max_index_interval = 4096 AND cdc = true",
    "CREATE TABLE more_options (a int PRIMARY KEY, b int) WITH memtable = 'default'",
    "CREATE TABLE uncompressed (a int PRIMARY KEY) WITH compression = {'enabled': 'false'}",
    "CREATE TABLE counters (a int, b text, n counter, m counter, PRIMARY KEY (a, b))",
    "CREATE TABLE indexed (a int, b text, c map<text, int>, d frozen<set<int>>, e list<int>, f int, g text, h text,"
    " PRIMARY KEY (a, b))",
    "CREATE INDEX ON indexed (b)",
    'CREATE INDEX "KeysOf" ON indexed (KEYS(c))',
    "CREATE INDEX entries_of ON indexed (ENTRIES(c))",
    "CREATE INDEX full_of ON indexed (FULL(d))",
    "CREATE INDEX values_of ON indexed (e)",
    "CREATE CUSTOM INDEX sai ON indexed (g) USING 'StorageAttachedIndex' WITH OPTIONS = {'case_sensitive': 'false'}",
    "CREATE CUSTOM INDEX sai_plain ON indexed (f) USING 'StorageAttachedIndex'",
    "CREATE INDEX short_sai ON indexed (h) USING 'sai'",
    "CREATE TABLE compact_dense (a int, c text, v blob, PRIMARY KEY (a, c)) WITH COMPACT STORAGE",
    "CREATE TABLE compact_static (a int PRIMARY KEY, b text, c int) WITH COMPACT STORAGE",
    "CREATE TABLE compact_bare (a int, c text, PRIMARY KEY (a, c)) WITH COMPACT STORAGE",
    "CREATE TABLE base (a int, b text, c int, d int, PRIMARY KEY (a, b))",
    "CREATE MATERIALIZED VIEW by_c AS SELECT * FROM base WHERE a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL"
    " PRIMARY KEY (c, b, a) WITH CLUSTERING ORDER BY (b DESC, a ASC) AND comment = 'view'",
    'CREATE MATERIALIZED VIEW "SomeColumns" AS SELECT a, b, d FROM base WHERE a > 3 AND b IS NOT NULL'
    " PRIMARY KEY ((a, b))",
    "CREATE FUNCTION add_up(state int, value int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS 'return state;'",
    'CREATE FUNCTION "Half"(val double) RETURNS NULL ON NULL INPUT RETURNS double LANGUAGE java AS $$return val / 2;$$',
    'CREATE FUNCTION "Half"(val int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE java AS $$return val / 2;$$',
    'CREATE FUNCTION none_at_all() CALLED ON NULL INPUT RETURNS text LANGUAGE java AS $$return "it\'s";$$',
    'CREATE FUNCTION of_types(a list<int>, "Where" tuple<int, text>) CALLED ON NULL INPUT'
    " RETURNS list<int> LANGUAGE java AS 'return a;'",
    "CREATE AGGREGATE total(int) SFUNC add_up STYPE int INITCOND 10",
    'CREATE AGGREGATE "Half Total"(int) SFUNC add_up STYPE int FINALFUNC "Half"',
    "CREATE AGGREGATE bare(int) SFUNC add_up STYPE int",
]
TABLES = (
    "every",
    "plain",
    "only_key",
    "composite",
    "WideTable",
    "options",
    "more_options",
    "uncompressed",
    "counters",
    "indexed",
    "compact_dense",
    "compact_static",
    "compact_bare",
    "base",
)
COLUMN = ("name", "cql_type", "is_static", "is_reversed")


def plain(value):
    """Dicts by their items, whatever their class is."""
    if hasattr(value, "items"):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def tell_columns(what, table):
    for name, column in table.columns.items():
        show(f"{what} column {name}", lambda: [getattr(column, part) for part in COLUMN])
        show(f"{what} column {name} of", lambda: (str(column), column.table is table, type(column).__name__))


def tell_table(what, table):
    for name in ("keyspace_name", "name", "is_compact_storage", "virtual", "is_cql_compatible", "comparator"):
        show(f"{what} {name}", lambda: getattr(table, name))
    show(f"{what} type", lambda: type(table).__name__)
    for name in ("partition_key", "clustering_key", "primary_key"):
        show(f"{what} {name}", lambda: (type(getattr(table, name)).__name__, [c.name for c in getattr(table, name)]))
    for name in ("columns", "indexes", "views", "triggers"):
        show(f"{what} {name}", lambda: list(getattr(table, name)))
    show(f"{what} option names", lambda: sorted(table.options))
    for name, value in sorted(table.options.items()):
        show(f"{what} option {name}", lambda: (plain(value), table.options[name] == value))
        if not hasattr(value, "items"):
            show(f"{what} option {name} type", lambda: type(value).__name__)
    show(f"{what} extensions", lambda: plain(table.extensions))
    tell_columns(what, table)
    tell_texts(what, table)


def tell_texts(what, thing):
    show(f"{what} as_cql_query", lambda: thing.as_cql_query())
    if type(thing).__name__ not in ("KeyspaceMetadata", "IndexMetadata", "TriggerMetadata"):
        show(f"{what} formatted", lambda: thing.as_cql_query(formatted=True))
    show(f"{what} export", lambda: thing.export_as_string())


def tell_index(what, index):
    for name in ("keyspace_name", "table_name", "name", "kind"):
        show(f"{what} {name}", lambda: getattr(index, name))
    show(f"{what} options", lambda: plain(index.index_options))
    tell_texts(what, index)


def tell_keyspace(keyspace):
    for name in ("name", "durable_writes", "virtual", "graph_engine", "is_graph_enabled"):
        show(f"keyspace {name}", lambda: getattr(keyspace, name))
    for name in ("tables", "views", "user_types", "functions", "aggregates", "indexes"):
        show(f"keyspace {name}", lambda: sorted(getattr(keyspace, name)))
        show(f"keyspace {name} is a dict", lambda: isinstance(getattr(keyspace, name), dict))
    strategy = keyspace.replication_strategy
    show("strategy", lambda: (type(strategy).__name__, strategy.name, strategy.export_for_schema()))
    show("strategy options", lambda: (strategy.replication_factor, str(strategy.replication_factor_info)))
    show("user_type_strings", keyspace.user_type_strings)
    tell_texts("keyspace", keyspace)
    for name in TABLES:
        tell_table(f"table {name}", keyspace.tables[name])
    for name in sorted(keyspace.views):
        view = keyspace.views[name]
        for part in ("keyspace_name", "name", "base_table_name", "include_all_columns", "where_clause"):
            show(f"view {name} {part}", lambda: getattr(view, part))
        for part in ("partition_key", "clustering_key"):
            show(f"view {name} {part}", lambda: [column.name for column in getattr(view, part)])
        show(f"view {name} columns", lambda: list(view.columns))
        show(f"view {name} options", lambda: plain(dict(sorted(view.options.items()))))
        show(f"view {name} extensions", lambda: plain(view.extensions))
        show(f"view {name} of its table", lambda: keyspace.tables[view.base_table_name].views[name] is view)
        tell_columns(f"view {name}", view)
        tell_texts(f"view {name}", view)
    for name in sorted(keyspace.indexes):
        tell_index(f"index {name}", keyspace.indexes[name])
        table = keyspace.tables[keyspace.indexes[name].table_name]
        show(f"index {name} of its table", lambda: table.indexes[name] is keyspace.indexes[name])
    for name in sorted(keyspace.user_types):
        user_type = keyspace.user_types[name]
        show(f"type {name}", lambda: (user_type.keyspace, user_type.name, user_type.field_names, user_type.field_types))
        show(f"type {name} lists", lambda: (type(user_type.field_names).__name__, type(user_type.field_types).__name__))
        tell_texts(f"type {name}", user_type)
    for name in sorted(keyspace.functions):
        function = keyspace.functions[name]
        for part in (
            "keyspace",
            "name",
            "argument_types",
            "argument_names",
            "return_type",
            "language",
            "body",
            "called_on_null_input",
            "deterministic",
            "monotonic",
            "signature",
        ):
            show(f"function {name} {part}", lambda: plain(getattr(function, part)))
        show(f"function {name} monotonic_on", lambda: list(function.monotonic_on))
        tell_texts(f"function {name}", function)
    for name in sorted(keyspace.aggregates):
        aggregate = keyspace.aggregates[name]
        for part in (
            "keyspace",
            "name",
            "argument_types",
            "state_func",
            "state_type",
            "final_func",
            "initial_condition",
            "return_type",
            "deterministic",
            "signature",
        ):
            show(f"aggregate {name} {part}", lambda: plain(getattr(aggregate, part)))
        tell_texts(f"aggregate {name}", aggregate)


def tell_hosts(cluster, session):
    metadata = cluster.metadata
    show("cluster name", lambda: metadata.cluster_name)
    show("partitioner", lambda: metadata.partitioner)
    show("dbaas", lambda: metadata.dbaas)
    show("can support partitioner", metadata.can_support_partitioner)
    show("all_hosts", metadata.all_hosts)
    show("all_hosts type", lambda: type(metadata.all_hosts()).__name__)
    show("all_hosts_items", lambda: [(key == host.host_id, host) for key, host in metadata.all_hosts_items()])
    host = metadata.all_hosts()[0]
    for name in (
        "endpoint",
        "address",
        "datacenter",
        "rack",
        "is_up",
        "release_version",
        "broadcast_address",
        "broadcast_rpc_address",
        "listen_address",
        "sharding_info",
        "dse_version",
        "dse_workload",
        "dse_workloads",
        "lock",
    ):
        show(f"host {name}", lambda: getattr(host, name))
    show("host", lambda: (str(host), repr(host), host == host, host < host, host != "x", hash(host) == hash(host)))
    show("host id", lambda: type(host.host_id).__name__)
    show("host methods", lambda: (host.is_currently_reconnecting(), type(host.conviction_policy).__name__))
    show("get_host by address", lambda: metadata.get_host(host.address) is host)
    show("get_host by address and port", lambda: metadata.get_host(host.address, host.endpoint.port) is host)
    show("get_host by endpoint", lambda: metadata.get_host(host.endpoint) is host)
    show("get_host of nobody", lambda: metadata.get_host("1.2.3.4"))
    show("get_host_by_host_id", lambda: metadata.get_host_by_host_id(host.host_id) is host)
    show("get_host_by_host_id of nobody", lambda: metadata.get_host_by_host_id("x"))
    show("replicas", lambda: metadata.get_replicas(session.keyspace, b"\0\0\0\1"))
    show("replicas type", lambda: type(metadata.get_replicas(session.keyspace, b"\0\0\0\1")).__name__)
    show("replicas of no keyspace", lambda: metadata.get_replicas("nothing", b"\0\0\0\1"))
    show("replicas of system", lambda: metadata.get_replicas("system", b"\0\0\0\1"))
    token_map = metadata.token_map
    show("token map", lambda: (type(token_map).__name__, token_map.token_class.__name__))
    show("ring", lambda: (type(token_map.ring).__name__, len(token_map.ring), token_map.ring == sorted(token_map.ring)))
    show("ring token", lambda: (type(token_map.ring[0]).__name__, repr(token_map.ring[0])[:15]))
    show("owners", lambda: set(token_map.token_to_host_owner.values()))
    show("owners are the ring's", lambda: sorted(token_map.token_to_host_owner) == token_map.ring)
    show("token map replicas", lambda: token_map.get_replicas(session.keyspace, Murmur3Token(5)))
    show("token map replicas of no keyspace", lambda: token_map.get_replicas("nothing", Murmur3Token(5)))
    show("tokens by keyspace", lambda: session.keyspace in token_map.tokens_to_hosts_by_ks)
    show("hosts of tokens", lambda: token_map.tokens_to_hosts_by_ks[session.keyspace][token_map.ring[0]])
    strategy = metadata.keyspaces[session.keyspace].replication_strategy
    replicas = strategy.make_token_replica_map(token_map.token_to_host_owner, token_map.ring)
    show("strategy's map", lambda: next(iter(replicas.values())))
    show("group_keys_by_replica", group_keys_by_replica, session, session.keyspace, "plain", [(1,), (2,)])
    show("group by composite", group_keys_by_replica, session, session.keyspace, "composite", [(1, "a"), (2, "b")])
    show("group of no table", group_keys_by_replica, session, session.keyspace, "nothing", [(1,)])
    show("group of no keyspace", group_keys_by_replica, session, "nothing", "plain", [(1,)])


def tell_pools(session):
    state = session.get_pool_state()
    show("pool state hosts", lambda: list(state))
    show("pool state", lambda: {name: state[next(iter(state))][name] for name in ("shutdown", "open_count")})
    for name in ("in_flights", "orphan_requests"):
        show(f"pool state {name}", lambda: state[next(iter(state))][name])
    show("pools", lambda: (len(list(session.get_pools())), next(iter(session.get_pools())).host))


def tell_changes(cluster, session):
    """What is found, and what is held, follows changes."""
    metadata = cluster.metadata
    name = session.keyspace
    keyspace = metadata.keyspaces[name]
    session.execute("CREATE TABLE followed (a int PRIMARY KEY, b int)")
    show("created", lambda: "followed" in metadata.keyspaces[name].tables)
    show("created in what is held", lambda: "followed" in keyspace.tables)
    session.execute("ALTER TABLE followed ADD c text")
    show("altered", lambda: list(metadata.keyspaces[name].tables["followed"].columns))
    show("altered in what is held", lambda: list(keyspace.tables["followed"].columns))
    session.execute("ALTER TABLE followed DROP b")
    session.execute("ALTER TABLE followed RENAME a TO z")
    session.execute("ALTER TABLE followed WITH comment = 'x'")
    show(
        "altered again",
        lambda: (list(keyspace.tables["followed"].columns), keyspace.tables["followed"].options["comment"]),
    )
    session.execute("CREATE INDEX on_c ON followed (c)")
    show("index", lambda: ("on_c" in keyspace.indexes, list(keyspace.tables["followed"].indexes)))
    session.execute("DROP INDEX on_c")
    show("no index", lambda: ("on_c" in keyspace.indexes, list(keyspace.tables["followed"].indexes)))
    session.execute(
        "CREATE MATERIALIZED VIEW followed_view AS SELECT * FROM followed WHERE z IS NOT NULL AND c IS NOT NULL"
        " PRIMARY KEY (c, z)"
    )
    show("view", lambda: ("followed_view" in keyspace.views, list(keyspace.tables["followed"].views)))
    session.execute("ALTER MATERIALIZED VIEW followed_view WITH comment = 'y'")
    show("altered view", lambda: keyspace.views["followed_view"].options["comment"])
    show("altered view of table", lambda: keyspace.tables["followed"].views["followed_view"].options["comment"])
    session.execute("ALTER TABLE followed ADD d int")
    show("column of view", lambda: list(keyspace.views["followed_view"].columns))
    session.execute("DROP MATERIALIZED VIEW followed_view")
    show("no view", lambda: ("followed_view" in keyspace.views, list(keyspace.tables["followed"].views)))
    session.execute("DROP TABLE followed")
    show("dropped", lambda: "followed" in keyspace.tables)
    session.execute("CREATE TYPE followed (a int)")
    session.execute("ALTER TYPE followed ADD b int")
    session.execute("ALTER TYPE followed RENAME a TO z")
    show("type", lambda: keyspace.user_types["followed"].as_cql_query())
    session.execute("DROP TYPE followed")
    show("no type", lambda: "followed" in keyspace.user_types)
    session.execute(
        "CREATE OR REPLACE FUNCTION followed(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS 'return 1;'"
    )
    session.execute(
        "CREATE OR REPLACE FUNCTION followed(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS 'return 2;'"
    )
    show("function", lambda: keyspace.functions["followed(int)"].body)
    session.execute("DROP FUNCTION followed(int)")
    show("no function", lambda: "followed(int)" in keyspace.functions)
    session.execute("CREATE AGGREGATE followed(int) SFUNC add_up STYPE int INITCOND 1")
    session.execute("CREATE OR REPLACE AGGREGATE followed(int) SFUNC add_up STYPE int INITCOND 2")
    show("aggregate", lambda: keyspace.aggregates["followed(int)"].initial_condition)
    session.execute("DROP AGGREGATE followed(int)")
    show("no aggregate", lambda: "followed(int)" in keyspace.aggregates)
    session.execute(f"ALTER KEYSPACE {name} WITH durable_writes = false")
    show("keyspace", lambda: metadata.keyspaces[name].as_cql_query())
    session.execute("DROP KEYSPACE IF EXISTS other_compat")
    session.execute(
        "CREATE KEYSPACE other_compat WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': '1'}"
    )
    other = metadata.keyspaces["other_compat"]
    show("other keyspace", lambda: other.export_as_string())
    show("other strategy", lambda: (type(other.replication_strategy).__name__, other.replication_strategy.name))
    show("other factors", lambda: plain(other.replication_strategy.dc_replication_factors))
    session.execute(
        "ALTER KEYSPACE other_compat WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}"
    )
    show("other strategy altered", lambda: metadata.keyspaces["other_compat"].as_cql_query())
    show("token map of other", lambda: len(metadata.token_map.get_replicas("other_compat", Murmur3Token(5))))
    session.execute("DROP KEYSPACE other_compat")
    show("no other keyspace", lambda: "other_compat" in metadata.keyspaces)
    show("token map of nothing", lambda: metadata.token_map.get_replicas("other_compat", Murmur3Token(5)))


def tell_refreshes(cluster, session):
    name = session.keyspace
    show("refresh schema", lambda: cluster.refresh_schema_metadata())
    show("refresh keyspace", cluster.refresh_keyspace_metadata, name)
    show("refresh table", cluster.refresh_table_metadata, name, "plain")
    show("refresh view", cluster.refresh_materialized_view_metadata, name, "by_c")
    show("refresh type", cluster.refresh_user_type_metadata, name, "address")
    show(
        "refresh function",
        cluster.refresh_user_function_metadata,
        name,
        UserFunctionDescriptor("add_up", ["int", "int"]),
    )
    show("refresh aggregate", cluster.refresh_user_aggregate_metadata, name, UserAggregateDescriptor("total", ["int"]))
    show("refresh nodes", cluster.refresh_nodes)
    show("refresh no table", cluster.refresh_table_metadata, name, "nothing")
    show("refresh no keyspace", cluster.refresh_keyspace_metadata, "nothing")
    show("refresh no type", cluster.refresh_user_type_metadata, name, "nothing")
    show("still there", lambda: sorted(cluster.metadata.keyspaces[name].tables))
    show(
        "descriptor",
        lambda: (str(SignatureDescriptor("f", ["int"])), repr(UserFunctionDescriptor("f", [])), protect_name("a b")),
    )


def tell_switches(cluster):
    contact = cluster.contact_points
    with Cluster(contact, port=cluster.port, schema_metadata_enabled=False, connect_timeout=60) as other:
        other.connect()
        show("no schema", lambda: (list(other.metadata.keyspaces), other.schema_metadata_enabled))
        show("no schema replicas", lambda: other.metadata.get_replicas("system", b"\0\0\0\1"))
        other.refresh_schema_metadata()
        show("refreshed without schema", lambda: "system" in other.metadata.keyspaces)
    with Cluster(contact, port=cluster.port, token_metadata_enabled=False, connect_timeout=60) as other:
        other.connect()
        show("no tokens", lambda: other.token_metadata_enabled)
        show("no tokens replicas", lambda: other.metadata.get_replicas("system", b"\0\0\0\1"))


with connect() as session:
    cluster = session.cluster
    for statement in DDL:
        show(" ".join(statement.split()[:4]), lambda: list(session.execute(statement, timeout=60)), text=True)
    cluster.refresh_schema_metadata()  # in the order of the server's rows
    tell_keyspace(cluster.metadata.keyspaces[session.keyspace])
    for name in ("system", "system_schema", "system_auth", "system_views", "system_virtual_schema"):
        keyspace = cluster.metadata.keyspaces[name]
        show(f"{name} tables", lambda: sorted(keyspace.tables))
        show(
            f"{name} virtual",
            lambda: (keyspace.virtual, keyspace.durable_writes, type(keyspace.replication_strategy).__name__),
        )
        show(f"{name} cql", lambda: keyspace.as_cql_query())
        show(f"{name} export", lambda: keyspace.export_as_string().replace('"columns"', "columns"))
    tell_table("table clients", cluster.metadata.keyspaces["system_views"].tables["clients"])
    tell_hosts(cluster, session)
    tell_pools(session)
    tell_changes(cluster, session)
    tell_refreshes(cluster, session)
    tell_switches(cluster)
    show("keyspaces", lambda: sorted(cluster.metadata.keyspaces))
    show("keyspaces are a dict", lambda: isinstance(cluster.metadata.keyspaces, dict))
    text = cluster.metadata.export_schema_as_string()
    show(
        "whole export",
        lambda: all(keyspace.export_as_string() in text for keyspace in cluster.metadata.keyspaces.values()),
    )
