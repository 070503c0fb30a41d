"""OrderedScan: the rows of many partitions in the order of their clustering key (cassandra.scan).

L6. Result of ``session.scan_order``. Nothing is sent before rows are requested; each iteration or conversion reads all
partitions from the beginning, by an :class:`OrderPlan`, which does not change.

A :class:`Merging` makes batches in one order from pages of many sources, on the thread of the consumer. It belongs to
one consumer at a time, as a reading does, and requests pages while the consumer requests batches. States of a source:

  *new*      no page was requested
  *request*    a page is in flight, or *queued* to be sent, or *due*, to be sent again at a set time
  *here*     its next page has arrived, and the merge still has rows of the page before
  *over*     its last page was merged, or as many of its rows as the limit of the merge

A source may have one page here or requested while another one is merged. Pages that the merge *needs* are requested
first; pages ahead only while there is memory, and no source is new. A page is added to the merge when the merge needs
it.

Sources are merged in *levels*: one merge for each ``max_open`` sources, and further merges of their results. Equal rows
are in the order of their sources, as each level has its sources in that order.

States of the whole: *going*, then *over*, *broken* (each further call raises the error again) or closed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.display import rich_display
from cassandra._base.errors import DriverException
from cassandra._base.names import maybe_escape_name
from cassandra._base.objects import public
from cassandra._base.versions import request_timeout
from cassandra._core.columns import ColumnPlan, Merge, RecordBatch, decode, stream
from cassandra._routing.policies import FallthroughRetryPolicy
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT
from cassandra._session.request.columns import ArrowBatches, SchemaChanged, to_arrow, to_duckdb, to_pandas, to_polars
from cassandra._session.statements.prepared import PreparedStatement
from cassandra._session.statements.statement import FETCH_SIZE_UNSET, Sentinel
from cassandra._wire.arrow import ColumnTypes, column_plan, decrypt_page
from cassandra._wire.rows import decode_page

from .pages import PageRequest, PageResponse, PageSize, PageTemplate
from .plan import IN_FLIGHT_PER_SHARD, MOST_PARALLEL, ordered_table, shards_of, whole
from .reading import PageReader, ScanError
from .scan import BatchDelivery, Delivery, RowDelivery
from .select import RowOrder, row_order

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow

    from cassandra._core.codec import Bound, ResultPlan
    from cassandra._routing.schema import TableMetadata
    from cassandra._session.session import Session

Key = Sequence[Any] | Mapping[str, Any]

MOST_BUFFERED = 1_000_000  # rows of the pages that are merged at a time, by default
LEAST_PAGE = 100
MOST_ROWS = (1 << 31) - 1
PART_ROWS = 8192  # rows of a batch between two levels
SHOWN = 200  # characters of a key in a message
REFUSALS = 4  # refusals by hosts without room after which no further page is tried

SENT, AHEAD, NEEDED = range(3)  # queues of a page request


# ---- the plan of a merge


class OrderPlan:
    """Plan of a merge. Immutable; *columns*: indexes of the order's columns in the schema, and True for descending."""

    __slots__ = (
        "bounds",
        "columns",
        "keys",
        "limit",
        "max_open",
        "name",
        "order",
        "parallelism",
        "schema",
        "slice_rows",
        "target_rows",
        "template",
        "timeout",
        "types",
    )

    bounds: tuple[Bound, ...]
    columns: tuple[tuple[int, bool], ...]
    keys: tuple[Key, ...]
    limit: int | None
    max_open: int
    name: str
    order: RowOrder
    parallelism: int
    template: PageTemplate
    schema: ColumnPlan
    slice_rows: int
    target_rows: int
    timeout: float | None
    types: ColumnTypes

    def __init__(self, **values: Any) -> None:
        for name in self.__slots__:
            setattr(self, name, values.pop(name))
        assert not values


