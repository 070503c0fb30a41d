# The mapper's fast path: from a call to its request and the outcome.

# ---- precomputed objects, and the checks that they are still valid: the first steps of a call


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
    #define fastcql_last_class_of(one) FASTCQL_FIELD(one, _last)
    #define fastcql_connection_of(one) FASTCQL_FIELD(one, _connection)
    #define fastcql_plans_of(one) FASTCQL_FIELD(one, _plans)
    #define fastcql_columns_of(one) FASTCQL_FIELD(one, _columns)
    """
    PyObject** last_known_of "fastcql_last_known_of"(KeywordCache one)
    PyObject** last_class_of "fastcql_last_class_of"(Precomputed one)
    PyObject** connection_name_of "fastcql_connection_of"(FastRequest one)
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
        last = self._known.get(tuple(given))
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


@cython.final
cdef class _ClassEntry:
    """The objects that a class keeps for all keywords. One object, so that a thread never reads a part of another
    thread's update."""

    cdef unsigned int state  # version of the class, which no other class ever has
    cdef KeywordCache known


cdef class Precomputed:
    """Precomputed objects for models and the keywords of a call. A model keeps them, in its ``_shapes``, until an
    attribute of it is set. Each has the default *keyspace* that it was computed for."""

    cdef object _kind
    cdef dict _settings
    cdef object _compute
    cdef _ClassEntry _last  # of the last call; None: to be looked up

    def __init__(self, kind, dict settings not None, compute):
        self._kind = kind
        self._settings = settings
        self._compute = compute

    def find(self, model, dict given not None):
        return self.found(model, given)

    cdef object found(self, model, dict given):
        cdef KeywordCache known = self.cache_of_class(model)
        found = None if known is None else known.find(given)
        if found is None:
            store_reference(last_class_of(self), None)  # another object may be kept from now on
            return self._compute(model, given)
        if found is _missing:
            return None
        if (<FastRequest?>found).keyspace is not self._settings["DEFAULT_KEYSPACE"]:
            return self._compute(model, given)
        return found

    cdef KeywordCache cache_of_class(self, model):
        """Return the objects that *model* keeps for all keywords, or None."""
        cdef _ClassEntry last = load_reference(last_class_of(self))
        if last is not None and last.state == state_of_class(model):
            return last.known
        known = (<dict?>model._shapes).get(self._kind)
        if known is not None and state_of_class(model) != 0:
            last = _ClassEntry.__new__(_ClassEntry)
            last.state = state_of_class(model)
            last.known = known
            store_reference(last_class_of(self), last)
        return known

    def keep(self, known, dict given not None, found):
        """Keep *found* for these keywords and return it; None if there is no object for them."""
        (<KeywordCache?>known).add(given, _missing if found is None else found)
        return found


# ---- values that are bound unmodified if they are of the expected class


cdef class _NoInstances:
    pass


cdef Kind kind_of(kind):
    """Return the Kind of a class; None: of no values."""
    return kind if isinstance(kind, Kind) else Kind(_NoInstances if kind is None else kind)


@cython.final
cdef class ExactKinds:
    """Binds values unmodified if they are of exactly these kinds, or classes; has the index of each. Containers are
    copied: the application may change its own at any time."""

    cdef tuple _kinds
    cdef tuple _places
    cdef Py_ssize_t _count

    def __init__(self, kinds, places, Py_ssize_t count):
        self._kinds = tuple([kind_of(kind) for kind in kinds])
        self._places = tuple(places)
        self._count = count
        if len(self._kinds) != len(self._places) or any([not 0 <= place < count for place in self._places]):
            raise ValueError(f"{len(self._kinds)} classes do not fit the places {self._places} of {count}")

    def bound(self, dict given not None):
        """Return a list of the bound values, None where no value was given; None if a value is of another kind."""
        return self.bind_values(given)

    cdef list bind_values(self, dict given):
        cdef Py_ssize_t at = 0, place
        cdef list found
        cdef Kind kind
        if len(given) != len(self._kinds):
            raise ValueError(f"{len(given)} values for {len(self._kinds)} classes")
        found = [None] * self._count
        for value in given.values():
            kind = <Kind>self._kinds[at]
            if not kind.has(value):
                return None
            place = self._places[at]
            found[place] = value if kind.item is None else kind(value)
            at += 1
        return found

    cpdef tuple bind_with(self, dict given, last):
        """Return ``(bound values, values at their indexes)``: *last* is bound after these. None if a value is of
        another kind."""
        cdef list found = self.bind_values(given)
        if found is None:
            return None
        known = tuple(found)
        found.append(last)
        return tuple(found), known


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
        connection = self._connections.get(name or self._default)
        if not isinstance(connection, ConnectionFields):
            return None
        session = (<ConnectionFields>connection)._ready
        prepared = self.statements_of(session)
        found = None if prepared is None else prepared.statements.get(shape)
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
        prepared = (<dict?>own).get(self._key) if self._unmodified.holds_for(own) else None
        if prepared is not None:
            (<SessionFields?> session).keep_until_changed(prepared)
        return prepared


