"""The driver's tablet metadata, against a cluster that has tablets: learned by every kind of request, forgotten when
their table changes."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

import cassandra.cluster
from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args, execute_concurrent_with_args_async
from cassandra.policies import ConstantReconnectionPolicy, ConstantSpeculativeExecutionPolicy, WhiteListRoundRobinPolicy
from cassandra.query import PreparedStatement, SimpleStatement
from cassandra.testing import SimulatedCluster
from cassandra.testing.errors import InvalidRequest, Unauthorized
from cassandra.testing.faults import Close, Exchange, Fail, Reaction
from tests.simulated.conftest import Connect, eventually

KEYS = range(64)  # enough to have some in each of 8 tablets
REPLICATION = "{'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"
Way = Callable[[Session, PreparedStatement], object]


@pytest.fixture(params=[False, True], ids=["v1", "v2"])
def simulated(request: pytest.FixtureRequest, no_leaks: None) -> Iterator[SimulatedCluster]:
    """Three nodes with four shards each, and a table with 8 tablets of one replica."""
    with SimulatedCluster(nodes=3, shards=4, tablets_v2=request.param) as cluster:
        cluster.execute(f"CREATE KEYSPACE ks WITH replication = {REPLICATION} AND tablets = {{'initial': 8}}")
        cluster.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
        yield cluster


def wrong_node(simulated: SimulatedCluster, connect: Connect) -> Session:
    """A session that knows one node only, and so asks it for everything."""
    only = WhiteListRoundRobinPolicy([simulated.nodes[0].address])
    profile = ExecutionProfile(only, speculative_execution_policy=ConstantSpeculativeExecutionPolicy(30, 1))
    session = connect(simulated, "ks", execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(only)})
    session.cluster.add_execution_profile("speculative", profile)
    return session


def known(session: Session, table: str = "t") -> dict[int, tuple[int, Any]]:
    """Tablets by last token."""
    tablets = session.cluster.metadata._tablets._tablets.get(("ks", table), ())
    return {tablet.last_token: (tablet.first_token, tablet.replicas) for tablet in tablets}


def true(simulated: SimulatedCluster, table: str = "t") -> dict[int, tuple[int, Any]]:
    return {one.last_token: (one.first_token, one.replicas) for one in simulated.tablets(f"ks.{table}")}


def misrouted(simulated: SimulatedCluster) -> set[int]:
    """The last tokens of the tablets that the wrong shard was asked for."""
    tokens = [request.token for request in simulated.statements("ks.t") if request.on_owner is False]
    return {tablet.last_token for tablet in simulated.tablets("ks.t") if any(token in tablet for token in tokens)}


def by_execute(session: Session, insert: PreparedStatement) -> None:
    for key in KEYS:
        session.execute(insert, (key, key))


def by_bound(session: Session, insert: PreparedStatement) -> None:
    for key in KEYS:
        session.execute(insert.bind((key, key)))


def by_name(session: Session, insert: PreparedStatement) -> None:
    for key in KEYS:
        session.execute(insert, {"id": key, "v": key})


def by_future(session: Session, insert: PreparedStatement) -> None:
    for future in [session.execute_async(insert, (key, key)) for key in KEYS]:
        future.result()


def by_callback(session: Session, insert: PreparedStatement) -> None:
    done: list[object] = []
    for key in KEYS:
        session.execute_async(insert, (key, key)).add_callbacks(done.append, done.append)
    eventually(lambda: len(done) == len(KEYS))


def by_await(session: Session, insert: PreparedStatement) -> None:
    async def run() -> None:
        for key in KEYS:
            await session.execute_async(insert, (key, key))

    asyncio.run(run())


def by_gather(session: Session, insert: PreparedStatement) -> None:
    async def run() -> None:
        async def one(key: int) -> None:
            await session.execute_async(insert, (key, key))

        await asyncio.gather(*(one(key) for key in KEYS))

    asyncio.run(run())


def by_concurrent(session: Session, insert: PreparedStatement) -> None:
    execute_concurrent_with_args(session, insert, [(key, key) for key in KEYS], concurrency=7)


def by_concurrent_bound(session: Session, insert: PreparedStatement) -> None:
    execute_concurrent(session, [(insert.bind((key, key)), ()) for key in KEYS], concurrency=7)


def by_concurrent_generator(session: Session, insert: PreparedStatement) -> None:
    results = execute_concurrent_with_args(
        session, insert, [(key, key) for key in KEYS], concurrency=7, results_generator=True
    )
    assert all(success for success, _ in results)


def by_concurrent_async(session: Session, insert: PreparedStatement) -> None:
    async def run() -> None:
        parameters = [(key, key) for key in KEYS]
        async for success, _ in execute_concurrent_with_args_async(session, insert, parameters, concurrency=7):
            assert success

    asyncio.run(run())


def by_select(session: Session, insert: PreparedStatement) -> None:
    select = session.prepare("SELECT v FROM t WHERE id = ?")
    for key in KEYS:
        session.execute(select, (key,))


def by_named_select(session: Session, insert: PreparedStatement) -> None:
    select = session.prepare("SELECT v FROM ks.t WHERE id = ?")
    for key in KEYS:
        session.execute(select, (key,)).one()


def by_trace(session: Session, insert: PreparedStatement) -> None:
    for key in KEYS:
        session.execute(insert, (key, key), trace=True)


def by_speculation(session: Session, insert: PreparedStatement) -> None:
    insert.is_idempotent = True
    for key in KEYS:
        session.execute(insert, (key, key), execution_profile="speculative")


def by_condition(session: Session, insert: PreparedStatement) -> None:
    conditional = session.prepare("INSERT INTO t (id, v) VALUES (?, ?) IF NOT EXISTS")
    for key in KEYS:
        session.execute(conditional, (key, key))


WAYS: list[Way] = [
    by_execute, by_bound, by_name, by_future, by_callback, by_await, by_gather, by_concurrent, by_concurrent_bound,
    by_concurrent_generator, by_concurrent_async, by_select, by_named_select, by_trace, by_speculation, by_condition,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_learned_by_every_kind_of_request(simulated: SimulatedCluster, connect: Connect, way: Way) -> None:
    session = wrong_node(simulated, connect)
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    simulated.clear_requests()
    for _ in range(6 if session.cluster._version_blocks else 1):  # a block may be right by chance, with 1 : 16
        way(session, insert)
    wrong = misrouted(simulated)
    assert wrong
    found, right = known(session), true(simulated)
    assert found.keys() >= wrong
    assert all(right[last] == tablet for last, tablet in found.items())


def test_learned_by_simple_statements(simulated: SimulatedCluster, connect: Connect) -> None:
    """If they say their table; the keyspace may be the session's. By version 2 only prepared ones can be told."""
    session = wrong_node(simulated, connect)
    v2 = session.cluster._version_blocks
    for keyspace in ("ks", None):
        session.cluster.metadata._tablets.drop_tablets("ks")
        simulated.clear_requests()
        for key in KEYS:
            statement = SimpleStatement(f"SELECT v FROM t WHERE id = {key}", keyspace=keyspace)
            session.execute(statement)
            assert not known(session)
        for key in KEYS:
            statement = SimpleStatement(f"SELECT v FROM t WHERE id = {key}", keyspace=keyspace)
            statement.table = "t"
            session.execute(statement)
        assert known(session).keys() == (set() if v2 else misrouted(simulated))


