"""The next page is asked for while the one before is consumed: one at most, and none before iteration begins."""

from __future__ import annotations

import asyncio
import gc
import weakref
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra import InvalidRequest, OperationTimedOut
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, ResponseFuture, ResultSet
from cassandra.query import tuple_factory
from tests.unit.session.harness import TIMED_OUT, Lab, Lost, error, rows

QUERY = "SELECT n FROM tbl"


def lab_with(*pages: Any, **profile: Any) -> Lab:
    lab = Lab(row_factory=tuple_factory, **profile)
    lab[0].script = list(pages)
    return lab


def three() -> list[Any]:
    return [rows(1, 2, more=b"p2"), rows(3, 4, more=b"p3"), rows(5, 6)]


def sent(lab: Lab) -> int:
    return len(lab[0].sent)


class TestAsked:
    def test_with_the_second_row(self) -> None:
        """Not for a consumer of the first row alone, and not before iteration began."""
        lab = lab_with(*three())
        result = lab.session.execute(QUERY)
        assert result.one() == (1,) and result.current_rows and result and result.has_more_pages
        iterator = iter(result)
        assert sent(lab) == 1
        assert next(iterator) == (1,) and sent(lab) == 1
        assert next(iterator) == (2,) and sent(lab) == 2
        assert b"p2" in lab[0].sent[1].body
        assert next(iterator) == (3,) and sent(lab) == 2, "one page ahead and no more"
        assert next(iterator) == (4,) and sent(lab) == 3
        assert list(iterator) == [(5,), (6,)] and sent(lab) == 3

    def test_by_next(self) -> None:
        lab = lab_with(*three())
        result = lab.session.execute(QUERY)
        seen = []
        for _ in range(6):
            seen.append((result.next()[0], sent(lab)))
        assert seen == [(1, 2), (2, 2), (3, 3), (4, 3), (5, 3), (6, 3)]
        with pytest.raises(StopIteration):
            result.next()

    def test_not_for_a_result_of_one_page(self) -> None:
        lab = lab_with(rows(1, 2))
        assert list(lab.session.execute(QUERY)) == [(1,), (2,)] and sent(lab) == 1

    def test_pages_that_are_turned_by_hand(self) -> None:
        """Are asked for when they are turned to, iterated or not; a page that is ahead is the one that is turned to."""
        lab = lab_with(*three())
        result = lab.session.execute(QUERY)
        result.fetch_next_page()
        assert (result.current_rows, sent(lab)) == ([(3,), (4,)], 2)
        iterator = iter(result)
        assert [next(iterator), next(iterator)] == [(3,), (4,)] and sent(lab) == 3
        result.fetch_next_page()
        assert (result.current_rows, sent(lab)) == ([(5,), (6,)], 3)

    def test_all(self) -> None:
        lab = lab_with(*three())
        assert lab.session.execute(QUERY).all() == [(n,) for n in range(1, 7)] and sent(lab) == 3

    def test_empty_pages(self) -> None:
        lab = lab_with(rows(more=b"1"), rows(more=b"2"), rows(1, more=b"3"), rows(more=b"4"), rows(2))
        assert list(lab.session.execute(QUERY)) == [(1,), (2,)] and sent(lab) == 5

    def test_async(self) -> None:
        lab = lab_with(*three())

        async def run() -> list[Any]:
            seen = []
            result = await lab.session.execute_async(QUERY)
            assert sent(lab) == 1
            async for row in result:
                seen.append((row[0], sent(lab)))
            return seen

        assert asyncio.run(run()) == [(1, 2), (2, 2), (3, 3), (4, 3), (5, 3), (6, 3)]

    def test_callbacks_have_every_page_once(self) -> None:
        """They ask for pages themselves; where a consumer iterates too, they also get the pages that it asks for."""
        lab = lab_with(*three())
        told: list[Any] = []
        future = lab.session.execute_async(QUERY)
        future.add_callback(told.append)
        assert told == [[(1,), (2,)]] and sent(lab) == 1
        assert list(future.result()) == [(n,) for n in range(1, 7)]
        assert told == [[(1,), (2,)], [(3,), (4,)], [(5,), (6,)]] and sent(lab) == 3


