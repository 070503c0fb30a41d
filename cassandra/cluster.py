"""Clusters, sessions, profiles and results; also names of other modules that applications import from here."""

# fmt: off
# isort: off
import logging

from cassandra._base.constants import ConsistencyLevel, ProtocolVersion, SchemaTargetType
from cassandra._base.errors import (
    AuthenticationFailed, ConnectionBusy, ConnectionException, ConnectionShutdown, DependencyException,
    DriverException, InvalidRequest, NoConnectionsAvailable, NoHostAvailable, OperationTimedOut,
    ProtocolVersionUnsupported, QueryExhausted, TraceUnavailable, UnresolvableContactPoints,
    UnsupportedOperation, UserTypeDoesNotExist,
)
from cassandra._base.server_errors import (
    ErrorMessage, IsBootstrappingErrorMessage, OverloadedErrorMessage, PreparedQueryNotFound,
    ProtocolException, ReadTimeoutErrorMessage, ServerError, TruncateError, UnavailableErrorMessage,
    WriteTimeoutErrorMessage,
)
from cassandra._base.aliases import (
    add_names, use_compat_class, add_aliases, extend_instances, observe_patches, observe_replacement,
)
from cassandra._core.transport import Request
from cassandra._net.auth import PlainTextAuthProvider
from cassandra._net.client_routes import ClientRoutesChangeType, ClientRoutesConfig, ClientRoutesEndPointFactory
from cassandra._net.endpoint import (
    DefaultEndPoint, DefaultEndPointFactory, EndPoint, SniEndPointFactory, UnixSocketEndPoint,
)
from cassandra._net.pool import HostPool as HostConnection
from cassandra._routing.host import Host
from cassandra._routing.metadata import Metadata
from cassandra._routing.policies import (
    DCAwareRoundRobinPolicy, DefaultLoadBalancingPolicy, ExponentialReconnectionPolicy, HostDistance,
    IdentityTranslator, NeverRetryPolicy, NoSpeculativeExecutionPlan, NoSpeculativeExecutionPolicy,
    RetryPolicy, SimpleConvictionPolicy, TokenAwarePolicy,
)
from cassandra._routing.schema import ColumnMetadata, KeyspaceMetadata, TableMetadata
from cassandra._routing.tablets import Tablet, choose_tablet_version_block, random_tablet_version_block
from cassandra._session.control.schema_changes import SchemaAgreementScope
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.caching import CachedStatement, CacheStatistics
from cassandra._session.cluster import Cluster
from cassandra._session.config import ControlConnectionQueryFallback, ShardAwareOptions
from cassandra._session.control.control import ControlConnection
from cassandra._session.request.future import ResponseFuture
from cassandra._session.statements.prepared import BoundStatement, PreparedStatement
from cassandra._session.profiles import (
    default_lbp_factory, EXEC_PROFILE_DEFAULT, ExecutionProfile, ProfileManager,
)
from cassandra._session.request.result import ResultSet
from cassandra._session.session import Session
from cassandra._session.statements.statement import SimpleStatement, Statement
from cassandra._session.statements.timestamps import MonotonicTimestampGenerator
from cassandra._session.request.trace import QueryTrace
from cassandra._wire.rows import dict_factory, named_tuple_factory, tuple_factory

log = logging.getLogger("cassandra.cluster")

