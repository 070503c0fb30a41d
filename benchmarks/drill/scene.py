"""Three nodes, the programs that load them, and one fault at a time."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.drill.accounts import BEFORE, Figures, Moments, Stored, figures
from benchmarks.drill.calls import Report
from benchmarks.drill.network import Network
from benchmarks.drill.program import Program
from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from tests.servers import ServerCluster
from tests.servers.node import ServerNode

TIMEOUT = 2.0  # seconds, of a request
SETTLING, WARMING = 1.0, 8.0  # seconds of load before anything counts, the second for servers that have just started
SLOW = 60.0  # of what is asked of the nodes beside the load
SCHEMA = (
    "DROP KEYSPACE IF EXISTS {0}",
    "CREATE KEYSPACE {0} WITH replication = {{'class': 'NetworkTopologyStrategy', 'datacenter1': 3}}",
    # the coordinator's own patience with a replica is not what is measured
    "CREATE TABLE {0}.points (id int PRIMARY KEY, v text) WITH speculative_retry = 'ALWAYS'",
    "CREATE TABLE {0}.lists (k int PRIMARY KEY, l list<int>)",
    "CREATE TABLE {0}.numbers (id int PRIMARY KEY, v bigint)",
)


class Fault(NamedTuple):
    """Something that happens under load. *act* gets the scene and how many seconds it is to last."""

    name: str
    title: str
    act: Callable[[Scene, float], None]
    after: float = 8.0  # seconds of load when it is over
    through: bool = False  # relays
    consistency: str = "LOCAL_QUORUM"
    module: str = "client"  # what clients do

    @property
    def load(self) -> bool:
        """For as long as it takes; else clients end by themselves."""
        return self.module != "cycles"


class Scene:
    """Runs faults on *servers* with *drivers*."""

    def __init__(self, servers: ServerCluster, drivers: Sequence[str], cycles: int = 200) -> None:
        self.servers = servers
        self.drivers = drivers
        self.cycles = cycles
        self.moments = Moments()
        self.network: Network | None = None
        self._warm = False
        self._programs: list[Program] = []

    # ---- for faults

    @property
    def nodes(self) -> list[ServerNode]:
        return self.servers.nodes

    def begin(self) -> None:
        self.moments.began = time.monotonic()

    def hold(self, seconds: float) -> None:
        """Leave it like this for a while: the rate counts."""
        time.sleep(seconds)
        self.moments.quiet = time.monotonic()

    def back(self, *nodes: int) -> None:
        """These are there again, since now."""
        now = time.monotonic()
        self.moments.answering |= dict.fromkeys(nodes, now)
        self.moments.healed = self.moments.healed or now

    def start(self, *nodes: int) -> None:
        """Start them at once; each is back when it answers."""
        for node in nodes:
            self.nodes[node].start(wait=False)

        def answered(node: int) -> None:
            self.nodes[node].wait()
            self.back(node)

        at_once(answered, nodes)

    def command(self, line: str) -> None:
        for program in self._programs:
            program.command(line)

    # ---- one drill

    def run(self, fault: Fault, seconds: float) -> list[Figures]:
        """What each driver made of *fault*."""
        self.moments = Moments()
        with self._session() as session:
            for driver in self.drivers:
                for statement in SCHEMA:
                    session.execute(statement.format(keyspace_of(driver)))
        with contextlib.ExitStack() as stack:
            if fault.through:
                self.network = stack.enter_context(Network([node.endpoint for node in self.nodes]))
            reports = self._under_load(fault, seconds, stack)
        self.network = None
        self.servers.restore()
        with self._session() as session:
            return [
                figures(report, self.moments, stored(session, keyspace_of(driver)))
                for driver, report in zip(self.drivers, reports, strict=True)
            ]

    def _under_load(self, fault: Fault, seconds: float, stack: contextlib.ExitStack) -> list[Report]:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drill-")))
        self._programs = []
        for driver in self.drivers:
            program = Program(driver, fault.module, folder, self._orders(fault, driver))
            stack.callback(program.close)
            self._programs.append(program)
        for program in self._programs:
            program.wait_ready()
        if not fault.load:
            fault.act(self, seconds)
        else:
            time.sleep(BEFORE + (SETTLING if self._warm else WARMING))
            self._warm = True
            fault.act(self, seconds)
            time.sleep(fault.after)
            self.moments.ended = time.monotonic()
            self.command("stop")
        return [program.report() for program in self._programs]

    def _orders(self, fault: Fault, driver: str) -> dict[str, Any]:
        translated = self.network.translated if self.network else {}
        return {
            "contact_points": [translated.get(node.address, node.address) for node in self.nodes],
            "port": self.servers.port,
            "keyspace": keyspace_of(driver),
            "consistency": fault.consistency,
            "timeout": TIMEOUT,
            "translated": translated,
            "cycles": self.cycles if driver == self.drivers[0] else max(self.cycles // 10, 1),
        }

    @contextlib.contextmanager
    def _session(self) -> Any:
        profile = ExecutionProfile(consistency_level=ConsistencyLevel.ALL, request_timeout=SLOW)
        options: dict[str, Any] = {"connect_timeout": SLOW, "control_connection_timeout": SLOW}
        addresses = [node.address for node in self.nodes]
        with Cluster(
            addresses, port=self.servers.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, **options
        ) as cluster:
            yield cluster.connect(wait_for_all_pools=True)


def keyspace_of(driver: str) -> str:
    return f"drill_{driver.partition('-')[0]}"


def stored(session: Session, keyspace: str) -> Stored:
    """What all replicas together hold."""
    appended: Counter[int] = Counter()
    for row in session.execute(f"SELECT l FROM {keyspace}.lists"):
        appended.update(row.l or ())
    return Stored({row.id for row in session.execute(f"SELECT id FROM {keyspace}.points")}, appended)


def at_once(function: Callable[[int], None], nodes: Sequence[int]) -> None:
    """Of all *nodes*; raises the first error."""
    with ThreadPoolExecutor(len(nodes)) as pool:
        list(pool.map(function, nodes))
