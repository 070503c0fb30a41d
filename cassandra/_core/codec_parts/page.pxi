# Pages: rows of a result, decoded into objects, retained as bytes, read as columns, or left undecoded.
#
# ResultPlan: decoder of the rows of one result shape. RowPlan: the same with one row format.

cdef enum:
    KEPT_FACTORIES = 15  # the latest, besides a new one: a program may make one per request


@cython.final
cdef class ResultPlan:
    """Names and codecs of a result's columns. Immutable except for cached values: row plans, and *types* and *extra*,
    which belong to the layers above. Any thread."""

    cdef readonly tuple specs
    cdef readonly tuple names
    cdef readonly tuple codecs
    cdef public object types
    cdef public object extra
    cdef tuple _factories  # of (row factory, RowPlan); replaced, never changed
    cdef const TypeNode** _nodes
    cdef Py_ssize_t _count
    cdef int _atomic
    cdef RowPlan _tuples
    cdef atomic[uint64_t] _used  # tick of its last use in a TypeContext
    cdef bytes _key  # its key in that context's cache
    cdef uint64_t _generation  # of that context when the plan was made

    def __cinit__(self, specs):
        cdef Py_ssize_t i
        cdef Codec codec
        self.specs = tuple([tuple(spec) for spec in specs])
        self._factories = ()
        self._count = len(self.specs)
        self.names = tuple([intern_name(spec[2]) for spec in self.specs])
        self.codecs = checked_children([spec[3] for spec in self.specs])
        self._nodes = <const TypeNode**>malloc((self._count + 1) * sizeof(TypeNode*))
        if self._nodes == NULL:
            raise MemoryError()
        self._atomic = 1
        for i in range(self._count):
            codec = self.codecs[i]
            self._nodes[i] = &codec.node
            self._atomic &= is_atomic(&codec.node)

    def __dealloc__(self):
        free(self._nodes)

    def __len__(self):
        return self._count

    def row_plan(self, factory):
        """Return the row plan cached for exactly this *factory*, None if there is none."""
        return factory_plan(self, factory)

    def note_row_plan(self, factory, RowPlan row_plan not None):
        """Use *row_plan* for rows of *factory* from now on. A plan cached earlier stays; return the valid one."""
        cdef RowPlan known = factory_plan(self, factory)
        if known is not None:
            return known
        if row_plan.plan is not self:
            raise ValueError("the row plan belongs to another result plan")
        cdef tuple factories = load_reference(factories_of(self))
        store_reference(factories_of(self), (*factories[-KEPT_FACTORIES:], (factory, row_plan)))
        return row_plan

    @property
    def keyspace(self):
        return self.specs[0][0] if self.specs else None

    @property
    def table(self):
        return self.specs[0][1] if self.specs else None

    def __repr__(self):
        columns = ", ".join([f"{spec[2]} {(<Codec>spec[3]).cql()}" for spec in self.specs])
        return f"<ResultPlan {columns}>"


cdef extern from *:
    """
    #define fastcql_factories_of(plan) FASTCQL_FIELD(plan, _factories)
    #define fastcql_tuples_of(plan) FASTCQL_FIELD(plan, _tuples)
    #define fastcql_made_of(lazy) FASTCQL_FIELD(lazy, _made)
    """
    PyObject** factories_of "fastcql_factories_of"(ResultPlan plan)
    PyObject** tuples_of "fastcql_tuples_of"(ResultPlan plan)
    PyObject** made_of "fastcql_made_of"(LazyRows lazy)


cdef RowPlan factory_plan(ResultPlan plan, factory):
    """Look up by identity: there are few factories, and most results have only one."""
    cdef PyObject* found = find_in_pairs(factories_of(plan), factory)
    return None if found == NULL else <RowPlan>Ref_take(found)


from sys import intern

cdef object intern_text = intern


cdef inline str intern_name(name):
    return intern_text(name)


cdef enum RowKind:
    ROW_TUPLE
    ROW_NAMED
    ROW_DICT
    ROW_ORDERED
    ROW_INSTANCE


_ROW_KINDS = {
    "tuple": ROW_TUPLE, "named": ROW_NAMED, "dict": ROW_DICT, "ordered": ROW_ORDERED, "instance": ROW_INSTANCE
}


