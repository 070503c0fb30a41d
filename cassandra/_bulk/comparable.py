"""Comparable forms of the values of a batch: two values are equal if their bytes are (L6)."""

from __future__ import annotations

from typing import Any


def exact(batch: Any) -> Any:
    """Return *batch*, a record batch of PyArrow, with floats and moments as integers of the same bits. So 0.0 differs
    from -0.0, and a NaN is equal to a NaN with the same payload. Nothing is copied."""
    import pyarrow as pa

    columns = []
    for column in batch.columns:
        storage = column.storage if isinstance(column, pa.ExtensionArray) else column
        columns.append(_exact(storage))
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def comparable(batch: Any) -> dict[str, list[Any]]:
    """Return the columns of an :func:`exact` batch as lists of values that are equal if their bytes are."""
    return {name: column.to_pylist() for name, column in zip(batch.schema.names, batch.columns, strict=True)}


def _exact(array: Any) -> Any:
    bits = _bits(array.type)
    return array if bits == array.type else array.view(bits)


def _bits(type_: Any) -> Any:
    """Return *type_* with integers in place of floats and of types that have no exact Python objects."""
    import pyarrow as pa

    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return _bits(type_.storage_type)
    if types.is_float32(type_) or types.is_date32(type_):
        return pa.int32()
    if types.is_float64(type_) or types.is_timestamp(type_) or types.is_time64(type_):
        return pa.int64()
    if types.is_map(type_):
        return pa.map_(_bits(type_.key_type), _bits(type_.item_type))
    if types.is_fixed_size_list(type_):
        return pa.list_(_bits(type_.value_type), type_.list_size)
    if types.is_list(type_):
        return pa.list_(_bits(type_.value_type))
    if types.is_struct(type_):
        return pa.struct([pa.field(field.name, _bits(field.type)) for field in type_])
    return type_
