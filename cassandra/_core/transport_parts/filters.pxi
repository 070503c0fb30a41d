# Byte filters (TLS is one), compressors and decompressors: Python objects that transform raw bytes. Called with the
# GIL, by the I/O thread or by a thread that submits or waits. The channel closes with their exception as its reason.
#
# On the main thread signal handlers may run, and raise, in them. The exception of a handler is set aside until the call
# that the program made has ended. TLS can find out which steps were done before it; other filters are not called on the
# main thread.


cdef extern from "Python.h" nogil:
    unsigned long PyThread_get_thread_ident()

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char* data, Py_ssize_t size, int flags)
    const int PyBUF_READ
    const int PyBUF_WRITE

cdef extern from "base/threads.h" namespace "fastcql" nogil:
    const bint FREE_THREADED "fastcql::kFreeThreaded"

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


cdef int defer_interruption(object exception) except -1:
    """Set aside an exception of a signal handler; on other threads raise it."""
    if not interruptible():
        raise exception
    if interruptions and interruptions[0] is not exception and exception.__context__ is None:
        exception.__context__ = interruptions[0]
    interruptions[:] = [exception]
    return 0


cdef object call_uninterrupted(function, tuple arguments):
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
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        append(buffer, <const char*> view.buf, <size_t> view.len)
    finally:
        PyBuffer_Release(&view)
    return 0


cdef Reason* exception_reason(object exception) noexcept:
    try:
        return reason_of(exception)
    except BaseException:
        return runtime_reason(b"an exception whose text cannot be read", NULL, drop_object)


cdef Reason* filter_start(void* target, Buffer& wire) noexcept:
    try:
        append_bytes(wire, (<object> target).start())
    except BaseException as exception:
        return exception_reason(exception)
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
            return exception_reason(error)
    except BaseException as exception:
        return exception_reason(exception)
    return NULL


cdef Reason* filter_send(void* target, const uint8_t* data, size_t size, Buffer& wire) noexcept:
    records = <object> target
    try:
        if isinstance(records, TlsRecords):
            (<TlsRecords> records).put(data, size, wire)
        else:
            append_bytes(wire, records.send(bytes_at(data, size)))
    except BaseException as exception:
        return exception_reason(exception)
    return NULL


cdef Reason* filter_eof(void* target) noexcept:
    try:
        (<object> target).eof()
    except BaseException as exception:
        return exception_reason(exception)
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


cdef cbool filter_is_lendable(void* target) noexcept:
    # Without the GIL another thread could use the records while a handler runs.
    records = <object> target
    return not FREE_THREADED and isinstance(records, TlsRecords) and (<TlsRecords> records).direct


cdef Reason* filter_complete(void* target, Buffer& plain, Buffer& wire) noexcept:
    records = <TlsRecords> target
    try:
        fault = records.complete_interrupted(plain, wire)
        if fault is not None:
            return exception_reason(fault)
    except BaseException as exception:
        return exception_reason(exception)
    return NULL


cdef Reason* compress(void* target, const uint8_t* data, size_t size, Buffer& out) noexcept:
    try:
        append_bytes(out, call_uninterrupted(<object> target, (readable(data, size),)))
    except BaseException as exception:
        return exception_reason(exception)
    return NULL


cdef Reason* decompress(
    void* target, const uint8_t* data, size_t size, uint8_t* plain, size_t plain_size, size_t* written
) noexcept:
    try:
        written[0] = (<Decompressor> target).fill(readable(data, size), plain, plain_size)
    except BaseException as exception:
        return exception_reason(exception)
    return NULL


# The views that functions get are valid during the call: no function may keep one.
cdef object readable(const uint8_t* data, size_t size):
    return PyMemoryView_FromMemory(<char*> data, <Py_ssize_t> size, PyBUF_READ)


cdef object writable(uint8_t* data, size_t size):
    return PyMemoryView_FromMemory(<char*> data, <Py_ssize_t> size, PyBUF_WRITE)


cdef class Decompressor:
    """A function that decompresses a block of a known length; see transport.pyi."""

    cdef object function
    cdef bint in_place

    def __init__(self, function not None, bint in_place=False):
        self.function = function
        self.in_place = in_place

    def __call__(self, data not None, Py_ssize_t length):
        if not self.in_place:
            return self.function(data, length)
        plain = PyBytes_FromStringAndSize(NULL, length)
        cdef Py_ssize_t size = self.function(data, writable(<uint8_t*> PyBytes_AS_STRING(plain), length), length)
        return plain if size == length else plain[:size]

    cdef size_t fill(self, object data, uint8_t* plain, size_t size) except? 0:
        """Decompress a segment into the *size* bytes at *plain*. Return the decompressed size, which may differ."""
        cdef bytes made
        if self.in_place:
            return call_uninterrupted(self.function, (data, writable(plain, size), size))
        made = call_uninterrupted(self.function, (data, size))
        memcpy(plain, PyBytes_AS_STRING(made), min(<size_t> PyBytes_GET_SIZE(made), size))
        return <size_t> PyBytes_GET_SIZE(made)


