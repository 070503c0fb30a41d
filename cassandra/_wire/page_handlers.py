"""Protocol handlers that convert a page to a form other than a list of rows (L2).

Rows decoded on demand, and one NumPy array per column. Numbers in arrays are the same as in Arrow columns, in memory of
the application; other values are objects as in rows. NumPy itself is imported with the first page.

Imported on first use of one of the names: most programs need neither them nor the extension for columns.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from cassandra._base.constants import TypeId
from cassandra._base.errors import DriverException
from cassandra._base.objects import public
from cassandra._core.codec import (
    Codec,
    ResultPlan,
    RowPlan,
    RowsPage,
    decode_objects,
)
from cassandra._core.columns import ColumnPlan, decode_arrays
from cassandra._wire.messages.responses import (
    ResultMessage,
)

from .handlers import ProtocolHandler
from .rows import lazy_rows


@public("cassandra.protocol")
class LazyProtocolHandler(ProtocolHandler):
    """Passes row factories an iterator that decodes rows on demand, in the consuming thread.

    With ``tuple_factory`` ``ResultSet.current_rows`` is that iterator. A value that cannot be decoded raises when its
    row is reached, and at every step after that. The iterator passes over the page once, and belongs to one thread.

    Example::

        session.client_protocol_handler = LazyProtocolHandler
        session.row_factory = tuple_factory
    """

    @classmethod
    def decode_message(cls, *args: Any, **kwargs: Any) -> Any:
        message = super().decode_message(*args, **kwargs)
        if isinstance(message, ResultMessage) and message.page is not None:
            message.parsed_rows = lazy_rows(message.page)
            message.page = None
        return message


@public("cassandra.protocol")
class NumpyProtocolHandler(ProtocolHandler):
    """Returns columns instead of rows: each page is one dict of column name to NumPy array.

    smallint, int, bigint, counter, float and double are masked arrays of the same numbers (null and empty values are
    masked), made directly from the bytes of the response; every other type is an array of the objects that rows would
    have, None for null. Iteration over a ``ResultSet`` returns the dicts, one per page, also for an empty page. The
    driver's own row factories leave the dicts unchanged, any other is called with ``(column_names, dict)``.

    Needs NumPy (``pip install fastcql[numpy]``): requests fail with ImportError without it. A subclass with
    ``vector_arrays = True`` returns vectors of int, bigint, float and double as masked arrays of two dimensions, one
    row per vector, instead of lists; their masks are read-only.

    Example::

        session.client_protocol_handler = NumpyProtocolHandler
        for page in session.execute("SELECT sensor, celsius FROM readings"):
            print(page["celsius"].mean())
    """

    vector_arrays: ClassVar[bool] = False  #: True returns vectors of numbers as arrays with two dimensions.

    @classmethod
    def decode_message(cls, *args: Any, **kwargs: Any) -> Any:
        message = super().decode_message(*args, **kwargs)
        if isinstance(message, ResultMessage) and message.page is not None:
            message.parsed_rows = numpy_columns(message.page, cls.vector_arrays)
            message.page = None
        return message


# ---- pages as NumPy arrays

_DTYPES = {
    TypeId.SMALLINT: "int16",
    TypeId.INT: "int32",
    TypeId.BIGINT: "int64",
    TypeId.COUNTER: "int64",
    TypeId.FLOAT: "float32",
    TypeId.DOUBLE: "float64",
}
_VECTOR_ELEMENTS = {TypeId.INT, TypeId.BIGINT, TypeId.FLOAT, TypeId.DOUBLE}


class _Plan(NamedTuple):
    """Types of the arrays of a result."""

    dtypes: list[str | None]  # None: objects
    columns: ColumnPlan


def numpy_columns(page: RowsPage, vector_arrays: bool = False) -> dict[str, Any]:
    """Return all rows of *page* as a dict of column name to array. Raise ImportError without NumPy, and DriverException
    if a value is not valid for its type. Of two columns with one name the dict has the last one."""
    numpy = load_numpy()
    rows = len(page)
    plan = _plan_of(page.plan, vector_arrays)
    made = []
    try:
        found = decode_arrays(plan.columns, page)
        for at, (dtype, codec, (memory, valid)) in enumerate(zip(plan.dtypes, page.plan.codecs, found, strict=True)):
            if dtype is None:
                array = numpy.empty(rows, object)
                decode_objects(page, at, memory, array)
            else:
                array = _mask_array(numpy, dtype, rows, codec.dimensions, memory, valid)
            made.append(array)
    except DriverException:
        page.decode(RowPlan(page.plan, "tuple"))  # raises the error for the first invalid value, as for rows
        raise
    return dict(zip(page.plan.names, made, strict=True))


def load_numpy() -> Any:
    """Return the module NumPy, an optional dependency. Raise ImportError without it."""
    try:
        return import_module("numpy")
    except ImportError as error:
        raise ImportError("NumpyProtocolHandler needs NumPy: pip install fastcql[numpy]") from error


def _plan_of(plan: ResultPlan, vector_arrays: bool) -> _Plan:
    known: dict[Any, Any] = plan.extra or {}
    key = ("numpy", vector_arrays)
    found: _Plan | None = known.get(key)
    if found is None:
        dtypes = [_dtype(codec, vector_arrays) for codec in plan.codecs]
        columns = [
            (name, None if dtype is None else codec)
            for name, codec, dtype in zip(plan.names, plan.codecs, dtypes, strict=True)
        ]
        found = _Plan(dtypes, ColumnPlan(columns, None))
        plan.extra = {**known, key: found}
    return found


def _dtype(codec: Codec, vector_arrays: bool) -> str | None:
    if vector_arrays and codec.dimensions and codec.children[0].kind in _VECTOR_ELEMENTS:
        return _DTYPES[codec.children[0].kind]
    return _DTYPES.get(codec.kind)


def _mask_array(numpy: Any, dtype: str, rows: int, dimensions: int, memory: Any, valid: Any) -> Any:
    """Return numbers as a masked array, with or without nulls. The mask of vectors is one value per row, broadcast to
    the elements: a mask of every element could be as large as the page."""
    shape = (rows, dimensions) if dimensions else (rows,)
    values = numpy.ndarray(shape, dtype, memory)
    if valid is None:
        nulls = numpy.zeros(rows, bool)
    else:
        bits = numpy.unpackbits(numpy.frombuffer(valid, "uint8"), count=rows, bitorder="little").view(bool)
        nulls = numpy.logical_not(bits, out=bits)
    if dimensions:
        nulls = numpy.broadcast_to(nulls[:, None], shape)
    return numpy.ma.MaskedArray(values, nulls)