@cython.final
cdef class RowPlan:
    """A ResultPlan with one row format."""

    cdef readonly ResultPlan plan
    cdef readonly str kind
    cdef readonly object row_class
    cdef RowKind _kind
    cdef bint _is_reversible
    cdef InstanceMaker _maker

    def __cinit__(self, ResultPlan plan not None, str kind not None, row_class=None, InstanceMaker maker=None):
        self.plan = plan
        self.kind = kind
        self.row_class = row_class
        self._maker = maker
        if kind not in _ROW_KINDS:
            raise ValueError(f"kind must be one of {', '.join(_ROW_KINDS)}, got {kind!r}")
        self._kind = _ROW_KINDS[kind]
        if (maker is not None) != (self._kind == ROW_INSTANCE):
            raise ValueError("maker must be given for kind 'instance', and only for it")
        if maker is not None and maker._columns != plan._count:
            raise ValueError(f"{maker!r} is for {maker._columns} columns, the result has {plan._count}")
        if (row_class is not None) != (self._kind == ROW_NAMED):
            raise ValueError("row_class must be given for kind 'named', and only for it")
        if self._kind == ROW_NAMED and not is_plain_tuple_class(row_class):
            raise TypeError(f"{row_class!r} is not a namedtuple class without instance attributes")
        if self._kind == ROW_NAMED:
            explain_rows(row_class)
        fields = getattr(row_class, "_fields", None)
        if fields is not None and len(fields) != plan._count:
            raise ValueError(f"{row_class!r} has {len(fields)} fields, the result has {plan._count} columns")
        self._is_reversible = is_reversible(self)


cdef RowPlan tuple_plan(ResultPlan plan):
    """Return the plan's cached row plan for tuples."""
    cdef object known = load_once(tuples_of(plan))
    if known is None:
        known = put_once(tuples_of(plan), RowPlan(plan, "tuple"))
    return <RowPlan>known


# ---- rows
#
# One native loop per page: the cells of a row are decoded directly into the row object.

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


cdef Py_ssize_t fill_tuples(RowPlan row_plan, PyTypeObject* cls, Cursor* c, list rows, RowRange* part) except -1:
    """Decode rows as tuples, of the built-in class or a namedtuple's."""
    cdef ResultPlan plan = row_plan.plan
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


cdef Py_ssize_t fill_dicts(RowPlan row_plan, Cursor* c, list rows, RowRange* part) except -1:
    """Decode rows as dicts; keys are the plan's own interned names. The last of two equal names wins."""
    cdef ResultPlan plan = row_plan.plan
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
        row = {} if row_plan._kind == ROW_DICT else <dict>new_ordered_dict()
        fill_row(plan, c, cells.items(), part.version, &part.at)
        for j in range(plan._count):
            if row_plan._kind == ROW_DICT:
                PyDict_SetItem(row, names[j], cells.items()[j])
            else:
                set_in_ordered_dict(row, names[j], cells.items()[j])
            cells.clear(j)
        SET_LIST(<PyObject*>rows, i, owned(row))
    return n


cdef Py_ssize_t fill_instances(RowPlan row_plan, Cursor* c, list rows, RowRange* part) except -1:
    """Decode rows as instances of a program's class. While its code runs, part.at.column is MAKING."""
    cdef ResultPlan plan = row_plan.plan
    cdef InstanceMaker maker = row_plan._maker
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


cdef int track_rows(RowPlan row_plan, list rows, Py_ssize_t filled) except -1:
    """Track instances, and the list that holds them, which constructors must not see incomplete."""
    cdef Py_ssize_t i
    cdef InstanceMaker maker = row_plan._maker
    if maker._is_untracked() and not (maker._kind == BY_TUPLE and row_plan.plan._atomic):
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
    if FREE_THREADED:  # that interpreter has another allocator
        return 0
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


