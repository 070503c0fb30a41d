# ExecutePlan: the fast path of the requests of one prepared statement. Immutable, so that any thread may use it: when
# something that it depends on has changed, another plan is made. It is kept with the statement, and does not keep a
# session alive. RequestHooks: the slow path, which an upper layer implements (see ConnectionBase).


cdef class RequestHooks:
    cpdef object send(self, Request request, int64_t page):
        raise NotImplementedError

    cpdef object send_to(self, Request request, Target target, int64_t page):
        raise NotImplementedError

    cpdef object look(self, Request request):
        raise NotImplementedError

    cpdef object speculate(self, Request request, int64_t page):
        raise NotImplementedError

    cpdef object read_plain(self, Request request, Attempt attempt, Frame frame):
        raise NotImplementedError

    cpdef object process(self, Request request, Attempt attempt, answer):
        raise NotImplementedError

    cpdef bint is_repeatable(self) except -1:
        raise NotImplementedError

    cpdef object gave_up(self, Request request, Attempt attempt):
        raise NotImplementedError

    cpdef bint may_be_executed(self, Request request) except -1:
        raise NotImplementedError

    cpdef bint is_as_compiled(self) except -1:
        raise NotImplementedError


cdef ConnectionBase connection_of(PoolFields pool, bint routed, int64_t token, shard):
    cdef ConnectionBase connection = None
    picks = picks_of(pool)
    if type(picks) is ConnectionSelector:
        connection = (<ConnectionSelector> picks).usable(routed, token, shard)
    if connection is None:
        connection = <ConnectionBase?> pool.pick(token if routed else None, shard)
    return connection


cdef object pool_of(PoolSetFields pool_set, host):
    """Return the pool of *host*, None if there is none."""
    return pools_of(pool_set).get(host)


cdef inline double limit_of(timeout) except *:
    return NO_TIMEOUT if timeout is None else timeout


