# ResultCache: results of reads, by statement and values; and requests that wait for an equal one in flight.
#
# The bytes of pages are in cpp/cache/pages.h. cpp/cache/writes.h has the rule by which the session's own writes make
# pages invalid, and the argument why no read hides one: a read notes the time of its table before it is sent, a write
# increments that time before its program learns of its end. Here, WriteRequest does so for writes of execute plans;
# _session/caching.py for all others.
#
# A read that finds no page is *sent* or *joins* an equal one in flight (_Flight), if that is younger than the limit
# and no write has ended since it was sent: else it could get a result that hides the write. A request that has joined
# is pending, with no attempt. It is concluded by its own timer, by cancel(), or when the flight ends:
#
# * The response of the leader is handed to each of them as if it were its own (Request.hand_over): its own row factory
#   decodes it, in the thread that takes it. Nothing of the result is shared.
# * An error that is not the server's or the network's but the leader's own, a cancellation or the end of its time,
#   says nothing about the others: each of them joins, or becomes the leader of, another flight.
# * All other errors are copied for each of them, without the traceback.
#
# Owners and threads. A flight belongs to the dict of its cache until it ends, and to its leader. The dict is a hint:
# an entry may be replaced or removed at any time, then there is one more request. The chain of joined requests, and
# whether it is closed, change in sections of the flight, so that a request is either in the chain that the leader
# takes when it ends, or is refused and looks again. So none waits for ever: a leader that was registered always ends
# (request.pxi), and leaves its flight in the native steps that follow its outcome, with no bytecode between; also if
# sending it raises, and in a forked child. The I/O thread settles the chain, so that no caller, which the handler of a
# signal may interrupt, does so half. A caller may be interrupted between any two steps before: a request that has
# joined without a caller that knows it is completed like the others, and dropped.
#
# A leader is processed when its response arrives (eager), except if the caller waits for it from the start and no other
# request has joined.
#
# A hit needs no request: CachedStatementBase.execute() makes the result from the page in native code.

cdef extern from "cache/writes.h" namespace "fastcql::cache" nogil:
    cdef cppclass CTableWrites "fastcql::cache::TableWrites":
        uint64_t now()
        void note(int64_t token)
        void note_all()
        uint64_t tick()
        bint is_valid(uint64_t time, bint routed, int64_t token)

cdef extern from "cache/pages.h" namespace "fastcql::cache" nogil:
    cdef cppclass BlockPool "fastcql::memory::BlockPool":
        pass
    cdef struct PageKey "fastcql::cache::Key":
        uint64_t shape
        const uint8_t* data
        size_t size
    cdef cppclass PageRead "fastcql::cache::Read":
        int64_t sent
        uint64_t time
        bint routed
        int64_t token
    cdef cppclass CachedPage "fastcql::cache::Page":
        void retain()
        void release()
        const uint8_t* body()
        size_t size()
        int header()
    cdef struct CacheStatistics "fastcql::cache::Statistics":
        int64_t hits
        int64_t misses
        int64_t shared
        int64_t evictions
        int64_t invalidations
        int64_t expirations
        int64_t bytes
        int64_t entries
    cdef cppclass CacheTotalsCore "fastcql::cache::Totals":
        CacheStatistics read()
    cdef cppclass PageCache:
        PageCache(BlockPool& pool, size_t max_bytes, int64_t ttl, uint64_t seed, shared_ptr[CacheTotalsCore] totals)
        CachedPage* find(const PageKey& key, int64_t now, const CTableWrites& writes)
        void put(
            const PageKey& key, const uint8_t* body, size_t size, int header, const PageRead& read, int64_t now,
            const CTableWrites& writes,
        )
        void invalidate(uint64_t time)
        void count_shared()
        CacheStatistics statistics()

cdef extern from *:
    """
    #define fastcql_decoder_of(shape) FASTCQL_FIELD(shape, decoder)
    """
    PyObject** decoder_of "fastcql_decoder_of"(_Shape shape)

cdef enum:
    RESULT_ROWS = 2
    HAS_MORE_PAGES = 2
    METADATA_CHANGED = 8
    COMPRESSED = 0x01
    NOT_PLAIN = 0x0F  # flags of a frame: compressed, with a trace, a payload, or warnings
    MOST_SHAPES = 64