# ---- TLS by Python's OpenSSL: an ssl.SSLObject between two ssl.MemoryBIO, as a byte filter
#
# A subclass implements handshake, sessions and error texts (cassandra/_net/tls.py).
#
# On the main thread CPython runs signal handlers after each call into OpenSSL, and the exception of a handler replaces
# the return value of the call, although the call has read or written. So the calls are made such that their effects can
# be determined afterwards. OpenSSL gets whole records; of each record one byte is read, which opens it, and then
# exactly the rest:
#
#   OPENING   The byte differs from the one that was put in its place before, or the record has more data: it was read.
#             Else the record had no data, or just that byte: this cannot be determined, and the connection closes.
#   OPENED    The byte was read.
#   READING   The rest of a record: bytes of it that are not pending any more were read.
#   WRITING   All or nothing: there is more output than before, or not.
#
# A handler may also use the driver. Then it completes the interrupted call (complete_interrupted), and changes *turns*:
# the call sees this and returns without touching any state. On other threads there are no handlers, and a record is
# read at once.

cdef size_t RECORD_HEADER = 5
cdef size_t MAX_RECORD = (1 << 14) + 2048  # RFC 5246, 6.2.3
cdef Py_ssize_t MAX_PLAINTEXT = 1 << 14
cdef uint8_t NO_BYTE = 0xA5  # not the first byte of any response

cdef enum Step:
    IDLE
    OPENING
    OPENED
    READING
    WRITING


cdef size_t record_size(const uint8_t* header) noexcept:
    """Return the size of a record with its header; 0 if this is not TLS."""
    cdef size_t size = (<size_t> header[3] << 8) | header[4]
    return RECORD_HEADER + size if 20 <= header[0] <= 24 and header[1] == 3 and size <= MAX_RECORD else 0


