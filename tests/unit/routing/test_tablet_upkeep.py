"""Tablets are forgotten when their table is dropped or replaced, and only then."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from cassandra._routing.schema import SchemaTarget
from cassandra.metadata import Metadata
from cassandra.tablets import Tablet
from tests.fakes.routing import MURMUR3, make_host

Rows = dict[str, list[dict[str, Any]]]

EVERYTHING, KS, ANOTHER = SchemaTarget.everything(), SchemaTarget.of_keyspace("ks"), SchemaTarget.of_keyspace("another")
CONTENTS = SchemaTarget.of_keyspace("ks", contents=True)
T, VIEW = SchemaTarget.of_table("ks", "t"), SchemaTarget.of_table("ks", "by_value")
ALL = {("ks", "t"), ("ks", "u"), ("ks", "by_value"), ("another", "t")}


def keyspace(name: str, replicas: str = "2", durable: bool = True) -> dict[str, Any]:
    replication = {"class": "org.apache.cassandra.locator.NetworkTopologyStrategy", "dc1": replicas}
    return {"keyspace_name": name, "durable_writes": durable, "replication": replication}


def table(keyspace: str, name: str, number: int, comment: str = "") -> dict[str, Any]:
    return {"keyspace_name": keyspace, "table_name": name, "id": UUID(int=number), "comment": comment}


def column(keyspace: str, table: str, name: str = "k", kind: str = "partition_key") -> dict[str, Any]:
    where = {"keyspace_name": keyspace, "table_name": table, "column_name": name}
    return {**where, "kind": kind, "position": 0, "type": "int", "clustering_order": "none"}


VIEW_ROW = {
    "keyspace_name": "ks", "view_name": "by_value", "base_table_name": "t", "id": UUID(int=9),
    "where_clause": "k IS NOT NULL", "include_all_columns": True,
}  # fmt: skip


def schema(**instead: list[dict[str, Any]]) -> Rows:
    """The schema rows of servers at first, with *instead* in place of a part of them."""
    tables = [table("ks", "t", 1), table("ks", "u", 2), table("another", "t", 3)]
    columns = [column("ks", "t"), column("ks", "u"), column("ks", "by_value"), column("another", "t")]
    return {
        "keyspaces": [keyspace("ks"), keyspace("another")], "tables": tables, "columns": columns, "views": [VIEW_ROW],
        **instead,
    }  # fmt: skip


def only(rows: Rows, keyspace: str, name: str) -> Rows:
    """The rows of one table or view, as they are read after an event about it."""
    return {
        part: [
            row
            for row in found
            if row["keyspace_name"] == keyspace and name in (row.get("table_name"), row.get("view_name"))
        ]
        for part, found in rows.items()
    }


@pytest.fixture
def metadata() -> Metadata:
    made = Metadata()
    made.apply_schema(EVERYTHING, schema())
    for key in sorted(ALL):
        made._tablets.add_tablet(*key, Tablet(-100, 100, [(UUID(int=1), 0), (UUID(int=2), 1)]))
    return made


def known(metadata: Metadata) -> set[tuple[str, str]]:
    return {key for key in ALL if metadata._tablets.table_has_tablets(*key)}


RECREATED = schema(tables=[table("ks", "t", 7), table("ks", "u", 2), table("another", "t", 3)])
ALTERED = schema(columns=[column("ks", "t"), column("ks", "t", "v", "regular")])
GONE = schema(tables=[table("ks", "u", 2), table("another", "t", 3)])
MORE_REPLICAS = schema(keyspaces=[keyspace("ks", "3"), keyspace("another")])
KEYSPACE_GONE = schema(
    keyspaces=[keyspace("another")], tables=[table("another", "t", 3)], columns=[column("another", "t")], views=[]
)
NOTHING: Rows = {}


@pytest.mark.parametrize(
    ("target", "rows", "forgotten"),
    [
        (EVERYTHING, schema(), set()),
        (EVERYTHING, RECREATED, {("ks", "t")}),
        (EVERYTHING, GONE, {("ks", "t")}),
        (EVERYTHING, schema(views=[]), {("ks", "by_value")}),
        (EVERYTHING, MORE_REPLICAS, {key for key in ALL if key[0] == "ks"}),
        (EVERYTHING, KEYSPACE_GONE, {key for key in ALL if key[0] == "ks"}),
        (CONTENTS, RECREATED, {("ks", "t")}),
        (CONTENTS, GONE, {("ks", "t")}),
        (CONTENTS, KEYSPACE_GONE, {key for key in ALL if key[0] == "ks"}),
        (T, only(schema(), "ks", "t"), set()),
        (T, only(RECREATED, "ks", "t"), {("ks", "t")}),
        (T, only(ALTERED, "ks", "t"), {("ks", "t")}),
        (T, only(GONE, "ks", "t"), {("ks", "t")}),
        (T._replace(dropped=True), NOTHING, {("ks", "t")}),
        (VIEW, only(schema(), "ks", "by_value"), set()),
        (VIEW, only(schema(views=[{**VIEW_ROW, "comment": "new"}]), "ks", "by_value"), {("ks", "by_value")}),
        (VIEW._replace(dropped=True), NOTHING, {("ks", "by_value")}),
        (KS, {"keyspaces": [keyspace("ks")]}, set()),
        (KS, {"keyspaces": [keyspace("ks", durable=False)]}, set()),
        (KS, {"keyspaces": [keyspace("ks", "3")]}, {key for key in ALL if key[0] == "ks"}),
        (KS._replace(dropped=True), NOTHING, {key for key in ALL if key[0] == "ks"}),
        (ANOTHER._replace(dropped=True), NOTHING, {("another", "t")}),
        (SchemaTarget.of_type("ks", "street"), NOTHING, set()),
        (SchemaTarget.of_table("unknown", "t"), NOTHING, set()),
    ],
)
def test_schema_changes_drop_tablets_of_changed_tables(
    metadata: Metadata, target: SchemaTarget, rows: Rows, forgotten: set[tuple[str, str]]
) -> None:
    metadata.apply_schema(target, rows)
    assert known(metadata) == ALL - forgotten


def test_schema_change_read_twice_drops_tablets_once(metadata: Metadata) -> None:
    """The event about a change of ours may come after its answer."""
    for target, rows in ((T, only(ALTERED, "ks", "t")), (EVERYTHING, ALTERED)):
        metadata.apply_schema(target, rows)
        metadata._tablets.add_tablet("ks", "t", Tablet(-100, 100, [(UUID(int=1), 0)]))
        metadata.apply_schema(T, only(ALTERED, "ks", "t"))
        assert ("ks", "t") in known(metadata)


def test_new_table_keeps_tablets_learned_before_its_schema_is_read(metadata: Metadata) -> None:
    metadata.apply_schema(T._replace(dropped=True), NOTHING)
    metadata._tablets.add_tablet("ks", "t", Tablet(-100, 100, [(UUID(int=1), 0)]))
    metadata.apply_schema(T, only(RECREATED, "ks", "t"))
    assert ("ks", "t") in known(metadata)
    metadata.apply_schema(EVERYTHING, schema())
    assert ("ks", "t") not in known(metadata)


@pytest.mark.parametrize(
    ("target", "forgotten"),
    [
        (EVERYTHING, ALL),
        (KS, {key for key in ALL if key[0] == "ks"}),
        (KS._replace(dropped=True), {key for key in ALL if key[0] == "ks"}),
        (T, {("ks", "t")}),
        (T._replace(dropped=True), {("ks", "t")}),
        (SchemaTarget.of_type("ks", "street"), set()),
    ],
)
def test_a_schema_that_is_not_followed(
    metadata: Metadata, target: SchemaTarget, forgotten: set[tuple[str, str]]
) -> None:
    metadata.schema_not_read(target)
    assert known(metadata) == ALL - forgotten


def test_hosts_that_leave() -> None:
    metadata = Metadata()
    hosts = [make_host(number) for number in (1, 2, 3)]
    tokens = {host: [str(number)] for number, host in enumerate(hosts)}
    metadata.replace_topology(hosts, MURMUR3, tokens)
    for number, replicas in enumerate([(1, 2), (2, 3), (1, 3)]):
        tablet = Tablet(number, number + 1, [(UUID(int=host), 0) for host in replicas])
        metadata._tablets.add_tablet("ks", "t", tablet)

    def left() -> list[int]:
        tablets = metadata._tablets._tablets.get(("ks", "t"), [])
        return [tablet.first_token for tablet in tablets]

    metadata.replace_topology(hosts, MURMUR3, tokens)
    assert left() == [0, 1, 2]
    metadata.replace_topology(hosts[1:], MURMUR3, {host: tokens[host] for host in hosts[1:]})
    assert left() == [1]
    metadata.remove_host(hosts[2])
    assert left() == []
