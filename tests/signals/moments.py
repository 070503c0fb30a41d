"""The moments of a call at which Python may run the handler of a signal, and two ways to have one run there.

*Chosen*: :class:`Chosen` runs the handler at the n-th moment of a call, so that a sweep over all n misses none. The
interpreter (3.10 and newer) looks for signals after calls, where functions begin and where loops begin again;
``tripping.c`` counts these instructions and marks the signal as having come, and the interpreter does the rest, as it
would with a signal of the kernel. *Random*: :class:`Random` sets a timer of the system.
"""

from __future__ import annotations

import dis
import fcntl
import importlib.util
import random
import signal
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

SIGNAL = signal.SIGALRM
SHORTEST, LONGEST = 0.00002, 0.003  # seconds
BUILD = Path(__file__).resolve().parents[2] / "build" / "signals"
SOURCE = Path(__file__).with_name("tripping.c")
# A signal that comes during the last instruction of a function is handled when its native caller returns.
NAMES = ("CALL", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "RETURN_VALUE", "YIELD_VALUE", "SEND")
OPCODES = bytes(code for name, code in dis.opmap.items() if name.startswith(NAMES) and code < 256)


def _built() -> Any:
    """The extension module of ``tripping.c``, compiled again if the source is newer."""
    target = BUILD / f"tripping{sysconfig.get_config_var('EXT_SUFFIX')}"
    BUILD.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists() or target.stat().st_mtime < SOURCE.stat().st_mtime:
            partial = target.with_suffix(".partial")
            include = f"-I{sysconfig.get_paths()['include']}"
            subprocess.run(["gcc", "-O2", "-shared", "-fPIC", include, str(SOURCE), "-o", str(partial)], check=True)
            partial.replace(target)
    spec = importlib.util.spec_from_file_location("tripping", target)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_tripping = _built()


class Chosen:
    """The handler runs at moment *number* of what is done between :meth:`start` and :meth:`stop`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.counted = 0  # moments until the chosen one, or all of the call

    def start(self) -> None:
        _tripping.start(SIGNAL, self.number, OPCODES)

    def stop(self) -> None:
        """The handler runs no more."""
        self.counted = _tripping.stop()[1]


class Random:
    """The handler runs at a random moment, within three milliseconds of :meth:`start`."""

    def __init__(self, seed: object) -> None:
        self.seconds = random.Random(repr(seed)).uniform(SHORTEST, LONGEST)

    def start(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def stop(self) -> None:
        """The handler runs no more."""
        signal.setitimer(signal.ITIMER_REAL, 0)


def stop_counting() -> None:
    """No more moment is chosen."""
    _tripping.stop()
