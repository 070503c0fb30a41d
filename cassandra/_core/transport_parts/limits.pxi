# Limits on requests in flight that channels share, see cpp/transport/limits.h; and the admission queue of requests that
# wait at a full limit, see _session/request/admission.py.


cdef class Limit:
    """At most *maximum* requests in flight over all channels that have it, and within the limits above it."""

    cdef Ref[CLimit] core
    cdef readonly Limit parent
    cdef Operation waiter

    def __init__(self, int maximum, Operation waiter not None, Limit parent=None):
        if maximum < 1:
            raise ValueError(f"maximum must be at least 1, got {maximum}")
        cdef Ref[CLimit] above
        if parent is not None:
            above = parent.core
        self.parent = parent
        self.waiter = waiter
        self.core = Ref[CLimit].adopt(new CLimit(maximum, above))

    def wait(self):
        cdef Limit limit = self
        cdef Wait wait
        while limit is not None:
            Py_INCREF(limit.waiter)
            wait = limit.core.get().wait(&limit.waiter.core)
            if wait != Wait.Armed:
                Py_DECREF(limit.waiter)
            if wait != Wait.Room:
                return True
            limit = limit.parent
        return False

    def end_queue(self):
        self.core.get().end_queue()

    @property
    def maximum(self):
        return self.core.get().maximum()

    @property
    def in_flight(self):
        return self.core.get().in_flight()

    def __repr__(self):
        above = "" if self.parent is None else f", {self.parent!r}"
        return f"{self.in_flight} of {self.maximum}{above}"


cdef enum EntryState:
    ENTRY_NEW
    ENTRY_QUEUED
    ENTRY_HELD_UP
    ENTRY_REFUSED
    ENTRY_LEFT

NEW = <int> ENTRY_NEW
QUEUED = <int> ENTRY_QUEUED
HELD_UP = <int> ENTRY_HELD_UP
REFUSED = <int> ENTRY_REFUSED
LEFT = <int> ENTRY_LEFT


cdef class AdmissionEntry:
    """State of a request in an :class:`AdmissionQueue`. Only the queue's methods change it."""

    cdef EntryState current
    cdef readonly int64_t number

    @property
    def state(self):
        return <int> self.current


cdef class AdmissionQueue:
    """Counts requests that wait for room, and keeps the changes that the I/O thread has not read.

    Each method is one native section: a signal handler runs before it or after it."""

    cdef Reactor reactor
    cdef object on_change
    cdef list changes
    cdef Py_ssize_t taken
    cdef readonly Py_ssize_t held_up
    cdef int64_t next_number
    cdef bint notified

    def __init__(self, on_change):
        self.on_change = on_change
        self.changes = []

    def __len__(self):
        return self.taken

    cdef bint notify(self) noexcept:
        """Have the I/O thread call *on_change*. Return False if it was stopped, or is the parent's."""
        if not self.notified:
            if self.reactor is None or self.reactor.core.foreign():
                return False
            Py_INCREF(self.on_change)
            if not self.reactor.core.call_soon(<void*> self.on_change):
                Py_DECREF(self.on_change)
                return False
            self.notified = True
        return True

    def enter(self, AdmissionEntry entry not None, Py_ssize_t most, bint may_be_held_up, Reactor reactor not None):
        with cython.critical_section(self):
            self.reactor = reactor
            if entry.current != ENTRY_NEW or not self.notify():
                return False
            self.changes.append(entry)
            entry.number = self.next_number
            self.next_number += 1
            if self.taken < most and self.held_up == 0:
                entry.current = ENTRY_QUEUED
                self.taken += 1
            elif may_be_held_up:
                entry.current = ENTRY_HELD_UP
                self.held_up += 1
            else:
                entry.current = ENTRY_REFUSED
        return True

    def leave(self, AdmissionEntry entry not None):
        with cython.critical_section(self):
            if entry.current == ENTRY_QUEUED:
                self.taken -= 1
            elif entry.current == ENTRY_HELD_UP:
                self.held_up -= 1
            else:
                return False
            entry.current = ENTRY_LEFT
            self.changes.append(entry)
            self.notify()
        return True

    def admit(self, AdmissionEntry entry not None, Py_ssize_t most):
        with cython.critical_section(self):
            if entry.current != ENTRY_HELD_UP or self.taken >= most:
                return False
            entry.current = ENTRY_QUEUED
            self.held_up -= 1
            self.taken += 1
        return True

    def close(self):
        """Drop the reference to the reactor, which the queue would keep alive."""
        cdef Reactor reactor
        with cython.critical_section(self):
            reactor, self.reactor = self.reactor, None

    def take_changes(self):
        cdef list changes, none = []
        with cython.critical_section(self):
            self.notified = False
            changes, self.changes = self.changes, none
        return changes
