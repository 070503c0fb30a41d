"""Tasks that are called by the callback that took their answers: actions open to them, and to others, then."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.packages import uvloop
from tests.unit.session.harness import Lab, rows

QUERY = "SELECT n FROM tbl"
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


@pytest.fixture(params=list(LOOPS))
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    made = LOOPS[request.param]()
    yield made
    made.close()


def answer_all(lab: Lab, first: int = 0) -> None:
    """All that was asked, so that one drain takes all answers."""
    for n, sent in enumerate(lab[0].sent):
        if n >= first:
            lab[0].answer(rows(n), sent)


async def asked(lab: Lab, count: int) -> None:
    """*count* requests were made."""
    while len(lab[0].sent) < count:
        await asyncio.sleep(0)


def test_each_in_its_context(loop: asyncio.AbstractEventLoop) -> None:
    lab, variable = Lab(), contextvars.ContextVar("variable", default=-1)

    async def one(n: int) -> tuple[int, int]:
        variable.set(n)
        await lab.session.execute_async(QUERY)
        before = variable.get()
        variable.set(n + 100)
        await asyncio.sleep(0)
        return before, variable.get()

    async def main() -> list[tuple[int, int]]:
        tasks = [asyncio.create_task(one(n)) for n in range(20)]
        await asked(lab, 20)
        answer_all(lab)
        return await asyncio.gather(*tasks)

    assert loop.run_until_complete(main()) == [(n, n + 100) for n in range(20)]
    assert variable.get() == -1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_one_that_ends_the_loop(loop: asyncio.AbstractEventLoop, kind: type[BaseException]) -> None:
    """The others go on when the loop does."""
    lab = Lab()
    done: list[int] = []

    async def one(n: int) -> None:
        await lab.session.execute_async(QUERY)
        if n == 2:
            raise kind
        done.append(n)

    async def main() -> None:
        nonlocal tasks
        tasks = [asyncio.create_task(one(n)) for n in range(5)]
        await asked(lab, 5)
        answer_all(lab)
        await asyncio.sleep(60)

    tasks: list[asyncio.Task[None]] = []
    with pytest.raises(kind):
        loop.run_until_complete(main())
    assert done[:2] == [0, 1]  # uvloop lets the others have their turn before it ends
    loop.run_until_complete(asyncio.wait(tasks))
    assert done == [0, 1, 3, 4]
    assert isinstance(tasks[2].exception(), kind)
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))


def test_one_that_is_cancelled_when_its_answer_is_here(loop: asyncio.AbstractEventLoop) -> None:
    """Its turn has not come yet: it ends as cancelled, as with a future of asyncio."""
    lab = Lab()

    async def first() -> None:
        await lab.session.execute_async(QUERY)
        assert tasks[1].cancel()

    async def second() -> None:
        await lab.session.execute_async(QUERY)

    async def main() -> list[Any]:
        tasks.extend((asyncio.create_task(first()), asyncio.create_task(second())))
        await asked(lab, 2)
        answer_all(lab)
        return await asyncio.gather(*tasks, return_exceptions=True)

    tasks: list[asyncio.Task[None]] = []
    nothing, cancelled = loop.run_until_complete(main())
    assert nothing is None and isinstance(cancelled, asyncio.CancelledError)


def test_cancelled_with_a_message(loop: asyncio.AbstractEventLoop) -> None:
    lab, caught = Lab(), []

    async def one() -> None:
        try:
            await lab.session.execute_async(QUERY)
        except asyncio.CancelledError as error:
            caught.append(error.args)
            raise

    async def main() -> None:
        task = asyncio.create_task(one())
        await asked(lab, 1)
        task.cancel("enough")
        await asyncio.wait([task])
        assert task.cancelled()

    loop.run_until_complete(main())
    assert caught == [("enough",)]


def test_another_request_in_the_same_turn(loop: asyncio.AbstractEventLoop) -> None:
    """A task that goes on in the callback makes its next request there, and the next."""
    lab = Lab()

    async def one() -> int:
        return sum([(await lab.session.execute_async(QUERY)).one().n for _ in range(3)])

    async def main() -> int:
        task = asyncio.create_task(one())
        for n in range(3):
            await asked(lab, n + 1)
            answer_all(lab, n)
        return await task

    assert loop.run_until_complete(main()) == 0 + 1 + 2


def test_another_loop_inside(loop: asyncio.AbstractEventLoop) -> None:
    """As nest_asyncio makes it possible: requests awaited there belong to that loop."""
    lab = Lab()

    async def inner() -> int:
        future = lab.session.execute_async(QUERY)
        asyncio.get_running_loop().call_soon(answer_all, lab, 1)
        return int((await future).one().n)

    async def outer() -> tuple[int, int]:
        await lab.session.execute_async(QUERY)
        here, task = asyncio.get_running_loop(), asyncio.current_task()
        asyncio.tasks._leave_task(here, task)
        asyncio._set_running_loop(None)
        other = asyncio.new_event_loop()
        try:
            found = other.run_until_complete(inner())
        finally:
            other.close()
            asyncio._set_running_loop(here)
            asyncio.tasks._enter_task(here, task)
        future = lab.session.execute_async(QUERY)
        here.call_soon(answer_all, lab, 2)
        return found, (await future).one().n

    async def main() -> tuple[int, int]:
        task = asyncio.create_task(outer())
        await asked(lab, 1)
        answer_all(lab)
        return await task

    assert loop.run_until_complete(main()) == (1, 2)


def test_tasks_written_in_python(loop: asyncio.AbstractEventLoop) -> None:
    """They use the same protocol as those of asyncio's extension."""
    lab = Lab()
    loop.set_task_factory(lambda loop, coro, **options: asyncio.tasks._PyTask(coro, loop=loop, **options))  # type: ignore[attr-defined]

    async def one() -> int:
        return int((await lab.session.execute_async(QUERY)).one().n)

    async def main() -> list[int]:
        tasks = [asyncio.ensure_future(one()) for _ in range(5)]
        last = asyncio.ensure_future(one())
        await asked(lab, 6)
        last.cancel()
        answer_all(lab)
        await asyncio.wait([last])
        assert last.cancelled()
        return await asyncio.gather(*tasks)

    assert loop.run_until_complete(main()) == [0, 1, 2, 3, 4]


