"""cassandra.util: dates, times, durations, date ranges, versions, time UUIDs, geometry, helpers."""

# mypy: ignore-errors
import datetime as dt
import pickle
from uuid import UUID

from cases import each, show

from cassandra import util
from cassandra.util import (
    Date,
    DateRange,
    DateRangeBound,
    DateRangePrecision,
    Distance,
    Duration,
    LineString,
    Point,
    Polygon,
    Time,
    Version,
)

ZONE = dt.timezone(dt.timedelta(hours=2))
DAYS = [
    0,
    1,
    -1,
    19782,
    -719162,
    2932896,
    2932897,
    -719163,
    2**31 - 1,
    -(2**31),
    dt.date(2024, 2, 29),
    dt.datetime(2024, 2, 29, 23),
    dt.date.min,
    dt.date.max,
    "2024-02-29",
    "2024-2-9",
    "+1492-10-12",
    "-1492-10-12",
    "0001-01-01",
    "9999-12-31",
    "+10000-01-01",
    "2024-02-30",
    "24-01-01",
    "junk",
    " 2024-02-29",
    "2024-02-29 ",
]
for value in DAYS:
    show(f"Date {value!r}", Date, value, caught=Exception)
    show(f"Date {value!r} days", lambda: Date(value).days_from_epoch, caught=Exception)
    show(f"Date {value!r} text", lambda: str(Date(value)), caught=Exception)
    show(f"Date {value!r} date", lambda: Date(value).date(), caught=Exception)
    show(f"Date {value!r} seconds", lambda: Date(value).seconds, caught=Exception)
    show(
        f"Date {value!r} equals",
        lambda: (
            Date(value) == Date(value),
            Date(value) == value,
            Date(value) != Date(5),
            Date(value) < Date(19000),
            Date(value) >= Date(0),
        ),
        caught=Exception,
    )
    show(f"Date {value!r} hash", lambda: hash(Date(value)) == hash(Date(value)), caught=Exception)
    show(f"Date {value!r} pickled", lambda: pickle.loads(pickle.dumps(Date(value))), caught=Exception)
each("Date", Date, [None, 1.5, [], b"2024-01-01", object])
each(
    "Date equals",
    lambda other: (Date(19782) == other, Date(19782) != other),
    [19782, 19782.0, "2024-02-29", dt.date(2024, 2, 29), dt.datetime(2024, 2, 29), None, Time(5)],
)
each("Date before", lambda other: Date(19782) < other, [Date(19783), Date(5), None, "x"], caught=Exception)
show("Date constants", lambda: (Date.MINUTE, Date.HOUR, Date.DAY, Date.date_format))
show("Dates sorted", lambda: sorted([Date(3), Date(-1), Date(2)]))

TIMES = [
    0,
    1,
    86399999999999,
    86400000000000,
    dt.time(1, 2, 3, 4),
    dt.datetime(2024, 1, 1, 5),
    "01:02:03",
    "01:02:03.",
    "01:02:03.1",
    "01:02:03.123456789",
    "1:2:3",
    "1:2:3.5",
    "24:00:00",
    "23:60:00",
    "01:02",
    "junk",
    "",
    "01:02:03.x",
]
for value in TIMES:
    show(f"Time {value!r}", Time, value, caught=Exception)
    show(f"Time {value!r} text", lambda: str(Time(value)), caught=Exception)
    show(f"Time {value!r} time", lambda: Time(value).time(), caught=Exception)
    show(
        f"Time {value!r} parts",
        lambda: (
            Time(value).hour,
            Time(value).minute,
            Time(value).second,
            Time(value).nanosecond,
            Time(value).nanosecond_time,
        ),
        caught=Exception,
    )
    show(
        f"Time {value!r} equals",
        lambda: (Time(value) == Time(value), Time(value) == value, Time(value) < Time(5), Time(value) >= Time(0)),
        caught=Exception,
    )
    show(f"Time {value!r} pickled", lambda: pickle.loads(pickle.dumps(Time(value))), caught=Exception)
each("Time", Time, [None, 1.5, [], b"01:02:03"])
each(
    "Time equals",
    lambda other: (Time(5000) == other, Time(5000) != other),
    [5000, 5000.0, "00:00:00.000005", dt.time(0, 0, 0, 5), None, Date(5)],
)
show("Time constants", lambda: (Time.MICRO, Time.MILLI, Time.SECOND, Time.MINUTE, Time.HOUR, Time.DAY))
show("Times sorted", lambda: sorted([Time(3), Time(1), Time(2)]))
show("Time's instance of a subclass", lambda: type("Sub", (Time,), {})(5))

