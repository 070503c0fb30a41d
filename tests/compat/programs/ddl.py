"""CQL that hand-made metadata print. Runs with any driver; the output of scylla-driver 3.29.12 is in ddl.txt."""

# mypy: ignore-errors
from collections import OrderedDict

from cassandra.metadata import (
    Aggregate,
    ColumnMetadata,
    Function,
    IndexMetadata,
    KeyspaceMetadata,
    MaterializedViewMetadata,
    RegisteredTableExtension,
    TableMetadata,
    TableMetadataV3,
    TriggerMetadata,
    UserType,
)


def show(what, function, *args, **kwargs):
    try:
        print(f"--- {what}\n{function(*args, **kwargs)}")
    except Exception as error:
        print(f"--- {what} raises {type(error).__name__}")


def texts(what, thing):
    show(f"{what} as_cql_query", thing.as_cql_query)
    try:
        show(f"{what} formatted", thing.as_cql_query, formatted=True)
    except TypeError:
        print("no formatted")
    show(f"{what} export", thing.export_as_string)


def column(table, name, cql_type="int", place="regular", **more):
    made = ColumnMetadata(table, name, cql_type, **more)
    table.columns[name] = made
    if place == "partition":
        table.partition_key.append(made)
    elif place == "clustering":
        table.clustering_key.append(made)
    return made


OPTIONS = {
    "bloom_filter_fp_chance": 0.01,
    "caching": {"keys": "ALL", "rows_per_partition": "NONE"},
    "comment": 'it\'s a "comment"',
    "compaction": {"class": "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy", "max_threshold": "32"},
    "compression": {"chunk_length_in_kb": "64", "class": "org.apache.cassandra.io.compress.LZ4Compressor"},
    "crc_check_chance": 1.0,
    "dclocal_read_repair_chance": 0.1,
    "default_time_to_live": 0,
    "gc_grace_seconds": 864000,
    "max_index_interval": 2048,
    "memtable_flush_period_in_ms": 0,
    "min_index_interval": 128,
    "read_repair_chance": 0.0,
    "speculative_retry": "99PERCENTILE",
}


def keyspaces():
    for name, durable, strategy, options in (
        ("ks", True, "SimpleStrategy", {"replication_factor": "1"}),
        ("ks", False, "org.apache.cassandra.locator.SimpleStrategy", {"replication_factor": 3}),
        ("Ks", True, "NetworkTopologyStrategy", {"dc1": "3", "dc2": "2"}),
        ("Ks", True, "NetworkTopologyStrategy", OrderedDict([("z", "3"), ("a", "2/1")])),
        ("select", True, "NetworkTopologyStrategy", {}),
        ("with space", True, "LocalStrategy", {}),
        ("k1", True, "org.example.OwnStrategy", {"a": "1", "b": "x"}),
        ("k1", True, "OwnStrategy", {}),
        ("k1", 1, "SimpleStrategy", {"replication_factor": "3/1"}),
        ("k1", None, "SimpleStrategy", {"replication_factor": "3"}),
    ):
        what = f"keyspace {name} {durable} {strategy} {options}"
        try:
            made = KeyspaceMetadata(name, durable, strategy, options)
        except Exception as error:
            print(what, "raises", type(error).__name__)
            continue
        texts(what, made)
        print(made.replication_strategy.__class__.__name__, made.is_graph_enabled, made.graph_engine, made.virtual)
    virtual = KeyspaceMetadata("system_views", False, None, None)
    virtual.virtual = True
    texts("virtual", virtual)
    table = TableMetadata("system_views", "clients", virtual=True)
    column(table, "address", "inet", "partition")
    column(table, "port", "int", "clustering", is_reversed=True)
    column(table, "Name", "text")
    table.options["comment"] = "currently connected"
    virtual.tables["clients"] = table
    virtual.tables["bare"] = bare = TableMetadataV3("system_views", "bare", virtual=True)
    column(bare, "a", "int", "partition")
    texts("virtual with tables", virtual)
    texts("virtual table", table)
    texts("bare virtual table", bare)


