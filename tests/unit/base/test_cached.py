"""Attributes that are worked out when they are asked for first."""

from __future__ import annotations

import threading

from cassandra._base.delegation import cached_property
from tests.patience import PATIENCE


class Value:
    """What *wait* does is done while the attribute is worked out."""

    def __init__(self, wait: threading.Event | None = None) -> None:
        self.calls = 0
        self.begun = threading.Event()
        self._wait = wait

    @cached_property
    def worked_out(self) -> list[int]:
        """Once."""
        self.calls += 1
        self.begun.set()
        if self._wait is not None:
            assert self._wait.wait(PATIENCE)
        return [self.calls]


def test_once() -> None:
    one = Value()
    assert one.worked_out is one.worked_out
    assert one.calls == 1
    assert Value.worked_out.__doc__ == "Once."


def test_no_thread_waits_for_another_one() -> None:
    """``functools.cached_property`` has a lock for all objects before Python 3.12."""
    go_on = threading.Event()
    slow, quick = Value(go_on), Value()
    thread = threading.Thread(target=lambda: slow.worked_out)
    thread.start()
    assert slow.begun.wait(PATIENCE)
    other = threading.Thread(target=lambda: quick.worked_out, daemon=True)
    other.start()
    other.join(5.0)
    was_held_up = other.is_alive()
    go_on.set()
    thread.join()
    assert not was_held_up
    assert slow.worked_out == [1]


def test_the_first_one_that_ends_decides_for_all() -> None:
    go_on = threading.Event()
    one = Value(go_on)
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.append(one.worked_out)) for _ in range(4)]
    for thread in threads:
        thread.start()
    go_on.set()
    for thread in threads:
        thread.join()
    assert all(value is found[0] for value in found)