cdef list decode_rows(RowPlan row_plan, Cursor* c, Py_ssize_t count, RowRange* part, list failure):
    """Decode the next rows at the cursor: *count*, or those that begin before the limit.

    DriverException names the position of the error. If *failure* is a list the error is appended to it instead, and the
    rows before the broken one are returned.
    """
    cdef list rows = PyList_New(count)
    cdef Py_ssize_t first = part.at.row, filled
    cdef const uint8_t* begin = c.p
    try:
        if row_plan._kind == ROW_TUPLE:
            filled = fill_tuples(row_plan, &PyTuple_Type, c, rows, part)
        elif row_plan._kind == ROW_NAMED:
            filled = fill_tuples(row_plan, <PyTypeObject*>row_plan.row_class, c, rows, part)
        elif row_plan._kind == ROW_INSTANCE:
            GC_UNTRACK(<PyObject*>rows)
            filled = fill_instances(row_plan, c, rows, part)
        else:
            filled = fill_dicts(row_plan, c, rows, part)
    except MemoryError:
        raise
    except Exception as error:
        if part.at.column == MAKING:
            wrapped = making_error(error, &part.at)
            if failure is None:
                raise
        else:
            wrapped = row_error(row_plan.plan, &part.at, error)
            if failure is None:
                raise wrapped from error
            wrapped.__cause__ = error
        failure.append(wrapped)
        filled = part.at.row - first
    if filled < count:
        SET_SLICE(rows, filled, count, NULL)
    if row_plan._kind == ROW_INSTANCE:
        track_rows(row_plan, rows, filled)
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
    cdef vector[uint32_t] offsets  # of every MARK-th row, as far as it was reached


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
    cdef _Marks _marks  # None until rows are read out of sequence; used in critical sections of the page
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
        cdef RowPlan row_plan = factory_plan(self.plan, factory)
        if row_plan is None or self._rows.end - self._rows.p > LARGE:
            return None
        return self._decode(row_plan, 0, self._count)

    def detached(self):
        """Return a copy of the rows that pins no frame of the pool, for long retention."""
        cdef bytes data = PyBytes_FromStringAndSize(<const char*>self._rows.p, self._rows.end - self._rows.p)
        return page_of_bytes(self.plan, data, self._count, self._version)

    cdef int _check(self, RowPlan row_plan) except -1:
        if row_plan.plan is not self.plan and row_plan.plan.codecs != self.plan.codecs:
            raise ValueError("the row plan belongs to another result plan")
        return 0

    cdef list _decode(self, RowPlan row_plan, Py_ssize_t start, Py_ssize_t stop):
        cdef Cursor c = self._rows
        cdef RowRange part
        self._check(row_plan)
        part.at.row = 0
        part.at.column = 0
        part.limit = NULL
        part.version = self._version
        if start > 0:
            self._seek(&c, start, &part.at)
        rows = decode_rows(row_plan, &c, stop - start, &part, None)
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
        cdef _Marks made = _Marks.__new__(_Marks)
        with cython.critical_section(self):
            if self._marks is None:
                self._marks = made
                made.offsets.push_back(0)
            self._scan_to_mark(c, mark, at)
        return 0

    cdef int _scan_to_mark(self, Cursor* c, Py_ssize_t mark, RowPosition* at) except -1:
        cdef Py_ssize_t known
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
    """Lists of rows of a page. It changes only its own state: any number may iterate over one page, in any threads. Of
    threads that share one, each gets some of the lists, or the same ones."""

    cdef RowsPage _page
    cdef RowPlan _row_plan
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
        cdef Cursor c
        cdef RowRange part
        cdef Py_ssize_t row
        cdef list rows, failure, before
        with cython.critical_section(self):
            c, row, failure = self._at, self._row, self._failure
            if failure is not None:
                self._row = page._count
                self._failure = None
        if failure is not None:
            raise failure[0]
        if row >= page._count:
            raise StopIteration
        part.at.row = row
        part.at.column = 0
        part.limit = NULL
        if c.end - c.p > self._nbytes:
            part.limit = c.p + self._nbytes
        part.version = page._version
        failure = []
        rows = decode_rows(self._row_plan, &c, min(page._count - row, self._size), &part, failure)
        if failure and not rows:
            with cython.critical_section(self):
                self._row = page._count
            raise failure[0]
        if not failure:
            failure = None
        with cython.critical_section(self):
            before, self._failure = self._failure, failure
            self._at = c
            self._row = part.at.row
        return rows


cdef RowBatches new_batches(RowsPage page, RowPlan row_plan, Py_ssize_t size, Py_ssize_t nbytes):
    cdef RowBatches batches = RowBatches.__new__(RowBatches)
    batches._page = page
    batches._row_plan = row_plan
    batches._at = page._rows
    batches._size = size
    batches._nbytes = nbytes
    return batches


@cython.final
cdef class RowsOfBatches:
    """The rows of all batches. A row that cannot be decoded raises, and so does every later call: the rows after it are
    not available, and their absence must not look like the end. Of threads that share one, each gets some of the rows;
    each row goes to at least one of them."""

    cdef RowBatches _following  # never advanced, but replaced together with _rows
    cdef object _rows  # of the current batch
    cdef object _broken

    def __init__(self, RowBatches batches not None):
        self._following = batches
        self._rows = iter(())

    def __iter__(self):
        return self

    def __next__(self):
        cdef RowBatches before, following
        while True:
            with cython.critical_section(self):
                rows, before, broken = self._rows, self._following, self._broken
            for row in rows:
                return row
            if broken is not None:
                raise broken
            following = new_batches(before._page, before._row_plan, before._size, before._nbytes)
            with cython.critical_section(before):
                following._at, following._row, following._failure = before._at, before._row, before._failure
            try:
                following_rows = iter(next(following))
            except StopIteration:
                raise
            except Exception as error:
                with cython.critical_section(self):
                    self._broken = error
                raise
            with cython.critical_section(self):
                if self._rows is rows:  # else another thread has made the same batch
                    self._rows, self._following = following_rows, following


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


