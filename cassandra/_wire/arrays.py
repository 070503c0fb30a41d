"""Conversion of columns of arrays to an Arrow batch (L2): NumPy and other buffers of numbers without a copy, text and
bytes with a copy; PyArrow, if installed, converts other columns.

NumPy is not imported here: a program with NumPy arrays has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from cassandra._base.numbers import is_masked
from cassandra._core.columns import batch_of as _batch_of

Batch = tuple[Any, Any]  # capsules of a schema and an array
Encode = Callable[[str, Sequence[Any]], "Column | None"]

_NUMBERS = {
    "b1": "c", "h2": "s", "i4": "i", "l4": "i", "l8": "l", "q8": "l", "n8": "l",
    "B1": "C", "H2": "S", "I4": "I", "L4": "I", "L8": "L", "Q8": "L", "N8": "L",
    "e2": "e", "f4": "f", "d8": "g",
}  # fmt: skip
_UNITS = ("s", "ms", "us", "ns")
_ARROW_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}
_MOST_TEXT = 2**31 - 1


class Column(NamedTuple):
    """A column in buffers, of a format of Arrow's C data interface."""

    length: int
    format: str
    buffers: Sequence[Any]  # validity bits and values


def batch_of(data: Mapping[str, Any], encode: Encode | None = None) -> Batch:
    """Return a batch of the columns of *data*, by name and all of one length: arrays of one dimension, or of two for
    vectors, and sequences. *encode* makes columns of Python objects; without it, or if it returns None, text and bytes
    are copied, and PyArrow converts others. Raise ValueError for columns of different lengths, and TypeError or
    ImportError for columns that cannot be converted."""
    columns = {name: _column_of(name, values, encode) for name, values in data.items()}
    lengths = {name: len(data[name]) if column is None else column.length for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns of different lengths: {', '.join(f'{name} {n}' for name, n in lengths.items())}")
    known = [(name, column.format, column.buffers) for name, column in columns.items() if column is not None]
    batch = _batch_of(known, next(iter(lengths.values()), 0))
    others = [name for name, column in columns.items() if column is None]
    return _add_converted(batch, {name: data[name] for name in others}) if others else batch


def _add_converted(batch: Batch, others: Mapping[str, Any]) -> Batch:
    """Return *batch* with *others* added, converted by PyArrow."""
    try:
        import pyarrow
    except ImportError:
        name, values = next(iter(others.items()))
        raise ImportError(
            f"column {name!r}: {_type_name(values)} needs PyArrow, which is not installed: pip install 'fastcql[arrow]'"
        ) from None
    found = pyarrow.RecordBatch._import_from_c_capsule(*batch)
    numpy = sys.modules.get("numpy")
    for name, values in others.items():
        try:
            column = pyarrow.array(values if numpy is None else _in_single_units(numpy, values))
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            raise TypeError(f"column {name!r}: cannot convert {_type_name(values)}: {error}") from error
        if isinstance(column, pyarrow.ChunkedArray):
            column = column.combine_chunks()
        found = pyarrow.RecordBatch.from_arrays([*found.columns, column], [*found.schema.names, name])
    capsules: Batch = found.__arrow_c_array__()
    return capsules


def _type_name(values: Any) -> str:
    dtype = getattr(values, "dtype", None)
    return type(values).__name__ if dtype is None else f"{type(values).__name__} of {dtype}"


def _in_single_units(numpy: Any, values: Any, whole: bool = True) -> Any:
    """Return *values* with times in multiples of a unit, such as ten milliseconds, converted to the unit itself.
    Raise TypeError for masked elements, unless *values* is the *whole* column. PyArrow ignores the multiple, and the
    masks of arrays within a column."""
    if isinstance(values, numpy.ndarray | numpy.generic):
        if not whole and isinstance(values, numpy.ma.MaskedArray) and is_masked(values):
            raise TypeError("a masked element of NumPy is not a value")
        if values.dtype.kind in "mM":
            unit, count = numpy.datetime_data(values.dtype)
            return values if count == 1 else _in_units(numpy, values, unit)
        if values.dtype.kind != "O":
            return values
        if isinstance(values, numpy.ma.MaskedArray):
            mask = numpy.ma.getmaskarray(values)
            values = [None if gone else item for item, gone in zip(values.data, mask, strict=True)]
    elif getattr(getattr(values, "dtype", None), "kind", "") == "O" and hasattr(values, "to_numpy"):  # of pandas
        objects = values.to_numpy()
        found = _in_single_units(numpy, objects)
        return values if found is objects else found
    if isinstance(values, dict):
        items = {key: _in_single_units(numpy, item, False) for key, item in values.items()}
        return items if any(items[key] is not item for key, item in values.items()) else values
    if isinstance(values, list | tuple | set | frozenset | numpy.ndarray):
        found = [_in_single_units(numpy, item, False) for item in values]
        return found if any(new is not old for new, old in zip(found, values, strict=True)) else values
    return values


def _in_units(numpy: Any, values: Any, unit: str) -> Any:
    """Return times in *unit*. Raise ValueError for a time outside 64 bits of it."""
    try:
        converted = values.astype(f"{values.dtype.kind}8[{unit}]")
        fits = numpy.all(numpy.isnat(values) | (converted.astype(values.dtype) == values))
    except OverflowError:  # raised by NumPy 2.5 and newer
        fits = False
    if not fits:
        raise ValueError(f"a time is outside the range of 64 bits of {unit}")
    return converted


def _column_of(name: str, values: Any, encode: Encode | None) -> Column | None:
    if isinstance(values, (str, bytes, bytearray)) or not hasattr(values, "__len__") or _is_single(values):
        raise TypeError(f"column {name!r}: expected an array or a sequence, got {type(values).__name__}")
    objects = None if encode is None else objects_in(values)
    encoded = encode(name, objects) if objects is not None and encode is not None else None
    if encoded is not None:
        return encoded
    try:
        return _column(values)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from error


def objects_in(values: Any) -> Sequence[Any] | None:
    """Return the items of a column of Python objects, None where one is masked, or missing for pandas; None for arrays
    of other values."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind == "O" and hasattr(values, "isna") and str(values.dtype) == "object":  # of pandas
        return [None if gone else item for item, gone in zip(values, values.isna(), strict=True)]
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(values, numpy.ndarray):
        if kind != "O" or values.ndim != 1:
            return None
        if isinstance(values, numpy.ma.MaskedArray):
            mask = numpy.ma.getmaskarray(values)
            return [None if gone else item for item, gone in zip(values.data, mask, strict=True)]
        items: list[Any] = values.tolist()
        return items
    if isinstance(values, list | tuple):
        return values
    if not isinstance(values, Sequence) or hasattr(values, "__arrow_c_stream__"):
        return None
    try:
        memoryview(values)  # type: ignore[arg-type]
    except TypeError:
        return values
    return None


def _is_single(values: Any) -> bool:
    """True for an array without dimensions, which has no length."""
    return getattr(values, "shape", None) == ()


def _column(values: Any) -> Column | None:
    """Convert *values*; None if PyArrow has to."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(values, numpy.ndarray):
        return _of_numpy(numpy, values)
    try:
        view = memoryview(values)
    except TypeError:
        return of_objects(values) if isinstance(values, Sequence) else None
    format = _NUMBERS.get(f"{view.format.lstrip('@=')}{view.itemsize}")
    if format is None or view.ndim != 1:
        return None
    return Column(len(view), format, (None, view if view.c_contiguous else view.tobytes()))


def _of_numpy(numpy: Any, values: Any) -> Column | None:
    mask = None
    if isinstance(values, numpy.ma.MaskedArray):
        mask, values = values.mask if values.mask is not numpy.ma.nomask else None, values.data
    kind = values.dtype.kind
    if kind in "OUT" or kind == "S":
        texts = values.tolist()
        return of_objects(
            texts if mask is None else [None if gone else text for text, gone in zip(texts, mask, strict=True)]
        )
    if values.ndim == 2 and kind in "iuf" and mask is None and values.shape[1] > 0:
        return _of_vectors(numpy, values)
    if values.ndim != 1:
        return None
    if kind in "mM":
        return _of_times(numpy, values, mask)
    if kind == "b":
        return Column(len(values), "b", (_bits(numpy, mask), numpy.packbits(values, bitorder="little")))
    values = numpy.ascontiguousarray(values, values.dtype.newbyteorder("="))
    format = _NUMBERS.get(f"{values.dtype.char}{values.dtype.itemsize}")
    return None if format is None else Column(len(values), format, (_bits(numpy, mask), values))


def _of_vectors(numpy: Any, values: Any) -> Column | None:
    values = numpy.ascontiguousarray(values, values.dtype.newbyteorder("="))
    format = _NUMBERS.get(f"{values.dtype.char}{values.dtype.itemsize}")
    length, dimensions = values.shape
    return None if format is None else Column(length, f"+w:{dimensions}:{format}", (None, values))


def _of_times(numpy: Any, values: Any, mask: Any) -> Column | None:
    """Convert points in time and time spans, where NaT is null; days are dates."""
    unit, count = numpy.datetime_data(values.dtype)
    gone = numpy.isnat(values)
    mask = gone if mask is None else mask | gone
    kind = values.dtype.kind
    if kind == "M" and unit == "D" and count == 1:
        days = numpy.where(mask, 0, values.astype("M8[D]").view("i8"))
        if len(days) and (days.min() < -(2**31) or days.max() >= 2**31):
            raise ValueError("a date is outside the range of 32 bits of days")
        return Column(len(values), "tdD", (_bits(numpy, mask), days.astype("i4")))
    if unit not in _UNITS or count != 1:
        if unit not in (*_UNITS, "h", "m", "D", "W"):
            return None
        unit = unit if unit in _UNITS else "s"
        values = _in_units(numpy, numpy.where(mask, numpy.zeros(1, values.dtype), values), unit)
    converted = numpy.ascontiguousarray(values, f"{kind}8[{unit}]")
    format = f"ts{_ARROW_UNITS[unit]}:" if kind == "M" else f"tD{_ARROW_UNITS[unit]}"
    return Column(len(values), format, (_bits(numpy, mask), converted.view("i8")))


def _bits(numpy: Any, mask: Any) -> Any:
    """Return the validity bits for *mask*, which marks nulls; None without nulls."""
    return None if mask is None or not mask.any() else numpy.packbits(~mask, bitorder="little")


def of_objects(values: Sequence[Any]) -> Column | None:
    """Convert a sequence of text or bytes, and None; None for other values."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {str}:
        parts = ["" if value is None else value for value in values]
        return _of_parts(values, "u", [part.encode() for part in parts])
    if kinds == {bytes}:
        return _of_parts(values, "z", [value or b"" for value in values])
    return None


def _of_parts(values: Sequence[Any], format: str, parts: Sequence[bytes]) -> Column | None:
    from array import array

    ends = array("q", accumulate(map(len, parts), initial=0))
    if ends[-1] > _MOST_TEXT:
        return None
    present = None
    if None in values:
        present = pack_bits(value is not None for value in values)
    return Column(len(values), format, (present, array("i", ends), b"".join(parts)))


def pack_bits(flags: Iterable[bool]) -> bytes:
    """Return *flags* as bits, the first one lowest."""
    text = "".join("1" if flag else "0" for flag in flags)
    return int(text[::-1], 2).to_bytes((len(text) + 7) // 8, "little")
