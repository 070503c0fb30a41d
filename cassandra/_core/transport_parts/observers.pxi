# Observers of requests: which of them are reported to the tracker of a cluster, and which are slow. Declared here, as
# native code asks for each request; cassandra/_session/request/observers.py implements the steps.

from cpython.contextvars cimport get_value as value_of_context

cdef extern from *:
    """
    static thread_local bool fastcql_waits = false;  // for the request that the thread makes next
    static void fastcql_set_waits(bool waits) noexcept { fastcql_waits = waits; }
    static bool fastcql_take_waits() noexcept {
        const bool waits = fastcql_waits;
        fastcql_waits = false;
        return waits;
    }
    """
    void set_waits "fastcql_set_waits"(bint waits) noexcept
    bint take_waits "fastcql_take_waits"() noexcept


cdef class SpanGate:
    """Selects the requests whose caller has a sampled span in its OpenTelemetry context; those without a span if *roots*
    is true, and those under a span that is not sampled if *unsampled* is. *variable*: the ``ContextVar`` of the current
    context, or None; *current*: the function that returns it; *key*: that of the span in it; *suppressing*: keys by
    which instrumentation is switched off. *kind*: the type of contexts of spans, if that is a tuple with the trace flags
    at *flags_at*, and with True at *valid_at* if it is that of a span; or else None."""

    cdef object variable
    cdef object current
    cdef object key
    cdef tuple suppressing
    cdef bint roots
    cdef bint unsampled
    cdef object kind
    cdef Py_ssize_t flags_at
    cdef Py_ssize_t valid_at

    def __init__(
        self, variable, current, key, tuple suppressing not None, bint roots, bint unsampled, kind,
        Py_ssize_t flags_at, Py_ssize_t valid_at,
    ):
        self.variable = variable
        self.current = current
        self.key = key
        self.suppressing = suppressing
        self.roots = roots
        self.unsampled = unsampled
        if kind is not None and not issubclass(kind, tuple):
            raise TypeError(f"{kind!r} is not a type of tuples")
        self.kind = kind
        self.flags_at = flags_at
        self.valid_at = valid_at

    def __call__(self):
        return self.passes()

    cdef bint passes(self) except -1:
        context = self.current() if self.variable is None else value_of_context(self.variable)
        if not isinstance(context, dict):  # no context was ever set
            return self.roots
        span = (<dict> context).get(self.key)
        if not self.takes(span):
            return False
        for key in self.suppressing:
            if (<dict> context).get(key):
                return False
        return True

    cdef bint takes(self, span) except -1:
        if span is None:
            return self.roots
        of_span = span.get_span_context()
        if of_span is None:
            return self.roots
        cdef bint is_fast = type(of_span) is self.kind
        cdef int flags = (<tuple> of_span)[self.flags_at] if is_fast else of_span.trace_flags
        if flags & 1:
            return True
        if self.roots == self.unsampled:
            return self.roots
        is_valid = (<tuple> of_span)[self.valid_at] if is_fast else of_span.is_valid
        return self.unsampled if is_valid else self.roots


@cython.final
cdef class Tracked:
    """Data of a page that *tracker* gets, which is called about it: its attempts in flight by number."""

    cdef object tracker
    cdef dict attempts
    cdef bint is_over

    def __init__(self, tracker):
        self.tracker = tracker
        self.attempts = {}


