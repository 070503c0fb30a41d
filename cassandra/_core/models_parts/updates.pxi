# Updates of values of a row that are bound unmodified: one check of the instance, and the request.


cdef struct _Slot:
    PyTypeObject* kind  # class of the values; NULL: any
    Py_ssize_t place  # in a row
    Py_ssize_t bound  # index among the bound values


cdef _Slot slot_of(kind, Py_ssize_t place, Py_ssize_t bound):
    cdef _Slot slot
    if kind is not None and not isinstance(kind, type):
        raise TypeError(f"expected a class, got {kind!r}")
    slot.kind = NULL
    if kind is not None:
        slot.kind = <PyTypeObject*>kind
    slot.place = place
    slot.bound = bound
    return slot


cdef class RowUpdate(Plain):
    """Replaces the values of some columns in a row. Immutable."""

    cdef readonly InstanceLayout layout  # of the row that was written
    cdef tuple _columns
    cdef bint _as_usual  # instances of that layout have its columns unmodified
    cdef Untouched _usual
    cdef vector[_Slot] _given  # per value, in the order of the names
    cdef vector[_Slot] _key
    cdef vector[_Slot] _others
    cdef tuple _takes  # of the others: predicates that accept values of another class
    cdef tuple _kinds  # keeps the classes alive

    def __init__(
        self, model, shape, keyspace, ReadyStatements ready not None, Untouched usual not None,
        InstanceLayout layout not None, columns, given, key, others,
    ):
        Plain.__init__(self, model, shape, keyspace, ready)
        self._usual = usual
        self.layout = layout
        self._columns = tuple(columns)
        self._as_usual = layout.names == self._columns and not any(layout.converters)
        given, key, others = tuple(given), tuple(key), tuple(others)
        if sorted([bound for _, bound, _ in given]) != list(range(len(given))):
            raise ValueError(f"invalid places among the bound values: {[bound for _, bound, _ in given]}")
        places = [place for _, _, place in given]
        places += [place for _, place in key] + [place for _, place, _ in others]
        if any([not 0 <= place < len(self._columns) for place in places]):
            raise ValueError(f"invalid places in a row of {len(self._columns)} columns: {places}")
        self._kinds = tuple([one[0] for one in (*given, *key, *others)])
        self._takes = tuple([takes for _, _, takes in others])
        self._given.clear()  # __init__ may be called twice
        self._key.clear()
        self._others.clear()
        for kind, bound, place in given:
            self._given.push_back(slot_of(kind, place, bound))
        for number, (kind, place) in enumerate(key):
            self._key.push_back(slot_of(kind, place, len(given) + number))
        for kind, place, _ in others:
            self._others.push_back(slot_of(kind, place, -1))

    def bound(self, Instance instance not None, dict given not None):
        """Return ``(bound values, resulting row)``; None if the slow path is needed."""
        cdef tuple row = self.row_of(instance)
        cdef tuple bound = None if row is None else self.bound_of(row, given)
        return None if bound is None else (bound, self.changed(row, bound))

    def send(self, Instance instance not None, dict given not None):
        """Return the future of the request, and the resulting row; None if the slow path is needed. Once it was sent,
        the instance has the new values, also if the request fails."""
        cdef tuple row = self.row_of(instance) if self._usual.is_so() else None
        cdef tuple bound = None if row is None else self.bound_of(row, given)
        future = None if bound is None else self.request(bound, None)
        if future is None:
            return None
        instance.set_all(given)
        return future, self.changed(row, bound)

    cdef bint write(self, Instance instance, dict given) except -1:
        """As *send*, and wait. Return True if it was written, and the instance has the new row."""
        cdef tuple row = self.row_of(instance) if self._usual.is_so() else None
        cdef tuple bound = None if row is None else self.bound_of(row, given)
        future = None if bound is None else self.request(bound, None)
        if future is None:
            return False
        try:
            outcome = self.outcome(future)
        except BaseException:
            instance.set_all(given)
            raise
        if outcome is None:
            instance.set_all(given)
            return False
        instance.keep(self.layout, self.changed(row, bound))
        return True

    cdef tuple row_of(self, Instance instance):
        """Return the row as it was loaded or written; None if a value was set since."""
        if self._as_usual and instance._layout is self.layout and not instance._shared:
            return instance._row if instance.is_as_loaded() else None
        found = instance.as_loaded(self._columns)
        return None if found is None else tuple(<list>found)

    cdef tuple bound_of(self, tuple row, dict given):
        """Return the bound values, the key included; None if the slow path is needed."""
        cdef PyObject* name
        cdef PyObject* value
        cdef PyObject* rows = <PyObject*>row
        cdef _Slot slot
        cdef Py_ssize_t at = 0, step = 0
        cdef tuple made
        if <size_t>len(given) != self._given.size():
            raise ValueError(f"{len(given)} values for {self._given.size()} names")
        for at in range(<Py_ssize_t>self._key.size()):
            slot = self._key[at]
            if TYPE(GET_TUPLE(rows, slot.place)) != slot.kind:
                return None
        for at in range(<Py_ssize_t>self._others.size()):
            slot = self._others[at]
            value = GET_TUPLE(rows, slot.place)
            if TYPE(value) != slot.kind and not self._takes[at](<object>value):
                return None
        made = PyTuple_New(<Py_ssize_t>(self._given.size() + self._key.size()))
        for slot in self._key:
            set_item(made, slot.bound, GET_TUPLE(rows, slot.place))
        at = 0
        while PyDict_Next(given, &step, &name, &value):
            slot = self._given[at]
            set_item(made, slot.bound, value)  # keeps it alive while it is compared
            if TYPE(value) != slot.kind or not <object>GET_TUPLE(rows, slot.place) != <object>value:
                return None  # an equal value is not written; NaN is never equal
            at += 1
        return made

    cdef tuple changed(self, tuple row, tuple bound):
        """Return *row* with the values that were *bound* for it."""
        cdef _Slot slot
        cdef Py_ssize_t at
        cdef tuple made = PyTuple_New(len(row))
        for slot in self._given:
            set_item(made, slot.place, GET_TUPLE(<PyObject*>bound, slot.bound))
        for at in range(len(row)):
            if GET_TUPLE(<PyObject*>made, at) == NULL:
                set_item(made, at, GET_TUPLE(<PyObject*>row, at))
        return made


@cython.final
cdef class RowUpdates(WorkedOut):
    """The RowUpdate of models and names. No other component runs between its look-up and its request."""

    def write(self, Instance instance not None, dict given not None):
        return self.written(instance, given)

    cdef bint written(self, Instance instance, dict given) except -1:
        found = self.found(type(instance), given)
        return found is not None and (<RowUpdate?>found).write(instance, given)


# The updates of all models, called by ``Instance.update``. A Python method would cost 1,000 instructions more.
cdef RowUpdates row_updates = None


def set_row_updates(RowUpdates updates not None):
    global row_updates
    row_updates = updates
