"""Starts the client processes in turns and collects what they report."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks import peers
from benchmarks.bench_execute import SCHEMA
from benchmarks.clients.harness import INSERT, POINT
from benchmarks.compare.workloads import REAL, RECORDED, Program, programs
from benchmarks.cores import CORES
from benchmarks.measure import FASTCQL, Driver, alternate
from benchmarks.responder import Responder, build
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args
from tests.servers import Options, ServerCluster

#: The heap, the collector and the caches of an installation, not the small ones of tests.
SERVER = Options(heap="2G", as_installed=True)
KEYS = 10_000  # rows of the table on the real server
WARM = 3  # client processes that the real server compiles itself for

#: What processes reported, by server, driver and client.
Found = dict[tuple[str, str, str], list[dict[str, float]]]
Say = Callable[[str], None]


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


class Measuring:
    """Collects figures; ``absent`` are the drivers that cannot be installed, or whose client failed, and the reason."""

    def __init__(self, only: str = "", drivers: tuple[str, ...] = ()) -> None:
        self.found: Found = {}
        self.absent: dict[str, str] = {}
        self.only = only
        self.drivers = drivers

    def install(self) -> None:
        """The environments of all drivers, and the responder."""
        self._installed(programs(RECORDED))
        build()

    def recorded(self, processes: int) -> None:
        """All workloads of recorded responses, by as many *processes* of each driver."""
        with Responder() as responder:
            self._rounds(RECORDED, f"127.0.0.1:{responder.port}", processes)

    def real(self, processes: int) -> None:
        """The requests, on a real Cassandra that has all cores but that of the clients."""
        with beside_clients(), ServerCluster(SERVER) as cluster:
            host, port = cluster.contact_points[0], cluster.port
            fill(host, port)
            say("the server warms up")
            alternate({str(number): Driver("requests", (f"{host}:{port}", "5000")) for number in range(WARM)}, 1)
            self._rounds(REAL, f"{host}:{port}", processes)

    def _rounds(self, server: str, contact: str, processes: int) -> None:
        wanted = self._installed(programs(server))
        for number in range(processes):
            keys = list(wanted)
            for driver, client in keys[number:] + keys[:number]:  # another order in each round
                if (driver, client) in wanted:
                    self._one(server, driver, client, wanted[driver, client](contact), wanted)
            say(f"{server}: round {number + 1} of {processes}")

    def _one(self, server: str, driver: str, client: str, program: Driver, wanted: dict[tuple[str, str], Any]) -> None:
        begun = time.monotonic()
        try:
            (figures,) = alternate({driver: program}, 1).each(driver)
        except SystemExit as failed:
            if driver == FASTCQL:
                raise
            say(f"{driver} {client} failed:\n{failed}")
            del wanted[driver, client]
            self.found.pop((server, driver, client), None)
            self.absent[f"{driver}, {client}, {server}"] = "the client failed"
            return
        self.found.setdefault((server, driver, client), []).append(figures)
        say(f"{server}: {driver} {client} ({time.monotonic() - begun:.1f} s)")

    def _installed(self, known: Mapping[tuple[str, str], Program]) -> dict[tuple[str, str], Program]:
        found = {}
        for (driver, client), program in known.items():
            if self.only not in client or (self.drivers and driver not in self.drivers) or driver in self.absent:
                continue
            try:
                program("127.0.0.1:0").command()
            except subprocess.CalledProcessError:
                self.absent[driver] = f"{peers.PEERS[driver]} cannot be installed"
                continue
            found[driver, client] = program
        return found


def fill(host: str, port: int) -> None:
    """The table that clients read from."""
    with Cluster([host], port=port, connect_timeout=60) as cluster:
        session = cluster.connect()
        for statement in SCHEMA:
            session.execute(statement, timeout=60)
        rows = ((number, *POINT[1:]) for number in range(KEYS))
        execute_concurrent_with_args(session, session.prepare(INSERT), rows, raise_on_first_error=True)


@contextlib.contextmanager
def beside_clients() -> Iterator[None]:
    """What is started here may use all cores but the last, where clients are."""
    if len(CORES) < 2:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CORES[:-1])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
