# The window of a host; see cpp/transport/host_window.h.

cdef extern from "transport/host_window.h" namespace "fastcql" nogil:
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
