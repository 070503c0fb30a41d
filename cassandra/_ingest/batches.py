"""Batches of a source: Arrow data, or columns of Python objects, which are encoded for their target (L6)."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._core.columns import column_names
from cassandra._routing.schema.cqltype import is_simple_type
from cassandra._wire.arrays import Column, batch_of, objects_in, of_objects, pack_bits

from .values import encode_column

if TYPE_CHECKING:
    from cassandra._core.codec import Codec
    from cassandra._routing.schema import TableMetadata

    from .values import Rounding


PLAIN = {"text": "u", "varchar": "u", "ascii": "u", "blob": "z"}  # types whose objects are copied, and their formats

#: Describes a row of a batch, counted from 0, by its place in the source.
Place = Callable[[int], str]


class Batch:
    """Rows of a source: *capsules* of an Arrow schema and array, or else *columns* by name, of arrays and sequences of
    one length. ``place`` describes rows, ``refused`` has rows that cannot be written, and the reasons."""

    __slots__ = ("_capsules", "_columns", "names", "place", "refused")

    def __init__(
        self,
        capsules: tuple[Any, Any] | None = None,
        *,
        columns: Mapping[str, Any] | None = None,
        place: Place | None = None,
        refused: Mapping[int, str] | None = None,
    ) -> None:
        assert capsules is not None or columns is not None
        self._capsules = capsules
        self._columns = columns
        self.names: Sequence[str] = column_names(capsules[0]) if capsules is not None else list(columns or ())
        self.place = place
        self.refused = {} if refused is None else refused

    def arrow(
        self, codecs: Mapping[str, Codec], rounding: Rounding, nulls: str, first: int
    ) -> tuple[Any, Any, list[str], dict[int, str]]:
        """Return schema and array, the names of columns whose values are encoded, and the reasons why rows cannot be
        written. *first* is the number of the first row, for messages. Called once."""
        encoded: list[str] = []
        refused = {row: f"row {first + row}: {why}" for row, why in self.refused.items()}
        if self._capsules is not None:
            return *self._capsules, encoded, refused

        def encode(name: str, values: Sequence[Any]) -> Column | None:
            codec = codecs.get(name)
            if codec is None or (codec.stored is not None and getattr(codec.cipher, "inner", None) is None):
                return None
            column = _of_plain(values) if codec.name in PLAIN else None
            if column is not None and column.format == PLAIN[codec.name]:
                return column
            found = encode_column(name, codec, values, rounding, nulls)
            inner = codec if codec.stored is None else codec.cipher.inner
            for row, why in found.refused.items():
                refused.setdefault(row, f"column {name!r} ({inner.cql()}), row {first + row}: {why}")
            encoded.append(name)
            return _of_cells(found.cells)

        assert self._columns is not None
        schema, array = batch_of(self._columns, encode)
        return schema, array, encoded, refused


def _of_plain(values: Sequence[Any]) -> Column | None:
    try:
        return of_objects(values)
    except UnicodeEncodeError:  # a row with it is refused
        return None


def _of_cells(cells: Sequence[bytes | None]) -> Column:
    from array import array

    parts = [b"" if cell is None else cell for cell in cells]
    ends = array("q", accumulate(map(len, parts), initial=0))
    if ends[-1] >= 1 << 31:
        raise ValueError(f"a batch of {len(cells)} rows has {ends[-1]} bytes in one column: use smaller batches")
    present = pack_bits(cell is not None for cell in cells) if None in cells else None
    return Column(len(cells), "z", (present, array("i", ends), b"".join(parts)))


# ---- batches of data frames and of mappings of columns, in slices
#
# Frames of pandas are converted slice by slice: NumPy, masked and Arrow columns by PyArrow, columns of Python objects
# for the type of their target (``values.py``).


SLICE = 65536  # rows of arrays
OBJECTS = 1024  # rows of Python objects: a slice is encoded at once, also on the thread of an event loop
UNNAMED = "names of columns must be str"


def is_pandas(data: Any) -> bool:
    """True for a DataFrame of pandas."""
    frame = getattr(sys.modules.get("pandas"), "DataFrame", None)
    return frame is not None and isinstance(data, frame)


def without_index(frame: Any) -> Any:
    """Return a DataFrame of pandas without its index."""
    return frame.reset_index(drop=True)


def of_pandas(frame: Any, columns: Sequence[str] | None = None) -> Iterator[Batch]:
    """Yield a DataFrame of pandas in slices. Levels of its index that have names are columns, too."""
    found = _columns_of_pandas(frame)
    wanted = found if columns is None else {name: column for name, column in found.items() if name in columns}
    size = OBJECTS if any(_has_objects(column) for column in wanted.values()) else SLICE
    index = frame.index
    for first in range(0, len(index) or 1, size):
        part = {name: _dense(column.iloc[first : first + size]) for name, column in wanted.items()}
        yield Batch(columns=part, place=_labels(index[first : first + size]))


def _columns_of_pandas(frame: Any) -> dict[str, Any]:
    levels = [name for name in frame.index.names if name is not None]
    names = [*levels, *frame.columns]
    if frame.columns.nlevels > 1:
        raise ValueError(f"the DataFrame has columns of {frame.columns.nlevels} levels: {UNNAMED}, set frame.columns")
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise ValueError(f"the DataFrame has a column {wrong[0]!r}: {UNNAMED}")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            hint = "; one of them is in the index: use reset_index(drop=True)" if name in levels else ""
            raise ValueError(f"the DataFrame has several columns {name!r}{hint}")
        seen.add(name)
    found = {name: frame.index.get_level_values(name).to_series() for name in levels}
    found.update({name: frame.iloc[:, at] for at, name in enumerate(frame.columns)})
    return found


def _has_objects(column: Any) -> bool:
    dtype = column.dtype
    categories = getattr(dtype, "categories", None)
    return str(dtype) == "object" or (categories is not None and str(getattr(categories, "dtype", "")) == "object")


def _dense(column: Any) -> Any:
    """Return a column that PyArrow reads without changing its values."""
    dtype = column.dtype
    if hasattr(dtype, "fill_value") and hasattr(column, "sparse"):
        return column.sparse.to_dense()
    if getattr(dtype, "kind", "") == "f" and column.isna().all():  # a column without values, which has any type
        return [None] * len(column)
    if str(dtype) != "object" and _has_objects(column):  # decimals, which would get one scale, and others
        return column.astype(object)
    return column


def _labels(index: Any) -> Callable[[int], str]:
    return lambda row: f"index {_label(index[row])!r}"


def _label(value: Any) -> Any:
    """Return a label of an index without scalars of NumPy."""
    if isinstance(value, tuple):
        return tuple(map(_label, value))
    return value.item() if hasattr(value, "dtype") else value


def of_mapping(data: Mapping[str, Any]) -> Iterator[Batch]:
    """Yield columns of arrays and sequences; those with Python objects in slices."""
    wrong = [name for name in data if not isinstance(name, str)]
    if wrong:
        raise ValueError(f"the data has a column {wrong[0]!r}: {UNNAMED}")
    if data and not any(_is_column(column) and hasattr(column, "__len__") for column in data.values()):
        raise TypeError("a mapping has columns, arrays or sequences, but this one is a row: use a list of rows")
    lengths = {len(column) for column in data.values() if hasattr(column, "__len__") and _is_column(column)}
    rows = lengths.pop() if len(lengths) == 1 else 0
    if rows <= OBJECTS or not any(objects_in(column) is not None for column in data.values()):
        yield Batch(columns=data)
        return
    columns = {name: _sliceable(column) for name, column in data.items()}
    for first in range(0, rows, OBJECTS):
        yield Batch(columns={name: column[first : first + OBJECTS] for name, column in columns.items()})


def _sliceable(column: Any) -> Any:
    """Return a column whose slices are those of its positions."""
    if hasattr(column, "iloc"):  # of pandas
        return column.iloc
    try:
        column[:0]
    except (TypeError, KeyError, IndexError):
        return list(column)
    return column


def _is_column(values: Any) -> bool:
    return not isinstance(values, (str, bytes, bytearray)) and getattr(values, "shape", None) != ()


def is_polars_with_objects(data: Any) -> bool:
    """True for a DataFrame of Polars that has columns of Python objects, which Arrow does not hold."""
    polars: Any = sys.modules.get("polars")
    frame = getattr(polars, "DataFrame", None)
    return frame is not None and isinstance(data, frame) and any(kind == polars.Object for kind in data.dtypes)


def of_polars_with_objects(frame: Any) -> Iterator[Batch]:
    """Yield a DataFrame of Polars in slices."""
    polars: Any = sys.modules["polars"]
    for first in range(0, frame.height or 1, OBJECTS):
        part = frame.slice(first, OBJECTS)
        yield Batch(
            columns={column.name: column.to_list() if column.dtype == polars.Object else column for column in part}
        )


def of_lazy_frame(frame: Any) -> Iterator[Any]:
    """Yield the batches of a LazyFrame of Polars, as its query makes them."""
    batches = getattr(frame, "collect_batches", None)
    if batches is None:  # Polars 1.33 and older
        yield frame.collect()
        return
    import warnings

    with warnings.catch_warnings():  # the method is marked as unstable
        warnings.simplefilter("ignore")
        found = iter(batches(chunk_size=SLICE))
    yield from found


# ---- rows that are Python objects, as batches of columns
#
# A row is a mapping, a named tuple, an instance of a dataclass, or a tuple or list of values in the order of the option
# ``columns``. In an iterable, a mapping of columns is a source of rows, too. The values of both can be lists: of a row,
# because the columns are collections. The types of the table decide then.


MOST = 1024  # rows of a batch
#: Seconds after which a source counts as slow: its rows are sent without waiting for others.
SLOW = 0.005

_NO_COLUMN: Any = object()


class RowForm(NamedTuple):
    """What distinguishes rows from other items of an iterable. The decision does not depend on the other items, so that
    a row does not become a source of rows because its other columns are null."""

    columns: Sequence[str] | None  # names of the values of rows that are tuples or lists
    table: TableMetadata | None  # None: not known
    encrypts: bool = False  # a blob may be an encrypted collection

    def is_row(self, item: Any) -> bool:
        """True if an item of an iterable is a row, False if it may be a source of rows."""
        if isinstance(item, Mapping):
            return not item or not all(map(_is_array_like, item.values())) or not self._has_scalar(item)
        if isinstance(item, (tuple, list)):
            return not self.is_rows(item)
        if isinstance(item, (str, bytes)) or hasattr(item, "__arrow_c_stream__") or hasattr(item, "__arrow_c_array__"):
            return False
        return (dataclasses.is_dataclass(item) and not isinstance(item, type)) or _is_keyed(item)

    def is_rows(self, item: Any) -> bool:
        """True for a list of rows with names, as opposed to one row."""
        if not isinstance(item, list) or not item or any(_names(row) is None for row in item):
            return False
        return self.columns is None or len(item) != len(self.columns) or self._has_scalar(self.columns)

    def _has_scalar(self, names: Iterable[str]) -> bool:
        """True if a list cannot be a value of one of these columns; also if the table is not known."""
        if self.table is None:
            return True
        types = (found.cql_type for found in map(self.table.columns.get, names) if found is not None)
        return any(is_simple_type(name) and not (self.encrypts and name == "blob") for name in types)


def _is_array_like(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return True
    return not isinstance(value, (str, bytes, bytearray, Mapping)) and (
        getattr(value, "shape", ()) != () or hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__")
    )


def _is_keyed(item: Any) -> bool:
    """True for a row such as those of sqlite3, with keys but no mapping."""
    return (
        callable(getattr(item, "keys", None)) and hasattr(type(item), "__getitem__") and hasattr(type(item), "__len__")
    )


def _names(row: Any) -> Sequence[str] | None:
    """Return the names of the values of a row; None if it has none."""
    if isinstance(row, Mapping):
        return list(row)
    fields = getattr(row, "_fields", None)
    if isinstance(row, tuple):
        return fields if isinstance(fields, tuple) else None
    if dataclasses.is_dataclass(row) and not isinstance(row, type):
        return [field.name for field in dataclasses.fields(row)]
    return list(row.keys()) if _is_keyed(row) else None


class Collector:
    """Collects rows until they are a batch. *columns*: the names of the values of rows without names, and the names
    that are written of others; without it the names in the first batch."""

    def __init__(self, columns: Sequence[str] | None, clock: Callable[[], float] = monotonic) -> None:
        self._columns = columns
        self._names: list[str] | None = None if columns is None else list(columns)
        self._rows: list[Any] = []
        self._clock = clock
        self._last = clock()

    def __bool__(self) -> bool:
        """True if there are rows."""
        return bool(self._rows)

    def add(self, row: Any) -> Batch | None:
        """Add a row; return a batch if it is complete, or if the source is slow."""
        self._rows.append(row)
        now = self._clock()
        is_slow, self._last = now - self._last > SLOW, now
        return self.take() if is_slow or len(self._rows) >= MOST else None

    def take(self) -> Batch:
        """Return the batch of the rows so far."""
        rows, self._rows = self._rows, []
        batch = self._batch_of(rows)
        self._last = self._clock()
        return batch

    def _batch_of(self, rows: Sequence[Any]) -> Batch:
        refused: dict[int, str] = {}
        given = [self._values_of(row) for row in rows]
        if self._names is None:
            self._names = list(dict.fromkeys(name for values in given for name in values))
        names = self._names
        columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in names}
        for at, values in enumerate(given):
            for name, value in values.items():
                column = columns.get(name, _NO_COLUMN)
                if column is not _NO_COLUMN:
                    column[at] = value
                elif name is None:
                    refused[at] = value
                elif self._columns is None:
                    refused[at] = f"it has a column {name!r}, which no row of the first batch has: use columns="
        return Batch(columns=columns, refused=refused)

    def _values_of(self, row: Any) -> Mapping[Any, Any]:
        """Return the values by name; for a row of a wrong length the reason by None."""
        names = _names(row)
        if names is None:
            if self._columns is None:
                raise TypeError(f"a row is a {type(row).__name__} without names: use columns= to name its values")
            if len(row) != len(self._columns):
                return {None: f"it has {len(row)} values for the {len(self._columns)} columns"}
            return dict(zip(self._columns, row, strict=True))
        if isinstance(row, Mapping):
            wrong = [name for name in names if not isinstance(name, str)]
            if wrong:
                raise ValueError(f"a row has a column {wrong[0]!r}: names of columns must be str")
            return row
        if isinstance(row, tuple):
            return dict(zip(names, row, strict=True))
        if _is_keyed(row):
            return {name: row[name] for name in names}
        return {name: getattr(row, name) for name in names}
