"""Requests that tests of programs make of a session that is a mock: they ask it for pools, and get the responses."""

from __future__ import annotations

import asyncio
from collections import deque
from threading import Lock
from typing import Any
from unittest.mock import Mock

import pytest

from cassandra import ConsistencyLevel, DriverException, OperationTimedOut, ReadTimeout
from cassandra.cluster import NoHostAvailable, QueryExhausted, ResponseFuture, Session
from cassandra.connection import Connection, ConnectionException
from cassandra.policies import RetryPolicy
from cassandra.protocol import (
    RESULT_KIND_PREPARED,
    RESULT_KIND_ROWS,
    RESULT_KIND_SCHEMA_CHANGE,
    RESULT_KIND_SET_KEYSPACE,
    RESULT_KIND_VOID,
    InvalidRequestException,
    OverloadedErrorMessage,
    PreparedQueryNotFound,
    PrepareMessage,
    QueryMessage,
    ReadTimeoutErrorMessage,
    ResultMessage,
)
from cassandra.query import SimpleStatement


class Scene:
    """A mock of a session with two hosts, and the future that was made of it."""

    def __init__(self, **options: Any) -> None:
        self.connection = Mock(spec=Connection, keyspace=None)
        self.pool = Mock(is_shutdown=False)
        self.pool.borrow_connection.return_value = (self.connection, 7)
        self.session: Any = Mock(spec=Session)
        self.session.row_factory = lambda names, rows: [dict(zip(names, row, strict=True)) for row in rows]
        self.session.cluster._default_load_balancing_policy.make_query_plan.side_effect = lambda *_: ["one", "two"]
        self.session._pools.get.return_value = self.pool
        self.timer = self.session.cluster.connection_class.create_timer
        statement = SimpleStatement("SELECT a FROM t")
        message = QueryMessage(statement.query_string, ConsistencyLevel.QUORUM)
        self.future: Any = ResponseFuture(self.session, message, statement, 5, **options)

    def come(self, response: Any) -> None:
        self.future._set_result("one", self.connection, self.pool, response)


def rows(*values: int, paging_state: bytes | None = None) -> ResultMessage:
    message = ResultMessage(RESULT_KIND_ROWS)
    message.column_names, message.parsed_rows = ["a"], [(value,) for value in values]  # type: ignore[misc]
    message.paging_state = paging_state
    return message


def timed_out() -> ReadTimeoutErrorMessage:
    info = {"consistency": 4, "required_responses": 2, "received_responses": 1, "data_retrieved": False}
    return ReadTimeoutErrorMessage(0x1200, "late", info)


def test_it_is_sent_by_the_pool_of_the_first_host() -> None:
    scene = Scene()
    assert isinstance(scene.future, ResponseFuture) and type(scene.future).__name__ == "ResponseFuture"
    assert scene.future.send_request() is True
    scene.session._pools.get.assert_called_once_with("one")
    ((message, request_id), _) = scene.connection.send_msg.call_args
    assert message is scene.future.message and request_id == scene.future._req_id == 7
    assert scene.timer.call_args.args == (5, scene.future._on_timeout)
    assert scene.future.attempted_hosts == ["one"] and "no result yet" in repr(scene.future)


def test_rows_and_callbacks() -> None:
    scene, told = Scene(), list[Any]()
    scene.future.send_request()
    scene.future.add_callback(lambda *args, **kwargs: told.append((args, kwargs)), 1, x=2)
    scene.future.add_callbacks(told.append, told.append)
    scene.connection.send_msg.call_args.kwargs["cb"](rows(1, 2))
    assert told == [(([{"a": 1}, {"a": 2}], 1), {"x": 2}), [{"a": 1}, {"a": 2}]]
    scene.future.add_callback(told.append)
    assert told[2] == [{"a": 1}, {"a": 2}] and scene.future.coordinator_host == "one"
    assert list(scene.future.result()) == [{"a": 1}, {"a": 2}] and not scene.future.has_more_pages
    assert list(asyncio.run(_awaited(scene.future))) == [{"a": 1}, {"a": 2}]
    scene.pool.return_connection.assert_called_once_with(scene.connection)
    scene.timer.return_value.cancel.assert_called_once_with()
    with pytest.raises(QueryExhausted):
        scene.future.start_fetching_next_page()


