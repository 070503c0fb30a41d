"""INSERT and UPDATE of values that are stored as a whole, where the text was worked out before.

Which text that is the model, the columns and the options decide; it is kept with the model until something is set on
that. A statement is written only for who looks at it: as text, or in a batch that goes by its text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cassandra._mapper import defaults
from cassandra._mapper.clauses import AssignmentClause
from cassandra._mapper.columns.base import Column
from cassandra._mapper.columns.counter import Counter
from cassandra._mapper.instances import exact_kind
from cassandra._mapper.shapes import Shape, WrittenLater, shape_and_values
from cassandra._mapper.statements import InsertStatement, microseconds, update_clause

KEPT = 256


class Writer:
    """How the values of a column are written: *kind* is the class of those that are stored as they are."""

    __slots__ = ("column", "is_key", "kind", "name", "static", "whole")

    def __init__(self, name: str, column: Column[Any]) -> None:
        self.name = name
        self.column = column
        plain = type(column)._val_is_null is Column._val_is_null and not column.changes_in_place
        #: The class of values that are bound as they are.
        self.kind = exact_kind(column) or (column.unconverted("to_database") if plain else None)
        self.static = column.static or column.partition_key
        self.is_key = column.primary_key
        #: Whether an UPDATE replaces the value, whatever it was.
        self.whole = not isinstance(column, Counter) and update_clause(column) is None

    def bound(self, value: Any) -> Any:
        return value if type(value) is self.kind else self.column.to_database(value)


def writers_of(model: Any) -> tuple[Writer, ...]:
    found: tuple[Writer, ...] | None = model._shapes.get("writers")
    if found is None:
        found = model._shapes["writers"] = tuple(Writer(name, column) for name, column in model._columns.items())
    return found


def insert(dml: Any, writers: Sequence[Writer], values: list[Any], bound: list[Any]) -> Any:
    """The statement that inserts these values of these columns; *bound* is what is bound."""
    model = dml.model

    def write() -> InsertStatement:
        clauses = assignments(writers, values)
        return InsertStatement(
            model.column_family_name(),
            assignments=clauses,
            ttl=dml._ttl,
            timestamp=dml._timestamp,
            if_not_exists=dml._if_not_exists,
        )

    names = tuple([writer.name for writer in writers])
    return later(dml, ("insert", names, dml._if_not_exists), write, bound)


def assignments(writers: Sequence[Writer], values: list[Any]) -> list[AssignmentClause]:
    return [
        AssignmentClause(writer.column.db_field_name, writer.column.to_database(value))
        for writer, value in zip(writers, values, strict=True)
    ]


def later(dml: Any, key: tuple[Any, ...], write: Callable[[], Any], values: list[Any]) -> Any:
    """The statement that *write* writes, whose placeholders stand for *values*, in the order of their numbers."""
    ttl, timestamp, shapes = dml._ttl, dml._timestamp, dml.model._shapes
    if ttl and type(ttl) is not int:
        return write()
    key = (*key, bool(ttl), bool(timestamp), defaults.DEFAULT_KEYSPACE)
    shape: Shape | None = shapes.get(key)
    if shape is None:
        if len(shapes) > KEPT:
            shapes.clear()
        shape = shapes[key] = shape_and_values(write())[0]
    if not ttl and not timestamp:
        return WrittenLater(shape, values, write)
    context = {str(number): value for number, value in enumerate(values)}
    context["ttl"] = ttl
    if timestamp:
        context["timestamp"] = microseconds(timestamp)
    return WrittenLater(shape, [context[name] for name in shape.keys], write)
