"""Bulk: how a session writes many rows at once, which Session has.

L5. All of it is in ``ingest``, which is imported when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from .ingest.options import Options
    from .ingest.report import IngestReport

BATCH_ROWS = 32


class ArrowStreamable(Protocol):
    """Gives its rows as a C stream of Arrow's."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class ArrowArrayable(Protocol):
    """Is a record batch of Arrow's."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...


Piece = ArrowStreamable | ArrowArrayable | Mapping[str, Any]


class Bulk:
    """What a session is asked for rows by the million."""

    def ingest(
        self,
        table: str,
        data: Piece | Iterable[Piece],
        *,
        columns: Iterable[str] | None = None,
        ttl: int | None = None,
        timestamp: int | None = None,
        nulls: Literal["unset", "null"] = "unset",
        consistency_level: int | None = None,
        concurrency: int | Literal["auto"] = "auto",
        batch_rows: int = BATCH_ROWS,
        on_error: Literal["raise", "collect"] = "raise",
        progress: Callable[[IngestReport], object] | bool | None = None,
    ) -> IngestReport:
        """Write the rows of *data* to *table*, ``"table"`` or ``"keyspace.table"``, straight from Arrow's buffers.

        :param data: a table, record batch or data frame (whatever has ``__arrow_c_stream__`` or ``__arrow_c_array__``),
            a mapping of column names and NumPy arrays, or an iterable of these, which may be endless. It is read no
            faster than its rows are written.
        :param columns: write these columns of the data; else all, and one that the table has not is an error.
        :param ttl: seconds that the rows live.
        :param timestamp: write time of the first row, in microseconds since 1970; each that follows is one later. Else
            the session's clock gives them, ascending too: of rows with the same primary key the last one stays.
        :param nulls: "unset" leaves a column as it is where the data has null, "null" deletes what is there.
        :param concurrency: requests in flight; "auto" finds out how many each node takes.
        :param batch_rows: rows that follow each other in one partition go as one unlogged batch of at most so many; 1
            writes each alone.
        :param on_error: "raise" stops reading at the first row that fails; "collect" goes on, and the report has them.
        :param progress: called with the report so far, now and then; True shows a bar.

        Rows are written again, as they were, when a node had no time, did not answer or was lost, for up to a minute.
        Raises ValueError, with all that does not fit, before anything is written, and :exc:`IngestError` when rows have
        failed; what the source raises comes out of here. ``cassandra.ingest.report_of`` tells of any exception, Ctrl-C
        too, which rows were written. Example::

            report = session.ingest("shop.orders", pyarrow.parquet.read_table("orders.parquet"))

        .. versionadded:: 4.0
        """
        from .ingest.blocking import ingest

        return ingest(
            self._ingest_options(
                table, columns, ttl, timestamp, nulls, consistency_level, concurrency, batch_rows, on_error, progress
            ),
            data,
        )

    async def ingest_async(
        self,
        table: str,
        data: Piece | Iterable[Piece] | AsyncIterable[Piece],
        *,
        columns: Iterable[str] | None = None,
        ttl: int | None = None,
        timestamp: int | None = None,
        nulls: Literal["unset", "null"] = "unset",
        consistency_level: int | None = None,
        concurrency: int | Literal["auto"] = "auto",
        batch_rows: int = BATCH_ROWS,
        on_error: Literal["raise", "collect"] = "raise",
        progress: Callable[[IngestReport], object] | bool | None = None,
    ) -> IngestReport:
        """As :meth:`ingest`, without blocking the running loop. *data* may be an asynchronous iterable, too; other
        iterables are iterated on the loop's thread. A cancelled task sends no more rows, and waits for those in flight,
        but not long.

        .. versionadded:: 4.0
        """
        from .ingest.awaiting import ingest_async

        return await ingest_async(
            self._ingest_options(
                table, columns, ttl, timestamp, nulls, consistency_level, concurrency, batch_rows, on_error, progress
            ),
            data,
        )

    def _ingest_options(self, *given: Any) -> Options:
        from .ingest.options import Options

        return Options(self, *given)  # type: ignore[arg-type]
