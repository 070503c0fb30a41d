# Client-side timestamps, used by every write with a timestamp.

from libc.time cimport time_t

cdef extern from "<time.h>" nogil:
    ctypedef int clockid_t
    struct timespec:
        time_t tv_sec
        long tv_nsec
    clockid_t CLOCK_REALTIME
    int clock_gettime(clockid_t clock, timespec* now)


cdef extern from *:
    """
    // True if the function of that name is the interpreter's own. Tests replace it by another one (freezegun), or
    // replace its code (time-machine).
    static inline int fastcql_time_is_real(PyObject* names, PyObject* name, void* real) noexcept {
        PyObject* const found = PyDict_GetItemWithError(names, name);
        return found != nullptr && PyCFunction_CheckExact(found) &&
               reinterpret_cast<void*>(PyCFunction_GET_FUNCTION(found)) == real;
    }
    static inline void* fastcql_code_of(PyObject* function) noexcept {
        return PyCFunction_CheckExact(function) ? reinterpret_cast<void*>(PyCFunction_GET_FUNCTION(function)) : nullptr;
    }
    """
    bint fastcql_time_is_real(dict names, str name, void* real) noexcept
    void* fastcql_code_of(object function) noexcept

import time

cdef dict time_names = time.__dict__
cdef str time_name = "time"
cdef void* real_time = fastcql_code_of(time.time)


@cython.final
cdef class TimestampClock:
    """Strictly increasing microseconds since 1970. A call is atomic for all threads: the GIL is held."""

    def __reduce__(self):
        return _clock_after, (self.last,)

    def advance(self):
        return self.step()

    cdef int64_t step(self) except? -1:
        cdef timespec found
        cdef int64_t now
        if fastcql_time_is_real(time_names, time_name, real_time):
            clock_gettime(CLOCK_REALTIME, &found)
            now = <int64_t>found.tv_sec * 1000000 + found.tv_nsec // 1000
        else:
            now = int(time_names[time_name]() * 1000000)
        if now > self.last:
            self.last = now
            self.ahead = 0
        else:  # the clock stands still or went back
            self.last += 1
            self.ahead = self.last - now
        return self.last


def _clock_after(int64_t last):
    """Rebuild a copied or pickled clock."""
    cdef TimestampClock made = TimestampClock()
    made.last = last
    return made
