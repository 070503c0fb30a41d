"""Queued requests are sent, and received answers count as received, for any behaviour of the program meanwhile: slow
sources and consumers, sources that wait, raise or block, loops that stop, answers that no caller asks for."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent_with_args, execute_concurrent_with_args_async
from cassandra.policies import ConstantSpeculativeExecutionPolicy, RetryPolicy
from cassandra.query import PreparedStatement, SimpleStatement
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster
from tests.patience import PATIENCE, eventually
from tests.unit.session.harness import Lab, error, rows

pytestmark = [pytest.mark.long, pytest.mark.versions]

KINDS = {"v3": (3, False), "v4": (4, False), "v4-lz4": (4, "lz4"), "v5": (5, False), "v5-lz4": (5, "lz4")}


class Place:
    """A session on one scripted node that answers every EXECUTE with VOID, and counts them."""

    def __init__(self, fake: FakeCluster, session: Session) -> None:
        self.fake = fake
        self.session = session
        self.insert: PreparedStatement = session.prepare("INSERT INTO ks.t (k) VALUES (1)")

    @property
    def executed(self) -> int:
        server = self.fake.nodes[0].server
        assert server is not None
        with server.lock:
            return sum(request.opcode == wire.EXECUTE for request in server.requests)


@pytest.fixture(params=list(KINDS))
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    version, compression = KINDS[request.param]
    profile = ExecutionProfile(request_timeout=PATIENCE)
    with FakeCluster() as fake:
        cluster = Cluster(
            fake.contact_points,
            protocol_version=version,
            compression=compression,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        )
        yield Place(fake, cluster.connect())
        cluster.shutdown()


class TestConcurrent:
    def test_a_source_that_waits_for_its_yielded_requests_to_execute(self, place: Place) -> None:
        def source() -> Iterator[tuple[()]]:
            for n in range(5):
                yield ()
                assert eventually(lambda n=n: place.executed == n + 1)

        assert len(execute_concurrent_with_args(place.session, place.insert, source())) == 5

    def test_a_consumer_that_takes_its_time(self, place: Place) -> None:
        results = execute_concurrent_with_args(
            place.session, place.insert, [()] * 40, concurrency=5, results_generator=True
        )
        for taken, _ in enumerate(results, 1):
            assert eventually(lambda taken=taken: place.executed >= min(40, taken + 5)), taken

    def test_a_source_that_raises_leaves_nothing_behind(self, place: Place) -> None:
        def source() -> Iterator[tuple[()]]:
            for _ in range(10):
                yield ()
            raise LookupError("no more")

        with pytest.raises(LookupError):
            execute_concurrent_with_args(place.session, place.insert, source())
        assert eventually(lambda: place.executed == 10)

    def test_a_slow_source_costs_no_request_its_time(self, place: Place) -> None:
        def source() -> Iterator[tuple[()]]:
            for _ in range(4):
                yield ()
                time.sleep(0.5)

        profile = place.session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, request_timeout=1.0)
        results = execute_concurrent_with_args(
            place.session, place.insert, source(), execution_profile=profile, raise_on_first_error=False
        )
        assert [result.success for result in results] == [True] * 4

    def test_an_asynchronous_source_that_waits(self, place: Place) -> None:
        async def source() -> Any:
            for n in range(5):
                yield ()
                while place.executed <= n:
                    await asyncio.sleep(0.001)

        async def main() -> int:
            results = execute_concurrent_with_args_async(place.session, place.insert, source())
            return len(await asyncio.wait_for(_awaited(results), PATIENCE))

        assert asyncio.run(main()) == 5


class TestLoops:
    def test_a_loop_that_stops_in_the_turn_of_the_submit(self, place: Place) -> None:
        loop = asyncio.new_event_loop()
        futures: list[Any] = []

        async def awaited() -> None:
            await futures[0]

        def submit() -> None:
            futures.append(place.session.execute_async(place.insert))
            loop.stop()

        # The adapter of the loop exists after the first await.
        futures.append(place.session.execute_async(place.insert))
        loop.run_until_complete(awaited())
        loop.call_soon(submit)
        loop.run_forever()
        assert eventually(lambda: place.executed == 2)
        assert futures[1].result().one() is None
        loop.close()

    def test_a_loop_that_is_blocked_while_another_thread_waits(self, place: Place) -> None:
        async def main() -> list[Any]:
            await place.session.execute_async(place.insert)
            future = place.session.execute_async(place.insert)
            found: list[Any] = []
            thread = threading.Thread(target=lambda: found.append(future.result()))
            thread.start()
            thread.join(PATIENCE)  # the loop does not turn meanwhile
            return found

        assert len(asyncio.run(main())) == 1

    def test_many_times(self, place: Place) -> None:
        """Each request waits for company that does not come."""

        async def main() -> None:
            await place.session.execute_async(place.insert)
            for n in range(200):
                future = place.session.execute_async(place.insert)
                if n % 3 == 0:
                    future.result()
                elif n % 3 == 1:
                    await future
                else:
                    assert eventually(lambda n=n: place.executed >= n + 2)

        asyncio.run(main())


@pytest.mark.parametrize("place", ["v5", "v5-lz4"], indirect=True)
def test_requests_share_segments(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    segments = 0
    unpack = wire.Segments.unpack

    def counted(self: wire.Segments, data: bytes) -> Any:
        nonlocal segments
        found = unpack(self, data)
        segments += found is not None
        return found

    monkeypatch.setattr(wire.Segments, "unpack", counted)
    execute_concurrent_with_args(place.session, place.insert, [()] * 3000, concurrency=300)
    assert place.executed == 3000 and segments < 1500


def idempotent() -> SimpleStatement:
    return SimpleStatement("SELECT 1", is_idempotent=True)


class TestSpeculation:
    def lab(self) -> Lab:
        return Lab(hosts=2, speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.1, 3))

    def test_a_received_answer_prevents_speculation_before_result_is_called(self) -> None:
        lab = self.lab()
        future = lab.session.execute_async(idempotent())
        lab[0].answer(rows(1))
        lab.reactor.run()
        assert not lab[1].sent
        assert future.result().one() == (1,)

    def test_an_answer_for_a_loop_that_is_blocked(self) -> None:
        lab = self.lab()

        async def main() -> Any:
            future = lab.session.execute_async(idempotent())
            waiting = asyncio.ensure_future(_awaited(future))
            await asyncio.sleep(0)
            lab[0].answer(rows(1))
            lab.reactor.run()  # the loop has had no turn
            return await waiting

        assert asyncio.run(main()).one() == (1,)
        assert not lab[1].sent

    def test_a_delayed_retry_and_a_speculation_are_both_cancelled(self) -> None:
        class Delayed(RetryPolicy):
            def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
                return self.RETRY, None, 5.0

        lab = Lab(
            hosts=2,
            speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.1, 3),
            retry_policy=Delayed(),
        )
        future = lab.session.execute_async(idempotent())
        speculation = lab.reactor.timers[0]
        lab[0].answer(error(0x1001))
        retry = lab.reactor.timers[-1]
        assert retry.delay == 5.0 and retry is not speculation
        future.cancel()
        assert retry.cancelled and speculation.cancelled


async def _awaited(future: Any) -> Any:
    return await future


@pytest.mark.parametrize("asks", [False, True])
def test_metrics_measure_when_the_answer_came(asks: bool) -> None:
    with FakeCluster() as fake:
        cluster = Cluster(fake.contact_points, metrics_enabled=True)
        session = cluster.connect()
        statement = session.prepare("INSERT INTO ks.t (k) VALUES (1)")
        timer = cluster.metrics.request_timer
        before = timer.value["count"]
        futures = [session.execute_async(statement) for _ in range(5)]
        if asks:
            time.sleep(2)
            for future in futures:
                future.result()
        assert eventually(lambda: timer.value["count"] == before + 5)
        assert timer.value["max"] < 2
        cluster.shutdown()
