"""Typed contract of the codec extension: CQL values, rows, results and request bodies to and from wire bytes.

A :class:`Codec` is a compiled CQL type. It does not depend on the Python type classes of ``cassandra.cqltypes`` (L2);
each of those holds a Codec and sets itself as its ``py_type``. All objects are immutable after construction except
``py_type``, ``factory``, ``empty_value`` and ``extra``; all functions may be called from any thread.

Python types of the values (read | also accepted):

* ascii, text: str. blob, custom: bytes | any contiguous buffer. boolean: bool | int, numpy.bool.
* tinyint, smallint, int, bigint, counter, varint: int | any object with ``__index__``.
* float, double: float | any object with ``__float__``, see :func:`is_real`.
* decimal: Decimal, its scale kept | int, float, str.
* uuid, timeuuid: uuid.UUID | an object with 16 ``bytes``.
* timestamp: naive UTC datetime, beyond its years the int of milliseconds | aware or naive datetime, date, int or float
  milliseconds. Parts of a millisecond are cut off.
* date: Date | datetime.date, str, or an int as CQL defines it: days counted from 2**31 at the epoch.
* time: Time | datetime.time, str, int nanoseconds. duration: Duration | any object with its three attributes.
* inet: str | ipaddress objects without a scope, and without a prefix length that is shorter than the address.
* list, vector: list; set: SortedSet; map: OrderedMapSerializedKey | any iterable except str; for maps any object with
  ``items()``; for vectors of float, double, int and bigint one-dimensional arrays, without a Python object per
  element. Null items are allowed in collections (servers refuse them), not in vectors.
* tuple: tuple | any iterable; short tuples are filled with null. UDT: ``factory`` | see :func:`fields_of`.

Masked elements of NumPy, and arrays with masked elements, are refused.

Zero bytes are None (``empty_value``) except for text, ascii, blob and custom types.
"""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from typing_extensions import Buffer

_Result = TypeVar("_Result", bound=Result)

UNSET: Final[object]  # the value object of cassandra.query.UNSET_VALUE (defined here, re-exported by L5)

class Codec:
    kind: Final[int]  # wire option id; 0 custom
    name: Final[str]  # CQL name without parameters: "int", "list", "vector", or the custom class name
    children: Final[tuple[Codec, ...]]
    keyspace: Final[str | None]  # UDT
    type_name: Final[str | None]  # UDT
    field_names: Final[tuple[str, ...]]  # UDT
    dimensions: Final[int]  # vector
    stored: Final[Codec | None]  # of an encrypted column: its type on the server
    cipher: Final[Any]  # of an encrypted column: the cipher passed to encrypted_codec()
    py_type: Any  # L2's class for it; None until L2 sets it
    factory: Any  # UDT: namedtuple class (filled natively) or callable(**fields); None gives a cached namedtuple
    empty_value: Any  # decoded from zero bytes if these are not a value of the type (all but text, ascii, blob): None
    @property
    def element_size(self) -> int:
        """Size in bytes of an element of a vector of this type; -1 if each element has a length prefix."""
    def cql(self) -> str:
        """Return the CQL spelling without frozen: ``map<text, list<int>>`` for ``frozen<map<text, list<int>>>``."""
    def decode(self, data: Buffer | None, protocol_version: int = 4) -> Any:
        """Decode a value. DriverException (its cause gives the reason) if the bytes are not a value of this type."""
    def encode(self, value: Any, protocol_version: int = 4) -> bytes:
        """Encode a value. TypeError (wrong type, also None), OverflowError (out of range) or ValueError."""

def scalar(kind: int) -> Codec:
    """Return the codec of a wire id. Codecs are interned, one per id."""

