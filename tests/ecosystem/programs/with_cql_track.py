"""cql-track: migrations from a program and from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from cqltrack import CqlTrack
from server import HOST, KEYSPACE, PORT, connect, reconnect

connect().cluster.shutdown()
folder = Path("migrations")
folder.mkdir()
(folder / "V001__users.cql").write_text(
    "CREATE TABLE IF NOT EXISTS users (id int PRIMARY KEY, name text);\n"
    "CREATE INDEX IF NOT EXISTS users_name ON users (name);\n-- @down\nDROP TABLE IF EXISTS users;\n"
)
(folder / "V002__phone.cql").write_text("ALTER TABLE users ADD phone text;\n-- @down\nALTER TABLE users DROP phone;\n")
Path("cqltrack.yml").write_text(
    f"cassandra:\n  contact_points: [{HOST}]\n  port: {PORT}\nkeyspace:\n  name: {KEYSPACE}\n"
    "  replication:\n    class: SimpleStrategy\n    replication_factor: 1\nmigrations:\n  directory: migrations\n"
)


def cqltrack(*arguments, code=0):
    command = [Path(sys.executable).with_name("cqltrack"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, input="y\n")
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout


with CqlTrack("cqltrack.yml") as track:
    track.init()
    assert len(track.migrate()) == 2
    assert track.migrate() == []

history = json.loads(cqltrack("--json", "history"))
assert len(history) == 2, history
cqltrack("validate")
cqltrack("pending")
snapshot = cqltrack("snapshot")
assert "users" in snapshot and "phone" in snapshot, snapshot
cqltrack("rollback")
cqltrack("pending", code=1)
(folder / "V003__broken.cql").write_text("ALTER TABLE nobody ADD x int;\n")
cqltrack("migrate", code=1)
session = reconnect()
assert set(session.cluster.metadata.keyspaces[KEYSPACE].tables["users"].columns) == {"id", "name", "phone"}
session.cluster.shutdown()
print("done")
