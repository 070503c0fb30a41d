# Request: what nearly all requests do, from their frame to the rows of the answer, in one native step each.
#
# The state that more than one thread may change (outcome, page, attempts, timer, callbacks, waiters) changes under
# ``_lock`` only; conclusion.py says how. Nothing foreign is called with it held.

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
    cdef public int64_t _page
    cdef public object _outcome
    cdef public dict _attempts
    cdef public tuple _timers
    cdef double arrived  # when the outcome came that is being settled; 0 for none
    cdef public tuple _callbacks
    cdef public tuple _errbacks
    cdef public tuple _waiters
    cdef public bint _blocked
    cdef public bint _attached
    # what it is made of
    cdef public object _compiled
    cdef public object _frame
    cdef public object _token
    cdef public object _values
    cdef public object _result_plan
    cdef public object _handler
    cdef public object row_factory
    # where it went
    cdef public list attempted_hosts
    cdef public object coordinator_host
    cdef public object _picked
    cdef public object _tracking  # who wants to hear of it; None: nobody

    def _begin(self, session, timeout, double start_time, row_factory, result_plan, token):
        self.begin(session, session._request_lock, session.cluster.metrics, timeout, start_time)
        self.row_factory = row_factory
        self._result_plan = result_plan
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

    # ---- outcomes

    def _on_outcome(self):
        """Process every outcome that is there: :meth:`_process`, or, for plain answers, here."""
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
                    self._on_nudge()
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
        self._process(attempt, answer)
        return 0

    def _on_nudge(self):
        """Override. Somebody injected an outcome of NOTHING_ELSE: attempts are to be looked at. What it raises is the
        request's error."""

    def _process(self, attempt, answer):
        """Override. Everything that is not plain; what it raises is the request's error."""
        raise NotImplementedError

    # ---- the end of a page

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
            self._call(call, result if error is None else error)
        return True

    def _call(self, call, value):
        """Override. Call a callback."""
        raise NotImplementedError

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

    def _join(self, loop, waiter):
        cdef Bridge bridge
        lock = self._lock
        lock.acquire()
        try:
            if self._outcome is not None:
                return self._outcome
            self._waiters = (*self._waiters, waiter)
        finally:
            lock.release()
        bridge = bridge_of(loop)
        if bridge is not None and bridge.queue is not None:
            self._attach(bridge.queue)
        else:
            self._deliver_to(loop)
        return None

    def _deliver_to(self, loop):
        """Override. Have outcomes processed on the thread of *loop*."""
        raise NotImplementedError

    def _give_up(self, attempt):
        """Nobody waits for the answer of *attempt* any more."""
        attempt.abandon(self)
