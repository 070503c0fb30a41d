"""Sphinx extension: writes the pages of the API reference.

A line ``.. reference:: cassandra.cluster`` in a page is replaced by the contents of that module: every public name, see
``public_names.py``. Words that follow are names that come first, in this order. Names that a module takes from another
one, and members that a class has from a public base, are documented there; the inventory has them under both names.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import public_names as public
from public_names import Member
from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry

MARK = re.compile(r"^\.\. reference:: (\S+)(.*)$", re.MULTILINE)
WIDEST = 80  # of a value that is shown
OPTIONS = "cassandra.cluster.Cluster"
SHORTENED = '(contact_points=["127.0.0.1"], port=9042, **options)'  # of some fifty parameters


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _write_page)
    app.connect("env-updated", _add_second_names)
    app.connect("autodoc-process-bases", _show_public_bases)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_page(app: Sphinx, document: str, source: list[str]) -> None:
    def contents(match: re.Match[str]) -> str:
        return "\n".join(_module(match[1], match[2].split(), underline))

    underline = "-~" if document != "api/compatibility" else "~^"
    if MARK.search(source[0]):
        for path in [Path(__file__), Path(public.__file__), *_sources()]:
            app.env.note_dependency(str(path))
        source[0] = MARK.sub(contents, source[0])


def _sources() -> Iterator[Path]:
    for name, module in sorted(sys.modules.items()):
        if name.startswith("cassandra") and getattr(module, "__file__", None):
            yield Path(module.__file__ or "")


# ---- modules


def _module(name: str, first: list[str], underline: str) -> Iterator[str]:
    """Yield the lines of the module *name*."""
    module = importlib.import_module(name)
    yield from [f".. py:module:: {name}", "", *(inspect.getdoc(module) or "").splitlines(), ""]
    kinds: dict[str, list[str]] = {"": [], "Functions": [], "Exceptions": [], "Constants": []}
    elsewhere = []
    names = public.names_of(name)
    for each in [*first, *(each for each in names if each not in first)]:
        value = getattr(module, each)
        home = public.home_of(value)
        if home is not None and home != f"{name}.{each}":
            elsewhere.append((each, home, value))
        else:
            kinds[_heading(value, home)].append(each)
    for heading, found in kinds.items():
        if heading and found and (kinds[""] or sum(map(bool, kinds.values())) > 1):
            yield from [heading, underline[0] * len(heading), ""]
        for each in found:
            yield from _entry(name, each, getattr(module, each), underline)
    if elsewhere:
        yield from ["Names of other modules", underline[0] * 22, ""]
        yield ", ".join(f"{_role(value)}:`{each} <{home}>`" for each, home, value in elsewhere)
        yield ""


def _heading(value: Any, home: str | None) -> str:
    if home is None:
        return "Constants"
    if inspect.isclass(value):
        return "Exceptions" if issubclass(value, BaseException) else ""
    return "Functions"


def _role(value: Any) -> str:
    if not inspect.isclass(value):
        return ":py:func"
    return ":py:exc" if issubclass(value, BaseException) else ":py:class"


def _entry(module: str, name: str, value: Any, underline: str) -> Iterator[str]:
    if public.home_of(value) is None:
        yield from _constant(module, name, value)
    elif inspect.isclass(value):
        yield from _class(module, name, value)
        if f"{module}.{name}" == OPTIONS:
            yield from _options(module, name, value, underline)
    elif inspect.isfunction(value) and inspect.getdoc(value):
        yield from [f".. autofunction:: {module}::{name}", ""]
    else:  # native, or assigned
        doc = public.doc_of(value) or public.constant_note(module, name).doc
        yield from _directive("py:function", name + _signature(value, None, name), doc)


def _constant(module: str, name: str, value: Any) -> Iterator[str]:
    if isinstance(value, logging.Logger):
        yield from _directive("py:data", name, f"The logger ``{value.name}``.")
    elif inspect.ismodule(value):
        yield from _directive("py:data", name, f"The module :mod:`{value.__name__}`.")
    elif inspect.isclass(value):
        yield from _directive("py:data", name, f"The class ``{value.__module__}.{value.__qualname__}``.")
    else:
        note = public.constant_note(module, name)
        shown = _shown(value)
        yield from _directive("py:data", name, note.doc, type=note.type, value=shown)


# ---- classes


def _class(module: str, name: str, kind: type) -> Iterator[str]:
    """Yield the lines of a class and of its members."""
    what = "exception" if issubclass(kind, BaseException) else "class"
    bases = [":show-inheritance:"] if any(_is_shown(base) for base in kind.__bases__) else []
    head: Iterable[str]
    if _is_native(kind) or kind.__name__ != name:
        doc, bases = public.doc_of(kind), []
        head = _directive(f"py:{what}", name + _signature(kind, kind, "__init__"), doc)
    else:
        shown = SHORTENED if f"{module}.{name}" == OPTIONS else ""
        head = [
            f".. auto{what}:: {module}::{name}{shown}",
            "   :no-members:",
            *(f"   {option}" for option in bases),
            "",
        ]
    yield from head
    if f"{module}.{name}" == OPTIONS:
        yield from ["   All parameters, with types and defaults: :ref:`cluster-options`.", ""]
    for member in public.members(kind):
        if not (f"{module}.{name}" == OPTIONS and member.name in public.cluster_options()):
            yield from (f"   {line}" for line in _member(module, name, kind, member))
    others: dict[str, list[str]] = {}
    for each, path in public.inherited(kind).items():
        others.setdefault(path.rpartition(".")[0], []).append(f":py:obj:`{each} <{path}>`")
    for base, links in others.items():
        yield from [f"   Also the members of :py:class:`~{base}`: {', '.join(links)}.", ""]
    yield ""


def _member(module: str, name: str, kind: type, member: Member) -> Iterator[str]:
    path = f"{module}::{name}.{member.name}"
    if member.kind == "class":
        what = "exception" if issubclass(member.value, BaseException) else "class"
        yield from _directive(f"py:{what}", member.name, member.doc)
    elif member.kind == "method":
        own = getattr(getattr(member.value, "__func__", member.value), "__doc__", None)
        if _is_native(member.owner) or not own:  # autodoc does not find an inherited text everywhere
            signature = _signature(member.value, member.owner, member.name)
            yield from _directive("py:method", member.name + signature, member.doc, flags=_flags(member))
        else:
            yield from [f".. automethod:: {path}", ""]
    elif member.kind == "property":
        yield from [f".. autoproperty:: {path}", ""]
    else:
        note = member.note
        shown = _shown(member.value) if member.value is not None and not hasattr(member.value, "__get__") else None
        yield from _directive("py:attribute", member.name, member.doc, type=_type(note and note.type), value=shown)


def _flags(member: Member) -> list[str]:
    flags = {classmethod: "classmethod", staticmethod: "staticmethod"}
    return [flags[type(member.value)]] if type(member.value) in flags else []


def _directive(
    kind: str, head: str, doc: str, type: str | None = None, value: str | None = None, flags: Iterable[str] = ()
) -> Iterator[str]:
    yield f".. {kind}:: {head}"
    yield from (f"   :{flag}:" for flag in flags)
    if type:
        yield f"   :type: {type}"
    if value is not None:
        yield f"   :value: {value}"
    yield from ["", *(f"   {line}" for line in doc.splitlines()), ""]


def _type(text: str | None) -> str | None:
    """The type in an annotation, without what says how it is stored."""
    while text and (match := re.fullmatch(r"(?:ClassVar|Final|Attribute|Option)\[(.*)\]", text)):
        text = match[1]
    return None if text in ("Any", "ClassVar", "Final") else text


def _shown(value: Any) -> str | None:
    text = repr(getattr(value, "value", value) if type(value).__module__.startswith("cassandra") else value)
    return text if len(text) <= WIDEST and " at 0x" not in text and "\n" not in text else None


def _is_shown(base: type) -> bool:
    return base is not object and (public.is_public_class(base) or base.__module__.split(".")[0] != "cassandra")


def _show_public_bases(app: Sphinx, name: str, kind: Any, options: Any, bases: list[Any]) -> None:
    """Leave out private bases: their members are shown with the class."""
    bases[:] = [base for base in bases if not inspect.isclass(base) or _is_shown(base)]


# ---- native code


def _is_native(kind: type) -> bool:
    path = public.source_of(kind)
    return path is not None and path.suffix == ".pyi"


def _signature(value: Any, owner: type | None, name: str) -> str:
    """The signature in the stub of *owner*, else that of *value*, without the first argument."""
    path = public.source_of(owner) if owner is not None else public.stub_of(value)
    if path is not None and path.suffix == ".pyi":
        function = public.function_in(path, owner and owner.__qualname__, name)
        if function is not None:
            arguments = function.args
            if owner is not None and not any(
                getattr(each, "id", "") == "staticmethod" for each in function.decorator_list
            ):
                (arguments.posonlyargs or arguments.args)[:1] = []
            returns = f" -> {ast.unparse(function.returns)}" if function.returns and name != "__init__" else ""
            return f"({ast.unparse(arguments)}){returns}"
    try:
        signature = inspect.signature(getattr(value, "__func__", value))
    except (TypeError, ValueError):
        return "()"
    parameters = list(signature.parameters.values())
    if owner is not None and not isinstance(value, staticmethod):
        parameters = parameters[1:]
    return str(signature.replace(parameters=parameters))


# ---- the options of a cluster


def _options(module: str, name: str, kind: type, underline: str) -> Iterator[str]:
    """Yield the options of Cluster by subject, from the table in the code."""
    yield from ["", ".. _cluster-options:", "", "Options of Cluster", underline[0] * 18, ""]
    yield from [
        "Parameters of :class:`Cluster` by subject, with their defaults. Most are attributes of the cluster, too: they",
        "can be read, and set later. They are checked both times: an invalid value raises TypeError or ValueError.",
        "Durations are in seconds.",
        "",
    ]
    subject = None
    for option in public.cluster_options().values():
        if option.subject != subject:
            subject = option.subject
            yield from ["", subject, underline[1] * len(subject), ""]
        head = f"{name}.{option.name}"
        yield from _directive("py:attribute", head, option.doc, type=_type(option.type), value=option.default)
    yield from ["", "Results, requests and other classes", underline[0] * 35, ""]


# ---- second names


def _add_second_names(app: Sphinx, env: Any) -> None:
    """Let the inventory have each name under every path that programs use."""
    objects = env.domains["py"].objects
    for alias, path in public.second_names().items():
        if path in objects and alias not in objects:
            there = objects[path]
            objects[alias] = ObjectEntry(there.docname, there.node_id, there.objtype, True)
