"""The rules of the house, checked on the source: layers, sizes, stubs, the change log, nothing of one machine.

Style and types are checked by ``make lint``.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "cassandra"

LAYERS = {
    "_base": 0,
    "_core": 1,
    "_wire": 2,
    "_net": 3,
    "_routing": 4,
    "_session": 5,
    "_scan": 6,
    "_ingest": 6,
    "_mapper": 6,
    "_bulk": 6,
    "_compat": 6,
}
BUILT_ON_TOP = {"arrow", "testing"}  # layer 8
FACADE = 7
# Methods of Session whose bodies are in packages above it, which they import when they are called.
IMPORTED_ON_FIRST_USE = {("cassandra._session.session", "_scan"), ("cassandra._session.session", "_ingest")}
PACKAGES = {"cassandra", "cassandra._mapper"}  # names imported from them are modules

PYTHON_LINES, NATIVE_LINES, FACADE_LINES = 1000, 1000, 45  # of a facade without its lists of names
NATIVE = {".pyx", ".pxi", ".pxd", ".h", ".cpp"}
EXTENSIONS = sorted(path.stem for path in (PACKAGE / "_core").glob("*.pyx"))

SOURCES = sorted(
    path for path in PACKAGE.rglob("*") if path.suffix in NATIVE | {".py", ".pyi"} and "__pycache__" not in path.parts
)


def layer(module: str) -> int:
    """The layer of a dotted module name below ``cassandra``."""
    part = module.split(".")[1] if "." in module else ""
    return LAYERS.get(part, 8 if part in BUILT_ON_TOP else FACADE)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_facade(path: Path) -> bool:
    return path.suffix == ".py" and layer(module_of(path)) == FACADE


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import of our own package, in functions and ``TYPE_CHECKING`` blocks too."""
    text = path.read_text()
    found = _python_imports(path, text) if path.suffix in {".py", ".pyi"} else _cython_imports(text)
    return ((line, name) for line, name in found if name.split(".")[0] == "cassandra")


def _python_imports(path: Path, text: str) -> Iterator[tuple[int, str]]:
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{a.name}") for a in node.names if module in PACKAGES)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in {"import_module", "__import__"} and isinstance(node.args[0].value, str):
                yield node.lineno, node.args[0].value


def _cython_imports(text: str) -> Iterator[tuple[int, str]]:
    pattern = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import|c?import\s+([\w.]+))")
    for number, line in enumerate(text.splitlines(), 1):
        if match := pattern.match(line):
            yield number, match[1] or match[2]


