"""Execution of requests: the responses of a node, with their traces in the tables of ``system_traces``.

Requests are recorded, for tests.
"""

from __future__ import annotations

import ipaddress
import logging
import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cassandra.testing import _wire as wire
from cassandra.testing._connection import (
    CLUSTER_EVENTS,
    Connection,
    Message,
    Parameters,
    Response,
    behind_empty_pages,
    read_message,
    reader_of,
)
from cassandra.testing._database import Database
from cassandra.testing._engine import Prepared
from cassandra.testing._plan import ColumnSpec, Env, Plan, Result, Route, Rows, SchemaChange, SetKeyspace
from cassandra.testing._schema import Cell, Table
from cassandra.testing._topology import TabletInfo, token_of
from cassandra.testing._types import Collection
from cassandra.testing._wire import Frame
from cassandra.testing.errors import (
    BadCredentials,
    CqlError,
    InvalidRequest,
    ProtocolError,
    ServerError,
    Unprepared,
)

if TYPE_CHECKING:
    from cassandra.testing._node import SimulatedNode

log = logging.getLogger("cassandra.testing")

# ---- records of requests


@dataclass(frozen=True)
class Request:
    """One request that a node received."""

    node: int
    """Index of the node in ``cluster.nodes``."""
    shard: int
    """The shard of its connection."""
    connection: int
    """Number of the connection at its node, from 0."""
    control: bool
    """True if the client had registered for events on it."""
    opcode: str
    """``QUERY``, ``EXECUTE``, ..."""
    query: str = ""
    """The statement; for a prepared one its text, for a batch the text of its first statement."""
    keyspace: str | None = None  #: Keyspace of the statement.
    table: str | None = None
    """For a batch the table of its first statement; so are the token and its owners."""
    consistency: str | None = None  #: Name of the consistency level.
    serial_consistency: str | None = None  #: Name of the serial consistency level.
    page_size: int = 0  #: Rows of a page; 0 without paging.
    timestamp: int | None = None  #: Write time in microseconds since 1970.
    token: int | None = None
    """Token of its partition, if it is a single one."""
    token_range: tuple[int, int] | None = None
    """For a SELECT with bounds of ``token(...)``: the tokens above the first, up to and including the second."""
    on_replica: bool | None = None
    """True if the node is a replica of that partition."""
    on_owner: bool | None = None
    """True if the node and the shard own that partition."""
    error: str | None = None
    """Class name of its error, None without an error."""

    @property
    def is_statement(self) -> bool:
        """True if it ran a statement on a table."""
        return self.table is not None and self.opcode in ("QUERY", "EXECUTE", "BATCH")


@dataclass(frozen=True)
class Routing:
    """Statistics of routing to the owners of partitions: of the statements on a single partition."""

    requests: int = 0
    """Number of these statements."""
    on_replica: int = 0
    """Number of those that reached a replica of the partition."""
    on_owner: int = 0
    """Number of those that reached the very shard of a replica that owns the partition."""
    shards: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Number by (node, shard)."""
    owners: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Number by (node, shard) of statements on partitions that it owns."""

    @property
    def share(self) -> float:
        """The part of the requests that reached an owning shard: 1.0 is all; 0.0 also without requests."""
        return self.on_owner / self.requests if self.requests else 0.0


class Tally:
    """Counts statements by table, node and shard, without limit."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int, int, bool | None, bool | None]] = Counter()

    def add(self, request: Request) -> None:
        if request.is_statement:
            table = f"{request.keyspace}.{request.table}"
            self._counts[table, request.node, request.shard, request.on_replica, request.on_owner] += 1

    def clear(self) -> None:
        self._counts.clear()

    def hits(self, table: str | None) -> dict[tuple[int, int], int]:
        """Return the number of statements by (node, shard)."""
        found: Counter[tuple[int, int]] = Counter()
        for (name, node, shard, _, _), count in self._counts.items():
            if _wanted(name, table):
                found[node, shard] += count
        return dict(found)

    def routing(self, table: str | None) -> Routing:
        """Return the statistics of statements on a single partition."""
        on_replica, shards, owners = 0, Counter[tuple[int, int]](), Counter[tuple[int, int]]()
        for (name, node, shard, replica, owner), count in self._counts.items():
            if owner is not None and _wanted(name, table):
                shards[node, shard] += count
                owners[node, shard] += count if owner else 0
                on_replica += count if replica else 0
        return Routing(shards.total(), on_replica, owners.total(), dict(shards), dict(owners))


def _wanted(name: str, table: str | None) -> bool:
    return name == table if table is not None else not name.startswith("system")


# ---- bodies of RESULT, SUPPORTED and EVENT

GLOBAL_TABLE, MORE_PAGES, NO_METADATA, METADATA_CHANGED = 0x01, 0x02, 0x04, 0x08
LWT_MASK = 1 << 31


def result_body(result: Result, version: int, skip_metadata: bool = False, changed_id: bytes | None = None) -> bytes:
    """Return the body of a RESULT. *changed_id*: the metadata id to announce, if it differs from the client's."""
    if isinstance(result, Rows):
        head = metadata(result.columns, version, result.paging_state, skip_metadata and changed_id is None, changed_id)
        cells = b"".join(wire.bytes_(cell) for row in result.rows for cell in row)
        return wire.int32(2) + head + wire.int32(len(result.rows)) + cells
    if isinstance(result, SetKeyspace):
        return wire.int32(3) + wire.string(result.keyspace)
    if isinstance(result, SchemaChange):
        return wire.int32(5) + schema_change(result)
    return wire.int32(1)


