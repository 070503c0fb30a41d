"""Requests against hand-made bytes, for protocols 3, 4 and 5."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._base.errors import UnsupportedOperation
from cassandra._core.codec import UNSET
from cassandra._wire.messages.requests import (
    AuthResponseMessage,
    BatchMessage,
    CredentialsMessage,
    ExecuteMessage,
    OptionsMessage,
    PrepareMessage,
    QueryMessage,
    RegisterMessage,
    ReviseRequestMessage,
    StartupMessage,
)
from tests.fakes import wire
from tests.fakes.wire import bytes_, int32, int64, long_string, short, short_bytes, string

VERSIONS = (3, 4, 5)


def envelope(data: bytes) -> wire.Envelope:
    found = wire.unpack(data)
    assert found is not None
    request, rest = found
    assert rest == b""
    assert request.stream == 0
    return request


def flags(version: int, value: int) -> bytes:
    """Query flags: a byte, an int from protocol 5."""
    return int32(value) if version >= 5 else wire.byte(value)


@pytest.mark.parametrize("version", VERSIONS)
def test_options(version: int) -> None:
    assert OptionsMessage().encode(version) == bytes([version, 0, 0, 0, 5, 0, 0, 0, 0])


@pytest.mark.parametrize("version", VERSIONS)
def test_startup(version: int) -> None:
    request = envelope(StartupMessage("3.0.0", {"COMPRESSION": "lz4"}).encode(version))
    assert request.opcode == wire.STARTUP
    assert wire.read_string_map(request.body) == {"CQL_VERSION": "3.0.0", "COMPRESSION": "lz4"}


def test_register() -> None:
    request = envelope(RegisterMessage(["STATUS_CHANGE", "SCHEMA_CHANGE"]).encode(4))
    assert request.body == wire.string_list(["STATUS_CHANGE", "SCHEMA_CHANGE"])


@pytest.mark.parametrize("token", [b"\0user\0pass", b"", None])
def test_auth_response(token: bytes | None) -> None:
    assert envelope(AuthResponseMessage(token).encode(4)).body == bytes_(token)


def test_secrets_are_not_shown() -> None:
    assert "hunter2" not in repr(AuthResponseMessage(b"\0me\0hunter2"))
    assert "hunter2" not in repr(CredentialsMessage({"password": "hunter2"}))


@pytest.mark.parametrize("version", VERSIONS)
def test_plain_query(version: int) -> None:
    request = envelope(QueryMessage("SELECT é", 6).encode(version))
    assert request == envelope(QueryMessage("SELECT é", 6, fetch_size=0).encode(version))
    assert request == wire.Envelope(version, 0, 0, wire.QUERY, long_string("SELECT é") + short(6) + flags(version, 0))


@pytest.mark.parametrize("version", VERSIONS)
def test_query_with_everything(version: int) -> None:
    message = QueryMessage(
        "q",
        1,
        serial_consistency_level=9,
        fetch_size=100,
        paging_state=b"state",
        timestamp=-5,
        query_params=[b"v", None],
    )
    bits = 0x01 | 0x04 | 0x08 | 0x10 | 0x20
    expected = (
        long_string("q")
        + short(1)
        + flags(version, bits)
        + short(2)
        + bytes_(b"v")
        + bytes_(None)
        + int32(100)
        + bytes_(b"state")
        + short(9)
        + int64(-5)
    )
    assert envelope(message.encode(version)).body == expected


def test_query_with_names_and_unset() -> None:
    body = envelope(QueryMessage("q", 1, query_params={"a": b"1", "b": UNSET}).encode(4)).body
    expected = short(2) + string("a") + bytes_(b"1") + string("b") + int32(-2)
    assert body == long_string("q") + short(1) + wire.byte(0x41) + expected


def test_query_keyspace_on_5() -> None:
    body = envelope(QueryMessage("q", 1, keyspace="ks").encode(5)).body
    assert body == long_string("q") + short(1) + int32(0x80) + string("ks")


@pytest.mark.parametrize("version", VERSIONS)
def test_flags_and_payload(version: int) -> None:
    message = QueryMessage("q", 1)
    message.tracing = True
    message.update_custom_payload({"k": b"v"})
    if version == 3:
        payload, bits = b"", wire.TRACING
        message.custom_payload = None
    else:
        payload, bits = wire.bytes_map({"k": b"v"}), wire.TRACING | wire.PAYLOAD
    request = envelope(message.encode(version))
    assert request.flags == bits
    assert request.body.startswith(payload + long_string("q"))


def test_payload_argument_replaces_the_messages_own() -> None:
    message = PrepareMessage("q")
    message.custom_payload = {"k": b"v"}
    body = envelope(message.encode(4, payload={"x": None}, flags=0x10)).body
    assert body == wire.bytes_map({"x": None}) + long_string("q")


def test_prepare() -> None:
    assert envelope(PrepareMessage("q").encode(4)).body == long_string("q")
    assert envelope(PrepareMessage("q").encode(5)).body == long_string("q") + int32(0)
    assert envelope(PrepareMessage("q", "ks").encode(5)).body == long_string("q") + int32(1) + string("ks")


@pytest.mark.parametrize("version", VERSIONS)
def test_execute(version: int) -> None:
    message = ExecuteMessage(b"\1\2", [b"x"], 6, fetch_size=10, skip_meta=True, result_metadata_id=b"meta")
    metadata_id = short_bytes(b"meta") if version == 5 else b""
    expected = (
        short_bytes(b"\1\2")
        + metadata_id
        + short(6)
        + flags(version, 0x01 | 0x02 | 0x04)
        + short(1)
        + bytes_(b"x")
        + int32(10)
    )
    assert envelope(message.encode(version)).body == expected


def test_execute_with_scylla_extensions() -> None:
    features = SimpleNamespace(use_metadata_id=True, tablets_routing_v2=True)
    message = ExecuteMessage(b"id", [], 1, result_metadata_id=b"meta", tablet_version_block=0xDC)
    body = envelope(message.encode(4, features=features)).body
    assert body.startswith(short_bytes(b"id") + short_bytes(b"meta") + short(1))
    assert body.endswith(b"\xdc")


@pytest.mark.parametrize("version", VERSIONS)
def test_batch(version: int) -> None:
    queries: list[tuple[bool, Any, Any]] = [(False, "q", [b"1"]), (True, b"id", [None, b"2"])]
    message = BatchMessage(SimpleNamespace(value=1), queries, 4, serial_consistency_level=8, timestamp=7)
    expected = (
        wire.byte(1)
        + short(2)
        + wire.byte(0)
        + long_string("q")
        + short(1)
        + bytes_(b"1")
        + wire.byte(1)
        + short_bytes(b"id")
        + short(2)
        + bytes_(None)
        + bytes_(b"2")
        + short(4)
        + flags(version, 0x10 | 0x20)
        + short(8)
        + int64(7)
    )
    assert envelope(message.encode(version)).body == expected


def test_send_body_leaves_the_payload_out() -> None:
    message = QueryMessage("q", 1)
    message.custom_payload = {"k": b"v"}
    out = io.BytesIO()
    message.send_body(out, 4)
    assert out.getvalue() == long_string("q") + short(1) + b"\0"


def test_unsupported_messages_and_options_are_refused() -> None:
    with pytest.raises(UnsupportedOperation):
        ReviseRequestMessage(1, 2).encode(4)
    with pytest.raises(UnsupportedOperation):
        ReviseRequestMessage(1, 2).send_body(io.BytesIO(), 4)
    with pytest.raises(UnsupportedOperation):
        QueryMessage("q", 1, continuous_paging_options=object())


def test_repr_shows_the_fields() -> None:
    assert repr(QueryMessage("SELECT 1", 1)) == "<QueryMessage(consistency_level=1, query='SELECT 1')>"
