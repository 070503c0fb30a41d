// Uses of CPython's and asyncio's internals: struct fields, private functions, and assumptions about both.
//
// All other native code uses the documented C API only (tests/test_interpreter_internals.py), so a port to a new Python
// version starts here. Each function states:
//   Relies on  the field, function or behaviour that is not documented;
//   Versions   the CPython versions that have it, and the difference between them;
//   Otherwise  the documented replacement (for a limited API, or for a version that has it no more).
// Supported versions: 3.10 to 3.15. A difference between versions is one #if of PY_VERSION_HEX, in this file.
//
// Conventions: functions that return PyObject* return a new reference, or nullptr with an exception, unless they say
// "borrowed". All functions need the GIL, except is_finalizing(), attribute_values() and the functions on its result.
#pragma once

#include <Python.h>
#include <structmember.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fastcql {

// ---- tuples

// The items of a tuple, to read or to fill them in place. Borrowed.
// Relies on: PyTupleObject.ob_item is an array of all items inside of the object.
// Versions: all.
// Otherwise: PyTuple_GetItem and PyTuple_SetItem per item.
inline PyObject** tuple_items(PyObject* tuple) noexcept { return reinterpret_cast<PyTupleObject*>(tuple)->ob_item; }

// True if instances of cls have exactly the layout of tuple, so that new_row() may make them.
// Relies on: sizes and offsets in PyTypeObject.
// Versions: all.
// Otherwise: False, and callers call the class.
inline int is_plain_tuple_class(PyObject* cls) noexcept {
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls);
    return PyType_Check(cls) && PyType_IsSubtype(type, &PyTuple_Type)
        && type->tp_basicsize == PyTuple_Type.tp_basicsize && type->tp_itemsize == PyTuple_Type.tp_itemsize
        && type->tp_dictoffset == 0 && type->tp_weaklistoffset == 0 && PyType_IS_GC(type);
}

// An instance of a class accepted above: all items are null, and the collector does not track it. It has no other
// references before it is complete, and rows of atomic values need no tracking.
// Relies on: a tuple has no fields but its items and, since 3.14, a cached hash.
// Versions: all; the hash since 3.14.
// Otherwise: PyTuple_New, and PyObject_GC_UnTrack; tuple.__new__ for a subclass.
inline PyObject* new_row(PyTypeObject* type, Py_ssize_t n) noexcept {
    PyTupleObject* row = PyObject_GC_NewVar(PyTupleObject, type, n);
    if (!row) return nullptr;
#if PY_VERSION_HEX >= 0x030E0000
    row->ob_hash = -1;
#endif
    for (Py_ssize_t i = 0; i < n; ++i) row->ob_item[i] = nullptr;
    return reinterpret_cast<PyObject*>(row);
}

// tuple.__new__(cls, (first, second)) for a subclass of tuple, without the other tuple. The collector tracks it.
// Relies on: tp_alloc of such a class is sufficient, and its items may be set as those of a tuple.
// Versions: all.
// Otherwise: tp_new of tuple with a tuple of both.
inline PyObject* new_pair(PyObject* cls, PyObject* first, PyObject* second) noexcept {
    PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(cls);
    PyObject* const pair = type->tp_alloc(type, 2);
    if (pair == nullptr) return nullptr;
    Py_INCREF(first);
    Py_INCREF(second);
    PyTuple_SET_ITEM(pair, 0, first);
    PyTuple_SET_ITEM(pair, 1, second);
    return pair;
}

// ---- classes

// True if cls is a class, and base or a subclass of it.
// Relies on: documented functions only; it is here as several extensions use it.
// Versions: all.
// Otherwise: as it is.
inline int is_subclass(PyObject* cls, PyTypeObject* base) noexcept {
    return PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), base);
}

