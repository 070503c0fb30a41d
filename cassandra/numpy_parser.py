"""A parser of rows into NumPy arrays; for :func:`cassandra.protocol.cython_protocol_handler` the name of that way."""

from cassandra._compat.parsing import NumpyParser, make_array, make_arrays, make_native_byteorder

__all__ = ["NumpyParser", "make_array", "make_arrays", "make_native_byteorder"]
