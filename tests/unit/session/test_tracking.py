"""RequestTracker and the log of slow requests: the events that they get, and their order."""

from __future__ import annotations

import logging
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.connection import ConnectionException
from cassandra.metrics import RequestTracker, TrackedAttempt
from cassandra.policies import ConstantSpeculativeExecutionPolicy, RetryPolicy
from cassandra.query import SimpleStatement
from tests.unit.session.harness import Lab, Lost, error, prepared, rows

INVALID, OVERLOADED = 0x2200, 0x1001


class Told(RequestTracker):
    """Keeps its events: (name, attempt's number and host, error)."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self.elapsed: list[float] = []

    def on_request(self, request: Any) -> None:
        self.heard.append(("begins", request.query.query_string))

    def on_attempt(self, request: Any, attempt: TrackedAttempt) -> None:
        self.heard.append(("sent", attempt.number, attempt.host.endpoint.address))

    def on_attempt_end(self, request: Any, attempt: TrackedAttempt, error: BaseException | None) -> None:
        self.heard.append(("ended", attempt.number, error if error is None else type(error)))

    def on_request_end(self, request: Any, error: BaseException | None, elapsed: float) -> None:
        self.heard.append(("over", error if error is None else type(error)))
        self.elapsed.append(elapsed)


class Again(RetryPolicy):
    def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
        return self.RETRY_NEXT_HOST, None


def tracked(**options: Any) -> tuple[Lab, Told]:
    told = Told()
    return Lab(request_tracker=told, **options), told


def test_a_request_that_succeeds() -> None:
    lab, told = tracked()
    lab[0].script = [rows(1)]
    assert lab.session.execute("SELECT 1").one() == (1,)
    host = lab.hosts[0].endpoint.address
    assert told.heard == [("begins", "SELECT 1"), ("sent", 0, host), ("ended", 0, None), ("over", None)]
    assert told.elapsed[0] >= 0


def test_each_attempt() -> None:
    lab, told = tracked(hosts=2, retry_policy=Again())
    lab[0].script, lab[1].script = [error(OVERLOADED)], [error(INVALID)]
    with pytest.raises(InvalidRequest):
        lab.session.execute("SELECT 1")
    assert [step[:2] for step in told.heard] == [
        ("begins", "SELECT 1"),
        ("sent", 0),
        ("ended", 0),
        ("sent", 1),
        ("ended", 1),
        ("over", InvalidRequest),
    ]
    assert told.heard[1][2] != told.heard[3][2] and told.heard[4][2] is InvalidRequest


def test_a_lost_connection() -> None:
    lab, told = tracked()
    lab[0].script = [Lost()]
    with pytest.raises(Exception):  # noqa: B017 - which one is not the question here
        lab.session.execute("SELECT 1")
    assert ("ended", 0, ConnectionException) in told.heard


def test_the_loser_of_a_speculation_has_ended_before_the_request() -> None:
    lab, told = tracked(hosts=2, speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.1, 1))
    future = lab.session.execute_async(SimpleStatement("SELECT 1", is_idempotent=True))
    lab.reactor.run()
    lab[1].answer(rows(2))
    future.result()
    assert told.heard[-3:] == [("ended", 1, None), ("ended", 0, CancelledError), ("over", None)]


def test_prepared_statements_one_by_one_and_many() -> None:
    lab, told = tracked()
    lab[0].script = [prepared()]
    select = lab.session.prepare("SELECT n FROM tbl WHERE k = ?")
    assert told.heard == []  # preparing is the driver's
    lab[0].script = [rows(n) for n in range(4)]
    lab.session.execute(select, (1,))
    execute_concurrent_with_args(lab.session, select, [(2,), (3,), (4,)])
    assert [step[0] for step in told.heard].count("over") == 4
    assert [step for step in told.heard if step[0] == "ended"] == [("ended", 0, None)] * 4


def test_exceptions_of_a_tracker_are_logged_and_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(RequestTracker):
        def on_attempt(self, request: Any, attempt: TrackedAttempt) -> None:
            raise LookupError("broken tracker")

    lab = Lab(request_tracker=Broken())
    lab[0].script = [rows(1)]
    with caplog.at_level(logging.ERROR, "cassandra.cluster"):
        assert lab.session.execute("SELECT 1").one() == (1,)
    assert "Broken.on_attempt raised" in caplog.text
    caplog.clear()


def test_slow_requests_are_logged_without_values(caplog: pytest.LogCaptureFixture) -> None:
    lab = Lab(slow_request_threshold=0)
    lab[0].script = [rows(1)]
    with caplog.at_level(logging.WARNING, "cassandra.slow"):
        lab.session.execute("SELECT n FROM tbl WHERE k = %s", ("secret",)).one()
    assert "SELECT n FROM tbl WHERE k = %s" in caplog.text and "secret" not in caplog.text
    assert str(lab.hosts[0].endpoint.address) in caplog.text and "succeeded" in caplog.text


def test_quick_requests_are_not() -> None:
    lab = Lab(slow_request_threshold=60)
    lab[0].script = [rows(1)]
    handler = logging.Handler()
    handler.emit = lambda record: pytest.fail(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("cassandra.slow").addHandler(handler)
    try:
        lab.session.execute("SELECT 1")
    finally:
        logging.getLogger("cassandra.slow").removeHandler(handler)
