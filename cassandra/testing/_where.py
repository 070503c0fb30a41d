"""WHERE and IF: the partitions and rows of a statement, and the conditions of conditional statements."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cassandra.testing._ast import Condition, Element, Field, ListLiteral, Marker, Name, Relation, TupleLiteral
from cassandra.testing._plan import Env, RowView, Scope, Term, element_of, number, required
from cassandra.testing._schema import CLUSTERING, PARTITION, Column, Index, Partition, Table
from cassandra.testing._terms import compile_term
from cassandra.testing._topology import MAX_TOKEN, MIN_TOKEN
from cassandra.testing._types import BIGINT, COUNTER, INT, Collection, CqlType, Tuple, Udt, Value
from cassandra.testing._wire import UNSET
from cassandra.testing.errors import InvalidRequest, NotSupported

# ---- WHERE

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "!=": operator.ne,
}  # fmt: skip
FILTERING = (
    "Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. "
    "If you want to execute this query despite the performance unpredictability, use ALLOW FILTERING"
)
Predicate = Callable[[RowView], bool]
Read = Callable[[RowView, Env], Value]


@dataclass
class Restriction:
    """One relation with its value compiled."""

    columns: list[Column]
    operator: str
    value: Term
    relation: Relation
    key: Term | None = None

    @property
    def column(self) -> Column:
        return self.columns[0]

    def values(self, env: Env) -> list[Any]:
        """Return the values of ``=`` and ``IN``."""
        value = required(self.value(env), f"column {self.column.name}")
        if self.operator != "IN":
            return [value]
        if any(item is None for item in value):
            raise InvalidRequest(f"Invalid null value in condition for column {self.column.name}")
        return list(value)


@dataclass
class Where:
    """The restrictions of a statement, grouped by the restricted columns."""

    table: Table
    partition: dict[str, Restriction] = field(default_factory=dict)
    tokens: list[Restriction] = field(default_factory=list)
    clustering: list[Restriction] = field(default_factory=list)
    others: list[Restriction] = field(default_factory=list)
    partition_slices: list[Restriction] = field(default_factory=list)  # filtering on parts of the partition key

    @property
    def has_partition_key(self) -> bool:
        """True if = and IN restrict the whole partition key."""
        return len(self.partition) == len(self.table.partition_key)

    @property
    def single_partition(self) -> bool:
        return self.has_partition_key and all(found.operator == "=" for found in self.partition.values())

    @property
    def several_partitions(self) -> bool:
        """True if IN may select several partitions; with one value it equals ``=``."""
        ins = [found.relation.value for found in self.partition.values() if found.operator == "IN"]
        return any(not isinstance(value, ListLiteral) or len(value.items) != 1 for value in ins)

    def keys(self, env: Env) -> list[tuple[Any, ...]]:
        """Return the partition keys, in their own order, without duplicates."""
        parts = []
        for column in self.table.partition_key:
            values = self.partition[column.name].values(env)
            known = {column.type.encode(value): value for value in values}  # equal numbers may be different keys
            parts.append(sorted(known.values(), key=column.type.order))
        return list(itertools.product(*parts))

    def partitions(self, env: Env) -> list[Partition]:
        """Return the stored partitions that may have rows of the result."""
        data = self.table.data
        low, high = self._token_bounds(env)
        if not self.has_partition_key:
            return data.between(low, high)
        inside = {partition.raw for partition in data.between(low, high)} if self.tokens else data.partitions
        raws = [self.table.partition_bytes(key) for key in self.keys(env)]
        if b"" in raws:
            raise InvalidRequest("Key may not be empty")
        return [data.partitions[raw] for raw in raws if raw in inside]

    def _token_bounds(self, env: Env) -> tuple[tuple[int, bool] | None, tuple[int, bool] | None]:
        low: tuple[int, bool] | None = None
        high: tuple[int, bool] | None = None
        for found in self.tokens:
            token = number(found.value(env), "the token")
            if found.operator in ("=", ">", ">="):
                low = (token, found.operator != ">")
            if found.operator in ("=", "<", "<="):
                if token == MIN_TOKEN and found.operator != "=":
                    continue  # as an end, the smallest token is the end of the ring
                high = (token, found.operator != "<")
        return low, high

    def token_range(self, env: Env) -> tuple[int, int]:
        """Return the tokens between the bounds: above the first, up to and including the second."""
        low, high = self._token_bounds(env)
        return (
            MIN_TOKEN if low is None else low[0] - low[1],
            MAX_TOKEN if high is None else high[0] - (not high[1]),
        )

    def predicate(self, env: Env) -> Predicate:
        """Return a function that is True for rows of these partitions that are in the result."""
        checks = [_check(found, env) for found in (*self.clustering, *self.others, *self.partition_slices)]
        if not self.has_partition_key:
            checks += [_check(found, env) for found in self.partition.values()]
        if not checks:
            return lambda row: True
        return lambda row: all(check(row) for check in checks)

    def static_only(self, row: RowView) -> bool:
        """True if a partition without rows may be in the result."""
        return not self.clustering


def compile_where(relations: Sequence[Relation], table: Table, scope: Scope) -> Where:
    where = Where(table)
    for relation in relations:
        found = _restriction(relation, table, scope)
        kinds = {column.kind for column in found.columns}
        if relation.token:
            if [column.name for column in found.columns] != [column.name for column in table.partition_key]:
                raise InvalidRequest("The token function takes the columns of the partition key, in key order")
            where.tokens.append(found)
        elif kinds == {PARTITION} and not relation.multi:
            _add_partition(where, found)
        elif kinds == {CLUSTERING}:
            where.clustering.append(found)
        elif relation.multi:
            raise InvalidRequest("Multi-column relations can only be applied to clustering columns")
        else:
            where.others.append(found)
    _check_repeats(where)
    return where


def _add_partition(where: Where, found: Restriction) -> None:
    if found.operator not in ("=", "IN"):
        where.partition_slices.append(found)
    elif found.column.name in where.partition:
        raise InvalidRequest(
            f"{found.column.name} cannot be restricted by more than one relation if it includes an Equal"
        )
    else:
        where.partition[found.column.name] = found


def _check_repeats(where: Where) -> None:
    seen: dict[str, set[str]] = {}
    for found in (*where.tokens, *where.clustering, *where.others):
        if found.key is not None or found.operator.startswith("CONTAINS"):
            continue
        bound = {"<": "end", ">": "start"}.get(found.operator[0], "")
        for column in found.columns[: 1 if found.relation.token else None]:
            before = seen.setdefault(column.name, set())
            if before and (not bound or "" in before):
                raise InvalidRequest(
                    f"{column.name} cannot be restricted by more than one relation if it includes an Equal"
                )
            if bound in before and not found.relation.multi:
                raise InvalidRequest(f"More than one restriction was found for the {bound} bound on {column.name}")
            before.add(bound)


def _restriction(relation: Relation, table: Table, scope: Scope) -> Restriction:
    columns = [table.column(name) for name in relation.columns]
    if relation.operator == "!=":
        raise InvalidRequest(f'Unsupported "!=" relation: {relation.columns[0]} != ...')
    if relation.token:
        name = f"partition key token({', '.join(relation.columns)})"
        return Restriction(columns, relation.operator, compile_term(relation.value, BIGINT, name, scope), relation)
    if relation.multi:
        return _multi(relation, columns, scope)
    return _single(relation, columns[0], scope)


def _single(relation: Relation, column: Column, scope: Scope) -> Restriction:
    kind: CqlType = column.type
    if relation.key is not None:
        if not isinstance(kind, Collection) or kind.name != "map" or relation.operator != "=":
            raise InvalidRequest(f"Only `map[key] = value` is possible, not on {column.name} of type {kind.cql}")
        key = compile_term(relation.key, kind.arguments[0], f"key({column.name})", scope)
        value = compile_term(relation.value, kind.arguments[1], f"value({column.name})", scope)
        return Restriction([column], "=", value, relation, key)
    if relation.operator.startswith("CONTAINS"):
        if not isinstance(kind, Collection):
            raise InvalidRequest(f"Cannot use {relation.operator} on non-collection column {column.name}")
        if relation.operator == "CONTAINS KEY" and kind.name != "map":
            raise InvalidRequest(f"Cannot use CONTAINS KEY on non-map column {column.name}")
        inner = kind.arguments[0 if relation.operator == "CONTAINS KEY" else -1]
        name = ("key" if relation.operator == "CONTAINS KEY" else "value") + f"({column.name})"
        return Restriction([column], relation.operator, compile_term(relation.value, inner, name, scope), relation)
    if kind.multicell:
        raise InvalidRequest(
            f"Collection column '{column.name}' ({kind.cql}) cannot be restricted by a '{relation.operator}' relation"
        )
    if relation.operator == "IN":
        return Restriction([column], "IN", in_values(relation.value, kind, column.name, scope), relation)
    return Restriction([column], relation.operator, compile_term(relation.value, kind, column.name, scope), relation)


def in_values(value: Any, kind: CqlType, name: str, scope: Scope, nulls: bool = False) -> Term:
    """Return the values of IN; *nulls*: in conditions, which may contain null."""
    if isinstance(value, Marker):
        return scope.marker(value.index, f"in({name})", Collection("list", (kind,), False))
    assert isinstance(value, ListLiteral)
    items = [compile_term(item, kind, name, scope) for item in value.items]
    if nulls:
        return lambda env: tuple(item(env) for item in items)
    return lambda env: tuple(required(item(env), f"column {name}") for item in items)


def _multi(relation: Relation, columns: list[Column], scope: Scope) -> Restriction:
    kind = Tuple(tuple(column.type for column in columns))
    name = f"({','.join(column.name for column in columns)})"
    if relation.operator == "IN":
        return Restriction(columns, "IN", _in_tuples(relation.value, kind, name, columns, scope), relation)
    return Restriction(columns, relation.operator, _tuple_term(relation.value, kind, name, columns, scope), relation)


def _tuple_term(value: Any, kind: Tuple, name: str, columns: list[Column], scope: Scope) -> Term:
    if not isinstance(value, TupleLiteral):
        return compile_term(value, kind, name, scope)
    if len(value.items) > len(columns):
        raise InvalidRequest(f"Expected {len(columns)} elements in value for tuple {name}, but got {len(value.items)}")
    items = [compile_term(item, col.type, col.name, scope) for item, col in zip(value.items, columns, strict=False)]
    return lambda env: tuple(required(item(env), f"tuple {name}") for item in items)


def _in_tuples(value: Any, kind: Tuple, name: str, columns: list[Column], scope: Scope) -> Term:
    if isinstance(value, Marker):
        return scope.marker(value.index, f"in{name}", Collection("list", (kind,), False))
    items = [_tuple_term(item, kind, name, columns, scope) for item in value.items]
    return lambda env: tuple(item(env) for item in items)


def _check(found: Restriction, env: Env) -> Predicate:
    """Return a function that is True for rows that satisfy one restriction."""
    if found.operator.startswith("CONTAINS") or found.key is not None:
        return _check_element(found, env)
    if found.relation.multi:
        return _check_tuple(found, env)
    column, kind = found.column, found.column.type
    if found.operator == "IN":
        wanted = {kind.order(value) for value in found.values(env)}
        return lambda row: (value := row.value(column)) is not None and kind.order(value) in wanted
    limit = required(found.value(env), f"column {column.name}")
    if kind.cql == "duration" and found.operator != "=":
        raise InvalidRequest("Slice restrictions are not supported on duration columns")
    bound, compare = kind.order(limit), COMPARE[found.operator]
    return lambda row: (value := row.value(column)) is not None and compare(kind.order(value), bound)


def _check_element(found: Restriction, env: Env) -> Predicate:
    column, kind = found.column, found.column.type
    assert isinstance(kind, Collection)
    wanted = required(found.value(env), f"column {column.name}")
    if found.key is not None:
        key = required(found.key(env), f"key of {column.name}")
        return lambda row: element_of(kind, row.value(column), key) == wanted

    def contains(row: RowView) -> bool:
        value = row.value(column)
        if value is None:
            return False
        if kind.name == "map":
            return wanted in [pair[0 if found.operator == "CONTAINS KEY" else 1] for pair in value]
        return wanted in value

    return contains


def _check_tuple(found: Restriction, env: Env) -> Predicate:
    columns = found.columns

    def order(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(column.type.order(value) for column, value in zip(columns, values, strict=False))

    if found.operator == "IN":
        wanted = {order(value) for value in required(found.value(env), "IN")}
        return lambda row: row.key is not None and order([row.value(column) for column in columns]) in wanted
    bound = order(required(found.value(env), "the tuple"))
    if len(bound) < len(columns) and found.operator == "=":
        raise NotSupported("a tuple with fewer elements than columns")
    compare = COMPARE[found.operator]
    size = len(bound)
    return lambda row: row.key is not None and compare(order([row.value(column) for column in columns])[:size], bound)


def check_reads(where: Where, allow_filtering: bool) -> None:
    """Raise the errors of a server for statements that need ALLOW FILTERING."""
    if allow_filtering:
        return
    indexed = _has_index(where)
    if indexed:
        return
    if where.others or where.partition_slices:
        raise InvalidRequest(FILTERING)
    if where.partition and not where.has_partition_key:
        raise InvalidRequest(FILTERING)
    if where.clustering and not where.has_partition_key:
        raise InvalidRequest(FILTERING)
    check_prefix(where)


def _has_index(where: Where) -> bool:
    """True if an index serves the statement: then it may restrict other columns too, if they need no filtering."""
    for index in where.table.indexes.values():
        for found in (*where.others, *where.clustering, *where.partition.values()):
            if found.column.name == index.column and found.operator == _serves(index, found.column):
                rest = [other for other in where.others if other is not found]
                if rest and not all(_indexed(other, where) for other in rest[1:]):
                    raise InvalidRequest(FILTERING)
                if rest:
                    raise InvalidRequest(FILTERING)
                return True
    return False


def _serves(index: Index, column: Column) -> str:
    """Return the operator that an index serves."""
    if index.target == "keys":
        return "CONTAINS KEY"
    return "CONTAINS" if column.type.multicell and isinstance(column.type, Collection) else "="


def _indexed(found: Restriction, where: Where) -> bool:
    return any(index.column == found.column.name for index in where.table.indexes.values())


def check_prefix(where: Where) -> None:
    """Check that clustering columns are restricted from the left, and that a slice is the last."""
    state: dict[str, str] = {}
    for found in where.clustering:
        if found.operator.startswith("CONTAINS") or found.key is not None:
            raise InvalidRequest(FILTERING)
        for column in found.columns:
            state[column.name] = "slice" if found.operator in ("<", "<=", ">", ">=") else "exact"
    missing: Column | None = None
    sliced: Column | None = None
    multi = any(found.relation.multi for found in where.clustering)
    for column in where.table.clustering:
        kind = state.get(column.name)
        if kind is None:
            missing = missing or column
        elif missing is not None:
            raise InvalidRequest(
                f'PRIMARY KEY column "{column.name}" cannot be restricted as preceding column "{missing.name}" '
                "is not restricted"
            )
        elif sliced is not None and not multi:
            raise InvalidRequest(
                f'Clustering column "{column.name}" cannot be restricted '
                f'(preceding column "{sliced.name}" is restricted by a non-EQ relation)'
            )
        elif kind == "slice":
            sliced = column


# ---- IF


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
