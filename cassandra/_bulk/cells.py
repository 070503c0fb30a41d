"""Rows that ``session.ingest`` cannot write (L6): counters, and cells with their own times. One request each.

Values are encoded by the conversion of ``session.ingest``, so that both ways store the same bytes.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cassandra._base.constants import TypeId
from cassandra._base.names import maybe_escape_name
from cassandra._core.codec import scalar
from cassandra._core.columns import IngestPlan
from cassandra._session.request.concurrent import execute_concurrent
from cassandra._session.statements.prepared import BoundStatement

from .errors import UsageError
from .once import Once
from .tables import TTL, WRITETIME, Table, quoted

CONCURRENT = 200

#: The bytes of a bound value; None for null.
Cell = bytes | None
_TIMES = {TTL: TypeId.INT, WRITETIME: TypeId.BIGINT}


class CounterWriter:
    """Adds to counters. No request is retried: a failed request may have been executed.

    A static counter is added once per partition, with the first row that has a value of it: each row of a partition has
    the same one. A row with another value is rejected before any part of it is added.
    """

    def __init__(self, session: Any, table: Table, columns: Sequence[str], consistency_level: int | None) -> None:
        self._table = table
        self._counters = [name for name in columns if name in table.counters]
        if not self._counters:
            raise UsageError(f"{table.name} has counters, but no counter column is loaded")
        self._statements = _Statements(session, consistency_level, is_idempotent=False)
        codecs = self._statements.codecs(self._text(tuple(self._counters)))
        counted = {name: scalar(TypeId.BIGINT) if name in self._counters else codecs[name] for name in codecs}
        self._encoder = _RowEncoder(counted, table.partition_key)
        self._statics = [name for name in self._counters if name in table.statics]
        self._added = Once() if self._statics else None

    def write(self, batch: Any) -> dict[int, Exception]:
        """Write the rows of *batch* and return errors by row."""
        requests, rows = [], []
        errors: dict[int, Exception] = {}
        for row, cells in self._encoder.rows(batch, errors):
            names = tuple(name for name in self._counters if cells[name] is not None)
            try:
                key = self._key(names)
                _need(self._table, key, cells)
                known = self._known_statics(names, cells)
                names = tuple(name for name in names if name not in known)
            except ValueError as error:
                errors[row] = error
                continue
            if names:
                values = [cells[name] for name in (*names, *self._key(names))]
                requests.append(self._statements.bound(self._text(names), values))
                rows.append(row)
        self._statements.execute(requests, rows, errors)
        return errors

    def close(self) -> None:
        if self._added is not None:
            self._added.close()

    def _known_statics(self, names: Sequence[str], cells: Mapping[str, Cell]) -> set[str]:
        """Return the static counters of the row's partition that were added before."""
        added = self._added
        statics = [name for name in self._statics if name in names]
        if added is None or not statics:
            return set()
        partition = _joined([cells[name] for name in self._table.partition_key])
        known = {name: added.get((name, partition)) for name in statics}
        for name, value in known.items():
            if value is not None and value != cells[name]:
                before, now = (int.from_bytes(cell or b"", "big", signed=True) for cell in (value, cells[name]))
                raise ValueError(
                    f"column '{name}': a static counter is added once per partition, and {before} was added to this "
                    f"one, not {now}"
                )
        for name, value in known.items():
            if value is None:
                added.note((name, partition), cells[name] or b"")
        return {name for name, value in known.items() if value is not None}

    def _key(self, names: Sequence[str]) -> list[str]:
        """Return the columns that identify the row; for static counters the partition key."""
        table = self._table
        return table.partition_key if set(names) <= set(table.statics) else table.key

    def _text(self, names: tuple[str, ...]) -> str:
        added = ", ".join(f"{name} = {name} + ?" for name in map(maybe_escape_name, names))
        where = " AND ".join(f"{maybe_escape_name(name)} = ?" for name in self._key(names))
        return f"UPDATE {self._table.name} SET {added} WHERE {where}"


