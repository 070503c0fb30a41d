# TLS by OpenSSL as Python has it: an ssl.SSLObject between two ssl.MemoryBIO, as a byte filter. Handshake, sessions and
# the wording of errors are a subclass's (cassandra/_net/tls/tls.py).
#
# On the main thread CPython runs the handlers of signals after each call into OpenSSL, and what a handler raises takes the
# place of what the call would have returned, though it has read or written. So calls are such that their traces tell what
# they did. OpenSSL gets whole records; of each a byte is read, which opens it, and then exactly the rest:
#
#   OPENING   The byte is not the one that was put in its place before, or there is more of its record: it was read. Else
#             the record had no data, or it was just that byte: nobody can tell, and the connection closes.
#   OPENED    The byte was read.
#   READING   The rest of a record: what is not left of it was read.
#   WRITING   All or nothing: there is more output than before, or not.
#
# A handler may also use the driver. Then it completes the call that it came after (settle), and *turns* tells that to who
# made the call: it returns without touching anything. On other threads there are no handlers, and a record is read at once.

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char* data, Py_ssize_t size, int flags)
    const int PyBUF_READ

cdef size_t RECORD_HEADER = 5
cdef size_t MOST_OF_RECORD = (1 << 14) + 2048  # RFC 5246, 6.2.3
cdef Py_ssize_t MOST_PLAIN = 1 << 14
cdef uint8_t NO_BYTE = 0xA5  # not the first of what a server sends

cdef enum Step:
    RESTING
    OPENING
    OPENED
    READING
    WRITING


cdef size_t record_size(const uint8_t* header) noexcept:
    """With its header; 0 if this is no TLS."""
    cdef size_t size = (<size_t> header[3] << 8) | header[4]
    return RECORD_HEADER + size if 20 <= header[0] <= 24 and header[1] == 3 and size <= MOST_OF_RECORD else 0


