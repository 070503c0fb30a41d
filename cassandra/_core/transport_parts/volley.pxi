# Flights: many compiled requests under one operation; the head of _session/concurrent/volley.py says who owns what.
#
# The results of a hundred thousand requests lie about until the last one is there, and the garbage collector would walk
# over all of them again and again, which was a third of the cost of the requests. Until they are handed over nobody else
# has a reference to one of them, so none can be in a cycle: only then is the collector told of them.

cdef extern from "Python.h":
    void PyObject_GC_Track(object untracked)
    void PyObject_GC_UnTrack(object tracked)
    bint PyObject_GC_IsTracked(object found)


cdef extern from *:
    """
    // ``tuple.__new__(kind, (True, result))`` for a kind of tuple, without the other tuple.
    static inline PyObject* fastcql_new_entry(PyTypeObject* kind, PyObject* result) {
        PyObject* const entry = kind->tp_alloc(kind, 2);
        if (entry == nullptr) return nullptr;
        Py_INCREF(Py_True);
        Py_INCREF(result);
        PyTuple_SET_ITEM(entry, 0, Py_True);
        PyTuple_SET_ITEM(entry, 1, result);
        return entry;
    }
    """
    object fastcql_new_entry(PyTypeObject* kind, PyObject* result)


cdef inline object new_entry(kind, Answer result):
    return fastcql_new_entry(<PyTypeObject*> kind, <PyObject*> result)


cdef inline void track(found) noexcept:
    if not PyObject_GC_IsTracked(found):
        PyObject_GC_Track(found)


cdef object handed_over(entry):
    """*entry*, an ``(success, result)`` that is somebody else's from now on."""
    result = (<tuple> entry)[1]
    cdef Answer answer
    if not PyObject_GC_IsTracked(entry):
        answer = <Answer> result
        if type(answer.rows) is list:
            track(answer.rows)
        track(answer._flight)
        track(answer)
        track(entry)
    return entry


NOTHING_ELSE = (1 << 32) - 1
cdef int64_t LAST_SLOT = NOTHING_ELSE
cdef enum:
    SEATS = 512  # a power of two


@cython.final
@cython.freelist(256)
cdef class Flight:
    """A request of a volley: all that is needed to go on with it by a future of its own."""

    cdef readonly object session
    cdef Lane lane
    cdef readonly int64_t index
    cdef readonly object frame
    cdef readonly object token
    cdef readonly object values
    cdef readonly object host
    cdef readonly object pool
    cdef readonly object connection
    cdef readonly int64_t stream
    cdef readonly double started
    cdef object results

    @property
    def compiled(self):
        return self.lane.compiled

    cdef int64_t slot(self) noexcept:
        return self.index % LAST_SLOT


cdef class Flights(Operation):
    """Requests in flight, and the results of those that came to plain rows or nothing."""

    cdef readonly object session
    cdef object pool_set  # of the session
    cdef list seats  # the flight of a slot, at its lower bits
    cdef dict others  # those that found their seats taken
    cdef Py_ssize_t count
    cdef Batch held  # outcomes that were taken, those before *at* are harvested
    cdef size_t at
    cdef readonly bint _holds
    cdef object reactor  # where its requests are
    cdef object result_type
    cdef object entry_type

    def __cinit__(self, *args, **kwargs):
        self.clear()

    cdef clear(self):
        self.seats = [None] * SEATS
        self.others = {}
        self.count = 0

    cdef Flight aloft(self, int64_t slot):
        found = self.seats[slot & (SEATS - 1)]
        if found is not None and (<Flight> found).slot() == slot:
            return <Flight> found
        return <Flight> self.others.get(slot) if self.others else None

    cdef take_off(self, int64_t slot, Flight flight):
        if self.seats[slot & (SEATS - 1)] is None:
            self.seats[slot & (SEATS - 1)] = flight
        else:
            self.others[slot] = flight
        self.count += 1

    cdef Flight land(self, int64_t slot):
        cdef Flight flight = self.aloft(slot)
        if flight is not None:
            if self.seats[slot & (SEATS - 1)] is flight:
                self.seats[slot & (SEATS - 1)] = None
            else:
                del self.others[slot]
            self.count -= 1
        return flight

    def _begin(self, session, type result_type not None, type entry_type not None):
        catch_up()
        self.session = session
        self.pool_set = session._pool_set
        self.result_type = result_type
        self.entry_type = entry_type

    @property
    def in_flight(self):
        return self.count

    def launch(self, Lane lane not None, int64_t index, values):
        return lane.fly(self, index, values)

    def launch_from(self, pairs, int64_t count, int64_t index, statement, Lane lane):
        cdef int64_t launched = 0
        while launched < count:
            try:
                given, values = next(pairs)
            except StopIteration:
                return launched, ()
            if lane is None or given is not statement:
                return launched, (given, values, None)
            try:
                if not lane.fly(self, index + launched, values):
                    return launched, (given, values, None)
            except Exception as error:
                return launched, (given, values, error)
            launched += 1
        return launched, None

    def send(self):
        """Now, without waiting for company: there is none to come."""
        if self.reactor is not None:
            self.reactor.send_unsent()

    def _harvest(self, dict results not None, failed, go_on, size_t most=0):
        cdef size_t end
        cdef int64_t slot
        cdef Flight flight
        cdef Answer answer
        if self.enter_process():
            self._holds = False
        if not self._holds:
            if not self.core.take_all(&self.held):
                return
            self._holds = True
            self.at = 0
            drop_references(self, self.held.references)
        end = self.held.size()
        if most and self.at + most < end:
            end = self.at + most
        while self.at < end:
            slot = self.held.at(self.at).attempt
            self.at += 1
            if slot == LAST_SLOT:
                continue
            flight = self.land(slot)
            if flight is None:  # forgotten meanwhile
                continue
            outcome = wrap_outcome(self.held.at(self.at - 1))
            if type(outcome) is Frame:
                try:
                    plain = flight.results.plain(
                        outcome, header_of(<Frame> outcome), flight.lane.result_plan, flight.lane.row_factory
                    )
                except Exception as error:
                    if not isinstance(error, error_class("ProtocolError")):  # a row factory: of this request only
                        failed(flight.index, error)
                        continue
                    plain = None  # to be read again, and reported
                if plain is not None:
                    answer = new_object(self.result_type)
                    rows = (<tuple> plain)[0]
                    answer._flight = flight
                    answer.rows = [] if rows is None else rows
                    answer._kept = (<tuple> plain)[2]
                    answer._plan = None if rows is None else flight.lane.result_plan
                    answer._paging_state = (<tuple> plain)[1]
                    entry = new_entry(self.entry_type, answer)
                    if type(answer.rows) is list:
                        PyObject_GC_UnTrack(answer.rows)
                    PyObject_GC_UnTrack(flight)
                    PyObject_GC_UnTrack(answer)
                    PyObject_GC_UnTrack(entry)
                    results[flight.index] = entry
                    continue
            go_on(flight, outcome)
        if end == self.held.size():
            self._holds = False
            self.core.give_back(move(self.held))

    def _flight(self, slot):
        return self.aloft(slot)

    def _forget(self, slot=None):
        if slot is None:
            self.clear()
        else:
            self.land(slot)


def hand_over(dict results not None, int64_t count):
    cdef int64_t index
    return [handed_over(results[index]) for index in range(count)]


def hand_over_one(dict results not None, int64_t index):
    return handed_over(results.pop(index))
