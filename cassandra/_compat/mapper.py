"""Value managers of an instance, for programs written for another object mapper (L6).

``instance._values`` is a live view: its *value managers* read and write the instance itself, and a value manager that a
program assigns sets the value of the instance. It is an alias in ``cassandra.cqlengine.models``; models do not use it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

from cassandra._mapper.columns import BaseValueManager
from cassandra._mapper.instances import previous, remember
from cassandra._mapper.model import table_of
from cassandra._mapper.named import NamedTable


class Values(MutableMapping[str, Any]):
    """Value managers of one instance, by column name."""

    def __init__(self, instance: Any) -> None:
        self._instance = instance

    def __getitem__(self, name: str) -> Any:
        column = self._instance._columns[name]
        return _live(column.value_manager)(self._instance, name, column)

    def __setitem__(self, name: str, manager: Any) -> None:
        instance = self._instance
        instance._touched[name] = manager.value
        (instance._given.add if manager.explicit else instance._given.discard)(name)
        if manager.previous_value is not None:
            remember(instance, instance._blueprint, name, manager.previous_value)

    def __delitem__(self, name: str) -> None:
        if name not in self._instance._columns:
            raise KeyError(name)
        self._instance._touched[name] = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._instance._columns)

    def __len__(self) -> int:
        return len(self._instance._columns)

    def __repr__(self) -> str:
        return f"<values of {self._instance!r}>"


class _Live:
    """A value manager whose state is that of an instance."""

    def __init__(self, instance: Any, name: str, column: Any) -> None:
        self.instance = instance
        self.column = column
        self._name = name

    @property
    def value(self) -> Any:
        return getattr(self.instance, self._name)

    @value.setter
    def value(self, value: Any) -> None:
        self.instance._touched[self._name] = value

    @property
    def previous_value(self) -> Any:
        return previous(self.instance, self._name, self.column)

    @previous_value.setter
    def previous_value(self, value: Any) -> None:
        remember(self.instance, self.instance._blueprint, self._name, value)

    @property
    def explicit(self) -> bool:
        return self._name in self.instance._given

    @explicit.setter
    def explicit(self, explicit: bool) -> None:
        (self.instance._given.add if explicit else self.instance._given.discard)(self._name)


@functools.cache
def _live(kind: type[BaseValueManager]) -> Any:
    """Return a subclass of *kind* whose state is that of an instance."""
    return type(kind.__name__, (_Live, kind), {"__module__": kind.__module__})


class _ValuesOf:
    """The attribute ``_values``: a mapping that is assigned to it replaces the values of the instance."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else Values(instance)

    def __set__(self, instance: Any, managers: Mapping[str, Any]) -> None:
        instance._begin({}, set())
        Values(instance).update(managers)


class _TableName:
    def __get__(self, instance: Any, owner: Any) -> str:
        return table_of(owner)


class BaseModel:
    """Aliases of ``cassandra.cqlengine.models.BaseModel``."""

    _values = _ValuesOf()
    _table_name = _TableName()


class Field(NamedTuple):
    """A column of a table, in the form of the old schema tables."""

    name: str
    type: str


Field.__module__ = "cassandra.cqlengine.management"

#: The schema table of servers before 3.0.
schema_columnfamilies = NamedTable("system", "schema_columnfamilies")
