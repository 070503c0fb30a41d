"""Messages and rows as scylla-driver's Python and Cython modules encode and decode them (L6).

The registry of message classes by opcode, message classes of programs that encode their own bodies, and readers,
deserializers and parsers of rows. Sessions encode and decode natively and use none of this. Values are decoded by the
codecs of their types.
"""

from __future__ import annotations

import inspect
import io
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cassandra._base.constants import Flag, ProtocolVersion
from cassandra._base.encryption import CANNOT_DECRYPT, DecryptionError
from cassandra._base.errors import DriverException
from cassandra._base.objects import public
from cassandra._base.server_errors import ERROR_CLASSES, ErrorMessage
from cassandra._core.codec import Writer, encode_envelope
from cassandra._wire.handlers import ProtocolHandler
from cassandra._wire.messages import requests, responses
from cassandra._wire.page_handlers import LazyProtocolHandler, NumpyProtocolHandler, load_numpy

# ---- classes of messages

CUSTOM_TYPE = responses.ResultMessage.type_codes[0]  #: Number of types with the name of a class.

#: Flags of QUERY and EXECUTE, and (the last ones) of PREPARE and of DSE's paging.
_VALUES_FLAG, _SKIP_METADATA_FLAG, _PAGE_SIZE_FLAG, _WITH_PAGING_STATE_FLAG = 1, 2, 4, 8
_WITH_SERIAL_CONSISTENCY_FLAG, _PROTOCOL_TIMESTAMP_FLAG, _NAMES_FOR_VALUES_FLAG, _WITH_KEYSPACE_FLAG = 16, 32, 64, 128
_PREPARED_WITH_KEYSPACE_FLAG = 1
_PAGE_SIZE_BYTES_FLAG, _PAGING_OPTIONS_FLAG = 1 << 30, 1 << 31

_message_types_by_opcode: dict[int, Any] = {
    message.opcode: message
    for message in (
        ErrorMessage,
        requests.StartupMessage,
        responses.ReadyMessage,
        requests.AuthenticateMessage,
        requests.CredentialsMessage,
        requests.OptionsMessage,
        responses.SupportedMessage,
        requests.QueryMessage,
        responses.ResultMessage,
        requests.PrepareMessage,
        requests.ExecuteMessage,
        requests.RegisterMessage,
        responses.EventMessage,
        requests.BatchMessage,
        requests.AuthChallengeMessage,
        requests.AuthResponseMessage,
        requests.AuthSuccessMessage,
        requests.ReviseRequestMessage,
    )
}


@public("cassandra.protocol")
def register_class(cls: Any) -> None:
    """Register a message class under its opcode. Sessions use ``ProtocolHandler.message_types_by_opcode`` instead."""
    _message_types_by_opcode[cls.opcode] = cls


@public("cassandra.protocol")
def get_registered_classes() -> dict[int, Any]:
    """Return a copy of the registry."""
    return dict(_message_types_by_opcode)


@public("cassandra.protocol")
class _RegisterMessageType(type):
    """Metaclass of message classes: registers classes without a leading underscore."""

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        super().__init__(name, bases, dct)
        if not name.startswith("_"):
            register_class(cls)


@public("cassandra.protocol")
class ErrorMessageSubclass(_RegisterMessageType):
    """Metaclass of error messages: registers each under its code, so that the server's error is an instance of it."""

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        type.__init__(cls, name, bases, dct)
        code = dct.get("error_code")
        if code is not None:
            ERROR_CLASSES[code] = cls  # type: ignore[assignment]


