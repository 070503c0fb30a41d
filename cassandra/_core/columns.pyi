"""Typed contract of the columns extension: pages of rows into Arrow columns, for whoever speaks Arrow's C interfaces,
and what comes by those as values of a prepared statement.

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

An encrypted column is of the type of its plain values, in pages that were decrypted
(``codec.decrypted_page``).

A field's metadata has ``cql.type``, and ``cql.encrypted`` where that is so. Values of zero bytes are null for all but
text, blob and custom types, as in rows.
Nulls are counted; a column without any has no validity buffer. Buffers are aligned to 64 bytes and padded with zeros.

Plans and batches are immutable and may be used by any thread. What is exported shares the memory of its batch;
releasing it needs neither the GIL nor this module, from any thread, at any time. Memory comes from the pool of the
plan, which lives as long as the last buffer.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

from typing_extensions import Buffer

from cassandra._core.codec import Codec, RowsPage
from cassandra._core.memory import MemoryPool

#: "integer" are booleans, dates and times too; "number" are decimals and varints that are kept as text.
Form = Literal["integer", "float", "bytes", "uuid", "wide", "number"]

class ColumnPlan:
    """How pages of some columns become Arrow arrays. ValueError for an option that is none.

    For :func:`decode_arrays` there may be columns without a codec, which are not decoded, and no pool: then each column
    has plain memory of its own.
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
        """Of each column its name, its format in Arrow's C interface (of a dictionary that of its values), its CQL
        type, and what kernels take its values for; None where they cannot be compared."""
    def __len__(self) -> int:
        """Columns."""
    def __eq__(self, other: object) -> bool:
        """Whether both have the same Arrow schema."""
    def __arrow_c_schema__(self) -> Any: ...

class RecordBatch:
    """Columns of the same number of rows; immutable. Or some rows of another one, whose memory it shares and keeps."""

    plan: Final[ColumnPlan]
    offset: Final[int]
    """Where its rows begin in its buffers; 0, but for slices."""
    num_rows: Final[int]
    num_columns: Final[int]
    nbytes: Final[int]
    """Bytes that its buffers take, padding and all: those of a slice are those of the whole."""
    @property
    def schema(self) -> ColumnPlan:
        """Has ``__arrow_c_schema__``."""
    def __len__(self) -> int:
        """Rows."""
    def slice(self, offset: int = 0, length: int | None = None) -> RecordBatch:
        """*length* rows (all that are left, if there are no so many) from *offset* on; nothing is copied."""
    def column(self, which: int | str, /) -> tuple[memoryview | None, ...]:
        """The buffers of a column, as Arrow has them: validity (None without nulls), values or offsets, and, for text,
        binary and written numbers, bytes. KeyError for a name that no column has, or several."""
    def null_count(self, which: int | str, /) -> int: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """May be called any number of times."""

class ColumnBuilder:
    """One batch of several pages, in their order. Belongs to one thread at a time.

    Two hints of how many rows it will have in all: *target_rows*, where the caller will end if the pages do not end
    before; and *expected_rows*, the likely number, so that room for them is made with the first page. 0: unknown. Any
    number is allowed: room is made for a few times what came, and 32 MiB ahead, at most.
    """

    nbytes: Final[int]
    def __init__(self, plan: ColumnPlan, target_rows: int = 0, expected_rows: int = 0) -> None: ...
    def __len__(self) -> int:
        """Rows so far."""
    def append(self, page: RowsPage) -> bool:
        """All rows of *page*. False, and nothing done, when they might not fit into the batch any more, whose offsets
        have 31 bits: finish it, and begin another one. DriverException, and nothing done, when a value is none of its
        type: it names column and row."""
    def finish(self) -> RecordBatch:
        """The batch of what was appended; the builder begins anew."""

def decode(plan: ColumnPlan, page: RowsPage) -> RecordBatch:
    """All rows of *page* as one batch. DriverException as :meth:`ColumnBuilder.append`, OverflowError for a page that
    is too large for one batch. Large pages are decoded without the GIL."""

def decode_arrays(plan: ColumnPlan, page: RowsPage) -> list[tuple[memoryview, memoryview | None]]:
    """Numbers, or elements of vectors of numbers, of all rows of *page*, as :func:`decode` makes them, in writable
    memory that is the caller's, and the bits of those that are not null (None without nulls). Of columns without a
    codec the places (int32) of their values, for ``codec.decode_objects``."""

