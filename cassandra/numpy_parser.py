"""A parser of rows into NumPy arrays, also an argument of :func:`cassandra.protocol.cython_protocol_handler`."""

from cassandra._compat.protocol import NumpyParser, make_array, make_arrays, make_native_byteorder

__all__ = ["NumpyParser", "make_array", "make_arrays", "make_native_byteorder"]
