"""Models: their base classes, their metaclass, and the attributes of their classes.

The metaclass collects and checks the columns of a class, and replaces them by descriptors: on an instance a column is
its value, on the class an object to build conditions. Other class attributes are query sets, and options of the next
request.
"""

from __future__ import annotations

import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar, overload

from cassandra._base.errors import DriverException
from cassandra._base.names import escape_name, protect_name
from cassandra._base.objects import public
from cassandra._core.models import OVERRIDES, ColumnAccess, Instance, ModelPlan, PreparedWrites
from cassandra._session.statements.statement import NOT_SET

from . import connections
from .columns import Column, Counter
from .conditions import AbstractQueryableColumn
from .containers import BaseContainerColumn
from .errors import (
    CQLEngineException,
    ModelDefinitionException,
    ModelException,
    PolymorphicModelException,
    ValidationError,
)
from .errors import DoesNotExist as _DoesNotExist
from .errors import MultipleObjectsReturned as _MultipleObjectsReturned
from .instances import forget, initial, model_method
from .plans import Plan
from .query_models import ModelQuerySet
from .writing import BatchQuery, DMLQuery

HOME = "cassandra.cqlengine.models"

AnyModel = TypeVar("AnyModel")
M = TypeVar("M", bound="BaseModel")


# ---- attributes of the classes


@public(HOME)
class hybrid_classmethod:
    """One method when accessed on the class, another one when accessed on an instance."""

    def __init__(self, clsmethod: Callable[..., Any], instmethod: Callable[..., Any]) -> None:
        self.clsmethod = clsmethod  #: Called on the class.
        self.instmethod = instmethod  #: Called on instances.

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
    def __get__(self, obj: None, model: type[AnyModel]) -> ModelQuerySet[AnyModel]: ...
    @overload
    def __get__(self, obj: AnyModel, model: type[AnyModel]) -> ModelQuerySet[AnyModel]: ...
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
        self.column = column  #: The column.

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


# ---- the metaclass

#: Attribute names of models that columns must not have.
RESERVED: set[str] = set()


@public(HOME)
class ModelMetaClass(type):
    """Metaclass that makes models of classes with columns."""

    #: Shapes of selections of the model, by the properties that determine their text. Setting any class attribute
    #: clears it, as the attribute may be one of these properties.
    _shapes: dict[Any, Any]
    #: How the model is read and written, and which methods it overrides.
    _plan: Plan

    def __new__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> Any:
        own = sorted(
            ((key, value) for key, value in attrs.items() if isinstance(value, Column)),
            key=lambda item: item[1].position,
        )
        columns = _inherited(bases)
        discriminators = [key for key, column in columns.items() if column.discriminator_column]
        for key, column in own:
            _check_column(name, key, column)
            columns[key] = column
            if column.discriminator_column and key not in discriminators:
                discriminators.append(key)
        attrs.setdefault("__module__", HOME)  # missing if the class was not created by a class statement
        attrs["__abstract__"] = attrs.get("__abstract__", False)
        attrs["__discriminator_value__"] = attrs.get("__discriminator_value__")
        attrs["__default_ttl__"] = (attrs.get("__options__") or {}).get("default_time_to_live")
        _add_keys(name, attrs, columns)
        _add_columns(name, attrs, columns)
        _add_discriminator(attrs, bases, columns, discriminators, {key for key, _ in own})
        made = super().__new__(cls, name, bases, attrs)
        _add_exceptions(made, bases)
        return made

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        """Initialize the class; also if a program's own metaclass has collected the columns in its ``__new__``."""
        super().__init__(name, bases, attrs)
        type.__setattr__(cls, "_shapes", {})
        type.__setattr__(cls, "_plan", Plan(cls))

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        for one in _with_subclasses(cls):
            one.__dict__.get("_shapes", {}).clear()
            if "_plan" in one.__dict__:
                one.__dict__["_plan"].forget()


def _with_subclasses(cls: type) -> list[type]:
    found = [cls]
    for one in found:
        found += type.__subclasses__(one)
    return found


