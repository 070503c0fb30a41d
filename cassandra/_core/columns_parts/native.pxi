# Cython declarations of the C++ part: batches and their input, then masks, tests, groups and the first rows.

cdef extern from "columns/plan.h" nogil:
    cdef struct ArrowSchema:
        const char* format
        const char* name
        int64_t n_children
        ArrowSchema** children
        void (*release)(ArrowSchema*) noexcept nogil
    cdef struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        const void** buffers
        void (*release)(ArrowArray*) noexcept nogil
    cdef struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept nogil
        int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept nogil
        const char* (*get_last_error)(ArrowArrayStream*) noexcept nogil
        void (*release)(ArrowArrayStream*) noexcept nogil
        void* private_data

cdef extern from "memory/frames.h" namespace "fastcql::memory" nogil:
    cdef cppclass BlockPool:
        void hold()
        void let_go()

cdef extern from "columns/buffer.h" namespace "fastcql::columns" nogil:
    BlockPool& plain_blocks "fastcql::columns::PlainBlocks::instance"()

cdef extern from "memory/frames.h" namespace "fastcql::memory" nogil:
    cdef cppclass FrameBlock:
        pass

cdef extern from "columns/buffer.h" namespace "fastcql::columns" nogil:
    cdef enum class FailureKind "fastcql::columns::Failure::Kind":
        Value
        Memory
    cdef cppclass Failure:
        FailureKind kind
        int32_t column
        int64_t row
        const char* text

cdef extern from "columns/plan.h" namespace "fastcql::columns" nogil:
    cdef enum class Kind:
        One
        Two
        Four
        Eight
        Date
        Time
        Uuid
        Boolean
        Ascii
        Text
        Binary
        View
        Dictionary
        Inet
        Duration
        VarintText
        VarintLong
        Varint
        DecimalText
        Decimal
        List
        Map
        Struct
        Vector
        Place
    cdef cppclass Type:
        Kind kind
        cbool nullable
        cbool is_decimal256
        int32_t precision
        int32_t scale
        int32_t dimensions
        int64_t element
        int32_t parent
        int32_t children
        string name
        string format
        string metadata
        string cql
        cbool is_variable()
        size_t width()
    cdef cppclass Plan:
        Plan() except +
        vector[Type] types
        int32_t columns
        Type& add(int32_t parent) except +
        cbool complete()
        cbool has_views
        cbool separate
        cbool same_as(const Plan& other)
        void retain()
        void release()
    cdef cppclass Metadata:
        void add(const string& key, const string& value) except +
        string bytes() except +
    cbool export_schema(const Plan& plan, ArrowSchema* out)

cdef extern from "columns/batch.h" namespace "fastcql::columns" nogil:
    cdef cppclass Shared:
        void release()
    cdef cppclass Buffer:
        uint8_t* data()
        size_t size()
        Shared* share()
    cdef cppclass Column:
        const Type* type
        Column* children
        int64_t length
        int64_t nulls
        Buffer validity
        Buffer values
        Buffer data
    cdef cppclass Page:
        const uint8_t* data
        size_t size
        int64_t rows
        FrameBlock* frame
    cdef cppclass RowCount:
        RowCount() except +
        int64_t target
        int64_t expected
    cdef cppclass Batch:
        @staticmethod
        Batch* make(const Plan& plan, BlockPool& pool)
        void retain()
        void release()
        cbool has_room_for(const Page& page)
        cbool append(const Page& page, const RowCount& in_all, Failure& failure) except +
        cbool finish(Failure& failure)
        int64_t rows()
        size_t bytes()
        const Column& column(int32_t i)
        cbool export_array(ArrowArray* out, int64_t first, int64_t rows)
        int64_t nulls_within(int32_t column, int64_t first, int64_t rows)
        cbool load(const uint8_t* p, size_t size, Failure& failure)

