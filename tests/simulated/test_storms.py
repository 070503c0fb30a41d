"""A node that returns and a restart of all nodes, seen by the nodes: statements, connections, requests."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra._core.routing import LastUse
from cassandra._net import pool_filling
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, Session, ShardAwareOptions
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import FallthroughRetryPolicy, RoundRobinPolicy
from cassandra.query import PreparedStatement
from cassandra.testing import SimulatedCluster, SimulatedNode
from cassandra.testing.faults import Close, Exchange, Reaction
from tests.simulated.conftest import Connect, eventually, host_of, other_node, with_table

SELDOM = 1 / 3600  # statements in a second: so few that none of a test's own is among them
MOST = 92


def profile() -> dict[Any, ExecutionProfile]:
    """All nodes in turn; an error of any request is one of the test."""
    return {EXEC_PROFILE_DEFAULT: ExecutionProfile(RoundRobinPolicy(), retry_policy=FallthroughRetryPolicy())}


def statements(session: Session, count: int) -> list[PreparedStatement]:
    return [session.prepare(f"SELECT id, v AS v{number} FROM ks.t WHERE id = ?") for number in range(count)]


def prepares(simulated: SimulatedCluster, node: SimulatedNode) -> Counter[str]:
    return Counter(one.query for one in simulated.requests if one.opcode == "PREPARE" and one.node == node.index)


def go(node: SimulatedNode, *sessions: Session) -> None:
    node.stop()
    eventually(lambda: all(host_of(session, node).is_up is False for session in sessions))


def come(node: SimulatedNode, *sessions: Session) -> None:
    node.start()
    eventually(lambda: all(host_of(session, node).is_up for session in sessions))


@pytest.fixture
def table(simulated: SimulatedCluster) -> SimulatedCluster:
    with_table(simulated)
    return simulated


# ---- a node returns


def test_requests_do_not_wait_for_statements(table: SimulatedCluster, connect: Connect) -> None:
    """All succeed, and each statement that the node gets is prepared there once, when it is needed."""
    session = connect(table, execution_profiles=profile(), reprepare_rate=SELDOM)
    prepared = statements(session, 60)
    node = other_node(session, table)
    go(node, session)
    table.clear_requests()
    come(node, session)
    assert sum(prepares(table, node).values()) <= 1, "it is used before its statements are there"
    futures = [session.execute_async(one, (7,)) for _ in range(6) for one in prepared[:40]]
    for future in futures:
        future.result()
    found = prepares(table, node)
    executed = {one.query for one in table.requests if one.opcode == "EXECUTE" and one.node == node.index} - {""}
    assert executed == {one.query_string for one in prepared[:40]}
    assert set(found.values()) == {1}
    assert executed <= set(found) and len(found) <= 41, "and perhaps one that was prepared ahead"


def test_one_prepare_for_many_requests(table: SimulatedCluster, connect: Connect) -> None:
    session = connect(table, execution_profiles=profile(), reprepare_rate=SELDOM)
    (statement,) = statements(session, 1)
    node = other_node(session, table)
    go(node, session)
    come(node, session)
    table.clear_requests()
    host = host_of(session, node)
    for future in [session.execute_async(statement, (n,), host=host) for n in range(300)]:
        future.result()
    assert sum(prepares(table, node).values()) <= 1


def test_the_first_client_prepares_for_all(table: SimulatedCluster, connect: Connect) -> None:
    """The ids are made of the texts: the others execute by the id that they have."""
    sessions = [connect(table, execution_profiles=profile(), reprepare_on_up=False) for _ in range(3)]
    prepared = [statements(session, 5) for session in sessions]
    node = table.nodes[0]
    go(node, *sessions)
    come(node, *sessions)
    table.clear_requests()
    for session, own in zip(sessions, prepared, strict=True):
        for one in own:
            session.execute(one, (1,), host=host_of(session, node))
    assert prepares(table, node) == Counter(one.query_string for one in prepared[0])


def test_all_ways_of_executing_are_uses(table: SimulatedCluster, connect: Connect) -> None:
    session = connect(table, execution_profiles=profile())
    (statement,) = statements(session, 1)
    cached, number = session.cached(statement, ttl=60), itertools.count()
    ways: list[Callable[[], Any]] = [
        lambda: session.execute(statement, (1,)),
        lambda: execute_concurrent_with_args(session, statement, [(n,) for n in range(50)]),
        lambda: cached.execute((next(number),)),
    ]
    for way in ways:
        way()  # the first time everything is made
        for one in session.cluster.prepared.every():
            one._last_use = LastUse(0.0)
        assert statement.query_id not in session.cluster.prepared.recent(60)
        way()
        assert session.cluster.prepared.recent(60) == [statement.query_id]


def test_recently_used_statements_are_prepared_ahead(table: SimulatedCluster, connect: Connect) -> None:
    session = connect(table, execution_profiles=profile(), reprepare_rate=None)
    prepared = statements(session, 50)
    node = other_node(session, table)
    go(node, session)
    table.clear_requests()
    come(node, session)
    eventually(lambda: not session.cluster.prepared.ahead)
    assert prepares(table, node) == Counter(one.query_string for one in prepared)
    session.cluster.reprepare_window = 0.0
    go(node, session)
    table.clear_requests()
    come(node, session)
    eventually(lambda: not session.cluster.prepared.ahead)
    assert not prepares(table, node), "none was used since"


@pytest.mark.parametrize("fault", ["closed", "goes again"])
def test_faults_while_statements_are_prepared(table: SimulatedCluster, connect: Connect, fault: str) -> None:
    """The node loses the connection, or goes, in the middle: requests succeed, and it ends."""
    session = connect(table, reprepare_rate=None)
    prepared = statements(session, 30)
    for one in prepared:
        one.is_idempotent = True
    node = other_node(session, table)
    go(node, session)
    reaction, times = (Close(), 3) if fault == "closed" else (_Stop(node), 1)
    with table.inject(reaction, opcode="PREPARE", node=node.index, after=5, times=times):
        node.start()
        for _ in range(5):
            for one in prepared:
                session.execute(one, (1,))
        if fault == "goes again":
            eventually(lambda: host_of(session, node).is_up is False)
            assert not session.cluster.prepared.ahead
            node.start()
        eventually(lambda: host_of(session, node).is_up and not session.cluster.prepared.ahead)
    eventually(lambda: host_of(session, node).is_up)
    session.execute(prepared[0], (1,), host=host_of(session, node))


class _Stop(Reaction):
    """The node stops when the request comes."""

    def __init__(self, node: SimulatedNode) -> None:
        self.node = node

    def react(self, exchange: Exchange) -> None:
        self.node.stop()


# ---- all nodes return


def test_all_clients_are_back_after_a_restart_of_all_nodes(table: SimulatedCluster, connect: Connect) -> None:
    """Each with the connections that it had, and no other."""
    sessions = [connect(table, execution_profiles=profile()) for _ in range(4)]
    prepared = [statements(session, 10) for session in sessions]
    eventually(lambda: sum(node.connections for node in table.nodes) == 4 * (3 * 4 + 1))
    for node in table.nodes:
        node.stop()
    eventually(lambda: not any(host_of(session, node).is_up for session in sessions for node in table.nodes))
    for node in table.nodes:
        node.start()
    eventually(lambda: all(host_of(session, node).is_up for session in sessions for node in table.nodes))
    for session, own in zip(sessions, prepared, strict=True):
        for one in own:
            session.execute(one, (1,))
    eventually(lambda: sum(node.connections for node in table.nodes) == 4 * (3 * 4 + 1))


# ---- connections to many shards


@pytest.fixture
def wide(no_leaks: None) -> Iterator[SimulatedCluster]:
    """A node with 92 shards."""
    with SimulatedCluster(nodes=1, shards=MOST) as simulated:
        yield simulated


class Census:
    """The most connections that a node had at any moment."""

    def __init__(self, node: SimulatedNode) -> None:
        self.most = self.came = 0
        self._node = node

    def __call__(self, exchange: Exchange) -> bool:
        self.came += 1
        self.most = max(self.most, len(self._node.clients))
        return False


def is_covered(session: Session) -> bool:
    (state,) = session.get_pool_state().values()
    return sorted(state.get("shards", [])) == list(range(MOST))


def test_two_excess_connections_at_most(
    wide: SimulatedCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server gives each of its shards to one of two clients in turn."""
    monkeypatch.setattr(pool_filling, "WRONG_SHARD_DELAY", 0.01)
    monkeypatch.setattr(pool_filling, "MAX_WRONG_SHARD_DELAY", 0.01)
    monkeypatch.setattr(pool_filling, "SPREAD", 0.0)
    (node,) = wide.nodes
    census = Census(node)
    wide.inject(Close(), opcode="CONNECT", when=census)
    options = ShardAwareOptions(disable_shardaware_port=True)
    sessions = [connect(wide, shard_aware_options=options, connection_rate=None) for _ in range(2)]
    eventually(lambda: all(is_covered(session) for session in sessions))
    eventually(lambda: node.connections == 2 * (MOST + 1))
    closing = 2  # which the node may notice after the next one has come
    assert census.most <= 2 * (MOST + 1 + 2) + closing


