# distutils: language = c++
# cython: language_level=3
"""Columns extension (L1): pages of rows into Arrow columns, exported by Arrow's C interfaces, and kernels over them;
and imported Arrow data as values of a prepared statement. Contract: ``columns.pyi``; states and ownership:
cpp/columns/batch.h, mask.h and groups.h, cpp/ingest/rows.h."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_Destructor, PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from cassandra._core.cpython.references cimport load_reference, store_reference

cdef extern from "base/threads.h" namespace "fastcql" nogil:
    cdef cppclass Busy:
        Busy()
        cbool begin()
        void end()

include "columns_parts/native.pxi"
include "columns_parts/arrow.pxi"
include "columns_parts/batch.pxi"
include "columns_parts/kernels.pxi"
include "columns_parts/masks.pxi"
include "columns_parts/rows_in.pxi"
