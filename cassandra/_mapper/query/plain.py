"""Fast path of simple writes: ``Model.create(id=1, name="x")``, ``instance.update(name="y")`` with values that are
bound unchanged.

The steps are precomputed once per model and set of names: the values are checked and bound, and the instance is built
from them after the write. If more is needed (a conversion, a null, an option, a method overridden by the program), the
result is None, and :class:`~.dml.DMLQuery` performs the write; both write the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from cassandra._core.models import (
    ColumnAccess,
    ExactKinds,
    Instance,
    RowInsert,
    RowUpdate,
    RowUpdates,
    Untouched,
    WorkedOut,
    set_row_updates,
)
from cassandra._mapper import defaults
from cassandra._mapper.clauses import WhereClause
from cassandra._mapper.columns.base import Column
from cassandra._mapper.errors import ValidationError
from cassandra._mapper.execution.requests import READY, is_outdated
from cassandra._mapper.instances import exact_kind, initial, is_left_out
from cassandra._mapper.operators import EqualsOperator
from cassandra._mapper.shapes import Shape, WrittenLater, shape_and_values
from cassandra._mapper.statements import InsertStatement, UpdateStatement
from cassandra._session.statements.statement import NOT_SET

from .dml import DMLQuery
from .loading import is_native, worked_out
from .points import creates_plainly
from .writes import Writer, assignments, writers_of

#: Methods of an instance on the way to the statement; the fast path requires that a program overrides none of them.
SEEN = (
    "asave",
    "aupdate",
    "save",
    "update",
    "validate",
    "_can_update",
    "_dml",
    "_dml_to_write",
    "_set_column_value",
    "_take",
    "_written",
)
USUAL = Untouched(DMLQuery, ("__init__", "save", "asave", "update", "aupdate", "saving", "updating", "_execute"))

#: Options of instances that can also be set on the class.
OPTIONS = {
    **dict.fromkeys(("_batch", "_conditional", "_connection", "_timestamp", "_ttl", "__consistency__")),
    **dict.fromkeys(("_if_exists", "_if_not_exists"), False),
    "_timeout": NOT_SET,
}


class PlainInsert(RowInsert):
    """Plan of an INSERT of a new row with values of some columns. Immutable."""

    def __init__(self, model: Any, names: tuple[str, ...], written: list[Writer], shape: Shape) -> None:
        places = {writer.name: place for place, writer in enumerate(written)}
        super().__init__(
            model,
            shape,
            defaults.DEFAULT_KEYSPACE,
            READY,
            USUAL,
            model._blueprint.layout,
            _exact(names, written),
            [
                (writer.name, place, writer.kind, initial(writer.column))
                for place, writer in enumerate(written)
                if writer.name not in names
            ],
            [
                partial(_takes, column, None)
                for name, column in model._columns.items()
                if name not in places and not exact_kind(column)
            ],
            [places.get(name) for name in model._columns],
        )
        self._columns = sum(writer.bit for writer in written)

    def statement(self, bound: list[Any]) -> WrittenLater:
        """Return the statement that writes the row, to be part of a batch."""
        return WrittenLater(self.shape, bound, lambda: self._written_as(bound))

    def _written_as(self, bound: list[Any]) -> InsertStatement:
        values = assignments(self.model, self._columns, bound)
        return InsertStatement(self.model.column_family_name(), assignments=values)

    def _is_done_anew(self, error: Exception, future: Any) -> bool:
        return was_refused(error, future)


class PlainUpdate(RowUpdate):
    """Plan of an UPDATE of some non-key columns of a row. Immutable."""

    def __init__(
        self, model: Any, names: tuple[str, ...], keys: list[Writer], written: list[Writer], shape: Shape
    ) -> None:
        columns = tuple(model._columns)
        place_of = columns.index
        super().__init__(
            model,
            shape,
            defaults.DEFAULT_KEYSPACE,
            READY,
            USUAL,
            model._blueprint.layout,
            columns,
            [(_writer(written, name).kind, _place(written, name), place_of(name)) for name in names],
            [(writer.kind, place_of(writer.name)) for writer in keys],
            # an update also checks the values of the other columns
            [
                (exact_kind(column), place_of(name), partial(_stays, column))
                for name, column in model._columns.items()
                if name not in names
            ],
        )

    def _is_done_anew(self, error: Exception, future: Any) -> bool:
        return was_refused(error, future)


def was_refused(error: Exception, future: Any) -> bool:
    """True if the request was not executed because its table was recreated with other types: then it is repeated."""
    return is_outdated(error, [future.prepared_statement])


def join(batch: Any, insert: PlainInsert, given: dict[str, Any], made: dict[str, Any]) -> Any:
    """Add the INSERT of a row to *batch* and return the instance; nothing is sent before the batch is executed. None if
    the fast path does not cover the write."""
    bound = insert.bound(given, made)
    if bound is None:
        return None
    batch._join(insert.statement(bound), insert.model.__connection__)
    instance = insert.written(bound)
    instance._batch = batch  # its next writes are part of the batch, too
    return instance


def _as_defined(model: Any, name: str) -> Any:
    """Return the attribute *name* of the class or of its first base that has it, without calling descriptors."""
    return next((vars(base)[name] for base in model.__mro__ if name in vars(base)), None)


def _is_plain(model: Any) -> bool:
    """True if the model does not override how instances are written, and has no columns that need more than binding."""
    return (
        not model.__abstract__
        and not model._is_polymorphic
        and not model._has_counter
        and not model._blueprint.changeable
        and model.__dmlquery__ is DMLQuery
        and model.__setattr__ is Instance.__setattr__
        and all(getattr(model, option) is unset for option, unset in OPTIONS.items())
        and all(isinstance(_as_defined(model, name), ColumnAccess) for name in model._columns)
        and creates_plainly(model)
        and is_native(model)
        and all(is_left_out(getattr(model, name)) for name in SEEN)
    )


def _insert(model: Any, names: tuple[str, ...]) -> PlainInsert | None:
    if not _is_plain(model):
        return None
    writers = writers_of(model)
    written = [writer for writer in writers if writer.name in names or writer.column.has_default]
    if not {*names} <= model._columns.keys() or not all(map(_is_taken_as_it_is, written)):
        return None
    left = [writer for writer in writers if writer not in written]
    if any(writer.is_key or writer.column.required for writer in left):
        return None
    if any(type(writer.column)._val_is_null is not Column._val_is_null for writer in left):
        return None
    values = assignments(model, sum(writer.bit for writer in written), [None] * len(written))
    shape = _shape(InsertStatement(model.column_family_name(), assignments=values), len(written))
    return None if shape is None else PlainInsert(model, names, written, shape)


def _update(model: Any, names: tuple[str, ...]) -> PlainUpdate | None:
    if not names or not _is_plain(model):
        return None
    writers = writers_of(model)
    written = [writer for writer in writers if writer.name in names]
    if len(written) != len(names) or not all(map(_is_taken_as_it_is, written)):
        return None
    if any(writer.is_key or not writer.whole for writer in written):
        return None
    partition_only = all(writer.static for writer in written)
    columns = model._partition_keys if partition_only else model._primary_keys
    keys = [_writer(writers, name) for name in columns]
    values = assignments(model, sum(writer.bit for writer in written), [None] * len(written))
    statement = UpdateStatement(model.column_family_name(), assignments=values)
    for column in columns.values():
        statement._add_where_clause(WhereClause(column.db_field_name, EqualsOperator(), 0))
    shape = _shape(statement, len(written) + len(keys))
    return None if shape is None else PlainUpdate(model, names, keys, written, shape)


def _exact(names: tuple[str, ...], written: list[Writer]) -> ExactKinds:
    """Return the kinds of values by these names, each bound at the position of its column."""
    kinds = [_writer(written, name).kind for name in names]
    return ExactKinds(kinds, [_place(written, name) for name in names], len(written))


def _stays(column: Column[Any], value: Any) -> bool:
    """True if a row may keep this value in *column* while other columns are written."""
    return not (value is None and column.has_default) and _takes(column, value)


def _takes(column: Column[Any], value: Any) -> bool:
    try:
        column.validate(value)
    except ValidationError:
        return False
    return True


def _is_taken_as_it_is(writer: Writer) -> bool:
    """True if values of one class are neither converted nor rejected."""
    return writer.kind is not None and writer.kind is exact_kind(writer.column)


def _place(written: list[Writer], name: str) -> int:
    return next(place for place, writer in enumerate(written) if writer.name == name)


def _writer(writers: Iterable[Writer], name: str) -> Writer:
    return next(writer for writer in writers if writer.name == name)


def _shape(statement: Any, count: int) -> Shape | None:
    """Return the shape of a statement with *count* values, in their order; None if it has others."""
    shape, _ = shape_and_values(statement)
    return shape if shape.keys == tuple([str(number) for number in range(count)]) else None


#: Plans of inserts by model and names of columns; None if the fast path does not cover the write.
INSERTS = worked_out(WorkedOut, "plain insert", _insert)
#: Plans of updates by model and names of columns; None if the fast path does not cover the write.
UPDATES = worked_out(RowUpdates, "plain update", _update)
set_row_updates(UPDATES)
