"""A simulated cluster that keeps answers back, to look at requests that wait for room."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, ResponseFuture, Session
from cassandra.policies import FallthroughRetryPolicy, RoundRobinPolicy
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Exchange, Hold, Reaction
from tests.patience import PATIENCE, eventually

QUERY = "SELECT release_version FROM system.local"  # nothing else asks for this


class Gate(Hold):
    """Answers wait until they are released, or, once it is open, not."""

    open = False

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def react(self, exchange: Exchange) -> None:
        self.seen.append(exchange.query)
        super().react(exchange)
        if self.open:
            self.held.pop()()


class Flow:
    """A server whose answers to :data:`QUERY` wait for ``answer``, and sessions with limits."""

    def __init__(self, nodes: int = 1) -> None:
        self.simulated = SimulatedCluster(nodes, 1).start()
        self.hold = Gate()
        self.rule = self.simulated.inject(self.hold, query="release_version from system.local")
        self.clusters: list[Cluster] = []

    def connect(self, *, request_timeout: float | None = PATIENCE, **options: Any) -> Session:
        profile = ExecutionProfile(
            RoundRobinPolicy(), retry_policy=FallthroughRetryPolicy(), request_timeout=request_timeout
        )
        options = {"execution_profiles": {EXEC_PROFILE_DEFAULT: profile}, **options}
        cluster = Cluster(self.simulated.contact_points, port=self.simulated.port, protocol_version=4, **options)
        cluster.connect_timeout = cluster.control_connection_timeout = PATIENCE
        self.clusters.append(cluster)
        return cluster.connect(wait_for_all_pools=True)

    def ask(self, session: Session, count: int, **options: Any) -> list[ResponseFuture]:
        """*count* requests, one after the other."""
        return [session.execute_async(QUERY, **options) for _ in range(count)]

    def full(self, session: Session, count: int, **options: Any) -> list[ResponseFuture]:
        """*count* requests, all of which the server has got."""
        before = self.rule.hits
        futures = self.ask(session, count, **options)
        eventually(lambda: self.rule.hits == before + count)
        return futures

    def answer(self, count: int = 1) -> None:
        """The oldest *count* requests."""

        def send() -> None:
            for held in [self.hold.held.pop(0) for _ in range(count)]:
                held()

        self.rule._call(send)

    def answer_all(self) -> None:
        """What is held, and what comes from now on."""
        self.hold.open = True
        self.rule.release()

    def close(self) -> None:
        for cluster in self.clusters:
            cluster.shutdown()
        self.clusters.clear()
        self.simulated.close()


class Jitter(Reaction):
    """Answers a little later, some never; counts what the server has at a time."""

    def __init__(self, lost: float, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.lost = lost
        self.running = 0
        self.most = 0
        self.requests = 0

    def react(self, exchange: Exchange) -> None:
        self.requests += 1
        self.running += 1
        self.most = max(self.most, self.running)
        response = exchange.execute()
        if self.random.random() < self.lost:
            return

        def send() -> None:
            self.running -= 1
            exchange.send(response)

        exchange.later(self.random.random() * 0.004, send)


def waiting_for_room(session: Session) -> int:
    """How many requests wait for room."""
    return len(session._pool_set.admission)


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread
