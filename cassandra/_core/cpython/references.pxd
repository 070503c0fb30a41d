# Declarations of references.h. *field* is given by a macro of its class: Cython cannot take the address of a reference.

from cpython.object cimport PyObject

cdef extern from "cpython/references.h" namespace "fastcql":
    cppclass EpochReader:
        void announce() noexcept
    object load_reference(PyObject** field)
    PyObject* borrow_reference(PyObject** field)
    object exchange_reference(PyObject** field, object value)
    void store_reference(PyObject** field, object value)
    bint refers_to(PyObject** field, object value)
    object load_once(PyObject** field)
    object put_once(PyObject** field, object value)
    PyObject* find_in_pairs(PyObject** field, object key)
    object get_value(dict values, object key, object otherwise)
    object get_item(list items, Py_ssize_t index)
