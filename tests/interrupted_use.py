"""One scenario for simulated and real servers: USE that the handler of a signal interrupts."""

from __future__ import annotations

import random
import signal
import time
from typing import Any

from tests.interrupts import handlers_raise

KEYSPACES = ("use_first", "use_second")


class Alarm(Exception):
    """Raised by the handler of a signal."""


def create(session: Any, replication: str) -> None:
    for keyspace in KEYSPACES:
        session.execute(f"CREATE KEYSPACE {keyspace} WITH replication = {replication}", timeout=60)
        session.execute(f"CREATE TABLE {keyspace}.t (id int PRIMARY KEY)", timeout=60)


def run(session: Any, seconds: float) -> None:
    """Alternate between two keyspaces, with an alarm in the middle of it, and insert a row after each: it must be in
    the keyspace that the session is in, however far the USE came."""

    def handler(number: int, frame: object) -> None:
        raise Alarm

    moments = random.Random(11)
    session.execute(f"USE {KEYSPACES[1]}")
    found: dict[int, str] = {}
    interrupted = 0
    before = signal.signal(signal.SIGALRM, handler)
    try:
        end = time.monotonic() + seconds
        with handlers_raise(Alarm):
            while time.monotonic() < end:
                number = len(found)
                try:
                    signal.setitimer(signal.ITIMER_REAL, moments.uniform(0.00005, 0.003))
                    session.execute(f"USE {KEYSPACES[number % 2]}")
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Alarm:
                    interrupted += 1
                session.execute("INSERT INTO t (id) VALUES (%s)", (number,))
                found[number] = session.keyspace
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 0
    for keyspace in KEYSPACES:
        there = {row.id for row in session.execute(f"SELECT id FROM {keyspace}.t", timeout=60)}
        expected = {number for number, said in found.items() if said == keyspace}
        assert there == expected, (
            f"in {keyspace}: missing {sorted(expected - there)}, unexpected {sorted(there - expected)}"
        )
