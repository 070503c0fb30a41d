# One native loop per page: the cells of a row straight into the object that is the row.

cdef struct RowPosition:
    Py_ssize_t row
    Py_ssize_t column

cdef int fill_row(
    ResultPlan plan, Cursor* c, PyObject** items, int version, RowPosition* at
) except -1:
    """Decode one row into *items*, which are null before. On error at.column is the column."""
    cdef const uint8_t* p = c.p
    cdef const uint8_t* end = c.end
    cdef Py_ssize_t i, n = plan._count
    cdef const Node** nodes = plan._nodes
    cdef int32_t size
    for i in range(n):
        at.column = i
        if end - p < 4:
            raise ValueError("the answer ends before the length of this value")
        size = load_i32(p)
        p += 4
        if size < 0:
            items[i] = none()
            continue
        if size > end - p:
            raise ValueError(f"a value of {size} bytes where the answer has {end - p} left")
        items[i] = decode_value(nodes[i], p, size, version)
        p += size
    c.p = p
    return 0


cdef int skip_rows(ResultPlan plan, Cursor* c, Py_ssize_t rows, RowPosition* at) except -1:
    cdef const uint8_t* p = c.p
    cdef const uint8_t* end = c.end
    cdef Py_ssize_t i
    cdef int32_t size
    cdef Py_ssize_t stop = at.row + rows
    while at.row < stop:
        for i in range(plan._count):
            at.column = i
            if end - p < 4:
                raise ValueError("the answer ends before the length of this value")
            size = load_i32(p)
            p += 4
            if size > end - p:
                raise ValueError(f"a value of {size} bytes where the answer has {end - p} left")
            if size > 0:
                p += size
        at.row += 1
    c.p = p
    return 0


cdef int fill_tuples(
    RowPlan how, PyTypeObject* cls, Cursor* c, list rows, int version, RowPosition* at, Py_ssize_t first
) except -1:
    """Rows that are tuples, of the built-in class or a namedtuple's."""
    cdef ResultPlan plan = how.plan
    cdef Py_ssize_t i, n = len(rows)
    cdef Ref row
    cdef bint track = not plan._atomic
    for i in range(n):
        at.row = first + i
        row.reset(new_row(cls, plan._count))
        fill_row(plan, c, tuple_items(row.get()), version, at)
        if track:
            GC_TRACK(row.get())
        SET_LIST(<PyObject*>rows, i, row.release())
    return 0


cdef int fill_dicts(RowPlan how, Cursor* c, list rows, int version, RowPosition* at, Py_ssize_t first) except -1:
    """Rows that are dicts; keys are the plan's own interned names. The last of two equal names wins."""
    cdef ResultPlan plan = how.plan
    cdef Py_ssize_t i, j, n = len(rows)
    cdef Cells cells
    cdef dict row
    cdef PyObject** names = tuple_items(<PyObject*>plan.names)
    if not cells.allocate(plan._count):
        raise MemoryError()
    for i in range(n):
        at.row = first + i
        row = {} if how._kind == ROW_DICT else <dict>PyODict_New()
        fill_row(plan, c, cells.items(), version, at)
        for j in range(plan._count):
            if how._kind == ROW_DICT:
                PyDict_SetItem(row, names[j], cells.items()[j])
            else:
                PyODict_SetItem(row, names[j], cells.items()[j])
            cells.clear(j)
        SET_LIST(<PyObject*>rows, i, owned(row))
    return 0


cdef list decode_rows(RowPlan how, Cursor* c, Py_ssize_t count, int version, RowPosition* at):
    """The next *count* rows at the cursor. DriverException names where it went wrong."""
    cdef list rows = PyList_New(count)
    cdef Py_ssize_t first = at.row
    cdef Py_ssize_t i
    try:
        if how._kind == ROW_TUPLE:
            fill_tuples(how, &PyTuple_Type, c, rows, version, at, first)
        elif how._kind == ROW_NAMED:
            fill_tuples(how, <PyTypeObject*>how.row_class, c, rows, version, at, first)
        else:
            fill_dicts(how, c, rows, version, at, first)
    except MemoryError:
        raise
    except Exception as error:
        raise row_error(how.plan, at, error) from error
    return rows


