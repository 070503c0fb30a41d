# The loop that runs on this thread. asyncio has it, but up to Python 3.11 it makes a system call for the process id
# each time, which costs as much as a tenth of an awaited request, three times per request.
#
# While a loop's queue is drained that loop runs here, by construction, unless another loop is run inside of it. asyncio
# stores an object for the running loop (``running_loop_note``): while it is the same object, kept alive here so that no
# other can have its address, the loop is the same. Without such an object asyncio is called. The adapter of the loop
# (``LoopAdapter``) is cached in the same way.

cdef extern from *:
    """
    struct FastcqlTurn {
        PyObject* loop;  // NULL: not known
        PyObject* note;
        PyObject* adapter;
        uint32_t process;
    };
    static thread_local FastcqlTurn fastcql_turn = {nullptr, nullptr, nullptr, 0};
    """
    ctypedef struct FastcqlTurn:
        PyObject* loop
        PyObject* note
        PyObject* adapter
        uint32_t process
    FastcqlTurn fastcql_turn

cdef extern from "Python.h":
    object PyUnicode_InternFromString(const char* text)

cdef extern from *:
    """
    static PyObject* fastcql_loop_or_none = Py_None;
    """
    PyObject* loop_or_none "fastcql_loop_or_none"  # a function of asyncio, loaded when it is needed

cdef str NOTE_KEY = PyUnicode_InternFromString(RUNNING_LOOP_KEY)


cdef object asyncio_loop():
    find = load_once(&loop_or_none)
    if find is None:
        import asyncio

        find = put_once(&loop_or_none, asyncio._get_running_loop)
    return find()


cdef object current_loop():
    """Return the loop that runs on this thread; None if none does."""
    if fastcql_turn.loop != NULL and fastcql_turn.process == fork_generation():
        if running_loop_note(NOTE_KEY) == fastcql_turn.note:
            return <object> fastcql_turn.loop
    return asyncio_loop()


cdef object running_loop():
    loop = current_loop()
    if loop is None:
        raise RuntimeError("no running event loop")
    return loop


@cython.final
cdef class _Turn:
    """A callback of a loop, on its thread, from :meth:`begin` to :meth:`end`."""

    cdef object loop
    cdef object note
    cdef object adapter
    cdef FastcqlTurn before

    cdef int begin(self) except -1:
        self.before = fastcql_turn
        self.loop = asyncio_loop()
        cdef PyObject* note = running_loop_note(NOTE_KEY)
        if self.loop is None or note == NULL:
            fastcql_turn.loop = NULL
            return 0
        self.note = <object> note
        self.adapter = find_adapter(self.loop)
        fastcql_turn.loop = <PyObject*> self.loop
        fastcql_turn.note = note
        fastcql_turn.adapter = <PyObject*> self.adapter
        if self.adapter is None:
            fastcql_turn.adapter = NULL
        fastcql_turn.process = fork_generation()
        return 0

    cdef void end(self) noexcept:
        global fastcql_turn
        fastcql_turn = self.before
