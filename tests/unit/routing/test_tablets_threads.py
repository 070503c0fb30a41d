"""Readers beside a writer: what they find covers the token they asked for and is whole."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from uuid import UUID

import pytest

from cassandra.metadata import Murmur3Token
from cassandra.tablets import Tablet, Tablets

HOSTS = [UUID(int=number + 1) for number in range(16)]
SPAN = 1 << 12
READERS, LOOKUPS, ROUNDS, PATIENCE = 2, 20_000, 500, 300


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    """Threads take turns as often as they can, so that every gap is found."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def make(first: int, last: int) -> Tablet:
    """All of it follows from the range."""
    replicas = [(HOSTS[(first // 16 + i) % 16], (first * 7 + last + i) % 1000) for i in range(3)]
    return Tablet(first, last, replicas, first * 31 + last)


class Countdown:
    """Tells when as many functions as it was made for have ended, however they ended."""

    def __init__(self, count: int) -> None:
        self._left = [True] * count

    @property
    def all(self) -> bool:
        return not self._left

    def after(self, function: Callable[[int], None], argument: int) -> Callable[[], None]:
        def run() -> None:
            try:
                function(argument)
            finally:
                self._left.pop()

        return run


def in_threads(*functions: Callable[[], None]) -> None:
    errors: list[BaseException] = []

    def run(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_readers_beside_a_writer() -> None:
    tablets = Tablets({("ks", "t"): [make(first, first + 16) for first in range(0, SPAN, 16)]})
    through = Countdown(READERS)

    def write() -> None:
        generator, turn = random.Random(1), 0
        while not through.all:
            turn += 1
            width = 16 << generator.randrange(4)
            first = generator.randrange(SPAN // width) * width
            if turn % 3:  # split
                tablets.add_tablet("ks", "t", make(first, first + width // 2))
                tablets.add_tablet("ks", "t", make(first + width // 2, first + width))
            else:  # merge
                tablets.add_tablet("ks", "t", make(first, first + width))
            if turn % 100 == 99:
                tablets.drop_tablets_by_host_id(HOSTS[generator.randrange(16)])
                tablets.add_tablet("ks", "other", make(0, 16))
            if turn % 250 == 249:
                tablets.drop_tablets("ks", "other")
                tablets.replace_tablets("ks", "t", [make(at, at + 32) for at in range(0, SPAN, 32)])

    def read(seed: int) -> None:
        generator, found = random.Random(seed), 0
        handle = tablets.table("ks", "t")
        for _ in range(LOOKUPS):
            token = generator.randrange(1, SPAN + 1)
            for tablet in (tablets.get_tablet_for_key("ks", "t", Murmur3Token(token)), handle.find(token)):
                if tablet is not None:
                    assert tablet.first_token < token <= tablet.last_token
                    assert tablet == make(tablet.first_token, tablet.last_token)
                    found += 1
            assert tablets.get_tablet_for_key("ks", "t", SPAN + 1) is None
        assert found > LOOKUPS // 2

    def look() -> None:
        while not through.all:
            known = tablets._tablets[("ks", "t")]
            assert all(one.last_token <= next_one.first_token for one, next_one in pairwise(known))
            assert all(tablet == make(tablet.first_token, tablet.last_token) for tablet in known)

    in_threads(write, look, *(through.after(read, seed) for seed in range(READERS)))


def test_hosts_are_named_once() -> None:
    """Threads that see new hosts at the same time agree on their numbers."""
    tablets = Tablets({})
    names = [UUID(int=1000 + number) if number % 2 else f"host {number}" for number in range(300)]
    start = threading.Barrier(4)

    def add(thread: int) -> None:
        start.wait(PATIENCE)
        for number, name in enumerate(names):
            tablets.add_tablet("ks", f"t{thread}", Tablet(number, number + 1, [(name, number)]))

    in_threads(*(Countdown(4).after(add, thread) for thread in range(4)))
    assert len({tablets.host_number(name) for name in names}) == len(names)
    for thread in range(4):
        found = [tablets.get_tablet_for_key("ks", f"t{thread}", number + 1) for number in range(300)]
        assert [tablet and tablet.replicas for tablet in found] == [((n, i),) for i, n in enumerate(names)]


def test_tables_come_and_go_under_readers() -> None:
    tablets = Tablets({("ks", "stays"): [make(0, 16)]})
    through = Countdown(READERS)

    def write() -> None:
        turn = 0
        while not through.all:
            turn += 1
            for number in range(8):
                tablets.add_tablet(f"ks{number % 2}", f"t{number}", make(number, number + 8))
            tablets.drop_tablets(f"ks{turn % 2}")
            tablets.drop_tablets("ks1", "t3")

    def read(_: int) -> None:
        for _ in range(ROUNDS):
            assert tablets.get_tablet_for_key("ks", "stays", 5) == make(0, 16)
            for number in range(8):
                names = f"ks{number % 2}", f"t{number}"
                assert tablets.get_tablet_for_key(*names, number + 1) in (None, make(number, number + 8))
                assert tablets.table(*names).find(number + 1) in (None, make(number, number + 8))

    in_threads(write, *(through.after(read, seed) for seed in range(READERS)))
