"""python -m cassandra.bulk over three nodes with tablets: effects, output and exit code of each command."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cassandra._bulk import unloading
from cassandra._bulk.console import ProgressDisplay
from cassandra.bulk import main
from cassandra.cluster import Cluster, Session
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail

ROWS = 3000
SCHEMA = [
    "CREATE TABLE ks.{} (id int PRIMARY KEY, name text, v bigint)",
    "CREATE TABLE ks.events_{} (day int, at bigint, place text STATIC, what text, PRIMARY KEY (day, at))",
]

Bulk = Callable[..., int]


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=3, shards=4) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(simulated: SimulatedCluster) -> Iterator[Session]:
    """``ks.t`` has rows, ``ks.u`` none; the same for ``events_t`` and ``events_u``."""
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2} "
        "AND tablets = {'initial': 8}"
    )
    for name in ("t", "u"):
        for text in SCHEMA:
            simulated.execute(text.format(name))
    with Cluster(simulated.contact_points, port=simulated.port) as cluster, cluster.connect("ks") as session:
        session.ingest("t", table_of(ROWS))
        for day in range(5):
            session.execute("INSERT INTO events_t (day, place) VALUES (%s, %s)", (day, f"place {day}"))
            for at in range(day * 40):
                values = (day, at, None if at % 3 else f'{at}, "{day}"\n')
                session.execute("INSERT INTO events_t (day, at, what) VALUES (%s, %s, %s)", values)
        yield session


@pytest.fixture
def bulk(session: Session, simulated: SimulatedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bulk:
    """Runs a command where the cluster is."""
    monkeypatch.chdir(tmp_path)
    session.execute("TRUNCATE u")
    session.execute("TRUNCATE events_u")
    simulated.clear_requests()
    where = ["--host", ",".join(simulated.contact_points), "--port", str(simulated.port), "--cqlshrc", "none"]

    def run(*arguments: str) -> int:
        return main([*arguments, *where])

    return run


def table_of(count: int) -> pa.Table:
    ids = range(count)
    names = [None if i % 10 == 0 else f"name {i}" if i % 7 else "" for i in ids]
    return pa.table({"id": pa.array(ids, pa.int32()), "name": names, "v": pa.array(ids, pa.int64())})


def test_count(bulk: Bulk, capsys: pytest.CaptureFixture[str]) -> None:
    assert bulk("count", "ks.t") == 0
    out, err = capsys.readouterr()
    assert out == f"{ROWS}\n"
    assert f"count ks.t: {ROWS:,} rows counted in" in err and "rows/s" in err
    assert bulk("count", "ks.t", "--where", "v < 100 ALLOW FILTERING", "--quiet") == 0
    assert capsys.readouterr().out == "100\n"
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("name", ["t", "events_t"])
@pytest.mark.parametrize(
    "options", [["parquet"], ["arrow"], ["csv"], ["csv", "--escape", '"', "--delimiter", "\\t"], ["jsonl"]]
)
def test_load_after_unload(bulk: Bulk, name: str, options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unloading, "MOST_HELD", 4000)  # so that ranges get files of their own
    assert bulk("unload", f"ks.{name}", "--out", "out", "--max-output-size", "500", "--format", *options) == 0
    files = {path.name for path in Path("out").iterdir()}
    assert files > {f"ks.{name}-000001.{options[0]}", "unload.json"} and len(files) > (5 if name == "t" else 2)
    other = name.replace("t", "u") if name == "t" else "events_u"
    assert bulk("diff", f"ks.{name}", f"ks.{other}", "--quiet") == 1
    assert bulk("load", f"ks.{other}", "out") == 0
    assert bulk("diff", f"ks.{name}", f"ks.{other}", "--quiet") == 0
    assert sorted(path.name for path in Path().iterdir()) == ["out"]


def test_an_empty_table(bulk: Bulk) -> None:
    for name in ("parquet", "csv"):
        assert bulk("unload", "ks.u", "--out", name, "--format", name) == 0
        assert [path.name for path in Path(name).iterdir()] == ["unload.json"]
        assert bulk("load", "ks.u", name) == 0
    assert bulk("copy", "ks.u", "ks.u2") == 2
    assert bulk("unload", "ks.t", "--out", "out", "--format", "csv", "--where", "id = 7") == 0
    assert bulk("load", "ks.u", "out", "--columns", "v,id") == 0
    assert bulk("diff", "ks.t", "ks.u", "--columns", "v", "--where", "id = 7") == 0
    assert bulk("diff", "ks.t", "ks.u", "--where", "id = 7") == 1


def test_unload_of_a_part(bulk: Bulk) -> None:
    arguments = ["--columns", "v,id", "--where", "v >= 2990 ALLOW FILTERING"]
    assert bulk("unload", "ks.t", "--out", "deep/er", *arguments) == 0
    table = pq.read_table(next(Path("deep/er").glob("*.parquet")))
    assert table.schema.names == ["v", "id"]
    assert sorted(table["id"].to_pylist()) == list(range(2990, 3000))
    assert bulk("unload", "ks.t", "--out", "left", "--end-token", "0") == 0
    assert bulk("unload", "ks.t", "--out", "right", "--begin-token", "0") == 0
    rows = [sum(pq.read_table(path).num_rows for path in Path(side).glob("*.parquet")) for side in ("left", "right")]
    assert sum(rows) == ROWS and all(rows)


def test_unload_to_where_something_is(bulk: Bulk, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    Path("out/mine").touch()
    assert bulk("unload", "ks.t", "--out", "out") == 2
    Path("out/mine").unlink()
    assert bulk("unload", "ks.t", "--out", "out") == 0
    assert bulk("unload", "ks.t", "--out", "out") == 2
    assert "--resume" in capsys.readouterr().err
    assert bulk("unload", "ks.t", "--out", "out", "--resume") == 0  # and nothing is left to do
    assert bulk("unload", "ks.events_t", "--out", "out", "--resume") == 2
    next(Path("out").glob("*.parquet")).unlink()
    assert bulk("unload", "ks.t", "--out", "out", "--resume") == 2


def test_load_of_dictionaries_within_lists_in_several_row_groups(bulk: Bulk, session: Session, simulated: Any) -> None:
    simulated.execute("CREATE TABLE IF NOT EXISTS ks.lists (id int PRIMARY KEY, words list<text>)")
    words = [["a"], ["b", "c"], ["a"]]
    kind = pa.list_(pa.dictionary(pa.int8(), pa.string()))
    pq.write_table(pa.table({"id": pa.array(range(3), pa.int32()), "words": pa.array(words, kind)}), "w.parquet", 1)
    assert bulk("load", "ks.lists", "w.parquet") == 0
    assert sorted((row.id, row.words) for row in session.execute("SELECT * FROM ks.lists")) == [*enumerate(words)]


def test_load_of_files(bulk: Bulk, session: Session) -> None:
    Path("a.csv").write_text("1,one,\n2,,22\n")
    Path("b.csv").write_text('3,"",33\n')
    assert bulk("load", "ks.u", "a.csv", "b.csv") == 0
    found = {tuple(row) for row in session.execute("SELECT * FROM ks.u")}
    assert found == {(1, "one", None), (2, None, 22), (3, "", 33)}
    pq.write_table(pa.table({"id": [7], "v": ["77"]}), "c.parquet")
    assert bulk("load", "ks.u", "c.parquet", "--ttl", "1000", "--timestamp", "5") == 0
    row = session.execute("SELECT v, TTL(v) AS t, WRITETIME(v) AS w FROM ks.u WHERE id = 7").one()
    assert row.v == 77 and 0 < row.t <= 1000 and row.w == 5


def test_parts_of_files(bulk: Bulk, session: Session) -> None:
    for number, name in enumerate("abc"):
        lines = [f"{i},x,{i}" for i in range(number * 10, number * 10 + 10)]
        Path(f"{name}.csv").write_text("\n".join(["v,other,id", *lines]) + "\n")
    files = ["a.csv", "b.csv", "c.csv", "--header"]
    assert bulk("load", "ks.u", *files) == 2
    assert bulk("load", "ks.u", *files, "--skip-cols", "other", "--skip-rows", "12", "--max-rows", "23") == 0
    assert sorted(row.id for row in session.execute("SELECT id FROM ks.u")) == list(range(12, 23))
    assert bulk("load", "ks.u", "a.csv", "--header", "--columns", "id") == 0
    assert session.execute("SELECT v FROM ks.u WHERE id = 3").one().v is None


def test_rows_that_cannot_be_loaded(bulk: Bulk, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{i},name,{i}" for i in range(30)]
    lines[3], lines[5], lines[7], lines[9] = "3,name", "x,name,5", ",name,7", "9,name,99999999999999999999"
    Path("bad.csv").write_text("\n".join(lines))
    assert bulk("load", "ks.u", "bad.csv") == 1
    err = capsys.readouterr().err
    assert "26 rows loaded" in err and "1 failed" in err and "3 unreadable" in err
    wrong = Path("load-ks.u.err").read_text().splitlines()
    assert sorted(int(line.split("line ")[1].split(":")[0]) for line in wrong) == [4, 6, 8, 10]
    assert Path("load-ks.u.bad").read_text().splitlines() == [lines[i] for i in (3, 5, 7, 9)]
    assert {row.id for row in session.execute("SELECT id FROM ks.u")} == {*range(30)} - {3, 5, 7, 9}
    assert bulk("load", "ks.u", "bad.csv", "--max-parse-errors", "1", "--err-file", "e") == 1
    assert Path("load-ks.u.json").exists() and len(Path("e").read_text().splitlines()) == 2


def test_too_many_that_fail(bulk: Bulk, simulated: SimulatedCluster) -> None:
    pq.write_table(table_of(200), "t.parquet")
    with simulated.inject(Fail(errors.InvalidRequest("no")), query="INSERT INTO ks.u", opcode="EXECUTE"):
        assert bulk("load", "ks.u", "t.parquet", "--max-insert-errors", "5") == 1
        assert bulk("load", "ks.u", "t.parquet", "--max-insert-errors", "-1") == 1
        assert len(Path("load-ks.u.err").read_text().splitlines()) == 200
    assert bulk("load", "ks.u", "t.parquet") == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["load", "ks.none", "f.csv"],
        ["load", "none.u", "f.csv"],
        ["load", "ks.u", "missing.csv"],
        ["load", "ks.u", "empty"],
        ["load", "ks.u", "f.parquet"],
        ["load", "ks.u", "f.csv", "--columns", "id,nowhere,v"],
        ["load", "ks.u", "f.csv", "--columns", "name,v,name"],
        ["load", "ks.u", "f.csv", "--columns", "v,name"],
        ["load", "ks.u", "f.csv", "--consistency", "SOME"],
        ["count", "ks.t", "--where", "v IN (1, 2)"],
        ["unload", "ks.t", "--out", "x", "--columns", "nowhere"],
        ["copy", "ks.t", "ks.t"],
        ["copy", "ks.t", "ks.events_u"],
        ["diff", "ks.t", "ks.events_u"],
    ],
)
def test_invalid_arguments_exit_with_code_2_and_write_nothing(
    bulk: Bulk, arguments: list[str], simulated: SimulatedCluster
) -> None:
    Path("f.csv").write_text("1,a,2\n")
    Path("f.parquet").write_text("no parquet")
    Path("empty").mkdir()
    assert bulk(*arguments) == 2
    assert not [one for one in simulated.requests if one.query and one.query.startswith("INSERT")]


def test_unreachable_cluster_exits_with_code_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", "ks.t", "--host", "127.0.0.1", "--port", "1", "--cqlshrc", "none"]) == 3
    assert "127.0.0.1" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["t", "events_t"])
def test_copy(bulk: Bulk, name: str, simulated: SimulatedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    other = "u" if name == "t" else "events_u"
    to = f"{simulated.contact_points[0]}:{simulated.port}"
    assert bulk("copy", f"ks.{name}", f"ks.{other}", "--to", to) == 0
    assert "rows copied in" in capsys.readouterr().err
    assert bulk("diff", f"ks.{name}", f"ks.{other}", "--to", to) == 0


def test_diff_lists_missing_extra_and_different_rows(
    bulk: Bulk, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bulk("copy", "ks.events_t", "ks.events_u") == 0
    session.execute("DELETE FROM ks.events_u WHERE day = 1")
    session.execute("DELETE FROM ks.events_u WHERE day = 4 AND at = 5")
    session.execute("INSERT INTO ks.events_u (day, at, what) VALUES (4, 1000, 'new')")
    session.execute("INSERT INTO ks.events_u (day, at, what) VALUES (9, 9, 'new')")
    session.execute("UPDATE ks.events_u SET what = 'other' WHERE day = 4 AND at = 7")
    capsys.readouterr()
    assert bulk("diff", "ks.events_t", "ks.events_u") == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert sorted(line for line in lines if "day=1" not in line) == [
        "! day=4 at=7: what",
        "< day=4 at=5",
        "> day=4 at=1000",
        "> day=9 at=9",
    ]
    assert sorted(line for line in lines if "day=1" in line) == sorted(f"< day=1 at={at}" for at in range(40))
    assert "41 only in ks.events_t" in err and "2 only in ks.events_u" in err and "1 different" in err
    assert bulk("diff", "ks.events_t", "ks.events_u", "--show", "3") == 1
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 4 and "41 only in" in err
    assert bulk("diff", "ks.events_t", "ks.events_u", "--columns", "what", "--where", "day = 4 AND at < 4") == 0
    where = "at >= 6 AND at < 100 AND what = 'no' ALLOW FILTERING"
    assert bulk("diff", "ks.events_t", "ks.events_u", "--where", where) == 0


def test_times_of_values(bulk: Bulk, session: Session) -> None:
    session.execute("INSERT INTO ks.u (id, v) VALUES (5000, -1) USING TTL 7000 AND TIMESTAMP 12345")
    assert bulk("unload", "ks.u", "--out", "out", "--ttl", "--writetime", "--format", "csv") == 0
    session.execute("TRUNCATE ks.u")
    assert bulk("load", "ks.u", "out") == 0
    row = session.execute("SELECT TTL(v) AS t, WRITETIME(v) AS w FROM ks.u WHERE id = 5000").one()
    assert row.w == 12345 and 0 < row.t <= 7000


def test_load_refuses_files_of_an_incomplete_unload(bulk: Bulk) -> None:
    assert bulk("unload", "ks.t", "--out", "out", "--format", "csv", "--header") == 0
    manifest = json.loads(Path("out/unload.json").read_text())
    assert manifest["state"]["complete"] and sum(file["rows"] for file in manifest["state"]["files"]) == ROWS
    manifest["state"]["complete"] = False
    Path("out/unload.json").write_text(json.dumps(manifest))
    assert bulk("load", "ks.u", "out") == 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_and_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassandra._bulk.console.PRINT_INTERVAL", 0.0)
    log, terminal = io.StringIO(), Terminal()
    for stream in (log, terminal):
        with ProgressDisplay("count ks.t", stream=stream) as showing:
            showing.update(1000, 0.25)
            showing.note("[a note]")
            showing.update(4000, 1.0)
        showing.summary("counted", "more")
        assert "[a note]" in stream.getvalue() and "4,000 rows counted in" in stream.getvalue()
    assert log.getvalue().splitlines()[0].startswith("count ks.t: 25.0%, 1,000 rows, ")
    assert "\r" not in log.getvalue() and "100.0%, 4,000 rows, " in terminal.getvalue()
    quiet: Any = Terminal()
    with ProgressDisplay("count ks.t", quiet=True, stream=quiet) as showing:
        showing.update(1000, 0.25)
    assert quiet.getvalue() == ""
