"""LangGraph's checkpoints, by ScyllaDB's own package."""

from __future__ import annotations

import asyncio
import uuid

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.scylladb import ScyllaDBSaver
from server import KEYSPACE, connect


def config(thread, **more):
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **more}}


def checkpoint(step):
    made = empty_checkpoint()
    made["channel_values"] = {"messages": [f"step {step}", 2.5, None, b"bytes"], "id": uuid.UUID(int=step)}
    made["channel_versions"] = {"messages": step + 1, "id": step + 1}
    return made


def steps(found):
    return [each.metadata["step"] for each in found]


session = connect()
saver = ScyllaDBSaver(session, keyspace=KEYSPACE)
saver.setup()
saver.setup()
at = config("one")
for step in range(5):
    made = checkpoint(step)
    at = saver.put(at, made, {"source": "loop", "step": step}, made["channel_versions"])
saver.put_writes(at, [("messages", "pending"), ("id", 3)], task_id="task", task_path="~/task")

found = saver.get_tuple(config("one"))
assert found.checkpoint["channel_values"] == checkpoint(4)["channel_values"], found
assert [write[:3] for write in found.pending_writes] == [("task", "messages", "pending"), ("task", "id", 3)], found
assert steps(saver.list(config("one"))) == [4, 3, 2, 1, 0]
assert steps(saver.list(config("one"), limit=2)) == [4, 3]
assert steps(saver.list(config("one"), before=at)) == [3, 2, 1, 0]
assert steps(saver.list(config("one"), filter={"step": 2})) == [2]
assert saver.get_tuple(found.parent_config).metadata["step"] == 3
saver.delete_thread("one")
assert saver.get_tuple(config("one")) is None


async def on_a_loop():  # from_conn_string makes a keyspace as only ScyllaDB does
    saver = ScyllaDBSaver(session, keyspace=KEYSPACE, ttl=3600)
    saver.setup()

    async def one(thread):
        at = config(thread)
        for step in range(3):
            made = checkpoint(step)
            at = await saver.aput(at, made, {"source": "loop", "step": step}, made["channel_versions"])
        await saver.aput_writes(at, [("messages", thread)], task_id="task")
        found = await saver.aget_tuple(config(thread))
        assert found.pending_writes == [("task", "messages", thread)]
        return steps([each async for each in saver.alist(config(thread))])

    assert await asyncio.gather(*(one(f"thread {n}") for n in range(10))) == [[2, 1, 0]] * 10
    await saver.adelete_thread("thread 3")
    assert await saver.aget_tuple(config("thread 3")) is None


asyncio.run(on_a_loop())
session.cluster.shutdown()
print("done")
