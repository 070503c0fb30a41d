"""Typed contract of the codec extension: CQL values, rows, results and request bodies to and from wire bytes.

A :class:`Codec` is a compiled CQL type. It knows nothing of the Python type classes of ``cassandra.cqltypes`` (L2);
those hold a Codec each and hang themselves on it as ``py_type``. Everything here is immutable after construction except
``py_type``, ``factory``, ``empty_value`` and ``extra``; all functions may be called from any thread.

What values are (read | also accepted):

* ascii, text: str. blob, custom: bytes | any contiguous buffer. boolean: bool | int, numpy.bool.
* tinyint, smallint, int, bigint, counter, varint: int | whatever has ``__index__``.
* float, double: float | whatever has ``__float__``. decimal: Decimal, its scale kept | int, float, str.
* uuid, timeuuid: uuid.UUID | an object with 16 ``bytes``.
* timestamp: naive UTC datetime, beyond its years the int of milliseconds | aware or naive datetime, date, int or float
  milliseconds. Parts of a millisecond are cut off.
* date: Date | datetime.date, str, or an int as CQL has it: days counted from 2**31 at the epoch.
* time: Time | datetime.time, str, int nanoseconds. duration: Duration | anything with its three attributes.
* inet: str | ipaddress objects.
* list, vector: list; set: SortedSet; map: OrderedMapSerializedKey | any iterable but str; for maps anything with
  ``items()``; for vectors of float, double, int and bigint one-dimensional arrays, without a Python object per
  element. Null items are allowed in collections (servers refuse them), not in vectors.
* tuple: tuple | any iterable; short ones are filled with null. UDT: ``factory`` | tuple or list by position, mapping by
  key (unknown keys are an error), any other object by attribute.

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
    stored: Final[Codec | None]  # of an encrypted column: what it is to the server
    cipher: Final[Any]  # of an encrypted column: what it was made with
    py_type: Any  # L2's class for it; None until L2 sets it
    factory: Any  # UDT: namedtuple class (filled natively) or callable(**fields); None gives a cached namedtuple
    empty_value: Any  # what zero bytes decode to where they are no value of the type (all but text, ascii, blob): None
    @property
    def element_size(self) -> int:
        """Bytes of an element of a vector of this type; -1 when a length goes ahead of each."""
    def cql(self) -> str:
        """CQL spelling, such as ``frozen<map<text, list<int>>>`` without frozen marks: ``map<text, list<int>>``."""
    def decode(self, data: Buffer | None, protocol_version: int = 4) -> Any:
        """DriverException (its cause tells why) when the bytes are no value of this type."""
    def encode(self, value: Any, protocol_version: int = 4) -> bytes:
        """TypeError (wrong type, also None), OverflowError (out of range) or ValueError."""

def scalar(kind: int) -> Codec:
    """Interned, one per wire id."""

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
    """A server-side class the driver has no kernel for: bytes in and out unless Python functions are given."""

def encrypted_codec(stored: Codec, cipher: Any) -> Codec:
    """Of the kind and name of *stored*; *cipher* has ``encode(value, protocol_version)`` and ``decode(bytes,
    protocol_version)``, and never gets to see null."""

def replace_functions(codec: Codec, decode: Callable[[bytes, int], Any], encode: Callable[[Any, int], bytes]) -> None:
    """Have *decode* and *encode* move the values of *codec*, in all plans and nested types that it is part of. For
    types whose functions a program has replaced; costs nothing where none were."""

def restore_functions(codec: Codec) -> None:
    """Undo :func:`replace_functions`; without effect where nothing was replaced."""

def native_copy(codec: Codec, deep: bool = False) -> Codec:
    """A codec of the same type with the functions of the driver, also while those of *codec* are replaced. *deep*:
    for the types within it too."""

def all_codecs() -> list[Codec]:
    """The codecs that are alive."""

def set_on_new(function: Callable[[Codec], object] | None) -> None:
    """*function* is called with each codec with parameters that is made of a server's metadata from now on."""

