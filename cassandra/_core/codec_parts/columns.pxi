# Columns instead of rows: the cells of a page straight into one array per column, and vectors as machine numbers.

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_WRITABLE
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromObject

cdef extern from "codec/columns.h" namespace "fastcql" nogil:
    cbool is_array_of(const char* fmt, size_t itemsize, size_t width, cbool floating)
    void load_number(const uint8_t* p, size_t width, uint8_t* out)
    void load_numbers(const uint8_t* p, size_t n, size_t width, uint8_t* out)

cdef struct Column:
    const TypeNode* node
    uint8_t* values  # machine numbers, or PyObject*
    uint8_t* nulls  # a byte per row; of machine numbers only
    Py_ssize_t width  # bytes of a number; 0 for objects
    Py_ssize_t size  # bytes of a value: of one number, or of all elements of a vector


cdef const TypeNode* number_node(const TypeNode* node) noexcept:
    """The type of the numbers that values of a type consist of: its own, or that of a vector's elements."""
    if node.op == VECTOR:
        return node.children[0]
    return node


cdef Py_ssize_t number_width(const TypeNode* node) noexcept:
    """Bytes of the machine numbers that values of this type consist of, 0 when they are none."""
    cdef int op = node.op
    if op == VECTOR:
        op = node.children[0].op if node.children[0].fixed > 0 else BLOB
    if op == INT or op == FLOAT:
        return 4
    if op == BIGINT or op == DOUBLE or op == COUNTER:
        return 8
    return 2 if op == SMALLINT else 0


@cython.final
cdef class _Arrays:
    """The arrays that a page is decoded into, held for as long as that takes."""

    cdef Column* columns
    cdef Py_buffer* views
    cdef Py_ssize_t held

    def __cinit__(self, Py_ssize_t count):
        self.columns = <Column*>malloc((count + 1) * sizeof(Column))
        self.views = <Py_buffer*>malloc((2 * count + 1) * sizeof(Py_buffer))
        if self.columns == NULL or self.views == NULL:
            raise MemoryError()

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.held):
            PyBuffer_Release(&self.views[i])
        free(self.columns)
        free(self.views)

    cdef Py_buffer* hold(self, array) except NULL:
        """A writable array in one piece."""
        cdef Py_buffer* view = &self.views[self.held]
        PyObject_GetBuffer(array, view, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)
        self.held += 1
        return view

    cdef int add(self, Py_ssize_t i, Codec codec, Py_ssize_t rows, values, nulls) except -1:
        """Column *i* goes into these arrays. ValueError when they do not fit its type or the number of rows."""
        cdef Column* column = &self.columns[i]
        cdef const TypeNode* number = number_node(&codec.node)
        cdef Py_buffer* view = self.hold(values)
        cdef Py_buffer* flags
        column.node = &codec.node
        column.values = <uint8_t*>view.buf
        column.nulls = NULL
        column.width = 0
        column.size = sizeof(PyObject*)
        if view.format == NULL or view.format[0] != c"O" or view.format[1] != 0:
            column.width = number_width(&codec.node)
            column.size = column.width * codec.node.arity if codec.node.op == VECTOR else column.width
            if column.width == 0 or not is_array_of(
                view.format, <size_t>view.itemsize, <size_t>column.width, number.op == FLOAT or number.op == DOUBLE
            ):
                raise ValueError(f"values of type {codec.cql()} do not go into an array of this format")
            if nulls is None:
                raise ValueError("an array of numbers needs one that tells which of them are null")
            flags = self.hold(nulls)
            if flags.itemsize != 1 or flags.len != rows:
                raise ValueError(f"{flags.len} marks of nulls for {rows} rows")
            column.nulls = <uint8_t*>flags.buf
        if view.len // column.size != rows or view.len % column.size:
            raise ValueError(f"an array of {view.len} bytes for {rows} values of type {codec.cql()}")
        return 0


