"""Options of an ingest, checked before any request, and the sources of its rows (L6).

A source is an object that provides Arrow batches. It is iterated on the thread that ingests, one batch after the other,
and no faster than its rows are sent. It is inspected once and opened once, when the first batch is requested: opening
it, or even reading its size, may run a query each time. A batch is a pair of Arrow capsules, schema and array.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from cassandra._base.constants import ProtocolVersion
from cassandra._base.errors import UnsupportedOperation
from cassandra._core.columns import ArrowReader
from cassandra._routing.policies import FallthroughRetryPolicy
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT

from .report import IngestReport, failed
from .target import IngestTarget, Nulls, TableName, TargetOptions, statement_text

if TYPE_CHECKING:
    from cassandra._routing.schema import TableMetadata
    from cassandra._session.session import Session
    from cassandra._session.statements.prepared import PreparedStatement

    from .report import Told
    from .writing import Writing

OnError = Literal["raise", "collect"]
Batch = tuple[Any, Any]

UNSET_VALUES = 4  # first protocol version with unset values
MOST_CONCURRENT = 32768
WANTED = (
    "data must have __arrow_c_stream__ or __arrow_c_array__ (a table or record batch of PyArrow, Polars, pandas, "
    "DuckDB ...), or be a dataset of PyArrow, a lazy frame of Polars, a mapping of column names and NumPy arrays, or "
    "an iterable of these"
)

#: Library classes, by module and name, that are opened by a method of their own.
_OPENED: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("pyarrow.dataset", "Dataset"): lambda dataset: dataset.scanner().to_reader(),
    ("pyarrow.dataset", "Scanner"): lambda scanner: scanner.to_reader(),
    ("pyarrow.parquet", "ParquetFile"): lambda file: file.iter_batches(),
    ("pyarrow.ipc", "RecordBatchFileReader"): lambda file: map(file.get_batch, range(file.num_record_batches)),
    ("polars", "LazyFrame"): lambda frame: frame.collect(),
}


# ---- options of a call


class Options:
    """The arguments of one call, for *session*."""

    def __init__(
        self,
        session: Session,
        table: str,
        columns: Iterable[str] | None,
        ttl: int | None,
        timestamp: int | None,
        nulls: Nulls,
        consistency_level: int | None,
        concurrency: int | Literal["auto"],
        batch_rows: int,
        on_error: OnError,
        progress: Told | bool | None,
        already_encrypted: Iterable[str] = (),
    ) -> None:
        session._check_open()
        self.session = session
        self.target_options = TargetOptions(
            TableName(table, session.keyspace), columns, ttl, timestamp, nulls, batch_rows, already_encrypted
        )
        if nulls == "unset" and session.cluster.protocol_version < UNSET_VALUES:
            raise UnsupportedOperation(
                f'nulls="unset" needs protocol version {ProtocolVersion.V4}, the session uses '
                f'{session.cluster.protocol_version}; nulls="null" deletes the existing values instead'
            )
        if on_error not in ("raise", "collect"):
            raise ValueError(f'on_error must be "raise" or "collect", got {on_error!r}')
        if concurrency != "auto" and (type(concurrency) is not int or not 1 <= concurrency <= MOST_CONCURRENT):
            raise ValueError(f'concurrency must be "auto" or 1 to {MOST_CONCURRENT} rows, got {concurrency!r}')
        if progress not in (None, False, True) and not callable(progress):
            raise TypeError(f"progress must be a callable or True, got {progress!r}")
        self.concurrency = None if concurrency == "auto" else concurrency
        self.stops = on_error == "raise"
        self.progress = progress
        own: dict[str, Any] = {"retry_policy": FallthroughRetryPolicy()}  # the ingest itself decides on retries
        if consistency_level is not None:
            own["consistency_level"] = consistency_level
        self._profile = session._resolve_profile(EXEC_PROFILE_DEFAULT).replace(**own)

    @property
    def name(self) -> str:
        return str(self.target_options.name)

    def text(self, names: Sequence[str]) -> str:
        """Return the statement to prepare for data with these columns."""
        return statement_text(self.target_options, self._table(), names)

    def target(self, prepared: PreparedStatement, names: Sequence[str]) -> IngestTarget:
        """Return the target that writes data with these columns by *prepared*."""
        return IngestTarget(self.session, self.target_options, self._table(), prepared, self._profile, names)

    def _table(self) -> TableMetadata | None:
        return self.target_options.name.metadata(self.session)


def outcome_of(writing: Writing, stops: bool) -> IngestReport:
    """Return the report of a finished *writing*, or raise the error that ended it."""
    if writing.broken is not None:
        raise writing.broken
    report = writing.report()
    if writing.closed is not None or (report.failed and stops):
        raise failed(report, writing.closed)
    return report


# ---- sources of rows


class OpenSource(NamedTuple):
    """Batches of a source; nothing is read before the first one is requested."""

    batches: Iterator[Batch]
    blocks: bool  # a library reads each batch, on any thread, which may take long


def open_source(data: Any) -> OpenSource:
    """Return the batches of *data*. TypeError for an object without rows."""
    opened = open_rows(data)
    if opened is not None:
        return opened
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        hint = "; ingest_async takes asynchronous iterables" if isinstance(data, AsyncIterable) else ""
        raise TypeError(f"{WANTED}, got {type(data).__name__}{hint}")
    return OpenSource(_of_many(data), False)


def open_rows(data: Any) -> OpenSource | None:
    """Return the batches if *data* itself has rows; None if it may be an iterable of such objects."""
    if isinstance(data, Mapping):
        return OpenSource(_of_mapping(data), False)
    stream = getattr(data, "__arrow_c_stream__", None)
    if stream is not None:
        return OpenSource(_of_stream(stream), True)
    array = getattr(data, "__arrow_c_array__", None)
    if array is not None:
        return OpenSource(_of_array(array), False)
    for (module, name), open in _OPENED.items():
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(data, kind):
            return OpenSource(_of_library(open, data), True)
    return None


def _of_mapping(data: Mapping[str, Any]) -> Iterator[Batch]:
    from cassandra._wire.arrays import batch_of

    yield batch_of(data)


def _of_stream(open: Callable[[], Any]) -> Iterator[Batch]:
    reader = ArrowReader(open())
    try:
        for array in reader:
            yield reader.schema, array
    finally:
        reader.close()


def _of_array(open: Callable[[], Batch]) -> Iterator[Batch]:
    yield open()


def _of_library(open: Callable[[Any], Any], data: Any) -> Iterator[Batch]:
    yield from open_source(open(data)).batches


def _of_many(pieces: Iterable[Any]) -> Iterator[Batch]:
    for piece in pieces:
        yield from _open_piece(piece)


async def batches_of_async(pieces: AsyncIterable[Any]) -> AsyncIterator[Batch]:
    """Yield the batches of an asynchronous iterable."""
    async for piece in pieces:
        for batch in _open_piece(piece):
            yield batch


def _open_piece(piece: Any) -> Iterator[Batch]:
    opened = open_rows(piece)
    if opened is None:
        raise TypeError(f"{WANTED}; got an item of type {type(piece).__name__}")
    return opened.batches


def rows_in(data: Any) -> int | None:
    """Return the number of rows, for a progress bar, if *data* has it without being read."""
    if isinstance(data, Mapping):
        return next((len(column) for column in data.values()), 0)
    for name in ("num_rows", "height"):  # PyArrow, Polars
        if hasattr(type(data), name):
            found = getattr(data, name)
            return found if type(found) is int else None
    frame = getattr(sys.modules.get("pandas"), "DataFrame", None)
    return len(data.index) if frame is not None and isinstance(data, frame) else None
