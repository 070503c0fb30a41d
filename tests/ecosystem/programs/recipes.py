"""The programs of docs/recipes.rst, copied to the current folder, for the server of this run; and their table."""

from __future__ import annotations

import sys
from pathlib import Path

from server import HOST, PORT, connect

RECIPES = Path(__file__).resolve().parents[3] / "docs" / "recipes"
CONTACT = 'Cluster(["127.0.0.1"])'


def read(name):
    """The text of a program, with the server of this run."""
    return (RECIPES / name).read_text().replace(CONTACT, f"Cluster([{HOST!r}], port={PORT})")


def prepare():
    """Copy the programs, and make their table with one row."""
    for path in RECIPES.rglob("*.py"):
        copy = Path(path.relative_to(RECIPES))
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(read(copy))
    sys.path.insert(0, "")
    session = connect()
    session.execute("DROP KEYSPACE IF EXISTS shop")
    for statement in filter(str.strip, read("schema.cql").split(";")):
        session.execute(statement)
    session.execute("INSERT INTO shop.items (id, name) VALUES (1, 'chair')")
    session.cluster.shutdown()
