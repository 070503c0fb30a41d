"""How each request ended, by its number, and whether all of that can be.

A request is known by the number that is bound: odd ones are writes, which must not be executed twice; even ones are
reads that may be sent again. Answers and server errors repeat the number, so a caller that gets another
request's answer is detected.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from cassandra import DriverException
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionBusy, ConnectionException
from cassandra.pool import NoConnectionsAvailable
from cassandra.protocol import ErrorMessage

#: The errors that a request may end with while nodes misbehave.
EXPECTED = (DriverException, ConnectionException, ConnectionBusy, NoHostAvailable, NoConnectionsAvailable, ErrorMessage)
WHOSE = re.compile(r"(?:error of|unprepared) (\d+)")
BLOCK = 64  # numbers that are handed out at a time
SHOWN = 20

UNUSED, PENDING, ANSWERED, FAILED, NOT_EXECUTED, GIVEN_UP = range(6)
ENDINGS = ("", "pending", "answered", "failed", "failed before they were executed", "given up")


def is_write(number: int) -> bool:
    return number % 2 == 1


class Ledger:
    """Of numbers below *size*. All methods are for any thread."""

    def __init__(self, size: int) -> None:
        self._state = bytearray(size)
        for page in range(0, size, 4096):  # in memory from the beginning: resident memory is watched
            self._state[page] = 1
            self._state[page] = 0
        self._lock = threading.Lock()
        self._next = 0
        self._stopped = False
        self.errors: Counter[str] = Counter()
        self.violations: list[str] = []

    # ---- calls of the load

    def stop(self) -> None:
        """Hand out no more numbers."""
        self._stopped = True

    def numbers(self) -> Iterator[int]:
        """New ones, until there are no more."""
        while True:
            with self._lock:
                first = self._next
                if self._stopped or first + BLOCK > len(self._state) or self.violations:
                    return
                self._next = first + BLOCK
            yield from range(first, first + BLOCK)

    def begin(self, number: int) -> int:
        """*number* is about to be sent."""
        self._state[number] = PENDING
        return number

    def answered(self, number: int, rows: Any) -> None:
        """It got *rows*."""
        rows = list(rows)
        if len(rows) != 1 or rows[0].id != number:
            self.violation(f"{number} got another's answer: {rows}")
        elif is_write(number) and not rows[0].applied:
            self.violation(f"{number} was not applied: {rows}")
        self._end(number, ANSWERED)

    def failed(self, number: int, error: BaseException) -> None:
        """It ended with *error*."""
        if not isinstance(error, EXPECTED):
            self.violation(f"{number} ended with {error!r}")
        for other in _numbers_in(error):
            if other != number:
                self.violation(f"{number} got the error of {other}: {error!r}")
        with self._lock:
            self.errors[type(error).__name__] += 1
        self._end(number, NOT_EXECUTED if getattr(error, "maybe_executed", None) is False else FAILED)

    def given_up(self, number: int) -> None:
        """No caller waits for the request any more."""
        self._end(number, GIVEN_UP)

    def violation(self, what: str) -> None:
        with self._lock:
            self.violations.append(what)

    def _end(self, number: int, how: int) -> None:
        with self._lock:
            before, self._state[number] = self._state[number], how
        if before != PENDING:
            self.violation(f"{number} ended twice: {ENDINGS[before] or 'before it began'}, then {ENDINGS[how]}")

    # ---- results

    @property
    def handed_out(self) -> int:
        return self._next

    def endings(self) -> Counter[str]:
        """How many requests ended how."""
        given, states = self._next, range(1, len(ENDINGS))  # counted in place: copies would count as growth
        return Counter({ENDINGS[state]: n for state in states if (n := self._state.count(state, 0, given))})

    def judge(self, executions: bytes) -> list[str]:
        """All that cannot be, now that every request ended and the nodes say how often they executed each."""
        wrong = list(self.violations)
        for number, (state, count) in enumerate(zip(self._state, executions, strict=True)):
            what = _impossible(state, count, is_write(number))
            if what:
                wrong.append(f"{number} ({'write' if is_write(number) else 'read'}): {what}")
        return wrong


def _impossible(state: int, count: int, write: bool) -> str:
    """The violation by a request that ended like this and was executed *count* times; empty if there is none."""
    if state == PENDING:
        return f"never ended; executed {count} times"
    if write and count > 1:
        return f"executed {count} times; it {ENDINGS[state]}"
    if state == ANSWERED and count == 0:
        return "answered, but never executed"
    if state in (UNUSED, NOT_EXECUTED) and count:
        return f"executed {count} times, though it was {'not sent' if state == UNUSED else 'said not to have been'}"
    return ""


def _numbers_in(error: BaseException | None) -> Iterator[int]:
    """The numbers of the requests in the texts of *error* and its causes."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield from map(int, WHOSE.findall(str(error)))
        error = error.__cause__
