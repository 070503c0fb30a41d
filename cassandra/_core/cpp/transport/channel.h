// One connection: socket, frame splitter, stream ids, coalesced writes.
//
//   Connecting --> [Filtering] --> Open --> Closing --> Closed
//
//   Connecting   the socket is not writable yet
//   Filtering    the byte filter (TLS) shakes hands
//   Open         frames flow
//   Closing      no more requests; the owner cleans up
//   Closed       removed from the poller; every request has its outcome scheduled
//
// Ownership:
//   mutex_       guards the state, streams and the write queue. Held for short steps only, never over a system
//                call.
//   writing_     (guarded by mutex_) its setter owns wire_ and the filter, and may call send() without the mutex.
//                Other threads put their frames into the queue meanwhile; the owner checks the queue again before it
//                stops. So no thread waits for another thread's system call, and frames that meet there are sent
//                together. The owner with input for the filter leaves it pending, and is notified when the
//                owner has finished.
//   owner  the thread that runs the reactor at present: owns all receiving, and the poller.
//
// Data that has to be encrypted or compressed needs the runtime lock: the owner does that in a task of the
// reactor; any other thread, which comes from the runtime, takes the lock itself.
//
// Queued frames are always sent: outbound.h has the invariant and the argument. A response counts from its arrival: its
// time is that of the read which received it (Outcome::arrived), and before a request fails at its deadline all bytes
// available on the socket are read (on_scan), even if the client itself was delayed.
//
// All transitions are made by the owner, except the one to Closing, which any thread may make.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "routing/load.h"
#include "transport/runtime.h"
#include "transport/limits.h"
#include "transport/reason.h"
#include "transport/refs.h"
#include "transport/sys.h"
#include "transport/streams.h"
#include "transport/outbound.h"
#include "transport/window.h"

namespace fastcql {

class Reactor;
struct ChannelClosing;

enum class SubmitStatus : uint8_t { Accepted, Busy, Closed, NoMemory };

// A request that ended without a response. The operation comes with its reference.
struct EndedRequest {
    Operation* operation;
    uint32_t attempt;
    bool sent;
    Nanos elapsed;
};

// A request that was sent. The operation comes with a reference of its own.
struct WaitingRequest {
    Operation* operation;
    uint32_t attempt;
};

struct SubmitResult {
    SubmitStatus status;
    int stream;
    Nanos started;
};

class Channel final : public RefCounted<Channel> {
public:
    enum class State : uint8_t { Connecting, Filtering, Open, Closing, Closed };

    Channel(Reactor& reactor, const ConnectSpec& spec);
    ~Channel();

    // Runtime objects. `self` is a reference from connect until Runtime::closed; the others live as long as it.
    void* self = nullptr;
    void* filter = nullptr;
    void* compressor = nullptr;
    void* decompressor = nullptr;

    // --- any thread ---

    // Sends a frame (header and body, its length checked) under a free stream. Takes over a reference of the
    // operation's runtime object if accepted. *later*: it may be coalesced with others, see outbound.h. If
    // needs_runtime_output() the caller has the runtime lock, or may take it. Only Accepted changes any state.
    SubmitResult submit(const uint8_t* frame, size_t size, Operation* operation, uint32_t attempt,
                     double timeout, bool later = false) noexcept;
    // Sends the queue; called by the thread that took the channel from the flush list.
    void send_queued();
    // Orphans a request, and closes the channel if its current keyspace becomes unknown by that; the caller drops the
    // stream's reference. False if the response has arrived already: the stream may carry another request by now, so
    // the operation is compared.
    bool orphan(int stream, const Operation* operation, uint32_t attempt) noexcept;
    // *reason* is taken only if the channel was not closing yet.
    void close(Ref<Reason> reason) noexcept;