class TestOff:
    def test_of_the_call(self) -> None:
        lab = lab_with(*three())
        seen = [(row[0], sent(lab)) for row in lab.session.execute(QUERY, prefetch=0)]
        assert seen == [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)]

    def test_of_the_profile(self) -> None:
        lab = lab_with(*three(), prefetch=0)
        assert [(row[0], sent(lab)) for row in lab.session.execute(QUERY)][1] == (2, 1)
        lab[0].script = three()
        assert [(row[0], sent(lab)) for row in lab.session.execute(QUERY, prefetch=1)][1] == (2, 5)

    def test_async(self) -> None:
        lab = lab_with(*three())

        async def run() -> list[Any]:
            result = await lab.session.execute_async(QUERY, prefetch=0)
            return [(row[0], sent(lab)) async for row in result]

        assert asyncio.run(run()) == [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)]

    def test_invalid_prefetch_values_are_refused(self) -> None:
        lab = lab_with()
        for wrong in (2, -1, "1", 0.5):
            with pytest.raises(ValueError, match=r"prefetch must be 1 \(the next page\) or 0"):
                lab.session.execute(QUERY, prefetch=wrong)  # type: ignore[arg-type]
            with pytest.raises(ValueError, match=r"prefetch must be 1 \(the next page\) or 0"):
                ExecutionProfile(prefetch=wrong)  # type: ignore[arg-type]
        assert sent(lab) == 0
        profile = lab.session.get_execution_profile(EXEC_PROFILE_DEFAULT)
        assert profile.prefetch == 1 and ExecutionProfile(prefetch=False).prefetch == 0

    def test_overridden_start_fetching_next_page_is_called_on_demand(self) -> None:
        """A program's own start_fetching_next_page is not called before it is needed."""
        calls = []

        class Own(ResponseFuture[Any]):
            def start_fetching_next_page(self) -> None:
                calls.append(sent(lab))
                super().start_fetching_next_page()

        lab = lab_with(*three())
        future = lab.session.execute_async(QUERY)
        future.__class__ = Own  # type: ignore[assignment]
        result = future.result()
        assert [row[0] for row in result] == [1, 2, 3, 4, 5, 6] and calls == [1, 2]

    def test_two_results_over_one_future(self) -> None:
        """A page that one result requests does not block the other."""
        lab = lab_with(*three())
        future = lab.session.execute_async(QUERY)
        one, other = future.result(), future.result()
        iterator = iter(one)
        assert [next(iterator), next(iterator)] == [(1,), (2,)] and sent(lab) == 2
        behind = iter(other)
        assert [next(behind), next(behind)] == [(1,), (2,)] and sent(lab) == 2
        assert next(iterator) == (3,)


