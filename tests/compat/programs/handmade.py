"""Objects that programs make by hand and copy."""

# mypy: ignore-errors
import copy
import pickle
import time
import uuid
from functools import partial
from unittest.mock import patch

from cases import show

import cassandra
from cassandra import ConsistencyLevel, metadata, policies, pool, query
from cassandra.cluster import ExecutionProfile, NoHostAvailable
from cassandra.connection import DefaultEndPoint
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.protocol import ColumnMetadata
from cassandra.timestamps import MonotonicTimestampGenerator


def node(*args, **kwargs):
    return pool.Host(*args, **{"host_id": uuid.UUID(int=1), **kwargs})


# ---- statements


def columns(*types):
    return [ColumnMetadata("ks", "t", f"c{i}", kind) for i, kind in enumerate(types)]


def prepared_statements():
    for version in (3, 4, 5):
        made = query.PreparedStatement(columns(Int32Type, UTF8Type), b"id", [0], "INSERT", "ks", version, [], None)
        print(made.query_id, made.query_string, made.keyspace, made.routing_key_indexes, made.protocol_version)
        print(
            [tuple(column)[:3] for column in made.column_metadata],
            made.is_routing_key_index(0),
            made.is_routing_key_index(1),
        )
        print(
            made.consistency_level,
            made.serial_consistency_level,
            made.retry_policy,
            made.custom_payload,
            made.is_idempotent,
        )
        print(made.result_metadata or None, made.result_metadata_id, made.is_lwt())
        bound = made.bind((1, "x"))
        print(bound.values, bound.raw_values, bound.routing_key, bound.keyspace, bound.prepared_statement is made)
        if version > 3:
            show("short", lambda made=made: made.bind((1,)).values[:1])
        show("long", made.bind, (1, "x", 2))
        show("wrong", made.bind, ("x", "x"))
        show("dict", lambda made=made: made.bind({"c0": 1, "c1": "y"}).values)
        show("dict more", lambda made=made: made.bind({"c0": 1, "c1": "y", "c2": 1}).values)
        show("none", lambda made=made: made.bind((1, None)).values)
    made = query.PreparedStatement([], b"id", None, "SELECT", "ks", 4, None, None, is_lwt=True)
    print(
        made.column_metadata, made.routing_key_indexes, made.bind(()).values, made.bind(()).routing_key, made.is_lwt()
    )
    show(
        "keywords",
        lambda: (
            query.PreparedStatement(
                column_metadata=columns(Int32Type),
                query_id=None,
                routing_key_indexes=[],
                query=None,
                keyspace="ks",
                protocol_version=4,
                result_metadata=None,
                result_metadata_id=None,
            )
            .bind((5,))
            .values
        ),
    )
    made = query.PreparedStatement(columns(Int32Type, Int32Type), b"id", [1, 0], "INSERT", "ks", 4, None, None)
    print(made.bind((1, 2)).routing_key)
    made.consistency_level = ConsistencyLevel.QUORUM
    made.is_idempotent = True
    made.fetch_size = 7
    bound = made.bind((1, 2))
    print(bound.consistency_level, bound.is_idempotent, bound.fetch_size)
    made.update_result_metadata(columns(Int32Type), b"new")
    print([column.name for column in made.result_metadata], made.result_metadata_id)

    class Own(query.PreparedStatement):
        def bind(self, values):
            return super().bind([value + 1 for value in values])

    made = Own(columns(Int32Type), b"id", None, "SELECT", "ks", 4, None, None)
    print(made.bind((1,)).values)


def bound_statements():
    made = query.PreparedStatement(columns(Int32Type), b"id", [0], "SELECT", "ks", 4, None, None)
    bound = query.BoundStatement(made)
    print(bound.values, bound.consistency_level, bound.fetch_size is query.FETCH_SIZE_UNSET, bound.keyspace)
    print(bound.bind((3,)) is bound, bound.values, bound.routing_key)
    bound = query.BoundStatement(
        made, consistency_level=ConsistencyLevel.ONE, routing_key=b"x", fetch_size=3, keyspace="other"
    )
    print(bound.consistency_level, bound.routing_key, bound.fetch_size, bound.keyspace)
    bound = query.BoundStatement(
        prepared_statement=made, custom_payload={"a": b"b"}, serial_consistency_level=ConsistencyLevel.SERIAL
    )
    print(bound.custom_payload, bound.serial_consistency_level)
    bound.bind({"c0": 9})
    print(bound.values)

    class Own(query.BoundStatement):
        pass

    print(Own(made).bind((4,)).values)
    batch = query.BatchStatement()
    batch.add(made, (1,))
    batch.add(bound)
    batch.add("INSERT INTO t (a) VALUES (%s)", (1,))
    batch.add(query.SimpleStatement("DELETE"))
    print(len(batch), batch.routing_key, batch.keyspace)


