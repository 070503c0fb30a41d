"""``await`` on the same session: many at once, cancelled, timed out, on several loops, beside threads."""

from __future__ import annotations

import asyncio
import gc
import selectors
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvloop

from cassandra import InvalidRequest, OperationTimedOut
from cassandra.cluster import Cluster, NoHostAvailable, ResultSet, Session
from cassandra.protocol import ServerError
from cassandra.query import SimpleStatement
from tests.integration.proxy import HOLD, PASS, FaultProxy
from tests.patience import PATIENCE

QUERY = "SELECT key FROM system.local"
MARK = b"it_asyncio_mark"
MARKED = "SELECT key FROM system.local /* it_asyncio_mark */"


@pytest.fixture(scope="module")
def select(session: Session) -> Any:
    return session.prepare("SELECT (int) ? AS n FROM system.local")


@pytest.fixture
def proxy(cassandra_node: Any) -> Iterator[FaultProxy]:
    with FaultProxy((cassandra_node.contact_points[0], cassandra_node.port)) as proxy:
        proxy.on_request = lambda message: HOLD if MARK in message.body else PASS
        yield proxy


@pytest.fixture
def proxied(proxy: FaultProxy) -> Iterator[Session]:
    with Cluster(proxy.contact_points, port=proxy.port, protocol_version=4, compression=False) as cluster:
        yield cluster.connect(wait_for_all_pools=True)


def test_await(session: Session, select: Any) -> None:
    async def main() -> None:
        result = await session.execute_async(QUERY)
        assert isinstance(result, ResultSet)
        assert result.one() == ("local",)
        assert (await session.execute_async(select, (5,))).one() == (5,)
        with pytest.raises(InvalidRequest):
            await session.execute_async("SELECT * FROM nothing_there")

    asyncio.run(main())


def test_gather(session: Session, select: Any) -> None:
    async def main() -> list[int]:
        results = await asyncio.gather(*(session.execute_async(select, (n,)) for n in range(3000)))
        return [result.one().n for result in results]

    assert asyncio.run(main()) == list(range(3000))


def test_tasks(session: Session, select: Any) -> None:
    async def one(number: int) -> int:
        total = 0
        for step in range(20):
            total += (await session.execute_async(select, (number + step,))).one().n
        return total

    async def main() -> list[int]:
        return await asyncio.gather(*(one(n) for n in range(50)))

    assert asyncio.run(main()) == [sum(range(n, n + 20)) for n in range(50)]


def test_awaited_twice_and_by_two_tasks(session: Session) -> None:
    async def main() -> None:
        future = session.execute_async(QUERY)

        async def wait() -> Any:
            return (await future).one()

        assert await asyncio.gather(wait(), wait(), wait()) == [("local",)] * 3
        assert (await future).one() == ("local",)

    asyncio.run(main())


def test_already_there(session: Session) -> None:
    async def main() -> None:
        future = session.execute_async(QUERY)
        future.result()
        assert (await future).one() == ("local",)

    asyncio.run(main())


def test_sent_outside_the_loop_and_awaited_inside(session: Session) -> None:
    future = session.execute_async(QUERY)

    async def main() -> Any:
        return (await future).one()

    assert asyncio.run(main()) == ("local",)


def test_statements_that_take_several_steps(session: Session) -> None:
    """USE and schema changes conclude on other threads than answers do."""

    async def main() -> None:
        await session.execute_async("CREATE TABLE steps (k int PRIMARY KEY)")
        await session.execute_async(f"USE {session.keyspace}")
        await session.execute_async("INSERT INTO steps (k) VALUES (1)")
        assert (await session.execute_async("SELECT k FROM steps")).one() == (1,)

    asyncio.run(main())