cdef class ExecutePlanBase:
    """Encodes requests, selects host and connection, and submits."""

    cdef readonly object prepared
    cdef LastUse last_use
    cdef readonly object profile
    cdef dict profiles
    cdef object default_key
    cdef ProfileFields default_profile
    cdef int64_t default_version
    cdef readonly object settings_epoch
    cdef MetadataFields metadata
    cdef readonly object state
    cdef readonly RequestRecorder metrics
    cdef readonly bint direct
    cdef object kind
    cdef readonly object template
    cdef readonly TimestampClock clock
    cdef readonly object timestamps
    cdef object on_ahead  # called when the clock is ahead of the system time
    cdef object route
    cdef readonly object dialect
    cdef object timeout
    cdef object row_factory
    cdef int prefetch
    cdef readonly object result_plan
    cdef object not_sent
    cdef object unset
    cdef object own_options
    cdef readonly object latency_recorder
    cdef readonly RequestObserver observer
    cdef readonly SpeculationQueue speculation  # None: no request is executed a second time
    cdef readonly TableWrites writes  # of the table that it writes or reads, if pages of that are cached; else None
    cdef readonly ResultCache cache  # of the statement; None: its results are not cached
    cdef _Shape shape  # of its pages in the cache

    def __init__(
        self, *, prepared, LastUse last_use not None, profile, dict profiles, default_key, ProfileFields default_profile, int64_t default_version,
        settings_epoch, MetadataFields metadata not None, state, RequestRecorder metrics, bint direct, kind not None,
        template, TimestampClock clock, timestamps, on_ahead, route, dialect, timeout, row_factory, int prefetch, result_plan,
        not_sent, unset, own_options, latency_recorder, RequestObserver observer, SpeculationQueue speculation=None,
        TableWrites writes=None, ResultCache cache=None,
    ):
        self.prepared = prepared
        self.last_use = last_use
        self.profile = profile
        self.profiles = profiles
        self.default_key = default_key
        self.default_profile = default_profile
        self.default_version = default_version
        self.settings_epoch = settings_epoch
        self.metadata = metadata
        self.state = state
        self.metrics = metrics
        self.direct = direct
        self.kind = kind
        self.template = template
        self.clock = clock
        self.timestamps = timestamps
        self.on_ahead = on_ahead
        self.route = route
        self.dialect = dialect
        self.timeout = timeout
        self.row_factory = row_factory
        self.prefetch = prefetch
        self.result_plan = result_plan
        self.not_sent = not_sent
        self.unset = unset
        self.own_options = own_options
        self.latency_recorder = latency_recorder
        self.observer = observer
        self.speculation = speculation
        self.writes = writes
        self.cache = cache

    cpdef RequestHooks execution(self, Request request):
        raise NotImplementedError

    cpdef bint is_valid(self, session) except -1:
        return self.is_current(<SessionFields?> session)

    cdef bint is_current(self, SessionFields session) noexcept:
        """True if neither a setting of *session* nor the state of the cluster has changed."""
        return session.has_epoch(self.settings_epoch) and self.metadata.has_state(self.state)

    cdef bint takes(self, session, prepared, profile_key) except -1:
        return (
            prepared is self.prepared  # false for a copy of the statement
            and self.direct
            and self.is_current(<SessionFields?> session)
            and self.is_profile(session, profile_key)
        )

    cdef bint is_profile(self, session, key) except -1:
        if self.profiles is not None and key is self.default_key:
            found = get_value(self.profiles, key, None)
            if found is self.default_profile and self.default_profile._version == self.default_version:
                return True
        return (<SessionFields?> session)._resolve_profile(key) is self.profile

    cdef object timestamp(self):
        if self.clock is None:
            return None if self.timestamps is None else self.timestamps()
        if self.clock.lead.load(memory_order_relaxed) != 0:
            self.on_ahead()
        return self.clock

    # ---- requests with a future each

    def send(
        self, session, prepared, values, trace, custom_payload, timeout, profile_key, paging_state, host, execute_as,
        row_factory, prefetch,
    ):
        """Return a submitted request for the arguments of execute_async; None if the request needs the slow path."""
        cdef dict own = None
        if (
            timeout is not self.unset
            or trace is not False
            or custom_payload is not None
            or paging_state is not None
            or host is not None
            or execute_as is not None
            or not self.takes(session, prepared, profile_key)
        ):
            return None
        if row_factory is not self.unset or prefetch is not None:
            own = self.own_options(row_factory, prefetch)
        return self.submit_request(session, values, own, self.row_factory)

    cdef Request submit_request(self, session, values, dict own, row_factory):
        cdef int64_t hashed
        cdef bint routed
        frame = encode_by_template(self.template, values, self.timestamp(), &hashed, &routed)
        cdef Request request = new_object(self.kind, ())
        cdef double now = seconds_now()
        note_use(self.last_use, now)
        request.begin(session, self.metrics, self.timeout, now)
        request.row_factory = row_factory
        request._prefetch = self.prefetch
        request.result_plan = self.result_plan
        request.routed = routed
        request.hashed = hashed
        if self.latency_recorder is not None:
            request.set_latency_recorder(self.latency_recorder)
        request._execute_plan = self
        request._frame = frame
        request._values = values
        if own is not None:
            for name, value in own.items():
                setattr(request, name, value)
        if self.observer is not None:
            self.observer.observe_page(request)
        cdef RequestHooks hooks = request.known_hooks()  # made if the tracker has read the statement
        if (hooks is not None and not hooks.is_as_compiled()) or not self.launch(request):
            request.hooks().send(request, 0)
        return request

    def try_launch(self, Request request not None):
        return self.launch(request)

    cdef bint launch(self, Request request) except -1:
        cdef Attempt attempt = None
        cdef ConnectionBase connection
        cdef SubmitResult submitted
        cdef Target target
        cdef _TrackedLatency latency = None
        if self.route is None:
            return False
        target = target_of(self.route, request.routed, request.hashed)
        if target is None:
            return False
        host = target.host
        pool = pool_of(<PoolSetFields?> (<SessionFields?> request.session)._pool_set, host)
        if pool is None:
            return False
        try:
            connection = connection_of(<PoolFields?> pool, request.routed, request.hashed, target.shard)
            if connection.dialect is not self.dialect:  # the frame is encoded for another dialect
                request._picked = target
                return request.hooks().send_to(request, target, request.page_now())
            attempt = first_attempt(host, pool, connection, request.result_plan)
            if request._latency_recorder is not None:
                attempt.started = seconds_now()  # without the GIL, the response may be processed before sent()
            request.register_first(attempt, host)
            request._picked = target
            if request._tracked is not None:
                request._tracking.sending(request, attempt)
            if self.speculation is not None:
                latency = track_latency(request, self.speculation.tracker)
            later = waits_in_turn(connection.reactor)
            connection.put(request._frame, request, 0, request.timeout, later, &submitted)
            attempt.note_stream(submitted.stream, <double> submitted.started / <double> SECOND)
        except self.not_sent as error:
            if request._tracked is not None and attempt is not None:
                request._tracking.ended(request, attempt, error)
            request.withdraw_first()
            request._picked = None
            return False
        if request.is_concluded():  # it ended meanwhile
            request._give_up(attempt)
        if latency is not None:
            reactor = connection.reactor
            self.speculation.add(latency, request, attempt.page, <Reactor> reactor if type(reactor) is Reactor else None)
        return True

    # ---- requests of a batch (RequestBatch)

    cdef bint submit_to_batch(self, RequestBatch batch, int64_t index, values) except -1:
        cdef InFlightRequest request
        cdef ConnectionBase connection
        cdef int64_t slot = index % NO_SLOT
        cdef int64_t hashed
        cdef bint routed
        frame = encode_by_template(self.template, values, self.timestamp(), &hashed, &routed)
        cdef Target target = target_of(self.route, routed, hashed)
        if target is None:
            return False
        host = target.host
        pool = pool_of(batch.pool_set, host)
        if pool is None or batch.find(slot) is not None:
            return False
        try:
            connection = connection_of(<PoolFields?> pool, routed, hashed, target.shard)
            if connection.dialect is not self.dialect:
                return False
            request = InFlightRequest.__new__(InFlightRequest)
            request.index = index
            request.session = batch.session
            request.plan = self
            request.frame = frame
            request.routed = routed
            request.hashed = hashed
            request.values = values
            batch.submit_request(request, host, pool, connection, frame, self.timeout, True)
        except self.not_sent:
            return False
        note_use(self.last_use, request.started)
        return True


cdef object request_of(plan, session, prepared, values, row_factory):
    """As ExecutePlanBase.send(), with values only; *row_factory* replaces that of the profile if it is not None."""
    cdef ExecutePlanBase one = <ExecutePlanBase?> plan
    if one.profiles is None or not one.takes(session, prepared, one.default_key):
        return None
    return one.submit_request(session, values, None, one.row_factory if row_factory is None else row_factory)
