# One native loop per page: the cells of a row are decoded directly into the row object.

from libcpp.atomic cimport atomic

cdef enum:
    LARGE = 1 << 20  # bytes; rows of larger pages are decoded as they are consumed

LARGE_PAGE = LARGE

cdef enum:
    MARK = 64  # rows between two offsets that a page caches, once rows are read out of sequence

cdef struct RowPosition:
    Py_ssize_t row
    Py_ssize_t column

cdef struct RowRange:
    RowPosition at  # current position; before decoding, the start
    const uint8_t* limit  # no row begins at or behind it; null for none
    int version


cdef int fill_row(
    ResultPlan plan, Cursor* c, PyObject** items, int version, RowPosition* at
) except -1:
    """Decode one row into *items*, which are null before. On error at.column is the column."""
    cdef const uint8_t* p = c.p
    cdef const uint8_t* end = c.end
    cdef Py_ssize_t i, n = plan._count
    cdef const TypeNode** nodes = plan._nodes
    cdef int32_t size
    for i in range(n):
        at.column = i
        if end - p < 4:
            raise ValueError("the response ends before the length of this value")
        size = load_i32(p)
        p += 4
        if size < 0:
            items[i] = none()
            continue
        if size > end - p:
            raise ValueError(f"a value of {size} bytes where the response has {end - p} left")
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
                raise ValueError("the response ends before the length of this value")
            size = load_i32(p)
            p += 4
            if size > end - p:
                raise ValueError(f"a value of {size} bytes where the response has {end - p} left")
            if size > 0:
                p += size
        at.row += 1
    c.p = p
    return 0


cdef Py_ssize_t fill_tuples(RowPlan how, PyTypeObject* cls, Cursor* c, list rows, RowRange* part) except -1:
    """Decode rows as tuples, of the built-in class or a namedtuple's."""
    cdef ResultPlan plan = how.plan
    cdef Py_ssize_t i, n = len(rows), first = part.at.row
    cdef Ref row
    cdef bint track = not plan._atomic
    for i in range(n):
        if part.limit != NULL and c.p >= part.limit:
            return i
        part.at.row = first + i
        row.reset(new_row(cls, plan._count))
        fill_row(plan, c, tuple_items(row.get()), part.version, &part.at)
        if track:
            GC_TRACK(row.get())
        SET_LIST(<PyObject*>rows, i, row.release())
    return n


cdef Py_ssize_t fill_dicts(RowPlan how, Cursor* c, list rows, RowRange* part) except -1:
    """Decode rows as dicts; keys are the plan's own interned names. The last of two equal names wins."""
    cdef ResultPlan plan = how.plan
    cdef Py_ssize_t i, j, n = len(rows), first = part.at.row
    cdef Cells cells
    cdef dict row
    cdef PyObject** names = tuple_items(<PyObject*>plan.names)
    if not cells.allocate(plan._count):
        raise MemoryError()
    for i in range(n):
        if part.limit != NULL and c.p >= part.limit:
            return i
        part.at.row = first + i
        row = {} if how._kind == ROW_DICT else <dict>new_ordered_dict()
        fill_row(plan, c, cells.items(), part.version, &part.at)
        for j in range(plan._count):
            if how._kind == ROW_DICT:
                PyDict_SetItem(row, names[j], cells.items()[j])
            else:
                set_in_ordered_dict(row, names[j], cells.items()[j])
            cells.clear(j)
        SET_LIST(<PyObject*>rows, i, owned(row))
    return n


cdef Py_ssize_t fill_instances(RowPlan how, Cursor* c, list rows, RowRange* part) except -1:
    """Decode rows as instances of a program's class. While its code runs, part.at.column is MAKING."""
    cdef ResultPlan plan = how.plan
    cdef InstanceMaker maker = how._maker
    cdef Py_ssize_t i, j, n = len(rows), first = part.at.row
    cdef Cells cells
    if not cells.allocate(plan._count):
        raise MemoryError()
    for i in range(n):
        if part.limit != NULL and c.p >= part.limit:
            return i
        part.at.row = first + i
        fill_row(plan, c, cells.items(), part.version, &part.at)
        part.at.column = MAKING
        SET_LIST(<PyObject*>rows, i, make_instance(maker, cells.items()))
        for j in range(plan._count):
            cells.clear(j)
    return n


cdef int tell_collector_of_rows(RowPlan how, list rows, Py_ssize_t filled) except -1:
    """Track instances, and the list that holds them, which constructors must not see incomplete."""
    cdef Py_ssize_t i
    cdef InstanceMaker maker = how._maker
    if maker._is_untold() and not (maker._kind == BY_TUPLE and how.plan._atomic):
        for i in range(filled):
            GC_TRACK(GET_LIST(<PyObject*>rows, i))
    GC_TRACK(<PyObject*>rows)
    return 0


cdef object making_error(error, RowPosition* at):
    """Return the error of a program's own constructor unchanged, with a note of the row if notes are supported."""
    if hasattr(error, "add_note"):
        error.add_note(f"in row {at.row} of the page")
    return error


