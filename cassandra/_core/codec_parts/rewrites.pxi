# How values of a row are replaced where they are bound as they are: one look at the instance, and what is sent.


@cython.final
cdef class RowRewrite:
    """Values by some names take the place of others in a row. Immutable."""

    cdef tuple _columns
    cdef InstanceLayout _usual  # with these columns, read as they came
    cdef tuple _given  # per value, in the order of the names: its class, its place among what is bound, and in a row
    cdef tuple _key  # per column of the key: its class, its place in a row
    cdef tuple _others  # per other column: its class, its place in a row, and what tells whether another value will do

    def __init__(self, columns, given, key, others, InstanceLayout usual=None):
        self._columns = tuple(columns)
        if usual is not None and usual.names == self._columns and not any(usual.converters):
            self._usual = usual
        self._given = tuple(given)
        self._key = tuple(key)
        self._others = tuple(others)
        if sorted([bound for _, bound, _ in self._given]) != list(range(len(self._given))):
            raise ValueError(f"places among what is bound: {[bound for _, bound, _ in self._given]}")
        places = [place for _, _, place in self._given]
        places += [place for _, place in self._key] + [place for _, place, _ in self._others]
        if any([not 0 <= place < len(self._columns) for place in places]):
            raise ValueError(f"places in a row of {len(self._columns)}: {places}")

    def bound(self, Instance instance not None, dict given not None):
        """``(what is bound, the row that will be)``; None where there is more to it."""
        cdef list row, bound
        cdef Py_ssize_t count = len(self._given), at = 0, place
        if self._usual is not None and instance._layout is self._usual and not instance._shared:
            row = list(instance._row) if instance.is_as_loaded() else None
        else:
            row = instance.as_loaded(self._columns)
        if row is None:
            return None
        if len(given) != count:
            raise ValueError(f"{len(given)} values for {count} names")
        bound = [None] * (count + len(self._key))
        for value in given.values():
            kind, index, _ = <tuple>self._given[at]
            if type(value) is not kind:
                return None
            place = index
            bound[place] = value
            at += 1
        for kind, index, takes in self._others:
            value = row[<Py_ssize_t>index]
            if type(value) is not kind and not takes(value):
                return None
        for kind, index in self._key:
            value = row[<Py_ssize_t>index]
            if type(value) is not kind:
                return None
            bound[count] = value
            count += 1
        for _, index, place_in_row in self._given:
            value = bound[<Py_ssize_t>index]
            place = place_in_row
            if not row[place] != value:  # what is the same is not written; NaN never is
                return None
            row[place] = value
        return tuple(bound), tuple(row)
