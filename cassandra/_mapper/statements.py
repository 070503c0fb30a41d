"""SELECT, INSERT, UPDATE and DELETE, built from clauses.

``str()`` of a statement is CQL with named placeholders (``%(0)s``), ``get_context()`` returns their values.
Placeholders are numbered as clauses are added; ``update_context_id`` renumbers them, as in a batch.

Some assignments change a container or a counter instead of replacing it. Each compares its value with the previous one,
or gets an operation. Those of containers consist of *parts*: texts with placeholders and their values. The parts are
computed on first use.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

from cassandra._base.delegation import cached_property
from cassandra._base.names import escape_name, integer_literal
from cassandra._base.objects import public
from cassandra._session.statements.statement import FETCH_SIZE_UNSET, Sentinel

from .clauses import (
    STATEMENTS,
    AssignmentClause,
    BaseClause,
    BaseWhereOperator,
    ConditionalClause,
    EqualsOperator,
    FieldDeleteClause,
    QueryValue,
    WhereClause,
    placeholder,
    sorted_keys,
)
from .columns import Column, Counter
from .containers import List, Map, Set
from .errors import StatementException, UnicodeMixin

Timestamp = int | datetime | timedelta

#: Text of a part, with ``{field}`` and ``{0}``, ``{1}`` for its placeholders; and the values of these.
Part = tuple[str, tuple[Any, ...]]

ASSIGN = "{field} = {0}"
ADD = "{field} = {field} + {0}"
REMOVE = "{field} = {field} - {0}"
PREPEND = "{field} = {0} + {field}"
PUT = "{field}[{0}] = {1}"

MICROSECOND = timedelta(microseconds=1)


# ---- changes of containers and counters


@public(STATEMENTS)
class ContainerUpdateTypeMapMeta(type):
    """Registers each clause by the class of columns that it updates."""

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        if not hasattr(cls, "type_map"):
            cls.type_map: dict[type, Any] = {}  #: Clauses by class of column.
        else:
            cls.type_map[cls.col_type] = cls  # type: ignore[attr-defined]
        super().__init__(name, bases, dct)


@public(STATEMENTS)
class ContainerUpdateClause(AssignmentClause, metaclass=ContainerUpdateTypeMapMeta):
    """A change of a container by *operation*; without one, by the difference of *value* and *previous*.

    An operation with an empty value has no parts.
    """

    col_type: ClassVar[type]  #: Class of column of this clause.
    #: Methods by operation.
    _operations: ClassVar[Mapping[str, Callable[[Any], Iterator[Part]]]] = {}

    def __init__(self, field: str, value: Any, operation: str | None = None, previous: Any = None) -> None:
        super().__init__(field, value)
        self.previous = previous  #: The value as last loaded or written.
        self._operation = operation

    def _to_do(self) -> Callable[[Any], Iterator[Part]] | None:
        """Return the method of the given operation; None if there is no such operation."""
        return self._operations.get(self._operation) if isinstance(self._operation, str) else None

    def _difference(self) -> Iterator[Part]:
        """Yield the parts if no operation is given."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _difference()")

    def _is_unchanged(self) -> bool:
        return self.value is None or bool(self.value == self.previous)

    @cached_property
    def _parts(self) -> list[Part]:
        if self._is_unchanged():
            return []
        operation = self._to_do()
        if operation is None or self.value is None:
            return list(self._difference())
        return list(operation(self)) if self.value else []

    def __unicode__(self) -> str:
        field, number, texts = escape_name(self.field), 0, []
        for text, values in self._parts:
            ids = (self.context_id + i if i else self.context_id for i in range(number, number + len(values)))
            texts.append(text.format(*map(placeholder, ids), field=field))
            number += len(values)
        return ", ".join(texts)

    def get_context_size(self) -> int:
        """Return the number of parameters."""
        return sum(len(values) for _, values in self._parts)

    def update_context(self, ctx: dict[str, Any]) -> None:
        """Add the parameters to *ctx*."""
        values = (value for _, values in self._parts for value in values)
        for i, value in enumerate(values):
            ctx[str(self.context_id + i)] = value


