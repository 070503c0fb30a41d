"""From ``ssl_options`` to an SSLContext (L3)."""

from __future__ import annotations

import ssl
from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

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
#: Options of ``ssl.wrap_socket`` that have no meaning here, but harm nobody.
_IGNORED_OPTIONS: Final = {
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


#: The latest contexts, with the very dict each was made of and what was in it. Loading authorities costs milliseconds,
#: and sessions can be resumed only within one context.
_recent: deque[tuple[Mapping[str, Any], dict[str, Any], ssl.SSLContext]] = deque(maxlen=8)


@cache
def _default_context() -> ssl.SSLContext:
    return build_context({})


def context_of(options: Mapping[str, Any]) -> ssl.SSLContext:
    """``build_context``, or the context that was made of this same dict before. Dicts that say nothing about it, as
    those of end points with a server name, share one."""
    if set(options) <= _IGNORED_OPTIONS:
        return _default_context()
    for mapping, content, context in _recent:
        if mapping is options and content == options:
            return context
    context = build_context(options)
    _recent.append((options, dict(options), context))
    return context


def build_context(options: Mapping[str, Any]) -> ssl.SSLContext:
    """The SSLContext of an ``ssl_options`` dict.

    Without ``cert_reqs`` the server's certificate is verified, against ``ca_certs`` or else the system's authorities.
    ``check_hostname`` is off unless asked for, as in scylla-driver.
    """
    unknown = set(options) - _CONTEXT_OPTIONS - _IGNORED_OPTIONS
    if unknown:
        known = sorted(_CONTEXT_OPTIONS | {"server_hostname"})
        raise ValueError(f"unknown ssl_options: {sorted(unknown)}; known: {known}")
    version = options.get("ssl_version")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if version in _FIXED_VERSIONS:
        context.minimum_version = context.maximum_version = _FIXED_VERSIONS[version]
    requirement = options.get("cert_reqs")
    requirement = ssl.CERT_REQUIRED if requirement is None else ssl.VerifyMode(requirement)
    check_hostname = bool(options.get("check_hostname", False))
    if check_hostname and requirement == ssl.CERT_NONE:
        raise ValueError("ssl_options: check_hostname needs cert_reqs=ssl.CERT_REQUIRED")
    context.check_hostname = check_hostname
    context.verify_mode = requirement
    _load_certificates(context, options, requirement)
    if options.get("ciphers"):
        context.set_ciphers(options["ciphers"])
    return context


def _load_certificates(context: ssl.SSLContext, options: Mapping[str, Any], requirement: ssl.VerifyMode) -> None:
    if options.get("ca_certs"):
        context.load_verify_locations(options["ca_certs"])
    elif requirement != ssl.CERT_NONE:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    if options.get("certfile"):
        context.load_cert_chain(options["certfile"], options.get("keyfile"), options.get("password"))
    elif options.get("keyfile"):
        raise ValueError("ssl_options: keyfile without certfile")
