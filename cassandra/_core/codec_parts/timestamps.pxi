# Client-side timestamps, used by every write with a timestamp.

from libc.time cimport time_t

cdef extern from "<time.h>" nogil:
    ctypedef int clockid_t
    struct timespec:
        time_t tv_sec
        long tv_nsec
    clockid_t CLOCK_REALTIME
    int clock_gettime(clockid_t clock, timespec* now)


cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object d, object key)

import time

cdef dict time_names = time.__dict__
cdef str time_name = "time"
cdef void* real_time = native_function(time.time)


cdef inline bint time_is_real() noexcept:
    """True if time.time is the interpreter's own. Tests replace the function (freezegun) or its code (time-machine)."""
    cdef PyObject* found = PyDict_GetItemWithError(time_names, time_name)
    return found != NULL and is_native_function(found, real_time)


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
        if time_is_real():
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