    State state() const { return state_.load(std::memory_order_acquire); }
    bool closed() const noexcept { return state() >= State::Closing; }
    int in_flight() const noexcept { return in_flight_.load(std::memory_order_relaxed); }
    int orphaned() const noexcept { return orphaned_.load(std::memory_order_relaxed); }
    int max_requests() const noexcept { return max_requests_.load(std::memory_order_relaxed); }
    void set_max_requests(int limit) noexcept { max_requests_.store(limit, std::memory_order_relaxed); }
    // Called before the first request that counts.
    void set_limit(Ref<Limit> limit) noexcept;
    // Requests count there from now on. *load* is of the shard that this channel leads to, and a part of *host*.
    void set_load(std::shared_ptr<HostLoad> host, ShardLoad& load) noexcept;
    // The server responds again after it was silent: the latencies of the silence do not count in its load.
    void responds_again() noexcept;
    // Has the number of requests in flight limited while the server is overloaded, see window.h. Called before the first
    // request that counts, and after set_load().
    void follow_overload() noexcept;
    // How many requests may be in flight to an overloaded server; infinite without a limit.
    double window() noexcept;
    bool is_window_full() noexcept;
    // Runtime::quiet is called when a sent request waits and no bytes were received for *patience*: see
    // streams.cpp. Called before the first request that counts.
    void watch_quiet(Nanos patience) noexcept;
    // Sends OPTIONS, a heartbeat, by *version* of the protocol whenever nothing was received for *interval*. Closes if
    // nothing is received for *timeout* then. Called once the handshake is complete.
    void keep_alive(uint8_t version, Nanos interval, Nanos timeout) noexcept;
    void waiting(std::vector<WaitingRequest>& found);  // inside the runtime lock
    // While more than a few requests are on their way to the peer: the number of bytes it has taken so far. Else 0.
    uint64_t uploaded() noexcept;
    // For requests in the admission queue: notify *waiter* when the state changes, unless there is a free stream (or
    // the channel is closed). The limit is checked separately.
    Wait wait_for_stream(Operation* waiter) noexcept;
    void end_queue() noexcept;
    // Between the two only the driver's own requests are accepted: the keyspace of the session is about to change. They
    // nest.
    void hold() noexcept;
    void let_go() noexcept;
    bool held() noexcept;
    uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_relaxed); }
    uint64_t bytes_sent() const noexcept { return bytes_sent_.load(std::memory_order_relaxed); }
    uint64_t bytes_received() const noexcept { return bytes_received_.load(std::memory_order_relaxed); }
    // The present time while this side has paused reading: the peer is not silent then.
    Nanos last_received() const noexcept {
        return paused_.load(std::memory_order_relaxed) ? monotonic_now()
                                                       : last_received_.load(std::memory_order_relaxed);
    }
    bool socket_name(bool peer, SocketAddress* address) noexcept;
    Reactor& reactor() noexcept { return *reactor_; }

    // --- owner ---

    void set_rules(EnvelopeRules rules) noexcept { splitter_.rules = rules; }
    void set_peek(Peek peek) noexcept { peek_ = peek; }
    // False in the middle of a frame. With a compressor and a decompressor the compressed format is used.
    bool enable_segments(bool compressed);
    bool compressed() const noexcept { return compressed_.load(std::memory_order_acquire); }
    bool needs_runtime_output() const { return filter || compressed(); }

    // In a forked child, whose only thread this is: closes its copy of the parent's socket.
    void close_copy() noexcept;

    // Called by the reactor.
    void start(const ConnectStep& step);
    void on_ready(uint32_t readiness);
    void on_attention();
    void on_scan(Nanos now);
    // True if a request is in flight whose observer is not a waiter.
    bool has_observed_requests();
    // The reactor keeps one time for the next scan; an earlier one replaces it.
    bool rearm(Nanos due) {
        if (due >= armed_scan_) return false;
        armed_scan_ = due;
        return true;
    }
    bool stale(Nanos due) const { return due != armed_scan_; }
    void flush();
    // For a paused channel: the size of the memory it waits for, and true if it got it (or needs none any more).
    size_t wanted() const;
    bool resume();
    // Inside the runtime lock.
    void runtime_input();
    // On interruptible threads, where input of the filter is filtered without ownership; see inbound.cpp.
    bool is_lendable() const { return is_lendable_ && !pending_end_; }
    bool lend();
    bool feed_filter();
    void filtered();
    void post_input();
    // Returns the filter lent to this thread, in a signal handler that is about to wait. Inside the runtime lock.
    static void give_back() noexcept;
    static bool borrows() noexcept { return borrowed_ != nullptr; }
    void runtime_flush();
    void runtime_closed(ChannelClosing& closing);
    void fail(Reason::Kind kind, std::string message, int error = 0);
    // The reactor stops: closes at once, also channels that are about to be closed.
    void stop();

    // Position in the reactor's registry, and whether a list of it holds the channel; the reactor's.
    size_t registry_index = 0;
    bool listed_dirty = false;
    bool listed_runtime_flush = false;
    bool listed_runtime_input = false;
    Channel* next_to_flush = nullptr;  // guarded by the list that it is in
    Channel* next_attended = nullptr;

