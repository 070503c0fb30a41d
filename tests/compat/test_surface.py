"""The public API beside scylla-driver 3.29.12: names, bases, signatures, defaults and constants.

``surface.json`` holds facts about that release: of value modules everything public, of the others what its manual
documents and every exception. Our functions may take more, after what theirs take. Every other difference is listed in
``differences.py`` with its reason; an entry that no longer applies is an error too.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import math
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Generic

import pytest

from cassandra.cqlengine import CQLEngineException
from tests.compat.differences import DIFFERENCES

SURFACE: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("surface.json").read_text())
MISSING = object()


def differences(name: str) -> Iterator[tuple[str, str]]:
    """(dotted name, difference) for one module."""
    module = importlib.import_module(name)
    theirs = SURFACE[name]
    for item, facts in theirs.get("classes", {}).items():
        ours = find(module, item)
        if ours is MISSING:
            yield f"{name}.{item}", "missing"
        else:
            yield from class_differences(f"{name}.{item}", ours, facts)
    for item, signature in theirs.get("functions", {}).items():
        yield from compare_callable(f"{name}.{item}", find(module, item), signature)
    for item, value in theirs.get("constants", {}).items():
        yield from compare_value(f"{name}.{item}", find(module, item), value)
    for item in theirs.get("names", ()):
        if find(module, item) is MISSING:
            yield f"{name}.{item}", "missing"


def find(module: Any, item: str) -> Any:
    try:
        return getattr(module, item, MISSING)
    except ImportError:  # a name that only says why it is not there
        return MISSING


def class_differences(name: str, ours: Any, theirs: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if not isinstance(ours, type):
        yield name, "not a class"
        return
    bases = set(public_bases(ours, set(theirs["bases"])))
    if bases != set(theirs["bases"]):
        yield f"{name}.__bases__", f"{sorted(bases)} instead of {theirs['bases']}"
    if "init" in theirs:
        yield from compare_callable(f"{name}.__init__", ours, theirs["init"])
    for member, signature in theirs.get("methods", {}).items():
        yield from compare_callable(f"{name}.{member}", member_of(ours, member), signature)
    for member, value in theirs.get("attributes", {}).items():
        mine = member_of(ours, member)
        if mine is MISSING:
            if not is_set_on_instances(ours, member):
                yield f"{name}.{member}", "missing"
        elif value not in ("", "None") and not inspect.isdatadescriptor(mine) and not callable(mine):
            yield from compare_value(f"{name}.{member}", mine, value)


def member_of(cls: type, member: str) -> Any:
    """The value of *member* by ``getattr``; the static attribute if an abstract class refuses that."""
    try:
        return getattr(cls, member)
    except (AttributeError, CQLEngineException, TypeError):
        return inspect.getattr_static(cls, member, MISSING)


def is_set_on_instances(cls: type, member: str) -> bool:
    """Declared on the class, or assigned by one of its methods."""
    for base in cls.__mro__:
        functions = [value for value in vars(base).values() if inspect.isfunction(value)]
        if member in vars(base).get("__annotations__", ()) or any(member in f.__code__.co_names for f in functions):
            return True
    return False


def public_bases(cls: type, known: set[str]) -> Iterator[str]:
    """Bases by public path; our own private ones in between are looked through."""
    for base in cls.__bases__:
        path = base.__qualname__ if base.__module__ == "builtins" else f"{base.__module__}.{base.__qualname__}"
        if base is Generic:
            yield "object"
        elif path in known or not (base.__name__.startswith("_") or "._" in path):
            yield path
        else:
            yield from public_bases(base, known)


def compare_value(name: str, ours: Any, theirs: str) -> Iterator[tuple[str, str]]:
    if ours is MISSING:
        yield name, "missing"
        return
    try:
        expected = ast.literal_eval(theirs)
    except (ValueError, SyntaxError):
        return  # the repr of an object says nothing to compare
    ours = ours.value if isinstance(ours, Enum) else ours
    if ours != expected and not (expected in ([], ()) and len(ours) == 0):
        yield name, f"{ours!r} instead of {theirs}"


def compare_callable(name: str, ours: Any, theirs: str) -> Iterator[tuple[str, str]]:
    if ours is MISSING:
        yield name, "missing"
        return
    if not callable(ours):
        yield name, "not callable"
        return
    try:
        found = [p for p in inspect.signature(ours).parameters.values() if p.name not in ("self", "cls")]
    except ValueError:
        return  # a built-in without a signature
    if theirs:
        wanted = parameters(theirs)
        problem = mismatch(found, wanted)
        if problem:
            yield name, f"{problem}: ({', '.join(map(str, found))}) instead of {theirs}"


def mismatch(found: list[inspect.Parameter], wanted: list[tuple[str, str, str | None]]) -> str | None:
    """Why calls that theirs takes could fail on ours."""
    ours = {p.name: p for p in found}
    positional = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for position, (name, kind, default) in enumerate(wanted):
        if kind in ("*", "**"):
            if not any(str(p).startswith(kind) and (kind == "**" or not str(p).startswith("**")) for p in found):
                return f"no {kind}{name}"
            continue
        parameter = ours.get(name)
        if parameter is None:
            return f"no parameter {name}"
        if kind == "positional" and positional[position : position + 1] != [name]:
            return f"{name} is at another position"
        if default is not None and not same_default(parameter.default, default):
            return f"{name} has another default"
    names = {name for name, _, _ in wanted}
    extra = [p.name for p in found if p.name not in names and p.default is p.empty and "VAR" not in p.kind.name]
    return f"{extra} have no default" if extra else None


def same_default(ours: Any, theirs: str) -> bool:
    if ours is inspect.Parameter.empty:
        return False
    try:
        expected = ast.literal_eval(theirs)
    except (ValueError, SyntaxError):
        return theirs != "nan" or (isinstance(ours, float) and math.isnan(ours))
    if isinstance(expected, (list, tuple)) and not expected:
        return ours is None or len(ours) == 0
    return bool(ours == expected)


def parameters(signature: str) -> list[tuple[str, str, str | None]]:
    """(name, "positional" | "keyword" | "*" | "**", default as text) of a signature in text."""
    text = re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", "OBJECT", signature)
    arguments = ast.parse(f"def f{text}: pass").body[0].args  # type: ignore[attr-defined]
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + [ast.unparse(d) for d in arguments.defaults]
    found = [(a.arg, "positional", d) for a, d in zip(plain, defaults, strict=True)]
    found = [entry for entry in found if entry[0] not in ("self", "cls")]
    if arguments.vararg:
        found.append((arguments.vararg.arg, "*", None))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append((argument.arg, "keyword", None if default is None else ast.unparse(default)))
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, "**", None))
    return found


@pytest.mark.parametrize("name", sorted(SURFACE))
def test_module(name: str) -> None:
    found = dict(differences(name))
    listed = {item for item in DIFFERENCES if owner(item) == name}
    unexpected = {item: what for item, what in found.items() if not is_listed(item, listed)}
    stale = {entry for entry in listed if not any(is_listed(item, {entry}) for item in found)}
    assert not unexpected, "\n".join(f"{item}: {what}" for item, what in sorted(unexpected.items()))
    assert not stale, f"no longer different: {sorted(stale)}"


def owner(item: str) -> str:
    """The module that an entry is about: the longest that fits."""
    return max((name for name in SURFACE if item.startswith(f"{name}.")), key=len)


def is_listed(item: str, listed: set[str]) -> bool:
    """An entry stands for itself and everything in it; ``*`` for one name."""
    return any(re.match(re.escape(entry).replace(r"\*", r"\w+") + r"(\.|\Z)", item) for entry in listed)


def test_every_difference_has_a_reason() -> None:
    assert all(len(reason.split()) >= 3 for reason in DIFFERENCES.values())
    assert all(any(item.startswith(f"{name}.") for name in SURFACE) for item in DIFFERENCES)
