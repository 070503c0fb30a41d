"""Bridges to loops: several, closed, collected, without descriptors; contexts, eager tasks, asyncio's debug mode."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import sys
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from cassandra._core.transport import debug_counters
from cassandra.cluster import ResponseFuture, ResultSet
from tests.packages import uvloop
from tests.patience import PATIENCE, eventually
from tests.unit.session.harness import Lab, error, rows

QUERY = "SELECT n FROM tbl"


class Blind(asyncio.SelectorEventLoop):
    """Watches no descriptors, as Windows' proactor loop; its own pipe excepted."""

    def add_reader(self, *_: Any) -> None:
        raise NotImplementedError

    remove_reader = add_reader  # type: ignore[assignment]


LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
    "blind": Blind,
}


@pytest.fixture(params=list(LOOPS))
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    made = LOOPS[request.param]()
    yield made
    made.close()


async def awaited(future: ResponseFuture) -> ResultSet:
    return await future


def answered_elsewhere(lab: Lab, *answers: Any) -> threading.Thread:
    """A thread that answers the requests of *lab*, each when it is there."""

    def run() -> None:
        for n, answer in enumerate(answers):
            eventually(lambda n=n: len(lab[0].sent) > n)
            lab[0].answer(answer, lab[0].sent[n])

    thread = threading.Thread(target=run)
    thread.start()
    return thread


class TestEachLoop:
    def test_an_answer(self, loop: asyncio.AbstractEventLoop) -> None:
        lab = Lab()
        thread = answered_elsewhere(lab, rows(3))

        async def main() -> ResultSet:
            return await lab.session.execute_async(QUERY)

        assert loop.run_until_complete(main()).one() == (3,)
        thread.join(PATIENCE)

    def test_many(self, loop: asyncio.AbstractEventLoop) -> None:
        lab = Lab()
        thread = answered_elsewhere(lab, *(rows(n) for n in range(50)))

        async def main() -> list[ResultSet]:
            return await asyncio.gather(*(lab.session.execute_async(QUERY) for _ in range(50)))

        assert [result.one().n for result in loop.run_until_complete(main())] == list(range(50))
        thread.join(PATIENCE)

    def test_an_error(self, loop: asyncio.AbstractEventLoop) -> None:
        lab = Lab()
        thread = answered_elsewhere(lab, error(0x2200))

        async def main() -> None:
            with pytest.raises(Exception, match="no"):
                await lab.session.execute_async(QUERY)

        loop.run_until_complete(main())
        thread.join(PATIENCE)

    def test_pages(self, loop: asyncio.AbstractEventLoop) -> None:
        lab = Lab()
        thread = answered_elsewhere(lab, rows(1, more=b"2"), rows(more=b"3"), rows(2, 3, more=b"4"), rows())

        async def main() -> list[int]:
            return [row.n async for row in await lab.session.execute_async(QUERY)]

        assert loop.run_until_complete(main()) == [1, 2, 3]
        thread.join(PATIENCE)

    def test_wait_for(self, loop: asyncio.AbstractEventLoop) -> None:
        lab = Lab()

        async def main() -> None:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(lab.session.execute_async(QUERY), 0.001)

        loop.run_until_complete(main())
        assert len(lab[0].orphaned) == 1


class TestAllPages:
    def test_all(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, more=b"2"), rows(more=b"3"), rows(2, 3)]

        async def main() -> None:
            result = await lab.session.execute_async(QUERY)
            assert await result.all_async() == [(1,), (2,), (3,)]
            assert result.all() == []

        asyncio.run(main())

    def test_all_async_keeps_fetched_rows_after_an_error(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, more=b"2"), rows(2, more=b"3"), error(0x2200), rows(3)]

        async def main() -> None:
            result = await lab.session.execute_async(QUERY)
            with pytest.raises(Exception, match="no"):
                await result.all_async()
            assert await result.all_async() == [(1,), (2,), (3,)]

        asyncio.run(main())

    def test_page_by_page(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, more=b"2"), rows(2)]

        async def main() -> None:
            result = await lab.session.execute_async(QUERY)
            await result.fetch_next_page_async()
            assert result.current_rows == [(2,)]
            await result.fetch_next_page_async()
            assert result.current_rows == []

        asyncio.run(main())

    def test_others_have_their_turn(self) -> None:
        """However fast the pages come."""
        lab = Lab()
        lab[0].script = [*(rows(n, more=b"%d" % n) for n in range(50)), rows(50)]
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async def main() -> None:
            task = asyncio.create_task(other())
            result = await lab.session.execute_async(QUERY)
            assert len([row async for row in result]) == 51
            task.cancel()

        asyncio.run(main())
        assert turns >= 50


