"""Attributes with an underscore that other packages read or wrap, and public ones that they set or mock."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock, create_autospec

import pytest

import cassandra.cluster
import cassandra.query
from cassandra import ConsistencyLevel, InvalidRequest
from cassandra._base.aliases import _ATTRIBUTES as lent_to
from cassandra.cluster import Cluster, NoHostAvailable, ResponseFuture, Session, TraceUnavailable
from cassandra.metadata import TableMetadataV3
from cassandra.policies import DCAwareRoundRobinPolicy, RackAwareRoundRobinPolicy, RoundRobinPolicy
from cassandra.pool import HostConnection
from cassandra.protocol import EventMessage
from cassandra.query import BatchStatement, BoundStatement, PreparedStatement, QueryTrace, TraceEvent
from cassandra.testing import SimulatedCluster
from cassandra.util import OrderedMapSerializedKey
from tests.patience import PATIENCE, eventually

ROOT = Path(__file__).resolve().parents[2]
INSERT = "INSERT INTO t (p, c) VALUES (?, ?)"


@pytest.fixture
def session() -> Iterator[Any]:
    with (
        SimulatedCluster() as simulated,
        Cluster(simulated.contact_points, port=simulated.port, metrics_enabled=True) as cluster,
    ):
        found: Any = cluster.connect()
        found.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        found.set_keyspace("k")
        found.execute("CREATE TABLE t (p int PRIMARY KEY, c text)")
        yield found


@pytest.fixture
def compat() -> Any:
    """The modules, for names that type checkers are not told of."""
    return cassandra.cluster


def test_sessions_and_clusters_have_their_private_attributes(session: Any, compat: Any) -> None:
    cluster = session.cluster
    assert session._default_consistency_level == ConsistencyLevel.LOCAL_ONE
    assert session._load_balancer is cluster.load_balancing_policy and session._metrics is cluster.metrics
    assert cluster._config_mode == compat._ConfigMode.UNCOMMITTED
    statement = session.prepare(INSERT)
    assert cluster._prepared_statements == {statement.query_id: statement}
    assert {host.host_id: host for host in cluster.metadata.all_hosts()} == cluster.metadata._hosts
    assert cluster.control_connection._connection is cluster.control_connection.get_connections()[0]
    session._metrics = "own"
    assert session._metrics == "own" and cluster.metrics is not None


def test_every_attribute_that_is_lent_can_be_read(session: Any) -> None:
    cluster, statement = session.cluster, session.prepare(INSERT)
    keyspace = cluster.metadata.keyspaces["k"]
    future = session.execute_async("SELECT p FROM t")
    future.result()
    batch = BatchStatement()
    objects = [cluster, cluster.control_connection, future, session, cluster.control_connection.connection]
    objects += [*session.get_pools()[:1], cluster.metadata, keyspace, keyspace.tables["t"]]
    objects += [keyspace.tables["t"].columns["p"], statement, batch, RoundRobinPolicy(), DCAwareRoundRobinPolicy("dc1")]
    objects += [RackAwareRoundRobinPolicy("dc1", "rack1")]
    for found in objects:
        for kind in type(found).__mro__:
            _, names = lent_to.get(kind.__name__, ("", ""))
            missing = [name for name in names.split() if not hasattr(found, name)]
            assert not missing, f"{kind.__name__}: {missing}"


def test_a_connection_has_the_attributes_that_tools_read(session: Any) -> None:
    connection: Any = session.cluster.control_connection.connection
    assert connection.connected_event.wait(0) and connection.original_endpoint is connection.endpoint
    assert len(connection.request_ids) == connection.max_in_flight - connection.in_flight
    assert connection.max_request_id == connection.highest_request_id == 32767
    assert connection.orphaned_request_ids == set() and connection.sockopts is None and connection.ssl_options == {}
    assert connection.connect_timeout == session.cluster.connect_timeout and not connection.signaled_error
    heard: list[Any] = []
    connection.register_watcher("STATUS_CHANGE", heard.append)
    connection.handle_pushed(EventMessage("STATUS_CHANGE", {"change_type": "UP"}))
    assert heard == [{"change_type": "UP"}]
    for pool in session.get_pools():
        assert list(pool._connections.values()) == pool.get_connections() and pool._keyspace == "k"
    victim: Any = session.get_pools()[0].get_connections()[0]
    victim.error_all_requests(KeyError("over"))
    assert victim.is_defunct and victim.signaled_error


def test_a_future_has_the_attributes_that_tracers_read(session: Any) -> None:
    profile = session.cluster.profile_manager.default
    future = session.execute_async("SELECT p FROM t", trace=True)
    future.result()
    assert [trace.trace_id for trace in future._query_traces] == future.get_query_trace_ids()
    assert future._load_balancer is profile.load_balancing_policy and future._query_retries == 0
    assert future._host is None and future._protocol_handler is session.client_protocol_handler
    assert 0 < future._time_remaining < 10 and future._spec_execution_plan.next_execution(None) == -1
    host = session.hosts[0]
    future = session.execute_async("SELECT p FROM t", host=host)
    assert future._host is host and future.result().all() == []
    assert session._maybe_get_execution_profile(cassandra.cluster.EXEC_PROFILE_DEFAULT) is profile
    assert session._maybe_get_execution_profile(profile) is profile
    with pytest.raises(ValueError, match="There is no execution profile 'none'; there are: <EXEC_PROFILE_DEFAULT>"):
        session._maybe_get_execution_profile("none")


def test_futures_that_are_not_sent_yet(session: Any) -> None:
    statement = session.prepare(INSERT)
    for query, parameters in ((statement, (1, "one")), ("SELECT c FROM t WHERE p = %s", (1,))):
        future = session._create_response_future(query, parameters, False, None, timeout=PATIENCE)
        assert not future._event.is_set() and future._current_host is None
        future.send_request()
        rows = future.result().all()
    assert rows == [("one",)]


@pytest.mark.parametrize("module", ["cluster", "metadata"])
def test_lent_attributes_need_no_other_import(module: str) -> None:
    program = f"""
