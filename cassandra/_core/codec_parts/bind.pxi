# Binding: parameters of a prepared statement to wire bytes and routing token, in one pass over one buffer; timestamps,
# and whole EXECUTE envelopes.

cdef enum:
    NULL_VALUE = 0xFFFFFFFF
    UNSET_MARK = 0xFFFFFFFE
    MAX_KEY_COMPONENT = 0xFFFF


cdef object _missing = object()


cdef struct Span:
    size_t start
    Py_ssize_t length  # negative if the value is null or unset


@cython.final
cdef class Bound:
    """Bound values: the bytes of ``<n><value_1>...<value_n>`` and the routing data."""

    cdef readonly bytes data
    cdef readonly int count
    cdef tuple _pk_indexes
    cdef int64_t _token
    cdef bint _has_token

    def __init__(self):
        raise TypeError("use BindPlan.bind() to make Bound objects")

    def __len__(self):
        return self.count

    def __iter__(self):
        return iter(self.values)

    def __getitem__(self, index):
        return self.values[index]

    @property
    def token(self):
        return self._token if self._has_token else None

    @property
    def values(self):
        """Values in order, each as bytes, None, or UNSET."""
        cdef Cursor c
        cdef int32_t n
        cdef list values = []
        begin(&c, self.data)
        take_short(&c)
        while c.p < c.end:
            n = take_int(&c)
            if n >= 0:
                skip(&c, n)
                values.append(PyBytes_FromStringAndSize(<const char*>c.p - n, n))
            else:
                values.append(None if n == -1 else UNSET)
        return values

    @property
    def routing_key(self):
        """The serialized partition key, or None if a component is null or the statement does not name them all."""
        if self._pk_indexes is None:
            return None
        values = self.values
        if any([not isinstance(values[index], bytes) for index in self._pk_indexes]):
            return None
        if len(self._pk_indexes) == 1:
            return values[self._pk_indexes[0]]
        parts = [values[index] for index in self._pk_indexes]
        if any([len(part) > MAX_KEY_COMPONENT for part in parts]):
            return None
        return b"".join([len(part).to_bytes(2, "big") + part + b"\0" for part in parts])

    def __copy__(self):
        return self  # it never changes

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _bound_of, (self.data, self.count, self._pk_indexes, self.token)

    def __repr__(self):
        return f"<Bound {self.count} values, {len(self.data)} bytes>"


def _bound_of(bytes data not None, int count, tuple pk_indexes, token):
    """Rebuild a pickled Bound."""
    cdef Bound made = Bound.__new__(Bound)
    made.data = data
    made.count = count
    made._pk_indexes = pk_indexes
    made._has_token = token is not None
    made._token = 0 if token is None else token
    return made


cdef void begin(Cursor* c, bytes data) noexcept:
    c.p = <const uint8_t*>PyBytes_AS_STRING(data)
    c.end = c.p + PyBytes_GET_SIZE(data)


