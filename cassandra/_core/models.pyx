# distutils: language = c++
# cython: language_level=3, boundscheck=True, wraparound=True, cdivision=True
"""Native half of the object mapper (L1): instances, and the engine from a model to its requests and back.

The contract is ``models.pyi``. Values of the usual classes are checked, compared and bound here; for all others the
engine calls the methods of their columns. ``_mapper`` composes the text of each statement once. It calls ``codec`` and ``transport`` as C functions. Objects that are computed once are
immutable; the last one that was used is replaced by an atomic step (cpython/references.h).
"""

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t
from libcpp.atomic cimport atomic
from libcpp.vector cimport vector

from cassandra._core.routing cimport PlanCache, SessionFields, last_plan_of
from cassandra._core.transport cimport outcome_of, page_of, request_of, rows_of, set_row_factory

include "models_parts/instances.pxi"
include "models_parts/engine.pxi"
include "models_parts/writes.pxi"
include "models_parts/plans.pxi"
