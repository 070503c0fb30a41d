"""Reads and writes of a model with precomputed text: point reads (``Model.get(id=1)``), INSERT and UPDATE.

A plan belongs to a model and the names of some columns; it is cached with the model until an attribute of the model is
set. A :class:`PointRead` reads by one value for each of its columns.

The text of a write is determined by model, columns and options, for values that are stored as a whole. The statement
itself is built only if it is needed: as text, or in a batch that is sent by text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cassandra._base.errors import DriverException
from cassandra._core.models import ExactKinds, InstanceLayout, RowRead, RowReads
from cassandra._wire.rows import tuple_factory

from . import connections
from .clauses import AssignmentClause, BaseQueryFunction, EqualsOperator, QueryValue, WhereClause
from .columns import Column, Counter
from .conditions import TOKEN
from .execution import READY, DeferredStatement, Shape, shape_and_values
from .instances import exact_kind, is_left_out, stored_kind
from .reading import NONE, cached_by_names, is_native, keep, layout_of
from .statements import InsertStatement, microseconds, update_clause

#: Methods of a query set on the way to its only row.
SEEN = (
    "__init__",
    "filter",
    "get",
    "_execute_query",
    "_fill_result_cache_to_idx",
    "_made_of",
    "_only_one",
    "_select_fields",
    "_select_query",
    "_validate_select_where",
)

#: Number of attributes of a new query set: the model, and the containers of conditions and options.
FRESH = 7


# ---- point reads


class PointRead(RowRead):
    """Plan of reading the row with some values. Immutable, except the layout of its rows, which the first row sets."""

    def __init__(self, model: Any, names: tuple[str, ...], shape: Shape, limit: int) -> None:
        columns = [model._columns[name] for name in names]
        self._limit = limit
        self._stored: list[tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = [
            (_unchanged_class(column), column.to_database, column.to_python) for column in columns
        ]
        exact = ExactKinds([kind for kind, _, _ in self._stored], range(len(names)), len(names))
        super().__init__(model, shape, connections.DEFAULT_KEYSPACE, READY, names, exact, limit, tuple_factory)

    def _converted(self, given: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """Return the values to bind, and the values as they are read; None if one is null or a function."""
        values, known = [], []
        for value, (kind, to_database, to_python) in zip(given.values(), self._stored, strict=True):
            if type(value) is kind:
                values.append(value)
                known.append(value)
            elif value is None or isinstance(value, BaseQueryFunction):
                return None
            else:
                values.append(to_database(value))
                known.append(to_python(value))
        return (*values, self._limit), tuple(known)

    def _layout_of(self, names: tuple[str, ...]) -> InstanceLayout:
        return layout_of(self.model, names, self.names)

    def _several(self, instances: list[Any], known: tuple[Any, ...]) -> Any:
        return self.model.objects.filter(**dict(zip(self.names, known, strict=True)))._only_one(instances)

    def _must_be_repeated(self, error: Exception, future: Any) -> bool:
        return type(error) is DriverException  # its table was recreated; the statement is prepared again


async def read_async(point: PointRead, given: dict[str, Any]) -> Any:
    """As ``READS.read``, without blocking the running loop."""
    sent = point.send(given)
    if sent is None:
        return None
    try:
        result = await sent[0]
    except DriverException as error:
        if not point._must_be_repeated(error, sent[0]):
            raise
        return None
    return point.only_one(result, sent[1])


def _unchanged_class(column: Any) -> Any:
    """Return the class of values that are stored and read unchanged."""
    stored, read = column.unconverted("to_database"), column.unconverted("to_python")
    return stored if stored is read and not column.changes_in_place else None


def _compile(model: Any, names: tuple[str, ...]) -> PointRead | None:
    columns = model._columns
    if not names or any(name not in columns or name == TOKEN for name in names) or model._is_polymorphic:
        return None
    if model.__abstract__ or not is_native(model) or not is_simple(model.__queryset__, SEEN):
        return None
    queryset = model.objects
    limit = queryset._limit
    for name in names:
        column = columns[name]
        queryset._defer_fields.add(column.db_field_name)
    statement = _statement(queryset, [columns[name] for name in names])
    shape, _ = shape_and_values(statement)
    if shape.keys != (*(str(number) for number in range(len(names))), "limit"):
        return None
    return PointRead(model, names, shape, limit)


#: Point reads by model and names of columns with one value each; None if the fast path does not cover the read.
READS = cached_by_names(RowReads, "point", _compile)


def _statement(queryset: Any, columns: list[Any]) -> Any:
    queryset._where = [WhereClause(column.db_field_name, EqualsOperator(), 0) for column in columns]
    return queryset._select_query()


# ---- unmodified models and query sets, and their selections


def is_simple(kind: Any, methods: tuple[str, ...]) -> bool:
    """True if a class of query sets overrides none of these methods."""
    return all(is_left_out(getattr(kind, name)) for name in methods)


def creates_plainly(model: Any) -> bool:
    """True if the model does not override how query sets create a new instance."""
    found = model._shapes.get("creates plainly")
    if found is None:
        found = not model.__abstract__ and is_simple(model.__queryset__, ("__init__", "batch", "create", "_new"))
        model._shapes["creates plainly"] = found
    return bool(found)


def is_fresh(queryset: Any) -> bool:
    """True if only the model of a query set is set yet, and its class does not override reading."""
    attributes = queryset.__dict__
    return (
        len(attributes) == FRESH
        and not (queryset._where or queryset._only_fields or queryset._defer_fields)
        and type(queryset) is queryset.model.__queryset__
    )


def is_of_batch(queryset: Any) -> bool:
    """True if the only option of a query set that affects new rows is its batch."""
    attributes = queryset.__dict__
    return (
        len(attributes) == FRESH + 1
        and attributes.get("_batch") is not None
        and type(queryset) is queryset.model.__queryset__
    )


def selection_of(queryset: Any) -> tuple[Shape, list[Any]] | None:
    """Return the shape of the SELECT of a query set and the values to bind, without building its statement; None if it
    has other conditions than those with one value each."""
    model = queryset.model
    where = queryset._where
    if any(isinstance(clause.value, QueryValue) for clause in where):
        return None
    key = (
        type(queryset),
        tuple([(clause.field, type(clause.operator)) for clause in where]),
        tuple(queryset._only_fields),
        frozenset(queryset._defer_fields),
        tuple(queryset._order),
        tuple(queryset._distinct_fields or ()),
        queryset._allow_filtering,
        bool(queryset._limit),
        connections.DEFAULT_KEYSPACE,
    )
    shape = model._shapes.get(key)
    if shape is None:
        shape = keep(model, key, _selection(queryset) or NONE)
    if shape is NONE:
        return None
    values = [clause.value for clause in where]
    if queryset._limit:
        values.append(queryset._limit)
    return shape, values


def _selection(queryset: Any) -> Shape | None:
    kind = type(queryset)
    if not is_simple(kind, ("_select_query", "_select_fields", "_validate_select_where")):
        return None
    shape, _ = shape_and_values(queryset._select_query())
    expected = tuple([str(number) for number in range(len(queryset._where))])
    return shape if shape.keys == (*expected, *(("limit",) if queryset._limit else ())) else None


# ---- inserts and updates


class Writer:
    """Encoding of the values of a column: *kind* is the class of values that are stored unchanged, *stored* their kind,
    also of containers."""

    __slots__ = ("bit", "column", "is_key", "kind", "name", "static", "stored", "whole")

    def __init__(self, number: int, name: str, column: Column[Any]) -> None:
        self.bit = 1 << number
        self.name = name
        self.column = column
        plain = type(column)._val_is_null is Column._val_is_null and not column.changes_in_place
        #: The class of values that are bound unchanged.
        self.kind = exact_kind(column) or (column.unconverted("to_database") if plain else None)
        self.stored = stored_kind(column)
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

    return later(dml, ("insert", columns, if_not_exists, connections.DEFAULT_KEYSPACE), write, bound)


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
        return DeferredStatement(_add_shape(dml.model, key, write) if shape is None else shape, bound, write)
    if ttl and type(ttl) is not int:
        return write()
    key = (*key, bool(ttl), bool(timestamp))
    shape = shapes.get(key) or _add_shape(dml.model, key, write)
    context = {str(number): value for number, value in enumerate(bound)}
    context["ttl"] = ttl
    if timestamp:
        context["timestamp"] = microseconds(timestamp)
    return DeferredStatement(shape, [context[name] for name in shape.keys], write)


def _add_shape(model: Any, key: tuple[Any, ...], write: Callable[[], Any]) -> Shape:
    shape: Shape = keep(model, key, shape_and_values(write())[0])
    return shape
