"""All exceptions of the mapper, and the mixin for objects that are written as text."""

from __future__ import annotations

from typing import Any

from cassandra._base.objects import public


@public("cassandra.cqlengine")
class UnicodeMixin:
    """``str()`` returns the result of ``__unicode__()``."""

    def __unicode__(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} has no __unicode__()")

    def __str__(self) -> str:
        return self.__unicode__()


@public("cassandra.cqlengine")
class CQLEngineException(Exception):
    """Base of the exceptions of the mapper."""


@public("cassandra.cqlengine")
class ValidationError(CQLEngineException):
    """A value is not valid for its column."""


class InvalidType(ValidationError, TypeError):
    """A value has a class that its column does not accept; a ``TypeError``, too, for existing programs."""


@public("cassandra.cqlengine.connection")
class UndefinedKeyspaceException(CQLEngineException):
    """Neither the model nor its connection sets the keyspace of the table."""


@public("cassandra.cqlengine.operators")
class QueryOperatorException(Exception):
    """No operator has this name."""


@public("cassandra.cqlengine.statements")
class StatementException(Exception):
    """A statement has invalid parts."""


@public("cassandra.cqlengine.query")
class QueryException(CQLEngineException):
    """A query set does not support the requested operation."""


@public("cassandra.cqlengine.query")
class DoesNotExist(QueryException):
    """No row matches the query; each model has its own subclass."""


@public("cassandra.cqlengine.query")
class MultipleObjectsReturned(QueryException):
    """More than one row matches the query; each model has its own subclass."""


@public("cassandra.cqlengine.query")
class IfNotExistsWithCounterColumn(CQLEngineException):
    """A model with counters cannot be saved ``if_not_exists``."""


@public("cassandra.cqlengine.query")
class IfExistsWithCounterColumn(CQLEngineException):
    """A model with counters cannot be saved ``if_exists``."""


@public("cassandra.cqlengine.query")
class LWTException(CQLEngineException):
    """A write with a condition was not applied.

    ``existing`` is the row that prevented it, as a dictionary of the columns that the server returned.
    """

    def __init__(self, existing: Any) -> None:
        super().__init__("LWT Query was not applied")
        self.existing = existing  #: The values that the row has, by column.

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.existing,)


@public("cassandra.cqlengine.models")
class ModelException(CQLEngineException):
    """Base of errors in models."""


@public("cassandra.cqlengine.models")
class ModelDefinitionException(ModelException):
    """The definition of a model is invalid."""


@public("cassandra.cqlengine.models")
class PolymorphicModelException(ModelException):
    """A row belongs to no model that shares its table, or to another one than the requested model."""


@public("cassandra.cqlengine.models")
class UndefinedKeyspaceWarning(Warning):
    """A model has no keyspace of its own."""


@public("cassandra.cqlengine.usertype")
class UserTypeException(CQLEngineException):
    """Base of errors in user types."""


@public("cassandra.cqlengine.usertype")
class UserTypeDefinitionException(UserTypeException):
    """The definition of a user type is invalid."""
