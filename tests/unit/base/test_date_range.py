"""Date ranges and the rounding of their bounds."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from cassandra.util import OPEN_BOUND, DateRange, DateRangeBound, DateRangePrecision, ms_timestamp_from_datetime

WHEN = dt.datetime(2016, 2, 3, 4, 5, 6, 789000)
ROUNDED = {
    "YEAR": (dt.datetime(2016, 1, 1), dt.datetime(2016, 12, 31, 23, 59, 59, 999000), "2016"),
    "MONTH": (dt.datetime(2016, 2, 1), dt.datetime(2016, 2, 29, 23, 59, 59, 999000), "2016-02"),
    "DAY": (dt.datetime(2016, 2, 3), dt.datetime(2016, 2, 3, 23, 59, 59, 999000), "2016-02-03"),
    "HOUR": (dt.datetime(2016, 2, 3, 4), dt.datetime(2016, 2, 3, 4, 59, 59, 999000), "2016-02-03T04Z"),
    "MINUTE": (dt.datetime(2016, 2, 3, 4, 5), dt.datetime(2016, 2, 3, 4, 5, 59, 999000), "2016-02-03T04:05Z"),
    "SECOND": (
        dt.datetime(2016, 2, 3, 4, 5, 6),
        dt.datetime(2016, 2, 3, 4, 5, 6, 999000),
        "2016-02-03T04:05:06Z",
    ),
    "MILLISECOND": (WHEN, WHEN, "2016-02-03T04:05:06.789Z"),
}


@pytest.mark.parametrize("precision", DateRangePrecision.PRECISIONS)
def test_rounding_and_text(precision: str) -> None:
    low, high, text = ROUNDED[precision]
    bound = DateRangeBound(WHEN, precision)
    assert str(bound) == text and bound.datetime() == WHEN
    assert DateRangeBound(WHEN, precision).round_down().datetime() == low
    assert DateRangeBound(WHEN, precision).round_up().datetime() == high


def test_the_last_month_of_a_year() -> None:
    assert DateRangeBound(dt.datetime(2015, 12, 5), "MONTH").round_up().datetime().date() == dt.date(2015, 12, 31)
    assert DateRangeBound(dt.datetime(9999, 12, 5), "DAY").round_up().datetime().year == 9999


def test_bounds() -> None:
    bound = DateRangeBound(5, "day")
    assert (bound.milliseconds, bound.precision) == (5, "DAY") and "5" in repr(bound)
    for source in (bound, (5, "DAY"), {"milliseconds": 5, "precision": "DAY"}):
        assert DateRangeBound.from_value(source) == bound
    assert DateRangeBound.from_value(None) is OPEN_BOUND and str(OPEN_BOUND) == "*"
    assert OPEN_BOUND.round_up() is OPEN_BOUND and OPEN_BOUND.round_down() is OPEN_BOUND
    assert DateRangeBound(1, "DAY") < DateRangeBound(2, "DAY") and bound != 5
    assert str(DateRangeBound(10**18, "DAY")) == "1000000000000000000ms"
    with pytest.raises(ValueError):
        OPEN_BOUND.datetime()


@pytest.mark.parametrize(("value", "precision"), [(None, "DAY"), (1, None), (1, "WEEK"), ("x", "DAY")])
def test_bounds_that_are_none(value: Any, precision: Any) -> None:
    with pytest.raises(TypeError if value is None or precision is None else ValueError):
        DateRangeBound(value, precision)


@pytest.mark.parametrize("value", [5, "2024", dt.datetime(2024, 1, 1)])
def test_date_range_bounds_of_other_types_are_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        DateRangeBound.from_value(value)


def test_ranges() -> None:
    low, high = DateRangeBound(WHEN, "YEAR"), DateRangeBound(WHEN, "DAY")
    assert str(DateRange(low, high)) == "[2016 TO 2016-02-03]"
    assert str(DateRange(OPEN_BOUND, high)) == "[* TO 2016-02-03]" and str(DateRange(value=high)) == "2016-02-03"
    assert DateRange(low, high) == DateRange((ms_timestamp_from_datetime(WHEN), "YEAR"), high) != DateRange(value=low)
    assert DateRange(value=high) != high and "DateRange(" in repr(DateRange(low, high))
    assert DateRange(value=DateRangeBound(1, "SECOND")) < DateRange(value=DateRangeBound(1001, "SECOND"))


def test_ranges_are_rounded_and_open_where_nothing_is_given() -> None:
    bound = DateRangeBound(1500, "SECOND")
    assert DateRange(bound).lower_bound == DateRangeBound(1000, "SECOND")
    assert DateRange(None, bound).upper_bound == DateRangeBound(1999, "SECOND")
    assert DateRange(value=bound).value == DateRangeBound(1000, "SECOND")
    assert DateRange(bound).upper_bound is OPEN_BOUND and DateRange(None, bound).lower_bound is OPEN_BOUND
    assert bound.milliseconds == 1500, "the given bound stays as it is"
    assert DateRange(value=(2**62, "DAY")).value == DateRangeBound(2**62, "DAY"), "the calendar ends before"


@pytest.mark.parametrize("arguments", [{}, {"value": OPEN_BOUND, "lower_bound": OPEN_BOUND}])
def test_ranges_that_are_none(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        DateRange(**arguments)
