"""Policy for sending credentials to servers; one per cluster (L3; ``Cluster(allowed_authenticators=)``).

A server announces its log-in method by the class of its authenticator. A hostile server can announce any class, and a
password that was sent by mistake is disclosed. Each warning is logged once per policy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cassandra._base.errors import AuthenticationFailed
from cassandra._base.logs import get_logger
from cassandra._net.endpoint import EndPoint, is_local
from cassandra._net.handshake.auth import Authenticator, TransitionalModePlainTextAuthProvider, sends_password

log = get_logger("cassandra.auth")

ANY = "*"

#: Authenticator classes of known servers that require a user name and a password.
PASSWORD_AUTHENTICATORS = frozenset(
    (
        "org.apache.cassandra.auth.PasswordAuthenticator",
        "org.apache.cassandra.auth.MutualTlsAuthenticator",
        "org.apache.cassandra.auth.MutualTlsWithPasswordFallbackAuthenticator",
        "com.amazon.helenus.auth.HelenusAuthenticator",
        "com.datastax.bdp.cassandra.auth.DseAuthenticator",
        "com.ericsson.bss.cassandra.ecaudit.auth.AuditAuthenticator",
        "com.ericsson.bss.cassandra.ecaudit.auth.AuditPasswordAuthenticator",
        "com.instaclustr.cassandra.auth.InstaclustrPasswordAuthenticator",
        "com.instaclustr.cassandra.auth.SharedSecretAuthenticator",
        "com.scylladb.auth.CertificateAuthenticator",
        "com.scylladb.auth.SaslauthdAuthenticator",
        "com.scylladb.auth.TransitionalAuthenticator",
        "io.aiven.cassandra.auth.AivenAuthenticator",
    )
)
#: Limit of AUTH_CHALLENGE messages in one log-in. Kerberos needs three, SCRAM two.
MAX_CHALLENGES = 16


class LoginPolicy:
    """Login policy of one cluster, shared by its connections. Methods may be called from any thread."""

    def __init__(self, allowed: Iterable[str] | None = None, warns: bool = True) -> None:
        self.allowed = allowed  # the property setter validates it
        self.warns = warns
        self._told: dict[str, object] = {}

    @property
    def allowed(self) -> tuple[str, ...] | None:
        """Authenticator classes of servers to which any auth provider may send credentials. None: passwords are sent to
        :data:`PASSWORD_AUTHENTICATORS` only; providers without a password are not restricted."""
        return self._allowed

    @allowed.setter
    def allowed(self, names: Iterable[str] | None) -> None:
        self._allowed = None if names is None else checked(names)

    def check(self, endpoint: EndPoint, authenticator: Authenticator, server_class: str) -> None:
        """Raise AuthenticationFailed unless *authenticator* may log in to a server that announces *server_class*."""
        if self._allowed is None:
            allowed = server_class in PASSWORD_AUTHENTICATORS or not sends_password(authenticator)
        else:
            allowed = server_class in self._allowed or ANY in self._allowed
        if not allowed:
            raise AuthenticationFailed(
                f"{endpoint} requires authentication by {server_class!r}, which is not among the allowed "
                "authenticators: nothing was sent. If this server is trusted, set "
                f"Cluster(allowed_authenticators=[{server_class!r}])"
            )

    def sending(self, endpoint: EndPoint, authenticator: Authenticator, encrypted: bool) -> None:
        """Warn before a log-in that sends a password unencrypted over a network."""
        if not encrypted and sends_password(authenticator) and not is_local(endpoint):
            self._warn(
                "plaintext",
                "The password is sent to %s without TLS and can be read from the network traffic. Set "
                "Cluster(ssl_context=...), or security_warnings=False if the network is trusted",
                endpoint,
            )

    def not_asked(self, endpoint: EndPoint, provider: Any) -> None:
        """Warn if *provider* has credentials but the server requires no authentication."""
        if provider is None or isinstance(provider, TransitionalModePlainTextAuthProvider):
            return
        self._warn(
            "not asked",
            "%s requires no authentication, although an auth_provider is set: its authenticator may be switched off, "
            "or it is another server. Set security_warnings=False if that is intended",
            endpoint,
        )

    def _warn(self, kind: str, text: str, endpoint: EndPoint) -> None:
        mine = object()
        if self.warns and self._told.setdefault(kind, mine) is mine:
            log.warning(text, endpoint)


def checked(names: Any) -> tuple[str, ...]:
    """Return *names* as a tuple of class names. Raises TypeError or ValueError for invalid or no names."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise TypeError(f"allowed_authenticators should be a sequence of class names, not {names!r}")
    found = tuple(names)
    if not all(isinstance(name, str) and name for name in found):
        raise TypeError(f"allowed_authenticators should be a sequence of class names, not {names!r}")
    if not found:
        raise ValueError("allowed_authenticators should have at least one entry")
    return found
