"""Mappings of arrays as Arrow batches: PyArrow reads the values that NumPy holds."""

from __future__ import annotations

import array
import datetime
import gc
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cassandra._core.columns import batch_of as columns_of
from cassandra._wire.arrays import batch_of


def read(values: Any) -> pa.Array:
    schema, made = batch_of({"c": values})
    batch = pa.RecordBatch._import_from_c_capsule(schema, made)
    batch.validate(full=True)
    return batch.column(0)


NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers(kind: str) -> None:
    values = np.array([0, 1, 100, 7], kind)
    for same in (
        values,
        values.astype(np.dtype(kind).newbyteorder(">")),
        np.repeat(values, 2)[::2],
        values[::-1][::-1],
    ):
        found = read(same)
        assert found.type == pa.from_numpy_dtype(values.dtype) and found.to_pylist() == values.tolist()
    masked = read(np.ma.masked_array(values, [True, False, False, True]))
    assert masked.to_pylist() == [None, 1, 100, None]
    assert read(np.ma.masked_array(values)).to_pylist() == values.tolist()
    assert read(values[:0]).to_pylist() == []


@pytest.mark.parametrize("kind", NUMBERS)
def test_vectors(kind: str) -> None:
    values = np.arange(12).reshape(4, 3).astype(kind)
    for same in (values, np.asfortranarray(values), np.repeat(values, 2, axis=0)[::2]):
        found = read(same)
        assert found.type == pa.list_(pa.from_numpy_dtype(values.dtype), 3) and found.to_pylist() == values.tolist()


def test_numbers_are_not_copied() -> None:
    values = np.arange(1000.0)
    before = sys.getrefcount(values)
    found = read(values)
    assert found.buffers()[1].address == values.ctypes.data
    assert sys.getrefcount(values) > before
    del found
    gc.collect()
    assert sys.getrefcount(values) == before


def test_buffers_that_are_not_numpys() -> None:
    for code in "bhilqBHILQfd":
        found = read(array.array(code, [1, 2, 3]))
        assert found.to_pylist() == [1, 2, 3]
    assert read(memoryview(array.array("i", range(6)))[::2]).to_pylist() == [0, 2, 4]


def test_booleans() -> None:
    values = np.arange(20) % 3 == 0
    assert read(values).to_pylist() == values.tolist()
    assert read(np.ma.masked_array(values, ~values)).to_pylist() == [True if value else None for value in values]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "m", "h", "W", "25s", "D"])
def test_times(unit: str) -> None:
    moments = np.array(["2024-02-29", "NaT", "1969-12-25"], f"M8[{unit}]")
    found = read(moments)
    expected = moments.astype("M8[s]").tolist()
    assert found.cast(pa.timestamp("s")).to_pylist() == expected
    assert found.null_count == 1
    if unit in ("s", "ms", "us", "ns"):
        assert found.type == pa.timestamp(unit)
    assert (found.type == pa.date32()) == (unit == "D")
    spans = np.array([1, "NaT", -1], "m8[W]").astype(f"m8[{unit}]")
    assert read(spans).cast(pa.duration("s")).to_pylist() == spans.astype("m8[s]").tolist()
    assert read(np.ma.masked_array(moments, [True, False, False])).null_count == 2


def test_times_that_no_unit_of_arrows_holds() -> None:
    with pytest.raises(ValueError, match="column 'c': a time is outside the range of 64 bits of s"):
        read(np.array([2**61], "M8[W]"))
    with pytest.raises(ValueError, match="column 'c': a date is outside the range of 32 bits of days"):
        read(np.array([2**40], "M8[D]"))


@pytest.mark.parametrize(
    "values",
    [
        ["text", None, "", "grüße 😀"],
        ("a", "b"),
        np.array(["text", "", "grüße 😀"]),
        np.array(["text", None], object),
        np.array(["x" * 1000, ""], np.dtypes.StringDType()),
        [b"bytes", None, b""],
        np.array([b"bytes", b"\xff"]),
        [None, "x"] * 50,
    ],
)
def test_text_and_bytes(values: Any) -> None:
    found = read(values)
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    assert found.to_pylist() == listed
    assert found.type == (pa.binary() if any(isinstance(value, bytes) for value in listed) else pa.string())


