"""The native responder: a C++ program that answers with recorded bytes of a real server, see ``responder.cpp``;
and, for ``benchmarks.chaos``, one that misbehaves, see ``chaos.cpp``.

``Responder``  builds and runs it
``recording``  the answers it plays, and ``python -m benchmarks.responder.record``, which records those of a real server
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType

from benchmarks.cores import CORES, pinned
from benchmarks.native import CORE
from benchmarks.report import Line, compared_only
from benchmarks.responder.recording import Answer, load
from tests.servers.certificates import Certificates

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build"
COMPILE = ["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{CORE}"]
CHECKSUMS = CORE / "transport" / "crc.cpp"  # of segments: the driver's own


def build(name: str = "responder") -> Path:
    """The program of ``<name>.cpp``, compiled when its source is newer."""
    source, binary = HERE / f"{name}.cpp", BUILD / name
    newest = max(path.stat().st_mtime for path in (source, CHECKSUMS, *HERE.glob("*.h")))
    if not binary.exists() or binary.stat().st_mtime < newest:
        BUILD.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:  # processes that run the old one keep it
            made = Path(folder) / name
            subprocess.run(
                [*COMPILE, str(source), str(CHECKSUMS), "-o", str(made), "-ldl"], check=True, env=environment()
            )
            made.replace(binary)
    return binary


def environment() -> dict[str, str]:
    """For other programs: without the library that is preloaded into this one (a sanitizer's runtime)."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


class Responder:
    """A running responder; a context manager. It always ends with this process.

    It speaks protocol 4, or also 5. It runs on the first core, or on *all_cores*. With *tls*, ``authority`` is the PEM
    file of the CA of its certificate. *more*: answers beside those of the recording. *delay*: seconds that answers to
    EXECUTE take (protocol 4)."""

    def __init__(
        self,
        version: int = 4,
        tls: bool = False,
        more: Mapping[bytes, Answer] = MappingProxyType({}),
        delay: float = 0,
        all_cores: bool = False,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="responder-")
        folder = Path(self._folder.name)
        recording = folder / "recording"
        recording.write_bytes(load(more))
        command = [str(build()), str(recording), "0", str(version), str(round(delay * 1e6))]
        self.authority = ""
        if tls:
            certificates = Certificates.generate(folder, ["127.0.0.1"])
            self.authority = str(certificates.ca)
            command.append(str(certificates.server))
        with pinned(last=False):
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        if all_cores and CORES:
            os.sched_setaffinity(self._process.pid, CORES)
        self.answers, self.cpu = 0, 0.0  # known when it ended

    def __enter__(self) -> Responder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        printed, _ = self._process.communicate()
        self._folder.cleanup()
        if kind is None:
            answers, cpu = printed.split()
            self.answers, self.cpu = int(answers), float(cpu)

    def line(self) -> Line:
        """The responder's own CPU time per answer, once it ended: how far it is from being the limit."""
        return compared_only(f"the responder's own CPU per answer ({self.answers:,} answers)", self.cpu / self.answers)
