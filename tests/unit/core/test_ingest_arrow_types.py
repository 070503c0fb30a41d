"""Every Arrow type into every CQL type: the exact value, or a refusal, and never another value, except that reals are
rounded to float."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from ipaddress import ip_address
from typing import Any
from uuid import UUID as Uuid

import numpy as np
import pyarrow as pa
import pytest

from cassandra._core.codec import Codec, list_codec, map_codec, set_codec, tuple_codec, vector_codec
from cassandra._core.columns import IngestPlan
from tests.fuzz.arrow_values import Kind, cell, encode
from tests.unit.core.codec_frames import (
    ASCII,
    BIGINT,
    BLOB,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    DURATION,
    FLOAT,
    INET,
    INT,
    SMALLINT,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMEUUID,
    TINYINT,
    UUID,
    VARINT,
)

CODECS: dict[str, Codec] = {
    "tinyint": TINYINT,
    "smallint": SMALLINT,
    "int": INT,
    "bigint": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "boolean": BOOLEAN,
    "text": TEXT,
    "ascii": ASCII,
    "blob": BLOB,
    "uuid": UUID,
    "timeuuid": TIMEUUID,
    "inet": INET,
    "timestamp": TIMESTAMP,
    "date": DATE,
    "time": TIME,
    "duration": DURATION,
    "varint": VARINT,
    "decimal": DECIMAL,
}
NULL = object()  # the value is null: an integer that is not there, as pandas has it
BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
NS_PER_DAY = 86_400_000_000_000
SOME_UUID = Uuid("00112233-4455-1677-8899-aabbccddeeff")
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


# The meaning of Arrow values of all types: the functions of the same names tell the CQL values that they may become.


def whole(value: int, cql: str) -> Any:
    if cql in BITS:
        return value if -(1 << BITS[cql] - 1) <= value < 1 << BITS[cql] - 1 else None
    if cql in ("float", "double"):
        form = ">f" if cql == "float" else ">d"
        (held,) = struct.unpack(form, struct.pack(form, float(value)))
        return held if int(held) == value else None
    return {"varint": value, "decimal": Decimal(value)}.get(cql)


def real(value: bytes, cql: str) -> Any:
    (number,) = struct.unpack(">d", value)
    if cql == "double":
        return number
    if cql == "float":
        return number if is_in_range(number, ">f") else None
    if cql not in (*BITS, "varint"):
        return None
    if number != number:
        return NULL
    return whole(int(number), cql) if number.is_integer() else None


def is_in_range(number: float, form: str) -> bool:
    try:
        struct.pack(form, number)
    except OverflowError:
        return False
    return True


def scaled(value: tuple[int, int], cql: str) -> Any:
    number, scale = value
    if cql == "decimal":
        return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
    if cql == "varint":
        whole_part, rest = divmod(number * 10 ** max(0, -scale), 10 ** max(0, scale))
        return None if rest else whole_part
    return whole(number, cql) if scale == 0 and cql in BITS else None


def text(value: str, cql: str) -> Any:
    if cql in ("text", "ascii"):
        return value if cql == "text" or value.isascii() else None
    texts: dict[str, dict[str, Any]] = {
        str(SOME_UUID): {"uuid": SOME_UUID, "timeuuid": SOME_UUID},
        "12.5e1": {"decimal": Decimal("12.5e1"), "float": 125.0, "double": 125.0},
        "-7": {"decimal": Decimal(-7), "varint": -7, "float": -7.0, "double": -7.0, **dict.fromkeys(BITS, -7)},
        "99999999999999999999": {"decimal": Decimal(10**20 - 1), "varint": 10**20 - 1, "float": 1e20, "double": 1e20},
        "1e39": {"decimal": Decimal("1e39"), "double": 1e39},
        "inf": {"float": float("inf"), "double": float("inf")},
        "True": {"boolean": True},
        "2024-02-29T12:30:01.005+02:00": {"timestamp": 1709202601005},
        "2024-02-29": {"timestamp": 1709164800000, "date": 19782},
        "23:59:59.5": {"time": 86_399_500_000_000},
        "10.0.0.1": {"inet": ip_address("10.0.0.1").packed},
        "::1": {"inet": ip_address("::1").packed},
    }
    return texts.get(value, {}).get(cql)


def data(value: bytes, cql: str) -> Any:
    if cql == "blob":
        return value
    if cql in ("uuid", "timeuuid"):
        return Uuid(bytes=value) if len(value) == 16 else None
    return value if cql == "inet" and len(value) in (4, 16) else None


def moment(value: tuple[int, bool], cql: str) -> Any:
    """Nanoseconds, and whether they have days of their own."""
    nanoseconds, has_days = value
    if cql == "timestamp":
        return (
            nanoseconds // 10**6 if nanoseconds % 10**6 == 0 and -(1 << 63) <= nanoseconds // 10**6 < 1 << 63 else None
        )
    return day(nanoseconds // NS_PER_DAY, cql) if cql == "date" and has_days and nanoseconds % NS_PER_DAY == 0 else None


def day(value: int, cql: str) -> Any:
    if cql == "timestamp":
        return value * 86_400_000
    return value if cql == "date" and -(1 << 31) <= value < 1 << 31 else None


def time(value: int, cql: str) -> Any:
    return value if cql == "time" and 0 <= value < NS_PER_DAY else None


def span(value: tuple[int, int, int], cql: str) -> Any:
    fits = not (min(value) < 0 < max(value)) and -(1 << 63) <= value[2] < 1 << 63
    return value if cql == "duration" and fits else None


def flag(value: bool, cql: str) -> Any:
    return value if cql == "boolean" else None


def nothing(value: Any, cql: str) -> Any:
    return None


Meaning = tuple[Callable[[Any, str], Any], Any]


def raw(kind: pa.DataType, width: str, values: list[int]) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.array(values, width).tobytes())])


def cases() -> Iterator[tuple[pa.Array, list[Meaning | None]]]:
    for bits in (8, 16, 32, 64):
        for kind, least, most in (
            (f"int{bits}", -(1 << bits - 1), (1 << bits - 1) - 1),
            (f"uint{bits}", 0, (1 << bits) - 1),
        ):
            numbers = [least, most, 0, 1, 100]
            yield pa.array([*numbers, None], getattr(pa, kind)()), [*[(whole, v) for v in numbers], None]
    for width in (np.float16, np.float32, np.float64):
        reals = np.array([0.0, -0.0, 1.5, 0.1, np.inf, -np.inf, np.nan, 65504, 6e-8], width)
        if width is np.float64:
            reals = np.append(reals, [1e39, 5e-324, 1.7976931348623157e308])
        yield pa.array(reals, from_pandas=False), [(real, struct.pack(">d", float(v))) for v in reals]
    for make, digits in ((pa.decimal32, 9), (pa.decimal64, 18), (pa.decimal128, 38), (pa.decimal256, 76)):
        for scale in (0, 2, -3, digits):
            most = 10**digits - 1
            numbers = [0, 1, -1, 127, -12300, most, -most]
            kind = make(digits, scale)
            buffer = b"".join(v.to_bytes(kind.bit_width // 8, "little", signed=True) for v in numbers)
            yield pa.Array.from_buffers(kind, 7, [None, pa.py_buffer(buffer)]), [(scaled, (v, scale)) for v in numbers]
    texts = [str(SOME_UUID), "12.5e1", "-7", "10.0.0.1", "::1", "grün", "", "x" * 50, "99999999999999999999", "1e39"]
    texts += ["inf", "True", "2024-02-29T12:30:01.005+02:00", "2024-02-29", "23:59:59.5", "2023-02-29", "24:00"]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        yield pa.array([*texts, None], kind), [*[(text, v) for v in texts], None]
    yield pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}'])), [(text, '{"a": 1}')]
    blobs = [SOME_UUID.bytes, b"\1\2\3\4", b"", b"\xff" * 40]
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        yield pa.array([*blobs, None], kind), [*[(data, v) for v in blobs], None]
    for size in (0, 4, 5, 16):
        yield pa.array([bytes(range(size))], pa.binary(size)), [(data, bytes(range(size)))]
    yield (
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([SOME_UUID.bytes], pa.binary(16))),
        [(data, SOME_UUID.bytes)],
    )
    days = [0, -1, 20_000, (1 << 31) - 1, -(1 << 31)]
    yield raw(pa.date32(), "<i4", days), [(day, v) for v in days]
    instants = [*(v * 86_400_000 for v in (0, -1, 20_000, 1 << 31, -(1 << 31))), 1, -86_400_001]
    yield (
        raw(pa.date64(), "<i8", instants),
        [(day, v // 86_400_000) if v % 86_400_000 == 0 else (nothing, v) for v in instants],
    )
    for unit, per_second in PER_SECOND.items():
        second = 10**9 // per_second
        counts = [0, 1, 86_399 * per_second, 86_400 * per_second, -1, (1 << 31) - 1]
        kind = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        yield raw(kind, "<i4" if unit in ("s", "ms") else "<i8", counts), [(time, v * second) for v in counts]
        moments = [
            0,
            1,
            -1,
            86_400 * per_second,
            -86_400 * per_second,
            3_600 * per_second,
            1_700_000_000_123,
            (1 << 63) - 1,
            -(1 << 63),
        ]
        for zone in (None, "UTC", "+00:00", "Europe/Berlin", "+02:00", "America/New_York"):
            has_days = zone in (None, "UTC", "+00:00")
            yield raw(pa.timestamp(unit, zone), "<i8", moments), [(moment, (v * second, has_days)) for v in moments]
        yield raw(pa.duration(unit), "<i8", moments), [(span, (0, 0, v * second)) for v in moments]
    spans = [
        (1, 2, 3),
        (-1, -2, -3),
        (0, 0, (1 << 63) - 1),
        (1, -1, 0),
        (0, 1, -1),
        ((1 << 31) - 1,) * 3,
        (-(1 << 31), -(1 << 31), -(1 << 63)),
    ]
    buffer = b"".join(struct.pack("<iiq", *v) for v in spans)
    yield (
        pa.Array.from_buffers(pa.month_day_nano_interval(), len(spans), [None, pa.py_buffer(buffer)]),
        [(span, v) for v in spans],
    )
    yield pa.array([True, None, False]), [(flag, True), None, (flag, False)]
    yield (
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, -1, 2], pa.int8())),
        [(flag, v) for v in (False, True, True, True)],
    )
    yield pa.nulls(3), [None] * 3
    unions = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])])
    yield unions, [(nothing, None)] * 2
    yield (
        pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])]),
        [(nothing, None)],
    )
    opaque = pa.opaque(pa.binary(16), "hugeint", "DuckDB")
    yield pa.ExtensionArray.from_storage(opaque, pa.array([bytes(16)], pa.binary(16))), [(nothing, None)]
    yield pa.array([[1]]), [(nothing, None)]
    yield pa.array([{"a": 1}]), [(nothing, None)]
    yield pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())), [(nothing, None)]


CASES = list(cases())


def written(codec: Codec, array: pa.Array) -> list[bytes | None]:
    """The bytes of each value; None where it is refused."""
    plan = IngestPlan([("c", codec)], nulls="null")
    schema, data = pa.record_batch([array], names=["c"]).__arrow_c_array__()
    try:
        rows = plan.reader(schema).rows(data)
    except ValueError:
        return [None] * len(array)
    found: list[bytes | None] = []
    for row in range(len(array)):
        try:
            found.append(rows.encode(row)[0])
        except ValueError:
            found.append(None)
    return found


def expected(cql: str, kind: Kind, meanings: list[Meaning | None]) -> list[bytes | None]:
    found: list[bytes | None] = []
    for meaning in meanings:
        if meaning is None:
            found.append(cell(None))
        else:
            value = meaning[0](meaning[1], cql)
            found.append(None if value is None else cell(None if value is NULL else encode(kind, value)))
    return found


def is_refused(array: pa.Array, cql: str, wanted: list[bytes | None]) -> bool:
    """Whether no value of the type fits, so that nulls are refused with it."""
    return all(value in (None, cell(None)) for value in wanted) and not pa.types.is_null(array.type)


@pytest.mark.parametrize("cql", CODECS)
def test_the_value_or_a_refusal(cql: str) -> None:
    for array, meanings in CASES:
        wanted = expected(cql, Kind(cql), meanings)
        size = len(array)
        for same in (
            array,
            pa.concat_arrays([array, array]).slice(size, size),
            *(
                []
                if isinstance(array.type, pa.ExtensionType) or pa.types.is_nested(array.type)
                else [_dictionary(array)]
            ),
        ):
            found = written(CODECS[cql], same)
            if found == [None] * size and is_refused(array, cql, wanted):
                continue
            assert _bits_of(cql, found) == _bits_of(cql, wanted), (array.type, cql)


def _dictionary(array: pa.Array) -> pa.Array:
    """Null where the dictionary has null, too."""
    return pa.DictionaryArray.from_arrays(pa.array(range(len(array)), pa.int32()), array)


def _bits_of(cql: str, cells: list[bytes | None]) -> list[bytes | None]:
    """Floats made of other floats may have another NaN."""
    nan = {4: b"\0\0\0\4nan", 8: b"\0\0\0\10nan"}
    if cql not in ("float", "double"):
        return cells
    short, size = (">f", 4) if cql == "float" else (">d", 8)
    return [
        nan[size]
        if found and len(found) == 4 + size and struct.unpack(short, found[4:])[0] != struct.unpack(short, found[4:])[0]
        else found
        for found in cells
    ]


def _views(one: pa.Array) -> list[pa.Array]:
    short, long = pa.int32(), pa.int64()
    return [
        pa.ListViewArray.from_arrays(pa.array([0], short), pa.array([1], short), one),
        pa.LargeListViewArray.from_arrays(pa.array([0], long), pa.array([1], long), one),
    ]


@pytest.mark.parametrize("cql", CODECS)
def test_the_same_in_collections(cql: str) -> None:
    kind, codec = Kind(cql), CODECS[cql]
    for array, meanings in CASES:
        wanted = expected(cql, kind, meanings)
        values = [(array.slice(i, 1), value) for i, value in enumerate(wanted) if value != cell(None)]
        for one, value in values[:3]:
            lists = [pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), one)]
            if not pa.types.is_nested(array.type):
                lists += [pa.LargeListArray.from_arrays(pa.array([0, 1]), one), *_views(one)]
            for items in lists:
                (found,) = written(list_codec(codec), items)
                assert _lists_equal(cql, found, value), (array.type, cql)
                (found,) = written(set_codec(codec), items)
                assert _lists_equal(cql, found, value), (array.type, cql)
            (found,) = written(tuple_codec([codec]), pa.StructArray.from_arrays([one], ["x"]))
            assert _bits_of(cql, [None if found is None else found[4:]]) == _bits_of(cql, [value]), (array.type, cql)


def _lists_equal(cql: str, found: bytes | None, value: bytes | None) -> bool:
    if found is None or value is None:
        return found is value
    return found[4:8] == b"\0\0\0\1" and _bits_of(cql, [found[8:]]) == _bits_of(cql, [value])


def test_nulls_in_collections() -> None:
    """They are written as such: the server decides which collections may have them. A vector has none."""
    items = pa.array([[1, None]], pa.list_(pa.int32()))
    assert written(list_codec(INT), items) == [cell(struct.pack(">i", 2) + cell(struct.pack(">i", 1)) + cell(None))]
    assert written(vector_codec(INT, 2), items) == [None]
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array([1, None], pa.int32()))
    assert written(vector_codec(INT, 2), pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), coded)) == [None]
    pairs = pa.array([[("a", None)]], pa.map_(pa.string(), pa.int32()))
    assert written(map_codec(TEXT, INT), pairs) == [cell(struct.pack(">i", 1) + cell(b"a") + cell(None))]


def test_keys_of_maps_that_are_there_twice() -> None:
    """Arrow allows that; they are written as they stand, and servers keep the last one."""
    pairs = pa.array([[("a", 2), ("a", 1)]], pa.map_(pa.string(), pa.int32()))
    two, one = struct.pack(">i", 2), struct.pack(">i", 1)
    assert written(map_codec(TEXT, INT), pairs) == [cell(two + cell(b"a") + cell(two) + cell(b"a") + cell(one))]


def test_nulls_of_producers_that_give_them_a_buffer() -> None:
    """Columns of nothing but null have no buffers, but some producers give them one."""
    plan = IngestPlan([("c", INT)], nulls="null")
    for array in (pa.nulls(2), pa.nulls(5).slice(2, 2), pa.concat_arrays([pa.nulls(1), pa.nulls(1)])):
        schema, data = pa.record_batch([array], names=["c"]).__arrow_c_array__()
        rows = plan.reader(schema).rows(data)
        assert [rows.encode(i)[0] for i in range(2)] == [cell(None)] * 2