def metadata(
    columns: Sequence[ColumnSpec], version: int, paging_state: bytes | None = None, skip: bool = False,
    changed_id: bytes | None = None,
) -> bytes:  # fmt: skip
    flags = (MORE_PAGES if paging_state is not None else 0) | (METADATA_CHANGED if changed_id is not None else 0)
    shared = _one_table(columns)
    flags |= NO_METADATA if skip else GLOBAL_TABLE if shared else 0
    data = wire.int32(flags) + wire.int32(len(columns))
    if paging_state is not None:
        data += wire.bytes_(paging_state)
    if changed_id is not None:
        data += wire.short_bytes(changed_id)
    return data if skip else data + _specs(columns, version, shared)


def _one_table(columns: Sequence[ColumnSpec]) -> bool:
    return bool(columns) and len({(spec.keyspace, spec.table) for spec in columns}) == 1


def _specs(columns: Sequence[ColumnSpec], version: int, shared: bool) -> bytes:
    parts = []
    if shared:
        parts += [wire.string(columns[0].keyspace), wire.string(columns[0].table)]
    for spec in columns:
        if not shared:
            parts += [wire.string(spec.keyspace), wire.string(spec.table)]
        parts += [wire.string(spec.name), spec.type.option(version)]
    return b"".join(parts)


def prepared_body(prepared: Prepared, version: int, with_metadata_id: bool, lwt_mark: bool) -> bytes:
    plan = prepared.plan
    shared = _one_table(plan.specs)
    flags = (GLOBAL_TABLE if shared else 0) | (LWT_MASK if lwt_mark and plan.conditional else 0)
    data = wire.int32(4) + wire.short_bytes(prepared.id)
    if with_metadata_id:
        data += wire.short_bytes(prepared.metadata_id())
    data += flags.to_bytes(4, "big") + wire.int32(len(plan.specs))
    if version >= 4:
        data += wire.int32(len(plan.partition_markers)) + b"".join(map(wire.short, plan.partition_markers))
    data += _specs(plan.specs, version, shared)
    if plan.columns is None:
        return data + wire.int32(NO_METADATA) + wire.int32(0)
    return data + metadata(plan.columns, version)


def schema_change(change: SchemaChange) -> bytes:
    data = wire.string(change.change) + wire.string(change.target) + wire.string(change.keyspace)
    return data if change.target == "KEYSPACE" else data + wire.string(change.name)


def event(kind: str, body: bytes) -> bytes:
    return wire.string(kind) + body


# ---- traces of requests

ACTIVITIES = ("Parsing a statement", "Processing a statement", "Done processing - preparing a result")


