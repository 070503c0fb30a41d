# Reads of the row with some values.


cdef class RowRead(Plain):
    """Reads the row with some values, which are bound unmodified, and *last* after them."""

    cdef readonly tuple names
    cdef ExactKinds _exact
    cdef object _last
    cdef object _row_factory
    cdef _Columns _columns

    def __init__(
        self, model, shape, keyspace, ReadyStatements ready not None, names, ExactKinds exact not None, last, row_factory
    ):
        Plain.__init__(self, model, shape, keyspace, ready)
        self.names = tuple(names)
        self._exact = exact
        self._last = last
        self._row_factory = row_factory
        self._columns = _Columns.__new__(_Columns)
        check_model(model)

    def send(self, dict given not None):
        """Return the future of a request for the row with these values, and the values as they are read; None if the
        slow path, a query set, is needed, also to report an error."""
        cdef tuple found = self.bound_of(given)
        future = None if found is None else self.request(found[0], self._row_factory)
        return None if future is None else (future, found[1])

    cdef object read(self, dict given):
        """As *send*, and wait. Return the instance, or None."""
        cdef tuple found = self.bound_of(given)
        cdef tuple outcome
        future = None if found is None else self.request(found[0], self._row_factory)
        if future is None:
            return None
        outcome = self.outcome(future)
        return None if outcome is None else self.only_one_of(rows_of(outcome), (<tuple>outcome[2])[0], found[1])

    def only_one(self, result, tuple known not None):
        """Return the instance of a result of one row."""
        return self.only_one_of(result._current_rows, result._plan, known)

    cdef tuple bound_of(self, dict given):
        cdef tuple found = self._exact.bound_with(given, self._last)
        return self._converted(given) if found is None else found

    cdef object only_one_of(self, rows, plan, tuple known):
        cdef _Columns columns = self._columns
        if columns.plan is not plan:
            columns = _Columns.__new__(_Columns)
            columns.plan = plan
            columns.layout = self._layout_of(plan.names)
            self._columns = columns
        if type(rows) is list and len(<list>rows) == 1:
            row = (<list>rows)[0]
            if type(row) is tuple and len(<tuple>row) + len(known) == len(columns.layout.names):
                return loaded_of(self.model, columns.layout, row, known)
        return self._several(load_instances(self.model, columns.layout, list(rows), known), known)

    def _converted(self, dict given):
        """Override. Return ``(bound values, values as they are read)`` for values of other classes; None if the slow
        path is needed."""

    def _layout_of(self, names):
        """Override. Return the layout of rows of columns of these names."""
        raise NotImplementedError

    def _several(self, instances, known):
        """Override. Return the result for *instances*, which are none or several."""
        raise NotImplementedError


@cython.final
cdef class _Columns:
    """The layout of the rows of a result. One object, so that a thread never reads a part of another thread's
    update."""

    cdef object plan
    cdef InstanceLayout layout


@cython.final
cdef class RowReads(WorkedOut):
    """The RowRead of models and names. No other component runs between its look-up and its request."""

    def read(self, model, dict given not None):
        found = self.found(model, given)
        return None if found is None else (<RowRead?>found).read(given)
