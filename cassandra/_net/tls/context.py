"""TLS contexts: every SSLContext of the driver is made here, and nowhere else (L3).

The checks depend on the trusted authorities. A certificate of a public authority, such as those of the system, proves
only a name, so the name is checked. A certificate of a private authority (``ca_certs``) proves by itself that its owner
belongs to the cluster; names are checked if the options require it. A context passed by a program is used as it is: it
is neither copied nor changed.
"""

from __future__ import annotations

import os
import ssl
from collections import deque
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from cassandra._base.logs import get_logger

log = get_logger("cassandra.connection")

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
    context = build_context(merged(content, own))
    _recent.append((shared, content, own, context))
    return context


def merged(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
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
        context.load_cert_chain(options["certfile"], options.get("keyfile"), options.get("password"))
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
