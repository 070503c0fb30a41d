"""Options of a scan, checked before any request, and its plan: the statement and the ranges (L6).

:class:`Options` is a call of ``session.scan``; a :class:`ScanPlan` is made of it when reading begins, from the ring and
the tablets at that time, and does not change. An :class:`Explanation` describes it for users (cassandra.scan).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.display import Table, bracketed, rich_display
from cassandra._base.errors import UnsupportedOperation
from cassandra._base.names import maybe_escape_name
from cassandra._base.objects import public
from cassandra._base.versions import request_timeout
from cassandra._core.columns import ColumnPlan
from cassandra._ingest.target import TableName
from cassandra._routing.policies import FallthroughRetryPolicy
from cassandra._routing.tokens import FULL_RING, TokenRange, merge_ranges
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT
from cassandra._session.statements.prepared import PreparedStatement
from cassandra._session.statements.statement import Sentinel
from cassandra._wire.arrow import ColumnTypes

from .checkpoint import RING
from .pages import GROWTH
from .select import Condition, Select, condition_of, refuse_aggregates, select_text, words_of

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._session.session import Session

    from .ordered import OrderedScan
    from .scan import Scan


OnError = Literal["retry", "skip"]

IN_FLIGHT_PER_SHARD = 3  # keeps a shard busy while a response is transferred
RANGES_OF_SHARD = 24  # small ranges at the end
SHARDS_OF_OTHERS = 4  # for a node without shards: it has enough threads for so many
RANGES_OF_OTHERS = 48  # all threads of such a node share the ranges: a large last range delays none of them
MOST_PARALLEL = 1024
MOST_RANGES = 1 << 20
UNKNOWN = "unknown"  # name of a missing first replica


class ScanPlan:
    """Plan of reading a table. Immutable.

    ``cql`` is the statement of a range, bound with ``values``, its start and its end; ``first_cql`` that of the range
    that begins at -2**63, without the start (the same as ``cql`` if the caller has prepared the tokens). Pages have
    ``page_size`` rows at first, and up to ``largest_page`` if rows are narrow. ``ranges`` are ascending and disjoint.
    ``schema`` may be unknown until the first page.
    """

    __slots__ = (
        "columns",
        "consistency_level",
        "cql",
        "first_cql",
        "keyspace",
        "largest_page",
        "on_error",
        "page_size",
        "parallelism",
        "ranges",
        "schema",
        "table",
        "target_rows",
        "timeout",
        "types",
        "values",
    )

    keyspace: str
    table: str
    columns: tuple[str, ...]
    cql: str
    first_cql: str
    values: tuple[Any, ...]
    ranges: tuple[TokenRange, ...]
    schema: ColumnPlan | None
    parallelism: int
    target_rows: int
    consistency_level: int
    on_error: OnError
    page_size: int | None
    largest_page: int | None
    timeout: float | None
    types: ColumnTypes

    def __init__(self, **values: Any) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, values.pop(name))
        assert not values

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a plan is immutable: {name} cannot be set")

    def replace(self, **changes: Any) -> ScanPlan:
        """Return a copy with other values."""
        return ScanPlan(**{name: getattr(self, name) for name in self.__slots__} | changes)

    def __repr__(self) -> str:
        return f"<ScanPlan of {self.keyspace}.{self.table}: {len(self.ranges)} ranges, {self.parallelism} at a time>"


class Options:
    """The arguments of one call, for *session*: see :meth:`Session.scan`."""

    def __init__(
        self,
        session: Session,
        table: str | PreparedStatement,
        columns: Iterable[str] | None,
        where: str | tuple[str, Sequence[Any]] | None,
        token_range: TokenRange | Iterable[TokenRange] | None,
        splits: int | Literal["auto"],
        parallelism: int | Literal["auto"],
        target_rows: int,
        consistency_level: int,
        on_error: OnError,
        bypass_cache: bool,
        page_size: int | None,
        timeout: Any,
        filter: Any,
        pushdown: Any,
        progress: Any,
        resume: Any,
        types: ColumnTypes,
    ) -> None:
        session._check_open()
        self.session = session
        if on_error not in ("retry", "skip"):
            raise ValueError(f'on_error must be "retry" or "skip", got {on_error!r}')
        if pushdown not in ("auto", "always", "never"):
            raise ValueError(f'pushdown must be "auto", "always" or "never", got {pushdown!r}')
        if consistency_level not in ConsistencyLevel.value_to_name:
            raise ValueError(f"consistency_level must be a ConsistencyLevel, got {consistency_level!r}")
        self.splits = _count("splits", splits, MOST_RANGES)
        self.parallelism = _count("parallelism", parallelism, MOST_PARALLEL)
        self.target_rows = whole("target_rows", target_rows, 1 << 31)
        self.page_size = None if page_size is None else whole("page_size", page_size, (1 << 31) - 1)
        self.part = _part_of(token_range)
        self.on_error: OnError = on_error
        self.filter = filter
        self.pushdown = pushdown
        self.progress = progress
        self.resume = resume
        self.types = types
        own = {"consistency_level": consistency_level, "retry_policy": FallthroughRetryPolicy()}
        self.profile = session._resolve_profile(EXEC_PROFILE_DEFAULT).replace(**own)
        self.timeout: float | None = (
            self.profile.request_timeout if isinstance(timeout, Sentinel) else request_timeout(timeout)
        )
        self.values: tuple[Any, ...] = ()
        self.prepared: PreparedStatement | None = None
        self._check_server(bypass_cache)
        if columns is not None and not isinstance(columns, str):
            columns = tuple(columns)
        if isinstance(table, PreparedStatement):
            self._read_prepared(table, columns, where, bypass_cache)
        else:
            self._compose(table, columns, where, bypass_cache)
        self._columns, self._where, self._bypass = columns, where, bypass_cache
        self._is_prepared = isinstance(table, PreparedStatement)

    @property
    def asked(self) -> dict[str, Any]:
        """Arguments for another session to read the same rows; the table, or ``prepared``, the statement."""
        of_table = {"table": str(self.name), "columns": self._columns, "where": self._where}
        statement = {"prepared": self.cql} if self._is_prepared else of_table
        return {
            **statement,
            "parallelism": self.parallelism or "auto",
            "target_rows": self.target_rows,
            "consistency_level": self.profile.consistency_level,
            "on_error": self.on_error,
            "bypass_cache": self._bypass,
            "page_size": self.page_size,
            "timeout": self.timeout,
            "filter": self.filter,
            "pushdown": self.pushdown,
            **self.types._asdict(),
        }

    def _check_server(self, bypass_cache: bool) -> None:
        hosts = self.session.cluster.metadata.all_hosts()
        if bypass_cache and not any(host.sharding_info is not None for host in hosts):
            raise UnsupportedOperation("bypass_cache=True needs ScyllaDB: other servers do not support BYPASS CACHE")

    # ---- the statement

    def _compose(self, table: str, columns: Any, where: Any, bypass_cache: bool) -> None:
        self.name = TableName(table, self.session.keyspace)
        found = self._metadata()
        selected = _selected(self.name, found, columns)
        condition = self._condition(where)
        self._texts(selected, condition, False, bypass_cache)

    def _read_prepared(self, prepared: PreparedStatement, columns: Any, where: Any, bypass_cache: bool) -> None:
        if columns is not None or where is not None:
            raise ValueError("columns= and where= need a table, and cannot be combined with a prepared statement")
        if self.session.cluster.column_encryption_policy is not None:
            self.session.cluster.encryption.check(prepared)
        prepared._check()
        select = Select(prepared.query_string)
        specs = prepared._bind_plan.specs
        plan = prepared._snapshot[0]
        keyspace, table = select.table
        if specs or plan is not None:
            keyspace = (specs or plan.specs)[0][0]  # type: ignore[union-attr]
        self.name = TableName(maybe_escape_name(table), keyspace or prepared._home)
        if select.distinct:
            _check_distinct(self._metadata(), select.names)
        condition = select.condition
        if condition.markers != (2 if condition.token_markers else 0):
            raise ValueError(
                "a prepared statement for a scan must have markers for the two tokens, or none: scan the table, "
                'with where=("... = ?", [value]), for other values'
            )
        if condition.token_markers:
            if bypass_cache and not condition.bypass:
                raise ValueError("bypass_cache=True: the prepared statement must contain BYPASS CACHE itself")
            self.prepared = prepared
            self.cql = self.first_cql = prepared.query_string
        else:
            self._texts(select.selected, condition, select.distinct, bypass_cache)

    def select(self, selected: str) -> None:
        """Select *selected* instead of the requested columns, from the same rows."""
        self._texts(selected, self.condition, self.distinct, self._bypass)

    def _texts(self, selected: str, condition: Condition, distinct: bool, bypass: bool) -> None:
        self.selected, self.condition, self.distinct = selected, condition, distinct
        key = [column.name for column in self._metadata().partition_key]
        name = str(self.name)
        self.cql, self.first_cql = (
            select_text(name, selected, key, condition, distinct=distinct, bypass=bypass, lower=lower)
            for lower in (True, False)
        )

    def _condition(self, where: Any) -> Condition:
        if where is None:
            return condition_of("")
        text, values = (where, ()) if isinstance(where, str) else where
        condition = condition_of(text)
        self.values = tuple(values)
        if condition.markers != len(self.values):
            raise ValueError(f"where= has {condition.markers} markers and {len(self.values)} values")
        return condition

    def _metadata(self) -> Any:
        """Return the metadata of the table or view. ValueError if there is none."""
        metadata = self.session.cluster.metadata
        keyspace = metadata.keyspaces.get(self.name.keyspace)
        found = None
        if keyspace is not None:
            found = keyspace.tables.get(self.name.table) or keyspace.views.get(self.name.table)
        if found is None:
            hint = "" if metadata.keyspaces else ": schema metadata are disabled (schema_metadata_enabled=False)"
            raise ValueError(f"there is no table {self.name}{hint}")
        return found

    # ---- the ranges

    def plan(self, ranges: Iterable[TokenRange] | None = None) -> ScanPlan:
        """Return the plan, from the current topology; *ranges* replaces the ranges of the scan."""
        shards = sum(map(shards_of, self.session._pools)) or 1
        parallelism = self.parallelism or min(MOST_PARALLEL, shards * IN_FLIGHT_PER_SHARD)
        wanted = self.splits or min(MOST_RANGES, sum(map(ranges_of, self.session._pools)) or RANGES_OF_OTHERS)
        chosen = self.ranges(wanted) if ranges is None else ranges
        page_size = (self.session.default_fetch_size or None) if self.page_size is None else self.page_size
        return ScanPlan(
            keyspace=self.name.keyspace,
            table=self.name.table,
            columns=(),  # until the statement is prepared
            cql=self.cql,
            first_cql=self.first_cql,
            values=self.values,
            ranges=tuple(sorted(chosen)),
            schema=None,
            parallelism=parallelism,
            target_rows=self.target_rows,
            consistency_level=self.profile.consistency_level,
            on_error=self.on_error,
            page_size=page_size,
            largest_page=page_size if page_size is None or self.page_size is not None else page_size * GROWTH,
            timeout=self.timeout,
            types=self.types,
        )

    def ranges(self, wanted: int) -> list[TokenRange]:
        """Return about *wanted* ranges: tablets and parts of the ring, split if there are fewer, and merged only if
        there are more than *splits*."""
        known = self.session.cluster.metadata.token_ranges(self.name.keyspace, self.name.table)
        parts = [cut for one in known for part in self.part if (cut := one.intersect(part)) is not None]
        if self.splits and len(parts) > self.splits:
            parts = merge_ranges(parts)
        whole = sum(part.size for part in self.part)
        wanted = max(1, ceil(wanted * whole / FULL_RING.size)) if not self.splits else wanted
        if len(parts) >= wanted:
            return parts
        pieces, before = [], 0
        for part in parts:  # in total as many as wanted, as each part gets at least one
            behind = before + part.size
            pieces += part.split(max(1, behind * wanted // whole - before * wanted // whole))
            before = behind
        return pieces


def shards_of(host: Host) -> int:
    sharding = host.sharding_info
    return SHARDS_OF_OTHERS if sharding is None else int(sharding.shards_count)


def ranges_of(host: Host) -> int:
    sharding = host.sharding_info
    return RANGES_OF_OTHERS if sharding is None else int(sharding.shards_count) * RANGES_OF_SHARD


def _count(name: str, value: Any, most: int) -> int | None:
    return None if value == "auto" else whole(name, value, most)


def whole(name: str, value: Any, most: int, least: int = 1) -> int:
    """Return *value*; raise ValueError unless it is an int from *least* to *most*."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} must be an int from {least} to {most}, got {value!r}")
    return value


