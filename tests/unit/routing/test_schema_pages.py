"""Schemas that stay undecoded pages: tables are made one by one, and are what parsing everything gives."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import random
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest

from cassandra import DriverException
from cassandra._core.codec import retained_page
from cassandra._routing.schema import SchemaTarget
from cassandra._routing.schema.live import MISSING, Part
from cassandra.metadata import KeyspaceMetadata, MaterializedViewMetadata, Metadata, TableMetadata
from tests.fakes.schema import recorded
from tests.interrupts import interrupted_everywhere
from tests.unit.routing.schemas import Pages, Rows, answer, page_of, read

PARTS = ("tables", "views", "indexes", "user_types", "functions", "aggregates")
OPTIONS = {
    "bloom_filter_fp_chance": 0.01, "caching": {"keys": "ALL"}, "comment": "", "compaction": {"class": "LCS"},
    "compression": {"chunk_length_in_kb": "16"}, "gc_grace_seconds": 864000, "read_repair": "BLOCKING",
    "flags": ["compound"], "extensions": {"x": b"1"},
}  # fmt: skip


def paged(rows: Mapping[str, Any], size: int = 7) -> dict[str, Any]:
    return {part: Pages(found, size) for part, found in rows.items()}


def made(kind: type = TableMetadata) -> int:
    """How many tables exist in this process."""
    return sum(isinstance(one, kind) for one in gc.get_objects())


def columns(keyspace: str, table: str, number: int) -> list[dict[str, Any]]:
    where = {"keyspace_name": keyspace, "table_name": table, "type": "int"}
    kinds = [("partition_key", 0), ("clustering", 0), *[("regular", -1)] * number]
    return [
        {**where, "column_name": f"c{index}", "kind": kind, "position": position, "clustering_order": "none"}
        for index, (kind, position) in enumerate(kinds)
    ]


class Schema:
    """A random schema, which changes at random."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.ids = 0
        self.tables: dict[tuple[str, str], dict[str, Any]] = {}
        self.views: dict[tuple[str, str], dict[str, Any]] = {}
        self.columns: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.indexes: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for _ in range(rng.randrange(1, 12)):
            self.change()

    def _row(self) -> dict[str, Any]:
        self.ids += 1
        return {**OPTIONS, "comment": f"number {self.ids}", "id": UUID(int=self.ids)}

    def change(self) -> list[SchemaTarget]:
        """Create, alter or drop a table or a view; return what a server reports of it."""
        rng, keyspace = self.rng, self.rng.choice(("ks", "Other"))
        name = f"t{rng.randrange(6)}"
        key = keyspace, name
        if key in self.tables and rng.random() < 0.3:
            gone = [view for view, row in self.views.items() if (row["keyspace_name"], row["base_table_name"]) == key]
            for view in gone:
                del self.views[view], self.columns[view]
            del self.tables[key], self.columns[key], self.indexes[key]
            return [SchemaTarget("TABLE", *one, dropped=True) for one in (*gone, key)]
        if key in self.tables and rng.random() < 0.4:
            view = keyspace, f"v{rng.randrange(4)}"
            if view in self.views and rng.random() < 0.5:
                del self.views[view], self.columns[view]
                return [SchemaTarget("TABLE", *view, dropped=True)]
            if view not in self.views or self.views[view]["base_table_name"] == name:
                self.views[view] = {
                    **self._row(), "keyspace_name": keyspace, "view_name": view[1], "base_table_name": name,
                    "where_clause": "c0 IS NOT NULL", "include_all_columns": True,
                }  # fmt: skip
                self.columns[view] = columns(*view, rng.randrange(3))
            return [SchemaTarget.of_table(*view)]
        self.tables[key] = {**self._row(), "keyspace_name": keyspace, "table_name": name}
        self.columns[key] = columns(*key, rng.randrange(5))
        self.indexes[key] = [
            {"keyspace_name": keyspace, "table_name": name, "index_name": f"{name}_{one}", "kind": "COMPOSITES",
             "options": {"target": f"c{one}"}}
            for one in range(rng.randrange(3))
        ]  # fmt: skip
        return [SchemaTarget.of_table(*key)]

    def rows(self) -> Rows:
        strategy = {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "1"}

        def of(found: Mapping[tuple[str, str], Any]) -> list[Any]:
            return [found[key] for key in sorted(found)]

        return {
            "keyspaces": [
                {"keyspace_name": name, "durable_writes": True, "replication": strategy} for name in ("Other", "ks")
            ],
            "tables": of(self.tables),
            "views": of(self.views),
            "columns": [row for rows in of(self.columns) for row in rows],
            "indexes": [row for rows in of(self.indexes) for row in rows],
        }


