"""A request over all its attempts: plans, errors, retries, speculation, re-preparing, keyspaces, schema changes."""

from __future__ import annotations

import logging
import struct
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra import ConsistencyLevel, DriverException, InvalidRequest, OperationTimedOut, ReadTimeout, WriteTimeout
from cassandra.cluster import NoHostAvailable, ResponseFuture
from cassandra.connection import ConnectionBusy, ConnectionException, ConnectionShutdown
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    FallthroughRetryPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    SpeculativeExecutionPlan,
    SpeculativeExecutionPolicy,
)
from cassandra.protocol import OverloadedErrorMessage
from cassandra.query import BatchStatement, PreparedStatement, SimpleStatement
from tests.unit.session.harness import (
    TIMED_OUT,
    Answer,
    Lab,
    Lost,
    error,
    prepared,
    rows,
    rows_without_metadata,
    schema_change,
    set_keyspace,
    unprepared,
    void,
)

QUERY, PREPARE, EXECUTE = 7, 9, 10
READ_TIMEOUT = struct.pack(">HiiB", ConsistencyLevel.QUORUM, 1, 2, 0)
SIMPLE = b"\x00\x06SIMPLE"


def write_timeout(write_type: bytes = SIMPLE, more: bytes = b"") -> Answer:
    return error(0x1100, "slow", struct.pack(">Hii", ConsistencyLevel.QUORUM, 1, 2) + write_type + more)


def idempotent(query: str = "SELECT 1") -> SimpleStatement:
    return SimpleStatement(query, is_idempotent=True)


class Told(RetryPolicy):
    """Answers as told, and keeps what it was asked."""

    def __init__(self, *verdicts: Any) -> None:
        self.verdicts = list(verdicts)
        self.asked: list[dict[str, Any]] = []

    def _answer(self, *args: Any, **kwargs: Any) -> Any:
        self.asked.append(kwargs)
        return self.verdicts.pop(0) if self.verdicts else (self.RETHROW, None)

    on_read_timeout = on_write_timeout = on_unavailable = on_request_error = _answer


