"""One Cassandra server."""

from __future__ import annotations

import signal
import ssl
import time
from pathlib import Path

from tests.servers import classpath, config
from tests.servers.certificates import Certificates
from tests.servers.probe import Probe, ProbeError
from tests.servers.process import Process

START_TIMEOUT = 400.0  # on a machine that is busy with much else; 7-15 s when idle


class ServerError(RuntimeError):
    """A server did not start or stop; the message ends with the tail of its log."""


class ServerNode:
    """Node *index* of a cluster, at *address*. Its data survive ``stop``/``kill`` and ``start``."""

    def __init__(
        self,
        home: Path,
        options: config.Options,
        index: int,
        address: str,
        seed: str,
        tls: Certificates | None,
    ) -> None:
        self.home = home
        self.options = options
        self.index = index
        self.address = address
        self.port = options.port
        self.tls = tls
        self.log = home / "system.log"
        self._seed = seed
        self._process: Process | None = None
        self._paused = False

    def __repr__(self) -> str:
        state = "paused" if self._paused else "running" if self.running else "stopped"
        return f"<ServerNode {self.options.version} {self.address}:{self.port} {state}>"

    @property
    def endpoint(self) -> tuple[str, int]:
        return self.address, self.port

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def running(self) -> bool:
        """The process exists (it may be paused)."""
        return self._process is not None and self._process.alive

    @property
    def available(self) -> bool:
        """Neither stopped nor paused."""
        return self.running and not self._paused

    def start(self, wait: bool = True) -> None:
        """Start the server, with the data it had; with *wait*, return when clients can use it."""
        if self.running:
            raise ServerError(f"{self!r} is running already")
        config.write(self.home, self.options, self.index, self.address, self._seed, self.tls)
        jars = classpath.resolve(self.options.version)
        command = config.command(self.home, jars, self.options)
        self._process = Process(command, self.log, self.home / "pid", self.home)
        if wait:
            self.wait()

    def wait(self, timeout: float = START_TIMEOUT) -> None:
        """Until the native port answers, a log-in included."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                with self.probe() as probe:
                    probe.options()
                    probe.login()
                return
            except (OSError, ProbeError) as error:
                last = error
            if not self.running:
                raise ServerError(f"{self!r} ended while starting\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise ServerError(f"{self!r} did not answer in {timeout:.0f} s: {last}\n{self.log_tail()}")
            time.sleep(0.1)

    def stop(self, timeout: float = 60.0) -> None:
        """SIGTERM: the server drains and says goodbye."""
        if self._process is not None:
            self.resume()
            self._process.terminate(timeout)
            self._process = None

    def kill(self) -> None:
        """SIGKILL: the server is gone at once."""
        if self._process is not None:
            self._process.kill()
            self._process = None
            self._paused = False

    def restart(self) -> None:
        self.stop()
        self.start()

    def pause(self) -> None:
        """SIGSTOP: the kernel still accepts connections and data, the process does not answer."""
        if self._process is not None:
            self._process.pause()
        self._paused = True

    def resume(self) -> None:
        """SIGCONT."""
        self._send(signal.SIGCONT)
        self._paused = False

    def probe(self, timeout: float = 5.0) -> Probe:
        """A raw connection; the caller closes it."""
        context: ssl.SSLContext | None = self.tls.context() if self.tls else None
        return Probe(self.address, self.port, context, timeout)

    def log_tail(self, lines: int = 60) -> str:
        if not self.log.exists():
            return "(no log)"
        tail = self.log.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join([f"--- last lines of {self.log} ---", *tail])

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.signal(number)
