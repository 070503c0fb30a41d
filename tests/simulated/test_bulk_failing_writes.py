"""python -m cassandra.bulk where files cannot be written: no damaged file has its name, --resume makes all of it."""

from __future__ import annotations

import csv
import errno
import json
import os
import stat
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from cassandra._bulk import files, unloading
from cassandra.bulk import main
from cassandra.cluster import Cluster, Session
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Hold
from tests.patience import PATIENCE, eventually

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
ROWS = 4000
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.argv[1:] = sys.argv[2:]
from cassandra._bulk.main import program
sys.exit(program())
"""


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=2, shards=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(simulated: SimulatedCluster) -> Iterator[Session]:
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1} "
        "AND tablets = {'initial': 16}"
    )
    for name in ("t", "u"):
        simulated.execute(f"CREATE TABLE ks.{name} (id int PRIMARY KEY, v text)")
    with Cluster(simulated.contact_points, port=simulated.port) as cluster, cluster.connect("ks") as session:
        session.ingest("t", pa.table({"id": pa.array(range(ROWS), pa.int32()), "v": [f"v{i}" for i in range(ROWS)]}))
        yield session


class Program:
    def __init__(self, simulated: SimulatedCluster) -> None:
        self._where = ["--host", ",".join(simulated.contact_points), "--port", str(simulated.port), "--cqlshrc", "none"]

    def __call__(self, *arguments: str) -> int:
        return main([*arguments, *self._where])

    def limited(self, size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A process whose files can have *size* bytes."""
        return self.process([sys.executable, "-c", LIMITED, str(size), *arguments, *self._where])

    def process(self, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.run(command, env=environment, text=True, timeout=PATIENCE, check=False, **options)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "cassandra.bulk", *arguments, *self._where]


@pytest.fixture
def bulk(
    session: Session, simulated: SimulatedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Program]:
    monkeypatch.chdir(tmp_path)
    session.execute("TRUNCATE u")
    yield Program(simulated)
    simulated.clear_faults()


def rows_of(path: Path) -> list[int]:
    """The ids of a file, read by another library or module than that which reads it here."""
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return [int(row[0]) for row in csv.reader(file)]
    if path.suffix == ".arrow":
        with pyarrow.ipc.open_file(path) as file:
            return list(file.read_all()["id"].to_pylist())
    return list(pq.read_table(path)["id"].to_pylist())


def are_whole(folder: Path, suffix: str) -> list[int]:
    """The ids of all files, each of which is whole and noted; nothing else is in the folder."""
    state = json.loads((folder / "unload.json").read_text())["state"]
    noted = {file["name"]: file["rows"] for file in state["files"]}
    there = {path.name for path in folder.iterdir()} - {"unload.json"}
    assert there == set(noted)
    found = []
    for name, rows in noted.items():
        assert name.endswith(suffix)
        ids = rows_of(folder / name)
        assert len(ids) == rows
        found += ids
    assert max(Counter(found).values(), default=1) == 1
    return found


