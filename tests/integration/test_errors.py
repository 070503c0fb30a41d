"""Error answers of a server, and the exception of each; hosts that cannot be reached."""

from __future__ import annotations

import contextlib
import pickle
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import cassandra
from cassandra import (
    AlreadyExists,
    ConsistencyLevel,
    FunctionFailure,
    InvalidRequest,
    OperationTimedOut,
    ReadFailure,
    ReadTimeout,
    Unauthorized,
    Unavailable,
    WriteFailure,
    WriteTimeout,
    WriteType,
)
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.connection import ConnectionBusy, ConnectionException
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    FallthroughRetryPolicy,
    RetryPolicy,
)
from cassandra.protocol import (
    ConfigurationException,
    ErrorMessage,
    IsBootstrappingErrorMessage,
    OverloadedErrorMessage,
    ServerError,
    SyntaxException,
    TruncateError,
)
from cassandra.query import SimpleStatement
from tests.integration.proxy import (
    BATCH,
    CUT,
    DROP,
    EXECUTE,
    HOLD,
    PASS,
    PREPARE,
    QUERY,
    FaultProxy,
    Forge,
    Message,
    Verdict,
)
from tests.patience import PATIENCE


class TestServerErrors:
    """Provoked on the real server."""

    def test_syntax(self, session: Session) -> None:
        with pytest.raises(SyntaxException, match="SELEKT") as caught:
            session.execute("SELEKT 1")
        assert isinstance(caught.value, ErrorMessage)
        assert caught.value.code == 0x2000
        with pytest.raises(SyntaxException):
            session.prepare("SELEKT 1")

    def test_invalid(self, session: Session) -> None:
        with pytest.raises(InvalidRequest, match="nothing_there"):
            session.execute("SELECT * FROM nothing_there")
        with pytest.raises(InvalidRequest, match="nothing_there"):
            session.prepare("SELECT * FROM nothing_there")
        with pytest.raises(InvalidRequest, match="no_column"):
            session.execute("SELECT no_column FROM system.local")

    def test_already_exists(self, session: Session, keyspace: str) -> None:
        session.execute("CREATE TABLE twice (k int PRIMARY KEY)")
        with pytest.raises(AlreadyExists) as caught:
            session.execute("CREATE TABLE twice (k int PRIMARY KEY)")
        assert (caught.value.keyspace, caught.value.table) == (keyspace, "twice")
        with pytest.raises(AlreadyExists) as caught:
            session.execute(
                f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
            )
        assert (caught.value.keyspace, caught.value.table or None) == (keyspace, None)

    def test_configuration(self, session: Session) -> None:
        with pytest.raises((ConfigurationException, cassandra.ConfigurationException, InvalidRequest, SyntaxException)):
            session.execute("CREATE KEYSPACE bad WITH replication = {'class': 'NoSuchStrategy'}")

    def test_unavailable(self, session: Session) -> None:
        statement = SimpleStatement(
            "SELECT * FROM system_auth.roles",
            consistency_level=ConsistencyLevel.THREE,
            retry_policy=FallthroughRetryPolicy(),
        )
        with pytest.raises(Unavailable) as caught:
            session.execute(statement)
        error = caught.value
        assert error.consistency == ConsistencyLevel.THREE
        assert (error.required_replicas, error.alive_replicas) == (3, 1)
        assert "THREE" in str(error)

    def test_function_failure(self, session: Session, keyspace: str) -> None:
        session.execute(
            "CREATE FUNCTION fails (n int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE java "
            "AS 'throw new RuntimeException(\"because\");'"
        )
        with pytest.raises(FunctionFailure) as caught:
            session.execute(f"SELECT {keyspace}.fails(gossip_generation) FROM system.local")
        assert (caught.value.keyspace, caught.value.function, list(caught.value.arg_types or ())) == (
            keyspace,
            "fails",
            ["int"],
        )

    def test_every_error_says_where_and_how_often(self, session: Session) -> None:
        with pytest.raises(InvalidRequest) as caught:
            session.execute("SELECT * FROM nothing_there")
        (host,) = session.cluster.metadata.all_hosts()
        assert caught.value.host == host
        assert caught.value.attempts == 1
        assert caught.value.elapsed is not None and caught.value.elapsed > 0

    def test_errors_survive_pickling(self, session: Session) -> None:
        with pytest.raises(AlreadyExists) as caught:
            session.execute("CREATE TABLE twice (k int PRIMARY KEY)")
        caught.value.host = None
        copy = pickle.loads(pickle.dumps(caught.value))
        assert (type(copy), copy.table, str(copy)) == (AlreadyExists, "twice", str(caught.value))


