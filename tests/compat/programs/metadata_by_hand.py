"""What is made by hand: names, tokens, strategies, hosts, metadata. Runs with any driver; the output of scylla-driver
3.29.12 is in metadata_by_hand.txt."""

# mypy: ignore-errors
import uuid
from collections import OrderedDict

from cases import each, show

from cassandra.connection import DefaultEndPoint, UnixSocketEndPoint
from cassandra.metadata import (
    MAX_LONG,
    MIN_LONG,
    BytesToken,
    ColumnMetadata,
    KeyspaceMetadata,
    LocalStrategy,
    MD5Token,
    Metadata,
    Murmur3Token,
    NetworkTopologyStrategy,
    ReplicationFactor,
    ReplicationStrategy,
    SignatureDescriptor,
    SimpleStrategy,
    TableMetadata,
    Token,
    TokenMap,
    UserType,
    cql_keywords,
    cql_keywords_reserved,
    escape_name,
    is_valid_name,
    maybe_escape_name,
    protect_name,
    protect_names,
    protect_value,
)
from cassandra.policies import SimpleConvictionPolicy
from cassandra.pool import Host

NAMES = [
    "a",
    "A",
    "a1",
    "1a",
    "_a",
    "a_b",
    "",
    " ",
    "a b",
    'a"b',
    '"a"',
    '"',
    "select",
    "Select",
    "SELECT",
    "columns",
    "token",
    "key",
    "text",
    "cast",
    "any",
    "tables",
    "vector",
    "identity",
    "\u00e9",
    "a-b",
    "a.b",
    "a" * 60,
    "null",
    "nan",
    "infinity",
    "materialized",
    "mbean",
    "schema",
    "in",
    "is",
    "like",
    "group",
    "users",
    "rows",
    "node",
    "no",
    "call",
]
each("is_valid_name", is_valid_name, [*NAMES, None])
each("protect_name", protect_name, NAMES)
each("maybe_escape_name", maybe_escape_name, NAMES)
each("escape_name", escape_name, NAMES)
each("protect_value", protect_value, [None, True, False, 0, -5, 1.5, 1e100, "", "a", "it's", '"'])
show("protect_names", protect_names, ["a", "B", "select"])
show("protect_names type", lambda: type(protect_names(["a"])).__name__)
show("protect no names", protect_names, [])
show(
    "keywords",
    lambda: [name for name in sorted(cql_keywords) if not is_valid_name(name)] == sorted(cql_keywords_reserved),
)
show("reserved words", lambda: sorted(cql_keywords_reserved & {"select", "columns", "token", "schema", "text", "key"}))

show("longs", lambda: (MIN_LONG, MAX_LONG))
for cls in (Murmur3Token, MD5Token, BytesToken):
    name = cls.__name__
    for key in (b"", b"a", b"abc", b"\0\0\0\1", bytes(range(16)), bytes(range(33)), b"\xff" * 20):
        show(f"{name} of {key!r}", lambda: cls.from_key(key))
        show(f"{name} hash of {key!r}", lambda: cls.hash_fn(key))
        show(f"{name} value of {key!r}", lambda: cls.from_key(key).value)
for cls, texts in (
    (Murmur3Token, ["0", "-5", "9223372036854775807", "x", "", 7]),
    (MD5Token, ["0", "17", "x", 7]),
    (BytesToken, ["", "00", "ff01", b"ff"]),
):
    for text in texts:
        show(f"{cls.__name__} from {text!r}", lambda: (cls.from_string(text), cls.from_string(text).value))
each("Murmur3Token", Murmur3Token, [0, "5", -3, "x", None, 1.5])
each("MD5Token", MD5Token, [0, 5])
each("BytesToken", BytesToken, [b"abc", b""])
one, two = Murmur3Token(1), Murmur3Token(2)
show("compare", lambda: (one < two, one <= two, one > two, one >= two, one == two, one != two, one == Murmur3Token(1)))
show("hash", lambda: (hash(one) == hash(Murmur3Token(1)), len({one, two, Murmur3Token(1)})))
show("sorted", lambda: sorted([two, one]))
show("text", lambda: (str(one), repr(one)))
show("token", lambda: Token(5))
show("bytes tokens", lambda: (BytesToken(b"a") < BytesToken(b"b"), BytesToken(b"a") == BytesToken(b"a")))

each("ReplicationFactor", ReplicationFactor.create, ["3", 3, "3/1", "x", "", "3/x"])
for text in ("3", "3/1", "1"):
    factor = ReplicationFactor.create(text)
    show(f"factor {text}", lambda: (factor.all_replicas, factor.full_replicas, factor.transient_replicas, str(factor)))