@public(STATEMENTS)
class SetUpdateClause(ContainerUpdateClause):
    """``"s" = "s" + %(0)s, "s" = "s" - %(1)s``."""

    col_type = Set

    def _is_unchanged(self) -> bool:
        return self.previous is not None and super()._is_unchanged()

    def _difference(self) -> Iterator[Part]:
        if self.previous is None:
            yield ASSIGN, (set() if self.value is None else self.value,)
            return
        if added := self.value - self.previous:
            yield ADD, (added,)
        if removed := self.previous - self.value:
            yield REMOVE, (removed,)

    def _to_add(self) -> Iterator[Part]:
        yield ADD, (self.value,)

    def _to_remove(self) -> Iterator[Part]:
        yield REMOVE, (self.value,)

    _operations = {"add": _to_add, "remove": _to_remove}


@public(STATEMENTS)
class ListUpdateClause(ContainerUpdateClause):
    """``"l" = %(0)s + "l", "l" = "l" + %(1)s``, or the whole list if additions do not produce it."""

    col_type = List

    def _difference(self) -> Iterator[Part]:
        start = self._previous_begins_at()
        if start is None:
            yield ASSIGN, (self.value,)
            return
        end = start + len(self.previous)
        if start:
            yield PREPEND, (self.value[:start],)
        if end < len(self.value):
            yield ADD, (self.value[end:],)

    def _previous_begins_at(self) -> int | None:
        """Return the index of the previous list, whole, in the new one; None if it is not there."""
        if not self.previous:
            return None
        size = len(self.previous)
        starts = range(len(self.value) - size + 1)
        return next((start for start in starts if self.value[start : start + size] == self.previous), None)

    def _to_append(self) -> Iterator[Part]:
        yield ADD, (self.value,)

    def _to_prepend(self) -> Iterator[Part]:
        yield PREPEND, (self.value,)

    _operations = {"append": _to_append, "prepend": _to_prepend}


@public(STATEMENTS)
class MapUpdateClause(ContainerUpdateClause):
    """``"m"[%(0)s] = %(1)s``, per changed key. Removed keys are deleted by a ``MapDeleteClause``."""

    col_type = Map

    def _is_unchanged(self) -> bool:
        return self.value is None or (self._to_do() is None and super()._is_unchanged())

    def _difference(self) -> Iterator[Part]:
        previous = self.previous or {}
        changed = [key for key, value in self.value.items() if previous.get(key) != value]
        if not changed and self.previous is None:
            yield ASSIGN, ({},)
        for key in sorted_keys(changed):
            yield PUT, (key, self.value[key])

    def _to_update(self) -> Iterator[Part]:
        for key, value in self.value.items():
            yield PUT, (key, value)

    def _to_remove(self) -> Iterator[Part]:
        yield REMOVE, (set(self.value),)

    _operations = {"update": _to_update, "remove": _to_remove}

    @property
    def is_assignment(self) -> bool:
        """True if it replaces the map, by an empty one."""
        return any(text is ASSIGN for text, _ in self._parts)


@public(STATEMENTS)
class CounterUpdateClause(AssignmentClause):
    """``"c" = "c" + %(0)s``: adds the difference of *value* and *previous*."""

    col_type = Counter  #: Class of column of this clause.

    def __init__(self, field: str, value: int, previous: int | None = None) -> None:
        super().__init__(field, value)
        self.previous = previous or 0  #: The value as last loaded or written.

    def update_context(self, ctx: dict[str, Any]) -> None:
        ctx[str(self.context_id)] = abs(self.value - self.previous)

    def __unicode__(self) -> str:
        sign = "-" if self.value < self.previous else "+"
        field = escape_name(self.field)
        return f"{field} = {field} {sign} {placeholder(self.context_id)}"


# ---- statements as a whole


def microseconds(timestamp: Timestamp) -> int:
    """Return the timestamp of a write. A timedelta counts from now; a naive datetime is in local time."""
    if isinstance(timestamp, int):
        return timestamp
    if isinstance(timestamp, timedelta):
        return time.time_ns() // 1000 + timestamp // MICROSECOND
    if isinstance(timestamp, datetime):
        return round(timestamp.replace(microsecond=0).timestamp()) * 1_000_000 + timestamp.microsecond
    raise TypeError(f"invalid timestamp: {timestamp!r}: expected a datetime, a timedelta or an int of microseconds")


def text_of(clauses: Iterable[BaseClause], separator: str) -> str:
    """Join the texts of the clauses; a clause that changes nothing has an empty text and is skipped."""
    return separator.join(filter(None, map(str, clauses)))