private:
    using Lock = std::unique_lock<std::mutex>;
    // Tasks requested from the owner.
    enum Attention : uint32_t {
        kClose = 1,
        kInterest = 2,
        kFlush = 4,
        kScan = 8,
        kWriteFailed = 16,
        kRoom = 32,
        kInput = 64
    };

    // channel.cpp
    void finish_connecting();
    void become_open();
    void finish_close(Ref<Reason> reason);
    void close_descriptor();
    void end_filter();
    void begin_closing(Ref<Reason> reason);
    void ask(uint32_t attention) { wanted_attention_ |= attention; }
    void leave(Lock& lock);
    void update_interest();

    // streams.cpp
    SubmitResult try_submit(const uint8_t* frame, size_t size, Operation* operation, uint32_t attempt, double timeout,
                         bool later);
    Nanos expire(Nanos now, std::vector<EndedRequest>& expired);
    int allocate(Operation* operation, uint32_t attempt, double timeout, bool uses);
    void make_room_for_entry();
    int acquire(Priority priority);
    void release_stream(int stream);
    bool has_window_room();
    void wait_for_window();
    void take_waiters(std::vector<Operation*>& waiters);
    void notify_waiters(const std::vector<Operation*>& waiters);
    void give_up(StreamEntry& entry);
    bool unsent(const StreamEntry& entry) const;
    void take_requests(ChannelClosing& closing);

    // streams.cpp, of a silent peer
    Nanos quiet_at(Nanos now);
    bool is_quiet();
    Nanos heartbeat_due(Nanos now);
    bool queue_heartbeat(Nanos now) noexcept;
    void check_heartbeat(const Frame& frame);

    // outbound.cpp
    enum class RuntimeLock : uint8_t { None, Held, Take };
    void send_or_hand_over(Lock& lock);
    void pump(Lock& lock, int batches, RuntimeLock runtime);
    void take_queue(Buffer& batch);
    Ref<Reason> encode(RuntimeLock runtime);
    Ref<Reason> encode_with_runtime();
    Ref<Reason> compress(const Buffer& frames, Buffer& out);
    void stop_writing();

    // References to the runtime objects of a channel that is not closed yet, for a sender: the I/O thread may close it
    // meanwhile. Made inside the runtime lock.
    class FilterReferences {
    public:
        explicit FilterReferences(Channel& channel);
        ~FilterReferences();
        FilterReferences(const FilterReferences&) = delete;
        FilterReferences& operator=(const FilterReferences&) = delete;
        explicit operator bool() const { return self_; }

    private:
        const Runtime& runtime_;
        void* self_ = nullptr;
        void* filter_ = nullptr;
    };

    // inbound.cpp, with a filter
    bool take_input();
    void after_input();
    void settle();
    // Held during a call of the runtime that may be interrupted.
    class FilterCall {
    public:
        explicit FilterCall(Channel& channel);
        ~FilterCall();
        FilterCall(const FilterCall&) = delete;
        FilterCall& operator=(const FilterCall&) = delete;
        bool lost() const;  // no state may be accessed any more

    private:
        Channel& channel_;
        const uint32_t number_;
        Channel* const outer_;
    };
    static thread_local Channel* borrowed_;

    // inbound.cpp
    bool receive();
    bool receive_bodies_only();
    void handle_receive_error(ssize_t result);
    void received(size_t size);
    void pause();
    void receive_rest();
    void accept_bytes(const uint8_t* data, size_t size, Block* owner);
    size_t decode(const uint8_t* data, size_t size, Block* owner, void* context);
    void complete(Fault fault);
    bool resolve(const Frame& frame, Fault* fault);
    void end_input(Reason::Kind kind, const char* message, int error = 0);
    bool has_due(Nanos now);
    void fail(const Fault& fault);

    const Ref<Reactor> reactor_;

    std::mutex mutex_;
    std::atomic<State> state_{State::Connecting};
    int fd_ = -1;
    bool close_fd_wanted_ = false;
    uint32_t wanted_attention_ = 0;
    bool attention_posted_ = false;
    bool watch_wanted_ = false;  // a request was submitted that has an observer
    Ref<Reason> reason_;
    StreamIds ids_;
    std::vector<StreamEntry> entries_;
    Admission admission_;
    int held_ = 0;
    Ref<Limit> limit_;
    std::shared_ptr<HostLoad> host_load_;
    ShardLoad* load_ = nullptr;
    OverloadWindow window_;  // joined if the channel follows overload
    Nanos scan_at_ = kNever;
    // No call is made; half of kNever, so that sums do not overflow.
    static constexpr Nanos kNoQuietCheck = kNever / 2;
    Nanos quiet_after_ = kNoQuietCheck;
    struct Heartbeat {
        Nanos interval = 0;  // 0: none are sent
        Nanos timeout = 0;
        Nanos sent = 0;
        uint8_t version = 0;
        bool waits = false;  // nothing was received since
    } heartbeat_;
    WriteQueue queue_;
    bool scheduled_ = false;  // in the flush list, or taken from it by a sender
    bool writing_ = false;
    bool input_waits_ = false;  // for writing_, with input for the filter
    bool blocked_ = false;  // the socket takes no more; the poller waits for it
    int write_error_ = 0;
    size_t wire_sent_ = 0;
    std::vector<int> released_;

    Buffer wire_;   // owned by the setter of writing_
    Buffer batch_;  // the same: frames before they become segments, or are encrypted
    Buffer segments_;
    Buffer packed_;

    std::atomic<int> in_flight_{0};
    std::atomic<int> orphaned_{0};
    std::atomic<int> max_requests_{kMaxStreams};
    std::atomic<uint64_t> submitted_{0};  // requests of programs so far; changed inside the mutex
    std::atomic<uint64_t> bytes_sent_{0};
    std::atomic<uint64_t> bytes_received_{0};
    std::atomic<Nanos> last_received_{0};
    std::atomic<bool> paused_{false};  // reading is paused for lack of memory; changed by the owner

    // For the reactor's owner only.
    const Nanos connect_deadline_;
    uint32_t interest_ = 0;
    bool registered_ = false;
    Nanos armed_scan_ = kNever;
    uint64_t taken_ = 0;  // of an upload, at the last check
    Nanos quiet_reported_at_ = 0;  // time of the last Runtime::quiet
    Splitter splitter_;
    std::unique_ptr<SegmentDecoder> decoder_;
    Peek peek_ = Peek::Nothing;
    // Outgoing frames become segments, or compressed segments; set once, read by senders too.
    std::atomic<bool> segmented_{false};
    std::atomic<bool> compressed_{false};
    bool filter_started_ = false;
    bool scan_waits_ = false;  // until received bytes have passed the filter or the decompressor
    // Input that waits for the runtime lock.
    struct InputEnd {
        Reason::Kind kind;
        const char* message;
        int error;
    };
    struct Chunk {
        BlockRef block;
        const uint8_t* data;
        size_t size;
    };
    std::vector<Chunk> pending_input_;
    bool input_lent_ = false;
    std::atomic<bool> is_lendable_{false};  // the filter may be interrupted; set once, read by senders too
    std::unique_ptr<InputEnd> pending_end_;  // the end that follows the pending input
    // See inbound.cpp.
    std::vector<Chunk> feeding_;
    size_t fed_ = 0;
    bool unread_ = false;
    Buffer plain_;
    Ref<Reason> fault_;
    std::atomic<uint32_t> lease_{0};  // changed by interruptible threads
    Counted<&Counters::channels> counted_;
};

// Remaining work for a closed channel inside the runtime lock.
struct ChannelClosing {
    Ref<Reason> reason;
    std::vector<EndedRequest> requests;
    std::vector<Operation*> waiters;  // for room; with their references
};

}  // namespace fastcql
