"""Runs workers, begins again after hangs, and adds up what they say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.signals.async_calls import ASYNC_CALLS
from tests.signals.worker import ALL_CALLS, HANGS, Work

MODES = ("raise", "except", "execute", "both")
ASYNC_MODES = ("raise", "cancel", "except", "execute")
LOOPS = ("asyncio", "uvloop")
ROOT = Path(__file__).resolve().parents[2]
COSTLY = 5
CRASHES = 4  # of one work; then it is given up


@dataclass
class Fault:
    """What was wrong after an interrupt."""

    work: Work
    number: int
    text: str
    where: str
    detail: str = ""

    @property
    def kind(self) -> str:
        """The same of faults with one cause, mostly: digits aside."""
        return "".join("#" if letter.isdigit() else letter for letter in self.text.splitlines()[0])[:200]


@dataclass
class Result:
    work: Work
    interrupts: int = 0
    faults: list[Fault] = field(default_factory=list)


def run(work: Work) -> Result:
    """Do *work* to its end, in as many processes as it takes."""
    result = Result(work)
    for crash in range(CRASHES):
        with tempfile.TemporaryDirectory(prefix="signals-") as folder:
            part = replace(work, folder=folder, limit=work.limit - result.interrupts)
            at = _run_process(part, result)
        if at is None or result.interrupts >= work.limit:
            break
        work = replace(work, first=at + (1 << crash))  # moments near by often have the same fault
    return result


def _run_process(work: Work, result: Result) -> int | None:
    """None if it came to its end, otherwise the number of the interrupt after which it hung or crashed."""
    command = [sys.executable, "-m", "tests.signals.worker", json.dumps(asdict(work))]
    # The check of locks is Python code of its own, in which handlers that raise would find faults of the check.
    environment = {**os.environ, "FASTCQL_CHECK_LOCKS": "1" if work.mode == "execute" else "0"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    )
    try:
        out, errors = process.communicate()
    finally:
        process.kill()
    is_done = False
    for line in out.splitlines():
        said: dict[str, Any] = json.loads(line)
        if "done" in said:
            is_done = True
            result.interrupts += said["done"]
        else:
            result.faults.append(Fault(work, said["number"], said["fault"], said["where"], said["detail"]))
    if is_done:
        return None
    folder = Path(work.folder)
    dump = (folder / "dump").read_text() if (folder / "dump").exists() else ""
    number, where, interrupts = work.first, "before the first interrupt", 0
    if (folder / "at").exists():
        number, where, interrupts = json.loads((folder / "at").read_text())
    result.interrupts += interrupts
    crashed = f"ends with {process.returncode}: {errors[-600:]}"
    text = f"hangs for {HANGS:.0f} s" if dump.startswith("Timeout") else crashed
    result.faults.append(Fault(work, number, text, where, dump[:4000]))
    return number if interrupts else None


def works(names: list[str], kinds: list[str], moments: str, limit: int, seed: int, modes: list[str]) -> Iterator[Work]:
    """*limit* is of each; costly calls get fewer interrupts."""
    for name in names:
        most = limit // COSTLY if ALL_CALLS[name].costly else limit
        loops: tuple[str | None, ...] = LOOPS if name in ASYNC_CALLS else (None,)
        for mode in ASYNC_MODES if name in ASYNC_CALLS else MODES:
            for loop in loops if not modes or mode in modes else ():
                for kind in kinds:
                    yield Work(name, mode, kind, loop, moments, 0, most, seed, "")


def run_all(all_works: list[Work], at_once: int = 2) -> Iterator[Result]:
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(run, all_works)


def table(results: list[Result]) -> str:
    """Calls, interrupts and failures, in text."""
    interrupts: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for result in results:
        interrupts[result.work.call] += result.interrupts
        failures[result.work.call] += len(result.faults)
    lines = [f"{'call':<30}{'interrupts':>12}{'failures':>10}"]
    lines += [f"{name:<30}{interrupts[name]:>12,}{failures[name]:>10,}" for name in ALL_CALLS if name in interrupts]
    lines.append(f"{'all':<30}{interrupts.total():>12,}{failures.total():>10,}")
    return "\n".join(lines)


def faults_text(results: list[Result]) -> str:
    """One example of each kind of fault, with how often it came."""
    faults = [fault for result in results for fault in result.faults]
    often = Counter((fault.work.call, fault.kind) for fault in faults)
    told: set[tuple[str, str]] = set()
    lines: list[str] = []
    for fault in faults:
        key = fault.work.call, fault.kind
        if key not in told:
            told.add(key)
            work = fault.work
            lines.append(f"{often[key]} x {work.call}, {work.mode}, {work.kind}, {work.loop or 'threads'}, "
                         f"{work.moments} {fault.number}: {fault.text}\n    at {fault.where}")  # fmt: skip
            lines += [f"    | {line}" for line in fault.detail.splitlines()[-40:]]
    return "\n".join(lines)
