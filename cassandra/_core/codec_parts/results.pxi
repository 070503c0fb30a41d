# RESULT messages: the slotted Result and decode_result().

cdef enum:
    OPCODE_RESULT = 0x08
    NO_STREAM = -0x80000000  # streams have 16 bits
    FLAG_COMPRESSED = 0x01
    FLAG_TRACING = 0x02
    FLAG_PAYLOAD = 0x04
    FLAG_WARNING = 0x08
    RESULT_VOID = 1
    RESULT_ROWS = 2
    RESULT_KEYSPACE = 3
    RESULT_PREPARED = 4
    RESULT_SCHEMA = 5


@cython.final
cdef class _Rare:
    """Fields that most results lack, kept apart so that a result without them stays small."""

    cdef public object new_keyspace
    cdef public object query_id
    cdef public object bind_plan
    cdef public object pk_indexes
    cdef public object result_metadata_id
    cdef public object schema_change_event
    cdef public object continuous_paging_seq
    cdef public object continuous_paging_last
    cdef public object trace_id
    cdef public object custom_payload
    cdef public object warnings
    cdef public object column_names
    cdef public object column_types
    cdef public object column_metadata
    cdef public object bind_metadata


cdef _Rare _no_rare = _Rare.__new__(_Rare)  # read, never written


@cython.final
cdef class _RareField:
    """Descriptor of a field that is kept in _Rare."""

    cdef str _name

    def __cinit__(self, str name):
        self._name = name

    def __get__(self, Result message, owner):
        return self if message is None else getattr(message._rare, self._name)

    def __set__(self, Result message not None, value):
        setattr(message._own(), self._name, value)


cdef class Result:
    """Native fields of a RESULT message. Each reads as None or False unless the message has it."""

    # Descriptors of this class, for code that shows or copies a message by its slots.
    __slots__ = (
        "kind", "stream_id", "column_names", "column_types", "page", "parsed_rows", "paging_state",
        "continuous_paging_seq", "continuous_paging_last", "new_keyspace", "column_metadata", "query_id",
        "bind_metadata", "bind_plan", "pk_indexes", "plan", "schema_change_event", "is_lwt", "result_metadata_id",
        "metadata_changed", "trace_id", "custom_payload", "warnings",
    )

    cdef public RowsPage page
    cdef public ResultPlan plan
    cdef public object paging_state
    cdef object _rows
    cdef _Rare _rare
    cdef int32_t _stream
    cdef uint8_t _kind
    cdef public bint is_lwt
    cdef public bint metadata_changed

    new_keyspace = _RareField("new_keyspace")
    query_id = _RareField("query_id")
    bind_plan = _RareField("bind_plan")
    pk_indexes = _RareField("pk_indexes")
    result_metadata_id = _RareField("result_metadata_id")
    schema_change_event = _RareField("schema_change_event")
    continuous_paging_seq = _RareField("continuous_paging_seq")
    continuous_paging_last = _RareField("continuous_paging_last")
    trace_id = _RareField("trace_id")
    custom_payload = _RareField("custom_payload")
    warnings = _RareField("warnings")
    column_types = _RareField("column_types")  # the type classes of the columns; None unless set

    def __cinit__(self):  # accepts the arguments of __init__ of any subclass
        self._rare = _no_rare
        self._stream = NO_STREAM

    def __init__(self, kind=None):
        self.kind = kind

    cdef _Rare _own(self):
        if self._rare is _no_rare:
            self._rare = _Rare.__new__(_Rare)
        return self._rare

    @property
    def kind(self):
        return self._kind or None

    @kind.setter
    def kind(self, value):
        self._kind = 0 if value is None else value

    @property
    def stream_id(self):
        return None if self._stream == NO_STREAM else self._stream

    @stream_id.setter
    def stream_id(self, value):
        self._stream = NO_STREAM if value is None else value

    @property
    def parsed_rows(self):
        """Rows as tuples, decoded on the first access. From then on this list is authoritative, and the page is
        removed: the program may change the list."""
        cdef RowsPage page
        with cython.critical_section(self):
            page, rows = self.page, self._rows
        if rows is None and page is not None:
            rows = page._decode(tuple_plan(page.plan), 0, page._count)
            with cython.critical_section(self):
                if self._rows is None:
                    self._rows = rows
                self.page = None
                rows = self._rows
        return rows

    @parsed_rows.setter
    def parsed_rows(self, value):
        self._rows = value
        self.page = None

    @property
    def column_names(self):
        if self._rare.column_names is None and self.plan is not None and self._kind == RESULT_ROWS:
            return list(self.plan.names)
        return self._rare.column_names

    @column_names.setter
    def column_names(self, value):
        self._own().column_names = value

    @property
    def column_metadata(self):
        """(keyspace, table, name, codec) of each column."""
        if self._rare.column_metadata is None and self.plan is not None:
            return list(self.plan.specs)
        return self._rare.column_metadata

    @column_metadata.setter
    def column_metadata(self, value):
        self._own().column_metadata = value

    @property
    def bind_metadata(self):
        """(keyspace, table, name, codec) of each parameter."""
        if self._rare.bind_metadata is None and self._rare.bind_plan is not None:
            return list((<BindPlan>self._rare.bind_plan).specs)
        return self._rare.bind_metadata

    @bind_metadata.setter
    def bind_metadata(self, value):
        self._own().bind_metadata = value