def plan_of(
    session: Session,
    prepared: PreparedStatement,
    keys: Iterable[Key],
    order_by: str | Iterable[str] | None,
    descending: bool | Sequence[bool],
    limit: int | None,
    consistency_level: int | None,
    page_size: int | None,
    parallelism: int | Literal["auto"],
    max_open: int,
    target_rows: int,
    slice_rows: int,
    timeout: Any,
    types: ColumnTypes,
) -> OrderPlan:
    """Check the arguments of :meth:`Session.scan_order` and return the plan; sends nothing."""
    session._check_open()
    if not isinstance(prepared, PreparedStatement):
        raise TypeError(f"scan_order needs a prepared SELECT, got {prepared!r}")
    if session.cluster.column_encryption_policy is not None:
        session.cluster.encryption.check(prepared)
    prepared._check()
    described = prepared._snapshot[0]
    specs = prepared._bind_plan.specs
    if described is None:
        raise DriverException("the server has not described the columns of the statement before its execution")
    if not specs:
        raise ValueError("the statement has no markers for the keys")
    keyspace, table = specs[0][:2]
    name = f"{maybe_escape_name(keyspace)}.{maybe_escape_name(table)}"
    order = row_order(prepared.query_string, name, _metadata(session, keyspace, table), order_by, descending)
    limit = None if limit is None else whole("limit", limit, MOST_ROWS)
    found = tuple(keys)
    schema = column_plan(described, session.cluster.memory_pool, types)
    columns = _columns(schema, described, order, name)
    profile = _profile(session, prepared, consistency_level)
    size = _page_size(session, prepared, page_size, len(found), limit)
    shards = sum(map(shards_of, session._pools)) or 1
    return OrderPlan(
        bounds=tuple(_bound(prepared, number, key) for number, key in enumerate(found)),
        columns=columns,
        keys=found,
        limit=limit,
        max_open=whole("max_open", max_open, MOST_ROWS, 2),
        name=name,
        order=order,
        parallelism=min(MOST_PARALLEL, shards * IN_FLIGHT_PER_SHARD)
        if parallelism == "auto"
        else whole("parallelism", parallelism, MOST_PARALLEL),
        template=PageTemplate(session, prepared, profile, PageSize(size)),
        schema=schema,
        slice_rows=whole("slice_rows", slice_rows, MOST_ROWS),
        target_rows=whole("target_rows", target_rows, MOST_ROWS),
        timeout=profile.request_timeout if isinstance(timeout, Sentinel) else request_timeout(timeout),
        types=types,
    )


def _metadata(session: Session, keyspace: str, table: str) -> TableMetadata | None:
    """Return the metadata of a table or view; None if it is not in the schema metadata."""
    known = session.cluster.metadata.keyspaces.get(keyspace)
    return None if known is None else known.tables.get(table) or known.views.get(table)  # type: ignore[return-value]


def _columns(schema: ColumnPlan, described: ResultPlan, order: RowOrder, name: str) -> tuple[tuple[int, bool], ...]:
    """Return the positions of the order's columns. ValueError for a missing column, or one without an order."""
    for column in order.names:
        if schema.names.count(column) != 1:
            raise ValueError(
                f"the statement must select {column} of {name} once, as rows are merged by it: it selects "
                f"{', '.join(schema.names)}"
            )
    found = tuple(zip(map(schema.names.index, order.names), order.descends, strict=True))
    for at, _ in found:
        codec = described.specs[at][3]
        if codec.stored is not None:
            raise ValueError(f"{schema.names[at]} is encrypted: servers order by the encrypted values")
    Merge(schema, found, 0)  # raises for columns without an order
    return found


def _profile(session: Session, prepared: PreparedStatement, consistency_level: int | None) -> Any:
    own: dict[str, Any] = {"retry_policy": FallthroughRetryPolicy()}  # the merge itself decides on retries
    level = prepared.consistency_level if consistency_level is None else consistency_level
    if level is not None:
        if level not in ConsistencyLevel.value_to_name:
            raise ValueError(f"consistency_level must be a ConsistencyLevel, got {level!r}")
        own["consistency_level"] = level
    return session._resolve_profile(EXEC_PROFILE_DEFAULT).replace(**own)