def _part_of(given: TokenRange | Iterable[TokenRange] | None) -> list[TokenRange]:
    """Return the requested parts of the ring, ascending."""
    if given is None:
        return [FULL_RING]
    if isinstance(given, TokenRange):
        return [given]
    found = list(given)
    if not all(isinstance(one, TokenRange) for one in found):
        raise TypeError(f"token_range must be a TokenRange or a list of them, got {given!r}")
    return merge_ranges(found)


def _selected(name: TableName, table: Any, columns: Iterable[str] | None) -> str:
    """Return the selectors. ValueError for a column that is not in the table. Calls (``writetime(v) AS at``) are not
    changed."""
    if columns is None:
        return ", ".join(map(maybe_escape_name, table.columns))
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got {columns!r}")
    found, unknown = [], []
    for column in columns:
        if column in table.columns:
            found.append(maybe_escape_name(column))
            continue
        words = words_of(column)
        if len(words) > 2 and words[0].kind == "word" and words[1].text == "(":
            refuse_aggregates(words)
            found.append(column)
        else:
            unknown.append(column)
    if unknown:
        raise ValueError(f"{name} has no columns {', '.join(unknown)}; it has {', '.join(table.columns)}")
    if not found:
        raise ValueError("columns must name at least one column")
    return ", ".join(found)


