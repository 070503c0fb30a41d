"""TLS: contexts made of users' options, and the byte filter of a connection over memory BIOs (L3).

*Contexts.* Every SSLContext of the driver is made here, and nowhere else. The checks depend on the trusted authorities.
A certificate of a public authority, such as those of the system, proves only a name, so the name is checked. A
certificate of a private authority (``ca_certs``) proves by itself that its owner belongs to the cluster; names are
checked if the options require it. A context passed by a program is used as it is: it is neither copied nor changed.

*Filter.* It is between the native channel and plaintext frames: the channel sends and receives bytes, the filter
encrypts and decrypts them without access to the socket. OpenSSL checks certificates and host name as configured in the
context. The filter offers sessions for resumption, and translates OpenSSL's errors into ones that name a likely cause.
"""

from __future__ import annotations

import contextlib
import os
import ssl
from collections import deque
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from cassandra._base.errors import ConnectionException, encoding_secret
from cassandra._base.logs import get_logger
from cassandra._core.transport import TlsRecords

from .endpoint import EndPoint
from .options import ConnectionOptions
from .tls_sessions import SSLSessionCache

log = get_logger("cassandra.connection")


# ---- contexts of options

_CONTEXT_OPTIONS: Final = {
    "ca_certs",
    "certfile",
    "keyfile",
    "password",
    "cert_reqs",
    "check_hostname",
    "ssl_version",
    "ciphers",
}
#: Options of ``ssl.wrap_socket`` that are valid with any context; all but the first have no effect.
_OTHER_OPTIONS: Final = {
    "server_hostname",
    "do_handshake_on_connect",
    "suppress_ragged_eofs",
    "server_side",
}
_FIXED_VERSIONS: Final = {
    getattr(ssl, f"PROTOCOL_{name}"): getattr(ssl.TLSVersion, name)
    for name in ("TLSv1", "TLSv1_1", "TLSv1_2")
    if hasattr(ssl, f"PROTOCOL_{name}")
}
#: Files of the systems' public authorities; the lists of OpenSSL and of the package certifi are checked too.
_PUBLIC_AUTHORITIES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
)

NO_VERIFICATION: Final = (
    "TLS without verification: cert_reqs=CERT_NONE accepts every certificate, so any server can read passwords and "
    "data. Set ca_certs to the file of the cluster's certificate authority"
)
NO_NAMES: Final = (
    "TLS without host names: check_hostname=False with public authorities accepts the certificate of any domain, so "
    "any server can read passwords and data. Set ca_certs to the file of the cluster's certificate authority, or "
    "server_hostname to a name that all its certificates have"
)

#: The latest contexts, each with the options it was made from: the cluster's (the dict itself and a copy of its
#: content) and the endpoint's. Loading authorities takes milliseconds; sessions are resumed within one context only.
_recent: deque[tuple[Mapping[str, Any] | None, dict[str, Any], dict[str, Any], ssl.SSLContext]] = deque(maxlen=32)


@cache
def _default_context() -> ssl.SSLContext:
    return build_context({})


def check_options(options: Mapping[str, Any], context: ssl.SSLContext | None = None) -> None:
    """Reject unknown options. With a *context*, reject also options that contradict it or would require changing it: a
    setting that is silently ignored could be the one that protects the connection.

    Raises ValueError.
    """
    unknown = set(options) - _CONTEXT_OPTIONS - _OTHER_OPTIONS
    if unknown:
        known = sorted(_CONTEXT_OPTIONS | {"server_hostname"})
        raise ValueError(f"unknown ssl_options: {sorted(unknown)}; known: {known}")
    if context is None:
        return
    for name in sorted(_CONTEXT_OPTIONS.intersection(options)):
        value = options[name]
        if value is None:
            continue
        if name == "check_hostname":
            if bool(value) != context.check_hostname:
                state = "on" if context.check_hostname else "off"
                raise ValueError(f"ssl_options has check_hostname={value!r}, but ssl_context has it {state}")
        elif name == "cert_reqs":
            if ssl.VerifyMode(value) != context.verify_mode:
                wanted = ssl.VerifyMode(value).name
                found = context.verify_mode.name
                raise ValueError(f"ssl_options has cert_reqs={wanted}, but verify_mode of ssl_context is {found}")
        else:
            raise ValueError(f"ssl_options: {name} has no effect with ssl_context: set it in the context")


