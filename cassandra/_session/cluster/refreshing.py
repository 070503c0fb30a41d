"""Cluster's methods about metadata: what is read, and reading it now.

L5. Base of :class:`Cluster`. All ``refresh_*`` methods block the caller and raise when the metadata could not be
refreshed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import SchemaTargetType
from cassandra._base.errors import DriverException

from . import config
from .options import ClusterOptions, made

if TYPE_CHECKING:
    from cassandra._base.descriptors import UserAggregateDescriptor, UserFunctionDescriptor
    from cassandra._routing.host import Host
    from cassandra._routing.metadata import Metadata

    from ..control.control import ControlConnection
    from .life import Life
    from .schema import SchemaChange, SchemaChanges

log = logging.getLogger("cassandra.cluster")


class ClusterRefresh(ClusterOptions):
    """Metadata methods of :class:`Cluster`."""

    metadata: Metadata = made()
    control_connection: ControlConnection = made()
    schema_changes: SchemaChanges
    life: Life
    is_shutdown: bool
    version_blocks: bool = False  # whether the control connection's node wants them; the others most probably do, too
    metadata_ids: bool = False  # whether it has those of ScyllaDB

    _schema_metadata_page_size: int

    # ---- what is read

    @property
    def schema_metadata_enabled(self) -> bool:
        """Whether ``metadata.keyspaces`` follows schema changes. ``refresh_*`` methods work in any case."""
        return self._schema_metadata_enabled

    @schema_metadata_enabled.setter
    def schema_metadata_enabled(self, enabled: bool) -> None:
        self._schema_metadata_enabled = bool(enabled)

    @property
    def token_metadata_enabled(self) -> bool:
        """Whether the token ring is read; without it requests are not routed to replicas."""
        return self._token_metadata_enabled

    @token_metadata_enabled.setter
    def token_metadata_enabled(self, enabled: bool) -> None:
        self._token_metadata_enabled = bool(enabled)

    @property
    def schema_metadata_page_size(self) -> int:
        """Rows per page when the schema is read."""
        return self._schema_metadata_page_size

    @schema_metadata_page_size.setter
    def schema_metadata_page_size(self, size: int) -> None:
        self._schema_metadata_page_size = config.positive_int("schema_metadata_page_size", size)

    def set_meta_refresh_enabled(self, enabled: bool) -> None:
        """Deprecated: set ``schema_metadata_enabled`` and ``token_metadata_enabled``."""
        self.schema_metadata_enabled = enabled
        self.token_metadata_enabled = enabled

    # ---- reading it now

    def refresh_nodes(self, force_token_rebuild: bool = False) -> None:
        """Read the node list and the tokens now; *force_token_rebuild* makes the ring anew though no token changed."""
        self._check_connected()
        try:
            self.control_connection.refresh_node_list_and_token_map(force_token_rebuild)
        except Exception as error:
            raise DriverException(f"Node list was not refreshed: {error}") from error

    def refresh_schema_metadata(self, max_schema_agreement_wait: float | None = None) -> None:
        """Read the whole schema now, once the nodes agree on it.

        *max_schema_agreement_wait* overrides the cluster's; 0 does not wait for agreement.
        """
        self._refresh("Schema", max_schema_agreement_wait)

    def refresh_keyspace_metadata(self, keyspace: str, max_schema_agreement_wait: float | None = None) -> None:
        """Read the settings of *keyspace* (not of what is in it)."""
        self._refresh("Keyspace", max_schema_agreement_wait, SchemaTargetType.KEYSPACE, keyspace)

    def refresh_table_metadata(self, keyspace: str, table: str, max_schema_agreement_wait: float | None = None) -> None:
        """Read *table* with its columns, indexes and triggers."""
        self._refresh("Table", max_schema_agreement_wait, SchemaTargetType.TABLE, keyspace, table)

    def refresh_materialized_view_metadata(
        self, keyspace: str, view: str, max_schema_agreement_wait: float | None = None
    ) -> None:
        """Read the materialized view *view*."""
        self._refresh("View", max_schema_agreement_wait, SchemaTargetType.TABLE, keyspace, view)

    def refresh_user_type_metadata(
        self, keyspace: str, user_type: str, max_schema_agreement_wait: float | None = None
    ) -> None:
        """Read the user type *user_type*."""
        self._refresh("User Type", max_schema_agreement_wait, SchemaTargetType.TYPE, keyspace, user_type)

    def refresh_user_function_metadata(
        self, keyspace: str, function: UserFunctionDescriptor, max_schema_agreement_wait: float | None = None
    ) -> None:
        """Read the function of this name and argument types (a :class:`cassandra.UserFunctionDescriptor`)."""
        self._refresh("User Function", max_schema_agreement_wait, SchemaTargetType.FUNCTION, keyspace, function)

    def refresh_user_aggregate_metadata(
        self, keyspace: str, aggregate: UserAggregateDescriptor, max_schema_agreement_wait: float | None = None
    ) -> None:
        """Read the aggregate of this name and argument types (a :class:`cassandra.UserAggregateDescriptor`)."""
        self._refresh("User Aggregate", max_schema_agreement_wait, SchemaTargetType.AGGREGATE, keyspace, aggregate)

    def _refresh(
        self, what: str, wait: float | None, kind: str | None = None, keyspace: str | None = None, subject: Any = None
    ) -> None:
        self._check_connected()
        target: dict[str, Any] = {}
        if kind is not None:
            target = {"target_type": kind, "keyspace": keyspace, kind.lower(): subject or keyspace}
        try:
            agreed = self.control_connection.refresh_schema(force=True, schema_agreement_wait=wait, **target)
        except Exception as error:
            raise DriverException(f"{what} metadata was not refreshed: {error}") from error
        if not agreed:
            raise DriverException(f"{what} metadata was read from one node, but the nodes do not agree on the schema")

    def _check_connected(self) -> None:
        if self.is_shutdown:
            raise DriverException("Cluster is already shut down")
        if not self.control_connection.was_connected:
            raise DriverException("Cluster is not connected yet: call connect() first")
        self.life.refuse_to_block()

    # ---- changes made by our own sessions

    def handle_schema_change(
        self,
        event: dict[str, Any] | None,
        host: Host | None,
        on_done: Callable[[bool, BaseException | None], None],
        wait: float | None = None,
    ) -> SchemaChange | None:
        """After a SCHEMA_CHANGE answer from *host*: wait for agreement, refresh what changed, then ``on_done(agreed,
        error)``, exactly once, on any thread. Never blocks; bounded by *wait* (None: ``max_schema_agreement_wait``)
        plus the time of one refresh."""
        return self.schema_changes.handle(event, host, on_done, wait)
