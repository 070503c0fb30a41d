"""A request that is sent again: questions to retry policies and their answers, and speculative attempts."""

from __future__ import annotations

import struct
from typing import Any, ClassVar

import pytest

from cassandra import ConsistencyLevel, OperationTimedOut, WriteTimeout
from cassandra.cluster import NoHostAvailable, ResponseFuture
from cassandra.connection import ConnectionShutdown
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    DowngradingConsistencyRetryPolicy,
    ExponentialBackoffRetryPolicy,
    FallthroughRetryPolicy,
    RetryPolicy,
    SpeculativeExecutionPlan,
    SpeculativeExecutionPolicy,
)
from cassandra.protocol import OverloadedErrorMessage
from cassandra.query import BatchStatement, SimpleStatement
from tests.unit.session.executions import (
    READ_TIMEOUT,
    Told,
    idempotent,
    write_timeout,
)
from tests.unit.session.harness import (
    Answer,
    Lab,
    Lost,
    error,
    prepared,
    rows,
    void,
)

QUORUM = ConsistencyLevel.QUORUM


def levels_of(lab: Lab) -> list[int]:
    """The consistency levels of the requests ``SELECT 1`` to the first host."""
    return [struct.unpack_from(">H", sent.body, 4 + len("SELECT 1"))[0] for sent in lab[0].sent]


def a_timeout(kind: bytes, level: int) -> Answer:
    """The coordinator has reported *level*: that of the batch log, or of a step of Paxos."""
    return error(0x1100, "slow", struct.pack(">HiiH", level, 0, 1, len(kind)) + kind)


def a_read_timeout(level: int) -> Answer:
    return error(0x1200, "slow", struct.pack(">HiiB", level, 2, 2, 0))


class Passes(RetryPolicy):
    """Passes on the level that it is given, as many policies do."""

    def on_read_timeout(self, query: Any, consistency: Any, *args: Any, **kwargs: Any) -> Any:
        return self.RETRY, consistency

    def on_write_timeout(self, query: Any, consistency: Any, *args: Any, **kwargs: Any) -> Any:
        return self.RETRY, consistency

    def on_unavailable(self, query: Any, consistency: Any, *args: Any, **kwargs: Any) -> Any:
        return self.RETRY_NEXT_HOST, consistency


