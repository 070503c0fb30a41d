"""What class attributes of models lead to: columns, query sets, and options that hold for the next request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from cassandra._base.names import escape_name
from cassandra._base.public import public
from cassandra._core.models import ColumnAccess
from cassandra._mapper.errors import CQLEngineException
from cassandra._mapper.instances import initial
from cassandra._mapper.query.columns import AbstractQueryableColumn
from cassandra._mapper.query.models import ModelQuerySet

HOME = "cassandra.cqlengine.models"

M = TypeVar("M")


@public(HOME)
class hybrid_classmethod:
    """One method when it is looked up in the class, another one in an instance."""

    def __init__(self, clsmethod: Callable[..., Any], instmethod: Callable[..., Any]) -> None:
        self.clsmethod = clsmethod
        self.instmethod = instmethod

    def __get__(self, instance: Any, owner: type) -> Callable[..., Any]:
        if instance is None:
            return self.clsmethod.__get__(owner, owner)  # type: ignore[no-any-return]
        return self.instmethod.__get__(instance, owner)  # type: ignore[no-any-return]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Only for those who read signatures: what is called is what it leads to."""
        raise NotImplementedError("a hybrid_classmethod is called through a class or an instance")


class _Option:
    """An option of the next request: of an instance, which is returned, or of a new query set of the class."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Only for those who read signatures: what is called is what it leads to."""
        raise NotImplementedError(f"a {type(self).__name__} is called through a class or an instance")


@public(HOME)
class QuerySetDescriptor:
    """``Model.objects``: a new query set, of all rows."""

    @overload
    def __get__(self, obj: None, model: type[M]) -> ModelQuerySet[M]: ...
    @overload
    def __get__(self, obj: M, model: type[M]) -> ModelQuerySet[M]: ...
    def __get__(self, obj: Any, model: Any) -> ModelQuerySet[Any]:
        """Of a model that shares its table by a discriminator: of the rows that are of it."""
        if model.__abstract__:
            raise CQLEngineException("cannot execute queries against abstract models")
        queryset: ModelQuerySet[Any] = model.__queryset__(model)
        if model._is_polymorphic and not model._is_polymorphic_base:
            name, column = model._discriminator_column_name, model._discriminator_column
            if column.partition_key or column.index:  # else the rows of all are read
                return queryset.filter(**{name: model.__discriminator_value__})
        return queryset

    def __call__(self, *args: Any, **kwargs: Any) -> ModelQuerySet[Any]:
        """Only for those who read signatures: what is called is what it leads to."""
        raise NotImplementedError("a QuerySetDescriptor is called through a class")


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
    """``ttl(seconds)``: what is written lives that long."""

    def __get__(self, instance: Any, model: Any) -> Callable[..., Any]:
        if instance is None:
            return model.objects.ttl  # type: ignore[no-any-return]

        def ttl_setter(ts: int | None) -> Any:
            instance._ttl = ts
            return instance

        return ttl_setter


@public(HOME)
class TimestampDescriptor(_Option):
    """``timestamp(when)``: what is written is of that moment."""

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
    """``using(connection=name)``, and of a class ``using(keyspace=name)``: where the request goes."""

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
    """A column of a class: ``Model.column == value`` and its like are conditions."""

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
    """A column as an attribute of a model: of an instance its value, of the class what conditions are made of."""

    def __init__(self, column: Any) -> None:
        name = column.column_name
        undeletable = None if column.can_delete else f"cannot delete {name} columns"
        super().__init__(column, ColumnQueryEvaluator(column), name, initial(column), undeletable)