@cython.final
cdef class BindPlan:
    """Encoder of the parameters of a prepared statement into wire bytes and a routing token."""

    cdef readonly tuple specs
    cdef readonly tuple names
    cdef readonly object pk_indexes
    cdef const TypeNode** _nodes
    cdef Py_ssize_t _count
    cdef Py_ssize_t _pk_count
    cdef bint _repeats  # several parameters have one name
    cdef bint _warned  # of names without a parameter
    cdef Py_ssize_t* _pk  # positions of the partition key's components, in the order of the key

    def __cinit__(self, specs, pk_indexes=None):
        cdef Py_ssize_t i
        self.specs = tuple([tuple(spec) for spec in specs])
        self.names = tuple([intern_name(spec[2]) for spec in self.specs])
        self._count = len(self.specs)
        self._repeats = len(set(self.names)) < self._count
        codecs = checked_children([spec[3] for spec in self.specs])
        self.pk_indexes = tuple(pk_indexes) if pk_indexes else None
        self._pk_count = len(self.pk_indexes) if self.pk_indexes else 0
        if any([not 0 <= index < self._count for index in self.pk_indexes or ()]):
            raise ValueError(f"partition key positions {self.pk_indexes} exceed the {self._count} parameters")
        self._nodes = <const TypeNode**>malloc((self._count + 1) * sizeof(TypeNode*))
        self._pk = <Py_ssize_t*>malloc((self._pk_count + 1) * sizeof(Py_ssize_t))
        if self._nodes == NULL or self._pk == NULL:
            raise MemoryError()
        for i in range(self._count):
            self._nodes[i] = &(<Codec>codecs[i]).node
        for i in range(self._pk_count):
            self._pk[i] = self.pk_indexes[i]

    def __dealloc__(self):
        free(self._nodes)
        free(self._pk)

    def __len__(self):
        return self._count

    def bind(self, values, int protocol_version, *, bint want_token=True, bint strict=False):
        """Encode *values* (positions, a mapping of names, or None) for an EXECUTE or BATCH."""
        cdef ByteBuffer out
        cdef Span[16] few
        cdef Span* spans = few
        cdef Bound bound
        positions = self._positions(values, protocol_version, strict)
        if self._count > 16:
            spans = <Span*>malloc(self._count * sizeof(Span))
            if spans == NULL:
                raise MemoryError()
        try:
            self._encode(positions, protocol_version, &out, spans)
            bound = Bound.__new__(Bound)
            bound.data = buffer_bytes(&out)
            bound.count = <int>self._count
            bound._pk_indexes = self.pk_indexes
            if want_token and self._pk_count:
                bound._has_token = self._hash(<const uint8_t*>PyBytes_AS_STRING(bound.data), spans, &bound._token)
        finally:
            if spans != few:
                free(spans)
        return bound

    cdef object _positions(self, values, int protocol_version, bint strict):
        """Return exactly one value per parameter, in a tuple, or in a list that this call owns."""
        cdef list positions
        if type(values) is tuple and len(<tuple>values) == self._count:
            return values
        if values is None:
            positions = []
        elif PyDict_Check(values) or not PyList_Check(values) and not PyTuple_Check(values) and is_mapping(values):
            return self._named(values, protocol_version, strict)
        else:
            positions = list(parameters_of(values))
        if len(positions) > self._count:
            hint = "; text counts as one argument per character, put it into a tuple" if PyUnicode_Check(values) else ""
            raise ValueError(
                f"Too many arguments provided to bind() (got {len(positions)}, expected {self._count}){hint}"
            )
        if len(positions) < self._count:
            if protocol_version < 4 or strict:
                raise ValueError(f"Too few arguments provided to bind() (got {len(positions)}, expected {self._count})")
            positions.extend([_unset] * (self._count - len(positions)))
        return positions

    cdef list _named(self, values, int protocol_version, bint strict):
        cdef list positions = []
        cdef bint plain = type(values) is dict
        cdef Py_ssize_t found = 0
        for name in self.names:
            if plain:
                value = (<dict>values).get(name, _missing)
            else:
                try:
                    value = values[name]  # which may create it, as defaultdict does
                except KeyError:
                    value = _missing
            if value is _missing:
                if protocol_version < 4 or strict:
                    raise KeyError(f"Column name `{name}` not found in bound dict.")
                value = _unset
            else:
                found += 1
            positions.append(value)
        if strict or plain and (self._repeats or found < len(<dict>values)) and not self._warned:
            self._check_names(values, strict)
        return positions

    cdef int _check_names(self, values, bint strict) except -1:
        """Warn of names that no parameter has, once, or raise ValueError if *strict*."""
        cdef list unknown = [name for name in values if name not in self.names]
        if not unknown:
            return 0
        names = ", ".join([repr(name) for name in unknown])
        text = f"no parameter of the statement is named {names}; its parameters: {', '.join(self.names) or 'none'}"
        if strict:
            raise ValueError(text)
        self._warned = True
        from cassandra._base.logs import get_logger

        table = ".".join(self.specs[0][:2]) if self.specs else "without parameters"
        get_logger("cassandra.query").warning(
            "Values for a statement (%s): %s. They are ignored, further ones without a warning; strict_binding=True "
            "makes it an error", table, text
        )
        return 0

    cdef int _encode(self, positions, int version, ByteBuffer* out, Span* spans) except -1:
        cdef Py_ssize_t i = 0
        cdef size_t at
        out.put16(<uint16_t>self._count)
        try:
            for i in range(self._count):
                value = (<tuple>positions)[i] if type(positions) is tuple else (<list>positions)[i]
                at = out.size() + 4
                spans[i].start = at
                spans[i].length = -1
                if value is _unset:
                    self._unset(i, version)
                    out.put32(UNSET_MARK)
                else:
                    encode_cell(self._nodes[i], value, out, version)
                    if value is not None:
                        spans[i].length = <Py_ssize_t>(out.size() - at)
        except (TypeError, ValueError, OverflowError) as error:
            if positions[i] is _unset:  # UNSET is not allowed here: the error is not about a type
                raise
            raise bind_error(self.specs[i], positions[i], error) from (None if is_native(error) else error)
        return 0

    cdef int _unset(self, Py_ssize_t i, int version) except -1:
        if version < 4:
            raise ValueError(f"Attempt to bind UNSET_VALUE while using unsuitable protocol version ({version} < 4)")
        if self.pk_indexes is not None and i in self.pk_indexes:
            raise ValueError(f"Cannot bind UNSET_VALUE as a part of the routing key '{self.names[i]}'")
        return 0

    cdef bint _hash(self, const uint8_t* data, const Span* spans, int64_t* token) except -1:
        """Hash the partition key in place, or as Cassandra's composite of several components. False if a component is
        null or too long."""
        cdef ByteBuffer key
        cdef Span span = spans[self._pk[0]]
        cdef Py_ssize_t i
        for i in range(self._pk_count):
            span = spans[self._pk[i]]
            if span.length < 0 or self._pk_count > 1 and span.length > MAX_KEY_COMPONENT:
                return False
            if self._pk_count > 1:
                key.put16(<uint16_t>span.length)
                key.put(data + span.start, <size_t>span.length)
                key.put8(0)
        if key.failed():
            raise MemoryError()
        if self._pk_count == 1:
            token[0] = murmur3_token(data + span.start, <size_t>span.length)
        else:
            token[0] = murmur3_token(key.data(), key.size())
        return True


