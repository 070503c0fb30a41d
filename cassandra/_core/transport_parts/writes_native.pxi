# Cython declarations of the C++ half of writes.

cdef extern from "base/row_source.h" namespace "fastcql" nogil:
    cdef cppclass RowSource:
        size_t rows() except +
        string failure() except +

cdef extern from "transport/writes.h" namespace "fastcql" nogil:
    cdef enum class WriteState "fastcql::Write::State":
        Free
        InFlight
        Held
    cdef cppclass Write:
        int64_t row
        int64_t timestamp
        int64_t token
        Nanos began
        Nanos sent
        uint32_t source
        uint32_t at
        int32_t stream
        uint32_t way
        uint16_t count
        uint16_t attempts
        WriteState state
        bint in_doubt
    cdef cppclass WriteTable:
        uint32_t open() except +
        void close(uint32_t number)
        size_t open_count()
        size_t size()
        Write* find(uint32_t number)
    cdef cppclass SourceEntry "fastcql::Sources::Entry":
        RowSource* source
        int64_t first
        size_t left
    cdef cppclass Sources:
        uint32_t add(RowSource* source, int64_t first) except +
        SourceEntry* find(uint32_t number)
        void done(uint32_t number, size_t rows)
        bint drop()
        void clear()
    cdef cppclass WriteParts:
        string head
        string values
        string tail
        string batch_head
        string entry
        string batch_tail
        size_t most_rows
        size_t most_bytes
        size_t overhead
    cdef enum class Made "fastcql::WriteFrames::Made":
        Request
        End
        Failed
    cdef cppclass WriteFrames:
        WriteFrames(WriteParts parts) except +
        void begin(RowSource* source)
        bint at_end()
        size_t next_row()
        Made make() except +
        Made make_again(RowSource& source, size_t at, size_t count) except +
        size_t at()
        size_t count()
        int64_t token()
        bint is_batch()
        bint out_of_memory()
        bint close(int64_t timestamp, int block)
        const uint8_t* data()
        size_t size()
