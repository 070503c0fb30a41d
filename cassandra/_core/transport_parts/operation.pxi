# Processes and forks, see _base/process.py.

from cassandra._base import process as _process


def _fork_number():
    return fork_generation()


_process.number_by(_fork_number)
cdef atomic[uint32_t] caught_up
caught_up.store(fork_generation())


cdef inline void catch_up() noexcept:
    """Detect a fork that Python was not notified of. Every use of the driver begins with it."""
    if fork_generation() != caught_up.load(memory_order_relaxed):
        catch_up_now()


cdef void catch_up_now() noexcept:
    cdef uint32_t number = fork_generation()
    try:
        _process.catch_up()
    except BaseException as error:
        report(error, _process)
        return
    caught_up.store(number)


# Operation: the native half of a request. The rules about references are in cpp/transport/operation.h.

cdef double NO_TIMEOUT = float("inf")
# A wait is split into slices: a signal that came just before the thread slept is handled after one slice.
cdef Nanos WAIT_SLICE = SECOND // 2



cdef inline double seconds_now() noexcept:
    return <double> monotonic_now() / <double> SECOND


NO_ATTEMPT = (1 << 32) - 1
cdef int64_t NO_SLOT = NO_ATTEMPT
cdef Failure WAKE_UP = Failure(CLOSED, "another request has ended", False, 0.0)

cdef enum:
    MAX_INTERRUPTIONS = 4

NORMAL = 0
FIRST = 1
DRIVER = 2


