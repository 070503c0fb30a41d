// Intrusive reference counting for native objects shared between threads; and counters of live objects.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace fastcql {

template <class T>
class RefCounted {
public:
    RefCounted() = default;
    RefCounted(const RefCounted&) = delete;
    RefCounted& operator=(const RefCounted&) = delete;

    void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete static_cast<T*>(this);
    }

protected:
    ~RefCounted() = default;

private:
    std::atomic<uint32_t> refs_{1};
};

template <class T>
class Ref {
public:
    Ref() noexcept = default;
    Ref(std::nullptr_t) noexcept {}
    // Adds a reference; adopt() takes over the caller's.
    explicit Ref(T* object) noexcept : object_(object) {
        if (object_) object_->retain();
    }
    static Ref adopt(T* object) noexcept {
        Ref ref;
        ref.object_ = object;
        return ref;
    }
    Ref(const Ref& other) noexcept : Ref(other.object_) {}
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() {
        if (object_) object_->release();
    }

    T* get() const noexcept { return object_; }
    T* operator->() const { return object_; }
    T& operator*() const { return *object_; }
    explicit operator bool() const { return object_ != nullptr; }
    T* detach() noexcept { return std::exchange(object_, nullptr); }

private:
    T* object_ = nullptr;
};

// ---- live native objects, counted so that tests can detect leaks
//
// Objects made per connection are always counted; those made per request only in CQL_DEBUG builds, where a few
// nanoseconds do not matter.

struct Counters {
    std::atomic<int64_t> reactors{0};
    std::atomic<int64_t> channels{0};
    std::atomic<int64_t> timers{0};
    std::atomic<int64_t> completion_queues{0};
#ifdef CQL_DEBUG
    std::atomic<int64_t> operations{0};
    std::atomic<int64_t> frames{0};    // Frame objects of the runtime's language
    std::atomic<int64_t> requests{0};  // entries of stream tables that hold an operation
#endif
};

inline Counters counters;

// Member that counts its owner: `Counted<&Counters::channels> counted_;`
template <std::atomic<int64_t> Counters::* Field>
struct Counted {
    Counted() { (counters.*Field).fetch_add(1, std::memory_order_relaxed); }
    Counted(const Counted&) : Counted() {}
    Counted& operator=(const Counted&) = default;
    ~Counted() { (counters.*Field).fetch_sub(1, std::memory_order_relaxed); }
};

#ifdef CQL_DEBUG
#define FASTCQL_COUNT(field, delta) ::fastcql::counters.field.fetch_add((delta), std::memory_order_relaxed)
#else
#define FASTCQL_COUNT(field, delta) static_cast<void>(0)
#endif

}  // namespace fastcql
