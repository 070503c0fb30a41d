# Requests on asyncio: awaiting them, completion queues, and the adapter of a loop.

# ---- the loop that runs on this thread
#
# asyncio has it, but up to Python 3.11 it makes a system call for the process id
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


# ---- Awaiting: the object that a task yields and waits for while it awaits a request
#
# It has the methods of an asyncio future that tasks use, also tasks of other kinds of loops. It differs in how the task
# goes on: a future has the loop call the task in the loop's next turn, which costs more than all other steps of a
# response. Here the reader callback that takes the responses from the queue calls the tasks itself, after it has
# processed the responses; each task in its own context, as the loop would.
#
# All of it happens on the loop's thread. States: *pending*; *done*, with an outcome; *cancelled*. It leaves *pending*
# once.

cdef extern from "Python.h":
    int PyContext_Enter(object context) except -1
    int PyContext_Exit(object context) except -1
    object PyContext_CopyCurrent()

# A task implemented in C reads the result of a future implemented in C in place. On any other object it calls a method
# whose name it creates first, which costs as much as all other steps of the wake-up. It discards the result, because
# its coroutine gets it from the object that it yielded. So tasks are woken with a future that is done: each loop has
# one, as reading the result sets a field of the future.

ctypedef const void* Method

cdef atomic[Method] task_wakeup_method  # of C tasks, once one was seen


cdef object wakeup_argument(callback, _Awaiting awaiting):
    """Return the argument for *callback*."""
    cdef const void* method = method_of(callback)
    if method == NULL or awaiting.queue is None or awaiting.queue.done_future is None:
        return awaiting
    if task_wakeup_method.load() == NULL:
        learn_task_wakeup(method, callback)
    return awaiting.queue.done_future if method == task_wakeup_method.load() else awaiting


cdef void learn_task_wakeup(const void* method, callback) noexcept:
    if not is_task_wakeup(method):
        return
    try:
        import asyncio

        if isinstance(callback.__self__, asyncio.Task):
            task_wakeup_method.store(method)
    except Exception:
        return


cdef object new_done_future():
    """Return a future that is done, or None."""
    import asyncio

    try:
        future = asyncio.Future(loop=_NoLoop())
        future.set_result(None)
    except Exception:  # another asyncio implementation: its tasks are called with the awaited object
        return None
    return future


class _NoLoop:
    """The loop of a future that is never awaited."""

    def get_debug(self):
        return False


cdef enum AwaitingState:
    AWAITING_PENDING
    AWAITING_DONE
    AWAITING_CANCELLED


