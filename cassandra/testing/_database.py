"""The data of a simulated cluster and its location: the engine, and replicas and tablets of every table.

The rows of the system tables (the node, its peers, the schema, tablets, clients) are created on each read, except for
:data:`STORED`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from cassandra.testing import _types as types
from cassandra.testing._ast import CreateTable
from cassandra.testing._ddl import Definitions
from cassandra.testing._engine import Engine
from cassandra.testing._parser import parse
from cassandra.testing._plan import Plan, Route
from cassandra.testing._schema import CLUSTERING, PARTITION, Cell, Column, Data, Keyspace, Schema, Table
from cassandra.testing._topology import (
    Place,
    Replica,
    TabletInfo,
    TabletMap,
    new_tablets,
    pick_replicas,
    ring_replicas,
    shard_of,
    token_of,
)
from cassandra.testing._types import CqlType, Value, quote
from cassandra.testing._write import WritePlan
from cassandra.testing.errors import InvalidRequest, Unavailable

# ---- system tables

LOCAL_STRATEGY = {"class": "org.apache.cassandra.locator.LocalStrategy"}
Row = dict[str, Any]

TABLES = (
    """system.local (key text PRIMARY KEY, bootstrapped text, broadcast_address inet, cluster_name text,
    cql_version text, data_center text,
    gossip_generation int, host_id uuid, listen_address inet, native_protocol_version text,
    partitioner text, rack text, release_version text, rpc_address inet, rpc_port int, schema_version uuid,
    supported_features text, tokens set<text>)""",
    """system.peers (peer inet PRIMARY KEY, data_center text, host_id uuid, preferred_ip inet, rack text,
    release_version text, rpc_address inet, schema_version uuid, supported_features text, tokens set<text>)""",
    """system.peers_v2 (peer inet, peer_port int, data_center text, host_id uuid, native_address inet, native_port int,
    preferred_ip inet, preferred_port int, rack text, release_version text, schema_version uuid, tokens set<text>,
    PRIMARY KEY (peer, peer_port))""",
    """system.clients (address inet, port int, client_type text, client_options map<text, text>, connection_stage text,
    driver_name text, driver_version text, hostname text, protocol_version int, shard_id int, ssl_enabled boolean,
    username text, PRIMARY KEY (address, port, client_type))""",
    """system.tablets (table_id uuid, last_token bigint, keyspace_name text static, table_name text static,
    tablet_count int static, replicas frozen<list<frozen<tuple<uuid, int>>>>, PRIMARY KEY (table_id, last_token))""",
    """system.client_routes (connection_id text, host_id uuid, address text, port int, tls_port int,
    PRIMARY KEY (connection_id, host_id))""",
    """system_schema.keyspaces (keyspace_name text PRIMARY KEY, durable_writes boolean,
    replication frozen<map<text, text>>)""",
    """system_schema.scylla_keyspaces (keyspace_name text PRIMARY KEY, initial_tablets int, storage_type text,
    storage_options frozen<map<text, text>>)""",
    """system_schema.tables (keyspace_name text, table_name text, bloom_filter_fp_chance double,
    caching frozen<map<text, text>>, comment text, compaction frozen<map<text, text>>,
    compression frozen<map<text, text>>, crc_check_chance double, dclocal_read_repair_chance double,
    default_time_to_live int, extensions frozen<map<text, blob>>, flags frozen<set<text>>, gc_grace_seconds int,
    id uuid, max_index_interval int, memtable_flush_period_in_ms int, min_index_interval int,
    read_repair_chance double, speculative_retry text, PRIMARY KEY (keyspace_name, table_name))""",
    """system_schema.scylla_tables (keyspace_name text, table_name text, cdc frozen<map<text, text>>, partitioner text,
    version uuid, PRIMARY KEY (keyspace_name, table_name))""",
    """system_schema.columns (keyspace_name text, table_name text, column_name text, clustering_order text,
    column_name_bytes blob, kind text, position int, type text,
    PRIMARY KEY (keyspace_name, table_name, column_name))""",
    """system_schema.dropped_columns (keyspace_name text, table_name text, column_name text, dropped_time timestamp,
    type text, PRIMARY KEY (keyspace_name, table_name, column_name))""",
    """system_schema.types (keyspace_name text, type_name text, field_names frozen<list<text>>,
    field_types frozen<list<text>>, PRIMARY KEY (keyspace_name, type_name))""",
    """system_schema.indexes (keyspace_name text, table_name text, index_name text, kind text,
    options frozen<map<text, text>>, PRIMARY KEY (keyspace_name, table_name, index_name))""",
    """system_schema.views (keyspace_name text, view_name text, base_table_id uuid, base_table_name text,
    bloom_filter_fp_chance double, caching frozen<map<text, text>>, comment text, compaction frozen<map<text, text>>,
    compression frozen<map<text, text>>, crc_check_chance double, dclocal_read_repair_chance double,
    default_time_to_live int, extensions frozen<map<text, blob>>, gc_grace_seconds int, id uuid,
    include_all_columns boolean, max_index_interval int, memtable_flush_period_in_ms int, min_index_interval int,
    read_repair_chance double, speculative_retry text, where_clause text, PRIMARY KEY (keyspace_name, view_name))""",
    """system_schema.triggers (keyspace_name text, table_name text, trigger_name text,
    options frozen<map<text, text>>, PRIMARY KEY (keyspace_name, table_name, trigger_name))""",
    """system_schema.functions (keyspace_name text, function_name text, argument_types frozen<list<text>>,
    argument_names frozen<list<text>>, body text, called_on_null_input boolean, language text, return_type text,
    PRIMARY KEY (keyspace_name, function_name, argument_types))""",
    """system_schema.aggregates (keyspace_name text, aggregate_name text, argument_types frozen<list<text>>,
    final_func text, initcond text, return_type text, state_func text, state_type text,
    PRIMARY KEY (keyspace_name, aggregate_name, argument_types))""",
    """system_schema.scylla_aggregates (keyspace_name text, aggregate_name text, argument_types frozen<list<text>>,
    reduce_func text, state_type text, PRIMARY KEY (keyspace_name, aggregate_name, argument_types))""",
    """system_traces.sessions (session_id uuid PRIMARY KEY, client inet, command text, coordinator inet, duration int,
    parameters map<text, text>, request text, started_at timestamp)""",
    """system_traces.events (session_id uuid, event_id timeuuid, activity text, source inet, source_elapsed int,
    thread text, PRIMARY KEY (session_id, event_id))""",
)
STORED = ("client_routes", "sessions", "events")  # ordinary tables, which the simulation itself writes
NETWORK_KEYSPACES = {
    "system_traces": {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "2"},
}
DEFAULTS: Row = {
    "bloom_filter_fp_chance": 0.01, "caching": {"keys": "ALL", "rows_per_partition": "ALL"}, "comment": "",
    "compaction": {"class": "SizeTieredCompactionStrategy"},
    "compression": {"sstable_compression": "org.apache.cassandra.io.compress.LZ4Compressor"}, "crc_check_chance": 1.0,
    "dclocal_read_repair_chance": 0.0, "default_time_to_live": 0, "gc_grace_seconds": 864000,
    "max_index_interval": 2048, "memtable_flush_period_in_ms": 0, "min_index_interval": 128,
    "read_repair_chance": 0.0, "speculative_retry": "99.0PERCENTILE",
}  # fmt: skip


class NodeFacts(Protocol):
    """Attributes of a node in the system tables."""

    @property
    def host_id(self) -> UUID: ...
    @property
    def packed_address(self) -> bytes: ...
    @property
    def port(self) -> int: ...
    @property
    def datacenter(self) -> str: ...
    @property
    def rack(self) -> str: ...
    @property
    def tokens(self) -> Sequence[int]: ...
    @property
    def generation(self) -> int: ...
    @property
    def release_version(self) -> str: ...
    @property
    def schema_version(self) -> UUID: ...


class ClusterFacts(Protocol):
    """Attributes of the cluster in the system tables."""

    @property
    def name(self) -> str: ...
    def members(self) -> Sequence[NodeFacts]: ...
    def clients(self, node: NodeFacts) -> Iterable[Row]: ...


def create_system_tables(schema: Schema) -> None:
    """Create the system keyspaces, with empty tables."""
    definitions = Definitions(schema, False, lambda table: None, lambda keyspace: None, list)
    for text in TABLES:
        statement = parse(f"CREATE TABLE {text}").statement
        assert isinstance(statement, CreateTable)
        name = statement.name.keyspace or ""
        if name not in schema.keyspaces:
            schema.keyspaces[name] = Keyspace(name, dict(NETWORK_KEYSPACES.get(name, LOCAL_STRATEGY)))
        definitions.run(statement, None)
    for keyspace in schema.keyspaces.values():
        keyspace.virtual = True
        for table in keyspace.tables.values():
            table.virtual = True


class SystemContent:
    """The rows of the system tables, created on each read."""

    def __init__(self, schema: Schema, cluster: ClusterFacts) -> None:
        self._schema = schema
        self._cluster = cluster
        self._cached: dict[tuple[str, str], tuple[UUID, Data]] = {}

    def content(self, table: Table, node: object) -> Data | None:
        if table.name in STORED:
            return None
        if table.keyspace == "system_schema":
            cached = self._cached.get((table.keyspace, table.name))
            if cached is None or cached[0] != self._schema.version:
                rows = getattr(self, f"_{table.name}", self._none)()
                cached = self._cached[table.keyspace, table.name] = self._schema.version, fill(table, rows)
            return cached[1]
        return fill(table, getattr(self, f"_{table.name}")(node))

    @staticmethod
    def _none() -> Iterator[Row]:
        return iter(())

    # -- system

    def _local(self, node: NodeFacts) -> Iterator[Row]:
        yield {
            "key": "local", "bootstrapped": "COMPLETED", "broadcast_address": node.packed_address,
            "cluster_name": self._cluster.name, "cql_version": "3.3.1", "gossip_generation": node.generation,
            "listen_address": node.packed_address, "native_protocol_version": "4",
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner", "rpc_address": node.packed_address,
            "rpc_port": node.port, **self._common(node),
        }  # fmt: skip

    @staticmethod
    def _common(node: NodeFacts) -> Row:
        return {
            "data_center": node.datacenter, "host_id": node.host_id, "rack": node.rack,
            "release_version": node.release_version, "schema_version": node.schema_version,
            "tokens": tuple(sorted(map(str, node.tokens))), "supported_features": "",
        }  # fmt: skip

    def _peers(self, node: NodeFacts) -> Iterator[Row]:
        for peer in self._cluster.members():
            if peer is not node:
                address = peer.packed_address
                yield {"peer": address, "preferred_ip": address, "rpc_address": address, **self._common(peer)}

    def _peers_v2(self, node: NodeFacts) -> Iterator[Row]:
        for peer in self._cluster.members():
            if peer is not node:
                yield {
                    "peer": peer.packed_address, "peer_port": peer.port, "native_address": peer.packed_address,
                    "native_port": peer.port, "preferred_ip": peer.packed_address, "preferred_port": peer.port,
                    **self._common(peer),
                }  # fmt: skip

    def _clients(self, node: NodeFacts) -> Iterable[Row]:
        return self._cluster.clients(node)

    def _tablets(self, node: NodeFacts) -> Iterator[Row]:
        for table in self._schema.tables():
            for tablet in table.tablets.tablets if table.tablets else ():
                assert table.tablets is not None
                yield {
                    "table_id": table.id, "last_token": tablet.last_token, "keyspace_name": table.keyspace,
                    "table_name": table.name, "tablet_count": len(table.tablets.tablets), "replicas": tablet.replicas,
                }  # fmt: skip

    # -- system_schema

    def _keyspaces(self) -> Iterator[Row]:
        for keyspace in self._schema.keyspaces.values():
            replication = tuple(sorted(keyspace.replication.items()))
            yield {
                "keyspace_name": keyspace.name, "durable_writes": keyspace.durable_writes, "replication": replication,
            }  # fmt: skip

    def _scylla_keyspaces(self) -> Iterator[Row]:
        for keyspace in self._schema.keyspaces.values():
            if keyspace.initial_tablets is not None:
                yield {"keyspace_name": keyspace.name, "initial_tablets": keyspace.initial_tablets}

    def _tables(self) -> Iterator[Row]:
        for table in self._schema.tables():
            yield {"keyspace_name": table.keyspace, "table_name": table.name, "id": table.id, **_table_options(table)}

    def _scylla_tables(self) -> Iterator[Row]:
        for table in self._schema.tables():
            yield {"keyspace_name": table.keyspace, "table_name": table.name, "version": table.id}

    def _columns(self) -> Iterator[Row]:
        for table in self._schema.tables():
            for column in table.columns.values():
                yield {
                    "keyspace_name": table.keyspace, "table_name": table.name, "column_name": column.name,
                    "clustering_order": _clustering_order(column), "column_name_bytes": column.name.encode(),
                    "kind": column.kind, "position": column.position, "type": column.type.cql,
                }  # fmt: skip

    def _types(self) -> Iterator[Row]:
        for keyspace in self._schema.keyspaces.values():
            for definition in keyspace.types.values():
                yield {
                    "keyspace_name": keyspace.name, "type_name": definition.name,
                    "field_names": tuple(definition.fields),
                    "field_types": tuple(kind.cql for kind in definition.fields.values()),
                }  # fmt: skip

    def _indexes(self) -> Iterator[Row]:
        for table in self._schema.tables():
            for index in table.indexes.values():
                name = quote(index.column)
                target = f"{index.target}({name})" if index.target else name
                options = {**index.options, "target": target}
                if index.custom_class:
                    options["class_name"] = index.custom_class
                yield {
                    "keyspace_name": table.keyspace, "table_name": table.name, "index_name": index.name,
                    "kind": "CUSTOM" if index.custom_class else "COMPOSITES", "options": tuple(sorted(options.items())),
                }  # fmt: skip


def _clustering_order(column: Column) -> str:
    if column.kind != CLUSTERING:
        return "none"
    return "desc" if column.descending else "asc"


def _table_options(table: Table) -> Row:
    row: Row = {"flags": ("compound",), "extensions": ()}
    for name, default in DEFAULTS.items():
        given: Any = table.options.get(name, default)
        if isinstance(default, dict):
            row[name] = tuple(sorted(given.items()))
        else:
            row[name] = type(default)(given)
    return row


def fill(table: Table, rows: Iterable[Row]) -> Data:
    """Return *rows* as the content of *table*."""
    data = Data()
    for given in rows:
        key = tuple(given[column.name] for column in table.of_kind(PARTITION))
        raw = table.partition_bytes(key)
        partition = data.partition(key, raw, token_of(raw))
        clustering = tuple(given[column.name] for column in table.of_kind(CLUSTERING))
        row = partition.row(table.order(clustering), clustering)
        row.mark(Cell(True, 0), -1)
        for name, value in given.items():
            column = table.columns.get(name)
            if column is None or column.kind in (PARTITION, CLUSTERING) or value is None:
                continue
            holder = partition.static if column.kind == "static" else row
            if column.type.multicell:
                for item, cell in _elements(column.type, value):
                    holder.put_element(name, item, Cell(cell, 0), -1)
            else:
                holder.put(name, Cell(value, 0), -1)
    return data


def _elements(kind: CqlType, value: Value) -> Iterable[tuple[Any, Value]]:
    assert isinstance(kind, types.Collection)
    return value if kind.name == "map" else [(item, True) for item in value]


# ---- data and replicas

TABLETS_PER_SHARD = 1  # when CREATE KEYSPACE has no number


class Member(Place, Protocol):
    """A node, for replica counts."""

    @property
    def alive(self) -> bool: ...


@dataclass(frozen=True)
class Owner:
    """The replicas that own a partition."""

    replicas: tuple[Replica, ...]
    tablet: TabletInfo | None


class Database:
    """The database of a cluster, used on its thread only."""

    def __init__(
        self, cluster: ClusterFacts, members: Callable[[], Sequence[Member]], tablets: bool, rng: random.Random
    ) -> None:
        self.schema = Schema()
        self._members = members
        self._turn = itertools.count()
        create_system_tables(self.schema)
        self.definitions = Definitions(
            self.schema, tablets, self._new_table, self.place_again, lambda: sorted({n.datacenter for n in members()})
        )
        self.engine = Engine(self.schema, self.definitions, SystemContent(self.schema, cluster), rng)

    # -- tablets

    def _new_table(self, table: Table) -> None:
        keyspace = self.schema.keyspaces[table.keyspace]
        table.tablets = self._make_tablets(keyspace, table)

    def _make_tablets(self, keyspace: Keyspace, table: Table) -> TabletMap | None:
        if keyspace.initial_tablets is None:
            return None
        factors = keyspace.factors
        assert isinstance(factors, dict)
        members = self._members()
        option = table.options.get("tablets", {})
        wanted = int(option.get("min_tablet_count", 0) if isinstance(option, dict) else 0) or keyspace.initial_tablets
        wanted = wanted or max(1, sum(node.shards for node in members) * TABLETS_PER_SHARD)
        count = 1 << (wanted - 1).bit_length()
        return new_tablets(count, factors, members, next(self._turn))

    def place_again(self, keyspace: Keyspace) -> None:
        """Assign new replicas to every tablet of *keyspace* (its replication or the cluster changed)."""
        if keyspace.initial_tablets is None:
            return
        factors = keyspace.factors
        assert isinstance(factors, dict)
        for table in keyspace.tables.values():
            assert table.tablets is not None
            start = next(self._turn)
            table.tablets.tablets = [
                TabletInfo(tablet.first_token, tablet.last_token, pick_replicas(factors, self._members(), start + n))
                for n, tablet in enumerate(table.tablets.tablets)
            ]

    def tablets_of(self, name: str) -> tuple[Table, TabletMap]:
        """Return the table ``keyspace.table`` and its tablets; raise InvalidRequest."""
        keyspace, _, rest = name.partition(".")
        table = self.schema.keyspace(keyspace).tables.get(rest)
        if table is None:
            raise InvalidRequest(f"unconfigured table {name}")
        if table.tablets is None:
            raise InvalidRequest(f"{name} has no tablets")
        return table, table.tablets

    # -- replicas

    def owner(self, route: Route) -> Owner:
        """Return the replicas of a partition."""
        tablets = route.table.tablets
        if tablets is not None:
            tablet = tablets.find(route.token)
            return Owner(tablet.replicas, tablet)
        factors = self.schema.keyspaces[route.table.keyspace].factors
        nodes = ring_replicas(route.token, factors, self._members())
        return Owner(tuple((node.host_id, shard_of(route.token, node.shards)) for node in nodes), None)

    def check_alive(self, plan: Plan, route: Route | None, consistency: str, datacenter: str) -> None:
        """Raise Unavailable when too few replicas are alive for *consistency*."""
        table = plan.table
        members = {node.host_id: node for node in self._members()}
        if table is None or table.virtual or all(node.alive for node in members.values()):
            return
        write = isinstance(plan, WritePlan)
        routes = [route] if route else self._everywhere(table)
        for place in routes:
            nodes = [members[host] for host, _ in self.owner(place).replicas if host in members]
            for wanted, group in _groups(consistency, nodes, datacenter):
                alive = sum(node.alive for node in group)
                if alive < wanted and not (consistency == "ANY" and write):
                    raise Unavailable(
                        f"Cannot achieve consistency level for cl {consistency}. Requires {wanted}, alive {alive}",
                        consistency=consistency, required=wanted, alive=alive,
                    )  # fmt: skip

    def _everywhere(self, table: Table) -> list[Route]:
        if table.tablets is not None:
            return [Route(table, tablet.last_token) for tablet in table.tablets.tablets]
        return [Route(table, token) for node in self._members() for token in node.tokens]


def _groups(consistency: str, nodes: Sequence[Any], datacenter: str) -> list[tuple[int, Sequence[Any]]]:
    """Return groups of replicas, and how many of each must be alive."""
    local = [node for node in nodes if node.datacenter == datacenter]
    if consistency in ("LOCAL_QUORUM", "LOCAL_SERIAL"):
        return [(len(local) // 2 + 1, local)]
    if consistency == "LOCAL_ONE":
        return [(1, local)]
    if consistency == "EACH_QUORUM":
        by_datacenter: dict[str, list[Any]] = {}
        for node in nodes:
            by_datacenter.setdefault(node.datacenter, []).append(node)
        return [(len(group) // 2 + 1, group) for group in by_datacenter.values()]
    if consistency in ("QUORUM", "SERIAL"):
        return [(len(nodes) // 2 + 1, nodes)]
    return [({"TWO": 2, "THREE": 3, "ALL": len(nodes)}.get(consistency, 1), nodes)]