def texts(metadata: Metadata) -> dict[str, Any]:
    """All that can be seen of *metadata*, which parses everything."""
    found: dict[str, Any] = {}
    for name, keyspace in metadata.keyspaces.items():
        found[name] = keyspace.export_as_string()
        for part in PARTS:
            items = getattr(keyspace, part)
            found[f"{name} {part}"] = {one: item.as_cql_query() for one, item in items.items()}
        for table in keyspace.tables.values():
            assert all(keyspace.views[view] is known for view, known in table.views.items())
            assert all(keyspace.indexes[index] is known for index, known in table.indexes.items())
            found[f"{name}.{table.name}"] = list(table.views), list(table.indexes), list(table.columns), table._id
    return found


def look(metadata: Metadata, rng: random.Random) -> None:
    """Look at something."""
    keyspace = metadata.keyspaces[rng.choice(sorted(metadata.keyspaces))]
    items: Any = getattr(keyspace, rng.choice(PARTS[:3]))
    names = list(items) if rng.random() < 0.5 else [f"{letter}{number}" for letter in "tv" for number in range(6)]
    name = rng.choice(names or [""])
    item = items.get(name)
    assert (item is not None) == (name in items)
    if item is not None:
        assert item.name == name and items[name] is item
    if isinstance(item, TableMetadata):
        assert all(keyspace.views[view] is known for view, known in item.views.items())
    if rng.random() < 0.1:
        assert len(items) == len(items.values()) == len(items.copy())


@pytest.mark.parametrize("version", ["5_0", "4_1"])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_pages_give_the_same_as_rows(version: str, size: int) -> None:
    rows = recorded(version)
    expected = texts(read(rows))
    assert texts(read(paged(rows, size))) == expected
    lazily = read(paged(rows, size))
    for name, keyspace in lazily.keyspaces.items():
        for table in reversed(list(keyspace.tables)):
            assert expected[f"{name} tables"][table] == keyspace.tables[table].as_cql_query()
    assert texts(lazily) == expected


@pytest.mark.parametrize("seed", range(30))
def test_random_schemas_are_what_parsing_everything_gives(seed: int) -> None:
    rng = random.Random(seed)
    schema = Schema(rng)
    lazily = read(paged(schema.rows(), rng.randrange(1, 20)))
    for _ in range(rng.randrange(25)):
        look(lazily, rng)
        if rng.random() < 0.5:
            for target in schema.change():
                found = {} if target.dropped else answer(schema.rows(), target)
                lazily.apply_schema(target, paged(found, rng.randrange(1, 9)))
    assert texts(lazily) == texts(read(schema.rows()))


def test_one_look_makes_one_table() -> None:
    rng = random.Random(1)
    schema = Schema(rng)
    while len(schema.tables) < 6:
        schema.change()
    before, before_views = made(), made(MaterializedViewMetadata)
    metadata = read(paged(schema.rows()))
    tables = metadata.keyspaces["ks"].tables
    names = list(tables)
    assert names and len(tables) == len(names) and all(name in tables for name in names) and "none" not in tables
    assert tables.keys() >= {names[0]} and bool(tables) and made() == before
    one = tables[names[-1]]
    assert made() == before + 1 and made(MaterializedViewMetadata) == before_views
    target = SchemaTarget.of_table("ks", names[0])
    metadata.apply_schema(target, paged(answer(schema.rows(), target)))
    metadata.apply_schema(SchemaTarget.of_table("ks", "none"), {})
    assert made() == before + 1 and tables[names[-1]] is one and names[0] in tables


def test_a_change_keeps_the_other_tables() -> None:
    rows = recorded("5_0")
    metadata = read(paged(rows))
    tables = metadata.keyspaces["rich"].tables
    before = dict(tables)
    target = SchemaTarget.of_table("rich", "simple")
    metadata.apply_schema(target, paged(answer(rows, target)))
    assert tables["simple"] is not before["simple"] and tables["simple"] is tables["simple"]
    assert all(tables[name] is table for name, table in before.items() if name != "simple")


# ---- a mapping like any dict


