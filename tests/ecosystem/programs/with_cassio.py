"""cassio: its tables with partitions, metadata and vectors, written and read back."""

from __future__ import annotations

import asyncio

import cassio
from cassio.table import ClusteredMetadataVectorCassandraTable, MetadataCassandraTable, PlainCassandraTable
from server import HOST, KEYSPACE, PORT, connect

session = connect()
cassio.init(session=session, keyspace=KEYSPACE)
assert cassio.config.resolve_session() is session

plain = PlainCassandraTable(table="plain", primary_key_type="TEXT")
plain.put(row_id="a", body_blob="text of a")
plain.put(row_id="b", body_blob="text of b", ttl_seconds=1000)
assert plain.get(row_id="a") == {"row_id": "a", "body_blob": "text of a"}
plain.delete(row_id="a")
assert plain.get(row_id="a") is None

meta = MetadataCassandraTable(table="meta", primary_key_type="INT", metadata_indexing="all")
for number in range(30):
    meta.put(row_id=number, body_blob=str(number), metadata={"kind": "odd" if number % 2 else "even"})
found = list(meta.find_entries(n=100, metadata={"kind": "odd"}))
assert {row["row_id"] for row in found} == set(range(1, 30, 2))
assert meta.get(row_id=7) == {"row_id": 7, "body_blob": "7", "metadata": {"kind": "odd"}}

vectors = ClusteredMetadataVectorCassandraTable(
    table="vectors",
    vector_dimension=3,
    vector_similarity_function="COSINE",
    primary_key_type=["TEXT", "INT"],
)
futures = [
    vectors.put_async(
        partition_id="p", row_id=n, body_blob=f"word{n}", vector=[1.0, n / 10, 0.0], metadata={"n": str(n)}
    )
    for n in range(10)
]
for future in futures:
    future.result()
near = list(vectors.metric_ann_search(vector=[1.0, 0.0, 0.0], n=3, metric="cos", partition_id="p"))
assert [row["row_id"] for row in near] == [0, 1, 2], near
assert abs(near[0]["distance"] - 1) < 1e-6
assert near[1]["metadata"] == {"n": "1"}
assert [row["row_id"] for row in vectors.get_partition(partition_id="p", n=4)] == [0, 1, 2, 3]


async def in_asyncio():
    await vectors.aput(partition_id="q", row_id=1, body_blob="later", vector=[0.0, 1.0, 0.0], metadata={})
    await asyncio.gather(*(plain.aput(row_id=f"row{n}", body_blob=str(n)) for n in range(50)))
    return await vectors.aget_partition(partition_id="q"), await plain.aget(row_id="row49")


partition, row = asyncio.run(in_asyncio())
assert [found["body_blob"] for found in partition] == ["later"]
assert row["body_blob"] == "49"

session.cluster.shutdown()

cassio.init(contact_points=f"{HOST}:{PORT}" if PORT != 9042 else HOST, keyspace=KEYSPACE)
assert PlainCassandraTable(table="plain", primary_key_type="TEXT").get(row_id="b")["body_blob"] == "text of b"
cassio.config.resolve_session().cluster.shutdown()
print("done")
