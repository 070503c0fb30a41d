# LoopQueue: completions for an asyncio loop.

# A turn of the loop is not held up for longer than this and one answer.
cdef Nanos DRAIN_SLICE = SECOND // 100


cdef class LoopQueue:
    """Completions for one asyncio loop: one descriptor, readable while operations wait in it."""

    cdef CLoopQueue* core
    cdef uint32_t process  # the fork generation of the process whose loop it is of
    cdef list ready  # while it is drained: who was told of an outcome, and is to go on with it
    cdef object interruption  # while it is drained: what the handler of a signal raised

    def __cinit__(self):
        self.process = fork_generation()
        self.core = new CLoopQueue()
        if not self.core.open():
            raise OSError(_errno.EMFILE, "no descriptor for a loop's completions")

    def __dealloc__(self):
        if self.core != NULL and self.process == fork_generation():
            close_queue(self.core)
            self.core.release()

    def fileno(self):
        return self.core.fd()

    def drain(self):
        if self.process != fork_generation():  # a child runs the loop of its parent, which may have had the lock
            return
        cdef vector[COperation*] operations
        cdef size_t index = 0
        cdef cbool notify = False
        cdef Nanos deadline = monotonic_now() + DRAIN_SLICE
        cdef list before = self.ready  # whose callback runs the loop, in which we are
        cdef list ready = []
        cdef _Turn turn = _Turn()
        self.core.take_all(operations)
        turn.begin()
        self.ready = ready
        while index < operations.size():
            dispatch(<Operation> operations[index].self, self)
            index += 1
            if self.interruption is not None or monotonic_now() >= deadline:
                break
        self.ready = before
        while index < operations.size():  # the rest, when others on the loop have had their turn
            if not self.core.push(operations[index], &notify):
                dispatch_on_driver(<Operation> operations[index].self)
            elif notify:
                self.core.ring()
            index += 1
        try:
            if ready:
                go_on(ready)
        finally:
            turn.end()
            interruption, self.interruption = self.interruption, None
        if interruption is not None:
            raise interruption

    def close(self):
        if self.process == fork_generation():
            close_queue(self.core)


cdef void close_queue(CLoopQueue* queue) noexcept:
    """Operations that wait in it are processed on the I/O thread: the loop will not drain the queue."""
    cdef vector[COperation*] operations
    queue.close(operations)
    for core in operations:
        dispatch_on_driver(<Operation> core.self)