// True if the class of value is a heap type, made by a class statement; native array and number types are not.
// Relies on: tp_flags, read directly.
// Versions: all.
// Otherwise: PyType_GetFlags.
inline int is_of_heap_type(PyObject* value) noexcept { return (Py_TYPE(value)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0; }

// Version of a class, which changes when an attribute of the class or of a base is set. 0: not available.
// Relies on: tp_version_tag, the tag of the interpreter's own method cache, and the flag that it is valid.
// Versions: all. A tag is assigned by the first look-up after a change; tags are finite, and 0 is returned without one.
// Otherwise: 0, and callers read the class again each time.
inline unsigned int state_of_class(PyObject* kind) noexcept {
    if (!PyType_Check(kind)) return 0;
    PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(kind);
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
    return __atomic_load_n(&type->tp_version_tag, __ATOMIC_RELAXED);
}

// Sets the qualified name that repr, pickle and tracebacks show for a class of ours. name must be a literal.
// Relies on: tp_name of a static type is read whenever __module__ or __name__ is.
// Versions: all, while Cython makes static types; heap types (CYTHON_USE_TYPE_SPECS) keep the names elsewhere.
// Otherwise: set __module__ of a heap type.
inline void set_class_name(PyTypeObject* type, const char* name) noexcept { type->tp_name = name; }

// Has `await instance` call function, for a class that has no __await__ and is not to get one: inspect.isawaitable()
// and libraries look for that name.
// Relies on: the interpreter calls am_await of the class, and a heap type has its own struct of such functions, which is
// not made anew while no attribute __await__ is set.
// Versions: all.
// Otherwise: nothing, and the interpreter's own TypeError is raised.
inline void set_await(PyObject* cls, unaryfunc function) noexcept {
    PyAsyncMethods* const methods = reinterpret_cast<PyTypeObject*>(cls)->tp_as_async;
    if (methods != nullptr) methods->am_await = function;
}

// Has row[key] and row.name call these functions, for a namedtuple class made by a class statement. Unlike methods they
// cost nothing: names of fields are found as before. The interpreter reads both without a lock, so the first call must
// precede the use of the class by other threads; later ones change nothing.
// Relies on: the interpreter calls mp_subscript and tp_getattro, and they are not set anew while __getitem__,
// __getattr__ and __getattribute__ of the class are not.
// Versions: all.
// Otherwise: nothing, and the errors of tuple and object are raised.
inline void set_row_access(PyObject* cls, binaryfunc item, getattrofunc attribute) noexcept {
    PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(cls);
    if (type->tp_as_mapping == nullptr || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return;
    if (__atomic_load_n(&type->tp_getattro, __ATOMIC_ACQUIRE) == attribute) return;
    __atomic_store_n(&type->tp_as_mapping->mp_subscript, item, __ATOMIC_RELAXED);
    __atomic_store_n(&type->tp_getattro, attribute, __ATOMIC_RELEASE);
}

// tuple.__getitem__(row, key); nullptr with an exception.
// Relies on: mp_subscript of tuple.
// Versions: all.
// Otherwise: a call of tuple.__getitem__.
inline PyObject* tuple_item(PyObject* row, PyObject* key) noexcept {
    return PyTuple_Type.tp_as_mapping->mp_subscript(row, key);
}

// ---- instances

// cls.__new__(cls), without the look-up and without __init__; cls must be a class, no_arguments the empty tuple.
// Relies on: tp_new is set; it is null only for classes that cannot be instantiated, which callers exclude.
// Versions: all.
// Otherwise: a call of __new__.
inline PyObject* new_object(PyObject* cls, PyObject* no_arguments) noexcept {
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls);
    return type->tp_new(type, no_arguments, nullptr);
}

// object.__new__(cls), for a class without its own __new__; it gives the instance room for values. A msgspec struct is
// only memory.
// Relies on: tp_new and tp_alloc; a class with another __new__ and without a dict is a msgspec struct (its callers
// check __struct_fields__).
// Versions: all.
// Otherwise: object.__new__ as a Python function.
inline PyObject* new_plain(PyObject* cls, PyObject* no_arguments) noexcept {
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls);
    if (type->tp_new != PyBaseObject_Type.tp_new && type->tp_dictoffset == 0) return type->tp_alloc(type, 0);
    return PyBaseObject_Type.tp_new(type, no_arguments, nullptr);
}

// ---- slots

