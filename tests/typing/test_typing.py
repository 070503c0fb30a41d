"""mypy, as applications run it, on code that uses the public API."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REVEALING = ["public_api.py", "mapper.py"]
LINE = re.compile(r"^(?P<file>\S+\.py):(?P<line>\d+): (?P<kind>note|error): (?P<text>.*)$")


@pytest.fixture(scope="module")
def said() -> dict[str, dict[int, list[tuple[str, str]]]]:
    """What mypy says, by file and line. All files at once: reading the package is what takes the time."""
    files = [str(path.relative_to(ROOT)) for path in (*(HERE / name for name in REVEALING), HERE / "misuse.py")]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--warn-unused-ignores", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    found: dict[str, dict[int, list[tuple[str, str]]]] = {}
    for line in ran.stdout.splitlines():
        match = LINE.match(line)
        assert match, line
        lines = found.setdefault(Path(match["file"]).name, {})
        lines.setdefault(int(match["line"]), []).append((match["kind"], match["text"].replace("builtins.", "")))
    return found


@pytest.mark.parametrize("name", REVEALING)
def test_revealed_types(said: dict[str, dict[int, list[tuple[str, str]]]], name: str) -> None:
    expected = {}
    for number, line in enumerate((HERE / name).read_text().splitlines(), 1):
        code, _, comment = line.partition("  # ")
        if "reveal_type(" in code:
            expected[number] = [("note", f'Revealed type is "{comment.strip()}"')]
    assert len(expected) > 20
    assert said[name] == expected


def test_misuse(said: dict[str, dict[int, list[tuple[str, str]]]]) -> None:
    marked = {
        number
        for number, line in enumerate((HERE / "misuse.py").read_text().splitlines(), 1)
        if line.endswith("# error")
    }
    errors = {number for number, lines in said["misuse.py"].items() if any(kind == "error" for kind, _ in lines)}
    assert errors == marked
