"""Clients of a cluster whose nodes return: many clusters in this process, each with a session and statements.

Runs with fastcql and with scylla-driver. Arguments: contact points (comma-separated), port, clients, statements.
Commands come on standard input: ``mark`` forgets what was counted; ``report`` prints a line of JSON with the seconds
from the mark to the first request of each client that a node answered, by address of the node, and the errors by
seconds since the mark; an empty line ends the process.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from typing import Any

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import RoundRobinPolicy

QUERY = "SELECT id, v AS v{} FROM ks.t WHERE id = ?"
PAUSE = 0.002  # between two requests of this process


class Client:
    """One client: its session, its statements, and what its requests found since the mark."""

    def __init__(self, points: list[str], port: int, statements: int) -> None:
        profile = ExecutionProfile(RoundRobinPolicy(), request_timeout=10)
        self.cluster = Cluster(
            points,
            port=port,
            protocol_version=4,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            prepare_on_all_hosts=False,
        )
        self.session = self.cluster.connect()
        self.statements = [self.session.prepare(QUERY.format(number)) for number in range(statements)]
        for statement in self.statements:
            statement.is_idempotent = True
            self.session.execute(statement, (1,))
        self.first: dict[str, float] = {}
        self.errors: list[float] = []

    def request(self, marked: float) -> None:
        """A request; what it found counts from *marked* on."""
        future = self.session.execute_async(random.choice(self.statements), (1,))
        try:
            future.result()
        except Exception:
            self.errors.append(time.monotonic() - marked)
        else:
            host: Any = future.coordinator_host
            self.first.setdefault(host.endpoint.address, time.monotonic() - marked)


class Load:
    """Requests of all clients in turn, on one thread."""

    def __init__(self, clients: list[Client]) -> None:
        self._clients = clients
        self._marked = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.is_set():
            for client in self._clients:
                client.request(self._marked)
                time.sleep(PAUSE)

    def mark(self) -> None:
        self._marked = time.monotonic()
        for client in self._clients:
            client.first, client.errors = {}, []

    def report(self) -> dict[str, Any]:
        return {
            "first": [dict(client.first) for client in self._clients],
            "errors": [error for client in self._clients for error in client.errors],
        }

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


def main() -> None:
    points, port, clients, statements = sys.argv[1:5]
    made = [Client(points.split(","), int(port), int(statements)) for _ in range(int(clients))]
    load = Load(made)
    print("ready", flush=True)
    for line in sys.stdin:
        command = line.strip()
        if not command:
            break
        if command == "mark":
            load.mark()
        print(json.dumps(load.report() if command == "report" else {}), flush=True)
    load.end()
    for client in made:
        client.cluster.shutdown()


if __name__ == "__main__":
    main()
