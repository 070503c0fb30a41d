"""Opening connections of a cluster: their options, and connections that belong to no pool.

L5. No state of its own: options and protocol version are read when a connection is opened. Any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._net.connection import Connection
from cassandra._net.options import MAX_FRAME, MAX_REQUESTS, ConnectionOptions
from cassandra._session.config import connection_class_of, overrides

if TYPE_CHECKING:
    from cassandra._net.endpoint import EndPoint
    from cassandra._session.cluster import Cluster


class ConnectionFactory:
    """Opens connections for *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._shared = ConnectionOptions()

    def options(self, keyspace: str | None = None) -> ConnectionOptions:
        """Return the current options of connections; the protocol version is negotiated as long as none is known. It is
        the same object as long as nothing changes: thousands of connections refer to it."""
        given, versions = self._cluster, self._cluster._versions
        options = ConnectionOptions(
            protocol_version=versions.in_use,
            may_lower=not versions.is_given,
            on_open=self._on_open,
            allow_beta=given.allow_beta_protocol_version,
            compression=given.compression,
            cql_version=given.cql_version,
            auth_provider=given.auth_provider,
            login=given._login,
            allowed_addresses=given.allowed_addresses,
            ssl_context=given.ssl_context,
            ssl_options=given.ssl_options,
            ssl_session_cache=given.ssl_session_cache,
            sockopts=tuple(given.sockopts or ()),
            heartbeat_interval=given.idle_heartbeat_interval,
            heartbeat_timeout=given.idle_heartbeat_timeout,
            connect_timeout=given.connect_timeout,
            keyspace=keyspace,
            application_info=given.application_info,
            startup_options={"SESSION_ID": str(given.session_id)},
            no_compact=given.no_compact,
            connection_class=connection_class_of(given.connection_class),
            max_requests=given.max_requests_per_connection or MAX_REQUESTS,
            max_frame=given.max_response_bytes or MAX_FRAME,
            verify_host_id=given.verify_host_ids,
            follows_overload=given.adaptive_concurrency,
        )
        if options != self._shared:
            self._shared = options
        return self._shared

    def _on_open(self, connection: Connection) -> None:
        self._cluster._versions.record_version(connection)
        if self._cluster.metrics is not None:
            self._cluster.metrics.opened(connection)

    def load(self) -> None:
        """Import the modules that connections need, on the connecting thread, before the first connection is opened. A
        module lock held by another thread when the process forks stays locked in the child."""
        options = self._cluster
        if options.driver_config_reporting_enabled:
            from .. import driver_config as driver_config
        if options.uses_tls:
            from cassandra._net import tls as tls
        if overrides(options.connection_class, ("initialize_reactor",)):
            options.connection_class.initialize_reactor()

    def asking_options(self) -> ConnectionOptions:
        """Return options of a connection that negotiates the protocol version of its node."""
        return self.options().replace(begin_high=not self._cluster._versions.is_given)

    def control_options(self, events: Sequence[str]) -> ConnectionOptions:
        """Return options of a control connection: it registers for *events*, and reports the configuration."""
        report = None
        if self._cluster.driver_config_reporting_enabled:
            from cassandra._session.driver_config import DriverConfigReporter  # imported only for reports

            report = DriverConfigReporter(self._cluster).add_startup_options
        return self.asking_options().replace(register_events=events, report=report)

    def open(
        self, endpoint: EndPoint, on_done: Callable[[Connection | BaseException], None], host_id: Any = None
    ) -> None:
        """Open a connection outside of pools. Does not block; *on_done* is called on the I/O thread."""
        cluster, options = self._cluster, self.asking_options()
        Connection.open(cluster.reactor, endpoint, options, on_done, context=cluster.type_context, host_id=host_id)

    def open_blocking(self, endpoint: EndPoint, host_conn: Any = None, *args: Any, **kwargs: Any) -> Connection:
        """Open a separate connection to *endpoint*. Blocks."""
        cluster, options = self._cluster, self.options()
        reactor = cluster.life.reactor
        if reactor is None:  # not connected (yet): the connection gets its own reactor
            return Connection.factory(endpoint, options.connect_timeout, options=options)
        return Connection.factory(
            endpoint, options.connect_timeout, reactor=reactor, options=options, context=cluster.type_context
        )
