"""Responses from hand-made bytes: handshake messages, events, results, their prefixes, and malformed ones."""

from __future__ import annotations

import io
import uuid
from typing import Any

import pytest

from cassandra._base.errors import DriverException, ProtocolError
from cassandra._base.names import UserAggregateDescriptor, UserFunctionDescriptor
from cassandra._base.server_errors import ErrorMessage
from cassandra._core.codec import Result, TypeContext
from cassandra._core.transport import Frame
from cassandra._wire.messages.requests import AuthChallengeMessage, AuthenticateMessage, AuthSuccessMessage
from cassandra._wire.messages.responses import (
    EventMessage,
    ReadyMessage,
    ResultMessage,
    SupportedMessage,
    decode_response,
)
from tests.fakes import wire
from tests.fakes.wire import bytes_, int32, short, string, string_list

CONTEXT = TypeContext()
TRACE_ID = uuid.UUID("12345678-1234-5678-1234-567812345678")


def decode(opcode: int, body: bytes, *, version: int = 4, flags: int = 0, **kwargs: Any) -> Any:
    return decode_response(Frame(version, flags, 3, opcode, body), CONTEXT, **kwargs)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_handshake_messages(version: int) -> None:
    options = {"CQL_VERSION": ["3.4.7"], "COMPRESSION": ["lz4", "snappy"]}
    assert decode(wire.READY, b"", version=version) == ReadyMessage()
    assert decode(wire.SUPPORTED, wire.string_multimap(options), version=version) == SupportedMessage(
        ["3.4.7"], {"COMPRESSION": ["lz4", "snappy"]}
    )
    assert decode(wire.AUTHENTICATE, string("a.B"), version=version) == AuthenticateMessage("a.B")
    assert decode(wire.AUTH_CHALLENGE, bytes_(b"?"), version=version) == AuthChallengeMessage(b"?")
    assert decode(wire.AUTH_SUCCESS, bytes_(None), version=version) == AuthSuccessMessage(None)


def test_more_than_the_message_is_ignored() -> None:
    assert decode(wire.READY, b"future") == ReadyMessage()
    assert decode(wire.AUTHENTICATE, string("a.B") + b"future") == AuthenticateMessage("a.B")


EVENTS: list[tuple[str, bytes, dict[str, Any]]] = [
    (
        "TOPOLOGY_CHANGE",
        string("NEW_NODE") + wire.inet("10.0.0.1", 9042),
        {"change_type": "NEW_NODE", "address": ("10.0.0.1", 9042)},
    ),
    (
        "STATUS_CHANGE",
        string("DOWN") + wire.inet("2001:db8::1", 19042),
        {"change_type": "DOWN", "address": ("2001:db8::1", 19042)},
    ),
    (
        "SCHEMA_CHANGE",
        string("CREATED") + string("KEYSPACE") + string("ks"),
        {"change_type": "CREATED", "target_type": "KEYSPACE", "keyspace": "ks"},
    ),
    (
        "SCHEMA_CHANGE",
        string("UPDATED") + string("TABLE") + string("ks") + string("t"),
        {"change_type": "UPDATED", "target_type": "TABLE", "keyspace": "ks", "table": "t"},
    ),
    (
        "SCHEMA_CHANGE",
        string("DROPPED") + string("TYPE") + string("ks") + string("u"),
        {"change_type": "DROPPED", "target_type": "TYPE", "keyspace": "ks", "type": "u"},
    ),
    (
        "CLIENT_ROUTES_CHANGE",
        string("UPDATE_NODES") + string_list(["c1"]) + string_list(["h1", "h2"]),
        {"change_type": "UPDATE_NODES", "connection_ids": ["c1"], "host_ids": ["h1", "h2"]},
    ),
]


@pytest.mark.parametrize("body", [b"", b"\0", b"\xff" * 99])
@pytest.mark.parametrize("event_type", ["FUTURE", "", "GRACEFUL_DISCONNECT", "recv_body", "x" * 60_000])
def test_events_of_other_types_have_no_arguments(event_type: str, body: bytes) -> None:
    assert decode(wire.EVENT, string(event_type) + body) == EventMessage(event_type.upper(), {})


@pytest.mark.parametrize(("event_type", "body", "args"), EVENTS)
def test_events(event_type: str, body: bytes, args: dict[str, Any]) -> None:
    assert decode(wire.EVENT, string(event_type) + body) == EventMessage(event_type, args)


@pytest.mark.parametrize(
    ("target", "key", "cls"),
    [("FUNCTION", "function", UserFunctionDescriptor), ("AGGREGATE", "aggregate", UserAggregateDescriptor)],
)
def test_events_about_functions(target: str, key: str, cls: Any) -> None:
    body = string("CREATED") + string(target) + string("ks") + string("f") + string_list(["int", "text"])
    event = decode(wire.EVENT, string("SCHEMA_CHANGE") + body)
    descriptor = event.event_args[key]
    assert type(descriptor) is cls
    assert (descriptor.name, list(descriptor.argument_types)) == ("f", ["int", "text"])
    result = decode(wire.RESULT, int32(5) + body)
    assert result.schema_change_event.keys() == event.event_args.keys()