// True if instances have no fields but __slots__, so that new_instance() may omit __new__.
// Relies on: offsets and flags in PyTypeObject; an instance with a managed dict has fields before the object.
// Versions: all; managed dicts since 3.11.
// Otherwise: False, and callers call the class.
inline int is_slotted_class(PyObject* cls) noexcept {
    if (!PyType_Check(cls)) return 0;
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls);
#if PY_VERSION_HEX >= 0x030B0000
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) return 0;
#endif
    return type->tp_dictoffset == 0 && type->tp_itemsize == 0 && PyType_IS_GC(type)
        && (type->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

// True if instances of a slotted class are only memory that PyObject_GC_New can allocate.
// Relies on: tp_alloc and tp_free are the default ones.
// Versions: all.
// Otherwise: False, and callers use new_plain().
inline int is_bare_class(PyObject* cls) noexcept {
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls);
    return is_slotted_class(cls) && type->tp_alloc == PyType_GenericAlloc && type->tp_free == PyObject_GC_Del;
}

// An instance of a slotted class, all slots empty. tracked: true if the collector must track it (it may be part of a
// cycle).
// Relies on: the fields of an instance follow the object head, up to tp_basicsize, and zero is an empty slot.
// Versions: all.
// Otherwise: tp_alloc, and PyObject_GC_UnTrack.
inline PyObject* new_instance(PyTypeObject* type, int tracked) noexcept {
    if (tracked) return type->tp_alloc(type, 0);
    PyObject* self = PyObject_GC_New(PyObject, type);
    if (self) std::memset(reinterpret_cast<char*>(self) + sizeof(PyObject), 0, type->tp_basicsize - sizeof(PyObject));
    return self;
}

// Offset of a __slots__ member in instances of cls, or -1 if the class has no such plain slot.
// Relies on: PyMemberDescrObject.d_member.
// Versions: all. The names of structmember.h are old ones since 3.12, and still there.
// Otherwise: -1, and callers call the class.
inline Py_ssize_t slot_offset(PyObject* cls, const char* name) noexcept {
    PyObject* descriptor = PyObject_GetAttrString(cls, name);
    if (!descriptor) {
        PyErr_Clear();
        return -1;
    }
    Py_ssize_t offset = -1;
    if (Py_TYPE(descriptor) == &PyMemberDescr_Type) {
        PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
        PyTypeObject* owner = PyDescr_TYPE(descriptor);  // the descriptor may be put into another class
        if (member->type == T_OBJECT_EX && PyType_Check(cls)
            && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), owner))
            offset = member->offset;
    }
    Py_DECREF(descriptor);
    return offset;
}

// Sets an empty slot by its offset. Steals value.
// Relies on: a slot is one pointer.
// Versions: all.
// Otherwise: PyObject_SetAttr.
inline void set_slot(PyObject* self, Py_ssize_t offset, PyObject* value) noexcept {
    *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + offset) = value;
}

// The value of a slot by its offset; null if it is empty. Borrowed.
// Relies on: a slot is one pointer.
// Versions: all.
// Otherwise: PyObject_GetAttr.
inline PyObject* get_slot(PyObject* self, Py_ssize_t offset) noexcept {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + offset);
}

// Puts *after* in place of *before* into a slot; false if it has another value. The caller then has the slot's reference
// of *before*. Within a critical section of *self*: reading or setting the attribute there would acquire the lock of the
// section again, and so release it.
// Relies on: a slot is one pointer, which the interpreter sets in a critical section, and reads atomically.
// Versions: all.
// Otherwise: PyObject_GetAttr and PyObject_SetAttr with a mutex.
inline bool replace_slot(PyObject* self, Py_ssize_t offset, PyObject* before, PyObject* after) noexcept {
    PyObject** const slot = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + offset);
    if (*slot != before) return false;
    Py_INCREF(after);
    __atomic_store_n(slot, after, __ATOMIC_RELEASE);
    return true;
}

// ---- inline values

