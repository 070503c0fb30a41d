# The runtime of the C++ engine (cpp/transport/runtime.h): Python, the GIL, the channel handlers.

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
    runtime.drop_operations = drop_operations
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
