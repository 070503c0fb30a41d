"""The name of decoding into NumPy arrays, for :func:`cassandra.protocol.cython_protocol_handler`."""

from cassandra._wire.handlers import NumpyParser

__all__ = ["NumpyParser"]
