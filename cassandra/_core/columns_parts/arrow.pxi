# Arrow: its types for CQL types, and its C interfaces for output and input.

cdef enum:
    MAX_DECIMAL128 = 38
    MAX_DECIMAL256 = 76

# Wire id of the CQL type: native kind, Arrow format.
_PLAIN = {
    0x01: (<int>Kind.Ascii, b"u"),
    0x02: (<int>Kind.Eight, b"l"),
    0x03: (<int>Kind.Binary, b"z"),
    0x04: (<int>Kind.Boolean, b"b"),
    0x05: (<int>Kind.Eight, b"l"),
    0x07: (<int>Kind.Eight, b"g"),
    0x08: (<int>Kind.Four, b"f"),
    0x09: (<int>Kind.Four, b"i"),
    0x0A: (<int>Kind.Text, b"u"),
    0x0B: (<int>Kind.Eight, b"tsm:UTC"),
    0x0C: (<int>Kind.Uuid, b"w:16"),
    0x0D: (<int>Kind.Text, b"u"),
    0x0F: (<int>Kind.Uuid, b"w:16"),
    0x10: (<int>Kind.Inet, b"z"),
    0x11: (<int>Kind.Date, b"tdD"),
    0x12: (<int>Kind.Time, b"ttn"),
    0x13: (<int>Kind.Two, b"s"),
    0x14: (<int>Kind.One, b"c"),
    0x15: (<int>Kind.Duration, b"tin"),
}
_DECIMAL, _UUID, _VARINT, _TIMEUUID = 0x06, 0x0C, 0x0E, 0x0F
_TEXTS = (0x01, 0x0A, 0x0D)


cdef class _Choices:
    """The checked options of a plan."""

    cdef str strings
    cdef object decimals  # "utf8" or (precision, scale)
    cdef object varints  # "utf8", "int64" or a precision
    cdef bint tagged_uuids

    def __cinit__(self, strings, decimals, varints, uuids):
        if strings not in ("utf8", "view", "dictionary"):
            raise ValueError(f'strings must be "utf8", "view" or "dictionary", got {strings!r}')
        if uuids not in ("arrow.uuid", "binary"):
            raise ValueError(f'uuids must be "arrow.uuid" or "binary", got {uuids!r}')
        self.strings = strings
        self.tagged_uuids = uuids == "arrow.uuid"
        self.decimals = decimals
        self.varints = varints
        if decimals != "utf8":
            try:
                precision, scale = (int(number) for number in decimals)
            except (TypeError, ValueError):
                raise ValueError(f'decimals must be "utf8" or (precision, scale), got {decimals!r}') from None
            if not 1 <= precision <= MAX_DECIMAL256 or not 0 <= scale <= precision:
                raise ValueError(
                    f"decimals must have a precision of 1 to {MAX_DECIMAL256} and a scale up to that, got {decimals!r}"
                )
            self.decimals = (precision, scale)
        if varints not in ("utf8", "int64") and not (type(varints) is int and 1 <= varints <= MAX_DECIMAL256):
            raise ValueError(f'varints must be "utf8", "int64" or precision 1 to {MAX_DECIMAL256}, got {varints!r}')

    cdef int set_scalar(self, Type& type, int kind, bint is_nested) except -1:
        """Set *type* for values of a CQL type without parameters; unknown ones are bytes."""
        cdef int found
        if kind == _DECIMAL:
            self.set_decimal(type, self.decimals, Kind.DecimalText, Kind.Decimal)
        elif kind == _VARINT and self.varints == "int64":
            type.kind = Kind.VarintLong
            type.format = b"l"
        elif kind == _VARINT:
            digits = self.varints if self.varints == "utf8" else (self.varints, 0)
            self.set_decimal(type, digits, Kind.VarintText, Kind.Varint)
        elif kind in _TEXTS and self.strings == "view":
            type.kind = Kind.View
            type.format = b"vu"
        elif kind in _TEXTS and self.strings == "dictionary" and not is_nested:
            type.kind = Kind.Dictionary
            type.format = b"i"
        else:
            found, format = _PLAIN.get(kind, (<int>Kind.Binary, b"z"))
            type.kind = <Kind>found
            type.format = format
        return 0

    cdef int set_decimal(self, Type& type, digits, Kind as_text, Kind as_number) except -1:
        if digits == "utf8":
            type.kind = as_text
            type.format = b"u"
            return 0
        type.kind = as_number
        type.precision, type.scale = digits
        type.is_decimal256 = type.precision > MAX_DECIMAL128
        wide = ",256" if type.is_decimal256 else ""
        type.format = f"d:{type.precision},{type.scale}{wide}".encode()
        return 0


