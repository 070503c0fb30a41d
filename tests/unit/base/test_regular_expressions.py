"""Every regular expression of the driver takes time by the length of the text, not by its square: servers and files
choose the texts. What backtracks is found by running it on texts that make such expressions slow."""

from __future__ import annotations

import ast
import itertools
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cassandra

pytestmark = pytest.mark.long

ROOT = Path(cassandra.__file__).parent
ANYWHERE = {"search", "findall", "finditer", "sub", "subn", "split"}
ANCHORED = {"match", "fullmatch"}
LENGTH = 30_000
SECONDS = 5  # of CPU for all texts on one expression: linear ones take a tenth of it, others this for each
# Of statements and options that the program itself writes, and of the command line.
OF_PROGRAMS = {"_session/request/result.py", "_session/request/execution.py", "_bulk/connecting.py", "testing"}


class Found(NamedTuple):
    place: str
    pattern: str
    flags: int
    anywhere: bool


def expressions() -> Iterator[Found]:
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        if any(place.startswith(one) for one in OF_PROGRAMS):
            continue
        tree = ast.parse(path.read_text())
        texts = dict(constants(tree))
        calls: list[Any] = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ]
        used: dict[str, set[str]] = {}
        for node in calls:
            used.setdefault(node.func.value.id, set()).add(node.func.attr)
        for node in calls:
            if node.func.value.id == "re" and node.func.attr in ANYWHERE | ANCHORED | {"compile"}:
                yield from of_call(place, node, texts, used, tree)


def constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    known: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = text_of(node.value, known)
            if text is not None:
                known[node.targets[0].id] = text
    yield from known.items()


def text_of(node: ast.expr, known: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.JoinedStr):
        parts = [text_of(part.value if isinstance(part, ast.FormattedValue) else part, known) for part in node.values]
        return None if None in parts else "".join(map(str, parts))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left, known), text_of(node.right, known)
        return None if left is None or right is None else left + right
    return None


def of_call(
    place: str, call: Any, texts: dict[str, str], used: dict[str, set[str]], tree: ast.Module
) -> Iterator[Found]:
    name = call.func.attr
    pattern = text_of(call.args[0], texts) if call.args else None
    flags = sum(
        int(getattr(re, node.attr))
        for argument in (*call.args[1:], *(keyword.value for keyword in call.keywords))
        for node in ast.walk(argument)
        if isinstance(node, ast.Attribute) and node.attr in ("IGNORECASE", "DOTALL", "ASCII", "VERBOSE", "MULTILINE")
    )
    if pattern is None:
        return  # an argument of a function, whose callers are looked at
    anywhere = name in ANYWHERE
    if name == "compile":
        names = {
            target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and node.value is call
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        anywhere = any(used.get(one, set()) & ANYWHERE for one in names)
    yield Found(place, pattern, flags, anywhere)


def texts() -> Iterator[str]:
    seeds = ["9", "a", " ", "\t", '"', "'", "(", "<", "/", "*", "-", ".", ",", ":", "\\", "=", "\n", "A", "_", "{", "é"]
    for seed in seeds:
        yield seed * LENGTH
    pairs = [
        "9.",
        "9a",
        '"a',
        "a ",
        "9/v",
        "aA",
        ", ",
        "''",
        '""',
        "/*",
        "* ",
        "--\n",
        "1:",
        "=>",
        "(a",
        "a(",
        "p9",
        "e9",
    ]
    for pair in pairs:
        yield pair * (LENGTH // len(pair))
    heads = ['"', "'", "POLYGON (", "DISTANCE ((", "POINT (", "a", "keys(", "lowest supported version is ", "frozen<"]
    for head, seed in itertools.product(heads, ["9", " ", "a", '"', "(", "9 "]):
        yield head + seed * (LENGTH // len(seed)) + "!"


class TooSlow(Exception):
    """The time of an expression is over."""


@pytest.fixture
def limited() -> Iterator[None]:
    """Ends the test after SECONDS of CPU. ``re`` looks at signals while it matches."""

    def over(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


EXPRESSIONS = list(dict.fromkeys(expressions()))


def test_all_are_found() -> None:
    assert len(EXPRESSIONS) > 30
    assert {found.place for found in EXPRESSIONS} > {"_net/handshake.py", "_wire/types/parser.py"}


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("found", EXPRESSIONS, ids=lambda found: found.place)
def test_linear(found: Found) -> None:
    pattern = re.compile(found.pattern, found.flags)
    for text in texts():
        try:
            pattern.match(text)
            if found.anywhere:
                for _ in pattern.finditer(text):
                    pass
        except TooSlow:
            pytest.fail(f"{found} takes more than {SECONDS} s for {text[:20]!r}...")


@pytest.mark.usefixtures("limited")
def test_slow_ones_are_noticed() -> None:
    with pytest.raises(TooSlow):
        for _ in re.finditer(r"(\d+)/v\d+", "9" * (8 * LENGTH)):
            pass