def queues_at_rest() -> int:
    """How many there are when sessions of other tests are gone: one that is collected is shut down by a command, which
    keeps it, and its requests, until the next collection."""
    counts: list[int] = []
    while len(counts) < 3 or len(set(counts[-3:])) > 1:
        gc.collect()
        counts.append(debug_counters()["completion_queues"])
        time.sleep(0.02)
    return counts[-1]


class TestLoopsThatEnd:
    def test_one_that_is_collected_takes_its_queue_along(self) -> None:
        before = queues_at_rest()
        lab = Lab()
        for n in range(5):
            lab[0].script = [rows(n)]
            assert asyncio.run(awaited(lab.session.execute_async(QUERY))).one() == (n,)
        lab[0].sent.clear()
        gc.collect()
        assert debug_counters()["completion_queues"] == before
        assert lab.session is not None  # which keeps none of them

    def test_one_that_is_kept_loses_its_queue_to_the_next(self) -> None:
        lab = Lab()
        kept = []
        before = queues_at_rest()
        for n in range(5):
            loop = asyncio.new_event_loop()
            kept.append(loop)
            lab[0].script = [rows(n)]
            assert loop.run_until_complete(awaited(lab.session.execute_async(QUERY))).one() == (n,)
            loop.close()
            lab[0].sent.clear()
            gc.collect()
            assert debug_counters()["completion_queues"] <= before + 1
        kept.clear()

    def test_an_answer_queued_for_a_stopped_loop_is_processed_by_another(self) -> None:
        """The answer came, and was queued for a loop that then never ran again."""
        lab = Lab()
        ended = asyncio.new_event_loop()
        future = lab.session.execute_async(QUERY)
        task = ended.create_task(awaited(future))
        ended.run_until_complete(asyncio.sleep(0))
        lab[0].answer(rows(3))
        assert asyncio.run(awaited(future)).one() == (3,)
        assert ended.run_until_complete(task).one() == (3,)
        ended.close()

    def test_closed_with_a_task_that_waits(self) -> None:
        """The answer comes nevertheless, and is processed when another loop comes. Asyncio reports the end of the
        task."""
        lab = Lab()
        loop = asyncio.new_event_loop()
        said: list[str] = []
        loop.set_exception_handler(lambda _, context: said.append(context["message"]))
        future = lab.session.execute_async(QUERY)
        task = loop.create_task(awaited(future))
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        lab[0].answer(rows(3))
        lab[0].script = [rows(1)]
        assert asyncio.run(awaited(lab.session.execute_async(QUERY))).one() == (1,)
        assert future._final_result == [(3,)]
        del loop, task
        gc.collect()
        assert said == ["Task was destroyed but it is pending!"]

    def test_the_answer_comes_after_it_was_closed(self) -> None:
        lab = Lab()
        loop = asyncio.new_event_loop()
        future = lab.session.execute_async(QUERY)
        coroutine = awaited(future)

        async def begin() -> None:
            coroutine.send(None)

        loop.run_until_complete(begin())
        loop.close()
        lab[0].answer(rows(3))
        assert future.result().one() == (3,)
        coroutine.close()


class TestContext:
    def test_a_task_has_its_own(self) -> None:
        lab = Lab()
        variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")
        lab[0].script = [rows(n) for n in range(10)]

        async def one(number: int) -> int:
            variable.set(number)
            await lab.session.execute_async(QUERY)
            return variable.get()

        async def main() -> list[int]:
            return await asyncio.gather(*(one(n) for n in range(10)))

        assert asyncio.run(main()) == list(range(10))

    def test_that_of_the_first_request_is_not_kept(self) -> None:
        """The loop outlives the task whose request was its first."""

        class Heavy:
            pass

        lab = Lab()
        lab[0].script = [rows(1)]
        variable: contextvars.ContextVar[Heavy] = contextvars.ContextVar("variable")
        seen: list[Any] = []

        def factory(names: Any, values: Any) -> Any:
            seen.append(variable.get(None))
            return values

        lab.profile.row_factory = factory

        async def first() -> weakref.ref[Heavy]:
            heavy = Heavy()
            variable.set(heavy)
            await lab.session.execute_async(QUERY)
            return weakref.ref(heavy)

        async def main() -> None:
            reference = await asyncio.create_task(first())
            await asyncio.sleep(0)
            gc.collect()
            assert reference() is None

        asyncio.run(main())
        assert seen == [None]