# ---- the C stream: batches of a Python source, which is called with the GIL
#
# The consumer requests one batch after the other and may be any thread; it may release the stream from any thread,
# without the GIL, in any state of the interpreter.

from libc.errno cimport EINVAL, EIO, ENOMEM

cdef extern from "Python.h":
    int PyThreadState_SetAsyncExc(unsigned long thread, PyObject* kind)
    unsigned long PyThread_get_thread_ident()

cdef extern from *:
    """
    #include <cstring>
    #include <mutex>
    #include <utility>

    #include "cpython/interpreter.h"

    namespace {

    // A Python object held by native memory. Any thread may release it; without the GIL the object is put into a list,
    // and the interpreter drops it later. The list needs no allocation.
    struct Kept {
        PyObject* object;
        Kept* next;
    };

    bool python_is_there() noexcept { return Py_IsInitialized() && !fastcql::is_finalizing(); }

    std::mutex waiting_lock;
    Kept* waiting = nullptr;

    void drop(Kept* list) noexcept {
        while (Kept* kept = list) {
            list = kept->next;
            Py_DECREF(kept->object);
            delete kept;
        }
    }

    int drop_waiting(void*) noexcept {
        Kept* found = nullptr;
        {
            const std::lock_guard<std::mutex> guard(waiting_lock);
            std::swap(found, waiting);
        }
        drop(found);
        return 0;
    }

    // Returns a new reference. Throws without memory.
    Kept* keep(PyObject* object) {
        auto* kept = new Kept{object, nullptr};
        Py_INCREF(object);
        return kept;
    }

    void let_go(Kept* kept) noexcept {
        if (!python_is_there()) return;  // the process ends: it is not freed
        if (PyGILState_Check()) {
            drop(kept);
            return;
        }
        {
            const std::lock_guard<std::mutex> guard(waiting_lock);
            kept->next = waiting;
            waiting = kept;
        }
        Py_AddPendingCall(drop_waiting, nullptr);  // if that fails, the next stream drops them
    }

    class Streamed {
    public:
        Streamed(PyObject* object, const fastcql::columns::Plan& of) : source(keep(object)), plan(of) {
            plan.retain();
            fastcql::columns::counters().streams.fetch_add(1);
        }
        Streamed(const Streamed&) = delete;
        Streamed& operator=(const Streamed&) = delete;
        ~Streamed() {
            let_go(source);
            plan.release();
            fastcql::columns::counters().streams.fetch_sub(1);
        }
        // Stores the text, cut at a whole character.
        void fail(const char* text, size_t size) noexcept {
            if (size >= sizeof error) {
                size = sizeof error - 1;
                while (size && (text[size] & 0xC0) == 0x80) --size;
            }
            std::memcpy(error, text, size);
            error[size] = 0;
        }

        Kept* const source;
        const fastcql::columns::Plan& plan;
        char error[4096] = {};
    };

    }  // namespace
    """
    cdef cppclass Kept:
        PyObject* object
    Kept* keep(PyObject* object) except +
    void let_go(Kept* kept) noexcept nogil
    cdef cppclass Streamed:
        Streamed(PyObject* object, const Plan& plan) except +
        Kept* source
        const Plan& plan
        char* error
        void fail(const char* text, size_t size) noexcept nogil
    cbool python_is_there() noexcept nogil
    int drop_waiting(void*) noexcept


