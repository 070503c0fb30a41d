"""Expressions: conditions that select rows of a table (cassandra.scan).

L6. ``col("total") > 100`` is a value: immutable, picklable, independent of tables. It is compiled once for a schema, to
a :data:`Predicate` that computes a mask of each batch natively. The selected rows of a batch are returned as few
batches: as slices if its runs are long.

A :class:`Field` is a column of a schema. Values compared with a column are converted to kernel form once, when an
expression is compiled; results of kernels are converted back at the end. Every comparison becomes inclusive bounds in
the order of the column: "more than 2.5" of an integer is 3 or more. That is exact for all pairs of types; a value that
the column cannot have equals none of its values.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import pairwise
from numbers import Integral, Rational, Real
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from cassandra._base.objects import public
from cassandra._base.temporal import Date, Time, datetime_from_ms_timestamp
from cassandra._core.columns import ColumnTest, Mask, RecordBatch, select, uuid_place

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan

Predicate = Callable[[RecordBatch], Mask]
Filter = Any  # an Expression, or a callable that returns a mask of a batch

#: Mean run length from which slices cost less than a copy of the rows.
RUN_ROWS = 64

_MICROSECOND = datetime.timedelta(microseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1)
_NUMBERS = ("c", "s", "i", "l")  # formats of plain integers


# ---- values of a column


class Field(NamedTuple):
    """A column of a schema: its name, its Arrow format, its CQL type, and its kernel form (``columns.pyi``)."""

    name: str
    format: str
    cql: str
    form: str | None

    def __str__(self) -> str:
        return f"{self.name!r} ({self.cql})"

    @property
    def is_addable(self) -> bool:
        """True if values can be summed."""
        return self.format in _NUMBERS if self.form == "integer" else self.form in ("float", "wide", "number")

    @property
    def is_ordered(self) -> bool:
        """True if the order of values is known to the client: that of custom types is defined by the server."""
        return self.form is not None and (self.format != "z" or self.cql in ("blob", "inet"))


def field_of(schema: ColumnPlan, name: str) -> tuple[int, Field]:
    """Return index and field of the column of that name. ValueError if there is none, or several."""
    found = schema.names.count(name)
    if found != 1:
        what = "is no column" if not found else f"are {found} columns"
        raise ValueError(f"there {what} {name!r} in the scan: {', '.join(schema.names)}; see columns=")
    index = schema.names.index(name)
    return index, Field(*schema.fields[index])


def kernel_number(field: Field, value: Any) -> Fraction | float:
    """Return the number for *value* in the order of a column of numbers, dates or UUIDs: exact, or an infinity or NaN.
    TypeError for a value that the column cannot be compared with, ValueError for text that is not one of its values."""
    if field.form == "uuid":
        return Fraction(_uuid(field, value))
    if field.format == "tdD":
        return Fraction(_day(field, value))
    if field.format == "ttn":
        return Fraction(_time(field, value))
    if field.format.startswith("ts") and isinstance(value, datetime.date):
        return _milliseconds(value)
    if field.format == "b":
        return Fraction(bool(_checked(field, value, type(value).__name__ in ("bool", "bool_"))))  # NumPy's too
    number = _number(field, value)
    if field.form == "wide" and isinstance(number, Fraction):
        return number * Fraction(10 ** scale_of(field))
    return number


def kernel_bytes(field: Field, value: Any) -> bytes:
    """Return the kernel form of *value* for a column of text, blobs or addresses; errors as in
    :func:`kernel_number`."""
    if field.cql == "inet":
        if isinstance(value, str):
            value = ip_address(value)
        if isinstance(value, IPv4Address | IPv6Address):
            return value.packed
    if field.format in ("u", "vu"):
        return _checked(field, value, isinstance(value, str)).encode()  # type: ignore[no-any-return]
    return bytes(_checked(field, value, isinstance(value, bytes | bytearray | memoryview)))


def python_value(field: Field, value: Any) -> Any:
    """Return the Python value, as in rows, for the *value* of a kernel."""
    if value is None:
        return None
    if field.form == "uuid":
        return UUID(bytes=value)
    if field.form == "bytes":
        if field.cql == "inet":
            return str(ip_address(value))
        return value.decode() if field.format in ("u", "vu") else value
    if field.form == "number":
        return int(value) if field.cql == "varint" else value
    if field.form == "wide":
        return value if field.cql == "varint" else scaled(value, scale_of(field))
    if field.format == "b":
        return bool(value)
    if field.format == "tdD":
        return Date(value)
    if field.format == "ttn":
        return Time(value)
    if field.format.startswith("ts"):
        try:
            return datetime_from_ms_timestamp(value)
        except OverflowError:  # rows have the number in this case, too
            return value
    return value


def scale_of(field: Field) -> int:
    """Return the decimal places of a column with a precision."""
    return int(field.format.removeprefix("d:").split(",")[1])


def scaled(number: int, scale: int) -> Decimal:
    """Return the decimal of an unscaled number, exactly, independent of the decimal context."""
    digits = tuple(map(int, str(abs(number))))
    return Decimal((int(number < 0), digits, -scale))


def _number(field: Field, value: Any) -> Fraction | float:
    if type(value).__name__ == "timedelta64":  # NumPy's is an Integral, in any unit
        _checked(field, value, False)
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(value)
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    number = float(_checked(field, value, isinstance(value, Real | Decimal)))
    return Fraction(number) if math.isfinite(number) else number


def _milliseconds(value: datetime.date) -> Fraction:
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    elif value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    nanoseconds = getattr(value, "nanosecond", 0)  # of a pandas timestamp
    return Fraction((value - _EPOCH) // _MICROSECOND * 1000 + nanoseconds, 1_000_000)


def _day(field: Field, value: Any) -> int:
    if isinstance(value, str) or (isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)):
        value = Date(value)
    days: int = _checked(field, value, isinstance(value, Date)).days_from_epoch
    return days


def _time(field: Field, value: Any) -> int:
    if isinstance(value, str | datetime.time):
        value = Time(value)
    nanoseconds: int = _checked(field, value, isinstance(value, Time)).nanosecond_time
    return nanoseconds


def _uuid(field: Field, value: Any) -> int:
    if isinstance(value, str):
        value = UUID(value)
    return uuid_place(_checked(field, value, isinstance(value, UUID)).bytes, field.cql == "timeuuid")


def _checked(field: Field, value: Any, fits: bool) -> Any:
    if not fits:
        raise TypeError(f"column {field} cannot be compared with {value!r}")
    return value


# ---- tests of one column

#: Least and greatest value of a kernel form.
_RANGES = {
    "integer": (-(1 << 63), (1 << 63) - 1),
    "wide": (-(1 << 255), (1 << 255) - 1),
    "uuid": (0, (1 << 128) - 1),
}
_NOTHING = (1, 0)
_TEXT_ENDS = {"==": "[]", "<": "[)", "<=": "[]", ">": "(]", ">=": "[]"}


def column_test(schema: ColumnPlan, name: str, operator: str, value: Any) -> Predicate:
    """Return the predicate of ``name operator value``. ValueError for a missing column, TypeError for a value that it
    cannot be compared with, or if its values cannot be compared."""
    index, field = field_of(schema, name)
    if operator == "is_null":
        return ColumnTest(schema, index)
    if field.form is None:
        raise TypeError(f"values of column {field} cannot be compared, except by is_null()")
    if operator == "is_true":
        if field.format != "b":
            raise TypeError(f"column {field} is not boolean and cannot be used as a condition: compare it with a value")
        operator = "=="
    if operator == "!=":
        equal = column_test(schema, name, "==", value)
        return lambda batch: ~equal(batch)
    if operator in ("<", "<=", ">", ">=") and not field.is_ordered:
        raise TypeError(f"values of column {field} have no order: compare them with ==, != or isin()")
    if field.form == "number":
        return _NumberTest(field, index, operator, value)
    if operator == "isin":
        return ColumnTest(schema, index, among=_some(field, value))
    if field.form == "bytes":
        text = kernel_bytes(field, value)
        low, high = text if operator[0] in "=>" else None, text if operator[0] in "=<" else None
        return ColumnTest(schema, index, within=(low, high, _TEXT_ENDS[operator]))
    number = kernel_number(field, value)
    bounds = _float_bounds(operator, number) if field.form == "float" else _whole_bounds(field, operator, number)
    return ColumnTest(schema, index, within=bounds)


def _whole_bounds(field: Field, operator: str, number: Fraction | float) -> tuple[int, int]:
    assert field.form is not None
    least, greatest = _RANGES[field.form]
    if not isinstance(number, Fraction):  # an infinity, or NaN, which is not equal to, less or greater than any value
        inside = (number > 0 and operator[0] == "<") or (number < 0 and operator[0] == ">")
        return (least, greatest) if inside else _NOTHING
    low, high = least, greatest
    if operator == ">":
        low = math.floor(number) + 1
    elif operator == "<":
        high = math.ceil(number) - 1
    else:
        low = math.ceil(number) if operator in ("==", ">=") else low
        high = math.floor(number) if operator in ("==", "<=") else high
    low, high = max(low, least), min(high, greatest)
    return (low, high) if low <= high else _NOTHING


def _float_bounds(operator: str, number: Fraction | float) -> tuple[float, float]:
    nearest = _nearest(number)
    if math.isnan(nearest):
        return _NOTHING
    low, high = -math.inf, math.inf
    if operator in ("==", ">=", ">"):
        low = nearest
        if nearest < number or (nearest == number and operator == ">"):
            low = _after(nearest, math.inf)
    if operator in ("==", "<=", "<"):
        high = nearest
        if nearest > number or (nearest == number and operator == "<"):
            high = _after(nearest, -math.inf)
    return (low, high) if low <= high else _NOTHING


def _after(number: float, towards: float) -> float:
    """Return the next float; NaN, which makes the bounds empty, if there is none."""
    return math.nan if number == towards else math.nextafter(number, towards)


def _nearest(number: Fraction | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _some(field: Field, values: tuple[Any, ...]) -> list[Any]:
    """Return those of the values that the column can have."""
    if field.form == "bytes":
        return [kernel_bytes(field, value) for value in values]
    numbers = [kernel_number(field, value) for value in values]
    if field.form == "float":
        return [_nearest(number) for number in numbers if _nearest(number) == number]
    assert field.form is not None
    least, greatest = _RANGES[field.form]
    return [
        int(number)
        for number in numbers
        if isinstance(number, Fraction) and number.denominator == 1 and least <= number <= greatest
    ]


class _NumberTest:
    """A test of decimals or varints stored as text: exact, in Python, a thousand times slower than the others."""

    def __init__(self, field: Field, index: int, operator: str, value: Any) -> None:
        self._index = index
        self._hit = _number_hit(field, operator, value)

    def __call__(self, batch: RecordBatch) -> Mask:
        hit = self._hit
        return Mask.of(
            [None if text is None else hit(Decimal(text)) for text in texts_of(batch, self._index)], len(batch)
        )


def texts_of(batch: RecordBatch, index: int) -> list[str | None]:
    """Return the values of a text column whose layout is neither views nor a dictionary."""
    validity, offsets, data = batch.column(index)
    if not len(batch):
        return []
    assert offsets is not None and data is not None
    ends = offsets.cast("i")[batch.offset : batch.offset + len(batch) + 1].tolist()
    found: list[str | None] = [str(data[start:end], "utf-8") for start, end in pairwise(ends)]
    if validity is not None:
        for i in range(len(batch)):
            at = batch.offset + i
            if not validity[at >> 3] >> (at & 7) & 1:
                found[i] = None
    return found


def _number_hit(field: Field, operator: str, value: Any) -> Callable[[Decimal], bool]:
    if operator == "isin":
        some = {kernel_number(field, one) for one in value}
        return lambda number: number in some  # equal numbers have the same hash
    other: Any = kernel_number(field, value)
    if isinstance(other, float):
        if math.isnan(other):
            return lambda number: False
        other = Decimal(other)
    compare: dict[str, Callable[[Decimal], bool]] = {
        "==": lambda number: number == other,
        "<": lambda number: number < other,
        "<=": lambda number: number <= other,
        ">": lambda number: number > other,
        ">=": lambda number: number >= other,
    }
    return compare[operator]


# ---- conditions on columns


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
        self.name = name  #: Name of the column.

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
        """Return the condition that the column is null."""
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

        abroad = ~col("country").isin(["NL", "BE"])
        session.scan("shop.orders", filter=(col("total") > 100) & abroad)
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


# ---- filtering of batches


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
