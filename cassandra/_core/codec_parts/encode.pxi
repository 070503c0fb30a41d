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
    cdef int op = node.op
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
    """True if *value* is a masked array of NumPy, or the constant that stands for one of its masked elements. The data
    under a mask is not a value."""
    return is_of_heap_type(value) and hasattr(value, "mask") and hasattr(value, "filled")


cdef object as_index(const TypeNode* node, object value):
    """Return *value* as int if it is a whole number of any kind; floats are not."""
    if PyLong_Check(value):
        return value
    if not PyIndex_Check(value):
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
    if PyUnicode_Check(value) or not (PyIndex_Check(value) or hasattr(value, "__float__")) or is_masked(value):
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
    if is_masked(value):
        raise wrong_type(node, value, "a bool")
    if PyIndex_Check(value) or type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return PyObject_IsTrue(value)
    raise wrong_type(node, value, "a bool")


cdef int encode_text(const TypeNode* node, object value, ByteBuffer* out) except -1:
    cdef Py_ssize_t n, bad
    if not PyUnicode_Check(value):
        raise wrong_type(node, value, "a str")
    n = TEXT_LENGTH(value)
    if TEXT_IS_ASCII(value):
        out.put(TEXT_DATA(value), <size_t>n)
        return 0
    if node.op == ASCII:
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
        if not PyIndex_Check(value):
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
    out.put(PyBytes_AS_STRING(packed), <size_t>len(packed))
    return 0


cdef int encode_custom(const TypeNode* node, object value, ByteBuffer* out, int version) except -1:
    cdef Codec codec = <Codec>node.codec
    if codec._encode is None:
        return encode_blob(node, value, out)
    data = codec._encode(value, version)
    if not isinstance(data, bytes):
        raise TypeError(f"the serializer of {codec.name} returned {type(data).__name__} instead of bytes")
    out.put(PyBytes_AS_STRING(data), <size_t>PyBytes_GET_SIZE(data))
    return 0
