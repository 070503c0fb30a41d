"""Ports of 127.0.0.1 that lead to the nodes of a simulated cluster."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from itertools import count
from typing import Any

from cassandra.testing import SimulatedCluster, SimulatedNode
from tests.servers.accepting import Listener
from tests.simulated.conftest import DEADLINE


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

    def _node(self, number: int) -> SimulatedNode:
        """The node that a connection to this port gets."""
        return self._nodes[number]

    def cut(self, number: int) -> None:
        """Refuse connections to that node from now on."""
        self._run(self._listeners[number].close())

    async def _listen(self, number: int) -> int:
        async def through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            node = self._node(number)
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


class Balancer(PrivateLink):
    """Ports that lead to the nodes in turn, as the address of a service of Kubernetes does."""

    def __init__(self, simulated: SimulatedCluster) -> None:
        super().__init__(simulated)
        self._turn = count()

    def _node(self, number: int) -> SimulatedNode:
        return self._nodes[next(self._turn) % len(self._nodes)]
