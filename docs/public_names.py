"""The public names of the driver, with the text that documents each: what the API reference shows.

A name is public if it is in the ``__all__`` that a public module writes down, or an attribute of a class that is, and
has no leading underscore. Names that ``cassandra._base.aliases`` adds for old programs are not. A class is documented
in the module that its ``__module__`` names, and its members where they are defined: members of private bases with it,
members of public bases with these.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cassandra
from cassandra._base import errors
from cassandra._base.aliases import is_alias
from cassandra._session.options import ClusterOptions
from cassandra._session.request.hints import OfResult
from cassandra.cluster import Cluster

#: Bases whose members are shown with a class derived from them, because programs use only that one.
SHOWN_WITH = {
    "cassandra.cqlengine.models.BaseModel": "cassandra.cqlengine.models.Model",
    "cassandra.cqlengine.usertype.BaseUserType": "cassandra.cqlengine.usertype.UserType",
    "cassandra.cqlengine.query.AbstractQuerySet": "cassandra.cqlengine.query.ModelQuerySet",
}


NOTHING = object()


class Note(NamedTuple):
    """An attribute as the source declares it."""

    type: str | None
    value: str | None
    doc: str


class Member(NamedTuple):
    """A public attribute of a class; *kind* is ``method``, ``property`` or ``attribute``."""

    name: str
    kind: str
    owner: type  # where it is defined
    value: Any  # as in the class; None for attributes of instances only
    note: Note | None
    doc: str


# ---- modules


@cache
def public_modules() -> tuple[str, ...]:
    """Return the names of all public modules."""
    found = ["cassandra"]
    for module in pkgutil.walk_packages(cassandra.__path__, "cassandra."):
        parts = module.name.split(".")
        if not any(part.startswith("_") for part in parts) and parts[-1] != "_core":
            found.append(module.name)
    return tuple(found)


@cache
def names_of(module: str) -> tuple[str, ...]:
    """Return the public names of *module*, without aliases for old programs."""
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None)
    if names is None:  # testing.errors: a module of functions
        names = [name for name, value in vars(loaded).items() if getattr(value, "__module__", None) == module]
    shown = [name for name in dict.fromkeys(names) if not is_alias(loaded, name)]
    return tuple(name for name in shown if not name.startswith("_") or name.startswith("__"))


def object_of(path: str) -> Any:
    """Return the object of a dotted name in a public module."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@cache
def _homes() -> dict[int, str]:
    """Where each class or function is documented, by its id."""
    homes: dict[int, str] = {}
    for own in (True, False):  # first those that say where they belong
        for module in public_modules():
            for name in names_of(module):
                value = getattr(importlib.import_module(module), name)
                if (inspect.isclass(value) or callable(value)) and id(value) not in homes:
                    said = getattr(value, "__module__", None) == module and getattr(value, "__name__", name) == name
                    if said if own else _is_ours(value):
                        homes[id(value)] = f"{module}.{name}"
    return homes


def _is_ours(value: Any) -> bool:
    home = getattr(value, "__module__", None)
    return home is None or home.split(".")[0] == "cassandra"


def home_of(value: Any) -> str | None:
    """Return the dotted name under which a class or function is documented; None for one that is not public."""
    return _homes().get(id(value)) if inspect.isclass(value) or callable(value) else None


# ---- members


def is_public_class(kind: type) -> bool:
    """True for a class that is documented."""
    return home_of(kind) is not None


def bases_of(kind: type) -> Iterator[type]:
    """Yield *kind* and the bases whose members are shown with it."""
    hidden = {base for base in kind.__mro__[1:] if is_public_class(base) and _shown_with(base) is not kind}
    covered = {above for base in hidden for above in base.__mro__}
    for base in kind.__mro__:
        if base is kind or (base not in covered and base.__module__.split(".")[0] == "cassandra"):
            yield base


def _shown_with(kind: type) -> type | None:
    path = SHOWN_WITH.get(home_of(kind) or "")
    return None if path is None else object_of(path)


