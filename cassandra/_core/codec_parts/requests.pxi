# QUERY, EXECUTE, BATCH and PREPARE envelopes, whole and uncompressed, with stream 0.

cdef enum:
    OP_QUERY = 0x07
    OP_PREPARE = 0x09
    OP_EXECUTE = 0x0A
    OP_BATCH = 0x0D
    WITH_VALUES = 0x01
    WITH_SKIP_METADATA = 0x02
    WITH_PAGE_SIZE = 0x04
    WITH_PAGING_STATE = 0x08
    WITH_SERIAL = 0x10
    WITH_TIMESTAMP = 0x20
    WITH_NAMES = 0x40
    WITH_KEYSPACE = 0x80
    HEADER_SIZE = 9


cdef int open_envelope(ByteBuffer* out, int version, int flags, int opcode, payload) except -1:
    """Append the header with the length not filled in, and the custom payload that precedes the message."""
    if not 3 <= version <= 5:
        raise unsupported(f"Protocol version {version} is not supported (3, 4 and 5 are)")
    if payload:
        if version < 4:
            raise unsupported("Custom payloads need protocol version 4 or higher.")
        flags |= FLAG_PAYLOAD
    out.put8(<uint8_t>version)
    out.put8(<uint8_t>flags)
    out.put16(0)
    out.put8(<uint8_t>opcode)
    out.put32(0)
    if payload:
        put_bytes_map(out, payload)
    return 0


cdef bytes close_envelope(ByteBuffer* out):
    cdef size_t length = out.size() - HEADER_SIZE
    if not out.failed() and length > <size_t>INT32_MAX:
        raise ValueError(f"a request of {length} bytes is too large")
    out.patch32(5, <uint32_t>length)
    return buffer_bytes(out)


cdef int put_flags(ByteBuffer* out, int version, int flags) except -1:
    if version >= 5:
        out.put32(<uint32_t>flags)
    else:
        out.put8(<uint8_t>flags)
    return 0


cdef int put_encoded(ByteBuffer* out, value, int version) except -1:
    """Append a [value] that is already encoded."""
    if value is _unset:
        if version < 4:
            raise unsupported(f"UNSET_VALUE needs protocol version 4 or higher, not {version}")
        out.put32(UNSET_MARK)
        return 0
    return put_bytes(out, value)


cdef int put_values(ByteBuffer* out, values, names, int version) except -1:
    """Append <n>[name_1]<value_1>...: a Bound as one block."""
    cdef Bound bound
    if isinstance(values, Bound):
        bound = <Bound>values
        out.put(PyBytes_AS_STRING(bound.data), <size_t>PyBytes_GET_SIZE(bound.data))
        return 0
    put_length(out, len(values))
    if names is None:
        for value in values:
            put_encoded(out, value, version)
        return 0
    if len(names) != len(values):
        raise ValueError(f"{len(names)} names for {len(values)} values")
    for name, value in zip(names, values):
        put_string(out, name)
        put_encoded(out, value, version)
    return 0


cdef int keyspace_flag(keyspace, int version) except -1:
    if keyspace is None:
        return 0
    if version < 5:
        raise unsupported("Keyspaces may only be set on queries with protocol version 5 or higher.")
    return WITH_KEYSPACE


cdef int put_tail(ByteBuffer* out, serial, timestamp, keyspace) except -1:
    """Append [<serial_consistency>][<timestamp>][<keyspace>], common to queries and batches."""
    cdef int level
    cdef int64_t stamp
    if serial is not None:
        level = serial
        out.put16(<uint16_t>level)
    if timestamp is not None:
        stamp = timestamp
        out.put64(<uint64_t>stamp)
    if keyspace is not None:
        put_string(out, keyspace)
    return 0


cdef int put_parameters(
    ByteBuffer* out, int version, int consistency, values, names, bint skip_metadata, page_size, paging_state, serial,
    timestamp, keyspace,
) except -1:
    """Append <query_parameters> of section 4.1.4."""
    cdef int flags = keyspace_flag(keyspace, version)
    cdef int32_t size
    cdef bint with_values = values is not None and len(values) > 0
    if with_values:
        flags |= WITH_VALUES if names is None else WITH_VALUES | WITH_NAMES
    if skip_metadata:
        flags |= WITH_SKIP_METADATA
    if page_size is not None:
        flags |= WITH_PAGE_SIZE
    if paging_state is not None:
        flags |= WITH_PAGING_STATE
    if serial is not None:
        flags |= WITH_SERIAL
    if timestamp is not None:
        flags |= WITH_TIMESTAMP
    out.put16(<uint16_t>consistency)
    put_flags(out, version, flags)
    if with_values:
        put_values(out, values, names, version)
    if page_size is not None:
        size = page_size
        out.put32(<uint32_t>size)
    if paging_state is not None:
        put_bytes(out, paging_state)
    return put_tail(out, serial, timestamp, keyspace)


