"""Authentication providers, passed to ``Cluster(auth_provider=...)``."""

import logging

from cassandra._base.aliases import add_names
from cassandra._net.auth import (
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

add_names(__name__, {
    "cassandra._compat.names": "SASLClient _have_kerberos _have_puresasl _proxy_execute_key",
})  # fmt: skip