import cassandra.{module} as module
assert module.Metadata()._hosts == {{}}
made = module.Metadata.__new__(module.Metadata)
assert made._drop_table
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_sessions_have_the_execute_concurrent_methods(session: Any) -> None:
    insert = session.prepare(INSERT)
    assert all(
        done for done, _ in session.execute_concurrent_with_args(insert, [(n, "x") for n in range(9)], concurrency=3)
    )
    select = session.prepare("SELECT p FROM t WHERE p = ?")
    outcomes = session.execute_concurrent([(select, (n,)) for n in range(9)], results_generator=True)
    assert [result.one().p for _, result in outcomes] == list(range(9))
    with pytest.raises(InvalidRequest):
        session.execute_concurrent([("SELECT nothing FROM t", None)])
    later = session.execute_concurrent_async([(select, (5,)), ("SELECT nothing FROM t", None)])
    (_, found), (ok, error) = later.result(PATIENCE)
    assert found.one().p == 5 and not ok and isinstance(error, InvalidRequest)
    with pytest.raises(InvalidRequest):
        session.execute_concurrent_async([("SELECT nothing FROM t", None)], raise_on_first_error=True).result(PATIENCE)


def test_config_mode_tells_how_a_cluster_was_configured(compat: Any) -> None:
    assert Cluster(load_balancing_policy=RoundRobinPolicy())._config_mode == compat._ConfigMode.LEGACY  # type: ignore[attr-defined]
    profiles = {cassandra.cluster.EXEC_PROFILE_DEFAULT: cassandra.cluster.ExecutionProfile()}
    assert Cluster(execution_profiles=profiles)._config_mode == compat._ConfigMode.PROFILES  # type: ignore[attr-defined]


def test_futures_have_their_private_attributes(session: Any) -> None:
    future = session.execute_async("SELECT p, c FROM t")
    assert future._event.wait(PATIENCE) and future._event.is_set()
    assert future._current_host is future.coordinator_host and future._col_names == ["p", "c"]
    assert future._continuous_paging_session is None
    assert [kind.typename for kind in future._col_types] == ["int", "varchar"]


def test_helpers_of_metadata_policies_and_maps(session: Any) -> None:
    options: Any = TableMetadataV3
    assert options._make_option_strings({"b": {"x": "y"}, "a": 1, "c": None}) == ["a = 1", "b = {'x': 'y'}"]
    policy: Any = RoundRobinPolicy()
    other: Any = RoundRobinPolicy()
    with policy._hosts_lock, other._hosts_lock:
        assert policy._hosts_lock is policy._hosts_lock is not other._hosts_lock
    mapping: Any = OrderedMapSerializedKey(cassandra.cqltypes.UTF8Type, 4)
    mapping._insert("a", 1)
    assert dict(mapping) == {"a": 1}


