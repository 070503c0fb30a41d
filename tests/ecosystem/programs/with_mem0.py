"""mem0's vector store."""

from __future__ import annotations

from mem0.vector_stores.cassandra import CassandraDB
from server import HOST, KEYSPACE, PORT, connect

connect().cluster.shutdown()
store = CassandraDB([HOST], port=PORT, keyspace=KEYSPACE, collection_name="memories", embedding_model_dims=3)
payloads = [{"user_id": user, "data": f"memory {n}"} for n, user in enumerate(("ada", "bob", "ada"))]
store.insert([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]], payloads, ids=["a", "b", "c"])
assert [found.id for found in store.search("", [1.0, 0.1, 0.0], top_k=2)] == ["a", "c"]
assert [found.id for found in store.search("", [0.0, 1.0, 0.0], filters={"user_id": "ada"})] == ["c", "a"]
store.update("b", vector=[0.0, 0.0, 1.0], payload={"user_id": "bob", "data": "changed"})
assert store.get("b").payload["data"] == "changed"
assert store.get("nothing") is None
assert sorted(found.id for found in store.list(filters={"user_id": "ada"})[0]) == ["a", "c"]
store.delete("a")
assert store.get("a") is None
assert store.list_cols() == ["memories"]
assert store.col_info()["name"] == "memories"
store.reset()
assert store.list()[0] == []
store.delete_col()
assert store.list_cols() == []
print("done")