def test_imports_point_down() -> None:
    """Private layers import only from their own or from lower ones: never a facade, never the root package."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: layer {layer(module_of(path))} imports {name} of layer {layer(name)}"
        for path in SOURCES
        for line, name in imports(path)
        if path.suffix not in {".h", ".cpp"} and layer(name) > layer(module_of(path))
        if (module_of(path), name.split(".")[1]) not in IMPORTED_ON_FIRST_USE
    ]
    assert not wrong, "\n".join(wrong)


def test_imports_of_the_mapper_point_down() -> None:
    """In ``_mapper`` the docstring has the order; and of ``_compat`` only ``mapper`` knows it, it none of that."""
    docstring = ast.get_docstring(ast.parse((PACKAGE / "_mapper" / "__init__.py").read_text()))
    order = re.findall(r"^\* ``(\w+)``", docstring or "", re.MULTILINE)

    def floor(name: str) -> int:
        return order.index(name.split(".")[2])

    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {name}"
        for path in SOURCES
        for line, name in imports(path)
        if not allowed_in_mapper(module_of(path), name, floor)
    ]
    assert not wrong, "\n".join(wrong)


def allowed_in_mapper(module: str, imported: str, floor: Callable[[str], int]) -> bool:
    ours, theirs = (name.startswith("cassandra._mapper.") for name in (module, imported))
    if ours and theirs:
        return floor(imported) <= floor(module)
    if ours:
        return not imported.startswith("cassandra._compat")
    return not theirs or not module.startswith("cassandra._compat") or module.startswith("cassandra._compat.mapper")


def test_the_cpp_core_does_not_know_python() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for path in (PACKAGE / "_core" / "cpp").rglob("*.*")
        if re.search(r'#include\s*[<"](Python|pybind11|cython)', path.read_text())
    ]
    assert not wrong, wrong


#: Files that read the wall clock, which can be set: none of them waits by it for more than a millisecond.
WALL_CLOCK = {
    "cassandra/_core/codec_parts/bind.pxi": "timestamps of requests",
    "cassandra/_session/statements/timestamps.py": "timestamps of requests",
    "cassandra/_base/logs.py": "when something was logged",
    "cassandra/_session/metrics.py": "when a snapshot was made",
    "cassandra/_net/pool_filling.py": "until when the shard-aware port is left alone, for users to read",
    "cassandra/_compat/timers.py": "ends of timers that programs make alone, which they compare with it",
    "cassandra/_mapper/statements.py": "timestamps of writes that count from now",
    "cassandra/_mapper/execution.py": "whether a timestamp is of this millisecond; waits for the rest of it",
    "cassandra/_session/telemetry.py": "beginnings of spans",
    "cassandra/testing/_engine.py": "timestamps of writes",
}
READS_WALL_CLOCK = re.compile(
    r"\bCLOCK_REALTIME|\bFUTEX_CLOCK_REALTIME|\bsystem_clock|\bhigh_resolution_clock|\bgettimeofday|\bwait_until\b"
    r"|\btime\((nullptr|NULL|0)\)|\btime\.time(_ns)?\(|\bfrom time import .*\btime(_ns)?\b"
    r"|\bdatetime\.(now|utcnow|today)\(|\bstd::condition_variable|\bPTHREAD_COND_INITIALIZER|\bsem_timedwait"
)


def test_nothing_waits_by_the_clock_on_the_wall() -> None:
    """Set by an hour, it would make every wait an hour longer, or end it at once."""
    found = {
        str(path.relative_to(ROOT)): [
            line.strip() for line in path.read_text().splitlines() if READS_WALL_CLOCK.search(line)
        ]
        for path in SOURCES
    }
    wrong = {name: lines for name, lines in found.items() if lines and name not in WALL_CLOCK}
    assert not wrong, wrong
    assert not [name for name in WALL_CLOCK if not found[name]], "the list is as short as it can be"


def test_threads_are_real_ones() -> None:
    """Names that wait or lock are imported from ``_base/real.py``, or gevent and eventlet would replace it."""
    pattern = re.compile(
        r"^\s*(import threading|from threading|import queue|from concurrent.futures import .*\bFuture\b)", re.MULTILINE
    )
    folders = ("_base", "_wire", "_net", "_routing", "_session", "_mapper", "_compat")
    wrong = [
        str(path.relative_to(ROOT))
        for folder in folders
        for path in (PACKAGE / folder).rglob("*.py")
        if path.name not in ("real.py", "green.py") and pattern.search(path.read_text())
    ]
    assert not wrong, wrong


# Locks that are made by hand: file below cassandra, and why. Facades and testing/ have no locks of the driver.
MADE_BY_HAND = {
    "_base/locks.py": "makes them",
    "_base/objects.py": "makes the locks of copies, of the kind that the original has",
    "_base/green.py": "what real threads are made of under gevent and eventlet",
    "_base/threads.py": "a signal that one thread waits for and another one gives",
    "_compat/names.py": "names of the standard library that programs import",
    "_base/process.py": "a lock-free Event needs a process that has caught up: the wait for that is limited",
    "_base/real.py": "a gate that one thread waits for and another one releases",
    "_mapper/reading.py": "a lock that greenlets of one thread acquire in turn: it must not be re-entrant",
    "_session/statements/timestamps.py": "a lock that programs share",
}
LOCKS = {"Event", "Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "cached_property"}


def locks_made_by_hand(source: str) -> list[int]:
    """Lines where a lock is made, or referred to as a factory, but for a Condition over a lock that is given."""
    found = []
    tree = ast.parse(source)
    with_arguments = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    over_others = {id(f) for f in with_arguments if isinstance(f, ast.Attribute) and f.attr == "Condition"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in LOCKS and id(node) not in over_others:
            if isinstance(node.value, ast.Name) and node.value.id in ("threading", "_threading", "_thread"):
                found.append(node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module in ("threading", "functools"):
            found += [node.lineno for name in node.names if name.name in LOCKS]
    return found


def test_every_logger_of_the_driver_is_relayed() -> None:
    """It comes from get_logger, which has the records of driver threads handled elsewhere."""
    found = {
        str(path.relative_to(ROOT))
        for path in [*PACKAGE.rglob("_*/**/*.py"), *PACKAGE.rglob("*.pxi")]
        if re.search(r"logging\.getLogger\(|import getLogger", path.read_text())
    }
    assert found == {"cassandra/_base/logs.py"}


def test_locks_are_driver_locks_or_caller_locks() -> None:
    """``cassandra/_base/locks.py`` says which threads may acquire which."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in MADE_BY_HAND and not name.startswith("testing/"):
            lines = locks_made_by_hand(path.read_text())
            if lines:
                found[name] = lines
    assert not found, "lines of locks that are made by neither driver_lock nor caller_lock"


