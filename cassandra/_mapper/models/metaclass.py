"""Creation of model classes: columns are collected, checked, and replaced by descriptors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from cassandra._base.objects import public
from cassandra._mapper.columns.base import Column
from cassandra._mapper.columns.containers import BaseContainerColumn
from cassandra._mapper.columns.counter import Counter
from cassandra._mapper.errors import ModelDefinitionException, ModelException
from cassandra._mapper.instances import Blueprint

from .descriptors import ColumnDescriptor

HOME = "cassandra.cqlengine.models"

#: Attribute names of models that columns must not have.
RESERVED: set[str] = set()


@public(HOME)
class ModelMetaClass(type):
    """Metaclass that makes models of classes with columns."""

    #: Shapes of statements of the model, by the properties that determine their text. Setting any class attribute
    #: clears it, as the attribute may be one of these properties.
    _shapes: dict[Any, Any]

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
        type.__setattr__(cls, "_blueprint", Blueprint(getattr(cls, "_columns", {})))

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        for one in _with_subclasses(cls):
            one.__dict__.get("_shapes", {}).clear()


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

    return property(get, set_all)


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
