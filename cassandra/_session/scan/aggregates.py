"""Native reducers that count, sum, compare and group (cassandra.scan).

L5. Their accumulators are :class:`~cassandra._core.columns.Groups`, with one group if there are no keys. The kernel
form of a column is determined when an accumulator is opened, so that batches are only passed on. Values are converted
to those of rows at the end. All comparisons use the order of the server.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cassandra._base.objects import public
from cassandra._core.columns import ColumnBuilder, ColumnPlan, Groups, Mask, RecordBatch, top

from ..request.columns import ArrowBatches
from .reducers import Reducer
from .values import Field, field_of, python_value

if TYPE_CHECKING:
    from cassandra._routing.token_ranges import TokenRange

_AS_NUMBER = "scan with decimals=(precision, scale)"
_MEAN_DIGITS = 20  # digits of a mean of decimals beyond those of their sum


class _Aggregate(Reducer):
    """One or two measures of a column."""

    column: str | None

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
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
        self.column = column

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        return [("count", -1 if self.column is None else field_of(schema, self.column)[0])]

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
        self.column = column

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        return [("sum", self._addable(schema))]

    def result(self, fields: Sequence[Field | None], values: Sequence[Any]) -> Any:
        return _sum(fields[0], values[0])


@public("cassandra.scan")
class Mean(_Aggregate):
    """Mean of a column of numbers, from the sum as computed by :class:`Sum`; None without values. For decimals and
    varints a ``Decimal``, with 20 digits more than their sum, otherwise a float."""

    def __init__(self, column: str) -> None:
        self.column = column

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
        self.column = column

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        return [("min", self._ordered(schema))]

    def result(self, fields: Sequence[Field | None], values: Sequence[Any]) -> Any:
        return _value(fields[0], values[0])


@public("cassandra.scan")
class Max(_Aggregate):
    """The greatest value of a column; see :class:`Min`."""

    def __init__(self, column: str) -> None:
        self.column = column

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        return [("max", self._ordered(schema))]

    def result(self, fields: Sequence[Field | None], values: Sequence[Any]) -> Any:
        return _value(fields[0], values[0])


@public("cassandra.scan")
class MinMax(_Aggregate):
    """The least and the greatest value of a column, as a pair; see :class:`Min`."""

    def __init__(self, column: str) -> None:
        self.column = column

    def measures(self, schema: ColumnPlan) -> list[tuple[Any, int]]:
        index = self._ordered(schema)
        return [("min", index), ("max", index)]

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
        self.keys = keys if isinstance(keys, str) else tuple(keys)
        self.aggregates = aggregates
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
        self.n = n
        self.by = by
        self.descending = descending

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
