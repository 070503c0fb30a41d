"""Each package of ``packages.py`` in its environment: its programs end well, and what they say they saw is so."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ecosystem import environments
from tests.ecosystem.packages import PACKAGES, Package
from tests.servers import ServerCluster

pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def wheel() -> Callable[[str], Path]:
    """By version of Python."""
    return functools.cache(environments.wheel)


def cases() -> Iterator[Any]:
    for package in PACKAGES.values():
        marks = [] if package.light else [pytest.mark.ecosystem]
        for program in package.programs:
            yield pytest.param(package, program, id=f"{package.name}-{program}", marks=marks)


@pytest.mark.parametrize(("package", "program"), list(cases()))
def test_it_runs_unchanged(
    package: Package, program: str, wheel: Callable[[str], Path], cassandra_node: ServerCluster, tmp_path: Path
) -> None:
    python = environments.environment(package, wheel(package.python))
    contact = f"{cassandra_node.contact_points[0]}:{cassandra_node.port}"
    said = environments.run_program(python, program, contact, tmp_path)
    assert said.splitlines()[-1] == "done", said


def test_all_versions_are_pinned() -> None:
    pins = environments.read_pins()
    assert set(pins) == set(PACKAGES), "run `python -m tests.ecosystem pin` for what is new"
    for name, lines in pins.items():
        assert all("==" in line for line in lines), name
        named = {normal(line.partition("==")[0]) for line in lines}
        asked = {re.split(r"[\[<>=]", requirement)[0] for requirement in PACKAGES[name].requires}
        assert asked <= named, name


def test_documented_versions_are_those_tested() -> None:
    page = (environments.ROOT / "docs" / "dependents.rst").read_text()
    rows = re.findall(r"^   \* - ([\w.-]+(?:, [\w.-]+)*)\n     - ([\w.]+(?:, [\w.]+)*)$", page, re.MULTILINE)
    documented = {
        (normal(name), version)
        for names, versions in rows[1:]
        for name, version in zip(names.split(", "), versions.split(", "), strict=True)
    }
    pinned = {(normal(name), version) for name, _, version in pins()}
    assert len(documented) > 30
    assert documented <= pinned, documented - pinned


def pins() -> Iterator[tuple[str, str, str]]:
    for lines in environments.read_pins().values():
        yield from (line.partition("==") for line in lines)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
