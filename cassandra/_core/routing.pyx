# distutils: language = c++
"""Routing extension (L1): tokens of partition keys, the vnode ring, tablets, route plans. Contract: ``routing.pyi``."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport INT64_MAX, int8_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp cimport bool as cbool
from libcpp.atomic cimport atomic, memory_order_acq_rel, memory_order_acquire, memory_order_relaxed
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from cassandra._core.cpython.interpreter cimport set_class_name
from cassandra._core.cpython.references cimport (
    EpochReader,
    borrow_reference,
    exchange_reference,
    get_item,
    load_once,
    load_reference,
    put_once,
    refers_to,
    store_reference,
)

include "routing_parts/ring.pxi"
include "routing_parts/tablets.pxi"
include "routing_parts/route.pxi"
include "routing_parts/fields.pxi"