# ---- schema and hosts


def schema():
    table = metadata.TableMetadata("ks", "t")
    print(
        table.keyspace_name, table.name, table.partition_key, table.clustering_key, dict(table.columns), table.options
    )
    print(
        dict(table.indexes),
        dict(table.triggers),
        table.comparator,
        table.virtual,
        dict(table.views),
        table.is_cql_compatible,
    )
    print(table.primary_key)
    column = metadata.ColumnMetadata(table, "a", "int")
    table.columns["a"] = column
    table.partition_key = [column]
    other = metadata.ColumnMetadata(table, "b", "text", is_static=True)
    table.columns["b"] = other
    print(
        str(column),
        column.name,
        column.cql_type,
        column.is_static,
        other.is_static,
        column.is_reversed,
        column.table is table,
    )
    print([key.name for key in table.primary_key])
    table.options = {"comment": "it's"}
    ks = metadata.KeyspaceMetadata("ks", True, "SimpleStrategy", {"replication_factor": "1"})
    print(
        ks.name,
        ks.durable_writes,
        ks.replication_strategy.name,
        ks.replication_strategy.export_for_schema(),
        dict(ks.tables),
        dict(ks.views),
    )
    ks.tables["t"] = table
    print(ks.tables["t"] is table)
    index = metadata.IndexMetadata("ks", "t", "i", "COMPOSITES", {"target": "b"})
    print(index.name, index.kind, index.index_options, index.as_cql_query())
    kind = metadata.UserType("ks", "ut", ["a", "b"], ["int", "frozen<list<text>>"])
    print(kind.as_cql_query())
    function = metadata.Function("ks", "f", ["int"], ["a"], "int", "java", "return a;", True, False, False, [])
    print(function.signature, function.as_cql_query())
    aggregate = metadata.Aggregate("ks", "g", ["int"], "sf", "int", "ff", "0", "int", True)
    print(aggregate.signature, aggregate.as_cql_query())
    print(metadata.KeyspaceMetadata("ks", True, "org.example.Own", {"a": "1"}).replication_strategy.export_for_schema())


def strategies():
    for name in (
        "OldNetworkTopologyStrategy",
        "org.apache.cassandra.locator.SimpleStrategy",
        "NetworkTopologyStrategy",
        "LocalStrategy",
        "com.example.Own",
        None,
        "",
    ):
        options = {"replication_factor": "2"} if name and "Simple" in name else {"dc1": "2", "dc2": "1"}

        def make(name=name, options=options):
            made = metadata.ReplicationStrategy.create(name, dict(options))
            return (type(made).__name__, str(made.export_for_schema())) if made is not None else None

        show(f"create {name}", make)
    simple = metadata.SimpleStrategy({"replication_factor": "3"})
    print(
        simple.replication_factor,
        simple.export_for_schema(),
        simple == metadata.SimpleStrategy({"replication_factor": "3"}),
        simple == metadata.SimpleStrategy({"replication_factor": "2"}),
    )
    print(simple.name, simple.replication_factor_info.all_replicas)
    network = metadata.NetworkTopologyStrategy({"dc1": "2", "dc2": "1"})
    print(
        network.dc_replication_factors,
        network.export_for_schema(),
        network == metadata.NetworkTopologyStrategy({"dc1": "2", "dc2": "1"}),
    )
    print(metadata.LocalStrategy({}).export_for_schema(), metadata.LocalStrategy({}) == metadata.LocalStrategy({}))
    show("bad factor", metadata.SimpleStrategy, {"replication_factor": "x"})
    show("no factor", lambda: metadata.SimpleStrategy({}).export_for_schema())
    print(metadata.SimpleStrategy({"replication_factor": "3/1"}).replication_factor_info.transient_replicas)
    hosts = [node(f"127.0.0.{i}", policies.SimpleConvictionPolicy, "dc1", f"r{i % 2}") for i in range(1, 5)]
    tokens = [metadata.MD5Token(i) for i in range(4)]
    owners = dict(zip(tokens, hosts, strict=True))
    show(
        "simple replicas",
        lambda: [
            [
                h.address
                for h in metadata.SimpleStrategy({"replication_factor": "2"}).make_token_replica_map(owners, tokens)[t]
            ]
            for t in tokens
        ],
    )
    show(
        "network replicas",
        lambda: [
            [
                h.address
                for h in metadata.NetworkTopologyStrategy({"dc1": "2"}).make_token_replica_map(owners, tokens)[t]
            ]
            for t in tokens
        ],
    )
    show(
        "local replicas",
        lambda: [
            [h.address for h in metadata.LocalStrategy({}).make_token_replica_map(owners, tokens)[t]] for t in tokens
        ],
    )