for value in [(), (1,), (1, 2), (1, 2, 3), (-1, -2, -3), (0, 0, 0), (0, -1, 0), (1, -1, 0)]:
    show(f"Duration {value}", lambda: Duration(*value))
    show(f"Duration {value} text", lambda: str(Duration(*value)))
    show(
        f"Duration {value} parts",
        lambda: (Duration(*value).months, Duration(*value).days, Duration(*value).nanoseconds),
    )
    show(
        f"Duration {value} equals",
        lambda: (Duration(*value) == Duration(*value), Duration(*value) != Duration(7), Duration(*value) == value),
    )
show("Duration by name", lambda: Duration(months=1, nanoseconds=5))
show("Duration pickled", lambda: pickle.loads(pickle.dumps(Duration(1, 2, 3))))
show("Duration to", lambda: Duration(1, 2, 3).to_timedelta() if hasattr(Duration, "to_timedelta") else None)

STAMPS = [
    0,
    1,
    -1,
    1709209801999,
    -62135596800000,
    253402300799999,
    1456704000000,
    951782400000,
    1709164800000,
    1735689599999,
]
for ms in STAMPS:
    for precision in DateRangePrecision.PRECISIONS:
        show(f"up {ms} {precision}", DateRangePrecision.round_up_to_precision, ms, precision)
        show(f"down {ms} {precision}", DateRangePrecision.round_down_to_precision, ms, precision)

        def bound():
            return DateRangeBound(ms, precision)

        show(f"bound {ms} {precision}", lambda: str(bound()))
        show(f"bound {ms} {precision} repr", lambda: repr(bound()))
        show(f"bound {ms} {precision} up", lambda: str(bound().round_up()))
        show(f"bound {ms} {precision} down", lambda: str(bound().round_down()))
        show(f"bound {ms} {precision} datetime", lambda: bound().datetime())
show("precisions", lambda: DateRangePrecision.PRECISIONS)
each("round up", lambda p: DateRangePrecision.round_up_to_precision(5, p), ["x", None, "year"], caught=Exception)
each("round down", lambda p: DateRangePrecision.round_down_to_precision(5, p), ["x", None, "year"], caught=Exception)
BOUNDS = [
    (None, None),
    (5, None),
    (None, "YEAR"),
    (5, "YEAR"),
    (5, "year"),
    (5, "x"),
    ("x", "YEAR"),
    (1.5, "DAY"),
    (dt.datetime(2024, 2, 29, 12), "HOUR"),
    (dt.date(2024, 2, 29), "DAY"),
]
for value in BOUNDS:
    show(f"bound {value}", lambda: DateRangeBound(*value))
    show(f"bound {value} text", lambda: str(DateRangeBound(*value)))
    show(f"bound {value} parts", lambda: (DateRangeBound(*value).milliseconds, DateRangeBound(*value).precision))
FROM = [
    5,
    dt.datetime(2024, 2, 29),
    DateRangeBound(5, "DAY"),
    (5, "DAY"),
    ("x", "DAY"),
    (5,),
    (5, "DAY", 7),
    [5, "DAY"],
    {"milliseconds": 5, "precision": "DAY"},
]
for value in FROM:
    show(f"bound from {value!r}", lambda: DateRangeBound.from_value(value))
show(
    "bounds equal",
    lambda: (
        DateRangeBound(5, "DAY") == DateRangeBound(5, "DAY"),
        DateRangeBound(5, "DAY") == DateRangeBound(5, "YEAR"),
        DateRangeBound(5, "DAY") < DateRangeBound(6, "DAY"),
        DateRangeBound(5, "DAY") == 5,
    ),
)
show("open", lambda: (util.OPEN_BOUND, str(util.OPEN_BOUND)))
show("bound hashed", lambda: isinstance(hash(DateRangeBound(5, "DAY")), int))
A, B = DateRangeBound(1000, "SECOND"), DateRangeBound(5000000, "DAY")
RANGES = [
    {},
    {"value": A},
    {"lower_bound": A},
    {"upper_bound": A},
    {"lower_bound": A, "upper_bound": B},
    {"lower_bound": B, "upper_bound": A},
    {"value": A, "lower_bound": B},
    {"value": util.OPEN_BOUND},
    {"lower_bound": util.OPEN_BOUND, "upper_bound": util.OPEN_BOUND},
    {"lower_bound": A, "upper_bound": util.OPEN_BOUND},
    {"value": 5},
    {"lower_bound": "x"},
    {"lower_bound": dt.datetime(2024, 1, 1)},
    {"value": (5, "DAY")},
]
for value in RANGES:
    shown = {key: str(bound) for key, bound in value.items()}
    show(f"range {shown}", lambda: DateRange(**value))
    show(f"range {shown} text", lambda: str(DateRange(**value)))
    show(
        f"range {shown} parts",
        lambda: (DateRange(**value).value, DateRange(**value).lower_bound, DateRange(**value).upper_bound),
    )
    show(
        f"range {shown} equals",
        lambda: (
            DateRange(**value) == DateRange(**value),
            DateRange(**value) != DateRange(value=B),
            DateRange(**value) == 5,
        ),
    )

