"""Typed contract of the columns extension: pages of rows into Arrow columns, exported by Arrow's C interfaces, and
imported Arrow data as values of a prepared statement.

======================================= ========================================================================
CQL                                     Arrow
======================================= ========================================================================
tinyint, smallint, int, bigint, counter int8, int16, int32, int64, int64
float, double, boolean                  float32, float64, bool
text, varchar, ascii                    utf8; utf8_view or, as columns, dictionary(int32, utf8) on request
blob, custom                            binary: the bytes of the wire
uuid, timeuuid                          fixed_size_binary(16), with extension arrow.uuid
timestamp, date, time                   timestamp[ms, UTC], date32, time64[ns]
duration                                month_day_nano_interval
inet                                    binary, of 4 or 16 bytes
varint                                  utf8; int64 or decimal128/256(p, 0) on request
decimal                                 utf8, as ``str(Decimal)``; decimal128/256(p, s) on request
list, set, map                          list, list, map
tuple, user type                        struct; fields of a tuple are f0, f1, ...
vector                                  fixed_size_list
======================================= ========================================================================

An encrypted column has the type of its plain values, in pages that were decrypted (``codec.decrypted_page``).

A field's metadata has ``cql.type``, and ``cql.encrypted`` for encrypted columns. Values of zero bytes are null for all
types except text, blob and custom ones, as in rows.
Nulls are counted; a column without any has no validity buffer. Buffers are aligned to 64 bytes and padded with zeros.

Plans and batches are immutable and may be used by any thread. Exported structures share the memory of their batch;
releasing them needs neither the GIL nor this module, from any thread, at any time. Memory comes from the pool of the
plan, which lives as long as the last buffer.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

from typing_extensions import Buffer

from cassandra._core.codec import Codec, RowsPage
from cassandra._core.memory import MemoryPool

#: "integer" includes booleans, dates and times; "number" are decimals and varints stored as text.
Form = Literal["integer", "float", "bytes", "uuid", "wide", "number"]

class ColumnPlan:
    """Conversion of pages of some columns to Arrow arrays. ValueError for an unknown option.

    For :func:`decode_arrays` there may be columns without a codec, which are not decoded, and no pool: then each column
    has its own plain memory.
    """

    names: Final[tuple[str, ...]]
    def __init__(
        self,
        columns: Iterable[tuple[str, Codec | None]],
        pool: MemoryPool | None,
        *,
        strings: Literal["utf8", "view", "dictionary"] = "utf8",
        decimals: Literal["utf8"] | tuple[int, int] = "utf8",
        varints: Literal["utf8", "int64"] | int = "utf8",
        uuids: Literal["arrow.uuid", "binary"] = "arrow.uuid",
    ) -> None: ...
    @property
    def fields(self) -> tuple[tuple[str, str, str, Form | None], ...]:
        """Of each column its name, its format in Arrow's C interface (of a dictionary: that of its values), its CQL
        type, and the form of its values for kernels; None if they cannot be compared."""
    def __len__(self) -> int:
        """Return the number of columns."""
    def __eq__(self, other: object) -> bool:
        """True if both have the same Arrow schema."""
    def __arrow_c_schema__(self) -> Any: ...

class RecordBatch:
    """Columns of the same number of rows; immutable. Or a slice of another batch, whose memory it shares and keeps."""

    plan: Final[ColumnPlan]  #: The decoder of its columns; the same object as :attr:`schema`.
    offset: Final[int]
    """Index of its first row in its buffers; 0 except for slices."""
    num_rows: Final[int]  #: Number of rows.
    num_columns: Final[int]  #: Number of columns.
    nbytes: Final[int]
    """Size of its buffers in bytes, with padding; for a slice that of the whole batch."""
    @property
    def schema(self) -> ColumnPlan:
        """The plan, which has ``__arrow_c_schema__``."""
    def __len__(self) -> int:
        """Return the number of rows."""
    def slice(self, offset: int = 0, length: int | None = None) -> RecordBatch:
        """Return *length* rows (or all that remain, if there are fewer) from *offset* on; nothing is copied."""
    def column(self, which: int | str, /) -> tuple[memoryview | None, ...]:
        """Return the buffers of a column in Arrow's format: validity (None without nulls), values or offsets, and, for
        text, binary and numbers as text, bytes. KeyError for an unknown or ambiguous name."""
    def null_count(self, which: int | str, /) -> int:
        """Return the number of nulls in a column."""
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Export the batch; may be called any number of times."""

