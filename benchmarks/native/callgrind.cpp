// Client requests to Callgrind, for `benchmarks.instructions`: no effect outside Valgrind.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <valgrind/callgrind.h>

namespace {

PyObject* begin(PyObject*, PyObject*) {
    CALLGRIND_START_INSTRUMENTATION;
    Py_RETURN_NONE;
}

PyObject* zero(PyObject*, PyObject*) {
    CALLGRIND_ZERO_STATS;
    Py_RETURN_NONE;
}

PyObject* dump(PyObject*, PyObject* name) {
    const char* text = PyUnicode_AsUTF8(name);
    if (text == nullptr) {
        return nullptr;
    }
    CALLGRIND_DUMP_STATS_AT(text);
    Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"begin", begin, METH_NOARGS, "Count instructions from now on."},
    {"zero", zero, METH_NOARGS, "Set all counts to zero."},
    {"dump", dump, METH_O, "Write the counts to a file with this text as its trigger, and set them to zero."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "callgrind", nullptr, -1, methods};

}  // namespace

PyMODINIT_FUNC PyInit_callgrind() {
    return PyModule_Create(&definition);
}