cdef class FastRequest:
    """A precomputed request of a model and the keywords of a call."""

    cdef readonly object model
    cdef readonly object shape
    cdef readonly object keyspace
    cdef ReadyStatements _ready
    cdef object _connection
    cdef atomic[unsigned int] _state  # version of the model with that connection; 0: not known

    def __init__(self, model, shape, keyspace, ReadyStatements ready not None):
        self.model = model
        self.shape = shape
        self.keyspace = keyspace
        self._ready = ready

    cdef object request(self, values, row_factory):
        """Return the future of the request with *values*; None if the slow path is needed."""
        cdef unsigned int state = state_of_class(self.model)
        if state == 0 or state != self._state.load():
            store_reference(connection_name_of(self), self.model.__connection__)
            self._state.store(state)
        return self._ready.submit(load_reference(connection_name_of(self)), self.shape, values, row_factory)

    cdef tuple outcome(self, future):
        """Wait for *future* and return its outcome; None if the request has to be repeated."""
        try:
            return outcome_of(future)
        except Exception as error:
            if not self._must_be_repeated(error, future):
                raise
            return None

    cpdef bint _must_be_repeated(self, error, future) except -1:
        """Override. Return True if a request that ended with *error* has to be repeated, as its statement was not
        prepared."""
        return False


# ---- inserts of rows whose values are bound unmodified


cdef class RowInsert(FastRequest):
    """Inserts a row with values of some columns, which are bound unmodified, and of others that are made. Immutable."""

    cdef InstanceLayout _layout
    cdef UnmodifiedMethods _unmodified
    cdef ExactKinds _exact
    cdef tuple _made  # name, index among the bound values, kind, factory
    cdef tuple _optional  # predicates: true if a column needs no value
    cdef tuple _places  # per column, the index of its value among the bound values; None: it has none
    cdef bint _complete

    def __init__(
        self, model, shape, keyspace, ReadyStatements ready not None, UnmodifiedMethods unmodified not None,
        InstanceLayout layout not None, ExactKinds exact not None, made, left, places,
    ):
        FastRequest.__init__(self, model, shape, keyspace, ready)
        self._unmodified = unmodified
        self._layout = layout
        self._exact = exact
        self._made = tuple([(name, place, kind_of(kind), make) for name, place, kind, make in made])
        self._optional = tuple(left)
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
        return self.bind_values(given, made)

    def send(self, dict given not None, dict made not None):
        """Return the future of the request, and the bound values; None if the slow path is needed."""
        bound = self.bind_values(given, made)
        future = None if bound is None else self.request(bound, None)
        return None if future is None else (future, bound)

    def write(self, dict given not None, dict made not None):
        """As *send*, and wait. Return the instance of the row that was written, or None."""
        bound = self.bind_values(given, made)
        future = None if bound is None else self.request(bound, None)
        if future is None or self.outcome(future) is None:
            return None
        return self.written_instance(bound)

    def written(self, list bound not None):
        """Return the instance of a row that was written."""
        return self.written_instance(bound)

    cdef list bind_values(self, dict given, dict made):
        cdef list bound = self._exact.bind_values(given) if self._unmodified.holds_now() else None
        if bound is None:
            return None
        for name, place, kind, _ in self._made:
            value = made[name]
            bound[<Py_ssize_t>place] = value
            if not (<Kind>kind).has(value):
                return None
        for may_be_omitted in self._optional:
            if not may_be_omitted():
                return None
        return bound

    cdef object written_instance(self, list bound):
        return new_loaded(self.model, self._layout, self.row_of(bound), ())

    cdef tuple row_of(self, list bound):
        """Return the row with these values; a container without a value is read as an empty one."""
        return tuple(bound) if self._complete else tuple([None if at is None else bound[at] for at in self._places])


# ---- updates of values of a row that are bound unmodified: one check of the instance, and the request


