"""Pages as columns: one NumPy array per column of a result (L2).

For :class:`~cassandra.protocol.NumpyProtocolHandler`. NumPy itself is imported with the first page.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cassandra._base.constants import TypeId
from cassandra._core.codec import Codec, RowsPage, decode_columns

_DTYPES = {
    TypeId.SMALLINT: "int16",
    TypeId.INT: "int32",
    TypeId.BIGINT: "int64",
    TypeId.COUNTER: "int64",
    TypeId.FLOAT: "float32",
    TypeId.DOUBLE: "float64",
}
_VECTOR_ELEMENTS = {TypeId.INT, TypeId.BIGINT, TypeId.FLOAT, TypeId.DOUBLE}


def numpy_columns(page: RowsPage, vector_arrays: bool = False) -> dict[str, Any]:
    """All rows of *page* as a dict of column name to array. ImportError without NumPy; DriverException when a value is
    none of its type. Of two columns with one name the last is there."""
    numpy = load_numpy()
    rows = len(page)
    arrays = [_allocate(numpy, codec, rows, vector_arrays) for codec in page.plan.codecs]
    decode_columns(page, arrays)
    made = [_masked(numpy, values, nulls) for values, nulls in arrays]
    return dict(zip(page.plan.names, made, strict=True))


def load_numpy() -> Any:
    """The module, which is an optional dependency."""
    try:
        return import_module("numpy")
    except ImportError as error:
        raise ImportError("NumpyProtocolHandler needs NumPy: pip install fastcql[numpy]") from error


def _allocate(numpy: Any, codec: Codec, rows: int, vector_arrays: bool) -> tuple[Any, Any]:
    """(values, nulls) of a column; nulls is None for objects."""
    dtype = _DTYPES.get(codec.kind)
    shape: tuple[int, ...] = (rows,)
    if dtype is None and vector_arrays and codec.dimensions and codec.children[0].kind in _VECTOR_ELEMENTS:
        dtype = _DTYPES[codec.children[0].kind]
        shape = (rows, codec.dimensions)
    if dtype is None:
        return numpy.empty(rows, object), None
    return numpy.zeros(shape, dtype), numpy.empty(rows, bool)


def _masked(numpy: Any, values: Any, nulls: Any) -> Any:
    """Numbers are masked arrays, with or without nulls. The rows of vectors share their marks: a mask of every element
    would be as large as many a page."""
    if nulls is None:
        return values
    if values.ndim == 2:
        nulls = numpy.broadcast_to(nulls[:, None], values.shape)
    return numpy.ma.MaskedArray(values, nulls)
