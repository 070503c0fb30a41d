"""Tables that are queried by name, without a model."""

from cassandra._base.aliases import add_names
from cassandra._mapper.conditions import AbstractQueryableColumn
from cassandra._mapper.connections import get_cluster
from cassandra._mapper.errors import CQLEngineException
from cassandra._mapper.named import NamedColumn, NamedKeyspace, NamedTable, QuerySetDescriptor, SimpleQuerySet

__all__ = [
    "AbstractQueryableColumn",
    "CQLEngineException",
    "NamedColumn",
    "NamedKeyspace",
    "NamedTable",
    "QuerySetDescriptor",
    "SimpleQuerySet",
    "get_cluster",
]

add_names(
    __name__,
    {
        "cassandra.cqlengine.columns": "Column",
        "cassandra.cqlengine.models": "BaseModel UsingDescriptor",
    },
)