class TestPlan:
    def test_the_first_host_takes_it(self) -> None:
        lab = Lab(hosts=3)
        lab[0].script = [rows(1)]
        future = lab.session.execute_async("SELECT 1")
        assert future.result().one() == (1,)
        assert future.attempted_hosts == [lab.hosts[0]]
        assert future.coordinator_host is lab.hosts[0]
        assert lab.policy.plans == 1

    def test_hosts_that_cannot_take_it_are_passed_over(self) -> None:
        lab = Lab(hosts=4)
        lab.pools[lab.hosts[0]].gone = True
        lab.session._pool_set.pools = {h: p for h, p in lab.pools.items() if h is not lab.hosts[1]}  # type: ignore[misc]
        lab[2].script = [ConnectionBusy("no free stream")]
        lab[3].script = [rows(1)]
        future = lab.session.execute_async("SELECT 1")
        assert future.result().one() == (1,)
        assert future.coordinator_host is lab.hosts[3]

    def test_nobody_takes_it(self) -> None:
        lab = Lab(hosts=3)
        lab.pools[lab.hosts[0]].gone = True
        lab[1].script = [ConnectionBusy("no free stream")]
        lab[2].script = [ConnectionShutdown("closed")]
        with pytest.raises(NoHostAvailable) as caught:
            lab.session.execute("SELECT 1")
        errors = caught.value.errors
        assert errors is not None
        assert set(errors) == set(lab.hosts)
        assert [type(errors[host]).__name__ for host in lab.hosts] == [
            "NoConnectionsAvailable",
            "ConnectionBusy",
            "ConnectionShutdown",
        ]

    def test_no_hosts_at_all(self) -> None:
        with pytest.raises(NoHostAvailable):
            Lab(hosts=0).session.execute("SELECT 1")

    def test_a_plan_without_hosts_says_why(self) -> None:
        """Hosts that are down are in no plan; why they are is all there is to tell."""
        lab = Lab(hosts=2)
        lab.policy.hosts = []
        lab.session._pool_set.pools = {}
        lab.session._pool_set.errors[lab.hosts[0]] = OSError("refused")
        lab.cluster.metadata.all_hosts = lambda: lab.hosts
        with pytest.raises(NoHostAvailable, match="refused") as caught:
            lab.session.execute("SELECT 1")
        assert [str(caught.value.errors[host]) for host in lab.hosts] == [  # type: ignore[index]
            "refused",
            "Host 10.0.0.2:9042 is down",
        ]

    def test_builtin_policy(self) -> None:
        """Asked by pick and fallback instead of a plan: the same hosts, each once."""
        policy = RoundRobinPolicy()
        lab = Lab(hosts=3, load_balancing_policy=policy)
        policy.populate(lab.cluster, lab.hosts)
        for host in lab.hosts:
            lab.pools[host].gone = True
        with pytest.raises(NoHostAvailable) as caught:
            lab.session.execute("SELECT 1")
        assert set(caught.value.errors or ()) == set(lab.hosts)
        assert all(len(pool.picked_tokens) == 1 for pool in lab.pools.values())

    def test_pinned_to_a_host(self) -> None:
        lab = Lab(hosts=3)
        lab[2].script = [rows(3)]
        assert lab.session.execute("SELECT 1", host=lab.hosts[2]).one() == (3,)
        lab.pools[lab.hosts[1]].gone = True
        with pytest.raises(NoHostAvailable) as caught:
            lab.session.execute("SELECT 1", host=lab.hosts[1])
        assert list(caught.value.errors or ()) == [lab.hosts[1]]

    def test_a_policy_that_raises(self) -> None:
        lab = Lab()
        lab.policy.raises = LookupError("broken plan")
        with pytest.raises(LookupError, match="broken plan"):
            lab.session.execute("SELECT 1")

    def test_a_message_that_cannot_be_encoded(self) -> None:
        """No host can help: the error is the request's."""
        lab = Lab(hosts=2)
        future = lab.session.execute_async("SELECT 1", custom_payload={"a": "not bytes"})  # type: ignore[dict-item]
        with pytest.raises(TypeError):
            future.result()
        assert lab[0].sent == lab[1].sent == []


class TestErrors:
    def test_server_error_with_context(self) -> None:
        lab = Lab()
        lab[0].script = [error(0x2200, "bad")]
        with pytest.raises(InvalidRequest, match="bad") as caught:
            lab.session.execute("SELECT 1")
        assert caught.value.host is lab.hosts[0]
        assert caught.value.attempts == 1

    def test_an_unexpected_message(self) -> None:
        lab = Lab()
        lab[0].script = [Answer(2, b"")]  # READY
        with pytest.raises(ConnectionException, match="unexpected"):
            lab.session.execute("SELECT 1")

    def test_a_malformed_body(self) -> None:
        lab = Lab()
        lab[0].script = [Answer(8, b"\x00\x00")]
        with pytest.raises(Exception, match=r"(?i)malformed|bytes"):
            lab.session.execute("SELECT 1")

    def test_an_interrupt_while_the_answer_is_processed(self) -> None:
        """The answer is gone with it: asking again must not wait for ever."""

        def interrupted(names: Any, rows: Any) -> Any:
            raise KeyboardInterrupt

        lab = Lab(row_factory=interrupted)
        lab[0].script = [rows(1)]
        future = lab.session.execute_async("SELECT 1")
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                future.result()

    def test_warnings_of_an_error_are_kept_and_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        lab = Lab()
        lab[0].script = [Answer(0, struct.pack(">H", 1) + b"\x00\x02hm" + error(0x2200).body, flags=0x08)]
        future = lab.session.execute_async("SELECT 1")
        with pytest.raises(InvalidRequest):
            future.result()
        assert future.warnings == ["hm"]
        assert caplog.record_tuples == [("cassandra.protocol", logging.WARNING, "Server warning: hm")]


