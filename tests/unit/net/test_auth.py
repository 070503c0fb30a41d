"""Authentication providers."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from cassandra import auth


def test_plain_text() -> None:
    provider = auth.PlainTextAuthProvider("me", "pw")
    authenticator = provider.new_authenticator("10.0.0.1")
    assert isinstance(authenticator, auth.PlainTextAuthenticator)
    assert (authenticator.username, authenticator.password) == ("me", "pw")
    assert authenticator.initial_response() == b"\0me\0pw"
    with pytest.raises(ValueError, match="unexpected"):
        authenticator.evaluate_challenge(b"?")


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
