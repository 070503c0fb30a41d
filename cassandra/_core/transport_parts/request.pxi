# Request: one request over all its pages; who owns what of it, and which thread does what.
#
# A request is *pending* (``_outcome`` is None: attempts are in flight, or a step such as schema agreement is under way) or
# *concluded*. Each page is a request of its own: ``_begin_page`` makes a concluded request pending again and counts
# ``_page``. Everything that belongs to a page carries its number, so that whatever comes late (an answer that is still being
# decoded, a delayed retry, a timer) can neither conclude another page nor be sent for it.
#
# This object owns outcome, page, deadline, attempts in flight, timers, callbacks and waiters. The first five change only
# under ``_lock``, and all at once: between two pages there is nothing that one of them could take from the other. Foreign
# code (callbacks, connections) is called without it. What is out of the ordinary is an object of its own, the *execution*
# (_session/request/execution.py), made when it is needed: message, query plan, retries, errors. What applications see is
# ResponseFuture, which adds no state.
#
# An outcome of an attempt is taken (``_on_outcome``) by exactly one thread: one that waits in ``_settle``, the loop of a task
# that awaits, or the I/O thread where there are callbacks. That thread decodes it and concludes the page, or hands it to the
# execution. Nothing of that blocks.

cdef extern from *:
    """
    // What ``kind.__new__(kind)`` does, without looking for it.
    static inline PyObject* fastcql_new_object(PyTypeObject* kind, PyObject* no_arguments) {
        return kind->tp_new(kind, no_arguments, nullptr);
    }
    """
    object fastcql_new_object(PyTypeObject* kind, PyObject* no_arguments)

cdef tuple NO_ARGUMENTS = ()


cdef inline object new_object(kind):
    """An object of the class *kind*, of which no ``__init__`` is called."""
    return fastcql_new_object(<PyTypeObject*> kind, <PyObject*> NO_ARGUMENTS)


cdef inline double seconds_now() noexcept:
    return <double> monotonic_now() / <double> SECOND


cdef object NOTHING = (None, None, None)
cdef uint8_t OPCODE_RESULT = 8
cdef Failure LOOK = Failure(CLOSED, "the host is silent", True, 0.0)


@cython.final
@cython.freelist(128)
cdef class Attempt:
    """One send of a request: where it went, on which stream, so that it can be given up, and how its answer is
    read."""

    cdef readonly object host
    cdef readonly object pool
    cdef readonly object connection
    cdef readonly object reprepares
    cdef readonly int64_t page
    cdef public object plan
    cdef public int64_t number
    cdef public int64_t stream
    cdef public double started
    cdef public bint answered

    def __init__(self, host, pool, connection, int64_t page, reprepares=None, int64_t number=-1, plan=None):
        self.host = host
        self.pool = pool
        self.connection = connection
        self.page = page
        self.reprepares = reprepares
        self.number = number
        self.plan = plan
        self.stream = -1

    def abandon(self, Operation request not None):
        if self.stream >= 0:
            self.connection.orphan(self.stream, request, self.number)


cdef Attempt first_attempt(host, pool, connection, plan):
    cdef Attempt attempt = Attempt.__new__(Attempt)
    attempt.host = host
    attempt.pool = pool
    attempt.connection = connection
    attempt.plan = plan
    attempt.stream = -1
    return attempt