def test_the_yielded_object_behaves_as_a_future(loop: asyncio.AbstractEventLoop) -> None:
    lab, called = Lab(), []
    value = contextvars.ContextVar("value", default=0)

    async def main() -> None:
        waits = lab.session.execute_async(QUERY).__await__()
        awaiting: Any = next(waits)
        assert awaiting.get_loop() is loop
        assert not awaiting.done() and not awaiting.cancelled()
        with pytest.raises(asyncio.InvalidStateError, match="has no response yet"):
            awaiting.result()
        awaiting.add_done_callback(lambda one: called.append(("gone", one)))
        kept = [lambda one: called.append((0, one)), lambda one: called.append((value.get(), one))]
        awaiting.add_done_callback(kept[0])
        value.set(7)
        awaiting.add_done_callback(kept[1])
        value.set(8)
        assert awaiting.remove_done_callback(kept[0]) == 1
        awaiting.add_done_callback(kept[0], context=contextvars.copy_context())
        answer_all(lab)
        while len(called) < 3:
            await asyncio.sleep(0)
        assert [name for name, _ in called] == ["gone", 7, 0] and {one for _, one in called} == {awaiting}
        assert awaiting.done() and awaiting.exception() is None and awaiting.result()[1] is None
        assert not awaiting.cancel(), "too late"
        awaiting.add_done_callback(kept[0])
        assert len(called) == 3, "not within the call"
        await asyncio.sleep(0)
        assert len(called) == 4
        with pytest.raises(StopIteration) as ended:
            waits.send(None)
        assert ended.value.value.one().n == 0

    loop.run_until_complete(main())