def test_tracing_warnings_and_payload_precede_a_message() -> None:
    prefix = TRACE_ID.bytes + string_list(["careful"]) + wire.bytes_map({"k": b"v", "n": None})
    flags = wire.TRACING | wire.WARNING | wire.PAYLOAD
    for opcode, body in ((wire.READY, b""), (wire.RESULT, int32(1)), (wire.ERROR, wire.error(0, "no"))):
        message = decode(opcode, prefix + body, flags=flags)
        assert message.trace_id == TRACE_ID
        assert message.warnings == ["careful"]
        assert message.custom_payload == {"k": b"v", "n": None}


def test_without_a_prefix_all_is_none() -> None:
    for opcode, body in ((wire.READY, b""), (wire.RESULT, int32(1)), (wire.ERROR, wire.error(0, "no"))):
        message = decode(opcode, body)
        assert (message.trace_id, message.warnings, message.custom_payload) == (None, None, None)
        assert message.stream_id == 3


ROWS = (
    int32(2)
    + int32(0x01)
    + int32(2)
    + string("ks")
    + string("t")
    + string("id")
    + short(0x09)
    + string("name")
    + short(0x0D)
    + int32(2)
    + bytes_(int32(1))
    + bytes_(b"one")
    + bytes_(int32(2))
    + bytes_(None)
)


def test_rows() -> None:
    message = decode(wire.RESULT, ROWS)
    assert type(message) is ResultMessage
    assert isinstance(message, Result)
    assert message.kind == 2
    assert message.column_names == ["id", "name"]
    assert [t.typename for t in message.column_types] == ["int", "text"] or [
        t.typename for t in message.column_types
    ] == ["int", "varchar"]
    assert list(map(tuple, message.parsed_rows)) == [(1, "one"), (2, None)]
    assert not hasattr(message, "results")


def test_rows_cut_short_fail_when_they_are_read() -> None:
    message = decode(wire.RESULT, ROWS[:-3])
    with pytest.raises(DriverException, match=r"'name' of ks\.t"):
        _ = message.parsed_rows


def test_set_keyspace_and_void() -> None:
    assert decode(wire.RESULT, int32(3) + string("ks")).new_keyspace == "ks"
    void = decode(wire.RESULT, int32(1))
    assert (void.kind, void.column_types) == (1, None)


def test_compressed_bodies() -> None:
    def unpack(data: Any) -> bytes:
        assert bytes(data) == b"packed"
        return ROWS

    message = decode(wire.RESULT, b"packed", flags=wire.COMPRESSED, decompress=unpack)
    assert message.column_names == ["id", "name"]
    with pytest.raises(ProtocolError, match="without compression"):
        decode(wire.RESULT, b"packed", flags=wire.COMPRESSED)


def test_protocol_5_ignores_the_compression_flag() -> None:
    assert decode(wire.RESULT, int32(1), version=5, flags=wire.COMPRESSED).kind == 1


@pytest.mark.parametrize(
    ("opcode", "name", "body"),
    [
        (wire.SUPPORTED, "SUPPORTED", short(1) + string("K")),
        (wire.AUTHENTICATE, "AUTHENTICATE", short(10) + b"abc"),
        (wire.AUTH_CHALLENGE, "AUTH_CHALLENGE", int32(10) + b"abc"),
        (wire.EVENT, "EVENT", string("STATUS_CHANGE") + string("UP") + b"\x03abc"),
        (wire.EVENT, "EVENT", string("STATUS_CHANGE") + string("UP") + b"\x04ab"),
        (wire.ERROR, "ERROR", b"\0\0"),
        (wire.ERROR, "ERROR", int32(0) + short(2) + b"\xff\xfe"),
        (wire.RESULT, "RESULT", b"\0\0"),
        (wire.RESULT, "RESULT", ROWS[:30]),
        (wire.RESULT, "RESULT", int32(99)),
    ],
)
def test_malformed_bodies_raise_errors_that_name_the_message(opcode: int, name: str, body: bytes) -> None:
    with pytest.raises(ProtocolError, match=f"malformed {name} message: "):
        decode(opcode, body)


@pytest.mark.parametrize("opcode", [0x04, 0x55, 0xFF])
def test_unknown_opcodes(opcode: int) -> None:
    with pytest.raises(ProtocolError, match=f"malformed 0x{opcode:02x} message: unknown opcode"):
        decode(opcode, b"")


@pytest.mark.parametrize("opcode", [wire.STARTUP, wire.QUERY, wire.REGISTER])
def test_requests_are_not_responses(opcode: int) -> None:
    with pytest.raises(ProtocolError, match="the server sent a request opcode"):
        decode(opcode, b"")


def test_recv_body_reads_files() -> None:
    assert AuthenticateMessage.recv_body(io.BytesIO(string("a.B")), 4) == AuthenticateMessage("a.B")
    assert ResultMessage.recv_body(io.BytesIO(ROWS), 4, None, {}, None, None).column_names == ["id", "name"]


def test_prepared_marks() -> None:
    body = int32(4) + wire.short_bytes(b"id") + int32(0x80000000 - (1 << 32)) + int32(0) + int32(0)
    body += int32(0) + int32(0)
    message = decode(wire.RESULT, body, lwt_mask=0x80000000)
    assert message.query_id == b"id"
    assert message.is_lwt is True
    assert decode(wire.RESULT, body).is_lwt is False


def test_errors_are_returned_not_raised() -> None:
    assert isinstance(decode(wire.ERROR, wire.error(0x2200, "no")), ErrorMessage)
