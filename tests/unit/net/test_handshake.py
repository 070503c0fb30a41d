"""The handshake without I/O: scripted answers, every branch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from cassandra._base import errors, server_errors
from cassandra._core.codec import TypeContext
from cassandra._core.transport import Frame
from cassandra._net import handshake as module
from cassandra._net.auth import Authenticator, AuthProvider, PlainTextAuthProvider
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.handshake import (
    ApplicationInfo,
    Blocking,
    Established,
    Negotiated,
    Starting,
    VersionRefused,
    handshake,
    next_version,
    use_keyspace,
    version_refusal,
)
from cassandra._net.options import ConnectionOptions
from cassandra._wire.messages.requests import (
    AuthChallengeMessage,
    AuthenticateMessage,
    AuthResponseMessage,
    AuthSuccessMessage,
    OptionsMessage,
    QueryMessage,
    RegisterMessage,
    StartupMessage,
)
from cassandra._wire.messages.responses import ReadyMessage, SupportedMessage, decode_response
from tests.fakes import wire
from tests.packages import require

ENDPOINT = DefaultEndPoint("10.0.0.1")
SERVER_CLASS = "org.apache.cassandra.auth.PasswordAuthenticator"
PLAIN = ConnectionOptions(compression=False)


def supported(versions: Iterable[str] | None = None, **options: list[str]) -> SupportedMessage:
    if versions is not None:
        options["PROTOCOL_VERSIONS"] = list(versions)
    return SupportedMessage(["3.4.7"], {"COMPRESSION": ["lz4", "snappy"], **options})


def error(code: int, text: str) -> Any:
    frame = Frame(4, 0, 0, wire.ERROR, wire.error(code, text))
    return decode_response(frame, TypeContext())


def set_keyspace(name: str) -> Any:
    return decode_response(Frame(4, 0, 0, wire.RESULT, wire.int32(3) + wire.string(name)), TypeContext())


class Talk:
    """Drives a handshake with answers, and keeps its requests."""

    def __init__(self, options: ConnectionOptions, version: int, answers: Iterable[Any]) -> None:
        self.asked: list[Any] = []
        self.starting: Starting | None = None
        self.established = False
        self.blocked = 0
        self.result: Negotiated | None = None
        steps = handshake(options, ENDPOINT, version)
        left = list(answers)
        step: Callable[[], Any] = steps.__next__
        try:
            while True:
                wanted = step()
                if isinstance(wanted, (Starting, Established)):
                    if isinstance(wanted, Starting):
                        self.starting = wanted
                    else:
                        self.established = True
                    step = steps.__next__
                elif isinstance(wanted, Blocking):
                    self.blocked += 1
                    step = self._call(steps, wanted)
                else:
                    self.asked.append(wanted)
                    answer = left.pop(0)
                    step = lambda answer=answer: steps.send(answer)  # noqa: E731
        except StopIteration as stop:
            self.result = stop.value
        assert not left, f"not asked for: {left}"

    @staticmethod
    def _call(steps: Any, wanted: Blocking) -> Callable[[], Any]:
        try:
            result = wanted.call()
        except Exception as failure:
            thrown = failure
            return lambda: steps.throw(thrown)
        return lambda: steps.send(result)

    @property
    def startup(self) -> dict[str, str]:
        message = next(m for m in self.asked if isinstance(m, StartupMessage))
        return {"CQL_VERSION": message.cqlversion, **message.options}


@pytest.mark.parametrize("version", [3, 4, 5])
def test_shortest(version: int) -> None:
    talk = Talk(PLAIN, version, [supported(), ReadyMessage()])
    assert [type(m) for m in talk.asked] == [OptionsMessage, StartupMessage]
    assert talk.startup == {
        "CQL_VERSION": "3.4.7",
        "DRIVER_NAME": module.DRIVER_NAME,
        "DRIVER_VERSION": module.DRIVER_VERSION,
    }
    assert talk.established and talk.starting is not None and talk.starting.compression is None
    assert talk.result is not None
    assert (talk.result.version, talk.result.keyspace, talk.result.compression) == (version, None, None)


@pytest.mark.parametrize(("version", "wanted", "name"), [(4, True, "lz4"), (5, True, "lz4"), (4, "snappy", "snappy")])
def test_compression(version: int, wanted: bool | str, name: str) -> None:
    if name == "snappy":
        require("cramjam")
    talk = Talk(ConnectionOptions(compression=wanted), version, [supported(), ReadyMessage()])
    assert talk.startup["COMPRESSION"] == name
    assert talk.starting is not None and talk.starting.compression is not None
    assert talk.starting.compression.name == name


def test_protocol_5_has_no_snappy() -> None:
    require("cramjam")
    talk = Talk(ConnectionOptions(compression="snappy"), 5, [supported(), ReadyMessage()])
    assert "COMPRESSION" not in talk.startup


def test_compression_the_server_lacks() -> None:
    answer = SupportedMessage(["3.4.7"], {"COMPRESSION": ["snappy"]})
    with pytest.raises(errors.ProtocolError, match=r"'lz4' is not supported by the server at 10.0.0.1:9042"):
        Talk(ConnectionOptions(compression="lz4"), 4, [answer])
    with pytest.raises(errors.ProtocolError, match="'zstd' is not available"):
        Talk(ConnectionOptions(compression="zstd"), 4, [answer])


def test_startup_has_the_application_info_and_options() -> None:
    options = PLAIN.replace(
        application_info=ApplicationInfo("shop", "1.2", "c-7"),
        startup_options={"SESSION_ID": "s", "DRIVER_NAME": "renamed"},
        no_compact=True,
    )
    talk = Talk(options, 4, [supported(), ReadyMessage()])
    expected = {
        "APPLICATION_NAME": "shop",
        "APPLICATION_VERSION": "1.2",
        "CLIENT_ID": "c-7",
        "SESSION_ID": "s",
        "DRIVER_NAME": "renamed",
        "NO_COMPACT": "true",
    }
    assert expected.items() <= talk.startup.items()
    assert "NO_COMPACT" not in Talk(options, 5, [supported(), ReadyMessage()]).startup


def test_scylla_extensions_are_opted_in() -> None:
    answer = supported(
        TABLETS_ROUTING_V1=[""],
        SCYLLA_RATE_LIMIT_ERROR=["ERROR_CODE=61440"],
        SCYLLA_LWT_ADD_METADATA_MARK=["LWT_OPTIMIZATION_META_BIT_MASK=2147483648"],
    )
    talk = Talk(PLAIN, 4, [answer, ReadyMessage()])
    assert {"TABLETS_ROUTING_V1", "SCYLLA_RATE_LIMIT_ERROR", "SCYLLA_LWT_ADD_METADATA_MARK"} <= talk.startup.keys()
    assert talk.result is not None and talk.result.features.rate_limit_error == 61440


def test_cql_version() -> None:
    options = PLAIN.replace(cql_version="3.4.7")
    assert Talk(options, 4, [supported(), ReadyMessage()]).startup["CQL_VERSION"] == "3.4.7"
    with pytest.raises(errors.ProtocolError, match=r"cql_version '9.9' is not supported by .*\['3.4.7'\]"):
        Talk(PLAIN.replace(cql_version="9.9"), 4, [supported()])
    nothing = SupportedMessage([], {})
    assert Talk(PLAIN, 4, [nothing, ReadyMessage()]).startup["CQL_VERSION"] == "3.0.0"


def test_register_and_use() -> None:
    options = PLAIN.replace(register_events=("STATUS_CHANGE",), keyspace='odd"name')
    talk = Talk(options, 4, [supported(), ReadyMessage(), ReadyMessage(), set_keyspace('odd"name')])
    assert isinstance(talk.asked[2], RegisterMessage) and list(talk.asked[2].event_list) == ["STATUS_CHANGE"]
    assert isinstance(talk.asked[3], QueryMessage) and talk.asked[3].query == 'USE "odd""name"'
    assert talk.result is not None and talk.result.keyspace == 'odd"name'


def test_register_refused() -> None:
    options = PLAIN.replace(register_events=("STATUS_CHANGE",))
    with pytest.raises(errors.ConnectionException, match="no events"):
        Talk(options, 4, [supported(), ReadyMessage(), error(0x2200, "no events")])


def test_unknown_keyspace_is_the_users_error() -> None:
    answers = [supported(), ReadyMessage(), error(0x2200, "Keyspace 'nope' does not exist")]
    with pytest.raises(errors.InvalidRequest, match="'nope' does not exist"):
        Talk(PLAIN.replace(keyspace="nope"), 4, answers)
    with pytest.raises(errors.ProtocolError, match="unexpected response to USE"):
        Talk(PLAIN.replace(keyspace="nope"), 4, [supported(), ReadyMessage(), ReadyMessage()])


def test_keyspace_cannot_smuggle_cql() -> None:
    assert use_keyspace('a"; DROP KEYSPACE b; --').query == 'USE "a""; DROP KEYSPACE b; --"'


# ---- authentication


def test_plain_text() -> None:
    options = PLAIN.replace(auth_provider=PlainTextAuthProvider("me", "pä"))
    talk = Talk(options, 4, [supported(), AuthenticateMessage(SERVER_CLASS), AuthSuccessMessage(None)])
    assert isinstance(talk.asked[2], AuthResponseMessage)
    assert talk.asked[2].response == "\0me\0pä".encode()
    assert talk.blocked == 0, "the built-in provider runs in place"
    assert talk.established, "AUTHENTICATE ends the legacy part as READY does"


def test_dse_wants_the_mechanism_first() -> None:
    options = PLAIN.replace(auth_provider=PlainTextAuthProvider("me", "pw"))
    answers = [
        supported(),
        AuthenticateMessage("com.datastax.bdp.cassandra.auth.DseAuthenticator"),
        AuthChallengeMessage(b"PLAIN-START"),
        AuthSuccessMessage(None),
    ]
    responses = [m.response for m in Talk(options, 4, answers).asked if isinstance(m, AuthResponseMessage)]
    assert responses == [b"PLAIN", b"\0me\0pw"]


class Chatty(AuthProvider, Authenticator):
    """An authenticator of a user's own: three rounds."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def new_authenticator(self, host: str) -> Authenticator:
        self.seen.append(host)
        return self

    def initial_response(self) -> bytes | None:
        self.seen.append(self.server_authenticator_class)
        return None

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        self.seen.append(challenge)
        return b"re:" + (challenge or b"")

    def on_authentication_success(self, token: bytes | None) -> None:
        self.seen.append(("success", token))