VERSIONS = [
    "1",
    "1.2",
    "1.2.3",
    "1.2.3.4",
    "1.2.3.4.5",
    "1.2.3-rc1",
    "1.2.3.4-rc1",
    "1.2-rc1",
    "2.test.1",
    "2.1.test",
    "2.1.2.test",
    "test.1.0",
    "",
    "5.0-beta1",
    "4.0.0-beta2-SNAPSHOT",
    "1.2.3.build7",
    "6.8.0-rc1-x",
    "4.1.10",
    "3.11.0",
    "5.0.0.dev",
    "1.-2",
    " 1.2",
    "1..2",
]
for text in VERSIONS:
    show(f"Version {text!r}", Version, text, caught=Exception)
    show(f"Version {text!r} text", lambda: str(Version(text)), caught=Exception)
    show(
        f"Version {text!r} parts",
        lambda: (
            Version(text).major,
            Version(text).minor,
            Version(text).patch,
            Version(text).build,
            Version(text).prerelease,
        ),
        caught=Exception,
    )
    show(
        f"Version {text!r} order",
        lambda: [
            Version(text) < Version("2.1.2"),
            Version(text) <= Version("2.1.2"),
            Version(text) > Version("1.2.3"),
            Version(text) >= Version("1.2.3.4"),
            Version(text) == Version("1.2"),
        ],
        caught=Exception,
    )
SORTABLE = [
    "1.2.3",
    "1.2",
    "1.2.3-rc1",
    "1.2.3-rc2",
    "1.2.3-beta1",
    "1.2.3.4",
    "1.2.4",
    "2",
    "4.0.0",
    "4.0.0-beta2",
    "4.0.0-rc1",
    "10.0",
]
show("Versions sorted", lambda: [str(v) for v in sorted(map(Version, SORTABLE))])
show("Version of a number", Version, 5, caught=Exception)
show("Version and text", lambda: Version("1.2") == "1.2")
show("Version before text", lambda: Version("1.2") < "1.3")

U1 = UUID("3d2a7f10-1dd1-11b2-8080-808080808080")
for value in [
    0,
    1,
    1.5,
    1709209801.999,
    1709209801.9999999,
    -1.5,
    1e9,
    dt.datetime(2024, 2, 29, 12, 30, 1, 999999),
    dt.datetime(2024, 2, 29, 12, tzinfo=ZONE),
    dt.datetime(1583, 1, 1),
]:
    for low in (util.min_uuid_from_time, util.max_uuid_from_time):
        show(f"{low.__name__} {value!r}", low, value)
        show(f"{low.__name__} {value!r} time", lambda: util.unix_time_from_uuid1(low(value)))
        show(f"{low.__name__} {value!r} datetime", lambda: util.datetime_from_uuid1(low(value)))
    show(f"uuid_from_time {value!r}", util.uuid_from_time, value, 5, 7)
    show(f"uuid_from_time {value!r} version", lambda: util.uuid_from_time(value).version)
each("clock sequence", lambda seq: util.uuid_from_time(5, 1, seq), [0, 1, 0x3FFF, 0x4000])
each("uuid_from_time", util.uuid_from_time, [None, "x"], caught=Exception)
show("lowest", lambda: (util.LOWEST_TIME_UUID, util.HIGHEST_TIME_UUID))
for ms in [*STAMPS, 1.5, 1709209801999.5]:
    show(f"datetime_from_timestamp {ms}", lambda: util.datetime_from_timestamp(ms / 1000), caught=Exception)
    show(f"utc_datetime_from_ms_timestamp {ms}", util.utc_datetime_from_ms_timestamp, ms, caught=Exception)