class TestLostConnections:
    def test_not_sent_goes_to_the_next_host_whatever_the_statement(self) -> None:
        lab = Lab(hosts=2, retry_policy=FallthroughRetryPolicy())
        lab[0].script = [Lost(sent=False)]
        lab[1].script = [void()]
        future = lab.session.execute_async("INSERT")
        assert future.result().one() is None
        assert future.attempted_hosts == lab.hosts

    def test_sent_and_not_idempotent_is_raised(self) -> None:
        lab = Lab(hosts=2)
        lab[0].script = [Lost(sent=True)]
        with pytest.raises(ConnectionException, match="after the request was sent") as caught:
            lab.session.execute("INSERT")
        assert caught.value.maybe_executed is True
        assert lab[1].sent == []

    def test_sent_and_idempotent_goes_to_the_next_host(self) -> None:
        lab = Lab(hosts=2)
        lab[0].script = [Lost(sent=True)]
        lab[1].script = [rows(2)]
        assert lab.session.execute(idempotent()).one() == (2,)

    @pytest.mark.parametrize("sent", [True, False])
    def test_every_host_lost(self, sent: bool) -> None:
        lab = Lab(hosts=3)
        for index in range(3):
            lab[index].script = [Lost(sent=sent)]
        with pytest.raises(NoHostAvailable) as caught:
            lab.session.execute(idempotent())
        assert set(caught.value.errors or ()) == set(lab.hosts)


class TestTimeouts:
    def test_content(self) -> None:
        lab = Lab(hosts=2)
        lab[0].script = [Lost(kind=TIMED_OUT)]
        with pytest.raises(OperationTimedOut) as caught:
            lab.session.execute(idempotent(), timeout=3)
        assert caught.value.errors == {
            "10.0.0.1:9042": "Client request timeout. See Session.execute[_async](timeout)",
        }
        assert caught.value.last_host is lab.hosts[0]
        assert caught.value.maybe_executed is True
        assert caught.value.timeout == 3
        assert lab[1].sent == []

    def test_the_time_is_for_all_attempts_together(self) -> None:
        lab = Lab(hosts=3)
        lab[0].script = [Lost(sent=False)]
        lab[1].script = [void()]
        lab.session.execute("INSERT", timeout=5)
        first, second = lab[0].sent[0].timeout, lab[1].sent[0].timeout
        assert first is not None and second is not None
        assert 0 < second <= first <= 5

    def test_none_is_no_limit(self) -> None:
        lab = Lab()
        lab[0].script = [void()]
        lab.session.execute("INSERT", timeout=None)
        assert lab[0].sent[0].timeout is None

    def test_no_time_left_sends_nothing(self) -> None:
        lab = Lab()
        with pytest.raises(OperationTimedOut):
            lab.session.execute("INSERT", timeout=0)
        assert lab[0].sent == []


