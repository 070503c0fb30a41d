"""Authentication providers."""

from __future__ import annotations

import logging
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cassandra import auth
from cassandra._net.tls import build_context
from cassandra.cluster import Cluster, NoHostAvailable
from tests.fakes.scripted import ScriptedServer


def test_plain_text() -> None:
    provider = auth.PlainTextAuthProvider("me", "pw")
    authenticator = provider.new_authenticator("10.0.0.1")
    assert isinstance(authenticator, auth.PlainTextAuthenticator)
    assert (authenticator.username, authenticator.password) == ("me", "pw")
    assert authenticator.initial_response() == b"\0me\0pw"
    with pytest.raises(ValueError, match="unexpected"):
        authenticator.evaluate_challenge(b"?")


SECRET = "hunter\udc80two"


def chain_of(error: BaseException | None) -> list[BaseException]:
    """*error* and what it was caused by, also of errors that it lists by host."""
    found: list[BaseException] = []
    while error is not None:
        found.append(error)
        for one in (getattr(error, "errors", None) or {}).values():
            found += chain_of(one)
        error = error.__cause__ or error.__context__
    return found


def shown_by(error: BaseException) -> str:
    """All that error handlers and logs can show of *error*."""
    texts = [repr((one, one.args, vars(one), getattr(one, "object", None))) for one in chain_of(error)]
    return "".join((*texts, *map(str, chain_of(error)), *traceback.format_exception(error)))


@pytest.mark.parametrize("password", [SECRET, "hunter\ud800", "\udfffhunter"])
def test_a_password_that_cannot_be_encoded(password: str) -> None:
    authenticator = auth.PlainTextAuthProvider("me", password).new_authenticator("h")
    with pytest.raises(ValueError, match="a password or another secret cannot be encoded: surrogates") as caught:
        authenticator.initial_response()
    assert "hunter" not in shown_by(caught.value)


@pytest.mark.parametrize("make", [auth.SaslAuthProvider, auth.DSEGSSAPIAuthProvider])
def test_sasl_properties_that_cannot_be_encoded(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Encoding(Client):
        def process(self, challenge: bytes | None = None) -> bytes:
            return SECRET.encode()

    monkeypatch.setitem(sys.modules, "puresasl", types.ModuleType("puresasl"))
    monkeypatch.setitem(sys.modules, "puresasl.client", package)
    monkeypatch.setattr(package, "SASLClient", Encoding)
    options: dict[str, Any] = {"mechanism": "PLAIN"} if make is auth.SaslAuthProvider else {"resolve_host_name": False}
    authenticator = make(service="cassandra", **options).new_authenticator("h")
    for call in (authenticator.initial_response, lambda: authenticator.evaluate_challenge(b"x")):
        with pytest.raises(ValueError, match="cannot be encoded") as caught:
            call()
        assert "hunter" not in shown_by(caught.value)


def test_a_password_of_a_client_certificate_that_cannot_be_encoded(tmp_path: Path) -> None:
    (tmp_path / "client.pem").write_bytes(b"")
    with pytest.raises(ValueError, match="cannot be encoded: surrogates not allowed") as caught:
        build_context({"certfile": str(tmp_path / "client.pem"), "password": SECRET})
    assert "hunter" not in shown_by(caught.value)


def test_options_of_tls_are_not_shown() -> None:
    with pytest.raises(TypeError, match="ssl_options should be a dict, not list") as caught:
        Cluster(ssl_options=[("password", "hunter2")])
    assert "hunter" not in repr(caught.value)


class Answers(auth.AuthProvider, auth.Authenticator):
    """A scheme of a program."""

    def __init__(self, response: Callable[[], Any]) -> None:
        self.initial_response = response  # type: ignore[method-assign]

    def new_authenticator(self, host: str) -> auth.Authenticator:
        return self


@pytest.mark.parametrize(
    "provider",
    [auth.PlainTextAuthProvider("me", SECRET), Answers(SECRET.encode), Answers(lambda: SECRET)],
    ids=["plain text", "raises", "returns"],
)
def test_no_error_and_no_log_of_a_connection_shows_a_password(
    provider: auth.AuthProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedServer(password=b"\0me\0pw") as server:
        cluster = Cluster([server.host], port=server.port, auth_provider=provider)
        with pytest.raises(NoHostAvailable, match="a password or another secret cannot be encoded") as caught:
            cluster.connect()
        cluster.shutdown()
    records = [record.getMessage() + (record.exc_text or "") for record in caplog.records]
    for text in (caplog.text, *records, shown_by(caught.value)):
        assert "hunter" not in text


def test_transitional_mode() -> None:
    authenticator = auth.TransitionalModePlainTextAuthProvider().new_authenticator("h")
    assert isinstance(authenticator, auth.TransitionalModePlainTextAuthenticator)
    assert authenticator.initial_response() == b"\0\0"


def test_base_classes() -> None:
    with pytest.raises(NotImplementedError):
        auth.AuthProvider().new_authenticator("h")
    authenticator = auth.Authenticator()
    assert authenticator.server_authenticator_class is None
    assert authenticator.initial_response() is None
    authenticator.on_authentication_success(b"")
    with pytest.raises(NotImplementedError):
        authenticator.evaluate_challenge(b"")


class Client:
    """pure-sasl's client, as far as it is used."""

    def __init__(self, host: str, service: str, mechanism: str, **kwargs: Any) -> None:
        self.made = (host, service, mechanism, kwargs)

    def process(self, challenge: bytes | None = None) -> bytes:
        return b"first" if challenge is None else b"re:" + challenge


package: Any = types.ModuleType("puresasl.client")
package.SASLClient = Client


def test_sasl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "puresasl", types.ModuleType("puresasl"))
    monkeypatch.setitem(sys.modules, "puresasl.client", package)
    provider = auth.SaslAuthProvider(service="cassandra", mechanism="GSSAPI", qops=["auth"])
    authenticator = provider.new_authenticator("h")
    assert isinstance(authenticator, auth.SaslAuthenticator)
    assert authenticator.sasl.made == ("h", "cassandra", "GSSAPI", {"qops": ["auth"]})
    assert authenticator.initial_response() == b"first"
    assert authenticator.evaluate_challenge(b"x") == b"re:x"
    with pytest.raises(ValueError, match="'host'"):
        auth.SaslAuthProvider(host="h", service="cassandra")


def test_gssapi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "puresasl", types.ModuleType("puresasl"))
    monkeypatch.setitem(sys.modules, "puresasl.client", package)
    authenticator = auth.DSEGSSAPIAuthProvider(resolve_host_name=False, principal="p").new_authenticator("h")
    assert isinstance(authenticator, auth.GSSAPIAuthenticator)
    assert authenticator.sasl.made == ("h", "dse", "GSSAPI", {"qops": ["auth"], "principal": "p"})
    assert authenticator.get_mechanism() == b"GSSAPI"
    assert authenticator.initial_response() == b"first"
    assert authenticator.evaluate_challenge(b"x") == b"re:x"


def test_sasl_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "puresasl.client", None)  # as if it were not there
    for make in (lambda: auth.SaslAuthProvider(service="s"), auth.DSEGSSAPIAuthProvider):
        with pytest.raises(ImportError, match="pure-sasl"):
            make()


def test_names() -> None:
    assert auth.DSEPlainTextAuthProvider is auth.PlainTextAuthProvider
    assert auth.PlainTextAuthProvider.__module__ == "cassandra.auth"