@pytest.mark.parametrize("query", ["SELECT p FROM t", "SELECT x FROM t"])
def test_results_and_errors_reach_the_assigned_methods(session: Any, query: str) -> None:
    """As tracers do it: they wrap two methods of a request that was just made, and forget the callbacks."""
    future: Any = ResponseFuture(session, *_text(session, query))
    heard: list[tuple[str, Any]] = []
    told = threading.Event()

    def wrapped(name: str) -> Any:
        inner = getattr(future, name)

        def instead(what: Any) -> None:
            heard.append((name, what))
            inner(what)
            told.set()

        return instead

    for name in ("_set_final_result", "_set_final_exception"):
        setattr(future, name, wrapped(name))
        assert getattr(future, name).__name__ == "instead"
    future.add_callbacks(lambda rows: None, lambda error: None)
    future.clear_callbacks()
    future.send_request()
    assert told.wait(PATIENCE), "the result arrives though no caller asked for it"
    if query == "SELECT p FROM t":
        assert heard == [("_set_final_result", [])] and future.result().all() == []
    else:
        with pytest.raises(InvalidRequest) as raised:
            future.result()
        ((name, error),) = heard
        assert name == "_set_final_exception" and str(error) == str(raised.value)


def test_none_is_missed_when_the_answer_comes_meanwhile(session: Any) -> None:
    good, bad = session.prepare("SELECT p FROM t WHERE p = ?"), "SELECT x FROM t"
    heard: list[Any] = []
    futures = []
    for number in range(300):
        future = session.execute_async(good, (number,)) if number % 3 else session.execute_async(bad)
        future._set_final_result = heard.append
        future._set_final_exception = heard.append
        future.add_callbacks(lambda rows: None, lambda error: None)
        future.clear_callbacks()
        futures.append(future)
    assert all(future._event.wait(PATIENCE) for future in futures)
    eventually(lambda: len(heard) == 300)
    assert sum(isinstance(what, InvalidRequest) for what in heard) == 100


def _text(session: Any, query: str) -> tuple[Any, ...]:
    future = session.execute_async(query)
    return future.message, future.query, PATIENCE


def test_each_page_reaches_the_assigned_method(session: Any) -> None:
    for p in range(5):
        session.execute("INSERT INTO t (p) VALUES (%s)", (p,))
    heard: list[int] = []

    def listen(future: Any) -> None:
        future._set_final_result = lambda rows: heard.append(len(rows))

    session.add_request_init_listener(listen)
    session.default_fetch_size = 2
    assert len(session.execute("SELECT * FROM t").all()) == 5
    assert heard == [2, 2, 1]


def test_a_result_that_pages_its_own_way(session: Any) -> None:
    class Own(cassandra.cluster.ResultSet):
        """Pages come to a callback, and are set."""

        def turn(self) -> None:
            before = len(pages)
            self.response_future.start_fetching_next_page()
            eventually(lambda: len(pages) > before)
            self._set_current_rows(pages[-1])

    for p in range(5):
        session.execute("INSERT INTO t (p) VALUES (%s)", (p,))
    session.default_fetch_size = 2
    pages: list[Any] = []
    future = session.execute_async("SELECT p FROM t")
    future.add_callback(pages.append)
    eventually(lambda: bool(pages))
    result = Own(future, pages[0])
    seen = [row.p for row in result.current_rows]
    positions = set()
    while result.has_more_pages:
        positions.add(result.paging_state)
        result.turn()
        seen += [row.p for row in result.current_rows]
    assert sorted(seen) == list(range(5)) and len(positions) == 2 and result.column_names == ["p"]


def test_a_future_is_ended_by_hand(session: Any) -> None:
    future: Any = ResponseFuture(session, *_text(session, "SELECT p FROM t"))
    future._set_final_result([1])
    future._set_final_result([2])
    assert future.result().all() == [1]
    future = ResponseFuture(session, *_text(session, "SELECT p FROM t"))
    future._set_final_exception(KeyError("x"))
    with pytest.raises(KeyError):
        future.result()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (Session, "cluster encoder hosts session_id timestamp_generator keyspace is_shutdown row_factory"),
        (BatchStatement, "batch_type"),
        (BoundStatement, "prepared_statement"),
        (HostConnection, "host host_distance is_shutdown"),
        (PreparedStatement, "protocol_version query_id query_string"),
        (QueryTrace, "trace_id"),
        (TraceEvent, "datetime description source source_elapsed thread_name"),
    ],
)
def test_mocks_with_a_spec_have_the_instance_attributes(kind: type, names: str) -> None:
    mocks: list[Any] = [Mock(spec=kind), create_autospec(kind, instance=True)]
    assert not [name for mock in mocks for name in names.split() if not hasattr(mock, name)]