cdef class RequestObserver:
    """Observer of the requests of a session. *threshold*: seconds from which on a request is slow; *tracker*: gets the
    requests that *gate* selects: None if there is no tracker, True for all requests, or a function that returns True for
    the request about to begin. *kind*: the class RequestTracker; *attempt_kind*: the tuple that describes an attempt to
    it. Exceptions of a tracker are passed to ``failed()``."""

    cdef readonly double threshold
    cdef readonly object gate
    cdef object tracker
    cdef object kind
    cdef type attempt_kind
    cdef object cancelled  # makes the error of an attempt whose response is not needed any more

    def __init__(self, double threshold, gate, tracker, kind, type attempt_kind not None, cancelled):
        self.threshold = threshold
        self.gate = gate
        self.tracker = tracker
        self.kind = kind
        self.attempt_kind = attempt_kind
        self.cancelled = cancelled

    cpdef object slow_ended(self, Request request, error, double elapsed):
        raise NotImplementedError

    cpdef object failed(self, tracker, str name):
        raise NotImplementedError

    cdef object call(self, tracker, str name, tuple arguments):
        try:
            return getattr(tracker, name)(*arguments)
        except Exception:
            self.failed(tracker, name)
            return None

    cdef Tracked begin(self, request):
        """Report the begin of *request*; None if the tracker does not get the rest."""
        chosen = self.call(self.tracker, "on_request", (request,))
        if chosen is False:
            return None
        return Tracked(chosen if isinstance(chosen, self.kind) else self.tracker)

    cdef int send(self, Tracked tracked, request, number, host, shard, bint speculative) except -1:
        attempt = self.attempt_kind(number, host, shard, seconds_now(), speculative)
        tracked.attempts[number] = attempt
        self.call(tracked.tracker, "on_attempt", (request, attempt))
        return 0

    cdef int end_attempt(self, Tracked tracked, request, number, error) except -1:
        attempt = tracked.attempts.pop(number, None)
        if attempt is not None:
            self.call(tracked.tracker, "on_attempt_end", (request, attempt, error))
        return 0

    cpdef object sending(self, Request request, Attempt attempt, bint speculative=False):
        cdef Tracked tracked = request._tracked
        if tracked is not None:
            self.send(tracked, request, attempt.number, attempt.host, attempt.connection.shard, speculative)

    cpdef object ended(self, Request request, Attempt attempt, error):
        cdef Tracked tracked = request._tracked
        if tracked is not None:
            self.end_attempt(tracked, request, attempt.number, error)

    cdef int tracked_ended(self, request, Tracked tracked, Attempt answered, error, double elapsed) except -1:
        """A signal handler may interrupt it; then it is called again."""
        if tracked.is_over:
            return 0
        if answered is not None:
            self.end_attempt(tracked, request, answered.number, None)
        if tracked.attempts:
            for number in list(tracked.attempts):
                self.end_attempt(tracked, request, number, self.cancelled() if error is None else error)
        tracked.is_over = True
        self.call(tracked.tracker, "on_request_end", (request, error, elapsed))
        return 0

    # ---- requests of scans and ingests

    def _begin_bulk(self, request):
        """Report the begin of *request*. Return its data; None if the tracker does not get the rest."""
        return self.begin(request) if self.is_selecting() else None

    def _send_bulk(self, request, Tracked tracked not None, host, shard):
        self.send(tracked, request, 0, host, shard, False)

    def _end_bulk(self, request, Tracked tracked not None, error, double elapsed):
        self.end_attempt(tracked, request, 0, error)
        self.tracked_ended(request, tracked, None, error, elapsed)

    # ---- requests of a session

    def will_wait(self):
        """The calling thread waits for the request that it makes next."""
        set_waits(True)

    def selects(self):
        """True if the tracker gets the request that the calling thread is about to make."""
        return self.is_selecting()

    def observe(self, Request request not None):
        """Observe the current page of *request*, which is about to be sent."""
        self.observe_page(request)

    cdef int observe_page(self, Request request) except -1:
        cdef bint waits = take_waits()
        request._tracking = self
        request._tracked = None
        if self.is_selecting():
            tracked = request._tracked = self.begin(request)
            if tracked is not None:
                request.core.set_prompt(not waits)
        return 0

    cdef bint is_selecting(self) except -1:
        if self.gate is None or self.gate is True:
            return self.gate is not None
        try:
            return (<SpanGate> self.gate).passes() if type(self.gate) is SpanGate else bool(self.gate())
        except Exception as error:
            report(error, self.gate)
            return False

    cdef bint is_slow(self, Nanos arrived, double started) noexcept:
        """True if a request that was *started* (seconds) and whose response has *arrived* (0: now) took too long."""
        cdef double end = <double> (arrived if arrived else monotonic_now()) / <double> SECOND
        return end - started >= self.threshold
