"""Attributes and functions with an underscore, as programs and tests written for scylla-driver use them."""

# mypy: ignore-errors
# ruff: noqa
import warnings

from cases import case, each, show

warnings.simplefilter("ignore")

from cassandra import ConsistencyLevel, auth, cluster, connection, cqltypes, marshal, metadata, metrics, protocol
from cassandra import protocol_features, query, shard_info, util
from cassandra.murmur3 import _murmur3 as hash_of
from cassandra.metadata import *
from cassandra.metadata import Aggregate, Function, Metadata
from cassandra.query import BatchStatement, BoundStatement, PreparedStatement, SimpleStatement


def text(found):
    """For what has no repr."""
    return f"{type(found).__name__}({getattr(found, 'name', found)})"


# ---- constants

for module, names in (
    (auth, "_proxy_execute_key"),
    (cluster, "_proxy_execute_key _request_timeout_key"),
    (cqltypes, "_little_endian_flag _number_types"),
    (
        protocol,
        "_NAMES_FOR_VALUES_FLAG _PAGE_SIZE_BYTES_FLAG _PAGE_SIZE_FLAG _PAGING_OPTIONS_FLAG _PREPARED_WITH_KEYSPACE_FLAG "
        "_PROTOCOL_TIMESTAMP_FLAG _SKIP_METADATA_FLAG _VALUES_FLAG _WITH_KEYSPACE_FLAG _WITH_PAGING_STATE_FLAG _WITH_SERIAL_CONSISTENCY_FLAG",
    ),
    (metrics, "_stats_registry"),
    (query, "_clean_name_cache"),
    (util, "_nan _HAS_GEOMET"),
):
    for name in names.split():
        show(f"{module.__name__}.{name}", getattr, module, name)

for name in ("point_be", "point_le", "circle_be", "circle_le", "v3_header_struct"):
    show(name, lambda: (getattr(marshal, name).format, getattr(marshal, name).size))
show("cqltypes.point_be", lambda: (cqltypes.point_be.format, cqltypes.point_le.format))
show("frame_header_v3", lambda: connection.frame_header_v3.format)
show("custom", lambda: protocol.ResultMessage.type_codes[0] is protocol.CUSTOM_TYPE)
show("unset", lambda: cluster.FETCH_SIZE_UNSET is query.FETCH_SIZE_UNSET)
show(
    "profile",
    lambda: __import__("cassandra.concurrent").concurrent.EXEC_PROFILE_DEFAULT is cluster.EXEC_PROFILE_DEFAULT,
)
show("compressions", lambda: cluster.locally_supported_compressions is connection.locally_supported_compressions)
show("lwt", lambda: protocol_features._LwtInfo(5).lwt_meta_bit_mask)
show(
    "replication strategies",
    lambda: [metadata._replication_strategies[name].__name__ for name in ("SimpleStrategy", "LocalStrategy")],
)
show("bool", lambda: (auth._have_kerberos, auth._have_puresasl, auth.SASLClient))

# ---- functions

each("name of a profile", cluster._execution_profile_to_string, ["x"])
show("name of the default", cluster._execution_profile_to_string, cluster.EXEC_PROFILE_DEFAULT)
for points in ([("127.0.0.1", 9043)], [("::1", 1)], [], [("127.0.0.1", 1), ("127.0.0.1", 1)], ["127.0.0.1"]):
    show(f"contact points {points}", util._resolve_contact_points_to_string_map, points)
show("addresses", util._addrinfo_or_none, "127.0.0.1", 9042)
show("no addresses", util._addrinfo_or_none, "no such host", 9042)
show("addresses as text", lambda: util._addrinfo_to_ip_strings(util._addrinfo_or_none("127.0.0.1", 9042)))
each("name from hex", cqltypes._name_from_hex_string, ["666f6f", b"666f6f"])
show("scan a CQL type", cqltypes.cql_type_scanner.scan, "frozen<map<text, list<int>>>")
show("scan a type", cqltypes.casstype_scanner.scan, "org.apache.cassandra.db.marshal.ListType(A(6b:B,C))")
show("strip", lambda: [kind.__name__ for kind in cqltypes._strip_frozen_from_python([cqltypes.UTF8Type])])
show("strip frozen", cqltypes._strip_frozen_from_python, ["map", ["frozen", ["text"], "x"]])
show("packer", lambda: [marshal._make_packer(">i")[0](5), marshal._make_packer(">i")[1](b"\0\0\0\5")])
each(
    "CQL of",
    lambda name: metadata._cql_from_cass_type(cqltypes.lookup_casstype(name)),
    ["ReversedType(Int32Type)", "ListType(UTF8Type)", "FrozenType(ListType(UTF8Type))"],
)
show("encoder", lambda: metadata._encoder.cql_encode_all_types("it's"))
show("unknown strategy", lambda: str(metadata._UnknownStrategy("Foo", {"a": 1}).export_for_schema()))
show("unknown strategy built", lambda: str(metadata._UnknownStrategyBuilder("Foo")({"a": 1}).export_for_schema()))
show("unknown strategy's name", lambda: metadata._UnknownStrategy("Foo", {"a": 1}).name)
show(
    "unknown strategies",
    lambda: metadata._UnknownStrategy("Foo", {"a": 1}) == metadata._UnknownStrategy("Foo", {"a": 1}),
)
show("unknown strategy's replicas", lambda: metadata._UnknownStrategy("Foo", {"a": 1}).make_token_replica_map({}, []))
each("mode", metadata._consistency_mode_from_string, [None, "eventual", "local", "global", "other"])


