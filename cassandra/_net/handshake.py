"""The handshake of a connection, without I/O, and the information about the application in STARTUP (L3).

``handshake`` is a generator: it yields requests, receives the decoded responses, and returns a ``Negotiated``::

    OPTIONS -> SUPPORTED
    STARTUP -> READY | AUTHENTICATE -> AUTH_RESPONSE -> (AUTH_CHALLENGE -> AUTH_RESPONSE)* -> AUTH_SUCCESS
    [REGISTER -> READY | ERROR]
    [USE -> RESULT]

The caller (``opening.py``, tests) sends each request and passes the response to the generator. It also handles three
kinds of yielded values besides messages: :class:`Starting` (STARTUP is next, and its response may be compressed),
:class:`Established` (the server accepted STARTUP: from here on protocol 5 uses segments) and :class:`Blocking` (call a
function that may block and pass its result).

A version that the server rejects raises :class:`VersionRefused`; ``next_version`` returns the one to try on a new
connection.

:class:`ApplicationInfo` is part of the public module ``cassandra.application_info``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from cassandra._base.constants import GRACEFUL_DISCONNECT, ConsistencyLevel, ProtocolVersion, ResultKind
from cassandra._base.errors import (
    AuthenticationFailed,
    ConnectionException,
    ConnectionShutdown,
    ProtocolError,
    ProtocolVersionUnsupported,
    encoding_secret,
)
from cassandra._base.logs import get_logger, printable
from cassandra._base.names import escape_name
from cassandra._base.objects import public
from cassandra._base.server_errors import BadCredentials, ErrorMessage, ProtocolException
from cassandra._base.version import __version__
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
from cassandra._wire.messages.responses import ReadyMessage, ResultMessage, SupportedMessage

from . import compression
from .auth import INLINE_PROVIDERS, MAX_CHALLENGES, Authenticator
from .endpoint import EndPoint
from .features import ProtocolFeatures, supported_versions
from .options import DEFAULT_CQL_VERSION, ConnectionOptions

log = get_logger("cassandra.connection")

DRIVER_NAME = "fastcql"  #: Name of the driver in the tables of clients.
DRIVER_VERSION = __version__  #: Release of the driver in the tables of clients.

Steps = Generator[Any, Any, "Negotiated"]

_LONGEST_TEXT = 4096  # characters of an error message that are parsed
# The digits are limited and must not follow another digit: linear in the length of the text for any content.
_LISTED_VERSION = r"(?<![0-9])([0-9]{1,3})/v[0-9]{1,3}(?![0-9]|-beta)"
_MAX_VERSION = 127  # a version has seven bits
_VERSION_BOUNDS = r"lowest supported version is ([0-9]{1,9}) and the greatest is ([0-9]{1,9})"


# ---- application information


@public("cassandra.application_info")
class ApplicationInfoBase:
    """Subclass it to add options to STARTUP."""

    def add_startup_options(self, options: dict[str, str]) -> None:
        """Add the application's entries to *options*, the options of the STARTUP message."""
        raise NotImplementedError


@public("cassandra.application_info")
class ApplicationInfo(ApplicationInfoBase):
    """Name and version of the application and an id of this client, shown in the server's list of clients."""

    application_name: str | None  #: Name of the application.
    application_version: str | None  #: Version of the application.
    client_id: str | None  #: Id of this client.

    def __init__(
        self,
        application_name: str | None = None,
        application_version: str | None = None,
        client_id: str | None = None,
    ) -> None:
        named = {
            "application_name": application_name,
            "application_version": application_version,
            "client_id": client_id,
        }
        for name, value in named.items():
            if value and not isinstance(value, str):
                raise TypeError(f"{name} should be a string, not {type(value).__name__}")
        self.application_name = application_name
        self.application_version = application_version
        self.client_id = client_id

    def add_startup_options(self, options: dict[str, str]) -> None:
        """Add APPLICATION_NAME, APPLICATION_VERSION and CLIENT_ID, each if it is set."""
        if self.application_name:
            options["APPLICATION_NAME"] = self.application_name
        if self.application_version:
            options["APPLICATION_VERSION"] = self.application_version
        if self.client_id:
            options["CLIENT_ID"] = self.client_id