def _page_size(
    session: Session, prepared: PreparedStatement, page_size: int | None, sources: int, limit: int | None
) -> int | None:
    """Return the rows per page: the given size; otherwise the default, reduced for many sources. At most *limit*."""
    found: int | None
    if page_size is not None:
        found = whole("page_size", page_size, MOST_ROWS)
    else:
        own: Any = prepared.fetch_size
        found = session.default_fetch_size if own is FETCH_SIZE_UNSET else own
        if found and sources:
            found = min(found, max(LEAST_PAGE, MOST_BUFFERED // sources))
    if found and limit is not None:
        found = min(found, limit)
    return found or None


def _bound(prepared: PreparedStatement, number: int, key: Key) -> Bound:
    if isinstance(key, str | bytes | bytearray) or not isinstance(key, Sequence | Mapping):
        raise TypeError(f"key {number}: expected a sequence or mapping of the statement's parameters, got {key!r}")
    try:
        bound = prepared._bind_plan.bind(key, prepared.protocol_version)
    except (TypeError, ValueError, KeyError) as error:
        raise type(error)(f"key {number}: {error}") from error
    if len(bound) != len(prepared._bind_plan):
        raise ValueError(
            f"key {number} has {len(bound)} values, but the statement has {len(prepared._bind_plan)} parameters"
        )
    return bound


# ---- the merge


class Source:
    """A partition. *fed*: rows added to its merge; *again*: it is read again, without those rows."""

    __slots__ = (
        "bound",
        "is_over",
        "is_reread",
        "number",
        "page",
        "queue",
        "request",
        "response",
        "restarts",
        "rows_fed",
    )

    def __init__(self, number: int, bound: Bound) -> None:
        self.number = number
        self.bound = bound
        self.request: PageRequest | None = None
        self.response: PageResponse | None = None
        self.page = 0  # number of the requested or current page
        self.rows_fed = self.restarts = 0
        self.is_reread = self.is_over = False
        self.queue = SENT  # the queue of its page request


class Level:
    """A merge of sources, or of levels below."""

    def __init__(self, merging: Merging, below: Sequence[Source | Level]) -> None:
        plan = merging.plan
        self._merging = merging
        self.below = below
        self.merge = Merge(plan.schema, plan.columns, len(below), plan.slice_rows)
        self._rows: list[deque[Any]] | None = [deque() for _ in below] if merging.makes_rows else None

    def fill(self, wanted: int) -> bool:
        """Merge until *wanted* rows are pending. Return False if that needs pages that are not here; True, with fewer
        rows, if there are no more."""
        merge = self.merge
        while merge.advance(wanted) < wanted:
            hungry = merge.sources_without_rows()
            if not hungry:
                return True
            fed = [self._feed(index) for index in hungry]  # all of them: each requests the page that it needs
            if not any(fed):
                return False
        return True

    def take(self) -> tuple[RecordBatch, list[Any] | None] | None:
        """Return the pending rows, as a batch and, if the merging makes rows, as rows; None if there are none."""
        batch = self.merge.take()
        if batch is None:
            return None
        rows: list[Any] | None = None
        if self._rows is not None:
            rows = []
            for index, count in self.merge.origins:
                popped = self._rows[index].popleft
                rows.extend([popped() for _ in range(count)])
        return batch, rows

    def _feed(self, index: int) -> bool:
        """Add rows of the source or level at *index*. Return True if there were any, or if it is over."""
        below = self.below[index]
        if isinstance(below, Source):
            return self._merging.feed(self, index, below)
        is_all = below.fill(PART_ROWS)
        taken = below.take()
        if taken is not None:
            self.add(index, *taken)
        elif is_all:
            self.merge.end(index)
        return taken is not None or is_all

    def add(self, index: int, batch: RecordBatch, rows: Any) -> None:
        self.merge.feed(index, batch)
        if self._rows is not None:
            self._rows[index].extend(rows)


class Merging(PageReader[Any]):
    """Batches of *plan*; with a *factory*, lists of its rows instead."""

    def __init__(self, session: Session, plan: OrderPlan, factory: Callable[..., Any] | None = None) -> None:
        super().__init__(session, plan.parallelism, plan.timeout)
        self.plan = plan
        self.makes_rows = factory is not None
        self._factory = factory
        sources = [Source(number, bound) for number, bound in enumerate(plan.bounds)]
        self._unopened = deque(sources)
        self._needed_queue: deque[PageRequest] = deque()
        self._prefetch_queue: deque[PageRequest] = deque()
        self._rows_left = plan.limit  # rows up to the limit
        self._plans: tuple[Any, ColumnPlan] | None = None  # result plan and column plan of the page before
        self._level: Level | None = self._levels(sources)
        self.closed = False

    def _levels(self, sources: Sequence[Source | Level]) -> Level:
        max_sources = self.plan.max_open
        while len(sources) > max_sources:
            sources = [Level(self, sources[at : at + max_sources]) for at in range(0, len(sources), max_sources)]
        return Level(self, sources)

    # ---- batches

    @property
    def is_over(self) -> bool:
        return self.closed or (self._level is None and not self._events)

    def _next_event(self) -> Any:
        event = super()._next_event()
        if event is None and self._level is None:
            self.close()
        return event

    def close(self) -> None:
        """Give up the pages in flight, and drop pending batches. May be called again."""
        if not self.closed:
            self.closed = True
            self._stop()
            self._events.clear()

    def _stop(self) -> None:
        """Stop requesting and reading pages."""
        self._fetcher.close()
        for waiting in (self._unopened, self._needed_queue, self._prefetch_queue):
            waiting.clear()
        self._level = None

    # ---- one step

    def _step(self) -> None:
        """Process outcomes, merge the pages that are here, request the pages needed, and return merged rows: a whole
        batch, or, instead of waiting, a part of one."""
        level = self._level
        if level is None:
            return
        for source, outcome in self._outcomes():
            if type(outcome) is PageResponse:
                source.response = outcome
                self._held_bytes += outcome.page.nbytes
            else:
                self._on_failure(source, source.request, outcome)
        wanted = self.plan.target_rows if self._rows_left is None else min(self.plan.target_rows, self._rows_left)
        has_all = level.fill(wanted)
        pending = level.merge.pending
        if not has_all and self._fetcher.has_news:  # the next step will add to the batch
            self._send()
            return
        if self._rows_left is not None:
            self._rows_left -= pending
        ends = (has_all and pending < wanted) or self._rows_left == 0
        if not ends:
            self._send()
        while (taken := level.take()) is not None:
            self._events.append(taken[0] if taken[1] is None else taken[1])
        if ends:
            self._stop()

    def feed(self, level: Level, index: int, source: Source) -> bool:
        """Add the next page of *source* to the merge, and request the one after it. If the page is not here, mark it as
        needed, and return False."""
        response = source.response
        if response is None:
            if source.is_over:
                level.merge.end(index)
                return True
            self._request_next_page(source)
            return False
        source.response = None
        self._held_bytes -= response.page.nbytes
        self.pages += 1
        try:
            batch, rows = self._decode_page(source, response)
            if source.is_reread and len(batch):
                known = level.merge.known(index, batch)
                batch = batch.slice(known)
                source.is_reread = not len(batch)
                rows = rows[known:] if rows is not None else None
            if len(batch):
                level.add(index, batch, rows)
        except (DriverException, ValueError) as error:
            raise self._error(source, error) from error
        source.page += 1
        source.rows_fed += len(batch)
        is_limit_reached = self.plan.limit is not None and source.rows_fed >= self.plan.limit
        if response.paging_state is None or is_limit_reached:
            source.is_over = True
            level.merge.end(index)
        else:
            source.request = PageRequest(
                source, self.plan.template, source.bound, source.bound.token, response.paging_state
            )
            self._queue(source.request, AHEAD if len(batch) else NEEDED)
        return source.is_over or len(batch) > 0

    def _decode_page(self, source: Source, response: PageResponse) -> tuple[RecordBatch, list[Any] | None]:
        page = response.page
        if self._plans is None or self._plans[0] is not page.plan:
            schema = column_plan(page.plan, self._pool, self.plan.types)
            if schema != self.plan.schema:
                raise SchemaChanged(f"the columns were {self.plan.schema!r} and are {page.plan!r}", None)
            self._plans = (page.plan, schema)
        batch = decode(self._plans[1], decrypt_page(page))
        if self._factory is None:
            return batch, None
        rows = list(decode_page(page, self._factory))
        if len(rows) != len(batch):
            raise DriverException(
                f"rows() needs a row factory that makes one row for each; {self._factory!r} made {len(rows)} rows for "
                f"{len(batch)}"
            )
        return batch, rows

    # ---- requests

    def _request_next_page(self, source: Source) -> None:
        """Mark the next page of *source* as needed: the merge cannot continue without it."""
        if source.queue == AHEAD and source.request is not None:
            self._queue(source.request, NEEDED)

    def _queue(self, request: PageRequest, queue: int) -> None:
        """Queue *request* to be sent; a page may be in both queues, and is sent from the first one served."""
        request.owner.queue = queue
        (self._needed_queue if queue == NEEDED else self._prefetch_queue).append(request)

    def _send(self) -> None:
        for request in self._take_due():
            self._queue(request, NEEDED)
        self._send_queued(self._needed_queue)
        while self._unopened and not self._needed_queue and self._fetcher.in_flight < self.plan.parallelism:
            self._begin(self._unopened.popleft())
            self._send_queued(self._needed_queue)
        if not self._unopened and not self._needed_queue and self._held_bytes <= self._budget:
            self._send_queued(self._prefetch_queue)
        self.most_in_flight = max(self.most_in_flight, self._fetcher.in_flight)

    def _begin(self, source: Source) -> None:
        """Read *source* from its first row."""
        source.request = PageRequest(source, self.plan.template, source.bound, source.bound.token, None)
        self._queue(source.request, NEEDED)

    def _send_queued(self, queue: deque[PageRequest]) -> None:
        refusals = 0
        for _ in range(len(queue)):
            if self._fetcher.in_flight >= self.plan.parallelism or refusals == REFUSALS:
                return
            request = queue.popleft()
            source = request.owner
            if source.request is not request or source.queue == SENT:
                continue
            sent = self._fetcher.send(request)
            if sent is False:
                queue.append(request)
                refusals += 1
                continue
            source.queue = SENT
            if sent is not True:
                self._on_failure(source, request, sent)

    # ---- errors

    def _on_failure(self, source: Source, request: PageRequest, outcome: object) -> None:
        decision = request.failed(outcome)
        self._record_failure(request, decision)
        if self._may_restart(source, request, decision):
            self._restart_source(source, decision.error)
        elif not self._send_later(request, decision):
            raise self._error(source, decision.error)

    def _restart_source(self, source: Source, error: Exception) -> None:
        """Read *source* again from its beginning, as the server does not continue from the end of the last page; skip
        all rows up to the last merged one. That requires an order in which no two rows of a source are equal."""
        if not self.plan.order.is_exact:
            raise self._error(source, error)
        source.restarts += 1
        source.is_reread = True
        self._begin(source)

    def _error(self, source: Source | None, cause: Exception) -> ScanError:
        plan = self.plan
        if source is None:
            error = ScanError(f"The merge of partitions of {plan.name} has failed: {cause}")
            return self._annotate(error, None, cause)
        key = repr(plan.keys[source.number])
        shown = key if len(key) <= SHOWN else f"{key[:SHOWN]}..."
        where = f"page {source.page} of key {source.number}, {shown}"
        error = ScanError(f"The merge of partitions of {plan.name} has failed: {where}: {cause}", page=source.page)
        error.key = plan.keys[source.number]
        return self._annotate(error, source.request, cause)


# ---- ordered scans


@public("cassandra.scan")
@rich_display(ordered_table)
class OrderedScan:
    """Rows of many partitions, merged; made by :meth:`Session.scan_order`.

    Iterate it (``for``, ``async for``) for its record batches, or use one of the methods below; each reads the
    partitions from the beginning. Each iteration belongs to one thread or task at a time.

    .. versionadded:: 4.0
    """

    def __init__(self, session: Session, plan: OrderPlan) -> None:
        self._session = session
        self._plan = plan

    def __repr__(self) -> str:
        return f"<OrderedScan of {len(self._plan.keys)} partitions of {self._plan.name} by {self._plan.order}>"

    def batches(self) -> OrderedBatches:
        """Return the record batches, for ``for`` and ``async for``; close it, or use it as a context manager, unless it
        is read to the end. A batch has up to *target_rows* rows; fewer while the next ones are in flight, and if many
        rows of one partition follow each other: those are a slice of their page. Raises
        :exc:`~cassandra.scan.ScanError`, whose ``key`` is that of the partition."""
        return OrderedBatches(self._begin)

    def rows(self) -> OrderedRows:
        """Return the rows, one by one, made by the session's row factory: for ``for`` and ``async for``."""
        return OrderedRows(lambda: self._begin(self._session._resolve_profile(EXEC_PROFILE_DEFAULT).row_factory))

    def _begin(self, factory: Callable[..., Any] | None = None) -> Merging:
        if self._session._on_io_thread():
            raise DriverException("partitions cannot be merged on the driver's I/O thread (in a callback)")
        self._session._check_open()
        return Merging(self._session, self._plan, factory)

    def __iter__(self) -> Iterator[RecordBatch]:
        return self.batches()

    def __aiter__(self) -> AsyncIterator[RecordBatch]:
        return self.batches()

    def __arrow_c_schema__(self) -> Any:
        return self._plan.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export all batches. Pages are fetched by the thread that reads them."""
        batches = self.batches()
        return stream(self._plan.schema, lambda: next(batches, None))

    def to_arrow(self) -> pyarrow.Table:
        """Return a ``pyarrow.Table`` of all rows."""
        return to_arrow(self._read_all())

    def to_polars(self) -> polars.DataFrame:
        """Return a ``polars.DataFrame`` of all rows."""
        return to_polars(self._read_all())  # type: ignore[no-any-return]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a ``pandas.DataFrame`` of all rows."""
        return to_pandas(self._read_all())

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Return a DuckDB relation over all rows; see :meth:`Scan.to_duckdb`."""
        return to_duckdb(self._read_all(), connection)  # type: ignore[no-any-return]

    def _read_all(self) -> ArrowBatches:
        with self.batches() as batches:
            return ArrowBatches(self._plan.schema, list(batches))


class _Merged(Delivery):
    """Delivery of the results of a merge, which starts with the first request."""

    def __init__(self, begin: Callable[[], Merging]) -> None:
        self._begin = begin

    def _next(self) -> Any:
        if self._closed:
            return None
        if self._reader is None:
            self._reader = self._begin()
        return self._reader.next()

    async def _next_async(self) -> Any:
        if self._closed:
            return None
        if self._reader is None:
            self._reader = self._begin()
        return await self._reader.next_async()

    def __del__(self) -> None:
        self.close()  # a merging and its levels form a reference cycle, which only the garbage collector would free


@public("cassandra.scan")
class OrderedBatches(_Merged, BatchDelivery):
    """The record batches of an ordered scan; made by :meth:`OrderedScan.batches`."""


@public("cassandra.scan")
class OrderedRows(_Merged, RowDelivery):
    """The rows of an ordered scan; made by :meth:`OrderedScan.rows`."""
