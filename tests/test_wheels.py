"""The parts of ``tools/wheels`` that only compute; ``make wheels`` runs the rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from cassandra import __version__
from tools.wheels.bom import document, release
from tools.wheels.targets import ALL, covers, select

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("patterns", "count"),
    [
        ([], 32),
        (["cp314t"], 4),
        (["cp311-manylinux_x86_64"], 1),
        (["musllinux_aarch64"], 8),
        (["cp31?"], 24),
        (["cp310", "cp310-*", "*-musllinux_x86_64"], 11),
    ],
)
def test_wheels_are_chosen_by_patterns(patterns: list[str], count: int) -> None:
    chosen = select(patterns)
    assert len(chosen) == len(set(chosen)) == count
    assert chosen == [target for target in ALL if target in chosen]


def test_an_unknown_wheel_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no such wheel: 'cp39'; there are: cp310-manylinux_x86_64, "):
        select(["cp311", "cp39"])


def test_tags_and_file_names_are_those_of_the_interpreter() -> None:
    (target,) = select(["cp314t-musllinux_aarch64"])
    assert target.tag == "cp314-cp314t-musllinux_1_2_aarch64"
    assert target.suffix == ".cpython-314t-aarch64-linux-musl.so"
    assert (target.version, target.free_threaded) == ("3.14", True)
    (target,) = select(["cp310-manylinux_x86_64"])
    assert target.tag == "cp310-cp310-manylinux_2_28_x86_64"
    assert (target.version, target.free_threaded) == ("3.10", False)


@pytest.mark.parametrize(
    ("found", "is_covered"),
    [
        ("manylinux_2_17_x86_64", True),
        ("manylinux_2_28_x86_64", True),
        ("manylinux_2_34_x86_64", False),
        ("manylinux_2_17_aarch64", False),
        ("musllinux_1_1_x86_64", False),
        ("linux_x86_64", False),
    ],
)
def test_a_tag_covers_files_for_older_libraries(found: str, is_covered: bool) -> None:
    assert covers("manylinux_2_28_x86_64", found) == is_covered


def test_the_bill_of_materials_names_the_cpp_runtime() -> None:
    (target,) = select(["cp311-manylinux_x86_64"])
    tools = {"ziglang": "0.17.1", "Cython": "3.3.1", "setuptools": "84.2.1"}
    made = document("4.0.0a1", "21.1.0", tools, target, 1_700_000_000)
    assert made == document("4.0.0a1", "21.1.0", tools, target, 1_700_000_000)
    assert made["serialNumber"] != document("4.0.0a1", "21.1.1", tools, target, 1_700_000_000)["serialNumber"]
    assert made["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    versions = {one["name"]: one["version"] for one in made["components"]}
    assert versions == {"libc++": "21.1.0", "libc++abi": "21.1.0", "compiler-rt": "0.17.1"}
    references = [one["bom-ref"] for one in made["components"]]
    assert made["dependencies"] == [{"ref": "fastcql@4.0.0a1", "dependsOn": references}]
    assert json.loads(json.dumps(made)) == made


def test_the_release_is_that_of_the_driver() -> None:
    assert release() == __version__


def test_with_musl_the_unwinder_is_bundled() -> None:
    (target,) = select(["cp311-musllinux_x86_64"])
    made = document("4.0.0a1", "21.1.0", {"ziglang": "0.17.1"}, target, 1_700_000_000)
    assert "libunwind" in {one["name"] for one in made["components"]}


def test_cibuildwheel_builds_the_same_wheels() -> None:
    text = (ROOT / "pyproject.toml").read_text().partition("[tool.cibuildwheel]")[2].partition("[tool.mypy]")[0]
    settings = dict(re.findall(r'^([\w-]+) = "(.*?)"$', text, re.MULTILINE))
    known = {f"cp{python}-{kind}" for python in (38, 39, *range(310, 320)) for kind in KINDS}
    known |= {name.replace("-", "t-") for name in known}
    built = {name for name in known if any(fnmatchcase(name, pattern) for pattern in settings["build"].split())}
    assert built == {str(target) for target in ALL}
    images = {settings[f"{target.platform.name.replace('_', '-', 1)}-image"] for target in ALL}
    assert images == {target.platform.tag.removesuffix(f"_{target.platform.machine}") for target in ALL}


KINDS = [f"{library}_{machine}" for library in ("manylinux", "musllinux") for machine in ("x86_64", "aarch64", "i686")]


def test_without_a_compiler_the_build_says_what_to_install(tmp_path: Path) -> None:
    environment = {**os.environ, "CXX": "/no/such/compiler", "FASTCQL_ONLY": "memory"}
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--force", "--build-lib", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    (sentence,) = result.stderr.strip().splitlines()
    assert sentence.startswith("error: the C++ compiler '/no/such/compiler' is missing")
    assert "wheels of CPython 3.10 to 3.15 for Linux" in sentence
    assert "install g++ and python3-dev (Debian, Ubuntu, Alpine)" in sentence


def test_without_headers_the_build_says_what_to_install(tmp_path: Path) -> None:
    environment = {**os.environ, "FASTCQL_INCLUDE": str(tmp_path), "FASTCQL_ONLY": "memory"}
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--force", "--build-lib", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("error: Python's headers (Python.h) are missing")
