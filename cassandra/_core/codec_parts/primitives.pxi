# Notations of the native protocol (section 3): checked reads at a cursor, and the Reader and Writer for the messages
# that are rare enough to be read in Python.

cdef struct Cursor:
    const uint8_t* p
    const uint8_t* end

cdef int need(Cursor* c, Py_ssize_t n) except -1:
    if n > c.end - c.p:
        raise protocol_error(f"message is cut off: {n} bytes needed, {c.end - c.p} left")
    return 0

cdef int take_byte(Cursor* c) except -1:
    need(c, 1)
    c.p += 1
    return (c.p - 1)[0]

cdef int take_short(Cursor* c) except -1:
    need(c, 2)
    c.p += 2
    return load16(c.p - 2)

cdef int32_t take_int(Cursor* c) except? -1:
    need(c, 4)
    c.p += 4
    return load_i32(c.p - 4)

cdef int64_t take_long(Cursor* c) except? -1:
    need(c, 8)
    c.p += 8
    return load_i64(c.p - 8)

cdef str take_text(Cursor* c, Py_ssize_t n):
    need(c, n)
    c.p += n
    try:
        return Ref_take(checked(PyUnicode_DecodeUTF8(<const char*>c.p - n, n, NULL)))
    except UnicodeDecodeError as error:
        raise protocol_error(f"a string of the message is not UTF-8: {error}") from error

cdef str take_string(Cursor* c):
    return take_text(c, take_short(c))

cdef str take_long_string(Cursor* c):
    cdef int32_t n = take_int(c)
    if n < 0:
        raise protocol_error(f"a string of the message has length {n}")
    return take_text(c, n)

cdef object take_bytes(Cursor* c):
    """Read [bytes]: None for null."""
    cdef int32_t n = take_int(c)
    if n < 0:
        return None
    need(c, n)
    c.p += n
    return PyBytes_FromStringAndSize(<const char*>c.p - n, n)

cdef bytes take_short_bytes(Cursor* c):
    cdef int n = take_short(c)
    need(c, n)
    c.p += n
    return PyBytes_FromStringAndSize(<const char*>c.p - n, n)

cdef object take_uuid(Cursor* c):
    need(c, 16)
    c.p += 16
    return Ref_take(decode_uuid(c.p - 16))

cdef list take_string_list(Cursor* c):
    cdef int i, n = take_short(c)
    return [take_string(c) for i in range(n)]

cdef dict take_bytes_map(Cursor* c):
    cdef int i, n = take_short(c)
    cdef dict result = {}
    for i in range(n):
        key = take_string(c)
        result[key] = take_bytes(c)
    return result

cdef str take_inet_addr(Cursor* c):
    cdef int n = take_byte(c)
    if n != 4 and n != 16:
        raise protocol_error(f"invalid length of an IP address: {n} bytes")
    need(c, n)
    c.p += n
    return Ref_take(checked(decode_inet(c.p - n, n)))

cdef dict take_schema_change(Cursor* c):
    """Read <change_type><target><options> of SCHEMA_CHANGE results and events."""
    change = take_string(c)
    target = take_string(c)
    event = {"change_type": change, "target_type": target, "keyspace": take_string(c)}
    if target == "FUNCTION" or target == "AGGREGATE":
        from cassandra._base.names import UserAggregateDescriptor, UserFunctionDescriptor

        name = take_string(c)
        arguments = take_string_list(c)
        make = UserFunctionDescriptor if target == "FUNCTION" else UserAggregateDescriptor
        event[target.lower()] = make(name, arguments)
    elif target != "KEYSPACE":
        event[target.lower()] = take_string(c)
    return event


@cython.final
cdef class Reader:
    """Checked reads from a message body; ProtocolError if it is too short. Keeps the body alive."""

    cdef Py_buffer _view
    cdef bint _held
    cdef Cursor _at

    def __cinit__(self, data, Py_ssize_t offset=0):
        PyObject_GetBuffer(data, &self._view, PyBUF_SIMPLE)
        self._held = True
        self._at.end = <const uint8_t*>self._view.buf + self._view.len
        self._at.p = <const uint8_t*>self._view.buf
        self._seek(offset)

    def __dealloc__(self):
        if self._held:
            PyBuffer_Release(&self._view)

    cdef int _seek(self, Py_ssize_t offset) except -1:
        if offset < 0 or offset > self._view.len:
            raise protocol_error(f"message of {self._view.len} bytes has no offset {offset}")
        self._at.p = <const uint8_t*>self._view.buf + offset
        return 0

    @property
    def offset(self):
        return self._at.p - <const uint8_t*>self._view.buf

    @offset.setter
    def offset(self, Py_ssize_t value):
        self._seek(value)

    @property
    def remaining(self):
        return self._at.end - self._at.p

    def byte(self):
        return take_byte(&self._at)

    def short(self):
        return take_short(&self._at)

    def int(self):
        return take_int(&self._at)

    def long(self):
        return take_long(&self._at)

    def string(self):
        return take_string(&self._at)

    def long_string(self):
        return take_long_string(&self._at)

    def uuid(self):
        return take_uuid(&self._at)

    def bytes(self):
        return take_bytes(&self._at)

    def short_bytes(self):
        return take_short_bytes(&self._at)

    def string_list(self):
        return take_string_list(&self._at)

    def string_map(self):
        result = {}
        for _ in range(take_short(&self._at)):
            key = take_string(&self._at)
            result[key] = take_string(&self._at)
        return result

    def string_multimap(self):
        result = {}
        for _ in range(take_short(&self._at)):
            key = take_string(&self._at)
            result[key] = take_string_list(&self._at)
        return result

    def bytes_map(self):
        return take_bytes_map(&self._at)

    def inet(self):
        address = take_inet_addr(&self._at)
        return address, take_int(&self._at)

    def inet_addr(self):
        return take_inet_addr(&self._at)

    def schema_change(self):
        return take_schema_change(&self._at)

    def type(self, TypeContext context not None):
        return take_type(&self._at, context, 0)


