"""Conversion of Arrow tables of results to data frames of pandas and Polars, and for DuckDB (L2).

Arrow has no type for a decimal or varint of arbitrary size: they are text in tables. Frames have numbers instead, and
converted values of the other types that the frame's library cannot import from Arrow, or not without loss. Fields,
also nested ones, are distinguished by their metadata (``cql.type``). The rules are those of the guide's page on
columns.

PyArrow, pandas and Polars are imported where they are needed.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from socket import AF_INET, AF_INET6, inet_ntop
from typing import Any
from uuid import UUID

from cassandra._base.constants import ProtocolVersion
from cassandra._base.temporal import Date, Time

from .types.scalars import UUIDType

Values = list[Any]

_MOST_DIGITS = 38  # of a decimal128
_MOST_TEXT = 640  # digits that int() accepts regardless of the configured limit
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_LAST_DAY = datetime.date.max.toordinal()
_TEXTS = ("decimal", "varint")


class Frames:
    """Makes data frames. *as_text*: those of the options ``decimals`` and ``varints`` that explicitly request text."""

    def __init__(self, as_text: Collection[str] = ()) -> None:
        self._pa: Any = import_module("pyarrow")
        self._as_text = frozenset(option.removesuffix("s") for option in as_text)
        self._has_numpy = find_spec("numpy") is not None
        self._for_duckdb = False

    # ---- frames of pandas

    def to_pandas(self, table: Any) -> Any:
        """Return a ``pandas.DataFrame`` of a ``pyarrow.Table``."""
        pandas = import_module("pandas")
        made: dict[int, Any] = {}
        for at, (field, column) in enumerate(zip(table.schema, table.columns, strict=True)):
            series = self._series(pandas, field, column)
            if series is not None:
                made[at] = series
        if not made:
            return table.to_pandas()
        rest = [at for at in range(table.num_columns) if at not in made]
        whole = pandas.DataFrame(made, index=pandas.RangeIndex(table.num_rows), copy=False)
        if rest:
            frame = table.select(rest).to_pandas()
            frame.columns = rest
            whole = pandas.concat([frame, whole], axis=1)[list(range(table.num_columns))]
        whole.columns = table.column_names
        return whole

    def _series(self, pandas: Any, field: Any, column: Any) -> Any:
        """Return a series for a column that PyArrow would not convert, or not without loss; None for other columns."""
        if self._pa.types.is_integer(field.type):
            # NumPy integers have no null, and a float does not represent all integers.
            types = _nullable(self._pa, pandas)
            return column.to_pandas(types_mapper=types.get) if column.null_count else None
        if not self._is_special(field) or (_cql(field) == "date" and self._are_dates(column)):
            return None
        values = [value for chunk in column.chunks for value in self._values(field, chunk)]
        if self._is_text(field, "varint") and _fit_in_64_bits(values):
            if None not in values:
                return pandas.Series(values, dtype="int64")
            return pandas.Series(values, dtype="Int64")
        return pandas.Series(_objects(values), dtype=object)

    def _are_dates(self, column: Any) -> bool:
        """True if all values are within the range of ``datetime.date``."""
        days = import_module("pyarrow.compute").min_max(column.cast(self._pa.int32()))
        first, last = days["min"].as_py(), days["max"].as_py()
        return first is None or 1 <= _FIRST_DAY + first <= _FIRST_DAY + last <= _LAST_DAY

    def _is_special(self, field: Any, nested: bool = False) -> bool:
        types, type_ = self._pa.types, field.type
        kind = _cql(field)
        if self._is_text(field, *_TEXTS) or kind in ("time", "date", "inet"):
            return True
        if isinstance(type_, self._pa.BaseExtensionType):  # UUIDs, which some versions of PyArrow convert to bytes
            return True
        if nested and (types.is_timestamp(type_) or types.is_interval(type_)):
            return True
        if types.is_struct(type_):
            return True  # a null would turn a field's integers into floats
        return any(self._is_special(child, True) for child in _children(types, type_))

    def _is_text(self, field: Any, *kinds: str) -> bool:
        kind = _cql(field)
        return kind in kinds and kind not in self._as_text and self._pa.types.is_string(field.type)

    def _values(self, field: Any, array: Any, nested: bool = False) -> Values:
        """Return the values of an array as Python objects, nested ones in PyArrow's containers for pandas."""
        types, type_ = self._pa.types, field.type
        if nested and not self._is_special(field, True):
            return self._plain_values(array)
        if types.is_list(type_):
            items = self._values(type_.value_field, array.values, True)
            return _each(array, array.offsets.to_pylist(), lambda a, b: _objects(items[a:b]))
        if types.is_fixed_size_list(type_):
            items = self._values(type_.value_field, array.values, True)
            return _each(array, _ends(array), lambda a, b: _objects(items[a:b]))
        if types.is_map(type_):
            keys = self._values(type_.key_field, array.keys, True)
            items = self._values(type_.item_field, array.items, True)
            return _each(array, array.offsets.to_pylist(), lambda a, b: list(zip(keys[a:b], items[a:b], strict=True)))
        if types.is_struct(type_):
            names = [child.name for child in type_]
            columns = [self._values(child, array.field(i), True) for i, child in enumerate(type_)]
            rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
            valid = array.is_valid().to_pylist()
            return [row if there else None for row, there in zip(rows, valid, strict=True)]
        return self._scalars(field, array)

    def _plain_values(self, array: Any) -> Values:
        """Return values as PyArrow converts them; its lists are arrays."""
        is_scalar = not next(_children(self._pa.types, array.type), None)
        values: Values = array.to_pylist() if is_scalar else self._pa.chunked_array([array]).to_pandas().tolist()
        return values

    def _list_of(self, array: Any) -> Values:
        """Return the values of an array without children. For text and bytes ``to_pylist`` takes fifty times as long as
        NumPy, which PyArrow does not require."""
        types, type_ = self._pa.types, array.type
        has_bytes = types.is_string(type_) or types.is_binary(type_) or types.is_fixed_size_binary(type_)
        if has_bytes and self._has_numpy:
            values: Values = array.to_numpy(zero_copy_only=False).tolist()
            return values
        values = array.to_pylist()
        return values

    def _scalars(self, field: Any, array: Any) -> Values:
        types, type_, pa = self._pa.types, field.type, self._pa
        kind = _cql(field)
        make: Callable[[Any], Any] | None = _SCALARS.get(kind)
        if kind in _TEXTS and not self._is_text(field, *_TEXTS):
            make = None
        if kind == "date":
            array = array.view(pa.int32())
        elif kind == "time":
            array = array.view(pa.int64())
        elif types.is_timestamp(type_):
            return _none_for_nat(pa.chunked_array([array]).to_pandas(), array)
        elif types.is_interval(type_):
            offset = import_module("pandas").DateOffset
            return [
                None if span is None else offset(months=span.months, days=span.days, nanoseconds=span.nanoseconds)
                for span in array.to_pylist()
            ]
        elif isinstance(type_, pa.BaseExtensionType):
            array, make = array.storage, _uuid
        values = self._list_of(array)
        return values if make is None else [None if value is None else make(value) for value in values]

    # ---- tables of DuckDB

    def for_duckdb(self, table: Any) -> Any:
        """Return *table* with types that DuckDB reads without loss. Columns with numbers beyond 38 digits remain
        text."""
        if not self.needs_conversion(table.schema):
            return table
        self._for_duckdb = True
        pairs = [
            self._convert_field(field, self._as_one_array(column))
            for field, column in zip(table.schema, table.columns, strict=True)
        ]
        return self._pa.Table.from_arrays(
            [array for _, array in pairs], schema=self._pa.schema([field for field, _ in pairs])
        )

    # ---- frames of Polars

    def for_polars(self, table: Any) -> tuple[Any, dict[str, Values]]:
        """Return *table* with types that Polars has, and the values of other columns as Python objects."""
        fields, columns = [], []
        objects: dict[str, Values] = {}
        for field, column in zip(table.schema, table.columns, strict=True):
            array = self._as_one_array(column)
            try:
                field, array = self._convert_field(field, array)
            except _DoesNotFit:
                objects[field.name] = [_to_lists(value) for value in self._values(field, array)]
                field, array = self._pa.field(field.name, self._pa.null()), self._pa.nulls(len(array))
            fields.append(field)
            columns.append(array)
        return self._pa.Table.from_arrays(columns, schema=self._pa.schema(fields)), objects

    def needs_conversion(self, schema: Any) -> bool:
        """True if a column of a ``pyarrow.Schema`` must be converted for Polars or DuckDB."""
        return any(self._is_foreign(field) for field in schema)

    def _is_foreign(self, field: Any) -> bool:
        types = self._pa.types
        if self._is_text(field, *_TEXTS) or types.is_interval(field.type) or _cql(field) == "inet":
            return True
        return any(self._is_foreign(child) for child in _children(types, field.type))

    def _as_one_array(self, column: Any) -> Any:
        """Return *column* as one array with offset 0."""
        chunks = column.chunks
        if len(chunks) == 1 and chunks[0].offset == 0:
            return chunks[0]
        return self._pa.concat_arrays([*chunks, self._pa.nulls(0, column.type)])

    def _convert_field(self, field: Any, array: Any) -> tuple[Any, Any]:
        pa, types, type_ = self._pa, self._pa.types, field.type
        if not self._is_foreign(field):
            return field, array
        if self._is_text(field, *_TEXTS):
            array = self._numbers(field, array)
        elif types.is_interval(type_):
            array = array if self._for_duckdb and _are_microseconds(array) else _spans(pa, array)
        elif _cql(field) == "inet":
            array = pa.array(self._scalars(field, array), pa.string())
        elif types.is_struct(type_):
            parts = [self._convert_field(child, array.field(i)) for i, child in enumerate(type_)]
            array = pa.StructArray.from_arrays(
                [part for _, part in parts], fields=[part for part, _ in parts], mask=array.is_null()
            )
        elif types.is_map(type_):
            key, keys = self._convert_field(type_.key_field, array.keys)
            item, items = self._convert_field(type_.item_field, array.items)
            entries = pa.StructArray.from_arrays([keys, items], fields=[key, item])
            array = _rebuilt(pa, array, pa.map_(key, item), 2, entries)
        else:
            child, items = self._convert_field(type_.value_field, array.values)
            if types.is_list(type_):
                array = _rebuilt(pa, array, pa.list_(child), 2, items)
            else:
                array = _rebuilt(pa, array, pa.list_(child, type_.list_size), 1, items)
        return pa.field(field.name, array.type, field.nullable, field.metadata), array

    def _numbers(self, field: Any, array: Any) -> Any:
        """Return varints as int64, decimals as decimal128 with the largest scale of the values. For others raise
        _DoesNotFit; for DuckDB return varints as decimals, or text."""
        pa = self._pa
        values = self._scalars(field, array)
        try:
            if _cql(field) == "varint":
                if not self._for_duckdb or _fit_in_64_bits(values):
                    return pa.array(values, pa.int64())
                values = [None if value is None else Decimal(value) for value in values]
            places = max((-value.as_tuple().exponent for value in values if value is not None), default=0)
            if places > _MOST_DIGITS:
                raise _DoesNotFit
            return pa.array(values, pa.decimal128(_MOST_DIGITS, max(0, places)))
        except (_DoesNotFit, pa.ArrowInvalid, OverflowError) as error:
            if self._for_duckdb:
                return array
            raise _DoesNotFit from error