def hosts():
    host = node("127.0.0.1", policies.SimpleConvictionPolicy)
    print(
        host.address,
        host.endpoint,
        host.datacenter,
        host.rack,
        host.is_up,
        host.host_id,
        host.release_version,
        str(host),
        repr(host),
    )
    print(type(host.conviction_policy).__name__, host.is_currently_reconnecting())
    host.set_location_info("dc", "rack")
    print(host.datacenter, host.rack, repr(host))
    host.set_up()
    print(host.is_up)
    host.set_down()
    print(host.is_up)
    identity = uuid.UUID(int=5)
    host = node(
        DefaultEndPoint("127.0.0.2", 1234), policies.SimpleConvictionPolicy, datacenter="d", rack="r", host_id=identity
    )
    print(
        host.endpoint,
        host.host_id,
        host == node(DefaultEndPoint("127.0.0.2", 1234), policies.SimpleConvictionPolicy),
        len({host, host}),
    )
    show("no endpoint", node, None, policies.SimpleConvictionPolicy)
    show("no conviction", node, "127.0.0.1", None)
    print(sorted([node(f"127.0.0.{i}", policies.SimpleConvictionPolicy) for i in (3, 1, 2)])[0].address)
    print(host.signal_connection_failure(Exception()))
    mark = object()
    print(host.get_and_set_reconnection_handler(mark) is None, host.get_and_set_reconnection_handler(None) is mark)
    host = node("127.0.0.1", policies.SimpleConvictionPolicy)
    host.mine = 5
    host.broadcast_address = "x"
    print(host.mine, host.broadcast_address)


# ---- policies, on what their base class has


class FakeMetadata:
    token_map = None
    partitioner = None

    def can_support_partitioner(self):
        return False

    def all_hosts(self):
        return []


class FakeCluster:
    contact_points = ["127.0.0.1"]
    endpoints_resolved = [DefaultEndPoint("127.0.0.1")]
    metadata = FakeMetadata()

    def __init__(self):
        pass


def balancing():
    hosts = [
        node(f"127.0.0.{i}", policies.SimpleConvictionPolicy, "dc1" if i < 3 else "dc2", "r1") for i in range(1, 5)
    ]
    for host in hosts:
        host.set_up()

    def plan(policy, *args):
        return sorted(host.address for host in policy.make_query_plan(*args))

    def distances(policy):
        return [policy.distance(host) for host in hosts]

    class Own(policies.LoadBalancingPolicy):
        def __init__(self):
            policies.LoadBalancingPolicy.__init__(self)
            self.hosts = frozenset()

        def populate(self, cluster, hosts):
            with self._hosts_lock:
                self.hosts = frozenset(hosts)

        def make_query_plan(self, working_keyspace=None, query=None):
            return list(self.hosts)

        def distance(self, host):
            return policies.HostDistance.LOCAL

        def on_up(self, host):
            with self._hosts_lock:
                self.hosts = self.hosts.union((host,))

        def on_down(self, host):
            with self._hosts_lock:
                self.hosts = self.hosts.difference((host,))

        on_add, on_remove = on_up, on_down

    class Round(policies.RoundRobinPolicy):
        def make_query_plan(self, working_keyspace=None, query=None):
            pos, self._position = self._position, self._position + 1
            hosts = sorted(self._live_hosts)
            return hosts[pos % len(hosts) :] + hosts[: pos % len(hosts)]

    class Dc(policies.DCAwareRoundRobinPolicy):
        def make_query_plan(self, working_keyspace=None, query=None):
            self._position += 1
            local = self._dc_live_hosts.get(self.local_dc, ())
            return list(local)

    class Limited(policies.TokenAwarePolicy):
        def make_query_plan(self, working_keyspace=None, query=None):
            return list(self._child_policy.make_query_plan(working_keyspace, query))[:1]

    for make in (
        Own,
        Round,
        partial(Dc, "dc1"),
        partial(Dc, "dc2"),
        policies.RoundRobinPolicy,
        partial(policies.DCAwareRoundRobinPolicy, "dc1"),
        partial(policies.RackAwareRoundRobinPolicy, "dc1", "r1"),
        partial(policies.WhiteListRoundRobinPolicy, ["127.0.0.2"]),
        lambda: policies.TokenAwarePolicy(Own()),
        lambda: policies.TokenAwarePolicy(Round()),
        lambda: policies.HostFilterPolicy(Own(), lambda host: host.address != "127.0.0.1"),
    ):
        policy = make()
        policy.populate(FakeCluster(), hosts)
        name = type(policy).__name__
        print(name, plan(policy), distances(policy))
        policy.on_down(hosts[0])
        print(name, plan(policy))
        policy.on_up(hosts[0])
        policy.on_remove(hosts[1])
        print(name, plan(policy))
        policy.on_add(hosts[1])
        print(name, plan(policy))
        show(f"{name} keywords", plan, policy, "ks", query.SimpleStatement("x"))
    policy = policies.DCAwareRoundRobinPolicy("dc1")
    print(
        policy.local_dc,
        policy.used_hosts_per_remote_dc,
        policy._position >= 0 if hasattr(policy, "_position") else None,
    )
    policy = policies.RoundRobinPolicy()
    policy.populate(FakeCluster(), hosts)
    print(sorted(host.address for host in policy._live_hosts), isinstance(policy._position, int))
    policy = policies.DCAwareRoundRobinPolicy("dc1")
    policy.populate(FakeCluster(), hosts)
    print({dc: sorted(host.address for host in found) for dc, found in sorted(policy._dc_live_hosts.items())})
    policy = policies.TokenAwarePolicy(Own())
    print(type(policy._child_policy).__name__, policy.shuffle_replicas)