def test_the_debug_mode_has_nothing_to_say(caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder) -> None:
    """No exception that was never retrieved, no task destroyed, no resource left open."""
    lab = Lab()

    async def main() -> None:
        lab[0].script = [rows(1), error(0x2200)]
        await lab.session.execute_async(QUERY)
        with pytest.raises(Exception, match="no"):
            await lab.session.execute_async(QUERY)
        lab.session.execute_async(QUERY)  # no caller reads the result
        lab[0].answer(error(0x2200))
        task = asyncio.create_task(awaited(lab.session.execute_async(QUERY)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        lab[0].answer(error(0x2200))
        results = await asyncio.gather(
            *(awaited(lab.session.execute_async(QUERY)) for _ in range(2)), answer(), return_exceptions=True
        )
        assert len(results) == 3

    async def answer() -> None:
        for sent in lab[0].sent[-2:]:
            lab[0].answer(error(0x2200), sent)

    with caplog.at_level(logging.WARNING, "asyncio"):
        asyncio.run(main(), debug=True)
        gc.collect()
    assert [record.getMessage() for record in caplog.records if not record.getMessage().startswith("Executing")] == []
    assert [str(warning.message) for warning in recwarn] == []


if sys.version_info >= (3, 12):

    def test_eager_tasks() -> None:
        lab = Lab()

        async def main() -> None:
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            lab[0].script = [rows(n) for n in range(5)]
            tasks = [asyncio.create_task(awaited(lab.session.execute_async(QUERY))) for _ in range(5)]
            assert [(await task).one().n for task in tasks] == list(range(5))

        asyncio.run(main())


def run_in_threads(count: int, main: Callable[[int], Coroutine[Any, Any, Any]]) -> list[Any]:
    found: dict[int, Any] = {}
    threads = [threading.Thread(target=lambda n=n: found.setdefault(n, asyncio.run(main(n)))) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    return [found[n] for n in range(count)]


def test_loops_in_threads_that_wait_for_the_same_request() -> None:
    lab = Lab()
    future = lab.session.execute_async(QUERY)
    together = threading.Barrier(4)

    async def main(number: int) -> int:
        together.wait(PATIENCE)
        if number == 0:
            lab[0].answer(rows(3))
        return (await future).one().n  # type: ignore[no-any-return]

    assert run_in_threads(4, main) == [3] * 4


class Interrupted(asyncio.SelectorEventLoop):
    """As if the handler of a signal raised in the next call of one of its methods, when that is nearly through."""

    interrupted = ""

    def _end(self, name: str) -> None:
        if self.interrupted == name:
            self.interrupted = ""
            raise KeyboardInterrupt

    def get_debug(self) -> bool:
        self._end("get_debug")
        return super().get_debug()

    def call_soon(self, *args: Any, **kwargs: Any) -> asyncio.Handle:
        handle = super().call_soon(*args, **kwargs)
        self._end("call_soon")
        return handle


class TestInterruptions:
    def test_a_task_goes_on_when_the_call_of_it_was_interrupted(self) -> None:
        lab = Lab()
        loop = Interrupted()
        task = loop.create_task(awaited(lab.session.execute_async(QUERY)))
        loop.run_until_complete(asyncio.sleep(0))
        lab[0].answer(rows(3))
        loop.call_soon(setattr, loop, "interrupted", "get_debug")
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(task)
        assert loop.run_until_complete(asyncio.wait_for(task, PATIENCE)).one() == (3,)
        loop.close()

    def test_a_cancellation_that_is_repeated_goes_on_once(self) -> None:
        lab = Lab()
        loop = Interrupted()

        async def main() -> str:
            try:
                await lab.session.execute_async(QUERY)
            except asyncio.CancelledError:
                await asyncio.sleep(0.05)
                return "cancelled"
            return "answered"

        task = loop.create_task(main())
        loop.run_until_complete(asyncio.sleep(0))
        loop.interrupted = "call_soon"
        with pytest.raises(KeyboardInterrupt):
            task.cancel()
        task.cancel()
        assert loop.run_until_complete(asyncio.wait_for(task, PATIENCE)) == "cancelled"
        loop.close()
