"""Connecting to nodes that tell nonsense of others, of themselves, of schema and events: it costs what it is about."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster
from cassandra.metadata import Murmur3Token
from tests.fakes import wire
from tests.fakes.nodes import (
    COLUMNS,
    INT,
    KEYSPACES,
    LOCAL,
    PEERS_V2,
    TABLES,
    TEXT,
    TEXT_LIST,
    TEXT_SET,
    FakeCluster,
    FakeNode,
    Row,
    Type,
    rows_body,
)
from tests.fakes.scripted import ScriptedConnection
from tests.fakes.wire import Envelope
from tests.patience import eventually

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_leaks")]

BLOB = 0x03
HUGE = str(1 << 64)
DIGITS = "9" * 6000


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        made.add_table("ks", "t", "k", "v")
        yield made


def tell(fake: FakeCluster, table: str, columns: dict[str, Type], change: Callable[[Row], Row | None]) -> None:
    """Rows of *table*, of *columns*, after *change*; None leaves a row as it is."""

    def answer(node: FakeNode, connection: ScriptedConnection, request: Envelope, text: str) -> bool:
        if f"{table} " not in f"{text} ":
            return False
        if table == "system.local":
            rows = [node._local()]
        elif table == "system.peers_v2":
            rows = node.peers()
        else:
            rows = getattr(fake, table.rpartition(".")[2])
        body = rows_body(table, columns, [change(dict(row)) or row for row in rows])
        connection.answer(request, wire.RESULT, body)
        return True

    fake.on_query = answer


def check(fake: FakeCluster, used: int) -> None:
    """A cluster that connects, has *used* hosts to send requests to, and routes."""
    with Cluster(fake.contact_points[:1], max_schema_agreement_wait=0) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        assert len(session._pools) == used
        for _ in range(6):
            session.execute("SELECT v FROM ks.t")
        assert cluster.metadata.token_map is not None
        repr(cluster.metadata.token_map.ring)
        cluster.metadata.get_replicas("ks", b"x")
        assert cluster.metadata.keyspaces["ks"].tables["t"].columns
        [str(host) for host in cluster.metadata.all_hosts()]


def shown(value: object) -> str:
    """The id of a parameter, the same in each process."""
    return str(sorted(value, key=str) if isinstance(value, set) else value)[:60]


@pytest.mark.parametrize(
    ("column", "kind", "value", "used"),
    [
        ("tokens", TEXT_SET, {HUGE}, 3),
        ("tokens", TEXT_SET, {"-" + HUGE, "5"}, 3),
        ("tokens", TEXT_SET, {DIGITS}, 3),
        ("tokens", TEXT_SET, {"", "x", "0x10", "1.5"}, 3),
        ("tokens", TEXT_LIST, ["7", "7"], 3),
        ("tokens", TEXT, "12", 2),
        ("tokens", (0x22, INT), {5}, 3),
        ("tokens", (0x22, BLOB), {True}, 3),
        ("rack", INT, 7, 2),
        ("data_center", TEXT_LIST, ["dc1"], 2),
        ("release_version", TEXT, "five\n\x1b[31m", 3),
        ("release_version", INT, 5, 3),
        ("schema_version", TEXT, "x", 3),
        ("schema_version", TEXT_SET, {"x"}, 3),
        ("host_id", TEXT, "x", 2),
        ("native_port", TEXT, "9042", 2),
        ("native_port", INT, -1, 2),
        ("native_address", TEXT, "no such host!", 2),
        ("native_address", TEXT_LIST, ["127.0.0.1"], 2),
        ("peer", TEXT_LIST, ["127.0.0.1"], 2),
        ("peer", INT, 5, 2),
        ("peer_port", TEXT_LIST, ["x"], 3),
    ],
    ids=shown,
)
def test_a_peer(fake: FakeCluster, column: str, kind: Type, value: Any, used: int) -> None:
    """One odd value; for all others the column's type is good as well, where that can be."""
    odd = fake.nodes[2].host_id

    def change(row: Row) -> Row | None:
        if row["host_id"] == odd:
            return {**row, column: value}
        return None

    if kind == PEERS_V2[column]:
        tell(fake, "system.peers_v2", PEERS_V2, change)
        check(fake, used)
    else:  # a column of another type is odd in every row: one node is left that tells of itself
        tell(fake, "system.peers_v2", {**PEERS_V2, column: kind}, lambda row: {**row, column: value})
        check(fake, 1 if used == 2 else 3)


