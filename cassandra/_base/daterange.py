"""Date ranges of DataStax servers: bounds with a precision, in milliseconds (L0)."""

import datetime
from collections.abc import Callable, Mapping
from functools import total_ordering
from typing import Any, ClassVar

from cassandra._base.public import public
from cassandra._base.temporal import datetime_from_ms_timestamp, ms_timestamp_from_datetime

_FORMATS = {
    "YEAR": "%Y",
    "MONTH": "%Y-%m",
    "DAY": "%Y-%m-%d",
    "HOUR": "%Y-%m-%dT%HZ",
    "MINUTE": "%Y-%m-%dT%H:%MZ",
    "SECOND": "%Y-%m-%dT%H:%M:%SZ",
}


@public("cassandra.util")
class DateRangePrecision:
    """The precision of a bound."""

    YEAR: ClassVar[str] = "YEAR"
    MONTH: ClassVar[str] = "MONTH"
    DAY: ClassVar[str] = "DAY"
    HOUR: ClassVar[str] = "HOUR"
    MINUTE: ClassVar[str] = "MINUTE"
    SECOND: ClassVar[str] = "SECOND"
    MILLISECOND: ClassVar[str] = "MILLISECOND"

    PRECISIONS: ClassVar[tuple[str, ...]] = (YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, MILLISECOND)

    @classmethod
    def round_up_to_precision(cls, ms: int, precision: str) -> int:
        """Return the last millisecond of the period that contains *ms*."""
        precision = precision.upper()
        start = _start(ms, precision)
        if precision == cls.MILLISECOND:
            return ms
        if precision == cls.YEAR:
            days = datetime.date(start.year, 12, 31) - start.date()
        elif precision == cls.MONTH:
            import calendar  # here, as only this branch needs it

            days = datetime.timedelta(days=calendar.monthrange(start.year, start.month)[1] - 1)
        else:
            days = datetime.timedelta()
        length = {
            cls.HOUR: datetime.timedelta(hours=1),
            cls.MINUTE: datetime.timedelta(minutes=1),
            cls.SECOND: datetime.timedelta(seconds=1),
        }.get(precision, datetime.timedelta(days=1))
        last = start + days + (length - datetime.timedelta(milliseconds=1))
        return ms_timestamp_from_datetime(last)

    @classmethod
    def round_down_to_precision(cls, ms: int, precision: str) -> int:
        """Return the first millisecond of the period that contains *ms*."""
        precision = precision.upper()
        return ms if precision == cls.MILLISECOND else ms_timestamp_from_datetime(_start(ms, precision))


def _start(ms: int, precision: str) -> datetime.datetime:
    fields = ("month", "day", "hour", "minute", "second", "microsecond")
    kept = DateRangePrecision.PRECISIONS.index(precision)
    reset: dict[str, Any] = {name: 1 if name in ("month", "day") else 0 for name in fields[kept:]}
    return datetime_from_ms_timestamp(ms).replace(**reset)