# ---- forged by a proxy: answers that a healthy single node never sends

MARK = b"it_errors_mark"
QUERY_TEXT = "SELECT key FROM system.local /* it_errors_mark */"


@pytest.fixture
def proxy(cassandra_node: Any) -> Iterator[FaultProxy]:
    with FaultProxy((cassandra_node.contact_points[0], cassandra_node.port)) as proxy:
        yield proxy


@pytest.fixture
def proxied(proxy: FaultProxy) -> Iterator[Session]:
    profile = ExecutionProfile(retry_policy=FallthroughRetryPolicy())
    with Cluster(
        proxy.contact_points,
        port=proxy.port,
        protocol_version=4,
        compression=False,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ConstantReconnectionPolicy(0.1, None),
    ) as cluster:
        yield cluster.connect(wait_for_all_pools=True)


def marked(message: Message) -> bool:
    return MARK in message.body


def string(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


RESPONSES = struct.pack(">Hii", ConsistencyLevel.QUORUM, 1, 2)
FORGED = [
    (0x0000, b"", ServerError, {}),
    (0x1000, struct.pack(">Hii", ConsistencyLevel.QUORUM, 2, 1), Unavailable,
     {"consistency": ConsistencyLevel.QUORUM, "required_replicas": 2, "alive_replicas": 1}),
    (0x1001, b"", OverloadedErrorMessage, {}),
    (0x1002, b"", IsBootstrappingErrorMessage, {}),
    (0x1003, b"", TruncateError, {}),
    (0x1100, RESPONSES + string("BATCH_LOG"), WriteTimeout,
     {"write_type": WriteType.BATCH_LOG, "received_responses": 1, "required_responses": 2}),
    (0x1200, RESPONSES + b"\x01", ReadTimeout,
     {"received_responses": 1, "required_responses": 2, "data_retrieved": True}),
    (0x1300, RESPONSES + struct.pack(">iB", 1, 0), ReadFailure, {"failures": 1, "data_retrieved": False}),
    (0x1400, string("ks") + string("fn") + struct.pack(">H", 1) + string("int"), FunctionFailure, {"function": "fn"}),
    (0x1500, RESPONSES + struct.pack(">i", 1) + string("COUNTER"), WriteFailure,
     {"failures": 1, "write_type": WriteType.COUNTER}),
    (0x1600, b"", cassandra.CDCWriteFailure, {}),
    (0x1700, RESPONSES, cassandra.CASWriteUnknown, {"received_responses": 1}),
    (0x2000, b"", SyntaxException, {}),
    (0x2100, b"", Unauthorized, {}),
    (0x2200, b"", InvalidRequest, {}),
    (0x2300, b"", ConfigurationException, {}),
    (0x2400, string("ks") + string("t"), AlreadyExists, {"keyspace": "ks", "table": "t"}),
    (0x7777, b"", ErrorMessage, {"code": 0x7777}),
]  # fmt: skip


class TestForgedErrors:
    @pytest.mark.parametrize(
        ("code", "more", "expected", "attributes"), FORGED, ids=lambda v: hex(v) if isinstance(v, int) else ""
    )
    def test_becomes(
        self, proxy: FaultProxy, proxied: Session, code: int, more: bytes, expected: Any, attributes: dict[str, Any]
    ) -> None:
        proxy.on_request = lambda m: m.error(code, "forged words", more) if marked(m) else PASS
        if code == 0x1600:
            expected = (expected, ErrorMessage)
        with pytest.raises(expected) as caught:
            proxied.execute(QUERY_TEXT)
        if code not in (0x2400,):
            assert "forged words" in str(caught.value)
        for name, value in attributes.items():
            assert getattr(caught.value, name) == value
        assert len(proxy.seen(QUERY, MARK)) == 1
        assert proxied.execute("SELECT key FROM system.local").one()

    @pytest.mark.parametrize("cut", range(0, 20, 3))
    def test_truncated_error_body(self, proxy: FaultProxy, proxied: Session, cut: int) -> None:
        """Malformed: an error that says so, within bounded time, and the session recovers."""
        whole = struct.pack(">i", 0x1100) + string("text") + RESPONSES + string("SIMPLE")

        def forge(message: Message) -> Any:
            return Forge(message.answer(0, whole[:cut])) if marked(message) else PASS

        proxy.on_request = forge
        with pytest.raises(Exception) as caught:
            proxied.execute(QUERY_TEXT)
        assert not isinstance(caught.value, OperationTimedOut)
        proxy.on_request = lambda m: PASS
        recovers(proxied)

    @pytest.mark.parametrize(
        "body", [b"", b"\x00\x00\x00\x02", b"\x00\x00\x00\x63", struct.pack(">iii", 2, 1, 2**31 - 1)]
    )
    def test_nonsense_result(self, proxy: FaultProxy, proxied: Session, body: bytes) -> None:
        proxy.on_request = lambda m: Forge(m.answer(8, body)) if marked(m) else PASS
        with pytest.raises(Exception) as caught:
            proxied.execute(QUERY_TEXT)
        assert not isinstance(caught.value, OperationTimedOut)
        proxy.on_request = lambda m: PASS
        recovers(proxied)


def recovers(session: Session, within: float = PATIENCE) -> None:
    """A lost connection comes back by itself."""
    deadline = time.monotonic() + within
    while True:
        try:
            assert session.execute("SELECT key FROM system.local").one()
            return
        except (NoHostAvailable, ConnectionException):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class TestLostConnections:
    def test_a_write_that_may_have_been_executed_is_not_sent_again(self, proxy: FaultProxy, proxied: Session) -> None:
        proxy.on_request = lambda m: CUT if marked(m) else PASS
        profile = proxied.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, retry_policy=RetryPolicy())
        with pytest.raises(ConnectionException) as caught:
            proxied.execute(QUERY_TEXT, execution_profile=profile)
        assert caught.value.maybe_executed is True
        assert len(proxy.seen(QUERY, MARK)) == 1
        recovers(proxied)

    def test_an_idempotent_one_may_be(self, proxy: FaultProxy, proxied: Session) -> None:
        """There is one host only, and it was tried: the error names it."""
        proxy.on_request = lambda m: CUT if marked(m) else PASS
        profile = proxied.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, retry_policy=RetryPolicy())
        statement = SimpleStatement(QUERY_TEXT, is_idempotent=True)
        with pytest.raises((NoHostAvailable, ConnectionException)) as caught:
            proxied.execute(statement, execution_profile=profile)
        if isinstance(caught.value, NoHostAvailable):
            assert [type(error) for error in caught.value.errors.values()] != []
        recovers(proxied)

    def test_all_requests_in_flight_fail_at_once(self, proxy: FaultProxy, proxied: Session) -> None:
        proxy.on_request = lambda m: DROP if marked(m) else PASS
        futures = [proxied.execute_async(QUERY_TEXT, timeout=None) for _ in range(50)]
        wait_for(lambda: len(proxy.seen(QUERY, MARK)) == 50)
        proxy.cut()
        for future in futures:
            with pytest.raises((ConnectionException, NoHostAvailable)):
                future.result()
        proxy.on_request = lambda m: PASS
        recovers(proxied)

    def test_control_connection_comes_back(self, proxy: FaultProxy, proxied: Session) -> None:
        (control,) = [link for link in proxy.links if link.registered]
        control.cut()
        deadline = time.monotonic() + PATIENCE
        while not any(link.registered and link is not control for link in proxy.links):
            assert time.monotonic() < deadline
            assert proxied.execute("SELECT key FROM system.local").one()
            time.sleep(0.02)


