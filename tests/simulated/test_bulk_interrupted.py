"""python -m cassandra.bulk as a process that is interrupted or killed in the middle; and what --resume makes of it."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cassandra.bulk import main
from cassandra.cluster import Cluster, Session
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Hold
from tests.patience import PATIENCE, eventually

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
ROWS = 4000
PAGES = "FROM ks.t WHERE"


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=3, shards=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(simulated: SimulatedCluster) -> Iterator[Session]:
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2} "
        "AND tablets = {'initial': 16}"
    )
    for name in ("t", "u"):
        simulated.execute(f"CREATE TABLE ks.{name} (id int PRIMARY KEY, v text)")
    with Cluster(simulated.contact_points, port=simulated.port) as cluster, cluster.connect("ks") as session:
        session.ingest("t", table_of(ROWS))
        yield session


def table_of(count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(count), pa.int32()), "v": [f"v{i}" for i in range(count)]})


class Program:
    """Runs commands in a folder, here or in a process."""

    def __init__(self, simulated: SimulatedCluster) -> None:
        where = ["--host", ",".join(simulated.contact_points), "--port", str(simulated.port), "--cqlshrc", "none"]
        self._where = [*where, "--checkpoint-every", "0.05"]

    def __call__(self, *arguments: str) -> int:
        return main([*arguments, *self._where])

    def begin(self, *arguments: str, options: Sequence[str] = ()) -> subprocess.Popen[str]:
        """*options*: of Python."""
        command = [sys.executable, *options, "-m", "cassandra.bulk", *arguments, *self._where]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def bulk(
    session: Session, simulated: SimulatedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Program]:
    monkeypatch.chdir(tmp_path)
    session.execute("TRUNCATE u")
    yield Program(simulated)
    simulated.clear_faults()


def interrupted(process: subprocess.Popen[str], is_time: Callable[[], object], number: int) -> str:
    """Send it the signal when it is time; what it wrote to stderr."""
    with process:
        try:
            eventually(lambda: is_time() or process.poll() is not None)
            process.send_signal(number)
            _, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    code = -signal.SIGKILL if number == signal.SIGKILL else 130
    assert process.returncode == code, err
    return err


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_the_program_does_not_wait_for_pandas(bulk: Program, file_format: str) -> None:
    """Which PyArrow imports to look at a text, if it is there."""
    assert importlib.util.find_spec("pandas") is not None
    with bulk.begin("unload", "ks.t", "--out", "out", "--format", file_format, options=["-X", "importtime"]) as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    imported = {line.rpartition("|")[2].strip() for line in err.splitlines()}
    assert "pyarrow._compute" in imported and "pandas.core" not in imported


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_unload(bulk: Program, simulated: SimulatedCluster, number: int) -> None:
    arguments = ["unload", "ks.t", "--out", "out", "--max-output-size", "300"]
    process = bulk.begin(*arguments)
    rule = simulated.inject(Hold(), query=PAGES, opcode="EXECUTE", after=60)
    err = interrupted(process, lambda: rule.hits and list(Path("out").glob("*.parquet")), number)
    rule.remove()
    before = {path.name: path.stat().st_mtime_ns for path in Path("out").glob("*.parquet")}
    rows = sum(pq.read_table(Path("out") / name).num_rows for name in before)
    state = json.loads(Path("out/unload.json").read_text())["state"]
    if number != signal.SIGKILL:  # after which the last file may be there without being noted
        assert "--resume" in err and not list(Path("out").glob("*.part"))
        assert {file["name"] for file in state["files"]} == set(before)
        assert 0 < rows == sum(file["rows"] for file in state["files"]) < ROWS
    assert bulk("load", "ks.u", "out") == 2
    assert bulk(*arguments, "--resume") == 0
    noted = {file["name"] for file in json.loads(Path("out/unload.json").read_text())["state"]["files"]}
    assert noted == {path.name for path in Path("out").glob("*.parquet")}
    kept = [name for name in before if (Path("out") / name).stat().st_mtime_ns == before[name]]
    assert len(kept) >= len(state["files"])
    found = [i for name in noted for i in pq.read_table(Path("out") / name)["id"].to_pylist()]
    assert sorted(found) == list(range(ROWS))
    assert bulk("load", "ks.u", "out") == 0
    assert bulk("diff", "ks.t", "ks.u") == 0


@pytest.mark.parametrize(
    ("kind", "number"), [("csv", signal.SIGINT), ("csv", signal.SIGKILL), ("parquet", signal.SIGTERM)]
)
def test_load(bulk: Program, simulated: SimulatedCluster, session: Session, number: int, kind: str) -> None:
    """Of two files the second is stopped; rows that were written stay, and the others come."""
    for name, first in (("a", 0), ("b", 1000)):
        table = table_of(ROWS).slice(first, 1000 if name == "a" else ROWS - 1000)
        if kind == "csv":
            Path(f"{name}.csv").write_text("".join(f"{row['id']},{row['v']}\n" for row in table.to_pylist()))
        else:
            pq.write_table(table, f"{name}.parquet", row_group_size=700)
    arguments = ["load", "ks.u", f"a.{kind}", f"b.{kind}"]
    process = bulk.begin(*arguments)
    rule = simulated.inject(Hold(executed=False), query="INSERT INTO ks.u", opcode="EXECUTE", after=2000)
    interrupted(process, lambda: rule.hits, number)
    rule.remove()
    written = session.execute("SELECT COUNT(*) AS n FROM ks.u").one().n
    assert 0 < written < ROWS
    if number != signal.SIGKILL:
        state = json.loads(Path("load-ks.u.json").read_text())["state"]
        assert state["file"] == 1 and 0 <= state["row"] <= 1000
    assert bulk(*arguments, "--resume") == 0
    assert bulk("diff", "ks.t", "ks.u") == 0
    assert not Path("load-ks.u.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_copy(bulk: Program, simulated: SimulatedCluster, number: int) -> None:
    process = bulk.begin("copy", "ks.t", "ks.u")
    rule = simulated.inject(Hold(), query=PAGES, opcode="EXECUTE", after=60)
    checkpoint = Path("copy-ks.t-ks.u.json")
    interrupted(process, lambda: rule.hits and (number != signal.SIGKILL or checkpoint.exists()), number)
    rule.remove()
    assert bulk("diff", "ks.t", "ks.u", "--quiet") == 1
    assert bulk("copy", "ks.t", "ks.u", "--resume") == 0
    assert bulk("diff", "ks.t", "ks.u", "--quiet") == 0


def test_count_and_diff(bulk: Program, simulated: SimulatedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    rule = simulated.inject(Hold(), query=PAGES, opcode="EXECUTE", after=60)
    interrupted(bulk.begin("count", "ks.t"), lambda: rule.hits, signal.SIGINT)
    rule.remove()
    state = json.loads(Path("count-ks.t.json").read_text())["state"]
    assert 0 < state["rows"] < ROWS
    assert bulk("count", "ks.t", "--resume") == 0
    assert capsys.readouterr().out == f"{ROWS}\n"
    assert bulk("copy", "ks.t", "ks.u", "--where", "id > 99 ALLOW FILTERING") == 0
    rule = simulated.inject(Hold(), query=PAGES, opcode="EXECUTE", after=60)
    interrupted(bulk.begin("diff", "ks.t", "ks.u"), lambda: rule.hits, signal.SIGTERM)
    rule.remove()
    assert bulk("diff", "ks.t", "ks.u", "--resume") == 1
    assert "100 only in ks.t; 0 only in ks.u; 0 different" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["load", "copy", "unload"])
def test_rows_are_counted_once(
    bulk: Program, simulated: SimulatedCluster, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that are written, or read, again are not counted again."""
    pq.write_table(table_of(ROWS), "rows.parquet")
    arguments = {
        "load": ["load", "ks.u", "rows.parquet"],
        "copy": ["copy", "ks.t", "ks.u"],
        "unload": ["unload", "ks.t", "--out", "out"],
    }[command]
    if command == "unload":
        rule = simulated.inject(Hold(), query=PAGES, opcode="EXECUTE", after=60)
    else:
        rule = simulated.inject(Hold(executed=False), query="INSERT INTO ks.u", opcode="EXECUTE", after=2000)
    interrupted(bulk.begin(*arguments), lambda: rule.hits, signal.SIGINT)
    rule.remove()
    capsys.readouterr()
    assert bulk(*arguments, "--resume") == 0
    err = capsys.readouterr().err
    assert f": {ROWS:,} rows {command if command != 'copy' else 'copi'}ed in" in err, err
