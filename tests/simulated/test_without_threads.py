"""A process at its limit of threads: work in the background is delayed, not lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cassandra._base import threads
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import Connect, eventually


class Limit:
    """While ``reached`` is True no thread can be started; ``refused`` is how often one was wanted."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.reached = False
        self.refused = 0
        self._start = threads.start
        patch.setattr(threads, "start", self._start_or_refuse)

    def _start_or_refuse(self, call: Callable[[], object]) -> None:
        if self.reached:
            self.refused += 1
            raise RuntimeError("can't start new thread")
        self._start(call)


@pytest.mark.parametrize("before", [True, False])
def test_a_host_is_reached_again(
    no_leaks: None, connect: Connect, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """*before*: the limit is reached before the host goes down, else while it is reconnected to. It sends no events."""
    limit = Limit(monkeypatch)
    with SimulatedCluster(2, 1) as simulated:
        session = connect(simulated, reconnection_policy=ConstantReconnectionPolicy(0.05))
        control = session.cluster.get_control_connection_host()
        node = next(node for node in simulated.nodes if node.address != control.address)  # type: ignore[union-attr]
        host = session.cluster.metadata.get_host(node.address)
        assert host is not None
        eventually(lambda: host in session._pools)
        limit.reached = before
        node.refuse_connections()
        node.drop_connections()
        if not before:
            eventually(lambda: not host.is_up)
            limit.reached = True
            limit.refused = 0
        eventually(lambda: limit.refused > 1)
        limit.reached = False
        eventually(lambda: not host.is_up)
        node.refuse_connections(False)
        eventually(lambda: host.is_up and host in session._pools)
        session.cluster.shutdown()
