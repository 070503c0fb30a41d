"""``copy``: copy a table into another one, in the same or another cluster (L6).

``count``: count the rows of a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from .connecting import Context, columns_of
from .console import DIFFERENT, DONE, TooManyFailed, UsageError, tell
from .files import need_pyarrow
from .unloading import Checkpoint, Coverage, part_of_ring, scan_of, with_times
from .writer import SourceBatch, TableWriter, WriteOptions


def copy(context: Context) -> int:
    need_pyarrow()
    arguments = context.arguments
    session = context.session()
    other = session if arguments.to is None else context.session(arguments.to)
    source, target = context.table(session, arguments.table), context.table(other, arguments.target)
    if other is session and source.name == target.name:
        raise UsageError("both tables are the same")
    if target.counters and arguments.resume:
        raise UsageError("a copy of counters cannot be resumed: counters would be added twice")
    columns = source.check(columns_of(arguments.columns) or source.columns)
    target.check(columns)
    display = context.display(f"copy {source.name} to {target.name}")
    selected, names = with_times(source, columns, arguments, display)
    what = {
        "command": "copy",
        "from": source.identity,
        "to": target.identity,
        "where": arguments.where,
        "columns": names,
    }
    checkpoint = Checkpoint(context.checkpoint(f"copy-{source.file_name}-{target.file_name}.json"), what)
    if arguments.resume:
        checkpoint.resume()
    coverage = Coverage(part_of_ring(None, None), checkpoint.state.get("ranges", ()))
    before = checkpoint.state.get("rows", 0)
    display.begin_at(before)
    shown = [0]
    failures: Counter[str] = Counter()  # by the range

    def show(rows: int) -> None:
        display.update(before + rows, coverage.part())
        context.waits.look(other, target, context.writes, writer.failures)

    def failed(origin: Any, row: int, error: Exception) -> None:
        failures[origin] += 1
        display.rejected += 1
        shown[0] += 1
        if shown[0] <= 10:
            display.note(f"row {row} of tokens {origin}: {error}")

    writer = TableWriter(
        other,
        target,
        names,
        WriteOptions(
            nulls=arguments.nulls,
            consistency_level=context.writes,
            counters=arguments.counters,
            most_errors=arguments.max_insert_errors,
            often=arguments.checkpoint_every,
        ),
        failures=failed,
        shown=show,
    )
    complete: list[tuple[Any, int]] = []  # ranges, and their row counts
    kept = before  # rows of complete ranges, which are not copied again

    def save() -> None:
        checkpoint.state = {"ranges": coverage.as_lists(), "rows": kept}
        checkpoint.save()

    def note() -> None:
        nonlocal kept
        while complete:
            token_range, rows = complete.pop()
            coverage.add(token_range)
            kept += rows - failures.pop(_name(token_range), 0)
        save()

    left = coverage.left()
    scan = scan_of(
        session,
        source.name,
        columns=selected,
        where=arguments.where,
        token_range=left or None,
        consistency_level=context.reads,
    )
    try:
        if left:
            with context.waits.reading(scan._reading(), session, source, context.reads) as reading:
                batches = _batches(reading, names, complete, bool(target.counters))
                writer.write(context.pace.batches(batches), note)
            note()
    except BaseException as error:
        with context.held:
            writer.undone(error)
            save()
        display.note(f"{kept:,} rows of complete ranges were copied; --resume continues ({checkpoint.path})")
        if isinstance(error, TooManyFailed):
            display.note(str(error))
            return DIFFERENT
        raise
    checkpoint.remove()
    display.update(before + writer.rows, 1.0)
    display.summary("copied", *([f"{writer.failed:,} failed"] * bool(writer.failed)))
    return DIFFERENT if writer.failed else DONE


def _batches(reading: Any, names: list[str], complete: list[tuple[Any, int]], once: bool) -> Iterator[SourceBatch]:
    """Yield the rows of *reading*. A range that restarts is written again, which changes nothing, except for counters
    (*once*): they would be added twice. Ranges are appended to *complete* when the rows yielded before were written."""
    import pyarrow as pa

    numbers: dict[int, int] = {}
    for event in reading:
        if event.kind == "batch":
            first = numbers.get(event.number, 0)
            numbers[event.number] = first + len(event.batch)
            batch = pa.record_batch(event.batch)
            batch = pa.RecordBatch.from_arrays(
                batch.columns,
                schema=pa.schema([field.with_name(name) for field, name in zip(batch.schema, names, strict=True)]),
            )
            yield SourceBatch(batch, _name(event.token_range), range(first, first + len(event.batch)))
        elif event.kind == "restarted":
            if once and numbers.get(event.number):
                raise RuntimeError(f"counters of {event.token_range} would be added twice: {event.error}")
            numbers.pop(event.number, None)
        else:
            complete.append((event.token_range, numbers.pop(event.number, 0)))


def _name(token_range: Any) -> str:
    """Return the name of a range in error messages of its rows."""
    return f"{token_range.start} to {token_range.end}"


def count(context: Context) -> int:
    arguments = context.arguments
    session = context.session()
    table = context.table(session, arguments.table)
    what = {"command": "count", "table": table.identity, "where": arguments.where}
    checkpoint = Checkpoint(context.checkpoint(f"count-{table.file_name}.json"), what)
    if arguments.resume:
        checkpoint.resume()
    coverage = Coverage(part_of_ring(None, None), checkpoint.state.get("ranges", ()))
    rows = checkpoint.state.get("rows", 0)
    display = context.display(f"count {table.name}")
    display.begin_at(rows)
    open_ranges: dict[int, int] = {}
    left = coverage.left()
    try:
        if left:
            scan = scan_of(
                session,
                table.name,
                columns=table.partition_key[:1],
                where=arguments.where,
                token_range=left,
                consistency_level=context.reads,
            )
            with context.waits.reading(scan._reading(), session, table, context.reads) as reading:
                for event in reading:
                    with context.held:
                        rows += _rows_to_add(event, open_ranges, coverage)
                    display.update(rows + sum(open_ranges.values()), coverage.part())
    except (UsageError, ValueError):
        raise
    except BaseException:
        with context.held:
            checkpoint.state = {"ranges": coverage.as_lists(), "rows": rows}
            checkpoint.save()
        display.note(f"{rows:,} rows were counted; --resume continues ({checkpoint.path})")
        raise
    checkpoint.remove()
    display.update(rows, 1.0)
    display.summary("counted")
    tell(str(rows))
    return DONE


def _rows_to_add(event: Any, open_ranges: dict[int, int], coverage: Coverage) -> int:
    """Return the number of rows to add to the count: those of a range when it is complete."""
    if event.kind == "batch":
        open_ranges[event.number] = open_ranges.get(event.number, 0) + len(event.batch)
    elif event.kind == "restarted":
        open_ranges.pop(event.number, None)
    else:
        coverage.add(event.token_range)
        return open_ranges.pop(event.number, 0)
    return 0
