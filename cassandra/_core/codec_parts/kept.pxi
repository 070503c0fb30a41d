# What is kept of a page whose rows were made, so that it can be columns too; and rows that nobody asked for yet.
#
# Of a small page nothing is kept but its rows, where these can be turned back into it: the page is encoded again for the
# few who ask. Rows can, if all columns are of types whose values say everything, and a row has all columns (*turns_back*).
# If not, its bytes are kept: how many rows, the protocol's version, the rows; all else that such a page has costs more. A
# page that is not so small is kept as it is, and its rows are made when somebody asks for them: whoever asks for columns
# does without. Frames are kept for pages of a size of their own; what is smaller is copied, as many of them may share a
# block of the pool.

cdef enum:
    EAGER = UNOWNED  # bytes; rows of smaller pages are made at once
    COPIED = 64 << 10  # bytes; smaller pages keep no frame
    KEPT_HEAD = 8
    PLAIN_VERSION = 4  # of values that are the same in all

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


def kept_page(ResultPlan plan not None, kept not None):
    """The page that *kept* was kept of: Result rows of *plan*."""
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


cdef bint says_all(const TypeNode* node) noexcept:
    """Whether a value of this type tells the bytes that it was decoded from, or others that mean the same."""
    return node.op in (
        INT, TEXT, VARCHAR, ASCII, BIGINT, COUNTER, DOUBLE, FLOAT, TIMESTAMP, UUID, TIMEUUID, BOOLEAN, BLOB, SMALLINT,
        TINYINT, DATE, VARINT, DECIMAL, INET,
    )


cdef bint turns_back(RowPlan how) except -1:
    """Whether rows can be turned back into their page: see the head of this file."""
    cdef Py_ssize_t i
    if how._kind == ROW_INSTANCE:
        return False
    if (how._kind == ROW_DICT or how._kind == ROW_ORDERED) and len(set(how.plan.names)) < how.plan._count:
        return False
    for i in range(how.plan._count):
        if not says_all(how.plan._nodes[i]):
            return False
    return True


cdef bytes encoded_rows(ResultPlan plan, list rows):
    """The bytes of *rows* as they are: a program may have changed the list, or dicts in it."""
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
                raise TypeError(f"a row is {row!r}")
            if len(cells) != plan._count:
                raise ValueError(f"a row has {len(cells)} values")
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
    if value is not None and <PyObject*>value == node.empty:
        out.put32(0)
        return 0
    return encode_cell(node, value, out, PLAIN_VERSION)


cdef RowsPage lasting(RowsPage page):
    """A page that keeps no frame for little."""
    return page.detached() if page._rows.end - page._rows.p < COPIED else page


@cython.final
cdef class UnmadeRows:
    """Rows of a page, made when they are asked for, by whoever asks first."""

    cdef readonly RowsPage page
    cdef RowPlan _how
    cdef list _made

    def __init__(self):
        raise TypeError("they come from split_page()")

    def __len__(self):
        return self.page._count

    def rows(self):
        if self._made is None:
            self._made = self.page._decode(self._how, 0, self.page._count)
        return self._made


cdef UnmadeRows new_unmade(RowsPage page, RowPlan how):
    cdef UnmadeRows unmade = UnmadeRows.__new__(UnmadeRows)
    page._check(how)
    unmade.page = page
    unmade._how = how
    return unmade


cdef tuple unmade_of(
    ResultPlan plan, RowPlan how, Cursor* c, object body, int32_t count, int version, object paging_state
):
    page = lasting(rows_page(plan, c, body, count, version))
    return (new_unmade(page, how), paging_state, page)


def split_page(RowsPage page not None, RowPlan how not None):
    """``(rows, kept)`` of a page of less than LARGE_PAGE bytes."""
    cdef Cursor c = page._rows
    if c.end - c.p > EAGER:
        page = lasting(page)
        return new_unmade(page, how), page
    rows = page._decode(how, 0, page._count)
    return rows, rows if how._turns_back else keep(&c, page._count, page._version)
