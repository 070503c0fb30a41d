"""Protocol handlers, the standard one and users' own; and the file-like primitives they are written with."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cassandra import protocol
from cassandra._base.errors import DriverException, ProtocolError
from cassandra._base.server_errors import ErrorMessage
from cassandra._core.codec import UNSET, ResultPlan, TypeContext, list_codec
from cassandra._wire.types.base import casstypes
from cassandra.cqltypes import CassandraType, FloatType, VectorType
from cassandra.numpy_parser import NumpyParser
from cassandra.obj_parser import LazyParser, ListParser
from cassandra.protocol import (
    LazyProtocolHandler,
    NumpyProtocolHandler,
    ProtocolHandler,
    QueryMessage,
    ReadyMessage,
    ResultMessage,
    SupportedMessage,
)
from cassandra.protocol_features import ProtocolFeatures
from tests.fakes import wire
from tests.unit.core.codec_frames import (
    ASCII,
    BIGINT,
    BLOB,
    BOOLEAN,
    COUNTER,
    DATE,
    DECIMAL,
    DOUBLE,
    DURATION,
    FLOAT,
    INET,
    INT,
    NO_METADATA,
    SMALLINT,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMEUUID,
    TINYINT,
    UUID,
    VARINT,
    encoded,
    rows_body,
)  # fmt: skip

ROOT = Path(__file__).resolve().parents[3]

VOID = wire.int32(1)


def decode(
    handler: Any, opcode: int, body: bytes, *, flags: int = 0, version: int = 4, decompressor: Any = None
) -> Any:
    return handler.decode_message(version, None, {}, 5, flags, opcode, body, decompressor, None)


def test_encode() -> None:
    data = ProtocolHandler.encode_message(QueryMessage("q", 1), 260, 4, None, False)
    found = wire.unpack(data)
    assert found is not None
    assert (found[0].version, found[0].flags, found[0].stream, found[0].opcode) == (4, 0, 260, wire.QUERY)
    assert ProtocolHandler.encode_message(QueryMessage("q", 1), 0, 4, None, True)[1] == 0x10


def test_encode_compressed() -> None:
    message = QueryMessage("q", 1)
    message.tracing = True
    data = ProtocolHandler.encode_message(message, -2, 4, lambda body: b"<" + body[:2] + b">", False)
    found = wire.unpack(data)
    assert found is not None
    assert found[0] == wire.Envelope(4, wire.TRACING | wire.COMPRESSED, -2, wire.QUERY, b"<\0\0>")
    plain = ProtocolHandler.encode_message(message, 0, 5, lambda body: b"never", False)
    assert plain[1] == wire.TRACING
    options = ProtocolHandler.encode_message(protocol.OptionsMessage(), 0, 4, lambda body: b"never", False)
    assert options == bytes([4, 0, 0, 0, 5, 0, 0, 0, 0])


HANDLERS = [ProtocolHandler, LazyProtocolHandler, NumpyProtocolHandler, protocol.cython_protocol_handler(ListParser())]


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.__name__)
def test_decode(handler: Any) -> None:
    assert decode(handler, wire.RESULT, VOID).kind == 1
    assert decode(handler, wire.READY, b"") == ReadyMessage()
    assert isinstance(decode(handler, wire.ERROR, wire.error(0, "no")), ErrorMessage)
    message = decode(handler, wire.RESULT, b"z", flags=1, decompressor=lambda body: VOID)
    assert (message.kind, message.stream_id) == (1, 5)


def test_handlers_of_parsers() -> None:
    standard = {ListParser: ProtocolHandler, LazyParser: LazyProtocolHandler, NumpyParser: NumpyProtocolHandler}
    for parser, handler in standard.items():
        made = protocol.cython_protocol_handler(parser())
        assert made is not handler and issubclass(made, handler)
    with pytest.raises(TypeError, match="not <object"):
        protocol.cython_protocol_handler(object())  # type: ignore[arg-type]


COLUMNS = [("p", INT), ("t", TEXT), ("d", DOUBLE), ("l", list_codec(INT))]
ROWS = [(1, "one", 1.5, [1, 2]), (None, None, None, None), (3, "three", -3.5, [3, 4])]
PAGE = rows_body(COLUMNS, encoded(COLUMNS, ROWS))


def test_numpy_columns() -> None:
    message = decode(NumpyProtocolHandler, wire.RESULT, PAGE)
    assert message.page is None
    assert message.column_names == ["p", "t", "d", "l"] == list(message.parsed_rows)
    assert [cls.typename for cls in message.column_types] == ["int", "varchar", "double", "list"]
    p, t, d, lists = message.parsed_rows.values()
    assert type(p) is type(d) is np.ma.MaskedArray and type(t) is type(lists) is np.ndarray
    assert (p.dtype, t.dtype, d.dtype, lists.dtype) == ("int32", "object", "float64", "object")
    assert p.tolist() == [1, None, 3] and d.tolist() == [1.5, None, -3.5]
    assert p.mask.tolist() == d.mask.tolist() == [False, True, False]
    assert t.tolist() == ["one", None, "three"] and list(lists) == [[1, 2], None, [3, 4]]
    p[1] = 5  # the arrays are the caller's
    t[0] = "other"
    assert p.sum() == 9


def test_numpy_columns_without_nulls_are_masked_arrays_too() -> None:
    body = rows_body(COLUMNS[:1], encoded(COLUMNS[:1], [(1,), (2,)]))
    p = decode(NumpyProtocolHandler, wire.RESULT, body).parsed_rows["p"]
    assert type(p) is np.ma.MaskedArray and p.mask.tolist() == [False, False]


DTYPES = {
    SMALLINT: "int16", INT: "int32", BIGINT: "int64", COUNTER: "int64", FLOAT: "float32", DOUBLE: "float64",
    ASCII: "O", BLOB: "O", BOOLEAN: "O", DATE: "O", DECIMAL: "O", DURATION: "O", INET: "O", TEXT: "O", TIME: "O",
    TIMESTAMP: "O", TIMEUUID: "O", TINYINT: "O", UUID: "O", VARINT: "O", list_codec(INT): "O",
}  # fmt: skip


def test_numpy_types_are_those_of_scylla_driver() -> None:
    columns = [(codec.cql(), codec) for codec in DTYPES]
    for rows in ([], [[None] * len(columns)]):
        page = decode(NumpyProtocolHandler, wire.RESULT, rows_body(columns, rows)).parsed_rows
        found = {name: (array.dtype, array.shape, type(array)) for name, array in page.items()}
        assert found == {
            codec.cql(): (np.dtype(dtype), (len(rows),), np.ndarray if dtype == "O" else np.ma.MaskedArray)
            for codec, dtype in DTYPES.items()
        }


def test_numpy_vectors() -> None:
    codec = VectorType.apply_parameters([FloatType, 2]).codec()
    columns = [("v", codec)]
    plan = ResultPlan([("ks", "t", "v", codec)])
    body = rows_body(columns, encoded(columns, [([1.5, 2.5],), (None,), ([5.0, 6.0],)]), NO_METADATA)

    class Handler(NumpyProtocolHandler):
        vector_arrays = True

    def column(handler: Any) -> Any:
        return handler.decode_message(4, None, {}, 5, 0, wire.RESULT, body, None, plan).parsed_rows["v"]

    assert column(NumpyProtocolHandler).tolist() == [[1.5, 2.5], None, [5.0, 6.0]]
    vectors = column(Handler)
    assert (type(vectors), vectors.dtype, vectors.shape) == (np.ma.MaskedArray, "float32", (3, 2))
    assert vectors.tolist() == [[1.5, 2.5], [None, None], [5.0, 6.0]]
    assert vectors.mean() == 3.75 and vectors[0].tolist() == [1.5, 2.5]


def test_numpy_of_two_columns_with_one_name_the_last_is_there() -> None:
    columns = [("a", INT), ("a", DOUBLE)]
    message = decode(NumpyProtocolHandler, wire.RESULT, rows_body(columns, encoded(columns, [(1, 2.5)])))
    assert message.column_names == ["a", "a"]
    assert {name: array.tolist() for name, array in message.parsed_rows.items()} == {"a": [2.5]}


def test_numpy_errors_name_column_row_and_type() -> None:
    body = rows_body([("p", INT)], [[b"\0\0\0\1"], [b"\0\0\1"]])
    with pytest.raises(DriverException, match=r"column 'p' of ks\.t as int in row 1 of the page: int needs 4 bytes"):
        decode(NumpyProtocolHandler, wire.RESULT, body)


def test_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert decode(NumpyProtocolHandler, wire.RESULT, VOID).kind == 1
    with pytest.raises(ImportError, match=r"pip install fastcql\[numpy\]"):
        decode(NumpyProtocolHandler, wire.RESULT, PAGE)


def test_numpy_is_imported_by_its_first_user() -> None:
    script = "import sys, cassandra.cluster, cassandra.protocol as p; print(p.HAVE_NUMPY, 'numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "False"]


def test_lazy_rows_are_decoded_as_they_are_taken() -> None:
    bad = rows_body([("p", INT)], [[b"\0\0\0\1"]] * 300 + [[b"\0\0\1"]])
    message = decode(LazyProtocolHandler, wire.RESULT, bad)
    assert (message.page, message.column_names) == (None, ["p"])
    rows = message.parsed_rows
    assert iter(rows) is rows
    assert [next(rows) for _ in range(200)] == [(1,)] * 200
    for _ in range(2):  # again and again: it is not over
        with pytest.raises(DriverException, match=r"column 'p' of ks\.t as int in row 300"):
            list(rows)


def test_lazy_rows() -> None:
    assert list(decode(LazyProtocolHandler, wire.RESULT, PAGE).parsed_rows) == ROWS
    assert list(decode(LazyProtocolHandler, wire.RESULT, rows_body(COLUMNS, [])).parsed_rows) == []


def test_own_result_class_is_decoded_natively() -> None:
    class Mine(ResultMessage):
        pass

    class Handler(ProtocolHandler):
        message_types_by_opcode = {**ProtocolHandler.message_types_by_opcode, wire.RESULT: Mine}

    assert type(decode(Handler, wire.RESULT, VOID)) is Mine
    assert decode(Handler, wire.READY, b"") == ReadyMessage()


def test_own_reading() -> None:
    class Mine(SupportedMessage):
        @classmethod
        def recv_body(cls, f: Any, *args: Any) -> Mine:
            return cls([protocol.read_string(f)], {"arguments": [str(len(args))]})

    class Handler(ProtocolHandler):
        message_types_by_opcode = {**ProtocolHandler.message_types_by_opcode, wire.SUPPORTED: Mine}

    body = wire.string_list(["w"]) + wire.string("hello")
    message = decode(Handler, wire.SUPPORTED, body, flags=wire.WARNING)
    assert message.cql_versions == ["hello"]
    assert message.options == {"arguments": ["5"]}
    assert (message.warnings, message.stream_id) == (["w"], 5)
    message = decode(Handler, wire.SUPPORTED, b"z", flags=1, decompressor=lambda body: wire.string("x"))
    assert message.cql_versions == ["x"]


def test_a_type_context_is_taken_as_it_is() -> None:
    context = TypeContext()
    message = ProtocolHandler.decode_message(4, None, context, 0, 0, wire.RESULT, VOID, None, None)
    assert message.kind == 1


def round_trip(write: Any, read: Any, value: Any) -> Any:
    f = io.BytesIO()
    write(f, value)
    f.seek(0)
    result = read(f)
    assert f.read() == b""
    return result


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("byte", -3),
        ("short", 65535),
        ("int", -5),
        ("consistency_level", 6),
        ("uint_le", 0x01020304),
        ("string", "é"),
        ("longstring", "long"),
        ("value", b"v"),
        ("value", None),
        ("stringlist", ["a", "b"]),
        ("stringmap", {"a": "b"}),
        ("stringmultimap", {"a": ["b", "c"]}),
        ("bytesmap", {"a": b"b", "n": None}),
        ("inet", ("127.0.0.1", 9042)),
        ("inet", ("::1", 9042)),
    ],
)
def test_primitives(kind: str, value: Any) -> None:
    assert round_trip(getattr(protocol, f"write_{kind}"), getattr(protocol, f"read_{kind}"), value) == value


def test_unset_value() -> None:
    f = io.BytesIO()
    protocol.write_value(f, UNSET)
    assert f.getvalue() == wire.int32(-2)


def test_primitives_notice_the_end() -> None:
    with pytest.raises(ProtocolError, match="ends 2 bytes early"):
        protocol.read_int(io.BytesIO(b"ab"))
    with pytest.raises(ProtocolError, match="4 or 16 bytes"):
        protocol.read_inet(io.BytesIO(b"\x05abcde"))


def test_a_custom_type_that_is_defined_after_a_response_without_user_types() -> None:
    """Plans of such responses are cached; a class that the program defines later applies to the next response."""

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode()

    kind = "org.apache.cassandra.db.marshal.LateType"
    columns = struct.pack(">ii", 1, 1) + text("ks") + text("t") + text("c") + struct.pack(">H", 0) + text(kind)
    body = struct.pack(">i", 2) + columns + struct.pack(">i", 1) + struct.pack(">i", 2) + b"ab"

    def decoded() -> Any:
        features = ProtocolFeatures()
        return ProtocolHandler.decode_message(4, features, {}, 0, 0, ResultMessage.opcode, body, None, []).parsed_rows

    assert decoded() == [(b"ab",)]

    class LateType(CassandraType):
        @classmethod
        def deserialize(cls, byts: bytes, protocol_version: int) -> str:
            return byts.decode().upper()

    try:
        assert decoded() == [("AB",)]
    finally:
        casstypes.pop("LateType")
