# From a shape of a statement to its request, and to what that came to.


cdef class Statements:
    """What was prepared for one session, by shape."""

    cdef readonly dict statements

    def __cinit__(self):
        self.statements = {}


cdef class ConnectionFields:
    """Base of connections."""

    cdef public object _ready


@cython.final
cdef class ReadyStatements:
    """Sends what was prepared for sessions, by shapes of statements: a session has it under *key*."""

    cdef Untouched _usual
    cdef object _key
    cdef dict _connections
    cdef object _default
    cdef dict _settings
    cdef object _execute

    def __init__(self, Untouched usual not None, key, dict connections not None, default, dict settings not None):
        self._usual = usual
        self._key = key
        self._connections = connections
        self._default = default
        self._settings = settings
        self._execute = settings["execute"]

    def send(self, name, shape, values, row_factory=None):
        """See ``sent``."""
        return self.sent(name, shape, values, row_factory)

    cdef object sent(self, name, shape, values, row_factory):
        """The future of ``execute_async``, with rows by *row_factory*, of what was prepared for the session of the
        connection *name*. None where there is more to do: somebody sees what is executed, the connection is not
        connected, its session not the usual one, nothing was prepared, or for a table that is another one since, or
        the values are none that could be bound."""
        cdef Statements prepared
        if self._settings["executed_by"] is not self._execute or not self._settings["PREPARING"]:
            return None
        connection = self._connections.get(name or self._default)
        if not isinstance(connection, ConnectionFields):
            return None
        session = (<ConnectionFields>connection)._ready
        prepared = self.prepared_for(session)
        statement = None if prepared is None else prepared.statements.get(shape)
        if statement is None:
            return None
        lane = (<CompiledCache?>statement._compiled).lane
        try:
            future = None if lane is None else request_of(lane, session, statement, values, row_factory)
            if future is None:
                if statement._outdated is not None:
                    return None
                future = session.execute_async(statement, values)
                if row_factory is not None:
                    future.row_factory = row_factory
        except (TypeError, ValueError, OverflowError):
            return None
        return future

    cdef Statements prepared_for(self, session):
        """None if *session* is not the usual one, or nothing was prepared for it."""
        if type(session) is not self._usual._kind:
            return None
        kept = (<SessionFields?>session).kept_so_far()
        if kept is not None:
            return <Statements?>kept if self._usual.is_so() else None
        own = session.__dict__
        prepared = (<dict?>own).get(self._key) if self._usual.is_of(own) else None
        if prepared is not None:
            session.keep(prepared)
        return prepared


cdef class Plain:
    """What was worked out for a model and the keywords of a call."""

    cdef readonly object model
    cdef readonly object shape
    cdef readonly object keyspace
    cdef ReadyStatements _ready
    cdef object _connection
    cdef unsigned int _state  # of the model, with that connection; 0: not known

    def __init__(self, model, shape, keyspace, ReadyStatements ready not None):
        self.model = model
        self.shape = shape
        self.keyspace = keyspace
        self._ready = ready

    cdef object request(self, values, row_factory):
        """The future of the request with *values*; None where there is more to do."""
        cdef unsigned int state = state_of_class(self.model)
        if state == 0 or state != self._state:
            self._connection = self.model.__connection__
            self._state = state_of_class(self.model)
        return self._ready.sent(self._connection, self.shape, values, row_factory)

    cdef tuple outcome(self, future):
        """What *future* came to, which is waited for; None where it is to be done anew."""
        try:
            return outcome_of(future)
        except Exception as error:
            if not self._is_done_anew(error, future):
                raise
            return None

    def _is_done_anew(self, error, future):
        """Override. Whether a request that ended with *error* is made another time, as one that has to be prepared."""
        return False