def list_codec(element: Codec) -> Codec: ...
def set_codec(element: Codec) -> Codec: ...
def map_codec(key: Codec, value: Codec) -> Codec: ...
def tuple_codec(elements: Sequence[Codec]) -> Codec: ...
def vector_codec(element: Codec, dimensions: int) -> Codec: ...
def udt_codec(
    keyspace: str, name: str, field_names: Sequence[str], elements: Sequence[Codec], factory: Any = None
) -> Codec: ...
def custom_codec(
    class_name: str,
    decode: Callable[[bytes, int], Any] | None = None,
    encode: Callable[[Any, int], bytes] | None = None,
) -> Codec:
    """Return the codec of a server-side class without a native kernel: bytes unless Python functions are given."""

def encrypted_codec(stored: Codec, cipher: Any) -> Codec:
    """Return a codec of the kind and name of *stored*; *cipher* has ``encode(value, protocol_version)`` and
    ``decode(bytes, protocol_version)``, and is never called for null."""

def replace_functions(codec: Codec, decode: Callable[[bytes, int], Any], encode: Callable[[Any, int], bytes]) -> None:
    """Let *decode* and *encode* convert the values of *codec*, in all plans and nested types that contain it. For types
    whose functions a program has replaced; without cost for other types."""

def restore_functions(codec: Codec) -> None:
    """Undo :func:`replace_functions`; no effect if nothing was replaced."""

def native_copy(codec: Codec, deep: bool = False) -> Codec:
    """Return a codec of the same type with the functions of the driver, also while those of *codec* are replaced.
    *deep*: for the types within it too."""

def all_codecs() -> list[Codec]:
    """Return the live codecs."""

def set_on_new(function: Callable[[Codec], object] | None) -> None:
    """Call *function* from now on with each parameterised codec made from a server's metadata; None: stop."""

def is_real(value: Any) -> bool:
    """Return True if ``float(value)`` is *value* as a whole. False for text, for other objects without a float, and for
    complex numbers, masked elements and times of NumPy, of which ``float()`` takes a part."""

def check_address(value: Any) -> None:
    """Raise ValueError for an object of the ipaddress module that ``inet`` cannot hold as a whole: one with a scope, or
    with a prefix length that is shorter than the address."""

