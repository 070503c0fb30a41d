"""Names inside the object mapper that programs written for another object mapper use (L6).

They are aliases in ``cassandra.cqlengine``, see ``_base/aliases.py``; models and query sets do not use them.

* ``instance._values`` is a live view: its *value managers* read and write the instance itself, and a value manager that
  a program assigns sets the value of the instance.
* Clauses of ``cassandra.cqlengine.statements`` show their internal results.
* Packages with an awaitable object mapper (aiocqlengine) execute the statement of a query set themselves and assign its
  rows, which are dictionaries, to the query set for iteration.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

from cassandra._mapper.columns import BaseValueManager
from cassandra._mapper.conditions import name_and_operator
from cassandra._mapper.execution import run
from cassandra._mapper.instances import remember
from cassandra._mapper.model import table_of
from cassandra._mapper.named import NamedTable
from cassandra._mapper.statements import ADD, ASSIGN, PREPEND, PUT, REMOVE

# ---- instances and tables


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
            remember(instance, name, manager.previous_value)

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
        return self.instance._plan.previous(self.instance, self._name)

    @previous_value.setter
    def previous_value(self, value: Any) -> None:
        remember(self.instance, self._name, value)

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


# ---- clauses of statements


def _part(text: str) -> Any:
    """Return a property for the value of the part of a clause with this text; None if there is none."""

    def find(clause: Any) -> Any:
        return next((values[0] for found, values in clause._parts if found is text), None)

    return property(find)


class ContainerUpdateClause:
    def _analyze(self: Any) -> None:
        self._parts  # noqa: B018

    @property
    def _analyzed(self) -> bool:
        return "_parts" in self.__dict__

    _assignments = _part(ASSIGN)


class SetUpdateClause:
    @property
    def _assignments(self: Any) -> Any:
        return None if self.value is None else next((v[0] for text, v in self._parts if text is ASSIGN), None)

    _additions = _part(ADD)
    _removals = _part(REMOVE)


class ListUpdateClause:
    _append = _part(ADD)
    _prepend = _part(PREPEND)


class MapUpdateClause:
    @property
    def _updates(self: Any) -> list[Any] | None:
        return [values[0] for text, values in self._parts if text is PUT] or ([] if self.is_assignment else None)

    _removals = _part(REMOVE)


class MapDeleteClause:
    def _analyze(self) -> None:
        """Do nothing: there is nothing to precompute."""

    _analyzed = True


# ---- query sets and writes


class _SinglePage:
    """Pages of rows that were read elsewhere: one page with all rows."""

    has_more = True
    passed = 0

    def __init__(self, rows: Iterator[Mapping[str, Any]]) -> None:
        self.rows = rows
        self._read: list[Mapping[str, Any]] | None = None

    def next(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        if self._read is None:
            self._read = list(self.rows)
        names = tuple(self._read[0]) if self._read else ()
        return names, [tuple(row.values()) for row in self._read]

    async def anext(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        return self.next()

    def taken(self, passed: int) -> None:
        self._read = []
        self.passed = passed
        self.has_more = False


class _ResultGenerator:
    def __get__(self, queryset: Any, owner: Any = None) -> Any:
        if queryset is None:
            return self
        return getattr(queryset._pages, "rows", None)

    def __set__(self, queryset: Any, rows: Iterator[Mapping[str, Any]]) -> None:
        queryset._pages = _SinglePage(rows)


class AbstractQuerySet:
    """Aliases of ``cassandra.cqlengine.query.AbstractQuerySet``."""

    _result_generator = _ResultGenerator()
    #: True if all rows have to be read at once.
    _materialize_results = False

    def _get_result_constructor(self) -> Any:
        """Return the constructor of results. The driver does not call it, as it makes the results of a page at once."""
        return dict

    def _maybe_inject_deferred(self, constructor: Any) -> Any:
        return constructor

    def _parse_filter_arg(self, arg: str) -> tuple[str, str | None]:
        """Split ``name__operator`` into the column and the operator, None if there is none."""
        return name_and_operator(arg)


class DMLQuery:
    """Aliases of ``cassandra.cqlengine.query.DMLQuery``."""

    def _delete_null_columns(self: Any, conditionals: Any = None) -> None:
        """Delete values that were set to null."""
        run(self._deleting_nulls(conditionals))