def whole_keyspace():
    keyspace = KeyspaceMetadata("whole", True, "SimpleStrategy", {"replication_factor": "1"})
    for name, fields in (
        ("zz", [("a", "frozen<mm>"), ("b", "list<frozen<aa>>")]),
        ("mm", [("c", "int")]),
        ("aa", [("d", "int")]),
        ("Mixed Case", [("e", "text"), ("F g", "int")]),
        ("own", [("f", "map<text, frozen<tuple<aa, mm>>>")]),
    ):
        keyspace.user_types[name] = UserType("whole", name, [f[0] for f in fields], [f[1] for f in fields])
    for name, types in (("f1", ["int"]), ("f2", []), ("F3", ["text", "frozen<list<int>>"])):
        function = Function(
            "whole",
            name,
            types,
            [f"a{i}" for i in range(len(types))],
            "int",
            "java",
            "return 1;",
            True,
            False,
            False,
            [],
        )
        keyspace.functions[function.signature] = function
    aggregate = Aggregate("whole", "agg", ["int"], "f1", "int", None, None, "int", False)
    keyspace.aggregates[aggregate.signature] = aggregate
    for name in ("t2", "t1"):
        table = TableMetadataV3("whole", name, options=dict(OPTIONS))
        column(table, "a", "int", "partition")
        keyspace.tables[name] = table
    view = MaterializedViewMetadata("whole", "v1", "t1", True, "a IS NOT NULL", dict(OPTIONS))
    column(view, "a", "int", "partition")
    keyspace.views["v1"] = view
    keyspace.tables["t1"].views["v1"] = view
    index = IndexMetadata("whole", "t1", "i1", "COMPOSITES", {"target": "a"})
    keyspace.indexes["i1"] = index
    keyspace.tables["t1"].indexes["i1"] = index
    texts("whole", keyspace)
    print(keyspace.user_type_strings())
    strings = []
    types = dict(keyspace.user_types)
    keyspace.resolve_user_types("zz", types, strings)
    print(strings, list(types))


def tables():
    for cls in (TableMetadata, TableMetadataV3):
        name = cls.__name__
        empty = cls("ks", "empty")
        texts(f"{name} empty", empty)
        print(empty.primary_key, list(empty.columns), empty.options, list(empty.triggers), empty.indexes, empty.views)
        print(empty.comparator, empty.extensions, empty.is_compact_storage, empty.virtual, empty.is_cql_compatible)
        plain = cls("ks", "plain")
        column(plain, "a", "int", "partition")
        texts(f"{name} one column", plain)
        column(plain, "b", "text")
        texts(f"{name} two columns", plain)
        options = {k: v for k, v in OPTIONS.items() if cls is TableMetadataV3 or not isinstance(v, dict)}
        wide = cls("Ks", "Wide Table", options=options)
        column(wide, "a", "int", "partition")
        column(wide, "B", "text", "clustering", is_reversed=True)
        column(wide, "c", "text", "clustering")
        column(wide, "select", "map<text, frozen<list<int>>>")
        column(wide, "s", "int", is_static=True)
        texts(f"{name} wide", wide)
        composite = cls("ks", "composite")
        column(composite, "a", "int", "partition")
        column(composite, "b", "int", "partition")
        texts(f"{name} composite", composite)
        column(composite, "c", "int", "clustering")
        texts(f"{name} composite clustered", composite)
        composite.is_compact_storage = True
        texts(f"{name} compact", composite)
        composite.options["comment"] = ""
        composite.options["cdc"] = True
        composite.options["default_time_to_live"] = None
        composite.options["own"] = "own"
        composite.options["speculative_retry"] = "NONE"
        texts(f"{name} options", composite)
        single = cls("ks", "single", options={"comment": "x"})
        column(single, "a", "int", "partition")
        single.is_compact_storage = True
        texts(f"{name} single", single)
        no_key = cls("ks", "nokey")
        column(no_key, "a")
        texts(f"{name} no key", no_key)
        static = cls("ks", "compact")
        column(static, "key", "blob", "partition")
        column(static, "column1", "text", "clustering")
        column(static, "value", "blob")
        static.is_compact_storage = True
        static.comparator = "org.apache.cassandra.db.marshal.UTF8Type"
        texts(f"{name} comparator", static)
        print(static.is_cql_compatible)
        for options in (
            {"cdc": None},
            {"cdc": False},
            {"cdc": True},
            {"caching": '{"keys":"ALL", "rows_per_partition":"NONE"}'},
            {"compression_parameters": "{}", "compaction_strategy_class": "a.B", "compaction_strategy_options": "{}"},
            {"min_compaction_threshold": 4, "max_compaction_threshold": 32},
            {"read_repair": "BLOCKING", "additional_write_policy": "99p", "memtable": "default"},
            {"replicate_on_write": True, "in_memory": False, "populate_io_cache_on_flush": False},
            {"b": 1, "a": 2.5, "c": 1e-7, "d": float("inf"), "g": "x'y"},
            {"paxos_grace_seconds": 5, "synchronous_updates": True},
        ):
            one = cls("ks", "one", options=options)
            column(one, "a", "int", "partition")
            show(f"{name} {options}", one.as_cql_query)
            show(f"{name} {options} formatted", one.as_cql_query, formatted=True)
            show(f"{name} strings {options}", cls._make_option_strings, dict(options))


