"""murmur3_token: tokens of real servers, every kind of buffer, and an independent implementation."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra._core.routing import murmur3_token

# token() of a real Apache Cassandra, and the values that other drivers' tests have
GOLDEN = {
    b"123": -7468325962851647638,
    b"\x00\xff\x10\xfa\x99" * 10: 5837342703291459765,
    b"\xfe" * 8: -8927430733708461935,
    b"\x10" * 8: 1446172840243228796,
    b"9223372036854775807": 7162290910810015547,
    b"test": -6017608668500074083,
    b"": 0,
}


@pytest.mark.parametrize(("key", "token"), GOLDEN.items())
def test_golden_tokens(key: bytes, token: int) -> None:
    assert murmur3_token(key) == token


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_any_contiguous_buffer(wrap: type) -> None:
    key = b"\x00\xff\x10\xfa\x99" * 10
    assert murmur3_token(wrap(key)) == GOLDEN[key]


def test_murmur3_token_refuses_text_and_strided_buffers() -> None:
    with pytest.raises(TypeError):
        murmur3_token("text")  # type: ignore[arg-type]
    with pytest.raises(BufferError):
        murmur3_token(memoryview(b"abcdef")[::2])


def reference(key: bytes) -> int:
    """Murmur3 x64 128 of smhasher's description, with Cassandra's signed tail bytes; arithmetic on plain integers."""
    mask = (1 << 64) - 1
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = 0
    whole = len(key) // 16 * 16
    for k1, k2 in struct.iter_unpack("<QQ", key[:whole]):
        h1 ^= _rotate(k1 * c1, 31) * c2
        h1 = (_rotate(h1, 27) + h2) * 5 + 0x52DCE729
        h2 ^= _rotate(k2 * c2, 33) * c1
        h2 = (_rotate(h2, 31) + h1) * 5 + 0x38495AB5
        h1, h2 = h1 & mask, h2 & mask
    tail = struct.unpack(f"{len(key) - whole}b", key[whole:])
    halves = []
    for part in (tail[:8], tail[8:]):
        half = 0
        for position, byte in enumerate(part):
            half ^= byte << 8 * position
        halves.append(half & mask)
    h2 ^= _rotate(halves[1] * c2, 33) * c1 & mask
    h1 ^= _rotate(halves[0] * c1, 31) * c2 & mask
    h1, h2 = h1 ^ len(key), h2 ^ len(key)
    h1 = h1 + h2 & mask
    h2 = h2 + h1 & mask
    token = _finish(h1) + _finish(h2) & mask
    signed = token - (1 << 64) if token >> 63 else token
    return (1 << 63) - 1 if signed == -(1 << 63) else signed


def _rotate(value: int, by: int) -> int:
    value &= (1 << 64) - 1
    return (value << by | value >> (64 - by)) & (1 << 64) - 1


def _finish(k: int) -> int:
    mask = (1 << 64) - 1
    k = (k ^ k >> 33) * 0xFF51AFD7ED558CCD & mask
    k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53 & mask
    return k ^ k >> 33


@given(st.binary(max_size=100))
def test_agrees_with_the_reference(key: bytes) -> None:
    assert murmur3_token(key) == reference(key)