def test_settable_attributes_take_effect(session: Any) -> None:
    statement = session.prepare(INSERT)
    bound = statement.bind((1, "one"))
    bound.values = [b"\0\0\0\x07", b"seven"]
    session.execute(bound)
    assert session.execute("SELECT p, c FROM t").all() == [(7, "seven")]
    assert bound.values == [b"\0\0\0\x07", b"seven"] and bound.routing_key == b"\0\0\0\x07"
    (first, second) = statement.column_metadata
    statement.column_metadata = [first._replace(name="renamed"), second]
    assert statement.column_metadata[0].name == "renamed"
    session.execute(statement, {"renamed": 8, "c": "eight"})

    result = session.execute("SELECT p, c FROM t")
    result.column_names = ["x", "y"]
    assert result.column_names == ["x", "y"] and len(result.all()) == 2

    metadata = session.cluster.metadata
    before = metadata.keyspaces
    metadata.keyspaces = {"k": before["k"]}
    assert dict(metadata.keyspaces) == {"k": before["k"]}
    ring = metadata.token_map
    metadata.token_map = None
    assert metadata.token_map is None
    metadata.token_map = ring
    metadata.partitioner = "org.apache.cassandra.dht.RandomPartitioner"
    assert metadata.partitioner == "org.apache.cassandra.dht.RandomPartitioner"


def test_the_plan_of_a_request_may_be_set() -> None:
    with SimulatedCluster(nodes=3) as simulated, Cluster(simulated.contact_points, port=simulated.port) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        session.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE k.t (p int PRIMARY KEY)")
        chosen: list[Any] = []

        def choose(future: Any) -> None:
            future.query_plan = iter(chosen)
            assert future.session is session
            future.session = session

        session.add_request_init_listener(choose)
        prepared = session.prepare("SELECT * FROM k.t WHERE p = ?")
        for query, values in ((prepared, (1,)), ("SELECT * FROM k.t", None)):
            for host in cluster.metadata.all_hosts():
                chosen[:] = [host]
                for _ in range(3):
                    future = session.execute_async(query, values)
                    future.result()
                    assert future.coordinator_host is host
            chosen.clear()
            with pytest.raises(NoHostAvailable):
                session.execute(query, values)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("cassandra.cluster", "_ConfigMode _NOT_SET _Scheduler"),
        ("cassandra.cqltypes", "_CassandraType _casstypes _cqltypes"),
        ("cassandra.metadata", "_ConsistencyMode _RegisteredExtensionType"),
        ("cassandra.protocol", "_ProtocolHandler _UNSET_VALUE _message_types_by_opcode"),
        ("cassandra.query", "_UNSET_VALUE _clean_column_name"),
        ("cassandra.util", "_positional_rename_invalid_identifiers _sanitize_identifiers"),
    ],
)
def test_names_with_an_underscore_that_packages_import(module: str, names: str) -> None:
    for name in names.split():
        exec(f"from {module} import {name}")
    assert all(hasattr(importlib.import_module(module), name) for name in names.split())


def test_a_timeout_that_was_not_given(session: Any, compat: Any) -> None:
    assert session.execute("SELECT p FROM t", timeout=compat._NOT_SET).all() == []


def test_table_extensions_are_registered_by_their_metaclass() -> None:
    metadata: Any = cassandra.metadata
    registry = metadata._RegisteredExtensionType._extension_registry
    try:

        class Shown(metadata.TableExtensionInterface, metaclass=metadata._RegisteredExtensionType):  # type: ignore[misc, name-defined]
            name = "of_a_test"

        assert registry["of_a_test"] is Shown
    finally:
        registry.pop("of_a_test", None)


def test_util_has_the_ordered_dict_of_old_programs() -> None:
    import collections

    util: Any = importlib.import_module("cassandra.util")
    assert util.OrderedDict is collections.OrderedDict


@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "text"])
def test_a_request_ends_without_a_waiter_or_callback(session: Any, prepared: bool) -> None:
    """No thread waits for the request, and it has no callback."""
    text = "SELECT c FROM t"
    future = session.execute_async(session.prepare(text) if prepared else text)
    eventually(future._event.is_set)
    traced = session.execute_async(text, trace=True)

    def trace() -> Any:
        try:
            return traced.get_query_trace()
        except TraceUnavailable as error:
            assert "not done" in str(error)
            return None

    assert eventually(trace).trace_id == traced.get_query_trace_ids()[0]
