"""Runs a wheel: it is installed where neither the source tree nor a compiler is.

Wheels for this machine are installed into an empty virtual environment of an interpreter that is here. The others, and
those of Pythons that are not here, are installed into a root of Debian's packages, which ``chroot`` enters, with QEMU
for another machine. That needs root's rights.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.wheels.build import zig
from tools.wheels.debian import Suite, Unavailable
from tools.wheels.headers import SUITES, installed
from tools.wheels.native import emulator
from tools.wheels.targets import Target

SMOKE = Path(__file__).with_name("smoke.py")
#: Unit tests that run by default, of one wheel for each machine: the others differ in Python only.
UNIT_TESTS = {"cp311-manylinux_x86_64": "tests/unit", "cp313-manylinux_aarch64": "tests/unit/core"}
OF_THE_SOURCE = ("tests/unit/release", "tests/unit/benchmarks")  # tests of the source tree
#: Of these all have wheels for both machines.
TEST_PACKAGES = [
    "attrs",
    "backports.zstd",
    "cramjam",
    "cryptography",
    "duckdb",
    "hypothesis",
    "lz4",
    "numpy",
    "opentelemetry-instrumentation-cassandra",
    "opentelemetry-sdk",
    "pandas",
    "polars",
    "prometheus-client",
    "pyarrow",
    "pytest",
]
#: Tests that QEMU runs: forks of programs with threads, and programs that start many others, are slow or fail there.
EMULATED_TESTS = "not fork and not process and not subprocess and not exit and not interpreter and not docs"
#: QEMU leaves the start of a program to the kernel, which runs programs of this machine only: a launcher has the name
#: of the interpreter, and starts QEMU with it.
LAUNCHER = """
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
    char** command = calloc(argc + 4, sizeof(char*));
    if (!command) return 126;
    command[0] = "/emulator";
    command[1] = "-0";
    command[2] = NAME;
    command[3] = NAME "-emulated";
    for (int i = 1; i < argc; i++) command[3 + i] = argv[i];
    execv(command[0], command);
    return 127;
}
"""
NOT_RUN = "compiled, not run"
TIMEOUT = 3600
ENTER = 'for each in proc dev; do mkdir -p "$0/$each"; mount --rbind "/$each" "$0/$each"; done; exec chroot "$0" "$@"'


def run(wheel: Path, target: Target, source: Path, work: Path, *, whole: bool) -> tuple[str, list[str]]:
    """Return what ran, for the table, and what went wrong."""
    tests = "tests/unit" if whole else UNIT_TESTS.get(str(target), "")
    try:
        machine = _machine(target, work)
        if machine is None:
            return NOT_RUN, []
        machine.install(wheel)
        result = machine.python([str(machine.file(SMOKE))])
        if result.returncode != 0:
            return "smoke test", [f"smoke test: {result.stdout[-2000:]}{result.stderr[-2000:]}"]
        done = f"smoke test ({result.stdout.strip().splitlines()[-1]})"
        if not tests:
            return done, []
        machine.install_tests(source)
        options = ["-c", str(machine.seen / "pyproject.toml"), *machine.pytest_options]
        options += [f"--ignore={machine.seen / folder}" for folder in OF_THE_SOURCE]
        chosen = ["-m", "not server and not long", str(machine.seen / tests)]
        result = machine.python(["-m", "pytest", "-q", *options, *chosen])
        closing = (result.stdout.strip().splitlines() or [""])[-1]
        failed = [f"{tests}: {result.stdout[-6000:]}{result.stderr[-2000:]}"] if result.returncode else []
        return f"{done}, {tests}: {closing}", failed
    except Unavailable as error:
        return f"{NOT_RUN}: {error}", []


def _machine(target: Target, work: Path) -> Environment | Root | None:
    """Where *target* can run here."""
    if target.platform.is_musl:
        return None
    python = installed(target.version, free_threaded=target.free_threaded)
    if python and target.platform.machine == platform.machine():
        return Environment(python, work / "run" / str(target))
    if target.free_threaded or target.version not in SUITES:
        return None
    return Root(target, work)


class Environment:
    """A virtual environment."""

    pytest_options: Sequence[str] = ("-n", "4", "--dist", "loadfile")

    def __init__(self, python: str, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder
        self.tests = self.seen = folder / "tests"
        self.tests.mkdir()
        _call([python, "-m", "venv", str(folder / "venv")])

    def install(self, wheel: Path) -> None:
        self._pip("--no-index", str(wheel))

    def install_tests(self, source: Path) -> None:
        copy_tests(source, self.tests)
        self._pip("pip>=25.1")
        self._pip("--group", str(source / "pyproject.toml") + ":test")

    def file(self, path: Path) -> Path:
        return path

    def python(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        command = [str(self.folder / "venv" / "bin" / "python"), *arguments]
        return _run(command, cwd=self.tests, environment=_environment(os.environ["PATH"], home=str(Path.home())))

    def _pip(self, *arguments: str) -> None:
        _call([str(self.folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", *arguments])


class Root:
    """A root of Debian's packages that has Python and what it needs, no compiler."""

    pytest_options: Sequence[str] = ("-p", "no:cacheprovider", "-k", EMULATED_TESTS)

    def __init__(self, target: Target, work: Path) -> None:
        if os.geteuid() != 0:
            raise Unavailable("chroot needs root's rights")
        self.target = target
        self._name = f"/usr/bin/python{target.version}"
        self.emulator = emulator(target.platform.machine)
        self.folder = work / "roots" / f"{target.version}-{target.platform.machine}"
        suite = Suite(work / "debian", SUITES[target.version], target.platform.machine)
        if not (self.folder / "ready").exists():
            suite.root([f"python{target.version}", "libstdc++6"], self.folder)  # which NumPy needs, for the tests
            if self.emulator:
                shutil.copy(self.emulator, self.folder / "emulator")
                self._add_launcher()
            (self.folder / "ready").touch()
        self.site, self.tests = self.folder / "opt" / "site", self.folder / "opt" / "tests"
        self.seen = Path("/opt/tests")  # by programs in the root
        for folder in (self.site, self.tests):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)

    def install(self, wheel: Path) -> None:
        self._pip([self.target.platform.tag], "--no-index", "--no-deps", str(wheel))

    def install_tests(self, source: Path) -> None:
        copy_tests(source, self.tests)
        machine = self.target.platform.machine
        tags = [f"manylinux_2_{minor}_{machine}" for minor in range(28, 16, -1)]
        self._pip([*tags, f"manylinux2014_{machine}"], *TEST_PACKAGES)

    def file(self, path: Path) -> Path:
        shutil.copy(path, self.folder / "opt" / path.name)
        return Path("/opt") / path.name

    def python(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        command = ["unshare", "--mount", "sh", "-ec", ENTER, str(self.folder), self._name]
        environment = _environment("/usr/sbin:/usr/bin:/sbin:/bin", home="/tmp")
        environment["PYTHONPATH"] = "/opt/site:/opt/tests"
        return _run([*command, *arguments], cwd=self.folder, environment=environment)

    def _add_launcher(self) -> None:
        program = self.folder / self._name[1:]
        program.rename(program.with_name(f"{program.name}-emulated"))
        source = self.folder / "launcher.c"
        source.write_text(LAUNCHER)
        target = ["-target", f"{platform.machine()}-linux-musl", "-static", "-O2", f'-DNAME="{self._name}"']
        _call([str(zig()), "cc", *target, "-o", str(program), str(source)])

    def _pip(self, platforms: Sequence[str], *arguments: str) -> None:
        """Install for the other Python: pip chooses by the tags of wheels, and runs nothing of it."""
        abi = self.target.tag.split("-")[1]
        chosen = [word for tag in platforms for word in ("--platform", tag)]
        chosen += ["--implementation", "cp", "--python-version", self.target.version, "--abi", abi, "--abi", "abi3"]
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(self.site), "--only-binary=:all:"]
        _call([*command, *chosen, *arguments])


def copy_tests(source: Path, folder: Path) -> None:
    """All of the sdist but the package, which is installed."""
    for path in source.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
        elif path.name in ("tests", "benchmarks", "docs"):
            shutil.copytree(path, folder / path.name, dirs_exist_ok=True)


def _environment(path: str, *, home: str) -> dict[str, str]:
    """No setting of the caller's Python reaches the one that is tested."""
    return {"PATH": path, "HOME": home, "LANG": "C.UTF-8"}


def _run(command: Sequence[str], *, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


def _call(command: Sequence[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if result.returncode != 0:
        raise Unavailable(f"{' '.join(command[:4])}: {(result.stderr.strip().splitlines() or ['failed'])[-1]}")
