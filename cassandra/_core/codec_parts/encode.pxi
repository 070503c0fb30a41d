# Python values to wire bytes, appended to one buffer. A value that its type cannot hold raises TypeError (wrong type),
# OverflowError (out of range) or ValueError; binding adds the name of the parameter.

cdef class _Unset:
    """Type of UNSET: a bound value that leaves the column unchanged."""

    def __repr__(self):
        return "UNSET_VALUE"

    def __reduce__(self):
        return "UNSET"

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


UNSET = _Unset()
cdef object _unset = UNSET


from cpython.buffer cimport PyBUF_ND

cdef int encode_value(const TypeNode* node, object value, ByteBuffer* out, int version) except -1:
    """Append the bytes of a value that is neither null nor unset, without a length."""
    cdef int op = operation_of(node)
    if op == INT:
        out.put32(<uint32_t>as_integer(node, value, INT32_MIN, INT32_MAX))
    elif op == TEXT or op == VARCHAR or op == ASCII:
        encode_text(node, value, out)
    elif op == BIGINT or op == COUNTER:
        out.put64(<uint64_t>as_integer(node, value, INT64_MIN, INT64_MAX))
    elif op == DOUBLE:
        out.put_double(as_double(node, value))
    elif op == TIMESTAMP:
        out.put64(<uint64_t>as_timestamp(node, value))
    elif op == UUID or op == TIMEUUID:
        encode_uuid(node, value, out)
    elif op == BOOLEAN:
        out.put8(as_boolean(node, value))
    elif op == FLOAT:
        out.put_float(as_float(node, value))
    elif op == BLOB:
        encode_blob(node, value, out)
    elif op == SMALLINT:
        out.put16(<uint16_t>as_integer(node, value, -0x8000, 0x7FFF))
    elif op == TINYINT:
        out.put8(<uint8_t>as_integer(node, value, -0x80, 0x7F))
    elif op == DATE:
        out.put32(as_date(node, value))
    elif op == TIME:
        out.put64(<uint64_t>as_time(node, value))
    elif op == VARINT:
        encode_varint(as_index(node, value), out)
    elif op == DECIMAL:
        encode_decimal(node, value, out)
    elif op == INET:
        encode_inet(node, value, out)
    elif op == DURATION:
        encode_duration(node, value, out)
    elif op == LIST or op == SET:
        encode_items(node, value, out, version)
    elif op == MAP:
        encode_map(node, value, out, version)
    elif op == TUPLE:
        encode_tuple(node, value, out, version)
    elif op == UDT:
        encode_udt(node, value, out, version)
    elif op == VECTOR:
        encode_vector(node, value, out, version)
    else:
        encode_custom(node, value, out, version)
    return 0


cdef object wrong_type(const TypeNode* node, object value, str needs):
    return TypeError(f"{(<Codec>node.codec).cql()} needs {needs}, not {type(value).__name__}")


cdef object out_of_range(const TypeNode* node, object value, str limits):
    shown = repr(value) if not isinstance(value, int) or value.bit_length() <= 256 else "an int that large"
    return OverflowError(f"{shown} is out of range for {(<Codec>node.codec).cql()} ({limits})")


cdef bint is_masked(object value) except -1:
    if not is_of_heap_type(value) or not hasattr(value, "filled"):
        return False
    from cassandra._base.numbers import is_masked

    return is_masked(value)


cpdef bint is_real(object value) except -1:
    """True if float(value) is *value* as a whole. False for text, and for complex numbers, masked elements and times of
    NumPy, of which float() takes a part."""
    if PyUnicode_Check(value) or not (PyIndex_Check(value) or hasattr(value, "__float__")):
        return False
    if PyComplex_Check(value) or is_masked(value):
        return False
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    if kind == "O":
        return getattr(value, "shape", None) == () and is_real(value.item())
    return kind not in "cmMSU"


