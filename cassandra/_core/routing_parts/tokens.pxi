cdef extern from "base/murmur3.h" namespace "fastcql" nogil:
    int64_t c_murmur3_token "fastcql::murmur3_token"(const uint8_t* data, size_t length)


def murmur3_token(key):
    cdef Py_buffer view
    cdef int64_t token
    if PyBytes_CheckExact(key):
        return c_murmur3_token(<const uint8_t*> PyBytes_AS_STRING(key), <size_t> PyBytes_GET_SIZE(key))
    PyObject_GetBuffer(key, &view, PyBUF_SIMPLE)
    try:
        token = c_murmur3_token(<const uint8_t*> view.buf, <size_t> view.len)
    finally:
        PyBuffer_Release(&view)
    return token
