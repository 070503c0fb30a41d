# The C API of the interpreter.

from cassandra._core.cpython.interpreter cimport is_subclass, new_object, state_of_class
from cassandra._core.cpython.references cimport EpochReader, borrow_reference, load_reference, put_once, store_reference

cdef extern from "Python.h":
    PyTypeObject* TYPE "Py_TYPE"(PyObject* o)
    void INCREF "Py_INCREF"(PyObject* o)
    void DECREF "Py_DECREF"(PyObject* o)
    PyObject* GET_TUPLE "PyTuple_GET_ITEM"(PyObject* t, Py_ssize_t i)
    void SET_TUPLE "PyTuple_SET_ITEM"(PyObject* t, Py_ssize_t i, PyObject* v)
    tuple PyTuple_New(Py_ssize_t n)
    bint PyDict_Next(dict d, Py_ssize_t* step, PyObject** key, PyObject** value)
    int SET_ATTRIBUTE "PyObject_GenericSetAttr"(object o, object name, object value) except -1
    bint GC_IS_TRACKED "PyObject_GC_IsTracked"(PyObject* o)
    void GC_TRACK "PyObject_GC_Track"(void* o)
    bint GC_DISABLE "PyGC_Disable"()
    bint GC_ENABLE "PyGC_Enable"()
    void GC_UNTRACK "PyObject_GC_UnTrack"(void* o)

cdef object _missing = object()


cdef inline object Ref_take(PyObject* o):
    """Adopt a new reference."""
    cdef object result = <object>o
    DECREF(o)
    return result


cdef inline void set_item(tuple made, Py_ssize_t at, PyObject* value) noexcept:
    """Set the item *at* of a new tuple, which is not set."""
    INCREF(value)
    SET_TUPLE(<PyObject*>made, at, value)


cdef str intern_name(name):
    from sys import intern

    return intern(name)