def test_migrations_and_splits_are_followed(simulated: SimulatedCluster, connect: Connect) -> None:
    session = wrong_node(simulated, connect)
    select = session.prepare("SELECT v FROM t WHERE id = ?")

    def ask() -> None:
        for _ in range(6 if session.cluster._version_blocks else 1):
            execute_concurrent_with_args(session, select, [(key,) for key in KEYS])

    def follows() -> bool:
        ask()
        found, right = known(session), true(simulated)
        return found.keys() <= right.keys() and all(right[last] == tablet for last, tablet in found.items())

    assert follows()
    for tablet in simulated.tablets("ks.t"):
        ids = [node.host_id for node in simulated.nodes]
        source = ids.index(tablet.replicas[0][0])
        target = 1 if source == 2 else 2
        simulated.migrate_tablet("ks.t", tablet.last_token, source, target, 3)
    eventually(follows)
    assert not any(replicas[0][0] == simulated.nodes[0].host_id for _, replicas in known(session).values())
    simulated.split_tablets("ks.t")
    if session.cluster._version_blocks:  # the halves have the version of the whole: no client is told, none is wrong
        return
    execute_concurrent_with_args(session, select, [(key,) for key in KEYS])
    assert known(session).keys() == misrouted(simulated)
    simulated.merge_tablets("ks.t")
    assert follows()