__all__ = [
    "log",
    "AuthenticationFailed", "BatchStatement", "BoundStatement", "CacheStatistics", "CachedStatement",
    "ClientRoutesChangeType", "ClientRoutesConfig", "ClientRoutesEndPointFactory", "Cluster", "ConnectionBusy",
    "ConnectionException", "ConnectionShutdown",
    "ConsistencyLevel", "ControlConnection", "ControlConnectionQueryFallback", "DCAwareRoundRobinPolicy",
    "DefaultEndPoint", "DefaultEndPointFactory", "DefaultLoadBalancingPolicy", "DependencyException", "DriverException",
    "EXEC_PROFILE_DEFAULT", "EndPoint", "ErrorMessage", "ExecutionProfile", "ExponentialReconnectionPolicy",
    "Host", "HostConnection", "HostDistance", "IdentityTranslator", "InvalidRequest", "IsBootstrappingErrorMessage",
    "Metadata", "MonotonicTimestampGenerator", "NeverRetryPolicy", "NoConnectionsAvailable", "NoHostAvailable",
    "NoSpeculativeExecutionPlan", "NoSpeculativeExecutionPolicy", "OperationTimedOut", "OverloadedErrorMessage",
    "PlainTextAuthProvider", "PreparedQueryNotFound", "PreparedStatement", "ProfileManager", "ProtocolException",
    "ProtocolVersion", "ProtocolVersionUnsupported", "QueryExhausted", "QueryTrace", "ReadTimeoutErrorMessage",
    "ResponseFuture", "ResultSet", "RetryPolicy", "SchemaAgreementScope", "SchemaTargetType", "ServerError", "Session",
    "ShardAwareOptions", "SimpleConvictionPolicy", "SimpleStatement", "SniEndPointFactory", "Tablet",
    "TokenAwarePolicy", "TraceUnavailable", "TruncateError", "UnavailableErrorMessage", "UnixSocketEndPoint",
    "UnresolvableContactPoints", "UnsupportedOperation", "UserTypeDoesNotExist", "WriteTimeoutErrorMessage",
    "choose_tablet_version_block", "default_lbp_factory", "dict_factory", "named_tuple_factory",
    "random_tablet_version_block", "tuple_factory",
]

add_names(__name__, {
    "cassandra._compat.names": (
        "Event Future Lock RLock Thread WeakSet copy datetime defaultdict json partial random re socket time"
        " types uuid weakref wraps _ConfigMode _execution_profile_to_string _proxy_execute_key"
        " _request_timeout_key conn_fns excs _clusters_for_shutdown refresh_schema_and_set_result run_in_executor"
        " _addrinfo_or_none _resolve_contact_points_to_string_map"
    ),
    "cassandra._net.handshake": "ApplicationInfoBase",
    "cassandra._compat.dse": (
        "ContinuousPagingOptions EXEC_PROFILE_GRAPH_ANALYTICS_DEFAULT EXEC_PROFILE_GRAPH_DEFAULT"
        " EXEC_PROFILE_GRAPH_SYSTEM_DEFAULT GraphSON1Serializer GraphSON2Serializer GraphSON3Serializer"
        " graph_graphson2_row_factory graph_graphson3_row_factory GraphAnalyticsExecutionProfile"
        " GraphExecutionProfile GraphOptions GraphProtocol GraphStatement SimpleGraphStatement"
        " graph_object_row_factory"
    ),
    "cassandra._session.driver_config": "DriverConfigReporter",
    "cassandra.protocol": (
        "BatchMessage ExecuteMessage PrepareMessage ProtocolHandler QueryMessage RESULT_KIND_PREPARED"
        " RESULT_KIND_ROWS RESULT_KIND_SCHEMA_CHANGE RESULT_KIND_SET_KEYSPACE RESULT_KIND_VOID ResultMessage"
    ),
    "cassandra._wire.encoder": "Encoder",
    "concurrent.futures": "FIRST_COMPLETED",
    "cassandra.query": "HostTargetingStatement bind_params",
    "cassandra.ssl_session_cache": "SSLSessionCache",
    "cassandra.metadata": "Token murmur3 protect_name",
    "cassandra.cqltypes": "UserType",
    "cassandra.util": "Version maybe_add_timeout_to_query",
    "cassandra._net.connection": "DefaultConnection=Connection conn_class=Connection",
    "cassandra._compat.scheduling": "_Scheduler",
    "cassandra._session.statements.statement": "FETCH_SIZE_UNSET _NOT_SET=NOT_SET",
    "cassandra.connection": "ConnectionHeartbeat locally_supported_compressions",
})  # fmt: skip
add_aliases(
    BatchStatement, BoundStatement, Cluster, ControlConnection, HostConnection, Metadata, PreparedStatement, QueryTrace,
    ResponseFuture, Session, Statement, Cluster.connection_class, ColumnMetadata, KeyspaceMetadata,
    TableMetadata,
)
observe_replacement(ResponseFuture, "_set_final_exception _set_final_result", "cassandra._compat.hooks", "replaced")
extend_instances(Session, "cassandra._compat.hooks", "make", ours="_by_connect")
use_compat_class(ResultSet, "cassandra._compat.hooks", Request)
use_compat_class(ResponseFuture, "cassandra._compat.futures", Session)
observe_patches(__name__, "log", "cassandra._compat.hooks", "replaced_in_facade")
