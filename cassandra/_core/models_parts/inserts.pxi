# Inserts of rows whose values are bound unmodified.


cdef class RowInsert(Plain):
    """Inserts a row with values of some columns, which are bound unmodified, and of others that are made. Immutable."""

    cdef InstanceLayout _layout
    cdef Untouched _usual
    cdef ExactKinds _exact
    cdef tuple _made  # name, index among the bound values, class, factory
    cdef tuple _left  # predicates: true if a column may be left without a value
    cdef tuple _places  # per column, the index of its value among the bound values; None: it has none
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
            raise ValueError(f"places {taken} are out of range for {exact._count} values")

    def defaults(self):
        """Make values for the columns that are not given; once per row, because applications may count the calls."""
        return {name: make() for name, _, _, make in self._made}

    def bound(self, dict given not None, dict made not None):
        """Return the bound values, from *given* and *made*; None if the slow path is needed."""
        return self.bound_of(given, made)

    def send(self, dict given not None, dict made not None):
        """Return the future of the request, and the bound values; None if the slow path is needed."""
        bound = self.bound_of(given, made)
        future = None if bound is None else self.request(bound, None)
        return None if future is None else (future, bound)

    def write(self, dict given not None, dict made not None):
        """As *send*, and wait. Return the instance of the row that was written, or None."""
        bound = self.bound_of(given, made)
        future = None if bound is None else self.request(bound, None)
        if future is None or self.outcome(future) is None:
            return None
        return self.written_of(bound)

    def written(self, list bound not None):
        """Return the instance of a row that was written."""
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
