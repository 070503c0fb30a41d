# Wire bytes to Python values. decode_value() is the only switch; a kernel gets exactly the bytes of its value and
# checks their number before it reads.

cdef PyObject* decode_value(const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version) except NULL:
    """Return a new reference to the value of the n bytes at p."""
    cdef int op = operation_of(node)
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
        return owned(load_reference(empty_of(<Codec>node.codec)))
    needs = {
        INT: "4 bytes", FLOAT: "4 bytes", DATE: "4 bytes", SMALLINT: "2 bytes", TINYINT: "1 byte", BOOLEAN: "1 byte",
        UUID: "16 bytes", TIMEUUID: "16 bytes", INET: "4 or 16 bytes", DECIMAL: "5 bytes or more",
    }.get(operation_of(node), "8 bytes")
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
    cdef object decode = load_reference(decode_of(codec))
    return data if decode is None else decode(data, version)


# ---- collections, tuples, user types and vectors
#
# A count from the wire is accepted only if the remaining bytes can hold so many items.

cdef inline PyObject* decode_cell(const TypeNode* node, const uint8_t** cursor, const uint8_t* end, int version) except NULL:
    """Decode one [bytes] item at *cursor*, and move the cursor behind it."""
    cdef const uint8_t* p = cursor[0]
    cdef int32_t n
    if end - p < 4:
        raise ValueError(f"{(<Codec>node.codec).cql()} item: its length is cut off")
    n = load_i32(p)
    p += 4
    if n < 0:
        cursor[0] = p
        return none()
    if n > end - p:
        raise ValueError(f"{(<Codec>node.codec).cql()} item of {n} bytes where {end - p} are left")
    cursor[0] = p + n
    if operation_of(node) == INT and n == 4:  # mostly ids: saves a call per item
        return PyLong_FromLong(load_i32(p))
    return decode_value(node, p, n, version)


cdef Py_ssize_t read_count(const TypeNode* node, const uint8_t** cursor, const uint8_t* end, int cells) except -1:
    """Return the number of items of a collection, each of which takes at least *cells* length prefixes."""
    cdef const uint8_t* p = cursor[0]
    cdef int32_t count
    if end - p < 4:
        raise ValueError(f"{(<Codec>node.codec).name} of {end - p} bytes has no room for its count")
    count = load_i32(p)
    cursor[0] = p + 4
    if count < 0 or <int64_t>count * cells * 4 > end - p - 4:
        raise ValueError(f"{(<Codec>node.codec).name} claims {count} items in {end - p - 4} bytes")
    return count


cdef inline int check_end(const TypeNode* node, const uint8_t* p, const uint8_t* end) except -1:
    if p != end:
        raise ValueError(f"{(<Codec>node.codec).name} has {end - p} bytes too many")
    return 0


cdef list decode_list(const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version):
    cdef const uint8_t* end = p + n
    cdef const TypeNode* child = node.children[0]
    cdef Py_ssize_t i, count = read_count(node, &p, end, 1)
    cdef list items = PyList_New(count)
    for i in range(count):
        SET_LIST(<PyObject*>items, i, decode_cell(child, &p, end, version))
    check_end(node, p, end)
    return items


cdef object decode_set(const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version):
    cdef list items = decode_list(node, p, n, version)
    if _set_from_list is None:
        load_collections()
    return _set_from_list(items)


cdef object decode_map(const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version):
    cdef const uint8_t* end = p + n
    cdef Py_ssize_t i, count = read_count(node, &p, end, 2)
    cdef list items = PyList_New(count)
    cdef const TypeNode* key = node.children[0]
    cdef const TypeNode* value = node.children[1]
    cdef bint tracked = not (is_atomic(key) and is_atomic(value))
    cdef Ref pair
    for i in range(count):
        pair.reset(new_row(&PyTuple_Type, 2))
        tuple_items(pair.get())[0] = decode_cell(key, &p, end, version)
        tuple_items(pair.get())[1] = decode_cell(value, &p, end, version)
        if tracked:
            GC_TRACK(pair.get())
        SET_LIST(<PyObject*>items, i, pair.release())
    check_end(node, p, end)
    return make_map(node, items, version)


cdef object make_map(const TypeNode* node, list items, int version):
    cdef object result
    if _map is None:
        load_collections()
    if _map.direct:
        result = Ref_take(new_instance(_map.type, _map.tracked))
        set_slot(<PyObject*>result, _map.offsets[0], owned(items))
        set_slot(<PyObject*>result, _map.offsets[1], none())
        set_slot(<PyObject*>result, _map.offsets[2], owned(<object>node.children[0].codec))
        set_slot(<PyObject*>result, _map.offsets[3], checked(PyLong_FromLong(version)))
        return result
    result = _map.cls.__new__(_map.cls)
    result._items = items
    result._index = None
    result.cass_key_type = <object>node.children[0].codec
    result.protocol_version = version
    return result