def _inherited(bases: tuple[type, ...]) -> OrderedDict[str, Column[Any]]:
    columns: OrderedDict[str, Column[Any]] = OrderedDict()
    for base in bases:
        for key, column in getattr(base, "_defined_columns", {}).items():
            columns.setdefault(key, column)
    return columns


def _check_column(model: str, key: str, column: Column[Any]) -> None:
    if key in RESERVED:
        raise ModelDefinitionException(f"column '{key}' conflicts with built-in attribute/method")
    column.set_column_name(key)
    column.belongs_to(model)


def _add_keys(name: str, attrs: dict[str, Any], columns: OrderedDict[str, Column[Any]]) -> None:
    """Set the key columns. Without an explicit partition key, the first column of the primary key is it."""
    primary: OrderedDict[str, Column[Any]] = OrderedDict(
        (key, column) for key, column in columns.items() if column.primary_key
    )
    if not primary and not attrs["__abstract__"]:
        raise ModelDefinitionException("At least 1 primary key is required.")
    if any(isinstance(column, Counter) for column in primary.values()):
        raise ModelDefinitionException("counter columns cannot be used as primary keys")
    if primary and not any(column.partition_key for column in primary.values()):
        next(iter(primary.values())).partition_key = True
    partition = OrderedDict((key, column) for key, column in primary.items() if column.partition_key)
    clustering = OrderedDict((key, column) for key, column in primary.items() if not column.partition_key)
    for column in clustering.values():
        order = column.clustering_order
        if order is not None and order.lower() not in ("asc", "desc"):
            raise ModelException(f"invalid clustering order '{order!r}' for column '{column.db_field_name}'")
    attrs["_primary_keys"] = primary
    attrs["_partition_keys"] = partition
    attrs["_clustering_keys"] = clustering
    attrs["_partition_key_index"] = {}
    attrs["_key_serializer"] = staticmethod(_no_key)
    if attrs.get("__compute_routing_key__", True):
        attrs["_partition_key_index"] = {column.db_field_name: i for i, column in enumerate(partition.values())}
        attrs["_key_serializer"] = staticmethod(_key_serializer(list(partition.values())))
    attrs["_pk_name"] = next(iter(partition)) if len(partition) == 1 else None


def _no_key(parts: Any, protocol_version: int) -> None:
    """Serializer of models without routing keys: requests by text go to any node."""


def _key_serializer(columns: list[Column[Any]]) -> Callable[[Any, int], list[bytes]]:
    def serialize(parts: Any, protocol_version: int) -> list[bytes]:
        return [column.cql_type.to_binary(part, protocol_version) for column, part in zip(columns, parts, strict=True)]

    return serialize


def _add_columns(name: str, attrs: dict[str, Any], columns: OrderedDict[str, Column[Any]]) -> None:
    names: dict[str, str] = {}
    for key, column in columns.items():
        attrs[key] = ColumnDescriptor(column)
        if column.db_field_name in names:
            raise ModelException(f"{name} defines the column '{column.db_field_name}' more than once")
        names[column.db_field_name] = key
    attrs["_columns"] = columns
    attrs["_defined_columns"] = columns
    attrs["_db_map"] = {db_name: key for db_name, key in names.items() if db_name != key}
    attrs["_dynamic_columns"] = {}
    attrs["_has_counter"] = any(isinstance(column, Counter) for column in columns.values())
    if attrs["_has_counter"] and any(
        not column.primary_key and not isinstance(column, Counter) for column in columns.values()
    ):
        raise ModelDefinitionException("counter models may not have data columns")
    if "pk" not in columns:
        attrs["pk"] = _key_attribute(attrs, columns)


def _key_attribute(attrs: Mapping[str, Any], columns: Mapping[str, Column[Any]]) -> Any:
    """Return the column of the partition key; for a composite key, a property of the tuple of its values."""
    if attrs["_pk_name"] is not None:
        return attrs[attrs["_pk_name"]]
    names = list(attrs["_partition_keys"])

    def get(self: Any) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in names)

    def set_all(self: Any, values: Any) -> None:
        for name, value in zip(names, values, strict=False):
            setattr(self, name, value)

    return property(get, set_all, doc="The partition key: the tuple of its values.")


