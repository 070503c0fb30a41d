"""langchain-cassandra: its vector store, which keeps vectors as lists."""

from __future__ import annotations

from langchain_cassandra import Cassandra
from langchain_core.embeddings import Embeddings
from server import HOST, KEYSPACE, PORT, connect


class Letters(Embeddings):
    """How often a text has the letters a, b and c."""

    def embed_query(self, text):
        return [text.count(letter) + 0.01 for letter in "abc"]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


connect().cluster.shutdown()
where = {"contact_points": [HOST], "port": PORT, "keyspace": KEYSPACE}
store = Cassandra.from_texts(
    ["aaaa", "bbbb", "cccc"], Letters(), metadatas=[{"n": n} for n in range(3)], ids=["1", "2", "3"], **where
)
store.add_texts(["aabb"], metadatas=[{"n": 3}], ids=["4"])
assert [found.page_content for found in store.similarity_search("a", k=2)] == ["aaaa", "aabb"]
((found, score),) = store.similarity_search_with_score("b", k=1)
assert (found.page_content, found.metadata["n"]) == ("bbbb", 1)
store.delete(["2"])
again = Cassandra(embedding_function=Letters(), **where)
assert sorted(found.page_content for found in again.similarity_search("b", k=9)) == ["aaaa", "aabb", "cccc"]
print("done")
