"""Objects that can be copied and pickled, and objects that refuse it with a reason."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from cassandra import ConsistencyLevel, InvalidRequest, OperationTimedOut
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy
from cassandra.connection import DefaultEndPoint
from cassandra.metadata import TokenMap
from cassandra.policies import (
    ColDesc,
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    HostDistance,
    LatencyAwarePolicy,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    SimpleConvictionPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
)
from cassandra.pool import Host
from cassandra.query import BatchStatement, PreparedStatement, TraceUnavailable, dict_factory
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE

INSERT = "INSERT INTO k.t (p, c, m) VALUES (?, ?, ?)"
SELECT = "SELECT p, c, m FROM k.t WHERE p = ?"


def pickled(found: Any) -> Any:
    return pickle.loads(pickle.dumps(found))


COPIES = pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
Copied = Callable[[Any], Any]


@pytest.fixture
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=2) as found:
        yield found


@pytest.fixture
def session(simulated: SimulatedCluster) -> Iterator[Any]:
    with Cluster(simulated.contact_points, port=simulated.port) as cluster:
        found = cluster.connect()
        found.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        found.execute("CREATE TABLE k.t (p int PRIMARY KEY, c text, m map<text, frozen<list<int>>>)")
        yield found


# ---- statements


@COPIES
def test_copies_of_statements_are_executed(simulated: SimulatedCluster, session: Any, copied: Copied) -> None:
    """Also where they are not prepared: by another cluster object, and by a server that has forgotten them."""
    insert, select = session.prepare(INSERT), session.prepare(SELECT)
    insert.consistency_level = ConsistencyLevel.ONE
    bound = insert.bind((2, "two", {"a": [1]}))
    bound.is_idempotent = True
    batch = BatchStatement()
    batch.add(insert, (3, "three", None)).add(bound)
    again, look, bound_again, batch_again = map(copied, (insert, select, bound, batch))
    assert again.query_string == INSERT and again.query_id == insert.query_id and again is not insert
    assert again.column_metadata == insert.column_metadata and again.routing_key_indexes == [0]
    assert again.consistency_level == ConsistencyLevel.ONE and not again.is_lwt()
    assert look.result_metadata_and_id == select.result_metadata_and_id
    assert bound_again.values == bound.values and bound_again.routing_key == bound.routing_key
    assert bound_again.is_idempotent and bound_again.keyspace == "k" and bound_again.raw_values == bound.raw_values
    assert len(batch_again) == 2 and batch_again.routing_key == batch.routing_key
    with Cluster(simulated.contact_points, port=simulated.port) as cluster:
        other = cluster.connect()
        for _ in range(2):
            other.execute(again, (1, "one", {}))
            other.execute(batch_again)
            other.execute(bound_again)
            found = {p: other.execute(look, (p,)).one() for p in (1, 2, 3)}
            assert found == {1: (1, "one", None), 2: (2, "two", {"a": [1]}), 3: (3, "three", None)}
            for node in simulated.nodes:
                node.forget_prepared()


@COPIES
def test_copies_keep_the_subclass_and_its_attributes(session: Any, copied: Copied) -> None:
    prepared = Own.__new__(Own)
    prepared.__dict__.update(session.prepare(SELECT).__dict__)
    prepared.retry_policy = FallthroughRetryPolicy()
    prepared.note = {"mine": [1]}  # type: ignore[attr-defined]
    again = copied(prepared)
    assert type(again) is Own and type(again.retry_policy) is FallthroughRetryPolicy and again.note == {"mine": [1]}
    again.fetch_size = 7
    assert prepared.fetch_size != 7


class Own(PreparedStatement):
    pass


def test_encryption_is_kept_or_refused(session: Any) -> None:
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(ColDesc("k", "e", "secret"), bytes(range(32)), "text")
    session.execute("CREATE TABLE k.e (p int PRIMARY KEY, secret blob)")
    session.cluster.column_encryption_policy = policy
    insert = session.prepare("INSERT INTO k.e (p, secret) VALUES (?, ?)")
    select = session.prepare("SELECT secret FROM k.e WHERE p = ?")
    for statement in (insert, select, insert.bind((1, "plain"))):
        with pytest.raises(TypeError, match="holds keys and cannot be pickled"):
            pickle.dumps(statement)
    for copied in (copy.copy, copy.deepcopy):
        again = copied(insert)
        assert b"plain" not in again.bind((1, "plain")).values[1]
        session.execute(again, (1, "plain"))
        assert session.execute(copied(select), (1,)).one() == ("plain",)
        assert copied(insert.bind((1, "plain"))).values[1] != b"plain"


# ---- hosts, errors, profiles, policies


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled, copy.copy])
def test_a_copied_host_keeps_the_state_at_copy_time(session: Any, copied: Copied) -> None:
    for host in session.cluster.metadata.all_hosts():
        again = copied(host)
        assert again == host and hash(again) == hash(host) and again is not host
        assert (again.host_id, again.is_up, again.datacenter, again.rack) == (host.host_id, True, "dc1", host.rack)
        assert again.release_version == host.release_version and again.broadcast_address == host.broadcast_address
        assert isinstance(again.conviction_policy, SimpleConvictionPolicy) and again.lock is not host.lock
        again.set_down()
        with again.lock:
            assert host.is_up and not again.is_currently_reconnecting()
    if copied is not copy.copy:
        assert again.conviction_policy.host is again
    session.execute(SELECT.replace("?", "1"), host=copied(session.cluster.metadata.all_hosts()[0]))


def test_errors_of_requests_are_pickled_with_their_host(session: Any) -> None:
    with pytest.raises(InvalidRequest) as raised:
        session.execute("SELECT x FROM k.t")
    error: Any = raised.value
    for again in (pickled(error), copy.deepcopy(error)):
        assert type(again) is InvalidRequest and str(again) == str(error)
        assert again.host == error.host and again.host.datacenter == "dc1"
        assert (again.attempts, again.maybe_executed, again.elapsed) == (1, False, error.elapsed)
    host = error.host
    none = pickled(NoHostAvailable("none", {host: error, host.endpoint: OperationTimedOut({host.endpoint: "late"})}))
    assert str(none.errors[host]) == str(error) and none.errors[host.endpoint].errors == {host.endpoint: "late"}


def fails() -> None:
    error = InvalidRequest("no such thing")
    error.host = Host(DefaultEndPoint("127.0.0.1", 9042), SimpleConvictionPolicy, host_id=UUID(int=1))
    raise error


def test_a_process_pool_hands_on_errors() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(InvalidRequest, match="no such thing") as raised:
            pool.submit(fails).result(PATIENCE)
        host: Any = raised.value.host  # type: ignore[attr-defined]
        assert host.endpoint == DefaultEndPoint("127.0.0.1", 9042) and host.host_id == UUID(int=1)


class Named(LoadBalancingPolicy):
    """A user's, with a lock of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()
        self.other = threading.Lock()
        self.hosts: tuple[Host, ...] = ()

    def populate(self, cluster: Any, hosts: Any) -> None:
        self.cluster_name = cluster.metadata.cluster_name
        self.hosts = tuple(hosts)

    def distance(self, host: Host) -> int:
        return HostDistance.LOCAL

    def make_query_plan(self, working_keyspace: Any = None, query: Any = None) -> Any:
        with self.lock, self.other:
            return iter(self.hosts)

    def on_up(self, host: Host) -> None: ...

    on_down = on_add = on_remove = on_up


