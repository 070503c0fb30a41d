"""Models: tables as classes."""

import logging

from cassandra._base.lending import share
from cassandra._mapper.errors import (
    CQLEngineException,
    ModelDefinitionException,
    ModelException,
    PolymorphicModelException,
    UndefinedKeyspaceWarning,
    ValidationError,
)

log = logging.getLogger("cassandra.cqlengine.models")

__all__ = [
    "CQLEngineException",
    "ModelDefinitionException",
    "ModelException",
    "PolymorphicModelException",
    "UndefinedKeyspaceWarning",
    "ValidationError",
    "log",
]

share(__name__, {"cassandra._mapper.defaults": "DEFAULT_KEYSPACE"})