@cache
def members(kind: type) -> tuple[Member, ...]:
    """Return the public members that are documented with *kind*."""
    if _shown_with(kind) is not None:
        return ()
    found: dict[str, Member] = {}
    documented = inherited_notes(kind)
    for base in bases_of(kind):
        notes = notes_of(base)
        for name in dict.fromkeys([*vars(base), *getattr(base, "__annotations__", ()), *notes]):
            if isinstance(vars(base).get(name), OfResult):
                continue  # raises AttributeError: a hint at the attribute of the result
            if is_alias(base, name) or (name == "args" and issubclass(kind, BaseException)):
                continue
            if name.startswith("_") and not _is_setting(name, notes):
                continue
            value = vars(base).get(name)
            note = notes.get(name)
            if name not in found:
                found[name] = Member(name, _kind(value, base), base, value, note, _doc(kind, base, name, value, note))
            elif note is not None and not found[name].doc:
                known = found[name]
                found[name] = known._replace(note=known.note or note, doc=note.doc)
    return tuple(each if each.doc else each._replace(doc=documented.get(each.name, "")) for each in found.values())


def _is_setting(name: str, notes: dict[str, Note]) -> bool:
    """True for ``__table_name__`` and the like, which programs set in classes."""
    return name.startswith("__") and name.endswith("__") and name in notes and bool(notes[name].doc)


def inherited_notes(kind: type) -> dict[str, str]:
    """Return the texts of attributes and methods that bases of *kind* declare."""
    found: dict[str, str] = {}
    shared = [_notes(Path(errors.__file__))["RequestError"]] if issubclass(kind, BaseException) else []
    for notes in [*map(notes_of, [*kind.__mro__[1:], *type(kind).__mro__]), *shared]:
        for name, note in notes.items():
            if note.doc:
                found.setdefault(name, note.doc)
    return found


def inherited(kind: type) -> dict[str, str]:
    """Return the public members that *kind* has from public bases: where each is documented, by name."""
    own = {member.name for member in members(kind)}
    found: dict[str, str] = {}
    for base in kind.__mro__:
        shown = _shown_with(base) or base
        if is_public_class(shown) and shown is not kind:
            for member in members(shown):
                if member.name not in own and (shown is base or member.owner is base or hasattr(kind, member.name)):
                    found.setdefault(member.name, f"{home_of(shown)}.{member.name}")
    return found


def _kind(value: Any, owner: type) -> str:
    if type(value) is property:
        return "property"
    if inspect.isclass(value):
        return "class" if value.__qualname__ == f"{owner.__qualname__}.{value.__name__}" else "attribute"
    plain = getattr(value, "__func__", value)
    if inspect.isroutine(plain) and hasattr(plain, "__name__") and not inspect.isdatadescriptor(plain):
        return "method"
    return "attribute"


def _doc(kind: type, base: type, name: str, value: Any, note: Note | None) -> str:
    member = _kind(value, base)
    if member in ("method", "property", "class"):
        found = inspect.getdoc(value)
        if not found and member == "method":
            found = inspect.getdoc(getattr(kind, name, None))
        return found or (note.doc if note else "")
    if note is not None and note.doc:
        return note.doc
    own = None if inspect.isclass(value) else getattr(value, "__doc__", None)  # not of a class of Python
    described = type(value).__doc__ != own and not isinstance(value, (int, str, float, tuple, dict, list, frozenset))
    return inspect.cleandoc(own) if isinstance(own, str) and described else ""


def second_names() -> dict[str, str]:
    """Return where names that have another path, too, are documented: names that modules share, inherited members."""
    found = {}
    for module in public_modules():
        for name in names_of(module):
            value = getattr(importlib.import_module(module), name)
            home = home_of(value)
            if home is not None and home != f"{module}.{name}":
                found[f"{module}.{name}"] = home
            elif home is not None and inspect.isclass(value):
                found.update({f"{home}.{name}": path for name, path in inherited(value).items()})
    return found


# ---- native code


def doc_of(value: Any) -> str:
    """Return the text of a class or function, of native ones that of the stub."""
    own = inspect.getdoc(value) if not inspect.isclass(value) or value.__doc__ else None
    path = stub_of(value)
    if path is None or own:
        return own or ""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == value.__name__:
            return ast.get_docstring(node) or ""
    return ""