@public("cassandra.util")
@total_ordering
class DateRangeBound:
    """One end of a range: milliseconds (or a datetime) and a :class:`DateRangePrecision`."""

    __slots__ = ("milliseconds", "precision")
    __hash__ = None  # type: ignore[assignment]

    milliseconds: int | None
    precision: str | None

    def __init__(self, value: int | datetime.datetime | None, precision: str | None) -> None:
        if precision is not None:
            precision = precision.upper()
        if value is None:
            self.milliseconds = None
        elif isinstance(value, datetime.datetime):
            self.milliseconds = ms_timestamp_from_datetime(value)
        elif isinstance(value, int):
            self.milliseconds = value
        else:
            raise ValueError(f"expected milliseconds or a datetime, got {value!r}")
        self.precision = precision
        self.validate()

    def validate(self) -> None:
        """Raise TypeError if only one part is set (the open bound has none), ValueError for an invalid precision."""
        if (self.milliseconds is None) != (self.precision is None):
            raise TypeError(
                f"milliseconds ({self.milliseconds}) and precision ({self.precision}) must both be given, "
                "or both be None for the open bound"
            )
        if self.precision is not None and self.precision not in DateRangePrecision.PRECISIONS:
            raise ValueError(f"precision must be one of {DateRangePrecision.PRECISIONS}, not {self.precision!r}")

    @classmethod
    def from_value(cls, value: Any) -> "DateRangeBound":
        """Return a bound made from a bound, None, a pair (value, precision), or an object or a mapping with
        ``milliseconds`` and ``precision``. Raise TypeError for other values."""
        if value is None:
            return OPEN_BOUND
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            return cls(value.get("milliseconds", value.get("value")), value.get("precision"))
        if isinstance(value, (tuple, list)):
            return cls(*value)
        try:
            return cls(value.milliseconds, value.precision)
        except AttributeError:
            raise TypeError(f"expected a bound of a date range or (time, precision), got {value!r}") from None

    def datetime(self) -> datetime.datetime:
        """Return the naive UTC datetime. Raise OverflowError outside the years 1 to 9999."""
        if self.milliseconds is None:
            raise ValueError("an open bound has no datetime")
        return datetime_from_ms_timestamp(self.milliseconds)

    def round_up(self) -> "DateRangeBound":
        """Move to the last millisecond of the period and return self."""
        if self.milliseconds is not None and self.precision is not None:
            self.milliseconds = DateRangePrecision.round_up_to_precision(self.milliseconds, self.precision)
        return self

    def round_down(self) -> "DateRangeBound":
        """Move to the first millisecond of the period and return self."""
        if self.milliseconds is not None and self.precision is not None:
            self.milliseconds = DateRangePrecision.round_down_to_precision(self.milliseconds, self.precision)
        return self

    def _key(self) -> tuple[Any, ...]:
        if self.milliseconds is None or self.precision is None:
            return (0,)
        return 1, self.milliseconds, DateRangePrecision.PRECISIONS.index(self.precision)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, DateRangeBound) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._key() < other._key() if isinstance(other, DateRangeBound) else NotImplemented

    def __str__(self) -> str:
        if self.milliseconds is None or self.precision is None:
            return "*"
        try:
            when = self.datetime()
        except OverflowError:
            return f"{self.milliseconds}ms"
        if self.precision == DateRangePrecision.MILLISECOND:
            return when.strftime("%Y-%m-%dT%H:%M:%S") + f".{when.microsecond // 1000:03d}Z"
        return when.strftime(_FORMATS[self.precision])

    def __repr__(self) -> str:
        return f"DateRangeBound(milliseconds={self.milliseconds!r}, precision={self.precision!r})"


OPEN_BOUND = DateRangeBound(None, None)  # "*"


@public("cassandra.util")
@total_ordering
class DateRange:
    """A single date (``value``) or a range between two bounds, either of which may be :data:`OPEN_BOUND`.

    A date and a lower bound are the first millisecond of their periods, an upper bound is the last one.
    """

    __slots__ = ("lower_bound", "upper_bound", "value")
    __hash__ = None  # type: ignore[assignment]

    lower_bound: DateRangeBound | None
    upper_bound: DateRangeBound | None
    value: DateRangeBound | None

    def __init__(self, lower_bound: Any = None, upper_bound: Any = None, value: Any = None) -> None:
        round_up, round_down = DateRangePrecision.round_up_to_precision, DateRangePrecision.round_down_to_precision
        self.lower_bound = None if lower_bound is None else _rounded(lower_bound, round_down)
        self.upper_bound = None if upper_bound is None else _rounded(upper_bound, round_up)
        self.value = None if value is None else _rounded(value, round_down)
        self.validate()
        if self.value is None:  # a bound that is not given is open
            self.lower_bound = self.lower_bound or OPEN_BOUND
            self.upper_bound = self.upper_bound or OPEN_BOUND

    def validate(self) -> None:
        """Raise ValueError unless there is either a value or at least one bound."""
        if self.value is not None:
            if self.lower_bound is not None or self.upper_bound is not None:
                raise ValueError("a date range has either a value or bounds, not both")
        elif self.lower_bound is None and self.upper_bound is None:
            raise ValueError("a date range needs a value or a bound (OPEN_BOUND for an open end)")

    def _key(self) -> tuple[Any, ...]:
        bounds = (self.value,) if self.value is not None else (self.lower_bound, self.upper_bound)
        return tuple(bound._key() for bound in bounds if bound is not None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DateRange):
            return NotImplemented
        mine, theirs = ((r.lower_bound, r.upper_bound, r.value) for r in (self, other))
        return mine == theirs

    def __lt__(self, other: object) -> bool:
        return self._key() < other._key() if isinstance(other, DateRange) else NotImplemented

    def __str__(self) -> str:
        return str(self.value) if self.value is not None else f"[{self.lower_bound} TO {self.upper_bound}]"

    def __repr__(self) -> str:
        return f"DateRange(lower_bound={self.lower_bound!r}, upper_bound={self.upper_bound!r}, value={self.value!r})"


def _rounded(value: Any, to: Callable[[int, str], int]) -> DateRangeBound:
    """Return the bound made from *value*, rounded by *to*; not rounded if outside the range of ``datetime``."""
    bound = DateRangeBound.from_value(value)
    if bound.milliseconds is None or bound.precision is None:
        return OPEN_BOUND
    try:
        return DateRangeBound(to(bound.milliseconds, bound.precision), bound.precision)
    except OverflowError:
        return bound
