# Requests of the mapper: whether methods are unmodified, prepared statements, and reads of one row.


@cython.final
cdef class UnmodifiedMethods:
    """Checks that some methods of a class and of its objects have not been replaced since this was made."""

    cdef type _kind
    cdef tuple _names
    cdef tuple _methods
    cdef atomic[unsigned int] _state  # version of the class in which it had these methods; 0: not known

    def __init__(self, type kind not None, names):
        self._kind = kind
        self._names = tuple([intern_name(name) for name in names])
        self._methods = tuple([getattr(kind, name) for name in self._names])

    def holds(self):
        """True if the class still has these methods."""
        return self.holds_now()

    def of(self, one):
        """True if *one* is of exactly this class, and it and the class still have these methods."""
        return type(one) is self._kind and self.holds_for(getattr(one, "__dict__", None))

    cdef bint holds_for(self, own) except -1:
        """True if an object of the class with these attributes still has the methods."""
        if own:
            for name in self._names:
                if name in <dict?>own:
                    return False
        return self.holds_now()

    cdef bint holds_now(self) except -1:
        cdef Py_ssize_t at
        cdef unsigned int state = state_of_class(self._kind)  # before the methods: another thread may replace one
        if state != 0 and state == self._state.load():
            return True
        for at in range(len(self._names)):
            if getattr(self._kind, self._names[at]) is not self._methods[at]:
                return False
        self._state.store(state)
        return True


cdef class _CallEntry:
    """The precomputed object for the keywords of a call. Immutable."""

    cdef tuple names
    cdef object found


cdef extern from *:
    """
    #define fastcql_last_known_of(one) FASTCQL_FIELD(one, _last)
    #define fastcql_plans_of(one) FASTCQL_FIELD(one, _plans)
    #define fastcql_columns_of(one) FASTCQL_FIELD(one, _columns)
    """
    PyObject** last_known_of "fastcql_last_known_of"(KeywordCache one)
    PyObject** plans_of "fastcql_plans_of"(PreparedEntry one)
    PyObject** columns_of "fastcql_columns_of"(RowRead one)


@cython.final
cdef class KeywordCache:
    """Precomputed objects for calls, by the names of the keywords in their order. Applications repeat the same call, so
    the names of the last call are compared before a look-up. Objects that two threads add at the same time are
    equal."""

    cdef dict _known
    cdef _CallEntry _last
    cdef Py_ssize_t _most

    def __init__(self, Py_ssize_t most):
        self._known = {}
        self._most = most

    cpdef find(self, dict given):
        """Return the object that was added for these names; None if there is none."""
        cdef PyObject* name
        cdef PyObject* value
        cdef Py_ssize_t step = 0, at = 0
        cdef _CallEntry last = load_reference(last_known_of(self))
        if last is not None and len(given) == len(last.names):
            while PyDict_Next(given, &step, &name, &value):
                if name != GET_TUPLE(<PyObject*>last.names, at):
                    break
                at += 1
            else:
                return last.found
        last = get_value(self._known, tuple(given), None)
        if last is None:
            return None
        store_reference(last_known_of(self), last)
        return last.found

    def add(self, dict given not None, found):
        """Keep *found* for these names, and return it."""
        cdef _CallEntry known = _CallEntry.__new__(_CallEntry)
        known.names = tuple(given)
        known.found = found
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[known.names] = known
        store_reference(last_known_of(self), known)
        return found


# ---- from a shape of a statement to its request and the outcome


cdef class PreparedEntry:
    """A prepared statement and the cache of its execute plans."""

    cdef readonly object statement
    cdef PlanCache _plans

    def __init__(self, statement, PlanCache plans not None):
        self.statement = statement
        store_reference(plans_of(self), plans)

    @property
    def plans(self):
        return load_reference(plans_of(self))

    @plans.setter
    def plans(self, PlanCache plans not None):
        store_reference(plans_of(self), plans)

    cpdef bint is_ready(self) except -1:
        """Override. Set *plans* to the statement's present cache. Return False if the statement is outdated."""
        raise NotImplementedError


cdef class Statements:
    """Prepared statements of one session, PreparedEntry by shape."""

    cdef readonly dict statements

    def __cinit__(self):
        self.statements = {}


cdef class ConnectionFields:
    """Base of connections."""

    cdef public object _ready