def decode_columns(RowsPage page not None, targets):
    """Decode all rows of *page* into arrays, one pair (values, nulls) per column; see the stub."""
    cdef list pairs = list(targets)
    cdef Py_ssize_t i, count = page.plan._count
    cdef _Arrays arrays
    cdef Cursor c = page._rows
    cdef RowPosition at
    if len(pairs) != count:
        raise ValueError(f"{len(pairs)} targets for {count} columns")
    arrays = _Arrays(count)
    for i in range(count):
        values, nulls = pairs[i]
        arrays.add(i, page.plan.codecs[i], page._count, values, nulls)
    at.row = 0
    at.column = 0
    try:
        fill_columns(arrays.columns, count, page._count, &c, page._version, &at)
    except MemoryError:
        raise
    except Exception as error:
        raise row_error(page.plan, &at, error) from error


cdef int fill_columns(
    Column* columns, Py_ssize_t count, Py_ssize_t rows, Cursor* c, int version, RowPosition* at
) except -1:
    cdef const uint8_t* p = c.p
    cdef const uint8_t* end = c.end
    cdef Py_ssize_t row, i
    cdef Column* column
    cdef int32_t size
    for row in range(rows):
        at.row = row
        for i in range(count):
            at.column = i
            column = &columns[i]
            if end - p < 4:
                raise ValueError("the answer ends before the length of this value")
            size = load_i32(p)
            p += 4
            if size > end - p:
                raise ValueError(f"a value of {size} bytes where the answer has {end - p} left")
            if column.width == 0:
                set_object(column, row, none() if size < 0 else decode_value(column.node, p, size, version))
            elif size == column.size:
                column.nulls[row] = 0
                if size == column.width:
                    load_number(p, <size_t>column.width, column.values + row * size)
                else:
                    load_numbers(
                        p, <size_t>(size // column.width), <size_t>column.width, column.values + row * <Py_ssize_t>size
                    )
            elif size <= 0:
                column.nulls[row] = 1  # the value is left as the array has it
            else:
                wrong_size(column.node, size)
            if size > 0:
                p += size
    return 0


cdef inline void set_object(Column* column, Py_ssize_t row, PyObject* value) noexcept:
    """Steals the value."""
    cdef PyObject** slot = <PyObject**>column.values + row
    cdef PyObject* old = slot[0]
    slot[0] = value
    XDECREF(old)


cdef int wrong_size(const TypeNode* node, Py_ssize_t n) except -1:
    if node.op == VECTOR:
        raise ValueError(f"{(<Codec>node.codec).cql()} cannot have {n} bytes")
    irregular(node, n)
    return 0


def decode_numbers(Codec codec not None, data):
    """The elements of a vector as machine numbers; see the stub."""
    cdef Py_buffer view
    cdef Py_ssize_t width = number_width(&codec.node)
    if codec.node.op != VECTOR or width == 0:
        raise TypeError(f"values of type {codec.cql()} are no vectors of machine numbers")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if view.len != codec.node.fixed:
            raise driver_error(f"Failed to decode a value of type {codec.cql()}: it cannot have {view.len} bytes")
        return number_view(&codec.node, <const uint8_t*>view.buf)
    finally:
        PyBuffer_Release(&view)


cdef object number_view(const TypeNode* node, const uint8_t* p):
    """A writable memoryview of the numbers of a vector whose bytes at p were counted."""
    cdef const TypeNode* number = node.children[0]
    cdef Py_ssize_t width = number.fixed
    cdef bytearray numbers = PyByteArray_FromStringAndSize(NULL, width * node.arity)
    load_numbers(p, <size_t>node.arity, <size_t>width, <uint8_t*>PyByteArray_AS_STRING(numbers))
    return PyMemoryView_FromObject(numbers).cast(
        "f" if number.op == FLOAT else "d" if number.op == DOUBLE else "i" if width == 4 else "q"
    )
