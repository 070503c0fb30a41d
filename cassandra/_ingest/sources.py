"""Options of an ingest, checked before any request, and the sources of its rows (L6).

A source is an object that provides batches of rows. It is iterated on the thread that ingests, one batch after the
other, and no faster than its rows are sent. It is inspected once and opened once, when the first batch is requested:
opening it, or even reading its size, may run a query each time.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from cassandra._base.constants import ProtocolVersion
from cassandra._base.errors import UnsupportedOperation
from cassandra._core.columns import ArrowReader
from cassandra._routing.policies import FallthroughRetryPolicy
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT
from cassandra._session.request.columns import load_library

from .batches import (
    Batch,
    Collector,
    RowForm,
    is_pandas,
    is_polars_with_objects,
    of_lazy_frame,
    of_mapping,
    of_pandas,
    of_polars_with_objects,
)
from .report import IngestReport, failed
from .target import IngestTarget, Nulls, TableName, TargetOptions, statement_text

if TYPE_CHECKING:
    from cassandra._routing.schema import TableMetadata
    from cassandra._session.session import Session
    from cassandra._session.statements.prepared import PreparedStatement

    from .report import Told
    from .values import Rounding
    from .writing import Writing


OnError = Literal["raise", "collect"]
UNSET_VALUES = 4  # first protocol version with unset values
MOST_CONCURRENT = 32768
WANTED = (
    "data must have __arrow_c_stream__ or __arrow_c_array__ (a table or record batch of PyArrow, Polars, pandas, "
    "DuckDB ...), or be a dataset of PyArrow, a lazy frame of Polars, a mapping of column names and arrays or lists, "
    "the path of a Parquet or CSV file, or an iterable of these, or of rows (mappings, named tuples, data classes)"
)

#: Library classes, by module and name, that are opened by a method of their own.
_OPENED: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("pyarrow.dataset", "Dataset"): lambda dataset: dataset.scanner().to_reader(),
    ("pyarrow.dataset", "Scanner"): lambda scanner: scanner.to_reader(),
    ("pyarrow.parquet", "ParquetFile"): lambda file: file.iter_batches(),
    ("pyarrow.ipc", "RecordBatchFileReader"): lambda file: map(file.get_batch, range(file.num_record_batches)),
    ("polars", "LazyFrame"): of_lazy_frame,
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
        round: Rounding = "error",
    ) -> None:
        session._check_open()
        self.session = session
        self.target_options = TargetOptions(
            TableName(table, session.keyspace), columns, ttl, timestamp, nulls, batch_rows, already_encrypted, round
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

    def form(self) -> RowForm:
        """Return the form of rows that are Python objects."""
        encrypts = self.session.cluster.column_encryption_policy is not None
        return RowForm(self.target_options.columns, self._table(), encrypts)

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


def open_source(data: Any, form: RowForm) -> OpenSource:
    """Return the batches of *data*. TypeError for an object without rows. Of files, only ``form.columns`` are read."""
    opened = open_rows(data, form.columns)
    if opened is not None:
        return opened
    if isinstance(data, bytes) or not isinstance(data, Iterable):
        hint = "; ingest_async takes asynchronous iterables" if isinstance(data, AsyncIterable) else ""
        raise TypeError(f"{WANTED}, got {type(data).__name__}{hint}")
    return OpenSource(_of_many(data, form), False)


def open_rows(data: Any, columns: Sequence[str] | None) -> OpenSource | None:
    """Return the batches if *data* itself has rows; None if it may be an iterable of such objects."""
    if isinstance(data, Mapping):
        return OpenSource(of_mapping(data), False)
    if getattr(getattr(data, "dtype", None), "names", None):  # a structured array of NumPy
        return OpenSource(of_mapping({name: data[name] for name in data.dtype.names}), False)
    if is_path(data):
        return OpenSource(of_path(data, columns), True)
    if is_pandas(data):
        return OpenSource(of_pandas(data, columns), False)
    if is_polars_with_objects(data):
        return OpenSource(of_polars_with_objects(data), False)
    stream = getattr(data, "__arrow_c_stream__", None)
    if stream is not None:
        return OpenSource(_of_stream(stream), True)
    array = getattr(data, "__arrow_c_array__", None)
    if array is not None:
        return OpenSource(_of_array(array), False)
    for (module, name), open in _OPENED.items():
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(data, kind):
            return OpenSource(_of_library(open, data, columns), True)
    return None


def _of_stream(open: Callable[[], Any]) -> Iterator[Batch]:
    reader = ArrowReader(open())
    try:
        for array in reader:
            yield Batch((reader.schema, array))
    finally:
        reader.close()


def _of_array(open: Callable[[], tuple[Any, Any]]) -> Iterator[Batch]:
    yield Batch(open())


def _of_library(open: Callable[[Any], Any], data: Any, columns: Sequence[str] | None) -> Iterator[Batch]:
    yield from open_source(open(data), RowForm(columns, None)).batches


def _of_many(pieces: Iterable[Any], form: RowForm) -> Iterator[Batch]:
    collector = Collector(form.columns)
    for piece in pieces:
        yield from _batches_of(piece, form, collector)
    if collector:
        yield collector.take()


async def batches_of_async(pieces: AsyncIterable[Any], form: RowForm) -> AsyncIterator[Batch]:
    """Yield the batches of an asynchronous iterable. Rows are collected as long as the next one is there at once."""
    collector = Collector(form.columns)
    items = aiter(pieces)
    coming: asyncio.Future[Any] | None = None
    try:
        while True:
            coming = asyncio.ensure_future(anext(items, _END))
            await asyncio.wait([coming], timeout=0 if collector else None)
            if collector and not coming.done():
                yield collector.take()
            piece = await coming
            if piece is _END:
                break
            for batch in _batches_of(piece, form, collector):
                yield batch
        if collector:
            yield collector.take()
    finally:
        if coming is not None and not coming.done():
            coming.cancel()
            await asyncio.wait([coming])
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()


_END: Any = object()


def _batches_of(piece: Any, form: RowForm, collector: Collector) -> Iterator[Batch]:
    """Yield the batches that are complete with an item of an iterable: a row, a list of rows, or a source."""
    if form.is_row(piece):
        batch = collector.add(piece)
        if batch is not None:
            yield batch
        return
    are_rows = form.is_rows(piece)
    if are_rows:
        for row in piece:
            batch = collector.add(row)
            if batch is not None:
                yield batch
    if collector:
        yield collector.take()
    if not are_rows:
        yield from _open_piece(piece, form.columns)


def _open_piece(piece: Any, columns: Sequence[str] | None) -> Iterator[Batch]:
    opened = open_rows(piece, columns)
    if opened is None:
        raise TypeError(f"{WANTED}; got an item of type {type(piece).__name__}")
    return opened.batches


def rows_in(data: Any, form: RowForm) -> int | None:
    """Return the number of rows, for a progress bar, if *data* has it without being read."""
    if isinstance(data, Mapping):
        return next((len(column) for column in data.values()), 0)
    if isinstance(data, list) and data and form.is_row(data[0]):
        return len(data)
    for name in ("num_rows", "height"):  # PyArrow, Polars
        if hasattr(type(data), name):
            found = getattr(data, name)
            return found if type(found) is int else None
    frame = getattr(sys.modules.get("pandas"), "DataFrame", None)
    return len(data.index) if frame is not None and isinstance(data, frame) else None


# ---- batches of files: Parquet, Arrow IPC and CSV, by PyArrow, one after the other


SUFFIXES = ".parquet, .pq, .csv, .tsv, .arrow, .feather or .ipc, the text ones also with .gz"


def is_path(data: Any) -> bool:
    """True for a str or a path object."""
    return isinstance(data, (str, os.PathLike))


def of_path(path: Any, columns: Sequence[str] | None) -> Iterator[Batch]:
    """Yield the rows of a file, or of all files that a pattern such as ``orders/*.parquet`` matches, in the order of
    their names. *columns*: read these only, where the format allows it."""
    if not isinstance(os.fspath(path), str):
        raise TypeError(f"expected a path of str, got {path!r}")
    opened = [(file, _opener(file)) for file in _files_of(Path(path))]
    for file, open_file in opened:
        yield from _of_file(file, open_file, columns)


def _files_of(path: Path) -> list[Path]:
    """Return the path, or the paths of the files that it matches as a pattern."""
    magic = [at for at, part in enumerate(path.parts) if has_magic(part)]
    if not magic or path.exists():
        return [path]
    found = sorted(Path(*path.parts[: magic[0]]).glob("/".join(path.parts[magic[0] :])))
    if not found:
        raise FileNotFoundError(f"no files match {str(path)!r}")
    return found


def _opener(file: Path) -> Callable[[Path, Sequence[str] | None], Iterator[Any]]:
    if file.is_dir():
        raise IsADirectoryError(f"{str(file)!r} is a directory: use a pattern such as {str(file / '*.parquet')!r}")
    suffixes = file.name.lower().rsplit(".", 2)[1:]
    is_compressed = len(suffixes) > 1 and suffixes[-1] == "gz"
    opener = _OPENERS.get(suffixes[-2] if is_compressed else suffixes[-1] if suffixes else "")
    if opener is None or (is_compressed and opener not in (_csv, _tsv)):
        raise ValueError(f"{str(file)!r}: the format is unknown, names of files end with {SUFFIXES}")
    if not file.exists():
        raise FileNotFoundError(f"no such file: {str(file)!r}")
    return opener


def _of_file(file: Path, open_file: Any, columns: Sequence[str] | None) -> Iterator[Batch]:
    first = 0
    for batch in open_file(file, columns):
        yield Batch(batch.__arrow_c_array__(), place=_place(file, first))
        first += batch.num_rows


def _place(file: Path, first: int) -> Callable[[int], str]:
    return lambda row: f"row {first + row} of {file}"


def _arrow() -> Any:
    return load_library("pyarrow", "arrow")


def _parquet(file: Path, columns: Sequence[str] | None) -> Iterator[Any]:
    _arrow()
    from pyarrow import parquet

    with parquet.ParquetFile(file) as opened:
        names = opened.schema_arrow.names
        wanted = None if columns is None else [name for name in columns if name in names]
        yield from opened.iter_batches(columns=wanted)


def _ipc(file: Path, columns: Sequence[str] | None) -> Iterator[Any]:
    pyarrow = _arrow()
    with pyarrow.memory_map(str(file)) as memory:
        try:
            opened = pyarrow.ipc.open_file(memory)
        except pyarrow.ArrowInvalid:
            yield from pyarrow.ipc.open_stream(memory)
        else:
            yield from map(opened.get_batch, range(opened.num_record_batches))


def _csv(file: Path, columns: Sequence[str] | None) -> Iterator[Any]:
    return _text(file, ",")


def _tsv(file: Path, columns: Sequence[str] | None) -> Iterator[Any]:
    return _text(file, "\t")


def _text(file: Path, delimiter: str) -> Iterator[Any]:
    """Read all columns as text, which is parsed for the types of the table. An empty field is null, one in quotes is
    empty text."""
    pyarrow = _arrow()
    from pyarrow import csv

    parsing = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    if file.stat().st_size == 0:
        return
    try:
        with closing(csv.open_csv(file, parse_options=parsing)) as begin:
            names = begin.schema.names
        options = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pyarrow.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        with closing(csv.open_csv(file, parse_options=parsing, convert_options=options)) as opened:
            yield from opened
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{file}: {error}") from error


_OPENERS = {
    "parquet": _parquet,
    "pq": _parquet,
    "arrow": _ipc,
    "feather": _ipc,
    "ipc": _ipc,
    "csv": _csv,
    "tsv": _tsv,
}
