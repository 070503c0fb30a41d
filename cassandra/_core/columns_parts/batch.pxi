# Record batches: their plan, their columns, their pickled form.
#
# ColumnPlan: the columns of a result as Arrow types, and the pool of their memory.

cdef class ColumnPlan:
    cdef Plan* native
    cdef BlockPool* blocks
    cdef readonly tuple names

    def __cinit__(
        self,
        columns,
        pool,
        *,
        strings="utf8",
        decimals="utf8",
        varints="utf8",
        uuids="arrow.uuid",
    ):
        cdef _Choices choices = _Choices(strings, decimals, varints, uuids)
        if pool is None:
            self.blocks = &plain_blocks()
        else:
            self.blocks = <BlockPool*>PyCapsule_GetPointer(pool._blocks, "fastcql::memory::BlockPool")
        self.blocks.hold()
        self.native = new Plan()
        self.native.separate = pool is None
        columns = list(columns)
        self.names = tuple([name for name, _ in columns])
        level = [(name, codec, -1, True) for name, codec in columns]
        while level:  # level by level, so that children are side by side
            below = []
            for name, codec, parent, nullable in level:
                below.extend(add_type(self.native, choices, name, codec, parent, nullable))
            level = below
        if not self.native.complete():
            raise AssertionError("the types of a plan are not in order")

    def __dealloc__(self):
        if self.native != NULL:
            self.native.release()
        if self.blocks != NULL:
            self.blocks.let_go()

    def __len__(self):
        return self.native.columns

    def __eq__(self, other):
        if not isinstance(other, ColumnPlan):
            return NotImplemented
        return self.native.same_as((<ColumnPlan>other).native[0])

    __hash__ = None

    def __repr__(self):
        fields = [
            f"{self.native.types[i].name.decode()}: {self.native.types[i].format.decode()}"
            for i in range(self.native.columns)
        ]
        return f"<ColumnPlan {', '.join(fields)}>"

    @property
    def fields(self):
        return tuple([field_of(&self.native.types[i]) for i in range(self.native.columns)])

    def __reduce__(self):
        return _load_plan, ([state_of(&self.native.types[i]) for i in range(self.native.types.size())],)

    def __arrow_c_schema__(self):
        return schema_capsule(self.native)


class _Entries:
    """The pairs of a map, a separate type in Arrow."""

    def __init__(self, codec):
        self.children = codec.children


cdef list add_type(Plan* plan, _Choices choices, name, codec, int parent, bint nullable):
    """Add a field, and return (name, codec, parent, nullable) of each of its children."""
    cdef int index = <int>plan.types.size()
    cdef Type* type = &plan.add(parent)
    type.name = name.encode()
    type.nullable = nullable
    if codec is None:
        type.kind = Kind.Place
        type.format = b"i"
        return []
    if isinstance(codec, _Entries):
        type.kind = Kind.Struct
        type.format = b"+s"
        type.cql = b"map"
        key, value = codec.children
        return [("key", key, index, False), ("value", value, index, True)]
    encrypted = codec.stored is not None
    if encrypted:
        codec = codec.cipher.inner
    cql = codec.cql()
    type.cql = cql.encode()
    type.element = codec.element_size
    type.metadata = field_metadata(codec, cql, choices, encrypted)
    if codec.kind == 0 and not codec.dimensions:
        type.kind = Kind.Binary
        type.format = b"z"
    elif codec.dimensions:
        type.kind = Kind.Vector
        type.dimensions = codec.dimensions
        type.format = f"+w:{codec.dimensions}".encode()
        return [("item", codec.children[0], index, True)]
    elif codec.name in ("list", "set"):
        type.kind = Kind.List
        type.format = b"+l"
        return [("item", codec.children[0], index, True)]
    elif codec.name == "map":
        type.kind = Kind.Map
        type.format = b"+m"
        return [("entries", _Entries(codec), index, False)]
    elif codec.name in ("tuple", "udt"):
        type.kind = Kind.Struct
        type.format = b"+s"
        names = codec.field_names or [f"f{i}" for i in range(len(codec.children))]
        return [(field, child, index, True) for field, child in zip(names, codec.children)]
    else:
        choices.set_scalar(type[0], codec.kind, parent >= 0)
    return []


cdef string field_metadata(codec, str cql, _Choices choices, bint encrypted) except *:
    cdef Metadata metadata
    metadata.add(b"cql.type", cql.encode())
    if encrypted:
        metadata.add(b"cql.encrypted", b"true")
    if codec.kind in (_UUID, _TIMEUUID) and choices.tagged_uuids:
        metadata.add(b"ARROW:extension:name", b"arrow.uuid")
        metadata.add(b"ARROW:extension:metadata", b"")
    return metadata.bytes()


cdef object schema_capsule(Plan* plan):
    made = empty_schema()
    if not export_schema(plan[0], native_schema(made)):
        raise MemoryError()
    return made


cdef object empty_schema():
    """Return a capsule of a released schema, to be filled."""
    return owned_by_capsule(calloc(1, sizeof(ArrowSchema)), "arrow_schema", free_schema)


