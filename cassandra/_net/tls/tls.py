"""TLS over memory BIOs: a filter between the native channel and plaintext frames (L3).

The channel sends and receives bytes, the filter encrypts and decrypts them without access to the socket. OpenSSL checks
certificates and host name as configured in the context. The filter also translates OpenSSL's errors into ones that name
a likely cause.
"""

from __future__ import annotations

import contextlib
import ssl
from typing import Any, Final

from cassandra._base.errors import ConnectionException
from cassandra._core.transport import TlsRecords
from cassandra._net.endpoint import EndPoint
from cassandra._net.handshake.options import ConnectionOptions
from cassandra._net.tls.sessions import SSLSessionCache

_ADDRESS_MISMATCH: Final = 64  # X509_V_ERR_IP_ADDRESS_MISMATCH
_NOT_TLS: Final = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_MESSAGE", "PACKET_LENGTH_TOO_LONG"}


def make_filter(options: ConnectionOptions, endpoint: EndPoint) -> TlsFilter | None:
    """Return the filter for one connection, None for plaintext."""
    context = options.tls_context_for(endpoint)
    if context is None:
        return None
    merged = {**(options.ssl_options or {}), **(endpoint.ssl_options or {})}
    return TlsFilter(context, endpoint, merged.get("server_hostname"), options.ssl_session_cache)


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
