# C declarations for the parts below: the Python C API with bare pointers, where Cython's object handling would cost a
# reference count or a type check per value, and our Python-free C++ headers.

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_SIMPLE, PyBUF_STRIDES, PyBuffer_FillInfo, PyBuffer_Release, PyObject_CheckBuffer
from cpython.buffer cimport PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.datetime cimport PyDate_Check, PyDateTime_Check, PyDateTime_CheckExact, PyTime_Check, import_datetime
from cpython.datetime cimport PyDateTime_DATE_GET_HOUR, PyDateTime_DATE_GET_MICROSECOND, PyDateTime_DATE_GET_MINUTE
from cpython.datetime cimport PyDateTime_DATE_GET_SECOND, PyDateTime_GET_DAY, PyDateTime_GET_MONTH
from cpython.datetime cimport PyDateTime_GET_YEAR, PyDateTime_TIME_GET_HOUR, PyDateTime_TIME_GET_MICROSECOND
from cpython.datetime cimport PyDateTime_TIME_GET_MINUTE, PyDateTime_TIME_GET_SECOND
from cpython.datetime cimport PyDateTime_DELTA_GET_DAYS, PyDateTime_DELTA_GET_MICROSECONDS
from cpython.datetime cimport PyDateTime_DELTA_GET_SECONDS
from cpython.object cimport PyObject, PyTypeObject
from libc.math cimport isinf
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset
from libcpp cimport bool as cbool
from libcpp.atomic cimport atomic, memory_order_relaxed

from cassandra._core.cpython.references cimport (
    find_in_pairs, get_value, load_once, load_reference, put_once, refers_to, store_reference,
)
from cassandra._core.cpython.interpreter cimport (
    add_value,
    attribute_values,
    get_slot,
    is_bare_class,
    is_native_function,
    is_of_heap_type,
    is_plain_tuple_class,
    is_slotted_class,
    is_subclass,
    long_from_bytes,
    long_to_16_bytes,
    native_function,
    new_instance,
    new_object,
    new_ordered_dict,
    new_plain,
    new_row,
    owner_of_bytes,
    set_in_ordered_dict,
    set_row_access,
    set_slot,
    slot_offset,
    tuple_item,
    tuple_items,
    inline_value_index,
    inline_values_count,
    inline_values_capacity,
)

cdef extern from "base/threads.h" namespace "fastcql" nogil:
    const bint FREE_THREADED "fastcql::kFreeThreaded"

cdef extern from "base/bytes.h" namespace "fastcql" nogil:
    uint16_t load16(const uint8_t* p)
    uint32_t load32(const uint8_t* p)
    int32_t load_i32(const uint8_t* p)
    int64_t load_i64(const uint8_t* p)
    float load_float(const uint8_t* p)
    double load_double(const uint8_t* p)
    cdef cppclass ByteBuffer:
        ByteBuffer()
        size_t size()
        uint8_t* data()
        cbool failed()
        void truncate(size_t size)
        uint8_t* extend(size_t n)
        void put8(uint8_t v)
        void put16(uint16_t v)
        void put32(uint32_t v)
        void put64(uint64_t v)
        void put_float(float v)
        void put_double(double v)
        void put(const void* data, size_t n)
        void patch8(size_t at, uint8_t v)
        void patch16(size_t at, uint16_t v)
        void patch32(size_t at, uint32_t v)

cdef extern from "base/bytes.h" namespace "fastcql" nogil:
    size_t read_unsigned_vint(const uint8_t* p, const uint8_t* end, uint64_t* value)
    void put_unsigned_vint(ByteBuffer& out, uint64_t value)
    int64_t zigzag_decode(uint64_t n)
    uint64_t zigzag_encode(int64_t n)

cdef extern from "base/murmur3.h" namespace "fastcql" nogil:
    int64_t murmur3_token(const uint8_t* data, size_t length)

cdef extern from "codec/civil.h" namespace "fastcql" nogil:
    cdef cppclass CivilTime:
        int year
        int month
        int day
        int hour
        int minute
        int second
        int microsecond
    int64_t days_from_civil(int64_t year, int month, int day)
    cbool split_timestamp(int64_t ms, CivilTime* out)

