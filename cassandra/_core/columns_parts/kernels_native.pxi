# Cython declarations of masks, tests, groups and the first rows.

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

cdef extern from "columns/test.h" namespace "fastcql::columns" nogil:
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
    cdef struct Wanted:
        Aggregate aggregate
        int32_t column
        Form form
    cdef cppclass NativeGroups "fastcql::columns::Groups":
        cbool make(vector[GroupKey] keys, const vector[Wanted]& wanted) except +
        size_t size()
        cbool add(const Slice& slice, const NativeMask* mask) except +
        cbool merge(const NativeGroups& other) except +
        NativeResult result(size_t group, size_t measure) except +
        NativeResult key(size_t group, size_t key) except +
        void save(string& out) except +
        cbool load(const uint8_t* p, size_t size) except +
        const uint32_t* last_groups()

cdef extern from "columns/top.h" namespace "fastcql::columns" nogil:
    cdef struct Candidates:
        Slice slice
        const NativeMask* mask
    cdef struct Pick:
        int32_t source
        int64_t row
    vector[Pick] first_rows(
        const vector[Candidates]& sources, int32_t column, Form form, size_t count, cbool descending
    ) except +

cdef extern from "columns/saved.h" namespace "fastcql::columns" nogil:
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
