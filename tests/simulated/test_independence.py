"""The simulation shares nothing with the driver: a mistake in the one is no mistake in the other, and tests see it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.test_sourcecode import ROOT, imports

PACKAGE = ROOT / "cassandra" / "testing"

ALONE = """
import socket, sys, types

package = types.ModuleType("cassandra")  # without the driver's own __init__
package.__path__ = [sys.argv[1]]
sys.modules["cassandra"] = package
allowed = ("cassandra", "cassandra.testing")


class NothingElse:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("cassandra.") and name not in allowed and not name.startswith("cassandra.testing."):
            raise ImportError(f"the simulation wants {name}")


sys.meta_path.insert(0, NothingElse())
from cassandra.testing import SimulatedCluster

with SimulatedCluster(2, 2) as simulated:
    simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v text)")
    simulated.execute("INSERT INTO ks.t (id, v) VALUES (1, 'x')")
    with socket.create_connection((simulated.nodes[0].address, simulated.port), 30) as client:
        client.sendall(b"\\x04\\0\\0\\0\\x05\\0\\0\\0\\0")
        assert client.recv(9)[4] == 6
    print(simulated.execute("SELECT v FROM ks.t WHERE id = 1"))
"""


def test_no_module_of_the_driver_is_imported() -> None:
    """Not even in a function."""
    wrong = [
        f"{path.name}:{line}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in imports(path)
        if name != "cassandra.testing" and not name.startswith("cassandra.testing.")
    ]
    assert not wrong, "\n".join(wrong)


def test_it_runs_where_there_is_no_driver(tmp_path: Path) -> None:
    """In an interpreter in which every other module of the package is missing."""
    command = [sys.executable, "-c", ALONE, str(ROOT / "cassandra")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "[{'v': 'x'}]\n"), done.stderr
