"""A session's connections to the shards of every node, however they are reached, and requests on the owning shard."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, Session, ShardAwareOptions
from cassandra.connection import ShardAwarePortGenerator
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy, TokenAwarePolicy
from cassandra.testing import SimulatedCluster, SimulatedNode
from cassandra.testing.faults import Close, Exchange, Hold, Nat
from tests.servers.certificates import Certificates
from tests.simulated.conftest import Connect, eventually, with_table

INSERT = "INSERT INTO ks.t (id, v) VALUES (?, ?)"
KEYS = 100


@pytest.fixture
def vnodes(no_leaks: None) -> Iterator[SimulatedCluster]:
    """Three nodes with four shards each, and a table without tablets with two replicas."""
    with SimulatedCluster(nodes=3, shards=4, tablets=False) as simulated:
        with_table(simulated)
        yield simulated


def options(**more: Any) -> dict[str, Any]:
    profile = ExecutionProfile(TokenAwarePolicy(RoundRobinPolicy()), consistency_level=ConsistencyLevel.ONE)
    return {
        "execution_profiles": {EXEC_PROFILE_DEFAULT: profile},
        "reconnection_policy": ConstantReconnectionPolicy(0.01, max_attempts=None),
        **more,
    }


def shards(session: Session) -> list[list[int]]:
    """Of the open connections to each host, sorted."""
    return sorted(state.get("shards", []) for state in session.get_pool_state().values())


def is_covered(session: Session, *counts: int) -> bool:
    """Whether every shard of the hosts, which have so many, has one connection, and none is left over."""
    states = session.get_pool_state().values()
    settled = all(state["retired_count"] == 0 for state in states)
    return settled and shards(session) == sorted(list(range(count)) for count in counts)


def all_on_owner(simulated: SimulatedCluster, session: Session) -> bool:
    statement = session.prepare(INSERT)
    simulated.clear_requests()
    for future in [session.execute_async(statement, (n, n)) for n in range(KEYS)]:
        future.result()
    found = simulated.routing("ks.t")
    assert found.requests == KEYS
    return found.on_owner == KEYS


def ports(session: Session, node: SimulatedNode) -> list[int]:
    """The ports of *node* that the session is connected to, sorted."""
    pool = session.get_pools()[0]
    return sorted(connection.channel.getpeername()[1] for connection in pool.get_connections())


# ---- the usual way


def test_every_shard_has_a_connection_and_gets_its_requests(vnodes: SimulatedCluster, connect: Connect) -> None:
    session = connect(vnodes, **options())
    eventually(lambda: is_covered(session, 4, 4, 4))
    assert sum(node.connections for node in vnodes.nodes) == 12 + 1, "and the control connection"
    assert all(all(node.connections_by_shard().values()) for node in vnodes.nodes)
    assert all_on_owner(vnodes, session) and all_on_owner(vnodes, session)
    assert session.cluster.is_shard_aware()
    assert set(map(tuple, (d.values() for d in session.cluster.shard_aware_stats().values()))) == {(4, 4)}
    for pool in session.get_pools():
        for connection in pool.get_connections():
            address, port = connection.channel.getpeername()
            node = next(node for node in vnodes.nodes if node.address == address)
            if port == node.shard_aware_port:
                assert connection.channel.getsockname()[1] % 4 == connection.shard


def test_statements_without_a_token_go_round_the_shards(vnodes: SimulatedCluster, connect: Connect) -> None:
    session = connect(vnodes, **options())
    eventually(lambda: is_covered(session, 4, 4, 4))
    vnodes.clear_requests()
    for _ in range(48):
        session.execute("SELECT * FROM ks.t")
    assert set(vnodes.shard_hits("ks.t").values()) == {4}


def test_nodes_without_shards_have_one_connection(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(2, 4, tablets=False, without=["SCYLLA_NR_SHARDS"]) as simulated:
        session = connect(simulated, **options())
        assert [state["open_count"] for state in session.get_pool_state().values()] == [1, 1]
        assert sum(node.connections for node in simulated.nodes) == 3
        assert not session.cluster.is_shard_aware() and session.cluster.shard_aware_stats() is None
        session.cluster.shutdown()


def test_the_options_of_applications(vnodes: SimulatedCluster, connect: Connect) -> None:
    one = connect(vnodes, **options(shard_aware_options=ShardAwareOptions(disable=True)))
    assert [state["open_count"] for state in one.get_pool_state().values()] == [1, 1, 1]
    one.cluster.shutdown()
    plain = connect(vnodes, **options(shard_aware_options={"disable_shardaware_port": True}))
    eventually(lambda: is_covered(plain, 4, 4, 4))
    for pool in plain.get_pools():
        assert {connection.channel.getpeername()[1] for connection in pool.get_connections()} == {vnodes.port}
    assert all_on_owner(vnodes, plain)


@pytest.mark.parametrize("tls_only", [True, False])
def test_tls(no_leaks: None, connect: Connect, tmp_path: Path, tls_only: bool) -> None:
    certificates = Certificates.generate(tmp_path, ["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificates.server))
    with SimulatedCluster(
        1, 4, tablets=False, address="127.0.0.1", ssl_context=context, tls_only=tls_only
    ) as simulated:
        with_table(simulated, 1)
        node = simulated.nodes[0]
        session = connect(simulated, **options(ssl_context=certificates.context(), port=node.tls_port))
        eventually(lambda: is_covered(session, 4))
        assert ports(session, node) == sorted([node.tls_port, *[node.shard_aware_tls_port] * 3])
        assert all_on_owner(simulated, session)
        session.cluster.shutdown()


# ---- other ways


def test_a_local_port_that_is_taken(
    vnodes: SimulatedCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = ShardAwarePortGenerator.generate
    with socket.create_server(("0.0.0.0", 0)) as listener:

        def first_taken(self: ShardAwarePortGenerator, shard_id: int, total_shards: int) -> Iterator[int]:
            yield listener.getsockname()[1]
            yield from generate(self, shard_id, total_shards)

        monkeypatch.setattr(ShardAwarePortGenerator, "generate", first_taken)
        session = connect(vnodes, **options())
        eventually(lambda: is_covered(session, 4, 4, 4))
    assert all(pool.advanced_shardaware_block_until == 0 for pool in session.get_pools())
    assert all_on_owner(vnodes, session)


@pytest.mark.parametrize("shift", [1, None])
def test_an_address_translation(vnodes: SimulatedCluster, connect: Connect, shift: int | None) -> None:
    """It replaces the client's ports: by others at the same distance, or by any."""
    vnodes.inject(Nat(shift), opcode="CONNECT")
    session = connect(vnodes, **options())
    eventually(lambda: is_covered(session, 4, 4, 4))
    eventually(lambda: sum(node.connections for node in vnodes.nodes) == 12 + 1)
    assert all_on_owner(vnodes, session)


