"""Plain writes: ``Model.create(id=1, name="x")``, ``instance.update(name="y")`` of values that are bound as they are.

What is to be done was worked out before, once per model and set of names: the values are looked at and bound, and the
instance is made of them when they are written. Where there is anything more to it (a conversion, a null, an option, a
method of the program's own) it is None, and :class:`~.dml.DMLQuery` does it; both write the same.
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
from cassandra._session.statements.sentinels import NOT_SET

from .dml import DMLQuery
from .loading import is_native, worked_out
from .points import creates_plainly
from .writes import Writer, assignments, writers_of

#: What an instance does on its way to the statement, and what a program may have put something else in the place of.
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

#: Options of instances that a class may have, too.
OPTIONS = {
    **dict.fromkeys(("_batch", "_conditional", "_connection", "_timestamp", "_ttl", "__consistency__")),
    **dict.fromkeys(("_if_exists", "_if_not_exists"), False),
    "_timeout": NOT_SET,
}


class PlainInsert(RowInsert):
    """How a new row with values of some columns is written. Immutable."""

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
        """What writes the row, as a part of something else."""
        return WrittenLater(self.shape, bound, lambda: self._written_as(bound))

    def _written_as(self, bound: list[Any]) -> InsertStatement:
        values = assignments(self.model, self._columns, bound)
        return InsertStatement(self.model.column_family_name(), assignments=values)

    def _is_done_anew(self, error: Exception, future: Any) -> bool:
        return was_refused(error, future)


class PlainUpdate(RowUpdate):
    """How values of some columns, which are no keys, take the place of others in a row. Immutable."""

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
            # other values are checked whenever one is written
            [
                (exact_kind(column), place_of(name), partial(_stays, column))
                for name, column in model._columns.items()
                if name not in names
            ],
        )

    def _is_done_anew(self, error: Exception, future: Any) -> bool:
        return was_refused(error, future)


def was_refused(error: Exception, future: Any) -> bool:
    """Whether what was sent was not executed, as its table was made again with other types: it is done anew then."""
    return is_outdated(error, [future.prepared_statement])


def join(batch: Any, insert: PlainInsert, given: dict[str, Any], made: dict[str, Any]) -> Any:
    """The instance of a row that is part of *batch* from now on: nothing is sent before that is executed. None, where
    there is more to it."""
    bound = insert.bound(given, made)
    if bound is None:
        return None
    batch._join(insert.statement(bound), insert.model.__connection__)
    instance = insert.written(bound)
    instance._batch = batch  # of which its next writes are part, too
    return instance


def _as_defined(model: Any, name: str) -> Any:
    """What the class, or the first of its bases that has it, holds under *name*: no descriptor is asked."""
    return next((vars(base)[name] for base in model.__mro__ if name in vars(base)), None)


def _is_plain(model: Any) -> bool:
    """Whether nobody sees how instances of *model* are written, and it has no columns of which more is to be known."""
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
    """Of values by these names, each of which is bound where its column is written."""
    kinds = [_writer(written, name).kind for name in names]
    return ExactKinds(kinds, [_place(written, name) for name in names], len(written))


def _stays(column: Column[Any], value: Any) -> bool:
    """Whether a row may have this value in *column* while others are written."""
    return not (value is None and column.has_default) and _takes(column, value)


def _takes(column: Column[Any], value: Any) -> bool:
    try:
        column.validate(value)
    except ValidationError:
        return False
    return True


def _is_taken_as_it_is(writer: Writer) -> bool:
    """Whether values of one class are neither converted nor refused."""
    return writer.kind is not None and writer.kind is exact_kind(writer.column)


def _place(written: list[Writer], name: str) -> int:
    return next(place for place, writer in enumerate(written) if writer.name == name)


def _writer(writers: Iterable[Writer], name: str) -> Writer:
    return next(writer for writer in writers if writer.name == name)


def _shape(statement: Any, count: int) -> Shape | None:
    """Of a statement with so many values, in their order."""
    shape, _ = shape_and_values(statement)
    return shape if shape.keys == tuple([str(number) for number in range(count)]) else None


#: How a new row with values of columns of these names is written; None if there is more to it.
INSERTS = worked_out(WorkedOut, "plain insert", _insert)
#: How values of columns of these names take the place of others; None if there is more to it.
UPDATES = worked_out(RowUpdates, "plain update", _update)
set_row_updates(UPDATES)
