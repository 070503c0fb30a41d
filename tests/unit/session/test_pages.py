"""Pages that follow one another while others wait, listen, cancel or answer late: every row once, and no waiter left.

Where two threads have to meet, the test puts the second one's step into a hook that the first one passes."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra import DriverException, InvalidRequest, OperationTimedOut
from cassandra._core.transport import RequestRecorder
from cassandra.cluster import QueryExhausted, ResponseFuture, ResultSet
from cassandra.policies import ConstantSpeculativeExecutionPolicy, RetryPolicy
from cassandra.query import SimpleStatement
from tests.unit.session.harness import TIMED_OUT, Answer, Lab, Lost, error, rows, void

QUERY = "SELECT n FROM tbl"


def idempotent() -> SimpleStatement:
    return SimpleStatement(QUERY, is_idempotent=True)


def numbers(result: Any) -> list[int]:
    return [row.n for row in result]


class Hook:
    """Runs *step* once, when it is called first."""

    def __init__(self, step: Any) -> None:
        self.step = step
        self.ran = False

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if not self.ran:
            self.ran = True
            self.step()


class TestConclusion:
    """A page that begins while the one before is still being concluded must lose nothing to it."""

    def test_the_next_page_begins_while_metrics_are_written(self) -> None:
        lab = Lab()

        class Metrics(RequestRecorder):
            def attempt_sent(self, host: Any) -> None:
                pass

            def page_ended(self, request: Any, error: BaseException | None, elapsed: float) -> None:
                hook()

        future = lab.session.execute_async(QUERY)
        hook = Hook(lambda: future.start_fetching_next_page())
        future._metrics = Metrics(0)
        lab[0].answer(rows(1, more=b"p2"))
        future._on_outcome()
        assert hook.ran
        assert b"p2" in lab[0].sent[1].body
        lab[0].answer(rows(2))
        assert numbers(future.result()) == [2]

    def test_the_next_page_begins_while_the_timer_is_cancelled(self) -> None:
        lab = Lab(hosts=3, speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.1, 2))
        future = lab.session.execute_async(idempotent())
        (timer,) = lab.reactor.timers
        cancelled = timer.cancel
        timer.cancel = Hook(lambda: (cancelled(), future.start_fetching_next_page()))  # type: ignore[method-assign]
        lab[0].answer(rows(1, more=b"p2"))
        future._on_outcome()
        assert lab.reactor.run() == [0.1], "the second page has a timer of its own"
        lab[1].answer(rows(2))
        assert numbers(future.result()) == [2]

    def test_a_retry_that_fires_late_is_not_for_the_next_page(self) -> None:
        class Delayed(RetryPolicy):
            def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
                return self.RETRY, None, 1.0

        lab = Lab(retry_policy=Delayed())
        future = lab.session.execute_async(idempotent())
        lab[0].answer(rows(1, more=b"p2"))
        assert numbers(future.result().current_rows) == [1]
        future.start_fetching_next_page()
        lab[0].answer(error(0x1001))
        (timer,) = lab.reactor.timers
        timer.cancel = lambda: None  # type: ignore[method-assign]  # it is running already
        assert future.cancel()
        future.start_fetching_next_page()
        assert len(lab[0].sent) == 3
        timer.callback()
        assert len(lab[0].sent) == 3
        lab[0].answer(rows(2))
        assert numbers(future.result()) == [2]

    def test_a_late_answer_is_not_the_next_pages(self) -> None:
        lab = Lab(hosts=2, speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.1, 1))
        future = lab.session.execute_async(idempotent())
        lab.reactor.run()
        lab[1].answer(rows(1, more=b"p2"))
        assert numbers(future.result().current_rows) == [1]
        future.start_fetching_next_page()
        lab[0].answer(rows(1, more=b"p2"), lab[0].sent[0])
        lab[0].answer(rows(2), lab[0].sent[1])
        assert numbers(future.result()) == [2]

    def test_an_attempt_that_is_sent_while_its_page_ends(self) -> None:
        """Its answer is discarded and belongs to no page, not to the next one either."""
        lab = Lab(hosts=2, speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.1, 1))
        future = lab.session.execute_async(idempotent())
        submit = lab[1].submit

        def meanwhile(*arguments: Any) -> int:
            lab[1].submit = submit  # type: ignore[method-assign]
            lab[0].answer(rows(1, more=b"p2"))
            future.result()
            future.start_fetching_next_page()
            return submit(*arguments)

        lab[1].submit = meanwhile  # type: ignore[method-assign]
        lab.reactor.run()
        assert (0, future, 1) in lab[1].orphaned
        lab[1].answer(rows(7, more=b"p2"), lab[1].sent[0])
        lab[0].answer(rows(2), lab[0].sent[1])
        assert numbers(future.result()) == [2]

    def test_rows_that_are_being_made_while_their_page_is_given_up(self) -> None:
        """They come too late, also for the same page that was asked for again meanwhile."""
        making, go_on = threading.Event(), threading.Event()

        def slow(names: Any, made: Any) -> Any:
            if made == [(2,)]:
                making.set()
                assert go_on.wait(30)
            return made

        lab = Lab(row_factory=slow)
        lab[0].script = [rows(1, more=b"p2")]
        future = lab.session.execute_async(QUERY)
        result = future.result()
        future.start_fetching_next_page()
        lab[0].answer(rows(2))
        maker = threading.Thread(target=future._on_outcome)
        maker.start()
        assert making.wait(30)
        assert future.cancel()
        lab[0].script = [rows(3)]
        future.start_fetching_next_page()
        go_on.set()
        maker.join(30)
        assert future.result().all() == [(3,)]
        assert result.current_rows == [(1,)]

    def test_cancel_that_comes_too_late(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1)]
        future = lab.session.execute_async(QUERY)
        future.result()
        assert future.cancel() is False
        assert numbers(future.result()) == [1]

    def test_cancelled_from_a_listener(self) -> None:
        """Before anything was sent: nothing is."""
        lab = Lab()
        with lab.listening(lambda future: future.cancel()):
            future = lab.session.execute_async(QUERY)
        assert lab[0].sent == []
        with pytest.raises(CancelledError):
            future.result()

    def test_pages_and_waiters_on_many_threads(self) -> None:
        """One thread answers, one asks for page after page as soon as there is one, others wait: all of them end."""
        lab = Lab()
        pages = 60
        future = lab.session.execute_async(QUERY)
        failed: list[BaseException] = []

        def guarded(step: Any) -> threading.Thread:
            def run() -> None:
                try:
                    step()
                except BaseException as problem:
                    failed.append(problem)

            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            return thread

        asked = threading.Semaphore(1)

        def answer() -> None:
            for page in range(pages):
                assert asked.acquire(timeout=30)
                lab[0].answer(rows(page, more=b"%d" % page if page < pages - 1 else None))

        seen: list[int] = []

        def ask() -> None:
            while True:
                result = future.result()
                seen.extend(numbers(result.current_rows))
                if not result.has_more_pages:
                    return
                future.start_fetching_next_page()
                asked.release()

        def wait() -> None:
            while future.result().has_more_pages:
                pass

        threads = [guarded(answer), guarded(ask), guarded(wait), guarded(wait)]
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert not failed
        assert seen == list(range(pages))


class TestCallbacks:
    def test_one_that_is_added_while_the_next_page_begins(self) -> None:
        """It gets the page that was there when it was added, then the next one."""
        lab = Lab()
        lab[0].script = [rows(1, more=b"p2")]
        future = lab.session.execute_async(QUERY)
        future.result()
        eager = future._set_eager
        future._set_eager = Hook(lambda: (eager(), future.start_fetching_next_page()))  # type: ignore[method-assign]
        pages: list[Any] = []
        future.add_callback(pages.append)
        assert pages == [[(1,)]]
        lab[0].answer(rows(2))
        assert pages == [[(1,)], [(2,)]]

    def test_the_next_page_cannot_be_asked_for_twice(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, more=b"p2")]
        future = lab.session.execute_async(QUERY)
        future.result()
        future.start_fetching_next_page()
        with pytest.raises(DriverException, match="is being fetched already"):
            future.start_fetching_next_page()
        lab[0].answer(rows(2))
        assert numbers(future.result()) == [2]
        assert len(lab[0].sent) == 2

    def test_a_callback_asks_for_the_next_page_before_the_awaiting_task_runs(self) -> None:
        """The task gets the page it waited for, not the lack of the next one."""
        lab = Lab()

        async def main() -> ResultSet:
            future = lab.session.execute_async(QUERY)

            def on_page(page: Any) -> None:
                if future.has_more_pages:
                    future.start_fetching_next_page()

            future.add_callback(on_page)
            asyncio.get_running_loop().call_soon(lambda: lab[0].answer(rows(1, more=b"p2")))
            return await future

        result = asyncio.run(main())
        assert result.current_rows == [(1,)]
        assert result.paging_state == b"p2"

    def test_a_task_that_is_cancelled_gives_up_its_own_page_only(self) -> None:
        lab = Lab()

        async def main() -> ResponseFuture:
            future = lab.session.execute_async(QUERY)
            task = asyncio.ensure_future(_awaited(future))
            await asyncio.sleep(0)
            lab[0].answer(rows(1, more=b"p2"))
            future._on_outcome()
            future.start_fetching_next_page()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return future

        future = asyncio.run(main())
        lab[0].answer(rows(2))
        assert numbers(future.result()) == [2]


async def _awaited(future: ResponseFuture) -> ResultSet:
    return await future


class Broken(Exception):
    pass


def fails_with_an_error(lab: Lab) -> Any:
    lab[0].script.append(error(0x2200, "gone"))
    return InvalidRequest


def fails_by_timeout(lab: Lab) -> Any:
    lab[0].script.append(Lost(kind=TIMED_OUT))
    return OperationTimedOut


def fails_in_the_row_factory(lab: Lab) -> Any:
    lab[0].script.append(rows(-1, more=b"not this"))
    return Broken


def fails_before_it_is_sent(lab: Lab) -> Any:
    lab.policy.raises = Broken()
    return Broken


FAILURES = [fails_with_an_error, fails_by_timeout, fails_in_the_row_factory, fails_before_it_is_sent]


def factory(names: Any, made: Any) -> Any:
    if made == [(-1,)]:
        raise Broken
    return made


@pytest.mark.parametrize("fail", FAILURES, ids=lambda fail: fail.__name__)
class TestFailedPages:
    """Rows never end as if they were all there: the error comes, each time, until the page does."""

    def result(self, fail: Any) -> tuple[Lab, ResultSet, type[Exception]]:
        lab = Lab(row_factory=factory)
        lab[0].script = [rows(1, 2, more=b"p2")]
        result = lab.session.execute(QUERY)
        return lab, result, fail(lab)

    def works_again(self, lab: Lab) -> None:
        lab.policy.raises = None
        lab[0].script = [rows(3, more=b"p3"), rows(4)]

    def test_an_iterator_goes_on(self, fail: Any) -> None:
        lab, result, expected = self.result(fail)
        iterator = iter(result)
        assert [next(iterator), next(iterator)] == [(1,), (2,)]
        with pytest.raises(expected):
            next(iterator)
        with pytest.raises(expected):
            fail(lab)
            next(iterator)
        assert result.paging_state == b"p2" and result.has_more_pages
        self.works_again(lab)
        assert list(iterator) == [(3,), (4,)]
        assert b"p2" in lab[0].sent[-2].body
        assert list(iterator) == list(result) == []

    def test_next_goes_on(self, fail: Any) -> None:
        lab, result, expected = self.result(fail)
        assert [next(result), next(result)] == [(1,), (2,)]
        for again in (False, True):
            if again:
                fail(lab)
            with pytest.raises(expected):
                next(result)
        self.works_again(lab)
        assert [next(result), next(result), next(result, None)] == [(3,), (4,), None]

    def test_a_loop_begins_with_the_current_page(self, fail: Any) -> None:
        lab, result, expected = self.result(fail)
        for again in (False, True):
            if again:
                fail(lab)
            seen = []
            with pytest.raises(expected):
                for row in result:
                    seen.append(row)
            assert seen == [(1,), (2,)]
        self.works_again(lab)
        assert list(result) == [(1,), (2,), (3,), (4,)]

    def test_all_is_all(self, fail: Any) -> None:
        lab, result, expected = self.result(fail)
        with pytest.raises(expected):
            result.all()
        self.works_again(lab)
        lab[0].script[1] = error(0x2200)
        with pytest.raises(InvalidRequest):
            result.all()
        lab[0].script = [rows(4)]
        assert result.all() == [(1,), (2,), (3,), (4,)]
        assert result.all() == []

    def test_indexes(self, fail: Any) -> None:
        lab, result, expected = self.result(fail)
        with pytest.raises(expected):
            result[0]
        self.works_again(lab)
        assert (result[3], result[0]) == ((4,), (1,))

    def test_pages_by_hand(self, fail: Any) -> None:
        lab, result, expected = self.result(fail)
        with pytest.raises(expected):
            result.fetch_next_page()
        assert result.current_rows == [(1,), (2,)]
        self.works_again(lab)
        result.fetch_next_page()
        assert (result.current_rows, result.paging_state) == ([(3,)], b"p3")

    def test_pages_of_the_future(self, fail: Any) -> None:
        lab, result, expected = self.result(fail)
        future = result.response_future
        future.start_fetching_next_page()
        with pytest.raises(expected):
            future.result()
        assert future.has_more_pages
        self.works_again(lab)
        future.start_fetching_next_page()
        assert future.result().all() == [(3,), (4,)]
        with pytest.raises(QueryExhausted):
            future.start_fetching_next_page()

    def test_async(self, fail: Any) -> None:
        lab, result, expected = self.result(fail)

        async def main() -> None:
            seen = []
            with pytest.raises(expected):
                async for row in result:
                    seen.append(row)
            assert seen == [(1,), (2,)]
            self.works_again(lab)
            seen += [await result.__anext__(), await result.__anext__()]
            assert seen == [(1,), (2,), (3,), (4,)]
            with pytest.raises(StopAsyncIteration):
                await result.__anext__()

        asyncio.run(main())


class TestInterruptedPages:
    def test_a_wait_is_taken_up_again(self) -> None:
        """Ctrl-C ends the wait, not the request: it is not sent a second time."""
        lab = Lab()
        lab[0].script = [rows(1, more=b"p2")]
        result = lab.session.execute(QUERY)
        future = result.response_future

        def interrupted() -> Any:
            del future.__dict__["_wait_for_outcome"]
            raise KeyboardInterrupt

        future._wait_for_outcome = interrupted  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            list(result)
        lab[0].answer(rows(2))
        assert numbers(result) == [1, 2]
        assert len(lab[0].sent) == 2

    def test_while_it_is_sent(self) -> None:
        """The progress of the request is unknown: the page is over, and can be fetched again."""
        lab = Lab()
        lab[0].script = [rows(1, more=b"p2"), KeyboardInterrupt()]
        result = lab.session.execute(QUERY)
        iterator = iter(result)
        assert next(iterator) == (1,)
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
        lab[0].script = [rows(2)]
        assert list(iterator) == [(2,)]

    def test_an_awaiting_task_is_cancelled(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, more=b"p2")]

        async def main() -> list[Any]:
            result = await lab.session.execute_async(QUERY)
            seen: list[Any] = []

            async def read() -> None:
                async for row in result:
                    seen.append(row)

            task = asyncio.ensure_future(read())
            while not seen:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            lab[0].script = [rows(2)]
            seen.append(await result.__anext__())
            return seen

        assert asyncio.run(main()) == [(1,), (2,)]
        assert len(lab[0].orphaned) == 1


class TestSeveralResults:
    """Over one future; each goes by its own paging state."""

    def test_one_after_the_other(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, more=b"p2"), rows(2, more=b"p3"), rows(3), rows(2, more=b"p3"), rows(3)]
        future = lab.session.execute_async(QUERY)
        first, second = future.result(), future.result()
        assert numbers(first) == numbers(second) == [1, 2, 3]

    def test_in_turns(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, more=b"p2")] + [rows(2, more=b"p3")] * 2 + [rows(3)] * 2
        future = lab.session.execute_async(QUERY)
        first, second = iter(future.result()), iter(future.result())
        assert [(a.n, b.n) for a, b in zip(first, second, strict=True)] == [(1, 1), (2, 2), (3, 3)]

    def test_a_page_replaced_by_another_consumer_is_fetched_again(self) -> None:
        """The consumer gets an error; the next read fetches the rows again."""
        lab = Lab()
        lab[0].script = [rows(1, more=b"p2")]
        result = lab.session.execute(QUERY)
        future = result.response_future
        page = result._ask_ahead()
        lab[0].script = [rows(3)]
        lab[0].answer(rows(2, more=b"p3"))
        future.result()
        future.start_fetching_next_page()
        with pytest.raises(DriverException, match="fetched by another consumer"):
            result.fetch_next_page()
        lab[0].script = [rows(2, more=b"p3"), rows(3)]
        assert numbers(result) == [1, 2, 3]
        assert page == 1


class TestWhatComesWithPages:
    def test_names_are_those_of_the_page(self) -> None:
        """Also when the future is on another page by now."""
        lab = Lab()
        lab[0].script = [rows(1, more=b"p2"), rows(2, column="m")]
        result = lab.session.execute(QUERY)
        result.response_future.start_fetching_next_page()
        assert result.column_names == ["n"]
        assert result.response_future.result().column_names == ["m"]

    def test_nothing_of_an_earlier_attempt(self) -> None:
        """Warnings and payload belong to the answer they came with."""

        class Again(RetryPolicy):
            def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
                return (self.RETRY, None) if kwargs["retry_num"] == 0 else (self.RETHROW, None)

        def with_all(answer: Answer) -> Answer:
            prefix = b"\x11" * 16 + b"\x00\x01\x00\x02hm" + b"\x00\x01\x00\x01k\x00\x00\x00\x01v"
            return Answer(answer.opcode, prefix + answer.body, 0x02 | 0x04 | 0x08)

        for last in (rows(1), void(), error(0x1001), Lost(), Lost(kind=TIMED_OUT)):
            lab = Lab(retry_policy=Again())
            lab[0].script = [with_all(error(0x1001)), last]
            future = lab.session.execute_async(idempotent())
            assert future.warnings is None
            assert future.custom_payload is None
            assert len(future.get_query_trace_ids()) == 1, "the error's trace is a trace"
        lab = Lab()
        lab[0].script = [with_all(error(0x2200))]
        future = lab.session.execute_async(QUERY)
        assert future.warnings == ["hm"]
        assert future.custom_payload == {"k": b"v"}
        assert len(future.get_query_trace_ids()) == 1
