# The C stream: batches of a Python source, which is asked with the GIL. Whoever has the stream asks one batch after the
# other and may be any thread; he may release it from any thread, without the GIL, whatever has become of Python.

from libc.errno cimport EINVAL, EIO, ENOMEM

cdef extern from *:
    """
    #include <mutex>
    #include <string>
    #include <vector>

    #if PY_VERSION_HEX >= 0x030D0000
    #define CQL_FINALIZING() Py_IsFinalizing()
    #else
    #define CQL_FINALIZING() _Py_IsFinalizing()
    #endif

    namespace {

    struct Streamed {
        PyObject* source = nullptr;
        const fastcql::columns::Plan* plan = nullptr;
        std::string error;
    };

    bool python_is_there() { return Py_IsInitialized() && !CQL_FINALIZING(); }

    // Sources of streams that were released where the GIL was not at hand; the interpreter drops them.
    std::mutex waiting_lock;
    std::vector<PyObject*>& waiting() {
        static auto* const all = new std::vector<PyObject*>;  // lives as long as the process
        return *all;
    }

    int drop_waiting(void*) {
        std::vector<PyObject*> found;
        {
            const std::lock_guard<std::mutex> guard(waiting_lock);
            found.swap(waiting());
        }
        for (PyObject* source : found) Py_DECREF(source);
        return 0;
    }

    void let_go(PyObject* source) {
        if (!source || !python_is_there()) return;  // the process ends: nobody is left to free it
        if (PyGILState_Check()) {
            Py_DECREF(source);
            return;
        }
        {
            const std::lock_guard<std::mutex> guard(waiting_lock);
            waiting().push_back(source);
        }
        Py_AddPendingCall(drop_waiting, nullptr);  // when it cannot be noted, the next stream drops them
    }

    void end_stream(Streamed* streamed) {
        let_go(streamed->source);
        streamed->plan->release();
        delete streamed;
        fastcql::columns::counters().streams.fetch_sub(1);
    }

    }  // namespace
    """
    cdef cppclass Streamed:
        PyObject* source
        const Plan* plan
        string error
    cbool python_is_there() noexcept nogil
    int drop_waiting(void*) noexcept
    void end_stream(Streamed* streamed) noexcept nogil


def stream(ColumnPlan plan not None, source):
    """A stream over the batches that *source* gives; see the stub."""
    cdef ArrowArrayStream* found
    cdef Streamed* streamed
    drop_waiting(NULL)
    found = <ArrowArrayStream*>calloc(1, sizeof(ArrowArrayStream))
    if found == NULL:
        raise MemoryError()
    streamed = new Streamed()
    streamed.plan = plan.native
    plan.native.retain()
    streamed.source = <PyObject*>source
    Py_INCREF(source)
    counters().streams.fetch_add(1)
    found.get_schema = stream_schema
    found.get_next = stream_next
    found.get_last_error = stream_error
    found.release = stream_release
    found.private_data = streamed
    return PyCapsule_New(found, "arrow_array_stream", free_stream)


cdef void free_stream(capsule) noexcept:
    cdef ArrowArrayStream* found = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if found.release != NULL:
        found.release(found)
    free(found)


cdef int stream_schema(ArrowArrayStream* found, ArrowSchema* out) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    if export_schema(streamed.plan[0], out):
        return 0
    streamed.error = <const char*>b"no memory for the schema"
    return ENOMEM


cdef int stream_next(ArrowArrayStream* found, ArrowArray* out) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    out.release = NULL
    if not python_is_there():
        streamed.error = <const char*>b"the interpreter is shutting down"
        return EIO
    return pull(streamed, out)


cdef int pull(Streamed* streamed, ArrowArray* out) noexcept with gil:
    cdef RecordBatch batch
    cdef int code = EIO
    try:
        found = (<object>streamed.source)()
        if found is None:
            return 0
        batch = <RecordBatch?>found
        if not batch.plan.native.same_as(streamed.plan[0]):
            code = EINVAL
            raise ValueError(f"a batch of {batch.plan!r} in a stream of another schema")
        if not batch.native.export_array(out, batch.offset, batch.num_rows):
            code = ENOMEM
            raise MemoryError()
        return 0
    except BaseException as error:
        text = f"{type(error).__name__}: {error}".encode(errors="replace")
        streamed.error = text
        return code


cdef const char* stream_error(ArrowArrayStream* found) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    if streamed.error.empty():
        return NULL
    return streamed.error.c_str()


cdef void stream_release(ArrowArrayStream* found) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    found.release = NULL
    end_stream(streamed)