cdef ArrowSchema* native_schema(capsule) except NULL:
    return <ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema")


cdef void free_schema(capsule) noexcept:
    """Free the schema of a capsule, and release it unless it was taken over."""
    cdef ArrowSchema* schema = <ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


# ---- RecordBatch: finished columns, or some rows of them. ColumnBuilder: builds one from several pages

cdef enum:
    LARGE = 64 << 10  # bytes of a page that are decoded without the GIL


cdef class RecordBatch:
    cdef Batch* native  # the rows are *num_rows* of its rows, from *offset* on
    cdef readonly ColumnPlan plan
    cdef readonly int64_t offset
    cdef readonly int64_t num_rows

    def __init__(self):
        raise TypeError("use decode() or ColumnBuilder.finish() to make batches")

    def __dealloc__(self):
        if self.native != NULL:
            self.native.release()

    def __len__(self):
        return self.num_rows

    @property
    def num_columns(self):
        return self.plan.native.columns

    @property
    def nbytes(self):
        return self.native.bytes()

    @property
    def schema(self):
        return self.plan

    def __repr__(self):
        return f"<RecordBatch: {self.num_rows} rows of {len(self.plan)} columns in {self.nbytes} bytes>"

    def slice(self, offset=0, length=None):
        cdef int64_t first = min(max(offset, 0), self.num_rows)
        cdef int64_t rows = self.num_rows - first
        if offset < 0 or (length is not None and length < 0):
            raise ValueError(f"offset and length of a slice must not be negative, got {offset!r} and {length!r}")
        self.native.retain()
        return new_slice(self.plan, self.native, self.offset + first, rows if length is None else min(rows, length))

    def column(self, which):
        cdef int index = self._index(which)
        cdef const Column* column = &self.native.column(index)
        cdef list found = [
            new_memory(self, column.validity.data(), column.validity.size()) if column.nulls else None,
            new_memory(self, column.values.data(), column.values.size()),
        ]
        if column.type.is_variable():
            found.append(new_memory(self, column.data.data(), column.data.size()))
        return tuple(found)

    cdef int _index(self, which) except -1:
        if isinstance(which, str):
            if self.plan.names.count(which) != 1:
                raise KeyError(f"{self.plan.names.count(which)} columns are named {which!r}")
            return self.plan.names.index(which)
        return range(len(self.plan))[which]

    def null_count(self, which):
        return self.native.nulls_within(self._index(which), self.offset, self.num_rows)

    def __reduce__(self):
        return _load_batch, (self.plan, save_batch(self))

    def __arrow_c_schema__(self):
        return schema_capsule(self.plan.native)

    def __arrow_c_array__(self, requested_schema=None):
        schema = schema_capsule(self.plan.native)
        array = empty_array()
        if not self.native.export_array(array_of(array), self.offset, self.num_rows):
            raise MemoryError()
        return schema, array


cdef RecordBatch new_slice(ColumnPlan plan, Batch* native, int64_t first, int64_t rows):
    """Make a slice; take over the reference to *native*."""
    cdef RecordBatch batch
    try:
        batch = RecordBatch.__new__(RecordBatch)
    except BaseException:
        native.release()
        raise
    batch.native = native
    batch.plan = plan
    batch.offset = first
    batch.num_rows = rows
    return batch


cdef object empty_array():
    """Return a capsule of a released array, to be filled."""
    return owned_by_capsule(calloc(1, sizeof(ArrowArray)), "arrow_array", free_array)


cdef object owned_by_capsule(void* memory, const char* name, PyCapsule_Destructor destructor):
    """Return a capsule that frees *memory*, which is freed too if that fails; MemoryError if *memory* is NULL."""
    if memory == NULL:
        raise MemoryError()
    try:
        return PyCapsule_New(memory, name, destructor)
    except BaseException:
        free(memory)
        raise


cdef void free_array(capsule) noexcept:
    cdef ArrowArray* array = <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array")
    if array.release != NULL:
        array.release(array)
    free(array)


cdef uint8_t[64] _nothing


cdef class _Memory:
    """Exports a buffer of a batch, read-only, and keeps the batch."""

    cdef RecordBatch batch
    cdef const uint8_t* data
    cdef size_t size

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, <void*>(self.data if self.data != NULL else _nothing), <Py_ssize_t>self.size, 1, flags)


cdef object new_memory(RecordBatch batch, const uint8_t* data, size_t size):
    cdef _Memory memory = _Memory.__new__(_Memory)
    memory.batch = batch
    memory.data = data
    memory.size = size
    return memoryview(memory)