def encode_parameters(
    int version, int consistency, *, values=None, names=None, bint skip_metadata=False, page_size=None, paging_state=None,
    serial_consistency=None, timestamp=None, keyspace=None,
):
    """Encode the <query_parameters> of a QUERY or EXECUTE alone."""
    cdef ByteBuffer out
    put_parameters(
        &out, version, consistency, values, names, skip_metadata, page_size, paging_state, serial_consistency,
        timestamp, keyspace,
    )
    return buffer_bytes(&out)


def encode_query(
    int version,
    query,
    int consistency,
    *,
    values=None,
    names=None,
    int flags=0,
    payload=None,
    bint skip_metadata=False,
    page_size=None,
    paging_state=None,
    serial_consistency=None,
    timestamp=None,
    keyspace=None,
):
    """Encode a QUERY envelope."""
    cdef ByteBuffer out
    open_envelope(&out, version, flags, OP_QUERY, payload)
    put_long_string(&out, query)
    put_parameters(
        &out, version, consistency, values, names, skip_metadata, page_size, paging_state, serial_consistency,
        timestamp, keyspace,
    )
    return close_envelope(&out)


def encode_execute(
    int version,
    bytes query_id not None,
    int consistency,
    bound,
    *,
    result_metadata_id=None,
    int flags=0,
    payload=None,
    bint skip_metadata=True,
    page_size=None,
    paging_state=None,
    serial_consistency=None,
    timestamp=None,
    keyspace=None,
    tablet_version_block=None,
):
    """Encode an EXECUTE envelope. *bound* is a Bound, or a sequence of encoded values."""
    cdef ByteBuffer out
    cdef uint8_t block
    open_envelope(&out, version, flags, OP_EXECUTE, payload)
    put_short_bytes(&out, query_id)
    if result_metadata_id is not None:
        put_short_bytes(&out, result_metadata_id)
    elif version >= 5:
        raise ValueError("result_metadata_id is required by protocol version 5")
    put_parameters(
        &out, version, consistency, bound, None, skip_metadata, page_size, paging_state, serial_consistency,
        timestamp, keyspace,
    )
    if tablet_version_block is not None:
        block = tablet_version_block
        out.put8(block)
    return close_envelope(&out)


def encode_batch(
    int version,
    int batch_type,
    queries,
    int consistency,
    *,
    int flags=0,
    payload=None,
    serial_consistency=None,
    timestamp=None,
    keyspace=None,
):
    """Encode a BATCH envelope."""
    cdef ByteBuffer out
    cdef int options = keyspace_flag(keyspace, version)
    open_envelope(&out, version, flags, OP_BATCH, payload)
    out.put8(<uint8_t>batch_type)
    put_length(&out, len(queries))
    for prepared, text_or_id, values in queries:
        if prepared:
            out.put8(1)
            put_short_bytes(&out, text_or_id)
        else:
            out.put8(0)
            put_long_string(&out, text_or_id)
        put_values(&out, () if values is None else values, None, version)
    if serial_consistency is not None:
        options |= WITH_SERIAL
    if timestamp is not None:
        options |= WITH_TIMESTAMP
    out.put16(<uint16_t>consistency)
    put_flags(&out, version, options)
    put_tail(&out, serial_consistency, timestamp, keyspace)
    return close_envelope(&out)


def encode_prepare(int version, query, *, int flags=0, payload=None, keyspace=None):
    """Encode a PREPARE envelope."""
    cdef ByteBuffer out
    cdef int options = 0x01 if keyspace_flag(keyspace, version) else 0  # section 4.1.5; not the bit of QUERY
    open_envelope(&out, version, flags, OP_PREPARE, payload)
    put_long_string(&out, query)
    if version >= 5:
        out.put32(<uint32_t>options)
        if keyspace is not None:
            put_string(&out, keyspace)
    return close_envelope(&out)


def encode_envelope(int version, int flags, int opcode, bytes body not None, int stream=0):
    """Encode header and body of any message."""
    cdef ByteBuffer out
    out.put8(<uint8_t>version)
    out.put8(<uint8_t>flags)
    out.put16(<uint16_t><int16_t>stream)
    out.put8(<uint8_t>opcode)
    out.put32(<uint32_t>PyBytes_GET_SIZE(body))
    out.put(PyBytes_AS_STRING(body), <size_t>PyBytes_GET_SIZE(body))
    return buffer_bytes(&out)
