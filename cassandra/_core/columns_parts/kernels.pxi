# Kernels over batches, implemented in cpp/columns.
#
# Merge: batches of many sources in one order. gather: runs of rows as a new batch.

cdef class Merge:
    cdef ColumnPlan plan
    cdef NativeMerge* native
    cdef Busy busy  # a thread is in a call

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

    def sources_without_rows(self):
        cdef int32_t i
        return [i for i in range(self.native.source_count()) if self.native.needs_rows(i)]

    @property
    def origins(self):
        cdef const vector[Run]* runs = &self.native.origins()
        cdef size_t i
        return [(runs[0][i].from_, runs[0][i].count) for i in range(runs.size())]

    def known(self, int source, RecordBatch batch not None):
        cdef int64_t found
        self._must_be(source)
        self._must_fit(batch)
        self._begin()
        found = self.native.known(source, batch.native[0], batch.offset, batch.num_rows)
        self.busy.end()
        if found < 0:
            raise MemoryError()
        return found

    def feed(self, int source, RecordBatch batch not None):
        cdef Failure failure
        cdef cbool done
        cdef cbool needs_rows
        self._must_be(source)
        self._must_fit(batch)
        self._begin()
        with nogil:
            needs_rows = self.native.needs_rows(source)
            done = needs_rows and self.native.feed(source, batch.native[0], batch.offset, batch.num_rows, failure)
        self.busy.end()
        if not needs_rows:
            raise RuntimeError(f"source {source} needs no rows: it has rows left, or has ended")
        if not done:
            if failure.kind == FailureKind.Memory:
                raise MemoryError()
            raise ValueError(f"row {failure.row - batch.offset} of the batch is out of order")

    def end(self, int source):
        self._must_be(source)
        self._begin()
        self.native.end(source)
        self.busy.end()

    def advance(self, int64_t rows):
        cdef int64_t pending
        self._begin()
        with nogil:
            pending = self.native.advance(rows)
        self.busy.end()
        if pending < 0:
            raise MemoryError()
        return pending

    def take(self):
        cdef MergedRows piece
        cdef Failure failure
        cdef cbool done
        self._begin()
        with nogil:
            done = self.native.take(piece, failure)
        self.busy.end()
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

    cdef int _begin(self) except -1:
        if not self.busy.begin():
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


# ---- Groups: aggregates of rows, natively except for numbers stored as text. top: the first rows by a column

import decimal

#: Sums of decimals are exact or an error: a few hostile numbers might otherwise produce digits without bound.
_DIGITS = 100_000
_AGGREGATES = {
    "count": <int>Aggregate.Count,
    "sum": <int>Aggregate.Sum,
    "min": <int>Aggregate.Min,
    "max": <int>Aggregate.Max,
}


cdef object _exact_context():
    return decimal.Context(
        prec=_DIGITS,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow],
    )


cdef bint is_number_text(const Type* type) noexcept:
    return type.kind == Kind.VarintText or type.kind == Kind.DecimalText


