"""Values of types that only DataStax servers have: date ranges, and geometric values with their well-known text (L0).

The bounds of a date range are in milliseconds and have a precision.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping
from functools import total_ordering
from typing import Any, ClassVar

from .objects import public
from .temporal import datetime_from_ms_timestamp, ms_timestamp_from_datetime

# ---- date ranges

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

    YEAR: ClassVar[str] = "YEAR"  #: A year.
    MONTH: ClassVar[str] = "MONTH"  #: A month.
    DAY: ClassVar[str] = "DAY"  #: A day.
    HOUR: ClassVar[str] = "HOUR"  #: An hour.
    MINUTE: ClassVar[str] = "MINUTE"  #: A minute.
    SECOND: ClassVar[str] = "SECOND"  #: A second.
    MILLISECOND: ClassVar[str] = "MILLISECOND"  #: A millisecond.

    PRECISIONS: ClassVar[tuple[str, ...]] = (YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, MILLISECOND)  #: All of these.

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

    milliseconds: int | None  #: Milliseconds since 1970.
    precision: str | None  #: Precision, of :class:`DateRangePrecision`.

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
    def from_value(cls, value: Any) -> DateRangeBound:
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

    def round_up(self) -> DateRangeBound:
        """Move to the last millisecond of the period and return self."""
        if self.milliseconds is not None and self.precision is not None:
            self.milliseconds = DateRangePrecision.round_up_to_precision(self.milliseconds, self.precision)
        return self

    def round_down(self) -> DateRangeBound:
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


OPEN_BOUND = DateRangeBound(None, None)  #: The bound of a range without one.


@public("cassandra.util")
@total_ordering
class DateRange:
    """A single date (``value``) or a range between two bounds, either of which may be :data:`OPEN_BOUND`.

    A date and a lower bound are the first millisecond of their periods, an upper bound is the last one.
    """

    __slots__ = ("lower_bound", "upper_bound", "value")
    __hash__ = None  # type: ignore[assignment]

    lower_bound: DateRangeBound | None  #: The first :class:`DateRangeBound`.
    upper_bound: DateRangeBound | None  #: The last :class:`DateRangeBound`.
    value: DateRangeBound | None  #: The only bound of a single date.

    def __init__(self, lower_bound: Any = None, upper_bound: Any = None, value: Any = None) -> None:
        round_up, round_down = DateRangePrecision.round_up_to_precision, DateRangePrecision.round_down_to_precision
        self.lower_bound = None if lower_bound is None else _round_bound(lower_bound, round_down)
        self.upper_bound = None if upper_bound is None else _round_bound(upper_bound, round_up)
        self.value = None if value is None else _round_bound(value, round_down)
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


def _round_bound(value: Any, to: Callable[[int, str], int]) -> DateRangeBound:
    """Return the bound made from *value*, rounded by *to*; not rounded if outside the range of ``datetime``."""
    bound = DateRangeBound.from_value(value)
    if bound.milliseconds is None or bound.precision is None:
        return OPEN_BOUND
    try:
        return DateRangeBound(to(bound.milliseconds, bound.precision), bound.precision)
    except OverflowError:
        return bound


# ---- geometric values

_NUMBER = r"([-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf|NaN|Infinity))"
# Patterns are compiled at first use, as few applications use these types. ``re`` caches them.
_POINT = r"\s*POINT\s*(?:EMPTY|\(([^()]*)\))\s*\Z"
_LINE = r"\s*LINESTRING\s*(?:EMPTY|\(([^()]*)\))\s*\Z"
_POLYGON = r"\s*POLYGON\s*(?:EMPTY|\(((?:\s*(?:,\s*)?\([^()]*\))*)\s*\))\s*\Z"
_RING = r"\(([^()]*)\)"
_DISTANCE = rf"\s*DISTANCE\s*\(\s*\(\s*{_NUMBER}\s+{_NUMBER}\s*\)\s+{_NUMBER}\s*\)\s*\Z"

Coords = tuple[tuple[float, ...], ...]


@public("cassandra.util")
class Point:
    """A point of a plane."""

    __slots__ = ("x", "y")

    def __init__(self, x: float = float("nan"), y: float = float("nan")) -> None:
        self.x = x  #: First coordinate.
        self.y = y  #: Second coordinate.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and bool(self.x == other.x and self.y == other.y)

    def __hash__(self) -> int:
        return hash((self.x, self.y))

    def __str__(self) -> str:
        return f"POINT ({self.x!r} {self.y!r})"

    def __repr__(self) -> str:
        return f"Point({self.x!r}, {self.y!r})"

    @staticmethod
    def from_wkt(s: str) -> Point:
        """Parse well-known text, such as ``POINT (1.0 2.0)``. Fewer than two coordinates give the empty point;
        further coordinates are ignored."""
        numbers = _numbers(_match(_POINT, s).group(1) or "", s)
        return Point(*numbers[:2]) if len(numbers) > 1 else Point()


@public("cassandra.util")
class LineString:
    """A line of points, given as pairs or :class:`Point`."""

    __slots__ = ("coords",)

    coords: Coords  #: The points, as tuples.

    def __init__(self, coords: Iterable[Any] = ()) -> None:
        if isinstance(coords, LineString):
            self.coords = coords.coords
        else:
            self.coords = tuple((p.x, p.y) if isinstance(p, Point) else tuple(p) for p in coords)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LineString) and self.coords == other.coords

    def __hash__(self) -> int:
        return hash(self.coords)

    def __str__(self) -> str:
        return f"LINESTRING {_text(self)}"

    def __repr__(self) -> str:
        return f"LineString({self.coords!r})"

    @staticmethod
    def from_wkt(s: str) -> LineString:
        """Parse well-known text, such as ``LINESTRING (0.0 1.0, 2.0 3.0)``."""
        return LineString(_coords(_match(_LINE, s).group(1) or "", s))


@public("cassandra.util")
class Polygon:
    """A ring with holes; every ring is a :class:`LineString` or an argument of its constructor."""

    __slots__ = ("exterior", "interiors")

    exterior: LineString  #: The outer ring, a :class:`LineString`.
    interiors: tuple[LineString, ...]  #: The holes, a tuple of :class:`LineString`.

    def __init__(self, exterior: Iterable[Any] = (), interiors: Iterable[Iterable[Any]] | None = None) -> None:
        if isinstance(exterior, Polygon):
            self.exterior, self.interiors = exterior.exterior, exterior.interiors
        else:
            self.exterior = LineString(exterior)
            self.interiors = tuple(LineString(ring) for ring in interiors or ())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Polygon):
            return False
        return (self.exterior, self.interiors) == (other.exterior, other.interiors)

    def __hash__(self) -> int:
        return hash((self.exterior, self.interiors))

    def __str__(self) -> str:
        if not self.exterior.coords:
            return "POLYGON EMPTY"
        return f"POLYGON ({', '.join(map(_text, (self.exterior, *self.interiors)))})"

    def __repr__(self) -> str:
        return f"Polygon({self.exterior.coords!r}, {[ring.coords for ring in self.interiors]!r})"

    @staticmethod
    def from_wkt(s: str) -> Polygon:
        """Parse well-known text, such as ``POLYGON ((0.0 0.0, 1.0 0.0, 1.0 1.0, 0.0 0.0))``."""
        rings = [_coords(ring, s) for ring in re.findall(_RING, _match(_POLYGON, s).group(1) or "")]
        return Polygon(rings[0], rings[1:]) if rings else Polygon()


@public("cassandra.util")
class Distance:
    """A circle: a centre and a radius."""

    __slots__ = ("radius", "x", "y")

    def __init__(self, x: float = float("nan"), y: float = float("nan"), radius: float = float("nan")) -> None:
        self.x = x  #: First coordinate of the centre.
        self.y = y  #: Second coordinate of the centre.
        self.radius = radius  #: The radius.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Distance):
            return False
        return bool(self.x == other.x and self.y == other.y and self.radius == other.radius)

    def __hash__(self) -> int:
        return hash((self.x, self.y, self.radius))

    def __str__(self) -> str:
        return f"DISTANCE (({self.x!r} {self.y!r}) {self.radius!r})"

    def __repr__(self) -> str:
        return f"Distance({self.x!r}, {self.y!r}, {self.radius!r})"

    @staticmethod
    def from_wkt(s: str) -> Distance:
        """Parse text such as ``DISTANCE ((1.0 2.0) 3.0)``."""
        match = _match(_DISTANCE, s)
        return Distance(*(float(number) for number in match.groups()))


def _text(line: LineString) -> str:
    return f"({', '.join(' '.join(map(repr, point)) for point in line.coords)})" if line.coords else "EMPTY"


def _match(pattern: str, text: str) -> re.Match[str]:
    match = re.match(pattern, text, re.IGNORECASE)
    if match is None:
        raise ValueError(f"Invalid WKT geometry: {text!r}")
    return match


def _coords(text: str, whole: str) -> Coords:
    """Parse points; raise ValueError if one has fewer than two coordinates."""
    points = tuple(_numbers(point, whole) for point in text.split(",") if point.strip())
    if any(len(point) < 2 for point in points):
        raise ValueError(f"Invalid WKT geometry: {whole!r}")
    return points


def _numbers(text: str, whole: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.split())
    except ValueError:
        raise ValueError(f"Invalid WKT geometry: {whole!r}") from None
