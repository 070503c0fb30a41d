"""The shard-aware port: local ports that are taken, ports that are translated, and shards that cannot be reached."""

from __future__ import annotations

import itertools
import random
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from cassandra._net import features, pool_filling
from cassandra._net.client_routes import ClientRoutesEndPoint
from cassandra._net.endpoint import UnixSocketEndPoint
from cassandra._net.options import ConnectionOptions
from cassandra._net.pool import HostPool
from tests.fakes.scripted import ScriptedConnection
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
    monkeypatch.setattr(pool_filling, "SPREAD", 0.0)
    monkeypatch.setattr(pool_filling, "WRONG_SHARD_DELAY", 0.0)


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


@pytest.mark.parametrize("how", ["not announced", "refused", "not wanted", "another kind of endpoint"])
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
        monkeypatch.setattr(pool_filling, "OWN_PORTS", (UnixSocketEndPoint,))
    monkeypatch.setattr(pool_filling, "MAX_PARALLEL_ATTEMPTS", 1)
    pool = net.open_all(shards=chosen)
    assert net.server.came == [0, 0, 1, 0, 1, 2, 2, 3]
    eventually(lambda: open_sockets(net) == 4)
    blocked = pool.advanced_shardaware_block_until
    assert blocked == 0.0 if how != "refused" else 0 < blocked - time.time() <= pool_filling.BLOCKED
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