cdef extern from "columns/merge.h" namespace "fastcql::columns" nogil:
    cdef cppclass Run:
        int32_t from_ "from"
        int32_t first
        int32_t count
    Batch* gather_runs "fastcql::columns::gather"(
        const Plan& plan,
        BlockPool& pool,
        const Batch** batches,
        size_t batch_count,
        const Run* runs,
        size_t run_count,
        Failure& failure,
    )

cdef extern from "columns/merge.h" namespace "fastcql::columns" nogil:
    cdef cppclass OrderColumn:
        int32_t column
        cbool descends
    cbool has_order(const Type& type)
    cdef cppclass MergedRows "fastcql::columns::Merge::MergedRows":
        Batch* batch
        int64_t first
        int64_t count
    cdef cppclass NativeMerge "fastcql::columns::Merge":
        NativeMerge(const Plan& plan, BlockPool& pool, vector[OrderColumn] order, int32_t sources, int64_t slice_rows) except +
        cbool feed(int32_t source, Batch& batch, int64_t first, int64_t count, Failure& failure)
        void end(int32_t source)
        int32_t source_count()
        cbool needs_rows(int32_t source)
        int64_t advance(int64_t most)
        int64_t pending()
        cbool take(MergedRows& piece, Failure& failure)
        int64_t known(int32_t source, const Batch& batch, int64_t first, int64_t count)
        const vector[Run]& origins()

cdef extern from "columns/buffer.h" namespace "fastcql::columns" nogil:
    cdef cppclass Count "std::atomic<int64_t>":
        int64_t load()
        int64_t fetch_add(int64_t)
    cdef cppclass Counters:
        Count batches
        Count blocks
        Count arrays
        Count schemas
        Count streams
        Count rows
        Count loans
    Counters& counters()


def debug_counters():
    """Return the numbers of native objects of this extension in the process."""
    return {
        "column_batches": counters().batches.load(),
        "column_blocks": counters().blocks.load(),
        "arrow_arrays": counters().arrays.load(),
        "arrow_schemas": counters().schemas.load(),
        "arrow_streams": counters().streams.load(),
        "arrow_rows": counters().rows.load(),
        "arrow_loans": counters().loans.load(),
    }


# ---- masks, tests, groups and the first rows

from libcpp.memory cimport unique_ptr
from libcpp.utility cimport move

cdef extern from "<string_view>" namespace "std" nogil:
    cdef cppclass string_view:
        const char* data()
        size_t size()

cdef extern from "columns/cells.h" namespace "fastcql::columns" nogil:
    cdef enum class Form:
        Bits
        Int8
        Int16
        Int32
        Int64
        Float
        Double
        Bytes
        Words
        Views
        Uuid
        TimeUuid
        Wide16
        Wide32
        Other
    Form form_of(const Type& type)
    cdef struct Slice:
        const Batch* batch
        int64_t first
        int64_t rows
    cdef struct Id:
        uint64_t high
        uint64_t low
    Id id_of(const uint8_t* p)
    Id by_time_order "fastcql::columns::by_time"(Id id)
    Id by_version(Id id)
    cdef struct Wide:
        uint64_t[4] limbs
    cdef cppclass Strings:
        string_view get(int64_t i)

cdef extern from "columns/mask.h" namespace "fastcql::columns" nogil:
    cdef cppclass NativeMask "fastcql::columns::Mask":
        int64_t rows
        int64_t selected
        vector[uint64_t] yes
        vector[uint64_t] no
        uint64_t no_at(size_t word)
        void count()
        void set_and(const NativeMask& a, const NativeMask& b) except +
        void set_or(const NativeMask& a, const NativeMask& b) except +
        void set_not(const NativeMask& a) except +
        void set_bytes(const uint8_t* data, int64_t n) except +
        void set_bits(const uint8_t* bits, const uint8_t* known, int64_t offset, int64_t n) except +
        void set_unknown(int64_t n) except +
        void set_known(const NativeMask& a, const NativeMask& known) except +
        void append(const NativeMask& other) except +
        int64_t run_count()