@public(STATEMENTS)
class BaseCQLStatement(UnicodeMixin):
    """Base of all statements."""

    def __init__(
        self,
        table: str,
        timestamp: Timestamp | None = None,
        where: Iterable[WhereClause] | None = None,
        fetch_size: int | None = None,
        conditionals: Iterable[ConditionalClause] | None = None,
    ) -> None:
        """*table*: the name of the table in CQL, with the keyspace."""
        self.table = table  #: Name of the table.
        self.context_id = 0  #: Number of the first parameter.
        self.context_counter = 0  #: Number of the next parameter.
        self.timestamp = timestamp  #: Write time: a number, timedelta or datetime.
        self.fetch_size: int | Sentinel = fetch_size or FETCH_SIZE_UNSET  #: Rows of a page.
        self.where_clauses: list[WhereClause] = []  #: The conditions of WHERE.
        self.conditionals: list[ConditionalClause] = []  #: The conditions of IF.
        for clause in where or ():
            self._add_where_clause(clause)
        for condition in conditionals or ():
            self.add_conditional_clause(condition)

    def _number(self, clause: BaseClause) -> None:
        if not isinstance(clause, BaseClause):
            raise StatementException(f"only clauses can be added to statements, not {clause!r}")
        clause.set_context_id(self.context_counter)
        self.context_counter += clause.get_context_size()

    def _clauses(self) -> Sequence[BaseClause]:
        """Return all clauses with placeholders, in the order of their numbers."""
        return self.where_clauses

    def partition_key_values(self, field_index_map: Mapping[str, int]) -> list[Any]:
        """Return the values that the columns of *field_index_map* are equal to, each at its index; None if there is
        none."""
        parts: list[Any] = [None] * len(field_index_map)
        self._update_part_key_values(field_index_map, self.where_clauses, parts)
        return parts

    def _update_part_key_values(
        self, field_index_map: Mapping[str, int], clauses: Iterable[BaseClause], parts: list[Any]
    ) -> None:
        for clause in clauses:
            index = field_index_map.get(clause.field)
            operator = getattr(clause, "operator", None)
            if index is not None and (operator is None or type(operator) is EqualsOperator):
                parts[index] = clause.value

    def add_where(self, column: Column[Any], operator: BaseWhereOperator, value: Any, quote_field: bool = True) -> None:
        """Add a condition on *column*; *value* is converted for storage."""
        stored = value if isinstance(value, QueryValue) else column.to_database(value)
        self._add_where_clause(WhereClause(column.db_field_name, operator, stored, quote_field=quote_field))

    def _add_where_clause(self, clause: WhereClause) -> None:
        self._number(clause)
        self.where_clauses.append(clause)

    def add_conditional_clause(self, clause: ConditionalClause) -> None:
        """Add a condition that the row must meet for the statement to be applied: ``IF``."""
        self._number(clause)
        self.conditionals.append(clause)

    def get_context(self) -> dict[str, Any]:
        """Return the values of the placeholders."""
        context: dict[str, Any] = {}
        for clause in self._clauses():
            clause.update_context(context)
        return context

    def get_context_size(self) -> int:
        """Return the number of parameters."""
        return len(self.get_context())

    def update_context_id(self, i: int) -> None:
        """Number the placeholders from *i* on."""
        self.context_id = i
        self.context_counter = i
        for clause in self._clauses():
            self._number(clause)

    @property
    def timestamp_normalized(self) -> int | None:
        """``timestamp`` in microseconds from the epoch."""
        return microseconds(self.timestamp) if self.timestamp else None

    def __unicode__(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} has no text")

    def __repr__(self) -> str:
        return self.__unicode__()

    @property
    def _timestamp(self) -> str:
        return f"TIMESTAMP {integer_literal(self.timestamp_normalized, 'timestamp')}"

    @property
    def _where(self) -> str:
        return f"WHERE {text_of(self.where_clauses, ' AND ')}"

    def _get_conditionals(self) -> str:
        return f"IF {text_of(self.conditionals, ' AND ')}"


