// The least that a call from Python into C costs which finds the range of a token: the reference for measurements of
// the tablet map and route plans.
//
// A Python extension, compiled by its benchmark. Floor(firsts, lasts, objects) has sorted ranges in two flat arrays and
// an object for each; nothing is checked, and no code may change it.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <vector>

namespace {

struct Floor {
    PyObject_HEAD
    std::vector<int64_t>* firsts;
    std::vector<int64_t>* lasts;
    PyObject* objects;  // a tuple
};

PyObject* value_name = nullptr;

bool read(PyObject* numbers, std::vector<int64_t>& into) {
    const Py_ssize_t size = PyList_Size(numbers);
    for (Py_ssize_t i = 0; i < size; ++i) into.push_back(PyLong_AsLongLong(PyList_GET_ITEM(numbers, i)));
    return !PyErr_Occurred();
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *firsts, *lasts, *objects;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyList_Type, &firsts, &PyList_Type, &lasts, &PyTuple_Type, &objects))
        return nullptr;
    Floor* self = reinterpret_cast<Floor*>(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    self->firsts = new std::vector<int64_t>;
    self->lasts = new std::vector<int64_t>;
    self->objects = Py_NewRef(objects);
    if (read(firsts, *self->firsts) && read(lasts, *self->lasts)) return reinterpret_cast<PyObject*>(self);
    Py_DECREF(self);
    return nullptr;
}

void destroy(PyObject* object) {
    Floor* self = reinterpret_cast<Floor*>(object);
    delete self->firsts;
    delete self->lasts;
    Py_XDECREF(self->objects);
    Py_TYPE(object)->tp_free(object);
}

PyObject* find(Floor* self, int64_t token) {
    const int64_t* base = self->lasts->data();
    size_t size = self->lasts->size();
    while (size > 1) {
        const size_t half = size / 2;
        base += half & -static_cast<size_t>(base[half - 1] < token);
        size -= half;
    }
    const size_t at = static_cast<size_t>(base - self->lasts->data()) + (*base < token);
    if (at == self->lasts->size() || (*self->firsts)[at] >= token) Py_RETURN_NONE;
    return Py_NewRef(PyTuple_GET_ITEM(self->objects, static_cast<Py_ssize_t>(at)));
}

// As get_tablet_for_key(keyspace, table, token) is called; the names are not looked at.
PyObject* get(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    if (count != 3) return PyErr_Format(PyExc_TypeError, "three arguments");
    PyObject* value = PyObject_GetAttr(args[2], value_name);
    if (!value) return nullptr;
    const int64_t token = PyLong_AsLongLong(value);
    Py_DECREF(value);
    return find(reinterpret_cast<Floor*>(self), token);
}

// As a plan's pick(token) is called.
PyObject* pick(PyObject* self, PyObject* number) {
    const int64_t token = PyLong_AsLongLong(number);
    if (token == -1 && PyErr_Occurred()) return nullptr;
    return find(reinterpret_cast<Floor*>(self), token);
}

PyMethodDef methods[] = {
    {"get", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(get)), METH_FASTCALL, nullptr},
    {"pick", pick, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject floor_type = {
    PyVarObject_HEAD_INIT(nullptr, 0)
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "floor", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_floor() {
    value_name = PyUnicode_InternFromString("value");
    floor_type.tp_name = "floor.Floor";
    floor_type.tp_basicsize = sizeof(Floor);
    floor_type.tp_flags = Py_TPFLAGS_DEFAULT;
    floor_type.tp_new = make;
    floor_type.tp_dealloc = destroy;
    floor_type.tp_methods = methods;
    if (!value_name || PyType_Ready(&floor_type) < 0) return nullptr;
    PyObject* made = PyModule_Create(&module);
    if (made && PyModule_AddObjectRef(made, "Floor", reinterpret_cast<PyObject*>(&floor_type)) < 0) Py_CLEAR(made);
    return made;
}