// The storage of the attributes of an instance that has no dict yet: an array of values, ordered as the keys that all
// instances of the class share; in front of it their count (inline_values_count), their limit
// (inline_values_capacity) and the order in which they were set (inline_value_index). Borrowed; null if the instance has
// none. Callers verify all of it with trial instances of each class (InstanceMaker._find_values).
// Relies on: the layout of PyDictValues, and its pointer four words before the object.
// Versions: 3.11 only; other versions store the values elsewhere.
// Otherwise: null, and callers set attributes by name.
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000 && !defined(PYPY_VERSION)
inline PyObject** attribute_values(PyObject* self) noexcept {
    if (!(Py_TYPE(self)->tp_flags & Py_TPFLAGS_MANAGED_DICT)) return nullptr;
    return reinterpret_cast<PyObject***>(self)[-4];
}
inline int inline_values_count(PyObject** values) noexcept { return reinterpret_cast<uint8_t*>(values)[-2]; }
inline int inline_values_capacity(PyObject** values) noexcept { return reinterpret_cast<uint8_t*>(values)[-1] - 2; }
inline int inline_value_index(PyObject** values, int n) noexcept { return reinterpret_cast<uint8_t*>(values)[-3 - n]; }
inline void add_value(PyObject** values, Py_ssize_t place, PyObject* value) noexcept {  // steals value
    uint8_t* kept = reinterpret_cast<uint8_t*>(values) - 2;
    kept[-++*kept] = static_cast<uint8_t>(place);
    values[place] = value;
}
#else
inline PyObject** attribute_values(PyObject*) noexcept { return nullptr; }
inline int inline_values_count(PyObject**) noexcept { return 0; }
inline int inline_values_capacity(PyObject**) noexcept { return 0; }
inline int inline_value_index(PyObject**, int) noexcept { return 0; }
inline void add_value(PyObject**, Py_ssize_t, PyObject*) noexcept {}
#endif

// ---- ints

// An int of n big-endian bytes.
// Relies on: _PyLong_FromByteArray, before 3.13.
// Versions: all; a documented function since 3.13.
// Otherwise: int.from_bytes.
inline PyObject* long_from_bytes(const uint8_t* p, size_t n, int is_signed) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    return is_signed ? PyLong_FromNativeBytes(p, n, Py_ASNATIVEBYTES_BIG_ENDIAN)
                     : PyLong_FromUnsignedNativeBytes(p, n, Py_ASNATIVEBYTES_BIG_ENDIAN);
#else
    return _PyLong_FromByteArray(p, n, 0, is_signed);
#endif
}

// Writes an int, which is one, as 16 big-endian bytes. -1 with an exception if it is negative or above 128 bits.
// Relies on: _PyLong_AsByteArray, before 3.13.
// Versions: all; a documented function since 3.13.
// Otherwise: int.to_bytes.
inline int long_to_16_bytes(PyObject* v, uint8_t* out) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    const Py_ssize_t need = PyLong_AsNativeBytes(
        v, out, 16,
        Py_ASNATIVEBYTES_BIG_ENDIAN | Py_ASNATIVEBYTES_UNSIGNED_BUFFER | Py_ASNATIVEBYTES_REJECT_NEGATIVE);
    if (need < 0) return -1;
    if (need > 16) {
        PyErr_SetString(PyExc_OverflowError, "int too big to convert");
        return -1;
    }
    return 0;
#else
    return _PyLong_AsByteArray(reinterpret_cast<PyLongObject*>(v), out, 16, 0, 0);
#endif
}

// ---- buffers

// The object that keeps the bytes of body's Py_buffer in place once the buffer is released. An exporter without
// bf_releasebuffer does not count its exports, so its bytes stay as long as it does.
// Relies on: tp_as_buffer, which is set as body exported a buffer.
// Versions: all.
// Otherwise: PyMemoryView_FromObject for all.
inline PyObject* owner_of_bytes(PyObject* body) noexcept {
    if (Py_TYPE(body)->tp_as_buffer->bf_releasebuffer) return PyMemoryView_FromObject(body);
    Py_INCREF(body);
    return body;
}

// ---- ordered dicts

// An empty collections.OrderedDict.
// Relies on: PyODict_New, exported and not documented.
// Versions: all.
// Otherwise: a call of collections.OrderedDict.
inline PyObject* new_ordered_dict() noexcept { return PyODict_New(); }