class TestLevels:
    """A retry has the level of the statement, unless the policy asks for another one."""

    def levels(self, policy: RetryPolicy, answer: Answer, *, hosts: int = 1, level: Any = QUORUM) -> list[int]:
        lab = Lab(hosts=hosts, retry_policy=policy)
        lab[0].script = [answer, void()]
        for index in range(1, hosts):
            lab[index].script = [void()]
        lab.session.execute(SimpleStatement("SELECT 1", is_idempotent=True, consistency_level=level))
        sent = [sent for index in range(hosts) for sent in lab[index].sent]
        return [struct.unpack_from(">H", one.body, 4 + len("SELECT 1"))[0] for one in sent]

    @pytest.mark.parametrize("policy", [RetryPolicy(), ExponentialBackoffRetryPolicy(1, 0.0), Passes()])
    def test_batch_log(self, policy: RetryPolicy) -> None:
        """Servers report ONE for the batch log, whatever the level of the batch is."""
        lab = Lab(retry_policy=policy)
        lab[0].script = [a_timeout(b"BATCH_LOG", ConsistencyLevel.ONE), void()]
        batch = BatchStatement(consistency_level=QUORUM).add("INSERT")
        batch.is_idempotent = True
        lab.session.execute(batch)
        first, second = lab[0].sent
        assert first.body == second.body
        assert struct.pack(">H", QUORUM) in first.body

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_downgrading_does_not_change_the_level_after_a_timeout_of_the_batch_log(self) -> None:
        policy = DowngradingConsistencyRetryPolicy()
        assert self.levels(policy, a_timeout(b"BATCH_LOG", ConsistencyLevel.ONE)) == [QUORUM, QUORUM]
        assert self.levels(policy, a_timeout(b"BATCH_LOG", ConsistencyLevel.TWO)) == [QUORUM, QUORUM]

    @pytest.mark.parametrize("policy", [RetryPolicy(), ExponentialBackoffRetryPolicy(1, 0.0), Passes()])
    def test_reads(self, policy: RetryPolicy) -> None:
        """As of the read of a conditional statement, which has the level of Paxos."""
        one = ConsistencyLevel.ONE
        for reported in (QUORUM, ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_QUORUM):
            assert self.levels(policy, a_read_timeout(reported), level=one) == [one, one]

    def test_unavailable(self) -> None:
        answer = error(0x1000, "few", struct.pack(">Hii", ConsistencyLevel.ONE, 2, 1))
        assert self.levels(Passes(), answer, hosts=2) == [QUORUM, QUORUM]

    def test_a_policy_asks_for_the_level_that_was_reported(self) -> None:
        policy = Told((RetryPolicy.RETRY, ConsistencyLevel.ONE))
        assert self.levels(policy, a_timeout(b"BATCH_LOG", ConsistencyLevel.ONE)) == [QUORUM, ConsistencyLevel.ONE]

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_downgrading(self) -> None:
        answer = error(0x1200, "slow", struct.pack(">HiiB", QUORUM, 1, 2, 0))
        assert self.levels(DowngradingConsistencyRetryPolicy(), answer) == [QUORUM, ConsistencyLevel.ONE]


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
        assert levels_of(lab) == [ConsistencyLevel.LOCAL_ONE, ConsistencyLevel.ONE]

    def test_the_next_page_has_the_level_of_the_statement_again(self) -> None:
        policy = Told((RetryPolicy.RETRY, ConsistencyLevel.ONE))
        lab, future = self.run(policy, error(0x1200, "slow", READ_TIMEOUT), rows(7, more=b"p2"), rows(8))
        future.result()
        future.start_fetching_next_page()
        future.result()
        assert levels_of(lab) == [ConsistencyLevel.LOCAL_ONE, ConsistencyLevel.ONE, ConsistencyLevel.LOCAL_ONE]

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

    def test_the_policy_gets_the_details_of_each_error(self) -> None:
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
        """No other code would see the error, and the future would wait for ever."""
        lab = Lab(hosts=2, retry_policy=Told((RetryPolicy.RETRY_NEXT_HOST, None, 1)))
        lab[0].script = [error(0x1001)]
        future = lab.session.execute_async(idempotent())
        lab.policy.raises = LookupError("broken plan")
        lab.reactor.run()
        with pytest.raises(LookupError, match="broken plan"):
            future.result()

    @pytest.mark.parametrize("action", [RetryPolicy.RETRY, RetryPolicy.RETRY_NEXT_HOST])
    @pytest.mark.parametrize("delay", [100, 1e300, float("inf")])
    def test_a_delay_longer_than_the_timeout(self, action: int, delay: float) -> None:
        """The request fails with the error of its attempt at once: the retry could not be sent any more."""
        lab = Lab(hosts=2, retry_policy=Told((action, None, delay)))
        lab[0].script = [error(0x1001)]
        with pytest.raises(OverloadedErrorMessage) as caught:
            lab.session.execute(idempotent(), timeout=50)
        assert caught.value.attempts == 1
        assert lab.reactor.timers == []
        assert [len(lab[index].sent) for index in range(2)] == [1, 0]

    def test_a_backoff_longer_than_the_timeout(self) -> None:
        lab = Lab(retry_policy=ExponentialBackoffRetryPolicy(3, min_interval=200, max_interval=400))
        lab[0].script = [error(0x1001)]
        with pytest.raises(OverloadedErrorMessage):
            lab.session.execute(idempotent(), timeout=50)
        assert lab.reactor.timers == []

    def test_a_delay_that_began_before_the_timeout(self) -> None:
        lab = Lab(retry_policy=Told((RetryPolicy.RETRY, None, 0.001)))
        lab[0].script = [error(0x1001)]
        future = lab.session.execute_async(idempotent(), timeout=0.25)
        while future._remaining() > 0:  # type: ignore[operator]
            pass
        lab.reactor.run()
        with pytest.raises(OperationTimedOut):
            future.result()

    def test_a_delay_without_a_timeout(self) -> None:
        lab = Lab(retry_policy=Told((RetryPolicy.RETRY, None, 100)))
        lab[0].script = [error(0x1001), rows(5)]
        future = lab.session.execute_async(idempotent(), timeout=None)
        assert lab.reactor.run() == [100]
        assert future.result().one() == (5,)

    def test_an_ignored_error_needs_no_time(self) -> None:
        lab = Lab(retry_policy=Told((RetryPolicy.IGNORE, None, 100)))
        lab[0].script = [error(0x1001)]
        assert lab.session.execute(idempotent(), timeout=50).one() is None

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
        """For every error that the coordinator reports from the execution."""
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

    def test_speculation_without_further_hosts_keeps_the_first_attempt(self) -> None:
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

    def test_each_page_has_its_own_plan(self) -> None:
        """The attempts of one page do not use up those of the next."""
        lab = self.lab(hosts=2, attempts=1)
        lab[0].script, lab[1].script = [], [rows(1, more=b"p2")]
        future = lab.session.execute_async(idempotent())
        lab.reactor.run()
        assert future.result().one() == (1,)
        lab[1].script = [rows(2)]
        future.start_fetching_next_page()
        assert lab.reactor.run() == [0.1]
        assert future.result().one() == (2,)
        assert [len(lab[index].sent) for index in range(2)] == [2, 2]

    def test_each_page_of_a_result_has_its_own_plan(self) -> None:
        class Counted(ConstantSpeculativeExecutionPolicy):
            asked: ClassVar[list[tuple[Any, Any]]] = []

            def new_plan(self, keyspace: Any, statement: Any) -> Any:
                self.asked.append((keyspace, statement))
                return super().new_plan(keyspace, statement)

        lab = Lab(speculative_execution_policy=Counted(0.1, 1))
        lab[0].script = [rows(1, more=b"p2"), rows(2, more=b"p3"), rows(3)]
        statement = idempotent()
        found = lab.session.execute(statement)
        while found.has_more_pages:
            found.fetch_next_page()
        assert Counted.asked == [(None, statement)] * 3

    def test_a_policy_that_raises_fails_the_page(self) -> None:
        class Once(ConstantSpeculativeExecutionPolicy):
            plans = 0

            def new_plan(self, keyspace: Any, statement: Any) -> Any:
                self.plans += 1
                if self.plans == 2:
                    raise LookupError("no plan")
                return super().new_plan(keyspace, statement)

        lab = Lab(speculative_execution_policy=Once(0.1, 1))
        lab[0].script = [rows(1, more=b"p2"), rows(2)]
        found = lab.session.execute(idempotent())
        with pytest.raises(LookupError, match="no plan"):
            found.fetch_next_page()
        found.fetch_next_page()
        assert found.one() == (2,)

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
