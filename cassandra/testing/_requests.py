"""Execution of requests: the responses of a node."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from cassandra.testing import _wire as wire
from cassandra.testing._connection import Connection, Response
from cassandra.testing._database import Database
from cassandra.testing._engine import Prepared
from cassandra.testing._messages import Message, Parameters, behind_empty_pages, read_message, reader_of
from cassandra.testing._plan import Env, Plan, Result, Route, Rows, SchemaChange, SetKeyspace
from cassandra.testing._records import Request
from cassandra.testing._responses import prepared_body, result_body
from cassandra.testing._schema import Table
from cassandra.testing._topology import TabletInfo
from cassandra.testing._tracing import Tracer
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
ERROR, READY, AUTHENTICATE, SUPPORTED, RESULT = (
    wire.NUMBERS[name] for name in ("ERROR", "READY", "AUTHENTICATE", "SUPPORTED", "RESULT")
)
EVENTS = ("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE", "CLIENT_ROUTES_CHANGE")
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
            unknown = [kind for kind in kinds if kind not in EVENTS]
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
