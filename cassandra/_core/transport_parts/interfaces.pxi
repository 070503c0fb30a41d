# Interfaces of upper layers: abstract classes that upper layers implement and native code calls. A cpdef method looks
# up the override of a subclass by name, only here; fields are in C. Native code uses no other name of an upper layer:
# tests/test_native_attributes.py checks it. SessionFields and similar classes are in routing.pxd.


cdef class ConnectionBase:
    cdef public object dialect
    cdef public object results  # decodes responses
    cdef public object reactor
    cdef public Channel channel  # None before it is open
    cdef public Channel direct  # the channel if it takes frames unmodified; None: submit() transforms them
    cdef public int orphaned_threshold

    def __cinit__(self, *args, **kwargs):
        self.orphaned_threshold = INT_MAX

    cpdef object submit(self, frame, Operation operation, attempt=0, timeout=None, later=False):
        raise NotImplementedError

    cpdef object orphan(self, stream, Operation operation, attempt=0):
        raise NotImplementedError

    cdef bint closed(self) noexcept:
        return self.channel is not None and self.channel.core.closed()


cdef class RequestHooks:
    cpdef object send(self, Request request, int64_t page):
        raise NotImplementedError

    cpdef object send_to(self, Request request, Target target, int64_t page):
        raise NotImplementedError

    cpdef object look(self, Request request):
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


cdef class PageObserver:
    cpdef object page_ended(self, Request request, error, double elapsed):
        raise NotImplementedError
