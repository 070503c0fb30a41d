"""Class attributes of models: columns, query sets, and options of the next request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from cassandra._base.names import escape_name
from cassandra._base.objects import public
from cassandra._core.models import ColumnAccess
from cassandra._mapper.errors import CQLEngineException
from cassandra._mapper.instances import initial
from cassandra._mapper.query.columns import AbstractQueryableColumn
from cassandra._mapper.query.models import ModelQuerySet

HOME = "cassandra.cqlengine.models"

M = TypeVar("M")


@public(HOME)
class hybrid_classmethod:
    """One method when accessed on the class, another one when accessed on an instance."""

    def __init__(self, clsmethod: Callable[..., Any], instmethod: Callable[..., Any]) -> None:
        self.clsmethod = clsmethod
        self.instmethod = instmethod

    def __get__(self, instance: Any, owner: type) -> Callable[..., Any]:
        if instance is None:
            return self.clsmethod.__get__(owner, owner)  # type: ignore[no-any-return]
        return self.instmethod.__get__(instance, owner)  # type: ignore[no-any-return]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Not callable; defined for tools that read signatures."""
        raise NotImplementedError("a hybrid_classmethod must be called through a class or an instance")


class _Option:
    """An option of the next request: set on an instance, which is returned, or on a new query set of the class."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Not callable; defined for tools that read signatures."""
        raise NotImplementedError(f"a {type(self).__name__} must be called through a class or an instance")


@public(HOME)
class QuerySetDescriptor:
    """``Model.objects``: a new query set, of all rows."""

    @overload
    def __get__(self, obj: None, model: type[M]) -> ModelQuerySet[M]: ...
    @overload
    def __get__(self, obj: M, model: type[M]) -> ModelQuerySet[M]: ...
    def __get__(self, obj: Any, model: Any) -> ModelQuerySet[Any]:
        """Return a new query set. For a model that shares its table by a discriminator, only its own rows."""
        if model.__abstract__:
            raise CQLEngineException("cannot execute queries against abstract models")
        queryset: ModelQuerySet[Any] = model.__queryset__(model)
        if model._is_polymorphic and not model._is_polymorphic_base:
            name, column = model._discriminator_column_name, model._discriminator_column
            if column.partition_key or column.index:  # otherwise the rows of all models are read
                return queryset.filter(**{name: model.__discriminator_value__})
        return queryset

    def __call__(self, *args: Any, **kwargs: Any) -> ModelQuerySet[Any]:
        """Not callable; defined for tools that read signatures."""
        raise NotImplementedError("a QuerySetDescriptor must be called through a class")


@public(HOME)
class ConditionalDescriptor(_Option):
    """``iff(name=value)``: write only if the row has these values."""

    def __get__(self, instance: Any, model: Any) -> Callable[..., Any]:
        if instance is None:
            return model.objects.iff  # type: ignore[no-any-return]

        def conditional_setter(*prepared_conditional: Any, **unprepared_conditionals: Any) -> Any:
            first = prepared_conditional[0] if prepared_conditional else None
            conditions = first if isinstance(first, list) else prepared_conditional
            instance._conditional = instance.objects.iff(*conditions, **unprepared_conditionals)._conditional
            return instance

        return conditional_setter


@public(HOME)
class TTLDescriptor(_Option):
    """``ttl(seconds)``: written values expire after this time."""

    def __get__(self, instance: Any, model: Any) -> Callable[..., Any]:
        if instance is None:
            return model.objects.ttl  # type: ignore[no-any-return]

        def ttl_setter(ts: int | None) -> Any:
            instance._ttl = ts
            return instance

        return ttl_setter


@public(HOME)
class TimestampDescriptor(_Option):
    """``timestamp(when)``: timestamp of the write."""

    def __get__(self, instance: Any, model: Any) -> Callable[..., Any]:
        if instance is None:
            return model.objects.timestamp  # type: ignore[no-any-return]

        def timestamp_setter(ts: Any) -> Any:
            instance._timestamp = ts
            return instance

        return timestamp_setter


@public(HOME)
class IfNotExistsDescriptor(_Option):
    """``if_not_exists()``: insert only if there is no such row."""

    def __get__(self, instance: Any, model: Any) -> Callable[..., Any]:
        if instance is None:
            return model.objects.if_not_exists  # type: ignore[no-any-return]

        def ifnotexists_setter(ife: bool = True) -> Any:
            instance._if_not_exists = ife
            return instance

        return ifnotexists_setter


@public(HOME)
class IfExistsDescriptor(_Option):
    """``if_exists()``: update or delete only if there is such a row."""

    def __get__(self, instance: Any, model: Any) -> Callable[..., Any]:
        if instance is None:
            return model.objects.if_exists  # type: ignore[no-any-return]

        def ifexists_setter(ife: bool = True) -> Any:
            instance._if_exists = ife
            return instance

        return ifexists_setter


@public(HOME)
class ConsistencyDescriptor(_Option):
    """``consistency(level)``."""

    def __get__(self, instance: Any, model: Any) -> Callable[..., Any]:
        if instance is None:
            return model.objects.consistency  # type: ignore[no-any-return]

        def consistency_setter(consistency: int | None) -> Any:
            instance.__consistency__ = consistency
            return instance

        return consistency_setter


@public(HOME)
class UsingDescriptor(_Option):
    """``using(connection=name)``, and for a class ``using(keyspace=name)``: target of the request."""

    def __get__(self, instance: Any, model: Any) -> Callable[..., Any]:
        if instance is None:
            return model.objects.using  # type: ignore[no-any-return]

        def using_setter(connection: Any = None) -> Any:
            if connection:
                instance._connection = connection
            return instance

        return using_setter


@public(HOME)
class ColumnQueryEvaluator(AbstractQueryableColumn):
    """A column as a class attribute: ``Model.column == value`` and other comparisons return conditions."""

    def __init__(self, column: Any) -> None:
        self.column = column

    def __unicode__(self) -> str:
        return str(self.column.db_field_name)

    def _get_column(self) -> Any:
        return self.column

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {escape_name(self.column.db_field_name)}>"


@public(HOME)
class ColumnDescriptor(ColumnAccess):
    """A column as an attribute of a model: on an instance its value, on the class an object to build conditions."""

    def __init__(self, column: Any) -> None:
        name = column.column_name
        undeletable = None if column.can_delete else f"cannot delete {name} columns"
        super().__init__(column, ColumnQueryEvaluator(column), name, initial(column), undeletable)
