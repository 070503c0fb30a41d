"""What handlers of rows can use (as in :mod:`cassandra.protocol`)."""

from cassandra._wire.handlers import HAVE_CYTHON, HAVE_NUMPY

__all__ = ["HAVE_CYTHON", "HAVE_NUMPY"]
