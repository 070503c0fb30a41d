"""Errors that ``await`` raises: their tracebacks show the user's line, and each await has its own."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import traceback
import weakref
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import ResponseFuture
from cassandra.protocol import SyntaxException
from tests.unit.session.harness import Lab, error, rows

QUERY = "SELECT n FROM tbl"
INVALID = 0x2200


def functions(raised: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(raised.__traceback__)]


async def raised_by(future: ResponseFuture) -> BaseException:
    with pytest.raises(Exception) as caught:
        await future
    return caught.value


def test_traceback_shows_the_awaiting_line() -> None:
    lab = Lab()
    lab[0].script = [error(INVALID)]

    async def fetch_user() -> None:
        await lab.session.execute_async(QUERY)

    with pytest.raises(InvalidRequest) as caught:
        asyncio.run(fetch_user())
    frames = traceback.extract_tb(caught.value.__traceback__)
    (mine,) = [frame for frame in frames if frame.name == "fetch_user"]
    assert mine.line == "await lab.session.execute_async(QUERY)"


@pytest.mark.parametrize("code", [INVALID, 0x2000], ids=["driver", "protocol"])
def test_each_await_has_its_own(code: int) -> None:
    lab = Lab()
    lab[0].script = [error(code)]

    async def main() -> None:
        future = lab.session.execute_async(QUERY)
        first, second, third = [await raised_by(future) for _ in range(3)]
        assert first is not second
        assert type(first) is type(second) in (InvalidRequest, SyntaxException)
        assert str(first) == str(second)
        assert first.attempts == second.attempts == 1  # type: ignore[attr-defined]
        assert functions(first) == functions(second) == functions(third)
        assert functions(first)[0] == "raised_by"

    asyncio.run(main())


def test_tasks_that_wait_together() -> None:
    lab = Lab()

    async def one() -> BaseException:
        return await raised_by(future)

    async def other() -> BaseException:
        return await raised_by(future)

    async def main() -> list[BaseException]:
        tasks = [asyncio.create_task(one()), asyncio.create_task(other())]
        await asyncio.sleep(0)
        lab[0].answer(error(INVALID))
        return await asyncio.gather(*tasks)

    future = lab.session.execute_async(QUERY)
    first, second = asyncio.run(main())
    assert first is not second
    assert functions(first) == functions(second)


def test_the_cause_stays() -> None:
    lab = Lab()
    reason = ValueError("why")

    class Wrong(InvalidRequest):
        pass

    def broken(names: Any, values: Any) -> Any:
        raise Wrong("of the row factory") from reason

    lab.profile.row_factory = broken
    lab[0].script = [rows(1)]

    async def main() -> None:
        future = lab.session.execute_async(QUERY)
        for _ in range(2):
            caught = await raised_by(future)
            assert type(caught) is Wrong
            assert caught.__cause__ is reason
            assert functions(caught)[-1] == "broken"

    asyncio.run(main())


def test_of_user_code_it_is_the_same_one_and_does_not_grow() -> None:
    lab = Lab()
    lab[0].script = [rows(1)]
    problem = ValueError("no such row")

    def broken(names: Any, values: Any) -> Any:
        raise problem

    lab.profile.row_factory = broken

    async def main() -> None:
        future = lab.session.execute_async(QUERY)
        seen = []
        for _ in range(4):
            assert await raised_by(future) is problem
            seen.append(functions(problem))
        assert [names[0] for names in seen] == ["raised_by"] * 4
        assert [names[-1] for names in seen] == ["broken"] * 4
        assert seen[1] == seen[2] == seen[3]  # the first one may have waited for the answer
        assert len(seen[1]) <= len(seen[0])

    asyncio.run(main())


def test_threads_too() -> None:
    lab = Lab()
    lab[0].script = [error(INVALID)]
    future = lab.session.execute_async(QUERY)
    seen = []
    for _ in range(3):
        with pytest.raises(InvalidRequest) as caught:
            future.result()
        seen.append(functions(caught.value))
    assert seen[0] == seen[1] == seen[2]


def test_a_failed_request_is_no_garbage() -> None:
    """Its error does not refer to it, so that it is freed without the garbage collector."""
    lab = Lab()
    lab[0].script = [error(INVALID)]

    async def main() -> weakref.ref[BaseException]:
        future = lab.session.execute_async(QUERY)
        with contextlib.suppress(InvalidRequest):
            await future
        lab[0].sent.clear()
        lab[0].orphaned.clear()
        original = future._final_exception
        assert original is not None
        assert original.__traceback__ is None
        return weakref.ref(original)

    gc.collect()
    gc.disable()
    try:
        assert asyncio.run(main())() is None
    finally:
        gc.enable()
