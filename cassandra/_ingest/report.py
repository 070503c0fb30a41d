"""Results and progress of an ingest, and tasks with which other processes write their own rows (cassandra.ingest).

L6. Reports are values: objects are not changed after they are returned. Progress is reported by
``_session/progress.py``.

An :class:`IngestTask` has the arguments of ``session.ingest`` except the rows; it is called with rows, in any process.
Its session is made by its ``Origin`` (``scan/tasks.py``). It keeps no state between calls, so that rows whose process
was lost can be written again, anywhere.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from cassandra._base.display import MOST_ROWS, Table, rich_display
from cassandra._base.errors import DriverException
from cassandra._base.objects import public
from cassandra._scan.tasks import Importable, Origin
from cassandra._session import progress
from cassandra._session.request.columns import load_library

from .batches import is_pandas, without_index

if TYPE_CHECKING:
    from cassandra._session.session import Session

    from .writing import Writing

#: Maximum number of errors in a report: an ingest may run without end.
MOST_ERRORS = 10_000
ERROR_CHARACTERS = 200  # of an error in a table of a report


def _tables(report: IngestReport) -> list[Table]:
    """Return the figures of *report*, and its first errors, for a notebook."""
    rate = f"{report.rows / report.seconds:,.0f} rows/s" if report.seconds > 0 else ""
    figures = [
        ("written", f"{report.rows:,} rows", rate),
        ("time", f"{report.seconds:.3f} s", ""),
        ("requests", f"{report.bytes:,} bytes", f"{report.retries:,} retries"),
        ("failed", f"{report.failed:,} rows", ""),
        ("unfinished", f"{len(report.unfinished):,} rows", ""),
    ]
    found = [Table(f"Ingest into {report.table}", (("", ""), ("", ""), ("", "")), figures)]
    if report.errors:
        notes = (f"{report.failed - MOST_ROWS:,} more failed rows",) if report.failed > MOST_ROWS else ()
        rows = [(row, type(error).__name__, str(error)) for row, error in islice(report.errors.items(), MOST_ROWS)]
        columns = (("row", ""), ("error", ""), ("message", ""))
        found.append(Table("Failed rows", columns, rows, notes, ERROR_CHARACTERS))
    return found


@public("cassandra.ingest")
@rich_display(_tables)
class IngestReport:
    """Progress or result of an ingest. Rows are numbered from 0 over all batches of the source.

    ``rows`` were written, by ``bytes`` of requests within ``seconds``, with ``retries`` repeated requests; ``failed``
    is the number of failed rows. ``errors`` has their exceptions by row number, but only the first 10,000: if there
    were more, ``unlisted`` is the number of the first row whose error is missing, otherwise it is None. ``reached`` is
    the number of the first row that was not processed. ``unfinished`` are rows before that one with an unknown result:
    their requests were in flight, or waited for a retry, when the ingest was stopped. All other rows before it were
    written.
    """

    __slots__ = (
        "bytes",
        "errors",
        "failed",
        "reached",
        "retries",
        "rows",
        "seconds",
        "table",
        "unfinished",
        "unlisted",
    )

    def __init__(
        self,
        table: str,
        rows: int = 0,
        bytes: int = 0,
        seconds: float = 0.0,
        retries: int = 0,
        reached: int = 0,
        errors: dict[int, Exception] | None = None,
        unfinished: list[int] | None = None,
        failed: int | None = None,
        unlisted: int | None = None,
    ) -> None:
        self.table = table  #: Name of the table.
        self.rows = rows  #: Number of written rows.
        self.bytes = bytes  #: Bytes of the requests.
        self.seconds = seconds  #: Seconds since the beginning.
        self.retries = retries  #: Number of repeated requests.
        self.reached = reached  #: Number of the first row that was not processed.
        #: Exceptions by row number, of the first 10,000 failed rows.
        self.errors: dict[int, Exception] = {} if errors is None else errors
        #: Rows before *reached* with an unknown result.
        self.unfinished: list[int] = [] if unfinished is None else unfinished
        self.failed = len(self.errors) if failed is None else failed  #: Number of failed rows.
        self.unlisted = unlisted  #: Number of the first row whose error is missing; None if there is none.

    def is_done(self, row: int) -> bool:
        """True if *row* was written. False also if that is unknown: only the first errors are kept, up to the row
        ``unlisted``."""
        known = self.reached if self.unlisted is None else self.unlisted
        return 0 <= row < known and row not in self.errors and row not in self.unfinished

    def __repr__(self) -> str:
        rate = f", {self.rows / self.seconds:,.0f} rows/s" if self.seconds > 0 else ""
        failed = f", {_failures(self)}" if self.failed else ""
        open_ = f", {len(self.unfinished):,} unfinished" if self.unfinished else ""
        again = f", {self.retries:,} retries" if self.retries else ""
        return (
            f"<IngestReport: {self.rows:,} rows into {self.table} in {self.seconds:.3f} s{rate}{failed}{open_}{again}>"
        )


@public("cassandra.ingest")
class IngestError(DriverException):
    """Rows of an ingest failed, or it could not continue. ``report`` has the rows that were written, ``errors`` the
    failed ones with their exceptions, so that they can be sent again (see ``report`` for more than 10,000). The cause
    is the first of these errors."""

    def __init__(self, message: str, report: IngestReport) -> None:
        super().__init__(message)
        self.report = report  #: The :class:`IngestReport` of the ingest.

    @property
    def errors(self) -> dict[int, Exception]:
        """Exceptions of the report by row number."""
        return self.report.errors


def _failures(report: IngestReport) -> str:
    listed = "" if report.unlisted is None else f" ({len(report.errors):,} of them are in errors)"
    return f"{report.failed:,} failed{listed}"


def failed(report: IngestReport, cause: BaseException | None = None) -> IngestError:
    """Return the error of the ingest of *report*, ended by *cause*, or by the first failed row."""
    errors = report.errors
    text = f"Not all rows were written to {report.table}: {_failures(report)}, {report.rows:,} were written"
    if report.unfinished:
        text += f", {len(report.unfinished):,} are unfinished"
    if cause is not None:
        text += f". {cause}"
    elif errors:
        first = next(iter(errors))
        cause = errors[first]
        text += f". Row {first}: {cause}"
    error = IngestError(text, report)
    error.__cause__ = cause
    return error


def with_report(error: BaseException, report: IngestReport) -> None:
    """Attach *report* to *error*, which stopped the ingest."""
    error.__dict__["ingest_report"] = report
    add_note: Any = getattr(error, "add_note", None)  # Python 3.11
    if add_note is not None:
        left = f", {len(report.unfinished):,} are unfinished" if report.unfinished else ""
        add_note(
            f"The ingest into {report.table} was stopped: {report.rows:,} rows were written, "
            f"{_failures(report)}{left}. cassandra.ingest.report_of(error) returns the report."
        )


@public("cassandra.ingest")
def report_of(error: BaseException) -> IngestReport | None:
    """Return the report of the ingest that *error* ended, for any exception: an :class:`IngestError`,
    ``KeyboardInterrupt``, the cancellation of its task, or an exception of its source. None if it has no report."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        if isinstance(found, IngestError):
            return found.report
        report: IngestReport | None = found.__dict__.get("ingest_report")
        if report is not None:
            return report
        seen.add(id(found))
        found = found.__cause__ or found.__context__
    return None


