"""Requests of one turn of an asyncio loop go out together; nothing that blocks or listens elsewhere has to wait for the
end of the turn."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from cassandra.concurrent import execute_concurrent_with_args
from tests.patience import eventually
from tests.unit.session.harness import Lab, routed_lab, rows


async def adapted(lab: Lab, select: Any) -> None:
    """The loop is known from the first await on."""
    lab[0].script = [rows(0)]
    await lab.session.execute_async(select, (0,))
    lab[0].sent.clear()


def test_requests_of_a_turn_are_sent_at_its_end() -> None:
    async def main() -> None:
        lab, select = routed_lab()
        await adapted(lab, select)
        lab[0].script = [rows(n) for n in range(3)]
        futures = [lab.session.execute_async(select, (n,)) for n in range(3)]
        assert lab[0].queued == 3
        await asyncio.sleep(0)
        assert lab[0].queued == 0
        assert [(await future).one().n for future in futures] == [0, 1, 2]

    asyncio.run(main())


def test_every_turn_anew() -> None:
    async def main() -> None:
        lab, select = routed_lab()
        await adapted(lab, select)
        for _ in range(3):
            lab.session.execute_async(select, (1,))
            lab.session.execute_async("SELECT 1")
            assert lab[0].queued == 2
            await asyncio.sleep(0)
            assert lab[0].queued == 0

    asyncio.run(main())


def test_blocking_the_loop_for_a_result_sends_queued_requests_first() -> None:
    async def main() -> None:
        lab, select = routed_lab()
        await adapted(lab, select)
        future = lab.session.execute_async(select, (1,))
        sent = lab[0].sent[0]
        assert lab[0].queued == 1

        def answer() -> None:
            eventually(lambda: not lab[0].queued)
            lab[0].answer(rows(5), sent)

        thread = threading.Thread(target=answer)
        thread.start()
        assert future.result().one().n == 5
        thread.join()

    asyncio.run(main())


def test_adding_a_callback_sends_queued_requests_first() -> None:
    async def main() -> None:
        lab, select = routed_lab()
        await adapted(lab, select)
        lab.session.execute_async(select, (1,)).add_callback(print)
        assert lab[0].queued == 0

    asyncio.run(main())


def test_a_batch_of_text_on_the_loops_thread() -> None:
    async def main() -> None:
        lab, select = routed_lab()
        await adapted(lab, select)
        lab[0].script = [rows(1), rows(2)]
        results = execute_concurrent_with_args(lab.session, "SELECT %s", [(1,), (2,)])
        assert [result.result_or_exc.one().n for result in results] == [1, 2]
        assert lab[0].queued == 0

    asyncio.run(main())


def test_other_threads_send_at_once() -> None:
    async def main() -> None:
        lab, select = routed_lab()
        await adapted(lab, select)
        await asyncio.to_thread(lab.session.execute_async, select, (1,))
        assert (len(lab[0].sent), lab[0].queued) == (1, 0)

    asyncio.run(main())
