"""Opening connections to servers that ask for a password, and over TLS."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra._base import errors
from cassandra._core.transport import Reactor
from cassandra._net.auth import Authenticator, AuthProvider, PlainTextAuthProvider
from cassandra._net.connection import Connection
from cassandra._net.options import ConnectionOptions
from cassandra._wire.messages.requests import QueryMessage
from tests.fakes.scripted import ScriptedServer
from tests.patience import PATIENCE
from tests.servers.certificates import Certificates
from tests.unit.net.openings import PASSWORD, connect, endpoint_of, fails, fails_saying
from tests.unit.net.reactors import made_reactor


@pytest.fixture
def reactor(request: pytest.FixtureRequest, no_leaks: None) -> Iterator[Reactor]:
    """Stopped and gone before leaks are looked for."""
    reactor = made_reactor()
    yield reactor
    assert reactor.stop(PATIENCE)
    request.node.funcargs.pop("reactor")
    del reactor


# ---- authentication


@pytest.mark.parametrize("version", [4, 5])
def test_password(reactor: Reactor, version: int) -> None:
    with ScriptedServer(password=PASSWORD) as server:
        provider = PlainTextAuthProvider("me", "pw")
        assert connect(reactor, server, auth_provider=provider, protocol_version=version).request(
            QueryMessage("q", 1), PATIENCE
        )
        for wrong in (PlainTextAuthProvider("me", "no"), None):
            error = fails(reactor, server, auth_provider=wrong, protocol_version=version)
            assert isinstance(error, errors.AuthenticationFailed)
            assert str(endpoint_of(server)) in str(error)


def test_authenticators_may_block(reactor: Reactor) -> None:
    """A user's authenticator runs off the I/O thread, which meanwhile serves others."""
    entered, release = threading.Event(), threading.Event()
    threads: list[str] = []

    class Slow(AuthProvider, Authenticator):
        def new_authenticator(self, host: str) -> Authenticator:
            return self

        def initial_response(self) -> bytes:
            threads.append(threading.current_thread().name)
            entered.set()
            assert release.wait(PATIENCE)
            return PASSWORD

    with ScriptedServer(password=PASSWORD) as server:
        outcome: list[Any] = []
        done = threading.Event()

        def on_done(result: Any) -> None:
            outcome.append(result)
            done.set()

        options = ConnectionOptions(auth_provider=Slow(), connect_timeout=PATIENCE)
        Connection.open(reactor, endpoint_of(server), options, on_done)
        assert entered.wait(PATIENCE)
        with ScriptedServer() as other:
            assert connect(reactor, other).protocol_version == 5
        release.set()
        assert done.wait(PATIENCE)
        assert isinstance(outcome[0], Connection)
        assert threads == ["fastcql-blocking"]


def test_authenticators_that_hang(reactor: Reactor) -> None:
    release = threading.Event()

    class Stuck(AuthProvider):
        def new_authenticator(self, host: str) -> Authenticator:
            release.wait(PATIENCE)
            raise RuntimeError("late")

    with ScriptedServer(password=PASSWORD) as server:
        error = fails_saying("while authenticating", reactor, server, auth_provider=Stuck())
        release.set()
        assert isinstance(error, errors.OperationTimedOut)


# ---- TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.generate(tmp_path_factory.mktemp("tls"), ["127.0.0.1"])


def server_context(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificates.server))
    return context


@pytest.mark.parametrize("version", [4, 5])
def test_tls(reactor: Reactor, certificates: Certificates, version: int, compression_option: bool | str) -> None:
    with ScriptedServer(tls=server_context(certificates)) as server:
        context = certificates.context()
        connection = connect(
            reactor, server, ssl_context=context, protocol_version=version, compression=compression_option
        )
        assert connection.request(QueryMessage("SELECT " + "x" * 300_000, 1), PATIENCE).kind == 1
        options = {"ca_certs": str(certificates.ca), "check_hostname": True}
        assert connect(reactor, server, ssl_options=options).protocol_version == 5


def test_tls_that_does_not_match(reactor: Reactor, certificates: Certificates) -> None:
    with ScriptedServer(tls=server_context(certificates)) as server:
        error = fails(reactor, server, ssl_options={})
        assert isinstance(error, errors.ConnectionException)
        assert "its certificate was refused" in str(error)
        context = certificates.context()
        error = fails(reactor, server, ssl_context=context, ssl_options={"server_hostname": "other.example"})
        assert "Hostname mismatch" in str(error)
        error = fails(reactor, server, connect_timeout=1)
        assert isinstance(error, errors.ProtocolError | errors.ConnectionException | errors.OperationTimedOut | OSError)
    with ScriptedServer() as server:
        error = fails(reactor, server, ssl_context=context, connect_timeout=1)
        assert isinstance(error, errors.ConnectionException | errors.OperationTimedOut | OSError)


def test_wrong_tls_options_are_the_answer(reactor: Reactor) -> None:
    with ScriptedServer() as server:
        error = fails(reactor, server, ssl_options={"nonsense": 1})
        assert isinstance(error, ValueError)