def test_sasl_rounds_run_where_they_may_block() -> None:
    provider = Chatty()
    answers = [
        supported(),
        AuthenticateMessage(SERVER_CLASS),
        AuthChallengeMessage(b"1"),
        AuthChallengeMessage(b"2"),
        AuthSuccessMessage(b"bye"),
    ]
    talk = Talk(PLAIN.replace(auth_provider=provider), 4, answers)
    assert provider.seen == ["10.0.0.1", SERVER_CLASS, b"1", b"2", ("success", b"bye")]
    assert [m.response for m in talk.asked[2:]] == [b"", b"re:1", b"re:2"]
    assert talk.blocked == 4


def test_no_provider() -> None:
    with pytest.raises(errors.AuthenticationFailed, match=f"requires authentication .{SERVER_CLASS}., and no auth"):
        Talk(PLAIN, 4, [supported(), AuthenticateMessage(SERVER_CLASS)])


def test_bad_credentials() -> None:
    options = PLAIN.replace(auth_provider=PlainTextAuthProvider("me", "pw"))
    answers = [supported(), AuthenticateMessage(SERVER_CLASS), error(0x0100, "wrong password")]
    with pytest.raises(errors.AuthenticationFailed, match=r"10.0.0.1:9042: .*wrong password") as caught:
        Talk(options, 4, answers)
    assert isinstance(caught.value.__cause__, server_errors.BadCredentials)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (error(0x1001, "busy"), errors.ConnectionException),
        (error(0x0000, "broken"), errors.ConnectionException),
        (ReadyMessage(), errors.ProtocolError),
    ],
)
def test_other_answers_to_a_log_in(answer: Any, expected: Any) -> None:
    options = PLAIN.replace(auth_provider=PlainTextAuthProvider("me", "pw"))
    with pytest.raises(expected):
        Talk(options, 4, [supported(), AuthenticateMessage(SERVER_CLASS), answer])


