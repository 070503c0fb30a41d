"""coodie: documents, queries, batches, vectors, blocking and in asyncio."""

from __future__ import annotations

import asyncio
from typing import Annotated
from uuid import UUID, uuid4

from coodie.aio import Document as AsyncDocument
from coodie.aio import init_coodie as init_async
from coodie.batch import BatchQuery
from coodie.fields import ClusteringKey, Indexed, PrimaryKey, Vector
from coodie.sync import Document, init_coodie
from pydantic import Field
from server import HOST, KEYSPACE, PORT, connect

connect().cluster.shutdown()


class Product(Document):
    id: Annotated[UUID, PrimaryKey()] = Field(default_factory=uuid4)
    category: Annotated[str, ClusteringKey()] = "general"
    name: str
    brand: Annotated[str, Indexed()] = "Unknown"
    price: float = 0.0
    tags: set[str] = Field(default_factory=set)

    class Settings:
        name = "products"


class Point(AsyncDocument):
    id: Annotated[int, PrimaryKey()]
    where_at: Annotated[list[float], Vector(dimensions=2)]  # its index is one of ScyllaDB

    class Settings:
        name = "points"


init_coodie(hosts=[HOST], port=PORT, keyspace=KEYSPACE)
Product.sync_table()
Product.sync_table()
products = [Product(name=f"p{n}", brand=f"b{n % 3}", price=n / 2, tags={"x", str(n)}) for n in range(30)]
for product in products:
    product.save()
assert {found.name for found in Product.find(brand="b1").all()} == {f"p{n}" for n in range(1, 30, 3)}
assert Product.find(brand="b0").allow_filtering().count() == 10
assert Product.get(id=products[4].id).tags == {"x", "4"}
assert len(Product.find().limit(7).all()) == 7
products[5].delete()
assert Product.find_one(id=products[5].id) is None
with BatchQuery() as batch:
    for n in range(5):
        Product(name=f"batch {n}", brand="batch").save(batch=batch)
assert Product.find(brand="batch").count() == 5


async def main():
    await init_async(hosts=[HOST], port=PORT, keyspace=KEYSPACE)
    await Point.sync_table()
    await asyncio.gather(*(Point(id=n, where_at=[n, 10.0 - n]).save() for n in range(10)))
    assert (await Point.get(id=3)).where_at == [3.0, 7.0]
    assert sorted([found.id async for found in Point.find()]) == list(range(10))


asyncio.run(main())
print("done")
