"""execute_concurrent_async: as execute_concurrent, awaited or iterated over, from any kind of source."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
from collections.abc import AsyncIterator, Coroutine, Iterator
from itertools import count
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import EXEC_PROFILE_DEFAULT, NoHostAvailable
from cassandra.concurrent import (
    ConcurrentResults,
    ExecutionResult,
    execute_concurrent_async,
    execute_concurrent_with_args_async,
)
from tests.unit.session.harness import Lab, ScriptedConnection, error, prepared, routed_lab, rows, unprepared

QUERIES = [(f"SELECT {n}", None) for n in range(10)]
INVALID = error(0x2200)


class Answering:
    """Answers some time after the request came: each in a turn of the loop of its own, the last one first."""

    def __init__(self, lab: Lab) -> None:
        self._connection: ScriptedConnection = lab[0]
        self._task = asyncio.create_task(self._run())
        self.most = 0

    async def _run(self) -> None:
        done = 0
        sent = self._connection.sent
        while True:
            await asyncio.sleep(0)
            waiting = range(done, len(sent))
            self.most = max(self.most, len(waiting))
            for n in reversed(waiting):
                await asyncio.sleep(0)
                self._connection.answer(rows(n), sent[n])
            done += len(waiting)

    async def __aenter__(self) -> Answering:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task


async def each_of(items: Any) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


def numbers(results: list[ExecutionResult]) -> list[Any]:
    return [result.result_or_exc.one().n if result.success else type(result.result_or_exc) for result in results]


async def listed(results: ConcurrentResults) -> list[ExecutionResult]:
    return await results


async def iterated(results: ConcurrentResults) -> list[ExecutionResult]:
    return [result async for result in results]


forms = pytest.mark.parametrize("form", [listed, iterated])
sources = pytest.mark.parametrize("source", [list, iter, each_of], ids=["list", "iterator", "async"])


@forms
@sources
@pytest.mark.parametrize("concurrency", [1, 3, 100])
def test_in_order(form: Any, source: Any, concurrency: int) -> None:
    lab = Lab()

    async def main() -> None:
        async with Answering(lab) as server:
            results = await form(execute_concurrent_async(lab.session, source(QUERIES), concurrency))
        assert numbers(results) == list(range(10))
        assert server.most <= concurrency

    asyncio.run(main())


@forms
@sources
def test_answers_that_are_there_at_once(form: Any, source: Any) -> None:
    lab = Lab()
    lab[0].script = [rows(n) for n in range(10)]
    results = asyncio.run(form(execute_concurrent_async(lab.session, source(QUERIES), 3)))
    assert numbers(results) == list(range(10))


@forms
@pytest.mark.parametrize("nothing", [None, [], iter(()), each_of(())], ids=["None", "list", "iterator", "async"])
def test_nothing_to_do(form: Any, nothing: Any) -> None:
    async def none() -> AsyncIterator[Any]:
        for item in ():
            yield item

    source = none() if hasattr(nothing, "__aiter__") else nothing
    assert asyncio.run(form(execute_concurrent_async(Lab().session, source))) == []


@forms
@sources
def test_with_args(form: Any, source: Any) -> None:
    lab = Lab()
    lab[0].script = [prepared(), rows(1), rows(2)]
    statement = lab.session.prepare("SELECT n FROM tbl WHERE k = ?")
    results = execute_concurrent_with_args_async(lab.session, statement, source([(1,), (2,)]))
    assert numbers(asyncio.run(form(results))) == [1, 2]
    assert len({sent.body for sent in lab[0].sent[1:]}) == 2


def test_the_rows_of_a_result_as_args() -> None:
    """A ResultSet is a source like others; its pages are fetched as they are needed."""
    lab = Lab()

    async def main() -> None:
        lab[0].script = [rows(1, 2, more=b"2"), *[rows(n) for n in range(4)]]
        found = await lab.session.execute_async("SELECT n FROM tbl")
        lab[0].script = [rows(3), rows(0), rows(0), rows(0)]
        await execute_concurrent_with_args_async(lab.session, "SELECT %s", found)

    asyncio.run(main())
    texts = sorted(sent.body[4:12] for sent in lab[0].sent[2:])
    assert texts == [b"SELECT 1", b"SELECT 2", b"SELECT 3"]


@pytest.mark.parametrize("concurrency", [0, -1])
def test_concurrency_is_positive(concurrency: int) -> None:
    with pytest.raises(ValueError, match="concurrency"):
        execute_concurrent_async(Lab().session, QUERIES, concurrency)


def test_nothing_is_sent_before_results_are_requested() -> None:
    lab = Lab()
    execute_concurrent_async(lab.session, QUERIES)
    assert not lab[0].sent


@pytest.mark.parametrize("first", [listed, iterated])
@pytest.mark.parametrize("second", [listed, iterated])
def test_only_once(first: Any, second: Any) -> None:
    async def main() -> None:
        results = execute_concurrent_async(Lab().session, [])
        await first(results)
        with pytest.raises(RuntimeError, match="once"):
            await second(results)

    asyncio.run(main())


def test_the_profile() -> None:
    lab = Lab()

    async def main() -> None:
        with pytest.raises(ValueError, match="nobody"):
            await execute_concurrent_async(lab.session, QUERIES, execution_profile="nobody")
        lab[0].script = [rows(n) for n in range(10)]
        await execute_concurrent_async(lab.session, QUERIES, execution_profile=EXEC_PROFILE_DEFAULT)

    asyncio.run(main())


class TestErrors:
    @forms
    @sources
    def test_the_first_is_raised(self, form: Any, source: Any) -> None:
        """The rest stays unsent, requests in flight are given up."""
        lab = Lab()

        async def main() -> None:
            running = asyncio.ensure_future(form(execute_concurrent_async(lab.session, source(QUERIES), 3)))
            while len(lab[0].sent) < 3:
                await asyncio.sleep(0)
            lab[0].answer(INVALID, lab[0].sent[1])
            with pytest.raises(InvalidRequest):
                await running

        asyncio.run(main())
        assert len(lab[0].sent) == 3
        assert [stream for stream, _, _ in lab[0].orphaned] == [0, 2]

    @forms
    @sources
    def test_in_the_outcomes(self, form: Any, source: Any) -> None:
        lab = Lab()
        lab[0].script = [INVALID if n % 2 else rows(n) for n in range(10)]
        results = asyncio.run(form(execute_concurrent_async(lab.session, source(QUERIES), 3, False)))
        assert numbers(results) == [InvalidRequest if n % 2 else n for n in range(10)]

    @forms
    @sources
    def test_of_arguments(self, form: Any, source: Any) -> None:
        lab = Lab()
        lab[0].script = [rows(0), rows(2)]
        mixed = [("SELECT 0", None), (5, None), ("SELECT 2", None)]
        with pytest.raises(TypeError, match="expected CQL text or a statement, got int"):
            asyncio.run(form(execute_concurrent_async(Lab().session, source(mixed))))
        results = asyncio.run(form(execute_concurrent_async(lab.session, source(mixed), 100, False)))
        assert numbers(results) == [0, TypeError, 2]

    @forms
    @sources
    def test_of_the_source(self, form: Any, source: Any) -> None:
        def broken() -> Iterator[Any]:
            yield from QUERIES[:3]
            raise ZeroDivisionError("of the source")

        lab = Lab()
        kind = source if source is each_of else iter
        with pytest.raises(ZeroDivisionError, match="of the source"):
            asyncio.run(form(execute_concurrent_async(lab.session, kind(broken()), 100, False)))
        assert len(lab[0].sent) == len(lab[0].orphaned) == 3

    @forms
    @sources
    def test_more_fail_at_once_than_may_be_in_flight(self, form: Any, source: Any) -> None:
        lab = Lab()
        lab.session.shutdown()
        results = asyncio.run(form(execute_concurrent_async(lab.session, source(QUERIES), 3, False)))
        assert numbers(results) == [NoHostAvailable] * 10

    @forms
    def test_an_endless_source_of_failing_requests_can_be_cancelled(self, form: Any) -> None:
        """The loop has its turn in between."""
        lab = Lab()
        lab.session.shutdown()
        endless = (("SELECT 1", None) for _ in count())

        async def main() -> None:
            running = asyncio.ensure_future(form(execute_concurrent_async(lab.session, endless, 10, False)))
            for _ in range(5):
                await asyncio.sleep(0)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            with pytest.raises(NoHostAvailable):
                await form(execute_concurrent_async(lab.session, endless))

        asyncio.run(main())


class TestPrepared:
    """They go natively, all under one operation."""

    @forms
    @sources
    @pytest.mark.parametrize("concurrency", [1, 3, 100])
    def test_in_order(self, form: Any, source: Any, concurrency: int) -> None:
        lab, statement = routed_lab()

        async def main() -> None:
            async with Answering(lab) as server:
                arguments = source([(n,) for n in range(10)])
                results = await form(execute_concurrent_with_args_async(lab.session, statement, arguments, concurrency))
            assert numbers(results) == list(range(10))
            assert server.most <= concurrency

        asyncio.run(main())

    def test_one_operation_for_all(self) -> None:
        lab, statement = routed_lab()
        lab[0].script = [rows(n) for n in range(10)]
        many = execute_concurrent_with_args_async(lab.session, statement, [(n,) for n in range(10)])
        assert numbers(asyncio.run(listed(many))) == list(range(10))
        assert len({id(sent.operation) for sent in lab[0].sent}) == 1

    @forms
    def test_mixed_with_others(self, form: Any) -> None:
        lab, statement = routed_lab()

        async def main() -> None:
            async with Answering(lab):
                pairs = [(statement, (n,)) if n % 3 else (f"SELECT {n}", None) for n in range(12)]
                assert numbers(await form(execute_concurrent_async(lab.session, pairs, 5))) == list(range(12))

        asyncio.run(main())

    @forms
    def test_the_first_error_is_raised(self, form: Any) -> None:
        lab, statement = routed_lab()

        async def main() -> None:
            many = execute_concurrent_with_args_async(lab.session, statement, [(n,) for n in range(10)], 3)
            running = asyncio.ensure_future(form(many))
            while len(lab[0].sent) < 3:
                await asyncio.sleep(0)
            lab[0].answer(rows(0), lab[0].sent[0])
            lab[0].answer(INVALID, lab[0].sent[1])
            with pytest.raises(InvalidRequest):
                await running
            lab[0].answer(rows(2), lab[0].sent[2])
            await asyncio.sleep(0)

        asyncio.run(main())

    @forms
    def test_errors_in_the_outcomes(self, form: Any) -> None:
        """Also those of values, which are not sent."""
        lab, statement = routed_lab()
        lab[0].script = [INVALID if n % 2 else rows(n) for n in range(9)]
        arguments = [*((n,) for n in range(9)), ("no number",)]
        many = execute_concurrent_with_args_async(lab.session, statement, arguments, 3, False)
        results = asyncio.run(form(many))
        assert numbers(results)[:9] == [InvalidRequest if n % 2 else n for n in range(9)]
        assert not results[9].success

    @forms
    @pytest.mark.usefixtures("as_driver_thread")  # the lab has none of its own
    def test_one_that_the_server_forgot(self, form: Any) -> None:
        lab, statement = routed_lab()

        async def main() -> None:
            lab[0].script = [rows(0), unprepared(), prepared(), rows(1)]
            arguments = [(0,), (1,)]
            many = execute_concurrent_with_args_async(lab.session, statement, arguments, 1)
            assert numbers(await form(many)) == [0, 1]

        asyncio.run(main())

    @forms
    def test_cancelled(self, form: Any) -> None:
        """Answers that come later, or are on their way to the loop by then, reach no caller."""
        lab, statement = routed_lab()

        async def main() -> None:
            many = execute_concurrent_with_args_async(lab.session, statement, [(n,) for n in range(10)], 4)
            running = asyncio.ensure_future(form(many))
            while len(lab[0].sent) < 4:
                await asyncio.sleep(0)
            running.cancel()
            lab[0].answer(rows(0), lab[0].sent[0])
            with pytest.raises(asyncio.CancelledError):
                await running
            lab[0].answer(rows(1), lab[0].sent[1])
            for _ in range(5):
                await asyncio.sleep(0)
            lab[0].script = [rows(5)]
            assert (await lab.session.execute_async(statement, (5,))).one().n == 5

        asyncio.run(main())
        assert len(lab[0].sent) == 5

    def test_on_a_loop_without_descriptors(self) -> None:
        lab, statement = routed_lab()
        lab[0].script = [rows(n) for n in range(5)]
        loop = Blind()
        try:
            many = execute_concurrent_with_args_async(lab.session, statement, [(n,) for n in range(5)], 2)
            assert numbers(loop.run_until_complete(listed(many))) == list(range(5))
        finally:
            loop.close()


class Blind(asyncio.SelectorEventLoop):
    """Watches no descriptors, as Windows' proactor loop."""

    def add_reader(self, *_: Any) -> None:
        raise NotImplementedError


