"""Parts of murmur3 for the public module ``cassandra.murmur3`` (L4). Tokens are computed by the native engine."""

from __future__ import annotations

import struct

from cassandra._base.objects import public

INT64_MAX = (1 << 63) - 1
INT64_MIN = -(1 << 63)
INT64_OVF_OFFSET = 1 << 63
INT64_OVF_DIV = 1 << 64

_MASK = INT64_OVF_DIV - 1


@public("cassandra.murmur3")
def truncate_int64(x: int) -> int:
    """Return *x* wrapped around to a signed 64-bit number."""
    return (x + INT64_OVF_OFFSET) % INT64_OVF_DIV - INT64_OVF_OFFSET


@public("cassandra.murmur3")
def rotl64(x: int, r: int) -> int:
    """Return the 64 bits of *x* rotated left by *r*."""
    bits = x & _MASK
    return (bits << r | bits >> (64 - r)) & _MASK


@public("cassandra.murmur3")
def fmix(k: int) -> int:
    """Return the final mix of a 64-bit half."""
    k ^= (k & _MASK) >> 33
    k = truncate_int64(k * 0xFF51AFD7ED558CCD)
    k ^= (k & _MASK) >> 33
    k = truncate_int64(k * 0xC4CEB9FE1A85EC53)
    return k ^ (k & _MASK) >> 33


@public("cassandra.murmur3")
def body_and_tail(data: bytes) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return the 64-bit words of the whole 16-byte blocks of *data*, the signed bytes of the rest, and the length."""
    whole = len(data) // 16 * 16
    return (
        struct.unpack(f"<{whole // 8}q", data[:whole]),
        struct.unpack(f"{len(data) - whole}b", data[whole:]),
        len(data),
    )