class ColumnBuilder:
    """Builds one batch from several pages, in their order. Belongs to one thread at a time.

    Two hints give the number of rows of the whole batch: *target_rows*, at which the caller ends if the pages do not
    end before; and *expected_rows*, the likely number, for which the first page reserves memory. 0: unknown. Any number
    is allowed: memory is reserved for a few times the present rows, and 32 MiB ahead, at most.
    """

    nbytes: Final[int]
    def __init__(self, plan: ColumnPlan, target_rows: int = 0, expected_rows: int = 0) -> None: ...
    def __len__(self) -> int:
        """Return the number of rows so far."""
    def append(self, page: RowsPage) -> bool:
        """Append all rows of *page*. False, and nothing done, if they might not fit into the batch any more, whose
        offsets have 31 bits: finish it, and begin another one. DriverException, and nothing done, if a value is not
        valid for its type: it names column and row."""
    def finish(self) -> RecordBatch:
        """Return the batch of the appended rows; the builder is empty afterwards."""

def decode(plan: ColumnPlan, page: RowsPage) -> RecordBatch:
    """Return all rows of *page* as one batch. DriverException as :meth:`ColumnBuilder.append`, OverflowError for a page
    that is too large for one batch. Large pages are decoded without the GIL."""

def decode_arrays(plan: ColumnPlan, page: RowsPage) -> list[tuple[memoryview, memoryview | None]]:
    """Return the numbers, or the elements of vectors of numbers, of all rows of *page*, as :func:`decode` makes them,
    in writable memory owned by the caller, and their validity bits (None without nulls). Columns without a codec give
    the places (int32) of their values, for ``codec.decode_objects``."""

class Mask:
    """A selection of rows of a batch: for each row a predicate is true, false, or null. Combined by the rules of SQL.
    Immutable."""

    count: Final[int]
    """Number of rows for which it is true."""
    run_count: Final[int]
    """Number of runs of consecutive selected rows."""
    def __len__(self) -> int:
        """Return the number of rows of the batch."""
    def __and__(self, other: Mask) -> Mask: ...
    def __or__(self, other: Mask) -> Mask: ...
    def __invert__(self) -> Mask: ...
    def runs(self) -> list[tuple[int, int]]:
        """Return first row and number of rows of each run, in order."""
    def tolist(self) -> list[bool | None]: ...
    @staticmethod
    def of(values: Any, rows: int) -> Mask:
        """Return the mask of a mask, an Arrow array of booleans or a stream of such arrays, a masked array, a buffer of
        booleans or bytes, or any iterable of booleans and None. Masked values, NA and NaN are None. ValueError if their
        number is not that of the rows, TypeError for any other values than booleans."""

class ColumnTest:
    """A test of the values of one column, for batches of *plan*: they are null, lie *within* two bounds, or are *among*
    some values. Immutable; large batches are tested without the GIL.

    Values are given in the form of kernels: integers (days, milliseconds, nanoseconds); floats; bytes, whose bounds may
    be None and have a third item, ``"[]"``, ``"(]"``, ``"[)"`` or ``"()"``; for UUIDs their :func:`uuid_place`; for
    decimals of a precision the number without its point. Bounds are included. NaN is never within bounds and never
    among values. Numbers stored as text are bytes here.
    """

    def __init__(
        self,
        plan: ColumnPlan,
        column: int,
        *,
        within: tuple[Any, Any] | tuple[Any, Any, str] | None = None,
        among: Iterable[Any] | None = None,
    ) -> None: ...
    def __call__(self, batch: RecordBatch) -> Mask: ...

def uuid_place(value: bytes, by_time: bool) -> int:
    """Return the rank of a UUID in the order of its type: *by_time* in that of ``timeuuid``, else in that of
    ``uuid``."""

def select(batch: RecordBatch, mask: Mask) -> RecordBatch:
    """Return the rows for which *mask* is true, as a new batch."""

