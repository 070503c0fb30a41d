"""Writes of instances, each alone (:class:`DMLQuery`) or many together (:class:`BatchQuery`).

Simple writes have a fast path: ``Model.create(id=1, name="x")``, ``one.update(name="y")``, ``one.save()``, with values
that are bound unchanged: of the class that the column stores, or lists, sets and maps of such values. Its steps are
precomputed once per model and set of names: the values are checked and bound, and the instance has them after the
write. If more is needed (a conversion, a null, an option, a container that was changed, a method overridden by the
program), the result is None, and :class:`DMLQuery` performs the write; both write the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from cassandra._base.names import integer_literal
from cassandra._base.objects import public
from cassandra._core.models import (
    ColumnAccess,
    ExactKinds,
    Instance,
    Kind,
    Precomputed,
    RowInsert,
    RowSave,
    RowSaves,
    RowUpdate,
    RowUpdates,
    UnmodifiedMethods,
    set_row_saves,
    set_row_updates,
)
from cassandra._session.statements.statement import NOT_SET
from cassandra._session.statements.statement import BatchType as DriversBatchType

from . import connections
from .clauses import EqualsOperator, MapDeleteClause, WhereClause
from .columns import Column, Counter
from .connections import known_connection
from .containers import Map
from .errors import CQLEngineException, ValidationError
from .execution import READY, BatchRequest, DeferredStatement, Request, Shape, arun, is_outdated, run, shape_and_values
from .instances import (
    copying,
    exact_kind,
    initial,
    is_changed,
    is_deleted,
    is_left_out,
    is_loaded,
    previous,
    stored_kind,
)
from .plans import Writer, assignments, creates_plainly, insert, later, writers_of
from .reading import NAMES_KEPT, cached_by_names, is_native
from .statements import (
    BaseCQLStatement,
    DeleteStatement,
    InsertStatement,
    UpdateStatement,
    microseconds,
)

#: True for a column whose value is written to another row or partition than before.
MovedPredicate = Callable[[Any], bool]

#: Types of batches of the driver, by their names in CQL.
KINDS = {
    "": DriversBatchType.LOGGED,
    "LOGGED": DriversBatchType.LOGGED,
    "UNLOGGED": DriversBatchType.UNLOGGED,
    "COUNTER": DriversBatchType.COUNTER,
}


# ---- writes that are executed together


@public("cassandra.cqlengine.query")
class BatchType:
    """Types of batches; the default is a logged batch."""

    Unlogged = "UNLOGGED"  #: A batch that may be executed in part.
    Counter = "COUNTER"  #: A batch of changes of counters.


@public("cassandra.cqlengine.query")
class BatchQuery:
    """Writes that are collected, and executed together at the end of a ``with`` or ``async with`` block.

    Example::

        with BatchQuery() as batch:
            Product.batch(batch).create(id=1)
            Product.objects(id=2).batch(batch).delete()
    """

    #: True if executing a batch twice warns.
    warn_multiple_exec = True

    _consistency: int | None = None
    _connection: Any = None
    _connection_explicit = False
    _joined = False  # True if statements of models are part of it

    def __init__(
        self,
        batch_type: str | None = None,
        timestamp: datetime | timedelta | None = None,
        consistency: int | None = None,
        execute_on_exception: bool = False,
        timeout: Any = NOT_SET,
        connection: Any = None,
    ) -> None:
        """*execute_on_exception*: execute the collected statements also if the block is left by an exception."""
        if timestamp is not None and not isinstance(timestamp, (datetime, timedelta)):
            raise CQLEngineException("timestamp object must be an instance of datetime")
        self.queries: list[Any] = []  #: Statements of the batch so far.
        self.batch_type = batch_type  #: Kind of the batch, a :class:`BatchType`; None for a logged one.
        self.timestamp: datetime | timedelta | None = timestamp  #: Write time of its statements.
        self._consistency = consistency
        self._execute_on_exception = execute_on_exception
        self._timeout = timeout
        self._callbacks: list[tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]]] = []
        self._executed = False
        self._context_entered = False
        self._connection = connection
        self._connection_explicit = connection is not None

    def add_query(self, query: Any) -> None:
        """Add a statement of ``cassandra.cqlengine.statements``."""
        if not isinstance(query, BaseCQLStatement):
            raise CQLEngineException("only BaseCQLStatements can be added to a batch query")
        self.queries.append(query)

    def _join(self, statement: Any, connection: Any) -> None:
        """Add a statement of a model that uses this connection."""
        if not self._joined or connection != self._connection:
            self._choose(connection)
        self.add_query(statement)

    def _choose(self, connection: Any) -> None:
        """Set the connection of the batch. A statement for one connection must not go to another one because it is in a
        batch. A model without a connection uses the default one, if there is one."""
        if not self._connection_explicit and self._joined and (connection or self._connection):
            found, chosen = known_connection(connection), known_connection(self._connection)
            both = connection and self._connection
            if both or (found is not None and chosen is not None and found is not chosen):
                raise CQLEngineException("BatchQuery queries must be executed on the same connection")
        self._connection = self._connection or connection
        self._joined = True

    def consistency(self, consistency: int | None) -> None:
        """Set the consistency level of the batch, and return it."""
        self._consistency = consistency

    def add_callback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call ``fn(*args, **kwargs)`` after the batch was executed."""
        if not callable(fn):
            raise ValueError(f"Value for argument 'fn' is {type(fn)} and is not a callable object.")
        self._callbacks.append((fn, args, kwargs))

    def _execute_callbacks(self) -> None:
        for fn, args, kwargs in self._callbacks:
            fn(*args, **kwargs)

    def execute(self) -> None:
        """Execute the collected statements, and then the callbacks."""
        run(self._executing())

    async def aexecute(self) -> None:
        """As :meth:`execute`, without blocking the running loop."""
        await arun(self._executing())

    def _executing(self) -> Any:
        if self._executed and self.warn_multiple_exec:
            hint = " If using the context manager, it is not necessary to call ``execute()`` directly."
            warnings.warn(f"Batch executed multiple times.{hint if self._context_entered else ''}", stacklevel=4)
        self._executed = True
        if self.queries:
            kind = None if self.timestamp else KINDS.get(str(self.batch_type or "").upper())
            yield BatchRequest(self.queries, kind, self._text, self._consistency, self._timeout, self._connection)
            self.queries = []
        self._execute_callbacks()

    def _text(self) -> tuple[str, dict[str, Any]]:
        """Return all statements as one text, and the values of the placeholders."""
        kind = f"{self.batch_type} " if str(self.batch_type or "LOGGED") != "LOGGED" else ""
        if kind.strip().upper() not in KINDS:
            raise CQLEngineException(f"invalid batch type: {self.batch_type!r}")
        using = ""
        if self.timestamp:
            using = f" USING TIMESTAMP {integer_literal(microseconds(self.timestamp), 'timestamp')}"
        lines = [f"BEGIN {kind} BATCH{using}"]
        context: dict[str, Any] = {}
        for query in self.queries:
            query.update_context_id(len(context))
            context.update(query.get_context())
            lines.append(f"  {query}")
        lines.append("APPLY BATCH;")
        return "\n".join(lines), context

    def __enter__(self) -> BatchQuery:
        self._context_entered = True
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        if exc_type is None or self._execute_on_exception:
            self.execute()

    async def __aenter__(self) -> BatchQuery:
        return self.__enter__()

    async def __aexit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        if exc_type is None or self._execute_on_exception:
            await self.aexecute()