class TestRetries:
    def run(self, policy: RetryPolicy, *answers: Any, hosts: int = 2) -> tuple[Lab, ResponseFuture]:
        lab = Lab(hosts=hosts, retry_policy=policy)
        lab[0].script = list(answers)
        for index in range(1, hosts):
            lab[index].script = [rows(index)]
        return lab, lab.session.execute_async(idempotent())

    def test_same_host(self) -> None:
        lab, future = self.run(Told((RetryPolicy.RETRY, None)), error(0x1200, "slow", READ_TIMEOUT), rows(7))
        assert future.result().one() == (7,)
        assert future.attempted_hosts == [lab.hosts[0]] * 2

    def test_same_host_gone_is_the_next_one(self) -> None:
        lab = Lab(hosts=2, retry_policy=Told((RetryPolicy.RETRY, None)))
        lab[0].script = [error(0x1001), ConnectionShutdown("closed")]
        lab[1].script = [rows(9)]
        assert lab.session.execute("SELECT 1").one() == (9,)

    def test_next_host(self) -> None:
        lab, future = self.run(Told((RetryPolicy.RETRY_NEXT_HOST, None)), error(0x1001))
        assert future.result().one() == (1,)
        assert future.attempted_hosts == lab.hosts

    def test_another_consistency(self) -> None:
        policy = Told((RetryPolicy.RETRY, ConsistencyLevel.ONE))
        lab, future = self.run(policy, error(0x1200, "slow", READ_TIMEOUT), rows(7))
        future.result()
        levels = [struct.unpack_from(">H", sent.body, 4 + len("SELECT 1"))[0] for sent in lab[0].sent]
        assert levels == [ConsistencyLevel.LOCAL_ONE, ConsistencyLevel.ONE]

    def test_ignore(self) -> None:
        _, future = self.run(Told((RetryPolicy.IGNORE, None)), write_timeout())
        assert future.result().one() is None

    def test_rethrow(self) -> None:
        _, future = self.run(Told((RetryPolicy.RETHROW, None)), write_timeout())
        with pytest.raises(WriteTimeout):
            future.result()

    def test_another_consistency_for_a_prepare(self) -> None:
        """A PREPARE has none; the policy cannot know."""
        lab = Lab(retry_policy=Told((RetryPolicy.RETRY, ConsistencyLevel.ONE)))
        lab[0].script = [error(0x1001), prepared()]
        assert lab.session.prepare("SELECT 1").query_id == b"id"

    def test_a_batch_is_sent_again_as_it_was(self) -> None:
        lab = Lab(retry_policy=Told((RetryPolicy.RETRY, ConsistencyLevel.ONE)))
        batch = BatchStatement().add("INSERT 1")
        future = lab.session.execute_async(batch)
        batch.add("INSERT 2")
        lab[0].script = [void()]
        lab[0].answer(write_timeout())
        future.result()
        assert len(lab[0].sent) == 2
        assert b"INSERT 2" not in lab[0].sent[1].body

    def test_what_the_policy_is_asked(self) -> None:
        policy = Told((RetryPolicy.RETRY, None), (RetryPolicy.RETRY, None))
        _, future = self.run(policy, error(0x1200, "slow", READ_TIMEOUT), write_timeout(), rows(1))
        future.result()
        assert policy.asked == [
            {
                "retry_num": 0,
                "consistency": ConsistencyLevel.QUORUM,
                "received_responses": 1,
                "required_responses": 2,
                "data_retrieved": False,
            },
            {
                "retry_num": 1,
                "consistency": ConsistencyLevel.QUORUM,
                "received_responses": 1,
                "required_responses": 2,
                "write_type": 0,
            },
        ]

    def test_contentions_are_not_told_to_policies(self) -> None:
        """Protocol 5 adds them to a write timeout of a conditional statement; no policy takes such an argument."""
        lab = Lab(protocol_version=5)
        lab[0].script = [write_timeout(b"\x00\x03CAS", struct.pack(">H", 3))]
        with pytest.raises(WriteTimeout) as caught:
            lab.session.execute("UPDATE ... IF")
        assert caught.value.attempts == 1

    def test_a_delay(self) -> None:
        policy = Told((RetryPolicy.RETRY, None, 0.25))
        lab, future = self.run(policy, error(0x1001), rows(5))
        assert len(lab[0].sent) == 1
        assert lab.reactor.run() == [0.25]
        assert future.result().one() == (5,)

    def test_a_delay_of_none(self) -> None:
        lab, future = self.run(Told((RetryPolicy.RETRY, None, None)), error(0x1001), rows(5))
        assert future.result().one() == (5,)
        assert lab.reactor.timers == []

    def test_a_delayed_retry_that_raises_fails_the_request(self) -> None:
        """Nobody else would hear of it, and the future would wait for ever."""
        lab = Lab(hosts=2, retry_policy=Told((RetryPolicy.RETRY_NEXT_HOST, None, 1)))
        lab[0].script = [error(0x1001)]
        future = lab.session.execute_async(idempotent())
        lab.policy.raises = LookupError("broken plan")
        lab.reactor.run()
        with pytest.raises(LookupError, match="broken plan"):
            future.result()

    def test_a_delay_longer_than_the_timeout(self) -> None:
        lab = Lab(retry_policy=Told((RetryPolicy.RETRY, None, 1)))
        lab[0].script = [error(0x1001)]
        future = lab.session.execute_async(idempotent(), timeout=0.001)
        while future._remaining() > 0:  # type: ignore[operator]
            pass
        lab.reactor.run()
        with pytest.raises(OperationTimedOut):
            future.result()

    def test_a_policy_that_raises(self) -> None:
        class Broken(RetryPolicy):
            def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
                raise LookupError("broken policy")

        _, future = self.run(Broken(), error(0x1001))
        with pytest.raises(LookupError, match="broken policy"):
            future.result()

    def test_errors_of_the_statement_are_not_asked_about(self) -> None:
        policy = Told((RetryPolicy.RETRY, None))
        _, future = self.run(policy, error(0x2000))
        with pytest.raises(Exception, match="no"):
            future.result()
        assert policy.asked == []

    def test_no_host_left(self) -> None:
        lab = Lab(hosts=2, retry_policy=Told(*[(RetryPolicy.RETRY_NEXT_HOST, None)] * 3))
        lab[0].script, lab[1].script = [error(0x1001)], [error(0x1001)]
        with pytest.raises(NoHostAvailable) as caught:
            lab.session.execute(idempotent())
        assert [type(e) for e in (caught.value.errors or {}).values()] == [OverloadedErrorMessage] * 2

    def test_the_statements_own_policy_wins(self) -> None:
        lab = Lab(retry_policy=FallthroughRetryPolicy())
        lab[0].script = [error(0x1200, "slow", READ_TIMEOUT), rows(1)]
        own = Told((RetryPolicy.RETRY, None))
        assert lab.session.execute(SimpleStatement("SELECT 1", retry_policy=own)).one() == (1,)

    def test_default_policy_sends_no_write_twice(self) -> None:
        """Whatever the coordinator says went wrong while it executed."""
        for answer in (error(0x0000), error(0x1001), error(0x1003), write_timeout(), Lost()):
            lab = Lab(hosts=3)
            lab[0].script = [answer]
            with pytest.raises(Exception):  # noqa: B017
                lab.session.execute("UPDATE t SET c = c + 1")
            assert sum(len(lab[index].sent) for index in range(3)) == 1


