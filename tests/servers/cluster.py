"""One or more nodes as one cluster, and the loopback addresses they live on."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import tempfile
import time
from pathlib import Path
from typing import IO

from tests.servers import classpath
from tests.servers.certificates import Certificates
from tests.servers.config import Options
from tests.servers.node import START_TIMEOUT, ServerError, ServerNode
from tests.servers.probe import ProbeError
from tests.servers.process import sweep


class ServerCluster:
    """A cluster at ``127.0.x.1``, ``127.0.x.2``…; a context manager.

    *base* is the address of its first node; without it the first free one of 127.0.0.1, 127.0.1.1, … is used.
    Its folder, ``.servers/run/<base>``, holds everything. A lock that the whole machine sees marks the owner of
    the address; a new owner removes the files that an earlier one left in the folder.
    """

    def __init__(self, options: Options | None = None, base: str | None = None) -> None:
        self.options = options or Options()
        self._lock: IO[str] | None = None
        self.base = base or self._free_base()
        if base is not None:
            self._lock = self._claim(base)
            if self._lock is None:
                raise ServerError(f"{base} is in use by another cluster")
        self.home = _run_folder() / self.base
        prefix, _, last = self.base.rpartition(".")
        addresses = [f"{prefix}.{int(last) + index}" for index in range(self.options.nodes)]
        self.tls = Certificates.generate(self.home / "tls", addresses) if self.options.tls else None
        self.nodes = [
            ServerNode(self.home / f"node{index + 1}", self.options, index, address, self.base, self.tls)
            for index, address in enumerate(addresses)
        ]

    def __enter__(self) -> ServerCluster:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def contact_points(self) -> list[str]:
        return [node.address for node in self.nodes]

    @property
    def port(self) -> int:
        return self.options.port

    def start(self) -> None:
        """Start the first node, then all others at once, and wait until all know each other."""
        self.nodes[0].start()
        for node in self.nodes[1:]:
            node.start(wait=False)
        for node in self.nodes[1:]:
            node.wait()
        self.wait_for_ring()

    def wait_for_ring(self, timeout: float = START_TIMEOUT) -> None:
        """Until every running node lists all the others."""
        if len(self.nodes) == 1:
            return
        deadline = time.monotonic() + timeout
        for node in [node for node in self.nodes if node.available]:
            while (known := self._peers(node)) < len(self.nodes) - 1:
                if time.monotonic() > deadline:
                    raise ServerError(f"{node!r} knows {known} peers only\n{node.log_tail()}")
                time.sleep(0.1)

    def restore(self) -> None:
        """Bring every node back that a test stopped or paused. Costs nothing when there is none."""
        if all(node.available for node in self.nodes):
            return
        for node in self.nodes:
            node.resume()
            if not node.running:
                node.start()
        self.wait_for_ring()

    def close(self) -> None:
        """Kill every node and remove all files. Idempotent."""
        for node in self.nodes:
            node.kill()
        if self._lock is not None:
            sweep(self.home)
            self._lock.close()
            self._lock = None

    @staticmethod
    def _peers(node: ServerNode) -> int:
        with contextlib.suppress(OSError, ProbeError), node.probe() as probe:
            probe.login()
            return probe.count("system.peers_v2")
        return 0

    def _free_base(self) -> str:
        for number in range(256):
            base = f"127.0.{number}.1"
            lock = self._claim(base)
            if lock is None:
                continue
            if _bindable(base, self.options.port) and _bindable(base, self.options.storage_port):
                self._lock = lock
                return base
            lock.close()
        raise ServerError("no free loopback address for a cluster")

    @staticmethod
    def _claim(base: str) -> IO[str] | None:
        """The lock of *base* with its folder swept, or None if a living process holds it."""
        folder = Path(tempfile.gettempdir()) / f"fastcql-servers-{os.getuid()}"
        folder.mkdir(exist_ok=True)
        lock = (folder / f"{base}.lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return None
        sweep(_run_folder() / base)
        return lock


def _run_folder() -> Path:
    return classpath.HOME / "run"


def _bindable(address: str, port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, port))
        except OSError:
            return False
    return True
