# Pages whose encrypted columns are decrypted, for column readers, which read bytes and not values.


def decrypted_page(RowsPage page not None, ResultPlan plan not None):
    """Return *page* with encrypted values decrypted by its ciphers, and with *plan*; see the stub."""
    cdef Cursor c = page._rows
    cdef const uint8_t* p = c.p
    cdef const uint8_t* kept = c.p  # bytes from here on are copied unchanged
    cdef Py_ssize_t row, i, count = page.plan._count
    cdef int32_t size
    cdef RowPosition at
    cdef list ciphers = [codec.cipher for codec in page.plan.codecs]
    cdef list parts = []
    at.row = 0
    at.column = 0
    try:
        for row in range(page._count):
            at.row = row
            for i in range(count):
                at.column = i
                if c.end - p < 4:
                    raise ValueError("the response ends before the length of this value")
                size = load_i32(p)
                p += 4
                if size > c.end - p:
                    raise ValueError(f"a value of {size} bytes where the response has {c.end - p} left")
                if size < 0:
                    continue
                cipher = ciphers[i]
                if cipher is not None:
                    plain = <bytes?>cipher.decrypt(PyBytes_FromStringAndSize(<const char*>p, size))
                    parts.append(PyBytes_FromStringAndSize(<const char*>kept, p - 4 - kept))
                    parts.append((<Py_ssize_t>len(plain)).to_bytes(4, "big"))
                    parts.append(plain)
                    kept = p + size
                p += size
    except MemoryError:
        raise
    except Exception as error:
        raise row_error(page.plan, &at, error) from error
    parts.append(PyBytes_FromStringAndSize(<const char*>kept, p - kept))
    return page_of_bytes(plan, b"".join(parts), page._count, page._version)


def described_page(RowsPage page not None, ResultPlan plan not None):
    """Return the rows of *page* with *plan*; see the stub."""
    if plan._count != page.plan._count:
        raise ValueError(f"a plan of {plan._count} columns does not fit rows of {page.plan._count}")
    return rows_page(plan, &page._rows, page._owner, page._count, page._version)
