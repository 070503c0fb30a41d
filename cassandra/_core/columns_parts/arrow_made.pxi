# Columns in Python buffers as Arrow arrays, which keep the buffers.

from cpython.memoryview cimport PyMemoryView_GET_BUFFER

cdef extern from *:
    """
    namespace {

    void let_go_of_owner(void* owner) noexcept { let_go(static_cast<Kept*>(owner)); }

    }  // namespace
    """
    void let_go_of_owner(void*) noexcept nogil

cdef extern from "ingest/lent.h" namespace "fastcql::ingest" nogil:
    cdef cppclass Lent:
        Lent() except +
        string name
        string format
        int64_t length
        cbool has_nulls
        vector[const void*] buffers
        vector[Lent] children
    void lend(
        vector[Lent] columns, int64_t length, void* owner, void (*let_go)(void*) noexcept, ArrowSchema& schema, ArrowArray& array
    ) except +

#: Size of a value in bytes, of formats with values of fixed size.
_WIDTHS = {
    "c": 1, "C": 1, "s": 2, "S": 2, "e": 2, "i": 4, "I": 4, "f": 4, "l": 8, "L": 8, "g": 8, "tdD": 4, "tdm": 8,
    "tss:": 8, "tsm:": 8, "tsu:": 8, "tsn:": 8, "tDs": 8, "tDm": 8, "tDu": 8, "tDn": 8,
}


def batch_of(columns, int64_t length):
    """Return columns in buffers as Arrow rows; see the stub."""
    cdef vector[Lent] lent
    cdef list kept = []
    cdef Kept* owner
    columns = list(columns)
    lent.resize(len(columns))
    for i, (name, format, buffers) in enumerate(columns):
        lent[<size_t>i].name = name.encode()
        set_lent(&lent[<size_t>i], format, list(buffers), length, kept)
    schema, array = empty_schema(), empty_array()
    owner = keep(<PyObject*>kept)
    try:
        lend(lent, length, owner, let_go_of_owner, native_schema(schema)[0], array_of(array)[0])
    except BaseException:
        let_go(owner)
        raise
    return schema, array


cdef int set_lent(Lent* lent, str format, list buffers, int64_t length, list kept) except -1:
    """Describe a column. The first of *buffers* holds the validity bits; None if no value is null."""
    cdef const uint8_t* offsets
    lent.format = format.encode()
    lent.length = length
    lent.has_nulls = buffers[0] is not None
    if length < 0 or length > INT32_MAX:
        raise ValueError(f"length must be from 0 to {INT32_MAX}, got {length}")
    if format.startswith("+w:"):
        size = int(format[3:format.index(":", 3)])
        lent.format = f"+w:{size}".encode()
        lent.buffers.push_back(memory_of(buffers[0], (length + 7) // 8, kept))
        lent.children.resize(1)
        lent.children[0].name = b"item"
        return set_lent(&lent.children[0], format[format.index(":", 3) + 1:], [None, *buffers[1:]], length * size, kept)
    needs = [(length + 7) // 8, (length + 7) // 8 if format == "b" else length * _WIDTHS.get(format, 0)]
    if format in ("u", "z"):
        needs = [needs[0], (length + 1) * 4, 0]
    elif format != "b" and format not in _WIDTHS:
        raise ValueError(f"invalid format of a column in buffers: {format!r}")
    if len(buffers) != len(needs):
        raise ValueError(f"format {format!r} needs {len(needs)} buffers, got {len(buffers)}")
    for buffer, need in zip(buffers, needs):
        lent.buffers.push_back(memory_of(buffer, need, kept))
    if len(needs) == 3:
        offsets = <const uint8_t*>lent.buffers[1]
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
