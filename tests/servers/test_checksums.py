"""The jars of the servers are those that were looked at, and the packages have no known holes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.servers import classpath, config


@pytest.fixture
def jars(tmp_path: Path) -> list[Path]:
    made = [tmp_path / "one-1.jar", tmp_path / "two-2.jar"]
    for jar in made:
        jar.write_bytes(jar.name.encode())
    return made


@pytest.fixture
def listed(jars: list[Path], tmp_path: Path) -> Path:
    path = tmp_path / "1.0.txt"
    path.write_text("".join(f"{classpath.digest_of(jar)}  {jar.name}\n" for jar in jars))
    classpath.digest_of.cache_clear()
    return path


def test_the_same_jars(jars: list[Path], listed: Path) -> None:
    classpath.verify(jars, listed)


def test_a_changed_jar(jars: list[Path], listed: Path) -> None:
    jars[1].write_bytes(b"something else")
    with pytest.raises(RuntimeError, match=r"differ.*two-2\.jar"):
        classpath.verify(jars, listed)


def test_another_jar_and_one_that_is_missing(jars: list[Path], listed: Path, tmp_path: Path) -> None:
    more = tmp_path / "three-3.jar"
    more.write_bytes(b"more")
    with pytest.raises(RuntimeError, match=r"three-3\.jar"):
        classpath.verify([*jars, more], listed)
    with pytest.raises(RuntimeError, match=r"missing: .*two-2\.jar"):
        classpath.verify(jars[:1], listed)


def test_a_version_without_list(jars: list[Path], tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="there is no"):
        classpath.verify(jars, tmp_path / "none.txt")


@pytest.mark.parametrize("version", [config.CURRENT, config.PREVIOUS])
def test_versions_are_listed(version: str) -> None:
    lines = (classpath.CHECKSUMS / f"{version}.txt").read_text().splitlines()
    assert len(lines) > 50
    assert all(re.fullmatch(r"[0-9a-f]{64}  [\w.+-]+\.jar", line) for line in lines)


def test_packages_without_known_holes() -> None:
    """Reading an Arrow file could run code before pyarrow 14.0.1."""
    text = (classpath.ROOT / "pyproject.toml").read_text()
    lowest = {"pyarrow": (14, 0, 1), "lz4": (4, 3, 2)}
    for name, least in lowest.items():
        found = re.findall(rf'"{name}>=([0-9.]+)"', text)
        assert found
        assert all(tuple(map(int, one.split("."))) >= least for one in found)
