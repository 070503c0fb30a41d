"""cqlsh as it is typed: queries of all kinds of values, DESCRIBE, COPY to a file and back, errors, paging, TRACING."""

from __future__ import annotations

import csv
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

from server import HOST, KEYSPACE, PORT

CQLSH = Path(sys.executable).with_name("cqlsh")
OF_SCYLLA = any(found.name == "scylla-cqlsh" for found in distributions())
PLAIN = ("--no-color", "--request-timeout=120", "--connect-timeout=60")


def cqlsh(*statements, fails=False):
    """What it prints for *statements*, one after another."""
    command = [CQLSH, *PLAIN, HOST, str(PORT), "-e", "; ".join(statements)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0) is fails, (done.returncode, done.stdout, done.stderr)
    if fails:
        return done.stderr
    assert not done.stderr.strip(), done.stderr
    return without_warning(done.stdout)


def without_warning(text):
    """Every new version of the server has cqlsh warn that it is not the one it was built for."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("WARNING: cqlsh was built against"))


def typed(text):
    """What it prints when *text* comes from its standard input, as into a terminal."""
    command = [CQLSH, *PLAIN, HOST, str(PORT)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    assert not done.stderr.strip(), done.stderr
    return done.stdout


cqlsh(
    f"DROP KEYSPACE IF EXISTS {KEYSPACE}",
    f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
    f"USE {KEYSPACE}",
    "CREATE TYPE address (street text, number int)",
    """CREATE TABLE people (name text, born date, tags set<text>, scores map<text, double>, home frozen<address>,
       photo blob, seen timestamp, awake time, long duration, id uuid, ip inet, good boolean, n varint, d decimal,
       where_at vector<float, 2>, PRIMARY KEY (name, born))""",
    "CREATE INDEX people_ip ON people (ip)",
)
cqlsh(
    f"USE {KEYSPACE}",
    """INSERT INTO people (name, born, tags, scores, home, photo, seen, awake, long, id, ip, good, n, d, where_at)
       VALUES ('Ada', '1815-12-10', {'x', 'y'}, {'a': 1.5}, {street: 'Main', number: 3}, 0xcafe,
        '2024-02-03 04:05:06.789+0000',
        '10:11:12.000000013', 1mo2d3s, 123e4567-e89b-12d3-a456-426614174000, '::1', true, 12345678901234567890, 1.50,
        [0.5, -1])""",
    "INSERT INTO people (name, born) VALUES ('Bob', '2000-01-01')",
)

table = cqlsh(f"EXPAND ON; SELECT * FROM {KEYSPACE}.people WHERE name = 'Ada'")
values = dict(line.split("|", 1) for line in table.splitlines() if "|" in line)
assert {name.strip(): value.strip() for name, value in values.items()} == {
    "name": "Ada",
    "born": "1815-12-10",
    "awake": "10:11:12.000000013",
    "d": "1.50",
    "good": "True",
    "home": "{street: 'Main', number: 3}",
    "id": "123e4567-e89b-12d3-a456-426614174000",
    "ip": "::1",
    "long": "1.0mo2.0d3.0s" if OF_SCYLLA else "1mo2d3s",  # whichever driver it has
    "n": "12345678901234567890",
    "photo": "0xcafe",
    "scores": "{'a': 1.5}",
    "seen": "2024-02-03 04:05:06.789000+0000",
    "tags": "{'x', 'y'}",
    "where_at": "[0.5, -1]",
}, table
few = cqlsh(f"SELECT name, good FROM {KEYSPACE}.people WHERE name = 'Bob'")
assert few.split() == ["name", "|", "good", "------+------", "Bob", "|", "null", "(1", "rows)"], few
assert '{"name": "Bob"}' in cqlsh(f"SELECT JSON name FROM {KEYSPACE}.people WHERE name = 'Bob'")

described = cqlsh(f"DESCRIBE KEYSPACE {KEYSPACE}")
for statement in (
    f"CREATE KEYSPACE {KEYSPACE} WITH replication",
    f"CREATE TYPE {KEYSPACE}.address (",
    f"CREATE TABLE {KEYSPACE}.people (",
    "PRIMARY KEY (name, born)",
    f"CREATE INDEX people_ip ON {KEYSPACE}.people (ip);",
):
    assert statement in described, described
assert "\npeople" in cqlsh(f"USE {KEYSPACE}", "DESCRIBE TABLES")
assert f"CREATE TABLE {KEYSPACE}.people" in cqlsh(f"DESC TABLE {KEYSPACE}.people")
assert "Cluster: " in cqlsh("DESCRIBE CLUSTER")
assert "Connected to " in cqlsh("SHOW HOST")
assert "[cqlsh " in cqlsh("SHOW VERSION")

# what DESCRIBE printed makes the keyspace again
cqlsh(f"DROP KEYSPACE {KEYSPACE}")
Path("schema.cql").write_text(described)
cqlsh("SOURCE 'schema.cql'")
assert cqlsh(f"DESCRIBE KEYSPACE {KEYSPACE}") == described

# COPY from a file, and to another one
rows = [[str(k), f"it's, {k}", f"[{k}, {k + 1}]", f"{{'k': '{k}'}}", f"{k}.25"] for k in range(5000)]
with Path("in.csv").open("w", newline="") as file:
    csv.writer(file).writerows(rows)
cqlsh(f"CREATE TABLE {KEYSPACE}.copied (k int PRIMARY KEY, t text, l list<int>, m map<text, text>, d decimal)")
columns = f"{KEYSPACE}.copied (k, t, l, m, d)"
assert "5000 rows imported from 1 files" in cqlsh(f"COPY {columns} FROM 'in.csv'")
assert cqlsh(f"SELECT count(*) FROM {KEYSPACE}.copied").split()[2] == "5000"
assert "5000 rows exported to 1 files" in cqlsh(f"COPY {columns} TO 'out.csv' WITH HEADER = true AND PAGESIZE = 700")
with Path("out.csv").open(newline="") as file:
    header, *exported = csv.reader(file)
assert header == ["k", "t", "l", "m", "d"]
exported.sort(key=lambda row: int(row[0]))
assert exported == rows, exported[:3]
cqlsh(f"TRUNCATE {KEYSPACE}.copied")
cqlsh(f"COPY {columns} FROM 'out.csv' WITH HEADER = true AND CHUNKSIZE = 100 AND PREPAREDSTATEMENTS = false")
assert cqlsh(f"SELECT count(*) FROM {KEYSPACE}.copied").split()[2] == "5000"

# statements as they are typed, several lines each
text = typed(
    f"""USE {KEYSPACE};
SELECT name
  FROM people
 WHERE name = 'nobody';
CONSISTENCY QUORUM
CONSISTENCY
SERIAL CONSISTENCY LOCAL_SERIAL
PAGING 100
SELECT k FROM copied;
CONSISTENCY ONE
TRACING ON
SELECT k FROM copied WHERE k = 1;
TRACING OFF
BEGIN BATCH
  INSERT INTO copied (k, t) VALUES (-1, 'minus one');
  DELETE FROM copied WHERE k = 0;
APPLY BATCH;
SELECT t FROM copied WHERE k IN (-1, 0);
"""
)
assert "(0 rows)" in text
assert "Current consistency level is QUORUM." in text
assert "(5000 rows)" in text
assert "Tracing session: " in text and "Request complete" in text, text
assert "minus one" in text

assert "InvalidRequest: Error from server: code=2200" in cqlsh("SELECT * FROM nowhere.at_all", fails=True)
assert "SyntaxException: line 1:0" in cqlsh("SELEKT 1", fails=True)
assert "1 rows" in cqlsh("SELECT cluster_name FROM system.local")
cqlsh(f"DROP KEYSPACE {KEYSPACE}")
print("done")