@cython.final
cdef class TableWrites:
    """The times of the writes to one table."""

    cdef CTableWrites times

    def note(self, token):
        """A write to the partition of *token* has ended; None: to any."""
        self.note_end(token)

    cdef int note_end(self, token) except -1:
        if token is None:
            self.times.note_all()
        else:
            self.times.note(token)
        return 0


@cython.final
cdef class _Shape:
    """What all pages of a statement with the same settings have in common."""

    cdef uint64_t number
    cdef object result_plan  # that decodes them
    cdef object decoder  # of a connection; None until there was a page


@cython.final
cdef class _PageOwner:
    """Keeps the page of rows that are decoded later."""

    cdef CachedPage* page

    def __dealloc__(self):
        if self.page != NULL:
            self.page.release()

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, <void*> self.page.body(), <Py_ssize_t> self.page.size(), 1, flags)


# The steps of ExecutePlanBase.submit_request(), which is one function: as two it would take longer for all requests.

cdef CachedRequest new_cached(
    ExecutePlanBase plan, session, bytes frame, bytes values, parameters, bint routed, int64_t hashed, timeout,
    row_factory,
):
    """Return a request of *plan*, with nothing sent."""
    cdef CachedRequest request = <CachedRequest?> new_object(plan.kind, ())
    cdef double now = seconds_now()
    note_use(plan.last_use, now)
    request.begin(session, plan.metrics, timeout, now)
    request.row_factory = row_factory
    request._prefetch = plan.prefetch
    request.result_plan = plan.result_plan
    request.routed = routed
    request.hashed = hashed
    request._execute_plan = plan
    request._frame = frame
    request._values = parameters
    request.values = values
    return request


cdef int send_cached(ExecutePlanBase plan, CachedRequest request) except -1:
    """Send the first attempt of *request*."""
    if plan.latency_recorder is not None:
        request.set_latency_recorder(plan.latency_recorder)
    if request._tracking is None and plan.observer is not None:
        plan.observer.observe_page(request)
    cdef RequestHooks hooks = request.known_hooks()
    if (hooks is not None and not hooks.is_as_compiled()) or not plan.launch(request):
        request.hooks().send(request, 0)
    return 0


cdef tuple statistics_of(CacheStatistics found):
    """Return the fields of ``CacheStatistics``."""
    return (
        found.hits, found.misses, found.shared, found.evictions, found.invalidations, found.expirations, found.bytes,
        found.entries,
    )


@cython.final
cdef class CacheTotals:
    """The sums of the statistics of several caches, also of those that are gone. Any thread."""

    cdef shared_ptr[CacheTotalsCore] core

    def __cinit__(self):
        self.core = make_shared[CacheTotalsCore]()

    def statistics(self):
        return statistics_of(self.core.get().read())


