"""Readers beside a writer find no wrong tablet: ``python -m benchmarks.soak_tablets [seconds]``, or ``make soak``.

A writer splits, merges, replaces and drops the tablets of a table as fast as it can, while two readers look tokens up:
by the public map, by a handle of the table, and by a native route plan. All of a tablet follows from its range, so each
one that is found can be checked: that it covers the token, and that nothing of it is another's. Prints how often each
was looked up, how many were wrong and whether memory stayed; the exit code says whether all was right.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from benchmarks.report import Line, show
from cassandra._routing.policies.router import PickingRouter, router_for
from cassandra.metadata import Metadata, Murmur3Token
from cassandra.policies import RoundRobinPolicy, SimpleConvictionPolicy, TokenAwarePolicy
from cassandra.pool import Host
from cassandra.tablets import Tablet, Tablets

SECONDS = 60.0
READERS = 2
SPAN, HOSTS = 1 << 14, 16
KEY = ("ks", "t")
FLAT = 1 << 20  # bytes that the map may hold more than at the beginning
PARTITIONER = "Murmur3Partitioner"


class Scene:
    """The map, and how it is read and changed."""

    def __init__(self, seed: int = 1) -> None:
        self.ids = [UUID(int=number + 1) for number in range(HOSTS)]
        self.looked, self.wrong = Counter[str](), Counter[str]()
        self.changes = 0
        self.over = threading.Event()
        self.seed = seed
        metadata, hosts = Metadata(), []
        for number, host_id in enumerate(self.ids):
            host = Host(f"10.0.0.{number + 1}", SimpleConvictionPolicy, host_id=host_id)
            host.set_up()
            hosts.append(metadata.add_or_return_host(host)[0])
        metadata.rebuild_token_map(PARTITIONER, {hosts[0]: ["0"]})
        policy = TokenAwarePolicy(RoundRobinPolicy())
        policy.populate(SimpleNamespace(metadata=metadata), hosts)
        router = router_for(policy)
        assert isinstance(router, PickingRouter)
        self.tablets: Tablets = metadata._tablets
        self.plan = router.plan(metadata.state, *KEY, False)
        self.tablets.replace_tablets(*KEY, [self.made(first, first + 16) for first in range(0, SPAN, 16)])

    def made(self, first: int, last: int) -> Tablet:
        """All of it follows from the range."""
        replicas = [
            (self.ids[(first // 16 + number) % HOSTS], (first * 7 + last + number) % 500) for number in range(3)
        ]
        return Tablet(first, last, replicas, first * 31 + last)

    def write(self) -> None:
        chance, tablets = random.Random(self.seed), self.tablets
        while not self.over.is_set():
            self.changes += 1
            width = 16 << chance.randrange(5)
            first = chance.randrange(SPAN // width) * width
            middle = first + width // 2
            step = chance.randrange(1000)
            if step < 500:
                tablets.add_tablet(*KEY, self.made(first, middle))
                tablets.add_tablet(*KEY, self.made(middle, first + width))
            elif step < 990:
                tablets.add_tablet(*KEY, self.made(first, first + width))
            elif step < 996:
                tablets.drop_tablets_by_host_id(chance.choice(self.ids))
            elif step < 998:
                tablets.drop_tablets(*KEY)
            else:
                tablets.replace_tablets(*KEY, [self.made(at, at + 32) for at in range(0, SPAN, 32)])

    def read(self, seed: int) -> None:
        chance, handle = random.Random(seed), self.tablets.table(*KEY)
        finders: dict[str, Callable[[int], Tablet | None]] = {
            "by the map": lambda token: self.tablets.get_tablet_for_key(*KEY, Murmur3Token(token)),
            "by a handle": handle.find,
            "by a route plan": self.located,
        }
        looked, wrong = Counter[str](), Counter[str]()
        while not self.over.is_set():
            token = chance.randrange(1, SPAN + 1)
            for name, find in finders.items():
                tablet = find(token)
                looked[name] += 1
                if tablet is not None and not self.is_right(tablet, token):
                    wrong[name] += 1
        self.looked.update(looked)
        self.wrong.update(wrong)

    def is_right(self, tablet: Tablet, token: int) -> bool:
        first, last = tablet.first_token, tablet.last_token
        return first < token <= last and tablet == self.made(first, last)

    def located(self, token: int) -> Tablet | None:
        place, tablet = self.plan.locate(token)
        if tablet is not None and (place is None or (place.host.host_id, place.shard) not in (tablet.replicas or ())):
            self.wrong["places"] += 1
        return tablet


def run(seconds: float = SECONDS) -> list[Line]:
    scene = Scene()
    before, errors = scene.tablets.nbytes, list[BaseException]()

    def guarded(work: Callable[..., Any], *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException as error:
            errors.append(error)
            scene.over.set()

    works: list[tuple[Any, ...]] = [(scene.write,), *((scene.read, seed) for seed in range(READERS))]
    threads = [threading.Thread(target=guarded, args=work) for work in works]
    for thread in threads:
        thread.start()
    scene.over.wait(seconds)
    scene.over.set()
    for thread in threads:
        thread.join()
    scene.tablets.replace_tablets(*KEY, [scene.made(first, first + 16) for first in range(0, SPAN, 16)])
    grown = scene.tablets.nbytes - before
    found = [
        Line(f"wrong tablets, {name}", f"{scene.wrong[name]} of {looked:,}", "0", reached=scene.wrong[name] == 0)
        for name, looked in scene.looked.items()
    ]
    return [
        *found,
        Line("wrong places, by a route plan", str(scene.wrong["places"]), "0", reached=scene.wrong["places"] == 0),
        Line("exceptions", "; ".join(map(repr, errors)) or "none", "none", reached=not errors),
        Line("changes", f"{scene.changes:,}"),
        Line("native memory of the map", f"{grown:+,} B", f"≤ {FLAT:,} B", reached=grown <= FLAT),
    ]


def main(seconds: float = SECONDS) -> int:
    started = time.monotonic()
    lines = run(seconds)
    return min(show(f"Tablets that change while they are read, {time.monotonic() - started:.0f} s", lines), 1)


if __name__ == "__main__":
    raise SystemExit(main(*map(float, sys.argv[1:])))
