# RESULTs with rows that nobody looked at yet.


@cython.final
cdef class UnreadRows:
    """A RESULT with rows, none of it decoded, not even what its columns are; in memory of its own."""

    cdef readonly object paging_state
    cdef bytes _body
    cdef TypeContext _context
    cdef int _version

    def __init__(self):
        raise TypeError("they come from ResultDecoder.unread()")

    def page(self):
        """Its rows."""
        cdef Result result = Result.__new__(Result)
        fill_result(result, self._body, 0, self._version, self._context, None, 0, False)
        return result.page


cdef UnreadRows new_unread(Cursor* c, bytes body, int version, TypeContext context):
    cdef UnreadRows unread = UnreadRows.__new__(UnreadRows)
    cdef int flags = take_int(c)
    take_int(c)  # how many columns
    unread.paging_state = take_bytes(c) if flags & HAS_MORE_PAGES else None
    unread._body = body
    unread._context = context
    unread._version = version
    return unread
