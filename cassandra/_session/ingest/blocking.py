"""An ingest on the calling thread.

L5. The thread reads the source, sends the rows, and waits for in-flight requests: the source is iterated on no other
thread, and a slow source blocks it. An interrupt (Ctrl-C, a signal handler that raises) stops the ingest: no more
requests are sent, the thread waits for in-flight requests at most ``GRACE`` seconds, and the report is attached to the
exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any

from cassandra._base import process
from cassandra._base.errors import ConnectionShutdown, DriverException
from cassandra._core.columns import column_names

from .options import Options, outcome_of
from .progress import Progress
from .report import IngestError, IngestReport, with_report
from .sources import Batch, open_source, rows_in
from .target import Target
from .writing import Writing

GRACE = 2.0
LOOK = 1.0  # maximum seconds between two checks


def ingest(options: Options, data: Any) -> IngestReport:
    """See Session.ingest."""
    session = options.session
    if session._on_io_thread():
        raise DriverException("rows cannot be ingested on the driver's I/O thread (in a callback)")
    batches = open_source(data).batches
    try:
        first = next(batches, None)
        if first is None:
            return IngestReport(options.name)
        names = column_names(first[0])
        target = options.target(session.prepare(options.text(names)), names)
        rows = target.rows(*first, 0)
        writing = Writing(session, target, options.concurrency, options.wish.timestamp, options.stops)
        progress = Progress(options.progress, writing, rows_in(data) if options.progress is True else None)
        writing.take(rows)
        return _run(writing, target, batches, progress, options.stops)
    finally:
        close: Any = getattr(batches, "close", None)
        close()


def _run(writing: Writing, target: Target, batches: Iterator[Batch], progress: Progress, stops: bool) -> IngestReport:
    report: IngestReport | None = None
    try:
        going = True
        while True:
            more = writing.step()
            progress.look()
            if more:
                continue
            if going and writing.hungry:
                going = _feed(writing, target, batches)
            elif writing.is_over:
                break
            else:
                wait(writing, LOOK)
        report = outcome_of(writing, stops)
        return report
    except BaseException as error:
        _stop(writing, error)
        raise
    finally:
        progress.end(report)
        writing.abandon()


def _feed(writing: Writing, target: Target, batches: Iterator[Batch]) -> bool:
    """Start writing the next batch; return False if there was none. An exception of the source ends the ingest after
    the rows taken so far are complete."""
    try:
        batch = next(batches, None)
        if batch is not None:
            writing.take(target.rows(*batch, writing.reached))
        return batch is not None
    except Exception as error:
        writing.end(error)
        return False


def wait(writing: Writing, limit: float) -> None:
    """Wait until a request has ended or is due, at most *limit* seconds."""
    if not writing.has_news:
        if pause := writing.pause():
            sleep(pause)
        due = writing.wait_time()
        writing._wait(limit if due is None else min(limit, due))


def _stop(writing: Writing, error: BaseException) -> None:
    """Stop after *error*: wait at most ``GRACE`` for in-flight requests, and attach the report to *error*."""
    if isinstance(error, IngestError):
        return
    try:
        writing.interrupt()
        process.stay(writing.began_in)
        deadline = monotonic() + GRACE
        while writing.settle() and (left := deadline - monotonic()) > 0:
            if not writing.has_news:
                writing._wait(left)
    except ConnectionShutdown:  # in a forked child: the parent continues
        pass
    finally:
        with_report(error, writing.last_report())
