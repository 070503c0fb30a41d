"""What rows come as: batches of Arrow's, from whatever has them.

L5. A source is iterated by whoever ingests, one batch after the other, and no faster than its rows are sent. A batch is
a pair of Arrow's capsules, schema and array.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from cassandra._core.columns import ArrowReader

Batch = tuple[Any, Any]

WANTED = (
    "data is something with __arrow_c_stream__ or __arrow_c_array__ (a table or record batch of PyArrow, Polars, "
    "pandas, DuckDB ...), a mapping of column names and NumPy arrays, or an iterable of these"
)


def is_batch(data: Any) -> bool:
    """Whether *data* is rows itself, and not something that gives them piece by piece."""
    return isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def batches_of(data: Any) -> Iterator[Batch]:
    """The batches of *data*, read as they are asked for. TypeError for what has no rows."""
    if is_batch(data):
        return _of_one(data)
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        hint = "; ingest_async takes asynchronous iterables" if isinstance(data, AsyncIterable) else ""
        raise TypeError(f"{WANTED}, not {type(data).__name__}{hint}")
    return _of_many(data)


def _of_many(pieces: Iterable[Any]) -> Iterator[Batch]:
    for piece in pieces:
        yield from _of_piece(piece)


async def batches_of_async(pieces: AsyncIterable[Any]) -> AsyncIterator[Batch]:
    """The same of an asynchronous iterable."""
    async for piece in pieces:
        for batch in _of_piece(piece):
            yield batch


def _of_piece(piece: Any) -> Iterator[Batch]:
    if not is_batch(piece):
        raise TypeError(f"{WANTED}; one of its items is {type(piece).__name__}")
    return _of_one(piece)


def _of_one(data: Any) -> Iterator[Batch]:
    if isinstance(data, Mapping):
        from cassandra._wire.arrays import batch_of

        yield batch_of(data)
    elif hasattr(data, "__arrow_c_stream__"):
        reader = ArrowReader(data.__arrow_c_stream__())
        try:
            for array in reader:
                yield reader.schema, array
        finally:
            reader.close()
    else:
        yield data.__arrow_c_array__()


def rows_in(data: Any) -> int | None:
    """How many rows there will be, if *data* says so, for a bar that shows how far it is."""
    if isinstance(data, Mapping):
        return next((len(column) for column in data.values()), 0)
    for name in ("num_rows", "height"):  # PyArrow, Polars
        found = getattr(data, name, None)
        if type(found) is int:
            return found
    return len(data) if is_batch(data) and hasattr(data, "__len__") else None  # pandas