cdef int fill_fields(const TypeNode* node, const uint8_t* p, const uint8_t* end, PyObject** items, int version) except -1:
    """Decode the fields of a tuple or user type. Missing fields at the end are null; fields beyond those of the node
    (the type was altered since its metadata was read) are ignored."""
    cdef Py_ssize_t i
    for i in range(node.arity):
        items[i] = none() if p == end else decode_cell(node.children[i], &p, end, version)
    return 0


cdef PyObject* decode_tuple(const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version) except NULL:
    return decode_fields_into(&PyTuple_Type, node, p, n, version, not is_atomic(node))


cdef PyObject* decode_fields_into(
    PyTypeObject* cls, const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version, bint tracked
) except NULL:
    cdef Ref row
    if node.arity == 0:
        return owned((<object>cls).__new__(<object>cls, ()))
    row.reset(new_row(cls, node.arity))
    fill_fields(node, p, p + n, tuple_items(row.get()), version)
    if tracked:
        GC_TRACK(row.get())
    return row.release()


cdef object made_for_values(Codec codec, _ValueFactory factory):
    """Return the class for values of a user type without a registered class, made for the first value: a server may
    describe many types. Two threads get the same one."""
    return put_once(make_of(factory), make_namedtuple(codec.type_name, codec.field_names))


cdef PyObject* decode_udt(const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version) except NULL:
    cdef Codec codec = <Codec>node.codec
    cdef _ValueFactory factory = <_ValueFactory>load_reference(factory_of(codec))
    cdef object make = load_once(make_of(factory))
    cdef Ref row
    if make is None:
        make = made_for_values(codec, factory)
    if factory.in_place:
        return decode_fields_into(<PyTypeObject*>make, node, p, n, version, factory.tracked)
    row.reset(decode_tuple(node, p, n, version))
    return owned(make(**dict(zip(codec.field_names, <object>row.get()))))


cdef object vector_size_error(const TypeNode* node, Py_ssize_t n):
    cql = (<Codec>node.children[0].codec).cql()
    needs = f"serialized size {node.fixed}" if node.fixed >= 0 else f"a serialized size of {node.arity} or more"
    return ValueError(
        f"Expected vector of type {cql} and dimension {node.arity} to have {needs}; "
        f"observed serialized size of {n} instead"
    )


cdef list decode_vector(const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version):
    cdef const TypeNode* child = node.children[0]
    cdef const uint8_t* end = p + n
    cdef Py_ssize_t i, size = child.fixed, count = node.arity
    cdef uint64_t length = 0
    cdef list items
    cdef size_t used
    if n != node.fixed if size >= 0 else n < count:
        raise vector_size_error(node, n)
    items = PyList_New(count)
    for i in range(count):
        if size < 0:
            used = read_unsigned_vint(p, end, &length)
            p += used
            if used == 0 or length > <uint64_t>(end - p):
                raise ValueError(
                    f"Error reading additional data during vector deserialization after successfully adding {i} elements"
                )
            n = <Py_ssize_t>length
        else:
            n = size
        SET_LIST(<PyObject*>items, i, decode_value(child, p, n, version))
        p += n
    if p != end:
        raise ValueError(f"Additional bytes remaining after vector deserialization completed: {end - p}")
    return items


# ---- pages whose encrypted columns are decrypted, for column readers, which read bytes and not values


def decrypted_page(RowsPage page not None, ResultPlan plan not None):
    """Return *page* with encrypted values decrypted by its ciphers, and with *plan*; see the stub."""
    cdef Cursor c = page._rows
    cdef const uint8_t* p = c.p
    cdef const uint8_t* kept = c.p  # bytes from here on are copied unchanged
    cdef Py_ssize_t row, i, count = page.plan._count
    cdef int32_t size
    cdef RowPosition at
    cdef list ciphers = [codec.cipher for codec in page.plan.codecs]
    cdef list parts = []
    at.row = 0
    at.column = 0
    try:
        for row in range(page._count):
            at.row = row
            for i in range(count):
                at.column = i
                if c.end - p < 4:
                    raise ValueError("the response ends before the length of this value")
                size = load_i32(p)
                p += 4
                if size > c.end - p:
                    raise ValueError(f"a value of {size} bytes where the response has {c.end - p} left")
                if size < 0:
                    continue
                cipher = ciphers[i]
                if cipher is not None:
                    plain = <bytes?>cipher.decrypt(PyBytes_FromStringAndSize(<const char*>p, size))
                    parts.append(PyBytes_FromStringAndSize(<const char*>kept, p - 4 - kept))
                    parts.append((<Py_ssize_t>len(plain)).to_bytes(4, "big"))
                    parts.append(plain)
                    kept = p + size
                p += size
    except MemoryError:
        raise
    except Exception as error:
        raise row_error(page.plan, &at, error) from error
    parts.append(PyBytes_FromStringAndSize(<const char*>kept, p - kept))
    return page_of_bytes(plan, b"".join(parts), page._count, page._version)


def described_page(RowsPage page not None, ResultPlan plan not None):
    """Return the rows of *page* with *plan*; see the stub."""
    if plan._count != page.plan._count:
        raise ValueError(f"a plan of {plan._count} columns does not fit rows of {page.plan._count}")
    return rows_page(plan, &page._rows, page._owner, page._count, page._version)
