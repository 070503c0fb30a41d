# What is asked on the short way from a model to its request: whether everything is as it is nearly always.

cdef extern from *:
    """
    // Which state of a class this is: another one when an attribute of it or of a base was set. 0: Python does not say.
    static inline unsigned int state_of_class(PyObject* kind) {
        PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(kind);
        return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag : 0;
    }
    """
    unsigned int state_of_class(object kind)

cdef extern from "Python.h":
    bint PyDict_Next(dict d, Py_ssize_t* step, PyObject** key, PyObject** value)


@cython.final
cdef class Untouched:
    """A class of which, and of whose objects, nobody has replaced some methods since this was made."""

    cdef type _kind
    cdef tuple _names
    cdef tuple _methods
    cdef unsigned int _state  # in which it had these methods; 0: not known

    def __init__(self, type kind not None, names):
        self._kind = kind
        self._names = tuple([intern_name(name) for name in names])
        self._methods = tuple([getattr(kind, name) for name in self._names])

    def holds(self):
        """Whether the class has these methods still."""
        return self.is_so()

    def of(self, one):
        """Whether *one* is of the class itself, which has these methods still, and so has *one*."""
        return type(one) is self._kind and self.is_of(getattr(one, "__dict__", None))

    cdef bint is_of(self, own) except -1:
        """Whether an object of the class with these attributes has the methods still."""
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
    """What was found for the keywords of a call. Immutable."""

    cdef tuple names
    cdef object found


@cython.final
cdef class ByNames:
    """What was worked out for the keywords of calls, each by their names in their order. Programs make the same call
    again and again: the names of the last one are compared before any is looked up. Under the GIL; what two threads
    add at once is equal."""

    cdef dict _known
    cdef _Known _last
    cdef Py_ssize_t _most

    def __init__(self, Py_ssize_t most):
        self._known = {}
        self._most = most

    cpdef find(self, dict given):
        """What was added for these names; None if nothing was."""
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
        """Remember *found* for these names, which is returned."""
        cdef _Known known = _Known.__new__(_Known)
        known.names = tuple(given)
        known.found = found
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[known.names] = known
        self._last = known
        return found


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

    def bound_with(self, dict given not None, last):
        """``(what is bound, the values at their places)``: *last* is bound after these. None if a value is of another
        class."""
        cdef list found = self.bound(given)
        if found is None:
            return None
        known = tuple(found)
        found.append(last)
        return tuple(found), known


@cython.final
cdef class ReadyStatements:
    """Sends what was prepared for sessions, by shapes of statements: a session has it under *key*."""

    cdef Untouched _usual
    cdef object _key

    def __init__(self, Untouched usual not None, key):
        self._usual = usual
        self._key = key

    def send(self, dict registry not None, name, shape, values, row_factory=None):
        """The future of ``execute_async``, with rows by *row_factory*, of what was prepared for the session of the
        connection *name*. None where that is not connected, or its session not *usual*, or nothing was prepared, or for a
        table that is another one since."""
        connection = registry.get(name)
        if connection is None or connection.lazy_connect:
            return None
        session = connection.session
        if type(session) is not self._usual._kind:
            return None
        own = session.__dict__
        if not self._usual.is_of(own):
            return None
        prepared = (<dict?>own).get(self._key)
        statement = None if prepared is None else (<dict?>prepared.statements).get(shape)
        if statement is None or statement._outdated is not None:
            return None
        lane = statement._compiled.lane
        future = None if lane is None else lane.send_usual(session, statement, values, row_factory)
        if future is None:
            future = session.execute_async(statement, values)
            if row_factory is not None:
                future.row_factory = row_factory
        return future


@cython.final
cdef class WorkedOut:
    """What was worked out for models and the keywords of a call. A model keeps it, in its ``_shapes``, until something is
    set on it; what was worked out has the default *keyspace* that it is for."""

    cdef object _kind
    cdef dict _settings
    cdef object _work_out

    def __init__(self, kind, dict settings not None, work_out):
        self._kind = kind
        self._settings = settings
        self._work_out = work_out

    def find(self, model, dict given not None):
        cdef dict shapes = model._shapes
        known = shapes.get(self._kind)
        found = None if known is None else (<ByNames?>known).find(given)
        if found is None:
            return self._work_out(model, given)
        if found is _missing:
            return None
        return found if found.keyspace is self._settings["DEFAULT_KEYSPACE"] else self._work_out(model, given)

    def keep(self, known, dict given not None, found):
        """For these keywords; None, where there is nothing to work out."""
        (<ByNames?>known).add(given, _missing if found is None else found)
        return found