cdef object parameters_of(values):
    """Return an iterable of parameters. Text gives its characters, as in other drivers; bytes (numbers) are refused."""
    if PyList_Check(values) or PyTuple_Check(values):
        return values
    if not PyBytes_Check(values):
        try:
            return iter(values)
        except TypeError:
            pass
    raise TypeError(
        f"parameters must be a sequence or a mapping, not {type(values).__name__}; one value is given as (value,)"
    )


cdef bint is_native(error) except -1:
    """True if no code of a program has raised *error*, but that of the codec, so that a traceback says nothing more."""
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.endswith((".pxi", ".pyx")):
            return False
        trace = trace.tb_next
    return True


cdef object bind_error(tuple spec, value, error):
    """Return the error as in scylla-driver: TypeError for wrong types and for numbers out of range, except for float
    and time; ValueError and UnicodeEncodeError for values of the right type that cannot be encoded."""
    keyspace, table, name, codec = spec
    kind = "type" if isinstance(error, TypeError) else "value"
    reason = error.reason if isinstance(error, UnicodeEncodeError) else error
    if isinstance(value, (list, tuple, set, frozenset)) and not codec.children:
        reason = f"{reason}. A marker in IN (?) takes one value; IN ? takes a list"
    message = (
        f"Received an argument of invalid {kind} for column \"{name}\". "
        f"Expected: <class 'cassandra.cqltypes.{class_name(codec)}'>, Got: {type(value)}; "
        f"({keyspace}.{table}, {codec.cql()}: {reason})"
    )
    if isinstance(error, UnicodeEncodeError):
        return UnicodeEncodeError(error.encoding, error.object, error.start, error.end, message)
    if isinstance(error, OverflowError):
        return {"float": OverflowError, "time": ValueError}.get(codec.name, TypeError)(message)
    return (ValueError if isinstance(error, ValueError) else TypeError)(message)


cdef dict _class_names = {
    "ascii": "AsciiType", "bigint": "LongType", "blob": "BytesType", "boolean": "BooleanType", "counter": "CounterColumnType",
    "date": "SimpleDateType", "decimal": "DecimalType", "double": "DoubleType", "duration": "DurationType", "float": "FloatType",
    "inet": "InetAddressType", "int": "Int32Type", "list": "ListType", "map": "MapType", "set": "SetType",
    "smallint": "ShortType", "text": "UTF8Type", "time": "TimeType", "timestamp": "DateType", "timeuuid": "TimeUUIDType",
    "tinyint": "ByteType", "tuple": "TupleType", "uuid": "UUIDType", "varchar": "VarcharType", "varint": "IntegerType",
}


cdef str class_name(codec):
    """Return the type's name in cassandra.cqltypes."""
    if codec.type_name is not None:
        return codec.type_name
    if codec.dimensions:
        return f"VectorType({codec.dimensions})"
    name = _class_names.get(codec.name, codec.name)
    return f"{name}({', '.join([class_name(child) for child in codec.children])})" if codec.children else name


# ---- client-side timestamps, used by every write with a timestamp

from libc.time cimport time_t

cdef extern from "<time.h>" nogil:
    ctypedef int clockid_t
    struct timespec:
        time_t tv_sec
        long tv_nsec
    clockid_t CLOCK_REALTIME
    int clock_gettime(clockid_t clock, timespec* now)


cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object d, object key)

import time

cdef dict time_names = time.__dict__
cdef str time_name = "time"
cdef void* real_time = native_function(time.time)


cdef inline bint time_is_unmodified() noexcept:
    """True if time.time is the interpreter's own. Tests replace the function (freezegun) or its code (time-machine)."""
    cdef PyObject* found = PyDict_GetItemWithError(time_names, time_name)
    return found != NULL and is_native_function(found, real_time)