cdef class ColumnBuilder:
    cdef ColumnPlan plan
    cdef Batch* native
    cdef RowCount in_all
    cdef Busy busy  # a thread is in a call

    def __cinit__(self, ColumnPlan plan not None, target_rows=0, expected_rows=0):
        self.plan = plan
        self.in_all.target = min(target_rows, INT32_MAX)  # no batch has more
        self.in_all.expected = min(expected_rows, INT32_MAX)

    def __dealloc__(self):
        if self.native != NULL:
            self.native.release()

    def __len__(self):
        return self.native.rows() if self.native != NULL else 0

    @property
    def nbytes(self):
        return self.native.bytes() if self.native != NULL else 0

    def append(self, page):
        cdef Page at
        cdef Py_buffer view
        cdef Failure failure
        cdef cbool done
        self._begin()
        try:
            PyObject_GetBuffer(page, &view, PyBUF_SIMPLE)
            try:
                set_page(self.plan, &at, page, &view)
                if not self.native.has_room_for(at):
                    return False
                done = read_page(self.native, &at, self.in_all, &failure)
            finally:
                PyBuffer_Release(&view)
        finally:
            self.busy.end()
        if not done:
            raise_failure(page, &failure)
        return True

    def finish(self):
        cdef Batch* native
        self._begin()
        native = self.native
        self.native = NULL
        self.busy.end()
        return finished(self.plan, native)

    cdef int _begin(self) except -1:
        if not self.busy.begin():
            raise RuntimeError("another thread is appending to this builder")
        if self.native == NULL:
            try:
                self.native = new_batch(self.plan)
            except BaseException:
                self.busy.end()
                raise
        return 0


def decode(ColumnPlan plan not None, page):
    """Return all rows of a page as one batch; see the stub."""
    cdef Batch* native
    cdef Page at
    cdef Py_buffer view
    cdef Failure failure
    cdef cbool done
    PyObject_GetBuffer(page, &view, PyBUF_SIMPLE)
    try:
        native = new_batch(plan)
        try:
            set_page(plan, &at, page, &view)
            if not native.has_room_for(at):
                raise OverflowError(f"a page of {view.len} bytes is too large for one batch")
            done = read_page(native, &at, RowCount(), &failure)
            if not done:
                raise_failure(page, &failure)
        except BaseException:
            native.release()
            raise
    finally:
        PyBuffer_Release(&view)
    return finished(plan, native)


def decode_arrays(ColumnPlan plan not None, page):
    """Return the numbers of all rows, in memory owned by the caller; see the stub."""
    cdef RecordBatch batch = decode(plan, page)
    cdef const Column* column
    cdef const Column* numbers
    cdef int32_t i
    cdef list found = []
    for i in range(plan.native.columns):
        column = &batch.native.column(i)
        numbers = column
        if column.type.kind == Kind.Vector:
            numbers = column.children
        validity = new_array(&column.validity) if column.nulls else None
        found.append((new_array(&numbers.values), validity))
    return found


cdef class _Array:
    """Exports a writable buffer; it keeps only the buffer's block, not its batch."""

    cdef Shared* shared
    cdef uint8_t* data
    cdef size_t size

    def __dealloc__(self):
        if self.shared != NULL:
            self.shared.release()

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, <void*>(self.data if self.data != NULL else _nothing), <Py_ssize_t>self.size, 0, flags)


cdef object new_array(const Buffer* buffer):
    cdef _Array array = _Array.__new__(_Array)
    array.shared = buffer.share()
    array.data = buffer.data()
    array.size = buffer.size()
    return memoryview(array)


cdef Batch* new_batch(ColumnPlan plan) except NULL:
    cdef Batch* native = Batch.make(plan.native[0], plan.blocks[0])
    if native == NULL:
        raise MemoryError()
    return native


cdef int set_page(ColumnPlan plan, Page* at, page, Py_buffer* view) except -1:
    at.data = <const uint8_t*>view.buf
    at.size = <size_t>view.len
    at.rows = len(page)
    if plan.native.has_views:
        block = page._block
        if block is not None:
            at.frame = <FrameBlock*>PyCapsule_GetPointer(block, "fastcql::memory::FrameBlock")
    return 0


cdef cbool read_page(Batch* native, Page* at, const RowCount& in_all, Failure* failure) except *:
    cdef cbool done
    if at.size < LARGE:
        return native.append(at[0], in_all, failure[0])
    with nogil:
        done = native.append(at[0], in_all, failure[0])
    return done


cdef RecordBatch finished(ColumnPlan plan, Batch* native):
    """Finish the batch; take over the reference to *native*."""
    cdef Failure failure
    cdef RecordBatch batch = new_slice(plan, native, 0, native.rows())
    if not native.finish(failure):
        raise MemoryError("no memory to finish a batch")
    return batch


cdef int raise_failure(page, Failure* failure) except -1:
    if failure.kind == FailureKind.Memory:
        raise MemoryError(f"no memory for the columns of {page!r}")
    from cassandra._base.errors import DriverException
    from cassandra._base.logs import printable

    keyspace, table, name, codec = page.plan.specs[failure.column]
    text = (
        f"Failed to decode column {name!r} of {keyspace}.{table} as {codec.cql()} in row {failure.row} of the page: "
        f"{(<bytes>failure.text).decode(errors='replace')}"
    )
    raise DriverException(printable(text))


# ---- pickling of plans and batches, for other processes and checkpoints: unpickled ones have plain memory

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
