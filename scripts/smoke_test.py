"""Checks an installed fastcql from outside of its sources: `python smoke_test.py VERSION`.

It needs nothing but the wheel: the extensions are imported, requests run on the simulated cluster, synchronously and
awaited, and the command is there.
"""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
import sysconfig
from pathlib import Path

import cassandra
from cassandra.cluster import Cluster, Session
from cassandra.query import PreparedStatement
from cassandra.testing import SimulatedCluster

EXTENSIONS = ("codec", "columns", "memory", "models", "routing", "transport")
ROWS = 1000


def check_installed(version: str) -> None:
    assert cassandra.__version__ == version, f"the installed version is {cassandra.__version__}, not {version}"
    for name in EXTENSIONS:
        file = importlib.import_module(f"cassandra._core.{name}").__file__
        assert file and {"site-packages", "dist-packages"} & {*Path(file).parts}, f"{name} is not installed: {file}"


def check_requests() -> None:
    with SimulatedCluster(nodes=3, shards=2) as simulated:
        simulated.execute(
            "CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 3}"
        )
        simulated.execute("CREATE TABLE shop.orders (id int PRIMARY KEY, customer text, total decimal)")
        with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            session = cluster.connect("shop")
            insert = session.prepare("INSERT INTO orders (id, customer, total) VALUES (?, ?, ?)")
            for number in range(ROWS):
                session.execute(insert, (number, f"customer {number}", number))
            rows = {row.id: row for row in session.execute("SELECT id, customer, total FROM orders")}
            assert len(rows) == ROWS and all(rows[i].customer == f"customer {i}" for i in range(ROWS))
            asyncio.run(check_await(session))


async def check_await(session: Session) -> None:
    select = session.prepare("SELECT total FROM orders WHERE id = ?")
    totals = await asyncio.gather(*(ask(session, select, number) for number in range(ROWS)))
    assert totals == list(range(ROWS))


async def ask(session: Session, select: PreparedStatement, number: int) -> object:
    result = await session.execute_async(select, (number,))
    return result.one().total


def check_command() -> None:
    command = Path(sysconfig.get_path("scripts"), "fastcql-bulk")
    shown = subprocess.run([command, "--help"], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("usage: fastcql-bulk "), shown


if __name__ == "__main__":
    check_installed(sys.argv[1])
    check_requests()
    check_command()
    print(f"fastcql {cassandra.__version__} works on Python {sys.version.split()[0]}")
