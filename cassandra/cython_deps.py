"""Optional packages available to protocol handlers (as in :mod:`cassandra.protocol`)."""

from cassandra._base.aliases import add_names
from cassandra._wire.handlers import HAVE_CYTHON, have_numpy

HAVE_NUMPY = have_numpy()  #: True if NumPy can be imported.

__all__ = ["HAVE_CYTHON", "HAVE_NUMPY"]

add_names(__name__, {"cassandra._compat.protocol": "make_recv_results_rows"})
