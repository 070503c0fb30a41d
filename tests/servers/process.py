"""One child process that cannot outlive us.

Three nets, each for processes that the one before cannot catch: the owner stops its processes; the kernel kills a child
whose parent died (PR_SET_PDEATHSIG, through ``setpriv``); :func:`sweep` kills the processes of earlier runs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# The parent-death signal is sent when the *thread* that forked ends: fork from one that lives as long as we.
_spawner = ThreadPoolExecutor(1, "servers-spawner")


class Process:
    """A running command, its output in *log* and its process id in *pidfile*."""

    def __init__(self, command: Sequence[str], log: Path, pidfile: Path, cwd: Path) -> None:
        setpriv = shutil.which("setpriv")
        guard = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
        with log.open("ab") as output:
            self._popen = _spawner.submit(
                subprocess.Popen,
                [*guard, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                start_new_session=True,  # Ctrl-C in the terminal is ours alone
            ).result()
        self._pidfile = pidfile
        pidfile.write_text(str(self._popen.pid))

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    def signal(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def pause(self) -> None:
        """SIGSTOP. Returns when all its threads have stopped: until one of them, any, has run again and told the others
        of the signal, these go on, which takes its time on a busy machine."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # later calls see the same state

    def terminate(self, timeout: float) -> None:
        """SIGTERM, then SIGKILL after *timeout* seconds."""
        self.signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(timeout)
        self.kill()

    def kill(self) -> None:
        self._popen.kill()
        self._popen.wait()
        self._pidfile.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Kill the processes whose pid files lie below *folder* and that run from there; remove *folder*."""
    for pidfile in folder.rglob("pid"):
        pid = int(pidfile.read_text() or 0)
        if pid and str(pidfile.parent) in _command_line(pid):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""
