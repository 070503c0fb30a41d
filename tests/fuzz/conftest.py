"""Differential fuzzing of the data tools against independent oracles.

One module per tool. A test asks for the ``rounds`` fixture and makes one random case per round::

    def test_ingest(rounds: Rounds, session: Session) -> None:
        for random in rounds:
            ...  # everything random comes from this random.Random

Rounds end when the time of the test is over: ``FUZZ_SECONDS`` per test (default 5, so that an ordinary run stays
short; ``make fuzz`` and ``make soak`` give more). A failure reports the seed of its round; ``FUZZ_SEED=<seed>``
repeats that round alone. The first seed of a run is random, so that every run covers new cases; in CI it follows from
the name of the test, so that a change fails for what it changed.
"""

from __future__ import annotations

import os
import random
import time
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from tests.conftest import IN_CI
from tests.patience import PATIENCE, be_patient

SECONDS = float(os.environ.get("FUZZ_SECONDS", "5"))
SEED = os.environ.get("FUZZ_SEED")
KEYSPACE = "fuzz"
REPLICATION = "{'class': 'SimpleStrategy', 'replication_factor': 1}"


class Rounds:
    """Yields one seeded :class:`random.Random` per round until the time is over, at least one."""

    def __init__(self, seconds: float, first: int, only: int | None) -> None:
        self.seconds = seconds
        self.first = first
        self.only = only
        self.seed: int | None = None  # of the current round
        self.done = 0

    def __iter__(self) -> Iterator[random.Random]:
        if self.only is not None:
            self.seed = self.only
            yield random.Random(self.only)
            return
        end = time.monotonic() + self.seconds
        while self.done == 0 or time.monotonic() < end:
            self.seed = self.first + self.done
            yield random.Random(self.seed)
            self.done += 1


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> Rounds:
    first = zlib.crc32(request.node.name.encode()) << 8 if IN_CI else random.SystemRandom().getrandbits(40)
    made = Rounds(SECONDS, first, None if SEED is None else int(SEED))
    request.node.stash[_ROUNDS] = made
    return made


_ROUNDS = pytest.StashKey[Rounds]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Adds the seed of the failed round to the report."""
    report = yield
    made = item.stash.get(_ROUNDS, None)
    if made is not None and call.when == "call":
        text = f"{made.done} rounds passed"
        if report.failed:
            text += f"; repeat the failed one with FUZZ_SEED={made.seed}"
        report.sections.append(("fuzz", text))
    return report


@pytest.fixture(scope="session", autouse=True)
def patient_defaults() -> Iterator[None]:
    """No short time limits by default: a server on a busy machine takes its time."""
    with pytest.MonkeyPatch.context() as patch:
        be_patient(patch, Cluster, connect_timeout=PATIENCE, control_connection_timeout=PATIENCE)
        yield


@pytest.fixture(scope="module")
def cluster(cassandra_node: Any) -> Iterator[Cluster]:
    with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def keyspace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh keyspace for each module, dropped after it."""
    name = f"{KEYSPACE}_{request.module.__name__.rpartition('.')[2].removeprefix('test_')}"
    with cluster.connect() as session:
        session.execute(f"DROP KEYSPACE IF EXISTS {name}", timeout=60)
        session.execute(f"CREATE KEYSPACE {name} WITH replication = {REPLICATION}", timeout=60)
        yield name
        session.execute(f"DROP KEYSPACE {name}", timeout=60)


@pytest.fixture(scope="module")
def session(cluster: Cluster, keyspace: str) -> Session:
    """A session in the keyspace of the module."""
    return cluster.connect(keyspace)
