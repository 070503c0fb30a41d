"""Tablets that are read while payloads of responses replace them."""

from __future__ import annotations

import random
from collections.abc import Callable
from uuid import UUID

from cassandra.cluster import Session
from cassandra.metadata import Murmur3Token
from cassandra.tablets import Tablet, Tablets
from cassandra.testing import SimulatedCluster
from tests.threads.conftest import ROWS
from tests.threads.harness import THREADS, beside, size, together

READS = size("FASTCQL_READS", 240_000)
TURNS = size("FASTCQL_TURNS", 20)
HOSTS = [UUID(int=number + 1) for number in range(16)]
SPAN = 1 << 13


def made(first: int, last: int) -> Tablet:
    """All of it follows from the range."""
    replicas = [(HOSTS[(first // 16 + number) % 16], (first * 7 + last + number) % 500) for number in range(3)]
    return Tablet(first, last, replicas, first * 31 + last)


def test_reads_beside_updates() -> None:
    """Each tablet that is found covers its token, and is whole."""
    tablets = Tablets({("ks", "t"): [made(first, first + 16) for first in range(0, SPAN, 16)]})
    chance = random.Random(1)

    def change() -> None:
        width = 16 << chance.randrange(5)
        first = chance.randrange(SPAN // width) * width
        step = chance.randrange(1000)
        if step < 500:
            tablets.add_tablet("ks", "t", made(first, first + width // 2))
            tablets.add_tablet("ks", "t", made(first + width // 2, first + width))
        elif step < 990:
            tablets.add_tablet("ks", "t", made(first, first + width))
        elif step < 995:
            tablets.drop_tablets_by_host_id(chance.choice(HOSTS))
        elif step < 998:
            tablets.drop_tablets("ks", "t")
        else:
            tablets.replace_tablets("ks", "t", [made(at, at + 32) for at in range(0, SPAN, 32)])

    def work(number: int) -> int:
        tokens, found = random.Random(number), 0
        by_name: Callable[[int], Tablet | None] = lambda token: tablets.get_tablet_for_key(  # noqa: E731
            "ks", "t", Murmur3Token(token)
        )
        finders = (by_name, tablets.table("ks", "t").find)
        for turn in range(READS // THREADS):
            token = tokens.randrange(1, SPAN + 1)
            tablet = finders[turn % 2](token)
            if tablet is not None:
                found += 1
                first, last = tablet.first_token, tablet.last_token
                assert first < token <= last and tablet == made(first, last)
        return found

    with beside(change, change):
        assert all(together(work))


def test_requests_while_tablets_move(simulated: SimulatedCluster, table: Session) -> None:
    """Tablets move, split and merge; each request has its own row, and once they stay, all go to their owners."""
    select = table.prepare("SELECT v FROM t WHERE id = ?")
    chance = random.Random(2)

    def change() -> None:
        step = chance.randrange(10)
        if step == 0:
            simulated.split_tablets("ks.t")
        elif step == 1 and len(simulated.tablets("ks.t")) > 8:
            simulated.merge_tablets("ks.t")
        else:
            tablet = chance.choice(simulated.tablets("ks.t"))
            held = [node.index for node in simulated.nodes if node.host_id in dict(tablet.replicas)]
            free = next(node.index for node in simulated.nodes if node.index not in held)
            simulated.migrate_tablet("ks.t", tablet.last_token, chance.choice(held), free, chance.randrange(4))

    def work(number: int) -> None:
        for turn in range(2 * TURNS):
            key = (number * 2 * TURNS + turn * 7) % ROWS
            assert table.execute(select, (key,)).one().v == key * 7

    with beside(change):
        together(work)
    for _ in range(5):
        for key in range(ROWS):
            table.execute(select, (key,))
        simulated.clear_requests()
        for key in range(ROWS):
            assert table.execute(select, (key,)).one().v == key * 7
        if simulated.routing("ks.t").share == 1.0:
            break
    assert simulated.routing("ks.t").share == 1.0