@cython.final
@cython.freelist(128)
cdef class _Awaiting:
    """One ``await`` of a request by a task."""

    cdef readonly object loop
    cdef CompletionQueue queue  # notifies the loop; None if the loop watches no descriptors
    cdef object outcome
    cdef object callback  # the task; nearly always the only one
    cdef object context
    cdef list more  # others, with their contexts
    cdef object message
    cdef AwaitingState state
    cdef bint has_outcome  # the outcome is set; the state becomes DONE on the loop's thread
    cdef public bint _asyncio_future_blocking

    # ---- methods that tasks call

    def get_loop(self):
        return self.loop

    def done(self):
        return self.state != AWAITING_PENDING

    def cancelled(self):
        return self.state == AWAITING_CANCELLED

    def add_done_callback(self, callback, *, context=None):
        if context is None:
            context = PyContext_CopyCurrent()
        if self.state != AWAITING_PENDING:
            self.loop.call_soon(callback, self, context=context)
        elif self.callback is None:
            self.callback = callback
            self.context = context
        else:
            if self.more is None:
                self.more = []
            self.more.append((callback, context))

    def remove_done_callback(self, callback):
        cdef list kept = [entry for entry in self.callbacks() if entry[0] != callback]
        cdef Py_ssize_t removed = len(self.callbacks()) - len(kept)
        self.callback = self.context = self.more = None
        for entry in kept:
            self.add_done_callback(entry[0], context=entry[1])
        return removed

    def result(self):
        if self.state == AWAITING_CANCELLED:
            raise self.cancelled_error()
        if self.state == AWAITING_PENDING:
            import asyncio

            raise asyncio.InvalidStateError("the request has no response yet")
        return self.outcome

    def exception(self):
        self.result()
        return None

    def cancel(self, msg=None):
        if self.state != AWAITING_PENDING:
            self.call_soon()  # those that a signal handler kept from being called
            return False
        self.state = AWAITING_CANCELLED
        self.message = msg
        self.call_soon()
        return True

    cdef object cancelled_error(self):
        import asyncio

        return asyncio.CancelledError() if self.message is None else asyncio.CancelledError(self.message)

    def __await__(self):
        self._asyncio_future_blocking = True
        yield self
        return self.result()

    # ---- methods that the request calls

    def set_result(self, outcome):
        """Set the outcome, on the loop's thread."""
        self.store_outcome(outcome)
        self.become_done()
        self.call_soon()

    cdef void store_outcome(self, outcome) noexcept:
        """Store the outcome; only the first one counts. Any thread."""
        if not self.has_outcome:
            self.has_outcome = True
            self.outcome = outcome

    cdef bint become_done(self) noexcept:
        """Become done if pending. Return True if callbacks have to be called now."""
        if self.state == AWAITING_PENDING:
            self.state = AWAITING_DONE
        return self.state == AWAITING_DONE and self.callback is not None

    cdef list callbacks(self):
        if self.callback is None:
            return []
        return [(self.callback, self.context), *(self.more or ())]

    cdef int call_soon(self) except -1:
        """Call the callbacks in the loop's next turn. Repeated if a signal handler interrupts it."""
        if self.callback is None:
            return 0
        if not self.loop.get_debug():
            self.loop.call_soon(self._call_all)
            return 0
        for callback, context in self.callbacks():  # in debug mode the loop measures each callback
            self.loop.call_soon(callback, self, context=context)
        self.callback = self.context = self.more = None
        return 0

    def _call_all(self):
        try:
            while self.callback is not None:
                self.call_next()
        except BaseException:
            self.call_soon()
            raise

    cdef int call_next(self) except -1:
        """Call the next callback, which is removed before the call."""
        callback, context = self.callback, self.context
        if self.more:
            self.callback, self.context = self.more.pop(0)
        else:
            self.callback = self.context = None
        PyContext_Enter(context)
        try:
            callback(self if self.state == AWAITING_CANCELLED else wakeup_argument(callback, self))
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # a task handles its own exceptions, but other callbacks may be added too
            self.loop.call_exception_handler(
                {"message": "A callback of an awaited request raised an exception", "exception": error}
            )
        finally:
            PyContext_Exit(context)
        return 0


def new_awaiting(loop):
    cdef _Awaiting awaiting = _Awaiting.__new__(_Awaiting)
    awaiting.loop = loop
    awaiting.queue = adapter_for(loop).queue
    return awaiting


@cython.final
cdef class _Waiter:
    """Any other object that waits for a request on a loop; it has ``get_loop``, ``done`` and ``set_result``, as an
    asyncio future has. ``set_result`` is repeated if a signal handler interrupted it and the object is not ``done``."""

    cdef object waiter
    cdef CompletionQueue queue
    cdef object outcome
    cdef bint was_interrupted


cdef int resume_waiters(CompletionQueue queue) except -1:
    """Call the waiters that were notified, on the loop's thread. A call that a signal handler interrupts is repeated if
    the waiter is not a task."""
    cdef list resuming = queue.resuming
    cdef Py_ssize_t count = len(resuming)
    cdef _Awaiting awaiting
    cdef _Waiter other
    cdef object debugged = None  # in debug mode the loop measures each callback
    while count > 0 and resuming:
        count -= 1
        waiter = resuming[len(resuming) - 1]
        if type(waiter) is _Awaiting:  # removed in the native step that removes its callback
            awaiting = <_Awaiting> waiter
            if awaiting.become_done():
                if debugged is None:
                    debugged = bool(awaiting.loop.get_debug())
                if not debugged and awaiting.more is None:
                    resuming.pop()
                    awaiting.call_next()
                    continue
                awaiting.call_soon()
            resuming.pop()
            continue
        resuming.pop()
        other = <_Waiter> waiter
        try:
            if not other.waiter.done():
                other.waiter.set_result(other.outcome)
        except BaseException:
            if not other.was_interrupted:
                other.was_interrupted = True
                resuming.append(other)
            raise
    return 0


