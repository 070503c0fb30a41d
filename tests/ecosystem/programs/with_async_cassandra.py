"""async-cassandra: statements, pages, batches, streams and errors as its users await them."""

from __future__ import annotations

import asyncio

from async_cassandra import AsyncCluster, ConnectionMonitor, StreamConfig
from async_cassandra.exceptions import QueryError
from async_cassandra.result import AsyncResultSet
from server import CREATE, HOST, KEYSPACE, PORT

from cassandra.query import BatchStatement, SimpleStatement

# It takes a result without rows that comes before it is asked for as none, and waits for ever: one statement in some
# thousands where other threads are busy, with scylla-driver, too.
AsyncResultSet.__bool__ = lambda self: True


async def main():
    async with AsyncCluster([HOST], port=PORT) as cluster:
        session = await cluster.connect()
        await session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}")
        await session.execute(CREATE)
        await session.set_keyspace(KEYSPACE)
        assert session.keyspace == KEYSPACE
        await session.execute("CREATE TABLE t (p int, c int, v text, PRIMARY KEY (p, c))")

        insert = await session.prepare("INSERT INTO t (p, c, v) VALUES (?, ?, ?)")
        await asyncio.gather(*(session.execute(insert, (n % 2, n, f"v{n}")) for n in range(300)))
        assert (await session.execute("SELECT count(*) FROM t")).one()[0] == 300

        # pages, all at once and as a stream
        paged = SimpleStatement("SELECT c, v FROM t WHERE p = 1", fetch_size=20)
        result = await session.execute(paged)
        assert len(result) == 150
        assert [row.c async for row in result] == list(range(1, 300, 2))
        select = await session.prepare("SELECT c FROM t WHERE p = ?")
        seen = []
        async with await session.execute_stream(
            select, [0], stream_config=StreamConfig(fetch_size=40, page_callback=lambda page, size: seen.append(size))
        ) as stream:
            assert [row.c async for row in stream] == list(range(0, 300, 2))
        assert seen == [40, 40, 40, 30], seen
        async with await session.execute_stream(select, [0], stream_config=StreamConfig(fetch_size=40)) as stream:
            assert [len(page) async for page in stream.pages()] == [40, 40, 40, 30]

        batch = BatchStatement()
        batch.add(insert, (7, 1, "one"))
        batch.add("INSERT INTO t (p, c, v) VALUES (7, 2, 'two')")
        await session.execute_batch(batch)
        result = await session.execute("SELECT v FROM t WHERE p = %s", (7,))
        assert sorted(row.v for row in result.all()) == ["one", "two"]

        for wrong in ("SELECT * FROM nowhere", "SELEKT"):
            try:
                await session.execute(wrong)
            except QueryError as error:
                assert error.cause is not None
            except Exception as error:  # those of the driver, in this version
                assert type(error).__name__ in ("InvalidRequest", "SyntaxException"), repr(error)
            else:
                raise AssertionError(wrong)

        monitor = ConnectionMonitor(session)
        metrics = await monitor.get_cluster_metrics()
        assert [host.status for host in metrics.hosts] == ["up"], metrics
        await session.close()
        assert session.is_closed


asyncio.run(main())
print("done")
