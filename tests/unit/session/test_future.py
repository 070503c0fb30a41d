"""ResponseFuture: waiting, callbacks, await, pages, from whichever thread the answer comes."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra import DriverException, InvalidRequest
from cassandra.cluster import QueryExhausted, ResponseFuture, ResultSet, TraceUnavailable
from cassandra.policies import RetryPolicy
from cassandra.query import SimpleStatement
from tests.unit.session.harness import Answer, Lab, Lost, error, routed_lab, rows, schema_change, set_keyspace, void

QUERY = "SELECT n FROM tbl"


class TestResult:
    def test_answer_before_and_after(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1)]
        assert lab.session.execute_async(QUERY).result().one() == (1,)
        future = lab.session.execute_async(QUERY)
        timer = threading.Timer(0.02, lambda: lab[0].answer(rows(2)))
        timer.start()
        assert future.result().one() == (2,)
        timer.join()

    def test_again_and_again(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, 2)]
        future = lab.session.execute_async(QUERY)
        first, second = future.result(), future.result()
        assert isinstance(first, ResultSet)
        assert list(first) == list(second) == [(1,), (2,)]

    def test_many_waiters(self) -> None:
        lab = Lab()
        future = lab.session.execute_async(QUERY)
        results: list[Any] = []
        waiters = [threading.Thread(target=lambda: results.append(future.result().one())) for _ in range(8)]
        for waiter in waiters:
            waiter.start()
        lab[0].answer(rows(4))
        for waiter in waiters:
            waiter.join(30)
        assert results == [(4,)] * 8

    @pytest.mark.parametrize("part", ["_final_result", "_final_exception", "_extras", "_warnings", "_custom_payload"])
    def test_parts_while_another_thread_requests_the_next_page(self, part: str) -> None:
        """The outcome is read once: it is gone at the next moment."""
        outcomes = [None, ([], None, (None, None, None, None), 0)]

        class Turning(ResponseFuture[Any]):
            _outcome = property(lambda self: outcomes.pop())

        assert not getattr(Turning.__new__(Turning), part)
        assert outcomes == [None]

    def test_not_on_the_io_thread(self) -> None:
        """There it would wait for itself."""
        lab = Lab()
        lab.session._on_io_thread = lambda: True
        future = lab.session.execute_async(QUERY)
        with pytest.raises(DriverException, match="I/O thread"):
            future.result()
        lab[0].answer(rows(1))
        future._on_outcome()
        assert future.result().one() == (1,)

    def test_ctrl_c(self) -> None:
        import signal

        lab = Lab()
        future = lab.session.execute_async(QUERY)
        timer = threading.Timer(0.05, lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            future.result()
        timer.join()
        lab[0].answer(rows(1))
        assert future.result().one() == (1,)

    def test_repr(self) -> None:
        lab = Lab()
        future = lab.session.execute_async(QUERY)
        assert "no result yet" in repr(future) and QUERY in repr(future)
        lab[0].answer(error(0x2200, "because"))
        with pytest.raises(InvalidRequest):
            future.result()
        assert "because" in repr(future)
        assert str(future) == repr(future)

    def test_repr_counts(self) -> None:
        """The repr of a future has no rows and values, which a log might get; that of a result has the first rows."""
        lab, select = routed_lab()
        lab[0].script = [rows(*range(1000, 4000), more=b"2"), rows(1), void()]
        future = lab.session.execute_async(select, (123456,))
        result = future.result()
        assert "'SELECT n FROM tbl WHERE k = ?' with 1 parameter " in repr(future)
        assert "result=3000 rows" in repr(future) and len(repr(future)) < 300
        lines = repr(result).splitlines()
        assert lines[0] == "<ResultSet: 3000 rows, and there are more>" and lines[1].split() == ["n"]
        assert [int(line) for line in lines[4:14]] == list(range(1000, 1010))
        assert lines[14:] == ["(2,990 more rows in this page)", "(there are more pages)"]
        assert future._frame is not None and "message" not in future.__dict__, "asking changes nothing"
        assert lab.session.execute(select.bind((123456,))).response_future.query.values
        for query in (select.bind((123456,)), SimpleStatement("INSERT " + "x" * 10_000)):
            future = lab.session.execute_async(query)
            assert "123456" not in repr(future) and len(repr(future)) < 400
        lab[0].answer(void())
        future.result()
        assert "result=no rows" in repr(future)

    def test_repr_of_a_result(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1), rows(), void()]
        first, none, void_one = [repr(lab.session.execute(QUERY)).splitlines() for _ in range(3)]
        assert first == ["<ResultSet: 1 row>", "   n", " int", "-----", "   1"]
        assert none == ["<ResultSet: 0 rows>", " n", " int", "-----"]
        assert void_one == ["<ResultSet: 0 rows>"]


class TestCallbacks:
    def test_before_the_answer(self) -> None:
        lab = Lab()
        calls: list[Any] = []
        future = lab.session.execute_async(QUERY)
        assert future.add_callback(lambda *a, **k: calls.append((a, k)), 1, x=2) is future
        future.add_errback(lambda *a: calls.append("error"))
        lab[0].answer(rows(5))
        assert calls == [(([(5,)], 1), {"x": 2})]

    def test_after_the_answer(self) -> None:
        lab = Lab()
        lab[0].script = [void(), error(0x2200)]
        calls: list[Any] = []
        done = lab.session.execute_async(QUERY)
        done.result()
        done.add_callbacks(calls.append, lambda e: calls.append("error"))
        failed = lab.session.execute_async(QUERY)
        failed.add_callbacks(lambda r: calls.append("rows"), lambda e: calls.append(type(e)))
        assert calls == [None, InvalidRequest]

    def test_arguments(self) -> None:
        lab = Lab()
        calls: list[Any] = []

        def note(value: Any, *args: Any, **kwargs: Any) -> None:
            calls.append((type(value).__name__, args, kwargs))

        for answer in (void(), error(0x2200)):
            future = lab.session.execute_async(QUERY)
            future.add_callbacks(note, note, (1,), {"a": 1}, (2,), {"b": 2})
            lab[0].answer(answer)
        assert calls == [("NoneType", (1,), {"a": 1}), ("InvalidRequest", (2,), {"b": 2})]

    def test_an_exception_is_logged_and_the_others_called(self, caplog: pytest.LogCaptureFixture) -> None:
        lab = Lab()
        calls: list[Any] = []
        future = lab.session.execute_async(QUERY)
        future.add_callback(lambda rows: 1 / 0)
        future.add_callback(calls.append)
        lab[0].answer(void())
        assert calls == [None]
        assert "ZeroDivisionError" in caplog.text

    def test_cleared(self) -> None:
        lab = Lab()
        future = lab.session.execute_async(QUERY)
        future.add_callbacks(pytest.fail, pytest.fail)
        future.clear_callbacks()
        lab[0].answer(void())
        assert future.result().one() is None

    def test_once_although_several_threads_wait(self) -> None:
        lab = Lab()
        calls: list[Any] = []
        future = lab.session.execute_async(QUERY)
        future.add_callback(calls.append)
        waiters = [threading.Thread(target=future.result) for _ in range(4)]
        for waiter in waiters:
            waiter.start()
        lab[0].answer(rows(1))
        for waiter in waiters:
            waiter.join(30)
        assert calls == [[(1,)]]


class TestPages:
    def test_by_hand(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, 2, more=b"p2"), rows(3)]
        future = lab.session.execute_async(QUERY)
        assert list(future.result().current_rows) == [(1,), (2,)]
        assert future.has_more_pages
        future.start_fetching_next_page()
        assert list(future.result().current_rows) == [(3,)]
        assert not future.has_more_pages
        assert b"p2" in lab[0].sent[1].body
        with pytest.raises(QueryExhausted, match="no more pages"):
            future.start_fetching_next_page()

    @pytest.mark.parametrize("early", [True, False])
    def test_callbacks_get_every_page(self, early: bool) -> None:
        """Also those that were added when the first page was here already."""
        lab = Lab()
        pages: list[Any] = []
        future = lab.session.execute_async(QUERY)

        def on_page(page: Any) -> None:
            pages.append(page)
            if future.has_more_pages:
                future.start_fetching_next_page()

        if early:
            future.add_callback(on_page)
        lab[0].answer(rows(1, more=b"p2"))
        if not early:
            future.result()
            future.add_callback(on_page)
        lab[0].answer(rows(more=b"p3"))
        lab[0].answer(rows(3))
        assert pages == [[(1,)], [], [(3,)]]

    def test_a_thousand_pages_do_not_nest(self) -> None:
        """Answers that are there at once, callback after callback."""
        lab = Lab()
        total = 1000
        lab[0].script = [rows(n, more=b"%d" % n if n < total else None) for n in range(1, total + 1)]
        seen: list[int] = []
        future = lab.session.execute_async(QUERY)
        for row in future.result():
            seen.append(row.n)
        assert seen == list(range(1, total + 1))

    def test_a_later_page_fails(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, more=b"p2"), error(0x2200, "gone")]
        result = lab.session.execute(QUERY)
        with pytest.raises(InvalidRequest, match="gone"):
            list(result)

    def test_a_page_that_cannot_be_sent_fails_the_future(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, more=b"p2")]
        future = lab.session.execute_async(QUERY)
        future.result()
        lab.policy.raises = LookupError("broken plan")
        future.start_fetching_next_page()
        with pytest.raises(LookupError, match="broken plan"):
            future.result()

    def test_each_page_has_a_new_plan_and_its_own_time(self) -> None:
        lab = Lab(hosts=2)
        lab[0].script = [rows(1, more=b"p2"), Lost(sent=False), rows(3)]
        lab[1].script = [rows(2, more=b"p3")]
        future = lab.session.execute_async(QUERY, timeout=5)
        assert [row.n for row in future.result()] == [1, 2, 3]
        assert lab.policy.plans == 3
        assert all(4 < sent.timeout <= 5 for sent in lab[0].sent)  # type: ignore[operator]

    def test_warnings_are_those_of_the_last_page(self) -> None:
        lab = Lab()
        first = rows(1, more=b"p2")
        lab[0].script = [Answer(first.opcode, b"\x00\x01\x00\x02hm" + first.body, 0x08), rows(2)]
        future = lab.session.execute_async(QUERY)
        assert future.warnings == ["hm"]
        future.start_fetching_next_page()
        assert not future.warnings


class TestAwait:
    def test_result(self) -> None:
        lab = Lab()

        async def main() -> Any:
            future = lab.session.execute_async(QUERY)
            asyncio.get_running_loop().call_soon(lambda: lab[0].answer(rows(3)))
            return (await future).one()

        assert asyncio.run(main()) == (3,)

    def test_from_another_thread(self) -> None:
        lab = Lab()

        async def main() -> Any:
            future = lab.session.execute_async(QUERY)
            threading.Timer(0.02, lambda: lab[0].answer(rows(3))).start()
            return (await future).one()

        assert asyncio.run(main()) == (3,)

    def test_error(self) -> None:
        lab = Lab()
        lab[0].script = [error(0x2200)]

        async def main() -> Any:
            await lab.session.execute_async(QUERY)

        with pytest.raises(InvalidRequest):
            asyncio.run(main())

    def test_cancelled(self) -> None:
        lab = Lab()

        async def main() -> ResponseFuture:
            future = lab.session.execute_async(QUERY)
            task = asyncio.ensure_future(_awaited(future))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return future

        future = asyncio.run(main())
        assert lab[0].orphaned == [(0, future, 0)]

    def test_cancelled_when_the_answer_is_here(self) -> None:
        """Both at once: the task is cancelled, nothing is given up twice."""
        lab = Lab()

        async def main() -> None:
            future = lab.session.execute_async(QUERY)
            task = asyncio.ensure_future(_awaited(future))
            await asyncio.sleep(0)
            lab[0].answer(rows(1))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())

    def test_several_tasks(self) -> None:
        lab = Lab()

        async def main() -> list[Any]:
            future = lab.session.execute_async(QUERY)
            asyncio.get_running_loop().call_later(0.01, lambda: lab[0].answer(rows(3)))
            return [result.one() for result in await asyncio.gather(*(_awaited(future) for _ in range(3)))]

        assert asyncio.run(main()) == [(3,)] * 3

    def test_a_loop_that_was_closed_meanwhile(self) -> None:
        lab = Lab()
        loop = asyncio.new_event_loop()
        future = lab.session.execute_async(QUERY)
        task = loop.create_task(_awaited(future))
        loop.run_until_complete(asyncio.sleep(0))
        task.cancel()
        loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        loop.close()
        lab[0].answer(rows(1))
        with pytest.raises(CancelledError):
            future.result()

    def test_pages(self) -> None:
        lab = Lab()
        lab[0].script = [rows(1, more=b"2"), rows(more=b"3"), rows(2, 3, more=b"4"), rows()]

        async def main() -> list[int]:
            return [row.n async for row in await lab.session.execute_async(QUERY)]

        assert asyncio.run(main()) == [1, 2, 3]


async def _awaited(future: ResponseFuture) -> ResultSet:
    return await future


class TestWhatCame:
    def test_waits(self) -> None:
        lab = Lab()
        future = lab.session.execute_async(QUERY)
        threading.Timer(0.02, lambda: lab[0].answer(rows(1))).start()
        assert future.warnings is None
        assert future.custom_payload is None
        assert future.get_query_trace_ids() == []
        assert future.get_query_trace() is None
        assert future.get_all_query_traces() == []

    def test_a_trace_is_not_waited_for(self) -> None:
        lab = Lab()
        future = lab.session.execute_async(QUERY)
        with pytest.raises(TraceUnavailable, match="The ResponseFuture is not done"):
            future.get_query_trace()
        lab[0].answer(rows(1))
        future.result()
        assert future.get_query_trace() is None

    def test_of_a_failed_request(self) -> None:
        lab = Lab()
        lab[0].script = [error(0x2200)]
        future = lab.session.execute_async(QUERY)
        assert future.warnings is None
        with pytest.raises(InvalidRequest):
            future.result()

    @pytest.mark.parametrize(
        "answer", [set_keyspace("app"), schema_change(), error(0x1001)], ids=["keyspace", "schema", "ignored error"]
    )
    def test_warnings_without_rows(self, answer: Answer) -> None:
        class Ignoring(RetryPolicy):
            def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
                return self.IGNORE, None

        lab = Lab(retry_policy=Ignoring())
        lab[0].script = [Answer(answer.opcode, b"\x00\x01\x00\x02hm" + answer.body, 0x08)]
        future = lab.session.execute_async(QUERY)
        assert future.result().one() is None
        assert future.warnings == ["hm"]

    def test_payload_and_trace(self) -> None:
        from uuid import UUID

        from tests.unit.session.harness import Answer

        lab = Lab()
        trace_id = UUID(int=5)
        body = trace_id.bytes + b"\x00\x01\x00\x01k\x00\x00\x00\x01v" + void().body
        lab[0].script = [Answer(8, body, 0x02 | 0x04)]
        future = lab.session.execute_async(QUERY)
        assert future.custom_payload == {"k": b"v"}
        assert future.get_query_trace_ids() == [trace_id]