# ---- steps of the handshake


class Negotiated:
    """Result of a handshake."""

    __slots__ = ("compression", "cql_version", "features", "keyspace", "supported", "version")

    def __init__(
        self,
        version: int,
        features: ProtocolFeatures,
        compression: compression.Compression | None,
        cql_version: str,
        supported: SupportedMessage,
        keyspace: str | None,
    ) -> None:
        self.version = version
        self.features = features
        self.compression = compression
        self.cql_version = cql_version
        self.supported = supported
        self.keyspace = keyspace


class Starting:
    """Settings that the next request, STARTUP, contains."""

    __slots__ = ("compression", "features")

    def __init__(self, compression: compression.Compression | None, features: ProtocolFeatures) -> None:
        self.compression = compression
        self.features = features


class Established:
    """The server accepted STARTUP."""


class Blocking:
    """*call* may block. The caller passes its result to the generator, or throws its exception into it."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call


class VersionRefused(ProtocolVersionUnsupported):
    """The server rejected this protocol version. ``versions`` are those it listed, empty if it listed none."""

    def __init__(
        self, endpoint: Any, startup_version: int, versions: frozenset[int], reason: str | None = None
    ) -> None:
        super().__init__(endpoint, startup_version)
        self.versions = versions  #: Versions that the node supports.
        if reason:
            self.args = (f"{self.args[0]} ({printable(reason)})", *self.args[1:])


VersionRefused.__module__ = "cassandra.connection"


class UnexpectedHost(ConnectionException):
    """The node at the address of a host is another host: the address was given to another node, or a proxy or an
    address translator leads to the wrong one. No request was sent to it."""

    def __init__(self, endpoint: Any, expected: UUID, found: UUID) -> None:
        super().__init__(f"{endpoint} leads to host {found}, not to host {expected}", endpoint)
        self.expected = expected  #: Id of the host that the address is known to belong to.
        self.found = found  #: Id of the host that responded.


UnexpectedHost.__module__ = "cassandra.connection"


class NodeDraining(ConnectionShutdown):
    """The node has announced that it stops while a connection to it was opened. No request was sent to it."""


NodeDraining.__module__ = "cassandra.connection"


def check_host_id(endpoint: EndPoint, expected: UUID | None, found: UUID | None) -> None:
    """Raise UnexpectedHost if both ids are known and differ."""
    if expected is not None and found is not None and found != expected:
        raise UnexpectedHost(endpoint, expected, found)


def handshake(options: ConnectionOptions, endpoint: EndPoint, version: int) -> Steps:
    """Yield the steps that open a connection with protocol *version*."""
    supported = yield OptionsMessage()
    if not isinstance(supported, SupportedMessage):
        raise _unexpected_response_error(supported, "OPTIONS", endpoint, version)
    _check_version(supported, endpoint, version)
    features = ProtocolFeatures.parse_from_supported(supported.options)
    algorithm = compression.choose(options.compression, supported.options.get("COMPRESSION", []), version, endpoint)
    cql_version = _cql_version(options, supported, endpoint)
    yield Starting(algorithm, features)
    answer = yield StartupMessage(cql_version, startup_options(options, features, algorithm, version))
    if not isinstance(answer, (ReadyMessage, AuthenticateMessage)):
        raise _unexpected_response_error(answer, "STARTUP", endpoint, version)
    yield Established()
    if isinstance(answer, AuthenticateMessage):
        yield from _authenticate(options, endpoint, answer.authenticator)
    else:
        options.login.warn_unused_credentials(endpoint, options.auth_provider)
    yield from _register(options.register_events, features.graceful_disconnect, endpoint, version)
    if options.keyspace is not None:
        yield from _use(options.keyspace, endpoint, version)
    return Negotiated(version, features, algorithm, cql_version, supported, options.keyspace)


def _register(wanted: Sequence[str], graceful: bool, endpoint: EndPoint, version: int) -> Generator[Any, Any, None]:
    """Register for the *wanted* events and, on a server that offers it (*graceful*), for GRACEFUL_DISCONNECT. The
    server may reject the latter, for instance with an old protocol version."""
    if graceful:
        answer = yield RegisterMessage((*wanted, GRACEFUL_DISCONNECT))
        if isinstance(answer, ReadyMessage):
            return
        log.debug("%s rejected the registration for %s: %s", endpoint, GRACEFUL_DISCONNECT, answer)
    if wanted:
        answer = yield RegisterMessage(wanted)
        if not isinstance(answer, ReadyMessage):
            raise _unexpected_response_error(answer, "REGISTER", endpoint, version)


def startup_options(
    options: ConnectionOptions,
    features: ProtocolFeatures,
    algorithm: compression.Compression | None,
    version: int,
) -> dict[str, str]:
    """Return the options of STARTUP except the CQL version."""
    startup = {"DRIVER_NAME": DRIVER_NAME, "DRIVER_VERSION": DRIVER_VERSION, **options.startup_options}
    if options.application_info is not None:
        options.application_info.add_startup_options(startup)
    features.add_startup_options(startup)
    if options.report is not None:
        options.report(startup, features.sharding_info is not None)
    if algorithm is not None:
        startup["COMPRESSION"] = algorithm.name
    if options.no_compact and version < 5:  # protocol 5 has no such option (section 9)
        startup["NO_COMPACT"] = "true"
    return startup


def _check_version(supported: SupportedMessage, endpoint: EndPoint, version: int) -> None:
    """Raise VersionRefused for a version not listed or listed as beta: betas of protocol 5 differ between servers."""
    listed = supported_versions(supported.options)
    if listed is not None and listed.get(version, True):
        final = frozenset(number for number, beta in listed.items() if not beta)
        reason = "beta on the server" if version in listed else f"the server supports {sorted(final)}"
        raise VersionRefused(endpoint, version, final, reason)


def _cql_version(options: ConnectionOptions, supported: SupportedMessage, endpoint: EndPoint) -> str:
    wanted = options.cql_version
    if wanted is None:
        return supported.cql_versions[0] if supported.cql_versions else DEFAULT_CQL_VERSION
    if wanted not in supported.cql_versions:
        raise ProtocolError(
            f"cql_version {wanted!r} is not supported by {endpoint}; it supports {printable(supported.cql_versions)}"
        )
    return wanted


def _authenticate(options: ConnectionOptions, endpoint: EndPoint, server_class: str) -> Generator[Any, Any, None]:
    provider = options.auth_provider
    if provider is None:
        raise AuthenticationFailed(
            f"{endpoint} requires authentication ({printable(server_class)}), and no auth_provider is configured"
        )
    inline = type(provider) in INLINE_PROVIDERS

    def begin() -> tuple[Authenticator, bytes | None]:
        authenticator = provider.new_authenticator(endpoint.address)
        options.login.check(endpoint, authenticator, server_class)
        options.login.sending(endpoint, authenticator, options.uses_tls_to(endpoint))
        authenticator.server_authenticator_class = server_class
        return authenticator, authenticator.initial_response()

    authenticator, token = yield from _call(begin, inline, endpoint)
    for _ in range(MAX_CHALLENGES + 1):
        answer = yield AuthResponseMessage(token if token is not None else b"")
        if isinstance(answer, AuthSuccessMessage):
            succeeded = partial(authenticator.on_authentication_success, answer.token)
            yield from _call(succeeded, inline, endpoint)
            return
        if not isinstance(answer, AuthChallengeMessage):
            raise _authentication_error(answer, endpoint)
        evaluate = partial(authenticator.evaluate_challenge, answer.challenge)
        token = yield from _call(evaluate, inline, endpoint)
    raise AuthenticationFailed(
        f"{endpoint} sent more than {MAX_CHALLENGES} authentication challenges; the log-in was cancelled"
    )


def _call(call: Callable[[], Any], inline: bool, endpoint: EndPoint) -> Generator[Any, Any, Any]:
    """Return the result of the authenticator's *call*; its exception is raised as AuthenticationFailed."""
    call = partial(encoding_secret, call)
    try:
        return call() if inline else (yield Blocking(call))
    except AuthenticationFailed:
        raise
    except Exception as error:
        raise AuthenticationFailed(f"The authenticator for {endpoint} failed: {error!r}") from error


