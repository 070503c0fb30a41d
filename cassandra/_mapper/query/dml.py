"""DMLQuery: statements that write an instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cassandra._base.objects import public
from cassandra._core.models import Instance
from cassandra._mapper import defaults
from cassandra._mapper.clauses import MapDeleteClause
from cassandra._mapper.columns.containers import Map
from cassandra._mapper.columns.counter import Counter
from cassandra._mapper.errors import CQLEngineException
from cassandra._mapper.execution.requests import Request
from cassandra._mapper.execution.steps import arun, run
from cassandra._mapper.instances import is_changed, is_deleted, is_loaded, previous
from cassandra._mapper.operators import EqualsOperator
from cassandra._mapper.statements import DeleteStatement, UpdateStatement
from cassandra._session.statements.statement import NOT_SET

from .batch import BatchQuery
from .writes import assignments, insert, later, writers_of

#: True for a column whose value is written to another row or partition than before.
Moved = Callable[[Any], bool]


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
        self.model = model
        self.instance = instance
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
        await arun(self.saving())

    def update(self) -> None:
        """Write only the changes."""
        run(self.updating())

    async def aupdate(self) -> None:
        await arun(self.updating())

    def delete(self) -> None:
        """Delete the row."""
        run(self.deleting())

    async def adelete(self) -> None:
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

    def _moved(self, instance: Instance) -> Moved | None:
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
        instance = self._of_instance()
        if self.instance._can_update():
            yield from self._updating(instance, None)
            return
        moved = self._moved(instance)
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
        instance = self._of_instance()
        yield from self._updating(instance, None if self.instance._can_update() else self._moved(instance))

    def _updating(self, instance: Instance, moved: Moved | None) -> Any:
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
        for name, column in self._maybe_changed(instance, moved):
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

    def _add_change(self, statement: UpdateStatement, name: str, column: Any, moved: Moved | None) -> bool:
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

        key = ("update", columns, partition_only, self._if_exists, defaults.DEFAULT_KEYSPACE)
        return later(self, key, write, [*bound, *[column.to_database(value) for column, value in known]])

    def _maybe_changed(self, instance: Instance, moved: Moved | None) -> list[tuple[str, Any]]:
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

    def _deleting_nulls(self, conditions: Any, moved: Moved | None = None, partition_only: bool = False) -> Any:
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