class TypeContext:
    """Resolves what wire metadata cannot say alone. Asked once per new type, never per value."""

    def __init__(
        self,
        resolve_custom: Callable[[str], Codec] | None = None,  # server class name -> codec
        resolve_udt: Callable[[str, str], Any] | None = None,  # (keyspace, name) -> registered class or None
        plan_cache_size: int = 256,
    ) -> None: ...
    resolve_column: Callable[[str, str, str, Codec, bool], Codec] | None
    """Asked for each column (keyspace, table, name, codec) of metadata that is read, and whether it is a parameter: the
    codec to take for it. None, unless columns are encrypted. :meth:`clear` after it was set."""
    def clear(self) -> None:
        """Forget cached plans (a user type was registered or altered, encrypted columns were added)."""
    def user_type(self, keyspace: str, name: str) -> Any:
        """The class registered for a user type, or None."""
    def __len__(self) -> int:
        """Plans in the cache."""

class ResultPlan:
    """How to decode the rows of one result shape: names, codecs, and a row plan per factory. Shared between threads;
    nothing of it changes but what is found out once and noted."""

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
        """The row plan noted for this very factory."""
    def note_row_plan(self, factory: Any, row_plan: RowPlan) -> RowPlan:
        """Note a row plan. What another thread noted first stays, and is returned."""

class RowPlan:
    """A ResultPlan for one way of making rows."""

    plan: Final[ResultPlan]
    kind: Final[str]
    row_class: Final[type | None]
    def __init__(
        self, plan: ResultPlan, kind: str, row_class: type | None = None, maker: InstanceMaker | None = None
    ) -> None:
        """*kind*: "tuple", "named" (row_class: a namedtuple class with as many fields as there are columns), "dict",
        "ordered", "instance" (by *maker*)."""

class InstanceMaker:
    """How to make an instance of *row_class* of the cells of a row. Immutable."""

    row_class: Final[type]
    kind: Final[str]  # call, init, tuple, slots, values, attributes
    def __init__(
        self, row_class: type, kind: str, columns: int, sources: Any, names: Iterable[str] = (), defaults: Any = ()
    ) -> None:
        """*kind*: "call" and "init" (``object.__new__``, then ``__init__``) give *sources*, numbers of *columns*, as
        arguments, the last of them by *names*. "fields" sets the attributes *names*, and "tuple" the items, to their
        *sources*; -1 is the value of *defaults* at that place, -2 what that returns. It is the caller who knows that no
        ``__init__``, ``__setattr__`` or ``__new__`` of the class is passed over."""
    def make(self, row: Iterable[Any]) -> Any:
        """The instance for one row. What a constructor raises comes out of here."""

LARGE_PAGE: Final[int]  # bytes of rows

class RowsPage:
    """Rows of one answer, still as bytes, which the buffer protocol gives, read-only. Pins its frame."""

    plan: Final[ResultPlan]
    nbytes: Final[int]
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    _block: Final[Any]  # of the frame that it pins; None when it pins none
    def decode(self, row_plan: RowPlan, start: int = 0, stop: int | None = None) -> list[Any]:
        """All rows, or a slice of them; slices that follow one another are found without a search. Raises
        DriverException naming column, row and type."""
    def made_by(self, factory: Any) -> list[Any] | None:
        """All rows by the row plan noted for *factory*; None when there is none, or more than LARGE_PAGE bytes."""
    def detached(self) -> RowsPage:
        """The same rows, copied: whoever keeps them for long pins no frame."""
    def batches(self, row_plan: RowPlan, size: int = 8192, nbytes: int = 1 << 18) -> RowBatches: ...

def decrypted_page(page: RowsPage, plan: ResultPlan) -> RowsPage:
    """*page* with the plain bytes of its encrypted columns, by their ciphers' ``decrypt(bytes)``; the others are copied
    as they are. *plan* says what they are then. DriverException as :meth:`RowsPage.decode`."""

def described_page(page: RowsPage, plan: ResultPlan) -> RowsPage:
    """The rows of *page*, not copied, with the codecs of *plan*. ValueError if it has another number of columns."""

class RowBatches:
    """Iterates over lists of up to *size* rows, shorter ones once they took *nbytes* on the wire, each decoded when it
    is asked for. Rows in front of a broken one come before its DriverException. Changes nothing but itself; one thread
    at a time."""

    def __iter__(self) -> Iterator[list[Any]]: ...
    def __next__(self) -> list[Any]: ...

