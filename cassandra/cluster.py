"""Clusters, sessions, profiles and results: where applications begin."""

from cassandra._base.errors import (
    NoHostAvailable,
    OperationTimedOut,
    QueryExhausted,
    UnresolvableContactPoints,
    UserTypeDoesNotExist,
)
from cassandra._session.agreement import SchemaAgreementScope
from cassandra._session.cluster import Cluster
from cassandra._session.config import ControlConnectionQueryFallback, ShardAwareOptions
from cassandra._session.control import ControlConnection
from cassandra._session.future import ResponseFuture
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT, ExecutionProfile, ProfileManager, default_lbp_factory
from cassandra._session.result import ResultSet
from cassandra._session.session import Session

__all__ = [
    "EXEC_PROFILE_DEFAULT",
    "Cluster",
    "ControlConnection",
    "ControlConnectionQueryFallback",
    "ExecutionProfile",
    "NoHostAvailable",
    "OperationTimedOut",
    "ProfileManager",
    "QueryExhausted",
    "ResponseFuture",
    "ResultSet",
    "SchemaAgreementScope",
    "Session",
    "ShardAwareOptions",
    "UnresolvableContactPoints",
    "UserTypeDoesNotExist",
    "default_lbp_factory",
]
