# Cython declarations of the C++ engine. Functions marked nogil may be called without the GIL.

cdef extern from "base/bytes.h" namespace "fastcql" nogil:
    uint32_t load32(const uint8_t* p)

cdef extern from "transport/sys.h" namespace "fastcql" nogil:
    ctypedef int64_t Nanos
    const Nanos NEVER "fastcql::kNever"
    const Nanos SECOND "fastcql::kSecond"
    Nanos monotonic_now()
    Nanos deadline_after(Nanos now, double seconds)
    uint32_t fork_generation()

cdef extern from "transport/refs.h" namespace "fastcql" nogil:
    cdef cppclass Ref[T]:
        Ref()
        Ref(T* object)
        T* get()
        T* detach()
        @staticmethod
        Ref[T] adopt(T* object)

cdef extern from "memory/frames.h" namespace "fastcql::memory" nogil:
    cdef cppclass FramePool:
        pass
    cdef cppclass FrameBlock:
        pass

cdef extern from "transport/envelope.h" namespace "fastcql" nogil:
    cdef cppclass CFrame "fastcql::Frame":
        uint8_t version
        uint8_t flags
        uint8_t opcode
        int16_t stream
        uint32_t length
        const uint8_t* body
        Ref[FrameBlock] block
        uint32_t skipped
    cdef cppclass EnvelopeRules:
        uint8_t version
        uint32_t max_frame
    cdef enum class Peek "fastcql::Peek":
        Nothing
        Lz4
        Snappy
    bint is_hot(const CFrame& frame, Peek peek)

cdef extern from "transport/reason.h" namespace "fastcql":
    cdef enum class ReasonKind "fastcql::Reason::Kind":
        Local
        Runtime
        System
        Timeout
        Eof
        Protocol
        Crc
        Stopped
        Silent
        Heartbeat
    cdef cppclass Reason:
        Reason(ReasonKind kind, string message) except +
        ReasonKind kind
        int error
        string message
        void* object()
        bint set_object(void* object, void (*drop)(void*) noexcept)
        void retain()
        void release()
    cdef enum class FailureKind "fastcql::FailureKind":
        TimedOut
        Closed
        Protocol
        Cancelled
    cdef cppclass CFailure "fastcql::Failure":
        FailureKind kind
        bint sent
        string message
        Ref[Reason] reason

cdef extern from "transport/segments.h" namespace "fastcql" nogil:
    cdef cppclass Buffer "fastcql::Buffer":
        cbool empty()
        void clear()
        uint8_t* data()
        size_t size()

cdef extern from "transport/operation.h" namespace "fastcql" nogil:
    cdef enum class Next "fastcql::Next":
        Nothing
        Drop
        Dispatch
        Enqueue
    cdef cppclass Outcome:
        uint32_t attempt
        bint hot
        bint holds_reference
        Nanos arrived
        Nanos elapsed
        CFrame frame
        unique_ptr[CFailure] failure
    cdef cppclass Batch "fastcql::Batch":
        int references
        size_t size()
        Outcome& at(size_t index)
    cdef enum class WaitResult "fastcql::WaitResult":
        Ready
        TimedOut
        Interrupted
        NeedsRuntime
    cdef cppclass CCompletionQueue "fastcql::CompletionQueue":
        CCompletionQueue() except +
        bint open()
        int fd()
        bint push(COperation* operation, cbool* notify)
        void signal()
        bint wake_loop()
        void take_all(vector[COperation*]& operations)
        void close(vector[COperation*]& operations)
        void release()
    cdef enum class Priority "fastcql::Priority":
        Normal
        First
        Driver
    cdef enum class DispatchStart "fastcql::Operation::DispatchStart":
        Nothing
        Here
        OnDriver
    cdef cppclass COperation "fastcql::Operation":
        void* self
        Priority priority
        bint driver_decides
        Next deliver(Outcome outcome, Ref[CCompletionQueue]* queue) except +
        bint take(Outcome* outcome)
        bint take_all(Batch* batch)
        void give_back(Batch batch)
        bint take_plain(Batch* batch)
        Next put_back(Outcome outcome) except +
        bint enter_wait()
        bint still_waiting()
        WaitResult sleep(Nanos deadline)
        Next leave_wait(bint abandoned, int* references, Ref[CCompletionQueue]* queue)
        void finish()
        bint finished()
        bint ready()
        bint has_unread(Nanos* arrived)
        int rearm()
        void set_prompt(cbool watched)
        Next set_eager(Ref[CCompletionQueue]* queue)
        Next attach(Ref[CCompletionQueue] queue, Ref[CCompletionQueue]* target)
        DispatchStart begin_dispatch(bint on_loop)
        Next end_dispatch(int* references, Ref[CCompletionQueue]* queue)
        COperation* next_drop
        int leave_drop_list()
        void reset_in_child()
    cdef cppclass DropList:
        bint empty()
        COperation* take_all()

