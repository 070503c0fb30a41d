"""Packing of numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra import marshal, type_codes
from cassandra._base.constants import TypeId

INTEGERS = [(f"{sign}int{bits}", bits, sign == "") for bits in (8, 16, 32, 64) for sign in ("", "u")]


@pytest.mark.parametrize(("name", "bits", "signed"), INTEGERS)
def test_integers(name: str, bits: int, signed: bool) -> None:
    pack, unpack = getattr(marshal, f"{name}_pack"), getattr(marshal, f"{name}_unpack")
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    for value in (low, 0, 1, high):
        assert pack(value) == value.to_bytes(bits // 8, "big", signed=signed) and unpack(pack(value)) == value


@pytest.mark.parametrize(
    ("name", "value", "hexed"),
    [("float", 1.5, "3fc00000"), ("double", -1.5, "bff8000000000000"), ("uint32_le", 1, "01000000")],
)
def test_other_numbers(name: str, value: Any, hexed: str) -> None:
    assert getattr(marshal, f"{name}_pack")(value).hex() == hexed
    assert getattr(marshal, f"{name}_unpack")(bytes.fromhex(hexed)) == value


def test_headers() -> None:
    assert marshal.v3_header_unpack(marshal.v3_header_pack(4, 0, 127, 8)) == (4, 0, 127, 8)


@pytest.mark.parametrize(
    ("value", "hexed"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "0080"), (-1, "ff"), (-128, "80"), (-129, "ff7f"), (256, "0100")],
)
def test_varints_are_minimal(value: int, hexed: str) -> None:
    assert marshal.varint_pack(value).hex() == hexed


@given(st.integers())
def test_varints(value: int) -> None:
    packed = marshal.varint_pack(value)
    assert marshal.varint_unpack(packed) == value
    assert len(packed) == 1 or not -(2 ** (len(packed) * 8 - 9)) <= value < 2 ** (len(packed) * 8 - 9)
    assert marshal.bit_length(value) == value.bit_length()


@given(st.integers(0, 2**64 - 1), st.binary())
def test_unsigned_vints(value: int, rest: bytes) -> None:
    packed = marshal.uvint_pack(value)
    assert marshal.uvint_unpack(packed + rest) == (value, len(packed))
    assert len(packed) == min(max(1, -(-value.bit_length() // 7)), 9)
    if len(packed) > 1:
        with pytest.raises(ValueError, match="cut off"):
            marshal.uvint_unpack(packed[:-1])


@pytest.mark.parametrize("value", [-1, 2**64])
def test_no_unsigned_vints(value: int) -> None:
    with pytest.raises(ValueError, match="out of the range"):
        marshal.uvint_pack(value)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_vints(values: list[int]) -> None:
    assert marshal.vints_unpack(marshal.vints_pack(values)) == tuple(values)
    assert [marshal.decode_zig_zag(marshal.encode_zig_zag(value)) for value in values] == values


def test_type_codes() -> None:
    codes = {getattr(type_codes, name) for name in type_codes.__all__}
    assert codes == {value for name, value in vars(TypeId).items() if name.isupper()}
    assert (type_codes.DateType, type_codes.UserType) == (11, 48)