cdef object as_index(const TypeNode* node, object value):
    """Return *value* as int if it is a whole number of any kind; floats are not."""
    if PyLong_Check(value):
        return value
    if not PyIndex_Check(value) or is_masked(value):
        raise wrong_type(node, value, "an int")
    return PyNumber_Index(value)


cdef int64_t as_integer(const TypeNode* node, object value, int64_t low, int64_t high) except? -1:
    cdef int overflow = 0
    cdef int64_t number
    if not PyLong_Check(value):
        value = as_index(node, value)
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or number < low or number > high:
        raise out_of_range(node, value, f"{low} to {high}")
    return number


cdef double as_double(const TypeNode* node, object value) except? -1:
    cdef double number
    if PyFloat_Check(value):
        return PyFloat_AS_DOUBLE(value)
    if not PyLong_Check(value) and not is_real(value):
        raise wrong_type(node, value, "a float")
    number = PyFloat_AsDouble(value)
    if isinf(number) and value != number:  # e.g. a Decimal, which is rounded to infinity
        raise out_of_range(node, value, "64-bit floating point")
    return number


cdef float as_float(const TypeNode* node, object value) except? -1:
    cdef double wide = as_double(node, value)
    cdef float narrow = <float>wide
    if isinf(<double>narrow) and not isinf(wide):
        raise out_of_range(node, value, "32-bit floating point")
    return narrow


cdef int as_boolean(const TypeNode* node, object value) except -1:
    if value is True:
        return 1
    if value is False:
        return 0
    if PyLong_Check(value):
        return PyObject_IsTrue(value)
    if is_masked(value):
        raise wrong_type(node, value, "a bool")
    if getattr(getattr(value, "dtype", None), "kind", None) == "b" and getattr(value, "shape", None) == ():
        return PyObject_IsTrue(value)
    if PyIndex_Check(value):
        return PyObject_IsTrue(PyNumber_Index(value))  # which arrays of other numbers do not have
    raise wrong_type(node, value, "a bool")


cdef int encode_text(const TypeNode* node, object value, ByteBuffer* out) except -1:
    cdef Py_ssize_t n, bad
    if not PyUnicode_Check(value):
        raise wrong_type(node, value, "a str")
    n = TEXT_LENGTH(value)
    if TEXT_IS_ASCII(value):
        out.put(TEXT_DATA(value), <size_t>n)
        return 0
    if (<Codec>node.codec).kind == ASCII:
        bad = next(i for i, letter in enumerate(value) if letter > "\x7f")
        raise UnicodeEncodeError("ascii", value, bad, bad + 1, "ascii cannot hold characters beyond U+007F")
    bad = put_utf8(out[0], TEXT_DATA(value), <size_t>n, TEXT_KIND(value))
    if bad >= 0:
        raise UnicodeEncodeError("utf-8", value, bad, bad + 1, "text cannot hold a lone surrogate")
    return 0


cdef int encode_blob(const TypeNode* node, object value, ByteBuffer* out) except -1:
    cdef Py_buffer view
    cdef bytes data
    if PyBytes_Check(value):
        out.put(PyBytes_AS_STRING(value), <size_t>PyBytes_GET_SIZE(value))
        return 0
    if not PyObject_CheckBuffer(value):
        # bytes(5) would be five zeros
        if not (hasattr(value, "__bytes__") or PyList_Check(value) or PyTuple_Check(value)):
            raise wrong_type(node, value, "bytes or another buffer")
        data = bytes(value)
        out.put(PyBytes_AS_STRING(data), <size_t>PyBytes_GET_SIZE(data))
        return 0
    if is_masked(value):
        raise wrong_type(node, value, "bytes or another buffer")
    PyObject_GetBuffer(value, &view, PyBUF_ND)
    if view.ndim > 0:
        out.put(view.buf, <size_t>view.len)
    PyBuffer_Release(&view)
    if view.ndim == 0:  # a NumPy scalar: its buffer is not meant as bytes
        raise wrong_type(node, value, "bytes or another buffer")
    return 0