# ---- writes of one instance


@public("cassandra.cqlengine.query")
class DMLQuery:
    """Writes one instance: its changes, and its nulls."""

    _ttl: int | None = None
    _consistency: int | None = None
    _timestamp: Any = None
    _if_not_exists = False
    _if_exists = False

    def __init__(
        self,
        model: Any,
        instance: Any = None,
        batch: BatchQuery | None = None,
        ttl: int | None = None,
        consistency: int | None = None,
        timestamp: Any = None,
        if_not_exists: bool = False,
        conditional: Any = None,
        timeout: Any = NOT_SET,
        if_exists: bool = False,
    ) -> None:
        self.model = model  #: The model.
        self.instance = instance  #: The instance.
        self._batch = batch
        self._ttl = ttl
        self._consistency = consistency
        self._timestamp = timestamp
        self._if_not_exists = if_not_exists
        self._if_exists = if_exists
        self._conditional = conditional
        self._timeout = timeout

    @property
    def column_family_name(self) -> str:
        """Name of the table in CQL."""
        return str(self.model.column_family_name())

    def batch(self, batch_obj: BatchQuery | None) -> DMLQuery:
        """Make writes part of this batch."""
        if batch_obj is not None and not isinstance(batch_obj, BatchQuery):
            raise CQLEngineException("batch_obj must be a BatchQuery instance or None")
        self._batch = batch_obj
        return self

    def save(self) -> None:
        """Insert the row, or update it if it exists already."""
        run(self.saving())

    async def asave(self) -> None:
        """Do as :meth:`save`, without blocking the running loop."""
        await arun(self.saving())

    def update(self) -> None:
        """Write only the changes."""
        run(self.updating())

    async def aupdate(self) -> None:
        """Do as :meth:`update`, without blocking the running loop."""
        await arun(self.updating())

    def delete(self) -> None:
        """Delete the row."""
        run(self.deleting())

    async def adelete(self) -> None:
        """Do as :meth:`delete`, without blocking the running loop."""
        await arun(self.deleting())

    # ---- steps

    def _execute(self, statement: Any) -> Request | None:
        """Return the request of a write; None if it is part of a batch."""
        connection = self.instance._get_connection() if self.instance is not None else self.model._get_connection()
        if self._batch is not None:
            self._batch._join(statement, connection)
            return None
        conditional = bool(self._if_not_exists or self._if_exists or self._conditional)
        return Request(self.model, statement, self._consistency, self._timeout, connection, conditional=conditional)

    def _of_instance(self) -> Instance:
        if self.instance is None:
            raise CQLEngineException("DML Query instance attribute is None")
        assert type(self.instance) is self.model, f"{self.instance!r} is not an instance of {self.model.__name__}"
        return self.instance  # type: ignore[no-any-return]

    def _has_no_clustering_key(self) -> bool:
        """True if the model has clustering keys and none has a value: the instance is a partition, not a row."""
        keys = self.model._clustering_keys
        return bool(keys) and all(
            column._val_is_null(getattr(self.instance, name, None)) for name, column in keys.items()
        )

    def _moved_columns(self, instance: Instance) -> MovedPredicate | None:
        """Return the predicate of columns that belong to another row (static ones: to another partition) than the one
        that the instance was loaded from or written to. Their stored value there is unknown, so the whole value is
        written, or a null. Call it only if the key may have changed; None if the instance is new."""
        if not instance._is_persisted:
            return None
        partition = self.model._partition_keys.items()
        if any(is_changed(instance, name, column) for name, column in partition):
            return lambda column: True
        return lambda column: not column.static

    def saving(self) -> Any:
        """Yield the steps of :meth:`save`."""
        instance = self._of_instance()
        if self.instance._can_update():
            yield from self._updating(instance, None)
            return
        moved = self._moved_columns(instance)
        if self.model._has_counter:
            yield from self._updating(instance, moved)
            return
        static_only = self._has_no_clustering_key()
        columns, bound, nulls = 0, [], moved is not None
        touched = instance._touched
        for writer in writers_of(self.model):
            name = writer.name
            value = touched[name] if name in touched else getattr(instance, name, None)
            if type(value) is not writer.kind:
                if writer.column._val_is_null(value):
                    nulls = nulls or name in instance._given
                    continue
                value = writer.column.to_database(value)
            if not static_only or writer.static:
                columns |= writer.bit
                bound.append(value)
        # an INSERT of a partition key alone is not valid
        only_nulls = static_only and nulls and len(bound) == len(self.model._partition_keys)
        if not only_nulls and bound and (request := self._execute(insert(self, columns, bound))) is not None:
            yield request
        if nulls:
            yield from self._deleting_nulls(None, moved, static_only)

    def updating(self) -> Any:
        """Yield the steps of :meth:`update`."""
        instance = self._of_instance()
        yield from self._updating(instance, None if self.instance._can_update() else self._moved_columns(instance))

    def _updating(self, instance: Instance, moved: MovedPredicate | None) -> Any:
        partition_only = self._has_no_clustering_key()
        changed = self._changed_values(instance) if moved is None else None
        if changed is not None:
            columns, bound, static = changed
            update = self._update_of(columns, bound, static or partition_only) if bound else None
            if update is not None and (request := self._execute(update)) is not None:
                yield request
            return
        statement = UpdateStatement(
            self.column_family_name,
            ttl=self._ttl,
            timestamp=self._timestamp,
            conditionals=self._conditional,
            if_exists=self._if_exists,
        )
        static_only, updated = True, set()
        for name, column in self._columns_to_check(instance, moved):
            if (partition_only and not column.static) or not self._add_change(statement, name, column, moved):
                continue
            static_only = static_only and column.static
            updated.add(column.db_field_name)
        if statement.assignments:
            self._add_keys(statement, static_only or partition_only)
            if (request := self._execute(statement)) is not None:
                yield request
        conditions = [one for one in self._conditional or () if one.field not in updated]
        yield from self._deleting_nulls(conditions, moved, partition_only)

    def _add_change(self, statement: UpdateStatement, name: str, column: Any, moved: MovedPredicate | None) -> bool:
        """Add the change of a column, or its whole value if the stored one is unknown. Return False if there is nothing
        to add."""
        instance = self._of_instance()
        value = getattr(instance, name, None)
        counter = isinstance(column, Counter)
        if value is None or (not counter and column._val_is_null(value)):
            return False  # a null is deleted
        if moved is not None and moved(column):
            unknown, before = True, None
        elif not (counter or is_changed(instance, name, column)):
            return False
        else:
            unknown = not is_loaded(instance, name) and name in instance._given
            before = previous(instance, name, column)
        if unknown and not counter:
            statement.add_assignment(column, value)
        else:
            count = len(statement.assignments)
            statement.add_update(column, value, previous=before)
            return len(statement.assignments) > count  # a map that only lost keys has no assignments
        return True

    def _changed_values(self, instance: Instance) -> tuple[int, list[Any], bool] | None:
        """Return the changed columns, their values, and whether all are static; None if the fast path does not cover
        the write: conditions, nulls, counters, or containers that change in place."""
        if self._conditional or self.model._has_counter:
            return None
        touched = instance._touched
        columns, bound, static = 0, [], True
        for writer in writers_of(self.model):
            if writer.is_key or writer.name not in touched:
                continue
            value = touched[writer.name]
            if not writer.whole or writer.column._val_is_null(value):
                return None
            if not is_changed(instance, writer.name, writer.column):
                continue
            columns |= writer.bit
            bound.append(writer.bound(value))
            static = static and writer.static
        return columns, bound, static

    def _update_of(self, columns: int, bound: list[Any], partition_only: bool) -> Any:
        keys = self.model._partition_keys if partition_only else self.model._primary_keys
        known = [(column, getattr(self.instance, name)) for name, column in keys.items()]

        def write() -> UpdateStatement:
            statement = UpdateStatement(
                self.column_family_name,
                assignments=assignments(self.model, columns, bound),
                ttl=self._ttl,
                timestamp=self._timestamp,
                if_exists=self._if_exists,
            )
            for column, value in known:
                statement.add_where(column, EqualsOperator(), value)
            return statement

        key = ("update", columns, partition_only, self._if_exists, connections.DEFAULT_KEYSPACE)
        return later(self, key, write, [*bound, *[column.to_database(value) for column, value in known]])

    def _columns_to_check(self, instance: Instance, moved: MovedPredicate | None) -> list[tuple[str, Any]]:
        """Return the non-key columns that were touched or have moved; counters always."""
        touched = instance._touched
        return [
            (name, column)
            for name, column in self.model._columns.items()
            if not column.primary_key
            and (name in touched or isinstance(column, Counter) or (moved is not None and moved(column)))
        ]

    def _add_keys(self, statement: Any, partition_only: bool) -> None:
        keys: Mapping[str, Any] = self.model._partition_keys if partition_only else self.model._primary_keys
        for name, column in keys.items():
            statement.add_where(column, EqualsOperator(), getattr(self.instance, name))

    def _deleting_nulls(
        self, conditions: Any, moved: MovedPredicate | None = None, partition_only: bool = False
    ) -> Any:
        """Delete values that became null or have moved as nulls, and keys that were removed from maps."""
        instance = self._of_instance()
        statement = DeleteStatement(
            self.column_family_name,
            timestamp=self._timestamp,
            conditionals=conditions,
            if_exists=self._if_exists,
        )
        static_only = True
        for name, column in self.model._columns.items():
            if column.primary_key or isinstance(column, Counter) or (partition_only and not column.static):
                continue
            if moved is not None and moved(column):
                if not column._val_is_null(getattr(instance, name)):
                    continue
                statement.add_field(column.db_field_name)
            elif name not in instance._touched:
                continue
            elif is_deleted(instance, name, column):
                statement.add_field(column.db_field_name)
            elif isinstance(column, Map) and not column.frozen:  # single keys of a frozen map cannot be deleted
                before = previous(instance, name, column)
                clause = MapDeleteClause(column.db_field_name, getattr(instance, name), before)
                if not clause.get_context_size():
                    continue
                statement.add_field(clause)
            else:
                continue
            static_only = static_only and column.static
        if statement.fields:
            self._add_keys(statement, static_only)
            if (request := self._execute(statement)) is not None:
                yield request

    def deleting(self) -> Any:
        """Yield the steps of :meth:`delete`."""
        instance = self._of_instance()
        statement = DeleteStatement(
            self.column_family_name,
            timestamp=self._timestamp,
            conditionals=self._conditional,
            if_exists=self._if_exists,
        )
        for name, column in self.model._primary_keys.items():
            value = getattr(instance, name)
            if value is not None or column.partition_key:
                statement.add_where(column, EqualsOperator(), value)
        if (request := self._execute(statement)) is not None:
            yield request


