"""Values bound and read back. Runs with any driver; the output of scylla-driver 3.29.12 is in values.txt."""

# mypy: ignore-errors
from cases import case, connect, show

from cassandra.query import dict_factory

with connect() as session:
    session.execute("CREATE TABLE t (k int PRIMARY KEY, v text, s set<int>)")
    insert = session.prepare("INSERT INTO t (k, v, s) VALUES (?, ?, ?)")
    show("insert", lambda: list(session.execute(insert, (1, "a", {3, 1, 2}))))

    @case("row")
    def _():
        return session.execute("SELECT * FROM t").one()

    @case("dict")
    def _():
        session.row_factory = dict_factory
        return session.execute("SELECT * FROM t").one()

    show("no such table", session.execute, "SELECT * FROM nothing", text=True)
