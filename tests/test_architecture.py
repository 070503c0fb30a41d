"""The guide for maintainers, ``docs/architecture.rst``, beside the code: every path and name in it exists.

Text in double backticks is one of these:

* a path, below ``cassandra/`` or the root of the repository;
* ``Class.name``, defined in the body of a class of that name, or ``Class::name``, a function that C++ defines so;
* ``Class``, ``CONSTANT`` or ``function()``, defined somewhere in the code;
* a package of ``LAYERS``, or one of ``OTHERS``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.test_sourcecode import LAYERS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "cassandra"
PAGE = ROOT / "docs" / "architecture.rst"
LINES = 250
ENTRIES = 14  # of the glossary

SUFFIXES = {".py", ".pyx", ".pxi", ".pxd", ".h", ".cpp"}
PATH = re.compile(r"[\w./-]*/[\w./-]*|[\w-]+\.(?:py|pyx|pyi|pxi|pxd|h|cpp|rst|txt|json)")
MEMBER = re.compile(r"([A-Z_]\w*)(\.|::)(\w+)(?:\(\))?")
FUNCTION = re.compile(r"(\w+)\(\)")
NAME = re.compile(r"_?[A-Z]\w*")

#: Extensions, suffixes, keywords, attributes, commands.
OTHERS = {
    "codec", "transport", "routing", "memory", "columns", "models", ".pxi", ".pxd", ".pyi",
    "noexcept", "except +", "__all__", "repr", "_settings_epoch", "execute_concurrent", "Class::method()",
    "cassandra.cqlengine", "cassandra.testing", "python -m cassandra.bulk", "make build", "FASTCQL_CHECK_LOCKS=1",
}  # fmt: skip

CPP_TYPE = r"(?:[\w:]+(?:<[^()]*>)?[&*]? )+[&*]?"
CYTHON = r"(?:cdef|cpdef) (?:[\w\[\].]+[*&]? )*"


def named() -> set[str]:
    return set(re.findall(r"``(.+?)``", PAGE.read_text()))


@cache
def sources() -> tuple[str, ...]:
    return tuple(path.read_text() for path in sorted(PACKAGE.rglob("*")) if path.suffix in SUFFIXES)


def functions(name: str) -> str:
    """A pattern of the lines that define a function *name*."""
    return rf"^\s*(?:async )?def {name}\(|^\s*{CYTHON}{name}\(|^\s*{CPP_TYPE}(?:\w+::)*{name}\("


def classes(name: str) -> str:
    """A pattern of the lines that define a class *name*."""
    return rf"^[ \t]*(?:cdef |cpdef )?(?:enum )?(?:class|struct|enum) (?:alignas\(\w+\) )?{name}\b(?!;)"


def values(name: str) -> str:
    """A pattern of the lines that define a constant or an attribute *name*."""
    return rf"^\s*(?:self\.)?{name}(?:: [^=]+)?(?: =|$)|^\s*cdef (?:readonly |public )?[\w\[\]]+ {name}$|\b{name} = "


def is_defined(name: str, *kinds: str) -> bool:
    pattern = re.compile("|".join(kinds), re.MULTILINE)
    return any(name in text and pattern.search(text) for text in sources())


def bodies_of(owner: str) -> Iterator[str]:
    """The bodies of the classes of this name: up to the next line that is not indented more."""
    for text in sources():
        if owner not in text:
            continue
        for match in re.finditer(classes(owner), text, re.MULTILINE):
            depth = len(match[0]) - len(match[0].lstrip())
            rest = text[text.index("\n", match.end()) :]
            end = re.search(rf"\n[ \t]{{0,{depth}}}(?![ \t\n)]|public:|private:|protected:)", rest)
            yield rest[: end.start()] if end else rest


def has_member(owner: str, joint: str, name: str) -> bool:
    if joint == "::":
        return is_defined(name, rf"^{CPP_TYPE}{owner}::{name}\(")
    pattern = re.compile(f"{functions(name)}|{values(name)}", re.MULTILINE)
    return any(pattern.search(body) for body in bodies_of(owner))


def is_there(token: str) -> bool:
    if PATH.fullmatch(token):
        return (PACKAGE / token).exists() or (ROOT / token).exists()
    if member := MEMBER.fullmatch(token):
        return has_member(*member.groups())
    if function := FUNCTION.fullmatch(token):
        return is_defined(function[1], functions(function[1]))
    return NAME.fullmatch(token) is not None and is_defined(token, classes(token), values(token))


def test_all_names_exist() -> None:
    assert not {token for token in named() - OTHERS - LAYERS.keys() if not is_there(token)}


def test_other_names_are_used() -> None:
    assert not OTHERS - named()


@pytest.mark.parametrize(
    "token",
    [
        "_session/gone.py", "gone.pxi", "Session.gone()", "Session::execute()", "Channel::gone()", "Departed",
        "vanished()", "HostPool.gone", "Place.pick()", "FastPath.is_over()", "a phrase",
    ],
)  # fmt: skip
def test_missing_names_are_found(token: str) -> None:
    assert not is_there(token)


def test_the_page_is_short() -> None:
    assert len(PAGE.read_text().splitlines()) <= LINES


def test_each_package_is_described_in_layer_order() -> None:
    assert re.findall(r"^\* ``(\w+)``: ", PAGE.read_text(), re.MULTILINE) == list(LAYERS)


def test_the_glossary_is_small() -> None:
    glossary = PAGE.read_text().partition("\nGlossary\n")[2]
    assert 0 < len(re.findall(r"^[a-z]", glossary, re.MULTILINE)) <= ENTRIES
