# LoopQueue: completions for an asyncio loop.
#
# It has two kinds of entries: operations whose outcomes the loop's thread may take itself, and *told* waiters, whose
# request ended on any thread. Any thread notifies by one append to ``told`` and a write to the descriptor, both native,
# so that no signal handler runs between them. The loop's thread moves entries from ``told`` to ``going``, in reverse
# order, so that removing the next one is cheap; an entry is removed when its waiter goes on. An exception of a signal
# handler leaves the other entries there, and the descriptor readable.

# A turn of the loop is not delayed for longer than this plus one response.
cdef Nanos DRAIN_SLICE = SECOND // 100


cdef class LoopQueue:
    """Completions for one asyncio loop: one descriptor, readable while operations wait in it."""

    cdef CLoopQueue* core
    cdef uint32_t process  # the fork generation of the process that the loop belongs to
    cdef list told  # waiters, _Awaiting or _Waiter, that have their outcome
    cdef list going  # the same, used by the loop's thread; the oldest one last
    cdef object interruption  # exception of a signal handler during drain()

    def __cinit__(self):
        self.process = fork_generation()
        self.told = []
        self.going = []
        self.core = new CLoopQueue()
        if not self.core.open():
            raise OSError(_errno.EMFILE, "cannot create a descriptor for the completions of an event loop")

    def __dealloc__(self):
        if self.core != NULL and self.process == fork_generation():
            close_queue(self.core)
            self.core.release()

    def fileno(self):
        return self.core.fd()

    cdef bint is_of_parent(self) noexcept:
        return self.process != fork_generation()

    cdef int tell(self, waiter, outcome, LoopQueue here) except -1:
        """On any thread: let *waiter* go on with *outcome* on the loop's thread. *here*: this queue, if this thread is
        draining it. No effect if the loop was closed."""
        if type(waiter) is _Awaiting:
            (<_Awaiting> waiter).keep(outcome)
        else:
            (<_Waiter> waiter).outcome = outcome
        self.told.append(waiter)
        if here is not self:
            self.core.alert()
        return 0

    cdef bint next_told(self) noexcept:
        """Move entries to ``going`` if it is empty. Return True if there is one then."""
        if not self.going and self.told:
            self.going, self.told = self.told, self.going
            self.going.reverse()
        return bool(self.going)

    cdef void forget_told(self) noexcept:
        self.told.clear()
        self.going.clear()

    def drain(self):
        if self.is_of_parent():  # a child may run the loop of its parent, a thread of which may have had the lock
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
        while index < operations.size():  # the rest after other callbacks of the loop
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
    """Have the I/O thread process the operations in the queue: the loop will not drain it."""
    cdef vector[COperation*] operations
    queue.close(operations)
    for core in operations:
        dispatch_on_driver(<Operation> core.self)