def fields_of(value: Any, type_name: str, names: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the fields *names* of *value*, a value of the user type *type_name*, in this order; fields at the end may
    be missing, others are then None.

    A named tuple is read by name if the type has all its names, or it has all those of the type; another tuple or list
    by position, a mapping by key, any other object by attribute. TypeError for an object without any of the fields;
    ValueError for an unknown key, and for a named tuple with unknown names that has others at another position.
    """

class TypeContext:
    """Resolves types that wire metadata does not define alone. Called once per new type, never per value."""

    def __init__(
        self,
        resolve_custom: Callable[[str], Codec] | None = None,  # server class name -> codec
        resolve_udt: Callable[[str, str], Any] | None = None,  # (keyspace, name) -> registered class or None
        plan_cache_size: int = 256,
    ) -> None: ...
    resolve_column: Callable[[str, str, str, Codec, bool], Codec] | None
    """Called for each column (keyspace, table, name, codec, is a parameter) of metadata that is read; returns the codec
    to use for it. None, unless columns are encrypted. Call :meth:`clear` after setting it."""
    def clear(self) -> None:
        """Drop cached plans (a user type was registered or altered, encrypted columns were added)."""
    def user_type(self, keyspace: str, name: str) -> Any:
        """Return the class registered for a user type, or None."""
    def __len__(self) -> int:
        """Return the number of plans in the cache."""

class ResultPlan:
    """Decoder of the rows of one result shape: names, codecs, and a row plan per factory. Shared between threads;
    immutable except for values that are computed once and cached."""

    names: Final[tuple[str, ...]]
    codecs: Final[tuple[Codec, ...]]
    specs: Final[tuple[tuple[str, str, str, Codec], ...]]  # keyspace, table, column, codec
    keyspace: Final[str | None]
    table: Final[str | None]
    types: Any  # for L2: the type classes of the columns, set once
    extra: Any  # for the layers above: the Arrow schema, set once
    def __init__(self, specs: Sequence[tuple[str, str, str, Codec]]) -> None: ...
    def __len__(self) -> int: ...
    def row_plan(self, factory: Any) -> RowPlan | None:
        """Return the row plan cached for exactly this factory, or None."""
    def note_row_plan(self, factory: Any, row_plan: RowPlan) -> RowPlan:
        """Cache a row plan. A plan that another thread has cached first stays, and is returned."""

class RowPlan:
    """A ResultPlan with one row format."""

    plan: Final[ResultPlan]
    kind: Final[str]
    row_class: Final[type | None]
    def __init__(
        self, plan: ResultPlan, kind: str, row_class: type | None = None, maker: InstanceMaker | None = None
    ) -> None:
        """*kind*: "tuple", "named" (row_class: a namedtuple class with as many fields as there are columns), "dict",
        "ordered", "instance" (by *maker*)."""

def named_rows(row_class: Any, rows: Iterable[Sequence[Any]]) -> list[Any]:
    """Return *rows* as instances of this namedtuple class. TypeError for a row of another length."""

def explain_rows(row_class: Any) -> Any:
    """Have errors of missing columns, in rows of this namedtuple class, name the columns it has. Return the class. The
    first call for a class must precede its use by other threads; later ones change nothing."""

class InstanceMaker:
    """Makes an instance of *row_class* from the cells of a row. Immutable."""

    row_class: Final[type]
    kind: Final[str]  # call, init, tuple, slots, values, attributes
    def __init__(
        self, row_class: type, kind: str, columns: int, sources: Any, names: Iterable[str] = (), defaults: Any = ()
    ) -> None:
        """*kind*: "call" and "init" (``object.__new__``, then ``__init__``) pass *sources*, numbers of *columns*, as
        arguments, the last of them by *names*. "fields" sets the attributes *names*, and "tuple" the items, to their
        *sources*; -1 is the value in *defaults* at that index, -2 the result of calling it. The caller guarantees that
        no ``__init__``, ``__setattr__`` or ``__new__`` of the class is bypassed."""
    def make(self, row: Iterable[Any]) -> Any:
        """Return the instance for one row. Exceptions of a constructor propagate."""

LARGE_PAGE: Final[int]  # bytes of rows

class RowsPage:
    """Rows of one response, undecoded; the buffer protocol exports the bytes, read-only. Pins its frame."""

    plan: Final[ResultPlan]
    nbytes: Final[int]
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    _block: Final[Any]  # of the frame that it pins; None if it pins none
    def decode(self, row_plan: RowPlan, start: int = 0, stop: int | None = None) -> list[Any]:
        """Return all rows, or a slice of them; consecutive slices are found without a search. Raises DriverException
        naming column, row and type."""
    def made_by(self, factory: Any) -> list[Any] | None:
        """Return all rows by the row plan cached for *factory*; None without one, or for more than LARGE_PAGE bytes."""
    def detached(self) -> RowsPage:
        """Return a copy of the rows that pins no frame, for long retention."""
    def batches(self, row_plan: RowPlan, size: int = 8192, nbytes: int = 1 << 18) -> RowBatches: ...

class RowIndex:
    """Undecoded rows of *pages*, which have the same columns, by the texts of two of their columns, such as keyspace
    and table. It takes memory per run of consecutive rows with equal texts, not per row. Rows with a null in these
    columns are left out. DriverException if rows end early, or a column is missing or not text. Immutable."""

    pages: Final[tuple[RowsPage, ...]]
    def __init__(self, pages: Iterable[RowsPage], first: str, second: str) -> None: ...
    def find(self, first: str, second: str) -> list[tuple[RowsPage, int, int]]:
        """Return the rows with these texts: page, first row, and the row behind the last one; in their order."""
    def group(self, first: str) -> list[tuple[RowsPage, int, int]]:
        """Return the rows with this *first* text, likewise."""
    def seconds(self, first: str, limit: int = -1) -> list[str]:
        """Return the second texts of these rows, in their order, at most *limit* unless it is negative: each at least
        once, and once per run. Those that are not UTF-8 are omitted."""

def decrypted_page(page: RowsPage, plan: ResultPlan) -> RowsPage:
    """Return *page* with its encrypted columns decrypted by their ciphers' ``decrypt(bytes)``; the other columns are
    copied unchanged. *plan* describes the decrypted columns. DriverException as :meth:`RowsPage.decode`."""

def described_page(page: RowsPage, plan: ResultPlan) -> RowsPage:
    """Return the rows of *page*, not copied, with the codecs of *plan*. ValueError if the column count differs."""

class RowBatches:
    """Iterates over lists of up to *size* rows, or fewer rows that take *nbytes* on the wire; each list is decoded on
    demand. The rows before a broken one come before its DriverException. Changes only its own state; one thread at a
    time."""

    def __iter__(self) -> Iterator[list[Any]]: ...
    def __next__(self) -> list[Any]: ...

def decode_objects(page: RowsPage, column: int, places: Buffer, array: Buffer) -> None:
    """Decode a column, whose values are at *places* (``columns.decode_arrays``), into *array*: contiguous, writable,
    one object per row (format ``O``). ValueError if they do not fit; DriverException as :meth:`RowsPage.decode`."""

def decode_numbers(codec: Codec, data: Buffer) -> memoryview:
    """Return the elements of a vector of int, bigint, float or double as a new, writable memoryview of machine numbers
    (``i``, ``q``, ``f``, ``d``), without a Python object per element. DriverException if the bytes are not such a
    vector, TypeError for other types."""

class Result:
    """Native fields of a RESULT message; ``cassandra.protocol.ResultMessage`` derives from it with empty slots."""

    __slots__: tuple[str, ...]  # the names of the fields
    def __init__(self, kind: int | None = None) -> None: ...
    kind: int | None  #: Kind of the result: 1 VOID, 2 ROWS, 3 SET_KEYSPACE, 4 PREPARED, 5 SCHEMA_CHANGE.
    page: RowsPage | None  #: The undecoded rows.
    plan: ResultPlan | None  #: Decoder of the rows.
    paging_state: bytes | None  #: Position after the page; None for the last one.
    new_keyspace: str | None  #: Keyspace that is in use now.
    query_id: bytes | None  #: Id of the prepared statement.
    bind_plan: BindPlan | None  #: Encoder of the values of the prepared statement.
    pk_indexes: list[int] | None  #: Markers that are the partition key.
    is_lwt: bool  #: True if the prepared statement is conditional (ScyllaDB).
    result_metadata_id: bytes | None  #: Id of the metadata of the columns.
    metadata_changed: bool  #: True if the response has new metadata of the columns.
    schema_change_event: dict[str, Any] | None  #: The schema change, a dict.
    continuous_paging_seq: int | None  #: None: DSE is not supported.
    continuous_paging_last: bool | None  #: None: DSE is not supported.
    stream_id: int | None  #: Stream id of the frame.
    trace_id: Any  #: Id of the trace; None without.
    custom_payload: dict[str, bytes | None] | None  #: Custom payload; None without.
    warnings: list[str] | None  #: Warnings of the server; None without.
    parsed_rows: Any  #: The rows, a list of tuples; None without rows.
    column_names: list[str] | None  #: Names of the columns.
    column_types: list[Any] | None  #: Types of the columns.
    column_metadata: list[tuple[str, str, str, Any]] | None
    bind_metadata: list[Any] | None

def decode_result(
    cls: type[_Result],
    body: Buffer,
    flags: int,
    protocol_version: int,
    context: TypeContext,
    plan: ResultPlan | None = None,
    stream_id: int = ...,  # None unless given
    lwt_mask: int = 0,
    metadata_ids: bool = False,
) -> _Result:
    """Decode a RESULT envelope's (uncompressed) body. *plan* is used if the server skipped metadata. *metadata_ids*:
    PREPARED results carry a result metadata id (always true on v5, or with Scylla's extension).

    A malformed body raises ProtocolError; a response whose columns do not fit *plan* (stale metadata) DriverException.
    Cells are checked when rows are decoded, and can fail only then. ``cls.__init__`` is not called."""

class RowsOfBatches:
    """The rows of all *batches*. A row that cannot be decoded raises, and so does every later call. Of threads that
    share one, each gets some of the rows; each row goes to at least one of them."""

    def __init__(self, batches: RowBatches) -> None: ...
    def __iter__(self) -> RowsOfBatches: ...
    def __next__(self) -> Any: ...

class LazyRows:
    """Lazy rows of a page, decoded on the first access."""

    page: Final[RowsPage]
    def __len__(self) -> int: ...
    def rows(self) -> list[Any]:
        """Return the rows, the same list each time. DriverException as :meth:`RowsPage.decode`, also each time."""

def split_page(page: RowsPage, how: RowPlan) -> tuple[list[Any], list[Any] | bytes] | tuple[LazyRows, RowsPage]:
    """Return the rows of a page of LARGE_PAGE bytes at most, and its retained form for :func:`retained_page`. Rows of a
    small page are decoded at once; its retained form pins no frame, and is the list of rows where that is
    sufficient."""

def retained_page(plan: ResultPlan, kept: list[Any] | bytes | RowsPage) -> RowsPage:
    """Restore the page; *plan* is its own. RuntimeError if retained rows were changed and no longer fit *plan*."""

class ResultDecoder:
    """decode_result() with the arguments that are constant for all frames of a connection."""

    def __init__(
        self, cls: type[Result], context: TypeContext, lwt_mask: int = 0, metadata_ids: bool = False
    ) -> None: ...
    def decode(self, frame: Any, plan: ResultPlan | None = None) -> Any:
        """Return the instance of *cls* for a Frame; None if it is not a RESULT, or compressed. Raises as
        decode_result()."""

    def raw(self, frame: Any) -> RawRows | None:
        """Return the undecoded rows of a frame; None for any other frame, a compressed one, or one with warnings, a
        trace id or a payload beside its rows: decode() handles these. Raises ProtocolError if it ends before its
        rows."""

    def plain(
        self, frame: Any, header: int, plan: ResultPlan | None, factory: Any
    ) -> tuple[list[Any] | LazyRows | None, bytes | None, list[Any] | bytes | RowsPage | None] | None:
        """Return ``(rows, paging state, retained page)`` of a frame with rows of *plan*, made by *factory*, and nothing
        beside them; rows are None for a RESULT without any. None for every other frame, a large page, and the first of
        a row plan: decode() handles these. *header* is the frame's version, flags and opcode, a byte each, so that no
        attributes are looked up."""

class RawRows:
    """A RESULT with rows, entirely undecoded, including its column metadata: most programs never read some results,
    such as those of schema queries. Owns a copy of the frame's body; any thread may use it."""

    paging_state: Final[bytes | None]
    nbytes: Final[int]
    def __len__(self) -> int:
        """Return the number of rows that the response claims. Raises ProtocolError for a malformed body."""
    def page(self) -> RowsPage:
        """Decode the column metadata. Raises ProtocolError for a malformed body."""

def is_plain_rows(message: object) -> bool:
    """True if *message* is a Result with undecoded rows and nothing beside them: kind ROWS, ``page`` set, no trace id,
    warnings, custom payload or changed metadata. One check for callers with a fast path for such responses."""

class BindPlan:
    """Encoder of the parameters of a prepared statement into wire bytes and a routing token."""

    names: Final[tuple[str, ...]]
    specs: Final[tuple[tuple[str, str, str, Codec], ...]]
    pk_indexes: Final[tuple[int, ...] | None]
    def __init__(
        self, specs: Sequence[tuple[str, str, str, Codec]], pk_indexes: Sequence[int] | None = None
    ) -> None: ...
    def __len__(self) -> int: ...
    def bind(
        self,
        values: Iterable[Any] | Mapping[str, Any] | None,
        protocol_version: int,
        *,
        want_token: bool = True,
        strict: bool = False,
    ) -> Bound:
        """Encode positional or named values. Missing values: UNSET on v4+; on v3, and if *strict*, ValueError
        (positional) or KeyError (names). Too many: ValueError. Names without a parameter: ValueError if *strict*, else
        they are ignored, with one warning if *values* is a dict. UNSET on v3 or in the partition key: ValueError. A
        value that the type cannot hold: TypeError naming parameter, CQL type and value type; the cause is chained if
        code of a program has raised it."""

class Bound:
    """Bound values: the wire bytes of ``<n><value_1>...<value_n>`` and the routing data."""

    data: Final[bytes]
    count: Final[int]
    token: Final[int | None]  # Murmur3, None if a partition key component is null, unset or unknown
    routing_key: Final[bytes | None]
    values: Final[list[Any]]  # per value: bytes, None, or UNSET
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, index: Any) -> Any: ...

def encode_parameters(
    version: int,
    consistency: int,
    *,
    values: Sequence[Any] | Bound | None = None,
    names: Sequence[str] | None = None,
    skip_metadata: bool = False,
    page_size: int | None = None,
    paging_state: bytes | None = None,
    serial_consistency: int | None = None,
    timestamp: int | None = None,
    keyspace: str | None = None,
) -> bytes:
    """Encode the <query_parameters> of a QUERY or EXECUTE alone."""

def encode_query(
    version: int,
    query: str | bytes,
    consistency: int,
    *,
    values: Sequence[Any] | Bound | None = None,  # encoded bytes / None / UNSET each
    names: Sequence[str] | None = None,
    flags: int = 0,  # of the envelope (tracing, beta)
    payload: Mapping[str, bytes | None] | None = None,
    skip_metadata: bool = False,
    page_size: int | None = None,
    paging_state: bytes | None = None,
    serial_consistency: int | None = None,
    timestamp: int | None = None,
    keyspace: str | None = None,
) -> bytes:
    """Encode a whole uncompressed QUERY envelope, stream 0."""

def encode_execute(
    version: int,
    query_id: bytes,
    consistency: int,
    bound: Bound | Sequence[Any] | None,
    *,
    result_metadata_id: bytes | None = None,
    flags: int = 0,
    payload: Mapping[str, bytes | None] | None = None,
    skip_metadata: bool = True,
    page_size: int | None = None,
    paging_state: bytes | None = None,
    serial_consistency: int | None = None,
    timestamp: int | None = None,
    keyspace: str | None = None,
    tablet_version_block: int | None = None,  # tablets-routing-v2: one byte behind the parameters
) -> bytes: ...

class TimestampClock:
    """Strictly increasing microseconds since 1970. Any thread."""

    last: int
    ahead: Final[int]  # microseconds by which the last timestamp ran ahead of the clock; 0 as long as the clock runs
    def advance(self) -> int:
        """Return the next timestamp: the clock's, or, if it stands still or went back, one more than the last."""

class ExecuteTemplate:
    """The EXECUTE envelope of one statement, complete except for values and timestamp."""

    def __init__(
        self,
        plan: BindPlan,
        version: int,
        query_id: bytes,
        consistency: int,
        *,
        result_metadata_id: bytes | None = None,
        skip_metadata: bool = True,
        page_size: int | None = None,
        serial_consistency: int | None = None,
        with_timestamp: bool = False,
        version_block: Callable[[int | None], int] | None = None,
        strict: bool = False,
    ) -> None:
        """*version_block* gives the byte of tablets-routing-v2 for the token of a request, where that was
        negotiated; *strict* as for :meth:`BindPlan.bind`."""

    def encode(
        self, values: Iterable[Any] | Mapping[str, Any] | None, timestamp: int | TimestampClock | None = None
    ) -> tuple[bytes, int | None]:
        """Return ``(envelope, token)`` in one pass; *values*, errors and token as for :meth:`BindPlan.bind`. If
        *timestamp* is a clock, its next timestamp is used."""

    def encode_bound(self, bound: Bound, timestamp: int | TimestampClock | None = None) -> bytes:
        """Return the envelope of values that were bound before, by the same plan."""

    def bound(self, frame: bytes, token: int | None = None) -> Bound:
        """Return the values of an envelope that this template made. ValueError for an envelope of another template."""

    def timestamp(self, frame: bytes) -> int | None:
        """Return the timestamp in an envelope that this template made."""
    def around(self) -> tuple[bytes, bytes]:
        """Return the bytes around the values: the envelope up to their count, its length not filled in, and the bytes
        between the values and the timestamp."""

def encode_batch(
    version: int,
    batch_type: int,
    queries: Sequence[tuple[bool, str | bytes, Bound | Sequence[Any] | None]],  # (prepared?, text or id, values)
    consistency: int,
    *,
    flags: int = 0,
    payload: Mapping[str, bytes | None] | None = None,
    serial_consistency: int | None = None,
    timestamp: int | None = None,
    keyspace: str | None = None,
) -> bytes: ...
def encode_prepare(
    version: int,
    query: str | bytes,
    *,
    flags: int = 0,
    payload: Mapping[str, bytes | None] | None = None,
    keyspace: str | None = None,
) -> bytes: ...
def encode_envelope(version: int, flags: int, opcode: int, body: bytes, stream: int = 0) -> bytes: ...

class Reader:
    """Checked reads of protocol primitives from a body, for the rare messages that L2 decodes in Python. Reads beyond
    the end and invalid UTF-8 raise ``cassandra.connection.ProtocolError`` (of L0)."""

    def __init__(self, data: Buffer, offset: builtins.int = 0) -> None: ...
    offset: builtins.int
    remaining: Final[builtins.int]
    def byte(self) -> builtins.int: ...
    def short(self) -> builtins.int: ...
    def int(self) -> builtins.int: ...
    def long(self) -> builtins.int: ...
    def string(self) -> str: ...
    def long_string(self) -> str: ...
    def uuid(self) -> Any: ...
    def bytes(self) -> builtins.bytes | None: ...
    def short_bytes(self) -> builtins.bytes: ...
    def string_list(self) -> list[str]: ...
    def string_map(self) -> dict[str, str]: ...
    def string_multimap(self) -> dict[str, list[str]]: ...
    def bytes_map(self) -> dict[str, builtins.bytes | None]: ...
    def inet(self) -> tuple[str, builtins.int]: ...
    def inet_addr(self) -> str: ...
    def type(self, context: TypeContext) -> Codec: ...
    def schema_change(self) -> dict[str, Any]:
        """Return change_type, target_type, keyspace and table | type | function | aggregate, of events and results."""

class Writer:
    """Appends protocol primitives; ``getvalue`` returns the bytes."""

    def __init__(self) -> None: ...
    def byte(self, value: builtins.int) -> None: ...
    def short(self, value: builtins.int) -> None: ...
    def int(self, value: builtins.int) -> None: ...
    def long(self, value: builtins.int) -> None: ...
    def string(self, value: str) -> None: ...
    def long_string(self, value: str | builtins.bytes) -> None: ...
    def bytes(self, value: builtins.bytes | None) -> None: ...
    def short_bytes(self, value: builtins.bytes) -> None: ...
    def string_list(self, value: Sequence[str]) -> None: ...
    def string_map(self, value: Mapping[str, str]) -> None: ...
    def bytes_map(self, value: Mapping[str, builtins.bytes | None]) -> None: ...
    def inet(self, address: str, port: builtins.int) -> None: ...
    def getvalue(self) -> builtins.bytes: ...