# ---- the retained form of a page whose rows were decoded, so that it can be read as columns too; and lazy rows
#
# Of a small page only the rows are retained, if they can be encoded back into it (*is_reversible*): all columns are of
# types whose values determine their bytes, and a row has all columns. The page is then encoded again if columns are
# read, which is rare. Otherwise its bytes are retained: the number of rows, the protocol version, the rows; the other
# objects of such a page cost more. A larger page is retained unchanged, and its rows are decoded on the first access:
# reading columns does not decode them. Frames are retained for pages of at least COPIED bytes; smaller ones are copied,
# as many of them may share a block of the pool.

cdef enum:
    EAGER = UNOWNED  # bytes; rows of smaller pages are decoded at once
    COPIED = 64 << 10  # bytes; smaller pages keep no frame
    KEPT_HEAD = 8
    PLAIN_VERSION = 4  # for values whose bytes are the same in all versions

cdef bytes _no_rows = b""


cdef bytes keep(Cursor* c, int32_t count, int32_t version):
    cdef Py_ssize_t n = c.end - c.p
    cdef bytes kept
    cdef char* p
    if count == 0:
        return _no_rows
    kept = PyBytes_FromStringAndSize(NULL, n + KEPT_HEAD)
    p = PyBytes_AS_STRING(kept)
    memcpy(p, &count, 4)
    memcpy(p + 4, &version, 4)
    memcpy(p + KEPT_HEAD, c.p, <size_t>n)
    return kept


def retained_page(ResultPlan plan not None, kept not None):
    """Restore the page, rows of *plan*, from its retained form."""
    cdef RowsPage page
    cdef const char* p
    if type(kept) is RowsPage:
        return kept
    if type(kept) is list:
        return page_of_bytes(plan, encoded_rows(plan, <list>kept), <int32_t>len(<list>kept), PLAIN_VERSION)
    page = RowsPage.__new__(RowsPage)
    p = PyBytes_AS_STRING(<bytes?>kept)
    page.plan = plan
    page._owner = kept
    page._rows.p = page._rows.end = <const uint8_t*>p
    if PyBytes_GET_SIZE(kept) > KEPT_HEAD:
        memcpy(&page._count, p, 4)
        memcpy(&page._version, p + 4, 4)
        page._rows.p += KEPT_HEAD
        page._rows.end += PyBytes_GET_SIZE(kept)
    return page


cdef bint is_lossless(const TypeNode* node) noexcept:
    """True if a value of this type determines the bytes that it was decoded from, or equivalent ones."""
    return operation_of(node) in (
        INT, TEXT, VARCHAR, ASCII, BIGINT, COUNTER, DOUBLE, FLOAT, TIMESTAMP, UUID, TIMEUUID, BOOLEAN, BLOB, SMALLINT,
        TINYINT, DATE, VARINT, DECIMAL, INET,
    )


cdef bint is_reversible(RowPlan row_plan) except -1:
    """True if rows can be encoded back into their page: see the head of this file."""
    cdef Py_ssize_t i
    if row_plan._kind == ROW_INSTANCE:
        return False
    cdef ResultPlan plan = row_plan.plan
    if (row_plan._kind == ROW_DICT or row_plan._kind == ROW_ORDERED) and len(set(plan.names)) < plan._count:
        return False
    for i in range(plan._count):
        if not is_lossless(plan._nodes[i]):
            return False
    return True


cdef bytes encoded_rows(ResultPlan plan, list rows):
    """Encode *rows* in their present state: a program may have changed the list, or dicts in it."""
    cdef ByteBuffer out
    cdef Py_ssize_t i
    cdef tuple cells
    try:
        for row in rows:
            if isinstance(row, dict):
                cells = tuple([row[name] for name in plan.names])
            elif PyTuple_Check(row):
                cells = tuple(row)
            else:
                raise TypeError(f"expected a dict or tuple as row, got {row!r}")
            if len(cells) != plan._count:
                raise ValueError(f"expected a row of {plan._count} values, got {len(cells)}")
            for i in range(plan._count):
                encode_kept(plan._nodes[i], cells[i], &out)
    except MemoryError:
        raise
    except Exception as error:
        raise RuntimeError(
            f"the result cannot be read as columns any more: its rows were changed ({type(error).__name__}: {error})"
        ) from error
    return buffer_bytes(&out)


