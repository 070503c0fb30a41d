"""cassandra-migrate, or its fork cstar-migrate: CQL and Python migrations from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from server import HOST, KEYSPACE, PORT, connect, reconnect

session = connect()
session.execute(f"DROP KEYSPACE {KEYSPACE}")
session.cluster.shutdown()
folder = Path("migrations")
folder.mkdir()
Path("cassandra-migrate.yml").write_text(f"keyspace: {KEYSPACE}\nmigrations_path: ./migrations\n")
(folder / "001_users.cql").write_text(
    "/* users; and more */\nCREATE TABLE users (id int PRIMARY KEY, name text);\n"
    f"CREATE INDEX ON {KEYSPACE}.users (name);\n"
)
(folder / "002_rows.py").write_text(
    "def execute(session, **kwargs):\n"
    "    insert = session.prepare('INSERT INTO users (id, name) VALUES (?, ?)')\n"
    "    for n in range(10):\n"
    "        session.execute(insert, (n, str(n)))\n"
)


def migrate(*arguments, code=0):
    tool = next(Path(sys.executable).parent.glob("*-migrate"))
    command = [tool, "-H", HOST, "-p", str(PORT), "-c", "cassandra-migrate.yml", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


migrate("migrate", "1")
session = reconnect()
assert session.execute("SELECT count(*) FROM users").one().count == 0
migrate("migrate")
assert session.execute("SELECT count(*) FROM users").one().count == 10
status = migrate("status")
assert "002_rows.py" in status and "SUCCEEDED" in status, status
(folder / "003_broken.cql").write_text("ALTER TABLE nobody ADD x int;\n")
assert "nobody" in migrate("migrate", code=1)
assert "FAILED" in migrate("status")
(folder / "003_broken.cql").write_text("ALTER TABLE users ADD x int;\n")
migrate("migrate", "--force")
session.cluster.shutdown()
session = reconnect()
assert "x" in session.cluster.metadata.keyspaces[KEYSPACE].tables["users"].columns
session.cluster.shutdown()
print("done")
