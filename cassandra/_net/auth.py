"""Authentication: providers make one authenticator per connection (L3; public module ``cassandra.auth``).

The handshake calls the authenticator for tokens. Those of this module in plain Python run on the I/O thread; any other
runs on a thread of its own, because it may block.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from cassandra._base.errors import AuthenticationFailed, ConnectionException, encoding_secret
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._base.real import socket

from .endpoint import EndPoint, SocketAddress, is_local


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


# ---- servers that a cluster trusts
#
# Servers that a cluster trusts: addresses that it may connect to, and servers that it sends credentials to.
#
# *Addresses* (``Cluster(allowed_addresses=)``). Nodes announce each other's addresses, and the driver sends the
# password to the server at such an address. With this list, an announced address is used only if it is in one of the
# networks or is reached by one of the names.
#
# *Credentials* (``Cluster(allowed_authenticators=)``), by one ``LoginPolicy`` per cluster. A server announces its log-
# in method by the class of its authenticator. A hostile server can announce any class, and a password that was sent by
# mistake is disclosed. Each warning is logged once per policy.


log = get_logger("cassandra.auth")


# ---- allowed addresses

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

AF_UNIX = getattr(socket, "AF_UNIX", None)  # local and configured by the program: always allowed


class AllowedAddresses(tuple[str, ...]):
    """Networks and names as text: networks (``"10.0.0.0/8"``, ``ipaddress.ip_network(...)``), addresses, host names,
    and domains (``"*.example.org"``: all names below it).

    Raises TypeError for anything but a sequence of these types, ValueError for an entry that cannot be parsed.
    """

    _networks: list[Network]
    _names: set[str]
    _domains: list[str]

    def __new__(cls, entries: Iterable[Any]) -> AllowedAddresses:
        if isinstance(entries, (str, bytes)) or not isinstance(entries, Iterable):
            raise TypeError(f"allowed_addresses should be a sequence of networks and names, not {entries!r}")
        given = list(entries)
        self = super().__new__(cls, map(str, given))
        self._networks, self._names, self._domains = [], set(), []
        for entry in given:
            self._add(entry)
        if not given:
            raise ValueError("allowed_addresses should have at least one entry")
        return self

    def _add(self, entry: Any) -> None:
        if isinstance(entry, (IPv4Address, IPv6Address, IPv4Network, IPv6Network)):
            self._networks.append(ip_network(entry))
            return
        if not isinstance(entry, str):
            raise TypeError(f"allowed_addresses: a network or a name should be a string, not {entry!r}")
        if "/" in entry or _address(entry) is not None:
            try:
                self._networks.append(ip_network(entry))
            except ValueError as error:
                raise ValueError(f"allowed_addresses: invalid network: {error}") from None
            return
        name = _name(entry.removeprefix("*."))
        labels = name.split(".")
        if not all(label.replace("-", "").replace("_", "").isalnum() for label in labels):
            raise ValueError(f"allowed_addresses: neither a network nor a host name: {entry!r}")
        if entry.startswith("*."):
            self._domains.append(f".{name}")
        else:
            self._names.add(name)

    def __repr__(self) -> str:
        return f"<AllowedAddresses: {', '.join(self)}>"

    def may_host(self, endpoint: EndPoint) -> bool:
        """False if *endpoint* has an address that is not allowed. True also for a name that is not resolved yet:
        :meth:`reachable` checks its addresses after the look-up."""
        if self._allows_name_of(endpoint) or endpoint.socket_family == AF_UNIX:
            return True
        address = _address(endpoint._target)
        return address is None or self._has(address)

    def reachable(self, endpoint: EndPoint, addresses: list[SocketAddress]) -> list[SocketAddress]:
        """Return those of *addresses*, the resolved addresses of *endpoint*, that may be connected to.

        Raises ConnectionException if there is none.
        """
        if self._allows_name_of(endpoint):
            return addresses
        found = [one for one in addresses if one[0] == AF_UNIX or self._has(_address(one[1][0]))]
        if not found:
            tried = ", ".join(str(address[0]) for _, address in addresses)
            raise ConnectionException(f"{endpoint} is not in allowed_addresses: it resolves to {tried}", endpoint)
        return found

    def _allows_name_of(self, endpoint: EndPoint) -> bool:
        for given in (endpoint._target, endpoint.server_name):
            name = _name(given)
            if name in self._names or name.endswith(tuple(self._domains)):
                return True
        return False

    def _has(self, address: Address | None) -> bool:
        return address is not None and any(
            address.version == network.version and address in network for network in self._networks
        )


def _name(text: str) -> str:
    return text.casefold().removesuffix(".")


def _address(text: str) -> Address | None:
    """Parse the numeric address *text* without its scope; an IPv4-mapped one becomes IPv4. None for a name."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


# ---- log-in policy

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
        self._warned_of: dict[str, object] = {}

    @property
    def allowed(self) -> tuple[str, ...] | None:
        """Authenticator classes of servers to which any auth provider may send credentials. None: passwords are sent to
        :data:`PASSWORD_AUTHENTICATORS` only; providers without a password are not restricted."""
        return self._allowed

    @allowed.setter
    def allowed(self, names: Iterable[str] | None) -> None:
        self._allowed = None if names is None else authenticator_classes(names)

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

    def warn_unused_credentials(self, endpoint: EndPoint, provider: Any) -> None:
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
        if self.warns and self._warned_of.setdefault(kind, mine) is mine:
            log.warning(text, endpoint)


def authenticator_classes(names: Any) -> tuple[str, ...]:
    """Return *names* as a tuple of class names. Raises TypeError or ValueError for invalid or no names."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise TypeError(f"allowed_authenticators should be a sequence of class names, not {names!r}")
    found = tuple(names)
    if not all(isinstance(name, str) and name for name in found):
        raise TypeError(f"allowed_authenticators should be a sequence of class names, not {names!r}")
    if not found:
        raise ValueError("allowed_authenticators should have at least one entry")
    return found