@pytest.mark.parametrize(
    ("column", "kind", "value"),
    [
        ("tokens", TEXT_SET, {HUGE}),
        ("tokens", TEXT_SET, {DIGITS, "x"}),
        ("tokens", INT, 5),
        ("rack", INT, 5),
        ("data_center", INT, 5),
        ("cluster_name", TEXT_LIST, ["x"]),
        ("release_version", TEXT, "\x1b[31m"),
        ("release_version", TEXT_LIST, ["5.0"]),
        ("schema_version", TEXT, "x"),
        ("rpc_address", TEXT, "evil\n"),
        ("rpc_address", TEXT_LIST, ["evil"]),
        ("rpc_port", TEXT, "x"),
        ("broadcast_address", TEXT_LIST, ["x"]),
    ],
    ids=shown,
)
def test_the_node_that_is_asked(fake: FakeCluster, column: str, kind: Type, value: Any) -> None:
    tell(fake, "system.local", {**LOCAL, column: kind}, lambda row: {**row, column: value})
    with Cluster(fake.contact_points[:1], max_schema_agreement_wait=0) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        session.execute("SELECT v FROM ks.t")
        assert cluster.metadata.keyspaces["ks"].tables["t"].columns
        assert len(cluster.metadata.all_hosts()) >= 2


def test_a_token_beyond_64_bits_costs_the_tokens_of_its_host(
    fake: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    fake.nodes[2].tokens = {"7", HUGE}
    with Cluster(fake.contact_points[:1]) as cluster:
        cluster.connect(wait_for_all_pools=True)
        token_map = cluster.metadata.token_map
        assert token_map is not None and token_map.ring == [Murmur3Token(0), Murmur3Token(1000)]
        assert len(cluster.metadata.all_hosts()) == 3
    (warning,) = [record for record in caplog.records if "tokens of" in record.getMessage()]
    assert warning.levelno == logging.WARNING and HUGE in warning.getMessage()


@pytest.mark.parametrize(
    ("table", "columns", "odd"),
    [
        ("keyspaces", KEYSPACES, {"keyspace_name": "odd", "replication": {}}),
        ("keyspaces", KEYSPACES, {"keyspace_name": "odd", "replication": {"class": "", "replication_factor": "x"}}),
        (
            "keyspaces",
            KEYSPACES,
            {"keyspace_name": "odd", "replication": {"class": "x.y.NetworkTopologyStrategy", "d": DIGITS}},
        ),
        ("keyspaces", KEYSPACES, {"keyspace_name": None}),
        ("tables", TABLES, {"keyspace_name": "ks", "table_name": None}),
        ("tables", TABLES, {"keyspace_name": None, "table_name": "t"}),
        ("tables", TABLES, {"keyspace_name": "ks", "table_name": "odd", "flags": {"", "x"}}),
        (
            "columns",
            COLUMNS,
            {"keyspace_name": "ks", "table_name": "odd", "column_name": "a", "type": "no<such", "kind": "x"},
        ),
        ("columns", COLUMNS, {"keyspace_name": "ks", "table_name": "odd", "column_name": None, "type": None}),
        ("columns", COLUMNS, {"keyspace_name": "ks", "table_name": "odd", "type": "list<" * 5000}),
    ],
    ids=shown,
)
def test_the_schema(fake: FakeCluster, table: str, columns: dict[str, Type], odd: Row) -> None:
    getattr(fake, table).append({name: odd.get(name) for name in columns})
    if odd.get("table_name") == "odd" and table == "columns":
        fake.tables.append({**fake.tables[0], "table_name": "odd"})
    check(fake, 3)


@pytest.mark.parametrize(
    ("event_type", "parts"),
    [
        ("STATUS_CHANGE", (wire.string("UP"), wire.inet("10.0.0.9", -5))),
        ("STATUS_CHANGE", (wire.string("DOWN"), wire.inet("10.0.0.9", 0x7FFFFFFF))),
        ("STATUS_CHANGE", (wire.string("\n\x1b"), wire.inet("10.0.0.9", 1))),
        ("TOPOLOGY_CHANGE", (wire.string("LEFT"), wire.inet("::", 0))),
        ("SCHEMA_CHANGE", (wire.string("CREATED"), wire.string("PLANET"), wire.string("ks"), wire.string("t"))),
        ("SCHEMA_CHANGE", (wire.string("?"), wire.string("change_type"), wire.string("ks"), wire.string("t"))),
        ("SCHEMA_CHANGE", (wire.string("CREATED"), wire.string("KEYSPACE"), wire.string(""))),
        ("SCHEMA_CHANGE", (wire.string("DROPPED"), wire.string("TABLE"), wire.string(""), wire.string(""))),
        (
            "SCHEMA_CHANGE",
            (wire.string("UPDATED"), wire.string("FUNCTION"), wire.string("ks"), wire.string("f"), wire.short(0xFFFF)),
        ),
        ("CLIENT_ROUTES_CHANGE", (wire.string("UPDATE_NODES"), wire.short(0), wire.short(0))),
        ("NO_SUCH_EVENT", ()),
        ("STATUS_CHANGE", ()),
    ],
    ids=shown,
)
def test_events(fake: FakeCluster, event_type: str, parts: tuple[bytes, ...], caplog: pytest.LogCaptureFixture) -> None:
    windows = {"status_event_refresh_window": 0, "topology_event_refresh_window": 0, "schema_event_refresh_window": 0}
    with Cluster(fake.contact_points, max_schema_agreement_wait=0, **windows) as cluster:  # type: ignore[arg-type]
        session = cluster.connect(wait_for_all_pools=True)
        before = cluster.control_connection.connection
        for node in fake.nodes:
            for connection in list(node.registered):
                connection.send(wire.EVENT, wire.string(event_type) + b"".join(parts), -1)
        fake.add_table("ks", "later", "k")
        fake.push("SCHEMA_CHANGE", "CREATED", "TABLE", "ks", "later")
        assert eventually(lambda: "later" in cluster.metadata.keyspaces["ks"].tables)
        session.execute("SELECT v FROM ks.t")
        assert cluster.control_connection.connection is before
        assert all(host.is_up for host in cluster.metadata.all_hosts())
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info]
    assert not errors