# ---- fast path of simple writes

#: Methods of an instance on the way to the statement; the fast path requires that a program overrides none of them.
SEEN_BY_SAVE = (
    "validate",
    "_can_update",
    "_dml",
    "_dml_to_write",
    "_save_by_slow_path",
    "_set_column_value",
    "_set_persisted",
    "_take",
    "_written",
)
SEEN = ("asave", "aupdate", "save", "update", *SEEN_BY_SAVE)
UNMODIFIED = UnmodifiedMethods(
    DMLQuery, ("__init__", "save", "asave", "update", "aupdate", "saving", "updating", "_execute")
)

#: Options of instances that can also be set on the class.
OPTIONS = {
    **dict.fromkeys(("_batch", "_conditional", "_connection", "_timestamp", "_ttl", "__consistency__")),
    **dict.fromkeys(("_if_exists", "_if_not_exists"), False),
    "_timeout": NOT_SET,
}


class FastInsert(RowInsert):
    """Plan of an INSERT of a new row with values of some columns. Immutable."""

    def __init__(self, model: Any, names: tuple[str, ...], written: list[Writer], shape: Shape) -> None:
        places = {writer.name: place for place, writer in enumerate(written)}
        super().__init__(
            model,
            shape,
            connections.DEFAULT_KEYSPACE,
            READY,
            UNMODIFIED,
            model._blueprint.layout,
            _exact(names, written),
            [
                (writer.name, place, writer.stored, initial(writer.column))
                for place, writer in enumerate(written)
                if writer.name not in names
            ],
            [
                partial(_takes, column, None)
                for name, column in model._columns.items()
                if name not in places and not exact_kind(column) and not _is_empty_by_default(column)
            ],
            [places.get(name) for name in model._columns],
        )
        self._columns = sum(writer.bit for writer in written)

    def statement(self, bound: list[Any]) -> DeferredStatement:
        """Return the statement that writes the row, to be part of a batch."""
        return DeferredStatement(self.shape, bound, lambda: self._statement_for(bound))

    def _statement_for(self, bound: list[Any]) -> InsertStatement:
        values = assignments(self.model, self._columns, bound)
        return InsertStatement(self.model.column_family_name(), assignments=values)

    def _must_be_repeated(self, error: Exception, future: Any) -> bool:
        return was_refused(error, future)