class _DoesNotFit(Exception):
    """The library has no type for a number."""


# ---- types of fields


def _cql(field: Any) -> str:
    found = (field.metadata or {}).get(b"cql.type")
    return "" if found is None else found.decode()


def _children(types: Any, type_: Any) -> Iterator[Any]:
    if types.is_map(type_):
        yield from (type_.key_field, type_.item_field)
    elif types.is_struct(type_):
        yield from type_
    elif types.is_list(type_) or types.is_fixed_size_list(type_):
        yield type_.value_field


def _nullable(pyarrow: Any, pandas: Any) -> dict[Any, Any]:
    return {
        pyarrow.int8(): pandas.Int8Dtype(),
        pyarrow.int16(): pandas.Int16Dtype(),
        pyarrow.int32(): pandas.Int32Dtype(),
        pyarrow.int64(): pandas.Int64Dtype(),
    }


# ---- conversion of values


def _date(days: int) -> datetime.date | Date:
    ordinal = _FIRST_DAY + days
    return datetime.date.fromordinal(ordinal) if 1 <= ordinal <= _LAST_DAY else Date(days)


def _fit_in_64_bits(values: Values) -> bool:
    return all(value is None or -(2**63) <= value < 2**63 for value in values)


def _address(data: bytes) -> str:
    return inet_ntop(AF_INET if len(data) == 4 else AF_INET6, data)