class Tracer:
    """One traced request."""

    def __init__(self, database: Database, node: Any, connection: Connection) -> None:
        self._database = database
        self._node = node
        self._connection = connection
        self._started = database.engine.clock.microseconds()

    def finish(self, query: str, consistency: str) -> UUID:
        """Write the session and its events; return its id."""
        engine = self._database.engine
        session = engine.new_timeuuid()
        duration = engine.clock.microseconds() - self._started
        tables = self._database.schema.keyspaces["system_traces"].tables
        parameters = (("consistency_level", consistency), ("query", query))
        self._put(tables["sessions"], (session,), (), {
            "client": ipaddress.ip_address(self._connection.peer[0]).packed, "command": "QUERY",
            "coordinator": self._node.packed_address, "duration": duration, "parameters": parameters,
            "request": "Execute CQL3 query", "started_at": self._started // 1000,
        })  # fmt: skip
        for n, activity in enumerate(ACTIVITIES):
            self._put(tables["events"], (session,), (engine.new_timeuuid(),), {
                "activity": activity, "source": self._node.packed_address, "thread": f"shard {self._connection.shard}",
                "source_elapsed": duration * n // len(ACTIVITIES),
            })  # fmt: skip
        return session

    def _put(self, table: Table, key: tuple[Any, ...], clustering: tuple[Any, ...], values: dict[str, Any]) -> None:
        raw = table.partition_bytes(key)
        row = table.data.partition(key, raw, token_of(raw)).row(table.order(clustering), clustering)
        row.mark(Cell(True, self._started), 0)
        for name, value in values.items():
            if isinstance(table.columns[name].type, Collection):
                for item, text in value:
                    row.put_element(name, item, Cell(text, self._started), 0)
            else:
                row.put(name, Cell(value, self._started), 0)


# ---- execution of requests

ERROR, READY, AUTHENTICATE, SUPPORTED, RESULT = (
    wire.NUMBERS[name] for name in ("ERROR", "READY", "AUTHENTICATE", "SUPPORTED", "RESULT")
)
GRACEFUL = "GRACEFUL_DISCONNECT"
V1, V2 = "TABLETS_ROUTING_V1", "TABLETS_ROUTING_V2_EXPERIMENTAL"
RATE_LIMIT, LWT, METADATA_ID = "SCYLLA_RATE_LIMIT_ERROR", "SCYLLA_LWT_ADD_METADATA_MARK", "SCYLLA_USE_METADATA_ID"


