"""Protocol handlers, the standard one and users' own; and the file-like primitives they are written with."""

from __future__ import annotations

import io
from typing import Any

import pytest

from cassandra import protocol
from cassandra._base.errors import ErrorMessage, ProtocolError, UnsupportedOperation
from cassandra._core.codec import UNSET, TypeContext
from cassandra.protocol import (
    LazyProtocolHandler,
    NumpyProtocolHandler,
    ProtocolHandler,
    QueryMessage,
    ReadyMessage,
    ResultMessage,
    SupportedMessage,
)
from tests.fakes import wire

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


@pytest.mark.parametrize("handler", [ProtocolHandler, LazyProtocolHandler, protocol.cython_protocol_handler(None)])
def test_decode(handler: Any) -> None:
    assert decode(handler, wire.RESULT, VOID).kind == 1
    assert decode(handler, wire.READY, b"") == ReadyMessage()
    assert isinstance(decode(handler, wire.ERROR, wire.error(0, "no")), ErrorMessage)
    message = decode(handler, wire.RESULT, b"z", flags=1, decompressor=lambda body: VOID)
    assert (message.kind, message.stream_id) == (1, 5)


def test_numpy_is_not_there_yet() -> None:
    with pytest.raises(UnsupportedOperation, match="columnar"):
        decode(NumpyProtocolHandler, wire.RESULT, VOID)


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
