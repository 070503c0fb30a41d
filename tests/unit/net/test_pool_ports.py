"""The shard-aware port: local ports that are taken, ports that are translated, and shards that cannot be reached."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from cassandra._net import features
from cassandra._net import pool as pool_module
from cassandra._net.client_routes import ClientRoutesEndPoint
from cassandra._net.endpoint import UnixSocketEndPoint
from cassandra._net.pool import HostPool
from tests.patience import PATIENCE, eventually
from tests.unit.net.sharded_pools import NEVER, Net, covered, lose, open_sockets, shards

pytestmark = pytest.mark.long


@pytest.fixture
def net(no_leaks: None) -> Iterator[Net]:
    net = Net(4)
    yield net
    net.close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "SPREAD", 0.0)


# ---- the shard-aware port


def ports(monkeypatch: pytest.MonkeyPatch, taken: Iterable[int], free: bool = True) -> None:
    """Have these local ports tried first."""
    generate = features.ShardAwarePortGenerator.generate

    def first_taken(self: Any, shard_id: int, total_shards: int) -> Iterator[int]:
        yield from taken
        if free:
            yield from generate(self, shard_id, total_shards)

    monkeypatch.setattr(features.ShardAwarePortGenerator, "generate", first_taken)


def test_a_local_port_that_is_taken(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("0.0.0.0", 0)) as listener:
        ports(monkeypatch, [listener.getsockname()[1]] * 3)
        pool = net.open_all()
    assert len(net.server.plain.connections) == 1 and len(net.server.came) == 4
    assert pool.advanced_shardaware_block_until == 0.0 and net.lost == []


def test_a_local_port_that_was_connected_from(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could be bound, but there cannot be two connections from it to the same address."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("0.0.0.0", 0))
        other.connect(net.server.aware.address)
        ports(monkeypatch, [other.getsockname()[1]])
        pool = net.open_all()
    assert len(net.server.plain.connections) == 1
    assert pool.advanced_shardaware_block_until == 0.0


def test_no_local_port_is_free(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server chooses the shards then."""
    with socket.create_server(("0.0.0.0", 0)) as listener:
        ports(monkeypatch, [listener.getsockname()[1]] * 3, free=False)
        pool = net.open_all()
    assert not net.server.aware.connections
    assert pool.advanced_shardaware_block_until > time.time()
    assert net.lost == []


