"""What applications see of the types of the object mapper: each ``reveal_type`` says what mypy is to find."""

from __future__ import annotations

from typing_extensions import reveal_type

from cassandra.cqlengine import columns
from cassandra.cqlengine.usertype import UserType


class Address(UserType):
    street = columns.Text()
    number = columns.Integer(default=7)


class Everything(UserType):
    ascii = columns.Ascii(max_length=5)
    big = columns.BigInt()
    blob = columns.Blob()
    boolean = columns.Boolean(default=True)
    date = columns.Date()
    moment = columns.DateTime()
    decimal = columns.Decimal()
    double = columns.Double()
    duration = columns.Duration()
    float = columns.Float()
    inet = columns.Inet()
    small = columns.SmallInt()
    time = columns.Time()
    timeuuid = columns.TimeUUID()
    tiny = columns.TinyInt()
    uuid = columns.UUID()
    varint = columns.VarInt()
    counter = columns.Counter()
    list = columns.List(columns.Integer)
    set = columns.Set(columns.Text(max_length=3))
    map = columns.Map(columns.Text, columns.Integer)
    nested = columns.List(columns.List(columns.Float()))
    tuple = columns.Tuple(columns.Integer, columns.Text)
    vector = columns.Vector(columns.Float, 3)
    address = columns.UserDefinedType(Address)
    addresses = columns.Map(columns.Text, columns.UserDefinedType(Address))


def columns_are_their_values(it: Everything) -> None:
    reveal_type(it.ascii)  # str
    reveal_type(it.big)  # int
    reveal_type(it.blob)  # bytes
    reveal_type(it.boolean)  # bool
    reveal_type(it.date)  # cassandra._base.temporal.Date
    reveal_type(it.moment)  # datetime.datetime
    reveal_type(it.decimal)  # decimal.Decimal
    reveal_type(it.double)  # float
    reveal_type(it.duration)  # cassandra._base.temporal.Duration
    reveal_type(it.float)  # float
    reveal_type(it.inet)  # str
    reveal_type(it.small)  # int
    reveal_type(it.time)  # cassandra._base.temporal.Time
    reveal_type(it.timeuuid)  # uuid.UUID
    reveal_type(it.tiny)  # int
    reveal_type(it.uuid)  # uuid.UUID
    reveal_type(it.varint)  # int
    reveal_type(it.counter)  # int
    reveal_type(it.list)  # list[int]
    reveal_type(it.set)  # set[str]
    reveal_type(it.map)  # dict[str, int]
    reveal_type(it.nested)  # list[list[float]]
    reveal_type(it.tuple)  # tuple[Any, ...]
    reveal_type(it.vector)  # list[float]
    reveal_type(it.address)  # tests.typing.mapper.Address
    reveal_type(it.address.street)  # str
    reveal_type(it.addresses)  # dict[str, tests.typing.mapper.Address]
    it.address.number = 5
    it.address.number = None  # what is null in the database
