"""What clients report: one line of JSON per call. Read and written by both sides, so there is no driver in here."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

READ, INSERT, APPEND, DDL, SCAN = "read", "insert", "append", "ddl", "scan"
WRONG = "WrongSum"  # what a scan has for an error that has ended with another sum
IDEMPOTENT = (READ, INSERT)
PATIENCE = 10.0  # seconds for what is on its way out
LATE = 0.5  # seconds: a call that ends later than its timeout and this hung
NEVER = -1.0


class Call(NamedTuple):
    """Times are of the monotonic clock, which all processes of a machine share."""

    worker: str
    op: str
    number: int
    begin: float
    end: float  # NEVER: it did not end
    error: str  # class; nothing: it succeeded
    node: int  # that answered, from 0; -1: unknown
    limit: float  # seconds after which it may not last

    @property
    def hung(self) -> bool:
        return self.end == NEVER or self.end - self.begin > self.limit + LATE


class Child(NamedTuple):
    """What a forked process did."""

    executed: int
    errors: list[str]
    seconds: float


class Report(NamedTuple):
    """All that a client has to say when it ends."""

    driver: str
    calls: list[Call]
    logged: list[str]
    left: list[str]
    shutdown: float  # seconds that the longest took
    children: list[Child]


def save(path: str, report: Report) -> None:
    head = report._replace(calls=[])._asdict()
    lines = [json.dumps(head), *(json.dumps(call) for call in report.calls)]
    Path(path).write_text("\n".join(lines))


def load(path: Path) -> Report:
    head, *lines = path.read_text().splitlines()
    found = Report(**json.loads(head))
    children = [Child(*child) for child in found.children]
    return found._replace(calls=[Call(*json.loads(line)) for line in lines], children=children)


class Logged(logging.Handler):
    """Keeps what is logged from WARNING on. Attached to the root logger."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {record.name}: {record.msg}")


class Held:
    """The threads and the sockets that a process has when this is made."""

    def __init__(self) -> None:
        self._threads = set(threading.enumerate())
        self._sockets = set(_sockets())

    def left(self, but: Iterable[threading.Thread] = ()) -> list[str]:
        """What is there in addition, and does not go."""
        known = self._threads.union(but)
        deadline = time.monotonic() + PATIENCE
        while True:
            found = [f"thread {thread.name}" for thread in threading.enumerate() if thread not in known]
            found += [f"connection {name}" for name in _sockets() if name not in self._sockets]
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.05)


def _sockets() -> list[str]:
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except OSError:  # the one that reads this folder
            continue
        if target.startswith("socket:"):
            found.append(target)
    return found
