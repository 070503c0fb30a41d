# Wire bytes to Python values. decode_value() is the only switch; a kernel gets exactly the bytes of its value and
# checks their number before it reads.

cdef PyObject* decode_value(const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version) except NULL:
    """Return a new reference to the value of the n bytes at p."""
    cdef int op = node.op
    if op == INT:
        if n == 4:
            return PyLong_FromLong(load_i32(p))
    elif op == TEXT or op == VARCHAR:
        return decode_text(p, n)
    elif op == BIGINT or op == COUNTER:
        if n == 8:
            return PyLong_FromLongLong(load_i64(p))
    elif op == DOUBLE:
        if n == 8:
            return PyFloat_FromDouble(load_double(p))
    elif op == TIMESTAMP:
        if n == 8:
            return decode_timestamp(load_i64(p))
    elif op == UUID or op == TIMEUUID:
        if n == 16:
            return decode_uuid(p)
    elif op == BOOLEAN:
        if n == 1:
            return decode_boolean(p)
    elif op == FLOAT:
        if n == 4:
            return PyFloat_FromDouble(load_float(p))
    elif op == BLOB:
        return PyBytes_New(<const char*>p, n)
    elif op == ASCII:
        return PyUnicode_DecodeASCII(<const char*>p, n, NULL)
    elif op == SMALLINT:
        if n == 2:
            return PyLong_FromLong(<int16_t>load16(p))
    elif op == TINYINT:
        if n == 1:
            return PyLong_FromLong(<int8_t>p[0])
    elif op == DATE:
        if n == 4:
            return decode_date(p)
    elif op == TIME:
        if n == 8:
            return decode_time(p)
    elif op == VARINT:
        if n > 0:
            return decode_varint(p, n)
    elif op == DECIMAL:
        if n > 4:
            return owned(decode_decimal(p, n))
    elif op == INET:
        if n == 4 or n == 16:
            return decode_inet(p, n)
    elif op == DURATION:
        if n > 0:
            return owned(decode_duration(p, n))
    elif op == CALL:
        return owned(decode_custom(node, p, n, version))
    elif n > 0:
        if op == LIST:
            return owned(decode_list(node, p, n, version))
        if op == SET:
            return owned(decode_set(node, p, n, version))
        if op == MAP:
            return owned(decode_map(node, p, n, version))
        if op == UDT:
            return decode_udt(node, p, n, version)
        if op == TUPLE:
            return decode_tuple(node, p, n, version)
        if op == VECTOR:
            return owned(decode_vector(node, p, n, version))
    return irregular(node, n)


cdef PyObject* irregular(const TypeNode* node, Py_ssize_t n) except NULL:
    """Return the value of a length that is not the type's own: the empty value, or raise."""
    if n == 0:
        INCREF(node.empty)
        return node.empty
    needs = {
        INT: "4 bytes", FLOAT: "4 bytes", DATE: "4 bytes", SMALLINT: "2 bytes", TINYINT: "1 byte", BOOLEAN: "1 byte",
        UUID: "16 bytes", TIMEUUID: "16 bytes", INET: "4 or 16 bytes", DECIMAL: "5 bytes or more",
    }.get(node.op, "8 bytes")
    raise ValueError(f"{(<Codec>node.codec).name} needs {needs}, the value has {n}")


cdef inline PyObject* decode_text(const uint8_t* p, Py_ssize_t n) noexcept:
    cdef PyObject* text
    if n > 1 and is_ascii(p, <size_t>n):  # shorter ones are shared objects of the interpreter
        text = PyUnicode_New(n, 127)
        if text != NULL:
            memcpy(PyUnicode_DATA(text), p, <size_t>n)
        return text
    return PyUnicode_DecodeUTF8(<const char*>p, n, NULL)


cdef inline PyObject* decode_boolean(const uint8_t* p) noexcept:
    cdef PyObject* value = Py_True if p[0] else Py_False
    INCREF(value)
    return value


cdef inline PyObject* decode_timestamp(int64_t ms) noexcept:
    """Return a naive UTC datetime, or the int of milliseconds beyond the range of datetime."""
    cdef CivilTime t
    if not split_timestamp(ms, &t):
        return PyLong_FromLongLong(ms)
    return NEW_DATETIME(t.year, t.month, t.day, t.hour, t.minute, t.second, t.microsecond)


