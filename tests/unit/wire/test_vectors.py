"""Vectors from lists, tuples and buffers: the same bytes as element by element, and the same errors."""

from __future__ import annotations

import array
import math
import struct
from typing import Any

import numpy as np
import pytest

from cassandra.cqltypes import lookup_casstype

MARSHAL = "org.apache.cassandra.db.marshal"
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 768]
SPECIAL = [0.0, -0.0, 1.5, -1e-45, 3.4028234e38, -3.4028234e38, math.inf, -math.inf, 1e-300]


class Float(float):
    """A subclass, which is converted as any other number is."""


def vector(element: str, size: int) -> Any:
    return lookup_casstype(f"{MARSHAL}.VectorType({MARSHAL}.{element}, {size})")


def values(size: int) -> list[float]:
    return [SPECIAL[n % len(SPECIAL)] for n in range(size)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("element", "code"), [("FloatType", "f"), ("DoubleType", "d")])
@pytest.mark.parametrize("make", [list, tuple, iter, lambda found: [Float(value) for value in found]])
def test_sequences_of_floats(make: Any, element: str, code: str, size: int) -> None:
    wire = struct.pack(f">{size}{code}", *values(size))
    assert vector(element, size).serialize(make(values(size)), 4) == wire


@pytest.mark.parametrize("element", ["FloatType", "DoubleType"])
def test_sequences_of_several_kinds_of_numbers(element: str) -> None:
    code = "f" if element == "FloatType" else "d"
    mixed = [1.5, 2, np.float32(2.5), np.int8(3), True, Float(0.25)]
    wire = struct.pack(f">6{code}", 1.5, 2, 2.5, 3, 1, 0.25)
    for found in (mixed, tuple(mixed), mixed[::-1][::-1]):
        assert vector(element, 6).serialize(found, 4) == wire


def test_nan_of_a_sequence_stays_nan() -> None:
    (found,) = struct.unpack(">f", vector("FloatType", 1).serialize([math.nan], 4))
    assert math.isnan(found)


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize(
    ("wrong", "error"),
    [(1e39, OverflowError), (-1e39, OverflowError), (None, TypeError), ("1", TypeError), (1j, TypeError)],
)
def test_an_element_that_is_no_float(at: int, wrong: Any, error: type[Exception]) -> None:
    found: list[Any] = [1.0, 2.0, 3.0]
    found[at] = wrong
    for kind in (list, tuple):
        with pytest.raises(error):
            vector("FloatType", 3).serialize(kind(found), 4)


@pytest.mark.parametrize("size", [0, 2, 4])
def test_another_length(size: int) -> None:
    for found in ([1.0] * size, (1.0,) * size, np.ones(size, np.float32)):
        with pytest.raises(ValueError, match=f"observed sequence of length {size}"):
            vector("FloatType", 3).serialize(found, 4)


ARRAYS = {"FloatType": "f4", "DoubleType": "f8", "Int32Type": "i4", "LongType": "i8"}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("element", ARRAYS)
def test_arrays_of_the_same_bits(element: str, size: int) -> None:
    """Each bit pattern is a value, those of signalling NaNs as well."""
    kind = ARRAYS[element]
    wire = np.random.default_rng(size).bytes(size * int(kind[1]))
    of_wire = np.frombuffer(wire, f">{kind}")
    native = of_wire.byteswap().view(kind)
    for found in (of_wire, native, np.repeat(native, 2)[::2], np.concatenate([native[:1], native])[1:]):
        assert vector(element, size).serialize(found, 4) == wire
    code = {"f4": "f", "f8": "d", "i4": "i", "i8": "q"}[kind]
    assert vector(element, size).serialize(array.array(code, native.tobytes()), 4) == wire


@pytest.mark.parametrize("element", ARRAYS)
def test_arrays_with_strides(element: str) -> None:
    native = np.arange(40).astype(ARRAYS[element])
    for found in (native[::2], native[::-2], native[10:30], native.reshape(20, 2)[:, 1]):
        assert vector(element, 20).serialize(found, 4) == found.astype(f">{ARRAYS[element]}").tobytes()


@pytest.mark.parametrize("size", SIZES)
def test_there_and_back(size: int) -> None:
    for element, kind in ARRAYS.items():
        found = (np.arange(size) * 3 - size).astype(kind)
        wire = vector(element, size).serialize(found, 4)
        assert wire == found.astype(f">{kind}").tobytes()
        assert vector(element, size).deserialize(wire, 4) == found.tolist()