@pytest.mark.parametrize("how", ["not announced", "refused", "not wanted", "another kind of end point"])
def test_without_the_port(net: Net, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Connections are opened until all shards have one, and those that were not needed close."""
    turn = iter([0, 0, 1, 0, 1, 2, 2, 3])
    last = 3
    net.server.choose = lambda: next(turn, last)
    chosen = None
    if how == "not announced":
        net.server.announces_port = False
    elif how == "refused":
        net.server.aware._listener.shutdown(socket.SHUT_RDWR)
        net.server.aware._accepting.join(PATIENCE)
        net.server.aware._listener.close()
    elif how == "not wanted":
        chosen = SimpleNamespace(disable=None, disable_shardaware_port=True)
    else:
        monkeypatch.setattr(pool_module, "OWN_PORTS", (UnixSocketEndPoint,))
    monkeypatch.setattr(pool_module, "MAX_PARALLEL_ATTEMPTS", 1)
    pool = net.open_all(shards=chosen)
    assert net.server.came == [0, 0, 1, 0, 1, 2, 2, 3]
    eventually(lambda: open_sockets(net) == 4)
    blocked = pool.advanced_shardaware_block_until
    assert blocked == 0.0 if how != "refused" else 0 < blocked - time.time() <= pool_module.BLOCKED
    assert net.lost == [] and pool.state()["last_error"] is None


def test_the_port_at_the_end_of_a_client_route(net: Net) -> None:
    """Asked for with ``advanced_shard_awareness`` only: the way there has to keep ports."""
    routes: Any = SimpleNamespace(of=lambda host_id: ("127.0.0.1", net.server.plain.port))
    net.host.endpoint = ClientRoutesEndPoint(UUID(int=1), routes, "10.0.0.1", 1)
    net.open_all()
    assert (len(net.server.plain.connections), len(net.server.aware.connections)) == (1, 3)


def test_a_translated_port_is_noticed(net: Net, caplog: pytest.LogCaptureFixture) -> None:
    """A connection that came to another shard than intended is used there."""
    net.server.port_shift = 1
    net.server.choose = iter([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]).__next__
    pool = net.open_all()
    assert "an address translation seems to change" in caplog.text
    assert pool.advanced_shardaware_block_until > time.time()
    assert 1 <= len(net.server.aware.connections) <= 3, "those that were under way"
    for shard in range(4):
        assert pool.pick(None, shard).shard == shard


def test_the_port_is_tried_again(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time, or when the plain port fails as well: then it was not the port."""
    pool = net.open_all()
    pool.disable_advanced_shard_aware(1000)
    before = pool.advanced_shardaware_block_until
    pool.disable_advanced_shard_aware(10)
    assert pool.advanced_shardaware_block_until == before > time.time() + 900, "the longer one"
    gate = threading.Event()
    net.server.refuses = lambda shard: not gate.is_set()
    lose(pool, 2)
    eventually(lambda: pool.advanced_shardaware_block_until == 0.0)
    gate.set()
    eventually(lambda: covered(pool, 4))


def test_a_block_ends(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = net.open_all()
    came = len(net.server.aware.connections)
    now, on_the_wall = time.monotonic(), time.time()
    pool.disable_advanced_shard_aware(100)
    monkeypatch.setattr(pool_module, "monotonic", lambda: now + 101)
    monkeypatch.setattr(pool_module, "time", lambda: on_the_wall - 3600)  # the clock was set back
    lose(pool, 2)
    eventually(lambda: covered(pool, 4))
    assert len(net.server.aware.connections) == came + 1


# ---- shards that cannot be reached


def test_a_shard_that_is_never_given_to_us(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some are opened in vain and closed again; it is tried later. The pool works meanwhile."""
    net.delays = (NEVER,)
    net.server.announces_port = False
    net.server.choose = iter([0, 1, 2] * 100).__next__
    monkeypatch.setattr(pool_module, "MAX_PARALLEL_ATTEMPTS", 1)
    pool = net.make()
    pool.max_excess_connections_per_shard_multiplier = 2
    opened = threading.Event()
    pool.open(lambda error: opened.set())
    assert opened.wait(PATIENCE)
    eventually(lambda: pool._filling._delayed == {3})
    eventually(lambda: open_sockets(net) == 3)
    assert len(net.server.came) == 3 + 2 * 4 + 1
    assert shards(pool) == [0, 1, 2] and pool._slots.missing() == [3]
    assert pool.pick(None, 3).shard in (0, 1, 2)
    assert pool.max_excess_connections_per_shard_multiplier == 2 and net.lost == []


def test_a_shard_that_fails_does_not_hold_up_the_others(net: Net) -> None:
    net.delays = (NEVER,)
    net.server.refuses = lambda shard: shard == 2
    pool = net.open()
    eventually(lambda: pool._filling._delayed == {2} and not pool._openings)
    assert shards(pool) == [0, 1, 3]
    assert len({pool.pick(None, 2) for _ in range(12)}) == 3, "the others do its work, in turn"
    assert len(net.lost) == 1, "the host hears of it"
    assert not pool.is_opening
    pool.close()
    assert not pool._timers


def test_a_shard_has_a_schedule_of_its_own(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    later = HostPool._later

    def noted(self: HostPool, delay: float, action: Callable[[], None]) -> None:
        if delay:
            waits.append(delay)
        later(self, 0.0, action)

    net.delays = (100.0, 200.0, 400.0)
    net.server.refuses = lambda shard: shard == 2 and len(waits) < 4
    monkeypatch.setattr(HostPool, "_later", noted)
    pool = net.open_all()
    assert len(waits) == 4
    expected = [100.0, 200.0, 400.0, 400.0]
    assert all(0.5 * wait <= actual <= 1.5 * wait for wait, actual in zip(expected, waits, strict=True)), waits
    assert waits != expected, "clients do not come at the same time"
    net.server.refuses = lambda shard: shard == 2 and len(waits) < 5
    lose(pool, 2)
    eventually(lambda: len(waits) == 5 and covered(pool, 4))
    assert waits[4] <= 150.0, "from the beginning"
