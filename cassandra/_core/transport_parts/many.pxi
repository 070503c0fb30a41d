# ManyRequestsBase: many requests under one operation, each in a numbered slot. Base of the requests of
# execute_concurrent (batch.pxi), of an ingest (writes.pxi) and of a scan (_scan/pages.py).
#
# One thread at a time submits and takes outcomes, the owner: that of a caller, or of an asyncio loop. The I/O thread
# delivers outcomes, as to any operation. Other threads append to a deque, and then end the owner's wait.
#
# A signal handler may interrupt the owner wherever Python code runs. So an outcome stays in place (``held``) until
# take_outcome() has processed it; until then the next call begins it again.

cdef enum:
    SLOTS = 512  # a power of two


# ---- the window of a host, see cpp/transport/limits.h

cdef extern from "transport/limits.h" namespace "fastcql" nogil:
    cdef cppclass CHostWindow "fastcql::HostWindow":
        CHostWindow(uint32_t first, uint32_t most) except +
        uint32_t size()
        uint32_t in_flight()
        bint has_room()
        void sent()
        void answered()
        void gone()
        void congested(Nanos sent, Nanos now)


@cython.final
cdef class HostWindow:
    cdef CHostWindow* window

    def __cinit__(self, uint32_t first, uint32_t most):
        self.window = new CHostWindow(first, most)

    def __dealloc__(self):
        del self.window

    @property
    def size(self):
        return self.window.size()

    @property
    def in_flight(self):
        return self.window.in_flight()

    @property
    def has_room(self):
        return self.window.has_room()

    def sent(self):
        self.window.sent()

    def answered(self):
        self.window.answered()

    def gone(self):
        self.window.gone()

    def congested(self, double sent):
        self.window.congested(<Nanos> (sent * <double> SECOND), monotonic_now())


# ---- requests in flight


@cython.freelist(256)
cdef class InFlightRequest:
    """A request in a slot: all data needed to continue it as a future of its own."""

    cdef readonly object session
    cdef readonly ExecutePlanBase plan
    cdef public int64_t index
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

    cdef inline int64_t slot(self) noexcept:
        return self.index % NO_SLOT


cdef class ManyRequestsBase(Operation):
    cdef readonly object ended  # outcomes that Python code processes
    cdef readonly object silent  # slots of requests whose peers are silent

    cdef readonly object session
    cdef PoolSetFields pool_set  # of the session
    cdef list slots  # the request of a slot, at the lower bits of the slot
    cdef dict others  # requests whose slots were taken
    cdef Py_ssize_t count
    cdef dict windows  # by host; None: requests in flight to a host are not limited
    cdef uint32_t first_window
    cdef uint32_t max_per_host
    cdef Batch held  # outcomes that were taken; those before *at* are processed
    cdef size_t at
    cdef readonly bint _has_outcomes
    cdef object reactor  # of the last request

    def __cinit__(self, *args, **kwargs):
        self.ended = _deque()
        self.silent = _deque()
        self.clear()

    def _begin_in(self, session, PoolSetFields pool_set not None):
        """Send requests of *session*."""
        catch_up()
        self.session = session
        self.pool_set = pool_set

    # ---- slots

    cdef clear(self):
        self.slots = [None] * SLOTS
        self.others = {}
        self.count = 0

    @cython.final
    cdef InFlightRequest find(self, int64_t slot):
        found = self.slots[slot & (SLOTS - 1)]
        if found is not None and (<InFlightRequest> found).slot() == slot:
            return <InFlightRequest> found
        return <InFlightRequest> self.others.get(slot) if self.others else None

    @cython.final
    cdef enter(self, int64_t slot, InFlightRequest request):
        if self.slots[slot & (SLOTS - 1)] is None:
            self.slots[slot & (SLOTS - 1)] = request
        else:
            self.others[slot] = request
        self.count += 1

    @cython.final
    cdef InFlightRequest remove(self, int64_t slot):
        cdef InFlightRequest request = self.find(slot)
        if request is not None:
            if self.slots[slot & (SLOTS - 1)] is request:
                self.slots[slot & (SLOTS - 1)] = None
            else:
                del self.others[slot]
            self.count -= 1
        return request

    @property
    def in_flight(self):
        return self.count

    def _request(self, slot):
        return self.find(slot)

    def _requests(self):
        return [found for found in self.slots if found is not None] + list(self.others.values())

    def _forget(self, slot=None):
        if slot is None:
            self.clear()
        else:
            self.remove(slot)

    # ---- sending

    def _limit_hosts(self, uint32_t first, uint32_t most):
        if self.windows is None:
            self.windows = {}
        self.first_window = first
        self.max_per_host = most

    @cython.final
    cdef HostWindow window_of(self, host):
        cdef HostWindow window
        if self.windows is None:
            return None
        window = <HostWindow> self.windows.get(host)
        if window is None:
            window = self.windows[host] = HostWindow(self.first_window, self.max_per_host)
        return window

    def window(self, host):
        return self.window_of(host)

    def window_sizes(self):
        if self.windows is None:
            return None
        return {host: (<HostWindow> window).window.size() for host, window in self.windows.items()}

    @cython.final
    cdef int submit_request(
        self, InFlightRequest request, host, pool, ConnectionBase connection, bytes frame, timeout, bint later
    ) except -1:
        """Submit *frame*, of *request*, which is in flight then; an exception leaves it unchanged."""
        cdef SubmitResult submitted
        cdef int64_t slot = request.slot()
        self.reactor = connection.reactor
        connection.put(frame, self, <uint32_t> slot, timeout, later, &submitted)
        request.host = host
        request.pool = pool
        request.connection = connection
        request.stream = submitted.stream
        request.started = <double> submitted.started / <double> SECOND
        self.enter(slot, request)
        return 0

    def _submit(
        self, InFlightRequest request not None, host, pool, ConnectionBase connection not None, bytes frame not None,
        timeout, bint later,
    ):
        self.submit_request(request, host, pool, connection, frame, timeout, later)

    def flush(self):
        """Send at once: no further request is coalesced."""
        if self.reactor is not None:
            self.reactor.flush()

    def _orphan(self, InFlightRequest request not None):
        cdef int64_t slot = request.slot()
        if self.find(slot) is not request or not request.connection.orphan(request.stream, self, slot):
            return False
        self.remove(slot)
        return True

    # ---- outcomes

    def take_outcomes(self, size_t most=0):
        cdef size_t end
        cdef CFrame used
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
            if self.held.at(self.at).attempt != NO_SLOT:  # else a wake-up
                self.take_outcome(self.held.at(self.at))
            used = move(self.held.at(self.at).frame)
            self.at += 1
        if end == self.held.size():
            self._has_outcomes = False
            self.core.give_back(move(self.held))

    cdef int take_outcome(self, Outcome& outcome) except -1:
        """Process one outcome. Override; here it is appended to ``ended``, with its request and the seconds of its
        arrival."""
        cdef InFlightRequest request = self.find(outcome.attempt)
        if request is not None:  # else forgotten meanwhile
            entry = (request, wrap_outcome(outcome), <double> outcome.arrived / <double> SECOND)
            self.remove(outcome.attempt)
            self.ended.append(entry)
        return 0

    @property
    def answered(self):
        return bool(self.ended) or bool(self.silent) or self._has_outcomes or self.core.ready()