def test_authenticators_may_fail() -> None:
    class Broken(Chatty):
        def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
            raise RuntimeError("no ticket")

    answers = [supported(), AuthenticateMessage(SERVER_CLASS), AuthChallengeMessage(b"1")]
    with pytest.raises(errors.AuthenticationFailed, match=r"authenticator for 10.0.0.1:9042 failed: .*no ticket"):
        Talk(PLAIN.replace(auth_provider=Broken()), 4, answers)
    plain = PLAIN.replace(auth_provider=PlainTextAuthProvider("me", "pw"))
    with pytest.raises(errors.AuthenticationFailed, match="unexpected authentication challenge"):
        Talk(plain, 4, answers)


# ---- answers that end it


def test_errors_on_the_way() -> None:
    with pytest.raises(errors.ConnectionException, match=r"initialize new connection to 10.0.0.1:9042.*is booting"):
        Talk(PLAIN, 4, [error(0x1002, "is booting")])
    with pytest.raises(errors.ConnectionException, match="overloaded"):
        Talk(PLAIN, 4, [supported(), error(0x1001, "overloaded")])
    with pytest.raises(errors.AuthenticationFailed, match="go away"):
        Talk(PLAIN, 4, [supported(), error(0x0100, "go away")])
    with pytest.raises(errors.ConnectionException, match="not that one"):
        Talk(PLAIN, 4, [supported(), error(0x000A, "not that one")])
    with pytest.raises(errors.ProtocolError, match="unexpected response to OPTIONS"):
        Talk(PLAIN, 4, [ReadyMessage()])
    with pytest.raises(errors.ProtocolError, match="unexpected response to STARTUP"):
        Talk(PLAIN, 4, [supported(), supported()])


