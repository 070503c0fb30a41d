"""The program by its two names: the module, and the command that an installation has."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# What pip writes for an entry point.
SCRIPT = "import sys\nfrom {module} import {function}\nif __name__ == '__main__':\n    sys.exit({function}())\n"


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed ``fastcql-bulk``, made of the entry point that the package declares."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "setup.py", "-q", "egg_info", "-e", str(folder)], cwd=ROOT, check=True, timeout=600)
    (installed,) = distributions(path=[str(folder)])
    (entry,) = installed.entry_points.select(group="console_scripts")
    script = folder / entry.name
    script.write_text(SCRIPT.format(module=entry.module, function=entry.attr))
    return script


def run(*arguments: object) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", *map(str, arguments)],
        env={"PYTHONPATH": str(ROOT), "HOME": "/nonexistent", "COLUMNS": "120"},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_both_are_the_same_program(command: Path) -> None:
    module = run("-m", "cassandra.bulk", "--help")
    assert module[0] == 0 and module[1].startswith("usage: python -m cassandra.bulk [-h] [-V] COMMAND ...\n")
    name = "fastcql-bulk"
    assert command.name == name
    assert run(command, "--help") == (0, module[1].replace("python -m cassandra.bulk", name), "")


@pytest.mark.parametrize(
    "arguments", [["count"], ["unload", "ks.t", "--out", "x", "--where", "v > 1", "--nulls", "null"]]
)
def test_errors_have_the_name_and_the_status(command: Path, arguments: list[str]) -> None:
    status, _, said = run("-m", "cassandra.bulk", *arguments)
    assert status == 2 and "python -m cassandra.bulk" in said
    status, printed, shown = run(command, *arguments)
    assert (status, printed) == (2, "")
    assert shown.split() == said.replace("python -m cassandra.bulk", "fastcql-bulk").split()  # lines break elsewhere