class TestSpeculation:
    def lab(self, hosts: int = 3, attempts: int = 5) -> Lab:
        return Lab(hosts=hosts, speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.1, attempts))

    def test_another_host_after_the_delay(self) -> None:
        lab = self.lab()
        future = lab.session.execute_async(idempotent())
        assert lab.reactor.run() == [0.1]
        lab[1].answer(rows(2))
        assert future.result().one() == (2,)
        assert future.coordinator_host is lab.hosts[1]
        assert future.attempted_hosts == lab.hosts[:2]

    def test_losers_are_given_up(self) -> None:
        lab = self.lab()
        future = lab.session.execute_async(idempotent())
        lab.reactor.run()
        lab.reactor.run()
        lab[2].answer(rows(3))
        future.result()
        assert lab[0].orphaned == [(0, future, 0)]
        assert lab[1].orphaned == [(0, future, 1)]
        assert lab[2].orphaned == []

    def test_a_late_answer_changes_nothing(self) -> None:
        lab = self.lab()
        future = lab.session.execute_async(idempotent())
        lab.reactor.run()
        lab[1].answer(rows(2))
        assert future.result().one() == (2,)
        lab[0].answer(rows(1))
        assert future.result().one() == (2,)
        assert future.coordinator_host is lab.hosts[1]

    def test_no_more_than_the_policy_says(self) -> None:
        lab = self.lab(hosts=5, attempts=2)
        lab.session.execute_async(idempotent())
        for _ in range(6):
            lab.reactor.run()
        assert [len(lab[index].sent) for index in range(5)] == [1, 1, 1, 0, 0]

    def test_no_more_hosts_leaves_what_is_under_way(self) -> None:
        lab = self.lab(hosts=1)
        future = lab.session.execute_async(idempotent())
        lab.reactor.run()
        lab[0].answer(rows(1))
        assert future.result().one() == (1,)

    def test_a_failed_attempt_without_further_hosts_leaves_the_other(self) -> None:
        lab = self.lab(hosts=2)
        future = lab.session.execute_async(idempotent())
        lab.reactor.run()
        lab[0].answer(Lost(sent=True))
        lab[1].answer(rows(2))
        assert future.result().one() == (2,)

    def test_all_attempts_failed(self) -> None:
        lab = self.lab(hosts=2)
        future = lab.session.execute_async(idempotent())
        lab.reactor.run()
        lab[0].answer(Lost(sent=True))
        lab[1].answer(Lost(sent=False))
        with pytest.raises(NoHostAvailable) as caught:
            future.result()
        assert set(caught.value.errors or ()) == set(lab.hosts)

    def test_only_for_idempotent_statements(self) -> None:
        lab = self.lab()
        lab.session.execute_async("INSERT")
        assert lab.reactor.timers == []

    def test_nothing_after_the_end(self) -> None:
        lab = self.lab()
        lab[0].script = [rows(1)]
        lab.session.execute(idempotent())
        lab.reactor.run()
        assert lab[1].sent == []

    def test_a_plan_that_raises_fails_the_request(self) -> None:
        class Broken(SpeculativeExecutionPolicy):
            def new_plan(self, keyspace: Any, statement: Any) -> Any:
                return BrokenPlan()

        class BrokenPlan(SpeculativeExecutionPlan):
            asked = 0

            def next_execution(self, host: Any) -> float:
                self.asked += 1
                if self.asked > 1:
                    raise LookupError("broken speculation")
                return 0.1

        lab = Lab(hosts=3, speculative_execution_policy=Broken())
        future = lab.session.execute_async(idempotent())
        lab.reactor.run()
        with pytest.raises(LookupError, match="broken speculation"):
            future.result()


