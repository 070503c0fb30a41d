"""The schema (L4): the parts to read (``target``, ``queries``), parsing (``parser``), updates of a snapshot
(``update``), and the public model (``keyspace``, ``table``, ``functions``).
"""

from .model import (
    Aggregate,
    ColumnMetadata,
    DroppedColumn,
    Function,
    IndexMetadata,
    KeyspaceMetadata,
    MaterializedViewMetadata,
    RegisteredTableExtension,
    TableExtensionInterface,
    TableMetadata,
    TableMetadataV3,
    TriggerMetadata,
    UserType,
)
from .rows import SchemaQuery, SchemaTarget, ServerTraits, schema_queries

__all__ = [
    "Aggregate", "ColumnMetadata", "DroppedColumn", "Function", "IndexMetadata", "KeyspaceMetadata",
    "MaterializedViewMetadata", "RegisteredTableExtension", "SchemaQuery", "SchemaTarget", "ServerTraits",
    "TableExtensionInterface", "TableMetadata", "TableMetadataV3", "TriggerMetadata", "UserType",
    "schema_queries",
]  # fmt: skip