cdef extern from "transport/reactor.h" namespace "fastcql" nogil:
    cdef cppclass CTimer "fastcql::Timer":
        CTimer(Nanos due, void* callback) except +
        void* take_callback()
        void release()

cdef extern from "transport/sys.h" namespace "fastcql" nogil:
    cdef cppclass SocketAddress:
        pass
    cdef cppclass SocketOption:
        int level
        int name
        Buffer value
    cdef cppclass ConnectSpec:
        int family
        SocketAddress address
        SocketAddress local
        vector[SocketOption] options
        Nanos timeout
    bint parse_address(int family, const char* host, int port, SocketAddress* address)
    bint parse_unix_path(const string& path, SocketAddress* address) except +
    bint describe_address(const SocketAddress& address, string* host, int* port) except +

cdef extern from "transport/runtime.h" namespace "fastcql":
    cdef cppclass Runtime:
        cbool (*enter)(void** token) noexcept nogil
        void (*leave)(void* token) noexcept nogil
        cbool (*interruptible)() noexcept nogil
        void (*thread_ending)() noexcept nogil
        void (*dispatch)(COperation* operation) noexcept
        void (*drop_operations)(COperation* list) noexcept
        void (*retain)(COperation* operation) noexcept
        void (*retain_object)(void* object) noexcept
        void (*call)(void* callback) noexcept
        void (*drop_object)(void* object) noexcept
        void (*warn)(const char* text) noexcept
        Reason* (*connected)(CChannel& channel) noexcept
        Reason* (*event)(CChannel& channel, CFrame& frame) noexcept
        void (*closed)(CChannel& channel, Reason& reason) noexcept
        void (*quiet)(CChannel& channel) noexcept
        Reason* (*filter_start)(void* filter, Buffer& wire) noexcept
        Reason* (*filter_receive)(
            void* filter, const uint8_t* data, size_t size, Buffer& plain, Buffer& wire
        ) noexcept
        Reason* (*filter_send)(void* filter, const uint8_t* data, size_t size, Buffer& wire) noexcept
        Reason* (*filter_eof)(void* filter) noexcept
        void (*filter_end)(void* filter, Buffer& wire) noexcept
        cbool (*filter_established)(void* filter) noexcept
        cbool (*filter_is_lendable)(void* filter) noexcept
        Reason* (*filter_complete)(void* filter, Buffer& plain, Buffer& wire) noexcept
        Reason* (*compress)(void* compressor, const uint8_t* data, size_t size, Buffer& out) noexcept
        Reason* (*decompress)(
            void* decompressor, const uint8_t* data, size_t size, uint8_t* plain, size_t plain_size, size_t* written
        ) noexcept

cdef extern from "transport/limits.h" namespace "fastcql" nogil:
    cdef enum class Wait "fastcql::Wait":
        Room
        Known
        Armed
    cdef cppclass CLimit "fastcql::Limit":
        CLimit(int maximum, Ref[CLimit] parent) except +
        int maximum()
        int in_flight()
        Wait wait(COperation* waiter)
        void end_queue()

