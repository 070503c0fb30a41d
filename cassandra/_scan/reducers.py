"""Reducers: their interface, the built-in ones, and the exception that ends a fold early (cassandra.scan).

L6. Built-in reducers are stateless, so that several threads or processes may use one concurrently; accumulators belong
to one thread each. Both can be pickled, for checkpoints and other processes.

Accumulators of the reducers that count, sum, compare and group are native, :class:`~cassandra._core.columns.Groups`,
with one group if there are no keys. The kernel form of a column is determined when an accumulator is opened, so that
batches are only passed on. Values are converted to those of rows at the end. All comparisons use the order of the
server.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._base.objects import public
from cassandra._core.columns import ColumnBuilder, ColumnPlan, Groups, Mask, RecordBatch, select, top
from cassandra._session.request.columns import ArrowBatches

from .expressions import Field, field_of, pieces, python_value

if TYPE_CHECKING:
    from cassandra._routing.tokens import TokenRange

    from .expressions import Predicate


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Folded = TypeVar("Folded", covariant=True, default=Any)  # the default is for programs that name no result
else:
    from typing import TypeVar

    Folded = TypeVar("Folded", covariant=True)


@public("cassandra.scan")
class MapReducer(Protocol[Folded]):
    """Folds the rows of a scan to one result, see :meth:`Scan.fold`. Its methods may be called by any thread, but no
    two of them concurrently with the same accumulator.

    An accumulator may be any object; for checkpoints or other processes it must be picklable.
    """

    def open(self, schema: ColumnPlan, token_range: TokenRange, /) -> Any:
        """Return a new accumulator, for the rows of a range. *schema* has ``names`` and ``__arrow_c_schema__``."""

    def stream(self, acc: Any, batch: RecordBatch, /) -> Any:
        """Return *acc* with the rows of *batch*: the same object, changed, or another. :exc:`StopScan` ends the
        scan."""

    def combine(self, a: Any, b: Any, /) -> Any:
        """Return *a* combined with *b*; both may be changed. It must be associative: the result must not depend on
        whether a range is first combined with the one before it or with the one after it."""

    def finish(self, acc: Any, /) -> Folded:
        """Return the result. *acc* is not changed."""


@public("cassandra.scan")
class StopScan(Exception):
    """Raised by a reducer's ``stream`` to end the scan. The result covers the completed ranges and *acc*, the
    accumulator of the range that was streamed; nothing more is read."""

    def __init__(self, acc: Any) -> None:
        super().__init__("the reducer has ended the scan")
        self.acc = acc  #: The accumulator, which becomes the result.


@public("cassandra.scan")
class FunctionReducer:
    """A reducer made of functions, see :meth:`Scan.open_map_reducer`."""

    def __init__(
        self,
        map: Callable[[RecordBatch], Any],
        reduce: Callable[[Any, Any], Any],
        init: Callable[[], Any],
        combine: Callable[[Any, Any], Any] | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> None:
        for name, function in (("map", map), ("reduce", reduce), ("init", init)):
            if not callable(function):
                raise TypeError(f"{name}= must be a function, got {function!r}")
        self._map = map
        self._reduce = reduce
        self._init = init
        self._combine = reduce if combine is None else combine
        self._finish = finish

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> Any:
        """Return the accumulator of a range."""
        return self._init()

    def stream(self, acc: Any, batch: RecordBatch) -> Any:
        """Return *acc* with the rows of *batch*."""
        return self._reduce(acc, self._map(batch))

    def combine(self, a: Any, b: Any) -> Any:
        """Return the accumulator of both ranges."""
        return self._combine(a, b)

    def finish(self, acc: Any) -> Any:
        """Return the result of an accumulator."""
        return acc if self._finish is None else self._finish(acc)

    def __repr__(self) -> str:
        names = [("map", self._map), ("reduce", self._reduce), ("init", self._init), ("combine", self._combine)]
        names += [("finish", self._finish)] if self._finish is not None else []
        return f"FunctionReducer({', '.join(f'{name}={_name(function)}' for name, function in names)})"


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


# ---- reducers of whole batches


class Reducer:
    """Base of the built-in reducers; :class:`MapReducer` describes their methods."""

    def __init_subclass__(cls) -> None:
        if "stream" in vars(cls) and "stream_selected" not in vars(cls):  # an inherited one would bypass the new stream
            cls.stream_selected = Reducer.stream_selected  # type: ignore[method-assign]

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> Any:
        """Raise ValueError for a missing column, and TypeError for a column of an unsupported type."""
        raise NotImplementedError

    def stream(self, acc: Any, batch: RecordBatch) -> Any:
        """Return *acc* with the rows of *batch*."""
        raise NotImplementedError

    def combine(self, a: Any, b: Any) -> Any:
        """Return the accumulator of both ranges."""
        raise NotImplementedError

    def finish(self, acc: Any) -> Any:
        """Return the result of an accumulator."""
        return acc

    def stream_selected(self, acc: Any, batch: RecordBatch, mask: Mask) -> Any:
        """As ``stream``, for the rows selected by *mask*, without the need to copy them to a batch."""
        return streamed(self, acc, batch, mask)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({values})"


def fold_batch(reducer: MapReducer, acc: Any, batch: RecordBatch, predicate: Predicate | None = None) -> Any:
    """Return *acc* with the rows of *batch* that match *predicate*: computes the mask first, then streams the rows."""
    mask = None if predicate is None else predicate(batch)
    if mask is None or mask.count == len(batch):
        return reducer.stream(acc, batch)
    if mask.count == 0:
        return acc
    if isinstance(reducer, Reducer):
        return reducer.stream_selected(acc, batch, mask)
    return streamed(reducer, acc, batch, mask)


def streamed(reducer: MapReducer, acc: Any, batch: RecordBatch, mask: Mask) -> Any:
    """Return *acc* with the rows of *mask*, in as few batches as possible: slices of long runs, otherwise a copy."""
    for piece in pieces(batch, mask):
        acc = reducer.stream(acc, piece)
    return acc


@public("cassandra.scan")
class Collect(Reducer):
    """Collects all rows, as :class:`~cassandra.columns.ArrowBatches`, for ``pyarrow.table`` or ``polars.DataFrame``.
    All rows are in memory; filtered rows are copied, so that the other rows can be freed."""

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> ArrowBatches:
        return ArrowBatches(schema, [])

    def stream(self, acc: ArrowBatches, batch: RecordBatch) -> ArrowBatches:
        if len(batch):
            acc.batches.append(batch)
        return acc

    def stream_selected(self, acc: ArrowBatches, batch: RecordBatch, mask: Mask) -> ArrowBatches:
        return self.stream(acc, select(batch, mask))

    def combine(self, a: ArrowBatches, b: ArrowBatches) -> ArrowBatches:
        if a.schema != b.schema:
            raise ValueError(f"the columns have changed from {a.schema!r} to {b.schema!r}")
        a.batches.extend(b.batches)
        return a

    def finish(self, acc: ArrowBatches) -> ArrowBatches:
        return acc


@public("cassandra.scan")
class ForEachBatch(Reducer):
    """Calls *function* with each batch; the result is the number of rows of the calls, in which restarted ranges count
    once.

    Every row is passed *at least once*: if a range is read again, because a node was lost, or a scan is resumed, the
    function gets its rows again. So it should be idempotent. It is called by the thread that folds, and may raise
    :exc:`StopScan`.
    """

    def __init__(self, function: Callable[[RecordBatch], Any]) -> None:
        if not callable(function):
            raise TypeError(f"ForEachBatch needs a callable, got {function!r}")
        self.function = function  #: Called with each batch.

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> int:
        return 0

    def stream(self, acc: int, batch: RecordBatch) -> int:
        if not len(batch):
            return acc
        acc += len(batch)
        try:
            self.function(batch)
        except StopScan as stop:
            stop.acc = acc
            raise
        return acc

    def combine(self, a: int, b: int) -> int:
        return a + b

    def finish(self, acc: int) -> int:
        return acc


# ---- native reducers: aggregates, groups and top rows

_AS_NUMBER = "scan with decimals=(precision, scale)"
_MEAN_DIGITS = 20  # digits of a mean of decimals beyond those of their sum


class _Aggregate(Reducer):
    """One or two measures of a column."""

    column: str | None

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        """Return the measures that it needs, with their columns."""
        raise NotImplementedError

    def result(self, fields: Sequence[Field | None], values: Sequence[Any]) -> Any:
        """Return the result for the values of the measures, given in kernel form."""
        raise NotImplementedError

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> Groups:
        return Groups(schema, (), self.measures(schema))

    def stream(self, acc: Groups, batch: RecordBatch) -> Groups:
        acc.add(batch)
        return acc

    def stream_selected(self, acc: Groups, batch: RecordBatch, mask: Mask) -> Groups:
        acc.add(batch, mask)
        return acc

    def combine(self, a: Groups, b: Groups) -> Groups:
        a.merge(b)
        return a

    def finish(self, acc: Groups) -> Any:
        ((_, values),) = acc.results()
        return self.result(_fields(acc.fields[1]), values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.column is None else repr(self.column)})"

    def _addable(self, schema: ColumnPlan) -> int:
        assert self.column is not None
        index, field = field_of(schema, self.column)
        if not field.is_addable:
            raise TypeError(f"{self!r}: values of column {field} cannot be summed; use Count, Min or Max")
        return index

    def _ordered(self, schema: ColumnPlan) -> int:
        assert self.column is not None
        index, field = field_of(schema, self.column)
        if not field.is_ordered:
            raise TypeError(f"{self!r}: values of column {field} have no order; use Count")
        return index


@public("cassandra.scan")
class Count(_Aggregate):
    """Number of rows, or of rows in which *column* is not null."""

    def __init__(self, column: str | None = None) -> None:
        self.column = column  #: Name of the column.

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        """Return the measures that it needs, with their columns."""
        return [("count", -1 if self.column is None else field_of(schema, self.column)[0])]

    def finish(self, acc: Groups) -> int:
        return int(super().finish(acc))

    def result(self, fields: Sequence[Field | None], values: Sequence[Any]) -> Any:
        return values[0]


@public("cassandra.scan")
class Sum(_Aggregate):
    """Sum of a column of numbers; nulls are ignored, and the sum without values is 0.

    Integers, varints and decimals are summed exactly, as Python's ``int`` and ``Decimal``; floats with compensation of
    rounding errors, so that the result is correct to the last bit, except for columns whose values cancel out, and
    hardly depends on the order. Decimals and varints are text, which is summed in Python, exactly and slowly (some
    microseconds per row): ``decimals=(precision, scale)`` and ``varints="int64"`` of the scan make them numbers.
    OverflowError for a sum of more than 100,000 digits.
    """

    def __init__(self, column: str) -> None:
        self.column = column  #: Name of the column.

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        return [("sum", self._addable(schema))]

    def result(self, fields: Sequence[Field | None], values: Sequence[Any]) -> Any:
        return _sum(fields[0], values[0])


@public("cassandra.scan")
class Mean(_Aggregate):
    """Mean of a column of numbers, from the sum as computed by :class:`Sum`; None without values. For decimals and
    varints a ``Decimal``, with 20 digits more than their sum, otherwise a float."""

    def __init__(self, column: str) -> None:
        self.column = column  #: Name of the column.

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        index = self._addable(schema)
        return [("sum", index), ("count", index)]

    def result(self, fields: Sequence[Field | None], values: Sequence[Any]) -> Any:
        total, count = _sum(fields[0], values[0]), values[1]
        if not count:
            return None
        if fields[0] is not None and fields[0].form in ("wide", "number"):
            number = decimal.Decimal(total)
            digits = len(number.as_tuple().digits) + _MEAN_DIGITS
            context = decimal.Context(prec=digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
            return context.divide(number, decimal.Decimal(count))
        return total / count


@public("cassandra.scan")
class Min(_Aggregate):
    """The least non-null value of a column, in the order of the server: ``timeuuid`` by time, NaN after all numbers.
    None without values."""

    def __init__(self, column: str) -> None:
        self.column = column  #: Name of the column.

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        return [("min", self._ordered(schema))]

    def result(self, fields: Sequence[Field | None], values: Sequence[Any]) -> Any:
        return _value(fields[0], values[0])


@public("cassandra.scan")
class Max(_Aggregate):
    """The greatest value of a column; see :class:`Min`."""

    def __init__(self, column: str) -> None:
        self.column = column  #: Name of the column.

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        return [("max", self._ordered(schema))]

    def result(self, fields: Sequence[Field | None], values: Sequence[Any]) -> Any:
        return _value(fields[0], values[0])


@public("cassandra.scan")
class MinMax(_Aggregate):
    """The least and the greatest value of a column, as a pair; see :class:`Min`."""

    def __init__(self, column: str) -> None:
        self.column = column  #: Name of the column.

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        index = self._ordered(schema)
        return [("min", index), ("max", index)]

    def finish(self, acc: Groups) -> tuple[Any, Any]:
        least, greatest = super().finish(acc)
        return least, greatest

    def result(self, fields: Sequence[Field | None], values: Sequence[Any]) -> Any:
        return _value(fields[0], values[0]), _value(fields[1], values[1])


@public("cassandra.scan")
class GroupBy(Reducer):
    """Groups rows by the values of *keys*, with named aggregates per group: Count, Sum, Mean, Min, Max, MinMax.

    The result is a dict by key value, or by the tuple of values for several keys; null is None. Its values are dicts by
    the names of the aggregates. All groups are kept in memory, some 100 bytes each. Example::

        scan.fold(GroupBy("country", orders=Count(), total=Sum("total")))
        # {"NL": {"orders": 2, "total": 30}, "BE": {"orders": 1, "total": 7}}
    """

    def __init__(self, keys: str | Sequence[str], /, **aggregates: _Aggregate) -> None:
        self.keys = keys if isinstance(keys, str) else tuple(keys)  #: Columns of the groups.
        self.aggregates = aggregates  #: Aggregates of each group, by name.
        if not self.keys:
            raise ValueError("GroupBy needs at least one column as key")
        for name, aggregate in aggregates.items():
            if not isinstance(aggregate, _Aggregate):
                raise TypeError(f'GroupBy needs aggregates, such as {name}=Sum("amount"), got {name}={aggregate!r}')

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> Groups:
        keys = [self.keys] if isinstance(self.keys, str) else self.keys
        places = [self._key(schema, name) for name in keys]
        return Groups(schema, places, [m for one in self.aggregates.values() for m in one.measures(schema)])

    def _key(self, schema: ColumnPlan, name: str) -> int:
        index, field = field_of(schema, name)
        if field.form is None:
            raise TypeError(f"GroupBy: values of column {field} cannot be compared, so it cannot be a key")
        if field.form == "number" and field.cql != "varint":
            raise TypeError(f"GroupBy: column {field} is text, in which equal numbers may differ: {_AS_NUMBER}")
        return index

    def stream(self, acc: Groups, batch: RecordBatch) -> Groups:
        acc.add(batch)
        return acc

    def stream_selected(self, acc: Groups, batch: RecordBatch, mask: Mask) -> Groups:
        acc.add(batch, mask)
        return acc

    def combine(self, a: Groups, b: Groups) -> Groups:
        a.merge(b)
        return a

    def finish(self, acc: Groups) -> dict[Any, dict[str, Any]]:
        key_fields, fields = _fields(acc.fields[0]), _fields(acc.fields[1])
        places = []  # slices of the measures of each aggregate
        at = 0
        for name, aggregate in self.aggregates.items():
            size = 2 if isinstance(aggregate, Mean | MinMax) else 1
            places.append((name, aggregate, slice(at, at + size)))
            at += size
        found: dict[Any, dict[str, Any]] = {}
        for raw, values in acc.results():
            key = tuple(map(_key_value, key_fields, raw))
            found[key[0] if isinstance(self.keys, str) else key] = {
                name: aggregate.result(fields[place], values[place]) for name, aggregate, place in places
            }
        return found

    def __repr__(self) -> str:
        named = "".join(f", {name}={aggregate!r}" for name, aggregate in self.aggregates.items())
        return f"GroupBy({self.keys!r}{named})"


@public("cassandra.scan")
class TopN(Reducer):
    """The first *n* rows by a column: the least, or with *descending* the greatest ones, nulls last; equal ones in
    order of arrival, which is the order of the rows if ranges are combined in order. The result is
    :class:`~cassandra.columns.ArrowBatches` of these rows, in that order. It keeps at most *n* rows of a range."""

    def __init__(self, n: int, by: str, descending: bool = False) -> None:
        if type(n) is not int or n < 1:
            raise ValueError(f"TopN: n must be a positive int, got {n!r}")
        self.n = n  #: Number of rows.
        self.by = by  #: Columns of the order.
        self.descending = descending  #: True for the largest values.

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> RecordBatch:
        _, field = field_of(schema, self.by)
        if field.form == "number":
            way = 'scan with varints="int64"' if field.cql == "varint" else _AS_NUMBER
            raise TypeError(f"TopN: column {field} is text, which has no order of numbers: {way}")
        if not field.is_ordered:
            raise TypeError(f"TopN: values of column {field} have no order")
        return ColumnBuilder(schema).finish()

    def stream(self, acc: RecordBatch, batch: RecordBatch) -> RecordBatch:
        return self._top(acc, batch, None)

    def stream_selected(self, acc: RecordBatch, batch: RecordBatch, mask: Mask) -> RecordBatch:
        return self._top(acc, batch, mask)

    def combine(self, a: RecordBatch, b: RecordBatch) -> RecordBatch:
        return self._top(a, b, None)

    def finish(self, acc: RecordBatch) -> ArrowBatches:
        return ArrowBatches(acc.plan, [acc])

    def _top(self, acc: RecordBatch, batch: RecordBatch, mask: Mask | None) -> RecordBatch:
        return top([(acc, None), (batch, mask)], acc.plan.names.index(self.by), self.n, self.descending)


def _fields(raw: Sequence[Any]) -> list[Field | None]:
    return [None if field is None else Field(*field) for field in raw]


def _value(field: Field | None, value: Any) -> Any:
    assert field is not None
    return python_value(field, value)


def _key_value(field: Field | None, value: Any) -> Any:
    assert field is not None
    if field.form == "number" and value is not None:  # the text of a varint, one per value
        value = decimal.Decimal(value.decode())
    return python_value(field, value)


def _sum(field: Field | None, value: Any) -> Any:
    """Return the sum; without values the zero of the column's type."""
    assert field is not None
    if value is None:
        value = decimal.Decimal(0)
    return python_value(field, value)
