"""Statements, row factories, batches and traces."""

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.errors import OperationTimedOut, TraceUnavailable
from cassandra._session.request.trace import QueryTrace, TraceEvent
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.statements.prepared import UNSET_VALUE, BoundStatement, PreparedStatement
from cassandra._session.statements.sentinels import FETCH_SIZE_UNSET
from cassandra._session.statements.statements import (
    BatchType,
    HostTargetingStatement,
    SimpleStatement,
    Statement,
    bind_params,
)
from cassandra._wire.encoder import Encoder, ValueSequence
from cassandra._wire.rows import dict_factory, named_tuple_factory, ordered_dict_factory, tuple_factory

__all__ = [
    "FETCH_SIZE_UNSET",
    "UNSET_VALUE",
    "BatchStatement",
    "BatchType",
    "BoundStatement",
    "ConsistencyLevel",
    "Encoder",
    "HostTargetingStatement",
    "OperationTimedOut",
    "PreparedStatement",
    "QueryTrace",
    "SimpleStatement",
    "Statement",
    "TraceEvent",
    "TraceUnavailable",
    "ValueSequence",
    "bind_params",
    "dict_factory",
    "named_tuple_factory",
    "ordered_dict_factory",
    "tuple_factory",
]