def stub_of(value: Any) -> Path | None:
    """Return the stub that declares a native class or function."""
    file = getattr(sys.modules.get(getattr(value, "__module__", None) or ""), "__file__", None) or ""
    if file.endswith(".so"):
        return Path(file).with_name(Path(file).name.split(".")[0] + ".pyi")
    return source_of(value) if inspect.isclass(value) else None


def source_of(kind: type) -> Path | None:
    """Return the file that declares *kind*: of native classes the stub."""
    return _source(kind)[0]


def function_in(path: Path, owner: str | None, name: str) -> ast.FunctionDef | None:
    """Return the declaration of a function, or of a method of the class *owner*, in a stub."""
    body: list[ast.stmt] = ast.parse(path.read_text()).body
    for part in (owner or "").split(".") if owner else ():
        body = next((node.body for node in body if isinstance(node, ast.ClassDef) and node.name == part), [])
    return next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == name), None)


# ---- the options of a cluster


class Option(NamedTuple):
    """An option of Cluster."""

    name: str
    subject: str
    type: str | None
    default: str
    doc: str


@cache
def cluster_options() -> dict[str, Option]:
    """Return the options of Cluster in the order of their table, whose subjects are comments between its lines."""
    parameters = inspect.signature(Cluster).parameters
    found: dict[str, list[Option]] = {}
    for kind in (ClusterOptions, Cluster):
        path = source_of(kind)
        assert path is not None
        lines = path.read_text().splitlines()
        notes = _notes(path)[kind.__name__]
        for name, line in _declared(path, kind.__name__):
            if name in parameters:
                above = (text for text in reversed(lines[:line]) if text.startswith("    # ---- "))
                subject = next(above).removeprefix("    # ---- ").capitalize()
                value = getattr(Cluster, name)
                value = parameters[name].default if isinstance(value, property) else value
                option = Option(name, subject, notes[name].type, _default(value), notes[name].doc)
                found.setdefault(subject, []).append(option)
    return {option.name: option for options in found.values() for option in options}


def _declared(path: Path, name: str) -> Iterator[tuple[str, int]]:
    """Yield the names of the attributes that the class *name* declares, and their lines."""
    owner = next(node for node in ast.parse(path.read_text()).body if getattr(node, "name", "") == name)
    for node in owner.body if isinstance(owner, ast.ClassDef) else ():
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.lineno
        elif isinstance(node, ast.FunctionDef):
            yield node.name, node.lineno


def _default(value: Any) -> str:
    text = repr(value)
    if inspect.isclass(value):
        return value.__name__
    return "(not set)" if text == "<NOT_SET>" else re.sub(r"<[\w.]*?(\w+) object at .*>", r"\1()", text)


# ---- attributes in the source


@cache
def notes_of(kind: type) -> dict[str, Note]:
    """Return the attributes that the source of *kind* declares, in the class and in its constructor."""
    path, name = _source(kind)
    return {} if path is None else _notes(path).get(name, {})


@cache
def _source(kind: type) -> tuple[Path | None, str]:
    """The file with the source of *kind*: of native classes the stub."""
    name = kind.__qualname__
    for module in [sys.modules.get(kind.__module__), *list(sys.modules.values())]:
        if module is None or not getattr(module, "__name__", "").startswith("cassandra"):
            continue
        path = Path(getattr(module, "__file__", None) or "")
        if path.suffix == ".so":
            path = path.with_name(path.name.split(".")[0] + ".pyi")
        value: Any = module
        for part in name.split("."):
            value = getattr(value, part, None)
        names = [name] if value is kind else [each for each, value in vars(module).items() if value is kind]
        for each in names:
            if path.suffix in (".py", ".pyi") and path.exists() and each in _notes(path):
                return path, each
    return None, name


