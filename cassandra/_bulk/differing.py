"""``diff``: rows of two tables that are only in one of them, or that have other values (L6).

Both tables are read in token order, over the same ranges. Equal batches are skipped as a whole; where something
differs, rows are paired by key, as long as their tokens are equal: memory holds two batches and, of one partition, the
rows without a partner. Values are compared in a form in which they are equal if their bytes are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from cassandra._core.columns import IngestPlan

from .connecting import Context, columns_of
from .console import DIFFERENT, DONE, ClosedPipe, ProgressDisplay, UsageError, tell
from .files import need_pyarrow
from .options import Style
from .tables import Table, quoted
from .texts_out import texts_of
from .unloading import Checkpoint, Coverage, part_of_ring, scan_of

STRIDE = 512  # rows that are compared one by one where a batch differs
BATCH_ROWS = 8192


# ---- comparable forms of values


def exact(batch: Any) -> Any:
    """Return *batch*, a record batch of PyArrow, with floats and moments as integers of the same bits. So 0.0 differs
    from -0.0, and a NaN is equal to a NaN with the same payload. Nothing is copied."""
    import pyarrow as pa

    columns = []
    for column in batch.columns:
        storage = column.storage if isinstance(column, pa.ExtensionArray) else column
        columns.append(_exact(storage))
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def comparable(batch: Any) -> dict[str, list[Any]]:
    """Return the columns of an :func:`exact` batch as lists of values that are equal if their bytes are."""
    return {name: column.to_pylist() for name, column in zip(batch.schema.names, batch.columns, strict=True)}


def _exact(array: Any) -> Any:
    bits = _bits(array.type)
    return array if bits == array.type else array.view(bits)


def _bits(type_: Any) -> Any:
    """Return *type_* with integers in place of floats and of types that have no exact Python objects."""
    import pyarrow as pa

    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return _bits(type_.storage_type)
    if types.is_float32(type_) or types.is_date32(type_):
        return pa.int32()
    if types.is_float64(type_) or types.is_timestamp(type_) or types.is_time64(type_):
        return pa.int64()
    if types.is_map(type_):
        return pa.map_(_bits(type_.key_type), _bits(type_.item_type))
    if types.is_fixed_size_list(type_):
        return pa.list_(_bits(type_.value_type), type_.list_size)
    if types.is_list(type_):
        return pa.list_(_bits(type_.value_type))
    if types.is_struct(type_):
        return pa.struct([pa.field(field.name, _bits(field.type)) for field in type_])
    return type_


# ---- the command


def diff(context: Context) -> int:
    need_pyarrow()
    arguments = context.arguments
    sessions = [context.session()]
    sessions.append(sessions[0] if arguments.to is None else context.session(arguments.to))
    names = (arguments.table, arguments.target)
    tables = [context.table(session, name) for session, name in zip(sessions, names, strict=True)]
    columns = _common(tables, columns_of(arguments.columns))
    what = {
        "command": "diff",
        "tables": [table.identity for table in tables],
        "where": arguments.where,
        "columns": columns,
    }
    checkpoint = Checkpoint(context.checkpoint(f"diff-{tables[0].file_name}-{tables[1].file_name}.json"), what)
    if arguments.resume:
        checkpoint.resume()
    state = checkpoint.state
    coverage = Coverage(part_of_ring(None, None), state.get("ranges", ()))
    display = context.display(f"diff {tables[0].name} {tables[1].name}")
    found = Differences(state.get("found", [0, 0, 0]), state.get("rows", 0), arguments.show)
    display.begin_at(found.rows)
    left = coverage.left()
    try:
        if left:
            _compare(sessions, tables, columns, left, context, coverage, found, display)
    except (UsageError, ClosedPipe):
        raise
    except BaseException:
        with context.held:
            counts, rows = found.saved
            checkpoint.state = {"ranges": coverage.as_lists(), "found": counts, "rows": rows}
            checkpoint.save()
        display.note(f"--resume goes on ({checkpoint.path})")
        raise
    checkpoint.remove()
    display.update(found.rows, 1.0)
    only_here, only_there, different = found.counts
    display.summary(
        "compared",
        f"{only_here:,} only in {tables[0].name}",
        f"{only_there:,} only in {tables[1].name}",
        f"{different:,} different",
    )
    return DIFFERENT if any(found.counts) else DONE


def _common(tables: list[Table], wanted: list[str] | None) -> list[str]:
    """Return the columns to compare. Raise UsageError if the tables are not comparable."""
    here, there = tables
    if here.key != there.key or here.partition_key != there.partition_key:
        raise UsageError(f"{here.name} and {there.name} have different primary keys")
    if wanted is None:
        if set(here.columns) != set(there.columns):
            only = ", ".join(sorted(set(here.columns) ^ set(there.columns)))
            raise UsageError(f"only one of the tables has the columns {only}: choose columns with --columns")
        wanted = here.columns
    columns = here.key + [name for name in there.check(here.check(wanted)) if name not in here.key]
    for name in columns:
        types = [str(table.metadata.columns[name].cql_type).replace("frozen<", "<") for table in tables]
        if types[0] != types[1]:
            raise UsageError(f"{name} has different types: {types[0]} and {types[1]}")
    return columns


class Differences:
    """Differences: rows only here, rows only there, rows with other values; the first ones are shown."""

    def __init__(self, counts: list[int], rows: int, most: int) -> None:
        self.counts = list(counts)
        self.rows = rows
        self._left = most
        self.saved = (list(counts), rows)

    def note(self, which: int, key: str, more: str = "") -> None:
        self.counts[which] += 1
        if self._left > 0:
            self._left -= 1
            tell(f"{'<>!'[which]} {key}{more}")
        elif self._left == 0:
            self._left = -1
            tell("... (--show N shows more)")

    def save(self) -> None:
        """Save the counts: a range is complete."""
        self.saved = (list(self.counts), self.rows)


def _compare(
    sessions: list[Any],
    tables: list[Table],
    columns: list[str],
    left: list[Any],
    context: Context,
    coverage: Coverage,
    found: Differences,
    display: ProgressDisplay,
) -> None:
    scans = [
        scan_of(
            session,
            table.name,
            columns=columns,
            where=context.arguments.where,
            token_range=left,
            consistency_level=context.compares,
            target_rows=BATCH_ROWS,
        )
        for session, table in zip(sessions, tables, strict=True)
    ]
    # Both scans read the same ranges, even if the other cluster has another ring.
    with ExitStack() as stack:
        readings = [scans[0]._reading(ordered=True)]
        readings.append(scans[1]._reading(ordered=True, ranges=readings[0].plan.ranges))
        here, there = (
            stack.enter_context(context.waits.reading(*each, context.compares))
            for each in zip(readings, sessions, tables, strict=True)
        )
        sides = [Side(*each, columns) for each in zip((here, there), sessions, tables, strict=True)]
        for number, token_range in enumerate(here.plan.ranges):
            pair = _Pair(sides[0].of_range(number), sides[1].of_range(number), columns, found)
            pair.compare(lambda: display.update(found.rows, coverage.part()))
            with context.held:
                coverage.add(token_range)
                found.save()


class Side:
    """One of the tables: batches by range, in token order."""

    def __init__(self, reading: Any, session: Any, table: Table, columns: list[str]) -> None:
        self._reading = reading
        self._table = table
        self._columns = columns
        self._event: Any = None
        where = " AND ".join(f"{quoted([name])} = ?" for name in table.partition_key)
        prepared = session.prepare(f"SELECT {quoted(table.partition_key[:1])} FROM {table.name} WHERE {where}")
        specs = [(name, codec) for _, _, name, codec in prepared._bind_plan.specs]
        self._keys = IngestPlan(specs, partition_key=table.partition_key)

    def of_range(self, number: int) -> Iterator[Batch]:
        """Yield the batches of a range."""
        import pyarrow as pa

        while True:
            if self._event is None:
                self._event = next(self._reading, None)
            event = self._event
            if event is None or event.number != number:
                return
            self._event = None
            if event.kind == "batch":
                yield Batch(pa.record_batch(event.batch), self._table, self._keys)
            elif event.kind == "restarted":
                raise RuntimeError(f"{self._table.name} changed while it was read: {event.error}")
            else:
                return


class Batch:
    """Rows of one side; keys and values are computed on first use."""

    def __init__(self, batch: Any, table: Table, keys: Any) -> None:
        self.batch = batch
        self.exact = exact(batch)
        self._table = table
        self._keys = keys
        self._rows: Any = None
        self._values: dict[str, list[Any]] | None = None

    def key(self, row: int) -> tuple[int, Any]:
        """Return the token of a row, and a key that identifies the row among those with this token."""
        if self._rows is None:
            part = self.batch.select(self._table.partition_key)
            schema, array = part.__arrow_c_array__()
            self._rows = self._keys.reader(schema).rows(array)
        partition, token = self._rows.encode(row)
        return token, (partition, repr([self.values[name][row] for name in self._table.clustering_key]))

    @property
    def values(self) -> dict[str, list[Any]]:
        if self._values is None:
            self._values = comparable(self.exact)
        return self._values

    def shown_key(self, row: int) -> str:
        """Return the primary key of a row as readable text."""
        kinds = self._table.kinds
        one = self.batch.slice(row, 1)
        texts = {name: texts_of(one.column(name), kinds[name], Style())[0].as_py() for name in self._table.key}
        return " ".join(f"{name}={text}" for name, text in texts.items())


class _Reader:
    """Position of one side within a range."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches
        self.batch: Batch | None = None
        self.row = 0
        self._known: tuple[int, Any] | None = None
        self.step(0)

    def step(self, rows: int) -> None:
        """Advance by *rows*."""
        self.row += rows
        self._known = None
        while self.batch is None or self.row >= self.batch.batch.num_rows:
            self.batch = next(self._batches, None)
            self.row = 0
            if self.batch is None:
                return

    @property
    def left(self) -> int:
        """Number of rows left in the current batch."""
        return 0 if self.batch is None else self.batch.batch.num_rows - self.row

    def key(self) -> tuple[int, Any]:
        if self._known is None:
            assert self.batch is not None
            self._known = self.batch.key(self.row)
        return self._known

    def rest(self, rows: int) -> Any:
        """Return the next *rows* rows, in comparable form."""
        assert self.batch is not None
        return self.batch.exact.slice(self.row, rows)


