# Channel: one connection. ConnectionBase: base of Connection. ConnectionSelector: selects the connection of a pool for a
# request.

cdef inline SubmitResult submit_bytes(
    Channel channel, const uint8_t* data, size_t size, Operation operation, uint32_t attempt, double limit, bint later
) except *:
    channel.check_process()
    if operation.home is not channel.reactor:  # set once in each process
        operation.home = channel.reactor
    Py_INCREF(operation)  # the stream's reference
    cdef SubmitResult submitted = channel.core.submit(data, size, &operation.core, attempt, limit, later)
    if not channel.reactor.core.drops.empty():
        drop_list(channel.reactor.core.drops.take_all())
    if submitted.status != SubmitStatus.Accepted:
        Py_DECREF(operation)
        channel.refuse(submitted.status)
    raise_interruption()
    return submitted


cdef class Decompressor


cdef class Channel:
    """One connection: socket, frame splitter, stream ids, coalesced writes. Made by Reactor.connect."""

    cdef CChannel* core
    cdef readonly Reactor reactor
    cdef readonly Limit limit
    cdef object handler
    cdef object byte_filter
    cdef object on_quiet
    cdef object compressor
    cdef Decompressor decompressor
    cdef bint draining

    def __init__(self):
        raise TypeError("channels are made by Reactor.connect")

    def __dealloc__(self):
        if self.core != NULL and not self.core.reactor().foreign():
            self.core.release()

    def submit(
        self, bytes frame not None, Operation operation not None, uint32_t attempt=0, timeout=None, bint later=False
    ):
        return self.put(frame, operation, attempt, NO_TIMEOUT if timeout is None else timeout, later).stream

    cdef SubmitResult put(self, bytes frame, Operation operation, uint32_t attempt, double limit, bint later) except *:
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(frame)
        cdef size_t size = <size_t> PyBytes_GET_SIZE(frame)
        if size < 9 or load32(data + 5) != size - 9:
            raise ValueError("a request must have a header of 9 bytes and a body of the length in that header")
        return submit_bytes(self, data, size, operation, attempt, limit, later)

    cdef SubmitResult put_bytes(
        self, const uint8_t* data, size_t size, Operation operation, uint32_t attempt, double limit, bint later
    ) except *:
        """As put, for a frame whose length is correct."""
        return submit_bytes(self, data, size, operation, attempt, limit, later)

    cdef int refuse(self, SubmitStatus status) except -1:
        if status == SubmitStatus.NoMemory:
            raise MemoryError("no memory for a request")
        if status == SubmitStatus.Busy and self.draining:
            raise error_class("ConnectionShutdown")("the connection is being closed")
        if status == SubmitStatus.Busy:
            why = "a USE is under way" if self.core.held() else "no free stream"
            if self.core.is_window_full():
                why = f"the server is overloaded, {self.core.window():.3g} requests at a time are sent"
            text = (
                f"{why}: {self.core.in_flight()} requests in flight, "
                f"{self.core.orphaned()} orphaned, {self.core.max_requests()} allowed"
            )
            raise error_class("ConnectionBusy")(text if self.limit is None else f"{text}; {self.limit!r}")
        raise error_class("ConnectionShutdown")("the connection is closed")

    cdef int check_process(self) except -1:
        if self.core.reactor().foreign():
            raise error_class("ConnectionShutdown")("the connection belongs to the parent of this process")

    def orphan(self, int stream, Operation operation not None, uint32_t attempt=0):
        if self.core.reactor().foreign() or not self.core.orphan(stream, &operation.core, attempt):
            return False
        Py_DECREF(operation)  # the stream's reference; the caller has another one
        return True

    def enable_segments(self, compress=None, Decompressor decompress=None):
        self.check_reactor_thread()
        if (compress is None) != (decompress is None):
            raise ValueError("compress and decompress must be given together")
        self.compressor = compress
        self.decompressor = decompress
        self.core.compressor = <void*> compress
        self.core.decompressor = <void*> decompress
        if not self.core.enable_segments(decompress is not None):
            raise RuntimeError("segments can be enabled only once, between frames, while no bytes are queued")

    def set_protocol(self, int version, max_frame=0x7fffffff, compression=None):
        self.check_reactor_thread()
        cdef EnvelopeRules rules
        rules.version = <uint8_t> version
        rules.max_frame = max_frame
        self.core.set_rules(rules)
        if compression == "lz4":
            self.core.set_peek(Peek.Lz4)
        elif compression == "snappy":
            self.core.set_peek(Peek.Snappy)
        else:
            self.core.set_peek(Peek.Nothing)

    cdef int check_reactor_thread(self) except -1:
        if not self.core.reactor().is_owner():
            raise RuntimeError("this method can be called only on the I/O thread")

    def close(self, error=None):
        if self.core.reactor().foreign():
            return
        if error is None:
            self.core.close(Ref[Reason].adopt(new Reason(ReasonKind.Local, b"the connection was closed")))
        else:
            self.core.close(Ref[Reason].adopt(reason_of(error)))

    def drain(self):
        if self.draining or self.core.reactor().foreign():
            return
        self.draining = True
        self.core.hold()

    def leave_to_parent(self):
        if self.core.reactor().foreign():
            self.core.close_copy()

    @property
    def closed(self):
        return self.core.closed() or self.core.reactor().foreign()

    @property
    def in_flight(self):
        return self.core.in_flight() + self.core.orphaned()

    @property
    def orphaned(self):
        return self.core.orphaned()

    @property
    def max_requests(self):
        return self.core.max_requests()

    @max_requests.setter
    def max_requests(self, int limit):
        if not 1 <= limit <= 32768:
            raise ValueError(f"max_requests must be between 1 and 32768, got {limit}")
        self.core.set_max_requests(limit)

    def set_limit(self, Limit limit not None):
        self.limit = limit
        self.core.set_limit(limit.core)

    def set_load(self, HostState host not None, shard):
        self.core.set_load(host.load, load_of(host, shard, None)[0])

    def responds_again(self):
        self.core.responds_again()

    def follow_overload(self):
        self.core.follow_overload()

    @property
    def window(self):
        return float("inf") if self.core.reactor().foreign() else self.core.window()

    @property
    def is_full(self):
        if self.core.in_flight() + self.core.orphaned() >= self.core.max_requests():
            return True
        return not self.core.reactor().foreign() and self.core.is_window_full()

    def watch_quiet(self, double patience, on_quiet not None):
        if self.core.closed():
            return
        self.on_quiet = on_quiet
        self.core.watch_quiet(deadline_after(0, patience))

    def keep_alive(self, uint8_t version, double interval, double timeout):
        if not self.core.reactor().foreign():
            self.core.keep_alive(version, deadline_after(0, interval), deadline_after(0, timeout))

    @property
    def uploaded(self):
        return 0 if self.core.reactor().foreign() else self.core.uploaded()

    def waiting(self):
        cdef vector[WaitingRequest] found
        cdef list result = []
        cdef WaitingRequest one
        if not self.core.reactor().foreign():
            self.core.waiting(found)
        for one in found:
            result.append((<Operation> one.operation.self, one.attempt))
            Py_DECREF(<Operation> one.operation.self)  # the list has another one
        return result

    def wait_for_room(self, Operation waiter not None):
        if self.core.reactor().foreign():
            return False
        Py_INCREF(waiter)
        cdef Wait wait = self.core.wait_for_stream(&waiter.core)
        if wait != Wait.Armed:
            Py_DECREF(waiter)
        return wait != Wait.Room or (self.limit is not None and self.limit.wait())

    cdef void let_go(self) noexcept:
        if not self.core.reactor().foreign():
            self.core.let_go()

    def end_queue(self):
        if not self.core.reactor().foreign():
            self.core.end_queue()

    @property
    def idle_seconds(self):
        return <double> (monotonic_now() - self.core.last_received()) / <double> SECOND

    @property
    def bytes_sent(self):
        return self.core.bytes_sent()

    @property
    def submitted(self):
        return self.core.submitted()

    @property
    def bytes_received(self):
        return self.core.bytes_received()

    def getsockname(self):
        return self.socket_name(False)

    def getpeername(self):
        return self.socket_name(True)

    cdef object socket_name(self, bint peer):
        cdef SocketAddress address
        cdef string host
        cdef int port = 0
        if self.core.reactor().foreign() or not self.core.socket_name(peer, &address):
            raise OSError(_errno.EBADF, "the connection is closed")
        if not describe_address(address, &host, &port):
            return text_of(host)
        return text_of(host), port


