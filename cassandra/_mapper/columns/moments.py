"""Columns of timestamps, dates, times of day and durations."""

from __future__ import annotations

from datetime import date, datetime, time, timezone
from typing import Any, ClassVar

from cassandra._base import temporal
from cassandra._base.objects import public
from cassandra._mapper.columns.base import Column
from cassandra._mapper.columns.tracking import HOME
from cassandra._mapper.errors import InvalidType
from cassandra._mapper.functions import milliseconds

#: Value of the epoch where days are unsigned integers.
DAY_ZERO = 2**31


@public(HOME)
class DateTime(Column[datetime]):
    """``timestamp``: milliseconds since the epoch. Datetimes without a zone are taken as UTC; read ones are UTC,
    naive."""

    db_type = "timestamp"
    read_as = datetime

    #: True if read datetimes are truncated to milliseconds, the precision of the database.
    truncate_microseconds: ClassVar[bool] = False

    @classmethod
    def unconverted(cls, method: str) -> type | None:
        return None if DateTime.truncate_microseconds else super().unconverted(method)

    def to_python(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, datetime):
            if DateTime.truncate_microseconds:
                return value.replace(microsecond=value.microsecond // 1000 * 1000)
            return value
        if isinstance(value, date):
            return datetime.combine(value, time())
        return datetime.fromtimestamp(value, timezone.utc).replace(tzinfo=None)

    def to_database(self, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, datetime):
            if not isinstance(value, date):
                raise self._refusal(f"'{value}' is not a datetime object", value)
            value = datetime.combine(value, time())
        return milliseconds(value)


@public(HOME)
class Date(Column[temporal.Date]):
    """``date``: a day, as :class:`cassandra.util.Date`; also accepts the arguments of that class."""

    db_type = "date"
    read_as = temporal.Date

    def to_database(self, value: Any) -> Any:
        if value is None:
            return None
        day = value if isinstance(value, temporal.Date) else temporal.Date(value)
        return day.days_from_epoch + DAY_ZERO

    def to_python(self, value: Any) -> Any:
        if value is None or isinstance(value, temporal.Date):
            return value
        return temporal.Date(value)


@public(HOME)
class Time(Column[temporal.Time]):
    """``time``: a time of day, as :class:`cassandra.util.Time`; also accepts the arguments of that class."""

    db_type = "time"
    stored_as = temporal.Time

    def to_database(self, value: Any) -> Any:
        return value if value is None or isinstance(value, temporal.Time) else temporal.Time(value)

    def to_python(self, value: Any) -> Any:
        return value if value is None or isinstance(value, temporal.Time) else temporal.Time(value)


@public(HOME)
class Duration(Column[temporal.Duration]):
    """``duration``: months, days and nanoseconds, as :class:`cassandra.util.Duration`."""

    db_type = "duration"
    stored_as = temporal.Duration

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is not None and not isinstance(value, temporal.Duration):
            raise self._refusal(f"{value} is not a valid Duration.", value, InvalidType)
        return value
