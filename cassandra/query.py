"""Statements, row factories, batches and traces."""

import logging

from cassandra._base.aliases import add_aliases, add_names
from cassandra._base.constants import ConsistencyLevel
from cassandra._base.errors import OperationTimedOut, TraceUnavailable
from cassandra._session.request.trace import QueryTrace, TraceEvent
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.statements.prepared import UNSET_VALUE, BoundStatement, PreparedStatement
from cassandra._session.statements.statement import (
    FETCH_SIZE_UNSET,
    BatchType,
    HostTargetingStatement,
    SimpleStatement,
    Statement,
    bind_params,
)
from cassandra._wire.class_rows import class_row
from cassandra._wire.encoder import Encoder, ValueSequence
from cassandra._wire.rows import dict_factory, named_tuple_factory, ordered_dict_factory, tuple_factory

log = logging.getLogger("cassandra.query")

__all__ = [
    "log",
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
    "class_row",
    "dict_factory",
    "named_tuple_factory",
    "ordered_dict_factory",
    "tuple_factory",
]

add_names(__name__, {
    "cassandra._compat.names": (
        "datetime namedtuple re struct time timedelta timezone warnings END_BADCHAR_REGEX NON_ALPHA_REGEX"
        " PseudoNamedTupleRow START_BADCHAR_REGEX _clean_name_cache _sanitize_identifiers"
        " pseudo_namedtuple_factory"
    ),
    "collections": "OrderedDict",
    "cassandra.policies": "ColDesc",
    "cassandra.util": "maybe_add_timeout_to_query unix_time_from_uuid1",
    "cassandra._core.codec": "_UNSET_VALUE=UNSET",
    "cassandra._base.tuples": "_clean_column_name=clean_name",
})  # fmt: skip
add_aliases(BatchStatement, BoundStatement, PreparedStatement, QueryTrace, Statement, TraceEvent)
