"""Which parts of the schema are read for a set of changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import UserFunctionDescriptor
from cassandra._routing.schema import SchemaTarget
from cassandra._session.control.events import MANY_IN_KEYSPACE, MANY_KEYSPACES, EventRouter, covers, reduce_targets
from cassandra.cluster import Cluster
from cassandra.protocol import EventMessage
from tests.checked_locks import as_driver

ALL = SchemaTarget.everything()
KS = SchemaTarget.of_keyspace("ks")
KS_DROPPED = KS._replace(dropped=True)
CONTENTS = SchemaTarget.of_keyspace("ks", contents=True)
TABLE = SchemaTarget.of_table("ks", "t")
TABLE_DROPPED = TABLE._replace(dropped=True)
TYPE = SchemaTarget.of_type("ks", "u")
FUNCTION = SchemaTarget.of_function("ks", UserFunctionDescriptor("f", ["int"]))
ELSEWHERE = SchemaTarget.of_table("other", "t")


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        ([], []),
        ([TABLE], [TABLE]),
        ([TABLE, TABLE, TABLE], [TABLE]),
        ([TABLE, TYPE, FUNCTION, ELSEWHERE], [TABLE, TYPE, FUNCTION, ELSEWHERE]),
        ([TABLE, TABLE_DROPPED], [TABLE_DROPPED]),
        ([TABLE_DROPPED, TABLE], [TABLE]),
        ([TABLE, ALL, TYPE], [ALL]),
        ([TABLE, CONTENTS, ELSEWHERE], [CONTENTS, ELSEWHERE]),
        ([TABLE, KS], [TABLE, KS]),
        ([TABLE, KS_DROPPED], [KS_DROPPED]),
        ([KS_DROPPED, KS], [CONTENTS]),  # another keyspace of that name: nothing known of the old one is true
        ([KS_DROPPED, KS, TABLE], [CONTENTS]),
        ([KS, KS_DROPPED, TABLE_DROPPED], [KS_DROPPED]),
    ],
)
def test_merged(targets: list[SchemaTarget], expected: list[SchemaTarget]) -> None:
    assert reduce_targets(targets) == expected


def test_many_changes_are_read_as_a_whole() -> None:
    few = [SchemaTarget.of_table("ks", f"t{number}") for number in range(MANY_IN_KEYSPACE)]
    assert reduce_targets(few) == few
    assert reduce_targets([*few, TABLE]) == [CONTENTS]
    keyspaces = [SchemaTarget.of_keyspace(f"k{number}") for number in range(MANY_KEYSPACES)]
    assert reduce_targets(keyspaces) == keyspaces
    assert reduce_targets([*keyspaces, KS]) == [ALL]


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        (ALL, TABLE, True),
        (ALL, KS_DROPPED, True),
        (CONTENTS, TABLE, True),
        (CONTENTS, KS, True),
        (CONTENTS, ELSEWHERE, False),
        (CONTENTS, ALL, False),
        (TABLE, TABLE_DROPPED, True),
        (TABLE, TYPE, False),
        (KS, TABLE, False),
        (TABLE, ELSEWHERE, False),
    ],
)
def test_covers(wide: SchemaTarget, narrow: SchemaTarget, expected: bool) -> None:
    assert covers(wide, narrow) is expected


def test_clients_spread_their_reads_of_a_change() -> None:
    """By default over two seconds: a thousand clients do not ask one node at the same moment."""
    delays: list[float] = []

    class Scheduler:
        def schedule(self, delay: float, *call: Any) -> None:
            delays.append(delay)

    window = Cluster.schema_event_refresh_window
    for _ in range(1000):
        cluster: Any = SimpleNamespace(
            is_shutdown=False, schema_event_refresh_window=window, schema_metadata_enabled=True, scheduler=Scheduler(),
        )  # fmt: skip
        args = {"change_type": "CREATED", "target_type": "TABLE", "keyspace": "ks", "table": "t"}
        as_driver(EventRouter(cluster, cluster).on_event, EventMessage("SCHEMA_CHANGE", args))
    assert window == 2 and len(delays) == 1000 and min(delays) >= 0 and max(delays) <= window
    assert all(sum(start <= delay < start + 0.2 for delay in delays) < 200 for start in (0, 0.5, 1, 1.8))
    assert max(delays) - min(delays) > 1.5
