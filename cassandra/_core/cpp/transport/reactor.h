// The event loop of a transport, and its timers.
//
// Timers are one-shot; a reactor keeps them in a heap, for the owner only. Any thread may cancel.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/system.h"
#include "transport/channel.h"
#include "transport/inbound.h"
#include "transport/lead.h"
#include "transport/outbound.h"
#include "transport/refs.h"
#include "transport/runtime.h"
#include "transport/sys.h"

namespace fastcql {

class Timer : public RefCounted<Timer> {
public:
    Timer(Nanos due, void* callback) : due(due), callback_(callback) {}

    const Nanos due;

    // Returns the callback to the thread that ends the timer: the reactor when it fires, or cancel(). Null if it ended
    // before.
    void* take_callback() noexcept { return callback_.exchange(nullptr, std::memory_order_acq_rel); }
    bool stale(Nanos) const { return callback_.load(std::memory_order_acquire) == nullptr; }

private:
    std::atomic<void*> callback_;  // an object of the runtime's language; this holds a reference
    Counted<&Counters::timers> counted_;
};

// Items by due time, earliest first. Obsolete entries stay until then: T::stale(due) detects them, and they are removed
// when they are due or when they could be half of the heap.
template <class T>
class DueHeap {
public:
    void add(Nanos due, Ref<T> item) {
        if (heap_.size() >= 2 * live_bound_) drop_stale();
        heap_.push_back({due, sequence_++, std::move(item)});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    Nanos next_due() const { return heap_.empty() ? kNever : heap_.front().due; }
    size_t size() const { return heap_.size(); }
    // The earliest item that is due at *now* and not stale, or null.
    Ref<T> pop(Nanos now) {
        while (!heap_.empty() && heap_.front().due <= now) {
            std::pop_heap(heap_.begin(), heap_.end(), later);
            const Nanos due = heap_.back().due;
            Ref<T> item = std::move(heap_.back().item);
            heap_.pop_back();
            if (!item->stale(due)) return item;
        }
        return nullptr;
    }
    void erase(const T* item) {
        heap_.erase(std::remove_if(heap_.begin(), heap_.end(),
                                   [item](const Entry& e) { return e.item.get() == item; }),
                    heap_.end());
        std::make_heap(heap_.begin(), heap_.end(), later);
    }

private:
    struct Entry {
        Nanos due;
        uint64_t sequence;  // items with the same due time keep the order of insertion
        Ref<T> item;
    };
    static bool later(const Entry& a, const Entry& b) {
        return a.due != b.due ? a.due > b.due : a.sequence > b.sequence;
    }
    void drop_stale() {
        const auto stale = [](const Entry& entry) { return entry.item->stale(entry.due); };
        heap_.erase(std::remove_if(heap_.begin(), heap_.end(), stale), heap_.end());
        std::make_heap(heap_.begin(), heap_.end(), later);
        live_bound_ = std::max<size_t>(64, heap_.size());
    }

    std::vector<Entry> heap_;
    uint64_t sequence_ = 0;
    size_t live_bound_ = 64;
};

// ---- the event loop: a poller, timers, an arena of a memory pool, and the channels that live in it
//
// State used in a turn of the loop belongs to the owner of the reactor (lead.h): the I/O thread, or a thread
// that blocks for its own response. Other threads post commands and signal its descriptor.
//
// One turn: wait; process ready connections natively (receive, split, complete, time out); wake the threads and signal
// the completion queues that got outcomes; send coalesced requests; then, only if there is work for it, take the
// runtime lock once and run all tasks that need it. Users' callbacks run on no other thread than the I/O thread: a
// caller that finds some hands ownership over. Calls of the runtime for a filter or a compressor are made by any owner.
//
// Time: timers and deadlines are checked only after all ready input has been read, see run_due().

struct ReactorStats {
    int64_t channels, timers, wakeups, leads, runtime_entries, slabs_in_use, bytes_in_use, paused;
};

class Reactor final : public RefCounted<Reactor> {
public:
    // On failure returns null and sets errno.
    static Ref<Reactor> create(const Runtime& runtime, const char* backend, const char* name,
                               memory::FramePool& pool, Nanos warn_after = 5 * kSecond);
    ~Reactor();

