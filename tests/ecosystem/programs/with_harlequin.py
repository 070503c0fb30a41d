"""Harlequin's adapter, as its window uses it: catalog, rows and their types, errors, consistency levels."""

from __future__ import annotations

from harlequin.exception import HarlequinQueryError
from harlequin_cassandra import HarlequinCassandraAdapter
from server import HOST, KEYSPACE, PORT, connect

session = connect()
session.execute("CREATE TABLE t (k int PRIMARY KEY, v text, l list<int>, u uuid, d decimal)")
for k in range(200):
    session.execute("INSERT INTO t (k, v, l, u, d) VALUES (%s, %s, [1], uuid(), 1.5)", (k, str(k)))
session.cluster.shutdown()

adapter = HarlequinCassandraAdapter(
    host=HOST, port=PORT, keyspace=KEYSPACE, user="u", password="p", protocol_version=4, consistency_level="LOCAL_ONE"
)
connection = adapter.connect()
(keyspace,) = [item for item in connection.get_catalog().items if item.label == KEYSPACE]
(table,) = keyspace.children
assert table.label == "t"
assert {item.label: item.type_label for item in table.children} == {
    "k": "#", "v": "s", "l": "?", "u": "uuid", "d": "#.#"
}  # fmt: skip
cursor = connection.execute("SELECT k, v, u FROM t")
rows = cursor.fetchall()
assert len(rows) == 200 and sorted(row[0] for row in rows) == sorted(str(k) for k in range(200)), rows[:3]
assert cursor.columns() == [("k", "#"), ("v", "s"), ("u", "uuid")], cursor.columns()
assert len(connection.execute("SELECT k FROM t").set_limit(7).fetchall()) == 7
assert connection.validate_sql("SELEKT") == ""
assert connection.validate_sql("SELECT k FROM t") == "SELECT k FROM t"
try:
    connection.execute("SELECT nothing FROM t")
except HarlequinQueryError as error:
    assert "nothing" in error.msg, error.msg
else:
    raise AssertionError("there is no such column")
assert connection.transaction_mode.label == "LOCAL_ONE"
for _ in range(3):
    connection.toggle_transaction_mode()
assert connection.transaction_mode.label == connection._transaction_mode.label
connection.close()
print("done")