@COPIES
@pytest.mark.parametrize(
    "policy",
    [
        RoundRobinPolicy(),
        DCAwareRoundRobinPolicy("dc1", 1),
        RackAwareRoundRobinPolicy("dc1", "rack1"),
        TokenAwarePolicy(DCAwareRoundRobinPolicy()),
        WhiteListRoundRobinPolicy(["127.0.0.1"]),
        LatencyAwarePolicy(RoundRobinPolicy()),
        Named("mine"),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_copies_of_policies_are_given_to_another_cluster(
    simulated: SimulatedCluster, session: Any, policy: Any, copied: Copied
) -> None:
    policy = copy.deepcopy(policy)
    if isinstance(policy, WhiteListRoundRobinPolicy):
        policy = WhiteListRoundRobinPolicy(simulated.contact_points)
    hosts = session.cluster.metadata.all_hosts()
    policy.populate(session.cluster, hosts)
    again = copied(policy)
    assert type(again) is type(policy) and set(again.make_query_plan()) == set(policy.make_query_plan())
    profile = copied(ExecutionProfile(again, request_timeout=PATIENCE, row_factory=dict_factory))
    assert profile.request_timeout == PATIENCE and profile.row_factory is dict_factory
    with Cluster(
        simulated.contact_points, port=simulated.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
    ) as cluster:
        other = cluster.connect(wait_for_all_pools=True)
        assert len({other.execute("SELECT key FROM system.local").response_future.coordinator_host for _ in range(4)})
        assert other.execute("SELECT key FROM system.local").one() == {"key": "local"}
    assert set(policy.make_query_plan()) <= set(hosts)


@COPIES
def test_a_copied_profile_is_another_one(session: Any, copied: Copied) -> None:
    profile = session.cluster.profile_manager.default
    session.execute("SELECT key FROM system.local")
    again = copied(profile)
    again.consistency_level = ConsistencyLevel.ALL
    assert profile.resolved().consistency_level == ConsistencyLevel.LOCAL_ONE
    assert again.resolved().consistency_level == ConsistencyLevel.ALL
    session.execute("SELECT key FROM system.local", execution_profile=again)


@COPIES
def test_other_things_of_a_configuration(copied: Copied) -> None:
    policy = copied(ExponentialReconnectionPolicy(1.0, 9.0))
    assert (policy.base_delay, policy.max_delay) == (1.0, 9.0)
    generator = copied(Cluster().timestamp_generator)
    assert generator() < generator()


@COPIES
def test_a_copied_token_map_knows_ring_and_replicas(session: Any, copied: Copied) -> None:
    tokens = session.cluster.metadata.token_map
    tokens.get_replicas("k", tokens.ring[0])
    again = copied(tokens)
    assert type(again) is TokenMap and again.ring == tokens.ring and again.token_class is tokens.token_class
    assert again.token_to_host_owner == tokens.token_to_host_owner
    for keyspace in ("k", "system", "none"):
        assert [again.get_replicas(keyspace, token) for token in tokens.ring] == [
            tokens.get_replicas(keyspace, token) for token in tokens.ring
        ]
    assert again.get_replicas("k", tokens.ring[0])


@COPIES
def test_a_copied_trace_keeps_its_events(session: Any, copied: Copied) -> None:
    trace = session.execute("SELECT key FROM system.local", trace=True).get_query_trace()
    again = copied(trace)
    assert str(again) == str(trace) and [str(event) for event in again.events] == [str(event) for event in trace.events]
    if copied is pickled:
        with pytest.raises(TraceUnavailable, match="was unpickled"):
            again.populate()
    else:
        again.populate()


# ---- objects that cannot be copied


@COPIES
def test_objects_bound_to_their_process_refuse_copies_with_a_reason(session: Any, copied: Copied) -> None:
    future = session.execute_async("SELECT key FROM system.local")
    for found, why in (
        (session, "it has connections and requests of this process"),
        (session.cluster, "it has threads and connections of this process"),
        (session.cluster.metadata, "it follows its cluster"),
        (future, "it belongs to its session"),
        (future.result(), "it fetches later pages by its session; list"),
    ):
        with pytest.raises(TypeError, match=rf"^a {type(found).__name__} cannot be copied or pickled: {why}"):
            copied(found)
    gc.collect()
    session.execute("SELECT key FROM system.local")  # no copy has closed it
