# New rows.


@cython.final
cdef class ExactKinds:
    """Values that are bound as they are, if they are of these classes: at which place each is bound."""

    cdef tuple _kinds
    cdef tuple _places
    cdef Py_ssize_t _count

    def __init__(self, kinds, places, Py_ssize_t count):
        self._kinds = tuple(kinds)
        self._places = tuple(places)
        self._count = count
        if len(self._kinds) != len(self._places) or any([not 0 <= place < count for place in self._places]):
            raise ValueError(f"{len(self._kinds)} classes for the places {self._places} of {count}")

    def bound(self, dict given not None):
        """A list of what is bound, None where nothing was given; None if a value is of another class."""
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
        """``(what is bound, the values at their places)``: *last* is bound after these. None if a value is of another
        class."""
        cdef list found = self.bound_of(given)
        if found is None:
            return None
        known = tuple(found)
        found.append(last)
        return tuple(found), known




cdef class RowInsert(Plain):
    """A new row with values of some columns, which are bound as they are, and of others that are made. Immutable."""

    cdef InstanceLayout _layout
    cdef Untouched _usual
    cdef ExactKinds _exact
    cdef tuple _made  # name, place among what is bound, class, what makes it
    cdef tuple _left  # what tells whether a column may be left without a value
    cdef tuple _places  # per column, where its value is among what is bound; None: it has none
    cdef bint _complete

    def __init__(
        self, model, shape, keyspace, ReadyStatements ready not None, Untouched usual not None,
        InstanceLayout layout not None, ExactKinds exact not None, made, left, places,
    ):
        Plain.__init__(self, model, shape, keyspace, ready)
        self._usual = usual
        self._layout = layout
        self._exact = exact
        self._made = tuple(made)
        self._left = tuple(left)
        self._places = tuple(places)
        self._complete = self._places == tuple(range(exact._count))
        taken = [place for _, place, _, _ in self._made] + [place for place in self._places if place is not None]
        if any([not 0 <= place < exact._count for place in taken]):
            raise ValueError(f"places {taken} among {exact._count} values")

    def defaults(self):
        """Values that are not given, made anew: once per row, as programs count them."""
        return {name: make() for name, _, _, make in self._made}

    def bound(self, dict given not None, dict made not None):
        """What is bound, also of what was *made*; None where there is more to do."""
        return self.bound_of(given, made)

    def send(self, dict given not None, dict made not None):
        """The future of the request, and what was bound; None where there is more to do."""
        bound = self.bound_of(given, made)
        future = None if bound is None else self.request(bound, None)
        return None if future is None else (future, bound)

    def write(self, dict given not None, dict made not None):
        """As *send*, and waits. The instance of the row that was written, or None."""
        bound = self.bound_of(given, made)
        future = None if bound is None else self.request(bound, None)
        if future is None or self.outcome(future) is None:
            return None
        return self.written_of(bound)

    def written(self, list bound not None):
        """The instance of a row that was written."""
        return self.written_of(bound)

    cdef list bound_of(self, dict given, dict made):
        cdef list bound = self._exact.bound_of(given) if self._usual.is_so() else None
        if bound is None:
            return None
        for name, place, kind, _ in self._made:
            value = made[name]
            bound[<Py_ssize_t>place] = value
            if type(value) is not kind:
                return None
        for may_be_left in self._left:
            if not may_be_left():
                return None
        return bound

    cdef object written_of(self, list bound):
        row = tuple(bound) if self._complete else tuple([None if at is None else bound[at] for at in self._places])
        return new_loaded(self.model, self._layout, row, ())
