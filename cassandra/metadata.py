"""Metadata of the cluster: hosts, token ring and schema, as found at ``cluster.metadata``."""

from typing import Any

# fmt: off
# isort: off
from cassandra._base.constants import ConsistencyLevel
from cassandra._base.descriptors import SignatureDescriptor
from cassandra._base.errors import InvalidRequest, NoMurmur3, Unauthorized
from cassandra._base.names import (
    cql_keywords, cql_keywords_reserved, cql_keywords_unreserved, escape_name, is_valid_name, maybe_escape_name,
    protect_name, protect_names, protect_value, trim_if_startswith,
)
from cassandra._base.versions import Version
from cassandra._core.routing import murmur3_token as murmur3
from cassandra._net.endpoint import EndPoint
from cassandra._routing.ring.keys import NO_VALID_REPLICA, group_keys_by_replica
from cassandra._routing.metadata import Metadata
from cassandra._routing.policies import HostDistance
from cassandra._routing.ring.replication import (
    REPLICATION_STRATEGY_CLASS_PREFIX, EverywhereStrategy, LocalStrategy, NetworkTopologyStrategy, ReplicationFactor,
    ReplicationStrategyTypeType, SimpleStrategy, _ReplicationStrategy,
)
from cassandra._routing.schema import (
    Aggregate, ColumnMetadata, Function, IndexMetadata, KeyspaceMetadata, MaterializedViewMetadata,
    RegisteredTableExtension, TableExtensionInterface, TableMetadata, TableMetadataV3, TriggerMetadata, UserType,
)
from cassandra._routing.tablets.tablets import Tablets
from cassandra._routing.ring.tokenmap import TokenMap
from cassandra._routing.ring.tokens import MAX_LONG, MIN_LONG, BytesToken, HashToken, MD5Token, Murmur3Token, Token
from cassandra._wire.encoder import Encoder
from cassandra._wire.rows import dict_factory

ReplicationStrategy = _ReplicationStrategy

__all__ = [
    "Aggregate", "BytesToken", "ColumnMetadata", "ConsistencyLevel", "Encoder", "EndPoint", "EverywhereStrategy",
    "Function", "HashToken", "HostDistance", "IndexMetadata", "InvalidRequest", "KeyspaceMetadata", "LocalStrategy",
    "MAX_LONG", "MD5Token", "MIN_LONG", "MaterializedViewMetadata", "Metadata", "Murmur3Token", "NO_VALID_REPLICA",
    "NetworkTopologyStrategy", "NoMurmur3", "REPLICATION_STRATEGY_CLASS_PREFIX", "RegisteredTableExtension",
    "ReplicationFactor", "ReplicationStrategy", "ReplicationStrategyTypeType", "SignatureDescriptor", "SimpleStrategy",
    "TableExtensionInterface", "TableMetadata", "TableMetadataV3", "Tablets", "Token", "TokenMap", "TriggerMetadata",
    "Unauthorized", "UserType", "Version", "cql_keywords", "cql_keywords_reserved", "cql_keywords_unreserved",
    "dict_factory", "escape_name", "group_keys_by_replica", "is_valid_name", "maybe_escape_name", "murmur3",
    "protect_name", "protect_names", "protect_value", "trim_if_startswith",
]


def __getattr__(name: str) -> Any:
    if name in ("EdgeMetadata", "RLACTableExtension", "TableMetadataDSE68", "VertexMetadata"):
        raise ImportError(f"{name} is for DSE, which fastcql does not support")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
