# From a shape of a statement to its request and the outcome.


cdef class Statements:
    """Prepared statements of one session, by shape."""

    cdef readonly dict statements

    def __cinit__(self):
        self.statements = {}


cdef class ConnectionFields:
    """Base of connections."""

    cdef public object _ready


@cython.final
cdef class ReadyStatements:
    """Sends statements that are prepared in their session, by shape; a session has them under *key*."""

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
        """Return the future of ``execute_async``, with rows by *row_factory*, of the statement prepared for the session
        of the connection *name*. None if the slow path is needed: the executing function was replaced, the connection
        is not connected, its session is not of the usual class, no statement is prepared, or only for a table that has
        been replaced since, or the values cannot be bound."""
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
        """Return the statements of *session*; None if it is not of the usual class, or none was prepared for it."""
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
    """A precomputed request of a model and the keywords of a call."""

    cdef readonly object model
    cdef readonly object shape
    cdef readonly object keyspace
    cdef ReadyStatements _ready
    cdef object _connection
    cdef unsigned int _state  # version of the model with that connection; 0: not known

    def __init__(self, model, shape, keyspace, ReadyStatements ready not None):
        self.model = model
        self.shape = shape
        self.keyspace = keyspace
        self._ready = ready

    cdef object request(self, values, row_factory):
        """Return the future of the request with *values*; None if the slow path is needed."""
        cdef unsigned int state = state_of_class(self.model)
        if state == 0 or state != self._state:
            self._connection = self.model.__connection__
            self._state = state_of_class(self.model)
        return self._ready.sent(self._connection, self.shape, values, row_factory)

    cdef tuple outcome(self, future):
        """Wait for *future* and return its outcome; None if the request has to be repeated."""
        try:
            return outcome_of(future)
        except Exception as error:
            if not self._is_done_anew(error, future):
                raise
            return None

    def _is_done_anew(self, error, future):
        """Override. Return True if a request that ended with *error* has to be repeated, as its statement was not
        prepared."""
        return False
