"""A node that takes the control connection is up: the pools connect without waiting for the scheduled reconnection."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra._session.cluster import Cluster
from cassandra.cluster import Session
from cassandra.policies import ConstantReconnectionPolicy, ConvictionPolicy, ExponentialReconnectionPolicy
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.fakes.options import AT_ONCE

pytestmark = pytest.mark.usefixtures("no_leaks")

IN_AN_HOUR = {**AT_ONCE, "reconnection_policy": ConstantReconnectionPolicy(3600)}


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        yield made


def host_of(cluster: Cluster, node: FakeNode) -> Any:
    return cluster.metadata.get_host_by_host_id(node.host_id)


def move_control_connection(cluster: Cluster, fake: FakeCluster, node: FakeNode) -> None:
    """To *node*, since the others do not take it."""

    def refuse(asked: FakeNode, connection: Any, request: Any, text: str) -> bool:
        refused = "system.local" in text and asked is not node
        if refused:
            connection.answer(request, wire.ERROR, wire.error(0x1001, "not just now"))
        return refused

    fake.on_query = refuse
    cluster.control_connection.reconnect()
    port = node.port
    eventually(lambda: (one := cluster.control_connection.connection) and one.endpoint.port == port)
    fake.on_query = None


def test_the_host_of_a_new_control_connection_is_up(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points, **IN_AN_HOUR) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        node = fake.nodes[1]
        host = host_of(cluster, node)
        node.stop()
        cluster.on_down(host, expect_host_to_be_down=True)
        eventually(lambda: host.is_up is False)
        node.start()
        move_control_connection(cluster, fake, node)
        eventually(lambda: host.is_up)
        eventually(lambda: host in session._pools)


class Lenient(ConvictionPolicy):
    """No failure is the host's."""

    def add_failure(self, connection_exc: BaseException) -> bool:
        return False

    def reset(self) -> None: ...


def is_open(session: Session, host: Any) -> bool:
    pool = session._pools.get(host)
    return pool is not None and pool.open_count > 0


@pytest.mark.parametrize("opened_before", [True, False])
def test_pools_of_a_host_that_stayed_up_are_opened(
    fake: FakeCluster, opened_before: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "cassandra.pool")
    with Cluster(fake.contact_points, **IN_AN_HOUR, conviction_policy_factory=Lenient) as cluster:
        first = cluster.connect(wait_for_all_pools=True)
        node = fake.nodes[1]
        host = host_of(cluster, node)
        node.stop()
        eventually(lambda: "Could not reconnect" in caplog.text)  # the next attempt is in an hour
        session = first if opened_before else cluster.connect(wait_for_all_pools=True)
        node.start()
        assert host.is_up and not is_open(session, host)
        move_control_connection(cluster, fake, node)
        eventually(lambda: is_open(session, host))
        assert host.is_up


def test_a_pool_that_opens_ends_the_wait_for_a_control_connection(fake: FakeCluster) -> None:
    def refuse(asked: FakeNode, connection: Any, request: Any, text: str) -> bool:
        refused = "system.local" in text
        if refused:
            connection.answer(request, wire.ERROR, wire.error(0x1001, "not just now"))
        return refused

    with Cluster(fake.contact_points, **IN_AN_HOUR) as cluster:
        cluster.connect(wait_for_all_pools=True)
        fake.on_query = refuse
        cluster.control_connection.connection.close()  # type: ignore[union-attr]
        eventually(lambda: cluster.control_connection.search.failed_rounds)
        fake.on_query = None
        session = cluster.connect()
        eventually(lambda: cluster.control_connection.connection)
        assert session._pools


def test_hosts_are_tried_at_least_every_minute() -> None:
    policy = Cluster().reconnection_policy
    assert isinstance(policy, ExponentialReconnectionPolicy)
    assert policy.base_delay == 1.0
    assert policy.max_delay == 60.0
