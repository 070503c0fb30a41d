"""TLS session resumption, passed to ``Cluster(ssl_session_cache=...)``."""

from cassandra._net.tls_sessions import SSLSessionCache

__all__ = ["SSLSessionCache"]
