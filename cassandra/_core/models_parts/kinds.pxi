# Values that are bound unmodified if they are of the expected class.


@cython.final
cdef class ExactKinds:
    """Binds values unmodified if they are of exactly these classes; has the index of each."""

    cdef tuple _kinds
    cdef tuple _places
    cdef Py_ssize_t _count

    def __init__(self, kinds, places, Py_ssize_t count):
        self._kinds = tuple(kinds)
        self._places = tuple(places)
        self._count = count
        if len(self._kinds) != len(self._places) or any([not 0 <= place < count for place in self._places]):
            raise ValueError(f"{len(self._kinds)} classes do not fit the places {self._places} of {count}")

    def bound(self, dict given not None):
        """Return a list of the bound values, None where no value was given; None if a value is of another class."""
        return self.bound_of(given)

    cdef list bound_of(self, dict given):
        cdef Py_ssize_t at = 0, place
        cdef list found
        if len(given) != len(self._kinds):
            raise ValueError(f"{len(given)} values for {len(self._kinds)} classes")
        found = [None] * self._count
        for value in given.values():
            if type(value) is not self._kinds[at]:
                return None
            place = self._places[at]
            found[place] = value
            at += 1
        return found

    cpdef tuple bound_with(self, dict given, last):
        """Return ``(bound values, values at their indexes)``: *last* is bound after these. None if a value is of
        another class."""
        cdef list found = self.bound_of(given)
        if found is None:
            return None
        known = tuple(found)
        found.append(last)
        return tuple(found), known
