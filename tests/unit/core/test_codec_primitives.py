"""Reader and Writer: every notation both ways, and reads beyond the end."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra._base.errors import ProtocolError
from cassandra._core.codec import Reader, TypeContext, Writer, list_codec
from tests.unit.core.codec_frames import INT, bytes_, int_, option, short, string


def test_everything_written_reads_back() -> None:
    writer = Writer()
    writer.byte(255)
    writer.short(65535)
    writer.int(-5)
    writer.long(-(2**63))
    writer.string("grüße")
    writer.long_string("long")
    writer.long_string(b"bytes")
    writer.bytes(b"ab")
    writer.bytes(None)
    writer.short_bytes(b"id")
    writer.string_list(["a", "b"])
    writer.string_map({"k": "v", "l": ""})
    writer.bytes_map({"k": b"v", "n": None})
    writer.inet("10.0.0.1", 9042)
    writer.inet("::1", -1)
    data = writer.getvalue()
    reader = Reader(data)
    assert (reader.offset, reader.remaining) == (0, len(data))
    assert (reader.byte(), reader.short(), reader.int(), reader.long()) == (255, 65535, -5, -(2**63))
    assert (reader.string(), reader.long_string(), reader.long_string()) == ("grüße", "long", "bytes")
    assert (reader.bytes(), reader.bytes(), reader.short_bytes()) == (b"ab", None, b"id")
    assert reader.string_list() == ["a", "b"]
    assert reader.string_map() == {"k": "v", "l": ""}
    assert reader.bytes_map() == {"k": b"v", "n": None}
    assert (reader.inet(), reader.inet()) == (("10.0.0.1", 9042), ("::1", -1))
    assert (reader.remaining, reader.offset) == (0, len(data))


def test_reader_decodes_values_that_only_servers_write() -> None:
    identity = uuid.uuid4()
    data = identity.bytes + short(1) + string("COMPRESSION") + short(2) + string("lz4") + string("snappy")
    data += b"\x04\x7f\x00\x00\x01" + option(list_codec(INT))
    data += string("DROPPED") + string("TABLE") + string("ks") + string("t")
    reader = Reader(bytearray(data))
    assert reader.uuid() == identity
    assert reader.string_multimap() == {"COMPRESSION": ["lz4", "snappy"]}
    assert reader.inet_addr() == "127.0.0.1"
    assert reader.type(TypeContext()).cql() == "list<int>"
    event = {"change_type": "DROPPED", "target_type": "TABLE", "keyspace": "ks", "table": "t"}
    assert reader.schema_change() == event


def test_offsets() -> None:
    reader = Reader(b"\x01\x02\x03\x04", 1)
    assert reader.byte() == 2
    reader.offset = 3
    assert (reader.byte(), reader.remaining) == (4, 0)
    reader.offset = 4
    for offset in (5, -1):
        with pytest.raises(ProtocolError, match="has no offset"):
            reader.offset = offset
        with pytest.raises(ProtocolError, match="has no offset"):
            Reader(b"\x01\x02\x03\x04", offset)
    assert reader.offset == 4


@pytest.mark.parametrize(
    ("method", "data"),
    [
        ("byte", b""),
        ("short", b"\0"),
        ("int", b"\0\0\0"),
        ("long", b"\0" * 7),
        ("uuid", b"\0" * 15),
        ("string", short(2) + b"a"),
        ("long_string", int_(2) + b"a"),
        ("bytes", int_(2) + b"a"),
        ("bytes", int_(2**31 - 1) + b"a"),
        ("short_bytes", short(2) + b"a"),
        ("string_list", short(65535)),
        ("string_list", short(2) + string("a")),
        ("string_map", short(1) + string("a")),
        ("string_multimap", short(1) + string("a") + short(1)),
        ("bytes_map", short(1) + string("a") + int_(1)),
        ("inet", b"\x04\0\0\0\0"),
        ("inet_addr", b"\x10" + b"\0" * 15),
        ("schema_change", string("CREATED") + string("TABLE") + string("ks")),
    ],
)
def test_beyond_the_end(method: str, data: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"message is cut off: .* bytes needed, .* left"):
        getattr(Reader(data), method)()


@pytest.mark.parametrize(
    ("method", "data", "message"),
    [
        ("long_string", int_(-1), "a string of the message has length -1"),
        ("string", short(1) + b"\xff", "not UTF-8"),
        ("inet_addr", b"\x05" + b"\0" * 5, "invalid length of an IP address: 5 bytes"),
    ],
)
def test_malformed(method: str, data: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        getattr(Reader(data), method)()


def test_any_negative_length_is_null() -> None:
    assert Reader(int_(-1)).bytes() is None and Reader(int_(-5)).bytes() is None


@pytest.mark.parametrize(
    ("method", "value", "error"),
    [
        ("byte", 256, OverflowError),
        ("byte", -1, OverflowError),
        ("short", 65536, OverflowError),
        ("int", 2**31, OverflowError),
        ("long", 2**63, OverflowError),
        ("string", "x" * 65536, ValueError),
        ("string", None, TypeError),
        ("string", b"x", TypeError),
        ("long_string", 5, TypeError),
        ("bytes", "x", TypeError),
        ("short_bytes", b"x" * 65536, ValueError),
        ("string_list", ["x"] * 65536, ValueError),
        ("string_list", [5], TypeError),
    ],
)
def test_writer_refuses_values_that_do_not_fit(method: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        getattr(Writer(), method)(value)


def test_writing_addresses_that_are_none() -> None:
    with pytest.raises(ValueError, match="invalid IP address: 'nowhere'"):
        Writer().inet("nowhere", 1)


def test_writers_grow() -> None:
    writer = Writer()
    for i in range(100000):
        writer.int(i)
    reader = Reader(writer.getvalue())
    assert [reader.int() for _ in range(100000)] == list(range(100000))
    assert bytes_(b"")[:4] == int_(0)