def _integer(text: str) -> int:
    return int(text) if len(text) <= _MOST_TEXT else int(Decimal(text))  # Decimal has no limit of digits


def _uuid(data: bytes) -> UUID:
    found: UUID = UUIDType.deserialize(data, ProtocolVersion.MAX_SUPPORTED)
    return found


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "decimal": Decimal,
    "varint": _integer,
    "inet": _address,
    "date": _date,
    "time": Time,
}


def _none_for_nat(series: Any, array: Any) -> Values:
    return [value if there else None for value, there in zip(series, array.is_valid().to_pylist(), strict=True)]


def _each(array: Any, ends: Sequence[int], make: Callable[[int, int], Any]) -> Values:
    """Return for each value the result of *make*, called with the start and end of its items; None for null."""
    valid = array.is_valid().to_pylist()
    return [make(*span) if there else None for span, there in zip(pairwise(ends), valid, strict=True)]


def _ends(array: Any) -> list[int]:
    size = array.type.list_size
    return [i * size for i in range(array.offset, array.offset + len(array) + 1)]


def _objects(values: Values) -> Any:
    """Return an object array of one dimension, also if the values are sequences."""
    numpy = import_module("numpy")
    made = numpy.empty(len(values), object)
    for i, value in enumerate(values):
        made[i] = value
    return made


