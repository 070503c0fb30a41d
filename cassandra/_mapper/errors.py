"""Every exception of the mapper, in one place to import from; and the mixin for what is written as text."""

from __future__ import annotations

from typing import Any

from cassandra._base.public import public


@public("cassandra.cqlengine")
class UnicodeMixin:
    """``str()`` of an object is what its ``__unicode__()`` returns."""

    def __unicode__(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} has no __unicode__()")

    def __str__(self) -> str:
        return self.__unicode__()


@public("cassandra.cqlengine")
class CQLEngineException(Exception):
    """Base of what the mapper raises."""


@public("cassandra.cqlengine")
class ValidationError(CQLEngineException):
    """A value is none that its column takes."""


class InvalidType(ValidationError, TypeError):
    """A value is of a class that its column does not take, where old programs expect a ``TypeError``."""


@public("cassandra.cqlengine.connection")
class UndefinedKeyspaceException(CQLEngineException):
    """Neither a model nor its connection says in which keyspace its table is."""


@public("cassandra.cqlengine.operators")
class QueryOperatorException(Exception):
    """No operator has that name."""


@public("cassandra.cqlengine.statements")
class StatementException(Exception):
    """A statement is made of what it cannot be made of."""


@public("cassandra.cqlengine.query")
class QueryException(CQLEngineException):
    """A query set cannot be what was asked of it."""


@public("cassandra.cqlengine.query")
class DoesNotExist(QueryException):
    """No row is what was asked for; each model has its own."""


@public("cassandra.cqlengine.query")
class MultipleObjectsReturned(QueryException):
    """More than one row is what was asked for; each model has its own."""


@public("cassandra.cqlengine.query")
class IfNotExistsWithCounterColumn(CQLEngineException):
    """A model with counters cannot be saved ``if_not_exists``."""


@public("cassandra.cqlengine.query")
class IfExistsWithCounterColumn(CQLEngineException):
    """A model with counters cannot be saved ``if_exists``."""


@public("cassandra.cqlengine.query")
class LWTException(CQLEngineException):
    """A write with a condition was not applied.

    ``existing`` is the row that prevented it, as a dictionary of what the server told of it.
    """

    def __init__(self, existing: Any) -> None:
        super().__init__("LWT Query was not applied")
        self.existing = existing

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.existing,)


@public("cassandra.cqlengine.models")
class ModelException(CQLEngineException):
    """Base of what is wrong with a model."""


@public("cassandra.cqlengine.models")
class ModelDefinitionException(ModelException):
    """A class says what no model can be."""


@public("cassandra.cqlengine.models")
class PolymorphicModelException(ModelException):
    """A row belongs to no model that shares its table, or to another than was asked for."""


@public("cassandra.cqlengine.models")
class UndefinedKeyspaceWarning(Warning):
    """A model has no keyspace of its own."""


@public("cassandra.cqlengine.usertype")
class UserTypeException(CQLEngineException):
    """Base of what is wrong with a user type."""


@public("cassandra.cqlengine.usertype")
class UserTypeDefinitionException(UserTypeException):
    """A class says what no user type can be."""
