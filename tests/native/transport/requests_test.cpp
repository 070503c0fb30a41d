// Stream ids, write queue, timers, operations and loop queues without a socket.
#include <algorithm>
#include <poll.h>
#include <random>
#include <set>

#include "fixtures.h"
#include "transport/reactor.h"

namespace requests_test {

using namespace fixtures;

TEST(stream_ids_are_unique_and_low) {
    StreamIds ids;
    const auto acquire = [&](int limit) {
        ids.reserve();
        return ids.acquire(limit);
    };
    for (int i = 0; i < 100; ++i) CHECK(acquire(kMaxStreams) == i);
    ids.release(7);
    ids.release(3);
    CHECK(acquire(kMaxStreams) == 3 && acquire(kMaxStreams) == 7 && acquire(kMaxStreams) == 100);
    for (int i = 101; i < kMaxStreams; ++i) CHECK(acquire(kMaxStreams) == i);
    CHECK(acquire(kMaxStreams) == -1);
    ids.release(32767);
    CHECK(acquire(32767) == -1 && acquire(kMaxStreams) == 32767);
}

TEST(stream_ids_at_random) {
    StreamIds ids;
    const auto acquire = [&](int limit) {
        ids.reserve();
        return ids.acquire(limit);
    };
    std::set<int> taken;
    std::mt19937 random(1);
    for (int step = 0; step < 200000; ++step) {
        if (random() % 5 < 3) {
            const int limit = 1 + static_cast<int>(random() % 3000);
            const int id = acquire(limit);
            if (id < 0) {
                for (int i = 0; i < limit; ++i) CHECK(taken.count(i) == 1);
            } else {
                CHECK(id < limit && taken.insert(id).second);
            }
        } else if (!taken.empty()) {
            auto it = taken.lower_bound(static_cast<int>(random() % 3000));
            if (it == taken.end()) it = taken.begin();
            ids.release(*it);
            taken.erase(it);
        }
    }
}

TEST(write_queue_knows_what_was_sent) {
    WriteQueue queue;
    const std::string one = frame("first"), two = frame("second");
    const auto add = [&](const std::string& text, int stream) {
        const uint64_t position = queue.position();
        queue.reserve(text.size());
        queue.append(reinterpret_cast<const uint8_t*>(text.data()), text.size(), stream);
        return position;
    };
    const uint64_t first = add(one, 5), second = add(two, 258);
    CHECK(queue.still_queued(first) && queue.unsent(first, 0, true));
    Buffer batch;
    std::vector<int> released;
    queue.take(batch, released, [](int) { return false; });
    CHECK(batch.size() == one.size() + two.size() && released.empty() && queue.empty());
    CHECK(batch[3] == 5 && batch[one.size() + 2] == 1 && batch[one.size() + 3] == 2);
    CHECK(queue.unsent(first, 0, true) && !queue.unsent(first, 1, true));
    CHECK(queue.unsent(second, one.size(), true) && !queue.unsent(second, one.size() + 1, true));
    CHECK(queue.unsent(second, 0, false) && !queue.unsent(second, 1, false));  // not byte by byte
    const uint64_t third = add(one, 6);
    CHECK(queue.unsent(third, 1000, true));
    queue.batch_sent();
    CHECK(!queue.unsent(first, 0, true) && !queue.unsent(second, 0, false) && queue.unsent(third, 0, true));
}

TEST(withdrawn_requests_are_left_out) {
    WriteQueue queue;
    const std::string text = frame("body");
    for (int stream = 0; stream < 4; ++stream) {
        queue.reserve(text.size());
        queue.append(reinterpret_cast<const uint8_t*>(text.data()), text.size(), stream);
    }
    queue.withdraw();
    queue.withdraw();
    Buffer batch;
    std::vector<int> released;
    queue.take(batch, released, [](int stream) { return stream == 0 || stream == 2; });
    CHECK(batch.size() == 2 * text.size() && batch[3] == 1 && batch[text.size() + 3] == 3);
    CHECK((released == std::vector<int>{0, 2}));
    const uint64_t next = queue.position();
    queue.reserve(text.size());
        queue.append(reinterpret_cast<const uint8_t*>(text.data()), text.size(), 9);
    CHECK(queue.unsent(next, 0, true) && !queue.unsent(0, 1, true));
}

TEST(timers_in_order) {
    DueHeap<Timer> heap;
    int marks[100];
    std::mt19937 random(2);
    std::vector<Nanos> dues;
    for (int& mark : marks) {
        dues.push_back(random() % 50);
        heap.add(dues.back(), Ref<Timer>::adopt(new Timer(dues.back(), &mark)));
    }
    std::sort(dues.begin(), dues.end());
    CHECK(heap.next_due() == dues[0] && !heap.pop(dues[0] - 1));
    for (const Nanos due : dues) CHECK(heap.pop(kNever)->due == due);
    CHECK(!heap.pop(kNever) && counters.timers == 0);
}

TEST(cancelled_timers_do_not_pile_up) {
    DueHeap<Timer> heap;
    int mark;
    for (int i = 0; i < 100000; ++i) {
        auto timer = Ref<Timer>::adopt(new Timer(kNever - 1, &mark));
        heap.add(timer->due, timer);
        CHECK(timer->take_callback() == &mark && timer->take_callback() == nullptr);
    }
    CHECK(heap.size() < 200);
}

namespace {

Request* new_request() {
    auto* request = new Request;
    request->on_outcome = [](Request& self) { self.take_all(); };
    return request;
}

Outcome hot(uint32_t attempt = 0) {
    Outcome outcome;
    outcome.attempt = attempt;
    outcome.hot = true;
    return outcome;
}

Outcome cold(uint32_t attempt = 0) {
    Outcome outcome;
    outcome.attempt = attempt;
    outcome.failure.reset(new Failure{FailureKind::TimedOut, true, "late", nullptr});
    return outcome;
}

}  // namespace

TEST(a_hot_outcome_waits_without_a_reference) {
    auto* request = new_request();
    Ref<CompletionQueue> queue;
    request->retain();
    CHECK(request->core.deliver(hot(), &queue) == Next::Drop);
    CHECK(request->core.leave_drop_list() == 1);
    request->release();
    CHECK(request->wait(0));
    CHECK(request->outcomes() == 1 && request->references() == 1);
    request->release();
    CHECK(Request::alive == 0);
}

TEST(a_cold_outcome_is_dispatched_once) {
    auto* request = new_request();
    Ref<CompletionQueue> queue;
    request->retain();
    CHECK(request->core.deliver(cold(1), &queue) == Next::Dispatch);
    request->retain();
    CHECK(request->core.deliver(cold(2), &queue) == Next::Nothing);  // the dispatch will see it
    dispatch(&request->core);
    CHECK(request->outcomes() == 2 && request->references() == 1);
    request->release();
    CHECK(Request::alive == 0);
}

TEST(an_outcome_during_a_dispatch_is_dispatched_after_it) {
    auto* request = new_request();
    Ref<CompletionQueue> queue;
    int calls = 0;
    request->on_outcome = [&](Request& self) {
        if (++calls == 1) {
            self.retain();
            CHECK(self.core.deliver(cold(2), &queue) == Next::Nothing);
            Outcome outcome;
            CHECK(self.core.take(&outcome) && outcome.attempt == 1);
        } else {
            self.take_all();
        }
    };
    request->retain();
    CHECK(request->core.deliver(cold(1), &queue) == Next::Dispatch);
    dispatch(&request->core);
    CHECK(calls == 2 && request->references() == 1 && request->outcome().attempt == 2);
    request->release();
}

TEST(a_waiter_that_leaves_hands_on) {
    auto* request = new_request();
    Ref<CompletionQueue> queue;
    int references = 0;
    CHECK(request->core.enter_wait());
    request->retain();
    CHECK(request->core.deliver(cold(), &queue) == Next::Nothing);
    CHECK(request->core.leave_wait(true, &references, &queue) == Next::Dispatch);
    CHECK(references == 1 && request->references() == 2);
    dispatch(&request->core);  // with the reference that leave_wait gave free
    CHECK(request->references() == 1 && request->outcomes() == 1);
    request->release();
}

TEST(outcomes_are_taken_together) {
    auto* request = new_request();
    Ref<CompletionQueue> queue;
    Batch batch;
    std::atomic<int> sleepers{0};
    CHECK(!request->core.take_all(&batch));
    for (int round = 0; round < 3; ++round) {
        CHECK(request->core.enter_wait());
        Operation::Sleep sleep(request->core, &sleepers);
        CHECK(sleep.needed() && sleepers == 1);
        for (uint32_t attempt = 0; attempt < 300; ++attempt) {
            std::atomic<uint32_t>* sleeper = nullptr;
            request->retain();
            CHECK(request->core.deliver(attempt % 3 ? hot(attempt) : cold(attempt), &queue, &sleeper) ==
                  Next::Nothing);
            CHECK((sleeper != nullptr) == (attempt == 0) && sleepers == 0);  // one wake-up for all
        }
        int references = 0;
        Outcome oldest;
        CHECK(request->core.take(&oldest) && oldest.attempt == 0 && oldest.holds_reference);
        CHECK(request->core.take_all(&batch) && batch.size() == 299 && batch.references == 299);
        for (uint32_t index = 0; index < 299; ++index) CHECK(batch.at(index).attempt == index + 1);
        request->core.give_back(std::move(batch));
        batch = Batch();
        for (int i = 0; i < 300; ++i) request->release();
        CHECK(!request->core.ready() && !request->core.take(&oldest));
        CHECK(request->core.leave_wait(false, &references, &queue) == Next::Nothing && references == 0);
    }
    // Taken outcomes leave nothing behind: a hot one is not taken for a cold one.
    request->retain();
    CHECK(request->core.deliver(hot(), &queue) == Next::Drop);
    for (int count = request->core.leave_drop_list(); count > 0; --count) request->release();
    CHECK(request->core.take_all(&batch) && batch.size() == 1 && request->references() == 1);
    request->release();
    CHECK(Request::alive == 0);
}

TEST(finish_wakes_and_discards) {
    auto* request = new_request();
    std::thread waiter([&] {
        if (!request->core.enter_wait()) return;
        while (request->core.sleep(kNever) != WaitResult::Ready) {
        }
        int references;
        Ref<CompletionQueue> queue;
        request->core.leave_wait(false, &references, &queue);
    });
    testing::pause_ms(5);
    request->core.finish();
    waiter.join();
    Ref<CompletionQueue> queue;
    request->retain();
    CHECK(request->core.deliver(cold(), &queue) == Next::Drop);
    CHECK(request->core.leave_drop_list() == 1 && !request->core.ready());
    request->release();
    CHECK(request->core.rearm() == 0 && !request->core.finished());
    request->release();
}

TEST(eager_and_queued_delivery) {
    auto* request = new_request();
    Ref<CompletionQueue> target;
    CHECK(request->core.set_eager(&target) == Next::Nothing);
    request->retain();
    CHECK(request->core.deliver(hot(), &target) == Next::Dispatch);
    dispatch(&request->core);
    CHECK(request->outcomes() == 1);
    auto queue = Ref<CompletionQueue>::adopt(new CompletionQueue);
    CHECK(queue->open());
    CHECK(request->core.attach(queue, &target) == Next::Nothing);
    request->retain();
    CHECK(request->core.deliver(hot(), &target) == Next::Enqueue && target.get() == queue.get());
    bool notify = false;
    CHECK(queue->push(&request->core, &notify) && notify);
    queue->signal();
    pollfd waiting{queue->fd(), POLLIN, 0};
    CHECK(::poll(&waiting, 1, 0) == 1);
    std::vector<Operation*> operations;
    queue->take_all(operations);
    CHECK(operations.size() == 1 && ::poll(&waiting, 1, 0) == 0);
    dispatch(operations[0]);
    CHECK(request->outcomes() == 2 && request->references() == 1);
    queue->close(operations);
    CHECK(!queue->push(&request->core, &notify));
    request->retain();
    CHECK(request->core.deliver(hot(), &target) == Next::Dispatch);  // a closed queue takes nothing
    dispatch(&request->core);
    request->release();
    CHECK(Request::alive == 0);
}

// A prompt operation is dispatched without any observer; a waiter or an event loop takes what it may take.
TEST(prompt_delivery) {
    auto* request = new_request();
    request->core.driver_decides = true;
    request->core.set_prompt(false);
    CHECK(!request->core.calls());
    request->core.set_prompt(true);
    CHECK(request->core.calls());
    Ref<CompletionQueue> target;
    int references = 0;
    Batch batch;
    request->retain();
    CHECK(request->core.deliver(hot(), &target) == Next::Dispatch);
    dispatch(&request->core);
    CHECK(request->outcomes() == 1);
    CHECK(request->core.enter_wait());
    request->retain();
    CHECK(request->core.deliver(hot(), &target) == Next::Nothing);
    CHECK(request->core.take_plain(&batch) && batch.size() == 1);
    for (; batch.references > 0; --batch.references) request->release();
    CHECK(request->core.leave_wait(false, &references, &target) == Next::Nothing && references == 0);
    CHECK(request->core.enter_wait());
    request->retain();
    CHECK(request->core.deliver(cold(), &target) == Next::Dispatch);  // although a thread waits
    CHECK(request->core.leave_wait(true, &references, &target) == Next::Nothing && references == 0);
    dispatch(&request->core);
    CHECK(request->outcomes() == 2);
    CHECK(request->core.enter_wait());
    request->retain();
    CHECK(request->core.deliver(hot(), &target) == Next::Nothing);
    CHECK(request->core.leave_wait(true, &references, &target) == Next::Dispatch);  // the waiter has given up
    for (; references > 0; --references) request->release();
    request->retain();
    dispatch(&request->core);
    CHECK(request->outcomes() == 3);
    auto queue = Ref<CompletionQueue>::adopt(new CompletionQueue);
    CHECK(queue->open());
    CHECK(request->core.attach(queue, &target) == Next::Nothing);
    request->retain();
    CHECK(request->core.deliver(hot(), &target) == Next::Enqueue);
    dispatch(&request->core);
    CHECK(request->outcomes() == 4 && request->references() == 1);
    CHECK(request->core.attach(Ref<CompletionQueue>(), &target) == Next::Nothing && request->core.calls());
    request->release();
    CHECK(Request::alive == 0);
}

// Many threads deliver, wait, take, finish and dispatch; every outcome is taken once and no reference is
// lost.
TEST(operations_under_contention) {
    for (int round = 0; round < 300; ++round) {
        auto* request = new_request();
        constexpr int kOutcomes = 6;
        std::vector<std::thread> threads;
        std::mutex pending_mutex;
        std::vector<Operation*> pending;
        DropList drops;
        for (int i = 0; i < kOutcomes; ++i) {
            RuntimeLock lock(runtime_mutex);
            request->retain();
        }
        for (int t = 0; t < 2; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < kOutcomes / 2; ++i) {
                    Ref<CompletionQueue> queue;
                    switch (request->core.deliver((i + t + round) % 2 ? hot() : cold(), &queue)) {
                        case Next::Drop:
                            drops.push(&request->core);
                            break;
                        case Next::Dispatch: {
                            std::lock_guard<std::mutex> guard(pending_mutex);
                            pending.push_back(&request->core);
                            break;
                        }
                        default:
                            break;
                    }
                }
            });
        }
        threads.emplace_back([&] {  // the I/O thread
            while (request->outcomes() < kOutcomes) {
                std::vector<Operation*> work;
                {
                    std::lock_guard<std::mutex> guard(pending_mutex);
                    work.swap(pending);
                }
                RuntimeLock lock(runtime_mutex);
                for (Operation* operation : work) dispatch(operation);
                if (Operation* list = drops.take_all()) runtime.drop_operations(list);
            }
        });
        threads.emplace_back([&] {  // a waiter that goes on until it has seen all
            while (request->outcomes() < kOutcomes) {
                if (request->core.enter_wait()) {
                    request->core.sleep(monotonic_now() + kMillisecond);
                    RuntimeLock lock(runtime_mutex);
                    int references;
                    Ref<CompletionQueue> queue;
                    const bool abandoned = request->core.still_waiting() || round % 3 == 0;
                    const Next next = request->core.leave_wait(abandoned, &references, &queue);
                    while (references-- > 0) request->release();
                    if (next == Next::Dispatch) {
                        request->retain();
                        dispatch(&request->core);
                    }
                }
                RuntimeLock lock(runtime_mutex);
                request->take_all();
            }
        });
        for (std::thread& thread : threads) thread.join();
        RuntimeLock lock(runtime_mutex);
        if (Operation* list = drops.take_all()) runtime.drop_operations(list);
        for (Operation* operation : pending) dispatch(operation);
        CHECK(request->outcomes() == kOutcomes && request->references() == 1);
        request->release();
        CHECK(Request::alive == 0);
    }
}

}  // namespace requests_test
