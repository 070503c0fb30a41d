"""Scans of a cluster where everything goes wrong at once: every row comes once, for every random choice of faults."""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pytest

from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing._connection import paging_state_of
from cassandra.testing.faults import Close, Cut, Delay, Drop, EmptyPage, Fail, Reaction
from tests.simulated.conftest import Connect

pytestmark = pytest.mark.long

ROWS, SCANS = 1000, 3
READ_TIMEOUT = errors.ReadTimeout(consistency="LOCAL_ONE", received=0, required=1, data_present=False)
FAULTS: tuple[tuple[Reaction, float], ...] = (
    (Fail(errors.Overloaded()), 0.03),
    (Fail(READ_TIMEOUT), 0.02),
    (Fail(errors.ServerError("hm")), 0.01),
    (Close(), 0.005),
    (Cut(30), 0.005),
    (Delay(0.01), 0.1),
    (EmptyPage(), 0.05),
    (Drop(), 0.002),
)
REFUSED = Fail(errors.ProtocolError("Invalid value for the paging state"))


class Trouble(threading.Thread):
    """Nodes that are killed, forget and lose connections; tablets that split, merge and move."""

    def __init__(self, simulated: SimulatedCluster, seed: int) -> None:
        super().__init__()
        self.simulated = simulated
        self.random = random.Random(seed)
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            self.random.choice((self.tablets, self.simulated.rebalance, self.drop, self.forget, self.kill))()

    def node(self) -> Any:
        return self.random.choice(self.simulated.nodes)

    def tablets(self) -> None:
        if len(self.simulated.tablets("ks.t")) < 64:
            self.simulated.split_tablets("ks.t")
        else:
            self.simulated.merge_tablets("ks.t")

    def drop(self) -> None:
        self.node().drop_connections()

    def forget(self) -> None:
        self.node().forget_prepared()

    def kill(self) -> None:
        node = self.node()
        node.kill()
        self.ended.wait(0.1)
        node.restart()


@pytest.mark.parametrize("seed", [1, 2])
def test_every_row_comes_once(simulated: SimulatedCluster, connect: Connect, seed: int) -> None:
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2} "
        "AND tablets = {'initial': 8}"
    )
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v bigint)")
    session = connect(simulated, "ks", reconnection_policy=ConstantReconnectionPolicy(0.05, max_attempts=None))
    numbers = pa.array(range(ROWS), pa.int64())
    session.ingest("ks.t", pa.table({"id": numbers.cast(pa.int32()), "v": numbers}))
    trouble = Trouble(simulated, seed)
    some: dict[str, Any] = {"query": "SELECT id", "opcode": "EXECUTE"}
    with ExitStack() as faults:
        for reaction, probability in FAULTS:
            faults.enter_context(simulated.inject(reaction, probability=probability, **some))
        faults.enter_context(simulated.inject(REFUSED, probability=0.01, when=has_paging_state, **some))
        trouble.start()
        faults.callback(trouble.join)
        faults.callback(trouble.ended.set)
        scan = session.scan("t", page_size=7, splits=40, timeout=5.0, target_rows=20)
        found = [scan.to_arrow() for _ in range(SCANS)] + [asyncio.run(scan.to_arrow_async())]
    for one in found:
        assert sorted(one.column("v").to_pylist()) == list(range(ROWS))


def has_paging_state(exchange: Any) -> bool:
    return bool(paging_state_of(exchange.frame))
