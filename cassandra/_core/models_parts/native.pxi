# The C API of the interpreter.

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

cdef extern from *:
    """
    namespace fastcql {

    /* cls() without __init__, for a class that is known to be one. */
    inline PyObject* new_of(PyObject* cls, PyObject* no_arguments) noexcept {
        PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls);
        return type->tp_new(type, no_arguments, nullptr);
    }

    inline int is_subclass(PyObject* cls, PyTypeObject* base) noexcept {
        return PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), base);
    }

    /* Version of a class, which changes when an attribute of it or of a base is set. 0: not available from Python. */
    inline unsigned int state_of_class(PyObject* kind) noexcept {
        if (!PyType_Check(kind)) return 0;
        PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(kind);
        return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag : 0;
    }

    }
    """
    PyObject* new_of "fastcql::new_of"(object cls, PyObject* no_arguments) except NULL
    bint is_subclass "fastcql::is_subclass"(object cls, PyTypeObject* base)
    unsigned int state_of_class "fastcql::state_of_class"(object kind)

cdef object _missing = object()
cdef tuple _no_arguments = ()


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
