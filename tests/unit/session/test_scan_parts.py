"""Parts of a scan alone: what outcomes mean, and how many pages a host gets."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import InvalidRequest, OperationTimedOut, ReadFailure, ReadTimeout, Unauthorized, Unavailable
from cassandra._session.scan.asking import Window
from cassandra._session.scan.verdicts import LONGEST_DELAY, ODD_ATTEMPTS, delay_before, verdict_of
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionBusy, ConnectionException
from cassandra.protocol import ErrorMessage, OverloadedErrorMessage, ProtocolException, ServerError

AGAIN, CONGESTED, REFUSED = (True, False, False), (True, True, False), (False, False, True)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (OverloadedErrorMessage(0x1001, "no", None), CONGESTED),
        (OperationTimedOut(), CONGESTED),
        (ReadTimeout("no"), CONGESTED),
        (Unavailable("no"), AGAIN),
        (ConnectionException("no"), AGAIN),
        (ConnectionBusy("no"), AGAIN),
        (NoHostAvailable("no", {}), AGAIN),
        (ServerError(0, "no", None), AGAIN),
        (ReadFailure("no"), AGAIN),
        (ProtocolException(10, "no", None), REFUSED),
        (InvalidRequest("no"), REFUSED),
        (Unauthorized("no"), (False, False, False)),
        (ValueError("no"), (False, False, False)),
        (ErrorMessage(0x9999, "of another server", None), (False, False, False)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_an_outcome_means(outcome: Any, expected: tuple[bool, bool, bool]) -> None:
    assert verdict_of(outcome, 1)[1:] == expected


def test_what_is_odd_is_not_tried_for_ever() -> None:
    assert verdict_of(ReadFailure("no"), ODD_ATTEMPTS - 1).again
    assert not verdict_of(ReadFailure("no"), ODD_ATTEMPTS).again
    assert verdict_of(ReadTimeout("no"), 100).again


def test_delays_grow_and_have_an_end() -> None:
    assert delay_before(1) < 0.021
    assert all(LONGEST_DELAY / 2 <= delay_before(attempts) <= LONGEST_DELAY for attempts in (9, 60, 10_000))


def test_a_window_is_halved_once_for_what_was_sent_together_and_grows_again() -> None:
    window = Window(16)
    assert window.has_room and window.size == 16
    for _ in range(10):
        window.congested(0.0)
    assert window.size == 8  # what was sent before the cut says nothing new
    window.congested(window.cut_at + 1)
    assert window.size == 4
    for _ in range(5):
        window.answered()
    assert 5 <= window.size < 6
    for _ in range(1000):
        window.answered()
    assert window.size == 16
    window.in_flight = 16
    assert not window.has_room
    for turn in range(1, 10):
        window.congested(window.cut_at + turn)
    assert window.size == 1
