"""Cancelled requests: each waiter gets the error in the usual form of its way of waiting."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra.cluster import ResponseFuture
from tests.patience import PATIENCE, eventually
from tests.unit.session.harness import Lab, prepared, rows, unprepared

QUERY = "SELECT n FROM tbl"


async def awaited(future: ResponseFuture) -> Any:
    return await future


def test_a_thread() -> None:
    """As of any future of threads. That of asyncio is no Exception: nothing that handles errors would see it."""
    lab = Lab()
    future = lab.session.execute_async(QUERY)
    caught: list[Exception] = []

    def wait() -> None:
        try:
            future.result()
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: future._blocked)
    assert future.cancel()
    thread.join(PATIENCE)
    (error,) = caught
    assert isinstance(error, CancelledError) and not isinstance(error, asyncio.CancelledError)
    assert (error.attempts, error.maybe_executed) == (1, True)  # type: ignore[attr-defined]
    assert error.elapsed >= 0  # type: ignore[attr-defined]


def test_a_request_cancelled_before_it_is_sent_has_no_attempts() -> None:
    lab = Lab()
    with lab.listening(lambda future: future.cancel()), pytest.raises(CancelledError) as caught:
        lab.session.execute(QUERY)
    assert (caught.value.attempts, caught.value.maybe_executed) == (0, False)  # type: ignore[attr-defined]


def test_a_request_cancelled_after_unprepared_is_not_executed() -> None:
    lab = Lab()
    lab[0].script = [prepared()]
    select = lab.session.prepare(QUERY)
    future = lab.session.execute_async(select, (1,))
    lab[0].answer(unprepared())
    future._on_outcome()
    future.cancel()
    with pytest.raises(CancelledError) as caught:
        future.result()
    assert caught.value.maybe_executed is False  # type: ignore[attr-defined]


def test_errbacks() -> None:
    lab = Lab()
    future = lab.session.execute_async(QUERY)
    heard: list[Any] = []
    future.add_callbacks(heard.append, lambda error: heard.append(type(error)))
    future.cancel()
    assert heard == [CancelledError]


def test_pages() -> None:
    lab = Lab()
    lab[0].script = [rows(1, more=b"2")]
    result = lab.session.execute(QUERY)
    result.response_future.start_fetching_next_page()
    result.response_future.cancel()
    with pytest.raises(CancelledError):
        result.response_future.result()


@pytest.mark.parametrize("waits", [True, False])
def test_tasks(waits: bool) -> None:
    """Tasks that wait already, and tasks that await the request later."""
    lab = Lab()

    async def main() -> list[Any]:
        future = lab.session.execute_async(QUERY)
        tasks = [asyncio.ensure_future(awaited(future)) for _ in range(3)]
        if waits:
            await asyncio.sleep(0)
        thread = threading.Thread(target=future.cancel)
        thread.start()
        thread.join(PATIENCE)
        return await asyncio.gather(*tasks, return_exceptions=True)

    ends = asyncio.run(main())
    assert [type(end) for end in ends] == [asyncio.CancelledError] * 3


def test_a_task_that_was_cancelled_and_a_thread_that_asks_later() -> None:
    lab = Lab()

    async def main() -> ResponseFuture:
        future = lab.session.execute_async(QUERY)
        task = asyncio.ensure_future(awaited(future))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return future

    future = asyncio.run(main())
    with pytest.raises(CancelledError):
        future.result()