# ---- progress reports

Told = Callable[[IngestReport], object]


class _Bar(progress.Bar):
    def show(self, report: IngestReport) -> None:
        self.update(report.rows + report.failed, report.rows)


class Progress(progress.Progress[IngestReport]):
    """Reports the progress of *writing* to *told*; *total* is the number of rows, if known."""

    def __init__(self, told: Told | bool | None, writing: Writing, total: int | None) -> None:
        super().__init__(told, writing.report, lambda: _Bar(writing.table_name, total))


# ---- tasks for other processes


@public("cassandra.ingest")
class IngestTask:
    """Writes rows to a table, in any process; made by :meth:`Session.ingest_task`. It can be pickled."""

    def __init__(self, origin: Origin, table: str, asked: dict[str, Any]) -> None:
        self.table = table  #: Name of the table.
        self._origin = origin
        self._arguments = asked

    def __call__(self, data: Any) -> IngestReport:
        """Write *data*, any source of :meth:`Session.ingest`; of a ``pandas.DataFrame`` without its index. Raises the
        same errors. The first task of a process connects the session."""
        with self._origin.session() as session:
            return session.ingest(self.table, _without_index(data), **self._arguments)

    def over(self, collection: Any) -> list[IngestReport]:
        """Write a ``dask.dataframe`` or a ``ray.data.Dataset`` by the workers of Dask or Ray. Return the report of each
        partition, or block, in its order. Blocks until all are written.

        Rows are numbered within their partition. Partitions are written concurrently, and written again if a worker is
        lost: of rows with the same key in two partitions, either may remain. With ``on_error="raise"`` the first failed
        row ends it with the engine's error, which is :exc:`IngestError` or has it as its cause. TypeError for other
        objects.
        """
        engine = type(collection).__module__.partition(".")[0]
        if engine in ("dask", "dask_expr") and hasattr(collection, "to_delayed"):
            delayed = load_library("dask", "dask").delayed
            write = delayed(_write_part, pure=False)
            reports = delayed(list, pure=False)([write(self, part) for part in collection.to_delayed()])
            found: list[IngestReport] = reports.compute()
            return found
        if engine == "ray" and hasattr(collection, "map_batches"):
            written = collection.map_batches(
                _write_block, batch_size=None, batch_format="pyarrow", fn_args=(pickle.dumps(self),)
            )
            return [pickle.loads(row["report"]) for row in written.take_all()]
        raise TypeError(f"expected a dask.dataframe or a ray.data.Dataset, got {collection!r}; call the task with it")

    def __reduce__(self) -> tuple[Any, ...]:
        """Reduce to a function of this module: cloudpickle finds it independent of which public modules are
        imported."""
        return _unpickle_task, (self._origin, self.table, self._arguments)

    def __repr__(self) -> str:
        return f"<IngestTask into {self.table}>"


def _unpickle_task(origin: Origin, table: str, asked: dict[str, Any]) -> IngestTask:
    return IngestTask(origin, table, asked)


def task_for(
    session: Session,
    table: str,
    connect: Importable | None,
    credentials: Importable | None,
    asked: dict[str, Any],
) -> IngestTask:
    """See Session.ingest_task."""
    if asked["columns"] is not None:
        asked["columns"] = list(asked["columns"])
    asked["already_encrypted"] = list(asked["already_encrypted"])
    *given, already_encrypted, round = asked.values()
    options = session._ingest_options(table, *given, None, already_encrypted, round)
    return IngestTask(Origin(session, connect, credentials), options.name, asked)


def _write_part(task: IngestTask, part: Any) -> IngestReport:
    return task(part)


def _write_block(block: Any, task: bytes) -> dict[str, list[bytes]]:
    """Write a block of Ray; return a row with the pickled report, which is not a type of Ray."""
    return {"report": [pickle.dumps(pickle.loads(task)(block))]}


def _without_index(data: Any) -> Any:
    return without_index(data) if is_pandas(data) else data
