"""Explicit refresh of metadata: the ``refresh_*`` methods of :class:`Cluster`.

L5. No state of its own. All methods are commands: they block the caller, and raise when the metadata could not be
refreshed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._base.constants import SchemaTargetType
from cassandra._base.errors import DriverException
from cassandra._base.versions import seconds

from ..background.commands import command

if TYPE_CHECKING:
    from cassandra._base.names import UserAggregateDescriptor, UserFunctionDescriptor

    from .cluster import Cluster


class MetadataRefresh:
    """Refreshes metadata through the control connection of *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @command
    def refresh_nodes(self, force_token_rebuild: bool = False) -> None:
        """Read the node list and the tokens now; *force_token_rebuild* rebuilds the ring even if no token changed."""
        self.check_connected()
        try:
            self._cluster.control_connection.refresh_node_list_and_token_map(force_token_rebuild)
        except Exception as error:
            raise DriverException(f"Node list was not refreshed: {error}") from error

    def refresh_schema_metadata(self, max_schema_agreement_wait: float | None = None) -> None:
        """Read the whole schema now, once the nodes agree on it.

        *max_schema_agreement_wait* overrides the cluster's; 0 does not wait for agreement.
        """
        self._refresh("Schema", max_schema_agreement_wait)

    def refresh_keyspace_metadata(self, keyspace: str, max_schema_agreement_wait: float | None = None) -> None:
        """Read the settings of *keyspace* (not its tables and types)."""
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

    @command
    def _refresh(
        self, what: str, wait: float | None, kind: str | None = None, keyspace: str | None = None, subject: Any = None
    ) -> None:
        self.check_connected()
        seconds("max_schema_agreement_wait", wait, negative=True)
        target: dict[str, Any] = {}
        if kind is not None:
            target = {"target_type": kind, "keyspace": keyspace, kind.lower(): subject or keyspace}
        try:
            agreed = self._cluster.control_connection.refresh_schema(force=True, schema_agreement_wait=wait, **target)
        except Exception as error:
            raise DriverException(f"{what} metadata was not refreshed: {error}") from error
        if not agreed:
            raise DriverException(f"{what} metadata was read from one node, but the nodes do not agree on the schema")

    def check_connected(self) -> None:
        """Raise DriverException where metadata cannot be read: not connected, or the caller may not block."""
        if self._cluster.is_shutdown:
            raise DriverException("Cluster is already shut down")
        if not self._cluster.control_connection.was_connected:
            raise DriverException("Cluster is not connected yet: call connect() first")
        self._cluster.life.refuse_to_block()
