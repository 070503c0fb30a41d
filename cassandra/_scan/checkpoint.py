"""Progress of a scan: the completed part of the ring, checkpoints to resume from, and reports (cassandra.scan).

L6. The completed part of the ring is a :class:`Coverage`, for one thread at a time. Its spans are ``(start, end)`` for
start < token <= end, so that neighbours share a number. They are tokens, not the ranges of a scan: another scan of the
same rows subtracts the completed parts from its own ranges, with any partitioning of the ring.

A :class:`Checkpoint` is a value: it is not changed after creation. It has the completed parts, and for a fold their
accumulators. An accumulator is kept as its pickle, which each resumed fold unpickles. The accumulator of a finished
fold is pickled only when the checkpoint is used, which is rare. A file has a title line, a line with the digest of the
rest, a line of JSON with everything but the accumulators, and the pickles of these. Reading a file unpickles nothing.

A :class:`ProgressRecorder` counts the scan events of one reading, and reports the progress (``_session/progress.py``).
It belongs to the thread or task that takes the events, except the list of completed ranges: that only grows, so that a
checkpoint, by any thread or by a signal handler at any point, reads it without a lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._base.errors import DriverException
from cassandra._base.objects import public
from cassandra._routing.tokens import TokenRange
from cassandra._session import progress

from .reading import BATCH, DONE, ScanEvent

if TYPE_CHECKING:
    from cassandra._core.columns import RecordBatch

    from .plan import ScanPlan

Span = tuple[int, int]
RING = (1 << 64) - 1  # number of tokens of the ring; the lowest int64 is not a token

MAGIC = "fastcql scan checkpoint"
VERSION = 1
MOST_BYTES = 1 << 34  # maximum size of a file

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Coverage:
    """Ordered spans that do not touch one another."""

    __slots__ = ("_ends", "_starts", "size")

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.size = 0  # number of tokens
        for span in spans:
            self.add(span)

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(zip(self._starts, self._ends, strict=True))

    def add(self, span: Span) -> None:
        """Add *span*; parts that are already covered count once."""
        start, end = span
        first = bisect_left(self._ends, start)  # spans that end before it do not touch it
        last = bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
            self.size -= sum(self._ends[first:last]) - sum(self._starts[first:last])
        self._starts[first:last], self._ends[first:last] = [start], [end]
        self.size += end - start

    def has(self, span: Span) -> bool:
        """True if *span* is covered completely."""
        at = bisect_right(self._starts, span[0]) - 1
        return at >= 0 and span[1] <= self._ends[at]

    def left_of(self, span: Span) -> list[Span]:
        """Return the parts of *span* that are not covered, in order."""
        start, end = span
        left: list[Span] = []
        for at in range(bisect_right(self._ends, start), bisect_left(self._starts, end)):
            if start < self._starts[at]:
                left.append((start, self._starts[at]))
            start = max(start, self._ends[at])
        if start < end:
            left.append((start, end))
        return left


# ---- checkpoints of a scan


@public("cassandra.scan")
class CheckpointError(DriverException, ValueError):
    """A checkpoint cannot be made, read, or resumed; the message has the reason."""


class SavedAccumulator:
    """An accumulator: its pickle, or the object itself, if it no longer changes, until the pickle is needed."""

    __slots__ = ("_acc", "_pickle")

    def __init__(self, acc: Any = None, *, pickled: bytes | None = None) -> None:
        self._acc = acc
        self._pickle = pickled

    @staticmethod
    def frozen(acc: Any) -> SavedAccumulator:
        """Return a :class:`SavedAccumulator` with the pickle of the current state of *acc*."""
        kept = SavedAccumulator(acc)
        kept.bytes()
        return kept

    def bytes(self) -> bytes:
        if self._pickle is None:
            try:
                self._pickle = pickle.dumps(self._acc, pickle.HIGHEST_PROTOCOL)
            except Exception as error:
                raise CheckpointError(
                    f"cannot pickle an accumulator of type {type(self._acc).__name__} for a checkpoint: {error}"
                ) from error
            self._acc = None
        return self._pickle

    def fresh(self) -> Any:
        """Return a new accumulator, owned by the caller."""
        try:
            return pickle.loads(self.bytes())
        except CheckpointError:
            raise
        except Exception as error:
            raise CheckpointError(f"an accumulator of the checkpoint cannot be read: {error}") from error


class Part:
    """Spans of the ring and the accumulator of their rows; None if there are no rows, or nothing is folded."""

    __slots__ = ("kept", "spans")

    def __init__(self, spans: Iterable[Span], kept: SavedAccumulator | None) -> None:
        self.spans = tuple(spans)
        self.kept = kept


@public("cassandra.scan")
class Checkpoint:
    """Progress of a scan; made by :meth:`Scan.checkpoint`, passed to ``resume=``.

    ``done`` are the completed parts of the ring, as ``(start, end)`` for start < token <= end; ``fraction`` is their
    share of the ring, ``rows`` the number of their rows. ``what`` describes the scan (table, statement, reducer); a
    different scan rejects the checkpoint. It can be pickled.

    Reading a file unpickles nothing. Resuming a fold from it does unpickle its accumulators: as with every pickle, use
    only files that you trust.
    """

    __slots__ = ("cuts", "done", "parts", "rows", "what")

    def __init__(
        self, what: Mapping[str, str], parts: Iterable[Part], rows: int = 0, cuts: Iterable[Span] | None = None
    ) -> None:
        self.what = dict(what)  #: Table, statement and reducer of the scan.
        self.parts = tuple(parts)  #: Accumulators with the ranges that they cover.
        self.rows = rows  #: Number of rows.
        self.cuts = None if cuts is None else tuple(cuts)  #: Ranges of a deterministic fold; else None.
        coverage = Coverage()
        for part in self.parts:
            for span in part.spans:
                coverage.add(span)
        self.done = coverage.spans  #: Completed parts of the ring, as ``(start, end)``.

    @property
    def fraction(self) -> float:
        """Completed share of the ring, 0 to 1."""
        return sum(end - start for start, end in self.done) / RING

    def check(self, what: Mapping[str, str]) -> None:
        """Raise CheckpointError unless the checkpoint is of the scan that *what* describes."""
        names = [name for name in {**self.what, **what} if self.what.get(name) != what.get(name)]
        if names:
            differ = "; ".join(
                f"its {name} is {self.what.get(name, 'none')}, the scan's is {what.get(name, 'none')}" for name in names
            )
            raise CheckpointError(f"the checkpoint is of another scan: {differ}")

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the checkpoint to the file *path*, which is replaced when all is on the disk: after a crash either the
        former file or this one exists. OSError; :exc:`CheckpointError` if accumulators cannot be pickled."""
        data = self.to_bytes()
        target = Path(path)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Checkpoint:
        """Return the checkpoint in a file. OSError, and :exc:`CheckpointError` for a file that contains none, is
        damaged, or was written by another version."""
        if Path(path).stat().st_size > MOST_BYTES:
            raise CheckpointError(f"{path} is too large for a checkpoint")
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except CheckpointError as error:
            raise CheckpointError(f"{path}: {error}") from error.__cause__

    def to_bytes(self) -> bytes:
        """Return the contents of a file."""
        pickles = [b"" if part.kept is None else part.kept.bytes() for part in self.parts]
        head = {
            "what": self.what,
            "rows": self.rows,
            "cuts": self.cuts,
            "parts": [
                {"spans": part.spans, "bytes": None if part.kept is None else len(pickled)}
                for part, pickled in zip(self.parts, pickles, strict=True)
            ],
        }
        body = json.dumps(head).encode() + b"\n" + b"".join(pickles)
        return f"{MAGIC} {VERSION}\n{hashlib.sha256(body).hexdigest()}\n".encode() + body

    @classmethod
    def from_bytes(cls, data: bytes) -> Checkpoint:
        """Return the checkpoint in *data*; :exc:`CheckpointError` as in :meth:`load`."""
        title, _, rest = data.partition(b"\n")
        if not title.startswith(MAGIC.encode() + b" "):
            raise CheckpointError("not a checkpoint of a scan")
        version = title[len(MAGIC) + 1 :].decode("ascii", "replace")
        if version != str(VERSION):
            raise CheckpointError(f"unsupported format: {version[:20]!r}; this version reads only {VERSION}")
        digest, _, body = rest.partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != digest:
            raise CheckpointError("damaged checkpoint: the contents do not match their digest")
        head, _, pickles = body.partition(b"\n")
        try:
            return cls(*_read(json.loads(head), pickles))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise CheckpointError(f"damaged checkpoint: {error!r}") from error

    def __reduce__(self) -> Any:
        return Checkpoint.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"<Checkpoint of {self.what.get('table')}: {100 * self.fraction:.1f} % done, {self.rows:,} rows>"