cdef class Request(Operation):
    """State of a request, and the steps that nearly all of them take."""

    cdef readonly object session
    cdef public object timeout
    cdef public double _start_time
    cdef readonly object _lock
    cdef public object _metrics
    # of its page
    cdef readonly int64_t _page
    cdef public object _outcome
    cdef public dict _attempts
    cdef public tuple _timers
    cdef double arrived  # when the outcome came that is being settled; 0 for none
    cdef readonly tuple _callbacks
    cdef readonly tuple _errbacks
    cdef readonly tuple _waiters
    cdef readonly bint _blocked
    cdef bint attached
    # what it is made of
    cdef public object _compiled
    cdef public object _frame
    cdef readonly object _token
    cdef public object _values
    cdef object result_plan
    cdef public object row_factory
    cdef object execution  # what is out of the ordinary; None: nothing so far
    # where it went
    cdef public list attempted_hosts
    cdef public object coordinator_host
    cdef public object _picked
    # who wants to hear of it; None: nobody
    cdef public object _tracking
    cdef public object _meter

    def _begin(self, session, timeout, double start_time, factory, plan, token):
        self.begin(session, session._request_lock, session.cluster.metrics, timeout, start_time)
        self.row_factory = factory
        self.result_plan = plan
        self._token = token

    cdef void begin(self, session, lock, metrics, timeout, double start_time):
        self.session = session
        self._lock = lock
        self._metrics = metrics
        self.timeout = timeout
        self._start_time = start_time
        self._attempts = {}
        self._callbacks = self._errbacks = self._waiters = ()
        self.attempted_hosts = []
        if metrics is not None:  # it counts when it is answered, whether or not somebody asks for the answer
            self._set_eager()

    @property
    def _execution(self):
        """What is out of the ordinary about it; made when it is needed."""
        if self.execution is None:
            made = self._compiled.execution(self)
            lock = self._lock
            lock.acquire()
            try:
                if self.execution is None:  # two threads may ask at a time
                    self.execution = made
            finally:
                lock.release()
        return self.execution

    @_execution.setter
    def _execution(self, execution):
        self.execution = execution

    @property
    def _is_ordinary(self):
        return self.execution is None

    # ---- outcomes

    def _on_outcome(self):
        """Process every outcome that is there."""
        cdef Batch batch
        cdef size_t index
        cdef Attempt attempt
        if self.enter_process():
            self._on_forked()
        if not self.core.take_all(&batch):
            return
        drop_references(self, batch.references)
        for index in range(batch.size()):
            attempt = self._attempts.pop(batch.at(index).attempt, None)
            if attempt is None and batch.at(index).attempt != LAST_SLOT:
                continue
            self.arrived = <double> batch.at(index).arrived / <double> SECOND
            try:
                if attempt is None:
                    self._execution.sending.look(self)
                    continue
                self.settle(attempt, wrap_outcome(batch.at(index)))
            except Exception as error:  # a policy, a row factory or a malformed body: this request's error only
                self.conclude(self._page if attempt is None else attempt.page, None, error, NOTHING)
            except BaseException as error:  # Ctrl-C: the answer is lost with it, nobody must wait for another
                self.conclude(self._page if attempt is None else attempt.page, None, error, NOTHING)
                raise
            finally:
                self.arrived = 0
        self.core.give_back(move(batch))

    def _handle(self, Attempt attempt not None, answer):
        """What _on_outcome does, for an attempt that somebody else sent and waited for."""
        try:
            self.settle(attempt, answer)
        except Exception as error:
            self.conclude(attempt.page, None, error, NOTHING)

    cdef int settle(self, Attempt attempt, answer) except -1:
        self.coordinator_host = attempt.host
        if self._meter is not None:
            self.measure(attempt, answer)
        if self._compiled is not None and self._tracking is None and type(answer) is Frame:  # nearly all end here
            try:
                plain = attempt.connection.results.plain(answer, attempt.plan, self.row_factory)
            except Exception as error:
                if not isinstance(error, error_class("ProtocolError")):
                    raise
                plain = None  # to be read again, and reported
            if plain is not None:
                rows = (<tuple> plain)[0]
                came = NOTHING if rows is None else (attempt.plan, (<tuple> plain)[1], None)
                self.conclude(attempt.page, rows, None, came)
                return 0
        self._execution.process(self, attempt, answer)
        return 0

    cdef int measure(self, Attempt attempt, answer) except -1:
        """Tell the policy how long it took. If the connection was lost that says nothing."""
        cdef bint answered = type(answer) is Frame
        if attempt.reprepares is None and self.arrived and attempt.started:
            if answered or (<Failure> answer).kind == TIMED_OUT:
                good = answered and (<Frame> answer).opcode == OPCODE_RESULT
                self._meter(attempt.host, self.arrived - attempt.started, good)
        return 0

    def _on_silent(self, attempt_number):
        """On the I/O thread: the peer of an attempt gives no sign of life. If it does no harm the request is sent to
        another host too, by the thread that processes its outcomes."""
        attempt = self._attempts.get(attempt_number)
        if attempt is not None and (<Attempt> attempt).reprepares is None and self._execution.content.is_idempotent:
            self._inject(NOTHING_ELSE, LOOK)

    def _on_forked(self):
        self._fail(
            self._page,
            error_class("ConnectionShutdown")(
                "The request was made by the parent of this process, which gets its answer"
            ),
        )

    # ---- attempts

    def _register(self, int64_t number, Attempt attempt not None):
        """Its answer may come from now on. False if nobody waits for its page any more."""
        lock = self._lock
        lock.acquire()
        try:
            if self._outcome is not None or self._page != attempt.page:
                return False
            self._attempts[number] = attempt
            return True
        finally:
            lock.release()

    def _give_up(self, Attempt attempt not None):
        """Nobody waits for the answer of *attempt* any more."""
        attempt.abandon(self)
        if self.execution is not None:
            self.execution.sending.gave_up(self, attempt)

    def _remaining(self):
        """Seconds until its deadline; None if there is none."""
        if self.timeout is None:
            return None
        try:
            return self.timeout - (seconds_now() - self._start_time)
        except TypeError as error:
            raise TypeError(f"timeout must be a number of seconds or None, not {self.timeout!r}") from error

    def _add_timer(self, int64_t page, timer):
        """Cancelled when *page* is over; at once if it is."""
        lock = self._lock
        lock.acquire()
        try:
            over = self._is_over(page)
            if not over:
                self._timers = (*(self._timers or ()), timer)
        finally:
            lock.release()
        if over:
            timer.cancel()

    # ---- the end of a page

    def _is_over(self, int64_t page):
        """Whether nobody waits for *page* any more."""
        return self._outcome is not None or self._page != page

    def _fail(self, int64_t page, error not None):
        return self.conclude(page, None, error, NOTHING)

    def _conclude(self, int64_t page, result, error=None, came=NOTHING):
        """Decide what *page* came to. False when that was decided before, or another page has begun since."""
        return self.conclude(page, result, error, came)

    cdef bint conclude(self, int64_t page, result, error, came) except -1:
        cdef tuple waiters, calls
        cdef object outcome = (result, error, came, page)
        cdef tuple timers
        cdef dict losers = None
        lock = self._lock
        lock.acquire()
        try:
            if self._outcome is not None or self._page != page:
                return False
            self._outcome = outcome
            calls = self._callbacks if error is None else self._errbacks
            waiters, self._waiters = self._waiters, ()
            timers, self._timers = self._timers, None
            if self._attempts:
                losers, self._attempts = self._attempts, {}
            self.enter_process()
            self.core.finish()
        finally:
            lock.release()
        if timers is not None:
            for timer in timers:
                timer.cancel()
        if losers is not None:
            for attempt in list(losers.values()):
                self._give_up(attempt)
        if self._tracking is not None:
            self._tracking.over(self, error, (self.arrived or seconds_now()) - self._start_time)
        if self._metrics is not None:
            self._metrics.request_timer.addValue((self.arrived or seconds_now()) - self._start_time)
        for waiter in waiters:
            resolve(waiter, outcome)
        for call in calls:
            call_back(call, result if error is None else error)
        return True

    cdef object cancelled(self):
        """What a request that was given up ends with. It is an ordinary exception, as of any future of threads: that of
        asyncio is none, and would end a thread as if it were asked to stop. Tasks get theirs, see future.py."""
        from concurrent.futures import CancelledError

        error = CancelledError("The request was cancelled")
        error.attempts = len(self.attempted_hosts)
        error.elapsed = seconds_now() - self._start_time
        if self.execution is None:
            error.maybe_executed = bool(self._attempts)
        else:
            error.maybe_executed = self.execution.sending.may_be_executed(self)
        return error

    # ---- the next page

    def _begin_page(self, paging_state):
        """Pending again, for the page at *paging_state*; its number. DriverException if the last one has not come."""
        execution = self._execution
        lock = self._lock
        lock.acquire()
        try:
            if self._outcome is None:
                raise error_class("DriverException")(
                    "A page of this request is on its way already; wait for it first"
                )
            execution.begin_page(self, paging_state)
            self._outcome = None
            self._page += 1
            self._rearm()
            return self._page
        finally:
            lock.release()

    # ---- who hears of it

    def _add(self, callback, errback):
        lock = self._lock
        lock.acquire()
        try:
            if callback is not None:
                self._callbacks = (*self._callbacks, callback)
            if errback is not None:
                self._errbacks = (*self._errbacks, errback)
            outcome = self._outcome
        finally:
            lock.release()
        send_waiting()
        self._set_eager()  # also when this page is here already: the next one must find the callbacks too
        if outcome is None:
            return
        result, error, _, _ = outcome
        if error is None and callback is not None:
            call_back(callback, result)
        elif error is not None and errback is not None:
            call_back(errback, error)

    def clear_callbacks(self):
        lock = self._lock
        lock.acquire()
        try:
            self._callbacks = self._errbacks = ()
        finally:
            lock.release()

    def _settle(self):
        """Wait for the outcome. Ctrl-C interrupts the wait and leaves the request as it was."""
        if self._outcome is not None:
            return self._outcome
        if self.session._on_io_thread():
            raise error_class("DriverException")(
                "a request cannot be waited for on the driver's I/O thread (in a callback): its answer would never "
                "be read; add a callback to it, or hand the work to another thread"
            )
        send_waiting()
        while self._outcome is None:
            self._blocked = True
            self._wait(None)
            self._on_outcome()
        return self._outcome

    def _settle_async(self, make=None):
        """As :meth:`_settle`, without blocking the running loop: what an ``await`` delegates to. A task that is cancelled
        meanwhile gives the page up, unless somebody else waits for it. With *make* it ends with ``make(outcome)``."""
        cdef _Awaiting waiter
        if self.attached and (self._outcome is None or make is None):
            self._on_outcome()  # takes what is here: the loop that it was queued for may have ended
            if self._outcome is not None:
                yield  # the loop has its turn, however fast pages come
        if self._outcome is None:
            waiter = _Awaiting.__new__(_Awaiting)
            waiter.loop = running_loop()
            self.attached = True
            if self.join(waiter.loop, waiter) is None:
                waiter._asyncio_future_blocking = True
                try:
                    yield waiter
                except BaseException:  # cancelled, or the loop ended and the coroutine with it
                    self._leave(waiter)
                    raise
                outcome = waiter.result()
                return outcome if make is None else make(outcome)
        return self._outcome if make is None else make(self._outcome)

    def _join(self, loop, waiter):
        """The outcome, if it is here; else None, and *waiter* will hear of it, on the thread of the running *loop*."""
        return self.join(loop, waiter)

    cdef object join(self, loop, waiter):
        lock = self._lock
        lock.acquire()
        try:
            if self._outcome is not None:
                return self._outcome
            self._waiters = (*self._waiters, waiter)
        finally:
            lock.release()
        deliver_to(loop, self)
        return None

    def _leave(self, waiter):
        """*waiter* does not wait any more. The last one to go gives the page up."""
        cdef list others
        lock = self._lock
        lock.acquire()
        try:
            page, others = self._page, [other for other in self._waiters if other is not waiter]
            if len(others) == len(self._waiters):  # it heard already
                return
            self._waiters = tuple(others)
            wanted = bool(others or self._callbacks or self._errbacks or self._blocked)
        finally:
            lock.release()
        if not wanted:
            self._fail(page, self.cancelled())
        elif others:
            deliver_to(others[0].get_loop(), self)  # this one's may be about to end

    def cancel(self):
        return self._fail(self._page, self.cancelled())


cdef int call_back(tuple call, value) except -1:
    function, args, kwargs = call
    try:
        function(value, *args, **kwargs)
    except Exception:
        import logging

        logging.getLogger("cassandra.cluster").exception("A callback of a request raised: %r", function)
    return 0
