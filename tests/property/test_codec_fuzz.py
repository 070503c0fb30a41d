"""Decoding any bytes gives a value or one of two errors, and takes no more memory than they warrant."""

from __future__ import annotations

import contextlib
import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassandra._base.errors import DriverException, ProtocolError
from cassandra._core.codec import (
    Codec,
    Reader,
    Result,
    ResultPlan,
    RowPlan,
    TypeContext,
    decode_result,
    is_plain_rows,
    list_codec,
    map_codec,
    scalar,
    set_codec,
    tuple_codec,
    vector_codec,
)
from cassandra._wire.types.registry import resolve_custom
from tests.property.codec_types import tables, typed_values, types
from tests.unit.core import codec_recorder
from tests.unit.core.codec_frames import GLOBAL, INT, NO_METADATA, TEXT, encoded, int_, rows_body, short, string

RECORDED = [path.read_bytes() for path in sorted(codec_recorder.FOLDER.glob("*.body"))]
SCALARS = [scalar(kind) for kind in range(1, 0x16)]


def mutations(data: bytes) -> st.SearchStrategy[bytes]:
    """*data* with a few bytes changed, cut out, doubled or put in."""

    def apply(edits: list[tuple[int, int, bytes]]) -> bytes:
        changed = bytearray(data)
        for start, length, replacement in edits:
            at = start % (len(changed) + 1)
            changed[at : at + length] = replacement
        return bytes(changed)

    edit = st.tuples(
        st.integers(0, max(len(data), 1)),
        st.integers(0, 5),
        st.binary(max_size=5) | st.sampled_from([int_(n) for n in (-1, -2, 0, 1, 2**31 - 1, -(2**31))]),
    )
    return st.lists(edit, min_size=1, max_size=4).map(apply)


def consume(body: bytes, version: int = 4, flags: int = 0, plan: ResultPlan | None = None) -> None:
    """Decode everything there is in a RESULT body."""
    with contextlib.suppress(ProtocolError, DriverException):
        context = TypeContext(resolve_custom)
        result = decode_result(Result, body, flags, version, context, plan, metadata_ids=bool(flags & 0x80))
        if result.page is not None:
            for kind in ("dict", "tuple"):
                for _ in result.page.batches(RowPlan(result.page.plan, kind), 3):
                    pass
        count = len(result.page or ())
        assert is_plain_rows(result) <= (result.page is not None)
        assert result.parsed_rows is None or len(result.parsed_rows) == count


@given(types, st.binary(max_size=80), st.sampled_from([3, 4, 5]))
def test_any_bytes_for_any_type(typed: tuple[Codec, Any], data: bytes, version: int) -> None:
    with contextlib.suppress(DriverException):
        typed[0].decode(data, version)


@given(st.data())
def test_corrupted_values(data: st.DataObject) -> None:
    codec, value = data.draw(typed_values())
    with contextlib.suppress(DriverException):
        codec.decode(data.draw(mutations(codec.encode(value))))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_corrupted_rows(data: st.DataObject) -> None:
    codecs, rows = data.draw(tables())
    columns = [(f"c{i}", codec) for i, codec in enumerate(codecs)]
    plan = ResultPlan([("ks", "t", name, codec) for name, codec in columns])
    flags = data.draw(st.sampled_from([GLOBAL, 0, NO_METADATA]))
    consume(data.draw(mutations(rows_body(columns, encoded(columns, rows), flags))), plan=plan)


@given(st.sampled_from(RECORDED).flatmap(mutations), st.sampled_from([3, 4, 5]), st.integers(0, 255))
def test_corrupted_recordings(body: bytes, version: int, flags: int) -> None:
    consume(body, version)
    consume(body, version, flags)


@given(st.binary(max_size=200), st.sampled_from([3, 4, 5]), st.integers(0, 255), st.integers(1, 5))
def test_any_body(body: bytes, version: int, flags: int, kind: int) -> None:
    consume(body, version, flags)
    consume(int_(kind) + body, version, flags & ~0x0E)


METHODS = [name for name in dir(Reader) if not name.startswith("_") and name not in ("offset", "remaining", "type")]


@given(st.binary(max_size=100), st.lists(st.sampled_from([*METHODS, "type"])))
def test_any_bytes_for_the_reader(data: bytes, methods: list[str]) -> None:
    reader, context = Reader(data), TypeContext(resolve_custom)
    with contextlib.suppress(ProtocolError):
        for name in methods:
            getattr(reader, name)(*([context] if name == "type" else []))
    assert 0 <= reader.offset <= len(data)