cdef struct _Slot:
    PyTypeObject* kind  # class of the values; NULL: any
    Py_ssize_t place  # in a row
    Py_ssize_t bound  # index among the bound values


cdef _Slot make_slot(kind, Py_ssize_t place, Py_ssize_t bound):
    cdef _Slot slot
    if kind is not None and not isinstance(kind, type):
        raise TypeError(f"expected a class, got {kind!r}")
    slot.kind = NULL
    if kind is not None:
        slot.kind = <PyTypeObject*>kind
    slot.place = place
    slot.bound = bound
    return slot


cdef class RowUpdate(FastRequest):
    """Replaces the values of some columns in a row. Immutable."""

    cdef readonly InstanceLayout layout  # of all columns
    cdef UnmodifiedMethods _unmodified
    cdef vector[_Slot] _given  # per value, in the order of the names
    cdef vector[_Slot] _key
    cdef vector[_Slot] _others
    cdef tuple _accepts  # of the others: predicates that accept values of another class
    cdef tuple _kinds  # keeps the classes alive

    def __init__(
        self, model, shape, keyspace, ReadyStatements ready not None, UnmodifiedMethods unmodified not None,
        InstanceLayout layout not None, given, key, others,
    ):
        FastRequest.__init__(self, model, shape, keyspace, ready)
        self._unmodified = unmodified
        self.layout = layout
        given, key, others = tuple(given), tuple(key), tuple(others)
        if sorted([bound for _, bound, _ in given]) != list(range(len(given))):
            raise ValueError(f"invalid places among the bound values: {[bound for _, bound, _ in given]}")
        places = [place for _, _, place in given]
        places += [place for _, place in key] + [place for _, place, _ in others]
        if any([not 0 <= place < len(layout.names) for place in places]):
            raise ValueError(f"invalid places in a row of {len(layout.names)} columns: {places}")
        self._kinds = tuple([one[0] for one in (*given, *key, *others)])
        self._accepts = tuple([takes for _, _, takes in others])
        self._given.clear()  # __init__ may be called twice
        self._key.clear()
        self._others.clear()
        for kind, bound, place in given:
            self._given.push_back(make_slot(kind, place, bound))
        for number, (kind, place) in enumerate(key):
            self._key.push_back(make_slot(kind, place, len(given) + number))
        for kind, place, _ in others:
            self._others.push_back(make_slot(kind, place, -1))

    def bound(self, Instance instance not None, dict given not None):
        """Return ``(bound values, resulting row)``; None if the slow path is needed."""
        cdef tuple row = self.row_of(instance)
        cdef tuple bound = None if row is None else self.bind_values(row, given)
        return None if bound is None else (bound, self.updated_row(row, bound))

    def send(self, Instance instance not None, dict given not None):
        """Return the future of the request, and the resulting row; None if the slow path is needed. Once it was sent,
        the instance has the new values, also if the request fails."""
        cdef tuple row = self.row_of(instance) if self._unmodified.holds_now() else None
        cdef tuple bound = None if row is None else self.bind_values(row, given)
        future = None if bound is None else self.request(bound, None)
        if future is None:
            return None
        instance.set_all(given)
        return future, self.updated_row(row, bound)

    cdef bint write(self, Instance instance, dict given) except -1:
        """As *send*, and wait. Return True if it was written, and the instance has the new row."""
        cdef tuple row = self.row_of(instance) if self._unmodified.holds_now() else None
        cdef tuple bound = None if row is None else self.bind_values(row, given)
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
        instance.keep(self.layout, self.updated_row(row, bound))
        return True

    cdef tuple row_of(self, Instance instance):
        """Return the row as it was loaded or written; None if a value was set since, or changed in place."""
        cdef EpochReader reader
        cdef tuple row
        cdef dict now
        reader.announce()
        if not instance._is_persisted or instance.explicit_or_none() or instance.has_own_attributes():
            return None
        row = instance.row_in_layout(self.layout)
        now = instance.current_or_none()
        if row is None or not now:
            return row
        for name, value in now.items():
            place = self.layout._indexes.get(name)
            kind = None if place is None else self.layout.converters[place]
            if type(kind) is not Kind or not (<Kind>kind).is_same(value, row[place]):
                return None
        return row

    cdef tuple bind_values(self, tuple row, dict given):
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
            if TYPE(value) != slot.kind and not self._accepts[at](<object>value):
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

    cdef tuple updated_row(self, tuple row, tuple bound):
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
cdef class RowUpdates(Precomputed):
    """The RowUpdate of models and names. No other component runs between its look-up and its request."""

    def write(self, Instance instance not None, dict given not None):
        return self.try_write(instance, given)

    cdef bint try_write(self, Instance instance, dict given) except -1:
        found = self.found(type(instance), given)
        return found is not None and (<RowUpdate?>found).write(instance, given)


