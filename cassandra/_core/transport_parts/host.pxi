# The host that the C++ engine calls into (cpp/transport/host.h): Python, the GIL, the channel handlers.

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
    // Set at exit: no reactor thread may ask for the GIL any more.
    static std::atomic<bool> host_gone{false};
    // What such a thread keeps between its turns, so that taking the GIL does not create a thread state each time.
    static thread_local PyThreadState* kept_state = nullptr;
    static thread_local PyGILState_STATE kept_token;
    """
    cdef cppclass AtomicBool "std::atomic<bool>":
        bint load() nogil
        void store(bint value) nogil
    AtomicBool host_gone
    PyThreadState* kept_state
    PyGILState_STATE kept_token


cdef cbool host_enter(void** token) noexcept nogil:
    global kept_state, kept_token
    if host_gone.load():
        return False
    if PyGILState_GetThisThreadState() == NULL:
        kept_token = PyGILState_Ensure()
        kept_state = PyEval_SaveThread()
    token[0] = <void*> <size_t> PyGILState_Ensure()
    return True


cdef void host_leave(void* token) noexcept nogil:
    PyGILState_Release(<PyGILState_STATE> <size_t> token)


cdef void host_thread_ending() noexcept nogil:
    global kept_state
    if kept_state == NULL or host_gone.load():
        return
    PyEval_RestoreThread(kept_state)
    with gil:
        forget_thread()
    kept_state = NULL
    PyGILState_Release(kept_token)


cdef void forget_thread() noexcept:
    """Python's threading module notes this thread when a callback logs, and would list it for ever."""
    try:
        ident = _threading.get_ident()
        if isinstance(_threading._active.get(ident), _threading._DummyThread):
            _threading._active.pop(ident, None)
    except Exception as exception:
        report(exception, None)


cdef void host_dispatch(COperation* core) noexcept:
    dispatch(<Operation> core.self)


cdef void host_call(void* target) noexcept:
    """Takes over a reference."""
    callback = <object> target
    Py_DECREF(callback)
    try:
        callback()
    except BaseException as exception:
        report(exception, callback)


cdef void host_warn(const char* text) noexcept:
    try:
        import logging

        logging.getLogger("cassandra.memory").warning(text.decode())
    except BaseException as exception:
        report(exception, None)


cdef Reason* host_connected(CChannel& core) noexcept:
    cdef Channel channel = <Channel> core.self
    try:
        channel.handler.on_connected(channel)
    except BaseException as exception:
        return caught(exception)
    return NULL


cdef Reason* host_event(CChannel& core, CFrame& native) noexcept:
    cdef Channel channel = <Channel> core.self
    try:
        channel.handler.on_event(channel, wrap_frame(native))
    except BaseException as exception:
        return caught(exception)
    return NULL


cdef void host_closed(CChannel& core, Reason& reason) noexcept:
    cdef Channel channel = <Channel> core.self
    handler = channel.handler
    try:
        handler.on_closed(channel, reason_exception(&reason))
    except BaseException as exception:
        report(exception, handler)
    channel.handler = None
    channel.byte_filter = None
    channel.on_quiet = None
    core.self = NULL
    core.filter = NULL
    Py_DECREF(channel)  # the engine's


cdef void host_quiet(CChannel& core) noexcept:
    on_quiet = (<Channel> core.self).on_quiet
    try:
        on_quiet()
    except BaseException as exception:
        report(exception, on_quiet)


cdef Host make_host() noexcept:
    cdef Host host
    host.enter = host_enter
    host.leave = host_leave
    host.interruptible = interruptible
    host.thread_ending = host_thread_ending
    host.dispatch = host_dispatch
    host.drop_operations = drop_operations
    host.call = host_call
    host.drop_object = drop_object
    host.warn = host_warn
    host.connected = host_connected
    host.event = host_event
    host.closed = host_closed
    host.quiet = host_quiet
    host.filter_start = filter_start
    host.filter_receive = filter_receive
    host.filter_send = filter_send
    host.filter_eof = filter_eof
    host.filter_end = filter_end
    host.filter_established = filter_established
    host.filter_lends = filter_lends
    host.filter_settle = filter_settle
    host.compress = compress
    host.decompress = decompress
    return host


cdef Host python_host = make_host()
