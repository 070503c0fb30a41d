# Mask: which rows of a batch are meant. ColumnTest: what makes one of a column. select: the rows of one as a batch.

cdef enum:
    MANY = 4096  # rows that kernels run over without the GIL


cdef Slice slice_of(RecordBatch batch) noexcept:
    cdef Slice found
    found.batch = batch.native
    found.first = batch.offset
    found.rows = batch.num_rows
    return found


cdef class Mask:
    cdef NativeMask native

    def __init__(self):
        raise TypeError("masks are made by tests of columns and Mask.of()")

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
        raise TypeError("a mask is neither true nor false: combine masks with &, | and ~, and look at their count")

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
        if isinstance(values, Mask):
            made = <Mask>values
        elif hasattr(values, "__arrow_c_array__"):
            made = mask_of_arrow(values)
        else:
            made = mask_of_buffer(values)
            if made is None:
                made = mask_of_items(values)
        if made.native.rows != rows:
            raise ValueError(f"a mask of {made.native.rows} rows, for a batch of {rows}")
        return made


cdef Mask new_mask():
    return Mask.__new__(Mask)


cdef Mask same_length(Mask mask, Mask other):
    if mask.native.rows != other.native.rows:
        raise ValueError(f"masks of {mask.native.rows} and {other.native.rows} rows are of different batches")
    return other


cdef Mask mask_of_arrow(values):
    cdef Mask made = new_mask()
    cdef ArrowArray* array
    cdef const uint8_t* known = NULL
    schema, capsule = values.__arrow_c_array__()
    if schema_of(schema).format == NULL or <bytes>schema_of(schema).format != b"b":
        raise TypeError("a mask is an array of booleans")
    array = array_of(capsule)
    if array.release == NULL or array.length < 0 or array.offset < 0 or array.n_buffers != 2 or array.buffers == NULL:
        raise ValueError("the Arrow array of a mask is broken")
    if array.length:
        if array.buffers[1] == NULL:
            raise ValueError("the Arrow array of a mask is broken")
        if array.null_count != 0:
            known = <const uint8_t*>array.buffers[0]
        made.native.set_bits(<const uint8_t*>array.buffers[1], known, array.offset, array.length)
    return made


cdef Mask mask_of_buffer(values):
    """Of bytes or booleans side by side; None of anything else."""
    cdef Mask made
    cdef Py_buffer view
    try:
        PyObject_GetBuffer(values, &view, PyBUF_FORMAT | PyBUF_ND)
    except (TypeError, ValueError, BufferError):  # none, or not side by side
        return None
    try:
        if view.ndim != 1 or view.itemsize != 1 or (view.format != NULL and view.format[0] not in b"?Bb"):
            raise TypeError("a mask is booleans, one for each row")
        made = new_mask()
        made.native.set_bytes(<const uint8_t*>view.buf, view.len)
        return made
    finally:
        PyBuffer_Release(&view)


cdef Mask mask_of_items(values):
    cdef Mask made = new_mask()
    cdef list items = list(values)
    cdef bytes yes, known
    for item in items:
        if item is not None and not (item == True or item == False):  # noqa: E712 - booleans of other libraries
            raise TypeError(f"a mask is booleans and None, one for each row, not {item!r}")
    yes = bytes([item is not None and bool(item) for item in items])
    made.native.set_bytes(<const uint8_t*><const char*>yes, len(items))
    if None in items:
        known = bytes([item is not None for item in items])
        other = new_mask()
        other.native.set_bytes(<const uint8_t*><const char*>known, len(items))
        made.native.no.swap(other.native.yes)  # an assignment would copy, and might throw
        for i in range(<Py_ssize_t>made.native.no.size()):
            made.native.no[i] = made.native.no[i] & ~made.native.yes[i]
    return made


cdef class ColumnTest:
    cdef ColumnPlan plan
    cdef NativeTest native

    def __cinit__(self, ColumnPlan plan not None, int column, *, within=None, among=None):
        if not 0 <= column < plan.native.columns:
            raise IndexError(f"there is no column {column}")
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
    """The rows that *mask* is true for as a batch of their own; see the stub."""
    cdef vector[int64_t] found
    cdef vector[Run] runs
    cdef Run run
    cdef size_t i
    if mask.native.rows != batch.num_rows:
        raise ValueError(f"a mask of {mask.native.rows} rows, for a batch of {batch.num_rows}")
    found = runs_of(mask.native)
    runs.reserve(found.size() // 2)
    run.from_ = 0
    for i in range(0, found.size(), 2):
        run.first = <int32_t>(batch.offset + found[i])
        run.count = <int32_t>found[i + 1]
        runs.push_back(run)
    return gathered(batch.plan, [batch], runs)


cdef RecordBatch gathered(ColumnPlan plan, list batches, const vector[Run]& runs):
    """Runs count from the beginnings of the whole batches."""
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
    """Where it stands among those of a column; see the stub."""
    cdef Id found
    if len(value) != 16:
        raise ValueError(f"a UUID has 16 bytes, not {len(value)}")
    found = id_of(<const uint8_t*><const char*>value)
    found = by_time_order(found) if by_time else by_version(found)
    return int(found.high) << 64 | int(found.low)
