"""Authentication: providers make one authenticator per connection (L3; public module ``cassandra.auth``).

The handshake calls the authenticator for tokens. Those of this module in plain Python run on the I/O thread; any other
runs on a thread of its own, because it may block.
"""

from __future__ import annotations

from typing import Any

from cassandra._base.errors import encoding_secret
from cassandra._base.objects import public


@public("cassandra.auth")
class AuthProvider:
    """Makes authenticators. Subclass it for your own scheme, and pass an instance to
    ``Cluster(auth_provider=...)``."""

    def new_authenticator(self, host: str) -> Authenticator:
        """Return an :class:`Authenticator` for one connection to the node at address *host*."""
        raise NotImplementedError


@public("cassandra.auth")
class Authenticator:
    """One log-in. Used by one connection, once."""

    server_authenticator_class: str | None = None
    """Class name of the server's authenticator; set before ``initial_response`` is called."""

    def initial_response(self) -> bytes | None:
        """Return the first token to send."""
        return None

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        """Return the response to the server's *challenge*."""
        raise NotImplementedError

    def on_authentication_success(self, token: bytes | None) -> None:
        """Called after a successful log-in; *token* is the server's final token, mostly None."""


@public("cassandra.auth")
class PlainTextAuthProvider(AuthProvider):
    """User name and password, for Cassandra's PasswordAuthenticator.

    Example::

        Cluster(auth_provider=PlainTextAuthProvider("cassandra", "cassandra"))
    """

    def __init__(self, username: str, password: str) -> None:
        self.username = username  #: Name of the user.
        self.password = password  #: Password; ``repr`` does not show it.

    def new_authenticator(self, host: str) -> Authenticator:
        return PlainTextAuthenticator(self.username, self.password)


@public("cassandra.auth")
class BaseDSEAuthenticator(Authenticator):
    """For servers that require the mechanism's name first (DataStax Enterprise) and others."""

    def get_mechanism(self) -> bytes:
        """Return the name of the SASL mechanism, as bytes."""
        raise NotImplementedError

    def get_initial_challenge(self) -> bytes:
        """Return the first challenge, as bytes."""
        raise NotImplementedError

    def initial_response(self) -> bytes | None:
        if self.server_authenticator_class == "com.datastax.bdp.cassandra.auth.DseAuthenticator":
            return self.get_mechanism()
        return self.evaluate_challenge(self.get_initial_challenge())


@public("cassandra.auth")
class PlainTextAuthenticator(BaseDSEAuthenticator):
    """SASL PLAIN (RFC 4616) without an authorization identity."""

    def __init__(self, username: str, password: str) -> None:
        self.username = username  #: Name of the user.
        self.password = password  #: Password.

    def get_mechanism(self) -> bytes:
        """Return the name of the SASL mechanism, as bytes."""
        return b"PLAIN"

    def get_initial_challenge(self) -> bytes:
        """Return the first challenge, as bytes."""
        return b"PLAIN-START"

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        if challenge == b"PLAIN-START":
            return b"\x00" + self.username.encode() + b"\x00" + encoding_secret(self.password.encode)
        raise ValueError(f"unexpected authentication challenge {challenge!r}")


@public("cassandra.auth")
class TransitionalModePlainTextAuthProvider:
    """Logs in with an empty user name and password, for servers in transitional mode."""

    def __init__(self) -> None:
        pass

    def new_authenticator(self, host: str) -> Authenticator:
        """Return a :class:`TransitionalModePlainTextAuthenticator`."""
        return TransitionalModePlainTextAuthenticator()


@public("cassandra.auth")
class TransitionalModePlainTextAuthenticator(PlainTextAuthenticator):
    """Logs in to DSE in transitional mode, as an anonymous user."""

    def __init__(self) -> None:
        super().__init__("", "")


