// Reactor: creation, its thread, commands from other threads, stopping, and one turn of the loop. See reactor.h.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "transport/reactor.h"

namespace fastcql {

thread_local Reactor* Reactor::current_ = nullptr;

namespace {

bool leading_is_disabled() {
    const char* const setting = std::getenv("FASTCQL_LEAD");
    return setting && std::strcmp(setting, "0") == 0;
}

}  // namespace

Reactor::Reactor(const Runtime& runtime, std::unique_ptr<Poller> poller, const char* name, Arena* arena,
                 Nanos warn_after)
    : runtime_(&runtime),
      name_(name),
      generation_(fork_generation()),
      poller_(std::move(poller)),
      backend_(poller_->name()),
      receive_buffer_(*this, arena, warn_after),
      callers_lead_(!leading_is_disabled()) {}

Ref<Reactor> Reactor::create(const Runtime& runtime, const char* backend, const char* name,
                             memory::FramePool& pool, Nanos warn_after) {
    std::unique_ptr<Poller> poller = make_poller(backend);
    if (!poller) return nullptr;
    Arena* arena = pool.open_arena();
    if (!arena) {
        errno = ENOMEM;
        return nullptr;
    }
    auto reactor = Ref<Reactor>::adopt(new Reactor(runtime, std::move(poller), name, arena, warn_after));
    return reactor->start() ? reactor : nullptr;
}

Reactor::~Reactor() {
    if (started_ && !joined_) system::detach_thread(thread_);
}

bool Reactor::start() {
    if (!wake_.open() || !poller_->add(wake_.fd(), kReadable, nullptr)) return false;
    retain();  // the thread's
    counters.reactors.fetch_add(1, std::memory_order_relaxed);
    const auto run = [](void* self) -> void* {
        static_cast<Reactor*>(self)->main();
        return nullptr;
    };
    const int error = system::start_thread(&thread_, run, this);
    if (error != 0) {
        counters.reactors.fetch_sub(1, std::memory_order_relaxed);
        release();
        errno = error;
        return false;
    }
    started_ = true;
    return true;
}

void Reactor::main() {
    system::name_thread(name_.c_str());
    for (;;) {
        run_turn();
        if (foreign()) return;  // a callback has forked, and returned in the child
        if (stopped_) break;
        if (!ownership_.wanted() || needs_io_thread()) continue;
        release_ownership();
        ownership_.rest(flush_list_);
    }
    runtime_->thread_ending();
    let_go();
    exited_.store(1, std::memory_order_release);
    unpark_all(&exited_);
    release();
}

void Reactor::let_go() {
    Arena* arena;
    {
        std::lock_guard<std::mutex> guard(commands_mutex_);
        wake_.close();
        poller_ = nullptr;
        arena = receive_buffer_.detach();
        counters.reactors.fetch_sub(1, std::memory_order_relaxed);
    }
    arena->close();
}

bool Reactor::post(Command&& command) {
    std::lock_guard<std::mutex> guard(commands_mutex_);
    if (!accepting_) return false;
    try {
        commands_.push_back(std::move(command));
    } catch (const std::bad_alloc&) {
        return false;
    }
    has_commands_.store(true, std::memory_order_seq_cst);
    if (!is_owner()) wake_locked();
    return true;
}

// The owner announces that it sleeps, then checks for commands; this thread has posted a command, then checks
// whether the owner sleeps. The same holds for a thread that releases ownership.
void Reactor::wake_locked() {
    interrupt();
    ownership_.claim();
}

void Reactor::wake() {
    std::lock_guard<std::mutex> guard(commands_mutex_);
    wake_locked();
}

bool Reactor::open(const Ref<Channel>& channel, const ConnectSpec& spec) {
    Command command{Command::Kind::Open, channel, nullptr, nullptr, start_connect(spec)};
    const int fd = command.step.fd;
    if (post(std::move(command))) return true;
    if (fd >= 0) close_socket(fd);
    return false;
}

bool Reactor::call_soon(void* callback) noexcept {
    return post({Command::Kind::Call, nullptr, nullptr, callback, {}});
}

bool Reactor::add_timer(const Ref<Timer>& timer) noexcept {
    return post({Command::Kind::Timer, nullptr, timer, nullptr, {}});
}

bool Reactor::dispatch_later(Operation* operation) noexcept {
    return post({Command::Kind::Dispatch, nullptr, nullptr, operation, {}});
}

// Cannot fail. No effect after the last turn: the channel was stopped.
void Reactor::attend(Channel& channel) {
    std::lock_guard<std::mutex> guard(commands_mutex_);
    if (!accepting_) return;
    channel.retain();
    channel.next_attended = std::exchange(attended_, &channel);
    has_commands_.store(true, std::memory_order_seq_cst);
    if (!is_owner()) wake_locked();
}

// If there is no owner the I/O thread sleeps for a tick at most, and then checks.
void Reactor::send_soon(Channel& channel, Nanos now) {
    channel.retain();
    if (flush_list_.add(&channel, now) && !is_owner()) interrupt();
    if (stopping_.load(std::memory_order_seq_cst)) flush();  // there may be no more turn
}

void Reactor::send_with_runtime() noexcept {
    for (size_t left = flush_list_.size(); left > 0; --left) {
        Channel* const channel = flush_list_.take_for_runtime();
        if (!channel) return;
        Ref<Channel>::adopt(channel)->send_queued();
    }
}

void Reactor::send(Channel* list) noexcept {
    while (list) {
        const Ref<Channel> channel = Ref<Channel>::adopt(list);
        list = list->next_to_flush;
        channel->send_queued();
    }
}

bool Reactor::stop(Nanos timeout) noexcept {
    stopping_.store(true, std::memory_order_seq_cst);
    if (is_owner()) return true;  // it ends after this turn
    {
        std::lock_guard<std::mutex> guard(commands_mutex_);
        wake_locked();
    }
    const Nanos start = monotonic_now();
    while (exited_.load(std::memory_order_acquire) == 0) {
        Nanos left = kNever;
        if (timeout != kNever) {
            left = timeout - (monotonic_now() - start);
            if (left <= 0) return false;
        }
        park(exited_, 0, left);
    }
    std::lock_guard<std::mutex> guard(join_mutex_);
    if (!joined_) {
        system::join_thread(thread_);
        joined_ = true;
    }
    return true;
}

ReactorStats Reactor::stats() noexcept {
    ReactorStats stats{};
    std::lock_guard<std::mutex> guard(commands_mutex_);
    stats.channels = channel_count_.load(std::memory_order_relaxed);
    stats.timers = timer_count_.load(std::memory_order_relaxed);
    stats.leads = ownership_.leads();
    stats.wakeups = wakeups_.load(std::memory_order_relaxed);
    stats.runtime_entries = runtime_entries_.load(std::memory_order_relaxed);
    if (const Arena* arena = receive_buffer_.attached()) {
        const Arena::Usage usage = arena->usage();
        stats.slabs_in_use = usage.blocks;
        stats.bytes_in_use = usage.bytes;
        stats.paused = receive_buffer_.paused();
    }
    return stats;
}

// The last turns: all channels are closed, which leaves work for the runtime; when that is done the thread ends.
void Reactor::begin_stop() {
    // From the back: a removed entry is replaced by the last.
    for (size_t i = channels_.size(); i-- > 0;) channels_[i]->stop();
}

void Reactor::finish_stop() {
    constexpr int kPatience = 16;  // callbacks may post more work; after this it is refused
    {
        std::lock_guard<std::mutex> guard(commands_mutex_);
        const bool idle = commands_.empty() && !attended_ && runtime_tasks_.empty() && filter_tasks_.empty() &&
                          channels_.empty();
        if (idle || ++stop_turns_ > kPatience) accepting_ = false;
        if (!idle) return;
    }
    stopped_ = true;
    flush();  // closed channels: only their references
    receive_buffer_.finish();
    // Timers that will not fire any more: their callbacks are dropped.
    std::vector<void*> callbacks;
    while (const Ref<Timer> timer = timers_.pop(kNever)) {
        if (void* callback = timer->take_callback()) callbacks.push_back(callback);
    }
    timer_count_.store(0, std::memory_order_relaxed);
    void* token;
    if (callbacks.empty() && drops.empty()) return;
    if (!runtime_->enter(&token)) return;
    for (void* callback : callbacks) runtime_->drop_object(callback);
    drop_references();
    runtime_->leave(token);
}

// ---- one turn

namespace {

// References of operations without waiters are dropped by the next thread that submits a request, or after this time by
// the reactor itself; at once if there are very many.
constexpr Nanos kDropDelay = 50 * kMillisecond;
constexpr size_t kDropsAtOnce = 4096;
// Rounds of runtime callbacks in a turn, so that callbacks which schedule callbacks do not starve the sockets.
constexpr int kRuntimeRounds = 16;

}  // namespace

// By the I/O thread.
void Reactor::run_turn() {
    current_ = this;  // the thread runs only this reactor
    poll(kNever, nullptr, 0);
    run_native();
    run_runtime();
    if (foreign()) return;
    notify();
    flush_dirty();
    if (stopping_.load(std::memory_order_acquire)) finish_stop();
    end_turn();
    current_ = nullptr;
}

// False if a signal interrupted it.
bool Reactor::poll(Nanos limit, const Operation* operation, uint32_t ticket) {
    const Nanos deadline = std::min(limit, announce_sleep());
    const bool signalled = operation && operation->signalled(ticket);
    const bool completed = poller_->wait(signalled ? 0 : deadline, events_);
    sleeping_.store(false, std::memory_order_relaxed);
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    return completed;
}

void Reactor::run_native() {
    run_commands();
    run_events();
    run_due();
    if (stopping_.load(std::memory_order_acquire) && ownership_.is_io()) begin_stop();
    notify();
    flush_dirty();
}

// From here until the wait ends other threads signal the descriptor. Returns the time at which the wait must end.
Nanos Reactor::announce_sleep() {
    sleeping_.store(true, std::memory_order_seq_cst);
    const bool busy = has_commands_.load(std::memory_order_seq_cst) ||
                      stopping_.load(std::memory_order_seq_cst) || !runtime_tasks_.empty() || !filter_tasks_.empty() ||
                      !dirty_.empty() || full_batches_ > 0 || receive_buffer_.has_returned_memory();
    if (busy) return 0;
    if (!drops.empty() && drop_due_ == kNever) drop_due_ = monotonic_now() + kDropDelay;
    return next_due();
}

void Reactor::end_turn() {
    closed_channels_.clear();
    std::string warning = receive_buffer_.turn();
    if (warning.empty()) return;
    RuntimeTask& task = runtime_tasks_.emplace_back();
    task.kind = RuntimeTask::Kind::Warn;
    task.text = std::move(warning);
}

void Reactor::run_commands() {
    if (!has_commands_.load(std::memory_order_acquire)) return;
    Channel* attended;
    {
        std::lock_guard<std::mutex> guard(commands_mutex_);
        running_commands_.swap(commands_);
        attended = std::exchange(attended_, nullptr);
        has_commands_.store(false, std::memory_order_relaxed);
    }
    for (Command& command : running_commands_) run_command(command);
    running_commands_.clear();
    while (attended) {
        const Ref<Channel> channel = Ref<Channel>::adopt(attended);
        attended = attended->next_attended;
        channel->on_attention();
    }
}

void Reactor::run_command(Command& command) {
    switch (command.kind) {
        case Command::Kind::Open:
            command.channel->registry_index = channels_.size();
            channels_.push_back(command.channel);
            // A submit must not fail for lack of memory after the request was queued.
            for (auto* list : {&dirty_, &flushing_}) list->reserve(channels_.capacity());
            for (auto* list : {&filter_tasks_, &running_filters_}) list->reserve(2 * channels_.capacity());
            channel_count_.fetch_add(1, std::memory_order_relaxed);
            command.channel->start(command.step);
            break;
        case Command::Kind::Timer:
            timers_.add(command.timer->due, command.timer);
            break;
        case Command::Kind::Call: {
            RuntimeTask& task = runtime_tasks_.emplace_back();
            task.kind = RuntimeTask::Kind::Call;
            task.object = command.object;
            break;
        }
        case Command::Kind::Dispatch:
            schedule_dispatch(static_cast<Operation*>(command.object));
            break;
    }
}

void Reactor::run_events() {
    for (const ReadyEvent& event : events_) {
        if (event.data) {
            static_cast<Channel*>(event.data)->on_ready(event.ready);
        } else {
            wake_.drain();
        }
    }
}

// Deadlines are checked after all input was read: not after a full batch of events, as there may be more. Bounded, as
// peers may go on sending; by then each had its turn.
void Reactor::run_due() {
    send(flush_list_.tick());
    if (events_.size() >= Poller::kBatch && ++full_batches_ <= channels_.size() / Poller::kBatch + 1) return;
    full_batches_ = 0;
    const Nanos due = std::min(timers_.next_due(), scans_.next_due());
    if (due != kNever) {
        const Nanos now = monotonic_now();
        while (Ref<Timer> timer = timers_.pop(now)) {
            RuntimeTask& task = runtime_tasks_.emplace_back();
            task.kind = RuntimeTask::Kind::Timer;
            task.timer = std::move(timer);
        }
        while (const Ref<Channel> channel = scans_.pop(now)) channel->on_scan(now);
    }
    timer_count_.store(static_cast<int64_t>(timers_.size()), std::memory_order_relaxed);
}

bool Reactor::drops_due() const {
    return !drops.empty() &&
           (drops.size() >= kDropsAtOnce || (drop_due_ != kNever && monotonic_now() >= drop_due_));
}

// Runs all tasks of filters and compressors; by any owner.
// Inside the runtime lock.
void Reactor::run_filter_tasks() {
    for (int round = 0; round < kRuntimeRounds && !filter_tasks_.empty(); ++round) {
        running_filters_.swap(filter_tasks_);
        for (RuntimeTask& task : running_filters_) run_runtime_task(task);
        running_filters_.clear();
    }
}

void Reactor::run_runtime() {
    if (runtime_tasks_.empty() && filter_tasks_.empty() && !drops_due()) {
        if (drops.empty()) drop_due_ = kNever;
        return;
    }
    void* token;
    if (!runtime_->enter(&token)) {
        // The objects of the tasks belong to the runtime, which shuts down.
        for (RuntimeTask& task : runtime_tasks_) static_cast<void>(task.closing.release());
        runtime_tasks_.clear();
        filter_tasks_.clear();
        return;
    }
    runtime_entries_.fetch_add(1, std::memory_order_relaxed);
    run_filter_tasks();
    for (int round = 0; round < kRuntimeRounds && !runtime_tasks_.empty(); ++round) {
        running_tasks_.swap(runtime_tasks_);
        for (RuntimeTask& task : running_tasks_) {
            run_runtime_task(task);
            if (foreign()) {  // the callback forked, and this is the child: the other tasks are the parent's
                runtime_->leave(token);
                return;
            }
        }
        running_tasks_.clear();
        run_commands();  // commands of the callbacks
        run_filter_tasks();
    }
    drop_references();
    runtime_->leave(token);
}

void Reactor::run_runtime_task(RuntimeTask& task) {
    switch (task.kind) {
        case RuntimeTask::Kind::Dispatch:
            runtime_->dispatch(static_cast<Operation*>(task.object));
            break;
        case RuntimeTask::Kind::Call:
            runtime_->call(task.object);
            break;
        case RuntimeTask::Kind::Timer:
            if (void* callback = task.timer->take_callback()) runtime_->call(callback);
            break;
        case RuntimeTask::Kind::Connected:
            if (!task.channel->closed()) {
                if (auto reason = Ref<Reason>::adopt(runtime_->connected(*task.channel)))
                    task.channel->close(std::move(reason));
            }
            break;
        case RuntimeTask::Kind::Event:
            if (!task.channel->closed()) {
                auto reason = Ref<Reason>::adopt(runtime_->event(*task.channel, task.frame));
                if (reason) task.channel->close(std::move(reason));
            }
            break;
        case RuntimeTask::Kind::Input:
            task.channel->listed_runtime_input = false;
            task.channel->runtime_input();
            break;
        case RuntimeTask::Kind::Flush:
            task.channel->listed_runtime_flush = false;
            task.channel->runtime_flush();
            break;
        case RuntimeTask::Kind::Closed:
            task.channel->runtime_closed(*task.closing);
            task.closing.reset();
            break;
        case RuntimeTask::Kind::Quiet:
            if (!task.channel->closed()) runtime_->quiet(*task.channel);
            break;
        case RuntimeTask::Kind::Warn:
            runtime_->warn(task.text.c_str());
            break;
    }
}

void Reactor::flush_dirty() {
    while (!dirty_.empty()) {
        flushing_.swap(dirty_);
        for (const Ref<Channel>& channel : flushing_) {
            channel->listed_dirty = false;
            if (!channel->closed()) channel->flush();
        }
        flushing_.clear();
    }
}

// Once for all outcomes of the turn: a waiter for many requests takes them together.
void Reactor::notify() {
    for (std::atomic<uint32_t>* sleeper : sleepers_) unpark_all(sleeper);
    sleepers_.clear();
    for (const Ref<CompletionQueue>& queue : queues_to_signal_) queue->signal();
    queues_to_signal_.clear();
}

// Inside the runtime lock.
void Reactor::drop_references() {
    drop_due_ = kNever;
    if (Operation* list = drops.take_all()) runtime_->drop_operations(list);
}

void Reactor::deliver(Operation* operation, Outcome&& outcome) {
    Ref<CompletionQueue> queue;
    std::atomic<uint32_t>* sleeper = nullptr;
    const Next next = operation->deliver(std::move(outcome), &queue, &sleeper);
    if (sleeper) sleepers_.push_back(sleeper);
    switch (next) {
        case Next::Nothing:
            break;
        case Next::Drop:
            drops.push(operation);
            break;
        case Next::Enqueue: {
            bool notify = false;
            if (!queue->push(operation, &notify)) {
                schedule_dispatch(operation);
            } else if (notify) {
                queues_to_signal_.push_back(std::move(queue));
            }
            break;
        }
        case Next::Dispatch:
            schedule_dispatch(operation);
            break;
    }
}

void Reactor::schedule_dispatch(Operation* operation) {
    RuntimeTask& task = runtime_tasks_.emplace_back();
    task.kind = RuntimeTask::Kind::Dispatch;
    task.object = operation;
}

void Reactor::runtime_connected(Channel& channel) {
    RuntimeTask& task = runtime_tasks_.emplace_back();
    task.kind = RuntimeTask::Kind::Connected;
    task.channel = Ref<Channel>(&channel);
}

void Reactor::runtime_event(Channel& channel, Frame&& frame) {
    RuntimeTask& task = runtime_tasks_.emplace_back();
    task.kind = RuntimeTask::Kind::Event;
    task.channel = Ref<Channel>(&channel);
    task.frame = std::move(frame);
}

void Reactor::runtime_input(Channel& channel) {
    if (std::exchange(channel.listed_runtime_input, true)) return;
    RuntimeTask& task = filter_tasks_.emplace_back();
    task.kind = RuntimeTask::Kind::Input;
    task.channel = Ref<Channel>(&channel);
}

void Reactor::runtime_quiet(Channel& channel) {
    RuntimeTask& task = runtime_tasks_.emplace_back();
    task.kind = RuntimeTask::Kind::Quiet;
    task.channel = Ref<Channel>(&channel);
}

void Reactor::runtime_closed(Channel& channel, std::unique_ptr<ChannelClosing> closing) {
    RuntimeTask& task = runtime_tasks_.emplace_back();
    task.kind = RuntimeTask::Kind::Closed;
    task.channel = Ref<Channel>(&channel);
    task.closing = std::move(closing);
}

void Reactor::mark_dirty(Channel& channel) {
    if (channel.needs_runtime_output() && channel.state() == Channel::State::Open) {
        if (std::exchange(channel.listed_runtime_flush, true)) return;
        RuntimeTask& task = filter_tasks_.emplace_back();
        task.kind = RuntimeTask::Kind::Flush;
        task.channel = Ref<Channel>(&channel);
        return;
    }
    if (!std::exchange(channel.listed_dirty, true)) dirty_.push_back(Ref<Channel>(&channel));
}

void Reactor::arm_scan(Channel& channel, Nanos due) {
    if (channel.rearm(due)) scans_.add(due, Ref<Channel>(&channel));
}

void Reactor::forget(Channel& channel) {
    scans_.erase(&channel);
    const size_t index = channel.registry_index;
    closed_channels_.push_back(std::move(channels_[index]));
    if (index + 1 != channels_.size()) {
        channels_[index] = std::move(channels_.back());
        channels_[index]->registry_index = index;
    }
    channels_.pop_back();
    channel_count_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace fastcql
