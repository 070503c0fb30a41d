"""Cancelling: a request is given up when the last of those who wait for it is gone, and not before."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest

from cassandra.cluster import ResponseFuture, ResultSet
from tests.patience import PATIENCE, eventually
from tests.unit.session.harness import Lab, rows

QUERY = "SELECT n FROM tbl"


async def awaited(future: ResponseFuture) -> ResultSet:
    return await future


async def cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel *task*, and see that it ended by that."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def started(*tasks: asyncio.Task[Any]) -> None:
    """Until all of them wait."""
    await asyncio.sleep(0)
    assert not any(task.done() for task in tasks)


def orphaned_after(main: Callable[[Lab, ResponseFuture], Any]) -> list[Any]:
    """Run ``main(lab, a request that is in flight)``; what was given up."""
    lab = Lab()

    async def run() -> None:
        await main(lab, lab.session.execute_async(QUERY))

    asyncio.run(run())
    return lab[0].orphaned


def test_one_of_several_tasks() -> None:
    async def main(lab: Lab, future: ResponseFuture) -> None:
        first, second, third = tasks = [asyncio.create_task(awaited(future)) for _ in range(3)]
        await started(*tasks)
        await cancelled(first)
        await cancelled(third)
        assert not lab[0].orphaned
        lab[0].answer(rows(3))
        assert (await second).one() == (3,)

    assert not orphaned_after(main)


def test_the_last_of_several_tasks() -> None:
    async def main(lab: Lab, future: ResponseFuture) -> None:
        first, second = tasks = [asyncio.create_task(awaited(future)) for _ in range(2)]
        await started(*tasks)
        await cancelled(second)
        await cancelled(first)
        assert lab[0].orphaned == [(0, future, 0)]
        with pytest.raises(asyncio.CancelledError):
            await future

    assert orphaned_after(main)


def test_the_same_task_may_wait_again_while_others_wait() -> None:
    async def main(lab: Lab, future: ResponseFuture) -> None:
        other = asyncio.create_task(awaited(future))
        await started(other)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(awaited(future), 0.001)
        again = asyncio.create_task(awaited(future))
        await started(other, again)
        lab[0].answer(rows(3))
        assert [(await task).one() for task in (other, again)] == [(3,)] * 2

    assert not orphaned_after(main)


@pytest.mark.parametrize("what", ["callback", "errback"])
def test_a_callback_wants_it_still(what: str) -> None:
    heard: list[Any] = []

    async def main(lab: Lab, future: ResponseFuture) -> None:
        getattr(future, f"add_{what}")(heard.append)
        task = asyncio.create_task(awaited(future))
        await started(task)
        await cancelled(task)
        lab[0].answer(rows(3))
        assert (await future).one() == (3,)

    assert not orphaned_after(main)
    assert heard == ([[(3,)]] if what == "callback" else [])


def test_a_thread_waits_for_it_still() -> None:
    got: list[Any] = []

    async def main(lab: Lab, future: ResponseFuture) -> None:
        thread = threading.Thread(target=lambda: got.append(future.result().one()))
        thread.start()
        assert eventually(lambda: future._blocked)
        task = asyncio.create_task(awaited(future))
        await started(task)
        await cancelled(task)
        lab[0].answer(rows(3))
        thread.join(PATIENCE)

    assert not orphaned_after(main)
    assert got == [(3,)]


def test_a_shielded_wait_goes_on() -> None:
    async def main(lab: Lab, future: ResponseFuture) -> None:
        inner = asyncio.ensure_future(future)
        task = asyncio.create_task(asyncio.wait_for(asyncio.shield(inner), PATIENCE))
        await asyncio.sleep(0)
        await started(task, inner)
        await cancelled(task)
        lab[0].answer(rows(3))
        assert (await inner).one() == (3,)

    assert not orphaned_after(main)


def test_the_answer_and_the_cancellation_at_once() -> None:
    """One task has the answer already when another is cancelled: nothing is given up."""

    async def main(lab: Lab, future: ResponseFuture) -> None:
        first, second = tasks = [asyncio.create_task(awaited(future)) for _ in range(2)]
        await started(*tasks)
        lab[0].answer(rows(3))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).one() == (3,)
        await asyncio.wait([first])

    assert not orphaned_after(main)


def test_a_coroutine_that_is_closed() -> None:
    """Its loop ended before it did, say."""

    async def main(lab: Lab, future: ResponseFuture) -> None:
        coroutine = awaited(future)
        coroutine.send(None)
        assert not lab[0].orphaned
        coroutine.close()
        assert lab[0].orphaned == [(0, future, 0)]

    assert orphaned_after(main)


def test_the_other_waiter_is_on_another_loop() -> None:
    """The loop that was asked to deliver the answer ends; the other one gets it."""
    lab = Lab()
    future = lab.session.execute_async(QUERY)
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(asyncio.run(awaited(future)).one()))
    thread.start()
    eventually(lambda: future._waiters)

    async def main() -> None:
        task = asyncio.create_task(awaited(future))
        await started(task)
        await cancelled(task)

    asyncio.run(main())
    gc.collect()
    lab[0].answer(rows(3))
    thread.join(PATIENCE)
    assert got == [(3,)]
    assert not lab[0].orphaned


def test_a_page_in_the_middle() -> None:
    """Two tasks wait for the second page; one of them goes."""

    async def main(lab: Lab, future: ResponseFuture) -> None:
        lab[0].answer(rows(1, more=b"2"))
        await future
        future.start_fetching_next_page()
        first, second = tasks = [asyncio.create_task(awaited(future)) for _ in range(2)]
        await started(*tasks)
        await cancelled(first)
        lab[0].answer(rows(2))
        assert (await second).one() == (2,)

    assert not orphaned_after(main)