USES: list[Callable[[Any], Any]] = [
    len, bool, list, sorted, set, dict, repr, copy.copy, copy.deepcopy,
    lambda tables: list(reversed(tables)),
    lambda tables: {**tables},
    lambda tables: tables | {"more": 1},
    lambda tables: {"more": 1} | tables,
    lambda tables: tables == dict(tables),
    lambda tables: dict(tables) == tables,
    lambda tables: (tables != dict(tables), tables == {}, not tables),
    lambda tables: list(tables.items()),
    lambda tables: list(tables.values()),
    lambda tables: tables.keys() & {"simple", "none"},
    lambda tables: (tables.get("simple"), tables.get("none"), tables.get("none", 1), tables.get(7)),
    lambda tables: ("simple" in tables, "none" in tables, 7 in tables),
    lambda tables: json.dumps(tables, default=lambda item: item.as_cql_query()),
    lambda tables: sorted(pickle.loads(pickle.dumps(tables))),
    lambda tables: (tables.pop("simple"), "simple" in tables, len(tables), tables.pop("simple", None), list(tables)),
    lambda tables: (tables.popitem()[0], len(tables)),
    lambda tables: (tables.setdefault("simple", 1), tables.setdefault("more", 1), sorted(tables)),
    lambda tables: (tables.update(more=1), tables["more"], len(tables)),
    lambda tables: (tables.clear(), list(tables), len(tables)),
    lambda tables: (tables.__delitem__("simple"), list(tables)),
    lambda tables: tables.__ior__({"more": 1}) is tables and sorted(tables),
    lambda tables: (lambda **found: found)(**tables),
]  # fmt: skip