def test_c_functions_as_done_callbacks_get_the_awaited_object(loop: asyncio.AbstractEventLoop) -> None:
    lab, told = Lab(), []

    async def one() -> int:
        return int((await lab.session.execute_async(QUERY)).one().n)

    async def main() -> int:
        waits = lab.session.execute_async(QUERY).__await__()
        awaiting: Any = next(waits)
        awaiting.add_done_callback(told.append)
        task = asyncio.create_task(one())
        await asked(lab, 2)
        answer_all(lab)
        found = await task
        assert told == [awaiting]
        return found

    assert [loop.run_until_complete(main()), len(told)] == [1, 1]


class _OwnTask(asyncio.Task):  # type: ignore[type-arg]
    """Of a program."""


@pytest.mark.parametrize("kind", [_OwnTask, asyncio.tasks._PyTask])  # type: ignore[attr-defined]
def test_tasks_of_other_kinds(loop: asyncio.AbstractEventLoop, kind: Any) -> None:
    lab = Lab()
    loop.set_task_factory(lambda loop, coroutine, **options: kind(coroutine, loop=loop, **options))

    async def one(n: int) -> int:
        try:
            return int((await lab.session.execute_async(QUERY)).one().n)
        except asyncio.CancelledError:
            return -n

    async def main() -> list[int]:
        tasks = [asyncio.create_task(one(n)) for n in range(5)]
        assert all(type(task) is kind for task in tasks)
        await asked(lab, 5)
        tasks[3].cancel()
        answer_all(lab)
        return await asyncio.gather(*tasks)

    assert loop.run_until_complete(main()) == [0, 1, 2, -3, 4]


def test_a_loop_within_a_callback_has_a_bridge_of_its_own() -> None:
    """The task whose callback took the answers runs another loop, with requests: they are sent and answered there."""
    lab, outer, inner = Lab(), asyncio.new_event_loop(), asyncio.new_event_loop()
    found = []

    async def within() -> None:
        future = lab.session.execute_async(QUERY)
        asyncio.get_running_loop().call_soon(answer_all, lab, 1)
        found.append((await future).one().n)

    def run_other(_: Any) -> None:
        running = asyncio._get_running_loop()
        asyncio._set_running_loop(None)  # as nest_asyncio does
        try:
            inner.run_until_complete(within())
        finally:
            asyncio._set_running_loop(running)

    async def main() -> None:
        waits = lab.session.execute_async(QUERY).__await__()
        awaiting: Any = next(waits)
        awaiting.add_done_callback(run_other)
        answer_all(lab)
        while not found:
            await asyncio.sleep(0)

    outer.run_until_complete(main())
    for loop in (inner, outer):
        loop.close()
    assert found == [1]


def test_a_callback_that_raises(loop: asyncio.AbstractEventLoop) -> None:
    lab, told = Lab(), []
    loop.set_exception_handler(lambda _, context: told.append(context["exception"]))

    def fails(_: Any) -> None:
        raise ValueError("a callback")

    async def one() -> int:
        return int((await lab.session.execute_async(QUERY)).one().n)

    async def main() -> int:
        waits = lab.session.execute_async(QUERY).__await__()
        awaiting: Any = next(waits)
        awaiting.add_done_callback(fails)
        task = asyncio.create_task(one())
        await asked(lab, 2)
        answer_all(lab)
        return await task

    assert loop.run_until_complete(main()) == 1
    assert [str(error) for error in told] == ["a callback"]


def test_debugging_shows_which_task_is_slow(caplog: pytest.LogCaptureFixture) -> None:
    lab, loop = Lab(), asyncio.new_event_loop()
    loop.set_debug(True)
    loop.slow_callback_duration = 0.0

    async def slow_one() -> None:
        await lab.session.execute_async(QUERY)

    async def main() -> None:
        task = asyncio.create_task(slow_one())
        await asked(lab, 1)
        caplog.clear()
        answer_all(lab)
        await task

    with caplog.at_level(logging.WARNING, logger="asyncio"):
        loop.run_until_complete(main())
    loop.close()
    assert any("slow_one" in record.message for record in caplog.records)