async def _awaited(future: Any) -> Any:
    return await future


def test_pages() -> None:
    scene = Scene()
    scene.future.send_request()
    scene.come(rows(1, paging_state=b"next"))
    result = scene.future.result()
    assert scene.future.has_more_pages and result.column_names == ["a"]
    scene.connection.send_msg.side_effect = lambda *_, **kwargs: kwargs["cb"](rows(2))
    assert list(result) == [{"a": 1}, {"a": 2}] and scene.future.message.paging_state == b"next"


@pytest.mark.parametrize(
    ("kind", "attributes", "result"),
    [(RESULT_KIND_VOID, {}, []), (999, {}, None), (RESULT_KIND_SET_KEYSPACE, {"new_keyspace": "k"}, [])],
)
def test_other_answers(kind: int, attributes: dict[str, Any], result: Any) -> None:
    scene, message = Scene(), Mock(spec=ResultMessage, kind=kind, **attributes)
    scene.future.send_request()
    scene.come(message)
    if kind == RESULT_KIND_SET_KEYSPACE:
        scene.session._set_keyspace_for_all_pools.assert_called_once_with("k", scene.future._set_keyspace_completed)
        scene.future._set_keyspace_completed({})
    assert list(scene.future.result()) == ([message] if result is None else result)


def test_a_keyspace_that_could_not_be_set() -> None:
    scene = Scene()
    scene.future._set_keyspace_completed({"one": [ValueError("no")]})
    with pytest.raises(ConnectionException, match="Failed to set the keyspace"):
        scene.future.result()


def test_changes_of_the_schema_are_read_first() -> None:
    scene = Scene()
    scene.come(Mock(spec=ResultMessage, kind=RESULT_KIND_SCHEMA_CHANGE, schema_change_event={"keyspace": "k"}))
    function, control, future, connection = scene.session.submit.call_args.args
    assert not scene.future.is_schema_agreed and connection is scene.connection
    function(control, future, connection, keyspace="k")
    control.refresh_schema.assert_called_once_with(keyspace="k")
    assert list(scene.future.result()) == []


@pytest.mark.parametrize(
    ("decision", "retries", "level"),
    [
        ((RetryPolicy.RETRY, 1), 1, 1),
        ((RetryPolicy.RETRY_NEXT_HOST, None, 0.5), 1, 4),
        ((RetryPolicy.IGNORE, None), 0, 4),
        ((RetryPolicy.RETHROW, None), 0, 4),
    ],
)
def test_the_policy_decides(decision: Any, retries: int, level: int) -> None:
    policy = Mock()
    policy.on_read_timeout.return_value = decision
    scene, told = Scene(retry_policy=policy), list[Any]()
    scene.future.send_request()
    scene.future.add_errback(told.append)
    scene.come(timed_out())
    assert scene.future._query_retries == retries and scene.future.message.consistency_level == level
    assert isinstance(scene.future._errors["one"], ReadTimeout)
    if retries:
        delay, task, *args = scene.session.cluster.scheduler.schedule.call_args.args
        assert delay == (decision[2] if len(decision) == 3 else 0)
        task(*args)
        assert scene.session._pools.get.call_args.args == (("one",) if decision[0] == RetryPolicy.RETRY else ("two",))
        scene.come(rows())
    if decision[0] == RetryPolicy.RETHROW:
        with pytest.raises(ReadTimeout):
            scene.future.result()
        assert isinstance(told[0], ReadTimeout)
    else:
        assert list(scene.future.result()) == [] and told == []


