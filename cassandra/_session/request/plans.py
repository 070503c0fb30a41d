"""Compiled executions of prepared statements: data that all executions share is computed once.

L5. A :class:`CompiledExecute` belongs to one prepared statement, one session's settings and one resolved profile. It is
kept on the statement, in a cache that is replaced as a whole when a setting of the statement changes; a session's
*settings_epoch* is an object that is replaced when a setting of the session changes. The compiling thread takes both
before it reads a setting, so that an object compiled from old settings is never found under new ones. No lock:
attributes are replaced, and compiling twice is harmless.

Only frequent kinds of requests are compiled. For all others (custom payloads, tracing, a user's protocol handler,
speculative execution …) the result is ``None``, and the request is built from a message.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._core.codec import ExecuteTemplate
from cassandra._core.routing import CompiledCache
from cassandra._core.transport import FastPath, RequestSource
from cassandra._net.features import dialect_of
from cassandra._routing.policies import NoSpeculativeExecutionPolicy
from cassandra._routing.policies.router import PickingRouter
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT, of_call
from cassandra._session.statements.prepared import BoundStatement, PreparedStatement
from cassandra._session.statements.statement import NOT_SET, Sentinel
from cassandra._session.statements.timestamps import MonotonicTimestampGenerator, on_ahead_of
from cassandra._wire.messages.requests import NO_METADATA, ExecuteMessage

from .execution import METADATA_IDS, USE, Content, Execution, QueryPlan, Sending
from .future import ResponseFuture
from .notes import version_block_of
from .observers import recorder_of
from .retry import NOT_SENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from cassandra._core.routing import Target
    from cassandra._routing.metadata import ClusterState
    from cassandra._session.profiles import ResolvedProfile
    from cassandra._session.session import Session

_new_future = ResponseFuture.__new__
KEPT = 8  # combinations of sessions and profiles per statement; one more empties the cache


class CompiledExecute(RequestSource):
    """The parts of an execution of *prepared* that do not depend on the values."""

    __slots__ = (
        "_cache",
        "_fast_path",
        "_message",
        "_route",
        "clock",
        "dialect",
        "keyspace",
        "latency_recorder",
        "picking",
        "prepared",
        "profile",
        "result_plan",
        "retry_policy",
        "router",
        "settings_epoch",
        "template",
        "timestamps",
        "version_block",
    )

    def __init__(
        self,
        session: Session,
        settings_epoch: object,
        cache: CompiledCache,
        prepared: PreparedStatement,
        profile: ResolvedProfile,
        with_timestamp: bool = False,
    ) -> None:
        self._cache = cache
        self.settings_epoch = settings_epoch
        self.prepared = prepared
        self.profile = profile
        plan, metadata_id = prepared._snapshot
        version = session.cluster.protocol_version
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
        skip = plan is not None and metadata_id is not None
        self.result_plan = plan
        self.timestamps: Any = generator if session.use_client_timestamp else None
        plain = self.timestamps is not None and type(generator) is MonotonicTimestampGenerator
        self.clock = generator._clock if plain else None  # called natively
        specs = prepared._bind_plan.specs
        self.keyspace = specs[0][0] if specs else prepared._home
        blocks = session._version_blocks
        self.version_block = None
        if blocks:
            table = specs[0][1] if specs else None
            self.version_block = version_block_of(session.cluster.metadata._tablets, self.keyspace, table)
        self.template = ExecuteTemplate(
            prepared._bind_plan,
            version,
            prepared.query_id,
            consistency,
            result_metadata_id=metadata_id or NO_METADATA if with_ids else None,
            skip_metadata=skip and with_ids,
            page_size=fetch_size or None,
            serial_consistency=serial,
            with_timestamp=with_timestamp or self.timestamps is not None,
            version_block=self.version_block,
        )
        self.dialect = dialect_of(version, with_ids, blocks)
        self._message = (consistency, serial, fetch_size, skip, metadata_id)
        self.retry_policy = prepared.retry_policy or profile.retry_policy
        self.router = session._router_of(profile.load_balancing_policy or session.cluster.load_balancing_policy)
        self.picking = self.router if type(self.router) is PickingRouter else None
        self.latency_recorder = recorder_of(self.router)
        self._route: tuple[Any, Any, Any] = (None, None, None)
        self._fast_path: FastPath | None = None

    @property
    def levels(self) -> tuple[int, int | None]:
        """Consistency and serial consistency."""
        return self._message[:2]

    def route(self, state: ClusterState, keyspace: str | None) -> Callable[[int | None], Target | None] | None:
        """Return a function from the token of a request to its first target; None if the target does not depend on the
        token alone."""
        route: Callable[[int | None], Target | None] | None
        of, within, route = self._route
        if of is not state or within != keyspace:
            route, ring = None, state.topology.ring
            if self.picking is not None and (ring is None or ring.murmur3):
                specs = self.prepared._bind_plan.specs
                table = specs[0][1] if specs else None
                route = self.picking.route(state, self.keyspace or keyspace, table, self.prepared, self.levels[0])
            self._route = (state, keyspace, route)
        return route

    def fast_path(self, session: Session) -> FastPath | None:
        """Return the fast path of requests to their connections, for the current settings and cluster state; None if
        each request needs its own plan."""
        fast_path = self._fast_path
        if fast_path is None or not fast_path.holds(session):
            state = session.cluster.metadata.state
            route = self.route(state, session.keyspace)
            heard = session._listeners or session._tracking
            direct = not (heard or session.is_shutdown or session._draining)
            fast_path = None
            if route is not None:
                fast_path = self._new_fast_path(session, state, route, direct)
            self._fast_path = fast_path
        self._cache.fast_path = fast_path
        return fast_path

    def _new_fast_path(self, session: Session, state: ClusterState, route: Any, direct: bool) -> FastPath:
        profile, cluster = self.profile, session.cluster
        default = _default_of(session, profile)
        key, source, version = (None, None, 0) if default is None else default
        return FastPath(
            compiled=self,
            prepared=self.prepared,
            profile=profile,
            profiles=None if default is None else cluster.profile_manager.profiles,
            default_key=key,
            default_profile=source,
            default_version=version,
            settings_epoch=self.settings_epoch,
            metadata=cluster.metadata,
            state=state,
            metrics=cluster.metrics,
            direct=direct,
            kind=ResponseFuture,
            template=self.template,
            clock=self.clock,
            timestamps=self.timestamps,
            on_ahead=on_ahead_of(self.timestamps),
            route=route,
            dialect=self.dialect,
            timeout=profile.request_timeout,
            row_factory=profile.row_factory,
            prefetch=profile.prefetch,
            result_plan=self.result_plan,
            not_sent=NOT_SENT,
            unset=NOT_SET,
            own_options=of_call,
            latency_recorder=self.latency_recorder,
        )

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
            self.timestamps._asked_natively()
        if query is self.prepared:
            frame, token = self.template.encode(values, timestamp)
            return self.future(session, frame, token, values, timeout)
        bound = query._bound
        return self.future(session, self.template.encode_bound(bound, timestamp), bound.token, query, timeout)

    def future(
        self, session: Session, frame: bytes, token: int | None, values: Any, timeout: float | None
    ) -> ResponseFuture:
        """Return a pending future with nothing sent."""
        future = _new_future(ResponseFuture)
        metrics = session.cluster.metrics
        future._begin(session, metrics, timeout, monotonic(), self.profile.row_factory, self.result_plan, token)
        future._prefetch = self.profile.prefetch
        future._compiled = self
        future._frame = frame
        future._values = values
        if self.latency_recorder is not None:
            future._set_latency_recorder(self.latency_recorder)
        return future

    def launch(self, session: Session, request: ResponseFuture) -> bool:
        """Send the first attempt of *request* over the fast path. Return False if the request cannot use it: then
        nothing was sent."""
        if session.is_shutdown or request._tracking is not None or request._outcome is not None:
            return False
        if not request._is_on_fast_path:  # a listener has read its message, and may have changed it
            return False
        fast_path = self.fast_path(session)
        return fast_path is not None and fast_path.try_launch(request)

    def execution(self, request: ResponseFuture) -> Execution:
        """Return a new slow path for *request*."""
        assert request._frame is not None
        content = Content.compiled(self, request._frame, request._token, request._values)
        return Execution(Sending(content, QueryPlan(self.router, None, request._picked)), self.retry_policy)


def _default_of(session: Session, profile: ResolvedProfile) -> tuple[Any, Any, int] | None:
    """Return the key of the default profile, the profile and its version, if *profile* was resolved from it; else
    None."""
    source = session.cluster.profile_manager.profiles.get(EXEC_PROFILE_DEFAULT)
    if source is None:
        return None
    version = source._version
    same = session._resolve_profile(EXEC_PROFILE_DEFAULT) is profile
    return (EXEC_PROFILE_DEFAULT, source, version) if same else None


def compiled_for(session: Session, query: Any, profile: ResolvedProfile) -> CompiledExecute | None:
    """Return the compiled execution of *query*, a prepared or bound statement, under *profile*; None if it needs the
    slow path."""
    prepared = query if type(query) is PreparedStatement else _prepared_of(query)
    if prepared is None:
        return None
    cache: CompiledCache = prepared._compiled
    compiled: CompiledExecute | None = cache.last
    settings_epoch = session._settings_epoch
    if (
        compiled is not None
        and compiled.prepared is prepared  # not so in a copy that shares the cache
        and compiled.settings_epoch is settings_epoch
        and compiled.profile is profile
    ):
        return compiled
    key = (id(settings_epoch), id(profile))  # the cache entry keeps both alive
    compiled = cache.others.get(key)
    if compiled is None or compiled.prepared is not prepared:
        encryption = session._encryption
        if encryption is not None and not encryption.allows(prepared, query is not prepared):
            return None
        if not _is_on_fast_path(session, prepared, profile):
            return None
        compiled = CompiledExecute(session, settings_epoch, cache, prepared, profile)
        if len(cache.others) >= KEPT:
            cache.others.clear()
        cache.others[key] = compiled
    cache.last = compiled
    return compiled


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


def _is_on_fast_path(session: Session, prepared: PreparedStatement, profile: ResolvedProfile) -> bool:
    timeout = profile.request_timeout
    speculates = prepared.is_idempotent and type(profile.speculative_execution_policy) is not (
        NoSpeculativeExecutionPolicy
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