def test_columns_of_other_types_are_converted_by_pyarrow() -> None:
    day = datetime.date(2024, 2, 29)
    schema, made = batch_of({"a": [Decimal("1.5"), None], "b": np.arange(2), "c": pa.chunked_array([[day], [None]])})
    batch = pa.RecordBatch._import_from_c_capsule(schema, made)
    assert batch.to_pydict() == {"b": [0, 1], "a": [Decimal("1.5"), None], "c": [day, None]}


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    batch_of({"a": np.arange(3), "b": ["x", "y", None], "c": np.ones((3, 2), "f4")})
    with pytest.raises(ImportError, match=r"column 'a': list needs PyArrow, which is not installed: pip install"):
        batch_of({"a": [Decimal(1)]})
    with pytest.raises(ImportError, match=r"column 'a': ndarray of complex128 needs PyArrow"):
        batch_of({"a": np.array([1j])})


@pytest.mark.parametrize(
    ("data", "error", "why"),
    [
        ({"a": np.arange(3), "b": ["x"]}, ValueError, "columns of different lengths: a 3, b 1"),
        ({"a": "text"}, TypeError, "column 'a': expected an array or a sequence, got str"),
        ({"a": b"bytes"}, TypeError, "column 'a': expected an array or a sequence, got bytes"),
        ({"a": 3}, TypeError, "column 'a': expected an array or a sequence, got int"),
        ({"a": ["\ud800"]}, ValueError, "column 'a': 'utf-8' codec can't encode"),
        ({"a": [object()]}, TypeError, "column 'a': cannot convert list"),
        ({"a": np.ones((2, 2, 2))}, TypeError, r"column 'a': cannot convert ndarray of float64"),
    ],
)
def test_values_that_are_no_columns_are_refused(data: dict[str, Any], error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        batch_of(data)


@pytest.mark.parametrize(
    ("format", "buffers", "length", "why"),
    [
        ("i", [None, b"123"], 1, "a contiguous buffer of 4 bytes is needed, got 3 bytes"),
        ("i", [b"", b"1234"], 1, "a contiguous buffer of 1 bytes is needed, got 0 bytes"),
        ("i", [None], 1, "format 'i' needs 2 buffers, got 1"),
        ("+s", [None], 1, "invalid format of a column in buffers: '\\+s'"),
        ("i", [None, b""], -1, "length must be from 0 to 2147483647, got -1"),
        ("u", [None, bytes(4) + b"\7\0\0\0", b"123"], 1, "do not end with its 3 bytes"),
        ("+w:2:f", [None, bytes(12)], 2, "a contiguous buffer of 16 bytes is needed, got 12 bytes"),
    ],
)
def test_buffers_that_are_too_small(format: str, buffers: list[Any], length: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        columns_of([("a", format, buffers)], length)


def test_no_columns() -> None:
    batch = pa.RecordBatch._import_from_c_capsule(*batch_of({}))
    assert batch.num_columns == 0 and batch.num_rows == 0


MULTIPLES = ["10ms", "25us", "3ns", "10s", "2D", "60m", "2W", "5h"]


def moment(unit: str, kind: str = "M") -> tuple[Any, list[Any]]:
    """Times of that unit, and the same in microseconds or nanoseconds."""
    values = np.array([1, 2, -7, np.iinfo("i8").min]).view(f"{kind}8[{unit}]")  # the last one is NaT
    return values, values.astype(f"{kind}8[ns]").view("i8")[:3].tolist()


def nanoseconds(found: pa.Array) -> list[Any]:
    kind = (
        pa.timestamp("ns") if pa.types.is_timestamp(found.type) or pa.types.is_date(found.type) else pa.duration("ns")
    )
    return found.cast(kind).cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", ["M", "m"])
@pytest.mark.parametrize("unit", MULTIPLES)
def test_times_of_several_units(unit: str, kind: str) -> None:
    values, expected = moment(unit, kind)
    swapped = values.astype(values.dtype.newbyteorder(">"))
    for same in (values, swapped, np.repeat(values, 2)[::2]):
        assert nanoseconds(read(same)) == [*expected, None]
    masked = np.ma.masked_array(values, [False, True, False, False])
    assert nanoseconds(read(masked)) == [expected[0], None, expected[2], None]


@pytest.mark.parametrize("kind", ["M", "m"])
@pytest.mark.parametrize("unit", ["10ms", "25us", "3ns", "10s"])
def test_times_of_several_units_among_objects(unit: str, kind: str) -> None:
    """Those that PyArrow reads, one by one and in collections."""
    values, expected = moment(unit, kind)
    one, two, three = values[:3]
    for several in ([one, None, two], np.array([one, None, two], object), pd.Series([one, None, two], dtype=object)):
        assert nanoseconds(read(several)) == [expected[0], None, expected[1]]
    hidden = np.ma.masked_array(np.array([one, two, three], object), [False, True, False])
    assert nanoseconds(read(hidden)) == [expected[0], None, expected[2]]
    for nested in ([[one, two], [three]], [(one, two), (three,)], [values[:2], values[2:3]]):
        found = read(nested)
        assert nanoseconds(found.flatten()) == expected
        assert found.to_pylist() == read([[one, two], [three]]).to_pylist()
    assert nanoseconds(read([{"at": one}, {"at": None}, {"at": three}]).field("at")) == [expected[0], None, expected[2]]


HIDDEN = np.ma.masked_array([1.5, 2.5], [False, True])


@pytest.mark.parametrize(
    "values",
    [
        [HIDDEN, HIDDEN],
        (HIDDEN,),
        [{"a": HIDDEN}],
        [[HIDDEN]],
        pd.Series([HIDDEN, None]),
        np.array([HIDDEN, None], object),
        [1.5, HIDDEN[1]],
        [[1.5, HIDDEN[1]]],
        [np.ma.masked_array(np.array([1, 2], "M8[ms]"), [True, False])],
        [np.ma.masked_array(["a", "b"], [True, False])],
    ],
    ids=lambda values: type(values).__name__,
)
def test_masked_elements_within_a_column(values: Any) -> None:
    """PyArrow takes the data under the masks of arrays that are values."""
    with pytest.raises(TypeError, match=r"column 'c': cannot convert .*: a masked element of NumPy is not a value"):
        read(values)


def test_arrays_within_a_column_whose_masks_hide_nothing() -> None:
    assert read([np.ma.masked_array([1.5, 2.5]), None]).to_pylist() == [[1.5, 2.5], None]
    objects = np.array([[1], [2, 3], None], object)
    assert read(np.ma.masked_array(objects, [True, False, False])).to_pylist() == [None, [2, 3], None]


def test_masked_times_may_be_anything() -> None:
    for kind in ("M8[D]", "M8[W]", "M8[10s]", "m8[2W]"):
        values = np.ma.masked_array(np.array([2**62, 1], "i8").view(kind), [True, False])
        assert read(values).to_pylist()[0] is None
        with pytest.raises(ValueError, match=r"a (time|date) is outside the range of (64 bits of s|32 bits of days)"):
            read(values.data)


def test_objects_are_left_as_they_are() -> None:
    values: list[Any] = [{"a": [1, None]}, {"a": []}, None]
    assert read(values).to_pylist() == values
    assert read(np.array([Decimal("1.5"), None], object)).to_pylist() == [Decimal("1.5"), None]


def test_an_array_of_no_dimension() -> None:
    with pytest.raises(TypeError, match="column 'c': expected an array or a sequence, got ndarray"):
        batch_of({"c": np.array(5)})
