"""The sdist: the same bytes from the same sources, a build that needs no network, and a sentence without a compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from cassandra import __version__
from tests.unit.release.releasing import ROOT

EPOCH = 1_700_000_000
LIMIT = 600

pytestmark = pytest.mark.long


def copied(folder: Path, mode: int) -> Path:
    """Copy the sources to *folder* as another checkout would have them: with other times, modes and neighbours."""
    ignored = shutil.ignore_patterns(
        "__pycache__", "*.so", "_build", "build", "dist", "*.egg-info", ".*_cache", ".hypothesis"
    )
    folder.mkdir()
    copied = ("cassandra", "tests", "docs", "benchmarks", "scripts", "tools", ".ci", ".github")
    for path in ROOT.iterdir():
        if path.is_dir() and path.name in copied:
            shutil.copytree(path, folder / path.name, ignore=ignored, copy_function=shutil.copy)
        elif path.is_file():
            shutil.copy(path, folder)
    for path in folder.rglob("*"):
        path.chmod(path.stat().st_mode & (mode | 0o500))
    return folder


def sdist(folder: Path) -> Path:
    """Build as a frontend does: with the pinned requirements of the build, which are installed here."""
    call = "import sys; from setuptools import build_meta; build_meta.build_sdist('made')"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)}
    command = [sys.executable, "-c", call]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (folder / "made").iterdir()
    return made


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sdist(copied(tmp_path_factory.mktemp("sdist") / "first", 0o777))


def test_two_builds_are_equal(archive: Path, tmp_path: Path) -> None:
    other = copied(tmp_path / "somewhere else", 0o700)
    for name in ("build/generated/codec.cpp", "cassandra/_core/codec.so", "cassandra/__pycache__/left.pyc"):
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_text("left by a build")
    assert sdist(other).read_bytes() == archive.read_bytes()


def test_an_archive_tells_nothing_of_its_machine(archive: Path) -> None:
    assert archive.name == f"fastcql-{__version__}.tar.gz"
    with tarfile.open(archive) as opened:
        entries = opened.getmembers()
    assert {(entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname) for entry in entries} == {
        (EPOCH, 0, 0, "", "")
    }
    modes = {entry.name.partition("/")[2]: entry.mode for entry in entries}
    assert modes["scripts/release"] == 0o755 and modes["setup.py"] == 0o644


def test_without_a_compiler(archive: Path, tmp_path: Path) -> None:
    """pip ends with a sentence: which compiler is missing, which wheels exist, and what to install."""
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(tmp_path / "target")]
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *options, str(archive)]
    environment = {name: value for name, value in os.environ.items() if name not in {"CC", "CXX"}}
    environment["PATH"] = str(tmp_path)
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode != 0
    shown = done.stdout + done.stderr
    (sentence,) = re.findall(r"^ *error: (the C\+\+ compiler .*)$", shown, re.MULTILINE)
    assert "wheels of CPython 3.10 to 3.15 for Linux" in sentence and "install g++ and python3-dev" in sentence
    assert "Traceback" not in shown and "CPython" not in shown.replace(sentence, "")
