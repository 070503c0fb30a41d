"""Dates, times and durations of CQL, and conversions of timestamps and time UUIDs (L0).

``datetime`` does not cover the ranges of CQL: dates of five million years, nanoseconds of a day, durations in months.
All arithmetic is in integers, so milliseconds are exact over the whole range.
"""

import datetime
import random
import re
import uuid
from functools import total_ordering
from typing import Any, ClassVar

from .numbers import is_masked
from .objects import public

EPOCH = datetime.datetime(1970, 1, 1)
UTC_EPOCH = EPOCH.replace(tzinfo=datetime.timezone.utc)
_MS = datetime.timedelta(milliseconds=1)
_US = datetime.timedelta(microseconds=1)
_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_UUID1_EPOCH = 0x01B21DD213814000  # 100 ns intervals between 1582-10-15 and 1970-01-01

#: The smallest UUID of version 1 in the order of the server.
LOWEST_TIME_UUID = uuid.UUID("00000000-0000-1000-8080-808080808080")  # in the order of the server (signed bytes)
#: The largest UUID of version 1 in the order of the server.
HIGHEST_TIME_UUID = uuid.UUID("ffffffff-ffff-1fff-bf7f-7f7f7f7f7f7f")


@public("cassandra.util")
def datetime_from_timestamp(timestamp: float) -> datetime.datetime:
    """Return the naive UTC datetime at *timestamp* seconds. Raise OverflowError outside the years 1 to 9999."""
    return EPOCH + datetime.timedelta(seconds=timestamp)


@public("cassandra.util")
def datetime_from_ms_timestamp(timestamp_ms: int) -> datetime.datetime:
    """Return the naive UTC datetime at *timestamp_ms* milliseconds, exactly."""
    return EPOCH + datetime.timedelta(milliseconds=timestamp_ms)


@public("cassandra.util")
def utc_datetime_from_ms_timestamp(timestamp: int) -> datetime.datetime:
    """Return the same as :func:`datetime_from_ms_timestamp`."""
    return EPOCH + datetime.timedelta(milliseconds=timestamp)


@public("cassandra.util")
def ms_timestamp_from_datetime(dt: datetime.datetime) -> int:
    """Return the milliseconds since the epoch, rounded to the nearest. A naive *dt* is in UTC."""
    whole, rest = divmod(_since_epoch(dt), _MS)
    return whole + (rest * 2 + _US * (whole % 2) > _MS)


def whole_ms(dt: datetime.datetime) -> int:
    """Return the milliseconds since the epoch, rounded down as for a datetime bound to a ``timestamp``."""
    return _since_epoch(dt) // _MS


def _since_epoch(dt: datetime.datetime) -> datetime.timedelta:
    return dt - (UTC_EPOCH if dt.tzinfo is not None else EPOCH)


@public("cassandra.util")
def unix_time_from_uuid1(uuid_arg: uuid.UUID) -> float:
    """Return the time of a version 1 UUID in seconds since the epoch."""
    return (uuid_arg.time - _UUID1_EPOCH) / 1e7


