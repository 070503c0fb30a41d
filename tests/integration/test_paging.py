"""Paging over 100,000 rows: every row exactly once, however pages are fetched."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import InvalidRequest, OperationTimedOut
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, QueryExhausted, ResponseFuture, Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.query import BatchStatement, BatchType, SimpleStatement, dict_factory, tuple_factory

ROWS = 100_000
PARTITIONS = 100
PER_PARTITION = ROWS // PARTITIONS
PER_BATCH = 100


@pytest.fixture(scope="module", autouse=True)
def table(session: Session) -> None:
    session.execute("CREATE TABLE big (p int, c int, v text, PRIMARY KEY (p, c))")
    insert = session.prepare("INSERT INTO big (p, c, v) VALUES (?, ?, ?)")

    def batches() -> Iterator[tuple[BatchStatement, None]]:
        for start in range(0, ROWS, PER_BATCH):
            batch = BatchStatement(BatchType.UNLOGGED)
            for i in range(start, start + PER_BATCH):
                batch.add(insert, (i // PER_PARTITION, i % PER_PARTITION, "odd" if i % 2 else "even"))
            yield batch, None

    execute_concurrent(session, batches(), concurrency=20)
    session.execute("CREATE TABLE gaps (p int, c int, v int, PRIMARY KEY (p, c))")
    gap = session.prepare("INSERT INTO gaps (p, c, v) VALUES (0, ?, ?)")
    execute_concurrent_with_args(session, gap, ((i, 1 if i % 500 == 499 else 0) for i in range(5000)))


@pytest.fixture(params=["sync", "async for"])
def drain(request: pytest.FixtureRequest) -> Any:
    """All rows of a statement, read in two ways."""

    def sync(session: Session, *args: Any, **kwargs: Any) -> list[Any]:
        return list(session.execute(*args, **kwargs))

    def by_async_for(session: Session, *args: Any, **kwargs: Any) -> list[Any]:
        async def read() -> list[Any]:
            return [row async for row in await session.execute_async(*args, **kwargs)]

        return asyncio.run(read())

    return sync if request.param == "sync" else by_async_for


@pytest.mark.parametrize("fetch_size", [777, 5000, ROWS, ROWS + 1, None])
def test_every_row_exactly_once(session: Session, drain: Any, fetch_size: int | None) -> None:
    rows = drain(session, SimpleStatement("SELECT p, c FROM big", fetch_size=fetch_size), timeout=60)
    assert len(rows) == ROWS
    assert len(set(rows)) == ROWS


def test_prepared(session: Session, drain: Any) -> None:
    select = session.prepare("SELECT c, v FROM big WHERE p = ?")
    select.fetch_size = 13
    rows = drain(session, select, (7,))
    assert [row.c for row in rows] == list(range(PER_PARTITION))
    assert rows[1] == (1, "odd")


def test_thousands_of_pages_do_not_recurse(session: Session, drain: Any) -> None:
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(300)
        rows = drain(session, SimpleStatement("SELECT c FROM big WHERE p < 1 ALLOW FILTERING", fetch_size=1))
    finally:
        sys.setrecursionlimit(limit)
    assert [row.c for row in rows] == list(range(PER_PARTITION))


def test_empty_pages_in_the_middle(session: Session, drain: Any) -> None:
    """GROUP of filtered rows: whole pages may hold nothing and still not be the last."""
    statement = SimpleStatement("SELECT c FROM gaps WHERE v = 1 ALLOW FILTERING", fetch_size=1)
    assert [row.c for row in drain(session, statement)] == list(range(499, 5000, 500))


def test_pages_by_hand(session: Session) -> None:
    result = session.execute(SimpleStatement("SELECT c FROM big WHERE p = 3", fetch_size=400))
    sizes = []
    while True:
        sizes.append(len(result.current_rows))
        if not result.has_more_pages:
            break
        result.fetch_next_page()
    assert sizes == [400, 400, 200]
    assert result.paging_state is None
    result.fetch_next_page()
    assert result.current_rows == []


def test_current_rows_is_one_page(session: Session) -> None:
    result = session.execute(SimpleStatement("SELECT c FROM big WHERE p = 3", fetch_size=10))
    assert [row.c for row in result.current_rows] == list(range(10))
    assert result.one() == (0,)
    assert result.has_more_pages


def test_all_from_the_middle(session: Session) -> None:
    result = session.execute(SimpleStatement("SELECT c FROM big WHERE p = 3", fetch_size=100))
    rows = iter(result)
    head = [next(rows) for _ in range(150)]
    assert [row.c for row in head] == list(range(150))
    assert [next(rows).c for _ in range(100)] == list(range(150, 250))
    assert [row.c for row in result.current_rows] == list(range(200, 300))


def test_index_reads_all_pages(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    result = session.execute(SimpleStatement("SELECT c FROM big WHERE p = 3", fetch_size=100))
    assert result[999].c == 999
    assert "materialized" in caplog.text
    assert result[0].c == 0
    assert len(list(result)) == PER_PARTITION


def test_resume_from_paging_state(session: Session) -> None:
    statement = SimpleStatement("SELECT c FROM big WHERE p = 4", fetch_size=300)
    seen: list[int] = []
    state = None
    for _ in range(4):
        result = session.execute(statement, paging_state=state)
        seen += [row.c for row in result.current_rows]
        state = result.paging_state
    assert state is None
    assert seen == list(range(PER_PARTITION))


def test_resume_in_another_session(session: Session, cassandra_node: Any, keyspace: str) -> None:
    state = session.execute(SimpleStatement("SELECT c FROM big WHERE p = 4", fetch_size=300)).paging_state
    with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
        other = cluster.connect(keyspace)
        select = other.prepare("SELECT c FROM big WHERE p = ?")
        rows = other.execute(select, (4,), paging_state=state).all()
    assert [row.c for row in rows] == list(range(300, PER_PARTITION))


def test_a_wrong_paging_state_is_the_servers_error(session: Session) -> None:
    from cassandra.protocol import ErrorMessage

    with pytest.raises((InvalidRequest, ErrorMessage)):
        session.execute(SimpleStatement("SELECT c FROM big", fetch_size=10), paging_state=b"\xff\x00nonsense")
    assert session.execute("SELECT c FROM big LIMIT 1").one()


@pytest.mark.parametrize("factory", [tuple_factory, dict_factory, lambda names, rows: rows])
def test_factories_page_by_page(session: Session, drain: Any, factory: Any) -> None:
    profile = session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, row_factory=factory)
    statement = SimpleStatement("SELECT c FROM big WHERE p = 5", fetch_size=70)
    rows = drain(session, statement, execution_profile=profile)
    assert [row["c"] if isinstance(row, dict) else row[0] for row in rows] == list(range(PER_PARTITION))


class Pages:
    """The pattern of scylla-driver's documentation: a callback per page asks for the next."""

    def __init__(self, future: ResponseFuture) -> None:
        self.future = future
        self.rows: list[Any] = []
        self.pages = 0
        self.error: BaseException | None = None
        self.finished = threading.Event()
        future.add_callbacks(self.on_page, self.on_error)

    def on_page(self, rows: Any) -> None:
        self.pages += 1
        self.rows += rows
        if self.future.has_more_pages:
            self.future.start_fetching_next_page()
        else:
            self.finished.set()

    def on_error(self, error: BaseException) -> None:
        self.error = error
        self.finished.set()