class TestCancel:
    def test_a_task(self, proxy: FaultProxy, proxied: Session) -> None:
        """The request is given up: its stream waits for the late answer, which is dropped."""

        async def main() -> None:
            future = proxied.execute_async(MARKED)

            async def wait() -> None:
                await future

            task = asyncio.create_task(wait())
            await asyncio.sleep(0.05)
            proxy.wait_held()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            (pool,) = proxied.get_pools()
            (connection,) = pool.get_connections()
            begin = time.monotonic()
            while not connection.orphaned:  # the I/O thread gives it up
                await asyncio.sleep(0.01)
                assert time.monotonic() - begin < PATIENCE
            assert connection.orphaned == 1
            proxy.release()
            begin = time.monotonic()
            while connection.orphaned:
                assert (await proxied.execute_async(QUERY)).one() == ("local",)
                assert time.monotonic() - begin < PATIENCE

        asyncio.run(main())

    def test_wait_for(self, proxy: FaultProxy, proxied: Session) -> None:
        async def main() -> None:
            begin = time.monotonic()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(_awaited(proxied.execute_async(MARKED)), 0.1)
            assert time.monotonic() - begin < PATIENCE
            assert (await proxied.execute_async(QUERY)).one()

        asyncio.run(main())

    def test_many(self, proxy: FaultProxy, proxied: Session) -> None:
        """Half are cancelled while the other half go on."""

        async def main() -> None:
            tasks = [asyncio.create_task(_awaited(proxied.execute_async(MARKED))) for _ in range(100)]
            await asyncio.sleep(0.05)
            proxy.wait_held(100)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.sleep(0)
            proxy.release()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(result, asyncio.CancelledError) for result in results[::2])
            assert [result.one() for result in results[1::2]] == [("local",)] * 50

        asyncio.run(main())

    def test_timeout_of_the_request(self, proxy: FaultProxy, proxied: Session) -> None:
        async def main() -> None:
            with pytest.raises(OperationTimedOut):
                await proxied.execute_async(MARKED, timeout=0.1)

        asyncio.run(main())

    def test_a_lost_connection(self, proxy: FaultProxy, proxied: Session) -> None:
        from cassandra.connection import ConnectionException

        async def main() -> None:
            future = proxied.execute_async(MARKED)
            await asyncio.sleep(0.05)
            proxy.cut()
            with pytest.raises((ConnectionException, NoHostAvailable)):
                await future

        asyncio.run(main())


async def _awaited(future: Any) -> Any:
    return await future