class _Pair:
    """Comparison of both sides within a range."""

    def __init__(self, here: Iterator[Batch], there: Iterator[Batch], columns: list[str], found: Differences) -> None:
        self._sides = (_Reader(here), _Reader(there))
        self._columns = columns
        self._differences = found
        self._waiting: tuple[dict[Any, tuple[Batch, int]], ...] = ({}, {})
        self._token: int | None = None

    def compare(self, look: Any) -> None:
        here, there = self._sides
        strides = 0
        while here.left or there.left:
            rows = min(here.left, there.left)
            if rows and not strides and not any(self._waiting) and self._are_same(rows):
                look()
                continue
            strides = STRIDE if not strides else strides - 1
            self._take_row()
            if strides == 1 or not strides:
                strides = 0
                look()
        self._flush()

    def _are_same(self, rows: int) -> bool:
        """Skip the next rows of both sides if they are equal."""
        here, there = self._sides
        if not here.rest(rows).equals(there.rest(rows)):
            return False
        here.step(rows)
        there.step(rows)
        self._differences.rows += rows
        return True

    def _take_row(self) -> None:
        """Take one row: of the side with the lesser token, or with fewer rows without a partner."""
        here, there = self._sides
        if not here.left or not there.left:
            which = 0 if here.left else 1
        else:
            tokens = here.key()[0], there.key()[0]
            if tokens[0] != tokens[1]:
                which = 0 if tokens[0] < tokens[1] else 1
            else:
                which = 0 if len(self._waiting[0]) <= len(self._waiting[1]) else 1
        side = self._sides[which]
        token, key = side.key()
        if token != self._token:
            self._flush()
            self._token = token
        assert side.batch is not None
        mine = (side.batch, side.row)
        other = self._waiting[1 - which].pop(key, None)
        if other is None:
            self._waiting[which][key] = mine
        else:
            self._match(mine, other)
            self._differences.rows += 1
        side.step(1)

    def _match(self, mine: tuple[Batch, int], other: tuple[Batch, int]) -> None:
        (batch, row), (twin, place) = mine, other
        changed = [name for name in self._columns if batch.values[name][row] != twin.values[name][place]]
        if changed:
            self._differences.note(2, batch.shown_key(row), ": " + ", ".join(changed))

    def _flush(self) -> None:
        """Report the waiting rows: they have no partner."""
        for which, waiting in enumerate(self._waiting):
            for batch, row in waiting.values():
                self._differences.note(which, batch.shown_key(row))
                self._differences.rows += 1
            waiting.clear()
