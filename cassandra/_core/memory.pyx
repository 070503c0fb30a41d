# distutils: language = c++
"""Memory extension (L1): the pool of blocks for frames and for users. Contract: ``memory.pyi``; states, ownership and
locks: cpp/memory/pool.h."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from cassandra._base.memory import MemoryPoolStats

include "memory_parts/native.pxi"
include "memory_parts/buffers.pxi"
include "memory_parts/pool.pxi"
