# RequestBatch: many compiled requests under one operation. _session/request/concurrent.py describes the ownership.
#
# A signal handler may interrupt the thread that takes outcomes wherever Python code runs: in a row factory, in a call
# for an outcome that is not plain, and between the calls. So an outcome stays in place (``held``, ``ended``) until all
# of that is done, and is removed in the native step that also stores the result or hands the request over; until then
# the next call begins it again. On a loop the next call is queued natively when one was interrupted.
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


cdef enum:
    SLOTS = 512  # a power of two


@cython.final
@cython.freelist(256)
cdef class InFlightRequest:
    """An in-flight request of a batch: all data needed to continue it as a future of its own."""

    cdef readonly object session
    cdef readonly ExecutePlanBase plan
    cdef readonly int64_t index
    cdef readonly object frame
    cdef bint routed
    cdef int64_t hashed
    cdef readonly object values
    cdef readonly object host
    cdef readonly object pool
    cdef readonly ConnectionBase connection
    cdef readonly int64_t stream
    cdef readonly double started

    @property
    def token(self):
        return self.hashed if self.routed else None

    cdef int64_t slot(self) noexcept:
        return self.index % NO_SLOT


cpdef tuple pair_of(item, int64_t index):
    """Return the statement and the values of *item*, the source's item at *index*."""
    if isinstance(item, str) or hasattr(item, "query_string") or hasattr(item, "retry_policy"):
        raise TypeError(
            f"item {index} should be a (statement, parameters) pair, not a {type(item).__name__}; without parameters: "
            "(statement, None)"
        )
    statement, values = item
    return statement, values


cdef class RequestBatch(Operation):
    """Requests in flight, and the results of those that ended with plain rows or void."""

    cdef readonly object ended  # a deque of (index, success, value); success is None for (future, outcome)
    cdef readonly dict observers  # by index: those that a FutureObserver observes and whose outcomes are not processed

    cdef readonly object session
    cdef PoolSetFields pool_set  # of the session
    cdef list slots  # the request of a slot, at the lower bits of the slot
    cdef dict others  # requests whose slots were taken
    cdef Py_ssize_t count
    cdef Batch held  # outcomes that were taken; those before *at* are processed
    cdef size_t at
    cdef readonly bint _has_outcomes
    cdef object reactor  # of the last request
    cdef object result_type
    cdef object entry_type
    cdef bint notified  # the loop has been notified of entries in ``ended``

    def __cinit__(self, *args, **kwargs):
        self.ended = _deque()
        self.observers = {}
        self.clear()

    cdef clear(self):
        self.slots = [None] * SLOTS
        self.others = {}
        self.count = 0

    cdef InFlightRequest find(self, int64_t slot):
        found = self.slots[slot & (SLOTS - 1)]
        if found is not None and (<InFlightRequest> found).slot() == slot:
            return <InFlightRequest> found
        return <InFlightRequest> self.others.get(slot) if self.others else None

    cdef add(self, int64_t slot, InFlightRequest request):
        if self.slots[slot & (SLOTS - 1)] is None:
            self.slots[slot & (SLOTS - 1)] = request
        else:
            self.others[slot] = request
        self.count += 1

    cdef InFlightRequest remove(self, int64_t slot):
        cdef InFlightRequest request = self.find(slot)
        if request is not None:
            if self.slots[slot & (SLOTS - 1)] is request:
                self.slots[slot & (SLOTS - 1)] = None
            else:
                del self.others[slot]
            self.count -= 1
        return request

    def _begin(self, session, PoolSetFields pool_set not None, type result_type not None, type entry_type not None):
        catch_up()
        self.session = session
        self.pool_set = pool_set
        self.result_type = result_type
        self.entry_type = entry_type

    @property
    def in_flight(self):
        return self.count

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

    def send(self):
        """Send at once: no further request is coalesced."""
        if self.reactor is not None:
            self.reactor.flush()

    def _take_outcomes(self, Results results not None, failed, go_on, size_t most=0):
        cdef size_t end
        cdef int64_t slot
        cdef InFlightRequest request
        cdef Answer answer
        cdef CFrame small  # not an object of its own
        cdef const CFrame* frame
        if self.enter_process():
            self._has_outcomes = False
        if not self._has_outcomes:
            if not self.core.take_all(&self.held):
                return
            self._has_outcomes = True
            self.at = 0
            drop_references(self, self.held.references)
        end = self.held.size()
        if most and self.at + most < end:
            end = self.at + most
        while self.at < end:
            slot = self.held.at(self.at).attempt
            request = None if slot == NO_SLOT else self.find(slot)
            if request is None:  # forgotten meanwhile
                self.finish_outcome()
                continue
            outcome = None
            if self.held.at(self.at).failure.get() == NULL:
                small = self.held.at(self.at).frame
                if small.length > UNOWNED:
                    outcome = wrap_frame(small)
                    frame = &(<Frame> outcome).native
                else:
                    frame = &small
                try:
                    plain = plain_result(
                        frame, outcome, request.connection.results, request.plan.result_plan, request.plan.row_factory
                    )
                except Exception as error:
                    if not isinstance(error, error_class("ProtocolError")):  # of a row factory: fails this request only
                        self.put_failure(results, failed, request.index, error)
                        self.remove(slot)
                        self.finish_outcome()
                        continue
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
                    results.put(request.index, entry)
                    self.remove(slot)
                    self.finish_outcome()
                    continue
                if outcome is None:
                    outcome = wrap_frame(small)
            else:
                outcome = wrap_outcome(self.held.at(self.at))
            try:
                future, attempt = go_on(request)
            except Exception as error:
                self.put_failure(results, failed, request.index, error)
                self.remove(slot)
                self.finish_outcome()
                continue
            (<Request> future).hand_over(<Attempt> attempt, outcome)
            self.remove(slot)
            self.finish_outcome()
        if end == self.held.size():
            self._has_outcomes = False
            self.core.give_back(move(self.held))

    cdef void finish_outcome(self) noexcept:
        """Go past one of the held outcomes, which is processed."""
        cdef CFrame used = move(self.held.at(self.at).frame)
        self.at += 1

    cdef int put_failure(self, Results results, failed, int64_t index, error) except -1:
        """Store a failure; or call *failed* with it, if that is given: failures end the run then."""
        if failed is None:
            results.put(index, new_pair(self.entry_type, False, error))
        else:
            failed(index, error)
        return 0

    def _take_ended(self, Results results not None, failed, made):
        """As _take_outcomes, for ``ended``; ``made(future, outcome)`` is the result of a request that ended as a
        future."""
        cdef int64_t index
        self.notified = False
        while self.ended:
            index, success, value = self.ended[0]
            if success is None:
                success = value[1][1] is None
                value = made(value[0], value[1]) if success else value[1][1]
            if success:
                results.put(index, new_pair(self.entry_type, True, value))
            else:
                self.put_failure(results, failed, index, value)
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

    def _request(self, slot):
        return self.find(slot)

    def _forget(self, slot=None):
        if slot is None:
            self.clear()
        else:
            self.remove(slot)


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