@public(STATEMENTS)
class SelectStatement(BaseCQLStatement):
    """``SELECT``."""

    def __init__(
        self,
        table: str,
        fields: str | Sequence[str] | None = None,
        count: bool = False,
        where: Iterable[WhereClause] | None = None,
        order_by: str | Sequence[str] | None = None,
        limit: int | None = None,
        allow_filtering: bool = False,
        distinct_fields: Sequence[str] | None = None,
        fetch_size: int | None = None,
    ) -> None:
        """*order_by* is CQL, names in *fields* and *distinct_fields* are quoted. A *limit* of None or 0 is no limit."""
        super().__init__(table, where=where, fetch_size=fetch_size)
        self.fields: Sequence[str] = [fields] if isinstance(fields, str) else (fields or [])  #: Selected columns.
        self.distinct_fields = distinct_fields  #: Columns of SELECT DISTINCT.
        self.count = count  #: True selects COUNT(*).
        #: Columns of ORDER BY.
        self.order_by: Sequence[str] | None = [order_by] if isinstance(order_by, str) else order_by
        self.limit = limit  #: LIMIT.
        self.allow_filtering = allow_filtering  #: True adds ALLOW FILTERING.

    def _selected(self) -> str:
        fields = self.distinct_fields or ([] if self.count else self.fields)
        names = ", ".join(map(escape_name, fields)) or "*"
        counted = f"COUNT({names})" if self.count else names
        return f"DISTINCT {counted}" if self.distinct_fields else counted

    def __unicode__(self) -> str:
        text = ["SELECT", self._selected(), "FROM", self.table]
        if self.where_clauses:
            text.append(self._where)
        if self.order_by and not self.count:
            text.append(f"ORDER BY {', '.join(self.order_by)}")
        if self.limit:
            text.append(f"LIMIT {integer_literal(self.limit, 'limit')}")
        if self.allow_filtering:
            text.append("ALLOW FILTERING")
        return " ".join(text)


@public(STATEMENTS)
class AssignmentStatement(BaseCQLStatement):
    """Base of statements that write values."""

    def __init__(
        self,
        table: str,
        assignments: Iterable[AssignmentClause] | None = None,
        where: Iterable[WhereClause] | None = None,
        ttl: int | None = None,
        timestamp: Timestamp | None = None,
        conditionals: Iterable[ConditionalClause] | None = None,
    ) -> None:
        super().__init__(table, timestamp=timestamp, where=where, conditionals=conditionals)
        self.ttl = ttl  #: Time to live in seconds.
        self.assignments: list[AssignmentClause] = []  #: The assignments, a list of clauses.
        for clause in assignments or ():
            self._add_assignment_clause(clause)

    def _clauses(self) -> Sequence[BaseClause]:
        return [*self.where_clauses, *self.assignments]

    def partition_key_values(self, field_index_map: Mapping[str, int]) -> list[Any]:
        parts = super().partition_key_values(field_index_map)
        self._update_part_key_values(field_index_map, self.assignments, parts)
        return parts

    def add_assignment(self, column: Column[Any], value: Any) -> None:
        """Set *column* to *value*."""
        self._add_assignment_clause(AssignmentClause(column.db_field_name, column.to_database(value)))

    def _add_assignment_clause(self, clause: AssignmentClause) -> None:
        self._number(clause)
        self.assignments.append(clause)

    @property
    def is_empty(self) -> bool:
        """True if it assigns nothing."""
        return not self.assignments

    def _using(self) -> str:
        """Return time to live and timestamp as CQL, or an empty string."""
        options = []
        if self.ttl:
            options.append(f"TTL {integer_literal(self.ttl, 'ttl')}")
        if self.timestamp:
            options.append(self._timestamp)
        return f"USING {' AND '.join(options)}" if options else ""


@public(STATEMENTS)
class InsertStatement(AssignmentStatement):
    """``INSERT``."""

    def __init__(
        self,
        table: str,
        assignments: Iterable[AssignmentClause] | None = None,
        where: Iterable[WhereClause] | None = None,
        ttl: int | None = None,
        timestamp: Timestamp | None = None,
        if_not_exists: bool = False,
    ) -> None:
        super().__init__(table, assignments=assignments, where=where, ttl=ttl, timestamp=timestamp)
        self.if_not_exists = if_not_exists  #: True adds IF NOT EXISTS.

    def __unicode__(self) -> str:
        if not self.assignments:
            raise StatementException(f"an INSERT into {self.table} needs assignments")
        pairs = [clause.insert_tuple() for clause in self.assignments]
        names = ", ".join(escape_name(name) for name, _ in pairs)
        values = ", ".join(placeholder(number) for _, number in pairs)
        text = [f"INSERT INTO {self.table} ({names}) VALUES ({values})"]
        if self.if_not_exists:
            text.append("IF NOT EXISTS")
        if using := self._using():
            text.append(using)
        return " ".join(text)


