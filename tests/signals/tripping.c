/* Trips a signal at a chosen moment of the calling thread; tests/signals/moments.py explains which moments there are.
 *
 * A tracing function in C counts the instructions after which the interpreter may run handlers. At the chosen one it
 * marks the signal as having come, as the kernel's delivery would: the interpreter then runs the handler wherever it
 * really would, in Python code or in native code that asks for signals.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

static long long counted, chosen;
static int signal_number, tripped;
static char is_moment[256];
static PyObject *codes; /* address of a code object: (the object, its instructions) */

static PyObject *instructions_of(PyObject *frame)
{
    PyObject *code = PyObject_GetAttrString(frame, "f_code");
    if (code == NULL)
        return NULL;
    PyObject *address = PyLong_FromVoidPtr(code), *known = NULL, *bytes = NULL;
    if (address != NULL)
        known = PyDict_GetItemWithError(codes, address); /* borrowed */
    if (known == NULL && address != NULL && !PyErr_Occurred()) {
        bytes = PyObject_GetAttrString(code, "co_code");
        known = bytes == NULL ? NULL : PyTuple_Pack(2, code, bytes);
        if (known != NULL) {
            if (PyDict_SetItem(codes, address, known) < 0)
                known = NULL;
            else
                Py_DECREF(known);
        }
        Py_XDECREF(bytes);
    }
    Py_XDECREF(address);
    Py_DECREF(code);
    return known == NULL ? NULL : PyTuple_GET_ITEM(known, 1); /* borrowed */
}

static int is_at_moment(PyObject *frame)
{
    PyObject *instructions = instructions_of(frame);
    PyObject *index = instructions == NULL ? NULL : PyObject_GetAttrString(frame, "f_lasti");
    if (index == NULL)
        return -1;
    Py_ssize_t at = PyLong_AsSsize_t(index);
    Py_DECREF(index);
    if (at < 0 || at >= PyBytes_GET_SIZE(instructions))
        return 0;
    return is_moment[(unsigned char)PyBytes_AS_STRING(instructions)[at]];
}

static int trace(PyObject *self, PyFrameObject *frame, int what, PyObject *argument)
{
    if (tripped || (what != PyTrace_CALL && what != PyTrace_OPCODE))
        return 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int result = 0;
    if (what == PyTrace_CALL)
        result = PyObject_SetAttrString((PyObject *)frame, "f_trace_opcodes", Py_True);
    else if ((result = is_at_moment((PyObject *)frame)) > 0 && counted++ == chosen) {
        tripped = 1;
        PyErr_SetInterruptEx(signal_number);
    }
    if (result < 0)
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return 0;
}

/* start(number, moment, opcodes): from now on frames that this thread enters are traced. */
static PyObject *start(PyObject *module, PyObject *args)
{
    Py_buffer opcodes;
    if (!PyArg_ParseTuple(args, "iLy*", &signal_number, &chosen, &opcodes))
        return NULL;
    memset(is_moment, 0, sizeof is_moment);
    for (Py_ssize_t i = 0; i < opcodes.len; i++)
        is_moment[((unsigned char *)opcodes.buf)[i]] = 1;
    PyBuffer_Release(&opcodes);
    counted = tripped = 0;
    PyEval_SetTrace(trace, NULL);
    Py_RETURN_NONE;
}

/* stop(): (whether the signal was tripped, moments counted). */
static PyObject *stop(PyObject *module, PyObject *ignored)
{
    PyEval_SetTrace(NULL, NULL);
    return Py_BuildValue("NL", PyBool_FromLong(tripped), counted);
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, NULL},
    {"stop", stop, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "tripping", NULL, -1, methods};

PyMODINIT_FUNC PyInit_tripping(void)
{
    codes = PyDict_New();
    return codes == NULL ? NULL : PyModule_Create(&definition);
}
