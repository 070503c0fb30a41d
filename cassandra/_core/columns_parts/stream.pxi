# The C stream: batches of a Python source, which is called with the GIL. The consumer requests one batch after the
# other and may be any thread; it may release the stream from any thread, without the GIL, in any state of the
# interpreter.

from libc.errno cimport EINVAL, EIO, ENOMEM

cdef extern from "Python.h":
    int PyThreadState_SetAsyncExc(unsigned long thread, PyObject* kind)
    unsigned long PyThread_get_thread_ident()

cdef extern from *:
    """
    #include <cstring>
    #include <mutex>
    #include <utility>

    #include "cpython/interpreter.h"

    namespace {

    // A Python object held by native memory. Any thread may release it; without the GIL the object is put into a list,
    // and the interpreter drops it later. The list needs no allocation.
    struct Kept {
        PyObject* object;
        Kept* next;
    };

    bool python_is_there() noexcept { return Py_IsInitialized() && !fastcql::is_finalizing(); }

    std::mutex waiting_lock;
    Kept* waiting = nullptr;

    void drop(Kept* list) noexcept {
        while (Kept* kept = list) {
            list = kept->next;
            Py_DECREF(kept->object);
            delete kept;
        }
    }

    int drop_waiting(void*) noexcept {
        Kept* found = nullptr;
        {
            const std::lock_guard<std::mutex> guard(waiting_lock);
            std::swap(found, waiting);
        }
        drop(found);
        return 0;
    }

    // Returns a new reference. Throws without memory.
    Kept* keep(PyObject* object) {
        auto* kept = new Kept{object, nullptr};
        Py_INCREF(object);
        return kept;
    }

    void let_go(Kept* kept) noexcept {
        if (!python_is_there()) return;  // the process ends: it is not freed
        if (PyGILState_Check()) {
            drop(kept);
            return;
        }
        {
            const std::lock_guard<std::mutex> guard(waiting_lock);
            kept->next = waiting;
            waiting = kept;
        }
        Py_AddPendingCall(drop_waiting, nullptr);  // if that fails, the next stream drops them
    }

    class Streamed {
    public:
        Streamed(PyObject* object, const fastcql::columns::Plan& of) : source(keep(object)), plan(of) {
            plan.retain();
            fastcql::columns::counters().streams.fetch_add(1);
        }
        Streamed(const Streamed&) = delete;
        Streamed& operator=(const Streamed&) = delete;
        ~Streamed() {
            let_go(source);
            plan.release();
            fastcql::columns::counters().streams.fetch_sub(1);
        }
        // Stores the text, cut at a whole character.
        void fail(const char* text, size_t size) noexcept {
            if (size >= sizeof error) {
                size = sizeof error - 1;
                while (size && (text[size] & 0xC0) == 0x80) --size;
            }
            std::memcpy(error, text, size);
            error[size] = 0;
        }

        Kept* const source;
        const fastcql::columns::Plan& plan;
        char error[4096] = {};
    };

    }  // namespace
    """
    cdef cppclass Kept:
        PyObject* object
    Kept* keep(PyObject* object) except +
    void let_go(Kept* kept) noexcept nogil
    cdef cppclass Streamed:
        Streamed(PyObject* object, const Plan& plan) except +
        Kept* source
        const Plan& plan
        char* error
        void fail(const char* text, size_t size) noexcept nogil
    cbool python_is_there() noexcept nogil
    int drop_waiting(void*) noexcept


def stream(ColumnPlan plan not None, source):
    """Return a stream over the batches that *source* returns; see the stub."""
    cdef ArrowArrayStream* found
    drop_waiting(NULL)
    made = owned_by_capsule(calloc(1, sizeof(ArrowArrayStream)), "arrow_array_stream", free_stream)
    found = <ArrowArrayStream*>PyCapsule_GetPointer(made, "arrow_array_stream")
    found.private_data = new Streamed(<PyObject*>source, plan.native[0])
    found.get_schema = stream_schema
    found.get_next = stream_next
    found.get_last_error = stream_error
    found.release = stream_release
    return made


cdef void free_stream(capsule) noexcept:
    cdef ArrowArrayStream* found = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if found.release != NULL:
        found.release(found)
    free(found)


cdef int stream_schema(ArrowArrayStream* found, ArrowSchema* out) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    if export_schema(streamed.plan, out):
        return 0
    streamed.fail("no memory for the schema", 24)
    return ENOMEM


cdef int stream_next(ArrowArrayStream* found, ArrowArray* out) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    out.release = NULL
    if not python_is_there():
        streamed.fail("the interpreter is shutting down", 32)
        return EIO
    return pull(streamed, out)


cdef int pull(Streamed* streamed, ArrowArray* out) noexcept with gil:
    cdef RecordBatch batch
    cdef int code = EIO
    try:
        found = (<object>streamed.source.object)()
        if found is None:
            return 0
        batch = <RecordBatch?>found
        if not batch.plan.native.same_as(streamed.plan):
            code = EINVAL
            raise ValueError(f"a batch of {batch.plan!r} does not fit the schema of the stream")
        if not batch.native.export_array(out, batch.offset, batch.num_rows):
            code = ENOMEM
            raise MemoryError()
        return 0
    except BaseException as error:
        text = text_of_error(error)
        streamed.fail(text, <size_t>len(text))
        raise_again(error)
        return code


cdef bytes text_of_error(error):
    try:
        return f"{type(error).__name__}: {error}".encode(errors="replace")
    except Exception:  # str(error) failed
        return type(error).__name__.encode(errors="replace")


cdef int raise_again(error) noexcept:
    """Schedule an interrupt (Ctrl-C and the like) that native code replaces by its own error: it is raised again in
    this thread, as soon as the thread is back in Python."""
    if not isinstance(error, Exception):
        kind = type(error)
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), <PyObject*>kind)
    return 0


cdef const char* stream_error(ArrowArrayStream* found) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    if streamed.error[0] == 0:
        return NULL
    return streamed.error


cdef void stream_release(ArrowArrayStream* found) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    found.release = NULL
    del streamed
