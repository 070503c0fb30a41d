"""Push-down: the part of a fold that the servers do themselves (L6).

A server folds ``count(*)``, ``sum``, ``min`` and ``max`` of a range where the rows are stored, and returns one row.
That is used only if the result is exactly the same: for the built-in reducers, without a filter of the client, and for
sums only if they cannot overflow: the server sums ``int`` in an int, silently, so that columns are cast to a type that
cannot overflow. Sums of floating-point numbers are computed by the client, as servers sum them differently. A server
that does not support a function refuses to prepare the statement, and then the client folds.

The row of a range is a batch of one row, whose columns are folded by reducers of the same kind. The first column of
every statement is ``count(*)``, the number of rows for progress and checkpoints.
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

from .expressions import Field
from .reducers import Count, MapReducer, Max, Mean, Min, MinMax, Sum
from .select import words_of

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan, RecordBatch
    from cassandra._routing.tokens import TokenRange

    from .plan import Options
    from .scan import Scan

Mode = Literal["auto", "always", "never"]

#: Types in which integers are summed: a range has fewer than 2**32 rows.
_WIDER = {"tinyint": "bigint", "smallint": "bigint", "int": "bigint", "bigint": "varint"}
_EXACT = ("varint", "decimal")
#: Types that servers and kernels compare equally.
_ORDERED = (*_WIDER, *_EXACT, "timestamp", "date", "time", "text", "ascii", "float", "double")
_ROWS, _COUNT, _SUM, _MIN, _MAX = (f"fastcql_{name}" for name in ("rows", "count", "sum", "min", "max"))


class Pushdown:
    """Decision on the push-down: the selectors and the reducer of the servers' results, if any; and its reason."""

    def __init__(self, why: str, reducer: MapReducer | None = None, *aggregates: str) -> None:
        self.why = why
        self.reducer = reducer
        self.selected = None if reducer is None else ", ".join((f"count(*) AS {_ROWS}", *aggregates))

    @property
    def rows_of(self) -> Callable[[RecordBatch], int]:
        """Function that returns the number of rows that a batch stands for."""
        return len if self.selected is None else _row_count

    def scan(self, scan: Scan) -> Scan:
        """Return the scan that servers fold instead of *scan*."""
        assert self.selected is not None
        options = copy(scan._options)
        options.select(self.selected)
        options.types = ColumnTypes()
        return type(scan)(options)


def _row_count(batch: RecordBatch) -> int:
    values = batch.column(0)[1]
    assert values is not None
    return int(struct.unpack_from("<q", values)[0])


def pushdown_of(options: Options, reducer: MapReducer, filter: Any) -> Pushdown:
    """Return the push-down of a fold by *reducer*. UnsupportedOperation if it is required and not possible."""
    if options.pushdown == "never":
        return Pushdown('pushdown="never"')
    found = _obstacle(options, filter) or _compile_reducer(options, reducer)
    return found if isinstance(found, Pushdown) else not_possible(found, options.pushdown)


def not_possible(why: str, mode: Mode) -> Pushdown:
    if mode == "always":
        raise UnsupportedOperation(f'pushdown="always", but {why}')
    return Pushdown(why)


def _obstacle(options: Options, filter: Any) -> str | None:
    """Return the reason why servers cannot fold this scan at all; None if they can."""
    if filter is not None:
        return "the filter is applied by the client"
    if options.prepared is not None:
        return "the statement was prepared with token markers"
    if options.distinct:
        return "SELECT DISTINCT does not support aggregates"
    if options.condition.per_partition:
        return "PER PARTITION LIMIT does not support aggregates"
    if any(column.is_static for column in options._metadata().columns.values()):
        return "the table has static columns: whether partitions without rows count depends on the selected columns"
    if options.session.cluster.column_encryption_policy is not None:
        return "the servers cannot read encrypted columns"
    return None


def _compile_reducer(options: Options, reducer: Any) -> Pushdown | str:
    """Return the push-down of a reducer, by its exact type, as a subclass may override any method; or the obstacle."""
    kind = type(reducer)
    if kind is Count and reducer.column is None:
        return Pushdown("the servers count", CombinedReducer((Sum(_ROWS),), _only))
    if kind not in (Count, Sum, Mean, Min, Max, MinMax):
        return f"{reducer!r} is not supported by servers"
    column = _type_of(options, reducer.column)
    if column is None:
        return f"{reducer.column!r} is not selected as a plain column of the table"
    if options._metadata().columns[reducer.column].mask is not None:
        return f"{reducer.column!r} is masked: servers may fold values that they do not return"
    name = maybe_escape_name(reducer.column)
    if kind is Count:
        return Pushdown("the servers count", CombinedReducer((Sum(_COUNT),), _only), f"count({name}) AS {_COUNT}")
    if kind in (Sum, Mean):
        return _sum(reducer, name, column)
    if column not in _ORDERED:
        return f"servers may order {column} differently"
    if column in _EXACT and options.types != ColumnTypes():
        return f"the scan converts {column}"
    asked = {Min: (Min,), Max: (Max,), MinMax: (Min, Max)}[kind]
    aliases = {Min: ("min", _MIN), Max: ("max", _MAX)}
    parts = tuple(one(aliases[one][1]) for one in asked)
    selected = [f"{aliases[one][0]}({name}) AS {aliases[one][1]}" for one in asked]
    return Pushdown("the servers compare", CombinedReducer(parts, _only if len(parts) == 1 else _pair), *selected)


def _sum(reducer: Sum | Mean, name: str, column: str) -> Pushdown | str:
    wider = _WIDER.get(column)
    if wider is None and column not in _EXACT:
        return f"sums of {column} are not exact on the servers"
    values = name if wider is None else f"CAST({name} AS {wider})"
    selected = [f"sum({values}) AS {_SUM}"]
    if type(reducer) is Sum:
        return Pushdown("the servers sum", CombinedReducer((Sum(_SUM),), _only), *selected)
    made = _MeanOf(column)
    return Pushdown(
        "the servers sum", CombinedReducer((Sum(_SUM), Sum(_COUNT)), made), *selected, f"count({name}) AS {_COUNT}"
    )


def _type_of(options: Options, name: str) -> str | None:
    """Return the CQL type of a column that is selected without a call or alias; None if it is not."""
    words = words_of(options.selected)
    if any(word.text == "(" for word in words):
        return None
    if any(left.name is not None and right.name is not None for left, right in pairwise(words)):
        return None  # AS
    found = options._metadata().columns.get(name)
    if found is None or not any(word.name == name or word.text == "*" for word in words):
        return None
    return "text" if found.cql_type == "varchar" else str(found.cql_type)


# ---- reducers of the servers' results


class CombinedReducer:
    """Several reducers over the same batches; *made* combines their results. Can be pickled."""

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
    """The mean of a *column*, given by its type, as computed by :class:`Mean`."""

    def __init__(self, column: str) -> None:
        self.column = column

    def __call__(self, total: Any, count: int) -> Any:
        exact = self.column in _EXACT
        field = Field("", "u" if exact else "l", self.column, "number" if exact else "integer")
        return Mean("").result((field, None), (Decimal(total) if exact else total, count))
