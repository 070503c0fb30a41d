# Cython declarations of the C++ part.

cdef extern from "columns/abi.h" nogil:
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

cdef extern from "memory/blocks.h" namespace "fastcql::memory" nogil:
    cdef cppclass BlockPool:
        void hold()
        void let_go()

cdef extern from "columns/plain.h" namespace "fastcql::columns" nogil:
    BlockPool& plain_blocks "fastcql::columns::PlainBlocks::instance"()

cdef extern from "memory/frames.h" namespace "fastcql::memory" nogil:
    cdef cppclass FrameBlock:
        pass

cdef extern from "columns/failure.h" namespace "fastcql::columns" nogil:
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
        Column* kids
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

cdef extern from "columns/gather.h" namespace "fastcql::columns" nogil:
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
    cdef cppclass Piece "fastcql::columns::Merge::Piece":
        Batch* batch
        int64_t first
        int64_t count
    cdef cppclass NativeMerge "fastcql::columns::Merge":
        NativeMerge(const Plan& plan, BlockPool& pool, vector[OrderColumn] order, int32_t sources, int64_t slice_rows) except +
        cbool feed(int32_t source, Batch& batch, int64_t first, int64_t count, Failure& failure)
        void end(int32_t source)
        int32_t source_count()
        cbool is_hungry(int32_t source)
        int64_t advance(int64_t most)
        int64_t pending()
        cbool take(Piece& piece, Failure& failure)
        int64_t known(int32_t source, const Batch& batch, int64_t first, int64_t count)
        const vector[Run]& origins()

cdef extern from "columns/counters.h" namespace "fastcql::columns" nogil:
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