class FastUpdate(RowUpdate):
    """Plan of an UPDATE of some non-key columns of a row. Immutable."""

    def __init__(
        self, model: Any, names: tuple[str, ...], keys: list[Writer], written: list[Writer], shape: Shape
    ) -> None:
        columns = tuple(model._columns)
        place_of = columns.index
        super().__init__(
            model,
            shape,
            connections.DEFAULT_KEYSPACE,
            READY,
            UNMODIFIED,
            model._blueprint.layout,
            [(_writer(written, name).kind, _position_of(written, name), place_of(name)) for name in names],
            [(writer.kind, place_of(writer.name)) for writer in keys],
            # an update also checks the values of the other columns
            [
                (exact_kind(column), place_of(name), partial(_is_unchanged, column))
                for name, column in model._columns.items()
                if name not in names and not (stored_kind(column) and column.changes_in_place and not column.required)
            ],
        )

    def _must_be_repeated(self, error: Exception, future: Any) -> bool:
        return was_refused(error, future)


class FastSave(RowSave):
    """Plans of saving instances of a model: its INSERTs and UPDATEs."""

    def __init__(self, model: Any) -> None:
        writers = writers_of(model)
        super().__init__(
            model,
            vars(connections),
            UNMODIFIED,
            model._blueprint.layout,
            [writer.stored for writer in writers],
            [writer.is_key for writer in writers],
            [writer.column.has_default and not _is_empty_by_default(writer.column) for writer in writers],
            NAMES_KEPT,
        )

    def _insert(self, names: tuple[str, ...]) -> FastInsert | None:
        return _insert_of(self.model, names)

    def _update(self, names: tuple[str, ...]) -> FastUpdate | None:
        return _update_of(self.model, names)