class CellWriter:
    """Writes cells with their own time to live and write time, from columns of the row.

    Cells without a time of their own have *ttl* and *timestamp*; the timestamp rises by one with each row, as that of
    ``session.ingest`` does. *nulls*: "unset" leaves cells unchanged where the row has null, "null" deletes them.
    """

    def __init__(
        self,
        session: Any,
        table: Table,
        columns: Sequence[str],
        consistency_level: int | None,
        *,
        ttl: int | None = None,
        timestamp: int | None = None,
        nulls: str = "unset",
    ) -> None:
        self._table = table
        self._ttl = None if ttl is None else struct.pack(">i", ttl)
        self._timestamp = timestamp
        self._written = 0
        self._deletes = nulls == "null"
        self._statements = _Statements(session, consistency_level, is_idempotent=True)
        timed = {found: name for name in columns if (found := table.timed(name)) is not None}
        plain = [name for name in columns if table.timed(name) is None]
        for (_, name), column in timed.items():
            if name in table.key or name not in plain:
                reason = "a column of the primary key" if name in table.key else "which is not loaded"
                raise UsageError(f"{column} is a time of {name}, {reason}")
        self._values = [name for name in plain if name not in table.key]
        self._times = {name: tuple(timed.get((what, name)) for what in (TTL, WRITETIME)) for name in self._values}
        codecs = self._statements.codecs(self._text(tuple(plain), ttl=False, written=False))
        codecs |= {column: scalar(_TIMES[what]) for (what, _), column in timed.items()}
        self._encoder = _RowEncoder(codecs, table.partition_key)
        self._has_rows = all(name in plain for name in table.clustering_key)

    def write(self, batch: Any) -> dict[int, Exception]:
        """Write the rows of *batch* and return errors by row."""
        requests, rows = [], []
        errors: dict[int, Exception] = {}
        for row, cells in self._encoder.rows(batch, errors):
            now = None if self._timestamp is None else struct.pack(">q", self._timestamp + self._written + row)
            try:
                groups = self._groups(cells, now)
            except ValueError as error:
                errors[row] = error
                continue
            for names, ttl, written in groups:
                text = self._text(names, ttl is not None, written is not None)
                values = [cells[name] for name in names]
                values += [time for time in (ttl, written) if time is not None]
                requests.append(self._statements.bound(text, values))
                rows.append(row)
        self._written += batch.num_rows
        self._statements.execute(requests, rows, errors)
        return errors

    def close(self) -> None:
        """Do nothing: no resource is held."""

    def _groups(self, cells: Mapping[str, Cell], now: Cell) -> list[tuple[tuple[str, ...], Cell, Cell]]:
        """Return the columns of the row grouped by their times, each group with its key; a group of the key alone if
        the row has no values."""
        table = self._table
        is_row = self._has_rows and all(cells[name] is not None for name in table.clustering_key)
        groups: dict[tuple[Cell, Cell, bool], list[str]] = defaultdict(list)
        for name in self._values:
            is_static = name in table.statics
            if cells[name] is not None or (self._deletes and (is_row or is_static)):
                ttl, written = (cells[column] if column else None for column in self._times[name])
                groups[self._ttl if ttl is None else ttl, now if written is None else written, is_static].append(name)
        found = []
        for (ttl, written, is_static), names in groups.items():
            key = table.partition_key if is_static else table.key
            _need(table, key, cells)
            found.append(((*key, *names), ttl, written))
        if is_row and all(is_static for _, _, is_static in groups):
            found.append((tuple(table.key), self._ttl, now))
        return found

    def _text(self, names: tuple[str, ...], ttl: bool, written: bool) -> str:
        using = " AND ".join(["TTL ?"] * ttl + ["TIMESTAMP ?"] * written)
        text = f"INSERT INTO {self._table.name} ({quoted(list(names))}) VALUES ({', '.join('?' * len(names))})"
        return text + (f" USING {using}" if using else "")


class _RowEncoder:
    """Encodes rows of record batches to the bytes of their cells, as ``session.ingest`` sends them."""

    def __init__(self, codecs: Mapping[str, Any], partition_key: Sequence[str]) -> None:
        self._names = list(codecs)
        self._plan = IngestPlan(list(codecs.items()), partition_key=partition_key, nulls="null", tokens=False)

    def rows(self, batch: Any, errors: dict[int, Exception]) -> Iterator[tuple[int, dict[str, Cell]]]:
        """Yield row numbers and cells; rows that cannot be encoded are put into *errors* instead. Raise ValueError if a
        column cannot be converted to the type of the table's column."""
        schema, array = batch.__arrow_c_array__()
        rows = self._plan.reader(schema).rows(array)
        for row in range(len(rows)):
            try:
                data = rows.encode(row)[0]
            except ValueError as error:
                errors[row] = error
                continue
            yield row, dict(zip(self._names, _cells(data), strict=True))


class _Statements:
    """Prepared statements by text, and rows bound to them as bytes."""

    def __init__(self, session: Any, consistency_level: int | None, is_idempotent: bool) -> None:
        self._session = session
        self._level = consistency_level
        self._is_idempotent = is_idempotent
        self._prepared: dict[str, Any] = {}

    def codecs(self, text: str) -> dict[str, Any]:
        """Return the codecs by column name of the bind markers of *text*."""
        return {name: codec for _, _, name, codec in self._of(text)._bind_plan.specs}

    def bound(self, text: str, values: Sequence[Cell]) -> tuple[BoundStatement, None]:
        statement = BoundStatement(self._of(text))
        statement.values = values
        return statement, None

    def execute(self, requests: list[Any], rows: list[int], errors: dict[int, Exception]) -> None:
        """Execute *requests* and store errors in *errors* under their *rows*."""
        results = execute_concurrent(self._session, requests, concurrency=CONCURRENT, raise_on_first_error=False)
        for row, (success, result) in zip(rows, results, strict=True):
            if not success:
                errors.setdefault(row, result)

    def _of(self, text: str) -> Any:
        prepared = self._prepared.get(text)
        if prepared is None:
            prepared = self._prepared[text] = self._session.prepare(text)
            prepared.is_idempotent = self._is_idempotent
            if self._level is not None:
                prepared.consistency_level = self._level
        return prepared


def _cells(data: bytes) -> Iterator[Cell]:
    at = 0
    while at < len(data):
        begin = at + 4
        size = int.from_bytes(data[at:begin], "big", signed=True)
        at = begin + max(size, 0)
        yield None if size < 0 else data[begin:at]


def _joined(cells: Sequence[Cell]) -> bytes:
    """Return one byte string for *cells*; different cells give different strings."""
    return b"".join(len(cell or b"").to_bytes(4, "big") + (cell or b"") for cell in cells)


def _need(table: Table, key: Sequence[str], cells: Mapping[str, Cell]) -> None:
    for name in key:
        if cells.get(name) is None:
            raise ValueError(f"column '{name}': null in a column of the primary key")
