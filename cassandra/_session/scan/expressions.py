"""Expressions: conditions that select rows of a table (cassandra.scan).

L5. ``col("total") > 100`` is a value: immutable, picklable, independent of tables. It is compiled once for a schema, to
a :data:`Predicate` that computes a mask of each batch natively; ``conditions.py`` does that for one column. The
selected rows of a batch are returned as few batches: as slices if its runs are long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cassandra._base.objects import public
from cassandra._core.columns import Mask, RecordBatch, select

from .conditions import Predicate, column_test

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan

#: Mean run length from which slices cost less than a copy of the rows.
RUN_ROWS = 64

Filter = Any  # an Expression, or a callable that returns a mask of a batch


@public("cassandra.scan")
class Expression:
    """A condition on the columns of a row. Combine them with ``&``, ``|`` and ``~``; comparisons need parentheses then.

    Null compares with nothing: a comparison with it is neither true nor false, and so is its negation, as in SQL. Rows
    for which the whole expression is true are selected. If an expression does not fit a table, as a column is missing
    or has another type, compiling it raises ValueError or TypeError.
    """

    __slots__ = ()

    def compile(self, schema: ColumnPlan) -> Predicate:
        """Return a function that makes a :class:`Mask` of each batch of *schema*. Any thread may call it."""
        raise NotImplementedError

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns in the expression."""
        raise NotImplementedError

    def __and__(self, other: Expression) -> Expression:
        return _Both("&", self, other) if isinstance(other, Expression) else NotImplemented

    def __or__(self, other: Expression) -> Expression:
        return _Both("|", self, other) if isinstance(other, Expression) else NotImplemented

    def __invert__(self) -> Expression:
        return _Not(self)

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self!r} has no truth value, as it is a condition on rows: combine conditions with &, | and ~ instead of "
            "and, or and not, and use between() instead of a < x < b"
        )


