"""Internals of CPython and asyncio are used in ``_core/cpython`` only.

A field of an interpreter's struct, a private function and an assumption about either can change with each version of
Python, without a warning: code that relies on one still compiles, and breaks at run time. In one file each has its
versions and its replacement beside it, and a port to a new version is a review of that file. So this test searches all
other native code, comments included, and fails where a pattern of ``INTERNALS`` is found: move the line to
``cassandra/_core/cpython/interpreter.h``, as a small inline function, or use the documented C API.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parents[1] / "cassandra" / "_core"
HOME = CORE / "cpython"
HEADER, DECLARED = HOME / "interpreter.h", HOME / "interpreter.pxd"
SUFFIXES = {".pyx", ".pxd", ".pxi", ".h", ".cpp"}
SOURCES = sorted(path for path in CORE.rglob("*") if path.suffix in SUFFIXES and HOME not in path.parents)

#: Pattern, and an example that it finds.
INTERNALS = {
    r"\btp_[a-z]\w*": "type->tp_alloc(type, 0)",
    r"\bPy_TPFLAGS_\w+": "PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)",
    r"\b(?:bf|nb|sq|mp|am)_[a-z]\w*\b(?=\s*(?:\(|\)|;|->|=))": "type->tp_as_buffer->bf_releasebuffer)",
    r"\bPy_TYPE\s*\([^()]*\)\s*->": "Py_TYPE(value)->tp_flags",
    r"\bob_(?:item|type|base|refcnt|hash|size|digit|[a-z]?val)\b": "row->ob_item[0] = value",
    r"\bPy(?!TypeObject\b)[A-Z][A-Za-z]*Object\b": "reinterpret_cast<PyTupleObject*>(tuple)",
    r"\bPyObject_HEAD\b|\bPyObject_VAR_HEAD\b": "struct Holder { PyObject_HEAD };",
    r"\b_Py[A-Z]?_?\w+": "_PyLong_FromByteArray(p, n, 0, 1)",
    r"\bPy_BUILD_CORE\w*|\binternal/pycore_\w+|\bpycore_\w+\.h": '#include "internal/pycore_long.h"',
    r"\bPyMember(?:Def|Descr\w*)\b|\bPyDescr_\w+|\bstructmember\.h|\bT_OBJECT(?:_EX)?\b": "PyDescr_TYPE(descriptor)",
    r"\bPyMethodDef\b|\bPyCFunction\w*|\bml_(?:name|meth|flags)\b|\bm_(?:ml|self)\b": "PyCFunction_GET_FUNCTION(found)",
    r"\bPyObject_GC_(?:New\w*|Del)\b": "PyObject_GC_NewVar(PyTupleObject, type, n)",
    r"\bPyBaseObject_Type\b": "PyBaseObject_Type.tp_new",
    r"\bMANAGED_DICT\b|\b_?PyDictValues\b": "MANAGED_DICT",
    r"\bPyODict_\w+": "PyODict_New()",
    r"\bPyDateTimeAPI\b|\bPyDateTime_CAPI\b": "PyDateTimeAPI.DateTimeType",
    r"\bPyThreadState_GetDict\b|\b(?:tstate|interp)\s*->": "PyThreadState_GetDict()",
    r"__asyncio_running_event_loop__|\btask_wakeup\b|\b_fut_waiter\b": "__asyncio_running_event_loop__",
    r"\bimport _asyncio\b|\b_asyncio\.": "import _asyncio",
    r"\b(?:_?threading|asyncio|ssl|selectors)\._\w+": "threading._active.get(ident)",
    r"\bPY_(?:VERSION_HEX|MAJOR_VERSION|MINOR_VERSION)\b": "#if PY_VERSION_HEX >= 0x030D0000",
}

#: Attributes of modules of the standard library that have no documented equivalent; they are looked up by name.
ALLOWED = {
    (
        "transport_parts/asyncio.pxi",
        "asyncio._get_running_loop",
    ),  # get_running_loop() raises an exception without a loop
    ("transport_parts/reactor.pxi", "_threading._active"),  # entries of threads that Python did not start
    ("transport_parts/reactor.pxi", "_threading._DummyThread"),
}

WORDS = ("Relies on:", "Versions:", "Otherwise:")


def uses() -> dict[tuple[str, str], list[int]]:
    """Lines by file and by the text that a pattern finds."""
    found: dict[tuple[str, str], list[int]] = {}
    for path in SOURCES:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for pattern in INTERNALS:
                for match in re.finditer(pattern, line):
                    found.setdefault((str(path.relative_to(CORE)), match[0]), []).append(number)
    return found


def test_internals_are_in_one_place() -> None:
    found = uses()
    assert not {use: lines for use, lines in found.items() if use not in ALLOWED}
    assert not ALLOWED - found.keys(), "remove these from ALLOWED"


@pytest.mark.parametrize("pattern", INTERNALS)
def test_patterns_find_their_examples(pattern: str) -> None:
    assert re.search(pattern, INTERNALS[pattern])


def test_each_function_is_documented() -> None:
    """A comment before each function, or each #if around functions, has the three words."""
    blocks = re.split(r"\n\n", HEADER.read_text().partition("namespace fastcql {")[2])
    functions = [block for block in blocks if re.search(r"^inline ", block, re.MULTILINE)]
    assert len(functions) > 20
    for block in functions:
        assert [word for word in WORDS if f"// {word}" not in block] == [], block.partition("\n")[0]


def test_declarations_and_functions_are_the_same() -> None:
    """A function that no extension can use is a rest. ``is_finalizing`` is called from C++."""
    written = set(re.findall(r"^inline [^(]*?(\w+)\(", HEADER.read_text(), re.MULTILINE)) - {"is_finalizing"}
    declared = set(re.findall(r"^    [^#\n(]*?(\w+)\(", DECLARED.read_text(), re.MULTILINE))
    assert written == declared
    text = "\n".join(path.read_text() for path in SOURCES)
    assert not [name for name in declared if not re.search(rf"\b{name}\(", text)], "nothing calls it"
