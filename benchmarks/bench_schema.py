"""Schema metadata of a large cluster: connecting, the first look at one table, a table that another client creates.

CPU time of the whole process, I/O thread included; a median of fresh processes. Connecting is measured beside an
otherwise equal cluster without the keyspace. Memory is what ``tracemalloc`` and the kernel (RSS) report. The responder
plays one keyspace of 10,000 tables with 20 columns each, over pages of 1,000 rows, beside the recorded schema.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from benchmarks.clients.schema import CREATED, EVENTS, KEYSPACE, WARM
from benchmarks.measure import FASTCQL, Driver, alternate, pyperf_wanted
from benchmarks.report import Line, at_most, compared_only, show
from benchmarks.responder import Responder
from benchmarks.responder.recording import Answer, answers
from cassandra._routing.schema import SchemaTarget, ServerTraits, schema_queries

TITLE = "Schema metadata of 10,000 tables"
TABLES, COLUMNS, PAGE = 10_000, 20, 1000
CONNECT, LOOK, LOOK_BYTES, CHANGE = 0.015, 200e-6, 20_000, 500e-6
RESULT, EVENT = 0x08, 0x0C
GLOBAL, MORE = 1, 2

Row = Sequence[bytes | None]


def drivers(port: int, tables: int) -> dict[str, Driver]:
    return {FASTCQL: Driver("schema", (str(port), str(tables)))}


def canned(tables: int) -> dict[bytes, Answer]:
    """The answers for a keyspace of *tables* tables, and events about more of them."""
    found: dict[bytes, Answer] = {}
    recorded = {part: Recorded(part) for part in ("keyspaces", "tables", "columns")}
    keyspaces, any_table = recorded["keyspaces"], recorded["tables"]
    texts = {one.name: one.cql for one in schema_queries(SchemaTarget.everything(), ServerTraits.of("5.0"))}
    names = [f"table_{number:06}" for number in range(tables)]
    rows = {
        "keyspaces": [*keyspaces.rows, keyspaces.changed(keyspace_name=KEYSPACE)],
        "tables": [*any_table.rows, *(any_table.changed(keyspace_name=KEYSPACE, table_name=name) for name in names)],
        "columns": [*recorded["columns"].rows, *(row for name in names for row in columns_of(name))],
    }
    for part, known in rows.items():
        for text in {f"SELECT * FROM system_schema.{part}", texts[part]}:
            found |= pages(recorded[part], known, text)
            own = [row for row in known if row[0] == KEYSPACE.encode()]
            found |= pages(recorded[part], own, f"{text} WHERE keyspace_name = '{KEYSPACE}'")
    for number in range(EVENTS + WARM):
        name = f"fresh_{number}"
        target = SchemaTarget.of_table(KEYSPACE, name)
        words = ("CREATED", "TABLE", KEYSPACE, name)
        body = b"".join(struct.pack(">H", len(word)) + word.encode() for word in ("SCHEMA_CHANGE", *words))
        found[b"Q" + f"{CREATED} {name}".encode()] = Answer(EVENT, 0, body)
        created = {
            "tables": [any_table.changed(keyspace_name=KEYSPACE, table_name=name)],
            "columns": list(columns_of(name)),
        }
        for query in schema_queries(target, ServerTraits.of("5.0")):
            where = query.cql.partition(" WHERE ")[2]
            shape = recorded.get(query.name) or Recorded(query.name)
            for text in {f"SELECT * FROM system_schema.{query.name} WHERE {where}", query.cql}:
                found |= pages(shape, created.get(query.name, []), text)
    return found


def columns_of(table: str) -> Iterator[Row]:
    for number in range(COLUMNS):
        name = f"column_{number:02}".encode()
        kind, position = (
            (b"partition_key", 0) if number == 0 else (b"clustering", 0) if number == 1 else (b"regular", -1)
        )
        order = b"asc" if kind == b"clustering" else b"none"
        yield KEYSPACE.encode(), table.encode(), name, order, name, kind, struct.pack(">i", position), b"text"


class Recorded:
    """The recorded rows of a schema table, as cells, and its columns."""

    def __init__(self, part: str) -> None:
        body = answers()[b"Q" + f"SELECT * FROM system_schema.{part}".encode()].body
        _, flags, count = struct.unpack_from(">iii", body)
        assert flags == GLOBAL
        at = 12
        for _ in range(2):
            at += 2 + struct.unpack_from(">H", body, at)[0]
        self.head, self.columns = body[12:at], dict[str, bytes]()
        for _ in range(count):
            (size,) = struct.unpack_from(">H", body, at)
            end = end_of_type(body, at + 2 + size)
            self.columns[body[at + 2 : at + 2 + size].decode()] = body[at + 2 + size : end]
            at = end
        (number,) = struct.unpack_from(">i", body, at)
        cells, at = [], at + 4
        for _ in range(number * count):
            (size,) = struct.unpack_from(">i", body, at)
            cells.append(body[at + 4 : at + 4 + size] if size >= 0 else None)
            at += 4 + max(0, size)
        self.rows: list[Row] = [tuple(cells[one : one + count]) for one in range(0, len(cells), count)]

    def changed(self, **texts: str) -> Row:
        """The first row with other cells."""
        cells = dict(zip(self.columns, self.rows[0], strict=True)) | {name: one.encode() for name, one in texts.items()}
        return tuple(cells.values())


def end_of_type(body: bytes, at: int) -> int:
    (kind,) = struct.unpack_from(">H", body, at)
    at += 2
    for _ in range({0x20: 1, 0x21: 2, 0x22: 1}.get(kind, 0)):
        at = end_of_type(body, at)
    assert kind < 0x30
    return at


def pages(shape: Recorded, rows: Sequence[Row], text: str) -> dict[bytes, Answer]:
    """The pages of *text*, a SELECT of all columns or of some."""
    wanted = text.removeprefix("SELECT ").partition(" FROM ")[0].split(", ")
    names = list(shape.columns)
    places = range(len(names)) if wanted == ["*"] else [names.index(name) for name in wanted]
    specs = b"".join(
        struct.pack(">H", len(names[one])) + names[one].encode() + shape.columns[names[one]] for one in places
    )
    found, key = {}, b"Q" + text.encode()
    for first in range(0, len(rows), PAGE) or [0]:
        part = rows[first : first + PAGE]
        state = struct.pack(">i", first + PAGE) if first + PAGE < len(rows) else b""
        more = struct.pack(">i", len(state)) + state if state else b""
        head = struct.pack(">iii", 2, GLOBAL | (MORE if state else 0), len(places)) + more + shape.head + specs
        cells = b"".join(cell(row[one]) for row in part for one in places)
        found[key] = Answer(RESULT, 0, head + struct.pack(">i", len(part)) + cells)
        key = b"Q" + text.encode() + b"\0" + state
    return found


def cell(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else struct.pack(">i", len(value)) + value


def lines() -> list[Line]:
    if pyperf_wanted():  # CPU of all threads, which pyperf does not measure
        return []
    with Responder(more=canned(TABLES)) as responder:
        samples = alternate(drivers(responder.port, TABLES), processes=3)
    with Responder() as responder:
        empty = alternate(drivers(responder.port, 0), processes=3)

    def ours(name: str) -> float:
        return samples[FASTCQL, name]

    def size(name: str, limit: int | None = None) -> Line:
        value = ours(name)
        target = "" if limit is None else f"≤ {limit / 1000:g} kB"
        return Line(name, f"{value / 1000:,.1f} kB", target, reached=None if limit is None else value <= limit)

    return [
        at_most("connect, beyond an empty cluster", ours("connect") - empty[FASTCQL, "connect"], CONNECT),
        compared_only("  of an empty cluster", empty[FASTCQL, "connect"]),
        size("connect, memory"),
        size("connect, RSS"),
        at_most("first look at one table", ours("look"), LOOK),
        size("look, memory", LOOK_BYTES),
        at_most("CREATE TABLE by another client", ours("change"), CHANGE),
        at_most("  after a look at one table", ours("change after a look"), CHANGE),
        compared_only("names of all tables", ours("names")),
        compared_only("all tables", ours("all")),
        size("all, memory"),
    ]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
