"""Results that are cached: ``Session.cached``, and the writes that make them invalid.

L5. A cached statement is a copy of a prepared statement, whose execute plans are :class:`CachedPlan`: the only
difference to other statements is what these do when they are asked to send. So ``execute``, ``execute_async``,
callbacks and ``await`` are those of every request, and other statements have no cost. Pages and reads in flight are
native, see ``transport_parts/cache.pxi``; ``cpp/cache/writes.h`` has the argument why no read hides a write of the
session.

The first cached statement gives its session a :class:`Caching`, which notes the ends of writes. Prepared writes have
plans of :class:`WriteFuture` then, which notes its end in native code. All other requests are made by
:class:`WatchingBuilder`, which adds a :class:`~cassandra._core.transport.WriteEnding` to those that may write. That is
called before the outcome is set, so before the program can learn of it. Writes of ``execute_concurrent`` and of the
mapper are requests of these kinds, and an ingest notes the end of all of its rows (``Caching.note_table``).

Any thread may use these objects. Tables are added to a dict, and never removed; it is read without a lock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from copy import copy
from functools import partial
from random import SystemRandom
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.errors import OperationTimedOut, ProtocolError, UnsupportedOperation, copy_to_raise
from cassandra._base.objects import not_copied, public
from cassandra._base.versions import request_timeout
from cassandra._core.codec import Bound
from cassandra._core.transport import (
    CachedRequest,
    CachedStatementBase,
    Frame,
    ResultCache,
    TableWrites,
    WriteEnding,
    WriteRequest,
    cached_request,
    execute_cached,
    launch_cached,
    set_errors_of_flights,
)
from cassandra._session.request.builder import RequestBuilder
from cassandra._session.request.future import ResponseFuture
from cassandra._session.request.plans import ExecutePlan, plan_for
from cassandra._session.request.result import ResultSet
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.statements.prepared import BoundStatement, PreparedStatement
from cassandra._session.statements.statement import NOT_SET
from cassandra._wire.rows import rows_and_page

from .profiles import EXEC_PROFILE_DEFAULT, OF_PROFILE, of_call

if TYPE_CHECKING:
    from cassandra._core.codec import ResultPlan
    from cassandra._session.profiles import ResolvedProfile
    from cassandra._session.session import Session

Parameters = Sequence[Any] | Mapping[str, Any] | None

COMPRESSED = 0x01  # flag of a frame
DEFAULT_BYTES = 64 << 20
LEAST_BYTES, MOST_BYTES = 1 << 16, 1 << 40
MOST_TTL = 10 * 365 * 86_400  # seconds
_NEXT = re.compile(r"\s*(--|//|/\*|\w*)")
_ENDS = {"--": "\n", "//": "\n", "/*": "*/"}  # of comments
_IN = re.compile(r"\bIN\b", re.IGNORECASE)


def first_word(text: str) -> str:
    """Return the first word of a statement, behind comments, in capitals; "" if there is none."""
    found = _NEXT.match(text)
    while found is not None and found[1] in _ENDS:
        end = _ENDS[found[1]]
        at = text.find(end, found.end())
        found = None if at < 0 else _NEXT.match(text, at + len(end))
    return "" if found is None else found[1].upper()


def is_read(text: str) -> bool:
    """True if *text* is a SELECT statement."""
    return first_word(text) == "SELECT"


def is_of_one_partition(prepared: PreparedStatement) -> bool:
    """True if the token of bound values is that of the only partition that *prepared* reads or writes. Servers report
    the position of a marker in ``IN (?, ...)`` as that of the partition key."""
    text = prepared.query_string
    return prepared._bind_plan.pk_indexes is not None and first_word(text) != "BEGIN" and not _IN.search(text)


# ---- requests


class CachedFuture(CachedRequest, ResponseFuture):
    """The future of a read whose result is cached."""

    __module__ = "cassandra.cluster"


class WriteFuture(WriteRequest, ResponseFuture):
    """The future of a write to a table of which results are cached."""

    __module__ = "cassandra.cluster"


CachedFuture.__name__ = CachedFuture.__qualname__ = WriteFuture.__name__ = WriteFuture.__qualname__ = "ResponseFuture"


class CachedPlan(ExecutePlan):
    """The execute plan of a statement whose results are cached."""

    __slots__ = ()

    def send(
        self,
        session: Any,
        prepared: Any,
        values: Any,
        trace: bool,
        custom_payload: Any,
        timeout: Any,
        profile_key: Any,
        paging_state: Any,
        host: Any,
        execute_as: Any,
        row_factory: Any,
        prefetch: Any,
    ) -> Any:
        """As for other plans. Requests with options that change the response are sent without the cache."""
        if (
            trace
            or custom_payload is not None
            or paging_state is not None
            or host is not None
            or execute_as is not None
        ):
            return None
        timeout = self.profile.request_timeout if timeout is NOT_SET else request_timeout(timeout)
        own = of_call(row_factory, prefetch)
        return execute_cached(self, session, prepared, values, timeout, profile_key, own)

    def future(
        self, session: Session, frame: bytes, token: int | None, values: Any, timeout: float | None
    ) -> ResponseFuture:
        """Return a pending future with nothing sent."""
        encoded = self.template.bound(frame, token).data if self.prepared._bind_plan.specs else b""
        made: ResponseFuture = cached_request(self, session, frame, encoded, token, values, timeout)
        return made

    def launch(self, session: Session, request: ResponseFuture) -> bool:
        """Conclude *request* by the cache, or send it."""
        if not isinstance(request, CachedFuture) or not request._is_on_fast_path:
            return super().launch(session, request)
        if session.is_shutdown or request._outcome is not None or not self.is_valid(session):
            return False
        launch_cached(self, request)
        return True


def _decode(decoder: Any, frame: Any, plan: ResultPlan, row_factory: Any) -> tuple[Any, None, Any] | None:
    """Return rows and retained page of a frame that native code does not decode alone; None if it has other columns
    than *plan*."""
    message = decoder.decode(frame, plan)
    if message.plan.specs != plan.specs:
        return None
    rows, kept = rows_and_page(message.page, row_factory, False)
    return rows, None, kept


def _decompress(connection: Any, frame: Frame) -> Frame | None:
    """Return *frame* with its body decompressed; None if that is malformed."""
    try:
        body = connection._decompress(bytes(frame))
    except ProtocolError:
        return None
    return Frame(frame.version, frame.flags & ~COMPRESSED, frame.stream, frame.opcode, body)


def _expire(request: ResponseFuture) -> None:
    """Limit the time of a request that waits for an equal one."""
    remaining = request._remaining()
    if remaining is not None:
        later = request.session.cluster.reactor.call_later(max(0.0, remaining), partial(_fail_late, request))
        request._add_timer(0, later)


def _fail_late(request: ResponseFuture) -> None:
    text = "There was no response in time to the equal request that it waited for"
    request._fail(0, OperationTimedOut({"single flight": text}, None, request.timeout))


def _is_own_error(error: BaseException) -> bool:
    return isinstance(error, (CancelledError, OperationTimedOut))


def _copy_error(error: BaseException) -> BaseException:
    found = copy_to_raise(error, _copy_error.__code__)
    return found if found is error else found.with_traceback(None)


set_errors_of_flights(_is_own_error, _copy_error)


# ---- the statement


@public("cassandra.cluster")
class CacheStatistics(NamedTuple):
    """Counters of a cached statement since it was made, and its size."""

    hits: int
    """Executions that have got a result of the cache."""
    misses: int
    """Executions that have found no result in the cache; they were sent, or *shared*."""
    shared: int
    """Misses that have got the result of an equal request in flight."""
    evictions: int
    """Results that were removed for others, as the cache was full."""
    invalidations: int
    """Results that were found, or removed, because of a write or of :meth:`CachedStatement.invalidate`."""
    expirations: int
    """Results that were found to be older than the limit."""
    bytes: int
    """Memory of the results and their keys."""
    entries: int
    """Results in the cache."""


@public("cassandra.cluster")
class CachedStatement(CachedStatementBase):
    """A prepared SELECT whose results are kept in memory for a limited time; made by :meth:`Session.cached`.

    Any thread may use it. :attr:`statement` can be passed to ``session.execute()`` and ``execute_async()`` too, with
    the same effect; :meth:`execute` is faster. Example::

        select = session.prepare("SELECT name FROM users WHERE id = ?")
        name = session.cached(select, ttl=1.0)
        name.execute((1,)).one()
        name.statistics()
    """

    session: Session  #: The session that executes it.
    statement: PreparedStatement  #: A copy of the prepared statement, whose results are cached.

    def __init__(
        self, session: Session, statement: PreparedStatement, cache: ResultCache, ttl: float, size: int
    ) -> None:
        super().__init__(session, statement, cache, EXEC_PROFILE_DEFAULT)
        self.ttl = ttl  #: Seconds for which a result may be used, counted from before its request was sent.
        self.max_bytes = size  #: Limit of the memory of results and their keys.

    if TYPE_CHECKING:

        def execute(
            self,
            parameters: Parameters = None,
            *,
            timeout: float | None = None,
            execution_profile: Any = None,
            row_factory: Any = None,
        ) -> ResultSet[Any]: ...

    def execute_async(
        self,
        parameters: Parameters = None,
        *,
        timeout: float | None = None,
        execution_profile: Any = None,
        row_factory: Any = None,
    ) -> ResponseFuture[Any]:
        """Return a :class:`ResponseFuture`, which has ended already if the result is in the cache; ``await`` it, or add
        callbacks. Parameters and errors as for :meth:`Session.execute_async`; None: the default of the session."""
        session, statement = self.session, self.statement
        key = EXEC_PROFILE_DEFAULT if execution_profile is None else execution_profile
        limit = NOT_SET if timeout is None else timeout
        own = {} if row_factory is None else {"row_factory": row_factory}
        plan = plan_for(session, statement, session._resolve_profile(key))
        if plan is not None:
            factory = own.get("row_factory", OF_PROFILE)
            request: ResponseFuture[Any] | None = plan.send(
                session, statement, parameters, False, None, limit, key, None, None, None, factory, None
            )
            if request is not None:
                return request
        return session.execute_async(statement, parameters, timeout=limit, execution_profile=key, **own)

    def invalidate(self, parameters: Parameters = None) -> None:
        """Remove all results, or those of the partition of *parameters*: later executions get none that was requested
        before.

        With *parameters* this applies to all cached statements of the session that read the table; if they contain no
        whole partition key, to all results of this one."""
        if parameters is not None:
            token = self.statement.bind(parameters)._bound.token  # type: ignore[union-attr]
            if token is not None:
                self._cache.writes.note(token)
                return
        self._cache.invalidate()

    def statistics(self) -> CacheStatistics:
        """Return the counters."""
        return CacheStatistics(*self._cache.statistics())

    __reduce__ = not_copied("it belongs to its session")

    def __repr__(self) -> str:
        found = self.statistics()
        return (
            f"<CachedStatement {self.statement.query_string!r}: {found.entries} results, {found.bytes} of "
            f"{self.max_bytes} bytes, {found.hits} hits, {found.misses} misses>"
        )


def cached(
    session: Session, prepared: PreparedStatement, ttl: float, max_bytes: int, single_flight: bool
) -> CachedStatement:
    """Implement :meth:`Session.cached`."""
    if not isinstance(prepared, PreparedStatement):
        raise TypeError(f"expected a prepared statement, got {type(prepared).__name__}")
    if not is_read(prepared.query_string) or prepared._snapshot[0] is None:
        raise UnsupportedOperation(
            f"Only the results of SELECT statements can be cached, not those of {prepared.query_string!r}"
        )
    serial = (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL)
    if prepared.consistency_level in serial:
        raise UnsupportedOperation("Reads with a serial consistency level have to get the latest value: not cached")
    encryption = session._encryption
    if encryption is not None and encryption.is_on:
        raise UnsupportedOperation("Results are not cached by a session with column encryption")
    if isinstance(ttl, bool) or not isinstance(ttl, (int, float)):
        raise TypeError(f"ttl must be a number of seconds, not {ttl!r}")
    if not 0 < ttl <= MOST_TTL:
        raise ValueError(f"ttl must be positive and at most {MOST_TTL} seconds, got {ttl!r}")
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int):
        raise TypeError(f"max_bytes must be a number of bytes, not {max_bytes!r}")
    if not LEAST_BYTES <= max_bytes <= MOST_BYTES:
        raise ValueError(f"max_bytes must be from {LEAST_BYTES} to {MOST_BYTES}, got {max_bytes}")
    caching = session._caching
    if caching is None:
        caching = session._caching = Caching()
        session._builder = WatchingBuilder(session, caching)
    made = copy(prepared)
    writes = caching.writes_of(*_table_of(session, prepared._snapshot[0]))
    exact, seed = is_of_one_partition(prepared), SystemRandom().getrandbits(64)
    pool = session.cluster.memory_pool
    totals = session.cluster._cache_totals
    cache = ResultCache(pool, writes, exact, max_bytes, ttl, single_flight, seed, totals, _decode, _expire, _decompress)
    made._cache = cache
    session._forget_plans()  # writes to the table have other plans from now on
    return CachedStatement(session, made, cache, float(ttl), max_bytes)


def _table_of(session: Session, plan: ResultPlan) -> tuple[str, str]:
    """Return keyspace and table whose writes change the results of *plan*: of a view, the base table."""
    keyspace, name = str(plan.keyspace), str(plan.table)
    known = session.cluster.metadata.keyspaces.get(keyspace)
    view = None if known is None else known.views.get(name)
    return keyspace, name if view is None else view.base_table_name


# ---- writes


class Caching:
    """The tables of which a session caches results."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str], TableWrites] = {}

    def writes_of(self, keyspace: str, table: str) -> TableWrites:
        """Return the times of the writes to a table, from now on."""
        return self._tables.setdefault((keyspace, table), TableWrites())

    def new_plan(
        self, session: Session, settings_epoch: object, prepared: PreparedStatement, profile: ResolvedProfile
    ) -> ExecutePlan:
        """Return a new execute plan."""
        cache = prepared._cache
        if cache is not None and cache.writes in self._tables.values():  # it may be of another session
            return _cached_plan(session, settings_epoch, prepared, profile, cache)
        tables = self._written_by(prepared)
        if len(tables) == 1 and is_of_one_partition(prepared):
            return ExecutePlan(session, settings_epoch, prepared, profile, kind=WriteFuture, writes=tables[0])
        return ExecutePlan(session, settings_epoch, prepared, profile, may_be_direct=not tables)

    def _written_by(self, prepared: PreparedStatement) -> list[TableWrites]:
        """Return the tables that *prepared* may write to."""
        if is_read(prepared.query_string):
            return []
        specs = prepared._bind_plan.specs
        if not specs or first_word(prepared.query_string) == "BEGIN":
            return list(self._tables.values())
        found = self._tables.get((specs[0][0], specs[0][1]))
        return [] if found is None else [found]

    def note_table(self, keyspace: str, table: str) -> None:
        """Note the end of writes to any partitions of a table."""
        writes = self._tables.get((keyspace, table))
        if writes is not None:
            writes.note(None)

    def ending_of(self, future: ResponseFuture) -> tuple[tuple[TableWrites, int | None], ...]:
        """Return the tables that *future* may write to, with the tokens of partitions, or None."""
        plan = future._execute_plan
        if plan is not None:
            return self._of_prepared(plan.prepared, future._token)
        statement = future.query
        if isinstance(statement, BoundStatement):
            bound = statement._bound
            return self._of_prepared(statement.prepared_statement, None if bound is None else bound.token)
        if isinstance(statement, BatchStatement):
            return self._of_batch(statement)
        text = getattr(statement, "query_string", None)
        return () if isinstance(text, str) and is_read(text) else self._everything()

    def _of_prepared(
        self, prepared: PreparedStatement, token: int | None
    ) -> tuple[tuple[TableWrites, int | None], ...]:
        if not is_of_one_partition(prepared):
            token = None
        return tuple((writes, token) for writes in self._written_by(prepared))

    def _everything(self) -> tuple[tuple[TableWrites, int | None], ...]:
        return tuple((writes, None) for writes in list(self._tables.values()))

    def _of_batch(self, batch: BatchStatement) -> tuple[tuple[TableWrites, int | None], ...]:
        found: list[tuple[TableWrites, int | None]] = []
        for _, query, bound in list(batch._statements_and_parameters):
            prepared = batch._prepared.get(query) if isinstance(query, bytes) else None
            if prepared is None or not isinstance(bound, Bound):
                return self._everything()
            found += self._of_prepared(prepared, bound.token)
        return tuple(found)


def _cached_plan(
    session: Session, settings_epoch: object, prepared: PreparedStatement, profile: ResolvedProfile, cache: ResultCache
) -> ExecutePlan:
    """Return the plan of a cached statement: an ordinary one if a profile lets it read the latest value."""
    plan = CachedPlan(session, settings_epoch, prepared, profile, kind=CachedFuture, writes=cache.writes, cache=cache)
    if plan.levels[0] in (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL) or plan.speculation is not None:
        return ExecutePlan(session, settings_epoch, prepared, profile)
    cache.use(plan, (plan.template.around(), session.keyspace))
    return plan


class WatchingBuilder(RequestBuilder):
    """Builds the requests of a session with cached results: the ends of those that may write are noted."""

    def __init__(self, session: Session, caching: Caching) -> None:
        super().__init__(session)
        self._caching = caching

    def build(self, *args: Any) -> ResponseFuture:
        """See :meth:`RequestBuilder.build`."""
        future = super().build(*args)
        writes = self._caching.ending_of(future)
        if writes:
            future._ending = WriteEnding(writes, future._ending)
        return future
