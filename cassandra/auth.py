"""Authentication providers, given to ``Cluster(auth_provider=...)``."""

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

__all__ = [
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
