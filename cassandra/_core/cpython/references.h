// References of native objects that one thread replaces while other threads read them.
//
// With the GIL they are plain fields. Without it a reader could add a reference to an object that another thread frees
// at that moment. Fields of a request or a result, which few threads use, are read and replaced in critical sections
// (transport_parts/request.pxi). Fields that every request reads, and that change seldom, are read here without a lock:
// the replaced object is released when no reader can have it any more (base/epochs.h).
//
// Fields that are None until a thread needs them, and are never replaced afterwards, are read by load_once and set by
// put_once. A plain read without a lock orders nothing: on ARM a thread could find an object whose content it does not
// see yet.
//
// All functions need an attached thread. Each extension has epochs of its own, so one extension contains all uses of a
// field: the one that declares its class.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "base/epochs.h"

// The field *name* of a Cython object, for the functions below.
#define FASTCQL_FIELD(object, name) (reinterpret_cast<PyObject**>(&(object)->name))

namespace fastcql {

// An Epochs::Reader for Cython, from announce() to the end of the function. A constructor alone would do nothing: Cython
// drops a variable that no statement uses.
class EpochReader {
public:
    void announce() noexcept { reader_.emplace(); }

private:
    std::optional<Epochs::Reader> reader_;
};

#if FASTCQL_FREE_THREADED

// Releases objects once no reader can have them.
class Released {
public:
    static void add(PyObject* object) noexcept {
        std::list<Entry> ready, made;
        try {
            made.push_back({0, object});
        } catch (const std::bad_alloc&) {  // it is not freed: this thread itself may be a reader, and cannot wait
            return;
        }
        {
            const GilLock lock(mutex());
            made.front().epoch = Epochs::retire();
            auto& waiting = list();
            waiting.splice(waiting.end(), made);
            auto end = waiting.begin();
            while (end != waiting.end() && Epochs::over(end->epoch)) ++end;
            ready.splice(ready.end(), waiting, waiting.begin(), end);
        }
        for (const Entry& entry : ready) Py_DECREF(entry.object);  // may run Python code
    }

private:
    struct Entry {
        uint64_t epoch;
        PyObject* object;
    };
    static GilMutex& mutex() noexcept {
        static GilMutex one;
        return one;
    }
    static std::list<Entry>& list() noexcept {
        static auto* waiting = new std::list<Entry>;  // used until the process ends
        return *waiting;
    }
};

// A new reference to the object in *field*, which is never null.
inline PyObject* load_reference(PyObject** field) noexcept {
    const Epochs::Reader reader;
    PyObject* const found = __atomic_load_n(field, __ATOMIC_SEQ_CST);
    Py_INCREF(found);
    return found;
}

// Puts *value* in place of the object in *field*, and returns a new reference to that.
inline PyObject* exchange_reference(PyObject** field, PyObject* value) noexcept {
    Py_INCREF(value);
    PyObject* const before = __atomic_exchange_n(field, value, __ATOMIC_SEQ_CST);
    Py_INCREF(before);
    Released::add(before);
    return before;
}

// The object in *field*, valid as long as the EpochReader that the caller has announced.
inline PyObject* borrow_reference(PyObject** field) noexcept { return __atomic_load_n(field, __ATOMIC_SEQ_CST); }

#else

inline PyObject* load_reference(PyObject** field) noexcept {
    Py_INCREF(*field);
    return *field;
}

inline PyObject* exchange_reference(PyObject** field, PyObject* value) noexcept {
    PyObject* const before = *field;
    Py_INCREF(value);
    *field = value;
    return before;
}

inline PyObject* borrow_reference(PyObject** field) noexcept { return *field; }

#endif

inline void store_reference(PyObject** field, PyObject* value) noexcept { Py_DECREF(exchange_reference(field, value)); }

// True if *field* has *value*, of which the caller has a reference: so its address is that of no other object.
inline bool refers_to(PyObject** field, PyObject* value) noexcept {
    return __atomic_load_n(field, __ATOMIC_ACQUIRE) == value;
}

// A new reference to the object in *field*, which put_once sets; None before.
inline PyObject* load_once(PyObject** field) noexcept {
    PyObject* const found = __atomic_load_n(field, __ATOMIC_ACQUIRE);
    Py_INCREF(found);
    return found;
}

// Puts *value* into *field* if None is there, and returns a new reference to the object that is there then. A field that
// is also replaced, by store_reference, needs an announced epoch here.
inline PyObject* put_once(PyObject** field, PyObject* value) noexcept {
    PyObject* before = Py_None;
    Py_INCREF(value);
    if (__atomic_compare_exchange_n(field, &before, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        Py_DECREF(Py_None);
        before = value;
    } else {
        Py_DECREF(value);  // the caller has another reference
    }
    Py_INCREF(before);
    return before;
}

// The second object of the pair in a tuple of pairs, in *field*, whose first one is *key*; null if there is none. A new
// reference.
inline PyObject* find_in_pairs(PyObject** field, PyObject* key) noexcept {
    const Epochs::Reader reader;
    PyObject* const pairs = __atomic_load_n(field, __ATOMIC_SEQ_CST);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pairs); ++i) {
        PyObject* const pair = PyTuple_GET_ITEM(pairs, i);
        if (PyTuple_GET_ITEM(pair, 0) != key) continue;
        Py_INCREF(PyTuple_GET_ITEM(pair, 1));
        return PyTuple_GET_ITEM(pair, 1);
    }
    return nullptr;
}

// The value of *key* in *dict*, whose values other threads replace or remove; *otherwise* if there is none. A new
// reference; null with an exception. dict.get() as Cython compiles it borrows the value until it adds a reference.
inline PyObject* get_value(PyObject* dict, PyObject* key, PyObject* otherwise) noexcept {
#if FASTCQL_FREE_THREADED
    PyObject* found;
    if (PyDict_GetItemRef(dict, key, &found) < 0) return nullptr;
    if (found != nullptr) return found;
#else
    PyObject* const found = PyDict_GetItemWithError(dict, key);
    if (found != nullptr) {
        Py_INCREF(found);
        return found;
    }
    if (PyErr_Occurred()) return nullptr;
#endif
    Py_INCREF(otherwise);
    return otherwise;
}

// The item at *index* of *list*, which has so many items, while other threads add some, and move the array by that. A
// new reference; null with an exception.
inline PyObject* get_item(PyObject* list, Py_ssize_t index) noexcept {
#if FASTCQL_FREE_THREADED
    return PyList_GetItemRef(list, index);
#else
    PyObject* const found = PyList_GET_ITEM(list, index);
    Py_INCREF(found);
    return found;
#endif
}

}  // namespace fastcql
