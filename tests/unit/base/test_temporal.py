"""Dates, times, durations; timestamps and time UUIDs, exact over the whole range."""

from __future__ import annotations

import datetime as dt
import pickle
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra._base.temporal import whole_ms
from cassandra.util import (
    HIGHEST_TIME_UUID,
    LOWEST_TIME_UUID,
    Date,
    Duration,
    Time,
    datetime_from_ms_timestamp,
    datetime_from_timestamp,
    datetime_from_uuid1,
    max_uuid_from_time,
    min_uuid_from_time,
    ms_timestamp_from_datetime,
    unix_time_from_uuid1,
    utc_datetime_from_ms_timestamp,
    uuid_from_time,
)

MIN_MS = ms_timestamp_from_datetime(dt.datetime.min)
MAX_MS = ms_timestamp_from_datetime(dt.datetime.max.replace(microsecond=999000))


@given(st.integers(MIN_MS, MAX_MS))
def test_milliseconds_survive(ms: int) -> None:
    naive = datetime_from_ms_timestamp(ms)
    aware = naive.replace(tzinfo=dt.timezone.utc)
    assert naive.tzinfo is None and utc_datetime_from_ms_timestamp(ms) == naive
    assert ms_timestamp_from_datetime(naive) == ms_timestamp_from_datetime(aware) == ms == whole_ms(aware)
    assert naive.microsecond % 1000 == 0


@given(st.datetimes(timezones=st.timezones()))
def test_zones_are_respected(when: dt.datetime) -> None:
    since = when - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
    assert whole_ms(when) == since // dt.timedelta(milliseconds=1)
    nearest = ms_timestamp_from_datetime(when) * dt.timedelta(milliseconds=1)
    assert abs(nearest - since) <= dt.timedelta(microseconds=500)


def test_the_ends_of_time() -> None:
    for when in (-12219292800, 0, 1e9, 103072857660):
        assert LOWEST_TIME_UUID.time <= min_uuid_from_time(when).time < HIGHEST_TIME_UUID.time


def test_microseconds_are_rounded() -> None:
    rounded = {499: 0, 500: 0, 501: 1, 1499: 1, 1500: 2, 2500: 2, 999500: 1000}
    assert {us: ms_timestamp_from_datetime(dt.datetime(1970, 1, 1, microsecond=us)) for us in rounded} == rounded
    assert datetime_from_uuid1(uuid.UUID(fields=(8, 0x1234, 0x11E8, 128, 1, 5))).microsecond == 239950


def test_seconds() -> None:
    assert datetime_from_timestamp(0) == dt.datetime(1970, 1, 1)
    assert datetime_from_timestamp(-1.5) == dt.datetime(1969, 12, 31, 23, 59, 58, 500000)
    with pytest.raises(OverflowError):
        datetime_from_timestamp(1e15)


@given(st.datetimes(min_value=dt.datetime(1600, 1, 1), max_value=dt.datetime(5000, 1, 1)))
def test_time_uuids(when: dt.datetime) -> None:
    made = uuid_from_time(when)
    assert made.version == 1 and made.variant == uuid.RFC_4122
    assert datetime_from_uuid1(made) == when
    assert datetime_from_timestamp(unix_time_from_uuid1(made)) - when < dt.timedelta(microseconds=100)