class TestWindow:
    @sources
    def test_requests_ahead_of_a_slow_reader_are_limited(self, source: Any) -> None:
        """A slow reader is not overrun, and the source may be endless."""
        lab = Lab()
        drawn = 0

        def endless() -> Iterator[Any]:
            nonlocal drawn
            for n in count():
                drawn += 1
                yield f"SELECT {n}", None

        kind = source if source is each_of else iter

        async def main() -> None:
            async with (
                Answering(lab),
                contextlib.aclosing(aiter(execute_concurrent_async(lab.session, kind(endless()), 5))) as results,
            ):
                taken = 0
                async for result in results:
                    assert result.result_or_exc.one().n == taken
                    taken += 1
                    for _ in range(30):
                        await asyncio.sleep(0)
                    assert drawn <= taken + 10
                    if taken == 20:
                        break

        asyncio.run(main())

    def test_results_come_while_the_source_waits(self) -> None:
        lab = Lab()

        async def main() -> None:
            going = asyncio.Event()

            async def slow() -> AsyncIterator[Any]:
                yield QUERIES[0]
                await going.wait()
                yield QUERIES[1]

            async with Answering(lab):
                results = aiter(execute_concurrent_async(lab.session, slow()))
                assert (await anext(results)).result_or_exc.one().n == 0
                going.set()
                assert (await anext(results)).result_or_exc.one().n == 1
                with pytest.raises(StopAsyncIteration):
                    await anext(results)

        asyncio.run(main())

    def test_the_source_runs_in_the_callers_context(self) -> None:
        lab = Lab()
        variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

        def source() -> Iterator[Any]:
            for _ in range(5):
                yield f"SELECT '{variable.get()}'", None

        async def main() -> None:
            variable.set("mine")
            async with Answering(lab):
                await execute_concurrent_async(lab.session, source(), 2)
                await execute_concurrent_async(lab.session, each_of(source()), 2)

        asyncio.run(main())


