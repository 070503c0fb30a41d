# Request: one request over all its pages; ownership of its state, and the thread of each step.
#
# A request is *pending* (``_outcome`` is None: attempts are in flight, or a step such as schema agreement is running)
# or *concluded*. Each page is a request of its own: ``_fetch`` makes a concluded request pending again and increments
# ``_page``. All state of a page carries its number, so that late events (a response that is still being decoded, a
# delayed retry, a timer) can neither conclude another page nor be sent for it.
#
# This object owns outcome, page, deadline, attempts in flight, timers, callbacks and waiters. The slow path is an
# object of its own, the *execution* (_session/request/execution.py), made when it is needed: message, query plan,
# retries, errors. Applications get a ResponseFuture, which adds no state.
#
# Threads: callers wait, the I/O thread decides.
#
# * A caller (a thread in ``_wait_for_outcome``, the loop of a task that awaits, a greenlet) takes *plain* results only:
#   rows or void without extras, of a request without callbacks, timers and latency recorder (``take_plain``). Decoding
#   one changes no state; then ``conclude_plain`` sets the outcome, counts the page, wakes the waiters, and reports the
#   end to a tracker. A result that needs more steps, or could not be decoded, is put back for the I/O thread.
# * The I/O thread takes all other outcomes (``on_outcome``): errors, USE, DDL, UNPREPARED, and results of requests with
#   callbacks.
# * A caller that ends a page itself (``cancel``, the last task to leave, an error of sending) sets the outcome, wakes
#   the waiters, and posts the rest (``_PageEnd``: timers, attempts to give up, trackers, callbacks) to the I/O thread.
# * A caller that requests the next page makes the request pending and is responsible for it from then on: an exception
#   raised before the page is sent ends the page.
#
# Why that holds when a signal handler raises in a caller: Python runs handlers between bytecodes, and where native code
# requests it. State changes in *critical sections*, code without a call into Python, in which the GIL cannot change
# hands either. Each of the changes above is one section, followed by native calls alone (finish, complete_all, post):
# an exception comes before, when nothing has changed, or after, when nothing is left to do. An allocation may run the
# garbage collector, and with it a ``__del__``, whose exceptions do not propagate: so a section allocates before it
# reads state, and only assigns from there on. On the I/O thread no handler runs.
#
# Without the GIL a section holds the lock of the request. The interpreter releases that lock when the thread blocks in
# a call of Python's C API; so sections make no such call but for reference counts, and never free an object: what they
# replace is held by a variable of the caller. A field that changes while other threads may read it is read in a section
# too, or a reference could be added to an object that is freed at that moment; also to compare it with None, as a plain
# read orders nothing. Fields that are None until they are needed, and then stay, are read by load_once.
# Attempts, callbacks and waiters are tuples, which are replaced as a whole: a section cannot call a dict or a list.
#
# Why no waiter waits for ever: an outcome is either in the operation, where a waiting thread, a loop's queue or the I/O
# thread is called for it (operation.h), or owned by one thread, which concludes the page or puts the outcome back, also
# after an exception. Why no lock can be part of a deadlock: there is none. Foreign code (callbacks, policies,
# connections) is called outside of sections. A caller runs only callbacks that it adds to an ended request.

cdef object NOTHING = (None, None, None, None)
cdef uint8_t OPCODE_RESULT = 8
cdef Failure PEER_SILENT = Failure(CLOSED, "the host is silent", True, 0.0)


cdef extern from *:
    """
    #define fastcql_execution_of(request) FASTCQL_FIELD(request, execution)
    """
    PyObject** execution_of "fastcql_execution_of"(Request request)


