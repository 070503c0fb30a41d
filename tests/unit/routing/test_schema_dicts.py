"""Dicts of keyspaces that a program holds follow later schema reads, and can be iterated meanwhile."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from typing import Any

import pytest

from cassandra._routing.schema import SchemaTarget
from cassandra.metadata import KeyspaceMetadata, Metadata
from tests.fakes.schema import recorded
from tests.patience import PATIENCE

from .test_schema_objects import EVERYTHING, SIMPLE, Rows, only, read

PARTS = ("tables", "indexes", "user_types", "functions", "aggregates", "views")
ADDRESS = SchemaTarget("TYPE", "rich", "address")
KEYSPACE = SchemaTarget.of_keyspace("rich")


@pytest.fixture
def rows() -> Rows:
    return {name: list(found) for name, found in recorded("5_0").items()}


@pytest.fixture
def metadata(rows: Rows) -> Metadata:
    return read(rows)


def of_address(rows: Rows) -> Rows:
    return {"types": [row for row in rows["types"] if row["type_name"] == "address"]}


def of_rich(rows: Rows) -> Rows:
    return {part: [row for row in found if row.get("keyspace_name") == "rich"] for part, found in rows.items()}


def dropped(target: SchemaTarget) -> SchemaTarget:
    return target._replace(dropped=True)


def first(rows: Rows, part: str) -> Any:
    return next(row for row in rows[part] if row["keyspace_name"] == "rich")


def signature_target(kind: str, row: Any) -> SchemaTarget:
    name = row["function_name" if kind == "FUNCTION" else "aggregate_name"]
    return SchemaTarget(kind, "rich", name, tuple(row["argument_types"]))


def test_a_dict_is_one_until_all_in_it_is_read_again(metadata: Metadata, rows: Rows) -> None:
    rich = metadata.keyspaces["rich"]
    held = {name: getattr(rich, name) for name in PARTS}
    for target, found in [
        (dropped(SIMPLE), {}),
        (SIMPLE, only(rows, SIMPLE)),
        (dropped(ADDRESS), {}),
        (ADDRESS, of_address(rows)),
        (KEYSPACE, of_rich(rows)),
    ]:
        metadata.apply_schema(target, found)
        assert all(getattr(rich, name) is part for name, part in held.items()), target
        assert all(getattr(metadata.keyspaces["rich"], name) is part for name, part in held.items()), target
    before = {name: dict(part) for name, part in held.items()}
    for target, found in [(SchemaTarget.of_keyspace("rich", contents=True), of_rich(rows)), (EVERYTHING, rows)]:
        metadata.apply_schema(target, found)
        assert all(getattr(metadata.keyspaces["rich"], name) is not part for name, part in held.items()), target
        assert held == before


def test_held_dicts_follow_tables_and_types(metadata: Metadata, rows: Rows) -> None:
    rich = metadata.keyspaces["rich"]
    tables, types, views = rich.tables, rich.user_types, rich.views
    metadata.apply_schema(dropped(SIMPLE), {})
    assert "simple" not in tables
    metadata.apply_schema(SIMPLE, only(rows, SIMPLE))
    assert tables["simple"] is rich.tables["simple"]
    metadata.apply_schema(dropped(ADDRESS), {})
    assert "address" not in types and "street" in types
    metadata.apply_schema(ADDRESS, of_address(rows))
    assert types["address"].name == "address"
    metadata.apply_schema(SchemaTarget("TABLE", "rich", "by_value", dropped=True), {})
    assert "by_value" not in views and len(tables) == len(rich.tables)


@pytest.mark.parametrize("kind, part", [("FUNCTION", "functions"), ("AGGREGATE", "aggregates")])
def test_held_dicts_follow_functions(metadata: Metadata, rows: Rows, kind: str, part: str) -> None:
    rich = metadata.keyspaces["rich"]
    held = getattr(rich, part)
    row = first(rows, part)
    target = signature_target(kind, row)
    (signature,) = [name for name, known in held.items() if name.startswith(f"{target.name}(")][:1]
    metadata.apply_schema(dropped(target), {})
    assert signature not in held
    metadata.apply_schema(target, {part: [row]})
    assert held[signature] is getattr(rich, part)[signature]


def test_held_dicts_follow_indexes(metadata: Metadata, rows: Rows) -> None:
    rich = metadata.keyspaces["rich"]
    indexes = rich.indexes
    name, index = next(iter(indexes.items()))
    target = SchemaTarget.of_table("rich", index.table_name)
    found = only(rows, target)
    metadata.apply_schema(target, {**found, "indexes": []})
    assert name not in indexes
    metadata.apply_schema(target, found)
    assert indexes[name] is rich.tables[index.table_name].indexes[name]


def test_the_dict_of_keyspaces_follows_until_everything_is_read_again(metadata: Metadata, rows: Rows) -> None:
    keyspaces = metadata.keyspaces
    metadata.apply_schema(dropped(KEYSPACE), {})
    assert "rich" not in keyspaces and keyspaces is metadata.keyspaces
    metadata.apply_schema(SchemaTarget.of_keyspace("rich", contents=True), of_rich(rows))
    assert keyspaces["rich"] is metadata.keyspaces["rich"] and keyspaces is metadata.keyspaces
    metadata.apply_schema(EVERYTHING, rows)
    assert keyspaces is not metadata.keyspaces and keyspaces.keys() == metadata.keyspaces.keys()


def test_schema_changes_do_not_affect_iterations_under_way(metadata: Metadata, rows: Rows) -> None:
    """Each iteration of a dict ends with the entries that it began with."""
    tables = metadata.keyspaces["rich"].tables
    before = dict(tables)
    ways = [iter(tables), iter(tables.keys()), iter(tables.values()), iter(tables.items()), reversed(tables)]
    seen = [[next(way)] for way in ways]
    metadata.apply_schema(dropped(SIMPLE), {})
    for way, found in zip(ways, seen, strict=True):
        found.extend(way)
    assert len(tables) == len(before) - 1
    assert seen == [list(before), list(before), list(before.values()), list(before.items()), list(reversed(before))]


def test_names_come_in_their_order(metadata: Metadata, rows: Rows) -> None:
    rich = metadata.keyspaces["rich"]
    text = rich.export_as_string()
    metadata.apply_schema(dropped(SIMPLE), {})
    metadata.apply_schema(SIMPLE, only(rows, SIMPLE))
    metadata.apply_schema(dropped(ADDRESS), {})
    metadata.apply_schema(ADDRESS, of_address(rows))
    for held in (rich, copy.copy(rich), pickle.loads(pickle.dumps(rich))):
        assert list(held.tables) == sorted(held.tables) and list(held.user_types) == sorted(held.user_types)
        assert held.export_as_string() == text
    assert repr(rich.tables) == repr(dict(rich.tables)) and next(reversed(rich.tables)) == max(rich.tables)


def test_copies_are_plain_dicts_of_one_moment(metadata: Metadata, rows: Rows) -> None:
    tables, keyspaces = metadata.keyspaces["rich"].tables, metadata.keyspaces
    copies = [dict(tables), {**tables}, tables.copy(), tables | {}, copy.copy(tables), copy.deepcopy(tables)]
    copies += [pickle.loads(pickle.dumps(tables)), copy.copy(metadata.keyspaces["rich"]).tables]
    copied = [dict(keyspaces), keyspaces.copy(), copy.copy(keyspaces), pickle.loads(pickle.dumps(keyspaces))]
    metadata.apply_schema(dropped(SIMPLE), {})
    metadata.apply_schema(dropped(KEYSPACE), {})
    assert "simple" not in tables and all(type(one) is dict and "simple" in one for one in copies)
    assert "rich" not in keyspaces and all(type(one) is dict and "rich" in one for one in copied)


def test_it_is_a_dict(metadata: Metadata) -> None:
    types = metadata.keyspaces["rich"].user_types
    assert isinstance(types, dict) and types == dict(types) and dict(types) == types
    assert types.get("nobody") is None and types.get("address") is types["address"]
    assert json.loads(json.dumps(types, default=lambda known: known.name)) == {name: name for name in types}
    assert types.keys() & {"address", "nobody"} == {"address"}


def test_a_program_may_write_into_it(metadata: Metadata, rows: Rows) -> None:
    """As it can with scylla-driver: until the keyspace is read again."""
    rich = metadata.keyspaces["rich"]
    made = KeyspaceMetadata("made", True, "SimpleStrategy", {"replication_factor": "1"})
    metadata.keyspaces["made"] = made
    rich.tables["made"] = rich.tables["simple"]
    assert metadata.keyspaces["made"] is made and "made" in list(rich.tables)
    own: dict[str, Any] = {}
    rich.functions = own
    metadata.apply_schema(SIMPLE, only(rows, SIMPLE))
    assert "made" in metadata.keyspaces and "made" in rich.tables and rich.functions is own
    metadata.apply_schema(EVERYTHING, rows)
    fresh = metadata.keyspaces["rich"]
    assert "made" not in metadata.keyspaces and "made" not in fresh.tables and fresh.functions and own == {}


def test_concurrent_readers_never_miss_unchanged_tables(metadata: Metadata, rows: Rows) -> None:
    """Threads look up, go through and print while a table comes and goes."""
    rich = metadata.keyspaces["rich"]
    tables = rich.tables
    names = set(tables)
    always = names - {"simple"}
    with_it, texts = only(rows, SIMPLE), {rich.export_as_string()}
    metadata.apply_schema(dropped(SIMPLE), {})
    texts.add(rich.export_as_string())
    wrong: list[Any] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            try:
                if not all(name in tables and tables[name].name == name for name in always):
                    wrong.append("missing")
                if set(tables) not in (names, always) or {one.name for one in tables.values()} not in (names, always):
                    wrong.append(list(tables))
                if copy.copy(rich).export_as_string() not in texts:
                    wrong.append("another text")
            except Exception as error:
                wrong.append(error)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(200):
        if turn % 2:
            metadata.apply_schema(dropped(SIMPLE), {})
        else:
            metadata.apply_schema(SIMPLE, with_it)
    over.set()
    for reader in readers:
        reader.join(PATIENCE)
    assert len(texts) == 2 and not wrong
