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
from struct import Struct
from typing import Any

import public_names as public
from docutils import nodes
from public_names import Member
from sphinx.addnodes import desc_signature, pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry

LONG = re.compile(r'(?:(?<=<span class="(?:pre|doc)">)|(?<=<em>)|(?<=<strong>))[^<]{13,}(?=</(?:span|em|strong)>)')
OPTION = re.compile(r'<span class="pre">(?=-[^<]{1,24}</span>)')
JOINT = re.compile(r"(?<=[^\W\d_][_.(=/:])(?=[^\W_])|(?<=\w[.(=/:])(?=_)|(?<=[a-z]{3})(?=[A-Z][a-z])")
CHART = re.compile(r'<img [^>]*src="_images/([\w-]+-(?:light|dark)\.svg)"[^>]*>')
NARROW = "_static/performance/narrow"  # the same pictures with one column of panels
OF_PYTHON = ("bytes", "type", "datetime", "UUID")
SOURCE = re.compile(r"``docs/(\w[\w-]*)\.rst``")
MARK = re.compile(r"^\.\. reference:: (\S+)(.*)$", re.MULTILINE)
WIDEST = 80  # of a value that is shown
MOST_LISTED = 8  # members of a base
OPTIONS = "cassandra.cluster.Cluster"
SHORTENED = '(contact_points=["127.0.0.1"], port=9042, **options)'  # of some fifty parameters


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _write_page)
    app.connect("include-read", _link_pages)
    app.connect("env-updated", _add_second_names)
    app.connect("doctree-read", _unlink_names_of_python)
    app.connect("autodoc-process-signature", _plain_signature)
    app.connect("autodoc-process-bases", _show_public_bases)
    app.connect("html-page-context", _let_names_wrap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _let_names_wrap(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Mark where long names may break on a narrow screen, and options of commands, which should not break."""
    if "body" in context:
        body = LONG.sub(lambda match: JOINT.sub("<wbr>", match[0]), context["body"])
        body = OPTION.sub('<span class="pre option">', body)
        context["body"] = CHART.sub(_for_telephones, body)
    for link in filter(None, (context.get("prev"), context.get("next"))):
        link["title"] = LONG.sub(lambda match: JOINT.sub("<wbr>", match[0]), link["title"])


def _for_telephones(chart: re.Match[str]) -> str:
    if not (Path(__file__).parent / NARROW / chart[1]).exists():
        return chart[0]
    narrow = f'<source media="(max-width: 46em)" srcset="{NARROW}/{chart[1]}">'
    return f"<picture>{narrow}{chart[0]}</picture>"


def _link_pages(app: Sphinx, path: Path, document: str, source: list[str]) -> None:
    """Make links of the files that a file of the repository names, which is shown as a page."""
    source[0] = SOURCE.sub(r":doc:`\1`", source[0])


def _unlink_names_of_python(app: Sphinx, doctree: Any) -> None:
    """Make no links of names in signatures that an attribute of the driver has, too: Sphinx would find that."""
    for signature in doctree.findall(desc_signature):
        for link in list(signature.findall(pending_xref)):
            if link.get("refdomain") == "py" and link.get("reftarget") in OF_PYTHON:
                link.replace_self(nodes.Text(link["reftarget"]))


def _plain_signature(
    app: Sphinx, what: str, name: str, value: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Show defaults that are no Python source, which Sphinx cannot parse, as an ellipsis."""
    if signature is not None and re.search(r"=\s*(?:<|lambda)|\b_\w+:", signature):
        signature = re.sub(r"=\s*(?:<[^>]*>|lambda:? ?:?[^,)]*)", "=...", signature)
        signature = re.sub(r"~[\w.]*\.", "", re.sub(r", _\w+: [^,)]*", "", signature))  # private parameters
    return signature, returns


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
        doc = public.constant_note(module, name).doc or public.doc_of(value)
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
        yield from _directive("py:data", name, note.doc, type=_type(note.type), value=shown)


# ---- classes


def _class(module: str, name: str, kind: type) -> Iterator[str]:
    """Yield the lines of a class and of its members."""
    what = "exception" if issubclass(kind, BaseException) else "class"
    bases = [":show-inheritance:"] if any(map(_public_bases, kind.__bases__)) else []
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
        listed = f": {', '.join(links)}" if len(links) <= MOST_LISTED else ""
        yield from [f"   Also the members of :py:class:`~{base}`{listed}.", ""]
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
    if inspect.isclass(value):
        return value.__name__
    text = repr(getattr(value, "value", value) if type(value).__module__.startswith("cassandra") else value)
    return text if len(text) <= WIDEST and not re.search(r" at 0x|\n|<class ", text) else None


def _is_shown(base: type) -> bool:
    return base is not object and (public.is_public_class(base) or base.__module__.split(".")[0] != "cassandra")


def _public_bases(base: type) -> list[type]:
    """Return *base*, or the public class that it is derived from, if there is one."""
    return [each for each in base.__mro__ if _is_shown(each)][:1]


def _show_public_bases(app: Sphinx, name: str, kind: Any, options: Any, bases: list[Any]) -> None:
    """Show public bases in place of private ones, whose members are shown with the class."""
    shown = [each for base in bases for each in (_public_bases(base) if inspect.isclass(base) else [base])]
    homes = {base: public.home_of(base) for base in shown if getattr(base, "__name__", "").startswith("_")}
    bases[:] = dict.fromkeys(f":py:class:`~{homes[base]}`" if homes.get(base) else base for base in shown)


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
        return "(*values)" if isinstance(getattr(value, "__self__", None), Struct) else "()"
    parameters = [each.replace(annotation=_Unquoted.of(each.annotation)) for each in signature.parameters.values()]
    if owner is not None and not isinstance(value, (staticmethod, type)):
        parameters = parameters[1:]
    if inspect.isclass(value):
        return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    returns = _Unquoted.of(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=returns))


class _Unquoted(str):
    """An annotation that is text, as it is in the source."""

    @classmethod
    def of(cls, annotation: Any) -> Any:
        return cls(annotation) if isinstance(annotation, str) else annotation

    def __repr__(self) -> str:
        return str(self)


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