    // --- any thread ---

    const char* backend() const noexcept { return backend_; }
    // True while this thread is the owner: it must not block.
    bool is_owner() const noexcept { return current_ == this && !foreign(); }
    // True if the process was forked since: the thread and the sockets are the parent's.
    bool foreign() const noexcept { return generation_ != fork_generation(); }

    // False after stop(); no reference is taken then.
    bool open(const Ref<Channel>& channel, const ConnectSpec& spec);
    bool call_soon(void* callback) noexcept;
    bool add_timer(const Ref<Timer>& timer) noexcept;
    bool dispatch_later(Operation* operation) noexcept;
    void attend(Channel& channel);
    void wake();
    // Requests submitted *later*, see outbound.h. send_soon() schedules the send, flush() sends now.
    void send_soon(Channel& channel, Nanos now);
    // The lists are linked by next_to_flush, with their references. send_with_runtime() sends those that need the
    // runtime lock, which the caller has, one channel at a time: a signal handler that runs meanwhile finds the others
    // in the list.
    void flush() { send(flush_list_.take()); }
    Channel* take_flush_list() noexcept { return flush_list_.take(); }
    void send_with_runtime() noexcept;
    void send(Channel* list) noexcept;

    // Waits until *operation* has an outcome or is finished, at most until *deadline*, and polls meanwhile if no other
    // thread does. The caller is one of the operation's waiters. Interrupted: check for signals and call again.
    // NeedsRuntime: this thread has ownership, and input that needs the runtime; it must take the runtime lock, call
    // run_input() and call again.
    WaitResult await(Operation& operation, Nanos deadline) noexcept;
    // Requests ownership for a caller that takes responses repeatedly and would poll itself, though some are present
    // now.
    void ask() noexcept {
        if (callers_lead_ && ownership_.is_io()) ownership_.ask();
    }
    // Inside the runtime lock. Releases ownership.
    void run_input() noexcept;
    // A request in flight has an observer: the I/O thread polls if no other thread does.
    void watch() noexcept;
    // Interrupts the poll of the polling thread.
    void interrupt() {
        if (sleeping_.exchange(false, std::memory_order_seq_cst)) wake_.signal();
    }

    // Closes every channel, runs the last callbacks and waits for the thread (unless this is it). False: not finished
    // within *timeout*.
    bool stop(Nanos timeout) noexcept;
    ReactorStats stats() noexcept;

    // References that the next thread with the runtime lock may drop.
    DropList drops;
    OverloadWindows windows;  // of its channels

    // --- owner ---

    Poller& poller() { return *poller_; }
    ReceiveBuffer& receive_buffer() { return receive_buffer_; }
    const Runtime& runtime() const { return *runtime_; }

    void deliver(Operation* operation, Outcome&& outcome);
    void schedule_dispatch(Operation* operation);
    void runtime_connected(Channel& channel);
    void runtime_event(Channel& channel, Frame&& frame);
    void runtime_input(Channel& channel);
    void runtime_quiet(Channel& channel);
    void runtime_closed(Channel& channel, std::unique_ptr<ChannelClosing> closing);
    void mark_dirty(Channel& channel);
    void arm_scan(Channel& channel, Nanos due);
    void forget(Channel& channel);

    // Scratch space of one completion, here so that idle channels have none.
    struct Resolved {
        Operation* operation;
        uint32_t attempt;
    };
    std::vector<Frame> frames;
    std::vector<Resolved> resolved;
    Buffer scratch;

private:
    struct Command {
        enum class Kind : uint8_t { Open, Timer, Call, Dispatch } kind;
        Ref<Channel> channel;
        Ref<fastcql::Timer> timer;
        void* object = nullptr;  // a callback or an operation; a reference
        ConnectStep step;
    };
    struct RuntimeTask {
        enum class Kind : uint8_t { Dispatch, Call, Timer, Connected, Event, Input, Flush, Closed, Warn, Quiet } kind;
        Ref<Channel> channel;
        Ref<fastcql::Timer> timer;
        void* object = nullptr;
        Frame frame;
        std::unique_ptr<ChannelClosing> closing;
        std::string text;
    };