def test_a_missing_shard_is_tried_more_and_more_rarely(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its connections lead to shards that have one already, through either port."""
    monkeypatch.setattr(pool_filling, "WRONG_SHARD_DELAY", 1.0)
    monkeypatch.setattr(pool_filling, "MAX_PARALLEL_ATTEMPTS", 1)
    delays: list[float] = []
    later = HostPool._later

    def noted_later(self: HostPool, delay: float, action: Callable[[], None]) -> None:
        if delay:
            delays.append(delay)
        later(self, delay and 0.05, action)

    monkeypatch.setattr(HostPool, "_later", noted_later)
    net.server.shards = 2
    net.server.announces_port = False
    net.server.choose = iter([0] * 8 + [1] * 20).__next__
    net.open_all()
    assert len(delays) == 7, "after each but the last one"
    longest = [1.0, 2.0, 4.0, 5.0, 5.0, 5.0, 5.0]
    assert all(0.5 * most <= delay <= 1.5 * most for delay, most in zip(delays, longest, strict=True)), delays
    assert len(set(delays)) == 7, "clients do not come at the same time"


def test_the_translation_is_logged_once_per_host(net: Net, caplog: pytest.LogCaptureFixture) -> None:
    net.server.port_shift = 1
    net.server.choose = iter([0, 1, 2, 3] * 20).__next__
    for _ in range(3):
        pool = net.open_all()
        pool.close()
    assert caplog.text.count("an address translation seems to change") == 1


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
    monkeypatch.setattr(pool_filling, "monotonic", lambda: now + 101)
    monkeypatch.setattr(pool_filling, "time", lambda: on_the_wall - 3600)  # the clock was set back
    lose(pool, 2)
    eventually(lambda: covered(pool, 4))
    assert len(net.server.aware.connections) == came + 1


# ---- shards that cannot be reached


@pytest.mark.parametrize("order", ["in turn", "by chance"])
def test_two_excess_connections_at_most(net: Net, monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    """While a server that chooses the shards itself has 92 of them, and perhaps many other clients."""
    chance = random.Random(92)
    at_once: list[int] = []
    connect, later = HostPool._connect, HostPool._later

    def noted_connect(self: HostPool, *args: Any) -> None:
        connect(self, *args)
        if self._slots.sharding is not None:
            at_once.append(len(self._slots.excess) + len(self._openings))

    monkeypatch.setattr(HostPool, "_connect", noted_connect)
    monkeypatch.setattr(HostPool, "_later", lambda self, delay, action: later(self, 0.0, action))
    net.server.shards = 92
    net.server.announces_port = False
    if order == "by chance":
        net.server.choose = lambda: chance.randrange(92)
    pool = net.open_all()
    assert at_once and max(at_once) <= 2, "in excess, or perhaps after an attempt that is under way"
    assert len(net.server.came) == 92 if order == "in turn" else len(net.server.came) > 92
    eventually(lambda: open_sockets(net) == 92)
    assert len(shards(pool)) == 92 and net.lost == []


def test_no_excess_connections_with_the_port(net: Net) -> None:
    net.server.shards = 92
    net.open_all()
    assert sorted(net.server.came) == list(range(92)), "one for each, and no other"
    assert len(net.server.plain.connections) == 1


def test_a_shard_that_is_never_given_to_us(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool works meanwhile, and keeps two connections that it does not need at most."""
    monkeypatch.setattr(pool_filling, "WRONG_SHARD_DELAY", 0.001)
    monkeypatch.setattr(pool_filling, "MAX_WRONG_SHARD_DELAY", 0.002)
    net.server.announces_port = False
    net.server.choose = iter([0, 1, 2] * 1000).__next__
    pool = net.make()
    pool.max_excess_connections_per_shard_multiplier = 2
    opened = threading.Event()
    pool.open(lambda error: opened.set())
    assert opened.wait(PATIENCE)
    eventually(lambda: len(net.server.came) > 50)
    assert shards(pool) == [0, 1, 2] and pool._slots.missing() == [3]
    assert len(pool._slots.excess) <= 2
    assert pool.pick(None, 3).shard in (0, 1, 2)
    assert pool.max_excess_connections_per_shard_multiplier == 2 and net.lost == []


def test_a_shard_that_fails_does_not_hold_up_the_others(net: Net) -> None:
    net.delays = (NEVER,)
    net.server.refuses = lambda shard: shard == 2
    pool = net.open()
    eventually(lambda: pool._filling._delayed == {2} and not pool._openings)
    assert shards(pool) == [0, 1, 3]
    assert len({pool.pick(None, 2) for _ in range(12)}) == 3, "the others do its work, in turn"
    assert net.lost == [] and not pool.is_opening
    assert pool.advanced_shardaware_block_until == 0.0, "it is not the port"
    lose(pool, 3)
    eventually(lambda: shards(pool) == [0, 1, 3])
    assert len(net.server.plain.connections) == 1, "through the shard-aware port, also while the shard fails"
    pool.close()
    assert not pool._timers


def test_a_shard_that_fails_through_the_port_is_tried_through_the_other_one(net: Net) -> None:
    """A firewall may have closed the port since the others were opened; they are not touched."""
    pool = net.open_all()
    net.delays = (0.001,)
    net.server.refuses = lambda shard: shard == 2 and len(net.server.plain.connections) == 1
    net.server.choose = lambda: 2
    before = {shard: pool.pick(None, shard) for shard in (0, 1, 3)}
    lose(pool, 2)
    eventually(lambda: covered(pool, 4))
    assert {shard: pool.pick(None, shard) for shard in (0, 1, 3)} == before
    assert len(net.server.plain.connections) == 2
    assert pool.advanced_shardaware_block_until == 0.0


def test_the_port_is_blocked_when_several_shards_fail_there(net: Net) -> None:
    net.server.shards = 12
    net.delays = (NEVER,)
    refusals = itertools.count()
    net.server.script = lambda connection, request: (
        connection.server is net.server.aware and next(refusals) >= 0 and connection.close() is None
    )
    net.server.choose = iter(range(12)).__next__
    pool = net.open_all()
    assert pool.advanced_shardaware_block_until > time.time()
    assert pool_filling.FAILING_SHARDS <= len(net.server.aware.connections) <= pool_filling.MAX_PARALLEL_ATTEMPTS + 2
    assert len(net.server.plain.connections) == 12, "those that had failed did not wait for their schedule"


def test_a_shard_whose_attempt_fails_after_the_port_was_blocked_is_not_put_off(net: Net) -> None:
    net.server.shards = 12
    net.delays = (NEVER,)
    net.options = ConnectionOptions(connect_timeout=3 * PATIENCE, protocol_version=5)  # of attempts that are held
    held: dict[int, ScriptedConnection] = {}  # by shard
    chosen: set[int] = set()

    def refuse(connection: ScriptedConnection, request: Any) -> bool:
        if connection.server is not net.server.aware:
            return False
        if net.server.aware.connections.index(connection) < pool_filling.FAILING_SHARDS:
            connection.close()
        else:
            held[net.server.shard_of(connection)[0]] = connection
        return True

    def choose() -> int:  # the shards of the attempts that are held come last
        left = [shard for shard in range(12) if shard not in chosen]
        shard = min(left, key=lambda shard: shard in held)
        chosen.add(shard)
        return shard

    net.server.script = refuse
    net.server.choose = choose
    pool = net.open()
    eventually(lambda: held and len(pool.get_connections()) == 12 - len(held))
    assert pool.advanced_shardaware_block_until > time.time()
    while held:
        shard, connection = held.popitem()
        connection.close()
        eventually(lambda shard=shard: shard in shards(pool))
    eventually(lambda: covered(pool, 12))


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