def test_a_shard_aware_port_that_refuses(
    vnodes: SimulatedCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = vnodes.nodes[0]
    with socket.socket() as deaf:
        deaf.bind((node.address, 0))
        monkeypatch.setattr(node, "shard_aware_port", deaf.getsockname()[1])
        session = connect(vnodes, **options())
        eventually(lambda: is_covered(session, 4, 4, 4))
        eventually(lambda: sum(node.connections for node in vnodes.nodes) == 12 + 1)
    blocked = {pool.host.address: pool.advanced_shardaware_block_until > 0 for pool in session.get_pools()}
    assert [blocked[node.address] for node in vnodes.nodes] == [True, False, False]
    assert all_on_owner(vnodes, session)


def test_a_shard_aware_port_that_closes(vnodes: SimulatedCluster, connect: Connect) -> None:
    """As of a proxy that has no server to connect to."""
    with vnodes.inject(Close(), opcode="CONNECT", when=by_port):
        session = connect(vnodes, **options())
        eventually(lambda: is_covered(session, 4, 4, 4))
    assert all_on_owner(vnodes, session)


def test_pools_cover_all_shards_without_an_advertised_shard_aware_port(
    vnodes: SimulatedCluster, connect: Connect
) -> None:
    for node in vnodes.nodes:
        node.advertise_shard_aware_port = False
    session = connect(vnodes, **options())
    eventually(lambda: is_covered(session, 4, 4, 4))
    assert all_on_owner(vnodes, session)


def by_port(exchange: Exchange) -> bool:
    return exchange.connection.by_port


# ---- changes


def test_resharding(vnodes: SimulatedCluster, connect: Connect) -> None:
    session = connect(vnodes, **options())
    eventually(lambda: is_covered(session, 4, 4, 4))
    for count in (2, 7):
        vnodes.nodes[1].reshard(count)
        eventually(lambda count=count: is_covered(session, 4, 4, count))
        eventually(lambda: all(host.is_up for host in session.cluster.metadata.all_hosts()))
        eventually(lambda: all_on_owner(vnodes, session))
    assert all_on_owner(vnodes, session)


def test_a_restart_after_which_a_shard_is_missing(vnodes: SimulatedCluster, connect: Connect) -> None:
    session = connect(vnodes, **options())
    eventually(lambda: is_covered(session, 4, 4, 4))
    rule = vnodes.inject(Close(), opcode="CONNECT", node=1, shard=2)
    vnodes.nodes[1].restart()
    eventually(lambda: shards(session) == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 3]])
    all_on_owner(vnodes, session)  # none fails
    assert (1, 2) not in vnodes.shard_hits("ks.t")
    assert all(host.is_up for host in session.cluster.metadata.all_hosts())
    rule.remove()
    eventually(lambda: is_covered(session, 4, 4, 4))
    eventually(lambda: all_on_owner(vnodes, session))