def was_refused(error: Exception, future: Any) -> bool:
    """True if the request was not executed because its table was recreated with other types: then it is repeated."""
    return is_outdated(error, [future.prepared_statement])


def join(batch: Any, insert: FastInsert, given: dict[str, Any], made: dict[str, Any]) -> Any:
    """Add the INSERT of a row to *batch* and return the instance; nothing is sent before the batch is executed. None if
    the fast path does not cover the write."""
    bound = insert.bound(given, made)
    if bound is None:
        return None
    batch._join(insert.statement(bound), insert.model.__connection__)
    instance = insert.written(bound)
    instance._batch = batch  # its next writes are part of the batch, too
    return instance


def _class_attribute(model: Any, name: str) -> Any:
    """Return the attribute *name* of the class or of its first base that has it, without calling descriptors."""
    return next((vars(base)[name] for base in model.__mro__ if name in vars(base)), None)


def _is_plain(model: Any) -> bool:
    """True if the model does not override how instances are created and written, and has no columns that need more than
    binding."""
    return (
        _is_saved_plainly(model)
        and creates_plainly(model)
        and is_native(model)
        and all(is_left_out(getattr(model, name)) for name in SEEN)
    )


def _is_saved_plainly(model: Any) -> bool:
    """True if the model does not override how :meth:`save` writes instances, and has no columns that need more than
    binding."""
    return (
        not model.__abstract__
        and not model._is_polymorphic
        and not model._has_counter
        and all(type(copying(model._columns[name])) is Kind for name in model._blueprint.changeable)
        and model.__dmlquery__ is DMLQuery
        and model.__setattr__ is Instance.__setattr__
        and all(getattr(model, option) is unset for option, unset in OPTIONS.items())
        and all(isinstance(_class_attribute(model, name), ColumnAccess) for name in model._columns)
        and all(is_left_out(getattr(model, name)) for name in SEEN_BY_SAVE)
    )


