"""Two clients for the simulation: scylla-driver of PyPI, which never saw our code, and the driver of this checkout."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import SCYLLA
from cassandra.testing import SimulatedCluster

ROOT = Path(__file__).resolve().parents[2]
CLIENT = Path(__file__).with_name("client.py")


#: A call of a client, with all its requests, takes a second.
ANSWERS_WITHIN = 60.0


class HungPeer(Exception):
    """The other driver does not answer. Its event loop may wait for ever for a lock of a connection that the server has
    closed: https://github.com/scylladb/python-driver/issues/980."""


class ClientError(Exception):
    """The driver of the client raised; *name* is the class of its exception."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class Client:
    """A process with a driver; methods are those of ``client.Client``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.repeats = False
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        environment = dict(os.environ)
        if self.name == "scylla-driver":
            environment.pop("PYTHONPATH", None)
            command = [str(SCYLLA.interpreter()), "-I", str(CLIENT)]
        else:
            environment["PYTHONPATH"] = str(ROOT)
            command = [sys.executable, str(CLIENT)]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=CLIENT.parent
        )

    def __call__(self, method: str, **options: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([method, options]) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], ANSWERS_WITHIN)[0]:
            self._restart(method)
        line = self._process.stdout.readline()
        assert line, f"the client with {self.name} has ended with {self._process.wait()}"
        answer = json.loads(line)
        if "error" in answer:
            raise ClientError(answer["error"], answer["message"])
        return answer["result"]

    def _restart(self, method: str) -> None:
        self._end(0)
        self._process = self._start()
        error = HungPeer if self.name == "scylla-driver" else AssertionError
        raise error(f"the client with {self.name} did not answer to {method!r} within {ANSWERS_WITHIN:g} s")

    def connect(self, simulated: SimulatedCluster, **options: Any) -> Any:
        self.repeats = False
        return self("connect", contact_points=simulated.contact_points, port=simulated.port, **options)

    def prepare(self, query: str, idempotent: bool = False) -> Any:
        """*repeats* then says whether what is executed may run twice."""
        self.repeats = idempotent
        return self("prepare", query=query, idempotent=idempotent)

    def end(self) -> None:
        self._end(30)

    def _end(self, patience: float) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            if patience:
                raise
        finally:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()


DRIVERS = ("scylla-driver", "fastcql")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=2, only_rerun="HungPeer"))


@pytest.fixture(scope="session")
def clients() -> Iterator[dict[str, Client]]:
    started: dict[str, Client] = {}
    try:
        for name in DRIVERS:
            started[name] = Client(name)
        yield started
    finally:
        for client in started.values():
            client.end()


@pytest.fixture(params=DRIVERS)
def client(request: pytest.FixtureRequest, clients: dict[str, Client]) -> Iterator[Client]:
    """Each driver in turn."""
    yield from _closing(clients[request.param])


@pytest.fixture
def scylla_driver(clients: dict[str, Client]) -> Iterator[Client]:
    """The independent one alone."""
    yield from _closing(clients["scylla-driver"])


def _closing(client: Client) -> Iterator[Client]:
    try:
        yield client
    finally:
        client("close")


@contextmanager
def made(**options: Any) -> Iterator[SimulatedCluster]:
    """Three nodes of four shards, a keyspace ``ks`` of two replicas and 8 tablets, a table ``t`` in it."""
    with SimulatedCluster(3, 4, protocol_versions=(3, 4, 5), **options) as cluster:
        cluster.execute(
            "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2} "
            "AND tablets = {'initial': 8}"
        )
        cluster.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v text)")
        yield cluster


@pytest.fixture
def simulated() -> Iterator[SimulatedCluster]:
    """What :func:`made` makes."""
    with made() as cluster:
        yield cluster