def _check_distinct(table: Any, names: Sequence[str]) -> None:
    key = {column.name for column in table.partition_key}
    others = [name for name in names if name not in key and not getattr(table.columns.get(name), "is_static", False)]
    if others:
        raise ValueError(f"SELECT DISTINCT supports partition key columns and static ones only, got {others[0]}")


# ---- tables of scans and their explanations for ``repr`` and ``_repr_html_``
#
# A scan is shown by its columns, as the metadata of the cluster has them now: its rows are on the servers, and nothing
# is sent. Any thread.


CHARACTERS = 1000  # of a statement
TYPE_CHARACTERS = 100
MOST_DESCRIBED = 50  # columns, hosts
MOST_IN_TITLE = 8  # columns
TO_READ = "rows are read by rows(), batches(), to_arrow(), to_pandas(), to_polars(), to_duckdb()"

_COLUMNS = (("column", ""), ("type", ""))


def scan_text(scan: Scan) -> str:
    columns = _columns(scan)
    shown = [f"{name} {kind}".rstrip() for name, kind in islice(columns, MOST_IN_TITLE)]
    if len(columns) > len(shown):
        shown.append(f"{len(columns) - len(shown)} more columns")
    return bracketed(f"Scan of {scan._options.name}: {', '.join(shown)}")