@pytest.mark.parametrize("seed", range(20))
def test_recordings_with_many_random_errors(seed: int) -> None:
    """More of the same without shrinking: single bytes of every recording, thousands of them."""
    rng = random.Random(seed)
    for body in RECORDED:
        for _ in range(20):
            changed = bytearray(body)
            for _ in range(rng.randrange(1, 4)):
                changed[rng.randrange(len(changed))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            consume(bytes(changed))


def test_the_recordings_themselves_decode() -> None:
    for body in RECORDED:
        result = decode_result(Result, body, 0, 4, TypeContext(resolve_custom))
        assert result.kind and (result.page is None or result.parsed_rows is not None)


HUGE = int_(2**31 - 1)
NAMES = string("ks") + string("t") + string("c")


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (list_codec(INT), HUGE),
        (list_codec(list_codec(INT)), int_(1) + int_(4) + HUGE),
        (set_codec(TEXT), HUGE + b"\0" * 16),
        (map_codec(INT, INT), HUGE + b"\0" * 16),
        (vector_codec(INT, 2**28), b"\0" * 16),
        (vector_codec(TEXT, 2**31 - 1), b"\0" * 16),
        (tuple_codec([TEXT]), HUGE),
        (TEXT, None),
    ],
)
def test_hostile_lengths_take_no_memory(codec: Codec, data: bytes | None) -> None:
    tracemalloc.start()
    try:
        with contextlib.suppress(DriverException):
            codec.decode(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "body",
    [
        int_(2) + int_(1) + HUGE + NAMES,
        int_(2) + int_(1) + int_(1) + NAMES + short(9) + HUGE,
        int_(2) + int_(4) + int_(0) + HUGE,
        int_(2) + int_(1) + int_(1) + NAMES + short(0x31) + short(65535),
        int_(2) + int_(1) + int_(1) + NAMES + short(0x30) + NAMES[:5] + short(65535),
        int_(4) + short(0) + int_(1) + HUGE + int_(0),
        int_(4) + short(0) + int_(0) + int_(0) + HUGE,
        int_(5) + string("CREATED") + string("FUNCTION") + string("k") + string("f") + short(65535),
    ],
)
def test_hostile_counts_take_no_memory(body: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            decode_result(Result, body, 0, 4, TypeContext())
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


ONE_INT = short(0) + short(9)  # a column without a name
LISTS = short(0) + short(0x20) * 120 + short(9)
CLASSES = short(0) + short(0x30) + short(0) * 2 + short(0)  # a user type without name and fields
WIDE = short(0) + short(0x31) + short(65535) + short(9) * 65535


def columns_of(spec: bytes, count: int) -> bytes:
    return int_(1) + int_(count) + short(0) * 2 + spec * count


@pytest.mark.parametrize(
    "specs",
    [
        columns_of(ONE_INT, 65536),
        columns_of(LISTS, 5000),
        columns_of(CLASSES, 65535),
        columns_of(WIDE, 17),
        columns_of(short(0) + short(0) + string("x" * 65535), 80),
        columns_of(string("n" * 65535) + short(9), 520),
    ],
    ids=["columns", "lists", "user types", "tuples", "custom types", "names"],
)
def test_memory_of_decoding_metadata_is_bounded(specs: bytes) -> None:
    """The size is checked before objects are made: an item of two bytes on the wire takes hundreds in memory."""
    for body in (int_(2) + specs + int_(0), int_(4) + short(0) + specs[:8] + int_(0) + specs[8:] + int_(4) + int_(0)):
        tracemalloc.start()
        try:
            with pytest.raises(ProtocolError, match=r"metadata (of|has)"):
                decode_result(Result, body, 0, 4, TypeContext(resolve_custom))
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()


PARTS = st.sampled_from([ONE_INT, LISTS, CLASSES, WIDE, short(9), short(0x22), short(0)])


@given(st.lists(PARTS, max_size=30), st.data())
def test_any_types_in_metadata(specs: list[bytes], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 40) | st.sampled_from([2**31 - 1, -1, 65536]))
    start = data.draw(st.sampled_from([int_(2), int_(4) + short(0), int_(4) + short(0) + short(0)]))
    consume(start + int_(1) + int_(count) + short(0) * 2 + b"".join(specs), data.draw(st.sampled_from([3, 4, 5])))


def test_a_page_of_nulls_takes_memory_for_its_rows_only() -> None:
    count = 10000
    body = rows_body([("c", INT)], [[None]] * count)
    tracemalloc.start()
    try:
        assert len(decode_result(Result, body, 0, 4, TypeContext()).parsed_rows or ()) == count
        assert tracemalloc.get_traced_memory()[1] < count * 100
    finally:
        tracemalloc.stop()
