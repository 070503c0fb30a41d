"""A session over scripted hosts: everything real but pools and connections.

``Lab(hosts=2)`` has a :class:`Session` whose requests go to :class:`ScriptedConnection` objects. A connection answers
a request from its ``script``: an answer (bytes of a RESULT or ERROR body with its opcode), a ``Failure``-like
:class:`Lost`, or an exception that ``submit`` raises; when the script is used up, requests stay unanswered until the
test calls ``answer``. Delayed steps wait in ``lab.reactor`` until the test runs them.
"""

from __future__ import annotations

import contextlib
import struct
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from cassandra._base.locks import enter_driver_thread
from cassandra._core.codec import ResultDecoder, TypeContext
from cassandra._core.routing import MetadataFields, PoolFields
from cassandra._core.transport import CLOSED, TIMED_OUT, ConnectionBase, Failure, Frame, Operation
from cassandra._net.features import ProtocolFeatures, dialect_of
from cassandra._routing.metadata import EMPTY, ClusterState, Topology
from cassandra._wire.messages.reading import uses_metadata_ids
from cassandra._wire.messages.responses import ResultMessage, decode_response
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, ProfileManager, Session
from cassandra.connection import ConnectionShutdown, DefaultEndPoint
from cassandra.policies import LoadBalancingPolicy, RoundRobinPolicy, SimpleConvictionPolicy
from cassandra.pool import Host, NoConnectionsAvailable
from cassandra.query import PreparedStatement

ERROR, QUERY, RESULT = 0, 7, 8
INT, VARCHAR = 9, 13


@dataclass(frozen=True)
class Answer:
    """A response envelope's opcode, body and flags."""

    opcode: int
    body: bytes
    flags: int = 0


@dataclass(frozen=True)
class Lost:
    """The attempt ends without an answer."""

    kind: int = CLOSED
    sent: bool = True
    message: str = "connection reset"


def string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded


