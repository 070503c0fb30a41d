# Mask: a selection of rows of a batch. ColumnTest: makes one from a column. select: the rows of one as a batch.

from sys import modules

cdef enum:
    MANY = 4096  # from this number of rows on kernels run without the GIL


cdef Slice slice_of(RecordBatch batch) noexcept:
    cdef Slice found
    found.batch = batch.native
    found.first = batch.offset
    found.rows = batch.num_rows
    return found


cdef class Mask:
    cdef NativeMask native

    def __init__(self):
        raise TypeError("use a ColumnTest or Mask.of() to make masks")

    def __len__(self):
        return self.native.rows

    @property
    def count(self):
        return self.native.selected

    @property
    def run_count(self):
        return self.native.run_count()

    def __repr__(self):
        return f"<Mask: {self.native.selected} of {self.native.rows} rows>"

    def __and__(self, other):
        cdef Mask made
        if not isinstance(other, Mask):
            return NotImplemented
        made = new_mask()
        made.native.set_and(self.native, same_length(self, other).native)
        return made

    def __or__(self, other):
        cdef Mask made
        if not isinstance(other, Mask):
            return NotImplemented
        made = new_mask()
        made.native.set_or(self.native, same_length(self, other).native)
        return made

    def __invert__(self):
        cdef Mask made = new_mask()
        made.native.set_not(self.native)
        return made

    def __bool__(self):
        raise TypeError("a mask has no truth value: combine masks with &, | and ~, and use their count")

    def runs(self):
        cdef vector[int64_t] found = runs_of(self.native)
        return [(found[i], found[i + 1]) for i in range(0, <Py_ssize_t>found.size(), 2)]

    def tolist(self):
        cdef int64_t i
        cdef list found = []
        for i in range(self.native.rows):
            if self.native.yes[i // 64] >> <uint64_t>(i % 64) & 1:
                found.append(True)
            else:
                found.append(False if self.native.no_at(i // 64) >> <uint64_t>(i % 64) & 1 else None)
        return found

    @staticmethod
    def of(values, int64_t rows):
        cdef Mask made
        made = <Mask>values if isinstance(values, Mask) else mask_of(values)
        if made.native.rows != rows:
            raise ValueError(f"a mask of {made.native.rows} rows does not fit a batch of {rows}")
        return made


cdef Mask new_mask():
    return Mask.__new__(Mask)


cdef Mask same_length(Mask mask, Mask other):
    if mask.native.rows != other.native.rows:
        raise ValueError(f"masks of {mask.native.rows} and {other.native.rows} rows are of different batches")
    return other


cdef Mask mask_of(values):
    cdef Mask made
    numpy = modules.get("numpy")
    if numpy is not None and isinstance(values, numpy.ma.MaskedArray):
        if values.dtype.kind == "O":
            return mask_of_items(values.tolist())
        made = mask_of(values.data)
        return only_known(made, same_length(made, mask_of_buffer(~numpy.ma.getmaskarray(values))))
    if hasattr(values, "__arrow_c_array__"):
        schema, array = values.__arrow_c_array__()
        return mask_of_arrow(schema, array)
    made = None
    if hasattr(values, "__arrow_c_stream__"):
        made = mask_of_stream(values)
    if made is None:
        made = mask_of_buffer(values)
    return mask_of_items(values) if made is None else made


cdef Mask only_known(Mask values, Mask known):
    """Return *values* where *known* is true, null elsewhere."""
    cdef Mask made = new_mask()
    made.native.set_known(values.native, known.native)
    return made


cdef bint is_boolean(schema) except -1:
    """True for a schema of booleans, or of nulls only."""
    cdef const char* format = schema_of(schema).format
    return format != NULL and <bytes>format in (b"b", b"n")


cdef Mask mask_of_arrow(schema, capsule):
    cdef Mask made = new_mask()
    cdef ArrowArray* array = array_of(capsule)
    cdef const uint8_t* known = NULL
    if not is_boolean(schema):
        raise TypeError("a mask must be an array of booleans")
    if array.release == NULL or array.length < 0 or array.offset < 0:
        raise ValueError("the Arrow array of a mask is broken")
    if <bytes>schema_of(schema).format == b"n":
        made.native.set_unknown(array.length)
        return made
    if array.n_buffers != 2 or array.buffers == NULL:
        raise ValueError("the Arrow array of a mask is broken")
    if array.length:
        if array.null_count != 0:
            known = <const uint8_t*>array.buffers[0]
        if array.buffers[1] == NULL or (known == NULL and array.null_count > 0):
            raise ValueError("the Arrow array of a mask is broken")
        made.native.set_bits(<const uint8_t*>array.buffers[1], known, array.offset, array.length)
    return made


cdef Mask mask_of_stream(values):
    """Return the mask of a stream of chunks; None for other types than booleans, such as items 0 and 1."""
    cdef Mask made = new_mask()
    cdef ArrowReader reader
    try:
        reader = ArrowReader(values.__arrow_c_stream__())
    except ImportError:  # pandas without PyArrow
        return None
    if not is_boolean(reader.schema):
        reader.close()
        return None
    for array in reader:
        made.native.append(mask_of_arrow(reader.schema, array).native)
    return made


cdef Mask mask_of_buffer(values):
    """Return the mask of contiguous bytes or booleans; None for any other object."""
    cdef Mask made
    cdef Py_buffer view
    try:
        PyObject_GetBuffer(values, &view, PyBUF_FORMAT | PyBUF_ND)
    except (TypeError, ValueError, BufferError):  # no buffer, or not contiguous
        return None
    try:
        if view.ndim == 1 and view.format != NULL and view.format == b"O":
            return None
        if view.ndim != 1 or view.itemsize != 1 or (view.format != NULL and view.format[0] not in b"?Bb"):
            raise TypeError("a mask must have one boolean per row")
        made = new_mask()
        made.native.set_bytes(<const uint8_t*>view.buf, view.len)
        return made
    finally:
        PyBuffer_Release(&view)


cdef Mask mask_of_items(values):
    cdef list items = list(values)
    cdef bytearray yes = bytearray(len(items)), known = bytearray(b"\1") * len(items)
    not_there = getattr(modules.get("pandas"), "NA", None)
    for i, item in enumerate(items):
        if item is None or item is not_there or (isinstance(item, float) and item != item):
            known[i] = 0
        elif item == True or item == False:  # noqa: E712 - booleans of other libraries
            yes[i] = 1 if item else 0
        else:
            raise TypeError(f"a mask must have booleans and None, one per row, got {item!r}")
    made = mask_of_buffer(yes)
    return made if all(known) else only_known(made, mask_of_buffer(known))


cdef class ColumnTest:
    cdef ColumnPlan plan
    cdef NativeTest native

    def __cinit__(self, ColumnPlan plan not None, int column, *, within=None, among=None):
        if not 0 <= column < plan.native.columns:
            raise IndexError(f"column index out of range: {column}")
        self.plan = plan
        self.native.column = column
        self.native.form = form_of(plan.native.types[column])
        self.native.what = What.Null
        if within is None and among is None:
            return
        if self.native.form == Form.Other:
            raise TypeError(f"values of {plan.names[column]!r} cannot be compared")
        if among is not None:
            self.native.what = What.Among
            for value in among:
                self._add(value)
            self.native.finish()
        else:
            self.native.what = What.Within
            self._set_bounds(within[0], within[1], within[2] if len(within) > 2 else "[]")

    def __call__(self, RecordBatch batch not None):
        cdef Mask made = new_mask()
        cdef Slice rows = slice_of(batch)
        need_plan(self.plan, batch)
        if rows.rows < MANY:
            self.native.run(rows, made.native)
        else:
            with nogil:
                self.native.run(rows, made.native)
        return made

    cdef int _set_bounds(self, low, high, str ends) except -1:
        cdef Form form = self.native.form
        if form == Form.Float or form == Form.Double:
            self.native.floats.low = low
            self.native.floats.high = high
        elif form == Form.Uuid or form == Form.TimeUuid:
            self.native.ids.low = id_of_int(low)
            self.native.ids.high = id_of_int(high)
        elif form == Form.Wide16 or form == Form.Wide32:
            self.native.wides.low = wide_of_int(low)
            self.native.wides.high = wide_of_int(high)
        elif form == Form.Bytes or form == Form.Words or form == Form.Views:
            if low is not None:
                self.native.texts.has_low = True
                self.native.texts.low = <bytes?>low
            if high is not None:
                self.native.texts.has_high = True
                self.native.texts.high = <bytes?>high
            self.native.texts.without_low = ends[0] == "("
            self.native.texts.without_high = ends[1] == ")"
        else:
            self.native.integers.low = low
            self.native.integers.high = high
        return 0

    cdef int _add(self, value) except -1:
        cdef Form form = self.native.form
        if form == Form.Float or form == Form.Double:
            self.native.some_floats.push_back(value)
        elif form == Form.Uuid or form == Form.TimeUuid:
            self.native.some_ids.push_back(id_of_int(value))
        elif form == Form.Wide16 or form == Form.Wide32:
            self.native.some_wides.push_back(wide_of_int(value))
        elif form == Form.Bytes or form == Form.Words or form == Form.Views:
            self.native.some_texts.push_back(<bytes?>value)
        else:
            self.native.some_integers.push_back(value)
        return 0


cdef Id id_of_int(value) except *:
    cdef Id found
    found.high = value >> 64
    found.low = value & 0xFFFFFFFFFFFFFFFF
    return found


cdef Wide wide_of_int(value) except *:
    cdef Wide found
    cdef bytes data = value.to_bytes(32, "little", signed=True)
    memcpy(&found.limbs[0], <const char*>data, 32)
    return found


cdef int need_plan(ColumnPlan plan, RecordBatch batch) except -1:
    if batch.plan is not plan and not batch.plan.native.same_as(plan.native[0]):
        raise ValueError(f"compiled for batches of {plan!r}, not of {batch.plan!r}")
    return 0


def select(RecordBatch batch not None, Mask mask not None):
    """Return the rows for which *mask* is true as a new batch; see the stub."""
    cdef vector[int64_t] found
    cdef vector[Run] runs
    cdef Run run
    cdef size_t i
    if mask.native.rows != batch.num_rows:
        raise ValueError(f"a mask of {mask.native.rows} rows does not fit a batch of {batch.num_rows}")
    found = runs_of(mask.native)
    runs.reserve(found.size() // 2)
    run.from_ = 0
    for i in range(0, found.size(), 2):
        run.first = <int32_t>(batch.offset + found[i])
        run.count = <int32_t>found[i + 1]
        runs.push_back(run)
    return gathered(batch.plan, [batch], runs)


cdef RecordBatch gathered(ColumnPlan plan, list batches, const vector[Run]& runs):
    """Copy runs of rows into a new batch. Runs count from the beginning of the whole batches."""
    cdef vector[const Batch*] sources
    cdef Failure failure
    cdef Batch* native
    for batch in batches:
        sources.push_back((<RecordBatch>batch).native)
    with nogil:
        native = gather_runs(
            plan.native[0], plan.blocks[0], sources.data(), sources.size(), runs.data(), runs.size(), failure
        )
    if native == NULL:
        if failure.kind == FailureKind.Memory:
            raise MemoryError("no memory for rows of a batch")
        raise OverflowError((<bytes>failure.text).decode())
    return new_slice(plan, native, 0, native.rows())


def uuid_place(bytes value not None, bint by_time):
    """Return the rank of a UUID among those of a column; see the stub."""
    cdef Id found
    if len(value) != 16:
        raise ValueError(f"a UUID must have 16 bytes, got {len(value)}")
    found = id_of(<const uint8_t*><const char*>value)
    found = by_time_order(found) if by_time else by_version(found)
    return int(found.high) << 64 | int(found.low)