    Reactor(const Runtime& runtime, std::unique_ptr<Poller> poller, const char* name, Arena* arena,
            Nanos warn_after);
    bool start();
    void main();
    bool post(Command&& command);
    void wake_locked();
    void let_go();
    void run_turn();
    bool poll(Nanos limit, const Operation* operation, uint32_t ticket);
    void run_native();
    Nanos announce_sleep();
    Nanos next_due() const {
        return std::min({timers_.next_due(), scans_.next_due(), drop_due_, receive_buffer_.next_due(), flush_list_.due()});
    }
    bool drops_due() const;
    bool may_run_input() const;
    Ref<Channel> take_lent_filter();
    void run_lent_filter(Channel& channel);
    void end_caller_turn(Reactor* outer);
    bool may_lead() const;
    // Refused: another thread polls for this operation, or there is an outcome already.
    enum class LeadResult : uint8_t { Continue, Done, HandedOver, Refused, NeedsRuntime };
    LeadResult lead(Operation& operation, Nanos deadline, WaitResult* waited);
    LeadResult lead_turn(Operation& operation, Nanos deadline, uint32_t* ticket, WaitResult* waited);
    bool needs_io_thread();
    void run_filter_tasks();
    bool watched();
    void release_ownership();
    void run_commands();
    void run_command(Command& command);
    void run_events();
    void run_due();
    void run_runtime();
    void run_runtime_task(RuntimeTask& task);
    void flush_dirty();
    void notify();
    void drop_references();
    void end_turn();
    void begin_stop();
    void finish_stop();

    static thread_local Reactor* current_;

    const Runtime* const runtime_;
    const std::string name_;
    const uint32_t generation_;
    // Destroyed when the thread ends, even if the reactor is still referenced.
    std::unique_ptr<Poller> poller_;
    const char* const backend_;
    ReceiveBuffer receive_buffer_;  // its arena is detached with commands_mutex_ held
    WakeDescriptor wake_;  // signalled with commands_mutex_ held, so that it is not closed meanwhile

    Ownership ownership_;
    // False with FASTCQL_LEAD=0 in the environment: to measure its effect (benchmarks/bench_lead.py).
    const bool callers_lead_;
    std::mutex commands_mutex_;
    std::vector<Command> commands_;
    Channel* attended_ = nullptr;  // linked by next_attended; guarded by commands_mutex_, with references
    bool accepting_ = true;  // guarded by commands_mutex_
    std::atomic<bool> has_commands_{false};
    std::atomic<bool> sleeping_{false};
    std::atomic<bool> stopping_{false};
    std::atomic<bool> watched_{false};    // watch() was called since no request was in flight
    FlushList flush_list_;

    // For the owner only.
    std::vector<Command> running_commands_;
    std::vector<ReadyEvent> events_;
    std::vector<Ref<Channel>> channels_;
    std::vector<Ref<Channel>> closed_channels_;  // closed in this turn; events may still point to them
    std::vector<Ref<Channel>> dirty_;
    std::vector<Ref<Channel>> flushing_;
    std::vector<Ref<CompletionQueue>> queues_to_signal_;
    std::vector<std::atomic<uint32_t>*> sleepers_;  // to wake; addresses only, the operation may be gone
    std::vector<RuntimeTask> runtime_tasks_;
    std::vector<RuntimeTask> filter_tasks_;  // tasks that any owner may run
    std::vector<RuntimeTask> running_tasks_;
    std::vector<RuntimeTask> running_filters_;
    DueHeap<Timer> timers_;
    DueHeap<Channel> scans_;
    Nanos drop_due_ = kNever;
    size_t full_batches_ = 0;  // of events, consecutive
    int stop_turns_ = 0;
    bool stopped_ = false;

    // The thread.
    pthread_t thread_{};
    bool started_ = false;
    std::atomic<uint32_t> exited_{0};
    std::mutex join_mutex_;
    bool joined_ = false;

    std::atomic<int64_t> channel_count_{0};
    std::atomic<int64_t> timer_count_{0};
    std::atomic<int64_t> wakeups_{0};
    std::atomic<int64_t> runtime_entries_{0};
};

}  // namespace fastcql