@cache
def _notes(path: Path) -> dict[str, dict[str, Note]]:
    text = path.read_text()
    lines = text.splitlines()
    found: dict[str, dict[str, Note]] = {}

    def read(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                name = f"{prefix}{node.name}"
                found[name] = dict(_in_class(node, lines))
                read(node.body, f"{name}.")
            elif isinstance(node, (ast.If, ast.Try)):
                read(node.body + node.orelse, prefix)

    read(ast.parse(text).body, "")
    return found


def _in_class(node: ast.ClassDef, lines: list[str]) -> Iterator[tuple[str, Note]]:
    found: dict[str, Note] = {}
    _read_assigned(node.body, lines, None, found)
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name in ("__init__", "__cinit__"):
            arguments = [*part.args.posonlyargs, *part.args.args, *part.args.kwonlyargs]
            _read_assigned(list(ast.walk(part)), lines, arguments[0].arg, found)
            types = {argument.arg: argument.annotation for argument in arguments}
            for name, note in found.items():
                annotation = types.get(name)
                if note.type is None and annotation is not None:
                    found[name] = note._replace(type=ast.unparse(annotation))
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            text = "" if part.name.startswith("_") else ast.get_docstring(part)
            if text:
                found.setdefault(part.name, Note(None, None, text))  # of native methods
    return iter([(name, note) for name, note in found.items() if name.startswith("__") or not name.startswith("_")])


def _read_assigned(body: list[Any], lines: list[str], owner: str | None, found: dict[str, Note]) -> None:
    for index, node in enumerate(body):
        if isinstance(node, ast.Assign):
            targets, annotation = node.targets, None
        elif isinstance(node, ast.AnnAssign):
            targets, annotation = [node.target], ast.unparse(node.annotation)
        else:
            continue
        for target in targets:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                name = _name(each, owner)
                if name is None:
                    continue
                following = body[index + 1] if owner is None and index + 1 < len(body) else None
                doc = _comment(node, lines) or _string(following)
                value = ast.unparse(node.value) if node.value is not None and owner is None else None
                known = found.get(name)
                if known is None or (doc and not known.doc):
                    found[name] = Note(annotation or (known and known.type), value or (known and known.value), doc)
                elif annotation and known.type is None:
                    found[name] = known._replace(type=annotation)


def _name(target: ast.expr, owner: str | None) -> str | None:
    if owner is None:
        return target.id if isinstance(target, ast.Name) else None
    is_own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == owner
    return target.attr if is_own and isinstance(target, ast.Attribute) else None


def _comment(node: ast.stmt, lines: list[str]) -> str:
    """The ``#:`` comment behind a statement or above it."""
    last = lines[(node.end_lineno or node.lineno) - 1][node.end_col_offset :]
    if match := re.search(r"#:\s*(.*)$", last):
        return match[1]
    above = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("#:"):
            break
        above.append(line.strip().removeprefix("#:").strip())
    return "\n".join(reversed(above))


def _string(node: Any) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return inspect.cleandoc(node.value.value) if is_text else ""


# ---- constants of modules


@cache
def constant_note(module: str, name: str) -> Note:
    """Return type, value and text of a constant of *module*, where it is assigned."""
    value = getattr(importlib.import_module(module), name)
    for other in [module, *(found for found in sys.modules if found.startswith("cassandra._"))]:
        loaded = sys.modules.get(other)
        path = Path(getattr(loaded, "__file__", None) or "")
        if path.suffix == ".py":
            named = [
                each for each, found in vars(loaded).items() if found is value and (each == name or _is_own(value))
            ]
            if name not in vars(loaded) and name in _constants(path) and getattr(loaded, name, NOTHING) is value:
                named.append(name)  # looked up at each access
            for each in named:
                note = _constants(path).get(each)
                if note is not None and (note.doc or other == module):
                    return note
    return Note(None, None, "")


def _is_own(value: Any) -> bool:
    """False for a value that different constants may share."""
    return not isinstance(value, (int, float, str, bytes, type(None)))


@cache
def _constants(path: Path) -> dict[str, Note]:
    text = path.read_text()
    found: dict[str, Note] = {}
    _read_assigned(ast.parse(text).body, text.splitlines(), None, found)
    return found
