"""Rows that load refuses: why, by the lines of their files, and as they are, to be mended and loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cassandra.bulk import main
from cassandra.cluster import Cluster, Session
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail

Bulk = Callable[..., int]


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(simulated: SimulatedCluster) -> Iterator[Session]:
    simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, a text, f float)")
    with Cluster(simulated.contact_points, port=simulated.port) as cluster, cluster.connect("ks") as session:
        yield session


@pytest.fixture
def bulk(session: Session, simulated: SimulatedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bulk:
    monkeypatch.chdir(tmp_path)
    session.execute("TRUNCATE t")
    where = ["--host", ",".join(simulated.contact_points), "--port", str(simulated.port), "--cqlshrc", "none"]

    def run(*arguments: str) -> int:
        return main([*arguments, *where])

    return run


def names(session: Session) -> dict[int, str]:
    return {row.id: row.a for row in session.execute("SELECT id, a FROM t")}


def test_refused_rows_are_mended_and_loaded(bulk: Bulk, session: Session) -> None:
    text = b'id,a,f\n1,"a\nb",1\n\nx,c,2\n3,"d\n",1e39\n4,caf\xe9,4\n5,"e\n6,f,6\n7,g,7,7\n,h,8\n9,i,9\n'
    Path("t.csv").write_bytes(text)
    assert bulk("load", "ks.t", "t.csv", "--header") == 1
    assert names(session) == {1: "a\nb", 6: "f", 9: "i"}
    assert Path("load-ks.t.err").read_text().splitlines() == [
        "t.csv: line 5: id: invalid int: 'x'",
        "t.csv: line 6: f: '1e39' is out of the range of a float",
        "t.csv: line 8: it is not utf8: '4,caf\\udce9,4\\n'",
        "t.csv: line 9: it has a quote that is not closed",
        "t.csv: line 11: it has 4 fields, not 3: '7,g,7,7'",
        "t.csv: line 12: column 'id' (int): null in a column of the primary key",
    ]
    bad = Path("load-ks.t.bad")
    assert bad.read_bytes() == b'id,a,f\nx,c,2\n3,"d\n",1e39\n4,caf\xe9,4\n5,"e\n7,g,7,7\n,h,8\n'
    assert {path.stat().st_mode & 0o777 for path in (bad, Path("load-ks.t.err"))} == {0o600}
    mended = bad.read_bytes().replace(b"x,", b"2,").replace(b"1e39", b"3").replace(b"\xe9", "é".encode())
    bad.write_bytes(mended.replace(b'"e', b"e,5").replace(b"7,7", b"7").replace(b"\n,h", b"\nnobody,h"))
    assert bulk("load", "ks.t", str(bad), "--header") == 1
    assert names(session) == {1: "a\nb", 2: "c", 3: "d\n", 4: "café", 5: "e", 6: "f", 7: "g", 9: "i"}
    assert Path("load-ks.t.2.bad").read_bytes() == b"id,a,f\nnobody,h,8\n"
    assert b"nobody,h" in bad.read_bytes()


def test_files_in_an_encoding(bulk: Bulk, session: Session) -> None:
    for number, text in enumerate(("id,a,f\r\n1,é,1\r\nx,ü,2\r\n", "id,a,f\r\ny,ö,2\r\n4,ä,3\r\n")):
        Path(f"{number}.csv").write_bytes(text.encode("utf16"))
    assert bulk("load", "ks.t", "0.csv", "1.csv", "--header", "--encoding", "utf16") == 1
    assert names(session) == {1: "é", 4: "ä"}
    assert Path("load-ks.t.bad").read_bytes() == "id,a,f\r\nx,ü,2\r\ny,ö,2\r\n".encode("utf16")


def test_files_with_columns_in_another_order(bulk: Bulk) -> None:
    Path("0.csv").write_text("id,a,f\nx,a,1\n")
    Path("1.csv").write_text("a,id,f\na,y,1\n")
    assert bulk("load", "ks.t", "0.csv", "1.csv", "--header") == 1
    assert Path("load-ks.t.bad").read_text() == "id,a,f\nx,a,1\n"
    assert Path("load-ks.t.2.bad").read_text() == "a,id,f\na,y,1\n"


def test_rows_that_servers_refuse(bulk: Bulk, simulated: SimulatedCluster) -> None:
    Path("t.csv").write_text("".join(f'{i},"a\nb",1\n' for i in range(2000)))
    pq.write_table(pa.table({"id": pa.array([7], pa.int32()), "a": ["x"]}), "t.parquet")
    with simulated.inject(Fail(errors.InvalidRequest("no\x1b[31m")), query="INSERT INTO ks.t", opcode="EXECUTE"):
        assert bulk("load", "ks.t", "t.csv", "--max-insert-errors", "-1", "--err-file", "e.txt") == 1
        assert bulk("load", "ks.t", "t.parquet") == 1
    lines = Path("e.txt").read_text().splitlines()
    assert [line.split(":")[1] for line in lines] == [f" line {2 * i + 1}" for i in range(2000)]
    assert Path("e.bad").read_text() == Path("t.csv").read_text()
    assert Path("load-ks.t.err").read_text().startswith("t.parquet: row 0: ")


def test_a_quote_that_is_not_closed_is_an_error(bulk: Bulk, session: Session) -> None:
    lines = [f"{i},n{i},0.5" for i in range(5000)]
    lines[2000] = '2000,"n,0.5'
    Path("t.csv").write_text("\n".join(lines) + "\n")
    assert bulk("load", "ks.t", "t.csv") == 1
    assert set(names(session)) == {*range(5000)} - {2000}
    assert bulk("load", "ks.t", "t.csv", "--max-parse-errors", "0") == 1
    assert Path("load-ks.t.json").exists()


@pytest.mark.parametrize(("option", "lines"), [([], 1000), (["--max-cell-lines", "5000"], 5000)])
def test_lines_of_a_cell(bulk: Bulk, session: Session, option: list[str], lines: int) -> None:
    for number, count in enumerate((lines, lines + 1)):
        text = "\n".join(["x"] * count)
        Path("t.csv").write_text(f'{number},"{text}",0\n')
        assert bulk("load", "ks.t", "t.csv", *option) == number
    assert [text.count("\n") for text in names(session).values()] == [lines - 1]


def test_refused_rows_are_there_once_after_a_resume(
    bulk: Bulk, session: Session, simulated: SimulatedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{'x' if i % 100 == 50 else ''}{i},n,1" for i in range(5000)]
    Path("t.csv").write_text("\n".join(lines))
    with simulated.inject(Fail(errors.InvalidRequest("no")), query="INSERT INTO ks.t", opcode="EXECUTE", after=2000):
        assert bulk("load", "ks.t", "t.csv", "--max-insert-errors", "3") == 1
    assert bulk("load", "ks.t", "t.csv", "--resume") == 1
    refused = [line for line in lines if line.startswith("x")]
    found = Path("load-ks.t.bad").read_text().splitlines()
    assert sorted(line for line in found if line.startswith("x")) == sorted(refused)
    assert "50 unreadable" in capsys.readouterr().err
    assert {*range(5000)} - set(names(session)) <= {int(line.split(",")[0].lstrip("x")) for line in found}