cdef class Groups:
    cdef ColumnPlan plan  # None after unpickling; set by the first batch
    cdef NativeGroups native
    cdef list keys  # (column, form)
    cdef list measures  # (aggregate, column, form, index of the native measure, or -1 - the index in numbers)
    cdef readonly tuple fields
    cdef list numbers  # per measure of numbers stored as text: a list, by group, of Decimals or None
    cdef Busy busy  # a thread is in a call

    def __cinit__(self, ColumnPlan plan, keys, measures):
        cdef list wanted = []
        cdef const Type* type
        self.keys = [(column, <int>form_of(need_column(plan, column)[0])) for column in keys]
        self.measures = []
        self.numbers = []
        self.plan = plan
        measures = list(measures)
        for aggregate, column in measures:
            code = _AGGREGATES[aggregate]
            form = <int>Form.Other
            if column >= 0:
                type = need_column(plan, column)
                form = <int>form_of(type[0])
                if is_number_text(type) and aggregate != "count":
                    self.measures.append((code, column, form, -1 - len(self.numbers)))
                    self.numbers.append([])
                    continue
            measure = (code, column, form, len(wanted))
            self.measures.append(measure)
            wanted.append(measure)
        self._make(wanted)
        fields = () if plan is None else plan.fields
        self.fields = (
            tuple([fields[column] for column, _ in self.keys]),
            tuple([None if column < 0 else fields[column] for _, column in measures]),
        )

    cdef int _make(self, list wanted) except -1:
        cdef vector[GroupKey] keys
        cdef vector[MeasureSpec] measures
        for column, form in self.keys:
            keys.push_back(GroupKey(column, <Form><int>form))
        for aggregate, column, form, _ in wanted:
            measures.push_back(MeasureSpec(<Aggregate><int>aggregate, column, <Form><int>form))
        if not self.native.make(keys, measures):
            raise TypeError("the aggregate is not supported for values of this type")
        return 0

    def __len__(self):
        self._begin()
        cdef size_t size = self.native.size()
        self.busy.end()
        return size

    cdef int _begin(self) except -1:
        if not self.busy.begin():
            raise RuntimeError("these groups are in use")
        return 0

    def add(self, RecordBatch batch not None, Mask mask=None):
        self._begin()
        try:
            self._add(batch, mask)
        finally:
            self.busy.end()

    cdef int _add(self, RecordBatch batch, Mask mask) except -1:
        cdef Slice rows = slice_of(batch)
        cdef const NativeMask* selected = NULL
        cdef cbool done
        self._need(batch)
        if mask is not None:
            if mask.native.rows != batch.num_rows:
                raise ValueError(f"a mask of {mask.native.rows} rows does not fit a batch of {batch.num_rows}")
            selected = &mask.native
        if rows.rows < MANY:
            done = self.native.add(rows, selected)
        else:
            with nogil:
                done = self.native.add(rows, selected)
        if not done:
            raise MemoryError("no memory for more groups, or their keys are more than 2 GiB")
        if self.numbers:
            self._add_numbers(batch, selected)
        return 0

    cdef int _need(self, RecordBatch batch) except -1:
        if self.plan is None:
            for column, form in [*self.keys, *[(column, form) for _, column, form, _ in self.measures if column >= 0]]:
                if <int>form_of(need_column(batch.plan, column)[0]) != form:
                    raise ValueError(f"the groups do not fit batches of {batch.plan!r}")
            self.plan = batch.plan
        return need_plan(self.plan, batch)

    cdef int _add_numbers(self, RecordBatch batch, const NativeMask* mask) except -1:
        cdef vector[int64_t] runs
        cdef size_t i
        cdef int64_t row, at
        cdef int32_t column
        cdef string_view text
        cdef list found
        context = _exact_context()
        if mask != NULL:
            runs = runs_of(mask[0])
        else:
            runs.push_back(0)
            runs.push_back(batch.num_rows)
        for aggregate, column, _, place in self.measures:
            if place >= 0:
                continue
            found = self._numbers(-1 - place)
            at = 0
            for i in range(0, runs.size(), 2):
                for row in range(batch.offset + runs[i], batch.offset + runs[i] + runs[i + 1]):
                    group = self.native.last_groups()[at] if self.native.last_groups() != NULL else 0
                    at += 1
                    if is_there(batch.native[0], column, row):
                        text = text_at(batch.native[0], column, row)
                        number = decimal.Decimal(text.data()[: text.size()].decode())
                        found[group] = folded_number(context, aggregate, found[group], number)
        return 0

    cdef list _numbers(self, which):
        cdef list found = self.numbers[which]
        found.extend([None] * <Py_ssize_t>(self.native.size() - len(found)))
        return found

    def merge(self, Groups other not None):
        self._begin()
        try:
            other._begin()  # raises if it is this object
            try:
                self._merge(other)
            finally:
                other.busy.end()
        finally:
            self.busy.end()

    cdef int _merge(self, Groups other) except -1:
        cdef cbool done
        cdef size_t i
        if self.keys != other.keys or self.measures != other.measures:
            raise ValueError("the groups have different keys or measures")
        done = self.native.merge(other.native)
        if not done:
            raise MemoryError("no memory for more groups, or their keys are more than 2 GiB")
        context = _exact_context()
        for aggregate, _, _, place in self.measures:
            if place >= 0:
                continue
            found, theirs = self._numbers(-1 - place), other._numbers(-1 - place)
            for i in range(other.native.size()):
                if theirs[i] is not None:
                    group = self.native.last_groups()[i] if self.native.last_groups() != NULL else 0
                    found[group] = folded_number(context, aggregate, found[group], theirs[i])
        return 0

    def results(self):
        self._begin()
        try:
            return self._results()
        finally:
            self.busy.end()

    cdef list _results(self):
        cdef size_t i, k
        cdef list found = []
        for i in range(self.native.size()):
            keys = tuple([python_value(self.native.key(i, k)) for k in range(<size_t>len(self.keys))])
            values = [
                python_value(self.native.result(i, place)) if place >= 0 else self._numbers(-1 - place)[i]
                for _, _, _, place in self.measures
            ]
            found.append((keys, tuple(values)))
        return found

    def __reduce__(self):
        cdef string data
        self._begin()
        self.native.save(data)
        self.busy.end()
        return _load_groups, (self.keys, self.measures, self.fields, <bytes>data, self.numbers)