class Groups:
    """Groups of rows by the values of *keys*, and *measures* of each group: "count", "sum", "min" or "max" of a column;
    a column of -1 counts rows. Without keys all rows are one group. TypeError for an unsupported measure, IndexError
    for an unknown column. ``fields`` has the plan's fields of the keys, and of the measures, None for counts of rows.

    Sums of integers and decimals are exact; sums of floats are compensated for rounding (double the precision), so that
    the order hardly matters. Nulls are not counted. The order is that of the server: NaN is the greatest. Belongs to
    one thread at a time; large batches are added without the GIL, except for numbers stored as text. Can be pickled.
    """

    fields: Final[tuple[tuple[tuple[str, str, str, Form], ...], tuple[tuple[str, str, str, Form] | None, ...]]]

    def __init__(
        self,
        plan: ColumnPlan,
        keys: Iterable[int],
        measures: Iterable[tuple[Literal["count", "sum", "min", "max"], int]],
    ) -> None: ...
    def __len__(self) -> int:
        """Return the number of groups."""
    def add(self, batch: RecordBatch, mask: Mask | None = None) -> None:
        """Add the rows of *batch*, or those of its *mask*. MemoryError if the keys exceed the memory, or 2 GiB; the
        groups are unusable then."""
    def merge(self, other: Groups) -> None:
        """Add the results of *other*, which stays unchanged. ValueError if its keys or measures differ."""
    def results(self) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """Return the values of keys and measures of each group, in the order of their first rows: as in
        :class:`ColumnTest`, but UUIDs as 16 bytes and numbers stored as text as Decimals; None without any value."""

def top(sources: Iterable[tuple[RecordBatch, Mask | None]], column: int, count: int, descending: bool) -> RecordBatch:
    """Return the first *count* rows of one or more batches, or of those of their masks, by a column: nulls last, equal
    ones in input order. TypeError for a column without order."""

class Merge:
    """Merges the rows of *sources*, numbered from 0, into one order: by *order*, pairs of a column's number and a flag
    for descending, and among equal rows by the numbers of sources. Each source is fed in that order, batch by batch.
    Belongs to one thread at a time; it works without the GIL.

    The order of a type is the server's (timeuuid by time, NaN last, and so on), null is the smallest value of its type.
    ValueError for an empty order, or for a column of a type without order. Runs of *slice_rows* rows or more of one
    batch are returned as slices of it, which copy nothing; the rows between them are copied together.
    """

    pending: Final[int]
    """Number of rows that are merged and not taken."""
    def __init__(
        self, plan: ColumnPlan, order: Iterable[tuple[int, bool]], sources: int, slice_rows: int = 64
    ) -> None: ...
    def sources_without_rows(self) -> list[int]:
        """Return the sources that have to be fed, or ended, before :meth:`advance` can merge more."""
    def feed(self, source: int, batch: RecordBatch) -> None:
        """Add the next rows of a source without rows. ValueError for another schema, and for rows that are out of
        order, within the batch or after the source's last row; nothing is done then."""
    def end(self, source: int) -> None:
        """Report that the source has no more rows."""
    def advance(self, rows: int) -> int:
        """Merge until *rows* rows are pending, as far as rows of sources without rows cannot come before them. Return
        the number of pending rows."""
    def take(self) -> RecordBatch | None:
        """Return the next pending rows, in one piece; None if there are none."""
    origins: Final[list[tuple[int, int]]]
    """Origin of the rows of the last piece: sources, and the number of rows of each."""
    def known(self, source: int, batch: RecordBatch) -> int:
        """Return the number of leading rows of *batch* that are not behind the last row fed for the source, for a batch
        that is read again."""

def gather(runs: Iterable[tuple[RecordBatch, int, int]], plan: ColumnPlan) -> RecordBatch:
    """Return a batch of the rows of *runs*: (batch, first row, number of rows). All rows are copied. ValueError for
    rows out of range and batches of another schema, OverflowError if they are too many for one batch."""

def stream(plan: ColumnPlan, source: Callable[[], RecordBatch | None]) -> Any:
    """Return a capsule ``arrow_array_stream`` over the batches that *source* returns until None. An exception of
    *source* is an error of the stream, with the first 4 KiB of its text. KeyboardInterrupt, SystemExit and the like are
    raised again in the thread of the consumer, once that is back in Python. The stream has one consumer at a time,
    which may be any thread. *source* is dropped when the stream is released, or soon after, if it is released without
    the GIL."""