# ---- CompletionQueue: completions for an asyncio loop
#
# It has two kinds of entries: operations whose outcomes the loop's thread may take itself, and *completed* waiters,
# whose request ended on any thread. Any thread notifies by one append to ``completed`` and a write to the descriptor,
# both native, so that no signal handler runs between them. The loop's thread moves entries from ``completed`` to
# ``resuming``, in reverse order, so that removing the next one is cheap; an entry is removed when its waiter resumes.
# An exception of a signal handler leaves the other entries there, and the descriptor readable. ``completed`` is changed in
# critical sections of the queue, all else by the loop's thread.

# A turn of the loop is not delayed for longer than this plus one response.
cdef Nanos DRAIN_SLICE = SECOND // 100


cdef class CompletionQueue:
    """Completions for one asyncio loop: one descriptor, readable while operations wait in it."""

    cdef CCompletionQueue* core
    cdef uint32_t process  # the fork generation of the process that the loop belongs to
    cdef list completed  # waiters, _Awaiting or _Waiter, that have their outcome
    cdef list resuming  # the same, used by the loop's thread; the oldest one last
    cdef object interruption  # exception of a signal handler during drain()
    cdef object done_future  # wakes tasks of the loop, see wakeup_argument(); set once

    def __cinit__(self):
        self.process = fork_generation()
        self.completed = []
        self.resuming = []
        self.core = new CCompletionQueue()
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

    cdef int complete(self, waiter, outcome, CompletionQueue here) except -1:
        """On any thread: let *waiter* go on with *outcome* on the loop's thread. *here*: this queue, if this thread is
        draining it. No effect if the loop was closed."""
        if type(waiter) is _Awaiting:
            (<_Awaiting> waiter).store_outcome(outcome)
        else:
            (<_Waiter> waiter).outcome = outcome
        with cython.critical_section(self):
            self.completed.append(waiter)
        if here is not self:
            self.core.wake_loop()
        return 0

    cdef bint next_completed(self) noexcept:
        """Move entries to ``resuming`` if it is empty. Return True if there is one then."""
        if not self.resuming:
            with cython.critical_section(self):
                self.resuming, self.completed = self.completed, self.resuming
            self.resuming.reverse()
        return len(self.resuming) > 0

    cdef bint has_completed(self) noexcept:
        with cython.critical_section(self):
            return len(self.completed) > 0

    cdef void forget_completed(self) noexcept:
        """Drop all entries: the loop is closed."""
        cdef list completed, none = []
        with cython.critical_section(self):
            completed, self.completed = self.completed, none
        self.resuming.clear()

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
                self.core.signal()
            index += 1
        interruption, self.interruption = self.interruption, None
        try:
            if self.next_completed():
                resume_waiters(self)
            if interruption is not None:
                raise interruption
        finally:
            if self.resuming or self.has_completed():
                self.core.wake_loop()
            turn.end()

    def close(self):
        if not self.is_of_parent():
            close_queue(self.core)


cdef void close_queue(CCompletionQueue* queue) noexcept:
    """Have the I/O thread process the operations in the queue: the loop will not drain it."""
    cdef vector[COperation*] operations
    queue.close(operations)
    for core in operations:
        dispatch_on_driver(<Operation> core.self)


# ---- LoopAdapter: the adapter of an asyncio loop, with one completion queue and one descriptor per loop
#
# ``adapters`` refers to loops weakly: with a loop that is gone its adapter and descriptor go too, and those of a loop
# that is closed but still referenced go when the next loop gets its own. A loop without ``add_reader`` (Windows'
# proactor) has no descriptor: its requests are concluded on the I/O thread, and each wakes the loop by itself.

@cython.final
cdef class LoopAdapter:
    """Delivers responses to a loop, and has the reactors to flush at the end of the loop's turn."""

    cdef readonly object loop
    cdef readonly CompletionQueue queue
    cdef readonly list to_flush

    def __init__(self, loop, CompletionQueue queue):
        self.loop = loop
        self.queue = queue
        self.to_flush = []


adapters = {}
cdef dict _adapters = adapters


cdef LoopAdapter find_adapter(loop):
    return get_value(_adapters, PyLong_FromVoidPtr(<void*> loop), None)


cdef inline LoopAdapter adapter_of(loop):
    if fastcql_turn.loop == <PyObject*> loop and fastcql_turn.adapter != NULL:
        if fastcql_turn.process == fork_generation():
            return <LoopAdapter> fastcql_turn.adapter
    return find_adapter(loop)


