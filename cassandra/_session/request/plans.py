"""Execute plans: how the requests of a prepared statement are encoded, routed and read is decided once.

L5. An :class:`ExecutePlan` belongs to one prepared statement, one resolved profile, and one epoch: the settings of a
session and the state of its cluster. It is immutable, as are the two objects that make the epoch: their owners replace
them, ``Session._settings_epoch`` with each change of a setting and ``Metadata.state`` with each change of hosts, ring
or schema. A request loads the plan, compares, and uses it. A plan is published by one assignment in a cache of its
statement, which is replaced as a whole when a setting of the statement changes. The thread that makes a plan takes
cache and epoch before it reads a setting, so that a plan of old settings is never found under new ones. No lock: making
a plan twice is harmless.

Only frequent kinds of requests have a plan. For all others (custom payloads, tracing, a user's protocol handler,
speculative execution …) the result is ``None``, and the request is built from a message.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._core.codec import ExecuteTemplate
from cassandra._core.transport import ExecutePlanBase
from cassandra._net.features import dialect_of
from cassandra._routing.policies import NoSpeculativeExecutionPolicy, PercentileSpeculativeExecutionPolicy
from cassandra._routing.policies.router import PickingRouter
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT, of_call
from cassandra._session.statements.prepared import BoundStatement, PreparedStatement
from cassandra._session.statements.statement import NOT_SET, Sentinel
from cassandra._session.statements.timestamps import MonotonicTimestampGenerator, on_ahead_of
from cassandra._wire.messages.requests import NO_METADATA, ExecuteMessage

from .execution import METADATA_IDS, USE, Content, Execution, QueryPlan, Sending, track_latency
from .future import ResponseFuture
from .notes import version_block_of
from .observers import recorder_of
from .retry import NOT_SENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from cassandra._core.routing import PlanCache, Target
    from cassandra._core.transport import ResultCache, TableWrites
    from cassandra._routing.metadata import ClusterState
    from cassandra._session.profiles import ResolvedProfile
    from cassandra._session.session import Session

_new_future = ResponseFuture.__new__
KEPT = 8  # combinations of sessions and profiles per statement; one more empties the cache


class ExecutePlan(ExecutePlanBase):
    """The parts of an execution of *prepared* that do not depend on the values."""

    __slots__ = (
        "_message", "_picking", "description", "keyspace", "retry_policy", "router", "speculative_execution_policy",
        "version_block",
    )  # fmt: skip

    #: Attributes of the statement for observability, and the keyspace of the session that they are for; see telemetry.
    description: tuple[str | None, Any] | None

    def __init__(
        self,
        session: Session,
        settings_epoch: object,
        prepared: PreparedStatement,
        profile: ResolvedProfile,
        with_timestamp: bool = False,
        kind: type[ResponseFuture] = ResponseFuture,
        writes: TableWrites | None = None,
        cache: ResultCache | None = None,
        may_be_direct: bool = True,
    ) -> None:
        self.description = None
        cluster = session.cluster
        state = cluster.metadata.state
        result_plan, metadata_id = prepared._snapshot
        version = cluster.protocol_version
        consistency = prepared.consistency_level
        serial = prepared.serial_consistency_level
        fetch_size = prepared.fetch_size
        generator: Any = session.timestamp_generator
        if consistency is None:
            consistency = profile.consistency_level
        if serial is None:
            serial = profile.serial_consistency_level
        if isinstance(fetch_size, Sentinel):
            fetch_size = session.default_fetch_size
        with_ids = version >= METADATA_IDS or session._metadata_ids  # the statement may be from another version
        skip = result_plan is not None and metadata_id is not None
        timestamps: Any = generator if session.use_client_timestamp else None
        is_native = timestamps is not None and type(generator) is MonotonicTimestampGenerator
        specs = prepared._bind_plan.specs
        table = specs[0][1] if specs else None
        self.keyspace = specs[0][0] if specs else prepared._home
        blocks = session._version_blocks
        self.version_block = version_block_of(cluster.metadata._tablets, self.keyspace, table) if blocks else None
        template = ExecuteTemplate(
            prepared._bind_plan,
            version,
            prepared.query_id,
            consistency,
            result_metadata_id=metadata_id or NO_METADATA if with_ids else None,
            skip_metadata=skip and with_ids,
            page_size=fetch_size or None,
            serial_consistency=serial,
            with_timestamp=with_timestamp or timestamps is not None,
            version_block=self.version_block,
            strict=is_strict(session, prepared, profile),
        )
        self._message = (consistency, serial, fetch_size, skip, metadata_id)
        self.retry_policy = prepared.retry_policy or profile.retry_policy
        self.router = session._router_of(profile.load_balancing_policy or cluster.load_balancing_policy)
        self._picking = self.router if type(self.router) is PickingRouter else None
        route = self._new_route(prepared, state, session.keyspace)
        policy: Any = profile.speculative_execution_policy
        if not (prepared.is_idempotent and type(policy) is PercentileSpeculativeExecutionPolicy):
            policy = None
        self.speculative_execution_policy = policy
        default = _default_of(session, profile)
        key, source, profile_version = (None, None, 0) if default is None else default
        super().__init__(
            prepared=prepared,
            last_use=prepared._last_use,
            profile=profile,
            profiles=None if default is None else cluster.profile_manager.profiles,
            default_key=key,
            default_profile=source,
            default_version=profile_version,
            settings_epoch=settings_epoch,
            metadata=cluster.metadata,
            state=state,
            metrics=None if cluster.metrics is None else cluster.metrics.of("prepared", profile._name),
            direct=may_be_direct
            and route is not None
            and not (session._listeners.value or session.is_shutdown or session._draining),
            kind=kind,
            template=template,
            clock=generator._clock if is_native else None,
            timestamps=timestamps,
            on_ahead=on_ahead_of(timestamps),
            route=route,
            dialect=dialect_of(version, with_ids, blocks),
            timeout=profile.request_timeout,
            row_factory=profile.row_factory,
            prefetch=profile.prefetch,
            result_plan=result_plan,
            not_sent=NOT_SENT,
            unset=NOT_SET,
            own_options=of_call,
            latency_recorder=recorder_of(self.router),
            observer=session._tracking,
            speculation=None if policy is None else policy._queue(),
            writes=writes,
            cache=cache,
        )

    @property
    def levels(self) -> tuple[int, int | None]:
        """Consistency and serial consistency."""
        return self._message[:2]

    @property
    def fetch_size(self) -> int | None:
        """Rows of a page; None without paging."""
        size: int | None = self._message[2]
        return size

    def route_in(self, state: ClusterState, keyspace: str | None) -> Callable[[int | None], Target | None] | None:
        """Return a function from the token of a request to its first target in *state*, for a session that uses
        *keyspace*; None if the target does not depend on the token alone."""
        return self._new_route(self.prepared, state, keyspace)

    def _new_route(
        self, prepared: PreparedStatement, state: ClusterState, keyspace: str | None
    ) -> Callable[[int | None], Target | None] | None:
        ring = state.topology.ring
        if self._picking is None or not (ring is None or ring.murmur3):
            return None
        specs = prepared._bind_plan.specs
        table = specs[0][1] if specs else None
        return self._picking.route(state, self.keyspace or keyspace, table, prepared, self._message[0])

    def message(self, frame: bytes, token: int | None) -> ExecuteMessage:
        """Return the message that is encoded in the envelope *frame*."""
        consistency, serial, fetch_size, skip, metadata_id = self._message
        return ExecuteMessage(
            self.prepared.query_id,
            self.template.bound(frame, token),
            consistency,
            serial,
            fetch_size,
            None,
            self.template.timestamp(frame),
            skip_meta=skip,
            result_metadata_id=metadata_id,
        )

    def request(self, session: Session, query: Any, values: Any, timeout: float | None) -> ResponseFuture:
        """Return a future that is ready to be sent."""
        timestamp: Any = self.clock
        if timestamp is None:
            timestamp = None if self.timestamps is None else self.timestamps()
        elif timestamp.ahead:
            self.timestamps._on_native_timestamp()
        if query is self.prepared:
            frame, token = self.template.encode(values, timestamp)
            return self.future(session, frame, token, values, timeout)
        bound = query._bound
        return self.future(session, self.template.encode_bound(bound, timestamp), bound.token, query, timeout)

    def future(
        self, session: Session, frame: bytes, token: int | None, values: Any, timeout: float | None
    ) -> ResponseFuture:
        """Return a pending future with nothing sent."""
        future, now = _new_future(ResponseFuture), monotonic()
        self.prepared._last_use.note(now)
        future._begin(session, self.metrics, timeout, now, self.profile.row_factory, self.result_plan, token)
        future._prefetch = self.profile.prefetch
        future._execute_plan = self
        future._frame = frame
        future._values = values
        future._tracking = self.observer
        if self.latency_recorder is not None:
            future._set_latency_recorder(self.latency_recorder)
        return future

    def launch(self, session: Session, request: ResponseFuture) -> bool:
        """Send the first attempt of *request* over the fast path. Return False if the request cannot use it: then
        nothing was sent."""
        if session.is_shutdown or request._outcome is not None:
            return False
        if not request._is_on_fast_path:  # a listener has read its message, and may have changed it
            return False
        return self.is_valid(session) and self.try_launch(request)

    def execution(self, request: ResponseFuture) -> Execution:
        """Return a new slow path for *request*."""
        assert request._frame is not None
        content = Content.compiled(self, request._frame, request._token, request._values)
        sending = Sending(content, QueryPlan(self.router, None, request._picked))
        policy = self.speculative_execution_policy
        if policy is not None:
            sending.new_speculation = lambda: policy.new_plan(None, None)
            sending.speculation = sending.new_speculation()
            track_latency(request, sending.speculation)
        return Execution(sending, self.retry_policy)


def is_strict(session: Session, prepared: PreparedStatement, profile: ResolvedProfile) -> bool:
    """True if incomplete values of a request are an error."""
    chosen = profile.strict_binding
    return prepared._is_strict(getattr(session.cluster, "strict_binding", False) if chosen is None else chosen)


def _default_of(session: Session, profile: ResolvedProfile) -> tuple[Any, Any, int] | None:
    """Return the key of the default profile, the profile and its version, if *profile* was resolved from it; else
    None."""
    source = session.cluster.profile_manager.profiles.get(EXEC_PROFILE_DEFAULT)
    if source is None:
        return None
    version = source._version
    same = session._resolve_profile(EXEC_PROFILE_DEFAULT) is profile
    return (EXEC_PROFILE_DEFAULT, source, version) if same else None


def plan_for(session: Session, query: Any, profile: ResolvedProfile) -> ExecutePlan | None:
    """Return the plan of *query*, a prepared or bound statement, under *profile*; None if it needs the slow path."""
    prepared = query if type(query) is PreparedStatement else _prepared_of(query)
    if prepared is None:
        return None
    cache: PlanCache = prepared._plans
    plan: ExecutePlan | None = cache.last
    # a copy of a statement shares the cache
    if plan is not None and plan.prepared is prepared and plan.profile is profile and plan.is_valid(session):
        return plan
    settings_epoch = session._settings_epoch
    key = (id(settings_epoch), id(profile))  # the cache entry keeps both alive
    plan = cache.others.get(key)
    if plan is None or plan.prepared is not prepared or not plan.is_valid(session):
        encryption = session._encryption
        if encryption is not None and not encryption.allows(prepared, query is not prepared):
            return None
        if not _has_plan(session, prepared, profile):
            return None
        caching = session._caching
        make = ExecutePlan if caching is None else caching.new_plan
        plan = make(session, settings_epoch, prepared, profile)
        if len(cache.others) >= KEPT:
            cache.others.clear()
        cache.others[key] = plan
    cache.last = plan
    return plan


def _prepared_of(query: Any) -> PreparedStatement | None:
    """Return the statement that *query* was bound from, if *query* overrides none of its settings; else None."""
    if type(query) is not BoundStatement or query._bound is None:
        return None
    if query._routing_key is not None or query.routing_token is not None:
        return None
    prepared = query.prepared_statement
    specs = prepared._bind_plan.specs
    same = (
        type(prepared) is PreparedStatement
        and query.consistency_level is prepared.consistency_level
        and query.serial_consistency_level is prepared.serial_consistency_level
        and query.fetch_size is prepared.fetch_size
        and query.retry_policy is prepared.retry_policy
        and query.is_idempotent is prepared.is_idempotent
        and query.custom_payload is prepared.custom_payload
        and query.keyspace == (specs[0][0] if specs else prepared._home)
    )
    return prepared if same else None


def _has_plan(session: Session, prepared: PreparedStatement, profile: ResolvedProfile) -> bool:
    timeout = profile.request_timeout
    speculates = prepared.is_idempotent and type(profile.speculative_execution_policy) not in (
        NoSpeculativeExecutionPolicy,
        PercentileSpeculativeExecutionPolicy,
    )
    levels = (prepared.consistency_level, profile.consistency_level)
    serials = (prepared.serial_consistency_level, profile.serial_consistency_level)
    sizes = (prepared.fetch_size, session.default_fetch_size)
    return (
        session.client_protocol_handler is session._default_protocol_handler
        and prepared.custom_payload is None
        and prepared._outdated is None
        and prepared._refused is None
        and not speculates
        and USE.match(prepared.query_string) is None  # the outcome of a USE must be known, even of one given up
        and (timeout is None or (isinstance(timeout, (int, float)) and timeout > 0))
        and all(level is None or isinstance(level, int) for level in (*levels, *serials))  # else the message raises
        and all(size is None or isinstance(size, (int, Sentinel)) for size in sizes)
    )