class ArrowReader:
    """Reads a capsule ``arrow_array_stream``, which it takes over. One thread at a time; the producer is called without
    the GIL. OSError with the producer's text if it fails, after which the stream is closed."""

    schema: Final[Any]
    """Capsule ``arrow_schema``."""
    def __init__(self, stream: Any) -> None: ...
    def __iter__(self) -> ArrowReader: ...
    def __next__(self) -> Any:
        """Capsule ``arrow_array``."""
    def close(self) -> None:
        """Release the stream; arrays read from it stay valid. May be called again."""

def column_names(schema: Any) -> list[str]:
    """Return the column names of a capsule ``arrow_schema`` of rows, which is not consumed."""

def batch_of(columns: Iterable[tuple[str, str, Iterable[Buffer | None]]], length: int) -> tuple[Any, Any]:
    """Return *length* rows as capsules of an Arrow schema and array. Each column has its name, its format in the C data
    interface, and its buffers, the first of which holds the validity bits, or is None. Formats of numbers and times,
    ``b``, ``u`` and ``z``, and ``+w:<n>:<format>`` for lists of n numbers each. The buffers are not copied; the array
    keeps them. ValueError if they are too small."""

class IngestPlan:
    """Conversion of Arrow rows to the bound values of a prepared statement, which has *columns* in the order of its
    markers. Immutable except for the last reader, which it caches.

    *nulls*: null leaves a column unchanged ("unset") or deletes its value ("null"). *tokens*: the table's partitioner
    is Murmur3. Conversions are lossless, except that floating-point numbers are rounded to ``float``; values that do
    not fit are errors of their rows. *round* applies to points in time with fractions of a millisecond: "error" refuses
    them, "floor" takes the millisecond before, "nearest" the nearest one, of two the even one. Counters are refused.
    Values of encrypted columns are encrypted one by one, by the ``seal(bytes)`` of a cipher that has ``inner``, the
    codec of the plain values; metadata of the field is ignored. For values that are encrypted already give the stored
    type.
    """

    names: Final[tuple[str, ...]]
    def __init__(
        self,
        columns: Iterable[tuple[str, Codec]],
        *,
        partition_key: Iterable[str] = (),
        clustering: Iterable[str] = (),
        nulls: Literal["unset", "null"] = "unset",
        tokens: bool = True,
        round: Literal["error", "floor", "nearest"] = "error",
    ) -> None: ...
    def __len__(self) -> int:
        """Return the number of columns."""
    def reader(
        self, schema: Any, *, others: Literal["error", "ignore"] = "error", encoded: Iterable[str] = ()
    ) -> RowReader:
        """Return a reader for arrays of the schema in a capsule, which is not consumed; the same schema gives the same
        reader again. ValueError with all misfits, a line each. *others*: columns of the data that the plan lacks.
        Columns that the data lacks are left unset, except those of the primary key, which are required. *encoded*:
        columns of binary whose values are encoded already, by ``Codec.encode``; they are not checked."""

class RowReader:
    """A plan for one Arrow schema. Immutable."""

    plan: Final[IngestPlan]
    def rows(self, array: Any, *, first: int = 0, refused: Mapping[int, str] | None = None) -> Rows:
        """Take over the array of a capsule ``arrow_array``, which must have that schema. ValueError if it is broken.
        *first* is the number of its first row, for messages. *refused*: rows of the array, counted from 0, that cannot
        be written, and the reasons."""

class Rows:
    """Rows of an Arrow array as the bound values of a prepared statement, for the transport (``base/row_source.h``).
    Keeps the array; belongs to one thread at a time."""

    has_tokens: Final[bool]
    def __len__(self) -> int:
        """Return the number of rows."""
    def encode(self, row: int) -> tuple[bytes, int | None]:
        """Return the values of a row as on the wire, without their count, and its token. ValueError naming column, row
        and value if it cannot be written."""
    def same_partition(self, left: int, right: int) -> bool:
        """True if two rows have the same partition key."""
    def _source(self) -> Any:
        """Return a capsule of the native source, which is valid as long as this object lives."""

def debug_counters() -> dict[str, int]:
    """Native objects of this extension that exist in the process, for tests: column_batches, column_blocks,
    arrow_arrays, arrow_schemas, arrow_streams, arrow_rows (arrays being read), arrow_loans (of batch_of())."""
