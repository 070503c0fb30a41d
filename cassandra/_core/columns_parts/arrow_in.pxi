# Input by Arrow's capsules: schemas, arrays and streams.

cdef ArrowSchema* schema_of(capsule) except NULL:
    """Return the schema; the capsule keeps it."""
    cdef ArrowSchema* schema
    if not PyCapsule_IsValid(capsule, "arrow_schema"):
        raise TypeError(f"expected a capsule of an Arrow schema, got {type(capsule).__name__}")
    schema = <ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release == NULL:
        raise ValueError("the Arrow schema was released already")
    return schema


cdef ArrowArray* array_of(capsule) except NULL:
    """Return the array; the capsule keeps it until it is taken over."""
    if not PyCapsule_IsValid(capsule, "arrow_array"):
        raise TypeError(f"expected a capsule of an Arrow array, got {type(capsule).__name__}")
    return <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array")


def column_names(schema):
    cdef ArrowSchema* found = schema_of(schema)
    cdef list names = []
    cdef int64_t i
    if found.format == NULL or <bytes>found.format != b"+s" or found.n_children < 0:
        raise ValueError("expected the Arrow schema of rows (a struct of columns)")
    for i in range(found.n_children):
        if found.children == NULL or found.children[i] == NULL:
            raise ValueError(f"the Arrow schema lacks column {i}")
        name = found.children[i].name
        names.append("" if name == NULL else (<bytes>name).decode(errors="replace"))
    return names


cdef class ArrowReader:
    """An Arrow stream as an iterator of arrays; see the stub."""

    cdef ArrowArrayStream native
    cdef readonly object schema
    cdef bint busy  # a thread is in a call without the GIL

    def __cinit__(self, stream):
        cdef ArrowArrayStream* found
        if not PyCapsule_IsValid(stream, "arrow_array_stream"):
            raise TypeError(f"expected a capsule of an Arrow stream, got {type(stream).__name__}")
        found = <ArrowArrayStream*>PyCapsule_GetPointer(stream, "arrow_array_stream")
        if found.release == NULL:
            raise ValueError("the Arrow stream was read already")
        self.native = found[0]
        found.release = NULL
        self.schema = self._schema()

    def __dealloc__(self):
        if self.native.release != NULL:
            self.native.release(&self.native)

    def _schema(self):
        cdef int code
        made = empty_schema()
        cdef ArrowSchema* schema = native_schema(made)
        with nogil:
            code = self.native.get_schema(&self.native, schema)
        if code != 0:
            schema.release = NULL
            self._failed(code)
        return made

    def __iter__(self):
        return self

    def __next__(self):
        cdef int code
        cdef ArrowArray* array
        if self.busy:
            raise RuntimeError("another thread is reading this stream")
        if self.native.release == NULL:
            raise StopIteration
        made = empty_array()
        array = array_of(made)
        self.busy = True
        with nogil:
            code = self.native.get_next(&self.native, array)
        self.busy = False
        if code != 0:
            array.release = NULL
            self._failed(code)
        if array.release == NULL:
            self.close()
            raise StopIteration
        return made

    def close(self):
        if self.busy:
            raise RuntimeError("another thread is reading this stream")
        if self.native.release != NULL:
            self.native.release(&self.native)
            self.native.release = NULL

    def _failed(self, int code):
        cdef const char* text = self.native.get_last_error(&self.native)
        why = "" if text == NULL else (<bytes>text).decode(errors="replace")
        self.close()
        raise OSError(code, why or "the Arrow stream failed")