cdef class TlsRecords:
    """The records of one TLS session: a ByteFilter without handshake and end."""

    cdef public bint established
    cdef readonly bint ended  # the peer reported the end of its data
    cdef object engine, incoming, outgoing
    cdef bint direct  # the engine runs handlers only after its operations
    cdef object error, want_read, zero_return
    cdef bytearray first, rest
    cdef Buffer partial  # the beginning of an incomplete record
    cdef bint foreign  # the input is not TLS: OpenSSL has to report it
    cdef bint received_data
    cdef Step step
    cdef uint32_t turns
    cdef Py_ssize_t before  # of the step: bytes that were pending in its BIO
    cdef Py_ssize_t left  # unread bytes of the open record
    cdef object output  # data being written

    def __init__(self, tls, incoming, outgoing):
        import ssl

        self.error, self.want_read, self.zero_return = ssl.SSLError, ssl.SSLWantReadError, ssl.SSLZeroReturnError
        # Handlers also run in the frames of Python methods, before these call the engine. Without ``_sslobj`` the main
        # thread leaves the session to other threads.
        self.direct = hasattr(tls, "_sslobj")
        self.engine = tls._sslobj if self.direct else tls
        self.incoming, self.outgoing = incoming, outgoing
        self.first, self.rest = bytearray(1), bytearray(MAX_PLAINTEXT)

    def receive(self, bytes data not None):
        cdef Buffer plain, wire
        error = self.take(<const uint8_t*> PyBytes_AS_STRING(data), <size_t> PyBytes_GET_SIZE(data), plain, wire)
        return bytes_at(plain.data(), plain.size()), bytes_at(wire.data(), wire.size()), error

    def send(self, bytes plaintext not None):
        cdef Buffer wire
        self.put(<const uint8_t*> PyBytes_AS_STRING(plaintext), <size_t> PyBytes_GET_SIZE(plaintext), wire)
        return bytes_at(wire.data(), wire.size())

    def _handshake(self):
        """Override. Continue with the input, until *established*."""

    def _on_first_data(self):
        """Override."""

    def _translated(self, error):
        """Override. Return the exception that the connection closes with."""
        return error

    cdef object take(self, const uint8_t* data, size_t size, Buffer& plain, Buffer& wire):
        """Append the plaintext of *data*, and the bytes to send back. Return the error that follows that plaintext, or
        None."""
        cdef uint32_t turn = self.turns
        self.feed(data, size)
        if not self.established:
            self._handshake()
        fault = self.drain(plain) if self.established else None
        if self.turns == turn:
            if not self.received_data and not plain.empty():
                self.received_data = True
                self._on_first_data()
            self.flush(wire)
        return fault

    cdef int put(self, const uint8_t* data, size_t size, Buffer& wire) except -1:
        cdef uint32_t turn = self.turns
        self.output = readable(data, size)
        self.write()
        if self.turns == turn:
            self.flush(wire)

    cdef object complete_interrupted(self, Buffer& plain, Buffer& wire):
        """Complete take() or put() in a signal handler that interrupted it. Return the error, or None. There may be
        more input to take."""
        cdef bint done = self.step == IDLE
        if self.step == WRITING:
            done = self.outgoing.pending > self.before
        elif not done:
            done = self.append_read(plain)
        self.flush(wire)
        self.turns += 1
        return None if done else self.unknown()

    cdef int flush(self, Buffer& wire) except -1:
        self.step = IDLE
        self.output = None
        if self.outgoing.pending:
            append_bytes(wire, self.outgoing.read())

    # ---- input

    cdef int feed(self, const uint8_t* data, size_t size) except -1:
        cdef size_t part
        while size > 0 and not self.partial.empty():
            part = min(size, self.missing())
            append(self.partial, <const char*> data, part)
            data += part
            size -= part
            if self.missing() == 0:
                self.write_incoming(self.partial.data(), self.partial.size())
                self.partial.clear()
        part = self.whole(data, size)
        self.write_incoming(data, part)
        append(self.partial, <const char*> data + part, size - part)

    cdef int write_incoming(self, const uint8_t* data, size_t size) except -1:
        if size > 0:
            self.incoming.write(readable(data, size))

    cdef size_t missing(self) noexcept:
        """Return the missing bytes of the partial record: those of its header, then those of the rest."""
        if self.partial.size() < RECORD_HEADER:
            return RECORD_HEADER - self.partial.size()
        cdef size_t whole = record_size(self.partial.data())
        if whole == 0:
            self.foreign = True
            return 0
        return whole - self.partial.size()

    cdef size_t whole(self, const uint8_t* data, size_t size) noexcept:
        """Return the size of the whole records at the beginning of *data*."""
        cdef size_t at = 0, one
        while not self.foreign and size - at >= RECORD_HEADER:
            one = record_size(data + at)
            if one > size - at:
                break
            self.foreign = one == 0
            at += one
        return size if self.foreign else at

    cdef object drain(self, Buffer& plain):
        """Append the plaintext of the records that have arrived. Return the error of one, or None."""
        cdef uint32_t turn = self.turns
        fault = None
        while fault is None and not self.ended:
            self.before = self.incoming.pending
            if self.before == 0 and self.left == 0:
                break
            try:
                self.read(plain)
            except BaseException as exception:
                fault = self.interrupted(exception, turn, plain)
            if self.turns != turn:
                return None
        return fault

    cdef int read(self, Buffer& plain) except -1:
        cdef uint32_t turn = self.turns
        cdef Py_ssize_t got
        if self.left == 0 and interruptible():
            self.first[0] = NO_BYTE
            self.step = OPENING
            got = self.engine.read(1, self.first)
            if self.turns == turn and got > 0:
                self.step = OPENED
                self.append_read(plain)
        else:
            self.step = READING
            got = self.engine.read(self.left or MAX_PLAINTEXT, self.rest)
            if self.turns == turn:
                append(plain, PyByteArray_AS_STRING(self.rest), <size_t> got)
                self.left = max(self.left - got, <Py_ssize_t> 0)
        if self.turns == turn:
            self.ended = got == 0
            self.step = IDLE

    cdef object interrupted(self, object exception, uint32_t turn, Buffer& plain):
        """Handle an exception of a call: its own, or that of a signal handler after it."""
        if self.turns != turn or self.append_read(plain):
            defer_interruption(exception)
            return None
        self.step = IDLE
        if isinstance(exception, self.zero_return):
            self.ended = True
        elif isinstance(exception, self.want_read) and self.incoming.pending != self.before:
            pass  # a record without data, such as a session ticket
        elif isinstance(exception, self.error):
            return self.translated(exception)
        else:
            defer_interruption(exception)
            return self.unknown()
        return None

    cdef bint append_read(self, Buffer& plain) except -1:
        """Append the bytes that the last call has read. Return False if it has read none."""
        cdef Py_ssize_t left = self.engine.pending()
        if self.step == READING:
            if left >= self.left:
                return False
            append(plain, PyByteArray_AS_STRING(self.rest), <size_t> (self.left - left))
        elif self.step == OPENED or left > 0 or self.first[0] != NO_BYTE:
            append(plain, PyByteArray_AS_STRING(self.first), 1)
        else:
            return False
        self.left = left
        self.step = IDLE
        return True

    cdef object translated(self, error):
        """Return the exception for *error*, from Python code: handlers may run in it, so it may have to be repeated."""
        while True:
            try:
                translated = self._translated(error)
                translated.__cause__ = error
                return translated
            except BaseException as exception:
                defer_interruption(exception)

    cdef object unknown(self):
        return error_class("ConnectionException")(
            "a signal handler interrupted TLS; the bytes that were read or written cannot be determined"
        )

    # ---- output

    cdef int write(self) except -1:
        cdef uint32_t turn = self.turns
        self.before = self.outgoing.pending
        self.step = WRITING
        try:
            self.engine.write(self.output)
        except BaseException as exception:
            if self.turns == turn and self.outgoing.pending <= self.before:
                if isinstance(exception, self.error):
                    raise self.translated(exception)
                defer_interruption(exception)
                raise self.unknown() from None
            defer_interruption(exception)