for value in [
    dt.datetime(2024, 2, 29, 12, 30, 1, 999499),
    dt.datetime(2024, 2, 29, 12, 30, 1, 999500),
    dt.datetime(1, 1, 1),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
]:
    show(f"ms_timestamp_from_datetime {value}", util.ms_timestamp_from_datetime, value)

GEO = [
    lambda: Point(1, 2),
    lambda: Point(1.5, -2.25),
    lambda: Point(),
    lambda: Point(float("nan"), 1),
    lambda: LineString(),
    lambda: LineString([(1, 2)]),
    lambda: LineString(((1, 2), (3, 4))),
    lambda: LineString(()),
    lambda: Polygon(),
    lambda: Polygon([(0, 0), (1, 1), (1, 0)]),
    lambda: Polygon([(0, 0), (1, 1), (1, 0)], [[(0.1, 0.1), (0.2, 0.2), (0.2, 0.1)]]),
    lambda: Distance(),
    lambda: Distance(1, 2, 3),
    lambda: Distance(1.5, 2.5, 0.1),
    lambda: Point("a", "b"),
    lambda: Point(1),
]
for number, make in enumerate(GEO):
    show(f"shape {number}", make, caught=Exception)
    show(f"shape {number} text", lambda: str(make()), caught=Exception)
    show(
        f"shape {number} equals",
        lambda: (make() == make(), make() == Point(1, 2), make() == 5, make() != make()),
        caught=Exception,
    )
    show(f"shape {number} hash", lambda: hash(make()) == hash(make()), caught=Exception)
    show(f"shape {number} pickled", lambda: pickle.loads(pickle.dumps(make())), caught=Exception)
show(
    "coordinates",
    lambda: (
        LineString([(1, 2)]).coords,
        Polygon([(0, 0), (1, 1)]).exterior.coords,
        Polygon([(0, 0), (1, 1)]).interiors,
        Point(1, 2).x,
        Distance(1, 2, 3).radius,
    ),
)


def vars_of(shape):
    """A distance has texts in one driver, numbers in the other."""
    return tuple(map(float, (shape.x, shape.y, shape.radius))) if isinstance(shape, Distance) else shape


WKT = [
    "POINT (1 2)",
    "POINT(1 2)",
    "POINT (1.5 -2.25)",
    "POINT (1e3 2)",
    "POINT (nan nan)",
    "POINT EMPTY",
    "POINT ()",
    "POINT (1)",
    "POINT (1 2 3)",
    "POINT (1 2) ",
    "POINT ( 1   2 )",
    "POINTS (1 2)",
    "POINT (1. 2.)",
    "POINT (a b)",
    "POINT (1 2",
    "POINT 1 2",
    "LINESTRING (1 2, 3 4)",
    "LINESTRING(1 2,3 4)",
    "LINESTRING EMPTY",
    "LINESTRING (1 2)",
    "LINESTRING (1 2 3, 4 5 6)",
    "LINESTRING ((1 2))",
    "POLYGON ((0 0, 1 1, 1 0))",
    "POLYGON((0 0,1 1,1 0),(0.1 0.1,0.2 0.2,0.2 0.1))",
    "POLYGON EMPTY",
    "POLYGON (0 0, 1 1)",
    "DISTANCE ((1 2) 3)",
    "DISTANCE((1.5 2.5) 0.1)",
    "distance ((1 2) 3)",
    "DISTANCE (1 2 3)",
    "DISTANCE ((1 2))",
    "DISTANCE ((1 2) -3)",
]
for text in WKT:
    for cls in (Point, LineString, Polygon, Distance):
        show(f"{cls.__name__} {text!r}", lambda: vars_of(cls.from_wkt(text)))
each("Point of", Point.from_wkt, [None, 5, b"POINT (1 2)"], caught=Exception)

show("list_contents_to_tuple", util.list_contents_to_tuple, [1, [2, 3], (4, [5])])
show(
    "maybe_add_timeout_to_query",
    lambda: [util.maybe_add_timeout_to_query("SELECT", d) for d in (None, dt.timedelta(0), dt.timedelta(seconds=1.5))],
)
each("names", util._positional_rename_invalid_identifiers, [("a", "b c", "1x", "class", "_y", "a"), (), ("ä",)])
