"""Compatibility aliases of metadata that tests and tools are known to use (L6); see ``attributes.py``.

In scylla-driver the control connection stores the schema by these methods. Here it publishes snapshots; a change that a
program makes to one lasts until the next schema change is read.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from cassandra._base.locks import lock_of_programs
from cassandra._routing.schema import MaterializedViewMetadata, ddl

from .internals import _ConsistencyMode

_KEPT = ("tables", "user_types", "indexes", "functions", "aggregates", "views")  # retained if a keyspace is altered


class Metadata:
    """Aliases of ``cassandra.metadata.Metadata``."""

    @property
    def _hosts(self: Any) -> dict[UUID | None, Any]:
        return dict(self.all_hosts_items())

    @property
    def _hosts_lock(self: Any) -> Any:
        """A lock for programs; the driver does not acquire it."""
        return lock_of_programs(self)

    def _get_host_by_address(self: Any, address: str, port: int | None = None) -> Any:
        return self.get_host(address, port)

    def _update_keyspace(self: Any, keyspace_meta: Any, new_user_types: Any = None) -> None:
        """Add a keyspace, or replace the one with its name, whose contents it takes over."""
        known = self.keyspaces.get(keyspace_meta.name)
        if known is not None:
            for name in _KEPT:
                setattr(keyspace_meta, name, getattr(known, name))
        if new_user_types is not None:
            keyspace_meta.user_types = new_user_types
        self.keyspaces = {**self.keyspaces, keyspace_meta.name: keyspace_meta}

    def _drop_keyspace(self: Any, keyspace: str) -> None:
        self.keyspaces = {name: known for name, known in self.keyspaces.items() if name != keyspace}

    def _update_table(self: Any, meta: Any) -> None:
        """Add a table or a view."""
        keyspace = self.keyspaces.get(meta.keyspace_name)
        if keyspace is not None:
            is_view = isinstance(meta, MaterializedViewMetadata)
            (keyspace._add_view_metadata if is_view else keyspace._add_table_metadata)(meta)

    def _drop_table(self: Any, keyspace: str, table: str) -> None:
        if keyspace in self.keyspaces:
            self.keyspaces[keyspace]._drop_table_metadata(table)

    def _update_type(self: Any, type_meta: Any) -> None:
        self.keyspaces[type_meta.keyspace].user_types[type_meta.name] = type_meta

    def _update_function(self: Any, function_meta: Any) -> None:
        self.keyspaces[function_meta.keyspace].functions[function_meta.signature] = function_meta

    def _update_aggregate(self: Any, aggregate_meta: Any) -> None:
        self.keyspaces[aggregate_meta.keyspace].aggregates[aggregate_meta.signature] = aggregate_meta

    def _drop_type(self: Any, keyspace: str, type: str) -> None:
        if keyspace in self.keyspaces:
            self.keyspaces[keyspace].user_types.pop(type, None)

    def _drop_function(self: Any, keyspace: str, function: Any) -> None:
        if keyspace in self.keyspaces:
            self.keyspaces[keyspace].functions.pop(function.signature, None)

    def _drop_aggregate(self: Any, keyspace: str, aggregate: Any) -> None:
        if keyspace in self.keyspaces:
            self.keyspaces[keyspace].aggregates.pop(aggregate.signature, None)


class KeyspaceMetadata:
    """Aliases of ``cassandra.metadata.KeyspaceMetadata``."""

    _exc_info = None
    _consistency_mode = _ConsistencyMode.EVENTUAL

    def _add_table_metadata(self: Any, table_metadata: Any) -> None:
        """Add a table, or replace the one with its name, whose views it takes over."""
        known = self.tables.get(table_metadata.name)
        if known is not None:
            table_metadata.views = known.views
            for index in known.indexes:
                self.indexes.pop(index, None)
        self.tables[table_metadata.name] = table_metadata
        self.indexes.update(table_metadata.indexes)

    def _add_view_metadata(self: Any, view_metadata: Any) -> None:
        """Add a view, if its table is known."""
        table = self.tables.get(view_metadata.base_table_name)
        if table is not None:
            table.views[view_metadata.name] = self.views[view_metadata.name] = view_metadata

    def _drop_table_metadata(self: Any, table_name: str) -> None:
        """Drop a table with its indexes and views, or a view."""
        table = self.tables.pop(table_name, None)
        if table is not None:
            for index in table.indexes:
                self.indexes.pop(index, None)
            for view in table.views:
                self.views.pop(view, None)
            return
        view = self.views.pop(table_name, None)
        if view is not None and view.base_table_name in self.tables:
            self.tables[view.base_table_name].views.pop(table_name, None)


class TableMetadata:
    """Aliases of ``cassandra.metadata.TableMetadata``."""

    _exc_info = None

    def _all_as_cql(self: Any) -> str:
        """Return the statements that create the table with its indexes and views."""
        return str(self.export_as_string())

    @classmethod
    def _property_string(
        cls: Any, formatted: bool, clustering_key: Any, options_map: Any, is_compact_storage: bool = False
    ) -> str:
        """Return the table properties that follow WITH."""
        properties = ["COMPACT STORAGE"] if is_compact_storage else []
        properties += ddl.clustering_order(clustering_key) + cls._make_option_strings(options_map)
        return ("\n    AND " if formatted else " AND ").join(properties)


class ColumnMetadata:
    """Aliases of ``cassandra.metadata.ColumnMetadata``."""

    _cass_type = None
