# Request: one request over all its pages; who owns what of it, and which thread does what.
#
# A request is *pending* (``_outcome`` is None: attempts are in flight, or a step such as schema agreement is under way) or
# *concluded*. Each page is a request of its own: ``_begin_page`` makes a concluded request pending again and counts
# ``_page``. All that belongs to a page carries its number, so that what comes late (an answer that is still being decoded, a
# delayed retry, a timer) can neither conclude another page nor be sent for it.
#
# This object owns outcome, page, deadline, attempts in flight, timers, callbacks and waiters. What is out of the ordinary is an
# object of its own, the *execution* (_session/request/execution.py), made when it is needed: message, query plan, retries,
# errors. What applications see is ResponseFuture, which adds no state.
#
# The rule of threads: callers wait, the I/O thread decides.
#
# * A caller (a thread in ``_settle``, the loop of a task that awaits, a greenlet) takes *plain* results only: rows or void,
#   with nothing beside, of a request without callbacks, timers, trackers, metrics and meter (``take_plain``). Reading one
#   changes nothing; then ``conclude_plain`` sets the outcome and wakes those that wait. What is more than that, and what
#   could not be read, is put back for the I/O thread.
# * The I/O thread takes all other outcomes (``on_outcome``): errors, USE, DDL, UNPREPARED, and results
#   of requests with callbacks.
# * A caller that ends a page itself (``cancel``, the last task to leave, an error of sending) sets the outcome, wakes those
#   that wait, and posts the rest (``_Rest``: timers, attempts to give up, trackers, callbacks) to the I/O thread.
# * A caller that asks for the next page makes the request pending and is answerable for it from then on: an
#   exception raised before the page is sent ends the page.
#
# Why that holds when the handler of a signal raises in a caller: Python runs handlers between bytecodes, and where native
# code asks for it. State changes in *critical sections*, code without a call into Python, in which the GIL cannot change
# hands either; a build without the GIL has a lock for it. Each of the changes above is one section, with native calls alone
# behind it (finish, tell_all, post): an exception comes before, when nothing has changed, or after, when nothing is left
# to do. Whatever allocates may run the garbage collector, and that a ``__del__``, out of which no exception comes: so a
# section allocates before it looks, and does nothing but assign from there on. On the I/O thread no handler runs.
#
# Why nobody waits for ever: an outcome is either in the operation, where a thread that waits, a loop's queue or the I/O
# thread is called for it (operation.h), or in the hands of one thread, which concludes the page or puts it back, whatever
# is raised. Why no lock can be part of a deadlock: there is none. Foreign code (callbacks, policies, connections) is called
# outside of sections; callbacks only where ``add_callback`` finds that the request has ended are called by the caller.

cdef extern from *:
    """
    // What ``kind.__new__(kind)`` does, without looking for it.
    static inline PyObject* fastcql_new_object(PyTypeObject* kind, PyObject* no_arguments) noexcept {
        return kind->tp_new(kind, no_arguments, nullptr);
    }

    // Ends a generator, or what is awaited like one, with *value*.
    static inline void fastcql_stop_with(PyObject* value) noexcept {
        if (!PyTuple_Check(value) && !PyExceptionInstance_Check(value)) {
            PyErr_SetObject(PyExc_StopIteration, value);  // before Python 3.12 it makes no exception of it
            return;
        }
        PyObject* const error = PyObject_CallFunctionObjArgs(PyExc_StopIteration, value, nullptr);
        if (error == nullptr) return;
        PyErr_SetObject(PyExc_StopIteration, error);
        Py_DECREF(error);
    }
    """
    object fastcql_new_object(PyTypeObject* kind, PyObject* no_arguments)
    void fastcql_stop_with(object value) noexcept

cdef tuple NO_ARGUMENTS = ()


cdef inline object new_object(kind):
    """An object of the class *kind*, of which no ``__init__`` is called."""
    return fastcql_new_object(<PyTypeObject*> kind, <PyObject*> NO_ARGUMENTS)


cdef object NOTHING = (None, None, None, None)
# Who is asked in the place of ``_end``: ``(request, page, result, error, came)``; ``_ending`` of requests from now on.
cdef object default_ending = None


