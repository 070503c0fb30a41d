"""Records answers of a real server: ``python -m tests.unit.core.codec_recorder host:port``.

They are for ``test_codec_recorded.py``. Values go in as CQL literals, so that what the decoders are tested with was
not made by our own encoders. The bodies of the RESULT envelopes are in ``recorded/``; run this only to add to them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.record import Connection

FOLDER = Path(__file__).parent / "recorded"

TYPE = "CREATE TYPE recorded.place (street text, number int, tags frozen<set<text>>)"

# column: (type, literal)
COLUMNS = {
    "c_ascii": ("ascii", "'plain'"),
    "c_bigint": ("bigint", "-9223372036854775808"),
    "c_blob": ("blob", "0x00ff10"),
    "c_boolean": ("boolean", "true"),
    "c_date": ("date", "'-5877641-06-23'"),
    "c_date2": ("date", "'2024-02-29'"),
    "c_decimal": ("decimal", "-123.4500"),
    "c_decimal2": ("decimal", "1234567890123456789012345678901234567890E-60"),
    "c_double": ("double", "-0.1"),
    "c_duration": ("duration", "-1mo2d3h4ns"),
    "c_float": ("float", "1.5"),
    "c_inet": ("inet", "'192.168.1.255'"),
    "c_inet6": ("inet", "'2001:db8::8a2e:370:7334'"),
    "c_int": ("int", "-2147483648"),
    "c_smallint": ("smallint", "-32768"),
    "c_text": ("text", "'grüße 😀 ''quoted'''"),
    "c_time": ("time", "'23:59:59.999999999'"),
    "c_timestamp": ("timestamp", "'1969-12-31 23:59:59.999+0000'"),
    "c_timestamp2": ("timestamp", "9223372036854775807"),
    "c_timestamp3": ("timestamp", "253402300799999"),
    "c_timeuuid": ("timeuuid", "50554d6e-29bb-11e5-b345-feff819cdc9f"),
    "c_tinyint": ("tinyint", "-128"),
    "c_uuid": ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
    "c_varint": ("varint", "-170141183460469231731687303715884105729"),
    "c_varint2": ("varint", "128"),
    "c_list": ("list<int>", "[3, 1, 2]"),
    "c_set": ("set<text>", "{'b', 'a', 'ä'}"),
    "c_map": ("map<text, bigint>", "{'k': 1, 'a': -1}"),
    "c_tuple": ("tuple<int, text, boolean>", "(1, null, false)"),
    "c_udt": ("place", "{street: 'Main', number: 7, tags: {'x', 'y'}}"),
    "c_udt2": ("frozen<place>", "{number: 8}"),
    "c_vector": ("vector<float, 3>", "[1.5, -2.5, 0]"),
    "c_vector2": ("vector<text, 2>", "['', 'two']"),
    "c_vector3": ("vector<smallint, 3>", "[1, -2, 3]"),
    "c_vector4": ("vector<frozen<vector<int, 2>>, 2>", "[[1, 2], [3, 4]]"),
    "c_vector5": ("vector<frozen<list<varint>>, 2>", "[[1], [128, -129]]"),
    "c_nested": (
        "map<frozen<tuple<int, text>>, frozen<list<frozen<map<text, frozen<set<uuid>>>>>>>",
        "{(1, 'a'): [{'u': {123e4567-e89b-12d3-a456-426614174000}}, {}]}",
    ),
    "c_empty_int": ("int", "blob_as_int(0x)"),
    "c_empty_text": ("text", "''"),
    "c_empty_time": ("timestamp", "blob_as_timestamp(0x)"),
    "c_empty_uuid": ("uuid", "blob_as_uuid(0x)"),
    "c_null": ("text", "null"),
}

# name: statement; its answer is recorded
ANSWERS = {
    "create_table": "CREATE TABLE recorded.other (a int PRIMARY KEY)",
    "create_function": "CREATE FUNCTION recorded.twice (v int, w text) CALLED ON NULL INPUT RETURNS int "
    "LANGUAGE java AS 'return v * 2;'",
    "use": "USE recorded",
    "void": "INSERT INTO recorded.counts (k) VALUES (0)",
    "empty": "SELECT * FROM recorded.types WHERE pk = 77",
}
STATEMENTS = {
    "prepared_select": "SELECT * FROM recorded.types WHERE pk = ?",
    "prepared_composite": "INSERT INTO recorded.composite (c, b, v, a) VALUES (?, ?, ?, ?)",
    "prepared_lwt": "UPDATE recorded.composite SET v = :v WHERE a = :a AND b = :b AND c = :c IF v = :old",
}


def main(contact: str) -> None:
    host, _, port = contact.partition(":")
    connection = Connection(host, int(port))
    connection.query("DROP KEYSPACE IF EXISTS recorded")
    created = connection.query(
        "CREATE KEYSPACE recorded WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
    save("create_keyspace", created)
    save("create_type", connection.query(TYPE))
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    connection.query(f"CREATE TABLE recorded.types (pk int PRIMARY KEY, {columns})")
    connection.query("CREATE TABLE recorded.composite (a int, b text, c int, v text, PRIMARY KEY ((a, b), c))")
    connection.query("CREATE TABLE recorded.counts (k int PRIMARY KEY)")
    connection.query("CREATE TABLE recorded.counters (k int PRIMARY KEY, n counter)")
    names = ", ".join(COLUMNS)
    literals = ", ".join(literal for _, literal in COLUMNS.values())
    connection.query(f"INSERT INTO recorded.types (pk, {names}) VALUES (1, {literals})")
    connection.query("INSERT INTO recorded.types (pk) VALUES (2)")
    connection.query("UPDATE recorded.counters SET n = n - 5 WHERE k = 1")
    save("types", connection.query(f"SELECT {names} FROM recorded.types WHERE pk = 1"))
    save("nulls", connection.query(f"SELECT {names} FROM recorded.types WHERE pk = 2"))
    save("counter", connection.query("SELECT k, n FROM recorded.counters"))
    save("page", connection.query("SELECT pk FROM recorded.types", page_size=1))
    save("local", connection.query("SELECT * FROM system.local"))
    for name, text in ANSWERS.items():
        try:
            save(name, connection.query(text))
        except RuntimeError as error:
            print(name, error)
    for name, text in STATEMENTS.items():
        save(name, connection.prepare_body(text))


def save(name: str, body: bytes) -> None:
    (FOLDER / f"{name}.body").write_bytes(body)
    print(f"{name}: {len(body)} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