class Features:
    use_metadata_id = True


class None_:
    use_metadata_id = False


for version in (3, 4, 5):
    for features in (Features, None_, None):
        show(
            f"metadata ids {version} {features and features.__name__}",
            protocol._metadata_id_negotiated,
            version,
            features,
        )

show("parameters", lambda: sorted(name for name, _ in protocol._get_params(protocol.OptionsMessage())))
show("hash", hash_of, b"abc")
each("hash", hash_of, [b"", b"a" * 33])
show("sanitize", query._sanitize_identifiers, ["a", "1", "a"])

Frame = connection._Frame
show("frame", lambda: sorted(vars(Frame(4, 0, 1, 2, 9, 20)).items()))
show(
    "frames",
    lambda: [Frame(4, 0, 1, 2, 9, 20) == other for other in (Frame(4, 0, 1, 2, 9, 20), Frame(5, 0, 1, 2, 9, 20), 5)],
)
show("frame's text", lambda: str(Frame(4, 0, 1, 2, 9, 20)))

Ring = util._LinearRing
show(
    "ring", lambda: [Ring([(1, 2)]), Ring(), Ring([(1, 2)]) == Ring([(1, 2)]), str(Ring([(1, 2), (3, 4)])), str(Ring())]
)
show("rings", lambda: [len({Ring([(1, 2)]), Ring([(1, 2)])}), Ring([(1, 2)]).coords])

# ---- statements

statement = SimpleStatement("x")


@case("routing key by its accessors")
def _():
    found = [statement._get_routing_key()]
    statement._set_routing_key(b"k")
    found.append(statement._get_routing_key())
    statement._set_routing_key([b"a", b"b"])
    found.append(statement._get_routing_key())
    statement._del_routing_key()
    return [*found, statement._get_routing_key()]


@case("serial level by its accessors")
def _():
    statement._set_serial_consistency_level(ConsistencyLevel.SERIAL)
    found = [statement._get_serial_consistency_level()]
    statement._del_serial_consistency_level()
    return [*found, statement._get_serial_consistency_level()]


show("packed", lambda: b"".join(statement._key_parts_packed([b"a", b"bc"])))
show("packed text", lambda: list(SimpleStatement("x")._key_parts_packed([])))


@case("what is in a batch")
def _():
    batch = BatchStatement()
    batch.add("x")
    batch.add("y = %s", (1,))
    return batch._statements_and_parameters


@case("routing key indexes are settable")
def _():
    columns = [protocol.ColumnMetadata("ks", "t", name, cqltypes.Int32Type) for name in "ab"]
    prepared = PreparedStatement(columns, b"id", None, "q", "ks", 4, [], b"m")
    prepared.routing_key_indexes = [1]
    return prepared.routing_key_indexes, prepared.bind([1, 2]).routing_key


# ---- metadata


def column(table, name, cql_type="int"):
    found = ColumnMetadata(table, name, cql_type)
    table.columns[name] = found
    return found


def keyspace(name="ks"):
    return KeyspaceMetadata(name, True, "SimpleStrategy", {"replication_factor": "1"})


def table(name="t", kind=TableMetadataV3):
    made = kind("ks", name)
    made.partition_key.append(column(made, "p"))
    made.clustering_key.append(column(made, "c", "text"))
    return made