class TestLoops:
    def test_one_after_another(self, session: Session, select: Any, no_leaks: None) -> None:
        """Each asyncio.run makes a loop; the driver closes its resources for a loop when that loop ends."""

        async def main(number: int) -> int:
            return (await session.execute_async(select, (number,))).one().n

        for number in range(30):
            assert asyncio.run(main(number)) == number
        gc.collect()

    @pytest.mark.parametrize(
        "make_loop",
        [
            lambda: asyncio.SelectorEventLoop(selectors.PollSelector()),
            lambda: asyncio.SelectorEventLoop(selectors.SelectSelector()),
            uvloop.new_event_loop,
        ],
        ids=["poll", "select", "uvloop"],
    )
    def test_any_kind(self, session: Session, select: Any, make_loop: Any) -> None:
        async def main() -> list[int]:
            answers = await asyncio.gather(*(session.execute_async(select, (n,)) for n in range(500)))
            return [answer.one().n for answer in answers]

        loop = make_loop()
        try:
            assert loop.run_until_complete(main()) == list(range(500))
        finally:
            loop.close()

    def test_in_threads_at_once(self, session: Session, select: Any) -> None:
        results: dict[int, list[int]] = {}

        async def main(base: int) -> list[int]:
            answers = await asyncio.gather(*(session.execute_async(select, (base + n,)) for n in range(300)))
            return [answer.one().n for answer in answers]

        def run(base: int) -> None:
            results[base] = asyncio.run(main(base))

        threads = [threading.Thread(target=run, args=(1000 * n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert results == {1000 * n: list(range(1000 * n, 1000 * n + 300)) for n in range(6)}

    def test_beside_threads_and_callbacks(self, session: Session, select: Any) -> None:
        stop = threading.Event()
        wrong: list[Any] = []

        def block() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                row = session.execute(select, (number,)).one()
                if row != (number,):
                    wrong.append(row)

        threads = [threading.Thread(target=block) for _ in range(3)]
        for thread in threads:
            thread.start()

        async def main() -> list[int]:
            results = []
            for start in range(0, 1000, 100):
                answers = await asyncio.gather(*(session.execute_async(select, (start + n,)) for n in range(100)))
                results += [answer.one().n for answer in answers]
            return results

        try:
            assert asyncio.run(main()) == list(range(1000))
        finally:
            stop.set()
            for thread in threads:
                thread.join(PATIENCE)
        assert wrong == []

    def test_a_loop_that_ends_with_requests_in_flight(self, proxy: FaultProxy, proxied: Session) -> None:
        async def main() -> None:
            for _ in range(10):
                asyncio.create_task(_awaited(proxied.execute_async(MARKED)))  # noqa: RUF006
            await asyncio.sleep(0.05)

        asyncio.run(main())
        proxy.wait_held(10)
        proxy.release()
        for _ in range(50):
            assert proxied.execute(QUERY).one() == ("local",)

    def test_a_callback_and_an_await(self, session: Session) -> None:
        async def main() -> None:
            called = asyncio.Event()
            loop = asyncio.get_running_loop()
            future = session.execute_async(QUERY)
            future.add_callback(lambda rows: loop.call_soon_threadsafe(called.set))
            assert (await future).one() == ("local",)
            await asyncio.wait_for(called.wait(), PATIENCE)

        asyncio.run(main())


class TestLife:
    def test_connect_and_shutdown_async(self, cassandra_node: Any, no_leaks: None) -> None:
        async def main() -> None:
            cluster = Cluster(cassandra_node.contact_points, port=cassandra_node.port)
            session = await cluster.connect_async()
            assert (await session.execute_async(QUERY)).one() == ("local",)
            await cluster.shutdown_async()
            assert session.is_shutdown

        asyncio.run(main())

    def test_async_with(self, cassandra_node: Any) -> None:
        async def main() -> None:
            async with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
                async with await cluster.connect_async() as session:
                    assert (await session.execute_async(QUERY)).one()
                assert session.is_shutdown
            assert cluster.is_shutdown

        asyncio.run(main())

    def test_connect_async_error(self) -> None:
        async def main() -> None:
            async with Cluster(["127.0.0.1"], port=1) as cluster:
                with pytest.raises(NoHostAvailable):
                    await cluster.connect_async()

        asyncio.run(main())

    def test_connecting_does_not_block_the_loop(self, cassandra_node: Any) -> None:
        async def main() -> int:
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0.001)

            ticker = asyncio.create_task(tick())
            async with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
                await cluster.connect_async()
            ticker.cancel()
            return ticks

        assert asyncio.run(main()) > 5


def test_pages(session: Session) -> None:
    async def main() -> list[int]:
        await session.execute_async("CREATE TABLE pages (p int, c int, PRIMARY KEY (p, c))")
        insert = await session.prepare_async("INSERT INTO pages (p, c) VALUES (1, ?)")
        await asyncio.gather(*(session.execute_async(insert, (n,)) for n in range(500)))
        statement = SimpleStatement("SELECT c FROM pages WHERE p = 1", fetch_size=30)
        return [row.c async for row in await session.execute_async(statement)]

    assert asyncio.run(main()) == list(range(500))


def test_an_error_on_a_later_page(session: Session) -> None:
    async def main() -> int:
        await session.execute_async("CREATE TABLE vanishing (p int, c int, PRIMARY KEY (p, c))")
        insert = await session.prepare_async("INSERT INTO vanishing (p, c) VALUES (1, ?)")
        await asyncio.gather(*(session.execute_async(insert, (n,)) for n in range(100)))
        statement = SimpleStatement("SELECT c FROM vanishing WHERE p = 1", fetch_size=10)
        seen = 0
        with pytest.raises((InvalidRequest, ServerError)):  # the latter if the page is being read just then
            async for _ in await session.execute_async(statement):
                seen += 1
                if seen == 5:
                    await session.execute_async("DROP TABLE vanishing")
        return seen

    assert asyncio.run(main()) in (10, 20)
