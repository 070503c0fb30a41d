"""Object mapper: keyspaces, tables and types made from models. Runs with any driver; see mapper_management.txt.

What differs on purpose has no case here: options that are changed (theirs puts numbers and texts in quotes), types of
tuples (theirs warns of each), columns that were just added (theirs logs them as unknown), types with names that need
quotes.
"""

# mypy: ignore-errors

import os

from cases import KEYSPACE, show
from mapping import mapped, sent, warned

from cassandra.cqlengine import CQLEngineException, columns, connection, management, models
from cassandra.cqlengine.management import (
    create_keyspace_network_topology,
    create_keyspace_simple,
    drop_keyspace,
    drop_table,
    get_create_type,
    sync_table,
    sync_type,
)
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.usertype import UserType

OTHERS = [f"{KEYSPACE}_{number}" for number in range(5)]


def model(name, /, table=None, bases=(Model,), **attributes):
    return type(name, bases, {"__table_name__": table or name.lower(), **attributes})


def key(**options):
    return columns.Integer(primary_key=True, **options)


def table_of(model):
    metadata = (
        connection.get_cluster().metadata.keyspaces[model._get_keyspace()].tables[model._raw_column_family_name()]
    )
    return (
        [(column.name, column.cql_type, column.is_static, column.is_reversed) for column in metadata.columns.values()],
        [column.name for column in metadata.partition_key],
        [column.name for column in metadata.clustering_key],
        sorted((name, index.kind, index.index_options.get("target")) for name, index in metadata.indexes.items()),
    )


def options_of(model, *names):
    options = connection.get_cluster().metadata.keyspaces[KEYSPACE].tables[model._raw_column_family_name()].options
    return {name: dict(options[name]) if hasattr(options[name], "items") else options[name] for name in names}


class Every(Model):
    p1 = columns.UUID(partition_key=True)
    p2 = columns.Ascii(partition_key=True, db_field="P2")
    c1 = columns.Integer(primary_key=True, clustering_order="DESC")
    c2 = columns.TimeUUID(primary_key=True)
    c3 = columns.Date(primary_key=True, clustering_order="asc")
    shared = columns.Text(static=True)
    shared_words = columns.Set(columns.Text, static=True)
    a = columns.BigInt()
    b = columns.Blob()
    c = columns.Boolean()
    d = columns.DateTime()
    e = columns.Decimal()
    f = columns.Double()
    g = columns.Duration()
    h = columns.Float()
    i = columns.Inet()
    j = columns.SmallInt(index=True)
    k = columns.TinyInt()
    l = columns.Time()
    m = columns.VarInt()
    n = columns.List(columns.Integer)
    o = columns.Set(columns.Text, index=True)
    p = columns.Map(columns.Text, columns.List(columns.Integer))
    q = columns.Map(columns.Text, columns.Set(columns.Text), index=True)
    r = columns.Bytes()
    s = columns.Text(custom_index=True)
    t = columns.List(columns.Map(columns.Text, columns.UUID))
    select = columns.Text()
    Upper = columns.Text()


