# Collections, tuples, user types and vectors. Lengths and counts are reserved and filled in afterwards, so that items
# are encoded without separate buffers.

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
    """Append a user type: a tuple or list by position, a mapping by key, any other object by attribute; missing fields
    become null. A tuple may be longer than the type: another program has added fields since."""
    cdef Codec codec = <Codec>node.codec
    cdef tuple given
    if PyTuple_Check(value) or PyList_Check(value):
        given = tuple(value)
        if len(given) > node.arity:
            given = given[:node.arity]
        return encode_fields(node, given, node.arity, out, version)
    if PyDict_Check(value) or is_mapping(value):
        unknown = [key for key in value if key not in codec.field_names]
        if unknown:
            raise ValueError(f"user type {codec.type_name} has no field {unknown[0]!r}")
        return encode_fields(node, tuple([value.get(name) for name in codec.field_names]), node.arity, out, version)
    fields = [getattr(value, name, _unset) for name in codec.field_names]
    if fields and fields.count(_unset) == len(fields):
        raise wrong_type(node, value, "a tuple, a mapping, or an object with its fields as attributes")
    found = tuple([None if field is _unset else field for field in fields])
    return encode_fields(node, found, node.arity, out, version)


cdef bint is_mapping(object value) except -1:
    from collections.abc import Mapping

    return isinstance(value, Mapping)


cdef int encode_vector(const TypeNode* node, object value, ByteBuffer* out, int version) except -1:
    cdef const TypeNode* child = node.children[0]
    cdef tuple elements
    if PyObject_CheckBuffer(value) and not is_masked(value) and encode_array(node, value, out):
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


cdef bint encode_array(const TypeNode* node, object value, ByteBuffer* out) except -1:
    """Append a one-dimensional buffer of machine numbers (NumPy, array.array), converted in one loop.

    False, with nothing written, if the element-wise conversion is needed: other formats, numbers out of range.
    """
    cdef Py_buffer view
    cdef const TypeNode* child = node.children[0]
    cdef cbool swapped = False
    cdef cbool done = False
    cdef size_t at = out.size()
    cdef uint8_t* target
    cdef Element source
    if child.op not in (FLOAT, DOUBLE, INT, BIGINT):
        return False
    try:
        PyObject_GetBuffer(value, &view, PyBUF_FORMAT | PyBUF_STRIDES)
    except (BufferError, ValueError, TypeError):
        return False
    if view.ndim == 1 and view.shape[0] == node.arity:
        source = element_of(view.format, <size_t>view.itemsize, &swapped)
        target = out.extend(<size_t>node.fixed)
        if target != NULL:
            done = copy_array(child.op, source, <const uint8_t*>view.buf, view.strides[0], <size_t>node.arity, swapped, target)
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