cdef extern from "codec/text.h" namespace "fastcql" nogil:
    size_t kInetText
    cbool is_ascii(const uint8_t* p, size_t n)
    Py_ssize_t put_utf8(ByteBuffer& out, const void* units, size_t n, int width)
    size_t format_inet(const uint8_t* address, size_t n, char* text)
    size_t parse_inet(const char* text, uint8_t* address)
    size_t format_int(int64_t v, char* p)

cdef extern from "base/bytes.h" namespace "fastcql" nogil:
    int64_t load_varint(const uint8_t* p, size_t n)
    void put_varint(ByteBuffer& out, int64_t v)

cdef extern from "codec/arrays.h" namespace "fastcql" nogil:
    ctypedef int Element "fastcql::Element"
    Element element_of(const char* fmt, size_t itemsize, cbool* swapped)
    cbool store_element(uint8_t* out, double v, float* wire)
    cbool store_element(uint8_t* out, double v, double* wire)
    cbool copy_to_float(Element source, const uint8_t* p, Py_ssize_t stride, size_t n, cbool swapped, uint8_t* out)
    cbool copy_to_double(Element source, const uint8_t* p, Py_ssize_t stride, size_t n, cbool swapped, uint8_t* out)
    cbool copy_to_int32(Element source, const uint8_t* p, Py_ssize_t stride, size_t n, cbool swapped, uint8_t* out)
    cbool copy_to_int64(Element source, const uint8_t* p, Py_ssize_t stride, size_t n, cbool swapped, uint8_t* out)

cdef extern from "codec/retention.h" namespace "fastcql::retention" nogil:
    cdef cppclass Arenas:
        void* context
        void* (*allocate)(void* context, size_t bytes) noexcept
        void (*free)(void* context, void* arena, size_t bytes) noexcept
    cbool note(size_t bytes) noexcept
    Arenas wrap(const Arenas& python) noexcept

cdef extern from "Python.h":
    ctypedef struct PyObjectArenaAllocator:
        void* ctx
        void* (*alloc)(void* ctx, size_t size) noexcept nogil
        void (*free)(void* ctx, void* ptr, size_t size) noexcept nogil
    void PyObject_GetArenaAllocator(PyObjectArenaAllocator* allocator)
    void PyObject_SetArenaAllocator(PyObjectArenaAllocator* allocator)
    PyObject* Py_None
    PyObject* Py_True
    PyObject* Py_False
    PyTypeObject PyTuple_Type
    void INCREF "Py_INCREF"(PyObject* o)
    void DECREF "Py_DECREF"(PyObject* o)
    void XDECREF "Py_XDECREF"(PyObject* o)
    PyTypeObject* TYPE "Py_TYPE"(PyObject* o)
    bint IS_GC "PyType_IS_GC"(PyTypeObject* cls)
    PyObject* PyLong_FromLong(long v)
    PyObject* PyLong_FromLongLong(long long v)
    PyObject* PyFloat_FromDouble(double v)
    PyObject* PyBytes_New "PyBytes_FromStringAndSize"(const char* p, Py_ssize_t n)
    PyObject* PyUnicode_New(Py_ssize_t n, uint32_t highest)
    void* PyUnicode_DATA(PyObject* o)
    PyObject* PyUnicode_DecodeUTF8(const char* p, Py_ssize_t n, const char* errors)
    PyObject* PyUnicode_DecodeASCII(const char* p, Py_ssize_t n, const char* errors)
    int TEXT_KIND "PyUnicode_KIND"(object o)
    void* TEXT_DATA "PyUnicode_DATA"(object o)
    Py_ssize_t TEXT_LENGTH "PyUnicode_GET_LENGTH"(object o)
    bint TEXT_IS_ASCII "PyUnicode_IS_ASCII"(object o)
    const char* PyUnicode_AsUTF8AndSize(object o, Py_ssize_t* n) except NULL
    void SET_TUPLE "PyTuple_SET_ITEM"(PyObject* t, Py_ssize_t i, PyObject* v)
    PyObject* GET_TUPLE "PyTuple_GET_ITEM"(PyObject* t, Py_ssize_t i)
    void SET_LIST "PyList_SET_ITEM"(PyObject* t, Py_ssize_t i, PyObject* v)
    PyObject* GET_LIST "PyList_GET_ITEM"(PyObject* t, Py_ssize_t i)
    Py_ssize_t PySequence_Fast_GET_SIZE(object o)
    PyObject** PySequence_Fast_ITEMS(object o)
    PyObject* NEW_TUPLE "PyTuple_New"(Py_ssize_t n)
    list PyList_New(Py_ssize_t n)
    int SET_SLICE "PyList_SetSlice"(list l, Py_ssize_t start, Py_ssize_t stop, PyObject* items) except -1
    tuple PyTuple_New(Py_ssize_t n)
    void GC_UNTRACK "PyObject_GC_UnTrack"(void* o)
    void GC_TRACK "PyObject_GC_Track"(void* o)
    long long PyLong_AsLongLongAndOverflow(object v, int* overflow) except? -1
    bint PyLong_Check(object o)
    bint PyComplex_Check(object o)
    bint PyFloat_Check(object o)
    bint PyFloat_CheckExact(object o)
    double PyFloat_AS_DOUBLE(object o)
    double PyFloat_AsDouble(object o) except? -1
    bint PyIndex_Check(object o)
    object PyNumber_Index(object o)
    int PyObject_IsTrue(object o) except -1
    bint PyUnicode_Check(object o)
    bint PyTuple_Check(object o)
    bint PyList_Check(object o)
    bint PyDict_Check(object o)
    int PyDict_SetItem(object d, PyObject* key, PyObject* value) except -1

