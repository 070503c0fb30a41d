# distutils: language = c++
"""Routing extension (L1): tokens of partition keys and the vnode ring. Contract: ``routing.pyi``."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.tuple cimport PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint8_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

include "routing_parts/tokens.pxi"
include "routing_parts/ring.pxi"
