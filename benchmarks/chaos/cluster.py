"""Runs the nodes that misbehave: a program of their own, on the first core."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from benchmarks.chaos.recordings import recording
from benchmarks.cores import pinned
from benchmarks.responder import build, environment

NODES = 3


class ChaosCluster:
    """Nodes at :attr:`addresses`, all on :attr:`port`; a context manager. They behave until :meth:`misbehave`.

    *seed* starts the random numbers, *ids* is one more than the largest number that requests may have. The program
    always ends with this process. Used by one thread.
    """

    def __init__(self, seed: int, ids: int, nodes: int = NODES) -> None:
        self.addresses = [f"127.0.0.{number + 1}" for number in range(nodes)]
        self._folder = tempfile.TemporaryDirectory(prefix="chaos-")
        self._counts = Path(self._folder.name) / "counts"
        recordings = [Path(self._folder.name) / f"recording.{number}" for number in range(nodes)]
        command = [str(build("chaos")), str(seed), str(ids), *map(str, recordings)]
        for number, path in enumerate(recordings):
            path.write_bytes(recording(number, nodes))
        with pinned(last=False):
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
            )
        self.port = int(self._read())
        self.summary = ""  # known when it ended

    def misbehave(self, factor: float = 1.0) -> None:
        """*factor* times as often as is usual in a long soak."""
        self._command(f"on {factor}")

    def behave(self) -> None:
        self._command("off")

    def executions(self) -> bytes:
        """How often each number was executed."""
        self._command(f"counts {self._counts}")
        return self._counts.read_bytes()

    def _command(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        assert self._read() == "ok\n"

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __enter__(self) -> ChaosCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        printed, _ = self._process.communicate()
        self.summary = printed.strip()
        self._folder.cleanup()
