"""aiocassandra: futures of requests awaited on a loop. (Its paginator needs a Python before 3.10.)"""

from __future__ import annotations

import asyncio

from aiocassandra import aiosession
from server import connect

session = connect()
session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")


async def main():
    aiosession(session)
    await asyncio.gather(*(session.execute_future(insert, (k, str(k))) for k in range(100)))
    rows = await session.execute_future("SELECT * FROM t")
    prepared = await session.prepare_future("SELECT v FROM t WHERE k = ?")
    (row,) = await session.execute_future(prepared, [42])
    try:
        await session.execute_future("SELECT * FROM nowhere")
    except Exception as error:
        return list(rows), row, error
    raise AssertionError("the statement did not fail")


rows, row, error = asyncio.run(main())
assert sorted(rows) == [(k, str(k)) for k in range(100)]
assert row.v == "42"
assert type(error).__name__ == "InvalidRequest", repr(error)
session.cluster.shutdown()
print("done")