class TestTimeouts:
    def test_operation_timed_out_attributes(self, proxy: FaultProxy, proxied: Session) -> None:
        proxy.on_request = lambda m: HOLD if marked(m) else PASS
        (host,) = proxied.cluster.metadata.all_hosts()
        begin = time.monotonic()
        with pytest.raises(OperationTimedOut) as caught:
            proxied.execute(QUERY_TEXT, timeout=0.3)
        took = time.monotonic() - begin
        error = caught.value
        assert 0.29 <= took < PATIENCE
        assert error.last_host == host
        assert error.errors == {
            str(host.endpoint): "Client request timeout. See Session.execute[_async](timeout)",
        }
        assert error.timeout == 0.3
        assert error.maybe_executed is True
        assert error.attempts == 1
        proxy.wait_held()
        assert len(proxy.seen(QUERY, MARK)) == 1

    def test_a_late_answer_reaches_no_other_request(self, proxy: FaultProxy, proxied: Session) -> None:
        """The stream of a request that timed out is not used again until its answer has come."""
        proxy.on_response = lambda m: PASS
        held: list[Message] = []

        def hold(message: Message) -> Verdict:
            if marked(message):
                held.append(message)
                return HOLD
            return PASS

        proxy.on_request = hold
        futures = [proxied.execute_async(f"{QUERY_TEXT} -- {n}", timeout=0.2) for n in range(20)]
        for future in futures:
            with pytest.raises(OperationTimedOut):
                future.result()
        proxy.wait_held(20)
        wrong: list[Any] = []

        def read() -> None:
            for number in range(300):
                row = proxied.execute(f"SELECT key, (int) {number} AS n FROM system.local").one()
                if row != ("local", number):
                    wrong.append(row)

        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        proxy.release()
        for reader in readers:
            reader.join(60)
        assert len(held) == 20
        assert wrong == []
        streams_in_use = {message.stream for message in held}
        assert len(streams_in_use) == 20

    def test_ctrl_c_interrupts_the_wait(self, proxy: FaultProxy, proxied: Session) -> None:
        """At once, and the future can still be asked afterwards."""
        proxy.on_request = lambda m: HOLD if marked(m) else PASS
        future = proxied.execute_async(QUERY_TEXT, timeout=None)
        timer = threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            future.result()
        timer.join()
        proxy.wait_held()
        proxy.release()
        assert future.result().one() == ("local",)

    def test_a_slow_request_does_not_delay_others(self, proxy: FaultProxy, proxied: Session) -> None:
        proxy.on_request = lambda m: HOLD if marked(m) else PASS
        slow = proxied.execute_async(QUERY_TEXT, timeout=PATIENCE)
        for _ in range(100):
            assert proxied.execute("SELECT key FROM system.local").one()
        proxy.wait_held()
        proxy.release()
        assert slow.result().one() == ("local",)