def _read(head: Any, pickles: bytes) -> tuple[dict[str, str], list[Part], int, list[Span] | None]:
    parts, at = [], 0
    for part in head["parts"]:
        size = part["bytes"]
        if size is not None and not (type(size) is int and 0 <= size <= len(pickles) - at):
            raise ValueError(f"invalid size of an accumulator: {size!r}")
        kept = None if size is None else SavedAccumulator(pickled=pickles[at : at + size])
        at += size or 0
        parts.append(Part(map(_span, part["spans"]), kept))
    if at != len(pickles):
        raise ValueError(f"{len(pickles) - at} surplus bytes")
    what = {str(name): str(value) for name, value in head["what"].items()}
    cuts = None if head["cuts"] is None else list(map(_span, head["cuts"]))
    return what, parts, int(head["rows"]), cuts


def _span(pair: Any) -> Span:
    start, end = pair
    if not (type(start) is type(end) is int and -(1 << 63) <= start < end < 1 << 63):
        raise ValueError(f"invalid range: {start!r} to {end!r}")
    return start, end


def _sync_folder(folder: Path) -> None:
    """Flush the directory, so that the name of the file is on the disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # some file systems cannot
        pass
    finally:
        os.close(handle)


# ---- reports of the progress


@public("cassandra.scan")
class ScanProgress(NamedTuple):
    """Progress of a scan."""

    table: str
    """Name of the table."""
    fraction: float
    """Completed share of the scan's part of the ring, 0 to 1."""
    ranges_done: int
    """Completed ranges."""
    ranges: int
    """All ranges."""
    rows: int
    """Rows that were read so far, before any filter; rows of restarted ranges count once."""
    seconds: float
    """Seconds since the scan began."""
    rate: float
    """Rows per second."""
    eta: float | None
    """Seconds left at this rate; None while unknown."""