class TestLeaving:
    @forms
    @sources
    def test_cancelled(self, form: Any, source: Any) -> None:
        """Requests in flight are given up, and nothing stays behind."""
        lab = Lab()

        async def main() -> None:
            before = asyncio.all_tasks()
            running = asyncio.ensure_future(form(execute_concurrent_async(lab.session, source(QUERIES), 4)))
            while len(lab[0].sent) < 4:
                await asyncio.sleep(0)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert asyncio.all_tasks() == before

        asyncio.run(main())
        assert [stream for stream, _, _ in lab[0].orphaned] == [0, 1, 2, 3]
        assert len(lab[0].sent) == 4

    @sources
    def test_break(self, source: Any) -> None:
        lab = Lab()

        async def first() -> ExecutionResult:
            async with contextlib.aclosing(aiter(execute_concurrent_async(lab.session, source(QUERIES), 4))) as results:
                async for result in results:
                    return result
            raise AssertionError("no results")

        async def main() -> None:
            before = asyncio.all_tasks()
            running = asyncio.ensure_future(first())
            while len(lab[0].sent) < 4:
                await asyncio.sleep(0)
            lab[0].answer(rows(7), lab[0].sent[0])
            assert (await running).result_or_exc.one().n == 7
            assert asyncio.all_tasks() == before

        asyncio.run(main())
        assert [stream for stream, _, _ in lab[0].orphaned] == list(range(1, len(lab[0].sent)))

    def test_forgotten_without_a_word(self, recwarn: pytest.WarningsRecorder) -> None:
        """A loop that ends with one of them half read: asyncio closes it."""
        lab = Lab()
        lab[0].script = [rows(0)]
        kept: list[Any] = []

        async def main() -> None:
            results = aiter(execute_concurrent_async(lab.session, each_of(QUERIES), 4))
            kept.append(results)
            await anext(results)

        asyncio.run(main(), debug=True)
        kept.clear()
        gc.collect()
        assert not [str(warning.message) for warning in recwarn]
        assert {stream for stream, _, _ in lab[0].orphaned} == set(range(1, len(lab[0].sent)))

    def test_a_cancelled_call_keeps_requests_with_other_callbacks(self) -> None:
        """A listener has a callback on each request, say."""
        lab = Lab()
        heard: list[Any] = []

        async def main() -> None:
            with lab.listening(lambda future: future.add_callback(heard.append)):
                running = asyncio.ensure_future(listed(execute_concurrent_async(lab.session, QUERIES[:2])))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                assert len(lab[0].sent) == 2
                running.cancel()
                await asyncio.wait([running])
            lab[0].answer(rows(7))

        asyncio.run(main())
        assert not lab[0].orphaned
        assert heard == [[(7,)]]


def deep(loop_count: int) -> Coroutine[Any, Any, list[ExecutionResult]]:
    lab = Lab()
    lab[0].script = [rows(n) for n in range(loop_count)]
    return listed(execute_concurrent_with_args_async(lab.session, "SELECT 1", [None] * loop_count, 1))


def test_no_recursion() -> None:
    assert len(asyncio.run(deep(3000))) == 3000