cdef class TlsRecords:
    """The records of one TLS session: a ByteFilter, but for handshake and end."""

    cdef public bint established
    cdef readonly bint ended  # the peer said that nothing follows
    cdef object engine, incoming, outgoing
    cdef bint direct  # the engine runs handlers after what it does, and nowhere else
    cdef object error, want_read, zero_return
    cdef bytearray first, rest
    cdef Buffer partial  # the beginning of a record
    cdef bint foreign  # what came is no TLS: OpenSSL is to say so
    cdef bint had_data
    cdef Step step
    cdef uint32_t turns
    cdef Py_ssize_t before  # the step: what was in the BIO that it is about
    cdef Py_ssize_t left  # bytes of the record that is open
    cdef object output  # what is being written

    def __init__(self, tls, incoming, outgoing):
        import ssl

        self.error, self.want_read, self.zero_return = ssl.SSLError, ssl.SSLWantReadError, ssl.SSLZeroReturnError
        # Handlers run also in the frames of methods in Python, before they call it. Without it the main thread leaves
        # the session to other threads.
        self.direct = hasattr(tls, "_sslobj")
        self.engine = tls._sslobj if self.direct else tls
        self.incoming, self.outgoing = incoming, outgoing
        self.first, self.rest = bytearray(1), bytearray(MOST_PLAIN)

    def receive(self, bytes data not None):
        cdef Buffer plain, wire
        error = self.take(<const uint8_t*> PyBytes_AS_STRING(data), <size_t> PyBytes_GET_SIZE(data), plain, wire)
        return bytes_at(plain.data(), plain.size()), bytes_at(wire.data(), wire.size()), error

    def send(self, bytes plaintext not None):
        cdef Buffer wire
        self.put(<const uint8_t*> PyBytes_AS_STRING(plaintext), <size_t> PyBytes_GET_SIZE(plaintext), wire)
        return bytes_at(wire.data(), wire.size())

    def _handshake(self):
        """Override. Goes on with what came, until it is *established*."""

    def _on_first_data(self):
        """Override."""

    def _translated(self, error):
        """Override. What the connection closes with."""
        return error

    cdef object take(self, const uint8_t* data, size_t size, Buffer& plain, Buffer& wire):
        """Appends what *data* holds, and what is to be sent back; returns what is wrong with what came after."""
        cdef uint32_t turn = self.turns
        self.feed(data, size)
        if not self.established:
            self._handshake()
        fault = self.drain(plain) if self.established else None
        if self.turns == turn:
            if not self.had_data and not plain.empty():
                self.had_data = True
                self._on_first_data()
            self.flush(wire)
        return fault

    cdef int put(self, const uint8_t* data, size_t size, Buffer& wire) except -1:
        cdef uint32_t turn = self.turns
        self.output = PyMemoryView_FromMemory(<char*> data, <Py_ssize_t> size, PyBUF_READ)
        self.write()
        if self.turns == turn:
            self.flush(wire)

    cdef object settle(self, Buffer& plain, Buffer& wire):
        """In a handler that interrupted take() or put(), which are through then. Returns what is wrong, or None; of what
        came there may be more to take."""
        cdef bint done = self.step == RESTING
        if self.step == WRITING:
            done = self.outgoing.pending > self.before
        elif not done:
            done = self.account(plain)
        self.flush(wire)
        self.turns += 1
        return None if done else self.unknown()

    cdef int flush(self, Buffer& wire) except -1:
        self.step = RESTING
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
                self.give(self.partial.data(), self.partial.size())
                self.partial.clear()
        part = self.whole(data, size)
        self.give(data, part)
        append(self.partial, <const char*> data + part, size - part)

    cdef int give(self, const uint8_t* data, size_t size) except -1:
        if size > 0:
            self.incoming.write(PyMemoryView_FromMemory(<char*> data, <Py_ssize_t> size, PyBUF_READ))

    cdef size_t missing(self) noexcept:
        """Bytes of what is partial: of the header, then of the record."""
        if self.partial.size() < RECORD_HEADER:
            return RECORD_HEADER - self.partial.size()
        cdef size_t whole = record_size(self.partial.data())
        if whole == 0:
            self.foreign = True
            return 0
        return whole - self.partial.size()

    cdef size_t whole(self, const uint8_t* data, size_t size) noexcept:
        """How much of *data* are whole records."""
        cdef size_t at = 0, one
        while not self.foreign and size - at >= RECORD_HEADER:
            one = record_size(data + at)
            if one > size - at:
                break
            self.foreign = one == 0
            at += one
        return size if self.foreign else at

    cdef object drain(self, Buffer& plain):
        """Appends what the records hold that came; returns what is wrong with one."""
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
                self.account(plain)
        else:
            self.step = READING
            got = self.engine.read(self.left or MOST_PLAIN, self.rest)
            if self.turns == turn:
                append(plain, PyByteArray_AS_STRING(self.rest), <size_t> got)
                self.left = max(self.left - got, <Py_ssize_t> 0)
        if self.turns == turn:
            self.ended = got == 0
            self.step = RESTING

    cdef object interrupted(self, object exception, uint32_t turn, Buffer& plain):
        """After a call that raised: by itself, or a handler did after it."""
        if self.turns != turn or self.account(plain):
            set_aside(exception)
            return None
        self.step = RESTING
        if isinstance(exception, self.zero_return):
            self.ended = True
        elif isinstance(exception, self.want_read) and self.incoming.pending != self.before:
            pass  # a record without data, as that of a session's ticket
        elif isinstance(exception, self.error):
            return self.translated(exception)
        else:
            set_aside(exception)
            return self.unknown()
        return None

    cdef bint account(self, Buffer& plain) except -1:
        """Appends what the last call has read; False if it has nothing."""
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
        self.step = RESTING
        return True

    cdef object translated(self, error):
        """Written in Python, where handlers may run, so that it may have to be done again."""
        while True:
            try:
                translated = self._translated(error)
                translated.__cause__ = error
                return translated
            except BaseException as exception:
                set_aside(exception)

    cdef object unknown(self):
        return error_class("ConnectionException")(
            "the handler of a signal interrupted TLS, and nobody knows what was read or written"
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
                set_aside(exception)
                raise self.unknown() from None
            set_aside(exception)
