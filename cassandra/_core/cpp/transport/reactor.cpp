// Reactor: creation, its thread, commands from other threads, stopping. The loop itself is in reactor_turn.cpp.
#include "transport/reactor.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace fastcql {

thread_local Reactor* Reactor::current_ = nullptr;

namespace {

bool told_not_to_lead() {
    const char* const told = std::getenv("FASTCQL_LEAD");
    return told && std::strcmp(told, "0") == 0;
}

}  // namespace

Reactor::Reactor(const Runtime& runtime, std::unique_ptr<Poller> poller, const char* name, Arena* arena,
                 Nanos warn_after)
    : runtime_(&runtime),
      name_(name),
      generation_(fork_generation()),
      poller_(std::move(poller)),
      backend_(poller_->name()),
      intake_(*this, arena, warn_after),
      callers_lead_(!told_not_to_lead()) {}

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
    if (started_ && !joined_) pthread_detach(thread_);
}

bool Reactor::start() {
    if (!bell_.open() || !poller_->add(bell_.fd(), kReadable, nullptr)) return false;
    // Signals are for the runtime's threads: a handler must interrupt their waits, not this thread's.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    retain();  // the thread's
    counters.reactors.fetch_add(1, std::memory_order_relaxed);
    const int error = pthread_create(
        &thread_, nullptr,
        [](void* self) -> void* {
            static_cast<Reactor*>(self)->main();
            return nullptr;
        },
        this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
#ifdef __linux__
    pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
#endif
    for (;;) {
        run_turn();
        if (foreign()) return;  // a callback has forked, and returned in the child
        if (stopped_) break;
        if (!role_.wanted() || for_io()) continue;
        leave_role();
        role_.rest(unsent_);
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
        bell_.close();
        poller_ = nullptr;
        arena = intake_.detach();
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
    if (!on_role()) wake_locked();
    return true;
}

// The role holder announces that it sleeps, then checks for commands; this thread has posted a command, then checks
// whether the holder sleeps. The same holds for a thread that leaves the role.
void Reactor::wake_locked() {
    interrupt();
    role_.claim();
}

void Reactor::wake() {
    std::lock_guard<std::mutex> guard(commands_mutex_);
    wake_locked();
}

bool Reactor::open(const Ref<Channel>& channel, const ConnectSpec& spec) {
    Command command{Command::Kind::Open, channel, nullptr, nullptr, start_connect(spec)};
    const int fd = command.step.fd;
    if (post(std::move(command))) return true;
    if (fd >= 0) ::close(fd);
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
    if (!on_role()) wake_locked();
}

// If the role is free the I/O thread sleeps for a tick at most, and then checks.
void Reactor::send_soon(Channel& channel, Nanos now) {
    channel.retain();
    if (unsent_.add(&channel, now) && !on_role()) interrupt();
    if (stopping_.load(std::memory_order_seq_cst)) send_unsent();  // there may be no more turn
}

void Reactor::send_with_runtime() noexcept {
    for (size_t left = unsent_.size(); left > 0; --left) {
        Channel* const channel = unsent_.take_for_runtime();
        if (!channel) return;
        Ref<Channel>::adopt(channel)->send_queued();
    }
}

void Reactor::send(Channel* list) noexcept {
    while (list) {
        const Ref<Channel> channel = Ref<Channel>::adopt(list);
        list = list->next_unsent;
        channel->send_queued();
    }
}

bool Reactor::stop(Nanos timeout) noexcept {
    stopping_.store(true, std::memory_order_seq_cst);
    if (on_role()) return true;  // it ends after this turn
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
        pthread_join(thread_, nullptr);
        joined_ = true;
    }
    return true;
}

ReactorStats Reactor::stats() noexcept {
    ReactorStats stats{};
    std::lock_guard<std::mutex> guard(commands_mutex_);
    stats.channels = channel_count_.load(std::memory_order_relaxed);
    stats.timers = timer_count_.load(std::memory_order_relaxed);
    stats.leads = role_.leads();
    stats.wakeups = wakeups_.load(std::memory_order_relaxed);
    stats.runtime_entries = runtime_entries_.load(std::memory_order_relaxed);
    if (const Arena* arena = intake_.attached()) {
        const Arena::Usage usage = arena->usage();
        stats.slabs_in_use = usage.blocks;
        stats.bytes_in_use = usage.bytes;
        stats.paused = intake_.paused();
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
    send_unsent();  // closed channels: only their references
    intake_.finish();
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

}  // namespace fastcql
