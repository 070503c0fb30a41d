# The retained form of a page whose rows were decoded, so that it can be read as columns too; and lazy rows.
#
# Of a small page only the rows are retained, if they can be encoded back into it (*turns_back*): all columns are of
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


def kept_page(ResultPlan plan not None, kept not None):
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


cdef bint says_all(const TypeNode* node) noexcept:
    """True if a value of this type determines the bytes that it was decoded from, or equivalent ones."""
    return node.op in (
        INT, TEXT, VARCHAR, ASCII, BIGINT, COUNTER, DOUBLE, FLOAT, TIMESTAMP, UUID, TIMEUUID, BOOLEAN, BLOB, SMALLINT,
        TINYINT, DATE, VARINT, DECIMAL, INET,
    )


cdef bint turns_back(RowPlan how) except -1:
    """True if rows can be encoded back into their page: see the head of this file."""
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
    if value is not None and <PyObject*>value == node.empty:
        out.put32(0)
        return 0
    return encode_cell(node, value, out, PLAIN_VERSION)


cdef RowsPage lasting(RowsPage page):
    """Return the page, or a copy if it is small: a small page must not pin a frame."""
    return page.detached() if page._rows.end - page._rows.p < COPIED else page


@cython.final
cdef class UnmadeRows:
    """Rows of a page, decoded on the first access."""

    cdef readonly RowsPage page
    cdef RowPlan _how
    cdef list _made

    def __init__(self):
        raise TypeError("use split_page() to make UnmadeRows")

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