# Count *nbytes* of a page that were decoded into objects: memory of such pages is kept in the process when it is freed.
cdef int note_page(Py_ssize_t nbytes) except -1:
    cdef PyObjectArenaAllocator allocator
    cdef Arenas arenas
    if note(<size_t>nbytes):
        PyObject_GetArenaAllocator(&allocator)
        arenas.context = allocator.ctx
        arenas.allocate = allocator.alloc
        arenas.free = allocator.free
        arenas = wrap(arenas)
        allocator.ctx = arenas.context
        allocator.alloc = arenas.allocate
        allocator.free = arenas.free
        PyObject_SetArenaAllocator(&allocator)
    return 0


cdef list decode_rows(RowPlan how, Cursor* c, Py_ssize_t count, RowRange* part, list failure):
    """Decode the next rows at the cursor: *count*, or those that begin before the limit.

    DriverException names the position of the error. If *failure* is a list the error is appended to it instead, and the
    rows before the broken one are returned.
    """
    cdef list rows = PyList_New(count)
    cdef Py_ssize_t first = part.at.row, filled
    cdef const uint8_t* begin = c.p
    try:
        if how._kind == ROW_TUPLE:
            filled = fill_tuples(how, &PyTuple_Type, c, rows, part)
        elif how._kind == ROW_NAMED:
            filled = fill_tuples(how, <PyTypeObject*>how.row_class, c, rows, part)
        elif how._kind == ROW_INSTANCE:
            GC_UNTRACK(<PyObject*>rows)
            filled = fill_instances(how, c, rows, part)
        else:
            filled = fill_dicts(how, c, rows, part)
    except MemoryError:
        raise
    except Exception as error:
        if part.at.column == MAKING:
            wrapped = making_error(error, &part.at)
            if failure is None:
                raise
        else:
            wrapped = row_error(how.plan, &part.at, error)
            if failure is None:
                raise wrapped from error
            wrapped.__cause__ = error
        failure.append(wrapped)
        filled = part.at.row - first
    if filled < count:
        SET_SLICE(rows, filled, count, NULL)
    if how._kind == ROW_INSTANCE:
        tell_collector_of_rows(how, rows, filled)
    part.at.row = first + filled
    note_page(c.p - begin)
    return rows


cdef object row_error(ResultPlan plan, RowPosition* at, error):
    keyspace, table, name, codec = plan.specs[at.column]
    return driver_error(
        f"Failed to decode column {name!r} of {keyspace}.{table} as {codec.cql()} in row {at.row} of the page: {error}"
    )


# A separate object, because pages are made and freed with every request, and freeing their members takes time.
@cython.final
@cython.no_gc
cdef class _Marks:
    cdef vector[uint32_t] offsets  # of every MARK-th row, as far as it was reached; guarded by the GIL


