# Byte filters, compressors and decompressors: Python objects that transform raw bytes. Called with the GIL, by the I/O
# thread or by a thread that submits or waits. The channel closes with their exception as its reason.
#
# On the main thread signal handlers may run, and raise, in them. The exception of a handler is set aside until the call
# that the program made has ended. TLS (tls.pxi) can find out which steps were done before it; other filters are not
# called on the main thread.


cdef extern from "Python.h" nogil:
    unsigned long PyThread_get_thread_ident()

cdef unsigned long main_thread = _real_threading.main_thread().ident  # not a greenlet's
cdef list interruptions = []


cdef cbool interruptible() noexcept nogil:
    return PyThread_get_thread_ident() == main_thread


def _main_thread_of_child():
    """Set the main thread of a forked child: the thread that forked."""
    global main_thread
    main_thread = PyThread_get_thread_ident()
    interruptions.clear()


_process.in_child(_main_thread_of_child)


cdef inline int raise_interruption() except -1:
    if interruptions and interruptible():
        raise interruptions.pop()
    return 0


cdef int set_aside(object exception) except -1:
    """Set aside an exception of a signal handler; on other threads raise it."""
    if not interruptible():
        raise exception
    if interruptions and interruptions[0] is not exception and exception.__context__ is None:
        exception.__context__ = interruptions[0]
    interruptions[:] = [exception]
    return 0


cdef object uninterrupted(function, tuple arguments):
    while True:
        try:
            return function(*arguments)
        except Exception:
            raise
        except BaseException as exception:
            if interruptions or not interruptible():  # the first is a signal handler's, the second the function's own
                raise
            interruptions.append(exception)


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
        return runtime_reason(b"an exception whose text cannot be read", NULL, drop_object)


cdef Reason* filter_start(void* target, Buffer& wire) noexcept:
    try:
        append_bytes(wire, (<object> target).start())
    except BaseException as exception:
        return caught(exception)
    return NULL


cdef Reason* filter_receive(
    void* target, const uint8_t* data, size_t size, Buffer& plain, Buffer& wire
) noexcept:
    records = <object> target
    try:
        if isinstance(records, TlsRecords):
            error = (<TlsRecords> records).take(data, size, plain, wire)
        else:
            received, answer, error = records.receive(bytes_at(data, size))
            append_bytes(plain, received)
            append_bytes(wire, answer)
        if error is not None:
            return caught(error)
    except BaseException as exception:
        return caught(exception)
    return NULL


cdef Reason* filter_send(void* target, const uint8_t* data, size_t size, Buffer& wire) noexcept:
    records = <object> target
    try:
        if isinstance(records, TlsRecords):
            (<TlsRecords> records).put(data, size, wire)
        else:
            append_bytes(wire, records.send(bytes_at(data, size)))
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


cdef cbool filter_lends(void* target) noexcept:
    records = <object> target
    return isinstance(records, TlsRecords) and (<TlsRecords> records).direct


cdef Reason* filter_settle(void* target, Buffer& plain, Buffer& wire) noexcept:
    records = <TlsRecords> target
    try:
        fault = records.settle(plain, wire)
        if fault is not None:
            return caught(fault)
    except BaseException as exception:
        return caught(exception)
    return NULL


cdef Reason* compress(void* target, const uint8_t* data, size_t size, Buffer& out) noexcept:
    try:
        append_bytes(out, uninterrupted(<object> target, (bytes_at(data, size),)))
    except BaseException as exception:
        return caught(exception)
    return NULL


cdef Reason* decompress(
    void* target, const uint8_t* data, size_t size, size_t plain_size, Buffer& out
) noexcept:
    try:
        append_bytes(out, uninterrupted(<object> target, (bytes_at(data, size), plain_size)))
    except BaseException as exception:
        return caught(exception)
    return NULL
