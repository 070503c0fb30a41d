"""The drivers we compare with, each of one version and in a virtual environment of its own.

Made on first use from PyPI, at the root of the checkout; ``python -m benchmarks.peers scylla-driver`` prints the
interpreter. Several processes may ask at once: a lock in ``build/`` lets one of them install.
"""

from __future__ import annotations

import contextlib
import fcntl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "build" / "peers.lock"


class Peer(NamedTuple):
    """A driver on PyPI, with the version that figures are about."""

    name: str
    version: str
    folder: Path
    tools: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def interpreter(self) -> Path:
        """The Python that has this driver; makes its environment when there is none, or one of another version.

        Raises ``subprocess.CalledProcessError`` when it cannot be installed."""
        with _locked():
            return self._made()

    def _made(self) -> Path:
        python, ready = self.folder / "bin" / "python", self.folder / "-".join(("ready", self.version, *self.tools))
        if ready.exists() and python.exists():
            return python
        print(f"Installing {self} into {self.folder.name} …", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", self.folder], check=True)
        pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"{self.name}=={self.version}", *TOOLS, *self.tools], check=True)
        ready.touch()
        return python


TOOLS = ("pyperf", "pympler")
SCYLLA = Peer("scylla-driver", "3.29.12", ROOT / ".venv-scylla", ("lz4",))
SCYLLA_NUMPY = SCYLLA._replace(folder=ROOT / ".venv-scylla-numpy", tools=("lz4", "numpy"))
SCYLLA_ARROW = SCYLLA._replace(folder=ROOT / ".venv-scylla-arrow", tools=("lz4", "pyarrow"))
SCYLLA_PANDAS = SCYLLA._replace(folder=ROOT / ".venv-scylla-pandas", tools=("lz4", "pandas"))
CASSANDRA = Peer("cassandra-driver", "3.30.1", ROOT / ".venv-cassandra")
CASSANDRA_GEVENT = CASSANDRA._replace(folder=ROOT / ".venv-cassandra-gevent", tools=("gevent",))
CASSANDRA_PANDAS = CASSANDRA._replace(folder=ROOT / ".venv-cassandra-pandas", tools=("pandas",))
ACSYLLA = Peer("acsylla", "1.2.0", ROOT / ".venv-acsylla", ("uvloop",))
ACSYLLA_PANDAS = ACSYLLA._replace(folder=ROOT / ".venv-acsylla-pandas", tools=("pandas",))
SCYLLAPY = Peer("scyllapy", "1.3.3", ROOT / ".venv-scyllapy", ("uvloop",))
SCYLLAPY_PANDAS = SCYLLAPY._replace(folder=ROOT / ".venv-scyllapy-pandas", tools=("pandas",))
SCYLLA_RS = Peer("scylladb-rs-driver", "0.2.0", ROOT / ".venv-scylla-rs", ("uvloop",))
SCYLLA_RS_PANDAS = SCYLLA_RS._replace(folder=ROOT / ".venv-scylla-rs-pandas", tools=("pandas",))
CQLSH = Peer("cqlsh", "6.2.2", ROOT / ".venv-cqlsh")  # with cassandra-driver
PEERS = {peer.name: peer for peer in (SCYLLA, CASSANDRA, ACSYLLA, SCYLLAPY, SCYLLA_RS)}


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    print(PEERS[sys.argv[1]].interpreter())