cdef bint waits_in_turn(reactor) except -1:
    """True if a request submitted now is sent together with the rest of this turn of a loop. This only saves system
    calls: a coalesced request is sent soon regardless of the loop's next steps, see cpp/transport/outbound.h."""
    cdef LoopAdapter adapter
    if not _adapters:
        return False
    loop = current_loop()
    if loop is None:
        return False
    adapter = adapter_of(loop)
    if adapter is None:
        return False
    if reactor not in adapter.to_flush:
        if not adapter.to_flush:
            loop.call_soon(_flush, adapter.to_flush)
        adapter.to_flush.append(reactor)
    return True


def may_wait(ConnectionBase connection not None):
    return waits_in_turn(connection.reactor)


cpdef object send_waiting():
    cdef LoopAdapter adapter
    if not _adapters:
        return None
    adapter = adapter_of(current_loop())
    if adapter is not None and adapter.to_flush:
        _flush(adapter.to_flush)


def _flush(list to_flush not None):
    reactors = list(to_flush)
    to_flush.clear()  # requests submitted from here on schedule another call
    for reactor in reactors:
        reactor.flush()


cdef inline object waiter_of(waiter):
    return (<_Waiter> waiter).waiter if type(waiter) is _Waiter else waiter


cdef inline CompletionQueue queue_of(waiter):
    return (<_Awaiting> waiter).queue if type(waiter) is _Awaiting else (<_Waiter> waiter).queue


cdef bint all_have_queues(tuple waiters) noexcept:
    """True if all of them can be notified natively."""
    cdef CompletionQueue queue
    for waiter in waiters:
        queue = queue_of(waiter)
        if queue is None or queue.is_of_parent():
            return False
    return True


cdef tuple complete_all(tuple waiters, outcome, CompletionQueue here):
    """Notify the waiters natively. Return those that have no queue."""
    cdef CompletionQueue queue
    cdef tuple others = ()
    for waiter in waiters:
        queue = queue_of(waiter)
        if queue is None or queue.is_of_parent():
            others = (*others, waiter)
        else:
            queue.complete(waiter, outcome, here)
    return others


cdef bint all_of_loop(tuple waiters, CompletionQueue queue) except -1:
    for waiter in waiters:
        if queue_of(waiter) is not queue:
            return False
    return True


def resolve(waiter, value):
    cdef CompletionQueue queue
    if type(waiter) is _Awaiting:
        queue = (<_Awaiting> waiter).queue
        if queue is not None and not queue.is_of_parent():  # one native step; drain() handles new entries
            queue.complete(waiter, value, queue if fastcql_turn.loop == <PyObject*> (<_Awaiting> waiter).loop else None)
            if (<_Awaiting> waiter).loop.is_closed():  # tested last: entries of the queue would keep the loop alive
                clean_up_closed_loops()
            return
    complete(waiter, value)


cdef int complete(waiter, value) except -1:
    """Notify *waiter* by a call of its loop."""
    if type(waiter) is _Waiter:
        waiter = (<_Waiter> waiter).waiter
    loop = (<_Awaiting> waiter).loop if type(waiter) is _Awaiting else waiter.get_loop()
    if loop is current_loop():
        if not waiter.done():
            waiter.set_result(value)
    elif not loop.is_closed():
        try:
            loop.call_soon_threadsafe(_set_result, waiter, value)
        except RuntimeError:  # closed between the test and the call
            if not loop.is_closed():
                raise
    return 0


def _set_result(waiter, value):
    if not waiter.done():
        waiter.set_result(value)


# ---- creation of adapters

def deliver_to(loop, Operation operation not None):
    attach_to(loop, operation)


cdef int attach_to(loop, Operation operation) except -1:
    cdef LoopAdapter adapter = adapter_of(loop)
    if adapter is None:
        adapter = open_adapter(loop)
    if adapter.queue is None:
        operation.set_eager()
    else:
        operation.attach(adapter.queue)
    return 0


cpdef LoopAdapter adapter_for(loop):
    cdef LoopAdapter adapter = adapter_of(loop)
    return open_adapter(loop) if adapter is None else adapter


