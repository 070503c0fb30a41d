"""The pool of a host with shards: a connection for each, by either port; losing, replacing, resharding, closing."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._base import errors
from cassandra._core.transport import NORMAL
from cassandra._net import pool_filling
from cassandra._net.connection import Connection
from cassandra._net.exchange import Exchange
from cassandra._net.pool import HostPool
from cassandra._wire.messages.requests import QueryMessage
from tests.checked_locks import as_driver
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection
from tests.patience import PATIENCE, eventually
from tests.unit.net.sharded_pools import NEVER, QUERY, Held, Net, covered, lose, open_sockets, shards, silent, token_of

pytestmark = pytest.mark.long


@pytest.fixture
def net(no_leaks: None) -> Iterator[Net]:
    net = Net(4)
    yield net
    net.close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_filling, "SPREAD", 0.0)


# ---- covering


def test_every_shard_gets_its_connection(net: Net) -> None:
    pool = net.open_all()
    assert len(net.server.plain.connections) == 1, "all but the first through the shard-aware port"
    assert sorted(net.server.came) == [0, 1, 2, 3]
    sharding = net.host.sharding_info
    assert sharding.shards_count == 4
    for shard in range(4):
        connection = pool.pick(token_of(shard, sharding))
        assert connection.shard == shard
        assert connection.request(QUERY, PATIENCE).kind == 1
        assert pool.pick(token_of(0, sharding), shard) is connection, "the shard of a tablet wins over the token"
        assert pool.pick(token_of(shard, sharding), 99) is connection, "a shard that it does not have says nothing"
    assert {pool.pick().shard for _ in range(4)} == {0, 1, 2, 3}
    state = pool.state()
    assert (state["shards_count"], state["shards"], state["in_flights"]) == (4, [0, 1, 2, 3], [0, 0, 0, 0])
    assert (pool.open_count, pool.shard, net.lost) == (4, None, [])


def test_the_first_connection_is_enough(net: Net) -> None:
    """No caller waits for the others, and any shard's requests go to it until they are there."""
    release = threading.Event()

    def script(connection: ScriptedConnection, request: wire.Envelope) -> None:
        if connection.server is net.server.aware:
            assert release.wait(PATIENCE)

    net.server.script = script
    pool = net.open()
    first = pool.pick()
    assert {pool.pick(None, shard) for shard in range(4)} == {first} == {pool.pick() for _ in range(4)}
    assert pool.shard == 0 and pool.num_missing_or_needing_replacement == 3
    eventually(lambda: len(net.server.aware.connections) == 3)
    release.set()
    eventually(lambda: covered(pool, 4))
    assert pool.pick(None, 0) is first and pool.num_missing_or_needing_replacement == 0


def test_only_a_few_are_opened_at_a_time(net: Net) -> None:
    net.server.shards = 12
    held: Held = []
    all_held = threading.Event()

    def script(connection: ScriptedConnection, request: wire.Envelope) -> bool:
        if connection.server is net.server.aware and request.opcode == wire.STARTUP and not all_held.is_set():
            held.append((connection, request))
            return True
        return False

    net.server.script = script
    pool = net.open()
    eventually(lambda: len(held) == pool_filling.MAX_PARALLEL_ATTEMPTS)
    assert len(pool._openings) == pool_filling.MAX_PARALLEL_ATTEMPTS
    as_driver(pool._filling.look)
    assert len(pool._openings) == pool_filling.MAX_PARALLEL_ATTEMPTS
    all_held.set()
    for connection, request in held:
        connection.default(request)
    eventually(lambda: covered(pool, 12))
    assert len(net.server.came) == 12