@public("cassandra.auth")
class SaslAuthProvider(AuthProvider):
    """Any SASL mechanism of the package ``pure-sasl``; the arguments are those of its ``SASLClient`` without *host*.

    Example::

        SaslAuthProvider(service="cassandra", mechanism="GSSAPI", qops=["auth"])
    """

    def __init__(self, **sasl_kwargs: Any) -> None:
        if "host" in sasl_kwargs:
            raise ValueError("kwargs should not contain 'host' since it is passed dynamically to new_authenticator")
        _require_sasl()
        self.sasl_kwargs = sasl_kwargs  #: Arguments of the SASL client.

    def new_authenticator(self, host: str) -> Authenticator:
        return SaslAuthenticator(host, **self.sasl_kwargs)


@public("cassandra.auth")
class SaslAuthenticator(Authenticator):
    """One SASL exchange through ``puresasl.client.SASLClient``."""

    def __init__(self, host: str, service: str, mechanism: str = "GSSAPI", **sasl_kwargs: Any) -> None:
        self.sasl = _require_sasl()(host, service, mechanism, **sasl_kwargs)  #: The client of the package ``puresasl``.
        self._mechanism = mechanism

    def initial_response(self) -> bytes | None:
        return encoding_secret(self.sasl.process)  # type: ignore[no-any-return]

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        return encoding_secret(self.sasl.process, challenge)  # type: ignore[no-any-return]


@public("cassandra.auth")
class DSEGSSAPIAuthProvider(AuthProvider):
    """Kerberos for DataStax Enterprise; needs ``pure-sasl`` and ``kerberos``."""

    def __init__(
        self,
        service: str = "dse",
        qops: tuple[str, ...] = ("auth",),
        resolve_host_name: bool = True,
        **properties: Any,
    ) -> None:
        _require_sasl()
        self.service = service  #: Name of the Kerberos service.
        self.qops = qops  #: Accepted qualities of protection.
        self.resolve_host_name = resolve_host_name  #: True resolves the addresses of nodes to names.
        self.properties = properties  #: Further arguments of the SASL client.

    def new_authenticator(self, host: str) -> Authenticator:
        return GSSAPIAuthenticator(host, self.service, self.qops, self.properties, self.resolve_host_name)


@public("cassandra.auth")
class GSSAPIAuthenticator(BaseDSEAuthenticator):
    """One GSSAPI exchange. Made off the I/O thread: its constructor may resolve a name."""

    def __init__(
        self,
        host: str,
        service: str,
        qops: tuple[str, ...],
        properties: dict[str, Any],
        resolve_host_name: bool = False,
    ) -> None:
        name = _canonical_name(host) if resolve_host_name else host
        #: The client of the package ``puresasl``.
        self.sasl = _require_sasl()(name, service, "GSSAPI", qops=list(qops), **properties)

    def get_mechanism(self) -> bytes:
        """Return the name of the SASL mechanism, as bytes."""
        return b"GSSAPI"

    def get_initial_challenge(self) -> bytes:
        """Return the first challenge, as bytes."""
        return b"GSSAPI-START"

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        if challenge == b"GSSAPI-START":
            return encoding_secret(self.sasl.process)  # type: ignore[no-any-return]
        return encoding_secret(self.sasl.process, challenge)  # type: ignore[no-any-return]


#: Providers whose authenticators never block and may run on the I/O thread.
INLINE_PROVIDERS = (PlainTextAuthProvider, TransitionalModePlainTextAuthProvider)


def sends_password(authenticator: Any) -> bool:
    """True if *authenticator*, of a class of this module or a subclass, sends a password to the server."""
    if isinstance(authenticator, SaslAuthenticator):
        return getattr(authenticator, "_mechanism", "PLAIN") in ("PLAIN", "LOGIN")
    return isinstance(authenticator, PlainTextAuthenticator) and bool(getattr(authenticator, "password", None))


def _require_sasl() -> Any:
    try:
        from puresasl.client import SASLClient  # type: ignore[import-not-found]
    except ImportError:
        text = "SASL authentication needs the package pure-sasl (pip install pure-sasl)"
        raise ImportError(text, name="puresasl") from None
    return SASLClient


def _canonical_name(host: str) -> str:
    import socket

    return socket.getnameinfo((host, 0), 0)[0]
