"""Models: tables as classes."""

import logging

from cassandra._base.aliases import add_attributes, add_names, share
from cassandra._base.names import protect_name
from cassandra._mapper.errors import (
    CQLEngineException,
    ModelDefinitionException,
    ModelException,
    PolymorphicModelException,
    UndefinedKeyspaceWarning,
    ValidationError,
)
from cassandra._mapper.model import (
    BaseModel,
    ColumnDescriptor,
    ColumnQueryEvaluator,
    ConditionalDescriptor,
    ConsistencyDescriptor,
    IfExistsDescriptor,
    IfNotExistsDescriptor,
    Model,
    ModelMetaClass,
    QuerySetDescriptor,
    TimestampDescriptor,
    TTLDescriptor,
    UsingDescriptor,
    hybrid_classmethod,
)

log = logging.getLogger("cassandra.cqlengine.models")

__all__ = [
    "BaseModel",
    "CQLEngineException",
    "ColumnDescriptor",
    "ColumnQueryEvaluator",
    "ConditionalDescriptor",
    "ConsistencyDescriptor",
    "IfExistsDescriptor",
    "IfNotExistsDescriptor",
    "Model",
    "ModelDefinitionException",
    "ModelException",
    "ModelMetaClass",
    "PolymorphicModelException",
    "QuerySetDescriptor",
    "TTLDescriptor",
    "TimestampDescriptor",
    "UndefinedKeyspaceWarning",
    "UsingDescriptor",
    "ValidationError",
    "hybrid_classmethod",
    "log",
    "protect_name",
]

add_attributes(BaseModel, "cassandra._compat.mapper", "_values _table_name")
add_names(__name__, {"cassandra.cqlengine": "columns connection query"})
share(__name__, {"cassandra._mapper.connections": "DEFAULT_KEYSPACE"})