@cython.final
cdef class ChannelGroup:
    """The channels of the requests of one session. Each method, and each of Hold, is one critical section of the group:
    it calls no Python code, and a hold includes each channel that was added before it or meanwhile."""

    cdef set channels
    cdef set holds  # begun and not cancelled

    def __init__(self):
        self.channels = set()
        self.holds = set()

    def add(self, Channel channel not None):
        with cython.critical_section(self):
            for hold in self.holds:
                (<Hold> hold).add(channel)
            self.channels.add(channel)

    def discard(self, Channel channel not None):
        with cython.critical_section(self):
            self.channels.discard(channel)


@cython.final
cdef class Hold:
    """Until it is cancelled the channels of *group*, including channels added meanwhile, accept only DRIVER
    requests."""

    cdef ChannelGroup group
    cdef list channels

    def __init__(self, ChannelGroup group not None):
        self.group = group
        self.channels = []

    cdef int add(self, Channel channel) except -1:
        self.channels.append(channel)
        if not channel.core.reactor().foreign():
            channel.core.hold()
        return 0

    def begin(self, Reactor reactor=None, callback=None):
        """Return False, with nothing held, if the *reactor* that has to call *callback* was stopped."""
        with cython.critical_section(self.group):
            self.group.holds.add(self)
            for channel in self.group.channels:
                self.add(<Channel> channel)
        if reactor is None:
            return True
        Py_INCREF(callback)
        if not reactor.core.foreign() and reactor.core.call_soon(<void*> callback):
            return True
        Py_DECREF(callback)
        self.cancel()
        return False

    def cancel(self):
        cdef list channels, none = []
        cdef ChannelGroup group = self.group
        with cython.critical_section(group):
            group.holds.discard(self)
            channels, self.channels = self.channels, none
        for channel in channels:
            (<Channel> channel).let_go()