def parts_of_tables():
    table = TableMetadataV3("ks", "t", options={"comment": "c"})
    column(table, "a", "int", "partition")
    column(table, "b", "int")
    for kind, options in (
        ("COMPOSITES", {"target": "b"}),
        ("COMPOSITES", {"target": "values(b)"}),
        ("COMPOSITES", {"target": '"B c"'}),
        ("KEYS", {"target": "b", "x": "y"}),
        ("CUSTOM", {"target": "b", "class_name": "org.x.Index"}),
        ("CUSTOM", {"target": "b", "class_name": "org.x.Index", "mode": "CONTAINS", "analyzed": "true"}),
        ("CUSTOM", {"target": "b", "class_name": "StorageAttachedIndex", "it's": "it's"}),
        ("OTHER", {"target": "b"}),
    ):
        index = None
        try:
            index = IndexMetadata("ks", "t", "t_b_idx", kind, options)
        except Exception as error:
            print("index", kind, options, "raises", type(error).__name__)
            continue
        texts(f"index {kind} {options}", index)
    texts("index names", IndexMetadata("Ks", "select", "My Idx", "COMPOSITES", {"target": "b"}))
    index = IndexMetadata("ks", "t", "t_b_idx", "COMPOSITES", {"target": "b"})
    print(index.keyspace_name, index.table_name, index.name, index.kind, dict(index.index_options))
    table.indexes["i2"] = index
    table.indexes["i1"] = IndexMetadata("ks", "t", "i1", "CUSTOM", {"target": "a", "class_name": "x.Y"})
    for options in ({"class": "org.x.Trigger"}, {"class": "it's"}):
        show(f"trigger {options}", lambda o: texts(f"trigger {o}", TriggerMetadata(table, "trg", o)), options)
    table.triggers["trg"] = TriggerMetadata(table, "Trg", {"class": "org.x.Trigger"})
    view = MaterializedViewMetadata("ks", "v", "t", False, 'a IS NOT NULL AND "B" > 1', {"comment": "view"})
    column(view, "b", "int", "partition")
    column(view, "a", "int", "clustering", is_reversed=True)
    column(view, "C d", "int")
    texts("view", view)
    table.views["v"] = view
    texts("table with all", table)
    view2 = MaterializedViewMetadata("Ks", "V 2", "T t", True, "a IS NOT NULL", dict(OPTIONS))
    column(view2, "a", "int", "partition")
    column(view2, "B", "int", "partition")
    texts("view of all columns", view2)
    column(view2, "c", "int", "clustering")
    texts("view clustered", view2)
    view3 = MaterializedViewMetadata("ks", "v3", "t", True, "", {})
    texts("view of nothing", view3)
    table.views["v2"] = view2
    texts("table with two views", table)

    class Own(RegisteredTableExtension):
        name = "own_extension"

        @classmethod
        def after_table_cql(cls, table_meta, ext_key, ext_blob):
            return f"EXTEND {table_meta.name} {ext_key} {ext_blob!r};"

    class Silent(RegisteredTableExtension):
        name = "silent"

        @classmethod
        def after_table_cql(cls, table_meta, ext_key, ext_blob):
            return None

    table.extensions = OrderedDict([("other", b"1"), ("own_extension", b"2"), ("silent", b"3")])
    view.extensions = OrderedDict([("own_extension", b"view")])
    texts("extended table", table)
    texts("extended view", view)
    print(Own.name, table.columns["a"], str(table.columns["b"]))
    print(table.columns["a"].table is table, table.columns["a"].is_static, table.columns["a"].is_reversed)