def inside():
    """Policies that use what the class keeps to itself."""
    hosts = [
        node(f"127.0.0.{i}", policies.SimpleConvictionPolicy, "dc1" if i < 3 else "dc2", "r1") for i in range(1, 5)
    ]
    for host in hosts:
        host.set_up()

    def plan(policy):
        return sorted(host.address for host in policy.make_query_plan())

    class Filtered(policies.RoundRobinPolicy):
        def populate(self, cluster, hosts):
            self._live_hosts = frozenset(host for host in hosts if host.datacenter == "dc2")
            self._position = 3

        def on_up(self, host):
            with self._hosts_lock:
                self._live_hosts = self._live_hosts.union((host,))

        def on_down(self, host):
            with self._hosts_lock:
                self._live_hosts = self._live_hosts.difference((host,))

    policy = Filtered()
    policy.populate(FakeCluster(), hosts)
    print(plan(policy), len(policy._live_hosts))
    policy.on_up(hosts[0])
    print(plan(policy))
    policy.on_down(hosts[2])
    print(plan(policy))
    policy.on_remove(hosts[3])
    print(plan(policy))

    class OfDc(policies.DCAwareRoundRobinPolicy):
        def on_up(self, host):
            with self._hosts_lock:
                current = self._dc_live_hosts.get(host.datacenter, ())
                if host not in current:
                    self._dc_live_hosts[host.datacenter] = (*current, host)

        def on_down(self, host):
            with self._hosts_lock:
                left = tuple(other for other in self._dc_live_hosts.get(host.datacenter, ()) if other != host)
                if left:
                    self._dc_live_hosts[host.datacenter] = left
                else:
                    del self._dc_live_hosts[host.datacenter]

    policy = OfDc("dc1")
    policy.populate(FakeCluster(), hosts[:1])
    print(plan(policy))
    policy.on_up(hosts[1])
    print(plan(policy))
    policy.on_down(hosts[0])
    print(plan(policy))
    policy.on_down(hosts[1])
    print(plan(policy), sorted(policy._dc_live_hosts))
    policy.on_up(hosts[3])
    print(plan(policy), {dc: len(found) for dc, found in policy._dc_live_hosts.items()})
    policy = policies.RackAwareRoundRobinPolicy("dc1", "r1")
    policy.populate(FakeCluster(), hosts)
    print(sorted(policy._dc_live_hosts), sorted(policy._live_hosts), isinstance(policy._position, int))
    policy = policies.HostFilterPolicy(policies.RoundRobinPolicy(), lambda host: host.datacenter == "dc1")
    print(type(policy._child_policy).__name__, policy.predicate(hosts[0]), policy.predicate(hosts[3]))