def context_for(
    given: ssl.SSLContext | None, shared: Mapping[str, Any] | None, own: Mapping[str, Any] | None
) -> ssl.SSLContext:
    """Return the context for connections to one endpoint.

    :param given: the cluster's ``ssl_context``.
    :param shared: the cluster's ``ssl_options``.
    :param own: ``ssl_options`` of the endpoint, which override *shared*. An endpoint with its own ``ca_certs`` or
        ``certfile`` has its own context, even if there is a *given* one.

    Raises ValueError for options that are unknown or contradict each other or *given*.
    """
    own = own or {}
    if given is not None:
        check_options(shared or {}, given)
        if not {"ca_certs", "certfile"} & {name for name, value in own.items() if value is not None}:
            check_options(own, given)
            return given
        shared = None
    return _context_of(shared, {name: value for name, value in own.items() if name not in _OTHER_OPTIONS})


def _context_of(shared: Mapping[str, Any] | None, own: dict[str, Any]) -> ssl.SSLContext:
    """Return a context for these options, cached by the identity and content of *shared* and the content of *own*."""
    content = dict(shared or {})
    if not own and set(content) <= _OTHER_OPTIONS:
        return _default_context()
    for mapping, known, known_own, context in _recent.copy():
        if mapping is shared and known == content and known_own == own:
            return context
    context = build_context(merge_options(content, own))
    _recent.append((shared, content, own, context))
    return context


