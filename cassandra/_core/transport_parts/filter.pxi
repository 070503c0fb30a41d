# Byte filters and decompressors: Python objects that raw bytes go through. Called on the I/O thread with the
# GIL. An exception becomes the reason the channel closes with.


cdef bytes bytes_at(const uint8_t* data, size_t size):
    return PyBytes_FromStringAndSize(<const char*> data, <Py_ssize_t> size)


cdef int append_bytes(Buffer& buffer, object data) except -1:
    cdef bytes checked = data
    append(buffer, PyBytes_AS_STRING(checked), <size_t> PyBytes_GET_SIZE(checked))
    return 0


cdef Reason* caught(object exception) noexcept:
    try:
        return reason_of(exception)
    except BaseException:
        return host_reason(b"an exception without a text", NULL, drop_object)


cdef Reason* filter_start(void* target, Buffer& wire) noexcept:
    try:
        append_bytes(wire, (<object> target).start())
    except BaseException as exception:
        return caught(exception)
    return NULL


cdef Reason* filter_receive(
    void* target, const uint8_t* data, size_t size, Buffer& plain, Buffer& wire
) noexcept:
    try:
        received, answer, error = (<object> target).receive(bytes_at(data, size))
        append_bytes(plain, received)
        append_bytes(wire, answer)
        if error is not None:
            return caught(error)
    except BaseException as exception:
        return caught(exception)
    return NULL


cdef Reason* filter_send(void* target, const uint8_t* data, size_t size, Buffer& wire) noexcept:
    try:
        append_bytes(wire, (<object> target).send(bytes_at(data, size)))
    except BaseException as exception:
        return caught(exception)
    return NULL


cdef Reason* filter_eof(void* target) noexcept:
    try:
        (<object> target).eof()
    except BaseException as exception:
        return caught(exception)
    return NULL


cdef void filter_end(void* target, Buffer& wire) noexcept:
    try:
        append_bytes(wire, (<object> target).shutdown())
    except BaseException as exception:
        report(exception, <object> target)


cdef cbool filter_established(void* target) noexcept:
    try:
        return bool((<object> target).established)
    except BaseException as exception:
        report(exception, <object> target)
        return False


cdef Reason* decompress(
    void* target, const uint8_t* data, size_t size, size_t plain_size, Buffer& out
) noexcept:
    try:
        append_bytes(out, (<object> target)(bytes_at(data, size), plain_size))
    except BaseException as exception:
        return caught(exception)
    return NULL