class TestStreams:
    def test_all_taken(self, proxy: FaultProxy, proxied: Session) -> None:
        """32,768 requests in flight: more of them wait, or fail at once where that is wanted, and all are answered in
        the end."""
        proxy.on_request = lambda m: HOLD if marked(m) else PASS
        futures = [proxied.execute_async(QUERY_TEXT, timeout=None) for _ in range(32_768)]
        begin = time.monotonic()
        with pytest.raises(OperationTimedOut, match="32768 of 32768 requests in flight") as late:
            proxied.execute(QUERY_TEXT, timeout=0.01)
        assert (late.value.maybe_executed, late.value.attempts, late.value.in_flight) == (False, 0, 32_768)
        proxied.cluster.max_request_wait = 0
        with pytest.raises(NoHostAvailable) as caught:
            proxied.execute(QUERY_TEXT)
        assert time.monotonic() - begin < PATIENCE
        (error,) = caught.value.errors.values()
        assert isinstance(error, ConnectionBusy)
        assert caught.value.maybe_executed is False
        proxied.cluster.max_request_wait = None
        futures += [proxied.execute_async(QUERY_TEXT, timeout=None) for _ in range(100)]
        proxy.wait_held(32_768)
        proxy.on_request = lambda m: PASS
        proxy.release()
        assert {future.result().one() for future in futures} == {("local",)}
        assert proxied.execute("SELECT key FROM system.local").one() == ("local",)


