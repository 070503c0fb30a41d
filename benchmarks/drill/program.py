"""The parent's side of a client: starts it with one driver or the other, tells it what to do, reads its report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.drill.calls import Report, load
from benchmarks.measure import FASTCQL, stage
from benchmarks.peers import ROOT, SCYLLA, Peer

DRIVERS: dict[str, Peer | None] = {FASTCQL: None, SCYLLA.name: SCYLLA}


class ClientError(RuntimeError):
    """A client ended before it should."""


class Program:
    """A running client of *driver*; *orders* are those of ``orders.Orders`` but for what is known here."""

    def __init__(self, driver: str, module: str, folder: Path, orders: dict[str, Any]) -> None:
        self.driver = driver
        self._report = folder / f"{driver}.calls"
        peer = DRIVERS[driver]
        path = folder / f"{driver}.orders"
        own = {"driver": driver, "report": str(self._report), "asyncio": peer is None}
        path.write_text(json.dumps({**orders, **own}))
        python = sys.executable if peer is None else str(peer.interpreter())
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._errors = (folder / f"{driver}.errors").open("w+")
        self._process = subprocess.Popen(
            [python, "-m", f"benchmarks.drill.{module}", str(path)],
            cwd=ROOT if peer is None else stage(),
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def wait_ready(self) -> None:
        self._expect("ready")

    def command(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def report(self) -> Report:
        """When it ended."""
        self._expect("done")
        return load(self._report)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream is not None
            stream.close()

    def _expect(self, word: str) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if line != word:
            self._errors.seek(0)
            raise ClientError(f"{self.driver} said {line!r}, not {word!r}:\n{self._errors.read()}")
