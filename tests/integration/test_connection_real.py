"""One connection against real servers: versions, compression, TLS, passwords, events, and a node that stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra._base import errors, server_errors
from cassandra._core.transport import Reactor
from cassandra._net.auth import PlainTextAuthProvider
from cassandra._net.connection import Connection
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.handshake import DRIVER_NAME
from cassandra._net.options import ConnectionOptions
from cassandra._net.pool import HostPool
from cassandra._wire.messages.requests import (
    BatchMessage,
    ExecuteMessage,
    OptionsMessage,
    PrepareMessage,
    QueryMessage,
)
from cassandra._wire.messages.responses import SupportedMessage

ONE = 1
LOCAL = "SELECT * FROM system.local WHERE key = 'local'"


@pytest.fixture
def reactor(request: pytest.FixtureRequest, no_leaks: None) -> Iterator[Reactor]:
    reactor = Reactor()
    yield reactor
    assert reactor.stop(5)
    request.node.funcargs.pop("reactor")
    del reactor


def connect(reactor: Reactor, server: Any, callbacks: dict[str, Any] | None = None, **options: Any) -> Connection:
    return Connection.factory(
        DefaultEndPoint(server.contact_points[0], server.port),
        20,
        reactor=reactor,
        options=ConnectionOptions(connect_timeout=10, **options),
        **(callbacks or {}),
    )


def query(connection: Connection, cql: str, **kwargs: Any) -> Any:
    return connection.request(QueryMessage(cql, ONE, **kwargs), 20)


def eventually(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "did not happen in a minute"
        time.sleep(0.02)


@pytest.mark.parametrize("compression", [False, "lz4", "snappy"])
@pytest.mark.parametrize("version", [3, 4, 5])
def test_versions_and_compression(reactor: Reactor, cassandra_node: Any, version: int, compression: bool | str) -> None:
    connection = connect(reactor, cassandra_node, protocol_version=version, compression=compression)
    expected = None if version == 5 and compression == "snappy" else compression or None
    assert (connection.compression.name if connection.compression else None) == expected
    result = query(connection, LOCAL)
    row = dict(zip(result.column_names, result.parsed_rows[0], strict=True))
    assert row["key"] == "local" and row["native_protocol_version"] == "5"
    assert len(query(connection, "SELECT * FROM system_schema.columns").parsed_rows) > 100
    padding = " -- " + "x" * 300_000 + "\n"  # longer than two segments
    assert len(query(connection, LOCAL + padding).parsed_rows) == 1


def test_the_highest_version_is_taken(reactor: Reactor, cassandra_node: Any) -> None:
    connection = connect(reactor, cassandra_node)
    assert connection.protocol_version == 5
    assert connection.cql_version is not None and connection.cql_version.startswith("3.4")


def test_driver_name_and_startup_options_reach_the_server(reactor: Reactor, cassandra_node: Any) -> None:
    connection = connect(reactor, cassandra_node, startup_options={"APPLICATION_NAME": "integration"})
    rows = query(connection, "SELECT driver_name, client_options FROM system_views.clients").parsed_rows
    assert any(name == DRIVER_NAME and options.get("APPLICATION_NAME") == "integration" for name, options in rows)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_prepare_execute_batch_page(reactor: Reactor, cassandra_node: Any, version: int) -> None:
    connection = connect(reactor, cassandra_node, protocol_version=version)
    keyspace = f"it_connection_v{version}"
    query(connection, f"DROP KEYSPACE IF EXISTS {keyspace}")
    query(
        connection,
        f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
    )
    connection.set_keyspace_blocking(keyspace)
    change = query(connection, "CREATE TABLE t (k int PRIMARY KEY, v text)").schema_change_event
    assert change == {"change_type": "CREATED", "target_type": "TABLE", "keyspace": keyspace, "table": "t"}
    insert = connection.request(PrepareMessage("INSERT INTO t (k, v) VALUES (?, ?)"), 20)
    assert insert.pk_indexes == [0] or version == 3
    values = [[number.to_bytes(4, "big"), b"v%d" % number] for number in range(100)]
    for value in values[:50]:
        connection.request(
            ExecuteMessage(insert.query_id, value, ONE, result_metadata_id=insert.result_metadata_id), 20
        )
    queries: list[tuple[bool, Any, Any]] = [(True, insert.query_id, value) for value in values[50:]]
    connection.request(BatchMessage(1, queries, ONE), 20)
    rows, state = [], None
    while True:
        page = query(connection, "SELECT k, v FROM t", fetch_size=30, paging_state=state)
        rows += page.parsed_rows
        state = page.paging_state
        if state is None:
            break
    assert sorted(tuple(row) for row in rows) == [(number, f"v{number}") for number in range(100)]
    with pytest.raises(errors.AlreadyExists, match="t"):
        query(connection, "CREATE TABLE t (k int PRIMARY KEY)")
    query(connection, f"DROP KEYSPACE {keyspace}")


def test_errors_of_a_real_server(reactor: Reactor, cassandra_node: Any) -> None:
    connection = connect(reactor, cassandra_node)
    with pytest.raises(Exception, match="Syntax error"):
        query(connection, "SELEC 1")
    with pytest.raises(errors.InvalidRequest, match="nowhere"):
        query(connection, "SELECT * FROM nowhere.nothing")
    with pytest.raises(errors.InvalidRequest, match="nope"):
        connect(reactor, cassandra_node, keyspace="nope")
    with pytest.raises(server_errors.PreparedQueryNotFound) as unprepared:
        connection.request(ExecuteMessage(b"\x01" * 16, [], ONE, result_metadata_id=b"x"), 20)
    assert unprepared.value.info == b"\x01" * 16
    assert isinstance(connection.request(OptionsMessage(), 20), SupportedMessage), "still open"


def test_tracing_payload_and_warnings(reactor: Reactor, cassandra_node: Any) -> None:
    connection = connect(reactor, cassandra_node)
    traced = QueryMessage(LOCAL, ONE)
    traced.tracing = True
    assert connection.request(traced, 20).trace_id is not None
    assert query(connection, LOCAL).trace_id is None


def test_schema_events(reactor: Reactor, cassandra_node: Any) -> None:
    heard: list[Any] = []
    connection = connect(
        reactor,
        cassandra_node,
        {"on_event": lambda connection, event: heard.append(event)},
        register_events=("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"),
    )
    other = connect(reactor, cassandra_node)
    query(other, "DROP KEYSPACE IF EXISTS it_connection_events")
    replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    query(other, f"CREATE KEYSPACE it_connection_events WITH replication = {replication}")
    query(other, "DROP KEYSPACE it_connection_events")
    changes = ("CREATED", "DROPPED")
    eventually(
        lambda: (
            {
                event.event_args["change_type"]
                for event in heard
                if event.event_args.get("keyspace") == "it_connection_events"
            }
            >= set(changes)
        )
    )
    assert not connection.is_closed


def test_many_requests_at_once(reactor: Reactor, cassandra_node: Any) -> None:
    connection = connect(reactor, cassandra_node)
    answers: list[Any] = []
    done = threading.Event()

    def answered(answer: Any) -> None:
        answers.append(answer)
        if len(answers) == 2000:
            done.set()

    for _ in range(2000):
        connection.request_async(QueryMessage("SELECT key FROM system.local", ONE), answered, 60)
    assert done.wait(60)
    assert all(list(map(tuple, answer.parsed_rows)) == [("local",)] for answer in answers)
    assert connection.in_flight == 0


def test_wrong_and_right_passwords(reactor: Reactor, cassandra_auth: Any) -> None:
    for version in (4, 5):
        provider = PlainTextAuthProvider("cassandra", "cassandra")
        connection = connect(reactor, cassandra_auth, auth_provider=provider, protocol_version=version)
        assert query(connection, LOCAL).parsed_rows
        with pytest.raises(errors.AuthenticationFailed, match="password are incorrect"):
            connect(
                reactor,
                cassandra_auth,
                auth_provider=PlainTextAuthProvider("cassandra", "no"),
                protocol_version=version,
            )
    with pytest.raises(errors.AuthenticationFailed, match="no auth_provider is configured"):
        connect(reactor, cassandra_auth)


@pytest.mark.parametrize("compression", [False, "lz4"])
@pytest.mark.parametrize("version", [4, 5])
def test_tls(reactor: Reactor, cassandra_tls: Any, version: int, compression: bool | str) -> None:
    context = cassandra_tls.tls.context()
    options: dict[str, Any] = {"protocol_version": version, "compression": compression}
    connection = connect(reactor, cassandra_tls, ssl_context=context, **options)
    padding = " -- " + "x" * 300_000 + "\n"
    assert len(query(connection, LOCAL + padding).parsed_rows) == 1
    assert len(query(connection, "SELECT * FROM system_schema.columns").parsed_rows) > 100


def test_tls_from_options(reactor: Reactor, cassandra_tls: Any) -> None:
    tls = cassandra_tls.tls
    options = {
        "ca_certs": str(tls.ca),
        "certfile": str(tls.client_cert),
        "keyfile": str(tls.client_key),
        "check_hostname": True,
    }
    assert query(connect(reactor, cassandra_tls, ssl_options=options), LOCAL).parsed_rows


def test_tls_mismatches(reactor: Reactor, cassandra_tls: Any) -> None:
    with pytest.raises(errors.ConnectionException, match="its certificate was refused"):
        connect(reactor, cassandra_tls, ssl_options={})
    context = cassandra_tls.tls.context()
    with pytest.raises(errors.ConnectionException, match="Hostname mismatch"):
        connect(reactor, cassandra_tls, ssl_context=context, ssl_options={"server_hostname": "other.example"})
    with pytest.raises((errors.ProtocolError, errors.ConnectionException), match="without TLS"):
        connect(reactor, cassandra_tls)


def test_tls_to_a_plain_server(reactor: Reactor, cassandra_tls: Any, cassandra_node: Any) -> None:
    with pytest.raises(errors.ConnectionException, match="does not seem to use TLS"):
        connect(reactor, cassandra_node, ssl_context=cassandra_tls.tls.context())


def test_cassandra_41(reactor: Reactor, cassandra_41: Any) -> None:
    for version in (3, 4, 5):
        connection = connect(reactor, cassandra_41, protocol_version=version)
        assert query(connection, LOCAL).parsed_rows


def test_a_pool_outlives_its_node(reactor: Reactor, cassandra_three: Any) -> None:
    """Stop, kill, pause: every request in flight ends, and the pool is back when the node is."""
    node = cassandra_three.nodes[2]

    class Host:
        endpoint = DefaultEndPoint(node.address, cassandra_three.port)
        host_id = None
        is_up = True

    lost: list[BaseException] = []
    options = ConnectionOptions(connect_timeout=5)
    pool = HostPool(
        Host(),
        0,
        reactor=reactor,
        options=lambda: options,
        delays=lambda: (0.1,),
        on_defunct=lambda host, error: lost.append(error),
    )
    opened: list[Any] = []
    pool.open(opened.append)
    eventually(lambda: opened)
    assert opened == [None]
    for how in ("restart", "kill"):
        lost.clear()
        if how == "restart":
            node.restart()
        else:
            node.kill()
            node.start()
        eventually(lambda: lost)
        eventually(lambda: pool.open_count == 1)
        assert pool.pick().request(QueryMessage(LOCAL, ONE), 20).parsed_rows
    node.pause()
    with pytest.raises(errors.OperationTimedOut):
        pool.pick().request(QueryMessage(LOCAL, ONE), 0.5)
    node.resume()
    assert pool.pick().request(QueryMessage(LOCAL, ONE), 20).parsed_rows
    pool.close()
