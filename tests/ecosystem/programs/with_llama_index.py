"""llama-index's vector store under an index: documents in, nearest ones and filtered ones out, deletion."""

from __future__ import annotations

import cassio
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters, VectorStoreQuery
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.vector_stores.cassandra import CassandraVectorStore
from server import KEYSPACE, connect

session = connect()
cassio.init(session=session, keyspace=KEYSPACE)
store = CassandraVectorStore(table="vectors", embedding_dimension=3)


def node(n):
    return TextNode(
        id_=f"node{n}",
        text=f"text {n}",
        embedding=[1.0, n / 10, 0.0],
        metadata={"kind": "odd" if n % 2 else "even"},
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"document{n // 5}")},
    )


assert store.add([node(n) for n in range(40)]) == [f"node{n}" for n in range(40)]


def nearest(**arguments):
    found = store.query(VectorStoreQuery(query_embedding=[1.0, 0.0, 0.0], similarity_top_k=3, **arguments))
    assert [one.get_content() for one in found.nodes] == [f"text {id_.removeprefix('node')}" for id_ in found.ids]
    return found.ids


assert nearest() == ["node0", "node1", "node2"]
assert nearest(filters=MetadataFilters(filters=[ExactMatchFilter(key="kind", value="odd")])) == [
    "node1",
    "node3",
    "node5",
]
assert len(nearest(mode=VectorStoreQueryMode.MMR)) == 3
store.delete("document0")
assert nearest() == ["node5", "node6", "node7"]
session.cluster.shutdown()
print("done")