cdef LoopAdapter open_adapter(loop):
    import contextvars
    import weakref

    key = id(loop)
    cdef CompletionQueue queue = CompletionQueue()
    queue.done_future = new_done_future()
    try:
        # In a new context: else the context of the first request would live as long as the loop, and apply to all.
        contextvars.Context().run(loop.add_reader, queue.fileno(), queue.drain)
    except NotImplementedError:
        queue = None
    except BaseException:  # raised by a signal handler
        loop.remove_reader(queue.fileno())
        raise

    def forget(_):
        _adapters.pop(key, None)

    adapter = LoopAdapter(weakref.ref(loop, forget), queue)
    _adapters[key] = adapter
    clean_up_closed_loops()
    return adapter


cdef int clean_up_closed_loops() except -1:
    """Process the operations in the queues of closed loops here: they may have waiters elsewhere."""
    cdef LoopAdapter adapter
    for key, found in _adapters.copy().items():  # list() of items may collect garbage, which forgets loops
        adapter = found
        loop = adapter.loop()
        if loop is not None and loop.is_closed() and _adapters.pop(key, None) is not None and adapter.queue is not None:
            adapter.queue.close()
            adapter.queue.forget_completed()
    return 0


def _clean_up_closed_loops():
    """On the I/O thread, after another thread notified waiters of a loop: the queue's entries keep a closed loop
    alive."""
    clean_up_closed_loops()


cdef void schedule_loop_cleanup(Reactor reactor) noexcept:
    Py_INCREF(_clean_up_closed_loops)
    if reactor.core.foreign() or not reactor.core.call_soon(<void*> _clean_up_closed_loops):
        Py_DECREF(_clean_up_closed_loops)


# ---- ``await`` of a request, and of its application's result


cdef enum AwaitState:
    AWAIT_BEGINS
    AWAIT_PASSES  # yields to the loop once
    AWAIT_WAITS
    AWAIT_ENDED


@cython.final
@cython.freelist(128)
cdef class _Awaitable:
    """One ``await`` of a request. A task that is cancelled meanwhile gives the page up, unless it has other waiters. It
    ends with the outcome, or, *as_result*, with the application's result.

    An object and not a generator: one that is closed by the garbage collector would read the exception that was handled
    when it was resumed, which may be gone."""

    cdef Request request
    cdef _Awaiting waiter
    cdef bint as_result
    cdef AwaitState state
    cdef object result

    def __iter__(self):
        return self

    def __await__(self):
        return self

    def __next__(self):
        waiter = self.advance()
        if waiter is not self:
            return waiter
        stop_with(self.result)
        raise StopIteration  # set above; without a traceback, which would cost a tenth of the await

    def send(self, value):
        return self.__next__()

    def throw(self, kind, value=None, trace=None):
        error = kind() if value is None and isinstance(kind, type) else kind if value is None else value
        self.close()
        raise error

    def close(self):
        cdef bint waits = self.state == AWAIT_WAITS
        self.state = AWAIT_ENDED
        if waits:  # cancelled, or the loop ended and the coroutine with it
            self.request._leave(self.waiter)

    cdef object advance(self):
        """Return the object that the task has to wait for; this object itself at the end, with the result."""
        cdef Request request = self.request
        cdef AwaitState state = self.state
        cdef _Awaiting waiter
        if state == AWAIT_ENDED:
            self.result = None
            return self
        if state == AWAIT_WAITS:
            return self.end(self.waiter.result())
        if state == AWAIT_BEGINS and request.is_attached() and not (self.as_result and request.is_concluded()):
            request.take_plain(None)  # the loop that it was queued for may have ended
            if request.is_concluded():
                self.state = AWAIT_PASSES  # the loop runs other callbacks, also if pages arrive fast
                return None
        if not request.is_concluded():
            waiter = _Awaiting.__new__(_Awaiting)
            waiter.loop = running_loop()
            with cython.critical_section(request):
                request.attached = True
            if request.join(waiter.loop, waiter) is None:
                waiter._asyncio_future_blocking = True
                self.waiter = waiter
                self.state = AWAIT_WAITS
                return waiter
        return self.end(request.outcome())

    cdef object end(self, outcome):
        self.state = AWAIT_ENDED
        self.result = self.request.task_result(outcome) if self.as_result else outcome
        return self


cdef _Awaitable awaitable(Request request, bint as_result):
    cdef _Awaitable made = _Awaitable.__new__(_Awaitable)
    made.request = request
    made.as_result = as_result
    made.state = AWAIT_BEGINS
    return made
