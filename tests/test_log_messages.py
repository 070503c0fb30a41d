"""The list of log messages, ``docs/logging.rst``, beside the code: it has each message that is logged as a warning or
error, and no other.

On the page a message is a line "``text`` : ``logger``, LEVEL". Its text has an ellipsis for each value, and may be
the beginning of the message: then it ends with an ellipsis, too. A message logged at a level that varies is on the
page with the level that it is first logged at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "cassandra"
PAGE = ROOT / "docs" / "logging.rst"

LEVELS = {"warning": {"WARNING"}, "error": {"ERROR"}, "exception": {"ERROR"}, "log": {"ERROR", "WARNING", "INFO"}}
ENTRY = re.compile(r"^``(.+)`` : ``([\w.]+)``, ([A-Z]+)$", re.MULTILINE)
PLACEHOLDER = re.compile(r"%[-#0 +]*\d*(?:\.\d+)?[a-z]")
#: Calls in Cython code, and the message that the C++ core passes to one of them.
NATIVE_CALL = re.compile(r'get_logger\("([\w.]+)"\)\.(warning|error|exception)\(\s*((?:"[^"]*"\s*)*)')
NATIVE_WARNING = re.compile(r"ReceiveBuffer::warning\(.+?snprintf\((.+?)\n\s+paused_", re.DOTALL)
SHORTEST = 20  # characters of a string that can be a message


class Message(NamedTuple):
    text: str
    logger: str
    levels: frozenset[str]


def normal(text: str) -> str:
    return PLACEHOLDER.sub("…", text)


def strings(node: ast.AST) -> Iterator[str]:
    """The messages written in *node*, with an ellipsis for each value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield normal(node.value)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(normal(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    else:
        for child in ast.iter_child_nodes(node):
            yield from strings(child)


class Module:
    """The log calls of one module of Python."""

    def __init__(self, path: Path) -> None:
        self.tree = ast.parse(path.read_text())
        self.where = str(path.relative_to(ROOT))
        self.loggers: dict[str, str] = {}
        self.constants: dict[str, ast.expr] = {}
        for node in self.tree.body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                self._assigned(node.targets[0] if isinstance(node, ast.Assign) else node.target, node.value)

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, its in zip(target.elts, value.elts, strict=True):
                self._assigned(one, its)
        elif isinstance(target, ast.Name):
            self.constants[target.id] = value
            if isinstance(value, ast.Call) and ast.unparse(value.func) in {"get_logger", "logging.getLogger"}:
                self.loggers[target.id] = next(strings(value))

    def messages(self) -> Iterator[Message]:
        for function in ast.walk(self.tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for call in self._own_calls(function):
                    yield from self._of_call(function, call)

    def _own_calls(self, function: ast.AST) -> Iterator[ast.Call]:
        """The calls in *function*, without those in functions inside."""
        for child in ast.iter_child_nodes(function):
            if isinstance(child, ast.Call):
                yield child
            if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from self._own_calls(child)

    def _of_call(self, function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> Iterator[Message]:
        method = call.func
        if not (isinstance(method, ast.Attribute) and method.attr in LEVELS and isinstance(method.value, ast.Name)):
            return
        if method.value.id not in self.loggers:
            return
        logger, levels = self.loggers[method.value.id], frozenset(LEVELS[method.attr])
        argument = call.args[1 if method.attr == "log" else 0]
        texts = [text for text in strings(argument) if text != "…"] or self._computed(function)
        assert texts, f"{self.where}:{call.lineno}: the message of this call cannot be read"
        for text in texts:
            yield Message(text, logger, levels)

    def _computed(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
        """The messages that *function* logs if they are its own strings, or arguments that it is called with."""
        found = [text for node in ast.walk(function) if isinstance(node, ast.Assign) for text in strings(node.value)]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == function.name:
                for argument in node.args:
                    named = isinstance(argument, ast.Name) and argument.id in self.constants
                    found += strings(self.constants[ast.unparse(argument)] if named else argument)
        return [text for text in found if len(text) >= SHORTEST]


@cache
def logged() -> frozenset[Message]:
    found: set[Message] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        found.update(Module(path).messages())
    for path in sorted(PACKAGE.rglob("*.p[yx][xi]")):
        for logger, method, text in NATIVE_CALL.findall(path.read_text()):
            parts = "".join(re.findall(r'"([^"]*)"', text))
            found.add(Message(normal(parts) or native_warning(), logger, frozenset(LEVELS[method])))
    return frozenset(found)


def native_warning() -> str:
    """The warning of the C++ core, ``ReceiveBuffer::warning()``."""
    source = (PACKAGE / "_core/cpp/transport/inbound.cpp").read_text()
    match = NATIVE_WARNING.search(source)
    assert match is not None
    return normal("".join(re.findall(r'"([^"]*)"', match[1])).replace("%zu", "%d"))


def documented() -> list[tuple[str, str, str]]:
    return ENTRY.findall(PAGE.read_text())


def describes(entry: tuple[str, str, str], message: Message) -> bool:
    text, logger, level = entry
    whole = text == message.text or (text.endswith("…") and message.text.startswith(text.removesuffix("…")))
    return whole and logger == message.logger and level in message.levels


def test_each_message_has_an_entry() -> None:
    entries = documented()
    missing = [one for one in logged() if not any(describes(entry, one) for entry in entries)]
    assert not missing, "\n".join(f"{one.logger} {'/'.join(sorted(one.levels))}: {one.text}" for one in sorted(missing))


def test_each_entry_has_a_message() -> None:
    messages = logged()
    stale = [entry for entry in documented() if not any(describes(entry, one) for one in messages)]
    assert not stale


def test_each_logger_is_listed() -> None:
    page = PAGE.read_text()
    loggers = {one.logger for one in logged()}
    assert not [name for name in loggers if f"* - ``{name}``" not in page]