def test_time_uuid_parts() -> None:
    made = uuid_from_time(1.5, node=0x123456789ABC, clock_seq=0x1FFF)
    assert (made.node, made.clock_seq) == (0x123456789ABC, 0x1FFF)
    assert unix_time_from_uuid1(made) == 1.5
    aware = dt.datetime(1970, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert uuid_from_time(aware, 1, 2) == uuid_from_time(0, 1, 2)
    assert uuid_from_time(1) != uuid_from_time(1)


@pytest.mark.parametrize("clock_seq", [-1, 0x4000])
def test_clock_sequences_have_14_bits(clock_seq: int) -> None:
    with pytest.raises(ValueError, match="14-bit"):
        uuid_from_time(1, clock_seq=clock_seq)


def test_times_before_the_first_uuid() -> None:
    with pytest.raises(ValueError, match="out of the range"):
        uuid_from_time(dt.datetime(1500, 1, 1))


@given(st.floats(0, 4e9), st.integers(0, 2**48 - 1), st.integers(0, 2**14 - 1))
def test_bounds_of_a_moment(seconds: float, node: int, clock_seq: int) -> None:
    """The server compares time first, then the other bytes as signed."""

    def order(value: uuid.UUID) -> tuple[int, list[int]]:
        return value.time, [byte - 256 if byte > 127 else byte for byte in value.bytes[8:]]

    low, high = min_uuid_from_time(seconds), max_uuid_from_time(seconds)
    assert order(low) <= order(uuid_from_time(seconds, node, clock_seq)) <= order(high)


class TestDate:
    @pytest.mark.parametrize("value", [19000, dt.date(2022, 1, 8), dt.datetime(2022, 1, 8, 5), "2022-01-08"])
    def test_sources(self, value: Any) -> None:
        date = Date(value)
        assert date.days_from_epoch == 19000 and date.date() == dt.date(2022, 1, 8)
        assert date.seconds == 19000 * 86400
        assert str(date) == "2022-01-08" and repr(date) == "Date(19000)"

    @pytest.mark.parametrize("value", [1.5, None, b"2022-01-08", dt.time(1)])
    def test_other_types(self, value: Any) -> None:
        with pytest.raises(TypeError, match=type(value).__name__):
            Date(value)

    @pytest.mark.parametrize("value", ["", "2022", "2022-13-01", "2022-01-08x"])
    def test_other_text(self, value: str) -> None:
        with pytest.raises(ValueError):
            Date(value)

    @pytest.mark.parametrize("days", [-(2**31), 2**31 - 1, 2932897, -719163])
    def test_days_beyond_datetime(self, days: int) -> None:
        date = Date(days)
        assert date.days_from_epoch == days and str(date) == str(days)
        with pytest.raises(ValueError, match=str(days)):
            date.date()

    def test_comparison(self) -> None:
        assert Date(1) == Date(1) == 1 and Date(1) == dt.date(1970, 1, 2)
        assert Date(1) != Date(2) and Date(1) != "1970-01-02" and Date(1) != dt.datetime(1970, 1, 2)
        assert Date(1) < Date(2) <= Date(2) and Date(3) > Date(2) >= Date(2)
        assert Date(1) < dt.date(2000, 1, 1) and dt.date(2000, 1, 1) > Date(1)
        assert sorted([Date(5), Date(-5), Date(0)]) == [-5, 0, 5]
        assert len({Date(1), Date(1), Date(2)}) == 2
        with pytest.raises(TypeError):
            Date(1) < "2"  # type: ignore[operator] # noqa: B015

    @given(st.dates())
    def test_every_python_date(self, date: dt.date) -> None:
        assert Date(date).date() == date and Date(str(Date(date))) == date


class TestTime:
    @pytest.mark.parametrize("value", [3723000004000, dt.time(1, 2, 3, 4), "01:02:03.000004", "1:2:3.000004000"])
    def test_sources(self, value: Any) -> None:
        time = Time(value)
        assert (time.hour, time.minute, time.second, time.nanosecond) == (1, 2, 3, 4000)
        assert time.nanosecond_time == 3723000004000 and time.time() == dt.time(1, 2, 3, 4)
        assert str(time) == "01:02:03.000004000" and repr(time) == "Time(3723000004000)"

    @pytest.mark.parametrize("value", [-1, 24 * 3600 * 10**9, "24:00:00", "1:60:0", "1:2", "1:2:3.0123456789"])
    def test_no_times(self, value: Any) -> None:
        with pytest.raises(ValueError):
            Time(value)

    @pytest.mark.parametrize("value", [1.0, None, dt.date(2000, 1, 1)])
    def test_other_types(self, value: Any) -> None:
        with pytest.raises(TypeError, match=type(value).__name__):
            Time(value)

    def test_comparison(self) -> None:
        assert Time(1000) == Time(1000) == 1000 and Time(1000) == dt.time(microsecond=1)
        assert Time(1) != Time(2) and Time(1) != "x"
        assert Time(1) < Time(2) < dt.time(1) and Time(2) >= Time(2)
        assert len({Time(1), Time(1)}) == 1

    @given(st.integers(0, Time.DAY - 1))
    def test_every_nanosecond(self, nanos: int) -> None:
        assert Time(str(Time(nanos))).nanosecond_time == nanos


class TestDuration:
    def test_parts(self) -> None:
        assert repr(Duration(1, 2, 3)) == "Duration(1, 2, 3)"
        assert str(Duration(1, 2, 3)) == "1mo2d3ns" and str(Duration(-1, -2, -3)) == "-1mo2d3ns"
        assert (Duration().months, Duration().days, Duration().nanoseconds) == (0, 0, 0)

    def test_equality(self) -> None:
        assert Duration(1, 2, 3) == Duration(1, 2, 3) != Duration(1, 2, 4)
        assert Duration(1) != 1
        assert len({Duration(1), Duration(1)}) == 1


@pytest.mark.parametrize("value", [Date(5), Time(5), Duration(1, 2, 3)], ids=repr)
def test_values_pickle(value: object) -> None:
    assert pickle.loads(pickle.dumps(value)) == value


def test_whole_numbers_of_other_kinds() -> None:
    numpy = pytest.importorskip("numpy")
    assert Date(numpy.int64(7)) == Date(7) and Time(numpy.uint32(7)) == Time(7)


@pytest.mark.parametrize(("kind", "text"), [(Date, "\uff12\uff10\uff12\uff16-01-31"), (Time, "\uff11\uff12:34:56")])
def test_digits_of_other_scripts_are_refused(kind: type[Date] | type[Time], text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        kind(text)