# The updates of all models, called by ``Instance.update``. A Python method would cost 1,000 instructions more.
cdef RowUpdates row_updates = None


def set_row_updates(RowUpdates updates not None):
    global row_updates
    row_updates = updates


# ---- instances that are saved: the INSERT of a new one, the UPDATE of what changed


cdef class RowSave:
    """Writes instances of one model whose values are bound unmodified. Immutable, except for the plans that it
    keeps."""

    cdef readonly object model
    cdef readonly InstanceLayout layout  # of all columns
    cdef dict _settings
    cdef UnmodifiedMethods _unmodified
    cdef tuple _kinds  # per column
    cdef tuple _is_key  # per column
    cdef tuple _is_needed  # per column: a new row needs a value
    cdef KeywordCache _inserts
    cdef KeywordCache _updates

    def __init__(
        self, model, dict settings not None, UnmodifiedMethods unmodified not None, InstanceLayout layout not None,
        kinds, is_key, is_needed, Py_ssize_t most,
    ):
        self.model = model
        self.layout = layout
        self._settings = settings
        self._unmodified = unmodified
        self._kinds = tuple([kind_of(kind) for kind in kinds])
        self._is_key = tuple(is_key)
        self._is_needed = tuple(is_needed)
        if not len(layout.names) == len(self._kinds) == len(self._is_key) == len(self._is_needed):
            raise ValueError(f"{len(self._kinds)} kinds do not fit {len(layout.names)} columns")
        self._inserts = KeywordCache(most)
        self._updates = KeywordCache(most)

    def _insert(self, names):
        """Override. Return the RowInsert of the columns *names*, or None."""

    def _update(self, names):
        """Override. Return the RowUpdate of the columns *names*, or None."""

    cdef object plan(self, KeywordCache known, dict given, make):
        found = known.find(given)
        if found is not None and found is not _missing:
            if (<FastRequest>found).keyspace is not self._settings["DEFAULT_KEYSPACE"]:
                found = None
        if found is None:
            found = make(tuple(given))
            found = known.add(given, _missing if found is None else found)
        return None if found is _missing else found

    cdef tuple prepare_write(self, Instance one):
        """Return the plan of the write, the bound values, and the row as it is then; None if the slow path is
        needed."""
        cdef tuple row
        cdef dict given
        cdef RowUpdate update
        cdef RowInsert insert
        if one.has_own_attributes() or not self._unmodified.holds_now():
            return None
        if one._is_persisted:
            row = one.row_in_layout(self.layout)
            given = None if row is None else self.changes(one, row)
            if not given:
                return None
            update = self.plan(self._updates, given, self._update)
            bound = None if update is None else update.bind_values(row, given)
            return None if bound is None else (update, bound, update.updated_row(row, bound))
        given = self.values(one)
        insert = None if given is None else self.plan(self._inserts, given, self._insert)
        bound = None if insert is None else insert.bind_values(given, {})
        return None if bound is None else (insert, bound, insert.row_of(bound))

    cdef dict changes(self, Instance one, tuple row):
        """Return the changed values; None if one is a null, is of another kind, of the key, or a changed container."""
        cdef EpochReader reader
        cdef dict found = {}
        cdef Kind kind
        cdef Py_ssize_t place
        reader.announce()
        cdef dict now = one.current_or_none()
        if now is None:
            return found
        for name, value in now.items():
            known = self.layout._indexes.get(name)
            if known is None:
                return None
            place = known
            kind = <Kind>self._kinds[place]
            if kind.item is not None:
                if not kind.is_same(value, row[place]):
                    return None
            elif type(value) is not kind.cls:
                return None
            elif value != row[place]:
                if self._is_key[place]:
                    return None
                found[name] = value
        return found

    cdef dict values(self, Instance one):
        """Return the values of a new row that are no nulls; None if the slow path is needed."""
        cdef EpochReader reader
        cdef dict found = {}
        cdef Kind kind
        cdef Py_ssize_t place
        reader.announce()
        cdef dict now = one.current_or_none()
        cdef set explicit = one.explicit_or_none()
        if now is None or one.layout() is not None:
            return None
        for place in range(len(self.layout.names)):
            name = self.layout.names[place]
            value = now.get(name, _missing)
            kind = <Kind>self._kinds[place]
            if value is None or (kind.item is not None and not value):
                if self._is_needed[place] or (explicit is not None and name in explicit):
                    return None  # a null that was assigned is deleted
            elif value is _missing:
                return None
            else:
                found[name] = value
        return found

    cdef bint write(self, Instance one) except -1:
        cdef tuple prepared = self.prepare_write(one)
        future = None if prepared is None else (<FastRequest>prepared[0]).request(prepared[1], None)
        if future is None or (<FastRequest>prepared[0]).outcome(future) is None:
            return False
        self.mark_written(one, prepared[2])
        return True

    cdef int mark_written(self, Instance one, tuple row) except -1:
        one.keep(self.layout, row)
        one._is_persisted = True
        return 0

    def send(self, Instance one not None):
        """Return the plan, the future of the request, and the row for :meth:`written`; None if the slow path is
        needed."""
        cdef tuple prepared = self.prepare_write(one)
        future = None if prepared is None else (<FastRequest>prepared[0]).request(prepared[1], None)
        return None if future is None else (prepared[0], future, prepared[2])

    def written(self, Instance one not None, tuple row not None):
        """Take *row* as the stored one: the request of :meth:`send` has succeeded."""
        self.mark_written(one, row)


