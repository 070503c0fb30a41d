"""Which range of a scan is opened next."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from cassandra._routing.tokens import FULL_RING
from cassandra._scan.pages import Range
from cassandra._scan.reading import AHEAD, Pending

HOMES, AT_ONCE = 12, 36


def ranges(count: int) -> list[Range]:
    return [Range(number, one) for number, one in enumerate(FULL_RING.split(count))]


@pytest.mark.parametrize("count", [HOMES * 20, AHEAD * 2])
def test_every_home_has_as_many_open_as_any_other(count: int) -> None:
    """However long each takes, as long as there are some of that home."""
    chance = random.Random(count)
    wanted = ranges(count)
    number_of = {one.number: position % HOMES for position, one in enumerate(wanted)}
    pending, running, seen = Pending(wanted, lambda one: number_of[one.number]), list[Range](), 0
    left = Counter(number_of.values())
    while pending:
        while pending and len(running) < AT_ONCE:
            one = pending.next()
            running.append(one)
            left[number_of[one.number]] -= 1
            seen += 1
        busy = Counter(number_of[one.number] for one in running)
        if min(left.values()) > 0:
            assert set(busy.values()) == {AT_ONCE // HOMES}
        pending.mark_ended(running.pop(chance.randrange(len(running))))
    assert seen == count and len(pending) == 0


def test_room_of_a_home_without_ranges_left_goes_to_other_homes() -> None:
    wanted = ranges(10)
    pending = Pending(wanted, lambda one: "few" if one.number == 3 else "many")
    first = {pending.next(), pending.next()}
    assert wanted[3] in first
    for one in first:
        pending.mark_ended(one)
    assert len({pending.next() for _ in range(8)} | first) == 10 and not pending


def test_an_order_is_kept_and_halves_are_next() -> None:
    wanted = ranges(3)
    pending = Pending(wanted, None)
    first = pending.next()
    halves = [Range(number, half) for number, half in enumerate(first.token_range.split(2), 3)]
    pending.mark_ended(first)
    pending.push(halves)
    assert len(pending) == 4 and [pending.next(), pending.next()] == halves
    assert [pending.next(), pending.next()] == wanted[1:]
    pending.push(halves)
    pending.clear()
    assert not pending