def decode_result(
    cls,
    body,
    int flags,
    int protocol_version,
    TypeContext context not None,
    ResultPlan plan=None,
    int stream_id=NO_STREAM,
    uint32_t lwt_mask=0,
    bint metadata_ids=False,
):
    """Decode the body of a RESULT envelope into an instance of *cls*. ProtocolError if it is malformed."""
    cdef Result result = new_result(cls)
    result._stream = stream_id
    fill_result(result, body, flags, protocol_version, context, plan, lwt_mask, metadata_ids)
    return result


cdef Result new_result(cls):
    if not is_subclass(cls, <PyTypeObject*>Result):
        raise TypeError(f"expected a subclass of Result, got {cls!r}")
    return <Result?>new_object(cls, ())


cdef int fill_result(
    Result result, body, int flags, int version, TypeContext context, ResultPlan plan, uint32_t lwt_mask, bint ids
) except -1:
    cdef Py_buffer view
    cdef Cursor c
    PyObject_GetBuffer(body, &view, PyBUF_SIMPLE)
    try:
        c.p = <const uint8_t*>view.buf
        c.end = c.p + view.len
        if flags & (FLAG_TRACING | FLAG_PAYLOAD | FLAG_WARNING):
            take_prefix(result, &c, flags)
        take_result(result, &c, body, version, context, plan, lwt_mask, ids)
    finally:
        PyBuffer_Release(&view)
    return 0


@cython.final
cdef class ResultDecoder:
    """decode_result() with the arguments that are constant for the frames of one connection."""

    cdef object _cls
    cdef TypeContext _context
    cdef uint32_t _lwt_mask
    cdef bint _metadata_ids

    def __cinit__(self, cls, TypeContext context not None, uint32_t lwt_mask=0, bint metadata_ids=False):
        new_result(cls)
        self._cls = cls
        self._context = context
        self._lwt_mask = lwt_mask
        self._metadata_ids = metadata_ids

    def decode(self, frame, ResultPlan plan=None):
        """Return the Result of a RESULT *frame*; None for any other frame or a compressed one."""
        cdef int opcode = frame.opcode, flags = frame.flags
        cdef Result result
        if opcode != OPCODE_RESULT or flags & FLAG_COMPRESSED:
            return None
        result = <Result?>new_object(self._cls, ())
        result._stream = frame.stream
        fill_result(
            result, frame, flags, frame.version, self._context, plan, self._lwt_mask, self._metadata_ids
        )
        return result

    def raw(self, frame):
        """Return the RawRows of a frame with rows and nothing beside them; None for every other frame."""
        cdef int opcode = frame.opcode, flags = frame.flags
        cdef Cursor c
        cdef bytes body
        if opcode != OPCODE_RESULT or flags & (FLAG_COMPRESSED | FLAG_TRACING | FLAG_PAYLOAD | FLAG_WARNING):
            return None
        body = bytes(frame)
        c.p = <const uint8_t*>PyBytes_AS_STRING(body)
        c.end = c.p + PyBytes_GET_SIZE(body)
        if take_int(&c) != RESULT_ROWS:
            return None
        return new_raw_rows(&c, body, frame.version, self._context)

    def plain(self, frame, int header, ResultPlan plan, factory):
        """Return ``(rows, paging state, retained page)`` of a frame with rows of *plan*, made by *factory*, and nothing
        beside them; rows are None for a RESULT without any. None for every other frame, and for the first of a row
        plan: decode() handles these."""
        cdef Py_buffer view
        PyObject_GetBuffer(frame, &view, PyBUF_SIMPLE)
        try:
            return plain_rows(self, frame, <const uint8_t*>view.buf, view.len, header, plan, factory)
        finally:
            PyBuffer_Release(&view)

    cdef tuple _plain(self, frame, Cursor* c, int version, ResultPlan plan, factory):
        cdef int32_t kind = take_int(c)
        cdef int32_t flags, columns, count
        cdef RowPlan row_plan
        cdef RowRange part
        cdef Cursor at
        if kind == RESULT_VOID:
            return _nothing
        if kind != RESULT_ROWS or plan is None:
            return None
        flags = take_int(c)
        columns = take_int(c)
        paging_state = take_bytes(c) if flags & HAS_MORE_PAGES else None
        if flags & METADATA_CHANGED:
            return None
        if flags & NO_METADATA:
            if columns != plan._count:
                return None
        elif not describes(plan, c, flags, columns, self._context):
            return None
        count = take_int(c)
        row_plan = factory_plan(plan, factory)
        if row_plan is None or c.end - c.p > LARGE or not holds_rows(c, count, plan):
            return None
        if c.end - c.p > EAGER:
            return lazy_rows_of(plan, row_plan, c, frame, count, version, paging_state)
        at = c[0]
        part.at.row = 0
        part.at.column = 0
        part.limit = NULL
        part.version = version
        rows = decode_rows(row_plan, c, count, &part, None)
        if row_plan._is_reversible:
            return (rows, paging_state, rows)
        return (rows, paging_state, keep(&at, count, version))


