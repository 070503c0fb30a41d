"""Request envelopes byte for byte, on protocols 3, 4 and 5."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from cassandra._base.errors import UnsupportedOperation
from cassandra._core.codec import (
    UNSET,
    BindPlan,
    encode_batch,
    encode_envelope,
    encode_execute,
    encode_prepare,
    encode_query,
)
from tests.unit.core.codec_frames import INT, TEXT, bytes_, int_, short, string

QUERY, PREPARE, EXECUTE, BATCH = 0x07, 0x09, 0x0A, 0x0D
VERSIONS = pytest.mark.parametrize("version", [3, 4, 5])


def envelope(version: int, opcode: int, body: bytes, flags: int = 0) -> bytes:
    return struct.pack(">BBhBi", version, flags, 0, opcode, len(body)) + body


def flags_of(version: int, flags: int) -> bytes:
    return int_(flags) if version >= 5 else bytes([flags])


def long(value: int) -> bytes:
    return struct.pack(">q", value)


def long_string(text: str) -> bytes:
    return int_(len(text.encode())) + text.encode()


@VERSIONS
def test_a_plain_query(version: int) -> None:
    body = long_string("SELECT 'ä'") + short(1) + flags_of(version, 0)
    assert encode_query(version, "SELECT 'ä'", 1) == envelope(version, QUERY, body)
    assert encode_query(version, "SELECT 'ä'".encode(), 1) == envelope(version, QUERY, body)


@VERSIONS
def test_a_query_with_every_option(version: int) -> None:
    keyspace = "ks" if version == 5 else None
    made = encode_query(
        version,
        "q",
        6,
        values=[b"v", None],
        flags=0x02,
        skip_metadata=True,
        page_size=5000,
        paging_state=b"state",
        serial_consistency=9,
        timestamp=-5,
        keyspace=keyspace,
    )
    body = long_string("q") + short(6) + flags_of(version, 0xBF if keyspace else 0x3F)
    body += short(2) + bytes_(b"v") + bytes_(None) + int_(5000) + bytes_(b"state") + short(9) + long(-5)
    assert made == envelope(version, QUERY, body + (string("ks") if keyspace else b""), 0x02)


@VERSIONS
def test_named_values(version: int) -> None:
    body = long_string("q") + short(1) + flags_of(version, 0x41) + short(1) + string("a") + bytes_(b"v")
    assert encode_query(version, "q", 1, values=[b"v"], names=["a"]) == envelope(version, QUERY, body)
    with pytest.raises(ValueError, match="1 names for 2 values"):
        encode_query(version, "q", 1, values=[b"v", b"w"], names=["a"])


def test_no_values_are_no_flag() -> None:
    plain = encode_query(4, "q", 1)
    assert encode_query(4, "q", 1, values=[]) == encode_query(4, "q", 1, values=None, names=[]) == plain


def test_unset_values() -> None:
    body = long_string("q") + short(1) + b"\x01" + short(1) + int_(-2)
    assert encode_query(4, "q", 1, values=[UNSET]) == envelope(4, QUERY, body)
    with pytest.raises(UnsupportedOperation, match="UNSET_VALUE needs protocol version 4"):
        encode_query(3, "q", 1, values=[UNSET])


@pytest.mark.parametrize("version", [4, 5])
def test_custom_payload(version: int) -> None:
    body = short(2) + string("k") + bytes_(b"v") + string("n") + bytes_(None)
    body += long_string("q") + short(1) + flags_of(version, 0)
    assert encode_query(version, "q", 1, payload={"k": b"v", "n": None}) == envelope(version, QUERY, body, 0x04)
    assert encode_query(version, "q", 1, payload={})[1] == 0


def test_features_unsupported_by_the_protocol_version_raise() -> None:
    with pytest.raises(UnsupportedOperation, match="Custom payloads need protocol version 4"):
        encode_query(3, "q", 1, payload={"k": b"v"})
    for version in (3, 4):
        with pytest.raises(UnsupportedOperation, match="protocol version 5"):
            encode_query(version, "q", 1, keyspace="ks")
        with pytest.raises(UnsupportedOperation, match="protocol version 5"):
            encode_prepare(version, "q", keyspace="ks")
        with pytest.raises(UnsupportedOperation, match="protocol version 5"):
            encode_batch(version, 0, [], 1, keyspace="ks")
    for version in (1, 2, 6, 65):
        with pytest.raises(UnsupportedOperation, match=f"Protocol version {version} is not supported"):
            encode_query(version, "q", 1)


BOUND = BindPlan([("ks", "t", "a", INT), ("ks", "t", "b", TEXT)]).bind([1, UNSET], 4)


@pytest.mark.parametrize("version", [4, 5])
def test_execute(version: int) -> None:
    made = encode_execute(
        version,
        b"id",
        1,
        BOUND,
        result_metadata_id=b"mid" if version == 5 else None,
        page_size=100,
        timestamp=7,
    )
    body = short(2) + b"id" + (short(3) + b"mid" if version == 5 else b"")
    body += short(1) + flags_of(version, 0x27) + BOUND.data + int_(100) + long(7)
    assert made == envelope(version, EXECUTE, body)


def test_execute_without_values() -> None:
    empty = BindPlan([]).bind(None, 4)
    kinds: list[Any] = [None, empty, []]
    for nothing in kinds:
        assert encode_execute(4, b"id", 1, nothing) == envelope(4, EXECUTE, short(2) + b"id" + short(1) + b"\x02")
    shown = encode_execute(4, b"id", 1, None, skip_metadata=False)
    assert shown == envelope(4, EXECUTE, short(2) + b"id" + short(1) + b"\x00")


def test_execute_with_scyllas_extensions() -> None:
    made = encode_execute(4, b"id", 1, [b"v"], result_metadata_id=b"m", tablet_version_block=0xA3)
    body = short(2) + b"id" + short(1) + b"m" + short(1) + b"\x03" + short(1) + bytes_(b"v") + b"\xa3"
    assert made == envelope(4, EXECUTE, body)


def test_execute_on_protocol_5_needs_the_metadata_id() -> None:
    with pytest.raises(ValueError, match="result_metadata_id"):
        encode_execute(5, b"id", 1, None)


@VERSIONS
def test_batch(version: int) -> None:
    bound = BindPlan([("ks", "t", "a", INT)]).bind([1], version)
    queries: Any = [(True, b"id", bound), (False, "INSERT", None), (False, b"UPDATE", [b"v", None])]
    made = encode_batch(version, 1, queries, 6, serial_consistency=8, timestamp=-1, flags=0x02)
    body = b"\x01" + short(3)
    body += b"\x01" + short(2) + b"id" + short(1) + bytes_(b"\0\0\0\1")
    body += b"\x00" + long_string("INSERT") + short(0)
    body += b"\x00" + long_string("UPDATE") + short(2) + bytes_(b"v") + bytes_(None)
    body += short(6) + flags_of(version, 0x30) + short(8) + long(-1)
    assert made == envelope(version, BATCH, body, 0x02)


def test_an_empty_batch_with_keyspace_and_payload() -> None:
    made = encode_batch(5, 0, [], 1, keyspace="ks", payload={"k": b"v"})
    body = short(1) + string("k") + bytes_(b"v") + b"\0" + short(0) + short(1) + int_(0x80) + string("ks")
    assert made == envelope(5, BATCH, body, 0x04)


def test_prepare() -> None:
    for version in (3, 4):
        assert encode_prepare(version, "q") == envelope(version, PREPARE, long_string("q"))
    assert encode_prepare(5, "q") == envelope(5, PREPARE, long_string("q") + int_(0))
    assert encode_prepare(5, "q", keyspace="ks") == envelope(5, PREPARE, long_string("q") + int_(1) + string("ks"))
    assert encode_prepare(4, b"q", flags=2, payload={"a": b""})[:2] == b"\x04\x06"


def test_any_envelope() -> None:
    assert encode_envelope(4, 2, 5, b"body") == b"\x04\x02\x00\x00\x05\x00\x00\x00\x04body"
    assert encode_envelope(5, 0, 1, b"", -1) == b"\x05\x00\xff\xff\x01\x00\x00\x00\x00"


def test_lengths_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="65536 items are more than the protocol allows"):
        encode_query(4, "q", 1, values=[None] * 65536)
    with pytest.raises(ValueError, match="an id of 65536 bytes"):
        encode_execute(4, b"x" * 65536, 1, None)
    with pytest.raises(ValueError, match="a string of 65536 bytes"):
        encode_prepare(5, "q", keyspace="x" * 65536)


def test_wrong_types_are_refused() -> None:
    with pytest.raises(TypeError, match="query text must be str or bytes, not int"):
        encode_query(4, 5, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        encode_query(4, "q", 1, values=[5])
    with pytest.raises(TypeError):
        encode_execute(4, "id", 1, None)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        encode_query(4, "q", 1, timestamp=2**63)
    with pytest.raises(OverflowError):
        encode_query(4, "q", 1, page_size=2**31)
    with pytest.raises(UnicodeEncodeError):
        encode_query(4, "\ud800", 1)


def test_a_large_query() -> None:
    text = "x" * 5_000_000
    assert encode_query(4, text, 1) == envelope(4, QUERY, long_string(text) + short(1) + b"\0")
