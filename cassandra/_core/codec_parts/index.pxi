# Index of undecoded rows by the texts of one or two of their columns: no Python object per row.

cdef extern from "codec/row_index.h" namespace "fastcql" nogil:
    cdef cppclass NativeRowIndex "fastcql::RowIndex":
        cppclass Text:
            const uint8_t* p
            int32_t size
        cppclass Run:
            uint32_t page
            uint32_t row
            uint32_t count
        void begin(size_t columns, size_t first, size_t second) noexcept
        size_t add(const uint8_t* p, const uint8_t* end, size_t count) except +
        void seal() except +
        uint32_t find(const Text& first, const Text& second, uint32_t after) noexcept
        uint32_t find_group(const Text& first, uint32_t after) noexcept
        uint32_t group_first(uint32_t group) noexcept
        uint32_t group_last(uint32_t group) noexcept
        const Run& run(uint32_t i) noexcept
        Text second_of(size_t run) noexcept

cdef extern from *:
    """
    static constexpr uint32_t fastcql_no_run = fastcql::RowIndex::kNone;
    """
    const uint32_t NO_RUN "fastcql_no_run"


@cython.final
@cython.no_gc  # pages have no references to objects that could refer to it
cdef class RowIndex:
    """Rows of pages by the texts of their columns *first* and *second*. Immutable."""

    cdef readonly tuple pages
    cdef NativeRowIndex _index

    def __cinit__(self, pages, str first not None, str second not None):
        cdef RowsPage page
        cdef size_t complete
        cdef RowPosition at
        self.pages = tuple(pages)
        cdef bint begun = False
        for page in self.pages:
            if page is None:
                raise TypeError("pages must not be None")
            if page.plan.names != (<RowsPage>self.pages[0]).plan.names:
                raise ValueError("the pages have different columns")
            if not begun:
                self._index.begin(page.plan._count, text_column(page.plan, first), text_column(page.plan, second))
                begun = True
            complete = self._index.add(page._rows.p, page._rows.end, page._count)
            if complete < <size_t>page._count:
                raise driver_error(f"The rows of {page.plan.keyspace}.{page.plan.table} end in row {complete} of a page")
        self._index.seal()

    def __init__(self, pages, first, second):
        pass

    def find(self, str first not None, str second not None):
        """Return ``(page, start, stop)`` of each run of rows with this key, in their order."""
        cdef list found = []
        cdef bytes one = first.encode("utf-8", "surrogatepass"), other = second.encode("utf-8", "surrogatepass")
        cdef NativeRowIndex.Text key = text_of_bytes(one), name = text_of_bytes(other)
        cdef uint32_t run = self._index.find(key, name, NO_RUN)
        while run != NO_RUN:
            found.append(self._slice(run))
            run = self._index.find(key, name, run)
        return found

    def group(self, str first not None):
        """Return ``(page, start, stop)`` of the rows with this *first* text, in their order."""
        cdef list found = []
        cdef bytes one = first.encode("utf-8", "surrogatepass")
        cdef NativeRowIndex.Text key = text_of_bytes(one)
        cdef uint32_t run, group = self._index.find_group(key, NO_RUN)
        while group != NO_RUN:
            for run in range(self._index.group_first(group), self._index.group_last(group)):
                found.append(self._slice(run))
            group = self._index.find_group(key, group)
        return found

    def seconds(self, str first not None, Py_ssize_t limit=-1):
        """Return the second texts of the rows with this *first* text, in their order, each once per run, at most
        *limit* (negative: all); those that are not UTF-8 are omitted."""
        cdef list found = []
        cdef bytes one = first.encode("utf-8", "surrogatepass")
        cdef NativeRowIndex.Text key = text_of_bytes(one), name
        cdef uint32_t run, group = self._index.find_group(key, NO_RUN)
        while group != NO_RUN:
            for run in range(self._index.group_first(group), self._index.group_last(group)):
                if len(found) == limit:
                    return found
                name = self._index.second_of(run)
                try:
                    found.append(Ref_take(checked(PyUnicode_DecodeUTF8(<const char*>name.p, name.size, NULL))))
                except UnicodeDecodeError:
                    pass
            group = self._index.find_group(key, group)
        return found

    cdef tuple _slice(self, uint32_t run):
        cdef Py_ssize_t page = self._index.run(run).page, row = self._index.run(run).row
        return self.pages[page], row, row + <Py_ssize_t>self._index.run(run).count


cdef Py_ssize_t text_column(ResultPlan plan, str name) except -1:
    cdef Py_ssize_t i
    for i in range(plan._count):
        if plan.names[i] == name:
            if plan._nodes[i].op not in (TEXT, VARCHAR, ASCII):
                raise driver_error(f"The column {name!r} of {plan.keyspace}.{plan.table} is not text")
            return i
    raise driver_error(f"{plan.keyspace}.{plan.table} has no column {name!r}")


cdef NativeRowIndex.Text text_of_bytes(bytes data):
    cdef NativeRowIndex.Text text
    text.p = <const uint8_t*>PyBytes_AS_STRING(data)
    text.size = <int32_t>PyBytes_GET_SIZE(data)
    return text