class Mask:
    """Which rows of a batch are meant: for each of them a predicate is true, false, or neither, as something was null.
    Combined as SQL does it. Immutable."""

    count: Final[int]
    """Rows that it is true for."""
    run_count: Final[int]
    """How many pieces they are in."""
    def __len__(self) -> int:
        """Rows of the batch."""
    def __and__(self, other: Mask) -> Mask: ...
    def __or__(self, other: Mask) -> Mask: ...
    def __invert__(self) -> Mask: ...
    def runs(self) -> list[tuple[int, int]]:
        """First row and number of rows of each piece, in order."""
    def tolist(self) -> list[bool | None]: ...
    @staticmethod
    def of(values: Any, rows: int) -> Mask:
        """Of a mask, an Arrow array of booleans or a stream of such arrays, a masked array, a buffer of booleans or
        bytes, or any iterable of booleans and None. Masked values, NA and NaN are None. ValueError when they are not as
        many as there are rows, TypeError for anything else than booleans."""

class ColumnTest:
    """A test of the values of one column, for batches of *plan*: whether they are null, or lie *within* two bounds, or
    are *among* some. Immutable; large batches are tested without the GIL.

    Values are given as kernels have them: integers (days, milliseconds, nanoseconds); floats; bytes, whose bounds may
    be None and have a third one, ``"[]"``, ``"(]"``, ``"[)"`` or ``"()"``; of UUIDs their :func:`uuid_place`; of
    decimals of a precision the number without its point. Bounds are included. NaN lies within nothing and is among
    nothing. Numbers kept as text are bytes here.
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
    """Where a UUID stands in the order of its type: *by_time* in that of ``timeuuid``, else in that of ``uuid``."""

def select(batch: RecordBatch, mask: Mask) -> RecordBatch:
    """The rows that *mask* is true for, as a batch of their own."""

class Groups:
    """Rows by the values of *keys*, and *measures* of each group: "count", "sum", "min" or "max" of a column; a column
    of -1 counts rows. Without keys all rows are one group. TypeError for a measure that there is not, IndexError for a
    column. ``fields`` has those of the plan that are keys, and those that are measured, None for rows.

    Sums of integers and decimals are exact; floats are summed up with what rounding loses (double the precision), so
    that the order hardly matters. Nulls do not count. The order is that of the server: NaN is the greatest. Belongs to
    one thread at a time; large batches are added without the GIL, but for numbers that are kept as text. Can be
    pickled.
    """

    fields: Final[tuple[tuple[tuple[str, str, str, Form], ...], tuple[tuple[str, str, str, Form] | None, ...]]]

    def __init__(
        self,
        plan: ColumnPlan,
        keys: Iterable[int],
        measures: Iterable[tuple[Literal["count", "sum", "min", "max"], int]],
    ) -> None: ...
    def __len__(self) -> int:
        """Groups."""
    def add(self, batch: RecordBatch, mask: Mask | None = None) -> None:
        """The rows of *batch*, or of its *mask*. MemoryError when the keys are more than there is memory for, or 2 GiB;
        then the groups are good for nothing."""
    def merge(self, other: Groups) -> None:
        """What *other* has come to, which stays as it is. ValueError if it is by other keys or of other measures."""
    def results(self) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """Values of keys and measures of each group, in the order of their first rows: as in :class:`ColumnTest`, but
        UUIDs as 16 bytes and numbers kept as text as Decimals; None where there was nothing."""

def top(sources: Iterable[tuple[RecordBatch, Mask | None]], column: int, count: int, descending: bool) -> RecordBatch:
    """The first *count* rows of one or more batches, or of those of their masks, by a column: nulls last, equal ones as
    they come. TypeError for a column without order."""

class Merge:
    """The rows of *sources*, numbered from 0, in one order: by *order*, pairs of a column's number and whether it
    descends, and where that is equal by the numbers of sources. Each source is fed in that order, batch by batch.
    Belongs to one thread at a time; it works without the GIL.

    The order of a type is the server's (timeuuid by time, NaN last, and so on), null is the smallest value of its type.
    ValueError for an order by nothing, or by a column of a type without order. Runs of *slice_rows* rows or more of one
    batch come as slices of it, which copy nothing; what lies between them is copied together.
    """

    pending: Final[int]
    """Rows that were merged and not taken."""
    def __init__(
        self, plan: ColumnPlan, order: Iterable[tuple[int, bool]], sources: int, slice_rows: int = 64
    ) -> None: ...
    def hungry(self) -> list[int]:
        """Sources that have to be fed, or ended, before :meth:`advance` finds more."""
    def feed(self, source: int, batch: RecordBatch) -> None:
        """The next rows of a hungry source. ValueError for another schema, and for rows that are out of order: those of
        a batch, or its first one and the last one before; then nothing was done."""
    def end(self, source: int) -> None:
        """It has no more rows than it was fed with."""
    def advance(self, rows: int) -> int:
        """Merge until so many rows are pending, as far as what may come of hungry sources does not matter. How many are
        pending."""
    def take(self) -> RecordBatch | None:
        """The next pending rows, in one piece; None if there are none."""
    origins: Final[list[tuple[int, int]]]
    """Where the rows of the last piece came from: sources, and how many rows of each."""
    def known(self, source: int, batch: RecordBatch) -> int:
        """How many rows *batch* begins with that are not behind the last one that the source was fed with, when it is
        read once more."""

def gather(runs: Iterable[tuple[RecordBatch, int, int]], plan: ColumnPlan) -> RecordBatch:
    """A batch of the rows of *runs*: of a batch, from a row on, so many. Everything is copied. ValueError for rows that
    are not there and batches of another schema, OverflowError when they are too many for one batch."""

def stream(plan: ColumnPlan, source: Callable[[], RecordBatch | None]) -> Any:
    """Capsule ``arrow_array_stream`` over the batches that *source* gives until None; one that raises is an error of
    the stream, with the first 4 KiB of its text. KeyboardInterrupt, SystemExit and the like are raised again in the
    thread of the consumer, once that is back in Python. The stream has one consumer at a time, which may be any thread.
    *source* is dropped when the stream is released, or, where that is done without the GIL, soon after."""

class ArrowReader:
    """Reads a capsule ``arrow_array_stream``, which it takes over. One thread at a time; the producer is asked without
    the GIL. OSError with its text when it fails, after which the stream is closed."""

    schema: Final[Any]
    """Capsule ``arrow_schema``."""
    def __init__(self, stream: Any) -> None: ...
    def __iter__(self) -> ArrowReader: ...
    def __next__(self) -> Any:
        """Capsule ``arrow_array``."""
    def close(self) -> None:
        """Release the stream; what came of it stays. May be called again."""

def column_names(schema: Any) -> list[str]:
    """Of a capsule ``arrow_schema`` of rows, which stays whole."""

def batch_of(columns: Iterable[tuple[str, str, Iterable[Buffer | None]]], length: int) -> tuple[Any, Any]:
    """*length* rows as capsules of an Arrow schema and array: per column its name, its format in the C data interface,
    and its buffers, the first of which, or None, says by bits which values there are. Formats of numbers and times,
    ``b``, ``u`` and ``z``, and ``+w:<n>:<format>`` for lists of n numbers each. The buffers are not copied; the array
    keeps them. ValueError when they are too small."""

class IngestPlan:
    """How rows of Arrow's become the bound values of a prepared statement, which has *columns* in the order of its
    markers. Immutable, but for the last reader, which it keeps.

    *nulls*: whether null leaves a column as it is or deletes what is there. *tokens*: whether the table's partitioner
    is Murmur3. Conversions are lossless; values that do not fit are errors of their rows. Counters are refused.
    Of encrypted columns values are encrypted one by one, by the ``seal(bytes)`` of a cipher that has ``inner``, the
    codec of what it encrypts, whatever the field's metadata say. For values that are encrypted already give the type of
    what is stored.
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
    ) -> None: ...
    def __len__(self) -> int:
        """Columns."""
    def reader(self, schema: Any, *, others: Literal["error", "ignore"] = "error") -> RowReader:
        """For arrays of the schema in a capsule, which stays whole; the same reader for the same schema again.
        ValueError with everything that does not fit, a line each. *others*: columns of the data that the plan has not.
        Columns that the data has not are left unset, unless they are of the primary key: those have to be there."""

class RowReader:
    """A plan for one Arrow schema. Immutable."""

    plan: Final[IngestPlan]
    def rows(self, array: Any, *, first: int = 0) -> Rows:
        """Takes over the array of a capsule ``arrow_array``, which has to have that schema. ValueError when it is
        broken. *first* is the number of its first row, for messages."""

class Rows:
    """Rows of an Arrow array as the bound values of a prepared statement, for the transport (``base/row_source.h``).
    Keeps the array; belongs to one thread at a time."""

    has_tokens: Final[bool]
    def __len__(self) -> int:
        """Rows."""
    def encode(self, row: int) -> tuple[bytes, int | None]:
        """The values of a row as on the wire, without their count, and its token. ValueError naming column, row and
        value when it cannot be written."""
    def same_partition(self, left: int, right: int) -> bool:
        """Whether two rows have the same partition key."""
    def _source(self) -> Any:
        """A capsule of the native source, which is valid as long as this is there."""

def debug_counters() -> dict[str, int]:
    """Native objects of this extension that exist in the process, for tests: column_batches, column_blocks,
    arrow_arrays, arrow_schemas, arrow_streams, arrow_rows (arrays that are read), arrow_loans (of batch_of())."""
