# Declarations of references.h. *field* is given by a macro of its class: Cython cannot take the address of a reference.

from cpython.object cimport PyObject

cdef extern from "base/epochs.h" namespace "fastcql" nogil:
    cdef cppclass EpochReader "fastcql::Epochs::Reader":
        EpochReader()

cdef extern from "cpython/references.h" namespace "fastcql":
    object load_reference(PyObject** field)
    void store_reference(PyObject** field, object value)
    bint refers_to(PyObject** field, object value)
    object load_once(PyObject** field)
    object put_once(PyObject** field, object value)
    PyObject* find_in_pairs(PyObject** field, object key)
