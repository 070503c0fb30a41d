"""python -m cassandra.bulk with columns of odd names: they come back, or are refused."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cassandra.bulk import main
from cassandra.cluster import Cluster, Session
from cassandra.testing import SimulatedCluster

Bulk = Callable[..., int]
NAMES = ["a", "ttl(a)", "two\nlines", "x,y", 'it\'s "q"', "d.o.t", "\\"]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=1) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(simulated: SimulatedCluster) -> Iterator[Session]:
    simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    columns = "".join(f", {quoted(name)} int" for name in NAMES)
    for table in ("t", "u"):
        simulated.execute(f"CREATE TABLE ks.{table} (id int PRIMARY KEY{columns})")
    with Cluster(simulated.contact_points, port=simulated.port) as cluster, cluster.connect("ks") as session:
        insert = session.prepare(f"INSERT INTO t (id, {', '.join(map(quoted, NAMES))}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        for i in range(10):
            session.execute(insert, [i, *(i * 10 + at for at in range(len(NAMES)))])
        yield session


@pytest.fixture
def bulk(session: Session, simulated: SimulatedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bulk:
    monkeypatch.chdir(tmp_path)
    session.execute("TRUNCATE u")
    where = ["--host", ",".join(simulated.contact_points), "--port", str(simulated.port), "--cqlshrc", "none"]
    return lambda *arguments: main([*arguments, *where])


@pytest.mark.parametrize("options", [["parquet"], ["arrow"], ["csv"]])
def test_names_come_back(bulk: Bulk, options: list[str]) -> None:
    assert bulk("unload", "ks.t", "--out", "out", "--format", *options) == 0
    assert bulk("load", "ks.u", "out") == 0
    assert bulk("diff", "ks.t", "ks.u") == 0


def test_names_in_files(bulk: Bulk) -> None:
    assert bulk("unload", "ks.t", "--out", "parquet") == 0
    (path,) = Path("parquet").glob("*.parquet")
    assert sorted(pq.read_schema(path).names) == sorted([*NAMES, "id"])
    assert bulk("unload", "ks.t", "--out", "csv", "--format", "csv", "--header") == 0
    (path,) = Path("csv").glob("*.csv")
    with path.open(newline="") as file:
        rows = list(csv.reader(file, doublequote=False, escapechar="\\"))
    assert sorted(rows[0]) == sorted([*NAMES, "id"]) and len(rows) == 11


def test_a_time_that_has_the_name_of_a_column(bulk: Bulk, capsys: pytest.CaptureFixture[str]) -> None:
    """Which of both a column of the file is could not be told."""
    assert bulk("unload", "ks.t", "--out", "out", "--ttl") == 2
    assert "has a column ttl(a)" in capsys.readouterr().err
    assert bulk("copy", "ks.t", "ks.u", "--ttl") == 2
    assert bulk("unload", "ks.t", "--out", "out", "--ttl", "--columns", 'id,"x,y"') == 0