def _get_params(message_obj: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public attributes of a message with their values."""
    for name, value in vars(message_obj).items():
        if not name.startswith("_") and not callable(value):
            yield name, value


def _metadata_id_negotiated(protocol_version: int, protocol_features: Any) -> bool:
    """True if responses to EXECUTE contain a metadata id."""
    return protocol_version >= 5 or bool(getattr(protocol_features, "use_metadata_id", False))


def encode_by_body(cls: Any) -> None:
    """Make *cls*, a message class of a program, encode its body with ``send_body``."""
    if "encode" not in cls.__dict__:
        positional = [
            parameter
            for parameter in inspect.signature(cls.send_body).parameters.values()
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        ]
        takes_features = len(positional) > 3 or positional[-1].kind is inspect.Parameter.VAR_POSITIONAL
        cls.encode = _encode_with_features if takes_features else _encode


def _encode(
    self: Any,
    version: int,
    *,
    flags: int = 0,
    payload: Mapping[str, bytes | None] | None = None,
    features: Any = None,
    beside: tuple[Any, ...] = (),
) -> bytes:
    """Return the whole envelope, as ``RequestMessage.encode`` does."""
    body = io.BytesIO()
    payload = payload or self.custom_payload
    if payload:
        flags |= Flag.CUSTOM_PAYLOAD
        writer = Writer()
        writer.bytes_map(payload)
        body.write(writer.getvalue())
    if self.tracing:
        flags |= Flag.TRACING
    self.send_body(body, version, *beside)
    return encode_envelope(version, flags, self.opcode, body.getvalue())


def _encode_with_features(self: Any, version: int, *, features: Any = None, **kwargs: Any) -> bytes:
    return _encode(self, version, beside=(features,), **kwargs)


def _write_fields(message: Any, file: Any, version: int, features: Any, sizes: list[int]) -> None:
    """Write the body of *message*: fields of these *sizes* with separate calls, and the rest with another one."""
    body = io.BytesIO()
    requests.RequestMessage.send_body(message, body, version, features)
    body.seek(0)
    for size in sizes:
        file.write(body.read(size))
    rest = body.read()
    if rest:
        file.write(rest)


class QueryMessage:
    """Aliases of ``cassandra.protocol.QueryMessage``."""

    def send_body(self: Any, f: Any, protocol_version: int, protocol_features: Any = None) -> None:
        """Write the body to *f*, field by field, as tests of programs check the calls."""
        flags = 4 if ProtocolVersion.uses_int_query_flags(protocol_version) else 1
        sizes = [4, len(self.query.encode()), 2, flags]
        before = self.query_params, self.fetch_size, self.paging_state, self.serial_consistency_level, self.timestamp
        if self.keyspace and not any(value is not None for value in before):
            sizes += [2]
        _write_fields(self, f, protocol_version, protocol_features, sizes)


class PrepareMessage:
    """Aliases of ``cassandra.protocol.PrepareMessage``."""

    def send_body(self: Any, f: Any, protocol_version: int, protocol_features: Any = None) -> None:
        """Write the body to *f*, field by field, as tests of programs check the calls."""
        sizes = [4, len(self.query.encode())]
        if ProtocolVersion.uses_prepare_flags(protocol_version):
            sizes += [4] + [2] * bool(self.keyspace)
        _write_fields(self, f, protocol_version, protocol_features, sizes)


# ---- readers and parsers of rows

_LENGTH = struct.Struct(">i")
EPOCH_OFFSET_DAYS = 1 << 31  #: Number of 1970-01-01 in dates of the protocol.


@public("cassandra.bytesio")
class BytesIOReader:
    """Reads bytes in order. Raises EOFError after the end."""

    def __init__(self, buf: bytes) -> None:
        if not isinstance(buf, bytes):
            raise TypeError(f"BytesIOReader() expects bytes, not {type(buf).__name__}")
        self._data = buf
        self._position = 0

    def read(self, n: int = -1) -> bytes:
        """Return the next *n* bytes, or all remaining bytes if *n* is negative."""
        end = len(self._data) if n < 0 else self._position + n
        if end > len(self._data):
            raise EOFError("Cannot read past the end of the file")
        start, self._position = self._position, end
        return self._data[start:end]


@public("cassandra.deserializers")
class Deserializer:
    """Decodes values of one type."""

    def __init__(self, cqltype: Any) -> None:
        self.cqltype = cqltype  #: The type.

    def deserialize(self, data: bytes | None, protocol_version: int) -> Any:
        """Return the value of a cell, None for null."""
        return None if data is None else self.cqltype.from_binary(data, protocol_version)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.cqltype!r})"


class GenericDeserializer(Deserializer):
    """Decodes values of types without a class of their own here."""


GenericDeserializer.__module__ = "cassandra.deserializers"

_NAMES = """
    DesAsciiType DesBooleanType DesByteType DesBytesType DesCompositeType DesCounterColumnType DesDateType
    DesDecimalType DesDoubleType DesDynamicCompositeType DesFloatType DesFrozenType DesInetAddressType DesInt32Type
    DesIntegerType DesListType DesLongType DesMapType DesReversedType DesSetType DesShortType DesSimpleDateType
    DesTimeType DesTupleType DesUTF8Type DesUUIDType DesUserType DesVarcharType TimeUUIDType TimestampType
"""

#: One class per type, by its name in ``cassandra.deserializers``.
DESERIALIZERS: dict[str, type[Deserializer]] = {
    name: type(
        name,
        (Deserializer,),
        {
            "__module__": "cassandra.deserializers",
            "__doc__": f"Decodes values of ``cassandra.cqltypes.{name.removeprefix('Des')}``.",
        },
    )
    for name in _NAMES.split()
}


@public("cassandra.deserializers")
class DesBytesTypeByteArray(Deserializer):
    """Decodes blobs as bytearray."""

    def deserialize(self, data: bytes | None, protocol_version: int) -> Any:
        return None if data is None else bytearray(data)


DESERIALIZERS["DesBytesTypeByteArray"] = DesBytesTypeByteArray


@public("cassandra.deserializers")
def find_deserializer(cqltype: Any) -> Deserializer:
    """Return the deserializer for *cqltype*, a class of ``cassandra.cqltypes``."""
    for cls in cqltype.__mro__:
        found = DESERIALIZERS.get(f"Des{cls.__name__}")
        if found is not None:
            return found(cqltype)
    return GenericDeserializer(cqltype)


@public("cassandra.deserializers")
def make_deserializers(cqltypes: Sequence[Any]) -> list[Deserializer]:
    """Return the deserializers for rows with these column types."""
    return [find_deserializer(cqltype) for cqltype in cqltypes]


@public("cassandra.deserializers")
def obj_array(objs: Sequence[Any]) -> list[Any]:
    """Return the objects as a list."""
    return list(objs)


@public("cassandra.parsing")
class ParseDesc:
    """Description of the columns of rows, for parsers."""

    def __init__(
        self,
        colnames: Sequence[str],
        coltypes: Sequence[Any],
        column_encryption_policy: Any,
        coldescs: Any,
        deserializers: Any,
        protocol_version: int,
    ) -> None:
        self.colnames = colnames  #: Names of the columns.
        self.coltypes = coltypes  #: Types of the columns.
        self.column_encryption_policy = column_encryption_policy  #: Policy of encrypted columns, or None.
        self.coldescs = coldescs  #: A :class:`~cassandra.policies.ColDesc` for each column.
        self.deserializers = deserializers  #: Decoders of the columns.
        self.protocol_version = protocol_version  #: Version of the protocol.


@public("cassandra.parsing")
class RowParser:
    """Parses a row."""

    def unpack_row(self, reader: BytesIOReader, desc: ParseDesc) -> Any:
        """Return the next row of *reader*."""
        raise NotImplementedError


@public("cassandra.parsing")
class ColumnParser:
    """Parses rows."""

    def parse_rows(self, reader: BytesIOReader, desc: ParseDesc) -> Any:
        """Parse the number of rows and the rows at the start of *reader*."""
        raise NotImplementedError


@public("cassandra.obj_parser")
class TupleRowParser(RowParser):
    """Parses rows as tuples."""

    def unpack_row(self, reader: BytesIOReader, desc: ParseDesc) -> tuple[Any, ...]:
        return tuple(_cell(reader, desc, column) for column in range(len(desc.colnames)))


def _cell(reader: BytesIOReader, desc: ParseDesc, column: int) -> Any:
    (length,) = _LENGTH.unpack(reader.read(4))
    data = reader.read(length) if length >= 0 else None
    kind = desc.coltypes[column]
    policy = desc.column_encryption_policy
    deserializer = desc.deserializers[column]
    is_encrypted = data is not None and policy is not None and policy.contains_column(desc.coldescs[column])
    try:
        if is_encrypted:
            data = policy.decrypt(desc.coldescs[column], data)
            deserializer = find_deserializer(policy.column_type(desc.coldescs[column]))
        return deserializer.deserialize(data, desc.protocol_version)
    except Exception as error:
        failure = DecryptionError(CANNOT_DECRYPT) if is_encrypted else error
    raise DriverException(
        f'Failed decoding result column "{desc.colnames[column]}" of type {kind.cql_parameterized_type()}: {failure}'
    ) from failure


def _rows(reader: BytesIOReader, desc: ParseDesc, count: int) -> Iterator[Any]:
    parser = TupleRowParser()
    return (parser.unpack_row(reader, desc) for _ in range(count))


@public("cassandra.obj_parser")
class ListParser(ColumnParser):
    """Parses rows as a list; selects standard decoding in :func:`cassandra.protocol.cython_protocol_handler`."""

    def parse_rows(self, reader: BytesIOReader, desc: ParseDesc) -> list[Any]:
        return list(_rows(reader, desc, _LENGTH.unpack(reader.read(4))[0]))


@public("cassandra.obj_parser")
class LazyParser(ColumnParser):
    """Parses rows as an iterator, each row on demand."""

    def parse_rows(self, reader: BytesIOReader, desc: ParseDesc) -> Iterator[Any]:
        return parse_rows_lazy(reader, desc)


@public("cassandra.obj_parser")
def parse_rows_lazy(reader: BytesIOReader, desc: ParseDesc) -> Iterator[Any]:
    """Yield the rows at the start of *reader*, after their number, each decoded on demand."""
    yield from _rows(reader, desc, _LENGTH.unpack(reader.read(4))[0])


@public("cassandra.numpy_parser")
class NumpyParser(ColumnParser):
    """Parses rows as columns, arrays of objects; arrays of numbers, where possible, when used with
    :func:`cassandra.protocol.cython_protocol_handler`."""

    def parse_rows(self, reader: BytesIOReader, desc: ParseDesc) -> dict[str, Any]:
        rows = ListParser().parse_rows(reader, desc)
        arrays = make_arrays(desc, len(rows))
        for array, column in zip(arrays, range(len(desc.colnames)), strict=True):
            for index, row in enumerate(rows):
                array[index] = row[column]
        return dict(zip(desc.colnames, arrays, strict=True))


@public("cassandra.numpy_parser")
def make_array(coltype: Any, array_size: int) -> Any:
    """Return an array of objects for *array_size* values of *coltype*."""
    return load_numpy().empty((array_size,), dtype=object)


@public("cassandra.numpy_parser")
def make_arrays(desc: ParseDesc, array_size: int) -> list[Any]:
    """Return an array for each column."""
    return [make_array(coltype, array_size) for coltype in desc.coltypes]


@public("cassandra.numpy_parser")
def make_native_byteorder(arr: Any) -> Any:
    """Return *arr* in the byte order of this machine."""
    return arr if arr.dtype.isnative else arr.byteswap().view(arr.dtype.newbyteorder())


@public("cassandra.row_parser")
def make_recv_results_rows(colparser: ColumnParser) -> Callable[..., None]:
    """Return a ``recv_results_rows`` for a class of result messages that reads the rows of a body with *colparser*."""

    def recv_results_rows(
        self: Any,
        f: Any,
        protocol_version: int,
        user_type_map: Any,
        result_metadata: Any,
        column_encryption_policy: Any,
    ) -> None:
        self.recv_results_metadata(f, user_type_map)
        columns = self.column_metadata or result_metadata
        self.column_names = [column[2] for column in columns]
        self.column_types = [column[3] for column in columns]
        desc = ParseDesc(
            self.column_names,
            self.column_types,
            column_encryption_policy,
            [tuple(column[:3]) for column in columns],
            make_deserializers(self.column_types),
            protocol_version,
        )
        self.parsed_rows = colparser.parse_rows(BytesIOReader(f.read()), desc)

    return recv_results_rows


#: The handlers that decode natively the same as these parsers.
_NATIVE: dict[Any, type[ProtocolHandler]] = {
    ListParser.parse_rows: ProtocolHandler,
    LazyParser.parse_rows: LazyProtocolHandler,
    NumpyParser.parse_rows: NumpyProtocolHandler,
}


@public("cassandra.protocol")
def cython_protocol_handler(colparser: Any) -> Any:
    """Return a new handler class that decodes rows as *colparser* does: natively, or, if its ``parse_rows`` is not the
    driver's, by that method from the bytes of each response. Raise TypeError for an object without ``parse_rows``."""
    parse = getattr(type(colparser), "parse_rows", None)
    if parse is None:
        raise TypeError(f"cython_protocol_handler() expects a ListParser, LazyParser or NumpyParser, not {colparser!r}")
    made: type[ProtocolHandler]
    if (native := _NATIVE.get(parse)) is not None:
        made = type("CythonProtocolHandler", (native,), {})
    else:
        steps = {"recv_results_rows": make_recv_results_rows(colparser)}
        opcodes = dict(ProtocolHandler.message_types_by_opcode)
        opcodes[responses.ResultMessage.opcode] = type("FastResultMessage", (responses.ResultMessage,), steps)
        made = type("CythonProtocolHandler", (ProtocolHandler,), {"message_types_by_opcode": opcodes})
    attributes: Any = made
    attributes.col_parser = colparser
    attributes.my_opcodes = made.message_types_by_opcode
    return made


def __getattr__(name: str) -> Any:
    if name in DESERIALIZERS:
        return DESERIALIZERS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
