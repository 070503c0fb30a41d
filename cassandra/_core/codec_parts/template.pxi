# EXECUTE of one prepared statement with constant options: from parameters to the whole envelope and the routing token.


@cython.final
cdef class ExecuteTemplate:
    """The EXECUTE envelope of one statement, complete except for values and timestamp."""

    cdef BindPlan _plan
    cdef int _version
    cdef bytes _head  # from the header to the flags
    cdef bytes _tail  # between the values and the timestamp
    cdef bint _stamped
    cdef object _version_block  # a function of the token that gives the last byte; None: there is no such byte

    def __init__(
        self,
        BindPlan plan not None,
        int version,
        bytes query_id not None,
        int consistency,
        *,
        result_metadata_id=None,
        bint skip_metadata=True,
        page_size=None,
        serial_consistency=None,
        bint with_timestamp=False,
        version_block=None,
    ):
        cdef ByteBuffer head, tail
        cdef int flags = 0
        cdef int32_t size
        if version >= 5 and result_metadata_id is None:
            raise ValueError("result_metadata_id is required by protocol version 5")
        open_envelope(&head, version, 0, OP_EXECUTE, None)
        put_short_bytes(&head, query_id)
        if result_metadata_id is not None:
            put_short_bytes(&head, result_metadata_id)
        if plan._count > 0:
            flags |= WITH_VALUES
        if skip_metadata:
            flags |= WITH_SKIP_METADATA
        if page_size is not None:
            flags |= WITH_PAGE_SIZE
            size = page_size
            tail.put32(<uint32_t>size)
        if serial_consistency is not None:
            flags |= WITH_SERIAL
        if with_timestamp:
            flags |= WITH_TIMESTAMP
        head.put16(<uint16_t>consistency)
        put_flags(&head, version, flags)
        put_tail(&tail, serial_consistency, None, None)
        self._plan = plan
        self._version = version
        self._head = buffer_bytes(&head)
        self._tail = buffer_bytes(&tail)
        self._stamped = with_timestamp
        self._version_block = version_block

    def encode(self, values, timestamp=None):
        """Return ``(envelope, token)``: values as for ``BindPlan.bind``; the token is None if there is none. If
        *timestamp* is a clock, its next timestamp is used."""
        cdef int64_t token = 0
        cdef bint routed = False
        frame = self._encode(values, timestamp, &token, &routed)
        return (frame, token) if routed else (frame, None)

    cdef bytes _encode(self, values, timestamp, int64_t* token, bint* routed):
        cdef ByteBuffer out
        cdef Span[16] few
        cdef Span* spans = few
        cdef BindPlan plan = self._plan
        positions = plan._positions(values, self._version)
        routed[0] = False
        if plan._count > 16:
            spans = <Span*>malloc(plan._count * sizeof(Span))
            if spans == NULL:
                raise MemoryError()
        try:
            out.put(PyBytes_AS_STRING(self._head), <size_t>PyBytes_GET_SIZE(self._head))
            if plan._count > 0:
                plan._encode(positions, self._version, &out, spans)
                if plan._pk_count > 0 and not out.failed():
                    routed[0] = plan._hash(out.data(), spans, token)
            return self._close(&out, timestamp, routed[0], token[0])
        finally:
            if spans != few:
                free(spans)

    def encode_bound(self, Bound bound not None, timestamp=None):
        """Return the envelope of values that were bound before."""
        cdef ByteBuffer out
        out.put(PyBytes_AS_STRING(self._head), <size_t>PyBytes_GET_SIZE(self._head))
        if self._plan._count > 0:
            out.put(PyBytes_AS_STRING(bound.data), <size_t>PyBytes_GET_SIZE(bound.data))
        return self._close(&out, timestamp, bound._has_token, bound._token)

    cdef bytes _close(self, ByteBuffer* out, timestamp, bint routed, int64_t token):
        cdef int64_t stamp
        cdef uint8_t block
        out.put(PyBytes_AS_STRING(self._tail), <size_t>PyBytes_GET_SIZE(self._tail))
        if self._stamped:
            stamp = (<TimestampClock>timestamp).step() if type(timestamp) is TimestampClock else timestamp
            out.put64(<uint64_t>stamp)
        if self._version_block is not None:
            block = self._version_block(token if routed else None)
            out.put8(block)
        return close_envelope(out)

    def around(self):
        """Return the bytes around values and timestamp: the envelope up to the values, and the part behind them."""
        return self._head, self._tail

    cdef Py_ssize_t _after_tail(self):
        return (8 if self._stamped else 0) + (0 if self._version_block is None else 1)

    def bound(self, bytes frame not None, token=None):
        """Return the values of an envelope that this template made, with their token."""
        cdef Py_ssize_t start = PyBytes_GET_SIZE(self._head)
        cdef Py_ssize_t end = PyBytes_GET_SIZE(frame) - PyBytes_GET_SIZE(self._tail) - self._after_tail()
        if not start <= end or frame[HEADER_SIZE:start] != self._head[HEADER_SIZE:]:
            raise ValueError("not an envelope of this template")
        cdef Bound bound = Bound.__new__(Bound)
        bound.data = frame[start:end] if self._plan._count > 0 else b"\0\0"
        bound.count = <int>self._plan._count
        bound._pk_indexes = self._plan.pk_indexes
        if token is not None:
            bound._token = token
            bound._has_token = True
        return bound

    def timestamp(self, bytes frame not None):
        """Return the timestamp in an envelope that this template made, or None."""
        if not self._stamped:
            return None
        cdef Py_ssize_t start = PyBytes_GET_SIZE(frame) - self._after_tail()
        return int.from_bytes(frame[start : start + 8], "big", signed=True)


cdef bytes encode_by_template(template, values, timestamp, int64_t* token, bint* routed):
    return (<ExecuteTemplate?> template)._encode(values, timestamp, token, routed)
