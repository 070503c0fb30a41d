"""cassarrow: answers as Arrow tables, by a message class that reads rows itself."""

from __future__ import annotations

import datetime

import pyarrow  # before cassarrow, which needs its libraries

# isort: split
import cassarrow
from server import connect

session = connect()
session.execute("CREATE TYPE address (street text, number int)")
session.execute(
    """CREATE TABLE t (k int PRIMARY KEY, big bigint, name text, price double, day date, seen timestamp, good boolean,
       photo blob, tags set<text>, numbers list<int>, scores map<text, int>, home frozen<address>)"""
)
insert = session.prepare(
    """INSERT INTO t (k, big, name, price, day, seen, good, photo, tags, numbers, scores, home)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
)
seen = datetime.datetime(2024, 2, 3, 4, 5, 6)
for k in range(100):
    values = (2**40 + k, f"n{k}", k / 4, datetime.date(2024, 1, 1 + k % 28), seen, k % 2 == 0, bytes([k]), {"a", "b"})
    session.execute(insert, (k, *values, [k, k + 1], {"x": k}, ("Main", k)))
session.execute("INSERT INTO t (k) VALUES (1000)")

names = "k, big, name, price, day, seen, good, photo, tags, numbers, scores, home"
with cassarrow.install_cassarrow(session) as arrow:
    table = cassarrow.result_set_to_table(arrow.execute(f"SELECT {names} FROM t"))
    arrow.default_fetch_size = 30
    pages = cassarrow.result_set_to_table(arrow.execute("SELECT k FROM t"))
assert isinstance(table, pyarrow.Table) and table.num_rows == 101
rows = {row["k"]: row for row in table.to_pylist()}
assert rows[5] == {
    "k": 5,
    "big": 2**40 + 5,
    "name": "n5",
    "price": 1.25,
    "day": datetime.date(2024, 1, 6),
    "seen": seen,
    "good": False,
    "photo": b"\x05",
    "tags": ["a", "b"],
    "numbers": [5, 6],
    "scores": [("x", 5)],
    "home": {"street": "Main", "number": 5},
}, rows[5]
assert {value for name, value in rows[1000].items() if name != "k"} == {None}, rows[1000]
assert sorted(pages.column("k").to_pylist()) == [*range(100), 1000]
assert session.execute("SELECT name FROM t WHERE k = 7").one().name == "n7"
session.cluster.shutdown()
print("done")