def _authentication_error(answer: Any, endpoint: EndPoint) -> BaseException:
    if isinstance(answer, BadCredentials):
        failure: BaseException = AuthenticationFailed(f"Failed to authenticate to {endpoint}: {answer.summary_msg()}")
        failure.__cause__ = answer
        return failure
    return _unexpected_response_error(answer, "AUTH_RESPONSE", endpoint, 0)


def _use(keyspace: str, endpoint: EndPoint, version: int) -> Generator[Any, Any, None]:
    answer = yield use_keyspace(keyspace)
    if not isinstance(answer, ResultMessage) or answer.kind != ResultKind.SET_KEYSPACE:
        if isinstance(answer, ErrorMessage):
            raise answer.to_exception()
        raise _unexpected_response_error(answer, "USE", endpoint, version)


def use_keyspace(keyspace: str) -> QueryMessage:
    """Return a USE request. The name is quoted, so it is case-sensitive and may contain any characters."""
    return QueryMessage(f"USE {escape_name(keyspace)}", ConsistencyLevel.ONE)


def _unexpected_response_error(answer: Any, request: str, endpoint: EndPoint, version: int) -> BaseException:
    """Return the exception for a response that ends the handshake."""
    if isinstance(answer, ProtocolException) and request in ("OPTIONS", "STARTUP"):
        refusal = version_refusal(answer, endpoint, version)
        if refusal is not None:
            return refusal
    if isinstance(answer, BadCredentials):
        failure: Exception = AuthenticationFailed(f"Failed to authenticate to {endpoint}: {answer.summary_msg()}")
    elif isinstance(answer, ErrorMessage):
        failure = ConnectionException(
            f"Failed to initialize new connection to {endpoint}: {answer.summary_msg()}", endpoint
        )
    else:
        return ProtocolError(f"{endpoint}: unexpected response to {request}: {printable(repr(answer))}")
    failure.__cause__ = answer
    return failure


