"""python -m cassandra.bulk on a real server: every type out and in again, in all formats; files of a real cqlsh."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk import main
from cassandra.cluster import Cluster, Session
from tests.integration.conftest import create_keyspace

pytestmark = pytest.mark.server

FILES = Path(__file__).resolve().parents[1] / "unit" / "bulk" / "cqlsh"
STATEMENTS = re.findall(r"(?:[^;']|'(?:[^']|'')*')+;", (FILES / "tables.cql").read_text("utf8"))
TABLES = ["scalars", "texts", "nested", "shared", '"Odd_Names"']
#: Columns that COPY TO of cqlsh leaves out or rounds off.
LOST = {
    "scalars": {"a", "name", "real", "small"},  # empty texts, digits
    "texts": {"t"},
    "nested": {"s"},
}

Bulk = Callable[..., int]


@pytest.fixture(scope="module")
def keyspaces(cluster: Cluster) -> Iterator[Session]:
    """``given`` has the rows of tables.cql, ``taken`` empty tables."""
    with cluster.connect() as session:
        for keyspace in ("given", "taken"):
            create_keyspace(session, keyspace)
            session.set_keyspace(keyspace)
            for statement in STATEMENTS:
                if keyspace == "given" or statement.strip().startswith("CREATE"):
                    session.execute(statement, timeout=60)
        cluster.refresh_schema_metadata()
        yield session
        for keyspace in ("given", "taken"):
            session.execute(f"DROP KEYSPACE {keyspace}", timeout=60)


@pytest.fixture
def bulk(keyspaces: Session, cassandra_node: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bulk]:
    monkeypatch.chdir(tmp_path)
    for table in [*TABLES, "counted"]:
        keyspaces.execute(f"TRUNCATE taken.{table}", timeout=60)
    where = ["--host", cassandra_node.contact_points[0], "--port", str(cassandra_node.port), "--cqlshrc", "none"]

    def run(*arguments: str) -> int:
        return main([*arguments, *where])

    yield run


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "options",
    [
        ["parquet"], ["arrow"], ["csv"], ["csv", "--null", "N/A", "--header"], ["jsonl"],
        ["csv", "--compression", "gzip"], ["jsonl", "--compression", "zstd"],
    ],
)  # fmt: skip
def test_load_after_unload_is_the_same_table(bulk: Bulk, table: str, options: list[str]) -> None:
    assert bulk("unload", f"given.{table}", "--out", "out", "--format", *options) == 0
    assert bulk("load", f"taken.{table}", "out") == 0
    assert bulk("diff", f"given.{table}", f"taken.{table}") == 0


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("options", [["--header"], ["-f", "jsonl"], ["-f", "jsonl", "--compression", "zstd"]])
def test_a_pipe_between_two_processes(bulk: Bulk, table: str, options: list[str], cassandra_node: Any) -> None:
    where = ["--host", cassandra_node.contact_points[0], "--port", str(cassandra_node.port), "--cqlshrc", "none"]
    command = [sys.executable, "-m", "cassandra.bulk"]
    unload = [*command, "unload", f"given.{table}", "--out", "-", *options, *where]
    load = [*command, "load", f"taken.{table}", "-", *options, *where]
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{shlex.join(unload)} | {shlex.join(load)}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert bulk("diff", f"given.{table}", f"taken.{table}") == 0


#: Rows that have no NaN, for which the server writes null, and no year that it writes in a form of its own.
PLAIN_ROWS = ["--where", "id < 3 ALLOW FILTERING"]


@pytest.mark.parametrize(("table", "rows"), [("scalars", PLAIN_ROWS), ("texts", []), ("nested", []), ("shared", [])])
def test_load_reads_the_json_of_servers(bulk: Bulk, keyspaces: Session, table: str, rows: list[str]) -> None:
    """Rows of SELECT JSON are loaded as they are."""
    where = f" WHERE {rows[1]}" if rows else ""
    found = keyspaces.execute(f"SELECT JSON * FROM given.{table}{where}", timeout=60)
    Path("rows.jsonl").write_text("".join(f"{row[0]}\n" for row in found))
    assert bulk("load", f"taken.{table}", "rows.jsonl") == 0
    assert bulk("diff", f"given.{table}", f"taken.{table}", *rows) == 0


@pytest.mark.parametrize(("table", "rows"), [("scalars", PLAIN_ROWS), ("texts", []), ("nested", [])])
def test_servers_read_the_json_of_unload(bulk: Bulk, keyspaces: Session, table: str, rows: list[str]) -> None:
    """By INSERT JSON, which loses the scale of decimals that are numbers."""
    assert bulk("unload", f"given.{table}", "--out", "rows.jsonl", *rows) == 0
    for line in Path("rows.jsonl").read_text().splitlines():
        keyspaces.execute(f"INSERT INTO taken.{table} JSON %s", (line,), timeout=60)
    columns = keyspaces.cluster.metadata.keyspaces["given"].tables[table].columns
    kept = ",".join(name for name in columns if name not in ("exact", "md"))
    assert bulk("diff", f"given.{table}", f"taken.{table}", "--columns", kept, *rows) == 0


@pytest.mark.parametrize("table", TABLES)
def test_copy(bulk: Bulk, table: str) -> None:
    assert bulk("diff", f"given.{table}", f"taken.{table}") == 1
    assert bulk("copy", f"given.{table}", f"taken.{table}") == 0
    assert bulk("diff", f"given.{table}", f"taken.{table}") == 0


@pytest.mark.parametrize("name", ["scalars", "texts", "nested", "counted", "shared", "odd"])
def test_unload_writes_the_same_csv_as_cqlsh(bulk: Bulk, name: str) -> None:
    table = {"odd": '"Odd_Names"'}.get(name, name)
    arguments = ["--format", "csv", "--as-cqlsh", "--header", "--out", "out"]
    assert bulk("unload", f"given.{table}", *arguments) == 0
    (written,) = Path("out").glob("*.csv")
    head, *lines = written.read_bytes().splitlines(keepends=True)
    assert [head, *sorted(lines)] == (FILES / f"{name}.csv").read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("name", ["scalars", "texts", "nested", "shared", "odd"])
def test_load_reads_csv_written_by_cqlsh(bulk: Bulk, keyspaces: Session, name: str) -> None:
    table = {"odd": '"Odd_Names"'}.get(name, name)
    assert bulk("load", f"taken.{table}", str(FILES / f"{name}.csv"), "--header", "--as-cqlsh") == 0
    columns = keyspaces.cluster.metadata.keyspaces["given"].tables[table.strip('"')].columns
    kept = ",".join(f'"{column}"' for column in columns if column not in LOST.get(name, ()))
    assert bulk("diff", f"given.{table}", f"taken.{table}", "--columns", kept) == 0


def test_counters(bulk: Bulk) -> None:
    assert bulk("copy", "given.counted", "taken.counted") == 2
    assert bulk("copy", "given.counted", "taken.counted", "--counters") == 0
    assert bulk("diff", "given.counted", "taken.counted") == 0
    assert bulk("load", "taken.counted", str(FILES / "counted.csv"), "--header", "--counters") == 0
    assert bulk("diff", "given.counted", "taken.counted") == 1


def test_times_of_values(bulk: Bulk, keyspaces: Session) -> None:
    for keyspace in ("given", "taken"):
        keyspaces.execute(
            f"CREATE TABLE {keyspace}.timed (a int, b int, s text STATIC, x text, y int, PRIMARY KEY (a, b))"
        )
    keyspaces.execute("INSERT INTO given.timed (a, b, x) VALUES (1, 1, 'x') USING TTL 5000 AND TIMESTAMP 1000")
    keyspaces.execute("UPDATE given.timed USING TIMESTAMP 2000 SET y = 5 WHERE a = 1 AND b = 1")
    keyspaces.execute("INSERT INTO given.timed (a, s) VALUES (2, 's') USING TIMESTAMP 3000")
    keyspaces.execute("INSERT INTO given.timed (a, b) VALUES (3, 3)")
    keyspaces.cluster.refresh_schema_metadata()
    for options in (["--format", "csv"], ["--format", "parquet"]):
        out = options[-1]
        assert bulk("unload", "given.timed", "--out", out, "--ttl", "--writetime", *options) == 0
        assert bulk("load", "taken.timed", out) == 0
        text = "SELECT a, b, s, x, y, writetime(x) AS wx, writetime(y) AS wy, writetime(s) AS ws FROM {}.timed"
        rows = [sorted(map(str, keyspaces.execute(text.format(keyspace)))) for keyspace in ("given", "taken")]
        assert rows[0] == rows[1]
        ttl = keyspaces.execute("SELECT TTL(x) AS t, TTL(y) AS u FROM taken.timed WHERE a = 1").one()
        assert 4000 < ttl.t <= 5000 and ttl.u is None
        keyspaces.execute("TRUNCATE taken.timed", timeout=60)
    assert bulk("copy", "given.timed", "taken.timed", "--ttl", "--writetime") == 0
    assert bulk("diff", "given.timed", "taken.timed") == 0


def test_passwords(
    cassandra_auth: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    where = ["--host", cassandra_auth.contact_points[0], "--port", str(cassandra_auth.port)]
    arguments = ["count", "system.local", *where]
    Path("right").write_text("cassandra\n")
    Path("wrong").write_text("s3cret\n")
    Path("rc").write_text("[authentication]\nusername = cassandra\npassword = cassandra\n")
    Path("wrong-rc").write_text("[authentication]\nusername = cassandra\npassword = s3cret\n")
    assert main([*arguments, "--cqlshrc", "none", "--user", "cassandra", "--password-file", "right"]) == 0
    assert main([*arguments, "--cqlshrc", "rc"]) == 0
    assert main([*arguments, "--cqlshrc", "none", "--user", "cassandra", "--password-file", "wrong"]) == 3
    assert main([*arguments, "--cqlshrc", "wrong-rc"]) == 3
    assert "s3cret" not in "".join(capfd.readouterr())


def test_tls(cassandra_tls: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    where = ["--host", cassandra_tls.contact_points[0], "--port", str(cassandra_tls.port)]
    own = f"certfile = {cassandra_tls.tls.ca}\n"
    Path("rc").write_text(f"[connection]\nssl = true\n[ssl]\n{own}")
    assert main(["count", "system.local", *where, "--cqlshrc", "rc"]) == 0
    assert main(["count", "system.local", *where, "--cqlshrc", "none", "--ca", str(cassandra_tls.tls.ca)]) == 0
    assert main(["count", "system.local", *where, "--cqlshrc", "none", "--ssl"]) == 3
    Path("rc").write_text("[ssl]\nvalidate = false\n")
    assert main(["count", "system.local", *where, "--cqlshrc", "rc", "--ssl"]) == 0
    Path("rc").write_text("")
    assert main(["count", "system.local", *where, "--cqlshrc", "rc", "--ssl"]) == 3
