"""DDL and USE: the timeout of a request covers the steps that follow its answer, and its error names those done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from cassandra import OperationTimedOut
from cassandra.cluster import Cluster, Session
from cassandra.connection import ConnectionException
from cassandra.policies import RoundRobinPolicy
from tests.fakes.nodes import FakeCluster, eventually
from tests.unit.session.harness import Lab, schema_change, set_keyspace
from tests.unit.session.test_cluster_schema import DDL

CREATE = "CREATE KEYSPACE ks"


class TestSchemaChange:
    def test_deadline(self) -> None:
        lab = Lab()
        lab.cluster.schema_outcome = None
        lab[0].script = [schema_change()]
        future = lab.session.execute_async(CREATE, timeout=3)
        (delay,) = lab.reactor.run()
        assert 0 < delay <= 3
        with pytest.raises(OperationTimedOut, match=r"was executed, but a step was not done yet.*timeout=3") as caught:
            future.result()
        assert caught.value.maybe_executed is True  # type: ignore[attr-defined]
        assert caught.value.host is lab.hosts[0]  # type: ignore[attr-defined]
        assert future.is_schema_agreed is False

    def test_no_deadline(self) -> None:
        lab = Lab()
        lab[0].script = [schema_change()] * 2
        lab.session.execute(CREATE, timeout=None)
        assert lab.reactor.timers == []
        lab.session.execute(CREATE, timeout=3)
        assert lab.reactor.run() == [], "the one that was in time is cancelled"

    @pytest.mark.parametrize(
        "timeout, wait, expected",
        [
            (None, 10, None),
            (3, 10, None),  # the error tells
            (30, 10, 10),
            (10, 10, 9),
            (10.5, 10, 9.5),
            (1, 1, 0.9),
            (1, 0, None),
        ],
    )
    def test_time_for_agreement_leaves_some_to_say_that_there_is_none(
        self, timeout: float | None, wait: float, expected: float | None
    ) -> None:
        lab = Lab()
        lab.cluster.max_schema_agreement_wait = wait
        lab[0].script = [schema_change()]
        lab.session.execute(CREATE, timeout=timeout)
        assert lab.cluster.agreement_waits == [None if expected is None else pytest.approx(expected, abs=0.2)]

    @pytest.mark.parametrize("text", [CREATE, " alter TABLE t", "-- why\nDROP TABLE t", "USE app"])
    def test_begins_when_the_answer_is_here(self, text: str) -> None:
        """Not when a caller asks for the result."""
        lab = Lab()
        lab[0].script = [schema_change() if text != "USE app" else set_keyspace("app")]
        future = lab.session.execute_async(text)
        assert future._finished
        assert lab.cluster.schema_changes or lab.session.keyspace == "app"


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        made.add_table("ks", "t", "k", "v")
        DDL(made)
        yield made


def connected(fake: FakeCluster, **options: Any) -> Cluster:
    return Cluster([fake.contact_points[0]], load_balancing_policy=RoundRobinPolicy(), **options)


def timed_out(session: Session, text: str, node: int, timeout: float) -> tuple[OperationTimedOut, float]:
    """The error of *text*, sent to that node, and the seconds until then."""
    host = session.fake_hosts[node]  # type: ignore[attr-defined]
    began = time.monotonic()
    with pytest.raises(OperationTimedOut) as caught:
        session.execute(text, host=host, timeout=timeout)
    return caught.value, time.monotonic() - began


def session_of(cluster: Cluster, fake: FakeCluster) -> Session:
    session = cluster.connect(wait_for_all_pools=True)
    hosts = [cluster.metadata.get_host_by_host_id(node.host_id) for node in fake.nodes]
    session.fake_hosts = hosts  # type: ignore[attr-defined]
    return session


TEN_SECONDS = 8.0  # the former duration, less the delay that a slow machine may add to one


@pytest.mark.usefixtures("no_leaks")
class TestOverConnections:
    def test_nodes_that_do_not_agree(self, fake: FakeCluster) -> None:
        with connected(fake) as cluster:
            session = session_of(cluster, fake)
            fake.nodes[1].schema_version = uuid4()
            error, took = timed_out(session, "CREATE TABLE ks.fresh (k text PRIMARY KEY)", 0, 0.7)
            assert took < TEN_SECONDS
            assert "schema change was executed" in str(error) and "nodes did not agree on the schema yet" in str(error)
            fake.nodes[1].schema_version = None
            eventually(lambda: "fresh" in cluster.metadata.keyspaces["ks"].tables)

    def test_a_silent_control_connection(self, fake: FakeCluster) -> None:
        with connected(fake, idle_heartbeat_interval=0) as cluster:
            session = session_of(cluster, fake)
            fake.nodes[0].pause()
            error, took = timed_out(session, "CREATE TABLE ks.fresh (k text PRIMARY KEY)", 1, 0.7)
            assert took < TEN_SECONDS
            assert "schema change was executed" in str(error)
            fake.nodes[0].resume()

    def test_metadata_that_cannot_be_read(self, fake: FakeCluster) -> None:
        with connected(fake, max_schema_agreement_wait=0) as cluster:
            session = session_of(cluster, fake)
            fake.nodes[0].pause()
            error, took = timed_out(session, "CREATE TABLE ks.fresh (k text PRIMARY KEY)", 1, 0.7)
            assert took < TEN_SECONDS
            assert "nodes agree on the schema, but the metadata were not read yet" in str(error)
            fake.nodes[0].resume()

    def test_a_task(self, fake: FakeCluster) -> None:
        with connected(fake) as cluster:
            session = session_of(cluster, fake)
            fake.nodes[1].schema_version = uuid4()

            async def main() -> None:
                await session.execute_async("CREATE TABLE ks.fresh (k text PRIMARY KEY)", timeout=0.7)

            with pytest.raises(OperationTimedOut, match="was executed"):
                asyncio.run(main())

    def test_schema_change_completes_without_a_waiter(self, fake: FakeCluster) -> None:
        with connected(fake) as cluster:
            session = session_of(cluster, fake)
            future = session.execute_async("CREATE TABLE ks.fresh (k text PRIMARY KEY)")
            eventually(lambda: "fresh" in cluster.metadata.keyspaces["ks"].tables)
            assert future.result().one() is None

    def test_use_with_a_silent_node(self, fake: FakeCluster) -> None:
        with connected(fake, idle_heartbeat_interval=0) as cluster:
            session = session_of(cluster, fake)
            silent = session.fake_hosts[1]  # type: ignore[attr-defined]
            fake.nodes[1].pause()
            error, took = timed_out(session, "USE ks", 0, 0.7)
            assert took < TEN_SECONDS
            assert error.errors is not None and list(error.errors) == [str(silent.endpoint)]
            assert "keyspace of the session is 'ks' now" in str(error)
            assert error.maybe_executed is True  # type: ignore[attr-defined]
            assert session.keyspace == "ks"
            fake.nodes[1].resume()
            connections = [one for pool in session.get_pools() for one in pool.get_connections()]
            eventually(lambda: {one.keyspace for one in connections} == {"ks"})


def test_use_that_some_hosts_refuse() -> None:
    lab = Lab(hosts=2)
    lab.pools[lab.hosts[1]].keyspace_errors = [ConnectionException("lost")]
    lab[0].script = [set_keyspace("app")]
    with pytest.raises(ConnectionException, match=r"lost.*keyspace of the session is 'app' now") as caught:
        lab.session.execute("USE app")
    assert caught.value.maybe_executed is True  # type: ignore[attr-defined]