def scan_table(scan: Scan) -> Table:
    notes = (scan._options.cql, TO_READ)
    title = f"Scan of {scan._options.name}"
    return Table(title, _COLUMNS, _columns(scan), notes, TYPE_CHARACTERS, MOST_DESCRIBED)


def _columns(scan: Scan) -> list[tuple[str, str]]:
    """Return names and types of the selected columns; a call has no type before it is prepared."""
    options = scan._options
    if options.prepared is not None and options.prepared._snapshot[0] is not None:
        plan = options.prepared._snapshot[0]
        return [(name, codec.cql()) for name, codec in zip(plan.names, plan.codecs, strict=True)]
    try:
        known = options._metadata().columns
    except ValueError:  # the table was dropped, or there are no schema metadata
        known = {}
    names = list(known) if options._columns is None and not options._is_prepared else list(options._columns or ())
    if not names:
        return [(options.selected, "")]
    return [(name, known[name].cql_type if name in known else "") for name in names]


def ordered_table(scan: OrderedScan) -> Table:
    columns = [(name, kind) for name, _, kind, _ in scan._plan.schema.fields]
    return Table(repr(scan).strip("<>"), _COLUMNS, columns, (TO_READ,), TYPE_CHARACTERS, MOST_DESCRIBED)


def explanation_tables(explanation: Explanation) -> list[Table]:
    """Return the plan, and the hosts that are first replicas of its ranges."""
    plan = explanation.plan
    lines: list[tuple[str, Any]] = [("statement", explanation.cql)]
    lines += [(f"value {at}", value) for at, value in enumerate(explanation.values, 1)]
    lines += [
        ("ranges", f"{len(explanation.ranges):,}, {explanation.parallelism} at a time"),
        ("consistency level", ConsistencyLevel.value_to_name[plan.consistency_level]),
        ("rows of a page", plan.page_size),
        ("done before", f"{100 * explanation.done:.1f} % of the ring" if explanation.done else None),
        ("filter, by the client", explanation.filter),
        ("reducer", explanation.reducer),
        ("push-down", None if explanation.pushdown is None else "yes" if explanation.pushdown else "no"),
        ("reason", explanation.why),
    ]
    shown = [(name, value) for name, value in lines if value is not None]
    title = f"Scan of {plan.keyspace}.{plan.table}"
    replicas = [
        ("unknown" if host is None else str(host.endpoint), ranges, f"{100 * share:.1f} %")
        for host, (ranges, share) in explanation.replicas().items()
    ]
    columns = (("first replica", ""), ("ranges", ""), ("share of the ring", ""))
    return [
        Table(title, (("", ""), ("", "")), shown, (), CHARACTERS, MOST_DESCRIBED),
        Table("First replicas", columns, replicas, (), TYPE_CHARACTERS, MOST_DESCRIBED),
    ]