cdef class Request(Operation):
    """State of a request, and its fast path."""

    cdef public object session
    cdef public object timeout
    cdef public double _start_time
    cdef public RequestRecorder _metrics
    # state of the current page
    cdef readonly int64_t _page
    cdef public object _outcome
    cdef Attempt first  # an attempt in flight
    cdef tuple others  # further attempts in flight
    cdef public tuple _timers
    cdef double arrived  # time of the outcome that is being processed; 0 for none
    cdef readonly tuple _callbacks
    cdef readonly tuple _errbacks
    cdef readonly tuple _waiters
    cdef readonly bint _blocked
    cdef bint attached
    # content of the request
    cdef public ExecutePlanBase _execute_plan
    cdef public object _frame
    cdef bint routed
    cdef cbool is_counted  # the page, whose result has arrived; see metrics.pxi
    cdef cbool is_attempt_counted  # the attempt that launch() has made
    cdef int64_t hashed  # its token
    cdef public object _values
    cdef object result_plan
    cdef public object row_factory
    cdef public int _prefetch  # pages that are requested while the one before is consumed
    cdef RequestHooks execution  # the slow path; None until it is needed
    # targets
    cdef object first_host
    cdef list hosts  # None until they are read, or there is a second one
    cdef public object coordinator_host
    cdef public object _picked
    # observers; None if there are none
    cdef public RequestObserver _tracking
    cdef readonly Tracked _tracked  # data of the tracker; None if the tracker does not get this page, or has got its end
    cdef public object _latency_recorder
    cdef _TrackedLatency tracked_latency  # of the current page; see speculation.pxi
    cdef public object _ending  # called instead of ``_end``
    cdef _UnretrievedError unretrieved  # from the end of a request that failed until its error is asked for

    def _begin(self, session, metrics, timeout, double start, factory, plan, token):
        self.begin(session, metrics, timeout, start)
        self.row_factory = factory
        self.result_plan = plan
        self.routed, self.hashed = token is not None, 0 if token is None else token

    cdef void begin(self, session, RequestRecorder metrics, timeout, double start_time):
        catch_up()
        self.session = session
        self.timeout = timeout
        self._start_time = start_time
        self._callbacks = self._errbacks = self._waiters = self.others = ()
        self._ending = default_ending
        self.core.driver_decides = True
        self._metrics = metrics
        if default_ending is not None:
            self._set_eager()  # the response is processed, even if no caller reads it

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
        cdef object known = load_once(execution_of(self))
        if known is None:  # two threads may make one at the same time
            known = put_once(execution_of(self), self._execute_plan.execution(self))
        return <RequestHooks> known

    cdef RequestHooks known_hooks(self):
        """The slow path; None if it was not made yet."""
        return <RequestHooks> load_once(execution_of(self))

    @property
    def _is_on_fast_path(self):
        return self.known_hooks() is None

    @property
    def attempted_hosts(self):
        cdef list found, made
        with cython.critical_section(self):
            found, first = self.hosts, self.first_host
        while found is None:  # another thread may make one, or launch the first attempt
            made = [] if first is None else [first]
            with cython.critical_section(self):
                if self.hosts is None and self.first_host is first:
                    self.hosts = made
                found, now = self.hosts, self.first_host
            first = now
        return found

    @attempted_hosts.setter
    def attempted_hosts(self, list hosts):
        with cython.critical_section(self):
            before, self.hosts = self.hosts, hosts

    # ---- outcomes

    cdef tuple outcome(self):
        """Return the outcome; None while the page is pending."""
        with cython.critical_section(self):
            return self._outcome

    def _mark_retrieved(self):
        self.mark_retrieved()

    cdef void mark_retrieved(self) noexcept:
        """Note that a program asks for the outcome."""
        cdef _UnretrievedError unretrieved
        with cython.critical_section(self):
            unretrieved, self.unretrieved = self.unretrieved, None
        if unretrieved is not None:
            unretrieved.error = None

    cdef bint is_concluded(self) noexcept:
        with cython.critical_section(self):
            return self._outcome is not None

    cdef bint is_attached(self) noexcept:
        with cython.critical_section(self):
            return self.attached

    cdef int64_t page_now(self) noexcept:
        with cython.critical_section(self):
            return self._page

    cdef void set_arrived(self, double arrived) noexcept:
        with cython.critical_section(self):
            self.arrived = arrived

    def _on_outcome(self):
        """Take the plain result, as a waiting caller does."""
        self.take_plain(None)

    cdef int on_outcome(self) except -1:
        """On the I/O thread: process all outcomes."""
        cdef Batch batch
        cdef size_t index
        cdef Attempt attempt
        if self.enter_process():
            self._on_forked()
        if not self.core.take_all(&batch):
            return 0
        drop_references(self, batch.references)
        for index in range(batch.size()):
            attempt = self.take_attempt(batch.at(index).attempt)
            if attempt is None and batch.at(index).attempt != NO_SLOT:
                continue
            self.set_arrived(<double> batch.at(index).arrived / <double> SECOND)
            try:
                if attempt is None:
                    self.hooks().look(self)
                    continue
                self.process_outcome(attempt, wrap_outcome(batch.at(index)))
            except BaseException as error:  # a policy, a row factory or a malformed body: this request's error only
                self.conclude(self.page_now() if attempt is None else attempt.page, None, error, NOTHING)
            finally:
                self.set_arrived(0)
        self.core.give_back(move(batch))
        return 0

    cdef int on_outcome_in_loop(self, CompletionQueue queue) except -1:
        return self.take_plain(queue)

    cdef int take_plain(self, CompletionQueue here) except -1:
        """On the thread of a caller or of an event loop: conclude the page by the plain result, if there is one. All
        other outcomes, and results that cannot be decoded here, are put back for the I/O thread. *here*: the queue of a
        loop that this thread drains."""
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
            attempt = self.find_attempt(batch.at(index).attempt)
            if attempt is None:
                continue
            done = False
            if interruption is None:
                try:
                    done = self.decode_plain(attempt, batch.at(index), here)
                except BaseException as error:  # raised by a signal handler; nothing has changed
                    interruption = error
            if not done:
                self.put_back(batch.at(index))
        self.core.give_back(move(batch))
        if interruption is not None:
            raise interruption
        return 0

    cdef int put_back(self, Outcome& outcome) except -1:
        cdef Ref[CCompletionQueue] queue
        if self.enter_process():  # the handler of a signal has forked, and this is the child
            self._on_forked()
            return 0
        schedule_processing(self, self.core.put_back(move(outcome)), queue)

    def _hand_over(self, Attempt attempt not None, answer):
        self.hand_over(attempt, answer, 0)

    cdef int hand_over(self, Attempt attempt, answer, Nanos arrived) except -1:
        """Have the I/O thread go on with *attempt*, which another operation sent, and *answer*, its outcome. *arrived*:
        the time at which it was read; 0 if it is not known."""
        cdef Outcome outcome
        cdef Ref[CCompletionQueue] queue
        fill_outcome(&outcome, <uint32_t> attempt.number, answer)
        outcome.arrived = arrived
        self.add_attempt(attempt, False)
        if self.home is None and isinstance(attempt.connection.reactor, Reactor):
            self.home = attempt.connection.reactor
        Py_INCREF(self)  # the outcome's reference
        outcome.hot = False
        schedule_processing(self, self.core.put_back(move(outcome)), queue)
        Py_DECREF(self)
        return 0

    def _handle(self, Attempt attempt not None, answer):
        """On the I/O thread: process *answer* as on_outcome does, for an attempt that another request sent."""
        try:
            self.process_outcome(attempt, answer)
        except Exception as error:
            self.conclude(attempt.page, None, error, NOTHING)

    cdef bint decode_plain(self, Attempt attempt, Outcome& outcome, CompletionQueue here) except -1:
        """Conclude the page of *attempt* by *outcome*, a plain result. Return False, with nothing changed, if more has
        to be done than to set the outcome. All steps before the last one only read, so each may be interrupted."""
        cdef tuple plain
        cdef bint done = False
        if self._tracking is not None and self._tracking.is_slow(outcome.arrived, self._start_time):
            return False
        cdef Frame frame = wrap_frame(outcome.frame)
        try:
            error, plain = None, None
            try:
                if self._execute_plan is not None:
                    plain = plain_result(&frame.native, frame, attempt.decoder(), attempt.plan, self.row_factory)
                if plain is None:
                    plain = self.hooks().read_plain(self, attempt, frame)
                    if plain is None:
                        return False
                    rows, page_info = plain
                else:
                    rows = plain[0]
                    page_info = NOTHING if rows is None else (attempt.plan, plain[1], None, plain[2])
            except Exception as broken:
                if isinstance(broken, error_class("ProtocolError")):
                    return False  # the I/O thread decodes it again, and reports the error
                if interruptible():  # raised by the row factory or by a signal handler: the I/O thread finds out
                    if here is None:
                        raise
                    return False
                note_failure(self, broken)
                rows, error, page_info = None, broken, NOTHING
            done = self.conclude_plain(attempt, (rows, error, page_info, attempt.page), here, outcome.arrived)
            return done
        finally:
            if not done:
                outcome.frame = frame.native

    cdef bint conclude_plain(self, Attempt attempt, tuple outcome, CompletionQueue here, Nanos arrived) except -1:
        """Conclude a page from a caller, in one native step. Return False if more has to be done than to wake the
        waiters, and to report the end to a tracker."""
        cdef tuple waiters = ()
        cdef int64_t page = attempt.page
        cdef bint over
        cdef Attempt last
        cdef tuple more
        cdef _TrackedLatency latency = None
        cdef _PageEnd page_end = None
        if self._tracked is not None:
            page_end = _PageEnd.__new__(_PageEnd)
            page_end.request = self
            page_end.outcome = outcome
            page_end.answered = attempt
            page_end.is_counted = True
            page_end.waiters = page_end.others = page_end.calls = ()
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
                    or self._latency_recorder is not None
                    or len(self.others) + (self.first is not None) > 1
                    or (self._waiters and not all_have_queues(self._waiters))
                    or (self._metrics is not None and not record_plain(self, attempt, outcome, arrived))
                ):
                    return False
                before, self.coordinator_host = self.coordinator_host, attempt.host
                if page_end is not None:
                    page_end.tracked, self._tracked = self._tracked, None
                self._outcome = outcome
                latency, self.tracked_latency = self.tracked_latency, None
                waiters, self._waiters = self._waiters, ()
                last, self.first = self.first, None
                more, self.others = self.others, ()
                self.core.finish()
        if over:
            self.take_attempt(attempt.number)
            return True
        if latency is not None:
            latency.page_ended(outcome[1] is None, <Nanos> elapsed_since(self._start_time, arrived), arrived)
        try:
            if page_end is not None:
                self.report_plain(page_end, arrived)
        finally:
            if waiters:
                complete_all(waiters, outcome, here)
                if self.home is not None and (here is None or not all_of_loop(waiters, here)):
                    schedule_loop_cleanup(self.home)
        return True

    cdef int report_plain(self, _PageEnd page_end, Nanos arrived) except -1:
        """Report the end of a page to a tracker; the I/O thread does so if a signal handler interrupts it."""
        page_end.elapsed = (<double> arrived / <double> SECOND if arrived else seconds_now()) - self._start_time
        cdef Reactor reactor
        try:
            self.report_page(page_end)
        except BaseException:
            reactor = self.driver()
            if reactor is not None:
                post(reactor, page_end)
            raise
        return 0

    cdef int process_outcome(self, Attempt attempt, answer) except -1:
        with cython.critical_section(self):
            before, self.coordinator_host = self.coordinator_host, attempt.host
        if self._latency_recorder is not None:
            self.measure(attempt, answer)
        if self._execute_plan is not None and type(answer) is Frame:  # the common case
            try:
                plain = plain_result(
                    &(<Frame> answer).native, answer, attempt.decoder(), attempt.plan, self.row_factory
                )
            except Exception as error:
                if not isinstance(error, error_class("ProtocolError")):
                    raise
                plain = None  # decoded again, and the error reported
            if plain is not None:
                rows = (<tuple> plain)[0]
                page_info = NOTHING if rows is None else (attempt.plan, (<tuple> plain)[1], None, (<tuple> plain)[2])
                if type(rows) is LAZY_ROWS and (self._callbacks or self._ending is not None):  # these get rows
                    rows = rows.rows()
                if self._tracked is not None:
                    self._tracking.ended(self, attempt, None)
                self.conclude(attempt.page, rows, None, page_info)
                return 0
        self.hooks().process(self, attempt, answer)
        return 0

    def _track_latency(self, SpeculationTracker tracker not None):
        track_latency(self, tracker)

    def _set_latency_recorder(self, latency_recorder):
        self.set_latency_recorder(latency_recorder)

    cdef int set_latency_recorder(self, latency_recorder) except -1:
        """Have *latency_recorder* called with the latency of each attempt, on the I/O thread."""
        self._latency_recorder = latency_recorder
        return self.set_eager()

    cdef int measure(self, Attempt attempt, answer) except -1:
        """Report the latency of *attempt* to the policy. A lost connection has none."""
        cdef bint answered = type(answer) is Frame
        cdef double started
        with cython.critical_section(attempt):
            started = attempt.started
        if attempt.reprepares is None and self.arrived and started:
            if answered or (<Failure> answer).kind == TIMED_OUT:
                good = answered and (<Frame> answer).opcode == OPCODE_RESULT
                self._latency_recorder(attempt.host, self.arrived - started, good)
        return 0

    def _on_silent(self, attempt_number):
        """On the I/O thread: the peer of an attempt is silent. If the statement is idempotent the request is sent to
        another host too, by the thread that processes its outcomes."""
        cdef Attempt attempt = self.find_attempt(attempt_number)
        if attempt is not None and attempt.reprepares is None and self.hooks().is_repeatable():
            self._inject(NO_ATTEMPT, PEER_SILENT)

    def _on_forked(self):
        self._fail(
            self.page_now(),
            error_class("ConnectionShutdown")(
                "The request was made by the parent of this process, which gets its response"
            ),
        )

    # ---- attempts

    @property
    def _attempts(self):
        """The attempts in flight, a tuple."""
        with cython.critical_section(self):
            first, others = self.first, self.others
        return others if first is None else (first, *others)

    cdef bint add_attempt(self, Attempt attempt, bint unless_over) except -1:
        """Add an attempt in flight. Return False if its page is over, *unless_over*."""
        cdef tuple before, after
        cdef bint added = False
        while not added:
            with cython.critical_section(self):
                before = self.others
            after = (*before, attempt)
            with cython.critical_section(self):
                if unless_over and (self._outcome is not None or self._page != attempt.page):
                    return False
                added = self.others is before
                if added:
                    self.others = after
        return True

    cdef Attempt take_attempt(self, uint32_t number):
        """Remove and return the attempt *number*, which has an outcome now. None if it is not expected any more."""
        cdef Attempt attempt = None
        cdef tuple before, after
        with cython.critical_section(self):
            if self.first is not None and self.first.number == number:
                attempt, self.first = self.first, None
        while attempt is None:
            with cython.critical_section(self):
                before = self.others
            attempt = attempt_in(before, number)
            if attempt is None:
                return None
            after = tuple([other for other in before if other is not attempt])
            with cython.critical_section(self):
                if self.others is before:
                    self.others = after
                else:
                    attempt = None
        return attempt

    def _drop_attempt(self, uint32_t number):
        """Remove an attempt. Return False if it is not expected any more."""
        return self.take_attempt(number) is not None

    cdef Attempt find_attempt(self, uint32_t number):
        """As take_attempt, without removing it."""
        cdef tuple others
        with cython.critical_section(self):
            if self.first is not None and self.first.number == number:
                return self.first
            others = self.others
        return attempt_in(others, number)

    cdef bint has_attempts(self) except -1:
        with cython.critical_section(self):
            return self.first is not None or len(self.others) > 0

    cdef int register_first(self, Attempt attempt, host) except -1:
        """Register the first attempt, which is about to be submitted."""
        cdef bint first
        cdef list hosts
        with cython.critical_section(self):
            first = self.first is None
            if first:
                self.first = attempt
        if not first:
            self.add_attempt(attempt, False)
        with cython.critical_section(self):
            hosts = self.hosts
            before, self.first_host = self.first_host, host
        if hosts is not None:
            hosts.append(host)
        return 0

    cdef int withdraw_first(self) except -1:
        """Undo register_first(): nothing was sent."""
        cdef Attempt first
        cdef tuple others
        cdef list hosts
        with cython.critical_section(self):
            first, self.first = self.first, None
            others, self.others = self.others, ()
            host, self.first_host = self.first_host, None
            hosts = self.hosts
        if hosts is not None:
            hosts.clear()
        return 0

    def _register(self, Attempt attempt not None):
        """Register *attempt*, whose response may come from now on. Return False if its page is over."""
        return self.add_attempt(attempt, True)

    def _give_up(self, Attempt attempt not None):
        """Give up *attempt*: its response is not needed any more."""
        attempt.abandon(self)
        cdef RequestHooks hooks = self.known_hooks()
        if hooks is not None:
            hooks.gave_up(self, attempt)

    def _remaining(self):
        """Return the seconds until the deadline; None if there is none."""
        if self.timeout is None:
            return None
        try:
            return self.timeout - (seconds_now() - self._start_time)
        except TypeError as error:
            raise TypeError(f"timeout must be a number of seconds or None, not {self.timeout!r}") from error

    def _add_timer(self, int64_t page, timer):
        """Add a timer, which is cancelled when *page* is over; at once if it is over already."""
        self.set_eager()  # the I/O thread concludes pages with timers
        while not self.is_over(page):
            before = self.timers()
            if self.change_timers(page, before, (*(before or ()), timer)):
                return
        timer.cancel()

    def _set_timer(self, int64_t page, timer):
        """Replace all timers by *timer* and return them. None if *page* is over: *timer* will not be cancelled."""
        self.set_eager()
        while not self.is_over(page):
            before = self.timers()
            if self.change_timers(page, before, (timer,)):
                return before or ()
        return None

    def _remove_timer(self, int64_t page, timer):
        while not self.is_over(page):
            before = self.timers()
            if self.change_timers(page, before, tuple([one for one in before or () if one is not timer])):
                return

    cdef tuple timers(self):
        with cython.critical_section(self):
            return self._timers

    cdef bint change_timers(self, int64_t page, tuple before, tuple after) except -1:
        with cython.critical_section(self):
            if self._timers is not before or self._outcome is not None or self._page != page:
                return False
            self._timers = after
        return True

    cdef bint is_over(self, int64_t page) noexcept:
        """Not to be called in a section."""
        with cython.critical_section(self):
            return self._outcome is not None or self._page != page

    # ---- the end of a page

    def _is_over(self, int64_t page):
        """True if *page* is concluded, or another page has begun."""
        return self.is_over(page)

    def _fail(self, int64_t page, error not None):
        return self.conclude(page, None, error, NOTHING)

    def _conclude(self, int64_t page, result, error=None, page_info=NOTHING):
        """Set the outcome of *page*. Return False if it was set before, or another page has begun since."""
        return self.conclude(page, result, error, page_info)

    def _end(self, int64_t page, result, error, page_info):
        """As _conclude, called by ``_ending``."""
        return self.end(page, result, error, page_info, True)

    cdef bint conclude(self, int64_t page, result, error, page_info) except -1:
        return self.end(page, result, error, page_info, False)

    cdef bint end(self, int64_t page, result, error, page_info, bint asked) except -1:
        """Set the outcome of *page*, in one native section. The remaining steps run on the I/O thread: here, if this is
        that thread. Other threads post them, natively too, so that an exception of a signal handler leaves nothing half
        done."""
        cdef object outcome = (result, error, page_info, page), ending = None
        cdef tuple waiters = ()
        cdef Reactor reactor = self.driver()
        cdef bint on_driver = reactor is not None and reactor.core.is_owner()
        cdef _PageEnd page_end = _PageEnd.__new__(_PageEnd)
        cdef _UnretrievedError unretrieved = None
        cdef _TrackedLatency latency = None
        page_end.request = self
        self.enter_process()
        if error is not None:
            if note_failure(self, error) and page == 0:
                unretrieved = _UnretrievedError.__new__(_UnretrievedError)
        with cython.critical_section(self):
            if self._outcome is not None or self._page != page:
                return False
            if not asked:
                ending = self._ending
            if ending is None:
                if unretrieved is not None and not (self._errbacks or self._waiters or self._blocked):
                    unretrieved.error = error
                    self.unretrieved = unretrieved
                self._outcome = outcome
                latency, self.tracked_latency = self.tracked_latency, None
                page_end.outcome = outcome
                page_end.tracked, self._tracked = self._tracked, None
                page_end.elapsed = (self.arrived or seconds_now()) - self._start_time
                page_end.calls = self._callbacks if error is None else self._errbacks
                page_end.timers, self._timers = self._timers, None
                page_end.first, self.first = self.first, None
                page_end.others, self.others = self.others, ()
                waiters, self._waiters = self._waiters, ()
                if not on_driver:
                    self.core.finish()
        if ending is not None:
            return ending(self, page, result, error, page_info)
        if latency is not None:
            latency.page_ended(error is None, <Nanos> (page_end.elapsed * <double> SECOND), monotonic_now())
        if not on_driver:
            page_end.waiters = complete_all(waiters, outcome, None)
            if reactor is None or not post(reactor, page_end):
                self.finish_page(page_end)
            return True
        try:
            self.report_page(page_end)
        except BaseException as broken:
            report(broken, self)
        with cython.critical_section(self):  # after the count; another page may have begun
            if self._page == page:
                self.core.finish()
        page_end.waiters = complete_all(waiters, outcome, None)
        try:
            self.release_page(page_end)
        except BaseException as broken:
            report(broken, self)
        return True

    cdef int finish_page(self, _PageEnd page_end) except -1:
        try:
            self.report_page(page_end)
        finally:
            self.release_page(page_end)
        return 0

    cdef Reactor driver(self):
        """Return the reactor whose thread does the remaining steps; None if there is none, or none any more."""
        cdef Reactor reactor = self.home
        if reactor is None and isinstance(self.session, SessionFields):
            known = (<SessionFields> self.session)._reactor
            if isinstance(known, Reactor):
                reactor = <Reactor> known
        return None if reactor is None or reactor.core.foreign() else reactor

    cdef int report_page(self, _PageEnd page_end) except -1:
        """Count the page, and notify its observers."""
        cdef object error = (<tuple> page_end.outcome)[1]
        if self._tracking is not None:
            if page_end.tracked is not None:
                self._tracking.tracked_ended(self, page_end.tracked, page_end.answered, error, page_end.elapsed)
            if page_end.elapsed >= self._tracking.threshold:
                self._tracking.slow_ended(self, error, page_end.elapsed)
        if self._metrics is not None and not page_end.is_counted:
            record_page(self, error, page_end.elapsed)
        return 0

    cdef int release_page(self, _PageEnd page_end) except -1:
        """Do each of the steps, even if others raise."""
        cdef object result = page_end.outcome[0], error = page_end.outcome[1], failed = None
        if green_waiting:
            wake_greenlets(self)
        try:
            if _adapters:
                clean_up_closed_loops()
        except BaseException as broken:
            failed = broken
        for waiter in page_end.waiters:
            try:
                complete(waiter, page_end.outcome)
            except BaseException as broken:
                failed = broken
        try:
            if page_end.timers is not None:
                for timer in page_end.timers:
                    timer.cancel()
        except BaseException as broken:
            failed = broken
        try:
            if page_end.first is not None:
                self._give_up(page_end.first)
            for attempt in page_end.others:
                self._give_up(attempt)
        except BaseException as broken:
            failed = broken
        try:
            if page_end.calls and type(result) is LAZY_ROWS:  # a callback was added meanwhile
                call_with_rows(page_end.calls, result)
            else:
                for call in page_end.calls:
                    call_back(call, result if error is None else error)
        except BaseException as broken:
            failed = broken
        if failed is not None:
            raise failed
        return 0

    cdef object cancelled(self):
        """Return the exception of a cancelled request. It is an Exception, as that of thread futures: asyncio's is not,
        and would end a thread like a request to stop it. Tasks get asyncio's, see future.py."""
        from concurrent.futures import CancelledError

        error = CancelledError("The request was cancelled")
        error.attempts = len(self.attempted_hosts)
        error.elapsed = seconds_now() - self._start_time
        cdef RequestHooks hooks = self.known_hooks()
        if hooks is None:
            error.maybe_executed = self.has_attempts()
        else:
            error.maybe_executed = hooks.may_be_executed(self)
        return error

    # ---- the next page

    def _fetch(self, paging_state, Answer asker=None):
        """Request the page at *paging_state* and return its number, which is *asker*'s ``_fetching`` as soon as the page
        is pending; or that of another thread's request for *asker*; None if *asker* is at another page by now. Errors of
        sending end the page, and so does an exception of a signal handler meanwhile."""
        cdef object before = self.outcome()
        cdef int64_t page = self.page_now() + 1
        cdef object number = page
        cdef bint begun
        self.hooks()  # made before the section, if it was not
        if asker is None:
            with cython.critical_section(self):
                begun = self.begin_page(before, page)
        else:
            with cython.critical_section(self, asker):
                requested = asker._fetching
                begun = requested is None and asker._paging_state is paging_state and self.begin_page(before, page)
                if begun:
                    asker._fetching = number
                passed = requested is not None or asker._paging_state is not paging_state
            if passed:
                return requested
        if not begun:
            raise error_class("DriverException")(
                "A page of this request is being fetched already; wait for it first"
            )
        try:
            if green is not None and green.here() is not None:
                hold_callbacks(self._callbacks + self._errbacks)
            self._send_page(page, paging_state, before)
        except BaseException as error:  # other waiters of the page get it too
            self.conclude(page, None, error, NOTHING)
            if not isinstance(error, Exception):
                if asker is not None:
                    asker._not_requested(number)
                raise
        return number

    cdef bint begin_page(self, before, int64_t page) noexcept:
        """Within a section: make the request pending again, for *page*, if its outcome is *before*."""
        if before is None or self._outcome is not before:
            return False
        self._outcome = None
        self._page = page
        self.rearm()
        return True

    def _send_page(self, page, paging_state, before):
        """Override. Send the request for *page*, at *paging_state*; *before* is the outcome of the page before."""
        raise NotImplementedError

    # ---- callbacks and waiters

    def _add(self, callback, errback):
        cdef tuple callbacks, errbacks, more, failed
        cdef object on_result = callback, on_error = errback, in_greenlet = None
        if green is not None and (loop := green.here()) is not None:
            in_greenlet = new_callbacks(loop)
            on_result = None if callback is None else (in_greenlet, (callback,), {})
            on_error = None if errback is None else (in_greenlet, (errback,), {})
        while True:
            with cython.critical_section(self):
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
        self._set_eager()  # also if this page is complete: the callbacks get the next one too
        send_waiting()
        if outcome is None:
            return
        if errback is not None:
            self.mark_retrieved()
        if in_greenlet is not None:
            in_greenlet.let_go()
        result, error, _, _ = outcome
        if error is None and type(result) is LAZY_ROWS:
            try:
                result = decoded_rows(result)
            except Exception as broken:
                error = broken
        if error is None and callback is not None:
            call_back(callback, result, True)
        elif error is not None and errback is not None:
            call_back(errback, error, True)

    def clear_callbacks(self):
        with cython.critical_section(self):
            callbacks, self._callbacks = self._callbacks, ()
            errbacks, self._errbacks = self._errbacks, ()

    def _wait_for_outcome(self):
        """Wait for the outcome. Ctrl-C interrupts the wait and leaves the request unchanged."""
        return self.await_outcome()

    cdef tuple await_outcome(self):
        cdef tuple outcome = self.outcome()
        if outcome is not None:
            if outcome[1] is not None:
                self.mark_retrieved()
            return outcome
        cdef bint on_io_thread
        if self.home is None:  # a session that a program wrapped in its own object cannot be asked
            on_io_thread = isinstance(self.session, SessionFields) and (<SessionFields> self.session)._on_io_thread()
        else:
            on_io_thread = self.home.core.is_owner()
        if on_io_thread:
            raise error_class("DriverException")(
                "a request cannot be waited for on the driver's I/O thread (in a callback): its response would never "
                "be read; add a callback to it, or hand the work to another thread"
            )
        send_waiting()
        while outcome is None:
            with cython.critical_section(self):
                self._blocked = True
            self.wait(NO_TIMEOUT)
            self.take_plain(None)
            outcome = self.outcome()
        if outcome[1] is not None:  # it may have failed before this thread waited
            self.mark_retrieved()
        return outcome

    def _result(self):
        """Wait for the outcome and return the application's result, or raise its exception."""
        cdef tuple outcome = self.outcome()
        if outcome is None:
            outcome = self._wait_for_outcome()  # by its Python name: tests replace it
        if outcome[1] is not None:
            self.mark_retrieved()
            raise_waited(outcome)
        return answer_of(result_type, self, outcome)

    def __await__(self):
        return awaitable(self, True)

    def _await_outcome(self):
        """As :meth:`_wait_for_outcome`, without blocking the running loop; an ``await`` delegates to it."""
        return awaitable(self, False)

    cdef object task_result(self, tuple outcome):
        """Return the result of *outcome*, or raise its exception, for one of several tasks that may wait at a time."""
        if outcome[1] is not None:
            self.mark_retrieved()
            raise_awaited(outcome[1])
        return answer_of(result_type, self, outcome)

    def _join(self, loop, waiter):
        """Return the outcome if it is set; else None, and *waiter* is notified of it on the thread of the running
        *loop*."""
        return self.join(loop, waiter)

    cdef object join(self, loop, waiter):
        cdef tuple others, waiters
        cdef bint joined = False, blocked = False
        cdef CompletionQueue queue = adapter_for(loop).queue
        cdef _Waiter entry
        if type(waiter) is _Awaiting:
            (<_Awaiting> waiter).queue = queue
        else:
            entry = _Waiter.__new__(_Waiter)
            entry.waiter = waiter
            entry.queue = queue
            waiter = entry
        while not joined:
            with cython.critical_section(self):
                others = self._waiters
            waiters = (*others, waiter) if others else (waiter,)
            with cython.critical_section(self):
                outcome = self._outcome
                joined = outcome is None and self._waiters is others
                if joined:
                    self._waiters = waiters
                    blocked = self._blocked
            if outcome is not None:
                self.mark_retrieved()
                return outcome
        if queue is None or blocked or not all_of_loop(others, queue):
            self.set_eager()  # a loop may be busy, stopped or closed: the I/O thread notifies all
        else:
            self.attach(queue)
        return None

    def _leave(self, waiter):
        """Remove *waiter*. The last one that leaves gives the page up."""
        cdef tuple before, others
        cdef int64_t page = 0
        cdef bint left = False, wanted = True
        cdef object error = self.cancelled()
        while not left:
            with cython.critical_section(self):
                before = self._waiters
            others = tuple([other for other in before if waiter_of(other) is not waiter])
            if len(others) == len(before):  # it was notified already
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
        return self.conclude(self.page_now(), None, self.cancelled(), NOTHING)