@contextlib.contextmanager
def deaf() -> Iterator[int]:
    """A port that is bound but has no listener."""
    with socket.socket() as sock:
        sock.bind(("0.0.0.0", 0))
        yield sock.getsockname()[1]


def wait_for(condition: Callable[[], bool], within: float = PATIENCE) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


class Recording(RetryPolicy):
    """Records its calls and returns the given verdicts."""

    def __init__(self, *verdicts: Any) -> None:
        self.verdicts = list(verdicts)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def _next(self, question: str, **details: Any) -> Any:
        self.asked.append((question, details))
        return self.verdicts.pop(0) if self.verdicts else (self.RETHROW, None)

    def on_read_timeout(self, query, consistency, required_responses, received_responses, data_retrieved, retry_num):  # type: ignore[no-untyped-def]
        return self._next(
            "read", consistency=consistency, required=required_responses, received=received_responses, n=retry_num
        )

    def on_write_timeout(self, query, consistency, write_type, required_responses, received_responses, retry_num):  # type: ignore[no-untyped-def]
        return self._next("write", consistency=consistency, write_type=write_type, n=retry_num)

    def on_unavailable(self, query, consistency, required_replicas, alive_replicas, retry_num):  # type: ignore[no-untyped-def]
        return self._next("unavailable", consistency=consistency, alive=alive_replicas, n=retry_num)

    def on_request_error(self, query, consistency, error, retry_num):  # type: ignore[no-untyped-def]
        return self._next("error", consistency=consistency, error=type(error).__name__, n=retry_num)


class TestRetryPolicies:
    def test_retry_on_the_same_host_with_another_consistency(self, proxy: FaultProxy, proxied: Session) -> None:
        """The server sees the new level, and so does the policy when it is asked again."""
        proxy.on_request = lambda m: m.error(0x1200, "slow", RESPONSES + b"\x00") if marked(m) else PASS
        policy = Recording(
            (RetryPolicy.RETRY, ConsistencyLevel.ONE), (RetryPolicy.RETRY, None), (RetryPolicy.RETHROW, None)
        )
        statement = SimpleStatement(QUERY_TEXT, retry_policy=policy, consistency_level=ConsistencyLevel.QUORUM)
        with pytest.raises(ReadTimeout):
            proxied.execute(statement)
        assert [details["n"] for _, details in policy.asked] == [0, 1, 2]
        sent = proxy.seen(QUERY, MARK)
        levels = [struct.unpack_from(">H", m.body, 4 + len(QUERY_TEXT))[0] for m in sent]
        assert levels == [ConsistencyLevel.QUORUM, ConsistencyLevel.ONE, ConsistencyLevel.ONE]

    def test_retry_then_success(self, proxy: FaultProxy, proxied: Session) -> None:
        answers = iter([True, True])
        proxy.on_request = lambda m: m.error(0x1001, "busy") if marked(m) and next(answers, False) else PASS
        policy = Recording((RetryPolicy.RETRY, None), (RetryPolicy.RETRY, None))
        future = proxied.execute_async(SimpleStatement(QUERY_TEXT, retry_policy=policy))
        assert future.result().one() == ("local",)
        assert [details for _, details in policy.asked] == [
            {"consistency": ConsistencyLevel.LOCAL_ONE, "error": "OverloadedErrorMessage", "n": 0},
            {"consistency": ConsistencyLevel.LOCAL_ONE, "error": "OverloadedErrorMessage", "n": 1},
        ]
        assert len(future.attempted_hosts) == 3

    def test_ignore_gives_an_empty_result(self, proxy: FaultProxy, proxied: Session) -> None:
        proxy.on_request = lambda m: m.error(0x1100, "slow", RESPONSES + string("SIMPLE")) if marked(m) else PASS
        policy = Recording((RetryPolicy.IGNORE, None))
        result = proxied.execute(SimpleStatement(QUERY_TEXT, retry_policy=policy))
        assert result.one() is None and list(result) == []
        assert policy.asked == [
            ("write", {"consistency": ConsistencyLevel.QUORUM, "write_type": WriteType.SIMPLE, "n": 0})
        ]

    def test_next_host_when_there_is_none(self, proxy: FaultProxy, proxied: Session) -> None:
        proxy.on_request = lambda m: m.error(0x1001, "busy") if marked(m) else PASS
        policy = Recording(*[(RetryPolicy.RETRY_NEXT_HOST, None)] * 5)
        with pytest.raises(NoHostAvailable) as caught:
            proxied.execute(SimpleStatement(QUERY_TEXT, retry_policy=policy))
        (host,) = proxied.cluster.metadata.all_hosts()
        assert isinstance(caught.value.errors[host], OverloadedErrorMessage)
        assert len(policy.asked) == 1

    def test_a_policy_that_raises(self, proxy: FaultProxy, proxied: Session) -> None:
        proxy.on_request = lambda m: m.error(0x1001, "busy") if marked(m) else PASS

        class Broken(RetryPolicy):
            def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
                raise LookupError("broken policy")

        with pytest.raises(LookupError, match="broken policy"):
            proxied.execute(SimpleStatement(QUERY_TEXT, retry_policy=Broken()))

    def test_validation_errors_are_never_retried(self, proxy: FaultProxy, proxied: Session) -> None:
        policy = Recording((RetryPolicy.RETRY, None))
        with pytest.raises(InvalidRequest):
            proxied.execute(SimpleStatement("SELECT * FROM system.nothing", retry_policy=policy))
        assert policy.asked == []


