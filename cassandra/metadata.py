"""Metadata of the cluster: hosts, token ring and schema, as found at ``cluster.metadata``."""

from typing import Any

# fmt: off
# isort: off
from cassandra._base.errors import NoMurmur3
from cassandra._base.names import (
    cql_keywords, cql_keywords_reserved, cql_keywords_unreserved, escape_name, is_valid_name, maybe_escape_name,
    protect_name, protect_names, protect_value, trim_if_startswith,
)
from cassandra._core.routing import murmur3_token as murmur3
from cassandra._routing.keys import NO_VALID_REPLICA, group_keys_by_replica
from cassandra._routing.metadata import Metadata
from cassandra._routing.replication import (
    REPLICATION_STRATEGY_CLASS_PREFIX, EverywhereStrategy, LocalStrategy, NetworkTopologyStrategy, ReplicationFactor,
    ReplicationStrategyTypeType, SimpleStrategy, _ReplicationStrategy,
)
from cassandra._routing.schema import (
    Aggregate, ColumnMetadata, Function, IndexMetadata, KeyspaceMetadata, MaterializedViewMetadata,
    RegisteredTableExtension, TableExtensionInterface, TableMetadata, TableMetadataV3, TriggerMetadata, UserType,
)
from cassandra._routing.tokenmap import TokenMap
from cassandra._routing.tokens import MAX_LONG, MIN_LONG, BytesToken, HashToken, MD5Token, Murmur3Token, Token

ReplicationStrategy = _ReplicationStrategy

__all__ = [
    "MAX_LONG", "MIN_LONG", "NO_VALID_REPLICA", "REPLICATION_STRATEGY_CLASS_PREFIX", "Aggregate", "BytesToken",
    "ColumnMetadata", "EverywhereStrategy", "Function", "HashToken", "IndexMetadata", "KeyspaceMetadata",
    "LocalStrategy", "MD5Token", "MaterializedViewMetadata", "Metadata", "Murmur3Token", "NetworkTopologyStrategy",
    "NoMurmur3", "RegisteredTableExtension", "ReplicationFactor", "ReplicationStrategy", "ReplicationStrategyTypeType",
    "SimpleStrategy", "TableExtensionInterface", "TableMetadata", "TableMetadataV3", "Token", "TokenMap",
    "TriggerMetadata", "UserType", "cql_keywords", "cql_keywords_reserved", "cql_keywords_unreserved", "escape_name",
    "group_keys_by_replica", "is_valid_name", "maybe_escape_name", "murmur3", "protect_name", "protect_names",
    "protect_value", "trim_if_startswith",
]


def __getattr__(name: str) -> Any:
    if name in ("EdgeMetadata", "RLACTableExtension", "TableMetadataDSE68", "VertexMetadata"):
        raise ImportError(f"{name} is for DSE, which fastcql does not support")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
