"""Metadata of the cluster: hosts, token ring and schema, available as ``cluster.metadata``."""

# fmt: off
# isort: off
import logging

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.names import (
    cql_keywords, cql_keywords_reserved, cql_keywords_unreserved, escape_name, is_valid_name,
    maybe_escape_name, protect_name, protect_names, protect_value, SignatureDescriptor,
    trim_if_startswith,
)
from cassandra._base.errors import InvalidRequest, Unauthorized, NoMurmur3
from cassandra._base.aliases import add_names, add_aliases
from cassandra._base.versions import Version
from cassandra._core.routing import murmur3_token as murmur3
from cassandra._net.endpoint import EndPoint
from cassandra._routing.partition_keys import NO_VALID_REPLICA, group_keys_by_replica
from cassandra._routing.metadata import Metadata
from cassandra._routing.policies import HostDistance
from cassandra._routing.replication import (
    REPLICATION_STRATEGY_CLASS_PREFIX, EverywhereStrategy, LocalStrategy, NetworkTopologyStrategy, ReplicationFactor,
    ReplicationStrategyTypeType, SimpleStrategy, _ReplicationStrategy,
)
from cassandra._routing.tokens import TokenRange
from cassandra._routing.schema import (
    Aggregate, ColumnMetadata, Function, IndexMetadata, KeyspaceMetadata, MaterializedViewMetadata,
    RegisteredTableExtension, TableExtensionInterface, TableMetadata, TableMetadataV3, TriggerMetadata, UserType,
)
from cassandra._routing.tablets import Tablets
from cassandra._routing.replication import TokenMap
from cassandra._routing.tokens import MAX_LONG, MIN_LONG, BytesToken, HashToken, MD5Token, Murmur3Token, Token
from cassandra._wire.encoder import Encoder
from cassandra._wire.rows import dict_factory

ReplicationStrategy = _ReplicationStrategy

log = logging.getLogger("cassandra.metadata")

__all__ = [
    "log",
    "Aggregate", "BytesToken", "ColumnMetadata", "ConsistencyLevel", "Encoder", "EndPoint", "EverywhereStrategy",
    "Function", "HashToken", "HostDistance", "IndexMetadata", "InvalidRequest", "KeyspaceMetadata", "LocalStrategy",
    "MAX_LONG", "MD5Token", "MIN_LONG", "MaterializedViewMetadata", "Metadata", "Murmur3Token", "NO_VALID_REPLICA",
    "NetworkTopologyStrategy", "NoMurmur3", "REPLICATION_STRATEGY_CLASS_PREFIX", "RegisteredTableExtension",
    "ReplicationFactor", "ReplicationStrategy", "ReplicationStrategyTypeType", "SignatureDescriptor", "SimpleStrategy",
    "TableExtensionInterface", "TableMetadata", "TableMetadataV3", "Tablets", "Token", "TokenMap", "TokenRange",
    "TriggerMetadata", "Unauthorized", "UserType", "Version", "cql_keywords", "cql_keywords_reserved",
    "cql_keywords_unreserved", "dict_factory", "escape_name", "group_keys_by_replica", "is_valid_name",
    "maybe_escape_name", "murmur3", "protect_name", "protect_names", "protect_value", "trim_if_startswith",
]

add_names(__name__, {
    "cassandra._compat.names": (
        "OrderedDict RLock defaultdict itertools json random re struct sys total_ordering types"
        " RLACTableExtension _ConsistencyMode _consistency_mode_from_string get_column_from_system_local"
        " valid_cql3_word_re SchemaParserV22 SchemaParserV3 SchemaParserV4 _RegisteredExtensionType"
        " _UnknownStrategyBuilder _cql_from_cass_type _encoder _replication_strategies get_schema_parser"
    ),
    "cassandra._compat.dse": (
        "SchemaParserDSE60 SchemaParserDSE67 SchemaParserDSE68 EdgeMetadata TableMetadataDSE68 VertexMetadata"
    ),
    "cassandra._wire.messages.requests": "QueryMessage",
    "cassandra._session.statements.statement": "bind_params",
    "cassandra._base.versions": "maybe_add_timeout_to_query",
    "cassandra._routing.replication": "_UnknownStrategy",
    "cassandra._wire.marshal": "varint_unpack",
})  # fmt: skip
add_aliases(ColumnMetadata, KeyspaceMetadata, Metadata, TableMetadata)
