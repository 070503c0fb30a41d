# Counts of requests, for clusters with metrics. The counters and histograms are in cpp/metrics, the implementation of
# RequestRecorder is in cassandra/_session/metrics.py.
#
# A page is counted by the thread that concludes it: natively, in the critical section that sets the outcome, if that is
# a caller (record_plain), else by the I/O thread (record_page). Its time ends with the arrival of the response. A result
# that no thread waits for is counted when its reference is dropped (drop_counted_operations): a program may never take
# it, or much later.

cdef extern from "metrics/series.h" namespace "fastcql" nogil:
    cdef cppclass BucketCount:
        uint32_t index
        uint64_t count
    cdef cppclass HistogramCopy:
        vector[BucketCount] counts
        uint64_t sum
        uint64_t least
        uint64_t greatest
    cdef cppclass Histogram:
        HistogramCopy all() except +
        HistogramCopy recent(int64_t now) except +
    cdef cppclass Series "fastcql::HostSeries::Series":
        Histogram latency
    cdef cppclass HostSeries:
        Series* find(size_t number)
        void record(size_t number, uint64_t nanoseconds, int64_t now)
        void record_attempt(size_t number, uint64_t nanoseconds, int64_t now)
        void count(size_t number, size_t counter, uint64_t more)
        uint64_t counted(size_t number, size_t counter)
        void reset_in_child()
    size_t BUCKETS "fastcql::Buckets::kCount"
    size_t SERIES "fastcql::HostSeries::kSeries"
    size_t COUNTERS "fastcql::HostSeries::kCounters"
    size_t ATTEMPTS "fastcql::HostSeries::kAttempts"
    double upper_bound "fastcql::Buckets::upper"(size_t index)


SERIES_PER_HOST = SERIES
COUNTERS_PER_SERIES = COUNTERS


def bucket_bounds():
    """Return the upper bounds of the buckets, in seconds."""
    return tuple([upper_bound(index) for index in range(BUCKETS)])


cdef inline uint64_t nanoseconds(double seconds) noexcept nogil:
    return <uint64_t> (seconds * <double> SECOND) if seconds > 0 else 0


cdef inline int check_series(int64_t number, int64_t counter) except -1:
    if not 0 <= number < <int64_t> SERIES or not 0 <= counter < <int64_t> COUNTERS:
        raise IndexError(f"invalid counter: {counter} of series {number}")
    return 0


@cython.final
cdef class HostRecorder:
    """The series of one host. Any thread."""

    cdef HostSeries core

    def record(self, int64_t number, double seconds):
        check_series(number, 0)
        self.core.record(number, nanoseconds(seconds), monotonic_now())

    def count(self, int64_t number, int64_t counter, uint64_t more=1):
        check_series(number, counter)
        self.core.count(number, counter, more)

    def counted(self, int64_t number, int64_t counter):
        check_series(number, counter)
        return self.core.counted(number, counter)

    def latencies(self, int64_t number, bint recent=False):
        cdef HistogramCopy copy
        cdef Series* series
        cdef size_t at
        check_series(number, 0)
        series = self.core.find(number)
        if series == NULL:
            return None
        copy = series.latency.recent(monotonic_now()) if recent else series.latency.all()
        counts = [(copy.counts[at].index, copy.counts[at].count) for at in range(copy.counts.size())]
        return tuple(counts), copy.sum, copy.least, copy.greatest

    def _in_child(self):
        self.core.reset_in_child()