def test_no_file_is_too_long() -> None:
    wrong = []
    for path in SOURCES:
        native = path.suffix in NATIVE | {".pyi"}
        budget = NATIVE_LINES if native else FACADE_LINES if is_facade(path) else PYTHON_LINES
        lines = len(path.read_text().splitlines()) - (_exported_lines(path) if is_facade(path) else 0)
        if lines > budget:
            wrong.append(f"{path.relative_to(ROOT)}: {lines} lines, the budget is {budget}")
    assert not wrong, "\n".join(wrong)


def _exported_lines(path: Path) -> int:
    """Lines of a facade that only list names: imports, ``__all__``, and names for old programs."""
    lists = (node for node in ast.parse(path.read_text()).body if _is_list_of_names(node))
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in lists)


def _is_list_of_names(node: ast.stmt) -> bool:
    lends = isinstance(node, ast.Expr) and ast.unparse(node).startswith(("add_names(", "add_attributes("))
    return lends or isinstance(node, ast.ImportFrom) or "__all__" in {target.id for target in _targets(node)}


def test_facades_have_docstring_and_all_and_define_nothing() -> None:
    wrong = []
    for path in filter(is_facade, SOURCES):
        tree = ast.parse(path.read_text())
        names = {target.id for node in tree.body for target in _targets(node)}
        if ast.get_docstring(tree) is None or "__all__" not in names:
            wrong.append(f"{path.relative_to(ROOT)}: a facade has a docstring and __all__")
        if any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree.body if not _is_hook(node)):
            wrong.append(f"{path.relative_to(ROOT)}: a facade only names things, it defines none")
    assert not wrong, "\n".join(wrong)


def _targets(node: ast.stmt) -> list[ast.Name]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target for target in targets if isinstance(target, ast.Name)]


