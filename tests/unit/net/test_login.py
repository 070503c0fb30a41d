"""To whom a password is sent: classes of authenticators, servers that never end, and what is warned of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest

from cassandra import AuthenticationFailed
from cassandra._net.auth import MAX_CHALLENGES, PASSWORD_AUTHENTICATORS, LoginPolicy
from cassandra._net.client_routes import ClientRouteProxy, ClientRoutes, ClientRoutesConfig, ClientRoutesEndPoint
from cassandra._net.endpoint import DefaultEndPoint, EndPoint, SniEndPoint, UnixSocketEndPoint, is_local
from cassandra._net.handshake import Established, Starting, handshake
from cassandra._net.options import ConnectionOptions
from cassandra._wire.messages.requests import (
    AuthChallengeMessage,
    AuthenticateMessage,
    AuthResponseMessage,
    AuthSuccessMessage,
)
from cassandra._wire.messages.responses import ReadyMessage, SupportedMessage
from cassandra.auth import (
    Authenticator,
    AuthProvider,
    PlainTextAuthenticator,
    PlainTextAuthProvider,
    SaslAuthenticator,
    TransitionalModePlainTextAuthProvider,
)
from cassandra.cluster import Cluster

KNOWN = "org.apache.cassandra.auth.PasswordAuthenticator"
EVIL = "org.example.Evil"
TOKEN = b"\0me\0pw"
REMOTE = DefaultEndPoint("10.0.0.1")


@pytest.fixture
def policy() -> LoginPolicy:
    return LoginPolicy()


class Own(AuthProvider, Authenticator):
    """A scheme of a program, without a password."""

    def new_authenticator(self, host: str) -> Authenticator:
        return self

    def initial_response(self) -> bytes:
        return b"hello"

    def evaluate_challenge(self, challenge: bytes | None) -> bytes:
        return b"re:" + (challenge or b"")


class Subclass(PlainTextAuthProvider):
    """Of a program; passwords from somewhere else."""


def sent(provider: Any, answers: Iterator[Any], policy: LoginPolicy, endpoint: EndPoint = REMOTE) -> list[bytes]:
    """The tokens of one log-in; the exception that ends it has them as ``tokens``."""
    options = ConnectionOptions(auth_provider=provider, login=policy, compression=False)
    steps = handshake(options, endpoint, 4)
    tokens: list[bytes] = []
    wanted = next(steps)
    try:
        while True:
            if isinstance(wanted, (Starting, Established)):
                wanted = next(steps)
            elif hasattr(wanted, "call"):
                try:
                    result = wanted.call()
                except Exception as error:
                    wanted = steps.throw(error)
                else:
                    wanted = steps.send(result)
            else:
                if isinstance(wanted, AuthResponseMessage):
                    tokens.append(wanted.response)
                wanted = steps.send(next(answers))
    except StopIteration:
        return tokens
    except AuthenticationFailed as error:
        error.tokens = tokens  # type: ignore[attr-defined]
        raise


def asking(server_class: str, *more: Any) -> Iterator[Any]:
    yield SupportedMessage(["3.4.5"], {"CQL_VERSION": ["3.4.5"], "COMPRESSION": []})
    yield AuthenticateMessage(server_class)
    yield from more or (AuthSuccessMessage(None),)


def open_door() -> Iterator[Any]:
    yield SupportedMessage(["3.4.5"], {"CQL_VERSION": ["3.4.5"], "COMPRESSION": []})
    yield ReadyMessage()


# ---- classes


@pytest.mark.parametrize("name", sorted(PASSWORD_AUTHENTICATORS - {"com.datastax.bdp.cassandra.auth.DseAuthenticator"}))
def test_known_servers_get_the_password(policy: LoginPolicy, name: str) -> None:
    assert sent(PlainTextAuthProvider("me", "pw"), asking(name), policy) == [TOKEN]


@pytest.mark.parametrize("provider", [PlainTextAuthProvider("me", "pw"), Subclass("me", "pw")])
@pytest.mark.parametrize("name", [EVIL, "", "PasswordAuthenticator", KNOWN + " ", KNOWN.upper()])
def test_other_classes_get_no_password(policy: LoginPolicy, provider: Any, name: str) -> None:
    with pytest.raises(AuthenticationFailed, match=r"nothing was sent.*allowed_authenticators") as caught:
        sent(provider, asking(name), policy)
    assert caught.value.tokens == []  # type: ignore[attr-defined]


def test_classes_that_are_allowed_get_it(policy: LoginPolicy) -> None:
    policy.allowed = [EVIL]
    assert sent(PlainTextAuthProvider("me", "pw"), asking(EVIL), policy) == [TOKEN]
    with pytest.raises(AuthenticationFailed, match="nothing was sent"):
        sent(PlainTextAuthProvider("me", "pw"), asking(KNOWN), policy)
    policy.allowed = ["*"]
    assert sent(PlainTextAuthProvider("me", "pw"), asking("any.Class"), policy) == [TOKEN]


def test_providers_without_a_password_decide_themselves(policy: LoginPolicy) -> None:
    assert sent(Own(), asking(EVIL), policy) == [b"hello"]
    assert sent(TransitionalModePlainTextAuthProvider(), asking(EVIL), policy) == [b"\0\0"]
    policy.allowed = [KNOWN]
    with pytest.raises(AuthenticationFailed, match="nothing was sent"):
        sent(Own(), asking(EVIL), policy)


def test_sasl_mechanisms_that_send_a_password(policy: LoginPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            pass

    monkeypatch.setattr("cassandra._net.auth._require_sasl", lambda: Client)
    policy.check(REMOTE, SaslAuthenticator("h", "s", "GSSAPI"), EVIL)
    with pytest.raises(AuthenticationFailed):
        policy.check(REMOTE, SaslAuthenticator("h", "s", "PLAIN"), EVIL)
    policy.check(REMOTE, SaslAuthenticator("h", "s", "PLAIN"), KNOWN)


# ---- servers that never end


@pytest.mark.parametrize("provider", [PlainTextAuthProvider("me", "pw"), Own()])
def test_challenges_have_a_limit(policy: LoginPolicy, provider: Any) -> None:
    endless = asking(KNOWN, *[AuthChallengeMessage(b"PLAIN-START")] * 10_000)
    with pytest.raises(AuthenticationFailed, match=f"more than {MAX_CHALLENGES} authentication challenges") as caught:
        sent(provider, endless, policy)
    assert len(caught.value.tokens) == MAX_CHALLENGES + 1  # type: ignore[attr-defined]


def test_as_many_challenges_as_mechanisms_need(policy: LoginPolicy) -> None:
    rounds = [*[AuthChallengeMessage(b"?")] * MAX_CHALLENGES, AuthSuccessMessage(None)]
    assert len(sent(Own(), asking(KNOWN, *rounds), policy)) == MAX_CHALLENGES + 1


# ---- warnings


def warnings_of(caplog: pytest.LogCaptureFixture) -> Sequence[str]:
    return [record.getMessage() for record in caplog.records if record.name == "cassandra.auth"]


def routed(target: str) -> EndPoint:
    routes = ClientRoutes(ClientRoutesConfig([ClientRouteProxy("id", target)]))
    host_id = UUID(int=1)
    routes.take({"id": [{"host_id": host_id, "address": target, "port": 9042, "tls_port": 9142}]})
    return ClientRoutesEndPoint(host_id, routes, "127.0.0.1")


@pytest.mark.parametrize(
    ("endpoint", "local"),
    [
        (DefaultEndPoint("127.0.0.1"), True),
        (DefaultEndPoint("127.9.9.9"), True),
        (DefaultEndPoint("::1"), True),
        (DefaultEndPoint("::ffff:127.0.0.1"), True),
        (DefaultEndPoint("localhost"), True),
        (DefaultEndPoint("LOCALHOST."), True),
        (UnixSocketEndPoint("/run/node.sock"), True),
        (DefaultEndPoint("10.0.0.1"), False),
        (DefaultEndPoint("::2"), False),
        (DefaultEndPoint("::ffff:10.0.0.1"), False),
        (DefaultEndPoint("7f00::1"), False),
        (DefaultEndPoint("localhost.example.org"), False),
        (DefaultEndPoint("127.0.0.1.example.org"), False),
        (SniEndPoint("proxy.example", "node"), False),
        (routed("10.0.0.1"), False),
    ],
    ids=str,
)
def test_a_password_in_plaintext_is_warned_of(
    endpoint: EndPoint, local: bool, policy: LoginPolicy, caplog: pytest.LogCaptureFixture
) -> None:
    assert is_local(endpoint) is local
    policy.sending(endpoint, PlainTextAuthenticator("me", "secret"), encrypted=True)
    assert warnings_of(caplog) == []
    for _ in range(3):
        policy.sending(endpoint, PlainTextAuthenticator("me", "secret"), encrypted=False)
    assert len(warnings_of(caplog)) == (0 if local else 1)
    assert all(str(endpoint) in text and "secret" not in text for text in warnings_of(caplog))


def test_the_warning_comes_with_the_log_in(policy: LoginPolicy, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        sent(PlainTextAuthProvider("me", "pw"), asking(KNOWN), policy)
    sent(Own(), asking(KNOWN), LoginPolicy())
    (text,) = warnings_of(caplog)
    assert "The password is sent to 10.0.0.1:9042 without TLS" in text


def test_a_server_that_asks_for_nothing_is_warned_of(policy: LoginPolicy, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        assert sent(PlainTextAuthProvider("me", "pw"), open_door(), policy) == []
    (text,) = warnings_of(caplog)
    assert "10.0.0.1:9042 requires no authentication" in text
    sent(None, open_door(), LoginPolicy())
    sent(TransitionalModePlainTextAuthProvider(), open_door(), LoginPolicy())
    assert len(warnings_of(caplog)) == 1


def test_warnings_can_be_switched_off(caplog: pytest.LogCaptureFixture) -> None:
    quiet = LoginPolicy(warns=False)
    sent(PlainTextAuthProvider("me", "pw"), asking(KNOWN), quiet)
    sent(PlainTextAuthProvider("me", "pw"), open_door(), quiet)
    assert warnings_of(caplog) == []


# ---- options of a cluster


def test_options_of_a_cluster() -> None:
    cluster = Cluster()
    assert (cluster.allowed_authenticators, cluster.security_warnings) == (None, True)
    assert cluster.connections.options().login is cluster.connections.options().login
    assert cluster.connections.options().login is not Cluster().connections.options().login
    cluster = Cluster(allowed_authenticators=[EVIL], security_warnings=False)
    login = cluster.connections.options().login
    assert (login.allowed, login.warns) == ((EVIL,), False)
    cluster.allowed_authenticators = [KNOWN]
    cluster.security_warnings = True
    assert (login.allowed, login.warns) == ((KNOWN,), True)

    class Strict(Cluster):
        allowed_authenticators = (KNOWN,)

    assert Strict().allowed_authenticators == (KNOWN,)
    assert Strict(allowed_authenticators=[EVIL]).allowed_authenticators == (EVIL,)


@pytest.mark.parametrize(
    ("names", "error"), [(KNOWN, TypeError), (5, TypeError), ([5], TypeError), ([""], TypeError), ([], ValueError)]
)
def test_wrong_options(names: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="allowed_authenticators should"):
        Cluster(allowed_authenticators=names)
