"""Rows that cannot go through ``session.ingest`` (L6): counters, and cells with their own times. One request each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from cassandra._base.names import maybe_escape_name
from cassandra._base.temporal import Date, Duration
from cassandra._session.concurrent.concurrent import execute_concurrent

from .kinds import Kind
from .tables import TTL, WRITETIME, Table, quoted

CONCURRENT = 200


class CounterWriter:
    """Adds to counters. Nothing is sent again: what failed may have been counted."""

    def __init__(self, session: Any, table: Table, columns: list[str], consistency_level: int | None) -> None:
        self._session = session
        self._table = table
        self._counters = [name for name in columns if name in table.counters]
        self._level = consistency_level
        self._prepared: dict[tuple[str, ...], Any] = {}

    def write(self, batch: Any) -> dict[int, Exception]:
        """Errors by the rows of *batch* that they are of."""
        columns = bindable(batch, self._table)
        requests, rows = [], []
        for row in range(batch.num_rows):
            names = tuple(name for name in self._counters if columns[name][row] is not None)
            if names:
                key = [columns[name][row] for name in self._key(names)]
                requests.append((self._statement(names), [*(columns[name][row] for name in names), *key]))
                rows.append(row)
        return _executed(self._session, requests, rows)

    def _key(self, names: Sequence[str]) -> list[str]:
        """What says which row: of static counters the partition key."""
        table = self._table
        return table.partition_key if set(names) <= set(table.statics) else table.key

    def _statement(self, names: tuple[str, ...]) -> Any:
        if names not in self._prepared:
            added = ", ".join(f"{name} = {name} + ?" for name in map(maybe_escape_name, names))
            where = " AND ".join(f"{maybe_escape_name(name)} = ?" for name in self._key(names))
            text = f"UPDATE {self._table.name} SET {added} WHERE {where}"
            self._prepared[names] = _prepare(self._session, text, self._level, is_idempotent=False)
        return self._prepared[names]


class CellWriter:
    """Writes cells with the time to live and the write time that the row has for them."""

    def __init__(self, session: Any, table: Table, columns: list[str], consistency_level: int | None) -> None:
        self._session = session
        self._table = table
        self._level = consistency_level
        self._values = [name for name in columns if table.timed(name) is None and name not in table.key]
        timed = {found: name for name in columns if (found := table.timed(name)) is not None}
        self._times = {name: tuple(timed.get((what, name)) for what in (TTL, WRITETIME)) for name in self._values}
        self._prepared: dict[tuple[str, ...], Any] = {}

    def write(self, batch: Any) -> dict[int, Exception]:
        """Errors by the rows of *batch* that they are of."""
        columns = bindable(batch, self._table)
        requests, rows = [], []
        for row in range(batch.num_rows):
            for names, ttl, written in self._groups(columns, row):
                with_ttl, with_time = ttl is not None, written is not None
                statement = self._statement(names, with_ttl, with_time)
                values = [columns[name][row] for name in names]
                requests.append((statement, values + [ttl] * with_ttl + [written] * with_time))
                rows.append(row)
        return _executed(self._session, requests, rows)

    def _groups(self, columns: dict[str, list[Any]], row: int) -> list[tuple[tuple[str, ...], int | None, int | None]]:
        """Columns of the row that have the same times, each with its key; one of the key alone if it has no values."""
        table = self._table
        is_row = all(columns[name][row] is not None for name in table.clustering_key if name in columns)
        is_row = is_row and all(name in columns for name in table.clustering_key)
        groups: dict[tuple[Any, Any, bool], list[str]] = defaultdict(list)
        for name in self._values:
            if columns[name][row] is not None:
                ttl, written = (columns[times][row] if times else None for times in self._times[name])
                groups[ttl, written, name in table.statics].append(name)
        found = [
            ((*(table.partition_key if static else table.key), *names), ttl, written)
            for (ttl, written, static), names in groups.items()
        ]
        if is_row and not any(not static for _, _, static in groups):
            found.append((tuple(table.key), None, None))
        return found

    def _statement(self, names: tuple[str, ...], ttl: bool, written: bool) -> Any:
        key = (*names, "ttl" if ttl else "", "time" if written else "")
        if key not in self._prepared:
            using = " AND ".join(["TTL ?"] * ttl + ["TIMESTAMP ?"] * written)
            marks = ", ".join("?" * len(names))
            text = f"INSERT INTO {self._table.name} ({quoted(list(names))}) VALUES ({marks})"
            text += f" USING {using}" if using else ""
            self._prepared[key] = _prepare(self._session, text, self._level, is_idempotent=True)
        return self._prepared[key]


def _prepare(session: Any, text: str, consistency_level: int | None, is_idempotent: bool) -> Any:
    prepared = session.prepare(text)
    prepared.is_idempotent = is_idempotent
    if consistency_level is not None:
        prepared.consistency_level = consistency_level
    return prepared


def _executed(session: Any, requests: list[tuple[Any, list[Any]]], rows: list[int]) -> dict[int, Exception]:
    """Errors by the *rows* that the *requests* are of."""
    results = execute_concurrent(session, requests, concurrency=CONCURRENT, raise_on_first_error=False)
    errors: dict[int, Exception] = {}
    for row, (success, result) in zip(rows, results, strict=True):
        if not success:
            errors.setdefault(row, result)
    return errors


# -- values of Arrow's as the driver binds them


def bindable(batch: Any, table: Table) -> dict[str, list[Any]]:
    """The columns of *batch* as lists of values that can be bound."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        kind = table.kinds.get(name)
        if kind is None:  # a time to live, a write time
            found[name] = pc.cast(column, pa.int64()).to_pylist()
            continue
        convert = _converter(kind)
        values = pc.cast(column, _plain_type(column.type)).to_pylist()
        found[name] = [None if value is None else convert(value) for value in values]
    return found