def stream(ColumnPlan plan not None, source):
    """Return a stream over the batches that *source* returns; see the stub."""
    cdef ArrowArrayStream* found
    drop_waiting(NULL)
    made = owned_by_capsule(calloc(1, sizeof(ArrowArrayStream)), "arrow_array_stream", free_stream)
    found = <ArrowArrayStream*>PyCapsule_GetPointer(made, "arrow_array_stream")
    found.private_data = new Streamed(<PyObject*>source, plan.native[0])
    found.get_schema = stream_schema
    found.get_next = stream_next
    found.get_last_error = stream_error
    found.release = stream_release
    return made


cdef void free_stream(capsule) noexcept:
    cdef ArrowArrayStream* found = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if found.release != NULL:
        found.release(found)
    free(found)


cdef int stream_schema(ArrowArrayStream* found, ArrowSchema* out) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    if export_schema(streamed.plan, out):
        return 0
    streamed.fail("no memory for the schema", 24)
    return ENOMEM


cdef int stream_next(ArrowArrayStream* found, ArrowArray* out) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    out.release = NULL
    if not python_is_there():
        streamed.fail("the interpreter is shutting down", 32)
        return EIO
    return pull(streamed, out)


cdef int pull(Streamed* streamed, ArrowArray* out) noexcept with gil:
    cdef RecordBatch batch
    cdef int code = EIO
    try:
        found = (<object>streamed.source.object)()
        if found is None:
            return 0
        batch = <RecordBatch?>found
        if not batch.plan.native.same_as(streamed.plan):
            code = EINVAL
            raise ValueError(f"a batch of {batch.plan!r} does not fit the schema of the stream")
        if not batch.native.export_array(out, batch.offset, batch.num_rows):
            code = ENOMEM
            raise MemoryError()
        return 0
    except BaseException as error:
        text = text_of_error(error)
        streamed.fail(text, <size_t>len(text))
        raise_stored(error)
        return code


cdef bytes text_of_error(error):
    try:
        return f"{type(error).__name__}: {error}".encode(errors="replace")
    except Exception:  # str(error) failed
        return type(error).__name__.encode(errors="replace")


cdef int raise_stored(error) noexcept:
    """Schedule an interrupt (Ctrl-C and the like) that native code replaces by its own error: it is raised again in
    this thread, as soon as the thread is back in Python."""
    if not isinstance(error, Exception):
        kind = type(error)
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), <PyObject*>kind)
    return 0


cdef const char* stream_error(ArrowArrayStream* found) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    if streamed.error[0] == 0:
        return NULL
    return streamed.error


cdef void stream_release(ArrowArrayStream* found) noexcept nogil:
    cdef Streamed* streamed = <Streamed*>found.private_data
    found.release = NULL
    del streamed


# ---- input by Arrow's capsules: schemas, arrays and streams

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
    cdef Busy busy  # a thread is in a call

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
        made = empty_array()
        array = array_of(made)
        self._begin()
        try:
            if self.native.release == NULL:
                raise StopIteration
            with nogil:
                code = self.native.get_next(&self.native, array)
            if code != 0:
                array.release = NULL
                self._failed(code)
            if array.release == NULL:
                self._close()
                raise StopIteration
            return made
        finally:
            self.busy.end()

    cdef int _begin(self) except -1:
        if not self.busy.begin():
            raise RuntimeError("another thread is reading this stream")
        return 0

    def close(self):
        self._begin()
        self._close()
        self.busy.end()

    cdef void _close(self) noexcept:
        if self.native.release != NULL:
            self.native.release(&self.native)
            self.native.release = NULL

    def _failed(self, int code):
        cdef const char* text = self.native.get_last_error(&self.native)
        why = "" if text == NULL else (<bytes>text).decode(errors="replace")
        self._close()
        raise OSError(code, why or "the Arrow stream failed")


# ---- columns in Python buffers as Arrow arrays, which keep the buffers

from cpython.memoryview cimport PyMemoryView_GET_BUFFER

cdef extern from *:
    """
    namespace {

    void let_go_of_owner(void* owner) noexcept { let_go(static_cast<Kept*>(owner)); }

    }  // namespace
    """
    void let_go_of_owner(void*) noexcept nogil

