# Declarations of interpreter.h: every use of CPython's and asyncio's internals. The header has the documentation.

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint8_t

cdef extern from "cpython/interpreter.h" namespace "fastcql":
    # tuples
    PyObject** tuple_items(PyObject* t)
    bint is_plain_tuple_class(object cls)
    PyObject* new_row(PyTypeObject* cls, Py_ssize_t n) except NULL
    object new_pair(object cls, object first, object second)
    # classes
    bint is_subclass(object cls, PyTypeObject* base)
    bint is_of_heap_type(object value)
    unsigned int state_of_class(object kind)
    void set_class_name(PyTypeObject* cls, const char* name)
    ctypedef object (*unaryfunc)(object)
    ctypedef object (*binaryfunc)(object, object)
    void set_await(object cls, unaryfunc function)
    void set_row_access(object cls, binaryfunc item, binaryfunc attribute)
    PyObject* tuple_item(object row, object key)
    # instances
    object new_object(object cls, tuple no_arguments)
    PyObject* new_plain(object cls, tuple no_arguments) except NULL
    # slots
    bint is_slotted_class(object cls)
    bint is_bare_class(object cls)
    PyObject* new_instance(PyTypeObject* cls, int tracked) except NULL
    Py_ssize_t slot_offset(object cls, const char* name)
    void set_slot(PyObject* self, Py_ssize_t offset, PyObject* value)
    PyObject* get_slot(PyObject* self, Py_ssize_t offset)
    bint replace_slot(PyObject* self, Py_ssize_t offset, PyObject* before, PyObject* after)
    # inline values
    PyObject** attribute_values(PyObject* self) nogil
    int inline_values_count(PyObject** values) nogil
    int inline_values_capacity(PyObject** values) nogil
    int inline_value_index(PyObject** values, int n) nogil
    void add_value(PyObject** values, Py_ssize_t place, PyObject* value) nogil
    # ints
    PyObject* long_from_bytes(const uint8_t* p, size_t n, int is_signed)
    int long_to_16_bytes(object v, uint8_t* out) except -1
    # buffers
    PyObject* owner_of_bytes(object body) except NULL
    # ordered dicts
    object new_ordered_dict()
    int set_in_ordered_dict(object d, PyObject* key, PyObject* value) except -1
    # functions implemented in C
    void* native_function(object callable)
    bint is_native_function(PyObject* callable, void* code)
    # generators
    void stop_with(object value)
    # asyncio
    const char* RUNNING_LOOP_KEY "fastcql::kRunningLoopKey"
    PyObject* running_loop_note(object key) except? NULL
    const void* method_of(object callable)
    bint is_task_wakeup(const void* method)