def decode_objects(page: RowsPage, column: int, places: Buffer, array: Buffer) -> None:
    """A column, whose values are at *places* (``columns.decode_arrays``), into *array*, contiguous, writable, of one
    object per row (format ``O``). ValueError when it does not fit; DriverException as :meth:`RowsPage.decode`."""

def decode_numbers(codec: Codec, data: Buffer) -> memoryview:
    """The elements of a vector of int, bigint, float or double as a new, writable memoryview of machine numbers
    (``i``, ``q``, ``f``, ``d``), without a Python object per element. DriverException when the bytes are no such
    vector, TypeError for other types."""

class Result:
    """Native fields of a RESULT message; ``cassandra.protocol.ResultMessage`` derives from it with empty slots."""

    __slots__: tuple[str, ...]  # the names of the fields
    def __init__(self, kind: int | None = None) -> None: ...
    kind: int | None  # 1 VOID, 2 ROWS, 3 SET_KEYSPACE, 4 PREPARED, 5 SCHEMA_CHANGE
    page: RowsPage | None
    plan: ResultPlan | None
    paging_state: bytes | None
    new_keyspace: str | None
    query_id: bytes | None
    bind_plan: BindPlan | None
    pk_indexes: list[int] | None
    is_lwt: bool
    result_metadata_id: bytes | None
    metadata_changed: bool  # v5: the answer carries new metadata with result_metadata_id
    schema_change_event: dict[str, Any] | None
    continuous_paging_seq: int | None
    continuous_paging_last: bool | None
    stream_id: int | None
    trace_id: Any
    custom_payload: dict[str, bytes | None] | None
    warnings: list[str] | None
    parsed_rows: Any  # list of tuples, decoded on first read unless set; None without rows; either takes the page away
    column_names: list[str] | None
    column_types: list[Any] | None  # None unless set
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
    """Decode a RESULT envelope's (uncompressed) body. *plan* is used when the server skipped metadata. *metadata_ids*:
    prepared answers carry a result metadata id (always true on v5, or Scylla's extension).

    A malformed body raises ProtocolError; an answer whose columns do not fit *plan* (stale metadata) DriverException.
    Cells are looked at when rows are decoded, and only then can fail. ``cls.__init__`` is not called."""

class UnmadeRows:
    """The rows of a page, made when they are asked for."""

    page: Final[RowsPage]
    def __len__(self) -> int: ...
    def rows(self) -> list[Any]:
        """The same list each time. DriverException as :meth:`RowsPage.decode`, also each time."""

def split_page(page: RowsPage, how: RowPlan) -> tuple[list[Any], list[Any] | bytes] | tuple[UnmadeRows, RowsPage]:
    """The rows of a page of LARGE_PAGE bytes at most, and what is kept of it for :func:`kept_page`. Those of a small
    page are made at once; what is kept of it pins no frame, and is the rows themselves where that is enough."""

def kept_page(plan: ResultPlan, kept: list[Any] | bytes | RowsPage) -> RowsPage:
    """The page again; *plan* is its own. RuntimeError when it was rows, which were changed to something else."""

class ResultDecoder:
    """decode_result() with what is the same for all frames of a connection told once."""

    def __init__(
        self, cls: type[Result], context: TypeContext, lwt_mask: int = 0, metadata_ids: bool = False
    ) -> None: ...
    def decode(self, frame: Any, plan: ResultPlan | None = None) -> Any:
        """The instance of *cls* for a Frame; None when it is no RESULT, or compressed. Raises as decode_result()."""

    def unread(self, frame: Any) -> UnreadRows | None:
        """The rows of a frame as they came; None for one that is something else, compressed, or has warnings, a trace
        id or a payload beside its rows: decode() tells all. Raises ProtocolError when it ends before its rows."""

    def plain(
        self, frame: Any, header: int, plan: ResultPlan | None, factory: Any
    ) -> tuple[list[Any] | UnmadeRows | None, bytes | None, list[Any] | bytes | RowsPage | None] | None:
        """``(rows, paging state, what is kept)`` of a frame with rows of *plan*, made by *factory*, and nothing beside;
        rows are None for a RESULT without any. None for every other frame, a large page, and the first of a row plan:
        decode() tells all. *header* is the frame's version, flags and opcode, a byte each, so that no attributes are
        looked up."""