cdef tuple _nothing = (None, None, None)


cdef tuple plain_rows(decoder, owner, const uint8_t* body, Py_ssize_t size, int header, plan, factory):
    cdef int opcode = header & 0xFF, flags = header >> 8 & 0xFF
    cdef Cursor c
    if opcode != OPCODE_RESULT or flags & (FLAG_COMPRESSED | FLAG_TRACING | FLAG_PAYLOAD | FLAG_WARNING):
        return None
    c.p = body
    c.end = body + size
    return (<ResultDecoder?> decoder)._plain(owner, &c, header >> 16, plan, factory)


def is_plain_rows(message):
    """True if *message* has undecoded rows, and no other field that has to be handled."""
    if not isinstance(message, Result):
        return False
    cdef Result result = <Result>message
    if result._kind != RESULT_ROWS or result.page is None or result.metadata_changed:
        return False
    cdef _Rare rare = result._rare
    return rare is _no_rare or rare.trace_id is None and rare.warnings is None and rare.custom_payload is None


cdef int take_prefix(Result result, Cursor* c, int flags) except -1:
    cdef _Rare rare = result._own()
    if flags & FLAG_TRACING:
        rare.trace_id = take_uuid(c)
    if flags & FLAG_WARNING:
        rare.warnings = take_string_list(c)
    if flags & FLAG_PAYLOAD:
        rare.custom_payload = take_bytes_map(c)
    return 0


cdef int take_result(
    Result result, Cursor* c, body, int version, TypeContext context, ResultPlan plan, uint32_t lwt_mask, bint ids
) except -1:
    cdef int32_t kind = take_int(c)
    if kind == RESULT_ROWS:
        take_rows(result, c, body, version, context, plan)
    elif kind == RESULT_KEYSPACE:
        result._own().new_keyspace = take_string(c)
    elif kind == RESULT_PREPARED:
        take_prepared(result, c, version, context, lwt_mask, ids or version >= 5)
    elif kind == RESULT_SCHEMA:
        result._own().schema_change_event = take_schema_change(c)
    elif kind != RESULT_VOID:
        raise protocol_error(f"unknown RESULT kind {kind}")
    result._kind = <uint8_t>kind
    return 0


cdef int take_rows(Result result, Cursor* c, body, int version, TypeContext context, ResultPlan plan) except -1:
    plan = take_result_metadata(result, c, context, plan)
    result.plan = plan
    result.page = new_page(plan, c, body, version)
    return 0


cdef ResultPlan take_result_metadata(Result result, Cursor* c, TypeContext context, ResultPlan known):
    """Read <metadata> of section 4.2.5.2: the plan of its own columns, or *known* if the server omitted them."""
    cdef int flags = take_int(c)
    cdef int32_t columns = take_int(c)
    if flags & HAS_MORE_PAGES:
        result.paging_state = take_bytes(c)
    if flags & METADATA_CHANGED:
        result._own().result_metadata_id = take_short_bytes(c)
        result.metadata_changed = True
    if not flags & NO_METADATA:
        return take_plan(c, flags, columns, context)
    if known is None:
        if columns:
            raise protocol_error(f"response of {columns} columns without metadata to a request without cached metadata")
        return _no_columns
    if columns != known._count:
        raise driver_error(
            f"The response has {columns} columns, the metadata of the prepared statement has {known._count}: "
            "the table was altered since it was prepared"
        )
    return known


cdef ResultPlan _no_columns = ResultPlan(())


cdef int take_prepared(
    Result result, Cursor* c, int version, TypeContext context, uint32_t lwt_mask, bint ids
) except -1:
    cdef _Rare rare = result._own()
    cdef int32_t flags, columns, count
    cdef Py_ssize_t i
    cdef list indexes = []
    cdef Cursor specs_at
    rare.query_id = take_short_bytes(c)
    if ids:
        rare.result_metadata_id = take_short_bytes(c)
    flags = take_int(c)
    columns = take_int(c)
    check_columns(c, columns)
    if version >= 4:
        count = take_int(c)
        if count < 0 or count > columns:
            raise protocol_error(f"a partition key of {count} columns in a statement of {columns} parameters")
        indexes = [take_short(c) for i in range(count)]
    specs_at = c[0]
    skip_specs(c, flags, columns)
    specs = take_specs(&specs_at, flags, columns, context, True)
    if any([index >= columns for index in indexes]):
        raise protocol_error(f"partition key positions {indexes} in a statement of {columns} parameters")
    rare.bind_plan = BindPlan(specs, indexes)
    rare.pk_indexes = indexes if version >= 4 else None
    result.is_lwt = (<uint32_t>flags & lwt_mask) != 0
    result.plan = take_result_metadata(result, c, context, None)
    return 0
