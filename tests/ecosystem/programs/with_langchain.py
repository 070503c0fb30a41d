"""langchain-community's stores: vectors, chat history, cache of answers, bytes, documents of a query."""

from __future__ import annotations

import asyncio

import cassio
from langchain_community.cache import CassandraCache
from langchain_community.chat_message_histories import CassandraChatMessageHistory
from langchain_community.document_loaders import CassandraLoader
from langchain_community.storage import CassandraByteStore
from langchain_community.utilities.cassandra import SetupMode
from langchain_community.vectorstores import Cassandra
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import Generation
from server import KEYSPACE, connect


class Letters(Embeddings):
    """How often a text has the letters a, b and c."""

    def embed_query(self, text):
        return [text.count(letter) + 0.01 for letter in "abc"]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


session = connect()
cassio.init(session=session, keyspace=KEYSPACE)

store = Cassandra(embedding=Letters(), table_name="vectors")
store.add_texts(["aaaa", "bbbb", "cccc", "aabb"], [{"n": str(n)} for n in range(4)], ids=["1", "2", "3", "4"])
assert [found.page_content for found in store.similarity_search("a", k=2)] == ["aaaa", "aabb"]
((found, score),) = store.similarity_search_with_score("b", k=1)
assert (found.page_content, found.metadata) == ("bbbb", {"n": "1"})
assert score > 0.99
assert [found.page_content for found in store.similarity_search("c", k=4, filter={"n": "0"})] == ["aaaa"]
first, _ = store.max_marginal_relevance_search("ab", k=2)
assert first.page_content == "aabb"
store.delete(["4"])
assert store.get_by_document_id("4") is None
assert len(store.similarity_search("a", k=10)) == 3


async def in_asyncio():
    later = Cassandra(embedding=Letters(), table_name="later", setup_mode=SetupMode.ASYNC)
    await later.aadd_documents([Document(page_content="abc" * n, metadata={"n": str(n)}) for n in range(1, 40)])
    found = await later.asimilarity_search("abc", k=5, filter={"n": "7"})
    messages = CassandraChatMessageHistory("asynchronous", setup_mode=SetupMode.ASYNC, table_name="chats_later")
    await messages.aadd_messages([HumanMessage("hello")])
    return found, await messages.aget_messages()


found, messages = asyncio.run(in_asyncio())
assert [document.page_content for document in found] == ["abc" * 7]
assert [message.content for message in messages] == ["hello"]

chat = CassandraChatMessageHistory("one", table_name="chats", ttl_seconds=1000)
chat.add_messages([HumanMessage("How are you?"), AIMessage("Fine.")])
assert chat.messages == [HumanMessage("How are you?"), AIMessage("Fine.")]
assert CassandraChatMessageHistory("two", table_name="chats").messages == []
chat.clear()
assert chat.messages == []

cache = CassandraCache(table_name="answers")
cache.update("prompt", "model", [Generation(text="answer")])
assert cache.lookup("prompt", "model") == [Generation(text="answer")]
assert cache.lookup("prompt", "other") is None

blobs = CassandraByteStore(table="blobs", session=session, keyspace=KEYSPACE)
blobs.mset([(f"k{n}", bytes([n])) for n in range(20)])
assert blobs.mget(["k3", "nothing", "k19"]) == [b"\x03", None, b"\x13"]
blobs.mdelete(["k3"])
assert set(blobs.yield_keys(prefix="k")) == {f"k{n}" for n in range(20)} - {"k3"}

session.execute("CREATE TABLE pages (id int PRIMARY KEY, text text, author text)")
for n in range(3):
    session.execute("INSERT INTO pages (id, text, author) VALUES (%s, %s, %s)", (n, f"page {n}", "me"))
loader = CassandraLoader(
    table="pages", session=session, keyspace=KEYSPACE, page_content_mapper=lambda row: row.text,
    metadata_mapper=lambda row: {"id": row.id},
)  # fmt: skip
documents = sorted(loader.load(), key=lambda document: document.page_content)
assert [document.page_content for document in documents] == ["page 0", "page 1", "page 2"]
assert documents[1].metadata == {"table": "pages", "keyspace": KEYSPACE, "id": 1}
session.cluster.shutdown()
print("done")
