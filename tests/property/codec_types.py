"""Hypothesis strategies: random CQL types, and values of them."""

from __future__ import annotations

import datetime
import ipaddress
import math
import socket
import zlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from cassandra._base.collections import OrderedMap
from cassandra._base.temporal import Date, Duration, Time
from cassandra._core.codec import (
    Codec,
    custom_codec,
    list_codec,
    map_codec,
    scalar,
    set_codec,
    tuple_codec,
    udt_codec,
    vector_codec,
)

Values = st.SearchStrategy[Any]
Typed = tuple[Codec, Values]  # a type and a strategy for its values


def _integers(bits: int) -> Values:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _milliseconds(value: datetime.datetime) -> datetime.datetime:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


def _durations() -> Values:
    positive = st.builds(Duration, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))
    return positive | positive.map(lambda d: Duration(-d.months, -d.days, -d.nanoseconds))


_texts = st.text(st.characters(exclude_categories=["Cs"]))
_decimals = st.builds(
    lambda unscaled, scale: Decimal(unscaled).scaleb(-scale),
    st.integers(-(10**27), 10**27),
    st.integers(-5000, 5000),
)

# Types whose values are equal only when their bytes are: fit for sets and map keys.
EXACT: list[Typed] = [
    (scalar(0x01), st.text(st.characters(max_codepoint=127))),
    (scalar(0x02), _integers(64)),
    (scalar(0x03), st.binary()),
    (scalar(0x04), st.booleans()),
    (scalar(0x09), _integers(32)),
    (scalar(0x0B), st.datetimes().map(_milliseconds)),
    (scalar(0x0C), st.uuids()),
    (scalar(0x0D), _texts),
    (scalar(0x0E), st.integers()),
    (scalar(0x0F), st.uuids(version=1)),
    (scalar(0x10), st.ip_addresses().map(lambda ip: str(ip) if ip.version == 4 else _inet6(ip))),
    (scalar(0x11), _integers(32).map(Date)),
    (scalar(0x12), st.integers(0, 86400 * 10**9 - 1).map(Time)),
    (scalar(0x13), _integers(16)),
    (scalar(0x14), _integers(8)),
]
OTHERS: list[Typed] = [
    (scalar(0x05), _integers(64)),
    (scalar(0x06), _decimals),
    (scalar(0x07), st.floats()),
    (scalar(0x08), st.floats(width=32)),
    (scalar(0x0B), _integers(64).filter(lambda ms: not -62135596800000 <= ms <= 253402300799999)),
    (scalar(0x15), _durations()),
    (custom_codec("com.example.Opaque"), st.binary()),
]


def _inet6(address: ipaddress.IPv6Address) -> str:
    """As inet_ntop spells it, which differs for IPv4 in IPv6."""
    return socket.inet_ntop(socket.AF_INET6, address.packed)


def _optional(values: Values) -> Values:
    return st.none() | values


def _tuple(children: list[Typed]) -> Typed:
    values = st.tuples(*(_optional(values) for _, values in children))
    return tuple_codec([codec for codec, _ in children]), values


def _udt(children: list[Typed]) -> Typed:
    names = [f"field_{i}" for i in range(len(children))]
    spelling = ", ".join(codec.cql() for codec, _ in children)
    codec = udt_codec("ks", f"type_{zlib.crc32(spelling.encode())}", names, [codec for codec, _ in children])
    return codec, st.tuples(*(_optional(values) for _, values in children))


def _vector(child: Typed, dimensions: int) -> Typed:
    codec, values = child
    return vector_codec(codec, dimensions), st.lists(values, min_size=dimensions, max_size=dimensions)


def _key(codec: Codec) -> Callable[[Any], bytes]:
    return lambda value: codec.encode(value)


def _set(child: Typed) -> Typed:
    codec, values = child
    return set_codec(codec), st.lists(values, max_size=5, unique_by=_key(codec))


def _map(key: Typed, value: Typed) -> Typed:
    pairs = st.lists(st.tuples(key[1], _optional(value[1])), max_size=5, unique_by=lambda pair: key[0].encode(pair[0]))
    return map_codec(key[0], value[0]), pairs.map(OrderedMap)


def _list(child: Typed) -> Typed:
    return list_codec(child[0]), st.lists(_optional(child[1]), max_size=5)


def _exact_collections(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    """Collections of exact types are exact, too, as long as they keep their order."""
    return (
        inner.map(lambda child: (list_codec(child[0]), st.lists(child[1], max_size=4)))
        | st.lists(inner, min_size=1, max_size=3).map(_tuple)
        | st.builds(_vector, inner, st.integers(1, 4))
    )


exact_types = st.recursive(st.sampled_from(EXACT), _exact_collections, max_leaves=4)


def _collections(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    return (
        inner.map(_list)
        | exact_types.map(_set)
        | st.builds(_map, exact_types, inner)
        | st.lists(inner, min_size=1, max_size=4).map(_tuple)
        | st.lists(inner, min_size=1, max_size=4).map(_udt)
        | st.builds(_vector, inner, st.integers(1, 5))
    )


types = st.recursive(st.sampled_from(EXACT + OTHERS), _collections, max_leaves=8)


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[Codec, Any]:
    """A type and a value of it."""
    codec, values = draw(types)
    return codec, draw(values)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Codec], list[tuple[Any, ...]]]:
    """Column types and rows."""
    columns = draw(st.lists(types, min_size=1, max_size=5))
    rows = st.lists(st.tuples(*(_optional(values) for _, values in columns)), max_size=6)
    return [codec for codec, _ in columns], draw(rows)


def plain(codec: Codec, value: Any) -> Any:
    """A form in which two values are equal if they are the same to a server: NaN to itself, -0.0 not to 0.0, a
    decimal to one of its scale, sets and maps in any order."""
    if value is None:
        return None
    if codec.name in ("list", "vector"):
        return [plain(codec.children[0], item) for item in value]
    if codec.name == "set":
        return sorted((plain(codec.children[0], item) for item in value), key=repr)
    if codec.name == "map":
        key, item = codec.children
        return sorted(((plain(key, k), plain(item, v)) for k, v in value.items()), key=repr)
    if codec.name in ("tuple", "udt"):
        return [plain(child, item) for child, item in zip(codec.children, value, strict=True)]
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1, value))
    return value.as_tuple() if isinstance(value, Decimal) else value