# ---- description for users


@public("cassandra.scan")
@rich_display(explanation_tables)
class Explanation:
    """Description of a scan plan; made by :meth:`Scan.explain`. ``str()`` returns a text for users.

    ``cql`` is the statement of a range, ``values`` are bound to its markers before the tokens; ``ranges`` are the
    ranges still to read, each with its replicas, ``parallelism`` is the number read concurrently. ``pushdown`` is True
    if the servers fold them, ``why`` is the reason; both are None if nothing is folded. ``done`` is the share of the
    ring that a checkpoint covers.
    """

    __slots__ = ("cql", "done", "filter", "plan", "pushdown", "ranges", "reducer", "values", "why")

    def __init__(
        self,
        plan: ScanPlan,
        ranges: tuple[TokenRange, ...],
        *,
        reducer: str | None = None,
        filter: str | None = None,
        pushdown: bool | None = None,
        why: str | None = None,
        done: float = 0.0,
    ) -> None:
        self.plan = plan  #: The plan of the scan.
        self.cql = plan.cql  #: Statement of a range.
        self.values = plan.values  #: Values of its markers before the tokens.
        self.ranges = ranges  #: Ranges still to read.
        self.reducer = reducer  #: The reducer; None without.
        self.filter = filter  #: The condition that the client evaluates; None without.
        self.pushdown = pushdown  #: True if the servers fold; None if nothing is folded.
        self.why = why  #: The reason for *pushdown*.
        self.done = done  #: Share of the ring that a checkpoint covers.

    @property
    def parallelism(self) -> int:
        """Number of ranges that are read at a time."""
        return self.plan.parallelism

    def replicas(self) -> dict[Host | None, tuple[int, float]]:
        """Return by host the number of ranges of which it is the first replica, and their share of the ring. The key
        None stands for ranges without known replicas."""
        count: Counter[Host | None] = Counter()
        size: Counter[Host | None] = Counter()
        for one in self.ranges:
            first = one.replicas[0] if one.replicas else None
            count[first] += 1
            size[first] += one.size
        return {host: (count[host], size[host] / RING) for host in sorted(count, key=_address)}

    def __str__(self) -> str:
        plan = self.plan
        level = ConsistencyLevel.value_to_name[plan.consistency_level]
        share = sum(one.size for one in self.ranges) / RING
        lines = {"statement": self.cql}
        if self.values:
            lines["values"] = ", ".join(map(repr, self.values))
        lines["ranges"] = f"{len(self.ranges):,}, {100 * share:.1f} % of the ring, {self.parallelism} at a time"
        if self.done:
            lines["resumes"] = f"{100 * self.done:.1f} % of the ring are done"
        pages = "the servers' size" if plan.page_size is None else f"{plan.page_size:,} rows"
        if plan.largest_page != plan.page_size:
            pages += f", up to {plan.largest_page:,} where rows are narrow"
        lines["pages"] = f"of {pages}, at {level}, batches of {plan.target_rows:,} rows"
        if self.filter is not None:
            lines["filter"] = f"{self.filter}, by the client"
        if self.reducer is not None:
            lines["reducer"] = self.reducer
        if self.why is not None:
            lines["push-down"] = f"{'yes' if self.pushdown else 'no'}: {self.why}"
        text = "\n".join(f"  {name:<11}{value}" for name, value in lines.items())
        where = "\n".join(
            f"    {_address(host):<20}{ranges:>6,} ranges {100 * part:>6.1f} %"
            for host, (ranges, part) in self.replicas().items()
        )
        return f"Scan of {plan.keyspace}.{plan.table}\n{text}\n  first replicas\n{where}"

    def __repr__(self) -> str:
        return f"<Explanation: {len(self.ranges)} ranges of {self.plan.keyspace}.{self.plan.table}>"


def _address(host: Any) -> str:
    return UNKNOWN if host is None else str(host.endpoint)