def test_clients_come_at_different_moments(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    moments: list[float] = []
    later = HostPool._later

    def noted(self: HostPool, delay: float, action: Callable[[], None]) -> None:
        moments.append(delay)
        later(self, 0.0, action)

    monkeypatch.setattr(pool_filling, "SPREAD", 600.0)
    monkeypatch.setattr(HostPool, "_later", noted)
    net.open_all()
    assert len(moments) == len(set(moments)) == 3, "the first one did not wait"
    assert all(0 <= moment <= 600 for moment in moments)


@pytest.mark.parametrize("options", ["off", "one shard"])
def test_one_connection(net: Net, options: str) -> None:
    net.server.shards = 1 if options == "one shard" else 4
    chosen = SimpleNamespace(disable=options == "off", disable_shardaware_port=False)
    pool = net.open(shards=chosen)
    assert pool.pick(5) is pool.pick(None, 3) is pool.pick()
    assert not pool._filling._opening and not pool._timers
    assert (net.server.came, pool.shard, "shards" in pool.state()) == ([0], 0, False)
    assert net.host.sharding_info is None


# ---- losing


def test_a_lost_shard_comes_back(net: Net) -> None:
    pool = net.open_all()
    before = {shard: pool.pick(None, shard) for shard in range(4)}
    lost = next(one for one in net.server.aware.connections if net.server.shard_of(one)[0] == 2)
    lost.close()
    eventually(lambda: net.lost and covered(pool, 4))
    after = {shard: pool.pick(None, shard) for shard in range(4)}
    assert [shard for shard in range(4) if after[shard] is not before[shard]] == [2]
    assert len(net.lost) == 1 and isinstance(net.lost[0], errors.ConnectionShutdown)


def test_there_is_no_error_while_one_is_open(net: Net) -> None:
    net.delays = (NEVER,)
    pool = net.open_all()
    net.server.refuses = lambda shard: True
    for shard in (0, 3, 1):
        pool.pick(None, shard).close()
        assert all(not pool.pick(None, one).is_closed for one in range(4)), "also before its end was noticed"
    assert {pool.pick(None, shard).shard for shard in range(4)} == {2} == {pool.pick().shard for _ in range(3)}
    pool.pick().close()
    with pytest.raises(errors.NoConnectionsAvailable, match="pool reconnecting"):
        pool.pick(None, 2)


def test_a_pool_without_connections_waits_for_no_lane(net: Net) -> None:
    """Those that are under way may lead nowhere."""
    release = threading.Event()

    def script(connection: ScriptedConnection, request: wire.Envelope) -> None:
        if connection.server is net.server.aware:
            assert release.wait(PATIENCE)

    net.server.shards = 12
    net.server.script = script
    pool = net.open()
    eventually(lambda: len(net.server.aware.connections) == pool_filling.MAX_PARALLEL_ATTEMPTS)
    lost = pool.pick()
    lost.close()
    eventually(lambda: pool.open_count == 1 and lost not in pool.get_connections())
    assert len(net.server.plain.connections) == 2 and len(pool._openings) == pool_filling.MAX_PARALLEL_ATTEMPTS
    release.set()
    eventually(lambda: covered(pool, 12))


def test_a_restart_with_as_many_shards(net: Net) -> None:
    pool = net.open_all()
    before = set(pool.get_connections())
    net.server.drop_connections()
    eventually(lambda: covered(pool, 4) and not before & set(pool.get_connections()))


@pytest.mark.parametrize("count", [2, 8, 1])
def test_a_restart_with_other_shards(net: Net, count: int) -> None:
    pool = net.open_all()
    net.server.shards = count
    net.server.drop_connections()
    eventually(lambda: covered(pool, count))
    if count > 1:
        assert net.host.sharding_info.shards_count == count
        for shard in range(count):
            assert pool.pick(token_of(shard, net.host.sharding_info)).shard == shard
    else:
        assert pool.pick(None, 3) is pool.pick()


def test_a_host_that_is_gone_is_asked_by_one_at_a_time(net: Net) -> None:
    """And by the pool's own schedule: that of a shard may be at its longest."""
    net.delays = (0.01,)
    pool = net.open_all()
    gone = threading.Event()
    gone.set()
    net.server.refuses = lambda shard: gone.is_set()
    net.server.drop_connections()
    eventually(lambda: pool._filling._opening | pool._filling._delayed >= {pool_filling.ANY})
    eventually(lambda: pool._slots.wanted() == [pool_filling.ANY] and pool._filling._opening <= {pool_filling.ANY})
    gone.clear()
    eventually(lambda: covered(pool, 4))


def test_put_off_shards_are_opened_when_the_host_comes_back(net: Net) -> None:
    back = threading.Event()
    net.delays = (NEVER,)
    net.server.refuses = lambda shard: shard == 2
    pool = net.open()
    eventually(lambda: pool._filling._delayed == {2} and not pool._openings)
    net.delays = (0.01,)
    net.server.refuses = lambda shard: not back.is_set()
    net.server.drop_connections()
    eventually(lambda: pool._slots.wanted() == [pool_filling.ANY])
    back.set()
    eventually(lambda: covered(pool, 4))


def test_resharding_while_old_connections_live(net: Net) -> None:
    """They get their answers, and no more requests."""
    held: Held = []

    def script(connection: ScriptedConnection, request: wire.Envelope) -> bool:
        if request.opcode == wire.QUERY and b"held" in request.body:
            held.append((connection, request))
            return True
        return False

    net.server.script = script
    pool = net.open_all()
    old = pool.pick(None, 1)
    outcome: list[Any] = []
    old.request_async(QueryMessage("held", 1), outcome.append, PATIENCE)
    eventually(lambda: held)
    net.server.shards = 2
    lose(pool, 3)
    eventually(lambda: shards(pool) == [0, 1] and not pool._openings)
    assert pool.pick(None, 1) is not old and not old.is_closed
    connection, request = held[0]
    connection.answer(request, wire.RESULT, wire.int32(1))
    eventually(lambda: outcome)
    assert outcome[0].kind == 1
    eventually(lambda: old.is_closed and covered(pool, 2))


def test_a_host_that_says_something_else_every_time(net: Net) -> None:
    """There may be several behind its address. One connection is open, the next one comes by the schedule."""
    net.delays = (NEVER,)
    answers = iter(range(2, 1000))
    lock = threading.Lock()

    def choose() -> int:
        with lock:
            net.server.shards = next(answers)
        return 0

    net.server.choose = choose
    net.server.announces_port = False
    pool = net.open()
    eventually(lambda: pool._filling._is_on_hold and not pool._openings and not pool._filling._opening)
    assert len(shards(pool)) == 1 and pool.pick(None, 1) is pool.pick()
    assert len(net.server.came) <= 1 + pool_filling.MAX_PARALLEL_ATTEMPTS


@pytest.mark.parametrize("seed", range(2))
def test_all_shards_are_covered_after_random_faults(net: Net, seed: int) -> None:
    """Connections and whole nodes come and go while threads pick: nothing else than a missing connection is wrong, and
    nothing is left over."""
    chance = random.Random(seed)
    refused: set[int] = set()
    net.server.choose = lambda: chance.randrange(net.server.shards)
    net.server.refuses = lambda shard: shard in refused
    net.delays = (0.001, 0.002)
    pool = net.open()
    done = threading.Event()
    wrong: list[BaseException] = []

    def pick(seed: int) -> None:
        mine = random.Random(seed)
        while not done.is_set():
            try:
                pool.pick(mine.choice([None, mine.getrandbits(63)]), mine.choice([None, None, 0, 3, 9]))
            except errors.NoConnectionsAvailable:
                pass
            except BaseException as error:
                wrong.append(error)
                raise

    threads = [threading.Thread(target=pick, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(60):
            match chance.randrange(7):
                case 0:
                    net.server.drop_connections()
                case 1:
                    net.server.shards = chance.choice([1, 2, 4, 5])
                case 2:
                    refused.add(chance.randrange(5))
                case 3:
                    refused.clear()
                case 4:
                    net.server.announces_port = chance.random() < 0.5
                case 5:
                    net.server.port_shift = chance.choice([0, 1])
                case _:
                    for connection in pool.get_connections()[:1]:
                        connection.close()
            time.sleep(chance.choice([0.0, 0.001, 0.003]))
    finally:
        done.set()
        for thread in threads:
            thread.join(PATIENCE)
    refused.clear()
    net.server.drop_connections()  # some may tell of other shards than there are now
    eventually(lambda: covered(pool, net.server.shards))
    eventually(lambda: open_sockets(net) == net.server.shards)
    assert not wrong and not pool.is_shutdown


# ---- room


def submit(connection: Connection, outcomes: list[Any]) -> None:
    """A request as an application makes them: within the limits."""
    exchange = Exchange(outcomes.append)
    exchange._priority = NORMAL
    connection.submit(QUERY.encode(connection.protocol_version, features=connection.features), exchange, 0, PATIENCE)


def test_full_ones_are_spared(net: Net) -> None:
    net.server.script = silent
    net.options = net.options.replace(max_requests=1)
    pool = net.open_all()
    outcomes: list[Any] = []
    used: list[Connection] = []
    for _ in range(4):
        assert not pool.wait_for_room(), "not all are full"
        pool.end_queue()
        connection = pool.pick(None, 2)
        assert connection not in used
        used.append(connection)
        submit(connection, outcomes)
    assert used[0].shard == 2 and not outcomes
    with pytest.raises(errors.ConnectionBusy):
        submit(pool.pick(None, 2), outcomes)
    assert pool.wait_for_room()
    before = net.told
    used[1].close()
    eventually(lambda: net.told > before and outcomes)
    assert pool.load().count("1 of 1 requests in flight on the connection (shard") >= 3


def test_error_texts_of_many_shards_are_short(net: Net) -> None:
    net.server.shards = 12
    net.server.script = silent
    net.options = net.options.replace(max_requests=2)
    pool = net.open_all()
    outcomes: list[Any] = []
    for shard in (3, 3, 4):
        submit(pool.pick(None, shard), outcomes)
    assert pool.load() == "3 of 24 requests in flight on the connections to 12 shards"
    with pytest.raises(errors.OperationTimedOut):
        pool.pick(None, 7).request(QUERY, 0.02)
    assert pool.load().endswith("12 shards, 1 of them orphaned (no response yet)")


def test_a_worn_one_is_replaced_by_its_own_shard(net: Net) -> None:
    net.options = net.options.replace(max_requests=2)
    pool = net.open_all()
    before = {shard: pool.pick(None, shard) for shard in range(4)}
    net.server.script = silent
    with pytest.raises(errors.OperationTimedOut):
        before[2].request(QUERY, 0.02)
    assert before[2].orphaned_threshold_reached
    assert pool.pick(None, 2) is before[2], "in use until its successor is there"
    eventually(lambda: pool.pick(None, 2) is not before[2])
    eventually(lambda: before[2].is_closed and covered(pool, 4))
    assert [shard for shard in range(4) if pool.pick(None, shard) is not before[shard]] == [2]
    assert net.lost == []


# ---- keyspaces, closing


def test_keyspaces(net: Net) -> None:
    pool = net.open(keyspace="one")
    outcome: list[Any] = []
    pool.set_keyspace("two", outcome.append)  # while the others are being opened
    eventually(lambda: outcome and covered(pool, 4))
    assert outcome == [[]]
    eventually(lambda: {connection.keyspace for connection in pool.get_connections()} == {"two"})
    lose(pool, 1)
    eventually(lambda: covered(pool, 4))
    assert pool.pick(None, 1).keyspace == "two"


def test_closed_while_shards_are_being_covered(net: Net) -> None:
    held = threading.Event()
    release = threading.Event()

    def script(connection: ScriptedConnection, request: wire.Envelope) -> None:
        if connection.server is net.server.aware:
            held.set()
            assert release.wait(PATIENCE)

    net.server.script = script
    pool = net.open()
    assert held.wait(PATIENCE)
    pool.close()
    release.set()
    assert not pool._timers and not pool._openings
    eventually(lambda: open_sockets(net) == 0)
    with pytest.raises(errors.NoConnectionsAvailable, match="pool closed"):
        pool.pick(None, 1)


def test_close_closes_those_in_excess(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    net.server.announces_port = False
    chosen = iter([0, 0])
    stuck = threading.Event()

    def choose() -> int:
        shard = next(chosen, None)
        if shard is None:
            stuck.set()
            return 1
        return shard

    def script(connection: ScriptedConnection, request: wire.Envelope) -> bool:
        return net.server.shard_of(connection)[0] == 1  # never answers

    net.server.choose, net.server.script = choose, script
    monkeypatch.setattr(pool_filling, "MAX_PARALLEL_ATTEMPTS", 1)
    pool = net.open()
    assert stuck.wait(PATIENCE)
    assert len(pool._slots.excess) == 1
    pool.close()
    eventually(lambda: open_sockets(net) == 0)


# ---- names


def test_names_of_scylla_driver(net: Net) -> None:
    pool = net.open_all()
    assert pool.shutdown_on_error is False
    token = token_of(2, net.host.sharding_info)
    assert pool.borrow_connection(1.0, routing_token=SimpleNamespace(value=token)) == (pool.pick(None, 2), None)
    assert pool.borrow_connection(1.0, routing_token=token)[0].shard == 2
    key = b"key"
    connection, _ = pool.borrow_connection(timeout=1.0, routing_key=key, keyspace="ks", table="t")
    assert connection is pool.borrow_connection(routing_key=key)[0]
    pool.return_connection(connection)
    pool.on_orphaned_stream_released()
    assert not pool.supports_tablet_routing
    connection.features.tablets_routing_v1 = True
    assert pool.supports_tablet_routing