def test_none_in_excess_with_the_port(wide: SimulatedCluster, connect: Connect) -> None:
    (node,) = wide.nodes
    census = Census(node)
    wide.inject(Close(), opcode="CONNECT", when=census)
    sessions = [connect(wide, connection_rate=None, protocol_version=4) for _ in range(2)]
    eventually(lambda: all(is_covered(session) for session in sessions))
    assert node.connections == census.came == 2 * (MOST + 1)


def test_a_failing_shard_does_not_keep_the_others_from_the_port(wide: SimulatedCluster, connect: Connect) -> None:
    """It does not open unneeded connections."""
    (node,) = wide.nodes
    census = Census(node)
    wide.inject(Close(), opcode="CONNECT", when=census)
    failing = wide.inject(Close(), opcode="CONNECT", shard=17)
    session = connect(wide, connection_rate=None)
    (pool,) = session.get_pools()
    eventually(lambda: len(pool.get_connections()) >= MOST - 1)
    assert [one for one in range(MOST) if one not in pool.state()["shards"]] == [17]
    assert pool.advanced_shardaware_block_until == 0.0
    by_port = [one for one in pool.get_connections() if one.channel.getpeername()[1] == node.shard_aware_port]
    assert len(by_port) == MOST - 2, "all but the first, and the one that fails"
    assert node.connections <= MOST + 1 + 2
    failing.remove()
    pool.try_now()
    eventually(lambda: is_covered(session))


def test_the_pace_of_connections_is_that_of_all_sessions(wide: SimulatedCluster, connect: Connect) -> None:
    """A node sees one client, however many sessions it has. Requests do not wait for its connections."""
    (node,) = wide.nodes
    session = connect(wide, connection_rate=SELDOM)
    others = [session.cluster.connect() for _ in range(2)]
    for one in (session, *others):
        one.execute("SELECT key FROM system.local")
    assert node.connections == 3 + 1, "the first one of each, and the control connection"
