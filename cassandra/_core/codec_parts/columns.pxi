# Columns instead of rows: the cells of a page as one array of objects per column, and vectors as machine numbers.

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_WRITABLE
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromObject

cdef extern from "codec/columns.h" namespace "fastcql" nogil:
    void load_numbers(const uint8_t* p, size_t n, size_t width, uint8_t* out)


def decode_objects(RowsPage page not None, Py_ssize_t column, places, array):
    """Decode a column of *page* into an array of objects; see the stub."""
    cdef Py_buffer at
    cdef Py_buffer view
    PyObject_GetBuffer(places, &at, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(array, &view, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)
        try:
            if not 0 <= column < page.plan._count:
                raise IndexError(f"the page has {page.plan._count} columns")
            if view.format == NULL or view.format[0] != c"O" or view.format[1] != 0:
                raise ValueError("the array must have format 'O' (objects)")
            if view.len != page._count * <Py_ssize_t>sizeof(PyObject*) or at.len != page._count * 4:
                raise ValueError(f"an array of {view.len} bytes and {at.len} bytes of places for {page._count} objects")
            fill_objects(page, column, <const uint8_t*>at.buf, <PyObject**>view.buf)
        finally:
            PyBuffer_Release(&view)
    finally:
        PyBuffer_Release(&at)


cdef int fill_objects(RowsPage page, Py_ssize_t column, const uint8_t* places, PyObject** slots) except -1:
    cdef const TypeNode* node = page.plan._nodes[column]
    cdef const uint8_t* p
    cdef size_t bytes = <size_t>(page._rows.end - page._rows.p)
    cdef uint32_t place
    cdef int32_t size
    cdef PyObject* old
    cdef PyObject* value
    cdef RowPosition at
    cdef Py_ssize_t read = 0
    at.row = 0
    at.column = column
    try:
        for at.row in range(page._count):
            memcpy(&place, places + 4 * at.row, 4)
            if bytes < 4 or place > bytes - 4:
                raise ValueError("the place is outside the page")
            p = page._rows.p + place
            size = load_i32(p)
            p += 4
            if size > page._rows.end - p:
                raise ValueError(f"a value of {size} bytes where the response has {page._rows.end - p} left")
            value = none() if size < 0 else decode_value(node, p, size, page._version)
            read += max(0, size)
            old = slots[at.row]
            slots[at.row] = value
            XDECREF(old)
    except MemoryError:
        raise
    except Exception as error:
        raise row_error(page.plan, &at, error) from error
    note_page(read)
    return 0


cdef Py_ssize_t number_width(const TypeNode* node) noexcept:
    """Return the size in bytes of the machine numbers of a vector of this type, 0 if it has none."""
    cdef int op = BLOB
    if node.op == VECTOR and node.children[0].fixed > 0:
        op = node.children[0].op
    if op == INT or op == FLOAT:
        return 4
    return 8 if op == BIGINT or op == DOUBLE or op == COUNTER else 0


def decode_numbers(Codec codec not None, data):
    """Decode the elements of a vector as machine numbers; see the stub."""
    cdef Py_buffer view
    cdef Py_ssize_t width = number_width(&codec.node)
    if width == 0:
        raise TypeError(f"type {codec.cql()} is not a vector of machine numbers")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if view.len != codec.node.fixed:
            raise driver_error(f"Failed to decode a value of type {codec.cql()}: it cannot have {view.len} bytes")
        return number_view(&codec.node, <const uint8_t*>view.buf)
    finally:
        PyBuffer_Release(&view)


cdef object number_view(const TypeNode* node, const uint8_t* p):
    """Return a writable memoryview of the numbers of a vector; the caller has checked the length of the bytes at p."""
    cdef const TypeNode* number = node.children[0]
    cdef Py_ssize_t width = number.fixed
    cdef bytearray numbers = PyByteArray_FromStringAndSize(NULL, width * node.arity)
    load_numbers(p, <size_t>node.arity, <size_t>width, <uint8_t*>PyByteArray_AS_STRING(numbers))
    return PyMemoryView_FromObject(numbers).cast(
        "f" if number.op == FLOAT else "d" if number.op == DOUBLE else "i" if width == 4 else "q"
    )
