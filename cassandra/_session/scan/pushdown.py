"""What of a fold the servers do themselves (L5).

A server folds ``count(*)``, ``sum``, ``min`` and ``max`` of a range where the rows lie, and answers with one row. That
is asked of it where the result is the very same: of the built-in reducers, without a filter of the client's, and of
sums only where they cannot overflow: the server adds up ``int`` in an int, silently, so that columns are cast to a type
in which that cannot happen. Sums of floating-point numbers are the client's, as servers add them up in their own way. A
server that does not know a function says so when the statement is prepared, and then the client folds.

The row of a range is a batch of one row, whose columns are folded by reducers of the same kind. Every statement has
``count(*)`` for its first column, by which progress and checkpoints know how many rows there were.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from copy import copy
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from cassandra._base.errors import UnsupportedOperation
from cassandra._base.names import maybe_escape_name
from cassandra._wire.arrow import ColumnTypes

from .aggregates import Count, Max, Mean, Min, MinMax, Sum
from .protocol import MapReducer
from .select import words_of
from .values import Field

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan, RecordBatch
    from cassandra._routing.ring.ranges import TokenRange

    from .plan import Options
    from .scan import Scan

Mode = Literal["auto", "always", "never"]

#: What whole numbers are added up in: rows of a range are fewer than 2**32.
_WIDER = {"tinyint": "bigint", "smallint": "bigint", "int": "bigint", "bigint": "varint"}
_EXACT = ("varint", "decimal")
#: Compared alike by servers and by kernels.
_ORDERED = (*_WIDER, *_EXACT, "timestamp", "date", "time", "text", "ascii", "float", "double")
_ROWS, _COUNT, _SUM, _MIN, _MAX = (f"fastcql_{name}" for name in ("rows", "count", "sum", "min", "max"))


class Pushdown:
    """Whether servers fold: what they select then, the reducer of what they answer with; and why, or why not."""

    def __init__(self, why: str, reducer: MapReducer | None = None, *aggregates: str) -> None:
        self.why = why
        self.reducer = reducer
        self.selected = None if reducer is None else ", ".join((f"count(*) AS {_ROWS}", *aggregates))

    @property
    def rows_of(self) -> Callable[[RecordBatch], int]:
        """How many rows a batch stands for."""
        return len if self.selected is None else _counted

    def scan(self, scan: Scan) -> Scan:
        """The scan that servers fold in the place of *scan*."""
        assert self.selected is not None
        options = copy(scan._options)
        options.select(self.selected)
        options.types = ColumnTypes()
        return type(scan)(options)


def _counted(batch: RecordBatch) -> int:
    values = batch.column(0)[1]
    assert values is not None
    return int(struct.unpack_from("<q", values)[0])


def pushdown_of(options: Options, reducer: MapReducer, filter: Any) -> Pushdown:
    """What servers do of a fold by *reducer*. UnsupportedOperation where they have to and cannot."""
    if options.pushdown == "never":
        return Pushdown('pushdown="never"')
    found = _obstacle(options, filter) or _asked_of_servers(options, reducer)
    return found if isinstance(found, Pushdown) else refused(found, options.pushdown)


def refused(why: str, mode: Mode) -> Pushdown:
    if mode == "always":
        raise UnsupportedOperation(f'pushdown="always", but {why}')
    return Pushdown(why)


def _obstacle(options: Options, filter: Any) -> str | None:
    """Why nothing of this scan can be folded by servers."""
    if filter is not None:
        return "the filter is the client's"
    if options.prepared is not None:
        return "the statement was prepared with its tokens"
    if options.distinct:
        return "SELECT DISTINCT has no aggregates"
    if options.condition.per_partition:
        return "PER PARTITION LIMIT has no aggregates"
    if any(column.is_static for column in options._metadata().columns.values()):
        return "the table has static columns: whether partitions without rows count depends on what is selected"
    if options.session.cluster.column_encryption_policy is not None:
        return "the servers cannot read encrypted columns"
    return None


def _asked_of_servers(options: Options, reducer: Any) -> Pushdown | str:
    """By the very type: a subclass may have overridden anything."""
    kind = type(reducer)
    if kind is Count and reducer.column is None:
        return Pushdown("the servers count", Together((Sum(_ROWS),), _only))
    if kind not in (Count, Sum, Mean, Min, Max, MinMax):
        return f"servers do not know what {reducer!r} does"
    column = _type_of(options, reducer.column)
    if column is None:
        return f"{reducer.column!r} is no column of the table that is selected as it is"
    if options._metadata().columns[reducer.column].mask is not None:
        return f"{reducer.column!r} is masked: servers may fold what they do not show"
    name = maybe_escape_name(reducer.column)
    if kind is Count:
        return Pushdown("the servers count", Together((Sum(_COUNT),), _only), f"count({name}) AS {_COUNT}")
    if kind in (Sum, Mean):
        return _sum(reducer, name, column)
    if column not in _ORDERED:
        return f"servers may order {column} in their own way"
    if column in _EXACT and options.types != ColumnTypes():
        return f"the scan has numbers of its own for {column}"
    asked = {Min: (Min,), Max: (Max,), MinMax: (Min, Max)}[kind]
    aliases = {Min: ("min", _MIN), Max: ("max", _MAX)}
    parts = tuple(one(aliases[one][1]) for one in asked)
    selected = [f"{aliases[one][0]}({name}) AS {aliases[one][1]}" for one in asked]
    return Pushdown("the servers compare", Together(parts, _only if len(parts) == 1 else _pair), *selected)


def _sum(reducer: Sum | Mean, name: str, column: str) -> Pushdown | str:
    wider = _WIDER.get(column)
    if wider is None and column not in _EXACT:
        return f"sums of {column} are not exact on the servers"
    values = name if wider is None else f"CAST({name} AS {wider})"
    selected = [f"sum({values}) AS {_SUM}"]
    if type(reducer) is Sum:
        return Pushdown("the servers add up", Together((Sum(_SUM),), _only), *selected)
    made = _MeanOf(column)
    return Pushdown(
        "the servers add up", Together((Sum(_SUM), Sum(_COUNT)), made), *selected, f"count({name}) AS {_COUNT}"
    )


def _type_of(options: Options, name: str) -> str | None:
    """The CQL type of a column that is selected as it is; None if it is not."""
    words = words_of(options.selected)
    if any(word.text == "(" for word in words):
        return None
    if any(left.name is not None and right.name is not None for left, right in pairwise(words)):
        return None  # AS
    found = options._metadata().columns.get(name)
    if found is None or not any(word.name == name or word.text == "*" for word in words):
        return None
    return "text" if found.cql_type == "varchar" else str(found.cql_type)


# ---- what comes of it


class Together:
    """Several reducers over the same batches; *made* makes one result of theirs. Can be pickled."""

    def __init__(self, reducers: tuple[MapReducer, ...], made: Callable[..., Any]) -> None:
        self.reducers = reducers
        self.made = made

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> list[Any]:
        return [reducer.open(schema, token_range) for reducer in self.reducers]

    def stream(self, acc: list[Any], batch: RecordBatch) -> list[Any]:
        return [reducer.stream(one, batch) for reducer, one in zip(self.reducers, acc, strict=True)]

    def combine(self, a: list[Any], b: list[Any]) -> list[Any]:
        return [reducer.combine(one, two) for reducer, one, two in zip(self.reducers, a, b, strict=True)]

    def finish(self, acc: list[Any]) -> Any:
        return self.made(*(reducer.finish(one) for reducer, one in zip(self.reducers, acc, strict=True)))


def _only(result: Any) -> Any:
    return result


def _pair(least: Any, most: Any) -> Any:
    return least, most


class _MeanOf:
    """The mean of a *column*, by its type, as :class:`Mean` has it."""

    def __init__(self, column: str) -> None:
        self.column = column

    def __call__(self, total: Any, count: int) -> Any:
        exact = self.column in _EXACT
        field = Field("", "u" if exact else "l", self.column, "number" if exact else "integer")
        return Mean("").result((field, None), (Decimal(total) if exact else total, count))
