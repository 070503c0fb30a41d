# Merge: batches of many sources in one order. gather: runs of rows as a new batch. Both are implemented in cpp/columns.

cdef class Merge:
    cdef ColumnPlan plan
    cdef NativeMerge* native
    cdef bint busy  # a thread is in a call without the GIL

    def __cinit__(self, ColumnPlan plan not None, order, int sources, int64_t slice_rows=64):
        cdef vector[OrderColumn] columns
        cdef OrderColumn added
        if sources < 0 or slice_rows < 1:
            raise ValueError(f"invalid sources or slice_rows: {sources}, {slice_rows}")
        for column, descends in order:
            added.column = range(len(plan))[column]
            added.descends = descends
            if not has_order(plan.native.types[added.column]):
                raise ValueError(
                    f"{plan.names[column]} is {plan.native.types[added.column].cql.decode()}, which has no order here"
                )
            columns.push_back(added)
        if columns.empty():
            raise ValueError("order must have at least one column")
        self.plan = plan
        self.native = new NativeMerge(plan.native[0], plan.blocks[0], columns, sources, slice_rows)

    def __dealloc__(self):
        del self.native

    @property
    def pending(self):
        return self.native.pending()

    def hungry(self):
        cdef int32_t i
        return [i for i in range(self.native.source_count()) if self.native.is_hungry(i)]

    @property
    def origins(self):
        cdef const vector[Run]* runs = &self.native.origins()
        cdef size_t i
        return [(runs[0][i].from_, runs[0][i].count) for i in range(runs.size())]

    def known(self, int source, RecordBatch batch not None):
        cdef int64_t found
        self._mine()
        self._must_be(source)
        self._must_fit(batch)
        found = self.native.known(source, batch.native[0], batch.offset, batch.num_rows)
        if found < 0:
            raise MemoryError()
        return found

    def feed(self, int source, RecordBatch batch not None):
        cdef Failure failure
        cdef cbool done
        self._mine()
        self._must_be(source)
        if not self.native.is_hungry(source):
            raise RuntimeError(f"source {source} is not hungry: it has rows left, or has ended")
        self._must_fit(batch)
        self.busy = True
        with nogil:
            done = self.native.feed(source, batch.native[0], batch.offset, batch.num_rows, failure)
        self.busy = False
        if not done:
            if failure.kind == FailureKind.Memory:
                raise MemoryError()
            raise ValueError(f"row {failure.row - batch.offset} of the batch is out of order")

    def end(self, int source):
        self._mine()
        self._must_be(source)
        self.native.end(source)

    def advance(self, int64_t rows):
        cdef int64_t pending
        self._mine()
        self.busy = True
        with nogil:
            pending = self.native.advance(rows)
        self.busy = False
        if pending < 0:
            raise MemoryError()
        return pending

    def take(self):
        cdef Piece piece
        cdef Failure failure
        cdef cbool done
        self._mine()
        self.busy = True
        with nogil:
            done = self.native.take(piece, failure)
        self.busy = False
        if not done:
            raise MemoryError()
        if piece.batch == NULL:
            return None
        return new_slice(self.plan, piece.batch, piece.first, piece.count)

    cdef int _must_be(self, int source) except -1:
        if not 0 <= source < self.native.source_count():
            raise IndexError(f"source {source} is out of range: there are {self.native.source_count()} sources")
        return 0

    cdef int _must_fit(self, RecordBatch batch) except -1:
        if batch.plan is not self.plan and not batch.plan.native.same_as(self.plan.native[0]):
            raise ValueError(f"a batch of {batch.plan!r} does not fit a merge of {self.plan!r}")
        return 0

    cdef int _mine(self) except -1:
        if self.busy:
            raise RuntimeError("another thread is using this merge")
        return 0


def gather(runs, ColumnPlan plan not None):
    """Copy rows of several batches into one; see the stub."""
    cdef vector[const Batch*] batches
    cdef vector[Run] wanted
    cdef Run run
    cdef RecordBatch batch
    cdef Batch* native
    cdef Failure failure
    cdef int64_t first, count, rows = 0
    cdef dict known = {}
    cdef list kept = list(runs)
    for found, first, count in kept:
        batch = <RecordBatch?>found
        if first < 0 or count < 0 or first > batch.num_rows - count:
            raise ValueError(f"rows {first} to {first + count} are out of range of {batch!r}")
        if batch.plan is not plan and not batch.plan.native.same_as(plan.native[0]):
            raise ValueError(f"rows of {batch.plan!r} do not fit a batch of {plan!r}")
        if id(batch) not in known:
            known[id(batch)] = batches.size()
            batches.push_back(batch.native)
        run.from_ = known[id(batch)]
        run.first = <int32_t>(batch.offset + first)
        run.count = <int32_t>count
        rows += count
        wanted.push_back(run)
    if rows > INT32_MAX:
        raise OverflowError(f"{rows} rows are too many for one batch")
    with nogil:
        native = gather_runs(
            plan.native[0], plan.blocks[0], batches.data(), batches.size(), wanted.data(), wanted.size(), failure
        )
    if native == NULL:
        if failure.kind == FailureKind.Memory:
            raise MemoryError()
        raise OverflowError((<bytes>failure.text).decode())
    return new_slice(plan, native, 0, native.rows())