def test_errors_that_no_policy_is_asked_for() -> None:
    scene = Scene()
    scene.come(InvalidRequestException(0x2200, "no table", None))
    with pytest.raises(Exception, match="no table"):
        scene.future.result()
    scene = Scene()
    scene.come(object())
    with pytest.raises(ConnectionException, match="Got unexpected message"):
        scene.future.result()
    scene.connection.defunct.assert_called_once()


def test_errors_of_hosts_and_connections() -> None:
    policy = Mock()
    policy.on_request_error.return_value = (RetryPolicy.RETHROW, None)
    for error in (OverloadedErrorMessage(0x1001, "busy", None), ConnectionException("gone")):
        scene = Scene(retry_policy=policy)
        scene.come(error)
        with pytest.raises(type(error)):
            scene.future.result()
        assert scene.connection.defunct.called == isinstance(error, ConnectionException)


def test_no_host_takes_it() -> None:
    scene = Scene()
    scene.session._pools.get.side_effect = [None, Mock(is_shutdown=True)]
    assert scene.future.send_request() is False
    with pytest.raises(NoHostAvailable) as caught:
        scene.future.result()
    assert list(caught.value.errors) == ["one", "two"]
    scene = Scene(host="only")
    scene.pool.borrow_connection.side_effect = failed = KeyError("no connection")
    assert scene.future.send_request(error_no_hosts=False) is False and scene.future._errors == {"only": failed}
    assert not scene.future._event.is_set()


def test_a_statement_that_a_host_forgot() -> None:
    prepared = Mock(query_id=b"id", query_string="SELECT 1", keyspace=None)
    scene = Scene(prepared_statement=prepared)
    scene.future.send_request()
    scene.come(PreparedQueryNotFound(0x2500, "forgotten", b"id"))
    task, message, *rest = scene.session.submit.call_args.args
    assert task == scene.future._reprepare and isinstance(message, PrepareMessage) and message.query == "SELECT 1"
    task(message, *rest)
    sent, told = scene.connection.send_msg.call_args
    assert sent[0] is message
    told["cb"](Mock(spec=ResultMessage, kind=RESULT_KIND_PREPARED, query_id=b"id"))
    assert scene.connection.send_msg.call_args.args[0] is scene.future.message
    scene.future._execute_after_prepare("one", None, None, Mock(spec=ResultMessage, kind=4, query_id=b"other"))
    with pytest.raises(DriverException, match="prepared b'other' where b'id' was known"):
        scene.future.result()


def test_reprepare_fails_for_unknown_statement_or_other_keyspace() -> None:
    scene = Scene()
    scene.session.cluster._prepared_statements = {}
    scene.come(PreparedQueryNotFound(0x2500, "forgotten", b"id"))
    with pytest.raises(DriverException, match="does not know b'id'"):
        scene.future.result()
    scene = Scene(prepared_statement=Mock(keyspace="k"))
    scene.future.send_request()
    scene.come(PreparedQueryNotFound(0x2500, "forgotten", b"id"))
    with pytest.raises(ValueError, match="is not that of the statement"):
        scene.future.result()


def test_timeouts() -> None:
    scene = Scene()
    scene.future.send_request()
    scene.connection._requests = {7: None}
    scene.connection.lock, scene.connection.orphaned_request_ids = Lock(), set()
    scene.connection.request_ids = deque()
    scene.future._on_timeout()
    scene.pool.return_connection.assert_called_once_with(scene.connection, stream_was_orphaned=True)
    assert scene.connection.orphaned_request_ids == {7} and not scene.connection.request_ids
    with pytest.raises(OperationTimedOut, match="Client request timeout"):
        scene.future.result()
    scene.come(rows(1))  # too late
    with pytest.raises(OperationTimedOut):
        scene.future.result()
    scene = Scene()
    scene.future.send_request()
    scene.connection._requests = {}
    scene.future._on_timeout()
    with pytest.raises(OperationTimedOut, match="Connection defunct by heartbeat"):
        scene.future.result()
