"""Run by the Python that a wheel is installed for: `python smoke.py [VERSION]`.

It needs nothing but the wheel: the extensions are imported, and requests of all kinds go to the simulated cluster. With
a version, the package must have it, and the command ``fastcql-bulk`` must run.
"""

import asyncio
import contextlib
import importlib
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path

import cassandra
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.testing import SimulatedCluster

PATIENCE = 300.0  # seconds: the processor may be emulated
EXTENSIONS = ("codec", "columns", "memory", "models", "routing", "transport")


def main() -> None:
    for name in EXTENSIONS:
        module = importlib.import_module(f"cassandra._core.{name}")
        assert not (Path(str(module.__file__)).parents[2] / "setup.py").exists(), module.__file__
    with SimulatedCluster(nodes=3, shards=2) as simulated:
        simulated.execute(
            "CREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 3}"
        )
        simulated.execute("CREATE TABLE k.t (id int PRIMARY KEY, name text, at timestamp, some list<bigint>)")
        with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            session = cluster.connect("k")
            session.default_timeout = PATIENCE
            insert = session.prepare("INSERT INTO t (id, name, some) VALUES (?, ?, ?)")
            select = session.prepare("SELECT name, some FROM t WHERE id = ?")
            session.execute(insert, (1, "one", [1, 2]))
            row = session.execute(select, (1,)).one()
            assert (row.name, row.some) == ("one", [1, 2]), row
            execute_concurrent_with_args(session, insert, [(i, str(i), [i]) for i in range(500)])
            assert len(session.execute("SELECT id FROM t").all()) == 500

            async def several() -> list[str]:
                found = await asyncio.gather(*(session.execute_async(select, (i,)) for i in range(50)))
                return [result.one().name for result in found]

            assert asyncio.run(several()) == [str(i) for i in range(50)]
            try:
                session.execute("SELECT no_such_column FROM t")
            except cassandra.InvalidRequest:
                pass
            else:
                raise AssertionError("an invalid query was accepted")
    print(f"Python {sys.version.split()[0]}", flush=True)


def check_installed(version: str) -> None:
    assert cassandra.__version__ == version, f"the installed version is {cassandra.__version__}, not {version}"
    command = Path(sysconfig.get_path("scripts"), "fastcql-bulk")
    shown = subprocess.run([command, "--help"], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("usage: fastcql-bulk "), shown


def leave_at_work() -> None:
    """Return while threads are in native code that called Python.

    Before 3.14 Python ends such threads by pthread_exit() while it finalizes, which unwinds the native frames.
    """
    simulated = SimulatedCluster().start()
    session = Cluster(simulated.contact_points, port=simulated.port).connect()

    def slow_rows(names: object, rows: object) -> object:
        time.sleep(1)
        return rows

    def requests() -> None:
        with contextlib.suppress(Exception):
            while True:
                session.execute("SELECT key FROM system.local").all()

    session.row_factory = slow_rows
    for _ in range(8):
        threading.Thread(target=requests, daemon=True).start()
    time.sleep(0.5)
    vars(sys)["finalized_late"] = Late()


class Late:
    def __del__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        sleep(2)  # longer than the threads


if __name__ == "__main__":
    if sys.argv[1:]:
        check_installed(sys.argv[1])
    main()
    leave_at_work()
