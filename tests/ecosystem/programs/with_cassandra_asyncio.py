"""cassandra-asyncio-driver: statements, pages and many at a time, awaited."""

from __future__ import annotations

import asyncio

from cassandra_asyncio.cluster import Cluster
from server import HOST, KEYSPACE, PORT, connect

from cassandra import InvalidRequest
from cassandra.query import SimpleStatement, dict_factory

session = connect()
session.execute("CREATE TABLE t (p int, c int, PRIMARY KEY (p, c))")
session.cluster.shutdown()


async def main():
    cluster = Cluster([HOST], port=PORT)
    session = cluster.connect(KEYSPACE)
    insert = session.prepare("INSERT INTO t (p, c) VALUES (?, ?)")
    outcomes = await session.aexecute_concurrent([(insert, (1, n)) for n in range(250)], concurrency=20)
    assert len(outcomes) == 250 and all(outcome.success for outcome in outcomes)
    await asyncio.gather(*(session.aexecute(insert, (2, n)) for n in range(50)))

    result = await session.aexecute(SimpleStatement("SELECT c FROM t WHERE p = 1", fetch_size=30))
    assert [row.c async for row in result] == list(range(250))
    result = await session.aexecute(SimpleStatement("SELECT c FROM t WHERE p = 2", fetch_size=30))
    assert result.has_more_pages and len(result.current_rows) == 30
    await result.afetch_next_page()
    assert [row.c for row in result.current_rows] == list(range(30, 50)) and not result.has_more_pages
    assert len(await (await session.aexecute("SELECT * FROM t")).aall()) == 300

    outcomes = await session.aexecute_concurrent([("SELECT c FROM t WHERE p = 2", None), ("SELECT x FROM t", None)])
    assert outcomes[0].success and len(outcomes[0].result_or_exc.current_rows) == 50
    assert isinstance(outcomes[1].result_or_exc, InvalidRequest)
    try:
        await session.aexecute("SELECT x FROM t")
    except InvalidRequest:
        pass
    else:
        raise AssertionError("there is no such column")
    session.row_factory = dict_factory
    assert (await session.aexecute("SELECT c FROM t LIMIT 1")).one() == {"c": 0}
    assert session.execute("SELECT count(*) FROM t").one() == {"count": 300}
    cluster.shutdown()


asyncio.run(main())
print("done")