// Sets an item of an OrderedDict; -1 with an exception if that fails.
// Relies on: PyODict_SetItem, exported and not documented; PyDict_SetItem would not add it to the order.
// Versions: all.
// Otherwise: PyObject_SetItem.
inline int set_in_ordered_dict(PyObject* dict, PyObject* key, PyObject* value) noexcept {
    return PyODict_SetItem(dict, key, value);
}

// ---- functions implemented in C

// The C function of a built-in function; null for any other object.
// Relies on: PyCFunction_GET_FUNCTION.
// Versions: all.
// Otherwise: PyCFunction_GetFunction.
inline void* native_function(PyObject* callable) noexcept {
    return PyCFunction_CheckExact(callable) ? reinterpret_cast<void*>(PyCFunction_GET_FUNCTION(callable)) : nullptr;
}

// True if callable is a built-in function, and its C function is code.
// Relies on: PyCFunction_GET_FUNCTION.
// Versions: all.
// Otherwise: PyCFunction_GetFunction.
inline int is_native_function(PyObject* callable, void* code) noexcept {
    return PyCFunction_CheckExact(callable) && reinterpret_cast<void*>(PyCFunction_GET_FUNCTION(callable)) == code;
}

// ---- generators

// Ends a generator, or an awaited iterator, with value: raises StopIteration(value).
// Relies on: the exception may be set with a value that is not an exception yet, as the interpreter itself does for
// generators (_PyGen_SetStopIterationValue). Before 3.12 no exception object is made then.
// Versions: all.
// Otherwise: an exception object for all values.
inline void stop_with(PyObject* value) noexcept {
    if (!PyTuple_Check(value) && !PyExceptionInstance_Check(value)) {
        PyErr_SetObject(PyExc_StopIteration, value);
        return;
    }
    PyObject* const error = PyObject_CallFunctionObjArgs(PyExc_StopIteration, value, nullptr);
    if (error == nullptr) return;
    PyErr_SetObject(PyExc_StopIteration, error);
    Py_DECREF(error);
}

// ---- asyncio

// Key of the running loop in the dict of a thread state, see running_loop_note().
constexpr const char* kRunningLoopKey = "__asyncio_running_event_loop__";

// The object that asyncio stores for the loop that runs on this thread; key is kRunningLoopKey as an interned str.
// Borrowed; null without one, also with an exception. While it is the same living object, the same loop runs.
// Relies on: _asyncio stores it in the dict of the thread state.
// Versions: 3.10 and 3.11 store a holder object, which is new for each run; 3.12 stores the loop. Since 3.13 the loop
// is a field of the thread state, and this returns null.
// Otherwise: null, and callers call asyncio's function.
inline PyObject* running_loop_note(PyObject* key) noexcept {
    PyObject* const all = PyThreadState_GetDict();
    return all == nullptr ? nullptr : PyDict_GetItemWithError(all, key);
}

// The definition of a bound method implemented in C, equal for all objects of the class; null for any other object.
// Relies on: PyCFunctionObject.m_ml.
// Versions: all.
// Otherwise: null.
inline const void* method_of(PyObject* callable) noexcept {
    return PyCFunction_CheckExact(callable) ? reinterpret_cast<PyCFunctionObject*>(callable)->m_ml : nullptr;
}

// True if a definition from method_of() has the name of the callback that a C task adds to the future it waits for.
// Relies on: the name of TaskWakeupDef in _asyncio. Such a callback reads the result of its argument, in place if that
// is a future implemented in C, and discards it: the coroutine gets the result from the object that it yielded. So any
// future that is done is a valid argument.
// Versions: all. Before 3.10 such a callback was an object of a class of its own.
// Otherwise: False, and callbacks are called with the awaited object.
inline int is_task_wakeup(const void* method) noexcept {
    return std::strcmp(static_cast<const PyMethodDef*>(method)->ml_name, "task_wakeup") == 0;
}

// ---- shutdown

// True if the interpreter is shutting down: no thread may take the GIL any more. Callable without the GIL.
// Relies on: _Py_IsFinalizing, before 3.13.
// Versions: all; a documented function since 3.13.
// Otherwise: sys.is_finalizing.
inline bool is_finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

}  // namespace fastcql
