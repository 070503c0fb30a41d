"""The selection of a SELECT: values of each row, or aggregates of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact, InvalidOperation, Overflow, localcontext
from typing import Any

from cassandra.testing import _functions as functions
from cassandra.testing import _types as types
from cassandra.testing._ast import Call, Cast, Element, Field, Hint, Literal, Marker, Name, Selector
from cassandra.testing._plan import ColumnSpec, Env, Scope
from cassandra.testing._rows import RowView, element_of
from cassandra.testing._schema import PARTITION, Column, Table
from cassandra.testing._terms import compile_term
from cassandra.testing._types import Collection, CqlType, Udt, Value
from cassandra.testing.errors import InvalidRequest, NotSupported

Getter = Callable[[RowView, Env], Value]
DIGITS = 4_000
EXACT = Context(prec=DIGITS, traps=[Inexact, InvalidOperation, Overflow])
DIVISION = Context(prec=DIGITS, traps=[InvalidOperation, Overflow])
AGGREGATES = ("count", "countrows", "min", "max", "sum", "avg")


@dataclass
class Selected:
    """One column of a result; an aggregate has *fold*, which is called with the values of all rows."""

    spec: ColumnSpec
    get: Getter
    fold: Callable[[list[Value]], Value] | None = None


@dataclass
class _Compiled:
    type: CqlType
    get: Getter
    text: str
    fold: Callable[[list[Value]], Value] | None = None


def compile_selectors(selectors: Sequence[Selector], table: Table, scope: Scope) -> list[Selected]:
    if not selectors:
        return [_column(column, table) for column in table.in_order]
    found = []
    for selector in selectors:
        compiled = _compile(selector.expression, table, scope)
        spec = ColumnSpec(table.keyspace, table.name, selector.alias or compiled.text, compiled.type)
        found.append(Selected(spec, compiled.get, compiled.fold))
    return found


def columns_of(expression: Any) -> list[str]:
    """Return the columns in an expression."""
    if isinstance(expression, Name):
        return [expression.name]
    if isinstance(expression, Call):
        return [name for part in expression.arguments for name in columns_of(part)]
    if isinstance(expression, Field | Element | Cast):
        return columns_of(expression.of)
    return []


def _column(column: Column, table: Table) -> Selected:
    spec = ColumnSpec(table.keyspace, table.name, column.name, column.type)
    return Selected(spec, lambda row, env: row.value(column))


def _compile(expression: Any, table: Table, scope: Scope) -> _Compiled:
    if isinstance(expression, Name):
        column = table.column(expression.name)
        return _Compiled(column.type, lambda row, env: row.value(column), column.name)
    if isinstance(expression, Call):
        if expression.name in AGGREGATES:
            return _aggregate(expression, table, scope)
        if expression.name in ("writetime", "ttl"):
            return _cell_property(expression, table)
        if expression.name == "token":
            return _token(expression, table)
        return _function(expression, table, scope)
    if isinstance(expression, Cast):
        return _cast(expression, table, scope)
    if isinstance(expression, Field):
        return _field(expression, table, scope)
    if isinstance(expression, Element):
        return _element(expression, table, scope)
    if isinstance(expression, Hint):
        kind = scope.schema.type_(expression.kind, table.keyspace)
        term = compile_term(expression.term, kind, "[selection]", scope)
        return _Compiled(kind, lambda row, env: term(env), f"({kind.cql})...")
    if isinstance(expression, Marker):
        raise InvalidRequest("Cannot infer type for term ? in selection clause (try using a cast to force a type)")
    raise NotSupported("constants in a selection without a type, such as (int) 5")


def _inner(expression: Any, table: Table, scope: Scope) -> _Compiled:
    found = _compile(expression, table, scope)
    if found.fold is not None:
        raise NotSupported("aggregates inside other expressions")
    return found


def _function(call: Call, table: Table, scope: Scope) -> _Compiled:
    known = [None if isinstance(part, Literal) else _inner(part, table, scope) for part in call.arguments]
    function = functions.find(call.name, [part.type if part else None for part in known])
    parts = [
        part or _constant(literal, wanted, scope)
        for part, literal, wanted in zip(known, call.arguments, function.parameters, strict=True)
    ]

    def get(row: RowView, env: Env) -> Value:
        values = [part.get(row, env) for part in parts]
        return None if any(value in (None, types.EMPTY) for value in values) else function.run(env, *values)

    return _Compiled(function.returns, get, f"system.{call.name}({', '.join(part.text for part in parts)})")


def _constant(literal: Literal, kind: CqlType, scope: Scope) -> _Compiled:
    term = compile_term(literal, kind, "[selection]", scope)
    return _Compiled(kind, lambda row, env: term(env), _shown(literal))


def _cell_property(call: Call, table: Table) -> _Compiled:
    name = call.arguments[0] if len(call.arguments) == 1 else None
    if not isinstance(name, Name):
        raise NotSupported(f"{call.name.upper()} of anything but a column")
    column = table.column(name.name)
    if column.kind in ("partition_key", "clustering"):
        raise InvalidRequest(f"Cannot use selection function {call.name} on PRIMARY KEY part {column.name}")
    if column.type.multicell:
        raise InvalidRequest(f"Cannot use selection function {call.name} on non-frozen {column.type.cql} {column.name}")
    if column.type is types.COUNTER:
        raise InvalidRequest(f"Cannot use selection function {call.name} on counters")
    text = f"{call.name}({column.name})"
    if call.name == "ttl":
        return _Compiled(types.INT, lambda row, env: row.ttl(column), text)
    return _Compiled(types.BIGINT, lambda row, env: row.written(column), text)


def _token(call: Call, table: Table) -> _Compiled:
    names = [part.name for part in call.arguments if isinstance(part, Name)]
    if names != [column.name for column in table.of_kind(PARTITION)]:
        raise InvalidRequest("The token function takes the columns of the partition key, in key order")
    return _Compiled(types.BIGINT, lambda row, env: row.partition.token, f"system.token({', '.join(names)})")


def _cast(expression: Cast, table: Table, scope: Scope) -> _Compiled:
    inner = _inner(expression.of, table, scope)
    kind = scope.schema.type_(expression.kind, table.keyspace)
    convert = functions.cast(inner.type, kind)

    def get(row: RowView, env: Env) -> Value:
        value = inner.get(row, env)
        return None if value in (None, types.EMPTY) else convert(value)

    return _Compiled(kind, get, f"cast({inner.text} as {kind.cql})")


def _field(expression: Field, table: Table, scope: Scope) -> _Compiled:
    inner = _inner(expression.of, table, scope)
    kind = inner.type
    if not isinstance(kind, Udt):
        raise InvalidRequest(f"Invalid field selection: {inner.text} of type {kind.cql} is not a user type")
    names = list(kind.definition.fields)
    if expression.name not in names:
        raise InvalidRequest(f"{inner.text} of type {kind.cql} has no field {expression.name}")
    at = names.index(expression.name)

    def get(row: RowView, env: Env) -> Value:
        value = inner.get(row, env)
        return None if value is None or at >= len(value) else value[at]

    return _Compiled(kind.parts[at], get, f"{inner.text}.{expression.name}")


def _element(expression: Element, table: Table, scope: Scope) -> _Compiled:
    inner = _inner(expression.of, table, scope)
    kind = inner.type
    if not isinstance(kind, Collection) or kind.name == "list":
        raise InvalidRequest(f"Invalid element selection: {inner.text} is of type {kind.cql}, not a set or map")
    key = compile_term(expression.key, kind.arguments[0], f"key({inner.text})", scope)
    text = f"{inner.text}[{_shown(expression.key)}]"
    return _Compiled(kind.arguments[-1], lambda row, env: element_of(kind, inner.get(row, env), key(env)), text)


def _shown(key: Any) -> str:
    if not isinstance(key, Literal):
        return "?"
    return "'" + key.text.replace("'", "''") + "'" if key.kind == "string" else key.text


# -- aggregates -------------------------------------------------------------------------------------------------------


def _aggregate(call: Call, table: Table, scope: Scope) -> _Compiled:
    if call.name == "countrows":
        return _Compiled(types.BIGINT, lambda row, env: 1, "count", len)
    if len(call.arguments) != 1:
        raise InvalidRequest(f"Invalid call to function {call.name}: it takes one argument")
    inner = _inner(call.arguments[0], table, scope)
    text = f"system.{call.name}({inner.text})"
    kind = inner.type
    if call.name == "count":
        return _Compiled(types.BIGINT, inner.get, text, lambda values: len(_present(values)))
    if call.name in ("min", "max"):
        pick = min if call.name == "min" else max
        return _Compiled(kind, inner.get, text, lambda values: pick(_present(values), key=kind.order, default=None))
    if kind not in types.NUMBERS:
        raise InvalidRequest(f"Invalid call to function {call.name}, none of its type signatures match ({kind.cql})")
    returns = types.BIGINT if kind is types.COUNTER else kind
    fold = _sum(returns) if call.name == "sum" else _average(returns)
    return _Compiled(returns, inner.get, text, fold)


def _present(values: list[Value]) -> list[Value]:
    return [value for value in values if value is not None]


def _zero(kind: CqlType) -> Value:
    return Decimal(0) if kind is types.DECIMAL else 0.0 if kind in (types.DOUBLE, types.FLOAT) else 0


def _numbers(values: list[Value]) -> list[Value]:
    return [value for value in values if value not in (None, types.EMPTY)]


def _total(kind: CqlType, values: list[Value]) -> Value:
    try:
        with localcontext(EXACT):
            return sum(_numbers(values), _zero(kind))
    except ArithmeticError:
        raise NotSupported("sums of decimals of more than 4,000 digits") from None


def _divided(total: Decimal, count: int) -> Decimal:
    try:
        with localcontext(DIVISION):
            return (total / count).quantize(total, ROUND_HALF_EVEN)
    except ArithmeticError:
        raise NotSupported("averages of decimals of more than 4,000 digits") from None


def _sum(kind: CqlType) -> Callable[[list[Value]], Value]:
    wrap = functions.cast(types.VARINT, kind) if kind in types.WHOLE - {types.VARINT} else None

    def fold(values: list[Value]) -> Value:
        total = _total(kind, values)
        return wrap(total) if wrap else total

    return fold


def _average(kind: CqlType) -> Callable[[list[Value]], Value]:
    def fold(values: list[Value]) -> Value:
        present = _numbers(values)
        if not present:
            return _zero(kind)
        total = _total(kind, values)
        if kind in types.WHOLE:  # truncated towards zero, as Java divides
            return abs(total) // len(present) * (1 if total >= 0 else -1)
        if kind is types.DECIMAL:  # with as many digits as the sum
            return _divided(total, len(present))
        return total / len(present)

    return fold
