"""python -m cassandra.bulk with pipes, single files, JSON lines and compressed files; processes that are connected."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from cassandra.bulk import main
from cassandra.cluster import Cluster, Session
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Hold
from tests.patience import PATIENCE, eventually

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
ROWS = 1000


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=2, shards=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(simulated: SimulatedCluster) -> Iterator[Session]:
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1} "
        "AND tablets = {'initial': 8}"
    )
    for name in ("t", "u"):
        simulated.execute(f"CREATE TABLE ks.{name} (id int PRIMARY KEY, v text, m map<int, text>)")
    with Cluster(simulated.contact_points, port=simulated.port) as cluster, cluster.connect("ks") as session:
        texts = [None if i % 10 == 0 else f'v{i}\n"é",' if i % 3 else "" for i in range(ROWS)]
        maps = [[(i, "x"), (-i - 1, "'y'")] if i % 4 else None for i in range(ROWS)]
        session.ingest(
            "t",
            pa.table({"id": pa.array(range(ROWS), pa.int32()), "v": texts, "m": pa.array(maps, pa.map_("i4", "str"))}),
        )
        yield session


class Program:
    """Runs commands in a folder, here or as processes of a shell."""

    def __init__(self, simulated: SimulatedCluster) -> None:
        self._where = ["--host", ",".join(simulated.contact_points), "--port", str(simulated.port), "--cqlshrc", "none"]

    def __call__(self, *arguments: str) -> int:
        return main([*arguments, *self._where])

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-W", "error", "-m", "cassandra.bulk", *arguments, *self._where]

    def begin(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen(self.command(*arguments), env=self.environment, text=True, **options)

    def run(self, *arguments: str, given: bytes = b"") -> tuple[int, bytes, str]:
        """Exit code, output and messages of a process with this input."""
        done = subprocess.run(
            self.command(*arguments), env=self.environment, input=given, capture_output=True, timeout=PATIENCE
        )
        return done.returncode, done.stdout, done.stderr.decode()

    def shell(self, text: str) -> tuple[str, str]:
        """Output and messages of a shell, in which ``bulk`` is the program with its connection."""
        words = " ".join(self.command())
        where = " ".join(self._where)
        function = f'bulk() {{ {words.removesuffix(where)} "$@" {where}; }}\n'
        done = subprocess.run(
            ["bash", "-c", function + text], env=self.environment, capture_output=True, text=True, timeout=PATIENCE
        )
        return done.stdout, done.stderr

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(":")])}


@pytest.fixture
def bulk(
    session: Session, simulated: SimulatedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Program]:
    monkeypatch.chdir(tmp_path)
    session.execute("TRUNCATE u")
    yield Program(simulated)
    simulated.clear_faults()


def ids(session: Session) -> list[int]:
    return sorted(row.id for row in session.execute("SELECT id FROM u"))


# ---- files


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.ndjson.zst", "a.parquet", "a.arrow"])
def test_one_file_has_the_format_of_its_suffixes(bulk: Program, name: str) -> None:
    assert bulk("unload", "ks.t", "--out", name) == 0
    data = Path(name).read_bytes()
    begin = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd", "parquet": b"PAR1", "arrow": b"ARROW1", "jsonl": b'{"id": '}
    assert data.startswith(begin.get(name.rpartition(".")[2], b""))
    assert [path.name for path in Path().iterdir()] == [name]
    assert bulk("load", "ks.u", name) == 0
    assert bulk("diff", "ks.t", "ks.u") == 0
    assert bulk("unload", "ks.t", "--out", name) == 2  # it exists
    assert Path(name).read_bytes() == data


@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_folder_of_compressed_files(bulk: Program, file_format: str, compression: str) -> None:
    options = ["--format", file_format, "--compression", compression, "--max-output-size", "300"]
    assert bulk("unload", "ks.t", "--out", "out", *options) == 0
    suffix = f".{file_format}{ {'gzip': '.gz', 'zstd': '.zst'}[compression] }"
    files = {path.name for path in Path("out").iterdir()} - {"unload.json"}
    assert len(files) > 1 and all(name.endswith(suffix) for name in files)
    assert bulk("load", "ks.u", "out") == 0
    assert bulk("diff", "ks.t", "ks.u") == 0


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl", "e.parquet", "e.arrow", "e.csv.gz", "e.jsonl.zst"])
def test_a_file_of_no_rows(bulk: Program, name: str) -> None:
    arguments = ["--out", name, "--columns", "v,id", "--where", "id = -1"]
    assert bulk("unload", "ks.t", *arguments, "--header") == 0
    assert bulk("load", "ks.u", name, "--header") == 0
    if name == "e.csv":
        assert Path(name).read_bytes() == b"v,id\r\n"
    if name == "e.parquet":
        assert pq.read_table(name).schema.names == ["v", "id"]


def test_other_programs_read_the_files(bulk: Program) -> None:
    assert bulk("unload", "ks.t", "--out", "a.jsonl.gz", "--where", "id = 5") == 0
    with gzip.open("a.jsonl.gz") as file:
        assert [json.loads(line) for line in file] == [{"id": 5, "m": {"-6": "'y'", "5": "x"}, "v": 'v5\n"é",'}]


@pytest.mark.parametrize(
    "arguments",
    [
        ["unload", "ks.t", "--out", "-", "--resume"],
        ["unload", "ks.t", "--out", "a.csv", "--resume"],
        ["unload", "ks.t", "--out", "a.parquet.gz"],
        ["unload", "ks.t", "--out", "o", "--compression", "gzip"],
        ["load", "ks.u", "-", "-"],
        ["load", "ks.u", "-", "--resume"],
        ["load", "ks.u", "p.parquet", "--compression", "gzip"],
        ["load", "ks.u", "p.parquet", "folder"],
        ["count", "ks.t", "--rate", "5"],
        ["unload", "ks.t", "--out", "x", "--rate", "0"],
        ["count", "ks.t", "--give-up", "soon"],
        ["count", "ks.t", "--key", "k.pem"],
        ["count", "ks.t", "--ca", "missing.pem"],
        ["count", "t", "-k", "none"],
    ],
)
def test_invalid_arguments(bulk: Program, arguments: list[str]) -> None:
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), "p.parquet")
    Path("folder").mkdir()
    assert bulk(*arguments) == 2
    assert sorted(path.name for path in Path().iterdir()) == ["folder", "p.parquet"]


def test_keyspace_and_short_options(bulk: Program, capsys: pytest.CaptureFixture[str]) -> None:
    assert bulk("count", "t", "-k", "ks", "-q") == 0
    assert bulk("count", "ks.t", "-k", '"None"', "-q") == 0
    assert capsys.readouterr().out == f"{ROWS}\n" * 2
    assert bulk("unload", "t", "-k", "ks", "-o", "a.csv", "-d", ";", "-c", "id") == 0
    assert bulk("load", "u", "-k", "ks", "a.csv", "-d", ";", "-c", "id") == 0
    assert bulk("count", "t") == 2
    assert "no keyspace for table 't': use ks.table or --keyspace" in capsys.readouterr().err


# ---- pipes


@pytest.mark.parametrize(
    "options",
    [
        "", "--header --null N/A", "--encoding utf16", "-f jsonl", "-f jsonl --compression zstd",
        "-f csv --compression gzip", "-f parquet", "-f arrow",
    ],
)  # fmt: skip
def test_from_one_process_to_another(bulk: Program, options: str) -> None:
    out, err = bulk.shell(f"bulk unload ks.t --out - {options} | bulk load ks.u - {options}; echo ${{PIPESTATUS[@]}}")
    assert out == "0 0\n", err
    assert f"unload ks.t: {ROWS:,} rows unloaded" in err and f"load ks.u: {ROWS:,} rows loaded" in err
    assert bulk("diff", "ks.t", "ks.u", "--quiet") == 0


def test_named_pipes(bulk: Program) -> None:
    os.mkfifo("p.jsonl")
    out, err = bulk.shell(
        "bulk unload ks.t --out p.jsonl & bulk load ks.u p.jsonl; echo $?; wait\n"
        "bulk load ks.u <(bulk unload ks.t --out /dev/stdout --header) --header; echo $?"
    )
    assert out == "0\n0\n", err
    assert bulk("diff", "ks.t", "ks.u", "--quiet") == 0


def test_the_stream_of_arrow(bulk: Program, session: Session) -> None:
    code, out, err = bulk.run("unload", "ks.t", "--out", "-", "--format", "arrow", "--columns", "id")
    assert code == 0, err
    assert sorted(pyarrow.ipc.open_stream(out).read_all()["id"].to_pylist()) == list(range(ROWS))


@pytest.mark.parametrize("command", ["unload ks.t --out -", "diff ks.t ks.u", "count ks.t"])
def test_a_reader_that_has_enough(bulk: Program, command: str) -> None:
    """As ``head``: no message, and the code of a program that SIGPIPE has ended."""
    reader = "true" if command.startswith("count") else "head -1"
    out, err = bulk.shell(f"bulk {command} --quiet | ({reader}; exec <&-; sleep 1); echo ${{PIPESTATUS[0]}}")
    assert out.splitlines()[-1] == "141" and (err == "" or command.startswith("count"))
    assert not list(Path().glob("*.part"))


def test_a_full_disk(bulk: Program) -> None:
    out, err = bulk.shell("bulk unload ks.t --out - > /dev/full; echo $?")
    assert out == "3\n"
    assert "No space left on device: 'stdout'" in err and "stdout is incomplete: 0 rows were written" in err


def test_compressed_input_without_the_option(bulk: Program, session: Session) -> None:
    code, _, err = bulk.run("load", "ks.u", "-", given=gzip.compress(b"1,x,\n"))
    assert code == 2 and "stdin is compressed with gzip: use --compression gzip" in err
    assert ids(session) == []


def test_rows_arrive_while_the_pipe_is_open(bulk: Program, session: Session) -> None:
    with bulk.begin("load", "ks.u", "-", "--columns", "id") as process:
        assert process.stdin is not None
        process.stdin.write("100000001\n100000002\n1")
        process.stdin.flush()
        eventually(lambda: ids(session) == [100000001, 100000002])
        assert process.poll() is None
        process.stdin.write("2\n")
        process.stdin.close()
        process.stdin = None
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and "3 rows loaded" in err
    assert ids(session) == [12, 100000001, 100000002]


@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
def test_rejected_rows_of_a_pipe_are_loaded_after_their_correction(
    bulk: Program, session: Session, file_format: str
) -> None:
    """They are as they were, though a pipe is read once."""
    if file_format == "csv":
        lines = [f"{'x' if i % 100 == 7 else ''}{i}" for i in range(ROWS)]
        bad = "load-ks.u.bad"
    else:
        lines = [json.dumps({"id": f"x{i}" if i % 100 == 7 else i}) for i in range(ROWS)]
        bad = "load-ks.u.jsonl.bad"
    given = "\n".join((["id"] if file_format == "csv" else []) + lines).encode()
    options = ["--header", "--checkpoint-every", "0.01", "--format", file_format]
    code, _, err = bulk.run("load", "ks.u", "-", *options, given=given)
    assert code == 1 and f"{ROWS // 100} unreadable; see load-ks.u.err, {bad}" in err
    kept = Path(bad).read_text().splitlines()
    assert kept == ["id"] * (file_format == "csv") + [line for line in lines if "x" in line]
    reasons = Path("load-ks.u.err").read_text().splitlines()
    first = 2 if file_format == "csv" else 1
    assert [line.split(":")[1] for line in reasons] == [f" line {i + first}" for i in range(7, ROWS, 100)]
    assert all(": id: invalid int: 'x" in line for line in reasons)
    Path(bad).write_text(Path(bad).read_text().replace("x", ""))
    assert bulk("load", "ks.u", bad, "--header") == 0
    assert ids(session) == list(range(ROWS))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_load_of_a_pipe(
    bulk: Program, session: Session, simulated: SimulatedCluster, number: int
) -> None:
    """It says how many rows of the input to skip."""
    lines = [f"{i},v{i}\n" for i in range(4000)]
    Path("rows").write_text("".join(lines))
    rule = simulated.inject(Hold(executed=False), query="INSERT INTO ks.u", opcode="EXECUTE", after=1500)
    with Path("rows").open() as given, bulk.begin("load", "ks.u", "-", "-c", "id,v", stdin=given) as process:
        eventually(lambda: rule.hits)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    rule.remove()
    assert process.returncode == 130, err
    assert not Path("load-ks.u.json").exists()
    (skip,) = [line.split("--skip-rows ")[1].split()[0] for line in err.splitlines() if "--skip-rows" in line]
    assert set(range(int(skip))) <= set(ids(session))
    assert bulk.run("load", "ks.u", "-", "-c", "id,v", "--skip-rows", skip, given="".join(lines).encode())[0] == 0
    assert ids(session) == list(range(4000))


@pytest.mark.parametrize("out", ["-", "a.csv"])
def test_an_interrupted_unload(bulk: Program, simulated: SimulatedCluster, out: str) -> None:
    rule = simulated.inject(Hold(), query="FROM ks.t WHERE", opcode="EXECUTE", after=10)
    with bulk.begin("unload", "ks.t", "--out", out) as process:
        eventually(lambda: rule.hits)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert ("stdout is incomplete: " if out == "-" else "a.csv was not written") in err
    assert list(Path().iterdir()) == []


# ---- damaged data


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
def test_damaged_files_tell_what_was_loaded(
    bulk: Program, session: Session, compression: str, file_format: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("cassandra._bulk.csv_scan.BLOCK", 4096)
    name = f"a.{file_format}" + {"gzip": ".gz", "zstd": ".zst"}[compression]
    assert bulk("unload", "ks.t", "--out", name) == 0
    whole = Path(name).read_bytes()
    Path(name).write_bytes(whole[: len(whole) * 2 // 3])
    capsys.readouterr()
    assert bulk("load", "ks.u", name) == 3
    err = capsys.readouterr().err
    assert f"{name}: the {compression} data is damaged or incomplete after" in err
    if "; no rows were loaded" in err:  # it was found when the file was opened
        return
    (line,) = [line for line in err.splitlines() if "rows were loaded, all before row" in line]
    count = int(line.split(" rows were")[0].replace(",", ""))
    assert f"all before row {count} of {name}" in line and line.endswith(f"else --skip-rows {count}")
    assert len(ids(session)) == count
    Path(name).write_bytes(whole)
    assert bulk("load", "ks.u", name, "--resume") == 2  # another file than that of the checkpoint
    assert bulk("load", "ks.u", name, "--skip-rows", str(count)) == 0
    assert bulk("diff", "ks.t", "ks.u") == 0


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl", "a.jsonl.zst"])
def test_an_interrupted_load_of_a_file_continues(
    bulk: Program, session: Session, simulated: SimulatedCluster, name: str
) -> None:
    assert bulk("unload", "ks.t", "--out", name) == 0
    with bulk.begin("load", "ks.u", name, "--checkpoint-every", "0.05") as process:
        rule = simulated.inject(Hold(executed=False), query="INSERT INTO ks.u", opcode="EXECUTE", after=500)
        eventually(lambda: rule.hits or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    rule.remove()
    assert process.returncode == 130 and "--resume continues (load-ks.u.json)" in err, err
    assert 0 < len(ids(session)) < ROWS
    assert bulk("load", "ks.u", name, "--resume") == 0
    assert bulk("diff", "ks.t", "ks.u") == 0


# ---- options of load


def test_null_and_absent_columns(bulk: Program, session: Session) -> None:
    before = "INSERT INTO u (id, v, m) VALUES (%s, 'old', {1: 'old'})"
    lines = ['{"id": 1, "v": null}', '{"id": 2, "v": "new", "m": null}', '{"id": 3}', '{"v": null, "m": {}, "id": 4}']
    Path("a.jsonl").write_text("\n".join(lines))
    for nulls, expected in {
        "unset": [("old", True), ("new", True), ("old", True), ("old", False)],
        "null": [(None, True), ("new", False), ("old", True), (None, False)],
    }.items():
        for i in (1, 2, 3, 4):
            session.execute(before, (i,))
        assert bulk("load", "ks.u", "a.jsonl", "--nulls", nulls) == 0
        found = sorted((row.id, row.v, bool(row.m)) for row in session.execute("SELECT id, v, m FROM u"))
        assert [row[1:] for row in found] == expected


def test_the_last_of_equal_keys_is_kept(bulk: Program, session: Session) -> None:
    """Rows with and without all columns are written in different ways."""
    lines = [
        f'{{"id": {i // 10}, "v": "{i}"{", " + chr(34) + "m" + chr(34) + ": null" if i % 3 else ""}}}'
        for i in range(500)
    ]
    Path("a.jsonl").write_text("\n".join(lines))
    assert bulk("load", "ks.u", "a.jsonl", "--nulls", "null") == 0
    found = {row.id: row.v for row in session.execute("SELECT id, v FROM u")}
    assert found == {i: str(10 * i + 9) for i in range(50)}


def test_a_dry_run(
    bulk: Program, session: Session, simulated: SimulatedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.csv").write_text("id,v,m\n1,it's,\nx,b,\n2,,\"{1: a, -2: 'b'}\"\n,c,\n4,d,\n5,e,\n")
    simulated.clear_requests()
    assert bulk("load", "ks.u", "--header", "--dry-run", "a.csv", "--nulls", "null") == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[:8] == [
        "a.csv: line 2",
        "  id  int             1",
        "  v   text            'it''s'",
        "  m   map<int, text>  null",
        "a.csv: line 4",
        "  id  int             2",
        "  v   text            null",
        "  m   map<int, text>  {1: 'a', -2: 'b'}",
    ]
    assert "a.csv: line 3: id: invalid int: 'x'" in err
    assert "a.csv: line 5: column 'id' (int): null in a column of the primary key" in err
    assert "4 rows shown, 2 rejected; nothing was written" in err
    assert bulk("load", "ks.u", "a.csv", "--header", "-n", "1") == 0
    assert capsys.readouterr().out.splitlines()[3] == "  m   map<int, text>  unset"
    assert ids(session) == [] and [path.name for path in Path().iterdir()] == ["a.csv"]
    assert not [one for one in simulated.requests if one.query and "INSERT" in one.query and one.opcode == "EXECUTE"]


@pytest.mark.parametrize(
    "command", [["load", "ks.u", "a.csv"], ["copy", "ks.t", "ks.u"], ["unload", "ks.t", "-o", "o"]]
)
def test_rows_per_second(
    bulk: Program, session: Session, command: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the sleeps that it takes; each piece is small enough."""
    slept: list[float] = []
    monkeypatch.setattr("cassandra._bulk.waiting.sleep", slept.append)
    assert bulk("unload", "ks.t", "-o", "a.csv") == 0
    assert slept == []
    monkeypatch.setattr("cassandra._bulk.waiting.monotonic", lambda: 5.0)
    assert bulk(*command, "--rate", "100") == 0
    assert sum(slept[-1:]) <= ROWS / 100 and max(slept) >= ROWS / 100 - 5
    if command[0] == "load":
        assert len(slept) >= ROWS // 20 - 1  # pieces of a fifth of a second


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("id;v;m\n1;x;\n", "the header is one column, use --delimiter ';'"),
        ("id\tv\tm\n1\tx\t\n", "the header is one column, use --delimiter '\\t'"),
        ("ID,v,m\n1,x,\n", "id differs from ID by case only; to replace the header, use --skip-rows 1 and --columns"),
        ("id,w,m\n1,x,\n", "ks.u has no column w: use --columns or --skip-cols"),
    ],
)
def test_hints(bulk: Program, text: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text(text)
    assert bulk("load", "ks.u", "a.csv", "--header") == 2
    assert hint in capsys.readouterr().err
    Path("b.csv").write_text("1;x;\n")
    assert bulk("load", "ks.u", "b.csv") == 1
    assert "line 1: it has 1 field, not 3: '1;x;' (perhaps --delimiter ';')" in Path("load-ks.u.err").read_text()
