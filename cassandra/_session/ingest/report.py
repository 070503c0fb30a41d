"""Results of an ingest (cassandra.ingest).

L5. Values: objects are not changed after they are returned.
"""

from __future__ import annotations

from typing import Any

from cassandra._base.errors import DriverException
from cassandra._base.objects import public

#: Maximum number of errors in a report: an ingest may run without end.
MOST_ERRORS = 10_000


@public("cassandra.ingest")
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
        self.table = table
        self.rows = rows
        self.bytes = bytes
        self.seconds = seconds
        self.retries = retries
        self.reached = reached
        self.errors: dict[int, Exception] = {} if errors is None else errors
        self.unfinished: list[int] = [] if unfinished is None else unfinished
        self.failed = len(self.errors) if failed is None else failed
        self.unlisted = unlisted

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
        self.report = report

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