@cython.final
cdef class RowSaves:
    """The RowSave of models. A model keeps its own, in its ``_shapes``, until an attribute of it is set."""

    cdef object _kind
    cdef object _compute

    def __init__(self, kind, compute):
        self._kind = kind
        self._compute = compute

    def find(self, model):
        """Return the RowSave of *model*; None if it has none."""
        return self.found(model)

    cdef object found(self, model):
        found = (<dict?>model._shapes).get(self._kind)
        if found is None:
            found = self._compute(model)
            (<dict>model._shapes)[self._kind] = _missing if found is None else found
        return None if found is _missing else found

    def write(self, Instance instance not None):
        """Save *instance*. Return False if the slow path is needed."""
        return self.try_write(instance)

    cdef bint try_write(self, Instance instance) except -1:
        found = self.found(type(instance))
        return found is not None and (<RowSave?>found).write(instance)


# The saves of all models, called by ``Instance.save``.
cdef RowSaves row_saves = None


def set_row_saves(RowSaves saves not None):
    global row_saves
    row_saves = saves


# ---- reads of the row with some values


cdef class RowRead(FastRequest):
    """Reads the row with some values, which are bound unmodified, and *last* after them."""

    cdef readonly tuple names
    cdef ExactKinds _exact
    cdef object _last
    cdef object _row_factory
    cdef _Columns _columns

    def __init__(
        self, model, shape, keyspace, ReadyStatements ready not None, names, ExactKinds exact not None, last, row_factory
    ):
        FastRequest.__init__(self, model, shape, keyspace, ready)
        self.names = tuple(names)
        self._exact = exact
        self._last = last
        self._row_factory = row_factory
        self._columns = _Columns.__new__(_Columns)
        check_model(model)

    def send(self, dict given not None):
        """Return the future of a request for the row with these values, and the values as they are read; None if the
        slow path, a query set, is needed, also to report an error."""
        cdef tuple found = self.bind_values(given)
        future = None if found is None else self.request(found[0], self._row_factory)
        return None if future is None else (future, found[1])

    cdef object read(self, dict given):
        """As *send*, and wait. Return the instance, or None."""
        cdef tuple found = self.bind_values(given)
        cdef tuple outcome
        future = None if found is None else self.request(found[0], self._row_factory)
        if future is None:
            return None
        outcome = self.outcome(future)
        return None if outcome is None else self.single_instance(rows_of(outcome), (<tuple>outcome[2])[0], found[1])

    def only_one(self, result, tuple known not None):
        """Return the instance of a result of one row."""
        cdef tuple page = page_of(result)
        return self.single_instance(page[0], page[1], known)

    cdef tuple bind_values(self, dict given):
        cdef tuple found = self._exact.bind_with(given, self._last)
        return self._converted(given) if found is None else found

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
                return make_loaded(self.model, columns.layout, row, known)
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
cdef class RowReads(Precomputed):
    """The RowRead of models and names. No other component runs between its look-up and its request."""

    def read(self, model, dict given not None):
        found = self.found(model, given)
        return None if found is None else (<RowRead?>found).read(given)