cdef class RequestRecorder:
    """Counts the requests with one kind of statement and one profile. Any thread."""

    cdef readonly int64_t number  # of the series

    def __init__(self, int64_t number):
        check_series(number, 0)
        self.number = number

    cdef HostRecorder of_host(self, host):
        return <HostRecorder?> self._recorder_of(host)

    cpdef object _recorder_of(self, host):
        raise NotImplementedError

    cpdef object _page_failed(self, host, error):
        raise NotImplementedError

    def attempt_sent(self, host):
        raise NotImplementedError

    def attempt_failed(self, host, error, decision):
        raise NotImplementedError

    def speculative_attempt(self, host):
        raise NotImplementedError

    def timed_out(self, host):
        raise NotImplementedError

    def unprepared(self, host):
        raise NotImplementedError

    cpdef object page_ended(self, Request request, error, double elapsed):
        host = request.coordinator_host
        self.of_host(host).core.record(self.number, nanoseconds(elapsed), monotonic_now())
        if error is not None:
            self._page_failed(host, error)


cdef inline uint64_t elapsed_since(double start_time, Nanos arrived) noexcept:
    cdef Nanos passed = arrived - <Nanos> (start_time * <double> SECOND)
    return <uint64_t> passed if passed > 0 else 0


cdef bint record_plain(Request request, Attempt attempt, tuple outcome, Nanos arrived) noexcept:
    """Within a section, by a caller that concludes a page, or for a result that no thread takes: count the page. False
    if the I/O thread has to do so."""
    cdef RequestRecorder recorder = request._metrics
    cdef HostRecorder host = attempt.connection.recorder
    if outcome is not None and outcome[1] is not None:  # an error
        return False
    if request.is_counted:  # when its result arrived
        request.is_counted = False
        return True
    if host is None or arrived == 0:
        return False
    if request.is_attempt_counted or request.first_host is None:
        host.core.record(recorder.number, elapsed_since(request._start_time, arrived), arrived)
    elif request.execution is None:
        host.core.record_attempt(recorder.number, elapsed_since(request._start_time, arrived), arrived)
    else:
        return False
    request.is_attempt_counted = True
    return True


cdef void record_unread(Request request) noexcept:
    """Count the page of *request* whose result has arrived, if no thread has taken it."""
    cdef Nanos arrived = 0
    cdef Attempt attempt
    with cython.critical_section(request):
        attempt = request.first
        if attempt is None and len(request.others) == 1:
            attempt = <Attempt> request.others[0]
        if attempt is not None and not request.is_counted and request._outcome is None:
            if request.core.has_unread(&arrived):
                request.is_counted = record_plain(request, attempt, None, arrived)


cdef int record_page(Request request, error, double elapsed) except -1:
    """On the I/O thread: count a page."""
    cdef RequestRecorder recorder = request._metrics
    with cython.critical_section(request):
        counted, request.is_counted = request.is_counted, False
        attempt_counted, request.is_attempt_counted = request.is_attempt_counted, True
        first_host = request.first_host
    if not attempt_counted and first_host is not None:
        recorder.of_host(first_host).core.count(recorder.number, ATTEMPTS, 1)
    if not counted:
        recorder.page_ended(request, error, elapsed)
    elif error is not None:
        recorder._page_failed(request.coordinator_host, error)
    return 0


cdef void drop_counted_operations(COperation* list) noexcept:
    """As drop_operations, in a process with a cluster that counts requests."""
    cdef COperation* core = list
    while core != NULL:
        if isinstance(<object> core.self, Request):
            if (<Request> core.self)._metrics is not None:
                record_unread(<Request> core.self)
        core = core.next_drop
    drop_operations(list)


def count_requests():
    """Count the results that no thread takes, from now on."""
    set_drop(drop_counted_operations)


cdef int record_in_flight(RequestRecorder recorder, InFlightRequest request, Nanos arrived, error) except -1:
    """Count a request of a batch."""
    cdef HostRecorder host = request.connection.recorder
    cdef Nanos passed = arrived - <Nanos> (request.started * <double> SECOND)
    if host is None:
        host = recorder.of_host(request.host)
    if error is not None:
        recorder._page_failed(request.host, error)
    host.core.record_attempt(recorder.number, <uint64_t> passed if passed > 0 else 0, arrived)
    return 0