def version_refusal(error: ProtocolException, endpoint: EndPoint, version: int) -> VersionRefused | None:
    """Return VersionRefused if *error* rejects the protocol version, else None.

    Only the text of the error shows it: "Invalid or unsupported protocol version (6); supported versions are (3/v3,
    4/v4, 5/v5, 6/v6-beta)", "...; the lowest supported version is 3 and the greatest is 4", "Beta version of the
    protocol used (5/v5-beta), but USE_BETA flag is unset".
    """
    text = str(error.message)[:_LONGEST_TEXT]
    if error.is_beta_protocol_error:
        return VersionRefused(endpoint, version, frozenset(), text)
    if "unsupported protocol version" not in text.lower():
        return None
    listed = frozenset(int(number) for number in re.findall(_LISTED_VERSION, text))
    bounds = re.search(_VERSION_BOUNDS, text)
    if bounds:
        listed = frozenset(range(int(bounds[1]), min(int(bounds[2]), _MAX_VERSION) + 1))
    return VersionRefused(endpoint, version, listed - {version}, text)


def next_version(refused: int, named: frozenset[int]) -> int | None:
    """Return the highest supported version below *refused*, restricted to those in *named* unless it is empty."""
    candidates = [
        number for number in ProtocolVersion.SUPPORTED_VERSIONS if number < refused and (not named or number in named)
    ]
    return max(candidates, default=None)
