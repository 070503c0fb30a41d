"""Authentication providers, given to ``Cluster(auth_provider=...)``."""

import logging

from cassandra._net.handshake.auth import (
    Authenticator,
    AuthProvider,
    BaseDSEAuthenticator,
    DSEGSSAPIAuthProvider,
    GSSAPIAuthenticator,
    PlainTextAuthenticator,
    PlainTextAuthProvider,
    SaslAuthenticator,
    SaslAuthProvider,
    TransitionalModePlainTextAuthenticator,
    TransitionalModePlainTextAuthProvider,
)

DSEPlainTextAuthProvider = PlainTextAuthProvider

log = logging.getLogger("cassandra.auth")

__all__ = [
    "log",
    "AuthProvider",
    "Authenticator",
    "BaseDSEAuthenticator",
    "DSEGSSAPIAuthProvider",
    "DSEPlainTextAuthProvider",
    "GSSAPIAuthenticator",
    "PlainTextAuthProvider",
    "PlainTextAuthenticator",
    "SaslAuthProvider",
    "SaslAuthenticator",
    "TransitionalModePlainTextAuthProvider",
    "TransitionalModePlainTextAuthenticator",
]