cdef class Operation:
    """Native half of one request over all its attempts; ResponseFuture derives from it."""

    cdef COperation core
    cdef uint32_t process  # the fork generation of the process that its request belongs to
    cdef int interruptions  # consecutive interruptions
    cdef Reactor home  # reactor of the last submit: a waiter polls it; its I/O thread processes outcomes that are left

    def __cinit__(self):
        self.core.self = <void*> self
        self.process = fork_generation()

    cdef bint enter_process(self) noexcept:
        """True in a forked child, once, for an operation of the parent: its request stays there."""
        if self.process == fork_generation():
            return False
        catch_up()
        self.process = fork_generation()
        self.core.reset_in_child()
        return True

    @property
    def _priority(self):
        return <int> self.core.priority

    @_priority.setter
    def _priority(self, int priority):
        if priority == DRIVER:
            self.core.priority = Priority.Driver
        else:
            self.core.priority = Priority.First if priority == FIRST else Priority.Normal

    def _take(self):
        cdef Outcome outcome
        self.enter_process()
        if not self.core.take(&outcome):
            return None
        if outcome.holds_reference:
            Py_DECREF(self)  # the caller has another one
        return outcome.attempt, wrap_outcome(outcome)

    def _take_all(self):
        cdef Batch batch
        cdef list taken = []
        cdef size_t index
        self.enter_process()
        if self.core.take_all(&batch):
            drop_references(self, batch.references)
            for index in range(batch.size()):
                taken.append((batch.at(index).attempt, wrap_outcome(batch.at(index))))
            self.core.give_back(move(batch))
        return taken

    def _wait(self, timeout=None):
        return self.wait(NO_TIMEOUT if timeout is None else timeout)

    cdef bint wait(self, double limit) except -1:
        """Wait for an outcome, for *limit* seconds at most. Return True if there is one."""
        if self.enter_process():
            self._on_forked()
        if CChannel.borrows():
            CChannel.give_back()
        if green is not None:
            loop = green.here()
            if loop is not None:
                return self.wait_in(loop, limit)
        if not self.core.enter_wait():
            return True
        cdef Nanos now = monotonic_now()
        cdef Nanos deadline = deadline_after(now, limit)
        cdef Reactor home
        cdef WaitResult waited
        cdef uint32_t process = fork_generation()
        cdef bint abandoned = True
        try:
            while now < deadline:
                home = self.home
                with nogil:
                    waited = wait_natively(self.core, home, min(deadline, now + WAIT_SLICE))
                if waited == WaitResult.NeedsRuntime:
                    home.core.run_input()
                    raise_interruption()
                    if process == fork_generation() and not self.core.still_waiting():
                        waited = WaitResult.Ready
                if waited == WaitResult.Ready:
                    abandoned = False
                    return True
                PyErr_CheckSignals()
                if self.enter_process():  # the handler of a signal has forked, and this is the child
                    self._on_forked()
                    return True
                now = monotonic_now()
            return False
        finally:
            if process == fork_generation():  # in a child the wait has not begun
                self.leave_wait(abandoned)

    def _ask(self):
        if self.home is not None:
            self.home.core.ask()

    cdef bint wait_in(self, loop, double limit) except -1:
        """As wait, for a greenlet: through its hub, see green.pxi."""
        cdef double deadline
        if not self.core.still_waiting():
            return True
        deadline = seconds_now() + limit
        sleeper = green.Sleeper(loop)
        key = PyLong_FromVoidPtr(<void*> self)
        cdef list sleepers = green_waiting.setdefault(key, [])
        sleepers.append(sleeper)
        try:
            self.attach(green_queue(loop))
            while self.core.still_waiting():
                left = deadline - seconds_now()
                if left <= 0:
                    return False
                sleeper.acquire(None if left == NO_TIMEOUT else left)
                if self.enter_process():
                    self._on_forked()
                    return True
            return True
        finally:
            sleepers.remove(sleeper)
            if not sleepers:
                green_waiting.pop(key, None)
                self.attach(None)

    cdef void leave_wait(self, bint abandoned) noexcept:
        cdef int references = 0
        cdef Ref[CCompletionQueue] queue
        cdef Next next = self.core.leave_wait(abandoned, &references, &queue)
        drop_references(self, references)
        schedule_processing(self, next, queue)

    @property
    def _answered(self):
        return self.core.ready()

    def _finish(self):
        self.enter_process()
        self.core.finish()
        if green_waiting:
            wake_greenlets(self)

    @property
    def _finished(self):
        return self.core.finished()

    def _rearm(self):
        self.rearm()

    cdef void rearm(self) noexcept:
        self.enter_process()
        drop_references(self, self.core.rearm())

    def _set_prompt(self, bint watched=True):
        self.core.set_prompt(watched)

    def _set_eager(self):
        self.set_eager()

    cdef int set_eager(self) except -1:
        cdef Ref[CCompletionQueue] queue
        if self.enter_process():
            self._on_forked()
        schedule_processing(self, self.core.set_eager(&queue), queue)
        self.watch()
        return 0

    def _attach(self, CompletionQueue queue):
        self.attach(queue)

    cdef int attach(self, CompletionQueue queue) except -1:
        cdef Ref[CCompletionQueue] new_queue, target
        if self.enter_process():
            self._on_forked()
        if queue is not None:
            new_queue = Ref[CCompletionQueue](queue.core)
        schedule_processing(self, self.core.attach(new_queue, &target), target)
        self.watch()
        return 0

    cdef void watch(self) noexcept:
        """Have the I/O thread poll if no other thread does: a response in flight has an observer."""
        if self.home is not None:
            self.home.core.watch()

    def _inject(self, uint32_t attempt, outcome):
        cdef Outcome native
        fill_outcome(&native, attempt, outcome)
        cdef Ref[CCompletionQueue] queue
        Py_INCREF(self)  # the outcome's reference
        cdef Next next = self.core.deliver(move(native), &queue)
        if next == Next.Dispatch:
            dispatch(self)
        elif next == Next.Enqueue:
            enqueue(self, queue)
        elif next == Next.Drop:
            drop_references(self, self.core.leave_drop_list())

    def _on_forked(self):
        """In a forked child, when the outcome of a request of the parent is requested."""
        raise error_class("ConnectionShutdown")("the request was made by the parent of this process")

    cdef int on_outcome(self) except -1:
        self._on_outcome()
        return 0

    cdef int on_outcome_in_loop(self, CompletionQueue queue) except -1:
        """As on_outcome, on the thread of the event loop of *queue*, while it drains the queue. Repeated if a signal
        handler interrupts it: _on_outcome leaves unprocessed outcomes in place."""
        try:
            self.on_outcome()
        except BaseException:
            self.interruptions += 1
            if self.interruptions < MAX_INTERRUPTIONS:  # else the exception is not that of a signal handler
                self._inject(NO_SLOT, WAKE_UP)
            raise
        self.interruptions = 0
        return 0

    def _on_outcome(self):
        """Override. Takes and processes outcomes; must not block and must not raise."""

    def _on_silent(self, attempt):
        """Override. The peer is silent. On the I/O thread."""

    def _wake_up(self):
        self._inject(NO_SLOT, WAKE_UP)


cdef int fill_outcome(Outcome* native, uint32_t attempt, outcome) except -1:
    """Set *native* from *attempt* and a Frame or Failure."""
    cdef Failure failure
    cdef Reason* reason = NULL
    native.attempt = attempt
    if isinstance(outcome, Frame):
        native.frame = (<Frame> outcome).native
        native.hot = is_hot(native.frame, Peek.Nothing)
        return 0
    failure = outcome
    native.elapsed = <Nanos> (failure.elapsed * SECOND)
    if failure.cause is not None:
        reason = reason_of(failure.cause)
    native.failure.reset(
        make_failure(failure.kind, failure.sent, failure.message.encode("utf-8", "replace"), reason)
    )
    return 0