@case("tables are added and dropped")
def _():
    ks, t, v = keyspace(), table(), None
    ks._add_table_metadata(t)
    found = [sorted(ks.tables)]
    t.indexes["i"] = IndexMetadata("ks", "t", "i", "COMPOSITES", {"target": "c"})
    again = table()
    again.indexes["i"] = IndexMetadata("ks", "t", "i", "COMPOSITES", {"target": "c"})
    ks._add_table_metadata(again)
    found += [sorted(ks.tables), sorted(ks.indexes), ks.tables["t"] is again]
    view = MaterializedViewMetadata("ks", "v", "t", True, "", {})
    ks._add_view_metadata(view)
    found += [sorted(ks.views), sorted(again.views)]
    third = table()
    ks._add_table_metadata(third)
    found += [sorted(ks.views), sorted(third.views), sorted(ks.indexes)]
    ks._drop_table_metadata("t")
    found += [sorted(ks.tables), sorted(ks.views), sorted(ks.indexes)]
    ks._drop_table_metadata("t")
    ks._drop_table_metadata("none")
    return found


@case("views are dropped")
def _():
    ks, t = keyspace(), table()
    ks._add_table_metadata(t)
    view = MaterializedViewMetadata("ks", "v", "t", True, "", {})
    ks._add_view_metadata(view)
    ks._drop_table_metadata("v")
    return sorted(ks.tables), sorted(ks.views), sorted(t.views)


@case("a view of no table")
def _():
    ks = keyspace()
    ks._add_view_metadata(MaterializedViewMetadata("ks", "v", "none", True, "", {}))
    return sorted(ks.views)


@case("metadata are updated")
def _():
    found, made = [], Metadata()
    made._update_keyspace(keyspace())
    found.append(sorted(made.keyspaces))
    t = table()
    made._update_table(t)
    found.append(made.keyspaces["ks"].tables["t"] is t)
    again = keyspace()
    made._update_keyspace(again)
    found += [made.keyspaces["ks"] is again, sorted(again.tables)]
    made._update_type(UserType("ks", "u", ["a"], ["int"]))
    made._update_function(Function("ks", "f", ["int"], ["a"], "int", "java", "return a;", True, False, False, False))
    made._update_aggregate(Aggregate("ks", "a", ["int"], "f", "int", None, None, "int", False))
    found += [sorted(again.user_types), sorted(again.functions), sorted(again.aggregates)]
    made._update_table(table("other"))
    made._update_table(MaterializedViewMetadata("ks", "v", "t", True, "", {}))
    found += [sorted(again.tables), sorted(again.views)]
    made._drop_table("ks", "other")
    made._drop_type("ks", "u")
    found += [sorted(again.tables), sorted(again.user_types)]
    made._drop_keyspace("ks")
    return [*found, sorted(made.keyspaces)]


@case("types of a keyspace are kept or given")
def _():
    made, first, second, third = Metadata(), keyspace(), keyspace(), keyspace()
    made._update_keyspace(first)
    made._update_type(UserType("ks", "u", ["a"], ["int"]))
    made._update_keyspace(second)
    found = [sorted(second.user_types)]
    made._update_keyspace(third, {"w": 1})
    return [*found, sorted(third.user_types)]


@case("what is dropped need not be there")
def _():
    made = Metadata()
    made._drop_keyspace("none")
    made._drop_table("none", "t")
    made._drop_type("none", "t")
    made._update_table(table())
    return sorted(made.keyspaces)


@case("functions and aggregates are dropped")
def _():
    from cassandra import UserAggregateDescriptor, UserFunctionDescriptor

    made = Metadata()
    made._update_keyspace(keyspace())
    made._update_function(Function("ks", "f", ["int"], ["a"], "int", "java", "return a;", True, False, False, False))
    made._update_aggregate(Aggregate("ks", "a", ["int"], "f", "int", None, None, "int", False))
    made._drop_function("ks", UserFunctionDescriptor("f", ["int"]))
    made._drop_aggregate("ks", UserAggregateDescriptor("a", ["int"]))
    ks = made.keyspaces["ks"]
    return sorted(ks.functions), sorted(ks.aggregates)


show("errors", lambda: [keyspace()._exc_info, table()._exc_info, table(kind=TableMetadata)._exc_info])
show("type of a column", lambda: column(table(), "x")._cass_type)
show("consistency of a keyspace", lambda: keyspace()._consistency_mode)
show("all of a table", lambda: table()._all_as_cql())
show("options", lambda: TableMetadataV3._property_string(False, [], {"a": 1, "b": "x"}))
show("options of a table", lambda: TableMetadata._property_string(True, table().clustering_key, {"a": 1}, True))
show("options of an order", lambda: TableMetadataV3._property_string(False, table().clustering_key, {}))