cdef object folded_number(context, int aggregate, found, number):
    if found is None:
        return number
    if aggregate == <int>Aggregate.Min:
        return number if number < found else found
    if aggregate == <int>Aggregate.Max:
        return number if number > found else found
    try:
        return context.add(found, number)
    except decimal.Inexact:
        raise OverflowError(f"a sum of decimals has more than {_DIGITS} digits") from None


cdef object python_value(const NativeResult& result):
    if result.what == ResultKind.Float:
        return result.number
    if result.what == ResultKind.Text:
        return <bytes>result.text
    if result.what == ResultKind.Integer:
        return int.from_bytes(<bytes>result.text, "little", signed=True)
    return None


cdef const Type* need_column(ColumnPlan plan, int column) except NULL:
    if plan is None or not 0 <= column < plan.native.columns:
        raise IndexError(f"column index out of range: {column}")
    return &plan.native.types[column]


def _load_groups(keys, measures, fields, bytes data not None, numbers):
    """Rebuild pickled groups."""
    cdef Groups groups = Groups.__new__(Groups, None, (), ())
    groups.keys, groups.measures, groups.fields, groups.numbers = keys, measures, fields, numbers
    groups._make([measure for measure in measures if measure[3] >= 0])
    if not groups.native.load(<const uint8_t*><const char*>data, len(data)):
        raise ValueError("the pickle of groups is damaged")
    return groups


def top(sources, int column, Py_ssize_t count, bint descending):
    """Return the first rows of batches by a column; see the stub."""
    cdef vector[Candidates] candidates
    cdef vector[Pick] picks
    cdef vector[Run] runs
    cdef Candidates candidate
    cdef RecordBatch batch
    cdef Mask mask
    cdef Run run
    cdef Pick pick
    cdef Form form
    cdef list batches = []
    cdef ColumnPlan plan = None
    sources = list(sources)  # keeps the batches and masks alive
    for found, selected in sources:
        batch = <RecordBatch?>found
        if plan is None:
            plan = batch.plan
        need_plan(plan, batch)
        candidate.slice = slice_of(batch)
        candidate.mask = NULL
        if selected is not None:
            mask = <Mask?>selected
            if mask.native.rows != batch.num_rows:
                raise ValueError(f"a mask of {mask.native.rows} rows does not fit a batch of {batch.num_rows}")
            candidate.mask = &mask.native
        candidates.push_back(candidate)
        batches.append(batch)
    if not batches:
        raise ValueError("sources must contain at least one batch")
    form = form_of(need_column(plan, column)[0])
    if form == Form.Other:
        raise TypeError(f"values of {plan.names[column]!r} have no order")
    if count < 0:
        raise ValueError(f"count must not be negative: {count}")
    with nogil:
        picks = first_rows(candidates, column, form, <size_t>count, descending)
    batch = <RecordBatch>batches[0]
    if <int64_t>picks.size() == batch.num_rows and batch.num_rows == batch.native.rows() and are_in_order(picks):
        return batch
    for pick in picks:
        run.from_ = pick.source
        run.first = <int32_t>pick.row
        run.count = 1
        runs.push_back(run)
    return gathered(plan, batches, runs)


cdef bint are_in_order(const vector[Pick]& picks) noexcept:
    """True if they are all rows of the first batch in their order."""
    cdef size_t i
    for i in range(picks.size()):
        if picks[i].source != 0 or picks[i].row != <int64_t>i:
            return False
    return True