@cython.final
cdef class ResultCache:
    """Pages of the results of one statement, and its reads in flight."""

    cdef PageCache* pages
    cdef readonly TableWrites writes
    cdef readonly bint single_flight
    cdef bint is_exact  # the token of a request is that of the only partition it reads
    cdef int64_t limit  # ns
    cdef object decode
    cdef object expire
    cdef object decompress
    cdef dict flights
    cdef dict shapes
    cdef uint64_t last_shape
    cdef uint32_t process
    cdef atomic[int64_t] advanced

    def __cinit__(
        self, pool, TableWrites writes not None, bint is_exact, size_t max_bytes, double ttl, bint single_flight,
        uint64_t seed, CacheTotals totals not None, decode, expire, decompress,
    ):
        blocks = pool._blocks
        cdef BlockPool* native = <BlockPool*> PyCapsule_GetPointer(blocks, "fastcql::memory::BlockPool")
        self.limit = deadline_after(0, ttl)
        self.pages = new PageCache(native[0], max_bytes, self.limit, seed, totals.core)
        self.writes = writes
        self.is_exact = is_exact
        self.single_flight = single_flight
        self.decode = decode
        self.expire = expire
        self.decompress = decompress
        self.flights = {}
        self.shapes = {}
        self.process = fork_generation()

    def __dealloc__(self):
        del self.pages

    def advance(self, double seconds):
        """Let time go by, in tests."""
        self.advanced.fetch_add(<int64_t> (seconds * <double> SECOND))

    cdef int64_t now(self) noexcept:
        return monotonic_now() + self.advanced.load(memory_order_relaxed)

    def use(self, ExecutePlanBase plan not None, key):
        """Have the requests of *plan* use the pages that requests with the same *key* and result plan have read."""
        cdef _Shape shape
        key = (key, id(plan.result_plan))  # the shape keeps the plan alive
        shape = self.shapes.get(key)
        if shape is None:
            if len(self.shapes) >= MOST_SHAPES:  # the pages of the others are not found any more
                self.shapes.clear()
            shape = _Shape.__new__(_Shape)
            shape.result_plan = plan.result_plan
            with cython.critical_section(self):
                self.last_shape += 1
                shape.number = self.last_shape
            self.shapes[key] = shape
        plan.shape = shape

    def invalidate(self):
        self.pages.invalidate(self.writes.times.tick())

    def statistics(self):
        return statistics_of(self.pages.statistics())

    # ---- hits

    cdef tuple find(self, ExecutePlanBase plan, bytes values, row_factory):
        """Return ``(rows, paging state, retained page)`` of the page, None if there is none."""
        cdef PageKey key
        cdef CachedPage* page
        cdef _PageOwner owner = None
        cdef object decoder
        cdef tuple plain
        key.shape = plan.shape.number
        key.data = <const uint8_t*> PyBytes_AS_STRING(values)
        key.size = <size_t> PyBytes_GET_SIZE(values)
        page = self.pages.find(key, self.now(), self.writes.times)
        if page == NULL:
            return None
        try:
            decoder = load_once(decoder_of(plan.shape))
            if page.size() > UNOWNED:
                owner = _PageOwner.__new__(_PageOwner)
                page.retain()
                owner.page = page
            plain = plain_rows(
                decoder, owner, page.body(), <Py_ssize_t> page.size(), page.header(), plan.result_plan, row_factory
            )
            if plain is None:  # of a program's own row factory, or the first of its row plan
                body = PyBytes_FromStringAndSize(<const char*> page.body(), <Py_ssize_t> page.size())
                frame = Frame(page.header() >> 16, 0, 0, OPCODE_RESULT, body)
                plain = self.decode(decoder, frame, plan.result_plan, row_factory)
            return plain
        except Exception as error:
            if not isinstance(error, error_class("ProtocolError")):
                raise
            return None  # the request is sent, and reports it
        finally:
            page.release()

    cdef int execute(self, ExecutePlanBase plan, CachedRequest request) except -1:
        """Conclude *request* by a page, let it join another one, or send it."""
        cdef tuple plain
        try:
            plain = self.find(plan, request.values, request.row_factory)
        except Exception as error:  # of the row factory
            request.conclude(0, None, error, NOTHING)
            return 0
        if plain is None:
            return self.enter(plan, request, False)
        cdef tuple outcome = (plain[0], None, (plan.result_plan, None, None, plain[2]), 0)
        cdef bint is_new
        with cython.critical_section(request):
            is_new = not (
                request._callbacks or request._errbacks or request._waiters or request._timers
                or request._outcome is not None or request._ending is not None or request._tracked is not None
            )
            if is_new:
                request._outcome = outcome
                request.core.finish()
        if not is_new:  # a listener has added a callback
            request.conclude(0, plain[0], None, outcome[2])
        return 0

    cdef CachedRequest request(
        self, ExecutePlanBase plan, session, parameters, bytes values, bint routed, int64_t token, timeout, row_factory
    ):
        cdef bytes frame = envelope_of(plan.template, values, plan.timestamp(), routed, token)
        return new_cached(plan, session, frame, values, parameters, routed, token, timeout, row_factory)

    def future_of(self, InFlightRequest request not None):
        """Return a request for *request*, by which a page was found, with nothing sent."""
        return self.request(
            request.plan, request.session, None, request.values, request.routed, request.hashed, request.plan.timeout,
            request.plan.row_factory,
        )

    # ---- reads in flight

    cdef int enter(self, ExecutePlanBase plan, CachedRequest request, bint waits) except -1:
        """Send *request*, or let it join an equal one. *waits*: the caller waits for it right away."""
        cdef _Flight mine = _Flight.__new__(_Flight)
        cdef _Flight flight
        cdef tuple key = (plan.shape.number, request.values)
        mine.cache = self
        mine.plan = plan
        mine.key = key
        mine.leader = request
        mine.read.sent = self.now()
        mine.read.time = self.writes.times.now()
        mine.read.routed = request.routed and self.is_exact
        mine.read.token = request.hashed
        if self.process != fork_generation():  # the requests in flight are the parent's
            self.process = fork_generation()
            self.flights.clear()
        if not waits:
            request.set_eager()
        if self.single_flight:
            flight = self.flights.setdefault(key, mine)
            if flight is not mine:
                if flight.is_young(mine.read.sent) and flight.join(request):
                    self.pages.count_shared()
                    self.expire(request)
                    return 0
                self.flights[key] = mine
        with cython.critical_section(request):
            request.flight = mine
        request._metrics = plan.metrics
        try:
            send_cached(plan, request)
        except BaseException as error:
            request.conclude(0, None, error if isinstance(error, Exception) else request.cancelled(), NOTHING)
            raise
        return 0