def set_default_ending(ending):
    global default_ending
    default_ending = ending


def has_default_ending():
    return default_ending is not None


cdef uint8_t OPCODE_RESULT = 8
cdef Failure LOOK = Failure(CLOSED, "the host is silent", True, 0.0)


@cython.final
@cython.freelist(64)
cdef class _Rest:
    """What the end of a page leaves to do; the I/O thread calls it."""

    cdef Request request
    cdef tuple outcome
    cdef tuple waiters  # of loops that have no queue
    cdef double elapsed
    cdef tuple timers
    cdef tuple calls
    cdef Attempt only
    cdef dict attempts

    def __call__(self):
        self.request.do_rest(self)


cdef enum Settling:
    SETTLING_BEGINS
    SETTLING_PASSES  # the loop has its turn
    SETTLING_WAITS
    SETTLING_ENDED


@cython.final
@cython.freelist(128)
cdef class _Settling:
    """One ``await`` of a request. A task that is cancelled meanwhile gives the page up, unless somebody else waits for it. It
    ends with the outcome, or, *as_result*, with what the application gets of it.

    An object and not a generator: one that is closed by the garbage collector would look for the exception that was handled
    when it was resumed, which may be gone."""

    cdef Request request
    cdef _Awaiting waiter
    cdef bint as_result
    cdef Settling state
    cdef object result

    def __iter__(self):
        return self

    def __await__(self):
        return self

    def __next__(self):
        waiter = self.go_on()
        if waiter is not self:
            return waiter
        fastcql_stop_with(self.result)
        raise StopIteration  # with what is set already, and without a traceback, which would cost a tenth of the await

    def send(self, value):
        return self.__next__()

    def throw(self, kind, value=None, trace=None):
        error = kind() if value is None and isinstance(kind, type) else kind if value is None else value
        self.close()
        raise error

    def close(self):
        cdef bint waits = self.state == SETTLING_WAITS
        self.state = SETTLING_ENDED
        if waits:  # cancelled, or the loop ended and the coroutine with it
            self.request._leave(self.waiter)

    cdef object go_on(self):
        """What the task is to wait for; this object itself at the end, with the result."""
        cdef Request request = self.request
        cdef Settling state = self.state
        cdef _Awaiting waiter
        if state == SETTLING_ENDED:
            self.result = None
            return self
        if state == SETTLING_WAITS:
            return self.end(self.waiter.result())
        if state == SETTLING_BEGINS and request.attached and not (self.as_result and request._outcome is not None):
            request.take_plain(None)  # the loop that it was queued for may have ended
            if request._outcome is not None:
                self.state = SETTLING_PASSES  # the loop has its turn, however fast pages come
                return None
        if request._outcome is None:
            waiter = _Awaiting.__new__(_Awaiting)
            waiter.loop = running_loop()
            request.attached = True
            if request.join(waiter.loop, waiter) is None:
                waiter._asyncio_future_blocking = True
                self.waiter = waiter
                self.state = SETTLING_WAITS
                return waiter
        return self.end(request._outcome)

    cdef object end(self, outcome):
        self.state = SETTLING_ENDED
        self.result = self.request.awaited(outcome) if self.as_result else outcome
        return self


cdef _Settling settling(Request request, bint as_result):
    cdef _Settling made = _Settling.__new__(_Settling)
    made.request = request
    made.as_result = as_result
    made.state = SETTLING_BEGINS
    return made


cdef bint post(Reactor reactor, _Rest rest) noexcept:
    """Natively. False if the reactor was stopped."""
    Py_INCREF(rest)
    if reactor.core.call_soon(<void*> rest):
        return True
    Py_DECREF(rest)
    return False


def replaced(owner, str name not None, before, after):
    """Atomically: give the attribute *name* of *owner*, a slot, the value *after* if it has *before*."""
    with cython.critical_section(owner):
        if getattr(owner, name) is not before:
            return False
        setattr(owner, name, after)
    return True


