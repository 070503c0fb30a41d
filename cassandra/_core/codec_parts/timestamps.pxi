# Client-side timestamps: what every write with a timestamp asks for.

from libc.time cimport time_t

cdef extern from "<time.h>" nogil:
    ctypedef int clockid_t
    struct timespec:
        time_t tv_sec
        long tv_nsec
    clockid_t CLOCK_REALTIME
    int clock_gettime(clockid_t clock, timespec* now)


@cython.final
cdef class TimestampClock:
    """Microseconds since 1970, each call a later one. A call is one step for all threads: the GIL is held."""

    def __reduce__(self):
        return _clock_after, (self.last,)

    def advance(self):
        return self.step()

    cdef int64_t step(self) noexcept:
        cdef timespec found
        clock_gettime(CLOCK_REALTIME, &found)
        cdef int64_t now = <int64_t>found.tv_sec * 1000000 + found.tv_nsec // 1000
        if now > self.last:
            self.last = now
            self.ahead = 0
        else:  # the clock stands still or went back
            self.last += 1
            self.ahead = self.last - now
        return self.last


def _clock_after(int64_t last):
    """One that was copied."""
    cdef TimestampClock made = TimestampClock()
    made.last = last
    return made
