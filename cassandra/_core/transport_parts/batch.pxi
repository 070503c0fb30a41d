# RequestBatch: many compiled requests under one operation. _session/request/concurrent.py describes the ownership.
#
# A signal handler may interrupt the thread that takes outcomes in a row factory, in a call for an outcome that is not
# plain, and between the calls. So an outcome is removed in the native step that also stores the result or hands the
# request over. On a loop the next call is queued natively when one was interrupted.
#
# The results of a hundred thousand requests are kept until the last one is complete, and the garbage collector would
# traverse all of them again and again, which was a third of the cost of the requests. Until they are handed over there
# is no other reference to any of them, so none can be in a cycle: the collector tracks them only from then on.

cdef extern from "Python.h":
    void PyObject_GC_Track(object untracked)
    void PyObject_GC_UnTrack(object tracked)
    bint PyObject_GC_IsTracked(object found)


cdef inline void track(found) noexcept:
    if not PyObject_GC_IsTracked(found):
        PyObject_GC_Track(found)


cdef object hand_over_result(entry):
    """Return *entry*, a ``(success, result)`` that is handed over from now on, and have the collector track it."""
    result = (<tuple> entry)[1]
    cdef Answer answer
    if not PyObject_GC_IsTracked(entry):
        answer = <Answer> result
        if type(answer.rows) is list:
            track(answer.rows)
        track(answer._request)
        track(answer)
        track(entry)
    return entry


@cython.final
cdef class Results:
    """Results of requests by their numbers, until they are handed over: all together, or one after the other."""

    cdef list entries  # None where there is no result yet
    cdef int64_t first  # the number of the first entry
    cdef Py_ssize_t count

    def __cinit__(self):
        self.entries = []

    def __len__(self):
        return self.count

    def __contains__(self, int64_t index):
        return self.has(index)

    cdef bint has(self, int64_t index) except -1:
        cdef int64_t at = index - self.first
        return 0 <= at < PyList_GET_SIZE(self.entries) and self.entries[at] is not None

    def __setitem__(self, int64_t index, entry not None):
        self.put(index, entry)

    cdef int put(self, int64_t index, entry) except -1:
        cdef int64_t at = index - self.first
        cdef list entries = self.entries
        if at < 0:
            raise ValueError(f"the result of request {index} was handed over already")
        if at == PyList_GET_SIZE(entries):
            entries.append(entry)
            self.count += 1
            return 0
        while at >= PyList_GET_SIZE(entries):
            entries.append(None)
        if entries[at] is None:
            self.count += 1
        entries[at] = entry
        return 0

    def all(self, Py_ssize_t count):
        cdef list entries = self.entries
        if not count == self.count == PyList_GET_SIZE(entries):
            raise ValueError(f"{self.count} results of {count} requests, the last one at place {len(entries)}")
        self.entries = []
        self.count = 0
        for entry in entries:
            hand_over_result(entry)
        return entries

    def take(self, int64_t index):
        cdef int64_t at = index - self.first
        if not self.has(index):
            raise KeyError(index)
        entry = hand_over_result(self.entries[at])
        self.entries[at] = None
        self.count -= 1
        if at >= SLOTS and 2 * at >= PyList_GET_SIZE(self.entries):  # all before it were taken
            del self.entries[:at + 1]
            self.first = index + 1
        return entry


cpdef tuple pair_of(item, int64_t index):
    """Return the statement and the values of *item*, the source's item at *index*."""
    if isinstance(item, str) or hasattr(item, "query_string") or hasattr(item, "retry_policy"):
        raise TypeError(
            f"item {index} should be a (statement, parameters) pair, not a {type(item).__name__}; without parameters: "
            "(statement, None)"
        )
    statement, values = item
    return statement, values