cdef class Request(Operation):
    """State of a request, and the steps that nearly all of them take."""

    cdef public object session
    cdef public object timeout
    cdef public double _start_time
    cdef public PageObserver _metrics
    # of its page
    cdef readonly int64_t _page
    cdef public object _outcome
    cdef Attempt only  # the first attempt, as long as there was no other and nobody asked for all
    cdef dict attempts  # None until then
    cdef public tuple _timers
    cdef double arrived  # when the outcome came that is being settled; 0 for none
    cdef readonly tuple _callbacks
    cdef readonly tuple _errbacks
    cdef readonly tuple _waiters
    cdef readonly bint _blocked
    cdef bint attached
    # what it is made of
    cdef public RequestSource _compiled
    cdef public object _frame
    cdef bint routed
    cdef int64_t hashed  # its token
    cdef public object _values
    cdef object result_plan
    cdef public object row_factory
    cdef public int _prefetch  # pages that are asked for while the one before is consumed
    cdef RequestHooks execution  # the slow path; None until it is needed
    # where it went
    cdef object first_host
    cdef list hosts  # None until somebody asks, or there is another one
    cdef public object coordinator_host
    cdef public object _picked
    # who wants to hear of it; None: nobody
    cdef public PageObserver _tracking
    cdef public object _meter
    cdef public object _ending  # is asked in the place of ``_end``

    def _begin(self, session, metrics, timeout, double start, factory, plan, token):
        self.begin(session, metrics, timeout, start)
        self.row_factory = factory
        self.result_plan = plan
        self.routed, self.hashed = token is not None, 0 if token is None else token

    cdef void begin(self, session, PageObserver metrics, timeout, double start_time):
        catch_up()
        self.session = session
        self._metrics = metrics
        self.timeout = timeout
        self._start_time = start_time
        self._callbacks = self._errbacks = self._waiters = ()
        self._ending = default_ending
        self.core.driver_decides = True
        if metrics is not None or default_ending is not None:
            self._set_eager()  # it counts when it is answered, whether or not somebody asks for the answer

    @property
    def _token(self):
        return self.hashed if self.routed else None

    @property
    def _execution(self):
        return self.hooks()

    @_execution.setter
    def _execution(self, RequestHooks execution):
        self.execution = execution

    cdef RequestHooks hooks(self):
        """The slow path, made when it is needed."""
        cdef RequestHooks made
        if self.execution is None:
            made = self._compiled.execution(self)
            with cython.critical_section(self):
                if self.execution is None:  # two threads may ask at a time
                    self.execution = made
        return self.execution

    @property
    def _is_ordinary(self):
        return self.execution is None

    @property
    def attempted_hosts(self):
        cdef list made
        if self.hosts is None:
            made = [] if self.first_host is None else [self.first_host]
            with cython.critical_section(self):
                if self.hosts is None:  # two threads may ask at a time
                    self.hosts = made
        return self.hosts

    @attempted_hosts.setter
    def attempted_hosts(self, list hosts):
        self.hosts = hosts

    # ---- outcomes

    def _on_outcome(self):
        """Take the plain result that is there, as a caller does that waits."""
        self.take_plain(None)

    cdef int on_outcome(self) except -1:
        """On the I/O thread: process every outcome that is there."""
        cdef Batch batch
        cdef size_t index
        cdef Attempt attempt
        if self.enter_process():
            self._on_forked()
        if not self.core.take_all(&batch):
            return 0
        drop_references(self, batch.references)
        for index in range(batch.size()):
            attempt = self.taken(batch.at(index).attempt)
            if attempt is None and batch.at(index).attempt != LAST_SLOT:
                continue
            self.arrived = <double> batch.at(index).arrived / <double> SECOND
            try:
                if attempt is None:
                    self.hooks().look(self)
                    continue
                self.settle(attempt, wrap_outcome(batch.at(index)))
            except BaseException as error:  # a policy, a row factory or a malformed body: this request's error only
                self.conclude(self._page if attempt is None else attempt.page, None, error, NOTHING)
            finally:
                self.arrived = 0
        self.core.give_back(move(batch))
        return 0

    cdef int on_outcome_in_loop(self, LoopQueue queue) except -1:
        return self.take_plain(queue)

    cdef int take_plain(self, LoopQueue here) except -1:
        """On the thread of a caller or of an event loop: conclude the page by the plain result that is there. All else,
        and what cannot be read here, is put back for the I/O thread. *here*: the queue of a loop that this thread drains."""
        cdef Batch batch
        cdef size_t index
        cdef Attempt attempt
        cdef bint done
        interruption = None
        if self.enter_process():
            self._on_forked()
        if not self.core.take_plain(&batch):
            return 0
        drop_references(self, batch.references)
        for index in range(batch.size()):
            attempt = self.attempt_of(batch.at(index).attempt)
            if attempt is None:
                continue
            done = False
            if interruption is None:
                try:
                    done = self.settle_plain(attempt, batch.at(index), here)
                except BaseException as error:  # of the handler of a signal; nothing has changed
                    interruption = error
            if not done:
                self.put_back(batch.at(index))
        self.core.give_back(move(batch))
        if interruption is not None:
            raise interruption
        return 0

    cdef int put_back(self, Outcome& outcome) except -1:
        cdef Ref[CLoopQueue] queue
        if self.enter_process():  # the handler of a signal has forked, and this is the child
            self._on_forked()
            return 0
        hand_on(self, self.core.put_back(move(outcome)), queue)

    def _hand_over(self, Attempt attempt not None, answer):
        self.hand_over(attempt, answer)

    cdef int hand_over(self, Attempt attempt, answer) except -1:
        """The I/O thread goes on with *attempt*, which was sent by another operation, and *answer*, its outcome."""
        cdef Outcome outcome
        cdef Ref[CLoopQueue] queue
        fill_outcome(&outcome, <uint32_t> attempt.number, answer)
        self.all_attempts()[attempt.number] = attempt
        if self.home is None and isinstance(attempt.connection.reactor, Reactor):
            self.home = attempt.connection.reactor
        Py_INCREF(self)  # the outcome's
        outcome.hot = False
        hand_on(self, self.core.put_back(move(outcome)), queue)
        Py_DECREF(self)
        return 0

    def _handle(self, Attempt attempt not None, answer):
        """On the I/O thread: what on_outcome does, for an attempt that another request sent."""
        try:
            self.settle(attempt, answer)
        except Exception as error:
            self.conclude(attempt.page, None, error, NOTHING)

    cdef bint settle_plain(self, Attempt attempt, Outcome& outcome, LoopQueue here) except -1:
        """Conclude the page of *attempt* by *outcome*, a plain result. False if that is more than to set the outcome:
        then nothing has changed. All that comes before the last step only reads, so it may be interrupted anywhere."""
        cdef tuple plain
        cdef bint done = False
        cdef Frame frame = wrap_frame(outcome.frame)
        try:
            error, plain = None, None
            try:
                if self._compiled is not None:
                    plain = plain_of(&frame.native, frame, attempt.reader(), attempt.plan, self.row_factory)
                if plain is None:
                    plain = self.hooks().read_plain(self, attempt, frame)
                    if plain is None:
                        return False
                    rows, came = plain
                else:
                    rows = plain[0]
                    came = NOTHING if rows is None else (attempt.plan, plain[1], None, plain[2])
            except Exception as broken:
                if isinstance(broken, error_class("ProtocolError")):
                    return False  # to be read again, and reported
                if interruptible():  # of the row factory, or of the handler of a signal: the I/O thread finds out
                    if here is None:
                        raise
                    return False
                rows, error, came = None, broken, NOTHING
            done = self.conclude_plain(attempt, rows, error, came, here)
            return done
        finally:
            if not done:
                outcome.frame = frame.native

    cdef bint conclude_plain(self, Attempt attempt, rows, error, tuple came, LoopQueue here) except -1:
        """The one native step by which a caller concludes a page. False if more is to be done than to wake those that
        wait."""
        cdef tuple waiters = (), outcome = (rows, error, came, attempt.page)
        cdef int64_t page = attempt.page
        cdef bint over
        cdef Attempt last
        cdef dict many
        if self.enter_process():  # the handler of a signal has forked, and this is the child
            self._on_forked()
            return True
        if green_waiting and greenlets_wait(self):
            return False
        with cython.critical_section(self):
            over = self._outcome is not None or self._page != page
            if not over:
                if (
                    self._callbacks or self._errbacks or self._ending is not None or self._timers
                    or self._tracking is not None or self._metrics is not None or self._meter is not None
                    or (self.attempts is not None and len(self.attempts) > 1)
                    or (self._waiters and not all_have_queues(self._waiters))
                ):
                    return False
                self.coordinator_host = attempt.host
                self._outcome = outcome
                waiters, self._waiters = self._waiters, ()
                last, self.only = self.only, None
                many, self.attempts = self.attempts, None
                self.core.finish()
        if over:
            self.taken(attempt.number)
        elif waiters:
            tell_all(waiters, outcome, here)
            if self.home is not None and (here is None or not all_of_loop(waiters, here)):
                look_at_loops(self.home)
        return True

    cdef int settle(self, Attempt attempt, answer) except -1:
        self.coordinator_host = attempt.host
        if self._meter is not None:
            self.measure(attempt, answer)
        if self._compiled is not None and self._tracking is None and type(answer) is Frame:  # nearly all end here
            try:
                plain = plain_of(
                    &(<Frame> answer).native, answer, attempt.reader(), attempt.plan, self.row_factory
                )
            except Exception as error:
                if not isinstance(error, error_class("ProtocolError")):
                    raise
                plain = None  # to be read again, and reported
            if plain is not None:
                rows = (<tuple> plain)[0]
                came = NOTHING if rows is None else (attempt.plan, (<tuple> plain)[1], None, (<tuple> plain)[2])
                if type(rows) is UNMADE and (self._callbacks or self._ending is not None):  # they are given rows
                    rows = rows.rows()
                self.conclude(attempt.page, rows, None, came)
                return 0
        self.hooks().process(self, attempt, answer)
        return 0

    def _measured_by(self, meter):
        self.measured_by(meter)

    cdef int measured_by(self, meter) except -1:
        """*meter* is told how long its attempts take, on the I/O thread."""
        self._meter = meter
        return self.set_eager()

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
        attempt = self.all_attempts().get(attempt_number)
        if attempt is not None and (<Attempt> attempt).reprepares is None and self.hooks().is_repeatable():
            self._inject(NOTHING_ELSE, LOOK)

    def _on_forked(self):
        self._fail(
            self._page,
            error_class("ConnectionShutdown")(
                "The request was made by the parent of this process, which gets its answer"
            ),
        )

    # ---- attempts

    @property
    def _attempts(self):
        return self.all_attempts()

    cdef dict all_attempts(self):
        cdef dict made
        if self.attempts is None:
            made = {}
            key = None if self.only is None else self.only.number
            with cython.critical_section(self):
                if self.attempts is None:
                    if self.only is not None:
                        made[key] = self.only
                        self.only = None
                    self.attempts = made
        return self.attempts

    cdef Attempt taken(self, uint32_t number):
        """The attempt of that number, which has an outcome now. None if nobody waits for it."""
        cdef Attempt attempt = self.only
        if attempt is not None and attempt.number == number:
            self.only = None
            return attempt
        return None if self.attempts is None else self.attempts.pop(number, None)

    cdef Attempt attempt_of(self, uint32_t number):
        """As taken, and it stays."""
        if self.only is not None and self.only.number == number:
            return self.only
        return None if self.attempts is None else self.attempts.get(number)

    cdef bint has_attempts(self) noexcept:
        return self.only is not None or (self.attempts is not None and len(self.attempts) > 0)

    cdef int launched(self, Attempt attempt, host) except -1:
        """Its first attempt is about to be submitted."""
        if self.attempts is not None:
            self.attempts[0] = attempt
        else:
            self.only = attempt
        if self.hosts is not None:
            self.hosts.append(host)
        else:
            self.first_host = host
        return 0

    cdef int not_launched(self) except -1:
        """It was not sent."""
        self.only = self.first_host = None
        if self.attempts is not None:
            self.attempts.clear()
        if self.hosts is not None:
            self.hosts.clear()
        return 0

    def _register(self, int64_t number, Attempt attempt not None):
        """Its answer may come from now on. False if nobody waits for its page any more."""
        self.all_attempts()
        key = number
        with cython.critical_section(self):
            if self._outcome is not None or self._page != attempt.page:
                return False
            self.attempts[key] = attempt
        return True

    def _give_up(self, Attempt attempt not None):
        """Nobody waits for the answer of *attempt* any more."""
        attempt.abandon(self)
        if self.execution is not None:
            self.execution.gave_up(self, attempt)

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
        self.set_eager()  # the I/O thread concludes pages with timers
        while not self.is_over(page):
            before = self._timers
            if self.change_timers(page, before, (*(before or ()), timer)):
                return
        timer.cancel()

    def _set_timer(self, int64_t page, timer):
        """In the place of all others, which are returned. None if *page* is over: nobody will cancel it."""
        self.set_eager()
        while not self.is_over(page):
            before = self._timers
            if self.change_timers(page, before, (timer,)):
                return before or ()
        return None

    def _remove_timer(self, int64_t page, timer):
        while not self.is_over(page):
            before = self._timers
            if self.change_timers(page, before, tuple([one for one in before or () if one is not timer])):
                return

    cdef bint change_timers(self, int64_t page, tuple before, tuple after) except -1:
        with cython.critical_section(self):
            if self._timers is not before or self._outcome is not None or self._page != page:
                return False
            self._timers = after
        return True

    cdef inline bint is_over(self, int64_t page) noexcept:
        return self._outcome is not None or self._page != page

    # ---- the end of a page

    def _is_over(self, int64_t page):
        """Whether nobody waits for *page* any more."""
        return self.is_over(page)

    def _fail(self, int64_t page, error not None):
        return self.conclude(page, None, error, NOTHING)

    def _conclude(self, int64_t page, result, error=None, came=NOTHING):
        """Decide what *page* came to. False when that was decided before, or another page has begun since."""
        return self.conclude(page, result, error, came)

    def _end(self, int64_t page, result, error, came):
        """As _conclude, for ``_ending``."""
        return self.end(page, result, error, came, True)

    cdef bint conclude(self, int64_t page, result, error, came) except -1:
        return self.end(page, result, error, came, False)

    cdef bint end(self, int64_t page, result, error, came, bint asked) except -1:
        """The outcome of *page*, in one native section. What is left to do then is done on the I/O thread: here, if this
        is it. Other threads post it, natively too, so that an exception of a signal's handler leaves nothing half done."""
        cdef object outcome = (result, error, came, page), ending = None
        cdef tuple waiters = ()
        cdef Reactor reactor = self.driver()
        cdef bint on_driver = reactor is not None and reactor.core.on_role()
        cdef _Rest rest = _Rest.__new__(_Rest)
        rest.request = self
        self.enter_process()
        with cython.critical_section(self):
            if self._outcome is not None or self._page != page:
                return False
            if not asked:
                ending = self._ending
            if ending is None:
                self._outcome = outcome
                rest.outcome = outcome
                rest.elapsed = (self.arrived or seconds_now()) - self._start_time
                rest.calls = self._callbacks if error is None else self._errbacks
                rest.timers, self._timers = self._timers, None
                rest.only, self.only = self.only, None
                rest.attempts, self.attempts = self.attempts, None
                waiters, self._waiters = self._waiters, ()
                if not on_driver:
                    self.core.finish()
        if ending is not None:
            return ending(self, page, result, error, came)
        if not on_driver:
            rest.waiters = tell_all(waiters, outcome, None)
            if reactor is None or not post(reactor, rest):
                self.do_rest(rest)
            return True
        try:
            self.finish_up(rest)
        except BaseException as broken:
            report(broken, self)
        with cython.critical_section(self):  # waiters find that it was counted; the next page may have begun, without them
            if self._page == page:
                self.core.finish()
        rest.waiters = tell_all(waiters, outcome, None)
        try:
            self.clear_up(rest)
        except BaseException as broken:
            report(broken, self)
        return True

    cdef int do_rest(self, _Rest rest) except -1:
        try:
            self.finish_up(rest)
        finally:
            self.clear_up(rest)
        return 0

    cdef Reactor driver(self):
        """The reactor on whose thread the rest is done; None if there is none (any more)."""
        cdef Reactor reactor = self.home
        if reactor is None and isinstance(self.session, SessionFields):
            known = (<SessionFields> self.session)._reactor
            if isinstance(known, Reactor):
                reactor = <Reactor> known
        return None if reactor is None or reactor.core.foreign() else reactor

    cdef int finish_up(self, _Rest rest) except -1:
        """Count the page, and tell who keeps track of it."""
        cdef object error = (<tuple> rest.outcome)[1]
        if self._tracking is not None:
            self._tracking.page_ended(self, error, rest.elapsed)
        if self._metrics is not None:
            self._metrics.page_ended(self, error, rest.elapsed)
        return 0

    cdef int clear_up(self, _Rest rest) except -1:
        """Each of the steps, whatever the others raise."""
        cdef object result = rest.outcome[0], error = rest.outcome[1], failed = None
        if green_waiting:
            wake_greenlets(self)
        try:
            if _bridges:
                close_the_closed()
        except BaseException as broken:
            failed = broken
        for waiter in rest.waiters:
            try:
                tell(waiter, rest.outcome)
            except BaseException as broken:
                failed = broken
        try:
            if rest.timers is not None:
                for timer in rest.timers:
                    timer.cancel()
        except BaseException as broken:
            failed = broken
        try:
            if rest.only is not None:
                self._give_up(rest.only)
            if rest.attempts:
                for attempt in list(rest.attempts.values()):
                    self._give_up(attempt)
        except BaseException as broken:
            failed = broken
        try:
            if rest.calls and type(result) is UNMADE:  # a callback came while it was processed
                tell_rows(rest.calls, result)
            else:
                for call in rest.calls:
                    call_back(call, result if error is None else error)
        except BaseException as broken:
            failed = broken
        if failed is not None:
            raise failed
        return 0

    cdef object cancelled(self):
        """What a request that was given up ends with. It is an ordinary exception, as of any future of threads: that of
        asyncio is none, and would end a thread as if it were asked to stop. Tasks get theirs, see future.py."""
        from concurrent.futures import CancelledError

        error = CancelledError("The request was cancelled")
        error.attempts = len(self.attempted_hosts)
        error.elapsed = seconds_now() - self._start_time
        if self.execution is None:
            error.maybe_executed = self.has_attempts()
        else:
            error.maybe_executed = self.execution.may_be_executed(self)
        return error

    # ---- the next page

    def _fetch(self, paging_state, Answer asker=None):
        """Ask for the page at *paging_state*; its number, which is *asker*'s ``_fetching`` from the moment on in which the
        page is pending. Errors of sending are the page's, and so is what the handler of a signal raises meanwhile."""
        cdef object before = self._outcome
        cdef int64_t page = self._page + 1
        cdef object number = page
        cdef bint begun
        self.hooks()  # made now, if it was not
        with cython.critical_section(self):
            begun = before is not None and self._outcome is before
            if begun:
                self._outcome = None
                self._page = page
                self.rearm()
        if not begun:
            raise error_class("DriverException")(
                "A page of this request is on its way already; wait for it first"
            )
        try:
            if asker is not None:
                asker._fetching = number
            if green is not None and green.here() is not None:
                hold_callbacks(self._callbacks + self._errbacks)
            self._send_page(page, paging_state, before)
        except BaseException as error:  # whoever waits for the page must hear of it too
            self.conclude(page, None, error, NOTHING)
            if not isinstance(error, Exception):
                if asker is not None:
                    asker._fetching = None
                raise
        return page

    def _send_page(self, page, paging_state, before):
        """Override. Send for *page*, at *paging_state*; *before* is the outcome of the page before."""
        raise NotImplementedError

    # ---- who hears of it

    def _add(self, callback, errback):
        cdef tuple callbacks, errbacks, more, failed
        cdef object on_result = callback, on_error = errback, in_greenlet = None
        if green is not None and (loop := green.here()) is not None:
            in_greenlet = new_callbacks(loop)
            on_result = None if callback is None else (in_greenlet, (callback,), {})
            on_error = None if errback is None else (in_greenlet, (errback,), {})
        while True:
            callbacks, errbacks = self._callbacks, self._errbacks
            more = callbacks if on_result is None else (*callbacks, on_result)
            failed = errbacks if on_error is None else (*errbacks, on_error)
            with cython.critical_section(self):
                changed = self._callbacks is callbacks and self._errbacks is errbacks
                if changed:
                    self._callbacks, self._errbacks = more, failed
                    outcome = self._outcome
            if changed:
                break
        self._set_eager()  # also when this page is here already: the next one must find the callbacks too
        send_waiting()
        if outcome is None:
            return
        if in_greenlet is not None:
            in_greenlet.let_go()
        result, error, _, _ = outcome
        if error is None and type(result) is UNMADE:
            try:
                result = opened(result)
            except Exception as broken:
                error = broken
        if error is None and callback is not None:
            call_back(callback, result, True)
        elif error is not None and errback is not None:
            call_back(errback, error, True)

    def clear_callbacks(self):
        with cython.critical_section(self):
            self._callbacks = self._errbacks = ()

    def _settle(self):
        """Wait for the outcome. Ctrl-C interrupts the wait and leaves the request as it was."""
        return self.settled()

    cdef tuple settled(self):
        if self._outcome is not None:
            return self._outcome
        cdef Reactor reactor = self.driver()
        if reactor is not None and reactor.core.on_role():
            raise error_class("DriverException")(
                "a request cannot be waited for on the driver's I/O thread (in a callback): its answer would never "
                "be read; add a callback to it, or hand the work to another thread"
            )
        send_waiting()
        while self._outcome is None:
            self._blocked = True
            self.wait(NO_TIMEOUT)
            self.take_plain(None)
        return self._outcome

    def _result(self):
        """What the application gets of the outcome, which is waited for; or its exception, raised."""
        cdef tuple outcome = self._outcome
        if outcome is None:
            outcome = self._settle()  # which tests watch
        if outcome[1] is not None:
            raise_waited(outcome)
        return answer_of(result_type, self, outcome)

    def __await__(self):
        return settling(self, True)

    def _settle_async(self):
        """As :meth:`_settle`, without blocking the running loop: what an ``await`` delegates to."""
        return settling(self, False)

    cdef object awaited(self, tuple outcome):
        """The result of *outcome*, for one of several tasks that may wait for it at a time, or its exception raised."""
        if outcome[1] is not None:
            raise_awaited(outcome[1])
        return answer_of(result_type, self, outcome)

    def _join(self, loop, waiter):
        """The outcome, if it is here; else None, and *waiter* will hear of it, on the thread of the running *loop*."""
        return self.join(loop, waiter)

    cdef object join(self, loop, waiter):
        cdef tuple others, waiters
        cdef bint joined = False
        cdef LoopQueue queue = bridge_to(loop).queue
        cdef _Waiter entry
        if type(waiter) is _Awaiting:
            (<_Awaiting> waiter).queue = queue
        else:
            entry = _Waiter.__new__(_Waiter)
            entry.waiter = waiter
            entry.queue = queue
            waiter = entry
        while not joined:
            others = self._waiters
            waiters = (*others, waiter) if others else (waiter,)
            with cython.critical_section(self):
                if self._outcome is not None:
                    return self._outcome
                joined = self._waiters is others
                if joined:
                    self._waiters = waiters
        if queue is None or self._blocked or not all_of_loop(others, queue):
            self.set_eager()  # one of them may be busy, stopped or closed: the I/O thread tells all
        else:
            self.attach(queue)
        return None

    def _leave(self, waiter):
        """*waiter* does not wait any more. The last one to go gives the page up."""
        cdef tuple before, others
        cdef int64_t page = 0
        cdef bint left = False, wanted = True
        cdef object error = self.cancelled()
        while not left:
            before = self._waiters
            others = tuple([other for other in before if waiter_of(other) is not waiter])
            if len(others) == len(before):  # it heard already
                return
            with cython.critical_section(self):
                left = self._waiters is before
                if left:
                    self._waiters = others
                    page = self._page
                    wanted = len(others) + len(self._callbacks) + len(self._errbacks) > 0 or self._blocked
        if not wanted:
            self.conclude(page, None, error, NOTHING)

    def cancel(self):
        return self.conclude(self._page, None, self.cancelled(), NOTHING)

