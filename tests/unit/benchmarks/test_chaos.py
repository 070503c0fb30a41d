"""The chaos soak detects violations. (The soak itself is ``make soak``: it takes minutes.)"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.chaos.ledger import BLOCK, Ledger
from benchmarks.chaos.left import Left
from cassandra import OperationTimedOut
from cassandra.connection import ConnectionException

Row = namedtuple("Row", ("applied", "id"))
SIZE = 2 * BLOCK


def row(number: int) -> list[Any]:
    return [Row(True, number)]


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    ledger = Ledger(SIZE)
    taken = ledger.numbers()
    for _ in range(10):
        ledger.begin(next(taken))
    yield ledger


def executed(**counts: int) -> bytes:
    found = bytearray(SIZE)
    for number, count in counts.items():
        found[int(number[1:])] = count
    return bytes(found)


def judged(ledger: Ledger, **counts: int) -> list[str]:
    """The violations, except those for the other requests of the fixture, which never ended."""
    return [what for what in ledger.judge(executed(**counts)) if "never ended; executed 0" not in what]


def test_a_right_end_is_no_fault(ledger: Ledger) -> None:
    ledger.answered(2, row(2))
    ledger.answered(3, row(3))
    ledger.failed(4, ConnectionException("lost"))
    ledger.failed(5, OperationTimedOut())
    ledger.given_up(7)
    assert judged(ledger, n2=2, n3=1, n4=3, n5=1, n7=0) == []
    assert ledger.endings() == {"answered": 2, "failed": 2, "given up": 1, "pending": 5}
    assert ledger.errors == {"ConnectionException": 1, "OperationTimedOut": 1}


def test_anothers_answer_is_found(ledger: Ledger) -> None:
    ledger.answered(2, row(4))
    assert "another's answer" in judged(ledger, n2=1)[0]


@pytest.mark.parametrize("rows", [[], [Row(True, 3), Row(True, 3)]], ids=["none", "two"])
def test_anything_but_one_row_is_found(ledger: Ledger, rows: list[Any]) -> None:
    ledger.answered(3, rows)
    assert "another's answer" in judged(ledger, n3=1)[0]


def test_error_of_another_request_is_found_in_the_cause(ledger: Ledger) -> None:
    error = ConnectionException("no host")
    error.__cause__ = ConnectionException("error of 12")
    ledger.failed(2, error)
    assert "the error of 12" in judged(ledger)[0]


def test_two_ends_are_found(ledger: Ledger) -> None:
    ledger.answered(2, row(2))
    ledger.failed(2, ConnectionException("lost"))
    assert judged(ledger, n2=1) == ["2 ended twice: answered, then failed"]


def test_an_unexpected_error_is_found(ledger: Ledger) -> None:
    ledger.failed(2, ValueError("broken"))
    assert "ValueError" in judged(ledger)[0]


def test_no_end_is_found(ledger: Ledger) -> None:
    assert len(ledger.judge(executed(n3=1))) == 10


def test_a_write_that_was_executed_twice_is_found(ledger: Ledger) -> None:
    ledger.answered(3, row(3))
    ledger.failed(5, OperationTimedOut())
    ledger.given_up(7)
    assert len(judged(ledger, n3=2, n5=2, n7=2)) == 3


def test_an_answer_without_an_execution_is_found(ledger: Ledger) -> None:
    ledger.answered(2, row(2))
    assert "never executed" in judged(ledger)[0]


def test_an_execution_that_was_denied_is_found(ledger: Ledger) -> None:
    error = ConnectionException("lost")
    error.maybe_executed = False
    ledger.failed(2, error)
    assert "said not to have been" in judged(ledger, n2=1)[0]
    assert judged(ledger) == []


def test_execution_without_a_request_is_found(ledger: Ledger) -> None:
    assert "not sent" in judged(ledger, n100=1)[0]


def test_numbers_end_when_they_are_used_up_or_something_is_wrong(ledger: Ledger) -> None:
    assert len(list(ledger.numbers())) == BLOCK and ledger.handed_out == SIZE
    other = Ledger(SIZE)
    taken = other.numbers()
    assert next(taken) == 0
    other.violation("a fault")
    assert len(list(taken)) == BLOCK - 1
    other = Ledger(SIZE)
    other.stop()
    assert list(other.numbers()) == []


def test_leaked_descriptors_and_native_objects_are_found() -> None:
    before = Left(frozenset(), frozenset({"1 pipe"}), {"channels": 1, "timers": 1})
    after = Left(frozenset(), frozenset({"1 pipe", "2 socket"}), {"channels": 3, "timers": 0})
    assert after.since(before) == ["descriptor of 2 socket", "3 native channels, not 1"]
    assert before.since(before) == []
