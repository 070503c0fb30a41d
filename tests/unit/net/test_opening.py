"""Opening connections to a scripted server: versions, addresses, and servers that misbehave."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._base import errors
from cassandra._core.transport import Reactor
from cassandra._net import endpoint as endpoint_module
from cassandra._net.connection import Connection
from cassandra._net.endpoint import DefaultEndPoint, UnixSocketEndPoint
from cassandra._net.features import ShardAwarePortGenerator, ShardTarget
from cassandra._net.opening import Opening
from cassandra._net.options import ConnectionOptions
from cassandra._wire.messages.requests import QueryMessage
from tests.fakes import wire
from tests.fakes.scripted import SUPPORTED, ScriptedConnection, ScriptedServer
from tests.patience import PATIENCE
from tests.unit.net.openings import connect, endpoint_of, fails, fails_saying
from tests.unit.net.reactors import made_reactor


@pytest.fixture
def reactor(request: pytest.FixtureRequest, no_leaks: None) -> Iterator[Reactor]:
    """Stopped and gone before leaks are looked for."""
    reactor = made_reactor()
    yield reactor
    assert reactor.stop(PATIENCE)
    request.node.funcargs.pop("reactor")
    del reactor


@pytest.fixture
def closed_port() -> Iterator[int]:
    """No server listens on this port while the test runs."""
    with socket.socket() as sock:
        sock.bind(("0.0.0.0", 0))
        yield int(sock.getsockname()[1])


# ---- negotiation


@pytest.mark.parametrize("version", [3, 4, 5])
def test_every_version(reactor: Reactor, version: int, compression_option: bool | str) -> None:
    with ScriptedServer() as server:
        connection = connect(
            reactor,
            server,
            protocol_version=version,
            compression=compression_option,
            keyspace="Ks",
            register_events=("STATUS_CHANGE",),
        )
        assert (connection.protocol_version, connection.keyspace) == (version, "Ks")
        assert (connection.compression.name if connection.compression else False) == compression_option
        assert server.opcodes == [wire.OPTIONS, wire.STARTUP, wire.REGISTER, wire.QUERY]
        assert connection.request(QueryMessage("SELECT " + "x" * 300_000, 1), PATIENCE).kind == 1
        assert len(server.requests[-1].body) > 300_000
        assert not connection.is_closed and not connection.is_defunct and connection.in_flight == 0
        connection.close()
        assert connection.is_closed and not connection.is_defunct


@pytest.mark.parametrize(
    ("spoken", "listed", "options", "version", "highest"),
    [
        ((3, 4), (), {"protocol_version": 5, "may_lower": True}, 4, 4),
        ((3, 4, 5), (), {"protocol_version": 4, "may_lower": True}, 4, None),
        ((3, 4, 5), (3, 4, 5), {"protocol_version": 4, "may_lower": True}, 4, 5),
        ((3, 4, 5), (), {"protocol_version": 4, "begin_high": True}, 5, 5),
        ((3, 4), (3, 4), {"protocol_version": 4, "begin_high": True}, 4, 4),
        ((3,), (), {"protocol_version": 4, "begin_high": True}, 3, 3),
        ((3, 4), (3, 4, 5), {"protocol_version": 5, "may_lower": True}, 4, 4),
        ((3, 4), (), {}, 4, 4),
    ],
)
def test_negotiated_version_follows_options_and_server_versions(
    reactor: Reactor,
    spoken: tuple[int, ...],
    listed: tuple[int, ...],
    options: dict[str, Any],
    version: int,
    highest: int | None,
) -> None:
    names = {"PROTOCOL_VERSIONS": [f"{number}/v{number}" for number in listed]} if listed else {}
    heard: list[Connection] = []
    with ScriptedServer(versions=spoken, supported={**SUPPORTED, **names}) as server:
        connection = connect(reactor, server, on_open=heard.append, **options)
        assert (connection.protocol_version, connection.highest_version) == (version, highest)
        assert heard == [connection]
        heard.clear()


def test_a_server_that_closes_says_nothing_about_versions_that_are_known_to_work(reactor: Reactor) -> None:
    closing = [5]

    def script(connection: ScriptedConnection, request: wire.Envelope) -> bool:
        if request.version in closing:
            connection.close()
        return request.version in closing

    with ScriptedServer(script) as server:
        assert isinstance(fails(reactor, server, protocol_version=5, may_lower=True), errors.ConnectionException), (
            "it may be about to end"
        )
        connection = connect(reactor, server, protocol_version=3, begin_high=True)
        assert (connection.protocol_version, connection.highest_version) == (3, None)
        assert connect(reactor, server).protocol_version == 4, "nothing is known: the best that works"


def test_the_highest_common_version(reactor: Reactor) -> None:
    for versions in ((3, 4), (3,), (4,)):
        with ScriptedServer(versions=versions) as server:
            connection = connect(reactor, server)
            assert connection.protocol_version == max(versions)
            assert len(server.connections) == 2, "one refused, one that named the versions"


def test_servers_that_close_without_a_word(reactor: Reactor) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.version > 3:
            connection.close()
            return True
        return None

    with ScriptedServer(script) as server:
        assert connect(reactor, server).protocol_version == 3
        assert len(server.connections) == 3


def test_an_explicit_version_is_kept(reactor: Reactor) -> None:
    with ScriptedServer(versions=(3, 4)) as server:
        error = fails(reactor, server, protocol_version=5)
        assert isinstance(error, errors.ProtocolVersionUnsupported)
        assert "Invalid or unsupported protocol version (5)" in str(error)
        assert len(server.connections) == 1


def test_a_version_that_is_not_spoken_here(reactor: Reactor) -> None:
    with ScriptedServer() as server:
        assert isinstance(fails(reactor, server, protocol_version=2), errors.ProtocolVersionUnsupported)
        assert isinstance(fails(reactor, server, protocol_version=6), errors.ProtocolVersionUnsupported)
        assert server.connections == []


def test_a_server_that_is_too_old(reactor: Reactor) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        connection.version = request.version
        text = (
            f"Invalid or unsupported protocol version ({request.version}); "
            "the lowest supported version is 1 and the greatest is 2"
        )
        connection.answer(request, wire.ERROR, wire.error(0x0A, text))
        return True

    with ScriptedServer(script) as server:
        error = fails(reactor, server)
        assert isinstance(error, errors.ProtocolVersionUnsupported)
        assert "the greatest is 2" in str(error)
        assert len(server.connections) == 1


def test_a_server_that_answers_in_an_old_format(reactor: Reactor) -> None:
    text = "Invalid or unsupported protocol version: 5"

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        body = wire.error(0x0A, text)
        connection.send_raw(struct.pack(">BBBBI", 0x82, 0, 0, wire.ERROR, len(body)) + body)
        return True

    with ScriptedServer(script) as server:
        error = fails(reactor, server, connect_timeout=60)
        assert isinstance(error, errors.ProtocolError)
        assert "response of protocol version 2; the oldest supported version is 3" in str(error)


def test_startup_names_the_driver_and_its_options(reactor: Reactor) -> None:
    with ScriptedServer() as server:
        connect(reactor, server, startup_options={"SESSION_ID": "s"}, compression="lz4")
        startup = server.connections[0].startup
        assert startup["DRIVER_NAME"] == "fastcql" and startup["SESSION_ID"] == "s"
        assert startup["CQL_VERSION"] == "3.4.7" and startup["COMPRESSION"] == "lz4"


# ---- addresses


def test_refused(reactor: Reactor, closed_port: int) -> None:
    port = closed_port
    error = fails(reactor, DefaultEndPoint("127.0.0.1", port))
    assert isinstance(error, ConnectionRefusedError)
    assert str(error).endswith(f"Tried connecting to [('127.0.0.1', {port})]. Last error: Connection refused")


def names(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def getaddrinfo(host: str, port: int, family: int, kind: int) -> list[Any]:
        return [(socket.AF_INET, kind, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(endpoint_module.socket, "getaddrinfo", getaddrinfo)


def test_every_address_of_a_name_is_tried(reactor: Reactor, monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, "127.0.0.9", "127.0.0.8", "127.0.0.1")
    with ScriptedServer() as server:
        connection = connect(reactor, DefaultEndPoint("db.example", server.port))
        assert connection.endpoint == DefaultEndPoint("db.example", server.port)
        assert connection.channel is not None
        assert connection.channel.getpeername() == (server.host, server.port)


def test_no_address_of_a_name_works(reactor: Reactor, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, "127.0.0.8", "127.0.0.9")
    error = fails(reactor, DefaultEndPoint("db.example", closed_port))
    assert isinstance(error, errors.ConnectionException)
    assert "could not connect to any address of db.example" in str(error)
    assert "127.0.0.8" in str(error) and "127.0.0.9" in str(error)
    assert isinstance(error.__cause__, ConnectionRefusedError)


def test_unknown_names(reactor: Reactor, monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(*args: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(endpoint_module.socket, "getaddrinfo", getaddrinfo)
    assert isinstance(fails(reactor, DefaultEndPoint("db.example")), errors.UnresolvableContactPoints)


def test_a_look_up_that_hangs(reactor: Reactor, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def getaddrinfo(*args: Any) -> Any:
        release.wait(PATIENCE)
        raise socket.gaierror(-2, "late")

    monkeypatch.setattr(endpoint_module.socket, "getaddrinfo", getaddrinfo)
    error = fails(reactor, DefaultEndPoint("db.example"), connect_timeout=0.2)
    release.set()
    assert isinstance(error, errors.OperationTimedOut)
    assert "(0.2 seconds) while looking up the address" in str(error)


def test_unix_socket(reactor: Reactor, tmp_path: Path) -> None:
    path = str(tmp_path / "cql")
    with ScriptedServer(unix_path=path):
        assert connect(reactor, UnixSocketEndPoint(path)).protocol_version == 5
    error = fails(reactor, UnixSocketEndPoint(str(tmp_path / "nobody")))
    assert isinstance(error, FileNotFoundError)


# ---- servers that misbehave


def test_a_server_that_never_answers(reactor: Reactor) -> None:
    with ScriptedServer(lambda connection, request: True) as server:
        error = fails_saying("waiting for the response to OPTIONS", reactor, server)
        assert isinstance(error, errors.OperationTimedOut)
        assert error.last_host == endpoint_of(server)


def test_a_server_that_never_answers_startup(reactor: Reactor) -> None:
    with ScriptedServer(lambda connection, request: request.opcode == wire.STARTUP) as server:
        fails_saying("waiting for the response to STARTUP", reactor, server)


def test_an_address_that_swallows_packets(reactor: Reactor) -> None:
    with socket.socket() as listener:  # its backlog is full: further connects hang
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        try:
            error = fails(reactor, DefaultEndPoint("127.0.0.1", port), connect_timeout=0.3)
        finally:
            for filler in fillers:
                filler.close()
        assert isinstance(error, errors.OperationTimedOut | TimeoutError)


def test_a_server_that_closes_on_every_version_fails_with_a_hint(reactor: Reactor) -> None:
    with ScriptedServer(lambda connection, request: connection.close() or True) as server:
        error = fails(reactor, server)
        assert isinstance(error, errors.ConnectionShutdown)
        assert "waiting for the response to OPTIONS" in str(error)
        assert "check that this is a CQL port without TLS" in str(error)
        assert len(server.connections) == 3, "each version once"


def test_a_server_that_closes_midway(reactor: Reactor) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.STARTUP:
            connection.close()
            return True
        return None

    with ScriptedServer(script) as server:
        error = fails(reactor, server)
        assert isinstance(error, errors.ConnectionShutdown)
        assert "closed the connection while waiting for the response to STARTUP" in str(error)
        assert len(server.connections) == 1, "it answered OPTIONS: the version is not the problem"


@pytest.mark.parametrize("junk", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28\0\0"])
def test_another_protocol(reactor: Reactor, junk: bytes) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        connection.send_raw(junk)
        return True

    with ScriptedServer(script) as server:
        error = fails(reactor, server)
        assert isinstance(error, errors.ProtocolError)
        assert "check that this is a CQL port without TLS" in str(error)


@pytest.mark.parametrize(
    ("opcode", "body", "text"),
    [
        (wire.READY, b"", "unexpected response to OPTIONS"),
        (wire.SUPPORTED, b"\0\1", "malformed SUPPORTED message"),
        (wire.ERROR, wire.error(0x1002, "bootstrapping"), "bootstrapping"),
    ],
)
def test_wrong_answers(reactor: Reactor, opcode: int, body: bytes, text: str) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        connection.version = request.version
        connection.answer(request, opcode, body)
        return True

    with ScriptedServer(script) as server:
        error = fails(reactor, server)
        assert isinstance(error, errors.ConnectionException | errors.ProtocolError)
        assert text in str(error)


def test_an_unknown_keyspace(reactor: Reactor) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY:
            connection.answer(request, wire.ERROR, wire.error(0x2200, "Keyspace 'x' does not exist"))
            return True
        return None

    with ScriptedServer(script) as server:
        error = fails(reactor, server, keyspace="x")
        assert type(error) is errors.InvalidRequest


# ---- shards


@pytest.mark.parametrize("given", [None, ("127.0.0.1", 4711)])
def test_an_aim_chooses_both_ports(reactor: Reactor, given: tuple[str, int] | None) -> None:
    """The address is the endpoint's, the port the shard-aware one; of a local address only the host counts."""
    with ScriptedServer() as plain, ScriptedServer() as aware:
        connection = connect(reactor, plain, shard_target=ShardTarget(5, 7, aware.port), local_address=given)
        assert connection.channel is not None
        assert connection.channel.getpeername() == aware.address
        assert connection.channel.getsockname()[1] % 7 == 5
        assert connection.port == plain.port and not plain.connections
        connection.close()


def test_the_local_address_is_of_the_same_family() -> None:
    opening: Any = SimpleNamespace(_options=ConnectionOptions(shard_target=ShardTarget(0, 2, 1)), _local_port=50000)
    assert Opening._local_address(opening, socket.AF_INET6) == ("::", 50000)
    assert Opening._local_address(opening, socket.AF_INET) == ("0.0.0.0", 50000)
    opening._options = ConnectionOptions(local_address=("127.0.0.1", 9))
    assert Opening._local_address(opening, socket.AF_INET) == ("127.0.0.1", 9)


def test_a_shard_aware_port_that_refuses_is_not_tried_from_every_local_port(
    reactor: Reactor, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    generate = ShardAwarePortGenerator.generate

    def noted(self: ShardAwarePortGenerator, shard_id: int, total_shards: int) -> Iterator[int]:
        for port in generate(self, shard_id, total_shards):
            tried.append(port)
            yield port

    monkeypatch.setattr(ShardAwarePortGenerator, "generate", noted)
    with ScriptedServer() as plain, pytest.raises(ConnectionRefusedError):
        connect(reactor, plain, shard_target=ShardTarget(0, 2, closed_port))
    assert len(set(tried)) < 50, "only those that were taken, and the one that was free"
