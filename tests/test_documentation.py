"""The code blocks of the documentation: what is checked without running them; ``tests/pages.py`` runs them."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path

import pytest

from tests import pages

PAGES = pages.pages()
COLUMNS = 76
SIMPLE_TABLE = re.compile(r"^( *)(=+)(?: +=+)+\n(?:.+\n)+", re.M)
LITERAL = re.compile(r"^(?! *\.\.).*::\n\n((?:    .*\n|\n)+)", re.M)


@pytest.mark.parametrize("path", sorted(pages.DOCS.glob("*.rst")), ids=lambda path: path.stem)
def test_lines_fit_into_the_column_of_a_page(path: Path) -> None:
    wide = [
        f"{path.name}:{block.line + number + 1}: {len(line)} columns"
        for block in pages.blocks(path)
        for number, line in enumerate(block.code.splitlines())
        if len(line) > COLUMNS
    ]
    assert not wide, "\n".join(wide)


@pytest.mark.parametrize("path", sorted(pages.DOCS.rglob("*.rst")), ids=lambda path: path.stem)
def test_a_row_of_a_simple_table_has_one_line_in_its_first_cell(path: Path) -> None:
    """A second line in the first column begins another row: such a table is a list-table."""
    broken = []
    for table in SIMPLE_TABLE.finditer(path.read_text()):
        width = len(table[2])
        cells = [line[len(table[1]) :][:width].strip() for line in table[0].splitlines()]
        broken += [cell for cell in cells if cell.endswith(",")]
    assert not broken, f"{path.name}: {broken}"


@pytest.mark.parametrize("name", PAGES)
def test_blocks_compile(name: str) -> None:
    for block in pages.blocks(PAGES[name]):
        if block.language == "python":
            compile("\n" * block.line + block.code, str(PAGES[name]), "exec")


def test_few_blocks_are_not_run() -> None:
    """A block that is not run needs what a test cannot have, and says so."""
    found = [f"{path.name}: {block.reason}" for path in PAGES.values() for block in pages.blocks(path) if block.reason]
    assert len(found) <= 8, "\n".join(found)


@pytest.mark.parametrize("path", sorted(pages.DOCS.glob("*.rst")), ids=lambda path: path.stem)
def test_python_is_in_blocks_that_are_run(path: Path) -> None:
    """A block of another kind is no program."""
    text = path.read_text()
    others = [textwrap.dedent(block) for block in LITERAL.findall(text)]
    others += [block.code for block in pages.blocks(path) if block.language == "text" and not block.is_output]
    assert not [block for block in others if _is_program(block)]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_at_its_top_what_it_needs(name: str) -> None:
    """The packages that its blocks import: those beside the driver and the standard library."""
    path = PAGES[name]
    top = "\n".join(path.read_text().splitlines()[: next(pages.blocks(path)).line])
    needed = set()
    for block in pages.blocks(path):
        if block.language == "python" and block.reason is None:
            needed |= _imported(block.code)
    missing = {package for package in needed if package not in top}
    assert not missing, f"{path.name} does not name {missing} before its first example"


def _imported(code: str) -> set[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"cassandra"}


def _is_program(text: str) -> bool:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Import | ast.ImportFrom | ast.Call) for node in ast.walk(tree))