@cython.final
cdef class _Flight:
    """A read in flight, and the requests that have joined it."""

    cdef ResultCache cache
    cdef ExecutePlanBase plan
    cdef tuple key
    cdef PageRead read
    cdef CachedRequest leader  # until it ends
    cdef CachedRequest last  # joined; each knows the one before
    cdef bint is_closed
    cdef Attempt attempt  # with the response that the leader ends with
    cdef Frame frame

    cdef bint is_young(self, int64_t now) noexcept:
        """True if a read that begins *now* may have its result."""
        cdef CTableWrites* writes = &self.cache.writes.times
        return now - self.read.sent < self.cache.limit and writes.is_valid(
            self.read.time, self.read.routed, self.read.token
        )

    cdef bint join(self, CachedRequest request) except -1:
        """Return False if the flight has ended."""
        cdef CachedRequest leader, before
        with cython.critical_section(self):
            if self.is_closed:
                return False
            leader = self.leader
        leader.set_eager()
        request._metrics = None  # nothing is sent for it
        request.before = None
        with cython.critical_section(self):
            if self.is_closed:
                return False
            before, self.last = self.last, request
            request.before = before
        return True

    cdef int keep(self, Attempt attempt, const CFrame& native) except -1:
        """Store the page of *attempt*, if the leader ends with it and it is complete. On the thread of a caller a
        signal handler may interrupt the decompression; then it is called again."""
        cdef PageKey key
        cdef bytes values
        cdef Frame frame
        if attempt.reprepares is not None or native.opcode != OPCODE_RESULT or native.skipped:
            return 0
        frame = Frame.__new__(Frame)
        frame.native = native
        with cython.critical_section(self):
            before, self.attempt = self.attempt, attempt
            replaced, self.frame = self.frame, frame
        if attempt.plan is not self.plan.result_plan:  # it was sent with other metadata, after a preparation
            return 0
        if native.flags & COMPRESSED:
            frame = self.cache.decompress(attempt.connection, frame)
            if frame is None:
                return 0
        if frame.native.flags & NOT_PLAIN or frame.native.length < 8 or load32(frame.native.body) != RESULT_ROWS:
            return 0
        if load32(frame.native.body + 4) & (HAS_MORE_PAGES | METADATA_CHANGED):
            return 0
        put_once(decoder_of(self.plan.shape), attempt.decoder())
        values = <bytes> self.key[1]
        key.shape = self.plan.shape.number
        key.data = <const uint8_t*> PyBytes_AS_STRING(values)
        key.size = <size_t> PyBytes_GET_SIZE(values)
        self.cache.pages.put(
            key, frame.native.body, frame.native.length, <int> frame.native.version << 16 | OPCODE_RESULT, self.read,
            self.cache.now(), self.cache.writes.times,
        )
        return 0

    cdef int close(self, error) except -1:
        """The leader has ended, with *error* or None: the I/O thread settles the requests that have joined."""
        cdef CachedRequest leader, last
        cdef _Settling rest
        cdef Reactor reactor
        if self.cache.flights.get(self.key) is self:
            self.cache.flights.pop(self.key, None)
        rest = _Settling.__new__(_Settling)
        with cython.critical_section(self):
            self.is_closed = True
            leader, self.leader = self.leader, None
            last, self.last = self.last, None
        if last is None:
            return 0
        rest.flight = self
        rest.last = last
        rest.error = error
        reactor = last.driver()
        if reactor is None or not post(reactor, rest):
            rest.settle()
        return 0


