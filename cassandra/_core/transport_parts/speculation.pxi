# Speculative execution of requests that were compiled: after a percentile of recent latencies, within a budget. See
# cpp/metrics/speculation.h, and PercentileSpeculativeExecutionPolicy, whose tracker this is.
#
# The delay is nearly the same for all requests of a plan. So they wait in a queue in the order in which they were sent,
# with one timer of the reactor, for the first of them. Any thread appends; only the I/O thread removes. A request is in
# the queue until its page ends, when the ending thread clears the reference; its empty entry stays until its time. No
# timer belongs to the request: callers conclude plain results (see request.pxi), as without a policy.
#
# A timer is pending while there are entries: the thread that appends to a queue without a timer starts one, and the I/O
# thread, before it leaves the queue without one, looks again for entries.

cdef extern from "metrics/speculation.h" namespace "fastcql" nogil:
    cdef cppclass CSpeculationTracker "fastcql::SpeculationTracker":
        CSpeculationTracker(double percentile, double budget) except +
        void record(Nanos elapsed, Nanos now)
        Nanos delay(Nanos now)
        void deposit()
        cbool withdraw()
        void reset_in_child()


@cython.final
cdef class SpeculationTracker:
    """Latencies of requests, and the budget of their extra executions. Any thread."""

    cdef CSpeculationTracker* core
    cdef object __weakref__

    def __cinit__(self, double percentile, double budget):
        self.core = new CSpeculationTracker(percentile, budget)

    def __dealloc__(self):
        del self.core

    @property
    def delay(self):
        cdef Nanos delay = self.core.delay(monotonic_now())
        return <double> delay / <double> SECOND if delay else None

    def record(self, double seconds):
        self.core.record(<Nanos> (seconds * <double> SECOND), monotonic_now())

    def deposit(self):
        self.core.deposit()

    def withdraw(self):
        return self.core.withdraw()

    def _in_child(self):
        self.core.reset_in_child()


@cython.final
@cython.freelist(64)
cdef class _TrackedLatency:
    """The page of a request whose latency *tracker* records."""

    cdef SpeculationTracker tracker
    cdef Request request  # set while the page waits for a speculative execution
    cdef int64_t page
    cdef Nanos due

    cdef void page_ended(self, bint succeeded, Nanos elapsed, Nanos now) noexcept:
        if succeeded:
            self.tracker.core.record(elapsed, now)
        with cython.critical_section(self):
            request, self.request = self.request, None

    cdef Request take(self):
        """Return the request, if its page has not ended, and forget it."""
        cdef Request request
        with cython.critical_section(self):
            request, self.request = self.request, None
        return request

    cdef bint is_waiting(self) noexcept:
        with cython.critical_section(self):
            return self.request is not None


@cython.final
cdef class SpeculationQueue:
    """Requests of one plan that may be executed a second time."""

    cdef readonly SpeculationTracker tracker
    cdef object entries  # a deque
    cdef Reactor armed  # the reactor with the pending timer; None if there is none. Of the parent in a forked child

    def __init__(self, SpeculationTracker tracker not None):
        self.tracker = tracker
        self.entries = _deque()

    cdef int add(self, _TrackedLatency entry, Request request, int64_t page, Reactor reactor) except -1:
        """Queue *request*, which was sent."""
        cdef Nanos now = monotonic_now()
        cdef Nanos delay
        delay = self.tracker.core.delay(now)
        if delay == 0 or reactor is None:
            return 0
        entry.page = page
        entry.due = now + delay
        with cython.critical_section(entry):
            entry.request = request
        if request.is_over(page):  # it has ended meanwhile, maybe before the entry had the request
            entry.take()
            return 0
        self.entries.append(entry)
        with cython.critical_section(self):
            before, self.armed = self.armed, reactor
        return 0 if before is reactor else self.call_in(reactor, delay)

    cdef int call_in(self, Reactor reactor, Nanos delay) except -1:
        try:
            reactor.call_later(<double> max(<Nanos> 0, delay) / <double> SECOND, self)
        except Exception:  # the reactor was stopped, and all requests with it
            pass
        return 0

    def __call__(self):
        """On the I/O thread: execute requests whose time has come a second time."""
        cdef _TrackedLatency entry = None
        cdef Request request
        cdef Reactor reactor
        cdef Nanos now = monotonic_now()
        while self.entries:
            entry = <_TrackedLatency> self.entries[0]
            if entry.is_waiting() and entry.due > now:
                break
            self.entries.popleft()
            request = entry.take()
            if request is not None and not request.core.ready():
                self.execute(request, entry.page)
            entry = None
        with cython.critical_section(self):
            reactor = self.armed
            if entry is None:
                self.armed = None
        if entry is None and self.entries:  # appended just before
            entry = <_TrackedLatency> self.entries[0]
            with cython.critical_section(self):
                if self.armed is None:
                    self.armed = reactor
                else:
                    entry = None
        if entry is not None and reactor is not None:
            self.call_in(reactor, entry.due - now)

    cdef int execute(self, Request request, int64_t page) except -1:
        try:
            request.hooks().speculate(request, page)
        except Exception as error:  # of a program's policy: no caller would get it
            request.conclude(page, None, error, NOTHING)
        return 0


cdef _TrackedLatency track_latency(Request request, SpeculationTracker tracker):
    """Have the latency of the current page recorded, and count it in the budget, unless that was done before."""
    cdef _TrackedLatency known, entry = _TrackedLatency.__new__(_TrackedLatency)
    entry.tracker = tracker
    with cython.critical_section(request):
        known = request.tracked_latency
        if known is None:
            request.tracked_latency = entry
    if known is not None:
        return known
    tracker.core.deposit()
    return entry
