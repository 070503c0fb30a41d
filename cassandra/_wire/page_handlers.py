"""Protocol handlers that make of a page what is no list of rows (L2).

Imported by who names one: a plain program needs neither them nor the extension for columns.
"""

from __future__ import annotations

from typing import Any, ClassVar

from cassandra._base.public import public
from cassandra._wire.columns import numpy_columns
from cassandra._wire.handlers import ProtocolHandler
from cassandra._wire.messages.results import ResultMessage
from cassandra._wire.rows import lazy_rows


@public("cassandra.protocol")
class LazyProtocolHandler(ProtocolHandler):
    """Row factories get an iterator that decodes rows as they are taken, in the thread that takes them.

    With ``tuple_factory`` it is what ``ResultSet.current_rows`` is; a value that cannot be decoded raises when its row
    is reached, and at every step after that. The iterator goes over the page once, and belongs to one thread.

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
    """Columns instead of rows: each page is one dict of column name to NumPy array.

    smallint, int, bigint, counter, float and double are masked arrays of the same numbers (null and empty values are
    masked), straight from the bytes of the answer; every other type is an array of the objects that rows would have,
    None for null. Iterating a ``ResultSet`` gives the dicts, one per page, also for an empty page; the driver's own
    row factories leave them as they are, any other gets ``(column_names, dict)``.

    Needs NumPy (``pip install fastcql[numpy]``): requests fail with ImportError without it. A subclass with
    ``vector_arrays = True`` has vectors of int, bigint, float and double as masked arrays of two dimensions, a row
    each, instead of lists; their masks are read-only.

    Example::

        session.client_protocol_handler = NumpyProtocolHandler
        for page in session.execute("SELECT sensor, celsius FROM readings"):
            print(page["celsius"].mean())
    """

    vector_arrays: ClassVar[bool] = False

    @classmethod
    def decode_message(cls, *args: Any, **kwargs: Any) -> Any:
        message = super().decode_message(*args, **kwargs)
        if isinstance(message, ResultMessage) and message.page is not None:
            message.parsed_rows = numpy_columns(message.page, cls.vector_arrays)
            message.page = None
        return message
