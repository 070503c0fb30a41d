# Attempt: one send of a request. Frame and Failure: its outcomes. Exceptions made from native reasons.

import errno as _errno
import threading as _threading

from cassandra._base.real import threading as _real_threading

TIMED_OUT = 1
CLOSED = 2
PROTOCOL = 3
CANCELLED = 4

cdef object _errors = None


cdef object error_class(str name):
    """Return a class of cassandra._base.errors, which is imported at the first failure."""
    global _errors
    if _errors is None:
        from cassandra._base import errors

        _errors = errors
    return getattr(_errors, name)


cdef void drop_object(void* target) noexcept:
    Py_DECREF(<object> target)


cdef object text_of(const string& text):
    return PyUnicode_DecodeUTF8(text.data(), text.size(), "replace")


cdef object make_exception(Reason* reason):
    cdef str message = text_of(reason.message)
    if reason.kind == ReasonKind.System:
        import os

        return OSError(reason.error, f"{message}: {os.strerror(reason.error)}")
    if reason.kind == ReasonKind.Timeout:
        return TimeoutError(reason.error, message)
    if reason.kind == ReasonKind.Protocol:
        return error_class("ProtocolError")(message)
    if reason.kind == ReasonKind.Crc:
        return error_class("CrcException")(message)
    if reason.kind == ReasonKind.Silent:
        return TimeoutError(message)
    if reason.kind == ReasonKind.Heartbeat:
        return error_class("ConnectionException")(message)
    return error_class("ConnectionShutdown")(message)


cdef object reason_exception(Reason* reason):
    """Return the exception for *reason*, one for all threads; None if the driver closed without one."""
    if reason.object() == NULL:
        if reason.kind == ReasonKind.Local:
            return None
        exception = make_exception(reason)
        Py_INCREF(exception)
        if not reason.set_object(<void*> exception, drop_object):
            Py_DECREF(exception)  # another thread was faster
    return <object> reason.object()


cdef Reason* reason_of(object exception) except NULL:
    """Return a new reason that holds *exception*."""
    cdef bytes message = (str(exception) or type(exception).__name__).encode("utf-8", "replace")
    cdef Reason* reason = runtime_reason(message, <void*> exception, drop_object)
    Py_INCREF(exception)  # the reason's reference
    return reason


cdef void report(object exception, object source) noexcept:
    """Pass *exception*, while it is handled, to sys.unraisablehook: there is no caller to raise it to."""
    PyErr_SetObject(type(exception), exception)
    PyErr_WriteUnraisable(source)


# ---- outcomes


@cython.freelist(64)
cdef class Frame:
    """One response envelope. The buffer protocol exposes the body, read-only, without a copy."""

    cdef CFrame native

    def __init__(self, int version, int flags, int stream, int opcode, bytes body not None):
        self.native = make_frame(
            <uint8_t> version, <uint8_t> flags, <int16_t> stream, <uint8_t> opcode,
            PyBytes_AS_STRING(body), <size_t> PyBytes_GET_SIZE(body),
        )

    def __cinit__(self):
        count_frame(1)

    def __dealloc__(self):
        count_frame(-1)

    @property
    def version(self):
        return self.native.version

    @property
    def flags(self):
        return self.native.flags

    @property
    def stream(self):
        return self.native.stream

    @property
    def opcode(self):
        return self.native.opcode

    @property
    def skipped(self):
        return self.native.skipped

    def __len__(self):
        return self.native.length

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, <void*> self.native.body, <Py_ssize_t> self.native.length, 1, flags)

    @property
    def _block(self):
        if self.native.block.get() == NULL:
            return None
        return PyCapsule_New(self.native.block.get(), "fastcql::memory::FrameBlock", NULL)

    def __repr__(self):
        return (
            f"<Frame version={self.version} opcode=0x{self.opcode:02x} stream={self.stream} "
            f"flags=0x{self.flags:02x} length={len(self)}>"
        )


cdef inline tuple plain_result(const CFrame* frame, owner, decoder, plan, factory):
    """See ``plain_rows``."""
    cdef int header = <int> frame.version << 16 | <int> frame.flags << 8 | <int> frame.opcode
    return plain_rows(decoder, owner, frame.body, <Py_ssize_t> frame.length, header, plan, factory)


cdef object wrap_frame(CFrame& native):
    cdef Frame frame = Frame.__new__(Frame)
    frame.native = move(native)
    return frame


cdef class Failure:
    """An attempt ended without a response. ``sent`` is False only when no byte of it reached the socket."""

    cdef readonly int kind
    cdef readonly str message
    cdef readonly bint sent
    cdef readonly double elapsed
    cdef readonly object cause

    def __init__(self, int kind, str message, sent=False, double elapsed=0.0, cause=None):
        self.kind = kind
        self.message = message
        self.sent = sent
        self.elapsed = elapsed
        self.cause = cause

    def __repr__(self):
        names = {TIMED_OUT: "TIMED_OUT", CLOSED: "CLOSED", PROTOCOL: "PROTOCOL", CANCELLED: "CANCELLED"}
        kind = names.get(self.kind, self.kind)
        return f"<Failure {kind} {self.message!r} sent={self.sent} elapsed={self.elapsed:.3f}>"


cdef object wrap_outcome(Outcome& outcome):
    cdef CFailure* failure = outcome.failure.get()
    if failure == NULL:
        return wrap_frame(outcome.frame)
    cdef Failure result = Failure.__new__(Failure)
    result.kind = <int> failure.kind
    result.message = text_of(failure.message)
    result.sent = failure.sent
    result.elapsed = <double> outcome.elapsed / <double> SECOND
    if failure.reason.get() != NULL:
        result.cause = reason_exception(failure.reason.get())
    return result


# ---- Attempt


@cython.final
@cython.freelist(128)
cdef class Attempt:
    """One send of a request: host, connection and stream, needed to give it up, and how to read its response."""

    cdef readonly object host
    cdef readonly object pool
    cdef readonly ConnectionBase connection
    cdef readonly object reprepares
    cdef readonly int64_t page
    cdef public object plan
    cdef public int64_t number
    cdef public int64_t stream
    cdef public double started
    cdef public bint answered

    def __init__(self, host, pool, ConnectionBase connection, int64_t page, reprepares=None, int64_t number=-1, plan=None):
        self.host = host
        self.pool = pool
        self.connection = connection
        self.page = page
        self.reprepares = reprepares
        self.number = number
        self.plan = plan
        self.stream = -1

    cdef object decoder(self):
        return self.connection.results

    cdef void note_stream(self, int64_t stream, double started) noexcept:
        """Note the stream: its response may be there already, and other threads may give up the attempt."""
        with cython.critical_section(self):
            self.stream = stream
            self.started = started

    def abandon(self, Operation request not None):
        cdef int64_t stream
        with cython.critical_section(self):
            stream = self.stream
        if stream >= 0:
            self.connection.orphan(stream, request, self.number)


cdef Attempt first_attempt(host, pool, ConnectionBase connection, plan):
    cdef Attempt attempt = Attempt.__new__(Attempt)
    attempt.host = host
    attempt.pool = pool
    attempt.connection = connection
    attempt.plan = plan
    attempt.stream = -1
    return attempt
