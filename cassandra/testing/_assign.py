"""Changes of stored rows: SET of an UPDATE, the values of an INSERT, and the columns of a DELETE."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cassandra.testing._ast import Assignment, Element, Field, Literal, Name
from cassandra.testing._plan import Env, Scope, Term, number, required
from cassandra.testing._schema import Column, Table
from cassandra.testing._storage import Cell, Complex, Row
from cassandra.testing._terms import compile_term
from cassandra.testing._types import BIGINT, COUNTER, INT, Collection, CqlType, Udt, Value
from cassandra.testing._wire import UNSET
from cassandra.testing.errors import InvalidRequest

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
