"""Object mapper: columns of every type, saved and read back. Runs with any driver; see mapper_values.txt."""

# mypy: ignore-errors

import datetime
import uuid
from decimal import Decimal

from cases import show
from mapping import items, mapped, sent

from cassandra.cqlengine import columns
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model
from cassandra.util import Date, Duration, Time

TIMEUUID = uuid.UUID("9e3aa0c0-5b1a-11ee-8c99-0242ac120002")
UUID4 = uuid.UUID("c9c1d0d7-7fc4-4b5a-9bf3-5f5a0e5d1f0e")
OFFSET = datetime.timezone(datetime.timedelta(hours=2))


class Everything(Model):
    id = columns.Integer(primary_key=True)
    a_ascii = columns.Ascii()
    a_bigint = columns.BigInt()
    a_blob = columns.Blob()
    a_bytes = columns.Bytes()
    a_boolean = columns.Boolean()
    a_date = columns.Date()
    a_datetime = columns.DateTime()
    a_decimal = columns.Decimal()
    a_double = columns.Double()
    a_duration = columns.Duration()
    a_float = columns.Float()
    an_inet = columns.Inet()
    an_integer = columns.Integer()
    a_smallint = columns.SmallInt()
    a_text = columns.Text()
    a_time = columns.Time()
    a_timeuuid = columns.TimeUUID()
    a_tinyint = columns.TinyInt()
    a_uuid = columns.UUID()
    a_varint = columns.VarInt()
    renamed = columns.Text(db_field="other_name")


class Short(Model):
    id = columns.Integer(primary_key=True)
    text = columns.Text(min_length=2, max_length=4)


class Required(Model):
    id = columns.Integer(primary_key=True)
    text = columns.Text(required=True)
    other = columns.Text(default="x")
    made = columns.UUID(default=lambda: UUID4)


VALUES = {
    "a_ascii": ["", "plain", "it's", "é", 5, None, b"x"],
    "a_bigint": [0, -(2**63), 2**63 - 1, 2**63, "17", 1.5, True, "x", None],
    "a_blob": [b"", b"\x00\xff", bytearray(b"ab"), None],
    "a_bytes": [b"", b"xyz"],
    "a_boolean": [True, False, 0, 1, "", "no", None],
    "a_date": [
        datetime.date(2024, 2, 29),
        datetime.date(1, 1, 1),
        datetime.datetime(2020, 1, 2, 3, 4),
        Date(0),
        Date(-1),
        Date("2024-03-01"),
        "2024-03-01",
        19000,
        None,
    ],
    "a_datetime": [
        datetime.datetime(2024, 2, 29, 12, 30, 15, 123456),
        datetime.datetime(2024, 2, 29, 12, 30, 15, 999999),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 1000),
        datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc),
        datetime.datetime(2024, 2, 29, 12, tzinfo=OFFSET),
        datetime.date(2024, 2, 29),
        1700000000,
        1700000000.5,
        "2024-01-01",
        None,
    ],
    "a_decimal": [Decimal("1.5"), Decimal("-0.001"), "3.14", 2.5, "x", None],
    "a_double": [1.5, 0, -1e300, "2.5", float("inf"), "x", None],
    "a_duration": [Duration(1, 2, 3), Duration(), Duration(-1, -2, -3), None],
    "a_float": [1.5, 0, "2.5", 1 / 3, "x", None],
    "an_inet": ["127.0.0.1", "::1", "2001:db8::1", "nowhere", None],
    "an_integer": [0, -(2**31), 2**31 - 1, 2**31, "17", 1.9, True, "x", [], None],
    "a_smallint": [0, -(2**15), 2**15 - 1, 2**15, "17", None],
    "a_text": ["", "plain", "it's", "日本語", "a\nb", 'q"', "%(0)s", "%", "?", 5, b"x", ["x"], None],
    "a_time": [
        Time(0),
        Time("12:30:15.123456789"),
        datetime.time(1, 2, 3, 4),
        "01:02:03",
        3600 * 10**9,
        None,
    ],
    "a_timeuuid": [TIMEUUID, str(TIMEUUID), UUID4, "x", None],
    "a_tinyint": [0, -128, 127, 128, "17", None],
    "a_uuid": [UUID4, TIMEUUID, str(UUID4), UUID4.hex, "x", 5, None],
    "a_varint": [0, 2**100, -(2**100), "17", 1.5, "x", None],
    "renamed": ["x", "y", None],
}


def saved_and_read(name, value):
    """What is saved of a value, and whether the same is read by all ways."""
    Everything.objects(id=1).delete()
    instance = Everything.create(id=1, **{name: value})
    kept = getattr(instance, name)
    read = getattr(Everything.get(id=1), name)
    listed = Everything.objects(id=1).values_list(name, flat=True).first()
    return kept, read, type(read).__name__, read == listed


def updated(name, value):
    Everything.create(id=2, a_text="row", **{name: None})
    Everything.objects(id=2).update(**{name: value})
    by_set = getattr(Everything.get(id=2), name)
    instance = Everything.get(id=2)
    setattr(instance, name, None)
    instance.save()
    cleared = getattr(Everything.get(id=2), name)
    instance.update(**{name: value})
    return by_set, cleared, getattr(Everything.get(id=2), name)


with mapped() as session:
    sync_table(Everything)
    show("nothing", lambda: items(Everything.create(id=0)))
    show("nothing is read", lambda: items(Everything.get(id=0)))
    for name, values in VALUES.items():
        for value in values:
            show(f"{name} {value!r}", saved_and_read, name, value)
    for name, values in VALUES.items():
        show(f"update {name} {values[1]!r}", updated, name, values[1])
    for name, values in VALUES.items():
        value = values[1] if name != "an_inet" else values[0]
        sent(f"saving {name}", lambda: Everything(id=3, **{name: value}).save() and None)
        sent(f"filtering {name}", lambda: len(Everything.objects.filter(**{name: value}).allow_filtering()))
    sync_table(Short)
    sync_table(Required)
    for value in ("ab", "abcd", "", "a", "abcde", None):
        show(f"length of {value!r}", lambda: items(Short.create(id=1, text=value)))
        show(f"required {value!r}", lambda: items(Required.create(id=1, text=value)))
    sent("required not given", lambda: Required.create(id=1))
    sent("required given", lambda: items(Required.create(id=1, text="t")))
    sent("required set to None", lambda: Required.objects(id=1).update(text=None))
    sent("default set to None", lambda: Required(id=2, text="t", other=None).save() and None)
    show("default set to None read", lambda: items(Required.get(id=2)))
    sent("no key", lambda: Required.create(text="t"))
    sent("key None", lambda: Required.create(id=None, text="t"))
    sent("unknown column", lambda: Required.create(id=1, nothing="t"))
