"""prepare(): a host that is silent is felt for a moment only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import OperationTimedOut
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import RoundRobinPolicy
from tests.fakes.nodes import FakeCluster, eventually
from tests.patience import PATIENCE
from tests.unit.session.harness import Lab, prepared

QUERY = "SELECT n FROM tbl WHERE k = ?"


class TestNextHost:
    @pytest.mark.parametrize("hosts, timeout, expected", [(3, 10, 2.0), (3, 1, 0.25), (9, 10, 2.0), (3, None, 2.0)])
    def test_is_asked_in_time(self, hosts: int, timeout: float | None, expected: float) -> None:
        lab = Lab(hosts=hosts, request_timeout=timeout)
        future = lab.session._preparer._send(QUERY, None)
        delays: list[float] = []
        while ran := lab.reactor.run():
            delays += ran
        further = min(hosts - 1, 3)
        assert delays == pytest.approx([expected] * further)
        assert [len(lab[index].sent) for index in range(hosts)] == [1] * (further + 1) + [0] * (hosts - further - 1)
        lab[1].answer(prepared())
        assert future._wait_for_result().query_id == b"id"
        assert future.coordinator_host is lab.hosts[1]

    def test_is_not_asked_when_there_is_none(self) -> None:
        lab = Lab()
        lab.session._preparer._send(QUERY, None)
        assert lab.reactor.timers == []

    def test_is_not_asked_for_a_certain_host(self) -> None:
        lab = Lab(hosts=2)
        lab.session._preparer._send(QUERY, None, host=lab.hosts[1])
        assert lab.reactor.timers == []
        assert len(lab[1].sent) == 1


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        yield made


def connected(fake: FakeCluster, timeout: float = PATIENCE, **options: Any) -> Cluster:
    profile = ExecutionProfile(RoundRobinPolicy(), request_timeout=timeout)
    return Cluster(
        fake.contact_points, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, idle_heartbeat_interval=0, **options
    )


@pytest.mark.usefixtures("no_leaks")
class TestOverConnections:
    @pytest.fixture(autouse=True)
    def _quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("cassandra._session.request.preparing.PER_HOST", 0.3)

    @pytest.fixture
    def session(self, fake: FakeCluster) -> Iterator[Session]:
        with connected(fake) as cluster:
            yield cluster.connect(wait_for_all_pools=True)

    @pytest.mark.parametrize("only", [0, 1, 2])
    def test_two_of_three_are_silent(self, fake: FakeCluster, session: Session, only: int) -> None:
        silent = [node for index, node in enumerate(fake.nodes) if index != only]
        for node in silent:
            node.pause()
        began = time.monotonic()
        for number in range(3):  # each begins at another host
            assert session.prepare(f"SELECT {number}").query_string == f"SELECT {number}"
        assert time.monotonic() - began < PATIENCE / 2
        assert sorted(fake.nodes[only].prepared) == [f"SELECT {number}" for number in range(3)]
        for node in silent:
            node.resume()

    def test_from_asyncio(self, fake: FakeCluster, session: Session) -> None:
        for node in fake.nodes[:2]:
            node.pause()

        async def main() -> None:
            for number in range(3):
                await asyncio.wait_for(session.prepare_async(f"SELECT {number}"), PATIENCE / 2)

        asyncio.run(main())
        for node in fake.nodes[:2]:
            node.resume()

    def test_the_others_hear_of_it_when_they_speak_again(self, fake: FakeCluster, session: Session) -> None:
        fake.nodes[2].pause()
        session.prepare("SELECT 1")
        fake.nodes[2].resume()
        eventually(lambda: all("SELECT 1" in node.prepared for node in fake.nodes))


@pytest.mark.usefixtures("no_leaks")
def test_all_are_silent(fake: FakeCluster) -> None:
    """The timeout is that of the whole call."""
    with connected(fake, timeout=0.5) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        for node in fake.nodes:
            node.pause()
        began = time.monotonic()
        with pytest.raises(OperationTimedOut):
            session.prepare("SELECT 1")
        assert 0.4 < time.monotonic() - began < PATIENCE / 2
        for node in fake.nodes:
            node.resume()


def test_the_keyspace_of_a_statement_is_the_one_that_was_given(fake: FakeCluster) -> None:
    fake.add_table("ks", "tbl", "k", "n")
    with connected(fake, protocol_version=5) as cluster:
        session = cluster.connect("ks")
        plain, given = session.prepare(QUERY), session.prepare(QUERY + " ", keyspace="other")
        assert (plain.keyspace, given.keyspace) == (None, "other")
        # names in them mean that of the session, all the same
        assert (plain.bind(()).keyspace, given.bind(()).keyspace) == ("ks", "other")
        session.set_keyspace("third")
        assert plain.bind(()).keyspace == "ks" and session.prepare(QUERY).keyspace is None