cdef class RequestBatch(ManyRequestsBase):
    """Requests in flight, and the results of those that ended with plain rows or void."""

    cdef readonly dict observers  # by index: those that a FutureObserver observes and whose outcomes are not processed
    cdef readonly Results results
    cdef public object failed  # called with the index and the error of a request that failed; None: errors are results
    cdef object result_type
    cdef object entry_type
    cdef bint notified  # the loop has been notified of entries in ``ended``

    def __cinit__(self, *args, **kwargs):
        self.observers = {}
        self.results = Results()

    def _begin(self, type result_type not None, type entry_type not None):
        self.result_type = result_type
        self.entry_type = entry_type

    cpdef tuple _continue(self, InFlightRequest request):
        raise NotImplementedError

    def launch(self, ExecutePlanBase plan not None, int64_t index, values):
        return plan.submit_to_batch(self, index, values)

    def submit_from(self, pairs, int64_t count, int64_t index, statement, ExecutePlanBase plan):
        cdef int64_t submitted = 0
        cdef tuple pair
        while submitted < count:
            try:
                item = next(pairs)
            except StopIteration:
                return submitted, ()
            pair = <tuple> item if type(item) is tuple and len(<tuple> item) == 2 else pair_of(item, index + submitted)
            given, values = pair
            item = pair = None  # zip() makes a new tuple while the last one is referenced
            if plan is None or given is not statement:
                return submitted, (given, values, None)
            try:
                if not plan.submit_to_batch(self, index + submitted, values):
                    return submitted, (given, values, None)
            except Exception as error:
                return submitted, (given, values, error)
            submitted += 1
        return submitted, None

    # ---- outcomes

    cdef int take_outcome(self, Outcome& taken) except -1:
        cdef int64_t slot = taken.attempt
        cdef InFlightRequest request = self.find(slot)
        cdef Answer answer
        cdef CFrame small  # not an object of its own
        cdef bint slow
        cdef const CFrame* frame
        if request is None:  # forgotten meanwhile
            return 0
        outcome = None
        slow = request.plan.observer is not None and request.plan.observer.is_slow(taken.arrived, request.started)
        if taken.failure.get() == NULL:
            small = taken.frame
            if slow or small.length > UNOWNED:
                outcome = wrap_frame(small)
                frame = &(<Frame> outcome).native
            else:
                frame = &small
            try:
                plain = None if slow else plain_result(
                    frame, outcome, request.connection.results, request.plan.result_plan, request.plan.row_factory
                )
            except Exception as error:
                if not isinstance(error, error_class("ProtocolError")):  # of a row factory: fails this request only
                    if request.plan.metrics is not None:
                        record_in_flight(request.plan.metrics, request, taken.arrived, error)
                    self.put_failure(request.index, error)
                    self.remove(slot)
                    return 0
                plain = None  # decoded again by the future, and the error reported
            if plain is not None:
                answer = new_object(self.result_type, ())
                rows = (<tuple> plain)[0]
                answer._request = request
                answer.rows = [] if rows is None else rows
                answer._kept = (<tuple> plain)[2]
                answer._plan = None if rows is None else request.plan.result_plan
                answer._paging_state = (<tuple> plain)[1]
                entry = new_pair(self.entry_type, True, answer)
                if type(answer.rows) is list:
                    PyObject_GC_UnTrack(answer.rows)
                PyObject_GC_UnTrack(request)
                PyObject_GC_UnTrack(answer)
                PyObject_GC_UnTrack(entry)
                if request.plan.metrics is not None:
                    record_in_flight(request.plan.metrics, request, taken.arrived, None)
                self.results.put(request.index, entry)
                self.remove(slot)
                return 0
            if outcome is None:
                outcome = wrap_frame(small)
        else:
            outcome = wrap_outcome(taken)
        try:
            future, attempt = self._continue(request)
        except Exception as error:
            self.put_failure(request.index, error)
            self.remove(slot)
            return 0
        (<Request> future).hand_over(<Attempt> attempt, outcome, taken.arrived)
        self.remove(slot)
        return 0

    cdef int put_failure(self, int64_t index, error) except -1:
        """Store a failure; or call ``failed`` with it: failures end the run then."""
        if self.failed is None:
            self.results.put(index, new_pair(self.entry_type, False, error))
        else:
            self.failed(index, error)
        return 0

    def _take_ended(self):
        """As take_outcomes(), for ``ended``."""
        cdef int64_t index
        self.notified = False
        while self.ended:
            index, success, value = self.ended[0]
            if success is None:
                success = value[1][1] is None
                value = answer_of(self.result_type, value[0], value[1]) if success else value[1][1]
            if success:
                self.results.put(index, new_pair(self.entry_type, True, value))
            else:
                self.put_failure(index, value)
            self.observers.pop(index, None)
            self.ended.popleft()

    cdef int notify_ended(self, loop, bint by_queue) except -1:
        """Have the new entry of ``ended`` processed: on the thread of *loop*, or *by_queue*."""
        if by_queue:
            if not self.notified:
                self.notified = True
                self._inject(NO_SLOT, WAKE_UP)
            return 0
        try:
            self._on_outcome()
        except BaseException:
            loop.call_soon(self._on_outcome)
            raise
        return 0


@cython.final
cdef class FutureObserver:
    """Notifies *batch* of the outcome of *future*, its request *index*, on *loop*; in place of an asyncio future."""

    cdef readonly object loop
    cdef readonly object future
    cdef readonly int64_t index
    cdef RequestBatch batch
    cdef bint has_outcome
    cdef bint by_queue  # the loop has a queue: it is notified on any thread

    def __init__(self, RequestBatch batch not None, loop, int64_t index, future):
        cdef LoopAdapter adapter = adapter_of(loop)
        self.by_queue = adapter is not None and adapter.queue is not None
        self.batch = batch
        self.loop = loop
        self.index = index
        self.future = future

    def get_loop(self):
        return self.loop

    def done(self):
        return self.has_outcome

    def set_result(self, outcome):
        ended = (self.index, None, (self.future, outcome))
        if not self.has_outcome:
            self.has_outcome = True
            self.batch.ended.append(ended)
            self.batch.notify_ended(self.loop, self.by_queue)