show(
    "equal factors",
    lambda: (
        ReplicationFactor(3) == ReplicationFactor.create("3"),
        ReplicationFactor(3, 1) == ReplicationFactor(3),
        ReplicationFactor(3) == 3,
    ),
)


def strategy(name, options):
    made = ReplicationStrategy.create(name, options)
    return (type(made).__name__, getattr(made, "name", None), made and str(made.export_for_schema()))


for name, options in (
    ("SimpleStrategy", {"replication_factor": "3"}),
    ("SimpleStrategy", {"replication_factor": 3}),
    ("SimpleStrategy", {"replication_factor": "3/1"}),
    ("org.apache.cassandra.locator.SimpleStrategy", {"replication_factor": "2"}),
    ("NetworkTopologyStrategy", {"dc1": "3", "dc2": 2}),
    ("NetworkTopologyStrategy", OrderedDict([("b", "3/1"), ("a", "1")])),
    ("org.apache.cassandra.locator.NetworkTopologyStrategy", {"dc1": "3"}),
    ("LocalStrategy", {}),
    ("org.apache.cassandra.locator.LocalStrategy", {"x": "y"}),
    ("org.example.Own", {"a": "b"}),
    ("Own", {}),
    ("", {}),
    (None, None),
    (None, {"a": "b"}),
):
    show(f"strategy {name} {options}", strategy, name, options)
simple = SimpleStrategy({"replication_factor": "3/1"})
show("simple", lambda: (simple.replication_factor, str(simple.replication_factor_info), simple.name))
show("simple without factor", lambda: SimpleStrategy({}))
topology = NetworkTopologyStrategy({"dc1": "3", "dc2": "2/1"})
show(
    "topology",
    lambda: (topology.dc_replication_factors, {k: str(v) for k, v in topology.dc_replication_factors_info.items()}),
)
show("topology of words", lambda: NetworkTopologyStrategy({"dc1": "x"}))
show("local", lambda: (LocalStrategy({"a": "b"}).name, LocalStrategy({}).export_for_schema()))
show(
    "equal strategies",
    lambda: (
        SimpleStrategy({"replication_factor": 3}) == SimpleStrategy({"replication_factor": "3"}),
        SimpleStrategy({"replication_factor": 3}) == SimpleStrategy({"replication_factor": "2"}),
        NetworkTopologyStrategy({"a": 1}) == NetworkTopologyStrategy({"a": "1"}),
        NetworkTopologyStrategy({"a": 1}) == NetworkTopologyStrategy({"b": "1"}),
        LocalStrategy({}) == LocalStrategy({}),
        LocalStrategy({}) == SimpleStrategy({"replication_factor": 3}),
        ReplicationStrategy.create("Own", {"a": 1}) == ReplicationStrategy.create("Own", {"a": 1}),
        ReplicationStrategy.create("Own", {"a": 1}) == ReplicationStrategy.create("Own", {"a": 2}),
    ),
)


def host(number, dc="dc1", rack="r1", host_id=True):
    made = Host(
        DefaultEndPoint(f"10.0.0.{number}"), SimpleConvictionPolicy, host_id=uuid.UUID(int=number) if host_id else None
    )
    made.set_location_info(dc, rack)
    return made


def placed(made, hosts, tokens, order=list):
    ring = [Murmur3Token(token) for token in tokens]
    owners = {token: hosts[index % len(hosts)] for index, token in enumerate(ring)}
    found = made.make_token_replica_map(owners, ring)
    return [(token.value, order(one.address[-1] for one in found[token])) for token in sorted(found)]


PLACES = [
    host(1, "dc1", "r1"),
    host(2, "dc1", "r1"),
    host(3, "dc1", "r2"),
    host(4, "dc2", "r1"),
    host(5, "dc2", "r2"),
    host(6, "dc2", "r2"),
    host(7, "dc3", "r1"),
]
RING = range(-700, 700, 100)
for factor in (0, 1, 2, 3, 6, 7, 10, "3/1"):
    show(f"simple {factor}", lambda: placed(SimpleStrategy({"replication_factor": factor}), PLACES, RING))
for factors in (
    {"dc1": 1},
    {"dc1": 2},
    {"dc1": 3},
    {"dc1": 5},
    {"dc2": 2, "dc1": 2},
    {"dc3": 2},
    {"dc3": 1, "dc1": 3, "dc2": 3},
    {"dc4": 1},
    {},
    {"dc1": "2/1", "dc2": 1},
    {"dc1": 0, "dc2": 1},
):
    show(f"topology {factors}", lambda: placed(NetworkTopologyStrategy(factors), PLACES, RING, sorted))
    show(
        f"topology {factors} vnodes",
        lambda: placed(NetworkTopologyStrategy(factors), PLACES[::2] + PLACES[1::2], range(0, 2100, 100), sorted),
    )
