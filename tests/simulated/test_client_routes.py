"""Client routes: nodes that are reached through private links, which may change at any time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.client_routes import ClientRouteProxy, ClientRoutesConfig
from cassandra.cluster import Session
from cassandra.connection import ClientRoutesEndPoint
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster
from cassandra.testing.errors import InvalidRequest
from cassandra.testing.faults import Fail
from tests.simulated.conftest import Connect, eventually
from tests.simulated.links import PrivateLink

CONFIG = ClientRoutesConfig([ClientRouteProxy("link", "127.0.0.1")])


@pytest.fixture
def link(simulated: SimulatedCluster) -> Iterator[PrivateLink]:
    with PrivateLink(simulated) as made:
        yield made


def connected(simulated: SimulatedCluster, link: PrivateLink, connect: Connect, **options: Any) -> Session:
    """A session whose only way in is the link."""
    points = [("127.0.0.1", link.ports[0])]
    soon = ConstantReconnectionPolicy(0.05)
    via: Any = Via(simulated, points)
    return connect(via, client_routes_config=CONFIG, reconnection_policy=soon, **options)


class Via:
    """What ``connect`` takes of a cluster."""

    def __init__(self, simulated: SimulatedCluster, points: list[Any]) -> None:
        self.contact_points, self.port = points, simulated.port


def asks_everyone(session: Session) -> bool:
    """Whether every host answers."""
    query = SimpleStatement("SELECT host_id FROM system.local")
    hosts = session.cluster.metadata.all_hosts()
    return {session.execute(query, host=host).one().host_id for host in hosts} == {host.host_id for host in hosts}


def everything_goes_through(simulated: SimulatedCluster, link: PrivateLink) -> bool:
    return [node.connections for node in simulated.nodes] == link.open and min(link.open) >= 4


def test_all_connections_go_by_the_routes(simulated: SimulatedCluster, link: PrivateLink, connect: Connect) -> None:
    simulated.set_client_routes("another", dict.fromkeys(range(3), ("192.0.2.9", 9)))
    simulated.set_client_routes("link", link.routes())
    session = connected(simulated, link, connect)
    hosts = session.cluster.metadata.all_hosts()
    assert len(hosts) == 3 and all(type(host.endpoint) is ClientRoutesEndPoint for host in hosts)
    assert {host.address for host in hosts} == {node.address for node in simulated.nodes}
    eventually(lambda: everything_goes_through(simulated, link))  # shards too: by trial
    assert asks_everyone(session)


def test_routes_that_change(simulated: SimulatedCluster, link: PrivateLink, connect: Connect) -> None:
    simulated.set_client_routes("link", link.routes())
    session = connected(simulated, link, connect)
    eventually(lambda: everything_goes_through(simulated, link))
    before = session.cluster.metadata.all_hosts()
    with PrivateLink(simulated) as other:
        simulated.set_client_routes("link", other.routes(1, 2))
        for number in (1, 2):
            link.cut(number)
        eventually(lambda: other.open[1] >= 4 and other.open[2] >= 4)
        eventually(lambda: all(host.is_up for host in session.cluster.metadata.all_hosts()))
        assert {id(host) for host in session.cluster.metadata.all_hosts()} == {id(host) for host in before}
        assert asks_everyone(session)
        session.cluster.shutdown()


def test_a_host_that_was_down_for_want_of_a_route(
    simulated: SimulatedCluster, link: PrivateLink, connect: Connect
) -> None:
    nowhere = {2: ("192.0.2.1", link.ports[2])}
    link.cut(2)
    simulated.set_client_routes("link", {**link.routes(0, 1), **nowhere})
    session = connected(simulated, link, connect)
    eventually(lambda: [host.is_up for host in session.cluster.metadata.all_hosts()].count(True) == 2)
    with PrivateLink(simulated) as other:
        simulated.set_client_routes("link", other.routes(2))
        eventually(lambda: all(host.is_up for host in session.cluster.metadata.all_hosts()))
        assert asks_everyone(session) and other.open[2] and not other.open[0]
        session.cluster.shutdown()


def test_without_a_route_a_node_is_where_it_says(
    simulated: SimulatedCluster, link: PrivateLink, connect: Connect
) -> None:
    simulated.set_client_routes("link", link.routes(0))
    session = connected(simulated, link, connect)
    assert asks_everyone(session)
    assert link.open[1:] == [0, 0] and link.open[0] > 0


def test_a_server_without_client_routes(
    simulated: SimulatedCluster, link: PrivateLink, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    simulated.set_client_routes("link", link.routes())
    with simulated.inject(Fail(InvalidRequest("unconfigured table client_routes")), query="system.client_routes"):
        session = connected(simulated, link, connect)
    assert asks_everyone(session)
    assert "has no client routes" in caplog.text