def learn_all(session: Session, table: str = "t") -> dict[int, tuple[int, Any]]:
    """Ask for keys of every tablet at a node that does not have it."""
    select = session.prepare(f"SELECT v FROM {table} WHERE id = ?")
    for host in session.cluster.metadata.all_hosts():
        for key in KEYS:
            session.execute(select, (key,), host=host)
    assert len(known(session, table)) == 8
    return known(session, table)


def test_tablets_are_forgotten_with_their_table_or_keyspace(simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, "ks", schema_event_refresh_window=0)
    session.execute("CREATE TABLE u (id int PRIMARY KEY, v int)")
    learn_all(session)
    others = learn_all(session, "u")
    session.execute("CREATE TABLE w (id int PRIMARY KEY, v int)")
    assert known(session) and known(session, "u") == others
    session.execute("ALTER TABLE t ADD w text")
    assert not known(session) and known(session, "u") == others
    learn_all(session)
    session.execute("DROP TABLE t")
    assert not known(session) and known(session, "u") == others
    session.execute(
        "ALTER KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"
    )
    assert not known(session, "u")
    learn_all(session, "u")
    session.execute("DROP KEYSPACE ks")
    assert not known(session, "u")


@pytest.mark.parametrize("followed", [True, False], ids=["schema followed", "schema not followed"])
def test_forgotten_when_others_change_the_schema(simulated: SimulatedCluster, connect: Connect, followed: bool) -> None:
    session = connect(simulated, "ks", schema_event_refresh_window=0, schema_metadata_enabled=followed)
    learn_all(session)
    simulated.execute("DROP TABLE ks.t")
    eventually(lambda: not known(session))
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
    learn_all(session)
    simulated.execute("ALTER TABLE ks.t ADD w int")
    eventually(lambda: not known(session))


@pytest.mark.parametrize("followed", [True, False], ids=["schema followed", "schema not followed"])
def test_tablets_of_a_table_recreated_without_a_control_connection(
    simulated: SimulatedCluster, connect: Connect, followed: bool
) -> None:
    """A table that was made anew meanwhile has other tablets."""
    simulated.execute("CREATE TABLE ks.u (id int PRIMARY KEY, v int)")
    session = connect(
        simulated, "ks", schema_metadata_enabled=followed, reconnection_policy=ConstantReconnectionPolicy(0.05)
    )
    learn_all(session)
    others = learn_all(session, "u")
    control = session.cluster.control_connection
    before = control.connection
    assert before is not None
    with simulated.inject(Close(), opcode="REGISTER"):  # no connection receives events
        before.close()
        control.reconnect()
        simulated.execute("DROP TABLE ks.t")
        simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
    eventually(lambda: control.connection not in (None, before))
    assert not known(session)
    assert known(session, "u") == (others if followed else {})


def test_forgotten_with_a_host_that_leaves(simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, "ks")
    before = learn_all(session)
    gone = simulated.nodes[2]
    simulated.remove_node(gone)
    eventually(lambda: len(session.cluster.metadata.all_hosts()) == 2)
    assert known(session) == {
        last: tablet for last, tablet in before.items() if all(host != gone.host_id for host, _ in tablet[1])
    }


def test_the_levels_of_consistency_do_not_matter(simulated: SimulatedCluster, connect: Connect) -> None:
    session = wrong_node(simulated, connect)
    select = session.prepare("SELECT v FROM t WHERE id = ?")
    select.consistency_level = ConsistencyLevel.ALL
    for key in KEYS:
        session.execute(select, (key,))
    assert known(session)


async def awaited(session: Session, table: str) -> int:
    return await session.prefetch_tablets_async("ks", table)


PREFETCH: list[Callable[[Session, str], int]] = [
    lambda session, table: session.prefetch_tablets("ks", table),
    lambda session, table: asyncio.run(awaited(session, table)),
]


