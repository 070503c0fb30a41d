"""IF of conditional statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cassandra.testing._ast import Condition, Element, Field, Name
from cassandra.testing._plan import Env, Scope, required
from cassandra.testing._rows import RowView, element_of
from cassandra.testing._schema import CLUSTERING, PARTITION, Column, Table
from cassandra.testing._terms import compile_term
from cassandra.testing._types import COUNTER, INT, Collection, CqlType, Udt, Value
from cassandra.testing._where import COMPARE, in_values
from cassandra.testing._wire import UNSET
from cassandra.testing.errors import InvalidRequest


@dataclass
class Check:
    """A compiled condition."""

    column: Column
    holds: Callable[[RowView | None, Env], bool]


def compile_condition(condition: Condition, table: Table, scope: Scope) -> Check:
    target = condition.target
    inner = target.of if isinstance(target, Element | Field) else target
    assert isinstance(inner, Name)
    column = table.column(inner.name)
    if column.kind in (PARTITION, CLUSTERING):
        raise InvalidRequest(f"PRIMARY KEY column '{column.name}' cannot have IF conditions")
    if column.type is COUNTER:
        raise InvalidRequest("Conditions on counters are not supported")
    kind, read = _target(target, column, scope)
    collection = isinstance(kind, Collection) and kind.multicell  # for these empty equals null
    if condition.operator == "IN":
        wanted = in_values(condition.value, kind.frozen(), column.name, scope, nulls=True)

        def one_of(old: RowView | None, env: Env) -> bool:
            left, options = _read(old, read, env), required(wanted(env), f"column {column.name}")
            return left in options or (left is None and collection and () in options)

        return Check(column, one_of)
    value = compile_term(condition.value, kind.frozen(), column.name, scope)
    compare = COMPARE[condition.operator]
    operator = condition.operator

    def holds(old: RowView | None, env: Env) -> bool:
        left, right = _read(old, read, env), value(env)
        if right is UNSET:
            raise InvalidRequest(f"Invalid unset value for column {column.name}")
        if collection and right == ():
            right = None
        if left is None or right is None:
            if operator not in ("=", "!="):
                if right is None:
                    raise InvalidRequest(f'Invalid comparison with null for operator "{operator}"')
                return False
            return (left is None and right is None) == (operator == "=")
        return compare(kind.order(left), kind.order(right))

    return Check(column, holds)


Read = Callable[[RowView, Env], Value]


def _read(old: RowView | None, read: Read, env: Env) -> Value:
    return None if old is None else read(old, env)


def _target(target: Any, column: Column, scope: Scope) -> tuple[CqlType, Read]:
    kind = column.type
    if isinstance(target, Name):
        return kind, lambda old, env: old.value(column)
    if isinstance(target, Field):
        if not isinstance(kind, Udt) or target.name not in kind.definition.fields:
            raise InvalidRequest(f"{column.name} has no field {target.name}")
        at = list(kind.definition.fields).index(target.name)

        def field(old: RowView, env: Env) -> Value:
            value = old.value(column)
            return None if value is None or at >= len(value) else value[at]

        return kind.parts[at], field
    if not isinstance(kind, Collection) or kind.name == "set":
        raise InvalidRequest(f"Element access is not possible on {column.name} of type {kind.cql}")
    key = compile_term(target.key, INT if kind.name == "list" else kind.arguments[0], f"key({column.name})", scope)
    return kind.arguments[-1], lambda old, env: element_of(kind, old.value(column), key(env))