class TestErrors:
    def test_where_the_page_begins(self) -> None:
        lab = lab_with(rows(1, 2, more=b"p2"), error(0x2200, "no such page"), rows(3))
        iterator = iter(lab.session.execute(QUERY))
        assert [next(iterator), next(iterator)] == [(1,), (2,)] and sent(lab) == 2
        with pytest.raises(InvalidRequest, match="no such page"):
            next(iterator)
        assert list(iterator) == [(3,)] and sent(lab) == 3, "it is asked for anew"

    def test_async(self) -> None:
        lab = lab_with(rows(1, 2, more=b"p2"), error(0x2200, "no such page"))

        async def run() -> list[Any]:
            seen = []
            with pytest.raises(InvalidRequest, match="no such page"):
                async for row in await lab.session.execute_async(QUERY):
                    seen.append(row)
            return seen

        assert asyncio.run(run()) == [(1,), (2,)]

    def test_error_of_an_abandoned_prefetch_is_not_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        lab = lab_with(rows(1, 2, more=b"p2"), error(0x2200, "no such page"))
        iterator = iter(lab.session.execute(QUERY))
        next(iterator), next(iterator)
        del iterator
        gc.collect()
        assert sent(lab) == 2 and not caplog.records

    def test_prefetch_timed_out_before_a_consumer_waits_is_retried(self) -> None:
        """The page is requested once more, and the consumer has the whole timeout of a request."""
        lab = lab_with(rows(1, 2, more=b"p2"), Lost(TIMED_OUT, message="in time"), rows(3))
        result = lab.session.execute(QUERY)
        iterator = iter(result)
        next(iterator), next(iterator)
        assert result._ahead is not None and sent(lab) == 2
        result._ahead -= 10.0  # seconds, the time of a request
        assert next(iterator) == (3,) and sent(lab) == 3

    def test_prefetch_timed_out_while_a_consumer_waits_raises(self) -> None:
        lab = lab_with(rows(1, 2, more=b"p2"), Lost(TIMED_OUT, message="in time"), rows(3))
        iterator = iter(lab.session.execute(QUERY))
        next(iterator), next(iterator)
        with pytest.raises(OperationTimedOut):
            next(iterator)
        assert sent(lab) == 2 and list(iterator) == [(3,)]

    def test_once_more_and_no_more(self) -> None:
        late = Lost(TIMED_OUT, message="in time")
        lab = lab_with(rows(1, 2, more=b"p2"), late, late, rows(3))
        result = lab.session.execute(QUERY)
        iterator = iter(result)
        next(iterator), next(iterator)
        assert result._ahead is not None
        result._ahead -= 10.0
        with pytest.raises(OperationTimedOut):
            next(iterator)
        assert sent(lab) == 3 and list(iterator) == [(3,)]


class TestEnds:
    def test_cancelled(self) -> None:
        """No request while rows of the page at hand are read; and then it is said."""
        lab = lab_with(rows(1, 2, 3, more=b"p2"))
        result = lab.session.execute(QUERY)
        iterator = iter(result)
        assert [next(iterator), next(iterator)] == [(1,), (2,)]
        assert result.response_future.cancel()
        assert next(iterator) == (3,) and sent(lab) == 2
        with pytest.raises(CancelledError):
            next(iterator)
        assert sent(lab) == 2

    def test_shut_down(self) -> None:
        lab = lab_with(rows(1, 2, 3, more=b"p2"))
        iterator = iter(lab.session.execute(QUERY))
        assert next(iterator) == (1,)
        lab.session._draining = True
        assert [next(iterator), next(iterator)] == [(2,), (3,)] and sent(lab) == 1
        with pytest.raises(NoHostAvailable):
            next(iterator)
        assert sent(lab) == 1

    def test_a_result_that_is_dropped_keeps_nothing(self) -> None:
        lab = lab_with(rows(1, 2, more=b"p2"))
        result = lab.session.execute(QUERY)
        gone, future = weakref.ref(result), weakref.ref(result.response_future)
        iterator = iter(result)
        next(iterator), next(iterator)
        assert sent(lab) == 2
        del result, iterator
        lab[0].answer(rows(3, more=b"p3"))
        lab[0].sent.clear()
        gc.collect()
        assert gone() is None and future() is None
        assert sent(lab) == 0

    def test_a_subclass_that_iterates_its_own_way(self) -> None:
        class Own(ResultSet[Any]):
            def next(self) -> Any:
                return super().next()

            __next__ = next

        lab = lab_with(*three())
        future = lab.session.execute_async(QUERY)
        future._wait_for_outcome()
        assert [row[0] for row in Own(future, future.result().current_rows)] == [1, 2, 3, 4, 5, 6]


def test_thousands_of_pages() -> None:
    """In any order of reading on, turning, breaking off and starting anew: each row once, one page ahead at most."""
    count = 3000
    pages = [rows(2 * n, 2 * n + 1, more=b"%d" % n if n < count - 1 else None) for n in range(count)]
    lab = lab_with(*pages)
    result = lab.session.execute(QUERY)
    seen = 0
    for (value,) in result:
        assert value == seen
        assert sent(lab) <= value // 2 + 2
        seen += 1
    assert seen == 2 * count and sent(lab) == count
