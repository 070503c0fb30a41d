# Python as the runtime of the C++ engine (cpp/transport/runtime.h): the GIL, the channel handlers. Reactor and Timer; exit
# of the process.

cdef extern from "Python.h" nogil:
    ctypedef int PyGILState_STATE
    ctypedef struct PyThreadState:
        pass
    PyGILState_STATE PyGILState_Ensure()
    void PyGILState_Release(PyGILState_STATE state)
    PyThreadState* PyGILState_GetThisThreadState()
    PyThreadState* PyEval_SaveThread()
    void PyEval_RestoreThread(PyThreadState* state)

cdef extern from *:
    """
    // Set at exit: no reactor thread may take the GIL any more.
    static std::atomic<bool> runtime_gone{false};
    // Kept by such a thread between its turns, so that taking the GIL does not create a thread state each time.
    static thread_local PyThreadState* thread_state = nullptr;
    static thread_local PyGILState_STATE thread_token;
    """
    cdef cppclass AtomicBool "std::atomic<bool>":
        bint load() nogil
        void store(bint value) nogil
    AtomicBool runtime_gone
    PyThreadState* thread_state
    PyGILState_STATE thread_token


from cassandra._base.real import green as _among

cdef bint among_greenlets = _among is not None


cdef void note_thread() noexcept with gil:
    """Mark this thread as the driver's: it has no hub, and does not wait for greenlets."""
    try:
        _among.note_thread("fastcql-io")
    except BaseException as exception:
        report(exception, None)


cdef cbool runtime_enter(void** token) noexcept nogil:
    global thread_state, thread_token
    if runtime_gone.load():
        return False
    if PyGILState_GetThisThreadState() == NULL:
        thread_token = PyGILState_Ensure()
        if among_greenlets:
            note_thread()
        thread_state = PyEval_SaveThread()
    token[0] = <void*> <size_t> PyGILState_Ensure()
    return True


cdef void runtime_leave(void* token) noexcept nogil:
    PyGILState_Release(<PyGILState_STATE> <size_t> token)


cdef void runtime_thread_ending() noexcept nogil:
    global thread_state
    if thread_state == NULL or runtime_gone.load():
        return
    PyEval_RestoreThread(thread_state)
    with gil:
        forget_thread()
    thread_state = NULL
    PyGILState_Release(thread_token)


cdef void forget_thread() noexcept:
    """Remove the entry of this thread that Python's threading module adds when a callback logs, and would keep."""
    try:
        ident = _threading.get_ident()
        if isinstance(_threading._active.get(ident), _threading._DummyThread):
            _threading._active.pop(ident, None)
    except Exception as exception:
        report(exception, None)


cdef void runtime_dispatch(COperation* core) noexcept:
    dispatch(<Operation> core.self)


cdef void runtime_retain(COperation* core) noexcept:
    Py_INCREF(<Operation> core.self)


cdef void runtime_retain_object(void* target) noexcept:
    Py_INCREF(<object> target)


cdef void runtime_call(void* target) noexcept:
    """Call *target*. Takes over a reference."""
    callback = <object> target
    Py_DECREF(callback)
    try:
        callback()
    except BaseException as exception:
        report(exception, callback)


cdef void runtime_warn(const char* text) noexcept:
    try:
        from cassandra._base.logs import get_logger

        get_logger("cassandra.memory").warning(text.decode())
    except BaseException as exception:
        report(exception, None)


cdef Reason* runtime_connected(CChannel& core) noexcept:
    cdef Channel channel = <Channel> core.self
    try:
        channel.handler.on_connected(channel)
    except BaseException as exception:
        return exception_reason(exception)
    return NULL


cdef Reason* runtime_event(CChannel& core, CFrame& native) noexcept:
    cdef Channel channel = <Channel> core.self
    try:
        channel.handler.on_event(channel, wrap_frame(native))
    except BaseException as exception:
        return exception_reason(exception)
    return NULL


cdef void runtime_closed(CChannel& core, Reason& reason) noexcept:
    cdef Channel channel = <Channel> core.self
    handler = channel.handler
    try:
        handler.on_closed(channel, reason_exception(&reason))
    except BaseException as exception:
        report(exception, handler)
    channel.handler = None
    channel.byte_filter = None  # senders hold a reference of their own
    channel.on_quiet = None
    Py_DECREF(channel)  # the engine's reference


cdef void runtime_quiet(CChannel& core) noexcept:
    on_quiet = (<Channel> core.self).on_quiet
    try:
        on_quiet()
    except BaseException as exception:
        report(exception, on_quiet)


cdef Runtime make_runtime() noexcept:
    cdef Runtime runtime
    runtime.enter = runtime_enter
    runtime.leave = runtime_leave
    runtime.interruptible = interruptible
    runtime.thread_ending = runtime_thread_ending
    runtime.dispatch = runtime_dispatch
    runtime.drop_operations = drop_list
    runtime.retain = runtime_retain
    runtime.retain_object = runtime_retain_object
    runtime.call = runtime_call
    runtime.drop_object = drop_object
    runtime.warn = runtime_warn
    runtime.connected = runtime_connected
    runtime.event = runtime_event
    runtime.closed = runtime_closed
    runtime.quiet = runtime_quiet
    runtime.filter_start = filter_start
    runtime.filter_receive = filter_receive
    runtime.filter_send = filter_send
    runtime.filter_eof = filter_eof
    runtime.filter_end = filter_end
    runtime.filter_established = filter_established
    runtime.filter_is_lendable = filter_is_lendable
    runtime.filter_complete = filter_complete
    runtime.compress = compress
    runtime.decompress = decompress
    return runtime


cdef Runtime python_runtime = make_runtime()


# ---- reactors

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

    def drop_released(self):
        if not self.core.foreign():
            drop_list(self.core.drops.take_all())

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
