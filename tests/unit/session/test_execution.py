"""A request over all its attempts: plans, errors, lost connections, timeouts, the end."""

from __future__ import annotations

import logging
import struct
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra import DriverException, InvalidRequest, OperationTimedOut, ReadTimeout
from cassandra._base import logs
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionBusy, ConnectionException, ConnectionShutdown
from cassandra.policies import (
    FallthroughRetryPolicy,
    RetryPolicy,
    RoundRobinPolicy,
)
from tests.unit.session.executions import (
    READ_TIMEOUT,
    Told,
    idempotent,
)
from tests.unit.session.harness import (
    ERROR,
    RESULT,
    TIMED_OUT,
    Answer,
    Lab,
    Lost,
    error,
    rows,
    void,
)


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

    def test_no_host_takes_the_request(self) -> None:
        lab = Lab(hosts=3)
        lab.pools[lab.hosts[0]].gone = True
        lab[1].script = [ConnectionShutdown("closing")]
        lab[2].script = [ConnectionShutdown("closed")]
        with pytest.raises(NoHostAvailable) as caught:
            lab.session.execute("SELECT 1")
        errors = caught.value.errors
        assert errors is not None
        assert set(errors) == set(lab.hosts)
        assert [type(errors[host]).__name__ for host in lab.hosts] == [
            "NoConnectionsAvailable",
            "ConnectionShutdown",
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


class TestWarnings:
    """In the log, each text once a minute and session; in results, always."""

    def lab(self, *texts: str, protocol_version: int = 4) -> Lab:
        lab = Lab(protocol_version=protocol_version)
        lab[0].script = [self.answer(text) for text in texts]
        return lab

    def answer(self, *texts: str) -> Answer:
        return Answer(
            RESULT, struct.pack(">H", len(texts)) + b"".join(map(string, texts)) + rows(1, more=b"m").body, 0x08
        )

    def logged(self, caplog: pytest.LogCaptureFixture) -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == "cassandra.protocol"]

    def test_a_statement_does_not_flood_the_log(self, caplog: pytest.LogCaptureFixture) -> None:
        lab = self.lab(*["slow"] * 50, "large", "slow")
        found = [lab.session.execute_async("SELECT 1") for _ in range(52)]
        assert [future.warnings for future in found] == [["slow"]] * 50 + [["large"], ["slow"]]
        assert self.logged(caplog) == ["Server warning: slow", "Server warning: large"]

    def test_pages(self, caplog: pytest.LogCaptureFixture) -> None:
        found = self.lab("slow", "slow").session.execute("SELECT 1")
        found.fetch_next_page()
        assert found.response_future.warnings == ["slow"]
        assert self.logged(caplog) == ["Server warning: slow"]

    def test_each_session(self, caplog: pytest.LogCaptureFixture) -> None:
        for _ in range(2):
            self.lab("slow").session.execute("SELECT 1")
        assert self.logged(caplog) == ["Server warning: slow"] * 2

    def test_each_minute(self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
        lab, clock = self.lab(*["slow"] * 4), [1000.0]
        monkeypatch.setattr(logs.time, "monotonic", lambda: clock[0])
        for after in (0.0, 59.9, 60.1, 1.0):
            clock[0] += after
            lab.session.execute("SELECT 1")
        assert self.logged(caplog) == ["Server warning: slow"] * 2

    def test_many_different_ones(self, caplog: pytest.LogCaptureFixture) -> None:
        """As of a warning with the key of its row."""
        texts = [f"row {n}" for n in range(300)]
        lab = self.lab(*texts)
        assert [lab.session.execute_async("SELECT 1").warnings for _ in texts] == [[text] for text in texts]
        found = self.logged(caplog)
        assert found[:100] == [f"Server warning: {text}" for text in texts[:100]]
        assert found[100:] == [
            "Server warnings: 100 different ones within a minute; until it ends, further ones are in results only"
        ]

    def test_many_in_one_response(self, caplog: pytest.LogCaptureFixture) -> None:
        lab = self.lab()
        texts = [f"row {n}" for n in range(30)]
        lab[0].script = [self.answer(*texts), self.answer(*texts)]
        for _ in range(2):
            assert lab.session.execute_async("SELECT 1").warnings == texts
        assert self.logged(caplog) == [
            *(f"Server warning: row {n}" for n in range(5)), "Server warning: 25 more in the same response",
        ]  # fmt: skip


class TestLostConnections:
    def test_unsent_requests_go_to_the_next_host_even_if_not_idempotent(self) -> None:
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


def string(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


class TestPossibleExecution:
    """``maybe_executed`` of errors that the only attempt ends with."""

    def told(self, answer: Answer, level: int | None = None) -> bool | None:
        lab = Lab(retry_policy=FallthroughRetryPolicy())
        lab[0].script = [answer]
        with pytest.raises(Exception) as caught:
            lab.session.execute("INSERT")
        return caught.value.maybe_executed  # type: ignore[no-any-return, attr-defined]

    @pytest.mark.parametrize("code", [0x9999, 0x1800, 0x2600, 0x4321, 0x8000, -1])
    def test_unknown_codes(self, code: int) -> None:
        """Nothing is known about them, so nothing is known to be refused."""
        assert self.told(error(code)) is True

    @pytest.mark.parametrize("code", [0x0000, 0x1001, 0x1003, 0x1600])
    def test_errors_of_the_execution(self, code: int) -> None:
        assert self.told(error(code)) is True

    @pytest.mark.parametrize("code", [0x000A, 0x0100, 0x1002, 0x2000, 0x2100, 0x2200, 0x2300])
    def test_refused(self, code: int) -> None:
        assert self.told(error(code)) is False

    def test_refused_with_details(self) -> None:
        assert self.told(error(0x2400, "there", string("ks") + string("t"))) is False
        assert self.told(error(0x1400, "bug", string("ks") + string("f") + b"\0\0")) is False

    def test_an_unknown_kind_of_result(self) -> None:
        assert self.told(Answer(RESULT, struct.pack(">i", 77))) is True

    def test_a_body_that_cannot_be_decoded(self) -> None:
        assert self.told(Answer(ERROR, b"\0")) is True


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

    def test_shutdown_fails_requests_in_flight(self) -> None:
        lab = Lab(hosts=2)
        futures = [lab.session.execute_async("SELECT 1"), lab.session.execute_async(idempotent())]
        lab.session.shutdown()
        for future in futures:
            with pytest.raises((ConnectionException, NoHostAvailable)):
                future.result()
        assert lab.cluster.closed_sessions == [lab.session]

    def test_shutdown_fails_requests_waiting_for_a_retry(self) -> None:
        lab = Lab(retry_policy=Told((RetryPolicy.RETRY, None, 60)))
        lab[0].script = [error(0x1001)]
        future = lab.session.execute_async(idempotent(), timeout=100)
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
        future = lab.session.execute_async(idempotent(), timeout=100)
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
        assert [one.args for one in failed] == [caught.value.args]  # without the GIL, result() raises a copy
        assert caught.value.errors == {} and caught.value.maybe_executed is False
        with pytest.raises(NoHostAvailable, match="shut down"):
            lab.session.prepare("SELECT 1")

    @pytest.mark.parametrize("whole", [True, False])
    def test_all_requests_of_a_closed_session_have_one_text(self, whole: bool) -> None:
        expected = (
            "The cluster is shut down, and so are its sessions; make a new Cluster."
            if whole
            else "The session is shut down; open a new one with Cluster.connect()."
        )
        lab = Lab(retry_policy=Told((RetryPolicy.RETRY, None, 60)))
        lab[0].script = [rows(1, more=b"p2"), error(0x1001)]
        result = lab.session.execute("SELECT 1")
        delayed = lab.session.execute_async(idempotent(), timeout=100)
        lab.cluster.is_shutdown = whole
        lab.session.shutdown()
        for ask in (
            delayed.result,
            result.fetch_next_page,
            lambda: lab.session.execute("SELECT 1"),
            lambda: lab.session.execute_async("SELECT 1").result(),
            lambda: lab.session.prepare("SELECT 1"),
        ):
            with pytest.raises((NoHostAvailable, DriverException)) as caught:
                ask()
            assert caught.value.args[0] == expected

    def test_an_exception_is_raised_each_time(self) -> None:
        lab = Lab()
        lab[0].script = [error(0x1200, "slow", READ_TIMEOUT)]
        future = lab.session.execute_async("SELECT 1")
        for _ in range(2):
            with pytest.raises(ReadTimeout):
                future.result()