cdef extern from "columns/mask.h" namespace "fastcql::columns" nogil:
    cdef enum class What "fastcql::columns::Test::What":
        Null
        Within
        Among
    cdef cppclass IntegerBounds "fastcql::columns::Bounds<int64_t>":
        int64_t low
        int64_t high
    cdef cppclass FloatBounds "fastcql::columns::Bounds<double>":
        double low
        double high
    cdef cppclass IdBounds "fastcql::columns::Bounds<fastcql::columns::Id>":
        Id low
        Id high
    cdef cppclass WideBounds "fastcql::columns::Bounds<fastcql::columns::Wide>":
        Wide low
        Wide high
    cdef cppclass TextBounds:
        string low
        string high
        cbool has_low
        cbool has_high
        cbool without_low
        cbool without_high
    cdef cppclass NativeTest "fastcql::columns::Test":
        int32_t column
        Form form
        What what
        IntegerBounds integers
        FloatBounds floats
        IdBounds ids
        WideBounds wides
        TextBounds texts
        vector[int64_t] some_integers
        vector[double] some_floats
        vector[Id] some_ids
        vector[Wide] some_wides
        vector[string] some_texts
        void finish() except +
        void run(const Slice& slice, NativeMask& out) except +

cdef extern from "columns/groups.h" namespace "fastcql::columns" nogil:
    cdef enum class Aggregate:
        Count
        Sum
        Min
        Max
    cdef enum class ResultKind "fastcql::columns::Result::What":
        None_ "fastcql::columns::Result::What::None"
        Integer
        Float
        Text
    cdef cppclass NativeResult "fastcql::columns::Result":
        ResultKind what
        double number
        string text
    cdef struct GroupKey "fastcql::columns::Key":
        int32_t column
        Form form
    cdef struct MeasureSpec:
        Aggregate aggregate
        int32_t column
        Form form
    cdef cppclass NativeGroups "fastcql::columns::Groups":
        cbool make(vector[GroupKey] keys, const vector[MeasureSpec]& wanted) except +
        size_t size()
        cbool add(const Slice& slice, const NativeMask* mask) except +
        cbool merge(const NativeGroups& other) except +
        NativeResult result(size_t group, size_t measure) except +
        NativeResult key(size_t group, size_t key) except +
        void save(string& out) except +
        cbool load(const uint8_t* p, size_t size) except +
        const uint32_t* last_groups()

cdef extern from "columns/merge.h" namespace "fastcql::columns" nogil:
    cdef struct Candidates:
        Slice slice
        const NativeMask* mask
    cdef struct Pick:
        int32_t source
        int64_t row
    vector[Pick] first_rows(
        const vector[Candidates]& sources, int32_t column, Form form, size_t count, cbool descending
    ) except +

cdef extern from "columns/batch.h" namespace "fastcql::columns" nogil:
    void save_native "fastcql::columns::save_batch"(const Batch& batch, string& out) except +

cdef extern from *:
    """
    namespace {
    // Returns the selected rows of a mask, as pairs of the first one and their number.
    std::vector<int64_t> runs_of(const fastcql::columns::Mask& mask) {
        std::vector<int64_t> found;
        found.reserve(static_cast<size_t>(mask.run_count()) * 2);
        mask.each_run([&](int64_t first, int64_t count) {
            found.push_back(first);
            found.push_back(count);
        });
        return found;
    }
    // Returns the text of a row of a column with offsets.
    std::string_view text_at(const fastcql::columns::Batch& batch, int32_t column, int64_t row) noexcept {
        const auto& found = batch.column(column);
        return fastcql::columns::Strings{fastcql::columns::offsets_of(found),
                                         reinterpret_cast<const char*>(found.data.data())}.get(row);
    }
    bool is_there(const fastcql::columns::Batch& batch, int32_t column, int64_t row) noexcept {
        const auto& found = batch.column(column);
        return !found.nulls || (found.validity.data()[row / 8] >> row % 8 & 1);
    }
    }  // namespace
    """
    vector[int64_t] runs_of(const NativeMask& mask) except + nogil
    string_view text_at(const Batch& batch, int32_t column, int64_t row) nogil
    cbool is_there(const Batch& batch, int32_t column, int64_t row) nogil