class Run:
    """One request at a node: an :class:`~cassandra.testing.faults.Exchange`."""

    def __init__(self, node: SimulatedNode, connection: Connection, frame: Frame) -> None:
        self.node = node
        self.connection = connection
        self.frame = frame
        self.database: Database = node.cluster.database
        self.message: Message | None = None
        self.problem: CqlError | None = None
        self.route: Route | None = None
        self.after: Callable[[], None] | None = None  # called after the response is sent
        self.noted: Callable[[], None] | None = None  # called when the request has run
        self.record = Request(
            node.index, connection.shard, connection.number, connection.control, wire.OPCODES.get(frame.opcode, "?")
        )
        try:
            self._read()
        except CqlError as error:
            self.problem = error

    # -- methods for rules

    @property
    def opcode(self) -> str:
        return self.record.opcode

    @property
    def query(self) -> str:
        return self.record.query

    @property
    def page_size(self) -> int:
        return 0 if self.message is None else self.message.parameters.page_size

    def limit_page(self, rows: int) -> None:
        if self.message is not None:
            parameters = self.message.parameters
            parameters.page_size = min(parameters.page_size, rows) or rows

    def execute(self) -> Response:
        try:
            if self.problem is not None:
                raise self.problem
            response = self._respond()
        except CqlError as error:
            response = self.failed(error)
        except RecursionError:
            response = self.failed(ServerError("the statement is nested too deeply for the simulation"))
        except Exception as error:
            log.exception("The simulation failed at %s", self.query)
            response = self.failed(ServerError(f"the simulation failed: {error!r}"))
        if self.noted is not None:
            self.noted()
        return response

    def send(self, response: Response) -> None:
        self.connection.send(response, self.frame.stream, self.frame.version)
        if self.after is not None:
            after, self.after = self.after, None
            after()

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        self.connection.node.reactor.later(seconds, action)

    # -- reading

    def _read(self) -> None:
        if self.record.opcode not in ("QUERY", "PREPARE", "EXECUTE", "BATCH"):
            return
        state = self.connection.state
        ids = self.frame.version >= 5 or state.has(METADATA_ID)
        message = self.message = read_message(self.frame, ids, state.has(V2))
        parameters = message.parameters
        if parameters.paging_state is not None:
            parameters.paging_state = behind_empty_pages(parameters.paging_state) or None
        self.record = replace(
            self.record, query=self._text(message), consistency=parameters.consistency,
            serial_consistency=parameters.serial_consistency, page_size=parameters.page_size,
            timestamp=parameters.timestamp, keyspace=message.keyspace or parameters.keyspace or state.keyspace,
        )  # fmt: skip

    def _text(self, message: Message) -> str:
        statement_id, text = message.id, message.text
        if message.parts:
            statement_id, text = message.parts[0].id or b"", message.parts[0].text or ""
        known = self.node.prepared.get(statement_id)
        return known.text if known is not None else text

    # -- responses

    def failed(self, error: CqlError) -> Response:
        """Return *error* as a response to this client."""
        self.record = replace(self.record, error=type(error).__name__)
        if error.CODE == 0x4321 and not self.connection.state.has(RATE_LIMIT):
            error = CqlError(error.message, 0x2300)
        return Response(ERROR, error.body(self.frame.version))

    def _respond(self) -> Response:
        name, state = self.record.opcode, self.connection.state
        if name == "OPTIONS":
            return Response(SUPPORTED, wire.string_multimap(self.node.supported(self.connection)))
        if name == "STARTUP":
            return self._startup()
        if name == "AUTH_RESPONSE":
            return self._authenticate()
        if not state.ready:
            raise ProtocolError(f"Unexpected message {name}, expecting STARTUP or OPTIONS")
        if name == "REGISTER":
            kinds = reader_of(self.frame).string_list()
            offered = (*CLUSTER_EVENTS, GRACEFUL) if self.node.cluster.graceful_disconnect else CLUSTER_EVENTS
            unknown = [kind for kind in kinds if kind not in offered]
            if unknown:
                raise ProtocolError(f"Invalid value '{unknown[0]}' for Event.Type")
            state.events.update(kinds)
            return Response(READY)
        if self.message is None:
            raise ProtocolError(f"Unexpected message {name}")
        return self._statement(name, self.message)

    def _startup(self) -> Response:
        state = self.connection.state
        options = reader_of(self.frame).string_map()
        if state.started:
            raise ProtocolError("Unexpected message STARTUP: the connection was started already")
        if "CQL_VERSION" not in options:
            raise ProtocolError("Missing value CQL_VERSION in STARTUP message")
        compression = options.get("COMPRESSION", "").lower() or None
        if compression not in (None, "lz4", "snappy") or (compression == "snappy" and self.frame.version >= 5):
            raise ProtocolError(f"Unknown compression algorithm: {compression}")
        state.started, state.options = True, options
        state.ready = not self.node.cluster.users
        self.after = lambda: self._agreed(compression)
        if state.ready:
            return Response(READY)
        return Response(AUTHENTICATE, wire.string("org.apache.cassandra.auth.PasswordAuthenticator"))

    def _agreed(self, compression: str | None) -> None:
        self.connection.use_compression(compression)
        if self.frame.version >= 5:
            self.connection.use_segments()

    def _authenticate(self) -> Response:
        token = reader_of(self.frame).bytes_() or b""
        _, user, password = ([*token.split(b"\0"), b"", b""])[:3]
        users: dict[str, str] = self.node.cluster.users
        if users.get(user.decode(errors="replace")) != password.decode(errors="replace"):
            raise BadCredentials("Username and/or password are incorrect")
        state = self.connection.state
        state.ready, state.user = True, user.decode()
        return Response(wire.NUMBERS["AUTH_SUCCESS"], wire.bytes_(None))

    def _statement(self, name: str, message: Message) -> Response:
        if name == "PREPARE":
            return Response(RESULT, self._prepare(message))
        tracer = Tracer(self.database, self.node, self.connection) if self.frame.flags & wire.TRACING else None
        if name == "BATCH":
            result, body = self._batch(message), None
        else:
            result, body = self._query(name, message)
        if isinstance(result, SetKeyspace):
            self.connection.state.keyspace = result.keyspace
        if isinstance(result, SchemaChange):
            change = result
            self.after = lambda: self.node.cluster.schema_changed(change)
        response = Response(RESULT, body if body is not None else result_body(result, self.frame.version))
        if name != "BATCH":
            self._add_tablet(response, message)
        if tracer is not None:
            response.tracing = tracer.finish(self.query, message.parameters.consistency)
        return response

    def _prepare(self, message: Message) -> bytes:
        state = self.connection.state
        keyspace = message.keyspace or state.keyspace
        prepared = self.database.engine.prepare(message.text, keyspace)
        self.node.prepared[prepared.id] = prepared
        with_id = self.frame.version >= 5 or state.has(METADATA_ID)
        return prepared_body(prepared, self.frame.version, with_id, state.has(LWT))

    def _known(self, statement_id: bytes) -> Prepared:
        found = self.node.prepared.get(statement_id)
        if found is None:
            raise Unprepared(f"No prepared statement with ID {statement_id.hex()} found.", statement_id=statement_id)
        self.database.engine.refresh(found)
        return found

    def _query(self, name: str, message: Message) -> tuple[Result, bytes]:
        parameters, engine = message.parameters, self.database.engine
        prepared = self._known(message.id) if name == "EXECUTE" else None
        plan = prepared.plan if prepared else engine.compile(message.text, self.record.keyspace)
        env = self._env(plan, parameters)
        self._check(plan, env, parameters)
        result = engine.run(plan, env)
        changed = None
        if prepared is not None and message.metadata_id is not None and isinstance(result, Rows):
            current = prepared.metadata_id()
            changed = current if current != message.metadata_id else None
        return result, result_body(result, self.frame.version, parameters.skip_metadata, changed)

    def _env(self, plan: Plan, parameters: Parameters) -> Env:
        values = plan.order_values(parameters.values, parameters.names)
        now = parameters.now_in_seconds
        env = self.database.engine.env(values, parameters.timestamp, None if now is None else now * 1000)
        env.page_size, env.paging_state, env.node = parameters.page_size, parameters.paging_state, self.node
        return env

    def _check(self, plan: Plan, env: Env, parameters: Parameters) -> None:
        """Reject requests that cannot be served; record where the request should have gone."""
        level = parameters.consistency
        route = self.route = plan.route(env)
        if plan.table is not None and self.record.table is None:  # a batch is recorded with its first statement
            self._note(plan.table, route, plan.token_range(env))
        if not plan.reads and plan.table is not None and level in ("SERIAL", "LOCAL_SERIAL"):
            raise InvalidRequest("You must use conditional updates for serializable writes")
        if plan.reads and level in ("ANY", "EACH_QUORUM"):
            raise InvalidRequest(f"{level} ConsistencyLevel is only supported for writes")
        self.database.check_alive(plan, route, level, self.node.datacenter)
        if plan.conditional:
            serial = parameters.serial_consistency or "SERIAL"
            self.database.check_alive(plan, route, serial, self.node.datacenter)

    def _note(self, table: Table, route: Route | None, tokens: tuple[int, int] | None) -> None:
        self.record = replace(self.record, keyspace=table.keyspace, table=table.name, token_range=tokens)
        if route is not None and not table.virtual:
            replicas, here = self.database.owner(route).replicas, self.node.host_id
            self.record = replace(
                self.record, token=route.token, on_replica=any(host == here for host, _ in replicas),
                on_owner=(here, self.connection.shard) in replicas,
            )  # fmt: skip

    def _batch(self, message: Message) -> Result:
        engine, parameters = self.database.engine, message.parameters
        plans: list[Plan] = []
        envs: list[Env] = []
        base = engine.env((), parameters.timestamp)
        for part in message.parts:
            if part.id is not None:
                plan = self._known(part.id).plan
            else:
                plan = engine.compile(part.text or "", self.record.keyspace)
            env = self._env(plan, replace(parameters, values=part.values))
            env.timestamp, env.now = base.timestamp, base.now
            plans.append(plan)
            envs.append(env)
        for plan, env in zip(plans, envs, strict=True):
            self._check(plan, env, parameters)
        return engine.run_batch(plans, envs, message.kind)

    # -- tablets

    def _add_tablet(self, response: Response, message: Message) -> None:
        """Add the replicas of the tablet for a client with outdated information."""
        state, route = self.connection.state, self.route
        if route is None or route.table.tablets is None:
            return
        tablet = route.table.tablets.find(route.token)
        if state.has(V2):
            block = message.version_block
            if block is not None and tablet.version >> 4 * (block >> 4) & 0xF != block & 0xF:
                response.payload["tablets-routing-v2"] = tablet_value(tablet, True)
        elif state.has(V1) and self.record.on_owner is False:
            response.payload["tablets-routing-v1"] = tablet_value(tablet, False)


def tablet_value(tablet: TabletInfo, with_version: bool) -> bytes:
    """Return a tablet as a CQL tuple."""
    replicas = tablet.replicas
    if with_version:
        replicas = tuple(sorted(replicas))  # the order that the version was computed from
    items = b"".join(wire.bytes_(wire.bytes_(host.bytes) + wire.bytes_(wire.int32(shard))) for host, shard in replicas)
    parts = [struct.pack(">q", tablet.first_token), struct.pack(">q", tablet.last_token)]
    parts.append(wire.int32(len(tablet.replicas)) + items)
    if with_version:
        parts.append(struct.pack(">q", tablet.version))
    return b"".join(map(wire.bytes_, parts))
