"""Sources of rows: objects that provide Arrow batches.

L5. A source is iterated on the thread that ingests, one batch after the other, and no faster than its rows are sent. It
is inspected once and opened once, when the first batch is requested: opening it, or even
reading its size, may run a query each time. A batch is a pair of Arrow capsules, schema and array.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cassandra._core.columns import ArrowReader

Batch = tuple[Any, Any]

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


class Opened(NamedTuple):
    """Batches of a source; nothing is read before the first one is requested."""

    batches: Iterator[Batch]
    blocks: bool  # a library reads each batch, on any thread, which may take long


def open_source(data: Any) -> Opened:
    """Return the batches of *data*. TypeError for an object without rows."""
    opened = open_rows(data)
    if opened is not None:
        return opened
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        hint = "; ingest_async takes asynchronous iterables" if isinstance(data, AsyncIterable) else ""
        raise TypeError(f"{WANTED}, got {type(data).__name__}{hint}")
    return Opened(_of_many(data), False)


def open_rows(data: Any) -> Opened | None:
    """Return the batches if *data* itself has rows; None if it may be an iterable of such objects."""
    if isinstance(data, Mapping):
        return Opened(_of_mapping(data), False)
    stream = getattr(data, "__arrow_c_stream__", None)
    if stream is not None:
        return Opened(_of_stream(stream), True)
    array = getattr(data, "__arrow_c_array__", None)
    if array is not None:
        return Opened(_of_array(array), False)
    for (module, name), open in _OPENED.items():
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(data, kind):
            return Opened(_of_library(open, data), True)
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
        yield from _of_piece(piece)


async def batches_of_async(pieces: AsyncIterable[Any]) -> AsyncIterator[Batch]:
    """Yield the batches of an asynchronous iterable."""
    async for piece in pieces:
        for batch in _of_piece(piece):
            yield batch


def _of_piece(piece: Any) -> Iterator[Batch]:
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
