"""Values of batches that were read from tables as Python compares them (L6)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

from cassandra._base.temporal import Date, Duration

from .kinds import Kind
from .tables import Table


def comparable(batch: Any, table: Table) -> dict[str, list[Any]]:
    """The columns of *batch*, which a scan of *table* gave, as lists of Python values."""
    import pyarrow.compute as pc

    found = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        convert = _converter(table.kinds[name])
        values = pc.cast(column, _plain_type(column.type)).to_pylist()
        found[name] = [None if value is None else convert(value) for value in values]
    return found


def _plain_type(type_: Any) -> Any:
    """*type_* with numbers where PyArrow would make objects that cannot have all values."""
    import pyarrow as pa

    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return type_.storage_type
    if types.is_timestamp(type_) or types.is_time64(type_):
        return pa.int64()
    if types.is_date32(type_):
        return pa.int32()
    if types.is_map(type_):
        return pa.map_(_plain_type(type_.key_type), _plain_type(type_.item_type))
    if types.is_fixed_size_list(type_):
        return pa.list_(_plain_type(type_.value_type), type_.list_size)
    if types.is_list(type_):
        return pa.list_(_plain_type(type_.value_type))
    if types.is_struct(type_):
        return pa.struct([pa.field(field.name, _plain_type(field.type)) for field in type_])
    return type_


def _converter(kind: Kind) -> Callable[[Any], Any]:
    name = kind.name
    if name in ("uuid", "timeuuid"):
        return lambda value: UUID(value) if isinstance(value, str) else UUID(bytes=value)
    if name == "inet":
        return lambda value: value if isinstance(value, str) else _address(value)
    simple: dict[str, Callable[[Any], Any]] = {
        "date": Date,
        "decimal": Decimal,
        "duration": lambda value: Duration(*value),
        "varint": int,
    }
    if name in simple:
        return simple[name]
    if not kind.parts:
        return lambda value: value
    inner = [_converter(part) for part in kind.parts]

    def each(values: Any) -> list[Any]:
        return [None if value is None else convert(value) for convert, value in zip(inner, values, strict=True)]

    if name in ("tuple", "udt"):
        return lambda value: tuple(each(value.values()))
    if name == "map":
        return lambda value: _Pairs(each(pair) for pair in value)
    convert = inner[0]
    return lambda value: [None if item is None else convert(item) for item in value]


class _Pairs(list[Any]):
    """A map of what may have no hash."""

    def items(self) -> list[Any]:
        return self


def _address(value: bytes) -> str:
    from ipaddress import ip_address

    return str(ip_address(value))
