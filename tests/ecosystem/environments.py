"""One virtual environment per package below ``.venv-eco``, made once; the driver in it is always this tree's."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from tests.ecosystem.packages import Package

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".venv-eco"
PINS = Path(__file__).with_name("pins.txt")
PROGRAMS = Path(__file__).with_name("programs")

#: The driver of this tree; any other is a requirement that pip fetches.
THIS = "fastcql"
#: What ``pyproject.toml`` says for building.
BUILD_REQUIRES = ("setuptools>=77", "Cython>=3.1,<4")
INSTALL_TIMEOUT = 1200
RUN_TIMEOUT = 600


class CommandFailed(Exception):
    """A command ended with an error; the text is all that it wrote."""


def interpreter(version: str) -> Path:
    """The Python of *version*, such as 3.12, as the Makefile uses it; ours for ``""``."""
    if not version:
        return Path(sys.executable)
    return Path(run([ROOT / ".ci/pythons", version], timeout=INSTALL_TIMEOUT).strip())


def wheel(version: str = "") -> Path:
    """fastcql as it is in this tree now, for the Python of *version*. What was compiled is not compiled again, in place
    for our own Python: only what is newer than that."""
    folder, modules = (HOME / f"{kind}{version and '-'}{version}" for kind in ("wheel", "lib"))
    for old in folder.glob("*.whl"):
        old.unlink()
    if not version:
        shutil.rmtree(modules, ignore_errors=True)
        for module in ROOT.glob(f"cassandra/**/*{sysconfig.get_config_var('EXT_SUFFIX')}"):
            place = modules / module.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(module, place)
    build = ["build", "--build-lib", modules, "bdist_wheel", "--dist-dir", folder]
    run([_builder(version), "setup.py", "--quiet", *build], cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def _builder(version: str) -> Path:
    """A Python of *version* that has what it takes to compile the driver: ours, or one made for it."""
    if not version:
        return Path(sys.executable)
    folder = HOME / f"build-{version}"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        run([interpreter(version), "-m", "venv", "--clear", "--without-pip", folder])
        pip(python, "install", "--quiet", *BUILD_REQUIRES)
        (folder / "ready").touch()
    return python


def environment(package: Package, driver: Path | str) -> Path:
    """The interpreter of *package*'s environment, where *driver* is installed: a wheel of ours, or another's name."""
    folder = HOME / (package.name if isinstance(driver, Path) else f"{package.name}-{driver}")
    python = folder / "bin" / "python"
    pins = read_pins()[package.name]
    base = interpreter(package.python)
    key = hashlib.sha256("\n".join([sys.version, str(base), str(folder), *pins]).encode()).hexdigest()
    content = contents(driver) if isinstance(driver, Path) else ""
    ready = folder / "ready"
    found = ready.read_text().split() if ready.exists() else []
    if found[:1] != [key]:
        _make(base, folder, driver, package.stand_ins)
        _install(python, package, *(["--no-deps"] if isinstance(driver, str) else []), *pins)
    elif isinstance(driver, Path) and found[1:] != [content]:
        pip(python, "install", "--no-compile", "--no-deps", "--force-reinstall", str(driver))
    else:
        return python
    if isinstance(driver, Path):
        pip(python, "check")
    ready.write_text(f"{key} {content}")
    return python


def contents(built: Path) -> str:
    """What is in the wheel *built*, without the times of its files."""
    with zipfile.ZipFile(built) as archive:
        files = sorted((file.filename, file.CRC) for file in archive.infolist())
    return hashlib.sha256(repr(files).encode()).hexdigest()


def pin(package: Package, driver: Path) -> list[str]:
    """What pip chooses for *package* today, written to ``pins.txt``."""
    folder = HOME / package.name
    python = _make(interpreter(package.python), folder, driver, package.stand_ins)
    _install(python, package, *package.requires)
    ours = {THIS, "cassandra-driver", "scylla-driver"}
    lines = pip(python, "list", "--format=freeze", "--exclude", "pip", "--exclude", "setuptools").splitlines()
    chosen = [line for line in lines if line.partition("==")[0].lower() not in ours]
    pins = read_pins() | {package.name: chosen}
    PINS.write_text(_HEAD + "".join(f"\n[{name}]\n" + "".join(f"{p}\n" for p in pins[name]) for name in sorted(pins)))
    return chosen


def read_pins() -> dict[str, list[str]]:
    """Requirements by package."""
    found: dict[str, list[str]] = {}
    for line in PINS.read_text().splitlines():
        if line.startswith("["):
            current = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            current.append(line)
    return found


def run_program(python: Path, program: str, contact: str, folder: Path) -> str:
    """What *program* wrote; it found a server at *contact* and ran in *folder*."""
    return run([python, PROGRAMS / program], cwd=folder, CASSANDRA_CONTACT=contact)


def pip(python: Path, *arguments: str, **variables: str) -> str:
    """Ours, for the environment of *python*: one of its own would take longer to install than most packages."""
    command: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    return run([*command, *arguments], timeout=INSTALL_TIMEOUT, **variables)


def run(command: list[str | Path], cwd: Path = ROOT, timeout: float = RUN_TIMEOUT, **variables: str) -> str:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env, cwd=cwd)
    if done.returncode:
        words = " ".join(str(part) for part in command)
        raise CommandFailed(f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def _install(python: Path, package: Package, *arguments: str) -> None:
    constraints = python.parent.parent / "constraints.txt"
    constraints.write_text("\n".join(package.constraints))
    # of what is installed, and of what that is built with
    limits = {"PIP_CONSTRAINT": str(constraints), "PIP_BUILD_CONSTRAINT": str(constraints)}
    pip(python, "install", "--no-compile", *arguments, **limits)


def _make(base: Path, folder: Path, driver: Path | str, stand_ins: tuple[str, ...]) -> Path:
    """An empty environment of *base* with *driver* alone; ours with stand-ins for the other two."""
    run([base, "-m", "venv", "--clear", "--without-pip", folder])
    python = folder / "bin" / "python"
    pip(python, "install", "--quiet", "--no-compile", str(driver))
    if isinstance(driver, Path):
        run([python, "-m", "cassandra.stand_in"])
        for other in stand_ins:
            run([python, "-m", "cassandra.stand_in", "--as", other])
    return python


_HEAD = """\
# All that is installed for each package of packages.py, by `python -m tests.ecosystem pin NAME`.
"""
