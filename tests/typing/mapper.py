"""What applications see of the types of the object mapper: each ``reveal_type`` says what mypy is to find."""

from __future__ import annotations

from typing_extensions import reveal_type

from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedTable
from cassandra.cqlengine.query import BatchQuery
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


class Product(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text()
    price = columns.Decimal()
    tags = columns.List(columns.Text)


def models_are_what_they_declare(product: Product) -> None:
    reveal_type(product.name)  # str
    reveal_type(product.price)  # decimal.Decimal
    reveal_type(product.tags)  # list[str]
    reveal_type(product.save())  # tests.typing.mapper.Product
    reveal_type(product.update(name="x"))  # tests.typing.mapper.Product
    reveal_type(product.timeout(5))  # tests.typing.mapper.Product
    reveal_type(product.delete())  # None
    reveal_type(product.keys())  # list[str]


def models_are_found(key: int) -> None:
    reveal_type(Product.objects)  # cassandra._mapper.query_models.ModelQuerySet[tests.typing.mapper.Product]
    few = Product.objects.filter(id=key).limit(5)
    reveal_type(few)  # cassandra._mapper.query_models.ModelQuerySet[tests.typing.mapper.Product]
    reveal_type(Product.filter(id=key))  # cassandra._mapper.query_models.ModelQuerySet[tests.typing.mapper.Product]
    reveal_type(Product.get(id=key))  # tests.typing.mapper.Product
    reveal_type(Product.objects.get(id=key).name)  # str
    reveal_type(Product.objects.first())  # tests.typing.mapper.Product | None
    reveal_type(Product.create(id=key))  # tests.typing.mapper.Product
    reveal_type([one.price for one in Product.objects])  # list[decimal.Decimal]
    flat = Product.objects.values_list("name", flat=True)
    reveal_type(flat)  # cassandra._mapper.query_models.ModelQuerySet[Any]
    reveal_type([*Product.objects.values_list("id", "name")])  # list[Any]
    reveal_type(Product.objects.count())  # int
    reveal_type(len(Product.objects))  # int


async def models_are_awaited(key: int) -> None:
    reveal_type(await Product.aget(id=key))  # tests.typing.mapper.Product
    reveal_type(await Product.acreate(id=key))  # tests.typing.mapper.Product
    reveal_type(await Product.objects.afirst())  # tests.typing.mapper.Product | None
    reveal_type(await Product.objects.aall())  # list[tests.typing.mapper.Product]
    reveal_type(await Product.objects.acount())  # int
    reveal_type([one.name async for one in Product.objects])  # list[str]
    async with BatchQuery() as batch:
        reveal_type(batch)  # cassandra._mapper.writing.BatchQuery


def tables_by_name(table: NamedTable) -> None:
    reveal_type(table.get(id=1))  # cassandra._mapper.named.ResultObject
    reveal_type(table.objects)  # cassandra._mapper.named.SimpleQuerySet
