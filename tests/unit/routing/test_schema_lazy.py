"""The contents of a keyspace are parsed on first access: not before, once, and the same for all callers."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import pytest

from cassandra._routing.schema import SchemaTarget
from cassandra.metadata import KeyspaceMetadata, Metadata
from tests.fakes.schema import recorded
from tests.patience import PATIENCE

CONTENTS = ("tables", "indexes", "user_types", "functions", "aggregates", "views")


class Watched(Sequence[dict[str, Any]]):
    """Rows that count how often they are gone through."""

    def __init__(self, rows: list[dict[str, Any]], on_read: Callable[[], object] = lambda: None) -> None:
        self.rows = rows
        self.read = 0
        self.on_read = on_read

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[dict[str, Any]]: ...
    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.read += 1
        self.on_read()
        return iter(self.rows)


def read(rows: dict[str, Any]) -> Metadata:
    metadata = Metadata()
    metadata.apply_schema(SchemaTarget.everything(), rows)
    return metadata


def test_only_keyspaces_are_parsed_at_first() -> None:
    rows = {name: Watched(found) for name, found in recorded("5_0").items()}
    metadata = read(rows)
    rich = metadata.keyspaces["rich"]
    assert rich.replication_strategy is not None and rich.durable_writes
    assert {name for name, found in rows.items() if found.read} == {"keyspaces", "virtual_keyspaces"}
    assert "everything" in rich.tables and "nothing" not in rich.tables
    assert rows["tables"].read == 1 and rows["columns"].read == 0
    assert "p1" in rich.tables["everything"].columns
    assert rows["columns"].read == 1 and rows["virtual_columns"].read == 0
    assert "by_name" in rich.indexes and metadata.keyspaces["QuotedKs"].tables == {}
    assert rows["columns"].read == rows["tables"].read == 1


def test_parsed_parts_of_a_keyspace_are_kept() -> None:
    keyspace = read(dict(recorded("5_0"))).keyspaces["rich"]
    for name in CONTENTS:
        part = getattr(keyspace, name)
        assert part and getattr(keyspace, name) is part, name
    assert keyspace.tables["simple"].indexes["by_name"] is keyspace.indexes["by_name"]
    own: dict[str, Any] = {}
    keyspace.tables = own
    assert keyspace.tables is own


def test_all_threads_get_the_same_objects() -> None:
    """Several threads are the first to ask, all in the midst of parsing at once."""
    threads = 4
    together = threading.Barrier(threads)
    rows: dict[str, Any] = dict(recorded("5_0"))
    rows["tables"] = Watched(rows["tables"], lambda: together.wait(PATIENCE))
    keyspace = read(rows).keyspaces["rich"]
    found: list[tuple[Any, ...]] = []

    def ask() -> None:
        found.append(tuple(getattr(keyspace, name) for name in CONTENTS))

    asking = [threading.Thread(target=ask) for _ in range(threads)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(PATIENCE)
    assert len(found) == threads
    assert all(mine is others for each in found for mine, others in zip(each, found[0], strict=True))


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda keyspace: pickle.loads(pickle.dumps(keyspace))], ids=lambda f: f.__name__
)
def test_a_copy_has_everything(again: Callable[[KeyspaceMetadata], KeyspaceMetadata]) -> None:
    rows = recorded("5_0")
    expected = read(dict(rows)).keyspaces["rich"].export_as_string()
    assert "CREATE TABLE" in expected
    assert again(read(dict(rows)).keyspaces["rich"]).export_as_string() == expected


def test_keyspace_settings_change_keeps_unparsed_rows() -> None:
    rows = {name: Watched(found) for name, found in recorded("5_0").items()}
    metadata = read(dict(rows))
    before = metadata.keyspaces["rich"]
    settings = [{**row, "durable_writes": False} for row in rows["keyspaces"] if row["keyspace_name"] == "rich"]
    metadata.apply_schema(SchemaTarget("KEYSPACE", "rich"), {"keyspaces": settings})
    after = metadata.keyspaces["rich"]
    assert before.durable_writes and not after.durable_writes
    assert rows["tables"].read == 0
    assert "everything" in after.tables and after.tables is before.tables and rows["tables"].read == 1


def test_a_new_keyspace_is_empty() -> None:
    keyspace = KeyspaceMetadata("ks", True, "SimpleStrategy", {"replication_factor": "1"})
    assert all(getattr(keyspace, name) == {} for name in CONTENTS)
    assert keyspace.tables is keyspace.tables
