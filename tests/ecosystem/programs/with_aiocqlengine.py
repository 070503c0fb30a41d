"""aiocqlengine: models that are awaited, by a session of its own making."""

from __future__ import annotations

import asyncio
import os
import uuid

from aiocqlengine.models import AioModel
from aiocqlengine.query import AioBatchQuery
from aiocqlengine.session import aiosession_for_cqlengine
from server import connect

from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.management import sync_table

os.environ["CQLENG_ALLOW_SCHEMA_MANAGEMENT"] = "1"


class User(AioModel):
    user_id = columns.UUID(primary_key=True)
    username = columns.Text()


async def main():
    key = uuid.uuid4()
    await User.objects.async_create(user_id=key, username="one")
    assert [user.username for user in await User.async_all()] == ["one"]
    assert [user.user_id for user in await User.objects.filter(user_id=key).async_all()] == [key]
    await User.objects(user_id=key).async_update(username="two")
    user = await User.async_get(user_id=key)
    assert user.username == "two"
    user.username = "three"
    await user.async_save()
    assert (await User.objects(user_id=key).async_get()).username == "three"
    await user.async_delete()
    assert list(await User.async_all()) == []

    batch = AioBatchQuery()
    for number in range(100):
        User.batch(batch).create(user_id=uuid.uuid4(), username=f"user {number}")
    await batch.async_execute()
    names = []
    async for users in User.async_iterate(fetch_size=30):
        names += [user.username for user in users]
    assert sorted(names) == sorted(f"user {number}" for number in range(100))


session = connect()
connection.set_session(session)
sync_table(User)
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
aiosession_for_cqlengine(session)  # futures are of the loop that it finds
loop.run_until_complete(main())
loop.close()
session.cluster.shutdown()
print("done")
