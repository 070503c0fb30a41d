"""What credentials are sent to whom; one policy per cluster (L3; ``Cluster(allowed_authenticators=)``).

A server says by the class of its authenticator how it wants to be logged in to. Anyone can say anything there, and a
password can be sent only once by mistake. Each warning is logged once per policy.
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

#: Classes that known servers announce when they want a user name and a password.
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
#: AUTH_CHALLENGE messages of one log-in. Kerberos needs three, SCRAM two; a server that goes on repeats itself.
MAX_CHALLENGES = 16


class LoginPolicy:
    """Any thread; the connections of one cluster share it."""

    def __init__(self, allowed: Iterable[str] | None = None, warns: bool = True) -> None:
        self.allowed = allowed  # by the property: checked
        self.warns = warns
        self._told: dict[str, object] = {}

    @property
    def allowed(self) -> tuple[str, ...] | None:
        """Classes of authenticators that may be logged in to, by any auth provider. None: passwords are sent to
        :data:`PASSWORD_AUTHENTICATORS`, other providers decide for themselves."""
        return self._allowed

    @allowed.setter
    def allowed(self, names: Iterable[str] | None) -> None:
        self._allowed = None if names is None else checked(names)

    def check(self, endpoint: EndPoint, authenticator: Authenticator, server_class: str) -> None:
        """Raise AuthenticationFailed unless *authenticator* may answer a server that announces *server_class*."""
        if self._allowed is None:
            allowed = server_class in PASSWORD_AUTHENTICATORS or not sends_password(authenticator)
        else:
            allowed = server_class in self._allowed or ANY in self._allowed
        if not allowed:
            raise AuthenticationFailed(
                f"{endpoint} asks for authentication by {server_class!r}, which is not among the allowed "
                "authenticators: nothing was sent. If this server is yours, give "
                f"Cluster(allowed_authenticators=[{server_class!r}])"
            )

    def sending(self, endpoint: EndPoint, authenticator: Authenticator, encrypted: bool) -> None:
        """The log-in begins: warn of a password that others can read."""
        if not encrypted and sends_password(authenticator) and not is_local(endpoint):
            self._warn(
                "plaintext",
                "The password is sent to %s without TLS: all that can read the traffic can read it. Give "
                "Cluster(ssl_context=...), or security_warnings=False if the network is trusted",
                endpoint,
            )

    def not_asked(self, endpoint: EndPoint, provider: Any) -> None:
        """The server asks for no log-in: warn if *provider* has credentials."""
        if provider is None or isinstance(provider, TransitionalModePlainTextAuthProvider):
            return
        self._warn(
            "not asked",
            "%s asks for no authentication, although an auth_provider is given: its authenticator may be switched off, "
            "or it is another server. Give security_warnings=False if that is intended",
            endpoint,
        )

    def _warn(self, kind: str, text: str, endpoint: EndPoint) -> None:
        mine = object()
        if self.warns and self._told.setdefault(kind, mine) is mine:
            log.warning(text, endpoint)


def checked(names: Any) -> tuple[str, ...]:
    """Names of classes; TypeError or ValueError for anything else."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise TypeError(f"allowed_authenticators should be a sequence of class names, not {names!r}")
    found = tuple(names)
    if not all(isinstance(name, str) and name for name in found):
        raise TypeError(f"allowed_authenticators should be a sequence of class names, not {names!r}")
    if not found:
        raise ValueError("allowed_authenticators should have at least one entry")
    return found
