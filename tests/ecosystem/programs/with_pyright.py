"""pyright, as editors run it, finds the types that mypy finds: of models, and of the rest of the API."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

TYPING = Path(__file__).resolve().parents[2] / "typing"
FILES = ("mapper.py", "public_api.py")
#: What mypy spells out: where a class is defined.
PATH = re.compile(r"\b(?:\w+\.)+(?=\w)")
NAMED_TUPLE = re.compile(r"tuple\[[^\[\]]*, fallback=(\w+)\]")
REVEALED = re.compile(r'Type of ".*" is "(.*)"')
#: Functions, and types that stand for a class: spelled in ways of their own.
OTHERWISE = ("def (", "Self")


def wanted(file: Path) -> dict[int, str]:
    found = {}
    for number, line in enumerate(file.read_text().splitlines()):
        code, _, comment = line.partition("  # ")
        if "reveal_type(" in code:
            found[number] = NAMED_TUPLE.sub(r"\1", PATH.sub("", comment.strip()))
    return found


folder = Path("tests/typing")
folder.mkdir(parents=True)
for name in FILES:
    shutil.copy(TYPING / name, folder)
# Libraries that a program may have, and this environment has not.
Path("pyrightconfig.json").write_text(json.dumps({"include": ["tests"], "reportMissingImports": False}))
command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
ran = subprocess.run(command, capture_output=True, text=True)
diagnostics = json.loads(ran.stdout)["generalDiagnostics"]
compared = 0
for name in FILES:
    said = {}
    for diagnostic in diagnostics:
        if Path(diagnostic["file"]).name == name:
            assert diagnostic["severity"] == "information", diagnostic
            said[diagnostic["range"]["start"]["line"]] = REVEALED.match(diagnostic["message"])[1]
    expected = wanted(folder / name)
    assert set(said) == set(expected)
    for number, text in expected.items():
        if not text.startswith(OTHERWISE) and "Self" not in said[number]:
            assert said[number] == text, (name, number + 1, said[number], text)
            compared += 1
assert compared > 80, compared
print("done")