def merge_options(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return *shared* overridden by *own*. An option of *own* also removes options of *shared* that contradict it."""
    options = {**shared, **own}
    unverified = own.get("cert_reqs") is not None and ssl.VerifyMode(own["cert_reqs"]) == ssl.CERT_NONE
    if unverified and "check_hostname" not in own:
        options.pop("check_hostname", None)
    elif own.get("check_hostname") and "cert_reqs" not in own:
        options.pop("cert_reqs", None)
    return options


def build_context(options: Mapping[str, Any]) -> ssl.SSLContext:
    """Return a new SSLContext for an ``ssl_options`` dict.

    Without ``cert_reqs`` the server's certificate is verified, against ``ca_certs`` or else the system's authorities.
    ``check_hostname`` is on with the system's authorities, and by default off with those of ``ca_certs``.
    Disabled verification, or disabled name checks with public authorities, is logged as a warning once per process.

    Raises ValueError for unknown or contradictory options, OSError for files that cannot be read.
    """
    check_options(options)
    version = options.get("ssl_version")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if version in _FIXED_VERSIONS:
        context.minimum_version = context.maximum_version = _FIXED_VERSIONS[version]
    requirement = _requirement(options)
    if options.get("check_hostname") and requirement == ssl.CERT_NONE:
        raise ValueError("ssl_options: check_hostname needs cert_reqs=ssl.CERT_REQUIRED")
    context.check_hostname = checks_names(options)
    context.verify_mode = requirement
    _load_certificates(context, options, requirement)
    if options.get("ciphers"):
        context.set_ciphers(options["ciphers"])
    if requirement == ssl.CERT_NONE:
        _warn(NO_VERIFICATION)
    elif not context.check_hostname and _is_public(options.get("ca_certs")):
        _warn(NO_NAMES)
    return context


def checks_names(options: Mapping[str, Any]) -> bool:
    """True if a context made of *options* checks host names."""
    if _requirement(options) == ssl.CERT_NONE:
        return False
    asked = options.get("check_hostname")
    return _is_public(options.get("ca_certs")) if asked is None else bool(asked)


def private_context(authority: Path, certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a context that trusts one private *authority* and sends a client *certificate*; for secure connect
    bundles, whose certificates have no node names.

    Raises ValueError with the name of the invalid file.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_verify_locations(authority)
    except ssl.SSLError as error:
        raise ValueError(f"{authority.name} is not a certificate: {error.reason}") from None
    try:
        context.load_cert_chain(certificate, key, password="")  # never prompt at the terminal
    except ssl.SSLError as error:
        raise ValueError(f"{certificate.name} and {key.name} are invalid or do not match: {error.reason}") from None
    return context


def _requirement(options: Mapping[str, Any]) -> ssl.VerifyMode:
    requirement = options.get("cert_reqs")
    return ssl.CERT_REQUIRED if requirement is None else ssl.VerifyMode(requirement)


def _load_certificates(context: ssl.SSLContext, options: Mapping[str, Any], requirement: ssl.VerifyMode) -> None:
    if options.get("ca_certs"):
        context.load_verify_locations(options["ca_certs"])
    elif requirement != ssl.CERT_NONE:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    if options.get("certfile"):
        files = options["certfile"], options.get("keyfile")
        encoding_secret(context.load_cert_chain, *files, options.get("password"))
    elif options.get("keyfile"):
        raise ValueError("ssl_options: keyfile without certfile")


def _is_public(authorities: Any) -> bool:
    """True for public authorities: no file (the system's), or a file that is a known list of public ones."""
    if not authorities:
        return True
    path = os.path.realpath(os.fsdecode(authorities))
    defaults = ssl.get_default_verify_paths()
    known = [*_PUBLIC_AUTHORITIES, defaults.cafile, defaults.openssl_cafile]
    return Path(path).parts[-2:] == ("certifi", "cacert.pem") or path in {os.path.realpath(one) for one in known if one}


@cache
def _warn(text: str) -> None:
    """Log *text*, once per process."""
    log.warning("%s", text)


# ---- filter of a connection

_ADDRESS_MISMATCH: Final = 64  # X509_V_ERR_IP_ADDRESS_MISMATCH
_NOT_TLS: Final = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_MESSAGE", "PACKET_LENGTH_TOO_LONG"}


def make_filter(options: ConnectionOptions, endpoint: EndPoint) -> TlsFilter | None:
    """Return the filter for one connection, None for plaintext."""
    context = options.tls_context_for(endpoint)
    if context is None:
        return None
    given = {**(options.ssl_options or {}), **(endpoint.ssl_options or {})}
    return TlsFilter(context, endpoint, given.get("server_hostname"), options.ssl_session_cache)


class TlsFilter(TlsRecords):
    """One TLS session as a ``transport.ByteFilter``. The channel calls it under one lock."""

    def __init__(
        self,
        context: ssl.SSLContext,
        endpoint: EndPoint,
        server_hostname: str | None = None,
        sessions: SSLSessionCache | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._sessions = sessions
        self._session_key: tuple[Any, ...] = ()
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = self._wrap(context, server_hostname)
        super().__init__(self._tls, self._incoming, self._outgoing)

    def _wrap(self, context: ssl.SSLContext, server_hostname: str | None) -> ssl.SSLObject:
        name = self._endpoint.server_name.removesuffix(".") if server_hostname is None else server_hostname
        if ":" in name:
            name = name.partition("%")[0]  # certificates do not contain the scope of an IPv6 address
        # A resumed session is not verified again, so it must be one that was verified in the same way.
        self._session_key = (
            self._endpoint,
            self._endpoint.tls_session_cache_key,
            name,
            context,
            context.check_hostname,
            context.verify_mode,
        )
        offered = self._sessions.get(self._session_key) if self._sessions else None
        for session in (offered, None):
            try:
                return context.wrap_bio(self._incoming, self._outgoing, server_hostname=name, session=session)
            except ValueError as error:  # an address that is not a valid host name
                if session is None and (server_hostname is not None or context.check_hostname):
                    text = f"invalid TLS server name: {name!r}: {error}"
                    raise ConnectionException(text, self._endpoint) from error
        return context.wrap_bio(self._incoming, self._outgoing)

    @property
    def session_reused(self) -> bool:
        return bool(self._tls.session_reused)

    def start(self) -> bytes:
        self._handshake()
        return self._outgoing.read()

    def shutdown(self) -> bytes:
        """Return the bytes of an orderly close (close_notify); nothing can be sent after them."""
        with contextlib.suppress(ssl.SSLError):  # SSLWantReadError: do not wait for the peer's close_notify
            self._tls.unwrap()
        return self._outgoing.read()

    def eof(self) -> None:
        if not self.established:
            raise ConnectionException(
                f"{self._endpoint} closed the connection during the TLS handshake; check that this port uses TLS",
                self._endpoint,
            )
        if not self.ended:
            raise ConnectionException(
                f"{self._endpoint} closed the TLS connection without close_notify (truncated stream)", self._endpoint
            )

    def _handshake(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLError as error:
            raise self._translated(error) from error
        self.established = True

    def _on_first_data(self) -> None:
        """Cache the session. In TLS 1.3 tickets arrive after the handshake."""
        if self._sessions is None:
            return
        session = self._tls.session
        if session is not None and session.has_ticket:
            lifetime = session.ticket_lifetime_hint or session.timeout
            self._sessions.set(self._session_key, session, lifetime)

    def _translated(self, error: ssl.SSLError) -> ConnectionException:
        where = f"TLS with {self._endpoint} failed"
        if isinstance(error, ssl.SSLCertVerificationError):
            text = f"{where}: its certificate was refused: {error.verify_message}"
            if error.verify_code == _ADDRESS_MISMATCH:
                text += " Use the contact point's name, or add the addresses of all nodes to the certificates."
        elif not self.established and error.reason in _NOT_TLS:
            text = f"{where}: the peer does not seem to use TLS on this port ({error.reason})"
        elif error.reason is not None and "ALERT" in error.reason:
            text = f"{where}: rejected by the peer ({error.reason}); check the client certificate and the TLS version"
        else:
            text = f"{where}: {error}"
        return ConnectionException(text, self._endpoint)
