"""cassachange: versioned, repeatable and undone scripts from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from server import CREATE, HOST, KEYSPACE, PORT, connect

HISTORY = f"{KEYSPACE}_history"
session = connect()
session.execute(f"DROP KEYSPACE IF EXISTS {HISTORY}")
session.execute(CREATE.replace(KEYSPACE, HISTORY, 1))
folder = Path("migrations")
folder.mkdir()
(folder / "V1.0.0__users.cql").write_text(
    f"CREATE TABLE IF NOT EXISTS {KEYSPACE}.users (id int PRIMARY KEY, email text);\n"
    f"CREATE INDEX IF NOT EXISTS users_email ON {KEYSPACE}.users (email);\n"
)
(folder / "V1.1.0__orders.cql").write_text(f"CREATE TABLE {KEYSPACE}.orders (id int PRIMARY KEY);\n")
(folder / "U1.1.0__orders.cql").write_text(f"DROP TABLE {KEYSPACE}.orders;\n")
(folder / "R__rows.cql").write_text(f"INSERT INTO {KEYSPACE}.users (id, email) VALUES (1, 'one');\n")
Path("cassachange.yml").write_text(
    f"hosts: [{HOST}]\nport: {PORT}\nkeyspace: {KEYSPACE}\nhistory_keyspace: {HISTORY}\nroot_folder: ./migrations\n"
)


def cassachange(*arguments, code=0):
    command = [Path(sys.executable).with_name("cassachange"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


cassachange("validate")
assert "V1.1.0__orders.cql" in cassachange("deploy", "--dry-run")
first = cassachange("deploy", "--tag", "one")
assert "Executed: 3" in first, first
second = cassachange("deploy")
assert "Executed: 0" in second, second
assert [row.email for row in session.execute("SELECT email FROM users")] == ["one"]
(folder / "R__rows.cql").write_text(f"INSERT INTO {KEYSPACE}.users (id, email) VALUES (1, 'two');\n")
assert "Executed: 1" in cassachange("deploy")
assert [row.email for row in session.execute("SELECT email FROM users")] == ["two"]
assert "1.1.0" in cassachange("status")
cassachange("rollback", "--target-version", "1.0.0")
left = session.execute("SELECT table_name FROM system_schema.tables WHERE keyspace_name = %s", (KEYSPACE,))
assert [row.table_name for row in left] == ["users"]
(folder / "V2.0.0__broken.cql").write_text(f"ALTER TABLE {KEYSPACE}.nobody ADD x int;\n")
assert "nobody" in cassachange("deploy", "--root-folder", "./migrations", code=1)
session.execute(f"DROP KEYSPACE {HISTORY}")
session.cluster.shutdown()
print("done")