@public("cassandra.scan")
class Column(Expression):
    """A column to compare; made by :func:`col`. A ``boolean`` column is itself a condition."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, value: object) -> Expression:  # type: ignore[override]
        """Return the condition that the column equals *value*; ``== None`` is :meth:`is_null`."""
        if value is None:
            return self.is_null()
        return _Comparison(self.name, "==", _value(value))

    def __ne__(self, value: object) -> Expression:  # type: ignore[override]
        """Return the condition that the column is not null and differs from *value*; ``!= None``: it is not null."""
        if value is None:
            return ~self.is_null()
        return _Comparison(self.name, "!=", _value(value))

    def __lt__(self, value: Any) -> Expression:
        return _Comparison(self.name, "<", _value(value))

    def __le__(self, value: Any) -> Expression:
        return _Comparison(self.name, "<=", _value(value))

    def __gt__(self, value: Any) -> Expression:
        return _Comparison(self.name, ">", _value(value))

    def __ge__(self, value: Any) -> Expression:
        return _Comparison(self.name, ">=", _value(value))

    __hash__ = None  # type: ignore[assignment]

    def isin(self, values: Iterable[Any]) -> Expression:
        """Return the condition that the column has one of *values*; None among them stands for null."""
        if isinstance(values, str | bytes):
            raise TypeError(f"isin() takes a list of values, such as [{values!r}]")
        some = list(values)
        known = tuple(_value(value) for value in some if value is not None)
        found: Expression = _Comparison(self.name, "isin", known)
        return found | self.is_null() if len(known) < len(some) else found

    def between(self, low: Any, high: Any) -> Expression:
        """Return the condition that the column is between *low* and *high*, both included."""
        return _Both("&", self >= low, self <= high)

    def is_null(self) -> Expression:
        return _Comparison(self.name, "is_null", None)

    def compile(self, schema: ColumnPlan) -> Predicate:
        return column_test(schema, self.name, "is_true", True)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({self.name})

    def __repr__(self) -> str:
        return f"col({self.name!r})"


@public("cassandra.scan")
def col(name: str) -> Column:
    """Return the column of that name, for conditions on rows.

    Example::

        session.scan("shop.orders", filter=(col("total") > 100) & ~col("country").isin(["NL", "BE"]))
    """
    return Column(name)


class _Comparison(Expression):
    __slots__ = ("name", "operator", "value")

    def __init__(self, name: str, operator: str, value: Any) -> None:
        self.name = name
        self.operator = operator
        self.value = value

    def compile(self, schema: ColumnPlan) -> Predicate:
        return column_test(schema, self.name, self.operator, self.value)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({self.name})

    def __repr__(self) -> str:
        if self.operator == "is_null":
            return f"col({self.name!r}).is_null()"
        if self.operator == "isin":
            return f"col({self.name!r}).isin({list(self.value)!r})"
        return f"(col({self.name!r}) {self.operator} {self.value!r})"


class _Both(Expression):
    __slots__ = ("left", "operator", "right")

    def __init__(self, operator: str, left: Expression, right: Expression) -> None:
        self.operator = operator
        self.left = left
        self.right = right

    def compile(self, schema: ColumnPlan) -> Predicate:
        left, right = self.left.compile(schema), self.right.compile(schema)
        if self.operator == "&":
            return lambda batch: left(batch) & right(batch)
        return lambda batch: left(batch) | right(batch)

    @property
    def columns(self) -> frozenset[str]:
        return self.left.columns | self.right.columns

    def __repr__(self) -> str:
        return f"({self.left!r} {self.operator} {self.right!r})"


class _Not(Expression):
    __slots__ = ("inner",)

    def __init__(self, inner: Expression) -> None:
        self.inner = inner

    def compile(self, schema: ColumnPlan) -> Predicate:
        inner = self.inner.compile(schema)
        return lambda batch: ~inner(batch)

    @property
    def columns(self) -> frozenset[str]:
        return self.inner.columns

    def __repr__(self) -> str:
        return f"~{self.inner!r}"


def _value(value: Any) -> Any:
    if isinstance(value, Expression):
        raise TypeError(f"expected a value to compare a column with, got {value!r}")
    if value is None:
        raise TypeError("a column cannot be compared with None: use is_null()")
    return value


def predicate_of(filter: Filter, schema: ColumnPlan) -> Predicate:
    """Return the predicate of ``filter=`` for batches of *schema*. A callable gets the batch and returns a mask: a
    :class:`Mask`, an Arrow array of booleans, NumPy's, or any other booleans, one per row. TypeError and ValueError for
    an invalid filter or one that does not fit."""
    if isinstance(filter, Expression):
        return filter.compile(schema)
    if not callable(filter):
        raise TypeError(f'filter must be an expression, such as col("n") > 3, or a callable, got {filter!r}')
    call: Callable[[RecordBatch], Any] = filter
    return lambda batch: Mask.of(call(batch), len(batch))


class Masks:
    """Computes the masks of batches by ``filter=``, which is compiled once per schema. Threads may share it."""

    def __init__(self, filter: Filter) -> None:
        self._filter = filter
        self._compiled: tuple[ColumnPlan | None, Any] = (None, None)

    def __call__(self, batch: RecordBatch) -> Mask:
        schema, predicate = self._compiled
        if schema is not batch.plan:
            predicate = predicate_of(self._filter, batch.plan)
            self._compiled = (batch.plan, predicate)
        mask: Mask = predicate(batch)
        return mask


def pieces(batch: RecordBatch, mask: Mask) -> Iterator[RecordBatch]:
    """Yield the rows of *batch* selected by *mask*, in order: as slices, or as one batch with copies."""
    if mask.count == len(batch):
        if mask.count:
            yield batch
    elif mask.count >= RUN_ROWS * mask.run_count:
        for first, count in mask.runs():
            yield batch.slice(first, count)
    elif mask.count:
        yield select(batch, mask)