show("local places", lambda: placed(LocalStrategy({}), PLACES, RING))
show("own places", lambda: placed(ReplicationStrategy.create("Own", {}), PLACES, RING))
show("no ring", lambda: SimpleStrategy({"replication_factor": 1}).make_token_replica_map({}, []))

first, second = host(1), host(2, "dc2", "r9")
for name in (
    "address",
    "datacenter",
    "rack",
    "host_id",
    "is_up",
    "endpoint",
    "release_version",
    "broadcast_address",
    "listen_address",
    "broadcast_port",
    "broadcast_rpc_address",
    "broadcast_rpc_port",
    "listen_port",
    "dse_version",
    "dse_workload",
    "dse_workloads",
    "sharding_info",
):
    show(f"host {name}", lambda: getattr(first, name))
show("host text", lambda: (str(first), repr(first), str(second), repr(second)))
show("host without dc", lambda: repr(Host("1.2.3.4", SimpleConvictionPolicy, host_id=uuid.UUID(int=9))))
show(
    "host of a socket",
    lambda: repr(Host(UnixSocketEndPoint("/tmp/x"), SimpleConvictionPolicy, host_id=uuid.UUID(int=9))),
)
show(
    "host with dc",
    lambda: repr(Host("1.2.3.4", SimpleConvictionPolicy, datacenter="d", rack="r", host_id=uuid.UUID(int=9))),
)
show("no endpoint", lambda: Host(None, SimpleConvictionPolicy), text=True)
show("no policy", lambda: Host("1.2.3.4", None), text=True)
show(
    "hosts compare",
    lambda: (
        first == host(1),
        first == second,
        first < second,
        first != second,
        hash(first) == hash(host(1)),
        first == "10.0.0.1",
        first == first.endpoint,
    ),
)
show("hosts sort", lambda: sorted([second, first]))
show("up and down", lambda: (first.set_up(), first.is_up, first.set_down(), first.is_up))
show("failure", lambda: first.signal_connection_failure(Exception("x")))
show(
    "reconnecting",
    lambda: (
        first.is_currently_reconnecting(),
        first.get_and_set_reconnection_handler("a"),
        first.is_currently_reconnecting(),
        first.get_and_set_reconnection_handler(None),
    ),
)
show("location", lambda: (first.set_location_info("d", None), first.datacenter, first.rack))
first.set_location_info("dc1", "r1")

metadata = Metadata()
show(
    "new", lambda: (metadata.keyspaces, metadata.partitioner, metadata.cluster_name, metadata.token_map, metadata.dbaas)
)
show("no hosts", lambda: (metadata.all_hosts(), list(metadata.all_hosts_items())))
show("get no host", lambda: (metadata.get_host("1.2.3.4"), metadata.get_host_by_host_id(uuid.UUID(int=1))))
show("no replicas", lambda: metadata.get_replicas("ks", b"a"))
show("export nothing", metadata.export_schema_as_string)
show("add", lambda: metadata.add_or_return_host(first))
show("add again", lambda: (metadata.add_or_return_host(first)[0] is first, metadata.add_or_return_host(first)[1]))
show("add equal", lambda: (metadata.add_or_return_host(host(1))[0] is first, metadata.add_or_return_host(host(1))[1]))
show("add second", lambda: metadata.add_or_return_host(second))
show("all hosts", lambda: sorted(metadata.all_hosts()))
show("all hosts items", lambda: sorted((key.int, found) for key, found in metadata.all_hosts_items()))
show("get by endpoint", lambda: metadata.get_host(DefaultEndPoint("10.0.0.2")) is second)
show("get by another endpoint", lambda: metadata.get_host(DefaultEndPoint("10.0.0.2", 9043)))
second.broadcast_rpc_address, second.broadcast_rpc_port = "10.9.9.9", 9999
show("get by rpc address", lambda: metadata.get_host("10.9.9.9") is second)
show(
    "get by rpc address and port",
    lambda: (metadata.get_host("10.9.9.9", 9999) is second, metadata.get_host("10.9.9.9", 1)),
)
show("get by id", lambda: metadata.get_host_by_host_id(uuid.UUID(int=2)) is second)
for partitioner, tokens in (
    ("org.apache.cassandra.dht.Murmur3Partitioner", {first: ["-5", "100"], second: ["0", "300"]}),
    ("Murmur3Partitioner", {first: ["1"], second: ["2"]}),
    ("org.apache.cassandra.dht.RandomPartitioner", {first: ["5"], second: ["100"]}),
    ("org.apache.cassandra.dht.ByteOrderedPartitioner", {first: ["00"], second: ["80"]}),
    ("org.example.Unknown", {first: ["1"]}),
):
    show(f"rebuild {partitioner}", metadata.rebuild_token_map, partitioner, tokens)
    show("partitioner", lambda: metadata.partitioner)
    show("token map", lambda: metadata.token_map and (metadata.token_map.token_class.__name__, metadata.token_map.ring))
    show(
        "owners",
        lambda: (
            metadata.token_map and sorted((str(t), str(h)) for t, h in metadata.token_map.token_to_host_owner.items())
        ),
    )