def test_connections_that_are_lost_again_and_again(vnodes: SimulatedCluster, connect: Connect) -> None:
    """In the end every shard has its connection, and no more than that are open."""
    session = connect(vnodes, **options())
    statement = session.prepare(INSERT)
    statement.is_idempotent = True
    for turn in range(12):
        futures = [session.execute_async(statement, (n, turn)) for n in range(20)]
        vnodes.nodes[turn % 3].drop_connections()
        for future in futures:
            with suppress(NoHostAvailable):  # when it found all nodes without a connection
                future.result()
    eventually(lambda: is_covered(session, 4, 4, 4))
    eventually(lambda: sum(node.connections for node in vnodes.nodes) == 12 + 1)
    eventually(lambda: all_on_owner(vnodes, session))


def test_shutdown_while_shards_are_being_covered(vnodes: SimulatedCluster, connect: Connect) -> None:
    held = vnodes.inject(Hold(), opcode="CONNECT", when=by_port)
    session = connect(vnodes, **options())
    eventually(lambda: held.hits == 9)
    assert shards(session) == sorted([pool.shard] for pool in session.get_pools())
    session.cluster.shutdown()
    held.remove()
    eventually(lambda: sum(node.connections for node in vnodes.nodes) == 0)


# ---- limits


def test_a_limit_per_connection_is_one_per_shard(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(1, 4, tablets=False) as simulated:
        with_table(simulated, 1)
        session = connect(simulated, **options(max_requests_per_connection=2))
        eventually(lambda: is_covered(session, 4))
        statement = session.prepare(INSERT)
        with simulated.inject(Hold(), query="INSERT") as held:
            futures = [session.execute_async(statement, (n, n)) for n in range(20)]
            eventually(lambda: held.hits == 8)
            assert session.get_pools()[0].in_flight == 8
            held.remove()
            assert [future.result().all() for future in futures] == [[]] * 20
        session.cluster.shutdown()


def test_a_limit_per_host_is_for_all_its_shards(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(1, 4, tablets=False) as simulated:
        with_table(simulated, 1)
        session = connect(simulated, **options(max_requests_per_host=3))
        eventually(lambda: is_covered(session, 4))
        statement = session.prepare(INSERT)
        with simulated.inject(Hold(), query="INSERT") as held:
            futures = [session.execute_async(statement, (n, n)) for n in range(20)]
            eventually(lambda: held.hits == 3)
            assert session.get_pools()[0].in_flight == 3
            held.remove()
            assert [future.result().all() for future in futures] == [[]] * 20
        session.cluster.shutdown()