cdef WaitResult wait_natively(COperation& core, Reactor home, Nanos deadline) noexcept nogil:
    """Wait for an outcome. With requests in flight this thread may poll."""
    return core.sleep(deadline) if home is None else home.core.await(core, deadline)


cdef void drop_references(Operation operation, int count) noexcept:
    """Drop references of outcomes; the caller has one more."""
    while count > 0:
        Py_DECREF(operation)
        count -= 1


cdef void schedule_processing(Operation operation, Next next, Ref[CCompletionQueue]& queue) noexcept:
    """Add a reference for an outcome that another thread has to process, and have it processed."""
    if next == Next.Nothing:
        return
    Py_INCREF(operation)
    if next == Next.Enqueue:
        enqueue(operation, queue)
        return
    dispatch_on_driver(operation)


cdef void dispatch_on_driver(Operation operation) noexcept:
    """Dispatch on the I/O thread; on this thread if there is none, or it was stopped. Takes over a reference."""
    cdef Reactor home = operation.home
    if home is None or home.core.foreign() or not home.core.dispatch_later(&operation.core):
        dispatch(operation)


cdef void enqueue(Operation operation, Ref[CCompletionQueue]& queue) noexcept:
    """Push to *queue*; if that is closed, dispatch on the I/O thread. Takes over a reference."""
    cdef cbool notify = False
    if not queue.get().push(&operation.core, &notify):
        dispatch_on_driver(operation)
    elif notify:
        queue.get().signal()


cdef void dispatch(Operation operation, CompletionQueue loop=None) noexcept:
    """Call _on_outcome as long as there are outcomes for it. Takes over a reference. *loop*: the queue of the event
    loop whose thread this is. Such a thread takes plain results only, where the driver decides, and leaves an
    interruption by a signal handler in the queue for its caller."""
    cdef int references
    cdef Next next
    cdef DispatchStart begun
    cdef Ref[CCompletionQueue] queue
    while True:
        begun = operation.core.begin_dispatch(loop is not None)
        if begun == DispatchStart.OnDriver:
            dispatch_on_driver(operation)
            return
        if begun == DispatchStart.Nothing:
            break
        try:
            if loop is None:
                operation.on_outcome()
            else:
                operation.on_outcome_in_loop(loop)
        except BaseException as exception:
            if loop is None or isinstance(exception, Exception):
                report(exception, operation)
            else:
                loop.interruption = exception
        references = 0
        next = operation.core.end_dispatch(&references, &queue)
        drop_references(operation, references)
        if green_waiting:  # outcomes that were not taken are for the greenlets
            wake_greenlets(operation)
        if next == Next.Enqueue:
            enqueue(operation, queue)
            return
        if next == Next.Dispatch and loop is not None:
            dispatch_on_driver(operation)
            return
        if next == Next.Nothing:
            break
    Py_DECREF(operation)


cdef void drop_operations(COperation* list) noexcept:
    """Drop references that were collected while no thread had the GIL."""
    cdef COperation* core = list
    cdef Operation operation
    while core != NULL:
        operation = <Operation> core.self
        core = core.next_drop
        drop_references(operation, operation.core.leave_drop_list())
        operation = None


cdef extern from *:
    """
    #include <atomic>
    static std::atomic<void (*)(fastcql::Operation*)> fastcql_drop{nullptr};
    static void fastcql_drop_list(fastcql::Operation* list) noexcept {
        fastcql_drop.load(std::memory_order_acquire)(list);
    }
    static void fastcql_set_drop(void (*drop)(fastcql::Operation*)) noexcept { fastcql_drop.store(drop); }
    """
    void drop_list "fastcql_drop_list"(COperation* list) noexcept
    void set_drop "fastcql_set_drop"(void (*drop)(COperation*) noexcept) noexcept


set_drop(drop_operations)  # or what also counts requests, see metrics.pxi


cdef Attempt attempt_in(tuple attempts, uint32_t number):
    for attempt in attempts:
        if (<Attempt> attempt).number == number:
            return <Attempt> attempt
    return None


def replaced(owner, str name not None, before, after):
    """Atomically set the attribute *name* of *owner*, a slot, to *after* if it is *before*. Return True if it was."""
    cdef Py_ssize_t offset = slot_offset(type(owner), name.encode())
    cdef bint done
    if offset < 0:
        raise TypeError(f"{name!r} is not a slot of {type(owner)!r}")
    with cython.critical_section(owner):
        done = replace_slot(<PyObject*> owner, offset, <PyObject*> before, <PyObject*> after)
    if done:
        Py_DECREF(before)
    return done
