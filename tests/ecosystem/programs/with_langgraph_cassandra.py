"""LangGraph's checkpoints in Cassandra, from threads and (by cassandra-asyncio-driver) from a loop."""

from __future__ import annotations

import asyncio

from cassandra_asyncio.cluster import Cluster as AsyncCluster
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph_checkpoint_cassandra import CassandraSaver
from server import HOST, KEYSPACE, PORT, connect

from cassandra.query import dict_factory


def echo(state):
    return {"messages": [AIMessage(content=f"you said {state['messages'][-1].content}")]}


def compiled(saver):
    graph = StateGraph(MessagesState)
    graph.add_node("chat", echo)
    graph.add_edge(START, "chat")
    graph.add_edge("chat", END)
    return graph.compile(checkpointer=saver)


def said(state):
    return [message.content for message in state["messages"]]


HEARD = ["hello", "you said hello", "more", "you said more"]

session = connect()
saver = CassandraSaver(session, keyspace=KEYSPACE)
saver.setup()
saver.setup()  # finds that nothing is to be done
app = compiled(saver)
config = {"configurable": {"thread_id": "one"}}
assert said(app.invoke({"messages": [HumanMessage("hello")]}, config)) == HEARD[:2]
assert said(app.invoke({"messages": [HumanMessage("more")]}, config)) == HEARD
assert said(app.get_state(config).values) == HEARD
history = list(app.get_state_history(config))
assert [state.metadata["step"] for state in history] == [4, 3, 2, 1, 0, -1], history
assert [found.metadata["step"] for found in saver.list(config, filter={"step": 1})] == [1]
assert len(list(saver.list(config, filter={"source": "loop"}, limit=3))) == 3
again = app.invoke(None, history[-1].config)  # from its first checkpoint on
assert said(again) == HEARD[:2]
saver.delete_thread("one")
assert saver.get_tuple(config) is None
session.cluster.shutdown()


async def on_a_loop():
    cluster = AsyncCluster([HOST], port=PORT)
    session = cluster.connect(KEYSPACE)
    app = compiled(CassandraSaver(session, keyspace=KEYSPACE))
    configs = [{"configurable": {"thread_id": f"thread {n}"}} for n in range(10)]
    await asyncio.gather(*(app.ainvoke({"messages": [HumanMessage("hello")]}, config) for config in configs))
    await asyncio.gather(*(app.ainvoke({"messages": [HumanMessage("more")]}, config) for config in configs))
    for config in configs:
        assert said((await app.aget_state(config)).values) == HEARD
    session.row_factory = dict_factory
    rows = await session.aexecute("SELECT thread_id FROM checkpoints")
    assert {row["thread_id"] for row in rows} == {f"thread {n}" for n in range(10)}
    try:
        await session.aexecute("SELECT * FROM nowhere")
    except Exception as error:
        assert type(error).__name__ == "InvalidRequest", error
    else:
        raise AssertionError("there is no such table")
    cluster.shutdown()


asyncio.run(on_a_loop())
print("done")
