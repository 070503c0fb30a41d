"""Values of Arrow arrays as rows have them: what columns are compared by."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any
from uuid import UUID

import pyarrow as pa

from cassandra._base.collections import OrderedMap
from cassandra._base.temporal import Date, Duration, Time
from cassandra._core.codec import Codec


def values_of(codec: Codec, array: pa.Array) -> list[Any]:
    """The values of *array*, which holds some of type *codec*, as the decoder of rows would have made them."""
    found = _all_of(codec, array)
    return [value if valid else None for value, valid in zip(found, array.is_valid().to_pylist(), strict=True)]


def _all_of(codec: Codec, array: pa.Array) -> list[Any]:
    """Of those that are null anything."""
    name = codec.name
    if name in ("list", "set"):
        return _slices(values_of(codec.children[0], array.values), array.offsets.to_pylist())
    if name == "map":
        keys, items = values_of(codec.children[0], array.keys), values_of(codec.children[1], array.items)
        return [OrderedMap(pairs) for pairs in _slices(list(zip(keys, items, strict=True)), array.offsets.to_pylist())]
    if name in ("tuple", "udt"):
        fields = [values_of(child, array.field(i)) for i, child in enumerate(codec.children)]
        return [tuple(field[i] for field in fields) for i in range(len(array))]
    if name == "vector":
        steps = range(0, (len(array) + 1) * codec.dimensions, codec.dimensions)
        return _slices(values_of(codec.children[0], array.values), list(steps))
    return [None if value is None else _scalar(codec, value) for value in _plain(name, array)]


def _slices(items: list[Any], offsets: list[int]) -> list[Any]:
    return [items[start:end] for start, end in pairwise(offsets)]


def _plain(name: str, array: pa.Array) -> list[Any]:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if name in ("timestamp", "time"):
        array = array.view(pa.int64())
    if name == "date":
        array = array.view(pa.int32())
    return list(array.to_pylist())


def _scalar(codec: Codec, value: Any) -> Any:
    name = codec.name
    if name == "timestamp":
        return codec.decode(value.to_bytes(8, "big", signed=True))
    if name == "inet":
        return codec.decode(value)
    if name in ("uuid", "timeuuid"):
        return UUID(bytes=value)
    if name == "duration":
        return Duration(*value)
    made = {"date": Date, "time": Time, "varint": int, "decimal": Decimal}.get(name)
    return value if made is None else made(value)