@pytest.mark.parametrize("prefetch", PREFETCH, ids=["sync", "async"])
def test_prefetched(
    simulated: SimulatedCluster, connect: Connect, prefetch: Callable[[Session, str], int], monkeypatch: Any
) -> None:
    """All tablets, in place of those known before; page by page."""
    session = connect(simulated, "ks")
    assert prefetch(session, "t") == 8
    assert known(session) == true(simulated)
    for tablet in simulated.tablets("ks.t")[::2]:
        source = [node.host_id for node in simulated.nodes].index(tablet.replicas[0][0])
        simulated.migrate_tablet("ks.t", tablet.last_token, source, (source + 1) % 3, 2)
    simulated.split_tablets("ks.t")
    monkeypatch.setattr("cassandra._session.control.refresh.PAGE", 3)
    simulated.clear_requests()
    assert prefetch(session, "t") == 16
    assert known(session) == true(simulated)
    pages = [request for request in simulated.requests if "FROM system.tablets" in request.query and request.page_size]
    assert len(pages) == 6 and all(request.control for request in pages)


@pytest.mark.parametrize("prefetch", PREFETCH, ids=["sync", "async"])
def test_nothing_to_prefetch(
    simulated: SimulatedCluster, connect: Connect, prefetch: Callable[[Session, str], int]
) -> None:
    session = connect(simulated, "ks")
    with pytest.raises(DriverException, match=r"Table or view ks\.missing does not exist"):
        prefetch(session, "missing")
    simulated.execute(
        "CREATE KEYSPACE vnodes WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1} "
        "AND tablets = {'enabled': false}"
    )
    simulated.execute("CREATE TABLE vnodes.t (id int PRIMARY KEY)")
    assert session.prefetch_tablets("vnodes", "t") == 0
    refusal = simulated.inject(Fail(Unauthorized("not for you")), query="FROM system.tablets")
    with refusal, pytest.raises(cassandra.Unauthorized, match="not for you"):
        prefetch(session, "t")
    with simulated.inject(Fail(InvalidRequest("unconfigured table tablets")), query="FROM system.tablets"):
        assert prefetch(session, "t") == 0
    session.shutdown()
    with pytest.raises(cassandra.cluster.NoHostAvailable, match="shut down"):
        prefetch(session, "t")


class BaseTable(Reaction):
    """The answer of a server about a table that shares the tablets of another one."""

    def __init__(self, base: UUID) -> None:
        self.base = base

    def react(self, exchange: Exchange) -> None:
        answer = exchange.execute()
        names = b"".join(struct.pack(">H", len(name)) + name for name in (b"system", b"tablets", b"base_table"))
        answer.opcode = 8
        answer.body = struct.pack(">iii", 2, 1, 1) + names + struct.pack(">Hii", 0x0C, 1, 16) + self.base.bytes
        exchange.send(answer)


def test_prefetched_of_a_table_that_shares_them(simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, "ks")
    simulated.execute("CREATE TABLE ks.base (id int PRIMARY KEY)")
    base, t = (simulated_id(simulated, name) for name in ("base", "t"))
    query = f"SELECT base_table FROM system.tablets WHERE table_id = {t}"
    with simulated.inject(BaseTable(base), query=query) as rule:
        assert session.prefetch_tablets("ks", "t") == len(simulated.tablets("ks.base"))
    assert rule.hits == 1
    assert known(session) == true(simulated, "base")


def simulated_id(simulated: SimulatedCluster, table: str) -> UUID:
    found = simulated.execute("SELECT table_name, id FROM system_schema.tables WHERE keyspace_name = 'ks'")
    return next(row["id"] for row in found if row["table_name"] == table)


@pytest.mark.parametrize("prefetch", PREFETCH, ids=["sync", "async"])
def test_prefetched_while_a_control_connection_is_looked_for(
    simulated: SimulatedCluster, connect: Connect, prefetch: Callable[[Session, str], int]
) -> None:
    session = connect(simulated, "ks")
    control = session.cluster.control_connection
    before, control.connection = control.connection, None  # as it is while it was lost
    assert before is not None
    before.close()
    control.reconnect()
    assert prefetch(session, "t") == 8
