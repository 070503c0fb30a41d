# Pickling of plans and batches, for other processes and checkpoints: unpickled ones have plain memory.

_FORMS = {
    <int>Form.Bits: "integer",
    <int>Form.Int8: "integer",
    <int>Form.Int16: "integer",
    <int>Form.Int32: "integer",
    <int>Form.Int64: "integer",
    <int>Form.Float: "float",
    <int>Form.Double: "float",
    <int>Form.Bytes: "bytes",
    <int>Form.Words: "bytes",
    <int>Form.Views: "bytes",
    <int>Form.Uuid: "uuid",
    <int>Form.TimeUuid: "uuid",
    <int>Form.Wide16: "wide",
    <int>Form.Wide32: "wide",
}


cdef tuple field_of(const Type* type):
    form = "number" if is_number_text(type) else _FORMS.get(<int>form_of(type[0]))
    format = "u" if type.kind == Kind.Dictionary else (<bytes>type.format).decode()
    return (<bytes>type.name).decode(), format, (<bytes>type.cql).decode(), form


cdef tuple state_of(const Type* type):
    return (
        <int>type.kind,
        type.nullable,
        type.is_decimal256,
        type.precision,
        type.scale,
        type.dimensions,
        type.element,
        type.parent,
        <bytes>type.name,
        <bytes>type.format,
        <bytes>type.metadata,
        <bytes>type.cql,
    )


def _load_plan(types):
    """Rebuild a pickled plan."""
    cdef ColumnPlan plan = ColumnPlan.__new__(ColumnPlan, (), None)
    cdef Type* type
    plan.native.separate = False
    for kind, nullable, is_decimal256, precision, scale, dimensions, element, parent, name, format, metadata, cql in types:
        if not -1 <= parent < <Py_ssize_t>plan.native.types.size() or not 0 <= kind <= <int>Kind.Place:
            raise ValueError("the pickle of a column plan is damaged")
        type = &plan.native.add(parent)
        type.kind = <Kind><int>kind
        type.nullable, type.is_decimal256 = nullable, is_decimal256
        type.precision, type.scale, type.dimensions, type.element = precision, scale, dimensions, element
        type.name, type.format, type.metadata, type.cql = name, format, metadata, cql
    if not plan.native.complete():
        raise ValueError("the pickle of a column plan is damaged")
    plan.names = tuple([(<bytes>plan.native.types[i].name).decode() for i in range(plan.native.columns)])
    return plan


cdef bytes save_batch(RecordBatch batch):
    cdef string data
    if batch.num_rows != batch.native.rows() or batch.plan.native.has_views:  # copies only the rows of the slice
        batch = gather([(batch, 0, batch.num_rows)], batch.plan)
    save_native(batch.native[0], data)
    return <bytes>data


def _load_batch(ColumnPlan plan not None, bytes data not None):
    """Rebuild a pickled batch."""
    cdef Failure failure
    cdef Batch* native = new_batch(plan)
    if not native.load(<const uint8_t*><const char*>data, len(data), failure):
        native.release()
        if failure.kind == FailureKind.Memory:
            raise MemoryError("no memory for the batch of a pickle")
        raise ValueError("the pickle of a batch is damaged")
    return new_slice(plan, native, 0, native.rows())
