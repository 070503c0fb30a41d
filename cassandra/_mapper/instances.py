"""State of an instance in terms of columns: which values are stored as they are, and how the others are made.

The native base class stores a row and the values that replace parts of it (``_core/models_parts/instances.pxi``).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from cassandra._core.models import Kind

from . import columns, containers
from .columns import Column, Counter

F = TypeVar("F", bound=Callable[..., Any])


class BuiltIn:
    """Methods whose effects are built into the engine, by the steps that they are parts of. The engine calls them only
    for classes that override one of a step."""

    def __init__(self) -> None:
        self._steps: dict[str, tuple[str, ...]] = {}
        self._functions: set[Any] = set()

    def __call__(self, *steps: str) -> Callable[[F], F]:
        """Return a decorator of a method that is a part of these steps."""

        def mark(function: F) -> F:
            self._functions.add(function)
            self._steps[function.__name__] = steps
            return function

        return mark

    @property
    def names(self) -> frozenset[str]:
        """Names of all methods."""
        return frozenset(self._steps)

    def overridden(self, kind: Any) -> set[str]:
        """Return the steps of which a class overrides methods."""
        return {
            step
            for name, steps in self._steps.items()
            if getattr(found := getattr(kind, name, None), "__func__", found) not in self._functions
            for step in steps
        }


#: Of models. Steps: ``load`` creates an instance, ``write`` writes one.
model_method = BuiltIn()
#: Of query sets. Steps: ``read`` reads one row, ``select`` composes the statement, ``create`` creates an instance.
query_set_method = BuiltIn()


def exact_kind(column: Column[Any]) -> type | None:
    """Return the class of values that the column stores unchanged: none of its methods would change one. None if there
    is no such class."""
    kind = type(column)
    if kind is columns.Text:
        plain = column.min_length is None and column.max_length is None  # type: ignore[attr-defined]
        return str if plain else None
    if kind is columns.DateTime:
        return None if columns.DateTime.truncate_microseconds else datetime
    return EXACT.get(kind)


EXACT: dict[Any, type] = {
    columns.BigInt: int,
    columns.Boolean: bool,
    columns.Double: float,
    columns.Float: float,
    columns.Integer: int,
    columns.SmallInt: int,
    columns.TimeUUID: UUID,
    columns.TinyInt: int,
    columns.UUID: UUID,
    columns.VarInt: int,
}


def stored_kind(column: Column[Any]) -> Kind | None:
    """Return the kind of values that are stored as they are: of one class, or containers of elements of one class. None
    if there is none."""
    container = CONTAINERS.get(type(column))
    if container is None:
        kind = exact_kind(column)
        return None if kind is None else Kind(kind)
    kinds = [exact_kind(part) for part in column.sub_types]
    return None if None in kinds else Kind(container, *kinds)


CONTAINERS: dict[Any, type] = {containers.List: list, containers.Map: dict, containers.Set: set}


def copying(column: Column[Any]) -> Callable[[Any], Any]:
    """Return the function that copies a value that can be changed in place."""
    kind = stored_kind(column)
    return deepcopy if kind is None or kind.item is None else kind


def nothing() -> None:
    return None


def zero() -> int:
    return 0


def count_of(value: int | None) -> int:
    return value or 0


def reading(column: Column[Any]) -> Callable[[Any], Any] | None:
    """Return the function that converts a decoded value to the value that is read; None if both are the same. Values
    that can be changed in place are copied, so that the reader owns them."""
    if isinstance(column, Counter):
        return count_of
    to_python = column.to_python
    if column.changes_in_place:
        kind = stored_kind(column)
        if kind is not None and kind.item is not None:
            return kind
        if is_container(column) and not any(part.changes_in_place for part in column.sub_types):
            return to_python  # it creates a new container
        return lambda value: deepcopy(to_python(value))
    if type(column).to_python is Column.to_python or column.unconverted("to_python") is not None:
        return None
    return lambda value: None if value is None else to_python(value)


def initial(column: Column[Any]) -> Callable[[], Any]:
    """Return the function that creates the value of a column that was neither given nor loaded."""
    if isinstance(column, Counter) and not column.has_default:
        return zero
    contained = is_container(column)
    if not column.has_default and not contained:
        return nothing

    def make() -> Any:
        value = column.get_default() if column.has_default else None
        return column.to_python(value) if value is not None or contained else None

    return make


def is_container(column: Column[Any]) -> bool:
    """True if the column has an empty value when nothing is stored."""
    return column.changes_in_place and column._val_is_null([])


def forget(instance: Any) -> None:
    """Make the instance a new one with the same values: its row was deleted."""
    columns = instance._columns
    values = {name: getattr(instance, name) for name in columns}
    given = {
        name for name, value in values.items() if columns[name].has_default or not columns[name]._val_is_null(value)
    }
    instance._begin(values, given)  # all are written, and no defaults replace nulls
    instance._is_persisted = False


def remember(instance: Any, name: str, value: Any) -> None:
    """Set the previous value of the column."""
    columns, previous = instance._columns, instance._plan.previous
    row = [value if each == name else previous(instance, each) for each in columns]
    now = {each: getattr(instance, each) for each in columns}
    instance._keep(instance._plan.layout, tuple(row), now, instance._given)