def _plain_type(type_: Any) -> Any:
    """*type_* with numbers where PyArrow would make objects that cannot have all values."""
    import pyarrow as pa

    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return type_.storage_type
    if types.is_timestamp(type_) or types.is_time64(type_):
        return pa.int64()
    if types.is_date32(type_):
        return pa.int32()
    if types.is_map(type_):
        return pa.map_(_plain_type(type_.key_type), _plain_type(type_.item_type))
    if types.is_fixed_size_list(type_):
        return pa.list_(_plain_type(type_.value_type), type_.list_size)
    if types.is_list(type_):
        return pa.list_(_plain_type(type_.value_type))
    if types.is_struct(type_):
        return pa.struct([pa.field(field.name, _plain_type(field.type)) for field in type_])
    return type_


def _converter(kind: Kind) -> Callable[[Any], Any]:
    name = kind.name
    if name in ("uuid", "timeuuid"):
        return lambda value: UUID(value) if isinstance(value, str) else UUID(bytes=value)
    if name == "inet":
        return lambda value: value if isinstance(value, str) else _address(value)
    simple: dict[str, Callable[[Any], Any]] = {
        "date": Date,
        "decimal": Decimal,
        "duration": lambda value: Duration(*value),
        "varint": int,
    }
    if name in simple:
        return simple[name]
    if not kind.parts:
        return lambda value: value
    inner = [_converter(part) for part in kind.parts]

    def each(values: Any) -> list[Any]:
        return [None if value is None else convert(value) for convert, value in zip(inner, values, strict=True)]

    if name in ("tuple", "udt"):
        return lambda value: tuple(each(value.values()))
    if name == "map":
        return lambda value: _Pairs(each(pair) for pair in value)
    convert = inner[0]
    return lambda value: [None if item is None else convert(item) for item in value]


class _Pairs(list[Any]):
    """A map of what may have no hash."""

    def items(self) -> list[Any]:
        return self


def _address(value: bytes) -> str:
    from ipaddress import ip_address

    return str(ip_address(value))
