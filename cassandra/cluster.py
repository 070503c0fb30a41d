"""Clusters, sessions, profiles and results; and names of other modules that applications import from here."""

# fmt: off
# isort: off
from cassandra._base.constants import ConsistencyLevel, ProtocolVersion, SchemaTargetType
from cassandra._base.errors import (
    AuthenticationFailed, ConnectionBusy, ConnectionException, ConnectionShutdown, DependencyException, DriverException,
    ErrorMessage, InvalidRequest, IsBootstrappingErrorMessage, NoConnectionsAvailable, NoHostAvailable,
    OperationTimedOut, OverloadedErrorMessage, PreparedQueryNotFound, ProtocolException, ProtocolVersionUnsupported,
    QueryExhausted, ReadTimeoutErrorMessage, ServerError, TraceUnavailable, TruncateError, UnavailableErrorMessage,
    UnresolvableContactPoints, UnsupportedOperation, UserTypeDoesNotExist, WriteTimeoutErrorMessage,
)
from cassandra._net.handshake.auth import PlainTextAuthProvider
from cassandra._net.client_routes import ClientRoutesChangeType, ClientRoutesConfig, ClientRoutesEndPointFactory
from cassandra._net.endpoint import (
    DefaultEndPoint, DefaultEndPointFactory, EndPoint, SniEndPointFactory, UnixSocketEndPoint,
)
from cassandra._net.pool.pool import HostPool as HostConnection
from cassandra._routing.host import Host
from cassandra._routing.metadata import Metadata
from cassandra._routing.policies import DCAwareRoundRobinPolicy, DefaultLoadBalancingPolicy
from cassandra._routing.policies import ExponentialReconnectionPolicy, HostDistance, IdentityTranslator
from cassandra._routing.policies import NeverRetryPolicy, NoSpeculativeExecutionPlan, NoSpeculativeExecutionPolicy
from cassandra._routing.policies import RetryPolicy, SimpleConvictionPolicy, TokenAwarePolicy
from cassandra._routing.tablets.tablets import Tablet, choose_tablet_version_block, random_tablet_version_block
from cassandra._session.control.agreement import SchemaAgreementScope
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.cluster.cluster import Cluster
from cassandra._session.cluster.config import ControlConnectionQueryFallback, ShardAwareOptions
from cassandra._session.control.control import ControlConnection
from cassandra._session.request.future import ResponseFuture
from cassandra._session.statements.prepared import BoundStatement, PreparedStatement
from cassandra._session.cluster.profiles import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra._session.cluster.profiles import ProfileManager, default_lbp_factory
from cassandra._session.request.result import ResultSet
from cassandra._session.session import Session
from cassandra._session.statements.statements import SimpleStatement
from cassandra._session.statements.timestamps import MonotonicTimestampGenerator
from cassandra._session.request.trace import QueryTrace
from cassandra._wire.encoder import Encoder
from cassandra._wire.rows import dict_factory, named_tuple_factory, tuple_factory

__all__ = [
    "AuthenticationFailed", "BatchStatement", "BoundStatement", "ClientRoutesChangeType", "ClientRoutesConfig",
    "ClientRoutesEndPointFactory", "Cluster", "ConnectionBusy", "ConnectionException", "ConnectionShutdown",
    "ConsistencyLevel", "ControlConnection", "ControlConnectionQueryFallback", "DCAwareRoundRobinPolicy",
    "DefaultEndPoint", "DefaultEndPointFactory", "DefaultLoadBalancingPolicy", "DependencyException", "DriverException",
    "EXEC_PROFILE_DEFAULT", "Encoder", "EndPoint", "ErrorMessage", "ExecutionProfile", "ExponentialReconnectionPolicy",
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
