"""OrderedScan: the rows of many partitions in the order of their clustering key (cassandra.scan).

L5. Result of ``session.scan_order``. Nothing is sent before rows are requested; each iteration or conversion reads all
partitions from the beginning.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.errors import DriverException
from cassandra._base.names import maybe_escape_name
from cassandra._base.objects import public
from cassandra._base.versions import request_timeout
from cassandra._core.columns import ColumnPlan, Merge, RecordBatch, stream
from cassandra._routing.policies import FallthroughRetryPolicy
from cassandra._wire.arrow import ColumnTypes, column_plan

from ..cluster.profiles import EXEC_PROFILE_DEFAULT
from ..request.columns import ArrowBatches, to_arrow, to_polars
from ..statements.prepared import PreparedStatement
from ..statements.sentinels import FETCH_SIZE_UNSET, Sentinel
from .delivery import BatchDelivery, Delivery, RowDelivery
from .merging import Merging
from .ordering import RowOrder, row_order
from .page_size import PageSize
from .plan import IN_FLIGHT_PER_SHARD, MOST_PARALLEL, shards_of
from .question import Question

if TYPE_CHECKING:
    from cassandra._core.codec import Bound, ResultPlan
    from cassandra._routing.schema import TableMetadata

    from ..session import Session

Key = Sequence[Any] | Mapping[str, Any]

MOST_BUFFERED = 1_000_000  # rows of the pages that are merged at a time, by default
LEAST_PAGE = 100
MOST_ROWS = (1 << 31) - 1


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
        "question",
        "schema",
        "slice_rows",
        "target_rows",
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
    question: Question
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
    limit = None if limit is None else _whole("limit", limit, MOST_ROWS)
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
        max_open=_whole("max_open", max_open, MOST_ROWS, 2),
        name=name,
        order=order,
        parallelism=min(MOST_PARALLEL, shards * IN_FLIGHT_PER_SHARD)
        if parallelism == "auto"
        else _whole("parallelism", parallelism, MOST_PARALLEL),
        question=Question(session, prepared, profile, PageSize(size)),
        schema=schema,
        slice_rows=_whole("slice_rows", slice_rows, MOST_ROWS),
        target_rows=_whole("target_rows", target_rows, MOST_ROWS),
        timeout=profile.request_timeout if isinstance(timeout, Sentinel) else request_timeout(timeout),
        types=types,
    )


def _whole(name: str, value: Any, most: int, least: int = 1) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} must be an int from {least} to {most}, got {value!r}")
    return value


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
        found = _whole("page_size", page_size, MOST_ROWS)
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


@public("cassandra.scan")
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

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table`` of all rows."""
        return to_arrow(self._read_all())

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame`` of all rows."""
        return to_polars(self._read_all())

    def _read_all(self) -> ArrowBatches:
        with self.batches() as batches:
            return ArrowBatches(self._plan.schema, list(batches))


class _Merged(Delivery):
    """Delivery of the results of a merge, which starts with the first request."""

    def __init__(self, begin: Callable[[], Merging]) -> None:
        self._begin = begin
        self._merging: Merging | None = None
        self._closed = False

    def _next(self) -> Any:
        if self._closed:
            return None
        if self._merging is None:
            self._merging = self._begin()
        return self._merging.next()

    async def _next_async(self) -> Any:
        if self._closed:
            return None
        if self._merging is None:
            self._merging = self._begin()
        return await self._merging.next_async()

    def close(self) -> None:
        self._closed = True
        if self._merging is not None:
            self._merging.close()

    def __del__(self) -> None:
        self.close()  # a merging and its levels form a reference cycle, which only the garbage collector would free


@public("cassandra.scan")
class OrderedBatches(_Merged, BatchDelivery):
    """The record batches of an ordered scan; made by :meth:`OrderedScan.batches`."""


@public("cassandra.scan")
class OrderedRows(_Merged, RowDelivery):
    """The rows of an ordered scan; made by :meth:`OrderedScan.rows`."""