cdef int encode_uuid(const TypeNode* node, object value, ByteBuffer* out) except -1:
    cdef uint8_t[16] data
    cdef PyObject* number
    if _uuid is None:
        load_uuid()
    if isinstance(value, _uuid.cls):
        number = get_slot(<PyObject*>value, _uuid.offsets[0]) if _uuid.direct else NULL
        integer = value.int if number == NULL else <object>number
        if not PyLong_Check(integer):
            raise TypeError("UUID.int is not an int")
        long_to_16_bytes(integer, data)
        out.put(data, 16)
        return 0
    raw = getattr(value, "bytes", None)
    if not isinstance(raw, bytes) or len(raw) != 16:
        raise wrong_type(node, value, "a uuid.UUID")
    out.put(PyBytes_AS_STRING(raw), 16)
    return 0


cdef int encode_varint(object value, ByteBuffer* out) except -1:
    """Append minimal two's complement, as Java makes it (routing tokens depend on that)."""
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if not overflow:
        put_varint(out[0], number)
        return 0
    value = int.__int__(value)  # a subclass may override arithmetic
    bits = (~value if value < 0 else value).bit_length()
    cdef bytes data = value.to_bytes(bits // 8 + 1, "big", signed=True)
    out.put(PyBytes_AS_STRING(data), <size_t>PyBytes_GET_SIZE(data))
    return 0


cdef int encode_decimal(const TypeNode* node, object value, ByteBuffer* out) except -1:
    """Append an int32 scale and the unscaled value."""
    if _decimal is None:
        load_decimal()
    if type(value) is not _decimal:  # a subclass, too: it may override str() and arithmetic
        value = as_decimal(node, value)
    if not value.is_finite():
        raise ValueError(f"decimal cannot hold {value}")
    exponent = value.as_tuple().exponent if len(str(value)) > 40 else short_exponent(str(value))
    if not -INT32_MAX <= exponent <= -<int64_t>INT32_MIN:
        raise out_of_range(node, value, "a scale of 32 bits")
    out.put32(<uint32_t><int32_t>(-exponent))
    encode_varint(int(value.scaleb(-exponent, _exact)), out)
    return 0


cdef object as_decimal(const TypeNode* node, object value):
    """Return an exact Decimal of the same value; a tuple or list is a sign, digits and an exponent."""
    if not isinstance(value, (_decimal, int, float, str, tuple, list)):
        if not PyIndex_Check(value) or is_masked(value):
            raise wrong_type(node, value, "a decimal.Decimal, int, float or str")
        value = PyNumber_Index(value)
    try:
        return _decimal(value)
    except (ArithmeticError, ValueError):
        raise TypeError(f"invalid decimal number: {value!r}") from None


cdef object short_exponent(str text):
    """Return the exponent of a decimal number from its text: that after E less the number of fraction digits."""
    mantissa, _, exponent = text.upper().partition("E")
    _, _, fraction = mantissa.partition(".")
    return (int(exponent) if exponent else 0) - len(fraction)


cdef int encode_inet(const TypeNode* node, object value, ByteBuffer* out) except -1:
    cdef uint8_t[16] address
    cdef size_t size
    if PyUnicode_Check(value):
        size = parse_inet(PyUnicode_AsUTF8AndSize(value, NULL), address)
        if size == 0 or "\0" in value:
            raise ValueError(f"{value!r} is not an IP address")
        out.put(address, size)
        return 0
    packed = getattr(value, "packed", None)  # of the ipaddress module
    if not isinstance(packed, bytes) or len(packed) not in (4, 16):
        raise ValueError(f"inet needs a str or an ipaddress.IPv4Address or IPv6Address, not {type(value).__name__}")
    check_address(value)
    out.put(PyBytes_AS_STRING(packed), <size_t>len(packed))
    return 0


cpdef object check_address(object value):
    """Raise ValueError for an object of the ipaddress module of which 4 or 16 bytes are a part."""
    if getattr(value, "scope_id", None) is not None:
        raise ValueError(f"inet cannot hold the scope of {value}")
    network = getattr(value, "network", None)  # of an IPv4Interface or IPv6Interface
    if network is not None and network.prefixlen != network.max_prefixlen:
        raise ValueError(f"inet cannot hold the prefix length of {value}")


cdef int encode_custom(const TypeNode* node, object value, ByteBuffer* out, int version) except -1:
    cdef Codec codec = <Codec>node.codec
    cdef object encode = load_reference(encode_of(codec))
    if encode is None:
        return encode_blob(node, value, out)
    data = encode(value, version)
    if not isinstance(data, bytes):
        raise TypeError(f"the serializer of {codec.name} returned {type(data).__name__} instead of bytes")
    out.put(PyBytes_AS_STRING(data), <size_t>PyBytes_GET_SIZE(data))
    return 0


# ---- timestamp, date, time and duration from datetime objects, the classes of cassandra.util, text and ints

cdef enum:
    MICROSECONDS_PER_DAY = 86400000000
    NANOSECONDS_PER_DAY = 86400000000000


cdef int64_t as_timestamp(const TypeNode* node, object value) except? -1:
    """Return milliseconds since the epoch, rounded down. Naive datetimes are UTC."""
    cdef int64_t days, microseconds
    if PyLong_Check(value):
        if value is True or value is False:
            raise wrong_type(node, value, "a datetime, date, or milliseconds since the epoch")
        return as_integer(node, value, INT64_MIN, INT64_MAX)
    if PyDate_Check(value):
        if not PyDateTime_CheckExact(value) and value != value:
            raise ValueError(f"invalid timestamp: {value}")  # NaT of pandas, which is a datetime to isinstance()
        days = days_of(value)
        if not PyDateTime_Check(value):
            return days * 86400000
        microseconds = (
            (PyDateTime_DATE_GET_HOUR(value) * 60 + PyDateTime_DATE_GET_MINUTE(value)) * 60
            + PyDateTime_DATE_GET_SECOND(value)
        ) * <int64_t>1000000 + PyDateTime_DATE_GET_MICROSECOND(value)
        microseconds += days * MICROSECONDS_PER_DAY
        if DATETIME_TZ(value) != Py_None:
            microseconds -= utc_offset(value)
        return (microseconds - ((microseconds % 1000) + 1000) % 1000) // 1000
    if PyFloat_Check(value):
        value = int(PyFloat_AS_DOUBLE(value))  # as scylla-driver: milliseconds, cut; raises for nan and infinity
        return as_integer(node, value, INT64_MIN, INT64_MAX)
    if PyIndex_Check(value):
        return as_integer(node, value, INT64_MIN, INT64_MAX)
    raise wrong_type(node, value, "a datetime, date, or milliseconds since the epoch")


cdef inline int64_t days_of(object value) noexcept:
    return days_from_civil(PyDateTime_GET_YEAR(value), PyDateTime_GET_MONTH(value), PyDateTime_GET_DAY(value))


cdef int64_t utc_offset(object value) except? -1:
    """Return the UTC offset in microseconds; 0 if the tzinfo gives None."""
    delta = value.utcoffset()
    if delta is None:
        return 0
    return (
        PyDateTime_DELTA_GET_DAYS(delta) * <int64_t>MICROSECONDS_PER_DAY
        + PyDateTime_DELTA_GET_SECONDS(delta) * <int64_t>1000000
        + PyDateTime_DELTA_GET_MICROSECONDS(delta)
    )


cdef uint32_t as_date(const TypeNode* node, object value) except? 0:
    """Return days since the epoch plus 2**31. An int is taken as that sum, as in CQL and scylla-driver."""
    cdef int64_t days
    if PyLong_Check(value) or not PyDate_Check(value) and PyIndex_Check(value):
        return <uint32_t>as_integer(node, value, 0, 0xFFFFFFFF)
    if PyDate_Check(value):
        if value != value:
            raise ValueError(f"invalid date: {value}")
        days = days_of(value)
    else:
        if PyUnicode_Check(value):
            if _date is None:
                load_temporal()
            value = _date.cls(value)
        number = getattr(value, "days_from_epoch", None)
        if number is None:
            raise wrong_type(node, value, "a date, cassandra.util.Date, str, or days counted from 2**31")
        days = as_integer(node, number, -0x80000000, 0x7FFFFFFF)
    return <uint32_t>(days + 0x80000000)


cdef int64_t as_time(const TypeNode* node, object value) except? -1:
    """Return nanoseconds since midnight."""
    if not PyLong_Check(value):
        if PyUnicode_Check(value) or PyTime_Check(value):
            if _date is None:
                load_temporal()
            value = _time.cls(value)
        number = getattr(value, "nanosecond_time", None)
        if number is not None:
            value = number
        elif not PyIndex_Check(value):
            raise wrong_type(node, value, "a time, cassandra.util.Time, str, or nanoseconds since midnight")
    return as_integer(node, value, 0, NANOSECONDS_PER_DAY - 1)


cdef int encode_duration(const TypeNode* node, object value, ByteBuffer* out) except -1:
    cdef int64_t months, days, nanoseconds
    try:
        parts = value.months, value.days, value.nanoseconds
    except AttributeError:
        raise wrong_type(node, value, "a cassandra.util.Duration") from None
    try:
        months = as_integer(node, parts[0], INT32_MIN, INT32_MAX)
        days = as_integer(node, parts[1], INT32_MIN, INT32_MAX)
        nanoseconds = as_integer(node, parts[2], INT64_MIN, INT64_MAX)
    except OverflowError as error:
        raise ValueError(str(error)) from None
    if min(months, days, nanoseconds) < 0 < max(months, days, nanoseconds):
        raise ValueError(f"months, days and nanoseconds of a duration must have the same sign: {value!r}")
    put_unsigned_vint(out[0], zigzag_encode(months))
    put_unsigned_vint(out[0], zigzag_encode(days))
    put_unsigned_vint(out[0], zigzag_encode(nanoseconds))
    return 0


# ---- collections, tuples, user types and vectors
#
# Lengths and counts are reserved and filled in afterwards, so that items are encoded without separate buffers.

cdef int encode_cell(const TypeNode* node, object value, ByteBuffer* out, int version) except -1:
    """Append a [bytes] item."""
    cdef size_t at = out.size(), length
    if value is None:
        out.put32(0xFFFFFFFF)
        return 0
    if value is _unset:
        raise ValueError("UNSET_VALUE stands for a whole value, not for a part of one")
    out.put32(0)
    encode_value(node, value, out, version)
    if not out.failed():
        length = out.size() - at - 4
        if length > <size_t>INT32_MAX:
            raise OverflowError(f"a value of {length} bytes is too large")
        out.patch32(at, <uint32_t>length)
    return 0


cdef inline int patch_count(ByteBuffer* out, size_t at, Py_ssize_t count) except -1:
    if count > INT32_MAX:
        raise OverflowError(f"a collection of {count} items is too large")
    out.patch32(at, <uint32_t>count)
    return 0


cdef int encode_items(const TypeNode* node, object value, ByteBuffer* out, int version) except -1:
    """Append a list or set from any iterable except text."""
    cdef size_t at = out.size()
    cdef Py_ssize_t count = 0
    cdef const TypeNode* child = node.children[0]
    if PyUnicode_Check(value):
        raise wrong_type(node, value, "a collection")
    out.put32(0)
    if PyList_Check(value):
        for item in <list>value:
            encode_cell(child, item, out, version)
            count += 1
    else:
        try:
            items = iter(value)
        except TypeError:
            raise wrong_type(node, value, "a collection") from None
        for item in items:
            encode_cell(child, item, out, version)
            count += 1
    return patch_count(out, at, count)


cdef int encode_map(const TypeNode* node, object value, ByteBuffer* out, int version) except -1:
    cdef size_t at = out.size()
    cdef Py_ssize_t count = 0
    items = getattr(value, "items", None)
    if items is None or not callable(items):
        raise wrong_type(node, value, "a mapping")
    out.put32(0)
    for key, item in items():
        encode_cell(node.children[0], key, out, version)
        encode_cell(node.children[1], item, out, version)
        count += 1
    return patch_count(out, at, count)


cdef int encode_fields(const TypeNode* node, tuple fields, Py_ssize_t count, ByteBuffer* out, int version) except -1:
    """Append *count* fields in the order of the type; missing fields become null."""
    cdef Py_ssize_t i, n = len(fields)
    if n > node.arity:
        raise ValueError(f"{(<Codec>node.codec).cql()} has {node.arity} fields, the value has {n}")
    for i in range(count):
        encode_cell(node.children[i], fields[i] if i < n else None, out, version)
    return 0


cdef int encode_tuple(const TypeNode* node, object value, ByteBuffer* out, int version) except -1:
    """Append a tuple. A short one stays short, as in a CQL literal: it is another key than one filled up with nulls."""
    if PyUnicode_Check(value):
        raise wrong_type(node, value, "a tuple")
    try:
        fields = tuple(value)
    except TypeError:
        raise wrong_type(node, value, "a tuple") from None
    return encode_fields(node, fields, len(fields), out, version)


cdef int encode_udt(const TypeNode* node, object value, ByteBuffer* out, int version) except -1:
    """Append a user type: a named tuple by name, another tuple or a list by position, a mapping by key, any other
    object by attribute; missing fields become null. A tuple may be longer than the type: another program has added
    fields since."""
    cdef Codec codec = <Codec>node.codec
    return encode_fields(node, fields_of(value, codec.type_name, codec.field_names), node.arity, out, version)


cpdef tuple fields_of(object value, str type_name, tuple names):
    """Return the fields *names* of a value of a user type, in this order; those at the end may be missing."""
    cdef tuple given
    if PyTuple_Check(value) or PyList_Check(value):
        given = tuple(value)
        if type(value) is not tuple and type(value) is not list:
            own = getattr(value, "_fields", None)
            if type(own) is tuple and own != names and len(<tuple>own) == len(given):
                return by_name(given, own, type_name, names)
        return given[:len(names)] if len(given) > len(names) else given
    if PyDict_Check(value) or is_mapping(value):
        unknown = [key for key in value if key not in names]
        if unknown:
            raise ValueError(f"user type {type_name} has no field {unknown[0]!r}")
        return tuple([value.get(name) for name in names])
    fields = [getattr(value, name, _unset) for name in names]
    if fields and fields.count(_unset) == len(fields):
        wanted = "a tuple, a mapping, or an object with its fields as attributes"
        raise TypeError(f"{type_name} needs {wanted}, not {type(value).__name__}")
    return tuple([None if field is _unset else field for field in fields])


cdef tuple by_name(tuple given, tuple own, str type_name, tuple names):
    """Return the fields *names* of a named tuple with the fields *own*: by name if the type has all of these, or they
    include all of the type; else by position, as names may have changed, unless names that both have contradict it."""
    cdef dict found = dict(zip(own, given))
    common = [name for name in names if name in found]
    if len(common) == len(own) or len(common) == len(names):
        return tuple([found.get(name) for name in names])
    moved = [name for name in common if own.index(name) != names.index(name)]
    if moved:
        unknown = next(name for name in own if name not in names)
        raise ValueError(
            f"user type {type_name} has no field {unknown!r}, and the named tuple has {moved[0]!r} at another position"
        )
    return given[:len(names)]


cdef bint is_mapping(object value) except -1:
    from collections.abc import Mapping

    return isinstance(value, Mapping)


cdef int encode_vector(const TypeNode* node, object value, ByteBuffer* out, int version) except -1:
    cdef const TypeNode* child = node.children[0]
    cdef tuple elements
    if type(value) is list or type(value) is tuple:
        if encode_floats(node, value, out):
            return 0
    elif PyObject_CheckBuffer(value) and not is_masked(value) and encode_array(node, value, out):
        return 0
    try:
        elements = tuple(value)
    except TypeError:
        raise wrong_type(node, value, "a sequence") from None
    if len(elements) != node.arity:
        raise ValueError(
            f"Expected sequence of size {node.arity} for vector of type {(<Codec>child.codec).cql()} and dimension "
            f"{node.arity}, observed sequence of length {len(elements)}"
        )
    if PyUnicode_Check(value):
        raise wrong_type(node, value, "a sequence of elements")
    for element in elements:
        encode_element(child, element, out, version)
    return 0


cdef int encode_element(const TypeNode* node, object value, ByteBuffer* out, int version) except -1:
    """Append one vector element: without a prefix if its type has one size, else after its length as [unsigned
    vint]."""
    cdef ByteBuffer element
    if value is None or value is _unset:
        raise TypeError("the elements of a vector cannot be null")
    if node.fixed >= 0:
        return encode_value(node, value, out, version)
    encode_value(node, value, &element, version)
    if element.failed():
        raise MemoryError()
    put_unsigned_vint(out[0], element.size())
    out.put(element.data(), element.size())
    return 0


cdef bint encode_floats(const TypeNode* node, object value, ByteBuffer* out) except -1:
    """Append a list or tuple of as many Python floats as the vector has elements.

    False, with nothing written, if the element-wise conversion is needed: for other elements, numbers out of range.
    """
    cdef int child = operation_of(node.children[0])
    cdef size_t at = out.size()
    cdef uint8_t* target
    cdef Py_ssize_t i
    cdef PyObject** items
    cdef double number
    if child != FLOAT and child != DOUBLE:
        return False
    with cython.critical_section(value):
        if PySequence_Fast_GET_SIZE(value) != node.arity:
            return False
        target = out.extend(<size_t>node.fixed)
        if target == NULL:
            return False
        items = PySequence_Fast_ITEMS(value)
        for i in range(node.arity):
            if not PyFloat_CheckExact(<object>items[i]):
                break
            number = PyFloat_AS_DOUBLE(<object>items[i])
            if child == DOUBLE:
                store_element(target + 8 * i, number, <double*>NULL)
            elif not store_element(target + 4 * i, number, <float*>NULL):
                break
        else:
            return True
    out.truncate(at)
    return False


cdef bint encode_array(const TypeNode* node, object value, ByteBuffer* out) except -1:
    """Append a one-dimensional buffer of machine numbers (NumPy, array.array), converted in one loop.

    False, with nothing written, if the element-wise conversion is needed: other formats, numbers out of range.
    """
    cdef Py_buffer view
    cdef int child = operation_of(node.children[0])
    cdef cbool swapped = False
    cdef cbool done = False
    cdef size_t at = out.size()
    cdef uint8_t* target
    cdef Element source
    if child not in (FLOAT, DOUBLE, INT, BIGINT):
        return False
    try:
        PyObject_GetBuffer(value, &view, PyBUF_FORMAT | PyBUF_STRIDES)
    except (BufferError, ValueError, TypeError):
        return False
    if view.ndim == 1 and view.shape[0] == node.arity:
        source = element_of(view.format, <size_t>view.itemsize, &swapped)
        target = out.extend(<size_t>node.fixed)
        if target != NULL:
            done = copy_array(child, source, <const uint8_t*>view.buf, view.strides[0], <size_t>node.arity, swapped, target)
            if not done:
                out.truncate(at)
    PyBuffer_Release(&view)
    return done


cdef cbool copy_array(
    int op, Element source, const uint8_t* p, Py_ssize_t stride, size_t n, cbool swapped, uint8_t* target
) noexcept:
    if op == FLOAT:
        return copy_to_float(source, p, stride, n, swapped, target)
    if op == DOUBLE:
        return copy_to_double(source, p, stride, n, swapped, target)
    if op == INT:
        return copy_to_int32(source, p, stride, n, swapped, target)
    return copy_to_int64(source, p, stride, n, swapped, target)
