# LoopQueue: completions for an asyncio loop.
#
# Two kinds: operations whose outcomes the loop's thread may take itself, and *told* waiters, whose request ended on another
# thread or on this one. Any thread tells by one append to ``told`` and a ring of the descriptor, both native, so that no
# handler of a signal comes between. The loop's thread moves what was told to ``going``, last one first, so that taking the
# next one is cheap; an entry leaves it when its waiter goes on. What a handler raises meanwhile leaves the others there, and
# the descriptor readable.

# A turn of the loop is not held up for longer than this and one answer.
cdef Nanos DRAIN_SLICE = SECOND // 100


cdef class LoopQueue:
    """Completions for one asyncio loop: one descriptor, readable while operations wait in it."""

    cdef CLoopQueue* core
    cdef uint32_t process  # the fork generation of the process whose loop it is of
    cdef list told  # waiters: _Awaiting or _Waiter, which have the outcome
    cdef list going  # of the loop's thread: the same, the oldest one last
    cdef object interruption  # while it is drained: what the handler of a signal raised

    def __cinit__(self):
        self.process = fork_generation()
        self.told = []
        self.going = []
        self.core = new CLoopQueue()
        if not self.core.open():
            raise OSError(_errno.EMFILE, "no descriptor for a loop's completions")

    def __dealloc__(self):
        if self.core != NULL and self.process == fork_generation():
            close_queue(self.core)
            self.core.release()

    def fileno(self):
        return self.core.fd()

    cdef bint is_of_parent(self) noexcept:
        return self.process != fork_generation()

    cdef int tell(self, waiter, outcome, LoopQueue here) except -1:
        """Any thread: *waiter* goes on with *outcome* on the loop's. *here*: this queue, if it is being drained by this
        thread. Nothing happens if the loop was closed."""
        if type(waiter) is _Awaiting:
            (<_Awaiting> waiter).keep(outcome)
        else:
            (<_Waiter> waiter).outcome = outcome
        self.told.append(waiter)
        if here is not self:
            self.core.alert()
        return 0

    cdef bint next_told(self) noexcept:
        """Whether there is one in ``going`` now."""
        if not self.going and self.told:
            self.going, self.told = self.told, self.going
            self.going.reverse()
        return bool(self.going)

    cdef void forget_told(self) noexcept:
        self.told.clear()
        self.going.clear()

    def drain(self):
        if self.is_of_parent():  # a child runs the loop of its parent, which may have had the lock
            return
        cdef vector[COperation*] operations
        cdef size_t index = 0
        cdef cbool notify = False
        cdef Nanos deadline = monotonic_now() + DRAIN_SLICE
        cdef _Turn turn = _Turn()
        turn.begin()
        self.core.take_all(operations)
        while index < operations.size():
            dispatch(<Operation> operations[index].self, self)
            index += 1
            if self.interruption is not None or monotonic_now() >= deadline:
                break
        while index < operations.size():  # the rest, when others on the loop have had their turn
            if not self.core.push(operations[index], &notify):
                dispatch_on_driver(<Operation> operations[index].self)
            elif notify:
                self.core.ring()
            index += 1
        interruption, self.interruption = self.interruption, None
        try:
            if self.next_told():
                go_on(self)
            if interruption is not None:
                raise interruption
        finally:
            if self.going or self.told:
                self.core.alert()
            turn.end()

    def close(self):
        if not self.is_of_parent():
            close_queue(self.core)


cdef void close_queue(CLoopQueue* queue) noexcept:
    """Operations that wait in it are processed on the I/O thread: the loop will not drain the queue."""
    cdef vector[COperation*] operations
    queue.close(operations)
    for core in operations:
        dispatch_on_driver(<Operation> core.self)
