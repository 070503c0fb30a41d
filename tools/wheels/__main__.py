"""Builds the wheels into ``dist/``, checks them, and runs those that can run here.

``python -m tools.wheels [PATTERN ...]``: all wheels, or those that a pattern names, such as cp311-manylinux_x86_64,
cp314t, musllinux_aarch64 or cp31*.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tools.wheels import build, checks, running
from tools.wheels.debian import Unavailable
from tools.wheels.headers import headers
from tools.wheels.native import run_native_tests
from tools.wheels.targets import Platform, Target, select


@dataclass
class Line:
    """Of the table that is printed."""

    target: Target
    size: int = 0
    built_in: float = 0.0
    ran: str = ""
    ran_in: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        size = f"{self.size / 1e6:.2f} MB" if self.size else "-"
        return f"{self.target!s:28}{size:>9}{self.built_in:>7.0f} s{self.ran_in:>7.0f} s  {self.ran}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.wheels", description="Build and check the wheels.")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="wheels to build; without any, all")
    parser.add_argument("--dist", type=Path, default=Path("dist"), help="where the wheels go")
    parser.add_argument("--work", type=Path, default=Path("build/wheels"), help="for all else; kept for the next run")
    parser.add_argument("--twice", action="store_true", help="build the first wheel again from nothing, and compare")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilations at a time")
    parser.add_argument("--suite", action="store_true", help="run the unit tests with each wheel that can run here")
    parser.add_argument("--no-run", action="store_true", help="build and check only")
    options = parser.parse_args()
    try:
        targets = select(options.patterns)
    except ValueError as error:
        parser.error(str(error))

    work, dist = options.work.resolve(), options.dist.resolve()
    work.mkdir(parents=True, exist_ok=True)
    epoch = build.commit_time()
    sdist = build.make_sdist(work, dist, epoch)
    print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB", flush=True)
    source = build.unpack_sdist(sdist, work)

    lines = []
    with ThreadPoolExecutor(2) as runner:  # tests run while wheels are built: those under QEMU use one core for long
        native = [] if options.no_run else native_tests(runner, targets, source, work)
        tested = []
        for target in targets:
            line = Line(target)
            lines.append(line)
            try:
                wheel = one(line, source, work, dist, epoch, options.jobs)
                if options.twice:
                    options.twice = False
                    line.problems += differences(wheel, target, sdist, work, epoch, options.jobs)
            except Unavailable as error:
                line.ran = "not built"
                line.problems.append(str(error))
            if line.ran or options.no_run:
                show(line)
            else:
                tested.append(runner.submit(test, line, wheel, source, work, options.suite))
    for future in tested:
        future.result()
    failed = [problem for future in native for problem in future.result()]
    print(f"\n{'wheel':28}{'size':>9}{'built in':>9}{'ran in':>9}  ran")
    for line in lines:
        print(line)
    wrong = sum(bool(line.problems) for line in lines)
    print(f"{len(lines) - wrong} wheels are right, {wrong} are not")
    return 1 if wrong or failed else 0


def test(line: Line, wheel: Path, source: Path, work: Path, whole: bool) -> None:
    began = time.monotonic()
    line.ran, failed = running.run(wheel, line.target, source, work, whole=whole)
    line.problems += failed
    line.ran_in = time.monotonic() - began
    show(line)


def show(line: Line) -> None:
    print("\n    ".join([str(line), *line.problems]), flush=True)


def native_tests(
    runner: ThreadPoolExecutor, targets: list[Target], source: Path, work: Path
) -> list[Future[list[str]]]:
    """Run the C++ tests for each platform of *targets* that no Python can be had for; return what failed."""
    platforms = dict.fromkeys(target.platform for target in targets if target.platform.is_musl)
    return [runner.submit(native_tests_of, platform, source, work) for platform in platforms]


def native_tests_of(platform: Platform, source: Path, work: Path) -> list[str]:
    began = time.monotonic()
    failed = []
    try:
        result = run_native_tests(platform, source, work)
    except Unavailable as error:
        result = str(error)
        failed.append(result)
    print(f"{platform.zig}, C++ tests as static programs: {result} ({time.monotonic() - began:.0f} s)", flush=True)
    return failed


def one(line: Line, source: Path, work: Path, dist: Path, epoch: int, jobs: int) -> Path:
    began = time.monotonic()
    include = headers(line.target, work / "headers", work / "debian")
    wheel = build.make_wheel(line.target, source, include, work, dist, epoch, jobs)
    line.built_in = time.monotonic() - began
    line.size = wheel.stat().st_size
    line.problems += checks.problems(wheel, line.target)
    return wheel


def differences(wheel: Path, target: Target, sdist: Path, work: Path, epoch: int, jobs: int) -> list[str]:
    """Build *wheel* again, in other folders and without what the first build left but Zig's own libraries."""
    other = work / "again"
    shutil.rmtree(other, ignore_errors=True)
    other.mkdir()
    (other / "zig").symlink_to(work / "zig")
    source = build.unpack_sdist(sdist, other)
    dist = other / "dist"
    dist.mkdir()
    include = headers(target, work / "headers", work / "debian")
    again = build.make_wheel(target, source, include, other, dist, epoch, jobs)
    same = again.read_bytes() == wheel.read_bytes()
    return [] if same else [f"a second build differs: {again}"]


if __name__ == "__main__":
    sys.exit(main())
