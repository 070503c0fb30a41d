# Named tuples: access to their fields as of tuples, with errors that name the columns, and rows of other sequences.

cdef extern from "Python.h":
    PyObject* PyObject_GenericGetAttr(object value, object name)
    void PyErr_Clear()
    int PyErr_ExceptionMatches(object kind)
    void Py_DECREF(PyObject* value)


cdef extern from *:
    """
    static inline int fastcql_failed(void) noexcept { return -1; }
    """
    int raised "fastcql_failed"() except -1


cdef inline object new_reference(PyObject* new):
    value = <object>new
    Py_DECREF(<PyObject*>value)
    return value


cdef object row_item(object row, object key):
    cdef PyObject* item = tuple_item(row, key)
    return no_item(row, key) if item == NULL else new_reference(item)


cdef object row_attribute(object row, object name):
    cdef PyObject* value = PyObject_GenericGetAttr(row, name)
    return no_attribute(row, name) if value == NULL else new_reference(value)


cdef object no_item(row, key):
    """Raise the error of tuple.__getitem__, which is set; for a name one that says how to read the column."""
    if not PyUnicode_Check(key):
        raised()
    PyErr_Clear()
    use = f"use row.{key}" if key in row._fields else "it has no such column"
    raise TypeError(
        f"a row is a named tuple, which takes integers or slices, not {key!r}: {use}; "
        f"row_factory=dict_factory makes rows dicts. {fields_text(row)}"
    )


cdef object no_attribute(row, str name):
    """Raise the AttributeError that is set, with the names of the columns; for special names it stays as it is, as
    libraries look for them."""
    if name.startswith("_") or not PyErr_ExceptionMatches(AttributeError):
        raised()
    PyErr_Clear()
    raise AttributeError(f"{type(row).__name__!r} object has no attribute {name!r}. {fields_text(row)}", name=name, obj=row)


cdef str fields_text(row):
    cdef tuple fields = row._fields
    cdef str more = f" and {len(fields) - 20} more" if len(fields) > 20 else ""
    return f"Columns: {', '.join(fields[:20])}{more}"


def explain_rows(row_class not None):
    """Have errors of rows of this namedtuple class name its columns, and return the class; no other thread may use it
    before."""
    set_row_access(row_class, row_item, row_attribute)
    return row_class


def named_rows(row_class not None, rows):
    """Return *rows*, sequences of as many values as the namedtuple class has fields, as a list of its instances."""
    cdef Py_ssize_t i, count = len(row_class._fields)
    cdef list made = []
    cdef Ref row
    make = row_class._make
    is_plain = is_plain_tuple_class(row_class)
    for values in rows:
        if not is_plain or type(values) is not tuple or len(<tuple>values) != count:
            made.append(make(values))  # a TypeError names both counts
            continue
        row.reset(new_row(<PyTypeObject*>row_class, count))
        if row.get() == NULL:
            raise MemoryError()
        for i in range(count):
            tuple_items(row.get())[i] = owned((<tuple>values)[i])
        GC_TRACK(row.get())
        made.append(Ref_take(row.release()))
    return made
