"""A simulated cluster in a process of its own, so that its thread takes no time of the driver's interpreter.

``python -m tests.signals.server`` reads commands from its standard input and answers on its standard output, a line of
JSON each. :class:`Server` is the client's side.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from cassandra.testing import SimulatedCluster
from tests.servers.certificates import Certificates

KINDS = ("plain", "tls", "lz4")


class Server:
    """A started process. *kind* is how clients connect: one of ``KINDS``."""

    def __init__(self, kind: str, nodes: int = 2, shards: int = 1) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="signals-")
        self.certificates = Certificates.generate(Path(self._folder.name), ["127.0.0.1"]) if kind == "tls" else None
        command = [sys.executable, "-m", "tests.signals.server", kind, str(nodes), str(shards), self._folder.name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.endpoints: list[tuple[str, int]] = [tuple(pair) for pair in self._answer()]

    def execute(self, query: str, keyspace: str | None = None) -> list[dict[str, Any]]:
        """Run a statement without the driver."""
        return self._ask("execute", query, keyspace)  # type: ignore[no-any-return]

    def keyspaces(self) -> list[str | None]:
        """The keyspaces in use by the connections of clients, but for those that listen to events."""
        return self._ask("keyspaces")  # type: ignore[no-any-return]

    def forget_prepared(self) -> None:
        """Prepared statements are unknown to all nodes from now on."""
        self._ask("forget")

    def disconnect(self) -> None:
        """Close all connections but those that listen to events."""
        self._ask("disconnect")

    def _ask(self, *command: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        answer = json.loads(self._process.stdout.readline())
        if isinstance(answer, dict):
            raise RuntimeError(answer["error"])
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
        self._folder.cleanup()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def server_context(folder: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(folder) / "server.pem")
    return context


def keyspaces(simulated: SimulatedCluster) -> list[str | None]:
    """Of connections that send requests."""

    def read() -> list[str | None]:
        states = [client.state for node in simulated.nodes for client in node.clients]
        return [state.keyspace for state in states if state.ready and not state.events]

    return simulated.reactor.call(read)


def disconnect(simulated: SimulatedCluster) -> None:
    def close() -> None:
        for client in [client for node in simulated.nodes for client in node.clients]:
            if client.state.ready and not client.state.events:
                client.close()

    simulated.reactor.call(close)


def answer(simulated: SimulatedCluster, command: list[Any]) -> Any:
    if command[0] == "keyspaces":
        return keyspaces(simulated)
    if command[0] == "execute":
        return simulated.execute(command[1], command[2])
    if command[0] == "disconnect":
        return disconnect(simulated)
    for node in simulated.nodes:
        node.forget_prepared()
    return None


def main() -> None:
    kind, nodes, shards, folder = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; the end of the input ends it
    options: dict[str, Any] = {"protocol_versions": (5,)} if kind == "lz4" else {}
    if kind == "tls":
        options["ssl_context"] = server_context(folder)
    with SimulatedCluster(int(nodes), int(shards), address="127.0.0.1", **options) as simulated:
        print(json.dumps([(node.address, node.port) for node in simulated.nodes]), flush=True)
        for line in sys.stdin:
            try:
                text = json.dumps(answer(simulated, json.loads(line)), default=str)
            except Exception as error:
                text = json.dumps({"error": repr(error)})
            print(text, flush=True)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
    os._exit(0)
