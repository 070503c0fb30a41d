# LoopQueue: completions for an asyncio loop.


cdef class LoopQueue:
    """Completions for one asyncio loop: one descriptor, readable while operations wait in it."""

    cdef CLoopQueue* core

    def __cinit__(self):
        self.core = new CLoopQueue()
        if not self.core.open():
            raise OSError(_errno.EMFILE, "no descriptor for a loop's completions")

    def __dealloc__(self):
        if self.core != NULL:
            close_queue(self.core)
            self.core.release()

    def fileno(self):
        return self.core.fd()

    def drain(self):
        cdef vector[COperation*] operations
        self.core.take_all(operations)
        for core in operations:
            dispatch(<Operation> core.self)

    def close(self):
        close_queue(self.core)


cdef void close_queue(CLoopQueue* queue) noexcept:
    """Operations that wait in it are processed on this thread: nobody will drain the queue."""
    cdef vector[COperation*] operations
    queue.close(operations)
    for core in operations:
        dispatch(<Operation> core.self)