@pytest.mark.parametrize(
    "options",
    [
        {"SCYLLA_LWT_ADD_METADATA_MARK": ["LWT_OPTIMIZATION_META_BIT_MASK=9999999999"]},
        {"SCYLLA_LWT_ADD_METADATA_MARK": ["LWT_OPTIMIZATION_META_BIT_MASK=-1"]},
        {"SCYLLA_LWT_ADD_METADATA_MARK": []},
        {"SCYLLA_RATE_LIMIT_ERROR": ["ERROR_CODE=9999999999"]},
        {"SCYLLA_RATE_LIMIT_ERROR": ["ERROR_CODE=x\n"]},
        {"PROTOCOL_VERSIONS": ["", "5", "x/v5", "999/v999", "5/v5"]},
        {"COMPRESSION": [], "CQL_VERSION": ["3.4.7", ""]},
        {"COMPRESSION": ["", "\n", "zip"]},
        {"": [""], "\n": ["x"] * 3000},
    ],
    ids=shown,
)
def test_options(fake: FakeCluster, options: dict[str, list[str]]) -> None:
    supported = {"CQL_VERSION": ["3.4.7"], "COMPRESSION": ["lz4"], **options}
    for node in fake.nodes:
        assert node.server is not None
        script = node.server.script

        def answer(connection: ScriptedConnection, request: Envelope, script: Any = script) -> Any:
            if request.opcode == wire.OPTIONS:
                connection.version = request.version
                connection.answer(request, wire.SUPPORTED, wire.string_multimap(supported))
                return True
            return script(connection, request)

        node.server.script = answer
    check(fake, 3)


def test_a_row_of_the_schema_that_cannot_be_read(fake: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    """The other tables of its keyspace are there, and follow changes; the log has it once."""
    fake.add_table("ks", "odd", "k")
    windows = {"schema_event_refresh_window": 0}
    with Cluster(fake.contact_points[:1], max_schema_agreement_wait=0, **windows) as cluster:  # type: ignore[arg-type]
        cluster.connect()
        assert set(cluster.metadata.keyspaces["ks"].tables) == {"t", "odd"}
        kind = {**COLUMNS, "clustering_order": (0x22, TEXT), "kind": (0x22, TEXT)}

        def change(row: Row) -> Row:
            texts = {"clustering_order": {row["clustering_order"]}, "kind": {row["kind"]}}
            return {**row, **texts}

        tell(fake, "system_schema.columns", kind, change)  # of no table can the columns be read now
        fake.push("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "odd")
        fake.push("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "odd")
        tables = cluster.metadata.keyspaces["ks"].tables
        assert eventually(lambda: "is incomplete because of an error" in tables["odd"].export_as_string())
        assert set(cluster.metadata.keyspaces["ks"].tables) == {"t", "odd"}
        fake.on_query = None
        fake.add_table("ks", "later", "k")
        fake.push("SCHEMA_CHANGE", "CREATED", "TABLE", "ks", "later")
        assert eventually(lambda: "later" in cluster.metadata.keyspaces["ks"].tables)
    told = [record for record in caplog.records if "rows of the schema tables are invalid" in record.getMessage()]
    assert [record.levelno for record in told].count(logging.WARNING) == 1