def _add_discriminator(
    attrs: dict[str, Any], bases: tuple[type, ...], columns: Mapping[str, Column[Any]], found: list[str], own: set[str]
) -> None:
    if len(found) > 1:
        raise ModelDefinitionException(f"only one discriminator_column can be defined in a model, {len(found)} found")
    name = found[0] if found else None
    if name is not None and isinstance(columns[name], (BaseContainerColumn, Counter)):
        raise ModelDefinitionException("counter and container columns cannot be used as discriminator columns")
    is_base = name in own
    attrs["_is_polymorphic"] = name is not None
    attrs["_is_polymorphic_base"] = is_base
    attrs["_discriminator_column_name"] = name
    attrs["_discriminator_column"] = None if name is None else columns[name]
    attrs["_discriminator_map"] = {} if is_base else None
    polymorphic = [base for base in bases if getattr(base, "_is_polymorphic", False)]
    attrs["_polymorphic_base"] = None
    if name is not None and not is_base and polymorphic:
        nearest: Any = polymorphic[0]
        attrs["_polymorphic_base"] = nearest if nearest._is_polymorphic_base else nearest._polymorphic_base


def _add_exceptions(made: Any, bases: tuple[type, ...]) -> None:
    """Add exceptions of the model, derived from those of its bases."""
    for name in ("DoesNotExist", "MultipleObjectsReturned"):
        above = [getattr(base, name) for base in bases if hasattr(base, name)]
        above = [kind for i, kind in enumerate(above) if not any(issubclass(other, kind) for other in above[i + 1 :])]
        if name not in made.__dict__ and above:
            qualname = f"{made.__qualname__}.{name}"
            error = type(name, tuple(above), {"__module__": made.__module__, "__qualname__": qualname})
            type.__setattr__(made, name, error)


# ---- keyspace and table name

#: Boundary between two words of a camel-case name.
BETWEEN = re.compile("([a-z]|^)([A-Z])")
#: Maximum length of a table name that servers accept.
LENGTH = 48


def name_of_class(name: str) -> str:
    """Return the table name derived from the name of a model class."""
    words = BETWEEN.sub(lambda found: f"{found[1]}_{found[2]}" if found[1] else found[2], name)
    return words.lower()[-LENGTH:].lstrip("_")


def table_of(model: Any) -> str:
    """Return the name of the table, as it is in the schema."""
    name = model.__table_name__
    if name:
        if not model.__table_name_case_sensitive__ and name != name.lower():
            warnings.warn(
                "Model __table_name__ will be case sensitive by default in a future release. You should fix the "
                f"__table_name__ value of the '{model.__name__}' model.",
                stacklevel=4,
            )
            return str(name.lower())
        if model.__table_name_case_sensitive__:
            warnings.warn(
                "Model __table_name_case_sensitive__ will be removed in a future release.",
                PendingDeprecationWarning,
                stacklevel=4,
            )
        return str(name)
    if model._is_polymorphic and not model._is_polymorphic_base:
        return table_of(model._polymorphic_base)
    return name_of_class(model.__name__)


def known_table_of(model: Any) -> str:
    """As :func:`table_of`, computed once per model: it may warn."""
    name = model.__dict__.get("_table_name") or table_of(model)
    if "_table_name" not in model.__dict__:
        type.__setattr__(model, "_table_name", name)
    return str(name)


def keyspace_of(model: Any) -> str | None:
    return model.__keyspace__ or connections.DEFAULT_KEYSPACE


def full_name_of(model: Any) -> str:
    """Return keyspace and table name in CQL."""
    keyspace = keyspace_of(model)
    if not keyspace:
        raise CQLEngineException(
            "Model keyspace is not set and no default is available. Set model keyspace or setup connection before"
            " attempting to generate a query."
        )
    return f"{protect_name(keyspace)}.{protect_name(known_table_of(model))}"


# ---- base classes of models