cdef extern from "transport/channel.h" namespace "fastcql" nogil:
    cdef enum class SubmitStatus "fastcql::SubmitStatus":
        Accepted
        Busy
        Closed
        NoMemory
    cdef cppclass WaitingRequest:
        COperation* operation
        uint32_t attempt
    cdef cppclass SubmitResult:
        SubmitStatus status
        int stream
        Nanos started
    cdef cppclass CChannel "fastcql::Channel":
        CChannel(CReactor& reactor, const ConnectSpec& spec) except +
        void* self
        void* filter
        void* compressor
        void* decompressor
        SubmitResult submit(
            const uint8_t* frame, size_t size, COperation* operation, uint32_t attempt, double timeout, cbool later
        )
        bint orphan(int stream, const COperation* operation, uint32_t attempt)
        @staticmethod
        cbool borrows()
        @staticmethod
        void give_back()
        void close(Ref[Reason] reason)
        void close_copy()
        bint closed()
        bint compressed()
        int in_flight()
        int orphaned()
        int max_requests()
        void set_max_requests(int limit)
        void set_limit(Ref[CLimit] limit)
        void set_load(shared_ptr[HostLoad] host, ShardLoad& load)
        void responds_again()
        void follow_overload()
        double window()
        bint is_window_full()
        void watch_quiet(Nanos patience)
        void keep_alive(uint8_t version, Nanos interval, Nanos timeout)
        void waiting(vector[WaitingRequest]& found) except +
        uint64_t uploaded()
        Wait wait_for_stream(COperation* waiter)
        void end_queue()
        void hold()
        void let_go()
        bint held()
        uint64_t submitted()
        uint64_t bytes_sent()
        uint64_t bytes_received()
        Nanos last_received()
        bint socket_name(bint peer, SocketAddress* address)
        CReactor& reactor()
        void set_rules(EnvelopeRules rules)
        void set_peek(Peek peek)
        bint enable_segments(bint compressed) except +
        void release()

cdef extern from "transport/reactor.h" namespace "fastcql" nogil:
    ctypedef struct ReactorStats "fastcql::ReactorStats":
        int64_t channels
        int64_t timers
        int64_t wakeups
        int64_t leads
        int64_t runtime_entries
        int64_t slabs_in_use
        int64_t bytes_in_use
        int64_t paused
    cdef cppclass CReactor "fastcql::Reactor":
        @staticmethod
        Ref[CReactor] create(
            const Runtime& runtime, const char* backend, const char* name, FramePool& pool, Nanos warn_after
        ) except +
        const char* backend()
        bint is_owner()
        bint foreign()
        bint open(const Ref[CChannel]& channel, const ConnectSpec& spec) except +
        bint call_soon(void* callback)
        bint add_timer(const Ref[CTimer]& timer)
        bint dispatch_later(COperation* operation)
        CChannel* take_flush_list()
        void send_with_runtime()
        void send(CChannel* list)
        WaitResult await(COperation& operation, Nanos deadline)
        void ask()
        void run_input()
        void watch()
        bint stop(Nanos timeout)
        ReactorStats stats()
        DropList drops
        void release()

cdef extern from "transport/glue.h" namespace "fastcql":
    Reason* runtime_reason(const string& message, void* object, void (*drop)(void*) noexcept) except +

cdef extern from "transport/glue.h" namespace "fastcql" nogil:
    void append(Buffer& buffer, const void* data, size_t size) except +
    CFrame make_frame(
        uint8_t version, uint8_t flags, int16_t stream, uint8_t opcode, const void* body, size_t size
    ) except +
    CFailure* make_failure(int kind, bint sent, const string& message, Reason* reason) except +
    vector[pair[string, int64_t]] counter_values() except +
    void count_frame(int delta)
    void add_option(vector[SocketOption]& options, int level, int name, const void* value, size_t size) except +


# ---- the C++ half of writes

cdef extern from "base/row_source.h" namespace "fastcql" nogil:
    cdef cppclass RowSource:
        size_t rows()
        const string& failure()

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
        uint32_t sender
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
        size_t max_rows
        size_t max_bytes
        size_t overhead
    cdef enum class FrameResult "fastcql::WriteFrames::FrameResult":
        Request
        End
        Failed
    cdef cppclass WriteFrames:
        WriteFrames(WriteParts parts) except +
        void begin(RowSource* source)
        bint at_end()
        size_t next_row()
        FrameResult make() except +
        FrameResult build_again(RowSource& source, size_t at, size_t count) except +
        size_t at()
        size_t count()
        int64_t token()
        bint is_batch()
        bint out_of_memory()
        bint close(int64_t timestamp, int block)
        const uint8_t* data()
        size_t size()