@cython.final
@cython.no_gc  # has no references to objects that could refer to it
cdef class RowsPage:
    """Rows of one response, undecoded. Keeps the buffer that contains them."""

    cdef readonly ResultPlan plan
    cdef object _owner
    cdef Cursor _rows
    # End of the last slice: row in the upper half, offset in the lower; one word, so that a reader in another thread
    # sees a consistent pair.
    cdef atomic[uint64_t] _resume
    cdef _Marks _marks  # None until rows are read out of sequence
    cdef int32_t _count
    cdef int32_t _version

    def __init__(self):
        raise TypeError("use decode_result() to make pages")

    def __len__(self):
        return self._count

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, <void*>self._rows.p, self._rows.end - self._rows.p, 1, flags)

    @property
    def nbytes(self):
        """Size of the rows on the wire, in bytes."""
        return self._rows.end - self._rows.p

    @property
    def _block(self):
        return getattr(self._owner, "_block", None)

    def __repr__(self):
        return f"<RowsPage: {self._count} rows in {self.nbytes} bytes>"

    def decode(self, RowPlan row_plan not None, Py_ssize_t start=0, stop=None):
        """Return rows *start* to *stop*. Consecutive slices are found without a search."""
        cdef Py_ssize_t last = self._count if stop is None else max(0, min(<Py_ssize_t>stop, self._count))
        start = max(0, min(start, last))
        return self._decode(row_plan, start, last)

    def made_by(self, factory):
        """Return all rows by the row plan cached for *factory*. None without one, or for a large page."""
        cdef RowPlan how = factory_plan(self.plan, factory)
        if how is None or self._rows.end - self._rows.p > LARGE:
            return None
        return self._decode(how, 0, self._count)

    def detached(self):
        """Return a copy of the rows that pins no frame of the pool, for long retention."""
        cdef bytes data = PyBytes_FromStringAndSize(<const char*>self._rows.p, self._rows.end - self._rows.p)
        return page_of_bytes(self.plan, data, self._count, self._version)

    cdef int _check(self, RowPlan how) except -1:
        if how.plan is not self.plan and how.plan.codecs != self.plan.codecs:
            raise ValueError("the row plan belongs to another result plan")
        return 0

    cdef list _decode(self, RowPlan how, Py_ssize_t start, Py_ssize_t stop):
        cdef Cursor c = self._rows
        cdef RowRange part
        self._check(how)
        part.at.row = 0
        part.at.column = 0
        part.limit = NULL
        part.version = self._version
        if start > 0:
            self._seek(&c, start, &part.at)
        rows = decode_rows(how, &c, stop - start, &part, None)
        if stop < self._count:
            self._resume.store(<uint64_t>stop << 32 | <uint32_t>(c.p - self._rows.p))
        return rows

    cdef int _seek(self, Cursor* c, Py_ssize_t start, RowPosition* at) except -1:
        cdef uint64_t resume = self._resume.load()
        cdef Py_ssize_t last = <Py_ssize_t>(resume >> 32)
        try:
            if last <= start < last + MARK:
                at.row = last
                c.p += <uint32_t>resume
            else:
                self._go_to_mark(c, start // MARK, at)
            skip_rows(self.plan, c, start - at.row, at)
        except ValueError as error:
            raise row_error(self.plan, at, error) from error
        return 0

    cdef int _go_to_mark(self, Cursor* c, Py_ssize_t mark, RowPosition* at) except -1:
        """Move to row *mark* * MARK, over the rows before it that were not reached yet. So any number of accesses in
        any order scans the page only once."""
        cdef Py_ssize_t known
        if self._marks is None:
            self._marks = _Marks.__new__(_Marks)
            self._marks.offsets.push_back(0)
        known = min(mark, <Py_ssize_t>self._marks.offsets.size() - 1)
        at.row = known * MARK
        c.p += self._marks.offsets[<size_t>known]
        while at.row < mark * MARK:
            skip_rows(self.plan, c, MARK, at)
            self._marks.offsets.push_back(<uint32_t>(c.p - self._rows.p))
        return 0

    def batches(self, RowPlan row_plan not None, Py_ssize_t size=8192, Py_ssize_t nbytes=1 << 18):
        """Iterate over lists of rows, each decoded on demand: up to *size* rows, or fewer that take *nbytes*."""
        if size <= 0 or nbytes <= 0:
            raise ValueError("size and nbytes must be positive")
        self._check(row_plan)
        return new_batches(self, row_plan, size, nbytes)


@cython.final
cdef class RowBatches:
    """Lists of rows of a page. It changes only its own state: any number may iterate over one page, in any threads."""

    cdef RowsPage _page
    cdef RowPlan _how
    cdef Cursor _at
    cdef Py_ssize_t _row
    cdef Py_ssize_t _size
    cdef Py_ssize_t _nbytes
    cdef list _failure

    def __init__(self):
        raise TypeError("use RowsPage.batches() to make batches")

    def __iter__(self):
        return self

    def __next__(self):
        cdef RowsPage page = self._page
        cdef Cursor c = self._at
        cdef RowRange part
        cdef Py_ssize_t row = self._row
        cdef list rows
        if self._failure:
            self._row = page._count
            raise self._failure.pop()
        if row >= page._count:
            raise StopIteration
        part.at.row = row
        part.at.column = 0
        part.limit = NULL
        if c.end - c.p > self._nbytes:
            part.limit = c.p + self._nbytes
        part.version = page._version
        failure = []
        rows = decode_rows(self._how, &c, min(page._count - row, self._size), &part, failure)
        if failure and not rows:
            self._row = page._count
            raise failure.pop()
        self._at = c
        self._row = part.at.row
        self._failure = failure
        return rows


cdef RowBatches new_batches(RowsPage page, RowPlan how, Py_ssize_t size, Py_ssize_t nbytes):
    cdef RowBatches batches = RowBatches.__new__(RowBatches)
    batches._page = page
    batches._how = how
    batches._at = page._rows
    batches._size = size
    batches._nbytes = nbytes
    return batches


cdef inline bint holds_rows(Cursor* c, int32_t count, ResultPlan plan) noexcept:
    """True if *count* rows may follow: each value has a length of four bytes."""
    return count >= 0 and <int64_t>count * plan._count * 4 <= c.end - c.p and (count == 0 or plan._count > 0)


cdef RowsPage new_page(ResultPlan plan, Cursor* c, object body, int version):
    """Return the rows at the cursor. Refuse a count that the body cannot hold, so that no memory is allocated for
    it."""
    cdef int32_t count = take_int(c)
    if not holds_rows(c, count, plan):
        raise protocol_error(f"response claims {count} rows of {plan._count} columns in {c.end - c.p} bytes")
    return rows_page(plan, c, body, count, version)


cdef RowsPage page_of_bytes(ResultPlan plan, bytes data, int32_t count, int version):
    cdef RowsPage page = RowsPage.__new__(RowsPage)
    page.plan = plan
    page._count = count
    page._version = version
    page._owner = data
    page._rows.p = <const uint8_t*>PyBytes_AS_STRING(data)
    page._rows.end = page._rows.p + PyBytes_GET_SIZE(data)
    return page


cdef RowsPage rows_page(ResultPlan plan, Cursor* c, object body, int32_t count, int version):
    cdef RowsPage page = RowsPage.__new__(RowsPage)
    page.plan = plan
    page._count = count
    page._version = version
    page._rows = c[0]
    if count:
        page._owner = Ref_take(owner_of_bytes(body))
    else:
        page._rows.end = page._rows.p
    return page