cdef object row_error(ResultPlan plan, RowPosition* at, error):
    keyspace, table, name, codec = plan.specs[at.column]
    return driver_error(
        f"Failed to decode column {name!r} of {keyspace}.{table} as {codec.cql()} in row {at.row} of the page: {error}"
    )


@cython.final
cdef class RowsPage:
    """Rows of one answer, still as bytes. Pins the buffer they came in."""

    cdef readonly ResultPlan plan
    cdef Py_buffer* _view
    cdef Cursor _rows
    cdef Py_ssize_t _count
    cdef int _version
    # Where the last slice ended: row in the upper half, offset in the lower; one word, so that a reader on another
    # thread sees a pair that belongs together.
    cdef uint64_t _resume

    def __init__(self):
        raise TypeError("pages come from decode_result()")

    def __dealloc__(self):
        if self._view != NULL:
            PyBuffer_Release(self._view)
            free(self._view)

    def __len__(self):
        return self._count

    @property
    def nbytes(self):
        """Bytes of the rows on the wire."""
        return self._rows.end - self._rows.p

    def decode(self, RowPlan row_plan not None, Py_ssize_t start=0, stop=None):
        """Rows *start* to *stop*. Slices that follow one another are found without a search."""
        cdef Py_ssize_t last = self._count if stop is None else max(0, min(<Py_ssize_t>stop, self._count))
        start = max(0, min(start, last))
        return self._decode(row_plan, start, last)

    cdef list _decode(self, RowPlan how, Py_ssize_t start, Py_ssize_t stop):
        cdef Cursor c = self._rows
        cdef RowPosition at
        cdef uint64_t resume = self._resume
        if how.plan is not self.plan and how.plan.codecs != self.plan.codecs:
            raise ValueError("this row plan is for another result")
        at.row = 0
        at.column = 0
        if start > 0:
            if <Py_ssize_t>(resume >> 32) <= start:
                at.row = <Py_ssize_t>(resume >> 32)
                c.p += <uint32_t>resume
            try:
                skip_rows(self.plan, &c, start - at.row, &at)
            except ValueError as error:
                raise row_error(self.plan, &at, error) from error
            at.row = start
        rows = decode_rows(how, &c, stop - start, self._version, &at)
        if stop < self._count:
            self._resume = <uint64_t>stop << 32 | <uint32_t>(c.p - self._rows.p)
        return rows

    def batches(self, RowPlan row_plan not None, Py_ssize_t size=1000):
        """Iterate over lists of *size* rows, each decoded when it is asked for."""
        if size <= 0:
            raise ValueError("size must be positive")
        return _batches(self, row_plan, size)


def _batches(RowsPage page, RowPlan row_plan, Py_ssize_t size):
    cdef Py_ssize_t start = 0
    while start < page._count:
        stop = min(start + size, page._count)
        yield page._decode(row_plan, start, stop)
        start = stop


cdef RowsPage new_page(ResultPlan plan, Cursor* c, object body, int version):
    """The rows at the cursor. Refuses a count that the body cannot hold, so that nobody allocates for it."""
    cdef RowsPage page = RowsPage.__new__(RowsPage)
    cdef int32_t count = take_int(c)
    if count < 0 or <int64_t>count * plan._count * 4 > c.end - c.p or count and not plan._count:
        raise protocol_error(f"answer claims {count} rows of {plan._count} columns in {c.end - c.p} bytes")
    page.plan = plan
    page._count = count
    page._version = version
    page._rows = c[0]
    if count:
        page._view = <Py_buffer*>malloc(sizeof(Py_buffer))
        if page._view == NULL:
            raise MemoryError()
        memset(page._view, 0, sizeof(Py_buffer))
        PyObject_GetBuffer(body, page._view, PyBUF_SIMPLE)
        page._rows.p = <const uint8_t*>page._view.buf + (c.p - c.end + page._view.len)
        page._rows.end = <const uint8_t*>page._view.buf + page._view.len
    else:
        page._rows.end = page._rows.p
    return page
