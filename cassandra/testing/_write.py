"""INSERT, UPDATE, DELETE, their conditions, and BATCH.

Changes of stored rows are SET of an UPDATE, the values of an INSERT, and the columns of a DELETE.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cassandra.testing._ast import Assignment, Element, Field, Literal, Modification, Name, Relation, Using
from cassandra.testing._plan import (
    MAX_TTL,
    ColumnSpec,
    Env,
    Plan,
    Result,
    Route,
    Rows,
    RowView,
    Scope,
    Term,
    number,
    required,
)
from cassandra.testing._schema import (
    CLUSTERING,
    PARTITION,
    STATIC,
    Cell,
    Column,
    Complex,
    Key,
    Partition,
    Row,
    Slice,
    Table,
)
from cassandra.testing._select import columns_of, partition_markers
from cassandra.testing._terms import compile_term
from cassandra.testing._topology import token_of
from cassandra.testing._types import BIGINT, BOOLEAN, COUNTER, INT, Collection, CqlType, Udt, Value
from cassandra.testing._where import Check, Restriction, Where, compile_condition, compile_where
from cassandra.testing._wire import UNSET
from cassandra.testing.errors import InvalidRequest, NotSupported

# ---- changes of columns

MakeCell = Callable[[Any], Cell]
Resolve = Callable[[Row, Any, Env], Any]  # row, value, environment
Write = Callable[[Row, Any, MakeCell, int, Env], None]  # row, value, cells, floor, environment
_append = itertools.count(1)  # positions in lists; only their order matters


def _as_it_is(row: Row, value: Any, env: Env) -> Any:
    return value


@dataclass
class Assign:
    """A change of one column, in three steps: all values of a statement or batch, then their meaning for the current
    rows, then the writes. The first two may raise; nothing is changed before the third."""

    column: Column
    value: Term
    write: Write
    resolve: Resolve = _as_it_is

    @property
    def reads(self) -> bool:
        """True if it depends on stored data."""
        return self.resolve is not _as_it_is


def compile_assignment(given: Assignment, table: Table, scope: Scope) -> Assign:
    column = table.column(given.column)
    kind = column.type
    if kind is COUNTER:
        return _counter(given, column, scope)
    if given.operation == "set":
        return Assign(column, compile_term(given.value, kind, column.name, scope), _setter(column))
    if given.operation == "field":
        return _field(given, column, scope)
    if not isinstance(kind, Collection) or not kind.multicell:
        raise InvalidRequest(
            f"Invalid operation on {column.name}: {kind.cql} is not a collection that can be changed in part"
        )
    if given.operation == "element":
        return _element(given, column, kind, scope)
    return _collection(given, column, kind, scope)


def _counter(given: Assignment, column: Column, scope: Scope) -> Assign:
    if given.operation not in ("add", "subtract"):
        raise InvalidRequest(f"Cannot set the value of counter column {column.name} (counters can only be incremented/"
                             "decremented, not set)")  # fmt: skip
    sign = 1 if given.operation == "add" else -1

    def write(row: Row, value: Value, cell: MakeCell, floor: int, env: Env) -> None:
        old = row.cells.get(column.name)
        before = old.value if isinstance(old, Cell) and old.value is not None else 0
        total = before + sign * value
        row.cells[column.name] = cell((total + (1 << 63)) % (1 << 64) - (1 << 63))

    increment = compile_term(given.value, BIGINT, column.name, scope)

    def present(env: Env) -> Any:
        value = increment(env)
        return value if value is UNSET else number(value, "counter increment")

    return Assign(column, present, write)


def _setter(column: Column) -> Write:
    if not column.type.multicell:
        return lambda row, value, cell, floor, env: row.put(column.name, cell(value), floor, column.type)

    def write(row: Row, value: Value, cell: MakeCell, floor: int, env: Env) -> None:
        timestamp = cell(None).timestamp
        if timestamp <= floor:
            return
        row.complex(column.name).delete(timestamp - 1 if value is not None else timestamp)
        for key, item in _cells_of(column.type, value):
            row.put_element(column.name, key, cell(item), floor, _kind_of(column.type, key))

    return write


def _kind_of(kind: CqlType, key: Any) -> CqlType | None:
    """Return the type of the value at *key*; None for sets, whose values are all equal."""
    if isinstance(kind, Udt):
        return kind.definition.fields[key]
    assert isinstance(kind, Collection)
    return None if kind.name == "set" else kind.arguments[-1]


def _cells_of(kind: CqlType, value: Value) -> list[tuple[Any, Value]]:
    """Return the cells of a whole collection or user-defined type."""
    if value is None:
        return []
    if isinstance(kind, Udt):
        return list(zip(kind.definition.fields, value, strict=False))
    assert isinstance(kind, Collection)
    if kind.name == "map":
        return list(value)
    if kind.name == "set":
        return [(item, True) for item in value]
    return [(next(_append), item) for item in value]


def _field(given: Assignment, column: Column, scope: Scope) -> Assign:
    kind = column.type
    if not isinstance(kind, Udt) or not kind.multicell:
        raise InvalidRequest(
            f"Invalid operation ({column.name}.{given.key} = ...) for frozen or non-UDT column {column.name}"
        )
    part = kind.definition.fields.get(given.key)
    if part is None:
        raise InvalidRequest(f"UDT column {column.name} does not have a field named {given.key}")
    value = compile_term(given.value, part.frozen(), f"{column.name}.{given.key}", scope)

    def write(row: Row, item: Value, cell: MakeCell, floor: int, env: Env) -> None:
        row.put_element(column.name, given.key, cell(item), floor, part)

    return Assign(column, value, write)


def _element(given: Assignment, column: Column, kind: Collection, scope: Scope) -> Assign:
    if kind.name == "set":
        raise InvalidRequest(f"Invalid operation ({column.name}[...] = ...) for set column {column.name}")
    if kind.name == "map":
        key = compile_term(given.key, kind.arguments[0], f"key({column.name})", scope)
        value = compile_term(given.value, kind.arguments[1], f"value({column.name})", scope)

        def put(row: Row, pair: Value, cell: MakeCell, floor: int, env: Env) -> None:
            row.put_element(column.name, pair[0], cell(pair[1]), floor, kind.arguments[1])

        return Assign(column, _with_key(key, value, "map key"), put)
    index = compile_term(given.key, INT, f"idx({column.name})", scope)
    value = compile_term(given.value, kind.arguments[0], f"value({column.name})", scope)

    def resolve(row: Row, pair: Value, env: Env) -> Any:
        return _list_key(row, column, number(pair[0], "list index"), env), pair[1]

    def replace(row: Row, pair: Value, cell: MakeCell, floor: int, env: Env) -> None:
        row.put_element(column.name, pair[0], cell(pair[1]), floor, kind.arguments[0])

    return Assign(column, _with_key(index, value, "list index"), replace, resolve)


def _with_key(key: Term, value: Term, what: str) -> Term:
    def pair(env: Env) -> Any:
        item = value(env)
        return UNSET if item is UNSET else (required(key(env), what), item)

    return pair


def _list_key(row: Row, column: Column, index: int, env: Env) -> Any:
    stored = row.cells.get(column.name)
    keys = (
        sorted(key for key, cell in stored.cells.items() if cell.live(env.now)) if isinstance(stored, Complex) else []
    )
    if not keys:
        raise InvalidRequest("Attempted to set an element on a list which is null")
    if not 0 <= index < len(keys):
        raise InvalidRequest(f"List index {index} out of bound, list has size {len(keys)}")
    return keys[index]


def _collection(given: Assignment, column: Column, kind: Collection, scope: Scope) -> Assign:
    wanted: CqlType = kind
    if given.operation == "subtract" and kind.name == "map":
        wanted = Collection("set", (kind.arguments[0],), False)
    value = compile_term(given.value, wanted.frozen(), column.name, scope)
    if given.operation == "prepend" and kind.name != "list":
        raise InvalidRequest(
            f"Invalid operation ({column.name} = ... + {column.name}) for non list column {column.name}"
        )

    def add(row: Row, items: Value, cell: MakeCell, floor: int, env: Env) -> None:
        for key, item in _cells_of(kind, items):
            row.put_element(column.name, key, cell(item), floor, _kind_of(kind, key))

    def prepend(row: Row, items: Value, cell: MakeCell, floor: int, env: Env) -> None:
        for item in reversed(items or ()):
            row.put_element(column.name, -next(_append), cell(item), floor)

    def found(row: Row, items: Value, env: Env) -> Any:
        """Return the keys of the matching stored elements."""
        stored = row.cells.get(column.name)
        cells = stored.cells.items() if isinstance(stored, Complex) else ()
        return [key for key, cell in cells if cell.live(env.now) and cell.value in (items or ())]

    def subtract(row: Row, keys: Value, cell: MakeCell, floor: int, env: Env) -> None:
        for key in keys:
            row.put_element(column.name, key, cell(None), floor)

    if given.operation == "subtract" and kind.name == "list":
        return Assign(column, value, subtract, found)
    if given.operation == "subtract":
        return Assign(column, lambda env: () if (items := value(env)) is None else items, subtract)
    return Assign(column, value, {"add": add, "prepend": prepend}[given.operation])


def compile_deletion(target: Any, table: Table, scope: Scope) -> Assign:
    """Compile a column, field or element of a DELETE."""
    inner = target.of if isinstance(target, Element | Field) else target
    assert isinstance(inner, Name)
    column = table.column(inner.name)
    kind = column.type
    if isinstance(target, Name):
        return Assign(column, lambda env: None, _setter(column))
    if isinstance(target, Field):
        return compile_assignment(Assignment(column.name, "field", Literal("null"), target.name), table, scope)
    if isinstance(kind, Collection) and kind.multicell and kind.name == "set":
        key = compile_term(target.key, kind.arguments[0], f"value({column.name})", scope)

        def remove(row: Row, item: Value, cell: MakeCell, floor: int, env: Env) -> None:
            row.put_element(column.name, item, cell(None), floor)

        return Assign(column, lambda env: required(key(env), "set element"), remove)
    return compile_assignment(Assignment(column.name, "element", Literal("null"), target.key), table, scope)


# ---- plans of statements

Old = tuple[Partition, RowView | None]
Changes = dict[tuple[Key, Key | None], list[tuple[Assign, Any]]]  # by partition and row; None for the static row


@dataclass
class WritePlan(Plan):
    """An INSERT, UPDATE or DELETE ready to run."""

    kind: str = ""
    where: Where = field(default_factory=lambda: Where(Table("", "", {})))
    assigns: Sequence[Assign] = ()
    timestamp: Term | None = None
    ttl: Term | None = None
    checks: Sequence[Check] = ()
    if_exists: bool = False
    if_not_exists: bool = False
    static_only: bool = False  # no clustering key is given, and none is needed
    whole_rows: bool = False  # DELETE without columns

    @property
    def target(self) -> Table:
        assert self.table is not None
        return self.table

    @property
    def counter(self) -> bool:
        return self.target.is_counter

    def route(self, env: Env) -> Route | None:
        if not self.where.single_partition:
            return None
        return Route(self.target, token_of(self.target.partition_bytes(self.where.keys(env)[0])))

    def run(self, env: Env) -> Result:
        if self.conditional:
            return run_conditional([(self, env)], self.columns or ())
        self.apply(env)
        return Result()

    # -- conditions

    def old_row(self, env: Env) -> Old:
        """Return the row that conditions are checked against."""
        partition = self._partition(self.where.keys(env)[0])
        table = self.target
        if self.static_only:
            live = partition.static.live(env.now)
            return partition, RowView(table, partition, None, None, (), env.now) if live else None
        key = self._row_keys(env)[0]
        row = partition.rows.get(key)
        if row is not None and row.live(env.now):
            return partition, RowView(table, partition, key, row, table.order(key), env.now)
        static = any(check.column.kind == STATIC for check in self.checks) and partition.static.live(env.now)
        return partition, RowView(table, partition, None, None, (), env.now) if static else None

    def applies(self, env: Env, old: RowView | None) -> bool:
        if self.if_not_exists:
            return old is None or (old.row is None and not self.static_only)
        if self.if_exists:
            return old is not None and (old.row is not None or self.static_only)
        return all(check.holds(old, env) for check in self.checks)

    # -- writing

    def apply(self, env: Env) -> None:
        self.changes(env)()

    def changes(self, env: Env, conditional: bool = False) -> Callable[[], None]:
        """Return a function that applies the changes: all errors of values are raised here, before the first change.
        The timestamp of a *conditional* write is never its own."""
        timestamp, ttl = env.timestamp if conditional else self._timestamp(env), self._ttl(env)
        keys = self.where.keys(env)
        for key in keys:
            self._check_key(key)
        if self.whole_rows:
            pieces = _slices(self.where, env) if self.where.clustering else []
            return lambda: self._delete_rows(keys, pieces, timestamp)
        values = [(assign, assign.value(env)) for assign in self.assigns]
        changed = [(assign, value) for assign, value in values if value is not UNSET]
        rows = [] if self.static_only else self._row_keys(env)
        resolved = {
            (key, row): [(assign, assign.resolve(self._stored(key, row), value, env)) for assign, value in changed
                         if (assign.column.kind == STATIC) is (row is None)]
            for key in keys for row in (None, *rows)
        }  # fmt: skip
        return lambda: self._write(keys, rows, resolved, timestamp, ttl, env)

    def _stored(self, key: Key, row: Key | None) -> Row:
        """Return a row as it is now (None: the static one), an empty one if it does not exist."""
        partition = self.target.data.partitions.get(self.target.partition_bytes(key))
        found = None if partition is None else partition.static if row is None else partition.rows.get(row)
        return found or Row()

    def _check_key(self, key: tuple[Any, ...]) -> None:
        raw = self.target.partition_bytes(key)
        if not raw:
            raise InvalidRequest("Key may not be empty")
        if len(raw) > 0xFFFF:
            raise InvalidRequest(f"Key length of {len(raw)} is longer than maximum of 65535")

    def _partition(self, key: tuple[Any, ...]) -> Partition:
        raw = self.target.partition_bytes(key)
        return self.target.data.partition(key, raw, token_of(raw))

    def _timestamp(self, env: Env) -> int:
        value = self.timestamp(env) if self.timestamp else None
        return env.timestamp if value is None or value is UNSET else int(value)

    def _ttl(self, env: Env) -> int:
        value: Any = self.ttl(env) if self.ttl else UNSET
        if value is UNSET:
            return self.target.default_ttl
        if value is None:
            return 0
        if not 0 <= value <= MAX_TTL:
            raise InvalidRequest(f"A TTL must be between 0 and {MAX_TTL}, but was {value}")
        return int(value)

    def _row_keys(self, env: Env) -> list[tuple[Any, ...]]:
        """Return the clustering keys of the statement."""
        found: list[dict[str, Any]] = [{}]
        for restriction in self.where.clustering:
            options = _values(restriction, env)
            found = [row | option for row, option in itertools.product(found, options)]
        return [tuple(row[column.name] for column in self.target.clustering) for row in found]

    def _write(
        self, keys: Sequence[Key], rows: Sequence[Key], changed: Changes, timestamp: int, ttl: int, env: Env
    ) -> None:
        expires = env.now + ttl * 1000 if ttl else None

        def cell(value: Any) -> Cell:
            return Cell(value, timestamp, 0, None) if value is None else Cell(value, timestamp, ttl, expires)

        for partition in map(self._partition, keys):
            for assign, value in changed[partition.key, None]:
                assign.write(partition.static, value, cell, partition.deleted, env)
            for key in rows:
                order = self.target.order(key)
                row, floor = partition.row(order, key), partition.floor(order)
                if self.kind == "INSERT":
                    row.mark(cell(True), floor)
                for assign, value in changed[partition.key, key]:
                    assign.write(row, value, cell, floor, env)

    def _delete_rows(self, keys: Sequence[Key], pieces: Sequence[Slice], timestamp: int) -> None:
        for partition in map(self._partition, keys):
            if not self.where.clustering:
                partition.delete(timestamp)
            for piece in pieces:
                partition.delete_range(piece, timestamp)


def _values(restriction: Restriction, env: Env) -> list[dict[str, Any]]:
    names = [column.name for column in restriction.columns]
    if not restriction.relation.multi:
        return [{names[0]: value} for value in restriction.values(env)]
    value = required(restriction.value(env), "the tuple")
    rows = value if restriction.operator == "IN" else [value]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _slices(where: Where, env: Env) -> list[Slice]:
    """Return the clustering ranges of a DELETE."""
    prefixes: list[tuple[Any, ...]] = [()]
    columns = {column.name: column for column in where.table.clustering}
    exact = {found.column.name: found for found in where.clustering if found.operator in ("=", "IN")}
    low: tuple[Any, bool] | None = None
    high: tuple[Any, bool] | None = None
    for name, column in columns.items():
        if name in exact:
            values = exact[name].values(env)
            prefixes = [(*prefix, column.order(value)) for prefix in prefixes for value in values]
            continue
        for found in where.clustering:
            if found.column.name == name:
                bound = (column.order(required(found.value(env), name)), found.operator.endswith("="))
                if (found.operator[0] == ">") != column.descending:
                    low = bound
                else:
                    high = bound
        break
    pieces = []
    for prefix in prefixes:
        start = (*prefix, low[0]) if low else prefix or None
        end = (*prefix, high[0]) if high else prefix or None
        pieces.append(Slice(start, low[1] if low else True, end, high[1] if high else True))
    return pieces


# ---- conditional statements


def run_conditional(steps: Sequence[tuple[WritePlan, Env]], columns: Sequence[ColumnSpec]) -> Rows:
    """Apply all of *steps* or none; as in ScyllaDB, the result has the old rows in both cases."""
    found = [(plan, env, *plan.old_row(env)) for plan, env in steps]
    applied = all(plan.applies(env, old) for plan, env, _, old in found if plan.conditional)
    rows = []
    for plan, _, partition, old in found:
        view = old
        if old is None and partition.static.live(found[0][1].now):
            view = RowView(plan.target, partition, None, None, (), found[0][1].now)
        rows.append(_applied(applied, view if old is not None else None, plan.target, columns))
    if applied:
        _apply_all(steps, conditional=True)
    return Rows(columns, rows)


def _applied(
    applied: bool, old: RowView | None, table: Table, columns: Sequence[ColumnSpec]
) -> tuple[bytes | None, ...]:
    cells: list[bytes | None] = [BOOLEAN.encode(applied)]
    for spec in columns[1:]:
        value = None if old is None else old.value(table.columns[spec.name])
        cells.append(None if value is None else spec.type.encode(value))
    return tuple(cells)


def conditional_columns(table: Table, names: set[str] | None) -> list[ColumnSpec]:
    """Return ``[applied]`` and the columns of *names* (None: all)."""
    chosen = [column for column in table.in_order if names is None or column.name in names]
    applied = ColumnSpec(table.keyspace, table.name, "[applied]", BOOLEAN)
    return [applied, *(ColumnSpec(table.keyspace, table.name, column.name, column.type) for column in chosen)]


# ---- compilation of statements


def compile_modification(statement: Modification, table: Table, scope: Scope) -> WritePlan:
    scope.table = table
    if table.virtual:
        raise InvalidRequest(f"Cannot modify {table.keyspace}.{table.name}: it is a system table")
    plan = WritePlan(table=table, kind=statement.kind, conditional=statement.conditional)
    if statement.kind == "UPDATE":  # in the order of the text, so that errors and markers are in a server's order
        _using(statement.using, plan, scope)
    if statement.kind == "INSERT":
        _compile_insert(statement, table, scope, plan)
    else:
        _compile_changes(statement, table, scope, plan)
    if statement.kind != "UPDATE":
        _using(statement.using, plan, scope)
    plan.if_exists, plan.if_not_exists = statement.if_exists, statement.if_not_exists
    plan.checks = [compile_condition(condition, table, scope) for condition in statement.conditions]
    _check_plan(statement, plan)
    if plan.conditional:
        names = None if plan.if_exists or plan.if_not_exists else {check.column.name for check in plan.checks}
        plan.columns = conditional_columns(table, names)
    plan.partition_markers = partition_markers(plan.where)
    return plan


def _using(using: Using, plan: WritePlan, scope: Scope) -> None:
    if using.timestamp is not None:
        if plan.target.is_counter:
            raise InvalidRequest("Cannot provide custom timestamp for counter updates")
        if plan.conditional:
            raise InvalidRequest("Cannot provide custom timestamp for conditional updates")
        plan.timestamp = compile_term(using.timestamp, BIGINT, "[timestamp]", scope)
    if using.ttl is not None:
        if plan.target.is_counter:
            raise InvalidRequest("Cannot provide custom TTL for counter updates")
        plan.ttl = compile_term(using.ttl, INT, "[ttl]", scope)


def _compile_insert(statement: Modification, table: Table, scope: Scope, plan: WritePlan) -> None:
    if table.is_counter:
        raise InvalidRequest("INSERT statements are not allowed on counter tables, use UPDATE instead")
    relations: list[Relation] = []
    others: list[Assignment] = []
    seen: set[str] = set()
    for given in statement.assignments:
        column = table.column(given.column)
        if given.column in seen:
            raise InvalidRequest(f"The column names contains duplicates: {given.column}")
        seen.add(given.column)
        if column.kind in (PARTITION, CLUSTERING):
            relations.append(Relation((given.column,), "=", given.value))
        else:
            others.append(given)
    plan.where = compile_where(relations, table, scope)
    plan.assigns = [compile_assignment(assignment, table, scope) for assignment in others]
    statics = [assign for assign in plan.assigns if assign.column.kind == STATIC]
    plan.static_only = bool(statics) and len(statics) == len(plan.assigns) and not plan.where.clustering
    plan.static_only = plan.static_only and bool(table.clustering)


def _compile_changes(statement: Modification, table: Table, scope: Scope, plan: WritePlan) -> None:
    if statement.kind == "UPDATE":
        plan.assigns = [compile_assignment(assignment, table, scope) for assignment in statement.assignments]
    else:
        plan.assigns = [compile_deletion(target, table, scope) for target in statement.deletions]
        plan.whole_rows = not plan.assigns
    _check_lists(plan.assigns)
    for assign in plan.assigns:
        if assign.column.kind in (PARTITION, CLUSTERING):
            name = assign.column.name
            update = statement.kind == "UPDATE"
            raise InvalidRequest(
                f"PRIMARY KEY part {name} found in SET part" if update else f"Invalid identifier {name} for deletion"
            )
    plan.where = compile_where(statement.where, table, scope)
    if any(found.relation.token for found in plan.where.tokens):
        raise InvalidRequest(f"The token function cannot be used in WHERE clauses for {statement.kind} statements")
    if plan.where.others or plan.where.partition_slices:
        name = (plan.where.others or plan.where.partition_slices)[0].column.name
        raise InvalidRequest(f"Non PRIMARY KEY columns found in where clause: {name}")
    statics = all(assign.column.kind == STATIC for assign in plan.assigns)
    statics = statics and all(
        table.column(name).kind == STATIC for item in statement.conditions for name in columns_of(item.target)
    )
    if plan.assigns and statics and plan.where.clustering:
        raise InvalidRequest(
            f"Invalid restrictions on clustering columns since the {statement.kind} statement modifies only static "
            "columns"
        )
    plan.static_only = bool(plan.assigns) and statics and not plan.where.clustering and bool(table.clustering)


def _check_lists(assigns: Sequence[Assign]) -> None:
    """Raise NotSupported for several changes of a list: a change reads the list as it was before the statement, but a
    server reads it with the other changes."""
    names = [assign.column.name for assign in assigns]
    for assign in assigns:
        if assign.reads and names.count(assign.column.name) > 1:
            raise NotSupported(f"several changes of list {assign.column.name} in one statement")


def _check_plan(statement: Modification, plan: WritePlan) -> None:
    where, table = plan.where, plan.target
    missing = [column.name for column in table.partition_key if column.name not in where.partition]
    if missing:
        raise InvalidRequest(f"Some partition key parts are missing: {', '.join(missing)}")
    given = {column.name for found in where.clustering for column in found.columns}
    lacking = [column.name for column in table.clustering if column.name not in given]
    if statement.kind == "UPDATE" and table.is_counter and plan.conditional:
        raise InvalidRequest("Conditional updates are not supported on counter tables")
    slices = any(found.operator not in ("=", "IN") for found in where.clustering)
    if plan.whole_rows:
        if any(found.relation.multi and found.operator != "IN" and found.operator != "=" for found in where.clustering):
            raise NotSupported("DELETE with a range of several columns at once")
        if any(found.relation.multi for found in where.clustering):
            raise NotSupported("DELETE with a multi-column relation")
        _check_delete_prefix(table, given)
        if plan.conditional and lacking and (table.clustering and not plan.static_only):
            raise InvalidRequest(
                "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to delete "
                "non static columns"
            )
    elif slices:
        raise InvalidRequest(
            f"Slice restrictions are not supported on the clustering columns in {statement.kind} statements"
        )
    elif lacking and not plan.static_only:
        raise InvalidRequest(f"Some clustering keys are missing: {', '.join(lacking)}")
    if plan.conditional:
        if any(found.operator == "IN" for found in (*where.partition.values(), *where.clustering)):
            raise InvalidRequest(
                f"IN on the clustering key columns is not supported with conditional {statement.kind.lower()}s"
            )
        if slices:
            raise InvalidRequest("Conditional statements must name rows with equality relations")


def _check_delete_prefix(table: Table, given: set[str]) -> None:
    missing: Column | None = None
    for column in table.clustering:
        if column.name not in given:
            missing = missing or column
        elif missing is not None:
            raise InvalidRequest(
                f'PRIMARY KEY column "{column.name}" cannot be restricted as preceding column "{missing.name}" '
                "is not restricted"
            )


# ---- BATCH


def run_batch(plans: Sequence[WritePlan], envs: Sequence[Env], kind: str) -> Result:
    """Run all modifications of a batch, with one timestamp."""
    counters = [plan.counter for plan in plans]
    if kind == "COUNTER" and not all(counters):
        raise InvalidRequest("Cannot include non-counter statement in a counter batch")
    if kind != "COUNTER" and any(counters):
        what = "unlogged" if kind == "UNLOGGED" else "logged"
        raise InvalidRequest(f"Cannot include a counter statement in a {what} batch")
    if any(plan.conditional for plan in plans):
        first = plans[0].target
        keys = {plan.target.partition_bytes(plan.where.keys(env)[0]) for plan, env in zip(plans, envs, strict=True)}
        if len(keys) > 1 or any(plan.target is not first for plan in plans):
            raise InvalidRequest("Batch with conditions cannot span multiple partitions")
        return run_conditional(list(zip(plans, envs, strict=True)), conditional_columns(first, None))
    _apply_all(list(zip(plans, envs, strict=True)))
    return Result()


def _apply_all(steps: Sequence[tuple[WritePlan, Env]], conditional: bool = False) -> None:
    for change in [plan.changes(env, conditional) for plan, env in steps]:
        change()
