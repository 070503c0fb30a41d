# Exceptions made from native reasons.

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