Told = Callable[[ScanProgress], object]


class _Bar(progress.Bar):
    def show(self, report: ScanProgress) -> None:
        self.update(report.fraction, report.rows, report.rate)


class ProgressRecorder:
    """Progress over *ranges*. The part covered by *resume* counts for the fraction, but not for the rate of this
    run."""

    def __init__(
        self,
        what: Mapping[str, str],
        ranges: Iterable[TokenRange],
        told: Told | bool | None = None,
        resume: Checkpoint | None = None,
        rows_of: Callable[[RecordBatch], int] = len,
    ) -> None:
        self._what = what
        self._rows_of = rows_of
        self._ended = False
        self._unfinished = {(one.start, one.end) for one in ranges}
        self._count = len(self._unfinished)
        self._todo = Coverage(self._unfinished).size
        self._resume = resume
        self._finished: list[tuple[Span, int]] = []  # with their rows
        self._covered = Coverage(() if resume is None else resume.done)
        self._before = self._covered.size
        self._rows_done = 0 if resume is None else resume.rows
        self._rows_before = self._rows_done
        self._open: dict[int, int] = {}  # rows so far, by number of the range
        self._began = monotonic()
        self._progress = progress.Progress(told, self.report, lambda: _Bar(what["table"], 1.0))

    def take(self, event: ScanEvent) -> None:
        """Count *event*, which was processed."""
        number, one = event.number, event.token_range
        if event.kind == BATCH and event.batch is not None:
            self._open[number] = self._open.get(number, 0) + self._rows_of(event.batch)
        else:
            rows = self._open.pop(number, 0)
            if event.kind == DONE:
                span = one.start, one.end
                self._finished.append((span, rows))
                self._covered.add(span)
                self._rows_done += rows
        self._progress.look()

    def end(self, whole: bool) -> None:
        """End the reports; *whole*: True if the reading is complete. May be called again."""
        if self._ended:
            return
        self._ended = True
        self._progress.end(self.report() if whole else None)

    def report(self) -> ScanProgress:
        seconds = monotonic() - self._began
        rows = self._rows_done + sum(self._open.values())
        done, all_ = self._covered.size - self._before, self._todo
        left = (all_ - done) * seconds / done if done else None
        return ScanProgress(
            self._what["table"],
            self._covered.size / (self._before + all_) if self._before + all_ else 1.0,
            self._count_done(),
            self._count,
            rows,
            seconds,
            (rows - self._rows_before) / seconds if seconds > 0 else 0.0,
            left,
        )

    def _count_done(self) -> int:
        self._unfinished = {span for span in self._unfinished if not self._covered.has(span)}
        return self._count - len(self._unfinished)

    def checkpoint(self) -> Checkpoint:
        """Return a checkpoint of the delivered ranges; for any thread."""
        finished = tuple(self._finished)
        before, rows = ((), 0) if self._resume is None else (self._resume.done, self._resume.rows)
        done = Coverage((*before, *(span for span, _ in finished)))
        parts = [Part(done.spans, None)] if done.size else []
        return Checkpoint(self._what, parts, rows + sum(count for _, count in finished))


def description(plan: ScanPlan, filter: Any = None, reducer: Any = None) -> dict[str, str]:
    """Return the description of a scan and fold for checkpoints; it is the same in another process."""
    found = {"table": f"{plan.keyspace}.{plan.table}", "statement": plan.cql}
    if plan.values:
        found["values"] = shown(plan.values)
    if filter is not None:
        found["filter"] = shown(filter)
    if reducer is not None:
        found["reducer"] = shown(reducer)
    return found


def shown(value: Any) -> str:
    """Return ``repr(value)`` without memory addresses."""
    return _ADDRESS.sub("", repr(value))