cdef PyObject* decode_uuid(const uint8_t* p) except NULL:
    """Make a UUID by its slots: its __init__ alone costs ten times the rest."""
    cdef Ref value
    cdef Ref number
    if _uuid is None:
        load_uuid()
    number.reset(checked(long_from_bytes(p, 16, 0)))
    if not _uuid.direct:
        return owned(_uuid.cls(int=<object>number.get()))
    value.reset(new_instance(_uuid.type, _uuid.tracked))
    set_slot(value.get(), _uuid.offsets[0], number.release())
    set_slot(value.get(), _uuid.offsets[1], owned(_safe_uuid_unknown))
    return value.release()


cdef inline PyObject* checked(PyObject* o) except NULL:
    return o


cdef PyObject* decode_date(const uint8_t* p) except NULL:
    cdef int64_t days = <int64_t>load32(p) - (<int64_t>1 << 31)
    if _date is None:
        load_temporal()
    return decode_number_in_slot(_date, days)


cdef PyObject* decode_time(const uint8_t* p) except NULL:
    if _date is None:
        load_temporal()
    return decode_number_in_slot(_time, load_i64(p))


cdef PyObject* decode_number_in_slot(_SlottedClass target, int64_t number) except NULL:
    cdef Ref value
    if not target.direct:
        return owned(target.cls(number))
    value.reset(new_instance(target.type, target.tracked))
    set_slot(value.get(), target.offsets[0], checked(PyLong_FromLongLong(number)))
    return value.release()


cdef PyObject* decode_varint(const uint8_t* p, Py_ssize_t n) noexcept:
    if n <= 8:
        return PyLong_FromLongLong(load_varint(p, <size_t>n))
    return long_from_bytes(p, <size_t>n, 1)


cdef object decode_decimal(const uint8_t* p, Py_ssize_t n):
    """Return a Decimal from an int32 scale and an unscaled varint; short ones through their digits, long ones
    exactly."""
    cdef char[48] text
    cdef int64_t exponent = -<int64_t>load_i32(p)
    cdef size_t length
    if _decimal is None:
        load_decimal()
    if n <= 12:
        length = format_int(load_varint(p + 4, <size_t>(n - 4)), text)
        text[length] = c"E"
        length += 1 + format_int(exponent, text + length + 1)
        return _decimal(Ref_take(checked(PyUnicode_DecodeASCII(text, <Py_ssize_t>length, NULL))))
    unscaled = Ref_take(checked(long_from_bytes(p + 4, <size_t>(n - 4), 1)))
    return _decimal(unscaled).scaleb(exponent, _exact)


cdef PyObject* decode_inet(const uint8_t* p, Py_ssize_t n) noexcept:
    cdef char[64] text
    return PyUnicode_DecodeASCII(text, <Py_ssize_t>format_inet(p, <size_t>n, text), NULL)


cdef object decode_duration(const uint8_t* p, Py_ssize_t n):
    cdef const uint8_t* end = p + n
    cdef int64_t[3] parts
    cdef uint64_t raw = 0
    cdef size_t used
    cdef int i
    for i in range(3):
        used = read_unsigned_vint(p, end, &raw)
        if used == 0:
            raise ValueError("duration ends within one of its three numbers")
        parts[i] = zigzag_decode(raw)
        p += used
    if p != end:
        raise ValueError(f"duration has {end - p} bytes too many")
    if _date is None:
        load_temporal()
    if not _duration.direct:
        return _duration.cls(parts[0], parts[1], parts[2])
    value = Ref_take(new_instance(_duration.type, _duration.tracked))
    for i in range(3):
        set_slot(<PyObject*>value, _duration.offsets[i], checked(PyLong_FromLongLong(parts[i])))
    return value


cdef object decode_custom(const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version):
    cdef Codec codec = <Codec>node.codec
    cdef bytes data = PyBytes_FromStringAndSize(<const char*>p, n)
    return data if codec._decode is None else codec._decode(data, version)