def a_statement(lab: Lab) -> PreparedStatement:
    lab[0].script = [prepared()]
    return lab.session.prepare("SELECT n FROM tbl WHERE k = ?")


def opcodes(lab: Lab, index: int = 0) -> list[int]:
    return [sent.opcode for sent in lab[index].sent]


class TestUnprepared:
    def test_prepared_again_on_that_host_and_sent_again(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), prepared(), rows_without_metadata(5)]
        future = lab.session.execute_async(select, (1,))
        assert future.result().one() == (5,)
        assert opcodes(lab) == [PREPARE, EXECUTE, PREPARE, EXECUTE]
        assert lab[0].sent[1].body == lab[0].sent[3].body

    def test_new_result_metadata_is_used_at_once(self) -> None:
        """The table was altered: the statement is the same, its rows have a column more."""
        lab = Lab()
        select = a_statement(lab)
        answer = struct.pack(">iiii", 2, 4, 2, 1) + struct.pack(">iiii", 4, 5, 4, 6)
        lab[0].script = [unprepared(), prepared(columns=("n", "m")), Answer(8, answer)]
        row = lab.session.execute(select, (1,)).one()
        assert row._asdict() == {"n": 5, "m": 6}
        assert [column.name for column in select.result_metadata or ()] == ["n", "m"]

    def test_another_id_is_an_error(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), prepared(query_id=b"other")]
        with pytest.raises(DriverException, match="another id"):
            lab.session.execute(select, (1,))

    def test_preparing_again_fails(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), error(0x2200, "no such table")]
        with pytest.raises(InvalidRequest, match="no such table"):
            lab.session.execute(select, (1,))

    def test_the_connection_is_lost_while_preparing_again(self) -> None:
        """Nothing was executed, so any statement may go on to the next host."""
        lab = Lab(hosts=2)
        select = a_statement(lab)
        lab[0].script = [unprepared(), Lost(sent=True)]
        lab[1].script = [rows_without_metadata(8)]
        assert lab.session.execute(select, (1,)).one() == (8,)

    def test_a_host_that_forgets_again_and_again(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), prepared()] * 50
        with pytest.raises(DriverException, match="forgot"):
            lab.session.execute(select, (1,))
        assert len(lab[0].sent) < 30

    def test_unknown_to_the_driver_too(self) -> None:
        lab = Lab()
        lab[0].script = [unprepared(b"\xab")]
        with pytest.raises(DriverException, match="ab"):
            lab.session.execute("SELECT 1")

    def test_statements_of_a_batch(self) -> None:
        lab = Lab()
        insert = a_statement(lab)
        batch = BatchStatement().add(insert, (1,)).add(insert, (2,))
        lab.cluster.prepared.clear()
        lab[0].script = [unprepared(), prepared(), void()]
        lab.session.execute(batch)
        assert opcodes(lab)[1:] == [13, PREPARE, 13]

    def test_another_keyspace_is_in_use(self) -> None:
        """Before protocol 5 it would be prepared in the wrong keyspace."""
        lab = Lab()
        select = a_statement(lab)
        select.keyspace = "mine"
        lab[0].keyspace = "other"
        lab[0].script = [unprepared()]
        with pytest.raises(ValueError, match="mine"):
            lab.session.execute(select, (1,))


