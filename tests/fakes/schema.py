"""A schema with something of everything, and the rows real servers describe it by.

``python -m tests.fakes.schema host:port`` creates it on a server and writes
``tests/unit/routing/data/schema_<version>.json``: do that when a new server version appears.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

from cassandra._routing.schema import SchemaTarget, ServerTraits, schema_queries

DATA = Path(__file__).resolve().parents[1] / "unit" / "routing" / "data"

EVERYWHERE = [
    "CREATE KEYSPACE rich WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}",
    "CREATE KEYSPACE \"QuotedKs\" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}"
    " AND durable_writes = false",
    "CREATE TYPE rich.street (name text, numbers frozen<set<int>>)",
    'CREATE TYPE rich."Quoted Type" ("First" int, home frozen<street>)',
    "CREATE TYPE rich.address (street frozen<street>, tags frozen<map<text, text>>,"
    ' extra frozen<tuple<int, "Quoted Type">>)',
    """CREATE TABLE rich.everything (
        p1 int, p2 text, c1 timeuuid, c2 int, "C3" text,
        s1 text static, "S2" frozen<list<int>> static,
        v_ascii ascii, v_bigint bigint, v_blob blob, v_boolean boolean, v_date date, v_decimal decimal, v_double double,
        v_duration duration, v_float float, v_inet inet, v_smallint smallint, v_time time, v_timestamp timestamp,
        v_tinyint tinyint, v_uuid uuid, v_varint varint,
        v_list list<text>, v_set set<int>, v_map map<text, frozen<list<int>>>, v_tuple tuple<int, text>,
        v_frozen frozen<map<text, frozen<list<frozen<set<int>>>>>>,
        v_udt address, v_frozen_udt frozen<address>, v_udts map<int, frozen<"Quoted Type">>,
        PRIMARY KEY ((p1, p2), c1, c2, "C3"))
        WITH CLUSTERING ORDER BY (c1 DESC, c2 ASC, "C3" DESC)
        AND comment = 'it''s everything' AND default_time_to_live = 3600 AND gc_grace_seconds = 100
        AND caching = {'keys': 'ALL', 'rows_per_partition': '10'}
        AND compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': '80'}
        AND compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': '32'}
        AND speculative_retry = '95p' AND bloom_filter_fp_chance = 0.05""",
    "CREATE TABLE rich.counters (id uuid PRIMARY KEY, hits counter, \"Misses\" counter)",
    "CREATE TABLE rich.simple (id int PRIMARY KEY, name text, gone int, \"Gone Too\" list<text>)",
    "ALTER TABLE rich.simple DROP (gone, \"Gone Too\")",
    "CREATE TABLE rich.\"Select\" (\"from\" int, \"To\" int, v text, PRIMARY KEY (\"from\", \"To\"))",
    "CREATE TABLE rich.keys_only (a int, b int, PRIMARY KEY (a, b))",
    "CREATE TABLE rich.compact_static (id int PRIMARY KEY, a text, b int) WITH COMPACT STORAGE",
    "CREATE TABLE rich.compact_dense (id int, c text, v blob, PRIMARY KEY (id, c)) WITH COMPACT STORAGE",
    "CREATE TABLE rich.compact_bare (id int, c text, PRIMARY KEY (id, c)) WITH COMPACT STORAGE",
    "CREATE INDEX by_name ON rich.simple (name)",
    'CREATE INDEX "ByKeys" ON rich.everything (KEYS(v_map))',
    "CREATE INDEX by_static ON rich.everything (s1)",
    "CREATE INDEX by_frozen ON rich.everything (FULL(v_frozen))",
    "CREATE MATERIALIZED VIEW rich.by_value AS SELECT * FROM rich.\"Select\""
    " WHERE v IS NOT NULL AND \"from\" IS NOT NULL AND \"To\" IS NOT NULL"
    " PRIMARY KEY (v, \"To\", \"from\") WITH CLUSTERING ORDER BY (\"To\" DESC, \"from\" ASC) AND comment = 'a view'",
    'CREATE MATERIALIZED VIEW rich."SomeColumns" AS SELECT name, id FROM rich.simple'
    " WHERE name IS NOT NULL AND id > 3 PRIMARY KEY (id, name)",
    "CREATE FUNCTION rich.add_up(state int, value int) CALLED ON NULL INPUT RETURNS int LANGUAGE java"
    " AS 'return value == null ? state : state + value;'",
    'CREATE FUNCTION rich."Half"(val double) RETURNS NULL ON NULL INPUT RETURNS double LANGUAGE java'
    " AS $$return val / 2;$$",
    'CREATE FUNCTION rich."Half"(val int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE java'
    " AS $$return val / 2;$$",
    "CREATE FUNCTION rich.first_of(things list<int>, \"Where\" address) CALLED ON NULL INPUT"
    " RETURNS list<int> LANGUAGE java AS 'return things;'",
    "CREATE AGGREGATE rich.total(int) SFUNC add_up STYPE int INITCOND 10",
    "CREATE AGGREGATE rich.\"Half Total\"(int) SFUNC add_up STYPE int FINALFUNC \"Half\"",
]  # fmt: skip

SINCE_5_0 = [
    """CREATE TABLE rich.vectors (
        id int PRIMARY KEY, embedding vector<float, 3>, words vector<text, 2>,
        nested list<frozen<vector<frozen<list<int>>, 2>>>)""",
    "CREATE CUSTOM INDEX by_embedding ON rich.vectors (embedding) USING 'StorageAttachedIndex'"
    " WITH OPTIONS = {'similarity_function': 'dot_product'}",
    "CREATE INDEX by_sai ON rich.everything (v_double) USING 'sai'",
]


def statements(release_version: str) -> list[str]:
    """What creates the schema on a server of this version."""
    return EVERYWHERE + (SINCE_5_0 if int(release_version.split(".")[0]) >= 5 else [])


def recorded(name: str) -> dict[str, list[dict[str, Any]]]:
    """Rows by query, as recorded from a server: ``5_0`` or ``4_1``."""
    found: dict[str, list[dict[str, Any]]] = json.loads((DATA / f"schema_{name}.json").read_text(), object_hook=_decode)
    return found


def rows_of_everything(session: Any, release_version: str) -> dict[str, list[dict[str, Any]]]:
    """Reads the schema tables through a session, all columns of all rows."""
    rows = {}
    for query in schema_queries(SchemaTarget.everything(), ServerTraits.of(release_version)):
        result = session.execute(query.cql)
        names = result.column_names
        rows[query.name] = [dict(zip(names, row, strict=True)) for row in result.all()]
    return rows


def _encode(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, UUID):
        return {"$uuid": str(value)}
    if isinstance(value, datetime):
        return {"$time": value.replace(tzinfo=timezone.utc).isoformat()}
    if isinstance(value, Mapping):
        return {"$map": [[_encode(key), _encode(item)] for key, item in value.items()]}
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    return [_encode(item) for item in value]


def _decode(value: dict[str, Any]) -> Any:
    if "$bytes" in value:
        return bytes.fromhex(value["$bytes"])
    if "$uuid" in value:
        return UUID(value["$uuid"])
    if "$time" in value:
        return datetime.fromisoformat(value["$time"])
    return dict(value["$map"]) if "$map" in value else value


def main(contact: str) -> None:
    from cassandra.cluster import Cluster
    from cassandra.query import tuple_factory

    address, _, port = contact.partition(":")
    with Cluster([address], port=int(port or 9042)) as cluster, cluster.connect() as session:
        session.row_factory = tuple_factory
        version = session.execute("SELECT release_version FROM system.local").one()[0]
        for name in ("rich", '"QuotedKs"'):
            session.execute(f"DROP KEYSPACE IF EXISTS {name}")
        for statement in statements(version):
            session.execute(statement)
        rows = rows_of_everything(session, version)
    kept = {
        part: [
            {name: _encode(value) for name, value in row.items()}
            for row in found
            if row["keyspace_name"] in ("rich", "QuotedKs", "system_virtual_schema")
            or (part, row["keyspace_name"]) == ("keyspaces", "system")
        ]
        for part, found in rows.items()
    }
    target = DATA / f"schema_{'_'.join(version.split('.')[:2])}.json"
    lines = ",\n".join(
        f"{json.dumps(part)}: [\n" + ",\n".join(json.dumps(row) for row in found) + "\n]"
        for part, found in kept.items()
    )
    target.write_text(f"{{\n{lines}\n}}\n")
    print(f"{target}: {sum(map(len, kept.values()))} rows")


if __name__ == "__main__":
    main(sys.argv[1])
