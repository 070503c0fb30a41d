# distutils: language = c++
"""Native transport (L1): reactor, channels, frames, operations. The contract is in transport.pyi.

The engine is C++ without Python (cpp/transport; reactor.h, channel.h and operation.h describe the ownership). The parts
included here are its Python objects. Used by L3 (connections) and L5 (requests derive from Operation).
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals, PyErr_SetObject, PyErr_WriteUnraisable
from cpython.list cimport PyList_GET_SIZE
from cpython.long cimport PyLong_FromVoidPtr
from cpython.object cimport PyObject, PyTypeObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.limits cimport INT_MAX
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.atomic cimport atomic, memory_order_relaxed
from libcpp.memory cimport make_shared, shared_ptr, unique_ptr
from libcpp.string cimport string
from libcpp.utility cimport move, pair
from libcpp.vector cimport vector

from cassandra._core.codec cimport UNOWNED, TimestampClock, encode_by_template, encode_values, envelope_of, plain_rows
from cassandra._core.cpython.interpreter cimport (
    RUNNING_LOOP_KEY,
    is_task_wakeup,
    method_of,
    new_object,
    new_pair,
    replace_slot,
    running_loop_note,
    set_await,
    slot_offset,
    stop_with,
)
from cassandra._core.cpython.references cimport get_value, load_once, put_once
from cassandra._core.routing cimport (
    HostLoad,
    HostState,
    MetadataFields,
    ShardLoad,
    Target,
    PoolFields,
    PoolSetFields,
    ProfileFields,
    LastUse,
    PlanCache,
    SessionFields,
    last_plan_of,
    load_of,
    note_use,
    picks_of,
    pools_of,
    target_of,
)
from collections import deque as _deque

from cassandra._core.codec import LazyRows as _LazyRows

include "transport_parts/native.pxi"
include "transport_parts/frames.pxi"
include "transport_parts/operation.pxi"
include "transport_parts/observers.pxi"
include "transport_parts/asyncio.pxi"
include "transport_parts/green.pxi"
include "transport_parts/page_end.pxi"
include "transport_parts/request.pxi"
include "transport_parts/metrics.pxi"
include "transport_parts/speculation.pxi"
include "transport_parts/answer.pxi"
include "transport_parts/many.pxi"
include "transport_parts/batch.pxi"
include "transport_parts/plan.pxi"
include "transport_parts/cache.pxi"
include "transport_parts/limits.pxi"
include "transport_parts/channel.pxi"
include "transport_parts/filters.pxi"
include "transport_parts/writes.pxi"
include "transport_parts/reactor.pxi"