@cython.final
cdef class _Settling:
    """Concludes the requests that have joined *flight*, on the I/O thread."""

    cdef _Flight flight
    cdef CachedRequest last
    cdef object error

    def __call__(self):
        self.settle()

    cdef int settle(self) except -1:
        cdef CachedRequest first = None, request = self.last, following
        self.last = None
        while request is not None:  # in the order in which they have joined
            following, request.before = request.before, first
            first, request = request, following
        while first is not None:
            request, first = first, first.before
            request.before = None
            try:
                self.settle_one(request)
            except BaseException as broken:
                request.conclude(0, None, broken, NOTHING)
        return 0

    cdef int settle_one(self, CachedRequest request) except -1:
        cdef _Flight flight = self.flight
        cdef Attempt led, attempt
        if request.is_over(0):
            return 0
        if self.error is None and flight.frame is not None:
            led = flight.attempt
            attempt = Attempt(led.host, led.pool, led.connection, 0, None, 0, led.plan)
            request.hand_over(attempt, flight.frame, 0)
            return 0
        if self.error is None or is_own_error(self.error):
            return flight.cache.enter(flight.plan, request, False)
        request.conclude(0, None, copy_error(self.error), NOTHING)
        return 0


# True for errors that are of one caller's making; and a copy of an error, for another caller.
cdef object is_own_error = None, copy_error = None


def set_errors_of_flights(is_own, copy):
    global is_own_error, copy_error
    is_own_error, copy_error = is_own, copy


# ---- requests


cdef class CachedRequest(Request):
    """A read whose result is cached. Its first page may lead a flight, or have joined one."""

    cdef bytes values  # as encoded
    cdef _Flight flight  # that it leads
    cdef CachedRequest before  # the one that has joined the same flight before; of the flight

    cdef _Flight led(self):
        with cython.critical_section(self):
            return self.flight

    cdef bint decode_plain(self, Attempt attempt, Outcome& outcome, CompletionQueue here) except -1:
        cdef _Flight flight = self.led()
        if flight is not None and attempt.page == 0:
            flight.keep(attempt, outcome.frame)
        return Request.decode_plain(self, attempt, outcome, here)

    cdef int process_outcome(self, Attempt attempt, answer) except -1:
        cdef _Flight flight = self.led()
        if flight is not None and attempt.page == 0 and type(answer) is Frame:
            flight.keep(attempt, (<Frame> answer).native)
        return Request.process_outcome(self, attempt, answer)

    cdef bint conclude_plain(self, Attempt attempt, tuple outcome, CompletionQueue here, Nanos arrived) except -1:
        try:
            return Request.conclude_plain(self, attempt, outcome, here, arrived)
        finally:  # a tracker may be interrupted
            self.leave_flight(outcome[1])

    cdef bint end(self, int64_t page, result, error, page_info, bint asked) except -1:
        try:
            return Request.end(self, page, result, error, page_info, asked)
        finally:
            self.leave_flight(error)

    cdef int leave_flight(self, error) except -1:
        """End the flight, if the first page has ended."""
        cdef _Flight flight
        if not self.is_over(0):
            return 0
        with cython.critical_section(self):
            flight, self.flight = self.flight, None
        if flight is not None:
            flight.close(error)
        return 0


cdef class WriteRequest(Request):
    """A write to a table of which pages are cached: its end invalidates those of its partition."""

    cdef bint conclude_plain(self, Attempt attempt, tuple outcome, CompletionQueue here, Nanos arrived) except -1:
        self.note_write()
        return Request.conclude_plain(self, attempt, outcome, here, arrived)

    cdef bint end(self, int64_t page, result, error, page_info, bint asked) except -1:
        self.note_write()
        return Request.end(self, page, result, error, page_info, asked)

    cdef void note_write(self) noexcept:
        cdef TableWrites writes = self._execute_plan.writes
        if self.routed:
            writes.times.note(self.hashed)
        else:
            writes.times.note_all()


