# Collections, tuples, user types and vectors. A count from the wire is accepted only if the remaining bytes can hold so
# many items.

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
    if node.op == INT and n == 4:  # mostly ids: saves a call per item
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
    cdef bint tracked = not (key.atomic and value.atomic)
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
    return decode_fields_into(&PyTuple_Type, node, p, n, version)


cdef PyObject* decode_fields_into(
    PyTypeObject* cls, const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version
) except NULL:
    cdef Ref row
    if node.arity == 0:
        return owned((<object>cls).__new__(<object>cls, ()))
    row.reset(new_row(cls, node.arity))
    fill_fields(node, p, p + n, tuple_items(row.get()), version)
    if not node.atomic:
        GC_TRACK(row.get())
    return row.release()


cdef object made_for_values(Codec codec):
    """Return the class for values of a user type without a registered class. Two threads get the same one."""
    make = make_namedtuple(codec.type_name, codec.field_names)
    if codec._make is None:  # not replaced: another thread may use the node's pointer
        codec._make = make
        codec.node.make = <PyObject*>make
    return make


cdef PyObject* decode_udt(const TypeNode* node, const uint8_t* p, Py_ssize_t n, int version) except NULL:
    cdef object make = <object>node.make
    cdef Codec codec = <Codec>node.codec
    cdef Ref row
    if make is None:
        make = made_for_values(codec)
    if node.how == MAKE_ROW:
        return decode_fields_into(<PyTypeObject*>make, node, p, n, version)
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