def _is_hook(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name in {"__getattr__", "__dir__"}


@pytest.mark.parametrize("name", EXTENSIONS)
def test_stub_matches_the_extension(name: str) -> None:
    """Every name and member in the ``.pyi`` exists in the built module, and no public one is missing there."""
    module = importlib.import_module(f"cassandra._core.{name}")
    stub = ast.parse((PACKAGE / "_core" / f"{name}.pyi").read_text())
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef) and not _is_protocol(node)}
    declared = set(classes) | _declared(stub.body)
    wrong = [f"{item} is declared but not there" for item in declared if not hasattr(module, item)]
    wrong += [
        f"{item} is there but not declared"
        for item, value in vars(module).items()
        if not item.startswith("_") and item not in declared and getattr(value, "__module__", None) == module.__name__
    ]
    for item, node in classes.items():
        there = set(dir(getattr(module, item, None)))
        wrong += [f"{item}.{member} is declared but not there" for member in _declared(node.body) - there]
    assert not wrong, "\n".join(sorted(wrong))


def _declared(body: list[ast.stmt]) -> set[str]:
    names = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    annotated = (node.target for node in body if isinstance(node, ast.AnnAssign))
    return (names | {target.id for target in annotated if isinstance(target, ast.Name)}) - {"__buffer__"}


def _is_protocol(node: ast.ClassDef) -> bool:
    return any("Protocol" in ast.unparse(base) for base in node.bases)


def test_every_extension_has_a_stub() -> None:
    assert EXTENSIONS, "no extension found"
    assert sorted(path.stem for path in (PACKAGE / "_core").glob("*.pyi")) == EXTENSIONS


def test_changelog_starts_with_this_version() -> None:
    version = re.search(r'__version__ = "(.+?)"', (PACKAGE / "_base" / "version.py").read_text())
    section = re.search(r"^(\d\S*).*\n-{3,}", (ROOT / "CHANGELOG.rst").read_text(), re.MULTILINE)
    assert version and section and section[1] == version[1]


#: What a repository has beside ``cassandra`` and an sdist has too; of the first only what is not made by a build.
FOLDERS = ("cassandra", "tests", "docs", "benchmarks", "scripts", "tools", ".ci", ".github")
FILES = ("setup.py", "pyproject.toml", "MANIFEST.in", "Makefile", "LICENSE", "CITATION.cff", "SECURITY.md",
         "README.rst", "CHANGELOG.rst", "CONTRIBUTING.rst")  # fmt: skip


def test_a_source_distribution_holds_our_sources(tmp_path: Path) -> None:
    """All of them, and nothing that a build has made."""
    command = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    (listing,) = tmp_path.glob("*.egg-info/SOURCES.txt")
    listed = {ROOT / line for line in listing.read_text().splitlines()} - {*tmp_path.glob("*.egg-info/*")}
    found = {path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()}
    sources = {
        path for path in found if path.suffix not in {".pyc", ".so"} and ROOT / "docs/_build" not in path.parents
    }
    assert sources | {ROOT / name for name in FILES} == listed - {ROOT / "setup.cfg"}  # which an unpacked sdist has


def test_items_of_dicts_are_copied_in_one_step() -> None:
    """``list(d.items())`` makes tuples, at which the garbage is collected (before Python 3.12): a finalizer may
    change *d*, and the iteration raises. ``d.copy().items()`` does not."""
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in SOURCES
        if path.suffix in {".py", ".pxi", ".pyx"} and path.relative_to(PACKAGE).parts[0] not in {"_bulk", "testing"}
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"\bin (list|tuple)\([\w.]+\.items\(\)\)", line)
    ]
    assert not wrong


def test_nothing_of_one_machine() -> None:
    """No path that exists only on the machine of one developer."""
    pattern = re.compile("|".join(f"/{folder}/" for folder in ("work", "root", "home", "Users")))
    places = [ROOT / "Makefile", *ROOT.glob("*.*"), *(ROOT / ".ci").iterdir()]
    for folder in ("cassandra", "tests", "benchmarks", "docs"):
        places += [path for path in (ROOT / folder).rglob("*.*") if "_build" not in path.parts]
    texts = {".py", ".pyi", ".rst", ".toml", ".txt", ".json", ".cfg", ""} | NATIVE
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in places
        if path.is_file() and path.suffix in texts
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not wrong, "\n".join(wrong)