@public("cassandra.util")
def datetime_from_uuid1(uuid_arg: uuid.UUID) -> datetime.datetime:
    """Return the naive UTC datetime of a version 1 UUID, to the nearest microsecond."""
    return EPOCH + datetime.timedelta(microseconds=(uuid_arg.time - _UUID1_EPOCH + 5) // 10)


@public("cassandra.util")
def min_uuid_from_time(timestamp: float | datetime.datetime) -> uuid.UUID:
    """Return the smallest version 1 UUID of that time in the order of the server (signed bytes)."""
    return uuid_from_time(timestamp, 0x808080808080, 0x80)


@public("cassandra.util")
def max_uuid_from_time(timestamp: float | datetime.datetime) -> uuid.UUID:
    """Return the largest version 1 UUID of that time in the order of the server (signed bytes)."""
    return uuid_from_time(timestamp, 0x7F7F7F7F7F7F, 0x3F7F)


@public("cassandra.util")
def uuid_from_time(
    time_arg: float | datetime.datetime, node: int | None = None, clock_seq: int | None = None
) -> uuid.UUID:
    """Return a version 1 UUID of a datetime (UTC if naive) or of seconds since the epoch.

    *node* (48 bits) and *clock_seq* (14 bits) are random by default.
    """
    if isinstance(time_arg, datetime.datetime):
        microseconds = _since_epoch(time_arg) // _US
    else:
        microseconds = int(time_arg * 1_000_000)
    if clock_seq is None:
        clock_seq = random.getrandbits(14)
    elif not 0 <= clock_seq <= 0x3FFF:
        raise ValueError("clock_seq is out of range (need a 14-bit value)")
    if node is None:
        node = random.getrandbits(48)
    intervals = microseconds * 10 + _UUID1_EPOCH
    if not 0 <= intervals < 1 << 60:
        raise ValueError(f"{time_arg!r} is out of the range of version 1 UUIDs")
    low, mid, high = intervals & 0xFFFFFFFF, (intervals >> 32) & 0xFFFF, (intervals >> 48) & 0x0FFF
    return uuid.UUID(fields=(low, mid, high, 0x80 | clock_seq >> 8, clock_seq & 0xFF, node), version=1)


@public("cassandra.util")
@total_ordering
class Date:
    """A day: the CQL ``date``, whose range is far wider than that of ``datetime.date``.

    Made from whole days since 1970-01-01, from a ``datetime.date`` or ``datetime``, or from ``"YYYY-MM-DD"``.
    """

    __slots__ = ("days_from_epoch",)

    MINUTE: ClassVar[int] = 60  #: Seconds of a minute.
    HOUR: ClassVar[int] = 60 * 60  #: Seconds of an hour.
    DAY: ClassVar[int] = 24 * 60 * 60  #: Seconds of a day.
    date_format: ClassVar[str] = "%Y-%m-%d"  #: Format of text.

    days_from_epoch: int  #: Days since 1970-01-01.

    def __init__(self, value: int | datetime.date | str) -> None:
        if isinstance(value, datetime.date):
            self.days_from_epoch = value.toordinal() - _EPOCH_ORDINAL
        elif isinstance(value, str):
            # The server requires a sign for years of more than four digits, and accepts one for others.
            if not value.isascii():  # the server does not accept digits of other scripts
                raise ValueError(f"{value!r} is not a date such as 2026-01-31")
            parsed = datetime.datetime.strptime(value.removeprefix("+"), self.date_format)
            self.days_from_epoch = parsed.toordinal() - _EPOCH_ORDINAL
        else:
            self.days_from_epoch = _to_int(value, "Date arguments must be whole days, datetime.date or string")

    @property
    def seconds(self) -> int:
        """Seconds from the epoch to midnight of this day."""
        return self.days_from_epoch * self.DAY

    def date(self) -> datetime.date:
        """Return this day as ``datetime.date``. Raise ValueError outside the years 1 to 9999."""
        try:
            return datetime.date.fromordinal(self.days_from_epoch + _EPOCH_ORDINAL)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{self!r} is outside the range of datetime.date") from error

    def __hash__(self) -> int:
        return hash(self.days_from_epoch)

    def __eq__(self, other: object) -> bool:
        days = _days(other)
        return NotImplemented if days is None else self.days_from_epoch == days

    def __lt__(self, other: object) -> bool:
        days = _days(other)
        return NotImplemented if days is None else self.days_from_epoch < days

    def __repr__(self) -> str:
        return f"Date({self.days_from_epoch})"

    def __str__(self) -> str:
        """Return ``YYYY-MM-DD``, or the number of days if the year is outside 1 to 9999."""
        try:
            return self.date().isoformat()
        except ValueError:
            return str(self.days_from_epoch)


@public("cassandra.util")
@total_ordering
class Time:
    """A time of day in nanoseconds: the CQL ``time``.

    Made from nanoseconds since midnight, from a ``datetime.time``, or from ``"HH:MM:SS[.fffffffff]"``.
    """

    __slots__ = ("nanosecond_time",)

    MICRO: ClassVar[int] = 1000  #: Nanoseconds of a microsecond.
    MILLI: ClassVar[int] = 1000 * 1000  #: Nanoseconds of a millisecond.
    SECOND: ClassVar[int] = 1000 * 1000 * 1000  #: Nanoseconds of a second.
    MINUTE: ClassVar[int] = 60 * SECOND  #: Nanoseconds of a minute.
    HOUR: ClassVar[int] = 60 * MINUTE  #: Nanoseconds of an hour.
    DAY: ClassVar[int] = 24 * HOUR  #: Nanoseconds of a day.

    nanosecond_time: int  #: Nanoseconds since midnight.

    def __init__(self, value: int | datetime.time | str) -> None:
        if isinstance(value, datetime.time):
            self.nanosecond_time = _time_nanos(value)
        elif isinstance(value, str):
            self.nanosecond_time = _parse_time(value)
        else:
            nanos = _to_int(value, "Time arguments must be whole nanoseconds, datetime.time or string")
            if not 0 <= nanos < self.DAY:
                raise ValueError(f"Time value {nanos} is not within a day (0 to {self.DAY - 1} nanoseconds)")
            self.nanosecond_time = nanos

    @property
    def hour(self) -> int:
        """The hour, 0 to 23."""
        return self.nanosecond_time // Time.HOUR

    @property
    def minute(self) -> int:
        """The minute, 0 to 59."""
        return self.nanosecond_time // Time.MINUTE % 60

    @property
    def second(self) -> int:
        """The second, 0 to 59."""
        return self.nanosecond_time // Time.SECOND % 60

    @property
    def nanosecond(self) -> int:
        """Nanoseconds within the second."""
        return self.nanosecond_time % Time.SECOND

    def time(self) -> datetime.time:
        """Return this time as ``datetime.time``, with nanoseconds truncated to microseconds."""
        return datetime.time(self.hour, self.minute, self.second, self.nanosecond // Time.MICRO)

    def __hash__(self) -> int:
        return hash(self.nanosecond_time)

    def __eq__(self, other: object) -> bool:
        nanos = _nanos(other)
        return NotImplemented if nanos is None else self.nanosecond_time == nanos

    def __lt__(self, other: object) -> bool:
        nanos = _nanos(other)
        return NotImplemented if nanos is None else self.nanosecond_time < nanos

    def __repr__(self) -> str:
        return f"Time({self.nanosecond_time})"

    def __str__(self) -> str:
        return f"{self.hour:02d}:{self.minute:02d}:{self.second:02d}.{self.nanosecond:09d}"


@public("cassandra.util")
class Duration:
    """Months, days and nanoseconds, none of which converts to another: CQL's ``duration``."""

    __slots__ = ("days", "months", "nanoseconds")

    months: int  #: Number of months.
    days: int  #: Number of days.
    nanoseconds: int  #: Number of nanoseconds.

    def __init__(self, months: int = 0, days: int = 0, nanoseconds: int = 0) -> None:
        self.months = months
        self.days = days
        self.nanoseconds = nanoseconds

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Duration):
            return NotImplemented
        return (self.months, self.days, self.nanoseconds) == (other.months, other.days, other.nanoseconds)

    def __hash__(self) -> int:
        return hash((self.months, self.days, self.nanoseconds))

    def __repr__(self) -> str:
        return f"Duration({self.months}, {self.days}, {self.nanoseconds})"

    def __str__(self) -> str:
        """Return a CQL literal, such as ``-1mo2d3ns``."""
        sign = "-" if min(self.months, self.days, self.nanoseconds) < 0 else ""
        return f"{sign}{abs(self.months)}mo{abs(self.days)}d{abs(self.nanoseconds)}ns"


_TIME = r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?\Z"


def _parse_time(text: str) -> int:
    match = re.match(_TIME, text.strip(), re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is not a time such as 23:59:59.999999999")
    hour, minute, second = (int(part) for part in match.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{text!r} is not a time within a day")
    fraction = int((match.group(4) or "").ljust(9, "0"))
    return hour * Time.HOUR + minute * Time.MINUTE + second * Time.SECOND + fraction


def _time_nanos(value: datetime.time) -> int:
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return seconds * Time.SECOND + value.microsecond * Time.MICRO


def _to_int(value: Any, message: str) -> int:
    """Return *value* as an int if it is any kind of integer (also of NumPy); raise TypeError otherwise."""
    if hasattr(value, "__index__") and not is_masked(value):
        return int(value.__index__())
    raise TypeError(f"{message}, not {type(value).__name__}")


def _days(other: object) -> int | None:
    if isinstance(other, Date):
        return other.days_from_epoch
    if isinstance(other, int):
        return other
    if isinstance(other, datetime.date) and not isinstance(other, datetime.datetime):
        return other.toordinal() - _EPOCH_ORDINAL
    return None


def _nanos(other: object) -> int | None:
    if isinstance(other, Time):
        return other.nanosecond_time
    if isinstance(other, int):
        return other
    if isinstance(other, datetime.time):
        return _time_nanos(other)
    return None
