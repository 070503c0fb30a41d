"""Client routes: nodes that are reached through private links, which may change at any time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
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
from tests.servers.accepting import Listener
from tests.simulated.conftest import DEADLINE, Connect, eventually

CONFIG = ClientRoutesConfig([ClientRouteProxy("link", "127.0.0.1")])


class PrivateLink:
    """A port of 127.0.0.1 for each node of a cluster. ``open`` counts the connections through each."""

    def __init__(self, simulated: SimulatedCluster) -> None:
        self._nodes = list(simulated.nodes)
        self.open = [0] * len(self._nodes)
        self._loop = asyncio.new_event_loop()
        self._listeners: list[Listener] = []
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> PrivateLink:
        self._thread.start()
        self.ports = [self._run(self._listen(number)) for number in range(len(self._nodes))]
        return self

    def __exit__(self, *args: object) -> None:
        for number in range(len(self._nodes)):
            self.cut(number)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE)
        self._loop.close()

    def _run(self, step: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(DEADLINE)

    def routes(self, *numbers: int) -> dict[int, tuple[str, int]]:
        """What ``system.client_routes`` says; the address is overridden."""
        return {number: ("192.0.2.1", self.ports[number]) for number in numbers or range(len(self._nodes))}

    def cut(self, number: int) -> None:
        """Nobody gets through to that node any more."""
        self._run(self._listeners[number].close())

    async def _listen(self, number: int) -> int:
        async def through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            node = self._nodes[number]
            far_reader, far_writer = await asyncio.open_connection(node.address, node.port)
            self.open[number] += 1
            try:
                await first_of(pump(reader, far_writer), pump(far_reader, writer))
            finally:
                self.open[number] -= 1
                far_writer.transport.abort()

        self._listeners.append(Listener("127.0.0.1", through))
        return self._listeners[number].port


async def first_of(*ways: Coroutine[Any, Any, None]) -> None:
    """Run *ways* until one of them has ended, or this task is cancelled."""
    running = [asyncio.ensure_future(way) for way in ways]
    try:
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


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
