"""Sessions, messages, endpoints, policies and connection classes that programs make themselves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from unittest.mock import MagicMock
from uuid import UUID

import pytest

import cassandra.obj_parser
import cassandra.protocol
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    ResponseFuture,
    Session,
)
from cassandra.connection import Connection, DefaultEndPoint, DefaultEndPointFactory
from cassandra.io.libevreactor import LibevConnection
from cassandra.policies import AddressTranslator, IdentityTranslator, RoundRobinPolicy, SimpleConvictionPolicy
from cassandra.pool import Host
from cassandra.protocol import ExecuteMessage, QueryMessage, _MessageType
from cassandra.query import SimpleStatement, tuple_factory
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE, eventually

protocol: Any = cassandra.protocol


@pytest.fixture
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=2) as found:
        yield found


@pytest.fixture
def cluster(simulated: SimulatedCluster) -> Iterator[Cluster]:
    with Cluster(simulated.contact_points, port=simulated.port) as found:
        session = found.connect()
        session.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE k.t (p int PRIMARY KEY, c text)")
        session.execute("INSERT INTO k.t (p, c) VALUES (1, 'one')")
        yield found


# ---- sessions


class Own(Session):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.calls = 0

    def execute_async(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return super().execute_async(*args, **kwargs)


@pytest.mark.parametrize("kind", [Session, Own])
def test_a_session_that_a_program_makes_is_like_others(
    simulated: SimulatedCluster, cluster: Cluster, kind: type[Session]
) -> None:
    session = kind(cluster, cluster.metadata.all_hosts(), keyspace="k")
    assert type(session) is kind and session in cluster.sessions and session.keyspace == "k"
    assert session.execute("SELECT c FROM t WHERE p = 1").one() == ("one",)
    eventually(lambda: len(session.get_pools()) == 2)
    simulated.add_node()
    eventually(lambda: len(session.get_pools()) == 3)
    session.shutdown()
    assert session not in cluster.sessions and not session.get_pools()


def test_a_session_whose_pools_cannot_be_opened(simulated: SimulatedCluster, cluster: Cluster) -> None:
    before = len(cluster.sessions)
    with pytest.raises(NoHostAvailable, match="using keyspace 'none'"):
        Session(cluster, cluster.metadata.all_hosts(), "none")
    assert len(cluster.sessions) == before


def test_a_session_of_a_cluster_that_is_not_connected() -> None:
    with Cluster() as cluster:
        host = Host("127.0.0.1", SimpleConvictionPolicy, host_id=UUID(int=1))
        session = Session(cluster, [host])
        assert session.hosts == [host] and session.default_timeout == 10.0 and session.get_pools() == []
        session.default_fetch_size = 7
        future = session.execute_async(SimpleStatement("SELECT"))
        assert future.message.fetch_size == 7
        with pytest.raises(NoHostAvailable):
            future.result()


def test_a_session_of_a_mock() -> None:
    session = Session(MagicMock(), [])
    assert session.default_fetch_size == 5000 and session.get_pools() == []
    session.is_shutdown = True


# ---- messages


class Asking(QueryMessage):
    """Overrides how its body is written, and leaves most of it to ours."""

    bodies: list[int] = []

    def send_body(self, f: Any, protocol_version: int, protocol_features: Any = None) -> None:
        self.bodies.append(protocol_version)
        super().send_body(f, protocol_version, protocol_features)


class Raw(_MessageType):
    """All by itself."""

    opcode = 0x07
    name = "QUERY"

    def send_body(self, f: Any, protocol_version: int) -> None:
        protocol.write_longstring(f, "SELECT c FROM k.t WHERE p = 1")
        protocol.write_consistency_level(f, 1)
        f.write(b"\0" * (4 if protocol_version >= 5 else 1))


class AsOurs(ExecuteMessage):
    """Overrides something else."""

    note = "mine"


def test_messages_write_their_own_bodies(simulated: SimulatedCluster, cluster: Cluster) -> None:
    session = cluster.connect("k")
    replaced: list[Any] = []

    def replace(future: Any) -> None:
        if type(future.message) is QueryMessage:
            future.message = Asking(future.message.query, future.message.consistency_level)
            future.message.custom_payload = {"key": b"value"}
            replaced.append(future)

    session.add_request_init_listener(replace)
    simulated.clear_requests()
    assert session.execute("SELECT c FROM t WHERE p = 1").one() == ("one",)
    assert len(replaced) == 1 and Asking.bodies == [cluster.protocol_version]
    assert "SELECT c FROM t WHERE p = 1" in [request.query for request in simulated.requests]

    future = ResponseFuture(session, Raw(), SimpleStatement("raw"), PATIENCE, row_factory=tuple_factory)
    future.send_request()
    assert future.result().all() == [("one",)]
    assert AsOurs.encode is ExecuteMessage.encode and Raw().encode(4)[4] == 7  # type: ignore[attr-defined]


# ---- protocol handlers


def test_rows_are_read_by_a_parser_of_a_program(cluster: Cluster) -> None:
    parsing: Any = cassandra.obj_parser

    class Upper(parsing.ListParser):  # type: ignore[misc]
        def parse_rows(self, reader: Any, desc: Any) -> Any:
            rows = super().parse_rows(reader, desc)
            return [tuple(str(value).upper() for value in row) for row in rows]

    class Handler(protocol.cython_protocol_handler(Upper())):  # type: ignore[misc]
        my_opcodes = protocol.ProtocolHandler.my_opcodes.copy()

    session = cluster.connect("k")
    session.client_protocol_handler = Handler
    prepared = session.prepare("SELECT p, c FROM t WHERE p = ?")
    for rows in (session.execute(prepared, (1,)), session.execute("SELECT p, c FROM t")):
        assert rows.one() == ("1", "ONE")
    assert isinstance(Handler.col_parser, Upper) and Handler.my_opcodes is not protocol.ProtocolHandler.my_opcodes
    assert isinstance(protocol.ProtocolHandler.col_parser, parsing.ListParser)
    assert isinstance(protocol.LazyProtocolHandler.col_parser, parsing.LazyParser)
    assert protocol.ProtocolHandler.my_opcodes[8] is cassandra.protocol.ResultMessage
    with pytest.raises(TypeError):
        protocol.cython_protocol_handler(object())


# ---- endpoints


class Translator(AddressTranslator):
    def __init__(self) -> None:
        self.asked: list[str] = []

    def translate(self, addr: str) -> str:
        self.asked.append(str(addr))
        return addr


class Named(DefaultEndPoint):
    pass


class Factory(DefaultEndPointFactory):
    def create(self, row: Mapping[str, Any]) -> Any:
        made = super().create(row)
        return Named(made.address, made.port)


def test_every_node_is_translated_and_gets_its_end_point(simulated: SimulatedCluster) -> None:
    translator = Translator()
    with Cluster(
        simulated.contact_points[:1],
        port=simulated.port,
        address_translator=translator,
        endpoint_factory=Factory(simulated.port),
    ) as cluster:
        cluster.connect(wait_for_all_pools=True)
        assert set(translator.asked) == set(simulated.contact_points)
        hosts = cluster.metadata.all_hosts()
        assert len(hosts) == 2 and {type(host.endpoint) for host in hosts} == {Named}


def test_without_a_translator_the_address_that_worked_stays(simulated: SimulatedCluster) -> None:
    class Same(IdentityTranslator):
        pass

    for translator in (None, IdentityTranslator(), Same()):
        point = DefaultEndPoint(simulated.contact_points[0], simulated.port)
        with Cluster([point], port=simulated.port, address_translator=translator) as cluster:
            cluster.connect()
            assert any(host.endpoint is point for host in cluster.metadata.all_hosts())


def test_a_translator_that_fails_for_the_node_that_is_asked(
    simulated: SimulatedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(AddressTranslator):
        def translate(self, addr: str) -> str:
            if str(addr) == simulated.contact_points[0]:
                raise KeyError(addr)
            return addr

    with Cluster(simulated.contact_points[:1], port=simulated.port, address_translator=Failing()) as cluster:
        cluster.connect(wait_for_all_pools=True)
        assert {host.address for host in cluster.metadata.all_hosts()} == set(simulated.contact_points)


# ---- policies


class Naming(RoundRobinPolicy):
    """Records the arguments of its calls, and names hosts before it was told of any."""

    def __init__(self, *endpoints: DefaultEndPoint) -> None:
        super().__init__()
        self.named = [Host(endpoint, SimpleConvictionPolicy, host_id=UUID(int=1)) for endpoint in endpoints]
        self.asked: list[Any] = []

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Any:
        self.asked.append((working_keyspace, query))
        known = list(super().make_query_plan(working_keyspace, query))
        return iter(known or self.named)


class Raising(Naming):
    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Any:
        plan = list(super().make_query_plan(working_keyspace, query))
        if plan == self.named:
            raise KeyError("it was told of no host")
        return iter(plan)


class Endless(Naming):
    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Any:
        plan = list(super().make_query_plan(working_keyspace, query))
        return itertools.cycle(plan)


def with_policy(policy: Naming) -> dict[Any, ExecutionProfile]:
    return {EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}


@pytest.mark.parametrize("points", ["other", "nobody", "numbers"])
def test_a_policy_is_asked_for_the_first_control_connection(simulated: SimulatedCluster, points: str) -> None:
    first, second = simulated.contact_points
    policy = Naming(DefaultEndPoint("127.255.255.1", simulated.port), DefaultEndPoint(second, simulated.port))
    given = {"other": [first], "nobody": ["127.255.255.2"], "numbers": [first, second]}[points]
    with Cluster(given, port=simulated.port, execution_profiles=with_policy(policy)) as cluster:
        session = cluster.connect()
        assert policy.asked == [(None, None)]
        host = cluster.get_control_connection_host()
        assert host is not None and host.address == second
        assert [str(point) for point in cluster.endpoints_resolved] == [f"{one}:{simulated.port}" for one in given]
        assert session.execute("SELECT key FROM system.local").one() == ("local",)


@pytest.mark.parametrize("policy", [Naming(), Naming(DefaultEndPoint("127.255.255.1", 1)), Raising()])
def test_a_policy_that_knows_no_host_yet(simulated: SimulatedCluster, policy: Naming) -> None:
    points = simulated.contact_points[:1]
    with Cluster(points, port=simulated.port, execution_profiles=with_policy(policy)) as cluster:
        cluster.connect()
        host = cluster.get_control_connection_host()
        assert host is not None and host.address == points[0] and policy.asked == [(None, None)]
    nobody = Cluster(["127.255.255.2"], port=simulated.port, execution_profiles=with_policy(Naming()))
    with nobody, pytest.raises(NoHostAvailable, match=r"127\.255\.255\.2"):
        nobody.connect()


def test_a_plan_that_never_ends(simulated: SimulatedCluster) -> None:
    point = DefaultEndPoint(simulated.contact_points[1], simulated.port)
    profiles = with_policy(Endless(point))
    with Cluster(simulated.contact_points, port=simulated.port, execution_profiles=profiles) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        host = cluster.get_control_connection_host()
        assert host is not None and host.endpoint == point
        cluster.control_connection.get_connections()[0].close()
        eventually(lambda: cluster.control_connection.get_connections())
        assert session.execute("SELECT key FROM system.local").one() == ("local",)


def test_a_policy_is_asked_for_prepare_without_a_statement(simulated: SimulatedCluster) -> None:
    policy = Naming()
    profiles = with_policy(policy)
    with Cluster(simulated.contact_points, port=simulated.port, execution_profiles=profiles) as cluster:
        session = cluster.connect("system", wait_for_all_pools=True)
        policy.asked.clear()
        session.prepare("SELECT key FROM local")
        assert policy.asked == [("system", None)]


# ---- connection classes


class Registered(LibevConnection):
    """As cqlsh has it: connections by host."""

    begun = 0
    connections: ClassVar[dict[str, list[Any]]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connections.setdefault(self.host, []).append(self)

    @classmethod
    def initialize_reactor(cls) -> None:
        cls.begun += 1


class Broken(Connection):
    def __init__(self, host: str, port: int) -> None:
        raise AssertionError("arguments are passed on as they come")


def test_connections_are_made_of_the_class_that_was_given(simulated: SimulatedCluster) -> None:
    Registered.connections.clear()
    with Cluster(simulated.contact_points, port=simulated.port, connection_class=Registered) as cluster:
        assert cluster.connection_class is Registered
        session = cluster.connect(wait_for_all_pools=True)
        cluster.connect()
        assert set(Registered.connections) == set(simulated.contact_points) and Registered.begun == 1
        assert all(type(one) is Registered for one in cluster.get_connection_holders()[-1].get_connections())
        made: list[Any] = [one for of_host in Registered.connections.values() for one in of_host if not one.is_closed]
        assert all(0 <= one.in_flight < one.max_request_id for one in made) and len(made) > 2
        assert session.execute("SELECT key FROM system.local").one() == ("local",)
        assert type(cluster.connection_factory(made[0].endpoint)) is Registered
    assert all(one.is_closed for one in made)


def test_a_connection_class_that_cannot_be_made(simulated: SimulatedCluster) -> None:
    cluster = Cluster(simulated.contact_points, port=simulated.port, connection_class=Broken)
    with cluster, pytest.raises(NoHostAvailable, match="TypeError"):
        cluster.connect()


def test_a_reactor_of_a_program_is_not_needed(simulated: SimulatedCluster) -> None:
    class Reactor(Connection):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            raise AssertionError("it is not made")

        def push(self, data: bytes) -> None: ...

        def handle_fork(self) -> None: ...

    with Cluster(simulated.contact_points, port=simulated.port, connection_class=Reactor) as cluster:
        assert cluster.connect().execute("SELECT key FROM system.local").one() == ("local",)


def test_overrides_that_are_never_called_cause_a_warning() -> None:
    class Counting:
        def send_msg(self, *args: Any) -> int:
            return 0

    class Mine(Counting, Connection):
        def handle_pushed(self, response: Any) -> None: ...

    with pytest.warns(UserWarning, match="connection_class=Mine overrides send_msg, handle_pushed, which") as told:
        cluster = Cluster(connection_class=Mine)
    assert cluster.connection_class is Mine and told[0].filename == __file__
    for kind in (LibevConnection, Connection, MagicMock()):
        assert Cluster(connection_class=kind).connection_class is kind
