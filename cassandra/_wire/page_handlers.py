"""Protocol handlers that convert a page to a form other than a list of rows (L2).

Imported on first use of one of the names: most programs need neither them nor the extension for columns.
"""

from __future__ import annotations

from typing import Any, ClassVar

from cassandra._base.objects import public
from cassandra._wire.columns import numpy_columns
from cassandra._wire.handlers import ProtocolHandler
from cassandra._wire.messages.results import ResultMessage
from cassandra._wire.rows import lazy_rows


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

    vector_arrays: ClassVar[bool] = False

    @classmethod
    def decode_message(cls, *args: Any, **kwargs: Any) -> Any:
        message = super().decode_message(*args, **kwargs)
        if isinstance(message, ResultMessage) and message.page is not None:
            message.parsed_rows = numpy_columns(message.page, cls.vector_arrays)
            message.page = None
        return message