cdef int encode_kept(const TypeNode* node, object value, ByteBuffer* out) except -1:
    if value is not None and refers_to(empty_of(<Codec>node.codec), value):
        out.put32(0)
        return 0
    return encode_cell(node, value, out, PLAIN_VERSION)


cdef RowsPage owning_page(RowsPage page):
    """Return the page, or a copy if it is small: a small page must not pin a frame."""
    return page.detached() if page._rows.end - page._rows.p < COPIED else page


@cython.final
cdef class LazyRows:
    """Rows of a page, decoded on the first access."""

    cdef readonly RowsPage page
    cdef RowPlan _row_plan
    cdef list _made

    def __init__(self):
        raise TypeError("use split_page() to make LazyRows")

    def __len__(self):
        return self.page._count

    def rows(self):
        made = load_once(made_of(self))
        if made is None:
            made = put_once(made_of(self), self.page._decode(self._row_plan, 0, self.page._count))
        return made


cdef LazyRows new_lazy_rows(RowsPage page, RowPlan row_plan):
    cdef LazyRows lazy_rows = LazyRows.__new__(LazyRows)
    page._check(row_plan)
    lazy_rows.page = page
    lazy_rows._row_plan = row_plan
    return lazy_rows


cdef tuple lazy_rows_of(
    ResultPlan plan, RowPlan row_plan, Cursor* c, object body, int32_t count, int version, object paging_state
):
    page = owning_page(rows_page(plan, c, body, count, version))
    return (new_lazy_rows(page, row_plan), paging_state, page)


def split_page(RowsPage page not None, RowPlan row_plan not None):
    """``(rows, kept)`` of a page of less than LARGE_PAGE bytes."""
    cdef Cursor c = page._rows
    if c.end - c.p > EAGER:
        page = owning_page(page)
        return new_lazy_rows(page, row_plan), page
    rows = page._decode(row_plan, 0, page._count)
    return rows, rows if row_plan._is_reversible else keep(&c, page._count, page._version)


# ---- columns instead of rows: the cells of a page as one array of objects per column, and vectors as machine numbers

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_WRITABLE
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromObject

cdef extern from "codec/arrays.h" namespace "fastcql" nogil:
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
    if operation_of(node) == VECTOR and node.children[0].fixed > 0:
        op = operation_of(node.children[0])
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
    cdef int kind = (<Codec>number.codec).kind
    cdef Py_ssize_t width = number.fixed
    cdef bytearray numbers = PyByteArray_FromStringAndSize(NULL, width * node.arity)
    load_numbers(p, <size_t>node.arity, <size_t>width, <uint8_t*>PyByteArray_AS_STRING(numbers))
    return PyMemoryView_FromObject(numbers).cast(
        "f" if kind == FLOAT else "d" if kind == DOUBLE else "i" if width == 4 else "q"
    )


# ---- RESULTs with undecoded rows


@cython.final
cdef class RawRows:
    """A RESULT with rows, entirely undecoded, including its column metadata; it owns its memory."""

    cdef readonly object paging_state
    cdef bytes _body
    cdef TypeContext _context
    cdef int _version

    def __init__(self):
        raise TypeError("use ResultDecoder.raw() to make RawRows")

    @property
    def nbytes(self):
        """Size of the body in bytes."""
        return len(self._body)

    def __len__(self):
        """Return the number of rows, as the response has it."""
        cdef Cursor c
        cdef int32_t flags, columns
        c.p = <const uint8_t*>PyBytes_AS_STRING(self._body)
        c.end = c.p + PyBytes_GET_SIZE(self._body)
        take_int(&c)  # kind
        flags = take_int(&c)
        columns = take_int(&c)
        if flags & HAS_MORE_PAGES:
            take_bytes(&c)
        if flags & METADATA_CHANGED:
            take_short_bytes(&c)
        if not flags & NO_METADATA:
            skip_specs(&c, flags, columns)
        return max(0, take_int(&c))

    def page(self):
        """Return its rows."""
        cdef Result result = Result.__new__(Result)
        fill_result(result, self._body, 0, self._version, self._context, None, 0, False)
        return result.page


cdef RawRows new_raw_rows(Cursor* c, bytes body, int version, TypeContext context):
    cdef RawRows raw = RawRows.__new__(RawRows)
    cdef int flags = take_int(c)
    take_int(c)  # number of columns
    raw.paging_state = take_bytes(c) if flags & HAS_MORE_PAGES else None
    raw._body = body
    raw._context = context
    raw._version = version
    return raw
