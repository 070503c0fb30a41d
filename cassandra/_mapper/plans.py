"""Plans of models: how each model is read and written, with texts that are composed once.

A :class:`Plan` belongs to a model. The native engine takes from it how the values of each column are checked, compared
and bound, and what the model overrides; the plan composes the statements of which the engine has the parts. A
:class:`PointRead` reads by one value for each of its columns (``Model.get(id=1)``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from cassandra._base.errors import DriverException
from cassandra._core.models import (
    OVERRIDES,
    VERBS,
    Change,
    ColumnAccess,
    ColumnPlan,
    Instance,
    InstanceLayout,
    ModelPlan,
    PreparedWrites,
    RowRead,
    UnmodifiedMethods,
    Write,
)
from cassandra._session.statements.statement import NOT_SET
from cassandra._wire.rows import tuple_factory

from . import connections
from .clauses import AssignmentClause, BaseQueryFunction, EqualsOperator, MapDeleteClause, WhereClause
from .columns import Column, Counter
from .conditions import TOKEN
from .containers import BaseCollectionColumn, Map
from .execution import READY, DeferredStatement, Request, is_outdated, shape_and_values
from .instances import (
    count_of,
    exact_kind,
    initial,
    is_container,
    model_method,
    nothing,
    query_set_method,
    reading,
    stored_kind,
)
from .query_base import NEW
from .reading import layout_of
from .statements import (
    BaseCQLStatement,
    CounterUpdateClause,
    DeleteStatement,
    InsertStatement,
    UpdateStatement,
    microseconds,
    update_clause,
)
from .writing import DMLQuery

#: Maximum number of layouts of partly loaded instances per model.
LAYOUTS_KEPT = 128

#: Methods through which writes go that programs see.
UNMODIFIED = UnmodifiedMethods(DMLQuery, [name for name, value in vars(DMLQuery).items() if callable(value)])

#: Options of instances that can also be set on the class.
OPTIONS = {
    **dict.fromkeys(("_batch", "_conditional", "_connection", "_timestamp", "_ttl", "__consistency__")),
    **dict.fromkeys(("_if_exists", "_if_not_exists"), False),
    "_timeout": NOT_SET,
}
NO_OPTIONS: dict[str, Any] = {}


# ---- columns


def column_plan(number: int, column: Column[Any]) -> ColumnPlan:
    is_counter = isinstance(column, Counter)
    is_null = type(column)._val_is_null
    kind, checked, make = stored_kind(column), exact_kind(column), initial(column)
    plain = is_null is Column._val_is_null and not column.changes_in_place
    is_empty_at_first = kind is not None and kind.item is not None and column.default in (None, kind.cls)
    change = _change_of_counter if is_counter else None if update_clause(column) is None else _change_of_container
    return ColumnPlan(
        column,
        number,
        kind,
        checked,
        checked or (column.unconverted("to_database") if plain else None),
        count_of if is_counter else None if type(column).to_python is Column.to_python else column.to_python,
        is_counter or is_container(column),
        None if make is nothing else kind.cls if is_empty_at_first and kind is not None else make,
        change,
        {Column._val_is_null: False, BaseCollectionColumn._val_is_null: True}.get(is_null),
        is_counter,
        isinstance(column, Map) and not column.frozen,
    )


def _change_of_container(column: Any, value: Any, before: Any) -> Change | None:
    kind: Any = update_clause(column)
    clause = kind(column.db_field_name, column.to_database(value), None, column.to_database(before))
    parts = clause._parts
    if not parts:
        return None
    return Change(clause, tuple([text for text, _ in parts]), [value for _, values in parts for value in values])


def _change_of_counter(column: Any, value: Any, before: Any) -> Change:
    clause = CounterUpdateClause(column.db_field_name, column.to_database(value), column.to_database(before))
    difference = clause.value - clause.previous
    return Change(clause, "-" if difference < 0 else "+", [abs(difference)])


def copying(column: Column[Any]) -> Callable[[Any], Any]:
    """Return the function that copies a value that can be changed in place."""
    kind = stored_kind(column)
    return deepcopy if kind is None or kind.item is None else kind


# ---- models


class Plan(ModelPlan):
    """How one model is read and written."""

    def __init__(self, model: Any) -> None:
        columns: Mapping[str, Column[Any]] = getattr(model, "_columns", {})
        self._of_model = dict(columns)
        self._readers = {column.db_field_name: (name, reading(column)) for name, column in columns.items()}
        self._layouts: dict[tuple[str, ...], InstanceLayout] = {}
        plans = [column_plan(number, column) for number, column in enumerate(columns.values())]
        layout, settings = self._written_layout(tuple(columns)), vars(connections)
        methods, new = model_method.names, frozenset(NEW)
        super().__init__(model, plans, layout, settings, READY, UNMODIFIED, methods, OPTIONS, new, DeferredStatement)

    # ---- layouts

    def _written_layout(self, names: tuple[str, ...]) -> InstanceLayout:
        columns = [self._of_model[name] for name in names]
        copies = [copying(column) if column.changes_in_place else None for column in columns]
        return InstanceLayout(names, copies, self._of_model)

    def _layout_without(self, unknown: set[str]) -> InstanceLayout:
        names = tuple([name for name in self._of_model if name not in unknown])
        found = self._layouts.get(names)
        if found is None:
            if len(self._layouts) >= LAYOUTS_KEPT:
                self._layouts.clear()
            found = self._layouts[names] = self._written_layout(names)
        return found

    def layout_of(self, db_names: tuple[str, ...], shared: tuple[str, ...] = ()) -> InstanceLayout:
        """Return the layout of rows with the columns *db_names*. The values of the columns *shared* are the same for
        all rows, are already converted, and replace the values in a row. Columns that are not in the model are not
        read."""
        names: list[str] = []
        converters: list[Callable[[Any], Any] | None] = []
        for db_name in db_names:
            name, convert = self._readers.get(db_name, (db_name, None))
            if db_name not in self._readers or name in names or name in shared:
                name = f"{db_name} {len(names)}"
            names.append(name)
            converters.append(convert)
        of_shared = [self._of_model[name] for name in shared]
        copies = [copying(column) if column.changes_in_place else None for column in of_shared]
        return InstanceLayout((*names, *shared), (*converters, *copies), self._of_model)

    # ---- what the model overrides

    def _describe(self) -> tuple[int, bool, Any, Any, Any]:
        model = self.model
        steps = model_method.overridden(model)
        if any("__new__" in vars(kind) for kind in model.__mro__ if kind not in (Instance, object)):
            steps.add("load")
        if (
            model.__abstract__
            or model._is_polymorphic
            or model.__dmlquery__ is not DMLQuery
            or model.__setattr__ is not Instance.__setattr__
            or any(getattr(model, option) is not unset for option, unset in OPTIONS.items())
        ):
            steps.add("write")
        if not all(isinstance(_class_attribute(model, name), ColumnAccess) for name in self._of_model):
            steps.add("columns")
        if model.save is not Instance.save:
            steps.add("save")
        of_query_set = query_set_method.overridden(model.__queryset__)
        if model.__abstract__ or "create" in of_query_set:
            steps.add("create")
        if model.__abstract__ or model._is_polymorphic or "read" in of_query_set:
            steps.add("read")
        keys = model._primary_keys, model._partition_keys, model._clustering_keys
        return sum(OVERRIDES[step] for step in steps), bool(model._has_counter), *keys

    # ---- reads

    def _read_of(self, names: tuple[str, ...]) -> PointRead | None:
        columns, model = self._of_model, self.model
        if not names or any(name not in columns or name == TOKEN for name in names):
            return None
        if self.overrides() & (OVERRIDES["read"] | OVERRIDES["load"]):
            return None
        queryset = model.objects
        limit = queryset._limit
        for name in names:
            queryset._defer_fields.add(columns[name].db_field_name)
            queryset._where.append(WhereClause(columns[name].db_field_name, EqualsOperator(), 0))
        shape, _ = shape_and_values(queryset._select_query())
        if shape.keys != (*(str(number) for number in range(len(names))), "limit"):
            return None
        return PointRead(self, names, shape, limit)

    # ---- writes

    def _statement(self, write: Write) -> BaseCQLStatement:
        table, options = self.model.column_family_name(), write.options or NO_OPTIONS
        ttl, timestamp = options.get("_ttl"), options.get("_timestamp")
        if_exists = options.get("_if_exists", False)
        written = list(zip(write.columns, write.parts, strict=True))
        if write.verb == VERBS["INSERT"]:
            return InsertStatement(
                table,
                assignments=[_assignment(column, part) for column, part in written],
                ttl=ttl,
                timestamp=timestamp,
                if_not_exists=options.get("_if_not_exists", False),
            )
        statement: UpdateStatement | DeleteStatement
        if write.verb == VERBS["UPDATE"]:
            statement = UpdateStatement(
                table, ttl=ttl, timestamp=timestamp, conditionals=write.conditions, if_exists=if_exists
            )
            for column, part in written:
                statement._add_assignment_clause(_assignment(column, part))
        else:
            statement = DeleteStatement(table, timestamp=timestamp, conditionals=write.conditions, if_exists=if_exists)
            for column, part in written:
                statement.add_field(part.clause or column.column.db_field_name)
        for column, value in zip(write.keys, write.key_values, strict=True):
            stored = column.in_text(value)
            statement._add_where_clause(WhereClause(column.column.db_field_name, EqualsOperator(), stored))
        return statement

    def _shape_and_values(self, statement: Any) -> Any:
        return shape_and_values(statement)

    def _microseconds(self, timestamp: Any) -> int:
        return microseconds(timestamp)

    def _removed_keys(self, column: Any, value: Any, before: Any) -> Change | None:
        clause = MapDeleteClause(column.db_field_name, value, before)
        removed = clause._removals
        return Change(clause, len(removed), removed) if removed else None

    def _must_be_repeated(self, error: Exception, future: Any) -> bool:
        return is_outdated(error, [future.prepared_statement])

    def _execute(self, write: Write, prepared: PreparedWrites) -> None:
        self.request(write, prepared).execute()

    def request(self, write: Write, prepared: PreparedWrites) -> Request:
        """Return the request of a statement that cannot be sent as it is."""
        options = prepared.options or NO_OPTIONS
        conditional = any(options.get(name) for name in ("_if_not_exists", "_if_exists", "_conditional"))
        consistency, timeout = options.get("__consistency__"), options.get("_timeout", NOT_SET)
        statement = DeferredStatement(write)
        return Request(self.model, statement, consistency, timeout, prepared.connection, conditional=conditional)


def _assignment(column: ColumnPlan, part: Any) -> AssignmentClause:
    if type(part) is Change:
        return part.clause  # type: ignore[no-any-return]
    return AssignmentClause(column.column.db_field_name, column.in_text(part))


def _class_attribute(model: Any, name: str) -> Any:
    """Return the attribute *name* of the class or of its first base that has it, without calling descriptors."""
    return next((vars(base)[name] for base in model.__mro__ if name in vars(base)), None)


# ---- point reads


class PointRead(RowRead):
    """Plan of reading the row with some values. Immutable, except the layout of its rows, which the first row sets."""

    def __init__(self, plan: Plan, names: tuple[str, ...], shape: Any, limit: int) -> None:
        columns = [plan.model._columns[name] for name in names]
        self._limit = limit
        self._stored: list[tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = [
            (_unchanged_class(column), column.to_database, column.to_python) for column in columns
        ]
        super().__init__(plan, names, shape, [kind for kind, _, _ in self._stored], limit, tuple_factory)

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
        return layout_of(self.plan.model, names, self.names)

    def _several(self, instances: list[Any], known: tuple[Any, ...]) -> Any:
        return self.plan.model.objects.filter(**dict(zip(self.names, known, strict=True)))._only_one(instances)

    def _must_be_repeated(self, error: Exception, future: Any) -> bool:
        return type(error) is DriverException  # its table was recreated; the statement is prepared again


def _unchanged_class(column: Any) -> Any:
    """Return the class of values that are stored and read unchanged."""
    stored, read = column.unconverted("to_database"), column.unconverted("to_python")
    return stored if stored is read and not column.changes_in_place else None