def types_and_functions():
    for name, names, types in (
        ("t", ["a"], ["int"]),
        ("T t", ["A", "b c", "select"], ["int", "list<text>", 'frozen<"X">']),
        ("t", [], []),
        ("t", ["a", "b"], ["int", "vector<float, 3>"]),
    ):
        texts(f"type {name} {names}", UserType("ks", name, names, types))
    for args in (
        ("ks", "f", ["int"], ["a"], "int", "java", "return a;", True, False, False, []),
        ("ks", "f", ["int"], ["a"], "int", "java", "return a;", False, True, True, []),
        ("ks", "f", ["int", "text"], ["a", "b"], "int", "java", "return a;", False, True, False, ["a"]),
        ("ks", "f", ["int", "text"], ["a", "b"], "int", "lua", "return a;", False, False, True, ["a", "b"]),
        ("ks", "f", ["int", "text"], ["a", "b"], "int", "lua", "return a;", False, True, False, ["a", "b"]),
        (
            "Ks",
            "F f",
            ["frozen<list<int>>", "map<text, frozen<set<int>>>"],
            ["A", "select"],
            "tuple<int>",
            "javascript",
            "x$y 'z'",
            True,
            False,
            False,
            [],
        ),
        ("ks", "f", [], [], "text", "java", "", True, False, False, []),
        (
            "ks",
            "f",
            ["frozen<My>", 'frozen<"My T">', "frozen<frozen<list<int>>>"],
            ["a", "b", "c"],
            '"Z"',
            "java",
            "\n  return 1;\n",
            True,
            False,
            False,
            [],
        ),
    ):
        function = Function(*args)
        texts(f"function {args}", function)
        print(function.signature)
    for args in (
        ("ks", "a", ["int"], "sf", "int", None, None, "int", False),
        ("ks", "a", ["int"], "sf", "int", "ff", "0", "int", False),
        ("ks", "a", ["int"], "sf", "int", "ff", "0", "int", True),
        ("ks", "a", ["int"], "sf", "int", "", "", "int", True),
        (
            "Ks",
            "A a",
            ["int", "frozen<tuple<int, text>>"],
            "Sf",
            "frozen<tuple<int, bigint>>",
            "Ff",
            "(0, 0)",
            "frozen<list<int>>",
            False,
        ),
        ("ks", "a", [], "sf", "text", None, "'it''s'", "int", False),
        ("ks", "a", ["frozen<list<frozen<X>>>"], "sf", "map<text, frozen<list<int>>>", None, "{}", "double", False),
    ):
        aggregate = Aggregate(*args)
        texts(f"aggregate {args}", aggregate)
        print(aggregate.signature)


if __name__ == "__main__":
    keyspaces()
    whole_keyspace()
    tables()
    parts_of_tables()
    types_and_functions()