class Disk:
    """A disk that fails: the writes of files with data beyond *room* bytes raise *number*."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int, room: int) -> None:
        self.number = number
        self.room = room
        real = files.create_private

        def create(path: Path, *, replace: bool = False) -> Any:
            file = real(path, replace=replace)
            if "unload.json" in path.name:
                return file
            return _Failing(self, file)

        monkeypatch.setattr(files, "create_private", create)


class _Failing:
    def __init__(self, disk: Disk, file: Any) -> None:
        self._disk = disk
        self._file = file

    def write(self, data: Any) -> int:
        self._disk.room -= memoryview(data).nbytes
        if self._disk.room < 0:
            self._file.write(memoryview(data).cast("B")[: self._disk.room])  # as much as there is room for
            raise OSError(self._disk.number, os.strerror(self._disk.number))
        return int(self._file.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.mark.parametrize("file_format", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("room", [0, 20000])
@pytest.mark.parametrize("spills", [False, True])
def test_a_file_that_cannot_be_written_is_not_there(
    bulk: Program, file_format: str, number: int, room: int, spills: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["unload", "ks.t", "--out", "out", "--format", file_format, "--max-output-size", "500"]
    with pytest.MonkeyPatch.context() as patch:
        if spills:
            patch.setattr(unloading, "MOST_HELD", 1000)
        Disk(patch, number, room)
        assert bulk(*arguments) == 3
    err = capsys.readouterr().err
    assert os.strerror(number) in err and "--resume" in err
    before = are_whole(Path("out"), file_format)
    assert len(before) < ROWS
    assert bulk("load", "ks.u", "out") == 2
    assert bulk(*arguments, "--resume") == 0
    assert sorted(are_whole(Path("out"), file_format)) == list(range(ROWS))


@pytest.mark.parametrize("what", ["fsync", "replace", "fsync of the folder"])
def test_a_file_that_cannot_be_published(bulk: Program, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    arguments = ["unload", "ks.t", "--out", "out", "--max-output-size", "500"]
    real_sync, real_replace = os.fsync, os.replace
    calls = [0]

    def fail_after(count: int) -> None:
        calls[0] += 1
        if calls[0] > count:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def sync(number: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(number).st_mode)
        if is_folder == (what == "fsync of the folder") and what != "replace":
            fail_after(6)
        real_sync(number)

    def replace(one: Any, other: Any, **options: Any) -> None:
        if what == "replace":
            fail_after(6)
        real_replace(one, other, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", sync)
        patch.setattr(os, "replace", replace)
        assert bulk(*arguments) == 3
    assert calls[0] > 6
    assert bulk(*arguments, "--resume") == 0
    assert sorted(are_whole(Path("out"), "parquet")) == list(range(ROWS))


@pytest.mark.parametrize("size", [700, 6000])
@pytest.mark.parametrize("file_format", ["parquet", "arrow", "csv"])
def test_a_limit_of_the_size_of_files(bulk: Program, file_format: str, size: int) -> None:
    """Which is an error of the real write()."""
    arguments = ["unload", "ks.t", "--out", "out", "--format", file_format]
    process = bulk.limited(size, *arguments)
    assert process.returncode == 3, process.stderr
    assert os.strerror(errno.EFBIG) in process.stderr and "Traceback" not in process.stderr
    if Path("out/unload.json").exists():
        assert are_whole(Path("out"), file_format) == []
        arguments.append("--resume")
    assert bulk(*arguments) == 0
    assert sorted(are_whole(Path("out"), file_format)) == list(range(ROWS))


@pytest.mark.parametrize("arguments", [["count", "ks.t"], ["diff", "ks.t", "ks.u", "--show", "100000"]])
def test_results_that_cannot_be_written(bulk: Program, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        process = bulk.process(bulk.command(*arguments), stdout=full)
    assert process.returncode == 3
    assert os.strerror(errno.ENOSPC) in process.stderr and "Traceback" not in process.stderr


def test_progress_that_cannot_be_shown_stops_nothing(bulk: Program) -> None:
    with Path("/dev/full").open("w") as full:
        process = bulk.process(bulk.command("unload", "ks.t", "--out", "out"), stderr=full)
    assert process.returncode == 0
    assert sorted(are_whole(Path("out"), "parquet")) == list(range(ROWS))


@pytest.mark.parametrize(("command", "name"), [("copy", "copy-ks.t-ks.u.json"), ("diff", "diff-ks.t-ks.u.json")])
def test_checkpoints_that_cannot_be_written(
    bulk: Program, simulated: SimulatedCluster, command: str, name: str
) -> None:
    """The one before is kept."""
    Path(name).write_text("{}")
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch, errno.ENOSPC, 0)
        assert disk.room == 0
        if command == "diff":
            real = simulated.inject(Hold(), query="FROM ks.u WHERE", opcode="EXECUTE", after=3)
            process = subprocess.Popen(
                [sys.executable, "-c", LIMITED, "0", *bulk.command(command, "ks.t", "ks.u")[3:]],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stderr=subprocess.PIPE,
                text=True,
            )
            with process:
                eventually(lambda: real.hits or process.poll() is not None)
                process.terminate()
                _, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 3 and os.strerror(errno.EFBIG) in err
        else:
            assert bulk(command, "ks.t", "ks.u") == 3
    assert Path(name).read_text() == "{}"
    assert [path.name for path in Path().iterdir()] == [name]


# -- one unload in a folder


def test_two_unloads_in_one_folder(
    bulk: Program, simulated: SimulatedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["unload", "ks.t", "--out", "out"]
    rule = simulated.inject(Hold(), query="FROM ks.t WHERE", opcode="EXECUTE", after=5)
    codes: list[int] = []
    first = threading.Thread(target=lambda: codes.append(bulk(*arguments)))
    first.start()
    eventually(lambda: rule.hits)
    for again in (arguments, [*arguments, "--resume"], ["unload", "ks.u", "--out", "out"]):
        assert bulk(*again) == 2
        assert "out is in use" in capsys.readouterr().err
    other = bulk.process(bulk.command(*arguments, "--resume"))
    assert other.returncode == 2 and "out is in use" in other.stderr
    rule.remove()
    first.join(PATIENCE)
    assert codes == [0]
    assert sorted(are_whole(Path("out"), "parquet")) == list(range(ROWS))


def test_the_lock_of_an_unload_that_was_killed(bulk: Program, simulated: SimulatedCluster) -> None:
    arguments = ["unload", "ks.t", "--out", "out"]
    rule = simulated.inject(Hold(), query="FROM ks.t WHERE", opcode="EXECUTE", after=5)
    process = subprocess.Popen(
        bulk.command(*arguments), env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL
    )
    with process:
        eventually(lambda: rule.hits or process.poll() is not None)
        process.kill()
    rule.remove()
    assert Path("out/unload.lock").exists()
    assert bulk(*arguments, "--resume") == 0
    assert sorted(are_whole(Path("out"), "parquet")) == list(range(ROWS))


# -- owners of files


def test_files_are_those_of_their_owner(bulk: Program, session: Session) -> None:
    before = os.umask(0)
    try:
        assert bulk("unload", "ks.t", "--out", "out", "--max-output-size", "500") == 0
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in Path("out").iterdir()}
    assert modes == {0o600}


@pytest.mark.parametrize("name", ["ks.t-000001.parquet", "ks.t-000001.parquet.part", "unload.json", "unload.json.part"])
@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_links_are_not_followed(bulk: Program, name: str, resume: list[str]) -> None:
    Path("victim").write_text("precious")
    Path("out").mkdir()
    (Path("out") / name).symlink_to(Path("victim").resolve())
    bulk("unload", "ks.t", "--out", "out", *resume)
    assert Path("victim").read_text() == "precious"
    (Path("out") / "unload.lock").unlink(missing_ok=True)
    (Path("out") / "unload.lock").symlink_to(Path("victim").resolve())
    assert bulk("unload", "ks.t", "--out", "out", *resume) in (2, 3)
    assert Path("victim").read_text() == "precious"


@pytest.mark.parametrize("name", ["../victim.parquet", "/etc/hostname", "..", "", "link.parquet", "deep/er.parquet", 7])
def test_a_manifest_names_files_of_its_folder_only(
    bulk: Program, name: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["unload", "ks.t", "--out", "out"]
    assert bulk(*arguments) == 0
    pq.write_table(pa.table({"id": pa.array([7], pa.int32()), "v": ["stolen"]}), "victim.parquet")
    Path("out/deep").mkdir()
    for link in ("out/link.parquet", "out/deep/er.parquet"):
        Path(link).symlink_to(Path("victim.parquet").resolve())
    manifest = json.loads(Path("out/unload.json").read_text())
    for key in ("files", "begun"):
        changed = json.loads(json.dumps(manifest))
        changed["state"][key] = [name if key == "begun" else {"name": name, "rows": 1}]
        Path("out/unload.json").write_text(json.dumps(changed))
        if key == "files":
            assert bulk("load", "ks.u", "out") == 2
        assert bulk(*arguments, "--resume") == 2, key
        assert "manifest" in capsys.readouterr().err
    assert Path("victim.parquet").exists() and Path("/etc/hostname").exists() and Path("out/deep/er.parquet").exists()


def test_resume_removes_only_files_that_it_began(bulk: Program) -> None:
    arguments = ["unload", "ks.t", "--out", "out", "--max-output-size", "500"]
    with pytest.MonkeyPatch.context() as patch:
        Disk(patch, errno.ENOSPC, 40000)
        assert bulk(*arguments) == 3
    state = json.loads(Path("out/unload.json").read_text())["state"]
    number = len(state["files"])
    assert number
    mine = ["ks.t-000900.parquet", "ks.t-000002.parquet.part", "notes.part", "ks.t-000003.parquet"]
    mine = [name for name in mine if not (Path("out") / name).exists()]
    for name in mine:
        (Path("out") / name).write_text("mine")
    assert bulk(*arguments, "--resume") == 0
    kept = {name: (Path("out") / name).read_text() for name in mine if name != "ks.t-000002.parquet.part"}
    assert set(kept.values()) == {"mine"}
    noted = json.loads(Path("out/unload.json").read_text())["state"]["files"]
    ids = [i for file in noted for i in rows_of(Path("out") / file["name"])]
    assert sorted(ids) == list(range(ROWS))


# -- scans into Parquet files

SCAN = """
import resource, sys
from cassandra.cluster import Cluster
from cassandra.metadata import TokenRange
with Cluster(sys.argv[1].split(","), port=int(sys.argv[2])) as cluster, cluster.connect("ks") as session:
    for size in range(2, 5000, 150):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        try:
            session.scan("t", token_range=TokenRange(-(2**63), -(2**63) + 2**61)).to_parquet(f"out{size}")
        except OSError as error:
            print(size, error.errno)
        else:
            print(size, "whole")
"""


def test_files_of_a_scan_that_cannot_be_written(bulk: Program) -> None:
    """Nothing is left of them, wherever the limit is, and the error says why."""
    where = [bulk._where[1], bulk._where[3]]
    process = bulk.process([sys.executable, "-W", "error", "-c", SCAN, *where])
    assert process.returncode == 0 and "Traceback" not in process.stderr, process.stderr
    ends = dict(line.split() for line in process.stdout.splitlines())
    assert set(ends.values()) == {str(errno.EFBIG), "whole"}
    for size in ends:
        for path in Path(f"out{size}").iterdir():
            assert path.suffix == ".parquet" and pq.read_table(path).num_rows