@public(STATEMENTS)
class UpdateStatement(AssignmentStatement):
    """``UPDATE``."""

    def __init__(
        self,
        table: str,
        assignments: Iterable[AssignmentClause] | None = None,
        where: Iterable[WhereClause] | None = None,
        ttl: int | None = None,
        timestamp: Timestamp | None = None,
        conditionals: Iterable[ConditionalClause] | None = None,
        if_exists: bool = False,
    ) -> None:
        super().__init__(table, assignments, where, ttl, timestamp, conditionals)
        self.if_exists = if_exists  #: True adds IF EXISTS.

    def _clauses(self) -> Sequence[BaseClause]:
        return [*self.where_clauses, *self.assignments, *self.conditionals]

    def __unicode__(self) -> str:
        text = ["UPDATE", self.table]
        if using := self._using():
            text.append(using)
        text.append(f"SET {text_of(self.assignments, ', ')}")
        if self.where_clauses:
            text.append(self._where)
        if self.conditionals:
            text.append(self._get_conditionals())
        if self.if_exists:
            text.append("IF EXISTS")
        return " ".join(text)

    def add_update(self, column: Column[Any], value: Any, operation: str | None = None, previous: Any = None) -> None:
        """Set *column* to *value*; for containers and counters only the difference to *previous* is written.

        *operation*: an operation with *value* instead: ``add`` or ``remove`` (a set), ``append`` or ``prepend`` (a
        list), ``update`` or ``remove`` (a map).
        """
        if operation == "remove" and isinstance(column, Map):
            value = {column.key_col.to_database(key) for key in value}
        else:
            value = column.to_database(value)
        clause: AssignmentClause
        if (kind := update_clause(column)) is not None:
            clause = kind(column.db_field_name, value, operation, column.to_database(previous))
        elif isinstance(column, Counter):
            clause = CounterUpdateClause(column.db_field_name, value, column.to_database(previous))
        else:
            clause = AssignmentClause(column.db_field_name, value)
        if clause.get_context_size():
            self._add_assignment_clause(clause)


def update_clause(column: Column[Any]) -> type[ContainerUpdateClause] | None:
    """Return the clause that changes values of *column* in place; None if they can only be replaced."""
    if getattr(column, "frozen", False):
        return None
    kinds = ContainerUpdateClause.type_map
    return next((kinds[kind] for kind in type(column).__mro__ if kind in kinds), None)


@public(STATEMENTS)
class DeleteStatement(BaseCQLStatement):
    """``DELETE``, of rows, or of their *fields*."""

    def __init__(
        self,
        table: str,
        fields: str | Iterable[str | BaseClause] | None = None,
        where: Iterable[WhereClause] | None = None,
        timestamp: Timestamp | None = None,
        conditionals: Iterable[ConditionalClause] | None = None,
        if_exists: bool = False,
    ) -> None:
        super().__init__(table, where=where, timestamp=timestamp, conditionals=conditionals)
        self.fields: list[BaseClause] = []  #: Columns to delete; empty for rows.
        for field in [fields] if isinstance(fields, str) else (fields or ()):
            self.add_field(field)
        self.if_exists = if_exists  #: True adds IF EXISTS.

    def _clauses(self) -> Sequence[BaseClause]:
        return [*self.where_clauses, *self.fields, *self.conditionals]

    def add_field(self, field: str | BaseClause) -> None:
        """*field*: the name of a column, or a clause that selects the part to delete."""
        if isinstance(field, str):
            field = FieldDeleteClause(field)
        self._number(field)
        self.fields.append(field)

    def __unicode__(self) -> str:
        text = ["DELETE"]
        if self.fields:
            fields = text_of(self.fields, ", ")
            if not fields:  # without fields it would delete the row
                raise StatementException(f"DELETE from {self.table}: no keys to delete")
            text.append(fields)
        text += ["FROM", self.table]
        if self.timestamp:
            text.append(f" USING {self._timestamp} ")  # spaced as tests of programs expect
        if self.where_clauses:
            text.append(self._where)
        if self.conditionals:
            text.append(self._get_conditionals())
        if self.if_exists:
            text.append("IF EXISTS")
        return " ".join(text)