class TestCallbacks:
    def test_pages_by_callback(self, session: Session) -> None:
        pages = Pages(session.execute_async(SimpleStatement("SELECT c FROM big WHERE p = 6", fetch_size=100)))
        assert pages.finished.wait(60)
        assert pages.error is None
        assert [row.c for row in pages.rows] == list(range(PER_PARTITION))
        assert pages.pages in (10, 11)

    def test_callbacks_added_when_the_first_page_is_here(self, session: Session) -> None:
        """Then the first page comes at once, on this thread, and later ones must come just the same."""
        future = session.execute_async(SimpleStatement("SELECT c FROM big WHERE p = 6", fetch_size=100))
        future.result()
        pages = Pages(future)
        assert pages.finished.wait(60)
        assert [row.c for row in pages.rows] == list(range(PER_PARTITION))

    def test_an_error_on_a_later_page(self, session: Session) -> None:
        session.execute("CREATE TABLE vanishing (p int, c int, PRIMARY KEY (p, c))")
        insert = session.prepare("INSERT INTO vanishing (p, c) VALUES (1, ?)")
        execute_concurrent_with_args(session, insert, ((i,) for i in range(100)))
        future = session.execute_async(SimpleStatement("SELECT c FROM vanishing WHERE p = 1", fetch_size=10))
        assert len(future.result().current_rows) == 10
        session.execute("DROP TABLE vanishing")
        pages = Pages(future)
        assert pages.finished.wait(60)
        assert isinstance(pages.error, InvalidRequest)
        assert pages.pages == 1

    def test_past_the_end(self, session: Session) -> None:
        future = session.execute_async("SELECT c FROM big WHERE p = 6 LIMIT 3")
        future.result()
        assert not future.has_more_pages
        with pytest.raises(QueryExhausted):
            future.start_fetching_next_page()

    def test_next_page_by_hand(self, session: Session) -> None:
        future = session.execute_async(SimpleStatement("SELECT c FROM big WHERE p = 6 LIMIT 20", fetch_size=10))
        assert [row.c for row in future.result().current_rows] == list(range(10))
        future.start_fetching_next_page()
        assert [row.c for row in future.result().current_rows] == list(range(10, 20))