cdef extern from "ingest/input.h" namespace "fastcql::ingest" nogil:
    cdef cppclass Borrowed:
        Borrowed() except +
        string name
        string format
        int64_t length
        cbool has_nulls
        vector[const void*] buffers
        vector[Borrowed] children
    void lend(
        vector[Borrowed] columns, int64_t length, void* owner, void (*let_go)(void*) noexcept, ArrowSchema& schema, ArrowArray& array
    ) except +

#: Size of a value in bytes, of formats with values of fixed size.
_WIDTHS = {
    "c": 1, "C": 1, "s": 2, "S": 2, "e": 2, "i": 4, "I": 4, "f": 4, "l": 8, "L": 8, "g": 8, "tdD": 4, "tdm": 8,
    "tss:": 8, "tsm:": 8, "tsu:": 8, "tsn:": 8, "tDs": 8, "tDm": 8, "tDu": 8, "tDn": 8,
}


def batch_of(columns, int64_t length):
    """Return columns in buffers as Arrow rows; see the stub."""
    cdef vector[Borrowed] borrowed
    cdef list kept = []
    cdef Kept* owner
    columns = list(columns)
    borrowed.resize(len(columns))
    for i, (name, format, buffers) in enumerate(columns):
        borrowed[<size_t>i].name = name.encode()
        set_borrowed(&borrowed[<size_t>i], format, list(buffers), length, kept)
    schema, array = empty_schema(), empty_array()
    owner = keep(<PyObject*>kept)
    try:
        lend(borrowed, length, owner, let_go_of_owner, native_schema(schema)[0], array_of(array)[0])
    except BaseException:
        let_go(owner)
        raise
    return schema, array


cdef int set_borrowed(Borrowed* borrowed, str format, list buffers, int64_t length, list kept) except -1:
    """Describe a column. The first of *buffers* holds the validity bits; None if no value is null."""
    cdef const uint8_t* offsets
    borrowed.format = format.encode()
    borrowed.length = length
    borrowed.has_nulls = buffers[0] is not None
    if length < 0 or length > INT32_MAX:
        raise ValueError(f"length must be from 0 to {INT32_MAX}, got {length}")
    if format.startswith("+w:"):
        size = int(format[3:format.index(":", 3)])
        borrowed.format = f"+w:{size}".encode()
        borrowed.buffers.push_back(memory_of(buffers[0], (length + 7) // 8, kept))
        borrowed.children.resize(1)
        borrowed.children[0].name = b"item"
        return set_borrowed(&borrowed.children[0], format[format.index(":", 3) + 1:], [None, *buffers[1:]], length * size, kept)
    needs = [(length + 7) // 8, (length + 7) // 8 if format == "b" else length * _WIDTHS.get(format, 0)]
    if format in ("u", "z"):
        needs = [needs[0], (length + 1) * 4, 0]
    elif format != "b" and format not in _WIDTHS:
        raise ValueError(f"invalid format of a column in buffers: {format!r}")
    if len(buffers) != len(needs):
        raise ValueError(f"format {format!r} needs {len(needs)} buffers, got {len(buffers)}")
    for buffer, need in zip(buffers, needs):
        borrowed.buffers.push_back(memory_of(buffer, need, kept))
    if len(needs) == 3:
        offsets = <const uint8_t*>borrowed.buffers[1]
        if offsets == NULL or load_offset(offsets, length) != len(buffers[2]):
            raise ValueError(f"the offsets of a column do not end with its {len(buffers[2])} bytes")
    return 0


cdef int32_t load_offset(const uint8_t* offsets, int64_t i) noexcept:
    cdef int32_t found
    memcpy(&found, offsets + 4 * i, 4)
    return found


cdef const void* memory_of(buffer, int64_t needed, list kept) except? NULL:
    if buffer is None:
        return NULL
    view = memoryview(buffer)
    if view.nbytes < needed or not view.c_contiguous:
        raise ValueError(f"a contiguous buffer of {needed} bytes is needed, got {view.nbytes} bytes")
    kept.append(view)
    return PyMemoryView_GET_BUFFER(view).buf