@cython.final
cdef class WriteEnding:
    """``_ending`` of a request that writes to tables of which pages are cached: *writes* are pairs of TableWrites and
    token, or None. *ending*: the one before."""

    cdef tuple writes
    cdef object ending

    def __init__(self, tuple writes not None, ending):
        self.writes = writes
        self.ending = ending

    def __call__(self, Request request not None, int64_t page, result, error, page_info):
        for writes, token in self.writes:
            (<TableWrites?> writes).note_end(token)
        if self.ending is not None:
            return self.ending(request, page, result, error, page_info)
        return request.end(page, result, error, page_info, True)


# ---- executing


def execute_cached(ExecutePlanBase plan not None, session, prepared, parameters, timeout, profile_key, dict own):
    """Return a request for *parameters*, which has ended, has joined another one, or is sent. None if *plan* is not
    valid for *session*, *prepared* and *profile_key*. *own*: attributes of the request."""
    if not plan.takes(session, prepared, profile_key):
        return None
    cdef int64_t token = 0
    cdef bint routed = False
    cdef bytes values = encode_values(plan.template, parameters, &token, &routed)
    cdef CachedRequest request = plan.cache.request(
        plan, session, parameters, values, routed, token, timeout, plan.row_factory
    )
    if own is not None:
        for name, value in own.items():
            setattr(request, name, value)
    plan.cache.execute(plan, request)
    return request


def cached_request(
    ExecutePlanBase plan not None, session, bytes frame not None, bytes values not None, token, parameters, timeout
):
    """Return a request with nothing sent, for the *values* that *frame* has."""
    cdef bint routed = token is not None
    return new_cached(
        plan, session, frame, values, parameters, routed, token if routed else 0, timeout, plan.row_factory
    )


def launch_cached(ExecutePlanBase plan not None, CachedRequest request not None):
    """Conclude *request* by a page that is cached, let it join another one, or send it."""
    plan.cache.execute(plan, request)


cdef class CachedStatementBase:
    """Executes a statement whose results are cached."""

    cdef readonly object session
    cdef readonly object statement
    cdef readonly ResultCache _cache
    cdef PlanCache plans
    cdef object default_key

    def __init__(self, session, statement, ResultCache cache not None, default_key):
        self.session = session
        self.statement = statement
        self._cache = cache
        self.plans = statement._plans
        self.default_key = default_key

    def execute_async(self, parameters=None, *, timeout=None, execution_profile=None, row_factory=None):
        raise NotImplementedError

    def execute(self, parameters=None, *, timeout=None, execution_profile=None, row_factory=None):
        """Return the :class:`ResultSet`: from the cache, or of a request that this waits for. Parameters and errors as
        for :meth:`Session.execute`; None: the default of the session."""
        cdef ExecutePlanBase plan
        cdef InFlightRequest found_by
        cdef Answer answer
        cdef tuple plain
        cdef bytes values
        cdef int64_t token = 0
        cdef bint routed = False
        if timeout is None and execution_profile is None and row_factory is None:
            found = last_plan_of(self.plans)
            if found is not None:
                plan = <ExecutePlanBase?> found
                if plan.takes(self.session, self.statement, self.default_key):
                    values = encode_values(plan.template, parameters, &token, &routed)
                    plain = self._cache.find(plan, values, plan.row_factory)
                    if plain is not None:
                        answer = new_object(result_type, ())
                        found_by = InFlightRequest.__new__(InFlightRequest)
                        found_by.session = self.session
                        found_by.plan = plan
                        found_by.values = values
                        found_by.routed = routed
                        found_by.hashed = token
                        answer._request = found_by
                        answer._plan = plan.result_plan
                        answer._kept = plain[2]
                        rows = plain[0]
                        if type(rows) is list or type(rows) is LAZY_ROWS:
                            answer.rows = rows
                        else:
                            answer._turn_to_rows(rows)
                        return answer
                    missed = self._cache.request(
                        plan, self.session, parameters, values, routed, token, plan.timeout, plan.row_factory
                    )
                    self._cache.enter(plan, missed, True)
                    return wait_for(missed)
        return self.execute_async(
            parameters, timeout=timeout, execution_profile=execution_profile, row_factory=row_factory
        ).result()


cdef object wait_for(Request request):
    """Return the result of *request*; a caller that is interrupted leaves it to the I/O thread."""
    cdef tuple outcome
    try:
        outcome = outcome_of(request)
    except BaseException:
        request.set_eager()
        raise
    return answer_of(result_type, request, outcome)