class TestSpeculativeExecution:
    def session(self, proxied: Session, delay: float, attempts: int) -> Any:
        return proxied.execution_profile_clone_update(
            EXEC_PROFILE_DEFAULT, speculative_execution_policy=ConstantSpeculativeExecutionPolicy(delay, attempts)
        )

    def test_not_for_statements_that_are_not_idempotent(self, proxy: FaultProxy, proxied: Session) -> None:
        proxy.on_request = lambda m: HOLD if marked(m) else PASS
        profile = self.session(proxied, 0.01, 5)
        with pytest.raises(OperationTimedOut):
            proxied.execute(QUERY_TEXT, execution_profile=profile, timeout=0.5)
        proxy.wait_held()
        assert len(proxy.seen(QUERY, MARK)) == 1

    def test_no_more_hosts_leaves_the_first_attempt_alone(self, proxy: FaultProxy, proxied: Session) -> None:
        proxy.on_request = lambda m: HOLD if marked(m) else PASS
        profile = self.session(proxied, 0.01, 5)
        future = proxied.execute_async(SimpleStatement(QUERY_TEXT, is_idempotent=True), execution_profile=profile)
        time.sleep(0.3)
        proxy.wait_held()
        proxy.release()
        assert future.result().one() == ("local",)


class TestUnreachable:
    def test_refused_connection_raises_no_host_available(self) -> None:
        with deaf() as port, Cluster(["127.0.0.1"], port=port) as cluster, pytest.raises(NoHostAvailable) as caught:
            cluster.connect()
        (error,) = caught.value.errors.values()
        assert isinstance(error, OSError | ConnectionException)
        assert "127.0.0.1" in str(caught.value)

    def test_every_contact_point_has_its_error(self) -> None:
        hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
        with deaf() as port, Cluster(hosts, port=port) as cluster, pytest.raises(NoHostAvailable) as caught:
            cluster.connect()
        assert len(caught.value.errors) == 3

    def test_a_server_that_never_answers(self) -> None:
        """It accepts and stays silent, as a paused process does."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            begin = time.monotonic()
            cluster = Cluster(["127.0.0.1"], port=port, connect_timeout=0.5, control_connection_timeout=0.5)
            with cluster, pytest.raises(NoHostAvailable):
                cluster.connect()
            assert time.monotonic() - begin < PATIENCE

    def test_a_server_that_is_no_cassandra(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def serve() -> None:
                try:
                    while True:
                        client, _ = listener.accept()
                        with client:
                            client.recv(100)
                            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                except OSError:
                    return

            server = threading.Thread(target=serve, daemon=True)
            server.start()
            cluster = Cluster(["127.0.0.1"], port=listener.getsockname()[1])
            with cluster, pytest.raises(NoHostAvailable):
                cluster.connect()
            listener.shutdown(socket.SHUT_RDWR)
            server.join(PATIENCE)

    def test_a_name_that_does_not_resolve(self) -> None:
        errors = (cassandra.UnresolvableContactPoints, NoHostAvailable)
        with Cluster(["no-such-host.invalid"]) as cluster, pytest.raises(errors):
            cluster.connect()

    def test_one_good_contact_point_is_enough(self, cassandra_node: Any) -> None:
        with Cluster(["127.9.9.9", *cassandra_node.contact_points], port=cassandra_node.port) as cluster:
            assert cluster.connect().execute("SELECT key FROM system.local").one()


class TestUnprepared:
    MARK = "it_errors_prepared"

    def test_prepared_again_and_executed(self, proxy: FaultProxy, proxied: Session) -> None:
        prepared = proxied.prepare("SELECT key FROM system.local WHERE key = 'local'")
        unknown = iter([True])

        def forget(message: Message) -> Any:
            if message.opcode == EXECUTE and next(unknown, False):
                return message.error(0x2500, "who?", struct.pack(">H", len(prepared.query_id)) + prepared.query_id)
            return PASS

        before = len(proxy.seen(PREPARE))
        proxy.on_request = forget
        assert proxied.execute(prepared).one() == ("local",)
        assert len(proxy.seen(PREPARE)) == before + 1
        assert len(proxy.seen(EXECUTE, prepared.query_id)) == 2

    def test_in_a_batch(self, proxy: FaultProxy, proxied: Session, session: Session, keyspace: str) -> None:
        from cassandra.query import BatchStatement

        session.execute("CREATE TABLE IF NOT EXISTS unprep (k int PRIMARY KEY)")
        prepared = proxied.prepare(f"INSERT INTO {keyspace}.unprep (k) VALUES (?)")
        unknown = iter([True])

        def forget(message: Message) -> Any:
            if message.opcode == BATCH and next(unknown, False):
                return message.error(0x2500, "who?", struct.pack(">H", len(prepared.query_id)) + prepared.query_id)
            return PASS

        proxy.on_request = forget
        proxied.execute(BatchStatement().add(prepared, (1,)).add(prepared, (2,)))
        assert {row.k for row in session.execute("SELECT k FROM unprep")} == {1, 2}

    def test_a_server_that_always_forgets(self, proxy: FaultProxy, proxied: Session) -> None:
        """Bounded: an error, not an endless exchange."""
        prepared = proxied.prepare("SELECT key FROM system.local WHERE key = 'local'")

        def forget(message: Message) -> Any:
            if message.opcode == EXECUTE:
                return message.error(0x2500, "who?", struct.pack(">H", len(prepared.query_id)) + prepared.query_id)
            return PASS

        proxy.on_request = forget
        with pytest.raises(cassandra.DriverException, match="evicted"):
            proxied.execute(prepared, timeout=30)
        assert len(proxy.seen(EXECUTE)) < 100

    def test_unprepared_with_an_unknown_id_raises_an_error(self, proxy: FaultProxy, proxied: Session) -> None:
        prepared = proxied.prepare("SELECT key FROM system.local WHERE key = 'local'")
        proxy.on_request = lambda m: m.error(0x2500, "who?", b"\x00\x02zz") if m.opcode == EXECUTE else PASS
        with pytest.raises(cassandra.DriverException, match="7a7a"):
            proxied.execute(prepared)
