"""Pages of the documentation as programs: their code blocks, and the run of a page from top to bottom.

A page is a program: its Python blocks in order. What a block prints is compared with the block ``.. code-block:: text``
with ``:class: output`` that follows it. A block below the comment ``.. not run: reason`` is only compiled.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
DIRECTIVE = re.compile(r"( *)\.\. code-block:: (\w+)")
NOT_RUN = re.compile(r" *\.\. not run: (.+)")
CONTACT = '["127.0.0.1"]'
END = "\x1e"  # printed after each block
#: the first line of a program with a server, which may be busy
PATIENTLY = (
    "import builtins; from cassandra.cluster import Cluster, ExecutionProfile; "
    "from tests.patience import PATIENCE, be_patient; "
    "be_patient(builtins, ExecutionProfile, request_timeout=PATIENCE); "
    "be_patient(builtins, Cluster, connect_timeout=PATIENCE, control_connection_timeout=PATIENCE)"
)
#: what differs from run to run
VARIABLE = (
    (re.compile(r"\b127\.\d+\.\d+\.\d+\b(:\d+)?"), "ADDRESS"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b\d+\.\d+ ?s\b"), "SECONDS"),
)


@dataclass(frozen=True)
class Block:
    """A code block: its first line, counted from 0, and the reason why it is not run, if it is not."""

    line: int
    language: str
    code: str
    is_output: bool
    reason: str | None


def pages() -> dict[str, Path]:
    """The pages with Python blocks, by name."""
    paths = sorted(DOCS.glob("*.rst"))
    return {path.stem: path for path in paths if any(block.language == "python" for block in blocks(path))}


def needs_server(path: Path) -> bool:
    """True if the page connects to a server that it has not started itself."""
    return CONTACT in path.read_text()


def blocks(path: Path) -> Iterator[Block]:
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        match = DIRECTIVE.fullmatch(line)
        if match is None:
            continue
        end = number + 1
        while end < len(lines) and (not lines[end] or lines[end].startswith(match[1] + " ")):
            end += 1
        start = lines.index("", number) + 1
        reason = NOT_RUN.fullmatch(lines[number - 2])
        yield Block(
            line=start,
            language=match[2],
            code=textwrap.dedent("\n".join(lines[start:end])).rstrip() + "\n",
            is_output=any(":class: output" in option for option in lines[number + 1 : start]),
            reason=reason and reason[1],
        )


def run(path: Path, folder: Path, contact: str = "", port: int = 9042) -> None:
    """Run the page in a process of its own, in *folder*, and compare what its blocks print. *contact* and *port* are
    those of the server, if the page needs one."""
    program = [""] * (path.read_text().count("\n") + 1)
    outputs: list[Block | None] = []
    for block in blocks(path):
        if block.is_output:
            assert outputs and outputs[-1] is None, f"{path.name}:{block.line}: output of no block"
            outputs[-1] = block
        elif block.language == "python" and block.reason is None:
            code = block.code.splitlines()
            program[block.line : block.line + len(code)] = code
            program[block.line + len(code)] = f"print({END!r}, end='', flush=True)"
            outputs.append(None)
    address = f'["{contact}"]' if port == 9042 else f'["{contact}"], port={port}'
    if contact:
        program[0] = PATIENTLY
    script = folder / f"{path.stem.replace('-', '_')}_page.py"
    script.write_text("\n".join(program).replace(CONTACT, address))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"{path.name}:\n{done.stdout.replace(END, '')}{done.stderr}"
    printed = done.stdout.split(END)
    for block, got in zip(outputs, printed[: len(outputs)], strict=True):
        if block is not None:
            assert _same(block.code, got), f"{path.name}:{block.line + 1}:\n{block.code}is really\n{got}"


def _same(want: str, got: str) -> bool:
    """Are both the same but for what differs from run to run? Three dots stand for any text."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for pattern, name in VARIABLE:
        want, got = pattern.sub(name, want), pattern.sub(name, got)
    return doctest.OutputChecker().check_output(want, got, flags)
