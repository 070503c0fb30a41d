# RESULTs with undecoded rows.


@cython.final
cdef class UnreadRows:
    """A RESULT with rows, entirely undecoded, including its column metadata; it owns its memory."""

    cdef readonly object paging_state
    cdef bytes _body
    cdef TypeContext _context
    cdef int _version

    def __init__(self):
        raise TypeError("use ResultDecoder.unread() to make UnreadRows")

    def page(self):
        """Return its rows."""
        cdef Result result = Result.__new__(Result)
        fill_result(result, self._body, 0, self._version, self._context, None, 0, False)
        return result.page


cdef UnreadRows new_unread(Cursor* c, bytes body, int version, TypeContext context):
    cdef UnreadRows unread = UnreadRows.__new__(UnreadRows)
    cdef int flags = take_int(c)
    take_int(c)  # number of columns
    unread.paging_state = take_bytes(c) if flags & HAS_MORE_PAGES else None
    unread._body = body
    unread._context = context
    unread._version = version
    return unread