@cython.final
cdef class TimestampClock:
    """Strictly increasing microseconds since 1970. A call is atomic for all threads."""

    @property
    def last(self):
        return self.latest.load()

    @last.setter
    def last(self, int64_t value):
        self.latest.store(value)

    @property
    def ahead(self):
        return self.lead.load(memory_order_relaxed)

    def __reduce__(self):
        return _clock_after, (self.latest.load(),)

    def advance(self):
        return self.step()

    cdef int64_t step(self) except? -1:
        cdef timespec found
        cdef int64_t now, last, next
        if time_is_unmodified():
            clock_gettime(CLOCK_REALTIME, &found)
            now = <int64_t>found.tv_sec * 1000000 + found.tv_nsec // 1000
        else:
            now = int(time_names[time_name]() * 1000000)
        last = self.latest.load(memory_order_relaxed)
        while True:
            next = now if now > last else last + 1  # the clock may stand still, or go back
            if self.latest.compare_exchange_weak(last, next):
                break
        self.lead.store(0 if next == now else next - now, memory_order_relaxed)
        return next


def _clock_after(int64_t last):
    """Rebuild a copied or pickled clock."""
    cdef TimestampClock made = TimestampClock()
    made.latest.store(last)
    return made


# ---- EXECUTE of one prepared statement with constant options: from parameters to whole envelope and routing token


@cython.final
cdef class ExecuteTemplate:
    """The EXECUTE envelope of one statement, complete except for values and timestamp."""

    cdef BindPlan _plan
    cdef int _version
    cdef bytes _head  # from the header to the flags
    cdef bytes _tail  # between the values and the timestamp
    cdef bint _has_timestamp
    cdef bint _strict
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
        bint strict=False,
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
        self._has_timestamp = with_timestamp
        self._version_block = version_block
        self._strict = strict

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
        positions = plan._positions(values, self._version, self._strict)
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
        if self._has_timestamp:
            stamp = (<TimestampClock>timestamp).step() if type(timestamp) is TimestampClock else timestamp
            out.put64(<uint64_t>stamp)
        if self._version_block is not None:
            block = self._version_block(token if routed else None)
            out.put8(block)
        return close_envelope(out)

    def around(self):
        """Return the bytes around values and timestamp: the envelope up to the values, and the part behind them."""
        return self._head, self._tail

    cdef Py_ssize_t _trailer_size(self):
        return (8 if self._has_timestamp else 0) + (0 if self._version_block is None else 1)

    def bound(self, bytes frame not None, token=None):
        """Return the values of an envelope that this template made, with their token."""
        cdef Py_ssize_t start = PyBytes_GET_SIZE(self._head)
        cdef Py_ssize_t end = PyBytes_GET_SIZE(frame) - PyBytes_GET_SIZE(self._tail) - self._trailer_size()
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
        if not self._has_timestamp:
            return None
        cdef Py_ssize_t start = PyBytes_GET_SIZE(frame) - self._trailer_size()
        return int.from_bytes(frame[start : start + 8], "big", signed=True)


cdef bytes encode_by_template(template, values, timestamp, int64_t* token, bint* routed):
    return (<ExecuteTemplate?> template)._encode(values, timestamp, token, routed)


# ---- EXECUTE in two steps: the values, by which a cache finds its page, then the envelope around them


cdef bytes encode_values(template, values, int64_t* token, bint* routed):
    cdef ExecuteTemplate made = <ExecuteTemplate?> template
    cdef BindPlan plan = made._plan
    cdef ByteBuffer out
    cdef Span[16] few
    cdef Span* spans = few
    positions = plan._positions(values, made._version, made._strict)
    routed[0] = False
    if plan._count == 0:
        return b""
    if plan._count > 16:
        spans = <Span*>malloc(plan._count * sizeof(Span))
        if spans == NULL:
            raise MemoryError()
    try:
        plan._encode(positions, made._version, &out, spans)
        if plan._pk_count > 0 and not out.failed():
            routed[0] = plan._hash(out.data(), spans, token)
        return buffer_bytes(&out)
    finally:
        if spans != few:
            free(spans)


cdef bytes envelope_of(template, bytes values, timestamp, bint routed, int64_t token):
    cdef ExecuteTemplate made = <ExecuteTemplate?> template
    cdef ByteBuffer out
    out.put(PyBytes_AS_STRING(made._head), <size_t>PyBytes_GET_SIZE(made._head))
    out.put(PyBytes_AS_STRING(values), <size_t>PyBytes_GET_SIZE(values))
    return made._close(&out, timestamp, routed, token)
