"""The schema (L4): the parts to read (``target``, ``queries``), parsing (``parser``), updates of a snapshot
(``update``), and the public model (``keyspace``, ``table``, ``functions``).
"""

from .extensions import RegisteredTableExtension, TableExtensionInterface
from .functions import Aggregate, Function, UserType
from .keyspace import KeyspaceMetadata
from .queries import SchemaQuery, ServerTraits, schema_queries
from .table import (
    ColumnMetadata,
    DroppedColumn,
    IndexMetadata,
    MaterializedViewMetadata,
    TableMetadata,
    TableMetadataV3,
    TriggerMetadata,
)
from .target import SchemaTarget

__all__ = [
    "Aggregate", "ColumnMetadata", "DroppedColumn", "Function", "IndexMetadata", "KeyspaceMetadata",
    "MaterializedViewMetadata", "RegisteredTableExtension", "SchemaQuery", "SchemaTarget", "ServerTraits",
    "TableExtensionInterface", "TableMetadata", "TableMetadataV3", "TriggerMetadata", "UserType",
    "schema_queries",
]  # fmt: skip