class TestAsync:
    def test_two_iterations_at_once(self, session: Session) -> None:
        async def read(partition: int) -> list[int]:
            statement = SimpleStatement("SELECT c FROM big WHERE p = %s", fetch_size=50)
            return [row.c async for row in await session.execute_async(statement, (partition,))]

        async def main() -> list[list[int]]:
            return await asyncio.gather(*(read(p) for p in range(20)))

        assert asyncio.run(main()) == [list(range(PER_PARTITION))] * 20

    def test_the_loop_is_not_blocked_while_pages_travel(self, session: Session) -> None:
        async def main() -> int:
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0)

            ticker = asyncio.create_task(tick())
            statement = SimpleStatement("SELECT c FROM big WHERE p = 8", fetch_size=100)
            assert len([row async for row in await session.execute_async(statement)]) == PER_PARTITION
            ticker.cancel()
            return ticks

        assert asyncio.run(main()) >= 10

    def test_stop_in_the_middle(self, session: Session) -> None:
        async def main() -> int:
            statement = SimpleStatement("SELECT c FROM big", fetch_size=100)
            count = 0
            async for _ in await session.execute_async(statement):
                count += 1
                if count == 250:
                    break
            return count

        assert asyncio.run(main()) == 250


def test_page_timeout_is_per_page(session: Session) -> None:
    """Reading 100 pages takes longer than one page may; only a page that is late fails."""
    statement = SimpleStatement("SELECT c FROM big", fetch_size=1000)
    assert sum(1 for _ in session.execute(statement, timeout=10)) == ROWS
    result = session.execute(SimpleStatement("SELECT c FROM big", fetch_size=1000), timeout=10)
    result.response_future.timeout = 0.0
    with pytest.raises(OperationTimedOut):
        result.fetch_next_page()


def test_memory_is_one_page_not_all(session: Session) -> None:
    """A result set that is iterated holds no pages it has passed."""
    result = session.execute(SimpleStatement("SELECT c, v FROM big", fetch_size=500), timeout=60)

    def walk() -> Iterator[int]:
        for number, _ in enumerate(result):
            if number % 10_000 == 0:
                yield len(result.current_rows)

    assert max(walk()) <= 500