def _insert(model: Any, names: tuple[str, ...]) -> FastInsert | None:
    return _insert_of(model, names) if _is_plain(model) else None


def _insert_of(model: Any, names: tuple[str, ...]) -> FastInsert | None:
    writers = writers_of(model)
    written = [
        writer
        for writer in writers
        if writer.name in names or (writer.column.has_default and not _is_empty_by_default(writer.column))
    ]
    if not {*names} <= model._columns.keys() or not all(map(_is_taken_as_it_is, written)):
        return None
    left = [writer for writer in writers if writer not in written]
    if any(writer.is_key or writer.column.required for writer in left):
        return None
    others = [writer for writer in left if not _is_empty_by_default(writer.column)]
    if any(type(writer.column)._val_is_null is not Column._val_is_null for writer in others):
        return None
    values = assignments(model, sum(writer.bit for writer in written), [None] * len(written))
    shape = _shape(InsertStatement(model.column_family_name(), assignments=values), len(written))
    return None if shape is None else FastInsert(model, names, written, shape)


def _is_empty_by_default(column: Column[Any]) -> bool:
    """True for a container that has no value, and is read as an empty one, if none is given."""
    kind = stored_kind(column)
    return kind is not None and kind.item is not None and column.default is kind.cls


def _update(model: Any, names: tuple[str, ...]) -> FastUpdate | None:
    return _update_of(model, names) if names and _is_plain(model) else None


