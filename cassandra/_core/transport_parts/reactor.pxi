# Reactor and Timer; exit of the process.

from libc.errno cimport EINVAL, errno

import atexit as _atexit
import socket as _socket
import weakref as _weakref
from os import strerror

# stop() waits in slices, so that Ctrl-C can interrupt it.
cdef Nanos STOP_SLICE = SECOND // 10

DEFAULT_POOL_BYTES = 256 << 20
MIN_STRICT_BYTES = 1 << 20


cdef class Timer:
    """A pending call of Reactor.call_later."""

    cdef CTimer* core

    def __init__(self):
        raise TypeError("timers are made by Reactor.call_later")

    def __dealloc__(self):
        if self.core != NULL:
            self.core.release()

    def cancel(self):
        """Cancel the call. No effect if the callback has run already."""
        cdef void* callback = self.core.take_callback()
        if callback != NULL:
            Py_DECREF(<object> callback)


cdef class Reactor:
    """One I/O thread, its poller (``epoll``, ``kqueue`` or ``poll``), timers and arena of a memory pool."""

    cdef CReactor* core
    cdef readonly object pool
    cdef object __weakref__

    def __cinit__(self, str backend="auto", str name="fastcql-io", pool=None, *, double starvation_warning=5.0):
        if runtime_gone.load():
            raise RuntimeError(
                "the interpreter exits, and the driver has stopped: no connection can be opened any more. An exit "
                "function that needs a connection must be registered after the import of cassandra.cluster"
            )
        if pool is None:
            pool = default_pool(name)
        native_pool = pool._native
        if pool.strict and pool.max_bytes < MIN_STRICT_BYTES:
            raise ValueError(
                f"a strict pool for a reactor must have at least {MIN_STRICT_BYTES} bytes, got {pool.max_bytes}"
            )
        cdef FramePool* native = <FramePool*> PyCapsule_GetPointer(native_pool, "fastcql::memory::FramePool")
        cdef Ref[CReactor] core = CReactor.create(python_runtime, backend.encode(), name.encode(), native[0], deadline_after(0, starvation_warning))
        if core.get() == NULL:
            code = errno
            if code == EINVAL:
                raise ValueError(
                    f"invalid reactor backend: {backend!r}; expected 'auto' or one that this system has of 'epoll', "
                    "'kqueue' and 'poll'"
                )
            text = f"the reactor with backend {backend!r} cannot be started"
            raise OSError(code, f"{text}: {strerror(code)}") if code else OSError(text)
        self.core = core.detach()
        self.pool = pool
        _reactors.add(self)

    def __dealloc__(self):
        if self.core != NULL and not self.core.foreign():
            with nogil:
                self.core.stop(0)
            self.core.release()

    @property
    def backend(self):
        return self.core.backend().decode()

    def connect(
        self,
        int family,
        address,
        handler,
        *,
        double timeout,
        sockopts=(),
        local_address=None,
        byte_filter=None,
    ):
        cdef ConnectSpec spec
        spec.family = family
        spec.timeout = deadline_after(0, timeout)
        fill_address(family, address, &spec.address)
        if local_address is not None:
            fill_address(family, local_address, &spec.local)
        fill_options(sockopts, spec.options)
        self.check_process()
        cdef Channel channel = Channel.__new__(Channel)
        cdef Ref[CChannel] core = Ref[CChannel].adopt(new CChannel(self.core[0], spec))
        channel.core = Ref[CChannel](core.get()).detach()
        channel.reactor = self
        channel.handler = handler
        channel.byte_filter = byte_filter
        if byte_filter is not None:
            channel.core.filter = <void*> byte_filter
        channel.core.self = <void*> channel
        Py_INCREF(channel)  # the engine's reference
        if not self.core.open(core, spec):
            Py_DECREF(channel)
            raise error_class("ConnectionShutdown")("the reactor was stopped")
        return channel

    def call_soon(self, callback):
        self.check_process()
        Py_INCREF(callback)
        if not self.core.call_soon(<void*> callback):
            Py_DECREF(callback)
            raise RuntimeError("the reactor was stopped")

    def call_later(self, double delay, callback):
        self.check_process()
        cdef Timer timer = Timer.__new__(Timer)
        Py_INCREF(callback)
        timer.core = new CTimer(deadline_after(monotonic_now(), delay), <void*> callback)
        if not self.core.add_timer(Ref[CTimer](timer.core)):
            timer.cancel()
            raise RuntimeError("the reactor was stopped")
        return timer

    cdef int check_process(self) except -1:
        if self.core.foreign():
            raise error_class("ConnectionShutdown")("the reactor belongs to the parent of this process")

    def flush(self):
        cdef CChannel* channels
        if self.core.foreign():
            return
        self.core.send_with_runtime()
        channels = self.core.take_flush_list()
        if channels != NULL:
            with nogil:
                self.core.send(channels)
        raise_interruption()

    def in_reactor(self):
        return self.core.is_owner()

    def stop(self, timeout=None):
        if self.core.foreign():
            return True
        cdef Nanos deadline = NEVER if timeout is None else deadline_after(monotonic_now(), timeout)
        cdef Nanos slice
        cdef bint done
        cdef bint greenlet = green is not None and green.here() is not None  # other greenlets run while it waits
        while True:
            slice = 0 if greenlet else max(<Nanos> 0, min(STOP_SLICE, deadline - monotonic_now()))
            with nogil:
                done = self.core.stop(slice)
            if done:
                return True
            PyErr_CheckSignals()
            if self.core.foreign():  # the handler of a signal has forked, and this is the child
                return True
            if monotonic_now() >= deadline:
                return False
            if greenlet:
                green.sleep(green.JOIN_LOOK)

    def stats(self):
        return self.core.stats()


def default_pool(name):
    from cassandra._core.memory import MemoryPool

    return MemoryPool(DEFAULT_POOL_BYTES, name=name)


cdef int fill_address(int family, address, SocketAddress* result) except -1:
    cdef bytes path, host
    if family == _socket.AF_UNIX:
        path = address if isinstance(address, bytes) else address.encode()
        if not parse_unix_path(path, result):
            raise ValueError(f"invalid socket path: {address!r}")
        return 0
    host = address[0].encode()
    if not parse_address(family, host, address[1], result):
        raise ValueError(f"invalid numeric address for family {family}: {address!r}")
    return 0


cdef int fill_options(sockopts, vector[SocketOption]& options) except -1:
    cdef int number
    cdef bytes data
    for level, name, value in sockopts:
        if isinstance(value, int):
            number = value
            add_option(options, level, name, &number, sizeof(number))
        else:
            data = bytes(value)
            add_option(options, level, name, PyBytes_AS_STRING(data), <size_t> PyBytes_GET_SIZE(data))
    return 0


# ---- exit of the process, and counters
# Limit of the wait for callbacks that hang at exit.
_EXIT_TIMEOUT = 5.0
_reactors = _weakref.WeakSet()


def _stop_all():
    """At exit, while Python still runs: stop all reactors, as no native thread may call into Python later, and refuse
    new ones. Exit functions that were registered before this one run after it; their reactors are refused."""
    for reactor in list(_reactors):
        reactor.stop(_EXIT_TIMEOUT)
    runtime_gone.store(True)


_atexit.register(_stop_all)


def debug_counters():
    return {text_of(entry.first): entry.second for entry in counter_values()}