def _to_lists(value: Any) -> Any:
    """Return *value* with lists instead of arrays and Python numbers instead of NumPy numbers."""
    if isinstance(value, dict):
        return {name: _to_lists(item) for name, item in value.items()}
    if isinstance(value, list):  # the pairs of a map
        return [(_to_lists(key), _to_lists(item)) for key, item in value]
    if getattr(value, "ndim", None) == 1:
        return [_to_lists(item) for item in value]
    if getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u", "f", "b"):
        return value.item()
    return value


def _are_microseconds(array: Any) -> bool:
    """True if DuckDB's intervals, of microseconds, have all durations of *array* without loss."""
    return all(span is None or span.nanoseconds % 1000 == 0 for span in array.to_pylist())


def _spans(pyarrow: Any, array: Any) -> Any:
    """Return durations as structs of their three numbers."""
    names = {"months": pyarrow.int32(), "days": pyarrow.int32(), "nanoseconds": pyarrow.int64()}
    found = array.to_pylist()
    parts = [
        pyarrow.array([None if span is None else getattr(span, name) for span in found], type_)
        for name, type_ in names.items()
    ]
    return pyarrow.StructArray.from_arrays(parts, names=list(names), mask=array.is_null())


def _rebuilt(pyarrow: Any, array: Any, type_: Any, buffers: int, items: Any) -> Any:
    """Return *array* with other items and unchanged validity and offsets."""
    return pyarrow.Array.from_buffers(
        type_, len(array), array.buffers()[:buffers], array.null_count, array.offset, [items]
    )