# ---- connections
#
# Abstract classes that upper layers implement: a cpdef method looks up the override of a subclass by name, only here;
# fields are in C. Native code uses no other name of an upper layer: tests/test_native_attributes.py checks it.


cdef class ConnectionBase:
    cdef public object dialect
    cdef public object results  # decodes responses
    cdef public object reactor
    cdef public Channel channel  # None before it is open
    cdef public Channel direct  # the channel if it takes frames unmodified; None: submit() transforms them
    cdef public int orphaned_threshold
    cdef public HostRecorder recorder  # counts the requests to its host; None without metrics
    cdef public object shard  # of the server; None for a server without shards

    def __cinit__(self, *args, **kwargs):
        self.orphaned_threshold = INT_MAX

    cpdef object submit(self, frame, Operation operation, attempt=0, timeout=None, later=False):
        raise NotImplementedError

    cpdef object orphan(self, stream, Operation operation, attempt=0):
        raise NotImplementedError

    @cython.final
    cdef int put(
        self, bytes frame, Operation operation, uint32_t attempt, timeout, bint later, SubmitResult* submitted
    ) except -1:
        """As submit(), with the time of sending; in native code if the channel takes frames unmodified."""
        if self.direct is None:
            submitted.started = monotonic_now()
            submitted.stream = self.submit(frame, operation, attempt, timeout, later)
        else:
            submitted[0] = self.direct.put(frame, operation, attempt, limit_of(timeout), later)
        return 0

    cdef bint closed(self) noexcept:
        return self.channel is not None and self.channel.core.closed()


# ---- ConnectionSelector: selects the connection of a pool for a request, in one native step


@cython.final
cdef class ConnectionSelector:
    """The present connections of one node."""

    cdef ConnectionBase sole
    cdef object picker

    def __init__(self, ConnectionBase sole, picker):
        self.sole = sole
        self.picker = picker

    def at(self, token=None, shard=None):
        return self.wanted(token is not None, 0 if token is None else <int64_t> token, shard)

    def pick(self, token=None, shard=None):
        return self.usable(token is not None, 0 if token is None else <int64_t> token, shard)

    cdef ConnectionBase wanted(self, bint routed, int64_t token, shard):
        cdef ConnectionBase picked = self.sole
        if picked is None and self.picker is not None:
            picked = self.picker.pick(token if routed else None, shard)
        return picked

    cdef ConnectionBase usable(self, bint routed, int64_t token, shard):
        cdef ConnectionBase connection = self.wanted(routed, token, shard)
        return connection if connection is not None and has_capacity(connection) else None


cdef bint has_capacity(ConnectionBase connection) noexcept:
    """True if there is no reason to prefer another connection."""
    cdef Channel channel = connection.channel
    if channel is None or channel.core.closed() or channel.core.reactor().foreign():
        return False
    cdef int given_up = channel.core.orphaned()
    if channel.core.in_flight() + given_up >= channel.core.max_requests():
        return False
    if channel.core.is_window_full():
        return False
    return given_up == 0 or given_up < connection.orphaned_threshold