def other_policies():
    retry = policies.RetryPolicy()
    print(
        retry.on_read_timeout(None, ConsistencyLevel.ONE, 1, 1, False, 0),
        retry.on_read_timeout(None, 1, 1, 1, True, 0),
        retry.on_read_timeout(None, 1, 1, 1, False, 1),
    )
    print(retry.on_write_timeout(None, 1, "BATCH_LOG", 1, 1, 0), retry.on_write_timeout(None, 1, "SIMPLE", 1, 1, 0))
    print(
        retry.on_unavailable(None, 1, 1, 1, 0),
        retry.on_unavailable(None, 1, 1, 1, 1),
        retry.on_request_error(None, 1, None, 0),
        retry.on_request_error(None, 1, None, 1),
    )

    class Own(policies.RetryPolicy):
        def on_unavailable(self, *args, **kwargs):
            decision, level = super().on_unavailable(*args, **kwargs)
            return self.RETRY if decision == self.RETRY_NEXT_HOST else decision, level

    print(Own().on_unavailable(query=None, consistency=1, required_replicas=1, alive_replicas=1, retry_num=0))
    print(list(policies.ConstantReconnectionPolicy(1.0, 3).new_schedule()))

    class Reconnect(policies.ReconnectionPolicy):
        def new_schedule(self):
            return iter([1, 2])

    print(list(Reconnect().new_schedule()))
    plan = policies.ConstantSpeculativeExecutionPolicy(1.5, 2).new_plan("ks", None)
    print([plan.next_execution(None) for _ in range(3)])
    host = node("127.0.0.1", policies.SimpleConvictionPolicy)

    class Convict(policies.ConvictionPolicy):
        def add_failure(self, error):
            return not isinstance(error, ValueError)

        def reset(self):
            pass

    made = node("127.0.0.1", Convict)
    print(
        made.signal_connection_failure(ValueError()),
        made.signal_connection_failure(KeyError()),
        made.conviction_policy.host is made,
    )
    print(policies.IdentityTranslator().translate("x"))
    show("abstract", policies.LoadBalancingPolicy().distance, host)
    show("abstract plan", policies.LoadBalancingPolicy().make_query_plan)


# ---- time


def clocks():
    generator = MonotonicTimestampGenerator()
    with patch("time.time", lambda: 1000.5):
        first = generator()
    print(first)
    with patch("time.time", lambda: 2000.25):
        print(
            generator(), generator._next_timestamp(now=3000, last=2999), generator._next_timestamp(now=3000, last=3000)
        )
    with patch("time.time", lambda: 1999.0):
        print(generator())
    with patch("time.time", lambda: 5000.0):
        print([generator() for _ in range(3)], generator.last)
    with patch("cassandra.timestamps.time.time", lambda: 6000.0):
        print(generator())
    generator = MonotonicTimestampGenerator(warn_on_drift=False)
    print(abs(generator() - time.time() * 1e6) < 5e6)


# ---- copies


def copies():
    made = query.PreparedStatement(columns(Int32Type, UTF8Type), b"id", [0], "INSERT", "ks", 4, [], None)
    made.consistency_level = ConsistencyLevel.TWO
    print(copy.copy(made).bind((1, "x")).values, copy.copy(made).consistency_level)
    simple = query.SimpleStatement(
        "SELECT %s", consistency_level=ConsistencyLevel.TWO, is_idempotent=True, fetch_size=3
    )
    for how in (copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))):
        again = how(simple)
        print(again.query_string, again.consistency_level, again.is_idempotent, again.fetch_size)
    endpoint = DefaultEndPoint("127.0.0.1", 9043)
    for how in (copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))):
        print(how(endpoint) == endpoint, hash(how(endpoint)) == hash(endpoint))
        profile = (
            how(ExecutionProfile(consistency_level=ConsistencyLevel.ALL, request_timeout=3))
            if how is copy.copy
            else None
        )
        print(profile and (profile.consistency_level, profile.request_timeout))
    for error in (cassandra.InvalidRequest("bad"), NoHostAvailable("none", {"a": "b"})):
        for how in (copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))):
            show(
                type(error).__name__,
                lambda how=how, error=error: (str(how(error)) == str(error), how(error).args == error.args),
            )


for part in (
    prepared_statements,
    bound_statements,
    schema,
    strategies,
    hosts,
    balancing,
    other_policies,
    clocks,
    copies,
):
    print("----", part.__name__)
    part()
