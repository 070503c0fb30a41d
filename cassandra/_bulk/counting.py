"""``count``: count the rows of a table (L6)."""

from __future__ import annotations

from typing import Any

from .checkpoint import Checkpoint
from .context import Context
from .errors import DONE, UsageError
from .ranges import Coverage, part_of_ring, scan_of
from .showing import tell
from .tables import Table


def count(context: Context) -> int:
    arguments = context.arguments
    session = context.session()
    table = Table(session, arguments.table)
    what = {"command": "count", "table": table.identity, "where": arguments.where}
    checkpoint = Checkpoint(context.checkpoint(f"count-{table.file_name}.json"), what)
    if arguments.resume:
        checkpoint.resume()
    coverage = Coverage(part_of_ring(None, None), checkpoint.state.get("ranges", ()))
    rows = checkpoint.state.get("rows", 0)
    showing = context.showing(f"count {table.name}")
    showing.begin_at(rows)
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
            with scan._reading() as reading:
                for piece in reading:
                    with context.held:
                        rows += _counted(piece, open_ranges, coverage)
                    showing.update(rows + sum(open_ranges.values()), coverage.part())
    except (UsageError, ValueError):
        raise
    except BaseException:
        with context.held:
            checkpoint.state = {"ranges": coverage.as_lists(), "rows": rows}
            checkpoint.save()
        showing.note(f"{rows:,} rows were counted; --resume continues ({checkpoint.path})")
        raise
    checkpoint.remove()
    showing.update(rows, 1.0)
    showing.summary("counted")
    tell(str(rows))
    return DONE


def _counted(piece: Any, open_ranges: dict[int, int], coverage: Coverage) -> int:
    """Return the number of rows to add to the count: those of a range when it is complete."""
    if piece.kind == "batch":
        open_ranges[piece.number] = open_ranges.get(piece.number, 0) + len(piece.batch)
    elif piece.kind == "restarted":
        open_ranges.pop(piece.number, None)
    else:
        coverage.add(piece.token_range)
        return open_ranges.pop(piece.number, 0)
    return 0
