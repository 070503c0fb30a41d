"""INSERT and UPDATE of values that are stored as a whole, with precomputed text.

Model, columns and options determine the text; it is cached with the model until an attribute of the model is set. The
statement itself is built only if it is needed: as text, or in a batch that is sent by text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cassandra._mapper import defaults
from cassandra._mapper.clauses import AssignmentClause
from cassandra._mapper.columns.base import Column
from cassandra._mapper.columns.counter import Counter
from cassandra._mapper.instances import exact_kind
from cassandra._mapper.shapes import Shape, WrittenLater, shape_and_values
from cassandra._mapper.statements import InsertStatement, microseconds, update_clause

from .loading import keep


class Writer:
    """Encoding of the values of a column: *kind* is the class of values that are stored unchanged."""

    __slots__ = ("bit", "column", "is_key", "kind", "name", "static", "whole")

    def __init__(self, number: int, name: str, column: Column[Any]) -> None:
        self.bit = 1 << number
        self.name = name
        self.column = column
        plain = type(column)._val_is_null is Column._val_is_null and not column.changes_in_place
        #: The class of values that are bound unchanged.
        self.kind = exact_kind(column) or (column.unconverted("to_database") if plain else None)
        self.static = column.static or column.partition_key
        self.is_key = column.primary_key
        #: True if an UPDATE replaces the value, independent of the previous one.
        self.whole = not isinstance(column, Counter) and update_clause(column) is None

    def bound(self, value: Any) -> Any:
        return value if type(value) is self.kind else self.column.to_database(value)


def writers_of(model: Any) -> tuple[Writer, ...]:
    found: tuple[Writer, ...] | None = model._shapes.get("writers")
    if found is None:
        columns = enumerate(model._columns.items())
        found = model._shapes["writers"] = tuple([Writer(number, *item) for number, item in columns])
    return found


def insert(dml: Any, columns: int, bound: list[Any]) -> Any:
    """Return the statement that inserts values of these *columns*, a sum of the bits of their writers."""
    ttl, timestamp, if_not_exists = dml._ttl, dml._timestamp, dml._if_not_exists
    model = dml.model

    def write() -> InsertStatement:
        return InsertStatement(
            model.column_family_name(),
            assignments=assignments(model, columns, bound),
            ttl=ttl,
            timestamp=timestamp,
            if_not_exists=if_not_exists,
        )

    return later(dml, ("insert", columns, if_not_exists, defaults.DEFAULT_KEYSPACE), write, bound)


def assignments(model: Any, columns: int, bound: Iterable[Any]) -> list[AssignmentClause]:
    """Return assignments of the bound values, as they are written in a text."""
    writers = [writer for writer in writers_of(model) if writer.bit & columns]
    return [
        AssignmentClause(
            writer.column.db_field_name, writer.column.to_database(value) if type(value) is writer.kind else value
        )
        for writer, value in zip(writers, bound, strict=False)
    ]


def later(dml: Any, key: tuple[Any, ...], write: Callable[[], Any], bound: list[Any]) -> Any:
    """Return the statement built by *write*, deferred; its placeholders take the *bound* values in their order."""
    ttl, timestamp, shapes = dml._ttl, dml._timestamp, dml.model._shapes
    if not ttl and not timestamp:
        shape: Shape | None = shapes.get(key)
        return WrittenLater(_added(dml.model, key, write) if shape is None else shape, bound, write)
    if ttl and type(ttl) is not int:
        return write()
    key = (*key, bool(ttl), bool(timestamp))
    shape = shapes.get(key) or _added(dml.model, key, write)
    context = {str(number): value for number, value in enumerate(bound)}
    context["ttl"] = ttl
    if timestamp:
        context["timestamp"] = microseconds(timestamp)
    return WrittenLater(shape, [context[name] for name in shape.keys], write)


def _added(model: Any, key: tuple[Any, ...], write: Callable[[], Any]) -> Shape:
    shape: Shape = keep(model, key, shape_and_values(write())[0])
    return shape