cdef extern from "datetime.h":
    PyObject* NEW_DATETIME "PyDateTime_FromDateAndTime"(int, int, int, int, int, int, int)
    PyObject* DATETIME_TZ "PyDateTime_DATE_GET_TZINFO"(object o)

cdef extern from *:
    """
    namespace fastcql {

    /* Owns one reference for the length of a scope, on every exit of the scope. */
    class Ref {
    public:
        Ref() noexcept = default;
        ~Ref() { Py_XDECREF(held_); }
        Ref(const Ref&) = delete;
        Ref& operator=(const Ref&) = delete;
        PyObject* get() const noexcept { return held_; }
        void reset(PyObject* object) noexcept { PyObject* old = held_; held_ = object; Py_XDECREF(old); }
        PyObject* release() noexcept { PyObject* object = held_; held_ = nullptr; return object; }
    private:
        PyObject* held_ = nullptr;
    };

    /* Cells of a row that is decoded into an object other than a tuple. */
    class Cells {
    public:
        Cells() noexcept = default;
        ~Cells() {
            for (Py_ssize_t i = 0; i < count_; ++i) Py_XDECREF(items_[i]);
            PyMem_Free(items_);
        }
        Cells(const Cells&) = delete;
        Cells& operator=(const Cells&) = delete;
        int allocate(Py_ssize_t n) noexcept {
            items_ = static_cast<PyObject**>(PyMem_Calloc(n + 1, sizeof(PyObject*)));
            count_ = items_ ? n : 0;
            return items_ != nullptr;
        }
        PyObject** items() noexcept { return items_; }
        void clear(Py_ssize_t i) noexcept { Py_CLEAR(items_[i]); }
    private:
        PyObject** items_ = nullptr;
        Py_ssize_t count_ = 0;
    };

    }  // namespace fastcql
    """
    cdef cppclass Ref "fastcql::Ref":
        Ref()
        PyObject* get()
        void reset(PyObject* o)
        PyObject* release()
    cdef cppclass Cells "fastcql::Cells":
        Cells()
        bint allocate(Py_ssize_t n)
        PyObject** items()
        void clear(Py_ssize_t i)


cdef inline PyObject* owned(object o) noexcept:
    """Hand a new reference to bare-pointer code."""
    INCREF(<PyObject*>o)
    return <PyObject*>o


cdef inline PyObject* none() noexcept:
    INCREF(Py_None)
    return Py_None
