"""Declarations of C++ for Cython: what may throw is ``except +``, and all else is ``noexcept`` where it is declared.

An exception of C++ in a call without ``except +`` ends the process, so each declaration has to be right. The compiler
checks the C++ side: a function that is ``noexcept`` in a header is so in its definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "cassandra" / "_core"
CPP = CORE / "cpp"
SOURCES = sorted({*CORE.glob("*.pyx"), *CORE.glob("*.pxd"), *CORE.glob("cpython/*.pxd"), *CORE.glob("*_parts/*.pxi")})

BLOCK = re.compile(r"^cdef extern from (?P<header>\*|\"[^\"]+\").*:\n(?P<body>(?:[ \t]+.*\n|\n)*)", re.MULTILINE)
INLINE = re.compile(r'"""(?P<code>.*?)"""', re.DOTALL)
OF_OTHERS = {"Python.h", "datetime.h", "math.h", "<time.h>"}  # C
#: Their functions that are declared are noexcept by the standard. Buffer of the transport is a std::vector.
OF_THE_LANGUAGE = {"string_view", "atomic<int64_t>", "atomic<bool>"}
OF_A_FIELD = r"#define {}\(\w+\) FASTCQL_FIELD\("
NOT_FUNCTIONS = re.compile(r"^(ctypedef (struct|int|u?int\d+_t)|(cdef )?(enum|struct)\b|pass\b|@)")


class Function(NamedTuple):
    source: str
    owner: str  # the class in C++, or nothing
    name: str  # in C++
    header: str
    code: str  # of a block with C++ of its own
    throws: bool
    text: str

    def __str__(self) -> str:
        return f"{self.source}: {self.owner + '.' if self.owner else ''}{self.name}"


def functions() -> Iterator[Function]:
    for source in SOURCES:
        for block in BLOCK.finditer(source.read_text()):
            header = block["header"].strip('"')
            if header in OF_OTHERS:
                continue
            inline = INLINE.search(block["body"])
            code = inline["code"] if inline else ""
            body = INLINE.sub("", block["body"])
            for function in _of_block(source.name, header, code, body):
                if re.search(OF_A_FIELD.format(function.name), code):
                    continue
                if not function.name.startswith("Py") and function.owner not in OF_THE_LANGUAGE:
                    yield function


def _of_block(source: str, header: str, code: str, body: str) -> Iterator[Function]:
    owner, depth = "", 0
    lines = iter(_joined(body))
    for line in lines:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if not text or text.startswith("#"):
            continue
        if owner and indent <= depth:
            owner = ""
        found = re.match(r"(?:cdef )?cppclass (\w+)(?:\[\w+\])?(?: \"([^\"]+)\")?", text)
        if found:
            owner, depth = (found[2] or found[1]).rpartition("::")[2] or found[1], indent
            cython_name = found[1]
            continue
        if (
            NOT_FUNCTIONS.match(text)
            or "(" not in text
            or "(*" in text.split("(", 1)[0] + text[text.find("(") : text.find("(") + 2]
        ):
            continue
        head = text.split("(", 1)[0]
        named = re.search(r"(\w+)(?: \"([^\"]+)\")?$", head)
        if not named:
            continue
        name = (named[2] or named[1]).rstrip("()").rpartition("::")[2]
        if owner and named[1] == cython_name:
            name = owner
        yield Function(source, owner, name, header, code, "except +" in text, text)


def _joined(body: str) -> list[str]:
    """Lines, where a declaration of several is one."""
    lines: list[str] = []
    for line in body.split("\n"):
        if lines and lines[-1].count("(") > lines[-1].count(")"):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return lines


def declarations(function: Function) -> list[str]:
    """Where the function is declared in C++, each up to its body or end."""
    for text in [function.code] if function.code else _headers(function.header):
        if function.owner and not function.code:
            text = _class_body(text, function.owner)
        found = _in_text(text, function.name)
        if found:
            return found
        for base in re.findall(r"(?:public |: (?!public))(\w+)", text.split("{", 1)[0]) if function.owner else []:
            found = declarations(function._replace(owner=base))
            if found:
                return found
    return []


def _is_of_the_language(function: Function) -> bool:
    """An alias of a class of the standard library, of which only functions that cannot throw are declared."""
    alias = rf"using {function.owner} = std::"
    return bool(function.owner) and any(re.search(alias, text) for text in _headers(function.header))


def _in_text(text: str, name: str) -> list[str]:
    parameters = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    before = (
        r"(?:(?<=[\w*&>] )|(?<=[*&])|(?<=[\n ]{4})(?=[A-Z]))(?<!return )(?<!~)\b"  # a type, or a constructor's line
    )
    after = r"[^;{}()]*(?:noexcept[^;{}]*)?(?::[^;{]*)?[;{]"
    pattern = before + re.escape(name) + r"\s*" + parameters + after
    found = [match[0] for match in re.finditer(pattern, text)]
    return [one for one in found if "&) = delete" not in one]


def _headers(header: str) -> Iterator[str]:
    """The text of a header and of all that it includes, without comments."""
    seen: set[str] = set()
    names = [header]
    while names:
        name = names.pop(0)
        path = next((folder / name for folder in (CPP, CORE) if (folder / name).exists()), None)
        if name in seen or path is None:
            continue
        seen.add(name)
        text = path.read_text()
        names += re.findall(r'#include "([^"]+)"', text)
        yield re.sub(r"//[^\n]*", "", text)


def _class_body(text: str, name: str) -> str:
    found = re.search(rf"(?:class|struct)(?: alignas\(\d+\))? {re.escape(name)}\b[^;{{]*\{{", text)
    if not found:
        return ""
    depth, at = 1, found.end()
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[found.start() : at]


FUNCTIONS = list(functions())


def test_there_are_declarations() -> None:
    assert len(FUNCTIONS) > 250


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_throws_or_is_noexcept(function: Function) -> None:
    if function.throws or _is_of_the_language(function):
        return
    found = declarations(function)
    assert found, f"{function.name} is not found in {function.header}"
    wrong = [text for text in found if "noexcept" not in text]
    assert not wrong, f"neither `except +` here nor `noexcept` in C++: {wrong}"


def test_sizes_of_memory_are_multiplied_by_the_helper() -> None:
    """A product that does not fit must not become a small allocation: ``times()`` of base/bytes.h."""
    call = re.compile(r"\b(?:malloc|realloc|posix_memalign|ensure|make_unique<\w+\[\]>)\(.*[\w)] \* [\w(]")
    found = [
        f"{path.relative_to(CPP)}:{number}: {line.strip()}"
        for path in sorted([*CPP.rglob("*.cpp"), *CPP.rglob("*.h")])
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if call.search(line.split("//")[0])
    ]
    assert not found


def test_folders_can_be_compiled_as_one_file() -> None:
    """The build joins the files of a folder: a function in an anonymous namespace would hide another file's."""
    kinds = "namespace|struct|class|enum|using|template|return"
    function = re.compile(rf"^(?=\w)(?!{kinds})[\w:<>*&, \[\]]*?[ *&](\w+)\([^;=]*$", re.MULTILINE)
    anonymous = re.compile(r"^namespace \{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
    hidden = []
    for folder in sorted(path for path in CPP.iterdir() if path.is_dir()):
        texts = {path: path.read_text() for path in sorted([*folder.glob("*.cpp"), *folder.glob("*.h")])}
        names = {path: set(function.findall(text)) for path, text in texts.items()}
        for path, text in texts.items():
            own = {name for body in anonymous.findall(text) for name in function.findall(body)}
            for other, declared in names.items():
                if other != path:
                    hidden += [f"{path.relative_to(CPP)} and {other.name}: {name}" for name in sorted(own & declared)]
    assert not hidden


def test_readers_of_epochs_announce_themselves() -> None:
    """Cython drops a variable that no statement uses, and its constructor with it."""
    declared = re.compile(
        r"^( +)cdef EpochReader (\w+)\n(?:\1cdef \w+ \w+(?: = (?:\{\}|\[\]))?\n)*(.*)\n", re.MULTILINE
    )
    found = [(source.name, *reader.groups()) for source in SOURCES for reader in declared.finditer(source.read_text())]
    assert len(found) > 5
    for source, indent, name, statement in found:
        assert statement == f"{indent}{name}.announce()", f"{source}: {statement}"