class TestMetadataChange:
    def test_protocol_5_tells_with_the_rows(self) -> None:
        """The answer carries new metadata and its id: both are used for it and kept for the next request."""
        lab = Lab(protocol_version=5)
        statement = PreparedStatement([], b"id", None, "SELECT *", "ks", 5, [("ks", "tbl", "n", _int())], b"old")
        metadata = struct.pack(">ii", 1 | 8, 2) + b"\x00\x03new" + b"\x00\x02ks\x00\x03tbl"
        metadata += b"\x00\x01n\x00\x09" + b"\x00\x01m\x00\x09"
        body = struct.pack(">i", 2) + metadata + struct.pack(">i", 1) + struct.pack(">iiii", 4, 5, 4, 6)
        lab[0].script = [
            Answer(8, body),
            Answer(8, struct.pack(">iiii", 2, 4, 2, 1) + struct.pack(">iiii", 4, 7, 4, 8)),
        ]
        assert lab.session.execute(statement).one()._asdict() == {"n": 5, "m": 6}
        assert statement.result_metadata_id == b"new"
        assert lab.session.execute(statement).one()._asdict() == {"n": 7, "m": 8}
        assert b"\x00\x03old" in lab[0].sent[0].body
        assert b"\x00\x03new" in lab[0].sent[1].body

    def test_a_request_keeps_the_snapshot_it_was_sent_with(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        future = lab.session.execute_async(select, (1,))
        select.update_result_metadata([("ks", "tbl", "a", _int()), ("ks", "tbl", "b", _int())], None)
        lab[0].answer(rows_without_metadata(5))
        assert future.result().one()._asdict() == {"n": 5}


def _int() -> Any:
    from cassandra.cqltypes import Int32Type

    return Int32Type


class TestKeyspace:
    def test_use_changes_the_session_and_every_pool(self) -> None:
        lab = Lab(hosts=3)
        lab[0].script = [set_keyspace("app")]
        assert lab.session.execute("USE app").one() is None
        assert lab.session.keyspace == "app"
        assert lab[0].keyspace == "app"
        assert [pool.keyspaces for pool in lab.pools.values()] == [["app"]] * 3

    def test_a_pool_that_cannot(self) -> None:
        lab = Lab(hosts=2)
        lab.pools[lab.hosts[1]].keyspace_errors = [InvalidRequest("no such keyspace")]
        lab[0].script = [set_keyspace("app")]
        with pytest.raises(ConnectionException, match="no such keyspace"):
            lab.session.execute("USE app")

    def test_without_pools(self) -> None:
        lab = Lab()
        future = lab.session.execute_async("USE app")
        lab.session._pool_set.pools = {}
        lab[0].answer(set_keyspace("app"))
        assert future.result().one() is None

    @pytest.mark.parametrize("name", ["plain", "Mixed Case", 'quo"te', "select"])
    def test_set_keyspace_quotes(self, name: str) -> None:
        lab = Lab()
        lab[0].script = [set_keyspace(name)]
        lab.session.set_keyspace(name)
        sent = lab[0].sent[0].body[4:].split(b"\x00")[0].decode()
        expected = {"plain": "USE plain", "Mixed Case": 'USE "Mixed Case"', 'quo"te': 'USE "quo""te"'}
        assert sent.startswith(expected.get(name, 'USE "select"'))


class TestSchemaChange:
    def test_waits_for_agreement(self) -> None:
        lab = Lab()
        lab[0].script = [schema_change()]
        future = lab.session.execute_async("CREATE KEYSPACE ks")
        assert future.result().one() is None
        assert future.is_schema_agreed is True
        ((event, host),) = lab.cluster.schema_changes
        assert (event["change_type"], event["keyspace"], host) == ("CREATED", "ks", lab.hosts[0])

    def test_no_agreement_is_no_error(self) -> None:
        lab = Lab()
        lab.cluster.schema_outcome = (False, OSError("refresh failed"))
        lab[0].script = [schema_change()]
        future = lab.session.execute_async("CREATE KEYSPACE ks")
        assert future.result().one() is None
        assert future.is_schema_agreed is False


class TestEnd:
    def test_cancel(self) -> None:
        lab = Lab()
        future = lab.session.execute_async("SELECT 1")
        assert future.cancel() is True
        assert future.cancel() is False
        with pytest.raises(CancelledError, match="cancelled"):
            future.result()
        assert lab[0].orphaned == [(0, future, 0)]
        lab[0].answer(rows(1))
        with pytest.raises(CancelledError):
            future.result()

    def test_shutdown_fails_what_is_in_flight(self) -> None:
        lab = Lab(hosts=2)
        futures = [lab.session.execute_async("SELECT 1"), lab.session.execute_async(idempotent())]
        lab.session.shutdown()
        for future in futures:
            with pytest.raises((ConnectionException, NoHostAvailable)):
                future.result()
        assert lab.cluster.closed_sessions == [lab.session]

    def test_shutdown_fails_what_waits_to_be_sent_again(self) -> None:
        lab = Lab(retry_policy=Told((RetryPolicy.RETRY, None, 60)))
        lab[0].script = [error(0x1001)]
        future = lab.session.execute_async(idempotent())
        lab.session.shutdown()
        with pytest.raises(DriverException, match="shut down"):
            future.result()

    def test_shutdown_twice(self) -> None:
        lab = Lab()
        lab.session.shutdown()
        lab.session.shutdown()
        assert lab.cluster.closed_sessions == [lab.session]

    def test_retry_asked_after_shutdown(self) -> None:
        lab = Lab(retry_policy=Told((RetryPolicy.RETRY, None, 60)))
        future = lab.session.execute_async(idempotent())
        lab.session.is_shutdown = True
        lab[0].answer(error(0x1001))
        with pytest.raises(DriverException, match="shut down"):
            future.result()

    def test_nothing_can_be_executed_after_shutdown(self) -> None:
        lab = Lab()
        lab.session.shutdown()
        future = lab.session.execute_async("SELECT 1")
        failed: list[BaseException] = []
        future.add_errback(failed.append)
        with pytest.raises(NoHostAvailable, match="shut down") as caught:
            future.result()
        assert failed == [caught.value] and caught.value.errors == {} and caught.value.maybe_executed is False
        with pytest.raises(NoHostAvailable, match="shut down"):
            lab.session.prepare("SELECT 1")

    def test_an_exception_is_raised_each_time(self) -> None:
        lab = Lab()
        lab[0].script = [error(0x1200, "slow", READ_TIMEOUT)]
        future = lab.session.execute_async("SELECT 1")
        for _ in range(2):
            with pytest.raises(ReadTimeout):
                future.result()

    def test_garbage_collection_may_make_a_request_anywhere(self) -> None:
        """Whatever a session's thread is about: it may be a __del__ that uses the session which runs then."""
        lab = Lab()
        lab[0].script = [rows(1)]
        lock = lab.session._request_lock
        with lock:
            again = lock.acquire(blocking=False)
            assert again, "a request made here would wait for ever"
            lock.release()
            assert lab.session.execute("SELECT 1").one() == (1,)