def _update_of(model: Any, names: tuple[str, ...]) -> FastUpdate | None:
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
    return None if shape is None else FastUpdate(model, names, keys, written, shape)


def _exact(names: tuple[str, ...], written: list[Writer]) -> ExactKinds:
    """Return the kinds of values by these names, each bound at the position of its column."""
    kinds = [_writer(written, name).stored for name in names]
    return ExactKinds(kinds, [_position_of(written, name) for name in names], len(written))


def _is_unchanged(column: Column[Any], value: Any) -> bool:
    """True if a row may keep this value in *column* while other columns are written."""
    return not (value is None and column.has_default) and _takes(column, value)


def _takes(column: Column[Any], value: Any) -> bool:
    try:
        column.validate(value)
    except ValidationError:
        return False
    return True


def _is_taken_as_it_is(writer: Writer) -> bool:
    """True if values of one kind are neither converted nor rejected."""
    stored = writer.stored
    return stored is not None and (stored.item is not None or writer.kind is stored.cls)


def _position_of(written: list[Writer], name: str) -> int:
    return next(place for place, writer in enumerate(written) if writer.name == name)


def _writer(writers: Iterable[Writer], name: str) -> Writer:
    return next(writer for writer in writers if writer.name == name)


def _shape(statement: Any, count: int) -> Shape | None:
    """Return the shape of a statement with *count* values, in their order; None if it has others."""
    shape, _ = shape_and_values(statement)
    return shape if shape.keys == tuple([str(number) for number in range(count)]) else None


#: Plans of inserts by model and names of columns; None if the fast path does not cover the write.
INSERTS = cached_by_names(Precomputed, "plain insert", _insert)
#: Plans of updates by model and names of columns; None if the fast path does not cover the write.
UPDATES = cached_by_names(RowUpdates, "plain update", _update)
set_row_updates(UPDATES)
#: Plans of saves by model; None if the fast path does not cover its instances.
SAVES = RowSaves("plain save", lambda model: FastSave(model) if _is_saved_plainly(model) else None)
set_row_saves(SAVES)