def value(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def void() -> Answer:
    return Answer(RESULT, struct.pack(">i", 1))


def rows(*values: int, more: bytes | None = None, column: str = "n") -> Answer:
    """Rows of one int column; *more* is a paging state."""
    flags = 1 | (2 if more is not None else 0)
    metadata = struct.pack(">ii", flags, 1) + (value(more) if more is not None else b"")
    metadata += string("ks") + string("tbl") + string(column) + struct.pack(">H", INT)
    body = struct.pack(">i", len(values)) + b"".join(value(struct.pack(">i", v)) for v in values)
    return Answer(RESULT, struct.pack(">i", 2) + metadata + body)


def texts(names: Sequence[str], *found: Sequence[str]) -> Answer:
    """Rows of text columns."""
    metadata = struct.pack(">ii", 1, len(names)) + string("ks") + string("tbl")
    metadata += b"".join(string(name) + struct.pack(">H", VARCHAR) for name in names)
    cells = b"".join(value(cell.encode()) for row in found for cell in row)
    return Answer(RESULT, struct.pack(">i", 2) + metadata + struct.pack(">i", len(found)) + cells)


def rows_without_metadata(*values: int) -> Answer:
    """As answers to EXECUTE with skip_metadata."""
    body = struct.pack(">i", len(values)) + b"".join(value(struct.pack(">i", v)) for v in values)
    return Answer(RESULT, struct.pack(">iii", 2, 4, 1) + body)


def prepared(query_id: bytes = b"id", columns: Sequence[str] = ("n",), metadata_id: bytes | None = None) -> Answer:
    """PREPARED with one int parameter ``k`` (the partition key) and int result columns; of protocol 5 with
    *metadata_id*."""
    body = struct.pack(">iH", 4, len(query_id)) + query_id
    if metadata_id is not None:
        body += struct.pack(">H", len(metadata_id)) + metadata_id
    body += struct.pack(">iiiH", 1, 1, 1, 0) + string("ks") + string("tbl") + string("k") + struct.pack(">H", INT)
    body += struct.pack(">ii", 1, len(columns)) + string("ks") + string("tbl")
    body += b"".join(string(name) + struct.pack(">H", INT) for name in columns)
    return Answer(RESULT, body)


def set_keyspace(name: str) -> Answer:
    return Answer(RESULT, struct.pack(">i", 3) + string(name))


def schema_change() -> Answer:
    return Answer(RESULT, struct.pack(">i", 5) + string("CREATED") + string("KEYSPACE") + string("ks"))


def error(code: int, message: str = "no", more: bytes = b"") -> Answer:
    return Answer(ERROR, struct.pack(">i", code) + string(message) + more)


def unprepared(query_id: bytes = b"id") -> Answer:
    return error(0x2500, "who?", struct.pack(">H", len(query_id)) + query_id)


Scripted = Answer | Lost | BaseException


@dataclass
class Sent:
    """A request that reached a connection."""

    frame: bytes
    operation: Operation
    attempt: int
    timeout: float | None
    stream: int

    @property
    def opcode(self) -> int:
        return self.frame[4]

    @property
    def body(self) -> bytes:
        return self.frame[9:]


class ScriptedConnection(ConnectionBase):
    """The part of :class:`cassandra.connection.Connection` that a request needs."""

    def __init__(self, host: Host, protocol_version: int = 4) -> None:
        self.reactor = weakref.proxy(self)  # only its flush is called
        self.host = host
        self.endpoint = host.endpoint
        self.protocol_version = protocol_version
        self.keyspace: str | None = None
        self.features = ProtocolFeatures()
        self.context = TypeContext()
        self.sent: list[Sent] = []
        self.script: list[Scripted] = []
        self.orphaned: list[tuple[int, Operation, int]] = []
        self.defunct_with: BaseException | None = None
        self.queued = 0
        self.shard: int | None = None
        self.columns: dict[str, str] | None = {"k": "int"}  # None: no answer
        self.asked_for_columns = 0
        self.asking: Sent | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in {"protocol_version", "features", "context"} and "context" in vars(self):
            self.results = ResultDecoder(ResultMessage, self.context, 0, self.protocol_version >= 5)
            with_ids = uses_metadata_ids(self.protocol_version, self.features)
            self.dialect = dialect_of(self.protocol_version, with_ids, self.features.tablets_routing_v2)

    def flush(self) -> None:
        self.queued = 0

    def submit(
        self, frame: bytes, operation: Operation, attempt: int = 0, timeout: float | None = None, later: bool = False
    ) -> int:
        self.queued += later
        if self.defunct_with is not None:
            raise ConnectionShutdown("closed")
        if frame[4] == QUERY and b"system_schema.columns" in frame:
            return self._tell_columns(operation, attempt)
        step = self.script.pop(0) if self.script else None
        if isinstance(step, BaseException):
            raise step
        sent = Sent(frame, operation, attempt, timeout, len(self.sent))
        self.sent.append(sent)
        if step is not None:
            self.answer(step, sent)
        return sent.stream

    def _tell_columns(self, operation: Operation, attempt: int) -> int:
        """Answer the query of columns that the driver sends before it prepares a statement again."""
        self.asked_for_columns += 1
        self.asking = Sent(b"", operation, attempt, None, 0)
        if self.columns is not None:
            answer = texts(("column_name", "type"), *self.columns.items())
            operation._inject(attempt, Frame(self.protocol_version, 0, 0, answer.opcode, answer.body))
        return 0

    def end_asking(self, step: Answer | Lost) -> None:
        """Answer the question about columns that had none."""
        assert self.asking is not None
        self.answer(step, self.asking)

    def answer(self, step: Answer | Lost, sent: Sent | None = None) -> None:
        """Deliver the outcome of a request, the last one by default."""
        sent = sent or self.sent[-1]
        outcome: Frame | Failure
        if isinstance(step, Lost):
            outcome = Failure(step.kind, step.message, step.sent, 0.01)
        else:
            outcome = Frame(self.protocol_version, step.flags, sent.stream, step.opcode, step.body)
        sent.operation._inject(sent.attempt, outcome)

    def orphan(self, stream: int, operation: Operation, attempt: int = 0) -> bool:
        self.orphaned.append((stream, operation, attempt))
        return True

    def defunct(self, error: BaseException) -> None:
        """Closed because of *error*; nothing can be sent from now on."""
        self.defunct_with = error

    @property
    def in_flight(self) -> int:
        return len(self.sent)

    def decode(self, frame: Frame, plan: Any = None) -> Any:
        return decode_response(frame, self.context, plan=plan, metadata_ids=self.protocol_version >= 5)


class ScriptedPool(PoolFields):
    """A pool of one connection; ``gone`` makes it refuse, ``full`` makes requests that were refused wait."""

    is_shutdown = False
    is_reopening = False
    may_take = False
    orphaned = 0
    shard: int | None = None

    def __init__(self, host: Host, protocol_version: int) -> None:
        self.host = host
        self.connection = ScriptedConnection(host, protocol_version)
        self.gone = False
        self.keyspaces: list[str] = []
        self.keyspace_errors: list[BaseException] = []
        self.picked_tokens: list[int | None] = []
        self.full = False
        self.told = 0  # how often a request asked to be told of room
        self.lines_ended = 0

    @property
    def in_flight(self) -> int:
        return self.connection.in_flight

    def load(self) -> str:
        return f"{self.in_flight} in flight"

    def grants_retry(self) -> bool:
        return True

    def report_overload(self) -> None:
        pass

    def wait_for_room(self) -> bool:
        self.told += 1
        return self.full

    def end_queue(self) -> None:
        self.lines_ended += 1

    def pick(self, token: int | None = None, shard: int | None = None) -> ScriptedConnection:
        self.picked_tokens.append(token)
        if self.gone:
            raise NoConnectionsAvailable(f"nothing open to {self.host}")
        return self.connection

    def set_keyspace(self, keyspace: str, on_done: Callable[[list[BaseException]], None]) -> None:
        self.keyspaces.append(keyspace)
        on_done(self.keyspace_errors)

    def close(self) -> None:
        self.is_shutdown = True
        for sent in self.connection.sent:
            if not sent.operation._finished:
                self.connection.answer(Lost(message="closed by us"), sent)

    def state(self) -> dict[str, Any]:
        return {}


class Later:
    """A timer of :class:`ManualReactor`."""

    def __init__(self, delay: float, callback: Callable[[], object]) -> None:
        self.delay = delay
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualReactor:
    """Timers that run when the test says so."""

    def __init__(self) -> None:
        self.timers: list[Later] = []

    def call_later(self, delay: float, callback: Callable[[], object]) -> Later:
        self.timers.append(Later(delay, callback))
        return self.timers[-1]

    def call_soon(self, callback: Callable[[], object]) -> None:
        self.call_later(0.0, callback)

    def run(self) -> list[float]:
        """Run the timers that wait now; returns the delays of those that ran."""
        due, self.timers = self.timers, []
        ran = [timer for timer in due if not timer.cancelled]
        for timer in ran:
            timer.callback()
        return [timer.delay for timer in ran]

    def flush(self) -> None:
        pass

    def in_reactor(self) -> bool:
        return False


class InOrder(LoadBalancingPolicy):
    """The hosts in their order; a user's own policy as far as the driver can tell."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.hosts = list(hosts)
        self.plans = 0
        self.raises: BaseException | None = None

    def distance(self, host: Host) -> int:
        return 1

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        self.plans += 1
        for host in self.hosts:
            if self.raises is not None:
                raise self.raises
            yield host


class FakeMetadata(MetadataFields):
    """Of a cluster of which nothing is known."""

    def __init__(self) -> None:
        self.state = EMPTY
        self.keyspaces: dict[str, Any] = {}
        self._uncached_tablets: set[tuple[str, str]] = set()

    def all_hosts(self) -> list[Host]:
        return []


class PreparedStatements(dict[bytes, Any]):
    """By id, with the copies of them, as the cluster has them."""

    def __init__(self) -> None:
        super().__init__()
        self.copies: list[Any] = []
        self.ahead: dict[Host, Any] = {}

    def note_copy(self, statement: Any) -> None:
        self.copies.append(statement)


@dataclass
class FakeCluster:
    """The attributes of its cluster that a session reads."""

    profile_manager: ProfileManager
    protocol_version: int = 4
    is_shutdown: bool = False
    _version_blocks: bool = False
    _metadata_ids: bool = False
    reactor: ManualReactor = field(default_factory=ManualReactor)
    metrics: Any = None
    timestamp_generator: Any = None
    user_types: list[tuple[str, str, type]] = field(default_factory=list)
    prepare_on_all_hosts: bool = False
    prepared: PreparedStatements = field(default_factory=lambda: PreparedStatements())
    schema_changes: list[Any] = field(default_factory=list)
    schema_outcome: tuple[bool, BaseException | None] | None = (True, None)  # None: not yet
    agreement_waits: list[float | None] = field(default_factory=list)
    closed_sessions: list[Session] = field(default_factory=list)
    max_requests_per_host: int | None = None
    retry_budget: float | None = None
    max_requests_per_session: int | None = None
    max_request_wait: float | None = 0  # where nothing is said about it, a full host is one more that refuses
    max_waiting_requests: int = 32768
    request_tracker: Any = None
    slow_request_threshold: float | None = None
    type_context: TypeContext = field(default_factory=TypeContext)
    metadata: Any = field(default_factory=FakeMetadata)

    allow_control_connection_query_fallback: Any = None
    control_connection: Any = field(default_factory=lambda: SimpleNamespace(connection=None))

    def get_control_connection_host(self) -> Host | None:
        connection = self.control_connection.connection
        return None if connection is None else connection.host

    @property
    def load_balancing_policy(self) -> Any:
        return self.profile_manager.default.load_balancing_policy

    max_schema_agreement_wait: float = 10

    def handle_schema_change(self, event: Any, host: Any, on_done: Callable[..., None], wait: Any = None) -> Any:
        self.schema_changes.append((event, host))
        self.agreement_waits.append(wait)
        change = SimpleNamespace(agreed=False, stage="a step was not done yet")
        if self.schema_outcome is not None:
            on_done(*self.schema_outcome)
        return change

    column_encryption_policy = None

    def add_prepared(self, query_id: bytes, statement: Any) -> None:
        self.prepared[query_id] = statement

    def get_prepared(self, query_id: bytes) -> Any:
        return self.prepared.get(query_id)

    def session_closed(self, session: Session) -> None:
        self.closed_sessions.append(session)


#: Options of a cluster that a lab takes among those of its profile.
OBSERVERS = ("request_tracker", "slow_request_threshold")


class Lab:
    """A session, its hosts and their connections. There is no I/O thread: the thread of the test processes outcomes, so
    it is a driver thread until the test ends."""

    def __init__(self, hosts: int = 1, protocol_version: int = 4, **profile: Any) -> None:
        enter_driver_thread()
        self.hosts = [Host(DefaultEndPoint(f"10.0.0.{n + 1}"), SimpleConvictionPolicy) for n in range(hosts)]
        for host in self.hosts:
            host.set_up()
        self.policy = InOrder(self.hosts)
        observers = {name: profile.pop(name) for name in OBSERVERS if name in profile}
        self.profile = ExecutionProfile(**{"load_balancing_policy": self.policy, **profile})
        manager = ProfileManager()
        manager.profiles[EXEC_PROFILE_DEFAULT] = self.profile
        self.cluster = FakeCluster(manager, protocol_version, **observers)
        self.reactor = self.cluster.reactor
        self.session = Session(self.cluster, self.hosts)  # type: ignore[arg-type]
        self.pools = {host: ScriptedPool(host, protocol_version) for host in self.hosts}
        self.session._pool_set.pools = dict(self.pools)  # type: ignore[arg-type]

    def __getitem__(self, index: int) -> ScriptedConnection:
        return self.pools[self.hosts[index]].connection

    @contextlib.contextmanager
    def listening(self, listener: Callable[..., Any]) -> Iterator[None]:
        self.session.add_request_init_listener(listener)
        try:
            yield
        finally:
            self.session.remove_request_init_listener(listener)


def routed_lab(version: int = 4, hosts: int = 1, **profile: Any) -> tuple[Lab, PreparedStatement]:
    """A session with a built-in policy, and a statement prepared in it; the requests sent for that are forgotten."""
    lab = Lab(hosts, version, **{"load_balancing_policy": RoundRobinPolicy(), **profile})
    lab.profile.load_balancing_policy.populate(lab.cluster, lab.hosts)
    lab.cluster.metadata.state = ClusterState(Topology(), {})
    answer = prepared(metadata_id=b"m" if version >= 5 else None)
    for index in range(hosts):
        lab[index].script = [answer]
    statement = lab.session.prepare("SELECT n FROM tbl WHERE k = ?")
    for index in range(hosts):
        lab[index].script = []
        lab[index].sent.clear()
    return lab, statement


__all__ = ["CLOSED", "TIMED_OUT", "Answer", "Lab", "Lost"]