def shown(value: Any) -> Any:
    """*value* with the texts of tables in place of these."""
    if hasattr(value, "as_cql_query"):
        return value.as_cql_query()
    if isinstance(value, dict):
        return {name: shown(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    return value


@pytest.mark.parametrize("number", range(len(USES)))
@pytest.mark.parametrize("part", ["tables", "user_types"])
def test_it_is_used_like_a_dict(number: int, part: str) -> None:
    rows = recorded("5_0")
    plain = dict(sorted(getattr(read(rows).keyspaces["rich"], part).items()))
    if part == "user_types":
        plain["simple"] = plain["address"]
        plain = dict(sorted(plain.items()))
    lazily = getattr(read(paged(rows)).keyspaces["rich"], part)
    if part == "user_types":
        lazily["simple"] = lazily["address"]
    use = USES[number]
    if use is repr:
        assert repr(lazily) == repr(dict(lazily))
    else:
        assert shown(use(lazily)) == shown(use(plain))


@pytest.mark.parametrize("name", ["none", 7, ("a", "b"), None])
def test_unknown_names(name: Any) -> None:
    tables = read(paged(recorded("5_0"))).keyspaces["rich"].tables
    with pytest.raises(KeyError) as caught:
        tables[name]
    assert caught.value.args == (name,)
    with pytest.raises(KeyError):
        tables.pop(name)


# ---- rows that cannot be read


def broken(rows: Rows, raw: Mapping[tuple[int, str], bytes]) -> dict[str, Any]:
    """Pages of *rows* with the bytes *raw* in cells of the columns."""
    found: dict[str, Any] = paged(rows, 1000)
    found["columns"].found = [page_of(rows["columns"], raw=raw)]
    return found


def test_a_table_that_cannot_be_decoded_costs_itself_only(caplog: pytest.LogCaptureFixture) -> None:
    rows = recorded("5_0")
    places = {(row["keyspace_name"], row["table_name"]): number for number, row in enumerate(rows["columns"])}
    metadata = read(broken(rows, {(places["rich", "counters"], "position"): b"odd"}))
    tables = metadata.keyspaces["rich"].tables
    expected = read(rows).keyspaces["rich"].tables
    assert list(tables) == list(expected)
    assert all(tables[name].as_cql_query() == expected[name].as_cql_query() for name in expected if name != "counters")
    odd = tables["counters"]
    assert odd is tables["counters"] and odd.name == "counters" and odd.options == expected["counters"].options
    assert odd.export_as_string().startswith("/*\nWarning: Table rich.counters is incomplete")
    assert "Failed to decode column 'position'" in odd.export_as_string()
    assert caplog.text.count("rich.counters") == 1
    assert "rich.counters is incomplete" in metadata.export_schema_as_string()


def test_names_that_are_not_text_are_left_out() -> None:
    rows = recorded("5_0")
    found: dict[str, Any] = paged(rows, 1000)
    number = next(number for number, row in enumerate(rows["tables"]) if row["table_name"] == "counters")
    found["tables"].found = [page_of(rows["tables"], raw={(number, "table_name"): b"\xff\xfe"})]
    tables = read(found).keyspaces["rich"].tables
    assert set(tables) == set(read(rows).keyspaces["rich"].tables) - {"counters"}
    assert "counters" not in tables and tables.get("counters") is None


@pytest.mark.parametrize("part", ["tables", "columns"])
def test_rows_that_end_early(part: str) -> None:
    """The page as a whole is not to be trusted; the rest of the schema can be read."""
    rows = recorded("5_0")
    found: dict[str, Any] = paged(rows, 1000)
    first = next(iter(rows[part][0]))
    page = page_of(rows[part], raw={(0, first): b"x"})
    data = bytearray(bytes(page))
    struct.pack_into(">i", data, 0, len(data))
    found[part].found = [truncated(page, bytes(data))]
    metadata = read(found)
    rich = metadata.keyspaces["rich"]
    assert rich.replication_strategy is not None and rich.user_types
    if part == "tables":
        for use in (list, len, lambda tables: tables["simple"], lambda tables: "simple" in tables):
            with pytest.raises(DriverException, match="end in row 0"):
                use(rich.tables)  # type: ignore[operator]
    else:
        assert "end in row 0" in rich.tables["simple"].export_as_string()
    target = SchemaTarget.of_table("rich", "simple")
    metadata.apply_schema(target, paged(answer(rows, target)))
    assert rich.tables["simple"].columns


def truncated(page: Any, data: bytes) -> Any:
    """*page* with other bytes."""
    return retained_page(page.plan, struct.pack("=ii", len(page), 4) + data)


# ---- threads


class Overtaken:
    """A source of one name. While it makes the value, another thread makes all and releases the rows."""

    is_fixed = True

    def __init__(self) -> None:
        self.part: Any = None
        self.calls: list[str] = []
        self.released = False

    def names(self) -> list[str]:
        return ["a"]

    def first(self) -> None:
        return None

    def has(self, name: str) -> bool:
        return name == "a"

    def make(self, name: str) -> Any:
        self.calls.append(name)
        if len(self.calls) == 1:
            assert self.part.copy() == {"a": "value"}
            assert self.released
            return MISSING
        return "value"

    def release(self) -> None:
        self.released = True


def test_a_look_up_that_is_overtaken_finds_the_value() -> None:
    source = Overtaken()
    source.part = Part(source=source)
    assert source.part["a"] == "value" and source.calls == ["a", "a"]


# ---- signal handlers


class OddOnce(dict[str, Any]):
    """A row during whose reading a signal handler raises, once."""

    raised = False

    def __getitem__(self, name: str) -> Any:
        if name == "kind" and not OddOnce.raised:
            OddOnce.raised = True
            raise TimeoutError("a signal handler")
        return super().__getitem__(name)


def test_an_exception_of_a_signal_handler_is_raised_and_leaves_nothing() -> None:
    rows = recorded("5_0")
    odd = [OddOnce(row) if row["table_name"] == "simple" else row for row in rows["columns"]]
    tables = read({**rows, "columns": odd}).keyspaces["rich"].tables
    with pytest.raises(TimeoutError, match="a signal handler"):
        tables["simple"]
    assert tables["simple"].export_as_string() == read(rows).keyspaces["rich"].tables["simple"].export_as_string()


def test_signal_handlers_that_raise_at_any_moment() -> None:
    """What was made before remains; what was not is made later."""
    rows = recorded("5_0")
    rows = {part: [row for row in found if row["keyspace_name"] == "rich"] for part, found in rows.items()}
    rows["tables"] = [row for row in rows["tables"] if row["table_name"] in ("simple", "Select")]
    expected = texts(read(rows))
    pages = paged(rows, 1000)
    metadata: list[Metadata] = [read(pages)]
    kept: dict[str, Any] = {}

    def use() -> None:
        rich: KeyspaceMetadata = metadata[0].keyspaces["rich"]
        for name in ("simple", "Select"):
            kept[name] = rich.tables[name]
        kept["views"] = dict(rich.tables["Select"].views)
        kept["indexes"] = dict(rich.indexes)

    for moment in interrupted_everywhere(use):
        tables = metadata[0].keyspaces["rich"].tables
        assert all(tables[name] is table for name, table in kept.items() if isinstance(table, TableMetadata))
        if moment % 20 == 0:
            assert texts(metadata[0]) == expected
        metadata[0] = read(pages)
        kept.clear()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    OddOnce.raised = False
    yield
    gc.collect()
