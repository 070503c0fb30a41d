"""An ingest on the calling thread, or as a task of an asyncio loop (L6).

The thread that calls :func:`ingest` reads the source, sends the rows, and waits for in-flight requests: the source is
iterated on no other thread, and a slow source blocks it. An interrupt (Ctrl-C, a signal handler that raises) stops the
ingest: no more requests are sent, the thread waits for in-flight requests at most ``GRACE`` seconds, and the report is
attached to the exception.

In a task (:func:`ingest_async`) everything runs on the loop's thread, in slices, so that the loop is never blocked for
long. A source that may block runs elsewhere: an Arrow C stream on a thread of the loop's executor. Other iterables are
iterated on the loop, as they may belong to its thread; slow ones should be asynchronous: while the next item is
awaited, in a task, responses are processed. Cancellation stops it as an interrupt stops an ingest on a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from functools import partial
from time import monotonic
from typing import Any

from cassandra._base import process
from cassandra._base.errors import ConnectionShutdown, DriverException

from .batches import Batch, RowForm
from .report import IngestError, IngestReport, Progress, with_report
from .sources import Options, batches_of_async, open_rows, open_source, outcome_of, rows_in
from .target import IngestTarget
from .writing import Writing

GRACE = 2.0  # maximum seconds for in-flight requests after an interrupt
LOOK = 1.0  # maximum seconds between two checks


# ---- on the calling thread


def ingest(options: Options, data: Any) -> IngestReport:
    """See Session.ingest."""
    session = options.session
    if session._on_io_thread():
        raise DriverException("rows cannot be ingested on the driver's I/O thread (in a callback)")
    form = options.form()
    batches = open_source(data, form).batches
    try:
        first = next(batches, None)
        if first is None:
            return IngestReport(options.name)
        names = first.names
        target = options.target(session.prepare(options.text(names)), names)
        rows = target.rows(first, 0)
        writing = Writing(session, target, options.concurrency, options.target_options.timestamp, options.stops)
        progress = Progress(options.progress, writing, rows_in(data, form) if options.progress is True else None)
        writing.add_rows(rows)
        return _run(writing, target, batches, progress, options.stops)
    finally:
        close: Any = getattr(batches, "close", None)
        close()


def _run(
    writing: Writing, target: IngestTarget, batches: Iterator[Batch], progress: Progress, stops: bool
) -> IngestReport:
    report: IngestReport | None = None
    try:
        going = True
        while True:
            more = writing.step()
            progress.look()
            if more:
                continue
            if going and writing.needs_rows:
                going = _feed(writing, target, partial(next, batches, None))
            elif writing.is_over:
                break
            else:
                writing.wait(LOOK)
        report = outcome_of(writing, stops)
        writing.report_end(None)
        return report
    except BaseException as error:
        _stop(writing, error)
        writing.report_end(error)
        raise
    finally:
        progress.end(report)
        writing.abandon()


def _feed(writing: Writing, target: IngestTarget, take: Callable[[], Batch | None]) -> bool:
    """Start writing the batch that *take* returns; return False if there is none. An exception of the source ends the
    ingest after the rows taken so far are complete."""
    try:
        batch = take()
        if batch is not None and not writing.stopping:
            writing.add_rows(target.rows(batch, writing.reached))
        return batch is not None
    except Exception as error:
        writing.end(error)
        return False


def _stop(writing: Writing, error: BaseException) -> None:
    """Stop after *error*: wait at most ``GRACE`` for in-flight requests, and attach the report to *error*."""
    if isinstance(error, IngestError):
        return
    try:
        writing.interrupt()
        process.check_process(writing.began_in)
        deadline = monotonic() + GRACE
        while writing.collect_outcomes() and (left := deadline - monotonic()) > 0:
            if not writing.has_news:
                writing._wait(left)
    except ConnectionShutdown:  # in a forked child: the parent continues
        pass
    finally:
        with_report(error, writing.last_report())


# ---- on an asyncio loop


async def ingest_async(options: Options, data: Any) -> IngestReport:
    """See Session.ingest_async."""
    session, form = options.session, options.form()
    source = _Source(data, form)
    try:
        first = await source.request()
        if first is None:
            return IngestReport(options.name)
        names = first.names
        target = options.target(await session.prepare_async(options.text(names)), names)
        rows = target.rows(first, 0)
        writing = Writing(session, target, options.concurrency, options.target_options.timestamp, options.stops)
        writing.use_loop()
        progress = Progress(options.progress, writing, rows_in(data, form) if options.progress is True else None)
        writing.add_rows(rows)
        return await _run_async(writing, target, source, progress, options.stops)
    finally:
        await source.close()


class _Source:
    """Returns the batches of *data*, one at a time."""

    def __init__(self, data: Any, form: RowForm) -> None:
        self._loop = asyncio.get_running_loop()
        self._later: AsyncIterator[Batch] | None = None
        self._batches: Iterator[Batch] = iter(())
        self._blocks = False
        self.coming: asyncio.Future[Batch | None] | None = None
        opened = open_rows(data, form.columns)
        if opened is None and isinstance(data, AsyncIterable):
            self._later = aiter(batches_of_async(data, form))
        else:
            self._batches, self._blocks = opened or open_source(data, form)

    def request(self) -> asyncio.Future[Batch | None]:
        """Request the next batch, and return its future; the result is None at the end."""
        if self._later is not None:
            self.coming = self._loop.create_task(_next_of(self._later))
        elif self._blocks:
            self.coming = self._loop.run_in_executor(None, next, self._batches, None)
        else:
            self.coming = self._loop.create_future()
            try:
                self.coming.set_result(next(self._batches, None))
            except Exception as error:
                self.coming.set_exception(error)
        return self.coming

    async def close(self) -> None:
        """Stop requesting batches. A thread that waits for a batch is not interrupted; its batch is dropped."""
        coming, self.coming = self.coming, None
        if coming is not None and not coming.done():
            coming.cancel()
            if self._later is None:
                return
            await asyncio.wait([coming])
        for batches, close in ((self._batches, "close"), (self._later, "aclose")):
            end = getattr(batches, close, None)
            if end is not None:
                ended = end()
                if ended is not None:
                    await ended


async def _next_of(batches: AsyncIterator[Batch]) -> Batch | None:
    try:
        return await anext(batches)
    except StopAsyncIteration:
        return None


async def _run_async(
    writing: Writing, target: IngestTarget, source: _Source, progress: Progress, stops: bool
) -> IngestReport:
    report: IngestReport | None = None
    coming: asyncio.Future[Batch | None] | None = None
    going = True
    try:
        while True:
            more = writing.step()
            progress.look()
            if more:
                await asyncio.sleep(0)
                continue
            if going and coming is None and writing.needs_rows:
                coming = source.request()
                coming.add_done_callback(writing.wake)
            if coming is not None and coming.done():
                going = _feed(writing, target, coming.result)
                coming = None
                await asyncio.sleep(0)
            elif writing.is_over and (coming is None or writing.stopping):
                break
            else:
                await writing.wait_async(LOOK)
        report = outcome_of(writing, stops)
        writing.report_end(None)
        return report
    except BaseException as error:
        await _stop_async(writing, error)
        writing.report_end(error)
        raise
    finally:
        progress.end(report)
        writing.abandon()


async def _stop_async(writing: Writing, error: BaseException) -> None:
    """Stop after *error*: wait at most ``GRACE`` for in-flight requests, and attach the report to *error*."""
    if isinstance(error, IngestError):
        return
    try:
        writing.interrupt()
        if writing.began_in is process.current:
            deadline = monotonic() + GRACE
            while writing.collect_outcomes() and (left := deadline - monotonic()) > 0:
                await writing.wait_async(left)
    finally:
        with_report(error, writing.last_report())