@cython.final
cdef class ReadyStatements:
    """Sends statements that are prepared in their session, by shape; a session has them under *key*."""

    cdef UnmodifiedMethods _unmodified
    cdef object _key
    cdef dict _connections
    cdef object _default
    cdef dict _settings
    cdef object _execute

    def __init__(
        self, UnmodifiedMethods unmodified not None, key, dict connections not None, default, dict settings not None,
    ):
        self._unmodified = unmodified
        self._key = key
        self._connections = connections
        self._default = default
        self._settings = settings
        self._execute = settings["execute"]

    def send(self, name, shape, values, row_factory=None):
        """See ``submit``."""
        return self.submit(name, shape, values, row_factory)

    cdef object submit(self, name, shape, values, row_factory):
        """Return the future of ``execute_async``, with rows by *row_factory*, of the statement prepared for the session
        of the connection *name*. None if the slow path is needed: the executing function was replaced, the connection
        is not connected, its session is not an unmodified one, no statement is prepared, or only for a table that has
        been replaced since, or the values cannot be bound."""
        cdef Statements prepared
        cdef PreparedEntry entry
        cdef bint has_factory = True
        if self._settings["executed_by"] is not self._execute or not self._settings["PREPARING"]:
            return None
        connection = get_value(self._connections, name or self._default, None)
        if not isinstance(connection, ConnectionFields):
            return None
        session = (<ConnectionFields>connection)._ready
        prepared = self.statements_of(session)
        found = None if prepared is None else get_value(prepared.statements, shape, None)
        if found is None:
            return None
        entry = <PreparedEntry?>found
        plan = last_plan_of(<PlanCache>load_reference(plans_of(entry)))
        try:
            future = None if plan is None else request_of(plan, session, entry.statement, values, row_factory)
            if future is None:
                if not entry.is_ready():
                    return None
                future = (<SessionFields?> session).execute_async(entry.statement, values)
                has_factory = row_factory is None
        except (TypeError, ValueError, OverflowError):
            return None
        if not has_factory:
            set_row_factory(future, row_factory)
        return future

    cdef Statements statements_of(self, session):
        """Return the statements of *session*; None if it is not an unmodified one, or none was prepared for it."""
        if type(session) is not self._unmodified._kind:
            return None
        kept = (<SessionFields?>session).kept_or_none()
        if kept is not None:
            return <Statements?>kept if self._unmodified.holds_now() else None
        own = session.__dict__
        prepared = get_value(<dict?>own, self._key, None) if self._unmodified.holds_for(own) else None
        if prepared is not None:
            (<SessionFields?> session).keep_until_changed(prepared)
        return prepared


# ---- reads of the row with some values


cdef class RowRead:
    """Reads the row with some values, which are bound unmodified, and *last* after them."""

    cdef readonly ModelPlan plan
    cdef readonly tuple names
    cdef readonly object shape
    cdef tuple _kinds  # class of each value; None: of no values
    cdef object _last
    cdef object _row_factory
    cdef _Columns _columns

    def __init__(self, ModelPlan plan not None, names, shape, kinds, last, row_factory):
        self.plan = plan
        self.names = tuple(names)
        self.shape = shape
        self._kinds = tuple(kinds)
        self._last = last
        self._row_factory = row_factory
        self._columns = _Columns.__new__(_Columns)
        check_model(plan.model)
        if len(self._kinds) != len(self.names):
            raise ValueError(f"{len(self._kinds)} classes for {len(self.names)} names")

    def send(self, dict given not None):
        """Return the future of a request for the row with these values, and the values as they are read; None if the
        slow path, a query set, is needed, also to report an error."""
        cdef tuple found = self.bind_values(given)
        future = None if found is None else self.request(found[0])
        return None if future is None else (future, found[1])

    cdef object read(self, dict given):
        """As *send*, and wait. Return the instance, or None."""
        cdef tuple found = self.bind_values(given)
        cdef tuple outcome
        future = None if found is None else self.request(found[0])
        if future is None:
            return None
        try:
            outcome = outcome_of(future)
        except Exception as error:
            if not self._must_be_repeated(error, future):
                raise
            return None
        return self.single_instance(rows_of(outcome), (<tuple>outcome[2])[0], found[1])

    cdef object request(self, values):
        return self.plan._ready.submit(self.plan.known().connection, self.shape, values, self._row_factory)

    def only_one(self, result, tuple known not None):
        """Return the instance of a result of one row."""
        cdef tuple page = page_of(result)
        return self.single_instance(page[0], page[1], known)

    cdef tuple bind_values(self, dict given):
        """Return the values to bind, and the values as they are read; None if a query set is needed."""
        cdef Py_ssize_t count = len(self._kinds)
        cdef Py_ssize_t step = 0, at = 0
        cdef PyObject* name
        cdef PyObject* value
        cdef tuple bound, known
        if len(given) != count:
            raise ValueError(f"{len(given)} values for {count} names")
        bound, known = PyTuple_New(count + 1), PyTuple_New(count)
        while PyDict_Next(given, &step, &name, &value):
            if TYPE(value) != <PyTypeObject*>GET_TUPLE(<PyObject*>self._kinds, at):
                return self._converted(given)
            set_item(bound, at, value)
            set_item(known, at, value)
            at += 1
        set_item(bound, count, <PyObject*>self._last)
        return bound, known

    cdef object single_instance(self, rows, plan, tuple known):
        cdef _Columns columns = load_reference(columns_of(self))
        if columns.plan is not plan:
            columns = _Columns.__new__(_Columns)
            columns.plan = plan
            columns.layout = self._layout_of(plan.names)
            store_reference(columns_of(self), columns)
        if type(rows) is list and len(<list>rows) == 1:
            row = (<list>rows)[0]
            if type(row) is tuple and len(<tuple>row) + len(known) == len(columns.layout.names):
                return make_loaded(self.plan.model, columns.layout, row, known)
        return self._several(load_instances(self.plan.model, columns.layout, list(rows), known), known)

    def _must_be_repeated(self, error, future):
        """Override. Return True if a request that ended with *error* was not executed and has to be repeated."""
        return False

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