# ---- versions

REFUSALS = [
    (
        6,
        "Invalid or unsupported protocol version (6); supported versions are (3/v3, 4/v4, 5/v5, 6/v6-beta)",
        {3, 4, 5},
    ),
    (5, "Invalid or unsupported protocol version (5); the lowest supported version is 3 and the greatest is 4", {3, 4}),
    (5, "Invalid or unsupported protocol version (5); supported versions are (3/v3, 4/v4, 5/v5-beta)", {3, 4}),
    (5, "Invalid or unsupported protocol version: 5", set()),
    (5, "Beta version of the protocol used (5/v5-beta), but USE_BETA flag is unset", set()),
    (3, "Invalid or unsupported protocol version (3); the lowest supported version is 1 and the greatest is 2", {1, 2}),
]


@pytest.mark.parametrize(("version", "text", "named"), REFUSALS)
@pytest.mark.parametrize("step", ["OPTIONS", "STARTUP"])
def test_version_refused(version: int, text: str, named: set[int], step: str) -> None:
    answers = [error(0x0A, text)] if step == "OPTIONS" else [supported(), error(0x0A, text)]
    with pytest.raises(VersionRefused) as caught:
        Talk(PLAIN, version, answers)
    assert caught.value.versions == frozenset(named)
    assert caught.value.startup_version == version
    assert text in str(caught.value)
    assert isinstance(caught.value, errors.ProtocolVersionUnsupported)


def test_other_protocol_errors_are_not_about_the_version() -> None:
    assert version_refusal(error(0x0A, "Unexpected message STARTUP"), ENDPOINT, 5) is None


def test_versions_listed_in_supported() -> None:
    Talk(PLAIN, 5, [supported(["3/v3", "4/v4", "5/v5", "6/v6-beta"]), ReadyMessage()])
    with pytest.raises(VersionRefused, match="beta on the server") as caught:
        Talk(PLAIN, 5, [supported(["3/v3", "4/v4", "5/v5-beta"])])
    assert caught.value.versions == {3, 4}
    with pytest.raises(VersionRefused, match=r"the server supports \[3, 4\]"):
        Talk(PLAIN, 5, [supported(["3/v3", "4/v4"])])


@pytest.mark.parametrize(
    ("refused", "named", "expected"),
    [(5, {3, 4}, 4), (5, {3}, 3), (5, set(), 4), (4, set(), 3), (3, set(), None), (5, {1, 2}, None), (4, {4, 5}, None)],
)
def test_next_version(refused: int, named: set[int], expected: int | None) -> None:
    assert next_version(refused, frozenset(named)) == expected