metadata.rebuild_token_map("org.apache.cassandra.dht.Murmur3Partitioner", {first: ["-5", "100"], second: ["0", "300"]})
keyspace = KeyspaceMetadata("ks", True, "SimpleStrategy", {"replication_factor": "1"})
metadata.keyspaces = {"ks": keyspace}
show("keyspaces", lambda: list(metadata.keyspaces))
for key in (b"a", b"b", b"abc", b"\0\0\0\7"):
    show(f"replicas of {key!r}", lambda: metadata.get_replicas("ks", key))
for value in (-100, -5, -4, 0, 50, 100, 300, 301):
    show(f"replicas of token {value}", lambda: metadata.token_map.get_replicas("ks", Murmur3Token(value)))
show("replicas of none", lambda: metadata.token_map.get_replicas("none", Murmur3Token(5)))
show("export", metadata.export_schema_as_string)
show("remove", lambda: (metadata.remove_host(second), metadata.remove_host(second), metadata.all_hosts()))
show(
    "remove by id",
    lambda: (metadata.remove_host_by_host_id(uuid.UUID(int=1)), metadata.remove_host_by_host_id(uuid.UUID(int=1))),
)
show("all gone", metadata.all_hosts)

ring = [Murmur3Token(value) for value in (100, 0, 200)]
owners = {ring[0]: first, ring[1]: second, ring[2]: first}
metadata.keyspaces = {
    "ks": keyspace,
    "two": KeyspaceMetadata("two", True, "SimpleStrategy", {"replication_factor": "2"}),
}
token_map = TokenMap(Murmur3Token, owners, sorted(ring), metadata)
show("own token map", lambda: (token_map.ring, token_map.token_class.__name__, token_map.tokens_to_hosts_by_ks))
show("own replicas", lambda: [token_map.get_replicas("two", Murmur3Token(value)) for value in (0, 1, 100, 201)])
show("own tokens", lambda: sorted(token_map.tokens_to_hosts_by_ks))
show("own map", lambda: token_map.tokens_to_hosts_by_ks["two"])
show("replica map", lambda: token_map.replica_map_for_keyspace(keyspace))
show("rebuild keyspace", lambda: (token_map.rebuild_keyspace("ks"), sorted(token_map.tokens_to_hosts_by_ks)))
show(
    "rebuild absent",
    lambda: (token_map.rebuild_keyspace("ks", build_if_absent=True), sorted(token_map.tokens_to_hosts_by_ks)),
)
show("remove keyspace", lambda: (token_map.remove_keyspace("ks"), sorted(token_map.tokens_to_hosts_by_ks)))
show("remove no keyspace", lambda: token_map.remove_keyspace("none"))

show("signature", lambda: SignatureDescriptor.format_signature("f", ["int", "list<text>"]))
show("column", lambda: str(ColumnMetadata(None, "a", "int", True, True)))
show("vars of a keyspace", lambda: sorted(name for name in vars(keyspace) if not name.startswith("_")))
show("vars of a type", lambda: sorted(vars(UserType("k", "t", ["a"], ["int"])).items()))
table = TableMetadata("k", "t", [1], [2], None, None, {"a": "b"}, True)
show(
    "table of parts",
    lambda: (table.partition_key, table.clustering_key, table.primary_key, table.options, table.virtual),
)
show(
    "defaults",
    lambda: (TableMetadata.extensions, TableMetadata.is_compact_storage, TableMetadata.virtual, TableMetadata.columns),
)
show(
    "defaults of keyspaces",
    lambda: (KeyspaceMetadata.name, KeyspaceMetadata.durable_writes, KeyspaceMetadata.tables, KeyspaceMetadata.virtual),
)