CREATES = OVERRIDES["create"]

_read = ModelPlan.read


@public(HOME)
class BaseModel(Instance):
    """Base of all models. Values are accessible as attributes, as items, and by ``keys()``, ``values()``,
    ``items()``."""

    class DoesNotExist(_DoesNotExist):
        """No row of the model matches the query."""

    class MultipleObjectsReturned(_MultipleObjectsReturned):
        """More than one row of the model matches the query."""

    #: All rows, as a :class:`~cassandra.cqlengine.query.ModelQuerySet`; on the class only.
    objects = QuerySetDescriptor()
    #: ``ttl(seconds)``: a query set or instance whose writes have this time to live; None for none.
    ttl = TTLDescriptor()
    #: ``consistency(level)``: a query set or instance with this consistency level.
    consistency = ConsistencyDescriptor()
    iff = ConditionalDescriptor()  #: ``iff(column=value)``: a query set or instance whose writes have these conditions.
    timestamp = TimestampDescriptor()  #: ``timestamp(when)``: a query set or instance whose writes have this time.
    #: ``if_not_exists()``: a query set or instance that inserts a row only if there is none.
    if_not_exists = IfNotExistsDescriptor()
    if_exists = IfExistsDescriptor()  #: ``if_exists()``: a query set or instance that writes only rows that exist.
    using = UsingDescriptor()  #: ``using(connection=name, keyspace=name)``: a query set or instance for these.

    __queryset__: ClassVar[Any] = ModelQuerySet
    __dmlquery__: ClassVar[Any] = DMLQuery
    __consistency__: Any = None
    __table_name__: ClassVar[str | None] = None
    __table_name_case_sensitive__: ClassVar[bool] = False
    __keyspace__: ClassVar[str | None] = None
    __connection__: ClassVar[Any] = None
    __options__: ClassVar[Any] = None
    __default_ttl__: ClassVar[Any] = None
    __discriminator_value__: ClassVar[Any] = None
    __compute_routing_key__: ClassVar[bool] = True

    _ttl: Any = None
    _timestamp: Any = None
    _conditional: Any = None
    _batch: Any = None
    _timeout: Any = NOT_SET
    _connection: Any = None
    _if_not_exists: bool = False
    _if_exists: bool = False

    # Set by the metaclass.
    _plan: ClassVar[Any]
    _columns: ClassVar[Any]
    _primary_keys: ClassVar[Any]
    _db_map: ClassVar[Any]
    _key_serializer: ClassVar[Any]
    _is_polymorphic: ClassVar[bool]
    _is_polymorphic_base: ClassVar[bool]
    _polymorphic_base: ClassVar[Any]
    _discriminator_column_name: ClassVar[Any]
    _discriminator_map: ClassVar[Any]

    @model_method("load")
    def __init__(self, **values: Any) -> None:
        self._plan.begin(self, values)

    # ---- as a mapping

    def __repr__(self) -> str:
        hidden = self._discriminator_column_name
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._columns if name != hidden)
        return f"{type(self).__name__}({values})"

    def __str__(self) -> str:
        keys = ", ".join(f"{name}={getattr(self, name)}" for name in self._primary_keys)
        return f"{type(self).__name__} <{keys}>"

    def __eq__(self, other: object) -> bool:
        if self.__class__ != other.__class__:
            return False
        return all(getattr(self, name, None) == getattr(other, name, None) for name in self._columns)

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        yield from self._columns

    def __getitem__(self, key: str) -> Any:
        if key not in self._columns:
            raise KeyError(f"{type(self).__name__} has no column {key!r}")
        return getattr(self, key)

    def __setitem__(self, key: str, val: Any) -> None:
        if key not in self._columns:
            raise KeyError(f"{type(self).__name__} has no column {key!r}")
        setattr(self, key, val)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._columns)

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._columns)

    def values(self) -> list[Any]:
        """Return the values, in the order of the columns."""
        return [getattr(self, name) for name in self._columns]

    def items(self) -> list[tuple[str, Any]]:
        """Return pairs of name and value."""
        return [(name, getattr(self, name)) for name in self._columns]

    # ---- names

    @classmethod
    def _get_keyspace(cls) -> str | None:
        return keyspace_of(cls)

    @classmethod
    def _raw_column_family_name(cls) -> str:
        return known_table_of(cls)

    @classmethod
    def column_family_name(cls, include_keyspace: bool = True) -> str:
        """Return the name of the table in CQL."""
        return full_name_of(cls) if include_keyspace else protect_name(known_table_of(cls))

    @classmethod
    def _get_column(cls, name: str) -> Any:
        return cls._columns[name]

    @classmethod
    def _get_column_by_db_name(cls, name: str) -> Any:
        return cls._columns.get(cls._db_map.get(name, name))

    @classmethod
    def _routing_key_from_values(cls, pk_values: Any, protocol_version: int) -> Any:
        return cls._key_serializer(pk_values, protocol_version) if cls.__compute_routing_key__ else None

    # ---- from rows

    @classmethod
    @model_method("load")
    def _construct_instance(cls, values: Any) -> Any:
        """Return the instance of a row, given as a mapping from column names in the database to values."""
        if cls._db_map:
            values = {cls._db_map.get(name, name): value for name, value in values.items()}
        kind = cls._class_of(values.get(cls._discriminator_column_name)) if cls._is_polymorphic else cls
        known = {name: value for name, value in values.items() if name in kind._columns}
        instance = kind(**known)
        instance._set_persisted(force=True)
        if len(known) < len(kind._columns):
            kind._plan.settle(instance, known)
        return instance

    @classmethod
    def _class_of(cls, value: Any) -> Any:
        """Return the model of rows with this discriminator."""
        if value is None:
            raise PolymorphicModelException("discriminator value was not found in values")
        base: Any = cls if cls._is_polymorphic_base else cls._polymorphic_base
        found = base._get_model_by_discriminator_value(value)
        if found is None:
            base._discover_polymorphic_submodels()
            found = base._get_model_by_discriminator_value(value)
            if found is None:
                raise PolymorphicModelException(f"unrecognized discriminator column {value} for class {base.__name__}")
        if not issubclass(found, getattr(cls, "_original", cls)):
            raise PolymorphicModelException(f"{found.__name__} is not a subclass of {cls.__name__}")
        return found

    @classmethod
    def _discover_polymorphic_submodels(cls) -> None:
        if not cls._is_polymorphic_base:
            raise ModelException("_discover_polymorphic_submodels can only be called on polymorphic base classes")
        found: list[Any] = [cls]
        for model in found:
            found += model.__subclasses__()
            if model.__discriminator_value__ is not None:
                cls._discriminator_map[model.__discriminator_value__] = model

    @classmethod
    def _get_model_by_discriminator_value(cls, key: Any) -> Any:
        return cls._discriminator_map.get(key)

    # ---- changes

    @model_method("write")
    def validate(self) -> None:
        """Check all values, and convert those that can be converted; a ValidationError names the column."""
        self._plan.validate(self)

    def get_changed_columns(self) -> list[str]:
        """Return the names of the columns whose values differ from the last loaded or written ones."""
        names: list[str] = self._plan.changed(self)
        return names

    @model_method("write")
    def _set_column_value(self, name: str, value: Any) -> None:
        self._touched[name] = value

    @model_method("load", "write")
    def _set_persisted(self, force: bool = False) -> None:
        self._plan.settle(self)

    @model_method("write")
    def _can_update(self) -> bool:
        """True if the row exists already: it was loaded or written, and its key has not changed since."""
        return bool(self._plan.can_update(self))

    def _as_dict(self) -> dict[str, Any]:
        return {name: column.to_database(getattr(self, name)) for name, column in self._columns.items()}

    # ---- requests

    @classmethod
    def create(cls: type[M], **kwargs: Any) -> M:
        """Insert a row with these values, and return its instance."""
        created: M | None = cls._plan.create(kwargs)
        if created is not None:
            return created
        cls._check_names(kwargs)
        if cls._plan.overrides() & CREATES:
            made: M = cls.objects.create(**kwargs)
            return made
        return cls(**kwargs).save()

    @classmethod
    async def acreate(cls: type[M], **kwargs: Any) -> M:
        """As :meth:`create`, without blocking the running loop."""
        instance: M | None = cls._plan.make(kwargs)
        if instance is None:
            cls._check_names(kwargs)
            if cls._plan.overrides() & CREATES:
                created: M = await cls.objects.acreate(**kwargs)
                return created
            instance = cls(**kwargs)
        return await instance.asave()

    @classmethod
    def _check_names(cls, values: Any) -> None:
        if not values.keys() <= cls._columns.keys():
            raise ValidationError(f"Incorrect columns passed: {set(values) - set(cls._columns)}")

    @classmethod
    def all(cls: type[M]) -> ModelQuerySet[M]:
        """Return a query set of all rows."""
        return cls.objects.all()

    @classmethod
    def filter(cls: type[M], *args: Any, **kwargs: Any) -> ModelQuerySet[M]:
        """Return a query set of the rows that meet these conditions."""
        return cls.objects.filter(*args, **kwargs)

    @classmethod
    def get(cls: type[M], *args: Any, **kwargs: Any) -> M:
        """Return the only row that meets these conditions; raise the model's ``DoesNotExist`` or
        ``MultipleObjectsReturned``."""
        made: M | None = None if args else _read(cls._plan, kwargs)
        return cls.objects.get(*args, **kwargs) if made is None else made

    @classmethod
    async def aget(cls: type[M], *args: Any, **kwargs: Any) -> M:
        """As :meth:`get`, without blocking the running loop."""
        found = None if args else cls._plan.read_of(kwargs)
        sent = None if found is None else found.send(kwargs)
        if found is not None and sent is not None:
            try:
                result = await sent[0]  # inline, not by read_async(): a nested coroutine costs 2 % of the whole call
            except DriverException as error:
                if not found._must_be_repeated(error, sent[0]):
                    raise
            else:
                made: M = found.only_one(result, sent[1])
                return made
        return await cls.objects.aget(*args, **kwargs)

    def timeout(self: M, timeout: float | None) -> M:
        """Set the timeout of requests of this instance, in seconds; None: no limit."""
        assert self._batch is None, "Setting both timeout and batch is not supported"
        self._timeout = timeout
        return self

    @model_method("write")
    def _save_by_slow_path(self) -> None:
        self._dml_to_write(self._if_not_exists).save()
        self._written()

    async def asave(self: M) -> M:
        """As :meth:`save`, without blocking the running loop."""
        prepared = self._plan.prepare(self)
        if prepared is not None:
            return await self._write(prepared)
        await self._dml_to_write(self._if_not_exists).asave()
        return self._written()

    async def _write(self: M, prepared: PreparedWrites) -> M:
        if not prepared.join():
            for write in prepared.writes:
                future = prepared.send(write)
                if future is not None:
                    try:
                        await future
                        continue
                    except DriverException as error:
                        if not self._plan._must_be_repeated(error, future):
                            raise
                await self._plan.request(write, prepared).execute_async()
        prepared.finish()
        return self

    def _update_by_slow_path(self, values: dict[str, Any]) -> None:
        self._take(values)
        self._dml_to_write(False).update()
        self._written()

    async def aupdate(self: M, **values: Any) -> M:
        """As :meth:`update`, without blocking the running loop."""
        prepared = self._plan.prepare(self, values)
        if prepared is not None:
            return await self._write(prepared)
        self._take(values)
        await self._dml_to_write(False).aupdate()
        return self._written()

    def delete(self) -> None:
        """Delete the row. A later save inserts a new row, with all values of the instance."""
        self._dml(False).delete()
        forget(self)

    async def adelete(self) -> None:
        """As :meth:`delete`, without blocking the running loop."""
        await self._dml(False).adelete()
        forget(self)

    @model_method("write")
    def _dml(self, if_not_exists: bool) -> Any:
        return self.__dmlquery__(
            type(self),
            self,
            batch=self._batch,
            ttl=self._ttl,
            timestamp=self._timestamp,
            consistency=self.__consistency__,
            if_not_exists=if_not_exists,
            conditional=self._conditional,
            timeout=self._timeout,
            if_exists=self._if_exists,
        )

    @model_method("write")
    def _dml_to_write(self, if_not_exists: bool) -> Any:
        if self._is_polymorphic:
            if self._is_polymorphic_base:
                raise PolymorphicModelException("cannot save polymorphic base model")
            setattr(self, self._discriminator_column_name, self.__discriminator_value__)
        self.validate()
        return self._dml(if_not_exists)

    @model_method("write")
    def _take(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            column = self._columns.get(name)
            if column is None:
                raise ValidationError(f"{self.__module__}.{type(self).__name__} has no column named: {name}")
            if column.is_primary_key and getattr(self, name) != value:
                raise ValidationError(
                    f"Cannot apply update to primary key '{name}' for {self.__module__}.{type(self).__name__}"
                )
            setattr(self, name, value)

    @model_method("write")
    def _written(self: M) -> M:
        self._set_persisted()
        if self._timestamp is not None:
            self._timestamp = None
        return self

    # ---- batches and connections

    @classmethod
    def _class_batch(cls, batch: Any) -> Any:
        queryset = cls.objects
        if cls._plan.overrides() & CREATES:
            return queryset.batch(batch)
        queryset._batch = queryset._validate_batch(batch)  # the query set is new and not shared, so no copy is needed
        return queryset

    def _inst_batch(self: M, batch: Any) -> M:
        assert self._timeout is NOT_SET, "Setting both timeout and batch is not supported"
        if batch is not None and not isinstance(batch, BatchQuery):
            raise CQLEngineException("batch_obj must be a BatchQuery instance or None")
        if self._connection:
            raise CQLEngineException("Cannot specify the connection on model in batch mode.")
        self._batch = batch
        return self

    #: ``batch(queries)``: a query set or instance whose writes are added to this :class:`BatchQuery
    #: <cassandra.cqlengine.query.BatchQuery>`.
    batch = hybrid_classmethod(_class_batch, _inst_batch)

    @classmethod
    def _class_get_connection(cls) -> Any:
        return cls.__connection__

    def _inst_get_connection(self) -> Any:
        return self._connection or self.__connection__

    _get_connection = hybrid_classmethod(_class_get_connection, _inst_get_connection)


ADDED = {"acreate", "aget", "asave", "aupdate", "adelete"}  # columns of existing programs may have these names
RESERVED.update(name for name in dir(BaseModel) if name not in ADDED)


@public(HOME)
class Model(BaseModel, metaclass=ModelMetaClass):
    """A table as a class, and its rows as instances::

        class Product(Model):
            id = columns.UUID(primary_key=True, default=uuid4)
            name = columns.Text()

    The class attributes below set the options of the model. Derived models inherit them, except ``__abstract__``,
    ``__discriminator_value__`` and ``__default_ttl__``.
    """

    #: True if the model is only a base of other models: it has no table.
    __abstract__: ClassVar[bool] = True
    #: Name of the table; None to derive it from the name of the class.
    __table_name__: ClassVar[str | None] = None
    #: True if the table name is quoted; otherwise it is converted to lower case.
    __table_name_case_sensitive__: ClassVar[bool] = False
    #: Keyspace, if it is not the default one.
    __keyspace__: ClassVar[str | None] = None
    #: Name of the connection, if it is not the default one.
    __connection__: ClassVar[Any] = None
    #: Default time to live of the rows of the table, from ``__options__``.
    __default_ttl__: ClassVar[Any] = None
    #: For models that share a table: value of the discriminator column in the rows of this model.
    __discriminator_value__: ClassVar[Any] = None
    #: Options of the table, set by ``sync_table``.
    __options__: ClassVar[dict[str, Any] | None] = None
    #: True if requests by text are routed to the replicas of their rows; prepared requests always are.
    __compute_routing_key__: ClassVar[bool] = True