with mapped() as session, warned():
    connection.register_connection("other", session=session.cluster.connect())
    # keyspaces
    for name in OTHERS:
        session.execute(f"DROP KEYSPACE IF EXISTS {name}")
    sent("simple", create_keyspace_simple, OTHERS[0], 1)
    sent("simple again", create_keyspace_simple, OTHERS[0], 1)
    sent("simple, not durable", create_keyspace_simple, OTHERS[1], 1, durable_writes=False)
    sent("simple, factor as text", create_keyspace_simple, OTHERS[2], "1", connections=["default"])
    sent("topology", create_keyspace_network_topology, OTHERS[3], {"datacenter1": 1})
    sent("topology of an unknown datacenter", create_keyspace_network_topology, OTHERS[4], {"nowhere": 1})
    sent("topology again", create_keyspace_network_topology, OTHERS[3], {"datacenter1": 2})
    for name in OTHERS[:4]:
        metadata = session.cluster.metadata.keyspaces[name]
        show("keyspace", lambda: (metadata.durable_writes, metadata.replication_strategy.export_for_schema()))
    sent("connections as a text", create_keyspace_simple, OTHERS[4], 1, connections="default", text=True)
    sent("unknown connection", create_keyspace_simple, OTHERS[4], 1, connections=["nothing"], text=True)
    sent("no name for a keyspace", create_keyspace_simple, "a-b", 1)
    for name in OTHERS[1:]:
        sent("drop", drop_keyspace, name)
    sent("drop again", drop_keyspace, OTHERS[1])
    sent("drop on a connection", drop_keyspace, OTHERS[1], connections=["default"])

    # tables
    sent("every", sync_table, Every)
    show("every is", table_of, Every)
    sent("every again", sync_table, Every)
    sent("drop", drop_table, Every)
    sent("drop again", drop_table, Every)
    plain = model("Plain", id=key(), text=columns.Text())
    sent("plain", sync_table, plain)
    sent("plain again", sync_table, plain)
    more = model(
        "More", "plain", id=key(), text=columns.Text(), more=columns.Integer(), Upper=columns.Float(db_field="Up per")
    )
    session.cluster.metadata.keyspaces[KEYSPACE]
    for name, other in {
        "another type": model("A", "plain", id=key(), text=columns.Integer()),
        "another type of the key": model("B", "plain", id=columns.Text(primary_key=True), text=columns.Text()),
        "a longer key": model("C", "plain", id=key(), text=columns.Text(primary_key=True)),
        "a new column in the key": model("D", "plain", id=key(), new=key(), text=columns.Text()),
        "another key": model("E", "plain", text=columns.Text(primary_key=True)),
        "another name of the key": model("F", "plain", new=columns.Text(primary_key=True)),
        "a longer partition key": model(
            "G", "plain", id=columns.Integer(partition_key=True), text=columns.Text(partition_key=True)
        ),
        "the key in the table has another name": model("H", "plain", number=key(db_field="id"), text=columns.Text()),
        "fewer columns": model("I", "plain", id=key()),
    }.items():
        sent(name, sync_table, other)
        show(f"{name} is", table_of, plain)
    told = []
    try:
        sync_table(model("C", "plain", id=key(), text=columns.Text(primary_key=True)))
    except CQLEngineException as error:
        told = str(error).partition(" PRIMARY")[2]
    show("text of the error", lambda: told)
    management.log.setLevel(30)  # theirs says of columns that it has just added that the model has them not
    sent("more columns", sync_table, more)
    show("more columns are", table_of, plain)
    sent("an index", sync_table, model("J", "plain", id=key(), text=columns.Text(index=True)))
    sent("an index again", sync_table, model("J", "plain", id=key(), text=columns.Text(index=True)))
    sent("fewer again", sync_table, plain)
    wide = model("Wide", id=key(), order=key(), text=columns.Text())
    sent("wide", sync_table, wide)
    sent(
        "static columns",
        sync_table,
        model(
            "Wide",
            id=key(),
            order=key(),
            text=columns.Text(),
            s=columns.Text(static=True),
            m=columns.Map(columns.Text, columns.Text, static=True, index=True),
        ),
    )
    show("static columns are", table_of, wide)
    sent("another order", sync_table, model("Wide", id=key(), order=key(clustering_order="desc"), text=columns.Text()))
    sent(
        "of the key",
        sync_table,
        model(
            "Keyed",
            a=columns.Integer(partition_key=True),
            b=columns.Integer(partition_key=True, index=True),
            c=key(index=True),
        ),
    )
    sent("counters", sync_table, model("Counters", id=key(), n=columns.Counter()))
    sent("two in two cases", sync_table, model("Cases", a=key(), A=columns.Integer()))
    sent("two in two cases again", sync_table, model("Cases", a=key(), A=columns.Integer()))
    sent("a reserved word", sync_table, model("Select", "select", id=key(), order=columns.Text(index=True)))
    sent("a reserved word again", sync_table, model("Select", "select", id=key(), order=columns.Text(index=True)))
    sent("case sensitive", sync_table, model("Sensitive", "Sensitive", __table_name_case_sensitive__=True, id=key()))
    sent(
        "case sensitive again",
        sync_table,
        model("Sensitive", "Sensitive", __table_name_case_sensitive__=True, id=key()),
    )
    sent("abstract", sync_table, model("Abstract", __abstract__=True, id=key()), text=True)
    sent("no model", sync_table, 3, text=True)
    sent("another class", sync_table, dict, text=True)
    sent("a name in capitals", sync_table, model("Lowered", "Lowered", id=key()))
    sent("a name in capitals again", sync_table, model("Lowered", "Lowered", id=key()))

    # indexes that there are
    session.execute(
        'CREATE TABLE indexed (id int PRIMARY KEY, m map<text,int>, l list<int>, s set<int>, f frozen<set<int>>, t text, "U u" text)'
    )
    for number, target in enumerate(("keys(m)", "entries(m)", "values(m)", "values(l)", "full(f)", "t", '"U u"')):
        session.execute(f"CREATE INDEX indexed_{number} ON indexed ({target})")
    session.execute("CREATE CUSTOM INDEX indexed_sai ON indexed (s) USING 'StorageAttachedIndex'")
    sent(
        "indexes",
        sync_table,
        model(
            "Indexed",
            id=key(),
            m=columns.Map(columns.Text, columns.Integer, index=True),
            l=columns.List(columns.Integer, index=True),
            s=columns.Set(columns.Integer, index=True),
            t=columns.Text(index=True),
            u=columns.Text(db_field="U u", index=True),
        ),
    )

    # options
    for number, options in enumerate(
        (
            {"comment": "it's", "gc_grace_seconds": 1000, "bloom_filter_fp_chance": 0.5},
            {"compaction": {"class": "LeveledCompactionStrategy", "sstable_size_in_mb": "64"}},
            {
                "compaction": {
                    "class": "SizeTieredCompactionStrategy",
                    "min_threshold": 4,
                    "tombstone_threshold": 0.3,
                    "unchecked_tombstone_compaction": True,
                }
            },
            {"caching": {"keys": "NONE"}, "default_time_to_live": 100, "crc_check_chance": 0.5},
            {"compression": {"class": "LZ4Compressor", "chunk_length_in_kb": 32}, "memtable_flush_period_in_ms": 5},
            {"comment": None},
            {},
            None,
            {"nothing": 1},
            {"comment": 5},
            {"speculative_retry": "90p", "max_index_interval": 4096},
        )
    ):
        optioned = model(f"Options{number}", __options__=options, id=key())
        sent(f"options {options}", sync_table, optioned)
        names = [name for name in options or () if name != "nothing"]
        show(f"options {options} are", lambda: options_of(optioned, *names))
        drop_table(optioned)
    ordered = model("Ordered", __options__={"comment": "x"}, id=key(), order=key(clustering_order="DESC"))
    sent("options and order", sync_table, ordered)
    for options in (
        {"comment": None},
        {},
        None,
        {"caching": {"keys": "ALL"}},
        {
            "compaction": {
                "class": "org.apache.cassandra.db.compaction.LeveledCompactionStrategy",
                "sstable_size_in_mb": "64",
            }
        },
        {
            "compaction": {
                "class": "org.apache.cassandra.db.compaction.LeveledCompactionStrategy",
                "sstable_size_in_mb": 64,
            }
        },
        {"compaction": {"sstable_size_in_mb": 64}},
        {"caching": {"keys": "NONE", "rows_per_partition": "10"}},
        {"caching": {"rows_per_partition": 10}},
        {"nothing": 1},
        {"gc_grace_seconds": 864000, "crc_check_chance": 1.0},
    ):
        ordered.__options__ = options
        sent(f"changed {options}", sync_table, ordered)
    show("changed are", options_of, ordered, "caching", "compaction")

    # polymorphism
    base = model("Base", "shapes", id=key(), kind=columns.Text(discriminator_column=True))
    circle = type("Circle", (base,), {"__discriminator_value__": "circle", "radius": columns.Integer()})
    square = type("Square", (base,), {"__discriminator_value__": "square", "side": columns.Integer(index=True)})
    for each in (base, circle, square, base):
        sent(each.__name__, sync_table, each)
    show("shapes", table_of, base)

    # types
    management.log.setLevel(30)

    class Inner(UserType):
        number = columns.Integer()
        Name = columns.Text(db_field="The Name")

    class Outer(UserType):
        __type_name__ = "outer_type"
        inner = columns.UserDefinedType(Inner)
        many = columns.List(columns.UserDefinedType(Inner))
        by_name = columns.Map(columns.Text, columns.UserDefinedType(Inner))

    class WithTypes(Model):
        id = columns.Integer(primary_key=True)
        outer = columns.UserDefinedType(Outer)
        inners = columns.Set(columns.UserDefinedType(Inner))

    sent("a user type as a table", sync_table, Inner, text=True)
    show("create type", get_create_type, Inner, "ks")
    show("create type of types", get_create_type, Outer, "ks")
    sent("types", sync_table, WithTypes)
    show("types are", table_of, WithTypes)
    sent("types again", sync_table, WithTypes)
    sent("type", sync_type, KEYSPACE, Outer)
    longer = type(
        "Longer",
        (UserType,),
        {
            "__type_name__": "inner",
            "number": columns.Integer(),
            "Name": columns.Text(db_field="The Name"),
            "extra": columns.List(columns.Text),
        },
    )
    sent("a longer type", sync_type, KEYSPACE, longer)
    sent("a longer type again", sync_type, KEYSPACE, longer)
    sent("a shorter type", sync_type, KEYSPACE, Inner)
    sent(
        "another type of a field",
        sync_type,
        KEYSPACE,
        type("Wrong", (UserType,), {"__type_name__": "inner", "number": columns.Text()}),
    )
    show("the type", lambda: session.cluster.metadata.keyspaces[KEYSPACE].user_types["inner"].as_cql_query())
    sent(
        "a new type",
        sync_type,
        KEYSPACE,
        type(
            "Fresh",
            (UserType,),
            {"a": columns.Integer(), "b": columns.Date(), "c": columns.Map(columns.Text, columns.Inet)},
        ),
    )
    sent("no type", sync_type, KEYSPACE, plain, text=True)
    sent("unknown connection of a type", sync_type, KEYSPACE, Inner, "nothing", text=True)
    sent("another keyspace of a type", sync_type, OTHERS[0], Outer)
    drop_table(WithTypes)

    # several keyspaces and connections
    for name, options in {
        "a keyspace": {"keyspaces": [OTHERS[0]]},
        "two keyspaces": {"keyspaces": (OTHERS[0], KEYSPACE)},
        "two of both": {"keyspaces": [OTHERS[0], KEYSPACE], "connections": ["default", "other"]},
        "empty": {"keyspaces": [], "connections": []},
        "keyspaces as a text": {"keyspaces": OTHERS[0]},
        "keyspaces as a set": {"keyspaces": {OTHERS[0]}},
        "connections as a text": {"connections": "other"},
        "unknown connection": {"connections": ["nothing"]},
    }.items():
        fresh = model("Fresh", id=key(), text=columns.Text())
        sent(name, sync_table, fresh, text=True, **options)
        sent(f"{name}, dropped", drop_table, fresh, text=True, **options)
    sent("unknown keyspace", sync_table, plain, keyspaces=["nothing"])
    sent("unknown keyspace, dropped", drop_table, plain, keyspaces=["nothing"])
    sent(
        "on another connection",
        sync_table,
        plain,
        connections=["other"],
        keyspaces=[OTHERS[0]],
        session=connection.get_session("other"),
    )
    own = model("Own", __connection__="other", id=key())
    sent("a model's connection", sync_table, own, session=connection.get_session("other"))
    sent("a model's connection, by default", drop_table, own, connections=["default"])
    sent("types in another keyspace", sync_table, WithTypes, keyspaces=[OTHERS[0]])
    sent("a model's keyspace", sync_table, model("InOther", __keyspace__=OTHERS[0], id=key()))
    models.DEFAULT_KEYSPACE = None
    sent("no keyspace", sync_table, model("Nowhere", id=key()))
    models.DEFAULT_KEYSPACE = KEYSPACE

    # what the environment says
    variable = management.CQLENG_ALLOW_SCHEMA_MANAGEMENT
    show("variable", lambda: variable)
    del os.environ[variable]
    for name, function, arguments in (
        ("create keyspace", create_keyspace_simple, (OTHERS[1], 1)),
        ("sync table", sync_table, (plain,)),
        ("sync type", sync_type, (KEYSPACE, Inner)),
        ("drop table", drop_table, (plain,)),
        ("drop keyspace", drop_keyspace, (OTHERS[1],)),
    ):
        sent(f"not allowed: {name}", function, *arguments)
    os.environ[variable] = ""
    sent("allowed by nothing", drop_keyspace, OTHERS[1])
    os.environ[variable] = "0"
    sent("allowed by anything", drop_keyspace, OTHERS[1])
    drop_keyspace(OTHERS[0])
