"""Tests of columns: comparisons with values, compiled for a schema (L5).

Every comparison becomes inclusive bounds in the order of the column: "more than 2.5" of an integer is 3 or more. That
is exact for all pairs of types; a value that the column cannot have equals none of its values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cassandra._core.columns import ColumnTest, Mask, RecordBatch

from .values import Field, field_of, kernel_bytes, kernel_number

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan

Predicate = Callable[[RecordBatch], Mask]

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
