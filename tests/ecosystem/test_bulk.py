"""CSV both ways: what ``python -m cassandra.bulk`` unloads a real cqlsh loads, and the other way around."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk import main
from cassandra.cluster import Cluster
from tests.ecosystem import environments
from tests.ecosystem.packages import PACKAGES

FILES = Path(__file__).resolve().parents[1] / "unit" / "bulk" / "cqlsh"
STATEMENTS = re.findall(r"(?:[^;']|'(?:[^']|'')*')+;", (FILES / "tables.cql").read_text("utf8"))
CREATE = "CREATE KEYSPACE {} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
#: Columns that COPY FROM reads: no durations, and no set of several texts in a frozen value, which it writes in any
#: order (other bytes are stored then than were read); and rows: with line breaks in texts it waits for more than there
#: are.
TABLES = {
    "scalars": "id,a,at,big,clock,day,exact,host,huge,made,name,raw,real,short,small,tiny,who,yes",
    "texts": "id,t,u",
    "nested": "id,fl,fu,l,ld,li,ls,lt,lu,m,md,mm,s,sb,t,v",
}
ROWS = {"texts": ["--where", "id > 2 ALLOW FILTERING"]}

Run = Callable[..., int]


@pytest.fixture
def cqlsh(cassandra_node: Any) -> Callable[[str], None]:
    python = environments.environment(PACKAGES["cqlsh"], environments.wheel())
    server = [cassandra_node.contact_points[0], str(cassandra_node.port)]

    def run(text: str) -> None:
        command = [str(python.with_name("cqlsh")), *server, "--request-timeout=120", "--connect-timeout=60", "-e", text]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr

    return run


@pytest.mark.ecosystem  # files that a cqlsh wrote are read in every run
def test_cqlsh_and_bulk(
    cqlsh: Callable[[str], None], cassandra_node: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    where = ["--host", cassandra_node.contact_points[0], "--port", str(cassandra_node.port), "--cqlshrc", "none"]
    with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster, cluster.connect() as session:
        for keyspace in ("bulk_one", "bulk_two", "bulk_three"):
            session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}", timeout=60)
            session.execute(CREATE.format(keyspace), timeout=60)
            session.set_keyspace(keyspace)
            for text in STATEMENTS:
                if keyspace == "bulk_one" or text.strip().startswith("CREATE"):
                    session.execute(text, timeout=60)
        for table, columns in TABLES.items():
            only = ROWS.get(table, [])
            arguments = ["--columns", columns, "--format", "csv", "--null", "N/A", "--out", table, *only, *where]
            assert main(["unload", f"bulk_one.{table}", *arguments]) == 0
            (ours,) = Path(table).glob("*.csv")
            options = "NULL='N/A'"
            cqlsh(f"COPY bulk_two.{table} ({columns}) FROM '{ours.resolve()}' WITH {options}")
            compared = ["--columns", columns, *only, *where]
            assert main(["diff", f"bulk_one.{table}", f"bulk_two.{table}", *compared]) == 0
            theirs = tmp_path / f"{table}.csv"
            options += " AND FLOATPRECISION=9 AND DOUBLEPRECISION=17"
            cqlsh(f"COPY bulk_two.{table} ({columns}) TO '{theirs}' WITH {options}")
            arguments = ["--columns", columns, "--null", "N/A", "--as-cqlsh", *where]
            assert main(["load", f"bulk_three.{table}", str(theirs), *arguments]) == 0
            assert main(["diff", f"bulk_one.{table}", f"bulk_three.{table}", *compared]) == 0
        for keyspace in ("bulk_one", "bulk_two", "bulk_three"):
            session.execute(f"DROP KEYSPACE {keyspace}", timeout=60)