cdef int put_string(ByteBuffer* out, str value) except -1:
    """Append a [string]."""
    cdef Py_ssize_t n
    cdef const char* text = PyUnicode_AsUTF8AndSize(value, &n)
    if n > 0xFFFF:
        raise ValueError(f"a string of {n} bytes is longer than the protocol allows (65535)")
    out.put16(<uint16_t>n)
    out.put(text, <size_t>n)
    return 0

cdef int put_long_string(ByteBuffer* out, object value) except -1:
    """Append a [long string] from str, or from bytes that are UTF-8 already."""
    cdef Py_ssize_t n
    cdef const char* text
    if PyBytes_Check(value):
        text = PyBytes_AS_STRING(value)
        n = PyBytes_GET_SIZE(value)
    else:
        if not PyUnicode_Check(value):
            raise TypeError(f"query text must be str or bytes, not {type(value).__name__}")
        text = PyUnicode_AsUTF8AndSize(value, &n)
    if n > INT32_MAX:
        raise ValueError(f"a query of {n} bytes is too long")
    out.put32(<uint32_t>n)
    out.put(text, <size_t>n)
    return 0

cdef int put_bytes(ByteBuffer* out, object value) except -1:
    """Append [bytes] from a bytes-like object or None."""
    cdef size_t at = out.size()
    cdef Py_buffer view
    if value is None:
        out.put32(0xFFFFFFFF)
        return 0
    PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)
    out.put32(<uint32_t>view.len)
    out.put(view.buf, <size_t>view.len)
    PyBuffer_Release(&view)
    if view.len > INT32_MAX:
        raise OverflowError(f"a value of {view.len} bytes is too large")
    return 0

cdef int put_short_bytes(ByteBuffer* out, bytes value) except -1:
    cdef Py_ssize_t n = PyBytes_GET_SIZE(value)
    if n > 0xFFFF:
        raise ValueError(f"an id of {n} bytes is longer than the protocol allows (65535)")
    out.put16(<uint16_t>n)
    out.put(PyBytes_AS_STRING(value), <size_t>n)
    return 0

cdef int put_bytes_map(ByteBuffer* out, value) except -1:
    put_length(out, len(value))
    for key, item in value.items():
        put_string(out, key)
        put_bytes(out, item)
    return 0

cdef int put_length(ByteBuffer* out, Py_ssize_t n) except -1:
    if n > 0xFFFF:
        raise ValueError(f"{n} items are more than the protocol allows (65535)")
    out.put16(<uint16_t>n)
    return 0


@cython.final
cdef class Writer:
    """Appends protocol notations; :meth:`getvalue` returns the bytes."""

    cdef ByteBuffer _out

    def byte(self, uint8_t value):
        self._out.put8(value)

    def short(self, uint16_t value):
        self._out.put16(value)

    def int(self, int32_t value):
        self._out.put32(<uint32_t>value)

    def long(self, int64_t value):
        self._out.put64(<uint64_t>value)

    def string(self, str value not None):
        put_string(&self._out, value)

    def long_string(self, value):
        put_long_string(&self._out, value)

    def bytes(self, value):
        put_bytes(&self._out, value)

    def short_bytes(self, value):
        put_short_bytes(&self._out, value)

    def string_list(self, value):
        put_length(&self._out, len(value))
        for item in value:
            put_string(&self._out, item)

    def string_map(self, value):
        put_length(&self._out, len(value))
        for key, item in value.items():
            put_string(&self._out, key)
            put_string(&self._out, item)

    def bytes_map(self, value):
        put_bytes_map(&self._out, value)

    def inet(self, str address not None, int32_t port):
        """Append address and port, as in events."""
        cdef uint8_t[16] data
        cdef size_t size = parse_inet(PyUnicode_AsUTF8AndSize(address, NULL), data)
        if size == 0:
            raise ValueError(f"invalid IP address: {address!r}")
        self._out.put8(<uint8_t>size)
        self._out.put(data, size)
        self._out.put32(<uint32_t>port)

    def getvalue(self):
        return buffer_bytes(&self._out)
