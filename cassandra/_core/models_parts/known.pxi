# Precomputed objects, and the checks that they are still valid: the first steps of a call.


@cython.final
cdef class Untouched:
    """Checks that some methods of a class and of its objects have not been replaced since this was made."""

    cdef type _kind
    cdef tuple _names
    cdef tuple _methods
    cdef unsigned int _state  # version of the class in which it had these methods; 0: not known

    def __init__(self, type kind not None, names):
        self._kind = kind
        self._names = tuple([intern_name(name) for name in names])
        self._methods = tuple([getattr(kind, name) for name in self._names])

    def holds(self):
        """True if the class still has these methods."""
        return self.is_so()

    def of(self, one):
        """True if *one* is of exactly this class, and it and the class still have these methods."""
        return type(one) is self._kind and self.is_of(getattr(one, "__dict__", None))

    cdef bint is_of(self, own) except -1:
        """True if an object of the class with these attributes still has the methods."""
        if own:
            for name in self._names:
                if name in <dict?>own:
                    return False
        return self.is_so()

    cdef bint is_so(self) except -1:
        cdef Py_ssize_t at
        if self._state != 0 and self._state == state_of_class(self._kind):
            return True
        for at in range(len(self._names)):
            if getattr(self._kind, self._names[at]) is not self._methods[at]:
                return False
        self._state = state_of_class(self._kind)
        return True


cdef class _Known:
    """The precomputed object for the keywords of a call. Immutable."""

    cdef tuple names
    cdef object found


@cython.final
cdef class ByNames:
    """Precomputed objects for calls, by the names of the keywords in their order. Applications repeat the same call, so
    the names of the last call are compared before a look-up. Under the GIL; objects that two threads add at the same
    time are equal."""

    cdef dict _known
    cdef _Known _last
    cdef Py_ssize_t _most

    def __init__(self, Py_ssize_t most):
        self._known = {}
        self._most = most

    cpdef find(self, dict given):
        """Return the object that was added for these names; None if there is none."""
        cdef PyObject* name
        cdef PyObject* value
        cdef Py_ssize_t step = 0, at = 0
        cdef _Known last = self._last
        if last is not None and len(given) == len(last.names):
            while PyDict_Next(given, &step, &name, &value):
                if name != GET_TUPLE(<PyObject*>last.names, at):
                    break
                at += 1
            else:
                return last.found
        last = self._known.get(tuple(given))
        if last is None:
            return None
        self._last = last
        return last.found

    def add(self, dict given not None, found):
        """Keep *found* for these names, and return it."""
        cdef _Known known = _Known.__new__(_Known)
        known.names = tuple(given)
        known.found = found
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[known.names] = known
        self._last = known
        return found


@cython.final
cdef class _OfClass:
    """The objects that a class keeps for all keywords. One object, so that a thread never reads a part of another
    thread's update."""

    cdef unsigned int state  # version of the class, which no other class ever has
    cdef ByNames known


cdef class WorkedOut:
    """Precomputed objects for models and the keywords of a call. A model keeps them, in its ``_shapes``, until an
    attribute of it is set. Each has the default *keyspace* that it was computed for."""

    cdef object _kind
    cdef dict _settings
    cdef object _work_out
    cdef _OfClass _last  # of the last call; None: to be looked up

    def __init__(self, kind, dict settings not None, work_out):
        self._kind = kind
        self._settings = settings
        self._work_out = work_out

    def find(self, model, dict given not None):
        return self.found(model, given)

    cdef object found(self, model, dict given):
        cdef ByNames known = self.known_of(model)
        found = None if known is None else known.find(given)
        if found is None:
            self._last = None  # another object may be kept from now on
            return self._work_out(model, given)
        if found is _missing:
            return None
        if (<Plain?>found).keyspace is not self._settings["DEFAULT_KEYSPACE"]:
            return self._work_out(model, given)
        return found

    cdef ByNames known_of(self, model):
        """Return the objects that *model* keeps for all keywords, or None."""
        cdef _OfClass last = self._last
        if last is not None and last.state == state_of_class(model):
            return last.known
        known = (<dict?>model._shapes).get(self._kind)
        if known is not None and state_of_class(model) != 0:
            last = _OfClass.__new__(_OfClass)
            last.state = state_of_class(model)
            last.known = known
            self._last = last
        return known

    def keep(self, known, dict given not None, found):
        """Keep *found* for these keywords and return it; None if there is no object for them."""
        (<ByNames?>known).add(given, _missing if found is None else found)
        return found