class UnreadRows:
    """A RESULT with rows, none of it decoded, not even what its columns are: most programs never look at some of them,
    like those that tell of the schema. Owns a copy of the frame's body; any thread may use it."""

    paging_state: Final[bytes | None]
    def page(self) -> RowsPage:
        """Decode what its columns are. Raises ProtocolError for a body that is malformed."""

def is_plain_rows(message: object) -> bool:
    """Whether *message* is a Result with rows as they came, and nothing beside them: kind ROWS, its ``page`` there, no
    trace id, warnings, custom payload or changed metadata. One look, for whoever has a short way for such answers."""

class BindPlan:
    """How to turn the parameters of a prepared statement into wire bytes and a routing token."""

    names: Final[tuple[str, ...]]
    specs: Final[tuple[tuple[str, str, str, Codec], ...]]
    pk_indexes: Final[tuple[int, ...] | None]
    def __init__(
        self, specs: Sequence[tuple[str, str, str, Codec]], pk_indexes: Sequence[int] | None = None
    ) -> None: ...
    def __len__(self) -> int: ...
    def bind(
        self, values: Iterable[Any] | Mapping[str, Any] | None, protocol_version: int, *, want_token: bool = True
    ) -> Bound:
        """Positions or names. Missing values: UNSET on v4+, ValueError on v3 (positional) / KeyError (names). Too many:
        ValueError; names that no parameter has are ignored. UNSET on v3 or in the partition key: ValueError. A value
        that the type cannot hold: TypeError naming parameter, CQL type and value type, its cause chained."""

class Bound:
    """Bound values: the wire bytes of ``<n><value_1>...<value_n>`` and what routing needs."""

    data: Final[bytes]
    count: Final[int]
    token: Final[int | None]  # Murmur3, None when a partition key component is null/unset or unknown
    routing_key: Final[bytes | None]
    values: Final[list[Any]]  # per value: bytes, None, or UNSET
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, index: Any) -> Any: ...

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
    """A whole uncompressed QUERY envelope, stream 0."""

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
    """Microseconds since 1970, each call a later one. Any thread."""

    last: int
    ahead: Final[int]  # microseconds by which the last timestamp ran ahead of the clock; 0 as long as the clock runs
    def advance(self) -> int:
        """The next timestamp: the clock's, or, when it stands still or went back, one more than the last."""

class ExecuteTemplate:
    """The EXECUTE envelope of one statement with everything filled in but values and timestamp."""

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
    ) -> None:
        """*version_block* gives the byte of tablets-routing-v2 for the token of a request, where that was
        negotiated."""

    def encode(
        self, values: Iterable[Any] | Mapping[str, Any] | None, timestamp: int | TimestampClock | None = None
    ) -> tuple[bytes, int | None]:
        """``(envelope, token)`` in one pass; *values*, errors and token as of :meth:`BindPlan.bind`. A clock is asked
        for its next timestamp."""

    def encode_bound(self, bound: Bound, timestamp: int | TimestampClock | None = None) -> bytes:
        """The envelope of values that were bound before, by the same plan."""

    def bound(self, frame: bytes, token: int | None = None) -> Bound:
        """The values of an envelope that this template made. ValueError for another one's."""

    def timestamp(self, frame: bytes) -> int | None:
        """The timestamp in an envelope that this template made."""
    def around(self) -> tuple[bytes, bytes]:
        """What surrounds the values: the envelope up to their number, its length open, and what follows them up to the
        timestamp."""

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
    """Checked reads of protocol primitives from a body, for the rare messages L2 decodes in Python. What goes beyond
    the end, or is no UTF-8, raises ``cassandra.connection.ProtocolError`` (of L0)."""

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
        """change_type, target_type, keyspace and table | type | function | aggregate, of events and results."""

class Writer:
    """Appends protocol primitives; ``getvalue`` gives the bytes."""

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
